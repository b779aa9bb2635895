"""Benchmarks: models x seeds x datasets in one table, and cards of runs."""

from kgeval.base.checks import answers_old_names, shows_only
from kgeval.benchmarks import across, benchmark_text, card, model_benchmark, runs, tables
from kgeval.benchmarks.card import Card, read_card, write_card
from kgeval.benchmarks.verification import verify_card
from kgeval.results.run_names import named

__all__ = [
    "Card",
    "across",
    "benchmark_text",
    "card",
    "model_benchmark",
    "named",
    "read_card",
    "runs",
    "tables",
    "verify_card",
    "write_card",
]
__dir__ = shows_only(__all__)
__getattr__ = answers_old_names(
    "kgeval.benchmarks",
    read_board="kgeval.report.read_board(paths)",
    write_board="kgeval.report.write_board(runs, path)",
    write_benchmark_page="kgeval.report.write_benchmark_page(benchmark, path)",
)
