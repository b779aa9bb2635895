"""Query-level metrics: what they equal if queries have one answer, how they are written, where they are asked."""

import math
import random

import numpy as np
import pandas as pd
import pytest
from grids import light, size

import kgeval as kg
from kgeval.cli import main
from kgeval.metrics.query_level import QueryLevel
from kgeval.metrics.ranks import MRR, Hits
from kgeval.metrics.retrieval.graded import NDCG
from kgeval.metrics.retrieval.listwise import MAP, Precision, Recall
from kgeval.results.evaluation_result import metric_cautions
from kgeval.results.keys import Key

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

SETTINGS, SIDES, SPLITS = ("raw", "filtered"), ("subject", "object"), ("train", "valid", "test")
EXACT = ("optimistic", "pessimistic", "expected")
LIST_METRICS = ("map", "rr", "precision@3", "recall@3", "f1@3", "rprec", "success@2", "ndcg", "dcg", "err", "auc")
KNOWN = "auc, dcg, err, fbeta, iap, iprec, map, ndcg, precision, recall, rprec, rr, success@10"
GRAMMAR = "write [setting.][side.][ties.]metric, for example 'raw.object.optimistic.hits@1'"
NO_EXPECTATION = "has no exact expectation over random tie breaking; use ties='optimistic' or 'pessimistic'"
NO_REALISTIC = "map does not support ties='realistic': several answers have no single rank; use ties='expected'"


def near(value):
    return pytest.approx(value, rel=1e-12, abs=1e-14, nan_ok=True)


def evaluate(splits, n, m, protocol=None, seed=0, levels=4):
    """A result of random scores on few levels, and of the same scores for the same seed."""
    table = np.random.default_rng(seed).integers(0, levels, (n, m, n))
    dataset = kg.Dataset.from_arrays(**splits, n_entities=n, n_relations=m)
    return kg.evaluate(lambda s, p, o: table[s, p, o], dataset, protocol, progress=False)


def single_answers(seed):
    """A result whose test queries have one answer each; train knows others."""
    rng = random.Random(seed)
    n, m = rng.randint(2, 12), rng.randint(1, 3)
    test = []
    for p in range(m):
        size = rng.randint(1, n)
        test += [(s, p, o) for s, o in zip(rng.sample(range(n), size), rng.sample(range(n), size), strict=True)]
    train = [(rng.randrange(n), rng.randrange(m), rng.randrange(n)) for _ in range(rng.randint(1, 40))]
    return evaluate({"train": train, "test": test}, n, m, seed=seed, levels=rng.choice([1, 2, 5, 1000]))


def many_answers(seed):
    """A result whose queries have many answers, none of them twice in test."""
    rng = random.Random(seed)
    n, m = rng.randint(3, 9), rng.randint(1, 2)
    everything = [(s, p, o) for s in range(n) for p in range(m) for o in range(n)]
    splits = {split: rng.sample(everything, rng.randint(1, 20 if n > 4 else 9)) for split in SPLITS}
    return evaluate(splits, n, m, seed=seed, levels=rng.choice([1, 2, 5, 1000]))


def mean_over_ranks(result, setting, ties, value):
    """The mean over rows of `value` of the rank, under a tie policy, from the counts by loops."""
    better, tied = (result.table[f"{name}_{setting}"].tolist() for name in ("better", "tied"))
    total = 0.0
    for b, t in zip(better, tied, strict=True):
        ranks = {"optimistic": [b + 1], "pessimistic": [b + t + 1], "expected": range(b + 1, b + t + 2)}[ties]
        total += sum(value(rank) for rank in ranks) / len(ranks)
    return total / len(better)


