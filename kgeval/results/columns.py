"""Columns for breakdowns of metrics: join a user's columns to the rows of a table, and group rows by columns.

`EvaluationResult` and `ClassificationResult` call this module in `with_columns`, `with_features`, `by` and `==`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Ids, Reals, warn_user
from kgeval.data.dataset import Dataset
from kgeval.data.further_values import DATE, TEXT
from kgeval.data.qualifiers import QUALIFIERS
from kgeval.data.queries import given_and_asked_where
from kgeval.data.row_keys import group_rows
from kgeval.data.sides import ALL_SIDE_NAMES, RELATION
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError, KgevalError, MetricError
from kgeval.metrics.metric_frames import Group
from kgeval.results.lists import triples_of

# The key columns that hold entities or relations, and the vocabulary that each of them uses.
KEYS = {"s": "entity", "p": "relation", "o": "entity", "relation": "relation", "given": "entity", "asked": "entity"}
PLACES = (*KEYS, "side", "split")  # all key columns
SEEN_BEFORE = "seen_before"  # the column that says whether a triple was true at an earlier time
TAKEN_OVER = ": taken over "  # occurs in the note that names the splits from which columns were computed


def join_columns(
    columns: pd.DataFrame | Mapping[str, Any],
    table: pd.DataFrame,
    entities: Vocabulary,
    relations: Vocabulary,
    taken: Collection[str],
) -> tuple[pd.DataFrame, list[str]]:
    """Match a user's columns to the rows of a table of ranks; see `EvaluationResult.with_columns`.

    Parameters
    ----------
    columns : pandas.DataFrame or mapping of str to array
        The user's columns. The columns named in `PLACES` are keys: they show to which ranks a row belongs.
    table : pandas.DataFrame
        The table of ranks (or of classified triples), with ids in the columns s, p, o.
    entities, relations : Vocabulary
    taken : collection of str
        Column names that are already in use.

    Returns
    -------
    frame : pandas.DataFrame
        The new columns without the keys; row i belongs to row i of `table`.
    notes : list of str
        Empty if everything matches; otherwise one note. The note contains the number of ranks without a matching row
        and the number of rows that match no rank; a number of 0 is left out.

    Raises
    ------
    DataError
        If the number of rows or the keys do not match the table, if two rows have the same keys, or if a column name is
        already in use.
    """
    frame = _as_frame(columns, table.index)
    frame.columns = [str(name) for name in frame.columns]
    keys = [name for name in frame.columns if name in PLACES]
    values = [name for name in frame.columns if name not in PLACES]
    clash = [name for name in values if name in taken or values.count(name) > 1]
    if clash or not values:
        raise DataError(
            f"the column name {clash[0]!r} is already in use; rename the column"
            if clash
            else "expected at least one column to break down by, besides the key columns "
            f"{', '.join(PLACES)}; got {', '.join(keys) or 'no column'}"
        )
    if not keys:
        if len(frame) != len(table):
            raise DataError(
                f"expected {len(table)} rows, one for each row of the table of ranks, or key columns "
                f"({', '.join(PLACES)}) that tell to which ranks each row belongs; got {len(frame)} rows "
                f"with columns {', '.join(values)}"
            )
        return frame, []
    table_keys, given_keys = _keys_of(table, keys), _user_keys(frame, entities, relations, keys)
    if given_keys.duplicated().any():
        first = frame.loc[given_keys.duplicated(keep=False).to_numpy(), keys].iloc[0]
        raise DataError(
            f"{', '.join(keys)} = {', '.join(map(repr, first))} occurs more than once; "
            "keep one row per combination of keys"
        )
    # matches (rows of the table,): the index of the matching row in `frame`; -1 if no row matches.
    matches = pd.MultiIndex.from_frame(given_keys).get_indexer(pd.MultiIndex.from_frame(table_keys))
    # Integers and booleans are stored as objects, because a missing value would turn the column into floats.
    plain = {name: frame[name].astype(object) if frame[name].dtype.kind in "iub" else frame[name] for name in values}
    # The index len(frame) does not exist in `frame`, so `reindex` returns a row of missing values for it.
    joined = pd.DataFrame(plain).reindex(np.where(matches < 0, len(frame), matches)).reset_index(drop=True)
    n_missing, n_unused = int((matches < 0).sum()), len(frame) - len(np.unique(matches[matches >= 0]))
    missing = f"{n_missing:,} of {len(table):,} ranks have no matching row (shown as missing)"
    unused = f"{n_unused:,} of {len(frame):,} rows match no rank"
    unmatched = [text for n, text in ((n_missing, missing), (n_unused, unused)) if n]
    notes = [f"columns {', '.join(values)}: {', '.join(unmatched)}"] if unmatched else []
    if n_missing:
        warn_user(notes[0])
    return joined, notes


def dataset_columns(
    dataset: Dataset, splits: Sequence[str], rows: Ids, taken: Collection[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the further columns of a dataset, such as time or weight, for the rows of a table of ranks.

    Parameters
    ----------
    dataset : Dataset
        Its `columns` hold one row per triple of a split.
    splits : sequence of str
        The ranked splits.
    rows : int64 array, shape (rows of the table,)
        The triple of each rank, as an index into the triples of all ranked splits, split after split.
    taken : collection of str
        Names that are already in use in the result; a column NAME with such a name becomes ``"dataset.NAME"``.

    Returns
    -------
    frame : pandas.DataFrame
        Row i belongs to row i of the table. If a split does not have a column, its triples have missing values in this
        column.
        Also the computed columns ``"qualifiers"`` (how many) and ``"seen_before"``, if the dataset has qualifiers or
        times. Dates become texts in ISO 8601.
    notes : list of str
        One note for each column that has another name than in the dataset.
    """
    names = dict.fromkeys(str(name) for split in splits for name in dataset.columns.get(split, ()))
    columns: dict[str, Any] = {}
    notes = []
    for name in names:
        if name == dataset.time_column and dataset.column_values(name).kind == DATE:
            found = dataset.column_values(name)
            codes = np.concatenate([found.codes[split] for split in splits])
            columns[name] = pd.Series(pd.Categorical.from_codes(codes[rows], pd.Index(found.texts(), dtype=object)))
            continue
        parts = [dataset.columns[split].get(name) if split in dataset.columns else None for split in splits]
        if all(part is not None for part in parts):
            column = pd.concat(parts, ignore_index=True)
        else:  # objects, because a missing value would turn a column of integers into floats
            missing = (np.full(len(dataset[split]), None, dtype=object) for split in splits)
            given = [empty if part is None else part.to_numpy(dtype=object) for part, empty in zip(parts, missing)]
            column = pd.Series(np.concatenate(given), dtype=object)
        free = f"dataset.{name}" if name in {*taken, *PLACES} else name
        if free != name:
            notes.append(f"the column {name!r} of the dataset is called {free!r} in the result")
        columns[free] = column.iloc[rows].reset_index(drop=True)
    computed = {QUALIFIERS: _n_qualifiers, SEEN_BEFORE: _seen_before}
    for name in computed_columns(dataset):
        if name not in {*columns, *taken}:
            columns[name] = computed[name](dataset, splits)[rows]
    return pd.DataFrame(columns, index=pd.RangeIndex(len(rows))), notes


