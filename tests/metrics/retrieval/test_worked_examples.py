"""Worked examples of the metrics of ranked lists, each derived by hand in its docstring."""

import math
import random

import numpy as np
import oracle_lists as oracle
import pandas as pd
import pytest
from grids import light
from random_lists import same

from kgeval.metrics.retrieval.base import LISTS
from kgeval.metrics.retrieval.curves import mean_pr_curve, pr_curves, running
from kgeval.metrics.retrieval.inputs import from_ranking, from_run, from_scores
from kgeval.metrics.retrieval.tabulation import tabulate

GRADED = [3, 2, 3, 0, 1, 2, 3, 0]
LEFT, RIGHT = [1, 1, 0, 0, 1, 0, 0], [0, 1, 1, 0, 0, 1, 1]


def value(text, lists, ties="expected", average="macro"):
    """The average of a metric named by its text; it must be defined."""
    found = LISTS.parse(text).compute(lists, ties, average)
    assert not found.reason
    return found.value


def exactly(wanted):
    """Equal but for rounding."""
    return pytest.approx(float(wanted), rel=1e-14)


@pytest.mark.parametrize(
    ("k", "precision", "recall", "f1"), [(3, 2 / 3, 2 / 4, 4 / 7), (4, 1 / 2, 2 / 4, 1 / 2), (5, 3 / 5, 3 / 4, 2 / 3)]
)
def test_precision_recall_f1(k, precision, recall, f1):
    """Relevant A, C, E, Q; returned A, B, C, D, E: hits 2, 2, 3 among 3, 4, 5, and 4 relevant items in all.

    F1 = 2PR / (P + R): at 3 (2 * 2/3 * 1/2) / (7/6) = 4/7; at 4 1/2; at 5 (9/10) / (27/20) = 2/3. In hits,
    2 * hits / (k + 4).
    """
    lists = from_run({"q": {"A", "C", "E", "Q"}}, {"q": ["A", "B", "C", "D", "E"]})
    assert value(f"precision@{k}", lists) == exactly(precision)
    assert value(f"recall@{k}", lists) == exactly(recall)
    assert value(f"f1@{k}", lists) == exactly(f1) == 2 * precision * recall / (precision + recall)
    assert value(f"fbeta(beta=2)@{k}", lists) == exactly(5 * precision * recall / (4 * precision + recall))
    assert value(f"precision(short=cut)@{k + 9}", lists) == value("precision@5", lists) == exactly(3 / 5)
    assert value(f"precision@{k + 9}", lists) == exactly(3 / (k + 9))


def test_linear_dcg():
    """Gains 3, 2, 3, 0, 1, 2, 3, 0 in score order; place i is divided by log2(i + 1), of the ideal too.

    DCG@6 = 3 + 2/log2(3) + 3/2 + 0 + 1/log2(6) + 2/log2(7) = 3 + 1.26185951 + 1.5 + 0.38685281 + 0.71241437
    = 6.86112669 (6.86112667 in the source, whose terms were rounded before they were added).
    IDCG@6, of 3, 3, 3, 2, 2, 1 = 3 + 3/log2(3) + 3/2 + 2/log2(5) + 2/log2(6) + 1/log2(7)
    = 3 + 1.89278926 + 1.5 + 0.86135312 + 0.77370561 + 0.35620719 = 8.38405518 (source: 8.38405516).
    nDCG@6 = 0.81835419 either way.
    """
    log2 = math.log2
    dcg = 3 + 2 / log2(3) + 3 / 2 + 1 / log2(6) + 2 / log2(7)
    ideal = 3 + 3 / log2(3) + 3 / 2 + 2 / log2(5) + 2 / log2(6) + 1 / log2(7)
    lists, sorted_lists = from_ranking(GRADED), from_ranking(sorted(GRADED, reverse=True))
    assert round(dcg, 8) == 6.86112669
    assert round(ideal, 8) == 8.38405518
    assert value("dcg@6", lists) == exactly(dcg) == pytest.approx(6.86112667, abs=3e-8)
    assert value("dcg@6", sorted_lists) == exactly(ideal) == pytest.approx(8.38405516, abs=3e-8)
    assert value("ndcg@6", lists) == exactly(dcg / ideal) == pytest.approx(0.81835419, abs=5e-9)
    assert value("ndcg@6", sorted_lists) == value("ndcg", sorted_lists) == 1.0


