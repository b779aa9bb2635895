"""A plot that explains the value of a metric place by place. Users import it from `kgeval.report.plots`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kgeval.base.checks import check_positive_int, names_unknown_arguments
from kgeval.errors import MetricError
from kgeval.metrics.retrieval.stepwise import Steps
from kgeval.report.figures import GREY, PALETTE, Sheet, set_ticks, shorten, split_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@names_unknown_arguments()
def steps(
    found: Steps,
    *,
    limit: int = 20,
    names: Mapping[str, str] | None = None,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a metric of one query place by place: one row per place, the first place at the top.

    A bar shows what the place adds to the sum. For DCG and nDCG, a bar in another colour shows what the same
    place of the ideal list adds; for ERR, a line shows the probability that the reader gets to the place. For
    precision, recall and F-beta, two lines show precision and recall so far, and the rows of relevant items are shaded.

    Parameters
    ----------
    found : Steps
        From `kgeval.metrics.retrieval.steps` or ``EvaluationResult.steps``.
    limit : int
        Only the first `limit` places are drawn; the title says how many there are.
    names : mapping of str to str, optional
        The names to show in place of the labels of items.
    style, ax, title
        See `kgeval.report.plots`. By default the title is the formula.

    Raises
    ------
    MetricError
        If `found` has no places, or is not what `steps` returns.
    """
    check_positive_int("limit", limit, MetricError)
    if not isinstance(found, Steps):
        raise MetricError(f"plots.steps needs what steps(...) returns; got {type(found).__name__}")
    if not len(found.table):
        raise MetricError(f"there is nothing to draw: {found.metric} of {found.query} has no places")
    table, shown_names = found.table.iloc[:limit], split_names(names or {})[1]
    is_paper = style == "paper"
    sheet = Sheet.of(style, ax, (1.25 if is_paper else 1.6) + (0.19 if is_paper else 0.27) * len(table))
    draw = _draw_hits if "hits" in table.columns else _draw_terms
    handles, labels, x = draw(sheet, table)
    set_ticks(
        sheet.axes, [_row_label(row, shown_names, 20 if is_paper else 30) for row in table.to_dict("records")], "y"
    )
    sheet.axes.set_ylim(len(table) - 0.4, -0.6)
    left_out = f"\nthe first {len(table):,} of {len(found.table):,} places" if len(table) < len(found.table) else ""
    heading = f"{found.metric} of {found.query}\n{found.formula}" if title is None else title
    sheet.set_labels((heading + left_out).strip("\n"), x, "place")
    sheet.add_legend(handles, labels)
    return sheet.finish()


def _row_label(row: Mapping[Any, Any], shown_names: Mapping[str, str], width: int) -> str:
    """Return the label of a place: its number, and its item if that is known."""
    item = str(row.get("item", ""))
    return f"{shorten(shown_names.get(item, item), width)}  {row['place']:g}".strip()


def _draw_terms(sheet: Sheet, table: pd.DataFrame) -> tuple[list[Any], list[str], str]:
    """Draw the terms of the sum as bars; return the handles and labels of the legend, and the label of the x axis."""
    axes, rows = sheet.axes, np.arange(len(table))
    has_ideal = "ideal gain" in table.columns
    height, shift = (0.36, 0.19) if has_ideal else (0.6, 0.0)
    handles = [axes.barh(rows - shift, table["term"].fillna(0.0), height, color=PALETTE[0])]
    labels, x = ["what the place adds"], "term"
    if has_ideal:
        ideal = table["ideal gain"] * table["discount"]
        look = {"facecolor": "white", "edgecolor": PALETTE[1], "hatch": "////", "linewidth": 0.8}
        handles.append(axes.barh(rows + shift, ideal, height, **look))
        labels, x = ["this list", "ideal list"], "gain x discount"
    elif "reads" in table.columns:
        look = {**sheet.line_style(1), "linestyle": "--"}
        handles += axes.plot(table["reads"], rows, **look)
        labels.append("chance to get here")
        x = "chance"
    elif "precision" in table.columns:
        labels, x = ["precision at a relevant item"], "precision"
    elif "first" in table.columns:
        labels, x = ["first relevant item"], "chance"
        if "reciprocal" in table.columns:
            look = {"color": GREY, "linestyle": ":", "linewidth": sheet.style.line}
            handles += axes.plot(table["reciprocal"], rows, **look)
            labels, x = ["first relevant item", "1 / place"], "1 / place"
    elif "below" in table.columns:
        x = "irrelevant items below"
    elif "chance" in table.columns:
        x = "chance x value"
    axes.set_xlim(left=0.0)
    return handles, labels, x


def _draw_hits(sheet: Sheet, table: pd.DataFrame) -> tuple[list[Any], list[str], str]:
    """Draw precision and recall so far as lines, and the relevant items as dots; return the same as `_draw_terms`."""
    axes, rows = sheet.axes, np.arange(len(table))
    handles = axes.plot(table["precision"], rows, **sheet.line_style(0))
    labels = ["precision so far"]
    if table["recall"].notna().any():
        handles += axes.plot(table["recall"], rows, **sheet.line_style(1))
        labels.append("recall so far")
    is_relevant = (table["relevant"] > 0).to_numpy()
    look = {"color": PALETTE[0], "linewidth": 0, "alpha": 0.15}
    if is_relevant.any():
        handles.append(axes.barh(rows[is_relevant], 1.04, 0.8, **look))
        labels.append("relevant item")
    axes.set_xlim(0.0, 1.04)
    return handles, labels, "share"
