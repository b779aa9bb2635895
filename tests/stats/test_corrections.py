"""Corrections for multiple tests: Holm, the false discovery rate and step-down maxT, against loops and statsmodels."""

import numpy as np
import pytest

import kgeval as kg
from kgeval.stats import false_discovery_rate, holm, step_down_max


def random_p_values(rng):
    p_values = rng.random(rng.integers(1, 12)) ** rng.choice([1, 3])
    return np.round(p_values, 2) if rng.random() < 0.5 else p_values  # rounded: ties


def test_corrections_agree_with_statsmodels():
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    rng = np.random.default_rng(1)
    for _ in range(200):
        p_values = random_p_values(rng)
        np.testing.assert_allclose(holm(p_values), multipletests(p_values, method="holm")[1], atol=1e-12)
        expected = multipletests(p_values, method="fdr_bh")[1]
        np.testing.assert_allclose(false_discovery_rate(p_values), expected, atol=1e-12)


def test_the_false_discovery_rate_is_that_of_its_definition():
    # The corrected value is the smallest level at which the method of Benjamini and Hochberg rejects: the largest i
    # with p(i) <= i / m * level exists, and p is at most that p(i).
    rng = np.random.default_rng(2)
    for _ in range(100):
        p_values = random_p_values(rng)
        m, ordered = len(p_values), np.sort(p_values)
        for p, corrected in zip(p_values, false_discovery_rate(p_values)):
            levels = [ordered[i] * m / (i + 1) for i in range(m) if ordered[i] >= p]
            assert corrected == pytest.approx(min([1.0, *levels]), abs=1e-12)


def test_nan_is_no_test():
    assert holm([np.nan, 0.01, 0.02]).tolist()[1:] == holm([0.01, 0.02]).tolist()
    assert false_discovery_rate([np.nan, 0.01, 0.02]).tolist()[1:] == false_discovery_rate([0.01, 0.02]).tolist()
    assert np.isnan(holm([np.nan, 0.01])[0])
    assert np.isnan(false_discovery_rate([np.nan, 0.01])[0])
    assert holm([]).tolist() == false_discovery_rate([]).tolist() == []


@pytest.mark.parametrize("correct", [holm, false_discovery_rate])
def test_what_is_no_p_value_is_refused(correct):
    with pytest.raises(kg.DataError, match=r"index 1: expected a number between 0 and 1; got 1\.5"):
        correct([0.5, 1.5])
    with pytest.raises(kg.DataError, match=r"shape \(tests,\)"):
        correct([[0.5]])


def test_step_down_max_is_that_of_a_loop():
    rng = np.random.default_rng(3)
    for _ in range(50):
        n_tests, n_resamples = rng.integers(1, 6), rng.integers(1, 30)
        observed = rng.integers(0, 6, n_tests).astype(float)  # with ties
        resampled = rng.integers(0, 6, (n_resamples, n_tests)).astype(float)
        observed[rng.random(n_tests) < 0.2] = np.nan
        remaining = [k for k in range(n_tests) if observed[k] == observed[k]]
        expected, least = [np.nan] * n_tests, 0.0
        for k in sorted(remaining, key=lambda k: -observed[k]):
            n_reached = sum(max(row[j] for j in remaining) >= observed[k] for row in resampled)
            least = max(least, (1 + n_reached) / (1 + n_resamples))
            expected[k] = least
            remaining = [j for j in remaining if j != k]
        np.testing.assert_allclose(step_down_max(observed, resampled), expected)


def test_resamples_without_a_value_count_as_extreme():
    assert step_down_max(np.array([9.0]), np.array([[np.nan], [1.0]])).tolist() == [2 / 3]