@pytest.mark.parametrize("seed", light(range(20), 3))
def test_scores_only_order_the_worked_list(seed):
    """Any eight falling scores, in any order of the items, give the nDCG@6 of 0.81835419 above."""
    rng = random.Random(seed)
    scores = sorted(rng.sample(range(-50, 50), 8), reverse=True)
    order = rng.sample(range(8), 8)
    lists = from_scores([GRADED[i] for i in order], [scores[i] / 7 for i in order])
    for text in ("ndcg@6", "dcg@6", "dcg(gain=exponential)", "err(g_max=3)@5", "map", "auc"):
        assert value(text, lists) == value(text, from_ranking(GRADED))
    assert round(value("ndcg@6", lists), 8) == 0.81835419


def test_exponential_dcg_with_natural_logarithm():
    """2^g - 1 is 7, 3, 1 for the grades 3, 2, 1; place i is divided by ln(i + 1).

    Grades 3, 2, 3, 0, 1, 2, 2: 7/ln2 + 3/ln3 + 7/ln4 + 0 + 1/ln6 + 3/ln7 + 3/ln8 = 21.421516; ideal
    3, 3, 2, 2, 2, 1, 0: 7/ln2 + 7/ln3 + 3/ln4 + 3/ln5 + 3/ln6 + 1/ln7 = 22.686817; nDCG 0.944227.
    Grades 2, 2, 3, 1, 2, 3, 1: 3/ln2 + 3/ln3 + 7/ln4 + 1/ln5 + 3/ln6 + 7/ln7 + 1/ln8 = 18.482089; ideal
    3, 3, 2, 2, 2, 1, 1: the one above and 1/ln8 = 23.167716; nDCG 0.797752. The mean is 0.870990.
    """
    ln = math.log
    first = 7 / ln(2) + 3 / ln(3) + 7 / ln(4) + 1 / ln(6) + 3 / ln(7) + 3 / ln(8)
    second = 3 / ln(2) + 3 / ln(3) + 7 / ln(4) + 1 / ln(5) + 3 / ln(6) + 7 / ln(7) + 1 / ln(8)
    ideal = 7 / ln(2) + 7 / ln(3) + 3 / ln(4) + 3 / ln(5) + 3 / ln(6) + 1 / ln(7)
    ideals = [ideal, ideal + 1 / ln(8)]
    assert [round(x, 6) for x in (first, second, *ideals)] == [21.421516, 18.482089, 22.686817, 23.167716]
    lists = from_ranking([[3, 2, 3, 0, 1, 2, 2], [2, 2, 3, 1, 2, 3, 1]])
    best = from_ranking([[3, 3, 2, 2, 2, 1, 0], [3, 3, 2, 2, 2, 1, 1]])
    dcg, ndcg = LISTS.parse("dcg(gain=exponential,base=e)@7"), LISTS.parse("ndcg(gain=exponential)@7")
    assert same(dcg.per_query(lists), [first, second])
    assert same(dcg.per_query(best), ideals)
    assert ndcg.per_query(lists).round(6).tolist() == [0.944227, 0.797752]
    assert round(ndcg.compute(lists).value, 6) == 0.870990
    assert same(ndcg.per_query(lists), [first / ideals[0], second / ideals[1]])
    assert ndcg.compute(lists, average="micro").value == exactly((first + second) / sum(ideals))


@pytest.mark.parametrize("base", ["2", "e", "10", "1.5"])
def test_base_of_the_logarithm(base):
    """log_b(x) = ln(x) / ln(b): DCG grows by ln(b), its ratio to the ideal DCG, nDCG, stays."""
    lists, best = from_ranking(GRADED), from_ranking(sorted(GRADED, reverse=True))
    dcg, factor = f"dcg(base={base})", math.log(math.e if base == "e" else float(base))
    assert value(dcg, lists) == exactly(factor * value("dcg(base=e)", lists))
    assert value(dcg, lists) / value(dcg, best) == exactly(value("ndcg", lists))


