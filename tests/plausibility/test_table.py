"""Whether reported numbers are possible: against linear programmes, real ranks, published rows, and by hand."""

import json
import math
import re
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from grids import light

from kgeval.errors import DataError, MetricError
from kgeval.plausibility.bounds import HALF, WHOLE, Bands
from kgeval.plausibility.reading import Value, metric_name, read_cell, read_reported
from kgeval.plausibility.rules import Setting, judge
from kgeval.plausibility.table import check_table

INTEGERS = " if ranks are integers (no ties)"


def exact(**given):
    """Values without rounding: hits by h1, h3, ..., each a range or a number."""
    values = {}
    for key, found in given.items():
        name = f"hits@{key[1:]}" if re.fullmatch("h[0-9]+", key) else key
        low, high = found if isinstance(found, tuple) else (found, found)
        values[name] = Value(name, str(found), Fraction(low), Fraction(high))
    return values


def messages(values, **options):
    """The findings of one row."""
    return [found.message for found in check_table(values, **options).findings]


def numbers_of(ranks, cuts):
    """All metrics of a list of ranks, as fractions (GMR as float)."""
    ranks = [Fraction(rank) for rank in ranks]
    n = len(ranks)
    found = {f"hits@{k}": Fraction(sum(rank <= int(k) for rank in ranks), n) for k in cuts}
    found["MR"], found["MRR"] = sum(ranks) / n, sum(1 / rank for rank in ranks) / n
    found["GMR"], found["HMR"] = math.exp(sum(math.log(rank) for rank in ranks) / n), 1 / found["MRR"]
    return found


def shown(number, places, how=ROUND_HALF_EVEN):
    """A number as a table shows it."""
    exact_number = Fraction(number)
    decimal = Decimal(exact_number.numerator) / Decimal(exact_number.denominator)
    return str(decimal.quantize(Decimal(1).scaleb(-places), how))


# --- the decision, against a linear programme -------------------------------------------------------


