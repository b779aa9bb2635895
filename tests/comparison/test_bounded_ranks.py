"""compare() on results with bounded or unknown ranks: bounds of differences, wins, pairs that are still tested."""

import itertools
import math

import numpy as np
import oracle
import pytest
from grids import light
from made_results import replaced

import kgeval as kg
from kgeval.base.wording import signed
from kgeval.comparison.tables import values_text
from kgeval.errors import MetricError
from kgeval.results.bounded import UNKNOWN_COUNT

N = 6
DATASET = kg.Dataset.from_arrays(test=[[i, i % 2, (i + 1) % N] for i in range(N)], n_entities=N, n_relations=2)
SETTINGS = ("raw", "filtered")


def result_of(rows, scorer, unknown=None):
    """A result of (better, tied, bounded) rows, all of them with 5 rivals."""
    result = kg.evaluate(lambda s, p, o: o, DATASET, kg.Protocol(sides="object"), progress=False)
    names = ("better", "tied", "bounded")
    columns = {f"{name}_{s}": np.array([row[i] for row in rows]) for i, name in enumerate(names) for s in SETTINGS}
    columns |= {f"rivals_{s}": UNKNOWN_COUNT if "rivals" in (unknown or {}) else 5 for s in SETTINGS}
    about = {**result.facts, "scorer": scorer, **({"unknown": unknown} if unknown else {})}
    return replaced(result, table=result.table.assign(**columns), facts=about, source=None)


def random_rows(rng, share):
    rows = []
    for _ in range(N):
        better = int(rng.integers(0, 6))
        rows.append((better, int(rng.integers(0, min(2, 5 - better) + 1)), bool(rng.random() < share)))
    return rows


def tables(rows):
    """Every table in which each bounded row has one of its ranks."""
    ranges = [range(b, b + t + 1) if bounded else (None,) for b, t, bounded in rows]
    for places in itertools.product(*ranges):
        yield [(b, t, 5) if x is None else (x, 0, 5) for x, (b, t, _) in zip(places, rows, strict=True)]


@pytest.mark.parametrize("seed", light(range(20), 5))
@pytest.mark.light(2)
def test_differences_lie_in_their_bounds(seed):
    """The notes have the least and the greatest difference over all placements; wins are those of all placements."""
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, 0.4), random_rows(rng, 0.4)
    pair = [result_of(rows[0], "A"), result_of(rows[1], "B")]
    comparison = kg.compare(pair, metrics="mrr,mr,hits@2,optimistic.mrr", n_resamples=99)
    table = comparison.differences.set_index("metric")
    for name in ("mrr", "mr", "hits@2"):
        first, second = ([oracle.metric(name, t, "realistic") for t in tables(part)] for part in rows)
        low, high = float(min(first) - max(second)), float(max(first) - min(second))
        shown = f"A and B: the difference in {name.upper() if name != 'hits@2' else name} depends on bounded ranks"
        notes = [note for note in comparison.notes if note.startswith(shown)]
        if low == high:
            assert not notes, (rows, name)
            sign = 1 if table.loc[name, "first"] == "A" else -1  # the better model stands first
            assert table.loc[name, "difference"] == pytest.approx(sign * low, abs=1e-12)
            continue
        text = f"it lies between {signed(low)} and {signed(high)}"
        is_better = low > 0 or high < 0
        better = ("A" if (low > 0) == (name != "mr") else "B") if is_better else ""
        end = f"; {better} is better, whatever these ranks are" if is_better else ""
        assert notes == [f"{shown}; {text}{end}"], rows
        assert math.isnan(table.loc[name, "difference"])
        assert table.loc[name, "decision"] == "undecided"
    for name in ("mrr", "hits@2"):
        counts = [0, 0, 0]
        for one, other in zip(*rows, strict=True):
            of_both = [
                {oracle.value(name, r) for t in tables([row]) for r, _ in oracle.ranks(*t[0][:2], "realistic")}
                for row in (one, other)
            ]
            signs = {(a > b) - (a < b) for a in of_both[0] for b in of_both[1]}
            if len(signs) == 1:
                counts[{1: 0, 0: 1, -1: 2}[signs.pop()]] += 1
        wins = ["wins", "ties", "losses"] if table.loc[name, "first"] == "A" else ["losses", "ties", "wins"]
        assert table.loc[name, wins].tolist() == counts, (rows, name)


