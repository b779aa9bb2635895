"""Confidence intervals of a statistic of clustered observations: cluster-robust, Wilson's, bootstrap.

The statistic is a function of means (`Moments`). Observations of the same cluster may depend on each other;
observations of different clusters must be independent. `RankTable` and `kgeval.compare` call `robust_interval` and
`bootstrap_interval`; `paired.py` and `quantiles.py` call the other functions.
"""

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
# Number of drawn clusters that a bootstrap holds in memory at a time; so many fit in the cache of a processor.
DRAWS_AT_ONCE = 2**18


@dataclass(frozen=True)
class Clusters:
    """The cluster of each observation; the clusters have the indices 0, 1, 2 and so on.

    Parameters
    ----------
    numbers : int64 array, shape (observations,)
        For each observation, the index of its cluster, from 0 to ``count - 1``.
    count : int
        How many clusters there are.
    """

    numbers: Ids
    count: int

    @classmethod
    def of(cls, labels: npt.ArrayLike, n: int) -> Clusters:
        """Return the clusters of `n` observations, given one cluster label per observation.

        Parameters
        ----------
        labels : array_like, shape (n,)
            Any values that can be sorted; observations with equal labels share a cluster.
        n : int
            Number of observations.

        Raises
        ------
        DataError
            If the shape of `labels` is not (n,), or if a label is NaN.

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
            raise DataError(f"clusters, row {row}: NaN is not a label; every observation needs a cluster")
        distinct, numbers = np.unique(array, return_inverse=True)
        return cls(numbers.reshape(n).astype(np.int64, copy=False), len(distinct))

    @property
    def sizes(self) -> Reals:
        """Number of observations in each cluster, float64, shape (clusters,)."""
        return np.bincount(self.numbers, minlength=self.count).astype(np.float64)

    def sums(self, values: Reals) -> Reals:
        """Sum the rows of `values` within each cluster.

        `values` has the shape (observations, k), the result (float64) has the shape (clusters, k).

        Examples
        --------
        >>> Clusters.of([7, 7, 3], 3).sums(np.array([[1.0], [2.0], [5.0]]))
        array([[5.],
               [3.]])
        """
        columns = [np.bincount(self.numbers, weights=column, minlength=self.count) for column in values.T]
        return np.stack(columns, axis=1) if columns else np.zeros((self.count, 0))


def check_confidence(confidence: float) -> float:
    """Check `confidence`, the nominal coverage of an interval, and return it.

    Parameters
    ----------
    confidence : float
        Above 0 and below 1.

    Returns
    -------
    float

    Raises
    ------
    MetricError
        If `confidence` is not between 0 and 1.
    """
    return check_number("confidence", confidence, 0.0, 1.0, "a share between 0 and 1, such as 0.95")


def cluster_variance(sums: Reals, n: int) -> float:
    """Return the cluster-robust variance of a mean of `n` observations.

    Parameters
    ----------
    sums : float64 array, shape (clusters,)
        For each cluster, the sum of the deviations of its observations from the mean; at least two clusters.
    n : int
        Number of observations.

    Returns
    -------
    float
        ``G / (G - 1) * (sums**2).sum() / n**2``, where G is the number of clusters.
    """
    return float(len(sums) / (len(sums) - 1) * np.square(sums).sum() / float(n) ** 2)


def robust_interval(
    moments: Moments, clusters: npt.ArrayLike, confidence: float = 0.95, bounds: tuple[float, float] = ANYWHERE
) -> Interval:
    """Return the cluster-robust interval: the statistic, plus and minus Student's t times the standard error.

    Let n be the number of observations and G the number of clusters. The influences of the observations (see
    `influences`) are summed within each cluster. The variance of the statistic is ``G / (G - 1) / n**2`` times the sum
    of the squares of these sums. Student's t has G - 1 degrees of freedom. Observations of the same cluster may depend
    on each other in any way; observations of different clusters must be independent.

    A share, that is a plain mean of zeros and ones, gets Wilson's interval instead, which is also accurate for shares
    near 0 and 1; `method` is then ``"wilson"``.

    Parameters
    ----------
    moments : Moments
        The statistic and its observations.
    clusters : array_like, shape (observations,)
        The label of each observation's cluster.
    confidence : float
        Nominal coverage.
    bounds : two floats
        The smallest and the largest possible value of the statistic; the limits of the interval are clipped to them.

    Returns
    -------
    Interval
        If there is no observation, if there is only one cluster, or if the statistic is undefined or is not smooth at
        the means, then the limits are NaN and `reason` says why.

    References
    ----------
    Liang and Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73;
    Cameron and Miller (2015), A Practitioner's Guide to Cluster-Robust Inference, Journal of Human Resources 50
    (the factor G / (G - 1), and G - 1 degrees of freedom).

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
        reason = "the value is not a smooth function of the means"
        return Interval(value, nan, nan, confidence, "robust", groups.count, reason=reason)
    error = sqrt(variance)
    reach = student_quantile((1.0 + confidence) / 2.0, groups.count - 1) * error
    low, high = (min(max(limit, bounds[0]), bounds[1]) for limit in (value - reach, value + reach))
    return Interval(value, low, high, confidence, "robust", groups.count, error)


