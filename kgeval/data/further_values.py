"""The values of a further column in all splits: numbers, dates or text, with one code for each distinct value.

`Dataset.column` and `Dataset.column_codes` use this module for times and for other columns by which facts are compared.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Ids, cut_label
from kgeval.errors import DataError

NUMBER, DATE, TEXT = "number", "date", "text"
_NUMBER = re.compile(r"[+-]?([0-9]{1,18}|[0-9]{0,15}\.[0-9]+|[0-9]{1,15}\.)([eE][+-]?[0-9]{1,2})?")
_DATE = re.compile(
    r"([+-]?)([0-9]{4,6})-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[T ]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]{1,9})?))?(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?"
)
_MONTH, _DAY, _CLOCK, _ZONE = "months", "days", "times of day", "times of day with a time zone"


@dataclass(frozen=True)
class ColumnValues:
    """The values of one column in all splits, as one kind: numbers, dates or text.

    Parameters
    ----------
    kind : str
        ``"number"`` if all values are numbers, ``"date"`` if all are dates of the same precision, else ``"text"``.
    values : array, shape (distinct values,)
        The distinct values in ascending order: int64 or float64, datetime64, or object (str).
    codes : dict of str to int64 array, shape (triples of the split,)
        The index of each triple's value in `values`; -1 for a missing value. If the values are numbers or dates, an
        earlier time has a smaller code.
    mixed : str
        Which kinds of values the column holds, if it holds several and is therefore text; else empty.
    """

    kind: str
    values: npt.NDArray[Any]
    codes: dict[str, Ids]
    mixed: str = ""

    def of(self, split: str) -> npt.NDArray[Any]:
        """Return the values of one split, shape (triples of the split,).

        A missing value is NaN (which makes integers floats), NaT, or None in a column of text.

        Parameters
        ----------
        split : str

        Raises
        ------
        DataError
            If integers are too large to be floats, and another value is missing.
        """
        codes = self.codes[split]
        is_missing = codes < 0
        if not is_missing.any():
            return self.values[codes]
        blank: Any = {NUMBER: np.nan, DATE: np.datetime64("NaT"), TEXT: None}[self.kind]
        filled = np.full(len(codes), blank, dtype=np.float64 if self.kind == NUMBER else self.values.dtype)
        filled[~is_missing] = self.values[codes[~is_missing]]
        given = self.values[codes[~is_missing]]
        if self.kind == NUMBER and (filled[~is_missing].astype(given.dtype) != given).any():
            raise DataError(
                f"{split} has missing values beside integers above 2^53, which a float cannot hold; fill the missing "
                "values, or count from a later start"
            )
        return filled

    def texts(self) -> list[str]:
        """Return the distinct values as texts: whole numbers without a fraction, dates in ISO 8601."""
        if self.values.dtype.kind == "f":
            return [str(int(value)) if value.is_integer() else repr(value) for value in self.values.tolist()]
        if self.kind != DATE:
            return [str(value) for value in self.values]
        # numpy writes the year -44 as -044; a date has at least four digits, so that it is read as a date again
        return [re.sub(r"^-([0-9]+)", lambda m: f"-{int(m[1]):04}", str(value)) for value in self.values]


def column_values(parts: Mapping[str, pd.Series[Any] | int]) -> ColumnValues:
    """Return the values of a column in all splits.

    Text that is written like a number or a date is one: "10" comes after "9". Dates are written year-month-day
    (2014-05-01), year-month, or with a time of day; a year alone is a number. Missing values and empty texts are
    missing.

    Parameters
    ----------
    parts : mapping of str to pandas.Series or int
        The column of each split; for a split without this column, the number of its triples.

    Examples
    --------
    >>> found = column_values({"train": pd.Series(["10", "-44", None]), "test": pd.Series([9])})
    >>> found.kind, found.values, found.codes["train"]
    ('number', array([-44,   9,  10]), array([ 2,  0, -1]))
    >>> column_values({"test": pd.Series(["2014-05-01", "2014"])}).mixed
    "days ('2014-05-01') and numbers ('2014')"
    """
    raw: dict[str, tuple[Ids, list[Any]]] = {}  # for each split: the code of each row, and the distinct values
    for split, part in parts.items():
        raw[split] = (np.full(part, -1), []) if isinstance(part, int) else _factorized(part)
    parsed = {split: [_parsed(value) for value in distinct] for split, (_, distinct) in raw.items()}
    examples: dict[str, Any] = {}
    for split, (_, distinct) in raw.items():
        for value, (kind, _) in zip(distinct, parsed[split]):
            examples.setdefault(kind, value)
    examples.pop("", None)
    dates = [value for values in parsed.values() for kind, value in values if kind == _CLOCK]
    if {*examples} == {_DAY, _CLOCK} and all(value == value.astype("datetime64[D]") for value in dates):
        examples.pop(_CLOCK)  # midnights are days
    kind = TEXT
    if len(examples) == 1 and TEXT not in examples:
        kind = NUMBER if NUMBER in examples else DATE
    finals: dict[str, list[Any]] = {
        split: [
            None if of == "" else value if kind != TEXT else _text(original)
            for original, (of, value) in zip(raw[split][1], values)
        ]
        for split, values in parsed.items()
    }
    ordered = _in_order(kind, {value for values in finals.values() for value in values if value is not None})
    codes = {}
    for split, (rows, _) in raw.items():
        of_distinct = np.full(len(finals[split]) + 1, -1)  # the code of each distinct value; -1 at the end, for missing
        given = [i for i, value in enumerate(finals[split]) if value is not None]
        of_distinct[given] = np.searchsorted(ordered, np.array([finals[split][i] for i in given], dtype=ordered.dtype))
        codes[split] = of_distinct[rows]
    names = {NUMBER: "numbers", TEXT: "other text"}
    shown = [f"{names.get(of, of)} ({cut_label(str(value))!r})" for of, value in examples.items()]
    mixed = f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else ""
    return ColumnValues(kind, ordered, codes, mixed)


def _factorized(column: pd.Series[Any]) -> tuple[Ids, list[Any]]:
    """Return the code of each row and the distinct values of a column; missing values have the code -1."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        used = column.cat.remove_unused_categories().cat
        return used.codes.to_numpy().astype(np.int64), list(used.categories)
    is_dates = isinstance(column.dtype, np.dtype) and column.dtype.kind == "M"
    values: Any = column.to_numpy(dtype=None if is_dates else object)
    try:
        codes, distinct = pd.factorize(values)
    except TypeError:
        raise DataError(f"the column {column.name!r} holds lists or other values that cannot be compared") from None
    return codes.astype(np.int64), list(np.asarray(distinct))


