"""HTML from Python: elements whose text is escaped, drawings of values with their intervals, and panels for notebooks.

`tag` makes an element; `Markup` is a string that is HTML already, and every other value is escaped as text, so tags in
a label have no effect. `interval_bar` draws a value with its interval, as SVG in the colour of the text around it. A
panel is what a notebook shows for an object: a title, numbers with bars, and details. It loads no files and runs no
code; its style applies to the panel only, and suits light and dark notebooks.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable
from typing import Any

from kgeval.base.wording import MAX_DECIMALS, printable, shown_label, shown_line

VOID = frozenset(("br", "col", "hr", "input", "link", "meta", "wbr"))  # HTML elements without an end tag
UNITS = 1000  # a drawing is `UNITS` wide and `HEIGHT` high, in the units of its coordinates
HEIGHT = 20
N_COLOURS, N_PATTERNS = 15, 8  # of models


class Markup(str):
    """A string of HTML or SVG; it is inserted unchanged, without escaping."""

    __slots__ = ()


def joined(*children: Any) -> Markup:
    """Join children to one `Markup`: `Markup` is not changed, other values become escaped text.

    Parameters
    ----------
    *children
        `Markup`, texts, numbers, None (nothing), or iterables of these.

    Examples
    --------
    >>> joined("a < b", Markup("<br>"), None, [1, 2])
    'a &lt; b<br>12'
    """
    parts: list[str] = []
    for child in children:
        if isinstance(child, Markup):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(html.escape(printable(child), quote=False))
        elif isinstance(child, Iterable):
            parts.append(joined(*child))
        elif child is not None:
            parts.append(html.escape(str(child), quote=False))
    return Markup("".join(parts))


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Return an element of HTML or SVG.

    Parameters
    ----------
    name : str
    *children
        As in `joined`.
    **attributes
        ``class_`` becomes ``class``, and ``data_n`` becomes ``data-n``; other names, such as ``viewBox``, do not
        change. An attribute with the value None or False is left out; True gives an attribute without a value. Values
        are escaped.

    Examples
    --------
    >>> tag("td", "Jack & Jill", class_="label", data_n=3, hidden=False)
    '<td class="label" data-n="3">Jack &amp; Jill</td>'
    >>> tag("br")
    '<br>'
    """
    texts: list[str] = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        written = key.rstrip("_").replace("_", "-")
        texts.append(f" {written}" if value is True else f' {written}="{html.escape(printable(str(value)))}"')
    start = f"<{name}{''.join(texts)}>"
    return Markup(start if name in VOID else f"{start}{joined(*children)}</{name}>")


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
    over: Markup | None = None,
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
    over : Markup, optional
        What is drawn last.

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
    return drawing(*parts, over, title=title, class_=class_)


def model_class(model: int) -> str:
    """Return the CSS class of a model's colour; models from the sixteenth on are grey, since there are 15 colours.

    Examples
    --------
    >>> model_class(14), model_class(15)
    ('m14', 'm-other')
    """
    return f"m{model}" if model < N_COLOURS else "m-other"


def swatch(model: int) -> Markup:
    """Return a small sample of a model's colour and pattern, to stand before its name."""
    box = [tag("rect", width=12, height=12, rx=2, fill="currentColor"), patterned(model, 0, 0, 12, 12)]
    return tag(
        "svg", *box, class_=f"swatch {model_class(model)}", viewBox="0 0 12 12", width=12, height=12, aria_hidden="true"
    )


def patterns() -> Markup:
    """Return the patterns that bars and swatches refer to; a page needs them once."""
    lines = (
        "M-1 5L5-1M1 7L7 1", "M0 3h6", "M-1 1L5 7M1-1L7 5", "M3 0v6", "M0 3h6M3 0v6",
        "M0 0L6 6M0 6L6 0", "M1.5 .9v1.2M4.5 3.9v1.2",
    )  # fmt: skip
    tiles = [
        tag(
            "pattern",
            tag("path", d=d, class_="hatch", stroke_width=1 if i < 6 else 2),
            id=f"pattern-{i}", width=6, height=6, patternUnits="userSpaceOnUse",
        )
        for i, d in enumerate(lines, 1)
    ]  # fmt: skip
    return tag("svg", tag("defs", *tiles), width=0, height=0, class_="defs", aria_hidden="true")


