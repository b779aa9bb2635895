"""Breakdowns, averages, intervals and further columns of a result, against numbers worked out by hand or by loops."""

import functools
import math
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from grids import light
from made_results import replaced

import kgeval as kg
import kgeval.base.files
import kgeval.features
import kgeval.stats
from kgeval.features.columns import FEATURES
from kgeval.results.evaluation_result import kept_rivals

METRICS = ["mrr", "mr", "hits@3"]
ALL_ALIKE = "the value is the same in every cluster, so its variation cannot be estimated"


@functools.cache  # results are read-only
def random_result(seed, n_entities=9, n_relations=3, n_test=14, sides="both", levels=6):
    """Return a result on a small random graph whose scores tie now and then."""
    rng = np.random.default_rng(seed)
    triples = np.unique(rng.integers(0, [n_entities, n_relations, n_entities], (3 * n_test, 3)), axis=0)
    rng.shuffle(triples)
    dataset = kg.Dataset.from_arrays(
        train=triples[n_test:], test=triples[:n_test], n_entities=n_entities, n_relations=n_relations
    )
    scores = rng.integers(0, levels, (n_entities, n_relations, n_entities)).astype(float)
    return kg.evaluate(lambda s, p, o: scores[s, p, o], dataset, kg.Protocol(sides=sides), progress=False)


def reciprocal_ranks(result):
    """Return the filtered, realistic reciprocal rank of each row, by a loop."""
    return [
        1.0 / (better + 1 + tied / 2)
        for better, tied in zip(result.table["better_filtered"], result.table["tied_filtered"], strict=True)
    ]


def test_robust_interval_of_the_worked_example():
    """Ranks 2 and 1: MRR .75, without one of them 1 or .5; V = 1/2 (.25^2 + .25^2), SE .25.

    Wilson's limits for (.75 * .25) / .25^2 = 3 observations, and Student's t with 1 degree of freedom.
    """
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 1, 2]], n_entities=5, n_relations=2)
    scores = {(0, 0): [0.1, 0.7, 0.9, 0.2, 0.3], (1, 1): [0.1, 0.2, 0.9, 0.3, 0.4]}

    def score(s, p, o):
        return np.array([scores[int(a), int(b)][int(c)] for a, b, c in zip(s, p, o, strict=True)])

    result = kg.evaluate(score, dataset, kg.Protocol(sides="object"), progress=False)
    found = result.interval("mrr")
    squared = math.tan(0.475 * math.pi) ** 2
    centre, reach = (
        part / (1 + squared / 3) for part in (0.75 + squared / 6, math.sqrt(squared / 16 + squared**2 / 36))
    )
    assert (found.low, found.high) == pytest.approx((centre - reach, centre + reach), rel=1e-9)
    assert (found.value, found.n_clusters, found.n_effective, found.method) == (0.75, 2, 2.0, "wilson")
    assert found.error == pytest.approx(0.25, rel=1e-9)
    wide = result.interval("mr", confidence=0.5)  # t is tan(pi / 4) = 1; MR 1.5, SE .5
    assert (wide.low, wide.high) == pytest.approx((1.0, 2.0), rel=1e-9)


def test_every_metric_has_an_interval():
    """Plain, against chance, of the median, and of queries; the number is the result's own."""
    result = random_result(1)
    for key in ("mrr", "raw.object.optimistic.hits@1", "expected.gmr", "hmr", "median_rank", "amri", "z(mrr)"):
        found = result.interval(key)
        assert found.value == pytest.approx(result[key], rel=1e-12), key
        assert found.low <= found.value <= found.high, key
    queries = result.interval("query.map", cluster="query")
    assert queries.n_clusters == result.facts["n_queries"]
    assert queries.value == pytest.approx(result["query.map"], rel=1e-12)
    assert result.interval("expected.median_rank").reason.startswith("median_rank has no exact expectation")


