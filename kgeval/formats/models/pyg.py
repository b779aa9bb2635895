"""The format of PyTorch Geometric's ``torch_geometric.nn.kge``: a state dict, or a whole module, in a torch file.

Tensors: ``node_emb.weight`` (entities, d) and ``rel_emb.weight`` (relations, d); ComplEx and RotatE have
``node_emb_im.weight``, ComplEx has ``rel_emb_im.weight`` too. Traps:

- TransE and DistMult have tensors of the same names and shapes: ``model=`` must be given.
- TransE divides the vectors of entities by their norms when it scores. The setting `p_norm` (1 by default) chooses the
  norm for these vectors and for the distance. A state dict does not contain `p_norm`, so ``norm=`` must be given.
- RotatE takes one L2 norm over all real and imaginary parts; ``rel_emb`` holds phases in radians. Its scores are
  `margin` minus the distance; the constant `margin` is left out here.
- PyTorch Geometric has no files of labels: the rows have the order of the ids that the user gave to the model.
- A whole module contains the name of its class, and `p_norm`. A subclass that another library defines may compute
  other scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgeval.base.files import Arrays
from kgeval.errors import DataError
from kgeval.formats.checkpoints.containers import read_tensors, root_attributes, root_class
from kgeval.formats.checkpoints.model_file import ModelFile
from kgeval.formats.checkpoints.state_dicts import (
    add_labels,
    checkpoint_file,
    chosen_model,
    is_checkpoint,
    model_tensors,
    renamed,
    said_norm,
    settings_as_arrays,
    side_by_side,
)
from kgeval.formats.registry import Format

ANCHORS = ("node_emb.weight",)
NODES, NODES_IM = "node_emb.weight", "node_emb_im.weight"
RELATIONS, RELATIONS_IM = "rel_emb.weight", "rel_emb_im.weight"
CLASSES = {
    "torch_geometric.nn.kge.transe.TransE": "transe",
    "torch_geometric.nn.kge.distmult.DistMult": "distmult",
    "torch_geometric.nn.kge.complex.ComplEx": "complex",
    "torch_geometric.nn.kge.rotate.RotatE": "rotate",
}
NAMES = {"transe": "TransE", "distmult": "DistMult", "complex": "ComplEx", "rotate": "RotatE"}


def sniff(path: Path) -> bool:
    """Return whether a file, or a file in a folder, has the tensors of a model of PyTorch Geometric."""
    return is_checkpoint(path, ANCHORS)


def read(path: Path, said: Mapping[str, Any]) -> ModelFile:
    """Read the file; see `kgeval.load_model`."""
    file = checkpoint_file(path, ANCHORS) or path
    tensors = model_tensors(file, read_tensors(file), ANCHORS)
    model = _model(file, tensors, said)
    settings: dict[str, str | float] = {}
    if model == "transe":
        settings = _transe_settings(file, said, root_attributes(file).get("p_norm"))
    elif model == "rotate":
        settings = {"norm": 2, "layout": "halves", "phase_unit": 1.0}
    elif model == "complex":
        settings = {"layout": "halves"}
        tensors[RELATIONS] = side_by_side(file, tensors, RELATIONS, RELATIONS_IM)
    if model in ("complex", "rotate"):
        tensors[NODES] = side_by_side(file, tensors, NODES, NODES_IM)
    arrays = renamed(file, tensors, {NODES: "entities", RELATIONS: "relations"})
    label_source = add_labels(file.parent, arrays)
    arrays |= settings_as_arrays(**settings)
    return ModelFile(file, arrays, {"model": model}, source=file.name, label_source=label_source)


def _model(file: Path, tensors: Arrays, said: Mapping[str, Any]) -> str:
    """Return the name of the model to which the tensors belong."""
    kind = root_class(file)
    candidates: tuple[str, ...]
    if NODES_IM not in tensors:
        candidates = ("transe", "distmult")
    else:
        candidates = ("complex",) if RELATIONS_IM in tensors else ("rotate",)
    if kind in CLASSES:
        candidates = (CLASSES[kind],)
    elif kind and "model" not in said:
        raise DataError(
            f"{file}: contains a module of class {kind}, which does not belong to PyTorch Geometric and may score in "
            f"another way; if it scores like {' or '.join(NAMES[name] for name in candidates)}, set "
            f"model={' or '.join(map(repr, candidates))} (--model-type)"
        )
    return chosen_model(file, {name: f"{NAMES[name]} of PyTorch Geometric" for name in candidates}, said)


def _transe_settings(file: Path, said: Mapping[str, Any], p_norm: Any) -> dict[str, str | float]:
    """Return the settings of TransE; `p_norm` is the attribute of a pickled module, None for a state dict."""
    norm = said_norm(said, p_norm)
    if norm is None:
        came = "a state dict does not contain it" if p_norm is None else f"the file says p_norm={p_norm!r}"
        raise DataError(
            f"{file}: TransE of PyTorch Geometric scores with the norm p_norm, which must be 1 or 2; {came}. Set norm= "
            "(--norm) to the p_norm of the training; PyTorch Geometric's default is 1"
        )
    settings: dict[str, str | float] = {"normalise": f"entities-l{norm}"}
    return settings if p_norm is None else settings | {"norm": p_norm}


FORMAT = Format("pyg", sniff, read, "a model of PyTorch Geometric (torch_geometric.nn.kge)")
