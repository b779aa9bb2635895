"""Tests over datasets: mean ranks and Friedman by loops, exact p-values by enumeration, others by scipy and by hand."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from kgeval.errors import DataError, MetricError
from kgeval.stats import across_datasets
from kgeval.stats.across_datasets import alike_groups, friedman, mean_ranks, nemenyi

NAN = float("nan")
AGREE = [[0.5, 0.4, 0.3], [0.3, 0.2, 0.1], [0.9, 0.8, 0.6]]


@pytest.fixture
def scipy_stats():
    """Skips where there is no scipy."""
    return pytest.importorskip("scipy.stats", reason="needs kgeval[stats]")


def looped_ranks(row, higher_is_better):
    """1 + the number of better values + half of the number of equal other values."""
    ranks = []
    for value in row:
        better = sum(other > value if higher_is_better else other < value for other in row)
        ranks.append(1 + better + Fraction(sum(other == value for other in row) - 1, 2))
    return ranks


def looped_chi2(rows):
    """Friedman's statistic with Conover's correction for ties, in fractions."""
    ranks = [looped_ranks(row, True) for row in rows]
    n, k = len(ranks), len(ranks[0])
    sums = [sum(of_row[j] for of_row in ranks) for j in range(k)]
    squares = sum(rank**2 for of_row in ranks for rank in of_row)
    return (
        (k - 1)
        * sum((total - Fraction(n * (k + 1), 2)) ** 2 for total in sums)
        / (squares - Fraction(n * k * (k + 1) ** 2, 4))
    )


def combinations_of_orders(rows):
    """All ways to order the values of each dataset anew; equal values are not exchanged."""
    return itertools.product(*(sorted(set(itertools.permutations(row))) for row in rows))


def random_values(seed, is_tied, most=(12, 9)):
    """Values of fewer than `most` datasets and models."""
    rng = np.random.default_rng(seed)
    n, k = (int(rng.integers(low, high)) for low, high in zip((2, 3), most))
    return rng.integers(0, 4, (n, k)).astype(float) if is_tied else rng.normal(size=(n, k))


def test_mean_ranks_by_loops():
    for seed in range(40):
        values = random_values(seed, seed % 2 == 0)
        values[np.random.default_rng(seed).random(values.shape) < 0.05] = NAN
        kept = [row for row in values.tolist() if not any(map(math.isnan, row))]
        for higher_is_better in (True, False):
            found = mean_ranks(values, higher_is_better)
            ranks = [looped_ranks(row, higher_is_better) for row in kept]
            assert found.ranks.tolist() == [[float(rank) for rank in row] for row in ranks]
            assert found.n_left_out == len(values) - len(kept)
            assert found.is_kept.tolist() == [not any(map(math.isnan, row)) for row in values.tolist()]
            for j in range(values.shape[1]):
                wanted = float(sum(row[j] for row in ranks) / len(ranks)) if ranks else NAN
                assert found.means[j] == pytest.approx(wanted, rel=1e-15, nan_ok=True)


def test_lower_is_better_turns_the_ranks():
    """A mean rank (MR) of 100 is better than one of 300."""
    values = [[100.0, 300.0, 200.0]]
    assert mean_ranks(values, False).ranks.tolist() == [[1.0, 3.0, 2.0]]
    assert mean_ranks(values, True).ranks.tolist() == [[3.0, 1.0, 2.0]]


def test_values_that_differ_by_rounding_errors_are_equal():
    """The mean over three seeds in another order: 0.1 + 0.2 is not 0.3 in float64; a difference of 1e-12 is one."""
    third = (0.1 + 0.2 + 0.3) / 3, (0.3 + 0.2 + 0.1) / 3
    assert third[0] != third[1]
    assert mean_ranks([[*third, 0.1]], True).ranks.tolist() == [[1.5, 1.5, 3.0]]
    assert mean_ranks([[0.2 + 1e-12, 0.2, -0.0, 0.0]], True).ranks.tolist() == [[1.0, 2.0, 3.5, 3.5]]


def test_wrong_values_are_refused():
    with pytest.raises(DataError, match=r"values must have shape \(datasets, models\), .*; got \(3,\)"):
        mean_ranks([0.1, 0.2, 0.3], True)
    with pytest.raises(DataError, match=r"got \(2, 0\)"):
        mean_ranks(np.zeros((2, 0)), True)
    with pytest.raises(DataError) as caught:
        mean_ranks([[0.1, 0.2], [0.3, math.inf]], True)
    wanted = "values, dataset 1, model 1: expected a finite number, or NaN for a missing value; got inf"
    assert str(caught.value) == wanted
    assert np.isnan(mean_ranks([[NAN, 1.0]], True).means).all()


def check_friedman(scipy_stats, values):
    n, k = values.shape
    found, other = friedman(values), scipy_stats.friedmanchisquare(*values.T)
    chi2 = looped_chi2(values.tolist())
    rest = n * (k - 1) - chi2
    f = float((n - 1) * chi2 / rest) if rest else math.inf
    assert (found.chi2, found.p_chi2) == pytest.approx((other.statistic, other.pvalue), rel=1e-9)
    assert (found.chi2, found.f) == pytest.approx((float(chi2), f), rel=1e-12)
    assert found.p_f == pytest.approx(scipy_stats.f.sf(f, k - 1, (k - 1) * (n - 1)), rel=1e-9)
    assert (found.n_models, found.n_datasets, found.n_left_out, found.reason) == (k, n, 0, "")
    assert found.p_value == (found.p_exact if found.is_exact else max(found.p_f, found.smallest_p))
    turned = friedman(-values)
    assert (turned.chi2, turned.p_exact) == pytest.approx((found.chi2, found.p_exact), nan_ok=True)


def test_friedman_agrees_with_scipy_and_loops(scipy_stats):
    for seed in range(20):
        check_friedman(scipy_stats, random_values(100 + seed, seed % 2 == 0, (6, 5)))


@pytest.mark.thorough
def test_friedman_of_more_datasets_and_models_agrees_with_scipy_and_loops(scipy_stats):
    for seed in range(60):
        check_friedman(scipy_stats, random_values(400 + seed, seed % 2 == 0, (25, 12)))


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 2, 3], [1, 3, 2], [1, 2, 3], [2, 3, 1]],
        [[1, 2], [1, 2], [2, 1], [1, 2], [1, 1]],
        [[1, 1, 2], [1, 2, 3], [1, 2, 2], [2, 1, 3]],
        [[1, 2, 3, 4], [2, 1, 3, 4]],
        [[1, 1, 2, 2], [1, 2, 2, 2], [1, 2, 3, 4]],
        [[1, 1, 1], [1, 2, 3], [1, 2, 3]],
        [[1, 1, 2, 3], [1, 1, 2, 3]],
    ],
)
def test_exact_p_value_by_enumeration(scipy_stats, rows):
    """The share of all combinations of orders with a statistic of at least the observed one; the smallest share."""
    found = friedman(rows)
    statistics = [looped_chi2(orders) for orders in combinations_of_orders(rows)]
    assert found.p_exact == pytest.approx(np.mean([chi2 >= looped_chi2(rows) for chi2 in statistics]), rel=1e-12)
    assert found.smallest_p == pytest.approx(statistics.count(max(statistics)) / len(statistics), rel=1e-12)
    assert found.p_value == found.p_exact


def test_exact_p_values_of_published_tables(scipy_stats):
    """Friedman (1937), tables V and VI, as reprinted in textbooks: p-values to three digits."""
    orders = {3: [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]]}
    three = {6.0: 0.028, 14 / 3: 0.194, 8 / 3: 0.361, 2.0: 0.528, 2 / 3: 0.944, 0.0: 1.0}
    found = {}
    for rows in itertools.product(orders[3], repeat=2):
        test = friedman([[1, 2, 3], *rows])
        found[round(test.chi2, 9)] = round(test.p_exact, 3)
    assert found == {round(chi2, 9): p for chi2, p in three.items()}
    assert round(friedman([[1, 2, 3]] * 4).p_exact, 4) == 0.0046
    assert round(friedman([[1, 2, 3, 4]] * 2).p_exact, 3) == 0.042


def test_exact_p_value_is_exact_and_the_f_distribution_is_not(scipy_stats):
    """Of all orders of 3 models on 3 datasets, a share of p has a p-value of at most p; by F, 7 of 36 are below 5%."""
    orders = list(itertools.permutations([1.0, 2.0, 3.0]))
    tests = [friedman([orders[0], *rows]) for rows in itertools.product(orders, repeat=2)]
    for test in tests:
        assert np.mean([other.p_exact <= test.p_exact + 1e-12 for other in tests]) == pytest.approx(test.p_exact)
    assert sum(test.p_f <= 0.05 for test in tests) == 7
    assert sum(test.p_value <= 0.05 for test in tests) == 1


def test_datasets_that_all_agree(scipy_stats):
    """F divides by 0; the p-value is that of 6 of 6 ** 3 combinations, also where the enumeration is too long."""
    found = friedman(AGREE)
    assert (found.chi2, found.f, found.p_f) == (6.0, math.inf, 0.0)
    assert found.p_value == found.p_exact == found.smallest_p == pytest.approx(1 / 36)
    many = friedman(np.arange(30.0) * np.ones((3, 1)))
    assert math.isnan(many.p_exact)
    assert many.p_value == many.smallest_p == pytest.approx(1 / math.factorial(30) ** 2, rel=1e-12)


def test_too_long_enumerations_are_left_out(scipy_stats, monkeypatch):
    values = np.random.default_rng(3).normal(size=(4, 4))
    whole = friedman(values)
    for limit in ("MAX_EXACT_MODELS", "MAX_RANK_SUMS", "MAX_LAST_SUMS"):
        with monkeypatch.context() as context:
            context.setattr(across_datasets, limit, 3)
            found = friedman(values)
        assert whole.is_exact
        assert not found.is_exact
        assert found.p_value == found.p_f == whole.p_f


def test_why_there_is_no_test(scipy_stats):
    for values, reason in (
        ([[0.1], [0.2]], "a test needs at least two models"),
        ([[0.1, 0.2]], "a test needs at least two datasets with values of all models; got 1 dataset"),
        ([[0.1, NAN], [0.3, 0.4]], "a test needs at least two datasets with values of all models; got 1 dataset"),
        ([[0.1, 0.1], [0.3, 0.3]], "all models are equal in every dataset"),
    ):
        tests = friedman(values), nemenyi(values)
        assert [test.reason for test in tests] == [reason] * 2
        assert math.isnan(tests[0].chi2)
        assert math.isnan(tests[0].p_value)
        assert math.isnan(tests[1].critical_difference)
        assert np.isnan(tests[1].p_values).all()
        assert tests[0].n_left_out == np.isnan(values).any(axis=1).sum()


def test_critical_values_of_nemenyi_are_the_published_ones(scipy_stats):
    """Demšar (2006), table 5 (a): q for 2 to 10 models at 0.05, and at 0.10."""
    published = {
        0.95: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
        0.90: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
    }
    for confidence, row in published.items():
        for k, q in zip(range(2, 11), row):
            found = nemenyi(np.arange(k) * np.ones((7, 1)), confidence)
            assert found.critical_difference / math.sqrt(k * (k + 1) / 42) == pytest.approx(q, abs=1.001e-3)
    with pytest.raises(MetricError, match="confidence"):
        nemenyi(AGREE, 1.0)


def test_nemenyi_by_scipy(scipy_stats):
    """Each pair alone; its p-value is at most 0.05 exactly if the mean ranks differ by the critical difference."""
    for seed in range(6):
        values = random_values(200 + seed, seed % 2 == 0)
        n, k = values.shape
        found, means = nemenyi(values), mean_ranks(values, True).means
        assert found.p_values.tolist() == found.p_values.T.tolist()
        for i, j in itertools.combinations(range(k), 2):
            q = abs(means[i] - means[j]) / math.sqrt(k * (k + 1) / (12 * n))
            assert found.p_values[i, j] == pytest.approx(scipy_stats.studentized_range.sf(q, k, math.inf), abs=1e-9)
            if abs(abs(means[i] - means[j]) - found.critical_difference) > 1e-6:
                is_apart = abs(means[i] - means[j]) > found.critical_difference
                assert (found.p_values[i, j] <= 0.05) == is_apart


def test_alike_groups_by_all_subsets():
    """Of p-values that fall with the distance of mean ranks: every largest set of models of which no two are apart."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(1, 8))
        ranks = np.sort(rng.integers(0, 12, k))
        p_values = np.exp(-np.abs(ranks[:, None] - ranks[None]).astype(float))
        sets = [
            set(chosen)
            for size in range(2, k + 1)
            for chosen in itertools.combinations(range(k), size)
            if all(p_values[i, j] > 0.05 for i, j in itertools.combinations(chosen, 2))
        ]
        largest = [chosen for chosen in sets if not any(chosen < other for other in sets)]
        found = [set(range(first, last + 1)) for first, last in alike_groups(p_values, 0.05)]
        assert sorted(map(sorted, found)) == sorted(map(sorted, largest))
    assert alike_groups(np.full((2, 2), 0.05), 0.05) == []
