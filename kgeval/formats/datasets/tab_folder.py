"""The format of folders with ``train``, ``valid`` and ``test`` files, ``s<TAB>p<TAB>o`` on each line.

`read_dataset` and `read_negatives` read such folders; `read_scores` calls `read_columns`.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import infer_dtype, union_categoricals

from kgeval.checks import Ids
from kgeval.data import COLUMN_NAMES, Dataset, as_labels, check_columns, named_columns
from kgeval.errors import DataError
from kgeval.files import check_no_nul, encoding_error, one_line_end, read_bytes, similar_path
from kgeval.formats.registry import Format
from kgeval.formats.split_files import STEMS, SUFFIXES, SplitFiles, assumptions, find_split_files, unread_triples

# A first line of these words, with digits and punctuation between them, is a header: "head_id", "#source", ":TYPE".
HEADER_WORDS = re.compile(
    "s|p|o|h|r|t|subj|subject|pred|predicate|obj|object|head|rel|relation|relationship|tail|source|target|src|tgt|dst|"
    "dest|from|to|start|end|entity|ent|node|ids?|name|label|type|property|prop|edge|uri|iri|lhs|rhs|col|column"
)
IS_IT_A_HEADER = "use header=True (--header) if it is one, header=False (--no-header) if it is a triple"
N_TRIPLE = re.compile(rb'(<[^>\t]*>|_:\S+)[ \t]+<[^>\t]*>[ \t]+(<|_:|").*\.[ \t\r]*')
TRUTH_LABELS = ({"1": True, "-1": False}, {"1": True, "0": False}, {"true": True, "false": False})
_TAB, _NEWLINE, _RETURN = b"\t\n\r"
_MAX_N_TRIPLE = 100_000  # only this many bytes of a line are examined


def _sniff(path: Path) -> bool:
    """Return whether `path` is a folder with at least one file of a split."""
    names = {stem + suffix for stems in STEMS.values() for stem in stems for suffix in SUFFIXES}
    return path.is_dir() and any(child.name in names for child in path.iterdir())


def _read(
    folder: str | Path,
    *,
    header: bool | None = None,
    columns: str | None = None,
    splits: SplitFiles | None = None,
    ignore: Sequence[str] = (),
    labelled: bool = False,
) -> Dataset:
    """Read the folder; see `kgeval.read_dataset`."""
    path = _folder(folder)
    positions = check_columns("hrt" if columns is None else columns)
    files = find_split_files(path, splits, ignore)
    if not files:
        raise DataError(f"{path}: expected train.txt, valid.txt or test.txt (or .tsv); {_contents(path)}")

    def read(split: str, file: Path) -> list[pd.Categorical]:
        if not labelled:
            return read_columns(file, header=header, columns=columns)
        labels, is_positive = read_labelled(file, header=header, is_train=split == "train", columns=columns)
        # only the true triples; the labels of the false triples stay as categories
        return [column[is_positive] for column in labels]

    parts = [(split, file) for split, paths in files.items() for file in paths]
    with ThreadPoolExecutor(len(parts)) as pool:
        read_parts = list(pool.map(read, *zip(*parts)))
    labels = {split: _joined([part for (of, _), part in zip(parts, read_parts) if of == split]) for split in files}
    notes = assumptions(path, files, splits)
    dataset = Dataset.from_labels(labels, name=path.resolve().name, notes=notes)
    if header is None and not labelled:
        _check_first_lines([(split, file, len(part[0])) for (split, file), part in zip(parts, read_parts)], dataset)
    if not header and columns is None and dataset.suspicious_order:
        raise DataError(f"{path}: {dataset.suspicious_order} (on the command line: --columns)")
    unread = unread_triples(path, files, ignore, dataset, positions)
    return Dataset(dataset.entities, dataset.relations, dataset.splits, dataset.name, [*notes, *unread])


def _joined(parts: Sequence[Sequence[pd.Categorical]]) -> list[pd.Categorical]:
    """Return the columns of several files, one file after the other."""
    if len(parts) == 1:
        return list(parts[0])
    return [union_categoricals([part[i] for part in parts]) for i in range(3)]


def _check_first_lines(files: Sequence[tuple[str, Path, int]], dataset: Dataset) -> None:
    """Raise a DataError if the first line of a file is a header of unknown words.

    The line counts as a header if only first lines of files contain its labels, and one of two conditions holds:
    several files start with this line, and these first lines are at most a quarter of all lines; or there are at least
    100 triples, and at least 10 times as many triples as relations, so that a relation with only one triple is unusual.
    Each item of `files` is a tuple (split, one of its files, number of triples in this file). The items are in the
    order in which the files were read.
    """
    triples = np.concatenate([part.array for part in dataset.splits.values()])
    n_relation = np.bincount(triples[:, 1], minlength=len(dataset.relations))
    n_entity = np.bincount(triples[:, [0, 2]].ravel(), minlength=len(dataset.entities))
    firsts = []
    n_read = dict.fromkeys(dataset.splits, 0)
    for split, _, n_triples in files:
        firsts.append(tuple(dataset.splits[split].array[n_read[split]].tolist()))
        n_read[split] += n_triples
    for (_, file, _), (s, p, o) in zip(files, firsts):
        n = firsts.count((s, p, o))
        is_alone = n_relation[p] == n and n_entity[s] == n and n_entity[o] == n
        is_plenty = len(triples) >= max(100, 10 * len(dataset.relations))
        if is_alone and s != o and (is_plenty or (n > 1 and len(triples) >= 4 * n)):
            shown = ", ".join((dataset.entities.labels[s], dataset.relations.labels[p], dataset.entities.labels[o]))
            raise DataError(
                f"{file}, line 1: looks like a header ({shown}), since its labels occur nowhere else; {IS_IT_A_HEADER}"
            )


def read_negatives(
    folder: str | Path,
    dataset: Dataset,
    *,
    labelled: bool = False,
    header: bool | None = None,
    columns: str | None = None,
    splits: SplitFiles | None = None,
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
    header : bool, optional
        Whether the first line of every file names the columns; see `read_dataset`.
    columns : str, optional
        The order of the columns; see `read_dataset`.
    splits : mapping of str to path or sequence of paths, optional
        The files of valid and test, if they have other names; see `read_dataset`.

    Returns
    -------
    dict of str to int64 array, shape (n, 3)
        For each split that has a file: its negatives, columns s, p, o, in the order of the file. Repeated
        lines stay, and negatives that are known triples stay too; `kgeval.classify` reports the number of each.

    Raises
    ------
    DataError
        If a line does not have the expected form, if one of its labels is not in `dataset` (the message names file
        and line), or if the folder has no file of negatives of valid or test.
    """
    path = _folder(folder)
    ending = "" if labelled else "_negatives"
    files = find_split_files(path, splits, ending=ending)
    if not set(files) - {"train"}:
        hint = "" if labelled else "; kgeval.classify can draw some (negatives='uniform', --negatives uniform)"
        raise DataError(f"{path}: expected valid{ending}.txt and test{ending}.txt (or .tsv); {_contents(path)}{hint}")
    negatives = {}
    for split, paths in files.items():
        parts = []
        for file in paths:
            if labelled:
                labels, is_positive = read_labelled(file, header=header, is_train=split == "train", columns=columns)
            else:
                labels = read_columns(file, header=header, columns=columns)
                is_positive = np.zeros(len(labels[0]), dtype=bool)
            parts.append(_known_ids(file, labels, np.flatnonzero(~is_positive), dataset, 1 + bool(header)))
        ids = np.concatenate(parts)
        if len(ids) or split != "train":
            negatives[split] = ids
    return negatives


