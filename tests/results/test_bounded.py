"""Ranks that are only bounded, and results of which a part is unknown: values, bounds, reasons and files, by loops."""

import functools
import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import oracle
import oracle_lists
import pandas as pd
import pytest
from grids import light, size
from made_results import replaced, saved_with

import kgeval as kg
from kgeval.display.media import format_frame, frame_records, undefined_lines
from kgeval.errors import DataError, MetricError
from kgeval.results.bounded import UNKNOWN_COUNT, bounded_rows
from kgeval.results.evaluation_result import header_lines, metric_cautions
from kgeval.results.explanations import extreme_rows

PLAIN = ("mr", "mrr", "hits@1", "hits@3", "gmr", "hmr", "median_rank")
WRAPPED = ("amri", "adjusted(hits@3)", "z(mrr)")
TIES = ("realistic", "optimistic", "pessimistic", "expected")
LISTS = ("map", "recall@2", "rr", "ndcg@3", "success@1", "auc", "rprec")


@functools.cache  # results are read-only
def ranked(n):
    """A result of n object queries."""
    n_entities = max(n, 4)
    triples = [[i, 0, (i + 1) % n_entities] for i in range(n)]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=n_entities, n_relations=1, name="four")
    return kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sides="object"), progress=False)


def bounded_result(n=2, better=(0, 2), tied=(0, 1), bounded=(False, True), rivals=3, unknown=None, **about):
    """A result of n object queries with given counts in both settings."""
    result = ranked(n)
    names = {"better": better, "tied": tied, "bounded": bounded, "rivals": [rivals] * n}
    columns = {f"{name}_{s}": np.array(values) for name, values in names.items() for s in ("raw", "filtered")}
    about = {**result.facts, **about, **({"unknown": unknown} if unknown else {})}
    return replaced(result, table=result.table.assign(**columns), facts=about, source=None)


def random_table(rng):
    """(better, tied, rivals, bounded) rows: few bounded ones, mixed with ties."""
    rows = []
    for _ in range(int(rng.integers(1, 5))):
        rivals = int(rng.integers(1, 7))
        better = int(rng.integers(0, rivals + 1))
        tied = int(rng.integers(0, min(2, rivals - better) + 1))
        rows.append((better, tied, rivals, bool(rng.random() < 0.5)))
    return rows


def result_of(rows):
    better, tied, _, bounded = zip(*rows, strict=True)
    result = bounded_result(len(rows), better, tied, bounded)
    rivals = np.array([row[2] for row in rows])
    return replaced(result, table=result.table.assign(rivals_raw=rivals, rivals_filtered=rivals))


def placements(rows):
    """Every table in which each bounded row has one of its ranks; the other rows keep their ties."""
    ranges = [range(b, b + t + 1) if bounded else (None,) for b, t, _, bounded in rows]
    for places in itertools.product(*ranges):
        yield [
            (better, tied, rivals) if place is None else (place, 0, rivals)
            for place, (better, tied, rivals, _) in zip(places, rows, strict=True)
        ]


def value_by_loop(name, rows, ties):
    if name == "amri":
        return oracle.adjusted("mr", rows, ties)
    if "(" in name:
        wrapper, _, inner = name.rstrip(")").partition("(")
        return {"adjusted": oracle.adjusted, "z": oracle.z}[wrapper](inner, rows, ties)
    return oracle.metric(name, rows, ties)


@pytest.mark.parametrize("seed", light(range(16), 1))
def test_bounds_are_those_of_all_placements(seed):
    """Each metric, each tie policy: bounds are attained and never exceeded; a value stands only where they meet."""
    rng = np.random.default_rng(seed)
    for _ in range(size(2, 4)):
        rows = random_table(rng)
        result, tables = result_of(rows), list(placements(rows))
        for name, ties in itertools.product((*PLAIN, *WRAPPED), TIES):
            values = [value_by_loop(name, table, ties) for table in tables]
            value, key = result.value(f"{ties}.{name}"), f"{ties}.{name}"
            if None in values:
                assert math.isnan(value.value), (rows, key)
                assert "bounded" not in value.reason, (rows, key)
                continue
            low, high = (float(end) for end in (min(values), max(values)))
            assert result.bounds(key) == pytest.approx((low, high), rel=1e-12), (rows, key)
            interval = result.interval(key)
            if ties in ("optimistic", "pessimistic"):
                plain = [row[:3] for row in rows]
                expected = float(value_by_loop(name, plain, ties))
                assert value.value == pytest.approx(expected, rel=1e-12), (rows, key)
            elif low == high:
                assert value.value == pytest.approx(low, rel=1e-12), (rows, key)
                assert not value.reason, (rows, key)
                assert interval.value == value.value
            else:
                n = sum(row[3] and row[1] > 0 for row in rows)
                are = "is" if n == 1 else "are"
                assert math.isnan(value.value), (rows, key)
                assert math.isnan(interval.value), (rows, key)
                assert value.reason.startswith("the value lies between "), (rows, key)
                assert value.reason.endswith(f", since {n} of {len(rows)} ranks {are} bounded"), (rows, key)
                assert interval.reason == value.reason
                if name != "median_rank":
                    with pytest.raises(MetricError, match="bounded"):
                        result.rank_table.moments(key)


