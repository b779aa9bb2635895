"""Metrics of ranked lists: what must not change them, and what they become in special cases."""

import functools
import math
import random
import re
from dataclasses import replace

import numpy as np
import oracle_lists as oracle
import pytest
from grids import light, size
from list_metric_cases import AVERAGES, each_metric, one, per_query
from random_lists import SCORES, close, made_as_run, made_of_scores, random_tables, same

from kgeval.errors import MetricError
from kgeval.metrics.ranks import MRR, Hits
from kgeval.metrics.retrieval.base import LISTS, ListMetric
from kgeval.metrics.retrieval.inputs import from_ranking, from_run, from_scores
from kgeval.metrics.retrieval.lists import LIST_TIES

TABLES = random_tables(11, 18, size(5, 20), size(2, 10))
GIVEN_UP = "{} has no exact expectation over random tie breaking; use ties='optimistic' or 'pessimistic'"


def remade(table, change):
    """The table with every query changed, by the way that keeps the unlisted items."""
    make = made_as_run if any(query.unlisted for query in table.queries) else made_of_scores
    return make([change(query) for query in table.queries], table.level)


def shuffled_items(query):
    """The same items, as they might have come."""
    order = random.Random(len(query.grades)).sample(range(len(query.grades)), len(query.grades))
    return query._replace(**{f: tuple(getattr(query, f)[i] for i in order) for f in ("scores", "grades")})


@functools.cache
def variants(name):
    """Pairs of tables that must agree: items shuffled, or scores put through an increasing function."""
    if name == "items":
        return [(table, remade(table, shuffled_items)) for table in TABLES]
    low = sorted({score for palette in SCORES.values() for score in palette})
    new = {
        "tiny": [math.ldexp(1.0, i - 1074) for i in range(len(low))],
        "negative": [-1.0 / (i + 1) for i in range(len(low))],
        "bytes": [np.uint8(100 + i) for i in range(len(low))],
        "singles": [np.float32(1 + i * 2.0**-23) for i in range(len(low))],
    }[name]
    by_score = dict(zip(low, new, strict=True))
    return [(t, remade(t, lambda q: q._replace(scores=tuple(by_score[s] for s in q.scores)))) for t in TABLES[1::3]]


@each_metric
@pytest.mark.parametrize("name", light(["tiny", "negative", "bytes", "singles"], 1))
@pytest.mark.light(3)
def test_scores_only_order(metric, name):
    """Any strictly increasing function of the scores, in any dtype, leaves every value as it was, bit for bit."""
    for before, after in variants(name):
        for ties in LIST_TIES:
            assert same(metric.per_query(after.lists, ties), metric.per_query(before.lists, ties), 0)


@each_metric
@pytest.mark.light(2)
def test_order_of_tied_items_matters_to_stable_only(metric):
    """Items in another order: the same expectation, best and worst value."""
    for before, after in variants("items"):
        for ties in ("expected", "optimistic", "pessimistic"):
            assert same(metric.per_query(after.lists, ties), metric.per_query(before.lists, ties))


@each_metric
@pytest.mark.light(2)
def test_order_of_queries_does_not_matter(metric):
    """Values move with their query; averages stay, and so does what they leave out."""
    for table in TABLES[::3]:
        order = random.Random(4).sample(range(len(table.queries)), len(table.queries))
        make = made_as_run if any(query.unlisted for query in table.queries) else made_of_scores
        other = make([table.queries[i] for i in order], table.level).lists
        for ties in LIST_TIES:
            assert same(metric.per_query(other, ties), metric.per_query(table.lists, ties)[order], 0)
            for how in AVERAGES:
                found, wanted = metric.compute(other, ties, how), metric.compute(table.lists, ties, how)
                assert same(found.value, wanted.value)
                assert (found.reason, found.excluded) == (wanted.reason, wanted.excluded)


@each_metric
@pytest.mark.light(2)
def test_constant_scorer_is_at_chance(metric):
    """All items of a list tied: expected ties give the chance level, which knows nothing of the scores."""
    for table in TABLES[::2]:
        constant = remade(table, lambda query: query._replace(scores=(0.0,) * len(query.scores))).lists
        for how in AVERAGES:
            level, found = metric.chance(table.lists, how), metric.compute(constant, "expected", how)
            if "expected" not in metric.tie_policies:
                assert level.reason == f"{metric} has no closed form of its chance level"
                continue
            assert same(level.value, found.value)
            assert (level.reason, level.excluded) == (found.reason, found.excluded)


@functools.cache
def short_lists():
    """Lists of at most five items, and every order of all items of each."""
    tables = []
    for table in random_tables(12, 18, 3):
        queries = [query._replace(scores=query.scores[:5], grades=query.grades[:5]) for query in table.queries]
        tables.append((made_as_run(queries, table.level), [oracle.orders([query.grades]) for query in queries]))
    return tables


