"""The verdict's sentence against the numbers: read by regular expressions, computed again by loops from the ranks."""

import functools
import itertools
import math
import re

import numpy as np
import pandas as pd
import pytest
from grids import light, size
from made_results import replaced

import kgeval as kg
from kgeval.base.wording import p_text
from kgeval.comparison.comparison import compare
from kgeval.comparison.verdict import Verdict, verdict_of
from kgeval.stats.tails import student_quantile

ALPHA = 0.05
TRAINED = "; this is about these trained models; other seeds may give another order"
NUMBER = r"[+-]?\d+\.\d+"
INTERVAL = rf"(?:\[(?P<low>{NUMBER}), (?P<high>{NUMBER})\]|\(no interval\))"
TESTED = rf"(?P<difference>{NUMBER}) {INTERVAL}, p (?P<sign><|=) (?P<p>{NUMBER})"
METRIC = r"(?P<metric>\S+)(?P<lower> \(lower is better\))?"
BEATS = re.compile(
    rf"(?P<first>\w+) beats (?:(?P<second>\w+)|the other (?P<n>\d+) models): {METRIC} (?P<value_first>{NUMBER}) "
    rf"against (?P<value_second>{NUMBER})(?: of (?P<rest>\w+), the best of the others)?, {TESTED}"
)
UNDECIDED = re.compile(
    rf"Undecided: {METRIC} (?P<value_first>{NUMBER}) \((?P<first>\w+)\) against (?P<value_second>{NUMBER}) "
    rf"\((?P<second>\w+)\), difference {TESTED}(?: \((?P<reason>[^()]*)\))?"
)
SHARED = re.compile(
    rf"Undecided: {METRIC} (?P<value_first>{NUMBER}) \((?P<first>\w+)\) is not significantly better than (?P<others>.*)"
)
REST = re.compile(
    rf"(?P<first>\w+) beats (?:(?P<second>\w+)|the other (?P<n>\d+) models, the best of them (?P<rest>\w+)): "
    rf"(?P<value_first>{NUMBER}) against (?P<value_second>{NUMBER}), {TESTED}"
)
ONE = re.compile(
    rf"(?P<first>\w+): {METRIC} (?P<value_first>{NUMBER})(?: {INTERVAL})?(?:, chance (?P<chance>{NUMBER}))?"
)
DETECTABLE = re.compile(rf"a difference of (?P<detectable>{NUMBER}) would be found about four times in five")
LEADS = re.compile(r"of (?P<all>\d+) relations(?: against (?P<other>\w+))?, it (?P<counts>\D+ on \d+.*)")
LOST = "it trails significantly on "
TIES = re.compile(rf"with (?P<ties>\w+) ties (?P<leader>\w+) leads: (?P<its>{NUMBER}) against (?P<best>{NUMBER})")
CHANCE = re.compile(rf"(?P<first>\w+) is not clearly better than chance \((?P<chance>{NUMBER})\)")

HEADINGS = {"MRR": "mrr", "MR": "mr", "hits@3": "hits@3", "HMR": "hmr"}
OF_RANK = {
    "mrr": lambda rank: 1.0 / rank,
    "mr": float,
    "hits@3": lambda rank: float(rank <= 3),
    "hmr": lambda rank: 1.0 / rank,
}
SHARES = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}
NAMES = ("Zeta", "Alpha", "Mu", "Beta", "Omega")


def of_ranks(metric, ranks):
    """The metric of a list of ranks, by a loop; HMR is the inverse of MRR."""
    mean = math.fsum(OF_RANK[metric](rank) for rank in ranks) / len(ranks)
    return 1.0 / mean if metric == "hmr" else mean


def ranks_of(result, ties="realistic", where=lambda row: True):
    """The filtered ranks of a result, row by row."""
    columns = ["p", "side", "better_filtered", "tied_filtered"]
    rows = [row for row in result.table[columns].to_dict("records") if where(row)]
    return [row["better_filtered"] + 1 + SHARES[ties] * row["tied_filtered"] for row in rows]


def is_higher(metric):
    """Whether higher values are better."""
    return metric not in ("mr", "hmr")


@functools.cache  # results are read-only
def template(n, m=1):
    """A result of n triples in a ring of n entities, whose relations take turns."""
    dataset = kg.Dataset.from_arrays(test=[[i, i % m, (i + 1) % n] for i in range(n)], n_entities=n, n_relations=m)
    return kg.evaluate(lambda s, p, o: -((o - s) % n), dataset, progress=False)


def with_ranks(result, better, tied=0):
    """The same result with other counts of better and of tied rivals (arrays, or one number)."""
    rivals = result.table["rivals_filtered"].to_numpy()
    better = np.clip(np.asarray(better), 0, rivals).astype(np.int64)
    tied = np.minimum(np.asarray(tied), rivals - better).astype(np.int64)
    columns = {
        f"{name}_{s}": values for s in ("raw", "filtered") for name, values in (("better", better), ("tied", tied))
    }
    return replaced(result, table=result.table.assign(**columns))


