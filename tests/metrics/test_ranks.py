"""Each metric's values derived by hand, its chance level against closed forms, how metrics are written."""

import dataclasses
import math
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from grids import light

from kgeval.errors import MetricError
from kgeval.metrics.grammar import parse
from kgeval.metrics.ranks import GMR, HMR, MR, MRR, Hits, RankMetric
from kgeval.metrics.wrappers import Adjusted, ZScore
from kgeval.ranking.counts import RankCounts

EULER = 0.577215664901532860606512
ZETA_MINUS_HALF = -0.207886224977354566017307
MILLIONS = 5_000_000


def columns(*rows):
    """Better, tied and rivals as int64 arrays."""
    return tuple(np.array(rows, dtype=np.int64).T)


def value(text, *rows, ties="realistic"):
    """The number of a metric by its name."""
    return parse(text).compute(*columns(*rows), ties).value


def random_counts(seed, n=200, most=500):
    """Counts as an evaluation gives them, about a third of the rows with ties."""
    rng = np.random.default_rng(seed)
    rivals = rng.integers(1, most, n)
    better = rng.integers(0, rivals + 1)
    tied = np.where(rng.random(n) < 0.3, rng.integers(0, rivals - better + 1), 0)
    return better, tied, rivals


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mr", 7 / 3),  # (1 + 2 + 4) / 3
        ("mrr", 7 / 12),  # (1 + 1/2 + 1/4) / 3
        ("hits@1", 1 / 3),
        ("hits@2", 2 / 3),
        ("hits@3", 2 / 3),
        ("hits@4", 1.0),
        ("median_rank", 2.0),
        ("gmr", 2.0),  # (1 * 2 * 4) ** (1/3)
        ("hmr", 12 / 7),  # 1 / mrr
        ("amri", 1 - 2 * 4 / 15),
    ],
)
def test_three_ranks(text, wanted):
    """Ranks 1, 2, 4 among 4, 7 and 4 rivals; AMRI = 1 - 2 sum(a) / sum(N) = 1 - 2 (0 + 1 + 3) / 15."""
    assert value(text, (0, 0, 4), (1, 0, 7), (3, 0, 4)) == pytest.approx(wanted, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "optimistic", "pessimistic", "realistic", "expected"),
    [
        ("mr", 1, 2, 1.5, 1.5),
        ("mrr", 1, 1 / 2, 2 / 3, 3 / 4),
        ("hits@1", 1, 0, 0, 1 / 2),
        ("hits@2", 1, 1, 1, 1),
        ("gmr", 1, 2, 1.5, 1.5),
        ("median_rank", 1, 2, 1.5, math.nan),
        ("hmr", 1, 2, 1.5, math.nan),
        # C = 3: E[MR] = 2, E[MRR] = (1 + 1/2 + 1/3) / 3 = 11/18, E[hits@1] = 1/3
        ("amri", 1, 0, 0.5, 0.5),
        ("adjusted(mrr)", 1, -2 / 7, 1 / 7, 5 / 14),
        ("adjusted(hits@1)", 1, -1 / 2, -1 / 2, 1 / 4),
        # Var[MR] = (9 - 1) / 12 = 2/3; Var[hits@1] = 1/3 * 2/3
        ("z(mr)", math.sqrt(1.5), 0, math.sqrt(1.5) / 2, math.sqrt(1.5) / 2),
        ("z(hits@1)", math.sqrt(2), -math.sqrt(0.5), -math.sqrt(0.5), math.sqrt(2) / 4),
    ],
)
def test_two_way_tie_at_the_top(text, optimistic, pessimistic, realistic, expected):
    """One rival of two ties with the first: the rank is 1 or 2, E[1/R] = 3/4 and not 1 / 1.5 (A1)."""
    wanted = {
        "optimistic": optimistic,
        "pessimistic": pessimistic,
        "realistic": realistic,
        "expected": expected,
    }
    found = {ties: value(text, (0, 1, 2), ties=ties) for ties in wanted}
    assert found == pytest.approx(wanted, rel=1e-14, abs=1e-15, nan_ok=True)


