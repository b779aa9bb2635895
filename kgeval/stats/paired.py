"""Paired comparison of two systems on the same observations: the difference, its test, and intervals at any level.

`compare_paired` tests by random swaps of whole clusters, or by Student's t; its `Difference` gives intervals from the
same test, so that an interval excludes 0 exactly if the test rejects. `kgeval.stats.decide` corrects many of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, isfinite, isnan, log2, nan, sqrt

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Reals, check_number, check_one_of, check_positive_int, counted
from kgeval.base.wording import estimate, p_equals
from kgeval.errors import DataError, MetricError
from kgeval.stats.clusters import (
    STATISTIC_ROUNDING,
    SUM_ROUNDING,
    Clusters,
    Grouping,
    left_out_deviations,
    without_rounding,
)
from kgeval.stats.intervals import ALIKE, ANYWHERE, NO_OBSERVATIONS, Spread, check_confidence, freedom_of
from kgeval.stats.moments import Interval, Moments, first_mean, gradient
from kgeval.stats.tails import student_p_value, student_quantile, swaps_reach, swaps_tail

TESTS = ("swaps", "t")
# A swap pattern exchanges the two systems in some of the clusters. If at most 13 clusters differ, all patterns are
# tried: 2 ** 13 is less than the default number of random patterns.
MAX_ENUMERATED = 13
# If at least this many clusters differ, patterns that give exactly the observed difference count half (mid-p).
MIN_MID_P = 20
SAME_DIFFERENCE = "the difference is the same in every cluster, so its variation cannot be estimated"
EQUAL_VALUES = "the two systems have equal values in every cluster"
OF_POWER = 0.8416212335729143  # the normal quantile of 0.8, the probability in `Difference.detectable`
# Swaps are handled in blocks: clusters at a time, and statistics at a time; of blocks of equal gaps, 32 at a time.
CLUSTERS_AT_ONCE, STATISTICS_AT_ONCE, BLOCKS_AT_ONCE = 256, 256, 32
LINEAR_ROUNDING = 1e-8  # share of the mean gap by which patterns may differ because of a numerical gradient
NEXT_TO = 1e-9  # the relative distance of a limit from 0 where a difference lies on the border of its decision


@dataclass(frozen=True, eq=False)
class Swaps:
    """The distribution of the absolute difference over swap patterns, for one statistic.

    Parameters
    ----------
    largest : float64 array
        The largest absolute differences, in descending order: as many as the largest level of an interval needs.
    n_patterns : int
    is_exact : bool
        Whether all possible patterns were tried, so that the p-value has no simulation error.
    square : float
        The mean of the squared gaps over all clusters.
    n_clusters : int
    """

    largest: Reals
    n_patterns: int
    is_exact: bool
    square: float
    n_clusters: int

    def quantile(self, level: float) -> float:
        """Return the absolute difference that a difference must exceed (or reach) to be significant at `level`."""
        if self.is_exact:
            index = floor(level * self.n_patterns + NEXT_TO)
        else:
            index = floor(level * (self.n_patterns + 1.0) + NEXT_TO) - 1
        if index >= 0:
            if index >= len(self.largest):
                raise MetricError(f"the swaps were kept for intervals at smaller levels; got {level}")
            return float(self.largest[index])
        # Fewer patterns than the level needs: a bound of the tail that holds for any gaps.
        return max(float(self.largest[0]), swaps_reach(level) * sqrt(self.square / self.n_clusters))


@dataclass(frozen=True)
class Difference:
    """The difference between two systems and its test; the intervals come from the same test.

    Parameters
    ----------
    value : float
        The value of the first system minus the value of the second; NaN if it is undefined.
    error : float
        The standard error of the difference; NaN if unknown.
    freedom : float
        The degrees of freedom of Student's t.
    p_value : float
        Two-sided p-value, above 0; NaN if there is no test (see `reason`).
    n_clusters, n_differing : int
        The number of clusters, and of those in which the two systems differ.
    n_effective : float
        The effective number of clusters (see `Interval`).
    reason : str
        Why there is no test or no interval; else empty.
    swaps : Swaps, optional
        The distribution of the swaps; None if the test is Student's t.
    """

    value: float
    error: float
    freedom: float
    p_value: float
    n_clusters: int
    n_differing: int
    n_effective: float
    reason: str = ""
    swaps: Swaps | None = None

    @property
    def test(self) -> str:
        """``"swaps"``, ``"t"``, or ``""`` without a test."""
        return "" if isnan(self.p_value) else "t" if self.swaps is None else "swaps"

    def can_reject(self, level: float) -> bool:
        """Return whether any outcome in the differing clusters could be significant at a level.

        The smallest p-value of random swaps is the share of two patterns: all differing clusters are swapped, or none.
        This limit also applies to Student's t, which is not reliable if so few clusters differ.
        """
        return 2.0 ** (1 - self.n_differing) <= level * (1.0 + NEXT_TO)

    def reach(self, level: float) -> float:
        """Return half the width of the interval at the level; NaN if there is none, infinite if it has no limits.

        With Student's t, this is the quantile times the standard error. With swaps: let q be the quantile of the
        absolute difference over the swap patterns, S2 the mean square of the n gaps, and d the difference. A swap
        pattern with the difference x has the studentised difference ``x / sqrt((S2 - x^2) / (n - 1))``, which grows
        with x; so its quantile is that of q, and this quantile times the standard error is the result.
        """
        if self.reason or isnan(self.error):
            return nan
        if not self.can_reject(level):
            return float("inf")
        if self.swaps is None:
            return student_quantile(1.0 - level / 2.0, self.freedom) * self.error
        q, square, n = self.swaps.quantile(level), self.swaps.square, self.n_clusters
        return q * sqrt((n - 1.0) / (square - q * q)) * self.error if q * q < square else float("inf")

    def interval(self, level: float, is_decided: bool | None = None) -> tuple[float, float]:
        """Return the limits of the interval with the nominal coverage ``1 - level``; NaN if there is none.

        Parameters
        ----------
        level : float
        is_decided : bool, optional
            Whether the test rejects at this level; by default it rejects if ``p_value <= level``. The interval excludes
            0 exactly in this case; rounding errors at the border are removed.
        """
        reach = self.reach(level)
        if not isfinite(reach):
            return nan, nan
        size, decided = abs(self.value), self.p_value <= level if is_decided is None else is_decided
        reach = min(reach, size * (1.0 - NEXT_TO)) if decided else max(reach, size * (1.0 + NEXT_TO))
        return self.value - reach, self.value + reach

    def t_interval(self, level: float) -> tuple[float, float]:
        """Return the limits of Student's t interval, whatever the test is; NaN if there is no error.

        Parameters
        ----------
        level : float
            1 - the nominal coverage.
        """
        reach = student_quantile(1.0 - level / 2.0, self.freedom) * self.error
        return self.value - reach, self.value + reach

    def detectable(self, level: float) -> float:
        """Return the smallest true difference that this test finds at a level with a probability of about 0.8.

        Let t be `reach` in standard errors, and f the degrees of freedom. The test finds a difference of d standard
        errors if ``d + z > t s``, where z is normal and s, the estimated error in units of the true one, has about the
        mean ``1 - 1 / (4 f)`` and the variance ``1 / (2 f)``. So d is ``t (1 - 1 / (4 f)) + 0.84 sqrt(1 + t^2 / (2
        f))``.

        The error is assumed not to depend on the difference. If it grows with the difference, less is found: in
        simulations, 0.51 to 0.74 with hits of 2%, and 0.69 with the MRR of 100 triples. NaN if no difference can be
        found.

        References
        ----------
        Johnson and Welch (1940), Applications of the Non-Central t-Distribution, Biometrika 31.
        """
        reach, f = self.reach(level), self.freedom
        if not isfinite(reach):
            return nan
        return reach * (1.0 - 0.25 / f) + OF_POWER * sqrt(self.error**2 + reach**2 / (2.0 * f))

    def few(self, level: float) -> str:
        """Return the reason why no difference can be significant at a level; empty if one can."""
        if isnan(self.p_value) or self.can_reject(level):
            return ""
        needed = ceil(1.0 - log2(level) - NEXT_TO)
        return (
            f"no decision can be had: {counted(self.n_differing, 'differing cluster')}, and the level {level:.2g} "
            f"needs at least {needed}"
        )

    def __str__(self) -> str:
        low, high = self.interval(0.05)
        text = estimate((self.value, low, high), has_signs=True, reason=self.reason or self.few(0.05))
        return text if isnan(low) else f"{text}, {p_equals(self.p_value, 0.05)}"


def compare_paired(
    first: Sequence[Moments],
    second: Sequence[Moments],
    clusters: npt.ArrayLike | Clusters,
    *,
    n_resamples: int = 9999,
    seed: int = 0,
    test: str = "swaps",
    largest_level: float = 0.05,
) -> list[Difference]:
    """Compare two systems in several statistics, on the same observations in the same order.

    The test is a paired randomization test: a swap pattern exchanges all values of the two systems in randomly chosen
    clusters, and the p-value is the share of patterns whose absolute difference is at least the observed one. Under the
    null hypothesis that the two systems are exchangeable, every pattern is as likely as the observed values. Statistics
    that are no means are made linear half-way between the two systems, at a point that no swap changes. Clusters that
    overlap cannot be swapped one by one: they are tested by Student's t, with the jackknife variance over clusters.

    Shares such as hits@k have few distinct values, so that many patterns give exactly the observed difference. If these
    patterns counted in full, the test would reject too rarely (3% instead of 5% if 100 clusters of one rank differ). So
    they count half if at least 20 clusters differ (mid-p). If fewer clusters differ, these patterns count in full, and
    the test is exact. If no pattern reaches the observed difference, a bound of the tail may be smaller than the share
    that the number of patterns can show; it holds for any gaps (`kgeval.stats.tails.swaps_tail`).

    The result depends on the values and the seed, but not on the order of the observations, on the labels of the
    clusters, or on the other statistics. If `first` and `second` are exchanged, only signs change.

    Parameters
    ----------
    first, second : sequences of Moments
        The statistics of each system, in the same order and for the same observations. ``first[i]`` and ``second[i]``
        have the same `finish`.
    clusters : array_like, shape (observations,), or Clusters
        The label of each observation's cluster; or `Clusters`, which may overlap.
    n_resamples : int
        Number of random swap patterns. If the two systems differ in at most 13 clusters, all patterns are tried
        instead.
    seed : int
    test : str
        ``"swaps"``: the randomization test. ``"t"``: Student's t test, for statistics such as the AUC: their `Moments`
        are a first-order approximation, which cannot be used after a swap. Clusters that overlap always use the t test.
    largest_level : float
        The largest level of an interval that will be asked for.

    Returns
    -------
    list of Difference
        One for each pair ``first[i]``, ``second[i]``. Let b be the number of patterns whose absolute difference is at
        least the observed absolute difference (patterns with an equal difference may count half, see above). With
        random patterns, the p-value is ``(1 + b) / (1 + n_resamples)``, or the bound of the tail if b is 0; with all
        patterns, the p-value is b divided by the number of patterns.

    Raises
    ------
    DataError
        If `first` and `second` have different lengths, or if the shapes of their values differ.
    MetricError
        If `n_resamples` or `largest_level` is out of range, or `test` is unknown.

    References
    ----------
    Smucker, Allan and Carterette (2007), A Comparison of Statistical Significance Tests for Information
    Retrieval Evaluation, CIKM (the test); Phipson and Smyth (2010), Permutation P-values Should Never Be Zero,
    Statistical Applications in Genetics and Molecular Biology 9; Fagerland, Lydersen and Laake (2013), The McNemar
    test for binary matched-pairs data: mid-p and asymptotic are better than exact conditional, BMC Medical Research
    Methodology 13; Bentkus and Dzindzalieta (2015), A tight Gaussian bound for weighted sums of Rademacher random
    variables, Bernoulli 21.

    Examples
    --------
    >>> first = [Moments(np.array([[1.0], [0.5], [1.0], [0.9], [0.8], [0.7]]))]
    >>> second = [Moments(np.array([[0.5], [0.3], [0.5], [0.1], [0.5], [0.6]]))]
    >>> print(compare_paired(first, second, range(6))[0])
    +0.4000 [+0.0985, +0.7015], p = 0.0312
    """
    return compare_pairs([(first, second)], clusters, n_resamples, seed, test, largest_level)[0]


def compare_pairs(
    pairs: Sequence[tuple[Sequence[Moments], Sequence[Moments]]],
    clusters: npt.ArrayLike | Clusters,
    n_resamples: int = 9999,
    seed: int = 0,
    test: str = "swaps",
    largest_level: float = 0.05,
) -> list[list[Difference]]:
    """Return what `compare_paired` returns for each pair of systems; all pairs share the work of drawing swaps.

    Parameters
    ----------
    pairs : sequence of pairs of sequences of Moments
        All over the same observations.
    clusters, n_resamples, seed, test, largest_level
        As in `compare_paired`.
    """
    check_number("largest_level", largest_level, 0.0, 1.0, "a level between 0 and 1, such as 0.05")
    check_positive_int("n_resamples", n_resamples, MetricError)
    check_one_of("test", test, TESTS, MetricError)
    found: list[list[Difference]] = []
    gaps: list[_Gaps] = []
    places: list[tuple[int, int]] = []
    for first, second in pairs:
        groups = Clusters.of(clusters, _check_pairs(first, second))
        by_swaps, differences = test == "swaps" and not groups.is_crossed, []
        for one, other in zip(first, second):
            if not len(one):
                differences.append(Difference(nan, nan, nan, nan, 0, 0, nan, NO_OBSERVATIONS))
                continue
            with np.errstate(all="ignore"):
                parts = _Gaps.of(one, other, groups, by_swaps)
            if by_swaps and isfinite(parts.difference.value):
                places.append((len(found), len(differences)))
                gaps.append(parts)
            differences.append(parts.difference if by_swaps else _by_t(parts.difference))
        found.append(differences)
    for (i, j), difference in zip(places, _swapped(gaps, n_resamples, seed, largest_level)):
        found[i][j] = difference
    return found


def paired_interval(
    first: Moments,
    second: Moments,
    clusters: npt.ArrayLike | Clusters,
    confidence: float = 0.95,
    bounds: tuple[float, float] = ANYWHERE,
) -> Interval:
    """Return the interval of the difference between two systems in one statistic, by Student's t.

    Parameters
    ----------
    first, second : Moments
        As in `compare_paired`.
    clusters : array_like, shape (observations,), or Clusters
    confidence, bounds
        As in `robust_interval`.

    Examples
    --------
    >>> first, second = Moments(np.array([[1.0], [0.5], [1.0]])), Moments(np.array([[0.5], [0.5], [0.0]]))
    >>> print(paired_interval(first, second, [0, 1, 2], bounds=(-1.0, 1.0)))
    0.5000 [-0.7421, 1.0000] (3 effective clusters)
    """
    (interval,) = paired_intervals(first, second, clusters, [confidence], bounds)
    return interval


def paired_intervals(
    first: Moments,
    second: Moments,
    clusters: npt.ArrayLike | Clusters,
    confidences: Sequence[float],
    bounds: tuple[float, float] = ANYWHERE,
) -> list[Interval]:
    """Return the interval of `paired_interval` at each of several confidences, of one estimate of the variance.

    Parameters
    ----------
    first, second, clusters, bounds
        As in `paired_interval`.
    confidences : sequence of float

    Examples
    --------
    >>> first, second = Moments(np.array([[1.0], [0.5], [1.0]])), Moments(np.array([[0.5], [0.5], [0.0]]))
    >>> [f"{found.low:.4f}" for found in paired_intervals(first, second, [0, 1, 2], [0.5, 0.95])]
    ['0.2643', '-0.7421']
    """
    confidences = [check_confidence(confidence) for confidence in confidences]
    spread = _spread(first, second, Clusters.of(clusters, _check_pairs([first], [second])))
    found = [spread.interval(confidence, bounds) for confidence in confidences]
    return [replace(one, reason=SAME_DIFFERENCE) if one.reason == ALIKE else one for one in found]


def _check_pairs(first: Sequence[Moments], second: Sequence[Moments]) -> int:
    """Return the number of observations; raise a DataError if the lengths of the sequences or any shapes differ."""
    if len(first) != len(second):
        raise DataError(f"first and second must have the same length; got {len(first)} and {len(second)}")
    for index, (in_first, in_second) in enumerate(zip(first, second)):
        shapes = in_first.values.shape, in_second.values.shape
        if shapes[0] != shapes[1] or len(in_first) != len(first[0]):
            raise DataError(
                f"first[{index}] has values of shape {shapes[0]} and second[{index}] of shape {shapes[1]}, but "
                f"first[0] has {len(first[0])} rows; a paired comparison needs the same observations, in the same "
                "order, for all statistics of both systems"
            )
    return len(first[0]) if first else 0


def gap_sums(first: Moments, second: Moments, grouping: Grouping) -> Reals:
    """Return, for each cluster and column, the sum of `first` minus that of `second`; rounding errors become 0.

    Parameters
    ----------
    first, second : Moments
    grouping : Grouping

    Returns
    -------
    float64 array, shape (clusters, columns)
    """
    return without_rounding(grouping.sums(first.values), grouping.sums(second.values), SUM_ROUNDING)


def _spread(first: Moments, second: Moments, clusters: Clusters) -> Spread:
    """Return the difference with its jackknife variance over clusters."""
    value = float(first.number - second.number)

    def change(grouping: Grouping) -> Reals:
        return without_rounding(left_out_deviations(first, grouping), left_out_deviations(second, grouping))

    n_effective = min(clusters.effective_number(moments.weights) for moments in (first, second))
    return Spread(value, clusters.variance(change), n_effective, clusters.count, clusters.lacking).checked()


@dataclass(frozen=True, eq=False)
class _Gaps:
    """One statistic of two systems before its test.

    Parameters
    ----------
    difference : Difference
        Without a p-value.
    gaps : float64 array, shape (clusters,)
        The part of each cluster in the difference, times the number of clusters: their mean is the difference. Empty if
        the test is Student's t.
    rounding : float
        A bound on the rounding error when a pattern's difference is compared with the observed one: the rounding error
        of a sum of m terms is at most ``m * eps`` times the sum of their sizes (Higham 2002, Accuracy and Stability of
        Numerical Algorithms, 4.2). Patterns this near to the observed difference count as equal to it.
    """

    difference: Difference
    gaps: Reals
    rounding: float

    @classmethod
    def of(cls, first: Moments, second: Moments, clusters: Clusters, by_swaps: bool) -> _Gaps:
        value, grouping = float(first.number - second.number), clusters.first
        sums = gap_sums(first, second, grouping)
        n_differing, n_clusters = int(sums.any(axis=1).sum()), clusters.count
        n_effective = min(clusters.effective_number(moments.weights) for moments in (first, second))
        freedom = float(freedom_of(n_effective))
        if not isfinite(value):
            reason = _spread(first, second, clusters).reason
            nothing = Difference(nan, nan, nan, nan, n_clusters, n_differing, nan, reason)
            return cls(nothing, np.empty(0), 0.0)
        if not by_swaps:
            spread = _spread(first, second, clusters)
            error = sqrt(spread.variance) if spread.variance >= 0.0 else nan
            found = Difference(value, error, freedom, nan, n_clusters, n_differing, n_effective, spread.reason)
            return cls(found, np.empty(0), 0.0)
        gaps = _linear(first, second, sums) * (n_clusters / len(first))
        total = float(gaps.mean())
        if total and value / total > 0.0 and isfinite(value / total):
            gaps *= value / total  # a linear approximation: the gaps add up to the difference
        square = float(np.square(gaps).mean())
        variance = max(0.0, square - value * value) / (n_clusters - 1.0) if n_clusters > 1 else nan
        if variance <= STATISTIC_ROUNDING * square / n_clusters:
            variance = 0.0
        spread = Spread(value, variance, n_effective, n_clusters).checked()
        reason = spread.reason
        if variance == 0.0:
            reason = SAME_DIFFERENCE if n_differing else EQUAL_VALUES
        error = sqrt(variance) if variance >= 0.0 else nan
        sizes = abs(float(first.number)) + abs(float(second.number)) + float(np.abs(gaps).mean())
        rounding = 4.0 * (n_clusters + 1.0) * float(np.finfo(np.float64).eps) * sizes
        if first.finish is not first_mean:  # the gradient has an error of about 1e-11
            rounding = max(rounding, LINEAR_ROUNDING * float(np.abs(gaps).mean()))
        found = Difference(value, error, freedom, nan, n_clusters, n_differing, n_effective, reason)
        return cls(found, gaps, rounding)


def _linear(first: Moments, second: Moments, sums: Reals) -> Reals:
    """Return the part of each cluster in the difference: its sums, times the gradient half-way between the systems."""
    if first.finish is first_mean:
        return np.asarray(sums[:, 0])
    values = np.concatenate([first.values, second.values])
    middle = values.mean(axis=0)  # no swap changes it
    # Columns without gaps play no part; their gradient may be undefined.
    differs = sums.any(axis=0)
    return np.asarray(sums[:, differs] @ gradient(first.finish, middle, values - middle)[differs])


def t_p_value(t: float, freedom: float, n_differing: int) -> float:
    """Return the two-sided p-value of Student's t, but at least that of the swaps if so few clusters differ.

    A t test rejects too often if few clusters differ; no test of them could give less than ``2 ** (1 - n_differing)``.

    Parameters
    ----------
    t, freedom : float
    n_differing : int

    Examples
    --------
    >>> t_p_value(9.0, 50.0, 3)
    0.25
    """
    return max(student_p_value(t, freedom), min(1.0, 2.0 ** (1 - n_differing)))


def _by_t(difference: Difference) -> Difference:
    """Return a difference with the p-value of Student's t test."""
    value, error = difference.value, difference.error
    if value == 0.0 and error == 0.0:
        return replace(difference, p_value=1.0, reason=difference.reason or EQUAL_VALUES)
    if error == 0.0:
        return replace(difference, reason=difference.reason or SAME_DIFFERENCE)
    if difference.reason or isnan(error) or isnan(value):
        return difference
    return replace(difference, p_value=t_p_value(value / error, difference.freedom, difference.n_differing))


def _swapped(statistics: Sequence[_Gaps], n_resamples: int, seed: int, largest_level: float) -> list[Difference]:
    """Return each difference with the p-value and the distribution of the swaps."""
    found: dict[int, Difference] = {}
    # The sign of a gap does not matter, because a swap is as likely as no swap. Sorted gaps are the same for any labels
    # of the clusters, and also if the first and the second system are exchanged.
    sizes = [np.sort(np.abs(one.gaps[one.gaps != 0.0]))[::-1] / one.difference.n_clusters for one in statistics]
    for i, one in enumerate(statistics):
        if len(sizes[i]) <= MAX_ENUMERATED:
            values = np.abs(_all_signs(len(sizes[i])) @ sizes[i])
            found[i] = _counted(one, values, True, largest_level)
    drawn = sorted((i for i in range(len(statistics)) if i not in found), key=lambda i: len(sizes[i]))
    for start in range(0, len(drawn), STATISTICS_AT_ONCE):
        chosen = drawn[start : start + STATISTICS_AT_ONCE]
        for i, values in zip(chosen, _random_differences([sizes[i] for i in chosen], n_resamples, seed)):
            found[i] = _counted(statistics[i], np.abs(values), False, largest_level)
    return [found[i] for i in range(len(statistics))]


def _all_signs(n: int) -> Reals:
    """Return all combinations of signs of n numbers, shape (2 ** n, n).

    Examples
    --------
    >>> _all_signs(2).tolist()
    [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]
    """
    # Element (i, c) is i shifted right by c bits; its lowest bit says whether pattern i swaps cluster c.
    bits = np.arange(2**n)[:, None] >> np.arange(n)
    return np.asarray(1.0 - 2.0 * (bits & 1), dtype=np.float64)


