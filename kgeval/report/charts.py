"""The small drawings inside cells of tables on pages.

Colours come from the style sheet (classes ``m0`` to ``m14``, one for each model).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kgeval.display.html import HEIGHT, UNITS, Markup, dot, drawing, model_class, position, stroke, tag


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
        if math.isfinite(value):
            x = position(value, limits)
            parts.append(stroke(x, x, 2, y1=3, y2=HEIGHT - 3, stroke_opacity=0.6))
    if math.isfinite(mean):
        parts.append(dot(position(mean, limits), 8))
    return drawing(*parts, title=title, class_="track" if model is None else f"track {model_class(model)}")


def contribution_bar(value: float, limits: tuple[float, float], model: int, title: str = "") -> Markup:
    """Return a bar from 0 to `value`, to the left or to the right, in the colour of a model."""
    zero, end = position(0.0, limits), position(value, limits)
    bar = tag("rect", x=min(zero, end), y=3, width=max(1.0, round(abs(end - zero), 1)), height=HEIGHT - 6)
    parts = [tag("g", bar, fill="currentColor"), stroke(zero, zero, 1.5, y1=0, y2=HEIGHT, class_="zero")]
    return drawing(*parts, title=title, class_=f"track {model_class(model)}")