def generated(seed):
    """A generated comparison: its results by name, and the options of `compare`.

    By seed: 1 to 5 models; clear and unclear differences, wins of the first and of the last; ties that turn the order.
    """
    rng = np.random.default_rng(seed)
    n_models = (2, 2, 2, 3, 5, 2, 1)[seed % 7]
    n, m = int(rng.integers(12, 70)), int(rng.integers(1, 6))
    base = template(n, m)
    gains = rng.permutation(n_models) * rng.choice([0.0, 0.15, 0.9])
    names = rng.permutation(NAMES)[:n_models].tolist()
    hard = rng.normal(size=n)
    relation_gain = rng.normal(scale=rng.choice([0.0, 2.0]), size=(n_models, m))
    results = {}
    for name, gain, by_relation in zip(names, gains, relation_gain):
        noise = np.tile(hard + rng.normal(size=n), 2) + 0.3 * rng.normal(size=2 * n)
        better = np.exp(1.2 + noise - gain - by_relation[base.table["p"].to_numpy()])
        is_tied = rng.random(2 * n) < rng.choice([0.0, 0.05, 0.8])
        results[name] = with_ranks(base, np.where(is_tied, 0, better), np.where(is_tied, 2 * better, 0))
    metrics = [["mrr"], ["mr", "mrr"], ["hits@3", "mrr", "mr"], ["hmr", "mrr"]][int(rng.integers(4))]
    return results, {"metrics": metrics, "n_resamples": 499, "resample_seed": seed}


