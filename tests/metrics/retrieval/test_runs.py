"""Judgements and runs as the metrics of ranked lists take them, tables of metrics, and metrics as texts."""

import math
from dataclasses import replace

import pandas as pd
import pytest
from list_metric_cases import refused
from random_lists import same

from kgeval.errors import DataError, MetricError, ScoreError
from kgeval.metrics.ranks import MRR
from kgeval.metrics.retrieval.base import LISTS
from kgeval.metrics.retrieval.graded import DCG, ERR, NDCG
from kgeval.metrics.retrieval.inputs import from_ranking, from_run, from_scores
from kgeval.metrics.retrieval.listwise import MAP, RR, FBeta, Precision, Recall, Success
from kgeval.metrics.retrieval.tabulation import tabulate

NAN, INF = math.nan, math.inf
QRELS = {"q2": {"a": 1}, "q1": {"a": 2, "b": 0, "c": 1, "z": 1, "y": -3}}
RUN = {"q3": {"a": 9.0}, "q1": {"c": 0.1, "a": 0.5, "d": 0.7, "b": 0.9}}


def frames(qrels, run):
    """The same judgements and run as DataFrames, columns and rows in another order."""
    rows = [(grade, item, query) for query, items in qrels.items() for item, grade in items.items()]
    judged = pd.DataFrame(rows[::-1], columns=["grade", "item", "query"])
    rows = [(query, 0, item, score) for query, items in run.items() for item, score in items.items()]
    return judged, pd.DataFrame(rows[::-1], columns=["query", "iteration", "item", "score"])


@pytest.mark.parametrize("kind", ["dicts", "frames", "both"])
def test_judgements_and_run(kind):
    """Query 1 returns b, d, a, c, of which a and c are relevant, as is z, which it lacks, but not y (-3).

    AP (1/3 + 2/4) / 3 = 5/18, without the unjudged d (1/2 + 2/3) / 3 = 7/18, and with d of grade 1
    (1/2 + 2/3 + 3/4) / 3 of 4. nDCG (2/log2(4) + 1/log2(5)) / (2 + 1/log2(3) + 1/2). Query 2 returns nothing: 0, or it
    is left out with queries="returned". Query 3 has no judgement.
    """
    qrels, run = frames(QRELS, RUN) if kind != "dicts" else (QRELS, RUN)
    run = RUN if kind == "both" else run
    lists = from_run(qrels, run)
    assert lists.names.tolist() == ["q1", "q2"]
    assert lists.names.name == "query"
    assert lists.length.tolist() == [4, 0]
    assert lists.n_relevant.tolist() == [3, 1]
    assert same(MAP().per_query(lists), [5 / 18, 0])
    ideal = 2 + 1 / math.log2(3) + 1 / 2
    assert same(NDCG().per_query(lists), [(2 / 2 + 1 / math.log2(5)) / ideal, 0])
    left_out = "1 queries of the run have no judgement and are left out"
    unlabelled = "1 items without label count as irrelevant"
    empty = "1 judged queries have no item in the run and count as empty lists"
    assert lists.notes == (left_out, empty, unlabelled)
    returned = from_run(qrels, run, queries="returned")
    assert (returned.names.tolist(), MAP().per_query(returned).tolist()) == (["q1"], [pytest.approx(5 / 18)])
    assert returned.notes == (left_out, "1 judged queries have no item in the run and are left out", unlabelled)
    dropped = from_run(qrels, run, missing="drop")
    assert same(MAP().per_query(dropped), [7 / 18, 0])
    assert dropped.notes == (left_out, empty, "1 items without label are dropped")
    imputed = from_run(qrels, run, missing=1)
    assert same(MAP().per_query(imputed), [(1 / 2 + 2 / 3 + 3 / 4) / 4, 0])
    assert imputed.notes == (left_out, empty, "1 items without label count as grade 1")
    strict = from_run(qrels, run, relevance_level=2)
    assert same(MAP().per_query(strict), [1 / 3, NAN])
    assert Recall(4).compute(strict).excluded == 1


def test_sets_and_rankings():
    """A set of relevant items is grade 1 each; a list of items is their order, also of equal labels as strings."""
    lists = from_run({"q": {"A", "C"}, "r": ["x"], "s": ()}, {"q": ["B", "A", "C"], "r": ("y", "x"), "s": ["x"]})
    assert lists.names.tolist() == ["q", "r"]
    assert same(MAP().per_query(lists), [(1 / 2 + 2 / 3) / 2, 1 / 2])
    assert lists.notes == (
        "1 queries of the run have no judgement and are left out",
        "2 items without label count as irrelevant",
    )
    ranked = from_run({1: [10, 9]}, {1: [8, 9, 10]})
    assert same(MAP().per_query(ranked), [(1 / 2 + 2 / 3) / 2])
    assert ranked.notes == ("1 items without label count as irrelevant",)
    many = {10: ["a"], "9": ["a"], 9: ["a"], "10": ["a"]}
    assert from_run(many, many).names.tolist() == [9, 10, "10", "9"]
    assert len(from_run({}, {})) == 0
    assert len(from_run({}, {"q": ["a"]})) == 0
    assert from_run({"q": ["a"]}, {}).length.tolist() == [0]


