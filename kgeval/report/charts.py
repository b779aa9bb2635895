"""Charts of the report page as SVG: differences, bars, a scatter of relations, curves; no plotting library.

`kgeval.report.page_sections` calls these functions. Colours come from the style sheet (classes ``m0`` to ``m7``, one
for each model); from the second model on, bars also have a pattern, lines dashes and marks another shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kgeval.display.html import (
    HEIGHT,
    UNITS,
    Markup,
    dot,
    drawing,
    joined,
    model_class,
    patterned,
    position,
    stroke,
    tag,
)
from kgeval.display.html_tables import short
from kgeval.report.page_numbers import Number, is_number

DASHES = (None, "7 4", "2 3", "9 3 2 3", "12 4", "4 2", "1 4", "6 2 1 2 1 2")


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


# ---- charts with axes ----

SIDE, LEFT, BOTTOM, TOP, RIGHT = 360, 46, 40, 12, 14


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


def log_ticks(high: float) -> list[float]:
    """Return the powers of ten from 1 up to a limit."""
    return [10.0**power for power in range(math.floor(math.log10(max(1.0, high)) + 1e-9) + 1)]


def _text(x: float, y: float, text: str, anchor: str = "middle", **more: Any) -> Markup:
    return tag("text", text, x=round(x, 1), y=round(y, 1), text_anchor=anchor, **more)


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return tag("path", d=f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}", class_=class_)


def scatter(
    points: Sequence[tuple[float, float, float, str]],
    names: tuple[str, str],
    *,
    is_log: bool,
    higher_is_better: bool,
    outliers: Sequence[int],
    label: str,
) -> Markup:
    """Return a square chart of one mark per relation: its value under two models, on equal axes.

    The half in which the model on the vertical axis is better is shaded and labelled.

    Parameters
    ----------
    points : sequence of (float, float, float, str)
        Value of the model on the horizontal axis, value of the model on the vertical axis, number of ranks as a share
        of that of the largest relation (0 to 1), and the name of the relation.
    names : tuple of str
        What the horizontal and the vertical axis show.
    is_log : bool
        Whether the axes are logarithmic; they then start at 1.
    higher_is_better : bool
    outliers : sequence of int
        Indices of the points to be named.
    label : str
        What the chart shows, for screen readers.
    """
    values = [value for x, y, _, _ in points for value in (x, y)] or [0.0, 1.0]
    if is_log:
        top = max(10.0, max(values) * 1.1)
        ticks, low, high = log_ticks(top), 0.0, math.log10(top)
        scale = [math.log10(max(1.0, tick)) for tick in ticks]
    else:
        span = max(values) - min(values)
        low, high = max(0.0, min(values) - 0.04 * span) if min(values) >= 0 else min(values), max(values) + 0.04 * span
        low, high = (low - 0.5, high + 0.5) if not high > low else (low, high)
        high = min(high, 1.02) if max(values) <= 1 else high  # shares do not exceed 1
        ticks = nice_ticks(low, high)
        scale = list(ticks)
    start, end = LEFT, LEFT + SIDE

    def at(value: float) -> float:
        shown = math.log10(max(1.0, value)) if is_log else value
        return (shown - low) / (high - low) * SIDE

    height = TOP + SIDE + BOTTOM
    upper = f"M{start} {TOP + SIDE}L{start} {TOP}L{end} {TOP}z"
    lower = f"M{start} {TOP + SIDE}L{end} {TOP + SIDE}L{end} {TOP}z"
    parts: list[Any] = [tag("path", d=upper if higher_is_better else lower, class_="better")]
    for tick, place in zip(ticks, scale):
        offset = (place - low) / (high - low) * SIDE
        text = f"{tick:,.0f}" if is_log else f"{tick:g}"
        parts += [
            _line(start + offset, TOP, start + offset, TOP + SIDE, "grid"),
            _line(start, TOP + SIDE - offset, end, TOP + SIDE - offset, "grid"),
            _text(start + offset, TOP + SIDE + 15, text, class_="tick"),
            _text(start - 6, TOP + SIDE - offset + 4, text, "end", class_="tick"),
        ]
    parts.append(_line(start, TOP + SIDE, end, TOP, "diagonal"))
    middle = TOP + SIDE / 2
    parts += [
        _text(start + SIDE / 2, TOP + SIDE + 32, names[0]),
        _text(0, 0, names[1], transform=f"translate(12 {middle:g}) rotate(-90)"),
    ]
    corner = (start + 8, TOP + 16, "start") if higher_is_better else (end - 8, TOP + SIDE - 10, "end")
    parts.append(
        _text(corner[0], corner[1], f"better: {names[1].partition(', ')[2] or names[1]}", corner[2], class_="tick")
    )
    for x, y, share, name in points:
        parts.append(
            tag(
                "circle", tag("title", name), cx=round(start + at(x), 1), cy=round(TOP + SIDE - at(y), 1),
                r=round(2.5 + 7 * math.sqrt(share), 1), class_="point",
            )
        )  # fmt: skip
    parts += _named(points, outliers, lambda x, y: (start + at(x), TOP + SIDE - at(y)), (start, end))
    return _figure(parts, LEFT + SIDE + RIGHT, height, label, "square")


def _named(
    points: Sequence[tuple[float, float, float, str]], chosen: Sequence[int], place: Any, edges: tuple[float, float]
) -> list[Markup]:
    """Return the names of some points, beside the points; a name that would overlap another name is left out."""
    texts: list[Markup] = []
    boxes: list[tuple[float, float, float, float]] = []
    for i in chosen:
        x, y, _, name = points[i]
        text = short(name.partition("\n")[0].partition(": ")[0], 26)
        left, top = place(x, y)
        width = 5.6 * len(text)
        for at_end in (left + width + 12 > edges[1], left + width + 12 <= edges[1]):
            first = left - 9 - width if at_end else left + 9
            box = (first, top - 8, first + width, top + 6)
            if first < edges[0] or first + width > edges[1] + 8:
                continue
            if all(box[2] < b[0] or b[2] < box[0] or box[3] < b[1] or b[3] < box[1] for b in boxes):
                boxes.append(box)
                texts.append(_text(first, top + 4, text, "start", class_="name"))
                break
    return texts


def curves(lines: Sequence[dict[str, Any]], x_values: Sequence[int], x_name: str, y_name: str, label: str) -> Markup:
    """Return curves with bands over a logarithmic axis; the name of each curve stands at its end.

    Parameters
    ----------
    lines : sequence of dict
        ``model`` (index), ``name``, and ``values``, ``low``, ``high`` at each of `x_values`, between 0 and 1; None
        leaves a gap.
    x_values : sequence of int
        At least 1.
    x_name, y_name, label : str
    """
    width, height, right = 430, 250, 110
    top = max(2, *x_values)
    start, base = LEFT, TOP + height

    def at(x: float, y: float) -> str:
        return f"{start + math.log10(x) / math.log10(top) * width:.1f} {base - y * height:.1f}"

    parts: list[Any] = []
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        y = base - tick * height
        parts += [
            _line(start, y, start + width, y, "grid"),
            _text(start - 6, y + 4, f"{tick:.1f}", "end", class_="tick"),
        ]
    for x_tick in log_ticks(top):
        x = start + math.log10(x_tick) / math.log10(top) * width
        parts += [_line(x, TOP, x, base, "grid"), _text(x, base + 15, f"{x_tick:,.0f}", class_="tick")]
    ends = []
    for line in lines:
        known = [i for i, value in enumerate(line["values"]) if value is not None]
        both = [i for i in range(len(x_values)) if line["low"][i] is not None and line["high"][i] is not None]
        if len(both) > 1:
            there = [at(x_values[i], line["low"][i]) for i in both]
            back = [at(x_values[i], line["high"][i]) for i in reversed(both)]
            parts.append(tag("path", d=f"M{'L'.join(there + back)}z", class_=f"band {model_class(line['model'])}"))
        if known:
            steps = ["L" if i - 1 in known else "M" for i in known]
            path = "".join(f"{step}{at(x_values[i], line['values'][i])}" for step, i in zip(["M", *steps[1:]], known))
            dash = DASHES[line["model"] % len(DASHES)]
            parts.append(tag("path", d=path, class_=f"curve {model_class(line['model'])}", stroke_dasharray=dash))
            ends.append([base - line["values"][known[len(known) * 3 // 5]] * height, line])
    # The curves meet at 1; their names stand in the order of the curves, beside the plot.
    for place, (_, line) in enumerate(sorted(ends, key=lambda end: end[0])):
        x, y = start + width + 10, TOP + 14 + 17 * place
        sample = tag(
            "path", d=f"M{x} {y - 4}h18", class_=f"curve {model_class(line['model'])}",
            stroke_dasharray=DASHES[line["model"] % len(DASHES)],
        )  # fmt: skip
        parts += [sample, _text(x + 23, y, short(line["name"], 13), "start", class_="name")]
    parts += [
        _text(start + width / 2, base + 32, x_name),
        _text(0, 0, y_name, transform=f"translate(12 {TOP + height / 2:g}) rotate(-90)"),
    ]
    return _figure(parts, LEFT + width + right + RIGHT, TOP + height + BOTTOM, label, "wide")


def counts_scatter(
    points: Sequence[tuple[float, float, float, str]],
    names: tuple[str, str],
    *,
    is_log: bool,
    outliers: Sequence[int],
    label: str,
) -> Markup:
    """Return a chart of one mark per relation: its number of ranks (logarithmic) and its value.

    Parameters
    ----------
    points : sequence of (float, float, float, str)
        Number of ranks, value, share of the largest relation (0 to 1), and the name of the relation.
    names, is_log, outliers, label
        As in `scatter`; `is_log` is for the vertical axis.
    """
    width, height = 470, 280
    top_n = max(10.0, *(n for n, *_ in points)) if points else 10.0
    values = [value for _, value, *_ in points] or [0.0, 1.0]
    low, high = (0.0, math.log10(max(10.0, *values))) if is_log else (min(0.0, *values), max(1e-9, *values) * 1.05)
    ticks = log_ticks(10**high) if is_log else nice_ticks(low, high)
    start, base = LEFT, TOP + height

    def place(n: float, value: float) -> tuple[float, float]:
        y = math.log10(max(1.0, value)) if is_log else value
        x = start + 12 + math.log10(max(1.0, n)) / math.log10(top_n) * (width - 24)
        return x, base - (y - low) / (high - low) * height

    parts: list[Any] = []
    for tick in ticks:
        y = place(1, tick)[1]
        text = f"{tick:,.0f}" if is_log else f"{tick:g}"
        parts += [_line(start, y, start + width, y, "grid"), _text(start - 6, y + 4, text, "end", class_="tick")]
    for x_tick in log_ticks(top_n):
        x = place(x_tick, 1)[0]
        parts += [_line(x, TOP, x, base, "grid"), _text(x, base + 15, f"{x_tick:,.0f}", class_="tick")]
    for n, value, share, name in points:
        x, y = place(n, value)
        mark = tag("title", name)
        parts.append(
            tag("circle", mark, cx=round(x, 1), cy=round(y, 1), r=round(2.5 + 5 * math.sqrt(share), 1), class_="point")
        )
    parts += _named(points, outliers, place, (start, start + width))
    parts += [
        _text(start + width / 2, base + 32, names[0]),
        _text(0, 0, names[1], transform=f"translate(12 {TOP + height / 2:g}) rotate(-90)"),
    ]
    return _figure(parts, LEFT + width + RIGHT, TOP + height + BOTTOM, label, "wide")


def rank_diagram(
    models: Sequence[tuple[str, float]], groups: Sequence[tuple[int, int]], difference: Number, label: str
) -> Markup:
    """Return a critical-difference diagram: an axis of mean ranks; thick lines join models that do not differ.

    Parameters
    ----------
    models : sequence of (str, float)
        Name and mean rank of each model, best mean rank first.
    groups : sequence of (int, int)
        Each group of models among which a test finds no significant difference: the indices in `models` of the first
        and of the last model of the group.
    difference : float or None
        The critical difference, drawn above the axis; None if there is no test.
    label : str
        What the chart shows, for screen readers.

    References
    ----------
    Demšar (2006), Statistical Comparisons of Classifiers over Multiple Data Sets, Journal of Machine Learning
    Research 7.

    Examples
    --------
    >>> diagram = rank_diagram([("A", 1.2), ("B", 1.8), ("C", 3.0)], [(0, 1)], 1.4, "mean ranks")
    >>> diagram.count("A: 1.20"), diagram.count('class="alike"')
    (1, 2)
    """
    k, left, width, row = len(models), 190, 300, 19
    top = TOP + (26 if difference is not None else 6) + 14
    n_left = (k + 1) // 2
    first_row = top + 16 + 9 * len(groups) + 8

    def at(rank: float) -> float:
        return left + (rank - 1) / max(1, k - 1) * width

    parts: list[Any] = [_line(at(1), top, at(k), top, "zero")]
    for tick in range(1, k + 1):
        parts += [_line(at(tick), top - 5, at(tick), top, "zero"), _text(at(tick), top - 9, str(tick), class_="tick")]
    if difference is not None:
        end = min(at(1 + difference), left + width + left - 4)
        parts += [
            _line(at(1), TOP + 12, end, TOP + 12, "alike"),
            _text(at(1), TOP + 6, f"critical difference {difference:.2f}", "start", class_="tick"),
        ]
    for place, (name, rank) in enumerate(models):
        is_left = place < n_left
        y = first_row + row * (place if is_left else k - 1 - place)
        edge = left - 8 if is_left else left + width + 8
        text = f"{short(name, 20)}: {rank:.2f}"
        parts += [
            tag("path", d=f"M{at(rank):.1f} {top}V{y:.1f}H{edge}", class_="zero", fill="none"),
            _text(edge - 4 if is_left else edge + 4, y + 4, text, "end" if is_left else "start", class_="name"),
        ]
    for place, (first, last) in enumerate(groups):
        y = top + 11 + 9 * place
        parts.append(_line(at(models[first][1]) - 4, y, at(models[last][1]) + 4, y, "alike"))
    return _figure(parts, 2 * left + width, first_row + row * n_left, label, "wide")


def _figure(parts: Sequence[Any], width: float, height: float, label: str, class_: str) -> Markup:
    return tag(
        "svg", joined(*parts), class_=f"chart {class_}", viewBox=f"0 0 {width:g} {height:g}", role="img",
        aria_label=label,
    )  # fmt: skip