def least_violation(values, top, step):
    """By how much the ranges must be widened for a distribution of ranks to exist, by linear programming."""
    linprog = pytest.importorskip("scipy.optimize").linprog
    ranks = np.arange(1, top + float(step) / 2, float(step))
    rows, most = [], []
    for name, value in values.items():
        of_rank = {"MR": ranks, "MRR": 1 / ranks}.get(name)
        if of_rank is None:
            of_rank = (ranks <= int(name[5:])).astype(float)
        rows += [[*of_rank, -1.0], [*-of_rank, -1.0]]
        most += [float(value.high), -float(value.low)]
    found = linprog(
        [*np.zeros(len(ranks)), 1.0],
        A_ub=rows,
        b_ub=most,
        A_eq=[[*np.ones(len(ranks)), 0.0]],
        b_eq=[1.0],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0
    return found.fun


def random_values(rng, top, step):
    """Ranges around the numbers of random masses, moved a little, so that about half are impossible."""
    ranks = np.arange(1, top + float(step) / 2, float(step))
    masses = rng.dirichlet(np.full(len(ranks), rng.choice([0.05, 0.3, 1.0])))
    cuts = rng.choice(np.arange(1, top + 3), size=rng.integers(0, 5), replace=False)
    numbers = {f"hits@{k}": masses[ranks <= k].sum() for k in cuts}
    numbers |= {"MRR": (masses / ranks).sum(), "MR": (masses * ranks).sum()}
    if rng.random() < 0.2:
        del numbers[rng.choice(["MR", "MRR"])]
    values = {}
    width, shift = rng.choice([0.0005, 0.005, 0.05]), rng.choice([0.0005, 0.005, 0.05, 0.2])
    for name, number in numbers.items():
        middle = number + rng.normal() * shift * (10 if name == "MR" else 1)
        values |= exact(**{name: (middle - width, middle + width)})
    return {name: Value(name, value.text, value.low, value.high) for name, value in values.items()}


@pytest.mark.parametrize("seed", light(range(30), 3))
@pytest.mark.parametrize("step", [WHOLE, HALF])
def test_the_decision_is_that_of_a_linear_programme(seed, step):
    """1,500 random rows; a programme over all rank masses, with a hair's breadth left out, must agree."""
    rng = np.random.default_rng(seed)
    setting_of = {WHOLE: None, HALF: "realistic"}
    verdicts = []
    for _ in range(25):
        top = int(rng.integers(2, 25))
        values = random_values(rng, top, step)
        violation = least_violation(values, top, step)
        if not 1e-9 < violation < 1e-7:
            findings = judge(values, Setting(n_candidates=top, ties=setting_of[step]))
            assert (not findings) == (violation <= 1e-9), (values, top, findings)
            verdicts.append(not findings)
    assert 2 < sum(verdicts) < len(verdicts) - 2


def test_without_a_number_of_candidates_the_decision_is_the_limit_of_many():
    """A programme with 600 ranks: what it allows is possible, and what it refuses by far is refused; MR is below 30."""
    rng = np.random.default_rng(1)
    refused = []
    for _ in range(150):
        values = random_values(rng, 20, WHOLE)
        violation, findings = least_violation(values, 600, WHOLE), judge(values, Setting())
        if violation <= 1e-9:
            assert findings == []
        if violation > 1e-2:  # less could be made up by a little mass beyond rank 600
            assert findings
        refused.append(bool(findings))
    assert 30 < sum(refused) < 120


@pytest.mark.parametrize("seed", light(range(20), 3))
def test_lines_hold_for_every_rank_and_are_reached(seed):
    """MR + slope * MRR >= total: rank by rank, for the hits@k of the corner; and the corner reaches it."""
    rng = np.random.default_rng([seed, 2])
    low = [Fraction(int(x), 100) for x in np.sort(rng.integers(0, 90, 3))]
    hits = {k: (x, x + Fraction(1, 20)) for k, x in zip((1, 3, 10), low)}
    bands = Bands.of(hits, 50)
    middle = (bands.least_mrr().mrr + bands.most_mrr().mrr) / 2
    lines = bands.least_mr_given(middle, Fraction(1000)), bands.most_mr_given(middle)
    for line, sense in zip(lines, (1, -1)):
        assert line.corner.mr + line.slope * line.corner.mrr == line.total == line.mr + line.slope * middle
        for start, end, rank in zip(bands.starts, bands.ends, line.corner.ranks):
            costs = [r + line.slope / r for r in range(int(start), int(end) + 1)]
            assert (min if sense > 0 else max)(costs) == rank + line.slope / rank
    assert lines[0].mr < lines[1].mr


# --- real ranks are never called impossible ---------------------------------------------------------


@pytest.mark.parametrize("n", light([2, 1, 3, 4, 5], 1))
@pytest.mark.parametrize("places", [1, 2, 4])
@pytest.mark.light(2)
def test_every_small_list_of_ranks_is_possible(n, places):
    """All lists of up to 5 ranks among 6 candidates (and of up to 3 half ranks among 4), rounded."""
    for ties, grid in ((None, range(1, 7)), ("realistic", [Fraction(r, 2) for r in range(2, 9)])):
        if ties and n > 3:
            continue
        top = int(max(grid))
        rows = []
        for ranks in combinations_with_replacement(grid, n):
            found = numbers_of(ranks, (1, 2, 3, 10))
            rows.append({name: shown(number, places, ROUND_HALF_UP) for name, number in found.items()})
        check = check_table(rows, n_candidates=top, n_ranks=n, ties=ties)
        assert check.possible, str(check)


@pytest.mark.parametrize("seed", light(range(60), 3))
def test_real_tables_are_possible(seed):
    """Random ranks of several shapes, numbers rounded or cut off, as shares or percentages, as texts or floats."""
    rng = np.random.default_rng([seed, 3])
    n, top = int(rng.choice([7, 100, 2000])), int(rng.choice([12, 135, 14541]))
    ranks = np.minimum(np.ceil(np.exp(rng.normal(rng.uniform(-1, 4), rng.uniform(0.1, 3), n))), top).astype(int)
    half = seed % 3 == 0
    ranks = [Fraction(int(r)) + (Fraction(1, 2) if half and rng.random() < 0.3 and r < top else 0) for r in ranks]
    candidates = [int(rng.integers(math.ceil(r), top + 1)) for r in ranks]
    found = numbers_of(ranks, rng.choice(np.arange(1, 60), 4, replace=False))
    expected = Fraction(sum(candidates), 2 * n) - Fraction(1, 2)
    if expected:
        found["AMRI"] = 1 - (found["MR"] - 1) / expected
    is_percent, how = bool(rng.integers(2)), [ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_DOWN][seed % 3]
    rounding = "any" if how == ROUND_DOWN and found.get("AMRI", 1) >= 0 else "nearest"
    how = how if rounding == "any" else ROUND_HALF_EVEN
    row = {}
    for name, number in found.items():
        scale = 100 if is_percent and name not in ("MR", "GMR", "HMR") else 1
        row[name] = shown(Fraction(number) * scale, int(rng.integers(1, 6)), how)
    options = {"n_candidates": top, "n_ranks": n, "ties": "realistic" if half else None, "percent": is_percent}
    texts = check_table(row, rounding=rounding, **options)
    assert texts.possible, str(texts)
    floats = check_table({name: float(text) for name, text in row.items()}, rounding=rounding, **options)
    assert floats.possible, str(floats)
    full = {name: np.float32(float(number)) for name, number in found.items()}
    assert check_table(full, **(options | {"percent": False})).possible


PUBLISHED = [
    {"model": "inverse rule, WN18", "MR": "740", "MRR": ".963", "Hits@10": ".964"},
    {"model": "inverse rule, WN18RR", "MR": "13526", "MRR": ".35", "Hits@10": ".35"},
    {"model": "inverse, FB15k-237", "MR": 7030, "MRR": ".010", "Hits@10": ".014", "Hits@3": ".011", "Hits@1": ".007"},
    {"model": "TransE, FB15k-237", "MR": 219.0828, "MRR": 0.313706, "hits@1": 0.226979, "hits@10": 0.485762},
    {"model": "TransE, Nations", "MR": 3.53234, "MRR": 0.40268},
    {"model": "ComplEx, Nations", "MR": 4.19652, "MRR": 0.43042},
    {"model": "RotatE, Nations", "MR": 3.36567, "MRR": 0.51161},
    {"model": "TuckER, Nations", "MR": 1.97015, "MRR": 0.75557},
]


@pytest.mark.parametrize("row", PUBLISHED, ids=[row["model"] for row in PUBLISHED])
def test_published_rows_are_possible(row):
    """Dettmers et al. (2018), Convolutional 2D Knowledge Graph Embeddings; PyKEEN's ranking-metrics manuscript."""
    n = 14 if "Nations" in row["model"] else 40943
    check = check_table(row, n_candidates=n)
    assert check.possible, str(check)
    assert [r.label for r in check.rows] == [row["model"]]


def test_pykeens_own_results_are_possible(shared):
    """Every side and tie policy of the trained models' results, at full precision, with AMRI, GMR and HMR."""
    columns = {
        "MR": "arithmetic_mean_rank",
        "MRR": "inverse_harmonic_mean_rank",
        "GMR": "geometric_mean_rank",
        "HMR": "harmonic_mean_rank",
        "AMRI": "adjusted_arithmetic_mean_rank_index",
    } | {f"hits@{k}": f"hits_at_{k}" for k in (1, 3, 5, 10)}
    n_rows = 0
    for path in sorted((shared / "data" / "models").rglob("results.json")):
        n = 14 if "nations" in str(path) else 14505
        for sides in json.loads(path.read_text())["metrics"].values():
            for ties in ("optimistic", "realistic", "pessimistic"):
                row = {ours: sides[ties][theirs] for ours, theirs in columns.items()}
                check = check_table(row, n_candidates=n, n_ranks=int(sides[ties]["count"]), ties=ties)
                assert check.possible, f"{path}: {check}"
                n_rows += 1
    assert n_rows >= 9


# --- each inequality, by hand -----------------------------------------------------------------------

ROW = {"hits@1": "0.10", "hits@3": "0.20", "hits@10": "0.35"}
BY_HAND = [
    (  # rounded: hits up to .105, .205, .355, so .105 + .1/2 + .15/4 + .645/11
        ROW | {"MRR": "0.26"},
        {},
        "MRR 0.26 (at least 0.255) exceeds 0.251136, the largest value that hits@1 0.10, hits@3 0.20 and hits@10 0.35 "
        f"allow{INTEGERS}: H1 + (H3 - H1)/2 + (H10 - H3)/4 + (1 - H10)/11 = 0.105 + 0.1/2 + 0.15/4 + 0.645/11",
    ),
    (
        ROW | {"MRR": "0.14"},
        {},
        "MRR 0.14 (at most 0.145) is below 0.149883, the smallest value that hits@1 0.10, hits@3 0.20, hits@10 0.35 "
        "and ranks up to 100 allow: H1 + (H3 - H1)/3 + (H10 - H3)/10 + (1 - H10)/100 = "
        "0.095 + 0.1/3 + 0.15/10 + 0.655/100",
    ),
    (  # .105 + .1 * 2 + .15 * 4 + .645 * 11
        ROW | {"MR": "7.9"},
        {},
        "MR 7.9 (at most 7.95) is below 8, the smallest value that hits@1 0.10, hits@3 0.20 and hits@10 0.35 "
        f"allow{INTEGERS}: H1 + (H3 - H1)*2 + (H10 - H3)*4 + (1 - H10)*11 = 0.105 + 0.1*2 + 0.15*4 + 0.645*11",
    ),
    (
        {"hits@1": "0.50", "MR": "60"},
        {"n_candidates": 100},
        "MR 60 (at least 59.5) exceeds 50.995, the largest value that hits@1 0.50 and ranks up to 100 allow: "
        "H1 + (1 - H1)*100 = 0.495 + 0.505*100",
    ),
    (  # between 2 and 3 candidates' ranks: (r - 2)(r - 3) >= 0, so MR + 6 MRR >= 5
        {"MR": "2.50", "MRR": "0.400"},
        {},
        "MR 2.50 (at most 2.505) is below 2.597, the smallest value that MRR 0.400 (at most 0.4005) "
        f"allow{INTEGERS}: for a rank r, r + 6/r is at least 5 for every rank, so MR + 6 * MRR >= 5",
    ),
    (  # ranks 1 and 10 alone: r + 10/r <= 11, so MR <= 11 - 10 MRR
        {"MR": "6.60", "MRR": "0.500"},
        {"n_candidates": 10},
        "MR 6.60 (at least 6.595) exceeds 6.005, the largest value that MRR 0.500 (at least 0.4995) and ranks up to 10 "
        f"allow{INTEGERS}: for a rank r, r + 10/r is at most 11 for every rank, so MR + 10 * MRR <= 11",
    ),
    (
        {"hits@1": "0.40", "hits@3": "0.30"},
        {},
        "hits@1 0.40 (at least 0.395) exceeds hits@3 0.30 (at most 0.305): a rank of at most 1 is also at most 3",
    ),
    ({"MRR": "1.30"}, {"percent": False}, "MRR 1.30 (at least 1.295) exceeds 1"),
    ({"hits@1": "-0.10"}, {}, "hits@1 -0.10 (at most -0.095) is below 0"),
    ({"MR": "0.62"}, {}, "MR 0.62 (at most 0.625) is below 1, the best rank"),
    ({"MR": "300"}, {"n_candidates": 135}, "MR 300 (at least 299.5) exceeds 135, the number of candidates"),
    ({"AMRI": "-1.20"}, {"percent": False}, "AMRI -1.20 (at most -1.195) is below -1, the AMRI if every rank is last"),
    ({"hits@10": "0.90"}, {"n_candidates": 8}, "hits@10 0.90 (at most 0.905) is below 1, as no rank is beyond 8"),
    ({"MRR": "0.30", "HMR": "4.00"}, {}, "MRR 0.30 is not 1 / HMR; for HMR 4.00, 1 / HMR is 0.249688 .. 0.250313"),
    (
        {"GMR": "9.0", "MR": "5.0"},
        {},
        "GMR 9.0 (at least 8.95) exceeds MR 5.0 (at most 5.05): a geometric mean never exceeds the arithmetic mean",
    ),
    (
        {"GMR": "2.0", "MRR": "0.25"},
        {},
        "GMR 2.0 (at most 2.05) is below 1/MRR = 3.92157: a geometric mean is at least the harmonic mean",
    ),
    (  # .505 * ln 1 + .495 * ln 2: 2 ** .495
        {"GMR": "1.20", "hits@1": "0.50"},
        {},
        f"GMR 1.20 (at most 1.205) is below 1.40932, the smallest value that hits@1 0.50 allow{INTEGERS}",
    ),
    (  # 100 ** .505
        {"GMR": "20.0", "hits@1": "0.50"},
        {"n_candidates": 100},
        "GMR 20.0 (at least 19.95) exceeds 10.2329, the largest value that hits@1 0.50 and ranks up to 100 allow",
    ),
    (  # 1 + (1 - .895) * 99 / 2
        {"AMRI": "0.90", "MR": "10.0"},
        {"n_candidates": 100},
        "MR 10.0 (at least 9.95) exceeds 6.1975, the largest value that AMRI 0.90 (at least 0.895) and 100 candidates "
        "allow: 1 + (1 - AMRI) * (100 - 1)/2",
    ),
    (
        {"AMRI": "0.99", "hits@1": "0.10"},
        {"n_candidates": 101},
        "MR (at most 1.75 according to AMRI 0.99) is below 1.895, the smallest value that hits@1 0.10 allow"
        f"{INTEGERS}: H1 + (1 - H1)*2 = 0.105 + 0.895*2",
    ),
    (
        {"hits@1": "0.23"},
        {"n_ranks": 10},
        "hits@1 0.23 cannot be a mean of 10 hits: it lies between 2/10 = 0.2 and 3/10 = 0.3",
    ),
    (
        {"MR": "2.23"},
        {"n_ranks": 10},
        f"MR 2.23 cannot be a mean of 10 ranks{INTEGERS}: it lies between 22/10 = 2.2 and 23/10 = 2.3",
    ),
    (
        {"MR": "2.23"},
        {"n_ranks": 10, "ties": "realistic"},
        "MR 2.23 cannot be a mean of 10 ranks: it lies between 22/10 = 2.2 and 22.5/10 = 2.25",
    ),
]


@pytest.mark.parametrize(("row", "options", "message"), BY_HAND)
def test_each_inequality_is_said_with_its_numbers(row, options, message):
    """The bounds are worked out by hand beside the rows."""
    if "up to 100" in message and "n_candidates" not in options:
        options = options | {"n_candidates": 100}
    assert messages(row, **options) == [message]


def test_the_bounds_are_not_wider_than_by_hand():
    """A5's formulas with exact hits@k: reached, and refused a millionth beyond."""
    h1, h3, h10 = Fraction(1, 10), Fraction(2, 10), Fraction(35, 100)
    hits = {"h1": h1, "h3": h3, "h10": h10}
    most = h1 + (h3 - h1) / 2 + (h10 - h3) / 4 + (1 - h10) / 11
    least = h1 + (h3 - h1) / 3 + (h10 - h3) / 10
    least_mr = h1 + (h3 - h1) * 2 + (h10 - h3) * 4 + (1 - h10) * 11
    hair = Fraction(1, 10**6)
    for inside, outside in ((most, most + hair), (least + hair, least - hair)):
        assert judge(exact(**hits, MRR=inside), Setting()) == []
        assert len(judge(exact(**hits, MRR=outside), Setting())) == 1
    assert judge(exact(**hits, MR=least_mr), Setting()) == []
    assert len(judge(exact(**hits, MR=least_mr - hair), Setting())) == 1
    assert judge(exact(**hits, MRR=most, MR=least_mr), Setting()) == []
    assert len(judge(exact(**hits, MRR=most - hair, MR=least_mr), Setting())) == 1


@pytest.mark.parametrize("j", [1, 2, 7, 120])
def test_mr_and_mrr_alone(j):
    """Ranks j and j + 1 in equal parts reach MR + j (j + 1) MRR = 2 j + 1; a hair less of either is refused."""
    mr, mrr = j + Fraction(1, 2), (Fraction(1, j) + Fraction(1, j + 1)) / 2
    hair = Fraction(1, 10**8)
    assert judge(exact(MR=mr, MRR=mrr), Setting()) == []
    assert judge(exact(MR=mr, MRR=mrr - hair), Setting())[0].metrics == ("MR", "MRR")
    assert judge(exact(MR=mr - hair, MRR=mrr), Setting())[0].metrics == ("MR", "MRR")
    assert judge(exact(MR=mr, MRR=mrr - hair), Setting(ties="realistic")) == []


def test_infinite_ranks_are_refused_with_a_finite_mean():
    """MRR of exactly hits@1 = 1/2 leaves the other half at infinity: no MR is large enough."""
    assert judge(exact(h1=Fraction(1, 2), MRR=Fraction(1, 2)), Setting()) == []
    found = judge(exact(h1=Fraction(1, 2), MRR=Fraction(1, 2), MR=10**6), Setting())
    assert found[0].metrics == ("MR", "MRR", "hits@1")


def test_a_full_hits_bounds_the_mean_rank_without_candidates():
    """hits@10 of all 40 ranks: GRIM makes 1.00 exact, so no rank is beyond 10."""
    row = {"hits@1": "0.50", "hits@10": "1.00", "MR": "7.00"}
    assert check_table(row).possible
    assert messages(row, n_ranks=40) == [
        "MR 7.00 (at least 7) exceeds 5.5, the largest value that hits@1 0.50, hits@10 1.00 and ranks up to 10 allow: "
        "H1 + (1 - H1)*10 = 0.5 + 0.5*10"
    ]


def test_multiples_that_cross_are_refused():
    """Of 10 ranks, hits@1 of .41 to .59 is .5 and hits@3 of .36 to .44 is .4, though both could be .42."""
    values = exact(h1=("0.41", "0.59"), h3=("0.36", "0.44"))
    assert judge(values, Setting()) == []
    assert "(at least 0.5) exceeds" in judge(values, Setting(n_ranks=10))[0].message


def test_expected_ties_are_not_held_to_multiples():
    """An expectation over ties is no whole number of hits."""
    assert check_table({"hits@1": "0.23"}, n_ranks=10, ties="expected").possible
    assert not check_table({"hits@1": "0.23"}, n_ranks=10, ties="optimistic").possible


# --- rounding, percentages, hints -------------------------------------------------------------------


def test_a_text_shows_its_decimals_and_a_float_does_not():
    """0.50 stands for .495 to .505; the float 0.5 for .45 to .55; 740.0 for 739.5 to 740.5."""
    row = {"hits@1": "0.50", "MRR": "0.48"}
    assert not check_table(row).possible
    assert check_table({"hits@1": 0.5, "MRR": 0.48}).possible
    assert not check_table({"hits@1": 0.5, "MRR": 0.48}, places=2).possible
    assert not check_table({"hits@1": 0.5, "MRR": 0.48}, places={"hits": 2}).possible
    assert check_table({"hits@1": 0.5, "MRR": 0.48}, places={"MRR": 2}).possible
    value = check_table({"MR": 740.0}).rows[0].values["MR"]
    assert (value.low, value.high) == (Fraction(1479, 2), Fraction(1481, 2))


def test_cut_off_numbers_need_saying_so():
    """hits@1 = .509 cut to .50 and MRR = .509: refused as rounded, possible as cut off, and the verdict says it."""
    row = {"hits@1": "0.5", "hits@3": "0.5", "hits@10": "0.5", "MRR": "0.599", "MR": "70"}
    check = check_table(row)
    assert check.rows[0].verdict == "possible only if numbers were cut off, not rounded (rounding='any')"
    assert not check.possible
    assert check_table(row, rounding="any").possible


def test_half_ranks_need_saying_so():
    """Ranks 1.5 alone: MRR 2/3 and hits@1 0 are impossible for integers."""
    row = {"hits@1": "0.00", "MRR": "0.67", "MR": "1.50"}
    check = check_table(row)
    assert check.rows[0].verdict == "possible only with half ranks (ties='realistic')"
    assert str(check).startswith("0 of 1 rows possible (integer ranks, rounded to nearest)\n")
    assert check_table(row, ties="realistic").possible
    assert check_table(row, ties="pessimistic").rows[0].verdict == "impossible"


@pytest.mark.parametrize(
    ("row", "options", "texts"),
    [
        ({"H@1": 22.7, "MRR": 31.4}, {}, ["22.7%", "31.4%"]),
        ({"H@1": 22.7, "MRR": 0.314}, {}, ["22.7%", "0.314"]),
        ({"H@1": "0.7", "H@3": "1.1", "MRR": "1.0"}, {}, ["0.7%", "1.1%", "1.0%"]),
        ({"H@1": 0.7, "MRR": 0.9}, {}, ["0.7", "0.9"]),
        ({"H@1": 0.7, "MRR": 0.9}, {"percent": True}, ["0.7%", "0.9%"]),
        ({"H@1 (%)": 0.7, "MRR": "0.01"}, {}, ["0.7%", "0.01"]),
        ({"H@1": "0.7%", "MRR": "0.010"}, {"percent": False}, ["0.7%", "0.010"]),
    ],
)
def test_percentages_are_told_apart(row, options, texts):
    """By size, by sign, by the column's name, or as declared; the doubtful by what is possible."""
    check = check_table(row, **options)
    assert check.possible
    assert [value.text for value in check.rows[0].values.values()] == texts


def test_a_mix_of_percentages_and_shares_is_said():
    """Within a row and between rows."""
    check = check_table({"A": {"H@1": 22.7, "MRR": 0.314}, "B": {"H@1": 0.227, "MRR": 0.314}})
    assert check.possible
    assert check.rows[0].notes == ("mixed units: read hits@k as percentages, MRR as shares",)
    assert check.notes == (
        "hits@k are read as percentages in some rows (first: A) and as shares in others (first: B); "
        "set percent=True or False if that is wrong",
    )


HINTS = [
    ({"hits@1": "0.06", "hits@10": "0.30", "MRR": "0.06"}, "MRR equals hits@1, as if each 1/rank below 1 had been"),
    ({"MR": "219", "MRR": "0.00457", "hits@1": "0.227"}, "MRR equals 1 / MR: the reciprocal of the mean rank is not"),
    ({"MR": "0.53", "MRR": "0.81", "hits@1": "0.70"}, "possible if the ranks behind MR are counted from 0 (MR + 1)"),
    ({"hits@1": "0.60", "MRR": "0.50", "MR": "9.0"}, "possible if hits@k counts ranks up to k + 1, as if ranks"),
    (
        {"hits@1": "0.227", "hits@10": "48.6", "MRR": "31.4"},
        "possible if hits@1 is a share and the other numbers are percentages",
    ),
    ({"hits@1": "0.31", "hits@10": "0.49", "MRR": "0.23"}, "possible if hits@1 and MRR are swapped"),
    (
        {"hits@3": "0.2", "hits@5": "0.31", "hits@10": "0.50", "MR": "1.2"},
        "possible without MR",
    ),
]


@pytest.mark.parametrize(("row", "hint"), HINTS)
def test_known_mistakes_are_hinted_at(row, hint):
    """HINGE_code#7 (MRR = hits@1), pykg2vec#96 (1 / MR), pytorch_geometric#10090 (ranks from 0), and slips."""
    check = check_table(row)
    assert not check.possible
    assert any(found.startswith(hint) for found in check.rows[0].hints), str(check)


def test_wrongly_declared_percentages_are_hinted_at():
    """percent=False for percentages, and percent=True for shares with an MR that they do not allow."""
    check = check_table({"hits@1": 22.7, "MRR": 31.4}, percent=False)
    assert check.rows[0].hints == ("possible if the shares of this row are percentages (percent=True)",)
    check = check_table({"hits@1": "0.90", "hits@10": "0.95", "MR": "1.9"}, percent=True)
    assert check.rows[0].hints[0] == "possible if the percentages of this row are shares (percent=False)"


def test_an_mrr_of_one_by_mr_is_noted_where_it_is_possible():
    """All ranks 3: odd, not impossible."""
    check = check_table({"MR": "3.00", "MRR": "0.333"})
    assert check.possible
    assert check.rows[0].notes == (
        "MRR is 1 / MR within rounding, which requires all ranks to be equal; was MRR computed as 1 / MR?",
    )


def test_a_perfect_row_is_not_suspected():
    """MR 1 and MRR 1 are each other's inverse because every rank is 1."""
    assert check_table({"MR": "1.00", "MRR": "1.000"}).rows[0].notes == ()


def test_means_over_runs_are_not_held_to_multiples():
    """A spread after the number tells that it is one."""
    check = check_table({"hits@1": "0.23 ± 0.01"}, n_ranks=10)
    assert check.possible
    assert check.rows[0].notes == ("the numbers are means over runs (±), so n_ranks is not used",)


# --- what comes in and goes out ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "name"),
    [
        *(
            (spelling, "hits@10")
            for spelling in ("H@10", "Hits@10", "hits10", "HITS_AT_10", "hit @ 10", "H10 (%)", "HR@10")
        ),
        *((spelling, "MRR") for spelling in ("MRR", "mrr ↑", "Mean Reciprocal Rank", "**MRR**", "MRR [%]")),
        *((spelling, "MR") for spelling in ("mr", "Mean Rank", "MR↓", "mean-rank")),
        ("AMRI", "AMRI"),
        ("gmr", "GMR"),
        ("harmonic mean rank", "HMR"),
        *((spelling, None) for spelling in ("F1", "n", "median", "map", "model", "query.map", "z(mr)", "")),
    ],
)
def test_spellings(column, name):
    """As tables write them."""
    assert metric_name(column) == name