def _random_differences(sizes: Sequence[Reals], n_resamples: int, seed: int) -> Reals:
    """Return the difference of each statistic in each random swap pattern, shape (statistics, patterns).

    The sizes of each statistic are in descending order. The bits of a cluster are drawn one cluster after the other, so
    that the first clusters have the same swaps whatever the number of clusters is.
    """
    most = max(map(len, sizes))
    padded = np.zeros((len(sizes), most))
    for row, of_statistic in zip(padded, sizes):
        row[: len(of_statistic)] = of_statistic
    rng = np.random.default_rng(seed)
    n_words, swapped = -(-n_resamples // 64), np.zeros((len(sizes), n_resamples))
    alike, n_swapped = np.zeros((len(sizes), BLOCKS_AT_ONCE)), np.zeros((BLOCKS_AT_ONCE, n_resamples))
    for i, start in enumerate(range(0, most, CLUSTERS_AT_ONCE)):
        block = padded[:, start : start + CLUSTERS_AT_ONCE]
        # Random words, in the same byte order on every machine; then the bits of each cluster, one per pattern.
        words = rng.integers(2**64, size=(block.shape[1], n_words), dtype=np.uint64).astype("<u8")
        bits = np.unpackbits(words.view(np.uint8), axis=1, count=n_resamples)
        # The sizes are sorted. If the first and the last of a block are equal, all are, and the number of swaps is
        # enough; this is so for most blocks of hits@k.
        varies = block[:, 0] != block[:, -1]
        swapped[varies] += block[varies] @ bits.astype(np.float64)
        place = i % BLOCKS_AT_ONCE
        alike[:, place], n_swapped[place] = np.where(varies, 0.0, block[:, 0]), bits.sum(axis=0, dtype=np.uint16)
        if place == BLOCKS_AT_ONCE - 1:
            swapped += alike @ n_swapped
            alike[:] = 0.0
    swapped += alike @ n_swapped
    return np.asarray(padded.sum(axis=1, keepdims=True) - 2.0 * swapped)


def _counted(one: _Gaps, values: Reals, is_exact: bool, largest_level: float) -> Difference:
    """Return a difference with its p-value, given the absolute differences of all swap patterns."""
    difference, n = one.difference, len(values)
    size, square = abs(difference.value), float(np.square(one.gaps).mean())
    # ~(x <= limit) instead of x > limit: a pattern whose difference is NaN counts as extreme.
    larger = int(np.count_nonzero(~(values <= size + one.rounding)))
    reached = int(np.count_nonzero(~(values < size - one.rounding)))
    weight = 0.5 if difference.n_differing >= MIN_MID_P else 1.0
    extreme = larger + weight * (reached - larger)
    p_value = extreme / n if is_exact else (extreme + 1.0) / (n + 1.0)
    if not is_exact and not extreme:
        p_value = min(p_value, swaps_tail(size * one.difference.n_clusters, square * one.difference.n_clusters))
    n_kept = min(n, ceil(max(largest_level, 0.05) * (n + 1)) + 2)
    largest = np.sort(np.partition(values, n - n_kept)[n - n_kept :])[::-1]
    swaps = Swaps(largest, n, is_exact, square, difference.n_clusters)
    return replace(difference, p_value=min(1.0, p_value), swaps=swaps)
