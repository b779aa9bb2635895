"""Comparison.plan and replication: numbers of ranks and triples, the family of tests, sentences, orders of models."""

import functools
import math
from statistics import NormalDist

import numpy as np
import pytest
from ranked_results import compared

from kgeval.comparison import replication_lines
from kgeval.errors import MetricError, ProtocolError

SIDES = ("subject", "object")
N = 100
RNG = np.random.default_rng(6)
BASE = RNG.integers(1, 30, (2, N))
NEAR = np.clip(BASE + RNG.integers(-4, 6, (2, N)), 1, None)
FAR = np.clip(BASE + RNG.integers(0, 12, (2, N)), 1, None)


@functools.cache
def of_three():
    return compared(BASE, NEAR, FAR, metrics="mrr,mr", sides=SIDES, n_resamples=999)


def test_a_plan_for_detectable_needs_the_present_triples():
    """The significance level is 5% divided by the 6 tests (3 pairs, 2 metrics), as for `detectable`."""
    for metric in ("mrr", "mr"):
        for row in of_three().table.query(f"metric == '{metric}'").to_dict("records"):
            plan = of_three().plan(row["detectable"], metric, first=row["first"], second=row["second"])
            assert plan.n_tests == 6
            assert plan.plan.alpha == pytest.approx(0.05 / 6)
            assert plan.is_enough
            assert plan.n_triples == N
            assert plan.n_observations == 2 * N
            assert plan.n_triples_needed == pytest.approx(N, abs=1)
            assert plan.n_observations_needed == 2 * plan.n_triples_needed


def test_half_the_difference_needs_about_four_times_the_triples():
    detectable = of_three().table["detectable"][0]
    plan = of_three().plan(detectable / 2)
    assert not plan.is_enough
    assert 3.3 * N < plan.n_triples_needed < 4.1 * N
    assert plan.plan.power_now < 0.4


def test_sentences_say_whether_the_sample_is_enough():
    detectable = float(of_three().table["detectable"][0])
    assert str(of_three().plan(2 * detectable)).endswith(": enough for a probability of 0.8")
    few = of_three().plan(detectable / 2, power=0.9)
    text = str(few)
    assert text.startswith(
        f"a true difference of {detectable / 2:.4f} in MRR between A and B is found with probability "
    )
    assert "by the present 100 test triples and 200 ranks, at the level 0.008333 (0.05 divided by the 6 tests" in text
    needed = int(few.n_triples_needed)
    assert f"which needs {needed:,} test triples ({2 * needed:,} ranks) like these" in text


def test_units_of_other_clusters():
    by_query = compared(BASE, NEAR, metrics="mrr,query.map", sides=SIDES, cluster="query", n_resamples=999)
    text = str(by_query.plan(0.001))
    assert " queries instead of 200, or " in text
    of_queries = by_query.plan(0.001, "query.map")
    assert (of_queries.observation, of_queries.n_observations) == ("query", 200)
    assert "and 200 queries" in str(of_queries)


def test_no_plan_says_why():
    equal = compared(BASE, BASE, metrics="mrr", sides=SIDES).plan(0.01)
    assert str(equal) == (
        "no plan for a true difference of 0.0100 in MRR between A and B: the two systems have equal values in every "
        "cluster"
    )
    assert math.isnan(equal.n_triples_needed)
    few_swaps = compared(BASE, NEAR, metrics="mrr", sides=SIDES, n_resamples=9).plan(0.01)
    assert "9 random swaps are too few for a p-value of 0.05" in str(few_swaps)
    median = compared(BASE, NEAR, metrics="median_rank", sides=SIDES).plan(0.5)
    assert "median" in str(median)


def test_inputs_are_checked():
    for difference in (0.0, 1.0, -1.5, math.nan, "x"):
        with pytest.raises(MetricError, match="difference"):
            of_three().plan(difference)
    with pytest.raises(MetricError, match="not in percent"):
        of_three().plan(2.0)
    with pytest.raises(MetricError, match="power"):
        of_three().plan(0.01, power=80)
    with pytest.raises(MetricError, match="was not compared"):
        of_three().plan(0.01, "hits@1")
    with pytest.raises(ProtocolError, match="two different models"):
        of_three().plan(0.01, first="A", second="A")


def test_the_sign_of_two_models_repeats_by_hand():
    """The mean difference of the two ranks of each triple, its standard error over triples; nearly normal."""
    comparison = compared(BASE, NEAR, metrics="mr", sides=SIDES)
    gaps = (NEAR - BASE).mean(axis=0)
    error = gaps.std(ddof=1) / math.sqrt(N)
    found = comparison.replication()
    assert found.order == ("A", "B")  # lower ranks are better
    expected = NormalDist().cdf(abs(gaps.mean()) / error / math.sqrt(2))
    assert found.of_order == pytest.approx(expected, abs=0.003)
    row = found.table.iloc[0]
    assert (row["first"], row["second"]) == ("A", "B")
    assert (row["difference"], row["error"]) == pytest.approx((-gaps.mean(), error))
    assert row["probability"] == found.of_order == found.of_first


def test_the_order_of_three_models():
    found = of_three().replication("mr")
    assert found.order == ("A", "B", "C")
    pairs = found.table.set_index(["first", "second"])["probability"]
    assert len(pairs) == 3
    # never more certain than its least certain pair, never less than the sum of the doubts allows
    neighbours = [pairs[("A", "B")], pairs[("B", "C")]]
    assert sum(neighbours) - 1 - 0.01 < found.of_order < min(neighbours) + 0.01
    assert found.of_order < found.of_first + 0.001
    assert found.of_order == of_three().replication("mr").of_order
    assert found.of_order != of_three().replication("mr", seed=1).of_order
    lines = replication_lines(found)
    assert lines[0].startswith("on a new test set of the same size, A > B > C in MR repeats with probability ")
    assert lines[0].endswith("(if the observed differences are the best guess of the true ones)")
    assert [line.split(":")[0] for line in lines[1:]] == ["A - B", "B - C"]


def test_models_without_values_have_no_order():
    found = compared(BASE, NEAR, metrics="median_rank", sides=SIDES).replication()
    assert math.isnan(found.of_order)
    assert "median" in str(found)
    single = compared([3], [5], metrics="mr").replication()
    assert math.isnan(single.of_order)
    assert "one cluster" in str(single)


def test_equal_models_repeat():
    found = compared(BASE, BASE, metrics="mr", sides=SIDES).replication()
    assert found.of_order == 1.0
    assert math.isnan(found.table["probability"][0])
    assert "equal values" in found.table["reason"][0]
