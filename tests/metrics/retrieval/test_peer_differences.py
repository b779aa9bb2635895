"""Where scikit-learn, pytrec_eval, ir_measures and ranx mean something else: an example each, with both numbers."""

import itertools
import math
import warnings

import numpy as np
import pytest
from list_peers import ROUNDED, TREC, peer, per_query, trec, uncompiled_ranx

from kgeval.errors import MetricError
from kgeval.metrics.pointwise.separation import AveragePrecision
from kgeval.metrics.retrieval.base import LISTS
from kgeval.metrics.retrieval.inputs import from_run, from_scores


@pytest.fixture(scope="module")
def ranx():
    with uncompiled_ranx() as module:
        yield module


def near(wanted):
    return pytest.approx(wanted, rel=1e-12, abs=1e-12)


def value(text, lists, ties="expected"):
    return LISTS.parse(text).compute(lists, ties).value


def trec_value(qrels, run, measure, **options):
    """What pytrec_eval gives for a measure, per query in their order."""
    return list(trec(qrels, run, [measure], **options)[measure].values())


def ranx_value(ranx, qrels, run, metric, as_dicts=False, **options):
    """The mean that ranx gives; for a second metric it returns a dictionary, for one alone a number."""
    pair = (qrels, run) if as_dicts else (ranx.Qrels(qrels), ranx.Run(run))
    return ranx.evaluate(*pair, [metric, "hits"], **options)[metric]


def ir_value(qrels, run, measure, provider=None):
    """The mean that ir_measures gives."""
    return float(np.mean(list(per_query(qrels, run, [measure], provider)[measure].values())))


def ranking(labels):
    """Judgements and a run of one query, from the labels of its items in ranked order."""
    items = {f"d{i}": grade for i, grade in enumerate(labels)}
    return {"1": items}, {"1": {item: -float(i) for i, item in enumerate(items)}}


# --- the order of tied items ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "scores", "sklearns", "optimistic", "expected", "pessimistic"),
    [
        # one group of 3, both relevant items at precision 2/3; orders RRN 1, RNR 5/6, NRR 7/12
        ([1, 0, 1], [5, 5, 5], 2 / 3, 1, 29 / 36, 7 / 12),
        # RRRN behind 3 others: (1/4 + 2/5 + 3/6) / 3 = 23/60 at best, NRRR (1/5 + 2/6 + 3/7) / 3 = 101/315;
        # RNRR (1/4 + 2/6 + 3/7) / 3 = 85/252 and RRNR (1/4 + 2/5 + 3/7) / 3 = 151/420 lie between, mean 353/1008
        ([0, 0, 0, 1, 1, 1, 0], [9, 8, 8, 5, 5, 5, 5], 3 / 7, 23 / 60, 353 / 1008, 101 / 315),
    ],
    ids=["between", "above the best order"],
)
def test_average_precision_score_shares_one_precision(labels, scores, sklearns, optimistic, expected, pessimistic):
    """scikit-learn gives a tied item the precision at the end of its group: no order, at times above every order.

    label_ranking_average_precision_score does the same. Here that rule is `ap` of pointwise, not `map` of lists.
    """
    sklearn, lists = peer("sklearn.metrics"), from_scores(labels, scores)
    assert sklearn.average_precision_score(labels, scores) == near(sklearns)
    assert sklearn.label_ranking_average_precision_score([labels], [scores]) == near(sklearns)
    assert AveragePrecision().compute(labels, scores).value == near(sklearns)
    assert value("map", lists, "optimistic") == near(optimistic)
    assert value("map", lists, "expected") == near(expected)
    assert value("map", lists, "pessimistic") == near(pessimistic)


@pytest.mark.parametrize("seed", range(5))
def test_average_precision_score_is_the_pointwise_ap(seed):
    """On random ties it equals pointwise `ap` and is at least the pessimistic `map`, mostly none of our policies."""
    sklearn, rng, found = peer("sklearn.metrics"), np.random.default_rng(seed), []
    for _ in range(60):
        scores = rng.integers(0, 3, 8)
        labels = rng.permutation([1, 1, 1, 0, 0, *rng.integers(0, 2, 3)])
        wanted, lists = sklearn.average_precision_score(labels, scores), from_scores(labels, scores)
        assert AveragePrecision().compute(labels, scores).value == near(wanted)
        ours = [value("map", lists, ties) for ties in ("pessimistic", "expected", "optimistic")]
        assert ours[0] <= wanted + 1e-12
        found.append(min(abs(wanted - number) for number in ours) > 1e-9)
    assert np.mean(found) > 0.5


