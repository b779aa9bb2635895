"""What may be given to the metrics of ranked lists, what is refused and with which words, and how it is tabulated."""

import math
import random

import numpy as np
import pandas as pd
import pytest
from grids import light
from list_metric_cases import per_query, refused
from random_lists import same

from kgeval.errors import DataError, MetricError, ScoreError
from kgeval.metrics.retrieval.graded import DCG
from kgeval.metrics.retrieval.inputs import from_ranking, from_run, from_scores
from kgeval.metrics.retrieval.interpolated import InterpolatedAP
from kgeval.metrics.retrieval.lists import LIST_TIES
from kgeval.metrics.retrieval.listwise import MAP, RR, Precision
from kgeval.metrics.retrieval.tabulation import tabulate

NAN, INF = math.nan, math.inf
GRADES, SCORES = [[2, 0, 1], [0, 1, 0]], [[0.5, 0.5, 0.1], [3.0, 2.0, 2.0]]
ITEMS = "rr,map,ndcg,err(g_max=2),precision@2,auc"


def table(lists, ties="expected"):
    """All values per query and their mean, as rows."""
    return tabulate(lists, ITEMS, ties).drop(columns="reason").to_numpy()


def flat_in_any_order(seed, names):
    """Grades, scores and queries of both lists, item by item, queries mixed, the items of each in their order."""
    rng, rest = random.Random(seed), {0: [0, 1, 2], 1: [0, 1, 2]}
    rows = []
    while rest[0] or rest[1]:
        query = rng.choice([q for q in rest if rest[q]])
        item = rest[query].pop(0)
        rows.append((GRADES[query][item], SCORES[query][item], names[query]))
    return [list(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("ties", light(LIST_TIES, 1))
@pytest.mark.light(6)
@pytest.mark.parametrize(
    "make",
    [
        lambda: from_scores(np.array(GRADES), np.array(SCORES)),
        lambda: from_scores(tuple(map(tuple, GRADES)), tuple(map(np.array, SCORES))),
        lambda: from_scores(pd.DataFrame(GRADES), pd.DataFrame(SCORES)),
        lambda: from_scores([pd.Series(row, index=[5, 6, 7]) for row in GRADES], SCORES),
        lambda: from_scores(np.array(GRADES, dtype=np.uint8), np.array(SCORES, dtype=np.float32)),
        lambda: from_scores(*flat_in_any_order(1, [0, 1])),
        lambda: from_scores(*flat_in_any_order(2, [-7, 10**12])),
        lambda: from_scores(*flat_in_any_order(3, ["10", "9"])),
        lambda: from_scores(*map(pd.Series, flat_in_any_order(4, ["a", "b"]))),
        lambda: from_scores(*map(np.array, flat_in_any_order(5, [2.5, 3.5]))),
    ],
)
def test_ways_to_give_two_lists(make, ties):
    """2-D, nested, frames, and flat with the query of each item in any order: the same values in every tie policy.

    The tie of the first list has grades 2 and 0, as they came: P@2 is 1/2 under every policy; RR 1, or 1/2 if
    pessimistic, 3/4 expected. The second list: 0 first, then a tie of 1 and 0: RR 1/2 stable, 1/3 at worst.
    """
    lists = make()
    assert same(table(lists, ties), table(from_scores(GRADES, SCORES), ties), 0)
    wanted = {
        "expected": [3 / 4, 5 / 12],
        "optimistic": [1, 1 / 2],
        "pessimistic": [1 / 2, 1 / 3],
        "stable": [1, 1 / 2],
    }
    assert same(tabulate(lists, "rr", ties)["rr"], [*wanted[ties], sum(wanted[ties]) / 2])


def test_names_of_queries_are_sorted():
    """Numbers by value, strings by letter; positions where none are given."""
    assert from_scores([1, 0, 1], [1, 2, 3], query=[10, 9, 10]).names.tolist() == [9, 10]
    assert from_scores([1, 0, 1], [1, 2, 3], query=["9", "10", "9"]).names.tolist() == ["10", "9"]
    assert from_ranking([[1], [0], []]).names.tolist() == [0, 1, 2]
    assert len(from_ranking([])) == len(from_ranking([1, 0])) == 1
    assert len(from_ranking([], query=[])) == 0
    assert [len(from_ranking(np.zeros(shape))) for shape in ((3, 0), (2, 5), (5,))] == [3, 2, 1]
    assert from_ranking([[1], [0, 1], []]).length.tolist() == [1, 2, 0]
    assert tabulate(from_ranking([0, 1, 1, 0], query=["b", "a", "b", "a"]), "rr")["rr"].tolist() == [1.0, 0.5, 0.75]


def test_level_of_relevance():
    """Grades 1, 2, 0.5, 3: all positive ones count by default, those of at least 2 with level 2: 2nd and 4th.

    Of graded metrics it changes nothing: DCG 1 + 2/log2(3) + 0.5/2 + 3/log2(5) either way.
    """
    default, strict = from_ranking([1, 2, 0.5, 3]), from_ranking([1, 2, 0.5, 3], relevance_level=2)
    assert (MAP().compute(default).value, MAP().compute(strict).value) == (1.0, 0.5)
    assert Precision(4).compute(from_ranking([1, 2, 0.5, 3], relevance_level=0.5)).value == 1.0
    assert Precision(4).compute(from_ranking([1, 2, 0.5, 3], relevance_level=0.51)).value == 0.75
    wanted = 1 + 2 / math.log2(3) + 0.25 + 3 / math.log2(5)
    assert DCG().compute(default).value == DCG().compute(strict).value == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize(
    ("missing", "precision", "dcg", "note"),
    [
        ("irrelevant", [1 / 3, 0], [1 / 2, 0], "2 items without label count as irrelevant"),
        ("drop", [1 / 2, 0], [1 / math.log2(3), 0], "2 items without label are dropped"),
        (2, [2 / 3, 1 / 2], [2.5, 2], "2 items without label count as grade 2"),
        (0, [1 / 3, 0], [1 / 2, 0], "2 items without label count as grade 0"),
    ],
)
def test_missing_labels(missing, precision, dcg, note):
    """Labels ?, 0, 1 and ?, 0: the unknown ones are irrelevant, left out, or of a grade; counted in the notes."""
    relevance = [[NAN, 0, 1], [NAN, 0]]
    for lists in (
        from_ranking(relevance, missing=missing),
        from_scores(relevance, [[3, 2, 1], [2, 1]], missing=missing),
        from_run({"a": {"y": 0, "x": 1}, "b": {"y": 0}}, {"a": ["?", "y", "x"], "b": ["?", "y"]}, missing=missing),
    ):
        assert lists.notes == (note,)
        assert same(Precision().per_query(lists), precision)
        assert same(DCG().per_query(lists), dcg)
    assert from_ranking([[1, 0]], missing=missing).notes == ()


SAME_SHAPE = "relevance and scores must have the same shape; got"
SHAPES = [
    ([1, 0], [1, 2, 3], f"{SAME_SHAPE} a flat array of 2 items and a flat array of 3 items"),
    ([[1, 0]], [1, 2], f"{SAME_SHAPE} 1 row with 2 items and a flat array of 2 items"),
    ([[1, 0], [1, 0, 1]], [[1, 2, 3], [1, 2]], "query 0: relevance has 2 items, but scores has 3"),
    ([[1, 0], [1, 0]], [[1, 2], [1]], f"{SAME_SHAPE} 2 rows with 4 items and 2 rows with 3 items"),
    ([[1], [1, 0], [0]], [[1], [1], [0, 1]], "query 1: relevance has 2 items, but scores has 1"),
    ("10", [1, 2], "relevance must be an array or a sequence of arrays; got str"),
    ({1: 0}, [1], "relevance must be an array or a sequence of arrays; got dict"),
    (5, [1], "relevance must be an array or a sequence of arrays; got int"),
    ([1, 0], b"ab", "scores must be an array or a sequence of arrays; got bytes"),
    ([1, 0], ["a", "b"], "scores, query 0: expected one row of real numbers; got <U1 of shape (2,)"),
    ([[1], [0]], [[1], ["2"]], "scores, query 1: expected one row of real numbers; got <U1 of shape (1,)"),
    (["1", "0"], [1, 2], "relevance, query 0: expected one row of real numbers; got <U1 of shape (2,)"),
    ([1, 0], [1j, 2], "scores, query 0: expected one row of real numbers; got complex128 of shape (2,)"),
    ([1, 0], [None, 2], "scores, query 0: expected one row of real numbers; got object of shape (2,)"),
    ([1, 0], [2**64, 2], "scores, query 0: expected one row of real numbers; got object of shape (2,)"),
    ([[[1, 0]]], [[[1, 2]]], "relevance, query 0: expected one row of real numbers; got int64 of shape (1, 2)"),
    (
        [1, 0],
        np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
        "scores, query 0: expected one row of real numbers; got datetime64[D] of shape (2,)",
    ),
]


@pytest.mark.parametrize(("relevance", "scores", "message"), SHAPES)
def test_shapes_and_types_that_are_refused(relevance, scores, message):
    """Unequal shapes, and anything but real numbers, by the first query."""
    refused(DataError, message, lambda: from_scores(relevance, scores))


LABELS = "expected a finite number of at least 0"
GIVE = "; set missing='irrelevant', 'drop' or a grade"


@pytest.mark.parametrize(
    ("relevance", "query", "message"),
    [
        ([1, NAN], None, f"relevance: item 1 of query 0 is nan; {LABELS}{GIVE}"),
        ([[1, 0], [0, 1, -0.5]], None, f"relevance: item 2 of query 1 is -0.5; {LABELS}"),
        ([[1, INF]], None, f"relevance: item 1 of query 0 is inf; {LABELS}"),
        ([[-INF]], None, f"relevance: item 0 of query 0 is -inf; {LABELS}"),
        ([1, 1, 0, -1], ["b", "a", "a", "b"], f"relevance: item 1 of query 'b' is -1; {LABELS}"),
        ([1, 1, 0, -1], [8, 7, 7, 8], f"relevance: item 1 of query 8 is -1; {LABELS}"),
    ],
)
def test_grades_that_are_refused(relevance, query, message):
    """Negative, infinite, and NaN where nothing was said about it: by query and place in it."""
    refused(DataError, message, lambda: from_ranking(relevance, query))
    if "nan" not in message:
        refused(DataError, message, lambda: from_ranking(relevance, query, missing="drop"))


@pytest.mark.parametrize(
    ("scores", "query", "place"),
    [
        ([[1, 2], [3, NAN]], None, "item 1 of query 1"),
        ([NAN, 1], None, "item 0 of query 0"),
        ([1, 2, NAN, 3], ["a", "a", "b", "b"], "item 0 of query 'b'"),
        ([1, 2, 3, NAN], ["b", "a", "a", "b"], "item 1 of query 'b'"),
        ([1, 2, 3, NAN], [5, 4, 4, 5], "item 1 of query 5"),
    ],
)
def test_a_nan_score_is_refused(scores, query, place):
    """Never ranked first or last: the error says which, also where the items of a query do not stand together."""
    grades = [[0, 0]] * 2 if isinstance(scores[0], list) else [0] * len(scores)
    message = f"scores: {place} is NaN; a NaN cannot be ranked"
    refused(ScoreError, message, lambda: from_scores(grades, np.array(scores), query))
    refused(ScoreError, message, lambda: from_scores(grades, np.array(scores, dtype=np.float32), query))


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (
            DataError,
            "relevance has 2 items and query has 1; they must have the same length",
            lambda: from_ranking([1, 0], ["a"]),
        ),
        (
            DataError,
            "query= needs relevance and scores of shape (items,); the given arrays have one row per query",
            lambda: from_ranking([[1, 0]], ["a", "a"]),
        ),
        (DataError, "query of item 1 is missing", lambda: from_ranking([1, 0], ["a", None])),
        (DataError, "query of item 0 is missing", lambda: from_ranking([1, 0], [NAN, 2])),
        (MetricError, "relevance_level must be a positive number; got 0", lambda: from_ranking([1], relevance_level=0)),
        (
            MetricError,
            "relevance_level must be a positive number; got -1.5",
            lambda: from_ranking([1], relevance_level=-1.5),
        ),
        (
            MetricError,
            "relevance_level must be a positive number; got nan",
            lambda: from_ranking([1], relevance_level=NAN),
        ),
        (
            MetricError,
            "relevance_level must be a positive number; got inf",
            lambda: from_ranking([1], relevance_level=INF),
        ),
        (
            MetricError,
            "missing must be one of 'irrelevant', 'drop'; got 'dorp'; did you mean 'drop'?",
            lambda: from_ranking([1], missing="dorp"),
        ),
        (
            MetricError,
            "missing must be 'irrelevant', 'drop' or a grade of at least 0; got -1",
            lambda: from_ranking([1], missing=-1),
        ),
        (
            MetricError,
            "missing must be 'irrelevant', 'drop' or a grade of at least 0; got nan",
            lambda: from_ranking([1], missing=NAN),
        ),
        (
            MetricError,
            "missing must be 'irrelevant', 'drop' or a grade of at least 0; got inf",
            lambda: from_ranking([1], missing=INF),
        ),
    ],
)
def test_other_words_that_are_refused(error, message, call):
    """Queries that do not fit the items, levels and grades that are none."""
    refused(error, message, call)


