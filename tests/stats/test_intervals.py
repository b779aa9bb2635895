"""Intervals by hand, by slow loops, against scipy, and above all by how often they cover the truth."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from kgeval.errors import DataError, MetricError
from kgeval.stats.clusters import Grouping, left_out_deviations
from kgeval.stats.intervals import ALIKE, macro_interval, robust_interval, wilson_limits
from kgeval.stats.moments import Interval, Moments, influences
from kgeval.stats.quantiles import ONE_VALUE, quantile_interval
from kgeval.stats.skewness import Skew
from kgeval.stats.tails import student_p_value, student_quantile

CANDIDATES = (200, 500)
UNIT = (0.0, 1.0)
MEAN, BETWEEN, WITHIN = 1.5, 1.0, 0.7


def column(values):
    return np.asarray(values, dtype=np.float64)[:, None]


def exp_of_mean(means):
    return np.exp(means[..., 0])


def adjusted(means):
    """(mean rank, mean chance rank) -> adjusted mean rank index."""
    return 1.0 - (means[..., 0] - 1.0) / (means[..., 1] - 1.0)


# What each metric is of ranks and numbers of candidates.
METRICS = {
    "mrr": lambda ranks, sizes: Moments(column(1.0 / ranks)),
    "hits@10": lambda ranks, sizes: Moments(column(ranks <= 10)),
    "mr": lambda ranks, sizes: Moments(column(ranks)),
    "gmr": lambda ranks, sizes: Moments(column(np.log(ranks)), exp_of_mean),
    "amri": lambda ranks, sizes: Moments(np.column_stack([ranks, (sizes + 1.0) / 2.0]), adjusted),
}


def simulated(rng, n_triples):
    """Ranks of both sides of each triple, which share how hard the triple is; and the candidates of each.

    The logarithm is normal, the rank rounded up and cut at the number of candidates: skewed, with a heavy tail.
    """
    hard = rng.normal(0.0, BETWEEN, (n_triples, 1)) + rng.normal(0.0, WITHIN, (n_triples, 2))
    sizes = np.broadcast_to(rng.choice(CANDIDATES, (n_triples, 1)), hard.shape)
    ranks = np.minimum(np.ceil(np.exp(MEAN + hard)), sizes)
    return ranks.ravel(), sizes.ravel().astype(np.float64)


def true_values():
    """Each metric of the distribution that `simulated` draws from: sums over its probabilities, no simulation."""
    normal = NormalDist(MEAN, math.hypot(BETWEEN, WITHIN))
    parts = []
    for size in CANDIDATES:
        reached = [0.0, *(normal.cdf(math.log(k)) for k in range(1, size)), 1.0]
        ranks = np.arange(1, size + 1)
        share = np.diff(reached) / len(CANDIDATES)
        parts.append(np.column_stack([ranks, share, np.full(size, float(size))]))
    ranks, share, sizes = np.concatenate(parts).T
    found = {}
    for name, metric in METRICS.items():
        moments = metric(ranks, sizes)
        found[name] = float(moments.finish((share[:, None] * moments.values).sum(axis=0)))
    return found


TRUE = true_values()


def coverage(metric, n_triples, n_datasets, interval, seed):
    """The share of simulated datasets whose interval holds the true value."""
    rng = np.random.default_rng(seed)
    pairs = np.repeat(np.arange(n_triples), 2)
    covered = 0
    for _ in range(n_datasets):
        found = interval(METRICS[metric](*simulated(rng, n_triples)), pairs)
        covered += found.low <= TRUE[metric] <= found.high
    return covered / n_datasets


# --- Student's t ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.5, 0.55, 0.9, 0.975, 0.995, 0.9995])
def test_student_with_one_and_two_degrees_of_freedom_has_a_closed_form(share):
    """tan(pi (p - 1/2)), and (2p - 1) sqrt(2 / (4 p (1 - p))): the quantiles of Cauchy and of t with 2."""
    assert student_quantile(share, 1) == pytest.approx(math.tan(math.pi * (share - 0.5)), rel=1e-10, abs=1e-15)
    two = (2 * share - 1) * math.sqrt(2 / (4 * share * (1 - share)))
    assert student_quantile(share, 2) == pytest.approx(two, rel=1e-10, abs=1e-15)


@pytest.mark.parametrize(
    ("share", "freedom", "table"),
    [
        (0.975, 1, 12.706), (0.975, 3, 3.182), (0.95, 4, 2.132), (0.995, 5, 4.032), (0.975, 9, 2.262),
        (0.9, 10, 1.372), (0.975, 30, 2.042), (0.9995, 40, 3.551), (0.975, 60, 2.000), (0.95, 120, 1.658),
    ],
)  # fmt: skip
def test_student_as_in_printed_tables(share, freedom, table):
    """Fisher and Yates (1963), Statistical Tables, table III, to its three digits."""
    assert round(student_quantile(share, freedom), 3) == table


def test_student_is_scipys():
    stats = pytest.importorskip("scipy.stats")
    for freedom in [*range(1, 60), 99, 100, 999, 1000, 1001, 1002, 20_465, 10**6]:
        for share in (0.025, 0.5, 0.8, 0.975, 0.995, 0.9999):
            expected = stats.t.ppf(share, freedom)
            assert student_quantile(share, freedom) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_p_values_with_one_and_two_degrees_of_freedom_have_a_closed_form():
    """P(|T| > t) is 1 - 2 / pi atan(t) with 1 (Cauchy), and 1 - t / sqrt(2 + t^2) with 2."""
    for t in (0.0, 0.3, 1.0, 2.5, -4.0, 40.0):
        assert student_p_value(t, 1) == pytest.approx(1 - 2 / math.pi * math.atan(abs(t)), rel=1e-12)
        assert student_p_value(t, 2) == pytest.approx(1 - abs(t) / math.sqrt(2 + t * t), rel=1e-9)


def test_p_values_invert_the_quantiles():
    """P(|T| > t) at the quantile 1 - p / 2 is p. It is never 0."""
    for freedom in (1, 2, 3, 7, 30, 999, 1000, 1001, 20_000):
        for p in (0.9, 0.3, 0.05, 0.001):
            assert student_p_value(student_quantile(1 - p / 2, freedom), freedom) == pytest.approx(p, rel=1e-9)
    assert 0.0 < student_p_value(1e6, 50) < 1e-200


def test_p_values_are_scipys():
    stats = pytest.importorskip("scipy.stats")
    for freedom in (1, 2, 3, 8, 57, 999, 1000, 1001, 5000):
        for t in (0.0, 0.1, 1.0, 2.0, 3.5, 6.0):
            expected = 2 * stats.t.sf(t, freedom)
            assert student_p_value(t, freedom) == pytest.approx(expected, rel=1e-9)


# --- influences ----------------------------------------------------------------------------------------------------


def test_influences_of_the_adjusted_index_by_exact_fractions():
    """For 1 - (a - 1) / (b - 1): gradient -1 / (b - 1) and (a - 1) / (b - 1)^2, in fractions."""
    ranks, chance = [1, 4, 2, 9], [5, 5, 8, 10]
    a, b = Fraction(sum(ranks), 4), Fraction(sum(chance), 4)
    exact = [-(r - a) / (b - 1) + (c - b) * (a - 1) / (b - 1) ** 2 for r, c in zip(ranks, chance)]
    found = influences(Moments(np.column_stack([ranks, chance]).astype(float), adjusted))
    assert found == pytest.approx([float(x) for x in exact], abs=1e-9)
    assert found.sum() == pytest.approx(0.0, abs=1e-12)


def test_influences_with_a_mean_that_does_not_vary():
    """All chance ranks are 9: the gradient is -1/8 by the rank, and no deviation is left to multiply the other."""
    constant = np.column_stack([[1.0, 2.0, 6.0], [9.0, 9.0, 9.0]])
    assert influences(Moments(constant, adjusted)) == pytest.approx([2 / 8, 1 / 8, -3 / 8], abs=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_influences_are_the_limit_of_weighting_one_observation_more(metric):
    """The number with weight 1 + h on observation i, less the number, over h / n."""
    rng = np.random.default_rng(4)
    moments = METRICS[metric](*simulated(rng, 10))
    found = influences(moments)
    for i in (0, 7, 19):
        weights = np.ones(20)
        weights[i] += 1e-6
        moved = (moments.weighted(weights).number - moments.number) / 1e-6 * 20
        assert found[i] == pytest.approx(float(moved), rel=1e-4, abs=1e-7)


# --- the robust interval -------------------------------------------------------------------------------------------


def test_robust_error_by_exact_fractions():
    """Clusters {1, 3}, {2}, {6, 0, 1}: mean 13/6; without one of them 9/4, 11/5 and 2, by a loop over fractions.

    The effective number of clusters is 6^2 / (2^2 + 1^2 + 3^2) = 18/7, so that t has 1 degree of freedom.
    """
    values, clusters = [1, 3, 2, 6, 0, 1], ["a", "a", "b", "c", "c", "c"]
    without = []
    for label in "abc":
        rest = [value for value, cluster in zip(values, clusters) if cluster != label]
        without.append(Fraction(sum(rest), len(rest)))
    assert without == [Fraction(9, 4), Fraction(11, 5), Fraction(2)]
    variance = Fraction(2, 3) * sum((x - Fraction(13, 6)) ** 2 for x in without)
    assert variance == Fraction(43, 1800)
    found = robust_interval(Moments(column(values)), clusters)
    reach = math.tan(math.pi * 0.475) * math.sqrt(43 / 1800)
    assert found.value == pytest.approx(13 / 6, rel=1e-14)
    assert found.error == pytest.approx(math.sqrt(43 / 1800), rel=1e-12)
    assert (found.low, found.high) == pytest.approx((13 / 6 - reach, 13 / 6 + reach), rel=1e-9)
    assert (found.confidence, found.method, found.n_clusters, found.reason) == (0.95, "robust", 3, "")
    assert found.n_effective == pytest.approx(18 / 7, rel=1e-12)


def test_single_observations_give_the_textbook_interval():
    """Each observation its own cluster: mean -+ t s / sqrt(n), with s over n - 1."""
    values = np.random.default_rng(0).exponential(size=30)
    found = robust_interval(Moments(column(values)), np.arange(30), confidence=0.9)
    reach = student_quantile(0.95, 29) * values.std(ddof=1) / math.sqrt(30)
    assert (found.low, found.high) == pytest.approx((values.mean() - reach, values.mean() + reach), rel=1e-12)


def test_repeating_every_observation_within_its_cluster_changes_nothing():
    values = np.random.default_rng(1).exponential(size=40)
    once = robust_interval(Moments(column(values)), np.arange(40))
    thrice = robust_interval(Moments(column(np.repeat(values, 3))), np.repeat(np.arange(40), 3))
    assert thrice.low == pytest.approx(once.low, rel=1e-12)
    assert thrice.high == pytest.approx(once.high, rel=1e-12)
    assert robust_interval(Moments(column(np.repeat(values, 3))), np.arange(120)).error < 0.6 * once.error


@pytest.mark.parametrize("metric", METRICS)
def test_robust_is_the_same_in_any_order_under_any_labels(metric):
    ranks, sizes = simulated(np.random.default_rng(2), 50)
    pairs = np.repeat(np.arange(50), 2)
    order = np.random.default_rng(3).permutation(100)
    labels = np.random.default_rng(5).permutation(50) * 7 - 100
    one = robust_interval(METRICS[metric](ranks, sizes), pairs)
    other = robust_interval(METRICS[metric](ranks[order], sizes[order]), labels[pairs][order])
    assert (other.low, other.high, other.error) == pytest.approx((one.low, one.high, one.error), rel=1e-9)


def test_robust_is_cut_at_the_bounds():
    values = Moments(column([1.0, 1.0, 1.0, 9.0]))
    assert robust_interval(values, [0, 1, 2, 3], bounds=(1.0, 6.5)).low == 1.0
    assert robust_interval(values, [0, 1, 2, 3], bounds=(1.0, 6.5)).high == 6.5
    assert robust_interval(values, [0, 1, 2, 3]).low < 1.0


@pytest.mark.parametrize(
    ("metric", "n_triples"), [("mrr", 200), ("gmr", 200), ("hits@10", 200), ("mr", 2000), ("amri", 2000)]
)
@pytest.mark.thorough
def test_robust_covers_at_the_nominal_rate_and_ignoring_clusters_does_not(metric, n_triples):
    """95% of 2,500 datasets, less or more 1.5 points (3.4 standard errors); a long tail needs more triples."""
    assert 0.935 <= coverage(metric, n_triples, 2500, robust_interval, seed=11) <= 0.965
    single = coverage(metric, n_triples, 500, lambda m, pairs: robust_interval(m, np.arange(len(pairs))), seed=11)
    assert single < 0.91


@pytest.mark.thorough
def test_robust_covers_at_another_level():
    assert 0.78 <= coverage("mrr", 100, 2500, lambda m, pairs: robust_interval(m, pairs, confidence=0.8), 12) <= 0.82


# --- shares --------------------------------------------------------------------------------------------------------


def test_share_as_in_wilson():
    """5 of 10, single: 1/2 -+ t sqrt(1/4m + t^2/4m^2) / (1 + t^2/m), t with 9 degrees of freedom and m = 9."""
    hits = [1] * 5 + [0] * 5
    found = robust_interval(Moments(column(hits)), np.arange(10), bounds=UNIT)
    t = student_quantile(0.975, 9)
    size = 9.0  # 10 over the design effect 10 / 9 that G / (G - 1) gives for single observations
    reach = t * math.sqrt(0.25 / size + t * t / (4 * size * size)) / (1 + t * t / size)
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.5 - reach, 0.5 + reach), rel=1e-12)
    assert found.method == "wilson"
    assert found.error == pytest.approx(math.sqrt(0.25 / 9), rel=1e-12)


@pytest.mark.parametrize(("n_clusters", "each"), [(10, 1), (10, 4), (500, 2)])
def test_share_of_none_or_all_has_width(n_clusters, each):
    """Wilson at 0: from 0 to t^2 / (G + t^2), G clusters counting as one observation each; mirrored at 1."""
    clusters = np.repeat(np.arange(n_clusters), each)
    t = student_quantile(0.975, n_clusters - 1)
    none = robust_interval(Moments(column(np.zeros(len(clusters)))), clusters, bounds=UNIT)
    every = robust_interval(Moments(column(np.ones(len(clusters)))), clusters, bounds=UNIT)
    assert (none.low, none.value, every.value, every.high) == (0.0, 0.0, 1.0, 1.0)
    assert none.high == pytest.approx(t * t / (n_clusters + t * t), rel=1e-12)
    assert every.low == pytest.approx(n_clusters / (n_clusters + t * t), rel=1e-12)


def wilson(share, size, t):
    """Wilson's limits of a share among `size` observations, with the quantile t."""
    centre = (share + t * t / (2 * size)) / (1 + t * t / size)
    reach = t * math.sqrt(share * (1 - share) / size + t * t / (4 * size * size)) / (1 + t * t / size)
    return centre - reach, centre + reach