@pytest.mark.parametrize("seed", light(range(24), 1))
def test_one_answer_per_query(seed):
    """Every query-level metric is then a mean over ranks; k is below, at and above the number of candidates."""
    result = single_answers(seed)
    for setting in SETTINGS:
        for ties in EXACT:
            side = random.Random(seed).choice(["both", *SIDES])
            head = f"{setting}.{side}.{ties}."
            mrr = near(result[head + "mrr"])
            found = {name: result[f"{head}query.{name}"] for name in ("map", "rr", "micro.map", "micro.rr")}
            assert found == dict.fromkeys(found, mrr)
            assert 2 * result[head + "query.err"] == mrr
            if ties != "expected":
                names = ("iap", "iap(points=all)", "iprec", "iprec(recall=0.7)", "iprec(recall=1)")
                assert [result[f"{head}query.{name}"] for name in names] == [mrr] * 5
            assert result[head + "query.rprec"] == near(result[head + "hits@1"])
            for k in (1, 3, 20):
                hits = near(result[f"{head}hits@{k}"])
                for name in ("success", "recall", "micro.success", "micro.recall"):
                    assert result[f"{head}query.{name}@{k}"] == hits
                assert k * result[f"{head}query.precision@{k}"] == hits
                assert (k + 1) / 2 * result[f"{head}query.f1@{k}"] == hits
                assert result[f"{head}query.map@{k}"] == near(result[f"{head}query.rr@{k}"])
    for setting, ties in (("raw", "expected"), ("filtered", "expected"), ("filtered", "optimistic")):
        head = f"{setting}.{ties}.query."
        gain = near(mean_over_ranks(result, setting, ties, lambda rank: 1 / math.log2(1 + rank)))
        assert [result[head + name] for name in ("ndcg", "dcg", "micro.ndcg")] == [gain] * 3
        cut = near(mean_over_ranks(result, setting, ties, lambda rank: (rank <= 2) / math.log2(1 + rank)))
        assert result[head + "ndcg@2"] == cut
        reciprocal = near(mean_over_ranks(result, setting, ties, lambda rank: (rank <= 2) / rank))
        assert [result[head + name] for name in ("rr@2", "map@2")] == [reciprocal] * 2


@pytest.mark.parametrize("seed", light(range(40), 4))
@pytest.mark.light(2)
def test_auc_and_the_mean_rank(seed):
    """(1 + AMRI) / 2 is the micro AUC, and the macro AUC where all queries have equally many rivals (raw)."""
    single, many = single_answers(seed), many_answers(seed)
    for side in ("both", *SIDES):
        assert single[f"raw.{side}.query.auc"] == near((1 + single[f"raw.{side}.amri"]) / 2)
        for result in (single, many):
            assert result[f"{side}.query.micro.auc"] == near((1 + result[f"{side}.amri"]) / 2)
    table = many.table
    n_rivals, lost = table["rivals_raw"].sum(), (table["better_raw"] + table["tied_raw"] / 2).sum()
    pairs = sum(n * (n - 1) for n in many.lists().n_relevant.tolist())  # of answers: each is counted, half are lost
    wanted = 1 - (lost - pairs / 2) / (n_rivals - pairs) if n_rivals > pairs else math.nan
    assert many["raw.query.micro.auc"] == near(wanted)


@pytest.mark.parametrize("seed", light(range(40), 3))
def test_many_answers_and_the_ranks(seed):
    """What a rank tells of a list with several answers: raw hits and gains, and the first answer of a query."""
    result = many_answers(seed)
    n_queries = len(result.lists())
    for k in (1, 2, 5):
        assert result[f"raw.query.micro.recall@{k}"] == near(result[f"raw.expected.hits@{k}"])
        assert result[f"optimistic.query.micro.recall@{k}"] <= result[f"optimistic.hits@{k}"] + 1e-12
    gain = mean_over_ranks(result, "raw", "expected", lambda rank: 1 / math.log2(1 + rank)) * len(result.table)
    assert result["raw.query.dcg"] == near(gain / n_queries)
    first = {}  # of a query: the least rank among its answers, to which its other answers are no rivals
    for row in result.table.to_dict("records"):
        query = (row["side"], row["p"], row["o"] if row["side"] == "subject" else row["s"])
        ranks = (row["better_filtered"] + 1, row["better_filtered"] + row["tied_filtered"] + 1)
        first[query] = tuple(map(min, ranks, first.get(query, ranks)))
    assert len(first) == n_queries
    for place, ties in enumerate(("optimistic", "pessimistic")):
        found = [rank[place] for rank in first.values()]
        assert result[f"{ties}.query.rr"] == near(sum(1 / rank for rank in found) / n_queries)
        assert result[f"{ties}.query.success@2"] == near(sum(rank <= 2 for rank in found) / n_queries)


