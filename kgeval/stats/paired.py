"""Paired comparison of two systems on the same observations.

`compare_paired` returns the difference, its confidence interval, the p-value of a paired randomization test and the
minimum detectable difference. `kgeval.compare` calls it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite, isnan, nan, sqrt

import numpy as np
import numpy.typing as npt

from kgeval.checks import Reals, check_number, check_one_of, check_positive_int, counted
from kgeval.errors import DataError, MetricError
from kgeval.stats.clusters import STATISTIC_ROUNDING, SUM_ROUNDING, Clusters, Grouping, left_out_deviations
from kgeval.stats.intervals import (
    ALIKE,
    ANYWHERE,
    NO_OBSERVATIONS,
    Spread,
    check_confidence,
    freedom_of,
    in_order,
)
from kgeval.stats.moments import Interval, Moments
from kgeval.stats.power import detectable_difference, detectable_share, is_share
from kgeval.stats.tails import student_p_value

TESTS = ("swaps", "t")
# A swap pattern exchanges the two systems in some of the clusters. If at most 13 clusters differ, all patterns are
# tried: 2 ** 13 is less than the default number of random patterns.
MAX_ENUMERATED = 13
# If at least this many clusters differ, patterns that give exactly the observed difference count half (mid-p).
MIN_MID_P = 20
SAME_DIFFERENCE = "the difference is the same in every cluster, so its variation cannot be estimated"
# Swap patterns are handled in blocks; a block has at most this many entries (8 bytes each).
SWAPS_AT_ONCE = 2**20


@dataclass(frozen=True)
class Difference:
    """The difference between two systems, with its confidence interval and the result of its test.

    Parameters
    ----------
    value : float
        The value of the first system minus the value of the second.
    low, high : float
        The limits of the cluster-robust interval of the difference; NaN if there is no interval (see `reason`).
    error : float
        The standard error of the difference.
    p_value : float
        Two-sided p-value; never 0. It comes from the paired randomization test, or, with two-way clusters, from
        Student's t test of ``value / error``.
    detectable : float
        The minimum detectable difference: the smallest true difference that a test detects with probability `power`.
        The test has the significance level ``1 - confidence``, divided by the number of tests. For shares such as
        hits@k, the true difference is assumed to be a rise of one of the two shares, or a fall if the shares are above
        1/2 (see `detectable_share`). NaN if there is no
        interval, if the systems differ in too few clusters for a significant p-value, or if even the largest possible
        difference is detected with a probability below `power`.
    n_clusters : int
        Number of clusters; a cluster is a group of observations that may depend on each other.
    n_differing : int
        Number of clusters in which the two systems differ in at least one statistic of the same `compare_paired` call.
        In the other clusters, exchanging the two systems has no effect.
    n_resamples : int
        Number of swap patterns that were tried; a swap pattern exchanges the two systems in some of the clusters. 0 for
        the t test.
    is_exact : bool
        Whether all possible swap patterns were tried, so that the p-value has no simulation error.
    confidence, power : float
        `confidence`: the nominal coverage of the interval. `power`: the probability in the definition of `detectable`.
    reason : str
        Why there is no interval or no `detectable`; else empty.
    n_effective : float
        The effective number of clusters (see `Interval`).
    """

    value: float
    low: float
    high: float
    error: float
    p_value: float
    detectable: float
    n_clusters: int
    n_differing: int
    n_resamples: int
    is_exact: bool
    confidence: float
    power: float
    reason: str = ""
    n_effective: float = nan

    @property
    def freedom(self) -> int:
        """The degrees of freedom of Student's t: `n_effective` minus 1, rounded down, at least 1."""
        return 1 if isnan(self.n_effective) else freedom_of(self.n_effective)

    def __str__(self) -> str:
        if isnan(self.low):
            return f"{self.value:+.4f} (no interval: {self.reason})"
        return f"{self.value:+.4f} [{self.low:+.4f}, {self.high:+.4f}], p = {self.p_value:.4g}"


def compare_paired(
    first: Sequence[Moments],
    second: Sequence[Moments],
    clusters: npt.ArrayLike | Clusters,
    *,
    confidence: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
    power: float = 0.8,
    n_tests: int = 1,
    test: str = "swaps",
) -> list[Difference]:
    """Compare two systems in several statistics, on the same observations in the same order.

    The interval uses the jackknife variance of the difference over clusters (see `robust_interval`). The p-value comes
    from a paired randomization test: a swap pattern exchanges all values of the two systems in randomly chosen
    clusters, and the p-value is the share of patterns whose absolute difference is at least the observed absolute
    difference. Under the null hypothesis that the two systems are exchangeable, every pattern is as likely as the
    observed values. All statistics of a call use the same patterns. Two-way clusters overlap, so they cannot be swapped
    one by one: the p-value then comes from Student's t test, with the standard error of the interval.

    Shares such as hits@k have few distinct values, so that many patterns give exactly the observed difference. If these
    patterns counted in full, the test would reject too rarely (3% instead of 5% if 100 clusters of one rank differ). So
    they count half if at least 20 clusters differ (mid-p). If fewer clusters differ, these patterns count in full, and
    the test is exact.

    The result depends on the values and the seed, but not on the order of the observations or on the labels of the
    clusters. If `first` and `second` are exchanged, the difference and its interval change their sign; the p-value and
    the other results stay the same.

    Parameters
    ----------
    first, second : sequences of Moments
        The statistics of each system, in the same order and for the same observations. ``first[i]`` and ``second[i]``
        have the same `finish`.
    clusters : array_like, shape (observations,), or Clusters
        The label of each observation's cluster; or `Clusters`, which may overlap.
    confidence : float
        Nominal coverage of the intervals; ``1 - confidence`` is the significance level of `detectable`.
    n_resamples : int
        Number of random swap patterns. If the two systems differ in at most 13 clusters, all patterns are tried
        instead.
    seed : int
    power : float
        Probability that the test detects a true difference of size `detectable`.
    n_tests : int
        The number of tests whose p-values are corrected together, such as by `holm`. The significance level of
        `detectable` is divided by this number.
    test : str
        ``"swaps"``: the randomization test. ``"t"``: Student's t test, for statistics such as the AUC: their `Moments`
        are a first-order approximation, which cannot be used after a swap. Two-way clusters always use the t test.

    Returns
    -------
    list of Difference
        One for each pair ``first[i]``, ``second[i]``. Let b be the number of patterns whose absolute difference is at
        least the observed absolute difference (patterns with an equal difference may count half, see above). With
        random patterns, the p-value is ``(1 + b) / (1 + n_resamples)``; with all patterns, the p-value is b divided by
        the number of patterns.

    Raises
    ------
    DataError
        If `first` and `second` have different lengths, or if the shapes of their values differ.
    MetricError
        If `confidence`, `power`, `n_resamples` or `n_tests` is out of range, or `test` is unknown.

    References
    ----------
    Smucker, Allan and Carterette (2007), A Comparison of Statistical Significance Tests for Information
    Retrieval Evaluation, CIKM (the test); Phipson and Smyth (2010), Permutation P-values Should Never Be Zero,
    Statistical Applications in Genetics and Molecular Biology 9; Fagerland, Lydersen and Laake (2013), The McNemar
    test for binary matched-pairs data: mid-p and asymptotic are better than exact conditional, BMC Medical Research
    Methodology 13; Bloom (1995), Minimum Detectable Effects,
    Evaluation Review 19 (the sum of two quantiles of t times the standard error).

    Examples
    --------
    >>> first = [Moments(np.array([[1.0], [0.5], [1.0], [0.2]]))]
    >>> second = [Moments(np.array([[0.5], [0.3], [0.5], [0.1]]))]
    >>> print(compare_paired(first, second, [0, 1, 2, 3])[0])
    +0.3250 [-0.0030, +0.6530], p = 0.125
    """
    check_confidence(confidence)
    check_number("power", power, 0.0, 1.0, "a probability between 0 and 1, such as 0.8")
    check_positive_int("n_resamples", n_resamples, MetricError)
    check_positive_int("n_tests", n_tests, MetricError)
    check_one_of("test", test, TESTS, MetricError)
    n = _check_pairs(first, second)
    groups = Clusters.of(clusters, n)
    if not n:
        nothing = Difference(nan, nan, nan, nan, nan, nan, 0, 0, 0, False, confidence, power, NO_OBSERVATIONS)
        return [nothing] * len(first)
    with np.errstate(all="ignore"):
        pairs = [_Pair.of(in_first, in_second, groups) for in_first, in_second in zip(first, second)]
        tests = _Tests.by_t(pairs) if groups.is_crossed or test == "t" else _Tests.by_swaps(pairs, n_resamples, seed)
    alpha = (1.0 - confidence) / n_tests
    return [_difference(pair, p_value, tests, confidence, power, alpha) for pair, p_value in zip(pairs, tests.p_values)]


