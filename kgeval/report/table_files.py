"""Tables as files that keep every label and digit: CSV, tab-separated text, Parquet and strict JSON.

Users import these functions from `kgeval.report.exports`.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from kgeval.base.checks import names_unknown_arguments
from kgeval.base.files import check_target, replacing
from kgeval.display.escapes import without_formulas
from kgeval.errors import DataError, MissingExtra

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")


@names_unknown_arguments()
def write_frame(frame: pd.DataFrame, path: str | Path, *, overwrite: bool = False, spreadsheet: bool = False) -> None:
    """Write a table to ``.csv``, ``.tsv`` or ``.parquet``; the file is written completely or not at all.

    Labels are written unchanged, and numbers with all their digits. To read a text file back, tell pandas the types:
    ``pandas.read_csv(path, dtype={...}, keep_default_na=False)``. Otherwise pandas changes labels such as NA and 007.

    Parameters
    ----------
    frame : pandas.DataFrame
        A named index is written as columns.
    path : str or path
        The suffix determines the format. ``.csv``: the text that `format_csv` returns. ``.tsv``: UTF-8, one line per
        row, nothing quoted, as `kgeval.read_dataset` reads it; labels with tabs or line ends cannot be written.
        ``.parquet``: needs pyarrow.
    overwrite : bool
        Whether an existing file may be replaced.
    spreadsheet : bool
        As in `format_csv`; allowed only for ``.csv``. The other formats never change labels.

    Raises
    ------
    DataError
        If the suffix is unknown, if `spreadsheet` is True for another suffix than ``.csv``, if the file exists and
        `overwrite` is False, if the file cannot be written, or if the format cannot hold a label.
    MissingExtra
        If the suffix is ``.parquet`` and pyarrow is not installed.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise DataError(
            f"{target}: expected a name that ends in {', '.join(TABLE_SUFFIXES)}; got {suffix or 'no ending'!r}"
        )
    if spreadsheet and suffix != ".csv":
        raise DataError(f"{target}: spreadsheet=True is for .csv only; {suffix} keeps labels unchanged")
    check_target(target, overwrite)
    if suffix == ".parquet":
        content = _parquet(_with_index(frame), target)
    else:
        text = format_csv(frame, spreadsheet) if suffix == ".csv" else _tsv(_with_index(frame), target)
        content = _encoded(text, target)
    with replacing(target, overwrite) as stream:
        stream.write(content)


def format_csv(frame: pd.DataFrame, spreadsheet: bool = False) -> str:
    """Return a table as CSV (RFC 4180: lines end in CRLF; cells with commas, quotes or line ends are quoted).

    Parameters
    ----------
    frame : pandas.DataFrame
        A named index becomes columns. Missing values and NaN become empty cells, empty labels become ``""``.
    spreadsheet : bool
        Whether to put an apostrophe before labels and headings (never numbers) that a spreadsheet would read as a
        formula: those that begin with = + - @ (also full-width), a tab, a line end or a null
        character. This changes the labels, so it is off by default.

    References
    ----------
    RFC 4180. CWE-1236; OWASP, CSV Injection; OWASP ASVS 5.0, 1.2.10.

    Examples
    --------
    >>> frame = pd.DataFrame({"label": ["=1+1", 'a"b'], "x": [-0.5, 1.0]})
    >>> format_csv(frame, spreadsheet=True).split()
    ['label,x', "'=1+1,-0.5", '"a""b",1.0']
    """

    def field(value: Any) -> str:
        is_label = isinstance(value, str)
        text = value if is_label else _plain_text(value)
        if not text and not is_label:
            return ""
        return '"' + text.replace('"', '""') + '"' if not text or re.search('[,"\r\n]', text) else text

    plain = _with_index(frame)
    rows = _rows_of_values(without_formulas(plain) if spreadsheet else plain)
    return "".join(",".join(map(field, row)) + "\r\n" for row in rows)


def format_json(frame: pd.DataFrame) -> str:
    """Return a table as strict JSON: a list with one object per row, ASCII only.

    NaN, infinite and missing values become null. The object of a row with a null has the field ``"reason"``. This field
    contains the text in the column ``"reason"`` of the table; if there is no text, it lists the undefined columns. Then
    it lists the infinite columns, if there are any.

    Parameters
    ----------
    frame : pandas.DataFrame
        A named index becomes fields.

    Examples
    --------
    >>> print(format_json(pd.DataFrame({"metric": ["mrr"], "value": [float("inf")]})))
    [
      {
        "metric": "mrr",
        "value": null,
        "reason": "value is infinite"
      }
    ]
    """
    plain = _with_index(frame)
    names = [str(name) for name in plain.columns]
    records = []
    for values in _rows_of_values(plain)[1:]:
        record = dict(zip(names, values))
        reasons = [record["reason"]] if isinstance(record.get("reason"), str) and record["reason"] else []
        has_reason = bool(reasons)
        for name, value in record.items():
            if _is_missing(value):
                record[name] = None
                reasons += [] if has_reason or name == "reason" else [f"{name} is undefined"]
            elif isinstance(value, float) and math.isinf(value):
                record[name] = None
                reasons.append(f"{name} is {'' if value > 0 else 'minus '}infinite")
            elif not isinstance(value, (bool, int, float, str)):
                record[name] = str(value)
        records.append(record | ({"reason": "; ".join(reasons)} if reasons else {}))
    return json.dumps(records, indent=2, allow_nan=False)


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table; a named index becomes columns. Raise a DataError if two columns have the same name."""
    index = [str(name) for name in frame.index.names if name is not None]
    names = [*index, *(str(name) for name in frame.columns)]
    duplicates = [name for name in names if names.count(name) > 1]
    if duplicates:
        raise DataError(f"two columns have the name {duplicates[0]!r}; rename one of them")
    return frame.reset_index() if index else frame


def _rows_of_values(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return a list of tuples of plain Python values: first the column names, then each row."""
    columns: Iterable[list[Any]] = (frame.iloc[:, i].tolist() for i in range(frame.shape[1]))
    return [tuple(str(name) for name in frame.columns), *zip(*columns)]


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def _plain_text(value: Any) -> str:
    """Return a value that is not a label as text: a number with all its digits, a missing value as an empty text."""
    return "" if _is_missing(value) else repr(float(value)) if isinstance(value, float) else str(value)


def _tsv(frame: pd.DataFrame, target: Path) -> str:
    names = [str(name) for name in frame.columns]
    lines = []
    for number, row in enumerate(_rows_of_values(frame), start=1):
        cells = [value if isinstance(value, str) else _plain_text(value) for value in row]
        for name, cell in zip(names, cells):
            if re.search("[\t\r\n]", cell):
                raise DataError(
                    f"{target}, line {number}: {name} is {cell!r}, and .tsv cannot hold tabs and line ends; "
                    "write .csv or .parquet"
                )
        lines.append("\t".join(cells) + "\n")
    return "".join(lines)


def _encoded(text: str, target: Path) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        near = text[max(0, error.start - 20) : error.end + 20]
        raise DataError(
            f"{target}: {near!r} contains a lone surrogate (half a character), which UTF-8 cannot encode"
        ) from error


def _parquet(frame: pd.DataFrame, target: Path) -> bytes:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtra(f'{target}: writing .parquet needs pyarrow; pip install "kgeval[parquet]"') from error
    stream = io.BytesIO()
    try:
        frame.to_parquet(stream, engine="pyarrow", index=False)
    except (pyarrow.ArrowException, ValueError, TypeError) as error:
        raise DataError(f"{target}: a column cannot be stored: {error}") from error
    return stream.getvalue()
