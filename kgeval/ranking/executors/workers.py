"""`Worker`, the part of a run in another process: it receives the data of the run (`Shipment`) and counts shards.

`Processes` and `Ray` start workers and send the data to them; `kgeval.ranking.executors.dispatch` distributes the
shards.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.machinery
import os
import pickle
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kgeval._version import __version__
from kgeval.base.checks import Ids, grouped
from kgeval.data.dataset import Dataset
from kgeval.errors import KgevalError, ScoreError
from kgeval.kernels.backends import check_device
from kgeval.ranking.counts import TaskCounts
from kgeval.ranking.executors.outcomes import outcome_of
from kgeval.ranking.executors.threads import workers
from kgeval.ranking.jobs import Job
from kgeval.ranking.listed import ListTask
from kgeval.ranking.ranker import BATCHES, MIN_BATCH, Ranker
from kgeval.ranking.shards import Failed, Finished, Shard
from kgeval.ranking.tasks import Task
from kgeval.scorers.identity import ScorerIdentity
from kgeval.scorers.libraries import bound
from kgeval.scorers.row_scorers import GeometryRows, Limits, RowScorer, as_row_scorer

PROBED = 1000  # the number of queries of each task with which a scorer is probed


@dataclass(frozen=True)
class Handshake:
    """The versions that a worker process reports before it receives a job; the main process must have equal versions.

    Parameters
    ----------
    version : str
        The version of kgeval.
    digest : str
        SHA-256 (hexadecimal) of kgeval's own source files.
    place : str
        The process and its machine, for messages.
    """

    version: str
    digest: str
    place: str

    @classmethod
    def here(cls) -> Handshake:
        """Return the greeting of this process."""
        return cls(
            __version__, source_digest(Path(__file__).parents[2]), f"process {os.getpid()} on {socket.gethostname()}"
        )


def source_digest(folder: Path) -> str:
    """Return the SHA-256 (hexadecimal) of all Python files below a folder: their names and contents.

    Parameters
    ----------
    folder : Path
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


@dataclass(frozen=True)
class Shipment:
    """The data that each worker needs to count shards; the main process sends them to each worker once.

    Parameters
    ----------
    scorer : object
        The scorer that the user gave; None if `load` makes the scorer.
    dataset : Dataset
    tasks : sequence of Task or ListTask
    limits : Limits
    n_threads : int
        The threads that a worker uses.
    load : function, optional
        Takes the dataset and returns the scorer.
    identity : dict, optional
        Only with `load`: the description (`ScorerIdentity`) of the scorer that the user gave. The scorer from `load`
        must have the same description.
    """

    scorer: Any
    dataset: Dataset
    tasks: Sequence[Task | ListTask]
    limits: Limits
    n_threads: int = 1
    load: Callable[[Dataset], Any] | None = None
    identity: dict[str, Any] | None = None

    @classmethod
    def of(cls, job: Job, n_threads: int = 1, load: Callable[[Dataset], Any] | None = None) -> Shipment:
        """Return the shipment of a job."""
        dataset: Any = job.dataset
        if load is None:
            return cls(job.scorer, dataset, job.tasks, job.limits, n_threads)
        identity = _identity(bound(job.scorer, dataset), job.rows, dataset, job.tasks).describe()
        return cls(None, dataset, job.tasks, job.limits, n_threads, load, identity)


def _identity(scorer: Any, rows: RowScorer, dataset: Dataset, tasks: Sequence[Task | ListTask]) -> ScorerIdentity:
    """Return the identity of a scorer, probed with the first queries of each task."""
    of_side = grouped((task.side, task) for task in tasks)
    triples = {
        side: np.concatenate([triples_of(task, 0, min(PROBED, task.n_queries)) for task in part])
        for side, part in of_side.items()
    }
    candidates = {side: np.unique(np.concatenate([*map(_candidates, part)])) for side, part in of_side.items()}
    return ScorerIdentity(scorer, rows, dataset, triples, candidates, tuple(of_side))


def triples_of(task: Task | ListTask, start: int, stop: int) -> Ids:
    """Return the positives of the queries ``start:stop`` of a task, int64, shape (positives, 3)."""
    if isinstance(task, ListTask):
        return task.triples[start:stop]
    return task.queries.part(start, stop).facts


