"""Triple classification: thresholds chosen on the validation split, evaluated on the test split."""

from kgeval.classification import (
    classification_comparison,
    classification_result,
    example_clusters,
    negative_sets,
    point_keys,
)

__all__ = ["classification_comparison", "classification_result", "example_clusters", "negative_sets", "point_keys"]
