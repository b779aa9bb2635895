"""Where scikit-learn's pointwise metrics differ from kgeval's by definition: both numbers, and why."""

import math

import numpy as np
import pytest

from kgeval.metrics.pointwise.curves import pr_curve, reliability_curve, roc_curve
from kgeval.metrics.pointwise.decisions import FBeta, Precision
from kgeval.metrics.pointwise.probabilities import LogLoss

metrics = pytest.importorskip("sklearn.metrics", reason="compares with scikit-learn")


def test_precision_recall_curve_runs_the_other_way():
    """Theirs goes by rising threshold and adds the point (recall 0, precision 1), which no threshold gives."""
    labels, scores = np.array([1, 0, 1]), np.array([0.9, 0.5, 0.1])
    precision, recall, _ = metrics.precision_recall_curve(labels, scores)
    ours = pr_curve(labels, scores)
    np.testing.assert_allclose(ours["precision"], precision[:-1][::-1], rtol=1e-15)
    np.testing.assert_allclose(ours["recall"], recall[:-1][::-1], rtol=1e-15)
    assert (precision[-1], recall[-1]) == (1.0, 0.0)
    assert ours["recall"].min() == 0.5


def test_roc_curve_drops_points_on_a_straight_line():
    """Scores 4 to 1 with labels 1, 1, 0, 0: five points; theirs leaves the one at (0.5, 1) out by default."""
    labels, scores = np.array([1, 1, 0, 0]), np.array([4.0, 3.0, 2.0, 1.0])
    assert 0.5 not in metrics.roc_curve(labels, scores)[0]
    every = metrics.roc_curve(labels, scores, drop_intermediate=False)
    ours = roc_curve(labels, scores)
    assert ours["fpr"].tolist() == every[0].tolist() == [0, 0, 0, 0.5, 1]
    assert ours["tpr"].tolist() == every[1].tolist() == [0, 0.5, 1, 1, 1]


def test_log_loss_clips_certain_mistakes():
    """p = 0 for a true label: infinite here; theirs clips by the eps of float64, 2^-52: half of -ln(2^-52)."""
    labels, p = np.array([1, 0]), np.array([0.0, 0.0])
    wanted = 52 * math.log(2) / 2
    assert LogLoss().compute(labels, p).value == math.inf
    assert metrics.log_loss(labels, p, labels=[0, 1]) == pytest.approx(wanted, rel=1e-12)
    assert LogLoss(clip=2.0**-52).compute(labels, p).value == pytest.approx(wanted, rel=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_nothing_called_positive_counts_zero():
    """No decision is positive: precision is 0 / 0, NaN with the reason here, 0 with a warning there.

    So is F1 where there is no positive at all, neither called nor true.
    """
    labels, decisions = np.array([1, 0]), np.array([False, False])
    assert math.isnan(Precision().compute(labels, decisions).value)
    assert metrics.precision_score(labels, decisions) == 0.0
    none = np.array([0, 0])
    assert math.isnan(FBeta().compute(none, decisions).value)
    assert metrics.f1_score(none, decisions) == 0.0


def test_calibration_curve_leaves_out_empty_bins():
    """Two bins of four hold examples: theirs has two rows, ours four, the empty ones with n = 0 and NaN."""
    calibration = pytest.importorskip("sklearn.calibration", reason="compares with scikit-learn")
    labels, p = np.array([1, 0, 1, 1]), np.array([0.1, 0.2, 0.8, 0.9])
    observed, mean = calibration.calibration_curve(labels, p, n_bins=4)
    ours = reliability_curve(labels, p, bins=4)
    assert ours["n"].tolist() == [2, 0, 0, 2]
    held = ours[ours["n"] > 0]
    np.testing.assert_allclose(held["observed"], observed, rtol=1e-12)
    np.testing.assert_allclose(held["mean_probability"], mean, rtol=1e-12)
    assert ours["observed"].isna().tolist() == [False, True, True, False]
