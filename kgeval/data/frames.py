"""Data frames of triples: find the columns of subject, relation and object, and convert labels to ids and back.

`Dataset`, the file formats, `evaluate_scores` and `sample_negatives` call these functions.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import infer_dtype

from kgeval.base.checks import Ids
from kgeval.data.column_names import (
    COLUMN_NAMES,
    REMEDIES,
    check_further_column,
    check_roles,
    chosen_columns,
    kept_notes,
    named_columns,
    parse_columns,
    proposed_columns,
)
from kgeval.data.qualifiers import QUALIFIERS, LabelQualifiers
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError, MissingExtra


def has_names(frame: pd.DataFrame) -> bool:
    """Return whether the columns of a frame have names other than 0, 1, ..., the default of pandas.

    Parameters
    ----------
    frame : pandas.DataFrame
    """
    return not frame.columns.equals(pd.RangeIndex(frame.shape[1]))


def frame_columns(what: str, frame: pd.DataFrame, columns: str | Sequence[str] | None = None) -> list[int]:
    """Return the positions of the three columns of a frame that hold s, p and o.

    Columns are recognised by the names in `COLUMN_NAMES`, in upper or lower case, or by the names in `columns`. If
    `columns` gives the order of the columns, the positions follow from this order. Three columns without names are s, p
    and o.

    Parameters
    ----------
    what : str
        The name of the frame in error messages.
    frame : pandas.DataFrame
    columns : str or sequence of str, optional
        The columns of the frame; see `parse_columns`.

    Returns
    -------
    list of three int

    Raises
    ------
    DataError
        If the columns cannot be recognised, if a name occurs twice, or if `columns` contradicts the names.
    """
    shown = [str(column) for column in frame.columns]
    choice = None if columns is None else parse_columns(columns)
    if choice is not None and choice.is_by_name:
        return chosen_columns(what, shown, choice)
    named = named_columns(what, shown)
    if choice is not None and choice.positions is not None:
        positions = list(choice.positions)
        if len(shown) != len(choice.names):
            n = "three" if len(choice.names) == 3 else len(choice.names)
            raise DataError(f"{what}: columns={choice} is for frames of exactly {n} columns; got {shown}")
        if named is not None and named != positions:
            raise DataError(
                f"{what}: columns={choice} contradicts the column names {shown}; rename them or remove columns="
            )
        if named is None:
            check_roles(f"{what}: columns={choice} contradicts the column names {shown}", shown, positions)
        return positions
    if named is not None:
        return named
    if len(shown) == 3 and not has_names(frame):
        return [0, 1, 2]
    known = "; ".join(", ".join(names) for names in COLUMN_NAMES)
    proposal = proposed_columns(shown)
    by_name = f", or columns={proposal!r}" if proposal else ""
    raise DataError(
        f"{what}: expected columns named {known}; got {shown}. Rename the columns (Dataset.from_frames also "
        f"takes columns='hrt' or 'htr' for three columns with other names{by_name})"
    )


def frame_labels(
    split: str, frame: pd.DataFrame, columns: str | Sequence[str] | None = None, what: str = ""
) -> list[pd.Categorical]:
    """Return the labels in the columns s, p and o of a frame.

    Parameters
    ----------
    split : str
        The split whose triples the frame holds.
    frame : pandas.DataFrame
        See `frame_columns`.
    columns : str or sequence of str, optional
        See `frame_columns`.
    what : str
        The name of the table in error messages; by default the split.

    Returns
    -------
    list of three pandas.Categorical of str, shape (n,)

    Raises
    ------
    DataError
        If the columns of the frame are not recognised, or if a value is not a label (see `as_labels`), is empty, or is
        only white space.
    """
    labels = []
    table = what or f"{split} frame"
    for i, j in enumerate(frame_columns(what or split, frame, columns)):
        column = as_labels(table, frame.iloc[:, j].to_numpy(dtype=object), i)
        is_blank = np.array([not label.strip() for label in column.categories], dtype=bool)
        if is_blank.any():
            row = int(np.flatnonzero(is_blank[column.codes])[0])
            raise DataError(
                f"{table}, row {row}, column {i}: the label {column[row]!r} is empty or only white space; "
                "remove the row, or write a label in its place"
            )
        labels.append(column)
    return labels


def further_columns(
    split: str,
    frame: pd.DataFrame,
    columns: str | Sequence[str] | None = None,
    what: str = "",
    rows: str = "rows of the frame",
    remedies: Sequence[str] = REMEDIES,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the columns of a frame that hold neither subject, relation nor object.

    Parameters
    ----------
    split : str
        The split whose triples the frame holds.
    frame : pandas.DataFrame
        See `frame_columns`.
    columns : str or sequence of str, optional
        See `frame_columns`.
    what : str
        The name of the table in error messages; by default the split.
    rows, remedies
        See `check_further_column`.

    Returns
    -------
    kept : pandas.DataFrame
        The further columns, with the default index (0, 1, ...).
    ignored : list of str
        The names of the columns that are not in `kept`: columns without a name, columns that repeat the name of another
        further column, and columns whose values cannot be grouped, such as lists (but ``qualifiers`` is kept: a
        `Dataset` refuses what it cannot read of it).

    Raises
    ------
    DataError
        If a further column shows that some rows of the frame are not true triples of `split`; see
        `check_further_column`.

    Examples
    --------
    >>> kept, ignored = further_columns("test", pd.DataFrame([["a", "r", "b", 0.5]], columns=["s", "p", "o", "weight"]))
    >>> list(kept), ignored
    (['weight'], [])
    """
    kept: dict[str, pd.Series] = {}
    ignored = []
    for j, name in _further_names(what or split, frame, columns).items():
        column = frame.iloc[:, j].reset_index(drop=True)
        distinct = _distinct(column)
        check_further_column(what or split, name, distinct or (), split, rows, remedies)
        if not name.strip() or name in kept or (distinct is None and name != QUALIFIERS):
            ignored.append(name)
        else:
            kept[name] = column
    return pd.DataFrame(kept, index=pd.RangeIndex(len(frame))), ignored