@pytest.mark.parametrize("values", [[1, 0, 0], [0.25, 0.5, 0.25]])
def test_values_alike_in_all_clusters_count_clusters(values):
    """A mean of 1/3 in each of 20 clusters: Wilson's limit for 0 of 20 is the share that could be 0 or 1 instead."""
    found = robust_interval(Moments(column(values * 20)), np.repeat(np.arange(20), 3), bounds=UNIT)
    _, unseen = wilson(0.0, 20, student_quantile(0.975, 19))
    ends = ((1 - unseen) * 1 / 3 + unseen * 0, (1 - unseen) * 1 / 3 + unseen * 1)
    assert (found.low, found.high) == pytest.approx(ends, rel=1e-12)
    assert (found.method, found.reason, found.error) == ("wilson", "", 0.0)


def test_limits_of_clusters_alike_hold():
    """Of 30 clusters a share q is 0 in place of 0.6: where none is seen, the limits hold, but in 2.5% of the draws."""
    low, high = wilson_limits(0.6, 0.0, 30.0, student_quantile(0.975, 29))
    assert low < 0.6 < high
    for q in np.linspace(0.0, 0.5, 101):
        is_held = low <= 0.6 * (1.0 - q)
        assert is_held or (1.0 - q) ** 30 <= 0.025


