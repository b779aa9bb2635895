"""gate(): what passes and what fails, by plain numbers; directions, several metrics, strictness, refusals."""

import functools
import math

import numpy as np
import pytest
from ranked_results import compared, ranked

from kgeval.comparison.regression_gate import gate
from kgeval.errors import MetricError, ProtocolError
from kgeval.stats.equivalence import non_inferiority

N = 80
RNG = np.random.default_rng(4)
BASE = RNG.integers(1, 30, N)
NEAR = np.clip(BASE + RNG.integers(-2, 3, N), 1, 39)
WORSE = np.clip(BASE + RNG.integers(1, 7, N), 1, 39)  # every rank 1 to 6 places worse


@functools.cache
def results():
    return {name: ranked(ranks, name) for name, ranks in (("base", BASE), ("near", NEAR), ("worse", WORSE))}


def found(run, baseline, margins, **options):
    return gate(results()[run], results()[baseline], margins, **options)


def test_a_loss_beyond_the_margin_fails_in_both_directions_of_metrics():
    """MR rises and MRR falls; the gate against a better run passes."""
    for metric, margin in (("mr", 1.0), ("mrr", 0.005)):
        assert not found("worse", "base", {metric: margin}).passes
        gain = found("base", "worse", {metric: margin})
        assert gain.passes
        assert gain.table["decision"][0] == "not inferior"
        assert gain.table["not_excluded"][0] == 0.0


def test_a_loss_within_the_margin_passes():
    """The mean loss of ranks is about 3.5: with a margin of 5 it is shown to be smaller."""
    table = found("worse", "base", {"mr": 5.0}).table
    assert table["decision"][0] == "not inferior"
    assert 3.0 < table["not_excluded"][0] < 5.0


def test_the_test_has_one_side():
    """p of the loss: t = (loss - margin) / error, with 79 degrees of freedom, upper tail alone."""
    gaps = (WORSE - BASE).astype(float)
    error = gaps.std(ddof=1) / math.sqrt(N)
    margin = gaps.mean() - 1.8 * error  # one-sided p = 0.038, two-sided 0.076
    result = found("worse", "base", {"mr": margin})
    expected = non_inferiority(gaps.mean(), error, N - 1, margin, higher_is_better=False)
    row = result.table.iloc[0]
    assert row["p_beyond"] == pytest.approx(expected.p_beyond, rel=1e-6)
    assert 0.025 < row["p_beyond"] < 0.05
    assert not result.passes
    assert found("worse", "base", {"mr": gaps.mean() - 1.5 * error}).passes  # p = 0.069
    assert row["difference"] == pytest.approx(gaps.mean())
    assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high), rel=1e-9)
    assert row["not_excluded"] == row["high"]


def test_what_is_undecided_passes_unless_strict():
    loose = found("near", "base", {"mr": 0.1})
    row = loose.table.iloc[0]
    assert (row["decision"], bool(row["passes"])) == ("undecided", True)
    strict = found("near", "base", {"mr": 0.1}, strict=True)
    assert not strict.passes
    assert found("near", "base", {"mr": 2.0}, strict=True).passes
    assert "FAILS (strict): the loss is not shown to be below the margin" in str(strict)
    assert f"a loss of {row['not_excluded']:.2f} is not excluded" in str(loose)
    assert "passes: no significant loss beyond the margin; this does not show that nothing was lost" in str(loose)


def test_several_metrics_are_one_family():
    """p_beyond of MR is about 0.038: it fails alone, not beside two metrics that pass."""
    gaps = (WORSE - BASE).astype(float)
    margin = gaps.mean() - 1.8 * gaps.std(ddof=1) / math.sqrt(N)
    assert not found("worse", "base", {"mr": margin}).passes
    several = found("worse", "base", {"mr": margin, "mrr": 0.9, "hits@10": 0.9})
    assert several.passes
    assert several.table["p_beyond_corrected"][0] == pytest.approx(3 * several.table["p_beyond"][0])
    assert several.table["metric"].tolist() == ["mr", "mrr", "hits@10"]
    assert several.table["margin"].tolist() == [margin, 0.9, 0.9]
    failed = found("worse", "base", {"mr": 0.5, "mrr": 0.9})
    assert not failed.passes
    assert failed.lines[-1] == "gate: FAILS: 1 of 2 metrics"


