"""Statistics on plain arrays: confidence intervals, paired tests, several runs, corrections for multiple tests."""

from kgeval.stats.across_datasets import (
    FEW_DATASETS,
    Conover,
    Friedman,
    MeanRanks,
    Nemenyi,
    alike_groups,
    conover,
    friedman,
    mean_ranks,
    nemenyi,
)
from kgeval.stats.clusters import Clusters, Grouping
from kgeval.stats.corrections import false_discovery_rate, holm, step_down_max
from kgeval.stats.equivalence import MarginTest, Support, non_inferiority, tost
from kgeval.stats.intervals import (
    BOOTSTRAPS,
    CROSSED,
    bootstrap_interval,
    check_confidence,
    macro_interval,
    robust_interval,
)
from kgeval.stats.macro_difference import compare_macro
from kgeval.stats.moments import FEW_CLUSTERS, Interval, Moments, first_mean, influences
from kgeval.stats.paired import MAX_ENUMERATED, MIN_MID_P, Difference, compare_paired, paired_interval
from kgeval.stats.planning import OrderRepeats, Plan, PowerModel, order_repeats, plan_clusters, scaled_up
from kgeval.stats.quantiles import quantile_bootstrap, quantile_interval
from kgeval.stats.runs import (
    INTERVALS,
    MIN_BOOTSTRAPPED,
    Runs,
    RunsInterval,
    bounded_joint,
    compare_runs,
    joint_p_values,
    mean_over_runs,
)
from kgeval.stats.signed_rank import SignedRank, bayesian_signed_rank
from kgeval.stats.tails import student_p_value, student_quantile

__all__ = [
    "BOOTSTRAPS",
    "CROSSED",
    "FEW_CLUSTERS",
    "FEW_DATASETS",
    "INTERVALS",
    "MAX_ENUMERATED",
    "MIN_BOOTSTRAPPED",
    "MIN_MID_P",
    "Clusters",
    "Conover",
    "Difference",
    "Friedman",
    "Grouping",
    "Interval",
    "MarginTest",
    "MeanRanks",
    "Moments",
    "Nemenyi",
    "OrderRepeats",
    "Plan",
    "PowerModel",
    "Runs",
    "RunsInterval",
    "SignedRank",
    "Support",
    "alike_groups",
    "bayesian_signed_rank",
    "bootstrap_interval",
    "bounded_joint",
    "check_confidence",
    "compare_macro",
    "compare_paired",
    "compare_runs",
    "conover",
    "false_discovery_rate",
    "first_mean",
    "friedman",
    "holm",
    "influences",
    "joint_p_values",
    "macro_interval",
    "mean_over_runs",
    "mean_ranks",
    "nemenyi",
    "non_inferiority",
    "order_repeats",
    "paired_interval",
    "plan_clusters",
    "quantile_bootstrap",
    "quantile_interval",
    "robust_interval",
    "scaled_up",
    "step_down_max",
    "student_p_value",
    "student_quantile",
    "tost",
]
