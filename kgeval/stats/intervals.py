"""Intervals of numbers that are functions of means, from observations that depend on each other within clusters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, nan, sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, Reals, check_number, check_one_of, check_positive_int
from kgeval.errors import DataError, MetricError
from kgeval.stats.moments import Interval, Moments, first_mean, influences
from kgeval.stats.student import student_quantile

ANYWHERE = (float("-inf"), float("inf"))
BOOTSTRAPS = ("percentile", "bca")
ONE_CLUSTER = "one cluster only; an interval needs at least two"
# How many draws a bootstrap holds at a time: small enough that the counts stay in a processor's cache.
DRAWS_AT_ONCE = 2**18


@dataclass(frozen=True)
class Clusters:
    """Which cluster each observation belongs to, numbered without gaps.

    Parameters
    ----------
    numbers : int64 array, shape (observations,)
        In ``0 .. count - 1``.
    count : int
    """

    numbers: Ids
    count: int

    @classmethod
    def of(cls, labels: npt.ArrayLike, n: int) -> Clusters:
        """Return the clusters with these labels (anything that sorts), one label for each of `n` observations.

        Raises
        ------
        DataError
            If the shape is not ``(n,)`` or a label is NaN.

        Examples
        --------
        >>> Clusters.of([7, 7, 3], 3)
        Clusters(numbers=array([1, 1, 0]), count=2)
        """
        array = np.asarray(labels)
        if array.shape != (n,):
            raise DataError(f"clusters must have one label per observation, shape ({n},); got shape {array.shape}")
        if array.dtype.kind == "f" and np.isnan(array).any():
            row = int(np.flatnonzero(np.isnan(array))[0])
            raise DataError(f"clusters, row {row}: NaN is no label; every observation needs a cluster")
        found, numbers = np.unique(array, return_inverse=True)
        return cls(numbers.reshape(n).astype(np.int64, copy=False), len(found))

    @property
    def sizes(self) -> Reals:
        """How many observations each cluster has, float64 (clusters,)."""
        return np.bincount(self.numbers, minlength=self.count).astype(np.float64)

    def sums(self, values: Reals) -> Reals:
        """Return the sums within the clusters of `values` (observations, k), shape (clusters, k)."""
        columns = [np.bincount(self.numbers, weights=column, minlength=self.count) for column in values.T]
        return np.stack(columns, axis=1) if columns else np.zeros((self.count, 0))


def check_confidence(confidence: float) -> float:
    """Return the nominal coverage `confidence` if it lies between 0 and 1, else raise MetricError."""
    return check_number("confidence", confidence, 0.0, 1.0, "a share between 0 and 1, such as 0.95")


def cluster_variance(sums: Reals, n: int) -> float:
    """Return the variance of a mean of `n` observations from the sums (clusters,) of their deviations."""
    return float(len(sums) / (len(sums) - 1) * np.square(sums).sum() / float(n) ** 2)


def robust_interval(
    moments: Moments, clusters: npt.ArrayLike, confidence: float = 0.95, bounds: tuple[float, float] = ANYWHERE
) -> Interval:
    """Return the cluster-robust interval: Student's t times the standard error, around the number.

    The influences of the observations (see `influences`) are summed within each of G clusters; the variance is
    ``G / (G - 1)`` times the sum of their squares over the squared number of observations, and t has G - 1
    degrees of freedom. So observations may depend on each other in any way within a cluster, but not across.
    A plain mean of zeros and ones is a share: there the interval is Wilson's, which stays right near 0
    and 1 (`method` then says ``"wilson"``).

    Parameters
    ----------
    moments : Moments
    clusters : array_like, shape (observations,)
        The label of each observation's cluster.
    confidence : float
        Nominal coverage.
    bounds : two floats
        The least and the greatest value that the number can have; the interval is cut there.

    Returns
    -------
    Interval
        With a reason and without limits for no observation, one cluster, or a number that is undefined.

    References
    ----------
    Liang and Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73;
    Cameron and Miller (2015), A Practitioner's Guide to Cluster-Robust Inference, Journal of Human Resources 50
    (the factor, and G - 1 degrees of freedom).

    Examples
    --------
    >>> ranks = np.array([[1.0], [3.0], [2.0], [2.0], [1.0], [9.0]])
    >>> print(robust_interval(Moments(ranks), [0, 0, 1, 1, 2, 2], bounds=(1.0, 100.0)))
    3.0000 [1.0000, 7.3027]
    """
    check_confidence(confidence)
    groups = Clusters.of(clusters, len(moments))
    value, reason = value_of(moments, groups)
    if reason:
        return Interval(value, nan, nan, confidence, "robust", groups.count, reason=reason)
    is_mean = moments.finish is first_mean and moments.values.shape[1] == 1
    if is_mean and bounds in (ANYWHERE, (0.0, 1.0)) and is_binary(moments.values):
        return _share_interval(moments.values[:, 0], groups, confidence)
    with np.errstate(all="ignore"):
        variance = cluster_variance(groups.sums(influences(moments)[:, None])[:, 0], len(moments))
    if not isfinite(variance):
        reason = "the number is not smooth around these means"
        return Interval(value, nan, nan, confidence, "robust", groups.count, reason=reason)
    error = sqrt(variance)
    reach = student_quantile((1.0 + confidence) / 2.0, groups.count - 1) * error
    low, high = (min(max(limit, bounds[0]), bounds[1]) for limit in (value - reach, value + reach))
    return Interval(value, low, high, confidence, "robust", groups.count, error)


def value_of(moments: Moments, groups: Clusters) -> tuple[float, str]:
    """Return the number, and why it can have no interval (empty if it can)."""
    if not len(moments):
        return nan, "no observations"
    with np.errstate(all="ignore"):
        value = float(moments.number)
    if not isfinite(value):
        return nan, "the number is undefined"
    return value, ONE_CLUSTER if groups.count == 1 else ""


def is_binary(values: Reals) -> bool:
    """Tell whether all values are 0 or 1."""
    return bool(((values == 0.0) | (values == 1.0)).all())


def effective_size(hits: Reals, groups: Clusters) -> float:
    """Return how many independent observations would know a share as well as these clustered ones do.

    The observations over the design effect, ``share (1 - share) / variance``; the number of clusters where the
    variance is 0, as if all observations of a cluster were one.

    Parameters
    ----------
    hits : float64 array, shape (observations,)
        Zeros and ones.
    groups : Clusters
        At least two.

    References
    ----------
    Korn and Graubard (1998), Confidence Intervals for Proportions with Small Expected Number of Positive
    Counts Estimated from Survey Data, Survey Methodology 24.
    """
    n, found = len(hits), float(hits.sum())
    # Integers in float64, so that clusters which all have the same share give exactly 0.
    deviations = n * groups.sums(hits[:, None])[:, 0] - groups.sizes * found
    variance = cluster_variance(deviations, n) / float(n) ** 2
    return found / n * (1.0 - found / n) / variance if variance > 0.0 else float(groups.count)


def _share_interval(hits: Reals, groups: Clusters, confidence: float) -> Interval:
    """Return Wilson's interval of a share, with the effective number of observations and Student's t.

    Wilson (1927), Probable Inference, the Law of Succession, and Statistical Inference, JASA 22; Franco et al.
    (2019), Comparative Study of Confidence Intervals for Proportions in Complex Sample Surveys, Journal of Survey
    Statistics and Methodology 7 (its use with an effective number).
    """
    share, size = float(hits.mean()), effective_size(hits, groups)
    t = student_quantile((1.0 + confidence) / 2.0, groups.count - 1)
    variance = share * (1.0 - share) / size
    shrink = 1.0 + t * t / size
    centre = (share + t * t / (2.0 * size)) / shrink
    reach = t / shrink * sqrt(variance + t * t / (4.0 * size * size))
    # Rounding may leave a limit beyond 0 or 1, or just short of a share that is 0 or 1 itself.
    low, high = max(0.0, min(share, centre - reach)), min(1.0, max(share, centre + reach))
    return Interval(share, low, high, confidence, "wilson", groups.count, sqrt(variance))


def bootstrap_interval(
    moments: Moments,
    clusters: npt.ArrayLike,
    confidence: float = 0.95,
    method: str = "percentile",
    n_resamples: int = 2000,
    seed: int = 0,
    bounds: tuple[float, float] = ANYWHERE,
) -> Interval:
    """Return the interval between quantiles of the number over resamples of whole clusters.

    Each resample draws as many clusters as there are, with replacement. Only the sums within clusters are
    needed, so the cost is that of the draws, whatever the clusters hold. The answer depends on the numbers and the
    seed, not on the order of the observations, the labels of the clusters or how many are drawn at a time.

    Parameters
    ----------
    moments : Moments
    clusters : array_like, shape (observations,)
        The label of each observation's cluster.
    confidence : float
        Nominal coverage.
    method : str
        ``"percentile"``; or ``"bca"``, which corrects for bias and for skewness, the latter by a jackknife over
        clusters. Where BCa is undefined (all resamples on one side of the number, or a jackknife that does not
        vary) the percentile interval is returned and its `method` says so.
    n_resamples : int
        At least 1; a few thousand for limits that are steady to two digits.
    seed : int
    bounds : two floats
        The least and the greatest value that the number can have; the interval is cut there.

    Returns
    -------
    Interval
        Its error is the standard deviation over the resamples. With a reason and without limits for no
        observation, one cluster, or a number that is undefined here or in a resample. Of zero width where
        all observations are equal.

    References
    ----------
    Efron (1987), Better Bootstrap Confidence Intervals, JASA 82; Field and Welsh (2007), Bootstrapping
    clustered data, Journal of the Royal Statistical Society B 69 (whole clusters).

    Examples
    --------
    >>> values = np.random.default_rng(1).exponential(size=(400, 1))
    >>> print(bootstrap_interval(Moments(values), np.arange(400) // 2, method="bca", seed=1))
    0.9765 [0.8881, 1.0935]
    """
    check_confidence(confidence)
    check_one_of("method", method, BOOTSTRAPS, MetricError)
    check_positive_int("n_resamples", n_resamples, MetricError)
    groups = Clusters.of(clusters, len(moments))
    value, reason = value_of(moments, groups)
    if reason:
        return Interval(value, nan, nan, confidence, method, groups.count, reason=reason)
    if (moments.values == moments.values[0]).all():
        return Interval(value, value, value, confidence, method, groups.count, 0.0)
    sizes, means = groups.sizes, moments.values.mean(axis=0)
    sums = groups.sums(moments.values - means)
    rows = np.column_stack([sums, sizes])
    rows = rows[in_order(rows)]
    with np.errstate(all="ignore"):
        totals = np.concatenate([counts @ rows for counts in drawn_counts(groups.count, n_resamples, seed)])
        found = np.asarray(moments.finish(means + totals[:, :-1] / totals[:, -1:]))
        left_out = np.asarray(moments.finish(means - sums / (len(moments) - sizes)[:, None]))
    return between_quantiles(value, found, groups.count, confidence, bounds, left_out if method == "bca" else None)


def in_order(rows: Reals) -> Ids:
    """Return an order of the rows that depends on their numbers alone, up to the tenth digit."""
    scale = np.abs(rows).max(axis=0, initial=0.0)
    keys = np.round(rows / np.where(scale > 0.0, scale, 1.0), 10)
    return np.asarray(np.lexsort(keys.T[::-1]), dtype=np.int64)


def drawn_counts(n_clusters: int, n_resamples: int, seed: int) -> Iterator[Reals]:
    """Give how often each cluster is drawn in each resample, a block of resamples at a time.

    Yields
    ------
    float64 array, shape (resamples of the block, clusters)
        Every row sums to `n_clusters`. One stream of draws, however it is cut into blocks.
    """
    rng = np.random.default_rng(seed)
    block = max(1, DRAWS_AT_ONCE // n_clusters)
    for start in range(0, n_resamples, block):
        n_rows = min(block, n_resamples - start)
        draws = rng.integers(n_clusters, size=(n_rows, n_clusters))
        draws += (np.arange(n_rows) * n_clusters)[:, None]
        counts = np.bincount(draws.ravel(), minlength=n_rows * n_clusters)
        yield counts.reshape(n_rows, n_clusters).astype(np.float64)


def between_quantiles(
    value: float,
    found: Reals,
    n_clusters: int,
    confidence: float,
    bounds: tuple[float, float] = ANYWHERE,
    left_out: Reals | None = None,
) -> Interval:
    """Return the interval between quantiles of what resamples found.

    Parameters
    ----------
    value : float
        The number itself.
    found : float64 array, shape (resamples,)
        The number in each resample.
    n_clusters : int
    confidence : float
    bounds : two floats
    left_out : float64 array, shape (clusters,), optional
        The number without each cluster. With it the interval is BCa's, where that is defined.
    """
    alpha = (1.0 - confidence) / 2.0
    shares = None if left_out is None else _corrected_shares(value, found, left_out, alpha)
    method = "percentile" if shares is None else "bca"
    undefined = int(np.count_nonzero(~np.isfinite(found)))
    if undefined:
        reason = f"the number is undefined in {undefined} of {len(found)} resamples"
        return Interval(value, nan, nan, confidence, method, n_clusters, reason=reason)
    limits = np.quantile(found, shares or (alpha, 1.0 - alpha), method="weibull")
    low, high = (float(limit) for limit in np.clip(limits, *bounds))
    error = float(found.std(ddof=1)) if len(found) > 1 else nan
    return Interval(value, low, high, confidence, method, n_clusters, error)


def _corrected_shares(value: float, found: Reals, left_out: Reals, alpha: float) -> tuple[float, float] | None:
    """Return which quantiles of `found` BCa takes for `alpha` and its complement; None where it is undefined.

    Resamples equal to the number count half on either side, equal up to the rounding of a sum.
    """
    deviations = left_out.mean() - left_out
    spread = float(np.square(deviations).sum())
    same = np.abs(found - value) <= 1e-12 * (abs(value) + np.abs(found - value).max())
    below = float(np.mean(np.where(same, 0.5, found < value)))
    if not (isfinite(spread) and spread > 0.0 and 0.0 < below < 1.0):
        return None
    acceleration = float((deviations**3).sum()) / (6.0 * spread**1.5)
    normal = NormalDist()
    bias = normal.inv_cdf(below)
    shifted = [bias + normal.inv_cdf(share) for share in (alpha, 1.0 - alpha)]
    slopes = [1.0 - acceleration * shift for shift in shifted]
    if min(slopes) <= 0.0:
        return None
    low, high = (normal.cdf(bias + shift / slope) for shift, slope in zip(shifted, slopes))
    return low, high
