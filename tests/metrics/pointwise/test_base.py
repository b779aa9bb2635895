"""What holds for every pointwise metric, against the oracle and by hand; a new metric is found by itself."""

import dataclasses
import math
import random
import re

import numpy as np
import oracle_pointwise as oracle
import pandas as pd
import pytest
from grids import light, size

from kgeval.metrics.pointwise.base import POINTS, PointMetric
from kgeval.metrics.pointwise.decisions import MCC, Accuracy, FBeta
from kgeval.metrics.pointwise.probabilities import ECE, LogLoss
from kgeval.metrics.pointwise.separation import GAUC

TRAITS = ("name", "title", "bounds", "higher_is_better", "best", "needs", "reference", "undefined_when")
NEEDS = ("decisions", "scores", "probabilities", "values")
VARIANTS = {
    "fbeta": [FBeta(beta=2), FBeta(0.5, threshold=0.3)],
    "accuracy": [Accuracy(threshold=0.25), Accuracy(threshold=-1)],
    "mcc": [MCC(threshold=0.75)],
    "log_loss": [LogLoss(clip=0.125), LogLoss(clip=1e-15), LogLoss(clip=1e-30)],
    "ece": [ECE(bins=1), ECE(bins=4), ECE(3, "mass"), ECE(strategy="mass")],
}
REGISTERED = POINTS.registered()
ALL = [metric for name, cls in REGISTERED.items() for metric in (cls(), *VARIANTS.get(name, []))]
each_metric = pytest.mark.parametrize("metric", ALL, ids=str)
each_class = pytest.mark.parametrize("cls", REGISTERED.values(), ids=lambda cls: cls.__name__)

# Where each metric is undefined beside no examples at all: labels, predictions and the reason it must give.
UNDEFINED = {
    "precision": ([1, 0], [0.2, 0.1], "no example is predicted positive: 0 / 0"),
    "recall": ([0, 0], [0.9, 0.1], "no positive example: 0 / 0"),
    "specificity": ([1, 1], [0.9, 0.1], "no negative example: 0 / 0"),
    "balanced_accuracy": ([1, 1], [0.9, 0.1], "no negative example: 0 / 0"),
    "fbeta": ([0, 0], [0.2, 0.1], "no example is positive or predicted positive: 0 / 0"),
    "mcc": ([1, 0], [0.9, 0.9], "all labels or all decisions are of one class: 0 / 0"),
    "auc": ([0, 0], [0.9, 0.1], "no positive example"),
    "ap": ([0, 0], [0.9, 0.1], "no positive example"),
    "gauc": ([0, 1], [0.9, 0.1], "every group has only one class"),
    "pcopc": ([0, 0], [0.9, 0.1], "no positive example: the sum of the labels is 0"),
}
ONLY_EMPTY = {"accuracy", "log_loss", "brier", "ece", "field_ece", "rmse", "mae"}


RNG = random.Random(1)
TABLES = [oracle.random_table(RNG) for _ in range(size(26, 1500))]


def compute(metric, labels, predictions, groups=None):
    """The metric's value, with groups only where it takes them."""
    return metric.compute(labels, predictions, *([groups] if metric.takes_groups else []))


def parameters(metric):
    """The parameters of a metric by name."""
    return dataclasses.asdict(metric)


def value(text, labels, predictions, *more):
    """The number of a metric by its name; it must be defined."""
    found = POINTS.parse(text).compute(labels, predictions, *more)
    assert not found.reason
    return found.value


def close(found, wanted):
    """Equal within 1e-12, absolute below 1 and relative above."""
    return math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-12)


def lacking(cls):
    """What a metric class fails to say about itself, or this file about it."""
    doc = cls.__doc__ or ""
    missing = [trait for trait in TRAITS if not hasattr(cls, trait)]
    missing += [part for part in ("References", ">>>") if part not in doc]
    if not re.search(r"\(\d{4}\)", getattr(cls, "reference", "(2000)")):
        missing.append("year")
    if not missing:
        if cls.name not in UNDEFINED and cls.name not in ONLY_EMPTY:
            missing.append("undefined case")
        try:
            oracle.metric(cls.name, [1, 0], [0.5, 0.5], ["a", "a"], **parameters(cls()))
        except KeyError:
            missing.append("oracle")
    return missing


