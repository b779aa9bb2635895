"""`Processes`, the executor that ranks in several processes of this machine, with the library loky."""

from __future__ import annotations

import contextlib
import importlib
import io
import mmap
import os
import pickle
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgeval.base.checks import check_positive_int, names_unknown_arguments
from kgeval.errors import DataError, MissingExtra, ScoreError
from kgeval.ranking.executors.blocks import in_blocks
from kgeval.ranking.executors.dispatch import RETRIES, Lost, check_retries, drive
from kgeval.ranking.executors.threads import available_threads
from kgeval.ranking.executors.workers import Shipment, Trouble, WorkerProcess, by_value, ignore_interrupts, trouble
from kgeval.ranking.jobs import Job
from kgeval.ranking.shards import Failed, Finished, Shard

if sys.platform != "win32":
    import resource

ORPHAN_SECONDS = 1.0  # a worker process checks at this interval whether its driver (the main process) is still running
HANDLES_OF_WORKER, SPARE_HANDLES = 8, 8  # a pool of loky takes 7 open files; some are for the process itself
ENVIRONMENT = {  # environment variables of the worker processes, set before these processes import anything
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"),
    "LOKY_MAX_MEMORY_LEAK_SIZE": "1e18",  # loky ends workers whose memory grows; kgeval's workers keep the candidates
}


@names_unknown_arguments(n="workers=")
@dataclass(frozen=True)
class Processes:
    """Rank in worker processes of this machine, each with one thread.

    Useful for functions and other scorers written in Python, since `Threads` ranks them in one thread only; embedding
    models are as fast with `Threads`. Functions of ``__main__``, lambdas and closures are allowed. The parameters of
    the scorer are stored once in a temporary file, which all processes map into their memory.

    Parameters
    ----------
    workers : int, optional
        Number of worker processes; by default one per processor.
    retries : int
        How often the same queries are counted again, if the process that counts them dies.
    candidate_blocks : int
        The number of blocks into which the candidates of each query are divided. Use more than 1 for few queries with
        very many candidates: each process then scores only a part of the candidates, and needs less memory.

    Examples
    --------
    >>> Processes(2)
    Processes(workers=2, retries=3, candidate_blocks=1)
    """

    workers: int | None = None
    retries: int = RETRIES
    candidate_blocks: int = 1

    def __post_init__(self) -> None:
        if self.workers is not None:
            check_positive_int("workers", self.workers)
        check_retries(self.retries)
        check_positive_int("candidate_blocks", self.candidate_blocks)

    @property
    def n_processes(self) -> int:
        """The number of processes that score."""
        return self.workers or available_threads()

    def run(self, job: Job) -> Generator[Finished | Failed, None, None]:
        """Count the shards of a job; yield the outcomes, in any order, until no time is left.

        Raises
        ------
        MissingExtra
            If loky is not installed.
        DataError
            If the folder for temporary files is full or cannot be written.
        ScoreError
            If the scorer cannot be sent to another process, or if the workers cannot start, for example because this
            process may not open enough files.
        """
        try:
            import loky  # noqa: F401
        except ImportError as error:
            raise MissingExtra('executor Processes needs loky; pip install "kgeval[processes]"') from error
        if job.work.next_task() is None:
            return
        if self.candidate_blocks > 1:
            yield from in_blocks(job, self.candidate_blocks, self._run)
        else:
            yield from self._run(job)

    def _run(self, job: Job) -> Generator[Finished | Failed, None, None]:
        n_workers = min(self.n_processes, job.work.n_queries)
        yield from drive(job, _Pools(n_workers, Shipment.of(job)), self.retries)


class _Pools:
    """A `Crew` of processes on this machine; a worker that dies stops no other, since each has its own loky pool."""

    def __init__(self, n_workers: int, shipment: Shipment) -> None:
        self.n_workers = n_workers
        _check_handles(n_workers)
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="kgeval-", ignore_cleanup_errors=True)
        except OSError as error:
            raise _folder_error(os.environ.get("TMPDIR", "for temporary files"), error) from error
        self._path = Path(self._folder.name) / "job"
        self._pools: list[Any] = []
        try:
            _write(self._path, shipment)
        except OSError as error:
            self.close()
            raise _folder_error(Path(self._folder.name).parent, error) from error
        except BaseException:
            self.close()
            raise

    def start(self) -> Any:
        """Start a worker process."""
        from loky import ProcessPoolExecutor

        with self._starting():
            pool = ProcessPoolExecutor(
                1, initializer=_start, initargs=(os.getpid(), self._folder.name), env=ENVIRONMENT
            )
        self._pools.append(pool)
        return pool

    def handshake(self, worker: Any) -> Future[Any]:
        """See `Crew`."""
        with self._starting():
            return worker.submit(_greet)  # type: ignore[no-any-return]

    def prepare(self, worker: Any) -> Future[Any]:
        """See `Crew`."""
        return worker.submit(_prepare, str(self._path))  # type: ignore[no-any-return]

    def count(self, worker: Any, shard: Shard, seconds_left: float | None) -> Future[Any]:
        """See `Crew`."""
        return worker.submit(_count, str(self._path), shard, seconds_left)  # type: ignore[no-any-return]

    def wait(self, calls: Sequence[Future[Any]], seconds: float | None) -> Sequence[Future[Any]]:
        """See `Crew`."""
        return list(wait(calls, seconds, return_when=FIRST_COMPLETED).done)

    def result(self, call: Future[Any]) -> Any:
        """See `Crew`."""
        from loky.process_executor import BrokenProcessPool

        try:
            return call.result()
        except BrokenProcessPool as error:
            raise Lost(" ".join(str(error).split())) from error

    def stop(self, worker: Any) -> None:
        """See `Crew`."""
        worker.shutdown(wait=True, kill_workers=True)
        self._pools.remove(worker)

    @contextlib.contextmanager
    def _starting(self) -> Iterator[None]:
        """Raise a ScoreError if the system has no files, semaphores or processes left for a worker."""
        try:
            yield
        except OSError as error:
            n_started = max(1, len(self._pools))
            raise ScoreError(
                f"worker process {n_started} of {self.n_workers} cannot start: {error.strerror or error}. Use "
                "fewer workers (Processes(n), --workers N), or raise the limits of the system (ulimit -a)"
            ) from error

    def close(self) -> None:
        """See `Crew`."""
        for pool in self._pools:
            pool.shutdown(wait=False, kill_workers=True)
        for pool in self._pools:
            pool.shutdown(wait=True, kill_workers=True)
        self._pools.clear()
        self._folder.cleanup()


