"""Distribute queries to workers: `ShardPlan` chooses the sizes of shards, `drive` keeps the workers of a `Crew` busy.

`Processes` and `Ray` call `drive`, each with its own crew.
"""

from __future__ import annotations

import time
import typing
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kgeval.base.checks import check_positive_int
from kgeval.data.sides import side_of
from kgeval.errors import ScoreError
from kgeval.ranking.executors.threads import FIRST_QUERIES
from kgeval.ranking.executors.workers import Handshake, Report, Trouble, triples_of
from kgeval.ranking.jobs import Job, RemoteTraceback
from kgeval.ranking.listed import ListTask
from kgeval.ranking.ranker import MIN_BATCH
from kgeval.ranking.shards import Failed, Finished, Shard, Work
from kgeval.scorers.call_size import OutOfTime
from kgeval.scorers.rounding import Rounding, score_differences
from kgeval.scorers.row_scorers import GeometryRows, queries_within, score_triples

FIRST_SECONDS = 2.0  # the planned time of a worker's first shard, if the speed of the scorer is known
RETRIES = 3
SHARD_SECONDS, TIMED_SECONDS, MIN_SECONDS = 5.0, 1.0, 0.2  # planned time of a shard: usual, with a deadline, minimum
GRACE_SECONDS = 1.0  # after the deadline, the last reports of the workers are awaited for this time
PATIENCE_SECONDS = 20.0  # if no worker is ready after this time, a message is shown
CHECKED_TRIPLES = 16  # this many triples of the first shard of each worker are also scored in this process


def check_retries(value: Any) -> int:
    """Return `value` as an int of at least 0, else raise a ProtocolError."""
    return check_positive_int("retries", value) if value != 0 or isinstance(value, bool) else 0


class Lost(Exception):
    """Raised if a worker process died or its machine cannot be reached; the message gives the known reason."""


class Crew(typing.Protocol):
    """A group of worker processes. A call to a worker returns a handle at once.

    `wait` returns the calls that have ended.
    """

    @property
    def n_workers(self) -> int:
        """The number of workers that can run at the same time."""

    def start(self) -> Any:
        """Start a worker process."""

    def handshake(self, worker: Any) -> Any:
        """Call `WorkerProcess.handshake`."""

    def prepare(self, worker: Any) -> Any:
        """Call `WorkerProcess.prepare`."""

    def count(self, worker: Any, shard: Shard, seconds_left: float | None) -> Any:
        """Call `WorkerProcess.count`."""

    def wait(self, calls: Sequence[Any], seconds: float | None) -> Sequence[Any]:
        """Wait until at least one call has ended, or until `seconds` have passed; return the calls that have ended."""

    def result(self, call: Any) -> Any:
        """Return the result of a call that has ended; raise `Lost` if the worker process died."""

    def stop(self, worker: Any) -> None:
        """End a worker process, even if it has not finished its shard."""

    def close(self) -> None:
        """End all worker processes, and release the resources of the crew."""


