"""`Table`: a table for people as a value, drawn in each medium by `kgeval.display.media`.

A cell is text that is ready to be shown, but not yet escaped for a medium: each renderer escapes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import listed
from kgeval.base.wording import (
    between,
    count_text,
    decimals_for,
    difference_decimals,
    enough_decimals,
    p_text,
    percent,
    printable,
    signed,
    written,
)
from kgeval.display.html import Markup, axis_ends
from kgeval.metrics.grammar import display_of
from kgeval.metrics.metric_frames import N_EFFECTIVE, REASON
from kgeval.stats.moments import FEW_CLUSTERS

OPTIONAL_COLUMNS = ("share", N_EFFECTIVE)  # a table that is wider than the terminal leaves out these first
DIFFERENCES = ("difference", "contribution")  # columns of numbers with a sign
INTERVAL_ENDS = ("low", "high")
KEPT = ("difference", "mrr")  # the first of these that a table has is the column that it leaves out last
MIN_EFFECTIVE = 3  # clusters; an interval from fewer says nothing
TOO_FEW = "[too few]"  # in place of such an interval
TONES = ("faint", "gain", "loss", "warn")  # no better than chance or undecided; better; worse; doubtful
BOLD = "bold"  # the sign of a note about bold values
Note = tuple[str, str]  # a sign (`BOLD`, a mark such as "†", or empty) and a sentence


@dataclass(frozen=True)
class Cell:
    """A label or a number of a table, as text.

    Parameters
    ----------
    text : str
        Printable.
    interval : str
        Such as ``"[0.21, 0.35]"``; empty if there is none.
    deviation : str
        The standard deviation over seeds; empty if there is none.
    mark : str
        A mark, such as ``"†"``, that a note explains.
    is_best : bool
        Whether the cell is bold, as one of the best of its column or as a decision.
    drawing : function, optional
        Makes what HTML shows below the text, such as an interval on an axis. All other media leave out a column that
        has drawings and no texts, and make no drawing.
    markup : function, optional
        Makes what HTML shows in place of the text, such as a link.
    numbers : tuple of float
        The number, and the ends of its interval, with all digits: for sorting, downloads and files for programs.
    tone : str
        How HTML colours the cell: one of `TONES`, or empty.
    reason : str
        Why a number is missing, or more about it; HTML shows it under the pointer.
    note : str
        A second, small line in HTML.
    flag : str
        A word that HTML shows in a frame beside the text, such as ``"ties"``.
    model : int, optional
        The place of the model whose colour stands before the text.
    """

    text: str = ""
    interval: str = ""
    deviation: str = ""
    mark: str = ""
    is_best: bool = False
    drawing: Callable[[], Markup] | None = None
    markup: Callable[[], Markup] | None = None
    numbers: Sequence[float | None] = ()
    tone: str = ""
    reason: str = ""
    note: str = ""
    flag: str = ""
    model: int | None = None


@dataclass(frozen=True)
class Column:
    """One column of a `Table`.

    Parameters
    ----------
    heading : str
    cells : sequence of Cell
    is_label : bool
        Whether the cells are labels: aligned at the left; a terminal may shorten them. Numbers are aligned at the right
        and are never shortened.
    place : int, optional
        The order in which a terminal leaves out columns, as in `kgeval.base.terminal.Column`; None: never.
    group : str
        What neighbouring columns share, such as their dataset.
    head : function, optional
        Makes what HTML shows in place of the heading, such as the ends of an axis.
    model : int, optional
        The place of the model whose colour stands before the heading.
    key : str
        The name of the column in CSV and JSON; by default the heading.
    """

    heading: str
    cells: Sequence[Cell]
    is_label: bool = False
    place: int | None = None
    group: str = ""
    head: Callable[[], Markup] | None = None
    model: int | None = None
    key: str = ""

    @property
    def is_drawn(self) -> bool:
        """Whether the cells are drawings alone, which only HTML shows."""
        drawn = any(cell.drawing is not None for cell in self.cells)
        return drawn and not any(cell.text or cell.markup for cell in self.cells)

    @classmethod
    def of_labels(
        cls, heading: str, labels: Iterable[str], place: int | None = None, models: Sequence[int] | None = None
    ) -> Column:
        """Return a column of labels; characters that cannot be printed are escaped.

        `models` are the places of the models whose colours stand before the labels.
        """
        texts = [printable(label) for label in labels]
        cells = [Cell(text, model=None if models is None else models[i]) for i, text in enumerate(texts)]
        return cls(printable(heading), cells, is_label=True, place=place)

    @classmethod
    def of_texts(cls, heading: str, texts: Iterable[str], place: int | None = None) -> Column:
        """Return a column of numbers that are text already."""
        return cls(printable(heading), [Cell(text) for text in texts], place=place)

    @classmethod
    def of_counts(cls, heading: str, counts: Iterable[float | None]) -> Column:
        """Return a column of counts, such as ``"20,466"``."""
        return cls(printable(heading), [Cell(count_text(n), numbers=(n,)) for n in counts])

    @classmethod
    def of_shares(cls, heading: str, shares: Iterable[float | None]) -> Column:
        """Return a column of shares, such as ``"12.5%"``."""
        return cls(printable(heading), [Cell(percent(share), numbers=(share,)) for share in shares])

    @classmethod
    def of_p_values(cls, heading: str, p_values: Iterable[float | None], alpha: float) -> Column:
        """Return a column of p-values, each with digits enough to see on which side of `alpha` it is."""
        cells = [Cell(p_text(math.nan if p is None else p, alpha), numbers=(p,)) for p in p_values]
        return cls(printable(heading), cells)

    @classmethod
    def of_values(
        cls, heading: str, rows: Sequence[Sequence[float | None]], metric: str, reasons: Sequence[str] = ()
    ) -> Column:
        """Return a column of values of a metric, all with the same decimals.

        Parameters
        ----------
        heading : str
        rows : sequence of sequences of float or None
            The value; or the value and the ends of its interval; or these and the least and the greatest value that
            bounded ranks allow.
        metric : str
            The key of the metric.
        reasons : sequence of str
            Why the number of a row, or its interval, is missing.
        """
        digits = decimals_for([row[0] for row in rows], display_of(metric).decimals)
        why = reasons or [""] * len(rows)
        return cls(printable(heading), [value_cell(row, digits, reason) for row, reason in zip(rows, why)])

    @classmethod
    def of_differences(
        cls, heading: str, rows: Sequence[Sequence[float | None]], metric: str, decided: Sequence[bool]
    ) -> Column:
        """Return a column of differences with signs, all with the same decimals; those that are decided are bold.

        Parameters
        ----------
        heading : str
        rows : sequence of sequences of float or None
            The difference, and the ends of its interval.
        metric : str
            The key of the metric.
        decided : sequence of bool
        """
        digits = difference_decimals(rows, decided, display_of(metric).decimals)
        return cls(printable(heading), [difference_cell(row, digits, sure) for row, sure in zip(rows, decided)])

    @classmethod
    def of_drawings(cls, numbers: Iterable[float], drawings: Iterable[Callable[..., Markup] | None]) -> Column:
        """Return a column of drawings on one axis, whose ends stand above it.

        Parameters
        ----------
        numbers : iterable of float
            What is drawn, in all rows; see `limits_of`.
        drawings : iterable of function or None
            Each makes a drawing, given the ``limits`` of the axis; None draws nothing.
        """
        limits = limits_of(numbers)
        low, high = (f"{end:,g}" for end in limits)
        cells = [Cell() if draw is None else Cell(drawing=partial(draw, limits=limits)) for draw in drawings]
        return cls(f"{low} to {high}", cells, head=partial(axis_ends, low, "", high))


def limits_of(numbers: Iterable[float]) -> tuple[float, float]:
    """Return the ends of the axis of a column of drawings: round numbers, at least a fifth of the largest size apart.

    Parameters
    ----------
    numbers : iterable of float
        What is drawn; NaN and infinite numbers are ignored.

    Examples
    --------
    >>> limits_of([0.12, 0.87]), limits_of([0.338, 0.346]), limits_of([])
    ((0.1, 0.9), (0.3, 0.38), (0.0, 1.0))
    """
    known = [number for number in numbers if math.isfinite(number)] or [0.0, 1.0]
    low, high = min(known), max(known)
    space = max(0.0, (max(abs(low), abs(high)) or 1.0) / 5 - (high - low)) / 2
    unit = 10.0 ** math.floor(math.log10((high - low + 2 * space) / 2))
    ends = math.floor((low - space) / unit + 1e-9), math.ceil((high + space) / unit - 1e-9)
    return round(ends[0] * unit, 9), round(ends[1] * unit, 9)


@dataclass(frozen=True)
class Table:
    """A table for people: typed columns, and notes below it.

    Parameters
    ----------
    columns : sequence of Column
        The first column is the heading of each row.
    notes : sequence of (str, str)
        Sentences below the table, each with the sign that it explains: `BOLD`, a mark, or an empty text.
    faint : collection of int
        The rows that a terminal shows dim, and HTML in grey.
    caption : str
        What the table shows, in a sentence above it.
    name : str
        The name of the table in downloads and links.
    groups : sequence of (str, int)
        The titles of groups of rows, each with its number of rows; the groups follow each other.
    opened : mapping of int to function
        For rows of which HTML shows more at a click: makes what is shown.
    facts : mapping of int to dict
        For rows that a page can filter: the attributes by which it does.
    kind : str
        How HTML sets the table, as words: ``"matrix"`` for narrow columns, ``"tall"`` for a table that scrolls,
        ``"sortable"``, ``"bars"`` for wide drawings.
    """

    columns: Sequence[Column]
    notes: Sequence[Note] = ()
    faint: Collection[int] = ()
    caption: str = ""
    name: str = ""
    groups: Sequence[tuple[str, int]] = ()
    opened: Mapping[int, Callable[[], Markup]] = field(default_factory=dict)
    facts: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    kind: str = ""

    @property
    def texts(self) -> list[Column]:
        """The columns without drawings."""
        return [column for column in self.columns if not column.is_drawn]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0].cells) if self.columns else 0


def value_cell(row: Sequence[float | None], digits: int, reason: str = "") -> Cell:
    """Return a value with its interval; if ranks are bounded, the least and the greatest value.

    Parameters
    ----------
    row : sequence of float or None
        As in `Column.of_values`.
    digits : int
    reason : str

    Examples
    --------
    >>> value_cell((0.25, 0.2, 0.3), 2).interval, value_cell((None, None, None, 0.2, 0.4), 2).text
    ('[0.20, 0.30]', '0.20 to 0.40')
    """
    value, low, high, least, greatest = (math.nan if end is None else end for end in (*row, *[None] * (5 - len(row))))
    text = written(value, enough_decimals([value], digits))
    if math.isnan(value) and least < greatest:
        text = f"{written(least, digits)} to {written(greatest, digits)}"
    return Cell(text, between(low, high, digits), numbers=row[:3], reason=reason)


def difference_cell(row: Sequence[float | None], digits: int, is_sure: bool) -> Cell:
    """Return a difference with its sign and its interval; bold if it is decided.

    A decided difference, and the end of its interval beside 0, never read as 0.

    Parameters
    ----------
    row : sequence of float or None
        The difference, and the ends of its interval.
    digits : int
    is_sure : bool

    Examples
    --------
    >>> cell = difference_cell((0.0281, 0.0259, 0.0302), 4, True)
    >>> cell.text, cell.interval, cell.is_best
    ('+0.0281', '[+0.0259, +0.0302]', True)
    """
    value, low, high = (math.nan if end is None else end for end in (*row, *[None] * (3 - len(row))))
    places = enough_decimals((value, low, high) if is_sure else (value,), digits)
    return Cell(
        signed(value, places), between(low, high, places, has_signs=True), is_best=is_sure, numbers=(value, low, high)
    )


def heading_of(column: str) -> str:
    """Return the heading of a column of a table of metrics.

    Examples
    --------
    >>> heading_of("mrr"), heading_of("macro.f1"), heading_of("n_effective")
    ('MRR', 'macro F1', 'effective clusters')
    """
    if column == N_EFFECTIVE:
        return "effective clusters"
    macro = "macro " if column.startswith("macro.") else ""
    return macro + display_of(column.removeprefix("macro.")).heading


def widths_words(frame: pd.DataFrame, level: float, which: str = "at most ") -> str:
    """Return how far the ends of intervals lie from their values at most, for each metric of a table.

    Parameters
    ----------
    frame : pandas.DataFrame
        With the columns ``"<metric> low"`` and ``"<metric> high"``.
    level : float
        The nominal coverage of the intervals.
    which : str
        Before the numbers.

    Examples
    --------
    >>> widths_words(pd.DataFrame({"mrr": [0.25], "mrr low": [0.2], "mrr high": [0.3125]}), 0.95)
    '95% intervals: at most ±0.0625 (MRR)'
    """
    texts = []
    for metric in (name for name in frame.columns if f"{name} low" in frame.columns):
        ends = frame[[f"{metric} low", f"{metric} high"]]
        widest = np.nanmax(ends.sub(frame[metric], axis=0).abs().to_numpy(dtype=np.float64), initial=-math.inf)
        if math.isfinite(widest):
            digits = enough_decimals(
                [widest],
                decimals_for(frame.loc[ends.notna().any(axis=1), metric].tolist(), display_of(metric).decimals),
            )
            texts.append(f"±{written(widest, digits)} ({heading_of(metric)})")
    return f"{100 * level:g}% intervals: {which}{listed(texts)}" if texts else f"no {100 * level:g}% intervals"


def titled(metric: str, higher_is_better: bool | None) -> str:
    """Return the heading of a metric with an arrow in the direction of better values.

    Parameters
    ----------
    metric : str
    higher_is_better : bool, optional

    Examples
    --------
    >>> titled("mrr", True), titled("mr", False)
    ('MRR ↑', 'MR ↓')
    """
    return f"{heading_of(metric)} {'↑' if higher_is_better else '↓'}"


def frame_table(
    frame: pd.DataFrame,
    optional: Sequence[str] = OPTIONAL_COLUMNS,
    *,
    best: Collection[tuple[Any, str]] = (),
    marks: Mapping[tuple[Any, str], str] | None = None,
    notes: Sequence[Note] = (),
    index: bool = True,
) -> Table:
    """Return a data frame of metrics as a `Table`.

    Columns have headings, and numbers have few decimals. The columns ``"<metric> low"`` and ``"<metric> high"`` become
    the interval of the metric, unless it rests on fewer than `MIN_EFFECTIVE` effective clusters; ``"reason"`` is left
    out (see `kgeval.display.media.undefined_lines`); the effective number of clusters is shown where it is below 100.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per group, one column per metric.
    optional : sequence of str
        Columns that a narrow terminal leaves out first, in this order. Then intervals are left out, then columns from
        right to left; a difference, else the MRR, else the first metric is left out last.
    best : collection of (label of a row, column)
        The cells that are bold.
    marks : mapping of (label of a row, column) to str, optional
    notes : sequence of (str, str)
        As in `Table`.
    index : bool
        Whether to show the index of the frame.
    """
    marks = marks or {}
    names = [name for name in frame.columns if not _is_hidden(name, frame)]
    is_summary = list(frame.index.names) == ["rows"]
    faint = [i for i, label in enumerate(frame.index) if label == "chance"] if is_summary else []
    parts = [index_parts(label) for label in frame.index] if index else []
    heads = ["" if name is None or is_summary else str(name) for name in frame.index.names] if index else []
    columns = [Column.of_labels(head, [part[i] for part in parts]) for i, head in enumerate(heads)]
    for name, place in zip(names, _places(names, optional)):
        cells = [
            replace(cell, mark=marks.get((label, name), ""), is_best=(label, name) in best)
            for label, cell in zip(frame.index, _cells_of(frame, name, faint))
        ]
        is_label = len(frame) > 0 and isinstance(frame[name].iloc[0], str)
        columns.append(Column(printable(heading_of(str(name))), cells, is_label, place))
    if any(cell.interval == TOO_FEW for column in columns for cell in column.cells):
        why = f"no interval: fewer than {MIN_EFFECTIVE} effective clusters (independent groups of ranks)"
        notes = [*notes, ("", f"{TOO_FEW}: {why}")]
    return Table(columns, notes, faint)


def by_setting(table: Table) -> Table:
    """Return a table whose rows are named ``"both"``, ``"raw both"``, ... with the setting in a column of its own.

    Parameters
    ----------
    table : Table
        Other tables, whose first column has a heading, stay as they are.

    Examples
    --------
    >>> table = by_setting(Table([Column.of_labels("", ["both", "raw both"])]))
    >>> [[column.heading, *(cell.text for cell in column.cells)] for column in table.columns]
    [['setting', 'filtered', 'raw'], ['side', 'both', 'both']]
    """
    labels, *others = table.columns
    if labels.heading:
        return table
    names = [cell.text for cell in labels.cells]
    settings = ["raw" if name.startswith("raw ") else "filtered" for name in names]
    sides = [name.removeprefix("raw ") for name in names]
    return replace(table, columns=[Column.of_labels("setting", settings), Column.of_labels("side", sides), *others])


def index_parts(label: Any) -> list[str]:
    """Return the labels of a row of a frame as texts, one for each level of its index."""
    return [str(part) for part in label] if isinstance(label, tuple) else [str(label)]


def _is_hidden(column: Any, frame: pd.DataFrame) -> bool:
    """Return whether a column is not shown as such: reasons, ends of intervals, and clusters if there are enough."""
    if column == N_EFFECTIVE:
        return not (frame[N_EFFECTIVE] < FEW_CLUSTERS).any()
    metric = str(column).removesuffix(" low") if str(column).endswith(" low") else str(column).removesuffix(" high")
    is_end = metric != column and all(name in frame.columns for name in (metric, f"{metric} low", f"{metric} high"))
    return is_end or column == REASON


def _places(columns: Sequence[Any], optional: Sequence[str]) -> list[int | None]:
    """Return the `Column.place` of each column of a table of metrics; the number of rows, ``n``, is always kept."""
    names = [str(name) for name in columns]
    metrics = [name for name in names if name != "n" and name not in optional]
    last = next((name for name in (*KEPT, *metrics) if name in metrics), "")
    places: list[int | None] = []
    for i, name in enumerate(names):
        if name in optional:
            places.append(list(optional).index(name) - len(optional))
        else:
            places.append(None if name == "n" else len(names) if name == last else len(names) - 1 - i)
    return places


def _cells_of(frame: pd.DataFrame, column: Any, chance: Collection[int]) -> list[Cell]:
    """Return the cells of a column: of numbers all with the same decimals, which the rows of chance do not decide."""
    values = frame[column].tolist()
    if column == N_EFFECTIVE:
        return [Cell(written(value, 0) if value < FEW_CLUSTERS else "") for value in values]
    ends = [frame[name] for name in (f"{column} low", f"{column} high") if name in frame.columns]
    rows = list(zip(values, *ends)) if len(ends) == len(INTERVAL_ENDS) else [(value,) for value in values]
    numbers = [value for i, value in enumerate(values) if i not in chance and type(value) is float]
    digits = decimals_for(numbers, display_of(column).decimals)
    cells = [_cell_of(str(column), row, digits) for row in rows]
    if len(ends) != len(INTERVAL_ENDS) or N_EFFECTIVE not in frame.columns:
        return cells
    few = [n < MIN_EFFECTIVE and math.isfinite(row[0]) for n, row in zip(frame[N_EFFECTIVE], rows)]
    return [replace(cell, interval=TOO_FEW) if is_few else cell for cell, is_few in zip(cells, few)]


def _cell_of(column: str, row: Sequence[Any], digits: int) -> Cell:
    """Return a cell of a column: a text, yes or no, a count, a difference, or a value that does not read as 0."""
    value = row[0]
    if isinstance(value, str):
        return Cell(printable(value))
    if isinstance(value, (bool, np.bool_)):
        return Cell("yes" if value else "no")
    if column == "n" or isinstance(value, (int, np.integer)):
        return Cell(count_text(value))
    digits = enough_decimals([value], digits)
    return difference_cell(row, digits, False) if column in DIFFERENCES else value_cell(row, digits)