def test_result_as_frame_and_records():
    """Numbers as reported, one line a row; records are strict JSON."""
    frame = pd.DataFrame({"model": ["A", "B"], "n": [10, 10], "H@1": [0.4, 0.2], "MRR": [0.1, np.nan]})
    check = check_table(frame)
    out = check.frame()
    assert list(out.columns) == ["hits@1", "MRR", "possible", "verdict", "why", "hint"]
    assert out.index.tolist() == ["A", "B"]
    assert out["possible"].tolist() == [False, True]
    assert out.loc["B", "MRR"] == ""
    assert out.loc["A", "why"] == check.rows[0].findings[0].message
    records = json.loads(json.dumps(check.records(), allow_nan=False))
    assert records[0]["values"]["hits@1"] == {"text": "0.4", "low": 0.35, "high": 0.45}
    assert records[0]["findings"][0]["metrics"] == ["MRR", "hits@1"]
    assert records[1] == {
        "row": "B",
        "possible": True,
        "verdict": "possible",
        "values": {"hits@1": {"text": "0.2", "low": 0.15, "high": 0.25}},
        "findings": [],
        "hints": [],
        "notes": ["not checked: n"],
    }
    assert len(check) == 2
    assert not check.possible


def test_rows_in_every_form():
    """A mapping, a list of them, a mapping of them, columns, a frame with an index, a series."""
    row = {"H@1": 0.4, "MRR": 0.1}
    forms = [
        (row, "row 1"),
        ([row], "row 1"),
        ({"A": row}, "A"),
        ({"H@1": [0.4], "MRR": [0.1]}, "row 1"),
        (pd.DataFrame([row], index=["A"]), "A"),
        (pd.DataFrame([row], index=pd.MultiIndex.from_tuples([("A", "raw")])), "A raw"),
        (pd.Series(row), "row 1"),
    ]
    for values, label in forms:
        check = check_table(values)
        assert [(r.label, r.verdict) for r in check.rows] == [(label, "impossible")]