def test_refused_choices():
    """What an interval can be asked is said when it is asked for something else."""
    result = random_result(0)
    for call, message in (
        (
            lambda: result.interval("mrr", confidence=1.0),
            "confidence must be a share between 0 and 1, such as 0.95; got 1.0",
        ),
        (
            lambda: result.interval("mrr", cluster="side"),
            "cluster must be one of 'triple', 'query', 'entity'; got 'side'",
        ),
        (lambda: result.by("side", confidence=95), "confidence must be a share between 0 and 1, such as 0.95; got 95"),
    ):
        with pytest.raises(kg.MetricError) as caught:
            call()
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize("seed", light(range(10), 3))
def test_rows_of_a_breakdown_are_results_of_their_own(seed):
    """n, share, number and interval of each relation are those of a result that holds its triples alone."""
    result = random_result(seed)
    frame = result.by("relation", metrics=METRICS)
    assert list(frame.columns) == [
        "n", "share", *(f"{name}{end}" for name in METRICS for end in ("", " low", " high")), "n_effective",
        "reason",
    ]  # fmt: skip
    assert frame["share"].sum() == pytest.approx(1.0)
    for label, row in frame.iterrows():
        rows = np.flatnonzero(result.table["p"] == result.relations.ids([label])[0])
        assert (row["n"], row["share"]) == (len(rows), len(rows) / len(result.table))
        alone = replaced(
            result, table=result.table.iloc[rows], n_read=len(rows), dropped={}, notes=(), columns=None, source=None
        )
        for metric in METRICS:
            moments, found = result.rank_table.moments(metric, rows), alone.interval(metric)
            assert row[metric] == pytest.approx(float(moments.number), rel=1e-12)
            assert (row[f"{metric} low"], row[f"{metric} high"]) == pytest.approx(
                (found.low, found.high), rel=1e-9, nan_ok=True
            )
        numbers = [alone.interval(metric).n_effective for metric in METRICS]
        assert row["n_effective"] == pytest.approx(
            np.nanmin(numbers) if np.isfinite(numbers).any() else math.nan, nan_ok=True
        )


@pytest.mark.parametrize("seed", light(range(10), 3))
def test_macro_is_the_mean_of_the_groups(seed):
    """By a loop; micro is the result's own number, and both intervals hold theirs."""
    result = random_result(seed, n_test=20)
    frame = result.averages("relation", metrics=[*METRICS, "amri", "query.map", "median_rank"])
    groups = result.by("relation", metrics=[*METRICS, "amri", "query.map"], confidence=None)
    assert frame["n"].tolist() == [len(result.table), len(groups)]
    for key in (*METRICS, "amri", "query.map"):
        assert frame.loc["macro", key] == pytest.approx(groups[key].mean(), rel=1e-12)
        assert frame.loc["micro", key] == pytest.approx(result[key], rel=1e-12)
        for average in ("micro", "macro"):
            low, value, high = frame.loc[average, [f"{key} low", key, f"{key} high"]]
            assert low < value < high
    assert math.isnan(frame.loc["macro", "median_rank"])
    why = "median_rank is not a function of means; use gmr instead: bad ranks have little effect on it, too"
    assert frame["reason"].to_dict() == {"micro": "", "macro": f"median_rank: {why}"}


def test_macro_error_by_hand():
    """Groups of ranks (1, 2) and (4, 3, 5): MR 1.5 and 4, variances of the means .5 / 2 and 1 / 3; macro 2.75.

    V = (1/4 + 1/3) / 4. Degrees of freedom by Satterthwaite, with 2 and 3 clusters:
    (1/2 + 1/3)^2 / (1/4 / 1 + 1/9 / 2) = 2.27, rounded down: 2.
    """
    triples = [[0, 0, 1], [1, 0, 2], [2, 1, 4], [3, 1, 4], [4, 1, 0]]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=5, n_relations=2)
    order = {0: [0, 8, 0, 0, 0], 1: [9, 0, 8, 0, 0], 2: [9, 8, 7, 0, 6], 3: [9, 8, 0, 0, 7], 4: [1, 9, 8, 7, 6]}

    def score(s, p, o):
        return np.array([order[int(a)][int(c)] for a, c in zip(s, o, strict=True)], dtype=float)

    result = kg.evaluate(score, dataset, kg.Protocol(sides="object"), progress=False)
    assert (result.ranks(labels=True)["rank_filtered"]).tolist() == [1.0, 2.0, 4.0, 3.0, 5.0]
    frame = result.averages("relation", metrics="mr", confidence=0.95)
    assert frame.loc["macro", "mr"] == 2.75
    freedom = (1 / 2 + 1 / 3) ** 2 / (1 / 4 + 1 / 18)
    assert frame.loc["macro", "n_effective"] == pytest.approx(1 + freedom)
    t = 0.95 * math.sqrt(2 / (1 - 0.95**2))
    assert frame.loc["macro", "mr high"] - 2.75 == pytest.approx(t * math.sqrt((1 / 4 + 1 / 3) / 4), rel=1e-9)


def test_macro_with_a_single_triple_in_a_group_has_a_reason():
    """One triple in each of two of three relations: its variance is unknown, so there is no interval."""
    triples = [[0, 0, 1], [1, 0, 2], [2, 1, 3], [3, 2, 4]]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=6, n_relations=3)
    result = kg.evaluate(lambda s, p, o: (s + 2 * o) % 5, dataset, progress=False)
    frame = result.averages("relation", metrics=["mrr", "mr", "query.map"])
    why = (
        "2 of 3 groups have one cluster only (such as one triple), so that their variance is unknown; leave them out, "
    )
    why += "or merge groups"
    assert frame["reason"].to_dict() == {"micro": "", "macro": f"no interval of mrr, mr, query.map: {why}"}
    assert frame.loc["macro", ["mrr low", "mrr high", "n_effective"]].isna().all()
    assert frame.loc["macro", "mrr"] == result.by("relation", metrics="mrr")["mrr"].mean()
    assert not frame.loc["micro"].isna().any()


