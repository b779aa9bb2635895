"""RotatE's folders: triples of labels, with the dictionaries ``entities.dict`` and ``relations.dict`` beside them.

Layout. ``train.txt``, ``valid.txt`` and ``test.txt`` as in `kgeval.formats.datasets.tab_folder`; the dictionaries hold
``id TAB label``. Such folders are read by the code of RotatE's paper (KnowledgeGraphEmbedding), by RNNLogic and by many
other tools; the built-in datasets of DGL-KE have this form.

Traps. The rows of a checkpoint are in the order of the dictionaries, not in the order of the sorted labels;
`Dataset.dictionaries` keeps this order. RotatE's code ranks all entities of the dictionary, also those that occur in no
triple. A folder that holds the dictionaries and ``entity_embedding.npy``, but no triples, is a model.
"""

from __future__ import annotations

from pathlib import Path

from kgeval.data.dataset import Dataset
from kgeval.formats.checkpoints.id_files import read_ids
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.datasets import tab_folder
from kgeval.formats.folders import check_folder, names_in
from kgeval.formats.id_triples import with_dictionaries
from kgeval.formats.registry import Format

DICTIONARIES = ("entities.dict", "relations.dict")


def sniff(path: Path) -> bool:
    """Return whether a folder contains both dictionaries and a file of a split."""
    return set(DICTIONARIES) <= names_in(path) and tab_folder.FORMAT.sniff(path)


def read(folder: Path, options: DatasetOptions) -> Dataset:
    """Read the folder; see `kgeval.read_dataset`."""
    check_folder(folder, DICTIONARIES)
    dataset: Dataset = tab_folder.FORMAT.read(folder, options)
    entities, relations = (read_ids(folder / name) for name in DICTIONARIES)
    return with_dictionaries(dataset, entities, relations, folder, DICTIONARIES)


FORMAT = Format("rotate", sniff, read, "RotatE (triples of labels, with dictionaries of ids)")
