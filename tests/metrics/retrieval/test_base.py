"""What holds for every registered metric of ranked lists; a new one is found by itself."""

import dataclasses
import functools
import itertools
import math
import random
import re

import numpy as np
import oracle_lists as oracle
import pytest
from grids import light, one_of_each, size
from list_metric_cases import AVERAGES, METRICS, TEXTS, each_metric
from random_lists import by_oracle, close, made_as_run, made_of_scores, random_tables

from kgeval.metrics.base import Metric
from kgeval.metrics.retrieval.base import LISTS, ListMetric
from kgeval.metrics.retrieval.inputs import from_ranking, from_run
from kgeval.metrics.retrieval.lists import LIST_TIES

TRAITS = ("name", "title", "bounds", "higher_is_better", "reference", "undefined_when")
UNDEFINED = {
    "the list is empty": [from_ranking([])],
    "the list is empty and no item is relevant": [from_ranking([])],
    "no item is relevant": [from_ranking([0, 0]), from_ranking([])],
    "no item is relevant, or no item is irrelevant": [from_ranking([1, 1]), from_ranking([0, 0]), from_ranking([])],
    "the ideal DCG is 0": [from_ranking([0, 0]), from_ranking([])],
    "there is no query": [from_ranking([], query=[])],
}
PARAMETERS = {
    "k": [1, 3, 10**17],
    "short": ["pad", "cut"],
    "empty": ["skip", "zero", "nan"],
    "beta": [1.0, 2.0, 0.5, 1 / 3, math.e, 1e-7],
    "gain": ["linear", "exponential", "1:3;2:9", "0.5:2"],
    "base": [2.0, 10.0, 1.5, math.e],
    "g_max": [1.0, 3.0, 4.5],
    "recall": [0.0, 0.1, 1 / 3, 1.0],
    "points": ["11", "2", "101", "all"],
}

each_class = pytest.mark.parametrize("cls", LISTS.registered().values(), ids=lambda cls: cls.__name__)
each_policy = pytest.mark.parametrize("ties", light(LIST_TIES, 1))


TABLES = random_tables(1, 36, size(8, 40), size(4, 30))
SMALL = random_tables(2, 54, 4)


def is_given_up(metric, table, ties):
    """Whether a metric without expectation meets ties that matter."""
    return ties == "expected" and "expected" not in metric.tie_policies and table.mixes


def lacking(cls):
    """What a metric class fails to say about itself."""
    doc = cls.__doc__ or ""
    missing = [trait for trait in TRAITS if not hasattr(cls, trait)]
    missing += [part for part in ("References", ">>>") if part not in doc]
    if not re.search(r"\(\d{4}\)", getattr(cls, "reference", "(1999)")):
        missing.append("year")
    if not missing:
        try:
            oracle.ratio(str(cls()), [1, 0])
        except KeyError:
            missing.append("oracle")
        cases = [cls().compute(lists) for lists in UNDEFINED.get(cls.undefined_when, [])]
        if not cases or any(found.reason == "" for found in cases):
            missing.append("undefined case")
    return missing


@each_class
def test_every_metric_describes_itself(cls):
    """Name, title, bounds, direction, a reference with its year, documented with example, in the oracle."""
    assert lacking(cls) == []
    low, high = cls.bounds
    assert low < high
    assert cls.higher_is_better is True
    assert re.fullmatch(r"[a-z]+", cls.name)
    assert cls.title.strip()
    assert cls.__dataclass_params__.frozen
    assert set(cls.tie_policies) <= set(LIST_TIES)
    assert cls.default_ties == "expected"


@pytest.mark.parametrize("trait", [*TRAITS, "References", ">>>", "year", "oracle", "undefined case"])
def test_a_metric_that_lacks_a_trait_is_found(trait):
    """Of a class complete but for one thing exactly that thing is reported (the check above can fail).

    Its base is `ListMetric` without the traits that it hands down.
    """
    handed = {key: value for key, value in vars(ListMetric).items() if key not in TRAITS}
    base = type("Bare", (Metric,), handed)
    said = {"name": "map", "title": "M", "bounds": (0.0, 1.0), "higher_is_better": True}
    said["reference"] = "A" if trait == "year" else "A (2000)"
    said["undefined_when"] = "it rains" if trait == "undefined case" else "no item is relevant"
    said["__str__"] = lambda self: "unheard" if trait == "oracle" else "map"
    said["ratio"] = lambda self, lists: (np.zeros(len(lists)), np.zeros(len(lists)))
    doc = "\n".join(part for part in ("M.", "References", ">>>") if part != trait)
    fields = {key: value for key, value in said.items() if key != trait}
    assert lacking(dataclasses.dataclass(frozen=True)(type("Made", (base,), {**fields, "__doc__": doc}))) == [trait]


