"""Pools of candidates by relation (`kgeval.candidates.ByRelation`): their tasks, and the notes of a result.

`kgeval.evaluation.plan` makes its plan with these functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgeval.base.checks import Bools, Ids, counted
from kgeval.data.candidates import LAST, ByRelation
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.keys import FactColumns
from kgeval.data.known import KnownIndex
from kgeval.data.queries import Queries
from kgeval.errors import ProtocolError
from kgeval.ranking.tasks import Task

MOST_ADDED = 1000  # distinct answers outside a pool in one task: all of them are scored for each of its queries
MADE_FROM_TEST = 0.9  # share of answers among the entities beyond train in pools that were made from test


@dataclass(frozen=True)
class SideFacts:
    """The facts of the ranked splits as one side is asked for them, and the known triples of this side.

    Parameters
    ----------
    dataset : Dataset
    side : str
    facts : int64 array, shape (n, 3 or more)
        Columns s, p, o, and the codes of `columns`.
    index : KnownIndex
        The known triples, in which the known answers of a query are looked up.
    columns : FactColumns
    """

    dataset: Dataset
    side: str
    facts: Ids
    index: KnownIndex
    columns: FactColumns

    def queries(self, rows: Ids) -> Queries:
        """Return the queries of the facts `rows`, int64 (positives,)."""
        return Queries.of(self.facts[rows], self.side, rows=rows)


def outside_pools(
    sides: Sequence[SideFacts], candidates: ByRelation, rows: Ids, entities: Mapping[str, Ids]
) -> dict[str, Bools]:
    """Return, for each side, which of its facts are among `rows` and outside of their pools, bool (n,).

    `entities` has, for each side, the sorted ids of the entities that may be candidates.
    """
    found = {of.side: np.zeros(len(of.facts), dtype=bool) for of in sides}
    for of in sides:
        found[of.side][rows] = candidates.is_outside(of.side, of.facts[rows, :3], entities[of.side], of.dataset)
    return found


def pool_tasks(of: SideFacts, candidates: ByRelation, rows: Ids, entities: Ids, is_outside: Bools) -> list[Task]:
    """Return the tasks of the positives `rows` on one side: one for each relation, and those of positives outside.

    Parameters
    ----------
    of : SideFacts
    candidates : ByRelation
    rows : int64 array, shape (positives,)
        The rows of ``of.facts`` to rank.
    entities : int64 array, shape (entities,)
        Sorted ids of the entities that may be candidates.
    is_outside : bool array, shape (n,)
        From `outside_pools`. With ``outside="last"``, a positive outside of its pool is in no task.

    Raises
    ------
    ProtocolError
        If a pool has an id that no entity has, or if positives are outside of their pools and this is an error.
    """
    for relation, pool in candidates.of_side[of.side].items():
        if len(pool) and int(pool[-1]) >= len(of.dataset.entities):
            raise ProtocolError(
                f"the pool of {of.side}s of relation {relation} contains id {pool[-1]}; dataset {of.dataset.name!r} "
                f"has entities 0 to {len(of.dataset.entities) - 1}"
            )
    inside, outside = rows[~is_outside[rows]], rows[is_outside[rows]]
    if len(outside) and candidates.outside == "error":
        raise ProtocolError(
            f"{of.side} side: {counted(len(outside), 'positive is', 'positives are')} outside the pool of the "
            f"relation (of {len(rows):,}), first {triple_labels(of.dataset, *of.facts[outside[0], :3])}; choose "
            "outside='add' (--outside add: the answer joins its own query) or outside='last' (--outside last: it ranks "
            "last)"
        )
    pools = candidates.by_relation(of.queries(inside), entities)
    tasks = [Task.of(of.dataset, part, pool, of.index, of.columns) for part, pool in pools]
    if candidates.kind == LAST:
        return tasks
    for part, pool in candidates.by_relation(of.queries(outside), entities):
        start = 0
        while start < len(part):
            stop = int(np.searchsorted(part.offsets, part.offsets[start] + MOST_ADDED, side="right")) - 1
            stop = max(start + 1, stop)
            tasks.append(Task.of_added(of.dataset, part.part(start, stop), pool, of.index, of.columns))
            start = stop
    return tasks


def pool_rivals(
    sides: Sequence[SideFacts], candidates: ByRelation, outside: Mapping[str, Bools], entities: Mapping[str, Ids]
) -> list[tuple[str, Ids, dict[str, Ids]]]:
    """Return the numbers of rivals of positives outside their pools, if they rank last, unscored; else nothing.

    `outside` and `entities` are as in `outside_pools`. Each tuple holds a side, the rows of such positives, int64
    (positives,), and their numbers of rivals, int64 (positives,), under the keys "raw" and "filtered".
    """
    found = []
    for of in sides if candidates.kind == LAST else ():
        raw, filtered = np.zeros((2, len(of.facts)), dtype=np.int64)
        rows = np.flatnonzero(outside[of.side])
        for part, pool in candidates.by_relation(of.queries(rows), entities[of.side]):
            offsets, known = of.index.lookup(*of.columns.key_parts(part.parts))
            query_of = np.repeat(np.arange(len(part)), np.diff(offsets))
            n_known = np.bincount(query_of[np.isin(known, pool)], minlength=len(part))
            raw[part.rows] = len(pool)
            filtered[part.rows] = len(pool) - np.repeat(n_known, np.diff(part.offsets))
        found.append((of.side, rows, {"raw": raw[rows], "filtered": filtered[rows]}))
    return found


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
