"""Benchmarks: models x seeds x datasets in one table, cards of runs, and boards of many runs."""

from kgeval.benchmarks import benchmark_text, card, model_benchmark, runs
from kgeval.benchmarks.board import read_board
from kgeval.benchmarks.board_page import write_board
from kgeval.benchmarks.card import Card, read_card, write_card
from kgeval.benchmarks.page import write_benchmark_page
from kgeval.benchmarks.verification import verify_card
from kgeval.checks import shows_only
from kgeval.results.run_names import named

__all__ = [
    "Card",
    "benchmark_text",
    "card",
    "model_benchmark",
    "named",
    "read_board",
    "read_card",
    "runs",
    "verify_card",
    "write_benchmark_page",
    "write_board",
    "write_card",
]
__dir__ = shows_only(__all__)
