"""Metrics explained place by place: the sums in the tables are the metric's value, and the oracle's."""

import math

import numpy as np
import pandas as pd
import pytest
from grids import light, size
from random_lists import by_oracle, close, random_tables

from kgeval import MetricError
from kgeval.metrics.retrieval import from_ranking, from_run, from_scores, steps
from kgeval.metrics.retrieval.base import LISTS
from kgeval.metrics.retrieval.stepwise import Steps

METRICS = [
    "ndcg", "ndcg@3", "ndcg(gain=exponential)@4", "ndcg(gain=1:3;2:1)", "dcg", "dcg(base=e)@2", "map", "map@2", "rr",
    "rr@2", "success@1", "success@3", "err(g_max=3)", "err(g_max=4.5)@3", "precision", "precision@2",
    "precision(short=cut)@9", "precision@9", "recall", "recall@2", "f1@3", "fbeta(beta=2)@2", "f1", "rprec", "auc",
    "map(empty=zero)",
]  # fmt: skip


def numerator_and_denominator(metric, found, query, level):
    """The two from the last row of the table, and from the query itself, which is what a reader of the table does."""
    table, name = found.table, metric.name
    relevant = [g for g in (*query.grades, *query.unlisted) if g > 0 and g >= level]
    if name in ("dcg", "rr", "success", "err"):
        return last(table, "sum"), 1
    if name == "ndcg":
        return last(table, "sum"), last(table, "ideal sum")
    if name in ("map", "auc"):
        n_listed = sum(g > 0 and g >= level for g in query.grades)
        pairs = len(relevant) * (len(query.grades) - n_listed)
        return last(table, "sum"), len(relevant) if name == "map" else pairs
    hits, length = last(table, "hits"), len(query.grades) if metric_k(metric) is None else metric_k(metric)
    if getattr(metric, "short", "") == "cut":
        length = min(length, len(query.grades))
    if name == "precision":
        return hits, length
    if name in ("recall", "rprec"):
        return hits, len(relevant)
    weight = metric.beta**2
    return (1 + weight) * hits, length + weight * len(relevant)


def metric_k(metric):
    return getattr(metric, "k", None)


def last(table, column):
    return table[column].iloc[-1] if len(table) else 0.0


@pytest.mark.parametrize("seed", light(range(6), 1))
def test_the_last_row_gives_the_value_and_the_oracle(seed):
    """For all metrics, tie policies and queries of random lists full of ties, of any grades, with unlisted items."""
    n_checked = 0
    for table in random_tables(100 + seed, size(2, 6), size(3, 6)):
        for text in METRICS:
            metric = LISTS.parse(text)
            if (
                metric.name == "err"
                and max((g for q in table.queries for g in (*q.grades, *q.unlisted)), default=0) > 3
            ):
                continue
            for ties in ("expected", "optimistic", "pessimistic", "stable"):
                values, wanted = metric.per_query(table.lists, ties), by_oracle(metric, table, ties)
                for i, query in enumerate(table.queries):
                    name = None if table.lists.names is None else table.lists.names[i]
                    found = steps(table.lists, metric, i if name is None else name, ties=ties)
                    above, below = numerator_and_denominator(metric, found, query, table.level or 0)
                    case = (text, ties, query, table.level)
                    assert close(above, float(wanted[i][0])), (*case, str(found))
                    assert close(below, float(wanted[i][1])), (*case, str(found))
                    is_same = close(found.value, values[i]) or (math.isnan(found.value) and math.isnan(values[i]))
                    assert is_same, (*case, str(found))
                    if below:
                        assert close(above / below, found.value), (*case, str(found))
                        n_checked += 1
    assert n_checked > size(75, 500)


def test_the_terms_add_up_row_by_row():
    """Each sum is the sum of the terms so far, and each term the product that the docstring names."""
    lists = from_scores([[1, 0, 2, 0, 1, 0]], [[5, 5, 4, 3, 3, 3]])
    for text in ("dcg", "map", "rr", "err(g_max=2)", "auc", "success@3"):
        table = steps(lists, text).table
        assert table["sum"].tolist() == pytest.approx(np.add.accumulate(table["term"]).tolist(), abs=1e-15)
    table = steps(lists, "err(g_max=2)").table
    assert table["term"].tolist() == pytest.approx((table["reads"] * table["stop"] / table["place"]).tolist())
    table = steps(lists, "dcg(gain=exponential)").table
    assert table["term"].tolist() == pytest.approx((table["gain"] / np.log2(table["place"] + 1)).tolist())


