"""compare(): refusals, pairing by labels, differences and tests against loops, contributions of relations."""

import functools
import html
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from grids import light, size
from made_results import noted, replaced

import kgeval as kg
from kgeval.comparison.alignment import align, pair_rows
from kgeval.comparison.comparison import compare
from kgeval.comparison.rows import row_of
from kgeval.data.candidates import Recorded
from kgeval.metrics.ranks import MRR, MedianRank
from kgeval.results.keys import Key
from kgeval.stats.moments import Moments
from kgeval.stats.paired import compare_paired, paired_interval
from kgeval.stats.tails import student_p_value, student_quantile

SIDES = ("subject", "object")
ENTITIES = ["Jack", "Jill", "Rome", "Oslo", "Bonn"]
RELATIONS = ["born_in", "likes"]
TOWNS = {
    "train": [[0, 0, 3], [1, 1, 0], [2, 1, 3]],
    "valid": [[1, 0, 4]],
    "test": [[0, 0, 2], [1, 0, 2], [0, 1, 1]],
    "entity_labels": ENTITIES,
    "relation_labels": RELATIONS,
    "name": "towns",
}


def scored(dataset, table, protocol=None, scorer="lookup"):
    """The result of a table of scores (s, p, o), its scorer named."""
    result = kg.evaluate(lambda s, p, o: table[s, p, o], dataset, protocol, progress=False)
    return renamed(result, scorer=scorer)


def renamed(result, **about):
    """The same result with other entries in `facts`."""
    return replaced(result, facts={**result.facts, **about})


def towns(seed=0, protocol=None, scorer="lookup", **changed):
    """A result on three test triples among five entities, without ties; `changed` parts of the dataset."""
    if not changed:
        return renamed(plain_towns(seed, protocol), scorer=scorer)
    return made_towns(seed, protocol, scorer, **changed)


def made_towns(seed, protocol, scorer="lookup", **changed):
    """The result of `towns`."""
    dataset = kg.Dataset.from_arrays(**{**TOWNS, **changed})
    shape = (len(dataset.entities), len(dataset.relations), len(dataset.entities))
    return scored(dataset, np.random.default_rng(seed).permutation(math.prod(shape)).reshape(shape), protocol, scorer)


plain_towns = functools.cache(made_towns)  # results are read-only, so the tests share them


@functools.cache
def random_tables(seed, n_models=2, n=9, m=3, n_test=12, protocol=None):
    """Results of random tables with ties on one random graph, whose test split has a triple twice; and the tables."""
    rng = np.random.default_rng(seed)
    arrays = {split: rng.integers(0, [n, m, n], (k, 3)) for split, k in (("train", 20), ("valid", 6), ("test", n_test))}
    arrays["test"][-1] = arrays["test"][0]
    labels = {"entity_labels": [f"e{i}" for i in rng.permutation(n)], "relation_labels": [f"r{i}" for i in range(m)]}
    dataset = kg.Dataset.from_arrays(**arrays, **labels)
    tables = [rng.integers(0, 12, (n, m, n)) for _ in range(n_models)]
    results = [scored(dataset, table, protocol, f"model {i}") for i, table in enumerate(tables)]
    return results, dataset, tables


def ranks_by_label(result, setting="filtered"):
    """(s, p, o, side, split, occurrence) by labels -> realistic rank, read row by row."""
    found = {}
    for row in result.ranks(labels=True).to_dict("records"):
        key = tuple(str(row[name]) for name in ("s", "p", "o", "side", "split"))
        n_before = sum(key == other[:-1] for other in found)
        found[(*key, n_before)] = row[f"rank_{setting}"]
    return found


OF_RANK = {
    "mrr": lambda rank: 1.0 / rank,
    "mr": lambda rank: rank,
    "hits@1": lambda rank: float(rank <= 1),
    "hits@3": lambda rank: float(rank <= 3),
    "hits@10": lambda rank: float(rank <= 10),
}


def permuted(dataset, seed):
    """The same dataset with other ids, its test rows in another order; and where each old id went."""
    rng = np.random.default_rng(seed)
    new_e, new_p = rng.permutation(len(dataset.entities)), rng.permutation(len(dataset.relations))
    arrays = {split: np.asarray(triples) for split, triples in dataset.splits.items()}
    arrays = {split: np.column_stack([new_e[t[:, 0]], new_p[t[:, 1]], new_e[t[:, 2]]]) for split, t in arrays.items()}
    arrays["test"] = arrays["test"][rng.permutation(len(arrays["test"]))]
    labels = {
        "entity_labels": [dataset.entities.labels[i] for i in np.argsort(new_e)],
        "relation_labels": [dataset.relations.labels[i] for i in np.argsort(new_p)],
    }
    return kg.Dataset.from_arrays(**arrays, **labels), new_e, new_p


def shuffled(result, seed):
    """The same result, the rows of its table in another order."""
    table = result.table.sample(frac=1, random_state=seed).reset_index(drop=True)
    return replaced(result, table=table)


def rows_of(comparison, first="model 0", second="model 1"):
    """The rows of two models, one per metric, as first - second, whichever leads."""
    return [row_of(comparison.differences, metric, first, second) for metric in comparison.keys]


def swapped_reach(gaps, n_resamples, level, seed=0):
    """Half the width of the interval of the swaps by its formula, from sums of clusters; the quantile as tested."""
    (found,) = compare_paired(
        [Moments(np.asarray(gaps)[:, None])], [Moments(np.zeros((len(gaps), 1)))], np.arange(len(gaps)),
        n_resamples=n_resamples, seed=seed, largest_level=0.2,
    )  # fmt: skip
    mean, square, q = sum(gaps) / len(gaps), sum(gap**2 for gap in gaps) / len(gaps), found.swaps.quantile(level)
    error = math.sqrt((square - mean**2) / (len(gaps) - 1))
    return error, q * math.sqrt((len(gaps) - 1) / (square - q * q)) * error


# --- the numbers


@pytest.mark.parametrize("seed", light(range(5), 1))
@pytest.mark.parametrize("side", ["", *SIDES])
def test_values_differences_and_wins_by_loops(seed, side):
    """Means over label-paired rows; wins where the metric puts the first's rank above the second's.

    A difference that is not decided has a level of at most 0.05: no p is as small with fewer than 6 differing triples.
    """
    (one, other), _, _ = random_tables(seed)
    prefix = f"{side}." if side else ""
    found = compare([one, other], metrics=[prefix + name for name in OF_RANK], n_resamples=99)
    assert found.differences["metric"].tolist() == [prefix + name for name in OF_RANK]
    leader = found.best(prefix + "mrr") if next(iter(OF_RANK)) == "mrr" else found.best(prefix + next(iter(OF_RANK)))
    assert found.differences["first"].tolist() == [leader] * len(OF_RANK)
    first, second = ranks_by_label(one), ranks_by_label(other)
    rows = [key for key in first if not side or key[3] == side]
    assert sorted(first) == sorted(second)
    for record, of_rank in zip(rows_of(found), OF_RANK.values()):
        a, b = ([of_rank(ranks[row]) for row in rows] for ranks in (first, second))
        assert record["value_first"] == pytest.approx(math.fsum(a) / len(rows), rel=1e-12)
        assert record["value_second"] == pytest.approx(math.fsum(b) / len(rows), rel=1e-12)
        assert record["difference"] == pytest.approx((math.fsum(a) - math.fsum(b)) / len(rows), abs=1e-12)
        way = -1 if record["metric"].endswith("mr") and not record["metric"].endswith("mrr") else 1
        signs = [way * np.sign(mine - theirs) for mine, theirs in zip(a, b)]
        assert (record["wins"], record["ties"], record["losses"]) == tuple(signs.count(sign) for sign in (1, 0, -1))
        assert record["n"] == len(rows)
        assert record["n_clusters"] == len({row[:3] for row in rows})
        sums = dict.fromkeys((row[:3] for row in rows), 0.0)
        for row, mine, theirs in zip(rows, a, b):
            sums[row[:3]] += mine - theirs
        n_differing = sum(abs(total) > 1e-12 for total in sums.values())
        plural = "" if n_differing == 1 else "s"
        few = f"no decision can be had: {n_differing} differing cluster{plural}, and the level {record['level']:.2g}"
        can_reject = 2 / 2**n_differing <= record["level"]
        few = few if n_differing else "the two systems have equal values in every cluster"
        assert record["reason"].startswith("" if can_reject else few)
        assert bool(record["reason"]) != can_reject
        assert math.isnan(record["low"]) == (not can_reject)
        assert math.isnan(record["detectable"]) or can_reject