@each_metric
@pytest.mark.light(2)
def test_chance_is_the_mean_over_all_orders(metric):
    """Every order of all items of a list equally likely, by the oracle."""
    defined = 0
    for (lists, queries, level), possible in short_lists():
        pairs = zip(queries, possible, strict=True)
        ratios = [oracle.mean_ratio(str(metric), ways, query.unlisted, level or 0) for query, ways in pairs]
        for how in AVERAGES:
            found, (wanted, excluded) = metric.chance(lists, how), oracle.average(str(metric), ratios, how)
            if "expected" not in metric.tie_policies:
                assert found.reason == f"{metric} has no closed form of its chance level"
                continue
            assert found.excluded == excluded
            assert math.isnan(found.value) if wanted is None else close(found.value, wanted)
            defined += wanted is not None
    assert bool(defined) == ("expected" in metric.tie_policies)


@each_metric
def test_expectation_that_does_not_exist_or_does_not_matter(metric):
    """Tied items of different grades: NaN and the reason for interpolated precision; of one grade: all agree."""
    mixed, alike = from_scores([[2, 0, 2], [2, 0, 0]], [[3, 2, 1], [1, 1, 0]]), from_scores([2, 2, 0, 0], [1, 1, 0, 0])
    is_given_up = metric.name in ("iprec", "iap")
    assert metric.tie_policies == (LIST_TIES[1:] if is_given_up else LIST_TIES)
    for how in AVERAGES:
        found = metric.compute(mixed, "expected", how)
        assert (math.isnan(found.value), found.reason) == (is_given_up, GIVEN_UP.format(metric) if is_given_up else "")
        values = {metric.compute(alike, ties, how).value for ties in LIST_TIES}
        assert len({round(value, 12) for value in values}) == 1
        assert not math.isnan(values.pop())
    assert np.isnan(metric.per_query(mixed)).tolist() == [is_given_up] * 2
    assert metric.chance(mixed).reason == (f"{metric} has no closed form of its chance level" if is_given_up else "")


@each_metric
def test_ties_and_averages_have_names(metric):
    """Unknown words raise with all known ones; realistic is NaN with its reason; unknown orders are not invented."""
    lists = from_scores([1, 0], [1, 1])
    listed = "'expected', 'optimistic', 'pessimistic', 'stable'"
    for call in (metric.compute, metric.per_query):
        with pytest.raises(MetricError, match=re.escape(f"ties must be one of {listed}; got 'best'") + "$"):
            call(lists, "best")
        with pytest.raises(MetricError) as caught:
            call(replace(lists, place=None), "stable")
        said = "lists made from counts do not record the order of tied items; choose ties other than 'stable'"
        assert str(caught.value) == said
    with pytest.raises(MetricError, match=re.escape("average must be one of 'macro', 'micro'; got 'mean'") + "$"):
        metric.compute(lists, "expected", "mean")
    found = metric.compute(lists, "realistic")
    said = f"{metric} does not support ties='realistic': several answers have no single rank; use ties='expected'"
    assert (math.isnan(found.value), found.reason) == (True, said)
    assert np.isnan(metric.per_query(lists, "realistic")).tolist() == [True]


def test_an_unknown_order_does_not_matter_without_ties():
    """RankedLists made from counts are in stable order as they are, where all tied items have one grade."""
    lists = from_scores([[0, 1, 1], [0, 0, 1]], [[2, 1, 1], [3, 2, 1]])
    assert per_query("rr", replace(lists, place=None), "stable").tolist() == [1 / 2, 1 / 3]


def test_a_metric_without_formula_says_so():
    """The base class has no ratio."""
    with pytest.raises(TypeError, match=r"ListMetric does not define ratio\(lists\)"):
        ListMetric().ratio(from_ranking([1]))


def single_answers(seed, n=60):
    """Lists with one relevant item each, and how many items stand before its tie group and in it."""
    rng, rows = random.Random(seed), []
    for _ in range(n):
        size = rng.randint(1, 8)
        scores, grades = rng.choices(range(rng.randint(1, 6)), k=size), [0] * size
        at = rng.randrange(size)
        grades[at] = 1
        better, tied = sum(s > scores[at] for s in scores), scores.count(scores[at]) - 1
        rows.append((grades, scores, better, tied, size - 1))
    grades, scores, *counts = zip(*rows, strict=True)
    return from_scores(list(grades), list(scores)), [np.array(column) for column in counts]


