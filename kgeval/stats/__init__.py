"""Statistics on plain arrays: confidence intervals, paired tests, and Holm's correction for multiple tests."""

from kgeval.stats.intervals import BOOTSTRAPS, bootstrap_interval, check_confidence, robust_interval
from kgeval.stats.moments import Interval, Moments, first_mean, influences
from kgeval.stats.paired import MAX_ENUMERATED, Difference, compare_paired, holm
from kgeval.stats.quantiles import quantile_bootstrap, quantile_interval
from kgeval.stats.student import student_quantile

__all__ = [
    "BOOTSTRAPS",
    "MAX_ENUMERATED",
    "Difference",
    "Interval",
    "Moments",
    "bootstrap_interval",
    "check_confidence",
    "compare_paired",
    "first_mean",
    "holm",
    "influences",
    "quantile_bootstrap",
    "quantile_interval",
    "robust_interval",
    "student_quantile",
]
