"""The ranker: `rank` takes tasks and a scorer, and returns integer counts for every positive.

`rank` cuts the queries of each task into batches and counts batch by batch: a `RowBatch` for scorers that return rows
of scores, or a `VectorBatch` for embedding models. Batches of embedding models run on several threads. The `Evaluator`
calls `rank`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import methodcaller
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from kgeval.checks import Reals
from kgeval.data import Queries
from kgeval.errors import ProtocolError, ScoreError
from kgeval.kernels import Counter, Counts, address, check_device, largest_in_rows, make_counter, row_counter
from kgeval.ranking.counts import RankCounts, TaskCounts
from kgeval.ranking.tasks import Task
from kgeval.ranking.threads import workers
from kgeval.scorers import GeometryRows, Limits, RowScorer, check_dimensions, check_no_nan, describe_query, row_batch

MIN_BATCH, BATCHES = 128, 4  # at least 128 queries in a batch, and about 4 batches for each worker
TASKS_AT_ONCE = 2  # memory holds the candidate vectors of two tasks (the two sides, or two pools of candidates)
MAX_SIZE = 1e145  # larger numbers are refused, because sums of their squares can overflow float64


def rank(
    scorer: RowScorer, tasks: Sequence[Task], limits: Limits, threads: int = 1, progress: bool = True
) -> list[TaskCounts]:
    """Rank every positive of every task among the task's candidates.

    Parameters
    ----------
    scorer : RowScorer
    tasks : sequence of Task
        Each task holds queries and the candidates that these queries share.
    limits : Limits
        Sizes of batches and blocks, and the device.
    threads : int
        The number of worker threads for embedding models; other scorers are called from one thread.
    progress : bool
        Whether to show a progress bar in a terminal.

    Returns
    -------
    list of TaskCounts
        One for each task.

    Raises
    ------
    ScoreError
        If a score is NaN (the message names query and candidate), or the scores have a wrong shape.
    ProtocolError
        If this machine does not have the device, or `limits.device` is set for a scorer that is not an embedding model.
    """
    if limits.device is not None and not isinstance(scorer, GeometryRows):
        raise ProtocolError(
            f"device={limits.device!r} is for embedding models; {scorer.name} chooses its own device, and tensors "
            "that it returns are counted on their device. Leave device= out"
        )
    check_device(limits.device)
    total = sum(len(task.queries) for task in tasks)
    counts: list[TaskCounts] = []
    with (
        tqdm(total=total, desc="queries", unit="q", disable=None if progress else True, leave=False) as bar,
        workers(threads if isinstance(scorer, GeometryRows) else 0) as in_order,
    ):
        for first in range(0, len(tasks), TASKS_AT_ONCE):
            current_tasks = tasks[first : first + TASKS_AT_ONCE]
            batches = _batches(scorer, current_tasks, limits, max(MIN_BATCH, -(-total // (BATCHES * max(1, threads)))))
            parts: dict[int, list[TaskCounts]] = {id(task): [] for task in current_tasks}
            for batch, part in zip(batches, in_order(methodcaller("count"), batches)):
                parts[id(batch.task)].append(part)
                bar.update(batch.stop - batch.start)
            counts += [TaskCounts.joined(parts[id(task)]) for task in current_tasks]
    return counts


@dataclass(frozen=True)
class RowBatch:
    """Queries ``start:stop`` of a task, for scorers that return one row of scores for each query."""

    scorer: RowScorer
    task: Task
    start: int
    stop: int

    def count(self) -> TaskCounts:
        """Score the queries with every candidate, and count in the rows of scores."""
        task, queries = self.task, self.task.queries.part(self.start, self.stop)
        rows = self.scorer.rows(queries.side, queries.given, queries.relation, task.candidates)
        largest = check_no_nan(rows, queries, task.candidates, task.dataset, self.scorer.name)
        count_rows = row_counter(rows)
        counts = count_rows(rows, task.places(self.start, self.stop))
        return replace(_without_positives(task, self.start, self.stop, counts), is_infinite=largest == np.inf)


@dataclass(frozen=True)
class VectorBatch:
    """Queries ``start:stop`` of a task, for embedding models: a counter of `kgeval.kernels` compares the vectors."""

    scorer: GeometryRows
    task: Task
    start: int
    stop: int
    candidates: _Candidates

    def count(self) -> TaskCounts:
        """Compute the query vectors, check them, and count."""
        task, queries = self.task, self.task.queries.part(self.start, self.stop)
        vectors = self.scorer.queries(queries.side, queries.given, queries.relation)
        check_dimensions(vectors, self.candidates.vectors, self.scorer.name)
        _check_queries(largest_in_rows(vectors) + self.candidates.largest, queries, task, self.scorer.name)
        counts = self.candidates.counter.count(vectors, task.places(self.start, self.stop))
        return _without_positives(task, self.start, self.stop, counts)


@dataclass(frozen=True)
class _Candidates:
    """Candidate vectors, shape (candidates, d), the largest absolute value of each and of all, and the counter."""

    vectors: Any
    largest_of: Reals
    largest: float  # stored, since every batch needs it
    counter: Counter


def _batches(scorer: RowScorer, tasks: Sequence[Task], limits: Limits, share: int) -> Sequence[RowBatch | VectorBatch]:
    """Cut the queries of tasks into batches.

    For an embedding model, the size of a batch is `limits.batch_size` or, if this is not set, the minimum of the
    counter's `batch_size` and `share`.
    """
    if not isinstance(scorer, GeometryRows):
        return [
            RowBatch(scorer, task, start, min(start + size, len(task.queries)))
            for task in tasks
            for size in (row_batch(scorer, limits, len(task.candidates)),)
            for start in range(0, len(task.queries), size)
        ]
    held: dict[Any, _Candidates] = {}  # tasks with the same candidate vectors share a counter
    batches = []
    for task in tasks:
        candidates = _hold_candidates(scorer, task, limits, held)
        size = limits.batch_size or min(candidates.counter.batch_size, share)
        batches += [
            VectorBatch(scorer, task, start, min(start + size, len(task.queries)), candidates)
            for start in range(0, len(task.queries), size)
        ]
    return batches


def _hold_candidates(scorer: GeometryRows, task: Task, limits: Limits, held: dict[Any, _Candidates]) -> _Candidates:
    """Return the candidates of a task; tasks with the same vectors in memory share one entry of `held`."""
    vectors = scorer.vectors(task.queries.side, task.candidates)
    key, largest_of = address(vectors), largest_in_rows(vectors)
    if key not in held:
        _check_candidates(largest_of, task, scorer.name)
        counter = make_counter(scorer.model.geometry, vectors, limits.device, limits.block_size)
        held[key] = _Candidates(vectors, largest_of, float(largest_of.max()), counter)
    if not np.array_equal(held[key].largest_of, largest_of):
        raise ScoreError(
            f"{scorer.name}.candidate_vectors returned the same memory with different numbers for each side; both are "
            "needed during a run, so return a separate array for each side"
        )
    return held[key]


def _without_positives(task: Task, start: int, stop: int, counts: Counts) -> TaskCounts:
    """Return the counts among rivals for queries ``start:stop``: each positive is removed from its own counts.

    A positive equals itself, so its `equal` includes the positive; if the positive is a known answer, its `known_equal`
    includes it too.
    """
    offsets = task.queries.offsets[start : stop + 1]  # (queries + 1,): first positive of each query, and the end
    is_known = task.is_known[offsets[0] : offsets[-1]]  # (positives,)
    if (counts.equal < 1).any() or (counts.known_equal < is_known).any():
        raise ScoreError("a positive did not equal its own score; this is a fault of kgeval, please report it")
    # (positives,): the number of known answers of the positive's query
    n_known = np.repeat(np.diff(task.known_offsets[start : stop + 1]), np.diff(offsets))
    n_rivals = np.full(len(is_known), len(task.candidates) - 1, dtype=np.int64)
    return TaskCounts(
        RankCounts(counts.better, counts.equal - 1, n_rivals),
        RankCounts(counts.known_better, counts.known_equal - is_known, n_known - is_known),
        counts.scores,
    )


def _check_candidates(largest: Reals, task: Task, name: str) -> None:
    """Refuse candidate vectors with NaN, infinite or very large numbers; `largest` has the shape (candidates,)."""
    bad = np.flatnonzero(~(largest < MAX_SIZE))
    if len(bad):
        label = task.dataset.entities.labels[task.candidates[bad[0]]]
        reason = "is so large that its scores overflow float64; it"
        if not np.isfinite(largest[bad[0]]):
            reason = "is not finite; a NaN or infinite parameter"
        raise ScoreError(
            f"{name}: the vector of entity {label!r} and of {len(bad) - 1} more {reason} cannot be ranked. "
            "Did the training diverge?"
        )


def _check_queries(largest: Reals, queries: Queries, task: Task, name: str) -> None:
    """Refuse queries if the largest number of query plus candidates is NaN, infinite or very large."""
    is_bad = ~(largest < MAX_SIZE)
    if is_bad.any():
        i = int(np.flatnonzero(is_bad)[0])
        query = describe_query(task.dataset, queries.side, queries.given[i], queries.relation[i])
        raise ScoreError(
            f"{name}: the vector of query {query} is not finite, or so large that its scores overflow float64; "
            "check the parameters of this entity and relation"
        )
