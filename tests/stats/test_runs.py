"""Several runs of a system: both parts of the variance by loops, one run as elsewhere, p-values, coverage."""

import math

import numpy as np
import pytest
from grids import size

import kgeval as kg
from kgeval.stats.clusters import Clusters
from kgeval.stats.intervals import UNDEFINED_WITHOUT, robust_interval
from kgeval.stats.moments import Moments
from kgeval.stats.paired import compare_paired
from kgeval.stats.runs import Runs, compare_runs, mean_over_runs, spreads_differ
from kgeval.stats.tails import student_p_value, student_quantile


def random_runs(rng, n_runs, labels, shift=0.0):
    values = np.round(rng.random((n_runs, len(labels))) * 4) / 4 + shift  # with ties
    return Runs(tuple(Moments(row[:, None]) for row in values), Clusters.of(labels, len(labels)))


def without(values, labels, label):
    """The mean of the values outside a cluster."""
    kept = [value for value, other in zip(values, labels) if other != label]
    return sum(kept) / len(kept)


def compared(first, second, others=(), spread="pooled"):
    """The difference of two systems; the others of the dataset take part in the variance of the seeds."""
    return compare_runs([first, second, *others], [(0, 1)], spread=spread)[0]


def parts_by_loops(systems, labels, others=None):
    """The parts of the variance of a mean (one system) or a difference (two), and the degrees of freedom; no numpy.

    `others`: further systems, over which the variance of the seeds is pooled; None: each system has its own.
    """
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
    sizes = [labels.count(label) for label in names]
    freedom = max(1, int(sum(sizes) ** 2 / sum(size**2 for size in sizes) - 1 + 1e-9))
    if others is not None:
        return pooled_by_loops([*systems, *others], labels, of_clusters, freedom)
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
    of_seeds = max(shown - both, 0.0)
    of_triples = max(of_clusters, both) if of_seeds else of_clusters
    if of_seeds:
        share = shown / (of_seeds + of_triples)
        freedom = 1 / (share / (shown**2 / squares) + (1 - share) / freedom)
    return of_seeds, of_triples, freedom


def pooled_by_loops(systems, labels, of_clusters, freedom):
    """The parts of the variance of the first two systems, with the seeds' part pooled over all of them."""
    squares = both = 0.0
    names = sorted(set(labels))
    for runs in systems:
        rows = [moments.values[:, 0].tolist() for moments in runs.moments]
        values = [sum(row) / len(row) for row in rows]
        squares += sum((value - sum(values) / len(values)) ** 2 for value in values)
        changes = [[without(row, labels, label) - value for label in names] for row, value in zip(rows, values)]
        for place in range(len(names)):
            mean = sum(change[place] for change in changes) / len(rows)
            both += sum((len(names) - 1) / len(names) * (change[place] - mean) ** 2 for change in changes)
    n_free = sum(len(runs) for runs in systems) - len(systems)
    times = 1 / len(systems[0]) + 1 / len(systems[1])
    shown, both = times * squares / n_free, times * both / n_free
    of_seeds = max(shown - both, 0.0)
    of_triples = max(of_clusters, both) if of_seeds else of_clusters
    if of_seeds:
        is_single = 1 in (len(systems[0]), len(systems[1]))
        share, e = min(shown / (of_seeds + of_triples), 1.0), 1.5 if n_free >= 4 and not is_single else 1.0
        freedom = 1 / (share**e / n_free + (1 - share) ** e / freedom)
    return of_seeds, of_triples, min(freedom, n_free) if n_free < 2 else freedom


