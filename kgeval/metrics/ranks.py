"""Metrics of ranks. A positive is a test triple, ranked among its candidates; the other candidates are its rivals.

Each metric is computed from three counts per positive: `better` is the number of rivals with a higher score, `tied` is
the number of rivals with an equal score, and `rivals` is the number of all rivals. `kgeval.results` passes these
counts; metrics do not read scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kgeval.base.checks import Ids, Reals, check_one_of, check_positive_int
from kgeval.errors import MetricError
from kgeval.metrics.base import TIE_POLICIES, UNBOUNDED, Family, Metric, MetricValue
from kgeval.metrics.sums import sums_over_ranges
from kgeval.stats.moments import Moments, first_mean

_BORDES = "Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data, NIPS"
_HOYT = "Hoyt et al. (2022), A Unified Framework for Rank-based Evaluation Metrics, arXiv:2203.07544"
_NO_EXPECTATION = ("optimistic", "pessimistic", "realistic")


class RankMetric(Metric):
    """Base class of the metrics of ranks.

    A subclass defines `value`, the metric of a single rank; the metric is the mean of `value` over the positives.
    The expectations under random tie breaking and under random ranking are computed from `value`. In both cases all
    possible ranks of a positive are equally likely: better + 1 to better + tied + 1 under random tie breaking, and 1 to
    the number of candidates under random ranking. A metric that is not a mean of `value` overrides `_moments`.

    Attributes
    ----------
    has_chance_level : bool
        Whether the chance level (the expectation under random ranking) has a closed form.
    is_smooth : bool
        Whether `value` is a smooth function, as defined in `kgeval.metrics.sums.sums_over_ranges`. For a smooth
        function, expectations over millions of ranks are fast; otherwise `value` is computed for each of these ranks.
    """

    has_chance_level: ClassVar[bool] = True
    is_smooth: ClassVar[bool] = False
    has_moments: ClassVar[bool] = True
    undefined_when: ClassVar[str] = "there is no triple"

    def value(self, rank: Any) -> Reals:
        """Return the metric of each single rank.

        Parameters
        ----------
        rank : float array of any shape
            1-based ranks; half ranks such as 1.5 occur under realistic ties.

        Returns
        -------
        float64 array, same shape as `rank`
        """
        raise TypeError(f"{type(self).__name__} does not define value(rank)")

    def is_weightable(self, ties: str) -> bool:
        """Return True if, under this tie policy, the metric can be computed with a weight for each positive.

        This is possible if the metric is a mean of terms, one per positive, and no term depends on other positives.
        """
        return self.has_moments

    def compute(self, better: Ids, tied: Ids, rivals: Ids, ties: str = "realistic") -> MetricValue:
        """Compute the metric over all positives.

        Parameters
        ----------
        better, tied, rivals : int64 arrays, shape (positives,)
            For each positive: `better` is the number of rivals with a higher score, `tied` the number of rivals with an
            equal score, and `rivals` the number of all rivals.
        ties : str
            ``"optimistic"``: the positive ranks before all rivals with the same score; ``"pessimistic"``: the
            positive ranks after all these rivals; ``"realistic"``: the mean of these two ranks; ``"expected"``: the
            expectation of the metric over random tie breaking.
        """
        reason = self.lacking(rivals, ties)
        if reason:
            return MetricValue.undefined(reason)
        return MetricValue(float(self._moments(better, tied, rivals, ties).number))

    def moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str = "realistic") -> Moments:
        """Return the contribution of each positive to the metric, for confidence intervals and tests.

        Parameters
        ----------
        better, tied, rivals : int64 arrays, shape (positives,)
            As for `compute`.
        ties : str
            As for `compute`.

        Returns
        -------
        Moments
            `number` is the value that `compute` returns. `values` is float64, with one row per positive and one column
            for each mean from which the metric is computed; for most metrics this is one column.

        Raises
        ------
        MetricError
            If the metric has no value (the message is the `reason` that `compute` returns), or if the metric is not a
            function of means (`has_moments` is False).

        Examples
        --------
        >>> MRR().moments(np.array([1, 0]), np.array([0, 0]), np.array([4, 4])).values
        array([[0.5],
               [1. ]])
        """
        reason = self.lacking(rivals, ties)
        if reason:
            raise MetricError(reason)
        return self._moments(better, tied, rivals, ties)

    def _moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Moments:
        """Return the result of `moments` without checks; call this method only if `lacking` returns an empty string."""
        if ties == "expected":
            return self.expectation(better + 1, better + tied + 1)
        return Moments(self.value(ranks_under(ties, better, tied))[:, None])

    def values(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Reals:
        """Return the metric of each single positive, float64 (positives,); the parameters are those of `compute`."""
        if ties == "expected":
            return self.mean_value(better + 1, better + tied + 1)
        return self.value(ranks_under(ties, better, tied))

    def lacking(self, rivals: Ids, ties: str) -> str:
        """Return the reason why the metric has no value, or an empty string; `rivals` is as for `compute`."""
        check_one_of("ties", ties, TIE_POLICIES, MetricError)
        if not len(rivals):
            return "no triples"
        return "" if ties in self.tie_policies else f"{self} has no exact expectation over random tie breaking"

    def expectation(self, low: Ids, high: Ids) -> Moments:
        """Return the expectation of the metric for independent random ranks.

        The rank of positive i is any integer from ``low[i]`` to ``high[i]``, all with equal probability.

        Parameters
        ----------
        low, high : int64 arrays, shape (positives,)
            For each positive: the smallest and the largest possible rank.

        Returns
        -------
        Moments
            `number` is the expectation; `values` has one row per positive.
        """
        return Moments(self.mean_value(low, high)[:, None])

    def spread(self, low: Ids, high: Ids) -> Moments:
        """Return the variance of the metric for independent random ranks.

        The parameters are those of `expectation`. The attribute `number` of the result is the variance.
        """
        first, second, n = self.mean_value(low, high), self.mean_value(low, high, 2), len(low)
        return Moments(np.maximum(second - first**2, 0.0)[:, None], lambda means: first_mean(means) / n)

    def mean_value(self, low: Ids, high: Ids, power: int = 1) -> Reals:
        """Return the mean of ``value(rank) ** power`` over the ranks from ``low[i]`` to ``high[i]``, for each i.

        Parameters
        ----------
        low, high : int64 arrays, shape (positives,)
            For each positive: the smallest and the largest possible rank.
        power : int
            1 or 2.

        Returns
        -------
        float64 array, shape (positives,)
        """
        return mean_over_range(lambda rank: self.value(rank) ** power, low, high, self.is_smooth)

    def variance(self, low: Ids, high: Ids) -> float:
        """Return the variance that `spread` computes, as a float."""
        return float(self.spread(low, high).number)

    def chance(self, rivals: Ids) -> MetricValue:
        """Return the chance level: the expected metric if each positive has a random rank among its candidates."""
        if not len(rivals):
            return MetricValue.undefined("no triples")
        if not self.has_chance_level:
            return MetricValue.undefined(f"{self} has no closed form of its chance level")
        return MetricValue(float(self.expectation(np.ones_like(rivals), rivals + 1).number))

    @property
    def best(self) -> float:
        """The value of the metric if every positive has rank 1."""
        zero = np.zeros(1, dtype=np.int64)
        return self.compute(zero, zero, zero).value

    def caution(self, rivals: Ids) -> str:
        """Return a warning sentence if the value may mislead the reader, else an empty string."""
        return ""


def ranks_under(ties: str, better: Ids, tied: Ids) -> Reals:
    """Return the rank of each positive under a tie policy.

    Parameters
    ----------
    ties : str
        ``"optimistic"``, ``"realistic"`` or ``"pessimistic"``; under ``"expected"`` a positive has no single rank.
    better, tied : int64 arrays, shape (positives,)
        For each positive: `better` is the number of rivals with a higher score, and `tied` the number of rivals with an
        equal score.

    Returns
    -------
    float64 array, shape (positives,)
        1-based; half ranks such as 1.5 occur under ``"realistic"``.

    Examples
    --------
    >>> ranks_under("realistic", np.array([0, 4]), np.array([1, 0]))
    array([1.5, 5. ])
    """
    share = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[ties]
    return np.asarray(better + 1 + share * tied)


def mean_over_range(value: Callable[[Any], Reals], low: Ids, high: Ids, is_smooth: bool = False) -> Reals:
    """Return the mean of ``value(x)`` over the integers x from ``low[i]`` to ``high[i]``, for each i.

    Parameters
    ----------
    value : function
        Takes a float64 array of positive integers, and returns a float64 array of the same shape.
    low, high : int64 arrays, shape (n,)
        The first and the last integer of each range; all are at least 1.
    is_smooth : bool
        As in `kgeval.metrics.sums.sums_over_ranges`.

    Returns
    -------
    float64 array, shape (n,)

    Examples
    --------
    >>> mean_over_range(lambda rank: 1.0 / rank, np.array([1, 3]), np.array([2, 3])).round(4)
    array([0.75  , 0.3333])
    """
    # (n,): value(low), which is the mean where low == high; the elements where low < high are overwritten below.
    result = value(low.astype(np.float64))
    is_range = high > low
    if is_range.any():
        lo, hi = low[is_range], high[is_range]
        result[is_range] = sums_over_ranges(value, lo - 1, hi, is_smooth) / (hi - lo + 1)
    return result


def _exp_of_mean(means: Reals) -> Reals:
    """Return exp of the first mean. The first mean is a mean of logarithms, so the result is a geometric mean."""
    return np.exp(first_mean(means))


RANKS: Family[RankMetric] = Family("metric", RankMetric)


@RANKS.register
@dataclass(frozen=True)
class Hits(RankMetric):
    """Share of the positives whose rank is at most k.

    Parameters
    ----------
    k : int
        At least 1. A positive with k candidates or fewer always has the value 1; `caution` warns about such cases.

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

    def mean_value(self, low: Ids, high: Ids, power: int = 1) -> Reals:
        """Return the share of the ranks that are at most k; see `RankMetric.mean_value`."""
        n = high - low + 1
        return np.asarray(np.clip(self.k - low + 1, 0, n) / n)

    def caution(self, rivals: Ids) -> str:
        """Return a warning if some positives have k candidates or fewer, else an empty string."""
        share = float(np.mean(rivals + 1 <= self.k)) if len(rivals) else 0.0
        return f"{self} is 1 by definition for {share:.1%} of the ranks ({self.k} candidates or fewer)" if share else ""


