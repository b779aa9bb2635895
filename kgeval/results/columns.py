"""Columns to break ranks down by: a user's columns joined to the rows of a table, and rows grouped by columns."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Ids
from kgeval.data import SIDE_NAMES, Dataset, Vocabulary, given_and_asked_where, group_rows
from kgeval.errors import DataError, KgevalWarning, MetricError
from kgeval.metrics import Group

KEYS = {"s": "entity", "p": "relation", "o": "entity", "relation": "relation", "given": "entity", "asked": "entity"}
PLACES = (*KEYS, "side", "split")
TAKEN_OVER = ": taken over "  # in the note on columns of chosen splits


def join_columns(
    columns: pd.DataFrame | Mapping[str, Any],
    table: pd.DataFrame,
    entities: Vocabulary,
    relations: Vocabulary,
    taken: Collection[str],
) -> tuple[pd.DataFrame, list[str]]:
    """Return `columns` as one row per row of a ranks table; see `EvaluationResult.with_columns`.

    Parameters
    ----------
    columns : pandas.DataFrame or mapping of str to array
    table : pandas.DataFrame
    entities, relations : Vocabulary
    taken : collection of str
        Names that are not free.

    Returns
    -------
    frame : pandas.DataFrame
        Without the columns that served as keys.
    notes : list of str
        How many ranks found no row, and how many rows no rank.
    """
    frame = _as_frame(columns, table.index)
    frame.columns = [str(name) for name in frame.columns]
    keys = [name for name in frame.columns if name in PLACES]
    values = [name for name in frame.columns if name not in PLACES]
    clash = [name for name in values if name in taken or values.count(name) > 1]
    if clash or not values:
        raise DataError(
            f"the name of column {clash[0]!r} is taken; give it another one"
            if clash
            else f"expected columns to break down by beside {', '.join(PLACES)}; got {', '.join(keys) or 'none'}"
        )
    if not keys:
        if len(frame) != len(table):
            raise DataError(
                f"expected {len(table)} rows, one for each of the ranks table's, or columns that say what a row "
                f"belongs to ({', '.join(PLACES)}); got {len(frame)} rows with columns {', '.join(values)}"
            )
        return frame, []
    wanted, own = _keys_of(table, keys), _keys_given(frame, entities, relations, keys)
    if own.duplicated().any():
        first = frame.loc[own.duplicated(keep=False).to_numpy(), keys].iloc[0]
        raise DataError(
            f"{', '.join(keys)} = {', '.join(map(repr, first))} stands more than once; keep one row of each"
        )
    places = pd.MultiIndex.from_frame(own).get_indexer(pd.MultiIndex.from_frame(wanted))
    plain = {name: frame[name].astype(object) if frame[name].dtype.kind in "iub" else frame[name] for name in values}
    found = pd.DataFrame(plain).reindex(np.where(places < 0, len(frame), places)).reset_index(drop=True)
    n_missing, n_unused = int((places < 0).sum()), len(frame) - len(np.unique(places[places >= 0]))
    notes = []
    if n_missing or n_unused:
        notes.append(
            f"columns {', '.join(values)}: {n_missing:,} of {len(table):,} ranks have no row there (shown as missing), "
            f"{n_unused:,} of {len(frame):,} rows belong to no rank"
        )
    if n_missing:
        warnings.warn(notes[0], KgevalWarning, stacklevel=3)
    return found, notes


def _as_frame(columns: Any, index: pd.Index[Any]) -> pd.DataFrame:
    """Return what a user gave as a frame whose rows go by position; `index` is that of the ranks table."""
    columns = columns.to_frame() if isinstance(columns, pd.Series) else columns
    if not isinstance(columns, (pd.DataFrame, Mapping)):
        raise DataError(f"expected a DataFrame, or a mapping of names to columns; got {type(columns).__name__}")
    is_keyed = any(str(name) in PLACES for name in columns)
    for name, values in columns.items():
        if isinstance(values, pd.Series) and not is_keyed and not _counts_rows(values.index, index):
            raise DataError(
                f"column {str(name)!r} has an index of its own, so its order could be another than the table's; give "
                "its values in the table's order (.to_numpy()), or a table with columns such as s, p, o, side"
            )
    try:
        return pd.DataFrame(columns).reset_index(drop=True)
    except ValueError as error:
        raise DataError(f"expected columns of equal length, one value for each row; {error}") from error


def _counts_rows(index: pd.Index[Any], of_table: pd.Index[Any]) -> bool:
    """Tell whether an index only counts rows, from 0 or as that of the table."""
    return index.equals(pd.RangeIndex(len(index))) or index.equals(of_table)


def _keys_of(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return what each row of the table is under `keys`: ids, and names of side and split."""
    triples = table[["s", "p", "o"]].to_numpy()
    every = {**dict(zip("spo", triples.T)), "relation": triples[:, 1]}
    if "side" in table.columns:
        is_subject = (table["side"] == "subject").to_numpy()
        every["given"], every["asked"] = given_and_asked_where(triples, is_subject)
    every |= {name: table[name].astype(str).to_numpy(dtype=object) for name in ("side", "split") if name in table}
    lacking = [name for name in keys if name not in every]
    if lacking:
        raise DataError(f"these rows have no {lacking[0]}; columns can be joined by {', '.join(every)}")
    return pd.DataFrame({name: every[name] for name in keys})