def test_ndcg_score_that_ignores_ties():
    """With ignore_ties=True the order in which items came decides: one order gives 1, the other 1 / log2(3)."""
    sklearn = peer("sklearn.metrics")
    found = [sklearn.ndcg_score([labels], [[7, 7]], ignore_ties=True) for labels in ([1, 0], [0, 1])]
    assert sorted(found) == near([1 / math.log2(3), 1])
    for labels in ([1, 0], [0, 1]):
        ours, theirs = value("ndcg", from_scores([labels], [[7, 7]])), sklearn.ndcg_score([labels], [[7, 7]])
        assert (ours, theirs) == near((np.mean(found), np.mean(found)))


def test_pytrec_eval_puts_the_higher_label_first():
    """A and B tie; B is relevant: RR 1. Renamed to A: 1/2. `stable` of from_run follows, `expected` is 3/4 for both."""
    for relevant, wanted in (("B", 1), ("A", 1 / 2)):
        qrels, run = {"1": {relevant: 1}}, {"1": {"A": 0.5, "B": 0.5}}
        lists = from_run(qrels, run)
        assert trec_value(qrels, run, "recip_rank") == [wanted]
        assert value("rr", lists, "stable") == wanted
        assert value("rr", lists) == 3 / 4


def test_pytrec_eval_sorts_labels_by_their_bytes():
    """Tied, the first to last are: an emoji, then a label beyond Latin, "é", "z", "d9", "d10", "Z"."""
    labels = ["\U0001f600", "\uffee", "é", "z", "d9", "d10", "Z"]
    run = {"1": dict.fromkeys(sorted(labels), 1.0)}
    for place, label in enumerate(labels, start=1):
        assert trec_value({"1": {label: 1}}, run, "recip_rank") == [1 / place]
        assert value("rr", from_run({"1": {label: 1}}, run), "stable") == 1 / place


@pytest.mark.parametrize(("high", "low"), [(1 + 1e-8, 1.0), (16777217, 16777216), (1e40, 1e39)])
def test_pytrec_eval_compares_float32(high, low):
    """Scores that float32 cannot tell apart tie, so the label decides; ours and gdeval compare float64.

    As in pytrec_eval after ``{item: np.float32(score)}``.
    """
    qrels, run = {"1": {"A": 1}}, {"1": {"A": high, "B": low}}
    assert trec_value(qrels, run, "recip_rank") == [1 / 2]
    assert value("rr", from_run(qrels, run), "stable") == 1
    with np.errstate(over="ignore"):
        rounded = {"1": {item: np.float32(score) for item, score in run["1"].items()}}
    assert value("rr", from_run(qrels, rounded), "stable") == 1 / 2


def test_ir_measures_has_three_orders():
    """One tie, one call: RR (pytrec_eval) puts the higher label first, RR@10 (msmarco) the lower one.

    Accuracy keeps the order of the run. `rr` and `rr@10` agree under every policy; msmarco's order is `stable` of
    `from_scores` with items sorted by label.
    """
    peer("pytrec_eval")
    qrels, run = {"1": {"A": 1}}, {"1": {"A": 0.5, "B": 0.5}}
    assert [ir_value(qrels, run, name) for name in ("RR", "RR@10")] == [1 / 2, 1]
    lists, by_label = from_run(qrels, run), from_scores([1, 0], [0.5, 0.5])
    for text in ("rr", "rr@10"):
        assert [value(text, lists, "stable"), value(text, lists), value(text, by_label, "stable")] == [1 / 2, 3 / 4, 1]
    assert ir_value(qrels, run, "Accuracy") == 1
    assert ir_value(qrels, {"1": {"B": 0.5, "A": 0.5}}, "Accuracy") == 0
    assert value("auc", lists) == 1 / 2


