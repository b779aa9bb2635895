"""Metrics of single predictions, `by_field` (a metric per relation or other field), calibration, and thresholds.

Each kind of prediction has a module with its metrics: `decisions`, `separation` (scores), `probabilities`, and
`estimates` (values). Users call the metrics directly; `kgeval.classification` calls them for triple classification.
"""

from kgeval.discovery import import_modules
from kgeval.metrics.pointwise import calibration, curves
from kgeval.metrics.pointwise.base import POINTS, PointMetric
from kgeval.metrics.pointwise.calibration import CALIBRATIONS, Calibrator, PlattCalibrator, calibrate, check_calibration
from kgeval.metrics.pointwise.curves import reliability_curve
from kgeval.metrics.pointwise.cuts import (
    THRESHOLD_PLACES,
    GroupThresholds,
    decide_by_threshold,
    exact_doubles,
    thresholds_by_group,
)
from kgeval.metrics.pointwise.decisions import (
    MCC,
    Accuracy,
    BalancedAccuracy,
    DecisionMetric,
    FBeta,
    Precision,
    Recall,
    Specificity,
    confusion,
)
from kgeval.metrics.pointwise.estimates import MAE, RMSE
from kgeval.metrics.pointwise.examples import DEFAULT_THRESHOLD
from kgeval.metrics.pointwise.fields import by_field
from kgeval.metrics.pointwise.probabilities import ECE, PCOPC, Brier, FieldECE, LogLoss
from kgeval.metrics.pointwise.separation import GAUC, AveragePrecision, RocAuc

import_modules(__name__, __path__)  # imports all modules of this folder; each registers its metrics

__all__ = [
    "CALIBRATIONS",
    "DEFAULT_THRESHOLD",
    "ECE",
    "GAUC",
    "MAE",
    "MCC",
    "PCOPC",
    "POINTS",
    "RMSE",
    "THRESHOLD_PLACES",
    "Accuracy",
    "AveragePrecision",
    "BalancedAccuracy",
    "Brier",
    "Calibrator",
    "DecisionMetric",
    "FBeta",
    "FieldECE",
    "GroupThresholds",
    "LogLoss",
    "PlattCalibrator",
    "PointMetric",
    "Precision",
    "Recall",
    "RocAuc",
    "Specificity",
    "by_field",
    "calibrate",
    "calibration",
    "check_calibration",
    "confusion",
    "curves",
    "decide_by_threshold",
    "exact_doubles",
    "reliability_curve",
    "thresholds_by_group",
]
