"""Statistics on plain arrays: confidence intervals, paired tests, several runs, correction for many tests."""

from kgeval.stats.across_datasets import (
    FEW_DATASETS,
    Friedman,
    MeanRanks,
    Nemenyi,
    alike_groups,
    friedman,
    mean_ranks,
    nemenyi,
)
from kgeval.stats.clusters import Clusters, Grouping
from kgeval.stats.corrections import holm, holm_levels
from kgeval.stats.equivalence import MarginTest, Support, non_inferiority, tost
from kgeval.stats.intervals import check_confidence, macro_interval, robust_interval
from kgeval.stats.macro_difference import compare_macro
from kgeval.stats.moments import FEW_CLUSTERS, Interval, Moments, first_mean, influences
from kgeval.stats.paired import (
    MAX_ENUMERATED,
    MIN_MID_P,
    Difference,
    compare_paired,
    compare_pairs,
    count_differing,
    effective_differing,
    paired_interval,
)
from kgeval.stats.quantiles import quantile_interval
from kgeval.stats.runs import MIN_TO_SEPARATE, SPREADS, Runs, RunsInterval, compare_runs, mean_over_runs
from kgeval.stats.tails import student_p_value, student_quantile

__all__ = [
    "FEW_CLUSTERS",
    "FEW_DATASETS",
    "MAX_ENUMERATED",
    "MIN_MID_P",
    "MIN_TO_SEPARATE",
    "SPREADS",
    "Clusters",
    "Difference",
    "Friedman",
    "Grouping",
    "Interval",
    "MarginTest",
    "MeanRanks",
    "Moments",
    "Nemenyi",
    "Runs",
    "RunsInterval",
    "Support",
    "alike_groups",
    "check_confidence",
    "compare_macro",
    "compare_paired",
    "compare_pairs",
    "compare_runs",
    "count_differing",
    "effective_differing",
    "first_mean",
    "friedman",
    "holm",
    "holm_levels",
    "influences",
    "macro_interval",
    "mean_over_runs",
    "mean_ranks",
    "nemenyi",
    "non_inferiority",
    "paired_interval",
    "quantile_interval",
    "robust_interval",
    "student_p_value",
    "student_quantile",
    "tost",
]
