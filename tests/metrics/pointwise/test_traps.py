"""Pointwise metrics: numbers by hand, the traps of other evaluators, and wrong input."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from kgeval.errors import DataError, MetricError, ScoreError
from kgeval.metrics.base import MetricValue
from kgeval.metrics.pointwise.base import POINTS
from kgeval.metrics.pointwise.calibration import correct_downsampling
from kgeval.metrics.pointwise.decisions import FBeta, Precision, confusion
from kgeval.metrics.pointwise.fields import by_field
from kgeval.metrics.pointwise.probabilities import ECE, PCOPC, FieldECE, LogLoss
from kgeval.metrics.pointwise.separation import GAUC, AveragePrecision

CALIBRATE = (
    "Calibrate raw ranking scores first, on validation examples, with kgeval.metrics.calibration.calibrate "
    "(Platt or isotonic)"
)
EACH = [cls.name for cls in POINTS.registered().values()]
PROBABILISTIC = [cls.name for cls in POINTS.registered().values() if cls.needs == "probabilities"]


def value(text, labels, predictions, *more):
    """The number of a metric by its name; it must be defined."""
    found = POINTS.parse(text).compute(labels, predictions, *more)
    assert not found.reason
    return found.value


def groups_for(name, n):
    """One group for all, where the metric takes groups."""
    return ["a"] * n if POINTS.parse(name).takes_groups else None


def fails(error, act):
    """The text of the error that `act` raises."""
    with pytest.raises(error) as caught:
        act()
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # called positive: 0.9, 0.6, 0.5 with labels 1, 0, 1; tp 2, fp 1, fn 1, tn 1
        ("accuracy", 3 / 5),
        ("precision", 2 / 3),
        ("recall", 2 / 3),
        ("specificity", 1 / 2),
        ("balanced_accuracy", (2 / 3 + 1 / 2) / 2),
        ("f1", 2 / 3),
        ("fbeta(beta=2)", 10 / 15),  # 5 tp / (5 tp + 4 fn + fp)
        ("fbeta(beta=2,threshold=0.6)", 5 / (5 + 8 + 1)),  # tp 1, fn 2, fp 1
        ("mcc", (2 * 1 - 1 * 1) / 6),  # sqrt(3 * 3 * 2 * 2)
        # pairs: 0.9 beats both negatives, 0.5 one of two, 0.2 ties with one
        ("auc", (2 + 1 + 0.5) / 6),
        ("ap", (1 / 1 + 2 / 3 + 3 / 5) / 3),  # the tie at 0.2 is one step: 3 positives of 5
        ("log_loss", -(math.log(0.9) + math.log(0.4) + math.log(0.5) + math.log(0.2) + math.log(0.8)) / 5),
        ("brier", (0.01 + 0.36 + 0.25 + 0.64 + 0.04) / 5),
        # bins of half width: {0.2, 0.2} and {0.9, 0.6, 0.5}
        ("ece(bins=2)", (abs(0.4 - 1) + abs(2.0 - 2)) / 5),
        # three bins of equal mass: 0, 0, 2, 3, 4 smaller ones of 5, times 3: bins 0, 0, 1, 1, 2
        ("ece(bins=3,strategy=mass)", (abs(0.4 - 1) + abs(1.1 - 1) + abs(0.9 - 1)) / 5),
        ("pcopc", 2.4 / 3),
        ("rmse", math.sqrt(1.3 / 5)),
        ("mae", (0.1 + 0.6 + 0.5 + 0.8 + 0.2) / 5),
    ],
)
def test_worked_example(text, wanted):
    """Labels 1, 0, 1, 1, 0 with probabilities 0.9, 0.6, 0.5, 0.2, 0.2."""
    assert value(text, [1, 0, 1, 1, 0], [0.9, 0.6, 0.5, 0.2, 0.2]) == pytest.approx(wanted, rel=1e-14)


def test_average_precision_of_a_known_ranking():
    """Labels 1, 0, 0, 1, 1, 1 by falling score: (1/1 + 2/4 + 3/5 + 4/6) / 4 = 83/120."""
    assert value("ap", [1, 0, 0, 1, 1, 1], [6, 5, 4, 3, 2, 1]) == pytest.approx(83 / 120, rel=1e-15)


def test_average_precision_is_no_trapezoid():
    """Constant scores: the share of positives, 1/4, not (1 + 1/4) / 2 (sklearn#5073, cell-eval#208)."""
    assert value("ap", [1, 0, 0, 0], [0.3] * 4) == 0.25 != (1 + 0.25) / 2
    rng = np.random.default_rng(0)
    labels = rng.random(1000) < 0.1
    assert value("ap", labels, np.zeros(1000)) == pytest.approx(labels.mean(), rel=1e-15)


@pytest.mark.parametrize("name", ["auc", "ap"])
def test_ties_do_not_hang_on_the_order(name):
    """Positives first or last among equal scores: a stable sort must not reward it."""
    labels, scores = np.array([1] * 5 + [0] * 15), np.repeat(2.5, 20)
    wanted = {"auc": 0.5, "ap": 0.25}[name]
    assert value(name, labels, scores) == value(name, labels[::-1], scores) == wanted


def test_large_integer_scores_are_not_rounded():
    """2 ** 53 and 2 ** 53 + 1 are one number in float64, two in int64; so near the ends of int64 and uint64."""
    for low, dtype in ((2**53, np.int64), (-(2**63), np.int64), (2**64 - 2, np.uint64)):
        assert value("auc", [0, 1], np.array([low, low + 1], dtype=dtype)) == 1.0
        assert value("gauc", [0, 1], np.array([low, low + 1], dtype=dtype), ["a", "a"]) == 1.0


def test_nearly_equal_scores_do_not_tie():
    """1e-6 and 9e-6 differ, and neighbouring floats too: 1 of 1 pairs is right, not one half as in a tie."""
    for low, high in ((1e-6, 9e-6), (1.0, math.nextafter(1.0, 2.0))):
        assert value("auc", [0, 1], [low, high]) == value("ap", [0, 1], [low, high]) == 1.0


def test_counts_do_not_overflow():
    """100,000 positives and negatives: twice the pairs, 2e10, is no int32; MCC's product, 2.5e19, no int64."""
    labels = np.arange(200_000) % 2
    assert value("auc", labels, labels * 1.0) == value("gauc", labels, labels, np.zeros(200_000, dtype=int)) == 1.0
    assert value("mcc", labels, labels == 1) == 1.0
    assert value("mcc", labels, labels == 0) == -1.0


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_log_loss_near_the_ends(dtype):
    """1 - 1e-15 is 1 in float32, where clipping so gave NaN (sklearn#24315); here losses are float64.

    Clipped at eps: -ln(eps) for what was called impossible, -ln(1 - eps) for what was called certain.
    """
    ends = np.array([0.0, 1.0, 1.0, 0.0], dtype=dtype)
    for eps in (1e-15, 1e-7, 1e-30):
        wanted = (2 * -math.log(eps) + 2 * -math.log1p(-eps)) / 4
        assert LogLoss(clip=eps).compute([1, 0, 1, 0], ends).value == pytest.approx(wanted, rel=1e-15)
        assert LogLoss(clip=eps).count_clipped(ends) == 4
    assert LogLoss().compute([1, 0, 1, 0], ends) == MetricValue(math.inf)
    assert str(LogLoss().compute([0, 1], ends[:2]).value) == "0.0"
    small = dtype(6e-5)
    assert LogLoss().compute([1], np.array([small])).value == pytest.approx(-math.log(float(small)), rel=1e-15)


def test_log_loss_of_tiny_probabilities_keeps_its_digits():
    """-ln(1 - p) is p + p^2 / 2 for tiny p, not 0; -ln(1e-300) is 300 ln 10."""
    assert value("log_loss", [0], [1e-20]) == 1e-20
    assert value("log_loss", [1], [1e-300]) == pytest.approx(300 * math.log(10), rel=1e-15)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert value("log_loss", [1, 0, 1], [0.0, 1.0, 1.0]) == math.inf


def test_count_clipped():
    """Strictly outside [clip, 1 - clip]; with clip 0 nothing."""
    p = [0.0, 0.1, 0.125, 0.5, 0.875, 0.9, 1.0]
    assert [LogLoss(clip=c).count_clipped(p) for c in (0, 0.0625, 0.125, 0.25)] == [0, 2, 4, 6]
    assert LogLoss(clip=1e-20).count_clipped([0.0, 1.0, 1e-19]) == 2


def test_bins_are_closed_below():
    """[i / 10, (i + 1) / 10): 0.3 and 0.7 open a bin although 0.7 * 10 is above 7 and 0.29 * 100 below 29; 1 is in."""
    for bins, edges in ((10, [0.3, 0.6, 0.7, 0.9]), (100, [0.29, 0.57, 0.58]), (3, [1 / 3, 2 / 3])):
        for edge in edges:
            below = math.nextafter(edge, 0) if hasattr(math, "nextafter") else edge * (1 - 2**-53)
            assert value(f"ece(bins={bins})", [1, 0], [edge, below]) == pytest.approx(0.5, abs=1e-15)
            assert value(f"ece(bins={bins})", [1, 0], [edge, edge]) == pytest.approx(abs(edge - 0.5), abs=1e-15)
    assert value("ece(bins=2)", [1, 0], [1.0, 0.5]) == 0.25  # one bin: |1.5 - 1| / 2


def test_equal_probabilities_share_a_bin_of_equal_mass():
    """Parted, the 1 and the 0 at the same p would make an error; together they are calibrated in any order."""
    for labels in ([1, 0, 1, 0], [1, 1, 0, 0]):
        assert value("ece(bins=4,strategy=mass)", labels, [0.5] * 4) == 0.0


def test_pcopc_one_is_not_calibrated():
    """p = 0.9 where nothing happens and 0.1 where all does: errors cancel; fields and bins show them."""
    labels, p, relation = [0] * 10 + [1] * 10, [0.9] * 10 + [0.1] * 10, ["a"] * 10 + ["b"] * 10
    assert value("pcopc", labels, p) == pytest.approx(1.0, rel=1e-15)
    assert value("ece", labels, p) == pytest.approx(0.9, rel=1e-15)
    assert value("field_ece", labels, p, relation) == pytest.approx(0.9, rel=1e-15)
    frame = by_field(PCOPC(), labels, p, relation)
    assert frame.loc["b", "value"] == pytest.approx(0.1, rel=1e-14)
    assert frame.loc["a", "reason"] == "no positive example: the sum of the labels is 0"


def test_pcopc_with_downsampled_negatives():
    """90 negatives per 10 positives, a tenth kept: p = 10 / 19 among those kept, 0.1 among all, 5.26 times too high.

    p / (p + (1 - p) / w) = (10/19) / (10/19 + 9/19 * 10) = 0.1.
    """
    labels, p = [1] * 10 + [0] * 90, np.full(100, 10 / 19)
    assert value("pcopc", labels, p) == pytest.approx(100 / 19, rel=1e-14)
    assert value("pcopc", labels, correct_downsampling(p, 0.1)) == pytest.approx(1.0, rel=1e-14)


def test_gauc_counts_what_it_leaves_out():
    """Groups of 4, 2 and 2 examples; the last of one class: weight 2 of 8. (4 * 1/2 + 2 * 1) / 6 = 2/3."""
    labels, scores = [1, 0, 0, 1, 1, 0, 1, 1], [2, 1, 4, 3, 1, 0, 7, 8]
    users = [1, 1, 1, 1, 2, 2, 3, 3]
    assert GAUC().compute(labels, scores, users) == MetricValue(pytest.approx(2 / 3), "", 1, 0.25)
    clicks = {1: 2, 2: 1, 3: 3}
    assert GAUC().compute(labels, scores, users, clicks) == MetricValue(pytest.approx(2 / 3), "", 1, 0.5)
    only_left = GAUC().compute(labels, scores, users, {1: 0, 2: 0, 3: 3})
    assert (only_left.reason, only_left.excluded) == ("all groups with both classes have weight 0", 1)
    assert only_left.excluded_weight == 1.0
    none = GAUC().compute(labels, scores, users, {1: 0, 2: 0, 3: 0})
    assert (none.excluded, none.excluded_weight) == (1, 0.0)
    assert math.isnan(none.value)
    alone = GAUC().compute([1, 0, 1], [3, 2, 1], ["a", "b", "c"])
    assert (alone.reason, alone.excluded, alone.excluded_weight) == ("every group has only one class", 3, 1.0)


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, 0, -1], "-1 at index 2. Use bools: True for each positive example"),
        ([1, -1, 1], "-1 at index 1. If the labels are -1 and 1, use labels > 0"),
        ([1, 0, 2], "2 at index 2. Use bools: True for each positive example"),
        ([0.5, 0, 0.5], "0.5 at index 0 and 1 more. Use bools: True for each positive example"),
        ([1, math.nan, 0], "nan at index 1. Remove the examples without a label, and report how many you removed"),
        (["1", "0", "1"], "dtype <U1. If they are numbers, use array.astype(float)"),
        (np.array([1, 0, 1], dtype=object), "dtype object. If they are numbers, use array.astype(float)"),
        ([1j, 0, 1], "dtype complex128. If they are numbers, use array.astype(float)"),
    ],
    ids=str,
)
@pytest.mark.light(68)
def test_labels_that_are_none(name, labels, message):
    """Only 0/1 and bool; which index, what else came, and the way out. Real labels may be any finite number."""
    predictions = [0.5, 0.25, 0.75]
    metric = POINTS.parse(name)
    if metric.needs == "values":
        must = {"d": "labels must be real numbers", "n": "labels must be finite"}.get(message[0])
        if must is None:
            assert not metric.compute(labels, predictions).reason
            return
    else:
        must = "labels must be 0/1 or bool"
    found = fails(DataError, lambda: metric.compute(labels, predictions, groups_for(name, 3)))
    assert found == f"{must}; got {message}"


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (
            [0.5, math.nan, math.nan],
            "must be real numbers; got nan at index 1 and 1 more. Check why the model gives NaN",
        ),
        ([0.5, 1j, 0.5], "must be real numbers; got dtype complex128. If they are numbers, use array.astype(float)"),
        (["a", "b", "c"], "must be real numbers; got dtype <U1. If they are numbers, use array.astype(float)"),
        ([None, 0.5, 0.5], "must be real numbers; got dtype object. If they are numbers, use array.astype(float)"),
        ([[0.5], [0.5], [0.5]], "must have shape (n,); got (3, 1)"),
        (0.5, "must have shape (n,); got ()"),
        (np.ma.array([0.5] * 3, mask=[0, 1, 0]), "must not be a masked array; remove the masked examples, and report"),
        (pd.Series(pd.to_datetime(["2020-01-01"] * 3)).to_numpy(), "must be real numbers; got dtype datetime64["),
    ],
    ids=str,
)
@pytest.mark.light(68)
def test_predictions_that_are_none(name, predictions, message):
    """Nothing that is no number is compared or averaged."""
    found = fails(ScoreError, lambda: POINTS.parse(name).compute([1, 0, 1], predictions, groups_for(name, 3)))
    assert found.startswith(f"predictions {message}")


@pytest.mark.parametrize("name", EACH)
def test_bool_predictions_are_decisions(name):
    """Where scores or probabilities are needed True is probably a mistake; numbers wider than float64 are refused."""
    metric, labels = POINTS.parse(name), [1, 0]
    if metric.needs == "decisions":
        assert not metric.compute(labels, [True, False]).reason
    else:
        found = fails(ScoreError, lambda: metric.compute(labels, [True, False], groups_for(name, 2)))
        assert found == "predictions must be real numbers; got dtype bool. If they are numbers, use array.astype(float)"
    wide = np.array([0.5, 0.25], dtype=np.longdouble)
    if wide.dtype.itemsize > 8:
        found = fails(ScoreError, lambda: metric.compute(labels, wide, groups_for(name, 2)))
        got = f"got dtype {wide.dtype}. If they are numbers, use array.astype(float)"
        assert found == f"predictions must be real numbers; {got}"


@pytest.mark.parametrize("name", EACH)
def test_lengths_must_agree(name):
    """Both lengths are said; also of groups."""
    metric = POINTS.parse(name)
    found = fails(DataError, lambda: metric.compute([1, 0, 1], [0.5, 0.5], groups_for(name, 3)))
    assert found == "expected as many predictions as labels; got 3 labels and 2 predictions"
    if metric.takes_groups:
        found = fails(DataError, lambda: metric.compute([1, 0], [0.5, 0.5], ["a"]))
        assert found == "expected one value of groups per label; got 2 labels and 1 values"