@pytest.mark.parametrize(
    ("labels", "order"), [(["b", "a", "c"], "cba"), (["9", "10", "8"], [9, 8, 10]), ([9, 10, 8], [9, 8, 10])]
)
def test_stable_order_of_a_run_is_by_falling_label(labels, order):
    """As trec_eval breaks ties; labels are compared as strings, "9" before "10" when falling; dict order is nothing."""
    for items in (labels, labels[::-1]):
        for wanted, relevant in enumerate(order, 1):
            item = type(labels[0])(relevant)
            lists = from_run({"q": {item: 1}}, {"q": {"d" if items[0] == "b" else 7: 5.0, **dict.fromkeys(items, 1.0)}})
            assert RR().per_query(lists, "stable")[0] == pytest.approx(1 / (1 + wanted), rel=1e-14)
            assert RR().per_query(lists)[0] == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3, rel=1e-14)


NO_NUMBER = [
    (
        DataError,
        {"q": {"a": "x"}},
        {"q": ["a"]},
        "qrels: grade of item 'a' of query 'q' is 'x'; expected a finite number",
    ),
    (
        DataError,
        {"q": {"a": 1, "b": None}},
        {"q": ["a"]},
        "qrels: grade of item 'b' of query 'q' is nan; expected a finite number",
    ),
    (
        ScoreError,
        {"q": {"a": 1}},
        {"q": {"b": 1.5, "a": NAN}},
        "run: score of item 'a' of query 'q' is nan; expected a number",
    ),
    (ScoreError, {7: {"a": 1}}, {7: {1: 1.5, 3: "?"}}, "run: score of item 3 of query 7 is '?'; expected a number"),
]


@pytest.mark.parametrize(("error", "qrels", "run", "message"), NO_NUMBER)
def test_grades_and_scores_that_are_no_numbers(error, qrels, run, message):
    """By item and query, a NaN score too."""
    refused(error, message, lambda: from_run(qrels, run))


@pytest.mark.parametrize(
    ("message", "qrels", "run"),
    [
        ("qrels: expected a mapping by query or a DataFrame; got list", [], {}),
        ("run: expected a mapping by query or a DataFrame; got str", {}, "run.txt"),
        ("run: duplicate item 'a' in query 'q'; keep one", {"q": ["a"]}, {"q": ["a", "b", "a"]}),
        ("qrels: duplicate item 'b' in query 'q'; keep one", {"q": ["a", "b", "b"]}, {"q": ["a"]}),
        (
            "run: expected columns query, item, score; got ['query', 'item', 'grade']",
            *(pd.DataFrame({"query": ["q"], "item": ["a"], "grade": [1]}) for _ in range(2)),
        ),
        (
            "qrels: grade of item 'a' of query 'q' is inf; expected a finite number",
            {"q": {"a": INF}},
            {"q": ["a"]},
        ),
    ],
)
def test_judgements_and_runs_that_are_refused(message, qrels, run):
    """Other types, missing columns, an item given twice, an infinite grade."""
    refused(DataError, message, lambda: from_run(qrels, run))


def test_words_of_a_run():
    """Which queries, and what an unjudged item means."""
    said = "queries must be one of 'judged', 'returned'; got 'return'; did you mean 'returned'?"
    refused(MetricError, said, lambda: from_run(QRELS, RUN, queries="return"))
    said = "missing must be one of 'irrelevant', 'drop'; got 'keep'"
    refused(MetricError, said, lambda: from_run(QRELS, RUN, missing="keep"))
    refused(
        MetricError, "relevance_level must be a positive number; got 0", lambda: from_run(QRELS, RUN, relevance_level=0)
    )


