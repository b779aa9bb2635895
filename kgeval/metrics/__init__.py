"""All metrics. Each metric is a frozen dataclass: its fields are its parameters, and its methods compute its value.

There are three families: metrics of ranks (in this package), of ranked lists (`kgeval.metrics.retrieval`), and
of single predictions (`kgeval.metrics.pointwise`). `kgeval.results`, `kgeval.classification` and `kgeval.trec`
use them.
"""

from kgeval.base.checks import shows_only
from kgeval.base.discovery import import_modules
from kgeval.metrics import (
    base,
    default_metrics,
    grammar,
    metric_frames,
    pointwise,
    query_level,
    ranks,
    retrieval,
    wrappers,
)
from kgeval.metrics.base import MetricValue
from kgeval.metrics.grammar import parse
from kgeval.metrics.plain_ranks import from_ranks
from kgeval.metrics.pointwise import calibration, curves
from kgeval.metrics.ranks import MR, MRR, Hits, RankMetric
from kgeval.metrics.sampled_hits import SampledHits

__all__ = [
    "MR",
    "MRR",
    "Hits",
    "MetricValue",
    "RankMetric",
    "SampledHits",
    "base",
    "calibration",
    "curves",
    "default_metrics",
    "from_ranks",
    "grammar",
    "metric_frames",
    "parse",
    "pointwise",
    "query_level",
    "ranks",
    "retrieval",
    "wrappers",
]
__dir__ = shows_only(__all__)

import_modules(__name__, __path__)  # imports all modules of this folder; each registers its metrics
