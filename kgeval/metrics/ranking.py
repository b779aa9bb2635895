"""Metrics of the rank of one positive among its rivals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kgeval.checks import Ids, check_positive_int
from kgeval.errors import MetricError
from kgeval.metrics.base import UNBOUNDED, Metric, Reals, mean_over_range, register

_BORDES = "Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data, NIPS"
_HOYT = "Hoyt et al. (2022), A Unified Framework for Rank-based Evaluation Metrics, arXiv:2203.07544"
_NO_EXPECTATION = ("optimistic", "pessimistic", "realistic")


@register
@dataclass(frozen=True)
class Hits(Metric):
    """Share of positives among the best k candidates: the mean of [rank <= k].

    Parameters
    ----------
    k : int
        At least 1. Where a positive has k candidates or fewer its value is 1 whatever the scores;
        `caution` tells for how many.

    References
    ----------
    Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data, NIPS.

    Examples
    --------
    >>> Hits(3).compute(np.array([1, 5]), np.array([0, 0]), np.array([9, 9])).value
    0.5
    """

    k: int = 10
    name: ClassVar[str] = "hits"
    title: ClassVar[str] = "hits"
    higher_is_better: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    reference: ClassVar[str] = _BORDES

    def __post_init__(self) -> None:
        check_positive_int("k of hits@k", self.k, MetricError)

    def value(self, rank: Any) -> Reals:
        """Return 1 where the rank is at most k, else 0."""
        return np.asarray(np.asarray(rank) <= self.k, dtype=np.float64)

    def caution(self, rivals: Ids) -> str:
        """Tell for what share of the positives k reaches the last candidate."""
        share = float(np.mean(rivals + 1 <= self.k)) if len(rivals) else 0.0
        return f"{self} is 1 by definition for {share:.1%} of the ranks ({self.k} candidates or fewer)" if share else ""

    def __str__(self) -> str:
        return f"hits@{self.k}"

    @property
    def heading(self) -> str:
        """How tables name the metric."""
        return str(self)


class _RankAverage(Metric):
    """What all averages of the ranks themselves share; they differ in `aggregate`."""

    higher_is_better = False
    bounds = (1.0, UNBOUNDED)

    def value(self, rank: Any) -> Reals:
        """Return the rank itself."""
        return np.array(rank, dtype=np.float64)


@register
@dataclass(frozen=True)
class MR(_RankAverage):
    """Mean rank; 1 is best.

    References
    ----------
    Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data, NIPS.

    Examples
    --------
    >>> MR().compute(np.array([1, 0]), np.array([0, 0]), np.array([4, 4])).value
    1.5
    """

    name: ClassVar[str] = "mr"
    synonyms: ClassVar[tuple[str, ...]] = ("mean_rank", "arithmetic_mean_rank")
    title: ClassVar[str] = "MR"
    reference: ClassVar[str] = _BORDES


@register
@dataclass(frozen=True)
class MRR(Metric):
    """Mean reciprocal rank: the mean of 1 / rank.

    Under realistic ties this is the reciprocal of the mean rank within each tie, as usually published,
    and never above the expected value.

    References
    ----------
    Voorhees (1999), The TREC-8 Question Answering Track Report.

    Examples
    --------
    >>> MRR().compute(np.array([1, 0]), np.array([0, 0]), np.array([4, 4])).value
    0.75
    >>> MRR().compute(np.array([0]), np.array([1]), np.array([4]), ties="expected").value
    0.75
    """

    name: ClassVar[str] = "mrr"
    synonyms: ClassVar[tuple[str, ...]] = ("mean_reciprocal_rank", "inverse_harmonic_mean_rank")
    title: ClassVar[str] = "MRR"
    higher_is_better: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    reference: ClassVar[str] = "Voorhees (1999), The TREC-8 Question Answering Track Report"

    def value(self, rank: Any) -> Reals:
        """Return the reciprocal of the rank."""
        return 1.0 / np.asarray(rank, dtype=np.float64)


@register
@dataclass(frozen=True)
class MedianRank(_RankAverage):
    """Median rank; the mean of the two middle ones where their number is even.

    References
    ----------
    Hoyt et al. (2022), A Unified Framework for Rank-based Evaluation Metrics, arXiv:2203.07544.

    Examples
    --------
    >>> MedianRank().compute(np.array([0, 3, 90]), np.array([0, 0, 0]), np.array([99, 99, 99])).value
    4.0
    """

    name: ClassVar[str] = "median_rank"
    synonyms: ClassVar[tuple[str, ...]] = ("median",)
    title: ClassVar[str] = "median"
    reference: ClassVar[str] = _HOYT
    tie_policies: ClassVar[tuple[str, ...]] = _NO_EXPECTATION
    has_chance_level: ClassVar[bool] = False

    def aggregate(self, ranks: Reals) -> float:
        """Return the median."""
        return float(np.median(ranks))


@register
@dataclass(frozen=True)
class GMR(_RankAverage):
    """Geometric mean rank: exp of the mean of ln(rank).

    Its expectation over random ties, and over random ranking, is the exact expectation of the
    geometric mean: the product over the positives of E[rank ** (1 / n)].

    References
    ----------
    Hoyt et al. (2022), A Unified Framework for Rank-based Evaluation Metrics, arXiv:2203.07544.

    Examples
    --------
    >>> round(GMR().compute(np.array([0, 3]), np.array([0, 0]), np.array([9, 9])).value, 12)
    2.0
    """

    name: ClassVar[str] = "gmr"
    synonyms: ClassVar[tuple[str, ...]] = ("geometric_mean_rank",)
    title: ClassVar[str] = "GMR"
    reference: ClassVar[str] = _HOYT

    def aggregate(self, ranks: Reals) -> float:
        """Return the geometric mean."""
        return float(np.exp(np.mean(np.log(ranks))))

    def expectation(self, low: Ids, high: Ids) -> float:
        """Return E[GMR] with independent ranks uniform on ``low..high``."""
        return float(np.exp(self._log_moment(low, high, 1)))

    def variance(self, low: Ids, high: Ids) -> float:
        """Return Var[GMR] with independent ranks uniform on ``low..high``."""
        first, second = self._log_moment(low, high, 1), self._log_moment(low, high, 2)
        return float(np.exp(2.0 * first) * np.expm1(max(second - 2.0 * first, 0.0)))

    def _log_moment(self, low: Ids, high: Ids, power: int) -> float:
        """Return ln E[GMR ** power], in logarithms so that nothing overflows or cancels."""
        share = power / len(low)
        moments = mean_over_range(lambda rank: np.expm1(np.log(rank) * share), low, high)
        is_range = high > low
        return float(np.log1p(moments[is_range]).sum() + np.log(low[~is_range]).sum() * share)


@register
@dataclass(frozen=True)
class HMR(_RankAverage):
    """Harmonic mean rank: 1 / MRR.

    References
    ----------
    Hoyt et al. (2022), A Unified Framework for Rank-based Evaluation Metrics, arXiv:2203.07544.

    Examples
    --------
    >>> round(HMR().compute(np.array([1, 0]), np.array([0, 0]), np.array([4, 4])).value, 6)
    1.333333
    """

    name: ClassVar[str] = "hmr"
    synonyms: ClassVar[tuple[str, ...]] = ("harmonic_mean_rank",)
    title: ClassVar[str] = "HMR"
    reference: ClassVar[str] = _HOYT
    tie_policies: ClassVar[tuple[str, ...]] = _NO_EXPECTATION
    has_chance_level: ClassVar[bool] = False

    def aggregate(self, ranks: Reals) -> float:
        """Return the harmonic mean."""
        return float(1.0 / np.mean(1.0 / ranks))
