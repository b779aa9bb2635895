"""A `Figure` as SVG for a page: no script, colours from the style sheet (classes ``m0`` to ``m14``, one a model)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kgeval.base.terminal import distinct_labels
from kgeval.display.html import N_PATTERNS, Markup, model_class, tag
from kgeval.display.html_tables import short
from kgeval.report.colours import DASHES, MARKERS
from kgeval.report.figure import GAP, Area, Bars, Box, Dots, Figure, Line, Mark, Panel, Point

WIDTH, ROW, TEXT, EDGE, ROWS = 460, 17, 11, 3, 15  # pixels; ROWS: height of a panel without rows of its own, in rows
LABEL = 26  # characters of a tick
EM = 0.59 * TEXT  # the usual width of a character
LINE, RADIUS = 2.0, 3.4


def svg(figure: Figure) -> Markup:
    """Return a figure as an SVG element, as wide as half a page; pictures of 15 models are as wide as those of one.

    Parameters
    ----------
    figure : Figure

    Examples
    --------
    >>> from kgeval.report.figure import Axis, Panel
    >>> panel = Panel(Axis.of_values("x", [0, 1]), Axis.of_values("y", [0, 2]), (Line(((0, 0), (1, 2)), model=3),))
    >>> drawn = svg(Figure("a line", (panel,)))
    >>> 'role="img"' in drawn, "<title>a line</title>" in drawn, 'class="curve line m3"' in drawn
    (True, True, True)
    """
    left, right = EDGE + 6.0, WIDTH - EDGE - max(_width_of(panel.x.ticks[-1:]) / 2 for panel in figure.panels)
    for panel in figure.panels:
        named, limit = _width_of(panel.right, panel.longest(LABEL)), panel.longest(LABEL)
        beside = _width_of(panel.y.ticks, limit) + (TEXT + 6 if panel.y.title else 0), named
        at_left, at_right = beside[::-1] if panel.is_mirrored else beside
        left, right = max(left, EDGE + 6 + at_left), min(right, WIDTH - EDGE - 6 * bool(at_right) - at_right)
    top, parts = 0.7 * TEXT, []
    for panel in figure.panels:
        bottom = top + (panel.height or ROWS) * ROW
        below, drawn = _panel(panel, (left, top, right, bottom))
        parts.append(drawn)
        top = bottom + below
    entries, height = _legend(figure.legend, left, top)
    title = figure.title.replace("\n", ": ")
    about = [tag("title", title), tag("desc", _described(figure))]
    box = f"0 0 {WIDTH} {math.ceil(top + height)}"
    return tag("svg", *about, *parts, *entries, class_="chart", viewBox=box, role="img", aria_label=title)


def _described(figure: Figure) -> str:
    """Return the axes and the legend in words."""
    axes = [f"{axis.title}: {axis.ticks[0][1]} to {axis.ticks[-1][1]}" for panel in figure.panels
            for axis in (panel.x, panel.y) if axis.title and axis.ticks]  # fmt: skip
    named = [f"shown: {', '.join(label for label, _ in figure.legend)}"] if figure.legend else []
    return ". ".join(dict.fromkeys([*axes, *named, *figure.cautions])) + "."


def _width_of(ticks: Sequence[tuple[float, str]], limit: int = LABEL) -> float:
    """Return the width that labels beside a panel need, in pixels."""
    return max((EM * min(len(text), limit) for _, text in ticks), default=0.0)


def _text(x: float, y: float, text: str, anchor: str, kind: str | None = None, **more: Any) -> Markup:
    return tag("text", text, x=round(x, 1), y=round(y, 1), text_anchor=anchor, class_=kind, **more)


def _path(points: Sequence[Point], kind: str, close: str = "", **more: Any) -> Markup:
    """Return straight lines through points; a NaN interrupts them."""
    found, pen = [], "M"
    for x, y in points:
        found += [] if math.isnan(x + y) else [f"{pen}{x:.1f} {y:.1f}"]
        pen = "M" if math.isnan(x + y) else "L"
    return tag("path", d="".join(found) + close, class_=kind, **more)


def _panel(panel: Panel, box: Box) -> tuple[float, Markup]:
    """Return the height of ticks and title below a panel, and the panel: grid, marks, ticks, titles."""
    left, top, right, bottom = box

    def place(point: Point) -> Point:
        return left + panel.x.share(point[0]) * (right - left), bottom - panel.y.share(point[1]) * (bottom - top)

    grid = [((x, panel.y.low), (x, panel.y.high)) for x, _ in panel.x.ticks if panel.has_grid(panel.x)]
    grid += [((panel.x.low, y), (panel.x.high, y)) for y, _ in panel.y.ticks if panel.has_grid(panel.y)]
    lines = [point for one, two in grid for point in (place(one), place(two), GAP)]
    parts: list[Any] = [_path(lines, "grid")]
    for mark in panel.marks:
        parts += _mark(mark, place)
    edges = [(left - 5, "end"), (right + 5, "start")]
    for (x, anchor), ticks in zip(edges[:: -1 if panel.is_mirrored else 1], (panel.y.ticks, panel.right)):
        shown = distinct_labels([text for _, text in ticks], panel.longest(LABEL))
        parts += [_text(x, place((panel.x.low, y))[1] + 4, one, anchor, "tick") for (y, _), one in zip(ticks, shown)]
    places = [(place((x, panel.y.low))[0], text) for x, text in panel.x.ticks]
    below, drawn = _ticks_below(places, bottom, panel.x.has_names)
    parts += drawn
    if panel.x.title:
        below += TEXT + 6
        parts.append(_text((left + right) / 2, bottom + below, panel.x.title, "middle"))
    turned = f"translate({WIDTH - 4 if panel.is_mirrored else TEXT} {(top + bottom) / 2:.1f}) rotate(-90)"
    parts.append(_text(0, 0, panel.y.title, "middle", transform=turned) if panel.y.title else None)
    return below + 1.5 * TEXT, tag("g", *parts)


def _ticks_below(places: Sequence[tuple[float, str]], y: float, has_names: bool) -> tuple[float, list[Markup]]:
    """Return the height of the labels below a panel, and the labels; names that have no room stand upright."""
    half = [0.5 * EM * max(map(len, text.split("\n"))) + 2 for _, text in places]
    pairs = zip(zip(places, half), zip(places[1:], half[1:]))
    need = max(((a + b) / (two - one) for ((one, _), a), ((two, _), b) in pairs), default=0.0)
    if has_names and need > 1.0:
        turned = [(x, short(text.replace("\n", " "), LABEL)) for x, text in places]
        return _width_of(turned) + 14, [
            _text(0, 0, text, "end", "tick", transform=f"translate({x + 4:.1f} {y + 5:.1f}) rotate(-90)")
            for x, text in turned
        ]
    shown = places[:: max(1, math.ceil(need))]
    lines = [(x, i, line) for x, text in shown for i, line in enumerate(text.split("\n"))]
    height = (TEXT + 4.0) * (1 + max((i for _, i, _ in lines), default=-1))
    return height, [_text(x, y + (TEXT + 3) * (i + 1), line, "middle", "tick") for x, i, line in lines]


def _mark(mark: Mark, place: Callable[[Point], Point]) -> list[Any]:
    """Return a mark as SVG elements."""
    if isinstance(mark, Line):
        points = [place(point) for point in mark.points]
        kind = f"{mark.kind} line {'' if mark.model is None else model_class(mark.model)}".strip()
        dash = DASHES[(mark.model or 0) % N_PATTERNS] if mark.kind == "curve" else ()
        look: dict[str, Any] = {
            "stroke_dasharray": " ".join(f"{LINE * part:g}" for part in dash) or None,
            "stroke_opacity": mark.opacity if mark.opacity < 1.0 else None,
        }
        signs = [_sign(*points[i], mark.model or 0) for i in mark.marked if not math.isnan(sum(mark.points[i]))]
        return [_path(points, kind, **look), tag("g", *signs, class_=model_class(mark.model or 0)) if signs else None]
    if isinstance(mark, Area):
        return [_path([place(corner) for corner in mark.corners], f"band {model_class(mark.model)}", "z")]
    if isinstance(mark, Dots):
        known = [pair for pair in zip(mark.points, mark.filled) if not math.isnan(sum(pair[0]))]
        signs = [_sign(*place(point), mark.model, is_filled) for point, is_filled in known]
        return [tag("g", *signs, class_=model_class(mark.model))]
    if isinstance(mark, Bars):
        kind, outlines = f"{mark.kind}-bar {'' if mark.model is None else model_class(mark.model)}".strip(), ""
        kind, drawn = kind if mark.shade is None else f"{kind} hole", []
        for box in mark.boxes:
            (x1, y1), (x2, y2) = place(box[:2]), place(box[2:])
            x, y, width, height = (round(v, 1) for v in (min(x1, x2), min(y1, y2), abs(x2 - x1), abs(y2 - y1)))
            drawn.append(tag("rect", x=x, y=y, width=width, height=height, class_=kind, fill_opacity=mark.shade))
            outlines += f"M{x} {y}h{width}v{height}h-{width}z"
        pattern = (mark.model or 0) % N_PATTERNS if mark.kind == "full" else 0
        return [*drawn, tag("path", d=outlines, fill=f"url(#pattern-{pattern})") if pattern else None]
    placed = [(*place((x, y)), text.split("\n")[::-1]) for x, y, text in mark.items]
    up = -4 if mark.is_inside else 4
    lines = [(x, y - up - i * (TEXT + 2), text) for x, y, texts in placed for i, text in enumerate(texts)]
    return [_text(x, y, text, mark.align, "value" if mark.is_inside else "name") for x, y, text in lines]


def _sign(x: float, y: float, model: int, is_filled: bool = True) -> Markup:
    """Return one mark: the marker of a model."""
    outline, turned = MARKERS[model % len(MARKERS)][1], f"translate({x:.1f} {y:.1f}) scale({RADIUS})"
    return tag("path", d=outline, transform=turned, class_="sign" if is_filled else "sign open")


def _legend(legend: Sequence[tuple[str, Mark]], left: float, top: float) -> tuple[list[Any], float]:
    """Return the legend below the panels, in as many columns as fit, and its height."""
    if not legend:
        return [], 0.0
    texts = [short(text, LABEL) for text, _ in legend]
    width = 44 + EM * max(map(len, texts))
    columns = max(1, int((WIDTH - left) // width))
    rows, parts = math.ceil(len(legend) / columns), []
    for i, (text, (_, mark)) in enumerate(zip(texts, legend)):
        x, y = left + (i % columns) * width, top + 4 + (i // columns) * (TEXT + 6)

        def place(point: Point, x: float = x, y: float = y) -> Point:
            return x + 24 * point[0], y - 10 * point[1]

        parts += [*_mark(_sample_of(mark), place), _text(x + 30, y + 4, text, "start", "name")]
    return parts, rows * (TEXT + 6) + 6.0


def _sample_of(mark: Mark) -> Mark:
    """Return a mark for the legend, which fills x from 0 to 1 and y around 0."""
    if isinstance(mark, Line):
        return replace(mark, points=((0.0, 0.0), (0.5, 0.0), (1.0, 0.0)), marked=(1,) if mark.marked else ())
    if isinstance(mark, Dots):
        return Dots(((0.5, 0.0),), mark.model, mark.filled[:1])
    return replace(mark, boxes=((0.1, -0.5, 0.9, 0.5),)) if isinstance(mark, Bars) else mark