def computed_columns(dataset: Dataset) -> list[str]:
    """Return the names of the columns of a result that are computed from times and qualifiers of its dataset.

    Parameters
    ----------
    dataset : Dataset

    Returns
    -------
    list of str
        ``"qualifiers"`` if triples have qualifiers, ``"seen_before"`` if times are numbers or dates.
    """
    time = dataset.time_column
    has_order = time is not None and dataset.column_values(time).kind != TEXT
    return [*([QUALIFIERS] if dataset.has_qualifiers else []), *([SEEN_BEFORE] if has_order else [])]


def _n_qualifiers(dataset: Dataset, splits: Sequence[str]) -> pd.Categorical:
    """Return how many qualifiers each triple of the splits has: 0, 1, 2 or 3+."""
    codes = np.minimum(np.concatenate([dataset.qualifiers_of(split).counts for split in splits]), 3)
    return pd.Categorical.from_codes(codes, pd.Index(["0", "1", "2", "3+"], dtype=object), ordered=True)


def _seen_before(dataset: Dataset, splits: Sequence[str]) -> pd.Categorical:
    """Return whether each triple of the splits was true at an earlier time, in any split of the dataset.

    A triple without a time has no value.
    """
    codes = dataset.column_codes(str(dataset.time_column))
    times = np.concatenate([codes[split] for split in dataset.splits])
    triples = np.concatenate([part.array for part in dataset.splits.values()])
    order, starts = group_rows(*triples.T)
    # earliest (triples,): the smallest time of all rows with the same triple; a missing time counts as later than all.
    with_end = np.where(times < 0, np.iinfo(np.int64).max, times)
    earliest = np.empty_like(times)
    earliest[order] = np.repeat(np.minimum.reduceat(with_end[order], starts[:-1]), np.diff(starts)) if len(order) else 0
    answers = np.where(times < 0, -1, earliest < times)
    ends = np.cumsum([len(part) for part in dataset.splits.values()])[:-1]
    of_split = dict(zip(dataset.splits, np.split(answers, ends)))
    chosen = np.concatenate([of_split[split] for split in splits])
    return pd.Categorical.from_codes(chosen, pd.Index(["no", "yes"], dtype=object))