def _known_ids(file: Path, columns: list[pd.Categorical], rows: Ids, dataset: Dataset, first_line: int) -> Ids:
    """Convert the labels in the rows `rows` of `columns` to ids, shape (rows, 3).

    Raise a DataError for a label that is not in `dataset`. The message names the line of the label; `first_line` is the
    line number of row 0.
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
        if str(path) == "-" or path.is_fifo() or path.is_char_device():
            raise DataError(f"{path}: a dataset is a folder of files; it cannot be read from a pipe")
        if path.exists():
            raise DataError(f"{path}: is a file; give the folder that contains it")
        raise DataError(f"{path}: no such folder{similar_path(path, is_folder=True)}")
    return path


def _contents(folder: Path) -> str:
    """Return, for messages, the names of the first files in a folder."""
    return "the folder contains " + (", ".join(sorted(child.name for child in folder.iterdir())[:8]) or "nothing")


def read_labelled(
    file: str | Path, *, header: bool | None = None, is_train: bool = False, columns: str | None = None
) -> tuple[list[pd.Categorical], npt.NDArray[np.bool_]]:
    """Read a file of triples in which each line has a label: true or false.

    Parameters
    ----------
    file : str or path
        Each line is ``subject<TAB>relation<TAB>object<TAB>label``. Labels are 1 and -1, 1 and 0, or true and false (in
        upper or lower case); a file uses only one of these three pairs of labels.
    header : bool, optional
        Whether the first line names the columns; see `read_dataset`.
    is_train : bool
        Whether the file may also have three columns, without labels; then all its triples are true.
    columns : str, optional
        The order of the first three columns; see `read_dataset`.

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
        triples = read_columns(path, header=header, columns=columns)
        return triples, np.ones(len(triples[0]), dtype=bool)
    *triples, labels = read_columns(path, n_columns=4, header=header, last="label", columns=columns)
    texts = [str(text).lower() for text in labels.categories]  # the distinct labels
    # is_in_pair: for each pair, whether the label of each line belongs to the pair, bool (lines,).
    is_in_pair = [np.array([text in pair for text in texts])[labels.codes] for pair in TRUTH_LABELS]
    for pair, is_in in zip(TRUTH_LABELS, is_in_pair):
        if is_in.all():
            return triples, np.array([pair.get(text, False) for text in texts])[labels.codes]
    row = max(int(np.argmin(is_in)) for is_in in is_in_pair)  # no pair contains all labels up to this row
    raise DataError(
        f"{path}, line {row + 1 + bool(header)}: expected the label 1 or -1, 1 or 0, true or false, and the same pair "
        f"in the whole file; found {str(labels[row])!r}"
    )