def test_a_margin_of_zero_fails_on_any_significant_loss():
    assert not found("worse", "base", {"mrr": 0}).passes
    assert found("base", "worse", {"mrr": 0}, strict=True).passes
    assert found("near", "base", {"mr": 0}).passes


def test_the_same_ranks_pass_whatever_the_margin():
    """80 equal ranks would not show non-inferiority within 0.002 for new triples; but the run is the baseline."""
    again = gate(results()["base"], ranked(BASE, "again"), {"mrr": 0.002, "mr": 0.0}, strict=True)
    assert again.passes
    assert again.table["p"].min() > 0.05
    assert "passes: all ranks are the same as those of the baseline" in str(again)


def test_equal_hits_are_no_equal_ranks():
    """hits@50 is 1 for all ranks of both; the ranks differ, so the number of triples limits what is shown."""
    equal = gate(results()["worse"], results()["base"], {"hits@50": 0.01}, strict=True)
    assert not equal.passes
    assert equal.table["p"][0] == pytest.approx(0.99**N)
    assert "equal values in all 80 clusters" in str(equal)


def test_few_differing_triples_do_not_fail():
    """4 of 80 triples lose hits@10: 2 ** (1 - 4) = 0.125, whatever the t test says (p < 0.02)."""
    ranks = np.full(N, 5)
    lost = ranks.copy()
    lost[:4] = 50
    few = gate(ranked(lost, "run"), ranked(ranks, "base"), {"hits@10": 0.0})
    assert few.table["p_beyond"][0] == 0.125
    assert few.passes
    lost[:8] = 50
    assert not gate(ranked(lost, "run"), ranked(ranks, "base"), {"hits@10": 0.0}).passes


def test_lines_hold_the_numbers():
    lines = found("worse", "base", {"mr": 1.0}, names=("new", "old")).lines
    line = next(line for line in lines if line.startswith("MR (lower is better): "))
    assert line.startswith(f"MR (lower is better): new {WORSE.mean():.2f}, old {BASE.mean():.2f}, difference +")
    assert "margin 1.00: FAILS: the loss is significantly larger than the margin, p < 0.0001" in line
    assert "new and old on ranked: 80 ranks of test" in lines[0]
    assert any("one-sided t tests at the level 0.05; the intervals contain" in line for line in lines)
    assert not any("random swap" in line for line in lines)


def test_what_cannot_be_compared_is_an_error():
    with pytest.raises(ProtocolError, match="cannot be compared"):
        gate(results()["base"], ranked(BASE[:-1], "short"), {"mrr": 0.01})
    with pytest.raises(MetricError, match="MRR cannot be tested: one cluster only"):
        gate(ranked([3], "run"), ranked([2], "base"), {"mrr": 0.01})
    with pytest.raises(MetricError, match="median"):
        found("near", "base", {"median_rank": 1.0})


@pytest.mark.parametrize(
    ("margins", "said"),
    [
        ({}, "margins must map"),
        (0.002, "margins must map"),
        ({"mrr": -0.1}, "margin must be 0 or more, in the unit of MRR"),
        ({"mrr": math.nan}, "margin must be 0 or more"),
        ({"mrr": 2}, "not in percent"),
        ({"mrr": 0.1, "filtered.mrr": 0.1}, "named twice"),
        ({"mmr": 0.1}, "unknown metric"),
    ],
)
def test_margins_are_checked(margins, said):
    with pytest.raises(MetricError, match=said):
        found("near", "base", margins)


def test_an_overridden_difference_is_named():
    short = ranked(BASE[:-1], "short")
    line = str(gate(results()["near"], short, {"mr": 2.0}, override="queries,dataset"))
    assert "overridden: queries" in line


def test_compare_and_gate_agree():
    row = compared(WORSE, BASE).equivalence(1.0, "mr", "non-inferiority", "B").iloc[0]
    of_gate = found("worse", "base", {"mr": 1.0}).table.iloc[0]
    assert of_gate[["p", "p_beyond", "low", "high"]].tolist() == row[["p", "p_beyond", "low", "high"]].tolist()