@pytest.mark.parametrize("name", PROBABILISTIC)
@pytest.mark.parametrize(
    ("predictions", "place"),
    [([0.5, 1.0000001, 0.5], "1.0000001 at index 1"), ([-7.25, 3, 0.5], "-7.25 at index 0 and 1 more")],
)
def test_raw_scores_are_no_probabilities(name, predictions, place):
    """Refused with the first index, and how scores become probabilities (E65)."""
    found = fails(ScoreError, lambda: POINTS.parse(name).compute([1, 0, 1], predictions, groups_for(name, 3)))
    assert found == f"{name} needs probabilities in [0, 1]; got {place}. {CALIBRATE}"
    infinite = fails(ScoreError, lambda: POINTS.parse(name).compute([1], [math.inf], groups_for(name, 1)))
    assert "got inf at index 0." in infinite


@pytest.mark.parametrize("name", ["rmse", "mae"])
def test_raw_scores_are_no_estimates_of_binary_labels(name):
    """Labels 0/1 need probabilities; with a real label any number is an estimate, but none is infinite."""
    metric = POINTS.parse(name)
    for labels in ([1, 0], [True, False], [1.0, 0.0]):
        found = fails(ScoreError, lambda labels=labels: metric.compute(labels, [0.5, -2.0]))
        assert (
            found == f"if all labels are 0 or 1, {name} needs predictions in [0, 1]; got -2.0 at index 1. {CALIBRATE}"
        )
    assert "got 1.25 at index 0." in fails(ScoreError, lambda: metric.compute([1, 0], [1.25, 0]))
    assert metric.compute([1, 0.5], [4.0, 3.5]).value == 3.0
    assert metric.compute([True, False], [0.25, 0.75]).value == 0.75
    assert fails(ScoreError, lambda: metric.compute([2, 3], [1, -math.inf])) == (
        "predictions must be finite; got -inf at index 1"
    )
    found = fails(DataError, lambda: metric.compute([math.inf], [1]))
    hint = "Remove the examples without a label, and report how many you removed"
    assert found == f"labels must be finite; got inf at index 0. {hint}"