def test_optimistic_and_pessimistic_keys_are_the_bounds_if_no_other_rank_ties():
    result = bounded_result(better=(0, 2), tied=(0, 1))
    assert result.bounds("mr") == (result["optimistic.mr"], result["pessimistic.mr"]) == (2.0, 2.5)
    assert result.bounds("mrr") == (result["pessimistic.mrr"], result["optimistic.mrr"])
    assert result.value("hits@1") == kg.metrics.MetricValue(0.5)
    assert result["hits@3"] != result["hits@3"]
    assert math.isnan(result["query.map"])
    assert result["optimistic.query.map"] == pytest.approx((1 + 1 / 3) / 2)
    assert result.chance("mr").value == result_of([(0, 0, 3, False), (2, 1, 3, False)]).chance("mr").value == 2.5


def of_lists(rng, sides="object"):
    """A result of random lists that end early, and per query its tie groups and unlisted answers; raw and filtered."""
    n = int(rng.integers(3, 5))
    arrays = {split: rng.integers(0, [n, 1, n], (m, 3)) for split, m in (("train", 3), ("test", 4))}
    dataset = kg.Dataset.from_arrays(**arrays, n_entities=n, n_relations=1)
    result = kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sides=sides), progress=False)
    columns = {f"{name}_{s}": [] for name in ("better", "tied", "bounded") for s in ("raw", "filtered")}
    queries, groups_of = {}, {}
    for s, p, o, side in result.table[["s", "p", "o", "side"]].itertuples(index=False):
        given, answer = (s, o) if side == "object" else (o, s)
        query = (side, p, given)
        if query not in groups_of:
            listed = rng.permutation(n)[: int(rng.integers(0, n + 1))]
            cuts = np.flatnonzero(rng.random(max(0, len(listed) - 1)) < 0.6) + 1
            groups_of[query] = [set(map(int, group)) for group in np.split(listed, cuts) if len(group)]
        groups = groups_of[query]
        split_answers = {
            split: {
                int(b if side == "object" else a)
                for a, _, b in arrays[split]
                if given in ((a,), (b,))[side != "object"]
            }
            for split in ("train", "test")
        }
        queries[query] = (groups, split_answers, n)
        for setting in ("raw", "filtered"):
            known = (split_answers["train"] | split_answers["test"]) - {answer} if setting == "filtered" else set()
            left = [[e for e in group if e != answer and e not in known] for group in groups]
            place = next((i for i, group in enumerate(groups) if answer in group), None)
            n_unlisted = n - 1 - len(known) - sum(map(len, left))
            columns[f"better_{setting}"].append(sum(map(len, left[:place])))
            columns[f"tied_{setting}"].append(n_unlisted if place is None else len(left[place]))
            columns[f"bounded_{setting}"].append(place is None)
    table = result.table.assign(**{name: np.array(values) for name, values in columns.items()})
    return replaced(result, table=table), queries


def ratios_of_query(text, query, setting, ties):
    """The (numerator, denominator) of a query in each order of the candidates that its list lacks."""
    groups, answers, n = query
    relevant = answers["test"]
    gone = answers["train"] - relevant if setting == "filtered" else set()
    graded = [[int(e in relevant) for e in sorted(group - gone)] for group in groups]
    listed = set().union(*groups) if groups else set()
    unlisted = [int(e in relevant) for e in range(n) if e not in listed | gone]
    ends = sorted(set(itertools.permutations(unlisted)))
    return [
        oracle_lists.mean_ratio(text, oracle_lists.orders([*graded, *([grade] for grade in end)], ties)) for end in ends
    ]


