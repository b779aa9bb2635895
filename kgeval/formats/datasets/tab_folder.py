"""The format of folders with ``train``, ``valid`` and ``test`` files, ``s<TAB>p<TAB>o`` on each line.

`read_dataset` and `read_negatives` read such folders; the reader of tables of scores calls `read_columns`.
"""

from __future__ import annotations

import codecs
import csv
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import infer_dtype

from kgeval.checks import Ids
from kgeval.data import COLUMN_NAMES, SPLITS, Dataset, as_labels
from kgeval.errors import DataError
from kgeval.files import check_no_nul, encoding_error, one_line_end, read_bytes
from kgeval.formats.registry import Format

TEXT_SUFFIXES = (".txt", ".tsv")
TRUTH_LABELS = ({"1": True, "-1": False}, {"1": True, "0": False}, {"true": True, "false": False})
_TAB, _NEWLINE, _RETURN = b"\t\n\r"


def _sniff(path: Path) -> bool:
    """Return whether `path` is a folder with at least one file of a split."""
    return path.is_dir() and any((path / (split + suffix)).exists() for split in SPLITS for suffix in TEXT_SUFFIXES)


def _read(folder: str | Path, *, header: bool = False, labelled: bool = False) -> Dataset:
    """Read the folder; see `kgeval.read_dataset`."""
    path = _folder(folder)
    files = {split: file for split in SPLITS if (file := _split_file(path, split)) is not None}
    if not files:
        raise DataError(f"{path}: expected train.txt, valid.txt or test.txt (or .tsv); {_contents(path)}")

    def read(split: str) -> list[pd.Categorical]:
        if not labelled:
            return read_columns(files[split], header=header)
        columns, is_positive = read_labelled(files[split], header=header, is_train=split == "train")
        # only the true triples; the labels of the false triples stay as categories
        return [column[is_positive] for column in columns]

    with ThreadPoolExecutor(len(files)) as pool:
        columns = list(pool.map(read, files))
    return Dataset.from_labels(dict(zip(files, columns)), name=path.resolve().name)


def read_negatives(
    folder: str | Path, dataset: Dataset, *, labelled: bool = False, header: bool = False
) -> dict[str, Ids]:
    """Read the negatives (false triples) that belong to a dataset, for `kgeval.classify`.

    Parameters
    ----------
    folder : str or path
        The folder contains ``valid_negatives`` or ``test_negatives`` (``.txt`` or ``.tsv``) or both, with
        lines as in `read_dataset`. With `labelled`, it is the folder of the dataset itself.
    dataset : Dataset
        The dataset must contain every entity and relation of the negatives.
    labelled : bool
        Whether the negatives are the lines of ``valid`` and ``test`` with the label false. Lines of
        ``train`` with the label false are read too, if there are any.
    header : bool
        Whether the first line of every file names the columns.

    Returns
    -------
    dict of str to int64 array, shape (n, 3)
        For each split that has a file: its negatives, columns s, p, o, in the order of the file. Repeated
        lines stay, and negatives that are known triples stay too; `kgeval.classify` reports how many there are of both.

    Raises
    ------
    DataError
        If a line does not have the expected form, if its entity or relation is not in `dataset` (the message names
        file and line), or if the folder has no file of negatives of valid or test.
    """
    path = _folder(folder)
    stems = {split: split if labelled else f"{split}_negatives" for split in SPLITS}
    files = {split: file for split, stem in stems.items() if (file := _split_file(path, stem)) is not None}
    if not set(files) - {"train"}:
        hint = "" if labelled else "; kgeval.classify can draw some (negatives='uniform', --negatives uniform)"
        raise DataError(
            f"{path}: expected {stems['valid']}.txt and {stems['test']}.txt (or .tsv); {_contents(path)}{hint}"
        )
    negatives = {}
    for split, file in files.items():
        if labelled:
            columns, is_positive = read_labelled(file, header=header, is_train=split == "train")
        else:
            columns = read_columns(file, header=header)
            is_positive = np.zeros(len(columns[0]), dtype=bool)
        rows = np.flatnonzero(~is_positive)
        if len(rows) or split != "train":
            negatives[split] = _known_ids(file, columns, rows, dataset, 1 + header)
    return negatives


def _known_ids(file: Path, columns: list[pd.Categorical], rows: Ids, dataset: Dataset, first_line: int) -> Ids:
    """Return the ids of the labels in the rows `rows` of `columns`, shape (rows, 3).

    Raise a DataError for a label that is not in `dataset`; `first_line` is the line of row 0, for this message.
    """
    ids = np.empty((len(rows), 3), dtype=np.int64)
    for i, vocabulary in enumerate((dataset.entities, dataset.relations, dataset.entities)):
        category_ids = vocabulary.find(columns[i].categories.to_numpy(dtype=object))  # -1 for unknown labels
        ids[:, i] = category_ids[columns[i].codes[rows]]
    # (unknown ids, 2): position in `rows` and column of each unknown id, sorted by position
    unknown = np.argwhere(ids < 0)
    if len(unknown):
        position, i = unknown[0]
        row = rows[position]
        kind = "relation" if i == 1 else "entity"
        raise DataError(
            f"{file}, line {row + first_line}: {kind} {columns[i][row]!r} does not occur in dataset {dataset.name!r}; "
            "negatives must consist of entities and relations of the dataset"
        )
    return ids


