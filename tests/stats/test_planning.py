"""Planning: the inverse of the minimum detectable difference, and how likely an order repeats."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from grids import size

from kgeval.errors import DataError, MetricError
from kgeval.stats import Clusters, Moments, PowerModel, compare_paired, order_repeats, plan_clusters, scaled_up

NORMAL = NormalDist()


def reciprocal_ranks(seed, n, spread=0.4, shift=0.0):
    """Two systems with two ranks for each of n triples, and the clusters by triple."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(n, 2))
    logs = [1.5 + hard + spread * rng.normal(size=(n, 2)) - part for part in (shift, 0.0)]
    pair = [Moments(1.0 / np.ceil(np.exp(part)).clip(1, 500).reshape(-1, 1)) for part in logs]
    return *pair, np.repeat(np.arange(n), 2)


def gmr(moments):
    """The geometric mean rank of the same ranks."""
    return Moments(-np.log(moments.values), lambda means: np.exp(means[..., 0]))


def hits(seed, n, share, differing):
    """Two systems of zeros and ones with about the same share of ones."""
    rng = np.random.default_rng(seed)
    first = rng.random((n, 1)) < share
    second = np.where(rng.random((n, 1)) < differing, rng.random((n, 1)) < share, first)
    return Moments(first.astype(float)), Moments(second.astype(float)), np.arange(n)


def test_a_plan_for_the_detectable_difference_needs_the_present_sample():
    """MRR, a function of a mean, other powers, several tests, a large observed difference."""
    cases = (1, 200, 0.5, 0.8, 10), (2, 400, 0, 0.9, 3), (0, 60, 0, 0.8, 1)
    for seed, n, shift, power, n_tests in cases[: size(2, 3)]:
        pair = reciprocal_ranks(seed, n, shift=shift)
        for first, second in (pair[:2], (gmr(pair[0]), gmr(pair[1]))):
            found = compare_paired([first], [second], pair[2], n_resamples=9999, power=power, n_tests=n_tests)[0]
            plan = plan_clusters(first, second, pair[2], found.detectable, power=power, alpha=0.05 / n_tests)
            assert plan.is_enough
            assert plan.n_needed == pytest.approx(n, abs=1)
            assert plan.power_now == pytest.approx(power, abs=1e-6)


def test_a_plan_for_the_detectable_share():
    """Large and small shares; the power of few discordant pairs moves in steps, so fewer clusters may be enough."""
    for seed, n, share, differing, apart in (
        (0, 400, 0.4, 0.3, 0.01),
        (1, 600, 0.97, 0.5, 0.1),
        (2, 500, 0.02, 0.5, 0.1),
    ):
        first, second, clusters = hits(seed, n, share, differing)
        detectable = compare_paired([first], [second], clusters)[0].detectable
        plan = plan_clusters(first, second, clusters, detectable)
        assert plan.is_enough
        assert (1 - apart) * n <= plan.n_needed <= n


def test_the_number_of_clusters_by_hand():
    """Values whose variance does not grow: n = (z_975 + z_80)^2 * variance / d^2, and a little more for Student's t."""
    rng = np.random.default_rng(0)
    gaps = rng.normal(size=(400, 1))
    first, second = Moments(gaps), Moments(np.zeros((400, 1)))
    found = compare_paired([first], [second], np.arange(400))[0]
    model = PowerModel.of(first, second, Clusters.of(np.arange(400), 400), 0.05)
    plan = plan_clusters(first, second, np.arange(400), 0.05)
    # the level of both systems and the difference vary together here: the slope is part of the model
    variance = 400 * found.error**2 * (1 + model.growth * max(0.0, 0.05 - model.gained))
    expected = (NORMAL.inv_cdf(0.975) + NORMAL.inv_cdf(0.8)) ** 2 * variance / 0.05**2
    assert expected < plan.n_needed < expected + 4
    assert not plan.is_enough
    assert plan.times == plan.n_needed / 400
    assert plan_clusters(first, second, np.arange(400), -0.05) == plan


def test_more_power_smaller_differences_and_more_tests_need_more():
    first, second, clusters = reciprocal_ranks(3, 150)
    needed = [
        plan_clusters(first, second, clusters, difference, power=power, alpha=alpha).n_needed
        for difference, power, alpha in ((0.05, 0.8, 0.05), (0.05, 0.9, 0.05), (0.05, 0.9, 0.005), (0.02, 0.9, 0.005))
    ]
    assert needed == sorted(needed)
    assert needed[0] * 1.2 < needed[1]
    assert needed[2] * 5 < needed[3] < needed[2] * 7.5  # (0.05 / 0.02) ** 2 = 6.25


def test_too_few_differing_clusters_have_no_power():
    """1 of 50 clusters differs; p can be 5% or less if 6 differ: 2 ** (1 - 6) = 0.03. So 300 clusters are needed."""
    values = np.zeros((50, 1))
    values[0] = 0.001
    plan = plan_clusters(Moments(values), Moments(np.zeros((50, 1))), np.arange(50), 0.5)
    assert plan.power_now == 0.0
    assert 50 * 5.3 < plan.n_needed <= 300


