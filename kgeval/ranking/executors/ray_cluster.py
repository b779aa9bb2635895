"""`Ray`, the executor that ranks on the machines of a Ray cluster."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kgeval.base.checks import check_positive_int, names_unknown_arguments
from kgeval.data.dataset import Dataset
from kgeval.errors import MissingExtra, ProtocolError, ScoreError
from kgeval.ranking.executors.blocks import in_blocks
from kgeval.ranking.executors.dispatch import RETRIES, Lost, check_retries, drive
from kgeval.ranking.executors.threads import available_threads
from kgeval.ranking.executors.workers import Shipment, Trouble, WorkerProcess, by_value, trouble
from kgeval.ranking.jobs import Job
from kgeval.ranking.shards import Failed, Finished, Shard

FREEING_SECONDS = 3.0  # at the end of a run: the longest wait until the processors of the workers are free


@names_unknown_arguments()
@dataclass(frozen=True)
class Ray:
    """Rank on the machines of a Ray cluster.

    Each worker is an actor of Ray. The job (the dataset, the queries, and the scorer unless `load` makes it) is copied
    once to the object store of each machine. The workers of a machine share the arrays of this copy, so the arrays are
    read-only. The workers send back the counts of each shard. Each machine must have the same version of kgeval.

    Parameters
    ----------
    address : str, optional
        The address of a cluster: ``"auto"`` on one of its machines, ``"ray://host:10001"`` from elsewhere. By default,
        the first of these: the cluster to which this process is connected; the cluster in the environment variable
        ``RAY_ADDRESS``; a new cluster on this machine, which stops at the end of the run.
    num_cpus : int
        The number of processors of each worker; embedding models use one thread on each processor.
    num_gpus : float
        The number of GPUs of each worker; pass ``device="cuda"`` to `evaluate` to rank on the GPUs.
    workers : int, optional
        Number of workers; by default as many as the free processors and GPUs of the cluster allow.
    retries : int
        How often the same queries are counted again, if the worker that counts them dies.
    runtime_env : dict, optional
        The files and packages that Ray copies or installs for the workers: ``{"working_dir": "."}`` sends the modules
        of this folder.
    load : function, optional
        Takes the dataset and returns the scorer. Each worker calls this function, so the parameters of the model are
        not sent to the workers. The function must return the same scorer that is given to `evaluate`; the workers
        check this.
    candidate_blocks : int
        The number of blocks into which the candidates of each query are divided. Use more than 1 for few queries with
        very many candidates: each worker then scores only a part of the candidates, and needs less memory.

    Examples
    --------
    >>> Ray("auto", num_cpus=4).num_cpus
    4

    Each worker loads a model of 40 GB from a disk that all machines share; `load_model` takes a path and the dataset:

    >>> from functools import partial
    >>> import kgeval
    >>> executor = Ray("auto", load=partial(kgeval.load_model, "/shared/complex.safetensors"))
    >>> executor.load.args
    ('/shared/complex.safetensors',)
    """

    address: str | None = None
    num_cpus: int = 1
    num_gpus: float = 0
    workers: int | None = None
    retries: int = RETRIES
    runtime_env: dict[str, Any] | None = None
    load: Callable[[Dataset], Any] | None = None
    candidate_blocks: int = 1

    def __post_init__(self) -> None:
        check_positive_int("num_cpus", self.num_cpus)
        if self.workers is not None:
            check_positive_int("workers", self.workers)
        check_retries(self.retries)
        check_positive_int("candidate_blocks", self.candidate_blocks)
        if isinstance(self.num_gpus, bool) or not isinstance(self.num_gpus, (int, float)) or not self.num_gpus >= 0:
            raise ProtocolError(f"num_gpus must be a number of at least 0; got {self.num_gpus!r}")
        if self.load is not None and not callable(self.load):
            raise ProtocolError(
                f"load must be a function that takes the dataset and returns the scorer; got {self.load!r}"
            )

    @property
    def n_processes(self) -> int:
        """The number of processes that score: `workers`, or by default as many as this machine's processors allow."""
        return self.workers or max(1, available_threads() // self.num_cpus)

    def run(self, job: Job) -> Generator[Finished | Failed, None, None]:
        """Count the shards of a job; yield the outcomes, in any order, until no time is left.

        Raises
        ------
        MissingExtra
            If ray is not installed.
        ProtocolError
            If the cluster cannot be reached, or has too few processors or GPUs for a single worker.
        ScoreError
            If the scorer cannot be sent to another process, or if the workers cannot start.
        """
        # Ray reads this variable when it is imported or started.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise MissingExtra('executor Ray needs ray; pip install "kgeval[ray]"') from error
        if job.work.next_task() is None:
            return
        with self._connected(ray):
            if self.candidate_blocks > 1:
                yield from in_blocks(job, self.candidate_blocks, self._run)
            else:
                yield from self._run(job)

    def _run(self, job: Job) -> Generator[Finished | Failed, None, None]:
        import ray

        yield from drive(
            job, _Actors(ray, self, Shipment.of(job, self.num_cpus, self.load)), self.retries, self.num_cpus
        )

    @contextmanager
    def _connected(self, ray: Any) -> Iterator[None]:
        """Connect to the cluster in a ``with`` statement, unless this process is connected already."""
        if ray.is_initialized():
            if self.address not in (None, "auto") and self.address not in _addresses(ray):
                raise ProtocolError(
                    f"this process is connected to the Ray cluster {_addresses(ray)[0]!r}, not to {self.address!r}; "
                    "leave address out, or call ray.shutdown() before"
                )
            yield
            return
        options: dict[str, Any] = {"address": self.address or os.environ.get("RAY_ADDRESS") or "local"}
        if options["address"] == "local":
            needed = (self.workers or 1) * self.num_cpus
            options |= {"include_dashboard": False, "num_cpus": max(needed, available_threads())}
        if self.runtime_env is not None:
            options["runtime_env"] = self.runtime_env
        with _quiet():
            try:
                ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
            except Exception as error:
                raise ProtocolError(
                    f"Ray cluster {options['address']!r}: {type(error).__name__}: {' '.join(str(error).split())[:500]}"
                    ". Is it running, and is the address right? To test it without kgeval, call ray.init(address)"
                ) from error
        try:
            yield
        finally:
            ray.shutdown()


def _addresses(ray: Any) -> list[str]:
    """Return the addresses of the cluster to which this process is connected."""
    context = ray.get_runtime_context()
    return [str(context.gcs_address), str(getattr(ray.util, "get_node_ip_address", str)())]


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the warnings of ``ray.init`` in a ``with`` statement, and keep this process's handler of SIGTERM."""
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM) if is_main else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield
    if is_main and handler is not None:
        signal.signal(signal.SIGTERM, handler)


