"""The ranker of one process: `Ranker` divides shards into batches, and each batch counts rivals.

If every positive has its own list of negatives, a batch is a `ListBatch`. Otherwise it is a `VectorBatch` for an
embedding model, and a `RowBatch` for any other scorer. An executor (`kgeval.ranking.executors`) calls the method
`count` of each batch, possibly on several threads.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from kgeval.base.checks import Reals, cut_label
from kgeval.data.queries import Queries
from kgeval.errors import ScoreError
from kgeval.kernels.arrays import address, is_on_device, largest_in_rows
from kgeval.kernels.backends import Counter, check_counter_memory, make_counter, tile_shape
from kgeval.kernels.counts import Counts, Places
from kgeval.kernels.mapped_tables import is_kept
from kgeval.kernels.memory import check_row_memory
from kgeval.kernels.rows import row_counter
from kgeval.ranking.counts import RankCounts, TaskCounts
from kgeval.ranking.listed import ListBatch, ListTask
from kgeval.ranking.shards import Shard
from kgeval.ranking.tasks import Task
from kgeval.scorers.models import EmbeddingModel
from kgeval.scorers.row_scorers import (
    BATCH_SECONDS,
    ROW_BATCH_BYTES,
    GeometryRows,
    Limits,
    MatrixRows,
    RowScorer,
    check_dimensions,
    on_side,
    row_batch,
)
from kgeval.scorers.values import check_no_nan, describe_query

MAX_RIVALS = 1 << 20  # lists with about this many rivals in total are scored together
MIN_BATCH, BATCHES = 128, 4  # about 4 batches for each of several threads, but at least 128 queries in a batch
MIN_LARGE_BATCH = 32  # the smallest batch if the table of candidates is too large to be copied
MIN_QUERIES_FOR_BYTES = 512  # for fewer queries on a CPU, 8-bit copies of the candidates cost more than they save
TASKS_AT_ONCE = 2  # the candidate vectors of two tasks are in memory together (both sides, or two pools of candidates)
MAX_FLOAT32 = float(np.finfo(np.float32).max)
MAX_SIZE = 1e145  # vectors with larger numbers raise an error, because sums of their squares can overflow float64


class Ranker:
    """Counts the rivals of each positive in a shard; every process of a run has one `Ranker`.

    Parameters
    ----------
    rows : RowScorer
    tasks : sequence of Task or sequence of ListTask
        A `Task` holds queries and the candidates that they share; in a `ListTask`, every positive has its own list.
    limits : Limits
        The number of pairs that are scored at once, and the device.
    n_threads : int
        How many batches are counted at the same time.
    note_memory : function, optional
        Called with the number of bytes that the candidates of a task need, as soon as this number is known.
    prepared : list, optional
        The candidates that an earlier ranker of the same scorer prepared. This ranker uses these candidates again if
        possible, and replaces the content of the list by its own candidates.
    """

    def __init__(
        self,
        rows: RowScorer,
        tasks: Sequence[Task | ListTask],
        limits: Limits,
        n_threads: int = 1,
        note_memory: Callable[[int], None] = lambda n_bytes: None,
        prepared: list[_Candidates] | None = None,
    ) -> None:
        self.rows = rows
        self.tasks = tasks
        self.limits = limits
        self.n_threads = n_threads
        self._note_memory = note_memory
        self._prepared = [] if prepared is None else prepared
        self._held: dict[int, _Candidates] = {}  # index of a task -> its candidates, for the last `TASKS_AT_ONCE` tasks
        self._n_queries = sum(task.n_queries for task in tasks)
        self._lock = threading.Lock()

    def batch_size(self, task: int) -> int:
        """Return the number of queries in a batch of a task; for slow scorers, it depends on the measured speed."""
        queries = self.tasks[task]
        if isinstance(queries, ListTask):
            return max(1, self._lists_at_once(queries))
        rows = on_side(self.rows, queries.side)
        if not isinstance(rows, GeometryRows):
            size = row_batch(rows, self.limits, len(queries.candidates), queries.side)
            if self.limits.batch_size:
                check_row_memory(min(size, queries.n_queries), len(queries.candidates))
            return size
        if self.limits.batch_size:
            return self._candidates(task).counter.batch_size
        n_queries, held = self._n_queries, self._candidates(task)
        least, n_batches = MIN_BATCH, BATCHES * self.n_threads if self.n_threads > 1 else 1
        if not is_kept(held.vectors.nbytes):  # each batch reads the whole table: plan one batch for each thread
            least, n_batches = MIN_LARGE_BATCH, self.n_threads
        size = min(held.counter.batch_size, max(least, -(-n_queries // n_batches)))
        if queries.n_queries <= size:
            return size
        # batches of about the same size, and the same number for each thread, so that no thread waits at the end
        n_rounds = -(-queries.n_queries // (size * self.n_threads))
        return max(min(size, least), -(-queries.n_queries // (n_rounds * self.n_threads)))

    def _lists_at_once(self, task: ListTask) -> int:
        """Return the number of lists that are scored together; slow scorers then take about `BATCH_SECONDS`."""
        size = max(1, task.count_pairs(0, task.n_queries) // max(1, task.n_queries))  # pairs in a list
        rows = on_side(self.rows, task.side)
        n_pairs = None if rows.pace is None else rows.pace.batch_pairs(BATCH_SECONDS)
        largest = min(MAX_RIVALS, self.limits.batch_size or MAX_RIVALS)
        if n_pairs is None:
            return largest // size
        if isinstance(rows, MatrixRows):  # scores each query with all candidates, or with the candidates of all lists
            n_together = math.isqrt(n_pairs // size) if rows.takes_candidates(task.side) else 0
            return min(largest // size, max(n_pairs // rows.n_answers, n_together))
        return min(largest, n_pairs) // size

    def batches(self, shard: Shard) -> Iterator[RowBatch | VectorBatch | ListBatch]:
        """Yield the batches of a shard, in the order of its queries."""
        task, start = self.tasks[shard.task], shard.start
        rows = on_side(self.rows, task.side)
        while start < shard.stop:
            stop = min(shard.stop, start + self.batch_size(shard.task))
            if isinstance(task, ListTask):
                yield ListBatch(self.rows, task, start, stop)
            elif isinstance(rows, GeometryRows):
                yield VectorBatch(rows, task, start, stop, self._candidates(shard.task))
            else:
                yield RowBatch(rows, task, start, stop)
            start = stop

    def _candidates(self, task: int) -> _Candidates:
        """Return the `_Candidates` of a task; tasks with the same array of candidate vectors share one object."""
        with self._lock:
            if task not in self._held:
                while len(self._held) >= TASKS_AT_ONCE:
                    del self._held[next(iter(self._held))]
                self._held[task] = self._hold(self.tasks[task])
                self._prepared[:] = self._held.values()
            return self._held[task]

    def _hold(self, task: Any) -> _Candidates:
        """Return the `_Candidates` of a task.

        If an existing object has the same array of vectors in memory as the task, the existing object is returned.
        """
        scorer: Any = self.rows
        vectors = scorer.vectors(task.queries.side, task.candidates)
        key = address(vectors)
        method = getattr(type(scorer.model), "candidate_vectors", None)
        is_table = method is EmbeddingModel.candidate_vectors  # tables do not change during an evaluation
        others: tuple[_Candidates, ...] = (*self._held.values(), *(self._prepared if is_table else ()))
        same = next((held for held in others if address(held.vectors) == key), None)
        del others  # otherwise the other objects stay in memory
        if same is not None and is_table:
            return same
        self._prepared.clear()  # frees memory before the new counter needs memory
        # A counter reads the whole table to compute norms, and the norms are finite if and only if the vectors are
        # finite. So a large float32 table is not checked here, to read the table only once; finite float32 numbers are
        # always below `MAX_SIZE`.
        is_checked_by_counter = is_table and vectors.dtype == np.float32 and not is_kept(vectors.nbytes)
        largest_of = np.array([MAX_FLOAT32]) if is_checked_by_counter else largest_in_rows(vectors)
        if same is not None:
            if not np.array_equal(same.largest_of, largest_of):
                raise ScoreError(
                    f"{scorer.name}.candidate_vectors returned the same array for both sides, with different values; "
                    "kgeval needs the vectors of both sides at the same time. Return a separate array for each side"
                )
            return same
        if not is_checked_by_counter:
            _check_candidates(largest_of, task, scorer.name)
        geometry, limits, device = scorer.model.geometry, self.limits, self.limits.device
        n_queries = self._n_queries
        if n_queries < MIN_QUERIES_FOR_BYTES and (device == "cpu" or (device is None and not is_on_device(vectors))):
            device = "numpy"
        batch_size = block_size = None
        if limits.batch_size is not None:  # at most the number of all queries, divided among the threads
            batch_size, block_size = tile_shape(geometry, vectors, device, limits.batch_size)
            batch_size = min(batch_size, max(1, -(-n_queries // self.n_threads)))
        sizes = (device, block_size, self.n_threads, batch_size)
        self._note_memory(check_counter_memory(geometry, vectors, *sizes))
        with np.errstate(all="ignore"):
            counter = make_counter(geometry, vectors, *sizes)
        if is_checked_by_counter and not getattr(counter, "has_finite_norms", False):
            _check_candidates(largest_in_rows(vectors), task, scorer.name)
        return _Candidates(vectors, largest_of, float(largest_of.max()), counter)


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
        rows = self.scorer.rows(queries.side, queries.parts, task.candidates)
        largest = check_no_nan(rows, queries, task.candidates, task.dataset, self.scorer.name)
        count_rows = row_counter(rows)
        n_rows = max(1, len(rows), ROW_BATCH_BYTES // (8 * max(1, len(task.candidates))))
        counts = _rivals_counted(task, self.start, self.stop, rows, count_rows, n_rows)
        return replace(counts, is_infinite=largest == np.inf)


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
        vectors = self.scorer.queries(queries.side, queries.parts)
        check_dimensions(vectors, self.candidates.vectors, self.scorer.name)
        _check_queries(largest_in_rows(vectors) + self.candidates.largest, queries, task, self.scorer.name)
        counter = self.candidates.counter
        return _rivals_counted(task, self.start, self.stop, vectors, counter.count, counter.batch_size)


@dataclass(frozen=True)
class _Candidates:
    """The candidate vectors of a task, their largest absolute values, and the counter that compares the vectors."""

    vectors: Any  # shape (candidates, dimensions)
    largest_of: Reals  # shape (candidates,): the largest absolute value in each vector; or a single upper bound
    largest: float  # the largest number in `largest_of`; stored, since every batch needs it
    counter: Counter


def _rivals_counted(
    task: Task, start: int, stop: int, rows: Any, count: Callable[[Any, Places], Counts], most: int
) -> TaskCounts:
    """Count the rivals for the queries ``start:stop``, whose scores or vectors are `rows`.

    A query is counted once for each key, at most `most` keys at once. `Task.extras` are rivals in no setting.
    """
    offsets = task.key_offsets[start : stop + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    ranges = [(first, last)]
    if is_repeated := last - first > stop - start:
        row_of = np.repeat(np.arange(stop - start), np.diff(offsets))
        ranges = [(left, min(left + most, last)) for left in range(first, last, most)]
    found: list[TaskCounts] = []
    for one in (task, task.extras):
        if one is None:
            return found[0]
        parts = [
            count(rows[row_of[left - first : right - first]] if is_repeated else rows, one.places(left, right))
            for left, right in ranges
        ]
        counts = parts[0]
        if len(parts) > 1:
            counts = Counts(*(np.concatenate([getattr(part, name.name) for part in parts]) for name in fields(Counts)))
        found.append(_without_positives(one, start, stop, counts))
    ranked, none = found
    return replace(ranked, raw=ranked.raw - none.known, known=ranked.known - none.known)


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
    # (positives,): the number of known answers of the positive's key
    keys = slice(task.key_offsets[start], task.key_offsets[stop] + 1)
    n_known = np.repeat(np.diff(task.known_offsets[keys]), np.diff(task.offsets_of_keys[keys]))
    n_rivals = np.full(len(is_known), len(task.candidates) - 1, dtype=np.int64)
    return TaskCounts(
        task.rows[offsets[0] : offsets[-1]],
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
        query = describe_query(task.dataset, queries.side, queries.parts, i)
        raise ScoreError(
            f"{name}: the vector of query {query} is not finite, or so large that its scores overflow float64; "
            "check the parameters of this entity and relation"
        )