class ShardPlan:
    """Chooses the sizes of the shards of a run, from the measured speed of each worker.

    The first shards of a worker are small. Later shards take about `SHARD_SECONDS`. Near the end, shards are smaller,
    so that all workers end at about the same time: a shard takes at most half of the time in which all workers together
    would finish the remaining queries.

    Parameters
    ----------
    work : Work
    n_workers : int
    first_queries : function
        ``first_queries(task)`` returns the number of queries in the first shards of a task (an index).
    shard_seconds : float
    min_queries : int
        The smallest number of queries in a shard, as long as enough queries are left for every worker. Each batch of an
        embedding model has a fixed cost, about the cost of 60 queries, whatever the number of candidates.
    """

    def __init__(
        self,
        work: Work,
        n_workers: int,
        first_queries: Callable[[int], int],
        shard_seconds: float = SHARD_SECONDS,
        min_queries: int = 1,
    ) -> None:
        self.work, self.n_workers = work, n_workers
        self._first_queries, self._shard_seconds, self._min_queries = first_queries, shard_seconds, min_queries
        self._speeds: dict[Any, float] = {}  # worker -> pairs per second
        self._returned: list[Shard] = []  # shards of workers that died, to be counted again
        self._open: set[Shard] = set()  # shards that were given to a worker and are not finished
        self._failures: dict[Shard, int] = {}  # shard -> the number of workers that died while counting the shard
        self._n_pairs_left = work.n_pairs  # the pairs of queries that were never given to a worker

    @property
    def is_done(self) -> bool:
        """Whether every query was counted or has failed."""
        return not self._open and self.work.next_task() is None

    def next(self, worker: Any, seconds_left: float | None = None) -> Shard | None:
        """Return the next shard for a worker; None if no query is left.

        Parameters
        ----------
        worker : object
            The worker, as `Crew.start` returned it.
        seconds_left : float, optional
            The time left. If the speed of the worker is known, the shard is planned to take no longer.
        """
        if self._returned:
            return self._returned.pop()
        task = self.work.next_task()
        shard = None if task is None else self.work.take(self._size(worker, task, seconds_left))
        if shard is None:
            return None
        self._open.add(shard)
        self._n_pairs_left -= self._pairs(shard)
        return shard

    def _size(self, worker: Any, task: int, seconds_left: float | None) -> int:
        """Return the number of queries of a task in the next shard of a worker."""
        queries = self.work.tasks[task]
        pairs_each = max(1.0, queries.count_pairs(0, queries.n_queries) / max(1, queries.n_queries))
        share = max(1, int(self._n_pairs_left / (2 * self.n_workers * pairs_each)))
        if worker not in self._speeds:
            return min(self._first_queries(task), share)
        speeds = list(self._speeds.values())
        total = sum(speeds) + sum(speeds) / len(speeds) * max(0, self.n_workers - len(speeds))
        seconds = min(self._shard_seconds, max(MIN_SECONDS, self._n_pairs_left / (2 * total)))
        if seconds_left is not None:
            seconds = min(seconds, seconds_left)
        return max(min(self._min_queries, share), int(self._speeds[worker] * seconds / pairs_each))

    def finished(self, worker: Any, shard: Shard, seconds: float) -> bool:
        """Record that a worker counted a shard.

        Return False if the shard was already finished; the caller then drops the new counts.
        """
        if shard not in self._open:
            return False
        self._open.remove(shard)
        if shard in self._returned:
            self._returned.remove(shard)
        speed = self._pairs(shard) / max(seconds, 1e-6)
        self._speeds[worker] = (speed + self._speeds.get(worker, speed)) / 2
        return True

    def lost(self, worker: Any, shard: Shard | None, retries: int) -> bool:
        """Record that a worker died while it counted a shard; return False if the shard may not be counted again."""
        self._speeds.pop(worker, None)
        if shard is None or shard not in self._open:
            return True
        self._failures[shard] = self._failures.get(shard, 0) + 1
        if self._failures[shard] > retries:
            self._open.remove(shard)
            return False
        self._returned.append(shard)
        return True

    def _pairs(self, shard: Shard) -> int:
        return self.work.tasks[shard.task].count_pairs(shard.start, shard.stop)


@dataclass
class _Call:
    """A running call of a worker; its `stage` is ``"handshake"``, ``"preparing"`` or ``"counting"`` (a shard)."""

    worker: Any
    stage: str
    shard: Shard | None = None


@dataclass
class _Run:
    """The state of `drive`."""

    job: Job
    crew: Crew
    retries: int
    plan: ShardPlan
    clock: Callable[[], float]
    here: Handshake = field(default_factory=Handshake.here)
    calls: dict[Any, _Call] = field(default_factory=dict)
    n_failed_starts: int = 0  # the number of consecutive workers that died while they started
    n_ready: int = 0  # the number of workers that were prepared
    idle: list[Any] = field(default_factory=list)  # workers that have nothing to do
    checked: set[Any] = field(default_factory=set)  # workers whose scores were compared with scores of this process

    def start(self) -> None:
        worker = self.crew.start()
        self.calls[self.crew.handshake(worker)] = _Call(worker, "handshake")

    def assign(self, worker: Any) -> None:
        """Give a worker its next shard, if there is one."""
        shard = None if self.job.is_over else self.plan.next(worker, self.job.seconds_left)
        if shard is None:
            self.idle.append(worker)
        else:
            self.calls[self.crew.count(worker, shard, self.job.seconds_left)] = _Call(worker, "counting", shard)

    @property
    def is_counting(self) -> bool:
        return any(call.stage == "counting" for call in self.calls.values())


