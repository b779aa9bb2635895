"""The three kinds of scorers, and the adapters that give all kinds the same interface (`RowScorer`).

The relation side, (s, ?, o), may have an adapter of its own: `on_side` chooses it.

A scorer is a function of triples (adapter `FunctionRows`), an object that scores each query with many candidates in one
call (adapter `MatrixRows`) or an embedding model (adapter `GeometryRows`). `as_row_scorer` chooses the adapter;
`evaluate`, `classify` and `check_scorer` call it. `score_triples` scores single triples, for `classify`.
"""

from __future__ import annotations

import inspect
import math
import sys
import threading
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, Reals, Scores, check_one_of
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.keys import FactColumns, FurtherColumn
from kgeval.data.queries import Queries
from kgeval.data.sides import RELATION, SIDES, side_of
from kgeval.errors import ScoreError
from kgeval.kernels.arrays import (
    Array,
    as_double,
    check_no_bits,
    double_copy,
    empty_like,
    float_tensor,
    is_tensor,
    library,
    on_host,
)
from kgeval.kernels.geometry import GEOMETRIES, MAX_DIMENSION, Vectors, exact_pair_scores, exact_scores, pair_parts
from kgeval.kernels.mapped_tables import StreamedTable, check_file, from_float16, streamed, taken
from kgeval.kernels.memory import MEMORY_SHARE, free_bytes, is_out_of_memory
from kgeval.scorers.call_size import FIRST_PAIRS, Pace
from kgeval.scorers.libraries import refuse_library_model
from kgeval.scorers.models import EmbeddingModel
from kgeval.scorers.scorer_calls import Parts, naming_the_scorer, queries_text, triples_text
from kgeval.scorers.taken_columns import OF_ENTITIES, OF_QUERIES, column_arguments, columns_by_method, parameters_of
from kgeval.scorers.values import as_rows, as_scores, check_same_dtype

MAX_PAIRS = 1 << 17  # the ids and scores of this many triples fit in the cache of a processor
ROW_BATCH_BYTES = 1 << 26
# A scorer that takes candidates is asked for blocks of at most so many candidates, each with many queries: it often
# copies the vectors of the candidates, and one copy then serves all queries of the call. So its batches are larger.
BLOCK_CANDIDATES = 1 << 17
BLOCK_BATCH_BYTES = 1 << 30
FUNCTION_BATCH_BYTES = 1 << 23
BATCH_SECONDS = 1.0
# Such batches take longer, too: the copies for few queries would make the scorer look slow, and the batches stay small.
BLOCK_BATCH_SECONDS = 8.0
MIN_QUERIES, MAX_QUERIES = 4, 1024


class TripleScorer(typing.Protocol):
    """The simplest scorer: a function of the subject, relation and object ids of n triples (int64 arrays).

    A function with further parameters that are named as columns of the dataset gets these columns by their names:
    ``score(s, p, o, time)``. ``time`` is the dataset's `Dataset.time_column`, whatever its name.
    """

    def __call__(self, s: Ids, p: Ids, o: Ids, /) -> Any:
        """Return one score per triple, shape (n,); a higher score means that the triple is more plausible."""


class GeometryScorer(typing.Protocol):
    """An embedding model that returns vectors of queries and candidates; kgeval computes scores from these vectors.

    ``geometry`` names the formula that computes a score from two vectors: ``"dot"``, ``"l1"``, ``"l2"`` or
    ``"modulus"`` (see `kgeval.kernels.geometry`). The methods are never called in parallel. Candidate vectors must not
    change during a run.
    """

    geometry: str

    def query_vectors(self, side: str, given: Ids, relation: Ids) -> Reals:
        """Return one vector per query, shape (n, d); a vector must not depend on the other queries of the call."""

    def candidate_vectors(self, side: str) -> Vectors:
        """Return the vectors of all entities as candidates for `side`, shape (entities, d)."""


class RowScorer(typing.Protocol):
    """The interface of all adapters: `rows` scores queries with candidates."""

    @property
    def kind(self) -> str:
        """``"function"``, ``"matrix"`` or ``"geometry"``."""

    @property
    def name(self) -> str:
        """The scorer's name in messages."""

    @property
    def pace(self) -> Pace | None:
        """The `Pace` that measures the scorer's calls and chooses their sizes; None for an embedding model."""

    @property
    def columns(self) -> tuple[FurtherColumn, ...]:
        """The further columns of the dataset that the scorer takes, perhaps not on each side; see `on_side`."""

    @property
    def relations(self) -> MatrixRows | None:
        """The adapter of the scorer's method ``score_relations``, if it has one; see `on_side`."""

    def rows(self, side: str, parts: Parts, candidates: Ids) -> Array:
        """Score each query with each candidate.

        Parameters
        ----------
        side : str
            The missing side of the queries; the scorer is `on_side` of it.
        parts : tuple of int64 arrays, shape (queries,)
            The given columns of the queries, in the order of `Side.split`: relation and given entity (on the relation
            side: subject and object), and the codes of the `columns` of `on_side`.
        candidates : int64 array, shape (candidates,)
            Ids of the candidates.

        Returns
        -------
        array or tensor, shape (queries, candidates)
            The scores, on the device on which the scorer computed them.
        """


