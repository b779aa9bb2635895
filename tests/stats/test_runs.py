"""Several runs of a system: both parts of the variance by loops, one run as elsewhere, p-values, coverage."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from grids import size

import kgeval as kg
from kgeval.stats import (
    Clusters,
    Moments,
    Runs,
    compare_paired,
    compare_runs,
    joint_p_values,
    mean_over_runs,
    robust_interval,
    student_quantile,
)
from kgeval.stats.intervals import UNDEFINED_WITHOUT
from kgeval.stats.tails import student_p_value


def random_runs(rng, n_runs, labels, shift=0.0):
    values = np.round(rng.random((n_runs, len(labels))) * 4) / 4 + shift  # with ties
    return Runs(tuple(Moments(row[:, None]) for row in values), Clusters.of(labels, len(labels)))


def without(values, labels, label):
    """The mean of the values outside a cluster."""
    kept = [value for value, other in zip(values, labels) if other != label]
    return sum(kept) / len(kept)


def parts_by_loops(systems, labels):
    """The parts of the variance of a mean (one system) or a difference (two), and the degrees of freedom; no numpy."""
    names = sorted(set(labels))
    factor = (len(names) - 1) / len(names)
    rows = [[moments.values[:, 0].tolist() for moments in runs.moments] for runs in systems]
    change = {  # how much the statistic of each run changes without a cluster
        (k, r, label): without(values, labels, label) - sum(values) / len(values)
        for k, runs in enumerate(rows)
        for r, values in enumerate(runs)
        for label in names
    }
    of_clusters = 0.0
    for label in names:
        means = [sum(change[k, r, label] for r in range(len(runs))) / len(runs) for k, runs in enumerate(rows)]
        of_clusters += factor * (means[0] - (means[1] if len(means) > 1 else 0.0)) ** 2
    shown = both = squares = 0.0
    for k, runs in enumerate(rows):
        n = len(runs)
        if n < 2:
            continue
        values = [sum(run) / len(run) for run in runs]
        of_runs = sum((value - sum(values) / n) ** 2 for value in values) / (n - 1) / n
        for label in names:
            mean = sum(change[k, r, label] for r in range(n)) / n
            both += sum(factor * (change[k, r, label] - mean) ** 2 for r in range(n)) / (n * (n - 1))
        shown, squares = shown + of_runs, squares + of_runs**2 / (n - 1)
    sizes = [labels.count(label) for label in names]
    freedom = max(1, int(sum(sizes) ** 2 / sum(size**2 for size in sizes) - 1 + 1e-9))
    of_seeds = max(shown - both, 0.0)
    of_triples = max(of_clusters, both) if of_seeds else of_clusters
    if of_seeds:
        share = shown / (of_seeds + of_triples)
        freedom = 1 / (share / (shown**2 / squares) + (1 - share) / freedom)
    return of_seeds, of_triples, freedom


def test_both_parts_of_the_variance_are_those_of_loops():
    rng = np.random.default_rng(0)
    n_with_seeds = 0
    n = size(20, 60)
    for _ in range(n):
        labels = rng.integers(0, rng.integers(3, 9), 12).tolist()
        labels[:3] = [0, 1, 2]
        first = random_runs(rng, int(rng.integers(2, 5)), labels)
        second = random_runs(rng, int(rng.integers(2, 5)), labels, rng.choice([0.0, 0.2]))
        for systems in ([first], [first, second]):
            found = mean_over_runs(first) if len(systems) == 1 else compare_runs(first, second)
            of_seeds, of_triples, freedom = parts_by_loops(systems, labels)
            n_with_seeds += of_seeds > 0
            assert found.of_seeds == pytest.approx(of_seeds, rel=1e-9, abs=1e-15)
            assert found.of_triples == pytest.approx(of_triples, rel=1e-9)
            assert found.freedom == pytest.approx(freedom, rel=1e-9)
            assert found.error == pytest.approx(math.sqrt(of_seeds + of_triples), rel=1e-9)
            reach = student_quantile(0.975, freedom) * found.error
            assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach), rel=1e-9)
    assert n / 3 < n_with_seeds < 2 * n  # both cases occur


def test_mean_and_deviation_are_those_of_the_runs():
    rows = [[1.0, 0.5, 0.0], [1.0, 1.0, 0.25], [0.5, 0.25, 0.0]]
    runs = Runs(tuple(Moments(np.array(row)[:, None]) for row in rows), Clusters.of([0, 1, 2], 3))
    found = mean_over_runs(runs)
    assert found.value == pytest.approx((0.5 + 0.75 + 0.25) / 3)
    assert found.deviation == pytest.approx(0.25)  # of 0.5, 0.75 and 0.25
    assert found.n_runs == (3,)


def test_one_run_gives_the_interval_of_a_single_result():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 30, 80)
    runs = random_runs(rng, 1, labels)
    for bounds in ((0.0, 1.0), (-np.inf, np.inf)):
        found, expected = mean_over_runs(runs, bounds=bounds), robust_interval(runs.moments[0], labels, bounds=bounds)
        assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))
        assert found.n_effective == pytest.approx(expected.n_effective)
    assert math.isnan(found.of_seeds)
    assert math.isnan(found.deviation)
    assert "seed is unknown" in found.reason


def test_one_run_each_gives_the_test_of_a_comparison():
    rng = np.random.default_rng(2)
    for labels in (np.arange(8), rng.integers(0, 40, 90)):
        first, second = random_runs(rng, 1, labels), random_runs(rng, 1, labels, 0.1)
        found = compare_runs(first, second)
        expected = compare_paired(first.moments, second.moments, labels)[0]
        assert found.p_value == expected.p_value
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_one_run_beside_several_is_taken_to_vary_as_they_do():
    rng = np.random.default_rng(3)
    clusters = Clusters.of(np.arange(40), 40)
    several = Runs(tuple(Moments(rng.random((40, 1)) + shift) for shift in (0.0, 0.5, 1.0)), clusters)
    single = random_runs(rng, 1, np.arange(40))
    found, shown = compare_runs(several, single), 4.0 * several.values.var(ddof=1) / 3.0
    assert math.isnan(found.of_seeds)
    assert "taken from the other model" in found.reason
    # One run more of the same system: its variance is three times that of their mean.
    assert found.error**2 == pytest.approx(found.of_triples + shown - 4.0 * several.of_both)
    # Constant values have no other variance: the t test of one new value against three.
    runs = Runs(tuple(Moments(np.full((40, 1), value)) for value in (0.5, 0.6, 0.8)), clusters)
    new = Runs((Moments(np.full((40, 1), 0.2)),), clusters)
    t = (1.9 / 3 - 0.2) / (np.std([0.5, 0.6, 0.8], ddof=1) * math.sqrt(1 + 1 / 3))
    assert compare_runs(runs, new).p_value == pytest.approx(student_p_value(t, 2), rel=1e-4)


def test_exchanged_systems_change_the_sign_only():
    rng = np.random.default_rng(4)
    first, second = (random_runs(rng, n, np.arange(30), shift) for n, shift in ((3, 0.0), (4, 0.3)))
    one, other = compare_runs(first, second), compare_runs(second, first)
    assert (one.value, one.low, one.high) == pytest.approx((-other.value, -other.high, -other.low))
    assert one.p_value == pytest.approx(other.p_value)


def test_the_p_value_is_that_of_student_if_only_seeds_vary():
    clusters = Clusters.of(np.arange(30), 30)
    first, second = (
        Runs(tuple(Moments(np.full((30, 1), value)) for value in values), clusters)
        for values in ((0.5, 0.6, 0.8), (0.3, 0.2, 0.3))
    )
    found = compare_runs(first, second)  # Welch's t test of two samples
    variances = [np.var([0.5, 0.6, 0.8], ddof=1) / 3, np.var([0.3, 0.2, 0.3], ddof=1) / 3]
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / 2 + variances[1] ** 2 / 2)
    t = (1.9 / 3 - 0.8 / 3) / math.sqrt(sum(variances))
    assert found.p_value == pytest.approx(student_p_value(t, freedom), rel=1e-4)


def test_the_p_value_averages_over_the_variance_of_the_runs():
    stats, integrate = pytest.importorskip("scipy.stats"), pytest.importorskip("scipy.integrate")
    rng = np.random.default_rng(10)
    for n_runs in (2, 3, 5):
        shifts = rng.normal(0.0, 0.03, 2 * n_runs)
        rows = [rng.random((400, 1)) + shift for shift in shifts]
        clusters = Clusters.of(np.arange(400), 400)
        first, second = (Runs(tuple(map(Moments, part)), clusters) for part in (rows[:n_runs], rows[n_runs:]))
        value = first.mean - second.mean
        squares = first.of_runs**2 + second.of_runs**2
        freedom = (first.of_runs + second.of_runs) ** 2 / squares * (n_runs - 1)
        change = first.changes(clusters.first).mean(axis=0) - second.changes(clusters.first).mean(axis=0)
        shown, both = first.of_runs + second.of_runs, first.of_both + second.of_both

        def tail(share, shown=shown, both=both, freedom=freedom, value=value, change=change):
            of_seeds = max(shown * freedom / stats.chi2.ppf(share, freedom) - both, 0.0)
            return 2.0 * stats.t.sf(abs(value) / math.sqrt((change**2).sum() + of_seeds), 399)

        expected = integrate.quad(tail, 0.0, 1.0, limit=500)[0]
        assert compare_runs(first, second).p_value == pytest.approx(expected, rel=2e-3)


def test_few_differing_clusters_cannot_be_significant():
    rows = np.zeros((2, 50))
    rows[:, :3] = 1.0  # three clusters differ, always in the same way: swaps give p = 2 / 8
    clusters = Clusters.of(np.arange(50), 50)
    first = Runs(tuple(Moments(row[:, None]) for row in rows), clusters)
    second = Runs(tuple(Moments(row[:, None]) for row in np.zeros((2, 50))), clusters)
    assert compare_runs(first, second).p_value >= 0.25


def test_equal_systems_and_constant_differences():
    clusters = Clusters.of(np.arange(5), 5)
    rows = np.linspace(0.0, 1.0, 5)[:, None]
    first = Runs((Moments(rows), Moments(rows)), clusters)
    same = compare_runs(first, first)
    assert (same.value, same.p_value) == (0.0, 1.0)
    assert math.isnan(same.low)
    assert "same in every cluster" in same.reason
    higher = compare_runs(Runs((Moments(rows + 0.5), Moments(rows + 0.5)), clusters), first)
    assert higher.value == pytest.approx(0.5)
    assert math.isnan(higher.p_value)
    assert "cannot be estimated" in higher.reason


def test_what_cannot_be_computed_says_why():
    one = Runs((Moments(np.ones((3, 1))), Moments(np.zeros((3, 1)))), Clusters.of([0, 0, 0], 3))
    assert "one cluster" in mean_over_runs(one).reason
    nothing = Runs((Moments(np.zeros((0, 1))),), Clusters.of([], 0))
    assert mean_over_runs(nothing).reason == "no observations"
    undefined = Runs((Moments(np.array([[1.0], [np.nan]])),), Clusters.of([0, 1], 2))
    assert math.isnan(mean_over_runs(undefined).value)
    assert "undefined" in mean_over_runs(undefined).reason
    root = Moments(np.array([[-1.0], [1.0]]), lambda means: np.sqrt(means[..., 0]))  # 0; without the 1 not defined
    for runs in ((root,), (root, root)):
        needs_all = mean_over_runs(Runs(runs, Clusters.of([0, 1], 2)))
        assert (needs_all.value, needs_all.reason) == (0.0, UNDEFINED_WITHOUT)
        assert math.isnan(needs_all.low)
    with pytest.raises(kg.DataError, match="same observations"):
        Runs((Moments(np.ones((3, 1))), Moments(np.ones((2, 1)))), Clusters.of([0, 1, 2], 3))
    with pytest.raises(kg.DataError, match="3 observations and second 0"):
        compare_runs(one, nothing)
    with pytest.raises(kg.MetricError, match="method"):
        mean_over_runs(one, method="z")


def test_a_bootstrap_needs_ten_runs():
    rng = np.random.default_rng(5)
    nine, ten = (random_runs(rng, n, np.arange(30)) for n in (9, 10))
    with pytest.raises(kg.MetricError, match="at least 10 runs of each system; got 9 runs"):
        mean_over_runs(nine, method="bootstrap")
    found, by_t = mean_over_runs(ten, method="bootstrap"), mean_over_runs(ten)
    assert found.method == "bootstrap"
    assert (found.value, found.error) == (by_t.value, by_t.error)
    assert found.low < found.value < found.high
    # Values without skew: both methods give about the same limits.
    assert (found.high - found.low) == pytest.approx(by_t.high - by_t.low, rel=0.35)
    assert mean_over_runs(ten, method="bootstrap", seed=1).low != found.low
    assert mean_over_runs(ten, method="bootstrap").low == found.low


def test_the_joint_test_of_one_pair_is_about_its_own_test():
    rng = np.random.default_rng(6)
    for n_runs in (1, 4):
        first, second = (random_runs(rng, n_runs, np.arange(60), shift) for shift in (0.0, 0.08))
        own = compare_runs(first, second).p_value
        joint = joint_p_values([[first, second]], [(0, 0, 1)], n_resamples=4999)[0]
        assert joint == pytest.approx(own, abs=0.03)


def test_the_joint_test_is_milder_than_holm_and_not_milder_than_each_test():
    rng = np.random.default_rng(7)
    systems = [random_runs(rng, 1, np.arange(60), shift) for shift in (0.0, 0.0, 0.1, 0.14)]
    pairs = [(0, i, j) for i, j in itertools.combinations(range(4), 2)]
    own = np.array([compare_runs(systems[i], systems[j]).p_value for _, i, j in pairs])
    joint = joint_p_values([systems], pairs, n_resamples=4999)
    assert (joint > own - 0.02).all()
    assert (joint < kg.stats.holm(own) + 0.02).all()
    assert joint.sum() < kg.stats.holm(own).sum()


def test_pairs_of_several_datasets_are_one_family():
    rng = np.random.default_rng(8)
    first = [random_runs(rng, 2, np.arange(50), shift) for shift in (0.0, 0.2)]
    second = [random_runs(rng, 2, np.arange(40), shift) for shift in (0.0, 0.01)]
    alone = joint_p_values([first], [(0, 0, 1)], n_resamples=999)
    both = joint_p_values([first, second], [(0, 0, 1), (1, 0, 1)], n_resamples=999)
    assert both[0] >= alone[0]
    assert both[1] >= both[0]


def test_degrees_of_freedom_need_not_be_whole():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(9)
    for _ in range(100):
        freedom, t = float(np.exp(rng.uniform(0.0, np.log(1000.0)))), float(rng.exponential(3.0))
        assert student_p_value(t, freedom) == pytest.approx(2.0 * stats.t.sf(t, freedom), abs=1e-9)
        assert student_quantile(0.975, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("setting", [(3, 2, 1, 0.1), (3, 3, 1, 0.0), (3, 3, 1, 0.1), (3, 10, 1, 0.1)])
def test_simulated_benchmarks(setting):
    # tests/bench/bench_benchmark.py has all settings and more repetitions.
    import importlib.util

    path = Path(__file__).resolve().parents[1] / "bench" / "bench_benchmark.py"
    spec = importlib.util.spec_from_file_location("bench_benchmark", path)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    shares = bench.simulate(setting, 300, seed=1)
    assert shares["holm"] <= 0.05 + 3 * 0.0126  # 0.0126: the standard error of a share of 5% of 300
    least = 0.0 if setting[1] == 2 else 0.01  # with two runs of each model maxT is at most as mild as Holm's method
    assert least <= shares["maxT"] <= 0.05 + 3 * 0.0126
    assert 0.93 <= shares["differences"] <= 0.99  # the intervals of a repetition depend on each other
    assert 0.92 <= shares["means"] <= 0.99