def _as_frame(columns: Any, index: pd.Index[Any]) -> pd.DataFrame:
    """Return the user's columns as a frame with the default index (0, 1, 2, ...).

    If there are no key columns, rows are matched by their order. Each Series must then have the default index or the
    index of the table of ranks (`index`). With any other index the order is unclear, and a DataError is raised.
    """
    columns = columns.to_frame() if isinstance(columns, pd.Series) else columns
    if not isinstance(columns, (pd.DataFrame, Mapping)):
        raise DataError(f"expected a DataFrame, or a mapping of names to columns; got {type(columns).__name__}")
    is_keyed = any(str(name) in PLACES for name in columns)
    for name, values in columns.items():
        if not is_keyed:
            hint = ", or add key columns such as s, p, o, side"
            check_row_index(f"column {str(name)!r}", values, index, DataError, hint)
    try:
        return pd.DataFrame(columns).reset_index(drop=True)
    except ValueError as error:
        raise DataError(f"expected columns of equal length, one value for each row; {error}") from error


def by_position(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame` with the index 0, 1, 2, ...; the order of the rows does not change.

    Value i of a column belongs to row i of a result's table, but pandas matches rows by index instead of position. With
    another index, pandas would therefore assign values to wrong rows.
    """
    return frame if frame.index.equals(pd.RangeIndex(len(frame))) else frame.reset_index(drop=True)


def check_row_index(
    name: str, values: Any, index: pd.Index[Any], error: type[KgevalError] = DataError, hint: str = ""
) -> None:
    """Raise an error if `values` is a Series whose index does not show to which rows of the table its values belong.

    Values are matched to the rows of the table by position. A Series must therefore have the default index (0, 1, 2,
    ... in order) or the index of the table of ranks. Values without an index, such as arrays, are always accepted.

    Parameters
    ----------
    name : str
        The name of the values, for the message.
    values : object
    index : pandas.Index
        The index of the table of ranks.
    error : type of KgevalError
    hint : str
        A further remedy, for the message.
    """
    if not isinstance(values, (pd.Series, pd.DataFrame)):
        return
    if not (values.index.equals(pd.RangeIndex(len(values))) or values.index.equals(index)):
        raise error(
            f"{name} has another index than the table of ranks, so the order of its rows is unclear; give the values "
            f"in the order of the table (.to_numpy()){hint}"
        )


def checked_weights(weights: Any, table: pd.DataFrame, of: str = "the table") -> Reals:
    """Return weights as an array; raise a MetricError unless there is one valid weight for each row of a table.

    Parameters
    ----------
    weights : array_like, shape (rows,)
    table : pandas.DataFrame
        The table of ranks.
    of : str
        What the table is, for the message.
    """
    check_row_index("weights", weights, table.index, MetricError)
    if isinstance(weights, np.ma.MaskedArray):
        raise MetricError("weights must not be a masked array; fill it, such as with weights.filled(0)")
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (len(table),) or not np.isfinite(array).all() or (array < 0).any():
        raise MetricError(
            f"weights must be finite and at least 0, one for each of the {len(table)} rows of {of}; got shape "
            f"{array.shape}, values from {array.min(initial=np.inf):g} to {array.max(initial=-np.inf):g}"
        )
    return array


def _keys_of(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the columns `keys` for each row of the table of ranks: entities and relations as ids, the rest as text."""
    triples = triples_of(table)
    available = {**dict(zip("spo", triples.T)), "relation": triples[:, 1]}
    if "side" in table.columns:
        is_subject = (table["side"] == "subject").to_numpy()
        if not (table["side"] == RELATION).any():  # on the relation side, two entities are given
            available["given"], available["asked"] = given_and_asked_where(triples, is_subject)
    available |= {name: table[name].astype(str).to_numpy(dtype=object) for name in ("side", "split") if name in table}
    missing = [name for name in keys if name not in available]
    if missing:
        raise DataError(f"the rows of this result have no {missing[0]!r}; join columns by {', '.join(available)}")
    return pd.DataFrame({name: available[name] for name in keys})


def _user_keys(frame: pd.DataFrame, entities: Vocabulary, relations: Vocabulary, keys: list[str]) -> pd.DataFrame:
    """Return the columns `keys` of the user's frame: entities and relations as ids, sides and splits as names.

    A missing value, or a label that is not in the vocabulary, becomes a negative number that no other row has. A row
    with such a number matches no rank and is not a duplicate of another row.

    Raises
    ------
    DataError
        If a key of an entity or relation is neither a label (text) nor an id (integer), for example 3.0.
    """
    columns: dict[str, Any] = {}
    for name in keys:
        values = frame[name].to_numpy()
        if name in KEYS and values.dtype.kind not in "iu":
            values = _labels_or_ids(name, values.astype(object))
        vocabulary = entities if KEYS.get(name) == "entity" else relations
        if name in KEYS and values.dtype.kind in "iu":
            _check_not_ambiguous(name, vocabulary)
        elif name in KEYS:
            ids = vocabulary.find(values.astype(object))
            values = np.where(ids < 0, -1 - np.arange(len(ids)), ids)
        elif name == "side":
            values = np.array([ALL_SIDE_NAMES.get(str(value).lower(), str(value)) for value in values], dtype=object)
        columns[name] = values
    return pd.DataFrame(columns)


def _labels_or_ids(name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return `values` as an int64 array if all values are integers.

    Otherwise return `values` unchanged; but raise a DataError if a value is neither a label nor missing.
    """
    is_missing = pd.isna(values)
    is_id = np.array([isinstance(value, (int, np.integer)) and not isinstance(value, bool) for value in values])
    if len(values) and is_id.all():
        return values.astype(np.int64)
    is_wrong = ~is_missing & np.array([not isinstance(value, str) for value in values], dtype=bool)
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise DataError(
            f"column {name!r}, row {row}: expected labels (text) or ids (integers), found {values[row]!r} "
            f"({type(values[row]).__name__}). If these are ids, drop the rows without an id and convert the column: "
            ".astype(int)"
        )
    return values


def _check_not_ambiguous(name: str, vocabulary: Vocabulary) -> None:
    """Raise a DataError if it is unclear whether the integers in the column `name` are ids or labels.

    An error is raised if all labels consist of digits, and at least one label differs from its id.
    """
    if not vocabulary.are_labels_ids and all(map(str.isdigit, vocabulary.labels)):
        raise DataError(
            f"column {name!r} holds integers, and the labels are numbers too, so they could be labels or ids. If "
            "they are labels, convert them to text (.astype(str)); if they are ids, replace each id i by its label "
            "(vocabulary.labels[i])"
        )


def dataset_of(
    facts: Mapping[str, Any], dataset: Dataset | None, at_hand: Dataset | None, wanted: Iterable[str]
) -> Dataset:
    """Return the dataset from which the features of a result are computed.

    Parameters
    ----------
    facts : mapping
        The attribute `facts` of the result; has the keys ``dataset`` (the name) and ``dataset_fingerprint``.
    dataset : Dataset, optional
        The dataset that the user passed.
    at_hand : Dataset, optional
        The dataset that was evaluated, if it is still in memory; used if `dataset` is None.
    wanted : iterable of str
        The names of the features to compute; shown in the error message.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If `dataset` and `at_hand` are None, or if the result was computed from another dataset.
    """
    dataset = dataset or at_hand
    if dataset is None:
        raise DataError(
            f"{', '.join(wanted)}: a saved result does not contain the dataset; pass the dataset: "
            "result.with_features(kgeval.read_dataset(...))"
        )
    if dataset.fingerprint_with(facts.get("fingerprint_columns", ())) != facts["dataset_fingerprint"]:
        raise DataError(
            f"the result was made from dataset {facts['dataset']!r} ({facts['dataset_fingerprint'][:8]}); "
            f"got {dataset.name!r} ({dataset.fingerprint[:8]})"
        )
    return dataset


def says_splits(notes: Sequence[str]) -> bool:
    """Return whether a note names the splits from which cardinality and pattern were computed.

    If there is no such note, these columns were computed from all splits.

    Parameters
    ----------
    notes : sequence of str
    """
    return any(TAKEN_OVER in note for note in notes)


def group_names(columns: Sequence[str | Sequence[str]]) -> list[str]:
    """Return the names of the columns to group by, as one flat list.

    Parameters
    ----------
    columns : sequence of str, or of sequences of str
        ``("relation", "side")`` and ``(["relation", "side"],)`` mean the same.

    Returns
    -------
    list of str

    Raises
    ------
    MetricError
        If `columns` is empty.
    """
    names: list[str] = []
    for column in columns:
        names += [column] if isinstance(column, str) or not isinstance(column, Sequence) else column
    if not names:
        raise MetricError("name at least one column to group by, such as 'relation'")
    return names


def group_labels(columns: Mapping[str, Any], n_rows: int) -> list[tuple[Group, Ids]]:
    """Return the groups of rows that have the same values in every column.

    If a column is an ordered Categorical (such as buckets of degrees), the groups are sorted by their values. Otherwise
    larger groups come first, and groups of equal size are sorted by their values.

    Parameters
    ----------
    columns : mapping of str to pandas.Categorical or array, each of length n_rows
        Missing values form the group ``"missing"``.
    n_rows : int

    Returns
    -------
    list of (tuple of str, int64 array)
        For each group: its values, one per column, and the sorted indices of its rows.

    Examples
    --------
    >>> group_labels({"side": pd.Categorical(["object", "subject", "object"])}, 3)
    [(('object',), array([0, 2])), (('subject',), array([1]))]
    """
    labels: list[npt.NDArray[Any]] = []
    codes: list[Ids] = []
    # labels, one array per column: the distinct texts, and "missing" at the end.
    # codes, one array per column, shape (rows,): the index of each row's text in `labels`. A missing value gets the
    # code of the text "missing" if the column contains this text, else the code of the last label.
    for values in columns.values():
        texts, text_indices = text_codes(values)
        labels.append(np.array([*texts, "missing"], dtype=object))
        missing_code = texts.index("missing") if "missing" in texts else len(texts)
        codes.append(np.where(text_indices < 0, missing_code, text_indices))
    # order sorts the rows by their codes. The rows order[start:stop] between two consecutive starts have the same codes
    # in all columns and form one group.
    order, starts = group_rows(*codes) if n_rows else (np.arange(0), np.zeros(1, dtype=np.int64))
    groups = [np.sort(order[start:stop]) for start, stop in zip(starts, starts[1:])]
    if not any(isinstance(values, pd.Categorical) and values.ordered for values in columns.values()):
        groups.sort(key=len, reverse=True)
    # All rows of a group have the same labels, so the labels come from its first row.
    return [
        (tuple(column_labels[column_codes[rows[0]]] for column_labels, column_codes in zip(labels, codes)), rows)
        for rows in groups
    ]


def same_columns(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Return whether two tables have the same columns with the same texts in every row.

    Parameters
    ----------
    one, other : pandas.DataFrame
        Values are compared as texts; a missing value equals ``"missing"``.
    """
    return _texts(one).equals(_texts(other))


def _texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the text of each value; ``"missing"`` if it is missing."""
    codes = {name: text_codes(frame[name].array) for name in frame.columns}
    texts = {name: np.array([*found, "missing"], dtype=object)[rows] for name, (found, rows) in codes.items()}
    return pd.DataFrame(texts, index=pd.RangeIndex(len(frame)), columns=frame.columns)


def text_codes(values: Any) -> tuple[list[str], Ids]:
    """Return the distinct texts of a column, and for each row the index of its text.

    Parameters
    ----------
    values : pandas.Categorical, pandas or numpy array, shape (rows,)

    Returns
    -------
    texts : list of str
        For a Categorical, in the order of its categories; otherwise first the numbers in ascending order, then all
        other values, sorted as texts. Values with the same text share one entry.
    codes : int64 array, shape (rows,)
        Indices into `texts`; -1 for missing values.

    Examples
    --------
    >>> text_codes(pd.Categorical([1, "1", None], categories=[1, "1"]))
    (['1'], array([ 0,  0, -1]))
    >>> text_codes(np.array([10, "b", 9], dtype=object))
    (['9', '10', 'b'], array([1, 2, 0]))
    """
    if isinstance(values, pd.Categorical):
        codes, categories = values.codes.astype(np.int64), list(values.categories)
    else:
        plain = values.to_numpy(dtype=object) if hasattr(values, "to_numpy") else np.asarray(values, dtype=object)
        # codes (rows,): the index of each value in distinct_values, which are in the order of their first occurrence.
        codes, distinct_values = pd.factorize(plain, sort=False)
        categories = list(distinct_values)
        # order (distinct values,): the indices that sort the distinct values. new_codes: the inverse of order (old
        # code -> new code), with -1 at the end, so that code -1 (a missing value) stays -1.
        order = sorted(range(len(categories)), key=lambda i: _sort_key(categories[i]))
        new_codes = np.empty(len(order) + 1, dtype=np.int64)
        new_codes[order], new_codes[-1] = np.arange(len(order)), -1
        codes, categories = new_codes[codes], [categories[i] for i in order]
    # indices (categories,): the index of the text of each category; code -1 (a missing value) stays -1.
    indices, texts = pd.factorize(np.array([str(category) for category in categories], dtype=object))
    return texts.tolist(), np.append(indices, -1)[codes]


def _sort_key(value: Any) -> tuple[bool, Any]:
    """Return a sort key: numbers come first, sorted by value; all other values follow, sorted as texts."""
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    return not is_number, value if is_number else str(value)
