"""Output for people and other programs: text tables, exports, plots and the report page."""

from kgeval.report import charts, exports, page_differences, page_numbers, page_parts, plots
from kgeval.report.exports import write_ranks
from kgeval.report.page import write_page
from kgeval.report.page_content import plain_values
from kgeval.report.page_frame import check_page_target, whole_page
from kgeval.report.table_files import without_formulas
from kgeval.report.table_text import (
    escaped_latex,
    escaped_markdown,
    escaped_note,
    latex_rows,
    markdown_lines,
    number_text,
)
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
    "charts",
    "check_page_target",
    "escaped_latex",
    "escaped_markdown",
    "escaped_note",
    "exports",
    "format_compared",
    "format_comparison",
    "format_differences",
    "format_frame",
    "frame_records",
    "latex_rows",
    "listed_ranks",
    "markdown_lines",
    "number_text",
    "page_differences",
    "page_numbers",
    "page_parts",
    "plain_values",
    "plots",
    "protocol_comment",
    "rough_lines",
    "significance_marks",
    "summary_frame",
    "undefined_lines",
    "whole_page",
    "without_formulas",
    "write_page",
    "write_ranks",
]
