"""Paired comparison of two systems on the same observations, and Holm's correction of p-values.

`compare_paired` returns the difference, its confidence interval, the p-value of a paired randomization test and the
minimum detectable difference. `kgeval.compare` calls both functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, nan, sqrt

import numpy as np
import numpy.typing as npt

from kgeval.checks import Reals, check_number, check_positive_int
from kgeval.errors import DataError, MetricError
from kgeval.stats.intervals import ONE_CLUSTER, Clusters, check_confidence, cluster_variance, in_order
from kgeval.stats.moments import Moments, influences
from kgeval.stats.student import student_quantile

# Up to 13 clusters, all 2 ** 13 patterns of swaps are tried: they are fewer than the usual number of random patterns.
MAX_ENUMERATED = 13
# Number of entries of a block of swap patterns (8 bytes each).
SWAPS_AT_ONCE = 2**20
# Sums within a cluster are exact to about this share of their size; a smaller difference counts as none.
SWAP_ROUNDING = 2.0**-46


@dataclass(frozen=True)
class Difference:
    """The difference between two systems, with its confidence interval and the result of its test.

    Parameters
    ----------
    value : float
        First system minus second.
    low, high : float
        The limits of the cluster-robust interval of the difference; NaN if there is none, see `reason`.
    error : float
        The standard error of the difference.
    p_value : float
        Two-sided p-value of the paired randomization test; never 0.
    detectable : float
        The minimum detectable difference: the smallest true difference that a test at significance level
        ``1 - confidence`` detects with probability `power`.
    n_clusters : int
        Number of clusters: independent groups of observations.
    n_differing : int
        Number of clusters in which the two systems differ in at least one number of the same call; a swap changes
        nothing in the other clusters.
    n_resamples : int
        Number of swap patterns that were tried.
    is_exact : bool
        Whether all possible patterns were tried, so that the p-value has no simulation error.
    confidence, power : float
        The coverage of the interval, and the power to which `detectable` refers.
    reason : str
        Why there is no interval; empty if there is one.
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

    def __str__(self) -> str:
        if self.reason:
            return f"{self.value:+.4f} (no interval: {self.reason})"
        return f"{self.value:+.4f} [{self.low:+.4f}, {self.high:+.4f}], p = {self.p_value:.4g}"