def test_control_characters_in_labels_are_escaped():
    """A label is printed to a terminal."""
    assert "\x1b" not in str(check_table({"\x1b[31mA": {"MRR": 0.5}}))


PIPES = """Results of the runs.

| model | **H@1** | MRR ↑ |
|:------|--------:|------:|
| A     | 0.40    | 0.10  |
| -     | -       | **0.50** |

| other | MRR |
"""


@pytest.mark.parametrize(
    ("file", "text", "lines"),
    [
        ("t.csv", '\ufeffmodel,H@1,MRR\n"A, x",0.40,0.10\r\n\nB,,0.50\n', [2, 4]),
        ("t.tsv", "model\tH@1\tMRR\nA\t0.40\t0.10\nB\t\t0.50\n", [2, 3]),
        ("t.md", PIPES, [5, 6]),
        ("t.dat", "H@1|MRR\n-|-\n0.40|0.10\n-|0.50", [3, 4]),
    ],
)
def test_files(tmp_path, file, text, lines):
    """Comma, tab and pipe; zeros at the end stay; the lines are kept."""
    path = tmp_path / file
    path.write_text(text, encoding="utf-8", newline="")
    frame = read_reported(path)
    assert frame.attrs["lines"] == lines
    check = check_table(frame)
    assert [row.possible for row in check.rows] == [False, True]
    assert check.rows[0].values["hits@1"].text == "0.40"
    assert check.rows[0].values["hits@1"].low == Fraction(395, 1000)
    assert list(check.rows[1].values) == ["MRR"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,MRR\nA,0.1,2\n", "t.csv, line 2: expected 2 cells as in the first line, found 3"),
        ("model,MRR\n", "t.csv: expected a line of column names and at least one row; found 1 line"),
        ("", "t.csv: expected a line of column names and at least one row; found no line"),
        ("MRR,MRR\n0.1,0.2\n", "t.csv, line 1: column 'MRR' occurs twice"),
        (
            "H@1,MRR\n0.1,0.2\n0.1,good\n",
            "t.csv, line 3, column 'MRR': expected a number such as 0.963 or 96.3%; got 'good'",
        ),
        (
            'MR\n"13,526"\n',
            "column 'MR': expected a number such as 0.963 or 96.3%; got '13,526'; write 13526 or 0.963, with",
        ),
        ("H@1,hits1\n0.1,0.2\n", "columns 'H@1' and 'hits1' are both hits@1; keep one of them"),
    ],
)
def test_faulty_files(tmp_path, text, message):
    """Each with file and line, or the columns."""
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=re.escape(message)):
        check_table(read_reported(path))