@each_class
def test_every_metric_describes_itself(cls):
    """Traits, a reference with its year, documented with an example, an undefined case here, in the oracle."""
    assert lacking(cls) == []
    low, high = cls.bounds
    assert low <= cls.best <= high
    assert low < high
    assert cls.higher_is_better is {low: False, high: True}.get(cls.best)
    assert cls.needs in NEEDS
    assert re.fullmatch(r"[a-z_]+", cls.name)
    assert cls.title.strip()
    assert len(cls.undefined_when.split()) > 3
    assert cls.__dataclass_params__.frozen


@pytest.mark.parametrize("trait", [*TRAITS, "References", ">>>", "year", "undefined case", "oracle"])
def test_a_metric_that_lacks_a_trait_is_found(trait, monkeypatch):
    """Of a class complete but for one thing exactly that thing is reported (the check above can fail)."""
    said = {"title": "M", "bounds": (0.0, 1.0), "higher_is_better": True, "best": 1.0, "needs": "scores"}
    said |= {"name": "unheard" if trait in ("undefined case", "oracle") else "auc"}
    said |= {"reference": "A (in press)" if trait == "year" else "A (2000)", "undefined_when": "never"}
    doc = "\n".join(part for part in ("M.", "References", ">>>") if part != trait)
    fields = {key: thing for key, thing in said.items() if key != trait}
    made = dataclasses.dataclass(frozen=True)(type("Made", (), {**fields, "__doc__": doc}))
    if trait == "undefined case":
        monkeypatch.setattr(oracle, "metric", lambda *args, **more: None)
    if trait == "oracle":
        monkeypatch.setitem(UNDEFINED, "unheard", ())
    assert lacking(made) == [trait]


@each_metric
def test_text_and_metric_round_trip(metric):
    """parse(str(m)) == m, in any case; equal metrics hash alike."""
    again = POINTS.parse(str(metric))
    assert again == metric
    assert hash(again) == hash(metric)
    assert POINTS.parse(f" {str(metric).upper()} ") == metric
    assert type(metric) in {type(POINTS.parse(name)) for name in (metric.name, *metric.synonyms)}


def test_names_headings_and_synonyms_are_distinct():
    """No two metrics share a text, a heading or a name."""
    for text in (str, lambda metric: metric.heading):
        assert len({text(metric) for metric in ALL}) == len(ALL)
    names = [name for cls in REGISTERED.values() for name in (cls.name, *cls.synonyms)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("metric", "text", "heading"),
    [
        (FBeta(), "f1", "F1"),
        (FBeta(2), "fbeta(beta=2)", "F(beta=2)"),
        (FBeta(threshold=0.25), "f1(threshold=0.25)", "F1(threshold=0.25)"),
        (FBeta(0.5, threshold=np.float64(3)), "fbeta(threshold=3,beta=0.5)", "F(threshold=3,beta=0.5)"),
        (LogLoss(clip=1e-15), "log_loss(clip=1e-15)", "log loss(clip=1e-15)"),
        (ECE(15, "mass"), "ece(bins=15,strategy=mass)", "ECE(bins=15,strategy=mass)"),
    ],
)
def test_texts(metric, text, heading):
    """How parameters are written; the harmonic mean is f1."""
    assert (str(metric), metric.heading) == (text, heading)
    assert (ECE(), LogLoss(), FBeta()) == (ECE(10, "width"), LogLoss(0), FBeta(1, threshold=0.5))
    assert POINTS.parse(text) == metric


