"""Read datasets whose files hold ids: triples of numbers, and dictionaries that give the labels of the ids.

The readers of OpenKE, LibKGE, RotatE, DGL-KE and OGB folders call these functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, counted, cut_label
from kgeval.base.files import check_no_nul, one_line_end, read_bytes
from kgeval.data.column_names import check_columns
from kgeval.data.dataset import Dataset
from kgeval.data.triples import SPLITS
from kgeval.errors import DataError
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.folders import given_splits, ignored_names, names_in, unread_notes
from kgeval.formats.split_files import find_split_files

NO_TRAIN = "no train split: the filter does not remove training triples, and no entity counts as unseen"
# For notes: why a file of a split is not read if the caller names another file for this split.
OTHER_FILE_NAMED = (
    "splits names another file for this split; triples that only the unread file contains are not filtered"
)
MAX_DIGITS = 18  # every number of this many digits is an int64
ORDERS = {"hrt": "head, relation, tail", "htr": "head, tail, relation"}
_TAB, _NEWLINE, _SPACE, _ZERO, _NINE = b"\t\n 09"


def read_id_folder(
    folder: Path,
    options: DatasetOptions,
    tool: str,
    order: str,
    dictionaries: Sequence[str],
    names: Mapping[str, str],
    unread: Mapping[str, str],
    read_labels: Callable[[Path], list[str]],
    has_count: bool = False,
) -> Dataset:
    """Read a folder of two dictionaries and a file of ids for each split.

    Parameters
    ----------
    folder : Path
    options : DatasetOptions
        `columns`, `splits` and `ignore` are used.
    tool : str
        The name of the tool, for notes.
    order : str
        The order of the columns that the tool documents, such as ``"htr"``.
    dictionaries : sequence of two str
        The names of the files that list entities and relations.
    names : mapping of str to str
        The name that the tool gives to the file of each split.
    unread : mapping of str to str
        Kinds of files that kgeval does not read; the argument `known` of `unread_notes`.
    read_labels : function
        Takes the path of a dictionary and returns its labels in the order of the ids.
    has_count : bool
        Whether the first line of each file of triples holds the number of triples.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        In the cases listed by `id_split_files`, `column_order` and `read_id_triples`.
    """
    files = id_split_files(folder, names, options)
    entities, relations = (read_labels(folder / name) for name in dictionaries)
    columns = column_order(options, order)
    sizes = len(entities), len(relations)
    splits = {
        split: np.concatenate([read_id_triples(path, columns, *sizes, dictionaries, has_count) for path in paths])
        for split, paths in files.items()
    }
    notes = [] if options.columns else order_note(splits, columns, *sizes, tool)
    read = {*dictionaries, *(path.name for paths in files.values() for path in paths)}
    notes += unread_notes(folder, read, unread, ignored_names(options))
    return dataset_of_ids(splits, entities, relations, folder.resolve().name, notes)


def id_split_files(folder: Path, names: Mapping[str, str], options: DatasetOptions) -> dict[str, list[Path]]:
    """Return the files of each split of a folder of ids.

    Parameters
    ----------
    folder : Path
    names : mapping of str to str
        The name that the tool gives to the file of each split.
    options : DatasetOptions
        `splits` names other files, `ignore` leaves files out.

    Returns
    -------
    dict of str to list of Path

    Raises
    ------
    DataError
        If no split has a file, or if `splits` or `ignore` is not valid.
    """
    present = names_in(folder) - set(ignored_names(options))
    chosen = {split: name for split, name in names.items() if name in present} | given_splits(options)
    found = find_split_files(folder, chosen, options.ignore)
    files = {split: found[split] for split in SPLITS if split in chosen}
    if not files:
        raise DataError(f"{folder}: expected at least one of {', '.join(names.values())}")
    return files


def column_order(options: DatasetOptions, default: str) -> str:
    """Return the order of the columns of files of ids, such as ``"htr"``.

    Parameters
    ----------
    options : DatasetOptions
    default : str
        The order that the tool documents; the result if the user gives no order.

    Raises
    ------
    DataError
        If the option `columns` is not an order of columns.
    """
    if options.columns is None:
        return default
    if not isinstance(options.columns, str):
        raise DataError(f"columns must be an order such as 'htr' for files of ids; got {options.columns!r}")
    check_columns(options.columns)
    return options.columns


def read_id_triples(
    file: Path, columns: str, n_entities: int, n_relations: int, dictionaries: Sequence[str], has_count: bool = False
) -> Ids:
    """Read a file of triples of ids.

    Parameters
    ----------
    file : Path
        Three numbers on each line, separated by tabs or spaces.
    columns : str
        The order of the columns: ``"hrt"`` (head, relation, tail), ``"htr"`` or another order of these letters.
    n_entities, n_relations : int
        The numbers of entities and of relations; ids count from 0.
    dictionaries : sequence of two str
        The names of the files that list entities and relations, for messages.
    has_count : bool
        Whether the first line holds the number of triples.

    Returns
    -------
    int64 array, shape (n, 3)
        Columns s, p, o.

    Raises
    ------
    DataError
        If the first line does not hold the right number of triples, if a line does not hold three numbers, or if an id
        is out of range. The message names file and line.
    """
    raw = one_line_end(read_bytes(file))
    check_no_nul(file, raw)
    raw = raw.rstrip(b" \t\n") + b"\n"
    count = None
    if has_count:
        first, _, raw = raw.partition(b"\n")
        count = _count_of(file, first)
    top = 2 if has_count else 1  # the number of the line of the first triple
    triples = _numbers(file, raw, top)
    if count is not None and count != len(triples):
        raise DataError(f"{file}, line 1: counts {count:,} triples, but {len(triples):,} lines follow")
    if count is None and not len(triples):
        raise DataError(f"{file}, line 1: 0 triples; the file is empty")
    ids = triples[:, check_columns(columns)]
    sizes = np.array([n_entities, n_relations, n_entities])
    if (ids >= sizes).any():
        row, part = (int(i) for i in np.argwhere(ids >= sizes)[0])
        kind, source = ("relation", dictionaries[1]) if part == 1 else ("entity", dictionaries[0])
        raise DataError(
            f"{file}, line {row + top}: the {kind} id {ids[row, part]} is not in 0 .. {sizes[part] - 1}, the ids of "
            f"{source}{_hint(triples, columns, n_entities, n_relations, dictionaries)}"
        )
    return ids


def _count_of(file: Path, line: bytes) -> int:
    """Return the number of triples that the first line of a file states."""
    text = line.decode("utf-8", "replace").strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS):
        raise DataError(
            f"{file}, line 1: expected the number of triples alone, as OpenKE writes it; found {cut_label(repr(text))}"
        )
    return int(text)


def _numbers(file: Path, raw: bytes, top: int) -> Ids:
    """Return the three numbers of each line, int64 (lines, 3); `top` is the number of the first line in the file."""
    if not raw.strip():
        return np.zeros((0, 3), dtype=np.int64)
    data = np.frombuffer(raw, dtype=np.uint8)
    is_digit = (data >= _ZERO) & (data <= _NINE)
    is_start = is_digit & ~np.append(False, is_digit[:-1])  # the first digits of numbers
    starts, line_ends = np.flatnonzero(is_start), np.flatnonzero(data == _NEWLINE)
    n_of_line = np.diff(np.searchsorted(starts, line_ends), prepend=0)  # (lines,): how many numbers each line holds
    lengths = np.flatnonzero(is_digit & ~np.append(is_digit[1:], False)) - starts + 1
    is_known_byte = is_digit | (data == _TAB) | (data == _SPACE) | (data == _NEWLINE)
    if is_known_byte.all() and (n_of_line == 3).all() and lengths.max() <= MAX_DIGITS:
        return np.fromstring(raw.decode("ascii"), dtype=np.int64, sep=" ").reshape(-1, 3)
    for number, line in enumerate(raw.decode("utf-8", "replace").split("\n"), start=top):
        parts = re.split(r"[ \t]+", line.strip(" \t"))
        if len(parts) != 3 or any(not (p.isascii() and p.isdecimal() and len(p) <= MAX_DIGITS) for p in parts):
            raise DataError(
                f"{file}, line {number}: expected three ids, separated by tabs or spaces; found {line[:80]!r}"
            )
    raise AssertionError("unreachable: every line is right")


def _hint(triples: Ids, columns: str, n_entities: int, n_relations: int, dictionaries: Sequence[str]) -> str:
    """Return the likely cause of ids out of range: a wrong order of the columns, or swapped dictionaries."""
    for order, words in ORDERS.items():
        positions = check_columns(order)
        if order != columns and (triples[:, positions] < (n_entities, n_relations, n_entities)).all():
            return f". The ids fit the order {words}: if this is the order, say columns={order!r} (--columns {order})"
    if (triples[:, check_columns(columns)] < (n_relations, n_entities, n_relations)).all():
        return f". The ids fit if {dictionaries[0]} and {dictionaries[1]} are swapped: which file lists the entities?"
    return ""


def order_note(splits: Mapping[str, Ids], columns: str, n_entities: int, n_relations: int, tool: str) -> list[str]:
    """Return a note if the ids of a dataset would also fit another order of the columns; else no note.

    Parameters
    ----------
    splits : mapping of str to int64 array, shape (n, 3)
        Columns s, p, o.
    columns : str
        The order in which the columns were read: ``"hrt"`` or ``"htr"``, the order that the tool documents.
    n_entities, n_relations : int
    tool : str
        The name of the tool.
    """
    triples = np.concatenate(list(splits.values()))
    if not len(triples) or (triples[:, [0, 2, 1]] >= (n_entities, n_relations, n_entities)).any():
        return []
    other = next(order for order in ORDERS if order != columns)
    return [
        f"the columns are read as {ORDERS[columns]}, the order of {tool}; the ids would also fit {ORDERS[other]} "
        f"(columns={other!r}, --columns {other})"
    ]


def label_columns(
    splits: Mapping[str, Ids], entities: Sequence[str], relations: Sequence[str]
) -> dict[str, list[pd.Categorical]]:
    """Return triples of ids as columns of labels, for `Dataset.from_labels`.

    Parameters
    ----------
    splits : mapping of str to int64 array, shape (n, 3)
        Columns s, p, o.
    entities, relations : sequence of str
        The label of each id; all labels differ. Each label becomes a category, even if it occurs in no triple.

    Returns
    -------
    dict of str to list of three pandas.Categorical of str, shape (n,)
        The columns s, p, o of each split.
    """
    dtypes = [pd.CategoricalDtype(pd.Index(list(labels), dtype=object)) for labels in (entities, relations, entities)]
    return {
        split: [pd.Categorical.from_codes(triples[:, i], dtype=dtypes[i]) for i in range(3)]
        for split, triples in splits.items()
    }


def dataset_of_ids(
    splits: Mapping[str, Ids],
    entities: Sequence[str],
    relations: Sequence[str],
    name: str,
    notes: Sequence[str] = (),
    further_columns: Mapping[str, pd.DataFrame] | None = None,
) -> Dataset:
    """Make a dataset from triples of another tool's ids; the dataset also contains the ids that occur in no triple.

    Parameters
    ----------
    splits : mapping of str to int64 array, shape (n, 3)
        Columns s, p, o.
    entities, relations : sequence of str
        The label of each id; all labels differ.
    name : str
    notes : sequence of str
    further_columns : mapping of str to pandas.DataFrame, optional
        See `Dataset`.

    Returns
    -------
    Dataset
        Its `dictionaries` hold the given labels. A note tells how many entities occur in no triple.
    """
    dataset = Dataset.from_labels(
        label_columns(splits, entities, relations),
        name=name,
        notes=[*notes, *([] if "train" in splits else [NO_TRAIN])],
        further_columns=further_columns,
        dictionaries={"entities": entities, "relations": relations},
    )
    return dataset.with_notes(unused_notes(dataset))


def with_dictionaries(
    dataset: Dataset, entities: Sequence[str], relations: Sequence[str], folder: Path, sources: Sequence[str]
) -> Dataset:
    """Add the dictionaries of a folder to the dataset; all labels of the dictionaries become labels of the dataset.

    Parameters
    ----------
    dataset : Dataset
    entities, relations : sequence of str
        The labels in the order of the tool's ids.
    folder : Path
        For messages.
    sources : sequence of two str
        The names of the files of entities and of relations, for messages.

    Returns
    -------
    Dataset
        A dataset with the same triples. A note tells how many entities of the dictionary occur in no triple.

    Raises
    ------
    DataError
        If a triple contains a label that the dictionary lacks.
    """
    vocabularies = ("entity", dataset.entities, entities), ("relation", dataset.relations, relations)
    for (kind, vocabulary, known), source in zip(vocabularies, sources):
        labels = set(known)
        lacking = [i for i, label in enumerate(vocabulary.labels) if label not in labels]
        if lacking:
            raise DataError(
                f"{folder}: {source} lacks the {kind} {cut_label(vocabulary.labels[lacking[0]])!r}"
                f"{_first_place(dataset, kind, lacking[0])}; {counted(len(lacking), kind)} of the triples "
                f"{'is' if len(lacking) == 1 else 'are'} not in {source}. Is it the dictionary of another dataset?"
            )
    arrays = {split: part.array for split, part in dataset.splits.items()}
    full = Dataset.from_labels(
        label_columns(arrays, dataset.entities.labels, dataset.relations.labels),
        name=dataset.name,
        notes=dataset.notes,
        further_columns=dataset.columns,
        dictionaries={"entities": entities, "relations": relations},
    )
    return full.with_notes(unused_notes(full))


def _first_place(dataset: Dataset, kind: str, label_id: int) -> str:
    """Return the first place of a label, for a message: " (triple 5 of train)"."""
    parts = [1] if kind == "relation" else [0, 2]
    for split, triples in dataset.splits.items():
        rows = np.flatnonzero((triples.array[:, parts] == label_id).any(axis=1))
        if len(rows):
            return f" (triple {rows[0] + 1} of {split})"
    return ""


def unused_notes(dataset: Dataset, source: str = "of the dictionary ") -> list[str]:
    """Return notes that count the entities and the relations of a dataset that occur in no triple.

    Parameters
    ----------
    dataset : Dataset
    source : str
        Where the entities and relations are listed, for the notes.
    """
    triples = np.concatenate([part.array for part in dataset.splits.values()])
    n_entities = len(dataset.entities) - len(np.unique(triples[:, [0, 2]]))
    n_relations = len(dataset.relations) - len(np.unique(triples[:, 1]))
    notes = []
    if n_entities:
        has = f"entity {source}occurs in no triple, but is a candidate"
        have = f"entities {source}occur in no triple, but are candidates"
        notes.append(counted(n_entities, has, have))
    if n_relations:
        has, have = f"relation {source}occurs in no triple", f"relations {source}occur in no triple"
        notes.append(counted(n_relations, has, have))
    return notes