def test_setting_and_ties_of_a_key_are_kept():
    """raw.optimistic.mr is the mean of better_raw + 1, and wins are those of raw ranks."""
    (one, other), _, _ = random_tables(3)
    (record,) = rows_of(compare([one, other], metrics="raw.optimistic.mr"))
    assert record["value_first"] == pytest.approx((one.table["better_raw"] + 1).mean(), rel=1e-12)
    labelled = (result.ranks(labels=True).to_dict("records") for result in (one, other))
    first, second = (
        {tuple(row[c] for c in ("s", "p", "o", "side")): row["better_raw"] for row in rows} for rows in labelled
    )
    assert record["wins"] == sum(first[row] < second[row] for row in first)
    assert record["losses"] == sum(first[row] > second[row] for row in first)


def labels_of(row, cluster):
    """The cluster of a row (s, p, o, side, ...): of its triple, its query, its subject or its object."""
    s, p, o, side = row[:4]
    return {"triple": (s, p, o), "query": (side, p, o if side == "subject" else s), "s": s, "o": o}[cluster]


def jackknife(values, groups):
    """(G - 1) / G sum of the squared changes of the mean if the observations of a group are left out."""
    mean, total = sum(values.values()) / len(values), 0.0
    for group in groups:
        rest = [value for key, value in values.items() if key not in group]
        total += (sum(rest) / len(rest) - mean) ** 2
    return total * (len(groups) - 1) / len(groups)


def groups_of(label_of, members):
    """The sets of observations whose members share a label; `members` are pairs (row, observation)."""
    found = {}
    for row, observation in members:
        found.setdefault(label_of(row), set()).add(observation)
    return list(found.values())


def effective(groups):
    return sum(map(len, groups)) ** 2 / sum(len(group) ** 2 for group in groups)


@pytest.mark.parametrize("seed", light(range(4), 1))
@pytest.mark.parametrize("cluster", ["triple", "query", "entity", "array"])
def test_interval_and_detectable_by_loops(seed, cluster):
    """The jackknife variance of the mean difference, and t from the effective number of clusters.

    The array is that of the triples, in the rows of the first result. Clusters that overlap have the jackknife variance
    and t; others the interval of the swaps. The levels are those of Holm's method at 0.1 for two tests.
    """
    (one, other), _, _ = random_tables(seed, n_test=25)
    other = shuffled(other, seed)
    array = [str(row[:3]) for row in one.ranks(labels=True)[["s", "p", "o"]].to_records(index=False).tolist()]
    given = array if cluster == "array" else cluster
    found = compare([one, other], metrics="mrr,mr", cluster=given, confidence=0.9, n_resamples=99)
    first, second = ranks_by_label(one), ranks_by_label(other)
    levels = sorted(found.differences["level"].tolist())
    assert levels in ([pytest.approx(0.05)] * 2, [pytest.approx(0.05), pytest.approx(0.1)])
    for record in rows_of(found):
        of_rank = OF_RANK[record["metric"]]
        gaps = {row: of_rank(first[row]) - of_rank(second[row]) for row in first}
        mean, members = sum(gaps.values()) / len(gaps), [(row, row) for row in gaps]
        if cluster == "entity":
            s, o, both = (groups_of(f, members) for f in (lambda r: r[0], lambda r: r[2], lambda r: (r[0], r[2])))
            parts = [jackknife(gaps, groups) for groups in (s, o, both)]
            variance = max(parts[0] + parts[1] - parts[2], *parts[:2])
            n_clusters, n_effective = min(len(s), len(o)), min(effective(s), effective(o))
        else:
            name = "triple" if cluster == "array" else cluster
            groups = groups_of(lambda row, name=name: labels_of(row, name), members)
            variance, n_clusters, n_effective = jackknife(gaps, groups), len(groups), effective(groups)
        error, freedom = math.sqrt(variance), math.floor(n_effective - 1 + 1e-9)
        level = record["level"]
        reach = student_quantile(1 - level / 2, freedom) * error
        if cluster != "entity":
            sums = [math.fsum(gaps[row] for row in group) * n_clusters / len(gaps) for group in groups]
            error, reach = swapped_reach(sums, 99, level)
        assert record["error"] == pytest.approx(error, rel=1e-9)
        assert (record["n_clusters"], record["n_effective"]) == (n_clusters, pytest.approx(n_effective))
        low, high = mean - reach, mean + reach
        assert (record["low"], record["high"]) == pytest.approx((low, high), rel=1e-6, abs=1e-9)
        assert (record["low"] > 0 or record["high"] < 0) == bool(record["better"])
        wanted = reach * (1 - 1 / (4 * freedom)) + 0.8416212335729143 * math.hypot(
            error, reach / math.sqrt(2 * freedom)
        )
        wanted = math.nan if record["better"] else wanted
        assert record["detectable"] == pytest.approx(wanted, rel=1e-6, nan_ok=True)
        assert record["test"] == ("t" if cluster == "entity" else "swaps")
        if cluster == "entity":
            assert record["p"] == pytest.approx(student_p_value(mean / error, freedom), rel=1e-6)


@pytest.mark.parametrize("seed", light(range(4), 2))
def test_p_values_of_all_swaps_by_loops(seed):
    """With few triples every pattern of swaps is tried: the share as extreme, both sides of a triple together."""
    (one, other), _, _ = random_tables(seed, n_test=8)
    table = compare([one, other], metrics="mrr,hits@3").differences
    first, second = ranks_by_label(one), ranks_by_label(other)
    triples = sorted({row[:3] for row in first})
    assert len(triples) == 7
    for record in table.to_dict("records"):
        of_rank = OF_RANK[record["metric"]]
        gaps = [sum(of_rank(first[row]) - of_rank(second[row]) for row in first if row[:3] == t) for t in triples]
        patterns = list(itertools.product((1, -1), repeat=len(triples)))
        extreme = [abs(np.dot(signs, gaps)) >= abs(sum(gaps)) - 1e-12 for signs in patterns]
        assert record["p"] == pytest.approx(np.mean(extreme), abs=1e-12)


def test_query_level_metrics_are_paired_by_query():
    """query.map of each query by labels, over both numberings of ids.

    Queries that share a triple depend on each other: V_query + V_triple - V_both by loops, and Student's t test.
    """
    (one, other), dataset, tables = random_tables(5)
    again, new_e, new_p = permuted(dataset, 1)
    back_e, back_p = np.argsort(new_e), np.argsort(new_p)
    moved = scored(again, tables[1][back_e][:, back_p][:, :, back_e], scorer="model 1")
    mine, theirs = (result.per_query("map")["map"].to_dict() for result in (one, other))
    gaps = {tuple(map(str, query)): mine[query] - theirs[query] for query in mine}
    n, mean = len(gaps), sum(gaps.values()) / len(gaps)
    members = [(row, labels_of(row, "query")) for row in ranks_by_label(one)]
    kinds = ("query",), ("triple",), ("query", "triple")
    groups = [
        groups_of(lambda row, kinds=kinds: tuple(labels_of(row, kind) for kind in kinds), members) for kinds in kinds
    ]
    parts = [jackknife(gaps, group) for group in groups]
    error = math.sqrt(max(parts[0] + parts[1] - parts[2], parts[0]))
    n_effective = min(effective(group) for group in groups[:2])
    freedom = math.floor(n_effective - 1 + 1e-9)
    for second in (other, moved):
        (record,) = rows_of(compare([one, second], metrics="query.map", n_resamples=99))
        assert (record["n"], record["n_clusters"], record["test"]) == (n, min(map(len, groups[:2])), "t")
        assert record["n_effective"] == pytest.approx(n_effective)
        assert record["difference"] == pytest.approx(mean, abs=1e-12)
        reach = (record["high"] - record["low"]) / 2
        assert reach == pytest.approx(student_quantile(0.975, freedom) * error, rel=1e-9)
        assert record["p"] == pytest.approx(student_p_value(mean / error, freedom), rel=1e-6)
        signs = [np.sign(gap) for gap in gaps.values()]
        assert (record["wins"], record["ties"], record["losses"]) == tuple(signs.count(sign) for sign in (1, 0, -1))
    (by_query,) = rows_of(compare([one, other], metrics="query.map", cluster="query", n_resamples=99))
    error, reach = swapped_reach(list(gaps.values()), 99, 0.05)
    assert (by_query["error"], by_query["high"] - by_query["difference"]) == pytest.approx((error, reach), rel=1e-6)
    assert error == pytest.approx(math.sqrt(parts[0]), rel=1e-9)  # clusters of one query each


