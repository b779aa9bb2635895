"""Comparison.equivalence: against scipy on plain means, directions, families of tests, refusals, degenerate cases."""

import functools
import math
import re

import numpy as np
import pandas as pd
import pytest
from grids import size
from ranked_results import N_ENTITIES, compared, ranked

from kgeval.comparison.margins import equivalence_lines
from kgeval.errors import MetricError, ProtocolError
from kgeval.stats.equivalence import Support, non_inferiority, tost

N = 60


RNG = np.random.default_rng(8)
FIRST = RNG.integers(1, 30, N)
NEAR = np.clip(FIRST + RNG.integers(-2, 3, N), 1, 39)
FAR = np.clip(FIRST + RNG.integers(3, 9, N), 1, 39)


@functools.cache
def of_two():
    """The comparison of two similar models."""
    return compared(FIRST, NEAR)


@functools.cache
def of_three():
    """The comparison of two similar models, A and B, and one with worse ranks, C."""
    return compared(FIRST, NEAR, FAR)


def test_ranks_are_those_that_were_given():
    result = ranked(FIRST)
    assert result["mr"] == FIRST.mean()


def test_one_row_by_plain_numbers():
    """The mean of N differences of ranks, its standard error, N - 1 degrees of freedom."""
    first, second = ("A", "B") if FIRST.mean() <= NEAR.mean() else ("B", "A")
    gaps = (FIRST - NEAR).astype(float) * (1 if first == "A" else -1)
    row = of_two().equivalence(1.0, "mr").iloc[0]
    error = gaps.std(ddof=1) / math.sqrt(N)
    expected = tost(gaps.mean(), error, N - 1, 1.0)
    assert (row["first"], row["second"], row["metric"], row["margin"]) == (first, second, "mr", 1.0)
    numbers = row[["difference", "error", "low", "high", "p", "p_corrected"]].tolist()
    assert numbers == pytest.approx(
        [gaps.mean(), error, expected.low, expected.high, expected.p_value, expected.p_value], rel=1e-9
    )
    assert row["decision"] == "equal within the margin"
    assert row["not_excluded"] == max(-row["low"], row["high"]) < 1.0
    assert (row["n_clusters"], row["n_differing"], row["reason"]) == (N, int((gaps != 0).sum()), "")


def test_agrees_with_scipy():
    stats = pytest.importorskip("scipy.stats")
    row = of_two().equivalence(0.5, "mr").iloc[0]
    gaps = (FIRST - NEAR).astype(float)
    lower = stats.ttest_1samp(gaps, -0.5, alternative="greater").pvalue
    upper = stats.ttest_1samp(gaps, 0.5, alternative="less").pvalue
    assert row["p"] == pytest.approx(max(lower, upper), abs=1e-12)


def test_a_worse_model_is_inferior_in_either_direction_of_the_metric():
    """B has ranks 3 to 8 places worse: a higher MR and a lower MRR."""
    comparison = compared(FIRST, FAR)
    for metric, margin in (("mr", 1.0), ("mrr", 0.005)):
        worse = comparison.equivalence(margin, metric, "non-inferiority", "A").iloc[0]
        assert (worse["first"], worse["second"], worse["decision"]) == ("B", "A", "inferior beyond the margin")
        better = comparison.equivalence(margin, metric, "non-inferiority", "B").iloc[0]
        assert (better["first"], better["decision"], better["not_excluded"]) == ("A", "not inferior", 0.0)
        apart = comparison.equivalence(margin, metric).iloc[0]
        assert (apart["first"], apart["decision"], apart["better"]) == ("A", "first", "A")
    mr = comparison.equivalence(1.0, "mr", "non-inferiority", "A").iloc[0]
    gaps = (FAR - FIRST).astype(float)
    expected = non_inferiority(gaps.mean(), gaps.std(ddof=1) / math.sqrt(N), N - 1, 1.0, higher_is_better=False)
    assert (mr["p"], mr["p_beyond"]) == pytest.approx((expected.p_value, expected.p_beyond), rel=1e-9)
    assert mr["not_excluded"] == mr["high"]