@pytest.fixture(scope="module")
def small():
    """Two relations; query (0, 0, ?) has answers 1 and 2, of which 1 stands twice in test.

    Object scores of (0, 0, ?) are 1 8 5 7 9 6 for 0 to 5, and 3 is known of train, so the list is 4, 1, 5, 2, 0 and
    its labels are 0 1 0 1 0; raw it is 4, 1, 3, 5, 2, 0. All other scores are o, or for the subjects of 1 and 2
    their own: (?, 0, 1) and (?, 0, 2) rank 0 among 0..5 by 8 and 5 against 1, so it is first. (3, 1, ?) has
    answer 4, second to 5; (?, 1, 4) ranks 3 among six subjects that all score 4.
    """
    scores = [1, 8, 5, 7, 9, 6]

    def score(s, p, o):
        return np.where((s == 0) & (p == 0), np.array(scores)[o], np.where(p == 0, 1, o)) + 0.0

    test = [[0, 0, 1], [0, 0, 2], [3, 1, 4], [0, 0, 1]]
    dataset = kg.Dataset.from_arrays(
        train=[[0, 0, 3], [5, 1, 0]],
        test=test,
        n_entities=6,
        n_relations=2,
        entity_labels=["Ann", "b", "c", "Dan", "e", "f"],
        relation_labels=["likes", "knows"],
    )
    return kg.evaluate(score, dataset, progress=False)


def test_worked_example(small):
    """0 1 0 1 0: AP (1/2 + 2/4)/2 = 1/2, raw (1/2 + 2/5)/2 = 9/20; (3, 1, ?) has AP 1/2; 6 tied: H(6)/6 = 49/120."""
    assert small["object.query.map"] == near((1 / 2 + 1 / 2) / 2)
    assert small["raw.object.query.map"] == near((9 / 20 + 1 / 2) / 2)
    assert small["object.query.micro.map"] == near((1 + 1 / 2) / (2 + 1))
    assert small["subject.query.map"] == near((1 + 1 + 49 / 120) / 3)
    assert small["query.map"] == near((1 / 2 + 1 / 2 + 1 + 1 + 49 / 120) / 5)
    assert small["optimistic.query.map"] == near((1 / 2 + 1 / 2 + 1 + 1 + 1) / 5)
    assert small["pessimistic.query.map"] == near((1 / 2 + 1 / 2 + 1 + 1 + 1 / 6) / 5)
    assert small["object.query.recall@2"] == near((1 / 2 + 1) / 2)
    assert small["object.query.micro.recall@2"] == near(2 / 3)
    assert small["object.query.auc"] == near((3 / 6 + 4 / 5) / 2)
    assert small["object.query.micro.auc"] == near((3 + 4) / (6 + 5))
    assert small["object.query.rprec"] == near((1 / 2 + 0) / 2)