def test_values_have_the_intervals_of_the_results():
    """One row per model; the same numbers as result.interval, NaN with a reason where there is none."""
    results, _, _ = random_tables(2, n_models=size(2, 3))
    keys = ["mrr", "object.hits@3", "median_rank", "query.ndcg@5"]
    results = [shuffled(result, i) if i else result for i, result in enumerate(results)]
    array = np.random.default_rng(0).integers(8, size=len(results[0].table))
    label_of = dict(zip(ranks_by_label(results[0]), array, strict=True))
    for cluster in ("triple", "entity", "array"):
        given = array if cluster == "array" else cluster
        values = compare(results, metrics=keys, confidence=0.9, n_resamples=9, cluster=given).values
        assert values.index.tolist() == ["model 0", "model 1", "model 2"][: len(results)]
        limits = [f"{key}{end}" for key in keys for end in ("", " low", " high")]
        assert values.columns.tolist() == [*limits, "n_effective", "reason"]
        for (name, row), result in zip(values.iterrows(), results):
            clusters = [label_of[key] for key in ranks_by_label(result)] if cluster == "array" else cluster
            wanted = {key: result.interval(key, confidence=0.9, cluster=clusters) for key in keys}
            for key, interval in wanted.items():
                found = [row[key], row[f"{key} low"], row[f"{key} high"]]
                assert found == pytest.approx([interval.value, interval.low, interval.high], rel=1e-12, nan_ok=True), (
                    name,
                    key,
                )
            assert row["n_effective"] == pytest.approx(np.nanmin([found.n_effective for found in wanted.values()]))


def test_ids_and_order_of_rows_do_not_matter():
    """Other ids, another order of the test file and of the table: the same table, to rounding."""
    metrics = "mrr,mr,hits@1,hits@3,gmr,query.map"
    (one, other), dataset, tables = random_tables(4, n_test=size(15, 30))
    wanted = compare([one, other], metrics=metrics, n_resamples=499)
    again, new_e, new_p = permuted(dataset, 3)
    assert again.entities.labels != dataset.entities.labels
    back_e, back_p = np.argsort(new_e), np.argsort(new_p)
    moved = shuffled(scored(again, tables[1][back_e][:, back_p][:, :, back_e], scorer="model 1"), 1)
    pairs = [shuffled(one, 2), moved], [shuffled(one, 0), other], [one, moved]
    for pair in pairs[: size(1, 3)]:
        found = compare(pair, metrics=metrics, n_resamples=499)
        pd.testing.assert_frame_equal(found.differences, wanted.differences, rtol=1e-9, atol=1e-12)
        pd.testing.assert_frame_equal(found.by_relation("mrr"), wanted.by_relation("mrr"), rtol=1e-9, atol=1e-12)


def test_pairing_is_not_by_position():
    """A rotated table pairs as before; by position nearly every rank would meet another triple's."""
    (one, _), _, _ = random_tables(6, n_test=30)
    rotated = replaced(one, table=one.table.iloc[np.roll(np.arange(60), 7)].reset_index(drop=True))
    record = compare([one, rotated], names=["a", "b"], metrics="mrr").differences.iloc[0]
    assert (record["difference"], record["p"]) == (pytest.approx(0, abs=1e-15), 1.0)
    assert (record["wins"], record["ties"], record["losses"]) == (0, 60, 0)


def test_repeated_triples_pair_in_the_order_of_occurrence():
    """Rows 0 and 2 are the same triple: the first of one table meets the first of the other, wherever it stands."""
    result = towns(test=[[0, 0, 2], [1, 0, 2], [0, 0, 2]])
    places = pair_rows([result, shuffled(result, 1)], ["object"])
    order = result.table.sample(frac=1, random_state=1).index.to_numpy()
    assert places.shape == (3, 2)
    labels = result.ranks(labels=True)
    twice = [row for row in places if tuple(labels.loc[row[0], ["s", "o"]]) == ("Jack", "Rome")]
    others = [position for position, row in enumerate(order) if row in (3, 5)]
    assert [tuple(row) for row in twice] == [(3, others[0]), (5, others[1])]
    single = next(row for row in places if labels.loc[row[0], "s"] == "Jill")
    assert order[single[1]] == single[0] == 4


def test_a_missing_second_occurrence_is_a_difference():
    """One result has the triple twice, the other once: one row only in the first."""
    twice, once = towns(test=[[0, 0, 2], [1, 0, 2], [0, 0, 2]]), towns(test=[[0, 0, 2], [1, 0, 2]])
    assert [sorted(row) for row in pair_rows([twice, once], ["object"]).tolist()].count([-1, 5]) == 1


def test_swapped_order_negates():
    """Second against first: the leader stands first all the same, and nothing changes."""
    (one, other), _, _ = random_tables(1, n_test=30)
    metrics = "mrr,mr,hits@3,gmr,amri"
    table, back = (compare(pair, metrics=metrics, n_resamples=99).differences for pair in ([one, other], [other, one]))
    pd.testing.assert_frame_equal(back, table, rtol=1e-9)
    assert table["difference"][0] > 0
    found, forth = compare([one, other], metrics=metrics, n_resamples=99), table.to_dict("records")
    for row, turned in zip(forth, rows_of(found, table["second"][0], table["first"][0])):
        assert (turned["difference"], turned["low"], turned["high"]) == (-row["difference"], -row["high"], -row["low"])
        assert (turned["wins"], turned["losses"]) == (row["losses"], row["wins"])
        assert turned["better"] == row["better"]


def test_a_model_equals_itself():
    """Difference 0, p = 1, no winner, and a reason instead of an interval."""
    result = towns()
    found = compare([result, result], metrics="mrr,mr,query.map")
    assert found.names == ("lookup (1)", "lookup (2)")
    assert found.differences["difference"].tolist() == [0.0] * 3
    assert found.differences["p"].tolist() == found.differences["p_corrected"].tolist() == [1.0] * 3
    assert found.differences["decision"].tolist() == ["undecided"] * 3
    assert found.differences["reason"].tolist() == ["the two systems have equal values in every cluster"] * 3
    assert found.differences[["wins", "ties", "losses"]].to_numpy().tolist() == [[0, 6, 0], [0, 6, 0], [0, 5, 0]]
    assert found.by_relation("mrr")["contribution"].tolist() == [0.0, 0.0]


def test_three_models_are_one_family():
    """A-B, A-C, B-C by metric; Holm by its definition over all six p-values; pairs agree with pairs alone."""
    results, _, _ = random_tables(8, n_models=3, n_test=25)
    found = compare(results, names=["A", "B", "C"], metrics="mrr,hits@3", n_resamples=499)
    table = found.differences
    values = dict(zip("ABC", found.values["mrr"]))
    pairs = [tuple(sorted(pair, key=lambda name: -values[name])) for pair in (("A", "B"), ("A", "C"), ("B", "C"))]
    assert list(zip(table["first"], table["second"], table["metric"])) == [
        (*pair, metric) for pair in pairs for metric in ("mrr", "hits@3")
    ]
    p_values = table["p"].tolist()
    order = sorted(range(6), key=lambda i: p_values[i])
    least = 0.0
    for place, i in enumerate(order):
        least = max(least, min(1.0, (6 - place) * p_values[i]))
        assert table["p_corrected"][i] == pytest.approx(least, rel=1e-12)
    alone = compare([results[0], results[2]], names=["A", "C"], metrics="mrr,hits@3", n_resamples=499).differences
    columns = ["difference", "low_95", "high_95", "p", "wins", "ties", "losses"]
    assert table.iloc[2:4][columns].to_numpy() == pytest.approx(alone[columns].to_numpy())


def test_metrics_without_moments_have_values_and_a_reason():
    """The median is compared, not tested, and is not counted among the tests that Holm adjusts for."""
    (one, other), _, _ = random_tables(1)
    found = compare([one, other], metrics=["median_rank", "mrr"], n_resamples=99)
    record, tested = found.differences.to_dict("records")
    assert record["value_first"] == one["median_rank"]
    assert record["difference"] == one["median_rank"] - other["median_rank"]
    assert [math.isnan(record[name]) for name in ("low", "high", "p", "p_corrected", "detectable")] == [True] * 5
    assert (record["test"], tested["test"]) == ("", "swaps")
    assert record["reason"] == (
        "median_rank is not a function of means; use gmr instead: bad ranks have little effect on it, too"
    )
    assert (record["n"], record["n_clusters"]) == (len(one.table), tested["n_clusters"])
    assert tested["p_corrected"] == tested["p"]
    assert "; Holm, 1 test; decided: p ≤ 0.05" in "\n".join(found.header())
    with pytest.raises(kg.MetricError, match="median_rank is not a function of means"):
        found.by_relation("median_rank")


def test_a_side_without_ranks_has_no_numbers():
    """As if no negative of a side were listed: NaN with the reason, and the other side is compared."""
    pair = [
        replaced(result, table=result.table[3:].reset_index(drop=True), n_read=3) for result in (towns(0), towns(1))
    ]
    table = compare(pair, metrics="subject.mrr,subject.query.map,object.mrr").differences
    few = "no decision can be had: 2 differing clusters, and the level 0.05 needs at least 6"
    assert table["reason"].tolist() == ["no rank was compared", "no rank was compared", few]
    assert table["difference"].isna().tolist() == [True, True, False]
    assert table["n"].tolist() == [0, 0, 3]
    empty = [replaced(result, table=result.table[:0], n_read=0) for result in pair]
    assert refusal(empty)[1] == "  queries: no row of the compared sides in A and B (cannot be overridden)"


