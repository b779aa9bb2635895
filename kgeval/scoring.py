"""What can score triples, and the adapters that give every such thing the same face."""

from __future__ import annotations

import inspect
import threading
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, check_one_of
from kgeval.dataset import Dataset, triple_labels
from kgeval.errors import ScoreError
from kgeval.kernels.geometry import GEOMETRIES, MAX_DIMENSION, Reals, Vectors, exact_pair_scores
from kgeval.queries import SIDES, Queries

Scores = npt.NDArray[Any]

MAX_PAIRS = 1 << 20
ROW_BATCH_BYTES = 1 << 26
MOST_QUERIES = 1024


class TripleScorer(typing.Protocol):
    """The simplest scorer: a function of three equal-length int64 arrays, one score per triple."""

    def __call__(self, s: Ids, p: Ids, o: Ids, /) -> Any:
        """Return scores, shape (n,); higher is more plausible."""


class MatrixScorer(typing.Protocol):
    """A scorer of whole rows; numpy or torch. One of the two methods is enough for one side.

    A method that also takes ``candidates=`` (int64 ids) is asked for these columns only.
    """

    def score_objects(self, s: Ids, p: Ids) -> Any:
        """Return scores of (s, p, every entity), shape (n, entities)."""

    def score_subjects(self, p: Ids, o: Ids) -> Any:
        """Return scores of (every entity, p, o), shape (n, entities)."""


class GeometryScorer(typing.Protocol):
    """An embedding model that says how its vectors meet; the exact kernels rank it.

    ``geometry`` is ``"dot"``, ``"l1"``, ``"l2"`` or ``"modulus"`` (see `kgeval.kernels.geometry`).
    The methods are called one at a time; candidate vectors must stay as they are during a run.
    """

    geometry: str

    def query_vectors(self, side: str, given: Ids, relation: Ids) -> Reals:
        """Return one vector per query that asks `side`, shape (n, d); row by row the same in any batch."""

    def candidate_vectors(self, side: str) -> Vectors:
        """Return one vector per entity, shape (entities, d)."""


class RowScorer(typing.Protocol):
    """The common face of all adapters."""

    @property
    def kind(self) -> str:
        """``"function"``, ``"matrix"`` or ``"geometry"``."""

    @property
    def name(self) -> str:
        """What messages call the scorer."""

    def rows(self, side: str, given: Ids, relation: Ids, candidates: Ids) -> Scores:
        """Return the scores of each query with each candidate, shape (queries, candidates)."""


@dataclass(frozen=True)
class Limits:
    """How much is done at a time; nothing here changes a number.

    Parameters
    ----------
    batch_size : int, optional
        Queries at a time.
    block_size : int, optional
        Candidates at a time, where the scorer can be asked for some only.
    max_pairs : int
        The longest arrays that a function ``score(s, p, o)`` is given.
    """

    batch_size: int | None = None
    block_size: int | None = None
    max_pairs: int = MAX_PAIRS