def test_lists_and_per_query(small):
    """Whose lists they are, how long, and how many answers; every value is that query's own."""
    frame = small.per_query("map,recall@2,auc")
    assert frame.index.names == ["side", "relation", "given"]
    assert set(frame.pop("reason")) == {""}
    assert frame.to_dict("index") == {
        ("subject", "likes", "b"): {"n": 1, "map": 1.0, "recall@2": 1.0, "auc": 1.0},
        ("subject", "likes", "c"): {"n": 1, "map": 1.0, "recall@2": 1.0, "auc": 1.0},
        ("subject", "knows", "e"): {"n": 1, "map": near(49 / 120), "recall@2": near(1 / 3), "auc": 0.5},
        ("object", "likes", "Ann"): {"n": 2, "map": 0.5, "recall@2": 0.5, "auc": 0.5},
        ("object", "knows", "Dan"): {"n": 1, "map": 0.5, "recall@2": 1.0, "auc": 0.8},
    }
    raw = small.per_query([MAP(), "p@5"], side="tail", setting="raw", ties="pessimistic")
    assert raw.index.tolist() == [("object", "likes", "Ann"), ("object", "knows", "Dan")]
    assert raw["map"].tolist() == [near(9 / 20), 0.5]
    assert raw["precision@5"].tolist() == [2 / 5, 1 / 5]
    assert small.lists().length.tolist() == [6, 6, 6, 5, 6]
    assert small.lists("object", "raw").length.tolist() == [6, 6]
    assert small.lists("o").names.tolist() == raw.index.tolist()
    assert QueryLevel(Recall(2), "micro").compute_lists(small.lists("object"), "expected").value == near(2 / 3)


def test_duplicates_count_once(small):
    """(0, 0, 1) stands twice in test: its query has two answers, and the numbers are those without the copy."""
    table = small.table.drop(index=[3, 7])
    alone = kg.EvaluationResult(table, small.entities, small.relations, small.protocol, small.facts | {"n_read": 6})
    assert table[["s", "p", "o"]].drop_duplicates().shape == (3, 3)
    for metric in LIST_METRICS:
        for key in (f"query.{metric}", f"raw.object.query.micro.{metric}"):
            assert small[key] == alone[key]
    assert small["mrr"] != alone["mrr"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("query.map", Key(QueryLevel(MAP()), "filtered", "both", "expected")),
        ("query.macro.map", Key(QueryLevel(MAP()))),
        ("query.ap", Key(QueryLevel(MAP()))),
        (
            "raw.object.optimistic.query.micro.recall@10",
            Key(QueryLevel(Recall(10), "micro"), "raw", "object", "optimistic"),
        ),
        ("tail.QUERY.Micro.NDCG(Gain=exponential)@5 ", Key(QueryLevel(NDCG(5, "exponential"), "micro"), side="object")),
        ("realistic.query.p@3", Key(QueryLevel(Precision(3)), ties="realistic")),
        (QueryLevel(MAP(5)), Key(QueryLevel(MAP(5)), ties="expected")),
        ("mrr", Key(MRR(), ties="realistic")),
        ("expected.hits@3", Key(Hits(3), ties="expected")),
    ],
)
def test_keys(text, wanted):
    """The average is part of the metric; ties that are not said are expected, those of ranks realistic."""
    assert Key.parse(text) == wanted
    assert Key.parse(str(wanted.metric)).metric == wanted.metric
    if "query." in str(text).lower():
        assert QueryLevel.parse(f" {str(wanted.metric).upper()} ") == wanted.metric


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("query.map", "query.map"),
        ("query.macro.recip_rank@7", "query.rr@7"),
        ("query.micro.recall@10", "query.micro.recall@10"),
        ("query.fbeta(beta=1)@3", "query.f1@3"),
        ("query.micro.dcg(base=e,gain=1:3;2:9)@5", "query.micro.dcg(gain=1:3;2:9,base=e)@5"),
        ("query.err(g_max=2.0)", "query.err(g_max=2)"),
        ("query.iap(points=11)", "query.iap"),
    ],
)
def test_names(text, said):
    """One spelling each, which is also the heading of its column."""
    metric = Key.parse(text).metric
    assert str(metric) == metric.heading == said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query.hits@3", f"unknown list metric 'hits@3'; known: {KNOWN}"),
        ("query.ndcq@10", f"unknown list metric 'ndcq@10'; did you mean 'ndcg'?; known: {KNOWN}"),
        ("raw.query.micro.mapp", f"unknown list metric 'mapp'; did you mean 'map'?; known: {KNOWN}"),
        ("query.", f"unknown list metric ''; known: {KNOWN}"),
        ("query.micro.", f"unknown list metric ''; known: {KNOWN}"),
        ("query.macro.micro.rr", f"unknown list metric 'micro.rr'; did you mean 'mrr'?; known: {KNOWN}"),
        ("query.raw.rr", f"unknown list metric 'raw.rr'; did you mean 'rr'?; known: {KNOWN}"),
        ("query.adjusted(mr)", f"unknown list metric 'adjusted(mr)'; known: {KNOWN}"),
        ("query.success", "success needs a cut-off, a positive integer, such as 'success@10'; got 'success'"),
        ("query.map@0", "k of map@k must be an integer of at least 1; got 0"),
        ("query.rprec@3", "rprec takes no cut-off; got 'rprec@3'"),
        ("query.err(g=2)", "err takes g_max=; got 'g=2' in 'err(g=2)'"),
        ("rw.query.rr", f"in result key 'rw.query.rr': 'rw' is not allowed here; did you mean 'raw'?; {GRAMMAR}"),
        ("micro.query.map", f"in result key 'micro.query.map': 'micro' is not allowed here; {GRAMMAR}"),
        ("object.raw.query.map", f"in result key 'object.raw.query.map': 'raw' is not allowed here; {GRAMMAR}"),
    ],
)  # fmt: skip
@pytest.mark.light(3)
def test_wrong_keys(small, text, message):
    for look_up in (small.__getitem__, small.value, small.chance):
        with pytest.raises(kg.MetricError) as caught:
            look_up(text)
        assert str(caught.value) == message