def _further_names(what: str, frame: pd.DataFrame, columns: str | Sequence[str] | None) -> dict[int, str]:
    """Return position and name of each column of a frame that holds neither subjects, relations nor objects."""
    triple = frame_columns(what, frame, columns)
    choice = None if columns is None else parse_columns(columns)
    if choice is not None and not choice.is_by_name:
        return {j: name for name, j in choice.further.items()}
    return {j: str(name) for j, name in enumerate(frame.columns) if j not in triple}


def frame_qualifiers(
    split: str, frame: pd.DataFrame, columns: str | Sequence[str] | None = None
) -> LabelQualifiers | None:
    """Return the qualifiers in the column ``qualifiers`` of a frame: lists of pairs of labels (relation, entity).

    Parameters
    ----------
    split : str
        The split whose triples the frame holds, for messages.
    frame : pandas.DataFrame
    columns : str or sequence of str, optional
        See `frame_columns`.

    Returns
    -------
    LabelQualifiers or None
        None if there is no such column. A missing value means no qualifiers.

    Raises
    ------
    DataError
        If a value is not missing and no list of pairs of labels, such as a text, or if there are two such columns.
    """
    places = [j for j, name in _further_names(split, frame, columns).items() if name == QUALIFIERS]
    if not places:
        return None
    if len(places) > 1:
        raise DataError(f"{split} frame: duplicate column {QUALIFIERS!r}; keep only one")
    kinds = (list, tuple, np.ndarray)
    column = frame.iloc[:, places[0]].tolist()
    values = [value if isinstance(value, kinds) or not pd.isna(value) else () for value in column]
    for row, value in enumerate(values):
        if not isinstance(value, kinds) or any(
            not isinstance(pair, kinds) or len(pair) != 2 or not all(isinstance(x, str) and x.strip() for x in pair)
            for pair in value
        ):
            raise DataError(
                f"{split} frame, row {row}, column {QUALIFIERS!r}: expected a list of pairs of labels (relation, "
                f"entity), such as [('since', '1999')]; got {value!r}. If the column means something else, give it "
                "another name"
            )
    return LabelQualifiers.of(values)


def further_notes(columns: Mapping[str, pd.DataFrame]) -> list[str]:
    """Return the notes about the further columns of a dataset; see `kept_notes`.

    Parameters
    ----------
    columns : mapping of str to pandas.DataFrame
        The further columns of each split.
    """
    values: dict[str, list[Any]] = {}
    for frame in columns.values():
        for name in frame:
            values.setdefault(str(name), []).extend(_distinct(frame[name]) or ())
    return kept_notes(values)


