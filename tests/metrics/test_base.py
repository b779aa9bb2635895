"""What holds for every registered metric and each wrapper of it; a new metric is found by itself."""

import dataclasses
import itertools
import math
import random
import re

import numpy as np
import oracle
import pytest
from grids import light, one_of_each, size

from kgeval.errors import MetricError
from kgeval.metrics.base import TIE_POLICIES, MetricValue
from kgeval.metrics.grammar import parse
from kgeval.metrics.ranks import RANKS, RankMetric
from kgeval.metrics.wrappers import Adjusted, ZScore

WRAPPERS = {"adjusted": Adjusted, "z": ZScore}
TRAITS = ("name", "title", "bounds", "higher_is_better", "reference")


def examples(cls):
    """A few instances of a metric: at several cut-offs where it has one."""
    return [cls(k) for k in (1, 3, 10)] if "k" in cls.__dataclass_fields__ else [cls()]


PLAIN = [metric for cls in RANKS.registered().values() for metric in examples(cls)]
CHANCY = [metric for metric in PLAIN if metric.has_chance_level]
WRAPPED = [wrapper(metric) for wrapper in WRAPPERS.values() for metric in CHANCY]

each_plain = pytest.mark.parametrize("metric", PLAIN, ids=str)
each_chancy = pytest.mark.parametrize("metric", CHANCY, ids=str)
each_wrapped = pytest.mark.parametrize("metric", one_of_each(WRAPPED))
each_metric = pytest.mark.parametrize("metric", one_of_each(PLAIN + WRAPPED))
each_policy = pytest.mark.parametrize("ties", light(TIE_POLICIES, 1))


def random_row(rng, most=12):
    """One (better, tied, rivals); ends and all-tied rows are common on purpose."""
    rivals = rng.randint(0, most)
    better = rng.choice([0, rng.randint(0, rivals), rivals])
    return better, rng.choice([0, rng.randint(0, rivals - better), rivals - better]), rivals


def random_tables(seed, n, most_rows=6, most=12):
    """`n` lists of rows."""
    rng = random.Random(seed)
    return [[random_row(rng, most) for _ in range(rng.randint(1, most_rows))] for _ in range(n)]


TABLES = random_tables(1, size(120, 500))
SMALL = random_tables(2, size(30, 150), most_rows=3, most=5)


def columns(rows):
    """Better, tied and rivals as int64 arrays."""
    return tuple(np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def compute(metric, rows, ties="realistic"):
    """The metric's number for a list of rows; it must be defined."""
    found = metric.compute(*columns(rows), ties)
    assert not found.reason
    return found.value


def expected_by_oracle(metric, rows, ties):
    """What the oracle says about a plain or wrapped metric; None where it is undefined."""
    if isinstance(metric, tuple(WRAPPERS.values())):
        return getattr(oracle, metric.name)(str(metric.metric), rows, ties)
    return oracle.metric(str(metric), rows, ties)


def close(found, wanted):
    """Equal within 1e-12, absolute below 1 and relative above."""
    return math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-12)


def lacking(cls):
    """What a metric class fails to say about itself."""
    doc = cls.__doc__ or ""
    missing = [trait for trait in TRAITS if not hasattr(cls, trait)]
    missing += [part for part in ("References", ">>>") if part not in doc]
    if not missing:
        try:
            oracle.metric(str(examples(cls)[0]), [(0, 0, 1)], "realistic")
        except KeyError:
            missing.append("oracle")
    return missing


@pytest.mark.parametrize("cls", RANKS.registered().values(), ids=lambda cls: cls.__name__)
def test_every_metric_describes_itself(cls):
    """Name, title, bounds, direction, a reference with its year, documented with example, in the oracle."""
    assert lacking(cls) == []
    low, high = cls.bounds
    assert low < high
    assert isinstance(cls.higher_is_better, bool)
    assert re.search(r"\(\d{4}\)", cls.reference)
    assert re.fullmatch(r"[a-z_]+", cls.name)
    assert cls.title.strip()
    assert cls.undefined_when == "there is no triple"  # test_no_rows_have_no_value tries it
    assert cls.__dataclass_params__.frozen
    assert set(cls.tie_policies) <= set(TIE_POLICIES)


