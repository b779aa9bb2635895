"""Data frames of triples: find the columns of subject, relation and object, and convert labels to ids and back.

`Dataset.from_frames`, the readers of files and the tables of scores and of negatives call these functions.
"""

from __future__ import annotations

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


def frame_columns(what: str, frame: pd.DataFrame) -> list[int]:
    """Return the positions of the three columns of a frame that hold s, p and o.

    Columns are recognised by the names in `COLUMN_NAMES`, in upper or lower case. A frame of exactly three columns with
    other names is read by position: s, p, o.

    Parameters
    ----------
    what : str
        The name of the frame in error messages.
    frame : pandas.DataFrame

    Returns
    -------
    list of three int

    Raises
    ------
    DataError
        If the columns cannot be recognised, if a name occurs twice, or if a frame of three columns has a name of
        `COLUMN_NAMES` in the wrong position.
    """
    lowered = [str(column).lower() for column in frame.columns]
    for names in COLUMN_NAMES:
        if all(name in lowered for name in names):
            repeated = [name for name in names if lowered.count(name) > 1]
            if repeated:
                raise DataError(f"{what}: duplicate column {repeated[0]!r}; keep only one")
            return [lowered.index(name) for name in names]
    expected = [{names[i] for names in COLUMN_NAMES} for i in range(3)]
    misplaced = [name for i, name in enumerate(lowered[:3]) if name in set().union(*expected) - expected[i]]
    if len(lowered) == 3 and not misplaced:
        return [0, 1, 2]
    known = "; ".join(", ".join(names) for names in COLUMN_NAMES)
    raise DataError(
        f"{what}: expected columns named {known}, or exactly three columns with other names; got "
        f"{[str(column) for column in frame.columns]}"
    )


def frame_labels(split: str, frame: pd.DataFrame) -> list[pd.Categorical]:
    """Return the labels in the columns s, p and o of a frame.

    Parameters
    ----------
    split : str
        The name of the frame in error messages.
    frame : pandas.DataFrame
        See `frame_columns`.

    Returns
    -------
    list of three pandas.Categorical of str, shape (n,)

    Raises
    ------
    DataError
        If `frame` is not a DataFrame, if its columns are not recognised, or if a value is not a label (see
        `as_labels`).
    """
    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"{split}: expected a pandas.DataFrame; got {type(frame).__name__}")
    positions = frame_columns(split, frame)
    return [as_labels(f"{split} frame", frame.iloc[:, j].to_numpy(dtype=object), i) for i, j in enumerate(positions)]


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
        If the columns are not recognised, or if a label is not in the dataset (the message names row and column,
        counted from 0).
    """
    positions = frame_columns(what, frame)
    columns = []
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
        The number of the column, for error messages.

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
