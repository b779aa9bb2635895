"""A `Table` as HTML, for pages and for notebooks: one element for each cell, whose classes a style sheet sets."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from kgeval.base.wording import between, enough_decimals, shown_label, shown_line, written
from kgeval.display.html import LEGEND, Markup, interval_bar, joined, scale_of, swatch, tag
from kgeval.display.table import BOLD, Cell, Column, Note, Table

N_DIGITS = 7  # significant digits of the numbers that are kept for sorting and downloads
MAX_LABEL = 240  # characters of a label that are shown; the rest is seen under the pointer
MAX_HEAD = 32  # characters of the heading of a column
BREAKS = re.compile(r"(?<=[\w.]/)(?=\w)|(?<=\w[_.])(?=[^\W\d_])")  # where a line may break within a long word
LONG_WORD = 13  # characters of a word that may break within
WHOLE = re.compile(  # a pair of models alone, an option, p and its heading, an interval, a word with a hyphen
    r"(\A[\w.-]{1,20} - [\w.-]{1,20}\Z|--\w[\w-]*|\bp \(Holm\)|\bp [<=>≤] [\d.]+|"
    r"[\[(][-+]?[\d.,]+, [-+]?[\d.,]+[\])]|\b(?=[\w.-]{3,20}(?![\w.-]))\w[\w.]*(?:-[\w.]+)+)"
)
LONG_TEXT = 40  # a column with a longer text is wide


def html_table(table: Table) -> Markup:
    """Return a table, its caption and its notes as HTML, in a box that scrolls sideways where it is too narrow.

    Parameters
    ----------
    table : Table

    Examples
    --------
    >>> values = Column("MRR", [Cell("0.25", "[0.20, 0.30]", numbers=(0.25, 0.2, 0.3), is_best=True)])
    >>> text = html_table(Table([Column.of_labels("model", ["<b>"]), values], caption="Values"))
    >>> "<th scope=\\"row\\"><bdi>&lt;b&gt;</bdi></th>" in text, "data-v=\\"0.25\\"" in text
    (True, True)
    """
    columns = [column for i, column in enumerate(table.columns) if i == 0 or not _is_empty(column)]
    kinds = [_kind(column) for column in columns]
    heads = [tag("th", _heading(column), scope="col", class_=kind) for column, kind in zip(columns, kinds)]
    groups = _groups(columns)
    whole = tag(
        "table",
        tag("caption", tag("span", unbroken(table.caption))) if table.caption else None,
        tag("thead", groups, tag("tr", *heads)) if any(column.heading for column in columns) else None,
        *_bodies(table, columns, kinds),
        class_=table.kind or None,
        data_name=table.name or None,
    )
    box = "scroll tall" if "tall" in table.kind.split() else "scroll"
    about = {"role": "region", "tabindex": "0", "aria_label": table.caption} if table.caption else {}
    return joined(tag("div", whole, class_=box, **about), html_notes(table.notes))


def fact_table(facts: Iterable[tuple[str, str]]) -> Table:
    """Return a table of names and values.

    Parameters
    ----------
    facts : iterable of (str, str)

    Examples
    --------
    >>> html_table(fact_table([("method", "robust")])).count("<td")
    1
    """
    return Table([Column.of_labels("", texts) for texts in zip(*facts)])


def bar_table(
    labels: Sequence[str],
    numbers: Sequence[tuple[float, float, float]],
    decimals: Sequence[int],
    confidence: float,
    *,
    chance: Sequence[float] = (),
    ends: Sequence[tuple[float, float] | None] = (),
    notes: Sequence[str] = (),
    is_close: bool = False,
) -> Table:
    """Return a table of values with their intervals, drawn on one scale.

    Parameters
    ----------
    labels : sequence of str
    numbers : sequence of tuples of float
        The value of each row and the limits of its interval, which are NaN if there is none.
    decimals : sequence of int
    confidence : float
        The nominal coverage of the intervals.
    chance : sequence of float, optional
        The chance levels; NaN if unknown.
    ends : sequence, optional
        The values with pessimistic and with optimistic ties, or None.
    notes : sequence of str, optional
        Such as the reason why a value is NaN.
    is_close : bool
        As in `kgeval.display.html.scale_of`.

    Examples
    --------
    >>> text = html_table(bar_table(["MRR"], [(0.5, 0.4, 0.6)], [4], 0.95, chance=[0.1]))
    >>> "[0.4000, 0.6000]" in text, "95% interval" in text, text.count("<svg")
    (True, True, 1)
    """
    levels, ranges = chance or [math.nan] * len(labels), ends or [None] * len(labels)
    known = [x for *row, two in zip(*zip(*numbers), levels, ranges) for x in (*row, *(two or ())) if math.isfinite(x)]
    limits, title = scale_of(known, is_close), f"{100 * confidence:g}% interval"
    drawn = [
        Cell(drawing=partial(interval_bar, *row, limits, level, ends=two, title=LEGEND))
        for row, level, two in zip(numbers, levels, ranges)
    ]
    of_chance = ["" if math.isnan(x) else written(x, enough_decimals([x], n)) for x, n in zip(levels, decimals)]
    of_ties = [" to ".join(written(end, n) for end in two or ()) for two, n in zip(ranges, decimals)]
    columns = [
        Column.of_labels("", labels),
        Column("value", [Cell(written(row[0], n), numbers=row) for row, n in zip(numbers, decimals)]),
        Column.of_texts(title, [between(low, high, n) for (_, low, high), n in zip(numbers, decimals)]),
        Column(f"{limits[0]:g} to {limits[1]:g}", drawn),
        Column.of_texts("chance", of_chance),
        Column.of_texts("worst to best ties", of_ties),
        Column.of_labels("note", notes or [""] * len(labels)),
    ]
    return Table(columns)


def html_notes(notes: Iterable[Note]) -> Markup | None:
    """Return the notes of a table as a list; None if there are none.

    Parameters
    ----------
    notes : iterable of (str, str)
    """
    items = [tag("li", unbroken(shown_line(text))) for text in plain_notes(notes)]
    return tag("ul", *items, class_="reasons") if items else None


def plain_notes(notes: Iterable[Note]) -> list[str]:
    """Return the notes of a table for a medium that has bold text: each starts with the sign that it explains.

    Parameters
    ----------
    notes : iterable of (str, str)

    Examples
    --------
    >>> plain_notes([(BOLD, "best value"), ("†", "differs from A"), ("", "one run each")])
    ['bold: best value', '† differs from A', 'one run each']
    """
    return [f"{sign}: {text}" if sign == BOLD else f"{sign} {text}".lstrip() for sign, text in notes]


def label(text: str, limit: int | None = None) -> Markup:
    """Return a label as an element: a right-to-left label does not change the order of the text around it.

    Parameters
    ----------
    text : str
    limit : int, optional
        The number of characters that are shown; the whole label is shown under the pointer.

    Examples
    --------
    >>> label("/people/person/nationality", 13)
    '<bdi title="/people/person/nationality">/peop…onality</bdi>'
    """
    shown = text if limit is None else short(text, limit)
    return tag("bdi", unbroken(shown), title=shown_label(text) if shown != text else None)


def breakable(text: str) -> Markup:
    """Return a text whose long words may break after "/", "_" and ".".

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> breakable("/people/person/place_of_birth"), breakable("member_of_domain_usage"), breakable("member_of")
    ('/people/<wbr>person/<wbr>place_<wbr>of_<wbr>birth', 'member_<wbr>of_<wbr>domain_<wbr>usage', 'member_of')
    """
    words = (BREAKS.split(word) if len(word) >= LONG_WORD else [word] for word in re.split(r"(\s+)", text))
    return joined(*([part for piece in pieces for part in (tag("wbr"), piece)][1:] for pieces in words))


def unbroken(text: str) -> Markup:
    """Return a text in which no line breaks within a p-value, an interval, or a short word such as "ComplEx-32".

    Nor within a label that is a pair of short names. Long words may break as in `breakable`.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> unbroken("A-32 - B-32")
    '<span class="whole">A-32 - B-32</span>'
    >>> unbroken("ComplEx-32, p = 0.01")
    '<span class="whole">ComplEx-32</span>, <span class="whole">p = 0.01</span>'
    """
    parts = WHOLE.split(text)
    return joined(*(tag("span", part, class_="whole") if i % 2 else breakable(part) for i, part in enumerate(parts)))


def short(text: str, limit: int) -> str:
    """Return a text whose middle is replaced by "…" if it is longer than `limit`; ends of paths often differ.

    Parameters
    ----------
    text : str
    limit : int

    Examples
    --------
    >>> short("/people/person/nationality", 13)
    '/peop…onality'
    """
    n_end = limit // 2 + 1
    return text if len(text) <= limit else text[: limit - 1 - n_end] + "…" + text[-n_end:]


def _bodies(table: Table, columns: list[Column], kinds: list[str]) -> list[Markup]:
    """Return the groups of rows; a table whose rows are opened or filtered has one group for each of them."""
    rows = [_row(table, columns, kinds, i) for i in range(table.n_rows)]
    if table.opened or table.facts:
        return [tag("tbody", *row, **table.facts.get(i, {})) for i, row in enumerate(rows)]
    bodies, start = [], 0
    for title, n in table.groups or [("", len(rows))]:
        head = tag("tr", tag("th", label(title, MAX_LABEL), scope="rowgroup", colspan=len(columns))) if title else None
        bodies.append(tag("tbody", head, *(part for row in rows[start : start + n] for part in row)))
        start += n
    return bodies


def _row(table: Table, columns: list[Column], kinds: list[str], i: int) -> list[Markup]:
    """Return a row and, if it is opened at a click, the row that is shown then."""
    first, *cells = (column.cells[i] for column in columns)
    opened = table.opened.get(i)
    content = _content(first, is_label=columns[0].is_label)
    shown = tag("details", tag("summary", content)) if opened else content
    head = tag("th", shown, *_beside(first), scope="row", class_=_classes(first), title=first.reason or None)
    parts = [_cell(cell, column.is_label, kind) for column, kind, cell in zip(columns[1:], kinds[1:], cells)]
    row = tag("tr", head, *parts, class_="faint" if i in table.faint else None)
    if not opened:
        return [row]
    return [row, tag("tr", tag("td", tag("div", opened(), class_="opened"), colspan=len(columns)), class_="more")]


def _cell(cell: Cell, is_label: bool, kind: str) -> Markup:
    value, low, high = (*cell.numbers, *[None] * (3 - len(cell.numbers)))[:3]
    return tag(
        "td",
        _content(cell, is_label),
        *_beside(cell),
        class_=" ".join(filter(None, [kind, _classes(cell)])),
        title=cell.reason or None,
        data_v=exact(value),
        data_l=exact(low),
        data_h=exact(high),
    )


def _content(cell: Cell, is_label: bool) -> Markup:
    """Return the text of a cell: the colour of its model, its label or number, its mark and its deviation."""
    if cell.markup is not None:
        return cell.markup()
    text = label(cell.text, MAX_LABEL) if is_label and cell.text else joined(cell.text)
    parts: list[Any] = [text, tag("sup", cell.mark) if cell.mark else None]
    parts += [tag("span", f" ± {cell.deviation}", class_="spread")] if cell.deviation else []
    return joined(*parts) if cell.model is None else tag("span", swatch(cell.model), *parts, class_="model")


def _beside(cell: Cell) -> list[Markup | None]:
    """Return what stands beside and below the text of a cell: flag, interval, drawing, note."""
    return [
        joined(" ", tag("strong", cell.flag, class_="flag")) if cell.flag else None,
        joined(" ", tag("small", cell.interval)) if cell.interval else None,
        None if cell.drawing is None else cell.drawing(),
        tag("span", cell.note, class_="note") if cell.note else None,
    ]


def _classes(cell: Cell) -> str | None:
    return " ".join(filter(None, ["best" if cell.is_best else "", cell.tone])) or None


def _kind(column: Column) -> str:
    """Return the class of the cells of a column."""
    if column.is_drawn:
        return "drawn"
    if not column.is_label:
        return "number"
    return "long" if max((len(cell.text) for cell in column.cells), default=0) > LONG_TEXT else "text"


def _is_empty(column: Column) -> bool:
    """Return whether a column shows nothing in any row."""
    return not any(cell.text or cell.interval or cell.drawing or cell.markup for cell in column.cells)


def _heading(column: Column) -> Markup:
    if column.head is not None:
        return column.head()
    shown = label(column.heading, MAX_HEAD) if column.model is not None else unbroken(column.heading)
    return shown if column.model is None else tag("span", swatch(column.model), shown, class_="model")


def _groups(columns: list[Column]) -> Markup | None:
    """Return the row with the names of neighbouring columns; None if no column has a group."""
    if not any(column.group for column in columns):
        return None
    sizes = ((group, len(list(of_group))) for group, of_group in groupby(columns, key=lambda column: column.group))
    return tag("tr", *(tag("th", label(group, MAX_HEAD), scope="colgroup", colspan=n) for group, n in sizes))


def exact(value: float | None) -> str | None:
    """Return a number with the digits that a page keeps for sorting and downloads; None if there is none.

    Parameters
    ----------
    value : float or None

    Examples
    --------
    >>> exact(1 / 3), exact(None)
    ('0.3333333', None)
    """
    return f"{value:.{N_DIGITS}g}" if value is not None and math.isfinite(value) else None
