"""Statistics on plain arrays: confidence intervals, paired tests, and Holm's correction for multiple tests."""

from kgeval.stats.clusters import Clusters, Grouping
from kgeval.stats.intervals import (
    BOOTSTRAPS,
    CROSSED,
    bootstrap_interval,
    check_confidence,
    macro_interval,
    robust_interval,
)
from kgeval.stats.moments import FEW_CLUSTERS, Interval, Moments, first_mean, influences
from kgeval.stats.paired import MAX_ENUMERATED, MIN_MID_P, Difference, compare_paired, holm, paired_interval
from kgeval.stats.quantiles import quantile_bootstrap, quantile_interval
from kgeval.stats.student import student_quantile

__all__ = [
    "BOOTSTRAPS",
    "CROSSED",
    "FEW_CLUSTERS",
    "MAX_ENUMERATED",
    "MIN_MID_P",
    "Clusters",
    "Difference",
    "Grouping",
    "Interval",
    "Moments",
    "bootstrap_interval",
    "check_confidence",
    "compare_paired",
    "first_mean",
    "holm",
    "influences",
    "macro_interval",
    "paired_interval",
    "quantile_bootstrap",
    "quantile_interval",
    "robust_interval",
    "student_quantile",
]
