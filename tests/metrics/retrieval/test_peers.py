"""List metrics against scikit-learn, pytrec_eval, ir_measures and ranx, on thousands of small random lists.

Here stands what agrees to 1e-12; test_peers_ties.py shows, one by one, where a tool means something else.
"""

import math
import random

import numpy as np
import pytest
from grids import light, size
from list_peers import ROUNDED, TREC, peer, per_query, trec, uncompiled_ranx

from kgeval.metrics.retrieval.base import LISTS
from kgeval.metrics.retrieval.inputs import from_run, from_scores

ITEMS = [f"d{i}" for i in range(14)]  # "d10" stands before "d9"
BINARY, GRADED = (0, 1), (-2, -1, 0, 0, 1, 2, 3, 4)
DISTINCT, TIED, CLOSE = "distinct", "tied", "close"


@pytest.fixture(scope="module")
def ranx():
    with uncompiled_ranx() as module:
        yield module


def draw_scores(rng, items, kind):
    """Scores that all differ, that often tie, or that differ by less than float32 can tell."""
    if kind == DISTINCT:
        return dict(zip(items, rng.sample([i / 8 for i in range(-40, 40)], len(items))))
    if kind == TIED:
        return {item: float(rng.randrange(4)) for item in items}
    return {item: 1 + rng.randrange(60) * 1e-8 for item in items}


def draw(seed, n, grades, kind, everywhere=False):
    """Judgements and a run of `n` small queries; some items unjudged, some relevant ones not returned.

    Unless `everywhere`, one query in ten is in the judgements only, and one in ten in the run only.
    """
    rng = random.Random(seed)
    qrels, run = {}, {}
    for query in (str(i) for i in range(1, n + 1)):
        where = "both" if everywhere else rng.choice(["qrels", "run", *["both"] * 8])
        if where != "run":
            judged = rng.sample(ITEMS, rng.randint(1, len(ITEMS)))
            qrels[query] = {item: rng.choice(grades) for item in judged}
            qrels[query][judged[0]] = max(0, qrels[query][judged[0]])  # pytrec_eval crashes where all are below -1
        if where != "qrels":
            run[query] = draw_scores(rng, rng.sample(ITEMS, rng.randint(1, len(ITEMS))), kind)
    return qrels, run


def as_float32(run):
    """The run with the scores as pytrec_eval keeps them."""
    return {query: {item: float(np.float32(score)) for item, score in items.items()} for query, items in run.items()}


def assert_agrees(text, lists, ties, wanted, within=1e-12, where=None):
    """The metric of each list equals what the peer gave for the query; `where` leaves lists out.

    Parameters
    ----------
    wanted : mapping of query to number, or array in the order of the lists
    """
    found = LISTS.parse(text).per_query(lists, ties)
    if isinstance(wanted, dict):
        wanted = np.array([wanted[name] for name in lists.names])
    where = np.ones(len(found), dtype=bool) if where is None else where
    assert where.sum() > size(60, 400)
    wrong = np.flatnonzero(~(np.abs(found - wanted) <= within) & where)
    assert [(lists.names[i], found[i], wanted[i]) for i in wrong[:3]] == [], f"{text}: {len(wrong)} of {len(found)}"


# --- scikit-learn ---------------------------------------------------------------------------------------------------


def draw_table(seed, rows, kind):
    """Grades and scores of `rows` lists of one length, each with a relevant and an irrelevant item."""
    rng = np.random.default_rng(seed)
    length = int(rng.integers(2, 13))
    grades = rng.integers(0, 4, (rows, length)).astype(float)
    grades[:, 0], grades[:, 1] = 0, rng.integers(1, 4, rows)
    grades = rng.permuted(grades, axis=1)
    scores = rng.integers(0, 4, (rows, length)) / 2 if kind == TIED else rng.random((rows, length))
    return grades, scores


def mean_of_ten(function, grades, scores, **options):
    """The tool's means over ten lists each; within 1e-13 of ours, no list of them is further off than 1e-12."""
    tens = range(0, len(grades), 10)
    return np.array([function(grades[i : i + 10], scores[i : i + 10], **options) for i in tens])


