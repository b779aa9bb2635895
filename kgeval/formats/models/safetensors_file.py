"""The format of a ``.safetensors`` file whose tensors have the names of kgeval; such a file cannot contain code.

Layout. The tensors have the names of the parameters in `kgeval.models` (``entities``, ``relations``, ``subjects``,
...). The metadata of the file (a dict of texts) may have the settings: ``model``, ``norm``, ``layout``, ``normalise``,
``phase_unit``, ``inverse_relations``, ``batch_norm_eps``; and ``entity_labels`` and ``relation_labels``, JSON lists of
the labels of the rows. Without labels, the rows follow the id files in the folder, or ``ids=``.
A folder with one such file is read too; its ``config.json`` may have the same settings.

Traps. A missing setting is never assumed: an error asks the user for it. Other metadata, such as ``format`` or a date,
do not change the scores; a note lists them, so that the user sees a misspelt setting. numpy has no bfloat16: such
tensors become float32, which has the same numbers. A large file is memory-mapped, and its tables are not copied. State
dicts of other tools in such files are read by the formats of these tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import cut_label
from kgeval.base.files import check_source, parse_json, text_array
from kgeval.errors import DataError, MissingExtra
from kgeval.formats.checkpoints.containers import read_tensors, tensor_names
from kgeval.formats.checkpoints.model_file import ModelFile
from kgeval.formats.checkpoints.plain_files import (
    LABEL_ARRAYS,
    NUMBER_SETTINGS,
    TEXT_SETTINGS,
    add_id_files,
    read_settings,
    setting_value,
    unused_settings,
)
from kgeval.formats.registry import Format

ENDING, CONFIG = ".safetensors", "config.json"
RELATIONS = "relations"  # every model has this table
SETTINGS = tuple(name for name in (*TEXT_SETTINGS, *NUMBER_SETTINGS) if name != "dtype")  # every tensor has a dtype


def sniff(path: Path) -> bool:
    """Return whether a ``.safetensors`` file, or the only such file of a folder, has a tensor named ``relations``."""
    try:
        files = _files(path)
    except OSError:
        return False
    return len(files) == 1 and RELATIONS in tensor_names(files[0])


def _files(path: Path) -> list[Path]:
    """Return the ``.safetensors`` files at a path: the file itself, or all such files of a folder."""
    if path.is_dir():
        return sorted(path.glob(f"[!.]*{ENDING}"))
    return [path] if path.suffix == ENDING else []


def read(path: Path, said: Mapping[str, Any]) -> ModelFile:
    """Read the file; see `kgeval.load_model`."""
    files = _files(path)
    if path.is_dir() and len(files) != 1:
        raise DataError(f"{path}: expected one {ENDING} file in the folder, found {len(files)}; name the file")
    file = files[0] if path.is_dir() else path
    check_source(file)
    arrays = read_tensors(file, streams=True)
    metadata = _metadata(file)
    for name in LABEL_ARRAYS:
        if name in metadata and name not in arrays:
            arrays[name] = _labels(file, name, metadata[name])
    for name in SETTINGS:
        if name in metadata and name not in arrays:
            arrays[name] = np.array(setting_value(file, name, metadata[name]))
    notes = unused_settings(file.name, metadata)
    settings: dict[str, Any] = {}
    config = file.parent / CONFIG
    if path.is_dir() and config.is_file():
        settings, unused = read_settings(config)
        settings.pop("dtype", None)
        notes += unused
    label_source = add_id_files(file.parent, arrays)
    return ModelFile(file, arrays, settings, notes=notes, label_source=label_source)


def _metadata(file: Path) -> dict[str, str]:
    """Return the metadata of a ``.safetensors`` file as a dict of texts."""
    try:
        from safetensors import safe_open
    except ImportError as error:
        raise MissingExtra(
            f'{file}: reading .safetensors needs safetensors; pip install "kgeval[safetensors]"'
        ) from error
    with safe_open(str(file), framework="numpy") as opened:
        return dict(opened.metadata() or {})


def _labels(file: Path, name: str, text: str) -> Any:
    """Return the labels in `text`, a JSON list from the metadata entry `name`, as a str array."""
    labels = parse_json(text, f"{file}: metadata {name!r}", "; expected a JSON list of labels")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise DataError(f"{file}: metadata {name!r}: expected a JSON list of labels; found {cut_label(text)}")
    return text_array(labels)


FORMAT = Format("safetensors", sniff, read, "a .safetensors file of tensors under kgeval's names")