def test_every_statistic_between_0_and_1_has_wilsons_limits():
    """Not only shares: a mean, a ratio and a weighted mean; the size is m (1 - m) / V, V by a loop over clusters."""
    rng = np.random.default_rng(14)
    values, weights = 1.0 / rng.integers(1, 9, 24), rng.integers(1, 4, 24).astype(float)
    clusters = np.concatenate([np.arange(7), rng.integers(7, size=17)])
    ratio = Moments(np.column_stack([values, np.ones(24)]), lambda means: means[..., 0] / means[..., 1])
    for moments, share in (
        (Moments(column(values)), 1.0),
        (ratio, 1.0),
        (Moments(column(values)).weighted(weights), 0),
    ):
        heavy = np.ones(24) if share else weights
        mean = (heavy * values).sum() / heavy.sum()
        variance, sizes = 0.0, []
        for label in range(7):
            rest = clusters != label
            variance += 6 / 7 * ((heavy * values)[rest].sum() / heavy[rest].sum() - mean) ** 2
            sizes.append(sum(w ** (4 / 3) for w in heavy[~rest]))
        n_effective = sum(sizes) ** 2 / sum(size**2 for size in sizes)
        found = robust_interval(moments, clusters, bounds=UNIT, confidence=0.9)
        assert (found.method, found.n_effective) == ("wilson", pytest.approx(n_effective, rel=1e-12))
        t = student_quantile(0.95, math.floor(n_effective - 1))
        assert (found.low, found.high) == pytest.approx(wilson(mean, mean * (1 - mean) / variance, t), rel=1e-9)