def test_size_of_the_error_for_a_constant_scorer():
    """C = 14541, all tied: 1 / realistic = 2 / 14542 = 1.375e-4, E[1/R] = H(C) / C = 6.99e-4, 5.1 times."""
    row = (0, 14540, 14540)
    naive, exact = value("mrr", row), value("mrr", row, ties="expected")
    assert naive == pytest.approx(2 / 14542, rel=1e-14)
    assert exact == pytest.approx(sum(1 / i for i in range(1, 14542)) / 14541, rel=1e-12)
    assert [f"{x:.3g}" for x in (naive, exact, exact / naive)] == ["0.000138", "0.000699", "5.08"]
    assert value("adjusted(mrr)", row, ties="expected") == pytest.approx(0, abs=1e-15)
    assert value("adjusted(mrr)", row) < -5e-4


@pytest.mark.parametrize("seed", light(range(20), 3))
def test_expected_ties_closed_forms(seed):
    """R uniform on g+1..g+e+1: E[1/R] = (H(g+e+1) - H(g)) / (e+1), P(R <= k) = clip((k-g) / (e+1), 0, 1)."""
    better, tied, rivals = random_counts(seed, n=50, most=120)
    harmonic = [Fraction(0)]
    for i in range(1, 122):
        harmonic.append(harmonic[-1] + Fraction(1, i))
    pairs = list(zip(better.tolist(), tied.tolist(), strict=True))
    mrr = sum((harmonic[g + e + 1] - harmonic[g]) / (e + 1) for g, e in pairs) / 50
    assert MRR().compute(better, tied, rivals, "expected").value == pytest.approx(float(mrr), rel=1e-13)
    for k in (1, 3, 10, 60):
        share = sum(min(max(Fraction(k - g, e + 1), Fraction(0)), Fraction(1)) for g, e in pairs) / 50
        assert Hits(k).compute(better, tied, rivals, "expected").value == pytest.approx(float(share), rel=1e-13)
    assert MR().compute(better, tied, rivals, "expected").value == pytest.approx(
        MR().compute(better, tied, rivals).value, rel=1e-14
    )


@pytest.mark.parametrize("seed", light(range(20), 3))
def test_jensen(seed):
    """1/r is convex: the realistic MRR is below the expected one; r ** (1/n) is concave: GMR above."""
    counts = random_counts(seed)
    assert MRR().compute(*counts).value < MRR().compute(*counts, "expected").value
    assert GMR().compute(*counts).value > GMR().compute(*counts, "expected").value


def test_amri_is_minus_one_at_worst():
    """All positives last, with 1, 4 and 9 rivals: MR = 17/3, chance 10/3, so 1 - (14/3) / (7/3) = -1."""
    last = np.array([1, 4, 9])
    assert parse("amri").compute(last, np.zeros_like(last), last).value == -1.0
    assert parse("amri").bounds == (-1.0, 1.0)
    four, none = np.array([4]), np.array([0])
    assert parse("adjusted(hits@3)").compute(four, none, four).value == pytest.approx(-1.5)  # (0 - 3/5) / (1 - 3/5)
    assert parse("adjusted(hits@3)").bounds == (-math.inf, 1.0)


@pytest.mark.parametrize("seed", light(range(50), 3))
def test_amri_is_one_minus_twice_the_share_of_better_rivals(seed):
    """AMRI = 1 - 2 sum(a) / sum(N), a = rank - 1; so (1 + AMRI) / 2 is the N-weighted mean of 1 - a / N."""
    better, tied, rivals = random_counts(seed)
    for ties, share in (("optimistic", 0.0), ("realistic", 0.5), ("expected", 0.5), ("pessimistic", 1.0)):
        above = better + share * tied
        amri = Adjusted(MR()).compute(better, tied, rivals, ties).value
        assert amri == pytest.approx(1 - 2 * above.sum() / rivals.sum(), abs=1e-13)
        auc = 1 - above / rivals
        assert (1 + amri) / 2 == pytest.approx(np.average(auc, weights=rivals), abs=1e-13)


