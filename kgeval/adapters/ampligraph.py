"""The adapter of fitted models of AmpliGraph 2 (`ScoringBasedEmbeddingModel`, a Keras model).

Scores are those of ``model.predict``, which takes labels, not ids. Traps:

- ``predict`` leaves out triples with a label that the model does not know, and returns fewer scores.
- AmpliGraph's own evaluation cuts scores to three decimals before it compares them; here only equal scores tie.
"""

from __future__ import annotations

from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from typing import Any

import numpy as np

from kgeval.adapters.base import LibraryScorer, LiveModel, map_ids
from kgeval.adapters.triples import TripleRows
from kgeval.base.checks import Ids, Scores
from kgeval.data.dataset import Dataset
from kgeval.errors import ScoreError

BATCH_SIZE = 1 << 13  # triples that AmpliGraph scores at a time
KINDS = {"entities": "e", "relations": "r"}


def adapt(model: Any, ids: Any = None) -> AmpliGraphModel:
    """Return the adapter of a model of AmpliGraph; see `kgeval.adapters.from_model`.

    Parameters
    ----------
    model : ampligraph.latent_features.ScoringBasedEmbeddingModel
    ids : object, optional
        Only for a model that was fitted to integers: the labels of these integers.

    Raises
    ------
    ScoreError
        If `model` is a part of a model, such as a layer.
    """
    if not hasattr(model, "predict") or not hasattr(model, "get_indexes"):
        raise ScoreError(
            f"expected a ScoringBasedEmbeddingModel of AmpliGraph, with predict and get_indexes; got "
            f"{type(model).__name__}"
        )
    return AmpliGraphModel(model, ids)


@dataclass(frozen=True)
class AmpliGraphModel(LiveModel):
    """A live model of AmpliGraph, not yet bound to a dataset."""

    def for_dataset(self, dataset: Dataset) -> LibraryScorer:
        """Return a scorer for the ids of a dataset.

        Parameters
        ----------
        dataset : Dataset

        Raises
        ------
        ScoreError
            If the model was not fitted, or if none of its labels is a label of `dataset`.
        """
        model = self.model
        name = type(model).__name__
        if not getattr(model, "is_fitted", True):
            raise ScoreError(f"AmpliGraph's {name} was not fitted; call model.fit(triples) first")
        keys = {kind: _keys(model, kind) for kind in KINDS}
        labels = tuple(tuple(map(str, keys[kind].tolist())) for kind in KINDS)
        if self.ids is not None:
            labels = _labels_of_integers(self.ids, keys, dataset, name)
        ids = map_ids(
            dataset,
            "ampligraph",
            None,
            (labels[0], labels[1]),
            n_entities=len(labels[0]),
            n_relations=len(labels[1]),
            name=f"AmpliGraph's {name}",
        )
        rows = TripleRows(partial(_scores, model, keys["entities"], keys["relations"]), 1)
        return LibraryScorer(
            name, ids, rows, None, ["scored by AmpliGraph's predict; scores tie only if they are equal"]
        )


def _keys(model: Any, kind: str) -> Any:
    """Return the model's own names of its entities or relations, in the order of its ids: an array of str or int64."""
    n = model.get_count(KINDS[kind])
    labels = np.asarray(model.get_indexes(np.arange(n), KINDS[kind], "ind2raw")).astype(np.str_)
    for keys in (labels, labels.astype(np.int64) if all(map(str.isdecimal, labels.tolist())) else labels):
        with redirect_stdout(StringIO()):  # AmpliGraph prints how many labels it does not know
            found = model.get_indexes(keys, KINDS[kind], "raw2ind")
        if len(found) == n:
            return keys
    raise ScoreError(
        f"AmpliGraph's {type(model).__name__} does not find its own {kind} (such as {str(labels[0])!r}) by their "
        "labels; were they strings or integers in training?"
    )


def _labels_of_integers(ids: Any, keys: dict[str, Any], dataset: Dataset, name: str) -> tuple[tuple[str, ...], ...]:
    """Return the labels of a model that was fitted to integers; `ids` gives the label of each integer."""
    if any(values.dtype.kind != "i" for values in keys.values()):
        raise ScoreError(
            f"AmpliGraph's {name} knows its labels (such as {str(keys['entities'][0])!r}), so ids= has no meaning; "
            "leave it out"
        )
    said = map_ids(dataset, "ampligraph", ids, n_entities=None, n_relations=None, name=f"AmpliGraph's {name}")
    labels = {"entities": said.entity_labels, "relations": said.relation_labels}
    for kind, values in keys.items():
        if values.max(initial=-1) >= len(labels[kind]):
            raise ScoreError(
                f"AmpliGraph's {name} was fitted to {kind} up to {values.max()}, but ids= has {len(labels[kind])} "
                f"labels of {kind}"
            )
    return tuple(tuple(labels[kind][key] for key in keys[kind]) for kind in KINDS)


def _scores(model: Any, entities: Any, relations: Any, s: Ids, p: Ids, o: Ids) -> Scores:
    """Return the scores of triples."""
    triples = np.stack([entities[s], relations[p], entities[o]], axis=1)
    scores = np.asarray(model.predict(triples, batch_size=BATCH_SIZE))
    if scores.shape != (len(triples),):
        raise ScoreError(
            f"AmpliGraph's predict returned scores of shape {scores.shape} for {len(triples)} triples, all of "
            "them with labels that the model knows"
        )
    return scores