def test_a_sample_of_a_finite_population():
    """160 of 200: the variance is multiplied by 1 - 160/200; Wilson's size is divided by it; if all are alike, none is.

    Of 100 of 110, all alike, one of the 10 others differs unseen in 9% of the draws: 0 of 1,100 would be too narrow.
    """
    values = np.random.default_rng(3).random(40)
    plain, part = (robust_interval(Moments(column(values)), np.arange(40), sampled_share=f) for f in (0.0, 0.8))
    assert part.error == pytest.approx(math.sqrt(0.2) * plain.error, rel=1e-12)
    below, above = Skew.of(left_out_deviations(Moments(column(values)), Grouping.of(np.arange(40), 40))).quantiles(
        student_quantile(0.975, 39), 0.8
    )
    assert part.high == pytest.approx(part.value + above * part.error, rel=1e-12)
    assert part.low == pytest.approx(part.value - below * part.error, rel=1e-12)
    t, variance, mean = student_quantile(0.975, 39), values.var(ddof=1) / 40, values.mean()
    found = robust_interval(Moments(column(values)), np.arange(40), bounds=UNIT, sampled_share=0.8)
    assert (found.low, found.high) == pytest.approx(wilson(mean, mean * (1 - mean) / (0.2 * variance), t), rel=1e-12)
    alike = robust_interval(Moments(column(np.ones(40))), np.arange(40), bounds=UNIT, sampled_share=0.8)
    assert (alike.low, alike.high) == (pytest.approx(40 / (40 + t * t), rel=1e-12), 1.0)


