"""Folders of tab-separated text: ``train``, ``valid``, ``test``, one ``s<TAB>p<TAB>o`` a line, labels as written."""

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
    return path.is_dir() and any((path / (split + suffix)).exists() for split in SPLITS for suffix in TEXT_SUFFIXES)


def _read(folder: str | Path, *, header: bool = False, labelled: bool = False) -> Dataset:
    """Read the folder; see `kgeval.read_dataset`."""
    path = _folder(folder)
    files = {split: found for split in SPLITS if (found := _split_file(path, split)) is not None}
    if not files:
        raise DataError(f"{path}: expected train.txt, valid.txt or test.txt (or .tsv); {_held(path)}")

    def read(split: str) -> list[pd.Categorical]:
        if not labelled:
            return read_columns(files[split], header=header)
        columns, is_positive = read_labelled(files[split], header=header, is_train=split == "train")
        return [column[is_positive] for column in columns]  # keeps the labels of all lines as categories

    with ThreadPoolExecutor(len(files)) as pool:
        columns = list(pool.map(read, files))
    return Dataset.from_labels(dict(zip(files, columns)), name=path.resolve().name)


def read_negatives(
    folder: str | Path, dataset: Dataset, *, labelled: bool = False, header: bool = False
) -> dict[str, Ids]:
    """Read the false triples that belong to a dataset, for `kgeval.classify`.

    Parameters
    ----------
    folder : str or path
        Holds ``valid_negatives`` and ``test_negatives`` (``.txt`` or ``.tsv``), with lines as in
        `read_dataset`; or, if `labelled`, the files of the dataset itself.
    dataset : Dataset
        Knows every entity and relation of the negatives.
    labelled : bool
        Whether the negatives are the lines of ``valid`` and ``test`` with a false label (and of
        ``train``, if it has any).
    header : bool
        Whether the first line of every file names the columns.

    Returns
    -------
    dict of str to int64 array, shape (n, 3)
        The negatives of ``"valid"`` and ``"test"``, of those that have a file, in its order. Repeated
        lines stay, and lines that are known triples too: `kgeval.classify` counts them.

    Raises
    ------
    DataError
        Naming file and line, if a line is not as above or names what the dataset does not know; or if
        there is no such file.
    """
    path = _folder(folder)
    stems = {split: split if labelled else f"{split}_negatives" for split in SPLITS}
    files = {split: found for split, stem in stems.items() if (found := _split_file(path, stem)) is not None}
    if not set(files) - {"train"}:
        hint = "" if labelled else "; kgeval.classify can draw some (negatives='uniform', --negatives uniform)"
        raise DataError(f"{path}: expected {stems['valid']}.txt and {stems['test']}.txt (or .tsv); {_held(path)}{hint}")
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
    """Return the ids of some rows, shape (n, 3); an unknown label is an error that names its line."""
    ids = np.empty((len(rows), 3), dtype=np.int64)
    for i, vocabulary in enumerate((dataset.entities, dataset.relations, dataset.entities)):
        found = vocabulary.find(columns[i].categories.to_numpy(dtype=object))
        ids[:, i] = found[columns[i].codes[rows]]
    unknown = np.argwhere(ids < 0)
    if len(unknown):
        place, i = unknown[0]
        row = rows[place]
        what = "relation" if i == 1 else "entity"
        raise DataError(
            f"{file}, line {row + first_line}: {what} {columns[i][row]!r} does not occur in dataset {dataset.name!r}; "
            "negatives are made of entities and relations of the dataset"
        )
    return ids


def _folder(folder: str | Path) -> Path:
    path = Path(folder)
    if not path.is_dir():
        what = "is a file; give the folder that holds it" if path.exists() else "no such folder"
        raise DataError(f"{path}: {what}")
    return path


def _held(folder: Path) -> str:
    return "the folder holds " + (", ".join(sorted(child.name for child in folder.iterdir())[:8]) or "nothing")


def _split_file(folder: Path, split: str) -> Path | None:
    found = [folder / (split + suffix) for suffix in TEXT_SUFFIXES if (folder / (split + suffix)).exists()]
    if len(found) > 1:
        raise DataError(f"{folder}: both {found[0].name} and {found[1].name}; keep one")
    return found[0] if found else None