def _folder(folder: str | Path) -> Path:
    """Return `folder` as a path; raise a DataError if it is not an existing folder."""
    path = Path(folder)
    if not path.is_dir():
        reason = "is a file; give the folder that contains it" if path.exists() else "no such folder"
        raise DataError(f"{path}: {reason}")
    return path


def _contents(folder: Path) -> str:
    """Return, for messages, the names of the first files in a folder."""
    return "the folder contains " + (", ".join(sorted(child.name for child in folder.iterdir())[:8]) or "nothing")


def _split_file(folder: Path, split: str) -> Path | None:
    """Return the file of a split in a folder, or None if there is no such file; raise a DataError if there are two."""
    files = [folder / (split + suffix) for suffix in TEXT_SUFFIXES if (folder / (split + suffix)).exists()]
    if len(files) > 1:
        raise DataError(f"{folder}: contains both {files[0].name} and {files[1].name}; keep only one")
    return files[0] if files else None


def read_labelled(
    file: str | Path, *, header: bool = False, is_train: bool = False
) -> tuple[list[pd.Categorical], npt.NDArray[np.bool_]]:
    """Read a file of triples in which each line has a label: true or false.

    Parameters
    ----------
    file : str or path
        Each line is ``subject<TAB>relation<TAB>object<TAB>label``. Labels are 1 and -1, 1 and 0, or true and false (in
        upper or lower case); a file uses only one of these three pairs of labels.
    header : bool
        Whether the first line names the columns.
    is_train : bool
        Whether the file may also have three columns, without labels; then all its triples are true.

    Returns
    -------
    columns : list of three pandas.Categorical of str, shape (lines,)
        The labels of subjects, relations and objects.
    is_positive : bool array, shape (lines,)
        Whether the triple of each line is true.

    Raises
    ------
    DataError
        If the labels of the file do not all belong to the same pair, or if a line has one of the faults that
        `read_dataset` lists; the message names file and line.
    """
    path = Path(file)
    if is_train and _read_lines(path)[0].split(b"\n", 1)[0].count(b"\t") == 2:
        columns = read_columns(path, header=header)
        return columns, np.ones(len(columns[0]), dtype=bool)
    *columns, labels = read_columns(path, n_columns=4, header=header, last="label")
    texts = [str(text).lower() for text in labels.categories]  # the distinct labels
    # is_in_pair: for each pair, whether the label of each line belongs to the pair, bool (lines,).
    is_in_pair = [np.array([text in pair for text in texts])[labels.codes] for pair in TRUTH_LABELS]
    for pair, is_in in zip(TRUTH_LABELS, is_in_pair):
        if is_in.all():
            return columns, np.array([pair.get(text, False) for text in texts])[labels.codes]
    row = max(int(np.argmin(is_in)) for is_in in is_in_pair)  # up to this row, no pair has all labels
    raise DataError(
        f"{path}, line {row + 1 + header}: expected the label 1 or -1, 1 or 0, true or false, and the same pair in the "
        f"whole file; found {str(labels[row])!r}"
    )


def read_columns(
    file: str | Path, n_columns: int = 3, header: bool = False, last: str = "score"
) -> list[pd.Categorical]:
    """Read a tab-separated file with the same number of labels on each line.

    Parameters
    ----------
    file : str or path
    n_columns : int
        The number of labels on each line, 3 or 4; the first three are s, p and o.
    header : bool
        Whether the first line names the columns; see `read_dataset`.
    last : str
        The name of the fourth column in messages.

    Returns
    -------
    list of pandas.Categorical of str, one per column, shape (lines,)

    Raises
    ------
    DataError
        If a line has one of the faults that `read_dataset` lists; the message names file and line.
    """
    path = Path(file)
    raw, is_as_on_disk = _read_lines(path)
    source = path if is_as_on_disk else io.BytesIO(codecs.BOM_UTF8 + raw)
    with ThreadPoolExecutor(1) as pool:
        parsing = pool.submit(_parse, source, n_columns)
        # This check runs while pandas parses. Its errors name the line, so they are raised before errors of pandas.
        n_lines = _count_lines(path, raw, n_columns, last)
        try:
            columns = parsing.result()
        except UnicodeDecodeError:
            raise encoding_error(path) from None
    if len(columns[0]) != n_lines:
        raise DataError(f"{path}: {n_lines} lines were counted, {len(columns[0])} were read; did the file change?")
    first = tuple(str(column[0]).lower() for column in columns[:3])
    if header:
        columns = [column[1:].remove_unused_categories() for column in columns]
        if not len(columns[0]):
            raise DataError(f"{path}: no triples below the header line")
        for names in COLUMN_NAMES:
            if set(names) == set(first):
                columns[:3] = [columns[first.index(name)] for name in names]
                break
    elif any(set(names) == set(first) for names in COLUMN_NAMES):
        raise DataError(f"{path}, line 1: looks like a header ({', '.join(first)}); use header=True (--header)")
    return columns


