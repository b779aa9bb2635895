"""The clusters of intervals: triples, queries, entities and arrays, against loops that leave observations out.

A metric is computed anew from the ranks, or from the values of the queries, that remain. No influence, no sum within a
cluster and no number of kgeval.stats is used but the quantiles of Student's t.
"""

import functools
import itertools
import math
import warnings
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pytest
from grids import light, size, thinned

import kgeval as kg
from kgeval.metrics.ranks import RANKS
from kgeval.metrics.retrieval.base import LISTS
from kgeval.results.clustering import CLUSTERS, PURPOSES, RowClusters
from kgeval.stats.tails import student_quantile

NAMES = ("triple", "query", "entity")
RANK_METRICS = {
    "mrr": (lambda ranks: sum(1 / rank for rank in ranks) / len(ranks)),
    "mr": (lambda ranks: sum(ranks) / len(ranks)),
    "gmr": (lambda ranks: math.exp(sum(map(math.log, ranks)) / len(ranks))),
    "hits@2": (lambda ranks: sum(rank <= 2 for rank in ranks) / len(ranks)),
}


@functools.cache  # results are read-only
def random_result(seed, sides="both", n_entities=8, n_test=15, n_relations=2, repeats=1):
    """A result on a small random graph, in which most queries have several answers; one triple `repeats` times."""
    rng = np.random.default_rng(seed)
    triples = np.unique(rng.integers(0, [n_entities, n_relations, n_entities], (3 * n_test, 3)), axis=0)
    triples = rng.permutation(triples)[:n_test]
    test = np.concatenate([triples, *[triples[:1]] * (repeats - 1)])
    dataset = kg.Dataset.from_arrays(test=test, n_entities=n_entities, n_relations=n_relations)
    scores = rng.permutation(n_entities**2 * n_relations).reshape(n_entities, n_relations, n_entities)
    return kg.evaluate(lambda s, p, o: scores[s, p, o], dataset, kg.Protocol(sides=sides), progress=False)


def rows_of(result):
    """Each row of the table: triple, query (side, relation, given entity), subject, object, filtered rank."""
    found = []
    for row in result.table.to_dict("records"):
        s, p, o, side = row["s"], row["p"], row["o"], str(row["side"])
        query = (side, p, o if side == "subject" else s)
        rank = row["better_filtered"] + 1 + row["tied_filtered"] / 2
        found.append({"triple": (s, p, o), "query": query, "s": s, "o": o, "rank": rank, "side": side})
    return found


def groups_of(labels, observations):
    """The sets of observations that share a label."""
    found = defaultdict(set)
    for label, observation in zip(labels, observations, strict=True):
        found[label].add(observation)
    return list(found.values())


def jackknife(values, groups, number):
    """(G - 1) / G sum of the squared changes of `number` if the observations of a group are left out.

    `values` is a dict from observation to value.
    """
    whole, total = number(list(values.values())), 0.0
    for group in groups:
        total += (number([value for key, value in values.items() if key not in group]) - whole) ** 2
    return total * (len(groups) - 1) / len(groups)


def two_way(values, first, second, observations, number):
    """V_first + V_second - V_both (Cameron, Gelbach and Miller 2011), and each of the three."""
    labels = first, second, list(zip(first, second, strict=True))
    parts = [jackknife(values, groups_of(one, observations), number) for one in labels]
    return parts[0] + parts[1] - parts[2], parts


def mean_of(values):
    return sum(values) / len(values)


def per_query(result, metric):
    """(side, relation, given entity) -> value, by ids."""
    found = result.per_query(metric)[metric]
    ids = {label: i for i, label in enumerate(result.entities.labels)}
    relations = {label: i for i, label in enumerate(result.relations.labels)}
    return {(str(side), relations[str(p)], ids[str(given)]): value for (side, p, given), value in found.items()}


