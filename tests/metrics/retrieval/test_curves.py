"""Curves of ranked lists against loops, and worked lists with their derivation."""

import random
from fractions import Fraction

import numpy as np
import pytest
from grids import light

import kgeval as kg
from kgeval.errors import MetricError
from kgeval.metrics.retrieval.curves import mean_pr_curve, pr_curves, roc_curves, running
from kgeval.metrics.retrieval.inputs import from_ranking, from_run, from_scores
from kgeval.metrics.retrieval.interpolated import InterpolatedAP
from kgeval.metrics.retrieval.listwise import ListAuc


def points_by_loop(labels, n_relevant):
    """(place, recall, precision, interpolated) of each hit of one list, in Fractions."""
    hits = [place for place, label in enumerate(labels, start=1) if label]
    precisions = [Fraction(number, place) for number, place in enumerate(hits, start=1)]
    return [
        (place, Fraction(number, n_relevant), precisions[number - 1], max(precisions[number - 1 :]))
        for number, place in enumerate(hits, start=1)
    ]


def random_lists(seed, n=60):
    """Lists of 0/1 labels; some empty, some without a relevant item."""
    rng = random.Random(seed)
    return [[int(rng.random() < 0.4) for _ in range(rng.randint(0, 9))] for _ in range(n)]


def test_ap_vector_of_a_list():
    """AP so far at each place: cumsum(cumsum(rel) * rel / place) / cumsum(rel).

    For 0, 1, 1, 0, 1: precisions at the hits are 1/2, 2/3 and 3/5, so the vector is undefined, 1/2,
    (1/2 + 2/3) / 2 = 7/12, the same 7/12, and (1/2 + 2/3 + 3/5) / 3 = 53/90.
    """
    frame = running(from_ranking([0, 1, 1, 0, 1]))
    np.testing.assert_allclose(frame["average_precision"], [np.nan, 1 / 2, 7 / 12, 7 / 12, 53 / 90], rtol=1e-15)
    assert frame["hits"].tolist() == [0, 1, 2, 2, 3]
    np.testing.assert_allclose(frame["precision"], [0, 1 / 2, 2 / 3, 2 / 4, 3 / 5], rtol=1e-15)
    np.testing.assert_allclose(frame["recall"], [0, 1 / 3, 2 / 3, 2 / 3, 1], rtol=1e-15)


@pytest.mark.parametrize("seed", light(range(20), 3))
def test_running_metrics_are_the_vector_formula(seed):
    """Several lists in one frame: each restarts, the empty ones have no row."""
    lists = random_lists(seed)
    frame = running(from_ranking(lists))
    start = 0
    for query, labels in enumerate(lists):
        part = frame.iloc[start : start + len(labels)]
        start += len(labels)
        rel, place = np.array(labels), np.arange(1, len(labels) + 1)
        assert part["query"].tolist() == [query] * len(labels)
        assert part["place"].tolist() == place.tolist()
        with np.errstate(invalid="ignore"):
            wanted = np.cumsum(np.cumsum(rel) * rel / place) / np.cumsum(rel)
        np.testing.assert_allclose(part["average_precision"], wanted, rtol=1e-12)
        np.testing.assert_allclose(part["precision"], np.cumsum(rel) / place, rtol=1e-15)
    assert start == len(frame)


def test_interpolated_curves_of_two_lists_and_their_mean():
    """Labels 1,0,1,0 and 0,1,0,1, each with two relevant items.

    First: recall 1/2 at precision 1, recall 1 at 2/3; interpolated 1, 2/3. Second: 1/2 and 2/4, interpolated
    1/2, 1/2. On recalls 0, 1/2, 1 the means are (1 + 1/2) / 2, (1 + 1/2) / 2, (2/3 + 1/2) / 2 = 7/12.
    """
    lists = from_ranking([[1, 0, 1, 0], [0, 1, 0, 1]])
    frame = pr_curves(lists)
    assert frame["query"].tolist() == [0, 0, 1, 1]
    assert frame["place"].tolist() == [1, 3, 2, 4]
    assert frame["recall"].tolist() == [0.5, 1, 0.5, 1]
    np.testing.assert_allclose(frame["precision"], [1, 2 / 3, 1 / 2, 1 / 2], rtol=1e-15)
    np.testing.assert_allclose(frame["interpolated"], [1, 2 / 3, 1 / 2, 1 / 2], rtol=1e-15)
    mean = mean_pr_curve(lists, points=3)
    assert mean["recall"].tolist() == [0, 0.5, 1]
    assert mean["n"].tolist() == [2, 2, 2]
    np.testing.assert_allclose(mean["precision"], [3 / 4, 3 / 4, 7 / 12], rtol=1e-15)


@pytest.mark.parametrize("seed", light(range(20), 3))
def test_points_equal_the_loop(seed):
    """Places, recalls, precisions and interpolated precisions of many lists, some without a point."""
    lists = random_lists(seed)
    frame = pr_curves(from_ranking(lists))
    wanted = [(query, *point) for query, labels in enumerate(lists) for point in points_by_loop(labels, sum(labels))]
    assert len(frame) == len(wanted) > 40
    np.testing.assert_allclose(frame.to_numpy(dtype=float), np.array(wanted, dtype=float), rtol=1e-15)


