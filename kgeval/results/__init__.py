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

__all__ = [
    "bounded",
    "clustering",
    "columns",
    "display",
    "evaluation_result",
    "explanations",
    "files",
    "keys",
    "lists",
    "rank_table",
    "run_names",
    "times",
]
