"""Panels, the HTML that notebooks show for results, comparisons, datasets and other objects.

A panel has a title, numbers with bars, and details. The methods ``_repr_html_`` make their panels with these functions.
A panel loads no files and runs no code. Its style applies to the panel only, and uses the colours of the notebook, so
it suits light and dark notebooks.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kgeval.markup import Markup, joined, shown_label, tag
from kgeval.markup_charts import interval_bar

MISSING = "-"
MAX_LINE, LINE_START, LINE_END = 2000, 1800, 150  # characters of a line that `lines` keeps
LONG_TEXT = 40  # a column with a longer text is wide
MAX_DECIMALS = 12
UNIT = (0.0, 1.0)
LEGEND = "dot: value; band: interval; short line: chance; thin line: from worst to best ties"
LINE_COLOUR = "rgba(128, 128, 128, 0.4)"  # seen on light and on dark backgrounds
# Notebooks align and stripe tables by rules of their own; the class is named twice, so that the rules of a panel win.
STYLE = Markup(
    ".kgeval-panel { max-width: 64rem; line-height: 1.45; overflow-wrap: anywhere; }"
    ".kgeval-panel .title { font-weight: 600; font-size: 1.1em; margin: 0.2em 0; }"
    ".kgeval-panel .line { margin: 0.2em 0; }"
    ".kgeval-panel .scroll { overflow-x: auto; }"
    ".kgeval-panel.kgeval-panel table { border-collapse: collapse; border: 0; margin: 0.4em 0; font-size: 0.95em; }"
    ".kgeval-panel.kgeval-panel thead { border: 0; }"
    ".kgeval-panel.kgeval-panel tr:nth-child(n) { background: none; border: 0; }"
    ".kgeval-panel.kgeval-panel th, .kgeval-panel.kgeval-panel td { padding: 0.25em 1.2em 0.25em 0; text-align: left;"
    f" vertical-align: middle; border: 0; border-bottom: 1px solid {LINE_COLOUR}; max-width: 32rem; }}"
    ".kgeval-panel.kgeval-panel thead th { font-weight: 400; opacity: 0.8; vertical-align: bottom;"
    " overflow-wrap: break-word; }"
    ".kgeval-panel.kgeval-panel tbody th { font-weight: 600; min-width: 6em; }"
    ".kgeval-panel.kgeval-panel .text { min-width: 7em; }"
    ".kgeval-panel.kgeval-panel .long { min-width: 18em; }"
    ".kgeval-panel.kgeval-panel .number { text-align: right; font-variant-numeric: tabular-nums; }"
    ".kgeval-panel.kgeval-panel tbody .number { white-space: nowrap; }"
    ".kgeval-panel svg { display: block; overflow: visible; }"
    ".kgeval-panel summary { cursor: pointer; padding: 0.15em 0; }"
    ".kgeval-panel ul { margin: 0.2em 0 0.4em; padding-left: 1.3em; }"
)


@dataclass(frozen=True)
class Bar:
    """A number on a panel, drawn as a bar with its interval, its chance level and its range over tie policies.

    Parameters
    ----------
    name : str or Markup
    value, low, high : float
        The value and the limits of its interval; the limits are NaN if there is no interval.
    decimals : int
        Number of decimals of the texts.
    chance : float
        The chance level, that is, the value for random ranking; NaN if it is unknown.
    ends : tuple of float, optional
        The values with pessimistic and with optimistic ties.
    note : str
        A text in the last column, for example the reason why the value is NaN.
    """

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    decimals: int = 4
    chance: float = math.nan
    ends: tuple[float, float] | None = None
    note: str = ""

    @property
    def numbers(self) -> list[float]:
        """All finite numbers of the bar."""
        return [x for x in (self.value, self.low, self.high, self.chance, *(self.ends or ())) if math.isfinite(x)]

    @property
    def interval(self) -> str:
        """The interval as text; empty if there is no interval."""
        return between(self.low, self.high, self.decimals)


def p_text(p_value: float, alpha: float) -> str:
    """Return a p-value as text, with enough decimals to show whether it is above `alpha`.

    Parameters
    ----------
    p_value : float
    alpha : float
        The significance level.

    Examples
    --------
    >>> p_text(0.05004, 0.05), p_text(0.3, 0.05), p_text(1e-9, 0.05)
    ('0.05004', '0.3000', '< 0.0001')
    """
    if math.isnan(p_value):
        return "-"
    if p_value < 0.0001:
        return "< 0.0001"
    decimals = 4
    while decimals < MAX_DECIMALS and (round(p_value, decimals) <= alpha) != (p_value <= alpha):
        decimals += 1
    return f"{p_value:.{decimals}f}"


def p_equals(p_value: float, alpha: float) -> str:
    """Return a p-value as the part of a sentence; empty if it is NaN.

    Parameters
    ----------
    p_value, alpha : float
        As in `p_text`.

    Examples
    --------
    >>> p_equals(0.3, 0.05), p_equals(1e-9, 0.05), p_equals(math.nan, 0.05)
    ('p = 0.3000', 'p < 0.0001', '')
    """
    text = p_text(p_value, alpha)
    return "" if math.isnan(p_value) else f"p {text}" if text.startswith("<") else f"p = {text}"


def written(value: float | Fraction, decimals: int = 4) -> str:
    """Return a number as text; a dash if it is NaN.

    Parameters
    ----------
    value : float or Fraction
    decimals : int

    Examples
    --------
    >>> written(Fraction(1, 3)), written(1234.5, 1), written(-0.00001), written(math.nan)
    ('0.3333', '1,234.5', '0.0000', '-')
    """
    number = float(value)
    if math.isnan(number):
        return MISSING
    text = f"{number:,.{decimals}f}"
    return text if text.strip("-0.,") else text.removeprefix("-")  # no -0.00


def signed(value: float, decimals: int = 4) -> str:
    """Return a difference as text with its sign.

    Parameters
    ----------
    value : float
    decimals : int

    Examples
    --------
    >>> signed(0.25, 2), signed(-0.25, 2), signed(0.0, 2)
    ('+0.25', '-0.25', '0.00')
    """
    text = written(value, decimals)
    return f"+{text}" if value > 0 and text.strip("0.,") else text


def between(low: float, high: float, decimals: int = 4, has_signs: bool = False) -> str:
    """Return an interval as text; empty if a limit is NaN.

    Parameters
    ----------
    low, high : float
    decimals : int
    has_signs : bool
        Whether the limits are differences, with a sign.

    Examples
    --------
    >>> between(0.2, 0.5, 2), between(-0.2, 0.5, 2, has_signs=True), between(math.nan, 0.5)
    ('[0.20, 0.50]', '[-0.20, +0.50]', '')
    """
    if math.isnan(low) or math.isnan(high):
        return ""
    write = signed if has_signs else written
    return f"[{write(low, decimals)}, {write(high, decimals)}]"


def exact(value: Fraction) -> str:
    """Return a fraction as a decimal number with at most ten significant digits.

    Parameters
    ----------
    value : Fraction

    Examples
    --------
    >>> exact(Fraction(627, 2000)), exact(Fraction(437, 2)), exact(Fraction(2, 3))
    ('0.3135', '218.5', '0.6666666667')
    """
    text = f"{float(value):.10g}"
    return text if "e" not in text else f"{float(value):.{MAX_DECIMALS}f}".rstrip("0").rstrip(".")


def enough_decimals(numbers: Iterable[float], decimals: int) -> int:
    """Return the number of decimals with which only 0 is shown as 0: at least `decimals`, at most 12.

    Parameters
    ----------
    numbers : iterable of float
        NaN is ignored.
    decimals : int

    Examples
    --------
    >>> enough_decimals([0.25, 0.0], 4), enough_decimals([-0.0000031], 4)
    (4, 6)
    """
    for number in numbers:
        while math.isfinite(number) and number and decimals < MAX_DECIMALS and not float(f"{number:.{decimals}f}"):
            decimals += 1
    return decimals


def panel(title: str | Markup, *children: Any) -> Markup:
    """Return a panel: the title, then the children.

    Parameters
    ----------
    title : str or Markup
    *children
        As in `kgeval.markup.joined`.

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


