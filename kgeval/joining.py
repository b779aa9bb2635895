"""A user's columns put beside the rows of a ranks table."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from kgeval.errors import DataError, KgevalWarning
from kgeval.queries import SIDE_NAMES, given_and_asked_where
from kgeval.triples import Vocabulary

KEYS = {"s": "entity", "p": "relation", "o": "entity", "relation": "relation", "given": "entity", "asked": "entity"}
PLACES = (*KEYS, "side", "split")


def join_columns(
    columns: pd.DataFrame | Mapping[str, Any],
    table: pd.DataFrame,
    entities: Vocabulary,
    relations: Vocabulary,
    taken: Collection[str],
) -> tuple[pd.DataFrame, list[str]]:
    """Return `columns` as one row per row of a ranks table; see `kgeval.EvaluationResult.with_columns`.

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
    """Return what each row of the ranks table is under `keys`: ids, and names of side and split."""
    triples = table[["s", "p", "o"]].to_numpy()
    is_subject = (table["side"] == "subject").to_numpy()
    given, asked = given_and_asked_where(triples, is_subject)
    every = {
        **dict(zip("spo", triples.T)),
        "relation": triples[:, 1],
        "given": given,
        "asked": asked,
        "side": table["side"].astype(str).to_numpy(dtype=object),
        "split": table["split"].astype(str).to_numpy(dtype=object),
    }
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