def test_filtered_query_metrics_without_the_ranked_split_in_the_filter():
    """Their lists are not known: NaN with the reason of the result itself."""
    protocol = kg.Protocol(filter=("train",))
    (one, other), _, _ = random_tables(1, protocol=protocol)
    found = compare([one, other], metrics="query.map,mrr", n_resamples=9)
    assert found.differences["reason"][0] == one.value("query.map").reason != ""
    assert math.isnan(found.differences["value_first"][0])
    assert found.differences["decision"][0] == "undecided"
    with pytest.raises(kg.MetricError) as caught:
        found.best("query.map")
    said = "query.map: filtered query-level metrics need"
    assert str(caught.value).startswith(f"no model has a value for query.map ({said}")
    assert found.values["reason"].str.startswith(said).all()


# --- which is better


def test_better_best_and_significant_follow_the_metric():
    """Ranks 1 against ranks 3 on 12 triples: MR is better when small, the others when great."""
    n = 12
    triples = [[i, 0, (i + 1) % n] for i in range(n)]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=n, n_relations=1)
    table = np.zeros((n, 1, n))
    s, o = np.indices((n, n))
    results = []
    for shift in (1, 3):
        table = np.empty((n, 1, n))
        table[:, 0, :] = -((o - s - 1 + shift - 1) % n)
        results.append(scored(dataset, table, scorer=f"shift {shift}"))
    found = compare(results, metrics="mrr,mr,query.map,amri,hits@10")
    assert found.best("mr") == found.best("mrr") == found.best(MRR()) == found.best("query.map") == "shift 1"
    assert found.differences["better"].tolist() == ["shift 1"] * 4 + [""]
    assert found.differences["decision"].tolist() == ["first"] * 4 + ["undecided"]
    assert found.values["mr"].tolist() == [1.0, 3.0]
    assert found.differences["difference"].tolist()[:2] == pytest.approx([2 / 3, -2.0])
    p = 2.0 / 2**12
    assert found.differences["p"].tolist()[:2] == [p, p]
    assert found.significant()["metric"].tolist() == ["mrr", "mr", "query.map", "amri"]
    with pytest.raises(
        kg.ProtocolError, match=r"significant\(\) has no argument 'alpha'; did you mean compare\(\.\.\., "
    ):
        found.significant(alpha=1e-6)
    backwards = compare(results[::-1], metrics="mr,mrr")
    assert backwards.best("mr") == backwards.best("mrr") == "shift 1"
    assert backwards.differences["better"].tolist() == ["shift 1", "shift 1"]


def test_a_difference_is_undecided_unless_the_corrected_test_decides_it():
    """4 of 4 triples better: p = 2 / 2^4 = 0.125, so no model is named at 0.05; at alpha 0.2 the test decides."""
    n = 4
    dataset = kg.Dataset.from_arrays(test=[[i, 0, (i + 1) % n] for i in range(n)], n_entities=n, n_relations=1)
    s, o = np.indices((n, n))
    results = [scored(dataset, np.repeat(-((o - s - shift) % n)[:, None], 1, axis=1)) for shift in (1, 3)]
    found = compare(results, names=["one", "two"], metrics="mrr,mr")
    assert found.differences["p_corrected"].tolist() == [0.25, 0.25]
    assert (found.alpha, found.differences["decision"].tolist()) == (0.05, ["undecided", "undecided"])
    assert found.best("mrr") == "one"  # the best value, decided or not
    assert repr(found).count("undecided") == 1 + 2  # below the values, and in each row
    assert found.significant().empty
    decided = compare(results, names=["one", "two"], metrics="mrr,mr", confidence=0.7)
    assert (decided.alpha, decided.differences["better"].tolist()) == (0.3, ["one", "one"])


def test_best_of_equals_is_the_first():
    """Equal values keep the order of the results."""
    result = towns()
    assert compare([result, result], names=["x", "y"], metrics="mrr").best("mrr") == "x"


# --- the whole test under the null hypothesis


def table_result(template, ranks):
    """The template with other ranks (float, shape of its rows), without ties."""
    better = np.clip(ranks, 0, template.table["rivals_filtered"].to_numpy()).astype(np.int64)
    table = template.table.assign(better_raw=better, better_filtered=better, tied_raw=0, tied_filtered=0)
    return replaced(template, table=table)


def ring_template(n, m=1):
    """A result of n triples that ask 2 n different queries among n entities."""
    triples = [[i, i % m, (i + 1) % n] for i in range(n)]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=n, n_relations=m)
    return kg.evaluate(lambda s, p, o: -((o - s) % n), dataset, progress=False)


def simulated(template, rng, gain=0.0):
    """Two models that share how hard a triple is and differ by an error of the whole triple and one of each side."""
    n = len(template.table) // 2
    hard = np.tile(rng.normal(size=n), 2)
    pair = []
    for better_by in (gain, 0.0):
        noise = np.tile(rng.normal(size=n), 2) + 0.3 * rng.normal(size=2 * n)
        pair.append(table_result(template, np.exp(1.0 + hard + noise - better_by)))
    return pair


@pytest.mark.thorough
def test_type_one_error_is_nominal():
    """400 pairs of exchangeable models with dependent sides: 3% to 7.5% at 5% (two standard errors are 2.2%)."""
    template, rng = ring_template(40), np.random.default_rng(11)
    p_values = []
    for seed in range(400):
        pair = simulated(template, rng)
        table = compare(pair, names=["a", "b"], metrics="mrr,mr", n_resamples=199, resample_seed=seed).differences
        p_values.append(table["p"].to_numpy())
    share = (np.array(p_values) <= 0.05).mean(axis=0)
    assert (share >= 0.03).all()
    assert (share <= 0.075).all()


@pytest.mark.thorough
def test_a_known_difference_is_found_by_more_triples():
    """A gain of 0.45 in the logarithm of the rank: rarely found with 20 triples, nearly always with 200."""
    found = []
    for n in (20, 200):
        template, rng = ring_template(n), np.random.default_rng(5)
        tables = [
            compare(simulated(template, rng, 0.45), names=["a", "b"], metrics="gmr", n_resamples=199).differences
            for _ in range(30)
        ]
        found.append(np.mean([table["p"][0] <= 0.05 and table["better"][0] == "a" for table in tables]))
    assert found[0] <= 0.4
    assert found[1] >= 0.9


# --- relations


@pytest.mark.parametrize("metric", light(["raw.mrr", "object.hits@1", "mrr", "mr", "hits@3"], 2))
def test_contributions_of_relations_by_loops(metric):
    """n, share, both means and their difference within each relation; contributions are the sums over all ranks."""
    (one, other), _, _ = random_tables(9, n_test=40)
    found = compare([one, other], metrics=[metric], n_resamples=9)
    frame = found.by_relation(metric)
    *setting, name = metric.split(".")
    first, second = (ranks_by_label(result, "raw" if "raw" in setting else "filtered") for result in (one, other))
    rows = [row for row in first if "object" not in setting or row[3] == "object"]
    for relation, record in frame.iterrows():
        mine = [row for row in rows if row[1] == relation]
        a, b = (sum(OF_RANK[name](ranks[row]) for row in mine) for ranks in (first, second))
        assert (record["n"], record["share"]) == (len(mine), pytest.approx(len(mine) / len(rows)))
        assert record["value_first"] == pytest.approx(a / len(mine), rel=1e-12)
        assert record["value_second"] == pytest.approx(b / len(mine), rel=1e-12)
        assert record["difference"] == pytest.approx((a - b) / len(mine), abs=1e-12)
        assert record["contribution"] == pytest.approx((a - b) / len(rows), abs=1e-9)
    assert frame.index.name == "relation"
    assert frame["contribution"].sum() == pytest.approx(found.differences["difference"][0], abs=1e-12)
    assert frame.attrs == {
        "difference": pytest.approx(found.differences["difference"][0]),
        "contribution": "exact",
        "groups": len(frame),
        "metric": metric,
        "models": tuple(found.names),
        "datasets": [one.facts["dataset"]],
    }
    sizes = frame["contribution"].abs().tolist()
    assert sizes == sorted(sizes, reverse=True)


