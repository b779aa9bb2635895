"""The ranker: queries of one side in, integer counts of every positive out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from kgeval.checks import Ids, is_tensor
from kgeval.corruption import KnownIndex
from kgeval.dataset import Dataset
from kgeval.errors import ProtocolError, ScoreError
from kgeval.kernels import torch_kernels
from kgeval.kernels.backends import Counter, address, check_device, largest_in_rows, make_counter, one_thread_each
from kgeval.kernels.counts import Counts, Places
from kgeval.kernels.geometry import Reals
from kgeval.kernels.numpy_kernels import count_rows
from kgeval.queries import Queries
from kgeval.ranks import RankCounts
from kgeval.scores import Scores, check_no_nan, describe_query
from kgeval.scoring import GeometryRows, Limits, RowScorer, check_width, row_batch

LEAST_BATCH, BATCHES = 128, 4  # batches of this many queries or more, so that each worker has a few
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

    def places(self, start: int, stop: int) -> Places:
        """Return where the positives and the known answers of queries ``start:stop`` stand among the candidates."""
        offsets, known_offsets = self.queries.offsets[start : stop + 1], self.known_offsets[start : stop + 1]
        rows = np.arange(stop - start)
        return Places(
            np.repeat(rows, np.diff(offsets)),
            self.positions(self.queries.answers[offsets[0] : offsets[-1]]),
            np.repeat(rows, np.diff(known_offsets)),
            self.positions(self.known[known_offsets[0] : known_offsets[-1]]),
        )


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


RankBatch = Callable[[int, int], Ranked]


def rank(
    scorer: RowScorer, tasks: Mapping[str, Task], limits: Limits, threads: int = 1, progress: bool = True
) -> dict[str, Ranked]:
    """Rank every positive of every side's task among the candidates.

    Parameters
    ----------
    scorer : RowScorer
    tasks : mapping of side to Task
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
    ProtocolError
        If a device is not there, or `scorer` is no embedding model, which alone can be moved to one.
    """
    if limits.device is not None and not isinstance(scorer, GeometryRows):
        raise ProtocolError(
            f"device={limits.device!r} is for embedding models; {scorer.name} computes where it likes, and tensors "
            "that it returns are counted where they are. Leave device= out"
        )
    check_device(limits.device)
    total = sum(len(task.queries) for task in tasks.values())
    work: list[tuple[str, int, int]] = []
    rankers: dict[str, RankBatch] = {}
    counters: dict[Any, tuple[Any, Reals, Counter]] = {}
    for side, task in tasks.items():
        if isinstance(scorer, GeometryRows):
            size, rankers[side] = _geometry_work(scorer, task, limits, counters)
        else:
            size, rankers[side] = _row_work(scorer, task, limits)
        n = len(task.queries)
        if limits.batch_size is None and isinstance(scorer, GeometryRows):
            size = min(size, max(LEAST_BATCH, -(-total // (BATCHES * max(1, threads)))))
        work += [(side, start, min(start + size, n)) for start in range(0, n, size)]
    parts: dict[str, list[Ranked]] = {side: [] for side in tasks}
    with (
        tqdm(total=total, desc="queries", unit="q", disable=None if progress else True, leave=False) as bar,
        _workers(threads if isinstance(scorer, GeometryRows) else 0) as in_order,
    ):
        for (side, start, stop), part in zip(work, in_order(lambda item: rankers[item[0]](*item[1:]), work)):
            parts[side].append(part)
            bar.update(stop - start)
    return {side: _joined(of_side) for side, of_side in parts.items()}


def available_threads() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _workers(threads: int) -> Iterator[Callable[..., Iterator[Ranked]]]:
    """Give a `map` over `threads` workers, each with one thread of its own for products; 0 is the plain `map`."""
    if not threads:
        yield map
        return
    with threadpool_limits(1, user_api="blas"), one_thread_each() as start_worker:
        pool = ThreadPoolExecutor(threads, initializer=start_worker)
        try:
            yield pool.map
        finally:
            pool.shutdown(cancel_futures=True)


def _joined(parts: list[Ranked]) -> Ranked:
    if not parts:
        return Ranked(RankCounts.zeros(0), RankCounts.zeros(0), np.zeros(0))
    return Ranked(
        RankCounts.joined([part.raw for part in parts]),
        RankCounts.joined([part.known for part in parts]),
        np.concatenate([part.scores for part in parts]),
        any(part.is_infinite for part in parts),
    )


def _row_work(scorer: RowScorer, task: Task, limits: Limits) -> tuple[int, RankBatch]:
    """Batches for scorers that give whole rows: every count comes from the row itself."""
    size = row_batch(scorer, limits, len(task.candidates))

    def rank_batch(start: int, stop: int) -> Ranked:
        queries = task.queries.part(start, stop)
        rows = scorer.rows(queries.side, queries.given, queries.relation, task.candidates)
        largest = check_no_nan(rows, queries, task.candidates, task.dataset, scorer.name)
        count = torch_kernels.count_rows if is_tensor(rows) else count_rows
        counts = count(rows, task.places(start, stop))
        return replace(_ranked(task, start, stop, counts), is_infinite=largest == np.inf)

    return size, rank_batch


def _geometry_work(
    scorer: GeometryRows, task: Task, limits: Limits, counters: dict[Any, tuple[Any, Reals, Counter]]
) -> tuple[int, RankBatch]:
    """Batches for embedding models, counted by the exact kernels; sides with the same candidates share a counter."""
    candidates = scorer.vectors(task.queries.side, task.candidates)
    key, largest_of = address(candidates), largest_in_rows(candidates)
    if key not in counters:
        _check_candidates(largest_of, task, scorer.name)
        made = make_counter(scorer.model.geometry, candidates, limits.device, limits.block_size)
        counters[key] = candidates, largest_of, made
    if not np.array_equal(counters[key][1], largest_of):
        raise ScoreError(
            f"{scorer.name}.candidate_vectors gave the same memory with other numbers for each side; both are needed "
            "during a run, so give each side an array of its own"
        )
    counter, largest = counters[key][2], largest_of.max()

    def rank_batch(start: int, stop: int) -> Ranked:
        queries = task.queries.part(start, stop)
        vectors = scorer.queries(queries.side, queries.given, queries.relation)
        check_width(vectors, candidates, scorer.name)
        _check_queries(largest_in_rows(vectors) + largest, queries, task, scorer.name)
        return _ranked(task, start, stop, counter.count(vectors, task.places(start, stop)))

    return limits.batch_size or counter.batch_size, rank_batch


def _ranked(task: Task, start: int, stop: int, counts: Counts) -> Ranked:
    """Take each positive out of its own counts: it equals itself, also where it is known."""
    offsets = task.queries.offsets[start : stop + 1]
    is_known = task.is_known[offsets[0] : offsets[-1]]
    if (counts.equal < 1).any() or (counts.known_equal < is_known).any():
        raise ScoreError("a positive did not equal its own score; this is a fault of kgeval, please report it")
    n_known = np.repeat(np.diff(task.known_offsets[start : stop + 1]), np.diff(offsets))
    n_rivals = np.full(len(is_known), len(task.candidates) - 1, dtype=np.int64)
    return Ranked(
        RankCounts(counts.better, counts.equal - 1, n_rivals),
        RankCounts(counts.known_better, counts.known_equal - is_known, n_known - is_known),
        counts.scores,
    )


def _check_candidates(largest: Reals, task: Task, name: str) -> None:
    bad = np.flatnonzero(~(largest < LARGEST))
    if len(bad):
        label = task.dataset.entities.labels[task.candidates[bad[0]]]
        what = "is so large that its scores overflow float64; it"
        if not np.isfinite(largest[bad[0]]):
            what = "is not finite; a NaN or infinite parameter"
        raise ScoreError(
            f"{name}: the vector of entity {label!r} and of {len(bad) - 1} more {what} cannot be ranked. "
            "Did the training diverge?"
        )


def _check_queries(largest: Reals, queries: Queries, task: Task, name: str) -> None:
    is_bad = ~(largest < LARGEST)
    if is_bad.any():
        i = int(np.flatnonzero(is_bad)[0])
        query = describe_query(task.dataset, queries.side, queries.given[i], queries.relation[i])
        raise ScoreError(
            f"{name}: the vector of query {query} is not finite, or so large that its scores overflow float64; "
            "check the parameters of this entity and relation"
        )