@pytest.mark.parametrize("wrapper", ["adjusted", "z"])
def test_wrappers_take_metrics_of_ranks(small, wrapper):
    """The chance level of a query-level metric has no variance here; the message says what the wrapper takes."""
    with pytest.raises(kg.MetricError) as caught:
        small[f"{wrapper}(query.map)"]
    message = f"{wrapper}(...) wraps a plain metric such as MRR(); got QueryLevel(metric=MAP("
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("metric", [MRR(), "map", None])
def test_query_level_wraps_list_metrics(metric):
    with pytest.raises(kg.MetricError) as caught:
        QueryLevel(metric)
    assert str(caught.value) == f"QueryLevel(...) wraps a list metric such as MAP(); got {metric!r}"
    with pytest.raises(kg.MetricError, match="average must be one of 'macro', 'micro'; got 'mean'"):
        QueryLevel(MAP(), "mean")


def test_realistic_ties_have_no_value(small):
    found = small.value("realistic.query.map")
    assert math.isnan(found.value)
    assert found.reason == NO_REALISTIC
    assert small.chance("realistic.query.map") == small.chance("query.map")


def test_filter_that_lacks_a_ranked_split():
    """Filtered values are undefined and say why, everywhere; raw ones, and those of ranks, are there."""
    splits = {"train": [[0, 0, 3]], "valid": [[0, 0, 2]], "test": [[0, 0, 1]]}
    results = [
        evaluate(splits, 5, 1, kg.Protocol(splits=("valid", "test"), filter=known), levels=100)
        for known in (("train",), ("train", "valid"), ())
    ]
    for result, missing in zip(results, ("valid+test", "test"), strict=False):
        reason = (
            f"filtered query-level metrics need all ranked splits in filter, or no filter at all; {missing} "
            "is not in filter. Use raw.query..., or add the missing splits and evaluate again"
        )
        for found in (result.value("query.map"), result.chance("object.optimistic.query.micro.map")):
            assert math.isnan(found.value)
            assert found.reason == reason
        assert result["raw.query.map"] == results[2]["raw.query.map"] == results[2]["query.map"]
        frame = result.summary("mrr,query.map")
        assert frame["query.map"].isna().tolist() == [True] * 3 + [False] * 3
        assert frame["mrr"].notna().all()
        wanted = {("filtered", side): f"query.map: {reason}" for side in ("both", *SIDES)}
        assert frame["reason"].to_dict() == {("raw", side): "" for side in ("both", *SIDES)} | wanted
        assert result.by("split", metrics="query.map")["query.map"].isna().all()
        for call in (result.lists, lambda result=result: result.per_query("map")):
            with pytest.raises(kg.MetricError) as caught:
                call()
            assert str(caught.value) == reason