def holm_by_loops(p_values):
    """Holm's correction: the smallest p times the number of tests, the next times one less, ..., never falling."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected, largest = [0.0] * len(p_values), 0.0
    for place, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        corrected[i] = largest
    return corrected


def pair_of(comparison, metric, first, second):
    """Difference, interval and corrected p of two models, from the columns of the table that the test makes."""
    table = comparison.differences
    corrected = holm_by_loops(table["p"].tolist())
    for row, p_corrected in zip(table.to_dict("records"), corrected):
        if row["metric"] == metric and {row["first"], row["second"]} == {first, second}:
            sign = 1 if row["first"] == first else -1
            low, high = sorted([sign * row["low"], sign * row["high"]])
            assert p_corrected == pytest.approx(row["p_corrected"])
            assert math.isnan(low) or (low > 0 or high < 0) == (p_corrected <= ALPHA)
            return {"low": low, "high": high, "p": p_corrected, "detectable": row["detectable"]}
    raise AssertionError((first, second))


def assert_near(text, value):
    """The text is the number, rounded to the decimals that it has."""
    decimals = len(text.partition(".")[2])
    assert abs(float(text) - value) <= 0.5 * 10.0**-decimals + 1e-9, (text, value)


def check_pair(part, comparison, metric, values):
    """The numbers of one pair of models in a part of the sentence; return its corrected p-value."""
    found = part.groupdict()
    first, second = found["first"], found.get("second") or found["rest"]
    assert_near(found["value_first"], values[first])
    assert_near(found["value_second"], values[second])
    assert_near(found["difference"], values[first] - values[second])
    pair = pair_of(comparison, metric, first, second)
    if found["low"] is None:
        assert math.isnan(pair["low"])
    else:
        assert_near(found["low"], pair["low"])
        assert_near(found["high"], pair["high"])
    if found["sign"] == "<":
        assert pair["p"] < float(found["p"])
    else:
        assert_near(found["p"], pair["p"])
    return pair["p"]


def check_ties(parts, results, metric, best):
    """Each other tie policy under which another model has the best value is named, and no other."""
    read = {found["ties"]: found for found in map(TIES.fullmatch, parts) if found}
    expected = {}
    for ties in ("optimistic", "pessimistic"):
        values = {name: of_ranks(metric, ranks_of(result, ties)) for name, result in results.items()}
        leader = (max if is_higher(metric) else min)(values, key=lambda name: values[name])
        if abs(values[leader] - values[best]) > 1e-12 * abs(values[best]):
            expected[ties] = (leader, values[leader], values[best])
    assert set(read) == set(expected)
    for ties, (leader, value, best_value) in expected.items():
        assert read[ties]["leader"] == leader
        assert_near(read[ties]["its"], value)
        assert_near(read[ties]["best"], best_value)
    return len(read)


def check_relations(parts, results, comparison, metric, first, second):
    """The number of relations in which the first model has the better value, and the reversed ones."""
    relations = sorted({int(p) for p in results[first].table["p"]})
    read = [found for found in map(LEADS.fullmatch, parts) if found]
    assert len(read) == (len(relations) > 1)
    if not read:
        return 0
    counts = dict.fromkeys(("leads", "trails", "is equal"), 0)
    for p in relations:
        one, other = (
            of_ranks(metric, ranks_of(results[name], where=lambda r, p=p: r["p"] == p)) for name in (first, second)
        )
        is_better = one > other if is_higher(metric) else one < other
        is_equal = abs(one - other) <= 1e-12 * max(abs(one), abs(other))
        counts["is equal" if is_equal else "leads" if is_better else "trails"] += 1
    said = {verb: int(n) for verb, n in re.findall(r"(leads|trails|is equal) on (\d+)", read[0]["counts"])}
    assert (said, int(read[0]["all"])) == ({verb: n for verb, n in counts.items() if n}, len(relations))
    assert read[0]["other"] == (second if len(results) > 2 else None)
    frame = comparison.by("relation", metric, first, second)
    lost = [re.findall(r"\b\d+\b", part) for part in parts if part.startswith(LOST)]
    assert list(itertools.chain(*lost)) == frame.index[frame["reversed"]].tolist()
    return counts["leads"] < len(relations)


def check_sentence(results, comparison):
    """Read the verdict on the first metric, and compute each of its numbers again. Return the kinds of its parts."""
    metric = next(iter(comparison.keys))
    verdict = comparison.verdict
    parts = verdict.sentence.split("; ")
    values = {name: of_ranks(metric, ranks_of(result)) for name, result in results.items()}
    by_value = sorted(results, key=lambda name: -values[name] if is_higher(metric) else values[name])
    best, *others = by_value
    p_values = {name: pair_of(comparison, metric, best, name)["p"] for name in others}
    beaten = [name for name in others if p_values[name] <= ALPHA]
    assert verdict.metric == metric
    assert verdict.leaders == tuple(name for name in by_value if name not in beaten)
    assert verdict.outcome == ("undecided" if len(beaten) < len(others) else "better")
    assert verdict.sentence.isprintable()
    trained = ["this is about these trained models", "other seeds may give another order"]
    assert parts[-2:] == trained  # single runs, decided or not
    kinds = set()
    if verdict.outcome == "better":
        found = BEATS.fullmatch(parts[0])
        assert found["first"] == best
        assert check_pair(found, comparison, metric, values) <= ALPHA
        assert (found["second"] or found["rest"]) == others[0]
        assert found["n"] == (None if len(others) == 1 else str(len(others)))
        kinds |= {"better", f"better of {len(results)}"}
        kinds |= (
            {"behind on a relation"} if check_relations(parts, results, comparison, metric, best, others[0]) else set()
        )
    elif len(results) == 2:
        found = UNDECIDED.fullmatch(parts[0])
        assert "beats" not in verdict.sentence
        assert (found["first"], found["second"]) == (best, others[0])
        assert check_pair(found, comparison, metric, values) > ALPHA
        detectable = pair_of(comparison, metric, best, others[0])["detectable"]
        assert (found["reason"] is None) or math.isnan(detectable)
        if not math.isnan(detectable):
            assert_near(DETECTABLE.fullmatch(parts[1])["detectable"], detectable)
        kinds.add("undecided")
    else:
        found = SHARED.fullmatch(parts[0])
        assert found["first"] == best
        assert_near(found["value_first"], values[best])
        shared = re.findall(rf"({NUMBER}) \((\w+)\)", found["others"])
        assert [name for _, name in shared] == list(verdict.leaders[1:])
        for text, name in shared:
            assert_near(text, values[name])
        rest = REST.fullmatch(parts[1]) if len(parts) > 1 else None
        assert (rest is not None) == bool(beaten) == ("beats" in verdict.sentence)
        if beaten:
            assert (rest["first"], rest["second"] or rest["rest"]) == (best, beaten[0])
            assert check_pair(rest, comparison, metric, values) <= ALPHA
        kinds.add(f"several leaders of {len(results)}")
    assert bool(found["lower"]) != is_higher(metric)
    assert HEADINGS[found["metric"]] == metric
    kinds |= {"ties"} if check_ties(parts, results, metric, best) else set()
    row = comparison.values.loc[best]
    end = row[f"{metric} low"] if is_higher(metric) else row[f"{metric} high"]
    chance = chance_by_loops(metric, results[best])
    is_like_chance = end <= chance if is_higher(metric) else end >= chance
    read = [found for found in map(CHANCE.fullmatch, parts) if found]
    assert len(read) == is_like_chance
    for found in read:
        assert found["first"] == best
        assert_near(found["chance"], chance)
    return kinds


def chance_by_loops(metric, result):
    """The expected value of the metric where each rank is as likely as any other; kgeval knows none of HMR."""
    if metric == "hmr":
        return math.nan
    rivals = result.table["rivals_filtered"].tolist()
    means = [math.fsum(OF_RANK[metric](rank) for rank in range(1, r + 2)) / (r + 1) for r in rivals]
    return math.fsum(means) / len(means)


def test_fifty_sentences_say_the_numbers():
    """Wins, losses, undecided, turned by ties, one model, three and five models, metrics of which lower is better.

    The light suite reads nine of them, which are of all kinds.
    """
    kinds = set()
    for seed in size((10, 11, 14, 17, 22, 28, 35, 41, 46), range(50)):
        results, options = generated(seed)
        if len(results) == 1:
            check_one(results, options["metrics"][0])
            continue
        comparison = compare(results, **options)
        try:
            kinds |= check_sentence(results, comparison)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {comparison.verdict.sentence}") from error
        metric = options["metrics"][0]
        first_is_best = comparison.verdict.leaders[:1] == comparison.names[:1]
        kinds |= {f"{comparison.verdict.outcome}, {metric}, {'first' if first_is_best else 'another'} is best"}
    assert kinds >= {"ties", "undecided", "behind on a relation", "better of 2", "better of 3", "better of 5"}
    assert kinds >= {"several leaders of 3", "several leaders of 5"}
    for metric in ("mrr", "mr", "hits@3"):
        assert {kind.partition(", ")[2] for kind in kinds} >= {f"{metric}, first is best", f"{metric}, another is best"}


def check_one(results, metric):
    """The verdict on one model: value, interval, chance, range over ties."""
    ((name, result),) = results.items()
    verdict = verdict_of(results, metric=metric)
    found, *parts = verdict.sentence.split("; ")
    found = ONE.fullmatch(found)
    assert (verdict.outcome, verdict.leaders, found["first"]) == ("one", (name,), name)
    assert_near(found["value_first"], of_ranks(metric, ranks_of(result)))
    interval = result.interval(metric)
    assert_near(found["low"], interval.low)
    assert_near(found["high"], interval.high)
    chance = chance_by_loops(metric, result)
    assert (found["chance"] is None) == math.isnan(chance)
    if not math.isnan(chance):
        assert_near(found["chance"], chance)
    ties = [part for part in parts if "of the ranks tie" in part]
    share = sum(row["tied_filtered"] > 0 for row in result.table.to_dict("records")) / len(result.table)
    assert len(ties) == (share > 0.01)
    for part in ties:
        assert part.startswith(f"{share:.1%} of the ranks tie: ")
        assert_near(
            re.search(rf"({NUMBER}) with optimistic ties", part)[1], of_ranks(metric, ranks_of(result, "optimistic"))
        )
        assert_near(
            re.search(rf"({NUMBER}) with pessimistic", part)[1], of_ranks(metric, ranks_of(result, "pessimistic"))
        )


# --- whole sentences


def ring(shifts, n=12, m=1):
    """Results by name: all ranks of the model "A" are the first shift, all of "B" the second, ..."""
    return {name: with_ranks(template(n, m), shift - 1) for name, shift in zip("ABCDE", shifts)}


def test_the_better_model_is_named_wherever_it_stands():
    """Ranks 1 against 2 in 12 triples: all 2^12 swap patterns, 2 of them as extreme; Holm for two metrics."""
    for results, sign in ((ring([1, 2]), 1), (ring([2, 1]), -1)):
        best, other = "AB"[::sign]
        comparison = compare(results, metrics="mrr,mr")
        p = f"p = {2 * 2 / 2**12:.4f}"
        assert verdict_of(results, comparison) == comparison.verdict
        beats = f"{best} beats {other}: MRR 1.0000 against 0.5000, +0.5000 (no interval), {p}"
        assert comparison.verdict == Verdict((beats, TRAINED.removeprefix("; ")), "better", (best,), "mrr")
        sentence = verdict_of(results, comparison, "mr").sentence
        assert (
            sentence
            == f"{best} beats {other}: MR (lower is better) 1.00 against 2.00, -1.00 (no interval), {p}{TRAINED}"
        )


def test_a_model_that_beats_all_others_is_compared_with_the_best_of_them():
    """Ranks 1, 2 and 3 in 12 triples: the leader against the second; Holm for the three tests."""
    verdict = compare(ring([3, 1, 2]), metrics="mrr").verdict
    assert verdict.sentence == (
        "B beats the other 2 models: MRR 1.0000 against 0.5000 of C, the best of the others, +0.5000 (no interval), "
        f"p = {3 * 2 / 2**12:.4f}{TRAINED}"
    )
    assert (verdict.outcome, verdict.leaders) == ("better", ("B",))


def test_holm_decides_not_p_alone():
    """6 of 6 triples better: p = 2 / 2^6 = 0.03125, which decides alone but not beside a second metric."""
    results = ring([1, 2], n=6)
    assert compare(results, metrics="mrr").verdict.sentence.startswith("A beats B: ")
    verdict = compare(results, metrics="mrr,mr").verdict
    assert verdict.sentence == (
        "Undecided: MRR 1.0000 (A) against 0.5000 (B), difference +0.5000 (no interval), p = 0.0625 (no decision can "
        f"be had: 6 differing clusters, and the level 0.025 needs at least 7){TRAINED}"
    )
    assert (verdict.outcome, verdict.leaders) == ("undecided", ("A", "B"))


def test_equal_models_are_undecided():
    """Neither leads, and no tie policy is said to change that."""
    results = ring([2, 2])
    verdict = compare(results, metrics="mrr").verdict
    assert verdict.sentence.startswith("Undecided: MRR 0.5000 (A) against 0.5000 (B), difference 0.0000 ")
    assert verdict.leaders == ("A", "B")


@pytest.mark.thorough
def test_five_models_with_two_leaders():
    """The leader, the one that it cannot be told from, and the best of the three that it beats."""
    rng = np.random.default_rng(5)
    base = template(40)
    noise = rng.integers(0, 2, 80)
    results = {
        name: with_ranks(base, shift + np.roll(noise, i))
        for i, (name, shift) in enumerate(zip("CABDE", (0, 0, 9, 6, 12)))
    }
    verdict = compare(results, metrics="mrr").verdict
    assert set(verdict.leaders) == {"A", "C"}
    assert "beats the other 3 models, the best of them D: " in verdict.sentence
    assert verdict.outcome == "undecided"


def test_a_tiny_significant_difference_is_not_shown_as_zero():
    """One rank of 1,000 against 1,001 per triple: MRR differs by about 1e-6."""
    dataset = kg.Dataset.from_arrays(test=[[i, 0, i + 1] for i in range(60)], n_entities=1100, n_relations=1)
    base = kg.evaluate(lambda s, p, o: -((o - s) % 1100), dataset, progress=False)
    rng = np.random.default_rng(0)
    better = 1000 + rng.integers(0, 3, len(base.table))
    comparison = compare(
        {"A": with_ranks(base, better), "B": with_ranks(base, better + 1)}, metrics="mrr", n_resamples=999
    )
    found = BEATS.fullmatch(comparison.verdict.sentence.split("; ")[0])
    assert float(found["difference"]) > 0
    assert_near(found["difference"], comparison.differences["difference"][0])


def test_ties_that_turn_the_order_are_named():
    """A constant score ties with all rivals: rank 1 optimistically, in the middle realistically."""
    base = template(12)
    results = {"A": with_ranks(base, 1), "constant": with_ranks(base, 0, 8)}
    verdict = compare(results, metrics="mrr").verdict
    assert verdict.sentence.startswith("A beats constant: MRR 0.5000 against 0.2000, ")
    assert "; with optimistic ties constant leads: 1.0000 against 0.5000" in verdict.sentence
    assert "pessimistic" not in verdict.sentence
    optimistic = compare(results, metrics="optimistic.mrr").verdict.sentence
    assert optimistic.startswith("constant beats A: optimistic.MRR 1.0000 against 0.5000, ")
    assert "; with realistic ties A leads: 0.5000 against 0.2000; with pessimistic ties A leads: " in optimistic


def test_ties_that_make_models_equal_are_named():
    """A perfect model and a constant score: both have rank 1 if ties are optimistic."""
    base = template(12)
    results = {"perfect": with_ranks(base, 0), "constant": with_ranks(base, 0, 8)}
    sentence = compare(results, metrics="mrr").verdict.sentence
    assert sentence.startswith("perfect beats constant: MRR 1.0000 against 0.2000, ")
    assert sentence.endswith("; with optimistic ties constant equals perfect" + TRAINED)


def test_relations_in_which_both_are_equal_are_not_taken_for_lost():
    """Of three relations, one is led, one is trailed, and one is equal."""
    base = template(60, 3)
    other = np.array([28, 2, 3])[base.table["p"].to_numpy()]
    results = {"A": with_ranks(base, 3), "B": with_ranks(base, other)}
    sentence = compare(results, metrics="mrr").verdict.sentence
    assert sentence.startswith("A beats B: MRR 0.2500 against 0.2059, ")  # (1/29 + 1/3 + 1/4) / 3
    said = "of 3 relations, it leads on 1 (none significantly), trails on 1 (none significantly) and is equal on 1"
    assert f"; {said}; " in sentence


def test_models_near_chance_are_not_praised():
    """Random ranks: the better one may lead, but not clearly better than chance."""
    base = template(30)
    rng = np.random.default_rng(1)
    results = {name: with_ranks(base, rng.integers(0, 30, 60)) for name in "AB"}
    assert "is not clearly better than chance (" in compare(results, metrics="mr").verdict.sentence
    assert "; it is not clearly better than chance" in verdict_of({"A": results["A"]}, metric="mr").sentence


# --- no verdict


def test_no_verdict_without_a_value():
    """Two reasons for NaN: amri without ranks by chance, and a metric of lists whose filter lacks the split."""
    base = template(12)
    results = {
        name: replaced(with_ranks(base, i), protocol=replaced(base.protocol, unseen="worst"))
        for i, name in enumerate("AB")
    }
    verdict = compare(results, metrics="amri").verdict
    assert verdict.sentence.startswith("No verdict on AMRI: A has no AMRI: with unseen='worst' the ranks of ")
    assert verdict.sentence.endswith("; and 1 more")
    assert (verdict.outcome, verdict.leaders) == ("undecided", ())
    alone = verdict_of({"A": results["A"]}, metric="amri")
    assert alone.sentence.startswith("No verdict on AMRI: A has no AMRI: with unseen='worst' the ranks of ")
    assert (alone.outcome, alone.leaders) == ("one", ())


def test_a_metric_without_a_test_is_undecided():
    """The median has no moments: both values, and why there is no test."""
    verdict = compare(ring([1, 3]), metrics="median_rank").verdict
    assert verdict.sentence.startswith(
        "Undecided: median (lower is better) 1.00 (A) against 3.00 (B), difference -2.00 (no interval), not tested ("
    )
    assert verdict.leaders == ("A", "B")


def test_no_verdict_on_results_that_differ():
    """Overridden, or not compared at all."""
    base = template(12)
    part = replaced(base, table=base.table.iloc[:20].reset_index(drop=True), n_read=20)
    results = {"A": base, "B": with_ranks(part, 3)}
    verdict = compare(results, metrics="mrr", override="queries").verdict
    assert verdict.sentence.startswith(
        "No verdict on MRR: the results differ, and the comparison accepted it: queries: 24 in A and 20 in B; 4 rows "
    )
    assert verdict.leaders == ()
    assert verdict_of(results).sentence.startswith(
        "No verdict on MRR: queries: 24 in A and 20 in B; 4 rows only in A, "
    )
    alike = {"A": base, "B": with_ranks(base, 3)}
    assert verdict_of(alike).sentence == "No verdict on MRR: the results were not compared"


def test_other_results_than_the_compared_are_refused():
    """Other names, other ranks, none; a metric that was not compared. More columns are no difference."""
    results = ring([1, 2])
    comparison = compare(results, metrics="mrr")
    for other in ({"A": results["A"]}, {"A": results["A"], "X": results["B"]}, {"A": results["B"], "B": results["A"]}):
        with pytest.raises(kg.DataError, match="results must be the compared results, under the names A and B"):
            verdict_of(other, comparison)
    with pytest.raises(kg.DataError, match="at least one result"):
        verdict_of({})
    with pytest.raises(kg.MetricError, match="hits@10 was not compared; the compared metrics are mrr"):
        verdict_of(results, comparison, "hits@10")
    more = {name: result.with_columns({"kind": ["x"] * 24}) for name, result in results.items()}
    assert verdict_of(more, comparison) == comparison.verdict


# --- relations, patterns, best and worst places


def test_groups_with_the_other_order_are_named():
    """B is better on symmetric relations and on relation 3, A on all others; other groups are not named."""
    base = template(120, 4)
    kinds = np.where(base.table["p"].to_numpy() == 3, "symmetric", "other")
    rng = np.random.default_rng(3)
    noise = rng.integers(0, 3, (2, 240))
    is_symmetric = base.table["p"].to_numpy() == 3
    plain = {
        "A": with_ranks(base, noise[0] + np.where(is_symmetric, 9, 0)),
        "B": with_ranks(base, noise[1] + np.where(is_symmetric, 0, 5)),
    }
    compared = compare(plain, metrics="mrr", n_resamples=999)
    by_relation = compared.verdict.sentence
    assert by_relation.startswith("A beats B: ")
    counts = "; of 4 relations, it leads on 3 (3 significantly) and trails on 1 (1 significantly)"
    frame = compared.by("relation", "mrr", "A", "B")
    assert frame.groupby(frame["difference"] > 0)["decided"].sum().tolist() == [1, 3]
    assert f"{counts}; {LOST}relation 3; " in by_relation
    results = {name: result.with_columns({"own_pattern": kinds}) for name, result in plain.items()}
    featured = {
        name: result.__replace__(columns=result.columns.rename(columns={"own_pattern": "pattern"}))
        for name, result in results.items()
    }
    sentence = verdict_of(featured, compared).sentence
    assert f"{counts}; {LOST}symmetric relations; " in sentence
    cardinal = {
        name: r.__replace__(columns=r.columns.rename(columns={"pattern": "cardinality"}))
        for name, r in featured.items()
    }
    said = compare(cardinal, metrics="mr,mrr", n_resamples=999).verdict.sentence
    assert f"; {LOST}symmetric relations; " in said


def test_a_relation_with_equal_values_is_led_by_neither():
    """A is better on two relations and equal on a third."""
    base = template(36, 3)
    results = {"A": with_ranks(base, 1), "B": with_ranks(base, np.where(base.table["p"].to_numpy() == 2, 1, 4))}
    said = "; of 3 relations, it leads on 2 (none significantly) and is equal on 1; "
    assert said in compare(results, metrics="mr").verdict.sentence  # a gap without variance has no interval


def test_best_and_worst_places_by_loops():
    """Groups with at least 10 ranks and at least 1% of the ranks; the value of each by a loop."""
    base = template(60, 7)
    rng = np.random.default_rng(8)
    p = base.table["p"].to_numpy()
    result = with_ranks(base, np.minimum(rng.integers(0, 40, 120), 3 * (p + 1)))
    for metric in ("mrr", "mr", "object.mrr"):
        side, _, name = metric.rpartition(".")
        values = {}
        for relation in range(7):
            ranks = ranks_of(
                result, where=lambda row, r=relation, s=side: row["p"] == r and (not s or row["side"] == s)
            )
            if len(ranks) >= 10:
                values[str(relation)] = of_ranks(name, ranks)
        sentence = verdict_of({"A": result}, metric=metric).sentence
        if len(values) < 2:
            assert "best on" not in sentence
            continue
        found = re.search(
            rf"best on relation (\w+) \(({NUMBER})\), worst on relation (\w+) \(({NUMBER})\), of the relations with at "
            r"least 10 ranks$",
            sentence,
        )
        order = sorted(values, key=lambda r: values[r], reverse=is_higher(name))
        assert (found[1], found[3]) == (order[0], order[-1])
        assert_near(found[2], values[order[0]])
        assert_near(found[4], values[order[-1]])


# --- texts


def test_p_values_stay_on_their_side_of_alpha():
    """More decimals where four would put p on the other side."""
    assert [p_text(p, 0.05) for p in (0.05, 0.050001, 0.04999, 0.2)] == ["0.0500", "0.050001", "0.0500", "0.2000"]
    assert p_text(0.00005, 0.05) == "< 0.0001"
    assert p_text(float("nan"), 0.05) == "-"


def test_few_swaps_do_not_limit_p():
    """50 triples that all differ: 99 random swaps show no p below 0.01, the bound of their tail does."""
    base = template(50)
    rng = np.random.default_rng(0)
    results = {"A": with_ranks(base, rng.integers(0, 2, 100)), "B": with_ranks(base, rng.integers(6, 9, 100))}
    text = repr(compare(results, metrics="mrr,mr", n_resamples=99))
    assert text.splitlines()[0].endswith("p < 0.0001")
    table = text.split("\n\n")[2]
    assert [line.count("< 0.0001") for line in table.splitlines()] == [0, 1, 1]
    assert re.findall(r"\bMRR?\b", table) == ["MRR", "MR"]
    assert "mrr" not in text
    assert "favours" not in text


def test_hostile_names_stay_one_line():
    """Control characters are escaped, and long labels shortened in the middle."""
    results = dict(zip(["evil\n\x1b[31m\u202e", "x" * 10_000], ring([1, 2]).values()))
    sentence = compare(results, metrics="mrr").verdict.sentence
    assert sentence.startswith(r"evil\n\x1b[31m\u202e beats " + "x" * 30 + "…" + "x" * 30 + ": MRR")
    assert sentence.isprintable()
    labels = ["\x1b" * 10**5, "y" * 10**5, "z"]
    dataset = kg.Dataset.from_arrays(test=[[2, 0, i] for i in range(3)], entity_labels=labels, n_relations=1)
    base = kg.evaluate(lambda s, p, o: o, dataset, progress=False)
    part = replaced(base, table=base.table.iloc[1:].reset_index(drop=True), n_read=5)
    sentence = compare({"A": base, "B": part}, metrics="mrr", override="queries").verdict.sentence
    assert sentence.startswith("No verdict on MRR: the results differ, ")
    assert len(sentence) < 2_000
    assert sentence.isprintable()


# --- breakdowns of a difference


@pytest.mark.parametrize("seed", light(range(6), 1))
@pytest.mark.parametrize("metric", light(["mr", "object.mrr", "mrr"], 2))
def test_groups_of_any_column_by_loops(seed, metric):
    """n, share, values, difference and contribution of each group of a user's column; buckets stay in order."""
    rng = np.random.default_rng(seed)
    base = template(30, 3)
    side, _, name = metric.rpartition(".")
    groups = rng.choice(["low", "mid", "high"], 60)
    ordered = pd.Categorical(groups, ["low", "mid", "high"], ordered=True)
    for values in (groups, ordered):
        results = [with_ranks(base, rng.integers(0, 20, 60)).with_columns({"kind": values}) for _ in range(2)]
        found = compare(results, names=["A", "B"], metrics=[metric, "hits@3"], n_resamples=9)
        frame = found.by("kind", second="B")
        ranks = [ranks_of(result) for result in results]
        sides = base.table["side"].astype(str).tolist()
        of_side = [i for i in range(60) if side in ("", sides[i])]
        for group, record in frame.iterrows():
            rows = [i for i in of_side if groups[i] == group]
            a, b = (of_ranks(name, [of_model[i] for i in rows]) for of_model in ranks)
            assert (record["n"], record["share"]) == (len(rows), pytest.approx(len(rows) / len(of_side)))
            assert (record["value_first"], record["value_second"]) == (pytest.approx(a), pytest.approx(b))
            assert record["difference"] == pytest.approx(a - b, abs=1e-12)
            assert record["contribution"] == pytest.approx((a - b) * len(rows) / len(of_side), abs=1e-12)
        assert sorted(frame.index) == sorted({groups[i] for i in of_side})
        assert frame.index.name == "kind"
        assert frame.attrs["difference"] == pytest.approx(frame["contribution"].sum())
        sizes = frame["contribution"].abs().tolist()
        wanted = (
            ["low", "mid", "high"]
            if values is ordered
            else [x for _, x in sorted(zip(sizes, frame.index), reverse=True)]
        )
        assert frame.index.tolist() == wanted
    pd.testing.assert_frame_equal(found.by_relation(metric), found.by("relation", metric))