@pytest.mark.parametrize("kind", [DISTINCT, TIED])
@pytest.mark.parametrize("seed", range(8))
def test_scikit_learn_dcg_and_ndcg(seed, kind):
    """dcg_score and ndcg_score average over the orders of tied items, as `expected`; their gain is linear."""
    sklearn = peer("sklearn.metrics")
    grades, scores = draw_table(seed, 250, kind)
    lists = from_scores(grades, scores)
    k = 1 + seed % 5
    for text, wanted in {
        "dcg": mean_of_ten(sklearn.dcg_score, grades, scores),
        f"dcg@{k}": mean_of_ten(sklearn.dcg_score, grades, scores, k=k),
        "dcg(base=e)": mean_of_ten(sklearn.dcg_score, grades, scores, log_base=math.e),
        f"dcg(gain=exponential,base=10)@{k}": mean_of_ten(sklearn.dcg_score, 2**grades - 1, scores, k=k, log_base=10),
        "ndcg": mean_of_ten(sklearn.ndcg_score, grades, scores),
        f"ndcg@{k}": mean_of_ten(sklearn.ndcg_score, grades, scores, k=k),
        "ndcg(gain=exponential)": mean_of_ten(sklearn.ndcg_score, 2**grades - 1, scores),
    }.items():
        found = LISTS.parse(text).per_query(lists, "expected").reshape(-1, 10).mean(axis=1)
        assert np.abs(found - wanted).max() < 1e-13 * max(1, np.abs(wanted).max()), text


@pytest.mark.parametrize("kind", [DISTINCT, TIED])
def test_scikit_learn_auc(kind):
    """roc_auc_score counts a tied pair one half, as `expected`."""
    sklearn = peer("sklearn.metrics")
    for seed in range(4):
        grades, scores = draw_table(seed, 500, kind)
        wanted = sklearn.roc_auc_score((grades > 0).astype(int).T, scores.T, average=None)
        assert_agrees("auc", from_scores(grades, scores), "expected", wanted)


def test_scikit_learn_average_precision_without_ties():
    """average_precision_score and label_ranking_average_precision_score are the AP where no scores tie."""
    sklearn = peer("sklearn.metrics")
    for seed in range(4):
        grades, scores = draw_table(seed, 500, DISTINCT)
        lists, relevant = from_scores(grades, scores), (grades > 0).astype(int)
        assert_agrees("map", lists, "expected", sklearn.average_precision_score(relevant.T, scores.T, average=None))
        ranking = mean_of_ten(sklearn.label_ranking_average_precision_score, relevant, scores)
        found = LISTS.parse("map").per_query(lists).reshape(-1, 10).mean(axis=1)
        assert np.abs(found - ranking).max() < 1e-13


# --- pytrec_eval ----------------------------------------------------------------------------------------------------


def assert_agrees_with_trec(qrels, run, level=None, missing="irrelevant", **options):
    lists = from_run(qrels, as_float32(run), relevance_level=level, missing=missing, queries="returned")
    is_listed = lists.length > 0
    for name, numbers in trec(qrels, run, TREC, **options).items():
        where = (lists.n_relevant != 3) | (name not in ROUNDED)
        where &= is_listed | (name not in {"set_P", "set_F", "11pt_avg"} and "iprec" not in name)
        assert set(numbers) == set(lists.names)
        assert_agrees(TREC[name], lists, "stable", numbers, where=where)


@pytest.mark.parametrize("kind", light([TIED, DISTINCT, CLOSE], 1))
@pytest.mark.parametrize("grades", [BINARY, GRADED], ids=["binary", "graded"])
def test_pytrec_eval(grades, kind):
    """Every measure per query: ties by falling label after rounding to float32, negative grades count as 0."""
    peer("pytrec_eval")
    assert_agrees_with_trec(*draw(1, size(400, 2500), grades, kind))


@pytest.mark.parametrize("kind", [DISTINCT, TIED])
def test_pytrec_eval_relevance_level(kind):
    """relevance_level is the same there; nDCG knows no level."""
    peer("pytrec_eval")
    assert_agrees_with_trec(*draw(2, size(400, 2500), GRADED, kind), level=2, relevance_level=2)


@pytest.mark.parametrize("kind", [DISTINCT, TIED])
def test_pytrec_eval_judged_only(kind):
    """judged_docs_only_flag is missing="drop", as long as no grade is negative."""
    peer("pytrec_eval")
    qrels, run = draw(3, size(400, 2500), (0, 1, 2, 3), kind)
    assert_agrees_with_trec(qrels, run, missing="drop", judged_docs_only_flag=True)


