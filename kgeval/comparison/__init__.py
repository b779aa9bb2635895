"""Paired comparison of results: pairing of rows, differences, tests, and contributions of relations."""

from kgeval.comparison.alignment import OVERRIDES, mismatches
from kgeval.comparison.comparing import COMPARED_METRICS, Comparison, compare
from kgeval.comparison.names import Results, check_names, name_results

__all__ = [
    "COMPARED_METRICS",
    "OVERRIDES",
    "Comparison",
    "Results",
    "check_names",
    "compare",
    "mismatches",
    "name_results",
]