def value_of(moments: Moments, groups: Clusters) -> tuple[float, str]:
    """Return the value of a statistic and, if an interval cannot be computed, the reason.

    Parameters
    ----------
    moments : Moments
    groups : Clusters

    Returns
    -------
    value : float
        NaN if there is no observation, or if the statistic is undefined.
    reason : str
        Empty if an interval can be computed.
    """
    if not len(moments):
        return nan, "no observations"
    with np.errstate(all="ignore"):
        value = float(moments.number)
    if not isfinite(value):
        return nan, "the value is undefined"
    return value, ONE_CLUSTER if groups.count == 1 else ""


def is_binary(values: Reals) -> bool:
    """Tell whether all values of a float64 array, of any shape, are 0 or 1.

    Parameters
    ----------
    values : float64 array
    """
    return bool(((values == 0.0) | (values == 1.0)).all())


def effective_size(hits: Reals, groups: Clusters) -> float:
    """Return the effective sample size of a share that is estimated from clustered observations.

    The effective sample size is the number of independent observations that would estimate the share with the same
    variance: ``share * (1 - share) / variance``. This is the number of observations divided by the design effect. If
    the variance is 0, the number of clusters is returned.

    Parameters
    ----------
    hits : float64 array, shape (observations,)
        Zeros and ones; the share is their mean.
    groups : Clusters
        At least two clusters.

    Returns
    -------
    float

    References
    ----------
    Korn and Graubard (1998), Confidence Intervals for Proportions with Small Expected Number of Positive
    Counts Estimated from Survey Data, Survey Methodology 24.
    """
    n, n_hits = len(hits), float(hits.sum())
    # (clusters,): n * (hits of the cluster - share * size of the cluster). The factor n makes all terms integers in
    # float64, so that the result is exactly 0 if all clusters have the same share. The next line divides by n ** 2.
    deviations = n * groups.sums(hits[:, None])[:, 0] - groups.sizes * n_hits
    variance = cluster_variance(deviations, n) / float(n) ** 2
    return n_hits / n * (1.0 - n_hits / n) / variance if variance > 0.0 else float(groups.count)