def paired_interval(
    first: Moments,
    second: Moments,
    clusters: npt.ArrayLike | Clusters,
    confidence: float = 0.95,
    bounds: tuple[float, float] = ANYWHERE,
) -> Interval:
    """Return the interval of the difference between two systems in one statistic, without a test.

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
    check_confidence(confidence)
    pair = _Pair.of(first, second, Clusters.of(clusters, _check_pairs([first], [second])))
    interval = pair.spread.interval(confidence, bounds)
    return replace(interval, reason=SAME_DIFFERENCE) if interval.reason == ALIKE else interval


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


@dataclass(frozen=True)
class _Pair:
    """One statistic of both systems: the difference, and the sums from which its interval and p-value are computed.

    Parameters
    ----------
    first, second : Moments
    value : float
        The difference, first minus second.
    gaps : float64 array, shape (clusters, k)
        For each cluster (of the first grouping) and each of the k columns of ``Moments.values``, the sum of `first`
        minus the sum of `second`; 0 if the two sums differ only by rounding errors, or if `value` is undefined.
    deviations : two float64 arrays, shape (clusters,)
        How much `first` and `second` change if a cluster of the first grouping is left out.
    spread : Spread
        The variance of the difference, and the effective number of clusters.
    """

    first: Moments
    second: Moments
    value: float
    gaps: Reals
    deviations: tuple[Reals, Reals]
    spread: Spread

    @classmethod
    def of(cls, first: Moments, second: Moments, clusters: Clusters) -> _Pair:
        groups = clusters.first
        first_sums, second_sums = groups.sums(first.values), groups.sums(second.values)  # (clusters, k) each
        gaps = first_sums - second_sums
        gaps[np.abs(gaps) <= SUM_ROUNDING * (np.abs(first_sums) + np.abs(second_sums))] = 0.0
        value = float(first.number - second.number)
        if not isfinite(value):
            gaps[:] = 0.0  # swaps ignore an undefined statistic; the other statistics are still tested
        deviations = _left_out(first, second, groups)
        variance = clusters.variance(
            lambda grouping: _change(*(deviations if grouping is groups else _left_out(first, second, grouping)))
        )
        n_effective = min(clusters.effective_number(moments.weights) for moments in (first, second))
        spread = Spread(value, variance, n_effective, clusters.count, clusters.lacking).checked()
        return cls(first, second, value, gaps, deviations, spread)

    def shifted(self, shifts: Reals) -> Reals:
        """Return, for each swap pattern, the statistic of the first system minus that of the second; (patterns,).

        Let `middle` be the averages of both systems' k means. After a swap pattern with the shift x, the first system
        has the means ``middle + x``, and the second ``middle - x``. `shifts`, shape (patterns, k), has one x per row.
        """
        middle = (self.first.values.mean(axis=0) + self.second.values.mean(axis=0)) / 2.0
        return np.asarray(self.first.finish(middle + shifts) - self.second.finish(middle - shifts))

    @property
    def tolerance(self) -> float:
        """A bound on the rounding error when a swap pattern's difference is compared with the observed difference.

        A swap pattern counts as extreme if its absolute difference is at least the observed absolute difference minus
        this tolerance; the tolerance can make the p-value larger, never smaller. The rounding error of a sum of m terms
        is at most ``m * eps`` times the sum of their absolute values, where eps is the machine epsilon (Higham 2002,
        Accuracy and Stability of Numerical Algorithms, 4.2). In this bound, the terms are the deviations of the
        clusters, and the rounding errors of the two statistics are added.
        """
        sizes = abs(float(self.first.number)) + abs(float(self.second.number))
        sizes += float(np.nansum(np.abs(self.deviations[0] - self.deviations[1])))
        return 4.0 * (len(self.gaps) + 1.0) * float(np.finfo(np.float64).eps) * sizes

    @property
    def n_differing(self) -> int:
        """Number of clusters in which the two systems differ in this statistic."""
        return int(self.gaps.any(axis=1).sum())

    @property
    def has_shares(self) -> bool:
        """Whether both statistics are plain means of zeros and ones."""
        return is_share(self.first) and is_share(self.second)


def _left_out(first: Moments, second: Moments, grouping: Grouping) -> tuple[Reals, Reals]:
    """Return how much both statistics change if a cluster is left out; see `left_out_deviations`."""
    return left_out_deviations(first, grouping), left_out_deviations(second, grouping)


def _change(first: Reals, second: Reals) -> Reals:
    """Return how much the difference changes, from the changes of both statistics.

    Rounding errors are set to 0, so that systems whose difference is the same in every cluster have no variance.
    """
    change = first - second
    change[np.abs(change) <= STATISTIC_ROUNDING * (np.abs(first) + np.abs(second))] = 0.0
    return np.asarray(change)


@dataclass(frozen=True)
class _Tests:
    """The results of the tests of several statistics; with the randomization test, they share the same swap patterns.

    `p_values` contains the p-value of each statistic, `n_patterns` is the number of swap patterns that were tried.
    `n_differing` and `is_exact` are explained in `Difference`.
    """

    p_values: list[float]
    n_differing: int
    n_patterns: int
    is_exact: bool

    @classmethod
    def by_t(cls, pairs: list[_Pair]) -> _Tests:
        """Run the t test for all `pairs`; the p-value of a pair is NaN if its difference or variance is undefined."""
        p_values = []
        for pair in pairs:
            value, variance = pair.value, pair.spread.variance
            if value == 0.0 and variance == 0.0:
                p_values.append(1.0)
            elif isfinite(value) and isfinite(variance) and variance > 0.0:
                # If few clusters differ, the t test rejects too often. So the p-value is at least the smallest possible
                # p-value of the randomization test.
                p_value = student_p_value(value / sqrt(variance), pair.spread.freedom)
                p_values.append(max(p_value, 2.0 ** (1 - pair.n_differing)))
            else:
                p_values.append(nan)
        n_differing = int(np.concatenate([pair.gaps for pair in pairs], axis=1).any(axis=1).sum()) if pairs else 0
        return cls(p_values, n_differing, 0, False)

    @classmethod
    def by_swaps(cls, pairs: list[_Pair], n_resamples: int, seed: int) -> _Tests:
        """Run the randomization test for all `pairs`; the p-value is NaN if the pair's difference is undefined."""
        # (differing clusters, columns): the gaps of all pairs side by side.
        gaps = _in_order_of_size(np.concatenate([pair.gaps for pair in pairs], axis=1))
        is_exact = len(gaps) <= MAX_ENUMERATED
        n_patterns = 2 ** len(gaps) if is_exact else n_resamples
        # (pairs - 1,): for each pair after the first, the column at which its gaps start.
        borders = np.cumsum([pair.gaps.shape[1] for pair in pairs])[:-1]
        # For each pair, the smallest absolute difference that makes a pattern count as extreme, and the largest one
        # that counts as equal to the observed difference.
        limits = [(abs(pair.value) - pair.tolerance, abs(pair.value) + pair.tolerance) for pair in pairs]
        # For each pair, the weight of a pattern that gives exactly the observed difference.
        equal_counts = [0.5 if pair.n_differing >= MIN_MID_P else 1.0 for pair in pairs]
        # (pairs,): for each pair, the number of extreme patterns so far.
        extreme = np.zeros(len(pairs))
        for swaps in all_patterns(len(gaps)) if is_exact else random_patterns(len(gaps), n_resamples, seed):
            # (patterns, columns): the means of the first system minus the average of both systems' means. Without
            # swaps, this is half of the sum of the gaps, divided by the number of observations. Each swapped cluster
            # subtracts its gap from this half.
            shifts = (gaps.sum(axis=0) / 2.0 - swaps @ gaps) / len(pairs[0].first)
            for index, part in enumerate(np.split(shifts, borders, axis=1)):
                sizes = np.abs(pairs[index].shifted(part))
                # ~(x <= limit) instead of x > limit: a pattern whose difference is NaN counts as extreme.
                larger = np.count_nonzero(~(sizes <= limits[index][1]))
                reached = np.count_nonzero(~(sizes < limits[index][0]))
                extreme[index] += larger + equal_counts[index] * (reached - larger)
        counted = extreme if is_exact else extreme + 1
        p_values = counted / (n_patterns if is_exact else n_patterns + 1)
        defined = [p if isfinite(pair.value) else nan for p, pair in zip(p_values.tolist(), pairs)]
        return cls(defined, len(gaps), n_patterns, is_exact)

    def limit_of(self, pair: _Pair, alpha: float) -> str:
        """Return the reason why no p-value can be at most `alpha`, such as "2 differing clusters"; else empty.

        The smallest possible p-value is the share of two patterns among all patterns: all differing clusters are
        swapped, or none. This limit also applies to the t test, which is not reliable if so few clusters differ.
        """
        if 2.0 ** (1 - pair.n_differing) > alpha:
            return counted(pair.n_differing, "differing cluster")
        is_enough = self.is_exact or not self.n_patterns or 1.0 / (self.n_patterns + 1.0) <= alpha
        return "" if is_enough else counted(self.n_patterns, "random swap")


