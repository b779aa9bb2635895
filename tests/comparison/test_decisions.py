"""Decisions that were wrong in 63394de: many models, few runs, few triples, seeds as rivals, nearly equal models."""

import functools
import importlib.util
import itertools
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from grids import size, thinned
from made_results import replaced
from ranked_results import ranked

import kgeval as kg
from kgeval.comparison.margins import equivalence_lines
from kgeval.comparison.regression_gate import gate
from kgeval.results.run_names import named
from kgeval.stats.clusters import Clusters
from kgeval.stats.equivalence import Support, tost
from kgeval.stats.moments import Moments
from kgeval.stats.paired import compare_paired
from kgeval.stats.runs import Runs, effective_differing


@functools.cache
def bench(name="bench_decisions"):
    """The module of simulated families."""
    path = Path(__file__).resolve().parents[1] / "bench" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def cell(name):
    return next(one for one in (*bench().NULL, *bench().POWER) if one.name == name)


def ranked_models(n_models, n_triples, step, seed=0):
    """Models whose log ranks differ by multiples of `step`, on the same triples."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=n_triples)
    logs = [2.0 + hard + step * i + 0.3 * rng.normal(size=n_triples) for i in range(n_models)]
    return {f"M{i:02}": ranked(np.clip(np.exp(log), 1, 199).astype(int), f"M{i:02}") for i, log in enumerate(logs)}


def test_h6_many_models_are_decided():
    """15 models in 5 metrics are 525 tests: 9,999 swaps show no p below 1/10,000, and 525/10,000 is above 0.05."""
    n_models = size(15, 30)
    results = ranked_models(n_models, 300, 0.25)
    found = kg.compare(results, metrics="mrr,mr,hits@1,hits@3,hits@10")
    rows = found.differences
    assert len(rows) == 5 * n_models * (n_models - 1) // 2
    z = (rows["difference"] / rows["error"]).abs()
    assert (z > 6).sum() > 100
    assert (rows.loc[z > 6, "decision"] == "first").mean() == 1.0
    has_interval = rows["low"].notna()
    excludes = (rows["low"] > 0) | (rows["high"] < 0)
    assert (excludes == (rows["better"] != ""))[has_interval].all()
    assert has_interval[z > 6].all()


@pytest.mark.parametrize("name", ["10/2,2,2,2 seeds 90%", "1,1,3,3 seeds 90%", "2/2/2/2 seeds 50%"])
def test_h7_h8_unequal_numbers_of_runs_keep_the_level(name):
    """One false decision in 5% of families; 63394de had .195 and .378 with unequal numbers of runs."""
    n, share, disagree = bench().figures(cell(name), 1000)
    assert share <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / n)
    assert disagree == 0


@pytest.mark.parametrize(("runs", "least"), [(2, 0.7), (3, 0.84)])
def test_h14_two_and_three_seeds_find_four_standard_errors(runs, least):
    """63394de found .07 to .19 with two runs, and .26 to .81 with three."""
    name = "/".join([str(runs)] * 4) + " at 4 standard errors, seeds 50%"
    assert bench().figures(cell(name), 1000)[1] >= least - 0.03


def test_the_arrays_of_the_simulation_are_compare_runs():
    bench().check()


@pytest.mark.thorough
@pytest.mark.parametrize("place", range(39))
def test_every_cell(place):
    """At most .06 for equal spreads, .08 for fourfold ones with five runs; the guide has the figures."""
    one = bench().NULL[place]
    n, share, disagree = bench().figures(one, 200 if len(one.runs) == 30 else 1000)
    allowed = 0.13 if one.ratios and min(one.runs) < 5 else 0.08 if one.ratios else 0.06
    assert share <= allowed + 3 * math.sqrt(allowed * (1 - allowed) / n), one.name
    assert disagree == 0


def of_the_second_generator():
    """Its cells of equal models with the largest share of false decisions that is allowed, and its ladders."""
    module = bench("bench_decisions_again")
    five = [one for one in module.FOURFOLD if min(one.runs) >= 5]
    return [*((one, 0.06) for one in module.EQUAL), *((one, 0.08) for one in five), *((x, 1) for x in module.LADDERS)]


@pytest.mark.parametrize("place", thinned(range(50), 24))
def test_the_second_generator_finds_the_same(place):
    """At most 6% of the families err, with fourfold spreads of five runs 8%; rows with |z| > 6 are decided."""
    (one, most), n = of_the_second_generator()[place], size(40, 300)
    n = n if len(one.runs) < 15 else 3
    err, _, _, n_missed, n_against, n_rows, _ = bench("bench_decisions_again").simulate(one, n, 7)
    assert err <= most + 3 * math.sqrt(most * (1 - most) / n), one.name
    assert (n_missed if most == 1 else 0, n_against) == (0, 0)
    assert n_rows == n * one.datasets * math.comb(len(one.runs), 2)


def test_h9_groups_of_few_triples_decide_nothing():
    """Three triples of each relation, all better by nearly the same: t alone would call every group decided."""
    base = np.full(30, 20)
    better = base - 10 - np.arange(30) % 2
    relations = np.repeat(np.arange(10), 3)
    results = [ranked(ranks, name, relations=relations) for name, ranks in (("A", better), ("B", base))]
    frame = kg.compare(results, names=["A", "B"], metrics="mr").by("relation")
    assert (frame["low"].notna() & ((frame["low"] > 0) | (frame["high"] < 0))).any()
    assert not frame["decided"].any()
    assert not frame["reversed"].any()
    assert ((frame["low_corrected"] <= 0) & (frame["high_corrected"] >= 0)).all()  # the interval that decides has 0


@pytest.mark.parametrize(
    ("of_hubs", "said"), [([0, 0, 0, 0, 0], ""), ([9, 0, 0, 0, 0], "contains"), ([4, 2, 2, 2, 2], "excludes")]
)
def test_a_note_says_whether_a_difference_holds_for_other_entities(of_hubs, said):
    """Answers are five hubs, by which the gains differ: clusters by entity are few, and their interval is wide."""
    rng, hubs = np.random.default_rng(1), np.arange(100) % 5
    base = 20 + rng.integers(0, 3, 100)
    better = base - rng.integers(0, 2, 100) - np.array(of_hubs)[hubs]
    results = [ranked(ranks) for ranks in (better, base)]
    results = [replaced(result, table=result.table.assign(o=hubs)) for result in results]
    found = kg.compare(results, names=["A", "B"], metrics="mr")
    notes = [note for note in found.notes if ": for other entities, " in note]
    assert len(notes) == bool(said)
    for note in notes:
        number = r"([-+\d.]+)"
        pair = f"\\[{number}, {number}\\]"
        found_in = re.search(f"is {pair}, {number} times as wide as {pair} for other triples", note)
        low, high, ratio, *usual = map(float, found_in.groups())
        row = found.differences.iloc[0]
        assert usual == pytest.approx([row["low_95"], row["high_95"]], abs=1e-4)
        assert row["decision"] == "first"
        assert (high - low) / (row["high_95"] - row["low_95"]) == pytest.approx(ratio, abs=0.06)
        assert (low + high) / 2 == pytest.approx(row["difference"], abs=1e-3)
        assert note.endswith(f"; neither is corrected), and {said} 0")
        assert (low > 0 or high < 0) == (said == "excludes")


def test_h15_a_verdict_on_single_runs_is_about_these_trained_models():
    sentence = kg.compare(ranked_models(2, 100, 0.5), metrics="mrr").verdict.sentence
    assert sentence.startswith("M00 beats M01: ")
    assert sentence.endswith("; this is about these trained models; other seeds may give another order")


def test_h15_partly_decided_verdicts_gate_and_equivalence_are_about_these_trained_models():
    """A and B are alike, C is worse: undecided between A and B, and A beats C."""
    models = ranked_models(2, 100, 0.5)
    worse, alike = models["M01"], models["M00"]
    found = kg.compare({"A": alike, "B": alike, "C": worse}, metrics="mrr")
    assert found.verdict.outcome == "undecided"
    assert "A beats C: " in found.verdict.sentence
    assert found.verdict.sentence.endswith("; this is about these trained models; other seeds may give another order")
    lines = equivalence_lines(found.equivalence(0.01), found, "equivalence")
    assert lines[-1].endswith("; this is about these trained models; other seeds may give another answer")
    passed = gate(alike, worse, {"mrr": 0.01})
    assert sum("these trained models; other seeds may give another answer" in line for line in passed.lines) == 1


def test_h15_several_runs_of_a_model_are_not_these_trained_models():
    """Two seeds of a model beside another one; a benchmark with one run on y and two on x says it of y alone."""
    ranks = list(ranked_models(3, 100, 0.5).values())
    results = [named(ranks[0], "A", 1), named(ranks[1], "A", 2), named(ranks[2], "B", 1)]
    found = kg.compare(results, metrics="mrr")
    assert "trained models" not in found.verdict.sentence
    assert "trained models" not in equivalence_lines(found.equivalence(0.01), found, "equivalence")[-1]
    runs = {("A", 1, "x"): ranks[0], ("A", 2, "x"): ranks[1], ("B", 1, "x"): ranks[2]}
    assert "trained models" not in kg.benchmark(runs, metrics="mrr").verdict.sentence
    other = list(ranked_models(2, 60, 0.5, 3).values())
    mixed = kg.benchmark({**runs, ("A", 1, "y"): other[0], ("B", 1, "y"): other[1]}, metrics="mrr")
    assert "; one run of each model on y: this is about these trained models; " in mixed.verdict.sentence


def test_h18_seeds_of_a_model_are_no_rivals_and_have_their_names():
    """DistMult seed 3 comes before seed 1, and beats the one other model; its other seed is no model."""
    ranks = list(ranked_models(3, 200, 0.5).values())
    results = [named(ranks[0], "DistMult", 3), named(ranks[1], "DistMult", 1), named(ranks[2], "TransE", 1)]
    found = kg.compare(results, metrics="mrr")
    assert found.names == ("DistMult seed 3", "DistMult seed 1", "TransE seed 1")
    pairs = set(zip(found.differences["first"], found.differences["second"]))
    assert pairs == {("DistMult seed 3", "TransE seed 1"), ("DistMult seed 1", "TransE seed 1")}
    assert found.verdict.sentence.startswith("DistMult seed 3 beats TransE seed 1: ")
    assert found.verdict.leaders == ("DistMult seed 3",)
    assert any(
        "DistMult seed 3 and DistMult seed 1 are runs of one model, DistMult: its seeds" in n for n in found.notes
    )
    assert kg.compare(results[1:], metrics="mrr").names == ("DistMult", "TransE")
    with pytest.raises(
        kg.ProtocolError,
        match="^these are 2 runs of one model, DistMult; runs of one model are its seeds, and ",
    ):
        kg.compare(results[:2], metrics="mrr")
    renamed = kg.compare(results[:2], names=["old", "new"], metrics="mrr")  # the names say that both are models
    assert len(renamed.differences) == 1


def test_h19_pairs_without_a_common_run_say_so():
    one, other = ranked_models(2, 50, 0.5).values()
    found = kg.benchmark({("A", "x"): one, ("B", "x"): other, ("A", "y"): ranked_models(1, 40, 0.5, 1)["M00"]})
    row = found.differences[found.differences["dataset"] == "y"].iloc[0]
    assert (row["decision"], row["better"], row["reason"]) == ("no common run", "", "B: no run")


def test_a_baseline_makes_the_family_smaller():
    found = kg.compare(ranked_models(4, 60, 0.1), metrics="mrr,mr", baseline="M02")
    assert len(found.differences) == 6
    assert all("M02" in pair for pair in zip(found.differences["first"], found.differences["second"]))
    with pytest.raises(kg.MetricError, match="baseline must be one of 'M00', 'M01', 'M02', 'M03'; got 'X'"):
        kg.compare(ranked_models(4, 60, 0.1), baseline="X")


def test_h22_nearly_identical_ranks_are_not_shown_equal_too_often():
    """95% of the ranks are identical, the mean difference is the margin: at most 5% may be called equal within it."""
    rng, n, n_equal, n_by_t = np.random.default_rng(1), 300, 0, 0
    largest_gaps = np.array([1.0, 0.5, 0.2])
    margin = 0.05 * largest_gaps.mean()
    repetitions = size(400, 2000)
    for _ in range(repetitions):
        gaps = np.where(rng.random(n) < 0.05, rng.choice(largest_gaps, n), 0.0)
        (found,) = compare_paired([Moments(gaps[:, None])], [Moments(np.zeros((n, 1)))], np.arange(n), test="t")
        if math.isnan(found.error) or found.error == 0.0:
            continue
        numbers = (found.value, found.error, found.freedom, margin)
        n_equal += tost(*numbers, support=Support(found.n_differing, n, 1.0)).p_value <= 0.05
        n_by_t += tost(*numbers).p_value <= 0.05
    assert n_by_t / repetitions > 0.07
    assert n_equal / repetitions <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / repetitions)


def test_h22_a_few_large_gaps_among_many_small_ones_show_no_equality():
    """70 of 1,400 triples differ, 10 of them by 0.9 and 60 by at most 0.02; the mean difference is the margin."""
    rng, n, found_equal, by_t = np.random.default_rng(2), 1400, 0, 0
    margin, clusters = 0.05 * (0.15 * 0.9 + 0.85 * 0.01), Clusters.of(np.arange(n), n)
    repetitions = size(300, 2000)
    for _ in range(repetitions):
        gaps = np.where(rng.random(n) < 0.15, 0.9, 0.02 * rng.random(n)) * (rng.random(n) < 0.05)
        systems = Moments(gaps[:, None]), Moments(np.zeros((n, 1)))
        (found,) = compare_paired(systems[:1], systems[1:], np.arange(n), test="t")
        n_weighty = effective_differing(*(Runs((one,), clusters) for one in systems))
        assert n_weighty == pytest.approx((gaps**2).sum() ** 2 / (gaps**4).sum(), rel=0.1)  # of gaps - mean in truth
        numbers = (found.value, found.error, found.freedom, margin)
        found_equal += tost(*numbers, support=Support(found.n_differing, n, 1.0, n_weighty)).p_value <= 0.05
        by_t += tost(*numbers, support=Support(found.n_differing, n, 1.0)).p_value <= 0.05
    assert by_t / repetitions > 0.08
    assert found_equal / repetitions <= 0.05


def test_h22_equivalence_of_results_counts_large_gaps():
    """60 of 150 triples differ, by one place near rank 90; in 4 or 30 of them the rank is 2 against 1 or 3 instead."""
    place = np.arange(150)
    for n_large, decision in ((4, "undecided"), (30, "equal within the margin")):
        ranks = np.where(place < n_large, 2, 90)
        other = np.where(place < 60, ranks + np.where(place % 2, 1, -1), ranks)
        found = kg.compare([ranked(ranks, "A"), ranked(other, "B")], names=["A", "B"], metrics="mrr")
        row = found.equivalence(0.2).iloc[0]
        assert (row["n_differing"], row["decision"]) == (60, decision)
        for seeds in (1, 2):  # a benchmark whose seeds have equal ranks
            runs = {
                (name, seed, "x"): ranked(r, name) for name, r in (("A", ranks), ("B", other)) for seed in range(seeds)
            }
            row = kg.benchmark(runs, metrics="mrr").equivalence(0.2).iloc[0]
            assert (row["n_differing"], row["decision"]) == (60, decision)


def random_family(rng):
    """Differences of a random comparison or benchmark, and its alpha: ties, equal models, few triples, several runs."""
    n_models, n, confidence = int(rng.integers(2, 5)), int(rng.choice([4, 12, 40, 80])), rng.choice([0.9, 0.95])
    largest, metric = int(rng.choice([2, 9, 150])), str(rng.choice(["mrr", "mr", "hits@3"]))
    lead, n_datasets = rng.choice([0.0, 0.3, 1.0]), int(rng.integers(1, 3))
    is_benchmark, runs = rng.random() < 0.5, {}
    for d in range(n_datasets if is_benchmark else 1):
        hard = rng.normal(size=n + d)
        for k in range(n_models):
            own = hard + rng.choice([0.0, 0.2, 1.0]) * rng.normal(size=n + d)
            for seed in range(int(rng.integers(1, 4)) if is_benchmark else 1):
                logs = 1.5 + lead * k + own + 0.3 * rng.normal(size=n + d) + 0.2 * rng.normal()
                ranks = np.clip(np.exp(logs), 1, largest).astype(int)
                if k == 1 and rng.random() < 0.2:  # as the first model
                    ranks = runs["M0", 0, f"d{d}"].table["rank_filtered"].astype(int).to_numpy()
                runs[f"M{k}", seed, f"d{d}"] = ranked(ranks, f"M{k}", dataset_name=f"d{d}")
    baseline = "M1" if rng.random() < 0.3 else None
    if not is_benchmark:
        results = {name: result for (name, *_), result in runs.items()}
        metrics = f"{metric},gmr,query.map"
        found = kg.compare(results, metrics=metrics, n_resamples=199, confidence=confidence, baseline=baseline)
        return found.differences, found.alpha, "compare"
    spread = str(rng.choice(["pooled", "separate"]))
    found = kg.benchmark(runs, metrics=metric, confidence=confidence, baseline=baseline, spread=spread)
    return found.differences, found.alpha, "benchmark"


def test_no_row_disagrees_with_its_interval():
    """A row is decided exactly where its interval excludes 0, and where p_corrected is at most alpha."""
    rng, seen = np.random.default_rng(3), {}
    for _ in range(size(50, 2000)):
        rows, alpha, kind = random_family(rng)
        decided = rows["decision"].isin(["first", "second"])
        better = np.where(rows["decision"] == "first", rows["first"], rows["second"])
        assert (decided == (rows["low"] > 0) | (rows["high"] < 0)).all()  # NaN: no interval, no decision
        assert (decided == (rows["p_corrected"] <= alpha)).all()
        assert (decided == (rows["p"] <= rows["level"])).all()
        assert (rows["better"] == np.where(decided, better, "")).all()
        is_mr = rows["metric"].isin(["mr", "gmr"])
        assert ((rows["decision"] == "first") == ((rows["difference"] > 0) != is_mr))[decided].all()
        assert ((rows["low"] <= rows["difference"]) & (rows["difference"] <= rows["high"]))[rows["low"].notna()].all()
        assert (rows["reason"] != "")[rows["low"].isna()].all()
        for decision, has_interval in zip(rows["decision"], rows["low"].notna()):
            seen[kind, decision, has_interval] = seen.get((kind, decision, has_interval), 0) + 1
    for kind in ("compare", "benchmark"):
        assert min(seen[kind, "first", True], seen[kind, "undecided", True], seen[kind, "undecided", False]) > 5


def test_all_pairs_are_compared_once():
    names = list(ranked_models(4, 30, 0.1))
    found = kg.compare(ranked_models(4, 30, 0.1), metrics="mrr").differences
    pairs = {frozenset(pair) for pair in zip(found["first"], found["second"])}
    assert pairs == {frozenset(pair) for pair in itertools.combinations(names, 2)}