class _Actor(WorkerProcess):
    """A worker process as an actor of Ray; Ray copies the arguments of a method call to the actor's process."""

    def prepare_from(self, references: list[Any]) -> str | Trouble:
        """Fetch the shipment and make the worker; return the dataset's fingerprint, or a `Trouble`.

        The reference is in a list; otherwise Ray itself would fetch the shipment before this method runs.
        """
        import ray

        try:
            shipment = ray.get(references[0])
        except Exception as error:
            return trouble(ScoreError(str(error).partition("\n")[0]))
        return self.prepare(shipment)


class _Actors:
    """A `Crew` of actors."""

    def __init__(self, ray: Any, settings: Ray, shipment: Shipment) -> None:
        self._ray, self._settings = ray, settings
        self._free = ray.available_resources()
        self.n_workers = settings.workers or self._n_free()
        self._actors: list[Any] = []
        with by_value(ray.cloudpickle, shipment.scorer, shipment.load):
            try:
                self._shipment = ray.put(shipment)
            except (TypeError, AttributeError, ValueError, NotImplementedError, RuntimeError) as error:
                raise ScoreError(
                    f"the scorer cannot be sent to the workers: {type(error).__name__}: {error}. Remove the parts of "
                    "the scorer that cannot be pickled, or pass load=, a function that each worker calls"
                ) from error

    def _n_free(self) -> int:
        """Return how many workers the free processors and GPUs of the cluster allow."""
        free = self._free
        n = int(free.get("CPU", 0)) // self._settings.num_cpus
        if self._settings.num_gpus:
            n = min(n, int(free.get("GPU", 0) / self._settings.num_gpus))
        if n < 1:
            raise ProtocolError(
                f"no worker fits into the Ray cluster: a worker needs {self._settings.num_cpus} CPUs and "
                f"{self._settings.num_gpus:g} GPUs; free are {free.get('CPU', 0):g} CPUs and {free.get('GPU', 0):g} "
                "GPUs. Set workers= to wait until other jobs end, or request fewer CPUs or GPUs"
            )
        return n

    def start(self) -> Any:
        """Request an actor; Ray starts it as soon as the cluster has free processors and GPUs for it."""
        settings = self._settings
        kind = self._ray.remote(_Actor).options(
            num_cpus=settings.num_cpus,
            num_gpus=settings.num_gpus,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )
        actor = kind.remote()
        self._actors.append(actor)
        return actor

    def handshake(self, worker: Any) -> Any:
        """See `Crew`."""
        return worker.handshake.remote()

    def prepare(self, worker: Any) -> Any:
        """See `Crew`."""
        return worker.prepare_from.remote([self._shipment])

    def count(self, worker: Any, shard: Shard, seconds_left: float | None) -> Any:
        """See `Crew`."""
        return worker.count.remote(shard, seconds_left)

    def wait(self, calls: Sequence[Any], seconds: float | None) -> Sequence[Any]:
        """See `Crew`."""
        ended, _ = self._ray.wait(list(calls), num_returns=1, timeout=seconds)
        if ended:
            ended, _ = self._ray.wait(list(calls), num_returns=len(calls), timeout=0)
        return list(ended)

    def result(self, call: Any) -> Any:
        """See `Crew`."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(call)
        except errors.RuntimeEnvSetupError as error:
            raise ScoreError(f"the runtime_env of the workers cannot be set up: {error}") from error
        except errors.RayError as error:
            text = " ".join(str(error).split())
            if "No module named" in text or isinstance(error, errors.RayTaskError):
                raise ScoreError(
                    f"a worker could not start: {text[-500:]}. kgeval and the modules of the scorer must be installed "
                    'on each machine, or sent to the workers: Ray(runtime_env={"working_dir": "."})'
                ) from error
            raise Lost(text[:500]) from error

    def stop(self, worker: Any) -> None:
        """See `Crew`."""
        self._ray.kill(worker)
        self._actors.remove(worker)

    def close(self) -> None:
        """See `Crew`."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors.clear()
        self._shipment = None
        # Ray frees the processors of actors some time later; a run that starts earlier would find too few processors.
        patience = time.monotonic() + FREEING_SECONDS
        while time.monotonic() < patience and not self._is_freed():
            time.sleep(0.02)

    def _is_freed(self) -> bool:
        """Return whether the processors and GPUs that were free when this crew was made are free again."""
        free = self._ray.available_resources()
        return all(free.get(name, 0) >= self._free.get(name, 0) for name in ("CPU", "GPU"))