@pytest.mark.parametrize("ties", [None, "expected", "realistic", "optimistic", "pessimistic"])
@pytest.mark.light(3)
def test_summary_of_both_kinds(small, ties):
    """Without ties each metric has its own default; with ties all have the same."""
    frame = small.summary("mrr,query.map,query.micro.recall@2", ties)
    assert list(frame.columns) == ["n", "mrr", "query.map", "query.micro.recall@2", "reason"]
    assert frame["n"].tolist() == [8, 4, 4] * 2  # ranks, not queries
    for (setting, side), row in frame.iterrows():
        for key, default in [
            ("mrr", "realistic"),
            ("query.map", "expected"),
            ("query.micro.recall@2", "expected"),
        ]:
            assert row[key] == near(small[f"{setting}.{side}.{ties or default}.{key}"])
    reasons = f"query.map: {NO_REALISTIC}; query.micro.recall@2: {NO_REALISTIC.replace('map', 'recall@2')}"
    places = [(setting, side) for setting in SETTINGS for side in ("both", *SIDES)]
    assert frame["reason"].to_dict() == dict.fromkeys(places, reasons if ties == "realistic" else "")


@pytest.mark.parametrize("seed", light(range(5), 1))
def test_each_relation_alone(seed):
    """A breakdown equals the evaluation of each relation's test triples alone; n counts ranks."""
    rng = random.Random(seed)
    n, m = rng.randint(3, 8), 3
    splits = {
        split: [(rng.randrange(3), rng.randrange(m), rng.randrange(n)) for _ in range(rng.randint(1, 20))]
        for split in SPLITS
    }
    metrics = ["mrr", *(f"query.{metric}" for metric in LIST_METRICS), "query.micro.map"]
    result, labels = evaluate(splits, n, m, seed=seed), {str(p) for _, p, _ in splits["test"]}
    only = {label: [triple for triple in splits["test"] if str(triple[1]) == label] for label in labels}
    each = {label: evaluate(splits | {"test": only[label]}, n, m, seed=seed) for label in labels}
    for ties in (None, "optimistic"):
        summaries = {label: each[label].summary(metrics, ties) for label in labels}
        for setting in SETTINGS:
            frame = result.by("relation", metrics=metrics, setting=setting, ties=ties, confidence=None)
            frame = frame.drop(columns="share")
            assert set(frame.index) == labels
            for label, row in frame.iterrows():
                alone = summaries[label].loc[(setting, "both")]
                assert row.pop("reason") == alone.pop("reason")
                assert row.tolist() == near(alone.tolist())


def test_each_split_alone():
    """Each split's answers are relevant alone: known to the filter, and rivals in the raw setting."""
    splits = {"train": [[4, 0, 0]], "valid": [[0, 0, 2], [0, 0, 3]], "test": [[0, 0, 1]]}
    both = kg.Protocol(splits=("valid", "test"), sides="object")
    result = evaluate(splits, 5, 1, both, seed=3, levels=100)
    for setting in SETTINGS:
        frame = result.by("split", metrics="query.map,query.ndcg,query.auc", setting=setting, confidence=None)
        for split, row in frame.iterrows():
            alone = evaluate(splits, 5, 1, kg.Protocol(splits=split, sides="object"), seed=3, levels=100)
            assert row.pop("reason") == ""
            assert row.tolist()[2:] == [alone[f"{setting}.query.{metric}"] for metric in ("map", "ndcg", "auc")]
    assert result["query.map"] != pytest.approx(result.by("split", metrics="query.map")["query.map"].mean())


