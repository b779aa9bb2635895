"""DGL-KE's folders: ``entities.tsv`` and ``relations.tsv`` beside the triples.

Layout. The dictionaries hold ``id TAB label``. DGL-KE writes them into the folder of a dataset of labels (its option
``--to raw_udd_hrt`` and so on). For a dataset of ids (``udd_hrt``), the user writes them, and the triples hold ids.

Traps. No file says whether the triples hold labels or ids. Here, the words of the triples are read as labels if all
words are labels of the dictionaries, and as ids if all words are ids; if both are possible (the labels are numbers), an
error is raised. The order of the columns is an option of DGL-KE, and no file records this order. As in other folders,
an error asks for `columns` if the order seems to be head, tail, relation. The built-in datasets of DGL-KE are RotatE's
folders.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgeval.base.checks import Ids
from kgeval.data.dataset import Dataset
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError
from kgeval.formats.checkpoints.id_files import read_ids
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.datasets import tab_folder
from kgeval.formats.folders import AS_TABLES, check_folder, first_lines, names_in
from kgeval.formats.id_triples import dataset_of_ids, with_dictionaries
from kgeval.formats.registry import Format

DICTIONARIES = ("entities.tsv", "relations.tsv")


def sniff(path: Path) -> bool:
    """Return whether a folder contains a file of a split, and both dictionaries, which start with the id 0."""
    if not set(DICTIONARIES) <= names_in(path) or not tab_folder.FORMAT.sniff(path):
        return False
    starts = [next(iter(first_lines(path / name)), "") for name in DICTIONARIES]
    return all(start.startswith("0\t") and start.count("\t") == 1 for start in starts)


def read(folder: Path, options: DatasetOptions) -> Dataset:
    """Read the folder; see `kgeval.read_dataset`."""
    check_folder(folder, DICTIONARIES)
    dataset: Dataset = tab_folder.FORMAT.read(folder, options)
    entities, relations = (read_ids(folder / name) for name in DICTIONARIES)
    ids = _ids(dataset.entities, len(entities)), _ids(dataset.relations, len(relations))
    are_labels = set(dataset.entities.labels) <= set(entities) and set(dataset.relations.labels) <= set(relations)
    if ids[0] is None or ids[1] is None:
        return with_dictionaries(dataset, entities, relations, folder, DICTIONARIES)
    if are_labels:
        as_labels = tuple(dataset.entities.labels), tuple(dataset.relations.labels)
        if as_labels == (tuple(entities[i] for i in ids[0]), tuple(relations[i] for i in ids[1])):
            return with_dictionaries(dataset, entities, relations, folder, DICTIONARIES)
        raise DataError(
            f"{folder}: the triples may hold labels or ids: all their words are both labels and ids of "
            f"{DICTIONARIES[0]} and {DICTIONARIES[1]}. If they are labels, use {AS_TABLES}; if they are ids, write the "
            "labels into the triples"
        )
    splits = {
        split: np.column_stack([ids[0][part.s], ids[1][part.p], ids[0][part.o]])
        for split, part in dataset.splits.items()
    }
    notes = [*dataset.notes, f"the triples hold ids of {DICTIONARIES[0]} and {DICTIONARIES[1]}"]
    return dataset_of_ids(splits, entities, relations, dataset.name, notes, dataset.columns)


def _ids(words: Vocabulary, n: int) -> Ids | None:
    """Return the labels of a vocabulary as numbers, int64 (labels,); None if a label is not an id below `n`."""
    try:
        ids = [int(word) for word in words.labels if word.isascii() and word.isdecimal()]
    except ValueError:  # more digits than Python converts
        return None
    if len(ids) < len(words) or max(ids, default=0) >= n:
        return None
    return np.array(ids, dtype=np.int64)


FORMAT = Format("dglke", sniff, read, "DGL-KE (entities.tsv and relations.tsv beside the triples)")
