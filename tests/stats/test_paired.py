"""Paired comparisons by hand, by slow loops, and by how often equal systems are called different."""

import itertools
import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from grids import light

from kgeval.errors import DataError, MetricError
from kgeval.stats import paired
from kgeval.stats.clusters import Clusters
from kgeval.stats.corrections import holm
from kgeval.stats.intervals import robust_interval
from kgeval.stats.moments import Moments, influences
from kgeval.stats.paired import Difference, compare_paired
from kgeval.stats.tails import student_p_value, student_quantile, swaps_reach, swaps_tail

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
    return [found.value, *found.interval(0.05), found.error, found.p_value, found.detectable(0.05)]


def by_t(first, second, clusters=PAIRS):
    """The difference tested by Student's t, with the jackknife variance."""
    return compare_paired([first], [second], clusters, test="t")[0]


# --- difference and interval ---------------------------------------------------------------------------------------


def test_difference_by_exact_fractions():
    """Clusters {0, 1}, {2}, {3}: gaps 1 + 1, 1 and 0, times 3 clusters over 4 observations: 3/2, 3/4 and 0; mean 3/4.

    S2 is (9/4 + 9/16) / 3 = 15/16, so the variance is (15/16 - 9/16) / 2 = 3/16. 4^2 / (2^2 + 1 + 1) = 8/3 effective
    clusters: t has 1 degree of freedom. Two clusters differ, so that p is at least 2 / 2^2, and no decision can be had.
    """
    first, second, clusters = [3, 2, 5, 4], [2, 1, 4, 4], [0, 0, 1, 2]
    parts = [Fraction(3, 4) * gap for gap in (2, 1, 0)]
    mean, square = sum(parts) / 3, sum(part**2 for part in parts) / 3
    assert (mean, (square - mean**2) / 2) == (Fraction(3, 4), Fraction(3, 16))
    (found,) = compare_paired([Moments(column(first))], [Moments(column(second))], clusters)
    assert (found.value, found.error**2, found.p_value) == pytest.approx((0.75, 3 / 16, 0.5), rel=1e-12)
    assert (found.n_clusters, found.n_differing, found.swaps.n_patterns, found.swaps.is_exact) == (3, 2, 4, True)
    assert (found.freedom, found.n_effective) == (1, pytest.approx(8 / 3))
    assert all(math.isnan(x) for x in (*found.interval(0.05), found.detectable(0.05)))
    assert found.few(0.05) == "no decision can be had: 2 differing clusters, and the level 0.05 needs at least 6"
    assert str(found) == f"+0.7500 (no interval: {found.few(0.05)})"
    # At the level 0.5 it is decided: patterns give 3/4 (two of four) or 1/4, so q is 1/4, c = (1/4) sqrt(2 / (7/8)).
    reach = 0.25 * math.sqrt(2 / (15 / 16 - 1 / 16)) * math.sqrt(3 / 16)
    (found,) = compare_paired([Moments(column(first))], [Moments(column(second))], clusters, largest_level=0.6)
    assert found.interval(0.5) == pytest.approx((0.75 - reach, 0.75 + reach), rel=1e-12)


def test_t_test_by_exact_fractions():
    """The same gaps by Student's t: without one cluster the mean is 1/2, 2/3 or 1, which gives the jackknife."""
    first, second, clusters = [3, 2, 5, 4], [2, 1, 4, 4], [0, 0, 1, 2]
    variance = Fraction(2, 3) * sum((x - Fraction(3, 4)) ** 2 for x in (Fraction(1, 2), Fraction(2, 3), Fraction(1)))
    assert variance == Fraction(19, 216)
    found = by_t(Moments(column(first)), Moments(column(second)), clusters)
    reach = math.tan(math.pi * 0.25) * math.sqrt(19 / 216)  # at the level 0.5, the least that two clusters allow
    # scipy 1.15 computes this quantile of t to 1e-11 only
    assert found.interval(0.5, is_decided=True) == pytest.approx((0.75 - reach, 0.75 + reach), rel=1e-10)
    assert (found.p_value, found.test, found.swaps) == (0.5, "t", None)


