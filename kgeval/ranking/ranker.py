"""The ranker: `rank` takes tasks and a scorer, and returns integer counts for every positive.

`rank` cuts the queries of each task into batches and counts rivals batch by batch. The batches of embedding models
(`VectorBatch`) run on several threads; those of all other scorers (`RowBatch`) run in the calling thread. The
`Evaluator` calls `rank`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import methodcaller
from typing import Any

import numpy as np

from kgeval.checks import Reals, cut_label
from kgeval.data import Queries
from kgeval.errors import ProtocolError, ScoreError
from kgeval.kernels import Counter, Counts, address, check_device, largest_in_rows, make_counter, row_counter
from kgeval.ranking.counts import RankCounts, TaskCounts
from kgeval.ranking.tasks import Task
from kgeval.ranking.threads import workers
from kgeval.scorers import GeometryRows, Limits, RowScorer, check_dimensions, check_no_nan, describe_query, row_batch

MIN_BATCH, BATCHES = 128, 4  # about 4 batches for each thread, but not fewer than 128 queries in a batch
TASKS_AT_ONCE = 2  # the candidate vectors of two tasks are in memory together (both sides, or two pools of candidates)
MAX_SIZE = 1e145  # vectors with larger numbers raise an error, because sums of their squares can overflow float64


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
        The sizes of batches and blocks, and the device.
    threads : int
        The number of worker threads for embedding models; other scorers run in the calling thread.
    progress : bool
        Whether to show a progress bar in a terminal.

    Returns
    -------
    list of TaskCounts
        One for each task, with one row per positive, in the order of the task's positives.

    Raises
    ------
    ScoreError
        If a score is NaN (the message names query and candidate), if the scores have a wrong shape, or if a vector of
        an embedding model is too large or not finite.
    ProtocolError
        If `limits.device` is set although the scorer is not an embedding model, or if this machine does not have that
        device.
    """
    from tqdm.auto import tqdm  # here, because it loads asyncio: a fifth of the import of kgeval

    if limits.device is not None and not isinstance(scorer, GeometryRows):
        raise ProtocolError(
            f"device={limits.device!r} is for embedding models; {scorer.name} chooses its own device, and kgeval ranks "
            "the tensors that it returns on their device. Remove device="
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
        """Score every candidate of each query; for each positive, count the rivals that score higher, and the ties."""
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
        """Compute and check the query vectors; for each positive, count the rivals that score higher, and the ties."""
        task, queries = self.task, self.task.queries.part(self.start, self.stop)
        vectors = self.scorer.queries(queries.side, queries.given, queries.relation)
        check_dimensions(vectors, self.candidates.vectors, self.scorer.name)
        _check_queries(largest_in_rows(vectors) + self.candidates.largest, queries, task, self.scorer.name)
        counts = self.candidates.counter.count(vectors, task.places(self.start, self.stop))
        return _without_positives(task, self.start, self.stop, counts)


@dataclass(frozen=True)
class _Candidates:
    """The candidate vectors of a task, their largest absolute values, and the counter that compares the vectors."""

    vectors: Any  # shape (candidates, dimensions)
    largest_of: Reals  # shape (candidates,): the largest absolute value in each vector
    largest: float  # the largest absolute value in all vectors; stored, since every batch needs it
    counter: Counter


def _batches(
    scorer: RowScorer, tasks: Sequence[Task], limits: Limits, size_for_threads: int
) -> Sequence[RowBatch | VectorBatch]:
    """Cut the queries of tasks into batches.

    For an embedding model, a batch has `limits.batch_size` queries. If this limit is None, the batch has
    `size_for_threads` queries, but not more than the `batch_size` of the counter. For all other scorers, `row_batch`
    returns the size of the batches.
    """
    if not isinstance(scorer, GeometryRows):
        return [
            RowBatch(scorer, task, start, min(start + size, len(task.queries)))
            for task in tasks
            for size in (row_batch(scorer, limits, len(task.candidates)),)
            for start in range(0, len(task.queries), size)
        ]
    held: dict[Any, _Candidates] = {}  # address of the vectors -> their `_Candidates`, for all tasks with these vectors
    batches = []
    for task in tasks:
        candidates = _hold_candidates(scorer, task, limits, held)
        size = limits.batch_size or min(candidates.counter.batch_size, size_for_threads)
        batches += [
            VectorBatch(scorer, task, start, min(start + size, len(task.queries)), candidates)
            for start in range(0, len(task.queries), size)
        ]
    return batches


def _hold_candidates(scorer: GeometryRows, task: Task, limits: Limits, held: dict[Any, _Candidates]) -> _Candidates:
    """Return the `_Candidates` of a task, and store them in `held`.

    Tasks whose candidate vectors are the same array in memory share one `_Candidates`.
    """
    vectors = scorer.vectors(task.queries.side, task.candidates)
    key, largest_of = address(vectors), largest_in_rows(vectors)
    if key not in held:
        _check_candidates(largest_of, task, scorer.name)
        counter = make_counter(scorer.model.geometry, vectors, limits.device, limits.block_size)
        held[key] = _Candidates(vectors, largest_of, float(largest_of.max()), counter)
    if not np.array_equal(held[key].largest_of, largest_of):
        raise ScoreError(
            f"{scorer.name}.candidate_vectors returned the same array for both sides, with different values; kgeval "
            "needs the vectors of both sides at the same time. Return a separate array for each side"
        )
    return held[key]


def _without_positives(task: Task, start: int, stop: int, counts: Counts) -> TaskCounts:
    """Return the counts of rivals for queries ``start:stop``; a positive does not count as its own rival.

    `counts.equal` counts the candidates with the score of the positive, and thus also the positive itself.
    `counts.known_equal` counts the known answers with this score; these include the positive if it is a known answer.
    """
    offsets = task.queries.offsets[start : stop + 1]  # (queries + 1,): first positive of each query, and the end
    is_known = task.is_known[offsets[0] : offsets[-1]]  # (positives,)
    if (counts.equal < 1).any() or (counts.known_equal < is_known).any():
        raise ScoreError(
            "a positive is missing in the count of equal scores; this is a bug in kgeval, please report it"
        )
    # (positives,): the number of known answers of the positive's query
    n_known = np.repeat(np.diff(task.known_offsets[start : stop + 1]), np.diff(offsets))
    n_rivals = np.full(len(is_known), len(task.candidates) - 1, dtype=np.int64)
    return TaskCounts(
        RankCounts(counts.better, counts.equal - 1, n_rivals),
        RankCounts(counts.known_better, counts.known_equal - is_known, n_known - is_known),
        counts.scores,
    )


def _check_candidates(largest: Reals, task: Task, name: str) -> None:
    """Raise a ScoreError if a candidate vector contains NaN, infinite or very large numbers.

    `largest`, shape (candidates,), is the largest absolute value in each vector.
    """
    bad = np.flatnonzero(~(largest < MAX_SIZE))
    if len(bad):
        label = cut_label(task.dataset.entities.labels[task.candidates[bad[0]]])
        reason = "so large that its scores overflow float64"
        if not np.isfinite(largest[bad[0]]):
            reason = "not finite: it has a NaN or infinite value"
        n_more = len(bad) - 1
        more = f" (and of {n_more} more {'entity' if n_more == 1 else 'entities'})" if n_more else ""
        raise ScoreError(f"{name}: the vector of entity {label!r}{more} is {reason}. Did the training diverge?")


def _check_queries(largest: Reals, queries: Queries, task: Task, name: str) -> None:
    """Raise a ScoreError if a query vector contains NaN, infinite or very large numbers.

    `largest`, shape (queries,), is the sum of two numbers for each query: the largest absolute value in its vector, and
    the largest absolute value in all candidate vectors.
    """
    is_bad = ~(largest < MAX_SIZE)
    if is_bad.any():
        i = int(np.flatnonzero(is_bad)[0])
        query = describe_query(task.dataset, queries.side, queries.given[i], queries.relation[i])
        raise ScoreError(
            f"{name}: the vector of query {query} is not finite, or so large that its scores overflow float64; "
            "check the parameters of this entity and relation"
        )
