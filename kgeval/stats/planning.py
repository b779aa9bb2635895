"""Planning of comparisons: how many clusters a test needs, and how likely the order of systems repeats.

`Comparison.plan` and `Comparison.replication` call these functions. The variance models are those of the minimum
detectable difference in `power.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, isfinite, isnan, nan, sqrt

import numpy as np
import numpy.typing as npt

from kgeval.checks import Reals, check_number, check_positive_int, counted
from kgeval.errors import DataError, MetricError
from kgeval.stats.clusters import Clusters, left_out_deviations
from kgeval.stats.intervals import freedom_of
from kgeval.stats.moments import Moments
from kgeval.stats.paired import compare_paired
from kgeval.stats.power import ShareModel, is_share, variance_growth
from kgeval.stats.tails import student_p_value, student_quantile

# The largest number of clusters that a plan can name.
MAX_CLUSTERS = 2**40
# Two powers that differ by less than this count as equal, so that the present sample is enough to find its
# `detectable`.
POWER_ROUNDING = 1e-6


@dataclass(frozen=True)
class PowerModel:
    """The power of a paired test with the clusters of a sample, or with more clusters of the same kind.

    Parameters
    ----------
    error : float
        The standard error of the observed difference.
    n_clusters, n_differing : int
        Number of clusters, and number of clusters in which the two systems differ.
    n_effective : float
        The effective number of clusters.
    gained, growth : float
        How the variance grows with the true difference (`variance_growth`); a growth of 0 for shares.
    shares : ShareModel, optional
        The model of two shares, if the statistic is a mean of zeros and ones.
    alpha : float
        The significance level of the two-sided test.
    reason : str
        Why there is no model; else empty.
    """

    error: float
    n_clusters: int
    n_differing: int
    n_effective: float
    gained: float
    growth: float
    shares: ShareModel | None
    alpha: float
    reason: str = ""

    @classmethod
    def of(cls, first: Moments, second: Moments, clusters: Clusters, alpha: float) -> PowerModel:
        """Return the model that fits two systems.

        Parameters
        ----------
        first, second : Moments
            The statistic of each system, for the same observations.
        clusters : Clusters
        alpha : float
        """
        # One random swap pattern: only the standard error is needed, not the p-value.
        difference = compare_paired([first], [second], clusters, n_resamples=1)[0]
        reason = difference.reason if isnan(difference.low) else ""
        gained, growth, shares = 0.0, 0.0, None
        if not reason:
            variance = difference.error**2
            if is_share(first) and is_share(second):
                shares = ShareModel.of(first.values[:, 0], second.values[:, 0], variance)
            else:
                deviations = [left_out_deviations(moments, clusters.first) for moments in (first, second)]
                gained, growth = variance_growth(deviations[0], deviations[1], difference.value, variance)
        return cls(
            difference.error,
            difference.n_clusters,
            difference.n_differing,
            difference.n_effective,
            gained,
            growth,
            shares,
            alpha,
            reason,
        )

    def power(self, difference: float, times: float = 1.0) -> float:
        """Return the probability that the test finds the true difference `difference`.

        The result is above the argument `power` of `compare_paired` if and only if `difference` is above `detectable`.

        Parameters
        ----------
        difference : float
            Above 0.
        times : float
            The number of clusters, divided by the present number.

        Returns
        -------
        float
            0 if so few clusters differ that no p-value can be significant; NaN if the difference is larger than the
            model of shares allows.
        """
        if 2.0 ** (1.0 - self.n_differing * times) > self.alpha:
            return 0.0
        freedom = freedom_of(self.n_effective * times)
        variance = self.error**2 / times * (1.0 + self.growth * max(0.0, difference - self.gained))
        found = _below(difference / sqrt(variance) - student_quantile(1.0 - self.alpha / 2.0, freedom), freedom)
        if self.shares is None:
            return found
        if difference > self.shares.zeros:
            return nan
        return min(found, self.shares.power(difference, self.alpha, times))


@dataclass(frozen=True)
class Plan:
    """How many clusters a paired test needs to find a difference; `plan_clusters` returns it.

    Parameters
    ----------
    difference, power, alpha : float
        The true difference to find, the wished-for power of the test, and its significance level.
    n_clusters : int
        The present number of clusters.
    n_needed : float
        The smallest number of clusters with this power, an integer; NaN if there is no plan (see `reason`).
    power_now : float
        The power of the present sample for this difference.
    reason : str
        Why there is no plan; else empty.
    """

    difference: float
    power: float
    alpha: float
    n_clusters: int
    n_needed: float
    power_now: float
    reason: str = ""

    @property
    def times(self) -> float:
        """The number of clusters that are needed, divided by the present number; NaN if there is no plan."""
        return self.n_needed / self.n_clusters if self.n_clusters else nan

    @property
    def is_enough(self) -> bool:
        """Whether the present sample already has the wished-for power."""
        return self.n_needed <= self.n_clusters


def plan_clusters(
    first: Moments,
    second: Moments,
    clusters: npt.ArrayLike | Clusters,
    difference: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
) -> Plan:
    """Return the number of clusters with which a paired test finds a true difference with a given probability.

    This is the inverse of the minimum detectable difference of `compare_paired`, with the same models: if
    `difference` is the `detectable` of a sample, the plan needs as many clusters as the sample has. More clusters are
    assumed to be like the observed ones: the same sizes, the same share of clusters that differ, the same variance.

    The plan is best if the two systems of the sample differ about as much as planned: in the simulations of
    tests/bench/bench_planning.py the power is then 0.80 to 0.84 if 0.80 was planned. If the systems of the sample
    are equally good, the variance at the planned difference is not observed, and the plan assumes a large variance: the
    power is then 0.80 (MRR) to 0.89 (hits@k, MR), so fewer clusters would be enough.

    Parameters
    ----------
    first, second : Moments
        The statistic of each system, for the same observations: a pilot sample.
    clusters : array_like, shape (observations,), or Clusters
    difference : float
        The true difference to find; its sign does not matter.
    power : float
    alpha : float
        The significance level of the two-sided test; for several tests, divided by their number.

    Returns
    -------
    Plan
        For shares with few discordant pairs, the power does not rise evenly with the number of clusters; the number of
        clusters then has an error of a few percent.

    Raises
    ------
    MetricError
        If `difference` is 0 or not finite, or if `power` or `alpha` is out of range.

    References
    ----------
    Bloom (1995) and Lachenbruch (1992), as in `detectable_difference` and `detectable_share`.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=(200, 2))
    >>> plan = plan_clusters(Moments(values[:, :1]), Moments(values[:, 1:]), np.arange(200), 0.1)
    >>> plan.is_enough, 1200 < plan.n_needed < 2200
    (False, True)
    """
    size = abs(check_number("difference", difference, -inf, inf, "a finite number other than 0, such as 0.005"))
    if size == 0.0:
        raise MetricError("difference must be a finite number other than 0, such as 0.005; got 0")
    check_number("power", power, 0.0, 1.0, "a probability between 0 and 1, such as 0.8")
    check_number("alpha", alpha, 0.0, 1.0, "a significance level between 0 and 1, such as 0.05")
    model = PowerModel.of(first, second, Clusters.of(clusters, len(first)), alpha)
    n = model.n_clusters
    reason = model.reason
    if not reason and model.n_differing == 0:
        reason = "the two systems have equal values in every cluster"
    if not reason and model.shares is not None and size > model.shares.zeros:
        reason = f"the difference is larger than the largest possible one, {model.shares.zeros:.4g}"
    if reason:
        return Plan(size, power, alpha, n, nan, nan, reason)

    def is_enough(n_clusters: int) -> bool:
        return model.power(size, n_clusters / n) >= power - POWER_ROUNDING

    power_now = model.power(size)
    few, enough = (1, n) if is_enough(n) else (n, 2 * n)
    while not is_enough(enough):
        few, enough = enough, 2 * enough
        if enough > MAX_CLUSTERS:
            return Plan(
                size, power, alpha, n, nan, power_now, f"more than {counted(MAX_CLUSTERS, 'cluster')} are needed"
            )
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if is_enough(middle) else (middle, enough)
    return Plan(size, power, alpha, n, float(enough), power_now)


@dataclass(frozen=True, eq=False)
class OrderRepeats:
    """Probabilities that a new sample of the same size gives the same order of systems; from `order_repeats`.

    Parameters
    ----------
    order : float
        The probability that the new values of all systems are in the same order.
    first : float
        The probability that the system with the best observed value has the best new value.
    pairs : float64 array, shape (systems, systems)
        Element (i, j): the probability that the new difference of systems i and j has the same sign as the
        observed difference. 0.5 if the observed difference is 0 and its standard error is above 0; NaN if the
        standard error is 0, and on the diagonal.
    """

    order: float
    first: float
    pairs: Reals


def order_repeats(
    values: Sequence[float] | Reals,
    errors: npt.ArrayLike,
    freedom: float,
    *,
    n_draws: int = 20000,
    seed: int = 0,
) -> OrderRepeats:
    """Return the probabilities that a new sample of the same size gives the same order of systems.

    Let d be the observed difference of two systems and s its standard error. If nothing but d is known of the true
    difference, the true difference is distributed around d with the standard deviation s. The difference in a new
    sample is distributed around the true difference, also with the standard deviation s. So the new difference minus d,
    divided by ``sqrt(2) * s``, has Student's t distribution. The sign repeats with the probability that this quotient
    is above ``-|d| / (sqrt(2) * s)``. With p = 0.05 (d = 1.96 s) this probability is 0.92, not 0.95. For the order of
    all systems, the differences between each system and one reference system are drawn together, with the covariances
    that follow from the errors of all pairs.

    The result assumes that any true difference was equally likely beforehand. It is too high if the systems were
    expected to be nearly equal, or if the first system was chosen as the best of many: the observed
    differences are then larger than the true ones on average.

    Parameters
    ----------
    values : float64 array, shape (systems,)
        The system with the largest value is the first; negate the values if lower values are better.
    errors : array_like, shape (systems, systems)
        The standard error of the difference of each pair; 0 on the diagonal.
    freedom : float
        Degrees of freedom of Student's t.
    n_draws : int
        Number of random draws for the order of three or more systems; the simulation error is at most
        ``0.5 / sqrt(n_draws)``.
    seed : int

    Returns
    -------
    OrderRepeats
        A probability is NaN if one of the errors on which it depends is NaN.

    Raises
    ------
    DataError
        If the shapes do not fit.

    References
    ----------
    Killeen (2005), An Alternative to Null-Hypothesis Significance Tests, Psychological Science 16 (the probability of
    replication); Lecoutre, Lecoutre and Poitevineau (2010), Killeen's Probability of Replication and Predictive
    Probabilities, Psychological Methods 15 (its assumptions).

    Examples
    --------
    >>> round(order_repeats([0.30196, 0.3], [[0.0, 0.001], [0.001, 0.0]], 10**6).order, 3)
    0.917
    """
    levels = np.asarray(values, dtype=np.float64)
    deviations = np.asarray(errors, dtype=np.float64)
    n = len(levels)
    if levels.ndim != 1 or deviations.shape != (n, n) or n < 2:
        raise DataError(
            f"values must have shape (systems,), at least 2, and errors (systems, systems); got {levels.shape} and "
            f"{deviations.shape}"
        )
    check_positive_int("n_draws", n_draws, MetricError)
    pairs = np.full((n, n), nan)
    for i in range(n):
        for j in range(n):
            if deviations[i, j] > 0.0:
                pairs[i, j] = _below(abs(levels[i] - levels[j]) / (sqrt(2.0) * deviations[i, j]), freedom)
    if not (np.isfinite(levels).all() and np.isfinite(deviations).all()):
        return OrderRepeats(nan, nan, pairs)
    order = np.argsort(-levels, kind="stable")
    if n == 2:
        repeats = 1.0 if isnan(pairs[0, 1]) else float(pairs[0, 1])
        return OrderRepeats(repeats, repeats, pairs)
    # Row i of `drawn`: the new values of the systems minus the value of the last system in `order`, one draw per row.
    variances = np.square(deviations[np.ix_(order, order)])
    to_last = variances[:-1, -1]
    # The covariance of (x_i - x_r) and (x_j - x_r) is half of Var(i - r) + Var(j - r) - Var(i - j).
    covariance = (to_last[:, None] + to_last[None, :] - variances[:-1, :-1]) / 2.0
    sizes, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(sizes, 0.0))  # variances of crossed clusters may not fit together exactly
    rng = np.random.default_rng(seed)
    scale = np.sqrt(2.0 * freedom / rng.chisquare(freedom, size=n_draws))
    drawn = levels[order[:-1]] - levels[order[-1]] + rng.normal(size=(n_draws, n - 1)) @ root.T * scale[:, None]
    drawn = np.column_stack([drawn, np.zeros(n_draws)])
    # Systems that are equal in every cluster stay equal; rounding errors must not decide about them.
    rounding = 1e-9 * np.sqrt(variances.max())
    repeats = (drawn[:, :-1] >= drawn[:, 1:] - rounding).all(axis=1)
    leads = (drawn[:, :1] >= drawn[:, 1:] - rounding).all(axis=1)
    return OrderRepeats(float(repeats.mean()), float(leads.mean()), pairs)


def _below(t: float, freedom: float) -> float:
    """Return the probability that a variable with Student's t distribution is below `t`."""
    if not isfinite(t):
        return float(t > 0.0)
    two_sided = student_p_value(t, freedom)
    return 1.0 - two_sided / 2.0 if t > 0.0 else two_sided / 2.0


def scaled_up(n: int, times: float) -> int:
    """Return `n` times a factor, rounded up; rounding errors of the product do not count.

    Parameters
    ----------
    n : int
    times : float

    Examples
    --------
    >>> scaled_up(200, 1.5), scaled_up(3, 1.1), scaled_up(10, 0.1)
    (300, 4, 1)
    """
    return ceil(n * times * (1.0 - 1e-12))