def test_detectable_by_hand():
    """Gaps 1, ..., 8 by Student's t: t = t(1 - level / 2) gives 27 t / 28 + z(0.8) sqrt(1 + t^2 / 14) errors."""
    first, second = Moments(column(np.arange(1.0, 9.0) / 2)), Moments(column(np.arange(1.0, 9.0) / -2))
    error = math.sqrt(6 / 8)  # s^2 = sum of (k - 4.5)^2 over 7 = 42 / 7
    found = by_t(first, second, np.arange(8))
    for level in (0.05, 0.01, 1 / 128):
        reach = student_quantile(1 - level / 2, 7) * error
        wanted = 27 / 28 * reach + NormalDist().inv_cdf(0.8) * math.sqrt(error**2 + reach**2 / 14)
        assert (found.error, found.detectable(level)) == pytest.approx((error, wanted), rel=1e-12)
        low, high = found.interval(level, is_decided=False)
        assert high - found.value == pytest.approx(max(reach, 4.5), rel=1e-8)
        assert low == pytest.approx(2 * found.value - high)
    assert math.isnan(found.detectable(0.99 / 128))  # undefined below 2 / 2^8


@pytest.mark.parametrize("freedom", [1, 2, 4, 6, 12, 300])
@pytest.mark.parametrize("level", [0.05, 0.05 / 6, 0.05 / 30])
def test_detectable_has_its_power_by_the_noncentral_t(freedom, level):
    """Adding the two quantiles of t found 0.70 with four degrees of freedom in place of 0.80."""
    from scipy.stats import nct

    found = Difference(0.0, 0.1, float(freedom), 1.0, 100, 100, 100.0)
    t = student_quantile(1 - level / 2, freedom)
    assert 0.795 < nct.sf(t, freedom, found.detectable(level) / 0.1) < 0.825


@pytest.mark.parametrize(
    ("n_differing", "level"), [(5, 0.05), (6, 0.05), (6, 0.025), (7, 0.025), (13, 0.05), (9, 0.0025)]
)
def test_too_few_differing_clusters_decide_nothing(n_differing, level):
    """The smallest p is 2 / 2^m for m differing clusters; below it there is no interval, and the reason says so."""
    ones, zeros = Moments(column(np.arange(30) < n_differing)), Moments(column(np.zeros(30)))
    is_enough = 2 / 2**n_differing <= level
    for found in (compare_paired([ones], [zeros], np.arange(30))[0], by_t(ones, zeros, np.arange(30))):
        assert found.can_reject(level) == is_enough == (not found.few(level))
        assert math.isnan(found.interval(level)[0]) == math.isnan(found.detectable(level)) == (not is_enough)
        assert found.p_value >= 2 / 2**n_differing
        needed = next(m for m in range(100) if 2 / 2**m <= level)
        said = f"no decision can be had: {n_differing} differing clusters, and the level {level:.2g}"
        wanted = f"{said} needs at least {needed}"
        assert found.few(level) == ("" if is_enough else wanted)