def test_pytrec_eval_means():
    """Its means are over the judged queries that the run has: queries="returned"."""
    pytrec_eval = peer("pytrec_eval")
    qrels, run = draw(4, 2000, GRADED, TIED)
    lists = from_run(qrels, run, queries="returned")
    for name, numbers in trec(qrels, run, ["map", "ndcg", "P_5", "recip_rank"]).items():
        wanted = pytrec_eval.compute_aggregated_measure(name, list(numbers.values()))
        assert LISTS.parse(TREC[name]).compute(lists, "stable").value == pytest.approx(wanted, abs=1e-13)


# --- ir_measures ----------------------------------------------------------------------------------------------------

IR_MEASURES = {
    "AP": "map(empty=zero)",
    "AP@3": "map(empty=zero)@3",
    "nDCG": "ndcg(empty=zero)",
    "nDCG@3": "ndcg(empty=zero)@3",
    "nDCG(gains={1:3,2:9})@5": "ndcg(gain=1:3;2:9,empty=zero)@5",
    "P@3": "p@3",
    "R@3": "recall(empty=zero)@3",
    "RR": "rr",
    "Success@2": "success@2",
    "Rprec": "rprec(empty=zero)",
    "IPrec@0.5": "iprec(recall=0.5,empty=zero)",
    "SetR": "recall(empty=zero)",
}
OF_LEVEL_2 = {
    "AP(rel=2)": "map(empty=zero)",
    "P(rel=2)@3": "p@3",
    "R(rel=2)@3": "recall(empty=zero)@3",
    "RR(rel=2)": "rr",
    "Success(rel=2)@2": "success@2",
    "Rprec(rel=2)": "rprec(empty=zero)",
    "SetR(rel=2)": "recall(empty=zero)",
}


@pytest.mark.parametrize("kind", [DISTINCT, TIED, CLOSE])
def test_ir_measures(kind):
    """A query that the run lacks counts 0 (queries="judged"); it leaves these measures to pytrec_eval."""
    peer("pytrec_eval")
    qrels, run = draw(5, size(400, 2500), GRADED, kind)
    for measures, level in ((IR_MEASURES, None), (OF_LEVEL_2, 2)):
        lists = from_run(qrels, as_float32(run), relevance_level=level)
        for name, numbers in per_query(qrels, run, measures).items():
            assert_agrees(measures[name], lists, "stable", numbers)


def test_ir_measures_set_precision_and_f():
    """SetP and SetF are the precision and F1 without a cut-off, for queries with an answer."""
    peer("pytrec_eval")
    qrels, run = draw(6, 2000, GRADED, TIED)
    lists = from_run(qrels, run)
    for name, text in {"SetP": "p", "SetF": "f1"}.items():
        assert_agrees(text, lists, "stable", per_query(qrels, run, [name])[name], where=lists.length > 0)


def test_ir_measures_accuracy():
    """Accuracy is the AUC of a list that has every relevant item; its ties stay in the order of the run."""
    if not hasattr(peer("ir_measures"), "Accuracy"):
        pytest.skip("Accuracy came with ir-measures 0.3.5")
    qrels, run = draw(13, 20000, BINARY, TIED, everywhere=True)
    wanted = {query: {item for item, grade in items.items() if grade} for query, items in qrels.items()}
    full = [query for query, items in run.items() if wanted[query] and wanted[query] < set(items)]
    qrels, run = ({query: pairs[query] for query in full} for pairs in (qrels, run))
    lists = from_scores(
        [[qrels[query].get(item, 0) for item in run[query]] for query in full],
        [list(run[query].values()) for query in full],
    )
    numbers = per_query(qrels, run, ["Accuracy"])["Accuracy"]
    assert_agrees("auc", lists, "stable", np.array([numbers[query] for query in full]))


def test_ir_measures_reciprocal_rank_with_cut_off():
    """RR@k comes from another provider, msmarco; without ties it is rr@k."""
    peer("ir_measures")
    qrels, run = draw(7, 2000, GRADED, DISTINCT)
    lists = from_run(qrels, run)
    for k in (1, 3, 10):
        assert_agrees(f"rr@{k}", lists, "stable", per_query(qrels, run, [f"RR@{k}"], "msmarco")[f"RR@{k}"])


