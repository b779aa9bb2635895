"""The figures of labels and ranked lists, a function each: calibration, mean curves, a metric place by place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgeval.report.figure import Axis, Bars, Figure, Line, Mark, Panel, nice_ticks, points_of, ticks_of


def calibration(table: pd.DataFrame, title: str, *, has_counts: bool) -> Figure:
    """Return the observed share of positives over the mean probability of each bin, and the bins as bars below.

    Parameters
    ----------
    table : pandas.DataFrame
        The bins that are not empty, from `kgeval.metrics.pointwise.reliability_curve`.
    title : str
    has_counts : bool
        Whether to draw the bars.
    """
    curve = points_of(table["mean_probability"], table["observed"])
    per_bin = Line(curve, 0, marked=tuple(range(len(curve))))
    diagonal = Line(((0.0, 0.0), (1.0, 1.0)), kind="dotted")
    x = Axis.of_values("mean probability per bin", [0.0, 1.0], unit=True)
    y = Axis.of_values("share of positives", [0.0, 1.0], unit=True)
    panels = [Panel(x, y, (diagonal, per_bin))]
    if has_counts:
        top = float(table["n"].max())
        ends = zip(table["low"], np.maximum(table["high"], table["low"] + 0.002), table["n"])
        bars = Bars(tuple((low, 0.0, high, float(n)) for low, high, n in ends), 0)
        counts = Axis("examples", 0.0, 1.08 * top, ticks_of(nice_ticks(0.0, top, 3)))
        panels = [Panel(Axis("", x.low, x.high, x.ticks), y, (diagonal, per_bin)), Panel(x, counts, (bars,), 5.0)]
    return Figure(title, tuple(panels), (("per bin", per_bin), ("calibrated", diagonal)))


def mean_curve(x: Sequence[float], y: Sequence[float], title: str, x_name: str, y_name: str) -> Figure:
    """Return a curve between 0 and 1 on equal axes.

    Parameters
    ----------
    x, y : sequence of float
    title, x_name, y_name : str
    """
    x_axis, y_axis = (Axis.of_values(name, [0.0, 1.0], unit=True) for name in (x_name, y_name))
    return Figure(title, (Panel(x_axis, y_axis, (Line(points_of(x, y), 0, "bold"),), 20.0, is_square=True),))


def steps(table: pd.DataFrame, labels: Sequence[str], title: str) -> Figure:
    """Return a metric of one query place by place: a row per place, the first at the top.

    Parameters
    ----------
    table : pandas.DataFrame
        Of `kgeval.metrics.retrieval.stepwise.Steps`.
    labels : sequence of str
        Of these rows.
    title : str
    """
    legend, x_name, high = _hits(table) if "hits" in table.columns else _terms(table)
    marks = tuple(mark for _, mark in legend)
    low = 0.0
    x = Axis(x_name, low, high, ticks_of(nice_ticks(low, high)))
    return Figure(title, (Panel(x, Axis.of_rows(labels, "place"), marks, len(labels) + 0.4),), legend)


Legend = tuple[tuple[str, Mark], ...]


def _row_bars(values: Any, shift: float, height: float, model: int = 0, kind: str = "full") -> Bars:
    """Return horizontal bars from 0, one per row."""
    ends = [(i + shift - height / 2, i + shift + height / 2, value) for i, value in enumerate(values)]
    return Bars(tuple((0.0, y1, value, y2) for y1, y2, value in ends), model, kind)


def _terms(table: pd.DataFrame) -> tuple[Legend, str, float]:
    """Return the terms of the sum as bars, with their legend; the title of the axis; and its end."""
    rows, terms, columns = np.arange(len(table)), table["term"].fillna(0.0).tolist(), table.columns
    if "ideal gain" in columns:
        ideal = (table["ideal gain"] * table["discount"]).tolist()
        bars = _row_bars(terms, -0.19, 0.36), _row_bars(ideal, 0.19, 0.36, 1, "open")
        top = max([*terms, *ideal])
        return (("this list", bars[0]), ("ideal list", bars[1])), "gain x discount", 1.05 * top or 1.0
    label, x_name, line = next(words for column, *words in TERMS if not column or column in columns)
    legend: list[tuple[str, Mark]] = [(label, _row_bars(terms, 0.0, 0.6))]
    top = max(terms)
    if line in columns:
        look = Line(points_of(table[line], rows), 1, marked=tuple(rows.tolist()))
        legend.append(("chance to get here" if line == "reads" else "1 / place", look))
        x_name = "chance" if line == "reads" else "1 / place"
        top = max(top, table[line].max())
    return tuple(legend), x_name, 1.05 * float(top) or 1.0


# A column of the table, the legend of the bars, the title of the axis, and the column of a line.
TERMS = (
    ("reads", "what the place adds", "chance", "reads"),
    ("precision", "precision at a relevant item", "precision", ""),
    ("first", "first relevant item", "chance", "reciprocal"),
    ("below", "what the place adds", "irrelevant items below", ""),
    ("chance", "what the place adds", "chance x value", ""),
    ("", "what the place adds", "term", ""),
)


def _hits(table: pd.DataFrame) -> tuple[Legend, str, float]:
    """Return precision and recall so far as lines, and relevant items as shaded rows; the same as `_terms`."""
    rows = np.arange(len(table))
    lines: list[tuple[str, Mark]] = [
        (f"{name} so far", Line(points_of(table[name], rows), m, marked=tuple(rows.tolist())))
        for m, name in enumerate(("precision", "recall"))
        if name == "precision" or table[name].notna().any()
    ]
    relevant = np.flatnonzero(table["relevant"] > 0).tolist()
    shaded = Bars(tuple((0.0, i - 0.4, 1.04, i + 0.4) for i in relevant), 0, "shade")
    return ((("relevant item", shaded),) if relevant else ()) + tuple(lines), "share", 1.04
