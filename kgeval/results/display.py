"""Show results and comparisons as text (``repr``), and make the tables and bars of their panels (notebooks).

`EvaluationResult`, `ClassificationResult` and `Comparison` call this module.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from kgeval.data.sides import RELATION
from kgeval.markup import Markup, printable
from kgeval.markup_panels import Bar, written
from kgeval.markup_panels import table as panel_table
from kgeval.metrics.grammar import display_of
from kgeval.metrics.metric_frames import REASON
from kgeval.results.keys import Key
from kgeval.results.rank_table import CONFIDENCE, RankTable
from kgeval.terminal import Column, Screen

MAX_TIES = 0.01  # if a larger share of the ranks ties, the values with pessimistic and with optimistic ties are shown
LABELS = ("first", "second", "better", REASON)  # columns of texts that may be shortened to fit the terminal


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

    On a terminal, the lines and the table are fitted to its width; columns that do not fit are left out.

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
    screen = replace(Screen.of(sys.stdout), has_styles=False)
    table = with_headings(frame)
    labels = [label if isinstance(label, tuple) else (label,) for label in table.index] if index else []
    names = ["" if name is None else str(name) for name in table.index.names] if index else []
    columns = [
        Column(name, [printable(str(label[i])) for label in labels], is_label=True) for i, name in enumerate(names)
    ]
    for i, name in enumerate(table.columns):
        is_label = name in LABELS
        place = None if i == 0 or is_label else len(table.columns) - i
        cells = [_cell(value) for value in table.iloc[:, i].tolist()]
        columns.append(Column(printable(str(name)), cells, is_label, place))
    return "\n".join([*map(screen.wrapped, lines), "", screen.table(columns)])


def html_table(frame: pd.DataFrame, index: bool = True) -> Markup:
    """Return a table as HTML for the panel of an object.

    Parameters
    ----------
    frame : pandas.DataFrame
    index : bool
        Whether to show the index of the table.

    Returns
    -------
    Markup
    """
    flat = frame.reset_index() if index else frame
    columns = [flat.iloc[:, i].tolist() for i in range(len(flat.columns))]
    decimals = [display_of(str(name)).decimals for name in flat.columns]
    cells = [[_html_cell(value, places) for value in values] for values, places in zip(columns, decimals)]
    numeric = [i for i, values in enumerate(columns) if i and all(isinstance(x, (int, float)) for x in values)]
    headings = [_heading(str(name)) for name in flat.columns]
    return panel_table(headings, zip(*cells), numeric)


def _html_cell(value: object, decimals: int) -> str:
    """Return the text of a value in a table of a panel."""
    if isinstance(value, float):
        return written(value, decimals)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def tie_ends(ranks: RankTable, metric: str) -> tuple[float, float] | None:
    """Return the values of a metric with pessimistic and with optimistic ties; None if at most 1% of the ranks tie.

    The ranks are those of the entity sides, or for a metric of the relation side those of this side.

    Parameters
    ----------
    ranks : RankTable
    metric : str
        A key, as in `EvaluationResult.value`.

    Returns
    -------
    tuple of float, or None
        None also if one of the two values is undefined.
    """
    key = Key.parse(metric)
    if not ranks.tie_rate_of(RELATION if key.side == RELATION else "both") > MAX_TIES:
        return None
    pessimistic, optimistic = (ranks.value(replace(key, ties=ties)).value for ties in ("pessimistic", "optimistic"))
    return (pessimistic, optimistic) if math.isfinite(pessimistic) and math.isfinite(optimistic) else None


def metric_bars(ranks: RankTable, metrics: Sequence[str]) -> list[Bar]:
    """Return the values of metrics for a panel, with intervals, chance levels, and ranges over tie policies.

    Parameters
    ----------
    ranks : RankTable
    metrics : sequence of str
        Keys, as in `EvaluationResult.value`.

    Returns
    -------
    list of Bar
        Each bar has the value of a metric, its chance level, and the interval that `EvaluationResult.interval` returns
        by default. If more than 1% of the ranks tie, it also has the values with pessimistic and with optimistic ties.
    """
    clusters = ranks.row_clusters("triple")
    bars = []
    for metric in metrics:
        key = Key.parse(metric)
        value, interval = ranks.value(key), ranks.interval(key, confidence=CONFIDENCE, clusters=clusters)
        bars.append(
            Bar(
                display_of(metric).heading,
                value.value,
                interval.low,
                interval.high,
                display_of(metric).decimals,
                ranks.value(key, at_chance=True).value,
                tie_ends(ranks, metric),
                value.reason or interval.remark,
            )
        )
    return bars


def _cell(value: object) -> str:
    """Return the text of a value in a table: numbers with four decimals, counts as they are, NaN as a dash."""
    if isinstance(value, float):
        return "-" if math.isnan(value) else _four_decimals(value)
    return printable(str(value))


def _four_decimals(value: float) -> str:
    return f"{value:.4f}"