def test_unlisted_relevant_items_keep_recall_below_one():
    """Relevant {A, C, E, Q}, returned A..E: three of four are found, the last at place 5."""
    frame = pr_curves(from_run({"q": {"A", "C", "E", "Q"}}, {"q": list("ABCDE")}))
    assert frame["query"].tolist() == ["q"] * 3
    assert frame["place"].tolist() == [1, 3, 5]
    assert frame["recall"].tolist() == [0.25, 0.5, 0.75]


@pytest.mark.parametrize("seed", light(range(10), 3))
def test_eleven_points_average_to_interpolated_ap(seed):
    """The mean of the mean curve is the 11-point average, over the same queries."""
    lists = from_ranking(random_lists(seed))
    curve = mean_pr_curve(lists)
    assert curve["precision"].mean() == pytest.approx(InterpolatedAP().compute(lists).value, rel=1e-12)
    assert curve["n"].tolist() == [int((lists.n_relevant > 0).sum())] * 11
    assert curve["precision"].is_monotonic_decreasing


@pytest.mark.parametrize("seed", light(range(30), 3))
def test_area_below_roc_is_auc(seed):
    """Tied scores included: straight lines count them one half. Each curve runs from (0, 0) to (1, 1)."""
    rng = random.Random(seed)
    relevance = random_lists(seed, 40)
    scores = [[rng.randint(0, 4) for _ in labels] for labels in relevance]
    lists = from_scores(relevance, scores)
    frame, areas = roc_curves(lists), ListAuc().per_query(lists)
    drawn = [query for query, area in enumerate(areas) if not np.isnan(area)]
    assert frame["query"].unique().tolist() == drawn
    assert len(drawn) > 10
    for query, part in frame.groupby("query"):
        fpr, tpr = part["fpr"].to_numpy(), part["tpr"].to_numpy()
        assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
        assert (np.diff(fpr) >= 0).all()
        assert (np.diff(tpr) >= 0).all()
        area = (np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2).sum()
        assert area == pytest.approx(areas[query], abs=1e-12)


def test_unlisted_relevant_items_come_last_on_the_roc():
    """A found first of A, X, Y; Q never: up to 1/2, across both irrelevant ones, then up. Area 1/2."""
    lists = from_run({"q": {"A", "Q"}}, {"q": ["A", "X", "Y"]})
    frame = roc_curves(lists)
    assert frame[["fpr", "tpr"]].to_numpy().tolist() == [[0, 0], [0, 0.5], [1, 0.5], [1, 1]]
    assert ListAuc().compute(lists).value == 0.5


@pytest.mark.parametrize("curve", [pr_curves, mean_pr_curve, running])
def test_curves_of_ties_need_an_order(curve):
    """Two tied items of different labels: expected has no curve; optimistic and pessimistic differ."""
    lists = from_scores([1, 0], [3, 3])
    with pytest.raises(MetricError) as caught:
        curve(lists)
    assert str(caught.value) == (
        "relevant and irrelevant items tie, and the curve depends on their order; "
        "use ties='optimistic', 'pessimistic' or 'stable'"
    )
    assert [curve(lists, ties)["precision"].iloc[-1] for ties in ("optimistic", "stable", "pessimistic")] == (
        [0.5, 0.5, 0.5] if curve is running else [1.0, 1.0, 0.5]
    )
    assert running(lists, "pessimistic")["hits"].tolist() == [0, 1]


def test_no_query_with_a_relevant_item():
    """The mean of nothing is NaN with n 0, and there is no point and no ROC."""
    lists = from_ranking([[0, 0], []])
    assert len(pr_curves(lists)) == len(roc_curves(lists)) == 0
    mean = mean_pr_curve(lists, points=2)
    assert mean["n"].tolist() == [0, 0]
    assert mean["precision"].isna().tolist() == [True, True]


@pytest.mark.parametrize("points", [1, 0, 2.0, True, "11"])
def test_points_are_an_integer_of_at_least_two(points):
    """Anything else is refused with its value."""
    with pytest.raises(MetricError, match=f"points must be an integer of at least 2; got {points!r}"):
        mean_pr_curve(from_ranking([1, 0]), points=points)


def test_curves_of_a_result_carry_its_queries():
    """Answers 2 and 3 of (0, 0, ?) stand 1st and 3rd of four candidates: precisions 1 and 2/3."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 2], [0, 0, 3]], n_entities=4, n_relations=1)
    result = kg.evaluate(lambda s, p, o: np.array([0.0, 2.0, 3.0, 1.0])[o], dataset, kg.Protocol(sides="object"))
    frame = pr_curves(result.lists())
    assert frame["query"].tolist() == [("object", "0", "0")] * 2
    assert frame["place"].tolist() == [1, 3]
    np.testing.assert_allclose(frame["precision"], [1, 2 / 3], rtol=1e-15)
