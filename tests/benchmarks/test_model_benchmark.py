"""kgeval.benchmark against slow loops, and what it refuses."""

import math
import re
from dataclasses import replace

import benchmark_cases as cases
import numpy as np
import pandas as pd
import pytest
from grids import size
from made_results import noted, replaced

import kgeval as kg
from kgeval.benchmarks import named
from kgeval.benchmarks.cells import BenchmarkSettings, unequal_spreads
from kgeval.benchmarks.runs import Run
from kgeval.results.keys import Key
from kgeval.stats.clusters import Clusters
from kgeval.stats.moments import Moments
from kgeval.stats.runs import Runs, mean_over_runs
from kgeval.stats.tails import student_quantile

KEYS = ("mrr", "hits@3", "mr")
FORMULAS = {"mrr": lambda rank: 1 / rank, "hits@3": lambda rank: float(rank <= 3), "mr": lambda rank: rank}


def by_triple(result, metric):
    """The values of both ranks of each triple, by labels: triple -> list of values. Ties by their realistic rank."""
    values = {}
    for row in result.ranks(labels=True).to_dict("records"):
        rank = row["rank_filtered"]
        values.setdefault((row["s"], row["p"], row["o"]), []).append(FORMULAS[metric](rank))
    return values


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values)


def variance(values):
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def changes(run, triples):
    """How much the mean changes if a triple is left out, times sqrt((G - 1) / G)."""
    every = [value for triple in triples for value in run[triple]]
    found = []
    for left_out in triples:
        rest = [value for triple in triples if triple != left_out for value in run[triple]]
        found.append((mean(rest) - mean(every)) * math.sqrt((len(triples) - 1) / len(triples)))
    return found


def parts_of(runs, triples):
    """The value of each run, the mean changes over the runs, V and AB of the docstring of kgeval.stats.runs."""
    n = len(runs)
    values = [mean(value for triple in triples for value in run[triple]) for run in runs]
    of_runs = [changes(run, triples) for run in runs]
    means = [mean(column) for column in zip(*of_runs)]
    if n == 1:
        return values, means, math.nan, math.nan
    apart = math.fsum((x - m) ** 2 for row in of_runs for x, m in zip(row, means))
    return values, means, variance(values) / n, apart / (n * (n - 1))


def combined(of_clusters, several, freedom):
    """ModelFile of the variance and degrees of freedom; `several` holds V, AB and the number of runs of each system."""
    if not several:
        return math.nan, of_clusters, freedom
    shown, both = (math.fsum(system[i] for system in several) for i in (0, 1))
    of_seeds = max(shown - both, 0.0)
    if of_seeds == 0.0:
        return 0.0, of_clusters, freedom
    of_triples = max(of_clusters, both)
    freedom_of_runs = shown**2 / math.fsum(v**2 / (n - 1) for v, _, n in several)
    share = shown / (of_seeds + of_triples)
    return of_seeds, of_triples, 1 / (share / freedom_of_runs + (1 - share) / freedom)


def two_sided(t, freedom):
    """The p-value of Student's t, by Simpson's rule over the density from 0 to |t|."""
    n, end = 4000, abs(t)
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    density = [scale * (1 + (end * i / n) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(n + 1)]
    area = math.fsum(y * (1 if i in (0, n) else 4 if i % 2 else 2) for i, y in enumerate(density)) * end / n / 3
    return 1 - 2 * area


def by_holm(p_values):
    """Holm's correction by loops; NaN is left out."""
    known = sorted((p, i) for i, p in enumerate(p_values) if not math.isnan(p))
    corrected, worst = [math.nan] * len(p_values), 0.0
    for place, (p, i) in enumerate(known):
        worst = max(worst, min(1.0, p * (len(known) - place)))
        corrected[i] = worst
    return corrected


@pytest.fixture(scope="module")
def runs():
    """Three models, three seeds, two datasets; C lacks one seed on the first, and all on the second."""
    missing = [("C", 2, "ring-24"), *(("C", seed, "ring-30") for seed in (1, 2, 3))]
    return cases.runs_of(leave_out=missing)


@pytest.fixture(scope="module")
def bench(runs):
    return kg.benchmark(runs, metrics=KEYS)


@pytest.fixture(scope="module")
def single():
    """The first runs of two models on one dataset."""
    return cases.runs_of(sizes=(24,), models=("A", "B"), seeds=(1,))


def test_means_and_parts_of_the_variance_are_those_of_slow_loops(runs, bench):
    """Mean, SD, both parts of the variance and the degrees of freedom, of three metrics with ties."""
    assert any(result.tie_rate > 0.1 for result in runs.values())
    for row in bench.table.to_dict("records"):
        of_cell = [result for key, result in runs.items() if (key[0], key[2]) == (row["model"], row["dataset"])]
        assert row["n_seeds"] == len(of_cell)
        if not of_cell:
            assert row["reason"] == "no run"
            assert all(math.isnan(row[name]) for name in ("mean", "sd", "low", "error", "of_seeds", "n_effective"))
            continue
        found = [by_triple(result, row["metric"]) for result in of_cell]
        triples = list(found[0])
        values, means, shown, both = parts_of(found, triples)
        of_clusters = math.fsum(change**2 for change in means)
        of_seeds, of_triples, freedom = combined(of_clusters, [(shown, both, len(found))], len(triples) - 1)
        assert row["mean"] == pytest.approx(mean(values), rel=1e-12)
        assert row["sd"] == pytest.approx(math.sqrt(variance(values)), rel=1e-9)
        assert row["of_seeds"] == pytest.approx(of_seeds, rel=1e-9, abs=1e-15)
        assert row["of_triples"] == pytest.approx(of_triples, rel=1e-9)
        assert row["error"] == pytest.approx(math.sqrt(of_seeds + of_triples), rel=1e-9)
        assert row["share_of_seeds"] == pytest.approx(of_seeds / (of_seeds + of_triples), rel=1e-9, abs=1e-12)
        assert row["freedom"] == pytest.approx(freedom, rel=1e-9)
        assert (row["n"], row["n_clusters"], row["n_effective"]) == (2 * len(triples), len(triples), len(triples))
        means_of_triples = [Moments(np.array([[mean(run[triple])] for triple in triples])) for run in found]
        system = Runs(tuple(means_of_triples), Clusters.of(range(len(triples)), len(triples)))
        interval = mean_over_runs(system, bounds=Key.parse(row["metric"]).bounds)
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), rel=1e-9)
        assert row["low"] < row["mean"] < row["high"]
    assert (bench.table["of_seeds"] > 0).any()


