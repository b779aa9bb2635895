"""Benchmarks: models x seeds x datasets in one table, cards of runs, and boards of many runs."""

from kgeval.benchmarks.across import AcrossDatasets
from kgeval.benchmarks.benchmark_text import format_means, format_pairs
from kgeval.benchmarks.board import Board, read_board
from kgeval.benchmarks.board_page import write_board
from kgeval.benchmarks.card import Card, card_of_file, read_card, write_card
from kgeval.benchmarks.many_runs import Benchmark, benchmark
from kgeval.benchmarks.model_index import front_matter
from kgeval.benchmarks.page import write_benchmark_page
from kgeval.benchmarks.runs import Run, check_all_named, checked_runs
from kgeval.benchmarks.verdict import BenchmarkVerdict
from kgeval.benchmarks.verification import Verification, verify_card
from kgeval.results import named

__all__ = [
    "AcrossDatasets",
    "Benchmark",
    "BenchmarkVerdict",
    "Board",
    "Card",
    "Run",
    "Verification",
    "benchmark",
    "card_of_file",
    "check_all_named",
    "checked_runs",
    "format_means",
    "format_pairs",
    "front_matter",
    "named",
    "read_board",
    "read_card",
    "verify_card",
    "write_benchmark_page",
    "write_board",
    "write_card",
]
