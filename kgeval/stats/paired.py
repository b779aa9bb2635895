"""Two systems on the same observations: difference, interval, randomization test, what could have been found."""

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

# 2 ** 13 patterns of swaps are fewer than the usual number of random ones, so all of them are taken.
MAX_ENUMERATED = 13
# How many swaps are held at a time (8 bytes each).
SWAPS_AT_ONCE = 2**20
# A sum of a cluster's few values is exact to about this share of it; less is no difference.
SWAP_ROUNDING = 2.0**-46


@dataclass(frozen=True)
class Difference:
    """How far the first of two systems lies above the second, and how surely.

    Parameters
    ----------
    value : float
        First minus second.
    low, high : float
        The cluster-robust interval of the difference; NaN where `reason` says why.
    error : float
        Its standard error.
    p_value : float
        Of the paired randomization test, two-sided; never 0.
    detectable : float
        The smallest true difference that a test at this significance level finds with the given power.
    n_clusters : int
        Independent groups of observations.
    n_differing : int
        Those in which the two systems differ in some number of the same call; only they can be swapped.
    n_resamples : int
        How many patterns of swaps were tried.
    is_exact : bool
        Whether these were all the patterns there are, so that the p-value has no error of simulation.
    confidence, power : float
        What the interval and `detectable` are meant for.
    reason : str
        Empty unless there is no interval.
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

    The interval comes from the influences of the observations on the difference (see `robust_interval`). The test
    asks how often a difference at least as large, in either direction, arises when in each cluster the two
    systems swap all their values or not, at random: under the null hypothesis that they are exchangeable every
    such pattern was as likely as what was seen. The swaps are the same for all numbers of a call. The answer
    depends on the numbers and the seed, not on the order of the observations, the labels of the clusters
    or which system comes first.

    Parameters
    ----------
    first, second : sequences of Moments
        One pair for each number; all with the same observations. Both of a pair are finished alike.
    clusters : array_like, shape (observations,)
        The label of each observation's cluster.
    confidence : float
        Nominal coverage of the intervals; ``1 - confidence`` is the significance level of `detectable`.
    n_resamples : int
        How many random patterns of swaps. Where 13 clusters or fewer differ, all patterns are taken instead.
    seed : int
    power : float
        With what probability a true difference of size `detectable` is found.

    Returns
    -------
    list of Difference
        As long as `first`. The p-value is ``(1 + b) / (1 + n_resamples)`` with b the random patterns at least as
        extreme; of all patterns, it is their share.

    Raises
    ------
    DataError
        If the two do not have the same numbers or the same observations.

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
        pairs = [_Pair.of(one, other, groups) for one, other in zip(first, second)]
        swaps = _Swaps.of(pairs, n_resamples, seed)
    return [_difference(pair, p_value, swaps, confidence, power) for pair, p_value in zip(pairs, swaps.p_values)]


def _check_pairs(first: Sequence[Moments], second: Sequence[Moments]) -> int:
    """Return how many observations there are; raise unless both sequences are of the same numbers and observations."""
    if len(first) != len(second):
        raise DataError(f"first and second must hold the same numbers, in pairs; got {len(first)} and {len(second)}")
    for place, (one, other) in enumerate(zip(first, second)):
        shapes = one.values.shape, other.values.shape
        if shapes[0] != shapes[1] or len(one) != len(first[0]):
            raise DataError(
                f"pair {place}: values have shapes {shapes[0]} and {shapes[1]}, pair 0 has {len(first[0])} rows; "
                "a paired comparison needs the same observations, in the same order, for all numbers of both"
            )
    return len(first[0]) if first else 0


@dataclass(frozen=True)
class _Pair:
    """One number of both systems: the difference, and what its interval and its test need."""

    first: Moments
    second: Moments
    value: float
    # By how much the sums within a cluster differ (clusters, k), and what that moves, to first order (clusters,).
    gaps: Reals
    moved: Reals

    @classmethod
    def of(cls, first: Moments, second: Moments, groups: Clusters) -> _Pair:
        one, other = groups.sums(first.values), groups.sums(second.values)
        gaps = one - other
        gaps[np.abs(gaps) <= SWAP_ROUNDING * (np.abs(one) + np.abs(other))] = 0.0
        moved = groups.sums((influences(first) - influences(second))[:, None])[:, 0]
        value = float(first.number - second.number)
        if not isfinite(value):
            gaps[:] = 0.0  # so that the numbers of the same call that are defined have their test
        return cls(first, second, value, gaps, moved)

    def shifted(self, shifts: Reals) -> Reals:
        """Return the difference where the two have means `shifts` (patterns, k) above and below their average."""
        middle = (self.first.values.mean(axis=0) + self.second.values.mean(axis=0)) / 2.0
        return np.asarray(self.first.finish(middle + shifts) - self.second.finish(middle - shifts))

    @property
    def tolerance(self) -> float:
        """How far rounding may bring down a difference that equals the observed one.

        A sum of m terms is exact to ``m * eps`` times the sum of their sizes (Higham 2002, Accuracy and
        Stability of Numerical Algorithms, 4.2); the terms are what the clusters move the difference by, and the
        two numbers themselves are rounded too. What is counted too many by it makes the test more cautious.
        """
        sizes = abs(float(self.first.number)) + abs(float(self.second.number))
        sizes += float(np.abs(self.moved).sum()) / len(self.first)
        return 4.0 * (len(self.moved) + 1.0) * float(np.finfo(np.float64).eps) * sizes


@dataclass(frozen=True)
class _Swaps:
    """What the randomization test of several numbers found."""

    p_values: list[float]
    n_differing: int
    n_patterns: int
    is_exact: bool

    @classmethod
    def of(cls, pairs: list[_Pair], n_resamples: int, seed: int) -> _Swaps:
        gaps = _in_order_of_size(np.concatenate([pair.gaps for pair in pairs], axis=1))
        is_exact = len(gaps) <= MAX_ENUMERATED
        n_patterns = 2 ** len(gaps) if is_exact else n_resamples
        borders = np.cumsum([pair.gaps.shape[1] for pair in pairs])[:-1]
        limits = [abs(pair.value) - pair.tolerance for pair in pairs]
        extreme = np.zeros(len(pairs), dtype=np.int64)
        for swaps in all_patterns(len(gaps)) if is_exact else random_patterns(len(gaps), n_resamples, seed):
            shifts = (gaps.sum(axis=0) / 2.0 - swaps @ gaps) / len(pairs[0].first)
            for place, part in enumerate(np.split(shifts, borders, axis=1)):
                # A pattern that leaves the number undefined counts as extreme: the cautious side.
                extreme[place] += np.count_nonzero(~(np.abs(pairs[place].shifted(part)) < limits[place]))
        counted = extreme if is_exact else extreme + 1
        p_values = counted / (n_patterns if is_exact else n_patterns + 1)
        known = [p if isfinite(pair.value) else nan for p, pair in zip(p_values.tolist(), pairs)]
        return cls(known, len(gaps), n_patterns, is_exact)


def _in_order_of_size(gaps: Reals) -> Reals:
    """Return the rows that are not zero, each with its first number positive, in an order they give themselves.

    Swapping is as likely as not, so the sign of a row is free; turned and ordered like this, the same draws meet the
    same rows whatever the labels of the clusters, and whichever system comes first.
    """
    gaps = gaps[gaps.any(axis=1)]
    leading = gaps[np.arange(len(gaps)), (gaps != 0.0).argmax(axis=1)]
    gaps = gaps * np.sign(leading)[:, None]
    return np.asarray(gaps[in_order(gaps)])


def all_patterns(n_clusters: int) -> Iterator[Reals]:
    """Give every choice of clusters to swap, as one block of zeros and ones (patterns, clusters)."""
    patterns = np.arange(2**n_clusters)[:, None] >> np.arange(n_clusters)
    yield (patterns & 1).astype(np.float64)


def random_patterns(n_clusters: int, n_resamples: int, seed: int) -> Iterator[Reals]:
    """Give random choices of clusters to swap, in blocks of zeros and ones (patterns, clusters).

    Whole 64-bit words are drawn for each pattern, so that the blocks cut one stream and do not change it.
    """
    rng = np.random.default_rng(seed)
    n_words = -(-n_clusters // 64)
    block = max(1, SWAPS_AT_ONCE // n_clusters)
    for start in range(0, n_resamples, block):
        shape = (min(block, n_resamples - start), n_words)
        words = rng.integers(2**64, size=shape, dtype=np.uint64).astype("<u8")
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
            reason = "the two agree in every cluster"
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
    """Return p-values corrected for their number, by Holm's step-down method.

    The smallest of m is multiplied by m, the next by m - 1 and so on; none may fall below the one before it or
    exceed 1. Rejecting those of at most alpha keeps the chance of any false rejection at alpha, however
    the tests depend on each other.

    Parameters
    ----------
    p_values : array_like of floats, shape (tests,)
        NaN for a test that could not be made: it stays NaN and does not count.

    Returns
    -------
    float64 array, shape (tests,)

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
    order = tests[np.argsort(array[tests], kind="stable")]
    stepped = array[order] * np.arange(len(order), 0, -1)
    adjusted = np.full_like(array, nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted
