"""Shards: ranges of queries. `Work` makes shards, executors count them, and `rank` merges the counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgeval.base.checks import Ids
from kgeval.ranking.counts import TaskCounts
from kgeval.ranking.listed import ListTask
from kgeval.ranking.tasks import Task


@dataclass(frozen=True, order=True)
class Shard:
    """The queries ``start:stop`` of a task; `task` is the index of the task among the tasks of the run."""

    task: int
    start: int
    stop: int


@dataclass(frozen=True)
class Finished:
    """A shard and its counts; the counts have one row per positive, in the order of the queries."""

    shard: Shard
    counts: TaskCounts


@dataclass(frozen=True)
class Failed:
    """A shard that could not be counted, and the error.

    Parameters
    ----------
    shard : Shard
    error : Exception
    traceback : str
        The traceback of `error`, if the error was raised in another process; else empty, since `error` contains it.
    """

    shard: Shard
    error: Exception
    traceback: str = ""


class Work:
    """The queries that are not yet in a shard; each call of `take` makes a shard of the next queries.

    Parameters
    ----------
    tasks : sequence of Task or sequence of ListTask
    urgency : sequence of int64 arrays, optional
        One array per task, shape (queries,), ascending: a number for each query. The next shard is taken from the task
        whose next query has the smallest number. By default, all queries of the first task come first, then those of
        the second, and so on.

    Examples
    --------
    Two tasks with two queries each. The query with the smallest number and the query with the largest number belong to
    the second task:

    >>> from types import SimpleNamespace
    >>> tasks = [SimpleNamespace(n_queries=2)] * 2
    >>> work = Work(tasks, [np.array([1, 2]), np.array([0, 3])])
    >>> [work.take(1) for _ in range(2)]
    [Shard(task=1, start=0, stop=1), Shard(task=0, start=0, stop=1)]
    """

    def __init__(self, tasks: Sequence[Task | ListTask], urgency: Sequence[Ids] | None = None) -> None:
        self.tasks = tasks
        self._urgency = urgency
        self._starts = [0] * len(tasks)  # for each task, the first query that is in no shard

    def next_task(self) -> int | None:
        """Return the index of the task that `take` takes queries from; None if no query is left."""
        left = [i for i, task in enumerate(self.tasks) if self._starts[i] < task.n_queries]
        if not left:
            return None
        urgency = self._urgency
        return left[0] if urgency is None else min(left, key=lambda i: int(urgency[i][self._starts[i]]))

    def take(self, size: int | Callable[[int], int]) -> Shard | None:
        """Return the next shard, whose queries are in no other shard; None if no query is left.

        Parameters
        ----------
        size : int or function
            The largest number of queries in the shard; or a function ``size(task)`` that returns this number for the
            index of a task.
        """
        task = self.next_task()
        if task is None:
            return None
        n_queries = size if isinstance(size, int) else size(task)
        start = self._starts[task]
        stop = min(start + n_queries, self.tasks[task].n_queries)
        if self._urgency is not None:  # leave queries with much larger numbers, so that the other tasks come first
            numbers = self._urgency[task][start:stop]
            stop = start + int(np.searchsorted(numbers, numbers[0] + n_queries))
        self._starts[task] = stop
        return Shard(task, start, stop)

    def rounds(self, size_of: Callable[[int], int], n_tasks: int) -> Iterator[list[Shard]]:
        """Yield lists of shards; the shards of a list belong to at most `n_tasks` tasks.

        ``size_of(task)`` returns the largest number of queries in a shard of a task (an index).
        """
        shards: list[Shard] = []
        while (shard := self.take(size_of)) is not None:
            if len({shard.task, *(other.task for other in shards)}) > n_tasks:
                yield shards
                shards = []
            shards.append(shard)
        if shards:
            yield shards

    @property
    def n_queries(self) -> int:
        """The number of queries of all tasks."""
        return sum(task.n_queries for task in self.tasks)

    @property
    def n_pairs(self) -> int:
        """The number of pairs (query, candidate) of all tasks."""
        return sum(task.count_pairs(0, task.n_queries) for task in self.tasks)


def in_order(tasks: Sequence[Task | ListTask], places: Ids) -> tuple[list[Task | ListTask], list[Ids]]:
    """Order the queries of each task by a random order of the positives.

    Parameters
    ----------
    tasks : sequence of Task or ListTask
    places : int64 array, shape (all positives,)
        The position of each positive of the protocol in the random order.

    Returns
    -------
    tasks : list
        The queries of each task, ordered by `urgency`.
    urgency : list of int64 arrays, shape (queries,)
        For each query, the smallest position of its positives in the random order.
    """
    ordered, urgency = [], []
    for task in tasks:
        first = np.minimum.reduceat(places[task.rows], task.offsets[:-1]) if task.n_queries else task.rows
        order = np.argsort(first, kind="stable")
        ordered.append(task.take(order))
        urgency.append(first[order])
    return ordered, urgency


def without_finished(tasks: Sequence[Task | ListTask], finished: Mapping[str, TaskCounts]) -> list[Task | ListTask]:
    """Return the tasks without the queries whose positives are all in `finished`.

    Parameters
    ----------
    tasks : sequence of Task or ListTask
    finished : mapping of str to TaskCounts
        For each side, the counts that an earlier run stored.
    """
    left = []
    for task in tasks:
        rows = finished[task.side].rows if task.side in finished else np.zeros(0, dtype=np.int64)
        is_open = ~np.isin(task.rows, rows)
        n_open = np.add.reduceat(is_open, task.offsets[:-1]) if task.n_queries else is_open
        left.append(task.take(np.flatnonzero(n_open > 0)))
    return left
