"""Columns of values of models, with their drawings: intervals on one axis, ties, chance, marks of leaders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from kgeval.comparison.verdict import is_like_chance
from kgeval.display.html import Markup, axis_ends, interval_bar, joined, model_class, scale_of, tag
from kgeval.display.table import Column
from kgeval.metrics.grammar import parse_all
from kgeval.report.page_report import Report, Row
from kgeval.results.keys import Key

Ends = tuple[float, float] | None  # the values with pessimistic and with optimistic ties, where many ranks tie


def drawn(
    column: Column, report: Report, key: str, rows: Sequence[Row], ends: Sequence[Ends], levels: Sequence[float],
    models: Sequence[int] | None = None,
) -> Column:  # fmt: skip
    """Return a column of values with a drawing in each cell, on one axis: bold leaders, grey where it is like chance.

    A bold value can be grey too: if only one of several leaders were bold, it would look like the winner.

    Parameters
    ----------
    column : Column
        Of one metric.
    report : Report
    key : str
        The key of the metric.
    rows : sequence of tuples
        As in `Column.of_values`.
    ends : sequence of (float, float) or None
        The values with pessimistic and with optimistic ties.
    levels : sequence of float
        The chance levels.
    models : sequence of int, optional
        The model of each row; by default one row for each model.
    """
    is_alone = len(report.names) == 1
    numbers = (number for row in [*rows, *(pair or () for pair in ends)] for number in row)
    limits = scale_of([*numbers, *(levels if is_alone else ())], is_close=not is_alone)
    higher, least = bool(Key.parse(key).higher_is_better), Key.parse(key).bounds[0]
    limits = (max(limits[0], least), limits[1]) if limits[1] > least else limits
    cells = []
    for cell, model, row, pair, level in zip(column.cells, models or report.models, rows, ends, levels):
        value, low, high = row[:3]
        colour = f"track {model_class(model)}"
        picture = partial(interval_bar, value, low, high, limits, level, ends=pair, class_=colour)
        tone = "faint" if is_like_chance((value, low, high), level, higher) else ""
        is_best = report.names[model] in report.leaders.get(key, ())
        cells.append(replace(cell, drawing=picture, tone=tone, is_best=is_best))
    return replace(column, cells=cells, head=partial(axis_ends, f"{limits[0]:,g}", "", f"{limits[1]:,g}"))


def shows_chance(column: Column) -> bool:
    """Return whether a drawing of a column, made by `drawn`, has the line of the chance level."""
    made = [cell.drawing.args[3:5] for cell in column.cells if isinstance(cell.drawing, partial)]
    return any(low <= level <= high for (low, high), level in made)


def metric_head(spec: str, axis: Callable[[], Markup] | None = None) -> Markup:
    """Return the heading of a metric with the direction of better values; what it means is under the pointer.

    Parameters
    ----------
    spec : str
    axis : function, optional
        Makes what stands below the heading.
    """
    (metric,) = parse_all([spec])
    arrow, better = ("↑", "Higher") if metric.higher_is_better else ("↓", "Lower")
    about = (type(metric).__doc__ or "").strip().partition("\n")[0]
    about = about.replace("`", "").replace("at most k", f"at most {spec.partition('@')[2]}")
    title = f"{about} {better} is better."
    return joined(tag("span", metric.heading, " ", arrow, title=title), axis() if axis else None)