def t_interval(gaps, confidence):
    """Mean and Student's t interval of the differences of triples, by the textbook."""
    n = len(gaps)
    mean = math.fsum(gaps) / n
    error = math.sqrt(math.fsum((gap - mean) ** 2 for gap in gaps) / (n - 1) / n)
    reach = student_quantile((1 + confidence) / 2, n - 1) * error
    return mean - reach, mean + reach


@pytest.mark.parametrize("sign", light([-1, 1], 1))
def test_reversed_groups_by_loops(sign):
    """Reversed: the total is decided, and the t interval of the relation, at 1 - alpha / relations, is beyond 0."""
    base = template(200, 8)
    p = base.table["p"].tolist()
    n_reversed, n_uncorrected = 0, 0
    for seed in range(size(2, 6)):
        rng = np.random.default_rng(seed)
        gain = np.linspace(1.2, -0.3, 8)[p]
        easy = rng.normal(size=400)
        results = [
            with_ranks(base, np.exp(1.5 + easy + 0.5 * rng.normal(size=400) - of_model)) for of_model in (gain, 0)
        ][::sign]
        found = compare(results, names=["A", "B"], metrics="mrr,mr", n_resamples=999)
        ranks = [ranks_of(result) for result in results]
        for metric in ("mrr", "mr"):
            frame = found.by("relation", metric)
            total = frame.attrs["difference"]
            is_decided = found.differences.set_index("metric")["better"][metric] != ""
            for relation, record in frame.iterrows():
                triples = [i for i in range(200) if p[i] == int(relation)]  # its other side is rank i + 200
                a, b = ([of_ranks(metric, [of[i], of[i + 200]]) for i in triples] for of in ranks)
                gaps = [one - other for one, other in zip(a, b)]
                low, high = t_interval(gaps, 1 - ALPHA)
                assert record[["low", "high"]].tolist() == pytest.approx([low, high])
                n_uncorrected += is_decided and (high < 0 if total > 0 else low > 0)
                low, high = t_interval(gaps, 1 - ALPHA / 8)
                assert record[["low_corrected", "high_corrected"]].tolist() == pytest.approx([low, high])
                assert record["decided"] == (low > 0 or high < 0)
                assert record["reversed"] == (is_decided and (high < 0 if total > 0 else low > 0))
                n_reversed += record["reversed"]
    assert 0 < n_reversed < n_uncorrected  # the correction matters