def pooled_of(runs, dataset, triples):
    """V and AB of a single run, pooled over the models of a dataset, and the degrees of freedom of V."""
    shown = both = 0.0
    n_runs = n_models = 0
    for model in dict.fromkeys(key[0] for key in runs if key[2] == dataset):
        cell = [by_triple(result, "mrr") for key, result in runs.items() if (key[0], key[2]) == (model, dataset)]
        n_runs, n_models = n_runs + len(cell), n_models + 1
        if len(cell) > 1:
            _, _, of_runs, of_both = parts_of(cell, triples)
            shown += (len(cell) - 1) * len(cell) * of_runs
            both += (len(cell) - 1) * len(cell) * of_both
    freedom = n_runs - n_models
    return shown / freedom, both / freedom, freedom


def test_differences_and_corrections_are_those_of_slow_loops(runs, bench):
    """Both parts of the variance, that of the seeds pooled over the models of the dataset; Holm over all datasets."""
    for row in bench.differences.to_dict("records"):
        cells = [
            [by_triple(result, "mrr") for key, result in runs.items() if (key[0], key[2]) == (model, row["dataset"])]
            for model in (row["first"], row["second"])
        ]
        if not all(cells):
            assert (row["decision"], row["reason"]) == ("no common run", "C: no run")
            assert all(math.isnan(row[name]) for name in ("p", "p_corrected", "low", "error", "level"))
            continue
        triples = list(cells[0][0])
        first, second = (parts_of(cell, triples) for cell in cells)
        value = mean(first[0]) - mean(second[0])
        assert value > 0  # the leader stands first
        of_clusters = math.fsum((a - b) ** 2 for a, b in zip(first[1], second[1]))
        shown, both, freedom = pooled_of(runs, row["dataset"], triples)
        times = 1 / len(cells[0]) + 1 / len(cells[1])
        shown, both = times * shown, times * both
        of_seeds = max(shown - both, 0.0)
        of_triples = max(of_clusters, both) if of_seeds else of_clusters
        error = math.sqrt(of_seeds + of_triples)
        share = min(1.0, shown / error**2) if of_seeds else 0.0
        freedom = 1 / (share**1.5 / freedom + (1 - share) ** 1.5 / (len(triples) - 1)) if share else len(triples) - 1
        assert row["difference"] == pytest.approx(value, rel=1e-9)
        assert (row["error"], row["freedom"]) == pytest.approx((error, freedom), rel=1e-9)
        assert row["test"] == "t"
        assert (row["n_first"], row["n_second"], row["n"]) == (len(cells[0]), len(cells[1]), 2 * len(triples))
        gaps = [
            math.fsum(mean(run[t][i] for run in cells[0]) - mean(run[t][i] for run in cells[1]) for i in (0, 1))
            for t in triples
        ]
        assert row["n_differing"] == sum(abs(gap) > 1e-9 for gap in gaps)
        assert row["p"] == pytest.approx(two_sided(value / error, freedom), rel=1e-6, abs=1e-9)
        reach = student_quantile(1 - row["level"] / 2, freedom) * error
        assert (row["low"], row["high"]) == pytest.approx((max(value - reach, -1), min(value + reach, 1)), rel=1e-6)
        assert (row["low"] > 0) == (row["p_corrected"] <= 0.05) == (row["decision"] == "first")
    np.testing.assert_allclose(bench.differences["p_corrected"], by_holm(bench.differences["p"].tolist()), rtol=1e-12)
    levels = sorted(bench.differences["level"].dropna())
    assert levels[0] == 0.05 / 4
    assert bench.differences["p"].notna().sum() == 4  # three pairs on the first dataset, one on the second


def test_spreads_may_be_separate(runs):
    """Each pair has the variances of its own two models; a model with one run is then not tested."""
    some = {key: result for key, result in runs.items() if key[0] != "C" or key[1] == 1}
    pooled, separate = (
        kg.benchmark(some, metrics="mrr", spread=spread).differences for spread in ("pooled", "separate")
    )
    with_c = ((pooled[["first", "second"]] == "C").any(axis=1) & (pooled["dataset"] == "ring-24")).to_numpy()
    assert pooled.loc[with_c, "p"].notna().all()
    assert separate.loc[with_c, "p"].isna().all()
    assert set(separate.loc[with_c, "reason"]) == {"one run: how much the value varies with the seed is unknown"}
    assert (separate.loc[~with_c, "error"] > 0).any()
    notes_on_method = kg.benchmark(runs, metrics="mrr").notes_on_method()
    assert any(line.startswith("assumed: all models vary alike over seeds") for line in notes_on_method)
    notes_on_method = kg.benchmark(runs, metrics="mrr", spread="separate").notes_on_method()
    assert not any(line.startswith("assumed: ") for line in notes_on_method)


def test_single_runs_beside_several():
    """What is said of seeds is said of the models that have several runs, and of the pairs that include them."""
    runs = cases.runs_of((24,), seeds=(1, 2), leave_out=[("B", 2, "ring-24"), ("C", 2, "ring-24")])
    found = kg.benchmark(runs, metrics="mrr")
    assert found.differences["test"].tolist() == ["t", "t", "t"]
    said = "without ±: one run, tested with the spread of the others"
    assert said in found.to_markdown()
    assert said not in found.verdict.sentence  # a caution, and no answer
    for seeds in ((1,), (1, 2)):
        alike = kg.benchmark(cases.runs_of((24,), seeds=seeds), metrics="mrr")
        assert "spread of the others" not in alike.to_markdown()