# --- ranks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", light(range(20), 3))
@pytest.mark.parametrize("cluster", ["triple", "query"])
def test_error_by_a_loop(seed, cluster):
    """Each metric anew without each triple, or without each query."""
    result = random_result(seed, repeats=2)
    rows = rows_of(result)
    labels = [row[cluster] for row in rows]
    values = {i: row["rank"] for i, row in enumerate(rows)}
    sizes = Counter(labels).values()
    n_effective = sum(sizes) ** 2 / sum(n * n for n in sizes)
    for key, number in RANK_METRICS.items():
        found = result.interval(key, cluster=cluster)
        variance = jackknife(values, groups_of(labels, range(len(rows))), number)
        assert (found.value, found.error) == pytest.approx(
            (number(list(values.values())), math.sqrt(variance)), rel=1e-9
        )
        assert (found.n_clusters, found.n_effective) == (len(sizes), pytest.approx(n_effective))
        if key == "gmr":
            t = student_quantile(0.975, math.floor(n_effective - 1 + 1e-9))
            assert found.high == pytest.approx(found.value + t * found.error, rel=1e-9)


@pytest.mark.parametrize("seed", light(range(30), 4))
@pytest.mark.parametrize("side", ["", "object."])
def test_error_by_entity_by_a_loop(seed, side):
    """Two-way clusters, by subject and by object: V_s + V_o - V_so, at least V_s and V_o."""
    result = random_result(seed)
    rows = [row for row in rows_of(result) if not side or row["side"] == "object"]
    values = {i: row["rank"] for i, row in enumerate(rows)}
    first, second = ([row[name] for row in rows] for name in "so")
    for key, number in RANK_METRICS.items():
        total, parts = two_way(values, first, second, range(len(rows)), number)
        found = result.interval(side + key, cluster="entity")
        assert found.error**2 == pytest.approx(max(total, *parts[:2]), rel=1e-9)
        numbers = [sum(n) ** 2 / sum(m * m for m in n) for n in (Counter(x).values() for x in (first, second))]
        assert found.n_effective == pytest.approx(min(numbers))
        assert found.n_clusters == min(len(set(first)), len(set(second)))


def test_error_by_entity_is_a_sum_over_pairs_that_share_one():
    """Each subject with each object, on the object side: clusters of equal size, so with S_s = sum of the deviations,

    V_s + V_o - V_so = c_s sum over pairs with one subject + c_o sum over pairs with one object - c_so sum of squares,
    where c = G / (G - 1) / n^2, and a pair is any two ranks, in both orders, or a rank with itself.
    """
    triples = [[s, 0, 3 + o] for s in range(3) for o in range(4)]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=20, n_relations=1)
    rng = np.random.default_rng(4)
    scores = rng.random((20, 1, 20)) + rng.random((20, 1, 1)) + 3 * rng.random(20)
    result = kg.evaluate(lambda s, p, o: scores[s, p, o], dataset, kg.Protocol(sides="object"), progress=False)
    rows = rows_of(result)
    deviations = [row["rank"] - mean_of([r["rank"] for r in rows]) for row in rows]
    sums = Counter()
    for (one, d), (other, e) in itertools.product(list(zip(rows, deviations, strict=True)), repeat=2):
        sums["s"] += d * e * (one["s"] == other["s"])
        sums["o"] += d * e * (one["o"] == other["o"])
        sums["so"] += d * e * (one["triple"] == other["triple"])
    n = len(rows)
    parts = {name: sums[name] * g / (g - 1) / n**2 for name, g in (("s", 3), ("o", 4), ("so", 12))}
    found = result.interval("mr", cluster="entity")
    variance = max(parts["s"] + parts["o"] - parts["so"], parts["s"], parts["o"])
    assert found.error**2 == pytest.approx(variance, rel=1e-12)
    assert found.error > 1.2 * result.interval("mr").error


def test_entities_of_pairs_that_nest_are_clusters_of_one_kind():
    """Each subject has one object: ranks that share the subject share the object, so the clusters are the objects."""
    triples = [[i, 0, 10 + i % 3] for i in range(10)]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=14, n_relations=1)
    scores = np.random.default_rng(0).random((14, 1, 14))
    result = kg.evaluate(lambda s, p, o: scores[s, p, o], dataset, progress=False)
    by_entity, by_object = (result.interval("mr", cluster=c) for c in ("entity", result.table["o"].to_numpy()))
    assert by_entity == by_object
    assert (by_entity.n_clusters, by_entity.reason) == (3, "")