def test_ranx_keeps_the_order_of_the_run(ranx):
    """The same run written in another order has another MRR: 1 and 1/2, where `expected` is their mean."""
    qrels = {"1": {"A": 1}}
    runs = [{"1": {"A": 0.5, "B": 0.5}}, {"1": {"B": 0.5, "A": 0.5}}]
    assert sorted(ranx_value(ranx, qrels, run, "mrr") for run in runs) == [1 / 2, 1]
    assert [value("rr", from_run(qrels, run)) for run in runs] == [3 / 4, 3 / 4]


def relabelled():
    """24 lists of 5 items, with ties; and each of them with its items renamed in all 120 ways."""
    rng, names, qrels, run = np.random.default_rng(0), "ABCDE", {}, {}
    grades, scores = rng.integers(0, 4, (24, 5)), rng.integers(0, 3, (24, 5)) * 1.0
    for i, order in enumerate(itertools.product(range(24), itertools.permutations(names))):
        qrels[str(i)] = dict(zip(order[1], grades[order[0]].tolist(), strict=True))
        run[str(i)] = dict(zip(order[1], scores[order[0]].tolist(), strict=True))
    return from_scores(grades, scores), qrels, run


def assert_policies(text, lists, numbers, within, where=slice(None)):
    """Mean, best and worst of a tool over all names are what we call expected, optimistic and pessimistic."""
    metric, of_list = LISTS.parse(text), np.array([numbers[str(i)] for i in range(24 * 120)]).reshape(24, 120)
    wanted = {"optimistic": of_list.max(1), "pessimistic": of_list.min(1), "expected": of_list.mean(1)}
    for ties in set(wanted) & set(metric.tie_policies):
        assert np.abs(metric.per_query(lists, ties) - wanted[ties])[where].max() < within, (text, ties)


def test_our_policies_are_mean_and_extremes_of_pytrec_eval():
    lists, qrels, run = relabelled()
    for measure, numbers in trec(qrels, run, TREC).items():
        where = (lists.n_relevant != 3) | (measure not in ROUNDED)
        assert_policies(TREC[measure], lists, numbers, 1e-12, where)


def test_our_policies_are_mean_and_extremes_of_gdeval():
    """ERR and exponential nDCG, to the 5 decimals that it prints."""
    if not peer("ir_measures").gdeval.is_available():
        pytest.skip("gdeval is a Perl script; needs perl")
    lists, qrels, run = relabelled()
    for measure, text in {
        "ERR@2": "err(g_max=4)@2",
        "ERR@10": "err(g_max=4)@10",
        "nDCG(dcg='exp-log2')@3": "ndcg(gain=exponential,empty=zero)@3",
    }.items():
        assert_policies(text, lists, per_query(qrels, run, [measure], "gdeval")[measure], 5.001e-6)


# --- which queries and items count ----------------------------------------------------------------------------------


def test_queries_that_the_run_lacks(ranx):
    """Two judged queries, RR 1 for the one answered: pytrec_eval means 1 (queries="returned"), the others 1/2."""
    qrels, run = {"1": {"A": 1}, "2": {"A": 1}}, {"1": {"A": 0.5}, "3": {"A": 0.5}}
    assert trec_value(qrels, run, "recip_rank") == [1]
    assert value("rr", from_run(qrels, run, queries="returned")) == 1
    assert ir_value(qrels, run, "RR") == 1 / 2
    assert ranx_value(ranx, qrels, run, "mrr", make_comparable=True) == 1 / 2
    assert value("rr", from_run(qrels, run)) == 1 / 2


@pytest.mark.parametrize(
    ("text", "trecs", "irs", "ranxs"),
    [
        ("map", "map", "AP", "map"),
        ("ndcg", "ndcg", "nDCG", "ndcg"),
        ("recall", "set_recall", "SetR", "recall"),
        ("rprec", "Rprec", "Rprec", "r-precision"),
        ("iprec", "iprec_at_recall_0.00", "IPrec@0.0", None),
    ],
)
def test_queries_without_relevant_items(ranx, text, trecs, irs, ranxs):
    """The second query has no relevant item: 0 for the tools, mean 1/2 (empty=zero); left out and counted by us."""
    qrels, run = {"1": {"A": 1}, "2": {"A": 0}}, {"1": {"A": 0.5}, "2": {"A": 0.5}}
    lists = from_run(qrels, run)
    assert np.mean(trec_value(qrels, run, trecs)) == ir_value(qrels, run, irs) == 1 / 2
    assert ranxs is None or ranx_value(ranx, qrels, run, ranxs) == 1 / 2
    assert value(f"{text}(empty=zero)", lists) == 1 / 2
    ours = LISTS.parse(text).compute(lists)
    assert (ours.value, ours.excluded) == (1, 1)