def test_no_plan_has_a_reason():
    equal = Moments(np.array([[0.5], [0.2], [0.9]]))
    assert "equal values" in plan_clusters(equal, equal, [0, 1, 2], 0.1).reason
    assert "one cluster" in plan_clusters(equal, Moments(equal.values[::-1]), [0, 0, 0], 0.1).reason
    first, second, clusters = hits(0, 300, 0.02, 0.5)
    plan = plan_clusters(first, second, clusters, 0.99)
    assert "larger than the largest possible one" in plan.reason
    assert math.isnan(plan.n_needed)
    assert not plan.is_enough


def test_inputs_of_a_plan_are_checked():
    first, second, clusters = reciprocal_ranks(0, 20)
    for difference in (0.0, math.nan, math.inf, "0.1"):
        with pytest.raises(MetricError, match="difference must be a finite number other than 0"):
            plan_clusters(first, second, clusters, difference)
    with pytest.raises(MetricError, match="power must be a probability"):
        plan_clusters(first, second, clusters, 0.1, power=80)
    with pytest.raises(MetricError, match="alpha must be a significance level"):
        plan_clusters(first, second, clusters, 0.1, alpha=0)


def test_scaled_numbers_are_rounded_up():
    assert [scaled_up(n, times) for n, times in ((10, 1.0), (10, 1.01), (3, 1 / 3), (10, 0.3))] == [10, 11, 1, 3]


def test_the_sign_of_a_difference_repeats_by_hand():
    """d = 2 standard errors: Phi(2 / sqrt(2)) = 0.9214; with 1 degree of freedom 1/2 + atan(sqrt(2)) / pi."""
    errors = [[0.0, 0.01], [0.01, 0.0]]
    large = order_repeats([0.3, 0.32], errors, 10**7)
    assert large.order == large.first == pytest.approx(NORMAL.cdf(math.sqrt(2)), abs=1e-6)
    assert large.pairs[0, 1] == large.pairs[1, 0] == large.order
    assert np.isnan(np.diag(large.pairs)).all()
    assert order_repeats([0.3, 0.32], errors, 1).order == pytest.approx(0.5 + math.atan(math.sqrt(2)) / math.pi)
    assert order_repeats([0.3, 0.3], errors, 10).order == 0.5


def test_an_order_of_three_against_independent_draws():
    """Values with the standard errors s_i of independent models: their differences have the variances s_i^2 + s_j^2."""
    values, own = np.array([0.30, 0.33, 0.31]), np.array([0.01, 0.02, 0.005])
    errors = np.sqrt(own[:, None] ** 2 + own[None, :] ** 2)
    np.fill_diagonal(errors, 0.0)
    found = order_repeats(values, errors, 10**6, n_draws=40_000, seed=1)
    drawn = values + math.sqrt(2) * own * np.random.default_rng(9).normal(size=(200_000, 3))
    is_same = (drawn[:, 1] > drawn[:, 2]) & (drawn[:, 2] > drawn[:, 0])
    assert found.order == pytest.approx(is_same.mean(), abs=0.009)
    assert found.first == pytest.approx((drawn.argmax(axis=1) == 1).mean(), abs=0.009)
    assert found.pairs[0, 2] == pytest.approx(NORMAL.cdf(0.01 / errors[0, 2] / math.sqrt(2)), abs=1e-6)
    assert found.order == order_repeats(values, errors, 10**6, n_draws=40_000, seed=1).order
    assert found.order != order_repeats(values, errors, 10**6, n_draws=40_000, seed=2).order


def test_shared_triples_make_an_order_more_certain():
    """Three models whose values share nearly all of their variance: small errors of the differences."""
    errors = np.full((3, 3), 0.001)
    np.fill_diagonal(errors, 0.0)
    assert order_repeats([0.3, 0.31, 0.32], errors, 500).order > 0.999


def test_models_that_are_equal_everywhere_stay_equal():
    errors = np.array([[0.0, 0.0, 0.01], [0.0, 0.0, 0.01], [0.01, 0.01, 0.0]])
    found = order_repeats([0.35, 0.35, 0.30], errors, 10**6, n_draws=50_000)
    assert found.order == found.first == pytest.approx(NORMAL.cdf(5 / math.sqrt(2)), abs=0.003)
    assert math.isnan(found.pairs[0, 1])


def test_inputs_of_an_order_are_checked():
    assert math.isnan(order_repeats([0.1, 0.2], [[0.0, math.nan], [math.nan, 0.0]], 5).order)
    with pytest.raises(DataError, match="values must have shape"):
        order_repeats([0.1], [[0.0]], 5)
    with pytest.raises(DataError, match="values must have shape"):
        order_repeats([0.1, 0.2], [[0.0]], 5)