def test_custom_gains():
    """1:3;2:9 makes 1 worth 3, 2 worth 9, and 3, not named, 3: DCG@3 of 3, 2, 1 = 3 + 9/log2(3) + 3/2.

    The ideal order is by worth: 9 + 3/log2(3) + 3/2.
    """
    lists = from_ranking([3, 2, 1])
    dcg, ideal = 3 + 9 / math.log2(3) + 1.5, 9 + 3 / math.log2(3) + 1.5
    assert value("dcg(gain=1:3;2:9)@3", lists) == exactly(dcg)
    assert value("ndcg(gain=1:3;2:9)@3", lists) == exactly(dcg / ideal)


def test_mean_reciprocal_rank():
    """First hits at 2, 1, 3: (1/2 + 1 + 1/3) / 3 = 11/18; a fourth query without a hit adds 0: 11/24."""
    three = [[0, 1, 1], [1, 0, 0], [0, 0, 1]]
    assert value("rr", from_ranking(three)) == value("mrr", from_ranking(three)) == exactly(11 / 18)
    found = LISTS.parse("rr").compute(from_ranking([*three, [0, 0, 0]]))
    assert found.value == exactly(11 / 24)
    assert found.excluded == 0
    assert value("rr@2", from_ranking(three)) == exactly((1 / 2 + 1) / 3)
    assert value("success@2", from_ranking(three)) == exactly(2 / 3)


def test_mean_average_precision():
    """Labels 1,1,0,0,1,0,0: (1 + 1 + 3/5) / 3 = 13/15; 0,1,1,0,0,1,1: (1/2 + 2/3 + 3/6 + 4/7) / 4 = 47/84.

    MAP = (13/15 + 47/84) / 2 = 599/840 = 0.713; a published text prints 599/420 = 1.426, the sum, which no mean of
    numbers up to 1 can be. Micro: (13/5 + 47/21) / 7.
    """
    lists = from_ranking([LEFT, RIGHT])
    assert same(LISTS.parse("map").per_query(lists), [13 / 15, 47 / 84])
    assert value("map", lists) == exactly(599 / 840)
    assert 599 / 420 > 1 >= LISTS.parse("map").bounds[1]
    assert value("map", lists, average="micro") == exactly((13 / 5 + 47 / 21) / 7)
    assert value("map@3", lists) == exactly((2 / 3 + (1 / 2 + 2 / 3) / 4) / 2)


def test_average_precision():
    """Labels 1,0,0,1,1,1: (1/1 + 2/4 + 3/5 + 4/6) / 4 = 83/120 = 0.6917; its R-precision: 2 hits among 4."""
    lists = from_ranking([1, 0, 0, 1, 1, 1])
    assert value("map", lists) == exactly(83 / 120)
    assert round(83 / 120, 4) == 0.6917
    assert value("rprec", lists) == 0.5


def test_expected_reciprocal_rank():
    """Grades 3, 2, 3, 1 and g_max 3: R = (2^g - 1) / 8 = .875, .375, .875, .125.

    A reader stops at 1 with .875 = 0.875; at 2 with .125 * .375, by 2: 3/128 = 0.0234375; at 3 with
    .125 * .625 * .875, by 3: 35/1536 = 0.022786; at 4 with .125 * .625 * .125 * .125, by 4: 5/16384 = 0.000305.
    The sum is 0.921529; the 0.913391 that a text prints beside this formula is not what it gives.
    """
    lists, terms = from_ranking([3, 2, 3, 1]), [7 / 8, 3 / 128, 35 / 1536, 5 / 16384]
    assert [round(term, 6) for term in terms] == [0.875, 0.023438, 0.022786, 0.000305]
    for k in (1, 2, 3, 4):
        assert value(f"err(g_max=3)@{k}", lists) == exactly(sum(terms[:k]))
    assert round(value("err(g_max=3)", lists), 6) == 0.921529 != 0.913391
    assert value("err", from_ranking([0, 1, 1])) == exactly(1 / 2 / 2 + 1 / 4 / 3)
    assert value("err(g_max=4)", lists) < value("err(g_max=3)", lists)