def test_a_metric_that_has_a_value_where_it_says_it_has_none_is_found():
    """The undefined case is run, not believed."""
    said = {"name": "map", "title": "M", "reference": "A (2000)", "undefined_when": "no item is relevant"}
    said |= {"__str__": lambda self: "map", "__doc__": "M. References >>>"}
    said["ratio"] = lambda self, lists: (np.zeros(len(lists)), np.ones(len(lists)))
    assert lacking(dataclasses.dataclass(frozen=True)(type("Made", (ListMetric,), said))) == ["undefined case"]


@each_class
def test_undefined_cases_name_their_reason(cls):
    """NaN with the count and the words of the class; "no queries" where there is none at all."""
    for lists in UNDEFINED[cls.undefined_when]:
        for ties, how in itertools.product(LIST_TIES, AVERAGES):
            found = cls().compute(lists, ties, how)
            wanted = f"1 of 1 queries: {cls.undefined_when}" if len(lists) else "no queries"
            assert math.isnan(found.value)
            assert found.reason == wanted
            assert (found.excluded, found.excluded_weight) == (len(lists), float(len(lists)))
            assert np.isnan(cls().per_query(lists, ties)).tolist() == [True] * len(lists)


def test_every_metric_is_tried_here():
    """The settings that the tests below run over have each registered class, and each of its parameters."""
    tried = {type(metric) for metric in METRICS}
    assert tried == set(LISTS.registered().values())
    for cls in tried:
        for field in dataclasses.fields(cls):
            assert len({getattr(metric, field.name) for metric in METRICS if type(metric) is cls}) > 1, (cls, field)


@each_class
def test_text_and_metric_round_trip(cls):
    """parse(str(m)) == m for every combination of parameters, in any case; texts and headings are distinct."""
    fields = dataclasses.fields(cls)
    choices = [[*PARAMETERS[field.name], field.default] for field in fields]
    made = {cls(*values) for values in itertools.product(*choices)}
    assert len({str(metric) for metric in made}) == len({metric.heading for metric in made}) == len(made)
    for metric in made:
        again = LISTS.parse(str(metric))
        assert again == metric
        assert hash(again) == hash(metric)
        assert LISTS.parse(f" {str(metric).upper()} ") == metric
    for name in (cls.name, *cls.synonyms):
        assert type(LISTS.parse(name + "@3" * (fields[:1] != () and fields[0].name == "k"))) is cls
    assert not set(cls.synonyms) & set(LISTS.registered())


@pytest.mark.parametrize("text", TEXTS)
def test_canonical_texts(text):
    """A text whose parameters stand in their order, defaults left out, is the metric's own."""
    assert str(LISTS.parse(text)) == text


@each_metric
@each_policy
def test_value_per_query_equals_enumeration(metric, ties):
    """Over 2,000 random lists: the oracle's mean over every order of tied items, or its value in the one order."""
    for table in TABLES[:: size(2, 1)]:
        found = metric.per_query(table.lists, ties)
        if is_given_up(metric, table, ties):
            assert np.isnan(found).all()
            continue
        nothing = 0.0 if getattr(metric, "empty", "skip") == "zero" else math.nan
        wanted = [above / below if below else nothing for above, below in by_oracle(metric, table, ties)]
        assert found.shape == (len(table.queries),)
        assert not ((found < metric.bounds[0] - 1e-12) | (found > metric.bounds[1] + 1e-12)).any()
        for one, other, query in zip(found, wanted, table.queries, strict=True):
            assert close(one, other) or (math.isnan(one) and math.isnan(other)), (query, table.level, one, other)


