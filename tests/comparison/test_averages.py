"""Comparison.averages: differences of micro, macro and weighted averages against loops over triples and relations."""

import math

import numpy as np
import pytest
from ranked_results import compared

import kgeval as kg
from kgeval.comparison.rows import row_of
from kgeval.errors import DataError, MetricError
from kgeval.stats.intervals import macro_interval
from kgeval.stats.macro_difference import compare_macro
from kgeval.stats.moments import Moments
from kgeval.stats.tails import student_quantile

SIDES = ("subject", "object")
N = 30
RNG = np.random.default_rng(2)
RELATIONS = np.array([0] * 12 + [1] * 10 + [2] * 8)
FIRST = RNG.integers(1, 20, (2, N))
SECOND = np.clip(FIRST + RNG.integers(-3, 6, (2, N)), 1, None)
WEIGHTS = np.tile(RNG.integers(1, 6, N).astype(float), 2)


@pytest.fixture(scope="module")
def both_sides():
    return compared(FIRST, SECOND, metrics="mr,mrr,hits@3", relations=RELATIONS, sides=SIDES)


def macro_by_loops(value):
    """Difference of the macro averages, its jackknife error over the triples of each relation, degrees of freedom.

    In a relation with n triples, leaving out triple i changes the mean difference by (mean - mean without i); the
    variance is (n - 1) / n times the sum of the squares. The relations have the weight 1 / 3 each.
    """
    means, variances, sizes = [], [], []
    for relation in sorted(set(RELATIONS)):
        triples = [i for i in range(N) if RELATIONS[i] == relation]
        gaps = [sum(value(FIRST[side][i]) - value(SECOND[side][i]) for side in range(2)) / 2 for i in triples]
        mean = sum(gaps) / len(gaps)
        changes = [(sum(gaps) - gap) / (len(gaps) - 1) - mean for gap in gaps]
        means.append(mean)
        variances.append((len(gaps) - 1) / len(gaps) * sum(change**2 for change in changes))
        sizes.append(len(gaps))
    freedom = sum(1 / n for n in sizes) ** 2 / sum(1 / n**2 / (n - 1) for n in sizes)
    return sum(means) / 3, math.sqrt(sum(variances) / 9), int(freedom)


@pytest.mark.parametrize(("metric", "value"), [("mr", float), ("mrr", lambda rank: 1 / rank)])
def test_macro_by_loops(both_sides, metric, value):
    row = both_sides.averages("relation", metrics=metric).set_index("average").loc["macro"]
    difference, error, freedom = macro_by_loops(value)
    reach = student_quantile(0.975, freedom) * error
    assert row[["difference", "low_95", "high_95"]].tolist() == pytest.approx(
        [difference, difference - reach, difference + reach], rel=1e-9
    )
    assert (row["n"], row["n_clusters"], row["test"]) == (3, N, "t")
    values = [result.averages("relation", metrics=metric).loc["macro", metric] for result in both_sides.results]
    assert row[["value_first", "value_second"]].tolist() == pytest.approx(values, rel=1e-12)


def test_micro_is_the_row_of_the_comparison(both_sides):
    rows = both_sides.averages("relation")
    rows = rows[rows["average"] == "micro"]
    columns = ["value_first", "value_second", "difference", "error", "p", "low_95", "high_95", "n_clusters"]
    wanted = [row_of(both_sides.differences, metric, "A", "B") for metric in both_sides.keys]
    assert rows["metric"].tolist() == list(both_sides.keys)
    assert rows[columns].to_numpy(dtype=float) == pytest.approx(
        np.array([[row[name] for name in columns] for row in wanted])
    )


def test_weighted_by_loops(both_sides):
    row = both_sides.averages("relation", metrics="mr", weights=WEIGHTS).set_index("average").loc["weighted"]
    weights = WEIGHTS[:N]
    gaps = (FIRST - SECOND).mean(axis=0)
    value = (weights * gaps).sum() / weights.sum()
    # the weighted mean is a ratio of two means, and its parts are those of the gaps; the weights are fixed
    parts = N * weights * gaps / weights.sum()
    error = math.sqrt(((parts**2).mean() - value**2) / (N - 1))
    # the effective number of clusters counts a triple with both of its ranks, each with the weight w^(4/3)
    sizes = 2 * weights ** (4 / 3)
    freedom = int(sizes.sum() ** 2 / (sizes**2).sum() - 1)
    assert row[["difference", "error", "freedom"]].tolist() == pytest.approx([value, error, freedom], rel=1e-6)
    assert row["test"] == "swaps"
    assert row["value_first"] == pytest.approx(both_sides.results[0].weighted("mr", WEIGHTS).value)
    alike = both_sides.averages("relation", metrics="mr", weights=np.ones(2 * N)).set_index("average")
    assert alike.loc["weighted", "difference"] == pytest.approx(alike.loc["micro", "difference"])


