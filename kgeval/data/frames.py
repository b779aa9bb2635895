"""Data frames of triples: find the columns of subject, relation and object, and convert labels to ids and back.

`Dataset`, the file formats, `evaluate_scores` and `sample_negatives` call these functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import infer_dtype

from kgeval.checks import Ids
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError

COLUMN_NAMES = (
    ("s", "p", "o"),
    ("subject", "predicate", "object"),
    ("subject", "relation", "object"),
    ("head", "relation", "tail"),
    ("h", "r", "t"),
)

# Names and values of further columns, which say whether a triple is true, or to which split it belongs.
TRUTH_NAMES = ("label", "labels", "truth", "target", "y")
TRUTH_VALUES = ({"1", "0"}, {"1", "-1"}, {"true", "false"})
SPLIT_NAMES = ("split", "splits", "subset")
SPLIT_VALUES = {"train": "train", "training": "train", "valid": "valid", "dev": "valid", "val": "valid"}
SPLIT_VALUES |= {"validation": "valid", "test": "test", "testing": "test"}


def check_columns(columns: str) -> list[int]:
    """Return the positions of the columns s, p and o, from a string with one letter for each column.

    Parameters
    ----------
    columns : str
        The letters h, r, t (head, relation, tail) or s, p, o, one for each column, in the order of the columns.

    Returns
    -------
    list of three int

    Raises
    ------
    DataError
        If `columns` is not an order of the letters h, r, t or of the letters s, p, o.

    Examples
    --------
    >>> check_columns("htr")
    [0, 2, 1]
    """
    for letters in ("hrt", "spo"):
        if isinstance(columns, str) and sorted(columns) == sorted(letters):
            return [columns.index(letter) for letter in letters]
    raise DataError(f"columns must be 'hrt', 'htr' or another order of the letters h, r, t or s, p, o; got {columns!r}")


def named_columns(what: str, names: Sequence[str]) -> list[int] | None:
    """Return the positions of s, p and o among column names; None if no entry of `COLUMN_NAMES` is among the names.

    Parameters
    ----------
    what : str
        The name of the table in error messages.
    names : sequence of str
        The names of all columns, in upper or lower case.

    Returns
    -------
    list of three int, or None

    Raises
    ------
    DataError
        If one of the recognised names occurs twice.
    """
    lowered = [name.lower() for name in names]
    for known in COLUMN_NAMES:
        if all(name in lowered for name in known):
            repeated = [name for name in known if lowered.count(name) > 1]
            if repeated:
                raise DataError(f"{what}: duplicate column {repeated[0]!r}; keep only one")
            return [lowered.index(name) for name in known]
    return None


def has_names(frame: pd.DataFrame) -> bool:
    """Return whether the columns of a frame have names other than 0, 1, ..., the default of pandas.

    Parameters
    ----------
    frame : pandas.DataFrame
    """
    return not frame.columns.equals(pd.RangeIndex(frame.shape[1]))


def frame_columns(what: str, frame: pd.DataFrame, columns: str | None = None) -> list[int]:
    """Return the positions of the three columns of a frame that hold s, p and o.

    Columns are recognised by the names in `COLUMN_NAMES`, in upper or lower case. A frame of exactly three columns is
    read by position if `columns` says the order, or if its columns have no names (the order is then s, p, o).

    Parameters
    ----------
    what : str
        The name of the frame in error messages.
    frame : pandas.DataFrame
    columns : str, optional
        The order of the three columns; see `check_columns`.

    Returns
    -------
    list of three int

    Raises
    ------
    DataError
        If the columns cannot be recognised, if a name occurs twice, or if `columns` contradicts the names.
    """
    shown = [str(column) for column in frame.columns]
    named = named_columns(what, shown)
    if columns is not None:
        positions = check_columns(columns)
        if len(shown) != 3:
            raise DataError(f"{what}: columns={columns!r} is for frames of exactly three columns; got {shown}")
        if named is not None and named != positions:
            raise DataError(f"{what}: columns={columns!r} contradicts the column names {shown}; leave one of them out")
        return positions
    if named is not None:
        return named
    if len(shown) == 3 and not has_names(frame):
        return [0, 1, 2]
    known = "; ".join(", ".join(names) for names in COLUMN_NAMES)
    raise DataError(
        f"{what}: expected columns named {known}; got {shown}. Rename the columns (Dataset.from_frames also "
        "takes columns='hrt' or 'htr' for three columns with other names)"
    )


def frame_labels(split: str, frame: pd.DataFrame, columns: str | None = None) -> list[pd.Categorical]:
    """Return the labels in the columns s, p and o of a frame.

    Parameters
    ----------
    split : str
        The name of the frame in error messages.
    frame : pandas.DataFrame
        See `frame_columns`.
    columns : str, optional
        See `frame_columns`.

    Returns
    -------
    list of three pandas.Categorical of str, shape (n,)

    Raises
    ------
    DataError
        If `frame` is not a DataFrame, if its columns are not recognised, or if a value is not a label (see
        `as_labels`), is empty, or is only white space.
    """
    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"{split}: expected a pandas.DataFrame; got {type(frame).__name__}")
    labels = []
    for i, j in enumerate(frame_columns(split, frame, columns)):
        column = as_labels(f"{split} frame", frame.iloc[:, j].to_numpy(dtype=object), i)
        is_blank = np.array([not label.strip() for label in column.categories], dtype=bool)
        if is_blank.any():
            row = int(np.flatnonzero(is_blank[column.codes])[0])
            raise DataError(
                f"{split} frame, row {row}, column {i}: the label {column[row]!r} is empty or only white space; "
                "remove the row or name the value"
            )
        labels.append(column)
    return labels


def ignored_columns(split: str, frame: pd.DataFrame, columns: str | None = None) -> list[str]:
    """Return the names of the columns of a frame that are not read.

    Parameters
    ----------
    split : str
        The split whose triples the frame holds.
    frame : pandas.DataFrame
        See `frame_columns`.
    columns : str, optional
        See `frame_columns`.

    Returns
    -------
    list of str

    Raises
    ------
    DataError
        If an ignored column shows that the frame has rows that are no true triples of `split`: the column marks triples
        as false, or it names other splits.

    Examples
    --------
    >>> ignored_columns("test", pd.DataFrame([["Jack", "likes", "Rome", 0.5]], columns=["s", "p", "o", "weight"]))
    ['weight']
    """
    read = frame_columns(split, frame, columns)
    ignored = []
    for j, name in enumerate(frame.columns):
        if j in read:
            continue
        ignored.append(str(name))
        lowered = str(name).lower()
        column = frame.iloc[:, j]
        is_split_name = len(column) > 0 and str(column.iloc[0]).lower() in SPLIT_VALUES
        if lowered in TRUTH_NAMES:
            values = {str(value).lower().removesuffix(".0") for value in column}
            if any(values <= pair for pair in TRUTH_VALUES) and values & {"0", "-1", "false"}:
                raise DataError(
                    f"{split}: the column {str(name)!r} marks triples as false, but all rows of the frame would be "
                    "read as true; keep only the true rows, or drop the column if it means something else"
                )
        elif lowered in SPLIT_NAMES or is_split_name:
            texts = sorted({str(value).lower() for value in column})
            meant = {SPLIT_VALUES.get(text) for text in texts}
            # A column with a value that is no split raises an error only if the column is named like a column of
            # splits and has at least two distinct values.
            if meant != {split} and (None not in meant or (lowered in SPLIT_NAMES and len(texts) > 1)):
                shown = ", ".join(repr(text) for text in texts[:3])
                raise DataError(
                    f"{split}: the column {str(name)!r} names splits ({shown}), but all rows of the frame would be "
                    f"read as {split}; give one frame per split, or drop the column if it means something else"
                )
    return ignored


def check_integers(
    what: str, frame: pd.DataFrame, positions: Sequence[int], vocabularies: Sequence[Vocabulary], for_ids: str
) -> None:
    """Raise a DataError if a frame holds an integer that equals a label, and the id of this label is another integer.

    An integer may be meant as a label or as an id. If the label and its id are the same integer, the meaning does not
    matter. Otherwise an error is raised, and the caller must convert labels to strings.

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
        The advice that the message gives for integers that are ids.

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
    for_ids = "put the labels in their place (dataset.entities.labels[id])"
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
        labels = np.array(vocabulary.labels, dtype=object)[frame[column].to_numpy()]
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
