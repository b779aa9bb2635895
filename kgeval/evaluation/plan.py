"""A protocol applied to a dataset: `make_plan` chooses the positives and candidates, and makes the ranker's tasks.

`kgeval.evaluation.evaluator` makes a plan for each protocol, and each set of columns that a scorer takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.base.checks import Bools, Ids, counted
from kgeval.data.candidates import ByRelation, Candidates, Listed
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.keys import FactColumns, facts_of
from kgeval.data.known import KnownIndex
from kgeval.data.protocol import Protocol
from kgeval.data.queries import query_parts
from kgeval.data.sides import side_of
from kgeval.errors import DataError, ProtocolError
from kgeval.evaluation.build_result import Positives, check_empty
from kgeval.evaluation.pools import SideFacts, notes_of_pools, outside_pools, pool_rivals, pool_tasks
from kgeval.ranking.listed import ListTask
from kgeval.ranking.tasks import Task


@dataclass(frozen=True)
class RankingPlan:
    """A protocol applied to a dataset: the positives to rank, the candidates, and the tasks of the ranker.

    Parameters
    ----------
    protocol : Protocol
        From `Protocol.resolved`, with a value in place of each None.
    positives : Positives
        All n positives, including those that are not ranked.
    chosen : int64 array, shape (chosen,)
        The indices in ``positives.triples`` of the triples of the sample; of all triples if there is no sample.
    kept : int64 array, shape (kept,)
        The indices in ``positives.triples`` of the triples that are ranked.
    candidates : dict of str to int64 array
        For each side, the ids of the entities or relations that may be candidates.
    tasks : list of Task, or list of ListTask
        If each positive has its own list of negatives, one `ListTask` for each side.
    noted_lists : list of ListTask
        The lists that the notes of the result describe. With unseen='worst', these are the lists of all triples of the
        sample, including those with an entity or relation that does not occur in train. Empty if there are no lists.
    all_rivals : dict of (str, str) to int64 array, shape (n,)
        Empty unless unseen='worst'. Each key is (side, setting). The value holds, for each positive, the number of its
        rivals when all entities compete, including those that do not occur in train. `_ranked_side` needs these numbers
        to give the last rank to a positive with an entity or relation that does not occur in train.
    ranked_rows : dict of str to int64 array
        For each side, the indices in ``positives.triples`` of the positives that the table of ranks contains for this
        side, ascending.
    outside : dict of str to bool array, shape (n,)
        With `ByRelation`, for each side: the positives outside of their pools. With ``outside="last"``, `all_rivals`
        holds the numbers of their rivals.
    pool_notes : list of str
        Notes of the result on these pools.
    """

    protocol: Protocol
    positives: Positives
    chosen: Ids
    kept: Ids
    candidates: dict[str, Ids]
    tasks: list[Any]
    noted_lists: list[ListTask]
    all_rivals: dict[tuple[str, str], Ids]
    ranked_rows: dict[str, Ids]
    outside: dict[str, Bools]
    pool_notes: list[str]


def ids_of_candidates(dataset: Dataset, protocol: Protocol, side: str) -> Ids:
    """Return the ids of the entities or relations that may be candidates of a side: all, or those of train."""
    if protocol.unseen in ("rank", "error"):
        return np.arange(len(side_of(side).vocabulary(dataset)))
    is_seen = {"entities": dataset.is_seen_entity, "relations": dataset.is_seen_relation}
    return np.flatnonzero(is_seen[side_of(side).kind])


def make_plan(dataset: Dataset, protocol: Protocol, chosen: Ids, taken: FactColumns) -> RankingPlan:
    """Choose the positives and the candidates, index the known triples, and make the tasks of each side.

    Parameters
    ----------
    dataset : Dataset
    protocol : Protocol
        From `Protocol.drawn`, with a value in place of each None.
    chosen : int64 array, shape (chosen,)
        The indices of the triples of the sample among those of the ranked splits.
    taken : FactColumns
        The further columns that the scorer takes.
    """
    positives = Positives.of(dataset, protocol, taken)
    triples, columns, among = positives.triples, positives.columns, protocol.candidates
    kept = _kept(dataset, protocol, positives, chosen)
    candidates = {side: ids_of_candidates(dataset, protocol, side) for side in protocol.sides}
    every = {side: np.arange(len(side_of(side).vocabulary(dataset))) for side in protocol.sides}
    known = facts_of(dataset, protocol.filter or (), columns.key)
    sides = [
        SideFacts(
            dataset,
            side,
            columns.facts_on(side, positives.facts),
            KnownIndex.of(*query_parts(known, side)),
            columns.on_side(side),
        )
        for side in protocol.sides
    ]
    # With unseen='worst', the positives that are not scored may be outside of their pools too.
    is_worst = protocol.unseen == "worst"
    shown, eligible = (chosen, every) if is_worst else (kept, candidates)
    pools = among if isinstance(among, ByRelation) else None
    outside = {} if pools is None else outside_pools(sides, pools, shown, eligible)

    def tasks_of(rows: Ids, ids: dict[str, Ids]) -> list[Any]:
        """Return the tasks of the positives `rows`, with candidates from `ids`."""
        if isinstance(among, Listed):
            return [
                ListTask.of(dataset, among, of.side, of.facts, rows, ids[of.side], of.index, of.columns) for of in sides
            ]
        if pools is not None:
            return [task for of in sides for task in pool_tasks(of, pools, rows, ids[of.side], outside[of.side])]
        return [task for of in sides for task in _tasks(of, among, rows, ids[of.side])]

    counted_rivals = []
    if is_worst:  # entities and relations that do not occur in train are rivals too
        counted_rivals += [(task.side, task.rows, task.count_rivals()) for task in tasks_of(chosen, eligible)]
    tasks = tasks_of(kept, candidates)
    if pools is not None:
        counted_rivals += pool_rivals(sides, pools, outside, eligible)
    all_rivals: dict[tuple[str, str], Ids] = {}
    for side, rows, by_setting in counted_rivals:
        for setting, n_rivals in by_setting.items():
            all_rivals.setdefault((side, setting), np.zeros(len(triples), dtype=np.int64))[rows] = n_rivals
    ranked_rows, lists = dict.fromkeys(protocol.sides, shown), tasks if isinstance(among, Listed) else []
    for part in lists:
        rows, rivals = ranked_rows[part.side], part.count_rivals()["raw"]
        n_rivals = all_rivals[part.side, "raw"][rows] if is_worst else rivals
        ranked_rows[part.side] = rows[check_empty(among, dataset, part.side, triples[rows], n_rivals)]
    return RankingPlan(
        protocol=protocol,
        positives=positives,
        chosen=chosen,
        kept=kept,
        candidates=candidates,
        tasks=tasks,
        noted_lists=tasks_of(chosen, candidates) if lists and is_worst and len(kept) < len(chosen) else lists,
        all_rivals=all_rivals,
        ranked_rows=ranked_rows,
        outside=outside,
        pool_notes=[] if pools is None else notes_of_pools(pools, dataset, outside, len(shown)),
    )


def _kept(dataset: Dataset, protocol: Protocol, positives: Positives, chosen: Ids) -> Ids:
    """Return those of `chosen` that are ranked; raise a DataError if `unseen` forbids one, or if none is left."""
    is_seen = positives.is_seen[chosen]
    if protocol.unseen == "error" and not is_seen.all():
        n_unseen, (s, p, o) = int((~is_seen).sum()), positives.triples[chosen[np.argmin(is_seen)]]
        labels = triple_labels(dataset, s, p, o)
        raise DataError(
            f"{counted(n_unseen, 'triple to rank contains', 'triples to rank contain')} an entity or relation that "
            f"does not occur in train, first {labels}; "
            "choose unseen='rank', 'drop' or 'worst'"
        )
    kept = chosen if protocol.unseen in ("rank", "error") else chosen[is_seen]
    if not len(kept):
        raise DataError(
            f"no triple is left to rank: all {len(chosen)} contain an entity or relation that does not occur in train"
        )
    return kept


def _tasks(of: SideFacts, candidates: Candidates, rows: Ids, ids: Ids) -> list[Task]:
    """Return one task per pool for the positives `rows`; a task contains the queries whose candidates are the pool.

    The candidates are some of `ids`. Raise a ProtocolError unless each positive is in exactly one pool.
    """
    queries = of.queries(rows)
    tasks = [Task.of(of.dataset, part, pool, of.index, of.columns) for part, pool in candidates.pools(queries, ids)]
    found = [task.queries.rows for task in tasks]
    if not np.array_equal(np.sort(np.concatenate([*found, rows[:0]])), np.sort(queries.rows)):
        raise ProtocolError(
            f"{candidates!r}: pools() must return each of the {len(queries.rows)} positives of the {of.side} side "
            f"exactly once; it returns {sum(map(len, found))} rows, {len(set().union(*map(set, found)))} of them "
            "distinct"
        )
    return tasks
