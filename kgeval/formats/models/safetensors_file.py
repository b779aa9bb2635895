"""A ``.safetensors`` file with tensors under the names of kgeval; no code can be in such a file.

Layout. The tensors have the names of the parameters in `kgeval.models` (``entities``, ``relations``, ``subjects``,
...). The metadata of the file, texts by name, may have the settings: ``model``, ``norm``, ``layout``, ``normalise``,
``phase_unit``, ``inverse_relations``, ``batch_norm_eps``; and ``entity_labels`` and ``relation_labels``, JSON lists of
the labels of the rows. Without labels, the rows follow the id files in the folder, or ``ids=``.
A folder with one such file is read too; its ``config.json`` may have the same settings.

Traps. Settings that are missing are asked for, never assumed. Further metadata, such as ``format`` or a date, changes
no score; a note names them, so that a misspelt setting is seen. numpy has no bfloat16: such tensors become float32,
which has the same numbers. State dicts of other tools in such files are read by the formats of these tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.checks import cut_label
from kgeval.errors import DataError, MissingExtra
from kgeval.files import Arrays, check_source
from kgeval.formats.checkpoints import (
    Parts,
    find_id_files,
    label_arrays,
    parse_json,
    read_config,
    read_tensors,
    tensor_names,
)
from kgeval.formats.registry import Format

ENDING, CONFIG = ".safetensors", "config.json"
RELATIONS = "relations"  # every model has this table
LABELS = ("entity_labels", "relation_labels")
TEXTS, NUMBERS = ("model", "layout", "normalise", "inverse_relations"), ("norm", "phase_unit", "batch_norm_eps")
USUAL = ("format",)  # metadata that libraries write into every file


def _sniff(path: Path) -> bool:
    """Return whether a file, or the only such file of a folder, has a table of relations under kgeval's name."""
    try:
        files = _files(path)
    except OSError:
        return False
    return len(files) == 1 and RELATIONS in tensor_names(files[0])


def _files(path: Path) -> list[Path]:
    """Return the ``.safetensors`` files at a path: the file itself, or those of a folder."""
    if path.is_dir():
        return sorted(path.glob(f"*{ENDING}"))
    return [path] if path.suffix == ENDING else []


def _read(path: Path, said: Mapping[str, Any]) -> Parts:
    """Read the file; see `kgeval.load_model`."""
    files = _files(path)
    if path.is_dir() and len(files) != 1:
        raise DataError(f"{path}: expected one {ENDING} file in the folder, found {len(files)}; name the file")
    file = files[0] if path.is_dir() else path
    check_source(file)
    arrays = read_tensors(file)
    metadata = _metadata(file)
    for name in LABELS:
        if name in metadata and name not in arrays:
            arrays[name] = _labels(file, name, metadata[name])
    for name in (*TEXTS, *NUMBERS):
        if name in metadata and name not in arrays:
            arrays[name] = np.array(_value(file, name, metadata[name]))
    notes = _unused(file.name, metadata)
    settings: dict[str, Any] = {}
    config = file.parent / CONFIG
    if path.is_dir() and config.is_file():
        content = read_config(config)
        settings = {
            name: _value(config, name, content[name]) for name in (*TEXTS, *NUMBERS) if content.get(name) is not None
        }
        notes += _unused(CONFIG, content)
    label_source = _add_id_files(file, arrays)
    return Parts(file, arrays, settings, notes=notes, label_source=label_source)


def _metadata(file: Path) -> dict[str, str]:
    """Return the metadata of a file that the safetensors library has checked."""
    try:
        from safetensors import safe_open
    except ImportError as error:
        raise MissingExtra(
            f'{file}: reading .safetensors needs safetensors; pip install "kgeval[safetensors]"'
        ) from error
    with safe_open(str(file), framework="numpy") as opened:
        return dict(opened.metadata() or {})


def _labels(file: Path, name: str, text: str) -> Any:
    """Return the labels that a text of metadata lists, as a str array."""
    labels = parse_json(text, f"{file}: metadata {name!r}", "; expected a JSON list of labels")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise DataError(f"{file}: metadata {name!r}: expected a JSON list of labels; found {cut_label(text)}")
    return np.array(labels, dtype=np.str_)


def _value(file: Path, name: str, value: Any) -> Any:
    """Return a setting of the metadata or of the configuration: a number or a text."""
    if name in TEXTS and isinstance(value, str):
        return value.lower() if name == "model" else value
    try:
        number = float(value) if isinstance(value, str) or type(value) in (int, float) else None
    except ValueError:
        number = None
    if name in TEXTS or number is None:
        expected = "a text" if name in TEXTS else "a number"
        raise DataError(f"{file}: expected {expected} as {name}; found {cut_label(repr(value))}")
    return int(number) if number.is_integer() else number


def _unused(name: str, content: Iterable[str]) -> tuple[str, ...]:
    """Return a note about further names in the metadata or in the configuration, if there are any."""
    names = [word for word in content if word not in (*TEXTS, *NUMBERS, *LABELS, *USUAL)]
    return (f"not used from {name}: {cut_label(', '.join(names))}",) if names else ()


def _add_id_files(file: Path, arrays: Arrays) -> str:
    """Add the labels that the file lacks from the id files in its folder; return the names of these files."""
    pair = find_id_files(file.parent) if not all(name in arrays for name in LABELS) else None
    id_files = (id_file if name not in arrays else None for id_file, name in zip(pair or (), LABELS))
    labels, label_source = label_arrays(*id_files)
    arrays |= labels
    return label_source


FORMAT = Format("safetensors", _sniff, _read, "a .safetensors file of tensors under kgeval's names")