def test_unreadable_files(tmp_path):
    """Absent, a folder, or not UTF-8."""
    with pytest.raises(DataError, match=r"no\.csv: no such file"):
        read_reported(tmp_path / "no.csv")
    with pytest.raises(DataError, match="is not a file"):
        read_reported(tmp_path)
    (tmp_path / "bad.csv").write_bytes(b"MRR\n\xff\n")
    with pytest.raises(
        DataError, match=r"bad.csv, line 2: invalid UTF-8 at byte 4 of the file \(0xff\); save the file as UTF-8"
    ):
        read_reported(tmp_path / "bad.csv")


@pytest.mark.parametrize(
    ("values", "options", "error", "message"),
    [
        (
            {"F1": 0.3},
            {},
            MetricError,
            "expected columns named hits@k (H@1, Hits@10, hits_at_3, ...), MRR, MR, GMR, HMR",
        ),
        ({"hits@0": 0.3}, {}, MetricError, "k of hits@k must be an integer of at least 1; got 0"),
        (
            [],
            {},
            DataError,
            'expected a row such as {"hits@1": 0.23, "MRR": 0.31}, several such rows, or a DataFrame; got',
        ),
        ({"MRR": True}, {}, DataError, "row 1, column 'MRR': expected a number; got True"),
        ({"MRR": math.inf}, {}, DataError, "row 1, column 'MRR': expected a number such as 0.963 or 96.3%; got 'inf'"),
        (
            {"A": {"MRR": "x"}},
            {},
            DataError,
            "row 'A', column 'MRR': expected a number such as 0.963 or 96.3%; got 'x'",
        ),
        ({"MRR": 0.3}, {"rounding": "up"}, MetricError, "rounding must be one of 'nearest', 'any'; got 'up'"),
        ({"MRR": 0.3}, {"ties": "random"}, MetricError, "ties must be one of 'optimistic', 'pessimistic', 'realistic'"),
        ({"MRR": 0.3}, {"percent": "yes"}, MetricError, "percent must be True, False or None; got 'yes'"),
        ({"MRR": 0.3}, {"n_candidates": 0}, MetricError, "n_candidates must be an integer of at least 1; got 0"),
        ({"MRR": 0.3}, {"n_ranks": 2.5}, MetricError, "n_ranks must be an integer of at least 1; got 2.5"),
        ({"MRR": 0.3}, {"places": -1}, MetricError, "places of hits must be an integer of at least 1; got -1"),
        ({"MRR": 0.3}, {"places": {"F1": 3}}, MetricError, "places: expected one of hits@k"),
    ],
)
def test_faulty_input(values, options, error, message):
    """What was expected, what came, and where."""
    with pytest.raises(error, match=re.escape(message)):
        check_table(values, **options)


