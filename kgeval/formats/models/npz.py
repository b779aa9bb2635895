"""The format of embedding models in ``.npz`` files; `load_model` reads them with this module.

The arrays have the names of the parameters in `kgeval.models`. Traps: an archive of pickled objects is refused; the
tensors of PyKEEN, saved as ``.npz``, have PyKEEN's names, and the ``config.json`` beside them gives their settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgeval.base.files import Arrays, read_arrays
from kgeval.errors import DataError
from kgeval.formats.checkpoints.model_file import ModelFile
from kgeval.formats.checkpoints.pykeen_config import pykeen_settings
from kgeval.formats.checkpoints.pykeen_tensors import (
    PYKEEN_ANCHORS,
    PYKEEN_BATCH_NORMS,
    PYKEEN_MODELS,
    pykeen_tables,
    said_model,
)
from kgeval.formats.registry import Format

# Short names of the tensors of PyKEEN; for PyKEEN's full names, see `kgeval.formats.checkpoints.pykeen_tensors`.
ALIASES = {"entity": "entities", "relation": "relations", "core_tensor": "core", "interaction.core_tensor": "core"}


def sniff(path: Path) -> bool:
    """Return whether `path` is an ``.npz`` file, or a folder that contains one."""
    return path.suffix == ".npz" or (path.is_dir() and any(path.glob("[!.]*.npz")))


def read(path: Path, said: Mapping[str, Any]) -> ModelFile:
    """Read the file; see `kgeval.load_model`."""
    file = _npz_file(path)
    settings, notes = pykeen_settings(file.parent / "config.json")
    content = read_arrays(file)
    named = content.get("model", settings.get("model", ""))
    if any(anchor in content for anchor in PYKEEN_ANCHORS):
        content = _of_pykeen(file, content, said_model(said, str(named), content))
        settings = {name: value for name, value in settings.items() if name not in ("layout", "form")}
    elif "form" in settings and "form" not in content:
        raise DataError(
            f"{file}: PyKEEN's {settings['model']} has two formulas, and kgeval recognises the right one by PyKEEN's "
            "names of the tensors. Save the arrays under the names of model.state_dict(), or load the file that "
            "PyKEEN wrote itself"
        )
    return ModelFile(file, _with_full_names(file, content), settings, notes, row_order="in id order")


def _of_pykeen(file: Path, content: Arrays, model: str) -> Arrays:
    """Return the arrays of a file with the names of kgeval instead of PyKEEN's own names."""
    if model not in PYKEEN_MODELS:
        raise DataError(
            f"{file}: its tensors have the names of PyKEEN; set model= (--model-type) to one of "
            f"{', '.join(PYKEEN_MODELS)}; transe needs norm= (--norm) too"
        )
    tensors = {name: array for name, array in content.items() if "." in name}
    others = {name: array for name, array in content.items() if "." not in name}
    arrays = pykeen_tables(file, model, tensors)
    twice = next((name for name in others if ALIASES.get(name, name) in arrays), None)
    if twice is not None:
        raise DataError(f"{file}: has {twice!r}, but the tensors of PyKEEN contain the same table; keep one of them")
    return arrays | others


def _with_full_names(file: Path, content: Arrays) -> Arrays:
    """Return the arrays of a file; each short name is replaced by the full name in `kgeval.models`."""
    arrays: Arrays = {}
    for name, array in content.items():
        plain = ALIASES.get(name, name)
        for prefix, bn in PYKEEN_BATCH_NORMS.items():
            plain = bn + name.removeprefix(prefix) if name.startswith(prefix) else plain
        if plain in arrays:
            raise DataError(f"{file}: {name!r} is another name of {plain!r}, which the file contains too; keep one")
        arrays[plain] = array
    return arrays


def _npz_file(path: Path) -> Path:
    """Return the only ``.npz`` file of a folder; any other path is returned unchanged."""
    if not path.is_dir():
        return path
    files = sorted(path.glob("[!.]*.npz"))
    if len(files) != 1:
        raise DataError(f"{path}: expected one .npz file in the folder, found {len(files)}; name the file")
    return files[0]


FORMAT = Format("npz", sniff, read, "an .npz file of arrays")
