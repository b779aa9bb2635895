"""The format of PyKEEN's models: the folders and files that PyKEEN 1.5 and later write.

Layout. ``pipeline_result.save_to_directory`` writes ``trained_model.pkl``, a torch file of the whole module, beside
``results.json``, ``metadata.json`` and ``training_triples`` (the labels of the rows); experiments add
``configuration_copied.json``. The file ``trained_model.pkl`` alone is enough. A state dict is enough too if the user
names its model. The checkpoint of a training loop is a dict with ``model_state_dict``. The module itself contains the
name of the model, the norm, and whether there are inverse relations; a configuration must not contradict the module.
No code in these files is run: only the names, numbers and tensors of a module are read.

Traps.

- With inverse relations, relation p has row 2 * p and its inverse has row 2 * p + 1.
- The order of complex numbers, and the formulas of SimplE, QuatE and TuckER: see
  `kgeval.formats.checkpoints.pykeen_tensors`. `kgeval.formats.checkpoints.pykeen_modules` lists the accepted parts of a
  module.
- RotatE has the options p and power_norm, but PyKEEN 1.11 always uses the L2 norm.
- Rows without labels follow the sorted labels of train.
- A ``normalizer`` acts whenever a table is read, so it changes scores. A ``constrainer`` acts after a training step, so
  its effect is already in the stored numbers. Dropout and regularizers do not change scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import cut_label
from kgeval.base.files import Arrays
from kgeval.errors import DataError
from kgeval.formats.checkpoints.containers import read_tensors, root_class, tensor_names
from kgeval.formats.checkpoints.model_file import ModelFile
from kgeval.formats.checkpoints.pickles import Stub
from kgeval.formats.checkpoints.pykeen_config import find_pykeen_config, pykeen_defaults, pykeen_settings
from kgeval.formats.checkpoints.pykeen_modules import pykeen_module
from kgeval.formats.checkpoints.pykeen_tensors import (
    PYKEEN_ANCHORS,
    PYKEEN_MODELS,
    labels_of_mappings,
    pykeen_labels,
    pykeen_tables,
    said_model,
)
from kgeval.formats.checkpoints.state_dicts import model_tensors, not_a_model
from kgeval.formats.checkpoints.torch_files import read_torch, state_dict
from kgeval.formats.registry import Format

MODEL_FILE, REPLICATES = "trained_model.pkl", "replicates"
SAFETENSORS = ".safetensors"
SUFFIXES = (".pkl", ".pt", ".pth", SAFETENSORS)
CHECKPOINT, BEST = "model_state_dict", "best_epoch_model_checkpoint"  # keys of a checkpoint of a training loop
LAST_EPOCH = "the model of the last epoch was read; the checkpoint also has the best model of early stopping"
ASSUMED = {
    "simple": "a state dict does not say clamp_score; the scores were read without bounds, the default of PyKEEN "
    "(clamp= sets them)",
    "quate": "a state dict does not say whether quaternions of relations are divided by their norms; they were read as "
    "divided, the default of PyKEEN",
}


def sniff(path: Path) -> bool:
    """Return whether a file has the tensors of a model of PyKEEN, or a folder contains such a file."""
    try:
        return bool(_model_files(path)) if path.is_dir() else _is_pykeen(path)
    except OSError:
        return False


def _is_pykeen(file: Path) -> bool:
    """Return whether a file contains a module of PyKEEN, or tensors with its names."""
    if file.suffix not in SUFFIXES:
        return False
    return root_class(file).startswith("pykeen.") or any(name.endswith(PYKEEN_ANCHORS) for name in tensor_names(file))


def _model_files(folder: Path) -> list[Path]:
    """Return the model files of a folder; if there are none, the model files of its replicates."""
    if (folder / MODEL_FILE).is_file():
        return [folder / MODEL_FILE]
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and _is_pykeen(file)]
    return files or sorted(folder.glob(f"{REPLICATES}/*/{MODEL_FILE}"))


def read(path: Path, said: Mapping[str, Any]) -> ModelFile:
    """Read the file; see `kgeval.load_model`."""
    file = path
    if path.is_dir():
        files = _model_files(path)
        if len(files) != 1:
            names = ", ".join(str(each.relative_to(path)) for each in files[:5]) or "none"
            raise DataError(f"{path}: expected one model of PyKEEN, found {len(files)} ({names}); name the file")
        file = files[0]
    config = find_pykeen_config(file.parent)
    labels, row_order, label_source = pykeen_labels(file.parent)
    notes: tuple[str, ...] = ()
    tree = read_torch(file) if file.suffix != SAFETENSORS else read_tensors(file)
    is_module = isinstance(tree, Stub)
    settings, setting_notes = pykeen_settings(config, with_defaults=not is_module) if config else ({}, {})
    if isinstance(tree, Stub):
        arrays = pykeen_module(file, tree, said)
        _check_agreement(file, config, arrays, settings, said)
        settings.pop("clamp", None)
    else:
        if isinstance(tree, dict) and isinstance(tree.get(CHECKPOINT), dict):
            if not labels and isinstance(tree.get("entity_to_id_dict"), dict):
                labels = labels_of_mappings(file, tree["entity_to_id_dict"], tree.get("relation_to_id_dict"))
                row_order, label_source = "", "the ids in the checkpoint"
            notes += (LAST_EPOCH,) if tree.get(BEST) is not None else ()
            tree = tree[CHECKPOINT]
        arrays = _of_state_dict(file, tree, said, settings)
        if "relation_labels" in labels and len(arrays["relations"]) == 2 * len(labels["relation_labels"]):
            arrays["inverse_relations"] = np.array("alternating")
        # `arrays` has the right form and layout, which follow from the names of the tensors.
        settings = {name: value for name, value in settings.items() if name not in ("form", "layout")}
        if str(said.get("inverse_relations", "alternating")) != "alternating":
            raise DataError(
                f"{file}: PyKEEN's inverse relations are alternating (rows 2 * p and 2 * p + 1); got "
                f"inverse_relations={said['inverse_relations']!r}"
            )
        model = str(arrays["model"])
        notes += (ASSUMED[model],) if model in ASSUMED and "clamp" not in {**settings, **said} else ()
    return ModelFile(
        file,
        arrays | labels,
        settings,
        setting_notes,
        notes,
        source=config.name if config else "PyKEEN",
        label_source=label_source,
        row_order=row_order,
        id_formats=("pykeen",),
    )


def _check_agreement(
    file: Path, config: Path | None, arrays: Arrays, settings: Mapping[str, Any], said: Mapping[str, Any]
) -> None:
    """Raise a DataError if the configuration contradicts a module in a setting that `build_model` does not check."""
    source = config.name if config else ""
    if settings.get("inverse_relations") and "inverse_relations" not in {*arrays, *said}:
        raise DataError(
            f"{file}: has no inverse relations (use_inverse_triples), but {source} beside it says "
            f"create_inverse_triples; does {source} belong to this model? If not, move it away"
        )
    if "clamp" in settings and settings["clamp"] != tuple(np.ravel(arrays.get("clamp", ()))) and "clamp" not in said:
        bounds = arrays["clamp"].tolist() if "clamp" in arrays else None
        raise DataError(
            f"{file}: has clamp_score={bounds}, but {source} beside it says {list(settings['clamp'])}; does {source} "
            "belong to this model? If not, move it away"
        )


def _of_state_dict(file: Path, tree: Any, said: Mapping[str, Any], settings: Mapping[str, Any]) -> Arrays:
    """Return arrays: the tables of a state dict, the name of the model, and settings with only one value in PyKEEN."""
    tensors = model_tensors(file, state_dict(tree, str(file)), PYKEEN_ANCHORS)
    model = said_model(said, str(settings.get("model", "")), tensors)
    if not model:
        raise DataError(
            f"{file}: a state dict of PyKEEN does not name its model; set model= (--model-type) to one of "
            f"{', '.join(PYKEEN_MODELS)}; transe needs norm= (--norm) too"
        )
    if model not in PYKEEN_MODELS:
        raise not_a_model(file, f"PyKEEN's {cut_label(model)}")
    arrays = pykeen_tables(file, model, tensors)
    fixed = {"transe": ("normalise",), "rotate": ("norm",)}.get(model, ())
    if model == "tucker" and "bn_0.weight" in arrays:
        fixed = ("batch_norm_eps",)
    return arrays | {"model": np.array(model)} | {name: np.array(pykeen_defaults(model)[name]) for name in fixed}


FORMAT = Format("pykeen", sniff, read, "a model of PyKEEN")
