"""Metrics as values: parameters in a frozen dataclass, the formula in its class, names in families.

Three families: ranks (here), ranked lists (`kgeval.metrics.retrieval`), and single predictions
(`kgeval.metrics.pointwise`).
"""

from kgeval.metrics import calibration, curves, pointwise, retrieval
from kgeval.metrics.base import TIE_POLICIES, Metric, MetricValue
from kgeval.metrics.grammar import parse, parse_all
from kgeval.metrics.query_level import QueryLevel
from kgeval.metrics.ranking import GMR, HMR, MR, MRR, RANKS, Hits, MedianRank, RankMetric
from kgeval.metrics.wrappers import Adjusted, ZScore

__all__ = [
    "GMR",
    "HMR",
    "MR",
    "MRR",
    "RANKS",
    "TIE_POLICIES",
    "Adjusted",
    "Hits",
    "MedianRank",
    "Metric",
    "MetricValue",
    "QueryLevel",
    "RankMetric",
    "ZScore",
    "calibration",
    "curves",
    "parse",
    "parse_all",
    "pointwise",
    "retrieval",
]
