"""`Benchmark.by`: differences within groups of ranks, over all runs of two models."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from benchmark_cases import MODELS, run_of, runs_of
from made_results import replaced

import kgeval as kg


@pytest.fixture(scope="module")
def bench():
    return kg.benchmark(runs_of(sizes=(30, 24)), metrics="mrr,mr")


@pytest.mark.parametrize("metric", ["mrr", "mr", "hits@3"])
@pytest.mark.parametrize("pair", [("A", "B"), ("C", "B")])
def test_a_relation_is_tested_as_a_benchmark_of_its_triples(metric, pair):
    """Relation r of ring-30 has the triples r, r + 2, ...: runs on these alone have the same differences and errors."""
    bench = kg.benchmark(runs_of(sizes=(30,)), metrics=metric)
    frame = bench.by("relation", first=pair[0], second=pair[1])
    assert sorted(frame.index) == ["q", "r"]
    for relation, name in enumerate(("r", "q")):
        runs = {(model, seed, "one"): run_of(30, model, seed, rows=range(relation, 30, 2))
                for model in MODELS for seed in (1, 2, 3)}  # fmt: skip
        alone, found = kg.benchmark(runs, metrics=metric), frame.loc[name]
        row = kg.comparison.rows.row_of(alone.differences, metric, *pair)
        keys = ["value_first", "value_second", "difference", "n_effective"]
        assert found[keys].astype(float).tolist() == pytest.approx([row[key] for key in keys])
        assert [found["low"], found["high"]] == pytest.approx([row["low_95"], row["high_95"]])
        reach = scipy.stats.t.ppf(1 - 0.05 / 2 / 2, row["freedom"]) * row["error"]
        ends = np.clip([row["difference"] - reach, row["difference"] + reach], *bounds(metric))
        assert [found["low_corrected"], found["high_corrected"]] == pytest.approx(ends)
        assert found["decided"] == (row["p"] <= 0.05 / 2)
        assert (found["n"], found["share"]) == (30, 0.5)


def bounds(metric):
    return (-np.inf, np.inf) if metric == "mr" else (-1.0, 1.0)


@pytest.mark.parametrize("metric", ["mrr", "gmr", "hits@10"])
def test_contributions_add_up_to_the_difference_of_the_means(metric):
    """Of a mean they are share times difference; those of the geometric mean add up as well."""
    bench = kg.benchmark(runs_of(sizes=(24,)), metrics=metric)
    frame = bench.by("relation")
    first, second = frame.attrs["models"]
    gap = bench.values.loc[first, "ring-24"] - bench.values.loc[second, "ring-24"]
    assert frame["contribution"].sum() == pytest.approx(gap) == pytest.approx(frame.attrs["difference"])
    if metric != "gmr":
        assert frame["contribution"].tolist() == pytest.approx((frame["share"] * frame["difference"]).tolist())
    assert frame["contribution"].abs().is_monotonic_decreasing


def test_the_pair_is_that_of_the_best_two_or_of_the_baseline(bench):
    """By their means on the dataset; names in any order turn the signs."""
    for dataset in bench.datasets:
        best = bench.values[dataset].sort_values(ascending=False).index
        frame = bench.by("side", dataset)
        assert frame.attrs["models"] == tuple(best[:2])
        turned = bench.by("side", dataset, best[1], best[0])
        assert turned["difference"].tolist() == pytest.approx((-frame["difference"]).tolist())
        against = kg.benchmark(runs_of(sizes=(24, 30)), metrics="mrr", baseline="C")
        assert against.by("relation", dataset).attrs["models"] == (best[0] if best[0] != "C" else best[1], "C")
        assert against.by("relation", dataset, *best[:2])["reversed"].tolist() == [False, False]


def test_single_runs_are_compared_as_by_compare():
    """One run of each model: the table of `Comparison.by`."""
    runs = runs_of(sizes=(30,), seeds=(1,))
    frame = kg.benchmark(runs, metrics="mrr").by("relation", first="A", second="B")
    compared = kg.compare({key[0]: run for key, run in runs.items()}, metrics="mrr").by("relation", "mrr", "A", "B")
    pd.testing.assert_frame_equal(frame, compared)


def test_one_run_beside_several_has_the_spread_of_the_others():
    """A with one run, B and C with three: tested as in `differences`."""
    runs = runs_of(sizes=(30,), leave_out=[("A", 2, "ring-30"), ("A", 3, "ring-30")])
    frame = kg.benchmark(runs, metrics="mrr").by("side", first="A", second="B")
    assert np.isfinite(frame[["low", "high", "low_corrected", "high_corrected"]]).all(axis=None)
    apart = kg.benchmark(runs, metrics="mrr", spread="separate").by("side", first="A", second="B")
    assert apart["reason"].str.startswith("one run: how much").all()
    assert apart["low"].isna().all()


def hub_results(seeds, dataset="hubs", n_hubs=5, gains=(9, 0, 0, 0, 0)):
    """Runs whose answers are a few hubs, by which the gains of A over B differ."""
    triples = [[i, 0, i % n_hubs] for i in range(100)]
    graph = kg.Dataset.from_arrays(test=triples, n_entities=100 + len(dataset), n_relations=1, name=dataset)
    run = kg.evaluate(lambda s, p, o: o, graph, kg.Protocol(sides="object"), progress=False)
    results = {}
    for model, gain in (("A", np.resize(gains, 100)), ("B", 0)):
        for seed in seeds:
            noise = np.random.default_rng(seed).integers(0, 2, 100)
            counts = dict.fromkeys(("better_raw", "better_filtered"), 30 + noise - gain - (model == "A"))
            results[model, seed, dataset] = replaced(run, table=run.table.assign(tied_raw=0, tied_filtered=0, **counts))
    return results


def test_an_interval_that_does_not_exist_is_no_note():
    """One hub: clusters by entity say nothing; nor does the comparison of single runs."""
    results = hub_results((1, 2), n_hubs=1)
    assert not any("other entities" in note for note in kg.benchmark(results, metrics="mr").notes)
    single = {key[0]: run for key, run in results.items() if key[1] == 1}
    assert not any("other entities" in note for note in kg.compare(single, metrics="mr").notes)


def test_a_lead_that_other_entities_undo_comes_first_for_several_datasets():
    """The note of two datasets with the same models is one, and stands before leaks and all else."""
    found = kg.benchmark(hub_results((1,)) | hub_results((1,), "wide hubs"), metrics="mr")
    assert found.differences["better"].tolist() == ["A", "A"]
    assert found.notes[0].startswith("hubs and wide hubs: A and B: for other entities, ")
    assert found.notes[0].endswith("and contains 0")


def test_a_relation_with_one_triple_has_the_difference_of_the_means():
    """Three seeds: without a second cluster there is no test, but the difference is that of the means, not of a run."""
    rows = [*range(0, 30, 2), 1]  # fifteen triples of r, one of q
    runs = {(m, seed, "one"): run_of(30, m, seed, rows=rows, sides=("object",)) for m in "AB" for seed in (1, 2, 3)}
    for metric in ("mrr", "mr"):
        frame = kg.benchmark(runs, metrics=metric).by("relation")
        assert frame.loc["q", "n"] == 1
        means = [
            np.mean([value_of_q(runs[m, seed, "one"], metric) for seed in (1, 2, 3)]) for m in frame.attrs["models"]
        ]
        assert frame.loc["q", ["value_first", "value_second"]].tolist() == pytest.approx(means)
        assert (frame["value_first"] - frame["value_second"]).tolist() == pytest.approx(frame["difference"].tolist())
        assert frame.loc["q", "reason"]
        assert np.isnan(frame.loc["q", "low"])


def value_of_q(result, metric):
    """The value of a metric for the only triple of relation q."""
    (rank,) = (row.rank_filtered for row in result.ranks(labels=True).itertuples() if row.p == "q")
    return rank if metric == "mr" else 1.0 / rank


def test_a_decided_relation_against_a_decided_difference_is_reversed():
    """A is far better on 80 triples of r, and far worse on 20 of q."""
    triples = [[i, int(i >= 80), (i + 1) % 100] for i in range(100)]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=100, n_relations=2, relation_labels=["r", "q"])
    run = kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sides="object"), progress=False)
    rng, results = np.random.default_rng(0), {}
    for model, better in (("A", np.repeat([0, 20], [80, 20])), ("B", np.repeat([10, 0], [80, 20]))):
        for seed in (1, 2, 3):
            counts = dict.fromkeys(("better_raw", "better_filtered"), better + rng.integers(0, 2, 100))
            results[model, seed, "two"] = replaced(run, table=run.table.assign(tied_raw=0, tied_filtered=0, **counts))
    bench = kg.benchmark(results, metrics="mr")
    assert bench.differences["better"].tolist() == ["A"]
    frame = bench.by("relation")
    assert frame.loc[["r", "q"], ["decided", "reversed"]].to_numpy().tolist() == [[True, False], [True, True]]
    assert frame.attrs["contribution"] == "exact"
    assert "A loses most to B on q (" in str(bench)


def test_losses_name_the_model_to_which_they_are():
    """Against a baseline that is best on a dataset, these are the losses to the next model."""
    for baseline in MODELS:
        found = kg.benchmark(runs_of(sizes=(30, 24)), metrics="mrr", baseline=baseline)
        for dataset, frame in found.relations.items():
            first, second = frame.attrs["models"]
            assert first == found.values[dataset].idxmax()
            assert baseline in (first, second)
            lost = frame[frame["contribution"] < 0]
            if len(lost):
                assert f"{dataset} to {second}: {lost.index[0]} (" in " ".join(str(found).split())


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_a_note_says_what_holds_for_other_entities(seeds):
    """Answers are five hubs by which the gains differ; of single runs, the note is that of `compare`."""
    results = hub_results(seeds)
    found = kg.benchmark(results, metrics="mr")
    (row,) = found.differences.to_dict("records")
    assert row["better"] == "A"
    assert found.notes[0].startswith("hubs: A and B: for other entities, the 95% interval of the difference in MR is [")
    assert found.notes[0].endswith("and contains 0")
    by_entity = kg.benchmark(results, metrics="mr", cluster="entity").differences.iloc[0]
    reach = scipy.stats.t.ppf(0.975, by_entity["freedom"]) * by_entity["error"]
    ends = [float(end) for end in re.findall(r"\[([-\d.]+), \+([\d.]+)\]", found.notes[0])[0]]
    assert ends == pytest.approx([by_entity["difference"] - reach, by_entity["difference"] + reach], abs=0.006)
    if len(seeds) == 1:
        single = kg.compare({model: run for (model, *_), run in results.items()}, metrics="mr")
        assert found.notes[0] in [f"hubs: {note}" for note in single.notes]
    assert not any("other entities" in note for note in kg.benchmark(results, metrics="mr", cluster="entity").notes)


def test_what_cannot_be_compared_is_refused(bench):
    with pytest.raises(kg.ProtocolError, match="dataset must be one of 'ring-30', 'ring-24'; got None"):
        bench.by("relation")
    with pytest.raises(kg.ProtocolError, match="'ring-30'"):
        bench.by("relation", "ring-3")
    with pytest.raises(kg.ProtocolError, match="two different models; got 'A' twice"):
        bench.by("relation", "ring-30", "A", "A")
    with pytest.raises(kg.MetricError, match="by must be one of 'relation', .*; got 'colour'"):
        bench.by("colour", "ring-30")
    lone = kg.benchmark(runs_of(sizes=(30,), models=("A",)))
    with pytest.raises(kg.ProtocolError, match="second"):
        lone.by("relation")
    assert lone.relations == {}
    holes = kg.benchmark(runs_of(leave_out=[("B", seed, "ring-30") for seed in (1, 2, 3)]))
    with pytest.raises(kg.MetricError, match="B on ring-30: "):
        holes.by("relation", "ring-30", "A", "B")
    assert kg.benchmark(runs_of(sizes=(30,)), metrics="median_rank").relations == {}
    best, other = bench.values["ring-30"].sort_values(ascending=False).index[:2]
    assert bench.by("side", "ring-30", second=best).attrs["models"] == (other, best)
