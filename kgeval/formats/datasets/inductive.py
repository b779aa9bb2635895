"""Inductive benchmarks: the test graph has entities, and sometimes relations, that do not occur in training.

Layout. All files hold tab-separated triples of labels. The graph that is evaluated consists of the inference graph,
whose triples are known at test time, and of the triples to predict. Here the inference graph is the split train, so
`Protocol.unseen` is about entities and relations that do not occur in the inference graph.

==================  ====================================  ======================================================
benchmark           training graph (not read)             inference graph, valid, test
==================  ====================================  ======================================================
ILPC                ``train.txt``                         ``inference.txt``, ``inference_validation.txt``,
                                                          ``inference_test.txt``
InGram              ``train.txt``                         ``msg.txt``, ``valid.txt``, ``test.txt``
ULTRA's copies      ``transductive_train.txt``            ``inference_graph.txt``, ``inf_valid.txt``,
                                                          ``inf_test.txt``
MTDEA               ``train.txt``, ``valid.txt`` of       ``observe.txt``, no valid, ``test.txt`` of the folder
                    the folder ``NAME-trans``             ``NAME-ind``
INDIGO              ``train/train.txt``,                  ``test/test-graph.txt``, no valid,
                    ``train/valid.txt``                   ``test/test-fact.txt``
GraIL, one folder   ``train.txt``, ``valid.txt``,         ``train_ind.txt``, ``valid_ind.txt``, ``test_ind.txt``
                    ``test.txt``
GraIL, two folders  the folder ``NAME``                   ``train.txt``, ``valid.txt``, ``test.txt`` of the
                                                          folder ``NAME_ind``
==================  ====================================  ======================================================

GraIL and BERTRL also write ``ranking_head.txt`` and ``ranking_tail.txt`` into these folders: a list of 49 negatives for
each test triple.

Traps. If a tool reads the training graph as the split train, entities of the training graph become candidates, and the
facts of the inference graph are not filtered. Tools differ in the triples that they filter. For ILPC and InGram, ULTRA
filters the inference graph, valid and test. For GraIL's folders, ULTRA filters the inference graph and test, and ranks
valid and test together. For MTDEA and INDIGO, whose valid belongs to the training graph, it filters the inference
graph and test. GraIL draws negatives that are no triples of the inference graph, but that may be triples of
valid or test. In ULTRA's copies of some benchmarks, the valid split belongs to the training graph. Each list of
negatives belongs to one positive, not to a query.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kgeval.base.checks import listed
from kgeval.data.dataset import Dataset
from kgeval.data.triples import SPLITS
from kgeval.errors import DataError
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.datasets import tab_folder
from kgeval.formats.folders import AS_TABLES, check_folder, given_splits, ignored_names, names_in
from kgeval.formats.registry import Format

SUFFIX = "_ind"  # GraIL's folder of the inference graph has the name of the training graph with this suffix
RANKING_FILES = ("ranking_head.txt", "ranking_tail.txt")
ALL_SPLITS = "the filter removes the triples of all three splits, as ULTRA does for these benchmarks"
TWO_SPLITS = (
    "the filter removes the triples of all three splits; ULTRA filters only by the inference graph and test "
    "(filter=('train', 'test'), --filter train,test) and ranks valid and test together: --as ultra, or "
)
NO_VALID = (
    "there is no split valid: that of the benchmark belongs to the training graph; the filter removes the triples of "
    "the inference graph and test, as ULTRA does for these benchmarks"
)


@dataclass(frozen=True)
class _Layout:
    """The files of a benchmark (inference graph, valid, test, training graph), and a note about the filter of ULTRA.

    The name of valid is empty if the benchmark has no valid split in the inference graph.
    """

    files: tuple[str, str, str]
    training: tuple[str, ...]
    filter_note: str


LAYOUTS = (
    _Layout(("inference.txt", "inference_validation.txt", "inference_test.txt"), ("train.txt",), ALL_SPLITS),
    _Layout(("msg.txt", "valid.txt", "test.txt"), ("train.txt",), ALL_SPLITS),
    _Layout(
        ("inference_graph.txt", "inf_valid.txt", "inf_test.txt"),
        ("transductive_train.txt", "transductive_valid.txt"),
        ALL_SPLITS,
    ),
    _Layout(("observe.txt", "", "test.txt"), ("train.txt", "valid.txt"), NO_VALID),
    _Layout(("test/test-graph.txt", "", "test/test-fact.txt"), ("train",), NO_VALID),
    _Layout(
        ("train_ind.txt", "valid_ind.txt", "test_ind.txt"),
        ("train.txt", "valid.txt", "test.txt"),
        f"{TWO_SPLITS}splits={{'test': ['valid_ind.txt', 'test_ind.txt']}}, "
        "--split-files test=valid_ind.txt+test_ind.txt",
    ),
)
GRAIL_NOTE = f"{TWO_SPLITS}splits={{'test': ['valid.txt', 'test.txt']}}, --split-files test=valid.txt+test.txt"


def merges_valid(notes: Collection[str]) -> bool:
    """Return whether ULTRA ranks valid and test together, as one test split, on the dataset with these notes.

    Parameters
    ----------
    notes : collection of str
        ``Dataset.notes``, or what a result says of its dataset.
    """
    return any(note.startswith(TWO_SPLITS) for note in notes)


def sniff(path: Path) -> bool:
    """Return whether a folder has one of the layouts, is one of GraIL's two folders, or holds lists of negatives."""
    if _layout_of(path) is not None:
        return True
    if not names_in(path):
        return False
    is_named = path.resolve().name.endswith(SUFFIX) or _sibling(path) is not None
    return (is_named or not names_in(path).isdisjoint(RANKING_FILES)) and tab_folder.FORMAT.sniff(path)


