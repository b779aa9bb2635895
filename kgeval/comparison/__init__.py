"""Paired comparison of results: pairing of rows, differences, tests, contributions of groups, and the verdict."""

from kgeval.comparison import (
    alignment,
    beside,
    comparison,
    differences,
    margins,
    names,
    panels,
    regression_gate,
    rows,
    texts,
    verdict,
)
from kgeval.comparison.verdict import verdict_of

__all__ = [
    "alignment",
    "beside",
    "comparison",
    "differences",
    "margins",
    "names",
    "panels",
    "regression_gate",
    "rows",
    "texts",
    "verdict",
    "verdict_of",
]