@pytest.mark.parametrize("ties", LIST_TIES[:3])
@pytest.mark.parametrize("seed", light(range(10), 2))
@pytest.mark.light(2)
def test_identities_of_one_relevant_item(seed, ties):
    """AP = RR, R-precision = success@1, P@k = hits@k / k, F1@k = 2 hits@k / (k + 1), ERR = RR / 2, ...

    Per query and under ties, the per-triple metrics MRR and hits@k (another formula) being the measure.
    """
    lists, (better, tied, rivals) = single_answers(seed)
    rr, hits = [], {k: [] for k in (1, 2, 3, 5)}
    for counts in zip(better, tied, rivals, strict=True):
        row = [np.array([count]) for count in counts]
        rr.append(MRR().compute(*row, ties).value)
        for k, found in hits.items():
            found.append(Hits(k).compute(*row, ties).value)
    rr, hits = np.array(rr), {k: np.array(found) for k, found in hits.items()}
    assert same(per_query("rr", lists, ties), rr)
    assert same(per_query("map", lists, ties), rr)
    assert same(per_query("rprec", lists, ties), hits[1])
    assert same(per_query("err", lists, ties), rr / 2)
    for k, found in hits.items():
        assert same(per_query(f"success@{k}", lists, ties), found)
        assert same(per_query(f"recall@{k}", lists, ties), found)
        assert same(per_query(f"precision@{k}", lists, ties), found / k)
        assert same(per_query(f"f1@{k}", lists, ties), 2 * found / (k + 1))
        assert same(per_query(f"rr@{k}", lists, ties), per_query(f"map@{k}", lists, ties))
        assert same(per_query(f"err@{k}", lists, ties), per_query(f"rr@{k}", lists, ties) / 2)
    assert one_macro("rr", lists, ties) == pytest.approx(MRR().compute(better, tied, rivals, ties).value, rel=1e-12)
    spread = {"optimistic": lambda b, t: [b + 1], "pessimistic": lambda b, t: [b + t + 1]}.get(ties)
    ranks = [(spread or (lambda b, t: range(b + 1, b + t + 2)))(b, t) for b, t in zip(better, tied, strict=True)]
    discounted = [math.fsum(1 / math.log2(1 + rank) for rank in row) / len(row) for row in ranks]
    assert same(per_query("ndcg", lists, ties), discounted)
    assert same(per_query("dcg(gain=exponential)", lists, ties), discounted)
    aucs = [1 - (math.fsum(row) / len(row) - 1) / n if n else math.nan for row, n in zip(ranks, rivals, strict=True)]
    assert same(per_query("auc", lists, ties), aucs)
    assert np.isnan(aucs).any()
    if ties != "expected":
        assert same(per_query("iap", lists, ties), rr)
        assert same(per_query("iap(points=all)", lists, ties), rr)
        assert same(per_query("iprec(recall=0.7)", lists, ties), rr)


def one_macro(text, lists, ties):
    """The macro average."""
    return LISTS.parse(text).compute(lists, ties).value


@pytest.mark.parametrize("text", ["map", "recall@2", "rprec", "ndcg", "auc", "precision@2", "f1@2"])
def test_macro_and_micro_agree_when_queries_have_one_denominator(text):
    """Lists of five items, two of them relevant: every query counts the same either way."""
    rng = random.Random(6)
    grades = [rng.sample([1, 1, 0, 0, 0], 5) for _ in range(40)]
    lists = from_scores(grades, [rng.choices(range(4), k=5) for _ in grades])
    macro, micro = (LISTS.parse(text).compute(lists, "expected", how).value for how in AVERAGES)
    assert macro == pytest.approx(micro, rel=1e-12)
    assert 0 < macro < 1


def test_scores_are_compared_exactly():
    """2^53 and 2^53 + 1 differ as integers; infinities are numbers; -0.0 equals 0.0; float32 neighbours differ.

    The relevant item has the higher score of two: RR 1; where they tie 3/4; where it is lower 1/2.
    """
    assert one("rr", from_scores([0, 1], [2**53, 2**53 + 1])) == 1.0
    assert one("rr", from_scores([0, 1], np.array([2**63 - 2, 2**63 - 1]))) == 1.0
    assert one("rr", from_scores([0, 1], np.array([2**64 - 2, 2**64 - 1], dtype=np.uint64))) == 1.0
    assert one("rr", from_scores([0, 1], np.array([-(2**63), -(2**63) + 1]))) == 1.0
    assert one("rr", from_run({"q": {"b": 1}}, {"q": {"a": 2**53, "b": 2**53 + 1}})) == 1.0
    assert one("rr", from_scores([0, 1], [2.0**53, 2.0**53])) == 0.75
    assert one("rr", from_scores([0, 1], [math.inf, math.inf])) == 0.75
    assert one("rr", from_scores([0, 1], [-math.inf, -math.inf])) == 0.75
    assert one("rr", from_scores([0, 1], [1e308, math.inf])) == 1.0
    assert one("rr", from_scores([0, 1], [-1e308, -math.inf])) == 0.5
    assert one("rr", from_scores([0, 1], [-0.0, 0.0])) == one("rr", from_scores([0, 1], [0.0, -0.0])) == 0.75
    assert one("rr", from_scores([0, 1], np.array([1, 1 + 2**-23], dtype=np.float32))) == 1.0
    assert one("rr", from_scores([0, 1], [0.0, 5e-324])) == 1.0