def test_nothing_is_reversed_where_nothing_is_decided():
    """Opposite orders in two relations: the sum is undecided, so neither of them is the exception."""
    base = template(80, 2)
    p = base.table["p"].to_numpy()
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 3, (2, 160))
    results = [with_ranks(base, noise[0] + 4 * (p == 0)), with_ranks(base, noise[1] + 4 * (p == 1))]
    found = compare(results, names=["A", "B"], metrics="mrr")
    frame = found.by("relation")
    assert found.verdict.outcome == "undecided"
    assert (frame["low"] * frame["high"] > 0).all()
    assert not frame["reversed"].any()


def test_features_come_from_whoever_has_them():
    """A column of one result alone, of the dataset in memory, or of none; a column that differs is refused."""
    base = template(12)
    first, second = with_ranks(base, 1), with_ranks(base, 3)
    found = compare([first, second], names=["A", "B"], metrics="mrr", n_resamples=9)
    assert found.by("cardinality").index.tolist() == ["1-1"]  # computed
    assert found.by("side")["n"].to_dict() == {"object": 12, "subject": 12}
    bare = [result.__replace__(source=None) for result in (first, second)]
    with pytest.raises(kg.DataError, match="cardinality: a saved result does not contain the dataset"):
        compare(bare, names=["A", "B"], metrics="mrr", n_resamples=9).by("cardinality")
    halves = ["x"] * 12 + ["y"] * 12
    only_second = compare(
        [first, second.with_columns({"half": halves})], names=["A", "B"], metrics="mrr", n_resamples=9
    )
    assert only_second.by("half")["n"].to_dict() == {"x": 12, "y": 12}
    ranks = np.where(np.arange(24) < 12, 0, 5)  # with the halves in another order of the rows
    shuffled = with_ranks(base, ranks).with_columns({"half": halves})
    order = np.random.default_rng(0).permutation(24)
    parts = {"table": shuffled.table, "columns": shuffled.columns}
    shuffled = replaced(shuffled, **{name: part.iloc[order].reset_index(drop=True) for name, part in parts.items()})
    moved = compare([first, shuffled], names=["A", "B"], metrics="mr", n_resamples=9).by("half")
    assert moved["value_second"].to_dict() == {"x": 1.0, "y": 6.0}
    both = [first.with_columns({"half": halves[::-1]}), second.with_columns({"half": halves})]
    with pytest.raises(kg.MetricError) as caught:
        compare(both, names=["A", "B"], metrics="mrr", n_resamples=9).by("half")
    assert str(caught.value) == (
        "the column 'half' differs between the results for 24 ranks (for the first of them: 'y' in A and 'x' in B); "
        "compute the column for both results from the same dataset"
    )
    with pytest.raises(kg.MetricError, match=r"by must be one of .*'pattern'.*; got 'patern'"):
        found.by("patern")


