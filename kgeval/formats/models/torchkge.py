"""The format of TorchKGE: the state dict of a model, or the whole module, in a torch file.

Tensors: ``ent_emb.weight`` and ``rel_emb.weight`` (TransE, DistMult, HolE, TorusE); ``rel_mat.weight`` for RESCAL, each
row a flattened matrix; ``re_ent_emb``, ``im_ent_emb``, ``re_rel_emb``, ``im_rel_emb`` for ComplEx; Analogy adds
``sc_ent_emb`` and ``sc_rel_emb``. Traps:

- TransE, DistMult, HolE and TorusE have tensors of the same names: ``model=`` must be given.
- The dissimilarity of TransE, L2 by default, is not in the state dict: ``norm=`` must be given. TorchKGE's L2 is the
  squared distance; kgeval's is the distance. The ranks are equal, the scores are not.
- In TransE, DistMult, HolE and RESCAL the score of a triple divides the vectors of entities by their L2 norms, but the
  evaluator of TorchKGE does not: the evaluator expects a model after ``normalize_parameters()``. If the norms of the
  vectors are not 1, ``normalize_parameters()`` was not called, and the score of a triple is not the score in the
  evaluation. TransE then needs ``normalise=``, and the other models are refused.
- Analogy is the sum of DistMult on the scalar parts and ComplEx on the complex parts. It is read as ComplEx, with the
  scalars as real parts.
- TorchKGE has no files of labels; the ids are ``kg.ent2ix`` and ``kg.rel2ix``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.files import Arrays
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
    not_unit_row,
    refuse,
    renamed,
    settings_as_arrays,
)
from kgeval.formats.registry import Format

ENTITIES, RELATIONS, MATRICES = "ent_emb.weight", "rel_emb.weight", "rel_mat.weight"
REAL, IMAGINARY, SCALAR = "re_{}_emb.weight", "im_{}_emb.weight", "sc_{}_emb.weight"
ANCHORS = (ENTITIES, REAL.format("ent"))
MODULES = "torchkge.models."
CLASSES = {"TransE": "transe", "DistMult": "distmult", "HolE": "hole", "RESCAL": "rescal", "ComplEx": "complex"}
NORMS = {"l1_dissimilarity": 1, "l2_dissimilarity": 2}
REFUSED = {
    "norm_vect.weight": "TransH",
    "proj_mat.weight": "TransR",
    "ent_proj_vect.weight": "TransD",
    "convlayer.0.weight": "ConvKB",
}
SQUARED = "TorchKGE's L2 dissimilarity is the squared distance; the scores here are the distances, with equal ranks"


def sniff(path: Path) -> bool:
    """Return whether a file, or a file of a folder, has the tensors of a model of TorchKGE."""
    return is_checkpoint(path, ANCHORS)


def read(path: Path, said: Mapping[str, Any]) -> ModelFile:
    """Read the file; see `kgeval.load_model`."""
    file = checkpoint_file(path, ANCHORS) or path
    tensors = model_tensors(file, read_tensors(file), ANCHORS)
    refuse(file, "TorchKGE", tensors, REFUSED)
    model = _model(file, tensors, said)
    settings: dict[str, str | float] = {}
    notes: tuple[str, ...] = ()
    if model == "complex":
        settings = {"layout": "halves"}
        arrays = _complex_tables(file, tensors)
    else:
        relations = MATRICES if model == "rescal" else RELATIONS
        arrays = renamed(file, tensors, {ENTITIES: "entities", relations: "relations"})
        entities = arrays["entities"]
        if entities.ndim != 2 or entities.dtype.kind not in "iuf":
            raise DataError(f"{file}: {ENTITIES} must be a table; got shape {entities.shape}, dtype {entities.dtype}")
        settings = _normalisation(file, model, arrays, said)
    if model == "rescal":
        arrays["relations"] = as_matrices(file, MATRICES, arrays["relations"], arrays["entities"].shape[1])
    if model == "transe":
        settings |= _norm(file, said)
        notes = (SQUARED,) if said.get("norm", settings.get("norm")) in (2, 2.0) else ()
    label_source = add_labels(file.parent, arrays)
    arrays |= settings_as_arrays(**settings)
    return ModelFile(
        file,
        arrays,
        {"model": model},
        notes=notes,
        source=file.name,
        label_source=label_source,
        id_formats=("torchkge",),
    )


def _model(file: Path, tensors: Arrays, said: Mapping[str, Any]) -> str:
    """Return the name of the model to which the tensors belong."""
    kind = root_class(file)
    if SCALAR.format("ent") in tensors:
        candidates = {"complex": "Analogy"}
    elif REAL.format("ent") in tensors:
        candidates = {"complex": "ComplEx"}
    elif MATRICES in tensors:
        candidates = {"rescal": "RESCAL"}
    else:
        candidates = {"transe": "TransE", "distmult": "DistMult", "hole": "HolE"}
    if kind.startswith(MODULES):
        name = kind.rpartition(".")[2].removesuffix("Model")
        if name not in CLASSES and name != "Analogy":
            raise not_a_model(file, f"TorchKGE's {name}")
        candidates = {CLASSES.get(name, "complex"): name}
    elif kind and "model" not in said:
        raise DataError(
            f"{file}: contains a module of class {kind}, which does not belong to TorchKGE and may score in another "
            f"way; if it scores like {' or '.join(candidates.values())}, set "
            f"model={' or '.join(map(repr, candidates))} (--model-type)"
        )
    if str(said.get("model", "")).lower() == "toruse":
        raise not_a_model(file, "TorchKGE's TorusE")
    return chosen_model(file, {key: f"{name} of TorchKGE" for key, name in candidates.items()}, said)


def _complex_tables(file: Path, tensors: Arrays) -> Arrays:
    """Return the tables of ComplEx or Analogy, real parts first."""
    is_analogy = SCALAR.format("ent") in tensors
    for kind in ("ent", "rel"):
        real, imaginary, scalars = (name.format(kind) for name in (REAL, IMAGINARY, SCALAR))
        table = complex_with_scalars(file, tensors, real, imaginary, scalars if is_analogy else None)
        tensors[f"{kind}_table"] = table
    return renamed(file, tensors, {"ent_table": "entities", "rel_table": "relations"})


def _normalisation(file: Path, model: str, arrays: Arrays, said: Mapping[str, Any]) -> dict[str, str | float]:
    """Return the setting `normalise` of TransE; raise a DataError if it is not clear whether vectors are normalised."""
    row = not_unit_row(arrays["entities"])
    if row is None:
        return {"normalise": "entities-l2"} if model == "transe" else {}
    if model == "transe" and "normalise" in said:
        return {}
    what = (
        f"{file}: the vectors of entities should have the norm 1, as after TorchKGE's normalize_parameters(), but row "
        f"{row} has the norm {np.linalg.norm(arrays['entities'][row].astype(np.float64)):.4g}. In training TorchKGE "
        "divides the vectors by their norms, in its evaluator it does not, so nothing says which score is meant"
    )
    if model == "transe":
        raise DataError(
            f"{what}. Set normalise='entities-l2' to use the score of the training (scoring_function), or "
            "normalise='none' to use the score of the evaluator (--normalise)"
        )
    raise DataError(f"{what}. Call model.normalize_parameters() and save the model again")


def _norm(file: Path, said: Mapping[str, Any]) -> dict[str, str | float]:
    """Return the norm of TransE, from a whole module or from the caller."""
    dissimilarity = str(root_attributes(file).get("dissimilarity", "")).rpartition(".")[2]
    if dissimilarity in NORMS:
        return {"norm": NORMS[dissimilarity]}
    if "norm" not in said:
        raise DataError(
            f"{file}: does not contain the dissimilarity of TransE. Set norm=1 for dissimilarity_type='L1', or norm=2 "
            "for 'L2', the default of TorchKGE (--norm)"
        )
    return {}


FORMAT = Format("torchkge", sniff, read, "a model of TorchKGE")