def _in_order_of_size(gaps: Reals) -> Reals:
    """Drop rows of zeros, give each row the sign that makes its first nonzero value positive, and sort the rows.

    `gaps`, shape (clusters, k), is explained in `_Pair`. The sign of a row does not matter for the test, because a swap
    is as likely as no swap. The sorted rows are the same for any labels of the clusters, and also if the first and the
    second system are exchanged; so neither the labels nor such an exchange changes the p-value for a given seed.

    Examples
    --------
    >>> _in_order_of_size(np.array([[2.0, -2.0], [0.0, 0.0], [-1.0, 3.0]]))
    array([[ 1., -3.],
           [ 2., -2.]])
    """
    gaps = gaps[gaps.any(axis=1)]
    leading = gaps[np.arange(len(gaps)), (gaps != 0.0).argmax(axis=1)]  # first nonzero value of each row
    gaps = gaps * np.sign(leading)[:, None]
    return np.asarray(gaps[in_order(gaps)])


def all_patterns(n_clusters: int) -> Iterator[Reals]:
    """Yield all swap patterns, in one block.

    Parameters
    ----------
    n_clusters : int

    Yields
    ------
    float64 array, shape (2 ** n_clusters, clusters)
        1 if the pattern exchanges the two systems in the cluster, else 0.

    Examples
    --------
    >>> next(all_patterns(2)).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """
    # (patterns, clusters): element (i, c) is i shifted right by c bits. The lowest bit of the element is 1 if pattern i
    # swaps cluster c.
    patterns = np.arange(2**n_clusters)[:, None] >> np.arange(n_clusters)
    yield (patterns & 1).astype(np.float64)


