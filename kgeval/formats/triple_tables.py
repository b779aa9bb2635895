"""Read one file of triples, perhaps with further columns: text with any separator, CSV or Parquet, packed or not.

`kgeval.formats.datasets.tab_folder` reads each file of a dataset with `read_table`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.data.column_names import COLUMN_NAMES, TRUTH_NAMES, check_further_column, named_columns, proposed_columns
from kgeval.data.frames import frame_columns, frame_labels, further_columns
from kgeval.errors import DataError
from kgeval.formats.parquet_tables import read_parquet
from kgeval.formats.text_tables import TRUTH_LABELS, first_labels, read_text
from kgeval.formats.unpacking import plain_name

PARQUET = (".parquet", ".pq")
TABLE_SUFFIXES = (".txt", ".tsv", ".csv", *PARQUET)
# Advice in errors about a column that marks triples as false, then in errors about a column that names splits.
REMEDIES = (
    "in a folder, use labelled=True (--labelled) if it does, or leave the column out (columns='h,r,t,-')",
    "give one file per split, or leave the column out (columns='h,r,t,-')",
)
# Numbers that int and float keep exactly as they are written: no leading zeros, not too many digits.
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]{0,14})(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?")


@dataclass(frozen=True)
class Table:
    """One file of triples.

    Parameters
    ----------
    labels : list of three pandas.Categorical of str, shape (rows,)
        Subjects, relations and objects.
    is_positive : bool array, shape (rows,)
        Whether the triple of each row is true.
    further : pandas.DataFrame
        The further columns by name, one row per triple.
    ignored : list of str
        The names of columns that were not read.
    positions : list of three int
        The positions of the columns of subjects, relations and objects in the file.
    place : str
        The word for a row in messages: ``"line"`` or ``"row"``.
    top : int
        The number that messages give to the first row: the line number in a text file, 0 in a Parquet file.
    """

    labels: list[pd.Categorical]
    is_positive: npt.NDArray[np.bool_]
    further: pd.DataFrame
    ignored: list[str]
    positions: list[int]
    place: str
    top: int


def table_suffix(path: str | Path) -> str:
    """Return the suffix of a file name in lower case, without ``.gz`` and the like: ``".csv"`` for ``train.csv.gz``.

    Parameters
    ----------
    path : str or path
    """
    return Path(plain_name(path)).suffix.lower()


def read_table(
    file: Path,
    split: str,
    *,
    header: bool | None = None,
    columns: str | Sequence[str] | None = None,
    sep: str | None = None,
    labelled: bool = False,
) -> Table:
    """Read one file of triples.

    Parameters
    ----------
    file : Path
        A Parquet file if the name ends in ``.parquet``, else a text file.
    split : str
        The split whose triples the file holds.
    header, columns, sep, labelled : optional
        See `kgeval.read_dataset`. With `labelled`, files of train may have three columns, without truth labels.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the file cannot be read, or if a line has one of the faults that `kgeval.read_dataset` lists.
    MissingExtra
        If the file is Parquet, and pyarrow is not installed.
    """
    if table_suffix(file) in PARQUET:
        return _read_parquet(file, split, header, columns, sep, labelled)
    # A train file may have no truth labels; all its triples are then true.
    is_plain = not labelled or (split == "train" and len(first_labels(file, sep)) == 3)
    text = read_text(file, header=header, columns=columns, sep=sep, last="" if is_plain else "label")
    n, further = len(text.labels[0]), dict(text.further)
    is_positive = np.ones(n, dtype=bool)
    if not is_plain:
        truth = further.pop(_truth_name(file, list(further)))
        is_positive = _is_true(file, truth, "line", text.top)
    for name, column in further.items():
        check_further_column(str(file), name, column.unique(), split, "lines of the file", REMEDIES)
    values = {name: _values(column) for name, column in further.items()}
    frame = pd.DataFrame(values, index=pd.RangeIndex(n))
    return Table(text.labels, is_positive, frame, text.ignored, text.positions, "line", text.top)


def _read_parquet(
    file: Path,
    split: str,
    header: bool | None,
    columns: str | Sequence[str] | None,
    sep: str | None,
    labelled: bool,
) -> Table:
    """Read a Parquet file; see `read_table`."""
    for name, value in (("header", header), ("sep", sep)):
        if value is not None:
            raise DataError(f"{file}: a Parquet file names its columns itself; leave {name}={value!r} (--{name}) out")
    frame = read_parquet(file)
    names = [str(name) for name in frame.columns]
    if columns is None and named_columns(str(file), names) is None:
        known = "; ".join(", ".join(known) for known in COLUMN_NAMES)
        proposal = proposed_columns(names) or "subject,relation,object"
        raise DataError(
            f"{file}: expected columns named {known}; got {', '.join(names)}. Name the columns of subject, relation "
            f"and object: columns={proposal!r} (--columns {proposal})"
        )
    if not len(frame):
        raise DataError(f"{file}: 0 triples; the table has no rows")
    labels = frame_labels(split, frame, columns, str(file))
    remedies = REMEDIES if not labelled else ("", REMEDIES[1])
    is_positive = np.ones(len(frame), dtype=bool)
    positions = frame_columns(str(file), frame, columns)
    if labelled and not (split == "train" and len(names) == 3):
        truth_name = _truth_name(file, [name for i, name in enumerate(names) if i not in positions])
        texts: Any = pd.Categorical(frame[truth_name].astype(str))
        is_positive = _is_true(file, texts, "row", 0)
        frame = frame.drop(columns=truth_name)
    further, ignored = further_columns(split, frame, columns, str(file), "rows of the file", remedies)
    return Table(labels, is_positive, further, ignored, positions, "row", 0)


def _truth_name(file: Path, names: Sequence[str]) -> str:
    """Return the name of the column of truth labels; `names` are the names of the further columns."""
    truths = [name for name in names if name.lower() in TRUTH_NAMES] or names
    if len(truths) != 1:
        raise DataError(
            f"{file}: labelled=True (--labelled) needs one column that says whether a triple is true, named label or "
            f"truth; got {', '.join(truths) or 'none'}"
        )
    return truths[0]


def _is_true(file: Path, labels: pd.Categorical, place: str, top: int) -> npt.NDArray[np.bool_]:
    """Return whether each truth label means true, bool (rows,).

    All labels must come from one pair of `TRUTH_LABELS`.
    """
    texts = [str(text).lower() for text in labels.categories]  # the distinct labels
    # is_in_pair: for each pair, whether the label of each line belongs to the pair, bool (lines,).
    is_in_pair = [np.array([text in pair for text in texts])[labels.codes] for pair in TRUTH_LABELS]
    for pair, is_in in zip(TRUTH_LABELS, is_in_pair):
        if is_in.all():
            is_true: npt.NDArray[np.bool_] = np.array([pair.get(text, False) for text in texts])[labels.codes]
            return is_true
    row = max(int(np.argmin(is_in)) for is_in in is_in_pair)  # no pair contains all labels up to this row
    raise DataError(
        f"{file}, {place} {row + top}: expected the label 1 or -1, 1 or 0, true or false, and the same pair "
        f"in the whole file; found {str(labels[row])!r}"
    )


def _values(column: pd.Categorical) -> Any:
    """Return the values of a further column: numbers if all texts are numbers, else texts.

    Empty texts are missing values.
    """
    texts = np.array([str(text) for text in column.categories], dtype=object)
    filled = [text for text in texts if text]
    has_empty = len(filled) < len(texts) and bool((texts[column.codes] == "").any())
    if filled and all(_INTEGER.fullmatch(text) for text in filled):
        numbers = np.array([int(text) if text else None for text in texts], dtype=object)
        return numbers[column.codes] if has_empty else numbers[column.codes].astype(np.int64)
    if filled and all(_NUMBER.fullmatch(text) for text in filled):
        return np.array([float(text) if text else np.nan for text in texts])[column.codes]
    return column.set_categories(pd.Index(sorted(filled), dtype=object))