@pytest.mark.parametrize(
    ("relevance", "scores", "got"),
    [
        ([[1, 0], []], [[1, 2]], "2 rows with 2 items and 1 row with 2 items"),
        ([[]], [[], []], "1 row with 0 items and 2 rows with 0 items"),
    ],
)
def test_a_row_without_items_that_the_other_lacks(relevance, scores, got):
    """As many items, but not as many queries: as for any other difference of shapes."""
    refused(DataError, f"{SAME_SHAPE} {got}", lambda: from_scores(relevance, scores))


NO_ORDER = "run: query 'q' has a set, which has no order; use a list, or scores"
MASKED = "scores must not be a masked array; remove the masked items, or use NaN labels"


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            "relevance, query 0: expected one row of real numbers; got int64 of shape ()",
            lambda: from_ranking([1, [0, 1]]),
        ),
        (
            "query must be a one-dimensional array with one label for each item; got 5",
            lambda: from_ranking([1, 0], query=5),
        ),
        (
            "query must be a one-dimensional array with one label for each item; got 'ab'",
            lambda: from_ranking([1, 0], query="ab"),
        ),
        (MASKED, lambda: from_scores([1, 0], np.ma.array([0.1, 0.2], mask=[False, True]))),
        (MASKED, lambda: from_scores([[1, 0]], [np.ma.array([0.1, 0.2], mask=[False, True])])),
        (NO_ORDER, lambda: from_run({"q": {"A"}}, {"q": {"A", "B"}})),
        (NO_ORDER, lambda: from_run({"q": {"A"}}, {"q": frozenset("AB")})),
        (
            "the item labels of qrels and run differ in type, such as 1 and '1', so no label occurs in both",
            lambda: from_run({"q": {1: 1}}, {"q": {"1": 0.5}}),
        ),
        (
            "the query labels of qrels and run differ in type, such as '7' and 7, so no label occurs in both",
            lambda: from_run({"7": ["a"]}, {7: ["a"]}),
        ),
    ],
)
def test_data_that_cannot_be_meant(message, call):
    """Ragged rows, queries that are no sequence, masked scores, a set as a ranking (it has no order), and labels
    that never meet as they are numbers here and strings there.
    """
    refused(DataError, message, call)


