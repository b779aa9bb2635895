"""The format of a folder of ``.npy`` tables whose names are those of kgeval; large tables are memory-mapped.

Layout. ``entities.npy`` (or ``subjects.npy`` and ``objects.npy``), ``relations.npy`` and the other arrays of the model;
each file has the name of a parameter in `kgeval.models`, as in an ``.npz`` file; also ``entity_labels.npy`` and
``relation_labels.npy``, arrays of texts. ``config.json`` has the settings: ``model``, ``norm``, ``layout``,
``normalise``, ``phase_unit``, ``inverse_relations``, ``batch_norm_eps``, ``dtype``. Without labels, the rows follow the
id files in the folder; if there are none, the rows are in id order, and a note says so.

Traps. numpy has no bfloat16: integers of 16 bits are refused unless ``dtype`` is ``"bfloat16"``, in the configuration
or in the call. Other names in the configuration do not change the scores; a note lists them, so that the user sees a
misspelt setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgeval.base.files import Arrays
from kgeval.errors import DataError
from kgeval.formats.checkpoints.model_file import ModelFile
from kgeval.formats.checkpoints.plain_files import add_id_files, read_npy, read_settings
from kgeval.formats.registry import Format

ENDING, CONFIG = ".npy", "config.json"
RELATIONS, ENTITIES = "relations.npy", ("entities.npy", "subjects.npy")  # the tables by which a folder is recognised


def sniff(path: Path) -> bool:
    """Return whether a folder has tables of entities and relations under kgeval's names, or a file is one of them."""
    try:
        if path.name in (RELATIONS, *ENTITIES) and path.is_file():
            return True
        return (path / RELATIONS).is_file() and any((path / name).is_file() for name in ENTITIES)
    except OSError:
        return False


def read(path: Path, said: Mapping[str, Any]) -> ModelFile:
    """Read the folder; see `kgeval.load_model`."""
    if not path.is_dir():
        raise DataError(f"{path}: expected a folder with {ENTITIES[0]} and {RELATIONS}; give the folder, {path.parent}")
    arrays: Arrays = {file.stem: read_npy(file) for file in sorted(path.glob(f"[!.]*{ENDING}"))}
    config = path / CONFIG
    settings, notes = read_settings(config) if config.is_file() else ({}, ())
    label_source = add_id_files(path, arrays)
    return ModelFile(path, arrays, settings, notes=notes, label_source=label_source, row_order="in id order")


FORMAT = Format("npy", sniff, read, "a folder of .npy tables under kgeval's names")
