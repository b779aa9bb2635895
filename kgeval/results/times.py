"""Bins of times, for breakdowns of results: bins of equal counts, or calendar years, months and days.

`EvaluationResult.by` and comparisons break down by ``"time"``, ``"time:20"`` (20 bins) or ``"time:year"``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from kgeval.data.column_names import TIME_NAMES
from kgeval.data.further_values import DATE, TEXT, ColumnValues, column_values
from kgeval.errors import MetricError

N_BINS = 10
PERIODS = {"year": "Y", "month": "M", "day": "D"}


def split_period(name: str) -> tuple[str, str]:
    """Return the column and the bins that a name asks for: ``"time:year"`` becomes ``("time", "year")``.

    Parameters
    ----------
    name : str

    Returns
    -------
    column, period : str
        `period` is empty unless the column is named like a time, and the text after the colon is a period or a number.
    """
    column, _, period = name.rpartition(":")
    is_time = column.rpartition(".")[2].lower() in TIME_NAMES
    return (column, period) if is_time and (period in PERIODS or period.isdecimal()) else (name, "")


def is_time(name: str) -> bool:
    """Return whether a column of a result is named like a time; ``"dataset.time"`` is too.

    Parameters
    ----------
    name : str
    """
    return name.rpartition(".")[2].lower() in TIME_NAMES


def time_bins(name: str, values: Any, period: str = "") -> Any:
    """Return the bin of each time.

    Parameters
    ----------
    name : str
        The name of the column, for messages.
    values : pandas or numpy array, shape (rows,)
    period : str
        ``"year"``, ``"month"`` or ``"day"`` for dates; or the largest number of bins. By default `N_BINS`: if there are
        fewer distinct times, each time is a bin; otherwise bins have about equal numbers of rows, and equal times are
        in the same bin.

    Returns
    -------
    ordered pandas.Categorical, shape (rows,)
        Bins in the order of time; missing times have no bin. `values` themselves if they are text.

    Raises
    ------
    MetricError
        If a period needs dates and the times are no dates, or if the number of bins is 0.

    Examples
    --------
    >>> time_bins("time", np.array([9, 10, 10, 11]), "2").tolist()
    ['9 to 10', '9 to 10', '9 to 10', '11']
    >>> time_bins("date", np.array(["2014-05-01", "2014-05-30", "2015-01-01"]), "month").tolist()
    ['2014-05', '2014-05', '2015-01']
    """
    times = column_values({"rows": pd.Series(values)})
    codes, texts = times.codes["rows"], times.texts()
    if times.kind == TEXT:
        if period:
            raise MetricError(f"{name}:{period}: the times are text, so they have no order; break down by {name!r}")
        return values
    if period in PERIODS:
        if times.kind != DATE:
            raise MetricError(
                f"{name}:{period} needs dates; the column holds numbers, such as {texts[0]}. Use {name!r}, or "
                f"'{name}:20' for 20 bins"
            )
        unit = PERIODS[period]
        if unit == "D" and np.datetime_data(times.values.dtype)[0] == "M":
            raise MetricError(f"{name}:day needs days; the column holds months. Use '{name}:month'")
        starts, bin_of = np.unique(times.values.astype(f"datetime64[{unit}]"), return_inverse=True)
        labels = ColumnValues(DATE, starts, {}).texts()
    else:
        n_bins = int(period) if period else N_BINS
        if not n_bins:
            raise MetricError(f"{name}:{period}: expected at least 1 bin")
        if len(texts) <= n_bins:
            bin_of = np.arange(len(texts))
        else:
            counts = np.bincount(codes[codes >= 0], minlength=len(texts))
            # A time is in the bin into which the first of its rows falls, if the sorted rows are cut into equal parts.
            bin_of = np.unique((np.cumsum(counts) - counts) * n_bins // counts.sum(), return_inverse=True)[1]
        first = np.flatnonzero(np.diff(bin_of, prepend=-1))
        last = np.append(first[1:], len(texts)) - 1
        labels = [texts[i] if i == j else f"{texts[i]} to {texts[j]}" for i, j in zip(first, last)]
    of_row = np.append(bin_of, -1)[codes]  # a missing time has the code -1, and so takes the last entry
    return pd.Categorical.from_codes(of_row, pd.Index(labels, dtype=object), ordered=True)
