"""Statistics of numbers that are functions of means: intervals, paired tests, corrections; plain arrays in and out."""

from kgeval.stats.intervals import bootstrap_interval, check_level, robust_interval
from kgeval.stats.moments import Interval, Moments, influences
from kgeval.stats.paired import Difference, compare_paired, holm
from kgeval.stats.quantiles import quantile_bootstrap, quantile_interval
from kgeval.stats.student import student_quantile

__all__ = [
    "Difference",
    "Interval",
    "Moments",
    "bootstrap_interval",
    "check_level",
    "compare_paired",
    "holm",
    "influences",
    "quantile_bootstrap",
    "quantile_interval",
    "robust_interval",
    "student_quantile",
]