def compare_paired(
    first: Sequence[Moments],
    second: Sequence[Moments],
    clusters: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
    power: float = 0.8,
) -> list[Difference]:
    """Compare two systems in several numbers at once, on the same observations in the same order.

    The interval comes from the influences of the observations on the difference (see `robust_interval`). The p-value
    comes from a paired randomization test: in each cluster the two systems either swap all their values or do not, at
    random, and the p-value is the share of such patterns with a difference at least as large as the observed one, in
    either direction. Under the null hypothesis that the two systems are exchangeable, every pattern is as likely as
    the observed one. All numbers of a call use the same swaps. The result depends on the values and the seed, not on
    the order of the observations, the labels of the clusters or which system comes first.

    Parameters
    ----------
    first, second : sequences of Moments
        The numbers of each system, in the same order and for the same observations. Both `Moments` of a pair have the
        same `finish`.
    clusters : array_like, shape (observations,)
        The label of each observation's cluster.
    confidence : float
        Nominal coverage of the intervals; ``1 - confidence`` is the significance level of `detectable`.
    n_resamples : int
        Number of random swap patterns. If 13 or fewer clusters differ, all patterns are tried instead.
    seed : int
    power : float
        Probability that the test detects a true difference of size `detectable`.

    Returns
    -------
    list of Difference
        One for each pair. With random patterns, the p-value is ``(1 + b) / (1 + n_resamples)`` where b patterns are
        at least as extreme; with all patterns, it is the share of those that are.

    Raises
    ------
    DataError
        If `first` and `second` differ in the number of their elements, or in the number of observations.
    MetricError
        If `confidence`, `power` or `n_resamples` is out of range.

    References
    ----------
    Smucker, Allan and Carterette (2007), A Comparison of Statistical Significance Tests for Information
    Retrieval Evaluation, CIKM (the test); Phipson and Smyth (2010), Permutation P-values Should Never Be Zero,
    Statistical Applications in Genetics and Molecular Biology 9; Bloom (1995), Minimum Detectable Effects,
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
    n = _check_pairs(first, second)
    groups = Clusters.of(clusters, n)
    if not n:
        nothing = Difference(nan, nan, nan, nan, nan, nan, 0, 0, 0, False, confidence, power, "no observations")
        return [nothing] * len(first)
    with np.errstate(all="ignore"):
        pairs = [_Pair.of(in_first, in_second, groups) for in_first, in_second in zip(first, second)]
        swaps = _Swaps.of(pairs, n_resamples, seed)
    return [_difference(pair, p_value, swaps, confidence, power) for pair, p_value in zip(pairs, swaps.p_values)]


def _check_pairs(first: Sequence[Moments], second: Sequence[Moments]) -> int:
    """Return the number of observations; raise a DataError unless both sequences fit together."""
    if len(first) != len(second):
        raise DataError(f"first and second must hold the same numbers, in pairs; got {len(first)} and {len(second)}")
    for place, (in_first, in_second) in enumerate(zip(first, second)):
        shapes = in_first.values.shape, in_second.values.shape
        if shapes[0] != shapes[1] or len(in_first) != len(first[0]):
            raise DataError(
                f"pair {place}: values have shapes {shapes[0]} and {shapes[1]}, pair 0 has {len(first[0])} rows; "
                "a paired comparison needs the same observations, in the same order, for all numbers of both"
            )
    return len(first[0]) if first else 0


@dataclass(frozen=True)
class _Pair:
    """One number in both systems: the difference, and what its interval and its test need.

    Parameters
    ----------
    first, second : Moments
    value : float
        The difference, first minus second.
    gaps : float64 array, shape (clusters, k)
        Sum of the values of `first` minus that of `second` within each cluster; differences due to rounding are 0.
    moved : float64 array, shape (clusters,)
        Sum of the influences on the difference within each cluster.
    """

    first: Moments
    second: Moments
    value: float
    gaps: Reals
    moved: Reals

    @classmethod
    def of(cls, first: Moments, second: Moments, groups: Clusters) -> _Pair:
        first_sums, second_sums = groups.sums(first.values), groups.sums(second.values)  # (clusters, k) each
        gaps = first_sums - second_sums
        gaps[np.abs(gaps) <= SWAP_ROUNDING * (np.abs(first_sums) + np.abs(second_sums))] = 0.0
        moved = groups.sums((influences(first) - influences(second))[:, None])[:, 0]
        value = float(first.number - second.number)
        if not isfinite(value):
            gaps[:] = 0.0  # an undefined number takes no part in the swaps; the other numbers are still tested
        return cls(first, second, value, gaps, moved)

    def shifted(self, shifts: Reals) -> Reals:
        """Return the difference in each pattern, shape (patterns,), from the shifts of the means.

        In a pattern, the means of the first system are the average of both systems plus `shifts`, shape (patterns, k);
        the means of the second are the average minus `shifts`.
        """
        middle = (self.first.values.mean(axis=0) + self.second.values.mean(axis=0)) / 2.0
        return np.asarray(self.first.finish(middle + shifts) - self.second.finish(middle - shifts))

    @property
    def tolerance(self) -> float:
        """The most by which rounding can reduce a difference that equals the observed one.

        A sum of m terms is exact to ``m * eps`` times the sum of their absolute values (Higham 2002, Accuracy and
        Stability of Numerical Algorithms, 4.2). The terms are the influences summed within clusters; the two numbers
        themselves are rounded too. A pattern within this tolerance counts as extreme, which makes the p-value larger,
        never smaller.
        """
        sizes = abs(float(self.first.number)) + abs(float(self.second.number))
        sizes += float(np.abs(self.moved).sum()) / len(self.first)
        return 4.0 * (len(self.moved) + 1.0) * float(np.finfo(np.float64).eps) * sizes


@dataclass(frozen=True)
class _Swaps:
    """The outcome of the randomization test of several numbers; the attributes are those of `Difference`."""

    p_values: list[float]
    n_differing: int
    n_patterns: int
    is_exact: bool

    @classmethod
    def of(cls, pairs: list[_Pair], n_resamples: int, seed: int) -> _Swaps:
        """Return the p-value of each pair; NaN where its difference is undefined."""
        # (differing clusters, columns): the gaps of all pairs side by side.
        gaps = _in_order_of_size(np.concatenate([pair.gaps for pair in pairs], axis=1))
        is_exact = len(gaps) <= MAX_ENUMERATED
        n_patterns = 2 ** len(gaps) if is_exact else n_resamples
        # (pairs - 1,): the column at which the gaps of each further pair start.
        borders = np.cumsum([pair.gaps.shape[1] for pair in pairs])[:-1]
        # For each pair, the absolute difference from which on a pattern counts as extreme.
        limits = [abs(pair.value) - pair.tolerance for pair in pairs]
        # (pairs,): number of extreme patterns so far.
        extreme = np.zeros(len(pairs), dtype=np.int64)
        for swaps in all_patterns(len(gaps)) if is_exact else random_patterns(len(gaps), n_resamples, seed):
            # (patterns, columns): how far the means of the first system lie above the average of both systems. Without
            # any swap that is half of the summed gaps; each swapped cluster takes its gap away.
            shifts = (gaps.sum(axis=0) / 2.0 - swaps @ gaps) / len(pairs[0].first)
            for place, part in enumerate(np.split(shifts, borders, axis=1)):
                # "not less" instead of "at least": a pattern whose number is NaN counts as extreme, to be cautious.
                extreme[place] += np.count_nonzero(~(np.abs(pairs[place].shifted(part)) < limits[place]))
        counted = extreme if is_exact else extreme + 1
        p_values = counted / (n_patterns if is_exact else n_patterns + 1)
        defined = [p if isfinite(pair.value) else nan for p, pair in zip(p_values.tolist(), pairs)]
        return cls(defined, len(gaps), n_patterns, is_exact)


def _in_order_of_size(gaps: Reals) -> Reals:
    """Return the nonzero rows, each multiplied by 1 or -1 so that its first nonzero value is positive, and sorted.

    A swap is as likely as no swap, so the sign of a row does not matter. With these signs and this order, a random
    pattern swaps the same rows whatever the labels of the clusters and whichever system comes first.

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
    """Yield every choice of clusters to swap, in one block.

    Parameters
    ----------
    n_clusters : int

    Yields
    ------
    float64 array, shape (2 ** n_clusters, clusters)
        1 where the pattern swaps the cluster, else 0.

    Examples
    --------
    >>> next(all_patterns(2)).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """
    # Bit c of the pattern's number says whether the pattern swaps cluster c.
    patterns = np.arange(2**n_clusters)[:, None] >> np.arange(n_clusters)
    yield (patterns & 1).astype(np.float64)


