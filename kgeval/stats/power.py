"""The minimum detectable difference: how large a true difference must be for a test to find it.

`paired.py` computes the column `detectable` of comparisons with these functions, and `planning.py` computes how many
clusters a test needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, log1p, nan, sqrt
from statistics import NormalDist

import numpy as np

from kgeval.checks import Reals
from kgeval.stats.moments import Moments, first_mean

# With more discordant pairs than this, the binomial distribution is replaced by the normal distribution.
MAX_BINOMIAL = 100
# Accuracy of `detectable_share`, as a share of the largest possible difference.
PRECISION = 2.0**-20


def detectable_difference(first: Reals, second: Reals, difference: float, variance: float, reach: float) -> float:
    """Return the smallest true difference between two statistics that a paired test finds with a given probability.

    If the variance did not depend on the difference, the result would be `reach` times the standard error. But higher
    values often vary more, for example reciprocal ranks. So the variance at a larger difference is estimated by a
    regression over the clusters: of the squared difference between the systems, on the level (the mean of both
    systems). If the difference grows by d, the level grows by d / 2. The variance is assumed to grow in proportion to
    the absolute slope, even if the slope is negative.

    Parameters
    ----------
    first, second : float64 arrays, shape (clusters,)
        For each cluster, how much the statistic of the system changes if the cluster is left out.
    difference, variance : float
        The observed difference and its sampling variance; the variance is above 0.
    reach : float
        The sum of two quantiles of Student's t: one for the significance level, one for the power.

    Returns
    -------
    float

    References
    ----------
    Bloom (1995), Minimum Detectable Effects, Evaluation Review 19 (`reach` times the standard error).

    Examples
    --------
    In this example, the squared differences do not depend on the level, so the result is 2.8 standard errors:

    >>> first = np.array([0.1, -0.1, 0.2, -0.2])
    >>> round(detectable_difference(first, -first, 0.0, 0.01, 2.8), 6)
    0.28
    """
    plain = reach * sqrt(variance)
    gained, growth = variance_growth(first, second, difference, variance)
    if plain <= gained or growth == 0.0:
        return plain
    # The solution d of d**2 = plain**2 * (1 + growth * (d - gained)).
    half = plain**2 * growth / 2.0
    return half + sqrt(max(0.0, half**2 + plain**2 * (1.0 - growth * gained)))


def variance_growth(first: Reals, second: Reals, difference: float, variance: float) -> tuple[float, float]:
    """Return the growth of the variance of a difference with the true difference; see `detectable_difference`.

    Parameters
    ----------
    first, second, difference, variance
        As in `detectable_difference`.

    Returns
    -------
    gained : float
        The observed difference without its sampling error, at least 0. The variance was observed at this difference.
    growth : float
        At a true difference d above `gained`, the variance is multiplied by ``1 + growth * (d - gained)``. 0 if the
        level is the same in all clusters.

    Examples
    --------
    Squared differences 0.01 and 0.09 at the levels -0.05 and 0.15: a slope of 0.4, divided by 2 * 0.05 * 2.

    >>> gained, growth = variance_growth(np.array([0.1, -0.3]), np.array([0.0, 0.0]), 0.2, 0.03)
    >>> round(gained, 9), round(growth, 9)
    (0.1, 2.0)
    """
    gained = sqrt(max(0.0, difference**2 - variance))
    levels, squares = (first + second) / -2.0, np.square(first - second)
    if not np.ptp(levels) > 0.0:
        return gained, 0.0
    slope = float(np.cov(levels, squares)[0, 1] / levels.var(ddof=1))
    # The relative growth of the variance if the difference grows by 1. Leaving out a cluster changes a statistic by the
    # cluster's deviation divided by the number of clusters; so the slope has to be divided by this number.
    return gained, abs(slope) / (2.0 * float(squares.mean()) * len(first))


def detectable_share(first: Reals, second: Reals, variance: float, alpha: float, power: float) -> float:
    """Return the smallest true difference between two shares that a paired test finds with probability `power`.

    A pair of observations is discordant if only one of the two is 1. Only discordant pairs decide the test. A true
    difference d is modelled as follows: two systems have equal shares; then some zeros of one system, chosen at random,
    become ones, so the share of this system rises by d. Most of the changed observations make new discordant pairs, so
    the variance of the observed difference grows with d. This matters if the shares are small. (If the shares are above
    1/2, ones become zeros.)

    Parameters
    ----------
    first, second : float64 arrays, shape (observations,)
        The zeros and ones of each system. Their shares may differ, but the calculation starts from equal shares.
        Therefore the part of the observed difference that is larger than its standard error is removed first.
    variance : float
        The sampling variance of the observed difference; above 0. It gives the effective number of observations.
    alpha : float
        The significance level of the two-sided test.
    power : float
        The probability of a significant result.

    Returns
    -------
    float
        NaN if even the largest possible difference is found with a lower probability, for example with too few
        observations.

    References
    ----------
    Lachenbruch (1992), On the Sample Size for Studies Based upon McNemar's Test, Statistics in Medicine 11 (the
    power given the number of discordant pairs, averaged over their distribution).

    Examples
    --------
    Two systems with 300 observations each, of which 2% are ones; no pair has two ones:

    >>> first, second = np.zeros(300), np.zeros(300)
    >>> first[:6], second[6:12] = 1, 1
    >>> round(detectable_share(first, second, 12 / 300**2, alpha=0.05, power=0.8), 3)
    0.049
    """
    model = ShareModel.of(first, second, variance)
    if not model.zeros or model.power(model.zeros, alpha) < power:
        return nan
    low, high = 0.0, model.zeros
    while high - low > PRECISION * model.zeros:
        middle = (low + high) / 2.0
        low, high = (low, middle) if model.power(middle, alpha) >= power else (middle, high)
    return high


@dataclass(frozen=True)
class ShareModel:
    """Two systems with equal shares; then one share rises (see `detectable_share`).

    If the shares of ones are above 1/2, the model uses the shares of zeros instead.

    Parameters
    ----------
    only_lower, neither : float
        Share of the pairs of observations in which only the lower system has 1, and in which neither system has 1,
        before the rise.
    zeros : float
        Share of zeros of the system that rises; the largest possible rise.
    size : float
        The number of independent pairs that would give the observed variance.
    """

    only_lower: float
    neither: float
    zeros: float
    size: float

    @classmethod
    def of(cls, first: Reals, second: Reals, variance: float) -> ShareModel:
        """Return the model that fits two systems.

        Parameters
        ----------
        first, second, variance
            As in `detectable_share`.
        """
        if first.mean() + second.mean() > 1.0:
            first, second = 1.0 - first, 1.0 - second
        # Shares of all pairs: only the first system has 1, only the second has 1 (both discordant), neither has 1.
        only_first, only_second = float((first > second).mean()), float((second > first).mean())
        neither = float(((first == 0.0) & (second == 0.0)).mean())
        discordant, gap = only_first + only_second, abs(only_first - only_second)
        # The part of the difference that is larger than its standard error.
        gap_beyond = sqrt(max(0.0, gap**2 - variance))
        only_lower = (discordant - gap_beyond) / 2.0
        zeros = only_lower + neither  # share of zeros of the higher system
        # The values of both shares before the higher system rose by gap_beyond.
        only_lower, neither = (
            (part * (zeros + gap_beyond) / zeros if zeros else 0.0) for part in (only_lower, neither)
        )
        return cls(only_lower, neither, zeros + gap_beyond, (discordant - gap**2) / variance)

    def power(self, rise: float, alpha: float, times: float = 1.0) -> float:
        """Return the probability of a significant result for a true difference.

        Parameters
        ----------
        rise : float
            The true difference, from 0 to `zeros`.
        alpha : float
            The significance level of the two-sided test.
        times : float
            The number of observations, divided by the present number.
        """
        higher = self.only_lower + rise * self.neither / self.zeros
        lower = self.only_lower - rise * self.only_lower / self.zeros
        return _sign_test_power(higher, lower, self.size * times, alpha)


def is_share(moments: Moments) -> bool:
    """Return whether a statistic is a plain mean of zeros and ones.

    Parameters
    ----------
    moments : Moments
    """
    return moments.finish is first_mean and bool(((moments.values == 0.0) | (moments.values == 1.0)).all())


def _sign_test_power(higher: float, lower: float, size: float, alpha: float) -> float:
    """Return the power of the two-sided sign test among discordant pairs.

    Parameters
    ----------
    higher, lower : float
        The probability that only the higher system has 1 in a pair, and that only the lower system has 1.
    size : float
        Number of independent pairs.
    alpha : float
    """
    discordant = higher + lower
    if discordant <= 0.0:
        return 0.0
    mean = size * discordant
    if mean > MAX_BINOMIAL:
        normal = NormalDist()
        # 1 / size is half a step of the difference: wins minus losses change in steps of 2, so a test whose level is at
        # most alpha needs half a step more.
        reach = normal.inv_cdf(1.0 - alpha / 2.0) * sqrt(discordant / size) + 1.0 / size
        deviation = sqrt(max(discordant - (higher - lower) ** 2, 1e-300) / size)
        return normal.cdf((higher - lower - reach) / deviation)
    n, width = max(1, round(size)), 6.0 * sqrt(mean) + 6.0
    # m (k, 1): all likely numbers of discordant pairs. wins (1, l): numbers of pairs with a 1 of the
    # higher system only.
    m = np.arange(max(0, int(mean - width)), min(n, int(mean + width) + 1) + 1)[:, None]
    wins = np.arange(int(m[-1, 0]) + 1)[None, :]
    factorials = np.array([lgamma(i + 1.0) for i in range(wins.shape[1])])  # logarithms of 0!, 1!, ...
    rest = np.array([[lgamma(n - i + 1.0)] for i in m[:, 0].tolist()])
    share = min(discordant, 1.0 - 1e-15)
    of_m = np.exp(lgamma(n + 1.0) - factorials[m] - rest + m * log(share) + (n - m) * log1p(-share))
    # (k, l): logarithms of m! / (wins! * losses!); wins above m are impossible.
    ways = np.where(wins <= m, factorials[m] - factorials[wins] - factorials[np.maximum(m - wins, 0)], -np.inf)
    at_least = np.cumsum(np.exp(ways - m * log(2.0))[:, ::-1], axis=1)[:, ::-1]  # probability of at least `wins`
    is_significant = 2.0 * at_least <= alpha * (1.0 + 1e-12)
    odds = min(max(higher / discordant, 1e-15), 1.0 - 1e-15)
    of_wins = np.exp(ways + wins * log(odds) + (m - wins) * log1p(-odds))
    return float((of_m * of_wins * is_significant).sum())
