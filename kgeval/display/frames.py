"""Data frames of metrics as text in each format, as records for JSON, and the notes that belong to them."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import check_one_of, grouped
from kgeval.display.escapes import without_formulas
from kgeval.display.media import drawn, panel_table, text_table
from kgeval.display.table import OPTIONAL_COLUMNS, Note, frame_table, index_parts, is_count
from kgeval.errors import ProtocolError
from kgeval.markup import Markup, shown_label
from kgeval.metrics.metric_frames import N_EFFECTIVE, REASON
from kgeval.terminal import PIPE, Screen

FORMATS = ("table", "json", "csv", "markdown", "latex")
MAX_NAMED = 3
ROUGH = 10  # intervals with fewer effective clusters than this get a note


def format_frame(
    frame: pd.DataFrame,
    style: str,
    screen: Screen = PIPE,
    optional: Sequence[str] = OPTIONAL_COLUMNS,
    comment: str = "",
    spreadsheet: bool = False,
) -> str:
    """Return a table of metrics in one of `FORMATS`.

    The styles ``"csv"`` and ``"json"`` are for programs. Columns are named by the keys of the metrics, and numbers have
    full precision. An undefined number is an empty field (csv) or null (json); the column ``"reason"`` says why.

    The other styles are for people. Columns have headings, and numbers have few decimals. An undefined number is ``-``;
    `undefined_lines` returns the reasons. The columns ``"<metric> low"`` and ``"<metric> high"`` are shown as an
    interval after the value of the metric. The effective number of clusters is shown where it is below 100.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per group, one column per metric.
    style : str
        One of `FORMATS`.
    screen : Screen
        For the style ``"table"``: the width to fit, and whether to use bold and dim text. By default the table is as
        wide as its content.
    optional : sequence of str
        As in `frame_table`.
    comment : str
        A first line for the style ``"latex"``, such as the text that `protocol_comment` returns.
    spreadsheet : bool
        For the style ``"csv"``: as in `kgeval.report.exports.format_csv`.

    Raises
    ------
    ProtocolError
        If `style` is unknown.
    """
    check_one_of("format", style, FORMATS, ProtocolError)
    if style == "json":
        return json.dumps(frame_records(frame), indent=2, allow_nan=False, ensure_ascii=False)
    if style == "csv":
        return (without_formulas(frame) if spreadsheet else frame).to_csv().rstrip("\n")
    return drawn(frame_table(frame, optional), style, screen, comment)


def frame_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as dicts of plain values, for JSON.

    Parameters
    ----------
    frame : pandas.DataFrame

    Returns
    -------
    list of dict
        One dict per row. A missing value and an undefined or infinite number are None; the key ``"reason"`` then holds
        the reason, if the table gives one or the number is infinite.
    """
    records = []
    for label, row in zip(frame.index, frame.itertuples(index=False, name=None)):
        record: dict[str, Any] = dict(zip((str(name) for name in frame.index.names), index_parts(label)))
        reasons = []
        for column, value in zip(frame.columns, row):
            if column == REASON:
                reasons.append(value)
            elif value is None or isinstance(value, str):
                record[column] = value
            elif isinstance(value, (bool, np.bool_)):
                record[column] = bool(value)
            elif math.isfinite(value):
                record[column] = int(value) if is_count(column, value) else float(value)
            else:
                record[column] = None
                reasons += [f"{column} is infinite"] if math.isinf(value) else []
        reason = "; ".join(filter(None, reasons))
        records.append(record | ({REASON: reason} if reason else {}))
    return records


def undefined_lines(*frames: pd.DataFrame) -> list[str]:
    """Return one line for each reason why a value or interval is undefined; each names the first rows concerned.

    Parameters
    ----------
    *frames : pandas.DataFrame
        Tables of metrics. A table without the column ``"reason"`` gives no line.
    """
    reasons = [pair for frame in frames for pair in zip(frame.index, frame.get(REASON, ()))]
    rows_of = grouped((why, _row_name(label)) for label, why in reasons if why)
    lines = []
    for why, rows in rows_of.items():
        where = "" if "interval of " in why.partition(":")[0] else "undefined in "
        lines.append(f"{where}{_first_names(rows)}: {why}")
    return lines


def rough_lines(frame: pd.DataFrame) -> list[str]:
    """Return a list with one note that names the rows with few effective clusters; empty if there are none.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table of metrics with intervals.
    """
    few = [_row_name(label) for label in frame.index[frame[N_EFFECTIVE] < ROUGH]]
    return [f"intervals with fewer than {ROUGH} effective clusters are rough: {_first_names(few)}"] if few else []


def _row_name(label: Any) -> str:
    """Return the name of a row of a table, for a note: its labels, with long labels shortened."""
    return " ".join(shown_label(part) if part else part for part in index_parts(label))


def _first_names(rows: Sequence[str]) -> str:
    """Return the names of the first rows, such as "a, b, c and 4 more"."""
    more = f" and {len(rows) - MAX_NAMED:,} more" if len(rows) > MAX_NAMED else ""
    return ", ".join(rows[:MAX_NAMED]) + more


def frame_text(lines: Sequence[str], frame: pd.DataFrame, index: bool = True) -> str:
    """Return lines and, below them, a table of metrics with the reasons of its gaps, fitted to the terminal.

    Parameters
    ----------
    lines : sequence of str
    frame : pandas.DataFrame
    index : bool
        Whether to show the index of the table.
    """
    screen = replace(Screen.of(sys.stdout), has_styles=False)
    table = frame_table(frame, index=index)
    return "\n".join([*map(screen.wrapped, lines), "", text_table(replace(table, notes=_reasons(frame)), screen)])


def frame_panel(frame: pd.DataFrame, index: bool = True) -> Markup:
    """Return a table of metrics with the reasons of its gaps as HTML for a notebook.

    Parameters
    ----------
    frame : pandas.DataFrame
    index : bool
        Whether to show the index of the table.
    """
    return panel_table(replace(frame_table(frame, index=index), notes=_reasons(frame)))


def _reasons(frame: pd.DataFrame) -> list[Note]:
    return [("", line) for line in undefined_lines(frame)]