def test_two_tied_items_one_relevant():
    """Places 1 and 2 are equally likely: the mean of both orders, by hand.

    RR and AP (1 + 1/2) / 2 = 3/4, P@1 = R@1 = success@1 = 1/2, AUC 1/2, nDCG (1 + 1/log2(3)) / 2, ERR 3/8.
    """
    lists = from_scores([0, 1], [0.5, 0.5])
    wanted = {"rr": 3 / 4, "map": 3 / 4, "precision@1": 1 / 2, "recall@1": 1 / 2, "success@1": 1 / 2, "auc": 1 / 2}
    wanted |= {"rprec": 1 / 2, "f1@1": 1 / 2, "ndcg": (1 + 1 / math.log2(3)) / 2, "err": 3 / 8, "precision@2": 1 / 2}
    for text, number in wanted.items():
        assert value(text, lists) == exactly(number)
        assert oracle.expectation(text, [[0, 1]]) == exactly(number)
    ties = ("optimistic", "pessimistic", "stable")
    assert [value("rr", lists, t) for t in ties] == [1.0, 0.5, 0.5]
    assert [value("err", lists, t) for t in ties] == [0.5, 0.25, 0.25]
    assert [value("iap", lists, t) for t in ties] == [1.0, 0.5, 0.5]


def test_three_tied_items_after_another():
    """An irrelevant item, then three tied with two relevant: orders 110, 101, 011 of places 2 to 4, each 1/3.

    RR (1/2 + 1/2 + 1/3) / 3 = 4/9; AP ((1/2 + 2/3) + (1/2 + 2/4) + (1/3 + 2/4)) / 6 = 1/2; success@2 2/3;
    P@3 (2 + 1 + 1) / 9 = 4/9; AUC: both relevant items lose to the first, and win against the other with 1/2:
    1 of 4 pairs.
    """
    lists = from_scores([0, 1, 0, 1], [2, 1, 1, 1])
    wanted = {"rr": 4 / 9, "map": 1 / 2, "success@2": 2 / 3, "precision@3": 4 / 9, "auc": 1 / 4}
    for text, number in wanted.items():
        assert value(text, lists) == exactly(number)
        assert oracle.expectation(text, [[0], [1, 0, 1]]) == exactly(number)


def test_running_average_precision():
    """cumsum(cumsum(rel) * rel / position) / cumsum(rel) of 1,0,0,1,1,1 and of a list that starts with 0.

    Precisions at the hits 1, 1/2, 3/5, 2/3: means so far 1, 1, 1, 3/4, 7/10, 83/120. Of 0,1: 0/0, then 1/2.
    """
    frame = running(from_ranking([[1, 0, 0, 1, 1, 1], [0, 1]]))
    for labels, query in (([1, 0, 0, 1, 1, 1], 0), ([0, 1], 1)):
        rel, position = np.array(labels), np.arange(1, len(labels) + 1)
        part = frame[frame["query"] == query]
        with np.errstate(invalid="ignore"):
            assert same(part["average_precision"], np.cumsum(np.cumsum(rel) * rel / position) / np.cumsum(rel))
        for text, column in (("map", "average_precision"), ("precision", "precision")):
            prefixes = [LISTS.parse(text).per_query(from_ranking(labels[:k]))[0] for k in position]
            assert same(part[column], prefixes)
        assert part["place"].tolist() == position.tolist()
        assert part["hits"].tolist() == np.cumsum(rel).tolist()
        assert same(part["recall"], np.cumsum(rel) / rel.sum())
    assert same(frame["average_precision"], [1, 1, 1, 3 / 4, 7 / 10, 83 / 120, math.nan, 1 / 2])