def test_both_parts_of_the_variance_are_those_of_loops():
    rng = np.random.default_rng(0)
    n_with_seeds = 0
    n = size(20, 60)
    for _ in range(n):
        labels = rng.integers(0, rng.integers(3, 9), 12).tolist()
        labels[:3] = [0, 1, 2]
        first = random_runs(rng, int(rng.integers(2, 5)), labels)
        second = random_runs(rng, int(rng.integers(2, 5)), labels, rng.choice([0.0, 0.2]))
        found = mean_over_runs(first)
        of_seeds, of_triples, freedom = parts_by_loops([first], labels)
        n_with_seeds += of_seeds > 0
        assert found.of_seeds == pytest.approx(of_seeds, rel=1e-9, abs=1e-15)
        assert found.of_triples == pytest.approx(of_triples, rel=1e-9)
        reach = student_quantile(0.975, freedom) * found.error
        assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach), rel=1e-9)
        others = [random_runs(rng, k, labels) for k in (1, 2, 3)[: rng.integers(0, 4)]]
        single = random_runs(rng, 1, labels)
        for systems in ([first, second], [first, single], [single, random_runs(rng, 1, labels)]):
            more = [*others, first] if systems[0] is single else others
            found = compared(*systems, more)
            of_seeds, of_triples, freedom = parts_by_loops(systems, labels, more)
            n_with_seeds += of_seeds > 0
            assert found.error == pytest.approx(math.sqrt(of_seeds + of_triples), rel=1e-9)
            assert found.freedom == pytest.approx(freedom, rel=1e-9)
            p_value = student_p_value(found.value / found.error, freedom)
            assert found.p_value == pytest.approx(max(p_value, min(1.0, 2.0 ** (1 - found.n_differing))), rel=1e-9)
    assert n / 3 < n_with_seeds < 4 * n  # both cases occur


def test_mean_and_deviation_are_those_of_the_runs():
    rows = [[1.0, 0.5, 0.0], [1.0, 1.0, 0.25], [0.5, 0.25, 0.0]]
    runs = Runs(tuple(Moments(np.array(row)[:, None]) for row in rows), Clusters.of([0, 1, 2], 3))
    found = mean_over_runs(runs)
    assert found.value == pytest.approx((0.5 + 0.75 + 0.25) / 3)
    assert found.deviation == pytest.approx(0.25)  # of 0.5, 0.75 and 0.25
    assert found.n_runs == 3


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
        found = compared(first, second)
        expected = compare_paired(first.moments, second.moments, labels)[0]
        assert (found.p_value, found.test) == (expected.p_value, "swaps")
        assert found.interval(0.05) == pytest.approx(expected.interval(0.05), nan_ok=True)


def constant(*values):
    """Runs that differ by their seeds alone."""
    return Runs(tuple(Moments(np.full((40, 1), value)) for value in values), Clusters.of(np.arange(40), 40))


def test_spreads_are_pooled_and_single_runs_take_part():
    """Constant values: the t test of analysis of variance, s^2 over all models, runs - models degrees of freedom."""
    systems = [constant(0.5, 0.6, 0.8), constant(0.3, 0.2, 0.3), constant(0.2), constant(0.9)]
    squares = sum(3 * np.var(runs.values) for runs in systems[:2])
    for i, j, times in ((0, 1, 2 / 3), (0, 2, 4 / 3), (2, 3, 2.0)):
        (found,) = compare_runs(systems, [(i, j)])
        t = (systems[i].mean - systems[j].mean) / math.sqrt(squares / 4 * times)
        assert (found.freedom, found.test) == (pytest.approx(4), "t")
        assert found.p_value == pytest.approx(student_p_value(t, 4), rel=1e-9)


def test_separate_spreads_are_welchs_test():
    systems = [constant(0.5, 0.6, 0.8), constant(0.3, 0.2, 0.3), constant(0.1)]
    first, second, none = compare_runs(systems, [(0, 1), (1, 0), (0, 2)], spread="separate")
    variances = [np.var(runs.values, ddof=1) / 3 for runs in systems[:2]]
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / 2 + variances[1] ** 2 / 2)
    t = (1.9 / 3 - 0.8 / 3) / math.sqrt(sum(variances))
    assert first.p_value == second.p_value == pytest.approx(student_p_value(t, freedom), rel=1e-9)
    assert math.isnan(none.p_value)
    assert none.reason == "one run: how much the value varies with the seed is unknown"


def test_spreads_that_clearly_differ_are_separate_only_from_five_runs_on():
    rng = np.random.default_rng(11)
    for n_runs, is_separate in ((4, False), (5, True)):
        systems = [constant(*(0.5 + scale * rng.normal(size=n_runs))) for scale in (0.2, 0.01, 0.01)]
        pooled, separate = (compare_runs(systems, [(1, 2)], spread=spread)[0] for spread in ("pooled", "separate"))
        assert (pooled.error == separate.error) == is_separate
        assert pooled.error >= separate.error
    alike = [constant(*(0.5 + 0.1 * np.arange(5.0))) for _ in range(3)]
    assert compare_runs(alike, [(0, 1)])[0].freedom == pytest.approx(12)