def _parse(source: Path | io.BytesIO, n_columns: int) -> list[pd.Categorical]:
    """Parse the columns into categoricals of strings.

    With the dtype "category", pandas creates each distinct label only once, which halves the time. But pandas converts
    a column to numbers or booleans if all its labels look like these; then the file is read again as strings.
    """

    def read(dtype: str) -> pd.DataFrame:
        return pd.read_csv(
            source,
            sep="\t",
            header=None,
            names=list(range(n_columns)),
            dtype=dtype,
            na_filter=False,
            quoting=csv.QUOTE_NONE,
            skip_blank_lines=False,
            low_memory=False,
            encoding="utf-8",
        )

    frame = read("category")
    columns = [frame[i].array for i in range(n_columns)]
    if all(infer_dtype(column.categories, skipna=False) == "string" for column in columns):
        return columns
    if isinstance(source, io.BytesIO):
        source.seek(0)
    frame = read("str")
    return [as_labels(str(source), frame[i].to_numpy(dtype=object), i) for i in range(n_columns)]


def _read_lines(path: Path) -> tuple[bytes, bool]:
    """Return the bytes of a file with normalised line ends, and whether no byte had to be changed for this.

    In the returned bytes, each line ends in LF or CRLF, and the last line is not empty.
    """
    raw = as_on_disk = read_bytes(path)
    if b"\r" in raw and _has_lone_return(raw):
        raw = one_line_end(raw)
    check_no_nul(path, raw)
    if not raw.endswith(b"\n") or raw.endswith((b"\n\n", b"\n\r\n")) or len(raw) < 3:
        raw = raw.rstrip(b"\r\n") + b"\n"
    if raw == b"\n":
        raise DataError(f"{path}, line 1: 0 triples; the file is empty")
    return raw, raw is as_on_disk


def _has_lone_return(raw: bytes) -> bool:
    """Return whether a carriage return without a newline after it occurs; `raw` must contain a carriage return."""
    data = np.frombuffer(raw, dtype=np.uint8)
    returns = np.flatnonzero(data == _RETURN)  # the positions of the carriage returns
    return bool(returns[-1] == len(data) - 1 or (data[returns + 1] != _NEWLINE).any())


def _count_lines(path: Path, raw: bytes, n_columns: int, last: str) -> int:
    """Check that each line has `n_columns` labels and that no label is empty; return the number of lines.

    The first part checks all bytes at once, which is fast. Only if this check fails, the loop over the lines looks for
    the first wrong line and raises a DataError that names it.
    """
    data = np.frombuffer(raw, dtype=np.uint8)
    ends = np.flatnonzero((data == _TAB) | (data == _NEWLINE))  # (labels,): the position of the byte after each label
    # (n_columns,): the separators of a correct line
    separators = np.array([_TAB] * (n_columns - 1) + [_NEWLINE], dtype=np.uint8)
    if len(ends) % n_columns == 0 and (data[ends].reshape(-1, n_columns) == separators).all():
        lengths = np.diff(ends, prepend=-1) - 1  # (labels,): bytes of each label; the CR of a CRLF line end counts
        # No label is empty if all have 2 bytes or more, or if all have at least 1 byte without that CR.
        if lengths.min() > 1 or not (lengths - (data[ends - 1] == _RETURN) < 1).any():
            return len(ends) // n_columns
    for number, line in enumerate(raw.decode("utf-8", "replace").split("\n"), start=1):
        line = line.removesuffix("\r")
        labels = line.split("\t")
        if len(labels) != n_columns:
            names = "s, p, o" if n_columns == 3 else f"s, p, o, {last}"
            hint = "; is the separator a space or a comma?" if len(labels) == 1 and labels[0] else ""
            if len(labels) == 4 and any(labels[3].lower() in pair for pair in TRUTH_LABELS):
                hint = "; if the fourth column is true or false, use labelled=True (kgeval classify --labelled)"
            raise DataError(
                f"{path}, line {number}: expected {n_columns} tab-separated columns ({names}), "
                f"found {len(labels) if line else 0}: {line[:80]!r}{hint}"
            )
        if "" in labels:
            raise DataError(f"{path}, line {number}: column {labels.index('') + 1} is empty: {line[:80]!r}")
    raise AssertionError("unreachable: every line is right")


FORMAT = Format("a folder of tab-separated triples", _sniff, _read)
