"""`interval_bar`: a small drawing of a value with its interval, for the report page and for notebooks.

The drawing is SVG. It has the colour of the text around it, so it needs no style sheet.
"""

from __future__ import annotations

import math
from typing import Any

from kgeval.markup import Markup, joined, tag

UNITS = 1000  # a drawing is `UNITS` wide and `HEIGHT` high, in the units of its coordinates
HEIGHT = 20


def position(value: float, limits: tuple[float, float]) -> float:
    """Return the position of a value in a drawing: 0 for the low limit, `UNITS` for the high limit.

    A value outside the limits gets the position of the nearer limit.

    Parameters
    ----------
    value : float
    limits : tuple of float
        The values at the left and at the right edge.

    Examples
    --------
    >>> position(0.5, (0.0, 2.0)), position(7.0, (0.0, 2.0)), position(1.0, (1.0, 1.0))
    (250.0, 1000.0, 500.0)
    """
    low, high = limits
    if not high > low:
        return UNITS / 2
    return round(min(1.0, max(0.0, (value - low) / (high - low))) * UNITS, 1)


def stroke(
    x1: float, x2: float, width: float, *, y1: float = HEIGHT / 2, y2: float = HEIGHT / 2, **more: Any
) -> Markup:
    """Return a line for a drawing; if the drawing is stretched, the line keeps its width, which is in pixels.

    Parameters
    ----------
    x1, x2, y1, y2 : float
        In the units of the drawing.
    width : float
        In pixels.
    **more
        Further attributes.
    """
    attributes = {"stroke": "currentColor"} | more
    return tag(
        "path", d=f"M{x1:g} {y1:g}L{x2:g} {y2:g}", stroke_width=width, vector_effect="non-scaling-stroke", **attributes
    )


def dot(x: float, size: float = 8, **more: Any) -> Markup:
    """Return a round mark: a very short line with round ends, which stays round if the drawing is stretched."""
    return stroke(x, x + 0.1, size, stroke_linecap="round", **more)


def drawing(*parts: object, title: str = "", width: int = 120, class_: str | None = None) -> Markup:
    """Return an SVG drawing of `parts`, whose x coordinates are between 0 and `UNITS`.

    Screen readers skip the drawing, because its numbers are given as text beside it.
    """
    return tag(
        "svg",
        tag("title", title) if title else None,
        joined(*parts),
        class_=class_,
        viewBox=f"0 0 {UNITS} {HEIGHT}",
        preserveAspectRatio="none",
        width=width,
        height=HEIGHT,
        fill="none",
        aria_hidden="true",
    )


def interval_bar(
    value: float,
    low: float,
    high: float,
    limits: tuple[float, float],
    chance: float | None = None,
    *,
    ends: tuple[float, float] | None = None,
    title: str = "",
    class_: str | None = None,
) -> Markup:
    """Return a drawing of a value (dot) with its interval (thick line) between two limits.

    Parameters
    ----------
    value, low, high : float
        A NaN is not drawn.
    limits : tuple of float
        The values at the left and at the right edge; use the same limits for all values to be compared.
    chance : float, optional
        The chance level, a short vertical line; it is not drawn outside the limits.
    ends : tuple of float, optional
        The values with pessimistic and with optimistic ties, joined by a thin line.
    title : str
        Text that is shown while the pointer is on the drawing.
    class_ : str, optional
        The class of the SVG element.

    Examples
    --------
    >>> bar = interval_bar(0.3, 0.2, 0.4, (0.0, 1.0), chance=0.1)
    >>> bar.count("<path"), "M200 10L400 10" in bar
    (4, True)
    """
    parts = [stroke(0, UNITS, 1, stroke_opacity=0.25)]
    if chance is not None and limits[0] <= chance <= limits[1]:
        x = position(chance, limits)
        parts.append(stroke(x, x, 1.5, y1=2, y2=HEIGHT - 2, stroke_opacity=0.7))
    if ends is not None and all(map(math.isfinite, ends)):
        x1, x2 = (position(end, limits) for end in ends)
        parts += [stroke(x1, x2, 1.5), *(stroke(x, x, 1.5, y1=5, y2=HEIGHT - 5) for x in (x1, x2))]
    if math.isfinite(low) and math.isfinite(high):
        parts.append(stroke(position(low, limits), position(high, limits), 9, stroke_opacity=0.4))
    if math.isfinite(value):
        parts.append(dot(position(value, limits), 6))
    return drawing(*parts, title=title, class_=class_)