@pytest.mark.parametrize("trait", [*TRAITS, "References", ">>>", "oracle"])
def test_a_metric_that_lacks_a_trait_is_found(trait):
    """Of a class complete but for one thing exactly that thing is reported (the check above can fail)."""
    said = {
        "name": "mr",
        "title": "MR",
        "bounds": (1.0, 9.0),
        "higher_is_better": False,
        "reference": "A (2000)",
    }
    said |= {"__str__": lambda self: "unheard" if trait == "oracle" else "mr"}
    doc = "\n".join(part for part in ("M.", "References", ">>>") if part != trait)
    fields = {key: value for key, value in said.items() if key != trait}
    made = dataclasses.dataclass(frozen=True)(type("Made", (RankMetric,), {**fields, "__doc__": doc}))
    assert lacking(made) == [trait]


def test_every_wrapper_is_tested_here():
    """The wrappers that the error message lists, written name(...), are those of this file."""
    with pytest.raises(MetricError) as caught:
        parse("no such metric")
    assert set(re.findall(r"(\w+)\(\.\.\.\)", str(caught.value))) == set(WRAPPERS)


@each_metric
def test_text_and_metric_round_trip(metric):
    """parse(str(m)) == m, in any case and between spaces; equal metrics hash alike; a metric stays itself."""
    again = parse(str(metric))
    assert again == metric
    assert hash(again) == hash(metric)
    assert parse(f" {str(metric).upper()} ") == metric
    assert parse(metric) is metric


def test_metrics_and_their_spellings_are_distinct():
    """No two examples are equal, or share a text or a table heading."""
    metrics = PLAIN + WRAPPED
    for text in (str, lambda metric: metric.heading, lambda metric: metric):
        assert len({text(metric) for metric in metrics}) == len(metrics)


@pytest.mark.parametrize("cls", RANKS.registered().values(), ids=lambda cls: cls.__name__)
def test_synonyms_name_the_same_metric(cls):
    """Each synonym, and the name itself, parses to the class; no synonym is the name of another metric."""
    suffix = "@3" if "k" in cls.__dataclass_fields__ else ""
    for name in (cls.name, *cls.synonyms):
        assert type(parse(name + suffix)) is cls
    assert not set(cls.synonyms) & set(RANKS.registered())


@each_plain
@each_policy
def test_value_equals_oracle(metric, ties):
    """Thousands of random rows against the loop-only reference; where it has no value neither has kgeval."""
    for rows in TABLES:
        wanted = oracle.metric(str(metric), rows, ties)
        found = metric.compute(*columns(rows), ties)
        assert math.isnan(found.value) == (wanted is None) == bool(found.reason)
        assert wanted is None or close(found.value, wanted), rows


@each_wrapped
@each_policy
def test_wrapped_value_equals_oracle(metric, ties):
    """Adjusted and standardised metrics against the reference; 0 / 0 is NaN with a reason."""
    undefined = 0
    for rows in TABLES[: size(80, 160)]:
        wanted = expected_by_oracle(metric, rows, ties)
        found = metric.compute(*columns(rows), ties)
        assert math.isnan(found.value) == (wanted is None) == bool(found.reason), rows
        assert wanted is None or close(found.value, wanted), rows
        undefined += wanted is None
    assert 0 < undefined < 160


@each_metric
@each_policy
def test_value_within_bounds(metric, ties):
    """No value lies outside the declared bounds by more than rounding."""
    low, high = metric.bounds
    values = [metric.compute(*columns(rows), ties).value for rows in TABLES[: size(100, 200)]]
    defined = [value for value in values if not math.isnan(value)]
    assert all(low - 1e-12 <= value <= high + 1e-12 for value in defined)
    assert bool(defined) == (ties in metric.tie_policies)


@each_plain
def test_best_is_the_value_at_rank_one(metric):
    """All first: the value is `best`, which is the bound of the better direction."""
    rows = [(0, 0, 4), (0, 0, 0), (0, 0, 9)]
    bound = metric.bounds[1 if metric.higher_is_better else 0]
    for ties in metric.tie_policies:
        assert compute(metric, rows, ties) == metric.best == bound


@each_chancy
def test_best_of_the_wrappers(metric):
    """Adjusted is 1 when all are first, whatever the candidates; z has no best value."""
    wrapped = Adjusted(metric)
    assert compute(wrapped, [(0, 0, 40), (0, 0, 30)]) == wrapped.best == 1.0
    assert ZScore(metric).best == math.inf