def random_patterns(n_clusters: int, n_resamples: int, seed: int) -> Iterator[Reals]:
    """Yield random choices of clusters to swap, one block of patterns at a time.

    Each pattern takes whole 64-bit words of one stream of random numbers, so the block size does not change the
    patterns.

    Parameters
    ----------
    n_clusters : int
        At least 1.
    n_resamples : int
        Number of patterns in all blocks together.
    seed : int

    Yields
    ------
    float64 array, shape (patterns of the block, clusters)
        1 where the pattern swaps the cluster, else 0.
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


def _difference(pair: _Pair, p_value: float, swaps: _Swaps, confidence: float, power: float) -> Difference:
    """Return the difference with its interval and the result of its test."""
    n_clusters, error, reason = len(pair.gaps), nan, ""
    if not isfinite(pair.value):
        reason = "the number is undefined"
    elif n_clusters == 1:
        reason = ONE_CLUSTER
    else:
        error = sqrt(variance) if isfinite(variance := cluster_variance(pair.moved, len(pair.first))) else nan
        if not isfinite(error):
            reason = "the number is not smooth around these means"
        elif not pair.gaps.any():
            reason = "the two systems agree in every cluster"
    low = high = detectable = nan
    if not reason:
        t = student_quantile((1.0 + confidence) / 2.0, n_clusters - 1)
        low, high = pair.value - t * error, pair.value + t * error
        detectable = (t + student_quantile(power, n_clusters - 1)) * error
    return Difference(
        value=pair.value if isfinite(pair.value) else nan,
        low=low,
        high=high,
        error=error,
        p_value=p_value,
        detectable=detectable,
        n_clusters=n_clusters,
        n_differing=swaps.n_differing,
        n_resamples=swaps.n_patterns,
        is_exact=swaps.is_exact,
        confidence=confidence,
        power=power,
        reason=reason,
    )


def holm(p_values: npt.ArrayLike) -> Reals:
    """Return p-values corrected for multiple testing, by Holm's step-down method.

    The smallest of m p-values is multiplied by m, the next by m - 1 and so on. No corrected value is smaller than the
    one before it, or greater than 1. Rejecting the tests with a corrected p-value of at most alpha keeps the
    probability of any false rejection at or below alpha, however the tests depend on each other.

    Parameters
    ----------
    p_values : array_like of floats, shape (tests,)
        NaN for a test that was not possible: it stays NaN and does not count among the m.

    Returns
    -------
    float64 array, shape (tests,)
        In the order of `p_values`.

    Raises
    ------
    DataError
        If a p-value is not between 0 and 1.

    References
    ----------
    Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> holm([0.01, 0.04, np.nan, 0.03]).round(12).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    array = np.asarray(p_values, dtype=np.float64)
    if array.ndim != 1:
        raise DataError(f"p_values must have shape (tests,); got {array.shape}")
    wrong = (array < 0.0) | (array > 1.0)
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise DataError(f"p_values, place {place}: a p-value lies between 0 and 1; got {array[place]}")
    tests = np.flatnonzero(~np.isnan(array))
    # (m,): places of the tests, from the smallest p-value to the largest.
    order = tests[np.argsort(array[tests], kind="stable")]
    # (m,): the sorted p-values times m, m - 1, ..., 1; their running maximum, cut at 1, is the corrected value.
    stepped = array[order] * np.arange(len(order), 0, -1)
    adjusted = np.full_like(array, nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted
