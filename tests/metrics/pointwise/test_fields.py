"""Pointwise metrics per group: GAUC, any metric by a field, and the table of right and wrong decisions."""

import math
import random
from fractions import Fraction

import oracle_pointwise as oracle
import pandas as pd
import pytest
from grids import size

from kgeval.errors import DataError, MetricError
from kgeval.metrics.base import MetricValue
from kgeval.metrics.pointwise.base import POINTS
from kgeval.metrics.pointwise.decisions import Accuracy, Precision, Recall, confusion
from kgeval.metrics.pointwise.fields import by_field
from kgeval.metrics.pointwise.probabilities import ECE, FieldECE
from kgeval.metrics.pointwise.separation import GAUC

RNG = random.Random(2)
TABLES = [oracle.random_table(RNG) for _ in range(800)]


def value(text, labels, predictions):
    """The number of a metric by its name; it must be defined."""
    found = POINTS.parse(text).compute(labels, predictions)
    assert not found.reason
    return found.value


def close(found, wanted):
    """Equal within 1e-12, absolute below 1 and relative above."""
    return math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.thorough
def test_gauc_with_weights_equals_oracle():
    """The value, how many groups of one class are left out, and their share of the weight."""
    rng, n_out = random.Random(4), 0
    for labels, scores, groups in TABLES[:800]:
        weights = {group: rng.choice([0, 0.5, 1, 3]) for group in "abcd"}
        for given in (weights, None):
            wanted, out, share = oracle.gauc(labels, scores, groups, given)
            found = GAUC().compute(labels, scores, groups, given)
            assert found.excluded == out
            assert close(found.excluded_weight, share)
            assert math.isnan(found.value) == (wanted is None) == bool(found.reason)
            assert wanted is None or close(found.value, wanted)
            n_out += out
    assert n_out > 500


def test_gauc_refuses_weights_that_overflow():
    """With two weights of 1e308 the total was infinite and the value 0; equal weights of any other size give 0.5."""
    table = [1, 0, 1, 0], [0.3, 0.2, 0.1, 0.5], ["a", "a", "b", "b"]
    assert GAUC().compute(*table, {"a": 1e99, "b": 1e99}).value == 0.5
    for weight, shown in ((1e308, "1e+308"), (1e-310, "1e-310")):
        with pytest.raises(MetricError) as caught:
            GAUC().compute(*table, {"a": weight, "b": weight})
        assert str(caught.value) == (
            "the largest weight must be between 1e-100 and 1e+100, since sums of weighted values overflow or lose "
            f"digits in float64 otherwise; got {shown}. Only the ratios of weights matter: divide all weights by the "
            "largest one"
        )


def test_gauc_of_one_group_is_auc():
    """And groups that are not compared: each perfect although the scores of one lie below the other's negatives."""
    for labels, scores, _ in TABLES[: size(60, 200)]:
        one, whole = GAUC().compute(labels, scores, ["x"] * len(labels)), POINTS.parse("auc").compute(labels, scores)
        assert bool(one.reason) == bool(whole.reason)
        assert one.reason or close(one.value, whole.value)
    labels, scores, users = [1, 0, 1, 0], [9.0, 8.0, 2.0, 1.0], [(1, "p"), (1, "p"), (2, "p"), (2, "p")]
    assert GAUC().compute(labels, scores, users) == MetricValue(1.0)
    assert value("auc", labels, scores) == 0.75


def test_by_field():
    """Any metric per value of a field: most examples first, undefined rows with their reason."""
    for labels, predictions, groups in TABLES[: size(10, 200)]:
        for metric in ("pcopc", "auc", Accuracy(), "rmse", ECE(2)):
            frame = by_field(metric, labels, predictions, groups)
            assert sorted(frame.index) == sorted(set(groups))
            assert list(frame["n"]) == sorted(frame["n"], reverse=True)
            assert frame["n"].sum() == len(labels)
            for group, row in frame.iterrows():
                rows = [i for i, other in enumerate(groups) if other == group]
                wanted = POINTS.parse(metric).compute([labels[i] for i in rows], [predictions[i] for i in rows])
                assert (row["n"], row["reason"]) == (len(rows), wanted.reason)
                assert wanted.reason or row["value"] == wanted.value


def test_by_field_details():
    """Ties of n in order of first appearance; pairs as values; the name of a Series; nothing at all."""
    frame = by_field("pcopc", [1, 1, 1, 0], [0.5, 0.25, 0.75, 0.5], pd.Series(["b", "a", "c", "c"], name="relation"))
    assert frame["value"].to_dict() == {"c": 1.25, "b": 0.5, "a": 0.25}
    assert list(frame.index) == ["c", "b", "a"]
    assert frame.index.name == "relation"
    assert list(frame.columns) == ["n", "value", "reason"]
    assert list(by_field("mae", [1, 0], [1, 1], [(0, "p"), (1, "p")]).loc[[(1, "p")], "value"]) == [1.0]
    empty = by_field("pcopc", [], [], [])
    assert len(empty) == 0
    assert list(empty.columns) == ["n", "value", "reason"]
    with pytest.raises(MetricError, match="by_field takes metrics that need no groups, .*; got 'gauc'"):
        by_field("gauc", [1, 0], [0.5, 0.5], ["a", "a"])


def test_confusion_equals_counts():
    """Rows are actual, columns predicted; the four counts give every metric of decisions."""
    frame = confusion([1, 1, 1, 0, 0], [0.5, 0.9, 0.1, 0.7, 0.2])
    assert frame.to_numpy().tolist() == [[1, 1], [1, 2]]
    assert (frame.index.name, frame.columns.name) == ("actual", "predicted")
    assert (frame.loc[1, 0], frame.loc[0, 1]) == (1, 1)
    assert confusion([1, 0, 0], [3.0, -2.0, 5.0], threshold=4).to_numpy().tolist() == [[1, 1], [1, 0]]
    assert confusion([], []).to_numpy().tolist() == [[0, 0], [0, 0]]
    for labels, predictions, _ in TABLES[:200]:
        (tn, fp), (fn, tp) = confusion(labels, predictions).to_numpy().tolist()
        assert close(value("accuracy", labels, predictions), Fraction(tp + tn, tp + tn + fp + fn))
        for metric, denominator in ((Precision(), tp + fp), (Recall(), tp + fn)):
            found = metric.compute(labels, predictions)
            assert math.isnan(found.value) if not denominator else found.value == tp / denominator


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (None, "groups must contain one value for each example, such as its relation or user; got None"),
        ("ab", "groups must contain one value for each example, such as its relation or user; got 'ab'"),
        (7, "groups must contain one value for each example, such as its relation or user; got 7"),
        (["a", None], "groups must have a value for every example; got a missing value at index 1"),
        ([math.nan, None], "groups must have a value for every example; got a missing value at index 0 and 1 more"),
        (pd.DataFrame({"a": [1, 2]}), "groups must have shape (n,); got (2, 1)"),
        (
            [["a"], ["b"]],
            "the values in groups must be hashable, such as labels, ids or tuples; unhashable type: 'list'",
        ),
        (["a"], "expected one value of groups per label; got 2 labels and 1 values"),
    ],
    ids=str,
)
def test_wrong_groups(groups, message):
    """A missing group is not a group, and not dropped."""
    for metric in (GAUC(), FieldECE()):
        with pytest.raises(DataError) as caught:
            metric.compute([1, 0], [1, 0], groups)
        assert str(caught.value).startswith(message)
    with pytest.raises(DataError) as caught:
        by_field("brier", [1, 0], [1, 0], groups)
    assert str(caught.value).startswith(message.replace("groups", "field"))