@pytest.mark.parametrize("seed", light(range(20), 3))
def test_harmonic_is_the_reciprocal_of_mrr(seed):
    """HMR = 1 / MRR, and harmonic <= geometric <= arithmetic mean, strictly where ranks differ."""
    counts = random_counts(seed)
    for ties in ("optimistic", "pessimistic", "realistic"):
        hmr, gmr, mr = (metric.compute(*counts, ties).value for metric in (HMR(), GMR(), MR()))
        assert hmr == pytest.approx(1 / MRR().compute(*counts, ties).value, rel=1e-14)
        assert hmr < gmr < mr


def test_median_of_an_even_number():
    """Ranks 1, 3, 4, 90: the mean of the middle two, 3.5; the half ranks of ties count: 1, 3.5 -> 2.25."""
    assert value("median_rank", (89, 0, 99), (0, 0, 9), (3, 0, 9), (2, 0, 9)) == 3.5
    assert value("median_rank", (0, 0, 9), (2, 1, 9)) == 2.25


def test_geometric_mean_of_many_large_ranks():
    """20,000 ranks of 5 million: their product has 134,000 digits, its root is 5 million under any policy.

    With two-way ties: ((M^(1/n) + (M+1)^(1/n)) / 2) ** n.
    """
    n = 20_000
    rivals = np.full(n, MILLIONS, dtype=np.int64)
    better, tied = np.full(n, MILLIONS - 1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for ties in ("realistic", "expected"):
        assert GMR().compute(better, tied, rivals, ties).value == pytest.approx(MILLIONS, rel=1e-12)
    pair = (MILLIONS ** (1 / n) + (MILLIONS + 1) ** (1 / n)) / 2
    wanted = math.exp(n * math.log(pair))
    assert GMR().compute(better, tied + 1, rivals, "expected").value == pytest.approx(wanted, rel=1e-10)


def test_large_sums_are_exact():
    """200,000 ranks of 151 sum to 30,200,000 (in float32 30,288,892, C28); 2 ** 24 + 1 is no float32."""
    n = 200_000
    better, rivals = np.full(n, 150, dtype=np.int64), np.full(n, 14_540, dtype=np.int64)
    none = np.zeros(n, dtype=np.int64)
    assert MR().compute(better, none, rivals).value == 151.0
    assert MR().compute(better, none, rivals).value * n == 30_200_000
    better[: n // 2] = 2**24
    assert MR().compute(better, none, rivals).value == (2**24 + 1 + 151) / 2
    assert value("mr", (2**40, 0, 2**41)) == 2**40 + 1
    assert value("mr", (2**40, 1, 2**41)) == 2**40 + 1.5


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mr", (MILLIONS + 1) / 2),
        # H(C) = ln C + gamma + 1/(2C) - 1/(12 C^2) + ...
        ("mrr", (math.log(MILLIONS) + EULER + 0.5 / MILLIONS - 1 / 12 / MILLIONS**2) / MILLIONS),
        ("hits@10", 10 / MILLIONS),
        ("hits@4999999", (MILLIONS - 1) / MILLIONS),
        # two rows: E[sqrt R] ** 2, sum sqrt(r) = 2/3 C^1.5 + C^0.5 / 2 + zeta(-1/2) + C^-0.5 / 24 - ...
        (
            "gmr",
            ((2 / 3 * MILLIONS**1.5 + MILLIONS**0.5 / 2 + ZETA_MINUS_HALF + MILLIONS**-0.5 / 24) / MILLIONS) ** 2,
        ),
    ],
)
def test_chance_of_millions_of_candidates(text, wanted):
    """Two positives with 5,000,000 candidates each against the closed form, to 1e-12 of itself."""
    rivals = np.full(2, MILLIONS - 1, dtype=np.int64)
    assert parse(text).chance(rivals).value == pytest.approx(wanted, rel=1e-12)