@each_metric
def test_value_equals_oracle(metric):
    """1,500 random tables against the loop-only reference; where it has no value neither has kgeval."""
    defined = 0
    for labels, predictions, groups in TABLES:
        wanted = oracle.metric(metric.name, labels, predictions, groups, **parameters(metric))
        found = compute(metric, labels, predictions, groups)
        assert math.isnan(found.value) == (wanted is None) == bool(found.reason)
        assert wanted is None or close(found.value, wanted), (labels, predictions, groups)
        defined += wanted is not None
    assert defined > len(TABLES) / 5


@pytest.mark.thorough
@pytest.mark.parametrize("name", [cls.name for cls in REGISTERED.values() if cls.needs in ("scores", "values")])
def test_any_real_numbers_equal_oracle(name):
    """Scores and values are not probabilities: integers, negative and infinite scores, real labels."""
    rng, metric = random.Random(2), POINTS.parse(name)
    pool = [-3, 0, 1, 2, 2**53, 2**53 + 1] if metric.needs == "scores" else [-3.5, 0.0, 0.25, 7.0]
    for _ in range(500):
        n = rng.randint(1, 8)
        numbers = [rng.choice(pool) for _ in range(n)]
        if metric.needs == "scores":
            labels = [rng.randrange(2) for _ in range(n)]
            if rng.random() < 0.3:
                numbers = [rng.choice([-math.inf, -1.5, -0.0, 0.0, math.inf]) for _ in range(n)]
        else:
            labels = [2.5, *(rng.choice(pool) for _ in range(n - 1))]
        groups = [rng.choice("ab") for _ in range(n)]
        if metric.needs == "scores" and math.inf in map(abs, numbers):
            numbers_for_oracle = [max(min(x, 9), -9) for x in numbers]
        else:
            numbers_for_oracle = numbers
        wanted = oracle.metric(name, labels, numbers_for_oracle, groups)
        found = compute(metric, labels, np.array(numbers), groups)
        assert found.reason if wanted is None else close(found.value, wanted), (labels, numbers)


@each_class
def test_undefined_is_nan_with_its_reason(cls):
    """No examples, for all; and the case that each metric names: never 0, never 1."""
    found = compute(cls(), [], [], [])
    assert found.reason == "no examples"
    assert math.isnan(found.value)
    if cls.name in UNDEFINED:
        labels, predictions, reason = UNDEFINED[cls.name]
        found = compute(cls(), labels, predictions, ["a", "b"])
        assert found.reason == reason
        assert math.isnan(found.value)
    else:
        one = {kind: compute(cls(), [kind], [0.5], ["a"]) for kind in (0, 1)}
        assert all(not math.isnan(value.value) and not value.reason for value in one.values())
    assert set(UNDEFINED).isdisjoint(ONLY_EMPTY)


def test_the_class_that_lacks_is_named():
    """AUC and balanced accuracy of positives alone and of negatives alone."""
    for text, end in (("auc", ""), ("balanced_accuracy", ": 0 / 0")):
        for label, lacking_class in ((1, "negative"), (0, "positive")):
            found = POINTS.parse(text).compute([label] * 3, [0.1, 0.2, 0.9])
            assert found.reason == f"no {lacking_class} example{end}"


@each_metric
@pytest.mark.thorough
def test_bounds_and_best(metric):
    """Nothing lies outside the bounds, what is called perfect is the best, and the worst can happen.

    So a bound is no wider than need be; the log loss is bounded only where it is clipped, RMSE by these labels.
    """
    low, high = metric.bounds
    values = []
    for labels, predictions, groups in TABLES[:400]:
        found = compute(metric, labels, predictions, groups)
        assert found.reason or low - 1e-12 <= found.value <= high + 1e-12
        opposite = compute(metric, labels, [1.0 - y for y in labels], groups)
        values += [one.value for one in (found, opposite) if not one.reason]
        perfect = compute(metric, labels, [float(y) for y in labels], groups)
        wanted = -math.log1p(-metric.clip) if getattr(metric, "clip", 0) else metric.best
        assert perfect.reason or str(metric) == "accuracy(threshold=-1)" or close(perfect.value, wanted)
    worst = low if metric.best == high else high
    assert math.isinf(worst) or metric.name == "ap" or min(abs(value - worst) for value in values) < 1e-12