@pytest.mark.parametrize("seed", light([4, *range(4), *range(5, 14)], 1))  # 4 has the most bounded ranks
def test_query_level_bounds_are_those_of_all_orders(seed):
    """Lists that end early, ties in them: bounds of macro and micro means, values per query, against all orders."""
    rng, n_bounded = np.random.default_rng(seed), 0
    for _ in range(size(1, 2)):
        result, queries = of_lists(rng, "both")
        n_bounded += bounded_rows(result.table, "filtered").sum()
        texts, policies = rng.permutation(LISTS)[:3].tolist(), ("expected", "optimistic", "pessimistic")
        for text, setting, ties in itertools.product(texts, ("raw", "filtered"), policies):
            ratios = [ratios_of_query(text, query, setting, ties) for query in queries.values()]
            kept = [[a / b for a, b in pairs] for pairs in ratios if pairs[0][1]]
            for average in ("", "micro."):
                key = f"{setting}.{ties}.query.{average}{text}"
                value = result.value(key)
                if not kept:
                    assert math.isnan(value.value)
                    assert "bounded" not in value.reason
                    continue
                ends = []
                for best in (min, max):
                    if average:
                        total = sum(Fraction(pairs[0][1]) for pairs in ratios)
                        ends.append(float(sum(best(a for a, _ in pairs) for pairs in ratios) / total))
                    else:
                        ends.append(float(sum(map(best, kept)) / len(kept)))
                assert result.bounds(key) == pytest.approx(ends, abs=1e-12), (key, queries)
                if ties == "expected":
                    is_equal = ends[0] == ends[1]
                    assert math.isnan(value.value) != is_equal, (key, queries)
                    assert not is_equal or value.value == pytest.approx(ends[0], abs=1e-12)
                else:
                    assert value.value == pytest.approx(ends[ties == "optimistic"], abs=1e-12), (key, queries)
        for ties in policies:
            frame = result.per_query(texts, ties=ties)
            for name, row in zip(frame.index, frame.to_dict("records"), strict=True):
                query = queries[name[0], 0, int(name[2])]
                for text in texts:
                    pairs = ratios_of_query(text, query, "filtered", ties)
                    values = {float(a / b) for a, b in pairs if b}
                    if len(values) == 1 or (values and ties != "expected"):
                        wanted = {"optimistic": max, "pessimistic": min}.get(ties, min)(values)
                        assert row[text] == pytest.approx(wanted, abs=1e-12), (text, query, ties)
                    else:
                        assert math.isnan(row[text]), (text, query, ties)
                        assert text in row["reason"], (text, query, ties)
                        assert not values or "depends on bounded ranks" in row["reason"]
    assert n_bounded


def test_lists_say_where_bounded_answers_stand():
    result = bounded_result(better=(0, 2), tied=(0, 1))
    with pytest.raises(MetricError, match=r"^1 of 2 ranks are bounded, .* lists\(bounded='optimistic'\)"):
        result.lists()
    with pytest.raises(MetricError, match="bounded must be one of"):
        result.lists(bounded="best")
    assert result.lists(bounded="optimistic").before.tolist() == [0, 2]
    assert result.lists(bounded="pessimistic").before.tolist() == [0, 3]
    assert result.lists(bounded="pessimistic").names.tolist() == [("object", "0", "0"), ("object", "0", "1")]


def test_ranks_tie_rate_and_labels_leave_bounded_rows_out():
    result = bounded_result(3, (0, 1, 0), (0, 1, 2), (False, True, False))
    ranks = result.rank_table
    np.testing.assert_array_equal(ranks.ranks(), [1.0, np.nan, 2.0])
    assert ranks.ranks(ties="optimistic").tolist() == [1, 2, 1]
    assert ranks.ranks(ties="pessimistic").tolist() == [
        1,
        3,
        3,
    ]
    assert result.tie_rate == 0.5  # the bounded row has no known tie
    np.testing.assert_array_equal(result.ranks(labels=True)["rank_filtered"], [1.0, np.nan, 2.0])
    assert result.ranks(labels=True)["bounded_filtered"].tolist() == [False, True, False]
    assert 1 not in extreme_rows(ranks)
    one = bounded_result(2, (0, 2), (0, 0), (False, True))  # both bounds are equal, so the rank is known
    assert one["mr"] == 2.0
    assert one.rank_table.ranks().tolist() == [1, 3]
    assert one.tie_rate == 0