@each_metric
@each_policy
@pytest.mark.light(2)
def test_a_better_rank_never_makes_it_worse(metric, ties):
    """One rival fewer above, or one tied rival now below: not worse, and often better."""
    sign, gains = (1 if metric.higher_is_better else -1), 0
    for rows in TABLES[: size(80, 120)]:
        before = metric.compute(*columns(rows), ties)
        for i, (better, tied, rivals) in enumerate(rows):
            fewer = [(better - 1, tied, rivals)] * (better > 0) + [(better, tied - 1, rivals)] * (tied > 0)
            for row in fewer:
                after = metric.compute(*columns([*rows[:i], row, *rows[i + 1 :]]), ties)
                assert before.reason == after.reason
                assert before.reason or sign * (after.value - before.value) >= -1e-12, (rows, row)
                gains += sign * (after.value - before.value) > 1e-9
    assert bool(gains) == (ties in metric.tie_policies)


@each_metric
@each_policy
def test_order_of_rows_does_not_matter(metric, ties):
    """Any permutation of the rows gives the same value."""
    rng = random.Random(3)
    for rows in TABLES[: size(80, 120)]:
        one = metric.compute(*columns(rows), ties)
        other = metric.compute(*columns(rng.sample(rows, len(rows))), ties)
        assert one.reason == other.reason
        assert one.reason or close(one.value, other.value)


@each_plain
@each_policy
def test_repeating_all_rows_changes_nothing(metric, ties):
    """A mean over twice the same rows is the same mean.

    Not so for an expectation over ties that is no mean of expectations (GMR: a tie broken twice
    independently is another thing), which is left out.
    """
    is_mean = type(metric).expectation is RankMetric.expectation
    if ties not in metric.tie_policies or (ties == "expected" and not is_mean):
        return
    for rows in TABLES[: size(80, 120)]:
        assert close(compute(metric, rows * 3, ties), compute(metric, rows, ties))


@each_plain
@pytest.mark.light(3)
def test_tie_policies_are_ordered(metric):
    """Optimistic is at least as good as realistic and expected, these at least as good as pessimistic."""
    sign, spread = (1 if metric.higher_is_better else -1), 0
    for rows in TABLES[: size(100, 200)]:
        best, worst = (sign * compute(metric, rows, ties) for ties in ("optimistic", "pessimistic"))
        between = [sign * compute(metric, rows, ties) for ties in metric.tie_policies[2:]]
        assert between
        assert all(worst - 1e-12 <= value <= best + 1e-12 for value in between)
        spread += best > worst
    assert spread


@each_plain
@each_policy
def test_without_ties_all_policies_agree(metric, ties):
    """Rows with no tie have one rank only."""
    if ties not in metric.tie_policies:
        return
    for rows in TABLES[: size(80, 120)]:
        untied = [(better, 0, rivals) for better, _, rivals in rows]
        assert close(compute(metric, untied, ties), compute(metric, untied, "optimistic"))


@each_chancy
def test_expected_is_the_mean_over_all_tie_breaks(metric):
    """Outcomes of independent tie breaking are equally likely: the mean of the metric over all of them."""
    for rows in SMALL:
        ranks = [range(better, better + tied + 1) for better, tied, _ in rows]
        outcomes = [
            compute(metric, [(b, 0, row[2]) for b, row in zip(found, rows, strict=True)])
            for found in itertools.product(*ranks)
        ]
        assert close(compute(metric, rows, "expected"), math.fsum(outcomes) / len(outcomes))


@each_chancy
def test_chance_and_variance_are_those_of_all_outcomes(metric):
    """Mean and variance of the reference metric over every combination of ranks 1..C, equally likely."""
    for rows in SMALL[: size(20, 60)]:
        candidates = [row[2] for row in rows]
        ranks = itertools.product(*(range(rivals + 1) for rivals in candidates))
        outcomes = [
            float(oracle.metric(str(metric), [(b, 0, n) for b, n in zip(found, candidates, strict=True)], "realistic"))
            for found in ranks
        ]
        mean = math.fsum(outcomes) / len(outcomes)
        variance = math.fsum((value - mean) ** 2 for value in outcomes) / len(outcomes)
        rivals = columns(rows)[2]
        assert close(metric.chance(rivals).value, mean)
        assert close(metric.variance(np.ones_like(rivals), rivals + 1), variance)