def read_labelled(
    file: str | Path, *, header: bool = False, is_train: bool = False
) -> tuple[list[pd.Categorical], npt.NDArray[np.bool_]]:
    """Read triples with a label: 1 or -1, 1 or 0, true or false in any case, one such pair in the whole file.

    Parameters
    ----------
    file : str or path
        Each line is ``subject<TAB>relation<TAB>object<TAB>label``.
    header : bool
    is_train : bool
        Whether the label may be missing from all lines, which are positives then.

    Returns
    -------
    columns : list of three pandas.Categorical of str, shape (lines,)
    is_positive : bool array, shape (lines,)

    Raises
    ------
    DataError
        Naming file and line, if a label is another; see `read_dataset`.
    """
    path = Path(file)
    if is_train and _read_lines(path)[0].split(b"\n", 1)[0].count(b"\t") == 2:
        columns = read_columns(path, header=header)
        return columns, np.ones(len(columns[0]), dtype=bool)
    *columns, labels = read_columns(path, n_columns=4, header=header, last="label")
    texts = [str(text).lower() for text in labels.categories]
    is_of = [np.array([text in pair for text in texts])[labels.codes] for pair in TRUTH_LABELS]
    for pair, is_right in zip(TRUTH_LABELS, is_of):
        if is_right.all():
            return columns, np.array([pair.get(text, False) for text in texts])[labels.codes]
    row = max(int(np.argmin(is_right)) for is_right in is_of)  # up to here, some pair does for all lines
    raise DataError(
        f"{path}, line {row + 1 + header}: expected the label 1 or -1, 1 or 0, true or false, one such pair in the "
        f"whole file; found {str(labels[row])!r}"
    )


def read_columns(
    file: str | Path, n_columns: int = 3, header: bool = False, last: str = "score"
) -> list[pd.Categorical]:
    """Read a tab-separated file of exactly `n_columns` labels a line; messages call the fourth `last`.

    Returns
    -------
    list of pandas.Categorical of str, one per column, shape (lines,)

    Raises
    ------
    DataError
        Naming file and line; see `read_dataset`.
    """
    path = Path(file)
    raw, is_as_on_disk = _read_lines(path)
    source = path if is_as_on_disk else io.BytesIO(codecs.BOM_UTF8 + raw)
    with ThreadPoolExecutor(1) as pool:
        parsing = pool.submit(_parse, source, n_columns)
        n_lines = _count_lines(path, raw, n_columns, last)  # meanwhile; its errors name the line, so they come first
        try:
            columns = parsing.result()
        except UnicodeDecodeError:
            raise encoding_error(path) from None
    if len(columns[0]) != n_lines:
        raise DataError(f"{path}: {n_lines} lines checked, {len(columns[0])} read; did the file change meanwhile?")
    first = tuple(str(column[0]).lower() for column in columns[:3])
    if header:
        columns = [column[1:].remove_unused_categories() for column in columns]
        if not len(columns[0]):
            raise DataError(f"{path}: 0 rows below the header line")
        for names in COLUMN_NAMES:
            if set(names) == set(first):
                columns[:3] = [columns[first.index(name)] for name in names]
                break
    elif any(set(names) == set(first) for names in COLUMN_NAMES):
        raise DataError(f"{path}, line 1: looks like a header ({', '.join(first)}); say header=True (--header)")
    return columns


def _parse(source: Path | io.BytesIO, n_columns: int) -> list[pd.Categorical]:
    """Parse into categoricals of strings.

    Read as categories, each distinct label is made once, which halves the time; but pandas turns a
    column whose labels all look like numbers or booleans into these, so such a file is read as strings.
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
    """Return the text, its lines ended by LF or CRLF and none empty at the end, and whether the file is just so."""
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
    """Tell whether some carriage return (there is one) is not followed by a newline."""
    data = np.frombuffer(raw, dtype=np.uint8)
    returns = np.flatnonzero(data == _RETURN)
    return bool(returns[-1] == len(data) - 1 or (data[returns + 1] != _NEWLINE).any())


def _count_lines(path: Path, raw: bytes, n_columns: int, last: str) -> int:
    """Return the number of lines after checking that each has `n_columns` labels, none empty."""
    data = np.frombuffer(raw, dtype=np.uint8)
    ends = np.flatnonzero((data == _TAB) | (data == _NEWLINE))
    wanted = np.array([_TAB] * (n_columns - 1) + [_NEWLINE], dtype=np.uint8)
    if len(ends) % n_columns == 0 and (data[ends].reshape(-1, n_columns) == wanted).all():
        lengths = np.diff(ends, prepend=-1) - 1
        if lengths.min() > 1 or not (lengths - (data[ends - 1] == _RETURN) < 1).any():
            return len(ends) // n_columns
    for number, line in enumerate(raw.decode("utf-8", "replace").split("\n"), start=1):
        line = line.removesuffix("\r")
        labels = line.split("\t")
        if len(labels) != n_columns:
            names = "s, p, o" if n_columns == 3 else f"s, p, o, {last}"
            hint = "; is the separator a space or a comma?" if len(labels) == 1 and labels[0] else ""
            if len(labels) == 4 and any(labels[3].lower() in pair for pair in TRUTH_LABELS):
                hint = "; if the fourth says whether the triple is true, say labelled=True (kgeval classify --labelled)"
            raise DataError(
                f"{path}, line {number}: expected {n_columns} tab-separated columns ({names}), "
                f"found {len(labels) if line else 0}: {line[:80]!r}{hint}"
            )
        if "" in labels:
            raise DataError(f"{path}, line {number}: column {labels.index('') + 1} is empty: {line[:80]!r}")
    raise AssertionError("unreachable: every line is right")


FORMAT = Format("a folder of tab-separated triples", _sniff, _read)
