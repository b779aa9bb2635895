"""Every metric as a function of means: what each rank or query adds, and that nothing but these is needed."""

import math

import numpy as np
import pytest
from grids import light, size
from random_lists import made_of_scores, random_tables

from kgeval.errors import MetricError
from kgeval.metrics.base import TIE_POLICIES
from kgeval.metrics.query_level import QueryLevel
from kgeval.metrics.ranks import GMR, HMR, MR, MRR, RANKS, Hits, MedianRank
from kgeval.metrics.retrieval.base import AVERAGES, LISTS
from kgeval.metrics.retrieval.inputs import from_ranking
from kgeval.metrics.retrieval.lists import LIST_TIES
from kgeval.metrics.retrieval.listwise import MAP, Precision
from kgeval.metrics.wrappers import Adjusted, ZScore
from kgeval.stats.moments import Moments


def examples(cls):
    """A few instances of a metric of ranks: at several cut-offs where it has one."""
    return [cls(k) for k in (1, 3, 10)] if "k" in cls.__dataclass_fields__ else [cls()]


def list_examples(cls):
    """A list metric whole and cut off, with each choice for queries without a value."""
    fields = cls.__dataclass_fields__
    given = {"g_max": 3.0} if "g_max" in fields else {}
    made = [cls(**given, k=3)] if "k" in fields else []
    made += [cls(**given)] if "k" not in fields or fields["k"].default is None else []
    return made + [cls(empty=empty) for empty in ("zero", "nan") if "empty" in fields]


PLAIN = [metric for cls in RANKS.registered().values() for metric in examples(cls)]
WRAPPED = [wrapper(metric) for wrapper in (Adjusted, ZScore) for metric in PLAIN if metric.has_chance_level]
RANKED = [metric for metric in PLAIN + WRAPPED if metric.has_moments]
LISTED = [metric for cls in LISTS.registered().values() for metric in list_examples(cls)]
QUERY_LEVEL = [QueryLevel(metric, average) for metric in LISTED for average in AVERAGES]