def _distinct(column: pd.Series) -> list[Any] | None:
    """Return the distinct values of a column in the order of first occurrence; None if its values cannot be grouped."""
    try:
        return column.unique().tolist()
    except TypeError:  # lists, dicts and other values without a hash
        return None


def as_frame(what: str, table: Any) -> pd.DataFrame:
    """Return a table of triples as a pandas frame.

    Parameters
    ----------
    what : str
        The name of the table in error messages.
    table : pandas.DataFrame, pyarrow.Table, array of str or sequence of tuples
        Also any other table with a method ``to_pandas``, ``__arrow_c_stream__`` or ``__dataframe__``, such as a Polars
        frame. Arrays have shape (n, 3), or one column for each name in ``columns``; a sequence holds tuples of str.

    Raises
    ------
    DataError
        If `table` is of another type, or if it is an array that does not contain text.
    MissingExtra
        If the table has only the Arrow interface, and pyarrow is not installed.
    """
    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, np.ndarray):
        return _frame_of_array(what, table)
    if isinstance(table, (list, tuple)):
        for row, values in enumerate(table):
            if not isinstance(values, (list, tuple)) or len(values) != len(table[0]) or len(values) < 3:
                raise DataError(f"{what}, row {row}: expected a tuple of three labels; got {values!r}")
        if not len(table):
            raise DataError(f"{what}: expected at least one triple; got an empty {type(table).__name__}")
        return pd.DataFrame(table, dtype=object)
    try:
        frame = _converted(what, table)
    except Exception as error:  # each library raises its own types of errors
        if isinstance(error, MissingExtra):
            raise
        raise DataError(f"{what}: the {type(table).__name__} cannot be converted to a frame: {error}") from error
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"{what}: expected a table: a pandas or Arrow table, an array of str or a list of tuples; "
            f"got {type(table).__name__}"
        )
    return frame


