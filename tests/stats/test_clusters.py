"""Clusters against loops over sets of observations: groupings, two-way variances, and the jackknife."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from grids import size

from kgeval.errors import DataError
from kgeval.stats.clusters import Clusters, Grouping, left_out_deviations
from kgeval.stats.intervals import robust_interval
from kgeval.stats.moments import Moments

WORDS = np.array(["x", "a", "zz", "b", "Z", ""])


def column(values):
    return np.asarray(values, dtype=np.float64)[:, None]


def members_of(labels, observations=None):
    """Label -> the set of its observations."""
    found = {}
    for member, label in enumerate(labels):
        found.setdefault(label, set()).add(member if observations is None else int(observations[member]))
    return found


def clusters_of(grouping):
    """The sets of observations of a grouping, as a multiset: numbers and order do not count."""
    return Counter(map(frozenset, members_of(grouping.numbers.tolist(), grouping.observations).values()))


def random_members(rng):
    """Labels of the members and their observations: each of 2 to 8 observations is in one to three clusters."""
    n, n_labels = int(rng.integers(2, 9)), int(rng.integers(2, 6))
    observations = np.repeat(np.arange(n), rng.integers(1, 4, n))
    order = rng.permutation(len(observations))
    return n, rng.integers(n_labels, size=len(observations)), observations[order]


# --- groupings -----------------------------------------------------------------------------------------------------


def test_equal_labels_share_a_cluster():
    """Numbers, words and floats, in any order: the same sets of observations, numbered from 0."""
    for seed in range(size(20, 300)):
        rng = np.random.default_rng(seed)
        labels = rng.integers(6, size=rng.integers(1, 12))
        wanted = Counter(map(frozenset, members_of(labels.tolist()).values()))
        for same in (labels, WORDS[labels], labels * -1.5, labels.tolist()):
            grouping = Grouping.of(same, len(labels))
            assert clusters_of(grouping) == wanted
            assert sorted(set(grouping.numbers.tolist())) == list(range(grouping.count))
            assert grouping.sizes.tolist() == [grouping.numbers.tolist().count(c) for c in range(grouping.count)]


def test_an_observation_can_be_in_several_clusters():
    """Repeated pairs of observation and label count once; sums and sizes are those of the sets."""
    plain = 0
    for seed in range(size(60, 600)):
        rng = np.random.default_rng(seed)
        n, labels, observations = random_members(rng)
        grouping = Grouping.of(WORDS[labels], n, observations)
        groups = members_of(labels.tolist(), observations)
        assert clusters_of(grouping) == Counter(map(frozenset, groups.values()))
        values = rng.integers(-5, 6, (n, 2)).astype(float)
        sums = Counter(tuple(values[sorted(group)].sum(axis=0).tolist()) for group in groups.values())
        assert Counter(map(tuple, grouping.sums(values).tolist())) == sums
        assert sorted(grouping.sizes.tolist()) == sorted(map(len, groups.values()))
        is_plain = sum(map(len, groups.values())) == n
        assert (grouping.observations is None) == is_plain
        if not is_plain:
            assert (np.diff(grouping.observations) >= 0).all()
        plain += is_plain
    assert plain > 0


def test_a_part_of_the_observations():
    """Chosen rows in any order: the clusters of these rows alone, and which they were before."""
    for seed in range(size(60, 600)):
        rng = np.random.default_rng(seed)
        n, labels, observations = random_members(rng)
        rows = rng.permutation(n)[: rng.integers(1, n + 1)]
        place = {int(row): i for i, row in enumerate(rows)}
        single = rng.integers(4, size=n)
        for grouping, groups in (
            (Grouping.of(labels, n, observations), members_of(labels.tolist(), observations)),
            (Grouping.of(single, n), members_of(single.tolist())),
        ):
            part, kept = grouping.take(rows)
            chosen = [frozenset(place[i] for i in group if i in place) for group in groups.values()]
            assert clusters_of(part) == Counter(group for group in chosen if group)
            before, after = (members_of(one.numbers.tolist(), one.observations) for one in (grouping, part))
            for new, old in enumerate(kept.tolist()):
                assert after[new] == {place[i] for i in before[old] if i in place}


def test_effective_number_by_a_loop():
    """(sum of sizes)^2 / (sum of squared sizes); with weights, sizes are sums of weights to the power 4/3."""
    for seed in range(size(30, 300)):
        rng = np.random.default_rng(seed)
        n, labels, observations = random_members(rng)
        weights = rng.integers(0, 4, n).astype(float) + (np.arange(n) == 0)
        groups = members_of(labels.tolist(), observations)
        grouping = Grouping.of(labels, n, observations)
        sizes = [Fraction(len(group)) for group in groups.values()]
        assert grouping.effective_number() == pytest.approx(float(sum(sizes) ** 2 / sum(s * s for s in sizes)))
        sizes = [math.fsum(weights[i] ** (4 / 3) for i in group) for group in groups.values()]
        wanted = math.fsum(sizes) ** 2 / math.fsum(s * s for s in sizes)
        assert grouping.effective_number(weights) == pytest.approx(wanted, rel=1e-12)
        assert grouping.effective_number(weights * 7) == pytest.approx(wanted, rel=1e-12)
        assert 1.0 - 1e-12 <= wanted <= len(groups) + 1e-12


def test_effective_number_of_even_and_uneven_clusters():
    """6 clusters of 3 are 6; beside a cluster of 1000, 10 single ones hardly count: 1010^2 / 1000010 = 1.02."""
    assert Grouping.of(np.repeat(np.arange(6), 3), 18).effective_number() == pytest.approx(6.0)
    uneven = Grouping.of(np.concatenate([np.zeros(1000), np.arange(1, 11)]), 1010)
    assert uneven.effective_number() == pytest.approx(1010**2 / 1000010)
    assert uneven.effective_number(np.concatenate([np.full(1000, 0.001), np.ones(10)])) > 10.0
    assert Grouping.of([], 0).effective_number() == 0.0
    assert Grouping.of([0, 1], 2).effective_number(np.zeros(2)) == 0.0


def test_what_is_refused():
    for act, text in (
        (lambda: Grouping.of([1, 2], 3), "clusters must have one label per observation, shape (3,); got shape (2,)"),
        (lambda: Clusters.of([[1]], 1), "clusters must have one label per observation, shape (1,); got shape (1, 1)"),
        (
            lambda: Clusters.of([1.0, math.nan], 2),
            "clusters, row 1: NaN is not a label; every observation needs a cluster",
        ),
    ):
        with pytest.raises(DataError) as caught:
            act()
        assert str(caught.value) == text


# --- two-way clusters ----------------------------------------------------------------------------------------------


def test_a_grouping_within_another_one_is_left_out():
    """Crossed only if each grouping has a cluster that two clusters of the other one share; by loops over pairs."""
    kinds = Counter()
    for seed in range(size(150, 2000)):
        rng = np.random.default_rng(seed)
        if seed % 2:
            n = int(rng.integers(2, 9))
            observations, first, second = None, *rng.integers(int(rng.integers(1, 5)), size=(2, n))
            if seed % 3 == 0:
                second = first * 10 + rng.integers(2, size=n)
        else:
            n, first, observations = random_members(rng)
            second = rng.integers(4, size=len(first)) if seed % 4 else first // 2
        pairs = list(zip(first.tolist(), second.tolist()))
        seconds_of = members_of(first.tolist(), second)  # label of the first -> labels of the second beside it
        firsts_of = members_of(second.tolist(), first)
        is_second_inside = all(len(found) == 1 for found in firsts_of.values())
        is_first_inside = all(len(found) == 1 for found in seconds_of.values())
        clusters = Clusters.crossed(first, second, n, observations)
        wanted = [
            Counter(map(frozenset, members_of(x, observations).values())) for x in (first.tolist(), second.tolist())
        ]
        kinds[is_first_inside, is_second_inside] += 1
        assert clusters.is_crossed == (not is_first_inside and not is_second_inside)
        if clusters.is_crossed:
            assert [clusters_of(clusters.first), clusters_of(clusters.second)] == wanted
            assert clusters_of(clusters.both) == Counter(map(frozenset, members_of(pairs, observations).values()))
            assert clusters.count == min(len(seconds_of), len(firsts_of))
            assert clusters.effective_number() == min(
                clusters.first.effective_number(), clusters.second.effective_number()
            )
        else:
            assert clusters.both is None
            assert clusters_of(clusters.first) == wanted[0 if is_second_inside else 1]
    assert all(kinds[kind] > 5 for kind in itertools.product([False, True], repeat=2)), kinds


def test_a_part_of_two_way_clusters():
    """All three groupings are those of the chosen rows."""
    first, second = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1])
    rows = np.array([5, 0, 3, 2])
    part = Clusters.crossed(first, second, 6).take(rows)
    assert part.is_crossed
    for grouping, labels in ((part.first, first), (part.second, second), (part.both, first * 2 + second)):
        assert clusters_of(grouping) == Counter(map(frozenset, members_of(labels[rows].tolist()).values()))
    assert Clusters.of(first, 6).take(rows).second is None


def jackknife(values, groups, number):
    """(G - 1) / G times the sum over groups of the squared change if the observations of a group are left out."""
    whole = number(values)
    total = sum((number([x for i, x in enumerate(values) if i not in group]) - whole) ** 2 for group in groups)
    return total * (len(groups) - 1) / len(groups)


def mean_of(values):
    return sum(values) / len(values)


def test_variance_of_a_mean_by_exact_fractions():
    """Random clusters of integers, each really left out; single observations give s^2 / n."""
    for seed in range(size(25, 300)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 12))
        values = [Fraction(int(x)) for x in rng.integers(-20, 20, n)]
        labels = np.concatenate([[0, 1], rng.integers(4, size=n - 2)]).tolist()
        moments = Moments(column(values))
        groups = list(members_of(labels).values())
        found = robust_interval(moments, labels)
        if not found.reason:
            assert found.error**2 == pytest.approx(float(jackknife(values, groups, mean_of)), rel=1e-12)
        single = jackknife(values, [{i} for i in range(n)], mean_of)
        mean = mean_of(values)
        assert single == sum((x - mean) ** 2 for x in values) / (n - 1) / n
        assert robust_interval(moments, np.arange(n)).error ** 2 == pytest.approx(float(single), rel=1e-12)


def test_variance_of_equal_clusters_is_the_textbooks():
    """G / (G - 1) sum_g S_g^2 / n^2, S_g the sum of the deviations of cluster g (Cameron and Miller 2015)."""
    rng = np.random.default_rng(2)
    values, labels = rng.normal(size=28), np.repeat(np.arange(7), 4)
    sums = [math.fsum(values[labels == g] - values.mean()) for g in range(7)]
    variance = 7 / 6 * math.fsum(x * x for x in sums) / 28**2
    assert robust_interval(Moments(column(values)), labels).error ** 2 == pytest.approx(variance, rel=1e-12)


STATISTICS = {
    "geometric mean": (lambda x: np.log(x), lambda m: np.exp(m[..., 0]), lambda x: math.prod(x) ** (1 / len(x))),
    "harmonic mean": (lambda x: 1 / x, lambda m: 1 / m[..., 0], lambda x: len(x) / sum(1 / y for y in x)),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_changes_of_other_statistics_by_a_loop(name):
    """Each is the statistic without a cluster, computed anew, less that of all, times sqrt((G - 1) / G)."""
    value, finish, number = STATISTICS[name]
    for seed in range(size(10, 100)):
        rng = np.random.default_rng(seed)
        ranks = rng.integers(1, 30, 12).astype(float)
        n, labels, observations = (
            12,
            rng.integers(5, size=20),
            np.concatenate([np.arange(12), rng.integers(12, size=8)]),
        )
        for grouping in (Grouping.of(labels[:12], n), Grouping.of(labels, n, observations)):
            groups = members_of(grouping.numbers.tolist(), grouping.observations)
            found = left_out_deviations(Moments(column(value(ranks)), finish), grouping)
            for g, group in groups.items():
                rest = [x for i, x in enumerate(ranks.tolist()) if i not in group]
                change = number(rest) - number(ranks.tolist())
                assert found[g] == pytest.approx(change * math.sqrt(1 - 1 / len(groups)), rel=1e-9, abs=1e-12)


def test_a_cluster_of_everything_has_no_variance_to_give():
    """Without the cluster nothing is left: not a number, and no silent 0."""
    everything = Grouping(np.array([0, 0, 0, 1]), 2, np.array([0, 1, 2, 2]))
    changes = left_out_deviations(Moments(column([1.0, 2.0, 4.0])), everything)
    assert not np.isfinite(changes[0])
    assert np.isfinite(changes[1])


def test_variance_of_two_way_clusters_by_exact_fractions():
    """V_first + V_second - V_both, each a jackknife (Cameron, Gelbach and Miller 2011); at least either."""
    floors = 0
    for seed in range(size(60, 600)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 12))
        values = [Fraction(int(x)) for x in rng.integers(-20, 20, n)]
        first, second = rng.integers(3, size=(2, n))
        clusters = Clusters.crossed(first, second, n)
        if not clusters.is_crossed or Counter(values).most_common(1)[0][1] == n:
            continue
        parts = [
            jackknife(values, list(members_of(labels).values()), mean_of)
            for labels in (first.tolist(), second.tolist(), list(zip(first.tolist(), second.tolist())))
        ]
        floors += max(parts[:2]) > parts[0] + parts[1] - parts[2]
        wanted = max(parts[0] + parts[1] - parts[2], *parts[:2])
        found = robust_interval(Moments(column(values)), clusters)
        assert found.error**2 == pytest.approx(float(wanted), rel=1e-12)
    assert floors > 3


def cov_cluster_2groups(values, first, second):
    """The variance of a mean as statsmodels has it (``stats.sandwich_covariance``, ``use_correction=False``).

    The regression on a constant: scores are the deviations from the mean, the bread is 1 / n. Returned are the three
    sums S_first, S_second and S_both, whose first two are added and the third is subtracted.
    """
    deviations = np.asarray(values) - np.mean(values)
    parts = []
    for labels in (first, second, [*zip(first, second)]):
        sums = {}
        for label, deviation in zip(labels, deviations):
            sums[label] = sums.get(label, 0.0) + deviation
        parts.append(sum(x * x for x in sums.values()) / len(values) ** 2)
    return parts


@pytest.mark.parametrize("each", [1, 3])
def test_variance_of_balanced_two_way_clusters_is_that_of_statsmodels(each):
    """5 subjects with each of 4 objects: clusters of one grouping have one size, so that the jackknife multiplies the
    three sums of statsmodels by G / (G - 1), the correction that statsmodels makes for each of them, and by nothing
    else."""
    rng = np.random.default_rng(each)
    first, second = (x.ravel() for x in np.broadcast_arrays(np.arange(5)[:, None, None], np.arange(4)[:, None]))
    first, second = np.repeat(first, each).tolist(), np.repeat(second, each).tolist()
    values = rng.normal(size=5)[first] + rng.normal(size=4)[second] + rng.normal(size=len(first))
    one, other, both = cov_cluster_2groups(values, first, second)
    variance = one * 5 / 4 + other * 4 / 3 - both * 20 / 19
    assert variance > max(one * 5 / 4, other * 4 / 3)
    found = robust_interval(Moments(column(values)), Clusters.crossed(np.array(first), np.array(second), len(first)))
    assert found.error**2 == pytest.approx(variance, rel=1e-12)
    assert (found.n_clusters, found.n_effective) == (4, pytest.approx(4.0))


def test_two_way_clusters_are_the_same_in_any_order_under_any_labels():
    rng = np.random.default_rng(5)
    values, first, second = rng.normal(size=40), rng.integers(6, size=40), rng.integers(7, size=40)
    order, labels = rng.permutation(40), rng.permutation(7) * 100 - 300
    moments, moved = Moments(column(values)), Moments(column(values[order]))
    wanted = robust_interval(moments, Clusters.crossed(first, second, 40))
    for found in (
        robust_interval(moved, Clusters.crossed(labels[first][order], labels[second][order], 40)),
        robust_interval(moments, Clusters.crossed(second, first, 40)),
    ):
        assert (found.error, found.n_effective) == pytest.approx((wanted.error, wanted.n_effective), rel=1e-12)


def test_variance_of_memberships_is_a_sum_over_pairs():
    """Queries in the clusters of their ranks' subjects and objects: each pair that shares one counts once.

    The sum is at least that of single observations, and is divided by the share of the pairs that share no cluster.
    """
    floors = checked = 0
    for seed in range(size(100, 2000)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(6, 12))
        values = [Fraction(int(x)) for x in rng.integers(-20, 20, n)]
        observations = np.concatenate([np.arange(n), rng.integers(n, size=n // 2)])
        first, second = rng.integers(20, size=(2, len(observations)))
        clusters = Clusters.crossed(first, second, n, observations)
        if not clusters.needs_pairs or len(set(values)) == 1:
            continue
        labels = [
            {(k, part[m]) for m in np.flatnonzero(observations == i) for k, part in enumerate((first, second))}
            for i in range(n)
        ]
        mean = sum(values) / n
        changes = [(mean - value) / (n - 1) for value in values]
        sharing = [(i, j) for i, j in itertools.product(range(n), repeat=2) if labels[i] & labels[j]]
        total = sum(changes[i] * changes[j] for i, j in sharing) * Fraction(n - 1, n)
        least = sum(change**2 for change in changes) * Fraction(n - 1, n)
        found = robust_interval(Moments(column(values)), clusters)
        if len(sharing) > n * n / 2:
            assert found.reason == clusters.lacking != ""
            continue
        floors, checked = floors + (least > total), checked + 1
        assert found.error**2 == pytest.approx(
            float(max(total, least) / (1 - Fraction(len(sharing), n * n))), rel=1e-12
        )
    assert floors > 3
    assert checked > 30