def _layout_of(folder: Path) -> _Layout | None:
    """Return the layout of a folder that holds an inference graph and test; None if the folder has no known layout."""
    names = names_in(folder) | {f"test/{name}" for name in names_in(folder / "test")}
    return next((layout for layout in LAYOUTS if {layout.files[0], layout.files[2]} <= names), None)


def _sibling(folder: Path) -> Path | None:
    """Return the other folder of GraIL's pair ``NAME`` and ``NAME_ind``; None if no such folder holds triples."""
    if not names_in(folder):
        return None
    name = folder.resolve().name
    if name in ("", SUFFIX):
        return None
    other = folder.resolve().with_name(name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else name + SUFFIX)
    return other if tab_folder.FORMAT.sniff(other) else None


def read(folder: Path, options: DatasetOptions) -> Dataset:
    """Read the folder; see `kgeval.read_dataset`."""
    check_folder(folder, ())
    layout = _layout_of(folder)
    if layout is None:
        notes = _notes_of_two_folders(folder)
        if not notes and names_in(folder).isdisjoint(RANKING_FILES):
            expected = "; ".join(listed(layout.files) for layout in LAYOUTS)
            raise DataError(f"{folder}: expected the files of an inductive benchmark: {expected}")
        dataset: Dataset = tab_folder.FORMAT.read(folder, options)
        return dataset.with_notes([*notes, *_ranking_notes(folder)])
    options, roles = _with_layout(folder, layout, options)
    dataset = tab_folder.FORMAT.read(folder, options)
    _check_same_graph(folder, dataset, roles)
    training = [name for name in layout.training if name in options.ignore]
    notes = [
        "; ".join(
            f"{name} is read as {'train (the inference graph, known at test time)' if split == 'train' else split}"
            for split, name in roles.items()
        )
    ]
    if training:
        notes.append(f"not read: {listed(training)} (the training graph, whose entities are no candidates)")
    return dataset.with_notes([*notes, layout.filter_note, *_ranking_notes(folder)])


def _with_layout(folder: Path, layout: _Layout, options: DatasetOptions) -> tuple[DatasetOptions, dict[str, str]]:
    """Return the options with the files of a layout added, and a dict from splits to the names of these files.

    Files that the user names take precedence over those of the layout.
    """
    ignored, given = ignored_names(options), given_splits(options)
    named = {str(file) for files in given.values() for file in (files if isinstance(files, (list, tuple)) else [files])}
    roles = {
        split: name
        for split, name in zip(SPLITS, layout.files)
        if name and (folder / name).exists() and name not in {*ignored, *named} and split not in given
    }
    left_out = [name for name in layout.training if name in names_in(folder) - set(ignored) - named]
    return replace(options, splits={**roles, **given}, ignore=[*ignored, *left_out]), roles


def _check_same_graph(folder: Path, dataset: Dataset, roles: Mapping[str, str]) -> None:
    """Raise a DataError if most entities of valid or test do not occur in the inference graph."""
    if "train" not in dataset:
        return
    for split in ("valid", "test"):
        if split not in dataset:
            continue
        entities = np.unique(dataset[split].array[:, [0, 2]])
        n_known = int(dataset.is_seen_entity[entities].sum())
        if 2 * n_known < len(entities):
            name = roles.get(split, split)
            raise DataError(
                f"{folder}: {name} has {len(entities):,} entities, of which the inference graph contains only "
                f"{n_known:,}; it seems to belong to the training graph. Leave it out (ignore=[{name!r}], "
                f"--ignore-files {name}), or read the training graph with {AS_TABLES}"
            )


def _notes_of_two_folders(folder: Path) -> list[str]:
    """Return the notes on one of GraIL's two folders; no notes if `folder` is neither of the two."""
    sibling = _sibling(folder)
    if folder.resolve().name.endswith(SUFFIX):
        graph = "train.txt is the inference graph (known at test time) of an inductive benchmark"
        if sibling is None:
            return [f"by the name of the folder, {graph}", GRAIL_NOTE]
        return [f"{graph}; not read: the training graph in the folder {sibling.name} beside it", GRAIL_NOTE]
    if sibling is None:
        return []
    return [
        f"this is the training graph of an inductive benchmark, and its test split has the same entities; the test "
        f"with new entities is in the folder {sibling.name} beside it"
    ]


def _ranking_notes(folder: Path) -> list[str]:
    """Return a note about the lists of negatives in a folder; no note if there are no such lists."""
    names = [name for name in RANKING_FILES if name in names_in(folder)]
    if not names:
        return []
    return [
        f"not read: {listed(names)} (a list of negatives for each test triple; kgeval.read_candidates(files, dataset), "
        "--candidates FILE FILE ranks among them)"
    ]


FORMAT = Format("inductive", sniff, read, "the folder of an inductive benchmark")
