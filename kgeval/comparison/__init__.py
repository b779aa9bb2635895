"""Paired comparison of results: pairing of rows, differences, tests, contributions of groups, and the verdict."""

__all__ = [
    "alignment",
    "beside",
    "comparison",
    "differences",
    "margins",
    "names",
    "regression_gate",
    "rows",
    "tables",
    "texts",
    "verdict",
]
