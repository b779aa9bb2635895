"""Text files of vectors, one per line, with or without labels, as word2vec, KB2E and many scripts write them.

Layout. Two files: ``entity2vec.*`` and ``relation2vec.*`` (KB2E: ``.bern`` or ``.unif``) in one folder; or any two
files whose names differ only in the words ``entity`` and ``relation`` (give ``format="word2vec"`` and the path of the
file of entities). Each line has the numbers of a vector, separated by spaces or tabs. A label may precede the numbers.
The first line may be ``n d``, the number of vectors and their dimension. Without labels, the rows are in the order of
the id files: from ``ids=``, from the folder, or from the dataset.

Traps. No file names the model of the vectors, so ``model=`` and all settings that change the scores must be given (for
TransE: norm, and whether scoring normalises vectors). If a file has no line ``n d`` and its first column holds
distinct integers, these integers may be labels or a part of the vectors; an error asks for the line ``n d``. KB2E's
TransH and TransR have further matrices (``A.bern``). Without these matrices the vectors would score as TransE, so such
folders raise an error. The binary formats of word2vec and OpenKE are refused.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import cut_label
from kgeval.base.files import Arrays, check_source, text_array
from kgeval.errors import DataError
from kgeval.formats.checkpoints.id_files import find_id_files
from kgeval.formats.checkpoints.model_file import ModelFile
from kgeval.formats.checkpoints.plain_files import label_arrays
from kgeval.formats.registry import Format
from kgeval.formats.unpacking import PACKED, open_packed

STARTS = ("entity2vec", "relation2vec")
OTHER_ENDINGS = (".npy", ".npz", ".pt", ".json", ".pkl", ".safetensors")
WORDS = (("entities", "relations"), ("entity", "relation"), ("ent", "rel"))  # in the names of the two files
MATRICES = re.compile(r"A\.(bern|unif|txt|vec)")  # of KB2E's TransH and TransR
SAMPLED = 1 << 16  # bytes to examine: a NUL among them shows a binary file
WHOLE = re.compile(r"[+-]?[0-9]+")
# Before version 3 and without this option, pandas rounds some decimals to a neighbour of the nearest float64.
EXACT: dict[str, Any] = {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}


def sniff(path: Path) -> bool:
    """Return whether a folder contains ``entity2vec.*`` and ``relation2vec.*``, or a file has one of these names."""
    if not path.is_dir():
        return path.is_file() and _has_name(path, STARTS)
    try:
        return all(_named(path, start) for start in STARTS)
    except OSError:
        return False


def _has_name(file: Path, starts: tuple[str, ...]) -> bool:
    """Return whether the name of a file is ``entity2vec`` or ``relation2vec``, with an ending of a text file."""
    return file.name.lower().split(".")[0].startswith(starts) and not file.name.lower().endswith(OTHER_ENDINGS)


def _named(folder: Path, start: str) -> list[Path]:
    """Return the files of a folder whose names start with `start`."""
    return sorted(file for file in folder.iterdir() if _has_name(file, (start,)) and file.is_file())


def read(path: Path, said: Mapping[str, Any]) -> ModelFile:
    """Read both files; see `kgeval.load_model`."""
    entity_file, relation_file = _files(path)
    folder = entity_file.parent
    arrays: Arrays = {}
    lacking: list[Path | None] = []
    for file, table, name in (
        (entity_file, "entities", "entity_labels"),
        (relation_file, "relations", "relation_labels"),
    ):
        labels, arrays[table] = _vectors(file)
        if labels is not None:
            arrays[name] = text_array(labels)
        lacking.append(None if labels is not None else file)
    pair = find_id_files(folder) if any(lacking) else None
    id_files = (id_file if file else None for id_file, file in zip(pair or (), lacking))
    labels_of_files, label_source = label_arrays(*id_files)
    arrays |= labels_of_files
    for file in sorted(folder.iterdir()):
        if MATRICES.fullmatch(file.name) and file.suffix == entity_file.suffix:
            arrays[file.name] = np.zeros(0)  # not read; no model uses it, so `build_model` raises an error
    return ModelFile(entity_file, arrays, label_source=label_source, id_formats=("openke",))


def _files(path: Path) -> tuple[Path, Path]:
    """Return the file of entities and the file of relations."""
    if path.is_dir():
        found = [_named(path, start) for start in STARTS]
        if any(len(files) != 1 for files in found):
            shown = ", ".join(file.name for files in found for file in files) or "none"
            raise DataError(
                f"{path}: expected one file entity2vec.* and one file relation2vec.*; found {shown}. Give the path of "
                "the file of entities"
            )
        return found[0][0], found[1][0]
    check_source(path)
    for pair in WORDS:
        for word, other, is_entity_file in ((*pair, True), (*pair[::-1], False)):
            beside = path.with_name(path.name.replace(word, other))
            if word in path.name and beside != path and beside.is_file():
                return (path, beside) if is_entity_file else (beside, path)
    raise DataError(
        f"{path}: found no file of relations beside it. Give both files the same name except for 'entity' and "
        "'relation', such as entity2vec.txt and relation2vec.txt"
    )


def _vectors(file: Path) -> tuple[list[str] | None, npt.NDArray[np.float64]]:
    """Return the labels in a file (None if the file has no labels) and the vectors, float64 (n, d)."""
    check_source(file)
    content = open_packed(file) if file.suffix.lower() in PACKED else None
    start = _start(file, content)
    size, start = _size(file, start)
    if not start:
        raise DataError(f"{file}: expected one vector a line; the file is empty")
    separator = "\t" if "\t" in start[0] else r"\s+"
    n_columns = len(_words(start[0]))
    if size is not None and n_columns - size[1] not in (0, 1):
        raise DataError(f"{file}, line 2: has {n_columns} columns, but line 1 says that vectors have {size[1]} numbers")
    skipped = 0 if size is None else 1
    frame = _frame(file, content, separator, n_columns, skipped)
    if size is not None and size[0] != len(frame):
        raise DataError(f"{file}, line 1: says {size[0]} vectors, but {len(frame)} follow; is the file complete?")
    first = frame[0].tolist()
    has_labels = n_columns == size[1] + 1 if size is not None else _are_labels(file, first, n_columns)
    table = frame.iloc[:, 1:].to_numpy(dtype=np.float64)
    if not has_labels:
        table = np.column_stack([_numbers(first), table])
    if not np.isfinite(table).all() or not table.shape[1]:
        raise _wrong_line(file, content, n_columns, skipped, "", has_labels)
    return (first if has_labels else None), table


def _start(file: Path, content: bytes | None) -> list[str]:
    """Return the first two lines of a file; raise a DataError if it is no text."""
    try:
        with open(file, "rb") if content is None else io.BytesIO(content) as stream:
            lines = [stream.readline(), stream.readline()]
            sample = b"".join(lines) + stream.read(SAMPLED)
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from error
    if b"\0" in sample:
        raise DataError(
            f"{file}: is a binary file; expected text. gensim writes the text of word2vec's binary format: "
            "KeyedVectors.load_word2vec_format(file, binary=True).save_word2vec_format(new_file)"
        )
    try:
        return [line.decode("utf-8-sig").rstrip("\r\n") for line in lines if line]
    except UnicodeDecodeError:
        raise DataError(f"{file}, line 1 or 2: is not UTF-8; save the file as UTF-8") from None


def _words(line: str) -> list[str]:
    """Return the columns of a line; a separator at the end of the line starts no column."""
    return line.rstrip("\t ").split("\t") if "\t" in line else [word for word in line.split(" ") if word]


def _size(file: Path, start: list[str]) -> tuple[tuple[int, int] | None, list[str]]:
    """Return the numbers ``n d`` of the first line (None if this line is a vector), and the first lines of vectors."""
    words = [_words(line) for line in start]
    if len(start) < 2 or len(words[0]) != 2 or not all(WHOLE.fullmatch(word) for word in words[0]):
        return None, start
    if len(words[1]) == 2 and words[0][1] not in ("1", "2"):  # two vectors, not the line n d
        return None, start
    if any(len(word) > 18 for word in words[0]):
        raise DataError(f"{file}, line 1: expected the number of vectors and their dimension; found {start[0][:80]!r}")
    return (int(words[0][0]), int(words[0][1])), start[1:]


def _frame(file: Path, content: bytes | None, separator: str, n_columns: int, skipped: int) -> pd.DataFrame:
    """Return the columns of the lines: the first as text, the others as numbers."""
    source = file if content is None else io.BytesIO(content)
    types: dict[int, Any] = {0: str, **dict.fromkeys(range(1, n_columns), np.float64), n_columns: str}
    try:
        frame: pd.DataFrame = pd.read_csv(
            source,
            sep=separator,
            header=None,
            skiprows=skipped,
            dtype=types,
            na_filter=False,
            quoting=3,
            skip_blank_lines=False,
            encoding="utf-8-sig",
            compression=None,
            **EXACT,
        )
    except (ValueError, pd.errors.ParserError) as error:  # also UnicodeDecodeError
        raise _wrong_line(file, content, n_columns, skipped, str(error)) from None
    if frame.shape[1] > n_columns:  # after a separator at the end of each line
        if (frame[n_columns].to_numpy() != "").any():
            raise _wrong_line(file, content, n_columns, skipped, "")
        frame = frame.iloc[:, :n_columns]
    return frame


def _wrong_line(
    file: Path, content: bytes | None, n_columns: int, skipped: int, reason: str, has_labels: bool = True
) -> DataError:
    """Return the error about the first line that is no vector.

    If there is no such line, the error contains `reason`, the message of pandas.
    """
    expected = f"expected {n_columns} columns, {'a label and ' if has_labels else ''}finite numbers"
    with open(file, "rb") if content is None else io.BytesIO(content) as stream:
        for number, line in enumerate(stream, start=1):
            try:
                text = line.decode("utf-8-sig").rstrip("\r\n")
            except UnicodeDecodeError:
                return DataError(f"{file}, line {number}: is not UTF-8; save the file as UTF-8")
            words = _words(text)
            is_vector = len(words) == n_columns > has_labels and np.isfinite(_numbers(words[has_labels:])).all()
            if number > skipped and not is_vector:
                return DataError(f"{file}, line {number}: {expected}; found {text[:80]!r}")
    return DataError(f"{file}: {expected} in each line: {cut_label(reason)}")


def _are_labels(file: Path, words: list[str], n_columns: int) -> bool:
    """Return whether the first column of a file without the line ``n d`` contains labels."""
    if np.isnan(_numbers(words)).any():  # a word is no number
        return True
    if n_columns > 1 and len(set(words)) == len(words) and all(WHOLE.fullmatch(word) for word in words):
        raise DataError(
            f"{file}: its first column has different whole numbers, which may be labels or a part of the vectors. "
            "Write the number of vectors and their dimension into the first line: "
            f"'{len(words)} {n_columns - 1}' if they are labels, '{len(words)} {n_columns}' if they are not"
        )
    return False


def _numbers(words: list[str]) -> npt.NDArray[np.float64]:
    """Return words as numbers; NaN for a word that is no number."""
    try:
        return np.array(words, dtype=np.float64)
    except ValueError:
        return np.array([_number(word) for word in words])


def _number(word: str) -> float:
    """Return a word as a number; NaN if the word is no number."""
    try:
        return float(word)
    except ValueError:
        return np.nan


FORMAT = Format("word2vec", sniff, read, "vectors as text (word2vec, KB2E)")