@pytest.mark.thorough
def test_variance_of_millions_of_candidates():
    """Var R = (C^2 - 1) / 12; Var 1/R = H2(C)/C - (H(C)/C)^2, H2(C) = pi^2/6 - 1/C + 1/(2C^2) ...; n = 2."""
    low, high = np.ones(2, dtype=np.int64), np.full(2, MILLIONS, dtype=np.int64)
    c, h2 = MILLIONS, math.pi**2 / 6 - 1 / MILLIONS + 0.5 / MILLIONS**2
    h = math.log(c) + EULER + 0.5 / c
    assert MR().variance(low, high) == pytest.approx((c * c - 1) / 24, rel=1e-12)
    assert MRR().variance(low, high) == pytest.approx((h2 / c - (h / c) ** 2) / 2, rel=1e-12)
    assert Hits(10).variance(low, high) == pytest.approx(10 / c * (1 - 10 / c) / 2, rel=1e-12)


def test_chance_level_of_published_benchmark():
    """20,466 FB15k-237 test triples, both sides, 14541 candidates each: MR 7271, hits@10 10 / 14541."""
    rivals = np.full(40_932, 14_540, dtype=np.int64)
    assert MR().chance(rivals).value == 7271.0
    assert Hits(10).chance(rivals).value == pytest.approx(10 / 14541, rel=1e-14)


FOREIGN = {
    ("arithmetic_mean_rank", False): (MR(), 1e-12),
    ("harmonic_mean_rank", True): (MRR(), 1e-12),
    ("hits_at_1", True): (Hits(1), 1e-12),
    ("hits_at_10", True): (Hits(10), 1e-12),
    ("hits_at_100", True): (Hits(100), 1e-12),
    ("geometric_mean_rank", False): (GMR(), 0.3),
}


@pytest.mark.parametrize("kind", FOREIGN, ids=lambda kind: kind[0])
def test_chance_and_variance_of_the_metrics_paper(shared, kind):
    """Tables beside Hoyt et al. (2022): n tasks with n candidates, n from 1 to a million.

    Their MR, MRR and hits rows are closed forms; of GMR the expectation is a sum in their floats (1e-8)
    and the variance a Monte Carlo estimate (their own two estimates differ by up to a tenth; 0.3 is loose).
    """
    metric, tolerance = FOREIGN[kind]
    table = pd.read_csv(shared / "data" / "models" / "candidates.tsv", sep="\t")
    rows = table[(table["metric"] == kind[0]) & (table["inverted"] == kind[1])]
    assert len(rows) == 40
    assert rows["candidate"].max() == 1_000_000
    for n, mean, variance in rows[["candidate", "expectation", "variance"]].itertuples(index=False):
        rivals = np.full(n, n - 1, dtype=np.int64)
        assert metric.chance(rivals).value == pytest.approx(mean, rel=min(tolerance, 1e-8))
        assert metric.variance(np.ones_like(rivals), rivals + 1) == pytest.approx(variance, rel=tolerance, abs=1e-15)


def test_repeated_positives_shrink_the_variance():
    """n rows with C = 5: Var[MR] = 2 / n, so z of MR 1 is (3 - 1) / sqrt(2 / n); n = 8 gives 4."""
    assert value("z(mr)", *[(0, 0, 4)] * 8) == pytest.approx(4, rel=1e-14)
    assert value("z(mr)", *[(4, 0, 4)] * 8) == pytest.approx(-4, rel=1e-14)


