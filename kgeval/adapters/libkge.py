"""The adapter of live models of LibKGE (`kge.model.KgeModel`).

Scores are those of ``score_sp`` and ``score_po``. They also work for models with reciprocal relations. Such a model
scores subjects with the reciprocal of the relation, so a single triple has no unique score. The labels are those of the
model's own dataset. LibKGE's own evaluation counts scores that differ by less than 1e-4 as ties; here only equal scores
tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.adapters.base import LibraryScorer, LiveModel, map_ids
from kgeval.adapters.triples import ids_for, row_size
from kgeval.base.checks import Ids
from kgeval.data.dataset import Dataset
from kgeval.data.library_objects import library_labels
from kgeval.errors import ScoreError
from kgeval.kernels.arrays import Array, library

MAX_NUMBERS = 1 << 26  # of the vectors of all pairs of queries and candidates that LibKGE may make at a time
SCORES = ("score_sp", "score_po")


def adapt(model: Any, ids: Any = None) -> LibKGEModel:
    """Return the adapter of a model of LibKGE; see `kgeval.adapters.from_model`.

    Parameters
    ----------
    model : kge.model.KgeModel
    ids : object, optional
        By default the labels of ``model.dataset``.

    Raises
    ------
    ScoreError
        If `model` is a part of a model, such as an embedder.
    """
    if not all(hasattr(model, name) for name in SCORES):
        raise ScoreError(
            f"expected a KgeModel of LibKGE, with score_sp and score_po; got {type(model).__name__}, which does not "
            "score queries. Give the whole model: KgeModel.create_from(checkpoint)"
        )
    return LibKGEModel(model, ids)


@dataclass(frozen=True)
class LibKGEModel(LiveModel):
    """A live model of LibKGE, not yet bound to a dataset."""

    def for_dataset(self, dataset: Dataset) -> LibraryScorer:
        """Return a scorer for the ids of a dataset.

        Parameters
        ----------
        dataset : Dataset

        Raises
        ------
        ScoreError
            If the labels of the model's dataset cannot be read, or if none of them is a label of `dataset`.
        """
        model = self.model
        name = type(model).__name__
        ids = map_ids(
            dataset,
            "libkge",
            self.ids,
            _labels(model) if self.ids is None else None,
            n_entities=model.dataset.num_entities(),
            n_relations=model.dataset.num_relations(),
            name=f"LibKGE's {name}",
        )
        notes = ["scored by LibKGE's score_sp and score_po; scores tie only if they are equal"]
        return LibraryScorer(name, ids, _Rows(model), model, notes)


def _labels(model: Any) -> tuple[Sequence[str], Sequence[str]]:
    """Return the labels of the dataset of a model, in the order of its ids."""
    try:
        labels = library_labels(model.dataset)
    except OSError as error:
        raise ScoreError(
            f"LibKGE's {type(model).__name__}: its dataset has no labels in memory, and reading them failed: {error}. "
            "Name the files: kg.adapters.from_model(model, ids=('entity_ids.del', 'relation_ids.del'))"
        ) from error
    if labels is None:
        raise ScoreError(
            f"LibKGE's {type(model).__name__}: its dataset ({type(model.dataset).__name__}) has no entity_ids() and "
            "relation_ids(); give the labels with kg.adapters.from_model(model, ids=...)"
        )
    return labels.entities, labels.relations


@dataclass(frozen=True)
class _Rows:
    """Scores the queries of a `LibraryScorer`, in batches that need limited memory."""

    model: Any

    def __call__(self, side: str, given: Ids, relation: Ids, candidates: Ids) -> Array:
        """Return the scores of each query with each candidate."""
        is_all = np.array_equal(candidates, np.arange(self.model.dataset.num_entities()))
        columns = () if is_all else ids_for(self.model, candidates)
        score = self.model.score_sp if side == "object" else self.model.score_po
        size = max(1, MAX_NUMBERS // (row_size(self.model) * max(1, len(candidates))))
        parts = []
        for start in range(0, max(1, len(given)), size):
            pair = ids_for(self.model, *(ids[start : start + size] for ids in (given, relation)))
            parts.append(score(*(pair if side == "object" else pair[::-1]), *columns))
        return parts[0] if len(parts) == 1 else library(parts[0]).concatenate(parts)