def test_query_level_metrics_break_down_by_whole_queries():
    """By relation or side; a column that splits the answers of a query is refused."""
    triples = [[0, 0, 1], [0, 0, 2], [3, 0, 1], [3, 1, 4], [3, 1, 2]]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=6, n_relations=2)
    results = [kg.evaluate(lambda s, p, o, k=k: (7 * s + k * p + o * o) % 5, dataset, progress=False) for k in (1, 3)]
    results = [result.with_columns({"row": [str(i % 5) for i in range(10)]}) for result in results]
    found = compare(results, names=["A", "B"], metrics="query.map", n_resamples=9)
    frame = found.by("side")
    for side, record in frame.iterrows():
        values = [result.per_query("map", side=side)["map"] for result in results]
        assert (record["value_first"], record["value_second"]) == tuple(pytest.approx(v.mean()) for v in values)
        assert record["n"] == len(values[0])
    with pytest.raises(kg.MetricError, match="the answers of 3 of 7 queries are in different groups"):
        found.by("row")


@pytest.mark.parametrize("setting", ["filtered", "raw"])
def test_disagreements_by_loops(setting):
    """The largest differences of reciprocal ranks, ties of it in the order of the first table."""
    rng = np.random.default_rng(2)
    base = template(20, 2)
    results = [with_ranks(base, rng.integers(0, 4, 40), rng.integers(0, 2, 40)) for _ in range(3)]
    shuffled = replaced(results[1], table=results[1].table.sample(frac=1, random_state=0).reset_index(drop=True))
    found = compare([results[0], shuffled, results[2]], names=["A", "B", "C"], metrics="mrr", n_resamples=9)
    for first, second in ((0, 1), (1, 2), (2, 0)):
        expected = []
        for i, (one, other) in enumerate(zip(ranks_of(results[first]), ranks_of(results[second]))):
            row = base.table.iloc[i]
            line = [str(row["s"]), str(row["p"]), str(row["o"]), row["side"], one, other]
            expected += [(-abs(1 / one - 1 / other), i, line)] if one != other else []
        expected = [line for *_, line in sorted(expected)]
        frame = found.disagreements("ABC"[first], "ABC"[second], limit=100, setting=setting)
        assert frame.columns.tolist() == ["s", "p", "o", "side", "rank_first", "rank_second"]
        assert frame.astype(object).to_numpy().tolist() == expected
        few = found.disagreements("ABC"[first], "ABC"[second], limit=3, setting=setting)
        assert few.astype(object).to_numpy().tolist() == expected[:3]
    assert found.disagreements("A", "B", setting=setting).shape[0] == 10
    for options, text in (({"limit": 0}, "limit must be"), ({"setting": "both"}, "setting must be one of")):
        with pytest.raises(kg.MetricError, match=text):
            found.disagreements(**options)


