"""The format of OpenKE (PyTorch): state dicts in ``.ckpt`` files, and JSON files of nested lists (`save_parameters`).

Tensors: ``ent_embeddings.weight`` and ``rel_embeddings.weight`` (TransE, DistMult, HolE, RotatE);
``rel_matrices.weight`` for RESCAL; ``ent_re_embeddings``, ``ent_im_embeddings``, ``rel_re_embeddings`` and
``rel_im_embeddings`` for ComplEx; ``rel_inv_embeddings.weight`` for SimplE. ``zero_const``, ``pi_const``, ``margin``
and ``embedding_range`` are constants, which do not change the order of scores. The JSON file has the same names. Traps:

- TransE, DistMult and HolE have tensors of the same names: ``model=`` must be given, unless ``margin`` or
  ``embedding_range`` tells them apart.
- TransE: neither `p_norm` (1 by default) nor `norm_flag` (True by default) is in the file. With `norm_flag` the vectors
  of entities and relations are divided by their L2 norms when the model scores. ``norm=`` and ``normalise=`` must be
  given.
- ``predict()`` returns numbers for which lower is better. The scores here have the opposite sign.
- RotatE: a relation is a phase in the unit pi / ``rel_embedding_range``; this range is in the file.
- SimplE in OpenKE is not the published model: its ``predict()`` is DistMult with ``rel_embeddings``.
- RESCAL: ``predict()`` returns s' W o and ranks lower values first, so for a model trained with MarginLoss the true
  answers come last. Analogy is the sum of DistMult and ComplEx with the opposite sign; it is read as ComplEx, with the
  scalars as real parts.
- The ids are those of ``entity2id.txt`` and ``relation2id.txt`` of the dataset.
- The TensorFlow versions of OpenKE write the same names without ``.weight``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import cut_label
from kgeval.base.files import Arrays, each_name_once, parse_json, read_text
from kgeval.errors import DataError
from kgeval.formats.checkpoints.containers import read_tensors, root_attributes, root_class
from kgeval.formats.checkpoints.model_file import ModelFile
from kgeval.formats.checkpoints.state_dicts import (
    add_labels,
    as_matrices,
    checkpoint_file,
    chosen_model,
    complex_with_scalars,
    is_checkpoint,
    model_tensors,
    not_a_model,
    refuse,
    renamed,
    settings_as_arrays,
)
from kgeval.formats.registry import Format

W = ".weight"
ENTITIES, RELATIONS, MATRICES = f"ent_embeddings{W}", f"rel_embeddings{W}", f"rel_matrices{W}"
INVERSES = f"rel_inv_embeddings{W}"
REAL, IMAGINARY = "{}_re_embeddings.weight", "{}_im_embeddings.weight"
ANCHORS = (ENTITIES, REAL.format("ent"))
PHASE_RANGE = "rel_embedding_range"
CONSTANTS = ("zero_const", "pi_const", "margin", "embedding_range", "ent_embedding_range", PHASE_RANGE)
REFUSED = {f"norm_vector{W}": "TransH", f"transfer_matrix{W}": "TransR", f"ent_transfer{W}": "TransD"}
CLASSES = ("TransE", "DistMult", "HolE", "RotatE", "RESCAL", "ComplEx", "SimplE", "Analogy")
JSON_START = re.compile(rb'\s*\{\s*"(zero_const|pi_const|ent(_re)?_embeddings(\.weight)?)"\s*:\s*\[')
LEGACY_START = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # a torch file of the format before torch 1.6
SIGN_NOTES = {
    "RESCAL": "the score of OpenKE's RESCAL was read as s' W o, which its examples (MarginLoss) train to be high for "
    "true triples; OpenKE's predict() and test rank by the opposite. A model trained with SoftplusLoss or SigmoidLoss "
    "needs the opposite sign",
    "Analogy": "the score of OpenKE's Analogy was read with the sign of its predict(), as its examples (SoftplusLoss) "
    "train it. A model trained with MarginLoss needs the opposite sign",
    "SimplE": "OpenKE's SimplE was read as OpenKE tests it: its predict() is DistMult with rel_embeddings; "
    "rel_inv_embeddings is not used",
}


def sniff(path: Path) -> bool:
    """Return whether a file, or a file of a folder, contains the parameters of a model of OpenKE."""
    if path.is_dir():
        return is_checkpoint(path, ANCHORS) or bool(_json_files(path))
    return is_checkpoint(path, ANCHORS) or _is_json(path) or _is_legacy(path)


def read(path: Path, said: Mapping[str, Any]) -> ModelFile:
    """Read the file; see `kgeval.load_model`."""
    file = _file(path)
    if file.suffix == ".json":
        tensors = model_tensors(file, _read_json(file), ANCHORS)
    else:
        tensors = model_tensors(file, read_tensors(file), ANCHORS)
    refuse(file, "OpenKE", tensors, REFUSED)
    kind = _kind(file, tensors, said)
    constants = {name: tensors.pop(name) for name in CONSTANTS if name in tensors}
    arrays, settings = _arrays(file, kind, tensors, constants)
    if kind == "TransE":
        settings = _transe_settings(file, said)
    label_source = add_labels(file.parent, arrays)
    model = {"SimplE": "distmult", "Analogy": "complex"}.get(kind, kind.lower())
    return ModelFile(
        file,
        arrays | settings_as_arrays(**settings),
        {"model": model},
        notes=(SIGN_NOTES[kind],) if kind in SIGN_NOTES else (),
        source=file.name,
        label_source=label_source,
        id_formats=("openke",),
    )


def _arrays(file: Path, kind: str, tensors: Arrays, constants: Arrays) -> tuple[Arrays, dict[str, str | float]]:
    """Return the tables of a model under the names of `kgeval.models`, and its settings."""
    if kind in ("ComplEx", "Analogy"):
        return _complex_tables(file, kind, tensors), {"layout": "halves"}
    if kind == "RESCAL":
        arrays = renamed(file, tensors, {ENTITIES: "entities", MATRICES: "relations"})
        d = arrays["entities"].shape[-1]
        return arrays | {"relations": as_matrices(file, MATRICES, arrays["relations"], d)}, {}
    if kind == "SimplE":
        tensors.pop(INVERSES, None)
    arrays = renamed(file, tensors, {ENTITIES: "entities", RELATIONS: "relations"})
    if kind != "RotatE":
        return arrays, {}
    # OpenKE divides the phases by this quotient, which it computes in float32.
    phase_range = constants.get(PHASE_RANGE, np.zeros(0)).astype(np.float32)
    unit = phase_range / np.float32(np.pi)
    if unit.size != 1 or not unit.item() > 0:
        raise DataError(f"{file}: {PHASE_RANGE} must be one number above 0; got {phase_range.tolist()}")
    return arrays, {"norm": 1, "layout": "halves", "phase_unit": 1 / unit.item()}


def _complex_tables(file: Path, kind: str, tensors: Arrays) -> Arrays:
    """Return the tables of ComplEx or Analogy, real parts first; the relations of Analogy get the opposite sign."""
    for part, scalars in (("ent", ENTITIES), ("rel", RELATIONS)):
        names = (REAL.format(part), IMAGINARY.format(part))
        table = complex_with_scalars(file, tensors, *names, scalars if kind == "Analogy" else None)
        tensors[f"{part}_table"] = -table if kind == "Analogy" and part == "rel" else table
    return renamed(file, tensors, {"ent_table": "entities", "rel_table": "relations"})


def _kind(file: Path, tensors: Arrays, said: Mapping[str, Any]) -> str:
    """Return the name that OpenKE gives to the model with these tensors."""
    kind = root_class(file)
    candidates: tuple[str, ...]
    if kind.startswith("openke."):
        name = kind.rpartition(".")[2]
        if name not in CLASSES:
            raise not_a_model(file, f"OpenKE's {name}")
        candidates = (name,)
    elif REAL.format("ent") in tensors:
        candidates = ("Analogy",) if ENTITIES in tensors else ("ComplEx",)
    elif MATRICES in tensors:
        candidates = ("RESCAL",)
    elif INVERSES in tensors:
        candidates = ("SimplE",)
    elif PHASE_RANGE in tensors:
        candidates = ("RotatE",)
    elif "margin" in tensors:
        candidates = ("TransE",)
    elif "embedding_range" in tensors:
        candidates = ("DistMult", "HolE")
    else:
        candidates = ("TransE", "DistMult", "HolE")
    keys = {"SimplE": "distmult", "Analogy": "complex"}
    by_key = {keys.get(name, name.lower()): name for name in candidates}
    chosen = chosen_model(file, {key: f"{name} of OpenKE" for key, name in by_key.items()}, said)
    return by_key[chosen]


def _transe_settings(file: Path, said: Mapping[str, Any]) -> dict[str, str | float]:
    """Return the settings of TransE from a pickled module or the caller; raise a DataError if neither has them."""
    attributes = root_attributes(file)
    settings: dict[str, str | float] = {}
    p_norm = attributes.get("p_norm")
    if p_norm is not None and p_norm not in (1, 2):
        raise not_a_model(file, f"OpenKE's TransE with p_norm={cut_label(repr(p_norm))}")
    if p_norm is not None:
        settings["norm"] = p_norm
    if isinstance(attributes.get("norm_flag"), bool):
        settings["normalise"] = "all-l2" if attributes["norm_flag"] else "none"
    unsaid = [name for name in ("norm", "normalise") if name not in said and name not in settings]
    if unsaid:
        raise DataError(
            f"{file}: the file does not contain p_norm and norm_flag of OpenKE's TransE, which change the scores. Set "
            "norm=1 or norm=2 to p_norm (--norm; 1 is OpenKE's default), and normalise='all-l2' for norm_flag=True "
            "(OpenKE's default), normalise='none' for norm_flag=False (--normalise)"
        )
    if said.get("normalise", "none") not in ("none", "all-l2"):
        raise DataError(
            f"{file}: OpenKE's TransE divides all vectors by their L2 norms (normalise='all-l2', norm_flag=True) or "
            f"none (normalise='none'); got normalise={said['normalise']!r}"
        )
    return settings


def _file(path: Path) -> Path:
    """Return the checkpoint: `path` itself, or the only checkpoint in the folder `path`."""
    if not path.is_dir():
        return path
    file, others = checkpoint_file(path, ANCHORS), _json_files(path)
    files = [*([file] if file else []), *others]
    if len(files) != 1:
        names = ", ".join(file.name for file in files[:5]) or "none"
        raise DataError(
            f"{path}: expected one file of parameters of OpenKE in the folder, found {names}; give the file"
        )
    return files[0]


def _json_files(folder: Path) -> list[Path]:
    """Return the JSON files of a folder that OpenKE wrote."""
    try:
        return [file for file in sorted(folder.iterdir()) if _is_json(file)]
    except OSError:
        return []


def _is_json(path: Path) -> bool:
    """Return whether a file starts like the JSON of OpenKE: an object that begins with a list of a known name."""
    return path.suffix == ".json" and bool(JSON_START.match(_start(path)))


def _is_legacy(path: Path) -> bool:
    """Return whether a ``.ckpt`` file has torch's old format; reading such a file raises an error with advice."""
    return path.suffix == ".ckpt" and _start(path).startswith(LEGACY_START)


