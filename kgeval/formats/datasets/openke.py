"""OpenKE's folders: ``entity2id.txt``, ``relation2id.txt``, and triples of ids in ``train2id.txt`` and so on.

Layout. The first line of each file is the number of the lines below. In the dictionaries, the lines below are ``label
TAB id``; in ``train2id.txt``, ``valid2id.txt`` and ``test2id.txt``, the lines below are ``head tail relation``: ids
separated by spaces or tabs. OpenKE's script ``n-n.py`` adds ``type_constrain.txt`` and the classes of the test triples,
``1-1.txt``, ``1-n.txt``, ``n-1.txt`` and ``n-n.txt``.

Traps. The relation is the last column. If a tool reads the columns as head, relation, tail, WN18RR seems to have 132
relations. OpenKE does not check the count line: if the number is too large, OpenKE evaluates triples of zeros; if the
number is too small, OpenKE ignores the last triples. Files that other programs write with these names often lack the
count line or have the relation in the middle. Here each of these faults raises an error that names the line. The ids of
OpenKE are not the ids of the dataset; `Dataset.dictionaries` lists the labels in the order of OpenKE's ids.
"""

from __future__ import annotations

from pathlib import Path

from kgeval.data.dataset import Dataset
from kgeval.errors import DataError
from kgeval.formats.checkpoints.id_files import read_ids
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.folders import AS_TABLES, check_folder, first_lines, names_in
from kgeval.formats.id_triples import OTHER_FILE_NAMED, read_id_folder
from kgeval.formats.registry import Format

DICTIONARIES = ("entity2id.txt", "relation2id.txt")
SPLIT_NAMES = {"train": "train2id.txt", "valid": "valid2id.txt", "test": "test2id.txt"}
UNREAD = {
    r"(train|valid|test)2id\.txt": OTHER_FILE_NAMED,
    r"[1n]-[1n]\.txt|test2id_all\.txt": "test triples by class of the relation; results break down by these classes "
    "too: result.by('cardinality'), --by cardinality",
    r"type_constrain\.txt": "the entities that OpenKE saw with each relation: --candidates FILE ranks among them",
    r"(train|valid|test|dev|val)\.(txt|tsv)": f"triples of labels; {AS_TABLES} reads them",
}


def sniff(path: Path) -> bool:
    """Return whether a folder contains both dictionaries and triples of ids."""
    names = names_in(path)
    return set(DICTIONARIES) <= names and not names.isdisjoint(SPLIT_NAMES.values())


def read(folder: Path, options: DatasetOptions) -> Dataset:
    """Read the folder; see `kgeval.read_dataset`."""
    options.check_used("openke", ("columns", "splits", "ignore"))
    check_folder(folder, DICTIONARIES)
    return read_id_folder(folder, options, "OpenKE", "htr", DICTIONARIES, SPLIT_NAMES, UNREAD, _labels, has_count=True)


def _labels(file: Path) -> list[str]:
    """Return the labels of a dictionary in the order of the ids."""
    first = next(iter(first_lines(file)), "")
    if not first.strip().isdecimal():
        raise DataError(
            f"{file}, line 1: expected the number of entries alone, as OpenKE writes it; found {first[:80]!r}"
        )
    return read_ids(file)


FORMAT = Format("openke", sniff, read, "OpenKE (ids with count lines)")