@dataclass(frozen=True)
class FunctionRows:
    """Rows from a function ``score(s, p, o)``."""

    function: TripleScorer
    limits: Limits
    name: str
    kind: str = "function"

    def rows(self, side: str, given: Ids, relation: Ids, candidates: Ids) -> Scores:
        """See `RowScorer`."""
        width = min(len(candidates), self.limits.max_pairs, self.limits.block_size or len(candidates))
        height = max(1, self.limits.max_pairs // width)
        result: Scores | None = None
        for top in range(0, len(given), height):
            for left in range(0, len(candidates), width):
                r, c = slice(top, top + height), slice(left, left + width)
                part = self._block(side, given[r], relation[r], candidates[c])
                if part.shape == (len(given), len(candidates)):
                    return part
                if result is None:
                    result = np.empty((len(given), len(candidates)), dtype=part.dtype)
                if part.dtype != result.dtype:
                    raise ScoreError(f"{self.name} gave {result.dtype} scores, then {part.dtype}; keep to one dtype")
                result[r, c] = part
        return np.empty((0, len(candidates))) if result is None else result

    def _block(self, side: str, given: Ids, relation: Ids, candidates: Ids) -> Scores:
        n, c = len(given), len(candidates)
        fixed, asked = np.repeat(given, c), np.tile(candidates, n)
        s, o = (asked, fixed) if side == "subject" else (fixed, asked)
        return self.pairs(s, np.repeat(relation, c), o).reshape(n, c)

    def pairs(self, s: Ids, p: Ids, o: Ids) -> Scores:
        """Return the scores of triples, shape (n,), from one call."""
        with _explained(self.name, len(s), "triples"):
            raw = self.function(s, p, o)
        scores = as_scores(raw, self.name)
        if scores.shape != s.shape:
            hint = "" if scores.size == len(s) else "; the function must score each triple by itself"
            raise ScoreError(
                f"{self.name} was given {len(s)} triples and must return shape ({len(s)},); got {scores.shape}{hint}"
            )
        return scores


@dataclass(frozen=True)
class MatrixRows:
    """Rows from an object with ``score_objects`` and ``score_subjects``."""

    scorer: Any
    n_entities: int
    limits: Limits
    name: str
    kind: str = "matrix"

    def rows(self, side: str, given: Ids, relation: Ids, candidates: Ids) -> Scores:
        """See `RowScorer`."""
        if not self.takes_candidates(side):
            scores = self._call(side, given, relation, None)
            return scores if len(candidates) == self.n_entities else scores[:, candidates]
        width = min(len(candidates), self.limits.block_size or len(candidates))
        if width == len(candidates):
            return self._call(side, given, relation, candidates)
        parts = [
            self._call(side, given, relation, candidates[left : left + width]).copy()  # it may reuse its buffer
            for left in range(0, len(candidates), width)
        ]
        if len({part.dtype for part in parts}) > 1:
            raise ScoreError(f"{self.name} gave scores of different dtypes; keep to one dtype")
        return np.concatenate(parts, axis=1)

    def takes_candidates(self, side: str) -> bool:
        """Tell whether the method of `side` can be asked for some columns only."""
        try:
            return "candidates" in inspect.signature(self._method(side)).parameters
        except (TypeError, ValueError):
            return False

    def _method(self, side: str) -> Any:
        method = getattr(self.scorer, f"score_{side}s", None)
        if method is None:
            raise ScoreError(
                f"{self.name} has no score_{side}s, which the {side} side needs; add it, or evaluate one side: "
                f"Protocol(sides=({next(other for other in SIDES if other != side)!r},))"
            )
        return method

    def _call(self, side: str, given: Ids, relation: Ids, candidates: Ids | None) -> Scores:
        arguments = (relation, given) if side == "subject" else (given, relation)
        options = {} if candidates is None else {"candidates": candidates.copy()}
        with _explained(f"{self.name}.score_{side}s", len(given), "queries"):
            raw = self._method(side)(*(argument.copy() for argument in arguments), **options)
        scores = as_scores(raw, self.name)
        wanted = (len(given), self.n_entities if candidates is None else len(candidates))
        if scores.shape != wanted:
            hint = "; is it transposed?" if scores.shape == wanted[::-1] else ""
            raise ScoreError(
                f"{self.name}.score_{side}s must return shape (queries, candidates) = {wanted}; "
                f"got {scores.shape}{hint}"
            )
        return scores


@dataclass(frozen=True)
class GeometryRows:
    """Exact rows from an embedding model; the ranker itself takes the faster kernels instead."""

    model: GeometryScorer
    n_entities: int
    name: str
    kind: str = "geometry"
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def queries(self, side: str, given: Ids, relation: Ids) -> Reals:
        """Return the query vectors as float64, shape (n, d), checked."""
        with self.lock, _explained(f"{self.name}.query_vectors", len(given), "queries"):
            raw = as_scores(self.model.query_vectors(side, given.copy(), relation.copy()), self.name)
            vectors = np.array(raw, dtype=np.float64, order="C")  # a copy: the model may reuse its buffer
        if vectors.ndim != 2 or len(vectors) != len(given):
            raise ScoreError(f"{self.name}.query_vectors must return shape ({len(given)}, d); got {vectors.shape}")
        return vectors

    def vectors(self, side: str, candidates: Ids) -> Vectors:
        """Return the candidate vectors in their own precision, shape (candidates, d), checked."""
        raw = as_scores(self.model.candidate_vectors(side), self.name)
        if raw.ndim != 2 or len(raw) != self.n_entities or not 1 <= raw.shape[1] <= MAX_DIMENSION:
            raise ScoreError(
                f"{self.name}.candidate_vectors({side!r}) must return shape ({self.n_entities}, d), one row per "
                f"entity; got {raw.shape}"
            )
        if self.model.geometry == "modulus" and raw.shape[1] % 2:
            raise ScoreError(f"{self.name}: geometry 'modulus' needs an even number of columns; got {raw.shape[1]}")
        if raw.dtype not in (np.float32, np.float64):
            raw = raw.astype(np.float64)
        return raw if len(candidates) == self.n_entities else raw[candidates]

    def rows(self, side: str, given: Ids, relation: Ids, candidates: Ids) -> Scores:
        """See `RowScorer`."""
        q, e = self.queries(side, given, relation), self.vectors(side, candidates)
        check_width(q, e, self.name)
        r, c = np.repeat(np.arange(len(q)), len(e)), np.tile(np.arange(len(e)), len(q))
        return exact_pair_scores(self.model.geometry, q, e, r, c).reshape(len(q), len(e))


def as_row_scorer(scorer: Any, n_entities: int, limits: Limits | None = None) -> RowScorer:
    """Wrap any scorer; what it can do decides: geometry before matrix before function.

    Raises
    ------
    ScoreError
        If `scorer` is none of the three.
    """
    name = getattr(scorer, "__name__", type(scorer).__name__)
    limits = limits or Limits()
    if isinstance(scorer, type):
        raise ScoreError(f"expected a scorer; got the class {name}. Make an instance of it first")
    if hasattr(scorer, "query_vectors") and hasattr(scorer, "candidate_vectors"):
        check_one_of(f"{name}.geometry", getattr(scorer, "geometry", None), GEOMETRIES, ScoreError)
        return GeometryRows(scorer, n_entities, name)
    if hasattr(scorer, "score_objects") or hasattr(scorer, "score_subjects"):
        return MatrixRows(scorer, n_entities, limits, name)
    if callable(scorer):
        return FunctionRows(scorer, limits, name)
    raise ScoreError(
        f"expected a function score(s, p, o), an object with score_objects and score_subjects, or a model of "
        f"kgeval.models; got {type(scorer).__name__}"
    )


def as_scores(values: Any, name: str) -> Scores:
    """Return what a scorer gave as a numeric numpy array; torch tensors are fetched from their device.

    Raises
    ------
    ScoreError
        If the dtype cannot be ranked exactly (bool, complex, object, string, masked, dates).
    """
    if values is None:
        raise ScoreError(f"{name} returned None; does it lack a return?")
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        values = values.detach().cpu()
        values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    if isinstance(values, np.ma.MaskedArray):
        raise ScoreError(f"{name} gave a masked array; fill it first (a masked candidate still has a rank)")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ScoreError(f"{name} gave rows of different lengths: {error}") from error
    if array.dtype.kind not in "fiu":
        raise ScoreError(f"{name} must give real numbers (float or integer); got dtype {array.dtype}")
    return array


def check_no_nan(scores: Scores, queries: Queries, candidates: Ids, dataset: Dataset, name: str) -> float:
    """Return the largest score; if one is NaN, raise a ScoreError that names its query and candidate."""
    largest = float(np.max(scores)) if scores.size else 0.0
    if not np.isnan(largest):
        return largest
    at = np.argwhere(np.isnan(scores))
    query = describe_query(dataset, queries.side, queries.given[at[0, 0]], queries.relation[at[0, 0]])
    raise ScoreError(
        f"{name} gave NaN for {query} at candidate {dataset.entities.labels[candidates[at[0, 1]]]!r} and "
        f"{len(at) - 1} more of the {scores.size} scores of {len(scores)} queries; a NaN cannot be ranked. "
        "Check the parameters of these entities, or run kgeval.check_scorer"
    )


def row_batch(limits: Limits, n_candidates: int) -> int:
    """Return how many queries whole rows are asked for at a time."""
    return limits.batch_size or max(1, min(MOST_QUERIES, ROW_BATCH_BYTES // (8 * n_candidates)))


def pair_side(rows: RowScorer) -> str:
    """Return the side that is asked where single triples are scored: object, unless a scorer has subjects only."""
    return "subject" if isinstance(rows, MatrixRows) and not hasattr(rows.scorer, "score_objects") else "object"


def score_triples(rows: RowScorer, triples: Ids) -> Scores:
    """Return the score of each triple, as the ranker has it when it asks `pair_side`.

    A function is called with at most ``max_pairs`` triples at a time. Other scorers are asked each distinct query
    once, in batches; embedding models are exact in float64.

    Parameters
    ----------
    rows : RowScorer
        See `as_row_scorer`.
    triples : int64 array, shape (n, 3)

    Returns
    -------
    array, shape (n,)
        In the scorer's dtype; float64 where n is 0.

    Raises
    ------
    ScoreError
        If shape or dtype are wrong; NaN is left to `check_triple_scores`.

    Examples
    --------
    >>> rows = as_row_scorer(lambda s, p, o: s + 10 * o, n_entities=3)
    >>> score_triples(rows, np.array([[0, 0, 1], [2, 0, 1]]))
    array([10, 12])
    """
    scores: Scores | None = None
    for places, part in _scored_parts(rows, triples):
        if scores is None:
            scores = np.empty(len(triples), dtype=part.dtype)
        if part.dtype != scores.dtype:
            raise ScoreError(f"{rows.name} gave {scores.dtype} scores, then {part.dtype}; keep to one dtype")
        scores[places] = part
    return np.empty(0) if scores is None else scores


def _scored_parts(rows: RowScorer, triples: Ids) -> Iterator[tuple[Ids, Scores]]:
    """Yield places in `triples` with their scores, which are good until the next ones are asked for."""
    if isinstance(rows, FunctionRows):
        for start in range(0, len(triples), rows.limits.max_pairs):
            places = np.arange(start, min(start + rows.limits.max_pairs, len(triples)))
            yield places, rows.pairs(*(triples[places, column] for column in range(3)))
        return
    queries = Queries.of(triples, pair_side(rows))
    size = MOST_QUERIES
    if isinstance(rows, MatrixRows):
        size = row_batch(rows.limits, rows.n_entities)
    for start in range(0, len(queries), size):
        part = queries.part(start, min(start + size, len(queries)))
        yield part.rows, _answer_scores(rows, part)


def _answer_scores(rows: RowScorer, queries: Queries) -> Scores:
    """Return the score of each answer of `queries`."""
    row_of = np.repeat(np.arange(len(queries)), np.diff(queries.offsets))
    asked, column_of = np.unique(queries.answers, return_inverse=True)
    if isinstance(rows, GeometryRows):
        vectors = rows.queries(queries.side, queries.given, queries.relation)
        candidates = rows.vectors(queries.side, asked)
        check_width(vectors, candidates, rows.name)
        return exact_pair_scores(rows.model.geometry, vectors, candidates, row_of, column_of.reshape(-1))
    scores = rows.rows(queries.side, queries.given, queries.relation, asked)
    return np.asarray(scores[row_of, column_of])


def check_triple_scores(scores: Scores, triples: Ids, dataset: Dataset, rows: RowScorer) -> None:
    """Raise a ScoreError that names the first triple whose score is NaN, or infinite from an embedding model."""
    wrong = np.isnan(scores) if rows.kind != "geometry" else ~np.isfinite(scores)
    if wrong.any():
        place = int(np.argmax(wrong))
        what = "NaN" if np.isnan(scores[place]) else str(scores[place])
        raise ScoreError(
            f"{rows.name} gave {what} for {triple_labels(dataset, *triples[place])} and {int(wrong.sum()) - 1} more of "
            f"the {len(scores)} triples are like it; such a score cannot be compared. Check the parameters of these "
            "entities, or run kgeval.check_scorer"
        )


def check_width(queries: Vectors, candidates: Vectors, name: str) -> None:
    """Raise a ScoreError unless query and candidate vectors have the same number of dimensions."""
    if queries.shape[1] != candidates.shape[1]:
        raise ScoreError(f"{name}: query vectors have {queries.shape[1]} dimensions, candidates {candidates.shape[1]}")


def describe_query(dataset: Dataset, side: str, given: int, relation: int) -> str:
    """Return a query as text with labels, for messages."""
    entity, predicate = dataset.entities.labels[given], dataset.relations.labels[relation]
    return f"(?, {predicate!r}, {entity!r})" if side == "subject" else f"({entity!r}, {predicate!r}, ?)"


def missing_ids(scorer: Any, what: str) -> Ids:
    """Return the ids that `scorer` says it has no vector for (`missing_entities`, `missing_relations`)."""
    return np.asarray(getattr(scorer, f"missing_{what}", ()), dtype=np.int64)


@contextmanager
def _explained(name: str, n: int, what: str) -> Iterator[None]:
    try:
        yield
    except ScoreError:
        raise
    except Exception as error:
        raise ScoreError(f"{name} raised {type(error).__name__} when given {n} {what}: {error}") from error
