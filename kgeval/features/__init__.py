"""Features: columns for a table of ranks that describe the relation, the entities or the query of each row.

The features are computed from a dataset and group the rows for breakdowns of metrics. Results and the command line call
this package.
"""

from kgeval.base.checks import shows_only
from kgeval.features import columns, relations
from kgeval.features.entity_types import read_types
from kgeval.features.popularity import popularity_weights
from kgeval.features.relations import leaks

__all__ = ["columns", "leaks", "popularity_weights", "read_types", "relations"]
__dir__ = shows_only(__all__)
