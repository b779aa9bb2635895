"""Confidence intervals of a statistic of clustered observations: cluster-robust, and Wilson's.

The statistic is a function of means (`Moments`). Observations of the same cluster may depend on each other;
observations of different clusters must be independent. `RankTable` and `kgeval.compare` call `robust_interval`;
`paired.py` and `quantiles.py` call the other functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan, sqrt

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Reals, check_number
from kgeval.stats.clusters import Clusters, Grouping, left_out_deviations
from kgeval.stats.moments import Interval, Moments
from kgeval.stats.skewness import Skew
from kgeval.stats.tails import student_quantile

ANYWHERE = (float("-inf"), float("inf"))
NO_OBSERVATIONS = "no observations"
UNDEFINED = "the value is undefined"
UNDEFINED_WITHOUT = "the value is undefined if one of the clusters is left out"
ONE_CLUSTER = "one cluster only; an interval needs at least two"
MIN_EFFECTIVE = 2.0 - 1e-9  # an interval needs at least 2 effective clusters; 1e-9: rounding errors
ALIKE = "the value is the same in every cluster, so its variation cannot be estimated"


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


def too_few(n_effective: float) -> str:
    """Return the reason why fewer than 2 effective clusters give no interval; empty for 2 or more.

    Parameters
    ----------
    n_effective : float
        The effective number of clusters.
    """
    return f"{n_effective:.1f} effective clusters; at least 2 are needed" if n_effective < MIN_EFFECTIVE else ""


def freedom_of(n_effective: float) -> int:
    """Return the degrees of freedom of Student's t: the effective number of clusters minus 1, rounded down, at least 1.

    Parameters
    ----------
    n_effective : float
    """
    return max(1, int(n_effective - 1.0 + 1e-9))  # 1e-9: sums of weights may come out just below an integer


@dataclass(frozen=True)
class Spread:
    """How much a statistic varies from sample to sample, estimated from the clusters of one sample.

    Parameters
    ----------
    value : float
        The value of the statistic; NaN if it is undefined.
    variance : float
        The sampling variance of the statistic; NaN if it cannot be estimated (see `reason`).
    n_effective : float
        The effective number of clusters; Student's t has this number minus 1 degrees of freedom, rounded down.
    n_clusters : int
    reason : str
        Why the variance cannot be estimated; else empty.
    skew : Skew, optional
        The skewness of the statistic; `interval` uses the skewness for samples of finite populations.
    """

    value: float
    variance: float
    n_effective: float
    n_clusters: int
    reason: str = ""
    skew: Skew | None = None

    @classmethod
    def of(cls, moments: Moments, clusters: Clusters, with_skew: bool = False) -> Spread:
        """Return the spread of one statistic, given the clusters of its observations."""
        value, reason = value_of(moments, clusters)
        if reason:
            return cls(value, nan, nan, clusters.count, reason)
        variance = clusters.variance(lambda grouping: left_out_deviations(moments, grouping))
        n_effective = clusters.effective_number(moments.weights)
        skew = Skew.of(left_out_deviations(moments, clusters.first)) if with_skew else None
        return cls(value, variance, n_effective, clusters.count, clusters.lacking, skew).checked()

    @classmethod
    def of_mean(cls, parts: Sequence[Moments], clusters: Clusters, with_skew: bool = False) -> Spread:
        """Return the spread of a macro average: the unweighted mean of a statistic over groups of observations.

        The groups are fixed, and the observations of each group are a sample. So only the deviations within a group
        count. If a group has one cluster only, its variance is unknown, and so is the variance of the mean.

        Parameters
        ----------
        parts : sequence of Moments
            The statistic of each group.
        clusters : Clusters
            The clusters of all observations: those of ``parts[0]``, then those of ``parts[1]``, and so on.
        with_skew : bool
            Whether to compute `skew`; the clusters must not overlap.

        References
        ----------
        Rust and Rao (1996), Variance estimation for complex surveys using replication techniques, Statistical Methods
        in Medical Research 5 (the jackknife of strata); Satterthwaite (1946), An Approximate Distribution of Estimates
        of Variance Components, Biometrics Bulletin 2 (degrees of freedom).
        """
        ends = np.cumsum([len(part) for part in parts])
        rows = [np.arange(end - len(part), end) for part, end in zip(parts, ends)]
        values = [value_of(part, clusters)[0] for part in parts]
        value = float(np.mean(values)) if parts else nan
        single = max(
            (sum(grouping.take(row)[0].count < 2 for row in rows) for grouping in clusters.groupings), default=0
        )
        reason = ""
        if not parts:
            reason = "no groups"
        elif not isfinite(value):
            reason = UNDEFINED
        elif single:
            reason = (
                f"{single} of {len(parts)} groups have one cluster only (such as one triple), so that their variance "
                "is unknown; leave them out, or merge groups"
            )
        if reason:
            return cls(value, nan, nan, clusters.count, reason)

        def deviations(grouping: Grouping) -> Reals:
            total = np.zeros(grouping.count)
            for part, row in zip(parts, rows):
                local, kept = grouping.take(row)
                total[kept] += left_out_deviations(part, local) / len(parts)
            return total

        def freedom(grouping: Grouping) -> float:
            sizes = np.array([grouping.take(row)[0].effective_number(part.weights) for part, row in zip(parts, rows)])
            return float((1.0 / sizes).sum() ** 2 / (1.0 / sizes**2 / (sizes - 1.0)).sum())

        with np.errstate(all="ignore"):
            n_effective = 1.0 + min(freedom(grouping) for grouping in clusters.groupings)
        variance, skew = clusters.variance(deviations), Skew.of(deviations(clusters.first)) if with_skew else None
        return cls(value, variance, n_effective, clusters.count, clusters.lacking, skew).checked()

    def checked(self) -> Spread:
        """Return the spread; if it allows no interval, `reason` of the result says why."""
        if self.reason:
            return self
        if not isfinite(self.value):
            return replace(self, variance=nan, reason=UNDEFINED)
        if self.n_clusters == 1:
            return replace(self, variance=nan, reason=ONE_CLUSTER)
        if not isfinite(self.variance):
            return replace(self, variance=nan, reason=UNDEFINED_WITHOUT)
        return replace(self, reason=too_few(self.n_effective))

    @property
    def freedom(self) -> int:
        """The degrees of freedom of Student's t: `n_effective` minus 1, rounded down, at least 1."""
        return freedom_of(self.n_effective)

    def quantile(self, share: float) -> float:
        """Return the quantile of Student's t with `freedom` degrees of freedom."""
        return student_quantile(share, self.freedom)

    def interval(
        self, confidence: float, bounds: tuple[float, float] = ANYWHERE, sampled_share: float = 0.0
    ) -> Interval:
        """Return the interval around the value; the parameters are those of `robust_interval`."""
        bounded = bounds == (0.0, 1.0)
        method = "wilson" if bounded else "robust"
        reason = self.reason
        if not reason and not bounded and self.variance == 0.0:
            reason = ALIKE
        if not reason and not bounded and self.skew is not None:
            reason = self.skew.lacking
        unsampled = 1.0 - sampled_share
        if reason:
            error = sqrt(self.variance * unsampled) if self.variance > 0.0 else nan
            return Interval(self.value, nan, nan, confidence, method, self.n_clusters, error, reason)
        t, variance = self.quantile((1.0 + confidence) / 2.0), self.variance
        if bounded:
            low, high = wilson_limits(self.value, variance * unsampled, self.n_effective, t)
        else:
            below, above = t, t
            if self.skew is not None:
                t = student_quantile((1.0 + confidence) / 2.0, min(self.freedom, self.skew.freedom))
                below, above = self.skew.quantiles(t, sampled_share)
            error = sqrt(variance * unsampled)
            ends = self.value - below * error, self.value + above * error
            low, high = (min(max(limit, bounds[0]), bounds[1]) for limit in ends)
        error = sqrt(variance * unsampled)
        return Interval(self.value, low, high, confidence, method, self.n_clusters, error, n_effective=self.n_effective)


def robust_interval(
    moments: Moments,
    clusters: npt.ArrayLike | Clusters,
    confidence: float = 0.95,
    bounds: tuple[float, float] = ANYWHERE,
    sampled_share: float = 0.0,
) -> Interval:
    """Return the cluster-robust interval of a statistic.

    The variance is the jackknife variance over clusters (see `left_out_deviations`). The degrees of freedom of
    Student's t are the effective number of clusters minus 1, rounded down. Observations of the same cluster may depend
    on each other in any way; observations that share no cluster must be independent.

    The limits are the statistic plus and minus t times the standard error. If the statistic can only have values from 0
    to 1, the limits are Wilson's, for the number of independent observations that would give the same variance (the
    effective sample size), and `method` is ``"wilson"``. Wilson's limits are accurate near 0 and 1 too, and they differ
    even if all observations are equal (see `wilson_limits`).

    Parameters
    ----------
    moments : Moments
        The statistic and its observations.
    clusters : array_like, shape (observations,), or Clusters
        The label of each observation's cluster; or `Clusters`, which may overlap.
    confidence : float
        Nominal coverage.
    bounds : two floats
        The smallest and the largest possible value of the statistic; the limits of the interval are clipped to them.
        (0, 1) chooses Wilson's limits.
    sampled_share : float
        For clusters that are drawn at random, without replacement, from a finite population: the size of the sample
        divided by the size of the population. The variance is multiplied by ``1 - sampled_share`` (finite-population
        correction). If `bounds` are not (0, 1), the limits are also corrected for skewness (see `Skew`). 0 means an
        infinite population, and no correction.

    Returns
    -------
    Interval
        The limits are NaN, and `reason` says why, if there is no observation, if there are fewer than 2 effective
        clusters, if the statistic is undefined, or if `bounds` are not (0, 1) and the statistic is the same in every
        cluster.

    References
    ----------
    Cameron and Miller (2015), A Practitioner's Guide to Cluster-Robust Inference, Journal of Human Resources 50;
    MacKinnon, Nielsen and Webb (2023), Fast and reliable jackknife and bootstrap methods for cluster-robust inference,
    Journal of Applied Econometrics 38; Wilson (1927), Probable Inference, the Law of Succession, and Statistical
    Inference, JASA 22; Franco et al. (2019), Comparative Study of Confidence Intervals for Proportions in Complex
    Sample Surveys, Journal of Survey Statistics and Methodology 7 (Wilson's interval with an effective sample size);
    Cochran (1977), Sampling Techniques, section 2.6 (finite populations).

    Examples
    --------
    >>> ranks = np.array([[1.0], [3.0], [2.0], [2.0], [1.0], [9.0]])
    >>> print(robust_interval(Moments(ranks), [0, 0, 1, 1, 2, 2], bounds=(1.0, 100.0)))
    3.0000 [1.0000, 7.3027] (3 effective clusters)
    >>> print(robust_interval(Moments(1 / ranks), [0, 0, 1, 1, 2, 2], bounds=(0.0, 1.0)))
    0.5741 [0.3684, 0.7569] (3 effective clusters)
    """
    check_confidence(confidence)
    with_skew = sampled_share > 0.0 and bounds != (0.0, 1.0)
    spread = Spread.of(moments, Clusters.of(clusters, len(moments)), with_skew)
    return spread.interval(confidence, bounds, sampled_share)


def macro_interval(
    parts: Sequence[Moments],
    clusters: npt.ArrayLike | Clusters,
    confidence: float = 0.95,
    bounds: tuple[float, float] = ANYWHERE,
    sampled_share: float = 0.0,
) -> Interval:
    """Return the interval of a macro average: the unweighted mean of a statistic over fixed groups of observations.

    Parameters
    ----------
    parts : sequence of Moments
        The statistic of each group.
    clusters : array_like, shape (observations,), or Clusters
        The clusters of all observations: those of ``parts[0]``, then those of ``parts[1]``, and so on.
    confidence, bounds, sampled_share
        As in `robust_interval`.

    Returns
    -------
    Interval
        If a group has only one cluster, its variance is unknown: the limits are NaN and `reason` says why.

    Examples
    --------
    >>> groups = [Moments(np.array([[1.0], [3.0]])), Moments(np.array([[2.0], [8.0]]))]
    >>> print(macro_interval(groups, [0, 1, 2, 3]))
    3.5000 [-3.3031, 10.3031] (3 effective clusters)
    """
    check_confidence(confidence)
    with_skew = sampled_share > 0.0 and bounds != (0.0, 1.0)
    spread = Spread.of_mean(parts, Clusters.of(clusters, sum(map(len, parts))), with_skew)
    interval = spread.interval(confidence, bounds, sampled_share)
    return replace(interval, reason=f"within each group {ALIKE}") if interval.reason == ALIKE else interval