def test_groups_are_those_of_the_two_best_models():
    """Of more than two models, by the metric asked for; runs of one model are no pair, nor others than a baseline."""
    (one, two, three), _, _ = random_tables(9, n_test=40, n_models=3)
    named = {"a": one, "b": two, "c": three}
    found = compare(named, metrics="mrr,mr", n_resamples=9)
    for metric, falls in (("mrr", True), ("mr", False)):
        best = sorted(named, key=lambda name: named[name][metric], reverse=falls)
        frame = found.by("side", metric)
        assert frame.attrs["models"] == tuple(best[:2])
        assert frame["contribution"].sum() == pytest.approx(named[best[0]][metric] - named[best[1]][metric], abs=1e-12)
        assert found.by("side", metric, best[2]).attrs["models"] == (best[2], best[0])
        assert found.by("side", metric, second=best[0]).attrs["models"] == (best[1], best[0])
    best, middle, worst = sorted(named, key=lambda name: named[name]["mrr"], reverse=True)
    alone = compare(named, metrics="mrr", n_resamples=9, baseline=worst)
    assert alone.by("side").attrs["models"] == (best, worst)
    seeds = [kg.benchmarks.named(named[best], "A", seed=1), kg.benchmarks.named(named[middle], "A", seed=2)]
    runs = compare([*seeds, kg.benchmarks.named(named[worst], "B", seed=1)], metrics="mrr", n_resamples=9)
    assert runs.by("side").attrs["models"] == ("A seed 1", "B seed 1")
    assert runs.by("side", second="A seed 2").attrs["models"] == ("B seed 1", "A seed 2")
    assert alone.by("side", second=middle).attrs["models"] == (worst, middle)  # the only one it was tested against
    assert compare(dict(reversed(named.items())), metrics="mrr", n_resamples=9).by("side").equals(found.by("side"))
    pair = compare({worst: named[worst], best: named[best]}, metrics="mrr", n_resamples=9)
    assert pair.by("side").attrs["models"] == (worst, best)  # as listed
    with pytest.raises(kg.ProtocolError, match="two different models; got 'a' twice"):
        found.by("side", first="a", second="a")


def test_intervals_within_relations_are_those_of_the_relation_alone():
    """The same limits as a comparison of results that hold only the rows of that relation."""
    (one, other), _, _ = random_tables(9, n_test=40)
    frame = compare([one, other], metrics=["mrr"], n_resamples=9).by_relation("mrr")
    for relation in one.relations.labels:
        only = []
        for result in (one, other):
            table = result.table[(result.table["p"] == result.relations.labels.index(relation))].reset_index(drop=True)
            only.append(replaced(result, table=table, n_read=len(table)))
        (record,) = rows_of(compare(only, metrics=["mrr"], n_resamples=9))
        assert frame.loc[relation, "difference"] == pytest.approx(record["difference"], abs=1e-12)
        rows = [np.arange(len(result.table)) for result in only]
        moments = [result.rank_table.moments("mrr", row) for result, row in zip(only, rows)]
        clusters = only[0].rank_table.row_clusters("triple").among([rows[0]])
        alone = paired_interval(*moments, clusters, bounds=(-1.0, 1.0))
        assert frame.loc[relation, ["low", "high"]].tolist() == pytest.approx([alone.low, alone.high], nan_ok=True)


@pytest.mark.parametrize("metric", light(["gmr", "query.map", "hmr", "amri", "z(mr)", "query.micro.recall@3"], 2))
def test_contributions_of_other_numbers_add_up(metric):
    """They sum to the difference; a relation in which both models agree adds next to nothing."""
    (one, other), _, _ = random_tables(12, n_test=60)
    same = (other.table["p"] == 0).to_numpy()
    counts = [name for name in other.table if name.startswith(("better", "tied"))]
    table = other.table.copy()
    table.loc[same, counts] = one.table.loc[same, counts]
    other = replaced(other, table=table)
    found = compare([one, other], metrics=[metric], n_resamples=9)
    frame = found.by_relation(metric)
    total = found.differences["difference"][0]
    assert total != 0.0
    assert frame["contribution"].sum() == pytest.approx(total, rel=1e-9)
    is_curved = metric in ("gmr", "hmr")
    assert frame.attrs["contribution"] == ("linearised" if is_curved else "exact")
    assert abs(frame.loc["r0", "contribution"]) <= (0.01 if is_curved else 1e-7) * abs(total)
    assert frame.loc["r0", "difference"] == pytest.approx(0.0, abs=1e-12)
    part = replaced(one, table=one.table[same].reset_index(drop=True), n_read=int(same.sum()))
    assert frame.loc["r0", "value_first"] == pytest.approx(part[metric], rel=1e-12)


def test_by_relation_names_models_and_metrics():
    """Any two of the models, by name; wrong names and metrics are refused."""
    results, _, _ = random_tables(2, n_models=3)
    found = compare(results, names=["A", "B", "C"], metrics=["mrr", "filtered.mrr"], n_resamples=9)
    assert found.differences["metric"].tolist() == ["mrr"] * 3
    forth, back = found.by_relation("mrr", "B", "C"), found.by_relation("both.mrr", first="C", second="B")
    assert forth["contribution"].to_dict() == pytest.approx((-back["contribution"]).to_dict())
    values = dict(zip("ABC", found.values["mrr"]))
    assert forth.attrs["difference"] == pytest.approx(values["B"] - values["C"])
    assert found.by_relation("mrr", second="C").attrs["difference"] == pytest.approx(values["A"] - values["C"])
    assert found.by_relation("mrr", "B").attrs["difference"] == pytest.approx(values["B"] - values["A"])
    for asked, text in (
        ({"first": "D"}, "first must be one of 'A', 'B', 'C'; got 'D'"),
        ({"second": "D"}, "second must be one of 'A', 'B', 'C'; got 'D'"),
        ({"first": "B", "second": "B"}, "first and second must be two different models; got 'B' twice"),
    ):
        with pytest.raises(kg.ProtocolError) as caught:
            found.by_relation("mrr", **asked)
        assert str(caught.value) == text
    with pytest.raises(kg.MetricError) as caught:
        found.by_relation("mr")
    assert str(caught.value) == "mr was not compared; the compared metrics are mrr"


# --- refusals


JACK = "('Jack', 'born_in', 'Rome') (subject side, test)"
REFUSED = "A and B cannot be compared as they are; they differ in"
NO_WAY = "evaluate again under one protocol, on the same dataset"
FILTER = "(override 'filter' accepts that the filters remove different known answers)"
DATASET = "(override 'dataset' accepts other triples over the same labels)"
UNSEEN = "(override 'unseen' accepts different policies for unseen entities)"
QUERIES = "(override 'queries' compares only the rows that all results have)"


def way_out(*names):
    """The last line where every difference may be overridden."""
    words = f"override={names!r} (--override {','.join(names)})"
    return f"evaluate again under one protocol, or use {words}; all outputs then name the overrides"


def prints(*results):
    """The first digits of the results' dataset fingerprints."""
    return [result.facts["dataset_fingerprint"][:8] for result in results]


def refusal(results, names=("A", "B"), **options):
    """The lines of the ProtocolError."""
    with pytest.raises(kg.ProtocolError) as caught:
        compare(results, names=names, **options)
    return str(caught.value).split("\n")


def test_other_filters_are_refused():
    """The field, both values, the rows whose rivals it changes, and the override; then it is compared and said."""
    pair = [towns(), towns(1, kg.Protocol(filter="train"))]
    field = "filter: train+valid+test in A, train in B"
    rivals = f"rivals: 3 of 6 shared rows have different numbers of filtered rivals, first {JACK}: 3 in A, 4 in B"
    assert refusal(pair) == [REFUSED, f"  {field} {FILTER}", f"  {rivals} {FILTER}", way_out("filter")]
    assert refusal(pair, override=["queries"])[-1] == way_out("queries", "filter")
    found = compare(pair, names=["A", "B"], override="filter, unseen")
    assert found.overridden == {"filter": field.split(": ")[1], "rivals": rivals.split(": ", 1)[1]}
    head = found.header()
    assert f"overridden: {field}" in head
    assert f"overridden: {rivals}" in head
    assert "not needed: override 'unseen', since the results agree in it" in head
    assert head[1] == "A: filtered by train+valid+test, all entities, both sides; ties: mean rank (realistic)"
    assert head[2] == "B: filtered by train, all entities, both sides; ties: mean rank (realistic)"
    assert [line.partition(" protocol ")[0] for line in head[3:5]] == ["A:", "B:"]
    assert f"overridden: {field}" in repr(found)
    assert found.differences["value_second"][0] == pytest.approx(pair[1]["mrr"])


SAMPLE = "(override 'sample' compares only the triples of the smallest sample, which all results have)"


def ring(shift, **options):
    """60 triples of a ring of 60 entities, ranked by a scorer whose answers are `shift` places off for some of them."""
    dataset = kg.Dataset.from_arrays(test=[[i, i % 2, (i + 1) % 60] for i in range(60)], n_entities=60, n_relations=2)
    score = lambda s, p, o: -((o - s - 1 - s % shift) % 60 + 0.01 * o)  # noqa: E731
    return kg.evaluate(score, dataset, kg.Protocol(**options))


