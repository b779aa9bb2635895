"""The small drawings inside cells of tables on pages.

Colours come from the style sheet (classes ``m0`` to ``m14``, one for each model).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from kgeval.base.wording import shown_label, signed
from kgeval.display.differences import edge_of
from kgeval.display.html import HEIGHT, UNITS, Markup, axis_ends, dot, drawing, model_class, position, stroke, tag
from kgeval.display.html_tables import short
from kgeval.display.table import Cell, Column
from kgeval.metrics.grammar import display_of
from kgeval.report.page_report import rows_of

MAX_LABEL = 100  # characters of a relation beside its bar


def runs_bar(values: Sequence[float], mean: float, limits: tuple[float, float], model: int | None = None) -> Markup:
    """Return the values of several runs of one model (short lines) and their mean (dot) between two limits.

    Parameters
    ----------
    values : sequence of float
        One value per run; a NaN is not drawn.
    mean : float
    limits : tuple of float
        The values at the left and at the right edge.
    model : int, optional
        The model whose colour the bar gets; None: no colour of a model.

    Examples
    --------
    >>> runs_bar([0.2, 0.4], 0.3, (0.0, 1.0)).count("<path")
    4
    """
    parts: list[Any] = [stroke(0, UNITS, 1, class_="faint")]
    for value in values:
        if math.isfinite(value):
            x = position(value, limits)
            parts.append(stroke(x, x, 2, y1=3, y2=HEIGHT - 3, stroke_opacity=0.6))
    if math.isfinite(mean):
        parts.append(dot(position(mean, limits), 8))
    return drawing(*parts, class_="track" if model is None else f"track {model_class(model)}")


def moved_columns(groups: pd.DataFrame, metric: str, sums: pd.DataFrame | None = None) -> list[Column]:
    """Return relations with the difference of two models in each, and its contribution to the whole difference.

    The contributions are drawn, too: as bars on one axis, each in the colour of the better model.

    Parameters
    ----------
    groups : pandas.DataFrame
        From `kgeval.comparison.comparison.Comparison.by`, with the place of the better model in the column ``model``.
    metric : str
        The key of its metric.
    sums : pandas.DataFrame, optional
        Last rows, with the columns ``contribution`` and ``n`` alone.
    """
    rows = groups if sums is None else pd.concat([groups, sums])
    limit = edge_of(groups["contribution"].abs().tolist())
    bars = zip(groups["contribution"], groups["model"], groups["decided"])
    cells = [Cell(drawing=partial(contribution_bar, size, limit, model, sure)) for size, model, sure in bars]
    decimals, blank = max(5, display_of(metric).decimals), [Cell()] * (len(rows) - len(groups))
    gaps = Column.of_differences("difference", rows_of(groups), metric, groups["decided"].tolist())
    return [
        Column("relation", labels_of(rows.index), is_label=True),
        Column("size", [*cells, *blank], head=partial(axis_ends, f"-{limit:g}", "0", f"+{limit:g}")),
        replace(gaps, cells=[*gaps.cells, *blank]),
        Column("contribution", [Cell(signed(size, decimals), numbers=(size,)) for size in rows["contribution"]]),
        Column.of_counts("ranks", rows["n"]),
    ]


def labels_of(names: pd.Index[Any]) -> list[Cell]:
    """Return the names of groups; whole labels are under the pointer."""
    return [Cell(short(text, MAX_LABEL), reason=text) for text in (shown_label(str(label)) for label in names)]


def contribution_bar(size: float, limit: float, model: int, is_sure: bool = True) -> Markup:
    """Return a bar from 0 in the middle to `size`, in the colour of a model, pale if undecided; `limit`: both ends."""
    zero, end = (position(value, (-limit, limit)) for value in (0.0, size))
    width = max(1.0, abs(end - zero))
    start = zero if size >= 0.0 else zero - width
    bar = tag("rect", x=start, y=3, width=width, height=HEIGHT - 6, fill="currentColor")
    look = model_class(model) + " undecided" * (not is_sure)
    return drawing(bar, stroke(zero, zero, 1.5, y1=0, y2=HEIGHT, class_="zero"), class_=f"track {look}")
