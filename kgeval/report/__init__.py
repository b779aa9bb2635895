"""Output for people and other programs: text tables, exports, plots and the report page."""

from kgeval.checks import shows_only
from kgeval.report import (
    charts,
    exports,
    page_content,
    page_differences,
    page_frame,
    page_numbers,
    page_parts,
    plots,
)
from kgeval.report.page import write_page

__all__ = [
    "charts",
    "exports",
    "page_content",
    "page_differences",
    "page_frame",
    "page_numbers",
    "page_parts",
    "plots",
    "write_page",
]
__dir__ = shows_only(__all__)
