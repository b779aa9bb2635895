"""Running work on threads of this process, in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

from kgeval.kernels import one_thread_each


def available_threads() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def workers(threads: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """Give a `map` over `threads` workers, each with one thread of its own for products; 0 is the plain `map`."""
    if not threads:
        yield map
        return
    with threadpool_limits(1, user_api="blas"), one_thread_each() as start_worker:
        pool = ThreadPoolExecutor(threads, initializer=start_worker)
        try:
            yield pool.map
        finally:
            pool.shutdown(cancel_futures=True)