def test_raw_scores_need_a_threshold_of_their_own():
    """0.5 was not chosen for them; another threshold, or decisions, is the way out."""
    wanted = (
        "{0} uses the threshold 0.5 by default, so predictions must be in [0, 1]; got -3.5 at "
        "index 0 and 1 more. If the predictions are raw ranking scores, choose a threshold on validation examples, and "
        "pass it as {0}(threshold=...). If they are decisions, pass bools"
    )
    for name in ("accuracy", "precision", "mcc", "fbeta"):
        found = fails(ScoreError, lambda name=name: POINTS.parse(name).compute([0, 1], [-3.5, 7]))
        assert found == wanted.format(name)
    assert fails(ScoreError, lambda: confusion([0, 1], [-3.5, 7])) == wanted.format("confusion")
    assert "got 1.25 at index 1." in fails(ScoreError, lambda: confusion([0, 1], [1, 1.25]))
    assert value("accuracy(threshold=0)", [0, 1], [-3.5, 7]) == 1.0
    assert value("accuracy", [0, 1], np.array([-3.5, 7]) >= 0.5) == 1.0


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: ECE(0), "bins of ece must be an integer of at least 1; got 0"),
        (lambda: ECE(2.0), "bins of ece must be an integer of at least 1; got 2.0"),
        (
            lambda: ECE(strategy="mas"),
            "strategy of ece must be one of 'width', 'mass'; got 'mas'; did you mean 'mass'?",
        ),
        (lambda: LogLoss(0.5), "clip of log_loss must be 0, or above 0 and below 0.5; got 0.5"),
        (lambda: LogLoss(-1e-9), "clip of log_loss must be 0, or above 0 and below 0.5; got -1e-09"),
        (lambda: LogLoss(None), "clip of log_loss must be 0, or above 0 and below 0.5; got None"),
        (lambda: FBeta(0), "beta of fbeta must be a number above 0 and below 1e100; got 0"),
        (lambda: FBeta(math.inf), "beta of fbeta must be a number above 0 and below 1e100; got inf"),
        (lambda: Precision(threshold=math.nan), "threshold of precision must be a finite number; got nan"),
        (lambda: Precision(threshold=True), "threshold of precision must be a finite number; got True"),
        (lambda: POINTS.parse("f1(beta=x)"), "beta of fbeta must be a number; got 'x' in 'f1(beta=x)'"),
        (lambda: confusion([1], [1], "0.5"), "threshold must be a finite number; got '0.5'"),
        (
            lambda: AveragePrecision().compute([1], [1], ["a"]),
            "ap takes no groups and no weights; kgeval.metrics.pointwise.by_field computes ap per group",
        ),
        (lambda: FieldECE().compute([1], [1], ["a"], {}), "field_ece takes no weights: the weight of a group"),
        (
            lambda: GAUC().compute([1], [1], ["a"], [1]),
            "weights must be a mapping of each group to its weight; got list",
        ),
        (
            lambda: GAUC().compute([1], [1], ["a"], {"b": 1}),
            "weights must have an entry for every group; 'a' has none",
        ),
        (lambda: GAUC().compute([1], [1], ["a"], {"a": -1}), "the weight of group 'a' must be 0 or more; got -1"),
        (
            lambda: GAUC().compute([1], [1], ["a"], {"a": math.inf}),
            "the weight of group 'a' must be 0 or more; got inf",
        ),
    ],
)
def test_wrong_parameters(act, message):
    """What was expected, and what came."""
    assert fails(MetricError, act).startswith(message)
