"""A metric of one ranked query of a result, explained place by place. `EvaluationResult.steps` calls this module."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from kgeval.data.sides import side_of
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import MetricError
from kgeval.metrics import MR, MRR, Hits, RankMetric
from kgeval.metrics.query_level import QueryLevel
from kgeval.metrics.ranks import ranks_under
from kgeval.metrics.retrieval import steps
from kgeval.metrics.retrieval.lists import RankedLists
from kgeval.metrics.retrieval.stepwise import Steps
from kgeval.results.bounded import EXTREMES
from kgeval.results.keys import Key
from kgeval.results.lists import query_columns, query_lists, triples_of
from kgeval.results.rank_table import RankTable

RANKS_IN_STEPS = (MR, MRR, Hits)


def steps_of_row(ranks: RankTable, entities: Vocabulary, relations: Vocabulary, row: int, key: Key) -> Steps:
    """Explain a metric of one row of a rank table, or of its query; see `EvaluationResult.steps`.

    Parameters
    ----------
    ranks : RankTable
    entities, relations : Vocabulary
    row : int
    key : Key
        The side of the key is "both" or the side of the row.

    Raises
    ------
    MetricError
        If the metric has no value here, or cannot be explained.
    """
    triple = triples_of(ranks.frame)[row]
    side = str(ranks.frame["side"].iloc[row])
    if key.side not in ("both", side):
        raise MetricError(f"the key {str(key)!r} is of the {key.side} side, but the query is of the {side} side")
    rows = np.array([row], dtype=np.int64)
    if isinstance(key.metric, QueryLevel):
        parts = np.column_stack(query_columns(ranks.frame))
        rows = np.flatnonzero((parts == parts[row]).all(axis=1))
    reason = ranks.lacking(key)
    if not reason and key.ties not in EXTREMES and ranks.is_bounded(key.setting, rows).any():
        reason = "a rank of the query is bounded; use optimistic or pessimistic ties"
    if reason:
        raise MetricError(reason)
    s, p, o = entities.labels[triple[0]], relations.labels[triple[1]], entities.labels[triple[2]]
    if isinstance(key.metric, QueryLevel):
        asked = side_of(side).asked
        name = f"({', '.join('?' if place == asked else part for place, part in enumerate((s, p, o)))})"
        lists, _ = query_lists(ranks.frame.iloc[rows], ranks.protocol, key.setting)
        labels = (entities, relations, entities)[asked]
        items = _labels_in_order(ranks.frame.iloc[rows], key.setting, lists, side, labels)
        found = steps(lists, key.metric.metric, ties=key.ties, items=items)
    else:
        name = f"({s}, {p}, {o}), {side} side"
        found = _rank_steps(key.metric, ranks, row, key)
    return replace(found, metric=str(key), query=name)


def _labels_in_order(
    frame: pd.DataFrame, setting: str, lists: RankedLists, side: str, vocabulary: Vocabulary
) -> list[str | None]:
    """Return one entry for each item of the single list, in ranked order: the label of an answer, or None for a rival.

    `frame` has the rows of the query, and `vocabulary` the labels of its candidates.
    """
    distinct = frame.drop_duplicates(["s", "p", "o"])
    answers = triples_of(distinct)[:, side_of(side).asked]
    # As in `lists_of_counts`, which sorts the answers from the best rank to the worst.
    counts = [distinct[f"{name}_{setting}"].to_numpy() for name in ("tied", "better")]
    ordered = answers[np.lexsort(counts)]
    labels: list[str | None] = [None] * int(lists.length[0])
    # (answers,): the number of each answer in its tie group, from 0.
    groups = np.searchsorted(lists.before, lists.before)
    for i, answer in enumerate(ordered.tolist()):
        labels[int(lists.before[i]) + i - int(groups[i])] = vocabulary.labels[answer]
    return labels


def _rank_steps(metric: RankMetric, ranks: RankTable, row: int, key: Key) -> Steps:
    """Explain a metric of ranks: the possible places of the positive, and the value of the metric at each of them."""
    if not isinstance(metric, RANKS_IN_STEPS):
        explained = ", ".join(kind.name for kind in RANKS_IN_STEPS)
        raise MetricError(f"{metric} of one rank cannot be explained; choose {explained} or a query. metric")
    counts = ranks.counts(key.setting, np.array([row], dtype=np.int64))
    value = metric.compute(counts.better, counts.tied, counts.rivals, key.ties)
    if value.reason:
        raise MetricError(value.reason)
    better, tied = int(counts.better[0]), int(counts.tied[0])
    # Under expected ties, all ranks that the positive can have if ties are broken at random; otherwise its only rank.
    is_random = key.ties == "expected"
    places = (
        np.arange(better + 1, better + tied + 2) if is_random else ranks_under(key.ties, counts.better, counts.tied)
    )
    chance = np.full(len(places), 1.0 / len(places))
    term = chance * metric.value(places)
    table = pd.DataFrame({"place": places, "chance": chance, "value": metric.value(places), "term": term})
    table["sum"] = term.cumsum()
    how = {
        "optimistic": f"{better} + 1",
        "pessimistic": f"{better} + {tied} + 1",
        "realistic": f"{better} + 1" + (f" + {tied} / 2" if tied else ""),
        "expected": f"{better} + 1" + (f" to {better} + {tied} + 1, all with the same chance" if tied else ""),
    }[key.ties]
    rank = f"{how} = {places[0]:g}" if len(places) == 1 else how
    formula = f"{better} rivals score higher, {tied} the same: rank {rank}; {metric} = sum = {value.value:.4f}"
    return Steps(str(key), "", key.ties, value.value, table, formula)