# --- query-level metrics -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", light(range(40), 5))
def test_queries_that_share_a_triple_depend_on_each_other(seed):
    """Loops over queries, and over pairs of queries that share a triple, for the mean of the queries' values d.

    With Q queries, T triples, R pairs of a query and one of its triples, and d_q the deviation of query q: without a
    query the mean changes by -d_q / (Q - 1), without the two queries of a triple by -(d_q + d_q') / (Q - 2). Hence

        V_query = sum d_q^2 / (Q (Q - 1))
        V_triple = (T - 1) / (T (Q - 2)^2) (sum r_q d_q^2 + 2 sum over pairs d_q d_q')
        V_both = (R - 1) / (R (Q - 1)^2) sum r_q d_q^2

    where query q has r_q triples. But for the factors, V_query + V_triple - V_both is sum d_q^2 + 2 sum d_q d_q'. It is
    at least V_query.
    """
    result = random_result(seed)
    rows = rows_of(result)
    for metric in ("map", "success@2"):
        values = per_query(result, metric)
        n, n_triples, n_pairs = len(values), len({row["triple"] for row in rows}), len(rows)
        deviations = {query: value - mean_of(list(values.values())) for query, value in values.items()}
        queries_of = groups_of([row["triple"] for row in rows], [row["query"] for row in rows])
        n_answers = Counter(row["query"] for row in rows)
        squares = sum(d * d for d in deviations.values())
        weighted = sum(n_answers[query] * d * d for query, d in deviations.items())
        products = sum(deviations[one] * deviations[other] for one, other in map(tuple, queries_of))
        of_query = squares / (n * (n - 1))
        of_triple = (n_triples - 1) / (n_triples * (n - 2) ** 2) * (weighted + 2 * products)
        of_both = (n_pairs - 1) / (n_pairs * (n - 1) ** 2) * weighted
        found = result.interval(f"query.{metric}")
        assert found.error**2 == pytest.approx(max(of_query + of_triple - of_both, of_query), rel=1e-9)
        by_query = result.interval(f"query.{metric}", cluster="query")
        assert by_query.error**2 == pytest.approx(of_query, rel=1e-9)
        assert found.error >= by_query.error * (1 - 1e-12)
        assert (found.value, by_query.n_clusters, by_query.n_effective) == (by_query.value, n, pytest.approx(n))
        assert found.n_clusters == min(n, n_triples)
        n_effective = sum(map(len, queries_of)) ** 2 / sum(len(group) ** 2 for group in queries_of)
        assert found.n_effective == pytest.approx(min(n, n_effective))


def test_the_covariance_of_queries_counts():
    """Both queries of a triple are easy, or both are hard: the interval is wider than that of independent queries.

    With one answer each, the clusters are the triples, of two queries: for alike queries the variance doubles.
    """
    n = 40
    dataset = kg.Dataset.from_arrays(test=[[i, 0, n + i] for i in range(n)], n_entities=2 * n, n_relations=1)
    hard = np.random.default_rng(1).integers(0, 2, n)
    scores = np.zeros((2 * n, 1, 2 * n))
    for i in range(n):
        scores[i, 0, n + i] = 1.0 - 2.0 * hard[i]
    result = kg.evaluate(lambda s, p, o: scores[s, p, o], dataset, progress=False)
    found, by_query = (result.interval("query.map", cluster=cluster) for cluster in ("triple", "query"))
    factor = 2 * (2 * n - 1) / (2 * n) * n / (n - 1)  # 2, and G / (G - 1) for n triples instead of 2 n queries
    assert found.error**2 == pytest.approx(factor * by_query.error**2, rel=1e-9)
    assert (found.n_clusters, by_query.n_clusters) == (n, 2 * n)


@pytest.mark.parametrize("seed", light(range(10), 2))
def test_one_side_alone_has_independent_queries(seed):
    """A triple has one query a side: the clusters are the queries, also where both sides were ranked."""
    for result, side in ((random_result(seed, sides="object"), ""), (random_result(seed), "object.")):
        for metric in ("map", "ndcg", "micro.recall@2"):
            found, wanted = (result.interval(f"{side}query.{metric}", cluster=c) for c in ("triple", "query"))
            assert found == wanted
            assert found.n_clusters == len({row["query"] for row in rows_of(result) if row["side"] == "object"})


@pytest.mark.parametrize("seed", light(range(20), 3))
def test_queries_by_an_array_by_a_loop(seed):
    """A query belongs to the clusters of all its ranks: by query and by the array."""
    result = random_result(seed)
    rows = rows_of(result)
    array = np.random.default_rng(seed).integers(6, size=len(rows))
    values, queries = per_query(result, "map"), [row["query"] for row in rows]
    total, parts = two_way(values, queries, array.tolist(), queries, mean_of)
    least = jackknife(values, [{query} for query in values], mean_of)
    assert result.interval("query.map", cluster=array).error ** 2 == pytest.approx(max(total, least), rel=1e-9)
    assert parts[0] > 0