def _start(path: Path) -> bytes:
    """Return the first 200 bytes of a file; no bytes if it cannot be read."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as stream:
            return stream.read(200)
    except OSError:
        return b""


def _read_json(file: Path) -> Arrays:
    """Read a JSON object of nested lists of numbers; return the arrays by name."""
    once = each_name_once(lambda name: f"{file}: contains {cut_label(name)!a} twice")
    content = parse_json(read_text(file), file, "; is the file complete?", once)
    if not isinstance(content, dict):
        raise DataError(f"{file}: expected a JSON object that maps the names of parameters to lists of numbers")
    with_suffix = any(name.endswith(W) for name in content)
    return {_torch_name(name, with_suffix): _as_array(file, name, value) for name, value in content.items()}


def _torch_name(name: str, with_suffix: bool) -> str:
    """Return the name of a table with the ending ``.weight``; the TensorFlow versions of OpenKE omit this ending."""
    is_table = not with_suffix and (name.endswith("_embeddings") or name == "rel_matrices")
    return name + W if is_table else name


def _as_array(file: Path, name: str, value: Any) -> Any:
    """Return nested lists of numbers as a float32 array."""
    try:
        array = np.array(value)
    except ValueError:
        array = np.array("")
    if not isinstance(value, list) or array.dtype.kind not in "iuf":
        raise DataError(f"{file}: {cut_label(name)!a} must be lists of numbers, all of one length")
    return array.astype(np.float32)


FORMAT = Format("openke", sniff, read, "a model of OpenKE")