def test_cut_off_that_reaches_the_last_candidate():
    """k >= C: hits is 1 by definition, so adjusted and z are 0 / 0; one longer row suffices to define them.

    Rows with C = 3 and C = 4, k = 3: E = (1 + 3/4) / 2 = 7/8; the first rank 3, the second 4: hits 1/2, so
    adjusted (1/2 - 7/8) / (1/8) = -3; Var = 3/16 / 4, z = -3/8 / sqrt(3/64) = -sqrt(3).
    """
    for rows in ([(2, 0, 2)], [(2, 0, 2), (0, 0, 0)]):
        assert value("hits@3", *rows) == 1.0
        found = Adjusted(Hits(3)).compute(*columns(*rows))
        assert math.isnan(found.value)
        assert found.reason == "random ranking already gives the best value of hits@3: 0 / 0"
        found = ZScore(Hits(3)).compute(*columns(*rows))
        assert math.isnan(found.value)
        assert found.reason == "hits@3 has the same value for all random rankings: 0 / 0"
    assert value("adjusted(hits@3)", (2, 0, 2), (3, 0, 3)) == pytest.approx(-3, rel=1e-14)
    assert value("adjusted(hits@999)", (999, 0, 999)) == pytest.approx(-999, rel=1e-12)  # -0.999 / 0.001
    assert value("z(hits@3)", (2, 0, 2), (3, 0, 3)) == pytest.approx(-math.sqrt(3), rel=1e-14)


def test_caution_of_hits():
    """Of C = 3, 4, 10, 11 candidates one is at most 3, three at most 10; wrappers pass the caution on."""
    rivals = np.array([2, 3, 9, 10])
    assert Hits(3).caution(rivals) == "hits@3 is 1 by definition for 25.0% of the ranks (3 candidates or fewer)"
    wanted = "hits@10 is 1 by definition for 75.0% of the ranks (10 candidates or fewer)"
    assert [m.caution(rivals) for m in (Hits(10), Adjusted(Hits(10)), ZScore(Hits(10)))] == [wanted] * 3
    assert Hits(2).caution(rivals) == MRR().caution(rivals) == Hits(9).caution(rivals[:0]) == ""


def test_headings():
    """How tables name them."""
    wanted = {"mr": "MR", "mrr": "MRR", "hits@3": "hits@3", "amri": "AMRI", "median": "median", "gmr": "GMR"}
    wanted |= {"hmr": "HMR", "adjusted(mrr)": "adjusted(mrr)", "z(mr)": "z(mr)"}
    assert {text: parse(text).heading for text in wanted} == wanted
    assert (str(parse("amri")), str(parse("median"))) == ("amri", "median_rank")
    assert str(parse("adjusted(mr)")) == "amri"


KNOWN = "; known: adjusted(...), amri, gmr, hits@10, hmr, median_rank, mr, mrr, query.map, z(...)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hit@10", f"unknown metric 'hit@10'; did you mean 'hits@10'?{KNOWN}"),
        ("mrrr", f"unknown metric 'mrrr'; did you mean 'mrr'?{KNOWN}"),
        ("", f"unknown metric ''{KNOWN}"),
        ("raw", f"unknown metric 'raw'{KNOWN}"),
        ("adjusted()", f"unknown metric ''{KNOWN}"),
        ("hits", "hits needs a cut-off, a positive integer, such as 'hits@10'; got 'hits'"),
        ("hits@", "hits needs a cut-off, a positive integer, such as 'hits@10'; got 'hits@'"),
        (f"hits@{10**18}", f"the cut-off of hits must be below 10^18; got 'hits@{10**18}'"),
        ("hits@-1", "hits needs a cut-off, a positive integer, such as 'hits@10'; got 'hits@-1'"),
        ("hits@1.5", "hits needs a cut-off, a positive integer, such as 'hits@10'; got 'hits@1.5'"),
        ("hits@1e1", "hits needs a cut-off, a positive integer, such as 'hits@10'; got 'hits@1e1'"),
        ("hits@\u0663", "hits needs a cut-off, a positive integer, such as 'hits@10'; got 'hits@\u0663'"),
        ("hits@0", "k of hits@k must be an integer of at least 1; got 0"),
        ("mrr@3", "mrr takes no cut-off; got 'mrr@3'"),
        ("z(mrr@3)", "mrr takes no cut-off; got 'mrr@3'"),
        ("foo(mrr)", "unknown wrapper 'foo' in 'foo(mrr)'; known: adjusted, z"),
        (10, "a metric is named by a string such as 'hits@10'; got 10"),
        (None, "a metric is named by a string such as 'hits@10'; got None"),
        (b"mrr", "a metric is named by a string such as 'hits@10'; got b'mrr'"),
        (MRR, f"a metric is named by a string such as 'hits@10'; got {MRR!r}"),
    ],
)
def test_unreadable_metrics(text, message):
    """The whole sentence: what was expected, what came, and the nearest known name."""
    with pytest.raises(MetricError) as caught:
        parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("k", [0, -1, 1.5, 10.0, "10", True, None, math.nan])
