"""Output for people and other programs: pages of reports, benchmarks and boards, plots, exports."""

from kgeval.base.checks import shows_only
from kgeval.report import exports, plots
from kgeval.report.benchmark_page import write_benchmark_page
from kgeval.report.board import read_board
from kgeval.report.board_page import write_board
from kgeval.report.page import write_page

__all__ = ["exports", "plots", "read_board", "write_benchmark_page", "write_board", "write_page"]
__dir__ = shows_only(__all__)