def test_table():
    """One row per query under its name, the mean last; the frame says what the mean leaves out, and why it is NaN.

    Query a: 1 tied with 0, b: 0, 0. RR 3/4 and 0; AP 3/4 of one query; iAP has no expectation over ties.
    """
    lists = from_scores([1, 0, 0, 0], [1, 1, 3, 2], query=["a", "a", "b", "b"])
    frame = tabulate(lists, "rr, map,map(empty=nan),iap")
    assert frame.index.tolist() == ["a", "b", "macro"]
    assert frame.index.name == "query"
    assert frame.columns.tolist() == ["rr", "map", "map(empty=nan)", "iap", "reason"]
    wanted = [[0.75, 0.75, 0.75, NAN], [0, NAN, NAN, NAN], [0.375, 0.75, NAN, NAN]]
    reasons = frame.pop("reason").tolist()
    assert same(frame.to_numpy(), wanted, 0)
    iap = "iap: iap has no exact expectation over random tie breaking; use ties='optimistic' or 'pessimistic'"
    assert reasons == [
        iap,
        f"map, map(empty=nan): no item is relevant; {iap}",
        f"map(empty=nan): 1 of 2 queries: no item is relevant; {iap}; map leaves out 1 queries",
    ]
    assert tabulate(lists, "rr, map,map(empty=nan),iap", average=None)["reason"].tolist() == reasons[:2]
    frame = tabulate(lists, [RR(), "iap"], ties="optimistic", average="micro")
    assert frame.index.tolist() == ["a", "b", "micro"]
    assert frame.pop("reason").tolist() == ["", "iap: no item is relevant", "iap leaves out 1 queries"]
    assert same(frame.to_numpy(), [[1, 1], [0, NAN], [0.5, 1]], 0)
    frame = tabulate(lists, ["rr"], average=None)
    assert (frame.index.tolist(), frame["rr"].tolist(), frame.index.name) == (["a", "b"], [0.75, 0.0], "query")
    unnamed = tabulate(replace(lists, names=None), "rr")
    assert (unnamed.index.tolist(), unnamed["rr"].tolist()) == ([0, 1, "macro"], [0.75, 0.0, 0.375])


def test_table_of_queries_with_several_names():
    """Queries named by several columns keep them; the mean stands in the first."""
    names = pd.MultiIndex.from_tuples([("object", "x"), ("subject", "y")], names=["side", "given"])
    frame = tabulate(replace(from_ranking([[1, 0], [0, 1]]), names=names), "rr")
    assert frame.index.tolist() == [("object", "x"), ("subject", "y"), ("macro", "")]
    assert list(frame.index.names) == ["side", "given"]
    assert frame["rr"].tolist() == [1.0, 0.5, 0.75]


def test_table_of_no_queries():
    """An empty table, its means NaN with the reason."""
    frame = tabulate(from_ranking([], query=[]), "map")
    assert (frame.index.tolist(), frame["reason"].tolist(), frame.attrs) == (["macro"], ["map: no queries"], {})
    assert math.isnan(frame["map"].iloc[0])


SPELLINGS = "auc, dcg, err, fbeta, iap, iprec, map, ndcg, precision, recall, rprec, rr, success@10"
WORTHS = (
    "gain must be 'linear', 'exponential', or pairs GRADE:GAIN such as '1:3;2:9', with distinct positive grades and "
    "gains of at least 0"
)
GAINS = ("lin", "1:-3", "1:nan", "1:inf", "1", "1:2;", ":2", "0:5", "-1:5", "nan:5", "1:2;1:3")  # grade 0 has no worth
PARAMETERS = [
    ("mapp", f"unknown list metric 'mapp'; did you mean 'map'?; known: {SPELLINGS}"),
    ("hits@10", f"unknown list metric 'hits@10'; known: {SPELLINGS}"),
    ("map(", f"unknown list metric 'map('; did you mean 'map'?; known: {SPELLINGS}"),
    ("success", "success needs a cut-off, a positive integer, such as 'success@10'; got 'success'"),
    ("map@", "map needs a cut-off, a positive integer, such as 'map@10'; got 'map@'"),
    ("map@-3", "map needs a cut-off, a positive integer, such as 'map@10'; got 'map@-3'"),
    ("ndcg@2.5", "ndcg needs a cut-off, a positive integer, such as 'ndcg@10'; got 'ndcg@2.5'"),
    ("map@0", "k of map@k must be an integer of at least 1; got 0"),
    ("auc@3", "auc takes no cut-off; got 'auc@3'"),
    ("ndcg(base=2)@3", "ndcg takes gain=, empty=; got 'base=2' in 'ndcg(base=2)@3'"),
    ("rr(empty=skip)", "rr takes no parameters; got 'empty=skip' in 'rr(empty=skip)'"),
    ("map()", "map takes empty=; got '' in 'map()'"),
    ("map(empty=skip,empty=nan)", "duplicate parameter empty in 'map(empty=skip,empty=nan)'"),
    ("map(empty=skp)", "empty of map must be one of 'skip', 'zero', 'nan'; got 'skp'; did you mean 'skip'?"),
    ("ndcg(empty=none)", "empty of ndcg must be one of 'skip', 'zero', 'nan'; got 'none'; did you mean 'nan'?"),
    ("p(short=cat)@3", "short of precision must be one of 'pad', 'cut'; got 'cat'; did you mean 'cut'?"),
    ("f1(short=x)@3", "short of fbeta must be one of 'pad', 'cut'; got 'x'"),
    ("fbeta(beta=0)", "beta of fbeta must be a positive number; got 0.0"),
    ("fbeta(beta=nan)", "beta of fbeta must be a positive number; got nan"),
    ("fbeta(beta=inf)", "beta of fbeta must be a positive number; got inf"),
    ("fbeta(beta=two)", "beta of fbeta must be a number; got 'two' in 'fbeta(beta=two)'"),
    ("dcg(base=1)", "base of dcg must be a number above 1; got 1.0"),
    ("dcg(base=inf)", "base of dcg must be a number above 1; got inf"),
    ("err(g_max=0)", "g_max of err must be a positive number; got 0.0"),
    ("err(g_max=inf)", "g_max of err must be a positive number; got inf"),
    ("iprec(recall=1.1)", "recall of iprec must be a number from 0 to 1; got 1.1"),
    ("iprec(recall=-0.1)", "recall of iprec must be a number from 0 to 1; got -0.1"),
    ("iap(points=1)", "points of iap must be 'all', or a number of at least 2 as a string such as '11'; got '1'"),
    ("iap(points=some)", "points of iap must be 'all', or a number of at least 2 as a string such as '11'; got 'some'"),
    *((f"dcg(gain={g})", f"{WORTHS}; got {g!r}") for g in GAINS),
    (5, f"a list metric is named by a string such as {LISTS.spellings()[0]!r}; got 5"),
    (MRR(), "expected a list metric; got MRR()"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), PARAMETERS)