def test_features_come_from_the_dataset():
    """While the result has its dataset, a feature is looked up when it is asked for."""
    dataset = kg.Dataset.from_arrays(
        train=[[0, 0, 1], [0, 0, 2], [0, 0, 3], [4, 1, 5]], test=[[0, 0, 4], [5, 1, 4]], n_entities=6, n_relations=2
    )
    result = kg.evaluate(lambda s, p, o: s * 1.5 - o, dataset, progress=False)
    frame = result.by("cardinality", metrics="mr", confidence=None)
    assert frame["n"].to_dict() == {"1-1": 2, "1-N": 2}
    degrees = result.by("degree_given", metrics="mr", confidence=None)["n"].to_dict()
    assert degrees == {"1": 3, "2-3": 1}  # given: entity 4 once, entity 0 (degree 3), then 4 and 5 once each
    assert result.columns.shape == (4, 0)


def test_features_of_a_loaded_result_need_the_dataset_or_were_saved(tmp_path):
    """Saved with details they come back; without, the dataset is asked for, and must be the same."""
    result = random_result(3)
    full, bare = tmp_path / "full.kgeval", tmp_path / "bare.kgeval"
    result.save(full)
    result.save(bare, details=False)
    again = kg.load_result(full)
    assert set(again.columns) == set(FEATURES) - {"type_given", "type_asked"}
    for name in again.columns:
        pd.testing.assert_frame_equal(again.by(name, metrics="mrr"), result.by(name, metrics="mrr"))
    (kept, reason), (found, why) = kept_rivals(again), kept_rivals(result)
    assert len(kept) == len(found) > 0
    assert (reason, why) == ("", "")
    pd.testing.assert_frame_equal(kept, found)
    lean = kg.load_result(bare)
    assert (lean.columns.shape[1], len(kept_rivals(lean)[0])) == (0, 0)
    with pytest.raises(kg.DataError, match=r"cardinality: a saved result does not contain the dataset; pass the"):
        lean.by("cardinality")
    pd.testing.assert_frame_equal(
        lean.with_features(result._source.dataset).by("cardinality"), result.by("cardinality")
    )
    with pytest.raises(kg.DataError, match="the result was made from dataset"):
        lean.with_features(random_result(4)._source.dataset)
    with pytest.raises(kg.DataError, match="it was loaded from a file"):
        lean.explain(0, 0, 0)
    assert again == lean == result


def test_columns_of_ones_own():
    """Aligned, by labels, and by ids; what finds no row is missing and counted."""
    result = random_result(5, n_entities=5)
    aligned = result.with_columns({"half": np.arange(len(result.table)) % 2})
    frame = aligned.by("half", metrics="mr", confidence=None)
    ranks = result.ranks(labels=True)["rank_filtered"]
    assert frame.loc["0", "mr"] == ranks[::2].mean()
    assert frame.loc["1", "mr"] == ranks[1::2].mean()
    kinds = pd.DataFrame({"asked": ["0", "1", "2", "9"], "kind": ["even", "odd", "even", "odd"]})
    joined = result.with_columns(kinds)
    table = result.table
    asked = np.where(table["side"] == "subject", table["s"], table["o"])
    n = {"even": int(np.isin(asked, [0, 2]).sum()), "odd": int((asked == 1).sum()), "missing": int((asked > 2).sum())}
    assert joined.by("kind", metrics="mr", confidence=None)["n"].to_dict() == {k: v for k, v in n.items() if v}
    assert joined.notes[-1] == (
        f"columns kind: {n['missing']} of {len(table)} ranks have no matching row (shown as missing), "
        "1 of 4 rows match no rank"
    )
    by_id = result.with_columns(pd.DataFrame({"p": [0, 1, 2], "side": ["tail"] * 3, "group": ["a", "b", "a"]}))
    counts = by_id.by("group", metrics="mr", confidence=None)["n"].to_dict()
    is_object = (table["side"] == "object").to_numpy()
    assert counts["a"] == int((is_object & (table["p"] != 1).to_numpy()).sum())
    assert counts["missing"] == int((~is_object).sum())
    both = by_id.with_columns({"half": np.arange(len(table)) % 2}).by("group", "half", metrics="mr", confidence=None)
    assert both["n"].sum() == len(table)
    assert both.index.names == ["group", "half"]


