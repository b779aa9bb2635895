"""Features: columns for a table of ranks that describe the relation, the entities or the query of each row.

The features are computed from a dataset and group the rows for breakdowns of metrics. Results and the command line call
this package.
"""

from kgeval.features.columns import (
    FEATURES,
    NEED_SIDE,
    NEED_TYPES,
    OVER_SPLITS,
    Feature,
    degree_buckets,
    features_at_hand,
    features_of,
)
from kgeval.features.entity_types import NO_TYPE, read_types
from kgeval.features.popularity import popularity_weights
from kgeval.features.relations import (
    CARDINALITIES,
    HALF_LINKS,
    LEAKS,
    MAX_PATHS,
    PATTERNS,
    cardinalities,
    half_links,
    leaks,
    patterns,
    relation_overlaps,
)
from kgeval.features.rows import TripleRows

__all__ = [
    "CARDINALITIES",
    "FEATURES",
    "HALF_LINKS",
    "LEAKS",
    "MAX_PATHS",
    "NEED_SIDE",
    "NEED_TYPES",
    "NO_TYPE",
    "OVER_SPLITS",
    "PATTERNS",
    "Feature",
    "TripleRows",
    "cardinalities",
    "degree_buckets",
    "features_at_hand",
    "features_of",
    "half_links",
    "leaks",
    "patterns",
    "popularity_weights",
    "read_types",
    "relation_overlaps",
]