def test_a_difference_of_optimistic_values_is_not_taken_for_a_bound():
    """Ranks of A: 1, 1, 1, 1, 1 and 1 to 3; of B: 2 six times. The optimistic difference is 1/2, the least is 7/18."""
    a = result_of([(0, 0, False)] * 5 + [(0, 2, True)], "A")
    b = result_of([(1, 0, False)] * 6, "B")
    comparison = kg.compare([a, b], metrics="optimistic.mrr,optimistic.mr")
    assert comparison.differences["difference"].tolist() == [0.5, -1.0]
    assert [note for note in comparison.notes if "no bound" in note] == [
        "A and B: ranks are bounded, so the difference in optimistic.MRR is no bound of the difference in MRR; it "
        "lies between +0.3889 (pessimistic A - optimistic B) and +0.5000 (optimistic A - pessimistic B); A is better, "
        "whatever these ranks are",
        "A and B: ranks are bounded, so the difference in optimistic.MR is no bound of the difference in MR; it lies "
        "between -1.0000 (optimistic A - pessimistic B) and -0.6667 (pessimistic A - optimistic B); A is better, "
        "whatever these ranks are",
    ]
    assert comparison.by_relation("optimistic.mrr")["difference"].tolist() == [0.5, 0.5]
    with pytest.raises(MetricError, match="was not compared"):
        comparison.by_relation("mrr")


def test_pairs_without_bounded_ranks_are_tested_as_alone():
    """A third result with bounded ranks takes away only its own tests; it may be the best."""
    a, b = result_of([(0, 0, False)] * 6, "A"), result_of([(2, 0, False)] * 6, "B")
    c = result_of([(0, 4, True)] * 6, "C")
    both, alone = kg.compare([a, b, c], metrics="mrr"), kg.compare([a, b], metrics="mrr")
    first = both.differences.iloc[0]
    assert first["p"] == alone.differences["p"].iloc[0]
    assert first["p_corrected"] == first["p"]  # one test
    reason = "C: the value lies between 0.2000 and 1.0000, since 6 of 6 ranks are bounded"
    assert both.differences["reason"].tolist()[1:] == [reason] * 2
    assert "undecided" not in both.differences["reason"][0]
    assert both.best("mrr") == "A"  # no value is above 1
    with pytest.raises(
        MetricError, match=r"^B has the best known value of mrr, 0.3333, but the value of C lies between 0.2"
    ):
        kg.compare([b, c], metrics="mrr").best("mrr")
    text = values_text(kg.compare([b, result_of([(3, 0, False)] * 6, "D"), c], metrics="mrr"), "markdown")
    assert "**" not in text
    assert "undecided: MRR" in text
    with pytest.raises(MetricError, match="the value lies between"):
        both.by_relation("mrr", "C")


def test_unknown_numbers_of_rivals_are_no_mismatch():
    """They are said not to be compared; metrics that need them are undefined, the others are compared."""
    a, b = result_of([(0, 0, False)] * 6, "A"), result_of([(1, 0, False)] * 6, "B", {"rivals": "not in the file"})
    comparison = kg.compare([a, b], metrics="mr,amri")
    assert comparison.differences["difference"].tolist()[0] == -1.0
    assert comparison.differences.loc[1, "reason"] == "B: not in the file"
    assert comparison.differences.loc[1, ["wins", "ties", "losses"]].tolist() == [6, 0, 0]  # those of mr
    assert [note for note in comparison.notes if "rivals" in note] == [
        f"the numbers of {setting} rivals are unknown in B, so it was not checked whether all results have equal "
        "numbers"
        for setting in SETTINGS
    ]


def test_unknown_ties_have_no_tie_rate_and_no_wins():
    a = result_of([(0, 1, False)] * 6, "A")
    b = result_of([(1, 1, False)] * 6, "B", {"ties": "ranks were computed elsewhere"})
    comparison = kg.compare([a, b], metrics="mr,optimistic.mr")
    assert comparison.differences["difference"].tolist()[0] == -1.0
    assert comparison.differences.loc[1, ["wins", "ties", "losses"]].tolist() == [0, 0, 0]
    assert comparison.differences.loc[1, "reason"] == "B: ranks were computed elsewhere"
    assert not [note for note in comparison.notes if "tie rates" in note]