def test_parameters_of_a_wrong_type():
    """A MetricError, as for any other wrong parameter."""
    refused(MetricError, "base of dcg must be a number above 1; got '2'", lambda: DCG(base="2"))
    refused(
        MetricError,
        "relevance_level must be a positive number; got '1'",
        lambda: from_ranking([1, 0], relevance_level="1"),
    )
    said = "points of iap must be 'all', or a number of at least 2 as a string such as '11'; got 11"
    refused(MetricError, said, lambda: InterpolatedAP(points=11))


def test_integer_scores_stay_integers():
    """2^53 + 1 above 2^53: RR 1/2 of the lower one, whatever else is judged or scored elsewhere."""
    first, second = 2**53 + 1, 2**53
    assert RR().compute(from_run({"q": {"b": 1}}, {"q": {"a": first, "b": second}})).value == 0.5
    assert RR().per_query(from_scores([[0, 1], []], [[first, second], []]))[0] == 0.5
    unlisted = from_run({"q": {"b": 1, "c": 1}}, {"q": {"a": first, "b": second}})
    assert RR().compute(unlisted).value == 0.5
    assert RR().per_query(from_scores([[0, 1], [1]], [[first, second], [0.5]]))[0] == 0.5


def test_nearly_equal_scores_do_not_tie():
    """1e-6 and 9e-6 differ, and neighbouring floats too: RR 1/2 of the lower one, not 3/4 as in a tie."""
    for low, high in ((1e-6, 9e-6), (0.375, np.nextafter(0.375, 1.0)), (1e9, np.nextafter(1e9, 2e9))):
        assert RR().compute(from_scores([1, 0], [low, high])).value == 0.5
        assert RR().compute(from_run({"q": {"b": 1}}, {"q": {"a": high, "b": low}})).value == 0.5


