"""The settings of a run (executor, time limit, run folder), from which `Evaluator.evaluate` makes its `Job`."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, counted
from kgeval.data.dataset import Dataset
from kgeval.data.protocol import Protocol, RandomSample
from kgeval.errors import ProtocolError, ScoreError
from kgeval.kernels.backends import check_device
from kgeval.ranking import executors
from kgeval.ranking.counts import TaskCounts
from kgeval.ranking.jobs import Executor, Job
from kgeval.ranking.listed import ListTask
from kgeval.ranking.progress import Meter, said_while
from kgeval.ranking.resume import RunFolder
from kgeval.ranking.shards import Work, in_order, without_finished
from kgeval.ranking.tasks import Task
from kgeval.scorers.call_size import OutOfTime
from kgeval.scorers.identity import ScorerIdentity
from kgeval.scorers.row_scorers import GeometryRows, Limits, RowScorer, columns_taken

KEPT = "run_folder=DIR (--run-folder DIR) keeps what is finished"  # what a user can do about a long run
PART = "max_seconds= (--max-seconds) or Protocol(sample=) (--sample) ranks a random part"
STOPPING_SECONDS = 1.5  # the time that worker processes need to end
RANKING_SHARE = 0.95  # the share of max_seconds for ranking; the rest of the time is for the row order check
# The identity of a scorer is computed in at most PROBE_SECONDS, and in at most PROBE_SHARE of max_seconds.
PROBE_SECONDS, PROBE_SHARE = 1.0, 0.05


@dataclass(frozen=True)
class RunSettings:
    """The settings of one call of `evaluate` that do not change the counts.

    Parameters
    ----------
    executor : Executor
    folder : Path, optional
        The run folder.
    max_seconds : float, optional
    progress : bool
    started : float
        The `time.monotonic` of the call.
    """

    executor: Executor
    folder: Path | None
    max_seconds: float | None
    progress: bool
    started: float

    @classmethod
    def of(
        cls,
        executor: Executor | None,
        run_folder: str | Path | None,
        max_seconds: float | None,
        progress: bool,
    ) -> RunSettings:
        """Return the settings from the arguments of `evaluate`; raise a ProtocolError for a wrong value."""
        if executor is not None and (isinstance(executor, type) or not hasattr(executor, "run")):
            raise ProtocolError(
                "executor must be a value such as kgeval.executors.Threads(4) or kgeval.executors.Ray(); got "
                f"{executor!r}"
            )
        is_number = isinstance(max_seconds, (int, float, np.number)) and not isinstance(max_seconds, bool)
        if max_seconds is not None and not (is_number and math.isfinite(max_seconds) and max_seconds > 0):
            raise ProtocolError(f"max_seconds must be a number of seconds above 0; got {max_seconds!r}")
        folder = None if run_folder is None else Path(run_folder)
        return cls(executor or executors.Threads(), folder, max_seconds, progress, time.monotonic())

    @property
    def is_local(self) -> bool:
        """Whether this process computes the scores; False if other processes do."""
        return isinstance(self.executor, executors.Threads)

    @property
    def seconds_left(self) -> float | None:
        """The seconds until `max_seconds` is over; None if there is no limit."""
        return None if self.max_seconds is None else max(0.0, self.started + self.max_seconds - time.monotonic())

    def check_device(self, rows: RowScorer, device: str | None) -> None:
        """Raise an error if `device` is set, but the scorer chooses its device, or this process lacks the device.

        If other processes compute the scores, this machine need not have the device.
        """
        if device is not None and not isinstance(rows, GeometryRows):
            raise ProtocolError(
                f"device={device!r} is for embedding models; {rows.name} chooses its own device, and kgeval ranks "
                "the tensors that it returns on their device. Remove device="
            )
        if self.is_local:
            check_device(device)

    @contextmanager
    def in_time(self, rows: RowScorer) -> Iterator[None]:
        """Limit the time of a ``with`` block that checks a scorer.

        Raise a ScoreError before a call of the scorer that would end after `max_seconds`.
        """
        with said_while("checking the scorer", self.progress):
            if rows.pace is None or self.max_seconds is None:
                yield
                return
            try:
                with rows.pace.watch(deadline=self.started + self.max_seconds):
                    yield
            except OutOfTime as error:
                raise ScoreError(
                    f"max_seconds={self.max_seconds:g}: no triple was ranked in this time, since checking "
                    f"{rows.name} takes longer. Give more time or fewer candidates (kgeval.candidates)"
                ) from error

    @contextmanager
    def opened(
        self,
        dataset: Dataset,
        protocol: Protocol,
        scorer: Any,
        rows: RowScorer,
        triples: Mapping[str, Ids],
        candidates: Mapping[str, Ids],
        seed: int,
    ) -> Iterator[RunFolder | None]:
        """Provide the open run folder in a ``with`` statement; None if the run has none.

        `triples` are the triples to rank on each side, with the codes of the columns that the scorer takes there;
        `candidates` are the ids of possible candidates of each side; `seed` is the seed of the random order.
        """
        if self.folder is None:
            yield None
            return
        seconds = min(PROBE_SECONDS, PROBE_SHARE * (self.max_seconds or math.inf))
        scored = columns_taken(rows, protocol.sides).scored
        identity = {
            "dataset": dataset.fingerprint_with([*(protocol.filter_by or ()), *scored])[:16],
            "protocol": protocol.to_dict(),
            "sample_seed": seed,
            "scorer": ScorerIdentity(scorer, rows, dataset, triples, candidates, protocol.sides, seconds),
        }
        with self.in_time(rows):
            store = RunFolder.open(self.folder, identity)
        with store:
            yield store

    def job(
        self,
        scorer: Any,
        rows: RowScorer,
        dataset: Dataset,
        tasks: Sequence[Task | ListTask],
        limits: Limits,
        store: RunFolder | None,
        places: Ids | None,
        finished: Mapping[str, TaskCounts],
        name: str = "ranking",
    ) -> Job:
        """Return the job: the queries that are not yet `finished`, in the order of `places` if given.

        `name` stands in the progress bar.
        """
        left: Sequence[Any] = without_finished(tasks, finished) if finished else tasks
        urgency = None
        if places is not None:
            left, urgency = in_order(left, places)
        whole, rest = Work(tasks), Work(left)
        before = whole.n_pairs - rest.n_pairs, whole.n_queries - rest.n_queries
        hint = PART if store is not None else f"{KEPT}, {PART}"
        meter = Meter(
            whole.n_pairs, whole.n_queries, self.progress, *before, name=name, limit=self.seconds_left, hint=hint
        )
        if store is not None and store.n_shards and finished is store.finished:
            meter.say(f"took over {counted(store.n_shards, 'shard')} of {store.folder}: {meter.describe()}")
        speed = None if rows.pace is None else rows.pace.pairs_within(1.0)
        if speed:
            meter.announce(rest.n_pairs / (speed * self.executor.n_processes))
            if rest.n_queries == whole.n_queries:
                self._check_time(left, speed)
        return Job(rows, left, limits, urgency, meter, self.deadline, store, scorer, dataset)

    @property
    def deadline(self) -> float | None:
        """The `time.monotonic` at which the ranking ends; None if there is no limit."""
        if self.max_seconds is None:
            return None
        spared = 0.0 if self.is_local else min(STOPPING_SECONDS, self.max_seconds / 4)  # time for the workers to end
        return self.started + RANKING_SHARE * self.max_seconds - spared

    def _check_time(self, tasks: Sequence[Task | ListTask], speed: int) -> None:
        """Raise a ScoreError if, at `speed` pairs per second, there is no time for the first query of each side."""
        n_pairs = [task.count_pairs(0, 1) for task in tasks if task.n_queries]
        if self.deadline is None or not n_pairs:
            return
        seconds = max(sum(n_pairs) / self.executor.n_processes, *n_pairs) / speed
        left = max(0.0, self.deadline - time.monotonic())
        if seconds > 2 * left:  # far too long, even if the next calls are faster
            raise ScoreError(
                f"max_seconds={self.max_seconds:g}: no triple can be ranked in this time. One triple takes about "
                f"{seconds:.0f} s ({sum(n_pairs):,} candidates on all sides, {speed:,} a second), and {left:.0f} s are "
                "left. Give more time, one side (--sides) or fewer candidates (--candidates, kgeval.candidates)"
            )

    def places(self, protocol: Protocol, n_positives: int, seed: int, is_precise: bool) -> Ids | None:
        """Return the position of each positive in the random order that `max_seconds` and a precision need.

        The result is None if neither is set.
        """
        if self.max_seconds is None and not is_precise:
            return None
        sample = protocol.sample
        if sample is not None and sample.seed is None:
            raise ProtocolError(
                "max_seconds ranks the first triples of a random order; it cannot be combined with a sample= that "
                "names rows. Give a number of triples, or leave max_seconds out"
            )
        places = np.empty(n_positives, dtype=np.int64)
        places[RandomSample.order(n_positives, seed)] = np.arange(n_positives)
        return places

    def reached(self, job: Job, counts: Sequence[TaskCounts], places: Ids | None, kept: Ids) -> int | None:
        """Return how many of the first triples of the random order are ranked on every side; None if all are ranked.

        Parameters
        ----------
        job : Job
        counts : sequence of TaskCounts
            One for each task of the job.
        places : int64 array, shape (all positives,), optional
            The position of each positive in the random order; None without `max_seconds`, so that all are ranked.
        kept : int64 array, shape (kept,)
            The indices of the positives that can be ranked; the setting `unseen` may leave some positives out.

        Raises
        ------
        ScoreError
            If not even the first triple of the order is ranked on every side.
        """
        if places is None:
            return None
        open_rows = [task.rows[~np.isin(task.rows, part.rows)] for task, part in zip(job.tasks, counts)]
        first_open = [int(places[rows].min()) for rows in open_rows if len(rows)]
        if not first_open:
            return None
        if min(first_open) <= places[kept].min():
            n_pairs = job.meter.n_pairs // max(1, job.meter.n_queries)
            raise ScoreError(
                f"max_seconds={self.max_seconds:g}: no triple was ranked on every side in this time; a query has about "
                f"{n_pairs:,} candidates ({job.meter.describe_speed()}, after "
                f"{job.meter.started - self.started:.1f} s of preparation). Give more time or fewer candidates "
                "(kgeval.candidates), or rank one side"
            )
        return min(first_open)

    @property
    def threads(self) -> int | None:
        """The number of threads in this process; None for one per processor."""
        return self.executor.threads if isinstance(self.executor, executors.Threads) else None

    def limits_here(self, limits: Limits) -> Limits:
        """Return the limits for ranking in this process, without a device that may exist only on other machines."""
        return limits if self.is_local else replace(limits, device=None)


def joined_sides(
    job: Job, counts: Sequence[TaskCounts], finished: Mapping[str, TaskCounts], sides: Sequence[str]
) -> dict[str, TaskCounts]:
    """Return the counts of each side: those that were `finished` before the job, and those of the job.

    Parameters
    ----------
    job : Job
    counts : sequence of TaskCounts
        One for each task of the job.
    finished : mapping of str to TaskCounts
        Side -> counts; a side may be missing.
    sides : sequence of str
    """
    return {
        side: TaskCounts.joined(
            [
                *([finished[side]] if side in finished else []),
                *(part for task, part in zip(job.tasks, counts) if task.side == side and len(part.rows)),
            ]
        )
        for side in sides
    }