def test_all_rows_are_one_family(both_sides):
    frame = both_sides.averages("relation", weights=WEIGHTS)
    assert frame["average"].tolist() == ["micro", "macro", "weighted"] * 3
    order = np.argsort(frame["p"].to_numpy(), kind="stable")
    expected = np.minimum(np.maximum.accumulate(frame["p"].to_numpy()[order] * np.arange(9, 0, -1)), 1.0)
    assert frame["p_corrected"].to_numpy()[order] == pytest.approx(expected)
    is_decided = frame["p_corrected"] <= 0.05
    assert (frame.loc[is_decided, "better"] == "A").all()  # lower ranks
    assert (frame.loc[~is_decided, "decision"] == "undecided").all()


def test_equally_large_groups_have_the_macro_average_of_micro():
    comparison = compared(FIRST, SECOND, metrics="mr", relations=np.arange(N) % 3, sides=SIDES)
    frame = comparison.averages("relation").set_index("average")
    assert frame.loc["macro", "difference"] == pytest.approx(frame.loc["micro", "difference"])


def test_several_columns_and_names(both_sides):
    by_two = both_sides.averages("relation", "side", metrics="mr").set_index("average").loc["macro"]
    groups = [(FIRST - SECOND)[side, relation == RELATIONS].mean() for relation in range(3) for side in range(2)]
    assert (by_two["n"], by_two["difference"]) == (6, pytest.approx(np.mean(groups)))
    back = both_sides.averages("relation", metrics="mr", first="B", second="A").set_index("average")
    forth = both_sides.averages("relation", metrics="mr").set_index("average")
    assert back.loc["macro", "difference"] == -forth.loc["macro", "difference"]
    assert back.loc["macro", "p"] == forth.loc["macro", "p"]


def test_a_group_of_one_triple_has_no_interval():
    comparison = compared(FIRST, SECOND, metrics="mr", relations=[0] * (N - 1) + [1], sides=SIDES)
    row = comparison.averages("relation").set_index("average").loc["macro"]
    assert row["reason"].startswith("1 of 2 groups have one cluster only")
    assert np.isnan(row[["low", "high", "p"]].astype(float)).all()
    assert row["decision"] == "undecided"


def test_h22_groups_of_two_triples_are_refused():
    """A relation of two triples has nearly the whole variance, and cannot show it: 0.64 of the intervals would hold."""
    rng, n = np.random.default_rng(0), 30
    comparison = compared(
        *rng.integers(1, 20, (2, 2, n)), metrics="mr,hits@3", relations=[0] * (n - 2) + [1] * 2, sides=SIDES
    )
    rows = comparison.averages("relation").set_index("average").loc["macro"]
    assert set(rows["reason"]) == {
        "groups of few clusters (such as two triples) make the error uncertain: freedom 1, and a macro difference "
        "needs at least 15; leave them out, or merge groups"
    }
    assert rows[["low", "high", "low_95", "high_95", "p", "p_corrected"]].isna().all(axis=None)
    assert (rows["decision"] == "undecided").all()
    assert (comparison.averages("relation").set_index("average").loc["micro", "reason"] == "").all()


@pytest.mark.parametrize(("sizes", "is_refused"), [([500, 100, 2, 2], True), ([300, 14], True), ([300, 15], False)])
def test_h22_the_freedom_of_groups_decides(sizes, is_refused):
    """Satterthwaite's freedom: (sum of 1/n)^2 / (sum of 1 / n^2 / (n - 1)); 15 or more are needed."""
    rng = np.random.default_rng(1)
    freedom = sum(1 / n for n in sizes) ** 2 / sum(1 / n**2 / (n - 1) for n in sizes)
    parts = [[Moments(rng.random((n, 1))) for n in sizes] for _ in range(2)]
    found = compare_macro(*parts, np.arange(sum(sizes)))
    assert found.freedom == int(freedom)
    assert is_refused == (freedom < 15) == math.isnan(found.p_value) == math.isnan(found.interval(0.05)[0])
    assert found.value == pytest.approx(np.mean([a.values.mean() - b.values.mean() for a, b in zip(*parts)]))


