"""Parsing of the texts of metrics, such as ``hits@10``, ``adjusted(mr)`` and ``query.map``.

Results, comparisons, reports and the command line call `parse` and `parse_all`; tables and charts call `display_of`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kgeval.errors import MetricError
from kgeval.metrics.base import TIE_POLICIES, Family, Metric, split_list
from kgeval.metrics.pointwise.base import POINTS
from kgeval.metrics.query_level import QueryLevel
from kgeval.metrics.ranks import RANKS, RankMetric
from kgeval.metrics.retrieval.base import LISTS
from kgeval.metrics.sampled_hits import SampledHits
from kgeval.metrics.wrappers import SHORTHANDS, Adjusted, AgainstChance, ZScore

WRAPPERS: dict[str, type[AgainstChance]] = {"adjusted": Adjusted, "z": ZScore}
_OTHER_FAMILIES: tuple[tuple[Family[Any], str, str], ...] = (  # family, kind of metric, hint how to compute it
    (
        LISTS,
        "a metric of ranked lists",
        "; did you mean 'query.{spec}'? Each query is then one list with all its answers",
    ),
    (POINTS, "a metric of labelled predictions", "; kgeval.classify (kgeval classify) computes it"),
)


def parse(text: str | Metric) -> RankMetric | QueryLevel:
    """Return the metric that `text` names.

    Parameters
    ----------
    text : str or Metric
        ``"mrr"``, ``"hits@10"``, ``"adjusted(mr)"`` (or ``"amri"``), ``"z(hits@3)"``;
        ``"query.map"``, ``"query.micro.recall@10"``. Upper case is read as lower case. A `Metric` object is returned
        unchanged.

    Returns
    -------
    RankMetric or QueryLevel

    Raises
    ------
    MetricError
        If `text` is neither a string nor a metric of ranks or of queries, if the name is unknown (the message suggests
        the most similar known name), or if a parameter is unknown, missing or wrong.

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
            other = _other_family(inner)
            if other:
                raise MetricError(f"{name}(...) wraps a metric of ranks such as 'mrr'; {inner!r} is {other[0]}")
            return WRAPPERS[name](parse(inner))  # type: ignore[call-arg]
        if _before_key(spec):
            raise MetricError(
                f"{text!r} is the key of a single value; to read it, use result[{text!r}]. Tables need the metric "
                f"without the prefix, such as {spec.removeprefix(_before_key(spec))!r}; ties are a separate "
                "option, and the row raw of a table has the other setting"
            )
        sampled = re.fullmatch(r"hits@([0-9]{1,18})_of_([0-9]{1,18})(_drawn)?", spec)
        if sampled:
            return SampledHits(int(sampled[1]), int(sampled[2]), bool(sampled[3]))
        if re.match(r"hits@[0-9]+[ _]", spec):
            raise MetricError(
                "expected hits@K_of_N or hits@K_of_N_drawn, where N is the number of drawn negatives, such as "
                f"'hits@10_of_49' (hits@10_50 in ULTRA); got {text!r}"
            )
        other = _other_family(spec)
        if other:
            raise MetricError(f"{text!r} is {other[0]}, not a metric of ranks{other[1].format(spec=spec)}")
    return RANKS.parse(text, [*SHORTHANDS, *(f"{name}(...)" for name in WRAPPERS), "query.map"])


def _other_family(spec: str) -> tuple[str, str] | None:
    """Return two texts about a metric that is not a metric of ranks: the metric's kind, and a hint how to compute it.

    For a metric of ranks or an unknown name, return None.
    """
    if RANKS.has_name(spec):
        return None
    return next(((kind, hint) for family, kind, hint in _OTHER_FAMILIES if family.has_name(spec)), None)


def parse_all(metrics: Sequence[str | Metric] | str) -> list[RankMetric | QueryLevel]:
    """Return the metrics that `metrics` names, for example in ``"mrr,hits@10"``.

    Parameters
    ----------
    metrics : sequence of str or Metric, or one string with commas
        At least one metric; `parse` describes the accepted texts.

    Returns
    -------
    list of RankMetric or QueryLevel

    Raises
    ------
    MetricError
        If `metrics` is empty, or if a metric cannot be parsed.
    """
    specs = split_list(metrics)
    if not specs:
        raise MetricError("metrics is empty; name at least one, such as 'mrr,hits@10'")
    return [parse(metric) for metric in specs]


@dataclass(frozen=True)
class Display:
    """The heading, the number of decimals, the unit and the direction of a metric in printed tables and charts.

    Parameters
    ----------
    heading : str
    decimals : int
        Number of decimals to show.
    unit : str
        ``"ranks"`` if the values are ranks (at least 1, without an upper bound), else empty.
    lower_is_better : bool
    """

    heading: str
    decimals: int = 4
    unit: str = ""
    lower_is_better: bool = False

    @property
    def title(self) -> str:
        """The heading, and the direction if lower values are better."""
        return f"{self.heading}{' (lower is better)' * self.lower_is_better}"


@lru_cache(maxsize=1000)
def display_of(column: str) -> Display:
    """Return the heading, the number of decimals, the unit and the direction of a column in printed tables and charts.

    Parameters
    ----------
    column : str
        The key of a metric, with or without a prefix such as ``raw.object.``, or any other column name.

    Returns
    -------
    Display
        For a column that is not a metric: the name of the column as its heading, 4 decimals, no unit, no direction.

    Examples
    --------
    >>> display_of("mr"), display_of("raw.object.mrr").heading, display_of("f1").heading, display_of("n").heading
    (Display(heading='MR', decimals=2, unit='ranks', lower_is_better=True), 'raw.object.MRR', 'F1', 'n')
    """
    prefix = _before_key(column)
    key = column.removeprefix(prefix)
    for read in (parse, POINTS.parse):
        try:
            metric = read(key)
        except MetricError:
            continue
        if str(metric) == key:
            inner = metric.metric if isinstance(metric, QueryLevel) else metric
            is_lower = inner.higher_is_better is False
            return Display(prefix + metric.heading, metric.decimals, metric.unit, is_lower)
    return Display(column)


def _before_key(column: str) -> str:
    """Return the part of a key before the metric, such as 'raw.object.' in 'raw.object.mrr'; empty if there is none."""
    prefix = re.match(
        r"(?:(?:raw|filtered|both|subject|object|micro|macro|" + "|".join(TIE_POLICIES) + r")\.)*", column
    )
    return prefix.group() if prefix else ""
