"""Tables of metrics: one row per group, one column per metric, and in the last column why a number is missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kgeval.metrics.base import MetricValue
from kgeval.stats import Interval

REASON = "reason"
Group = tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """One number of a table: its value, the ends of its interval, and why one of them is NaN."""

    value: float
    low: float = np.nan
    high: float = np.nan
    reason: str = ""

    @classmethod
    def of(cls, measured: MetricValue | Interval) -> Cell:
        """Return the cell of a value, or of a value with its interval."""
        if isinstance(measured, Interval):
            return cls(measured.value, measured.low, measured.high, measured.reason)
        return cls(measured.value, reason=measured.reason)


def metric_frame(
    index: pd.Index[Any],
    rows: Sequence[Mapping[str, Cell]],
    metrics: Iterable[str],
    counts: Sequence[int] | None = None,
    with_intervals: bool = False,
) -> pd.DataFrame:
    """Return a table of metrics.

    Parameters
    ----------
    index : pandas.Index
        One label per row.
    rows : sequence of mapping of str to Cell
        The cells of each row, by the metrics' keys.
    metrics : iterable of str
        Keys, in the order of the columns.
    counts : sequence of int, optional
        The column ``n``.
    with_intervals : bool
        Whether each metric has the columns ``"<metric> low"`` and ``"<metric> high"`` behind it.

    Returns
    -------
    pandas.DataFrame
        The last column, ``reason``, says of each row which of its numbers are NaN or have no interval, and why. It is
        a column and not an attribute, so that no operation on the table loses it; it is empty where all is defined.
    """
    keys = list(dict.fromkeys(metrics))
    columns: dict[str, Any] = {} if counts is None else {"n": np.asarray(counts, dtype=np.int64)}
    for key in keys:
        columns[key] = np.array([row[key].value for row in rows], dtype=np.float64)
        if with_intervals:
            columns[f"{key} low"] = np.array([row[key].low for row in rows], dtype=np.float64)
            columns[f"{key} high"] = np.array([row[key].high for row in rows], dtype=np.float64)
    reasons = [join_reasons({key: row[key] for key in keys}) for row in rows]
    columns[REASON] = pd.Series(reasons, index=index, dtype=object)
    return pd.DataFrame(columns, index=index)


def join_reasons(cells: Mapping[str, Cell]) -> str:
    """Return one text for the reasons of a row; metrics with the same reason stand together.

    Examples
    --------
    >>> join_reasons({"mr": Cell(np.nan, reason="no triples"), "mrr": Cell(np.nan, reason="no triples")})
    'mr, mrr: no triples'
    >>> join_reasons({"mr": Cell(2.0, reason="one cluster only")})
    'interval of mr: one cluster only'
    """
    named: dict[tuple[bool, str], list[str]] = {}
    for key, cell in cells.items():
        if cell.reason:
            named.setdefault((bool(np.isnan(cell.value)), cell.reason), []).append(key)
    return "; ".join(
        f"{'' if is_value else 'interval of '}{', '.join(keys)}: {reason}" for (is_value, reason), keys in named.items()
    )


def group_index(groups: Collection[Group], names: Sequence[str]) -> pd.Index[Any]:
    """Return the index of a table with one row per group: a MultiIndex where groups have several names."""
    columns = zip(*groups) if len(groups) else [()] * len(names)
    levels = [pd.Index(list(parts), name=name, dtype=object) for name, parts in zip(names, columns)]
    return pd.MultiIndex.from_arrays(levels) if len(levels) > 1 else levels[0]
