"""Statistics on plain arrays: confidence intervals, paired tests, several runs, correction for many tests."""

from typing import TYPE_CHECKING

from kgeval.checks import GONE, answers_old_names
from kgeval.stats import (
    across_datasets,
    clusters,
    corrections,
    equivalence,
    intervals,
    macro_difference,
    moments,
    paired,
    quantiles,
    runs,
)

__all__ = [
    "across_datasets",
    "clusters",
    "corrections",
    "equivalence",
    "intervals",
    "macro_difference",
    "moments",
    "paired",
    "quantiles",
    "runs",
]

if not TYPE_CHECKING:  # mypy would take every attribute for known
    __getattr__ = answers_old_names(
        "kgeval.stats",
        bayesian_signed_rank=f"{GONE}Nemenyi's test decides (kgeval.stats.across_datasets)",
        bootstrap_interval=f"{GONE}intervals are those of robust_interval (kgeval.stats.intervals)",
        bounded_joint=f"{GONE}Holm's method corrects all differences (kgeval.stats.corrections)",
        conover=f"{GONE}Nemenyi's test decides (kgeval.stats.across_datasets)",
        friedman="kgeval.stats.across_datasets.friedman",
        holm="kgeval.stats.corrections.holm",
    )
