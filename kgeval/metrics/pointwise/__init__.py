"""Metrics of single predictions, `by_field` (a metric per relation or other field), calibration, and thresholds.

Each kind of prediction has a module with its metrics: `decisions`, `separation` (scores), `probabilities`, and
`estimates` (values). Users call the metrics directly; `kgeval.classification` calls them for triple classification.
"""

from kgeval.base.checks import shows_only
from kgeval.base.discovery import import_modules
from kgeval.metrics.pointwise import base, calibration, cuts, decisions, examples
from kgeval.metrics.pointwise.calibration import PlattCalibrator, calibrate
from kgeval.metrics.pointwise.curves import reliability_curve
from kgeval.metrics.pointwise.decisions import MCC, Accuracy, BalancedAccuracy, FBeta, Precision, Recall, Specificity
from kgeval.metrics.pointwise.estimates import MAE, RMSE
from kgeval.metrics.pointwise.fields import by_field
from kgeval.metrics.pointwise.probabilities import ECE, PCOPC, Brier, FieldECE, LogLoss
from kgeval.metrics.pointwise.separation import GAUC, AveragePrecision, RocAuc

__all__ = [
    "ECE",
    "GAUC",
    "MAE",
    "MCC",
    "PCOPC",
    "RMSE",
    "Accuracy",
    "AveragePrecision",
    "BalancedAccuracy",
    "Brier",
    "FBeta",
    "FieldECE",
    "LogLoss",
    "PlattCalibrator",
    "Precision",
    "Recall",
    "RocAuc",
    "Specificity",
    "base",
    "by_field",
    "calibrate",
    "calibration",
    "cuts",
    "decisions",
    "examples",
    "reliability_curve",
]
__dir__ = shows_only(__all__)

import_modules(__name__, __path__)  # imports all modules of this folder; each registers its metrics