def test_columns_that_do_not_fit():
    """Length, keys and names are checked; the message says what was expected."""
    result = random_result(5)
    n = len(result.table)
    for columns, message in (
        (
            {"x": [1, 2]},
            f"expected {n} rows, one for each row of the table of ranks, or key columns (s, p, o",
        ),
        ({"relation": ["0"]}, "expected at least one column to break down by, besides the key columns s, p, o"),
        ({"score": [1.0] * n}, "the column name 'score' is already in use; rename the column"),
        ({"p": [0, 0], "x": [1, 2]}, "p = 0 occurs more than once; keep one row per combination of keys"),
    ):
        with pytest.raises(kg.DataError) as caught:
            result.with_columns(columns)
        assert str(caught.value).startswith(message)


def test_saved_columns_come_back(tmp_path):
    """Numbers stay numbers, an order stays an order, a missing value stays missing."""
    result = random_result(6)
    n = len(result.table)
    sizes = pd.Categorical(["small", "large"] * (n // 2), categories=["small", "large"], ordered=True)
    result = result.with_columns(pd.DataFrame({"weight": np.linspace(0, 1, n), "size": sizes}))
    result = result.with_columns(pd.DataFrame({"p": [0], "kind": ["x"]}))
    result.save(tmp_path / "run.kgeval", details=False)
    again = kg.load_result(tmp_path / "run.kgeval")
    assert again.columns["weight"].tolist() == result.columns["weight"].tolist()
    assert again.columns["size"].cat.ordered
    for name in ("size", "kind"):
        pd.testing.assert_frame_equal(again.by(name, metrics="mr"), result.by(name, metrics="mr"))
    assert "missing" in again.by("kind", metrics="mr").index


def test_breakdown_of_nothing_has_no_rows():
    """A table without ranks gives a frame without rows, with all its columns."""
    result = random_result(0)
    empty = replaced(result, table=result.table.iloc[:0], n_read=0, dropped={}, notes=(), columns=None, source=None)
    for columns in (("relation",), ("relation", "side")):
        frame = empty.by(*columns, metrics="mr")
        assert (len(frame), list(frame.columns)) == (
            0,
            ["n", "share", "mr", "mr low", "mr high", "n_effective", "reason"],
        )


def test_reasons_stay_with_their_rows():
    """Whatever pandas does to the frame: a NaN of one relation keeps its reason through sorting, picking and joining.

    Of (?, 0, 0) entity 2 alone is no known answer, so relation 0 ranks it among itself: no AMRI.
    """
    dataset = kg.Dataset.from_arrays(
        train=[[0, 0, 0], [1, 0, 0]], test=[[2, 0, 0], [0, 1, 1], [1, 1, 2]], n_entities=3, n_relations=2
    )
    frame = kg.evaluate(lambda s, p, o: o - s, dataset, kg.Protocol(sides="subject"), progress=False).by(
        "relation", metrics="amri"
    )
    wanted = {"1": "", "0": "amri: random ranking already gives the best value of mr: 0 / 0"}
    assert frame["amri"].isna().to_dict() == {"1": False, "0": True}
    for changed in (frame.sort_values("n"), frame.iloc[::-1], frame[frame["amri"].isna()], pd.concat([frame, frame])):
        assert [wanted[label] for label in changed.index] == changed["reason"].tolist()


def test_group_order_is_by_size_then_category():
    """Most ranks first; of equally many the first category."""
    result = random_result(7, sides="object", n_test=4)
    column = pd.Categorical(["b", "a", "b", "a"], categories=["b", "a"])
    assert list(result.with_columns({"x": column}).by("x", metrics="mr").index) == ["b", "a"]


@pytest.mark.parametrize("seed", light(range(10), 3))
def test_weighted_means_by_a_loop(seed):
    """sum(w v) / sum(w) over the rows of the key's side; equal weights give the plain number."""
    result = random_result(seed)
    weights = np.random.default_rng(seed).random(len(result.table))
    values = reciprocal_ranks(result)
    is_object = (result.table["side"] == "object").tolist()
    for key, rows in (("mrr", range(len(values))), ("object.mrr", [i for i, here in enumerate(is_object) if here])):
        wanted = sum(weights[i] * values[i] for i in rows) / sum(weights[i] for i in rows)
        found = result.weighted(key, weights)
        assert found.value == pytest.approx(wanted, rel=1e-12)
        assert found.low < wanted < found.high
        equal, plain = result.weighted(key, np.full(len(values), 3.0)), result.interval(key)
        assert (equal.value, equal.low, equal.high) == pytest.approx((plain.value, plain.low, plain.high), rel=1e-6)


def test_popularity_counts_against_an_answer():
    """Train knows entity 1 three times and entity 2 once; ranks of 1 are first, those of 2 second.

    With beta 1 they weigh 1/3 and 1: MRR (1/3 * 1 + 1 * 1/2) / (4/3) = .625, against .75.
    """
    train = [[0, 0, 1], [3, 0, 1], [4, 0, 1], [5, 0, 2]]
    dataset = kg.Dataset.from_arrays(train=train, test=[[2, 0, 1], [1, 0, 2]], n_entities=6, n_relations=1)

    def score(s, p, o):
        return np.where(s == 2, (o == 1) * 1.0, (o == 2) * 1.0 + (o == 3) * 2.0)

    result = kg.evaluate(score, dataset, kg.Protocol(sides="object"), progress=False)
    assert result["mrr"] == 0.75
    weights = kg.features.popularity_weights(result.table, dataset, beta_entity=1.0)
    assert result.weighted("mrr", weights).value == pytest.approx(0.625, rel=1e-12)


def test_refused_weights():
    """Shape, sign and kind of metric."""
    result = random_result(0)
    n = len(result.table)
    for key, weights, message in (
        ("mrr", [1.0], f"weights must be finite and at least 0, one for each of the {n} rows of the table; got shape"),
        ("mrr", [-1.0] * n, "weights must be finite and at least 0"),
        ("mrr", [0.0] * n, f"the weights of all {n} ranks of 'mrr' are 0"),
        ("mrr", [1e308] * n, "the largest weight must be between 1e-100 and 1e+100, since sums of weighted values "),
        ("mr", [0.0] * (n - 1) + [1e-320], "the largest weight must be between 1e-100 and 1e+100, since sums of wei"),
        ("query.map", [1.0] * n, "query-level metrics cannot be weighted; got query.map"),
        ("median_rank", [1.0] * n, "median_rank is not a function of means"),
        ("z(mrr)", [1.0] * n, "z(mrr) under realistic ties has no weighted form: it depends on the number of ranks"),
        ("expected.gmr", [1.0] * n, "gmr under expected ties has no weighted form: it depends on the number of ranks"),
        (
            "adjusted(gmr)",
            [1.0] * n,
            "adjusted(gmr) under realistic ties has no weighted form: it depends on the number of ranks",
        ),
    ):
        with pytest.raises(kg.MetricError) as caught:
            result.weighted(key, weights)
        assert str(caught.value).startswith(message)


def test_a_share_at_its_edge_has_an_interval():
    """0 of 10 hits, 10 clusters: Wilson's upper end is t^2 / (n + t^2), t of 9 degrees of freedom; not 0."""
    triples = [[i, 0, i + 1] for i in range(10)]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=12, n_relations=1)
    sides = kg.Protocol(sides="object")
    never = kg.evaluate(lambda s, p, o: -(o == s + 1).astype(float), dataset, sides, progress=False).interval("hits@1")
    always = kg.evaluate(lambda s, p, o: (o == s + 1).astype(float), dataset, sides, progress=False).interval("hits@1")
    assert (never.value, never.low, always.value, always.high) == (0.0, 0.0, 1.0, 1.0)
    assert never.high == pytest.approx(2.2621571628**2 / (10 + 2.2621571628**2), rel=1e-9)
    assert always.low == pytest.approx(1.0 - never.high, rel=1e-9)
    assert never.method == "wilson"


def test_perfect_ranks_vary_in_nothing():
    """MR and GMR of ranks 1 alone have a reason instead of limits; MRR, like a share, has room on one side."""
    triples = [[i, 0, i + 1] for i in range(5)]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=7, n_relations=1)
    result = kg.evaluate(
        lambda s, p, o: (o == s + 1).astype(float), dataset, kg.Protocol(sides="object"), progress=False
    )
    for found in (*map(result.interval, ("mr", "gmr", "amri")),):
        assert (found.value, found.reason) == (1.0, ALL_ALIKE)
        assert math.isnan(found.low)
        assert math.isnan(found.high)
    squared = kgeval.stats.tails.student_quantile(0.975, 4) ** 2
    frame = result.averages("relation", metrics="mr,mrr,query.map")
    for key in ("mrr", "query.map"):
        found = result.interval(key)
        assert (found.low, found.high) == (pytest.approx(5 / (5 + squared), rel=1e-12), 1.0)
        assert frame.loc["macro", f"{key} low"] == pytest.approx(5 / (5 + squared), rel=1e-12)
    assert frame.loc["macro", "reason"] == f"no interval of mr: within each group {ALL_ALIKE}"