def test_protocols_that_differ_between_datasets_are_noted():
    runs = cases.runs_of((24, 30), ("A", "B"), (1,))
    expected = (
        "the datasets were ranked under different protocols, so their values do not compare (ring-24: filtered by "
        "test, all entities, both sides; ring-30: filtered by test, all entities, object side)"
    )
    assert expected not in kg.benchmark(runs, metrics="mrr").notes
    for model in "AB":
        runs[model, 1, "ring-30"] = cases.run_of(30, model, 1, sides=("object",))
    assert expected in kg.benchmark(runs, metrics="object.mrr").notes


def test_one_run_each_is_kg_compare(single):
    """Value, interval and p-value are those of kg.compare; there is no spread, and the reason says so."""
    compared = kg.compare({key[0]: result for key, result in single.items()}, metrics="mrr").differences.iloc[0]
    found = kg.benchmark(single, metrics="mrr")
    row = found.differences.iloc[0]
    for name in ("value_first", "value_second", "difference", "low_95", "high_95", "p"):
        assert row[name] == pytest.approx(compared[name], rel=1e-12, nan_ok=True)
    assert (row["test"], row["freedom"], row["p_corrected"]) == ("swaps", 23.0, row["p"])
    assert row["n_first"] == row["n_second"] == 1
    for cell, result in zip(found.table.to_dict("records"), single.values()):
        interval = result.interval("mrr")
        assert (cell["mean"], cell["low"], cell["high"]) == pytest.approx((interval.value, interval.low, interval.high))
        assert math.isnan(cell["sd"])
        assert math.isnan(cell["of_seeds"])
        assert math.isnan(cell["share_of_seeds"])
        assert cell["reason"] == "one run: how much the value varies with the seed is unknown"
    assert "one run per model and dataset: how much the values vary with the seed is unknown" in found.notes[0]
    assert (
        "one run of each model: this is about these trained models; other seeds may give another order"
        in found.verdict.sentence
    )


def test_ids_and_the_order_of_the_triples_change_nothing(runs, bench):
    """Each run lists the triples in another order, under other ids; numbers are equal to the last digits."""
    rng = np.random.default_rng(0)
    shuffled = {}
    for model, seed, name in runs:
        n = int(name[5:])
        order, rows = rng.permutation(n), rng.permutation(n)
        shuffled[model, seed, name] = cases.run_of(n, model, seed, order, rows)
    other = kg.benchmark(shuffled, metrics=KEYS)
    for name in ("table", "differences"):
        pd.testing.assert_frame_equal(getattr(other, name), getattr(bench, name), rtol=1e-9)
    assert other.verdict.leaders == bench.verdict.leaders


def test_the_order_of_the_models_changes_nothing(runs, bench):
    other = kg.benchmark(dict(reversed(list(runs.items()))), metrics=KEYS)
    assert other.models == ("B", "A", "C")
    for row in bench.differences.to_dict("records"):
        table = other.differences[other.differences["dataset"] == row["dataset"]]
        is_pair = [{a, b} == {row["first"], row["second"]} for a, b in zip(table["first"], table["second"])]
        (found,) = table[is_pair].to_dict("records")
        numbers = [found["difference"], found["error"], found["p"], found["p_corrected"], found["low"]]
        wanted = [row["difference"], row["error"], row["p"], row["p_corrected"], row["low"]]
        assert numbers == pytest.approx(wanted, rel=1e-9, nan_ok=True)
        assert found["better"] == row["better"]


def test_a_list_of_named_results_is_the_mapping(runs, bench, tmp_path):
    """Names in the results, also after saving, give the same table; seeds may be numpy integers in a mapping."""
    listed_runs = []
    for place, ((model, seed, _), result) in enumerate(runs.items()):
        if place % 2:
            listed_runs.append(named(result, model, seed=np.int64(seed)))
        else:
            result.save(tmp_path / f"{place}.kgeval", details=False, name=model, seed=seed)
            listed_runs.append(kg.load_result(tmp_path / f"{place}.kgeval"))
    assert listed_runs[0].facts["model"] == "A"
    assert listed_runs[0].facts["seed"] == 1
    assert "run: A seed 1" in repr(listed_runs[0])
    assert "run: A seed 2" in repr(listed_runs[1])
    found = kg.benchmark(listed_runs, metrics=KEYS)
    pd.testing.assert_frame_equal(found.table, bench.table)
    pd.testing.assert_frame_equal(found.differences, bench.differences)
    assert list(found.results) == [Run(*key) for key in runs]
    of_numpy = kg.benchmark({(m, np.int64(s), d): r for (m, s, d), r in runs.items()}, metrics="mrr")
    assert list(of_numpy.results) == list(found.results)
    by_value = found.runs.set_index(["model", "seed", "dataset"])["hits@3"]
    assert by_value["B", 3, "ring-30"] == runs["B", 3, "ring-30"]["hits@3"]


def test_a_baseline_is_compared_with_every_other_model(runs, bench):
    """Fewer tests, so that Holm multiplies by less; the leader stands first here too."""
    found = kg.benchmark(runs, baseline="B")
    pairs = [{first, second} for first, second in zip(found.differences["first"], found.differences["second"])]
    assert pairs == [{"A", "B"}, {"C", "B"}] * 2
    whole = bench.differences[(bench.differences[["first", "second"]] == "B").any(axis=1)]
    for name in ("first", "difference", "p"):
        assert found.differences[name].equals(whole[name].reset_index(drop=True))
    assert found.differences["p"].notna().sum() == 3
    np.testing.assert_allclose(found.differences["p_corrected"], by_holm(found.differences["p"].tolist()))
    assert found.verdict.sentence.startswith("MRR against the baseline B: A ")
    assert found.verdict.leaders == {}
    with pytest.raises(kg.ProtocolError, match="baseline must be one of 'A', 'B', 'C'; got 'D'"):
        kg.benchmark(runs, baseline="D")