def patterned(model: int, x: float, y: float, width: float, height: float) -> Markup | None:
    """Return the pattern of a model over a rectangle; None if it has no pattern, as the first model."""
    pattern = model % N_PATTERNS
    return tag("rect", x=x, y=y, width=width, height=height, fill=f"url(#pattern-{pattern})") if pattern else None


UNIT = (0.0, 1.0)
LEGEND = "dot: value; band: interval; short line: chance; thin line: from worst to best ties"
LINE_COLOUR = "rgba(128, 128, 128, 0.4)"  # seen on light and on dark backgrounds
# Notebooks align and stripe tables by rules of their own; the class is named twice, so that the rules of a panel win.
STYLE = Markup(
    ".kgeval-panel { max-width: 64rem; line-height: 1.45; overflow-wrap: anywhere; }"
    ".kgeval-panel .title { font-weight: 600; font-size: 1.1em; margin: 0.2em 0; }"
    ".kgeval-panel .line { margin: 0.2em 0; }"
    ".kgeval-panel .scroll { overflow-x: auto; } .kgeval-panel .whole { white-space: nowrap; }"
    ".kgeval-panel.kgeval-panel table { border-collapse: collapse; border: 0; margin: 0.4em 0; font-size: 0.95em; }"
    ".kgeval-panel.kgeval-panel thead { border: 0; }"
    ".kgeval-panel.kgeval-panel tr:nth-child(n) { background: none; border: 0; }"
    ".kgeval-panel.kgeval-panel th, .kgeval-panel.kgeval-panel td { padding: 0.25em 1.2em 0.25em 0; text-align: left;"
    f" vertical-align: middle; border: 0; border-bottom: 1px solid {LINE_COLOUR}; max-width: 32rem; }}"
    ".kgeval-panel.kgeval-panel thead th { font-weight: 400; opacity: 0.8; vertical-align: bottom;"
    " overflow-wrap: break-word; }"
    ".kgeval-panel.kgeval-panel tbody th { font-weight: 400; min-width: 6em; }"
    ".kgeval-panel.kgeval-panel th[scope=colgroup] { text-align: center; }"
    ".kgeval-panel.kgeval-panel .text { min-width: 7em; }"
    ".kgeval-panel.kgeval-panel .long { min-width: 18em; }"
    ".kgeval-panel.kgeval-panel .number { text-align: right; font-variant-numeric: tabular-nums; }"
    ".kgeval-panel.kgeval-panel tbody .number { white-space: nowrap; }"
    ".kgeval-panel .note { display: block; font-size: 0.9em; opacity: 0.85; white-space: nowrap; }"
    ".kgeval-panel .hole { stroke: Canvas; } .kgeval-panel .unsure { opacity: 0.7; }"
    ".kgeval-panel .axis { display: flex; justify-content: space-between; gap: 0.5em; }"
    ".kgeval-panel .best { font-weight: 600; } .kgeval-panel .faint { opacity: 0.75; }"
    ".kgeval-panel .number small { font-size: 1em; } .kgeval-panel .reasons { font-size: 0.95em; opacity: 0.85; }"
    ".kgeval-panel svg { display: block; overflow: visible; }"
    ".kgeval-panel summary { cursor: pointer; padding: 0.15em 0; }"
    ".kgeval-panel ul { margin: 0.2em 0 0.4em; padding-left: 1.3em; }"
)


def panel(title: str | Markup, *children: Any) -> Markup:
    """Return a panel: the title, then the children.

    Parameters
    ----------
    title : str or Markup
    *children
        As in `joined`.

    Examples
    --------
    >>> panel("A & B", line("one line")).partition("</style>")[2]
    '<div class="title">A &amp; B</div><div class="line">one line</div></div>'
    """
    head = tag("div", title if isinstance(title, Markup) else shown_line(title), class_="title")
    return tag("div", tag("style", STYLE), head, *children, class_="kgeval-panel", dir="ltr")


