"""Statistics on plain arrays: confidence intervals, paired tests, several runs, corrections for multiple tests."""

from kgeval.stats.clusters import Clusters, Grouping
from kgeval.stats.corrections import false_discovery_rate, holm, step_down_max
from kgeval.stats.intervals import (
    BOOTSTRAPS,
    CROSSED,
    bootstrap_interval,
    check_confidence,
    macro_interval,
    robust_interval,
)
from kgeval.stats.moments import FEW_CLUSTERS, Interval, Moments, first_mean, influences
from kgeval.stats.paired import MAX_ENUMERATED, MIN_MID_P, Difference, compare_paired, paired_interval
from kgeval.stats.quantiles import quantile_bootstrap, quantile_interval
from kgeval.stats.runs import INTERVALS, Runs, RunsInterval, compare_runs, joint_p_values, mean_over_runs
from kgeval.stats.student import student_quantile

__all__ = [
    "BOOTSTRAPS",
    "CROSSED",
    "FEW_CLUSTERS",
    "INTERVALS",
    "MAX_ENUMERATED",
    "MIN_MID_P",
    "Clusters",
    "Difference",
    "Grouping",
    "Interval",
    "Moments",
    "Runs",
    "RunsInterval",
    "bootstrap_interval",
    "check_confidence",
    "compare_paired",
    "compare_runs",
    "false_discovery_rate",
    "first_mean",
    "holm",
    "influences",
    "joint_p_values",
    "macro_interval",
    "mean_over_runs",
    "paired_interval",
    "quantile_bootstrap",
    "quantile_interval",
    "robust_interval",
    "step_down_max",
    "student_quantile",
]
