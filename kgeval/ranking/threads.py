"""Threads for the ranker: `available_threads` counts processors, and `workers` provides a `map` that uses threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

from kgeval.kernels import one_thread_each


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
        The number of worker threads. If it is 0, the built-in `map` is provided, which runs in the calling thread.

    Returns
    -------
    context manager
        In ``with workers(n) as run``, the function is ``run``; it is called like `map`.
    """
    if not threads:
        yield map
        return
    with threadpool_limits(1, user_api="blas"), one_thread_each() as start_worker:
        pool = ThreadPoolExecutor(threads, initializer=start_worker)
        try:
            yield pool.map
        finally:
            pool.shutdown(cancel_futures=True)