def random_patterns(n_clusters: int, n_resamples: int, seed: int) -> Iterator[Reals]:
    """Yield random swap patterns, one block of patterns at a time.

    Each pattern consumes a whole number of 64-bit words of one stream of random numbers, so the size of the blocks does
    not change the patterns.

    Parameters
    ----------
    n_clusters : int
        At least 1.
    n_resamples : int
        Total number of patterns, over all blocks.
    seed : int

    Yields
    ------
    float64 array, shape (patterns of the block, clusters)
        1 if the pattern exchanges the two systems in the cluster, else 0.
    """
    rng = np.random.default_rng(seed)
    n_words = -(-n_clusters // 64)
    block = max(1, SWAPS_AT_ONCE // n_clusters)
    for start in range(0, n_resamples, block):
        shape = (min(block, n_resamples - start), n_words)
        # (patterns, words): random words, in the same byte order on every machine.
        words = rng.integers(2**64, size=shape, dtype=np.uint64).astype("<u8")
        # (patterns, clusters): the first n_clusters bits of each pattern's words.
        yield np.unpackbits(words.view(np.uint8), axis=1, count=n_clusters).astype(np.float64)


def _difference(
    pair: _Pair, p_value: float, tests: _Tests, confidence: float, power: float, alpha: float
) -> Difference:
    """Return the difference with its interval and test result; `alpha` is the significance level of `detectable`."""
    spread = pair.spread
    reason = spread.reason
    if spread.variance == 0.0 and spread.n_clusters > 1:
        reason = SAME_DIFFERENCE if pair.gaps.any() else "the two systems have equal values in every cluster"
    error = low = high = detectable = nan
    if isfinite(pair.value) and spread.n_clusters > 1 and isfinite(spread.variance):
        error = sqrt(spread.variance)
    if not reason:
        t = spread.quantile((1.0 + confidence) / 2.0)
        low, high = pair.value - t * error, pair.value + t * error
        reach = spread.quantile(1.0 - alpha / 2.0) + spread.quantile(power)
        few = tests.limit_of(pair, alpha)
        if few:
            reason = f"detectable is undefined: {few}, too few for a p-value of {alpha:.2g}"
        elif pair.has_shares:
            first, second = pair.first.values[:, 0], pair.second.values[:, 0]
            # np.maximum: at least the value from the observed variance, which is larger if the systems differ by much.
            share = detectable_share(first, second, spread.variance, alpha, power)
            detectable = float(np.maximum(share, reach * error))
            if isnan(share):
                reason = f"detectable is undefined: no possible difference is found with a probability of {power:g}"
        else:
            detectable = detectable_difference(*pair.deviations, pair.value, spread.variance, reach)
    return Difference(
        value=pair.value if isfinite(pair.value) else nan,
        low=low,
        high=high,
        error=error,
        p_value=p_value,
        detectable=detectable,
        n_clusters=spread.n_clusters,
        n_differing=tests.n_differing,
        n_resamples=tests.n_patterns,
        is_exact=tests.is_exact,
        confidence=confidence,
        power=power,
        reason=reason,
        n_effective=nan if isnan(error) else spread.n_effective,
    )