def test_weights_of_zero_decide():
    """A row of weight 0 does not matter; else the message has the weighted bounds."""
    result = bounded_result(better=(0, 1), tied=(0, 2))
    assert result.weighted("mr", [2.0, 0.0]).value == 1.0
    message = "^the value lies between 1.25 and 1.75, since 1 of 2 ranks is bounded$"
    with pytest.raises(MetricError, match=message):
        result.weighted("mr", [3.0, 1.0])
    assert result.weighted("optimistic.mr", [3.0, 1.0]).value == 1.25


def test_breakdowns_are_undefined_only_where_it_matters():
    result = bounded_result(4, (0, 1, 0, 0), (0, 2, 1, 0), (False, True, False, False))
    result = result.with_columns({"kind": ["a", "a", "b", "b"]})
    frame = result.by("kind", metrics="mr,hits@1,query.map", confidence=None)
    assert frame.loc["a", "hits@1"] == 0.5
    assert frame.loc["b", "mr"] == 1.25
    assert np.isnan(frame.loc["a", "mr"])
    assert frame.loc["b", "reason"] == ""
    text = "the value lies between {}, since 1 of 2 ranks is bounded"
    assert frame.loc["a", "reason"] == (
        f"mr: {text.format('1.50 and 2.50')}; query.map: {text.format('0.6250 and 0.7500')}"
    )
    averages = result.averages("kind", metrics="mr,hits@1")
    assert averages.loc["macro", "hits@1"] == 0.5
    assert np.isnan(averages["mr"]).all()
    assert averages.loc["macro", "reason"] == "mr: the value lies between 1.38 and 1.88, since 1 of 4 ranks is bounded"
    assert result.by("kind", metrics="mr", ties="optimistic").loc["a", "mr"] == 1.5


def test_summary_under_each_policy():
    result = bounded_result()
    assert result.summary("mr,mrr", ties="optimistic")["reason"].eq("").all()
    frame = result.summary("mr,mrr", confidence=0.9)
    assert frame[["mr", "mr low", "mrr high"]].isna().all(axis=None)
    assert frame_records(frame)[0]["mr"] is None
    assert "between 2.00 and 2.50" in frame_records(frame)[0]["reason"]
    for style in ("csv", "latex", "markdown", "table"):
        assert "nan" not in format_frame(frame, style).lower()
    assert "undefined in filtered object, raw object: mr: the value lies" in undefined_lines(frame)[0]


def test_the_median_has_an_interval_if_its_limits_are_decided():
    rows = [(i, 0, 99, False) for i in range(40)] + [(60, 5, 99, True)]
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1 + i] for i in range(41)], n_entities=100, n_relations=1)
    result = kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sides="object"), progress=False)
    columns = {
        f"{name}_{setting}": np.array([row[i] for row in rows])
        for i, name in enumerate(("better", "tied", "rivals", "bounded"))
        for setting in ("raw", "filtered")
    }
    result = replaced(result, table=result.table.assign(**columns))
    interval = result.interval("median_rank")
    assert interval.value == 21.0
    assert interval.low < 21 < interval.high
    assert not interval.reason
    near = replaced(result, table=result.table.assign(better_filtered=[*range(40), 23], tied_filtered=[0] * 40 + [9]))
    interval = near.interval("median_rank")
    assert near["median_rank"] == interval.value == 21.0
    assert np.isnan(interval.low)
    assert interval.reason == "the limits depend on bounded ranks"


def test_header_and_cautions_say_the_bounds():
    result = bounded_result(3, (0, 1, 0), (0, 2, 0), (False, True, False))
    assert metric_cautions(result, "mr,hits@1,mrr")[:3] == [
        "1 of 3 filtered ranks and 1 of 3 raw ranks are bounded: only bounds of them are known",
        "mr lies between 1.33 and 2.00",
        "mrr lies between 0.7500 and 0.8333",
    ]
    assert metric_cautions(result, "mr", "optimistic") == [
        "1 of 3 filtered ranks and 1 of 3 raw ranks are bounded: only bounds of them are known; optimistic ties put "
        "them at their best"
    ]
    assert "mr lies between 1.33 and 2.00" in repr(result)
    assert "mr lies between" in result._repr_html_()
    assert (
        metric_cautions(replaced(result, table=result.table.drop(columns=["bounded_raw", "bounded_filtered"])), "mr")
        == []
    )