@pytest.mark.light(1)
@pytest.mark.parametrize("first", [{"sample": 40, "sample_seed": 3}, {}], ids=["larger sample", "all"])
def test_nested_samples_are_compared_on_the_smallest(first):
    """As if both models had ranked the 25 triples of the smaller sample: values, intervals, differences, tests."""
    small = {"sample": 25, "sample_seed": 3}
    one, other, wanted_one = ring(3, **first), ring(5, **small), ring(3, **small)
    options = {"names": ["A", "B"], "metrics": "mrr,mr,query.map", "n_resamples": 99}
    size = "40 of 60 triples (drawn at random, seed 3)" if first else "all triples"
    said = f"sample: {size} in A, 25 of 60 triples (drawn at random, seed 3) in B"
    assert refusal([one, other]) == [REFUSED, f"  {said} {SAMPLE}", way_out("sample")]
    assert refusal([one, other], override="queries")[1] == f"  {said} {SAMPLE}"
    wanted = compare([wanted_one, other], **options)
    found = compare([one, other], override="sample", **options)
    pd.testing.assert_frame_equal(found.values, wanted.values)
    pd.testing.assert_frame_equal(found.differences, wanted.differences)
    assert f"overridden: {said}" in found.header()
    assert any(line.endswith("and these intervals are for the whole split") for line in found.header())
    back = compare([other, one], override="sample", **options)
    assert back.values["mr high"].tolist() == wanted.values["mr high"].tolist()[::-1]


def test_samples_that_are_not_nested_are_refused():
    """Another seed, or rows that the user chose: the shared triples are no sample of a known size."""
    drawn = ring(3, sample=40, sample_seed=0)
    for other, said in (
        (ring(5, sample=25, sample_seed=1), "25 of 60 triples (drawn at random, seed 1)"),
        (ring(5, sample=list(range(25))), "25 of 60 triples (chosen by the user)"),
    ):
        for override in ((), ("sample", "queries")):
            lines = refusal([drawn, other], override=override)
            assert lines[1] == (
                f"  sample: 40 of 60 triples (drawn at random, seed 0) in A, {said} in B (cannot be overridden)"
            )
            assert lines[-1] == NO_WAY


@pytest.mark.thorough
def test_rows_that_a_nested_sample_lacks_are_no_matter_of_samples():
    """The larger sample lost the rows of a triple: this is refused with the override, too."""
    one, other = ring(3, sample=40), ring(5, sample=25)
    cut = replaced(one, table=one.table[one.table["s"] != other.table["s"][0]], n_read=78)
    lines = refusal([cut, other], override="sample")
    assert lines[1].endswith("(cannot be overridden)")
    assert lines[2].startswith("  queries: 78 in A and 50 in B; 30 rows only in A")


@pytest.mark.thorough
def test_other_unseen_policies_are_refused():
    """Dropping unseen entities from the candidates leaves fewer rivals."""
    pair = [towns(), towns(0, kg.Protocol(unseen="drop"))]
    lines = refusal(pair)
    assert lines[1] == f"  unseen: rank in A, drop in B {UNSEEN}"
    rivals = f"6 of 6 shared rows have different numbers of raw rivals, first {JACK}: 4 in A, 3 in B"
    assert lines[2] == f"  rivals: {rivals} {UNSEEN}"
    assert lines[3].startswith("  rivals: 5 of 6 shared rows have different numbers of filtered rivals, first")
    assert lines[4:] == [way_out("unseen")]
    assert list(compare(pair, names=["A", "B"], override=("unseen",)).overridden) == ["unseen", "rivals"]


def test_other_splits_are_refused():
    """Two overrides are needed: another split, and the rows that only one has."""
    pair = [towns(), towns(1, kg.Protocol(splits=("valid", "test")))]
    only = "first ('Jill', 'born_in', 'Bonn') (subject side, valid)"
    assert refusal(pair) == [
        REFUSED,
        "  splits: test in A, valid+test in B (override 'splits' accepts rows from different splits)",
        f"  queries: 6 in A and 8 in B; 2 rows only in B, {only}; 6 rows in all results {QUERIES}",
        way_out("splits", "queries"),
    ]
    found = compare(pair, names=["A", "B"], override=("splits", "queries"), metrics="mrr")
    kept = pair[1].table[(pair[1].table["split"] == "test").to_numpy()]
    assert found.differences["value_second"][0] == pytest.approx((1 / (kept["better_filtered"] + 1)).mean())
    assert found.values.loc["B", "mrr"] == found.differences["value_second"][0]
    assert found.differences["n"][0] == 6


def test_no_row_in_common_cannot_be_overridden():
    """Valid against test: each row is in one only."""
    pair = [towns(), towns(1, kg.Protocol(splits="valid"))]
    lines = refusal(pair, override=("splits", "queries"))
    assert lines[1] == "  splits: test in A, valid in B (overridden)"
    assert lines[2].endswith("; no row in all results (cannot be overridden)")
    assert lines[3] == NO_WAY


def test_other_queries_are_refused():
    """Counts of both, of the rows only in one with the first of them, and of those in all."""
    pair = [towns(), towns(1, test=[[0, 0, 2], [3, 1, 4], [1, 0, 2]])]
    one, other = prints(*pair)
    assert refusal(pair) == [
        REFUSED,
        f"  dataset: towns {one} in A, towns {other} in B {DATASET}",
        "  queries: 6 in A and 6 in B; 2 rows only in A, first ('Jack', 'likes', 'Jill') (subject side, test); "
        f"2 rows only in B, first ('Oslo', 'likes', 'Bonn') (subject side, test); 4 rows in all results {QUERIES}",
        way_out("dataset", "queries"),
    ]
    assert f"  dataset: towns {one} in A, towns {other} in B (overridden)" in refusal(pair, override="dataset")
    found = compare(pair, names=["A", "B"], override=("dataset", "queries"), metrics="mrr,query.map")
    assert list(found.overridden) == ["dataset", "queries"]
    shared = [key for key in ranks_by_label(pair[0]) if key in ranks_by_label(pair[1])]
    assert len(shared) == 4 == found.differences["n"][0]
    for name, result in zip(("value_first", "value_second"), pair):
        ranks = ranks_by_label(result)
        assert found.differences[name][0] == pytest.approx(sum(1 / ranks[key] for key in shared) / 4, rel=1e-12)


def test_three_results_are_compared_on_the_rows_of_all():
    """Each is held against the first; with the override every pair has the rows of all three."""
    results = [towns(), towns(1, test=TOWNS["test"][:2]), towns(2, test=TOWNS["test"][1:])]
    lines = refusal(results, names=["A", "B", "C"])
    assert lines[0] == "A, B and C cannot be compared as they are; they differ in"
    assert [line for line in lines if line.startswith("  queries")] == [
        "  queries: 6 in A and 4 in B; 2 rows only in A, first ('Jack', 'likes', 'Jill') (subject side, test); "
        f"2 rows in all results {QUERIES}",
        f"  queries: 6 in A and 4 in C; 2 rows only in A, first {JACK}; 2 rows in all results {QUERIES}",
    ]
    found = compare(results, names=["A", "B", "C"], metrics="mrr", override="dataset,queries")
    assert found.differences["n"].tolist() == [2, 2, 2]
    assert found.overridden["queries"].count("rows only in A") == 2


def test_sides_that_a_metric_needs_cannot_be_overridden():
    """Both sides against one; the side that both have may be asked."""
    pair = [towns(), towns(1, kg.Protocol(sides="object"))]
    assert refusal(pair, override=("queries", "splits")) == [
        REFUSED,
        "  sides: subject+object in A, object in B; mrr needs both sides; every result has the object side: compare "
        "object.mrr (cannot be overridden)",
        NO_WAY,
    ]
    assert refusal(pair, metrics="object.mr,subject.hits@3")[1] == (
        "  sides: subject+object in A, object in B; subject.hits@3 needs the subject side; every result has "
        "the object side: compare object.hits@3 (cannot be overridden)"
    )
    found = compare(pair, names=["A", "B"], metrics="object.mrr,object.query.map")
    assert found.differences["value_first"][0] == pytest.approx(pair[0]["object.mrr"])
    assert found.overridden == {}
    objects = [towns(seed, kg.Protocol(sides="object")) for seed in (0, 1)]
    assert compare(objects, names=["A", "B"], metrics="mrr").differences["n"][0] == 3
    assert refusal(objects, metrics="subject.mrr")[1] == (
        "  sides: object in A and B; subject.mrr needs the subject side; every result has the object side: compare "
        "object.mrr (cannot be overridden)"
    )