def _candidates(task: Task | ListTask) -> Ids:
    """Return the ids of all entities that are candidates in a task."""
    return task.rivals.values if isinstance(task, ListTask) else task.candidates


@dataclass(frozen=True)
class Trouble:
    """An error in a worker that does not belong to a shard; the process returns this object instead of raising it."""

    error: Exception
    traceback: str


@dataclass(frozen=True)
class Report:
    """The result of a worker for a shard.

    Parameters
    ----------
    outcomes : list of Finished or Failed
        The outcomes of the parts of the shard. With a deadline, the last parts may be missing.
    seconds : float
        The time that the counting took.
    """

    outcomes: list[Finished | Failed]
    seconds: float


class Worker:
    """Counts shards in a separate process.

    A worker ignores Ctrl-C; the main process handles it. Matrix products use ``shipment.n_threads`` threads.

    Parameters
    ----------
    shipment : Shipment
    """

    def __init__(self, shipment: Shipment) -> None:
        ignore_interrupts()
        scorer = shipment.scorer if shipment.load is None else shipment.load(shipment.dataset)
        scorer = bound(scorer, shipment.dataset)
        self._rows = as_row_scorer(scorer, len(shipment.dataset.entities), shipment.limits, shipment.dataset)
        if isinstance(self._rows, GeometryRows):
            check_device(shipment.limits.device)
        if shipment.identity is not None:
            identity = _identity(scorer, self._rows, shipment.dataset, shipment.tasks)
            differences = identity.differences(shipment.identity)
            if differences:
                raise ScoreError(
                    f"load= returns a scorer that differs from the evaluated scorer: {'; '.join(differences)}. Pass "
                    "the scorer that load= returns to evaluate()"
                )
        self._ranker = Ranker(self._rows, shipment.tasks, shipment.limits, shipment.n_threads)
        self._tasks, self._n_threads = shipment.tasks, shipment.n_threads
        threadpool_limits(self._n_threads)
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.set_num_threads(self._n_threads)

    def count(self, shard: Shard, seconds_left: float | None = None) -> Report:
        """Count a shard, or only the first part of it if not enough time is left.

        Parameters
        ----------
        shard : Shard
        seconds_left : float, optional
            A duration and not a time of day, since the clocks of two machines differ.
        """
        deadline = None if seconds_left is None else time.monotonic() + seconds_left
        pace = self._rows.pace
        with contextlib.nullcontext() if pace is None else pace.watch(None, deadline):
            try:
                self._ranker.batch_size(shard.task)  # prepares the candidates; the measured time does not include this
            except Exception as error:
                return Report([failed(shard, error)], 0.0)
            start = time.monotonic()
            outcomes = list(_joined(self._outcomes(shard, deadline)))
        return Report(outcomes, time.monotonic() - start)

    def _outcomes(self, shard: Shard, deadline: float | None) -> Iterator[Finished | Failed]:
        """Yield the outcomes of the batches of a shard, in order, until no time is left."""
        n_threads = self._n_threads if isinstance(self._rows, GeometryRows) else 1

        def count(batch: Any) -> Finished | Failed | None:
            try:
                outcome = outcome_of(shard.task, batch, deadline)
            except Exception as error:
                outcome = Failed(Shard(shard.task, batch.start, batch.stop), error)
            return failed(outcome.shard, outcome.error) if isinstance(outcome, Failed) else outcome

        with workers(n_threads) if n_threads > 1 else contextlib.nullcontext(map) as in_order:
            for outcome in in_order(count, self._batches(shard, n_threads)):
                if outcome is None:
                    return
                yield outcome

    def _batches(self, shard: Shard, n_threads: int) -> Iterator[Any]:
        """Yield the batches of a shard; with several threads, batches are smaller, so that all threads have work."""
        n = shard.stop - shard.start
        step = n if n_threads == 1 else max(MIN_BATCH, -(-n // (BATCHES * n_threads)))
        for start in range(shard.start, shard.stop, max(1, step)):
            yield from self._ranker.batches(Shard(shard.task, start, min(start + step, shard.stop)))


def _joined(outcomes: Iterator[Finished | Failed]) -> Iterator[Finished | Failed]:
    """Join the counts of neighbouring batches, so that less data is sent; failures are not joined."""
    held: list[Finished] = []

    def joined() -> Iterator[Finished]:
        if held:
            shard = Shard(held[0].shard.task, held[0].shard.start, held[-1].shard.stop)
            yield Finished(shard, TaskCounts.joined([part.counts for part in held]))
            held.clear()

    for outcome in outcomes:
        if isinstance(outcome, Finished):
            held.append(outcome)
            continue
        yield from joined()
        yield outcome
    yield from joined()


def failed(shard: Shard, error: Exception) -> Failed:
    """Return the failure of a shard, with an error that can be pickled and the traceback as text.

    Parameters
    ----------
    shard : Shard
    error : Exception
    """
    return Failed(shard, portable(error), "".join(traceback.format_exception(type(error), error, error.__traceback__)))


def portable(error: Exception) -> Exception:
    """Return an error that every process can unpickle: an error of kgeval unchanged, any other error as a ScoreError.

    Parameters
    ----------
    error : Exception

    Examples
    --------
    >>> portable(KeyError("x"))
    ScoreError("KeyError: 'x'")
    """
    if "read-only" in str(error) and type(error) in (ScoreError, ValueError):
        text = str(error) if isinstance(error, ScoreError) else f"ValueError: {error}"
        return ScoreError(f"{text}. Arrays of a scorer are read-only in Ray's workers: copy the array in the scorer")
    if type(error).__module__ == KgevalError.__module__:
        with contextlib.suppress(Exception):
            if str(pickle.loads(pickle.dumps(error))) == str(error):
                return error
    text = str(error) if isinstance(error, KgevalError) else f"{type(error).__name__}: {error}"
    return ScoreError(text)


class WorkerProcess:
    """The program of a worker process: it reports its versions, receives the job and counts shards.

    Its methods return errors instead of raising them.
    """

    def __init__(self) -> None:
        ignore_interrupts()
        self._worker: Any = None

    def handshake(self) -> Handshake:
        """Return the `Handshake` of this process."""
        return Handshake.here()

    def prepare(self, shipment: Shipment) -> str | Trouble:
        """Make the worker; return the fingerprint of the dataset as this process computes it."""
        try:
            self._worker = Worker(shipment)
            return fingerprint_of(shipment.dataset)
        except Exception as error:
            return trouble(error)

    def count(self, shard: Shard, seconds_left: float | None) -> Report | Trouble:
        """Count a shard; see `Worker.count`."""
        try:
            report: Report = self._worker.count(shard, seconds_left)
            return report
        except Exception as error:
            return trouble(error)


def trouble(error: Exception) -> Trouble:
    """Return an error and its traceback in a form that can be pickled."""
    return Trouble(portable(error), "".join(traceback.format_exception(type(error), error, error.__traceback__)))


def fingerprint_of(dataset: Dataset) -> str:
    """Compute the fingerprint of a dataset anew, because a pickled dataset contains its old fingerprint."""
    attribute: cached_property[str] = Dataset.__dict__["fingerprint"]
    return attribute.func(dataset)


def ignore_interrupts() -> None:
    """Ignore Ctrl-C in this process, if called in the main thread; other threads do not receive Ctrl-C."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def by_value(pickler: ModuleType, *objects: Any) -> Iterator[None]:
    """In a ``with`` statement, pickle the modules of objects by value if other processes cannot import these modules.

    Other processes cannot import a module that was loaded from a file that is not on ``sys.path``.

    Parameters
    ----------
    pickler : module
        `cloudpickle`, or the copy of it in ray.
    *objects : object
        Functions, or instances of classes.
    """
    registered = []
    for value in objects:
        value = getattr(value, "func", value)  # the function of a functools.partial
        name = getattr(value, "__module__", None) or type(value).__module__
        module = sys.modules.get(name)
        if module is not None and name != "__main__" and not _is_importable(module) and module not in registered:
            pickler.register_pickle_by_value(module)
            registered.append(module)
    try:
        yield
    finally:
        for module in registered:
            pickler.unregister_pickle_by_value(module)


def _is_importable(module: ModuleType) -> bool:
    """Return whether ``import`` would load this module from the same file."""
    file = getattr(module, "__file__", None)
    if file is None:
        return True
    name, path = module.__name__, None
    try:
        if "." in name:
            path = importlib.import_module(name.rpartition(".")[0]).__path__
        spec = importlib.machinery.PathFinder.find_spec(name, path)
    except (ImportError, AttributeError, ValueError):
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == Path(file).resolve()