def _converted(what: str, table: Any) -> Any:
    """Convert a table of another library to a pandas frame; return None if the table has no known method for this."""
    if hasattr(table, "to_pandas"):
        # By default, Arrow converts integers with missing values to floats; error messages would then show floats.
        is_arrow = type(table).__module__.partition(".")[0] == "pyarrow"
        return table.to_pandas(integer_object_nulls=True) if is_arrow else table.to_pandas()
    if hasattr(table, "__arrow_c_stream__") and not isinstance(table, pd.Series):
        try:
            import pyarrow
        except ImportError as error:
            raise MissingExtra(f'{what}: reading Arrow tables needs pyarrow; pip install "kgeval[parquet]"') from error
        return pyarrow.table(table).to_pandas(integer_object_nulls=True)
    if hasattr(table, "__dataframe__"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas calls this interface deprecated
            return pd.api.interchange.from_dataframe(table)
    return None


def _frame_of_array(what: str, array: npt.NDArray[Any]) -> pd.DataFrame:
    """Return an array of text as a frame without names."""
    if isinstance(array, np.ma.MaskedArray):
        raise DataError(f"{what} must not be a masked array; remove the masked rows first")
    if array.ndim != 2 or array.shape[1] < 3:
        raise DataError(f"{what}: expected an array of shape (n, 3); got shape {array.shape}")
    if array.dtype.kind not in "OUT":
        hint = "; for ids use Dataset.from_arrays" if array.dtype.kind in "iu" else ""
        raise DataError(f"{what}: expected an array of str; got dtype {array.dtype}{hint}")
    return pd.DataFrame(array.astype(object))


def check_integers(
    what: str, frame: pd.DataFrame, positions: Sequence[int], vocabularies: Sequence[Vocabulary], for_ids: str
) -> None:
    """Raise a DataError if it is unclear whether an integer in a frame is a label or an id.

    Example: a frame holds the integer 7. If the label "7" has the id 7, both meanings are the same, and no error is
    raised. If the label "7" has the id 3, an error is raised; a caller who means labels converts integers to strings.

    Parameters
    ----------
    what : str
        The name of the frame in error messages.
    frame : pandas.DataFrame
    positions : sequence of three int
        The positions of s, p and o; see `frame_columns`.
    vocabularies : sequence of three Vocabulary
        The vocabularies of s, p and o.
    for_ids : str
        The advice in the message for the case that the integers are ids.

    Raises
    ------
    DataError
        The message names row and column, counted from 0.
    """
    for i, vocabulary in enumerate(vocabularies):
        values = frame.iloc[:, positions[i]]
        if infer_dtype(values, skipna=False) == "string":
            continue
        integers = [value for value in values.unique().tolist() if isinstance(value, int)]
        label_ids = vocabulary.find([str(value) for value in integers])
        differs = [value for value, label_id in zip(integers, label_ids.tolist()) if label_id not in (-1, value)]
        if differs:
            row = int(np.flatnonzero((values == differs[0]).to_numpy(dtype=bool))[0])
            raise DataError(
                f"{what}, row {row}, column {i}: is the integer {differs[0]} a label or an id? The label "
                f"'{differs[0]}' has the id {vocabulary.find([str(differs[0])])[0]}. If the integers are labels, "
                f"convert them: frame.astype(str); if they are ids, {for_ids}"
            )


def frame_ids(what: str, frame: pd.DataFrame, entities: Vocabulary, relations: Vocabulary, dataset: str) -> Ids:
    """Convert the labels in the columns s, p and o of a frame to ids, int64 (n, 3).

    Parameters
    ----------
    what : str
        The name of the frame in error messages.
    frame : pandas.DataFrame
        See `frame_columns`.
    entities, relations : Vocabulary
        The vocabularies of the dataset.
    dataset : str
        The name of the dataset, for messages.

    Raises
    ------
    DataError
        If the columns are not recognised, if a label is not in the dataset, or if an integer may be a label or an id
        (see `check_integers`); the message names row and column, counted from 0.
    """
    positions = frame_columns(what, frame)
    columns = []
    for_ids = "replace them with labels (dataset.entities.labels[id])"
    check_integers(what, frame, positions, (entities, relations, entities), for_ids)
    for i, vocabulary in enumerate((entities, relations, entities)):
        column = as_labels(what, frame.iloc[:, positions[i]].to_numpy(dtype=object), i)
        ids = vocabulary.find(column.categories.to_numpy(dtype=object))[column.codes]  # one look-up per distinct label
        if (ids < 0).any():
            row = int(np.flatnonzero(ids < 0)[0])
            raise DataError(f"{what}, row {row}, column {i}: {column[row]!r} does not occur in dataset {dataset!r}")
        columns.append(ids)
    return np.column_stack(columns)


def with_labels(frame: pd.DataFrame, entities: Vocabulary, relations: Vocabulary) -> pd.DataFrame:
    """Return a copy of a frame of ids, with labels instead of ids in the columns s, p and o.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns s, p and o hold ids; all other columns stay. Not modified.
    entities, relations : Vocabulary

    Examples
    --------
    >>> entities, relations = Vocabulary(["Jack", "Italy"]), Vocabulary(["likes"])
    >>> with_labels(pd.DataFrame({"s": [0], "p": [0], "o": [1], "score": [0.5]}), entities, relations)
          s      p      o  score
    0  Jack  likes  Italy    0.5
    """
    labelled = frame.copy()
    for column, vocabulary in zip("spo", (entities, relations, entities)):
        labels = vocabulary.labels.objects(frame[column].to_numpy())
        # dtype object, since a label may be invalid Unicode
        labelled[column] = pd.Series(labels, index=frame.index, dtype=object)
    return labelled


def as_labels(what: str, values: npt.NDArray[Any], column: int) -> pd.Categorical:
    """Convert values to a categorical of labels; an integer becomes its decimal string.

    Parameters
    ----------
    what : str
        The name of the table in error messages.
    values : object array, shape (n,)
        Strings or integers.
    column : int
        The position of the column, for error messages.

    Returns
    -------
    pandas.Categorical of str, shape (n,)

    Raises
    ------
    DataError
        If a value is neither a string nor an integer; the message names row and column, counted from 0.
    """
    if infer_dtype(values, skipna=False) != "string":
        for row, value in enumerate(values):
            is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
            if not isinstance(value, str) and not is_integer:
                raise DataError(
                    f"{what}, row {row}, column {column}: expected a string label; got {value!r} "
                    f"({type(value).__name__}). Read the table with dtype=str, keep_default_na=False"
                )
        values = np.array([str(value) for value in values], dtype=object)
    codes, unique = pd.factorize(values)
    return pd.Categorical.from_codes(codes, pd.Index(unique, dtype=object))
