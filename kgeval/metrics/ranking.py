"""Metrics of the rank of one positive among its rivals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kgeval.checks import Ids, check_one_of, check_positive_int
from kgeval.errors import MetricError
from kgeval.metrics.base import TIE_POLICIES, UNBOUNDED, Family, Metric, MetricValue, Reals

_BORDES = "Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data, NIPS"
_HOYT = "Hoyt et al. (2022), A Unified Framework for Rank-based Evaluation Metrics, arXiv:2203.07544"
_NO_EXPECTATION = ("optimistic", "pessimistic", "realistic")


class RankMetric(Metric):
    """Base of the metrics of one positive's rank.

    A subclass gives `value`; its mean over the positives is the metric. What random tie breaking and
    random ranking lead to is derived from `value`, since both are ranks uniform on a range: from
    better + 1 to better + tied + 1, and from 1 to the number of candidates.
    """

    has_chance_level: ClassVar[bool] = True
    undefined_when: ClassVar[str] = "there is no triple"

    def value(self, rank: Any) -> Reals:
        """Return the metric of each 1-based rank, elementwise; ranks may be halves."""
        raise TypeError(f"{type(self).__name__} does not say its value of a rank")

    def aggregate(self, ranks: Reals) -> float:
        """Return the metric of all ranks together; the mean of `value` unless a metric says otherwise."""
        return float(np.mean(self.value(ranks)))

    def compute(self, better: Ids, tied: Ids, rivals: Ids, ties: str = "realistic") -> MetricValue:
        """Return the metric of positives with these counts.

        Parameters
        ----------
        better, tied, rivals : int64 arrays, shape (positives,)
        ties : str
            ``"optimistic"``: the positive first among equals; ``"pessimistic"``: last;
            ``"realistic"``: the mean of both ranks; ``"expected"``: the expectation of the metric
            over random tie breaking.
        """
        check_one_of("ties", ties, TIE_POLICIES, MetricError)
        if not len(better):
            return MetricValue.undefined("no triples")
        if ties not in self.tie_policies:
            return MetricValue.undefined(f"{self} has no exact expectation over random tie breaking")
        if ties == "expected":
            return MetricValue(self.expectation(better + 1, better + tied + 1))
        share = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[ties]
        return MetricValue(self.aggregate(better + 1 + share * tied))

    def expectation(self, low: Ids, high: Ids) -> float:
        """Return the expected metric when each rank is uniform on ``low..high``, independently."""
        return float(np.mean(mean_over_range(self.value, low, high)))

    def variance(self, low: Ids, high: Ids) -> float:
        """Return the variance of the metric when each rank is uniform on ``low..high``, independently."""
        first = mean_over_range(self.value, low, high)
        second = mean_over_range(lambda rank: self.value(rank) ** 2, low, high)
        return float(np.maximum(second - first**2, 0.0).sum() / len(low) ** 2)

    def chance(self, rivals: Ids) -> MetricValue:
        """Return the expected metric of a scorer that knows nothing: every rank equally likely."""
        if not len(rivals):
            return MetricValue.undefined("no triples")
        if not self.has_chance_level:
            return MetricValue.undefined(f"{self} has no closed form of its chance level")
        return MetricValue(self.expectation(np.ones_like(rivals), rivals + 1))

    @property
    def best(self) -> float:
        """The metric when every positive is first."""
        return self.aggregate(np.ones(1))

    def caution(self, rivals: Ids) -> str:
        """Return a sentence where the value says less than it seems, else an empty string."""
        return ""


def mean_over_range(value: Callable[[Any], Reals], low: Ids, high: Ids) -> Reals:
    """Return, per row, the mean of ``value`` over the integers ``low..high``."""
    result = value(low.astype(np.float64))
    is_range = high > low
    if is_range.any():
        table = np.zeros(int(high.max()) + 1, dtype=np.longdouble)
        np.cumsum(value(np.arange(1, len(table), dtype=np.float64)), dtype=np.longdouble, out=table[1:])
        lo, hi = low[is_range], high[is_range]
        result[is_range] = (table[hi] - table[lo - 1]) / (hi - lo + 1)
    return result


RANKS: Family[RankMetric] = Family("metric", RankMetric)


@RANKS.register
@dataclass(frozen=True)
class Hits(RankMetric):
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


class _RankAverage(RankMetric):
    """What all averages of the ranks themselves share; they differ in `aggregate`."""

    higher_is_better = False
    bounds = (1.0, UNBOUNDED)

    def value(self, rank: Any) -> Reals:
        """Return the rank itself."""
        return np.array(rank, dtype=np.float64)


@RANKS.register
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


@RANKS.register
@dataclass(frozen=True)
class MRR(RankMetric):
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


@RANKS.register
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


@RANKS.register
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


@RANKS.register
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
