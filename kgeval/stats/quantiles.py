"""Confidence intervals of the median or another quantile of clustered observations.

A quantile is not a function of means, so the intervals of `intervals.py` do not apply. `RankTable.interval` calls
this module for the median rank.
"""

from __future__ import annotations

from math import nan, sqrt

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import check_number
from kgeval.errors import DataError
from kgeval.stats.clusters import Clusters
from kgeval.stats.intervals import NO_OBSERVATIONS, ONE_CLUSTER, Spread, check_confidence, effective_size
from kgeval.stats.moments import Interval, Moments

TOO_FEW = "too few clusters for limits of this quantile"
ONE_VALUE = "both limits are the same observed value, which many observations share"


def quantile_interval(
    values: npt.ArrayLike, clusters: npt.ArrayLike | Clusters, share: float = 0.5, confidence: float = 0.95
) -> Interval:
    """Return Woodruff's interval of a quantile: the limits of a share, converted to values.

    The share of observations up to the quantile has a standard error, which takes the clusters into account. The
    standard error gives a lower and an upper limit of the share. The limits of the interval are the quantiles at these
    two shares, so each limit is an observed value.

    Parameters
    ----------
    values : array_like of floats, shape (observations,)
        No NaN.
    clusters : array_like, shape (observations,)
        The label of each observation's cluster.
    share : float
        The share of values below the quantile: 0.5 for the median. If the number of values is even, the median is the
        mean of the two middle values.
    confidence : float
        Nominal coverage.

    Returns
    -------
    Interval
        `error` is the width of the interval divided by twice the quantile of Student's t. If there is no observation,
        if there is only one cluster, or if there are too few clusters (fewer than 7 for the median with confidence
        0.95), then the limits are NaN and `reason` says why. With too few clusters, a limit would be outside the range
        of the observations. If many observations share one value, both limits may be this value; `reason` says so.

    References
    ----------
    Woodruff (1952), Confidence Intervals for Medians and Other Position Measures, JASA 47; Francisco and Fuller
    (1991), Quantile Estimation with a Complex Survey Design, Annals of Statistics 19.

    Examples
    --------
    >>> print(quantile_interval(np.arange(1.0, 101.0), np.arange(100)))
    50.5000 [41.0000, 60.0000]
    """
    check_confidence(confidence)
    check_number("share", share, 0.0, 1.0, "a share between 0 and 1, such as 0.5 for the median")
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise DataError(f"values must have shape (observations,); got {array.shape}")
    if np.isnan(array).any():
        row = int(np.flatnonzero(np.isnan(array))[0])
        raise DataError(f"values, row {row}: NaN cannot be ordered; remove such rows")
    groups = Clusters.of(clusters, len(array))
    if groups.count < 2:
        value = float(np.quantile(array, share, method="averaged_inverted_cdf")) if len(array) else nan
        reason = ONE_CLUSTER if len(array) else NO_OBSERVATIONS
        return Interval(value, nan, nan, confidence, "woodruff", groups.count, reason=reason)
    value = float(np.quantile(array, share, method="averaged_inverted_cdf"))
    # size: effective sample size of the share of values up to the quantile. reach: half the width of the share's
    # interval.
    spread = Spread.of(Moments((array <= value).astype(np.float64)[:, None]), groups)
    size = effective_size(spread.value, spread.variance, spread.n_effective)
    t = spread.quantile((1.0 + confidence) / 2.0)
    reach = t * sqrt(share * (1.0 - share) / size)
    if share - reach <= 0.0 or share + reach >= 1.0:
        return Interval(value, nan, nan, confidence, "woodruff", groups.count, reason=TOO_FEW)
    # The limits of the share, share - reach and share + reach, give 0-based indices in the n sorted values.
    ordered, n = np.sort(array), len(array)
    low = float(ordered[int(np.ceil((share - reach) * n)) - 1])
    high = float(ordered[min(int(np.floor((share + reach) * n)), n - 1)])
    reason = ONE_VALUE if low == high else ""
    error = (high - low) / (2.0 * t)
    return Interval(value, low, high, confidence, "woodruff", groups.count, error, reason, spread.n_effective)