def _share_interval(hits: Reals, groups: Clusters, confidence: float) -> Interval:
    """Return Wilson's interval of a share, for clustered observations.

    Wilson's formula is used with the effective sample size in the place of the number of observations, and with the
    quantile of Student's t in the place of the normal quantile.

    Wilson (1927), Probable Inference, the Law of Succession, and Statistical Inference, JASA 22; Franco et al.
    (2019), Comparative Study of Confidence Intervals for Proportions in Complex Sample Surveys, Journal of Survey
    Statistics and Methodology 7 (Wilson's interval with an effective sample size).
    """
    share, size = float(hits.mean()), effective_size(hits, groups)
    t = student_quantile((1.0 + confidence) / 2.0, groups.count - 1)
    variance = share * (1.0 - share) / size
    shrink = 1.0 + t * t / size
    centre = (share + t * t / (2.0 * size)) / shrink
    reach = t / shrink * sqrt(variance + t * t / (4.0 * size * size))
    # Rounding errors could put a limit below 0 or above 1, or put a share of 0 or 1 outside its interval. `min` and
    # `max` prevent both.
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
    """Return the bootstrap interval: quantiles of the statistic over resamples of whole clusters.

    Each resample draws as many clusters as there are, with replacement. Only the sums within clusters are needed, so
    the cost depends on the number of clusters and resamples, not on the number of observations. The interval depends
    on the values and the seed, but not on the order of the observations or on the labels of the clusters.

    Parameters
    ----------
    moments : Moments
        The statistic and its observations.
    clusters : array_like, shape (observations,)
        The label of each observation's cluster.
    confidence : float
        Nominal coverage.
    method : str
        ``"percentile"``, or ``"bca"`` (BCa, bias-corrected and accelerated: it corrects for bias, and for skewness,
        which is estimated by a jackknife over clusters). If BCa is undefined (for example because all resamples are on
        the same side of the statistic, or all jackknife values are equal), the percentile interval is returned, and
        the `method` of the result is ``"percentile"``.
    n_resamples : int
        At least 1; a few thousand resamples give limits that are stable to two digits.
    seed : int
    bounds : two floats
        The smallest and the largest possible value of the statistic; the limits of the interval are clipped to them.

    Returns
    -------
    Interval
        `error` is the standard deviation of the statistic over the resamples. If there is no observation, if there is
        only one cluster, or if the statistic is undefined for the observations or for a resample, then the limits are
        NaN and `reason` says why. If all observations are equal, both limits equal the statistic.

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
    # sizes (clusters,); means (k,). sums (clusters, k): for each cluster, the sums of the deviations from the means.
    sizes, means = groups.sizes, moments.values.mean(axis=0)
    sums = groups.sums(moments.values - means)
    # (clusters, k + 1): sums and size of each cluster; the order of the rows does not depend on the cluster labels.
    rows = np.column_stack([sums, sizes])
    rows = rows[in_order(rows)]
    with np.errstate(all="ignore"):
        # (resamples, k + 1): for each resample, the sums of the deviations, and the number of observations.
        totals = np.concatenate([counts @ rows for counts in drawn_counts(groups.count, n_resamples, seed)])
        # (resamples,): the statistic of each resample.
        resampled = np.asarray(moments.finish(means + totals[:, :-1] / totals[:, -1:]))
        # (clusters,): for each cluster, the statistic of all observations outside the cluster (jackknife). The
        # deviations of all observations sum to 0, so those outside a cluster sum to minus the sum of the cluster.
        left_out = np.asarray(moments.finish(means - sums / (len(moments) - sizes)[:, None]))
    return between_quantiles(value, resampled, groups.count, confidence, bounds, left_out if method == "bca" else None)


def in_order(rows: Reals) -> Ids:
    """Return indices that sort `rows` (one row per cluster) by their values; the labels of the clusters do not matter.

    Parameters
    ----------
    rows : float64 array, shape (n, k)

    Returns
    -------
    int64 array, shape (n,)
        Indices that sort the rows by the first column, then by the second, and so on. Before the comparison, the values
        are divided by the largest absolute value of their column and rounded to ten decimals, so that rounding errors
        of sums do not change the order.

    Examples
    --------
    >>> in_order(np.array([[2.0, 0.0], [1.0, 7.0], [1.0, 5.0]]))
    array([2, 1, 0])
    """
    # (k,): largest absolute value of each column.
    scale = np.abs(rows).max(axis=0, initial=0.0)
    # (n, k): the rows scaled to [-1, 1] and rounded.
    keys = np.round(rows / np.where(scale > 0.0, scale, 1.0), 10)
    # `lexsort` sorts by its last key first, hence the reversed columns.
    return np.asarray(np.lexsort(keys.T[::-1]), dtype=np.int64)


def drawn_counts(n_clusters: int, n_resamples: int, seed: int) -> Iterator[Reals]:
    """Yield how often each cluster is drawn in each resample, for one block of resamples at a time.

    Parameters
    ----------
    n_clusters : int
        Number of clusters. Each resample draws this many clusters, with replacement.
    n_resamples : int
    seed : int

    Yields
    ------
    float64 array, shape (resamples of the block, clusters)
        Every row sums to `n_clusters`. All blocks come from one stream of random numbers, so the block size does not
        change the draws.
    """
    rng = np.random.default_rng(seed)
    block = max(1, DRAWS_AT_ONCE // n_clusters)
    for start in range(0, n_resamples, block):
        n_rows = min(block, n_resamples - start)
        # (rows, clusters): for each draw, the index of the drawn cluster.
        draws = rng.integers(n_clusters, size=(n_rows, n_clusters))
        # Row r is shifted by r * n_clusters, so that one `bincount` counts the draws of all rows separately.
        draws += (np.arange(n_rows) * n_clusters)[:, None]
        counts = np.bincount(draws.ravel(), minlength=n_rows * n_clusters)
        yield counts.reshape(n_rows, n_clusters).astype(np.float64)


def between_quantiles(
    value: float,
    resampled: Reals,
    n_clusters: int,
    confidence: float,
    bounds: tuple[float, float] = ANYWHERE,
    left_out: Reals | None = None,
) -> Interval:
    """Return the bootstrap interval; its limits are two quantiles of the statistic over the resamples.

    Parameters
    ----------
    value : float
        The statistic of all observations.
    resampled : float64 array, shape (resamples,)
        The statistic of each resample.
    n_clusters : int
    confidence : float
        Nominal coverage.
    bounds : two floats
        The limits are clipped to these two values.
    left_out : float64 array, shape (clusters,), optional
        For each cluster, the statistic of all observations outside the cluster (jackknife). If given, the method is
        BCa (bias-corrected and accelerated), unless BCa is undefined; otherwise it is the percentile method.

    Returns
    -------
    Interval
        If the statistic is undefined for a resample, the limits are NaN and `reason` says why.
    """
    alpha = (1.0 - confidence) / 2.0
    shares = None if left_out is None else _corrected_shares(value, resampled, left_out, alpha)
    method = "percentile" if shares is None else "bca"
    undefined = int(np.count_nonzero(~np.isfinite(resampled)))
    if undefined:
        reason = f"the value is undefined in {undefined} of {len(resampled)} resamples"
        return Interval(value, nan, nan, confidence, method, n_clusters, reason=reason)
    limits = np.quantile(resampled, shares or (alpha, 1.0 - alpha), method="weibull")
    low, high = (float(limit) for limit in np.clip(limits, *bounds))
    error = float(resampled.std(ddof=1)) if len(resampled) > 1 else nan
    return Interval(value, low, high, confidence, method, n_clusters, error)


def _corrected_shares(value: float, resampled: Reals, left_out: Reals, alpha: float) -> tuple[float, float] | None:
    """Return two shares: the limits of the BCa interval are the quantiles of `resampled` at these shares.

    BCa means bias-corrected and accelerated; if it is undefined, None is returned. The limits of the percentile
    interval are the quantiles at the shares `alpha` and ``1 - alpha`` instead. A resample that equals `value`, apart
    from rounding errors, counts half as below and half as above `value`.
    """
    # (clusters,): deviations of the jackknife values from their mean; the acceleration follows from their skewness.
    deviations = left_out.mean() - left_out
    spread = float(np.square(deviations).sum())
    # Share of the resamples below `value`; the bias correction is its normal quantile.
    same = np.abs(resampled - value) <= 1e-12 * (abs(value) + np.abs(resampled - value).max())
    below = float(np.mean(np.where(same, 0.5, resampled < value)))
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