@pytest.mark.parametrize("seed", light(range(8), 1))
def test_chance_is_what_a_constant_scorer_is_expected_to_reach(seed):
    """All candidates of a query tied; for AUC one half, and for precision@1 the share of answers."""
    rng = random.Random(seed)
    n, m = rng.randint(2, 9), rng.randint(1, 2)
    splits = {s: [(rng.randrange(n), rng.randrange(m), rng.randrange(n)) for _ in range(12)] for s in SPLITS}
    result, constant = (evaluate(splits, n, m, seed=seed, levels=levels) for levels in (100, 1))
    for place in ("", "raw.", "object.", "raw.subject.")[:: size(3, 1)]:
        for metric in (*LIST_METRICS, "micro.map", "micro.recall@3", "micro.ndcg", "err@2", "precision@3"):
            level, same = result.chance(f"{place}query.{metric}"), constant.value(f"{place}query.{metric}")
            assert level.value == near(same.value)
            assert (level.reason, level.excluded) == (same.reason, same.excluded)
            assert repr(level) == repr(constant.chance(f"{place}optimistic.query.{metric}"))
    lists = result.lists()
    has_auc = (lists.n_relevant < lists.length).any()
    assert result.chance("query.auc").value == near(0.5 if has_auc else math.nan)
    share = [r / length for r, length in zip(lists.n_relevant.tolist(), lists.length.tolist(), strict=True)]
    assert result.chance("query.precision@1").value == near(sum(share) / len(share))
    assert result.chance("query.iap").reason == "iap has no closed form of its chance level"


def said_of_queries(n):
    return (
        f"query. metrics count each of the {n:,} queries once, with all its ranked answers as relevant items; expected "
        "ties unless another tie policy is given"
    )


def test_cautions(small):
    """Said once, after those of ranks, and only where query-level metrics are asked."""
    ranks = "hits@10 is 1 by definition for 100.0% of the ranks (10 candidates or fewer)"
    assert metric_cautions(small, ["hits@10", "mrr"]) == [ranks]
    assert metric_cautions(small, "query.map,hits@10,query.micro.rr") == [ranks, said_of_queries(5)]
    assert metric_cautions(small, [QueryLevel(MAP())]) == [said_of_queries(5)]


UNSEEN = {"train": [[0, 0, 1]], "test": [[0, 0, 0], [2, 0, 1]]}  # train lacks 2


def test_cautions_count_queries_that_are_ranked_last():
    """(?, 0, 0), (?, 0, 1), (0, 0, ?) and (2, 0, ?): those of the unseen triple count in every metric."""
    worst = evaluate(UNSEEN, 3, 1, kg.Protocol(unseen="worst"))
    assert len(worst.lists()) == len(worst.per_query("map")) == 4
    assert metric_cautions(worst, "query.map") == [said_of_queries(4)]


def test_cautions_count_no_query_that_was_dropped():
    """(2, 0, ?) has no rival in the table, so it has no list."""
    dataset = kg.Dataset.from_arrays(**UNSEEN, n_entities=3, n_relations=1)
    rows = [["0", "0", "0", 1.0], ["0", "0", "2", 2.0], ["2", "0", "1", 1.0]]
    table = pd.DataFrame(rows, columns=["s", "p", "o", "score"])
    listed = kg.evaluate_scores(table, dataset, kg.Protocol(sides="object"))
    assert listed.per_query("rr").to_dict("index") == {("object", "0", "0"): {"n": 1, "rr": 0.5, "reason": ""}}
    assert metric_cautions(listed, "query.map") == [said_of_queries(1)]


def test_saved_results_give_the_same_numbers(tmp_path):
    """Nothing but the counts is needed."""
    for seed in range(size(1, 2)):
        result = many_answers(seed)
        result.save(tmp_path / f"{seed}.kgeval")
        loaded = kg.load_result(tmp_path / f"{seed}.kgeval")
        for setting in SETTINGS:
            found = loaded.per_query("map,ndcg@3,auc", setting=setting)
            pd.testing.assert_frame_equal(found, result.per_query("map,ndcg@3,auc", setting=setting), check_exact=True)
            for ties in EXACT:
                key = f"{setting}.{ties}.query.map"
                assert loaded[key] == result[key] == near(loaded.per_query("map", "both", setting, ties)["map"].mean())


