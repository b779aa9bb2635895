"""Blocks of candidates: if there are few queries and many candidates, several workers share the candidates of a query.

Let A be the answers of some queries, and let the blocks B1, ..., Bk divide the candidates of these queries. Counts of
disjoint sets of rivals can be added, so

    count(all) = count(B1 + A) + ... + count(Bk + A) - (k - 1) * count(A)

where + inside the brackets is the union of sets. A rival in A is counted k times on the right side, and subtracted k -
1 times; every other rival is in one block only. Every term is the count of an ordinary task whose candidates include
the positives, so the scores of a positive and of its rivals come from the same call.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace

import numpy as np

from kgeval.base.checks import Ids
from kgeval.data.sides import side_of
from kgeval.errors import ProtocolError, ScoreError
from kgeval.ranking.counts import RankCounts, TaskCounts
from kgeval.ranking.jobs import Job
from kgeval.ranking.listed import ListTask
from kgeval.ranking.shards import Failed, Finished, Shard
from kgeval.ranking.tasks import Task
from kgeval.scorers.row_scorers import MatrixRows, on_side

MAX_ANSWERS_SHARE = 0.25  # largest ratio of the number of answers in a range to the number of candidates in a block


@dataclass
class _Range:
    """Queries whose candidates are divided into blocks, and the sum of the counts so far."""

    shard: Shard
    rows: Ids  # the row numbers of the positives, ascending
    n_left: int  # the number of counts that are still to come, summed over all positives
    parts: list[tuple[int, TaskCounts]] = field(default_factory=list)  # the counts so far, each with its weight
    has_failed: bool = False


def in_blocks(
    job: Job, n_blocks: int, run: Callable[[Job], Generator[Finished | Failed, None, None]]
) -> Generator[Finished | Failed, None, None]:
    """Count the shards of a job in blocks of candidates; yield the outcomes of ranges of queries.

    Parameters
    ----------
    job : Job
        Without a deadline.
    n_blocks : int
        The number of blocks, at least 2.
    run : function
        Counts the shards of a job, as `Executor.run` does.

    Raises
    ------
    ProtocolError
        If candidates cannot be divided: with a deadline, with lists of negatives, or with a scorer that always scores
        all entities.
    ScoreError
        If a triple has different scores in two blocks.
    """
    _check(job)
    tasks: list[Task] = []
    owner: list[tuple[_Range, int]] = []  # for each of `tasks`: its range, and the weight of its counts
    for i, task in enumerate(job.tasks):
        if isinstance(task, ListTask):
            continue
        blocks = [block for block in np.array_split(task.candidates, n_blocks) if len(block)]
        for start, stop in _ranges(task, len(blocks[0])):
            part = task.take(np.arange(start, stop))
            answers = np.unique(part.queries.answers)
            held = _Range(Shard(i, start, stop), np.sort(part.rows), (len(blocks) + 1) * len(part.rows))
            for block in blocks:
                tasks.append(among(part, np.union1d(block, answers)))
                owner.append((held, 1))
            tasks.append(among(part, answers))
            owner.append((held, 1 - len(blocks)))
    outcomes = run(replace(job, tasks=tasks, urgency=None))
    try:
        for outcome in outcomes:
            held, weight = owner[outcome.shard.task]
            if held.has_failed:
                continue
            if isinstance(outcome, Failed):
                held.has_failed = True
                yield replace(outcome, shard=held.shard)
                continue
            held.parts.append((weight, outcome.counts))
            held.n_left -= len(outcome.counts.rows)
            if not held.n_left:
                yield Finished(held.shard, _summed(held, job.rows.name))
                held.parts.clear()
    finally:
        outcomes.close()


def _check(job: Job) -> None:
    """Raise a ProtocolError if the candidates of a job cannot be divided."""
    reason = ""
    if job.deadline is not None:
        reason = "max_seconds, since a query is finished only with its last block"
    elif any(isinstance(task, ListTask) for task in job.tasks):
        reason = "lists of negatives"
    else:
        for side in dict.fromkeys(task.side for task in job.tasks):
            rows = on_side(job.rows, side)
            if isinstance(rows, MatrixRows) and not rows.takes_candidates(side) and not reason:
                reason = f"{rows.name}, whose {side_of(side).method} always scores all {rows.answers}"
    if reason:
        raise ProtocolError(f"candidate_blocks cannot be used with {reason}; leave candidate_blocks out")


def _ranges(task: Task, block_size: int) -> list[tuple[int, int]]:
    """Divide the queries of a task into ranges; the number of answers in a range is small compared with a block."""
    most = max(1, int(MAX_ANSWERS_SHARE * block_size))  # positives in a range, if it has several queries
    ranges, start = [], 0
    while start < task.n_queries:
        stop = int(np.searchsorted(task.offsets, task.offsets[start] + most, side="right")) - 1
        stop = min(task.n_queries, max(start + 1, stop))
        ranges.append((start, stop))
        start = stop
    return ranges


def among(task: Task, candidates: Ids) -> Task:
    """Return a task with the same queries, but only some of the candidates.

    Parameters
    ----------
    task : Task
    candidates : int64 array
        Sorted ids: a subset of the task's candidates that contains all answers.
    """
    is_kept = np.isin(task.known, candidates)
    n_keys = len(task.known_offsets) - 1
    key_of = np.repeat(np.arange(n_keys), np.diff(task.known_offsets))[is_kept]  # the key of each known answer
    offsets = np.searchsorted(key_of, np.arange(n_keys + 1))
    extras = None if task.extras is None else among(task.extras, candidates)
    return replace(task, candidates=candidates, known=task.known[is_kept], known_offsets=offsets, extras=extras)


def _summed(held: _Range, name: str) -> TaskCounts:
    """Add the counts of all blocks; raise a ScoreError if a positive has different scores in different blocks."""
    rows, n = held.rows, len(held.rows)
    # (2, 3, positives): raw and known; better, tied and rivals
    sums = np.zeros((2, 3, n), dtype=np.int64)
    scores = np.empty(n, dtype=held.parts[0][1].scores.dtype)
    for _, counts in held.parts:
        scores[np.searchsorted(rows, counts.rows)] = counts.scores
    for weight, counts in held.parts:
        places = np.searchsorted(rows, counts.rows)
        for i, part in enumerate((counts.raw, counts.known)):
            for j, values in enumerate((part.better, part.tied, part.rivals)):
                sums[i, j, places] += weight * values
        if not np.array_equal(scores[places], counts.scores):
            row = counts.rows[int(np.argmax(scores[places] != counts.scores))]
            raise ScoreError(
                f"{name}: the score of positive {row} depends on the other triples of the call, so that counts of "
                "blocks cannot be added; leave candidate_blocks out"
            )
    is_infinite = any(counts.is_infinite for _, counts in held.parts)
    return TaskCounts(rows, RankCounts(*sums[0]), RankCounts(*sums[1]), scores, is_infinite)