def test_each_pair_is_one_test_of_holms_family():
    comparison = of_three()
    frame = comparison.equivalence(0.4, "mr")
    order = sorted("ABC", key=dict(zip("ABC", comparison.values["mr"])).get)
    assert frame[["first", "second"]].values.tolist() == [
        sorted(pair, key=order.index) for pair in (["A", "B"], ["A", "C"], ["B", "C"])
    ]
    assert frame["p_corrected"].tolist() == [min(1.0, 3 * frame["p"][0]), 1.0, 1.0]
    assert frame["decision"].tolist() == ["undecided", "first", "first"]
    assert 0.05 / 3 < frame["p"][0] <= 0.05 < frame["p_corrected"][0]  # two models alone would be equivalent
    assert of_two().equivalence(0.4, "mr")["decision"][0] == "equal within the margin"
    against = comparison.equivalence(0.4, "mr", baseline="B")
    assert [set(pair) for pair in against[["first", "second"]].values.tolist()] == [{"A", "B"}, {"B", "C"}]
    assert against["p_corrected"][0] == 2 * against["p"][0]


def test_models_with_equal_values_are_equivalent_only_with_enough_triples():
    """None of 60 triples differs: P = (1 - margin) ** 60 for metrics from 0 to 1; ranks: 1 - margin / 199."""
    comparison = compared(FIRST, FIRST)
    for margin, decision in ((0.04, "undecided"), (0.05, "equal within the margin")):
        row = comparison.equivalence(margin, "mrr").iloc[0]
        assert row["p"] == pytest.approx((1 - margin) ** N, rel=1e-9)
        assert row["decision"] == decision
        assert row["reason"] == "the models have equal values in all 60 clusters"
        assert row["high"] == -row["low"] == pytest.approx(1 - 0.05 ** (1 / N), rel=1e-9)
    assert comparison.equivalence(90.0, "mr")["p"][0] == pytest.approx((1 - 90.0 / (N_ENTITIES - 1)) ** N, rel=1e-9)


def test_few_differing_triples_limit_the_test():
    """2 of 60 reciprocal ranks differ by a hair; the standard error is tiny, but the share of triples is not known."""
    ranks = np.full(N, 20)
    other = ranks.copy()
    other[:2] = [21, 19]
    row = compared(ranks, other).equivalence(0.05, "mrr").iloc[0]
    assert row["n_differing"] == 2
    assert row["p"] == pytest.approx(Support(2, N, 1.0).of_margin(0.05), rel=1e-9)
    assert row["p"] == pytest.approx(sum(math.comb(N, i) * 0.05**i * 0.95 ** (N - i) for i in range(3)), rel=1e-9)
    assert row["decision"] == "undecided"
    assert row["error"] < 1e-4


def test_metrics_that_are_no_means_have_no_test_if_nothing_differs():
    row = compared(FIRST, FIRST, metrics="gmr").equivalence(0.5).iloc[0]
    assert (row["p"], row["decision"]) == (1.0, "undecided")
    assert "0 clusters only" in row["reason"]
    row = compared(FIRST, NEAR, metrics="gmr").equivalence(2.0).iloc[0]
    assert (row["decision"], row["reason"]) == ("equal within the margin", "")


def test_undefined_metrics_have_a_reason():
    row = compared(FIRST, NEAR, metrics="median_rank,mrr").equivalence(2.0).iloc[0]
    assert math.isnan(row["p"])
    assert row["decision"] == "undecided"
    assert "median" in row["reason"]


def test_one_triple_allows_no_test():
    row = compared([3], [4]).equivalence(0.5, "mrr").iloc[0]
    assert math.isnan(row["p"])
    assert math.isnan(row["not_excluded"])
    assert "one cluster" in row["reason"]
    assert row["decision"] == "undecided"


@pytest.mark.parametrize(
    ("margin", "metric", "said"),
    [
        (0.0, "mrr", "margin must be above 0, in the unit of MRR"),
        (-0.1, "mrr", "margin must be above 0"),
        (1.0, "mrr", "margin must be below 1, the largest possible difference in MRR; got 1"),
        (199.0, "mr", "margin must be below 199, the largest possible difference in MR"),
        (math.nan, "mr", "margin must be above 0"),
        ("5%", "mr", "margin must be above 0"),
        (0.1, "hits@10", "hits@10 was not compared"),
    ],
)
def test_margins_are_checked(margin, metric, said):
    with pytest.raises(MetricError, match=said):
        of_two().equivalence(margin, metric)


