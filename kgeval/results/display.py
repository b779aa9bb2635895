"""What a result shows of itself: the table of its metrics, its list of ranks, and the bars of its panel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from kgeval.data.sides import RELATION
from kgeval.display.html import Bar
from kgeval.metrics.grammar import display_of
from kgeval.results.keys import Key
from kgeval.results.rank_table import CONFIDENCE, RankTable

MAX_TIES = 0.01  # if a larger share of the ranks ties, the values with pessimistic and with optimistic ties are shown


def tie_ends(ranks: RankTable, metric: str) -> tuple[float, float] | None:
    """Return the values of a metric with pessimistic and with optimistic ties; None if at most 1% of the ranks tie.

    The ranks are those of the entity sides, or for a metric of the relation side those of this side.

    Parameters
    ----------
    ranks : RankTable
    metric : str
        A key, as in `EvaluationResult.value`.

    Returns
    -------
    tuple of float, or None
        None also if one of the two values is undefined.
    """
    key = Key.parse(metric)
    if not ranks.tie_rate_of(RELATION if key.side == RELATION else "both") > MAX_TIES:
        return None
    pessimistic, optimistic = (ranks.value(replace(key, ties=ties)).value for ties in ("pessimistic", "optimistic"))
    return (pessimistic, optimistic) if math.isfinite(pessimistic) and math.isfinite(optimistic) else None


def metric_bars(ranks: RankTable, metrics: Sequence[str]) -> list[Bar]:
    """Return the values of metrics for a panel, with intervals, chance levels, and ranges over tie policies.

    Parameters
    ----------
    ranks : RankTable
    metrics : sequence of str
        Keys, as in `EvaluationResult.value`.

    Returns
    -------
    list of Bar
        Each bar has the value of a metric, its chance level, and the interval that `EvaluationResult.interval` returns
        by default. If more than 1% of the ranks tie, it also has the values with pessimistic and with optimistic ties.
    """
    clusters = ranks.row_clusters("triple")
    bars = []
    for metric in metrics:
        key = Key.parse(metric)
        value, interval = ranks.value(key), ranks.interval(key, confidence=CONFIDENCE, clusters=clusters)
        bars.append(
            Bar(
                display_of(metric).heading,
                value.value,
                interval.low,
                interval.high,
                display_of(metric).decimals,
                ranks.value(key, at_chance=True).value,
                tie_ends(ranks, metric),
                value.reason or interval.remark,
            )
        )
    return bars
