"""Triple classification: thresholds chosen on the validation split, evaluated on the test split."""

from kgeval.classification.classification_result import (
    CLASSIFIED_METRICS,
    PROBABILITY_METRICS,
    ClassificationResult,
    parse_points,
)
from kgeval.classification.classifier import classify
from kgeval.classification.negative_sets import UNIFORM

__all__ = [
    "CLASSIFIED_METRICS",
    "PROBABILITY_METRICS",
    "UNIFORM",
    "ClassificationResult",
    "classify",
    "parse_points",
]