def read_columns(
    file: str | Path,
    n_columns: int = 3,
    header: bool | None = None,
    last: str = "score",
    columns: str | None = None,
) -> list[pd.Categorical]:
    """Read a tab-separated file with the same number of labels on each line.

    Parameters
    ----------
    file : str or path
    n_columns : int
        The number of labels on each line, 3 or 4; the first three are s, p and o.
    header : bool, optional
        Whether the first line names the columns; see `read_dataset`.
    last : str
        The name of the fourth column in messages.
    columns : str, optional
        The order of the first three columns; see `read_dataset`.

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
    # The lines are checked first: the errors name the line, and pandas is slow on lines of very many columns.
    n_lines = _count_lines(path, raw, n_columns, last)
    try:
        labels = _parse(source, n_columns)
    except UnicodeDecodeError:
        raise encoding_error(path) from None
    if len(labels[0]) != n_lines:
        raise DataError(f"{path}: {n_lines} lines were counted, {len(labels[0])} were read; did the file change?")
    positions = _positions(path, labels[:3], header, columns)
    if header:
        labels = [column[1:].remove_unused_categories() for column in labels]
        if not len(labels[0]):
            raise DataError(f"{path}: no triples below the header line")
    return [*(labels[i] for i in positions), *labels[3:]]


def first_labels(file: str | Path) -> list[str]:
    """Return the labels of the first line of a tab-separated file, for example to recognise a header.

    Parameters
    ----------
    file : str or path
    """
    line = _read_lines(Path(file))[0].split(b"\n", 1)[0]
    return line.decode("utf-8", "replace").removesuffix("\r").split("\t")


def _positions(path: Path, labels: list[pd.Categorical], header: bool | None, columns: str | None) -> list[int]:
    """Return the positions of s, p and o among the first three columns, as a list of three int.

    Parameters
    ----------
    path : Path
        The file, for messages.
    labels : list of three pandas.Categorical of str, shape (lines,)
        The first three columns, including the first line.
    header, columns : optional
        The arguments of the caller; see `read_dataset`.

    Raises
    ------
    DataError
        If the first line contradicts `header` or `columns`, if it looks like a header and `header` is None, or if it is
        a header with unknown names and `columns` is None.
    """
    said = None if columns is None else check_columns(columns)
    first = [str(column[0]) for column in labels]
    shown = ", ".join(first)
    named = named_columns(f"{path}, line 1", first)
    if header and named is None:
        if said is None:
            known = "; ".join(", ".join(names) for names in COLUMN_NAMES)
            raise DataError(
                f"{path}, line 1: expected a header such as {known}; got {shown}. Say the order of the columns: "
                "columns='hrt' or 'htr' (--columns hrt)"
            )
        s, p, o = ((labels[i].codes[1:] == labels[i].codes[0]).any() for i in said)
        if p and (s or o):
            raise DataError(
                f"{path}, line 1: looks like a triple, not like a header ({shown}): its labels occur below; "
                "use header=False (--no-header)"
            )
    if header and named is not None:
        if said not in (None, named):
            raise DataError(
                f"{path}, line 1: columns={columns!r} contradicts the header ({shown}); leave one of them out"
            )
        return named
    if not header and named is not None:
        raise DataError(f"{path}, line 1: looks like a header ({shown.lower()}); use header=True (--header)")
    if header is None and _has_header_words(first) and not any((c.codes[1:] == c.codes[0]).any() for c in labels):
        raise DataError(f"{path}, line 1: looks like a header ({shown}); {IS_IT_A_HEADER}")
    return said or [0, 1, 2]


def _has_header_words(first: Sequence[str]) -> bool:
    """Return whether the labels of a line consist of `HEADER_WORDS` and differ from each other."""
    for label in first:
        words = re.split(r"[\W\d_]+|(?<=[a-z])(?=[A-Z])", label)
        if not any(words) or not all(HEADER_WORDS.fullmatch(word.lower()) for word in words if word):
            return False
    return len(set(first)) == len(first)


def _parse(source: Path | io.BytesIO, n_columns: int) -> list[pd.Categorical]:
    """Parse the columns into categoricals of strings.

    With the dtype "category", pandas creates each distinct label only once, which halves the time. But if all labels of
    a column look like numbers or booleans, pandas converts them; then the file is read again as strings.
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
    """Return two values: the bytes of a file with normalised line ends, and whether they equal the bytes on disk.

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
    """Return whether some CR in `raw` is not followed by LF; `raw` must contain at least one CR."""
    data = np.frombuffer(raw, dtype=np.uint8)
    returns = np.flatnonzero(data == _RETURN)  # the positions of the carriage returns
    return bool(returns[-1] == len(data) - 1 or (data[returns + 1] != _NEWLINE).any())


def _count_lines(path: Path, raw: bytes, n_columns: int, last: str) -> int:
    """Check that each line has `n_columns` labels and that no label is empty; return the number of lines.

    A fast check looks at all bytes at once. Only if this check fails, a loop over the lines looks for the first wrong
    line and raises a DataError that names this line.
    """
    _check_not_n_triples(path, raw)
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


def _check_not_n_triples(path: Path, raw: bytes) -> None:
    """Raise a DataError if the first line that is not a comment is an N-Triple, with tabs or with spaces."""
    start = 0
    while raw.startswith(b"#", start):
        start = raw.find(b"\n", start) + 1 or len(raw)
    end = raw.find(b"\n", start)
    number = raw.count(b"\n", 0, start) + 1
    if N_TRIPLE.fullmatch(raw[start : min(end, start + _MAX_N_TRIPLE)]):
        raise DataError(
            f"{path}, line {number}: looks like N-Triples (<s> <p> <o> .), which kgeval does "
            "not read yet; write the lines as subject TAB relation TAB object, without the final dot"
        )


FORMAT = Format("a folder of tab-separated triples", _sniff, _read)
