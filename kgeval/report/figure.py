"""`Figure`: a figure as a value - axes in words with their ticks, marks in units of the data, and a legend.

`kgeval.report.figures` makes figures of results; `kgeval.report.figure_svg` draws them for pages and
`kgeval.report.figure_matplotlib` for notebooks and papers. Numbers, orders and marks are decided here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # x, y of one corner or end, x, y of the other
Ticks = tuple[tuple[float, str], ...]
GAP = (math.nan, math.nan)
SPARE = 4  # characters by which a line of a broken label may be too long, so that no word breaks


@dataclass(frozen=True)
class Line:
    """A line through points, interrupted at a NaN.

    Parameters
    ----------
    points : tuple of (x, y)
    model : int, optional
        The place of the model, which gives the colour; None: grey.
    kind : str
        ``"curve"``, with the dash and the marker of the model; ``"interval"``; ``"bold"``, a mean;
        ``"thick"``; ``"dotted"``, a reference; ``"ink"``, a thin dark line.
    marked : tuple of int
        The points that have a marker.
    opacity : float
    """

    points: tuple[Point, ...]
    model: int | None = None
    kind: str = "curve"
    marked: tuple[int, ...] = ()
    opacity: float = 1.0

    @classmethod
    def of_parts(cls, parts: Iterable[Box], kind: str, model: int | None = None) -> Line:
        """Return separate straight lines as one line."""
        return cls(tuple(point for x1, y1, x2, y2 in parts for point in ((x1, y1), (x2, y2), GAP)), model, kind)


@dataclass(frozen=True)
class Area:
    """A pale polygon behind other marks: the band around the curve of a model."""

    corners: tuple[Point, ...]
    model: int


@dataclass(frozen=True)
class Dots:
    """Marks of a model, filled (decided) or open (undecided).

    Parameters
    ----------
    points : tuple of (x, y)
    model : int
    filled : tuple of bool
    """

    points: tuple[Point, ...]
    model: int
    filled: tuple[bool, ...]


@dataclass(frozen=True)
class Bars:
    """Rectangles of a model: ``"full"`` with its pattern, or ``"pale"``; None: dark.

    With a `shade`, which is an opacity, they are parts of rows and have borders.
    """

    boxes: tuple[Box, ...]
    model: int | None
    kind: str = "full"
    shade: float | None = None


@dataclass(frozen=True)
class Texts:
    """Texts in a panel: ``(x, y, text)``, their middle, start or end at x and their lower edge a little above y.

    Those that stand inside of bars have no halo.
    """

    items: tuple[tuple[float, float, str], ...]
    align: str = "middle"
    is_inside: bool = False


Mark = Line | Area | Dots | Bars | Texts


@dataclass(frozen=True)
class Axis:
    """An axis: its title in words, its limits, which may be in falling order, and its ticks.

    Parameters
    ----------
    title : str
    low, high : float
        The values at the left or lower end, and at the other end.
    ticks : tuple of (float, str)
    is_log : bool
    has_names : bool
        Whether the ticks are names, of which none may be left out.
    """

    title: str
    low: float
    high: float
    ticks: Ticks
    is_log: bool = False
    has_names: bool = False

    def share(self, value: float) -> float:
        """Return where a value lies: 0 at the low end, 1 at the high end."""
        ends = self.low, self.high, value
        low, high, value = map(math.log10, ends) if self.is_log else ends
        return (value - low) / (high - low)

    def at(self, share: float) -> float:
        """Return the value at a place, for which `share` returns this place."""
        if self.is_log:
            return self.low * math.pow(self.high / self.low, share)
        return self.low + (self.high - self.low) * share

    @classmethod
    def of_rows(cls, labels: Sequence[str], title: str = "", *, is_falling: bool = True) -> Axis:
        """Return the axis of rows at 0, 1, ..., the first at the top, or of groups from left to right."""
        low, high = (len(labels) - 0.4, -0.6) if is_falling else (-0.6, len(labels) - 0.4)
        return cls(title, low, high, tuple(enumerate(labels)), has_names=True)

    @classmethod
    def of_values(cls, title: str, values: Sequence[float], *, unit: bool = False) -> Axis:
        """Return an axis with a margin around the finite values; `unit`: within 0 and 1 if they lie there."""
        known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low, high = min(known), max(known)
        margin = 0.05 * (high - low) or 0.5 * abs(high) or 0.5
        ends = low - margin, high + margin
        if unit and low >= 0.0 and high <= 1.0:
            ends = max(-0.02, ends[0]), min(1.02, ends[1])
        return cls(title, *ends, ticks_of(*ends, 6))


@dataclass(frozen=True)
class Panel:
    """Axes with their marks.

    Parameters
    ----------
    x, y : Axis
    marks : tuple of marks
        Drawn in this order.
    height : float
        In rows of text; 0: as high as the medium makes panels without rows of their own.
    right : tuple of (float, str)
        Labels at the right edge.
    is_mirrored : bool
        Whether y has its ticks at the right edge, and the labels `right` are at the left edge.
    has_frame : bool
        Whether the frame and the ticks of x are drawn.
    """

    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    height: float = 0.0
    right: Ticks = ()
    is_mirrored: bool = False
    has_frame: bool = True

    def has_grid(self, axis: Axis) -> bool:
        """Return whether the ticks of an axis have lines across the panel."""
        return not (axis.has_names and (axis is self.x or any(isinstance(mark, Bars) for mark in self.marks)))

    def longest(self, limit: int) -> int:
        """Return how many of `limit` characters a label has; names at both sides leave room for the axis."""
        return 3 * limit // 4 if self.right else limit


@dataclass(frozen=True)
class Figure:
    """A figure: what it shows, its panels from top to bottom, and its legend.

    Parameters
    ----------
    title : str
        What the figure shows; the first words of screen readers.
    panels : tuple of Panel
    legend : tuple of (str, mark)
        A label, and a mark that looks like the marks which it explains.
    cautions : tuple of str
        Lines below the title, which a title of the user does not replace.
    """

    title: str
    panels: tuple[Panel, ...]
    legend: tuple[tuple[str, Mark], ...] = ()
    cautions: tuple[str, ...] = ()


def nice_ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return about `n` round numbers between two limits.

    Examples
    --------
    >>> nice_ticks(0.0, 1.0), nice_ticks(0.13, 0.38)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.15, 0.2, 0.25, 0.3, 0.35])
    """
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / n))
    step *= next((factor for factor in (1, 2, 2.5, 5, 10) if (high - low) / (step * factor) <= n), 10)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def points_of(x: Any, y: Any) -> tuple[Point, ...]:
    """Return the points of a line, of two arrays or columns; None becomes NaN."""
    return tuple(zip(*(np.asarray(values, dtype=np.float64).tolist() for values in (x, y))))


def ticks_of(low: float, high: float, n: int = 5) -> Ticks:
    """Return about `n` round numbers between two limits, with their texts."""
    return tuple((value, f"{value:,g}") for value in nice_ticks(low, high, n))


def in_lines(label: str, limit: int) -> str:
    """Return a label; of more than `limit` characters, in two lines, broken behind a slash where this is possible.

    Examples
    --------
    >>> in_lines("/people/person/nationality (988)", 20), in_lines("people", 20), in_lines("x" * 8, 6)
    ('/people/person/\\nnationality (988)', 'people', 'xxxxxx\\nxx')
    """
    if len(label) <= limit:
        return label
    breaks = {found.end(): found[0] for found in re.compile("[/_. ]").finditer(label, 3)}
    longest = {at: max(limit + SPARE, at, len(label) - at) for at in (*breaks, limit)}
    at = min(longest, key=lambda at: (longest[at], breaks.get(at) != "/", at not in breaks, -at))
    return f"{label[:at].rstrip()}\n{label[at:]}"