@pytest.mark.parametrize("seed", light(range(20), 3))
def test_queries_by_entity_by_a_loop_over_pairs(seed):
    """Products of the deviations of all pairs of queries that share a subject or an object, each pair once.

    Divided by the share of the pairs that share none; nothing if these are fewer than half.
    """
    result = random_result(seed, n_entities=40, n_test=25)
    rows = rows_of(result)
    values, n = per_query(result, "map"), len({row["query"] for row in rows})
    mean = math.fsum(values.values()) / n
    entities = {
        query: {(name, row[name]) for row in rows if row["query"] == query for name in "so"} for query in values
    }
    total = n_sharing = 0
    for one, other in itertools.product(values, repeat=2):
        if entities[one] & entities[other]:
            n_sharing += 1
            changes = [(value - mean) / (n - 1) for value in (values[one], values[other])]
            total += (n - 1) / n * changes[0] * changes[1]
    found = result.interval("query.map", cluster="entity")
    clusters = result.rank_table.row_clusters("entity").among([np.arange(len(rows))], of_queries=True)
    if not clusters.needs_pairs:  # each query has one subject, or one object: two-way clusters as those of ranks
        return
    assert n_sharing < n * n / 2
    least = sum((n - 1) / n * ((value - mean) / (n - 1)) ** 2 for value in values.values())
    assert found.error**2 == pytest.approx(max(total, least) / (1 - n_sharing / n**2), rel=1e-9)
    dense = random_result(seed, n_entities=4, n_test=12, n_relations=1).interval("query.map", cluster="entity")
    assert dense.reason.startswith("more than half of all pairs of observations share a cluster")
    assert math.isnan(dense.low)


def test_the_micro_average_of_queries_by_a_loop():
    """The ratio of two sums, both without the queries of a triple; weights are the denominators."""
    result = random_result(7)
    rows = rows_of(result)
    n_answers = Counter(row["query"] for row in rows)
    recall = per_query(result, "recall@2")
    values = {query: (recall[query] * n_answers[query], n_answers[query]) for query in recall}

    def ratio(pairs):
        return sum(above for above, _ in pairs) / sum(below for _, below in pairs)

    queries = [row["query"] for row in rows]
    total, parts = two_way(values, queries, [row["triple"] for row in rows], queries, ratio)
    found = result.interval("query.micro.recall@2")
    assert found.value == pytest.approx(ratio(list(values.values())))
    assert found.error**2 == pytest.approx(max(total, parts[0]), rel=1e-9)
    numbers = []
    for groups in (groups_of([row["triple"] for row in rows], queries), [{query} for query in values]):
        sizes = [sum(n_answers[query] ** (4 / 3) for query in group) for group in groups]
        numbers.append(sum(sizes) ** 2 / sum(x * x for x in sizes))
    assert found.n_effective == pytest.approx(min(numbers))


@pytest.mark.parametrize("seed", light(range(10), 2))
def test_macro_of_queries_by_a_loop(seed):
    """By relation: within each relation the queries of a triple are left out; V_query + V_triple - V_both over all."""
    result = random_result(seed, n_test=24)
    rows = rows_of(result)
    values, changes = per_query(result, "map"), [defaultdict(float) for _ in range(3)]
    means = []
    for relation in (0, 1):
        inside = {query: value for query, value in values.items() if query[1] == relation}
        means.append(mean_of(list(inside.values())))
        members = [(row["query"], row["triple"]) for row in rows if row["query"][1] == relation]
        for place, label_of in enumerate((lambda q, t: q, lambda q, t: t, lambda q, t: (q, t))):
            labels = [label_of(*member) for member in members]
            for label in set(labels):
                left_out = {query for (query, _), other in zip(members, labels, strict=True) if other == label}
                rest = mean_of([value for query, value in inside.items() if query not in left_out])
                factor = math.sqrt((len(set(labels)) - 1) / len(set(labels)))
                changes[place][label] += factor * (rest - means[-1]) / 2
    parts = [sum(change**2 for change in one.values()) for one in changes]
    variance = max(parts[0] + parts[1] - parts[2], parts[0])
    frame = result.averages("relation", metrics="query.map", confidence=0.95)
    low, value, high = frame.loc["macro", ["query.map low", "query.map", "query.map high"]]
    assert value == pytest.approx(mean_of(means), rel=1e-12)
    n, t = value * (1 - value) / variance, student_quantile(0.975, math.floor(frame.loc["macro", "n_effective"] - 1))
    reach = t * math.sqrt(value * (1 - value) / n + t * t / (4 * n * n)) / (1 + t * t / n)
    assert (high - low) / 2 == pytest.approx(reach, rel=1e-9)