def test_lower_is_better_in_mr(runs):
    """The better model has the lower mean, and the leader of the verdict is the lowest."""
    found = kg.benchmark(runs, metrics="mr")
    means = found.values["ring-24"]
    assert found.verdict.leaders["ring-24"][0] == means.idxmin()
    decided = found.differences[found.differences["better"] != ""]
    assert len(decided)
    for row in decided.to_dict("records"):
        assert row["better"] == (row["first"] if row["value_first"] < row["value_second"] else row["second"])
    assert "MR (lower is better)" in found.verdict.sentence


def test_metrics_of_queries_are_compared_by_query(runs):
    """One observation a query; the interval of a single run is that of the result."""
    found = kg.benchmark(runs, metrics="query.map,mrr", cluster="query")
    result = runs["A", 1, "ring-24"]
    row = found.table.iloc[0]
    values = [runs["A", seed, "ring-24"]["query.map"] for seed in (1, 2, 3)]
    assert (row["mean"], row["sd"]) == pytest.approx((mean(values), math.sqrt(variance(values))))
    assert row["n"] == row["n_clusters"] == len(result.per_query("query.map"))
    assert found.differences["p"].notna().sum() == 4


def test_clusters_that_overlap_are_tested_by_t():
    triples = [[i % 8, 0, 8 + 5 * i % 12] for i in range(24)]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=20, n_relations=1, name="bipartite")
    tables = np.random.default_rng(0).random((2, 20, 20))
    single = {
        (name, "bipartite"): kg.evaluate(lambda s, p, o, table=table: table[s, o], dataset, progress=False)
        for name, table in zip("AB", tables)
    }
    found = kg.benchmark(single, cluster="entity", metrics="mrr")
    assert found.differences["test"].tolist() == ["t"]
    assert "by Student's t (clusters overlap), two-sided" in "\n".join(found.notes_on_method())


def test_mixed_protocols_of_all_datasets_are_listed_in_one_error(runs):
    """A run of the first dataset ranked one side, one of the second another set of triples."""
    mixed = dict(runs)
    mixed["A", 1, "ring-24"] = cases.run_of(24, "A", 1, sides=("object",))
    mixed["B", 1, "ring-30"] = cases.run_of(30, "B", 1, rows=np.arange(29))
    with pytest.raises(kg.ProtocolError) as caught:
        kg.benchmark(mixed, metrics="mrr")
    text = str(caught.value)
    assert "ring-24: A seed 1, A seed 2, A seed 3" in text
    assert "sides: object in A seed 1, subject+object in A seed 2" in text
    assert "ring-30: A seed 1" in text
    assert "in B seed 1" in text
    assert "if ring-30 is the name of two datasets, give them different names in the mapping" in text
    assert "if ring-24 is the name of two datasets" not in text
    with pytest.raises(kg.ProtocolError, match=r"(?s)ring-24: .*\n  sides"):
        kg.benchmark(mixed, metrics="mrr", override="queries,dataset,filter")
    del mixed["A", 1, "ring-24"]
    accepted = kg.benchmark(mixed, metrics="mrr", override="queries,dataset,filter")
    assert any(line.startswith("overridden in ring-30: queries:") for line in accepted.header())
    lines = [line for line in accepted.header() if line.startswith("protocol: ")]
    assert re.search(r"A seed 1, A seed 2, A seed 3, B seed 2.* and .*: ring-30 \(dataset \w{8}\)", "\n".join(lines)), (
        lines
    )
    assert re.search(r"\bB seed 1: ring-30 \(dataset \w{8}\)", "\n".join(lines)), lines
    assert "no verdict on ring-30: the results differ, and the benchmark accepted it" in accepted.verdict.sentence
    assert accepted.verdict.leaders["ring-30"] == ()
    assert set(accepted.table.loc[accepted.table["dataset"] == "ring-30", "n"]) == {58}
    against = kg.benchmark(mixed, metrics="mrr", override="queries,dataset,filter", baseline="A")
    assert "no verdict on ring-30" in against.verdict.sentence
    with pytest.raises(kg.ProtocolError, match="override must be one of"):
        kg.benchmark(runs, override="everything")


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ({}, r"benchmark needs a mapping such as \{\('ComplEx', 1, 'FB15k-237'\): result\}.* got nothing"),
        ([], "got nothing"),
        ("run.kgeval", "got one str"),
        (None, "got one NoneType"),
        ({("A", 1, "x"): 3.0}, r"the value of \('A', 1, 'x'\) must be an EvaluationResult.*got float"),
        ([3.0], "result 0 must be an EvaluationResult, from kgeval.evaluate or kgeval.load_result; got float"),
    ],
)
def test_what_is_no_collection_of_results_is_refused(results, said):
    with pytest.raises(kg.ProtocolError, match=said):
        kg.benchmark(results)


@pytest.mark.parametrize(
    "key",
    [
        "A",
        ("A",),
        ("A", 1, "x", 2),
        (1, 1, "x"),
        ("A", 1.5, "x"),
        ("A", True, "x"),
        ("A", "", "x"),
        ("", 1, "x"),
        ("A", 1, " "),
        ("A", 1, 3),
    ],
)
def test_keys_that_name_no_run_are_refused(single, key):
    result = next(iter(single.values()))
    with pytest.raises(kg.ProtocolError, match=r"each key of the mapping must be \(model, seed, dataset\)"):
        kg.benchmark({key: result})


def test_results_without_a_name_are_listed(single):
    first, second = single.values()
    with pytest.raises(kg.ProtocolError) as caught:
        kg.benchmark([named(first, "A"), second, second])
    lines = str(caught.value).splitlines()
    assert lines[:3] == [
        "2 of 3 results do not contain the name of their model:",
        "  result 1 (scorer 'B' on ring-24)",
        "  result 2 (scorer 'B' on ring-24)",
    ]
    assert "{('ComplEx', 1, 'FB15k-237'): result, ...}, or on the command line ComplEx:1=FILE" in lines[3]
    assert "result.save(file, name='ComplEx', seed=1), kgeval.benchmarks.named" in lines[4]
    assert "kgeval evaluate ... --out FILE --name ComplEx --seed 1" in lines[4]
    with pytest.raises(kg.ProtocolError, match=r"(?s)12 of 12 results.*result 9 .*\n  and 2 more\n"):
        kg.benchmark([first] * 12)