@pytest.mark.parametrize(("p", "is_separate"), [(0.15, True), (0.18, False), (0.08, True)])
def test_spreads_differ_from_the_level_one_half_on(p, is_separate):
    """Three systems of five runs: each F test, of 4 against 8 degrees of freedom, is at 0.5 / 3 = 0.167."""
    from scipy.stats import f

    assert spreads_differ(np.array([f.isf(p / 2, 4, 8), 1.0, 1.0]), [5, 5, 5]) == is_separate


def test_two_runs_in_all_have_one_degree_of_freedom():
    """A spread from one difference of two runs may be anything: the t test has 1 degree of freedom throughout."""
    rng = np.random.default_rng(12)
    clusters = Clusters.of(np.arange(200), 200)
    first = Runs(tuple(Moments(rng.random((200, 1)) + shift) for shift in (0.0, 0.05)), clusters)
    found = compared(first, Runs((Moments(rng.random((200, 1))),), clusters))
    assert found.freedom == pytest.approx(1.0)


def test_exchanged_systems_change_the_sign_only():
    rng = np.random.default_rng(4)
    first, second = (random_runs(rng, n, np.arange(30), shift) for n, shift in ((3, 0.0), (4, 0.3)))
    one, other = compared(first, second), compared(second, first)
    low, high = other.interval(0.05)
    assert (one.value, *one.interval(0.05)) == pytest.approx((-other.value, -high, -low))
    assert one.p_value == pytest.approx(other.p_value)


def test_few_differing_clusters_cannot_be_significant():
    rows = np.zeros((2, 50))
    rows[:, :3] = 1.0  # three clusters differ, always in the same way: swaps give p = 2 / 8
    clusters = Clusters.of(np.arange(50), 50)
    first = Runs(tuple(Moments(row[:, None]) for row in rows), clusters)
    second = Runs(tuple(Moments(row[:, None]) for row in np.zeros((2, 50))), clusters)
    found = compared(first, second)
    assert found.p_value >= 0.25
    assert math.isnan(found.interval(0.05)[0])
    assert "3 differing clusters" in found.few(0.05)


def test_equal_systems_and_constant_differences():
    clusters = Clusters.of(np.arange(5), 5)
    rows = np.linspace(0.0, 1.0, 5)[:, None]
    first = Runs((Moments(rows), Moments(rows)), clusters)
    same = compared(first, first)
    assert (same.value, same.p_value) == (0.0, 1.0)
    assert math.isnan(same.interval(0.05)[0])
    assert "equal values in every cluster" in same.reason
    higher = compared(Runs((Moments(rows + 0.5), Moments(rows + 0.5)), clusters), first)
    assert higher.value == pytest.approx(0.5)
    assert math.isnan(higher.p_value)
    assert "cannot be estimated" in higher.reason


def test_equal_models_beside_others_say_so():
    """The seeds differ by 0.3, so that the pooled variance is above 0; no cluster of the first two models differs."""
    rng = np.random.default_rng(4)
    rows = [rng.random((20, 1)) + shift for shift in (0.0, 0.3, 0.1, 0.4)]
    clusters = Clusters.of(range(20), 20)
    systems = [Runs(tuple(map(Moments, part)), clusters) for part in (rows[:2], rows[:2][::-1], rows[2:])]
    equal, other, _ = compare_runs(systems, [(0, 1), (0, 2), (1, 2)])
    assert (equal.value, equal.n_differing, equal.p_value) == (0.0, 0, 1.0)
    assert equal.error > 0.0
    assert math.isnan(equal.interval(0.05)[0])
    assert equal.reason == "the two systems have equal values in every cluster"
    assert other.reason == ""


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
    with pytest.raises(kg.DataError, match=r"same observations, in the same order; got \[0, 3\] observations"):
        compared(one, nothing)
    with pytest.raises(kg.MetricError, match="spread must be one of 'pooled', 'separate'; got 'z'"):
        compared(one, one, spread="z")
    assert "one cluster" in compared(one, one).reason


def test_degrees_of_freedom_need_not_be_whole():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(9)
    for _ in range(100):
        freedom, t = float(np.exp(rng.uniform(0.0, np.log(1000.0)))), float(rng.exponential(3.0))
        assert student_p_value(t, freedom) == pytest.approx(2.0 * stats.t.sf(t, freedom), abs=1e-9)
        assert student_quantile(0.975, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)