def unknown_result(*names, **counts):
    reasons = {name: f"{name} is not in the file" for name in names}
    result = bounded_result(bounded=(False, False), **counts)
    gone = [f"{c}_{s}" for s in ("raw", "filtered") for c in ("better", "tied", "rivals")]
    gone = [name for name in gone if name.split("_")[1] in names or (name.startswith("rivals") and "rivals" in names)]
    table = result.table.assign(**dict.fromkeys(gone, UNKNOWN_COUNT))
    return replaced(result, table=table, facts={**result.facts, "unknown": reasons})


def test_an_unknown_setting_is_nan_everywhere():
    result = unknown_result("raw")
    assert result["mr"] == 2.25
    assert result.value("raw.mr").reason == "raw is not in the file"
    for key in ("raw.mr", "raw.optimistic.mrr", "raw.amri", "raw.query.map", "raw.median_rank"):
        assert math.isnan(result[key])
        assert result.interval(key).reason == "raw is not in the file"
        assert result.chance(key).reason == "raw is not in the file"
        assert all(map(math.isnan, result.bounds(key)))
    assert result.ranks(labels=True)["rank_raw"].isna().all()
    assert result.ranks(labels=True)["better_raw"].isna().all()
    assert result.summary("mr").loc[("raw", "object"), "reason"] == "mr: raw is not in the file"
    assert "unknown: raw ranks: raw is not in the file" in header_lines(result)
    with pytest.raises(MetricError, match="^raw is not in the file$"):
        result.lists(setting="raw")
    filtered = unknown_result("filtered")
    assert math.isnan(filtered.tie_rate)
    assert "(tie rate unknown)" in repr(filtered)
    assert filtered["raw.mr"] == 2.25
    assert len(extreme_rows(filtered.rank_table)) == 0


def test_unknown_numbers_of_rivals():
    """Metrics that need them are NaN, also of ranked lists; the others are those of a result that has them."""
    result, known = unknown_result("rivals"), bounded_result(bounded=(False, False))
    for key in ("amri", "z(mrr)", "adjusted(hits@3)", "query.auc", "query.precision", "query.precision(short=cut)@2"):
        assert result.value(key).reason == "rivals is not in the file", key
        assert not math.isnan(known[key]) or key.startswith("z"), key
    keys = ("mr", "optimistic.mrr", "hits@10", "gmr", "median_rank", "expected.mr", "raw.mr", "query.map", "query.p@2")
    for key in (*keys, "query.ndcg@3", "raw.query.rr", "query.f1@2", "query.recall"):
        assert result[key] == known[key], key
        assert result.chance(key).reason == "rivals is not in the file", key
    assert metric_cautions(result, "hits@10") == []
    assert metric_cautions(known, "hits@10") != []
    assert result.ranks(labels=True)["rivals_filtered"].isna().all()


def test_unknown_ties():
    result = unknown_result("ties")
    assert result["mr"] == 2.25
    assert result["amri"] == bounded_result(bounded=(False, False))["amri"]
    for key in ("optimistic.mr", "pessimistic.mr", "expected.mr", "query.map", "optimistic.query.map"):
        assert result.value(key).reason == "ties is not in the file", key
    assert result.chance("expected.mr").value == 2.5
    assert math.isnan(result.tie_rate)
    assert np.isnan(result.rank_table.ranks(ties="optimistic")).all()
    assert result.rank_table.ranks().tolist() == [1, 3.5]


def test_unknown_lists_of_queries():
    """The ranks are known, but the positives of a query were ranked by different lists."""
    result = unknown_result("queries")
    assert result["optimistic.mr"] == 2.0
    frame = result.summary("mr,query.map", confidence=0.9)
    assert frame["mr"].tolist() == [2.25, 2.25]
    assert frame["reason"].str.contains("query.map: queries is not in the file").all()
    with pytest.raises(MetricError, match="^queries is not in the file$"):
        result.per_query("map")
    assert "count each of the 2 queries once" in metric_cautions(result, "query.map")[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"unknown": {"tie": "x"}}, "facts\\['unknown'\\] must be one of 'raw', .*; did you mean 'ties'"),
        ({"unknown": {"ties": ""}}, "must be a dict with a reason for each key"),
        ({"unknown": ["ties"]}, "must be a dict with a reason for each key"),
        ({"unknown": {"rivals": "x"}}, "rivals_raw is unknown, so it must be -1 in all rows; got 3"),
        ({"table": {"rivals_raw": -1}}, "rivals_raw must be at least 0; got -1. If it is unknown, give the reason"),
        ({"table": {"bounded_raw": 1}}, "bounded_raw must have the dtype bool; got int64"),
    ],
)
def test_contradictions_are_refused(changes, message):
    result = bounded_result()
    changed = {"table": result.table.assign(**changes["table"])} if "table" in changes else {}
    if "unknown" in changes:
        changed["facts"] = {**result.facts, "unknown": changes["unknown"]}
    with pytest.raises(DataError, match=message):
        replaced(result, **changed)