def test_runs_that_are_not_distinct_are_listed(single):
    """Two results of one seed; a result without a seed beside others; a mapping with both kinds of keys."""
    first, second = single.values()
    both = [named(first, "A", seed=1), named(second, "A", seed=1), named(first, "B"), named(second, "B", seed=2)]
    with pytest.raises(kg.ProtocolError) as caught:
        kg.benchmark(both)
    assert str(caught.value).splitlines()[:3] == [
        "several results are of the same model and dataset, and it is not clear which run each of them is:",
        "  A on ring-24: the seed 1 in result 0 and result 1",
        "  B on ring-24, 2 results: no seed in result 2",
    ]
    mapping = {("A", "ring-24"): first, ("A", 2, "ring-24"): second}
    with pytest.raises(kg.ProtocolError, match=r"A on ring-24, 2 results: no seed in \('A', 'ring-24'\)"):
        kg.benchmark(mapping)
    assert kg.benchmark([named(first, "A"), named(second, "B")]).table["n_seeds"].unique().tolist() == [1]


@pytest.mark.light(2)
@pytest.mark.parametrize(("seed", "text"), [(1, "1"), (1, " 01"), (-2, "-2")])
def test_the_text_of_an_integer_is_the_integer(single, seed, text):
    """Else one run would count as two, with no spread over the seeds."""
    first, second = single.values()
    with pytest.raises(
        kg.ProtocolError, match=rf"A on ring-24: the seed {seed} in .* and \('A', '{text}', 'ring-24'\)"
    ):
        kg.benchmark({("A", seed, "ring-24"): first, ("A", text, "ring-24"): second})
    found = kg.benchmark({("A", text, "ring-24"): first, ("A", "b", "ring-24"): second}, metrics="mrr")
    assert [run.seed for run in found.results] == [seed, "b"]


def test_one_dataset_under_two_names_is_refused(single):
    """Else it would count twice, or its models would not be compared; another protocol gives a note."""
    first, second = single.values()
    with pytest.raises(kg.ProtocolError, match="^x and y are the same dataset .*give it one name.*ComplEx:1:x=FILE"):
        kg.benchmark({("A", "x"): first, ("A", "y"): second})
    sided = cases.run_of(24, "A", 1, sides=("object",))
    found = kg.benchmark({("A", "x"): first, ("A", "x, objects"): sided}, metrics="object.mrr")
    (said,) = [
        note for note in found.notes if "x and x, objects are the same dataset under different protocols" in note
    ]
    assert found.across().notes[0] == said
    assert found.across().n_datasets == 2


def test_two_datasets_with_one_name_are_refused(single):
    first, second = single.values()
    other = replaced(second, facts={**second.facts, "dataset_fingerprint": "f" * 64})
    with pytest.raises(kg.ProtocolError, match="(?s)dataset: .* in A, ring-24 ffffffff in B.*name of two datasets"):
        kg.benchmark([named(first, "A"), named(other, "B")])


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"metric": "mrr"}, kg.ProtocolError, "did you mean metrics=, the first of which is tested"),
        ({"metrics": ()}, kg.MetricError, "metrics is empty; name one or more, the first of which is tested"),
        ({"metrics": "mmr"}, kg.MetricError, "mmr"),
        ({"metrics": "nothing"}, kg.MetricError, "nothing"),
        ({"confidence": 95}, kg.MetricError, "confidence"),
        (
            {"correction": "fdr"},
            kg.ProtocolError,
            "no argument 'correction' any more: all differences are corrected by Ho",
        ),
        ({"cluster": "relation"}, kg.MetricError, "cluster must be one of"),
        ({"intervals": "bootstrap"}, kg.ProtocolError, "no argument 'intervals' any more: there is no bootstrap"),
        ({"n_resamples": 99}, kg.ProtocolError, "no argument 'n_resamples' any more: nothing is resampled"),
        ({"seed": 1}, kg.ProtocolError, "no argument 'seed' any more"),
        ({"spread": "z"}, kg.MetricError, "spread must be one of 'pooled', 'separate'; got 'z'"),
    ],
)
def test_wrong_options_are_refused(single, options, error, said):
    with pytest.raises(error, match=said):
        kg.benchmark(single, **options)


@pytest.mark.parametrize(
    ("name", "seed", "said"),
    [
        ("", 1, "the name of a model must be a text of 1 to 200 characters; got ''"),
        (" \t", 1, "must be a text"),
        (3, 1, "got 3"),
        ("x" * 201, 1, "got a text of 201 characters"),
        ("A", -1, "seed must be an integer of at least 0; got -1"),
        ("A", 1.0, "seed must be an integer of at least 0; got 1.0"),
        (None, 1, "a seed needs the name of the model too"),
    ],
)
def test_wrong_names_of_a_result_are_refused(single, tmp_path, name, seed, said):
    result = next(iter(single.values()))
    with pytest.raises(kg.DataError, match=said):
        result.save(tmp_path / "run.kgeval", name=name, seed=seed)
    assert not list(tmp_path.iterdir())


def test_a_new_name_takes_the_seed_away(single, tmp_path):
    """The seed belongs to the old name; a file keeps the name of the result unless another is given."""
    result = named(next(iter(single.values())), "A", seed=4)
    result.save(tmp_path / "kept.kgeval")
    assert kg.load_result(tmp_path / "kept.kgeval").facts["seed"] == 4
    result.save(tmp_path / "new.kgeval", name="B")
    about = kg.load_result(tmp_path / "new.kgeval").facts
    assert (about["model"], "seed" in about) == ("B", False)
    assert named(result, " B ").facts["model"] == "B"