def drive(
    job: Job, crew: Crew, retries: int, n_threads: int = 1, *, clock: Callable[[], float] = time.monotonic
) -> Generator[Finished | Failed, None, None]:
    """Count the shards of a job with the workers of a crew, and close the crew; yield the outcomes, each query once.

    If a worker dies, another worker counts the same shard, at most `retries` times; after that, the shard has failed.

    Parameters
    ----------
    job : Job
    crew : Crew
    retries : int
    n_threads : int
        The threads of each worker.
    clock : function
        Returns the time in seconds, as `time.monotonic` does.

    Raises
    ------
    ScoreError
        If no worker can start, if a worker has another version of kgeval or another dataset, or if the scores of a
        worker differ from the scores of this process.
    """
    n_workers = min(crew.n_workers, job.work.n_queries)
    target = SHARD_SECONDS if job.deadline is None else TIMED_SECONDS
    least = MIN_BATCH * n_threads if job.is_geometry and job.deadline is None else 1
    plan = ShardPlan(job.work, n_workers, lambda task: max(least, _first_queries(job, task)), target, least)
    run = _Run(job, crew, retries, plan, clock)
    told, since = False, clock()
    try:
        for _ in range(n_workers):
            run.start()
        while not run.plan.is_done:
            left = job.seconds_left
            if (
                job.deadline is not None
                and job.is_over
                and (not run.is_counting or clock() > job.deadline + GRACE_SECONDS)
            ):
                return
            timeout = PATIENCE_SECONDS if left is None else min(PATIENCE_SECONDS, left or GRACE_SECONDS)
            ended = crew.wait(list(run.calls), timeout)
            if not told and not run.is_counting and clock() - since >= PATIENCE_SECONDS:
                told = True
                job.meter.say("no worker has started yet; is the cluster busy?")
            for handle in ended:
                call = run.calls.pop(handle)
                yield from _outcomes(run, call, handle)
    finally:
        crew.close()


def _outcomes(run: _Run, call: _Call, handle: Any) -> Generator[Finished | Failed, None, None]:
    """Handle the end of a call: give the worker its next call, and yield the outcomes of a counted shard."""
    try:
        result = run.crew.result(handle)
    except Lost as reason:
        yield from _replace(run, call, reason)
        return
    if call.stage == "handshake":
        _check_greeting(result, run.here)
        run.calls[run.crew.prepare(call.worker)] = _Call(call.worker, "preparing")
    elif call.stage == "preparing":
        if isinstance(result, Trouble):
            raise _startup_error(result)
        _check_fingerprint(result, run.job)
        run.n_failed_starts = 0
        if not run.n_ready:
            run.job.meter.begin()
        run.n_ready += 1
        run.assign(call.worker)
    elif call.shard is not None:
        if isinstance(result, Trouble):
            result = Report([Failed(call.shard, result.error, result.traceback)], 0.0)
        is_new = run.plan.finished(call.worker, call.shard, result.seconds)
        run.assign(call.worker)
        if not is_new:
            return
        if call.worker not in run.checked:
            _check_scores(run.job, result.outcomes, is_first=not run.checked)
            run.checked.add(call.worker)
        yield from result.outcomes


def _replace(run: _Run, call: _Call, reason: Lost) -> Generator[Failed, None, None]:
    """Start a new worker in place of a dead worker; yield a failure if too many workers died on the same shard."""
    run.crew.stop(call.worker)
    is_left = run.plan.lost(call.worker, call.shard, run.retries)
    if call.shard is None:
        run.n_failed_starts += 1
        if run.n_failed_starts > run.retries:
            raise ScoreError(f"worker processes die while they start: {reason}") from reason
    elif not is_left:
        n = run.retries + 1
        error = ScoreError(
            f"the worker process died every time it counted these queries ({n} times); was it killed, or out of "
            f"memory? {reason}"
        )
        yield Failed(call.shard, error, f"the last of {n} worker processes: {reason}")
    if run.idle and not run.plan.is_done:
        run.assign(run.idle.pop())
    if not run.plan.is_done:
        run.start()