def test_average_precision_by_hand():
    """Relevant at places 1 and 3 of a list that lacks a third relevant item: (1 + 2/3) / 3."""
    found = steps(from_run({"q": {"a", "c", "e"}}, {"q": ["a", "b", "c", "d"]}), "map", "q", items="abcd")
    assert found.table["item"].tolist() == ["a", "b", "c"]
    assert found.table["precision"].tolist() == pytest.approx([1, math.nan, 2 / 3], nan_ok=True)
    assert found.table["sum"].tolist() == pytest.approx([1, 1, 5 / 3])
    assert found.formula == "map = sum / relevant items = 1.6667 / 3 = 0.5556"
    assert isinstance(found, Steps)


def test_tied_items_share_their_places():
    """Of two tied items one is relevant: each place has it with chance 1/2; the first stop is there or later."""
    found = steps(from_scores([1, 0], [9, 9]), "rr", items=["x", "y"])
    assert found.table["item"].tolist() == ["x or y"] * 2
    assert found.table["first"].tolist() == [0.5, 0.5]
    assert found.value == 0.75
    three = steps(from_scores([1, 0, 0, 0], [9, 9, 9, 1]), "rr", items=["x", None, "z", "w"])
    assert three.table["item"].tolist() == ["x or 2 others"] * 3
    best = steps(from_scores([0, 1], [9, 9]), "rr", ties="pessimistic", items=["x", "y"])
    assert best.table["item"].tolist() == ["x", "y"]


def test_the_ideal_list_may_be_longer():
    """An empty list of a query with two relevant items: the rows are those of the ideal list."""
    found = steps(from_run({"q": {"a": 2, "b": 1}}, {"r": ["a"]}), "ndcg", "q")
    assert found.table["ideal gain"].tolist() == [2, 1]
    assert found.table["gain"].isna().all()
    assert (found.value, found.formula) == (0.0, "ndcg = sum / ideal sum = 0 / 2.6309 = 0")


def test_undefined_values_say_why():
    found = steps(from_ranking([0, 0]), "map")
    assert math.isnan(found.value)
    assert found.formula == "map = sum / relevant items = 0 / 0: undefined, because no item is relevant"


def test_long_tables_show_the_places_that_count():
    """All places are in the table, and the text has the first places with a relevant item."""
    grades = np.zeros(500)
    grades[[3, 77, 400]] = 1
    found = steps(from_ranking(grades), "map")
    assert len(found.table) == 401
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines[2:-1]] == ["…", "4", "…", "78", "…", "401"]
    assert lines[-1] == "map = sum / relevant items = 0.2831 / 3 = 0.0944"


def test_labels_are_shortened_and_escaped():
    found = steps(from_ranking([1, 0]), "precision@2", items=["x" * 10**6, "\x1b[31m"])
    assert found.table["item"].tolist() == ["x" * 29 + "…", "\\x1b[31m"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("iap(points=all)",),
            "iap(points=all) cannot be explained place by place; these metrics can: ndcg, dcg, map, rr, ",
        ),
        (("map", 5), "no query 5 in 2 lists; the first queries are: 0, 1"),
        (("map", "0"), "no query '0' in 2 lists; the first queries are: 0, 1"),
    ],
)
def test_what_cannot_be_explained(arguments, said):
    with pytest.raises(MetricError) as caught:
        steps(from_ranking([[1, 0], [0, 1]]), *arguments)
    assert str(caught.value).startswith(said)


def test_wrong_number_of_labels():
    with pytest.raises(MetricError, match="one label for each of the 2 items of the list, in ranked order; got 3"):
        steps(from_ranking([1, 0]), "map", items="abc")


def test_every_column_of_numbers_is_a_number():
    """So that the tables can be used further: no column of numbers has the dtype object."""
    lists = from_run({"q": {"a": 2, "b": 1, "z": 1}}, {"q": ["a", "c"]})
    for text in METRICS:
        if text.startswith(("iprec", "iap")):
            continue
        table = steps(lists, text).table
        assert all(pd.api.types.is_numeric_dtype(table[name]) for name in table.columns), text