@each_chancy
@pytest.mark.light(2)
def test_chance_and_variance_equal_oracle(metric):
    """Unequal numbers of candidates in one table; the level is right to 1e-12 of itself."""
    for rows in TABLES[: size(50, 100)]:
        mean, variance = oracle.chance(str(metric), rows)
        rivals = columns(rows)[2]
        assert metric.chance(rivals).value == pytest.approx(float(mean), rel=1e-12)
        assert close(metric.variance(np.ones_like(rivals), rivals + 1), variance)


@each_chancy
@pytest.mark.light(2)
def test_constant_scorer_is_at_chance(metric):
    """All rivals tied, ties broken at random: the chance level; so adjusted and z are 0."""
    for rows in TABLES[: size(50, 100)]:
        tied = [(0, rivals, rivals) for _, _, rivals in rows]
        level = metric.chance(columns(tied)[2])
        assert close(compute(metric, tied, "expected"), level.value)
        for wrapper in WRAPPERS.values():
            found = wrapper(metric).compute(*columns(tied), "expected")
            assert found.reason or abs(found.value) < 1e-12
            chance = wrapper(metric).chance(columns(tied)[2])
            assert chance == MetricValue(0.0)


@each_metric
@each_policy
def test_no_rows_have_no_value(metric, ties):
    """The mean of nothing is NaN, never 0; the reason says so, also for the chance level."""
    empty = np.zeros(0, dtype=np.int64)
    found = metric.compute(empty, empty, empty, ties)
    assert math.isnan(found.value)
    assert found.reason == "no triples"
    level = metric.chance(empty)
    assert math.isnan(level.value)
    assert level.reason == "no triples"


@each_chancy
@each_policy
def test_single_candidates_have_no_adjusted_value(metric, ties):
    """With the positive alone its only rank is 1: adjusted and z are 0 / 0, the metric itself its best."""
    rows = columns([(0, 0, 0)] * 3)
    adjusted, z = Adjusted(metric).compute(*rows, ties), ZScore(metric).compute(*rows, ties)
    assert math.isnan(adjusted.value)
    assert adjusted.reason == f"random ranking already gives the best value of {metric}: 0 / 0"
    assert math.isnan(z.value)
    assert z.reason == f"{metric} has the same value for all random rankings: 0 / 0"
    assert metric.compute(*rows, ties).value == metric.chance(rows[2]).value == metric.best


@each_plain
def test_metrics_without_expectation_say_so(metric):
    """Where a metric gives up expected ties or its chance level the reason names it, also when wrapped."""
    rows = columns([(0, 2, 4), (1, 1, 4)])
    wrapped = {name: wrapper(metric) for name, wrapper in WRAPPERS.items()}
    if "expected" not in metric.tie_policies:
        wanted = f"{metric} has no exact expectation over random tie breaking"
        for found in (metric, *wrapped.values()):
            value = found.compute(*rows, "expected")
            assert (math.isnan(value.value), value.reason) == (True, wanted)
            assert found.tie_policies == metric.tie_policies
    if not metric.has_chance_level:
        wanted = f"{metric} has no closed form of its chance level"
        for found in (metric.chance(rows[2]), *(w.chance(rows[2]) for w in wrapped.values())):
            assert (math.isnan(found.value), found.reason) == (True, wanted)
        for found in wrapped.values():
            assert found.compute(*rows).reason == wanted
    assert metric.has_chance_level == ("expected" in metric.tie_policies)


@each_metric
@pytest.mark.parametrize(("ties", "hint"), [("realstic", "; did you mean 'realistic'?"), (None, ""), ("mean", "")])
def test_unknown_tie_policy(metric, ties, hint):
    """The error lists the policies and what came."""
    with pytest.raises(MetricError) as caught:
        metric.compute(*columns([(0, 0, 1)]), ties)
    listed = "'optimistic', 'pessimistic', 'realistic', 'expected'"
    assert str(caught.value) == f"ties must be one of {listed}; got {ties!r}{hint}"


@each_metric
def test_arguments_are_not_modified(metric):
    """The counts are read-only in a result; every computation must leave them alone."""
    rows = columns([(1, 2, 9), (0, 0, 4)])
    copies = tuple(column.copy() for column in rows)
    for column in rows:
        column.setflags(write=False)
    for ties in TIE_POLICIES:
        metric.compute(*rows, ties)
    metric.chance(rows[2])
    assert all(np.array_equal(one, other) for one, other in zip(rows, copies, strict=True))
