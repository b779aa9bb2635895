"""The adapter of live models of TorchKGE (``torchkge.models``).

Scores come from ``scoring_function``, whose last argument is the relation. Traps:

- In training, TorchKGE divides vectors by their norms when it scores. Its evaluators do not: they expect that
  ``normalize_parameters()`` was called before. If the norms of the vectors are not 1, the two scores differ, and the
  model is refused.
- The L2 dissimilarity of TransE is the squared distance, which gives the same ranks as the distance.
- TransH, TransR and TransD keep projections of entities until the next call of ``scoring_function``. TorusE has an
  attribute that says whether its vectors are on the torus. The adapter restores the projections and this attribute.
- A model has no labels; its ids are the ids of the `KnowledgeGraph` with which it was trained.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kgeval.adapters.base import IdMap, LibraryScorer, LiveModel, check_has_values, map_ids
from kgeval.adapters.triples import (
    LIVE,
    TripleRows,
    array_of,
    certified_as,
    exact_model,
    ids_for,
    row_size,
)
from kgeval.base.checks import Ids
from kgeval.data.dataset import Dataset
from kgeval.errors import ScoreError
from kgeval.formats.checkpoints.state_dicts import as_matrices, complex_with_scalars, not_unit_row
from kgeval.kernels.arrays import Array
from kgeval.scorers.models import EmbeddingModel

# The tables whose rows TorchKGE divides by their norms when it trains, but not when it evaluates.
NORMALISED = {
    "TransEModel": ("ent_emb",),
    "TransHModel": ("ent_emb", "norm_vect"),
    "TransRModel": ("ent_emb",),
    "TransDModel": ("ent_emb", "rel_emb", "ent_proj_vect", "rel_proj_vect"),
    "RESCALModel": ("ent_emb",),
    "DistMultModel": ("ent_emb",),
    "HolEModel": ("ent_emb",),
}
MODELS = {
    "TransEModel": "transe",
    "RESCALModel": "rescal",
    "DistMultModel": "distmult",
    "HolEModel": "hole",
    "ComplExModel": "complex",
    "AnalogyModel": "complex",
}
NORMS = {"l1_dissimilarity": 1, "l2_dissimilarity": 2}
MARKS = ("evaluated_projections", "normalized")  # attributes that `scoring_function` sets
PROJECTIONS = "projected_entities"  # a parameter that holds the projections of all entities
SQUARED = "TorchKGE's L2 dissimilarity is the squared distance; the scores are the distances, with equal ranks"


def adapt(model: Any, ids: Any = None) -> TorchKGEModel:
    """Return the adapter of a model of TorchKGE; see `kgeval.adapters.from_model`.

    Parameters
    ----------
    model : torchkge.models.interfaces.Model
    ids : object, optional
    """
    return TorchKGEModel(model, ids)


@dataclass(frozen=True)
class TorchKGEModel(LiveModel):
    """A live model of TorchKGE, not yet bound to a dataset."""

    def for_dataset(self, dataset: Dataset) -> EmbeddingModel | LibraryScorer:
        """Return a scorer for the ids of a dataset; it uses the current parameters of the model.

        If `kgeval.models` has the formula of the model, and the scores of samples agree, the exact kernels of kgeval
        rank the model. Otherwise the scores come from TorchKGE's ``scoring_function``.

        Parameters
        ----------
        dataset : Dataset

        Raises
        ------
        ScoreError
            If it is not known which label each id of the model has. Also if TorchKGE would score differently in
            training and in its evaluators, because `normalize_parameters` was not called.
        """
        model = self.model
        name = type(model).__name__
        ids = map_ids(
            dataset, "torchkge", self.ids, n_entities=model.n_ent, n_relations=model.n_rel, name=f"TorchKGE's {name}"
        )
        kind = _kind(model)
        check_has_values(f"TorchKGE's {name}", model)
        _check_normalised(model, kind)
        rows = TripleRows(partial(_scores, model), row_size(model, PROJECTIONS))
        scorer = LibraryScorer(name, ids, rows, model, ["scored by TorchKGE's scoring_function"])
        norm = NORMS.get(getattr(getattr(model, "dissimilarity", None), "__name__", ""))
        if kind not in MODELS or (kind == "TransEModel" and norm is None):
            return scorer
        is_squared = kind == "TransEModel" and norm == 2
        result = certified_as(
            dataset,
            scorer,
            lambda scores: -((-scores).sqrt()) if is_squared else scores,
            lambda: _exact_model(model, kind, norm, dataset, ids),
            ("scoring_function",),
            "torchkge.",
        )
        if is_squared and result is not scorer:
            result.notes += (SQUARED,)
        return result


def _kind(model: Any) -> str:
    """Return the name of the TorchKGE class of a model; empty if the class is not from TorchKGE."""
    names = [base.__name__ for base in type(model).__mro__ if base.__module__.startswith("torchkge.models.")]
    return names[0] if names and names[0] in {*NORMALISED, *MODELS} else ""


def _scores(model: Any, s: Ids, p: Ids, o: Ids) -> Array:
    """Return the scores of triples."""
    with _kept_marks(model):
        return model.scoring_function(*ids_for(model, s, o, p))


@contextmanager
def _kept_marks(model: Any) -> Iterator[None]:
    """Restore the attributes `MARKS` of a model after a ``with`` block."""
    marks = {name: getattr(model, name) for name in MARKS if hasattr(model, name)}
    try:
        yield
    finally:
        for name, value in marks.items():
            setattr(model, name, value)


def _check_normalised(model: Any, kind: str) -> None:
    """Raise a ScoreError if vectors do not have the norm 1, though TorchKGE divides them by their norms in training."""
    for table in NORMALISED.get(kind, ()):
        values = array_of(getattr(model, table).weight)
        row = not_unit_row(values)
        if row is not None:
            norm = np.linalg.norm(values[row].astype(np.float64))
            name = type(model).__name__
            raise ScoreError(
                f"TorchKGE's {name}: row {row} of {table} has the norm {norm:.4g}, not 1, so the model has two scores: "
                "in training (scoring_function) TorchKGE divides these vectors by their norms, in its evaluators it "
                "does not. Call model.normalize_parameters() first, as TorchKGE's documentation says to do after each "
                "epoch; both scores are then the same. To use the score of the training and leave the model as it is: "
                "kg.adapters.from_function(model.scoring_function, order='sop', ids=...)"
            )


def _exact_model(model: Any, kind: str, norm: int | None, dataset: Dataset, ids: IdMap) -> EmbeddingModel:
    """Make the model of `kgeval.models` from the current parameters."""
    tensors = {name: array_of(tensor) for name, tensor in model.named_parameters()}
    settings: dict[str, str | float] = {}
    if MODELS[kind] == "complex":
        settings = {"layout": "halves"}
        tables = {
            part: complex_with_scalars(
                LIVE,
                tensors,
                f"re_{key}_emb.weight",
                f"im_{key}_emb.weight",
                f"sc_{key}_emb.weight" if kind == "AnalogyModel" else None,
            )
            for part, key in (("entities", "ent"), ("relations", "rel"))
        }
    else:
        matrices = "rel_mat.weight" if kind == "RESCALModel" else "rel_emb.weight"
        tables = {"entities": tensors["ent_emb.weight"], "relations": tensors[matrices]}
    if kind == "RESCALModel":
        tables["relations"] = as_matrices(LIVE, matrices, tables["relations"], tables["entities"].shape[1])
    if norm is not None:
        settings = {"norm": norm, "normalise": "entities-l2"}
    return exact_model(MODELS[kind], tables, settings, dataset, ids)
