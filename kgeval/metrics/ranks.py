"""Metrics of the rank of one positive among its rivals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kgeval.checks import Ids, Reals, check_one_of, check_positive_int
from kgeval.errors import MetricError
from kgeval.metrics.base import TIE_POLICIES, UNBOUNDED, Family, Metric, MetricValue
from kgeval.stats import Moments, first_mean

_BORDES = "Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data, NIPS"
_HOYT = "Hoyt et al. (2022), A Unified Framework for Rank-based Evaluation Metrics, arXiv:2203.07544"
_NO_EXPECTATION = ("optimistic", "pessimistic", "realistic")


class RankMetric(Metric):
    """Base of the metrics of one positive's rank.

    A subclass gives `value`; its mean over the positives is the metric. What random tie breaking and
    random ranking lead to is derived from `value`, since both are ranks uniform on a range: from
    better + 1 to better + tied + 1, and from 1 to the number of candidates. A metric that is another
    function of a mean says so in `_moments`.

    Attributes
    ----------
    has_chance_level : bool
        Whether the expectation over random ranking has a closed form.
    needs_candidates : bool
        Whether the number of candidates changes the value, which ranks alone then do not tell.
    """

    has_chance_level: ClassVar[bool] = True
    needs_candidates: ClassVar[bool] = False
    has_moments: ClassVar[bool] = True
    undefined_when: ClassVar[str] = "there is no triple"

    def value(self, rank: Any) -> Reals:
        """Return the metric of each 1-based rank, elementwise; ranks may be halves."""
        raise TypeError(f"{type(self).__name__} does not say its value of a rank")

    def is_weightable(self, ties: str) -> bool:
        """Tell whether the metric has a weighted form: what is averaged depends on each rank alone."""
        return self.has_moments

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
        lacking = self.lacking(rivals, ties)
        if lacking:
            return MetricValue.undefined(lacking)
        return MetricValue(float(self._moments(better, tied, rivals, ties).number))

    def moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str = "realistic") -> Moments:
        """Return what each positive adds to the metric of all; its number is the value of `compute`.

        Parameters
        ----------
        better, tied, rivals : int64 arrays, shape (positives,)
        ties : str
            As for `compute`.

        Returns
        -------
        Moments
            Values float64 (positives, k), in the order of the counts.

        Raises
        ------
        MetricError
            Where `compute` gives a reason instead of a value, with that reason; and where the metric is no
            function of means (`has_moments` is false).

        Examples
        --------
        >>> MRR().moments(np.array([1, 0]), np.array([0, 0]), np.array([4, 4])).values
        array([[0.5],
               [1. ]])
        """
        lacking = self.lacking(rivals, ties)
        if lacking:
            raise MetricError(lacking)
        return self._moments(better, tied, rivals, ties)

    def _moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Moments:
        """Return the moments of counts that lack nothing."""
        if ties == "expected":
            return self.expectation(better + 1, better + tied + 1)
        return Moments(self.value(ranks_under(ties, better, tied))[:, None])

    def lacking(self, rivals: Ids, ties: str) -> str:
        """Return why positives with so many rivals have no value, or an empty string."""
        check_one_of("ties", ties, TIE_POLICIES, MetricError)
        if not len(rivals):
            return "no triples"
        return "" if ties in self.tie_policies else f"{self} has no exact expectation over random tie breaking"

    def expectation(self, low: Ids, high: Ids) -> Moments:
        """Return the expected metric when each rank is uniform on ``low..high``, independently; a row per rank."""
        return Moments(mean_over_range(self.value, low, high)[:, None])

    def spread(self, low: Ids, high: Ids) -> Moments:
        """Return the variance of the metric of as many ranks, each uniform on its ``low..high``; a row per rank."""
        first, n = mean_over_range(self.value, low, high), len(low)
        second = mean_over_range(lambda rank: self.value(rank) ** 2, low, high)
        return Moments(np.maximum(second - first**2, 0.0)[:, None], lambda means: first_mean(means) / n)

    def variance(self, low: Ids, high: Ids) -> float:
        """Return the variance of the metric when each rank is uniform on ``low..high``, independently."""
        return float(self.spread(low, high).number)

    def chance(self, rivals: Ids) -> MetricValue:
        """Return the expected metric of a scorer that knows nothing: every rank equally likely."""
        if not len(rivals):
            return MetricValue.undefined("no triples")
        if not self.has_chance_level:
            return MetricValue.undefined(f"{self} has no closed form of its chance level")
        return MetricValue(float(self.expectation(np.ones_like(rivals), rivals + 1).number))

    @property
    def best(self) -> float:
        """The metric when every positive is first."""
        none = np.zeros(1, dtype=np.int64)
        return self.compute(none, none, none).value

    def caution(self, rivals: Ids) -> str:
        """Return a sentence where the value says less than it seems, else an empty string."""
        return ""


def ranks_under(ties: str, better: Ids, tied: Ids) -> Reals:
    """Return the 1-based ranks, float64 (positives,), under a tie policy that gives each positive one."""
    share = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[ties]
    return np.asarray(better + 1 + share * tied)


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


def _exp_of_mean(means: Reals) -> Reals:
    """Return e to the first of the means: how a mean of logarithms is finished."""
    return np.exp(first_mean(means))


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
    """What all averages of the ranks themselves share; they differ in what kind of mean it is."""

    higher_is_better = False
    bounds = (1.0, UNBOUNDED)
    unit = "ranks"
    decimals = 2

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
    has_moments: ClassVar[bool] = False

    def compute(self, better: Ids, tied: Ids, rivals: Ids, ties: str = "realistic") -> MetricValue:
        """See `RankMetric.compute`."""
        lacking = self.lacking(rivals, ties)
        if lacking:
            return MetricValue.undefined(lacking)
        return MetricValue(float(np.median(ranks_under(ties, better, tied))))

    def _moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Moments:
        raise MetricError(f"{self} is no function of means; ask for gmr, which a few bad ranks move little as well")


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

    def _moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Moments:
        if ties == "expected":
            return self.expectation(better + 1, better + tied + 1)
        return Moments(np.log(ranks_under(ties, better, tied))[:, None], _exp_of_mean)

    def is_weightable(self, ties: str) -> bool:
        """Tell whether the metric has a weighted form; its expectation depends on the number of ranks."""
        return ties != "expected"

    def expectation(self, low: Ids, high: Ids) -> Moments:
        """Return E[GMR] with independent ranks uniform on ``low..high``; n of the rows is n of the root."""
        return Moments(self._log_moments(low, high, 1)[:, None], _exp_of_mean)

    def spread(self, low: Ids, high: Ids) -> Moments:
        """Return Var[GMR] with independent ranks uniform on ``low..high``; n of the rows is n of the root."""
        first, second = self._log_moments(low, high, 1), self._log_moments(low, high, 2)

        def finish(means: Reals) -> Reals:
            return np.exp(2.0 * means[..., 0]) * np.expm1(np.maximum(means[..., 1], 0.0))

        return Moments(np.stack([first, second - 2.0 * first]).T, finish)

    def _log_moments(self, low: Ids, high: Ids, power: int) -> Reals:
        """Return n ln E[rank ** (power / n)] per rank: their mean is ln E[GMR ** power].

        In logarithms so that nothing overflows or cancels.
        """
        share = power / len(low)
        means = mean_over_range(lambda rank: np.expm1(np.log(rank) * share), low, high)
        # One possible rank has its logarithm itself, without the way through the power and back.
        return np.where(high > low, len(low) * np.log1p(means), power * np.log(low))


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

    def _moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Moments:
        return Moments(1.0 / ranks_under(ties, better, tied)[:, None], lambda means: 1.0 / first_mean(means))
