"""Triple classification: thresholds chosen on the validation split, evaluated on the test split."""

from kgeval.classification.classification_comparison import ClassificationComparison, compare_classifications
from kgeval.classification.classification_result import CLASSIFIED_METRICS, PROBABILITY_METRICS, ClassificationResult
from kgeval.classification.classifier import classify
from kgeval.classification.example_clusters import CLUSTERS, ExampleClusters, interval_lines
from kgeval.classification.metric_intervals import metric_interval
from kgeval.classification.negative_sets import UNIFORM
from kgeval.classification.point_keys import parse_points

__all__ = [
    "CLASSIFIED_METRICS",
    "CLUSTERS",
    "PROBABILITY_METRICS",
    "UNIFORM",
    "ClassificationComparison",
    "ClassificationResult",
    "ExampleClusters",
    "classify",
    "compare_classifications",
    "interval_lines",
    "metric_interval",
    "parse_points",
]
