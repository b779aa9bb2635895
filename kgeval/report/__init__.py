"""Output for people and other programs: text tables, exports, plots and the report page."""

from kgeval.report import exports, plots
from kgeval.report.exports import write_ranks
from kgeval.report.page import check_page_target, write_page
from kgeval.report.tables import (
    FORMATS,
    format_compared,
    format_comparison,
    format_differences,
    format_frame,
    frame_records,
    listed_ranks,
    protocol_comment,
    rough_lines,
    significance_marks,
    summary_frame,
    undefined_lines,
)

__all__ = [
    "FORMATS",
    "check_page_target",
    "exports",
    "format_compared",
    "format_comparison",
    "format_differences",
    "format_frame",
    "frame_records",
    "listed_ranks",
    "plots",
    "protocol_comment",
    "rough_lines",
    "significance_marks",
    "summary_frame",
    "undefined_lines",
    "write_page",
    "write_ranks",
]