def line(text: str) -> Markup:
    """Return a line of text.

    Parameters
    ----------
    text : str
    """
    return tag("div", shown_line(text), class_="line")


def lines(texts: Iterable[str]) -> Markup:
    """Return a list with one item for each text.

    Parameters
    ----------
    texts : iterable of str

    Examples
    --------
    >>> lines(["a < b", "c"])
    '<ul><li>a &lt; b</li><li>c</li></ul>'
    """
    return tag("ul", *(tag("li", shown_line(text)) for text in texts))


def shown_line(text: str) -> str:
    """Return a text of at most about 2,000 characters; the middle of a longer text is left out.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> shown_line("x" * 5000)[1790:-140]
    'xxxxxxxxxx … (5,000 characters) … xxxxxxxxxx'
    """
    if len(text) <= MAX_LINE:
        return text
    return f"{text[:LINE_START]} … ({len(text):,} characters) … {text[-LINE_END:]}"


def folded(title: str, *children: Any, is_open: bool = False) -> Markup:
    """Return a ``<details>`` element: its content is shown after a click on the title.

    Parameters
    ----------
    title : str
    *children
        As in `kgeval.markup.joined`.
    is_open : bool
        Whether the details are open at first.

    Examples
    --------
    >>> folded("More", "text")
    '<details><summary>More</summary>text</details>'
    """
    return tag("details", tag("summary", title), *children, open=is_open)


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]], numeric: Collection[int] = ()) -> Markup:
    """Return a table; the first cell of each row is its heading, and columns without any content are left out.

    Parameters
    ----------
    headings : sequence of str
    rows : iterable of sequences
        The cells of each row: texts or `Markup`.
    numeric : collection of int
        The columns whose cells are numbers; they are aligned at the right.

    Examples
    --------
    >>> table(["", "n", "note"], [["<b>", "2", ""]], numeric=[1]).partition("<tbody>")[2].partition("</tbody>")[0]
    '<tr><th scope="row"><bdi>&lt;b&gt;</bdi></th><td class="number">2</td></tr>'
    """
    cells = [list(row) for row in rows]
    kept = [i for i in range(len(headings)) if i == 0 or any(row[i] != "" for row in cells)]
    classes = {i: "number" if i in numeric else _kind([row[i] for row in cells]) for i in kept}
    head = [tag("th", headings[i], scope="col", class_=classes[i]) for i in kept]
    body = []
    for row in cells:
        parts = [tag("td", _cell(row[i], i in numeric), class_=classes[i]) for i in kept[1:]]
        body.append(tag("tr", tag("th", _cell(row[0]), scope="row"), *parts))
    whole = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body))
    return tag("div", whole, class_="scroll")


