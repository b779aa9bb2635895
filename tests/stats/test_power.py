"""Minimum detectable differences: of shares against a loop over all outcomes of the pairs, and by simulation."""

import math

import numpy as np
import pytest

from kgeval.stats import paired, power
from kgeval.stats.moments import Moments
from kgeval.stats.paired import compare_paired
from kgeval.stats.power import detectable_difference, detectable_share


def pairs_of(n_first, n_second, n_both, n):
    """Zeros and ones of two systems: so many pairs in which only the first, only the second, or both are 1."""
    first, second = np.zeros(n), np.zeros(n)
    first[:n_first], second[n_first : n_first + n_second] = 1.0, 1.0
    first[n - n_both :], second[n - n_both :] = 1.0, 1.0
    return first, second


def chance_to_find(higher, lower, n, alpha):
    """The probability that n pairs give a two-sided p of at most alpha, in favour of the higher system.

    Each pair favours the one with probability `higher`, the other one with probability `lower`: a sum over all outcomes
    (wins, losses) of the multinomial distribution. p is the share of the 2^m swaps of the m differing pairs that give a
    difference at least as large.
    """
    total = 0.0
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            m = wins + losses
            at_least = sum(math.comb(m, k) for k in range(m + 1) if abs(2 * k - m) >= abs(wins - losses))
            if wins > losses and at_least / 2**m <= alpha + 1e-12:
                ways = math.comb(n, m) * math.comb(m, wins)
                total += ways * higher**wins * lower**losses * (1 - higher - lower) ** (n - m)
    return total


@pytest.mark.parametrize(
    ("n_differing", "n_both", "n", "alpha"), [(2, 0, 14, 0.05), (3, 2, 20, 0.05), (1, 3, 16, 0.02)]
)
def test_the_power_at_the_detectable_share_by_a_loop_over_all_outcomes(n_differing, n_both, n, alpha):
    """Of two equal shares one rises by d: of its zeros the share d / zeros become 1, whatever the other system has."""
    first, second = pairs_of(n_differing, n_differing, n_both, n)
    rise = detectable_share(first, second, 2 * n_differing / n / n, alpha, 0.8)
    only = n_differing / n  # probability of a pair in favour of either system, before the rise
    neither = 1 - 2 * only - n_both / n
    zeros = only + neither

    def found(d):
        return chance_to_find(only + d * neither / zeros, only - d * only / zeros, n, alpha)

    assert found(rise) == pytest.approx(0.8, abs=1e-6)
    assert found(rise - 0.02) < 0.79
    assert 0.0 < rise < zeros


def test_shares_above_one_half_are_those_of_the_zeros():
    """Ones for zeros in both systems: the same difference can be found."""
    first, second = pairs_of(4, 4, 2, 40)
    low, high = (detectable_share(*pair, 8 / 40**2, 0.05, 0.8) for pair in ((first, second), (1 - first, 1 - second)))
    assert low == high > 0.0


def test_an_observed_difference_is_taken_back():
    """9 wins, 1 loss of 100: the part of the difference of .08 that exceeds its standard error of .0305 is no chance.

    gap = sqrt(.08^2 - .0305^2) = .0740, so before the rise the lower system alone had (.10 - .0740) / 2 = .0130 and the
    higher one as much; zeros .0130 + .9, from which .0740 rose.
    """
    first, second = pairs_of(9, 1, 0, 100)
    variance = (0.1 - 0.08**2) / 100
    gap = math.sqrt(0.08**2 - variance)
    lower, neither = (0.1 - gap) / 2, 0.9
    zeros = lower + neither
    lower, neither = (part * (zeros + gap) / zeros for part in (lower, neither))
    rise = detectable_share(first, second, variance, 0.05, 0.8)
    zeros = lower + neither
    wins, losses = lower + rise * neither / zeros, lower - rise * lower / zeros
    assert chance_to_find(wins, losses, 100, 0.05) == pytest.approx(0.8, abs=1e-6)


def test_a_smaller_level_and_more_power_need_a_larger_difference():
    first, second = pairs_of(6, 6, 0, 300)
    sizes = [
        detectable_share(first, second, 12 / 300**2, alpha, share)
        for alpha, share in ((0.05, 0.8), (0.05, 0.9), (0.01, 0.9))
    ]
    assert sizes[0] < sizes[1] < sizes[2]