def test_the_order_of_the_input_breaks_no_tie():
    """A tie of one relevant and one irrelevant item: RR (1 + 1/2) / 2, whichever came first or has the greater name."""
    for relevance in ([1, 0], [0, 1]):
        assert RR().compute(from_scores(relevance, [0.5, 0.5])).value == 0.75
        assert RR().compute(from_run({"q": dict(zip("ab", relevance))}, {"q": {"a": 0.5, "b": 0.5}})).value == 0.75


def test_large_integer_labels_stay_apart():
    """2^53 and 2^53 + 1 are one number in float64, but two items and two queries: RR 1/2, and 1 in the second query."""
    first, second = 2**53, 2**53 + 1
    lists = from_run({first: {second: 1}, second: {second: 1}}, {first: [first, second], second: [second, first]})
    assert RR().per_query(lists).tolist() == [0.5, 1.0]


def test_cut_off_beyond_64_bits():
    """10^19 reaches the end of any list; P@k divides by it."""
    assert MAP(10**19).compute(from_ranking([1, 0, 1])).value == pytest.approx(5 / 6, rel=1e-14)
    assert Precision(10**19).compute(from_ranking([1, 0, 1])).value == pytest.approx(2e-19, rel=1e-14)


def test_no_queries_as_a_matrix():
    """A matrix of 0 rows is no query, as no query given flat is."""
    assert len(from_scores(np.zeros((0, 5)), np.zeros((0, 5)))) == 0


def test_tied_items_keep_the_order_of_the_input():
    """Under ``stable``: of 30 tied items of two queries, given by turns, the relevant one is 1st and 4th."""
    first, second = [1, *[0] * 29], [0, 0, 0, 1, *[0] * 26]
    grades = [grade for pair in zip(first, second, strict=True) for grade in pair]
    lists = from_scores(grades, [0.5] * 60, [0, 1] * 30)
    assert per_query("rr", lists, "stable").tolist() == [1.0, 1 / 4]
