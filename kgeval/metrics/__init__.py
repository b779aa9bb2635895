"""All metrics. Each metric is a frozen dataclass: its fields are its parameters, and its methods compute its value.

There are three families: metrics of ranks (in this package), of ranked lists (`kgeval.metrics.retrieval`), and
of single predictions (`kgeval.metrics.pointwise`). `kgeval.results`, `kgeval.classification` and `kgeval.trec`
use them.
"""

from kgeval.discovery import import_modules
from kgeval.metrics import default_metrics, pointwise, retrieval
from kgeval.metrics.base import TIE_POLICIES, Metric, MetricValue, split_list
from kgeval.metrics.grammar import Display, display_of, parse, parse_all
from kgeval.metrics.metric_frames import N_EFFECTIVE, REASON, Cell, Group, group_index, join_reasons, metric_frame
from kgeval.metrics.plain_ranks import RankSummary, from_ranks
from kgeval.metrics.pointwise import calibration, curves
from kgeval.metrics.query_level import QueryLevel, lists_of_counts
from kgeval.metrics.ranks import GMR, HMR, MR, MRR, RANKS, Hits, MedianRank, RankMetric, mean_over_range, ranks_under
from kgeval.metrics.sampled_hits import SampledHits
from kgeval.metrics.wrappers import Adjusted, AgainstChance, ZScore

import_modules(__name__, __path__)  # imports all modules of this folder; each registers its metrics

__all__ = [
    "GMR",
    "HMR",
    "MR",
    "MRR",
    "N_EFFECTIVE",
    "RANKS",
    "REASON",
    "TIE_POLICIES",
    "Adjusted",
    "AgainstChance",
    "Cell",
    "Display",
    "Group",
    "Hits",
    "MedianRank",
    "Metric",
    "MetricValue",
    "QueryLevel",
    "RankMetric",
    "RankSummary",
    "SampledHits",
    "ZScore",
    "calibration",
    "curves",
    "default_metrics",
    "display_of",
    "from_ranks",
    "group_index",
    "join_reasons",
    "lists_of_counts",
    "mean_over_range",
    "metric_frame",
    "parse",
    "parse_all",
    "pointwise",
    "ranks_under",
    "retrieval",
    "split_list",
]
