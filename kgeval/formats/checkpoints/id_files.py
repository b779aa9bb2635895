"""Read files that list ids and labels: the dictionaries that training tools write.

The readers of model files and of datasets call `read_ids`; `load_model` calls `labels_of_ids` for its parameter
``ids``.

Traps. Some tools write ``id TAB label`` (RotatE's ``.dict``, LibKGE's ``.del``, DGL-KE), others ``label TAB id``
(OpenKE, below a line that counts the entries; Marius, with a comma). The column whose numbers are 0, 1, 2, ... contains
the ids. If the labels are the numbers 0, 1, 2, ... too, the name of the file decides: it shows the tool, and so the
order of the columns. If the name is not known, an error asks the user. A label such as ``NA`` or ``null`` is a label,
never a missing value. An empty line is an error, because in a list of labels it would shift all labels after it.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, cut_label
from kgeval.base.files import parse_json, read_text
from kgeval.errors import DataError
from kgeval.formats.unpacking import PACKED, open_packed

# The names of id files that tools write: entities, relations.
NAMES = (
    ("entities.dict", "relations.dict"),
    ("entity2id.txt", "relation2id.txt"),
    ("entity_ids.del", "relation_ids.del"),
    ("entity_to_id.tsv.gz", "relation_to_id.tsv.gz"),
    ("entity_to_id.tsv", "relation_to_id.tsv"),
    ("training_triples/entity_to_id.tsv.gz", "training_triples/relation_to_id.tsv.gz"),
    ("entities.tsv", "relations.tsv"),
    ("node_mapping.txt", "relation_mapping.txt"),
    ("nodes/node_mapping.txt", "edges/relation_mapping.txt"),
)
ID_FIRST = (".dict", ".del", "entities.tsv", "relations.tsv")  # names that end so: id, then label
LABEL_FIRST = ("2id.txt", "node_mapping.txt", "relation_mapping.txt")  # label, then id
ID_WORDS = ("id", "index", "idx", "mapped_id", "ent idx", "rel idx")  # names of the column of ids in a first line
SEPARATORS = ("\t", ",", "|", ";")
MAX_DIGITS = 18  # of an id, so that it fits into int64
SAMPLED = 1000  # lines that decide which separator a file has


def read_ids(path: str | Path) -> list[str]:
    """Read a file of ids and labels; return the labels in the order of their ids.

    Parameters
    ----------
    path : str or path
        One of: lines ``id TAB label`` or ``label TAB id`` (or another separator: comma, ``|``, ``;``), with or without
        a first line that counts the entries or names the columns; a JSON object ``{label: id}`` or ``{id: label}``; a
        JSON list of labels; one label on each line, in the order of the ids. A file whose name ends in ``.gz``,
        ``.bz2`` or ``.xz`` is unpacked.

    Returns
    -------
    list of str
        Element i is the label of id i.

    Raises
    ------
    DataError
        If the ids are not 0, 1, 2, ... without gaps and repetitions, if a label is empty or occurs twice, if the count
        line differs from the number of entries, or if both columns may be the ids.
    """
    file = Path(path)
    text = _text(file)
    if _plain_name(file).endswith(".json"):
        return _of_json(file, text)
    lines = text.rstrip("\n").split("\n")
    if lines == [""]:
        raise DataError(f"{file}: expected ids and labels; the file is empty")
    if "" in lines:
        raise DataError(f"{file}, line {lines.index('') + 1}: is empty; expected a label, or an id and a label")
    separator = _separator(file, lines)
    if separator is None:
        return _in_order(file, lines, np.arange(len(lines)), 1)
    top = 1  # the number of the first line with an entry
    count = None
    if separator not in lines[0]:
        count, top, lines = _count(file, lines[0]), 2, lines[1:]
        if count != len(lines):
            raise DataError(f"{file}, line 1: counts {count} entries, but {len(lines)} follow; is the file complete?")
    columns = _columns(file, lines, separator, top)
    del lines
    id_column = None
    header = [column[0].strip().lower() for column in columns]
    if count is None and not any(word.isdecimal() for word in header):  # the line names the columns
        id_column = next((i for i in (0, 1) if header[i] in ID_WORDS), None)
        columns, top = (columns[0][1:], columns[1][1:]), top + 1
    found = [_ids(column) for column in columns]
    if id_column is None:
        id_column = _id_column(file, columns, found, count is not None)
    ids = found[id_column]
    if ids is None:
        raise _wrong_ids(file, columns[id_column], top)
    return _in_order(file, columns[1 - id_column], ids, top)


def labels_of_ids(ids: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> tuple[list[str], list[str]]:
    """Read the two id files that the user names.

    The result is the labels of entities and the labels of relations, in the order of the ids.

    Parameters
    ----------
    ids : path, or sequence of two paths
        Either a folder that contains the two files under the names that a known tool gives them (`NAMES`); or the file
        of entities and the file of relations. Two files may also be given as one text with a comma between them.

    Returns
    -------
    entities, relations : list of str

    Raises
    ------
    DataError
        If `ids` names one file or more than two, a folder without id files, or a file that `read_ids` refuses.
    """
    if isinstance(ids, (str, os.PathLike)):
        files = [Path(ids)] if Path(ids).exists() else [Path(part) for part in os.fspath(ids).split(",")]
    else:
        files = [Path(part) for part in ids]
    if len(files) == 1:
        place = files[0]
        pair = find_id_files(place)
        if pair is None and place.is_dir():
            expected = "; ".join(" and ".join(names) for names in NAMES)
            raise DataError(
                f"ids: {place} holds no id files that are known by name; expected {expected}, or name both files"
            )
        files = list(pair or files)
    if len(files) != 2:
        shown = ", ".join(str(file) for file in files)
        raise DataError(
            "ids must name the file of entities and the file of relations, or a folder with both; got "
            f"{len(files)}: {shown}"
        )
    return read_ids(files[0]), read_ids(files[1])


def find_id_files(folder: Path) -> tuple[Path, Path] | None:
    """Return the two id files of a folder, of the entities and of the relations; None if there are no such files.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    DataError
        If the folder contains id files of several tools that do not list the same labels in the same order.
    """
    if not folder.is_dir():
        return None
    found = [
        (folder / entities, folder / relations)
        for entities, relations in NAMES
        if (folder / entities).is_file() and (folder / relations).is_file()
    ]
    for entities, relations in found[1:]:
        for first, second in zip(found[0], (entities, relations)):
            if read_ids(first) != read_ids(second):
                raise DataError(
                    f"{folder}: {first.name} and {second.name} give different ids; name the right ones: "
                    "ids=(entities file, relations file) (--ids FILE,FILE)"
                )
    return found[0] if found else None


def _plain_name(file: Path) -> str:
    """Return the name of a file without the suffix of packing: ``entities.dict`` for ``entities.dict.gz``."""
    return file.stem if file.suffix.lower() in PACKED else file.name


def _text(file: Path) -> str:
    """Return the text of a file; a file whose name has an ending of packed files is unpacked."""
    if file.suffix.lower() not in PACKED:
        return read_text(file)
    try:
        text = open_packed(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: is not UTF-8 at byte {error.start} of its unpacked content") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _of_json(file: Path, text: str) -> list[str]:
    """Return the labels of a JSON list of labels, or of a JSON object of labels and ids."""
    content = parse_json(text, file, pairs_hook=_Pairs)
    expected = "expected a JSON list of labels, or an object {label: id} or {id: label} with the ids 0, 1, 2, ..."
    if not isinstance(content, _Pairs):
        if not isinstance(content, list) or not content or not all(isinstance(label, str) for label in content):
            raise DataError(f"{file}: {expected}")
        return _in_order(file, content, np.arange(len(content)), 1, "entries")
    keys, values = [key for key, _ in content], [value for _, value in content]
    ids, labels = (_ids([str(value) for value in values]) if all(type(v) is int for v in values) else None), keys
    keys_as_ids = _ids(keys)
    if ids is not None and keys_as_ids is not None and not np.array_equal(ids, keys_as_ids):
        raise DataError(f"{file}: both the keys and the values may be the ids; write a JSON list of labels in id order")
    if ids is None and all(isinstance(value, str) for value in values):
        ids, labels = keys_as_ids, values
    if ids is None:
        raise DataError(f"{file}: {expected}")
    return _in_order(file, labels, ids, 1, "entries")


class _Pairs(list[tuple[str, Any]]):
    """The pairs (key, value) of a JSON object; unlike a dict, it keeps all pairs with equal keys."""


def _separator(file: Path, lines: Sequence[str]) -> str | None:
    """Return the separator of the columns; None if each line is one label.

    Labels may contain a comma, ``|``, ``;`` or a space. Such a character is the separator only if it divides each line
    into two parts, and if the first parts, or the second parts, are numbers in all lines. A space is a separator only
    after a line that counts the entries (OpenKE).
    """
    body = lines[1 : SAMPLED + 1] or lines
    for separator in (*SEPARATORS, " ") if lines[0].strip().isdecimal() else SEPARATORS:
        if all(separator in line for line in body):
            parts = [(line.split(separator)[0], line.rsplit(separator, 1)[-1]) for line in body]
            if separator == "\t" or any(all(part[i].strip().isdecimal() for part in parts) for i in (0, 1)):
                return separator
    number = next((i for i, line in enumerate(lines, start=1) if "\t" in line), None)
    if number is not None:
        lacking = next(i for i, line in enumerate(lines[1:], start=2) if "\t" not in line) if len(lines) > 1 else number
        raise DataError(f"{file}, line {lacking}: expected an id and a label, separated by a tab as in line {number}")
    return None


def _count(file: Path, line: str) -> int:
    """Return the number of entries, which the first line contains."""
    word = line.strip()
    if not (word.isascii() and word.isdecimal()) or len(word) > MAX_DIGITS:
        raise DataError(f"{file}, line 1: expected an id and a label, or the number of entries; found {line[:80]!r}")
    return int(word)


def _columns(file: Path, lines: list[str], separator: str, top: int) -> tuple[list[str], list[str]]:
    """Return the two columns of the lines; `top` is the number of the first line."""
    if separator == " ":  # a label may contain spaces
        rows = [line.strip().rsplit(" ", 1) for line in lines]
    elif separator == "," and any('"' in line for line in lines):
        rows = [next(csv.reader([line])) for line in lines]
    else:
        if all(line.count(separator) == 1 for line in lines):
            flat = separator.join(lines).split(separator)
            rows, columns = [], (flat[0::2], flat[1::2])
        else:
            rows = [line.split(separator) for line in lines]
    if rows:
        wrong = next((i for i, row in enumerate(rows) if len(row) != 2), None)
        if wrong is not None:
            raise DataError(
                f"{file}, line {wrong + top}: expected an id and a label, 2 columns; found {lines[wrong][:80]!r}"
            )
        columns = ([row[0] for row in rows], [row[1] for row in rows])
    for column in columns:
        if "" in column:
            i = column.index("")
            raise DataError(f"{file}, line {i + top}: expected an id and a label, 2 columns; found {lines[i][:80]!r}")
    return columns


def _ids(column: Sequence[str]) -> Ids | None:
    """Return the ids in a column, int64 (n,); None if its values are not the numbers 0, 1, ..., n - 1 in some order."""
    n = len(column)
    words = column
    joined = "".join(words)
    if any(space in joined for space in " \t\r"):
        words = [word.strip() for word in column]
        joined = "".join(words)
    if not (joined.isascii() and joined.isdecimal()) or max(map(len, words)) > MAX_DIGITS or "" in words:
        return None
    ids = np.fromiter(map(int, words), np.int64, n)
    return ids if ids.max() < n and (np.bincount(ids, minlength=n) == 1).all() else None


def _id_column(file: Path, columns: Sequence[Sequence[str]], found: Sequence[Ids | None], has_count: bool) -> int:
    """Return the number of the column of ids, 0 or 1; `found`: the ids of each column, None if it holds no ids."""
    habit = 1 if has_count or _plain_name(file).endswith(LABEL_FIRST) else None
    habit = 0 if _plain_name(file).endswith(ID_FIRST) else habit
    first, second = found
    if first is not None and second is not None:
        if habit is None and not np.array_equal(first, second):
            raise DataError(
                f"{file}: both columns hold the numbers 0 .. {len(first) - 1}, so either may be the ids; add a first "
                "line that names the columns: id TAB label, or label TAB id"
            )
        return habit or 0
    if first is not None or second is not None:
        return 0 if first is not None else 1
    are_numbers = ["".join(column).isdecimal() for column in columns]
    if habit is not None and are_numbers[habit]:
        return habit
    return 1 if are_numbers[1] and not are_numbers[0] else 0


def _wrong_ids(file: Path, column: Sequence[str], top: int) -> DataError:
    """Return the error about the first wrong id of a column; `top` is the number of its first line."""
    lines: dict[int, int] = {}
    for number, word in enumerate(column, start=top):
        text = word.strip()
        is_number = text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
        if not is_number or int(text) >= len(column):
            return DataError(
                f"{file}, line {number}: expected an id from 0 to {len(column) - 1}, as the file has {len(column)} "
                f"entries; found {cut_label(repr(word))}"
            )
        if int(text) in lines:
            return DataError(f"{file}, line {number}: the id {text} occurs in line {lines[int(text)]} too")
        lines[int(text)] = number
    return DataError(f"{file}: expected entries below the names of the columns; found none")


def _in_order(file: Path, labels: list[str], ids: Ids, top: int, places: str = "lines") -> list[str]:
    """Return the labels in the order of their ids; raise a DataError if a label is empty or occurs twice.

    `labels` and `ids` are in the order of the file; `top` is the number of the first line.
    """
    if len(set(labels)) < len(labels) or "" in labels:
        first: dict[str, int] = {}
        for line, label in enumerate(labels, start=top):
            if not label:
                raise DataError(f"{file}: entry {line} has an empty label")
            if label in first:
                raise DataError(
                    f"{file}: the label {cut_label(repr(label))} occurs in {places} {first[label]} and {line}"
                )
            first[label] = line
    in_order = np.empty(len(ids), dtype=object)
    in_order[ids] = labels
    return in_order.tolist()