def test_clusters_count_as_fewer_observations():
    """Twice the variance of single observations: as with half of them."""
    first, second = pairs_of(6, 6, 0, 300)
    assert detectable_share(first, second, 2 * 12 / 300**2, 0.05, 0.8) == pytest.approx(
        detectable_share(*pairs_of(3, 3, 0, 150), 6 / 150**2, 0.05, 0.8), rel=1e-9
    )


def test_too_few_observations_find_nothing():
    """Of 5 pairs the smallest p is 2 / 2^5: nothing is found at .05, even if all of them differ."""
    assert math.isnan(detectable_share(*pairs_of(1, 1, 0, 5), 2 / 25, 0.05, 0.8))
    assert math.isnan(detectable_share(*pairs_of(0, 0, 5, 5), 0.1, 0.05, 0.8))


def test_no_step_where_the_normal_distribution_takes_over(monkeypatch):
    """With 90 expected discordant pairs both distributions give nearly the same difference: within 3%."""
    first, second = pairs_of(20, 20, 0, 2000)
    exact = detectable_share(first, second, 40 / 2000**2, 0.05, 0.8)
    monkeypatch.setattr(power, "MAX_BINOMIAL", 30)
    normal = detectable_share(first, second, 40 / 2000**2, 0.05, 0.8)
    assert normal == pytest.approx(exact, rel=0.03)
    assert normal != exact


# --- other statistics than shares ----------------------------------------------------------------------------------


def test_the_variance_at_a_larger_difference_by_a_loop():
    """Squared differences regressed on levels, by sums; then the d at which d is `reach` standard errors, by bisection.

    At d the level has risen by half of d beyond the part of the observed difference that exceeds its error, and the
    variance by the relative slope of the squared differences times that.
    """
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = 30
        levels = rng.random(n)
        gaps = rng.normal(size=n) * (0.2 + levels)
        first, second = levels + gaps / 2, levels - gaps / 2
        difference, changes = float(gaps.mean()), [-(x - x.mean()) / (n - 1) for x in (first, second)]
        deviations, squares = first / 2 + second / 2, (gaps - gaps.mean()) ** 2
        mean_level, mean_square = sum(deviations) / n, sum(squares) / n
        slope = sum((x - mean_level) * (y - mean_square) for x, y in zip(deviations, squares, strict=True))
        slope /= sum((x - mean_level) ** 2 for x in deviations)
        variance = sum(squares) / n / (n - 1)
        gained = math.sqrt(max(0.0, difference**2 - variance))
        reach = 2.9
        growth = abs(slope) / mean_square / 2 * (n - 1) / n  # changes are (n - 1) / n of n times the deviations
        if reach**2 * variance <= gained**2:
            continue

        def missing(d, variance=variance, growth=growth, gained=gained, reach=reach):
            return d**2 - reach**2 * variance * (1 + growth * (d - gained))

        low, high = 0.0, 100.0
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if missing(middle) < 0 else (low, middle)
        assert detectable_difference(*changes, difference, variance, reach) == pytest.approx(high, rel=1e-9)
        assert detectable_difference(*changes[::-1], -difference, variance, reach) == pytest.approx(high, rel=1e-9)


def test_without_variation_of_levels_it_is_the_sum_of_two_quantiles_of_standard_errors():
    changes = np.array([0.1, -0.3, 0.2])
    assert detectable_difference(changes, -changes, 0.4, 0.25, 3.0) == 1.5


@pytest.mark.thorough
@pytest.mark.parametrize("p", [0.02, 0.3])
def test_the_power_of_the_test_at_the_detectable_share(monkeypatch, p):
    """Hits of 300 queries that truly differ by the mean `detectable` of 300 samples without a difference.

    0.77 to 0.83 of 2,000 samples: the standard error is 0.009. The sum of two quantiles of t, as for means, gives 0.47
    at p = 0.02.
    """
    rng, n = np.random.default_rng(31), 300

    def drawn(rise):
        return [Moments((rng.random((n, 1)) < share).astype(float)) for share in (p + rise, p)]

    rise = np.nanmean(
        [compare_paired(*([m] for m in drawn(0.0)), np.arange(n), n_resamples=199)[0].detectable for _ in range(300)]
    )
    monkeypatch.setattr(paired, "detectable_share", lambda *_: math.nan)  # it is known, and costly
    found = 0
    for seed in range(2000):
        first, second = drawn(rise)
        (one,) = compare_paired([first], [second], np.arange(n), n_resamples=199, seed=seed)
        found += one.p_value <= 0.05
    assert 0.77 <= found / 2000 <= 0.83
