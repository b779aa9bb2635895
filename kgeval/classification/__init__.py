"""Triple classification: thresholds chosen on validation, judged on test."""

from kgeval.classification.classification_result import CLASSIFIED_METRICS, ClassificationResult, parse_points
from kgeval.classification.classifier import classify
from kgeval.classification.negative_sets import UNIFORM

__all__ = [
    "CLASSIFIED_METRICS",
    "UNIFORM",
    "ClassificationResult",
    "classify",
    "parse_points",
]
