"""The row order check tests whether the rows of a model are in the order of the dataset's ids.

A trained model ranks the triples that it was trained on near the top. If the rows of the model are in another order
than the ids of the dataset, or are read with a wrong layout, the model ranks these triples lower. `Evaluator.evaluate`
calls `check_row_order`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, Reals
from kgeval.data.dataset import Dataset
from kgeval.data.keys import FactColumns, facts_of
from kgeval.data.known import KnownIndex
from kgeval.data.queries import Queries, query_parts, shares_query
from kgeval.data.sides import SIDES
from kgeval.errors import ScoreError
from kgeval.evaluation.bounded_cache import remember
from kgeval.metrics import MR, MRR
from kgeval.metrics.wrappers import Adjusted
from kgeval.ranking import executors
from kgeval.ranking.counts import RankCounts, TaskCounts
from kgeval.ranking.jobs import Job, rank
from kgeval.ranking.listed import ListTask
from kgeval.ranking.progress import Meter
from kgeval.ranking.tasks import Task
from kgeval.scorers.faults import has_signal, high_test_ranks, matched
from kgeval.scorers.row_scorers import Limits, RowScorer, columns_taken

# How many train triples are ranked: see `check_row_order`.
MAX_TRIPLES, MIN_TRIPLES, MAX_SHARE = 500, 100, 0.05
CHEAP_PAIRS, MANY_PAIRS = 100_000, 10_000_000  # scored pairs on each side
QUICK_RUN = 2.0  # seconds
FREE_PAIRS = 500_000  # this many pairs of an embedding model are scored whatever the run cost, on all sides together
MAX_KEPT = 8  # tasks that are kept for later checks
SEED = 0
# A side is doubtful if its AMRI is below LOW_AMRI, or if the AMRI is below GOOD_AMRI and the MRR below LOW_MRR: with
# permuted relations, a model still ranks answers near the top (AMRI up to .91 on WN18RR), but seldom first (MRR below
# .45).
LOW_AMRI, GOOD_AMRI, LOW_MRR = 0.75, 0.95, 0.45
STATISTICS = {"amri": Adjusted(MR()), "mrr": MRR()}
NO_ROWS = "a baseline of kgeval, made from this dataset"  # why it is not checked
ROW_ORDER = "row order: "  # the start of the caution if train triples rank low; other cautions name the fault already
MIN_JUDGED = 50  # with fewer train triples, the statistic is too uncertain for a caution

# The tasks of earlier checks of one dataset. The key: side, numbers of train triples and entities, columns.
KeptTasks = dict[tuple[str, int, int, FactColumns], Task]


def check_row_order(
    rows: RowScorer,
    dataset: Dataset,
    entities: Ids,
    tasks: Sequence[Task | ListTask],
    seconds: float,
    limits: Limits,
    threads: int | None = None,
    kept: KeptTasks | None = None,
    n_processes: int = 1,
    seconds_left: float | None = None,
    progress: bool = False,
    prepared: list[Any] | None = None,
    tested: Mapping[str, TestedRanks] | None = None,
    key: tuple[str, ...] = (),
) -> tuple[dict[str, Any], str]:
    """Rank a sample of train triples, filtered, among `entities`; return the statistic and a caution.

    The cost is the number of scored pairs (query, candidate). On each side, the check ranks as many triples as 5% of
    the cost of the run allows, at most 500. If run and check together take less than two seconds by the check's
    estimate, it ranks at least a minimum: the first of these three numbers for which there is enough time: 100,000 /
    number of entities (if this is greater than 100); 100 (only among at most 100,000 entities); 50, the smallest number
    that can give a caution. A longer run is not checked if 5% of its cost allow fewer than 50 triples, unless an
    embedding model scores them in less than 500,000 pairs.

    The number of triples, the dataset and the side determine the sample. The same run therefore gives the same
    statistic again, unless a limit of time changes the number of triples.

    Parameters
    ----------
    rows : RowScorer
    dataset : Dataset
    entities : int64 array, shape (n,)
        Sorted ids of the candidates: all entities, or those of train.
    tasks : sequence of Task or sequence of ListTask
        The tasks that the run ranked. The check ranks the same entity sides.
    seconds : float
        The time that the run needed to rank the tasks, without the start of worker processes.
    limits : Limits
    threads : int, optional
        The number of worker threads for embedding models.
    kept : dict, optional
        The tasks of earlier checks of this dataset. The check reuses them, and adds the tasks that it makes.
    n_processes : int
        The number of processes that shared the run. The check uses only one process, so it may rank only this share of
        the 5%.
    seconds_left : float, optional
        The seconds that the check may take; by default, only the limits above apply.
    progress : bool
        Whether to show a progress bar in a terminal.
    prepared : list, optional
        The candidates that the run prepared (see `Job`); the check uses them again.
    tested : mapping of str to TestedRanks, optional
        Side -> ranks of the run among all entities. If they are far better than those of train triples of the same
        relations, there is a caution, too: the scorer may have been trained on them.
    key : tuple of str
        The filter key: known answers are left out if they agree in these columns.

    Returns
    -------
    statistic : dict
        A dict that JSON can store. ``triples``: the number of train triples that were ranked on each side. For each
        side, a dict with ``amri`` (1 is best, 0 is chance) and ``mrr``, both with realistic ties. If nothing was
        ranked, ``reason`` says why.
    caution : str
        Empty if the train triples rank as high as expected of a trained model, or if the sample has fewer than 50
        triples; and if the run's triples do not rank far above them.

    Examples
    --------
    >>> import numpy as np
    >>> from kgeval.scorers.row_scorers import as_row_scorer
    >>> ring = np.column_stack([np.arange(50), np.zeros(50, dtype=int), (np.arange(50) + 1) % 50])
    >>> dataset = Dataset.from_arrays(train=ring, test=ring[:1], n_entities=50, n_relations=1)
    >>> rows = as_row_scorer(lambda s, p, o: -np.abs((s + 1) % 50 - o), 50)
    >>> index = KnownIndex.of(*query_parts(ring, "object"))
    >>> task = Task.of(dataset, Queries.of(ring[:1], "object"), np.arange(50), index)
    >>> check_row_order(rows, dataset, np.arange(50), [task], 0.01, Limits())
    ({'triples': 50, 'object': {'amri': 1.0, 'mrr': 1.0}}, '')
    """
    train = dataset.splits.get("train")
    if train is None or not len(train):
        return unchecked("the dataset has no train triples")
    tasks = [task for task in tasks if task.side in SIDES]
    if not tasks:
        return unchecked("no query of an entity side was scored")
    sides = list(dict.fromkeys(task.side for task in tasks))
    most = min(len(train), MAX_TRIPLES)
    n = _affordable(rows, tasks, most, len(entities), len(sides), seconds, n_processes, seconds_left)
    if seconds_left is not None and n < min(most, MIN_JUDGED):
        return unchecked("max_seconds left no time for the check")
    if not n:
        return unchecked(f"{min(most, MIN_JUDGED)} train triples would cost more than {MAX_SHARE:.0%} of the run")
    kept, prepared = {} if kept is None else kept, [] if prepared is None else prepared
    try:
        taken = columns_taken(rows, sides)
        check_tasks = [
            _kept_task(kept, dataset, n, side, entities, replace(taken.on_side(side), key=key)) for side in sides
        ]
        deadline = None if seconds_left is None else time.monotonic() + seconds_left
        n_queries = sum(task.n_queries for task in check_tasks)
        meter = Meter(n_queries * len(entities), n_queries, progress, name="checking the row order", announces=False)
        job = Job(rows, check_tasks, limits, meter=meter, deadline=deadline, prepared=prepared)
        counts = rank(job, executors.Threads(threads))
    except ScoreError as error:  # for example, a scorer that knows only the queries of test
        return unchecked(f"the scorer cannot score train triples: {error}")
    if any(len(part.rows) < len(task.rows) for part, task in zip(counts, check_tasks)):
        return unchecked("max_seconds left no time for the check")
    statistic = {side: _measure(part) for side, part in zip(sides, counts) if part.filtered.rivals.any()}
    caution = _caution(n, statistic)
    for task, part in zip(check_tasks, counts):
        if tested and not caution:
            caution = tested[task.side].caution(task, part)
    return {"triples": n, **statistic}, caution


@dataclass(frozen=True)
class TestedRanks:
    """The raw ranks of the run's triples on one side, to be compared with those of train triples.

    Parameters
    ----------
    splits : str
        The ranked splits, for the text.
    relations : int64 array, shape (n,)
    reciprocal : float64 array, shape (n,)
        1 / raw rank, with realistic ties.
    has_signal : bool
        Whether the filtered ranks are far better than chance; nothing is said of others.
    """

    splits: str
    relations: Ids
    reciprocal: Reals
    has_signal: bool

    @classmethod
    def of(cls, splits: str, triples: Ids, counts: TaskCounts) -> TestedRanks:
        """Return the ranks of the counted positives; `triples`, shape (positives, 3), holds all positives."""
        is_told = has_signal(_reciprocal(counts.filtered), counts.filtered.rivals)
        return cls(splits, triples[counts.rows, 1], _reciprocal(counts.raw), is_told)

    def caution(self, task: Task, counts: TaskCounts) -> str:
        """Return the caution if these triples rank far above the train triples of `task`; see `high_test_ranks`."""
        if not self.has_signal:
            return ""
        relations = task.queries.facts[:, 1]
        one, other = matched(self.relations, relations, np.random.default_rng(SEED))
        return high_test_ranks(self.reciprocal[None, one], _reciprocal(counts.raw)[None, other], self.splits)


def _reciprocal(counts: RankCounts) -> Reals:
    return np.asarray(1.0 / (1.0 + counts.better + counts.tied / 2))


def unchecked(reason: str) -> tuple[dict[str, Any], str]:
    """Return the statistic and the caution of a check that did not run.

    Parameters
    ----------
    reason : str
        Why it did not run.
    """
    return {"triples": 0, "reason": reason}, ""


def _affordable(
    rows: RowScorer,
    tasks: Sequence[Task | ListTask],
    most: int,
    n_entities: int,
    n_sides: int,
    seconds: float,
    n_processes: int,
    seconds_left: float | None,
) -> int:
    """Return how many train triples the check may rank on each side, at most `most`; see `check_row_order`."""
    n_scored = max(1, sum(_count_pairs(rows, task, n_entities) for task in tasks))
    pairs_per_triple = n_entities * n_sides
    longest = QUICK_RUN - seconds  # the seconds that the check may take if it ranks more than 5% of the pairs
    if seconds_left is not None:
        longest = min(longest, seconds_left)
    # For one train triple, on all sides: the time of the run, or the measured speed of calls if that is less,
    # since a short run has fixed costs.
    paced = None if rows.pace is None else rows.pace.pairs_within(1.0)
    seconds_each = pairs_per_triple * min(seconds * n_processes / n_scored, 1 / paced if paced else np.inf)
    minima = [max(MIN_TRIPLES, CHEAP_PAIRS // n_entities), MIN_TRIPLES, MIN_JUDGED]
    enough = [min(most, n) for n in minima if n == MIN_JUDGED or n * n_entities <= MANY_PAIRS]
    least = next((n for n in enough if seconds_each * n < longest), 0)
    share = int(MAX_SHARE * n_scored / pairs_per_triple / n_processes)
    if seconds_left is not None and seconds_each:
        share = min(share, int(seconds_left / seconds_each))
    if rows.pace is None and seconds_left is None:  # a few products of vectors take no time
        least = max(least, FREE_PAIRS // pairs_per_triple)
    n = min(most, max(least, share))
    return n if n >= min(most, MIN_JUDGED) else 0


def _count_pairs(rows: RowScorer, task: Task | ListTask, n_entities: int) -> int:
    """Return how many pairs of query and candidate the scorer scored for a task."""
    if isinstance(task, Task):
        return task.n_queries * len(task.candidates)
    return task.n_queries * n_entities if rows.kind == "matrix" else len(task.rows) + len(task.rivals.values)


def _kept_task(kept: KeptTasks, dataset: Dataset, n: int, side: str, entities: Ids, columns: FactColumns) -> Task:
    """Return the task that ranks `n` train triples on `side`: take it from `kept`, or make it and add it to `kept`."""
    key = side, n, len(entities), columns
    return remember(kept, key, lambda: _task(dataset, n, side, entities, columns), MAX_KEPT)


def _task(dataset: Dataset, n: int, side: str, entities: Ids, columns: FactColumns) -> Task:
    """Return the task that ranks `n` random train triples on `side`; the filter uses all splits, and the key."""
    train = facts_of(dataset, ("train",), columns.names)
    # not `RandomSample.drawn`, which orders all triples: train may have millions
    triples = train[np.sort(np.random.default_rng(SEED).choice(len(train), n, replace=False))]
    known = facts_of(dataset, tuple(dataset.splits), columns.key)
    known = known[
        shares_query(known, triples[:, list(columns.key_places)], side)
    ]  # the other known triples are not indexed, to save time
    index = KnownIndex.of(*query_parts(known, side))
    return Task.of(dataset, Queries.of(triples, side), entities, index, columns)


def _measure(counts: TaskCounts) -> dict[str, float]:
    """Return AMRI and MRR, filtered and with realistic ties, rounded to 6 digits."""
    part = counts.filtered
    values = {
        name: metric.compute(part.better, part.tied, part.rivals, "realistic").value
        for name, metric in STATISTICS.items()
    }
    return {name: round(value, 6) + 0.0 for name, value in values.items()}  # no -0.0


def _caution(n: int, statistic: dict[str, dict[str, float]]) -> str:
    """Return the caution for the side with the lowest AMRI among the doubtful sides; empty if no side is doubtful."""
    doubtful = [
        side
        for side, values in statistic.items()
        if values["amri"] < LOW_AMRI or (values["amri"] < GOOD_AMRI and values["mrr"] < LOW_MRR)
    ]
    if n < MIN_JUDGED or not doubtful:
        return ""
    side = min(doubtful, key=lambda side: statistic[side]["amri"])
    amri, mrr = statistic[side]["amri"], statistic[side]["mrr"]
    return (
        f"{ROW_ORDER}{n} train triples rank low ({side} side: AMRI {amri:.3f}, MRR {mrr:.3f}), as if the rows of the "
        "model stood for other entities: are rows in the order of the ids, and norm, layout, inverse_relations right, "
        "or is the model undertrained? See kgeval help models"
    )
