"""hits@k of n drawn negatives, against sums of fractions and against real draws."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from grids import size

import kgeval as kg
from kgeval.errors import MetricError
from kgeval.metrics import SampledHits, parse

TIES = ("optimistic", "pessimistic", "realistic", "expected")


def of_one(k, n, drawn, above, rivals):
    """P(at most k - 1 of n draws are among the `above` of `rivals`), as a fraction; `above` may be a half."""
    if rivals == 0:
        return Fraction(1)
    if not drawn:
        p = Fraction(above) / rivals
        return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k))
    n = min(n, rivals)
    ends = {math.floor(above), math.ceil(above)}
    ways = [sum(math.comb(b, i) * math.comb(rivals - b, n - i) for i in range(min(k, n + 1))) for b in ends]
    return Fraction(sum(ways), math.comb(rivals, n) * len(ends))


def of_row(metric, better, tied, rivals, ties):
    """One positive under a tie policy."""
    share = {"optimistic": Fraction(0), "pessimistic": Fraction(1), "realistic": Fraction(1, 2)}
    above = [better + share[ties] * tied] if ties != "expected" else [better + t for t in range(tied + 1)]
    return sum(of_one(metric.k, metric.n, metric.drawn, b, rivals) for b in above) / len(above)


def random_row(rng):
    """Better, tied and rivals; no rivals, all tied and long ties are common on purpose."""
    rivals = rng.choice([0, rng.randint(0, 12), rng.randint(0, 60), rng.randint(60, 900)])
    better = rng.choice([0, rng.randint(0, rivals), rivals])
    return better, rng.choice([0, rng.randint(0, rivals - better), rivals - better]), rivals


@pytest.mark.parametrize("ties", TIES)
def test_equals_sums_of_fractions(ties):
    """Random rank tables, n below and above the number of rivals; also the chance level and its variance."""
    rng = random.Random(ties)
    for _ in range(size(25, 500)):
        k = rng.randint(1, 6)
        metric = SampledHits(k, rng.randint(k, 15), rng.random() < 0.5)
        rows = [random_row(rng) for _ in range(rng.randint(1, 3))]
        wanted = sum(of_row(metric, *row, ties) for row in rows) / len(rows)
        columns = np.array(rows, dtype=np.int64).T
        assert metric.compute(*columns, ties).value == pytest.approx(float(wanted), rel=1e-12, abs=1e-12)
        all_ranks = [[of_row(metric, b, 0, n, ties) for b in range(n + 1)] for _, _, n in rows]
        level = sum(sum(values) / len(values) for values in all_ranks) / len(rows)
        assert metric.chance(columns[2]).value == pytest.approx(float(level), rel=1e-12)
        spread = [sum(v * v for v in vs) / len(vs) - (sum(vs) / len(vs)) ** 2 for vs in all_ranks]
        variance = metric.variance(np.ones_like(columns[2]), columns[2] + 1)
        assert variance == pytest.approx(float(sum(spread)) / len(rows) ** 2, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("drawn", [False, True])
def test_long_ranges_of_many_rivals(drawn):
    """Integrals with corrections; the chance level is 10 / 50 without replacement."""
    metric = SampledHits(10, 49, drawn)
    for better, tied, rivals in ((3, 389, 392), (0, 500, 700), (100, 300, 1000), (0, 392, 392)):
        wanted = float(of_row(metric, better, tied, rivals, "expected"))
        found = metric.compute(*np.array([[better], [tied], [rivals]]), "expected").value
        assert found == pytest.approx(wanted, rel=1e-12)
    million = np.array([10**6, 14_540])
    if drawn:
        assert metric.chance(million).value == pytest.approx(0.2, rel=1e-12)
    else:  # the mean of f(b / R) over b = 0..R, f(0) = 1, f(1) = 0; flat at both ends: (R / 5 + 1 / 2) / (R + 1)
        wanted = np.mean((million / 5 + 0.5) / (million + 1))
        assert metric.chance(million).value == pytest.approx(wanted, rel=1e-12)


def test_text_heading_and_errors():
    """The key names the negatives; a malformed one, or n below k, is refused."""
    for key in ("hits@10_of_49", "hits@10_of_49_drawn", "adjusted(hits@3_of_50)", "z(hits@1_of_5_drawn)"):
        assert str(parse(key.upper())) == parse(key).heading == key
    assert kg.metrics.from_ranks([1], "hits@1_of_2").reasons == {
        "hits@1_of_2": "hits@1_of_2 needs the number of candidates; set n_candidates="
    }
    assert kg.metrics.from_ranks([2], "hits@1_of_2", n_candidates=5)["hits@1_of_2"] == 0.5625
    with pytest.raises(MetricError, match=r"must be from k to 10,000; got hits@10_of_9$"):
        parse("hits@10_of_9")
    for text in ("hits@10_of_x", "hits@10 of 50", "hits@10_50"):
        with pytest.raises(MetricError, match=rf"^expected hits@K_of_N or hits@K_of_N_drawn, .*; got '{text}'$"):
            parse(text)


def test_of_a_result():
    """Value, interval and comparison follow the same counts; the interval holds the value."""
    rng = np.random.default_rng(0)
    dataset = kg.Dataset.from_arrays(test=rng.integers(0, 40, (60, 3)) % [40, 2, 40], n_entities=40, n_relations=2)
    scores = rng.integers(0, 9, (2, 40, 2, 40)).astype(float)
    first, second = (kg.evaluate(lambda s, p, o, t=t: t[s, p, o], dataset, progress=False) for t in scores)
    table = first.table
    rows = table[["better_filtered", "tied_filtered", "rivals_filtered"]].to_numpy().tolist()
    for ties in TIES:
        wanted = np.mean([float(of_row(SampledHits(3, 20), *row, ties)) for row in rows])
        assert first[f"{ties}.hits@3_of_20"] == pytest.approx(wanted, rel=1e-12)
    interval = first.interval("hits@3_of_20")
    assert interval.low < first["hits@3_of_20"] < interval.high
    row = kg.compare([first, second], names=["a", "b"], metrics="hits@3_of_20").differences.iloc[0]
    assert abs(row["difference"]) == pytest.approx(abs(first["hits@3_of_20"] - second["hits@3_of_20"]), rel=1e-12)


@pytest.mark.thorough
def test_equals_the_mean_of_real_draws(shared):
    """GraIL nell_v1_ind: 200 draws of 49 distinct negatives lie around the exact value (3 standard errors)."""
    dataset = kg.read_dataset(shared / "data" / "formats" / "grail-nell_v1" / "nell_v1_ind")
    scores = np.random.default_rng(1).normal(
        size=(len(dataset.entities), len(dataset.relations), len(dataset.entities))
    )

    def score(s, p, o):
        return scores[s, p, o]

    exact = kg.evaluate(score, dataset, progress=False)["hits@10_of_49_drawn"]
    known = {tuple(t) for split in dataset.splits for t in dataset[split].array.tolist()}
    every, rng, pools = range(len(dataset.entities)), np.random.default_rng(0), {"subjects": [], "objects": []}
    for s, p, o in dataset["test"].array.tolist():
        pools["subjects"].append([e for e in every if (e, p, o) not in known])
        pools["objects"].append([e for e in every if (s, p, e) not in known])
    found = []
    for _ in range(200):
        lists = {
            side: [rng.choice(pool, min(49, len(pool)), replace=False) for pool in of_side]
            for side, of_side in pools.items()
        }
        protocol = kg.Protocol(candidates=kg.candidates.Listed(**lists))
        found.append(kg.evaluate(score, dataset, protocol, progress=False)["hits@10"])
    assert abs(np.mean(found) - exact) < 3 * np.std(found, ddof=1) / math.sqrt(200)
