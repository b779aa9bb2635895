"""The columns by which ranks are broken down: what a dataset says about a relation, an entity, a query."""

from kgeval.features.columns import (
    FEATURES,
    NEED_TRAIN,
    NEED_TYPES,
    OVER_SPLITS,
    degree_buckets,
    features_at_hand,
    features_of,
)
from kgeval.features.entity_types import NO_TYPE, read_types
from kgeval.features.popularity import popularity_weights
from kgeval.features.relations import CARDINALITIES, MOST_PATHS, PATTERNS, cardinalities, patterns

__all__ = [
    "CARDINALITIES",
    "FEATURES",
    "MOST_PATHS",
    "NEED_TRAIN",
    "NEED_TYPES",
    "NO_TYPE",
    "OVER_SPLITS",
    "PATTERNS",
    "cardinalities",
    "degree_buckets",
    "features_at_hand",
    "features_of",
    "patterns",
    "popularity_weights",
    "read_types",
]