def test_names_and_kinds_are_checked():
    comparison = of_two()
    with pytest.raises(ProtocolError, match="non-inferiority needs a baseline"):
        comparison.equivalence(0.1, kind="non-inferiority")
    with pytest.raises(ProtocolError, match=r"baseline \(--non-inferior-to\) must be one of 'A', 'B'"):
        comparison.equivalence(0.1, baseline="Z")
    with pytest.raises(MetricError, match="kind"):
        comparison.equivalence(0.1, kind="equal")
    with pytest.raises(ProtocolError, match=r"equivalence\(\): missing a required argument: 'margin'"):
        comparison.equivalence()  # a margin is asked for


def test_sentences_say_what_the_table_says():
    comparison = of_three()
    lines = equivalence_lines(comparison.equivalence(0.4, "mr"), comparison, "equivalence")
    names = re.fullmatch(
        r"undecided whether ([AB]) and ([AB]) are equal in MR, by the margin 0.40: difference .*", lines[0]
    )
    assert {*names.groups()} == {"A", "B"}
    assert lines[0].endswith("; a difference of 0.45 is not excluded")  # the larger limit, at the level 0.05 / 3
    assert lines[1].startswith("A and C differ in MR by more than the margin 0.40: difference -5.")
    assert lines[-1].startswith("tested: two one-sided t tests (TOST) at the level 0.05, corrected by Holm's method")
    assert "not exclude" in lines[-1]
    kind = "non-inferiority"
    lines = equivalence_lines(comparison.equivalence(2.0, "mr", kind, "A"), comparison, kind)
    assert lines[0].startswith("B is not inferior to A in MR, by the margin 2.00: difference ")
    assert lines[1].startswith("C is inferior to A in MR, by more than the margin 2.00: difference +5.")


def test_the_table_has_these_columns():
    frame = of_two().equivalence(0.4)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == [
        *of_two().differences.columns.drop(["wins", "ties", "losses"]), "margin", "p_beyond", "p_beyond_corrected",
        "not_excluded",
    ]  # fmt: skip
    assert frame["metric"][0] == "mr"  # the first metric


def test_interval_and_decision_agree():
    """Random families and margins: equal lies within the margin, better beyond it, and undecided neither."""
    rng, seen = np.random.default_rng(5), set()
    for _ in range(size(60, 600)):
        first = rng.integers(1, 30, N)
        others = [
            np.where(rng.random(N) < rng.choice([0.1, 0.5, 1.0]), first + rng.integers(-2, most, N), first)
            for most in rng.integers(3, 12, 2)
        ]
        metric = str(rng.choice(["mr", "mrr"]))
        margin = float(rng.choice([0.02, 0.1, 0.3]) * (10 if metric == "mr" else 1))
        found = compared(first, *(np.clip(other, 1, 39) for other in others))
        for kind, baseline in (("equivalence", None), ("non-inferiority", "A")):
            for row in found.equivalence(margin, metric, kind=kind, baseline=baseline).to_dict("records"):
                if math.isnan(row["low"]):
                    continue
                worst, best = (-row["low"], -row["high"]) if metric != "mr" else (row["high"], row["low"])
                is_far = max(row["low"], -row["high"]) > margin if kind == "equivalence" else best > margin
                is_near = (max(-row["low"], row["high"]) if kind == "equivalence" else worst) < margin
                decided = {"equal within the margin": "near", "not inferior": "near", "undecided": ""}
                wanted = decided.get(row["decision"], "far")
                assert ("far" if is_far else "near" if is_near else "") == wanted, str(row)
                seen.add((kind, wanted))
    assert len(seen) == 6


def test_an_undecided_difference_reaches_the_margin():
    """A loss of 1.85 standard errors beyond the margin: p = 0.07 in two directions, so the interval is that of 2.5%."""
    gaps = (FAR - FIRST).astype(float)
    error = gaps.std(ddof=1) / math.sqrt(N)
    row = compared(FIRST, FAR).equivalence(gaps.mean() - 1.85 * error, "mr").iloc[0]
    assert (row["decision"], row["level"], round(row["p_beyond"], 2)) == ("undecided", 0.025, 0.07)
    assert row["high"] == pytest.approx(tost(-gaps.mean(), error, N - 1, 1.0, alpha=0.025).high, rel=1e-9)
    assert -row["high"] < row["margin"]