def test_interpolated_curves_and_their_mean():
    """1,1,0,0,1,0,0 has recall 1/3, 2/3, 1 with precision 1, 1, 3/5; 0,1,1,0,0,1,1 1/2, 2/3, 1/2, 4/7.

    Interpolated: 1, 1, 3/5 and 2/3, 2/3, 4/7, 4/7. On recalls 0, 0.1, ..., 1: the first is 1 up to 0.6, then
    3/5; the second 2/3 up to 0.5, then 4/7; the means 5/6 (six times), 11/14, and 41/70 (four times).
    11-point averages (7 + 4 * 3/5) / 11 and (6 * 2/3 + 5 * 4/7) / 11; all points 13/15 and 13/21.
    """
    lists = from_ranking([LEFT, RIGHT])
    curves = pr_curves(lists)
    assert curves.columns.tolist() == ["query", "place", "recall", "precision", "interpolated"]
    assert curves["query"].tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert curves["place"].tolist() == [1, 2, 5, 2, 3, 6, 7]
    assert same(curves["recall"], [1 / 3, 2 / 3, 1, 1 / 4, 1 / 2, 3 / 4, 1])
    assert same(curves["precision"], [1, 1, 3 / 5, 1 / 2, 2 / 3, 1 / 2, 4 / 7])
    assert same(curves["interpolated"], [1, 1, 3 / 5, 2 / 3, 2 / 3, 4 / 7, 4 / 7])
    mean = mean_pr_curve(from_ranking([LEFT, [0, 0], RIGHT]))
    assert same(mean["recall"], [i / 10 for i in range(11)])
    assert same(mean["precision"], [5 / 6] * 6 + [11 / 14] + [41 / 70] * 4)
    assert mean["n"].tolist() == [2] * 11
    assert same(LISTS.parse("iap").per_query(lists), [(7 + 4 * 3 / 5) / 11, (6 * 2 / 3 + 5 * 4 / 7) / 11])
    assert same(LISTS.parse("iap(points=all)").per_query(lists), [13 / 15, 13 / 21])
    for i, wanted in enumerate(mean["precision"]):
        assert value(f"iprec(recall={i / 10:g})", lists) == exactly(wanted)
    assert value("iap", lists) == exactly(mean["precision"].mean())


def test_what_happens_without_relevant_items():
    """Two queries, the second with nothing relevant: left out and counted, 0, or no mean at all.

    AP of 0,1 is 1/2: the mean is 1/2 of one query, 1/4 of two, or undefined.
    """
    lists = from_ranking([[0, 1], [0, 0]])
    skip, zero, nan = (LISTS.parse(f"map(empty={word})").compute(lists) for word in ("skip", "zero", "nan"))
    assert (skip.value, skip.reason, skip.excluded, skip.excluded_weight) == (0.5, "", 1, 0.5)
    assert (zero.value, zero.reason, zero.excluded, zero.excluded_weight) == (0.25, "", 0, 0.0)
    assert (nan.reason, nan.excluded) == ("1 of 2 queries: no item is relevant", 1)
    assert math.isnan(nan.value)
    for text in ("recall@1", "rprec", "auc", "ndcg", "iap", "iprec"):
        assert LISTS.parse(text).compute(lists).excluded == 1
    for text in ("rr", "err", "dcg", "success@1", "precision@1", "f1@1"):
        assert LISTS.parse(text).compute(lists).excluded == 0
    table = tabulate(lists, "map,map(empty=zero),map(empty=nan),rr", average="micro")
    wanted = {
        "map": [0.5, math.nan, 0.5],
        "map(empty=zero)": [0.5, 0, 0.5],  # the sums are 1/2 and 1 answer: nothing is added to either
        "map(empty=nan)": [0.5, math.nan, math.nan],
    }
    wanted |= {"rr": [0.5, 0.0, 0.25]}
    reasons = [
        "",
        "map, map(empty=nan): no item is relevant",
        "map(empty=nan): 1 of 2 queries: no item is relevant; map leaves out 1 queries",
    ]
    wanted["reason"] = pd.Series(reasons, dtype=object)
    pd.testing.assert_frame_equal(table.reset_index(drop=True), pd.DataFrame(wanted), check_exact=True)
