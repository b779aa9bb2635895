"""The differences between models on an HTML page: a line with its interval for each pair, or a matrix of all pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from kgeval.base.wording import MISSING, p_equals, p_text
from kgeval.display.html import Markup, joined, swatch, tag
from kgeval.report import charts
from kgeval.report.page_numbers import Number, difference_text
from kgeval.report.page_parts import difference_cell, label, limits_of, number, row_head, table

Row = Mapping[Any, Any]
MAX_NAME, MAX_HEAD = 32, 12  # characters of a model, and of a model above a narrow column


def model_label(name: str, place: int) -> Markup:
    """Return the name of a model, cut where it is long, beside its colour."""
    return tag("span", swatch(place), label(name, MAX_NAME), class_="model")


def pair_names(first: str, second: str) -> Markup:
    """Return the head of a row about two models."""
    return joined(label(first, MAX_NAME), " - ", label(second, MAX_NAME))


def cell_of(row: Row) -> tuple[Number, Number, Number]:
    """Return the difference of a row, with its limits."""
    return row["difference"], row["low"], row["high"]


def p_cell(value: Number, alpha: float) -> Markup:
    """Return the cell of a p-value, of which the level `alpha` can be read."""
    return number(MISSING if value is None else p_text(value, alpha), value)


def forest(
    rows: Sequence[Row], metric: str, alpha: float, caption: Any, *, higher_is_better: bool, name: str = "differences"
) -> Markup:
    """Return a table with a line for each pair: the difference, drawn on one axis, with its interval and p-value.

    Parameters
    ----------
    rows : sequence of mappings
        Rows of a table of differences; a missing number is None or NaN.
    metric : str
    alpha : float
        The level of significance.
    caption : str or Markup
    higher_is_better : bool
    name : str
        The name of the table in the page.
    """
    limits = limits_of([(0.0, None, None), *map(cell_of, rows)])
    bodies = []
    for row in rows:
        cell, is_sure = cell_of(row), bool(row["better"])
        text = " ".join(difference_text(cell, metric)).strip()
        drawn = charts.difference_bar(cell, limits, title=text, is_sure=is_sure)
        cells = [difference_cell(cell, metric, is_sure), p_cell(row["p_corrected"], alpha)]
        head, classes = pair_names(row["first"], row["second"]), None if is_sure else "undecided"
        line = [row_head(head), tag("td", drawn, class_="drawn"), *cells]
        bodies.append(tag("tr", *line, class_=classes, title=row["reason"] or None))
    sides = ("", "first better →") if higher_is_better else ("← first better", "")
    axis = tag("span", *(tag("span", side) for side in sides), class_="axis")
    heads = ["first - second", axis, "difference", "p (Holm)"]
    return table(caption, heads, [tag("tbody", *bodies)], name=name, numbers=[2, 3])


def matrix(
    rows: Sequence[Row], metric: str, alpha: float, caption: Any, models: Mapping[str, int], name: str = "differences"
) -> Markup:
    """Return a table with a cell for each pair: the model of the row minus the model of the column.

    Parameters
    ----------
    rows, metric, alpha, caption, name
        As for `forest`.
    models : mapping
        The models in their order, and the number of the colour of each.
    """
    found = {(row["first"], row["second"]): row for row in rows}
    bodies = []
    for one, place in models.items():
        cells = []
        for other in models:
            row = found.get((one, other), found.get((other, one)))
            if row is None:  # the model itself, or another run of it
                cells.append(tag("td", "", class_="number"))
                continue
            value, low, high = (math.nan if end is None else end for end in cell_of(row))
            if row["first"] != one:
                value, low, high = 0.0 - value, -high, -low
            text, ends = difference_text((value, low, high), metric)
            p_value = math.nan if row["p_corrected"] is None else row["p_corrected"]
            kind = "grey" if not row["better"] else "gain" if row["better"] == one else "loss"
            title = f"{one} - {other}: {text} {ends}, {p_equals(p_value, alpha) or 'not tested'}"
            cells.append(number(text, value, classes=kind, title=title))
        bodies.append(tag("tr", row_head(model_label(one, place)), *cells))
    heads = ["row", *(label(name, MAX_HEAD) for name in models)]
    return table(caption, heads, [tag("tbody", *bodies)], name=name, classes="matrix", numbers=range(1, len(heads)))
