"""How a result shows itself: as text, and as HTML in notebooks."""

from __future__ import annotations

import html

import pandas as pd

from kgeval.metrics import REASON, display_of


def with_headings(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with headings for people in place of the metrics' keys; an empty column of reasons goes."""
    shown = frame.drop(columns=REASON) if REASON in frame.columns and (frame[REASON] == "").all() else frame
    return shown.rename(columns={name: _heading(str(name)) for name in shown.columns})


def _heading(column: str) -> str:
    for end in (" low", " high"):
        if column.endswith(end):
            return display_of(column.removesuffix(end)).heading + end
    return display_of(column).heading


def show_text(lines: list[str], frame: pd.DataFrame, index: bool = True) -> str:
    """Return lines above a table, four decimals each."""
    table = with_headings(frame).to_string(float_format=_four_decimals, index=index, na_rep="-")
    return "\n".join([*lines, "", table])


def show_html(lines: list[str], frame: pd.DataFrame, index: bool = True) -> str:
    """Return lines above a table as HTML; labels are shown as text, whatever characters they hold."""
    said = "<br>".join(html.escape(line) for line in lines)
    table = with_headings(frame).to_html(float_format=_four_decimals, index=index, na_rep="-", escape=True)
    return f"<div><p>{said}</p>{table}</div>"


def _four_decimals(value: float) -> str:
    return f"{value:.4f}"