def test_disagreements_leave_out_bounded_ranks():
    """A rank that is only bounded has no reciprocal to compare; a setting without ranks is refused."""
    base = template(12)
    one, other = with_ranks(base, 1), with_ranks(base, 1, 4)
    is_first = np.arange(24) == 0
    bounded = {f"bounded_{setting}": ~is_first for setting in ("raw", "filtered")}
    found = compare([one, replaced(other, table=other.table.assign(**bounded))], names=["A", "B"], metrics="mrr")
    assert found.disagreements()[["rank_first", "rank_second"]].to_numpy().tolist() == [[2.0, 4.0]]


def test_sides_that_differ_are_said_of_one_model():
    """Objects all rank first; subject s ranks s + 1, as the score falls with s: the mean of 1, 1/2, ... 1/40."""
    dataset = kg.Dataset.from_arrays(test=[[s, 0, s + 1] for s in range(40)], n_entities=41, n_relations=1)
    apart = kg.evaluate(lambda s, p, o: -np.abs(o - s - 1) - 1000.0 * s, dataset, progress=False)
    of_subjects = sum(1 / (s + 1) for s in range(40)) / 40
    assert (
        f"; MRR {of_subjects:.4f} on the subject side and 1.0000 on the object side"
        in verdict_of({"A": apart}).sentence
    )
    alike = kg.evaluate(lambda s, p, o: -np.abs(o - s - 1), dataset, progress=False)
    assert "side" not in verdict_of({"A": alike}).sentence