def test_scikit_learn_without_relevant_items():
    """AP 0, nDCG 0, label-ranking AP 1, AUC none (NaN; once an error); ours are left out, or 0 if asked."""
    sklearn, lists = peer("sklearn.metrics"), from_scores([[0, 0]], [[1, 2]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert sklearn.average_precision_score([0, 0], [1, 2]) == 0
        try:
            auc = sklearn.roc_auc_score([0, 0], [1, 2])
        except ValueError:
            auc = math.nan
    assert math.isnan(auc)
    assert sklearn.ndcg_score([[0, 0]], [[1, 2]]) == 0
    assert sklearn.label_ranking_average_precision_score([[0, 0]], [[1, 2]]) == 1
    for name in ("map", "ndcg", "auc"):
        ours = LISTS.parse(name).compute(lists)
        assert math.isnan(ours.value)
        assert ours.excluded == 1
        assert value(f"{name}(empty=zero)", lists) == 0


def test_scikit_learn_refuses_a_single_item():
    """ndcg_score wants at least two items; a list of one relevant item has nDCG 1."""
    with pytest.raises(ValueError, match="more than 1 document|formats are supported"):
        peer("sklearn.metrics").ndcg_score([[3]], [[0.5]])
    assert value("ndcg", from_scores([[3]], [[0.5]])) == 1


def test_precision_of_an_empty_list():
    """Without a cut-off, 0 of 0 items: ir_measures counts 0, mean 1/2; `p` leaves the query out, and counts it."""
    peer("pytrec_eval")
    qrels, run = {"1": {"A": 1}, "2": {"A": 1}}, {"1": {"A": 0.5}}
    assert ir_value(qrels, run, "SetP") == 1 / 2
    ours = LISTS.parse("p").compute(from_run(qrels, run))
    assert (ours.value, ours.excluded) == (1, 1)


def test_pytrec_eval_drops_negative_grades_with_unjudged_items():
    """judged_docs_only_flag drops an item of grade -1, so A is first; missing="drop" keeps it as irrelevant."""
    qrels, run = {"1": {"A": 1, "B": -1}}, {"1": {"B": 2.0, "C": 1.5, "A": 1.0}}
    assert trec_value(qrels, run, "recip_rank") == [1 / 3]
    assert trec_value(qrels, run, "recip_rank", judged_docs_only_flag=True) == [1]
    assert value("rr", from_run(qrels, run)) == 1 / 3
    assert value("rr", from_run(qrels, run, missing="drop")) == 1 / 2
    del qrels["1"]["B"]
    assert value("rr", from_run(qrels, run, missing="drop")) == 1


def test_pytrec_eval_has_no_interpolated_precision_of_nothing():
    """When judged_docs_only_flag leaves no item, 0 / 0 is NaN, and so is the mean; iprec is 0."""
    qrels, run = {"1": {"A": 1}}, {"1": {"B": 1.0}}
    (found,) = trec_value(qrels, run, "iprec_at_recall_0.00", judged_docs_only_flag=True)
    assert math.isnan(found)
    assert value("iprec", from_run(qrels, run, missing="drop"), "stable") == 0


def test_ir_measures_accuracy_forgets_what_the_run_lacks():
    """A before C, B not returned: Accuracy 1. The AUC puts B last: (1 + 0) / 2; without B it would be 1.

    A query without a returned relevant item has no Accuracy and leaves the mean; its AUC is 0.
    """
    qrels, run = {"1": {"A": 1, "B": 1}}, {"1": {"A": 2.0, "C": 1.0}}
    assert ir_value(qrels, run, "Accuracy") == 1
    assert value("auc", from_run(qrels, run)) == 1 / 2
    qrels["2"], run["2"] = {"A": 1}, {"C": 2.0}
    assert ir_value(qrels, run, "Accuracy") == 1
    assert value("auc", from_run(qrels, run)) == 1 / 4


# --- formulas -------------------------------------------------------------------------------------------------------


def test_trec_eval_weighs_f_by_beta_and_not_its_square():
    """P 1/3, R 2/3. F2 = 5 PR / (4 P + R) = 5/9; trec_eval's set_F with 2 is 3 PR / (2 P + R) = 1/2, F of sqrt(2)."""
    qrels, run = ranking([1, 0, 0, 0, 0, 1])
    qrels["1"]["absent"] = 1
    lists = from_run(qrels, run)
    answer = peer("pytrec_eval").RelevanceEvaluator(qrels, {"set_F_2.0"}).evaluate(run)
    assert (answer["1"]["set_F"], ir_value(qrels, run, "SetF(beta=2.0)")) == near((1 / 2, 1 / 2))
    assert value("fbeta(beta=2)", lists) == near(5 / 9)
    assert value(f"fbeta(beta={math.sqrt(2)!r})", lists) == near(1 / 2)


@pytest.mark.parametrize(
    ("labels", "recall", "theirs", "ours"),
    [
        # 0.7 * 3 = 2.1 asks for 3 hits, at place 4: 3/4. In floating point 2.0999... + 0.9 is below 3: 2 hits, 2/2
        ([1, 1, 0, 1], "0.70", 1, 3 / 4),
        # 0.35 * 3 = 1.05 asks for 2 hits: the best of 2/4 and 3/5. 1.05 + 0.9 = 1.95 is cut to 1 hit, 1/1
        ([1, 0, 0, 1, 1], "0.35", 1, 3 / 5),
    ],
)
def test_trec_eval_cuts_the_hits_that_a_recall_needs(ranx, labels, recall, theirs, ours):
    """It needs int(recall R + 0.9) hits, we recall R rounded up; so it forgives a fraction below 0.1. ranx too."""
    qrels, run = ranking(labels)
    assert trec_value(qrels, run, f"iprec_at_recall_{recall}") == [theirs]
    assert ir_value(qrels, run, f"IPrec@{float(recall)}") == theirs
    assert value(f"iprec(recall={recall})", from_run(qrels, run), "stable") == near(ours)
    if recall == "0.70":
        points = ranx.metrics.interpolated_precision_at_recall(
            *(kind.to_typed_list() for kind in ranx_pair(ranx, labels))
        )
        assert points[0, 7] == theirs


def ranx_pair(ranx, labels):
    qrels, run = ranking(labels)
    return ranx.Qrels(qrels), ranx.Run(run)


def test_eleven_points_differ_with_them():
    """Labels 1, 1, 0, 1: at recalls 0 to 0.6 precision 1, at 0.8 to 1 3/4; at 0.7 1 for trec_eval, 3/4 for us."""
    qrels, run = ranking([1, 1, 0, 1])
    assert trec_value(qrels, run, "11pt_avg") == near([(8 + 3 * 0.75) / 11])
    assert value("iap", from_run(qrels, run), "stable") == near((7 + 4 * 0.75) / 11)


def test_gdeval_takes_4_for_the_highest_grade():
    """One item of grade 1: it stops the reader with (2 - 1) / 2^g_max, 1/16 in gdeval, 1/2 for g_max 1."""
    if not peer("ir_measures").gdeval.is_available():
        pytest.skip("gdeval is a Perl script; needs perl")
    qrels, run = ranking([1])
    lists = from_run(qrels, run)
    assert ir_value(qrels, run, "ERR@10", "gdeval") == 0.0625
    assert (value("err(g_max=4)@10", lists), value("err@10", lists)) == (1 / 16, 1 / 2)
    with pytest.raises(MetricError, match=r"grade 2 of query '1' is above g_max; use err\(g_max=2\)"):
        value("err@10", from_run(*ranking([2])))


def test_ir_measures_carries_gains_over_to_ndcg():
    """Grades 1, 2: nDCG (1 + 2 d) / (2 + d), d = 1 / log2(3); with gains 3 and 9 it is (3 + 9 d) / (9 + 3 d).

    Asked in one call after nDCG(gains=...), plain nDCG takes those gains as well, and the package's own order of a
    call's measures changes from process to process. One measure at a time is right.
    """
    peer("pytrec_eval")
    ir_measures, (qrels, run), d = peer("ir_measures"), ranking([1, 2]), 1 / math.log2(3)
    plain, mapped = (ir_measures.parse_measure(name) for name in ("nDCG", "nDCG(gains={1:3,2:9})"))
    for asked, wanted in (([plain, mapped], (1 + 2 * d) / (2 + d)), ([mapped, plain], (3 + 9 * d) / (9 + 3 * d))):
        assert ir_measures.pytrec_eval.calc_aggregate(asked, qrels, run)[plain] == near(wanted)
    lists = from_run(qrels, run)
    assert value("ndcg", lists) == near((1 + 2 * d) / (2 + d))
    assert value("ndcg(gain=1:3;2:9)", lists) == near((3 + 9 * d) / (9 + 3 * d))


def test_cut_offs_on_which_all_agree(ranx):
    """R 3, k 5, list 1, 0: P@5 1/5, as short=pad; short=cut would give 1/2. AP@1 1/3; over min(R, k) it would be 1."""
    qrels, run = ranking([1, 0])
    qrels["1"] |= {"absent": 1, "absent too": 1}
    lists = from_run(qrels, run)
    for of_trec, of_ir, of_ranx, text, wanted in (
        ("P_5", "P@5", "precision@5", "p@5", 1 / 5),
        ("map_cut_1", "AP@1", "map@1", "map@1", 1 / 3),
    ):
        assert trec_value(qrels, run, of_trec) == [wanted]
        assert ir_value(qrels, run, of_ir) == ranx_value(ranx, qrels, run, of_ranx) == value(text, lists) == wanted
    assert value("p(short=cut)@5", lists) == 1 / 2


def test_relevance_level_and_dcg(ranx):
    """Grades 1, 2 in this order, level 2. ranx: grade 1 is worth 0, DCG 2 / log2(3); pytrec_eval: nDCG has no level.

    nDCG with both worths: (1 + 2 / log2(3)) / (2 + 1 / log2(3)); the level does not touch `dcg` and `ndcg` either.
    """
    qrels, run = ranking([1, 2])
    lists, plain = from_run(qrels, run, relevance_level=2), (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    assert ranx_value(ranx, qrels, run, "dcg-l2") == near(2 / math.log2(3))
    assert value("dcg(gain=1:0)", lists) == near(2 / math.log2(3))
    assert value("dcg", lists) == near(1 + 2 / math.log2(3))
    assert trec_value(qrels, run, "ndcg", relevance_level=2) == near([plain])
    assert value("ndcg", lists) == near(plain)


def test_ranx_cuts_grades_to_integers(ranx):
    """Grade 1.9 alone: DCG 1.9 here and in scikit-learn, 1 in ranx."""
    qrels, run = {"1": {"A": 1.9}}, {"1": {"A": 2.0, "B": 1.0}}
    assert ranx_value(ranx, qrels, run, "dcg") == 1
    assert peer("sklearn.metrics").dcg_score([[1.9, 0]], [[2, 1]]) == value("dcg", from_run(qrels, run)) == 1.9


def test_ranx_pairs_plain_dicts_by_position(ranx):
    """Both queries find A first. Dicts in another order pair query 1 with the run of 2, without a word: MRR 0."""
    qrels, run = {"1": {"A": 1}, "2": {"B": 1}}, {"2": {"B": 1.0}, "1": {"A": 1.0}}
    assert ranx_value(ranx, qrels, run, "mrr", as_dicts=True) == 0
    assert ranx_value(ranx, qrels, run, "mrr") == 1
    assert value("rr", from_run(qrels, run)) == 1


def test_ranx_keeps_53_bits_of_an_items_hash(ranx):
    """Items are known by their hash as float64: 2^53 and 2^53 + 1 are one, so an item never judged is a hit."""
    qrels, run = {"1": {2**53: 1}}, {"1": {2**53 + 1: 1.0}}
    assert ranx_value(ranx, qrels, run, "mrr", as_dicts=True) == 1
    assert value("rr", from_run(qrels, run)) == 0