def test_other_vocabularies_cannot_be_overridden():
    """How many labels, how many only in one, and the first of them."""
    pair = [towns(), towns(1, entity_labels=[*ENTITIES[:-1], "Lima"])]
    one, other = prints(*pair)
    assert refusal(pair, override="dataset") == [
        REFUSED,
        f"  dataset: towns {one} in A, towns {other} in B (overridden)",
        "  entities: 5 in A, 5 in B; 1 only in A, first 'Bonn', 1 only in B, first 'Lima' (cannot be overridden)",
        NO_WAY,
    ]
    lines = refusal([towns(), towns(1, entity_labels=[*ENTITIES, "Lima"])], override="dataset")
    assert "  entities: 5 in A, 6 in B; 1 only in B, first 'Lima' (cannot be overridden)" in lines
    lines = refusal([towns(), towns(1, relation_labels=["born_in", "loves"], name="other")])
    assert lines[1].endswith(f" in B {DATASET}")
    assert ", other " in lines[1]
    assert lines[2] == (
        "  relations: 2 in A, 2 in B; 1 only in A, first 'likes', 1 only in B, first 'loves' (cannot be overridden)"
    )


def test_listed_against_all_candidates_cannot_be_overridden():
    """Even if all counts agree."""
    result = towns()
    protocol = replaced(result.protocol, candidates=Recorded("listed"))
    listed = replaced(result, protocol=protocol)
    assert refusal([result, listed], override=("negatives", "queries", "unseen", "filter", "splits")) == [
        REFUSED,
        "  candidates: all entities in A, listed candidates in B (cannot be overridden)",
        "  negatives: not known in B (listed candidates); nobody can tell whether all ranks are among the same "
        "(overridden)",
        NO_WAY,
    ]
    assert refusal([listed, listed]) == [
        REFUSED,
        "  negatives: not known in A and B (listed candidates); nobody can tell whether all ranks are among the same "
        "(override 'negatives' says that the ranks are among the same negatives)",
        way_out("negatives"),
    ]
    assert list(compare([listed, listed], override="negatives").overridden) == ["negatives"]


def test_other_lists_of_as_many_negatives_are_refused():
    """The lists themselves are compared, by their digest."""
    result = towns()
    one, other = (
        replaced(result, protocol=replaced(result.protocol, candidates=Recorded("listed", digest)))
        for digest in ("a" * 64, "b" * 64)
    )
    assert refusal([one, other], override=()) == [
        REFUSED,
        "  candidates: listed candidates aaaaaaaa in A, listed candidates bbbbbbbb in B (cannot be overridden)",
        NO_WAY,
    ]


def test_other_rivals_without_a_cause_cannot_be_overridden():
    """Nothing else differs, so nothing that may be overridden explains them."""
    result = towns()
    other = replaced(result, table=result.table.assign(rivals_raw=result.table["rivals_raw"] - 1))
    rivals = f"6 of 6 shared rows have different numbers of raw rivals, first {JACK}: 4 in A, 3 in B"
    for override in ((), ("dataset", "unseen", "filter")):
        assert refusal([result, other], override=override) == [
            REFUSED,
            f"  rivals: {rivals} (cannot be overridden)",
            NO_WAY,
        ]


def test_names_of_datasets_alone_are_no_difference():
    """The fingerprint decides; another name of the same triples is a note."""
    found = compare([towns(), towns(1, name="villages")], names=["A", "B"])
    assert "note: the dataset has different names: towns in A, villages in B" in found.header()
    assert found.overridden == {}


def test_notes_on_ties_versions_and_scorers():
    """Said, not refused; the results' own notes are kept with the model's name."""
    dataset = kg.Dataset.from_arrays(**TOWNS)
    constant = renamed(scored(dataset, np.zeros((5, 2, 5))), version="0.0.9")
    plain = noted(towns(0), "trained for one epoch")
    head = compare([plain, constant], names=["A", "B"]).header()
    version = plain.facts["version"]
    assert "note: tie rates differ: 0.0% in A, 100.0% in B; also compare pessimistic.mrr and optimistic.mrr" in head
    assert f"note: made with different versions of kgeval: {version} in A, 0.0.9 in B" in head
    assert "note: the scorer has the same name in A and B: lookup" in head
    assert "note: A: trained for one epoch" in head
    assert any(line.startswith("note: B: 100.0% of the positives tie with a rival") for line in head)
    notes = [line for line in compare([towns(0, scorer="x"), towns(1, scorer="y")]).header() if "note" in line]
    assert notes == []


RESULT = towns()
TWO = [RESULT, RESULT]
LIST = "compare needs a list of at least two results, such as compare([a, b]); got "
RESULTS = "result 1 must be an EvaluationResult, from kgeval.evaluate or kgeval.load_result; got "
NAMES = "names must be 2 different words, one for each result; got "
OVERRIDES = "override must be one of 'queries', 'sample', 'dataset', 'unseen', 'filter', 'splits', 'negatives'; got "


@pytest.mark.parametrize(
    ("results", "options", "error", "text"),
    [
        ([RESULT], {}, kg.ProtocolError, LIST + "a list of length 1"),
        (RESULT, {}, kg.ProtocolError, LIST + "EvaluationResult"),
        ([RESULT, 3], {}, kg.ProtocolError, RESULTS + "int"),
        (TWO, {"names": ["x", "x"]}, kg.ProtocolError, NAMES + "['x', 'x']"),
        (TWO, {"names": ["x"]}, kg.ProtocolError, NAMES + "['x']"),
        (TWO, {"names": ["x", ""]}, kg.ProtocolError, NAMES + "['x', '']"),
        (TWO, {"override": "row"}, kg.ProtocolError, OVERRIDES + "'row'"),
        (TWO, {"metrics": []}, kg.MetricError, "metrics is empty; name at least one, such as 'mrr,hits@10'"),
        (TWO, {"metrics": "hits@0"}, kg.MetricError, "k of hits@k must be an integer of at least 1; got 0"),
        (TWO, {"cluster": "row"}, kg.MetricError, "cluster must be one of 'triple', 'query', 'entity'; got 'row'"),
        (TWO, {"confidence": 95}, kg.MetricError, "confidence must be a share between 0 and 1, such as 0.95; got 95"),
        (TWO, {"n_resamples": 0}, kg.MetricError, "n_resamples must be an integer of at least 1; got 0"),
        (TWO, {"resample_seed": -1}, kg.MetricError, "resample_seed must be an integer of at least 0; got -1"),
        (TWO, {"resample_seed": True}, kg.MetricError, "resample_seed must be an integer of at least 0; got True"),
    ],
)
def test_wrong_arguments(results, options, error, text):
    """What was expected, and what came."""
    with pytest.raises(error) as caught:
        compare(results, **options)
    assert str(caught.value) == text


# --- what is shown


def test_head_says_what_was_tested():
    """Rows, protocol, test, family, intervals, in eight lines at most; nothing else where there is nothing to say."""
    pair = [towns(0, scorer="one"), towns(1, scorer="two")]
    protocol, fingerprint, version = pair[0].protocol, prints(pair[0])[0], pair[0].facts["version"]
    assert compare(
        pair, metrics="mrr,query.map", n_resamples=1234, resample_seed=5, confidence=0.9, cluster="query"
    ).header()[:7] == [
        "one and two on towns: 6 ranks of test, paired by labels",
        "filtered by train+valid+test, all entities, both sides; ties: mean rank (realistic) in MRR; mean over all "
        "orders (expected) in query.map",
        f"protocol {protocol.fingerprint}, dataset {fingerprint}, kgeval {version}",
        "tested: all or 1,234 random swaps (seed 5; smaller p by Bentkus's bound) of ranks by query, two-sided; Holm, "
        "2 tests; decided: p ≤ 0.1",
        "differences: each interval is at the level of its test, and excludes 0 exactly where this decides",
        "90% intervals of values: for other queries of this graph (all ranks of a query sampled together)",
        "more on tests and intervals: kgeval help decisions",
    ]
    assert compare(pair, metrics="mrr,mr").header()[4] == (
        "MR: a decision says that the ranks are not exchangeable, not that their means differ"
    )
    overlapping = compare(random_tables(5)[0][:2], metrics="mrr,query.map", cluster="entity")
    (said,) = (line for line in overlapping.header() if "clusters overlap" in line)
    assert said == (
        "tested: Student's t in MRR and query.map (clusters overlap), two-sided; Holm, 2 tests; decided: p ≤ 0.05"
    )


def test_the_relations_that_move_the_difference_stand_below_the_verdict():
    """The sizes are those of `by`, the largest contributions first; of one relation, nothing is said."""
    triples = [[i, i % 3, (i + 1) % 30] for i in range(30)]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=30, n_relations=3, name="ring")
    shift = np.array([0, 1, 3])
    one = kg.evaluate(lambda s, p, o: -((o - s - 1 - shift[p]) % 30), dataset)
    two = kg.evaluate(lambda s, p, o: -((o - s - 1 - shift[::-1][p]) % 30), dataset)
    found = compare({"A, again": one, "B": two}, metrics="mr")
    frame = found.by("relation", "mr", *found.differences.loc[0, ["first", "second"]])
    gain, loss = (frame[sign * frame["contribution"] > 0.0].iloc[0] for sign in (-1.0, 1.0))
    lines, names = repr(found).split("\n\n")[0].split("\n")[1:], found.differences.loc[0, ["first", "second"]]
    first, second = ('"A, again"' if name == "A, again" else name for name in names)
    for verb, row in (("gains most over", gain), ("loses most to", loss)):
        words = f"{row['difference']:+.2f} over {row['n']:.0f} ranks{'' if row['decided'] else ', undecided'}"
        assert f"{first} {verb} {second} on {row.name} ({words})" in lines
    one = kg.Dataset.from_arrays(test=triples[::3], n_entities=30, n_relations=1)
    alone = {name: kg.evaluate(lambda s, p, o, k=k: -((o - s - k) % 30), one) for name, k in (("A", 1), ("B", 2))}
    assert "most" not in repr(compare(alone, metrics="mr"))


