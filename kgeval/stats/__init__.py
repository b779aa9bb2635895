"""Statistics on plain arrays: confidence intervals, paired tests, several runs, correction for many tests."""

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