def test_rows_of_a_table_count_by_position():
    """A shuffled or filtered frame keeps its index; what it says of an entity stays with that entity."""
    result = random_result(5)
    kinds = pd.DataFrame({"asked": [str(i) for i in range(9)], "kind": [f"k{i % 3}" for i in range(9)]})
    wanted = result.with_columns(kinds).by("kind", metrics="mr")
    for frame in (kinds.sample(frac=1.0, random_state=1), kinds.set_index(pd.RangeIndex(100, 109))):
        pd.testing.assert_frame_equal(result.with_columns(frame).by("kind", metrics="mr"), wanted)


def test_values_that_read_alike_are_one_group(tmp_path):
    """None and "missing", 1 and "1": no row is lost, neither in a group nor in the file."""
    result = random_result(5)
    n = len(result.table)
    for values, label in (([None, "missing"] * (n // 2), "missing"), ([1, "1"] * (n // 2), "1")):
        mixed = result.with_columns({"k": np.array(values, dtype=object)})
        frame = mixed.by("k", metrics="mr")
        assert frame["n"].to_dict() == {label: n}
        mixed.save(tmp_path / "run.kgeval", overwrite=True)
        assert kg.load_result(tmp_path / "run.kgeval").by("k", metrics="mr")["n"].to_dict() == {label: n}


def test_saving_keeps_the_columns_that_were_chosen(tmp_path):
    """Cardinality over one split stays so; the names of features are not free for others."""
    result = random_result(8, n_test=20).with_features(means_from=["test"])
    assert result.notes[-1] == "cardinality and pattern: taken over test"
    result.save(tmp_path / "run.kgeval")
    again = kg.load_result(tmp_path / "run.kgeval")
    for name in ("cardinality", "pattern", "seen"):
        assert again.columns[name].tolist() == result.columns[name].tolist()
    assert again.columns["cardinality"].tolist() != random_result(8, n_test=20).with_features().columns[
        "cardinality"
    ].tolist()  # fmt: skip
    with pytest.raises(kg.DataError, match="the column name 'seen' is already in use"):
        result.with_columns({"seen": [1] * len(result.table)})


def test_numbers_that_could_be_labels_are_refused():
    """Labels "10", "20", ...: integers could be either, so they must be text."""
    frame = pd.DataFrame([["10", "5", "20"], ["20", "5", "30"]])
    dataset = kg.Dataset.from_frames(test=frame)
    result = kg.evaluate(lambda s, p, o: o, dataset, progress=False)
    kinds = pd.DataFrame({"asked": [10, 20], "kind": ["a", "b"]})
    with pytest.raises(kg.DataError, match="column 'asked' holds integers, and the labels are numbers too"):
        result.with_columns(kinds)
    counts = result.with_columns(kinds.astype({"asked": str})).by("kind", metrics="mr")["n"].to_dict()
    assert counts == {"b": 2, "a": 1, "missing": 1}  # asked: 10 and 20 as subjects, 20 and 30 as objects


def test_lengths_are_checked():
    """Columns and rivals of another table are refused when a result is made of them."""
    result = random_result(5)
    with pytest.raises(kg.DataError, match="columns has 1 rows; the table has"):
        replaced(result, columns=pd.DataFrame({"x": [1]}))
    with pytest.raises(kg.DataError, match="rivals: row .* does not exist"):
        replaced(result, rivals=pd.DataFrame({"row": [10**6]}))
    with pytest.raises(kg.DataError, match="expected columns of equal length"):
        result.with_columns({"x": 1})


def test_nothing_ranked_has_no_averages_and_no_rivals():
    """A table without rows gives NaN with a reason, and an empty table of rivals."""
    result = random_result(0)
    empty = replaced(result, table=result.table.iloc[:0], n_read=0, dropped={}, rivals=None)
    frame = empty.averages("relation", metrics="mrr")
    assert frame["mrr"].isna().all()
    assert frame.loc["macro", "reason"] == "mrr: no groups"
    assert len(kept_rivals(empty)[0]) == 0


def test_an_index_of_its_own_is_refused():
    """A shuffled Series would go by position in silence; the table's own index and plain counts are fine."""
    result = random_result(5)
    sizes = pd.Series(np.arange(len(result.table)), index=result.table.index)
    for fine in (sizes, sizes.to_numpy(), sizes.reset_index(drop=True)):
        assert result.with_columns({"size": fine}).columns["size"].tolist() == list(range(len(sizes)))
    with pytest.raises(kg.DataError, match="column 'size' has another index than the table of ranks"):
        result.with_columns({"size": sizes.sample(frac=1.0, random_state=0)})


def test_weights_with_an_index_of_their_own_are_refused():
    """Sorted weights would weigh other ranks in silence: position counts, so the index must say the same order."""
    result = random_result(5)
    weights = pd.Series(np.arange(1.0, len(result.table) + 1), index=result.table.index)
    for fine in (weights, weights.tolist(), weights.sort_values(ascending=False).sort_index()):
        assert result.weighted("mrr", fine).value == result.weighted("mrr", weights.to_numpy()).value
    with pytest.raises(kg.MetricError) as caught:
        result.weighted("mrr", weights.sort_values(ascending=False))
    assert str(caught.value) == (
        "weights has another index than the table of ranks, so the order of its rows is unclear; give the values in "
        "the order of the table (.to_numpy())"
    )


def test_masked_weights_are_refused():
    """A masked weight would count with the number under the mask."""
    result = random_result(5)
    with pytest.raises(kg.MetricError, match=r"weights must not be a masked array; fill it, such as with weights\.fil"):
        result.weighted("mrr", np.ma.masked_less(np.arange(len(result.table)), 3))


def test_a_table_with_an_index_of_its_own_is_read_by_position():
    """Columns and features of a shuffled table belong to the shuffled rows, as if it were loaded from a file."""
    result = random_result(5)
    rows = np.random.default_rng(0).permutation(len(result.table))
    shuffled = result.__replace__(table=result.table.iloc[rows])
    plain = result.__replace__(table=result.table.iloc[rows].reset_index(drop=True))
    assert shuffled.table.index.equals(pd.RangeIndex(len(rows)))
    frame = pd.DataFrame({"s": [str(i) for i in range(9)], "is_low": [i < 4 for i in range(9)]})
    for change in (lambda r: r.with_columns(frame), lambda r: r.with_features(features=["degree_asked"])):
        wanted, found = change(plain), change(shuffled)
        assert found.columns.equals(wanted.columns)
        assert len(found.columns) == len(found.table)
    lows = shuffled.with_columns(frame).columns["is_low"].tolist()
    assert lows == (result.table["s"].to_numpy()[rows] < 4).tolist()
    columns = pd.DataFrame({"row": rows}, index=rows)
    assert result.__replace__(table=result.table.iloc[rows], columns=columns).columns["row"].tolist() == rows.tolist()


def test_keys_that_are_neither_labels_nor_ids_are_refused():
    """An id column with a gap becomes float in pandas; 3.0 is no label, so every rank would be "missing"."""
    result = random_result(5)
    ids = pd.DataFrame({"s": np.arange(9), "x": np.arange(9) % 2})
    wanted = result.with_columns(ids).columns["x"].tolist()
    for fine in (ids.astype({"s": "Int64"}), ids.astype({"s": object}), ids.astype({"s": str})):
        assert result.with_columns(fine).columns["x"].tolist() == wanted
    with pytest.raises(kg.DataError) as caught:
        result.with_columns(ids.astype({"s": float}))
    assert str(caught.value) == (
        "column 's', row 0: expected labels (text) or ids (integers), found 0.0 (float). If these are ids, drop the "
        "rows without an id and convert the column: .astype(int)"
    )
    gaps = ids.astype({"s": str}).astype({"s": object})
    gaps.loc[8, "s"] = None
    found = result.with_columns(gaps)
    assert found.notes[-1].startswith(f"columns x: {(result.table['s'] == 8).sum()} of 28 ranks have no matching row")


def test_whole_numbers_stay_whole_where_some_are_missing():
    """0 and 1 are not 0.0 and 1.0; the ranks without a row are said aloud."""
    result = random_result(5)
    with pytest.warns(kg.KgevalWarning, match="ranks have no matching row"):
        joined = result.with_columns(pd.DataFrame({"p": [0, 1], "kind": [0, 1]}))
    assert set(joined.by("kind", metrics="mr").index) == {"0", "1", "missing"}


def test_names_to_group_by_may_come_as_a_list():
    result = random_result(5)
    pd.testing.assert_frame_equal(result.by(["relation", "side"]), result.by("relation", "side"))


def test_the_note_on_means_is_that_of_the_columns():
    """Made anew over all splits, the columns lose the note; it names only what was made."""
    result = random_result(8, n_test=20)
    chosen = result.with_features(means_from="test")
    assert chosen.notes[-1] == "cardinality and pattern: taken over test"
    assert result.with_features(features=["pattern"], means_from=["test"]).notes[-1] == "pattern: taken over test"
    assert result.with_features(features=["seen"], means_from=["test"]).notes == result.notes
    again = chosen.with_features()
    assert again.notes == result.notes
    assert again.columns["cardinality"].tolist() == result.with_features().columns["cardinality"].tolist()


def test_what_is_no_table_of_columns():
    """A list, nothing, and a bare Series out of order."""
    result = random_result(5)
    for wrong in ([1, 2], None):
        with pytest.raises(kg.DataError, match="expected a DataFrame, or a mapping of names to columns; got"):
            result.with_columns(wrong)
    sizes = pd.Series(np.arange(len(result.table)), name="size")
    assert result.with_columns(sizes).columns["size"].tolist() == sizes.tolist()
    with pytest.raises(kg.DataError, match="column 'size' has another index than the table of ranks"):
        result.with_columns(sizes[::-1])
    for name in ("rank_raw", "cardinality"):
        with pytest.raises(kg.DataError, match=f"the column name '{name}' is already in use"):
            result.with_columns({name: np.zeros(len(result.table))})


def test_nullable_integers_keep_their_names(tmp_path):
    """2 is not 2.0 after loading, though some are missing."""
    result = random_result(5)
    values = pd.array([1, 2, None] * len(result.table), dtype="Int64")[: len(result.table)]
    joined = result.with_columns({"k": values})
    joined.save(tmp_path / "run.kgeval")
    again = kg.load_result(tmp_path / "run.kgeval")
    assert set(joined.by("k", metrics="mr").index) == set(again.by("k", metrics="mr").index) == {"1", "2", "missing"}


def test_numbers_are_sorted_as_numbers():
    """9 before 10, in groups of equal size."""
    result = random_result(5)
    n = len(result.table)
    assert list(result.with_columns({"k": [10, 9] * (n // 2)}).by("k", metrics="mr").index) == ["9", "10"]


def test_the_median_is_clustered():
    """By Woodruff, with the clusters of triples; arguments of the bootstrap, which is gone, say so."""
    result = random_result(2, n_test=20)
    found = result.interval("median_rank")
    assert (found.method, found.n_clusters) == ("woodruff", len(result.table[["s", "p", "o"]].drop_duplicates()))
    for gone in ({"method": "bca"}, {"seed": 1}, {"n_resamples": 99}):
        said = rf"interval\(\) has no argument '{next(iter(gone))}' any more: there is no bootstrap"
        with pytest.raises(kg.ProtocolError, match=said):
            result.interval("mrr", **gone)


def macro_by_a_loop(values, groups, clusters):
    """Value, standard error and degrees of freedom of the macro mean; each mean anew without each cluster."""
    members = {group: [i for i, other in enumerate(groups) if other == group] for group in set(groups)}
    changes, shares, means = defaultdict(float), [], []
    for rows in members.values():
        labels = {clusters[i] for i in rows}
        mean = sum(values[i] for i in rows) / len(rows)
        for label in labels:
            rest = [values[i] for i in rows if clusters[i] != label]
            changes[label] += math.sqrt((len(labels) - 1) / len(labels)) * (sum(rest) / len(rest) - mean)
        sizes = [sum(clusters[i] == label for i in rows) for label in labels]
        shares.append(sum(size**2 for size in sizes) / len(rows) ** 2)
        means.append(mean)
    error = math.sqrt(sum(change**2 for change in changes.values())) / len(members)
    freedom = sum(shares) ** 2 / sum(share**2 / (1 / share - 1) for share in shares)
    return sum(means) / len(means), error, freedom


@pytest.mark.parametrize("seed", range(5))
def test_macro_of_interleaved_groups_by_a_loop(seed):
    """By relation, whose triples are its own, and by side, which divides every triple; raw and at any level."""
    result = random_result(seed, n_test=20)
    table = result.table
    ranks = [b + 1 + t / 2 for b, t in zip(table["better_raw"], table["tied_raw"], strict=True)]
    triples = table[["s", "p", "o"]].to_records(index=False).tolist()
    for column, groups in (("relation", table["p"].tolist()), ("side", table["side"].tolist())):
        frame = result.averages(column, metrics="mr,mrr", setting="raw", confidence=0.5)
        for key, values in (("mr", ranks), ("mrr", [1 / rank for rank in ranks])):
            value, error, freedom = macro_by_a_loop(values, groups, triples)
            t = kgeval.stats.tails.student_quantile(0.75, math.floor(freedom))
            low, found, high = frame.loc["macro", [f"{key} low", key, f"{key} high"]]
            assert found == pytest.approx(value, rel=1e-12)
            if key == "mr":
                assert (low, high) == pytest.approx((value - t * error, value + t * error), rel=1e-9)
            else:
                size = value * (1 - value) / error**2
                reach = t * math.sqrt(value * (1 - value) / size + t * t / (4 * size * size)) / (1 + t * t / size)
                assert (high - low) / 2 == pytest.approx(reach, rel=1e-9)
            micro = result.interval(f"raw.{key}", confidence=0.5)
            assert frame.loc["micro", f"{key} high"] == pytest.approx(micro.high, rel=1e-12)


def test_weights_of_another_side_are_no_weights():
    """All of the object side weigh 0: there is no mean."""
    result = random_result(0)
    weights = (result.table["side"] == "subject").to_numpy().astype(float)
    with pytest.raises(kg.MetricError, match="the weights of all"):
        result.weighted("object.mr", weights)


def test_impossible_files_are_refused(tmp_path):
    """Counts beyond the rivals, filtered beyond raw, rivals of no row."""
    result = random_result(3)
    path = tmp_path / "run.kgeval"
    result.save(path)
    arrays, header = kgeval.base.files.read_archive(path)
    for name, change in (
        ("better_raw", lambda a: a + arrays["rivals_raw"].max() - a - arrays["tied_raw"] + 1),
        ("rivals_filtered", lambda a: arrays["rivals_raw"] + 1),
        ("rival_row", lambda a: a * 0 - 1),
    ):
        kgeval.base.files.write_archive(path, {**arrays, name: change(arrays[name])}, header, overwrite=True)
        with pytest.raises(kg.DataError, match="is damaged"):
            kg.load_result(path)