@pytest.mark.parametrize("kind", [DISTINCT, TIED, CLOSE])
def test_ir_measures_gdeval(kind):
    """The gdeval script prints 5 decimals, takes 4 for the highest grade, compares float64, ties by falling label."""
    if not peer("ir_measures").gdeval.is_available():
        pytest.skip("gdeval is a Perl script; needs perl")
    qrels, run = draw(8, 2000, GRADED, kind)
    names = {f"ERR@{k}": f"err(g_max=4)@{k}" for k in (1, 3, 10)}
    names |= {f"nDCG(dcg='exp-log2')@{k}": f"ndcg(gain=exponential,empty=zero)@{k}" for k in (1, 3, 10)}
    lists = from_run(qrels, run)
    for name, numbers in per_query(qrels, run, names, "gdeval").items():
        assert_agrees(names[name], lists, "stable", numbers, within=5.001e-6)


# --- ranx -----------------------------------------------------------------------------------------------------------

RANX = {
    "map": "map(empty=zero)",
    "map@3": "map(empty=zero)@3",
    "mrr": "rr",
    "mrr@3": "rr@3",
    "ndcg": "ndcg(empty=zero)",
    "ndcg@3": "ndcg(empty=zero)@3",
    "ndcg_burges": "ndcg(gain=exponential,empty=zero)",
    "ndcg_burges@5": "ndcg(gain=exponential,empty=zero)@5",
    "dcg": "dcg",
    "dcg@3": "dcg@3",
    "dcg_burges@5": "dcg(gain=exponential)@5",
    "precision": "p",
    "precision@5": "p@5",
    "recall": "recall(empty=zero)",
    "recall@3": "recall(empty=zero)@3",
    "f1": "f1",
    "f1@3": "f1@3",
    "hit_rate@2": "success@2",
    "r-precision": "rprec(empty=zero)",
}
BINARY_ONLY = [name for name in RANX if "dcg" not in name]


@pytest.mark.parametrize("grades", [BINARY, GRADED], ids=["binary", "graded"])
def test_ranx(ranx, grades):
    """Every metric per query, scores all different."""
    qrels, run = draw(9, 1500, grades, DISTINCT, everywhere=True)
    answer = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), list(RANX), return_mean=False)
    lists = from_run(qrels, run)
    assert list(lists.names) == sorted(qrels)
    for name, numbers in answer.items():
        assert_agrees(RANX[name], lists, "expected", numbers)


def test_ranx_relevance_level(ranx):
    """The suffix -l2 is relevance_level=2; in its nDCG it also takes the worth from lower grades, which is gain=1:0."""
    qrels, run = draw(10, 1500, GRADED, DISTINCT, everywhere=True)
    names = {f"{name}-l2": RANX[name] for name in BINARY_ONLY}
    names["ndcg@3-l2"] = "ndcg(gain=1:0,empty=zero)@3"
    answer = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), list(names), return_mean=False)
    lists = from_run(qrels, run, relevance_level=2)
    for name, numbers in answer.items():
        assert_agrees(names[name], lists, "expected", numbers)


def test_ranx_queries_missing_from_the_run(ranx):
    """With make_comparable=True they count 0, and queries of the run alone are left out: queries="judged"."""
    qrels, run = draw(11, 1500, GRADED, DISTINCT)
    names = ["map", "mrr", "ndcg@3", "recall@3", "f1@3"]
    answer = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), names, return_mean=False, make_comparable=True)
    for name, numbers in answer.items():
        assert_agrees(RANX[name], from_run(qrels, run), "expected", numbers)


def test_ranx_interpolated_precision(ranx):
    """Eleven points; at recall 0.7 its rounding differs for 3 relevant items, as that of trec_eval does."""
    qrels, run = draw(12, 1500, BINARY, DISTINCT, everywhere=True)
    lists = [ranx.Qrels(qrels).to_typed_list(), ranx.Run(run).to_typed_list()]
    answer = ranx.metrics.interpolated_precision_at_recall(*lists)
    lists = from_run(qrels, run)
    for i in range(11):
        where = (lists.n_relevant != 3) | (i != 7)
        assert_agrees(f"iprec(recall={i / 10},empty=zero)", lists, "optimistic", answer[:, i], where=where)
