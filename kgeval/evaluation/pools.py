"""Pools of candidates by relation (`kgeval.candidates.ByRelation`): their tasks, and the notes of a result.

`kgeval.evaluation.evaluator` makes its plan with these functions.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kgeval.checks import Bools, Ids, counted
from kgeval.data.candidates import LAST, ByRelation
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.keys import FactColumns
from kgeval.data.known import KnownIndex
from kgeval.data.queries import Queries
from kgeval.errors import ProtocolError
from kgeval.ranking.tasks import Task

MOST_ADDED = 1000  # distinct answers outside a pool in one task: all of them are scored for each of its queries
MADE_FROM_TEST = 0.9  # share of answers among the entities beyond train in pools that were made from test


def pool_tasks(
    dataset: Dataset,
    candidates: ByRelation,
    side: str,
    triples: Ids,
    rows: Ids,
    is_outside: Bools,
    entities: Ids,
    index: KnownIndex,
    columns: FactColumns,
) -> list[Task]:
    """Return the tasks of the positives `rows` on one side: one for each relation, and those of positives outside.

    Parameters
    ----------
    dataset : Dataset
    candidates : ByRelation
    side : str
    triples : int64 array, shape (n, 3 or more)
        The triples of the ranked splits.
    rows : int64 array, shape (positives,)
        The rows of `triples` to rank.
    is_outside : bool array, shape (positives,)
        Whether the answer is outside of its pool. With ``outside="last"``, such a positive is in no task.
    entities : int64 array, shape (entities,)
        Sorted ids of the entities that may be candidates.
    index : KnownIndex
    columns : FactColumns
        The further columns of the triples.

    Raises
    ------
    ProtocolError
        If a pool has an id that no entity has, or if positives are outside of their pools and this is an error.
    """
    for relation, pool in candidates.of_side[side].items():
        if len(pool) and int(pool[-1]) >= len(dataset.entities):
            raise ProtocolError(
                f"the pool of {side}s of relation {relation} contains id {pool[-1]}; dataset {dataset.name!r} has "
                f"entities 0 to {len(dataset.entities) - 1}"
            )
    outside = rows[is_outside]
    if len(outside) and candidates.outside == "error":
        raise ProtocolError(
            f"{side} side: {counted(len(outside), 'positive is', 'positives are')} outside the pool of the relation "
            f"(of {len(rows):,}), first {triple_labels(dataset, *triples[outside[0], :3])}; choose outside='add' "
            "(--outside add: the answer joins its own query) or outside='last' (--outside last: it ranks last)"
        )
    inside = rows[~is_outside]
    queries = Queries.of(triples[inside], side, rows=inside)
    tasks = [Task.of(dataset, part, pool, index, columns) for part, pool in candidates.by_relation(queries, entities)]
    if candidates.kind == LAST or not len(outside):
        return tasks
    for part, pool in candidates.by_relation(Queries.of(triples[outside], side, rows=outside), entities):
        start = 0
        while start < len(part):
            stop = int(np.searchsorted(part.offsets, part.offsets[start] + MOST_ADDED, side="right")) - 1
            stop = max(start + 1, stop)
            tasks.append(Task.of_added(dataset, part.part(start, stop), pool, index, columns))
            start = stop
    return tasks


def pool_rivals(
    candidates: ByRelation,
    side: str,
    triples: Ids,
    rows: Ids,
    entities: Ids,
    index: KnownIndex,
    columns: FactColumns,
) -> dict[str, Ids]:
    """Return the number of rivals of positives outside their pools, under the keys "raw" and "filtered".

    Parameters
    ----------
    candidates : ByRelation
    side : str
    triples : int64 array, shape (n, 3 or more)
    rows : int64 array, shape (positives,)
        The rows of the positives in `triples`.
    entities : int64 array, shape (entities,)
    index : KnownIndex
    columns : FactColumns

    Returns
    -------
    dict of str to int64 array, shape (positives,)
        In the order of `rows`.
    """
    raw, filtered = np.zeros(len(triples), dtype=np.int64), np.zeros(len(triples), dtype=np.int64)
    for part, pool in candidates.by_relation(Queries.of(triples[rows], side, rows=rows), entities):
        offsets, known = index.lookup(*columns.key_parts(part.parts))
        query_of = np.repeat(np.arange(len(part)), np.diff(offsets))
        n_known = np.bincount(query_of[np.isin(known, pool)], minlength=len(part))
        raw[part.rows] = len(pool)
        filtered[part.rows] = len(pool) - np.repeat(n_known, np.diff(part.offsets))
    return {"raw": raw[rows], "filtered": filtered[rows]}


def notes_of_pools(
    candidates: ByRelation, dataset: Dataset, outside: Mapping[str, Bools], n_positives: int
) -> list[str]:
    """Return notes: positives outside their pools, pools that were made from test, and those of the reader.

    Parameters
    ----------
    candidates : ByRelation
    dataset : Dataset
    outside : mapping of str to bool array
        For each side, the positives outside of their pools.
    n_positives : int
        The number of positives of one side.
    """
    notes = [*candidates.notes]
    n = sum(int(is_outside.sum()) for is_outside in outside.values())
    if n:
        rule = "ranks last, unscored" if candidates.kind == LAST else "joins its own query"
        parts = ", ".join(f"{int(is_outside.sum()):,} on the {side} side" for side, is_outside in outside.items())
        notes.append(
            f"{n:,} of {len(outside) * n_positives:,} positives are outside their pools ({parts}): each {rule}"
        )
    n_beyond, n_answers = candidates.beyond_train(dataset)
    if n_answers > MADE_FROM_TEST * n_beyond:
        notes.append(
            f"the pools were {'' if n_answers == n_beyond else 'probably '}made from test: of {n_beyond:,} entities "
            f"beyond the domain and range of train, {n_answers:,} are in those of the other splits, none of which is "
            "left out; such pools tell the scorer which entities the test triples have"
        )
    return notes
