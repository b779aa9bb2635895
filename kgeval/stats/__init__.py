"""Statistics on plain arrays: confidence intervals, paired tests, several runs, correction for many tests."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kgeval.base.checks import GONE, answers_old_names, shows_only

if TYPE_CHECKING:
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
__dir__ = shows_only(__all__)

_old_name = answers_old_names(
    "kgeval.stats",
    bayesian_signed_rank=f"{GONE}Nemenyi's test decides (kgeval.stats.across_datasets)",
    bootstrap_interval=f"{GONE}intervals are those of robust_interval (kgeval.stats.intervals)",
    bounded_joint=f"{GONE}Holm's method corrects all differences (kgeval.stats.corrections)",
    conover=f"{GONE}Nemenyi's test decides (kgeval.stats.across_datasets)",
    friedman="kgeval.stats.across_datasets.friedman",
    holm="kgeval.stats.corrections.holm",
)

if not TYPE_CHECKING:  # mypy would take every attribute for known

    def __getattr__(name: str) -> Any:
        """Import a module of this package when it is first used; say what became of a former name."""
        return import_module(f"kgeval.stats.{name}") if name in __all__ else _old_name(name)