@dataclass(frozen=True)
class Limits:
    """The number of scores computed at once, and the device; scores and ranks do not depend on these settings.

    Parameters
    ----------
    batch_size : int, optional
        The largest number of pairs of a query and a candidate that are scored at once; by default, each kind of scorer
        has a number that suits it and the free memory. A scorer that scores whole rows scores at least one.
    device : str, optional
        The device on which embedding models are ranked; see `kgeval.kernels.backends.check_device`.
    """

    batch_size: int | None = None
    device: str | None = None


class _IdArrays:
    """Three int64 arrays for the ids that are passed to a function; each call uses the same memory.

    Several threads must not share an object of this class.

    If the function has kept an array (or a view of it, or a tensor that shares its memory), this array is not used
    again.
    """

    def __init__(self) -> None:
        self._arrays: list[Ids] = []
        self._counts: list[int] = []  # the reference count of each array while only this object refers to it

    def shaped(self, n_queries: int, n_candidates: int) -> list[Ids]:
        """Return three arrays of this shape, with any values."""
        n = n_queries * n_candidates
        if not self._arrays or self._reference_counts() != self._counts or len(self._arrays[0]) < n:
            self._arrays = [np.empty(n, dtype=np.int64) for _ in range(3)]
            self._counts = self._reference_counts()
        return [array[:n].reshape(n_queries, n_candidates) for array in self._arrays]

    def _reference_counts(self) -> list[int]:
        return [sys.getrefcount(self._arrays[i]) for i in range(len(self._arrays))]

    def __reduce__(self) -> Any:
        return _IdArrays, ()


@dataclass(frozen=True)
class FunctionRows:
    """The adapter of a function ``score(s, p, o)``: returns one row of scores per query."""

    function: TripleScorer
    limits: Limits
    name: str
    columns: tuple[FurtherColumn, ...] = field(default=(), repr=False, compare=False)
    relations: MatrixRows | None = field(default=None, repr=False, compare=False)
    kind: str = "function"
    pace: Pace = field(default_factory=Pace, repr=False, compare=False)
    arrays: _IdArrays = field(default_factory=_IdArrays, repr=False, compare=False)

    def rows(self, side: str, parts: Parts, candidates: Ids) -> Array:
        """See `RowScorer`."""
        calls = _Calls("", self.largest_call, FIRST_PAIRS)

        def score(r: slice, c: slice) -> Array:
            return self._block(side, tuple(part[r] for part in parts), candidates[c])

        return _scored_in_calls(self, (len(parts[0]), len(candidates)), calls, score)

    @property
    def largest_call(self) -> int:
        """The largest number of triples in one call; the scorers of `kgeval.adapters.from_texts` may lower it."""
        own, given = getattr(self.function, "max_pairs", None), self.limits.batch_size or MAX_PAIRS
        return min(given, own) if isinstance(own, int) else given

    def _block(self, side: str, parts: Parts, candidates: Ids) -> Array:
        # Cell (i, j) of each array belongs to query i with candidate j.
        shape = len(parts[0]), len(candidates)
        arrays = self.arrays.shaped(*shape)
        for array, values in zip(arrays, side_of(side).in_place(tuple(part[:, None] for part in parts), candidates)):
            array[...] = values
        s, p, o = (array.reshape(-1) for array in arrays)
        codes = (np.repeat(part, shape[1]) for part in parts[2:])
        return self.pairs(s, p, o, *codes).reshape(shape)

    def pairs(self, s: Ids, p: Ids, o: Ids, *codes: Ids) -> Array:
        """Return the scores of n triples, shape (n,), from one call of the function; tensors stay on their device.

        `codes` holds an array for each of the `columns` that the function takes.
        """
        values = column_arguments(self.columns, codes)
        with naming_the_scorer(self.name, lambda: triples_text(s, p, o), self.function):
            raw = self.function(s, p, o, **values)
        scores = as_rows(raw, self.name)
        shape = tuple(scores.shape)
        if shape != s.shape:
            hint = "" if math.prod(shape) == len(s) else "; the function must score each triple by itself"
            raise ScoreError(
                f"{self.name} was given {len(s)} triples and must return shape ({len(s)},); got {shape}{hint}"
            )
        return scores


