"""Quadruples of subject, relation, object and time: the folders of RE-Net, TLogic and datasets of events (ICEWS).

Three layouts, each with ``train.txt``, ``valid.txt`` and ``test.txt``:

- ``stat.txt`` holds the number of entities, the number of relations and perhaps the number of times; the lines are ids
  ``s p o t``, often with a fifth column that is the same everywhere (RE-Net, CyGNet, RE-GCN and others).
- ``entity2id.json``, ``relation2id.json`` and ``ts2id.json``; the lines are labels ``s p o t`` (TLogic).
- Labels ``s p o t`` with tabs, where t is a date (2014-05-13).

Traps. Without its time, a quadruple may repeat a triple, and a test triple may then occur in train. Papers differ in
whether the filter uses the time. Entities that occur in no quadruple are candidates too, because the published code
ranks all entities that ``stat.txt`` counts.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from kgeval.base.checks import Ids, cut_label
from kgeval.base.files import read_text
from kgeval.data.dataset import Dataset
from kgeval.data.triples import TripleSet
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError
from kgeval.formats.checkpoints.id_files import read_ids
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.datasets import tab_folder
from kgeval.formats.folders import check_folder, first_lines, names_in
from kgeval.formats.id_triples import unused_notes, with_dictionaries
from kgeval.formats.registry import Format
from kgeval.formats.split_files import STEMS

COUNTS = "stat.txt"
DICTIONARIES = ("entity2id.json", "relation2id.json")
TIMES = "ts2id.json"
FIFTH = "fifth"  # the name of the fifth column until it is left out
_DATED = re.compile(r"[^\t]+\t[^\t]+\t[^\t]+\t-?[0-9]{4,6}-[0-9]{2}-[0-9]{2}(T? ?[0-9:.]*)?")
_NUMBERED = re.compile(r"[0-9]+([ \t]+-?[0-9]+){3,4}[ \t]*")
_COUNTS = re.compile(r"\s*[0-9]+\s+[0-9]+(\s+[0-9]+)?\s*")


def _split_lines(path: Path) -> list[list[str]]:
    """Return the first lines of each file of a split."""
    names = names_in(path)
    files = [path / f"{stem}.txt" for stems in STEMS.values() for stem in stems if f"{stem}.txt" in names]
    return [[line for line in first_lines(file) if line] for file in files]


def sniff(path: Path) -> bool:
    """Return whether a folder has one of the three layouts."""
    names, lines = names_in(path), _split_lines(path)
    if not lines or not all(lines):
        return False
    if {*DICTIONARIES, TIMES} <= names:
        return True
    if COUNTS in names:
        return all(_NUMBERED.fullmatch(line) for part in lines for line in part)
    return all(_DATED.fullmatch(line) for part in lines for line in part)


def read(folder: Path, options: DatasetOptions) -> Dataset:
    """Read the folder; see `kgeval.read_dataset`."""
    check_folder(folder, ())
    names = names_in(folder)
    first = next((part[0] for part in _split_lines(folder) if part), "")
    if options.columns is None:
        n = len(first.split("\t" if "\t" in first else None))
        options = replace(options, columns=",".join(["s", "p", "o", "time", FIFTH][: max(n, 4)]))
    if options.sep is None and "\t" not in first:
        options = replace(options, sep="whitespace")
    dataset = tab_folder.FORMAT.read(folder, options)
    _leave_fifth_out(folder, dataset)
    if {*DICTIONARIES, TIMES} <= names:
        entities, relations = (read_ids(folder / name) for name in DICTIONARIES)
        return with_dictionaries(dataset, entities, relations, folder, DICTIONARIES)
    return _with_numbers(folder, dataset) if COUNTS in names else dataset


def _leave_fifth_out(folder: Path, dataset: Dataset) -> None:
    """Leave the fifth column out of the columns of a dataset; raise a DataError if it holds several values."""
    values = {str(value) for frame in dataset.columns.values() if FIFTH in frame for value in frame[FIFTH].unique()}
    if len(values) > 1:
        raise DataError(
            f"{folder}: the fifth column holds {len(values):,} values, such as {', '.join(sorted(values)[:2])}; it may "
            "be the end of a time. Name all columns: columns='s,p,o,time,end' (--columns s,p,o,time,end), or - for a "
            "column to leave out"
        )
    if values:
        dataset.columns = {split: frame.drop(columns=FIFTH) for split, frame in dataset.columns.items()}
        left_out = f"the fifth column holds only {values.pop()} and is left out"
        dataset.notes = (*(note for note in dataset.notes if FIFTH not in note.split()), left_out)


def _with_numbers(folder: Path, dataset: Dataset) -> Dataset:
    """Return the dataset with the ids of its files: all entities and relations that ``stat.txt`` counts."""
    text = read_text(folder / COUNTS)
    if not _COUNTS.fullmatch(text):
        raise DataError(
            f"{folder / COUNTS}: expected the number of entities, the number of relations and perhaps the number of "
            f"times; found {cut_label(repr(text.strip()))}. Write these numbers into it: all entities that it counts "
            "are candidates"
        )
    counts = [int(word) for word in text.split()]
    entities, relations = Vocabulary.of_ids(counts[0]), Vocabulary.of_ids(counts[1])
    of_entity = _numbers(folder, dataset, "entity", counts[0])
    of_relation = _numbers(folder, dataset, "relation", counts[1])
    splits = {
        split: TripleSet(
            np.column_stack([of_entity[part.s], of_relation[part.p], of_entity[part.o]]), counts[0], counts[1], split
        )
        for split, part in dataset.splits.items()
    }
    found = Dataset(entities, relations, splits, dataset.name, dataset.notes, dataset.columns)
    return found.with_notes(unused_notes(found, f"of {COUNTS} "))


def _numbers(folder: Path, dataset: Dataset, kind: str, n: int) -> Ids:
    """Return the number in the files for each label of `dataset`; raise a DataError if it is not in 0 .. n - 1."""
    labels = list((dataset.entities if kind == "entity" else dataset.relations).labels)
    for i, label in enumerate(labels):
        if not (label.isascii() and label.isdecimal() and int(label) < n and str(int(label)) == label):
            parts = [1] if kind == "relation" else [0, 2]
            split, row = next(
                (split, int(np.argmax((part.array[:, parts] == i).any(axis=1))))
                for split, part in dataset.splits.items()
                if (part.array[:, parts] == i).any()
            )
            plural = "entities" if kind == "entity" else "relations"
            raise DataError(
                f"{folder}, quadruple {row + 1} of {split}: the {kind} {cut_label(repr(label))} is not in "
                f"0 .. {n - 1}, the ids of the {n:,} {plural} that {COUNTS} counts; correct the line, or the "
                f"number in {COUNTS}"
            )
    return np.array([int(label) for label in labels], dtype=np.int64)


FORMAT = Format("quadruples", sniff, read, "quadruples s p o time (RE-Net, TLogic, ICEWS)")
