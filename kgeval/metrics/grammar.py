"""How a metric is written wherever a result is asked: ranks, their wrappers, and query-level metrics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kgeval.errors import MetricError
from kgeval.metrics.base import TIE_POLICIES, Metric, split_list
from kgeval.metrics.pointwise import POINTS
from kgeval.metrics.query_level import QueryLevel
from kgeval.metrics.ranks import RANKS, RankMetric
from kgeval.metrics.wrappers import SHORTHANDS, Adjusted, AgainstChance, ZScore

WRAPPERS: dict[str, type[AgainstChance]] = {"adjusted": Adjusted, "z": ZScore}


def parse(text: str | Metric) -> RankMetric | QueryLevel:
    """Return the metric that `text` names.

    Parameters
    ----------
    text : str or Metric
        ``"mrr"``, ``"hits@10"``, ``"adjusted(mr)"`` (or ``"amri"``), ``"z(hits@3)"``;
        ``"query.map"``, ``"query.micro.recall@10"``.

    Raises
    ------
    MetricError
        If the name is unknown, with the nearest known one, or a parameter is missing or wrong.

    Examples
    --------
    >>> parse("hits@10")
    Hits(k=10)
    >>> str(parse("adjusted(mr)")), str(parse("adjusted(mrr)"))
    ('amri', 'adjusted(mrr)')
    >>> str(parse("query.NDCG@10"))
    'query.ndcg@10'
    """
    if isinstance(text, QueryLevel):
        return text
    if isinstance(text, str):
        spec = text.strip().lower()
        spec = SHORTHANDS.get(spec, spec)
        if spec.startswith("query."):
            return QueryLevel.parse(spec)
        wrapped = re.fullmatch(r"(\w+)\(([^=]*)\)", spec, re.S)
        if wrapped:
            name, inner = wrapped.groups()
            if name not in WRAPPERS:
                raise MetricError(f"unknown wrapper {name!r} in {text!r}; known: {', '.join(sorted(WRAPPERS))}")
            return WRAPPERS[name](parse(inner))  # type: ignore[call-arg]
        if _before_key(spec):
            raise MetricError(
                f"{text!r} is the key of one number: result[{text!r}]. Tables name metrics alone, such as "
                f"{spec.removeprefix(_before_key(spec))!r}; setting and ties are options beside them"
            )
    return RANKS.parse(text, [*SHORTHANDS, *(f"{name}(...)" for name in WRAPPERS), "query.map"])


def parse_all(metrics: Sequence[str | Metric] | str) -> list[RankMetric | QueryLevel]:
    """Return the metrics named by a sequence, or by one string with commas; at least one."""
    asked = split_list(metrics) if isinstance(metrics, str) else list(metrics)
    if not asked:
        raise MetricError("metrics names none; say which, such as 'mrr,hits@10'")
    return [parse(metric) for metric in asked]


@dataclass(frozen=True)
class Display:
    """How tables and charts for people show the column of a metric.

    Parameters
    ----------
    heading : str
    decimals : int
    unit : str
        ``"ranks"`` for numbers from 1 upwards without a bound; else empty.
    """

    heading: str
    decimals: int = 4
    unit: str = ""


def display_of(column: str) -> Display:
    """Return how to show a column named by a metric's key, with what may stand before it; others as they are named.

    Examples
    --------
    >>> display_of("mr"), display_of("raw.object.mrr").heading, display_of("f1").heading, display_of("n").heading
    (Display(heading='MR', decimals=2, unit='ranks'), 'raw.object.MRR', 'F1', 'n')
    """
    prefix = _before_key(column)
    key = column.removeprefix(prefix)
    for read in (parse, POINTS.parse):
        try:
            metric = read(key)
        except MetricError:
            continue
        if str(metric) == key:
            return Display(prefix + metric.heading, metric.decimals, metric.unit)
    return Display(column)


def _before_key(column: str) -> str:
    """Return what stands before the metric in the key of a number: setting, side, ties or average, with their dots."""
    before = re.match(
        r"(?:(?:raw|filtered|both|subject|object|micro|macro|" + "|".join(TIE_POLICIES) + r")\.)*", column
    )
    return before.group() if before else ""