def _keys_given(frame: pd.DataFrame, entities: Vocabulary, relations: Vocabulary, keys: list[str]) -> pd.DataFrame:
    """Return the user's keys as ids and names; labels that do not occur become negative, distinct ones distinct."""
    columns: dict[str, Any] = {}
    for name in keys:
        values = frame[name].to_numpy()
        vocabulary = entities if KEYS.get(name) == "entity" else relations
        if name in KEYS and values.dtype.kind in "iu":
            _check_ids_are_meant(name, vocabulary)
        elif name in KEYS:
            ids = vocabulary.find(values.astype(object))
            values = np.where(ids < 0, -1 - np.arange(len(ids)), ids)
        elif name == "side":
            values = np.array([SIDE_NAMES.get(str(value).lower(), str(value)) for value in values], dtype=object)
        columns[name] = values
    return pd.DataFrame(columns)


def _check_ids_are_meant(name: str, vocabulary: Vocabulary) -> None:
    """Raise a DataError if numbers could be labels as well as ids, and would not mean the same."""
    if any(label != str(i) for i, label in enumerate(vocabulary.labels)) and all(map(str.isdigit, vocabulary.labels)):
        raise DataError(
            f"column {name!r} holds integers, and the labels are numbers too: give labels as text (.astype(str)); for "
            "ids, the texts of vocabulary.labels at these places"
        )


def dataset_of(
    about: Mapping[str, Any], dataset: Dataset | None, at_hand: Dataset | None, wanted: Iterable[str]
) -> Dataset:
    """Return the dataset from which a result's features come: the one given, or the one at hand.

    Raises
    ------
    DataError
        If there is none, or the result, which `about` describes, is of another one.
    """
    dataset = dataset or at_hand
    if dataset is None:
        raise DataError(
            f"{', '.join(wanted)}: a saved result does not hold the dataset; give it: "
            "result.with_features(kgeval.read_dataset(...))"
        )
    if dataset.fingerprint != about["dataset_fingerprint"]:
        raise DataError(
            f"the result is of dataset {about['dataset']!r} ({about['dataset_fingerprint'][:8]}); "
            f"got {dataset.name!r} ({dataset.fingerprint[:8]})"
        )
    return dataset


def says_splits(notes: Sequence[str]) -> bool:
    """Tell whether a note says over which splits columns were taken; otherwise it is over all."""
    return any(TAKEN_OVER in note for note in notes)


def group_names(columns: Sequence[str | Sequence[str]]) -> list[str]:
    """Return the names to group by, one at least, given one by one or as lists."""
    names: list[str] = []
    for column in columns:
        names += [column] if isinstance(column, str) or not isinstance(column, Sequence) else column
    if not names:
        raise MetricError("say what to group by: 'relation', 'side' or 'split'")
    return names


def group_labels(columns: Mapping[str, Any], n_rows: int) -> list[tuple[Group, Ids]]:
    """Return the groups of rows with the same values in every column, most rows first, then in the columns' order.

    Where a column is an ordered Categorical, such as buckets of degrees, the groups come in the columns' order alone.

    Parameters
    ----------
    columns : mapping of str to pandas.Categorical or array, each of length n_rows
        A missing value is a group of its own, ``"missing"``.
    n_rows : int

    Examples
    --------
    >>> group_labels({"side": pd.Categorical(["object", "subject", "object"])}, 3)
    [(('object',), array([0, 2])), (('subject',), array([1]))]
    """
    labels: list[npt.NDArray[Any]] = []
    codes: list[Ids] = []
    for values in columns.values():
        texts, own = text_codes(values)
        labels.append(np.array([*texts, "missing"], dtype=object))
        codes.append(np.where(own < 0, texts.index("missing") if "missing" in texts else len(texts), own))
    order, starts = group_rows(*codes) if n_rows else (np.arange(0), np.zeros(1, dtype=np.int64))
    groups = [np.sort(order[start:stop]) for start, stop in zip(starts, starts[1:])]
    if not any(isinstance(values, pd.Categorical) and values.ordered for values in columns.values()):
        groups.sort(key=len, reverse=True)
    return [(tuple(of[code[rows[0]]] for of, code in zip(labels, codes)), rows) for rows in groups]


def same_columns(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Tell whether two tables have the same columns, which read alike in every row."""
    if list(one.columns) != list(other.columns) or len(one) != len(other):
        return False
    for name in one.columns:
        mine, theirs = (
            np.array([*texts, "missing"], dtype=object)[codes]
            for texts, codes in (text_codes(one[name].array), text_codes(other[name].array))
        )
        if not np.array_equal(mine, theirs):
            return False
    return True


def text_codes(values: Any) -> tuple[list[str], Ids]:
    """Return the distinct texts of a column, in the order of its categories, and each row's place among them.

    Values that read alike are one; missing ones are -1.

    Examples
    --------
    >>> text_codes(pd.Categorical([1, "1", None], categories=[1, "1"]))
    (['1'], array([ 0,  0, -1]))
    """
    if isinstance(values, pd.Categorical):
        codes, categories = values.codes.astype(np.int64), list(values.categories)
    else:
        plain = values.to_numpy(dtype=object) if hasattr(values, "to_numpy") else np.asarray(values, dtype=object)
        codes, found = pd.factorize(plain, sort=False)
        categories = list(found)
        order = sorted(range(len(categories)), key=lambda i: _sort_key(categories[i]))
        place = np.empty(len(order) + 1, dtype=np.int64)
        place[order], place[-1] = np.arange(len(order)), -1
        codes, categories = place[codes], [categories[i] for i in order]
    texts = [str(category) for category in categories]
    distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    places = np.array([*(distinct[text] for text in texts), -1], dtype=np.int64)
    return list(distinct), places[codes]


def _sort_key(value: Any) -> tuple[bool, Any]:
    """Sort numbers as numbers, before everything else as text."""
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    return not is_number, value if is_number else str(value)
