"""The format of LibKGE: a checkpoint or a packaged model (``.pt``), or the folder of a training run.

A checkpoint is a torch file of ``{type, epoch, model, config, ...}``: ``model`` is the pair of a state dict and meta
data; ``config`` is an object whose dict ``options`` has every option of the training, including the defaults. A package
also has ``dataset.meta.entity_ids`` and ``relation_ids``, the labels of the rows. In a folder, ``checkpoint_best.pt``
is read, else the last checkpoint, as LibKGE does. Traps:

- The rows are in the order of ``entity_ids.del`` and ``relation_ids.del`` in LibKGE's folder of the dataset.
- Options are looked up as in LibKGE: the value of ``transe.entity_embedder.dim`` may be stored under the key of the
  type of the embedder, ``lookup_embedder.dim``.
- A reciprocal model (``reciprocal_relations_model``) doubles the relations: all inverse relations follow after all
  relations. Its tensors occur twice, with and without the prefix ``_base_model.``.
- ComplEx, SimplE and CP keep two vectors in the halves of a row; RotatE keeps phases in radians.
- ``normalize.p`` makes LibKGE divide the stored vectors by their norms. Old versions divided before each batch; the
  last step of the training then changed the vectors, so their norms in the file are not 1, and the evaluation divided
  them again. Such files are refused.
- Scores of single triples (``score_spo``) of TransE add 1e-6 to each difference; the evaluation does not.
- torch 2.6 and later refuses these files by default, because of the object ``config``; here it is plain data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.files import Arrays, text_array
from kgeval.errors import DataError
from kgeval.formats.checkpoints.containers import top_keys
from kgeval.formats.checkpoints.model_file import ModelFile
from kgeval.formats.checkpoints.pickles import Stub
from kgeval.formats.checkpoints.state_dicts import (
    add_labels,
    as_matrices,
    not_a_model,
    not_unit_row,
    renamed,
    settings_as_arrays,
)
from kgeval.formats.checkpoints.torch_files import read_torch, state_dict
from kgeval.formats.registry import Format

BASE = "_base_model."
EMBEDDER = re.compile(r"_(entity|relation)_embedder\.(base_embedder\.)?_?embeddings\.weight")  # old: without the _
PROJECTION = "_relation_embedder.projection.weight"
ENTITIES, RELATIONS = "_entity_embedder._embeddings.weight", "_relation_embedder._embeddings.weight"
PROJECTED = "_relation_embedder.base_embedder._embeddings.weight"
CHECKPOINT = re.compile(r"checkpoint_(\d{5,})\.pt")
RECIPROCAL = ("ReciprocalRelationsModel", "InverseRelationsModel")
MODELS = {
    "TransE": "transe",
    "DistMult": "distmult",
    "ComplEx": "complex",
    "RotatE": "rotate",
    "Rescal": "rescal",
    "CP": "cp",
    "SimplE": "simple",
    "RelationalTucker3": "tucker",
}
EMBEDDERS = ("LookupEmbedder", "ProjectionEmbedder", "Tucker3RelationEmbedder")
MAX_TYPES = 10  # limit of the lookups for one option


def sniff(path: Path) -> bool:
    """Return whether a file is a checkpoint of LibKGE, or a folder contains one."""
    try:
        file = _file(path)
    except DataError:
        return False
    return file is not None and _is_checkpoint(file)


def _is_checkpoint(file: Path) -> bool:
    """Return whether a file is a checkpoint of LibKGE: a dict with a configuration of LibKGE."""
    keys = top_keys(file)
    return "model" in keys and keys.get("config", "").startswith("kge.")


def _file(path: Path) -> Path | None:
    """Return the checkpoint: `path` itself, or the best (else the last) checkpoint of a folder; else None."""
    if not path.is_dir():
        return path
    for name in ("checkpoint_best.pt", "model_best.pt"):
        if (path / name).is_file():
            return path / name
    try:
        numbers = {int(found[1]): file for file in path.iterdir() if (found := CHECKPOINT.fullmatch(file.name))}
    except OSError:
        return None
    return numbers[max(numbers)] if numbers else None


def read(path: Path, said: Mapping[str, Any]) -> ModelFile:
    """Read the file; see `kgeval.load_model`."""
    file = _file(path)
    if file is None:
        raise DataError(f"{path}: expected checkpoint_best.pt or checkpoint_00001.pt, ... of LibKGE in the folder")
    tree = read_torch(file)
    options, tensors = _options(file, tree), _tensors(file, tree)
    key = str(options.get("model", ""))
    name = _class_name(options, key)
    settings: dict[str, str | float] = {}
    if name in RECIPROCAL:
        key = f"{key}.base_model"
        name = _class_name(options, str(_option(options, f"{key}.type")))
        settings["inverse_relations"] = "after"
    if name not in MODELS:
        raise not_a_model(file, f"LibKGE's {name or 'model without a name'}")
    _check_embedders(file, options, key, tensors)
    arrays = _tables(file, name, tensors)
    if name in ("TransE", "RotatE"):
        settings["norm"] = _norm(file, name, _option(options, f"{key}.l_norm"))
    if name == "TransE":
        settings["normalise"] = "none"
    if name in ("ComplEx", "RotatE"):
        settings["layout"] = "halves"
    if name == "RotatE":
        settings["phase_unit"] = 1.0
    said_model = str(said.get("model", MODELS[name])).lower()
    if said_model != MODELS[name]:
        raise DataError(f"{file}: is a model {name} of LibKGE (model={MODELS[name]!r}); got model={said['model']!r}")
    label_source = _add_labels(file, tree, arrays)
    notes: tuple[str, ...] = ()
    if path.is_dir() and file.name != "checkpoint_best.pt":
        notes = (f"{file.name} was read, as the folder has no checkpoint_best.pt",)
    return ModelFile(
        file,
        arrays | settings_as_arrays(**settings),
        {"model": MODELS[name]},
        notes=notes,
        source=file.name,
        label_source=label_source,
        id_formats=("libkge",),
    )


def _options(file: Path, tree: Any) -> dict[str, Any]:
    """Return the options of the configuration in a checkpoint."""
    config = tree.get("config") if isinstance(tree, dict) else None
    options = config.state.get("options") if isinstance(config, Stub) and isinstance(config.state, dict) else None
    if not isinstance(options, dict):
        raise DataError(f"{file}: expected a checkpoint of LibKGE, with the configuration of its training in 'config'")
    return options


def _option(options: Mapping[str, Any], key: str) -> Any:
    """Return an option, as LibKGE looks it up; None if the option is missing.

    If the key ``a.b.c`` is missing, the option may have the key of a type: ``t.c``, where t is the value of
    ``a.b.type``.
    """
    for _ in range(MAX_TYPES):
        value = _value(options, key)
        if value is not None:
            return value
        parts = key.split(".")
        for i in range(len(parts) - 1, 0, -1):
            kind = _value(options, ".".join([*parts[:i], "type"]))
            if isinstance(kind, str):
                key = ".".join([kind, *parts[i:]])
                break
        else:
            return None
    return None


def _value(options: Any, key: str) -> Any:
    """Return the value of a key such as ``transe.l_norm``; None if it is missing."""
    for part in key.split("."):
        options = options.get(part) if isinstance(options, dict) else None
    return options


def _class_name(options: Mapping[str, Any], key: str) -> str:
    """Return the name of the class of a model or an embedder; return `key` if the options do not name a class."""
    return str(_value(options, f"{key}.class_name") or key)


def _tensors(file: Path, tree: Any) -> Arrays:
    """Return the tensors of the model, without the prefix and the repetition of a reciprocal model."""
    model = tree.get("model")
    if not isinstance(model, (tuple, list)) or not model or not isinstance(model[0], dict):
        raise DataError(f"{file}: a checkpoint of LibKGE without a model (a search job?); give one of a training job")
    tensors: Arrays = {}
    for full, tensor in state_dict(model[0], str(file)).items():
        name = full.removeprefix(BASE).replace("_embedder.embeddings.", "_embedder._embeddings.")
        if name in tensors and not np.array_equal(tensors[name], tensor, equal_nan=True):
            raise DataError(f"{file}: {name} and {BASE}{name} differ; LibKGE saves one table under both names")
        tensors[name] = tensor
    return tensors


def _check_embedders(file: Path, options: Mapping[str, Any], key: str, tensors: Arrays) -> None:
    """Raise a DataError if an embedder is no table, or if its vectors are not normalised as the options say."""
    for part in ("entity", "relation"):
        embedder = f"{key}.{part}_embedder"
        kind = _class_name(options, str(_option(options, f"{embedder}.type") or "LookupEmbedder"))
        kind = "LookupEmbedder" if kind == "lookup_embedder" else kind  # the class that LibKGE gives to this key
        if kind not in EMBEDDERS or (part == "entity" and kind != EMBEDDERS[0]):
            raise not_a_model(file, f"a model of LibKGE with the {kind} for {part} vectors")
        prefix = f"{embedder}.base_embedder" if kind != EMBEDDERS[0] else embedder
        p = _option(options, f"{prefix}.normalize.p")
        table = next((tensors[name] for name in tensors if (m := EMBEDDER.fullmatch(name)) and m[1] == part), None)
        if not isinstance(p, (int, float)) or p <= 0 or table is None or table.ndim != 2:
            continue  # `_tables` refuses other arrays
        if p not in (1, 2):
            raise DataError(f"{file}: {embedder}.normalize.p must be 1 or 2 (or negative: no norm); got {p}")
        row = not_unit_row(table, p)
        if row is not None:
            raise DataError(
                f"{file}: the options say {embedder}.normalize.p={p:g}, but the norm of row {row} of the table is not "
                "1. Old versions of LibKGE divide the vectors by their norms again when they evaluate, newer ones do "
                "not; load the model in the LibKGE that trained it, divide the vectors there, and save it again"
            )


def _tables(file: Path, name: str, tensors: Arrays) -> Arrays:
    """Return the tables of a model under the names of `kgeval.models`."""
    if name == "RelationalTucker3" and PROJECTED in tensors:
        arrays = renamed(file, tensors, {ENTITIES: "entities", PROJECTED: "relations", PROJECTION: "core"})
        return arrays | {"core": _core(file, arrays)}
    arrays = renamed(file, tensors, {ENTITIES: "entities", RELATIONS: "relations"})
    if arrays["entities"].ndim != 2 or arrays["relations"].ndim != 2:
        raise DataError(f"{file}: the vectors of entities and relations must be tables of two dimensions")
    d = arrays["entities"].shape[1]
    if name == "Rescal":
        return arrays | {"relations": as_matrices(file, RELATIONS, arrays["relations"], d)}
    if name in ("CP", "SimplE"):
        if d % 2:
            raise DataError(f"{file}: LibKGE's {name} needs an even number of columns; {ENTITIES} has {d}")
        entities = arrays.pop("entities")
        arrays |= {"subjects": entities[:, : d // 2], "objects": entities[:, d // 2 :]}
    if name == "SimplE":
        relations = arrays.pop("relations")
        arrays |= {"relations": relations[:, : d // 2], "relations_inverse": relations[:, d // 2 :]}
    return arrays


def _core(file: Path, arrays: Arrays) -> Any:
    """Return LibKGE's projection of relation vectors to matrices as a core tensor of TuckER, (d, d_relation, d)."""
    d, d_relation = arrays["entities"].shape[-1], arrays["relations"].shape[-1]
    projection = arrays["core"]
    if projection.shape != (d * d, d_relation):
        raise DataError(f"{file}: {PROJECTION} must have shape {(d * d, d_relation)}; got {projection.shape}")
    return projection.reshape(d, d, d_relation).transpose(0, 2, 1)


def _norm(file: Path, name: str, l_norm: Any) -> int:
    """Return the norm of a distance model."""
    if l_norm not in (1, 2):
        raise DataError(f"{file}: the option l_norm of {name} must be 1 or 2; got {l_norm!r}")
    return int(l_norm)


def _add_labels(file: Path, tree: dict[str, Any], arrays: Arrays) -> str:
    """Add the labels of the rows; return the names of the id files, or "" if the checkpoint has the labels."""
    dataset = tree.get("dataset")
    meta = dataset.get("meta") if isinstance(dataset, dict) else None
    places = [place for place in (meta, tree) if isinstance(place, dict)]
    for place in places:
        labels: list[Any] = [place.get(f"{part}_ids") for part in ("entity", "relation")]
        if all(isinstance(part, (list, tuple)) and all(isinstance(label, str) for label in part) for part in labels):
            for name, listed in zip(("entity_labels", "relation_labels"), labels):
                arrays[name] = text_array(listed)
            return ""
    return add_labels(file.parent, arrays)


FORMAT = Format("libkge", sniff, read, "a model of LibKGE")