def test_names_in_small_letters_stay_so():
    """A clause that starts with a name does not change it; other clauses have a capital letter."""
    steps = {"alpha": 1, "beta": 1, "gamma": 9}
    dataset = kg.Dataset.from_arrays(test=[[i, 0, (i + 1) % 30] for i in range(30)], n_entities=30, n_relations=1)
    found = compare({n: kg.evaluate(lambda s, p, o, k=k: -((o - s - k) % 30), dataset) for n, k in steps.items()})
    lines = repr(found).split("\n")
    assert lines[0].startswith(
        "Undecided: MRR 1.0000 (alpha) is not significantly better than 1.0000 (beta), difference "
    )
    assert lines[1].startswith("alpha beats gamma: ")
    assert "alpha beats gamma" in found._repr_html_()


def test_names_with_commas_are_quoted_in_lists():
    """Else nobody could tell where one name ends."""
    pair = [towns(0, scorer="one"), towns(1, kg.Protocol(filter="train"), scorer="one")]
    found = compare(pair, names=["A, again", "B"], metrics="mrr", override="filter")
    assert '"A, again": filtered by train+valid+test' in "\n".join(found.header())
    assert 'the scorer has the same name in "A, again" and B' in "\n".join(found.header())
    with pytest.raises(kg.ProtocolError, match=r'^"A, again" and B cannot be compared as they are'):
        compare(pair, names=["A, again", "B"], metrics="mrr")


def test_seed_and_resamples_are_used():
    """The same seed gives the same p; another one, or another number of swaps, another."""
    pair = simulated(ring_template(60), np.random.default_rng(2))
    p_values = [
        compare(pair, names=["a", "b"], metrics="mrr", n_resamples=n, resample_seed=seed).differences["p"][0]
        for n, seed in ((99, 0), (99, 0), (99, 1), (997, 0))
    ]
    assert p_values[0] == p_values[1]
    assert p_values[0] != p_values[2]
    assert [round(p * n, 9) % 1 for p, n in zip(p_values, (100, 100, 100, 998))] == [0.0] * 4


def test_texts_escape_labels_in_html():
    """Names and notes are text in HTML, and stand as they are in plain text; undefined numbers are dashes."""
    hostile = "<script>alert('x')</script>"
    found = compare([towns(scorer=hostile), noted(towns(1), "<b>")], metrics=[MedianRank(), "mrr"])
    text, page = repr(found), found._repr_html_()
    assert hostile in text
    assert hostile not in page
    assert "<b>" not in page
    assert html.escape(hostile, quote=False) in page
    assert "nan" not in text
    assert text.splitlines()[0] == found.verdict.parts[0]
    assert text.splitlines()[-len(found.header()) :] == found.header()
    assert found.differences["metric"].tolist() == ["median_rank", "mrr"]


def test_table_is_tidy():
    """Columns in their order, numbers as numbers."""
    table = compare([towns(0), towns(1)]).differences
    assert table.columns.tolist() == [
        "dataset", "metric", "first", "second", "n_first", "n_second", "difference", "error", "freedom", "low", "high",
        "level", "low_95", "high_95", "p", "p_corrected", "decision", "better", "detectable", "reason", "value_first",
        "value_second", "n", "n_clusters", "n_differing", "n_effective", "test", "wins", "ties", "losses",
    ]  # fmt: skip
    with pytest.raises(
        AttributeError, match=r"no attribute 'table' since kgeval 0.2; write differences, where p_holm is p_corrected$"
    ):
        getattr(compare([towns(0), towns(1)]), "table")  # noqa: B009
    assert table["metric"].tolist() == ["mrr", "hits@1", "hits@3", "hits@10", "mr"]
    assert {table[name].dtype.kind for name in ("wins", "ties", "losses", "n", "n_clusters")} == {"i"}
    assert {table[name].dtype.kind for name in [*table.columns[6:16], "detectable", "value_first"]} == {"f"}


@pytest.mark.thorough
def test_saved_results_compare_alike(tmp_path):
    """A result read back from its file has the same table."""
    pair = [towns(0, scorer="one"), towns(1, scorer="two")]
    loaded = []
    for i, result in enumerate(pair):
        result.save(tmp_path / f"{i}.kgeval", details=False)
        loaded.append(kg.load_result(tmp_path / f"{i}.kgeval"))
    pd.testing.assert_frame_equal(compare(loaded).differences, compare(pair).differences)


def test_alignment_of_a_large_pair_is_exact():
    """40,932 rows (light: 4,000) over 14,541 entities in two orders: every row meets its own."""
    rng = np.random.default_rng(0)
    n, n_entities = size(2_000, 20_466), 14_541
    triples = rng.integers(0, [n_entities, 237, n_entities], (n, 3))
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=n_entities, n_relations=237)
    columns = dict(zip("spo", np.tile(triples, (2, 1)).T))
    columns["side"] = pd.Categorical.from_codes(np.repeat([0, 1], n), SIDES)
    columns["split"] = pd.Categorical(["test"] * (2 * n))
    columns |= {f"{count}_{setting}": 0 for setting in ("raw", "filtered") for count in ("better", "tied", "rivals")}
    about = {**towns().facts, "dataset_fingerprint": dataset.fingerprint, "n_read": 2 * n}
    protocol = kg.Protocol(filter=("test",), unseen="rank")
    table = pd.DataFrame(columns)
    result = kg.EvaluationResult(table, dataset.entities, dataset.relations, protocol, about)
    order = rng.permutation(2 * n)
    other = replaced(result, table=table.iloc[order].reset_index(drop=True))
    rows = align([result, other], ["A", "B"], [Key.parse("mrr")], ()).rows
    assert sorted(rows[0].tolist()) == list(range(2 * n))
    is_same = order[rows[1]] == rows[0]
    repeated = table.duplicated(["s", "p", "o", "side"], keep=False).to_numpy()
    assert (is_same | repeated[rows[0]]).all()
    assert (~is_same).sum() <= repeated.sum()


def test_wins_under_expected_ties_are_those_of_expectations():
    """hits@1 of a positive tied with one rival is expected to be one half: better than 0, worse than 1."""
    (one, other), _, _ = random_tables(4)
    (record,) = rows_of(compare([one, other], metrics="expected.hits@1", n_resamples=9))
    alignment = compare([one, other], metrics="mrr", n_resamples=9).alignment
    a, b = (r.rank_table.moments("expected.hits@1", rows).values[:, 0] for r, rows in zip((one, other), alignment.rows))
    signs = np.sign(a - b).tolist()
    assert (record["wins"], record["ties"], record["losses"]) == tuple(signs.count(sign) for sign in (1, 0, -1))
    none = compare([one, other], metrics="expected.hmr", n_resamples=9).differences.iloc[0]
    assert (none["wins"], none["losses"]) == (0, 0)


def test_results_may_come_with_their_names():
    """A mapping names them, whatever its keys are."""
    (one, other), _, _ = random_tables(4)
    assert compare({"a": one, 2: other}, metrics="mrr", n_resamples=9).names == ("a", "2")


def test_default_names_differ():
    """Also where a scorer is called as a numbered one would be."""
    result = towns()
    called = [replaced(result, facts={**result.facts, "scorer": name}) for name in ("a", "a", "a (1)")]
    assert compare(called, metrics="mrr", n_resamples=9).names == ("a (1)", "a (2)", "a (1) (3)")


def test_tables_name_metrics_by_their_keys():
    """However a key was written: what is the default is left out, and the metric has its own name."""
    found = compare(pair(), metrics=["filtered.both.MRR", "raw.tail.Hits@1", "mean_rank"], n_resamples=99)
    assert list(found.keys) == ["mrr", "raw.object.hits@1", "mr"]
    assert found.differences["metric"].tolist() == list(found.keys)
    assert found.best("MRR") == found.best("filtered.mrr") == found.best("mrr")


def pair():
    """Two results on one ring of eight entities."""
    dataset = kg.Dataset.from_arrays(test=[[i, 0, (i + 1) % 8] for i in range(8)], n_entities=8, n_relations=1)
    return [kg.evaluate(lambda s, p, o, i=i: -((o - s - i) % 8), dataset, progress=False) for i in (1, 3)]
