"""Paired comparisons by hand, by slow loops, and by how often equal systems are called different."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from grids import light

from kgeval.errors import DataError, MetricError
from kgeval.stats import paired
from kgeval.stats.clusters import Clusters
from kgeval.stats.corrections import holm
from kgeval.stats.intervals import robust_interval
from kgeval.stats.moments import Moments, influences
from kgeval.stats.paired import compare_paired
from kgeval.stats.power import detectable_share
from kgeval.stats.tails import student_p_value, student_quantile

PAIRS = np.repeat(np.arange(60), 2)
ALL_ALIKE = "the difference is the same in every cluster, so its variation cannot be estimated"


def column(values):
    return np.asarray(values, dtype=np.float64)[:, None]


def exp_of_mean(means):
    return np.exp(means[..., 0])


def numbers_of(ranks):
    """MRR, hits@10, mean rank and geometric mean rank."""
    return [
        Moments(column(1.0 / ranks)),
        Moments(column(ranks <= 10)),
        Moments(column(ranks)),
        Moments(column(np.log(ranks)), exp_of_mean),
    ]


def two_systems(rng, n_triples, ahead=0.0):
    """Log ranks of two systems: hardness shared by all, and each system's luck with a triple shared by both sides.

    The first system lies `ahead` lower in the mean; at 0 the two are exchangeable triple by triple.
    """
    hard = rng.normal(2.0, 1.0, (n_triples, 1, 1))
    luck = rng.normal(0.0, 0.7, (n_triples, 1, 2))
    logs = hard + luck + rng.normal(0.0, 0.3, (n_triples, 2, 2))
    return logs[:, :, 0].ravel() - ahead, logs[:, :, 1].ravel()


def two_ranks(rng, n_triples):
    first, second = two_systems(rng, n_triples)
    return np.ceil(np.exp(first)), np.ceil(np.exp(second))


def without_labels(found):
    """What of a Difference has to be the same, as a list of floats."""
    return [found.value, found.low, found.high, found.error, found.p_value, found.detectable]


# --- difference and interval ---------------------------------------------------------------------------------------


def test_difference_by_exact_fractions():
    """Clusters {0, 1}, {2}, {3}: gaps 1, 1, 1 and 0, mean 3/4; without one of them 1/2, 2/3 and 1.

    4^2 / (2^2 + 1 + 1) = 8/3 effective clusters: t has 1 degree of freedom. Two clusters differ, so that p is at least
    2 / 2^2, and no difference can be detected.
    """
    first, second, clusters = [3, 2, 5, 4], [2, 1, 4, 4], [0, 0, 1, 2]
    gaps = [Fraction(a - b) for a, b in zip(first, second)]
    without = []
    for left_out in range(3):
        rest = [gap for gap, cluster in zip(gaps, clusters) if cluster != left_out]
        without.append(sum(rest) / len(rest))
    assert without == [Fraction(1, 2), Fraction(2, 3), Fraction(1)]
    variance = Fraction(2, 3) * sum((x - Fraction(3, 4)) ** 2 for x in without)
    assert variance == Fraction(19, 216)
    (found,) = compare_paired([Moments(column(first))], [Moments(column(second))], clusters, power=0.9)
    error = math.sqrt(19 / 216)
    reach = math.tan(math.pi * 0.475) * error
    assert without_labels(found)[:5] == pytest.approx([0.75, 0.75 - reach, 0.75 + reach, error, 0.5], rel=1e-12)
    assert (found.n_clusters, found.n_differing, found.n_resamples, found.is_exact) == (3, 2, 4, True)
    assert (found.confidence, found.power, found.n_effective) == (0.95, 0.9, pytest.approx(8 / 3))
    assert math.isnan(found.detectable)
    assert found.reason == "detectable is undefined: 2 differing clusters, too few for a p-value of 0.05"
    assert str(found) == f"+0.7500 [{found.low:+.4f}, {found.high:+.4f}], p = 0.5"


def test_detectable_by_hand():
    """Gaps 1, ..., 8 of single observations: (t(1 - alpha / 2) + t(power)) s / sqrt(8), alpha .05 over the tests.

    Both systems' mean is 0 in each observation, so that the variance cannot depend on the level.
    """
    first, second = Moments(column(np.arange(1.0, 9.0) / 2)), Moments(column(np.arange(1.0, 9.0) / -2))
    error = math.sqrt(6 / 8)  # s^2 = sum of (k - 4.5)^2 over 7 = 42 / 7
    for n_tests, power in ((1, 0.8), (2, 0.8), (6, 0.9)):
        (found,) = compare_paired([first], [second], np.arange(8), n_tests=n_tests, power=power)
        wanted = (student_quantile(1 - 0.025 / n_tests, 7) + student_quantile(power, 7)) * error
        assert (found.error, found.detectable) == pytest.approx((error, wanted), rel=1e-12)
        assert found.high - found.value == pytest.approx(student_quantile(0.975, 7) * error, rel=1e-12)


def test_detectable_of_shares_is_that_of_the_sign_test():
    """At the level .05 over the tests; other statistics of the same zeros and ones have the other formula."""
    hits = [Moments(column(np.arange(40) % k == 0)) for k in (2, 3)]
    for n_tests in (1, 5):
        (found,) = compare_paired([hits[0]], [hits[1]], np.arange(40), n_tests=n_tests)
        pair = (moments.values[:, 0] for moments in hits)
        wanted = detectable_share(*pair, found.error**2, 0.05 / n_tests, 0.8)
        assert found.detectable == pytest.approx(wanted, rel=1e-12)
    same = [Moments(moments.values, lambda means: means[..., 0] * 1.0) for moments in hits]
    (plain,) = compare_paired([same[0]], [same[1]], np.arange(40), n_tests=5)
    assert (plain.low, plain.high, plain.p_value) == pytest.approx((found.low, found.high, found.p_value))
    assert plain.detectable != found.detectable


@pytest.mark.parametrize(("n_differing", "n_tests"), [(5, 1), (6, 1), (6, 2), (7, 2), (13, 1), (9, 20), (14, 1)])
def test_too_few_differing_clusters_detect_nothing(n_differing, n_tests):
    """The smallest p is 2 / 2^m for m differing clusters, or 1 / (B + 1) with B random swaps; the interval is kept.

    Beside it another statistic may differ in all clusters: that helps the first one in nothing.
    """
    ones, zeros = Moments(column(np.arange(30) < n_differing)), Moments(column(np.zeros(30)))
    other = Moments(column(np.arange(1.0, 31.0)))
    is_enough = 2 / 2**n_differing <= 0.05 / n_tests
    for firsts, seconds in (([ones], [zeros]), ([ones, other], [zeros, zeros])):
        found = compare_paired(firsts, seconds, np.arange(30), n_tests=n_tests)[0]
        assert found.low < found.value < found.high
        assert math.isnan(found.detectable) == (not is_enough)
        few = f"{n_differing} differing clusters, too few for a p-value of {0.05 / n_tests:.2g}"
        assert found.reason == ("" if is_enough else f"detectable is undefined: {few}")
        least = 2 / 2**n_differing
        assert found.p_value > least - 5 * math.sqrt(least / 9999)
    (found,) = compare_paired([other], [zeros], np.arange(30), n_resamples=9)
    assert found.reason == "detectable is undefined: 9 random swaps, too few for a p-value of 0.05"


def test_differences_all_alike_have_no_interval():
    """Each pair differs by 1/2 or by -3: a variance of 0 would be an interval without width, and detectable 0."""
    rng = np.random.default_rng(1)
    second = 1 / rng.integers(1, 9, 20)
    for gap in (0.5, -3.0):
        (found,) = compare_paired([Moments(column(second + gap))], [Moments(column(second))], np.arange(20) // 2)
        assert (found.value, found.reason) == (pytest.approx(gap), ALL_ALIKE)
        assert all(math.isnan(x) for x in (found.low, found.high, found.detectable))
        assert found.p_value == 2 / 2**10
        assert str(found).endswith(f"(no interval: {ALL_ALIKE})")


def test_difference_of_means_is_the_interval_of_the_mean_difference():
    """For plain means the paired interval is the robust one of the differences, observation by observation."""
    first, second = two_ranks(np.random.default_rng(0), 60)
    found = compare_paired(numbers_of(first), numbers_of(second), PAIRS, confidence=0.9, n_resamples=9)[2]
    alone = robust_interval(Moments(column(first - second)), PAIRS, confidence=0.9)
    assert (found.value, found.low, found.high, found.error) == pytest.approx(
        (alone.value, alone.low, alone.high, alone.error), rel=1e-12
    )


def test_difference_of_geometric_means_by_a_loop():
    """Both means anew without each triple: the jackknife, G - 1 over G times the squared changes of the difference."""
    first, second = two_ranks(np.random.default_rng(1), 60)
    found = compare_paired(numbers_of(first), numbers_of(second), PAIRS, n_resamples=9)[3]

    def difference(kept):
        means = (math.exp(math.fsum(map(math.log, ranks[kept])) / kept.sum()) for ranks in (first, second))
        return next(means) - next(means)

    whole = difference(np.ones(120, dtype=bool))
    squares = [(difference(triple != PAIRS) - whole) ** 2 for triple in range(60)]
    assert found.value == pytest.approx(whole, rel=1e-12)
    assert found.error == pytest.approx(math.sqrt(59 / 60 * math.fsum(squares)), rel=1e-10)


def test_influences_say_where_a_difference_comes_from():
    """Summed by group and divided by the number of observations they add to the difference of plain means."""
    first, second = two_ranks(np.random.default_rng(2), 60)
    one, other = numbers_of(first)[0], numbers_of(second)[0]
    parts = influences(one) - influences(other) + float(one.number - other.number)
    relations = np.arange(120) % 7
    by_relation = np.bincount(relations, weights=parts) / 120
    for relation in range(7):
        expected = (1 / first[relations == relation] - 1 / second[relations == relation]).sum() / 120
        assert by_relation[relation] == pytest.approx(expected, abs=1e-14)
    assert by_relation.sum() == pytest.approx(float(one.number - other.number), rel=1e-12)


# --- the randomization test ----------------------------------------------------------------------------------------


def slow_p_value(first, second, clusters, finish, patterns):
    """The share of `patterns` (which clusters swap) whose |difference| reaches the observed one, observation by
    observation."""
    value = abs(finish(sum(first) / len(first)) - finish(sum(second) / len(second)))
    extreme = 0
    for swapped in patterns:
        one = [b if swapped[c] else a for a, b, c in zip(first, second, clusters)]
        other = [a if swapped[c] else b for a, b, c in zip(first, second, clusters)]
        found = abs(finish(sum(one) / len(one)) - finish(sum(other) / len(other)))
        extreme += found >= value - 1e-12
    return extreme / len(patterns)


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 8])
@pytest.mark.parametrize("seed", range(5))
def test_few_clusters_try_every_pattern(n_clusters, seed):
    """All 2^G patterns, listed by itertools and applied to the observations themselves."""
    rng = np.random.default_rng(seed)
    clusters = np.concatenate([np.arange(n_clusters), rng.integers(n_clusters, size=6)])
    first, second = rng.integers(1, 5, len(clusters)), rng.integers(1, 5, len(clusters))
    patterns = list(itertools.product([False, True], repeat=n_clusters))
    found = compare_paired(
        [Moments(column(first)), Moments(column(np.log(first)), exp_of_mean)],
        [Moments(column(second)), Moments(column(np.log(second)), exp_of_mean)],
        clusters,
    )
    assert found[0].p_value == slow_p_value(first.tolist(), second.tolist(), clusters, float, patterns)
    logs = [list(map(math.log, values)) for values in (first.tolist(), second.tolist())]
    assert found[1].p_value == slow_p_value(*logs, clusters, math.exp, patterns)
    assert all(one.is_exact and one.n_resamples == 2**one.n_differing for one in found)


def test_random_patterns_agree_with_all_patterns():
    """2^14 patterns by convolution of the sums, against 50,000 random ones: within four standard errors."""
    gaps = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7.0]) * np.array([1, 1, 1, -1, 1, 1, -1] * 2)
    reach = int(np.abs(gaps).sum())
    share = np.zeros(2 * reach + 1)
    share[reach] = 1.0
    for gap in gaps.astype(int):
        share = (np.roll(share, gap) + np.roll(share, -gap)) / 2
    exact = share[np.abs(np.arange(-reach, reach + 1)) >= abs(gaps.sum())].sum()
    (found,) = compare_paired(
        [Moments(column(gaps))], [Moments(column(np.zeros(14)))], np.arange(14), n_resamples=50_000, seed=3
    )
    assert (found.n_differing, found.n_resamples, found.is_exact) == (14, 50_000, False)
    assert 0.01 < exact < 0.5
    assert abs(found.p_value - exact) < 4 * math.sqrt(exact * (1 - exact) / 50_000)


def test_thirteen_differing_clusters_are_the_most_to_try_all_patterns():
    zeros = Moments(column(np.zeros(40)))
    for n_differing, n_resamples in ((13, 2**13), (14, 500)):
        ones = Moments(column(np.arange(40) < n_differing))
        (found,) = compare_paired([ones], [zeros], np.arange(40), n_resamples=500)
        assert (found.n_clusters, found.n_differing) == (40, n_differing)
        assert (found.n_resamples, found.is_exact) == (n_resamples, n_differing == 13)
    assert found.p_value == 1 / 501


@pytest.mark.parametrize(("n_differing", "equal_counts"), [(13, 1.0), (19, 1.0), (20, 0.5), (40, 0.5)])
def test_patterns_that_equal_the_difference_count_half_if_many_clusters_differ(n_differing, equal_counts):
    """Wins and losses of single hits: p is P(larger) + P(equal), or + P(equal) / 2 (mid-p), by binomial coefficients.

    The p-value of a statistic is its own, whatever else is compared: the second one differs in all 60 clusters. Random
    patterns: within four standard errors of 20,000.
    """
    wins = n_differing - n_differing // 3
    gaps = np.concatenate([np.ones(wins), -np.ones(n_differing - wins), np.zeros(60 - n_differing)])
    zeros, other = Moments(column(np.zeros(60))), Moments(column(np.arange(1.0, 61.0)))
    observed = abs(2 * wins - n_differing)
    larger, equal = (
        sum(math.comb(n_differing, k) for k in range(n_differing + 1) if is_it(abs(2 * k - n_differing)))
        / 2**n_differing
        for is_it in (observed.__lt__, observed.__eq__)
    )
    wanted = larger + equal_counts * equal
    for firsts in ([Moments(column(gaps))], [Moments(column(gaps)), other]):
        found = compare_paired(firsts, [zeros] * len(firsts), np.arange(60), n_resamples=20_000)[0]
        margin = 0.0 if found.is_exact else 4 * math.sqrt(wanted / 20_000)
        assert abs(found.p_value - wanted) <= margin + 1e-12


def test_p_is_never_zero():
    """Every cluster favours the first: all patterns 2 / 2^G; random ones 1 / (B + 1) at the least."""
    for n_clusters, least in ((5, 2 / 2**5), (200, 1 / 100)):
        ones, zeros = Moments(column(np.ones(n_clusters))), Moments(column(np.zeros(n_clusters)))
        (found,) = compare_paired([ones], [zeros], np.arange(n_clusters), n_resamples=99)
        assert found.p_value == least


def test_equal_differences_are_equal_in_spite_of_rounding():
    """Gaps 0.1, 0.2, 0.3 with 0.1 + 0.2 - 0.3 = 5.6e-17 or 0 by the order of adding: of 8 patterns, all but none tie.

    The observed |0.1 + 0.2 - 0.3| is 0 but for rounding, so every pattern reaches it and p is 1.
    """
    first, second = [0.1, 0.2, 0.0], [0.0, 0.0, 0.3]
    (found,) = compare_paired([Moments(column(first))], [Moments(column(second))], [0, 1, 2])
    assert found.p_value == 1.0
    (found,) = compare_paired([Moments(column([0.1, 0.2, 0.3]))], [Moments(column([0, 0, 0]))], [0, 1, 2])
    assert found.p_value == 2 / 8
    for seed in range(20):
        gaps = np.random.default_rng(seed).permutation(np.repeat([0.1, -0.1], [9, 4]))
        (found,) = compare_paired([Moments(column(gaps + 1e3))], [Moments(column(np.full(13, 1e3)))], np.arange(13))
        at_least = sum(math.comb(13, k) for k in range(14) if abs(2 * k - 13) >= 5)
        assert found.p_value == at_least / 2**13


def test_swaps_are_the_same_for_all_numbers():
    """Two numbers that are one in different units have one p-value, bit for bit."""
    first, second = two_ranks(np.random.default_rng(4), 60)
    one = compare_paired(
        [Moments(column(first)), Moments(column(first * 1024))],
        [Moments(column(second)), Moments(column(second * 1024))],
        PAIRS,
        n_resamples=999,
    )
    assert one[0].p_value == one[1].p_value
    assert one[0].p_value not in {1.0, 1 / 1000}


def test_clusters_that_do_not_differ_change_no_p_value():
    first, second = two_ranks(np.random.default_rng(5), 60)
    (alone,) = compare_paired([Moments(column(first))], [Moments(column(second))], PAIRS, n_resamples=999)
    same = np.full(500, 7.0)
    (among,) = compare_paired(
        [Moments(column(np.concatenate([first, same])))],
        [Moments(column(np.concatenate([second, same])))],
        np.concatenate([PAIRS, 1000 + np.arange(500)]),
        n_resamples=999,
    )
    assert (among.p_value, among.n_differing, among.n_clusters) == (alone.p_value, alone.n_differing, 560)


def test_comparison_depends_on_numbers_and_seed_alone(monkeypatch):
    """Not on the order of observations, the labels of clusters, which is first, or how much is held at a time."""
    first, second = two_ranks(np.random.default_rng(6), 60)
    one = compare_paired(numbers_of(first), numbers_of(second), PAIRS, n_resamples=200, seed=2)
    assert one == compare_paired(numbers_of(first), numbers_of(second), PAIRS, n_resamples=200, seed=2)
    other = compare_paired(numbers_of(first), numbers_of(second), PAIRS, n_resamples=200, seed=3)
    assert [x.p_value for x in other] != [x.p_value for x in one]
    order, labels = np.random.default_rng(3).permutation(120), np.random.default_rng(5).permutation(60) * 7 - 100
    moved = compare_paired(
        numbers_of(first[order]), numbers_of(second[order]), labels[PAIRS][order], n_resamples=200, seed=2
    )
    turned = compare_paired(numbers_of(second), numbers_of(first), PAIRS, n_resamples=200, seed=2)
    for a, b, c in zip(one, moved, turned):
        assert without_labels(b) == pytest.approx(without_labels(a), rel=1e-9)
        assert a.p_value == b.p_value == c.p_value
        assert (c.value, c.low, c.high) == pytest.approx((-a.value, -a.high, -a.low), rel=1e-9)
    for at_once in (1, 60 * 7, 10**7):
        monkeypatch.setattr(paired, "SWAPS_AT_ONCE", at_once)
        again = compare_paired(numbers_of(first), numbers_of(second), PAIRS, n_resamples=200, seed=2)
        assert [x.p_value for x in again] == [x.p_value for x in one]


def test_random_patterns_are_fair_and_bounded(monkeypatch):
    """Each of 70 clusters swaps in half of 4,000 patterns, each two together in a quarter: within five errors."""
    monkeypatch.setattr(paired, "SWAPS_AT_ONCE", 70 * 300)
    blocks = list(paired.random_patterns(70, 4000, 1))
    assert max(len(block) for block in blocks) == 300
    swaps = np.concatenate(blocks)
    assert swaps.shape == (4000, 70)
    together = swaps.T @ swaps / 4000
    assert np.abs(np.diag(together) - 0.5).max() < 5 * 0.5 / math.sqrt(4000)
    rest = together[~np.eye(70, dtype=bool)]
    assert np.abs(rest - 0.25).max() < 5 * math.sqrt(3 / 16 / 4000)


# --- Student's t test of two-way clusters ---------------------------------------------------------------------------


def crossed_gaps(rng, n_first, n_second, each=1):
    """Gaps of n_first x n_second x each observations, and their two labels."""
    first, second = np.repeat(np.arange(n_first), n_second * each), np.tile(np.arange(n_second), n_first * each)
    gaps = rng.normal(size=n_first)[first] + rng.normal(size=n_second)[second] + rng.normal(size=len(first))
    return gaps + 1.0, first, second


@pytest.mark.parametrize("n", [2, 3])
def test_t_test_with_one_and_two_degrees_of_freedom(n):
    """n x n cells are n effective clusters. P(|T| > |d| / se) is 1 - 2 / pi atan(t), or 1 - t / sqrt(2 + t^2)."""
    gaps, first, second = crossed_gaps(np.random.default_rng(3), n, n, each=2)
    zeros = Moments(column(np.zeros(len(gaps))))
    (found,) = compare_paired([Moments(column(gaps))], [zeros], Clusters.crossed(first, second, len(gaps)))
    alone = robust_interval(Moments(column(gaps)), Clusters.crossed(first, second, len(gaps)))
    assert (found.low, found.high, found.error) == pytest.approx((alone.low, alone.high, alone.error), rel=1e-12)
    t = abs(gaps.mean()) / found.error
    wanted = 1 - 2 / math.pi * math.atan(t) if n == 2 else 1 - t / math.sqrt(2 + t * t)
    assert found.p_value == pytest.approx(wanted, rel=1e-9)
    assert (found.n_resamples, found.is_exact, found.n_effective) == (0, False, pytest.approx(n))
    assert found.reason == f"detectable is undefined: {n} differing clusters, too few for a p-value of 0.05"
    assert math.isnan(found.detectable)


def test_t_test_is_scipys():
    stats = pytest.importorskip("scipy.stats")
    for seed in range(10):
        gaps, first, second = crossed_gaps(np.random.default_rng(seed), 5 + seed, 7)
        zeros = Moments(column(np.zeros(len(gaps))))
        (found,) = compare_paired([Moments(column(gaps))], [zeros], Clusters.crossed(first, second, len(gaps)))
        freedom = min(5 + seed, 7) - 1
        wanted = 2 * stats.t.sf(abs(gaps.mean()) / found.error, freedom)
        assert found.p_value == pytest.approx(max(wanted, 2.0 ** (1 - found.n_differing)), rel=1e-9)


def test_t_test_agrees_with_its_interval():
    """p < 0.05 if and only if the interval leaves out 0; at least 2 / 2^m for m differing clusters; in any order."""
    sides = set()
    for seed in range(30):
        gaps, first, second = crossed_gaps(np.random.default_rng(seed), 6, 9)
        clusters = Clusters.crossed(first, second, len(gaps))
        gap, zero = Moments(column(gaps)), Moments(column(np.zeros(len(gaps))))
        (found,), (turned,) = compare_paired([gap], [zero], clusters), compare_paired([zero], [gap], clusters)
        assert (found.p_value < 0.05) == (not found.low <= 0.0 <= found.high)
        assert found.p_value == max(student_p_value(found.value / found.error, 5), 2.0 ** (1 - found.n_differing))
        assert turned.p_value == found.p_value
        sides.add(found.p_value < 0.05)
    assert sides == {True, False}


def test_t_test_of_systems_that_agree_or_differ_alike():
    """Equal systems: p = 1. A difference without variation: no p-value, since t would be infinite."""
    _, first, second = crossed_gaps(np.random.default_rng(0), 4, 4)
    clusters = Clusters.crossed(first, second, 16)
    values = Moments(column(np.arange(16.0)))
    (same,) = compare_paired([values], [values], clusters)
    assert (same.p_value, same.reason) == (1.0, "the two systems have equal values in every cluster")
    (alike,) = compare_paired([Moments(values.values + 1.0)], [values], clusters)
    assert (alike.value, alike.reason) == (1.0, ALL_ALIKE)
    assert all(math.isnan(x) for x in (alike.p_value, alike.low, alike.detectable))


# --- how often -----------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_equal_systems_are_called_different_at_the_nominal_rate_only(monkeypatch):
    """2,500 pairs of exchangeable systems: p <= 0.05 in 4 to 6% for every metric, and intervals that miss 0 too.

    199 random patterns, so that p = 10/200 is reached exactly. Swapping each side of a triple on its own, as if
    it were independent, calls them different twice as often. The costly `detectable` of hits is not asked for.
    """
    monkeypatch.setattr(paired, "detectable_share", lambda *_: math.nan)
    rng = np.random.default_rng(17)
    pairs = np.repeat(np.arange(120), 2)
    called, missed, single = np.zeros(4), np.zeros(4), 0
    for place in range(2500):
        first, second = (numbers_of(ranks) for ranks in two_ranks(rng, 120))
        found = compare_paired(first, second, pairs, n_resamples=199, seed=place)
        called += [one.p_value <= 0.05 for one in found]
        missed += [not one.low <= 0 <= one.high for one in found]
        if place < 600:
            (wrong,) = compare_paired(first[:1], second[:1], np.arange(240), n_resamples=199, seed=place)
            single += wrong.p_value <= 0.05
    assert (called / 2500 >= 0.04).all()
    assert (called / 2500 <= 0.06).all()
    assert (missed / 2500 >= 0.03).all()
    assert (missed / 2500 <= 0.065).all()
    assert single / 600 > 0.09


@pytest.mark.thorough
def test_power_rises_with_n_and_is_what_detectable_says():
    """The mean log rank truly differs by `ahead`, the average `detectable` of 60 triples: found in about 80%.

    A quarter and four times the triples: noncentral t gives 29% and more than 99%.
    """
    rng = np.random.default_rng(23)
    detectable = []
    for _ in range(300):
        first, second = two_systems(rng, 60)
        (found,) = compare_paired([Moments(column(first))], [Moments(column(second))], PAIRS, n_resamples=99)
        detectable.append(found.detectable)
    ahead = float(np.mean(detectable))
    power = {}
    for n_triples, n_datasets in ((15, 1000), (60, 2000), (240, 300)):
        called = intervals = 0
        for place in range(n_datasets):
            first, second = two_systems(rng, n_triples, ahead)
            pairs = np.repeat(np.arange(n_triples), 2)
            (found,) = compare_paired(
                [Moments(column(first))], [Moments(column(second))], pairs, n_resamples=199, seed=place
            )
            called += found.p_value <= 0.05
            intervals += found.high < 0
        power[n_triples] = called / n_datasets, intervals / n_datasets
    assert all(abs(found - 0.8) < 0.03 for found in power[60])
    assert all(0.22 < found < 0.34 for found in power[15])
    assert all(found > 0.99 for found in power[240])


# --- no interval ---------------------------------------------------------------------------------------------------


def test_systems_that_agree():
    ranks = two_ranks(np.random.default_rng(7), 60)[0]
    for found in compare_paired(numbers_of(ranks), numbers_of(ranks.copy()), PAIRS):
        assert (found.value, found.error, found.p_value) == (0.0, 0.0, 1.0)
        assert found.reason == "the two systems have equal values in every cluster"
        assert (found.n_differing, found.n_resamples) == (0, 1)
        assert math.isnan(found.low)
        assert math.isnan(found.detectable)
        assert str(found) == "+0.0000 (no interval: the two systems have equal values in every cluster)"


def test_one_cluster():
    (found,) = compare_paired([Moments(column([1, 2]))], [Moments(column([2, 4]))], [3, 3])
    assert (found.value, found.p_value) == (-1.5, 1.0)
    assert found.reason == "one cluster only; an interval needs at least two"
    assert math.isnan(found.error)


@pytest.mark.parametrize("values", [[1, 2], [math.nan, 2], [math.inf, 2]])
def test_a_number_that_is_undefined_spoils_only_itself(values):
    undefined = Moments(column(values), lambda means: means[..., 0] * np.nan)
    first, second = Moments(column([1, 2])), Moments(column([2, 4]))
    found = compare_paired([undefined, first], [second, second], [0, 1])
    assert found[0].reason == "the value is undefined"
    assert all(math.isnan(x) for x in without_labels(found[0]))
    assert (found[1].value, found[1].p_value) == (-1.5, 0.5)
    assert found[1].low < -1.5 < found[1].high
    assert found[1].reason == "detectable is undefined: 2 differing clusters, too few for a p-value of 0.05"


def test_patterns_that_leave_a_number_undefined_count_as_extreme():
    """sqrt of the mean less 1: swapping the second cluster puts one system at 0.5, below 1; 2 of 4 patterns do."""

    def finish(means):
        return np.sqrt(means[..., 0] - 1.0)

    first, second = Moments(column([4.0, 0.0]), finish), Moments(column([0.0, 3.0]), finish)
    (found,) = compare_paired([first], [second], [0, 1])
    assert found.value == pytest.approx(1.0 - math.sqrt(0.5))
    assert found.p_value == 1.0


def test_nothing_to_compare():
    assert compare_paired([], [], []) == []
    (found,) = compare_paired([Moments(np.zeros((0, 1)))], [Moments(np.zeros((0, 1)))], [])
    assert (found.reason, found.n_clusters) == ("no observations", 0)
    assert math.isnan(found.value)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"second": []}, DataError, "first and second must have the same length; got 1 and 0"),
        ({"second": [Moments(column([1, 2, 3]))]}, DataError,
         "first[0] has values of shape (2, 1) and second[0] of shape (3, 1), but first[0] has 2 rows; "
         "a paired comparison needs the same observations, in the same order, for all statistics of both systems"),
        ({"second": [Moments(np.ones((2, 2)))]}, DataError,
         "first[0] has values of shape (2, 1) and second[0] of shape (2, 2), but first[0] has 2 rows; "
         "a paired comparison needs the same observations, in the same order, for all statistics of both systems"),
        ({"clusters": [1]}, DataError, "clusters must have one label per observation, shape (2,); got shape (1,)"),
        ({"confidence": 95}, MetricError, "confidence must be a share between 0 and 1, such as 0.95; got 95"),
        ({"power": 1}, MetricError, "power must be a probability between 0 and 1, such as 0.8; got 1"),
        ({"n_resamples": 0}, MetricError, "n_resamples must be an integer of at least 1; got 0"),
        ({"n_tests": 0}, MetricError, "n_tests must be an integer of at least 1; got 0"),
    ],
)  # fmt: skip
def test_what_is_refused(change, error, text):
    given = {"first": [Moments(column([1, 2]))], "second": [Moments(column([2, 2]))], "clusters": [0, 1], **change}
    with pytest.raises(error) as caught:
        compare_paired(given.pop("first"), given.pop("second"), given.pop("clusters"), **given)
    assert str(caught.value) == text


# --- Holm ----------------------------------------------------------------------------------------------------------


def test_holm_by_hand():
    """0.01 x 4; 0.02 x 3 = 0.06; 0.03 x 2 = 0.06; 0.04 x 1 raised to 0.06; in the order given."""
    assert holm([0.04, 0.01, 0.03, 0.02]).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06], rel=1e-12)
    assert holm([0.5, 0.6]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


@pytest.mark.parametrize("seed", light(range(20), 3))
def test_holm_is_that_of_a_slow_loop(seed):
    """Adjusted p: the least alpha at which the step-down procedure rejects, tried at every k p that could be one."""
    rng = np.random.default_rng(seed)
    p_values = np.round(rng.random(7) ** 3, 2)

    def rejects(alpha):
        left = sorted(range(7), key=lambda i: p_values[i])
        rejected = set()
        while left and p_values[left[0]] * len(left) <= alpha:
            rejected.add(left.pop(0))
        return rejected

    levels = sorted({min(1.0, k * p) for p in p_values for k in range(1, 8)} | {1.0})
    expected = [next((a for a in levels if i in rejects(a)), 1.0) for i in range(7)]
    assert holm(p_values).tolist() == pytest.approx(expected, rel=1e-12)


def test_holm_leaves_out_what_was_not_tested():
    found = holm([0.02, np.nan, 0.04])
    assert found[[0, 2]].tolist() == pytest.approx([0.04, 0.04], rel=1e-12)
    assert math.isnan(found[1])
    assert np.isnan(holm([np.nan, np.nan])).all()


def test_holm_refuses_what_is_no_p_value():
    with pytest.raises(DataError, match=r"^p_values, index 1: expected a number between 0 and 1; got 1.5$"):
        holm([0.5, 1.5])
    with pytest.raises(DataError, match=r"^p_values must have shape \(tests,\); got \(1, 2\)$"):
        holm([[0.5, 0.5]])