def test_degrees_of_freedom_are_rounded_down():
    """Sizes 3, 1, 1: 25 / 11 = 2.27 effective clusters, 1.27 degrees of freedom: 1. Sizes 1, 1, 1: exactly 2."""
    values = column([1.0, 2.0, 4.0, 5.0, 9.0])
    found = robust_interval(Moments(values), [0, 0, 0, 1, 2])
    assert found.n_effective == pytest.approx(25 / 11)
    assert found.high - found.value == pytest.approx(math.tan(math.pi * 0.475) * found.error, rel=1e-9)
    for scale in (1.0, 1 / 3, 0.1):  # sums of such weights may come out just below 3
        even = robust_interval(Moments(column([1.0, 2.0, 4.0])).weighted(np.full(3, scale)), np.arange(3))
        assert even.high - even.value == pytest.approx(student_quantile(0.975, 2) * even.error, rel=1e-9)


@pytest.mark.thorough
def test_rare_share_is_covered_where_a_symmetric_interval_fails():
    """2% of 150 triples hit, both sides of one together more often: Wald covers less than 92%, Wilson more than 93%."""
    rng, clusters = np.random.default_rng(6), np.repeat(np.arange(150), 2)
    bounded = wald = 0
    for _ in range(2000):
        shared = rng.random((150, 1)) < 0.01
        hits = column((shared | (rng.random((150, 2)) < 0.01 / 0.99)).ravel())
        found = robust_interval(Moments(hits), clusters, bounds=UNIT)
        bounded += found.low <= 0.02 <= found.high
        plain = robust_interval(Moments(hits), clusters)
        wald += plain.low <= 0.02 <= plain.high
    assert 0.93 <= bounded / 2000 <= 0.975
    assert wald / 2000 < 0.92


# --- no interval ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "finish", "clusters", "value", "reason"),
    [
        ([], exp_of_mean, [], math.nan, "no observations"),
        ([1.0, 3.0], exp_of_mean, [5, 5], math.exp(2.0), "one cluster only; an interval needs at least two"),
        ([1.0, 0.0], lambda means: means[..., 0], [5, 5], 0.5, "one cluster only; an interval needs at least two"),
        ([1.0, 3.0], lambda means: means[..., 0] * np.nan, [1, 2], math.nan, "the value is undefined"),
        ([0.0, 0.0], lambda means: 1.0 / means[..., 0], [1, 2], math.nan, "the value is undefined"),
    ],
)
def test_why_there_is_no_interval(values, finish, clusters, value, reason):
    found = robust_interval(Moments(column(values), finish), clusters)
    assert found.value == pytest.approx(value, nan_ok=True)
    assert found.reason == reason
    assert all(math.isnan(x) for x in (found.low, found.high, found.error))