def test_notes_name_missing_runs_and_equal_runs(runs, bench):
    notes = "\n".join(bench.notes)
    assert "no run of C on ring-30; these values and differences are missing" in notes
    assert "the numbers of runs differ: 2 of C on ring-24; 3 of A and B on ring-24 and ring-30\n" in notes
    copied = {**runs, ("A", 2, "ring-24"): runs["A", 1, "ring-24"]}
    found = kg.benchmark(copied, metrics="mrr")
    assert "ring-24: the ranks of A seed 1 and A seed 2 are all equal; are they the same run?" in found.notes


def test_notes_of_results_are_told_once(single):
    told = {key: noted(result, "the file was old") for key, result in single.items()}
    found = kg.benchmark(told, metrics="mrr")
    assert "ring-24: the file was old" in found.notes
    key = next(iter(single))
    found = kg.benchmark({**single, key: noted(single[key], "the file was old")}, metrics="mrr")
    assert f"{key[0]} on ring-24: the file was old" in found.notes


def test_the_verdict_never_names_a_winner_that_is_not_decided():
    """Over several benchmarks: who is said to be best beats each other model by the corrected p-values."""
    sizes_of_groups = set()
    benchmarks = [(60, ("A", "B", "C")), (12, ("A", "C")), (12, ("A", "B", "C")), (60, ("A", "C"))]
    for n, models in benchmarks[: size(2, 4)]:
        found = kg.benchmark(cases.runs_of((n,), models), metrics="mrr")
        name, table = f"ring-{n}", found.differences
        best = found.values[name].idxmax()
        beaten = set()
        for row in table.to_dict("records"):
            if row["p_corrected"] <= 0.05 and best in (row["first"], row["second"]):
                beaten |= {row["first"], row["second"]} - {best}
        leaders, sentence = found.verdict.leaders[name], found.verdict.sentence
        assert set(leaders) == set(models) - beaten
        assert leaders[0] == best
        assert sentence.startswith(f"{best} is best on {name}: MRR" if len(leaders) == 1 else f"Undecided on {name}")
        assert f"but better than {' and '.join(sorted(beaten))};" in sentence or len(leaders) in (1, len(models))
        n_decided = int((table["p_corrected"] <= 0.05).sum())
        assert f"; {n_decided} of {len(table)} difference{'s' * (len(table) > 1)} decided (Holm, " in sentence
        sizes_of_groups.add((len(models), len(leaders)))
    assert {(3, 2), (2, 1)} <= sizes_of_groups


def test_undefined_metrics_are_nan_with_a_reason(single):
    """The median has a mean and a spread but no interval; an unknown setting has no value, and gives no verdict."""
    more = cases.runs_of((24,), ("A", "B"), (1, 2))
    found = kg.benchmark(more, metrics="mrr,median_rank")
    row = found.table[found.table["metric"] != "mrr"].iloc[0]
    values = [result["median_rank"] for key, result in more.items() if key[0] == "A"]
    assert (row["mean"], row["sd"]) == pytest.approx((mean(values), math.sqrt(variance(values))))
    assert math.isnan(row["low"])
    assert row["reason"]
    unknown = {
        key: replaced(
            result,
            facts={**result.facts, "unknown": {"raw": "the file has no raw ranks"}},
            table=result.table.assign(better_raw=-1, tied_raw=-1, rivals_raw=-1),
        )
        for key, result in single.items()
    }
    found = kg.benchmark(unknown, metrics="raw.mrr,mrr")
    assert found.differences["p"].isna().all()
    assert "no verdict on ring-24: A has no raw.MRR" in found.verdict.sentence
    assert "the file has no raw ranks" in found.differences["reason"].iloc[0]


def test_equivalence_is_tost_with_holm(runs, bench):
    """The p-values are those of two one-sided t tests, corrected together; rows without a difference stay NaN."""
    wide = bench.equivalence(0.9)
    narrow = bench.equivalence(1e-6)
    assert wide["decision"].tolist() == [*["equal within the margin"] * 4, *["no common run"] * 2]
    assert "equal within the margin" not in narrow["decision"].tolist()
    decided = bench.differences["better"] != ""
    assert narrow["better"].tolist() == bench.differences["better"].tolist() if decided.any() else True
    frame = bench.equivalence(0.2)
    for row, source in zip(frame.to_dict("records"), bench.differences.to_dict("records")):
        if math.isnan(source["error"]):
            assert math.isnan(row["p"])
            assert row["reason"] == "C: no run"
            continue
        one_sided = []
        for sign in (1, -1):
            t = (0.2 + sign * source["difference"]) / source["error"]
            tail = two_sided(t, source["freedom"]) / 2
            one_sided.append(tail if t > 0 else 1 - tail)
        assert row["p"] == pytest.approx(max(one_sided), rel=1e-4)
    np.testing.assert_allclose(frame["p_corrected"], by_holm(frame["p"].tolist()))
    with pytest.raises(kg.MetricError, match="non-inferiority needs a reference.*benchmark"):
        bench.equivalence(0.2, kind="non-inferiority")
    against = kg.benchmark(runs, metrics="mrr", baseline="B")
    inferior = against.equivalence(0.2, kind="non-inferiority")
    assert inferior[["first", "second"]].values.tolist() == [["A", "B"], ["C", "B"]] * 2
    assert inferior["decision"].tolist()[0] == "not inferior"
    with pytest.raises(kg.MetricError, match="kind must be one of 'equivalence', 'non-inferiority'"):
        bench.equivalence(0.1, kind="equal")
    with pytest.raises(kg.MetricError, match="margin must be above 0"):
        bench.equivalence(0.0)
    with pytest.raises(kg.MetricError, match="^ring-24: margin must be below 1, .*in MRR; got 2 .*not in percent"):
        bench.equivalence(2.0)