# --- arrays --------------------------------------------------------------------------------------------------------


def test_an_array_gives_the_clusters():
    """Numbers, words, a Series or a list: the same interval; the array of triples gives that of triples."""
    result = random_result(3)
    rows = rows_of(result)
    labels = np.random.default_rng(0).integers(5, size=len(rows))
    words = np.array(["a", "bb", "c", "d", "e"])[labels]
    variance = jackknife({i: row["rank"] for i, row in enumerate(rows)}, groups_of(labels, range(len(rows))), mean_of)
    wanted = result.interval("mr", cluster=labels)
    assert wanted.error**2 == pytest.approx(variance, rel=1e-9)
    for same in (words, words.astype(object), pd.Series(words), pd.Categorical(words), labels.tolist(), labels * 1.5):
        assert result.interval("mr", cluster=same) == wanted
    triples = [str(row["triple"]) for row in rows]
    found, alike = result.interval("mrr", cluster=triples), result.interval("mrr")
    assert (found.low, found.high, found.n_effective) == pytest.approx((alike.low, alike.high, alike.n_effective))
    objects = result.interval("object.mr", cluster=labels)  # of a side: the labels of its rows
    is_object = np.array([row["side"] == "object" for row in rows])
    assert objects.n_clusters == len(set(labels[is_object]))


