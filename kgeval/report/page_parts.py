"""The parts of HTML pages: sections, folded content, tables, cells of numbers, bars of values with their intervals.

`kgeval.report.page_sections` makes the report page of them; the pages of `kgeval.benchmarks` are made of them too. All
text goes through `kgeval.display.html`, which escapes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from kgeval.display.html import Markup, interval_bar, joined, model_class, tag
from kgeval.display.html_tables import breakable, short
from kgeval.report.page_numbers import Number, difference_text, interval_text, is_number, percent, value_text
from kgeval.results.display import MAX_TIES

CITATION = """@software{kgeval, author = {{The kgeval authors}}, year = {2026},
  title = {kgeval: exact, comparable evaluation of knowledge-graph models},
  version = {VERSION}}"""
N_DIGITS = 7  # significant digits of the numbers that are kept for sorting and downloads


def citation(version: str) -> str:
    """Return the BibTeX entry of a version of kgeval; the README has the same text."""
    return CITATION.replace("VERSION", version)


def section(name: str, title: str, *children: Any) -> Markup:
    """Return a section with its heading."""
    heading = tag("h2", title, id=f"{name}-title")
    return tag("section", heading, *children, id=name, aria_labelledby=f"{name}-title")


def first_section(title: str, *children: Any) -> Markup:
    """Return the section with the title of the page and the answer."""
    heading = tag("h1", tag("bdi", title), id="answer-title")
    return tag("section", heading, *children, id="answer", aria_labelledby="answer-title")


def notes(cautions: Sequence[str], rest: Sequence[str]) -> Markup:
    """Return cautions, and further notes that are folded."""
    shown = tag("ul", *(tag("li", text, class_="caution") for text in cautions), class_="lines") if cautions else None
    more = tag("ul", *(tag("li", text) for text in rest), class_="plain")
    return joined(shown, folded(f"{len(rest)} more {'note' if len(rest) == 1 else 'notes'}", more) if rest else None)


def label(text: str, limit: int | None = None) -> Markup:
    """Return a label as a ``bdi`` element: a right-to-left label does not change the order of the text around it."""
    shown = text if limit is None else short(text, limit)
    return tag("bdi", breakable(shown), title=text if shown != text else None)


def folded(title: Any, *children: Any, is_open: bool = False, id: str | None = None) -> Markup:
    """Return content that opens when its title is clicked."""
    return tag("details", tag("summary", title), *children, open=is_open, id=id, class_="fold")


def table(
    caption: Any,
    heads: Sequence[Any],
    bodies: Iterable[Markup],
    *,
    name: str,
    classes: str = "",
    scrolls: bool = False,
    numbers: Iterable[int] = (),
) -> Markup:
    """Return a table in a box that scrolls horizontally if the table is too wide.

    Parameters
    ----------
    caption : str or Markup
    heads : sequence
        The content of each head cell.
    bodies : iterable of Markup
        ``tbody`` elements.
    name : str
        The name of the file to download, without its ending.
    classes : str
        More CSS classes of the table, for example ``"sortable"``.
    scrolls : bool
        Whether a long table scrolls vertically in its box, while its head cells stay visible.
    numbers : iterable of int
        The indices of the columns that contain numbers; these columns are aligned to the right.
    """
    right = set(numbers)
    row = [tag("th", head, scope="col", class_="number" if i in right else None) for i, head in enumerate(heads)]
    whole_table = tag(
        "table",
        tag("caption", tag("span", caption)),
        tag("thead", tag("tr", *row)),
        *bodies,
        class_=classes or None,
        data_name=name,
    )
    text = name.replace("-", " ") if isinstance(caption, Markup) else caption
    box = "scroll tall" if scrolls else "scroll"
    return tag("div", whole_table, class_=box, role="region", tabindex="0", aria_label=text)


def row_head(*content: Any, **attributes: Any) -> Markup:
    """Return the head cell of a row."""
    return tag("th", *content, scope="row", **attributes)


def number(text: Any, value: Number = None, *more: Any, classes: str = "", **attributes: Any) -> Markup:
    """Return a cell of a number; its value with more digits is kept in ``data-v``, for sorting and downloads."""
    return tag("td", text, *more, class_=f"number {classes}".strip(), data_v=exact(value), **attributes)


def value_cell(
    cell: Sequence[Any], metric: str, *, bar: Markup | None = None, classes: str = "", note: Any = None
) -> Markup:
    """Return a cell of a value of a metric with its interval; the bounds if ranks are bounded, else the reason."""
    value, low, high, reason = [*cell, None, None, None, ""][:4] if len(cell) < 4 else cell[:4]
    text = value_text(value, metric)
    if not is_number(value) and len(cell) > 4 and is_number(cell[4]):
        text = f"{value_text(cell[4], metric)} to {value_text(cell[5], metric)}"
    ends = interval_text((value, low, high), metric)
    return number(
        text, value, tag("small", ends) if ends else None, bar, note,
        classes=classes, title=reason or None, data_l=exact(low), data_h=exact(high),
    )  # fmt: skip


def ties_cell(share: Number, text: str = "") -> Markup:
    """Return the cell of a share of tied ranks; a large share is marked."""
    return number(text or percent(share), share, classes="warn" if (share or 0.0) > MAX_TIES else "")


def heading(metric: str, higher_is_better: bool) -> Markup:
    """Return the heading of a metric with an arrow in the direction of better values."""
    arrow, better = ("↑", "higher") if higher_is_better else ("↓", "lower")
    return joined(metric, " ", tag("span", arrow, title=f"{better} is better"))


def difference_cell(cell: Sequence[Number], metric: str, is_sure: bool) -> Markup:
    """Return a cell of a difference with its interval; bold if the difference is decided (`is_sure`).

    The decision comes from a test or an interval that is corrected for the number of tests; the interval in the cell is
    not corrected.
    """
    text, ends = difference_text(cell, metric)
    value, low, high = cell[:3]
    return number(
        text, value, tag("small", ends) if ends else None,
        classes="sure" if is_sure else "", data_l=exact(low), data_h=exact(high),
    )  # fmt: skip


def exact(value: Number) -> str | None:
    """Return a number with the digits that the page keeps for sorting and downloads; None if there is none."""
    return f"{value:.{N_DIGITS}g}" if value is not None and math.isfinite(value) else None


def block(text: str, name: str) -> Markup:
    """Return text in lines that can be copied."""
    lines = text.split("\n")
    content = joined(*(joined(Markup("\n") if i else None, line) for i, line in enumerate(lines)))
    return tag("div", tag("pre", content, id=name, tabindex="0"), class_="copy", data_copy=name)


def limits_of(cells: Iterable[Sequence[Any]], ends: Iterable[Sequence[float] | None] = ()) -> tuple[float, float]:
    """Return limits that contain all values, intervals and ends, with a margin."""
    values = [end for cell in cells for end in cell[:3] if is_number(end)]
    values += [end for pair in ends if pair for end in pair]
    low, high = min(values, default=0.0), max(values, default=1.0)
    margin = 0.08 * (high - low) or 0.5 * abs(high) or 0.5
    return low - margin, high + margin


def bar_of(
    cell: Sequence[Any],
    limits: tuple[float, float],
    chance: Number = None,
    ends: Sequence[float] | None = None,
    model: int | None = None,
) -> Markup:
    """Return the drawing of a value, its interval, and a whisker between `ends` (pessimistic and optimistic ties)."""
    value, low, high = (math.nan if end is None else end for end in cell[:3])
    pair = (ends[0], ends[1]) if ends else None
    classes = "track" if model is None else f"track {model_class(model)}"
    return interval_bar(value, low, high, limits, chance, ends=pair, class_=classes)


def line_list(lines: Iterable[str]) -> Markup:
    """Return a list of lines that a result states about itself; the word before the colon of some lines is bold."""
    items = []
    for line in lines:
        prefix, separator, rest = line.partition(": ")
        is_marked = separator and prefix in ("note", "dropped", "dataset", "unknown", "overridden", "tested", "scorer")
        items.append(tag("li", tag("strong", prefix), " ", rest) if is_marked else tag("li", line))
    return tag("ul", *items, class_="plain")
