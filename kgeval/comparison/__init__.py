"""Paired comparison of results: pairing of rows, differences, tests, contributions of groups, and the verdict."""

from kgeval.comparison.alignment import OVERRIDES, mismatches
from kgeval.comparison.comparing import COMPARED_METRICS, Comparison, compare
from kgeval.comparison.names import Results, check_names, name_results
from kgeval.comparison.verdict import Verdict, is_at_floor, is_like_chance, leaders_of, p_text, verdict_of

__all__ = [
    "COMPARED_METRICS",
    "OVERRIDES",
    "Comparison",
    "Results",
    "Verdict",
    "check_names",
    "compare",
    "is_at_floor",
    "is_like_chance",
    "leaders_of",
    "mismatches",
    "name_results",
    "p_text",
    "verdict_of",
]