def test_a_margin_in_mr_is_below_the_number_of_rivals():
    """Both datasets count: 11 rivals on ring-12, 23 on ring-24."""
    found = kg.benchmark(cases.runs_of((24, 12), ("A", "B"), (1,)), metrics="mr")
    assert len(found.equivalence(10.9)) == 2
    for margin, dataset in ((11.0, "ring-12"), (23.0, "ring-24")):
        with pytest.raises(kg.MetricError, match=f"^{dataset}: margin must be below"):
            found.equivalence(margin)


@pytest.mark.parametrize(("metric", "margin"), [("mr", 20.0), ("mrr", 0.9)])
def test_single_runs_are_tested_against_a_margin_as_compare_does(metric, margin):
    """The models differ in one rank only, so that the largest possible difference decides the p-value."""
    first = cases.runs_of((24,), ("A",), (1,))["A", 1, "ring-24"]
    better = first.table["better_filtered"].to_numpy().copy()
    better[5] += 1
    second = replaced(first, table=first.table.assign(better_filtered=better))
    found = kg.benchmark({("A", "ring-24"): first, ("B", "ring-24"): second}, metrics=metric)
    expected = kg.compare({"A": first, "B": second}, metrics=metric).equivalence(margin, metric)
    assert 0 < expected["p"].iloc[0] < 0.05
    assert found.equivalence(margin)["p"].iloc[0] == pytest.approx(expected["p"].iloc[0], rel=1e-9)


@pytest.mark.filterwarnings("ignore:.*of the positives tie")
def test_samples_and_other_sides(runs):
    """A metric of one side; samples of the same triples are compared, with a note."""
    found = kg.benchmark(runs, metrics="object.mrr")
    assert found.table["n"].tolist()[:2] == [24, 30]
    n = 24
    sampled = {}
    for model in "AB":
        table = cases.scores_of(n, model, 1)
        protocol = kg.Protocol(sample=10, sample_seed=3)
        sampled[model, f"ring-{n}"] = kg.evaluate(
            lambda s, p, o, table=table: table[s, o], cases.dataset_of(n), protocol, progress=False
        )
    found = kg.benchmark(sampled, metrics="mrr")
    assert any("10 of 24 triples were ranked" in note for note in found.notes)
    assert found.table["n"].tolist() == [20, 20]


@pytest.mark.thorough
def test_notes_that_differ_in_numbers_only_are_shown_once():
    runs = cases.runs_of((12,), seeds=(1, 2))
    noted = {
        run: result.__replace__(notes=(f"the score is {i + 1}.5e-{i + 1}, is it right?", "be careful"))
        for i, (run, result) in enumerate(runs.items())
    }
    notes = kg.benchmark(noted).notes
    (alike,) = [note for note in notes if "is it right?" in note]
    assert alike == (
        "A on ring-12: the score is 1.5e-1, is it right?; likewise B on ring-12 and C on ring-12, with other numbers"
    )
    assert [note for note in notes if "be careful" in note] == ["ring-12: be careful"]


def test_notes_are_merged_over_datasets():
    """A note of all runs names the datasets, one of some runs their models; a terminal shows two."""
    runs = cases.runs_of((12, 14), ("A", "B"), (1, 2))
    some = {run: ["old file"] for run in runs}
    for seed in (1, 2):
        some["A", seed, "ring-12"] = [*some["A", seed, "ring-12"], "8 dimensions"]
    some["B", 2, "ring-14"] = [*some["B", 2, "ring-14"], "no scores"]
    found = kg.benchmark(
        {run: noted(result, *some[run]) for run, result in runs.items()}, metrics="mrr", spread="separate"
    )
    expected = ["ring-12 and ring-14: old file", "B on ring-14: no scores", "how the models were read: A: 8 dimensions"]
    assert [note for note in found.notes if "tie rates" not in note] == expected
    assert repr(replace(found, notes=("x", "y"))).endswith("\nnote: x\nnote: y")
    assert repr(replace(found, notes=(*"vwxyz",))).endswith(
        "\nnote: v\nnote: w\nnote: x\n2 more notes: --to json, in Python .notes"
    )


def test_leaks_of_all_datasets_are_one_note_and_the_first():
    """The dataset with the largest share first, each line up to its first comma; the results say it in full.

    The MRR over the other ranks is the mean over the runs of the two leading models, where all of them have it.
    """
    runs = cases.runs_of((12, 14), ("A", "B"), (1, 2))
    lines = {
        "ring-12": "40.8% of the 1,024 triples of test may be copied from train, which",
        "ring-14": "100.0% of 28 recur: train",
    }
    for run, result in runs.items():
        runs[run] = noted(result, lines[run[2]])
        runs[run].facts["leak_notes"] = [lines[run[2]]]
    said = "test triples that train gives away: ring-14: 100.0% of 28 recur: train; ring-12: 40.8% may be copied"
    how = 'result.by("leak") (--by leak) gives the metrics without them'
    notes = kg.benchmark(runs, metrics="mrr", spread="separate").notes
    assert [note for note in notes if "train" in note] == [notes[0]] == [f"{said}; {how}"]
    for (model, seed, _), result in runs.items():
        result.facts["without_copied"] = {"n": 8, "mrr": {"A": 0.2, "B": 0.1}[model] + 0.01 * seed}
        result.notes += ("MRR without triples that may be copied from train: 0.1",)
    means = {"A": "0.2150", "B": "0.1150"}
    rest = f"MRR without them (8 ranks): {means['A']} of A and {means['B']} of B; {how}"
    found = kg.benchmark(runs, metrics="mrr", spread="separate").notes
    assert [note for note in found if "train" in note] == [f"{said}, {rest}"]  # none of facts that recur


def test_notes_on_the_order_of_rows_come_before_those_of_results():
    """Those of models that are not first or second on their dataset come behind the others."""
    runs = cases.runs_of((24,), ("A", "B", "C"), (1, 2))
    ranks = kg.benchmark(runs, metrics="mrr").values["ring-24"].sort_values(ascending=False)
    last = ranks.index[-1]
    said = {model: ("row order: low", "old file") if model == last else ("row order: lowest",) for model in "ABC"}
    notes = kg.benchmark({run: noted(result, *said[run[0]]) for run, result in runs.items()}, metrics="mrr").notes
    ours = [note for note in notes if note.endswith(("low", "file", "lowest"))]
    places = [f"{model} on ring-24" for model in "ABC" if model != last]
    others = [f"{last} on ring-24: row order: low", f"{last} on ring-24: old file"]
    assert ours == [f"{' and '.join(places)}: row order: lowest", *others]


