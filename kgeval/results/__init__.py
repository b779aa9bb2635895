"""Results of an evaluation: the result class, its table of ranks, metric keys, breakdowns, explanations and files."""

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