@pytest.mark.parametrize("names", [(), ("raw",), ("filtered",), ("rivals",), ("ties",), ("rivals", "ties")])
def test_files_keep_what_is_bounded_and_unknown(tmp_path, names):
    result = unknown_result(*names) if names else bounded_result()
    result.save(tmp_path / "run.kgeval")
    loaded = kg.load_result(tmp_path / "run.kgeval")
    assert loaded == result
    assert loaded.bounds("mr") == pytest.approx(result.bounds("mr"), nan_ok=True)
    assert loaded.facts.get("unknown", {}) == result.facts.get("unknown", {})
    pd.testing.assert_frame_equal(loaded.table, result.table)
    with np.load(tmp_path / "run.kgeval") as arrays:
        assert json.loads(str(arrays["header"]))["format"] == "kgeval result 5"
    known = bounded_result(bounded=(False, False))
    plain = replaced(known, table=known.table.drop(columns=["bounded_raw", "bounded_filtered"]))
    plain.save(tmp_path / "known.kgeval")
    with np.load(tmp_path / "known.kgeval") as arrays:
        assert json.loads(str(arrays["header"]))["format"] == "kgeval result 5"
    assert plain != result


def test_files_of_version_4_call_bounded_ranks_undecided(tmp_path):
    """The old names of the two columns give the same bounds; read as other columns, the ranks would look like ties."""
    result = bounded_result()
    result.save(tmp_path / "new.kgeval")
    with np.load(tmp_path / "new.kgeval") as loaded:
        arrays = {name.replace("bounded_", "undecided_"): values for name, values in loaded.items()}
    header = str(arrays["header"]).replace("kgeval result 5", "kgeval result 4")
    arrays["header"] = np.array(header.replace("bounded_", "undecided_"))
    with (tmp_path / "old.kgeval").open("wb") as stream:
        np.savez(stream, **arrays)
    again = kg.load_result(tmp_path / "old.kgeval")
    assert again == result
    assert again.bounds("mr") == result.bounds("mr") == (2.0, 2.5)


def test_old_names_of_bounded_ranks_answer_with_the_new_ones():
    """A table with an old column, in a call or in a pickle, is refused: its bounded ranks would count as ties."""
    result = bounded_result()
    old = result.table.rename(columns={"bounded_raw": "undecided_raw", "bounded_filtered": "undecided_filtered"})
    message = "^the column undecided_raw of a table of ranks is called bounded_raw since kgeval 0.2; rename it$"
    with pytest.raises(DataError, match=message):
        replaced(result, table=old)
    state = result.__getstate__() | {"rank_table": replace(result.rank_table, frame=old)}
    with pytest.raises(DataError, match=message):
        kg.EvaluationResult.__new__(kg.EvaluationResult).__setstate__(state)
    with pytest.raises(
        kg.ProtocolError, match=r"^lists\(\) has no argument 'undecided'; did you mean lists\(bounded=\)\?$"
    ):
        result.lists(undecided="optimistic")


def test_damaged_columns_are_refused(tmp_path):
    for change, message in (
        (lambda values: values[:1], "columns differ in length"),
        (lambda values: values.astype(np.int64), "bounded_raw must have the dtype bool"),
    ):
        path = saved_with(bounded_result(), tmp_path / "run.kgeval", bounded_raw=change)
        with pytest.raises(DataError, match=message):
            kg.load_result(path)
        path.unlink()


def test_explaining_a_bounded_rank_is_refused():
    triples = [[0, 0, 1], [1, 0, 2]]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=4, n_relations=1)
    result = kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sides="object"), progress=False)
    table = result.table.assign(tied_raw=[1, 0], bounded_raw=[True, False])
    with pytest.raises(DataError, match="on the object side is bounded"):
        replaced(result, table=table).explain("0", "0", "1")
