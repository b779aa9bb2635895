"""Pointwise metrics and curves against scikit-learn, where the definitions agree; to 1e-12."""

import math
import random

import numpy as np
import pytest

from kgeval.metrics.pointwise.base import POINTS
from kgeval.metrics.pointwise.curves import pr_curve, reliability_curve, roc_curve
from kgeval.metrics.pointwise.decisions import confusion
from kgeval.metrics.pointwise.probabilities import ECE

metrics = pytest.importorskip("sklearn.metrics", reason="compares with scikit-learn")

SKLEARN = {
    "auc": ("roc_auc_score", {}),
    "ap": ("average_precision_score", {}),
    "log_loss": ("log_loss", {"labels": [0, 1]}),
    "brier": ("brier_score_loss", {}),
    "rmse": ("mean_squared_error", {}),
    "mae": ("mean_absolute_error", {}),
    "accuracy": ("accuracy_score", {}),
    "precision": ("precision_score", {}),
    "recall": ("recall_score", {}),
    "f1": ("fbeta_score", {"beta": 1}),
    "fbeta(beta=0.5)": ("fbeta_score", {"beta": 0.5}),
    "mcc": ("matthews_corrcoef", {}),
    "balanced_accuracy": ("balanced_accuracy_score", {}),
}


@pytest.mark.parametrize("text", SKLEARN)
def test_scikit_learn_agrees(text):
    """To 1e-12 where both are defined; where kgeval says undefined scikit-learn has 0, 1, NaN or an error."""
    name, options = SKLEARN[text]
    rng, compared = random.Random(5), 0
    for _ in range(300):
        n, digits = rng.randint(2, 30), rng.choice([1, 15])
        labels = [int(rng.random() < 0.4) for _ in range(n)]
        predictions = [min(max(round(rng.random(), digits), 0.01), 0.99) for _ in range(n)]
        found = POINTS.parse(text).compute(labels, predictions)
        if found.reason:
            continue
        given = np.array(predictions)
        if POINTS.parse(text).needs == "decisions":
            given = given >= 0.5
        wanted = getattr(metrics, name)(np.array(labels), given, **options)
        assert found.value == pytest.approx(math.sqrt(wanted) if text == "rmse" else wanted, rel=1e-12, abs=1e-12)
        compared += 1
    assert compared > 200


def both_classes(seed, n=200, most=40):
    """Random labels of both classes with scores of which many are equal."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        size = int(rng.integers(2, most))
        labels = rng.random(size) < 0.4
        labels[:2] = True, False
        yield labels, rng.integers(0, int(rng.choice([2, 8, 1000])), size) / 1000 * rng.choice([1.0, -7.0])


def test_roc_curve_agrees():
    """All points, as with drop_intermediate=False, from threshold inf on."""
    for labels, scores in both_classes(1):
        fpr, tpr, threshold = metrics.roc_curve(labels, scores, drop_intermediate=False)
        ours = roc_curve(labels, scores)
        assert ours["threshold"].iloc[1:].to_list() == threshold[1:].tolist()
        assert ours["fpr"].to_numpy() == pytest.approx(fpr, abs=1e-12)
        assert ours["tpr"].to_numpy() == pytest.approx(tpr, abs=1e-12)
        assert metrics.auc(ours["fpr"], ours["tpr"]) == pytest.approx(metrics.roc_auc_score(labels, scores), abs=1e-12)


def test_pr_curve_agrees():
    """The same points by rising threshold, but for the one at recall 0 that scikit-learn adds."""
    for labels, scores in both_classes(2):
        precision, recall, threshold = metrics.precision_recall_curve(labels, scores)
        ours = pr_curve(labels, scores).iloc[::-1]
        assert (recall[-1], precision[-1]) == (0.0, 1.0)
        assert ours["threshold"].to_list() == threshold.tolist()
        assert ours["precision"].to_numpy() == pytest.approx(precision[:-1], abs=1e-12)
        assert ours["recall"].to_numpy() == pytest.approx(recall[:-1], abs=1e-12)


@pytest.mark.parametrize(("strategy", "theirs"), [("width", "uniform"), ("mass", "quantile")])
def test_reliability_curve_agrees(strategy, theirs):
    """On bins that hold something; of equal mass where 10 divides n and nothing ties, so that both part alike."""
    calibration = pytest.importorskip("sklearn.calibration", reason="compares with scikit-learn")
    rng = np.random.default_rng(3)
    for _ in range(100):
        p = rng.random(int(rng.integers(2, 9)) * 10)
        labels = rng.random(len(p)) < p
        labels[:2] = True, False
        observed, mean = calibration.calibration_curve(labels, p, n_bins=10, strategy=theirs)
        ours = reliability_curve(labels, p, 10, strategy)
        filled = ours[ours["n"] > 0]
        assert filled["observed"].to_numpy() == pytest.approx(observed, abs=1e-12)
        assert filled["mean_probability"].to_numpy() == pytest.approx(mean, abs=1e-12)
        wanted = np.average(np.abs(mean - observed), weights=filled["n"])
        assert ECE(10, strategy).compute(labels, p).value == pytest.approx(wanted, abs=1e-12)


def test_confusion_agrees():
    """Rows actual, columns predicted."""
    for labels, scores in both_classes(4):
        wanted = metrics.confusion_matrix(labels, scores >= 0.003)
        assert confusion(labels, scores, 0.003).to_numpy().tolist() == wanted.tolist()