def test_an_array_that_separates_the_ranks_of_a_triple_warns():
    """Sides as clusters, or no clusters at all; the array of triples or relations says nothing."""
    result = random_result(3)
    table = result.table
    n = len(table) // 2
    text = f"cluster: the labels separate the ranks of {n} of {n} triples; these ranks count as independent"
    for labels in (table["side"], np.arange(2 * n)):
        with pytest.warns(kg.KgevalWarning, match=text):
            result.interval("mrr", cluster=labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result.interval("mrr", cluster=table["p"])
        result.by("side", cluster=table["s"])


def test_wrong_arrays_are_refused():
    """Another shape, missing labels, a mask, and an index that leaves the order open."""
    result = random_result(3)
    n = len(result.table)
    shape = f"cluster must be one of 'triple', 'query', 'entity', or an array with one label for each of the {n} rows"
    for wrong, text in (
        ("side", "cluster must be one of 'triple', 'query', 'entity'; got 'side'"),
        ("entitty", "cluster must be one of 'triple', 'query', 'entity'; got 'entitty'; did you mean 'entity'?"),
        ([1, 2], f"{shape} of the table; got shape (2,)"),
        (np.zeros((n, 1)), f"{shape} of the table; got shape ({n}, 1)"),
        (None, f"{shape} of the table; got shape ()"),
        (np.where(np.arange(n) == 2, np.nan, 1.0), "cluster, row 2: the label is missing; every rank needs a label"),
        ([*"ab", None, *"c" * (n - 3)], "cluster, row 2: the label is missing; every rank needs a label"),
        (pd.array([1, pd.NA] * (n // 2)), "cluster, row 1: the label is missing; every rank needs a label"),
        (np.ma.masked_less(np.arange(n), 3), "cluster must not be a masked array; every rank needs a label"),
        (
            pd.Series(np.arange(n))[::-1],
            "cluster has another index than the table of ranks, so the order of its rows is unclear; give the values "
            "in the order of the table (.to_numpy())",
        ),
    ):
        for call in (
            lambda wrong=wrong: result.interval("mrr", cluster=wrong),
            lambda wrong=wrong: result.weighted("mrr", np.ones(n), cluster=wrong),
            lambda wrong=wrong: result.by("relation", cluster=wrong),
        ):
            with pytest.raises(kg.MetricError) as caught:
                call()
            assert str(caught.value) == text


def test_tables_take_clusters():
    """summary, by, averages and weighted: the limits of `interval`, and the smallest effective number."""
    result = random_result(5)
    weights = np.ones(len(result.table))
    for cluster in (*NAMES, np.arange(len(result.table)) % 7):
        metrics = ["mrr", "mr", "query.map"]
        wanted = {key: result.interval(key, cluster=cluster) for key in metrics}
        summary = result.summary(metrics, confidence=0.95, cluster=cluster).loc[("filtered", "both")]
        micro = result.averages("relation", metrics=metrics, cluster=cluster).loc["micro"]
        for row in (summary, micro):
            for key, interval in wanted.items():
                assert tuple(row[[f"{key} low", f"{key} high"]]) == pytest.approx(
                    (interval.low, interval.high), rel=1e-12
                )
            assert row["n_effective"] == pytest.approx(min(interval.n_effective for interval in wanted.values()))
        found = result.weighted("mr", weights, cluster=cluster)
        assert (found.low, found.high) == pytest.approx((wanted["mr"].low, wanted["mr"].high), rel=1e-9)
        side = result.by("side", metrics="mr", cluster=cluster).loc["object"]
        alone = result.interval("object.mr", cluster=cluster)
        assert tuple(side[["mr low", "mr high"]]) == pytest.approx((alone.low, alone.high), rel=1e-12)


def test_what_an_interval_is_for():
    """Each kind of clusters stands for what else could have been drawn."""
    assert CLUSTERS == NAMES
    assert PURPOSES["triple"].startswith("other triples of this graph")
    assert PURPOSES["entity"].startswith("other entities")
    frame = random_result(0).table
    assert [RowClusters.of(frame, cluster).by for cluster in (*NAMES, np.arange(len(frame)))] == list(PURPOSES)


# --- no interval without width, or else a reason ------------------------------------------------------------------


EVERY_KEY = [
    *RANKS.spellings(),
    *(f"{wrapper}({metric})" for wrapper in ("adjusted", "z") for metric in RANKS.spellings()),
    *(f"query.{average}{metric}" for average in ("", "micro.") for metric in LISTS.spellings()),
]
FEW_KEYS = ["hits@10", "mr", "mrr", "median_rank", "gmr", "amri", "z(mrr)", "query.success@10", "query.micro.map"]
RING = [[i, 0, (i + 1) % 12] for i in range(12)]
MANY = [[s, 0, 6 + o] for s in range(6) for o in range(5) if (2 * s + 3 * o) % 7 > 2]


def ranked_alike(triples, rank, odd):
    """All ranks are `rank`, but for the triples with these numbers, whose ranks are the last ones."""
    n = 12 + rank - 1 + 4
    scores = np.zeros((n, 1, n))
    scores[:, :, 12 : 12 + rank - 1] = 2.0  # as many rivals of every query
    scores[12 : 12 + rank - 1] = 2.0
    for i, (s, p, o) in enumerate(triples):
        scores[s, p, o] = -1.0 if i in odd else 1.0
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=n, n_relations=1)
    return kg.evaluate(lambda s, p, o: scores[s, p, o], dataset, progress=False)


@pytest.mark.light(2)
@pytest.mark.parametrize("triples", [RING, MANY], ids=["one answer", "several answers"])
@pytest.mark.parametrize(("rank", "odd"), thinned([(1, ()), (3, ()), (1, (3,)), (3, (3,))], 3, unpack=True))
def test_no_interval_without_width_has_no_reason(triples, rank, odd):
    """All ranks 1, all 3, one other: every metric and cluster gives limits around the value, or a reason."""
    result = ranked_alike(triples, rank, odd)
    ranks = set(result.rank_table.ranks().tolist())
    assert min(ranks) == rank
    assert len(ranks) == 1 + len(odd) or triples is MANY
    clusters = {**dict(zip(NAMES, NAMES, strict=True)), "array": np.arange(len(result.table)) % 5}
    with_width = 0
    for key, cluster in itertools.product(size(FEW_KEYS, EVERY_KEY), clusters):
        found = result.interval(key, cluster=clusters[cluster])
        case = key, cluster, str(found)
        assert found.low < found.high or found.reason, case
        assert not found.low > found.value, case
        assert not found.high < found.value, case
        if not found.reason:
            assert found.n_effective > 1.0, case
            with_width += 1
        if found.method == "wilson" and not math.isnan(found.value):
            assert (
                found.reason == "" or "effective clusters; at least 2" in found.reason or "of all pairs" in found.reason
            ), case
    assert with_width > 10
