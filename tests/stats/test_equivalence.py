"""Tests against a margin: statsmodels and scipy, non-inferiority in both directions, few differing clusters."""

import math

import numpy as np
import pytest

from kgeval.errors import MetricError
from kgeval.stats.equivalence import Support, non_inferiority, tost
from kgeval.stats.tails import student_quantile


def paired(seed, n, shift=0.0):
    """Two columns of n correlated values, and the mean difference with its standard error."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=n)
    first, second = base + rng.normal(size=n) * 0.5 + shift, base + rng.normal(size=n) * 0.5
    gaps = first - second
    return first, second, gaps.mean(), gaps.std(ddof=1) / math.sqrt(n)


def test_tost_by_hand():
    """d = 0.1, s = 0.1, margin 0.3: t = 4 and 2. With 1 degree of freedom, P(T > t) = 1/2 - atan(t) / pi."""
    test = tost(0.1, 0.1, 1, 0.3)
    assert test.p_lower == pytest.approx(0.5 - math.atan(4) / math.pi, abs=1e-12)
    assert test.p_upper == pytest.approx(0.5 - math.atan(2) / math.pi, abs=1e-12)
    assert test.p_value == test.p_upper
    # the opposite claim: beyond the nearer margin, P(T > -2) = 1/2 + atan(2) / pi; twice that is above 1
    assert test.p_beyond == 1.0
    reach = 0.1 * math.tan(math.pi * 0.45)  # the 95% quantile
    assert (test.low, test.high) == pytest.approx((0.1 - reach, 0.1 + reach))


def test_the_interval_has_the_coverage_of_two_one_sided_tests():
    """alpha = 5%: the limits are the 95% quantiles (a 90% interval), so the decision is that of the interval."""
    for margin, is_inside in ((0.0161, False), (0.0163, True)):
        test = tost(0.0, 0.01, 200, margin * student_quantile(0.95, 200) / 1.62)
        assert (test.p_value <= 0.05) == is_inside == (max(-test.low, test.high) <= test.margin)
    assert test.high == pytest.approx(0.01 * student_quantile(0.95, 200), rel=1e-12)


def test_decision_and_interval_agree():
    """p <= alpha exactly if the interval lies within the margins, also where few clusters differ."""
    rng = np.random.default_rng(3)
    n_equivalent = 0
    for _ in range(120):
        n = int(rng.integers(5, 400))
        k = int(rng.integers(0, min(n, 12)))
        support = Support(k, float(n), float(rng.choice([1.0, 100.0, math.inf])))
        error = 0.0 if k == 0 else float(rng.uniform(0.001, 0.02))
        difference = 0.0 if k == 0 else float(rng.normal(0, 0.02))
        margin = float(rng.uniform(0.001, 0.2))
        test = tost(difference, error, n - 1, margin, support=support)
        is_inside = max(-test.low, test.high) <= margin  # False if the limits are NaN
        assert (test.p_value <= 0.05) == is_inside, (k, n, difference, error, margin)
        n_equivalent += is_inside
    assert 20 < n_equivalent < 100


def test_non_inferiority_is_one_half_of_tost():
    both = tost(-0.002, 0.001, 50, 0.003)
    for higher, p_value in ((True, both.p_lower), (False, both.p_upper)):
        half = non_inferiority(-0.002, 0.001, 50, 0.003, higher_is_better=higher)
        assert half.p_value == p_value
        assert half.p_beyond == pytest.approx(1.0 - p_value, abs=1e-12)
    assert both.p_lower > 0.1 > 1e-5 > both.p_upper  # a fall of 0.002: nearly the margin; a rise beyond it is excluded


def test_a_gain_of_any_size_is_not_inferior():
    """Higher values better: +1 is a gain; lower values better: -1 is a gain."""
    assert non_inferiority(1.0, 0.1, 50, 0.01).p_value < 1e-9
    assert non_inferiority(-1.0, 0.1, 50, 0.01, higher_is_better=False).p_value < 1e-9
    assert non_inferiority(1.0, 0.1, 50, 0.01, higher_is_better=False).p_beyond < 1e-9
    assert non_inferiority(-1.0, 0.1, 50, 0.01).p_beyond < 1e-9
    assert tost(1.0, 0.1, 50, 0.01).p_value > 0.999


def test_exchanged_systems_have_the_same_p_value():
    one, other = tost(0.004, 0.003, 77, 0.01), tost(-0.004, 0.003, 77, 0.01)
    assert (one.p_value, one.p_beyond, one.low) == (other.p_value, other.p_beyond, -other.high)
    assert one.p_lower == other.p_upper


def test_equal_systems_need_enough_clusters():
    """Of n clusters none differs. If the difference were the margin m, a share m would differ: P = (1 - m) ** n.

    300 clusters show equivalence within 0.01 (0.049), 298 do not (0.0500...); the smallest margin is 1 - 0.05 ** (1/n).
    """
    for n, is_equivalent in ((298, False), (299, True)):
        test = tost(0.0, 0.0, n - 1, 0.01, support=Support(0, n, 1.0))
        assert test.p_value == pytest.approx(0.99**n, rel=1e-9)
        assert (test.p_value <= 0.05) == is_equivalent
        assert test.high == -test.low == pytest.approx(1 - 0.05 ** (1 / n), rel=1e-9)
    # ranks of 1,001 candidates: a cluster may change the mean rank a thousand times as much
    assert tost(0.0, 0.0, 298, 10.0, support=Support(0, 299, 1000.0)).p_value == pytest.approx(0.99**299, rel=1e-9)
    unknown = tost(0.0, 0.0, 298, 10.0, support=Support(0, 299))
    assert unknown.p_value == 1.0
    assert math.isnan(unknown.low)
    assert "0 clusters only" in unknown.reason


def test_few_differing_clusters_limit_the_p_value():
    """2 of 100 clusters differ: P(at most 2 of 100 differ | 5%) = 0.1183; from 50 on, or half of all, 2 ** (1 - n)."""
    n, q = 100, 0.05
    at_most = sum(math.comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(3))
    assert Support(2, 100, 1.0).of_margin(q) == pytest.approx(at_most, rel=1e-9)
    assert tost(-0.0, 1e-4, 99, q, support=Support(2, 100, 1.0)).p_value == pytest.approx(at_most, rel=1e-9)
    at_most = sum(math.comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(8))  # of 7: 0.87, whatever the error is
    assert tost(-0.0, 1e-4, 99, q, support=Support(7, 100, 1.0)).p_value == pytest.approx(at_most, rel=1e-9)
    assert tost(-0.0, 1e-9, 99, q, support=Support(49, 100, 1.0)).p_value > 0.99
    assert tost(-0.0, 1e-9, 99, q, support=Support(50, 100, 1.0)).p_value < 1e-9
    assert tost(-0.0, 1e-4, 99, q, support=Support(7, 7, 1.0)).p_value == 2.0**-6
    assert Support(0, 10, 1.0).of_margin(1.0) == 0.0
    # a loss beyond the margin is not shown by few clusters either
    assert non_inferiority(-0.5, 1e-4, 99, 0.01, support=Support(3, 100, 1.0)).p_beyond == 0.25


def test_a_constant_difference_rests_on_the_number_of_clusters():
    """All 10 clusters differ by 0.02: the variance is 0, so the p-value is that of the signs, 2 ** -9."""
    support = Support(10, 10.0, 1.0)
    assert non_inferiority(-0.02, 0.0, 9, 0.01, support=support).p_beyond == 2.0**-9
    inside = tost(-0.02, 0.0, 9, 0.03, support=support)
    assert inside.p_value == 2.0**-9
    assert math.isnan(inside.low)
    assert "same in every cluster" in inside.reason


def test_no_test_without_an_error():
    for difference, error, said in ((0.1, math.nan, "standard error"), (math.nan, 0.1, "difference is undefined")):
        test = tost(difference, error, 9, 0.2)
        assert math.isnan(test.p_value)
        assert math.isnan(test.low)
        assert said in test.reason


@pytest.mark.parametrize("margin", [0.0, -0.1, math.nan, math.inf, True, "0.1"])
def test_a_margin_is_asked_for(margin):
    with pytest.raises(MetricError, match="margin must be above 0"):
        tost(0.1, 0.1, 9, margin)


def test_other_inputs_are_checked():
    assert non_inferiority(0.1, 0.1, 9, 0.0).margin == 0.0
    with pytest.raises(MetricError, match="margin must be 0 or more"):
        non_inferiority(0.1, 0.1, 9, -0.001)
    with pytest.raises(MetricError, match="alpha must be a significance level above 0 and below 0.5"):
        tost(0.1, 0.1, 9, 0.1, alpha=0.5)
    with pytest.raises(MetricError, match="freedom must be at least 1"):
        tost(0.1, 0.1, 0, 0.1)


@pytest.mark.parametrize("n", [5, 40, 900])
def test_tost_agrees_with_statsmodels(n):
    weightstats = pytest.importorskip("statsmodels.stats.weightstats")
    for seed, margin in ((0, 0.05), (1, 0.2), (2, 0.8)):
        first, second, difference, error = paired(seed, n, shift=0.05)
        p_value, lower, upper = weightstats.ttost_paired(first, second, -margin, margin)
        test = tost(difference, error, n - 1, margin)
        assert (test.p_value, test.p_lower, test.p_upper) == pytest.approx((p_value, lower[1], upper[1]), abs=1e-9)


def test_non_inferiority_agrees_with_scipy():
    stats = pytest.importorskip("scipy.stats")
    first, second, difference, error = paired(4, 60)
    expected = stats.ttest_1samp(first - second, -0.1, alternative="greater").pvalue
    assert non_inferiority(difference, error, 59, 0.1).p_value == pytest.approx(expected, abs=1e-12)
    expected = stats.ttest_1samp(first - second, 0.1, alternative="less").pvalue
    assert non_inferiority(difference, error, 59, 0.1, higher_is_better=False).p_value == pytest.approx(
        expected, abs=1e-12
    )
    for k, n, q in ((0, 50, 0.03), (3, 400, 0.01), (12, 4000, 0.004)):
        binomial = float(stats.binom.cdf(k, n, q))
        assert Support(k, n, 1.0).of_margin(q) == pytest.approx(binomial, rel=1e-9)
