"""`Threads`, the executor that ranks in this process: embedding models on threads, others in the calling thread."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

from kgeval.base.checks import check_positive_int, names_unknown_arguments
from kgeval.kernels.backends import one_thread_each
from kgeval.ranking.executors.outcomes import outcome_of
from kgeval.ranking.jobs import Job
from kgeval.ranking.ranker import TASKS_AT_ONCE, Ranker
from kgeval.ranking.shards import Failed, Finished, Shard

# With a deadline, embedding models rank their shards in rounds. A shard of the first round has `FIRST_QUERIES` queries;
# a later round takes about `ROUND_SECONDS`.
FIRST_QUERIES, ROUND_SECONDS = 16, 0.5
SMALL_JOB = 400_000  # pairs (query, candidate); starting threads takes longer than counting so few pairs


@names_unknown_arguments(n="threads=")
@dataclass(frozen=True)
class Threads:
    """Rank in this process: the batches of embedding models on some threads, all other scorers in the calling thread.

    Parameters
    ----------
    threads : int, optional
        Number of threads; by default one per processor, and none for a job of at most `SMALL_JOB` pairs, which is
        ranked in the calling thread.

    Examples
    --------
    >>> Threads(2)
    Threads(threads=2)
    """

    threads: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None:
            check_positive_int("threads", self.threads)

    @property
    def n_processes(self) -> int:
        """The number of processes that score."""
        return 1

    def run(self, job: Job) -> Generator[Finished | Failed, None, None]:
        """Count the shards of a job; yield the outcomes, batch after batch, until no time is left."""
        n = self.threads or (available_threads() if job.work.n_pairs > SMALL_JOB else 0)
        ranker = job.ranker(max(1, n) if job.is_geometry else 1)
        with workers(n) if job.is_geometry else nullcontext(map) as in_order:
            for shards in _rounds(job, ranker):
                batches = [(shard.task, batch) for shard in shards for batch in ranker.batches(shard)]
                for outcome in in_order(lambda pair: outcome_of(pair[0], pair[1], job.deadline), batches):
                    if outcome is None:
                        return
                    yield outcome


def _rounds(job: Job, ranker: Ranker) -> Iterator[list[Shard]]:
    """Yield lists of shards; the batches of a list are counted before the next list is taken."""
    if job.rows.pace is not None:  # the size of the next shard depends on the measured speed
        while (shard := job.work.take(ranker.batch_size)) is not None:
            yield [shard]
    elif job.deadline is None:
        yield from job.work.rounds(ranker.batch_size, TASKS_AT_ONCE)
    else:
        yield from _timed_rounds(job, ranker)


def _timed_rounds(job: Job, ranker: Ranker) -> Iterator[list[Shard]]:
    """Yield lists of shards that take about `ROUND_SECONDS`, so that a job ends soon after its deadline."""
    size = FIRST_QUERIES

    def size_of(task: int) -> int:
        return min(size, ranker.batch_size(task))

    while True:
        taken = [job.work.take(size_of) for _ in range(2 * ranker.n_threads)]
        shards = [shard for shard in taken if shard is not None]
        if not shards:
            return
        started = time.monotonic()
        yield shards
        seconds = max(time.monotonic() - started, 1e-6)
        size = max(1, min(4 * size, int(size * ROUND_SECONDS / seconds)))


def available_threads() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def workers(threads: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """Provide, in a ``with`` statement, a function like `map` that runs on worker threads.

    The function returns its results in the order of its inputs. Matrix products (BLAS, torch) use a single thread
    within each worker, so that workers do not compete.

    Parameters
    ----------
    threads : int
        The number of worker threads; 0: the calling thread does the work.

    Returns
    -------
    context manager
        In ``with workers(n) as run``, the function is ``run``; it is called like `map`.
    """
    with _blas(len(sys.modules)).limit(limits=1), one_thread_each() as start_worker:
        if not threads:
            if start_worker is not None:
                start_worker()
            yield map
            return
        pool = ThreadPoolExecutor(threads, initializer=start_worker)
        try:
            yield pool.map
        finally:
            pool.shutdown(cancel_futures=True)


@lru_cache(maxsize=1)
def _blas(n_modules: int) -> ThreadpoolController:
    """Return the BLAS libraries of this process; `n_modules` tells when an import may have loaded another library."""
    return ThreadpoolController().select(user_api="blas")
