"""`from_encoder` makes a scorer from a bi-encoder: a model that encodes texts of entities and of queries separately."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.adapters.entity_texts import MISSING, EntityTexts, Texts, both_texts, joined
from kgeval.base.checks import (
    Ids,
    Scores,
    check_one_of,
    check_positive_int,
    counted,
    cut_label,
    names_unknown_arguments,
)
from kgeval.data.dataset import Dataset
from kgeval.errors import ScoreError
from kgeval.scorers.rounding import TOLERANCE, TOLERANCE_OF_HALVES
from kgeval.scorers.values import as_scores

BATCH_SIZE = 1024
GEOMETRIES = ("dot", "l1", "l2")
N_ENCODED_AGAIN = 3  # texts that are encoded a second time as a check


@names_unknown_arguments()
def from_encoder(
    encode: Callable[[list[str]], Any],
    encode_query: Callable[[list[str], list[str], str], Any],
    *,
    texts: Texts | None = None,
    relation_texts: Texts | None = None,
    geometry: str = "dot",
    batch_size: int = BATCH_SIZE,
    missing: str = "error",
) -> EncoderAdapter:
    """Make an adapter of a model that encodes entities and queries separately (a bi-encoder, such as SimKGC).

    Each text of an entity is encoded once; a few texts are encoded a second time as a check. `kgeval.evaluate` then
    ranks the vectors with its exact kernels.

    Parameters
    ----------
    encode : function
        ``encode(texts)`` gets a list of n texts of entities, and returns their vectors, shape (n, d). A vector must
        depend only on its text, not on the other texts of the call. As a check, a few texts are encoded again, each
        alone, and must get the same vectors.
    encode_query : function
        ``encode_query(entity_texts, relation_texts, side)`` gets two lists of n texts and the missing side,
        ``"object"`` or ``"subject"``, and returns the vectors of the queries, shape (n, d). For the subject side, most
        models expect the text of the inverse relation; this function must then make that text.
    texts, relation_texts, missing
        See `from_texts`.
    geometry : str
        How a score is computed from the vectors of a query and an entity. ``"dot"``: the dot product (for cosines,
        normalise the vectors in both functions). ``"l1"`` or ``"l2"``: minus the distance.
    batch_size : int
        The largest number of texts in one call.

    Returns
    -------
    EncoderAdapter

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_frames(train=[("a", "next", "b")], test=[("b", "next", "c")])
    >>> place = lambda texts: np.array([[ord(text)] for text in texts], dtype=float)
    >>> step = lambda entities, relations, side: place(entities) + (1 if side == "object" else -1)
    >>> evaluate(from_encoder(place, step, geometry="l1"), dataset)["mrr"]
    1.0
    """
    for name, function in (("encode", encode), ("encode_query", encode_query)):
        if not callable(function):
            raise ScoreError(f"{name} must be a function; got {cut_label(repr(function))}")
    check_one_of("geometry", geometry, GEOMETRIES, ScoreError)
    check_one_of("missing", missing, MISSING, ScoreError)
    check_positive_int("batch_size", batch_size, ScoreError)
    return EncoderAdapter(encode, encode_query, texts, relation_texts, geometry, batch_size, missing)


@dataclass(frozen=True, eq=False)
class EncoderAdapter:
    """The adapter of a model that encodes texts; `from_encoder` makes it and describes its attributes."""

    encode: Callable[[list[str]], Any]
    encode_query: Callable[[list[str], list[str], str], Any]
    texts: Texts | None
    relation_texts: Texts | None
    geometry: str
    batch_size: int
    missing: str

    def for_dataset(self, dataset: Dataset) -> EncoderScorer:
        """Return the scorer for a dataset; raise a DataError if an entity or relation has no text."""
        entities, relations = both_texts(dataset, self.texts, self.relation_texts, self.missing)
        return EncoderScorer(self, entities, relations)


class EncoderScorer:
    """An embedding model whose vectors are encoded texts; implements `kgeval.scorers.row_scorers.GeometryScorer`.

    Parameters
    ----------
    adapter : EncoderAdapter
    entities, relations : EntityTexts
    """

    def __init__(self, adapter: EncoderAdapter, entities: EntityTexts, relations: EntityTexts) -> None:
        self.__name__ = getattr(adapter.encode, "__name__", type(adapter.encode).__name__)
        self.adapter, self.entities, self.relations = adapter, entities, relations
        self.geometry = adapter.geometry
        self.notes = (*entities.notes, *relations.notes)
        self._candidates: Scores | None = None

    def query_vectors(self, side: str, given: Ids, relation: Ids) -> Scores:
        """Return the vectors of queries, shape (n, d); each distinct pair of texts of the call is encoded once."""
        n_relations = len(self.relations.distinct)
        codes, place_of = np.unique(
            self.entities.of[given] * n_relations + self.relations.of[relation], return_inverse=True
        )
        entities = [self.entities.distinct[i] for i in (codes // n_relations).tolist()]
        relations = [self.relations.distinct[i] for i in (codes % n_relations).tolist()]
        vectors = self._encoded("encode_query", self.adapter.encode_query, (entities, relations), side)
        return np.asarray(vectors[place_of.reshape(-1)])

    def candidate_vectors(self, side: str) -> Scores:
        """Return the vectors of all entities, shape (entities, d); they are encoded at the first call."""
        if self._candidates is None:
            texts = list(self.entities.distinct)
            vectors = self._encoded("encode", self.adapter.encode, (texts,))
            self._check_alone(texts, vectors)
            self._candidates = np.asarray(vectors[self.entities.of])
        return self._candidates

    def _check_alone(self, texts: list[str], vectors: Scores) -> None:
        """Encode a few texts again, each alone; raise a ScoreError if a vector differs by more than rounding errors."""
        tolerance = TOLERANCE_OF_HALVES if vectors.dtype.itemsize == 2 else TOLERANCE
        for i in np.unique(np.linspace(0, len(texts) - 1, N_ENCODED_AGAIN).astype(np.int64)).tolist():
            alone = self._encoded("encode", self.adapter.encode, ([texts[i]],))[0].astype(np.float64)
            vector = vectors[i].astype(np.float64)
            if alone.shape != vector.shape or np.abs(alone - vector).max() > tolerance * np.abs(vectors).max():
                raise ScoreError(
                    f"encode gave {cut_label(texts[i])!r} one vector in a batch and another vector alone; a vector "
                    "must depend on its own text only: is dropout still on (module.eval()), or are vectors normalised "
                    "over the batch?"
                )

    def _encoded(self, name: str, encode: Callable[..., Any], lists: tuple[list[str], ...], *further: str) -> Scores:
        """Encode texts in batches, and check the shape of the vectors."""
        n, size, parts = len(lists[0]), self.adapter.batch_size, []
        for start in range(0, n, size):
            batch = [texts[start : start + size] for texts in lists]
            vectors = as_scores(encode(*batch, *further), name)
            if vectors.ndim != 2 or len(vectors) != len(batch[0]):
                raise ScoreError(
                    f"{name} was given {counted(len(batch[0]), 'text')}, first {cut_label(batch[0][0])!r}, and must "
                    f"return shape ({len(batch[0])}, d); got {vectors.shape}"
                )
            parts.append(vectors)
        return joined(name, parts)