def value_of(moments: Moments, clusters: Clusters) -> tuple[float, str]:
    """Return the value of a statistic and, if an interval cannot be computed, the reason.

    Parameters
    ----------
    moments : Moments
    clusters : Clusters

    Returns
    -------
    value : float
        NaN if there is no observation, or if the statistic is undefined.
    reason : str
        Empty if an interval can be computed.
    """
    if not len(moments):
        return nan, NO_OBSERVATIONS
    with np.errstate(all="ignore"):
        value = float(moments.number)
    if not isfinite(value):
        return nan, UNDEFINED
    return value, ONE_CLUSTER if clusters.count == 1 else ""


def effective_size(share: float, variance: float, n_effective: float) -> float:
    """Return the effective sample size of a share, or of another statistic between 0 and 1.

    The effective sample size is the number of independent observations, each 0 or 1, that would estimate the share with
    the same variance: ``share * (1 - share) / variance``. If the variance is 0, or the share is 0 or 1, the result is
    `n_effective`.

    Parameters
    ----------
    share, variance : float
        The statistic and its sampling variance.
    n_effective : float
        The effective number of clusters.

    Returns
    -------
    float

    References
    ----------
    Korn and Graubard (1998), Confidence Intervals for Proportions with Small Expected Number of Positive
    Counts Estimated from Survey Data, Survey Methodology 24.
    """
    return share * (1.0 - share) / variance if variance > 0.0 and 0.0 < share < 1.0 else n_effective


def wilson_limits(share: float, variance: float, n_effective: float, t: float) -> tuple[float, float]:
    """Return Wilson's limits of a statistic between 0 and 1.

    If all clusters have the same value, only clusters like none that was seen can move it, to 0 or to 1 at most: the
    limits are those of a share of such clusters of which none was seen, as Wilson's are for a share of 0.

    Parameters
    ----------
    share : float
        The value of the statistic.
    variance : float
        Its sampling variance; 0 if all clusters have the same value.
    n_effective : float
        The effective number of clusters.
    t : float
        The quantile of Student's t for the confidence level.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> [round(limit, 4) for limit in wilson_limits(0.5, 0.0025, 100.0, 1.96)]
    [0.4038, 0.5962]
    >>> [round(limit, 4) for limit in wilson_limits(0.5, 0.0, 100.0, 1.96)]
    [0.4815, 0.5185]
    """
    if variance == 0.0:
        unseen = t * t / (n_effective + t * t)
        return share - unseen * share, share + unseen * (1.0 - share)
    size = effective_size(share, variance, n_effective)
    shrink = 1.0 + t * t / size
    centre = (share + t * t / (2.0 * size)) / shrink
    reach = t / shrink * sqrt(max(0.0, share * (1.0 - share)) / size + t * t / (4.0 * size * size))
    # Rounding errors could put a limit below 0 or above 1, or put a share of 0 or 1 outside its interval. `min` and
    # `max` prevent both.
    return max(0.0, min(share, centre - reach)), min(1.0, max(share, centre + reach))