def test_a_statistic_that_needs_every_cluster_has_no_interval():
    """The root of the mean of -1 and 1 is 0; without the 1, it is not defined."""
    found = robust_interval(Moments(column([-1.0, 1.0]), lambda means: np.sqrt(means[..., 0])), [0, 1])
    assert (found.value, found.reason) == (0.0, "the value is undefined if one of the clusters is left out")


def test_values_alike_have_a_reason_unless_between_0_and_1():
    """Also if only the sums of clusters agree, and if they differ by nothing but rounding (2^-40 of the value)."""
    for values in ([3.0] * 6, [1.0, 5.0] * 3, [0.1, 0.2, 0.1, 0.2, 0.2, 0.1]):
        found = robust_interval(Moments(column(values)), [0, 0, 1, 1, 2, 2])
        assert (found.value, found.reason) == (pytest.approx(sum(values) / 6), ALIKE)
        assert math.isnan(found.low)
    almost = robust_interval(Moments(column([3.0, 3.0, 3.0 + 1e-10])), [0, 1, 2])
    assert almost.low < almost.value < almost.high
    weights = np.random.default_rng(0).random(6)  # the weighted columns vary, and their ratio does not
    alike = robust_interval(Moments(column([3.0] * 6)).weighted(weights), np.arange(6))
    assert (alike.value, alike.reason) == (pytest.approx(3.0), ALIKE)


# --- macro averages -----------------------------------------------------------------------------------------------


def macro_by_loops(groups, clusters, number):
    """Value, variance and degrees of freedom (not rounded) of the mean of `number` over the groups.

    ``groups[r]`` lists the observations of group r, ``clusters[r]`` their clusters; each number is computed anew
    without the observations of a cluster.
    """
    values = [number(group) for group in groups]
    changes, shares = {}, []
    for group, labels, value in zip(groups, clusters, values):
        n = len(set(labels))
        for label in set(labels):
            rest = number([x for x, other in zip(group, labels) if other != label])
            changes[label] = changes.get(label, 0.0) + math.sqrt((n - 1) / n) * (rest - value)
        shares.append(sum(labels.count(label) ** 2 for label in set(labels)) / len(labels) ** 2)  # 1 / k_r
    variance = sum(change**2 for change in changes.values()) / len(groups) ** 2
    freedom = sum(shares) ** 2 / sum(share**2 / (1 / share - 1) for share in shares)
    return sum(values) / len(groups), variance, freedom


def mean_of(group):
    return sum(group) / len(group)


def geometric_mean_of(group):
    return math.exp(mean_of([math.log(x) for x in group]))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("is_shared", [False, True], ids=["within groups", "across groups"])
