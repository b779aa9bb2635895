"""Metrics as values: parameters in a frozen dataclass, the formula in `value`, names in a registry."""

from kgeval.metrics.base import TIE_POLICIES, Metric, MetricValue, parse, parse_all, registered
from kgeval.metrics.ranking import GMR, HMR, MR, MRR, Hits, MedianRank
from kgeval.metrics.wrappers import Adjusted, ZScore

__all__ = [
    "GMR",
    "HMR",
    "MR",
    "MRR",
    "TIE_POLICIES",
    "Adjusted",
    "Hits",
    "MedianRank",
    "Metric",
    "MetricValue",
    "ZScore",
    "parse",
    "parse_all",
    "registered",
]