def test_cut_off_is_a_positive_integer(k):
    """Also when the metric is made directly; a float or a bool is refused, numpy integers are welcome."""
    with pytest.raises(MetricError, match=re.escape(f"k of hits@k must be an integer of at least 1; got {k!r}")):
        Hits(k)
    assert str(Hits(np.int64(10))) == "hits@10"
    assert parse("hits@10") == Hits(np.int64(10)) == Hits()


def test_absurdly_long_cut_off():
    """5,000 digits are refused as a MetricError too, not as Python's own limit on integers."""
    with pytest.raises(MetricError, match="cut-off"):
        parse("hits@" + "9" * 5000)


@pytest.mark.parametrize("text", ["z(adjusted(mrr))", "adjusted(z(mr))", "z(z(mr))", "adjusted(adjusted(mr))"])
def test_wrappers_do_not_nest(text):
    """A wrapper of a wrapper has no variance, or an infinite best (so that all is 0): refused by name."""
    with pytest.raises(MetricError, match="wraps a plain metric"):
        parse(text)
    outer, inner = text.split("(")[:2]
    made = {"z": ZScore, "adjusted": Adjusted}
    with pytest.raises(MetricError, match="wraps a plain metric"):
        made[outer](made[inner](MR()))


def test_wrappers_take_metrics_only():
    """Adjusted("mr") would fail only when computed; a string is refused where it is given."""
    with pytest.raises(MetricError, match="'mr'"):
        Adjusted("mr")


def test_a_metric_without_formula_says_so():
    """The base class has no value of a rank."""

    class Nothing(RankMetric):
        """A metric that forgot its formula."""

    with pytest.raises(TypeError, match="Nothing does not define value\\(rank\\)"):
        Nothing().value(1)


def test_rank_counts_add_over_blocks():
    """Counts of two blocks of candidates add up to those of all; subtracting one leaves the other."""
    scores, own = np.array([[3, 1, 3, 5, 2], [0, 0, 0, 0, 0]]), np.array([[3], [0]])
    blocks = [
        RankCounts((part > own).sum(1), (part == own).sum(1), np.full(2, part.shape[1]))
        for part in (scores[:, :2], scores[:, 2:])
    ]
    total = blocks[0] + blocks[1]
    assert [total.better.tolist(), total.tied.tolist(), total.rivals.tolist()] == [[1, 0], [2, 5], [5, 5]]
    rest = total - blocks[0]
    assert [rest.better.tolist(), rest.tied.tolist(), rest.rivals.tolist()] == [[1, 0], [1, 3], [3, 3]]
    zeros = RankCounts.zeros(2) + rest
    assert (len(zeros), zeros.tied.tolist(), zeros.tied.dtype) == (2, [1, 3], np.int64)
    with pytest.raises(dataclasses.FrozenInstanceError):
        total.better = None