@pytest.mark.parametrize(
    ("written", "number", "unit"),
    [
        ("0.350", "0.35", "0.001"),
        (0.35, "0.35", "0.01"),
        (".963", "0.963", "0.001"),
        ("**0.5**", "0.5", "0.1"),
        (np.float32(0.1), "0.1", "0.1"),
        (1e-05, "0.00001", "0.00001"),
        (740, "740", "1"),
        ("7.4e2", "740", "10"),
        ("−0.5", "-0.5", "0.1"),
        (Decimal("0.10"), "0.10", "0.01"),
    ],
)
def test_what_a_number_shows(written, number, unit):
    """The number and one of its last decimal."""
    cell = read_cell(written, "here")
    assert (cell.number, cell.unit) == (Fraction(number), Fraction(unit))


@pytest.mark.parametrize("written", [None, math.nan, pd.NA, "", " - ", "N/A", "—"])
def test_what_is_no_number(written):
    """Missing, not zero; a row of nothing but such says so."""
    assert read_cell(written, "here") is None
    check = check_table({"MRR": written})
    assert check.possible
    assert check.rows[0].notes == ("no number to check",)


def test_semicolons_and_emphasis(tmp_path):
    """A .csv of a spreadsheet that separates by semicolons; a bold model in Markdown."""
    (tmp_path / "table.csv").write_text("model;MRR;H@1\nA;0.31;0.22\n")
    assert read_reported(tmp_path / "table.csv").to_numpy().tolist() == [["A", "0.31", "0.22"]]
    (tmp_path / "table.md").write_text("| model | MRR |\n|---|---|\n| **A** | 0.31 |\n")
    assert check_table(read_reported(tmp_path / "table.md")).rows[0].label == "A"