def label(text: str) -> Markup:
    """Return a label as an element; text direction from right to left stays within it and does not affect other text.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> label("<b>")
    '<bdi>&lt;b&gt;</bdi>'
    """
    return tag("bdi", shown_label(text))


def line(text: str | Markup) -> Markup:
    """Return a line of text.

    Parameters
    ----------
    text : str or Markup
    """
    return tag("div", text if isinstance(text, Markup) else shown_line(text), class_="line")


def lines(texts: Iterable[str]) -> Markup:
    """Return a list with one item for each text; nothing if there is none.

    Parameters
    ----------
    texts : iterable of str

    Examples
    --------
    >>> lines(["a < b", "c"])
    '<ul><li>a &lt; b</li><li>c</li></ul>'
    """
    items = [tag("li", shown_line(text)) for text in texts]
    return tag("ul", *items) if items else Markup("")


def folded(title: str, *children: Any, is_open: bool = False) -> Markup:
    """Return a ``<details>`` element: its content is shown after a click on the title.

    Parameters
    ----------
    title : str
    *children
        As in `joined`.
    is_open : bool
        Whether the details are open at first.

    Examples
    --------
    >>> folded("More", "text")
    '<details><summary>More</summary>text</details>'
    """
    return tag("details", tag("summary", title), *children, open=is_open)


def scale_of(numbers: Iterable[float], is_close: bool = False) -> tuple[float, float]:
    """Return the values at the left and at the right edge of bars: 0 and 1, or round numbers that enclose `numbers`.

    Parameters
    ----------
    numbers : iterable of float
        The numbers to draw; NaN and infinite ones are ignored.
    is_close : bool
        Whether numbers between 0 and 1 get a scale of their own too, to tell them apart.

    Examples
    --------
    >>> scale_of([0.2, 0.9]), scale_of([203.0, 300.0]), scale_of([7.0]), scale_of([0.31, 0.34], is_close=True)
    ((0.0, 1.0), (190.0, 310.0), (6.0, 8.0), (0.307, 0.343))
    """
    known = [number for number in numbers if math.isfinite(number)]
    is_share = all(0.0 <= number <= 1.0 for number in known)
    if is_share and (not is_close or len(set(known)) < 2):
        return UNIT
    low, high = min(known), max(known)
    space = 0.1 * (high - low) or 1.0
    unit = 10.0 ** (math.floor(math.log10(high - low + 2 * space)) - 1)
    edges = math.floor((low - space) / unit) * unit, math.ceil((high + space) / unit) * unit
    low, high = max(edges[0], 0.0) if low >= 0.0 else edges[0], min(edges[1], 1.0) if is_share else edges[1]
    return round(low, MAX_DECIMALS), round(high, MAX_DECIMALS)


def difference_bar(value: float, low: float, high: float, limit: float, is_sure: bool = True) -> Markup:
    """Return a drawing of a difference with its interval; 0 is in the middle, marked by a line.

    Parameters
    ----------
    value, low, high : float
        A NaN is not drawn.
    limit : float
        The difference at the right edge; use the same limit for all differences that are compared.
    is_sure : bool
        Whether the difference is decided; the mark of an undecided one is open.

    Examples
    --------
    >>> "M500 2L500 18" in difference_bar(0.1, 0.05, 0.15, 0.2)
    True
    """
    limits = (-limit, limit) if limit > 0.0 else (-1.0, 1.0)
    hole = None if is_sure or math.isnan(value) else dot(position(value, limits), 3, class_="hole", stroke=None)
    title = f"{'filled' if is_sure else 'open'} mark: {'decided' if is_sure else 'undecided'}; band: interval; line: 0"
    classes = "track" if is_sure else "track unsure"
    return interval_bar(value, low, high, limits, chance=0.0, title=title, class_=classes, over=hole)


def axis_ends(low: str, middle: str, high: str) -> Markup:
    """Return what stands above drawings: the values at their edges and in their middle.

    Parameters
    ----------
    low, middle, high : str

    Examples
    --------
    >>> axis_ends("0", "", "1")
    '<span class="axis"><span>0</span><span></span><span>1</span></span>'
    """
    return tag("span", *(tag("span", text) for text in (low, middle, high)), class_="axis")