def test_differences_all_alike_have_no_interval():
    """Each pair differs by 1/2 or by -3: a variance of 0 would be an interval without width, and detectable 0."""
    rng = np.random.default_rng(1)
    second = 1 / rng.integers(1, 9, 20)
    for gap in (0.5, -3.0):
        (found,) = compare_paired([Moments(column(second + gap))], [Moments(column(second))], np.arange(20) // 2)
        assert (found.value, found.reason) == (pytest.approx(gap), ALL_ALIKE)
        assert all(math.isnan(x) for x in (*found.interval(0.05), found.detectable(0.05)))
        assert found.p_value == 2 / 2**10
        assert str(found).endswith(f"(no interval: {ALL_ALIKE})")


def test_t_interval_of_means_is_the_interval_of_the_mean_difference():
    """For plain means the paired interval is the robust one of the differences, observation by observation."""
    first, second = two_ranks(np.random.default_rng(0), 60)
    found = by_t(numbers_of(first)[2], numbers_of(second)[2])
    alone = robust_interval(Moments(column(first - second)), PAIRS, confidence=0.9)
    assert (found.value, *found.interval(0.1), found.error) == pytest.approx(
        (alone.value, alone.low, alone.high, alone.error), rel=1e-8
    )


def test_difference_of_geometric_means_by_a_loop():
    """Both means anew without each triple: the jackknife, G - 1 over G times the squared changes of the difference."""
    first, second = two_ranks(np.random.default_rng(1), 60)
    found = by_t(numbers_of(first)[3], numbers_of(second)[3])

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


def gaps_of(first, second, clusters, gradient=1.0):
    """The part of each cluster in the difference, times the number of clusters; no numpy."""
    names = sorted(set(clusters))
    parts = dict.fromkeys(names, 0.0)
    for a, b, name in zip(first, second, clusters):
        parts[name] += gradient * (a - b) * len(names) / len(first)
    return list(parts.values())


def slow_test(gaps, value, level):
    """p-value, and the interval at a level by trying all patterns of signs; no numpy.

    A difference x is significant at the level if the share of patterns with a mean of at least x is at most `level`.
    The interval has the limits value -+ c se, with c the studentised value of the least such x.
    """
    n = len(gaps)
    means = sorted(
        (abs(sum(s * g for s, g in zip(signs, gaps))) / n for signs in itertools.product((1, -1), repeat=n)),
        reverse=True,
    )
    at_least = lambda x: sum(mean >= x - 1e-12 for mean in means) / len(means)  # noqa: E731
    q = max(mean for mean in means if sum(other >= mean - 1e-12 for other in means) / len(means) > level)
    square = sum(gap * gap for gap in gaps) / n
    error = math.sqrt((square - value * value) / (n - 1))
    c = q * math.sqrt((n - 1) / (square - q * q)) if square - q * q > 1e-12 else math.inf
    return at_least(abs(value)), (value - c * error, value + c * error)


@pytest.mark.parametrize("n_clusters", [2, 5, 8])
@pytest.mark.parametrize("seed", range(5))
def test_few_clusters_try_every_pattern(n_clusters, seed):
    """All 2^G patterns, listed by itertools; a geometric mean is made linear half-way between the two systems."""
    rng = np.random.default_rng(seed)
    clusters = np.concatenate([np.arange(n_clusters), rng.integers(n_clusters, size=6)]).tolist()
    first, second = (rng.integers(1, 5, len(clusters)).tolist() for _ in range(2))
    found = compare_paired(
        [Moments(column(first)), Moments(column(np.log(first)), exp_of_mean)],
        [Moments(column(second)), Moments(column(np.log(second)), exp_of_mean)],
        clusters,
        largest_level=0.3,
    )
    logs = [list(map(math.log, values)) for values in (first, second)]
    middle = math.exp(sum(map(sum, logs)) / 2 / len(first))  # the derivative of exp there
    value = math.exp(sum(logs[0]) / len(first)) - math.exp(sum(logs[1]) / len(first))
    scaled = [
        gap * (value / (sum(gaps_of(*logs, clusters, middle)) / n_clusters) if value else 1.0)
        for gap in gaps_of(*logs, clusters, middle)
    ]
    for one, gaps in zip(found, (gaps_of(first, second, clusters), scaled)):
        wanted, limits = slow_test(gaps, one.value, 0.3)
        assert one.p_value == wanted
        assert one.swaps.is_exact
        assert one.swaps.n_patterns == 2**one.n_differing
        if one.can_reject(0.3) and not one.reason and math.isfinite(limits[0]):
            low, high = one.interval(0.3)
            assert (low > 0 or high < 0) == (wanted <= 0.3)
            assert (low, high) == pytest.approx(limits, rel=1e-6, abs=1e-6)


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
    assert (found.n_differing, found.swaps.n_patterns, found.swaps.is_exact) == (14, 50_000, False)
    assert 0.01 < exact < 0.5
    assert abs(found.p_value - exact) < 4 * math.sqrt(exact * (1 - exact) / 50_000)


def test_thirteen_differing_clusters_are_the_most_to_try_all_patterns():
    zeros = Moments(column(np.zeros(40)))
    for n_differing, n_resamples in ((13, 2**13), (14, 500)):
        ones = Moments(column(np.arange(40) < n_differing))
        (found,) = compare_paired([ones], [zeros], np.arange(40), n_resamples=500)
        assert (found.n_clusters, found.n_differing) == (40, n_differing)
        assert (found.swaps.n_patterns, found.swaps.is_exact) == (n_resamples, n_differing == 13)
    assert found.p_value == swaps_tail(14, 14) < 1 / 501  # the bound 6.36 Phi(-sqrt 14): 500 swaps cannot show it


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
        margin = 0.0 if found.swaps.is_exact else 4 * math.sqrt(wanted / 20_000)
        assert abs(found.p_value - wanted) <= margin + 1e-12


def test_p_is_never_zero():
    """Every cluster favours the first: all patterns give 2 / 2^G, random ones the bound 6.36 Phi(-sqrt G)."""
    for n_clusters, least in ((5, 2 / 2**5), (14, swaps_tail(14, 14)), (200, swaps_tail(200, 200))):
        ones, zeros = Moments(column(np.ones(n_clusters))), Moments(column(np.zeros(n_clusters)))
        (found,) = compare_paired([ones], [zeros], np.arange(n_clusters), n_resamples=99)
        assert found.p_value == pytest.approx(least, rel=1e-9)
    assert 0.0 < swaps_tail(200, 200) < 1e-40


def test_tail_of_the_swaps_is_a_bound_and_is_inverted():
    """Against all patterns of 12 gaps, at every sum: the share of patterns that reach it is never above the bound."""
    for seed in range(10):
        gaps = np.random.default_rng(seed).standard_t(2, 12)
        sums = np.abs(np.array(list(itertools.product((1, -1), repeat=12))) @ gaps)
        for total in np.unique(sums):
            assert (sums >= total - 1e-9).mean() <= swaps_tail(float(total), float((gaps**2).sum()))
    for level in (1e-3, 1e-6, 1e-12):
        assert swaps_tail(swaps_reach(level) * 5.0, 25.0) == pytest.approx(level, rel=1e-9)


@pytest.mark.parametrize("kind", ["normal", "hits", "heavy"])
def test_interval_excludes_0_exactly_where_the_test_rejects(kind):
    """At levels above and below the resolution of 999 swaps, decided and undecided, with ties and without."""
    rng, n_decided, n = np.random.default_rng(31), 0, 0
    for _ in range(60):
        size = int(rng.integers(6, 60))
        gaps = {
            "normal": rng.normal,
            "hits": lambda size: rng.integers(-1, 2, size),
            "heavy": lambda size: rng.standard_t(2, size),
        }
        first = np.asarray(gaps[kind](size=size), dtype=float) + rng.choice([0.0, 0.4, 1.5])
        (found,) = compare_paired(
            [Moments(column(first))], [Moments(column(np.zeros(size)))], np.arange(size), n_resamples=999
        )
        for level in (0.05, 0.0123, 0.05 / 3, 1.5 / 1000, 1 / 1000, 0.9 / 1000, 1e-4, 1e-7):
            low, high = found.interval(level)
            is_decided = found.p_value <= level
            if math.isnan(low):
                assert found.reason or not is_decided
                continue
            assert (low > 0.0 or high < 0.0) == is_decided, (size, level)
            if kind != "hits":  # without ties, the half width says it of itself, before it is rounded to the decision
                below = found.reach(level) - abs(found.value) * (1.0 - 1e-9 + 2e-9 * is_decided)
                assert (below <= 0.0) == is_decided, (size, level)
            assert (low + high) / 2 == pytest.approx(found.value)
            n_decided += is_decided
            n += 1
    assert 20 < n_decided < n - 20


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
    again = compare_paired(numbers_of(first), numbers_of(second), PAIRS, n_resamples=200, seed=2)
    assert list(map(without_labels, again)) == list(map(without_labels, one))
    for place in range(4):  # each statistic has its own test, whatever else is compared
        (alone,) = compare_paired(
            numbers_of(first)[place : place + 1], numbers_of(second)[place : place + 1], PAIRS, n_resamples=200, seed=2
        )
        assert alone.p_value == one[place].p_value
        assert without_labels(alone) == pytest.approx(without_labels(one[place]), rel=1e-9)
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
        assert (c.value, *c.interval(0.05)) == pytest.approx(
            (-a.value, *(-x for x in a.interval(0.05)[::-1])), rel=1e-9
        )
    for at_once, statistics in ((1, 1), (7, 2), (1000, 1000)):
        monkeypatch.setattr(paired, "CLUSTERS_AT_ONCE", at_once)
        monkeypatch.setattr(paired, "STATISTICS_AT_ONCE", statistics)
        again = compare_paired(numbers_of(first), numbers_of(second), PAIRS, n_resamples=200, seed=2)
        assert [x.p_value for x in again] == [x.p_value for x in one]


def test_swaps_of_equal_gaps_are_those_of_a_slow_loop():
    """Blocks in which all gaps are alike, some are, or none: the share of patterns, cluster by cluster."""
    gaps = [np.full(400, 0.5), np.repeat([1.0, 0.5], 200), np.repeat([0.5, 0.25, 0.0], [150, 101, 149]), np.arange(400)]
    signs = [np.where(np.arange(400) % 9 < 4, -1.0, 1.0) * gap for gap in gaps]
    words = np.random.default_rng(4).integers(2**64, size=(400, 2), dtype=np.uint64).astype("<u8")
    found = compare_paired(
        [Moments(column(gap)) for gap in signs], [Moments(column(0.0 * gap)) for gap in gaps], range(400),
        n_resamples=99, seed=4,
    )  # fmt: skip
    for gap, difference in zip(signs, found):
        largest_first, n_extreme = sorted(map(abs, gap.tolist()), reverse=True), 0.0
        for pattern in range(99):
            total = 0.0
            for size, bytes_of in zip(largest_first, words.view(np.uint8)):
                is_swapped = bytes_of[pattern // 8] >> (7 - pattern % 8) & 1
                total += -size if is_swapped else size
            n_extreme += (abs(total) > abs(gap.sum()) + 1e-6) + 0.5 * (abs(abs(total) - abs(gap.sum())) <= 1e-6)
        assert difference.p_value == pytest.approx((1.0 + n_extreme) / 100.0, rel=1e-12)


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
    assert found.error == pytest.approx(alone.error, rel=1e-12)
    t = abs(gaps.mean()) / found.error
    wanted = 1 - 2 / math.pi * math.atan(t) if n == 2 else 1 - t / math.sqrt(2 + t * t)
    assert found.p_value == pytest.approx(wanted, rel=1e-9)
    assert (found.swaps, found.n_effective) == (None, pytest.approx(n))
    assert found.few(0.05) == f"no decision can be had: {n} differing clusters, and the level 0.05 needs at least 6"
    assert math.isnan(found.detectable(0.05))


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
        low, high = found.interval(0.05)
        assert (found.p_value <= 0.05) == (low > 0.0 or high < 0.0)
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
    assert all(math.isnan(x) for x in (alike.p_value, *alike.interval(0.05), alike.detectable(0.05)))


# --- how often -----------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_equal_systems_are_called_different_at_the_nominal_rate_only():
    """2,500 pairs of exchangeable systems: p <= 0.05 in 4 to 6% for every metric, and intervals that miss 0 too.

    199 random patterns, so that p = 10/200 is reached exactly. Swapping each side of a triple on its own, as if
    it were independent, calls them different twice as often.
    """
    rng = np.random.default_rng(17)
    pairs = np.repeat(np.arange(120), 2)
    called, missed, single = np.zeros(4), np.zeros(4), 0
    for place in range(2500):
        first, second = (numbers_of(ranks) for ranks in two_ranks(rng, 120))
        found = compare_paired(first, second, pairs, n_resamples=199, seed=place)
        called += [one.p_value <= 0.05 for one in found]
        missed += [not one.interval(0.05)[0] <= 0 <= one.interval(0.05)[1] for one in found]
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
        detectable.append(found.detectable(0.05))
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
            intervals += found.interval(0.05)[1] < 0
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
        assert (found.n_differing, found.swaps.n_patterns) == (0, 1)
        assert all(math.isnan(x) for x in (*found.interval(0.05), found.detectable(0.05)))
        assert str(found) == "0.0000 (no interval: the two systems have equal values in every cluster)"


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
    assert found[1].few(0.05) == "no decision can be had: 2 differing clusters, and the level 0.05 needs at least 6"


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
        ({"largest_level": 5}, MetricError, "largest_level must be a level between 0 and 1, such as 0.05; got 5"),
        ({"n_resamples": 0}, MetricError, "n_resamples must be an integer of at least 1; got 0"),
        ({"test": "z"}, MetricError, "test must be one of 'swaps', 't'; got 'z'"),
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
