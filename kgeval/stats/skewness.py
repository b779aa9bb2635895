"""`Skew`: the skewness of a statistic; `intervals.py` corrects the interval of a sample for this skewness.

The mean rank of a sample of triples is skewed: a few bad ranks decide it, and most samples contain too few bad ranks.
A symmetric interval around the mean rank of the sample then often lies below the mean rank of all triples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.base.checks import Reals

# An interval needs this many clusters that differ from the other clusters, or half of all clusters.
MIN_APART = 20
# Clusters whose deviations differ by less than this share of their root mean square count as alike.
ALIKE_SHARE = 1e-3


@dataclass(frozen=True)
class Skew:
    """The skewness of a statistic, estimated from its jackknife deviations.

    Parameters
    ----------
    skewness : float
        The skewness of the statistic, not of the observations: for a mean of n values, the skewness of the values
        divided by the square root of n.
    freedom : int
        The degrees of freedom of the variance: the number of normal clusters whose variance would be estimated as
        precisely. This number is small if a few clusters make up most of the variance.
    n_apart : int
        How many clusters differ from the median cluster.
    n_clusters : int

    References
    ----------
    Hall (1992), On the Removal of Skewness by Transformation, Journal of the Royal Statistical Society B 54.
    """

    skewness: float
    freedom: int
    n_apart: int
    n_clusters: int

    @classmethod
    def of(cls, deviations: Reals) -> Skew:
        """Return the skew of a statistic.

        Parameters
        ----------
        deviations : float64 array, shape (clusters,)
            How much the statistic changes if a cluster is left out (`left_out_deviations`).

        Examples
        --------
        >>> skew = Skew.of(np.array([0.1, 0.1, 0.1, -0.3]))
        >>> round(skew.skewness, 3), skew.freedom, skew.n_apart
        (0.577, 4, 1)
        """
        n, squares = len(deviations), float(np.square(deviations).sum())
        if not (np.isfinite(squares) and squares > 0.0):
            return cls(0.0, max(1, n - 1), n, n)
        # A cluster with a high value has a negative deviation: without the cluster, the statistic is lower.
        skewness = -float((deviations**3).sum()) / squares**1.5
        # The variance of n estimated variances is (kurtosis - 1) / n; kurtosis / n is the quotient below. For normal
        # values the kurtosis is 3, and the result is n; if one cluster has the whole variance, the result is 2.
        kurtosis_by_n = float((deviations**4).sum()) / squares**2
        freedom = int(2.0 / max(kurtosis_by_n - 1.0 / n, 2.0 / n) + 1e-9)
        distance = np.abs(deviations - np.median(deviations))
        n_apart = int((distance > ALIKE_SHARE * np.sqrt(squares / n)).sum())
        return cls(skewness, freedom, n_apart, n)

    @property
    def lacking(self) -> str:
        """The reason why there is no interval, if nearly all clusters are alike; else empty.

        The statistic then depends on the few other clusters, which are too few to estimate the extreme clusters of
        the whole population.
        """
        if self.n_apart >= min(MIN_APART, self.n_clusters / 2.0):
            return ""
        return (
            f"only {self.n_apart} of {self.n_clusters:,} clusters differ from the others; an interval for the whole "
            f"split needs at least {MIN_APART}"
        )

    def quantiles(self, t: float, sampled_share: float) -> tuple[float, float]:
        """Return the distances of the lower and of the upper limit from the statistic, in standard errors.

        Hall's transformation of the error T of a studentised statistic, ``T + a T^2 + a^2 T^3 / 3 + b``, is nearly
        symmetric. So the transformed error is set equal to the quantile `t`, and the equation is solved for T. With an
        infinite population, ``a = skewness / 3`` and ``b = skewness / 6``. In samples that are drawn without
        replacement, from a share f of the population, the Edgeworth expansion of T has the mean ``-sqrt(1 - f) / 2``
        and the third cumulant ``-(2 - f) / sqrt(1 - f)``, each times the skewness. This gives ``a = (2 - f) / (6 sqrt(1
        - f))`` and ``b = sqrt(1 - f) / 2 - a``, each times the skewness.

        Parameters
        ----------
        t : float
            The quantile for a symmetric statistic, such as 1.96.
        sampled_share : float
            The share f of the population that was drawn, below 1.

        Examples
        --------
        >>> below, above = Skew(0.3, 50, 100, 100).quantiles(1.96, 0.0)
        >>> round(below, 2), round(above, 2)
        (1.63, 2.65)
        """
        rest = np.sqrt(1.0 - sampled_share)
        a = self.skewness * (2.0 - sampled_share) / (6.0 * rest)
        b = self.skewness * rest / 2.0 - a
        if abs(a) < 1e-9:
            return t, t
        low, high = ((np.cbrt(1.0 + 3.0 * a * (limit - b)) - 1.0) / a for limit in (-t, t))
        return max(0.0, float(high)), max(0.0, float(-low))