@each_metric
@pytest.mark.thorough
def test_order_does_not_matter(metric):
    """Any permutation of the examples gives the same value and the same counts of what is excluded."""
    rng = random.Random(3)
    for labels, predictions, groups in TABLES[:300]:
        one = compute(metric, labels, predictions, groups)
        shuffled = rng.sample(list(zip(labels, predictions, groups, strict=True)), len(labels))
        other = compute(metric, *map(list, zip(*shuffled, strict=True)))
        assert (one.reason, one.excluded) == (other.reason, other.excluded)
        assert close(one.excluded_weight, other.excluded_weight)
        assert one.reason or one.value == other.value or close(one.value, other.value)


@pytest.mark.parametrize("metric", [m for m in ALL if m.needs == "scores"], ids=str)
@pytest.mark.thorough
def test_only_the_order_of_scores_counts(metric):
    """A strictly rising transform of the scores changes no bit; constant scores know nothing."""
    for labels, predictions, groups in TABLES[:400]:
        scores = np.round(np.array(predictions), 3)
        one = compute(metric, labels, scores, groups)
        for transform in (lambda x: 8 * x - 100, lambda x: np.exp(x), lambda x: np.round(x * 1000).astype(np.int64)):
            other = compute(metric, labels, transform(scores), groups)
            assert one == other or one.reason == other.reason != ""
        constant = compute(metric, labels, np.full(len(labels), -7.5), groups)
        assert constant.reason or close(constant.value, np.mean(labels) if metric.name == "ap" else 0.5)


@each_metric
@pytest.mark.parametrize("form", light([np.float16, np.float32, pd.Series, tuple], 1), ids=lambda form: form.__name__)
@pytest.mark.light(3)
def test_narrow_floats_and_containers(metric, form):
    """float16 and float32 are widened, not computed with; lists, tuples and Series mean the same."""
    for labels, predictions, groups in TABLES[:100]:
        given = form(predictions) if form in (pd.Series, tuple) else np.array(predictions, dtype=form)
        wide = [float(x) for x in given]
        one = compute(metric, np.array(labels, dtype=bool), given, groups)
        other = compute(metric, labels, wide, groups)
        assert one == other or one.reason == other.reason != ""


@each_metric
def test_arguments_are_not_modified(metric):
    """Read-only arrays are taken as they are."""
    labels, predictions = np.array([1, 0, 1, 0]), np.array([0.0, 0.25, 0.25, 1.0])
    copies = labels.copy(), predictions.copy()
    labels.setflags(write=False)
    predictions.setflags(write=False)
    compute(metric, labels, predictions, ["a"] * 4)
    assert np.array_equal(labels, copies[0])
    assert np.array_equal(predictions, copies[1])


@pytest.mark.parametrize("name", [cls.name for cls in REGISTERED.values() if cls.needs == "decisions"])
@pytest.mark.thorough
def test_decisions_are_numbers_at_least_the_threshold(name):
    """Bools, 0/1 and numbers against a threshold are the same decisions; equality is positive."""
    for labels, predictions, _ in TABLES[:300]:
        for threshold in (0.5, 0.3, 0.0):
            said = [x >= threshold for x in predictions]
            metric = type(POINTS.parse(name))(threshold=threshold)
            for same in (predictions, said):
                assert str(metric.compute(labels, same)) == str(POINTS.parse(name).compute(labels, np.array(said) * 1))


def test_a_base_class_has_no_formula():
    """A subclass that forgets `read` or `measure` says so."""
    with pytest.raises(TypeError, match=r"PointMetric does not define read\("):
        PointMetric().read([1], [1])
    with pytest.raises(TypeError, match=r"GAUC does not define measure\("):
        GAUC().measure(np.array([True]), np.array([1.0]))
