"""The adapter of live models of PyTorch Geometric (``torch_geometric.nn.kge``).

Scores are those of ``model(h, r, t)``. Traps:

- When TransE scores, it divides the vectors of nodes by their norms, but not the vectors of relations.
- The score of RotatE is the constant `margin` minus one L2 norm over all real and imaginary parts.
- PyTorch Geometric has no labels: only ``ids=`` can say which label a row belongs to.
- ``model.test`` ranks only objects, without a filter for known answers; its mean rank counts ranks from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from kgeval.adapters.base import IdMap, LibraryScorer, LiveModel, map_ids
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
from kgeval.formats.checkpoints.state_dicts import side_by_side
from kgeval.kernels.arrays import Array
from kgeval.scorers.models import EmbeddingModel

MODELS = {"TransE": "transe", "DistMult": "distmult", "ComplEx": "complex", "RotatE": "rotate"}
NODES, RELATIONS = "node_emb.weight", "rel_emb.weight"
PREFIX = "torch_geometric.nn.kge."


def adapt(model: Any, ids: Any = None) -> PyGModel:
    """Return the adapter of a model of PyTorch Geometric; see `kgeval.adapters.from_model`.

    Parameters
    ----------
    model : torch_geometric.nn.kge.KGEModel
    ids : object, optional
    """
    return PyGModel(model, ids)


@dataclass(frozen=True)
class PyGModel(LiveModel):
    """A live model of PyTorch Geometric, not yet bound to a dataset."""

    def for_dataset(self, dataset: Dataset) -> EmbeddingModel | LibraryScorer:
        """Return a scorer for the ids of a dataset; it uses the current parameters of the model.

        Parameters
        ----------
        dataset : Dataset

        Raises
        ------
        ScoreError
            If it is not known which label each id of the model has.
        """
        model = self.model
        name = type(model).__name__
        ids = map_ids(
            dataset,
            "pyg",
            self.ids,
            n_entities=model.num_nodes,
            n_relations=model.num_relations,
            name=f"PyTorch Geometric's {name}",
        )
        kind = next((base.__name__ for base in type(model).__mro__ if base.__module__.startswith(PREFIX)), "")
        rows = TripleRows(partial(_scores, model), row_size(model))
        notes = ["scored by PyTorch Geometric's model(h, r, t)"]
        scorer = LibraryScorer(name, ids, rows, model, notes)
        if kind not in MODELS or (kind == "TransE" and model.p_norm not in (1, 2)):
            return scorer
        margin = model.margin if kind == "RotatE" else 0.0
        result = certified_as(
            dataset,
            scorer,
            lambda scores: scores - margin,
            lambda: _exact_model(model, kind, dataset, ids),
            ("forward",),
            PREFIX,
        )
        if margin and result is not scorer:
            result.notes += (f"the constant margin={margin:g} of RotatE is left out of the scores, with equal ranks",)
        return result


def _scores(model: Any, s: Ids, p: Ids, o: Ids) -> Array:
    """Return the scores of triples."""
    return model(*ids_for(model, s, p, o))


def _exact_model(model: Any, kind: str, dataset: Dataset, ids: IdMap) -> EmbeddingModel:
    """Make the model of `kgeval.models` from the current parameters."""
    tables = {name: array_of(tensor) for name, tensor in model.named_parameters()}
    settings: dict[str, str | float] = {}
    if kind in ("ComplEx", "RotatE"):
        settings = {"layout": "halves"}
        tables[NODES] = side_by_side(LIVE, tables, NODES, "node_emb_im.weight")
    if kind == "ComplEx":
        tables[RELATIONS] = side_by_side(LIVE, tables, RELATIONS, "rel_emb_im.weight")
    if kind == "RotatE":
        settings |= {"norm": 2, "phase_unit": 1.0}
    if kind == "TransE":
        settings = {"norm": int(model.p_norm), "normalise": f"entities-l{int(model.p_norm)}"}
    tables = {"entities": tables[NODES], "relations": tables[RELATIONS]}
    return exact_model(MODELS[kind], tables, settings, dataset, ids)
