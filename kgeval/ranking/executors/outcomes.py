"""`outcome_of` counts one batch; every executor calls this function, in the process in which the scorer runs."""

from __future__ import annotations

import time
import typing
from dataclasses import replace
from typing import Any

from kgeval.errors import KgevalError, OutOfMemory
from kgeval.kernels.memory import is_out_of_memory
from kgeval.ranking.counts import TaskCounts
from kgeval.ranking.shards import Failed, Finished, Shard
from kgeval.scorers.call_size import OutOfTime


class Batch(typing.Protocol):
    """Queries ``start:stop`` of a task that are counted together."""

    @property
    def start(self) -> int:
        """The first query."""

    @property
    def stop(self) -> int:
        """The query after the last one."""

    def count(self) -> TaskCounts:
        """Count the rivals of each positive."""


def outcome_of(task: int, batch: Batch, deadline: float | None = None) -> Finished | Failed | None:
    """Count a batch, and return the outcome; None if no time is left for the batch.

    Parameters
    ----------
    task : int
        The index of the batch's task among the tasks of the run.
    batch : Batch
    deadline : float, optional
        The time (of `time.monotonic`) at which the run ends.
    """
    if deadline is not None and time.monotonic() >= deadline:
        return None
    shard = Shard(task, batch.start, batch.stop)
    try:
        return Finished(shard, count_in_parts(batch))
    except OutOfTime:
        return None
    except KgevalError as error:
        return Failed(shard, error)


def count_in_parts(batch: Any) -> TaskCounts:
    """Count a batch; if memory runs out, count its two halves separately, and so on.

    Parameters
    ----------
    batch : Batch
        A dataclass.

    Raises
    ------
    OutOfMemory
        If the memory does not suffice for a single query.
    """
    try:
        return batch.count()  # type: ignore[no-any-return]
    except Exception as error:
        if (isinstance(error, KgevalError) and not isinstance(error, OutOfMemory)) or not is_out_of_memory(error):
            raise
        reason, n = f"{type(error).__name__}: {error}", batch.stop - batch.start
        if n < 2:
            raise OutOfMemory(
                f"the memory does not suffice to rank a single query ({reason}); rank fewer pairs at once (a smaller "
                "batch_size), on fewer threads, or on a larger machine"
            ) from error
    middle = batch.start + n // 2  # after `except`: inside it, the error keeps the arrays of the failed count in memory
    return TaskCounts.joined(
        [count_in_parts(replace(batch, stop=middle)), count_in_parts(replace(batch, start=middle))]
    )
