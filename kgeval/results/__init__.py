"""Results of an evaluation: the result class, its table of ranks, metric keys, breakdowns, explanations and files."""

from kgeval.results import (
    bounded,
    clustering,
    columns,
    display,
    evaluation_result,
    explanations,
    files,
    keys,
    lists,
    rank_table,
    run_names,
    times,
)
from kgeval.results.evaluation_result import kept_rivals

__all__ = [
    "bounded",
    "clustering",
    "columns",
    "display",
    "evaluation_result",
    "explanations",
    "files",
    "kept_rivals",
    "keys",
    "lists",
    "rank_table",
    "run_names",
    "times",
]