@dataclass(frozen=True)
class MatrixRows:
    """The adapter of an object with ``score_objects`` and ``score_subjects``: returns one row of scores per query.

    The field `relations` of an adapter is the `MatrixRows` of the method ``score_relations``, if the scorer has it; in
    this one, `answers` is ``"relations"``, and `n_answers` is the number of relations.
    """

    scorer: Any
    n_answers: int
    limits: Limits
    name: str
    columns: tuple[FurtherColumn, ...] = field(default=(), repr=False, compare=False)
    relations: MatrixRows | None = field(default=None, repr=False, compare=False)
    answers: str = "entities"
    kind: str = "matrix"
    pace: Pace = field(default_factory=Pace, repr=False, compare=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def rows(self, side: str, parts: Parts, candidates: Ids) -> Array:
        """See `RowScorer`."""
        takes_candidates = self.takes_candidates(side)
        all_entities = None if takes_candidates else self.n_answers
        block_size = min(BLOCK_CANDIDATES, self.limits.batch_size or BLOCK_CANDIDATES) if takes_candidates else None
        per_query = all_entities or min(len(candidates), block_size or len(candidates))
        n_bytes = BLOCK_BATCH_BYTES if takes_candidates else ROW_BATCH_BYTES  # few calls copy few candidates
        n_in_memory = max(MIN_QUERIES, n_bytes // (8 * max(1, per_query)))
        limit = max(per_query, self.limits.batch_size or per_query * n_in_memory)
        calls = _Calls(side_of(side).method, limit, per_query, block_size, True, all_entities)
        are_all = _are_all(candidates, self.n_answers)

        def score(r: slice, c: slice) -> Array:
            scores = self._call(side, tuple(part[r] for part in parts), candidates[c] if takes_candidates else None)
            return scores if takes_candidates or are_all else scores[:, candidates]

        with self.lock:  # an embedding model with score_relations is ranked on several threads
            return _scored_in_calls(self, (len(parts[0]), len(candidates)), calls, score)

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that this adapter scores."""
        return (RELATION,) if self.answers == "relations" else SIDES

    def takes_candidates(self, side: str) -> bool:
        """Return whether the scorer can score only some of the candidates on `side`.

        True if the scorer's method for this side, such as ``score_objects``, has a parameter ``candidates``.
        """
        try:
            return "candidates" in inspect.signature(self._method(side)).parameters
        except (TypeError, ValueError):
            return False

    def _method(self, side: str) -> Any:
        method = getattr(self.scorer, side_of(side).method, None)
        if method is None:
            other = RELATION if self.relations is not None else next(name for name in SIDES if name != side)
            raise ScoreError(
                f"{self.name} has no {side_of(side).method}, which the {side} side needs; add it, or evaluate one "
                f"side: Protocol(sides=({other!r},))"
            )
        return method

    def _call(self, side: str, parts: Parts, candidates: Ids | None) -> Array:
        name, arguments = f"{self.name}.{side_of(side).method}", side_of(side).arguments(parts)
        options = {} if candidates is None else {"candidates": candidates.copy()}
        options |= column_arguments(on_side(self, side).columns, parts[2:])
        with naming_the_scorer(name, lambda: queries_text(side, parts)):
            raw = self._method(side)(*(argument.copy() for argument in arguments), **options)
        scores = as_rows(raw, self.name)
        shape, wanted = tuple(scores.shape), (len(parts[0]), self.n_answers if candidates is None else len(candidates))
        if shape != wanted:
            hint = "; is it transposed?" if shape == wanted[::-1] else ""
            raise ScoreError(f"{name} must return shape (queries, candidates) = {wanted}; got {shape}{hint}")
        return scores


@dataclass(frozen=True)
class GeometryRows:
    """The adapter of an embedding model: returns one row of exact scores per query.

    The ranker does not use these rows; it uses faster kernels, which give the same ranks.
    """

    model: GeometryScorer
    n_entities: int
    name: str
    columns: tuple[FurtherColumn, ...] = field(default=(), repr=False, compare=False)
    relations: MatrixRows | None = field(default=None, repr=False, compare=False)
    kind: str = "geometry"
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    pace: None = field(default=None, repr=False, compare=False)

    def queries(self, side: str, parts: Parts) -> Any:
        """Return the checked vectors of n queries as a float64 array or tensor, shape (n, d)."""
        relation, given, *codes = parts
        named = column_arguments(self.columns, codes)
        with self.lock, naming_the_scorer(f"{self.name}.query_vectors", lambda: queries_text(side, parts)):
            vectors = self._numbers(
                "query_vectors", self.model.query_vectors(side, given.copy(), relation.copy(), **named)
            )
            vectors = double_copy(vectors)  # a copy, since the model may reuse its buffer
        if vectors.ndim != 2 or len(vectors) != len(given):
            raise ScoreError(
                f"{self.name}.query_vectors must return shape ({len(given)}, d); got {tuple(vectors.shape)}"
            )
        return vectors

    def vectors(self, side: str, candidates: Ids) -> Any:
        """Return the checked vectors of `candidates`, shape (candidates, d), in the precision of the model.

        If all entities are candidates, a float32 or float64 table is not copied. A large table whose numbers must be
        converted, or whose rows are only in part candidates, becomes a `StreamedTable`.
        """
        with self.lock, naming_the_scorer(f"{self.name}.candidate_vectors", lambda: f"side {side!r}"):
            raw = self._numbers("candidate_vectors", self.model.candidate_vectors(side))
        check_file(raw)
        if raw.ndim != 2 or len(raw) != self.n_entities or not 1 <= raw.shape[1] <= MAX_DIMENSION:
            raise ScoreError(
                f"{self.name}.candidate_vectors({side!r}) must return shape ({self.n_entities}, d), one row per "
                f"entity; got {tuple(raw.shape)}"
            )
        n_parts = GEOMETRIES[self.model.geometry].n_parts
        if raw.shape[1] % n_parts:
            raise ScoreError(
                f"{self.name}: geometry {self.model.geometry!r} needs a multiple of {n_parts} columns; "
                f"got {raw.shape[1]}"
            )
        if library(raw) is np and raw.dtype not in (np.float32, np.float64):
            is_half = raw.dtype == np.float16 and raw.dtype.isnative
            raw = streamed(from_float16 if is_half else as_double, raw)  # changes no value
        if _are_all(candidates, self.n_entities):
            return raw
        return raw[candidates] if is_tensor(raw) else taken(raw, candidates)

    def _numbers(self, method: str, values: Any) -> Any:
        """Check vectors and return them: a float tensor or a streamed table unchanged, any other value as an array."""
        if isinstance(values, StreamedTable):
            return values
        tensor = float_tensor(values)
        if tensor is not None:
            return tensor
        numbers = as_scores(values, self.name)
        check_no_bits(f"{self.name}.{method}", numbers, ScoreError)
        return numbers

    def rows(self, side: str, parts: Parts, candidates: Ids) -> Scores:
        """See `RowScorer`."""
        e = on_host(self.vectors(side, candidates))  # before the queries: a clearer error if the table is too short
        q = on_host(self.queries(side, parts))
        check_dimensions(q, e, self.name)
        scores = np.empty((len(q), len(e)))  # float64; filled with one block of candidates at a time
        for part in pair_parts(len(e), e.shape[1]):
            vectors = e[part]
            for i in range(len(q)):
                scores[i, part] = exact_scores(self.model.geometry, q[i], vectors)
        return scores


@dataclass(frozen=True)
class PairRows:
    """The adapter of the relation side for a scorer without ``score_relations``: scores each triple by itself.

    A triple gets the score that it has in the query (s, p, ?), or in (?, p, o) if the scorer has no ``score_objects``.
    """

    inner: MatrixRows | GeometryRows

    @property
    def kind(self) -> str:
        """See `RowScorer`."""
        return self.inner.kind

    @property
    def name(self) -> str:
        """See `RowScorer`."""
        return self.inner.name

    @property
    def pace(self) -> Pace | None:
        """See `RowScorer`."""
        return self.inner.pace

    @property
    def columns(self) -> tuple[FurtherColumn, ...]:
        """See `RowScorer`."""
        return on_side(self.inner, pair_side(self.inner)).columns

    @property
    def relations(self) -> None:
        """See `RowScorer`."""

    def rows(self, side: str, parts: Parts, candidates: Ids) -> Array:
        """See `RowScorer`."""
        shape = len(parts[0]), len(candidates)
        given = tuple(np.repeat(part, shape[1]) for part in parts)
        triples = side_of(side).facts(given, np.tile(candidates, shape[0]))
        scores = score_triples(self.inner, triples)
        if self.kind == "geometry" and np.isinf(scores).any():
            s, p, o = triples[int(np.argmax(np.isinf(scores))), :3]
            raise ScoreError(
                f"{self.name}: the score of the triple with the ids ({s}, {p}, {o}) overflows float64. Did the "
                "training diverge?"
            )
        return scores.reshape(shape)


def on_side(rows: RowScorer, side: str) -> RowScorer:
    """Return the adapter that scores the queries of a side.

    On the relation side, this is the `MatrixRows` of ``score_relations`` if the scorer has this method, a function
    itself, and else `PairRows`; on the entity sides, `rows` itself. Its `columns` are those that the method of the side
    takes.

    Parameters
    ----------
    rows : RowScorer
        See `as_row_scorer`.
    side : str

    Examples
    --------
    >>> class Rows:
    ...     def score_objects(self, s, p):
    ...         return np.arange(3)[None, :] + 10.0 * p[:, None]
    >>> on_side(as_row_scorer(Rows(), 3), "relation").rows("relation", (np.array([0]), np.array([2])), np.arange(2))
    array([[ 2., 12.]])
    """
    if isinstance(rows, PairRows):
        return rows
    if side == RELATION and rows.relations is not None:
        return rows.relations
    if isinstance(rows, MatrixRows) and side in rows.sides:
        if not rows.columns:
            return rows
        taken = parameters_of(getattr(rows.scorer, side_of(side).method, None))
        return replace(rows, columns=tuple(column for column in rows.columns if column.parameter in taken))
    return PairRows(rows) if side == RELATION and isinstance(rows, (MatrixRows, GeometryRows)) else rows


def columns_taken(rows: RowScorer, sides: Sequence[str]) -> FactColumns:
    """Return the further columns that a scorer takes on each side, as the `scored` of `FactColumns`, without a key.

    Parameters
    ----------
    rows : RowScorer
    sides : sequence of str
    """
    by_side = [(side, tuple(column.name for column in on_side(rows, side).columns)) for side in sides]
    return FactColumns(tuple(dict.fromkeys(name for _, names in by_side for name in names)), (), tuple(by_side))


def _called(rows: RowScorer, side: str) -> tuple[RowScorer, str]:
    """Return the adapter and the side of the queries that are scored for queries of `side`; see `PairRows`."""
    of_side = on_side(rows, side)
    if not isinstance(of_side, PairRows):
        return of_side, side
    side = pair_side(of_side.inner)
    return on_side(of_side.inner, side), side


@dataclass(frozen=True)
class _Calls:
    """Settings that divide the scoring of queries with candidates into calls of a scorer; see `Pace.size`."""

    method: str  # the scorer's method; empty for a function
    limit: int  # the largest number of pairs in a call
    first: int  # the number of pairs in the first call
    block_size: int | None = None  # the largest number of candidates in a call
    has_whole_queries: bool = False  # whether a query is scored in one call, unless the call would take long
    all_entities: int | None = None  # the number of entities, if the method scores each query with all of them


def _scored_in_calls(
    rows: FunctionRows | MatrixRows, shape: tuple[int, int], calls: _Calls, score: Callable[[slice, slice], Array]
) -> Array:
    """Score queries with candidates, in as many calls as necessary; return an array of the given shape.

    ``score(r, c)`` makes one call: it returns the scores of queries r with candidates c. A call contains several
    queries, or a part of one query. In each block of candidates, the pairs of a query are scored before the pairs of
    the next query.
    """
    n_queries, n_candidates = shape
    width = max(1, min(n_candidates, calls.block_size or n_candidates))
    result: Array | None = None
    for left in range(0, n_candidates, width):
        right = min(left + width, n_candidates)
        per_query = calls.all_entities or right - left  # pairs that the scorer scores for a query
        row, column = 0, left
        while row < n_queries:
            unit = calls.all_entities or 1
            if calls.has_whole_queries and column == left and not rows.pace.is_long(per_query, calls.method):
                unit = per_query
            n = rows.pace.size(calls.limit, calls.first, unit, calls.method)
            if column == left and n >= per_query:
                r, c = slice(row, min(row + n // per_query, n_queries)), slice(left, right)
                n = (r.stop - r.start) * per_query
            else:
                r, c = slice(row, row + 1), slice(column, min(column + n, right))
                n = c.stop - c.start
            part = _one_call(rows, partial(score, r, c), n, calls)
            if part is None:
                continue
            rows.pace.scored((r.stop - r.start) * (c.stop - c.start))
            if part.shape == shape:
                return part
            if result is None:
                result = empty_like(part, shape)
            check_same_dtype(rows.name, result, part)
            result[r, c] = part
            row, column = (r.stop, left) if c.stop == right else (row, c.stop)
    return np.empty(shape) if result is None else result


def _one_call(rows: FunctionRows | MatrixRows, score: Callable[[], Array], n_pairs: int, calls: _Calls) -> Array | None:
    """Make one call of a scorer. If memory runs out, make the next calls smaller and return None.

    Raise a ScoreError if memory ran out in the smallest call.
    """
    try:
        return rows.pace.timed(score, n_pairs, calls.method)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        if not rows.pace.halve(n_pairs, calls.all_entities or 1, calls.method):
            raise _out_of_memory(rows, calls, error) from error
    return None


def _out_of_memory(rows: FunctionRows | MatrixRows, calls: _Calls, error: Exception) -> ScoreError:
    """Return the error for memory that ran out in the smallest call of a scorer."""
    less = "use less memory on its device (a smaller model, a smaller dtype, no second program)"
    if calls.all_entities is None:
        what = "a single triple" if calls.method == "" else "a single query with a single candidate"
        return ScoreError(f"{rows.name} ran out of memory when given {what}; {less}. {error}")
    return ScoreError(
        f"{rows.name}.{calls.method} ran out of memory when given a single query, with all {calls.all_entities:,} "
        f"{rows.answers if isinstance(rows, MatrixRows) else 'entities'}; give it a parameter candidates, so that "
        f"kgeval can score blocks of candidates (batch_size= sets their largest size), or {less}. {error}"
    )


def as_row_scorer(
    scorer: Any, n_entities: int, limits: Limits | None = None, dataset: Dataset | None = None
) -> RowScorer:
    """Wrap a scorer in its adapter.

    A scorer with the method ``query_vectors`` gets `GeometryRows`; without it, a scorer with ``score_objects`` or
    ``score_subjects`` gets `MatrixRows`; any other function or callable object gets `FunctionRows`. A model of
    `kgeval.models` reads its tables anew (`EmbeddingModel.refresh`), so that all its tables are up to date. The method
    ``score_relations`` is used for the relation side alone; see `on_side`.

    Parameters
    ----------
    scorer : function, object or model
        See `kgeval.evaluate`.
    n_entities : int
        Number of entities of the dataset.
    limits : Limits, optional
        By default ``Limits()``.
    dataset : Dataset, optional
        The scorer gets those further columns of the dataset that its parameters name. By default none, and its
        ``score_relations`` is not used.

    Returns
    -------
    RowScorer

    Raises
    ------
    ScoreError
        If `scorer` is a class, if it cannot be called and has none of these methods, if it has only one of
        ``query_vectors`` and ``candidate_vectors``, if its ``geometry`` is unknown, or if it is a model of another
        library (see `kgeval.scorers.libraries`).
    """
    name = getattr(scorer, "__name__", type(scorer).__name__)
    limits = limits or Limits()
    if isinstance(scorer, type):
        raise ScoreError(f"expected a scorer; got the class {name}. Make an instance of it first")
    if hasattr(scorer, "query_vectors") != hasattr(scorer, "candidate_vectors"):
        missing_method = (
            "candidate_vectors(side)" if hasattr(scorer, "query_vectors") else "query_vectors(side, given, relation)"
        )
        raise ScoreError(
            f"{name} has no {missing_method}; an embedding model needs geometry, query_vectors and candidate_vectors"
        )
    if hasattr(scorer, "query_vectors"):
        geometry = getattr(scorer, "geometry", None)
        if geometry not in GEOMETRIES:
            names = [name for name, definition in GEOMETRIES.items() if not definition.is_derived]
            check_one_of(f"{name}.geometry", geometry, names, ScoreError)
        if isinstance(scorer, EmbeddingModel):
            scorer.refresh()
    elif not any(hasattr(scorer, method) for method in OF_QUERIES):
        refuse_library_model(scorer)
    taken = columns_by_method(scorer, name, dataset)
    relations, pace = None, Pace()
    if hasattr(scorer, "score_relations") and dataset is not None:
        columns = taken["score_relations"]
        relations = MatrixRows(scorer, len(dataset.relations), limits, name, columns, answers="relations", pace=pace)
    if hasattr(scorer, "query_vectors"):
        return GeometryRows(scorer, n_entities, name, taken.get("query_vectors", ()), relations)
    if any(hasattr(scorer, method) for method in OF_ENTITIES) or (relations is not None and not callable(scorer)):
        of_entities = {column.name: column for method in OF_ENTITIES for column in taken.get(method, ())}
        return MatrixRows(scorer, n_entities, limits, name, tuple(of_entities.values()), relations, pace=pace)
    if callable(scorer):
        return FunctionRows(scorer, limits, name, taken.get("", ()), relations, pace=pace)
    raise ScoreError(
        f"expected a function score(s, p, o), an object with score_objects and score_subjects, or a model of "
        f"kgeval.models; got {type(scorer).__name__}"
    )


def row_batch(rows: RowScorer, limits: Limits, n_candidates: int, side: str | None = None) -> int:
    """Return the number of queries that are scored at a time, each with all its candidates.

    The scores of these queries fit into `ROW_BATCH_BYTES` (`BLOCK_BATCH_BYTES` for blocks of candidates), and into an
    eighth of the free memory. If the scorer's speed is known, the queries take about `BATCH_SECONDS`
    (`BLOCK_BATCH_SECONDS` for blocks of candidates), or one call if that takes longer.

    Parameters
    ----------
    rows : RowScorer
    limits : Limits
        If it has a batch size, as many queries are returned as have this number of pairs.
    n_candidates : int
        Number of candidates of each query.
    side : str, optional
        The missing side of the queries, whose method sets the pace; by default, all methods.

    Returns
    -------
    int
        At least 1.
    """
    if limits.batch_size:
        return max(1, limits.batch_size // _pairs_per_query(rows, n_candidates))
    n_bytes, seconds = ROW_BATCH_BYTES, BATCH_SECONDS
    if n_candidates > BLOCK_CANDIDATES and isinstance(rows, MatrixRows) and any(map(rows.takes_candidates, rows.sides)):
        n_bytes, seconds = BLOCK_BATCH_BYTES, BLOCK_BATCH_SECONDS
    if isinstance(
        rows, (FunctionRows, PairRows)
    ):  # a batch needs several calls anyway, and a small batch stays in the cache
        n_bytes = FUNCTION_BATCH_BYTES
    free = free_bytes()
    n_bytes = n_bytes if free is None else min(n_bytes, free // MEMORY_SHARE)
    size = min(MAX_QUERIES, n_bytes // (8 * n_candidates))
    method = side_of(side).method if side is not None and isinstance(rows, MatrixRows) else None
    n_pairs = None if rows.pace is None else rows.pace.batch_pairs(seconds, method)
    if n_pairs is not None:
        size = min(size, n_pairs // _pairs_per_query(rows, n_candidates))
    return max(1, size)


def queries_within(rows: RowScorer, seconds: float, n_candidates: int, side: str | None = None) -> int | None:
    """Return the number of queries that a scorer can score in `seconds`, each query with all its candidates.

    Parameters
    ----------
    rows : RowScorer
    seconds : float
    n_candidates : int
        Number of candidates of each query.
    side : str, optional
        The missing side of the queries; by default, the same number of queries on each side.

    Returns
    -------
    int or None
        At least 0; None for an embedding model, and if no call has been measured.
    """
    if rows.pace is None:
        return None
    per_query = _pairs_per_query(rows if side is None else on_side(rows, side), n_candidates, side)
    if side is not None:
        rows, side = _called(rows, side)
    method = None if side is None or isinstance(rows, FunctionRows) else side_of(side).method
    n_pairs = None if rows.pace is None else rows.pace.pairs_within(seconds, method)
    return None if n_pairs is None else n_pairs // per_query


def _pairs_per_query(rows: RowScorer, n_candidates: int, side: str | None = None) -> int:
    """Return the number of pairs that a scorer scores for a query; some scorers always score all entities."""
    if isinstance(rows, PairRows):  # each triple is a query of an entity side
        return n_candidates * _pairs_per_query(rows.inner, 1, pair_side(rows.inner))
    if isinstance(rows, MatrixRows):
        sides = rows.sides if side is None else (side,)
        return n_candidates if all(rows.takes_candidates(name) for name in sides) else rows.n_answers
    return n_candidates


def pair_side(rows: RowScorer) -> str:
    """Return the side that `score_triples` treats as missing by default when it scores a triple.

    Parameters
    ----------
    rows : RowScorer

    Returns
    -------
    str
        ``"subject"`` if the scorer has ``score_subjects`` but not ``score_objects``, else ``"object"``.
    """
    return "subject" if isinstance(rows, MatrixRows) and not hasattr(rows.scorer, "score_objects") else "object"


def score_triples(rows: RowScorer, triples: Ids, side: str | None = None) -> Scores:
    """Return the score of each triple.

    Each triple gets the same score as in a ranking of queries whose missing side is `side`. A function is called with
    at most ``limits.batch_size`` triples at a time. Other scorers get each distinct query once, in batches. The scores
    of embedding models are exact, in float64.

    Parameters
    ----------
    rows : RowScorer
        See `as_row_scorer`.
    triples : int64 array, shape (n, 3 or more)
        Columns s, p, o, and the codes of ``rows.columns``.
    side : str, optional
        By default ``pair_side(rows)``.

    Returns
    -------
    array, shape (n,)
        The scores, in the scorer's dtype; float64 if n is 0.

    Raises
    ------
    ScoreError
        If the shape or the dtype of the scores is wrong. NaN is not checked here; see `check_triple_scores`.

    Examples
    --------
    >>> rows = as_row_scorer(lambda s, p, o: s + 10 * o, n_entities=3)
    >>> score_triples(rows, np.array([[0, 0, 1], [2, 0, 1]]))
    array([10, 12])
    """
    rows, side = _called(rows, side or pair_side(rows))
    scores: Scores | None = None
    for row_numbers, part in _scored_parts(rows, triples, side):
        if scores is None:
            scores = np.empty(len(triples), dtype=part.dtype)
        check_same_dtype(rows.name, scores, part)
        scores[row_numbers] = part
    return np.empty(0) if scores is None else scores


def _scored_parts(rows: RowScorer, triples: Ids, side: str) -> Iterator[tuple[Ids, Scores]]:
    """Yield the scores of `triples` in parts; each part is a tuple (row numbers in `triples`, scores of these rows).

    Use the scores before the next part is requested: a scorer may reuse its memory for the next part.
    """
    if isinstance(rows, FunctionRows):
        calls, start = _Calls("", rows.largest_call, FIRST_PAIRS), 0
        while start < len(triples):
            size = rows.pace.size(calls.limit, calls.first)
            row_numbers = np.arange(start, min(start + size, len(triples)))
            call = partial(rows.pairs, *(triples[row_numbers, column] for column in range(triples.shape[1])))
            part = _one_call(rows, call, len(row_numbers), calls)
            if part is not None:
                rows.pace.scored(len(part))
                start += len(part)
                yield row_numbers, as_scores(part, rows.name)
        return
    queries = Queries.of(triples, side)
    size = MAX_QUERIES
    if isinstance(rows, MatrixRows):
        size = row_batch(rows, rows.limits, rows.n_answers)
    for start in range(0, len(queries), size):
        batch = queries.part(start, min(start + size, len(queries)))
        yield batch.rows, _answer_scores(rows, batch)


def _answer_scores(rows: RowScorer, queries: Queries) -> Scores:
    """Return the score of each triple of `queries`; the entities on the missing side are ``queries.answers``."""
    # row_of (triples,): index of the query of each triple. answers: the distinct answers on the missing side.
    # column_of (triples,): for each triple, the index of its answer in `answers`.
    row_of = np.repeat(np.arange(len(queries)), np.diff(queries.offsets))
    answers, column_of = np.unique(queries.answers, return_inverse=True)
    if isinstance(rows, GeometryRows):
        vectors = on_host(rows.queries(queries.side, queries.parts))
        candidates = on_host(rows.vectors(queries.side, answers))
        check_dimensions(vectors, candidates, rows.name)
        return exact_pair_scores(rows.model.geometry, vectors, candidates, row_of, column_of.reshape(-1))
    scores = rows.rows(queries.side, queries.parts, answers)
    return as_scores(scores[row_of, column_of], rows.name)


def check_triple_scores(scores: Scores, triples: Ids, dataset: Dataset, rows: RowScorer) -> None:
    """Raise a ScoreError if a score is NaN, or if a score of an embedding model is infinite.

    Parameters
    ----------
    scores : array, shape (n,)
    triples : int64 array, shape (n, 3 or more)
    dataset : Dataset
        Gives the labels for the message.
    rows : RowScorer
        The scorer.

    Raises
    ------
    ScoreError
        The message names the first triple with such a score.
    """
    wrong = np.isnan(scores) if rows.kind != "geometry" else ~np.isfinite(scores)
    if wrong.any():
        position = int(np.argmax(wrong))
        kinds = "NaN" if rows.kind != "geometry" else "NaN or infinite"
        shown = "NaN" if np.isnan(scores[position]) else str(scores[position])
        raise ScoreError(
            f"{rows.name} gave {shown} for {triple_labels(dataset, *triples[position, :3])} "
            f"({kinds} scores: {int(wrong.sum())} of {len(scores)}); such a score cannot be compared. "
            "Check the parameters of these entities and this relation, or run kgeval.check_scorer"
        )


def check_dimensions(queries: Vectors, candidates: Vectors, name: str) -> None:
    """Raise a ScoreError unless query and candidate vectors have the same number of dimensions.

    Parameters
    ----------
    queries, candidates : arrays or tensors, shapes (queries, d) and (candidates, d)
    name : str
        The scorer's name.
    """
    if queries.shape[1] != candidates.shape[1]:
        raise ScoreError(
            f"{name}: query vectors have {queries.shape[1]} dimensions, candidate vectors {candidates.shape[1]}"
        )


def _are_all(candidates: Ids, n_ids: int) -> bool:
    """Return whether `candidates` are all ids in order: 0, 1, ..., n_ids - 1."""
    if len(candidates) != n_ids or not n_ids or candidates[0] != 0 or candidates[-1] != n_ids - 1:
        return False
    return bool((candidates[1:] > candidates[:-1]).all())


def missing_ids(scorer: Any, what: str) -> Ids:
    """Return the ids of the entities or relations for which `scorer` has no vector.

    Parameters
    ----------
    scorer : function, object or model
    what : str
        ``"entities"`` (the ids are read from ``scorer.missing_entities``) or ``"relations"`` (from
        ``scorer.missing_relations``).

    Returns
    -------
    int64 array, shape (missing,)
        Empty if the scorer has no such attribute.
    """
    value = getattr(scorer, f"missing_{what}", None)
    if value is None:
        return np.zeros(0, dtype=np.int64)
    try:
        ids = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ScoreError(f"missing_{what} must be an array of ids; {type(error).__name__}: {error}") from error
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu") or isinstance(value, np.ma.MaskedArray):
        raise ScoreError(
            f"missing_{what} must be a 1-dimensional array of ids (integers); got {type(value).__name__}, dtype "
            f"{ids.dtype}, shape {ids.shape}. From a mask, np.flatnonzero(mask) gives the ids"
        )
    if ids.size and int(ids.min()) < 0:
        raise ScoreError(f"missing_{what} contains {ids.min()}; ids are at least 0")
    return ids.astype(np.int64)
