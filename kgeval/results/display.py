"""Show results and comparisons as text (``repr``) and as HTML (notebooks): header lines above a table.

`EvaluationResult`, `ClassificationResult` and `Comparison` call this module.
"""

from __future__ import annotations

import html

import pandas as pd

from kgeval.metrics import REASON, display_of


def with_headings(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with readable headings instead of metric keys; a column ``reason`` without any text is left out.

    Parameters
    ----------
    frame : pandas.DataFrame

    Returns
    -------
    pandas.DataFrame
    """
    shown = frame.drop(columns=REASON) if REASON in frame.columns and (frame[REASON] == "").all() else frame
    return shown.rename(columns={name: _heading(str(name)) for name in shown.columns})


def _heading(column: str) -> str:
    """Return the heading of a column, such as ``"MRR"`` for ``"mrr"`` and ``"MRR low"`` for ``"mrr low"``."""
    for end in (" low", " high"):
        if column.endswith(end):
            return display_of(column.removesuffix(end)).heading + end
    return display_of(column).heading


def show_text(lines: list[str], frame: pd.DataFrame, index: bool = True) -> str:
    """Return the header lines and, below them, the table as one text; numbers have four decimals.

    Parameters
    ----------
    lines : list of str
    frame : pandas.DataFrame
    index : bool
        Whether to show the index of the table.

    Returns
    -------
    str
    """
    table = with_headings(frame).to_string(float_format=_four_decimals, index=index, na_rep="-")
    return "\n".join([*lines, "", table])


def show_html(lines: list[str], frame: pd.DataFrame, index: bool = True) -> str:
    """Return the header lines and, below them, the table as HTML; numbers have four decimals, and texts are escaped.

    Parameters
    ----------
    lines : list of str
    frame : pandas.DataFrame
    index : bool
        Whether to show the index of the table.

    Returns
    -------
    str
    """
    paragraph = "<br>".join(html.escape(line) for line in lines)
    table = with_headings(frame).to_html(float_format=_four_decimals, index=index, na_rep="-", escape=True)
    return f"<div><p>{paragraph}</p>{table}</div>"


def _four_decimals(value: float) -> str:
    return f"{value:.4f}"