class _RankAverage(RankMetric):
    """Base class of the averages of ranks: the arithmetic, geometric and harmonic mean, and the median."""

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
    """Mean rank: the arithmetic mean of the positives' ranks; 1 is best.

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

    def mean_value(self, low: Ids, high: Ids, power: int = 1) -> Reals:
        """Return the mean rank, or the mean of the squared ranks; see `RankMetric.mean_value`.

        The variance of n consecutive integers is (n^2 - 1) / 12.
        """
        middle, n = (low + high) / 2.0, (high - low + 1).astype(np.float64)
        return np.asarray(middle if power == 1 else middle * middle + (n * n - 1.0) / 12.0)


@RANKS.register
@dataclass(frozen=True)
class MRR(RankMetric):
    """Mean reciprocal rank: the mean of 1 / rank over the positives; 1 is best.

    With ties ``"realistic"``, the term of a tied positive is 1 / (mean of its best and its worst possible rank). With
    ties ``"expected"``, the term is the expectation of 1 / rank under random tie breaking; this expectation is never
    smaller than the term with ties ``"realistic"``.

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
    is_smooth: ClassVar[bool] = True

    def value(self, rank: Any) -> Reals:
        """Return the reciprocal of the rank."""
        return 1.0 / np.asarray(rank, dtype=np.float64)


