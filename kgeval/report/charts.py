"""The small drawings inside cells of tables on pages, and the figures of `kgeval.report.figures` as SVG.

Colours come from the style sheet (classes ``m0`` to ``m14``, one for each model); from the second model on, bars also
have a pattern.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kgeval.display.html import HEIGHT, UNITS, Markup, dot, drawing, model_class, patterned, position, stroke, tag
from kgeval.report import figures
from kgeval.report.figure_svg import svg
from kgeval.report.page_numbers import Number, is_number


def difference_limits(cells: Sequence[Sequence[Number]]) -> tuple[float, float]:
    """Return limits around 0 that contain all differences and intervals.

    Examples
    --------
    >>> difference_limits([(0.1, 0.05, 0.2), (-0.3, None, None)])
    (-0.315, 0.315)
    """
    widest = max((abs(end) for cell in cells for end in cell if end is not None and math.isfinite(end)), default=1.0)
    reach = round((widest or 1.0) * 1.05, 12)
    return -reach, reach


def difference_bar(
    cell: Sequence[Number], limits: tuple[float, float], title: str = "", is_sure: bool = True
) -> Markup:
    """Return a difference (dot) with its interval (line) and a vertical line at 0; open and grey if it is undecided."""
    value, low, high = cell[:3]
    zero = position(0.0, limits)
    parts: list[Any] = [
        stroke(0, UNITS, 1, class_="faint"),
        stroke(zero, zero, 1.5, y1=0, y2=HEIGHT, class_="zero"),
    ]
    if low is not None and high is not None and is_number(low) and is_number(high):
        parts.append(stroke(position(low, limits), position(high, limits), 4))
    if value is not None and is_number(value):
        x = position(value, limits)
        parts.append(dot(x, 9))
        parts.append(None if is_sure else dot(x, 5, class_="hole"))
    return drawing(*parts, title=title, class_="track" if is_sure else "track unsure")


def runs_bar(
    values: Sequence[float], mean: float, limits: tuple[float, float], model: int | None = None, title: str = ""
) -> Markup:
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
    title : str

    Examples
    --------
    >>> runs_bar([0.2, 0.4], 0.3, (0.0, 1.0)).count("<path")
    4
    """
    parts: list[Any] = [stroke(0, UNITS, 1, class_="faint")]
    for value in values:
        if is_number(value):
            x = position(value, limits)
            parts.append(stroke(x, x, 2, y1=3, y2=HEIGHT - 3, stroke_opacity=0.6))
    if is_number(mean):
        parts.append(dot(position(mean, limits), 8))
    return drawing(*parts, title=title, class_="track" if model is None else f"track {model_class(model)}")


def contribution_bar(value: float, limits: tuple[float, float], model: int, title: str = "") -> Markup:
    """Return a bar from 0 to `value`, to the left or to the right, in the colour of a model."""
    zero, end = position(0.0, limits), position(value, limits)
    bar = tag("rect", x=min(zero, end), y=3, width=max(1.0, round(abs(end - zero), 1)), height=HEIGHT - 6)
    parts = [tag("g", bar, fill="currentColor"), stroke(zero, zero, 1.5, y1=0, y2=HEIGHT, class_="zero")]
    return drawing(*parts, title=title, class_=f"track {model_class(model)}")


def share_bar(share: float, tied: float, limit: float, model: int, title: str = "") -> Markup:
    """Return a bar for a share of ranks; the part of the bar for tied ranks is pale.

    Parameters
    ----------
    share, tied : float
        Shares of all ranks: `share` is the length of the bar, `tied` the length of its pale part (ranks that tie with a
        rival).
    limit : float
        The share that fills the width.
    model : int
    title : str
    """
    width, height = 160, 12
    reach = width * share / limit if limit else 0.0
    pale = width * tied / limit if limit else 0.0
    bars = [
        tag("rect", width=round(reach, 1), height=height, rx=1, fill="currentColor"),
        patterned(model, 0, 0, round(reach, 1), height),
        tag("rect", x=round(reach - pale, 1), width=round(pale, 1), height=height, class_="pale") if tied else None,
    ]
    return tag(
        "svg", tag("title", title) if title else None, *bars, class_=f"bar {model_class(model)}",
        viewBox=f"0 0 {width} {height}", width=width, height=height, aria_hidden="true",
    )  # fmt: skip


# ---- figures with axes: `kgeval.report.figures` makes them ----


def rank_distribution(*args: Any) -> Markup:
    """Return `figures.rank_distribution` as SVG."""
    return svg(figures.rank_distribution(*args))


def hits_curve(*args: Any) -> Markup:
    """Return `figures.hits_curve` as SVG."""
    return svg(figures.hits_curve(*args))


def scatter(*args: Any, **more: Any) -> Markup:
    """Return `figures.scatter` as SVG."""
    return svg(figures.scatter(*args, **more))


def counts_scatter(*args: Any, **more: Any) -> Markup:
    """Return `figures.counts_scatter` as SVG."""
    return svg(figures.counts_scatter(*args, **more))


def rank_diagram(*args: Any, **more: Any) -> Markup:
    """Return `figures.rank_diagram` as SVG."""
    return svg(figures.rank_diagram(*args, **more))