def _check_handles(n_workers: int) -> None:
    """Raise a ScoreError if this process may not open enough files for its workers.

    Without this check, loky fails in the middle, and cannot end the workers that it has started.
    """
    if sys.platform == "win32":
        return
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return
    try:
        n_open = len(os.listdir("/dev/fd"))
    except OSError:  # not one is left, not even for this question
        n_open = limit
    n_free, needed = max(0, limit - n_open), n_workers * HANDLES_OF_WORKER + SPARE_HANDLES
    if n_free < needed:
        raise ScoreError(
            f"{n_workers} worker processes need {needed} open files, and this process may open {n_free} more of "
            f"{limit}. Use fewer workers (Processes(n), --workers N), or raise the limit (ulimit -n)"
        )


def _folder_error(folder: object, error: OSError) -> DataError:
    """Return the error of the folder that holds the scorer and the dataset for the workers."""
    return DataError(
        f"the folder {folder} cannot hold the scorer and the dataset for the worker processes: "
        f"{error.strerror or error}. Free disk space there, or name another folder in the environment variable TMPDIR; "
        "executor Threads needs no such folder"
    )


def _write(path: Path, shipment: Shipment) -> None:
    """Pickle a shipment: the file ``path`` contains the pickle, and ``path.0``, ``path.1``, ... contain the arrays."""
    cloudpickle = importlib.import_module("cloudpickle")  # a dependency of loky
    buffers: list[pickle.PickleBuffer] = []
    content = io.BytesIO()
    with by_value(cloudpickle, shipment.scorer):
        try:
            cloudpickle.dump(shipment, content, protocol=5, buffer_callback=buffers.append)
        except Exception as error:
            raise ScoreError(
                f"the scorer cannot be sent to another process: {type(error).__name__}: {error}. Use "
                "kgeval.executors.Threads, or remove the parts of the scorer that cannot be pickled"
            ) from error
    path.write_bytes(content.getvalue())
    for i, buffer in enumerate(buffers):
        with open(f"{path}.{i}", "wb") as file:
            file.write(buffer.raw())


def _read(path: str) -> Shipment:
    """Read a shipment that `_write` wrote.

    The arrays of the shipment are mapped from the files; a change of an array stays in this process.
    """
    buffers: list[Any] = []
    while os.path.exists(name := f"{path}.{len(buffers)}"):
        with open(name, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            buffers.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if size else bytearray())
    with open(path, "rb") as content:
        return pickle.load(content, buffers=buffers)  # type: ignore[no-any-return]


_PROCESS: dict[str, WorkerProcess] = {}  # in a worker process: path of the shipment -> the object that counts shards


def _start(driver: int, folder: str) -> None:
    """Prepare a worker process: it ignores Ctrl-C, and ends when the driver (a process id) has ended or was killed."""
    ignore_interrupts()
    threading.Thread(target=_end_with, args=(driver, folder), daemon=True).start()


def _end_with(parent: int, folder: str) -> None:
    """End this process soon after its parent process has ended, and delete the folder that a kill left."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _greet() -> Any:
    return WorkerProcess().handshake()


def _prepare(path: str) -> Any:
    """Read the shipment and make the worker; return the dataset's fingerprint, or a `Trouble`."""
    process = WorkerProcess()
    try:
        shipment = _read(path)
    except Exception as error:
        return trouble(error)
    result = process.prepare(shipment)
    if not isinstance(result, Trouble):
        _PROCESS[path] = process
    return result


def _count(path: str, shard: Shard, seconds_left: float | None) -> Any:
    """Count a shard; if loky has replaced the process by a new one, prepare the new process first."""
    if path not in _PROCESS:
        result = _prepare(path)
        if isinstance(result, Trouble):
            return result
    return _PROCESS[path].count(shard, seconds_left)