# --- numbers that were cut off, and percentages below 1 -----------------------------------------------


@pytest.mark.parametrize(
    ("mr", "amri", "verdict"),
    [
        ("61.90", "-0.22", "possible"),
        ("61.90", "-0.21", "possible only if numbers were cut off, not rounded (rounding='any')"),
        ("61.90", "-0.20", "impossible"),
        ("51.45", "-0.00", "possible only if numbers were cut off, not rounded (rounding='any')"),
        ("51.45", "0.00", "possible only if numbers were cut off, not rounded (rounding='any')"),
    ],
)
def test_a_negative_amri_may_be_cut_off_in_both_directions(mr, amri, verdict):
    """101 candidates: AMRI is at most 1 - (MR - 1)/50.

    For MR 61.90 that is -0.218: cut off downwards or rounded -0.22, cut off towards 0 -0.21, never -0.20.
    For MR 51.45 it is -0.009, towards 0 -0.00.
    """
    (row,) = check_table({"MR": mr, "AMRI": amri}, n_candidates=101).rows
    assert row.verdict == verdict
    cut = check_table({"MR": mr, "AMRI": amri}, n_candidates=101, rounding="any")
    assert cut.possible == (verdict != "impossible")


def test_percentages_none_of_which_exceeds_1_get_a_hint():
    """As shares, MRR is at most 0.1 + 0.1/2 + 0.2/4 + 0.6/11 = 0.2545; as percentages at most 0.0025 + 0.996/11.

    With half ranks and numbers that were cut off, it is at most 0.2 + 0.1/1.5 + 0.2/3.5 + 0.5/10.5 = 0.371.
    """
    small = {"H@1": "0.1", "H@3": "0.2", "H@10": "0.4", "MRR": "0.6"}
    (row,) = check_table(small).rows
    assert (row.possible, row.verdict) == (False, "possible only if these are percent (percent=True)")
    assert row.hints[-1] == "are these percent? The row is possible with percent=True (--percent)"
    assert check_table(small, percent=True).possible
    (row,) = check_table(small, percent=False).rows  # the user has said that they are not
    assert row.verdict == "impossible"
    assert "percent?" not in " ".join(row.hints)
    (row,) = check_table({"H@1": "0.06", "H@10": "0.30", "MRR": "0.06"}).rows  # impossible in both units
    assert (row.verdict, any("percent?" in hint for hint in row.hints)) == ("impossible", False)


# --- several datasets side by side --------------------------------------------------------------------

