"""Tables for programs: the one writer of CSV and the one of JSON, with all digits, for data frames and for `Table`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgeval.display.table import Cell, Table
from kgeval.errors import DataError
from kgeval.metrics.metric_frames import REASON

BETTER = "better"  # the column of a table of differences that names a model, if the difference is decided
Fields = Mapping[str, Sequence[Any]]  # the name of each column, with its values as plain Python values
ENDS = ("", " low", " high")  # the names of a value and of the ends of its interval start with that of the column

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "＝", "＋", "－", "＠")


def frame_fields(frame: pd.DataFrame) -> Fields:
    """Return the columns of a data frame as plain values; the named levels of its index are columns too.

    Parameters
    ----------
    frame : pandas.DataFrame

    Raises
    ------
    DataError
        If two columns have the same name.

    Examples
    --------
    >>> frame_fields(pd.DataFrame({"n": [3.0]}, index=pd.Index(["a"], name="relation")))
    {'relation': ['a'], 'n': [3]}
    """
    levels = [(name, frame.index.get_level_values(i)) for i, name in enumerate(frame.index.names) if name is not None]
    columns = [*levels, *((name, frame.iloc[:, i]) for i, name in enumerate(frame.columns))]
    names = [str(name) for name, _ in columns]
    fields = {name: [_plain(name, value) for value in values.tolist()] for name, (_, values) in zip(names, columns)}
    if REASON in fields:
        fields[REASON] = [reason or None for reason in fields[REASON]]  # none is a gap, not an empty label
    if len(fields) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"two columns have the name {twice!r}; rename one of them")
    return fields


def table_fields(table: Table) -> Fields:
    """Return the columns of a table as plain values: numbers with all digits, and the ends of their intervals.

    Parameters
    ----------
    table : Table
        Drawings are left out. The name of a column is its key; the column ``"reason"`` has the reasons of its cells.
        Where rows are in groups, the column ``"group"`` has their titles.

    Examples
    --------
    >>> from kgeval.display.table import Column
    >>> values = Column("MRR", [Cell("0.25", "[0.20, 0.30]", numbers=(0.25, 0.2, 0.3))], key="mrr")
    >>> table_fields(Table([Column.of_labels("model", ["A"]), values]))
    {'model': ['A'], 'mrr': [0.25], 'mrr low': [0.2], 'mrr high': [0.3]}
    """
    fields: dict[str, list[Any]] = (
        {"group": [title for title, n in table.groups for _ in range(n)]} if table.groups else {}
    )
    reasons: list[dict[str, None]] = [{} for _ in range(table.n_rows)]
    for column in table.texts:
        name = f"{column.group} {column.key or column.heading}".strip()
        n = max((len(cell.numbers) for cell in column.cells), default=0)
        rows = [[*_values(cell, bool(n)), None, None] for cell in column.cells]
        fields |= {name + end: [row[i] for row in rows] for i, end in enumerate(ENDS[: max(n, 1)])}
        for found, cell in zip(reasons, column.cells):
            found |= {cell.reason: None} if cell.reason and not column.is_label else {}
    return fields | ({REASON: ["; ".join(found) for found in reasons]} if any(reasons) else {})


def _values(cell: Cell, is_number: bool) -> Sequence[Any]:
    return cell.numbers or [None if is_number and not cell.text else cell.text]


def csv_text(fields: Fields, *, spreadsheet: bool = False, line_end: str = "\n") -> str:
    """Return columns as CSV: cells with commas, quotes or line ends are quoted, as RFC 4180 says.

    Numbers have all their digits. A missing value is an empty cell, an empty label is ``""``.

    Parameters
    ----------
    fields : mapping of str to sequence
        From `frame_fields` or `table_fields`.
    spreadsheet : bool
        Whether to put an apostrophe before labels and headings (never numbers) that a spreadsheet would read as a
        formula: those that begin with = + - @ (also full-width), a tab, a line end or a null character. This changes
        the labels, so it is off by default.
    line_end : str
        What stands after each line.

    References
    ----------
    RFC 4180. CWE-1236; OWASP, CSV Injection; OWASP ASVS 5.0, 1.2.10.

    Examples
    --------
    >>> print(csv_text({"label": ["=1+1", 'a"b', ""], "x": [-0.5, math.nan, 1]}, spreadsheet=True), end="")
    label,x
    '=1+1,-0.5
    "a""b",
    "",1
    """

    def cell(value: Any) -> str:
        text = plain_text(value)
        if isinstance(value, str) and spreadsheet:
            text = "'" + text if text.startswith(FORMULA_STARTS) else text
        is_quoted = re.search('[,"\r\n]', text) or (isinstance(value, str) and not text)
        return '"' + text.replace('"', '""') + '"' if is_quoted else text

    gaps = {BETTER: [name or None for name in fields[BETTER]]} if BETTER in fields else {}  # not an empty label
    return "".join(",".join(map(cell, row)) + line_end for row in (list(fields), *zip(*{**fields, **gaps}.values())))


def json_records(fields: Fields) -> list[dict[str, Any]]:
    """Return the rows as dicts of values that strict JSON can hold.

    Parameters
    ----------
    fields : mapping of str to sequence
        From `frame_fields` or `table_fields`.

    Returns
    -------
    list of dict
        Missing values and infinite numbers are None. The key ``"reason"`` then has the reason that the column
        ``"reason"`` gives; without such a column, it names what is undefined. It also names what is infinite. A row
        without a reason does not have the key.

    Examples
    --------
    >>> json_records({"metric": ["mrr", "mr"], "value": [0.5, math.inf]})[1]
    {'metric': 'mr', 'value': None, 'reason': 'value is infinite'}
    """
    records = []
    for row in zip(*fields.values()):
        record: dict[str, Any] = dict(zip(fields, row))
        reasons = [record.pop(REASON, "")]
        for name, value in record.items():
            if _is_missing(value):
                record[name] = None
                reasons += [] if REASON in fields else [f"{name} is undefined"]
            elif isinstance(value, float) and math.isinf(value):
                record[name] = None
                reasons.append(f"{name} is {'' if value > 0 else 'minus '}infinite")
            elif not isinstance(value, (bool, int, float, str)):
                record[name] = str(value)
        reason = "; ".join(text for text in reasons if isinstance(text, str) and text)
        records.append(record | ({REASON: reason} if reason else {}))
    return records


def plain_text(value: Any) -> str:
    """Return a value of a table as text: a number with all its digits, a missing value as an empty text.

    Parameters
    ----------
    value : Any

    Examples
    --------
    >>> plain_text(0.1 + 0.2), plain_text(None), plain_text(math.inf), plain_text(True)
    ('0.30000000000000004', '', 'inf', 'True')
    """
    return "" if _is_missing(value) else repr(float(value)) if isinstance(value, float) else str(value)


def _plain(name: str, value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if name == "n" and isinstance(value, float) and value.is_integer() else value


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))