def spread_notes(sds, n_runs=3, spread="pooled"):
    """The datasets whose SDs over seeds are said to differ, of models with these SDs, each with as many runs."""
    rows = [{"model": name, "dataset": "x", "n_seeds": n_runs, "sd": sd} for name, sd in sds.items()]
    terms = BenchmarkSettings(confidence=0.95, cluster="triple", baseline=None, metric="mrr", spread=spread)
    return unequal_spreads(pd.DataFrame(rows), terms)


def test_pooled_spreads_that_differ_fourfold_are_said():
    """0.004 and 0.001: said; 0.0039 and 0.001: not. Where they are not pooled, by choice or with five runs: not."""
    assert spread_notes({"A": 0.002, "B": 0.004, "C": 0.001, "D": math.nan}) == ["x"]
    assert spread_notes({"A": 0.0039, "B": 0.001}) == []
    assert len(spread_notes({"A": 0.004, "B": 0.0})) == 1
    assert spread_notes({"A": 0.0, "B": 0.0}) == []
    assert spread_notes({"A": 0.004, "B": 0.001}, spread="separate") == []
    assert [len(spread_notes({"A": 0.004, "B": 0.001}, n)) for n in (4, 5)] == [1, 0]


def test_the_caution_about_spreads_has_the_numbers_of_the_table():
    """Of runs with these SDs; it is the first note. The p-values are those without it."""
    found = kg.benchmark(cases.runs_of((24, 30)), metrics="mrr")
    sds = found.table[found.table["dataset"] == "ring-24"].set_index("model")["sd"].sort_values()
    is_said = bool(found.notes) and f"ring-24 ({sds.index[0]} {sds.iloc[0]:.4f} to {sds.index[-1]} " in found.notes[0]
    assert is_said == (sds.iloc[-1] >= 4 * sds.iloc[0])


def test_the_caution_about_spreads_says_what_separate_spreads_decide(monkeypatch):
    """Counted from a benchmark with separate spreads, whichever SDs are said to differ."""
    monkeypatch.setattr("kgeval.benchmarks.cells.UNEQUAL", 0.0)
    seen = set()
    for seeds in ((1, 2), (1, 2, 3)):
        runs = cases.runs_of((24, 30), seeds=seeds)
        found, apart = (kg.benchmark(runs, metrics="mrr", spread=spread) for spread in ("pooled", "separate"))
        pairs = zip(*(one.differences.to_dict("records") for one in (found, apart)))
        assert found.differences["separate"].tolist() == [
            one["better"] or "undecided" for one in apart.differences.to_dict("records")
        ]
        rows = [one for one, other in pairs if one["better"] != other["better"]]
        places = {}
        for row in rows:
            places.setdefault(f"{row['first']} - {row['second']}", []).append(row["dataset"])
        others = [f"{pair} on {' and '.join(on)}" for pair, on in places.items()]
        tests = f"{len(found.differences)} tests of models with several runs"
        named = f"{', '.join(others[:-1])}{' and ' * (len(others) > 1)}{others[-1]}" if others else ""
        end = f": {named}; report both (spread='separate'), or add seeds" if others else ""
        assert len(others) <= 4
        assert found.notes[0].endswith(
            f"; separate spreads there decide otherwise in {len(rows) or 'none'} of {tests}{end}"
        )
        lines = str(found).splitlines()
        is_marked = [
            any(row["first"] + " - " + row["second"] in line and f"{row['difference']:+.4f}‡" in line for line in lines)
            for row in rows
        ]
        assert all(is_marked)
        assert str(found).count("\n‡ decided otherwise with separate spreads") == bool(rows)
        assert (f"; {len(rows)} decided otherwise with separate spreads)" in found.verdict.sentence) == bool(rows)
        assert not apart.differences["separate"].any()
        assert "‡" not in str(apart)
        assert "separate spreads there decide otherwise in" in found.to_latex()
        assert "add seeds" not in found.to_latex()  # advice for the author
        assert str(found).count("\nnote: SDs over seeds differ") == 1
        seen.add(bool(others))
    assert seen == {True, False}
    one = kg.benchmark({key: run for key, run in runs.items() if key[2] == "ring-24"}, metrics="mrr")
    ratio = one.table["sd"].max() / one.table["sd"].min()
    other = found.table[found.table["dataset"] == "ring-30"]["sd"]
    assert other.max() / other.min() != ratio
    monkeypatch.setattr("kgeval.benchmarks.cells.UNEQUAL", (other.max() / other.min() + ratio) / 2)
    mixed, place = kg.benchmark(runs, metrics="mrr"), "ring-24" if ratio > other.max() / other.min() else "ring-30"
    of_place = mixed.differences["dataset"] == place  # of the other dataset nothing is said
    assert mixed.differences["separate"].where(of_place, "").tolist() == mixed.differences["separate"].tolist()
    wanted = apart.differences["better"].replace("", "undecided")
    assert mixed.differences["separate"][of_place].tolist() == wanted[of_place].tolist()
    monkeypatch.setattr("kgeval.benchmarks.cells.UNEQUAL", 0.0)
    runs = cases.runs_of((24,), ("A", "B", "C"), (1, 2, 3), leave_out=[("C", 2, "ring-24"), ("C", 3, "ring-24")])
    against = kg.benchmark(runs, metrics="mrr", baseline="C").notes[0]  # no pair has several runs of both
    assert against.endswith("and the t test pools them")
    note = kg.benchmark(runs, metrics="mrr").notes[0]
    assert note.endswith(
        "; separate spreads there decide otherwise in none of 1 test of models with several runs"
    )  # C has 1
