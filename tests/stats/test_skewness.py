"""Skew: what a few bad ranks change in the interval of a sample, by formulas and by simulation."""

import math

import numpy as np
import pytest

from kgeval.stats.intervals import macro_interval, robust_interval
from kgeval.stats.moments import Moments
from kgeval.stats.skewness import MIN_APART, Skew


def column(values):
    return Moments(np.asarray(values, dtype=np.float64).reshape(-1, 1))


def deviations_of(values):
    """The jackknife deviations of a mean, from their definition."""
    values = np.asarray(values, dtype=np.float64)
    n = len(values)
    left_out = np.array([np.delete(values, i).mean() for i in range(n)])
    return (left_out - values.mean()) * math.sqrt((n - 1) / n)


def test_skewness_and_freedom():
    """The skewness of a mean is that of the values, divided by sqrt(n); the freedom is 2n / (kurtosis - 1)."""
    values = np.random.default_rng(1).lognormal(size=50)
    z = (values - values.mean()) / values.std()
    skew = Skew.of(deviations_of(values))
    assert skew.skewness == pytest.approx((z**3).mean() / math.sqrt(50), rel=1e-9)
    assert skew.freedom == int(2 * 50 / ((z**4).mean() - 1.0))
    assert Skew.of(deviations_of(-values)).skewness == pytest.approx(-skew.skewness, rel=1e-9)


def test_one_cluster_that_decides():
    """One bad rank of 1,000: two degrees of freedom, and no interval, since the others are all alike."""
    values = np.ones(1000)
    values[7] = 5000.0
    skew = Skew.of(deviations_of(values))
    assert (skew.freedom, skew.n_apart) == (2, 1)
    found = robust_interval(column(values), np.arange(1000), bounds=(1.0, math.inf), sampled_share=0.1)
    assert found.reason == (
        "only 1 of 1,000 clusters differ from the others; an interval for the whole split needs at least 20"
    )
    assert math.isnan(found.low)
    assert found.error == pytest.approx(math.sqrt(0.9) * 4.999, rel=1e-9)
    assert robust_interval(column(values), np.arange(1000), bounds=(1.0, math.inf)).reason == ""  # no sample


@pytest.mark.parametrize(
    ("n_apart", "n", "has_interval"), [(19, 1000, False), (20, 1000, True), (5, 12, False), (6, 12, True)]
)
def test_enough_clusters_differ(n_apart, n, has_interval):
    """At least 20, or half of the clusters of a small sample."""
    assert MIN_APART == 20
    values = np.concatenate([np.arange(2.0, 2.0 + n_apart), np.ones(n - n_apart)])
    found = robust_interval(column(values), np.arange(n), sampled_share=0.01)
    assert (found.reason == "") == has_interval


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("skewness", [-0.4, 1e-12, 0.05, 0.4, 0.9])
def test_limits_solve_the_transformation(skewness, share):
    """T + a T^2 + a^2 T^3 / 3 + b is the quantile, with the mean and the third cumulant of the Edgeworth expansion."""
    below, above = Skew(skewness, 50, 100, 100).quantiles(1.96, share)
    first, third = -math.sqrt(1 - share) / 2 * skewness, -(2 - share) / math.sqrt(1 - share) * skewness
    a = -third / 6
    b = -(first + a)  # so that the mean of the transformed T is 0
    for error, quantile in ((below, 1.96), (-above, -1.96)):
        assert error + a * error**2 + a**2 * error**3 / 3 + b == pytest.approx(quantile, abs=1e-6)
    if skewness > 0.01:
        assert above > 1.96 > below


def test_limits_hold_the_value():
    """With nearly all clusters drawn, the transformation could put both limits on one side of the value."""
    assert Skew(1.0, 2, 1000, 1000).quantiles(1.96, 0.999)[1] == 0.0
    values = np.random.default_rng(2).lognormal(sigma=2.0, size=60)
    for share in (0.5, 0.99, 0.9999):
        found = robust_interval(column(values), np.arange(60), sampled_share=share)
        assert found.low <= found.value <= found.high
        mirrored = robust_interval(column(-values), np.arange(60), sampled_share=share)
        assert (mirrored.low, mirrored.high) == (pytest.approx(-found.high), pytest.approx(-found.low))


def test_macro_averages_are_corrected_too():
    rng = np.random.default_rng(3)
    parts = [column(rng.lognormal(sigma=1.5, size=40)) for _ in range(3)]
    plain, part = (macro_interval(parts, np.arange(120), sampled_share=share) for share in (0.0, 0.1))
    assert plain.high - plain.value == pytest.approx(plain.value - plain.low)
    assert part.high - part.value > 1.5 * (part.value - part.low)


@pytest.mark.thorough
def test_means_of_long_tails_are_covered():
    """100 of 3,000 ranks with a log-normal tail, 400 runs: 93% to 97%, widened by 2.5 standard errors; else below 90%.

    2.5 standard errors of a share of 0.95 among 400 runs are 0.027.
    """
    rng = np.random.default_rng(4)
    split = np.ceil(np.exp(1.8 + 1.7 * rng.normal(size=3000)))
    held, held_without = 0, 0
    for _ in range(400):
        moments = column(rng.choice(split, 100, replace=False))
        found = robust_interval(moments, np.arange(100), bounds=(1.0, math.inf), sampled_share=100 / 3000)
        without = robust_interval(moments, np.arange(100), bounds=(1.0, math.inf))
        held += found.low <= split.mean() <= found.high
        held_without += without.low <= split.mean() <= without.high
    assert 0.93 - 0.027 <= held / 400 <= 0.97 + 0.027
    assert held_without / 400 < 0.90
