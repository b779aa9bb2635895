"""KG-BERT's folders: ``train.tsv``, ``dev.tsv`` and ``test.tsv``, with texts of entities and relations beside them.

Layout. Tab-separated triples of labels, without a header. ``entity2text.txt``, ``entity2textlong.txt`` and
``relation2text.txt`` hold ``label TAB text``. ``entities.txt`` and ``relations.txt`` list the labels, one on each line.
In WN11 and FB13, the lines of ``dev.tsv`` and ``test.tsv`` end with 1 or -1 (the triple is true or false).

Traps. If a tool ignores the fourth column, false triples become known answers. Here the labels are recognised, and the
splits contain only the true triples. KG-BERT ranks all entities of ``entities.txt``, also those that occur in no
triple, so all these entities are entities of the dataset. WN11 also has files with a part of train (``train_5.tsv``);
these files add no triples.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kgeval.base.checks import counted, listed
from kgeval.base.files import read_text
from kgeval.data.dataset import Dataset
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.datasets import tab_folder
from kgeval.formats.folders import check_folder, first_lines, ignored_names, names_in
from kgeval.formats.id_triples import label_columns
from kgeval.formats.registry import Format

TEXTS = re.compile(r"(entity|relation)2text\w*\.txt")
SHARES = re.compile(r"train_\d+\.tsv")  # files that hold a part of train
SPLIT_NAMES = ("train.tsv", "dev.tsv", "test.tsv")


def sniff(path: Path) -> bool:
    """Return whether a folder contains texts of the entities, and a split as a .tsv file."""
    names = names_in(path)
    return any(TEXTS.fullmatch(name) for name in names) and not names.isdisjoint(SPLIT_NAMES)


def read(folder: Path, options: DatasetOptions) -> Dataset:
    """Read the folder; see `kgeval.read_dataset`."""
    check_folder(folder, ())
    names = sorted(names_in(folder))
    shares = [name for name in names if SHARES.fullmatch(name)]
    texts = [name for name in names if TEXTS.fullmatch(name)]
    ignored = ignored_names(options)
    notes = []
    if not options.labelled and any(_ends_with_truth(folder / name) for name in ("dev.tsv", "test.tsv")):
        options = replace(options, labelled=True)
        notes.append(
            "each line of dev.tsv and test.tsv ends with 1 or -1, so the splits contain the lines with 1 only; "
            "read_negatives(..., labelled=True) (kgeval classify --labelled) reads the false triples"
        )
    options = replace(options, ignore=[*ignored, *(name for name in [*shares, *texts] if name not in ignored)])
    dataset: Dataset = tab_folder.FORMAT.read(folder, options)
    if shares:
        notes.append(f"not read: {listed(shares)} (parts of train)")
    if texts:
        notes.append(f"not read: {listed(texts)} (texts of entities and relations)")
    lists = [_listed_labels(folder / name) for name in ("entities.txt", "relations.txt")]
    return _with_labels(dataset, *lists).with_notes(notes)


def _ends_with_truth(file: Path) -> bool:
    """Return whether the first lines of a file have four columns, the last of which is 1 or -1."""
    lines = [line.split("\t") for line in first_lines(file) if line]
    return bool(lines) and all(len(line) == 4 and line[3] in ("1", "-1") for line in lines)


def _listed_labels(file: Path) -> list[str]:
    """Return the labels of a file with one label on each line; none if the file is missing or has several columns."""
    if not file.is_file():
        return []
    lines = [line for line in read_text(file).split("\n") if line]
    return [] if any("\t" in line for line in lines) else lines


def _with_labels(dataset: Dataset, entities: Sequence[str], relations: Sequence[str]) -> Dataset:
    """Return a dataset with further labels; a note tells how many entities were added."""
    new_entities = sorted(set(entities) - set(dataset.entities.labels))
    new_relations = sorted(set(relations) - set(dataset.relations.labels))
    notes = list(dataset.notes)
    if new_entities:
        has = "entity of entities.txt occurs in no triple, but is a candidate"
        have = "entities of entities.txt occur in no triple, but are candidates"
        notes.append(counted(len(new_entities), has, have))
    arrays = {split: part.array for split, part in dataset.splits.items()}
    known = [*dataset.entities.labels, *new_entities], [*dataset.relations.labels, *new_relations]
    columns = label_columns(arrays, *known)
    return Dataset.from_labels(columns, name=dataset.name, notes=notes, further_columns=dataset.columns)


FORMAT = Format("kgbert", sniff, read, "KG-BERT (triples with texts beside them)")
