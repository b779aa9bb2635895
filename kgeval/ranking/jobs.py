"""`rank` ranks the positives of a `Job` with an executor, and merges the counts of the shards."""

from __future__ import annotations

import time
import typing
from collections.abc import Generator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kgeval.data.dataset import Dataset
from kgeval.errors import KgevalError, ScoreError
from kgeval.ranking.counts import TaskCounts
from kgeval.ranking.listed import ListTask
from kgeval.ranking.progress import Meter
from kgeval.ranking.ranker import Ranker
from kgeval.ranking.resume import RunFolder
from kgeval.ranking.shards import Failed, Finished, Shard, Work
from kgeval.ranking.tasks import Task
from kgeval.scorers.row_scorers import GeometryRows, Limits, RowScorer

MAX_FAILURES = 3  # a run with a run folder goes on after an error, and stops after this number of failed shards


class Executor(typing.Protocol):
    """Counts the shards of a job: on threads, in other processes or on other machines."""

    @property
    def n_processes(self) -> int:
        """The number of processes that score."""

    def run(self, job: Job) -> Generator[Finished | Failed, None, None]:
        """Take shards from ``job.work`` and count them; yield the outcomes in any order, each query once.

        If ``job.is_over`` becomes true, the executor takes no further shard. If only a part of a shard was counted, the
        executor yields an outcome for a smaller shard, which consists of this part.
        """


@dataclass
class Job:
    """All inputs of a ranking: the tasks, the scorer, and the limits of time and memory.

    Parameters
    ----------
    rows : RowScorer
        The scorer in this process.
    tasks : sequence of Task or sequence of ListTask
    limits : Limits
    urgency : sequence of int64 arrays, optional
        See `Work`; by default, the tasks are ranked one after another.
    meter : Meter
    deadline : float, optional
        The time (of `time.monotonic`) at which the run ends; the result is then the counts so far.
    store : RunFolder, optional
        Keeps the counts of finished shards.
    scorer : object
        The scorer that the user gave. The other processes receive this scorer, and adapt it to `dataset`.
    dataset : Dataset, optional
    prepared : list, optional
        The candidates that an earlier ranker of this process has prepared; this job's ranker uses them if possible.
    """

    rows: RowScorer
    tasks: Sequence[Task | ListTask]
    limits: Limits
    urgency: Sequence[Any] | None = None
    meter: Meter = field(default_factory=Meter.silent)
    deadline: float | None = None
    store: RunFolder | None = None
    scorer: Any = None
    dataset: Dataset | None = None
    prepared: list[Any] = field(default_factory=list)

    @cached_property
    def work(self) -> Work:
        """The queries that are not yet in a shard."""
        return Work(self.tasks, self.urgency)

    def ranker(self, n_threads: int) -> Ranker:
        """Return the ranker of this process."""
        return Ranker(self.rows, self.tasks, self.limits, n_threads, self.meter.note_memory, self.prepared)

    @property
    def is_geometry(self) -> bool:
        """Whether the scorer is an embedding model, whose batches may run on several threads."""
        return isinstance(self.rows, GeometryRows) and not (self.tasks and isinstance(self.tasks[0], ListTask))

    @property
    def seconds_left(self) -> float | None:
        """The seconds until the deadline, 0 or more; None if there is no deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self.seconds_left == 0.0

    def describe_kept(self) -> str:
        """Return a text that says which results of an interrupted run are kept, and how to continue the run."""
        if self.store is None:
            return "the finished ranks are lost; run_folder=DIR (--run-folder DIR) keeps them"
        return f"what was ranked is kept in {self.store.folder}; the same call goes on from there"

    def describe_stop(self) -> str:
        """Return the message of a run that was interrupted."""
        return f"stopped at {self.meter.describe()}: {self.describe_kept()}"


def rank(job: Job, executor: Executor) -> list[TaskCounts]:
    """Rank the positives of a job.

    Parameters
    ----------
    job : Job
    executor : Executor

    Returns
    -------
    list of TaskCounts
        The counts of each task, in the order of its queries; queries for which no time was left are missing.

    Raises
    ------
    ScoreError
        If a score is NaN (the message names query and candidate), if the scores have a wrong shape, or if a vector of
        an embedding model is too large or not finite.
    """
    if not job.work.n_queries:  # all queries were finished in the run folder
        return [TaskCounts.joined([]) for _ in job.tasks]
    parts: list[dict[int, TaskCounts]] = [{} for _ in job.tasks]  # per task: first query of a shard -> shard's counts
    failures: list[Failed] = []
    pace = job.rows.pace
    with job.meter, nullcontext() if pace is None else pace.watch(job.meter.scored, job.deadline):
        outcomes = executor.run(job)
        try:
            for outcome in outcomes:
                shard = outcome.shard
                if isinstance(outcome, Failed):
                    failures.append(outcome)
                    if job.store is None or len(failures) >= MAX_FAILURES:
                        break
                    continue
                parts[shard.task][shard.start] = outcome.counts
                before = job.meter.seconds
                job.meter.finished(job.tasks[shard.task].count_pairs(shard.start, shard.stop), shard.stop - shard.start)
                if job.store is not None:
                    job.store.add(job.tasks[shard.task].side, outcome.counts, job.meter.seconds - before)
        finally:
            outcomes.close()
    if failures:
        raise _error_of(failures, job)
    counts = [TaskCounts.joined([part[start] for start in sorted(part)]) for part in parts]
    for task, joined in zip(job.tasks, counts):
        _check_merged(task, joined, is_complete=job.deadline is None)
    return counts


def _check_merged(task: Task | ListTask, counts: TaskCounts, is_complete: bool) -> None:
    """Raise a ScoreError unless every positive of a task was counted once (at most once if not `is_complete`)."""
    n, rows = len(counts.rows), np.sort(counts.rows)
    n_distinct = n - np.count_nonzero(rows[1:] == rows[:-1])
    if n != n_distinct or (is_complete and n != len(task.rows)):
        raise ScoreError(
            f"the shards of the {task.side} side hold {n:,} positives, {n_distinct:,} of them distinct, in place of "
            f"{len(task.rows):,}; this is a bug in the executor, please report it"
        )


def _error_of(failures: Sequence[Failed], job: Job) -> Exception:
    """Return the error of the first failed shard; the message names the shard's queries and the kept results."""
    first = failures[0]
    if job.store is None and not first.traceback:
        return first.error
    where = _describe_shard(first.shard, job)
    n_more = len(failures) - 1
    more = f"; {n_more} more {'range' if n_more == 1 else 'ranges'} of queries failed" if n_more else ""
    message = f"{first.error} ({where}{more}); {job.describe_kept()}"
    error = type(first.error)(message) if isinstance(first.error, KgevalError) else ScoreError(message)
    error.__cause__ = RemoteTraceback(first.traceback) if first.traceback else first.error
    return error


def _describe_shard(shard: Shard, job: Job) -> str:
    """Return the queries of a shard as text."""
    task = job.tasks[shard.task]
    return f"queries {shard.start:,} to {shard.stop - 1:,} of {task.n_queries:,} of the {task.side} side"


class RemoteTraceback(Exception):
    """The traceback of an error in another process, as text; it is shown as the cause of the error in this process."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"