def test_errors_of_lists_and_per_query(small):
    one_side = evaluate({"test": [[0, 0, 1]]}, 3, 1, kg.Protocol(sides="object"))
    for call, message in [
        (lambda: small.lists("objct"), "side must be one of 'both', 'subject', 's', 'head', "),
        (lambda: small.lists(setting="rw"), "setting must be one of 'raw', 'filtered'; got 'rw'; did you mean 'raw'?"),
        (lambda: small.per_query("map", ties="stable"), "lists made from counts do not record the order of tied items"),
        (lambda: small.per_query("map", ties="mean"), "ties must be one of 'expected', 'optimistic', 'pessimistic'"),
        (lambda: small.per_query("query.mop"), "unknown list metric 'mop'; did you mean 'map'?; known: "),
        (lambda: small.per_query("mrr,hits@3"), "unknown list metric 'hits@3'; known: "),
        (lambda: one_side.per_query("map", "head"), "the subject side was not ranked; this result has object"),
    ]:  # fmt: skip
        with pytest.raises(kg.MetricError) as caught:
            call()
        assert str(caught.value).startswith(message)
    assert small.per_query("query.map").equals(small.per_query("map"))


COMMAND = """
def score(s, p, o):
    return (s + 2 * o) % 5 + 0.0
"""


def test_command_line(tmp_path, capsys, monkeypatch):
    """Entities a to e are 0 to 4; scores are s + 2 o modulo 5. Three queries, four ranks.

    (a r ?): 0 2 4 1 3, so c e b d a, where d is known and b and c are the answers: 1 0 1 0. AP (1 + 2/3)/2 = 5/6,
    DCG 1 + 1/2, ideal 1 + 1/log2(3); ERR with g_max 2, where an answer stops with chance 1/4: 1/4 + 3/4 1/4 1/3 = 5/16.
    (? r b): 2 3 4 0 1, so a is third: AP 1/3, DCG 1/2, ERR 1/12. (? r c): 4 0 1 2 3, a is first: AP 1, DCG 1, ERR 1/4.
    MAP (5/6 + 1/3 + 1)/3 = 13/18. MRR, each answer alone: b 2 (below e), c 1, a 3 and 1: (1/2 + 1 + 1/3 + 1)/4 = 17/24.
    DCG@1 to base e is 1/ln(2) where the first is an answer, which is so in two of three.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scorers.py").write_text(COMMAND)
    (tmp_path / "graph").mkdir()
    for split, lines in {"train": "a\tr\td\nc\tr\te\n", "test": "a\tr\tb\na\tr\tc\n"}.items():
        (tmp_path / "graph" / f"{split}.txt").write_text(lines)
    call = ["evaluate", "graph", "--scorer", "scorers.py:score", "--ties", "expected", "--metrics"]
    assert main([*call, "mrr,query.map,query.ndcg@10"]) == 0
    cells = [line.split() for line in capsys.readouterr().out.splitlines()]
    start = cells.index(["n", "MRR", "query.map", "query.ndcg@10"])
    gain = (1.5 / (1 + 1 / math.log2(3)) + 1 / 2 + 1) / 3
    assert cells[start + 1] == ["both", "4", "0.7083", "0.7222", f"{gain:.4f}"]
    assert cells[start + 3][:4] == ["object", "2", "0.7500", "0.8333"]
    assert "chance" in [row[0] for row in cells[start + 1 : start + 8]]
    said = said_of_queries(3).split()
    assert ["note:", *said] in cells
    assert main([*call, "query.err(g_max=2)@5,mrr,query.dcg(gain=exponential,base=e)@1", "--to", "csv"]) == 0
    header, both = capsys.readouterr().out.splitlines()[:2]
    assert header == 'rows,n,query.err(g_max=2)@5,mrr,"query.dcg(gain=exponential,base=e)@1",reason'
    *numbers, reason = both.split(",")[1:]
    assert reason == ""
    found = [float(cell) for cell in numbers]
    assert found == near([4, (5 / 16 + 1 / 12 + 1 / 4) / 3, 17 / 24, 2 / 3 / math.log(2)])