# TransE is possible on both datasets. DistMult on WN18RR is not: MRR is at most 0.2 + 0.1/2 + 0.7/11 = 0.3136.
NUMBERS = (
    ("TransE", "0.31", "0.22", "0.49", "0.23", "0.01", "0.53"),
    ("DistMult", "0.24", "0.16", "0.42", "0.43", "0.2", "0.3"),
)
SIDE_BY_SIDE = {
    "two.csv": ["Model,FB15k-237,,,WN18RR,,", ",MRR,H@1,H@10,MRR,H@1,H@10"],
    "every.csv": ["Model,FB15k-237,FB15k-237,FB15k-237,WN18RR,WN18RR,WN18RR", "Model,MRR,H@1,H@10,MRR,H@1,H@10"],
    "one.tsv": ["Model\tFB15k-237 MRR\tFB15k-237 H@1\tFB15k-237 Hits@10\tWN18RR_MRR\tWN18RR/hits@1\tH@10 (WN18RR)"],
    "two.md": [
        "| | FB15k-237 | | | WN18RR | | |",
        "|-|-|-|-|-|-|-|",
        "| Model | MRR | H@1 | H@10 | MRR | H@1 | H@10 |",
    ],
    "above.md": [
        "| | **FB15k-237** | | | WN18RR | | |",
        "| Model | MRR | H@1 | H@10 | MRR | H@1 | H@10 |",
        "|-|-|-|-|-|-|-|",
    ],
}


def written(path, header):
    """A table of a paper in a file, with the rows of `NUMBERS`."""
    mark = {".csv": ",", ".tsv": "\t", ".md": " | "}[path.suffix]
    path.write_text("\n".join([*header, *(mark.join(row) for row in NUMBERS)]) + "\n")
    return path


def verdicts(check):
    return {(row.label, row.dataset): row.verdict for row in check.rows}


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_each_dataset_of_a_row_is_checked_by_itself(tmp_path, name):
    check = check_table(read_reported(written(tmp_path / name, SIDE_BY_SIDE[name])), percent=False)
    assert verdicts(check) == {
        ("TransE on FB15k-237", "FB15k-237"): "possible",
        ("TransE on WN18RR", "WN18RR"): "possible",
        ("DistMult on FB15k-237", "FB15k-237"): "possible",
        ("DistMult on WN18RR", "WN18RR"): "impossible",
    }
    (finding,) = check.findings
    assert finding.message.startswith("MRR 0.43 (at least 0.425) exceeds ")
    assert [row.record().get("dataset") for row in check.rows] == ["FB15k-237", "WN18RR"] * 2


def test_repeated_metrics_are_datasets_without_names(tmp_path):
    path = written(tmp_path / "table.csv", ["Model,MRR,H@1,H@10,MRR,H@1,H@10"])
    check = check_table(read_reported(path), percent=False)
    assert list(verdicts(check)) == [
        (f"{m} on {d}", d) for m in ("TransE", "DistMult") for d in ("dataset 1", "dataset 2")
    ]
    assert [row.possible for row in check.rows] == [True, True, True, False]


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (["Model,MRR,H@1,H@10,H@1,MRR,H@10"], "table.csv, line 1: column 'H@1' occurs twice"),
        (
            ["Model,,FB15k-237,,,WN18RR,", ",MRR,H@1,H@10,MRR,H@1,H@10"],
            "line 1: no dataset stands above the column 'MRR'",
        ),
        (["Model,FB15k-237,,,,WN18RR,", ",MRR,H@1,H@10,MRR,H@1,H@10"], "line 1: FB15k-237 has two columns 'MRR'"),
    ],
)
def test_unclear_datasets_are_refused_with_the_way_to_write_them(tmp_path, header, text):
    with pytest.raises(DataError) as caught:
        read_reported(written(tmp_path / "table.csv", header))
    assert text in str(caught.value)
    assert str(caught.value).endswith(
        "For several datasets side by side, write columns such as 'FB15k-237 MRR', or two lines of names: each dataset "
        "above the first column of its numbers, and the metrics below"
    )


def test_candidates_and_ranks_of_each_dataset():
    """MR 5000 of WN18RR (40,943 entities) is not possible among the 14,541 entities of FB15k-237."""
    frame = pd.DataFrame([["250", "5000"]], columns=["FB15k-237 MR", "WN18RR MR"])
    check = check_table(frame, n_candidates={"FB15k-237": 14541, "WN18RR": 40943})
    assert check.possible
    assert check.assumed.endswith("14541 candidates of FB15k-237, 40943 candidates of WN18RR")
    assert [row.possible for row in check_table(frame, n_candidates={"WN18RR": 4000}).rows] == [True, False]
    with pytest.raises(MetricError, match=re.escape("such as {'FB15k-237': 14541, 'WN18RR': 14541}; got 14541")):
        check_table(frame, n_candidates=14541)
    with pytest.raises(MetricError, match="n_ranks: 'WN18' is not a dataset of the table; its datasets: 'FB15k-237'"):
        check_table(frame, n_ranks={"WN18": 6268})
    with pytest.raises(MetricError, match="its datasets: only one, without a name"):
        check_table({"MR": 250}, n_ranks={"WN18": 6268})


def test_headings_in_pairs_and_numbers_that_are_no_metric():
    columns = pd.MultiIndex.from_tuples([("", "Model"), ("A", "MRR"), ("A", "H@1"), ("B", "MRR"), ("B", "H@1")])
    check = check_table(pd.DataFrame([["TransE", "0.31", "0.22", "0.1", "0.3"]], columns=columns))
    assert [(row.label, row.possible) for row in check.rows] == [("TransE on A", True), ("TransE on B", False)]
    frame = pd.DataFrame([["0.31", "0.22", "0.002", "0.003"]], columns=["A MRR", "A H@1", "A std MRR", "A std H@1"])
    (row,) = check_table(frame).rows
    assert (row.possible, row.notes) == (True, ("not checked: A std MRR, A std H@1",))
    frame = pd.DataFrame([["0.31", "0.22", "0.4"]], columns=["MRR", "H@1", "valid MRR"])  # one dataset, as ever
    (row,) = check_table(frame).rows
    assert (row.dataset, row.notes) == ("", ("not checked: valid MRR",))