def _parsed(value: Any) -> tuple[str, Any]:
    """Return the kind of a value (a precision for dates) and the number or date; the kind "" for a missing value."""
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return "", None
        if _NUMBER.fullmatch(text):
            return NUMBER, int(text) if text.lstrip("+-").isdecimal() else float(text)
        match = _DATE.fullmatch(text)
        return (TEXT, value) if match is None else _date(match, value)
    if isinstance(value, (bool, np.bool_)):
        return TEXT, value
    if isinstance(value, (int, np.integer)):
        return (NUMBER, int(value)) if abs(int(value)) < 2**63 else (TEXT, value)
    if isinstance(value, (float, np.floating)):
        return NUMBER, float(value)
    if isinstance(value, np.datetime64):
        return _CLOCK, value
    if isinstance(value, datetime.datetime):  # also pandas.Timestamp
        return _parsed(value.isoformat(sep=" "))
    if isinstance(value, datetime.date):
        return _DAY, np.datetime64(value, "D")
    return TEXT, value


def _date(match: re.Match[str], text: str) -> tuple[str, Any]:
    """Return the precision and the date of a text that matches `_DATE`; such a text may be no date: 2014-13-01."""
    sign, year, month, day, hour, minute, second, zone = match.groups()
    sign = sign.replace("+", "")
    try:
        if day is None:
            return _MONTH, np.datetime64(f"{sign}{int(year):04}-{month:0>2}", "M")
        date = f"{sign}{int(year):04}-{month:0>2}-{day:0>2}"
        if hour is None:
            return _DAY, np.datetime64(date, "D")
        moment = np.datetime64(f"{date}T{hour:0>2}:{minute}:{second or '00'}")
    except ValueError:
        return TEXT, text
    if zone is None:
        return _CLOCK, moment
    if zone != "Z":
        minutes = int(zone[1:3]) * 60 + int(zone[-2:])
        moment = moment - np.timedelta64(-minutes if zone[0] == "-" else minutes, "m")
    return _ZONE, moment


def _text(value: Any) -> str:
    """Return a value of a column of text as text; dates without a time of day as days."""
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[D]") if value == value.astype("datetime64[D]") else value)
    return str(value)


def _in_order(kind: str, values: Iterable[Any]) -> npt.NDArray[Any]:
    """Return the distinct values in ascending order, as an array of their kind."""
    if kind == DATE:
        dates = np.unique(np.array([*values]))  # numpy takes the finest unit of all dates
        units = ("D", "s", "ms", "us", "ns")
        if np.datetime_data(dates.dtype)[0] in ("Y", "M", "D"):
            return dates
        coarser = (dates.astype(f"datetime64[{unit}]") for unit in units)
        return next(cut for cut in coarser if (cut == dates).all())
    ordered = sorted(values)
    if kind == TEXT:
        return np.array(ordered, dtype=object)
    if all(isinstance(value, int) for value in ordered):
        return np.array(ordered, dtype=np.int64)
    floats = np.array(ordered, dtype=np.float64)
    if any(float(value) != value or (isinstance(value, int) and int(float(value)) != value) for value in ordered):
        raise DataError("a column mixes fractions with integers above 2^53, which a float cannot hold")
    return floats
