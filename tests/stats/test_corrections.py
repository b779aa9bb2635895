"""Holm's correction and the levels of its tests, against loops and statsmodels."""

import numpy as np
import pytest

import kgeval as kg
from kgeval.stats.corrections import holm, holm_levels


def random_p_values(rng):
    p_values = rng.random(rng.integers(1, 12)) ** rng.choice([1, 3])
    return np.round(p_values, 2) if rng.random() < 0.5 else p_values  # rounded: ties


def test_corrections_agree_with_statsmodels():
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    rng = np.random.default_rng(1)
    for _ in range(200):
        p_values = random_p_values(rng)
        np.testing.assert_allclose(holm(p_values), multipletests(p_values, method="holm")[1], atol=1e-12)


def test_nan_is_no_test():
    assert holm([np.nan, 0.01, 0.02]).tolist()[1:] == holm([0.01, 0.02]).tolist()
    assert np.isnan(holm([np.nan, 0.01])[0])
    assert np.isnan(holm_levels([np.nan, 0.01], 0.05)[0])
    assert holm_levels([np.nan, 0.01, 0.04], 0.05)[1:].tolist() == [0.025, 0.05]
    assert holm([]).tolist() == holm_levels([], 0.05).tolist() == []


@pytest.mark.parametrize("correct", [holm, lambda p_values: holm_levels(p_values, 0.05)])
def test_what_is_no_p_value_is_refused(correct):
    with pytest.raises(kg.DataError, match=r"index 1: expected a number between 0 and 1; got 1\.5"):
        correct([0.5, 1.5])
    with pytest.raises(kg.DataError, match=r"shape \(tests,\)"):
        correct([[0.5]])


def test_levels_are_those_of_the_step_down_procedure():
    """By a loop: the k-th smallest of m is tested at alpha / (m - k + 1); from the first to stay on, at its level.

    Equal ones are tested at the level of the first of them, so that their order changes nothing.
    """
    rng = np.random.default_rng(4)
    n_some = 0
    for _ in range(200):
        p_values, alpha = random_p_values(rng), float(rng.choice([0.05, 0.1, 0.3]))
        expected, level, stopped, before = [0.0] * len(p_values), 0.0, False, np.nan
        for k, i in enumerate(np.argsort(p_values, kind="stable").tolist()):
            if not stopped and p_values[i] != before:
                level, before = alpha / (len(p_values) - k), p_values[i]
                stopped = p_values[i] > level
            expected[i] = level
        found = holm_levels(p_values, alpha)
        np.testing.assert_array_equal(holm_levels(p_values[::-1], alpha), found[::-1])
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        decided = holm(p_values) <= alpha
        np.testing.assert_array_equal(decided, p_values <= found * (1 + 1e-12))
        n_some += 0 < decided.sum() < len(p_values)
    assert n_some > 30