@each_metric
@each_policy
def test_average_equals_oracle(metric, ties):
    """Few queries at a time: value, how many and how much is left out, and the reason where there is none."""
    outcomes = set()
    for table, how in itertools.product(SMALL[: size(36, 54)], AVERAGES):
        found, n = metric.compute(table.lists, ties, how), len(table.queries)
        if is_given_up(metric, table, ties):
            assert found.reason == f"{metric} has no exact expectation over random tie breaking; " + (
                "use ties='optimistic' or 'pessimistic'"
            )
            continue
        wanted, excluded = oracle.average(str(metric), by_oracle(metric, table, ties), how)
        assert (found.excluded, found.excluded_weight) == (excluded, excluded / n)
        assert math.isnan(found.value) == (wanted is None)
        assert wanted is None or close(found.value, wanted), table.queries
        assert found.reason == (f"{excluded} of {n} queries: {metric.undefined_when}" if wanted is None else "")
        outcomes.add((wanted is None, excluded > 0))
    assert (False, False) in outcomes
    is_padded = getattr(metric, "short", "cut") == "pad" and metric.k is not None  # divided by k, never by 0
    if hasattr(metric, "empty") and not is_padded:
        wanted = {"skip": {(False, True), (True, True)}, "nan": {(True, True)}, "zero": set()}[metric.empty]
        assert outcomes == wanted | {(False, False)}


@each_metric
def test_no_queries_have_no_value(metric):
    """The mean of nothing is NaN, never 0; so is its chance level."""
    for lists in (from_ranking([], query=[]), from_run({}, {})):
        for ties, how in itertools.product(LIST_TIES, AVERAGES):
            for found in (metric.compute(lists, ties, how), metric.chance(lists, how)):
                assert math.isnan(found.value)
                assert (found.reason, found.excluded, found.excluded_weight) == ("no queries", 0, 0.0)
            assert metric.per_query(lists, ties).shape == (0,)


def sees_order(metric):
    """Whether the order of a list's items matters to the metric: not to shares of the whole list."""
    is_whole = metric.name in ("precision", "recall", "fbeta") and metric.k is None
    return not is_whole and str(metric) != "success@10"


def grows_with_grade(metric):
    """Whether a higher grade is worth more: 1:0;2:9 makes an item of grade 1 worse than one of 0.5."""
    return ":" not in str(metric)


each_growing = pytest.mark.parametrize("metric", one_of_each(filter(grows_with_grade, METRICS)))


@each_growing
@pytest.mark.light(2)
def test_tie_policies_are_ordered(metric):
    """Optimistic is at least as good as expected and stable, these at least as good as pessimistic."""
    spread = 0
    for table in TABLES:
        best, worst = (metric.per_query(table.lists, ties) for ties in ("optimistic", "pessimistic"))
        for ties in ("expected", "stable"):
            between = metric.per_query(table.lists, ties)
            assert not ((between > best + 1e-12) | (between < worst - 1e-12)).any()
        spread += int((best > worst + 1e-9).sum())
    assert bool(spread) == sees_order(metric)


@functools.cache
def improved_tables():
    """Tables, and the same with two items of each list exchanging grades so that the higher gets the higher score."""
    rng, pairs = random.Random(5), []
    for table in TABLES[::2]:
        queries = []
        for query in table.queries:
            grades, places = list(query.grades), itertools.permutations(range(len(query.grades)), 2)
            wrong = [(i, j) for i, j in places if query.scores[i] > query.scores[j] and grades[i] < grades[j]]
            for i, j in rng.sample(wrong, min(1, len(wrong))):
                grades[i], grades[j] = grades[j], grades[i]
            queries.append(query._replace(grades=tuple(grades)))
        make = made_as_run if any(query.unlisted for query in queries) else made_of_scores
        pairs.append((table, make(queries, table.level)))
    return pairs


@each_growing
@each_policy
def test_moving_a_better_item_up_never_makes_it_worse(metric, ties):
    """An item and a worse one above it, neighbour or not, exchange places: no list gets worse, some get better."""
    gains = 0
    for table, improved in improved_tables():
        change = metric.per_query(improved.lists, ties) - metric.per_query(table.lists, ties)
        assert not (change < -1e-12).any()
        gains += int((change > 1e-9).sum())
    assert bool(gains) == (sees_order(metric) and ties in metric.tie_policies)