def _kind(column: Sequence[Any]) -> str | None:
    """Return the class of the cells of a column of texts or drawings."""
    longest = max((len(cell) for cell in column if not isinstance(cell, Markup)), default=None)
    return None if longest is None else "long" if longest > LONG_TEXT else "text"


def _cell(content: Any, is_number: bool = False) -> Markup:
    """Return the content of a cell; text direction from right to left stays within the cell."""
    return joined(content) if isinstance(content, Markup) or is_number else tag("bdi", shown_line(str(content)))


def facts(rows: Iterable[tuple[str, str]]) -> Markup:
    """Return a table of names and values.

    Parameters
    ----------
    rows : iterable of (str, str)

    Examples
    --------
    >>> facts([("method", "robust")]).count("<tr>")
    1
    """
    body = [tag("tr", tag("th", name, scope="row"), tag("td", _cell(value))) for name, value in rows]
    return tag("div", tag("table", tag("tbody", *body)), class_="scroll")


def scale_of(numbers: Iterable[float]) -> tuple[float, float]:
    """Return the values at the left and at the right edge of bars: 0 and 1, or round numbers that enclose `numbers`.

    Parameters
    ----------
    numbers : iterable of float
        The finite numbers to draw.

    Examples
    --------
    >>> scale_of([0.2, 0.9]), scale_of([203.0, 300.0]), scale_of([7.0])
    ((0.0, 1.0), (190.0, 310.0), (6.0, 8.0))
    """
    known = list(numbers)
    if all(0.0 <= number <= 1.0 for number in known):
        return UNIT
    low, high = min(known), max(known)
    space = 0.1 * (high - low) or 1.0
    unit = 10.0 ** (math.floor(math.log10(high - low + 2 * space)) - 1)
    edges = math.floor((low - space) / unit) * unit, math.ceil((high + space) / unit) * unit
    return round(edges[0], MAX_DECIMALS), round(edges[1], MAX_DECIMALS)


def bar_table(bars: Sequence[Bar], confidence: float | None = None) -> Markup:
    """Return a table of numbers with their intervals, drawn on one scale.

    Parameters
    ----------
    bars : sequence of Bar
    confidence : float, optional
        The nominal coverage of the intervals; None if there are no intervals.

    Examples
    --------
    >>> text = bar_table([Bar("MRR", 0.5, 0.4, 0.6, chance=0.1)], confidence=0.95)
    >>> "[0.4000, 0.6000]" in text, "95% interval" in text, text.count("<svg")
    (True, True, 1)
    """
    limits = scale_of(number for bar in bars for number in bar.numbers)
    rows = [
        (
            bar.name,
            written(bar.value, bar.decimals),
            bar.interval,
            interval_bar(bar.value, bar.low, bar.high, limits, bar.chance, ends=bar.ends, title=LEGEND),
            "" if math.isnan(bar.chance) else written(bar.chance, bar.decimals),
            "" if bar.ends is None else " to ".join(written(end, bar.decimals) for end in bar.ends),
            bar.note,
        )
        for bar in bars
    ]
    interval = "" if confidence is None else f"{100 * confidence:g}% interval"
    headings = ["", "value", interval, f"{limits[0]:g} to {limits[1]:g}", "chance", "worst to best ties", "note"]
    return table(headings, rows, numeric=(1, 2, 4, 5))


def difference_bar(value: float, low: float, high: float, limit: float) -> Markup:
    """Return a drawing of a difference with its interval; 0 is in the middle, marked by a short line.

    Parameters
    ----------
    value, low, high : float
        A NaN is not drawn.
    limit : float
        The difference at the right edge; use the same limit for all differences that are compared.

    Examples
    --------
    >>> "M500 2L500 18" in difference_bar(0.1, 0.05, 0.15, 0.2)
    True
    """
    limits = (-limit, limit) if limit > 0.0 else (-1.0, 1.0)
    return interval_bar(value, low, high, limits, chance=0.0, title="dot: difference; band: interval; short line: 0")