def test_macro_by_loops(seed, is_shared):
    """Clusters within groups, and clusters that have observations in several groups."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 9, 5)
    groups = [rng.integers(1, 20, size).astype(float).tolist() for size in sizes]
    clusters = [[0, 1, *rng.integers(4, size=size - 2).tolist()] for size in sizes]
    if not is_shared:
        clusters = [[10 * r + label for label in labels] for r, labels in enumerate(clusters)]
    labels = [label for labels in clusters for label in labels]
    for number, moments in (
        (mean_of, lambda group: Moments(column(group))),
        (geometric_mean_of, lambda group: Moments(column(np.log(group)), exp_of_mean)),
    ):
        value, variance, freedom = macro_by_loops(groups, clusters, number)
        found = macro_interval(list(map(moments, groups)), labels, confidence=0.9)
        assert (found.value, found.error) == pytest.approx((value, math.sqrt(variance)), rel=1e-9)
        assert found.n_effective == pytest.approx(freedom + 1, rel=1e-9)
        t = student_quantile(0.95, max(1, math.floor(freedom + 1e-9)))
        assert (found.low, found.high) == pytest.approx(
            (value - t * found.error, value + t * found.error), rel=1e-9, abs=1e-9
        )
        assert (found.n_clusters, found.reason) == (len(set(labels)), "")
    if not is_shared:  # the jackknife of strata: the variances of the groups are added
        alone = [robust_interval(Moments(column(g)), own).error for g, own in zip(groups, clusters)]
        together = macro_interval([Moments(column(g)) for g in groups], labels).error
        assert together == pytest.approx(math.sqrt(sum(error**2 for error in alone)) / 5, rel=1e-12)


def test_macro_by_exact_fractions():
    """{1, 3} and {2, 8}, single: variances of the means 1 and 9, so V = 10 / 4.

    Degrees of freedom: k = 2 in both groups, (1/2 + 1/2)^2 / (1/4 + 1/4) = 2.
    """
    found = macro_interval([Moments(column([1, 3])), Moments(column([2, 8]))], [0, 1, 2, 3])
    t = 0.95 * math.sqrt(2 / (1 - 0.95**2))
    assert (found.value, found.error, found.n_effective) == pytest.approx((3.5, math.sqrt(2.5), 3.0), rel=1e-12)
    assert found.high == pytest.approx(3.5 + t * math.sqrt(2.5), rel=1e-9)
    half = macro_interval([Moments(column([1, 3])), Moments(column([2, 8]))], [0, 1, 2, 3], sampled_share=0.5)
    assert half.error == pytest.approx(math.sqrt(1.25), rel=1e-12)


def test_macro_between_0_and_1_has_wilsons_limits():
    """Means 1/2 and 3/4 of four single observations each: V = (1/12 + 1/16) / 4, df (1/2)^2 / (2 / 16 / 3) = 6."""
    parts = [Moments(column([1, 1, 0, 0])), Moments(column([1, 1, 1, 0]))]
    found = macro_interval(parts, np.arange(8), bounds=UNIT)
    size = 0.625 * 0.375 / ((1 / 12 + 1 / 16) / 4)
    assert (found.low, found.high) == pytest.approx(wilson(0.625, size, student_quantile(0.975, 6)), rel=1e-12)
    assert found.method == "wilson"
    alike = macro_interval([Moments(column([1.0, 1.0])), Moments(column([1.0, 1.0]))], np.arange(4), bounds=UNIT)
    t = student_quantile(0.975, 2)
    assert (alike.low, alike.high) == (pytest.approx(3 / (3 + t * t), rel=1e-12), 1.0)


def test_macro_without_an_interval():
    """A group with one cluster has no variance of its own; nor has no group, or one without a value."""
    pair, single = Moments(column([1.0, 3.0])), Moments(column([5.0]))
    found = macro_interval([pair, single, single], [0, 1, 2, 3])
    assert (found.value, found.n_clusters) == (4.0, 4)
    assert found.reason == (
        "2 of 3 groups have one cluster only (such as one triple), so that their variance is unknown; leave them out, "
        "or merge groups"
    )
    assert macro_interval([pair, pair], [0, 1, 2, 2]).reason.startswith("1 of 2 groups have one cluster")
    assert macro_interval([], []).reason == "no groups"
    undefined = Moments(column([1.0, 3.0]), lambda means: means[..., 0] * np.nan)
    assert macro_interval([pair, undefined], np.arange(4)).reason == "the value is undefined"
    assert macro_interval([pair, pair], [0, 1, 0, 1]).reason == ""
    alike = macro_interval([Moments(column([2.0, 2.0])), Moments(column([4.0, 4.0]))], np.arange(4))
    assert (alike.value, alike.reason) == (3.0, f"within each group {ALIKE}")
    for one in (found, alike):
        assert all(math.isnan(x) for x in (one.low, one.high, one.error, one.n_effective))


# --- quantiles -----------------------------------------------------------------------------------------------------


def test_woodruff_by_hand():
    """1..100, single: F(50.5) = 1/2, size 99, reach t / (2 sqrt 99) = 0.09971: the values at places 41 and 60."""
    found = quantile_interval(np.arange(1.0, 101.0), np.arange(100))
    t = student_quantile(0.975, 99)
    reach = t / (2 * math.sqrt(99))
    assert (found.low, found.high) == (math.ceil(100 * (0.5 - reach)), math.floor(100 * (0.5 + reach)) + 1)
    assert (found.value, found.low, found.high, found.method) == (50.5, 41.0, 60.0, "woodruff")
    assert found.error == pytest.approx(19.0 / (2 * t), rel=1e-12)


def test_woodruff_among_many_equal_values():
    """10 clusters of 10 values, 5 or 7 of them 1: the share of ones has variance 10/9 x 10 / 100^2, so the size is
    0.24 x 900 = 216, the reach t / (2 sqrt 216) = 0.077, and both limits lie within the 60 ones."""
    values = [[1.0] * n_ones + list(range(2, 12 - n_ones)) for n_ones in (5, 7) * 5]
    found = quantile_interval(np.concatenate(values), np.repeat(np.arange(10), 10))
    assert (found.low, found.value, found.high, found.error, found.reason) == (1.0, 1.0, 1.0, 0.0, ONE_VALUE)
    reach = student_quantile(0.975, 9) / (2 * math.sqrt(216))
    places = math.ceil(100 * (0.55 - reach)), math.floor(100 * (0.55 + reach)) + 1
    assert places == (48, 63)  # beyond the 60 ones come ten values of 2
    found = quantile_interval(np.concatenate(values), np.repeat(np.arange(10), 10), share=0.55)
    assert (found.low, found.high, found.reason) == (1.0, 2.0, "")


@pytest.mark.thorough
def test_median_is_covered_and_ignoring_clusters_is_not():
    """Continuous values of pairs that share much: 95% of the datasets, less or more 1.5 points."""
    n_datasets = 2500
    rng, pairs = np.random.default_rng(31), np.repeat(np.arange(150), 2)
    covered = single = 0
    for _ in range(n_datasets):
        values = np.exp(rng.normal(0, 1, (150, 1)) + rng.normal(0, 0.3, (150, 2))).ravel()
        found = quantile_interval(values, pairs)
        covered += found.low <= 1.0 <= found.high
        found = quantile_interval(values, np.arange(300))
        single += found.low <= 1.0 <= found.high
    assert abs(covered / n_datasets - 0.95) <= 0.015
    assert single / n_datasets < 0.9


def test_quantile_is_the_same_in_any_order_under_any_labels():
    ranks, _ = simulated(np.random.default_rng(2), 50)
    pairs = np.repeat(np.arange(50), 2)
    order = np.random.default_rng(3).permutation(100)
    labels = np.random.default_rng(5).permutation(50) * 7 - 100
    one = quantile_interval(ranks, pairs, 0.25)
    other = quantile_interval(ranks[order], labels[pairs][order], 0.25)
    assert (other.value, other.low, other.high) == (one.value, one.low, one.high)


@pytest.mark.parametrize(("n_clusters", "reason"), [(6, "too few clusters for limits of this quantile"), (7, "")])
def test_a_median_needs_seven_clusters(n_clusters, reason):
    """t / (2 sqrt(G)) is 0.525 for G = 6 and 0.462 for G = 7; each cluster holds one value on either side."""
    values = np.tile([1.0, 3.0], n_clusters)
    found = quantile_interval(values, np.repeat(np.arange(n_clusters), 2))
    assert found.reason == reason
    assert found.value == 2.0
    assert math.isnan(found.low) == bool(reason)


def test_quantile_without_an_interval():
    assert quantile_interval([], []).reason == "no observations"
    one = quantile_interval([1.0, 2.0], [4, 4])
    assert (one.value, one.reason) == (1.5, "one cluster only; an interval needs at least two")


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (lambda m: robust_interval(m, [1, 2, 3]), DataError,
         "clusters must have one label per observation, shape (2,); got shape (3,)"),
        (lambda m: robust_interval(m, [1.0, math.nan]), DataError,
         "clusters, row 1: NaN is not a label; every observation needs a cluster"),
        (lambda m: robust_interval(m, [1, 2], confidence=95), MetricError,
         "confidence must be a share between 0 and 1, such as 0.95; got 95"),
        (lambda m: robust_interval(m, [1, 2], confidence=1.0), MetricError,
         "confidence must be a share between 0 and 1, such as 0.95; got 1.0"),
        (lambda m: quantile_interval([1.0, math.nan], [1, 2]), DataError,
         "values, row 1: NaN cannot be ordered; remove such rows"),
        (lambda m: quantile_interval([[1.0]], [1]), DataError, "values must have shape (observations,); got (1, 1)"),
        (lambda m: quantile_interval([1.0], [1], share=1), MetricError,
         "share must be a share between 0 and 1, such as 0.5 for the median; got 1"),
    ],
)  # fmt: skip
def test_what_is_refused(act, error, text):
    with pytest.raises(error) as caught:
        act(Moments(column([1.0, 2.0])))
    assert str(caught.value) == text


def test_an_interval_reads_well():
    assert str(Interval(0.5, 0.25, 0.75, 0.95, "robust", 9)) == "0.5000 [0.2500, 0.7500]"
    assert str(Interval(0.5, math.nan, math.nan, 0.95, "robust", 1, reason="one cluster")) == (
        "0.5000 (no interval: one cluster)"
    )
    few = Interval(0.5, 0.25, 0.75, 0.95, "robust", 200, n_effective=99.4)
    assert str(few) == "0.5000 [0.2500, 0.7500] (99 effective clusters)"
    assert str(Interval(0.5, 0.25, 0.75, 0.95, "robust", 200, n_effective=100.0)) == "0.5000 [0.2500, 0.7500]"
