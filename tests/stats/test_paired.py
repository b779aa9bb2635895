"""Paired comparisons by hand, by slow loops, and by how often equal systems are called different."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from grids import light

from kgeval.errors import DataError, MetricError
from kgeval.stats import paired
from kgeval.stats.intervals import robust_interval
from kgeval.stats.moments import Moments, influences
from kgeval.stats.paired import compare_paired, holm
from kgeval.stats.student import student_quantile

PAIRS = np.repeat(np.arange(60), 2)


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
    """Clusters {0, 1}, {2}, {3}: gaps 1 + 1, 1, 0 of 4 observations; mean 3/4, deviations 1/2, 1/4, -3/4."""
    first, second = [3, 2, 5, 4], [2, 1, 4, 4]
    gaps = [Fraction(a - b) for a, b in zip(first, second)]
    mean = sum(gaps) / 4
    sums = [gaps[0] + gaps[1] - 2 * mean, gaps[2] - mean, gaps[3] - mean]
    assert (mean, sums) == (Fraction(3, 4), [Fraction(1, 2), Fraction(1, 4), Fraction(-3, 4)])
    variance = Fraction(3, 2) * sum(x * x for x in sums) / 16
    assert variance == Fraction(21, 256)
    (found,) = compare_paired([Moments(column(first))], [Moments(column(second))], [0, 0, 1, 2], power=0.9)
    t, more = (student_quantile(share, 2) for share in (0.975, 0.9))
    error = math.sqrt(21) / 16
    assert without_labels(found) == pytest.approx(
        [0.75, 0.75 - t * error, 0.75 + t * error, error, 0.5, (t + more) * error], rel=1e-12
    )
    assert (found.n_clusters, found.n_differing, found.n_resamples, found.is_exact) == (3, 2, 4, True)
    assert (found.confidence, found.power, found.reason) == (0.95, 0.9, "")
    assert str(found) == f"+0.7500 [{found.low:+.4f}, {found.high:+.4f}], p = 0.5"


def test_difference_of_means_is_the_interval_of_the_mean_difference():
    """For plain means the paired interval is the robust one of the differences, observation by observation."""
    first, second = two_ranks(np.random.default_rng(0), 60)
    found = compare_paired(numbers_of(first), numbers_of(second), PAIRS, confidence=0.9, n_resamples=9)[2]
    alone = robust_interval(Moments(column(first - second)), PAIRS, confidence=0.9)
    assert (found.value, found.low, found.high, found.error) == pytest.approx(
        (alone.value, alone.low, alone.high, alone.error), rel=1e-12
    )


def test_difference_of_geometric_means_by_the_delta_method_in_a_loop():
    first, second = two_ranks(np.random.default_rng(1), 60)
    found = compare_paired(numbers_of(first), numbers_of(second), PAIRS, n_resamples=9)[3]
    one, other = (math.exp(sum(map(math.log, ranks)) / 120) for ranks in (first, second))
    sums = [0.0] * 60
    for triple, a, b in zip(PAIRS, first, second):
        sums[triple] += one * (math.log(a) - math.log(one)) - other * (math.log(b) - math.log(other))
    assert found.value == pytest.approx(one - other, rel=1e-12)
    assert found.error == pytest.approx(math.sqrt(60 / 59 * sum(x * x for x in sums)) / 120, rel=1e-8)


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
    one = compare_paired(numbers_of(first), numbers_of(second), PAIRS, n_resamples=500, seed=2)
    assert one == compare_paired(numbers_of(first), numbers_of(second), PAIRS, n_resamples=500, seed=2)
    other = compare_paired(numbers_of(first), numbers_of(second), PAIRS, n_resamples=500, seed=3)
    assert [x.p_value for x in other] != [x.p_value for x in one]
    order, labels = np.random.default_rng(3).permutation(120), np.random.default_rng(5).permutation(60) * 7 - 100
    moved = compare_paired(
        numbers_of(first[order]), numbers_of(second[order]), labels[PAIRS][order], n_resamples=500, seed=2
    )
    turned = compare_paired(numbers_of(second), numbers_of(first), PAIRS, n_resamples=500, seed=2)
    for a, b, c in zip(one, moved, turned):
        assert without_labels(b) == pytest.approx(without_labels(a), rel=1e-9)
        assert a.p_value == b.p_value == c.p_value
        assert (c.value, c.low, c.high) == pytest.approx((-a.value, -a.high, -a.low), rel=1e-9)
    for at_once in (1, 60 * 7, 10**7):
        monkeypatch.setattr(paired, "SWAPS_AT_ONCE", at_once)
        again = compare_paired(numbers_of(first), numbers_of(second), PAIRS, n_resamples=500, seed=2)
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
        (found,) = compare_paired([Moments(column(first))], [Moments(column(second))], PAIRS, n_resamples=1)
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
    assert (found[1].value, found[1].p_value, found[1].reason) == (-1.5, 0.5, "")


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
         "the values of first[0] and second[0] have shapes (2, 1) and (3, 1), the values of first[0] have 2 rows; "
         "a paired comparison needs the same observations, in the same order, for all statistics of both systems"),
        ({"second": [Moments(np.ones((2, 2)))]}, DataError,
         "the values of first[0] and second[0] have shapes (2, 1) and (2, 2), the values of first[0] have 2 rows; "
         "a paired comparison needs the same observations, in the same order, for all statistics of both systems"),
        ({"clusters": [1]}, DataError, "clusters must have one label per observation, shape (2,); got shape (1,)"),
        ({"confidence": 95}, MetricError, "confidence must be a share between 0 and 1, such as 0.95; got 95"),
        ({"power": 1}, MetricError, "power must be a probability between 0 and 1, such as 0.8; got 1"),
        ({"n_resamples": 0}, MetricError, "n_resamples must be an integer of at least 1; got 0"),
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