def test_metrics_that_are_refused(text, message):
    """Unknown names and options, cut-offs that are none, parameters out of range: the whole sentence."""
    refused(MetricError, message, lambda: LISTS.parse(text))


@pytest.mark.parametrize("cls", [Precision, Recall, FBeta, Success, RR, MAP, DCG, NDCG, ERR])
@pytest.mark.parametrize("k", [0, -1, 2.0, "3", True, NAN])
def test_cut_offs_that_are_refused(k, cls):
    """Also of a metric made directly."""
    refused(MetricError, f"k of {cls.name}@k must be an integer of at least 1; got {k!r}", lambda: cls(k))


def test_a_grade_above_g_max_is_refused():
    """In the list or only judged: a stop probability above 1 would follow. The message names the grade to ask for."""
    said = "err: grade 3 of query 0 is above g_max; use err(g_max=3)"
    refused(MetricError, said, lambda: ERR().compute(from_ranking([0, 2, 3, 1])))
    refused(MetricError, said, lambda: ERR().per_query(from_ranking([0, 2, 3, 1])))
    said = "err(g_max=2)@5: grade 2.5 of query 'q' is above g_max; use err(g_max=2.5)"
    refused(MetricError, said, lambda: ERR(5, 2.0).compute(from_run({"q": {"a": 2.5}}, {"q": ["b"]})))
    assert ERR(g_max=2.5).compute(from_run({"q": {"a": 2.5}}, {"q": ["b"]})).value == 0.0
    assert ERR(g_max=3.0).compute(from_ranking([3])).value == 7 / 8


def test_unlisted_judgements_are_checked_too():
    """An infinite grade of an item that the list lacks would make the ideal DCG infinite."""
    said = "qrels: grade of item 'a' of query 'q' is inf; expected a finite number"
    refused(DataError, said, lambda: from_run({"q": {"a": INF, "b": 1}}, {"q": ["b"]}))


def test_negative_judgements_are_irrelevant():
    """As in trec_eval: listed (RR of the second item 1/2, P@2 1/2, no gain lost) or not, and they are labels."""
    lists = from_run({"q": {"a": -2, "b": 1, "z": -1}}, {"q": ["a", "b"]})
    assert [LISTS.parse(text).compute(lists).value for text in ("rr", "precision@2", "recall@2")] == [0.5, 0.5, 1.0]
    assert DCG().compute(lists).value == pytest.approx(1 / math.log2(3), rel=1e-14)
    assert lists.notes == ()


def test_infinite_scores_of_a_run_are_numbers():
    """Items scored inf, 1 and -inf stand in this order, two of -inf tie: RR of the last ones (1/3 + 1/4) / 2."""
    run = {"q": {"a": INF, "b": 1, "c": -INF, "d": -INF}}
    found = [RR().compute(from_run({"q": {item: 1}}, run)).value for item in "abcd"]
    assert same(found, [1, 1 / 2, 7 / 24, 7 / 24])