@RANKS.register
@dataclass(frozen=True)
class MedianRank(_RankAverage):
    """Median rank: the middle rank of the positives, or the mean of the two middle ranks; 1 is best.

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
        reason = self.lacking(rivals, ties)
        if reason:
            return MetricValue.undefined(reason)
        return MetricValue(float(np.median(ranks_under(ties, better, tied))))

    def _moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Moments:
        raise MetricError(
            f"{self} is not a function of means; use gmr instead: bad ranks have little effect on it, too"
        )


@RANKS.register
@dataclass(frozen=True)
class GMR(_RankAverage):
    """Geometric mean rank: exp of the mean of ln(rank); 1 is best. A few very bad ranks hardly change the GMR.

    With n positives, the expectation under random tie breaking or random ranking is the product of
    E[rank ** (1 / n)] over the positives, where E is the expectation. The product is exact, since the ranks are
    independent.

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
        """Return False for ties ``"expected"``, because each term then depends on the number of positives."""
        return ties != "expected"

    def expectation(self, low: Ids, high: Ids) -> Moments:
        """Return E[GMR], the expectation for random ranks; see `RankMetric.expectation`.

        The term of each positive contains an n-th root, where n is the number of positives. The rows of the result are
        therefore valid for this set of positives only: for a subset, call this method again with the ranges of the
        subset.
        """
        return Moments(self._log_moments(low, high, 1)[:, None], _exp_of_mean)

    def spread(self, low: Ids, high: Ids) -> Moments:
        """Return Var[GMR], the variance for random ranks; see `RankMetric.spread`.

        In `values` of the result, the mean of the first column is ln E[GMR], and the mean of the second column is
        ln E[GMR ** 2] - 2 * ln E[GMR]. From these two means, Var[GMR] = E[GMR] ** 2 * (E[GMR ** 2] / E[GMR] ** 2 - 1).
        """
        first, second = self._log_moments(low, high, 1), self._log_moments(low, high, 2)

        def finish(means: Reals) -> Reals:
            return np.exp(2.0 * means[..., 0]) * np.expm1(np.maximum(means[..., 1], 0.0))

        return Moments(np.stack([first, second - 2.0 * first]).T, finish)

    def _log_moments(self, low: Ids, high: Ids, power: int) -> Reals:
        """Return n * ln E[rank ** (power / n)] for each of the n positives, float64 (n,); E is the expectation.

        The mean of these n numbers is ln E[GMR ** power]. Logarithms, expm1 and log1p prevent overflow and
        cancellation.
        """
        share = power / len(low)
        means = mean_over_range(lambda rank: np.expm1(np.log(rank) * share), low, high, is_smooth=True)
        # Where only one rank is possible, use the logarithm of this rank directly, which is exact.
        return np.where(high > low, len(low) * np.log1p(means), power * np.log(low))


@RANKS.register
@dataclass(frozen=True)
class HMR(_RankAverage):
    """Harmonic mean rank: 1 / MRR; 1 is best.

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