def test_equal_models_are_undecided():
    frame = compared(FIRST, FIRST, metrics="mr", relations=RELATIONS, sides=SIDES).averages("relation")
    row = frame.set_index("average").loc["macro"]
    assert (row["difference"], row["p"], row["decision"]) == (0.0, 1.0, "undecided")
    assert "equal values in every cluster" in row["reason"]


def test_few_differing_triples_limit_the_p_value():
    """One triple of each relation differs, three in all: p is at least 2 ** (1 - 3)."""
    other = FIRST.copy()
    other[:, [0, 12, 22]] += 40
    row = compared(FIRST, other, metrics="mr", relations=RELATIONS, sides=SIDES).averages("relation").iloc[1]
    assert row["p"] >= 0.25


def test_metrics_without_an_average(both_sides):
    comparison = compared(FIRST, SECOND, metrics="median_rank,query.map", relations=RELATIONS, sides=SIDES)
    frame = comparison.averages("relation", weights=WEIGHTS).set_index(["metric", "average"])
    assert "median" in frame.loc[("median_rank", "macro"), "reason"]
    assert "cannot be weighted" in frame.loc[("query.map", "weighted"), "reason"]
    assert frame.loc[("query.map", "macro"), "reason"] == ""
    queries = [result.averages("relation", metrics="query.map") for result in comparison.results]
    expected = queries[0].loc["macro", "query.map"] - queries[1].loc["macro", "query.map"]
    assert frame.loc[("query.map", "macro"), "difference"] == pytest.approx(expected)


@pytest.mark.parametrize("weights", [[1.0], -WEIGHTS, WEIGHTS * np.nan])
def test_weights_are_checked(both_sides, weights):
    with pytest.raises(MetricError, match="weights must be finite and at least 0, one for each of the 60 rows"):
        both_sides.averages("relation", weights=weights)


def test_unknown_columns_and_metrics(both_sides):
    with pytest.raises(MetricError, match="colour"):
        both_sides.averages("colour")
    with pytest.raises(MetricError, match="was not compared"):
        both_sides.averages("relation", metrics="hits@10")
    with pytest.raises(DataError, match="same groups"):
        compare_macro([Moments(np.ones((2, 1)))], [Moments(np.ones((3, 1)))], [0, 1])


def test_a_macro_difference_is_the_macro_average_of_the_differences():
    """For means, both ways must agree, clusters that share groups included."""
    rng = np.random.default_rng(0)
    parts = [[rng.normal(size=(n, 1)) for n in (30, 40, 20)] for _ in range(2)]
    clusters = rng.integers(0, 60, 90)
    found = compare_macro(*([Moments(part) for part in of_system] for of_system in parts), clusters)
    expected = macro_interval([Moments(one - other) for one, other in zip(*parts)], clusters)
    assert (found.value, found.error) == pytest.approx((expected.value, expected.error), rel=1e-12)
    assert found.interval(0.05) == pytest.approx((expected.low, expected.high), rel=1e-8)


@pytest.mark.thorough
def test_intervals_of_macro_differences_hold_the_true_difference():
    """4 relations with 25 triples each; two models that share the difficulty, one 0.2 worse."""
    rng = np.random.default_rng(1)
    n_runs, n_held = 400, 0
    for _ in range(n_runs):
        base = rng.normal(size=(4, 25, 1))
        parts = [[Moments(group + 0.5 * rng.normal(size=(25, 1)) + shift) for group in base] for shift in (0.2, 0.0)]
        found = compare_macro(*parts, np.arange(100))
        low, high = found.interval(0.05)
        n_held += low <= 0.2 <= high
    assert 0.92 < n_held / n_runs < 0.98


def test_entity_clusters_overlap(both_sides):
    by_entity = kg.compare(both_sides.results, names=["A", "B"], metrics="mr", cluster="entity", n_resamples=9)
    row = by_entity.averages("relation").set_index("average").loc["macro"]
    assert row["low"] < row["difference"] < row["high"]
