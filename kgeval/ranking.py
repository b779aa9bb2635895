"""The ranker: queries of one side in, integer counts of every positive out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from kgeval.checks import Ids
from kgeval.corruption import KnownIndex
from kgeval.dataset import Dataset
from kgeval.errors import ScoreError
from kgeval.kernels.geometry import Reals, Screen, Vectors, exact_pair_scores, make_screen
from kgeval.kernels.numpy_kernels import count_row, count_screened
from kgeval.queries import Queries
from kgeval.ranks import RankCounts
from kgeval.scoring import GeometryRows, Limits, RowScorer, Scores, check_no_nan, check_width, describe_query, row_batch

TILES = {"dot": (256, 4096), "l2": (256, 4096), "l1": (64, 2048), "modulus": (64, 2048)}
LARGEST = 1e145  # squares of larger numbers, summed, can overflow float64


@dataclass(frozen=True)
class Task:
    """One side's queries, who competes in them, and which answers the filter leaves out.

    Parameters
    ----------
    dataset : Dataset
        For labels in messages only.
    queries : Queries
    candidates : int64 array
        Sorted distinct ids; every positive's answer is among them.
    known_offsets, known : int64 arrays
        CSR of the known answers of each query, candidates all, sorted and distinct.
    is_known : int64 array, shape (positives,)
        1 where the positive itself is among its query's known answers, else 0.
    """

    dataset: Dataset
    queries: Queries
    candidates: Ids
    known_offsets: Ids
    known: Ids
    is_known: Ids

    @classmethod
    def of(cls, dataset: Dataset, queries: Queries, candidates: Ids, index: KnownIndex) -> Task:
        """Look up the known answers of `queries` in `index`, those that are candidates."""
        offsets, known = index.lookup(queries.relation, queries.given)
        row_of = np.repeat(np.arange(len(queries)), np.diff(offsets))
        if len(candidates) < len(dataset.entities):
            is_candidate = np.zeros(len(dataset.entities), dtype=bool)
            is_candidate[candidates] = True
            row_of, known = row_of[is_candidate[known]], known[is_candidate[known]]
            offsets = np.searchsorted(row_of, np.arange(len(queries) + 1))
        repeats = np.diff(queries.offsets)
        is_known = index.contains(
            np.repeat(queries.relation, repeats), np.repeat(queries.given, repeats), queries.answers
        )
        return cls(dataset, queries, candidates, offsets, known, is_known.astype(np.int64))

    def positions(self, ids: Ids) -> Ids:
        """Return the places of `ids` in `candidates`.

        Raises
        ------
        ScoreError
            If an id is not a candidate, which would otherwise score the wrong entity.
        """
        places = np.searchsorted(self.candidates, ids)
        if len(ids) and not np.array_equal(self.candidates[np.minimum(places, len(self.candidates) - 1)], ids):
            raise ScoreError("an entity that must be ranked is not among the candidates")
        return places

    def known_of(self, start: int, stop: int) -> tuple[Ids, Ids]:
        """Return the CSR of the known answers of queries ``start:stop``."""
        offsets = self.known_offsets[start : stop + 1]
        return offsets - offsets[0], self.known[offsets[0] : offsets[-1]]


@dataclass(frozen=True)
class Ranked:
    """Counts over all candidates, counts among the known answers, and scores; in the queries' order.

    Parameters
    ----------
    raw, known : RankCounts
        The positive itself is in neither; filtered counts are ``raw - known``.
    scores : array, shape (positives,)
    is_infinite : bool
        Whether some candidate scored +infinity.
    """

    raw: RankCounts
    known: RankCounts
    scores: Scores
    is_infinite: bool = False


def rank(scorer: RowScorer, task: Task, limits: Limits, threads: int = 1, progress: bool = True) -> Ranked:
    """Rank every positive of `task` among the candidates.

    Parameters
    ----------
    scorer : RowScorer
    task : Task
    limits : Limits
        Sizes of batches and blocks.
    threads : int
        Workers of the embedding kernels; other scorers are called from one thread.
    progress : bool
        Whether a terminal shows a bar.

    Raises
    ------
    ScoreError
        If a score is NaN or has a wrong shape; names query and candidate.
    """
    if not len(task.queries):
        return Ranked(RankCounts.zeros(0), RankCounts.zeros(0), np.zeros(0))
    if isinstance(scorer, GeometryRows):
        size, rank_batch = _geometry_work(scorer, task, limits)
    else:
        size, rank_batch = _row_work(scorer, task, limits)
        threads = 1
    n = len(task.queries)
    bounds = [(start, min(start + size, n)) for start in range(0, n, size)]
    parts: list[Ranked] = []
    with tqdm(
        total=n,
        desc=f"{task.queries.side} queries",
        unit="q",
        disable=None if progress else True,
        leave=False,
    ) as bar:
        for (start, stop), part in zip(bounds, _in_order(rank_batch, bounds, threads)):
            parts.append(part)
            bar.update(stop - start)
    return Ranked(
        _joined([part.raw for part in parts]),
        _joined([part.known for part in parts]),
        np.concatenate([part.scores for part in parts]),
        any(part.is_infinite for part in parts),
    )


def available_threads() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_order(
    rank_batch: Callable[[int, int], Ranked], bounds: list[tuple[int, int]], threads: int
) -> Iterator[Ranked]:
    if threads == 1:
        yield from (rank_batch(start, stop) for start, stop in bounds)
        return
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        try:
            yield from pool.map(lambda bound: rank_batch(*bound), bounds)
        finally:
            pool.shutdown(cancel_futures=True)


def _joined(counts: list[RankCounts]) -> RankCounts:
    return RankCounts(
        np.concatenate([c.better for c in counts]),
        np.concatenate([c.tied for c in counts]),
        np.concatenate([c.rivals for c in counts]),
    )


def _row_work(scorer: RowScorer, task: Task, limits: Limits) -> tuple[int, Callable[[int, int], Ranked]]:
    """Batches for scorers that give whole rows: every count comes from the row itself."""
    size = row_batch(limits, len(task.candidates))

    def rank_batch(start: int, stop: int) -> Ranked:
        queries = task.queries.part(start, stop)
        rows = scorer.rows(queries.side, queries.given, queries.relation, task.candidates)
        largest = check_no_nan(rows, queries, task.candidates, task.dataset, scorer.name)
        answers = task.positions(queries.answers)
        known_offsets, known = task.known_of(start, stop)
        known_places = task.positions(known)
        counts = np.empty((4, len(answers)), dtype=np.int64)
        scores = np.empty(len(answers), dtype=rows.dtype)
        for i, row in enumerate(rows):
            mine = slice(queries.offsets[i], queries.offsets[i + 1])
            scores[mine] = row[answers[mine]]
            counts[:2, mine] = count_row(row, scores[mine])
            counts[2:, mine] = count_row(row[known_places[known_offsets[i] : known_offsets[i + 1]]], scores[mine])
        return replace(_ranked(task, start, stop, counts, scores), is_infinite=bool(np.isinf(largest)))

    return size, rank_batch


def _geometry_work(scorer: GeometryRows, task: Task, limits: Limits) -> tuple[int, Callable[[int, int], Ranked]]:
    """Batches for embedding models: exact scores of positives and known answers, screened counts."""
    geometry = scorer.model.geometry
    candidates = scorer.vectors(task.queries.side, task.candidates)
    _check_finite_candidates(candidates, task, scorer.name)
    screen = make_screen(geometry, candidates)
    size = limits.batch_size or TILES[geometry][0]
    block_size = limits.block_size or TILES[geometry][1]

    def rank_batch(start: int, stop: int) -> Ranked:
        queries = task.queries.part(start, stop)
        vectors = scorer.queries(queries.side, queries.given, queries.relation)
        _check_queries(vectors, screen, queries, task, scorer.name)
        rows = np.repeat(np.arange(len(queries)), np.diff(queries.offsets))
        positives = exact_pair_scores(geometry, vectors, candidates, rows, task.positions(queries.answers))
        known_offsets, known = task.known_of(start, stop)
        known_rows = np.repeat(np.arange(len(queries)), np.diff(known_offsets))
        known_scores = exact_pair_scores(geometry, vectors, candidates, known_rows, task.positions(known))
        counts = np.empty((4, len(positives)), dtype=np.int64)
        counts[:2] = count_screened(screen, vectors, rows, positives, block_size)
        for i in range(len(queries)):
            mine = slice(queries.offsets[i], queries.offsets[i + 1])
            counts[2:, mine] = count_row(known_scores[known_offsets[i] : known_offsets[i + 1]], positives[mine])
        return _ranked(task, start, stop, counts, positives)

    return size, rank_batch


def _ranked(task: Task, start: int, stop: int, counts: Ids, scores: Scores) -> Ranked:
    """Take each positive out of its own counts: it equals itself, also where it is known."""
    better, equal, known_better, known_equal = counts
    offsets = task.queries.offsets[start : stop + 1]
    is_known = task.is_known[offsets[0] : offsets[-1]]
    if (equal < 1).any() or (known_equal < is_known).any():
        raise ScoreError("a positive did not equal its own score; this is a fault of kgeval, please report it")
    n_known = np.repeat(np.diff(task.known_offsets[start : stop + 1]), np.diff(offsets))
    n_rivals = np.full(len(scores), len(task.candidates) - 1, dtype=np.int64)
    return Ranked(
        RankCounts(better, equal - 1, n_rivals),
        RankCounts(known_better, known_equal - is_known, n_known - is_known),
        scores,
    )


def _check_finite_candidates(vectors: Vectors, task: Task, name: str) -> None:
    if np.isfinite(vectors.sum(dtype=np.float64)):
        return
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        label = task.dataset.entities.labels[task.candidates[bad[0]]]
        raise ScoreError(
            f"{name}: the vector of entity {label!r} and of {len(bad) - 1} more is not finite; a NaN or infinite "
            "parameter cannot be ranked. Did the training diverge?"
        )


def _check_queries(vectors: Reals, screen: Screen, queries: Queries, task: Task, name: str) -> None:
    check_width(vectors, screen.candidates, name)
    largest = np.abs(vectors).max(axis=1) + screen.unit
    is_bad = ~(largest < LARGEST)
    if is_bad.any():
        i = int(np.flatnonzero(is_bad)[0])
        query = describe_query(task.dataset, queries.side, queries.given[i], queries.relation[i])
        raise ScoreError(
            f"{name}: the vector of query {query} is not finite, or so large that its scores overflow float64; "
            "check the parameters of this entity and relation"
        )