each_asked = pytest.mark.parametrize(
    ("metric", "ties"),
    [
        pytest.param(metric, ties, id=f"{ties}.{metric}", marks=[] if is_light else [pytest.mark.thorough])
        for i, metric in enumerate(RANKED)
        for place, ties in enumerate(metric.tie_policies)
        for is_light in (i % 3 == 0 and place == i // 3 % len(metric.tie_policies),)  # the policies take turns
    ],
)
each_query_level = pytest.mark.parametrize("metric", light(QUERY_LEVEL, 8), ids=str)
each_list_policy = pytest.mark.parametrize("ties", light(LIST_TIES, 1))


def random_counts(seed, n_rows, most):
    """Better, tied and rivals of random rows; ends, rows without rivals and all-tied rows are common on purpose."""
    rng = np.random.default_rng(seed)
    rivals = rng.integers(0, most + 1, n_rows) * (rng.random(n_rows) < 0.9)
    better = rng.choice([0, 0.3, 0.7, 1], n_rows) * rivals // 1
    tied = rng.choice([0, 0, 0.5, 1], n_rows) * (rivals - better) // 1
    return better.astype(np.int64), tied.astype(np.int64), rivals.astype(np.int64)


TABLES = [random_counts(seed, 1 + seed % 23, (1, 4, 30, 2000)[seed % 4]) for seed in range(size(100, 160))]
# Of short tables some have no query without a value, which the metrics that then have none need.
LIST_TABLES = random_tables(11, size(10, 13), 9) + random_tables(12, size(15, 18), 2)
LISTS_AT_RANDOM = [table.lists for table in LIST_TABLES]


def close(found, wanted, tolerance=1e-12):
    """Equal within the tolerance, absolute below 1 and relative above."""
    return math.isclose(found, wanted, rel_tol=tolerance, abs_tol=tolerance)


def defined(metric, ties, tables=TABLES):
    """The tables on which a metric has a value, with that value."""
    computed = ((table, metric.compute(*table, ties)) for table in tables)
    return [(table, found.value) for table, found in computed if not found.reason]


def knows_its_number(metric, ties):
    """Whether a row's values depend on how many rows there are: a root, or a variance, is of all rows together."""
    plain = getattr(metric, "metric", metric)
    return isinstance(metric, ZScore) or (isinstance(plain, GMR) and (ties == "expected" or plain is not metric))


def columns(*rows):
    """Better, tied and rivals as int64 arrays."""
    return tuple(np.array(rows, dtype=np.int64).reshape(-1, 3).T)


# The worked example: ranks 2 and 1 of five candidates.
WORKED = columns((1, 0, 4), (0, 0, 4))


@each_asked
@pytest.mark.light(4)
def test_the_number_is_the_computed_value(metric, ties):
    """To the last bit, one row of finite float64 values per rank; where there is no value the error has its reason."""
    numbers = 0
    for table in TABLES:
        wanted = metric.compute(*table, ties)
        if wanted.reason:
            with pytest.raises(MetricError) as caught:
                metric.moments(*table, ties)
            assert str(caught.value) == wanted.reason
            continue
        moments = metric.moments(*table, ties)
        assert (len(moments), moments.values.ndim, moments.values.dtype) == (len(table[0]), 2, np.float64)
        assert np.isfinite(moments.values).all()
        assert float(moments.number) == wanted.value
        numbers += 1
    assert numbers > len(TABLES) / 3


@each_asked
@pytest.mark.light(4)
def test_finish_takes_any_leading_axes(metric, ties):
    """Means of shape (2, 5, k) give what a loop over the ten gives."""
    rng, (table, _) = np.random.default_rng(1), defined(metric, ties)[40]
    moments = metric.moments(*table, ties)
    n = len(moments)
    means = rng.multinomial(n, np.full(n, 1 / n), (2, 5)) @ moments.values / n
    found = moments.finish(means)
    assert found.shape == (2, 5)
    wanted = [[float(moments.finish(mean)) for mean in row] for row in means]
    # numpy's exp and log may take another path through one number than through ten.
    assert np.allclose(found, wanted, rtol=1e-14, atol=0, equal_nan=True)
    assert np.isfinite(found).any()


@each_asked
@pytest.mark.light(4)
def test_rows_are_in_the_order_of_the_counts(metric, ties):
    """Permuted counts permute the values, bit by bit, and leave the number within rounding."""
    rng = np.random.default_rng(2)
    for table, value in defined(metric, ties)[:100]:
        order = rng.permutation(len(table[0]))
        moments, permuted = (metric.moments(*rows, ties) for rows in (table, [c[order] for c in table]))
        assert np.array_equal(permuted.values, moments.values[order])
        assert close(float(permuted.number), value)


@each_asked
@pytest.mark.light(4)
def test_a_subset_of_rows_is_the_metric_of_the_subset(metric, ties):
    """Half of the rows' values are the values of half of the rows; z of them has more rows than they are.

    A z-score keeps the number n of all its rows: its variance of m of them is m / n of theirs, and it
    is sqrt(n / m) of theirs. Metrics of the geometric mean whose root is known have no such law.
    """
    plain, tried = getattr(metric, "metric", metric), 0
    if knows_its_number(metric, ties) and isinstance(plain, GMR):
        return
    for table, _ in defined(metric, ties)[:100]:
        n = len(table[0])
        half = np.arange(0, n, 2)
        wanted = metric.compute(*(column[half] for column in table), ties)
        moments = metric.moments(*table, ties)
        found = float(Moments(moments.values[half], moments.finish).number)
        assert math.isnan(found) == bool(wanted.reason)
        factor = math.sqrt(n / len(half)) if isinstance(metric, ZScore) else 1.0
        assert wanted.reason or close(found, factor * wanted.value)
        tried += n > 1
    assert tried > min(len(TABLES), 100) / 3


@each_asked
def test_weights_are_repetitions(metric, ties):
    """Whole weights, 0 among them, give the metric of the rows that often; n as for subsets."""
    rng = np.random.default_rng(3)
    if knows_its_number(metric, ties):
        return
    for table, _ in defined(metric, ties)[:100]:
        weights = rng.integers(0, 4, len(table[0]))
        weights[0] += not weights.any()
        wanted = metric.compute(*(np.repeat(column, weights) for column in table), ties)
        found = float(metric.moments(*table, ties).weighted(weights.astype(np.float64)).number)
        assert math.isnan(found) == bool(wanted.reason)
        assert wanted.reason or close(found, wanted.value)


def test_which_rows_know_their_number():
    """What the tests above leave out, so that no metric slips out of them."""
    known = {f"{ties}.{metric}" for metric in RANKED for ties in metric.tie_policies if knows_its_number(metric, ties)}
    z = {f"{ties}.z({metric})" for metric in PLAIN if metric.has_chance_level for ties in TIE_POLICIES}
    assert known == z | {"expected.gmr"} | {f"{ties}.adjusted(gmr)" for ties in TIE_POLICIES}


@pytest.mark.parametrize(
    ("metric", "values", "number"),
    [
        (MRR(), [[0.5], [1.0]], 0.75),
        (MR(), [[2.0], [1.0]], 1.5),
        (Hits(1), [[0.0], [1.0]], 0.5),
        (GMR(), [[math.log(2)], [0.0]], math.sqrt(2)),
        (HMR(), [[0.5], [1.0]], 4 / 3),
        (Adjusted(MR()), [[2.0, 3.0], [1.0, 3.0]], 0.75),  # chance is 3: (1.5 - 3) / (1 - 3)
        (Adjusted(Hits(1)), [[0.0, 0.2], [1.0, 0.2]], 0.375),  # (0.5 - 0.2) / (1 - 0.2)
        (ZScore(MR()), [[2.0, 3.0, 2.0], [1.0, 3.0, 2.0]], 1.5),  # variance (25 - 1) / 12, of two 1
        (ZScore(Hits(1)), [[0.0, 0.2, 0.16], [1.0, 0.2, 0.16]], 0.3 / math.sqrt(0.08)),
    ],
    ids=str,
)
def test_worked_example(metric, values, number):
    """What the ranks 2 and 1 of five candidates add, by hand."""
    moments = metric.moments(*WORKED)
    assert np.allclose(moments.values, values, rtol=1e-15, atol=0)
    assert float(moments.number) == pytest.approx(number, rel=1e-14)
    assert moments.finish(np.array(values).mean(axis=0)) == pytest.approx(number, rel=1e-14)


@pytest.mark.parametrize(
    ("metric", "ties", "values", "number"),
    [
        (MRR(), "optimistic", [[1.0], [0.5]], 0.75),
        (MRR(), "realistic", [[2 / 3], [0.5]], 7 / 12),
        (MRR(), "pessimistic", [[0.5], [0.5]], 0.5),
        (MRR(), "expected", [[0.75], [0.5]], 0.625),
        (Hits(1), "expected", [[0.5], [0.0]], 0.25),
        # E[sqrt(R1 R2)] = (1 + sqrt 2) / 2 * sqrt 2: each row twice the logarithm of its factor
        (GMR(), "expected", [[2 * math.log((1 + math.sqrt(2)) / 2)], [math.log(2)]], (math.sqrt(2) + 2) / 2),
    ],
    ids=str,
)
def test_tied_ranks(metric, ties, values, number):
    """A rank that is 1 or 2, and one that is 2, by hand."""
    moments = metric.moments(*columns((0, 1, 4), (1, 0, 4)), ties)
    assert np.allclose(moments.values, values, rtol=1e-15, atol=0)
    assert float(moments.number) == pytest.approx(number, rel=1e-15)


def test_standardised_geometric_mean():
    """One rank, 1 of 2: GMR is the rank, chance 1.5, E[R^2] = 2.5, variance 0.25, so z is -(1 - 1.5) / 0.5.

    The variance is chance^2 (E[R^2] / chance^2 - 1), of two columns.
    """
    moments = ZScore(GMR()).moments(*columns((0, 0, 1)))
    assert np.allclose(moments.values, [[0.0, math.log(1.5), math.log(1.5), math.log(2.5 / 2.25)]], rtol=1e-14, atol=0)
    assert float(moments.number) == pytest.approx(1.0, rel=1e-14)


def test_resamples_without_room_have_no_number():
    """Of a row of five candidates and one alone, the latter twice is 0 / 0: NaN, without a warning."""
    counts = columns((1, 0, 4), (0, 0, 0))
    for metric in WRAPPED:
        k = getattr(metric.metric, "k", 1)
        if k > 4:  # always hit: no value at all
            continue
        moments = metric.moments(*counts)
        with np.errstate(all="raise"):
            found = moments.finish(np.stack([moments.values.mean(axis=0), moments.values[1]]))
        assert np.isnan(found).tolist() == [False, True]


def test_the_median_has_no_moments():
    """It says so as a trait and in an error, and what to ask instead; it still has its value."""
    said = {metric: metric.has_moments for metric in (MedianRank(), Adjusted(MedianRank()), MRR(), Adjusted(MRR()))}
    assert list(said.values()) == [False, False, True, True]
    with pytest.raises(MetricError) as caught:
        MedianRank().moments(*WORKED)
    wanted = "median_rank is not a function of means; use gmr instead: bad ranks have little effect on it, too"
    assert str(caught.value) == wanted
    assert MedianRank().compute(*WORKED).value == 1.5
    assert [str(metric) for metric in PLAIN + WRAPPED if not metric.has_moments] == ["median_rank"]


@pytest.mark.parametrize(
    ("metric", "rows", "ties", "reason"),
    [
        (MRR(), [], "realistic", "no triples"),
        (MedianRank(), [], "realistic", "no triples"),
        (ZScore(MR()), [], "expected", "no triples"),
        (HMR(), [(0, 1, 4)], "expected", "hmr has no exact expectation over random tie breaking"),
        (Adjusted(HMR()), [(0, 1, 4)], "realistic", "hmr has no closed form of its chance level"),
        (Adjusted(MedianRank()), [(0, 0, 4)], "realistic", "median_rank has no closed form of its chance level"),
        (Adjusted(MRR()), [(0, 0, 0)], "realistic", "random ranking already gives the best value of mrr: 0 / 0"),
        (ZScore(Hits(5)), [(1, 0, 4)], "realistic", "hits@5 has the same value for all random rankings: 0 / 0"),
    ],
    ids=str,
)
def test_where_there_is_no_value_there_are_no_moments(metric, rows, ties, reason):
    """The error says what `compute` gives as its reason."""
    counts = columns(*rows)
    with pytest.raises(MetricError) as caught:
        metric.moments(*counts, ties)
    assert str(caught.value) == metric.compute(*counts, ties).reason == metric.lacking(counts[2], ties) == reason


@each_query_level
@each_list_policy
@pytest.mark.light(3)
def test_query_level_number_is_the_computed_value(metric, ties):
    """To the last bit, two columns, one row per query; where there is no value the error has its reason."""
    assert metric.has_moments
    numbers = 0
    for lists in LISTS_AT_RANDOM:
        wanted = metric.compute_lists(lists, ties)
        if wanted.reason:
            with pytest.raises(MetricError) as caught:
                metric.moments_of(lists, ties)
            assert str(caught.value) == wanted.reason
            continue
        moments = metric.moments_of(lists, ties)
        assert (moments.values.shape, moments.values.dtype) == ((len(lists), 2), np.float64)
        assert float(moments.number) == wanted.value
        numbers += 1
    assert numbers >= 3


@each_query_level
@each_list_policy
def test_query_level_rows_are_the_queries(metric, ties):
    """By a loop over queries, in their order: value and 1 (macro), or numerator and denominator (micro)."""
    for lists in LISTS_AT_RANDOM[:20]:
        if metric.compute_lists(lists, ties).reason:
            continue
        counts_empty = getattr(metric.metric, "empty", "skip") == "zero"
        above, below = metric.metric.ratio(metric.metric.ordered(lists, ties))
        wanted = []
        for a, b in zip(above.tolist(), below.tolist(), strict=True):
            if metric.average == "micro":
                wanted.append([a, b] if b else [0.0, 0.0])
            else:
                wanted.append([a / b, 1.0] if b else [0.0, float(counts_empty)])
        moments = metric.moments_of(lists, ties)
        assert moments.values.tolist() == wanted
        sums = [math.fsum(column) for column in zip(*wanted, strict=True)]
        assert close(float(moments.number), sums[0] / sums[1] if sums[1] else 0.0, 1e-14)


@each_query_level
def test_query_level_finish_takes_any_leading_axes(metric):
    """Means of shape (2, 5, 2), some of them of queries without a value only, give what a loop gives."""
    lists = from_ranking([[1, 0, 1], [0, 1], [0, 0, 0], [], [1]])
    if getattr(metric.metric, "empty", "skip") == "nan":
        lists = from_ranking([[1, 0, 1], [0, 1], [0, 0, 1, 0], [1, 0]])
    moments = metric.moments_of(lists, "optimistic")
    weights = np.random.default_rng(4).multinomial(2, np.full(len(lists), 1 / len(lists)), (2, 5))
    with np.errstate(all="raise"):
        found = moments.finish(weights @ moments.values / 2)
        wanted = [[float(moments.finish(w @ moments.values / 2)) for w in row] for row in weights]
    assert np.array_equal(found, wanted, equal_nan=True)


HALVES = [
    tuple(made_of_scores(chosen, table.level).lists for chosen in (table.queries, table.queries[::2]))
    for table in LIST_TABLES
]


@each_query_level
@each_list_policy
@pytest.mark.light(3)
def test_query_level_subset_is_the_metric_of_the_subset(metric, ties):
    """Half of the queries' values are the values of half of the queries."""
    tried = 0
    for whole, half in HALVES:
        if metric.compute_lists(whole, ties).reason:
            continue
        moments, wanted = metric.moments_of(whole, ties), metric.compute_lists(half, ties)
        found = float(Moments(moments.values[::2], moments.finish).number)
        assert math.isnan(found) == bool(wanted.reason)
        assert wanted.reason or close(found, wanted.value, 1e-14)
        tried += 1
    assert tried >= 3


@pytest.mark.parametrize(
    ("text", "values", "number"),
    [
        ("query.map", [[5 / 6, 1], [0, 0], [1 / 2, 1]], 2 / 3),
        ("query.map(empty=zero)", [[5 / 6, 1], [0, 1], [1 / 2, 1]], 4 / 9),
        ("query.micro.map", [[5 / 3, 2], [0, 0], [1 / 2, 1]], 13 / 18),
        ("query.precision@2", [[1 / 2, 1], [0, 1], [1 / 2, 1]], 1 / 3),
    ],
)
def test_query_level_worked_example(text, values, number):
    """AP of relevant items at 1 and 3 is 5/6, at 2 alone 1/2, and a query without any has none."""
    moments = QueryLevel.parse(text).moments_of(from_ranking([[1, 0, 1], [0, 0], [0, 1]]), "expected")
    assert np.allclose(moments.values, values, rtol=1e-15, atol=0)
    assert float(moments.number) == pytest.approx(number, rel=1e-15)


@pytest.mark.parametrize(
    ("metric", "rankings", "ties", "reason"),
    [
        (MAP(), [], "expected", "no queries"),
        (MAP(), [[0, 0]], "expected", "1 of 1 queries: no item is relevant"),
        (MAP(empty="nan"), [[1], [0, 0]], "expected", "1 of 2 queries: no item is relevant"),
        (
            MAP(),
            [[1]],
            "realistic",
            "map does not support ties='realistic': several answers have no single rank; use ties='expected'",
        ),
    ],
    ids=str,
)
def test_where_there_is_no_query_level_value_there_are_no_moments(metric, rankings, ties, reason):
    """The error says what `compute` gives as its reason, for both averages."""
    lists = from_ranking(rankings) if rankings else from_ranking([], query=[])
    for average in AVERAGES:
        with pytest.raises(MetricError) as caught:
            metric.moments(lists, ties, average)
        assert str(caught.value) == metric.compute(lists, ties, average).reason == reason


def test_what_compute_refuses_is_refused():
    """Unknown ties, an unknown average, and what are no lists."""
    with pytest.raises(MetricError, match=r"^ties must be one of 'optimistic', .*; got 'mean'$"):
        MRR().moments(*columns(), "mean")
    with pytest.raises(MetricError, match=r"^average must be one of 'macro', 'micro'; got 'mean'$"):
        Precision(2).moments(from_ranking([1]), average="mean")
    with pytest.raises(MetricError, match=r"^expected ranked lists, .*; got list$"):
        Precision(2).moments([1])