def _first_queries(job: Job, task: int) -> int:
    """Return the number of queries of a task in the first shard of a worker, before the worker's speed is known."""
    queries = job.tasks[task]
    pairs_each = max(1, queries.count_pairs(0, queries.n_queries) // max(1, queries.n_queries))
    first = MIN_BATCH if job.deadline is None else FIRST_QUERIES
    if isinstance(job.rows, GeometryRows) and not isinstance(queries, ListTask):
        return max(1, job.limits.batch_size // pairs_each) if job.limits.batch_size else first
    n_queries = queries_within(job.rows, FIRST_SECONDS, pairs_each, queries.side)
    return max(1, first if n_queries is None else n_queries)


def _check_greeting(greeting: Handshake, here: Handshake) -> None:
    """Raise a ScoreError if a worker runs another version of kgeval than this process."""
    if greeting.version != here.version:
        what = f"kgeval {greeting.version}, and this process kgeval {here.version}"
    elif greeting.digest != here.digest:
        what = (
            f"other source files of kgeval {here.version} (SHA-256 {greeting.digest[:12]}) than this process "
            f"({here.digest[:12]})"
        )
    else:
        return
    raise ScoreError(f"the worker {greeting.place} has {what}; install the same kgeval everywhere")


def _check_fingerprint(fingerprint: str, job: Job) -> None:
    """Raise a ScoreError if a worker has another dataset than this process."""
    dataset: Any = job.dataset
    if fingerprint != dataset.fingerprint:
        raise ScoreError(
            f"a worker's dataset has the fingerprint {fingerprint[:12]}, but this process's dataset has "
            f"{dataset.fingerprint[:12]} ({dataset.name!r}); was the dataset changed after it was made?"
        )


def _startup_error(trouble: Trouble) -> Exception:
    """Return the error of a worker that could not be prepared."""
    text = str(trouble.error)
    if "No module named" in text:
        text += '. Install the module on each machine, or send it to the workers: Ray(runtime_env={"working_dir": "."})'
    error = type(trouble.error)(f"a worker could not be prepared: {text}")
    error.__cause__ = RemoteTraceback(trouble.traceback)
    return error


def _check_scores(job: Job, outcomes: Sequence[Finished | Failed], is_first: bool) -> None:
    """Raise a ScoreError if a worker and this process give some positives different scores.

    A scorer can lose its state when it is pickled, depend on the process (on hashes of str, for example), or load other
    parameters. Differences by rounding are allowed. If scoring takes long in this process, only the first worker is
    checked.
    """
    finished = next((outcome for outcome in outcomes if isinstance(outcome, Finished)), None)
    if finished is None:
        return
    task, start = job.tasks[finished.shard.task], finished.shard.start
    # A scorer of whole rows scores a query with all candidates.
    is_slow = job.rows.kind == "matrix" and not queries_within(
        job.rows, MIN_SECONDS, len(side_of(task.side).vocabulary(task.dataset)), task.side
    )
    if is_slow and not is_first:
        return
    n_queries = 1 if is_slow else min(CHECKED_TRIPLES, finished.shard.stop - start)
    triples = triples_of(task, start, start + n_queries)[:CHECKED_TRIPLES]
    try:
        expected = score_triples(job.rows, triples, task.side)
    except OutOfTime:
        return
    got = finished.counts.scores[: len(triples)]
    differs = score_differences(expected, got) > Rounding.of(finished.counts.scores).slack(got, expected)
    if differs.any():
        i = int(np.argmax(differs))
        s, p, o = triples[i, :3]
        raise ScoreError(
            f"{job.rows.name} gave the triple with the ids ({s}, {p}, {o}) the score {expected[i]:.9g} in this process "
            f"and {got[i]:.9g} in a worker; a score must not depend on the process. Does the scorer lose data when it "
            "is pickled, does it use hash() of a str, or does load= read another file?"
        )
