"""Tables of metrics: one row per group, one column per metric, and a last column that tells why values are missing.

`kgeval.results`, `kgeval.comparison`, `kgeval.classification`, `kgeval.report` and `kgeval.trec` build their tables
with this module.
"""

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
    """One value of a table, the two limits of its confidence interval, and the reason if any of the three is NaN."""

    value: float
    low: float = np.nan
    high: float = np.nan
    reason: str = ""

    @classmethod
    def of(cls, measured: MetricValue | Interval) -> Cell:
        """Return the cell of a metric's value, or of a value with its confidence interval."""
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
        The labels of the rows.
    rows : sequence of mapping of str to Cell
        For each row, its cells by the keys of the metrics.
    metrics : iterable of str
        Keys of the metrics, in the order of the columns.
    counts : sequence of int, optional
        The values of a first column ``n``; without counts there is no such column.
    with_intervals : bool
        Whether two columns, ``"<metric> low"`` and ``"<metric> high"``, follow the column of each metric.

    Returns
    -------
    pandas.DataFrame
        The last column, ``reason``, tells for each row which of its values are NaN or have no interval, and why; it
        is an empty text where every value is defined. The reasons are a column and not an attribute of the table,
        because operations on the table would lose an attribute.
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
    """Return one text with the reasons of all cells of a row; metrics with the same reason share one entry.

    Parameters
    ----------
    cells : mapping of str to Cell
        The cells of a row, by the metrics' keys.

    Returns
    -------
    str
        Empty if no cell has a reason.

    Examples
    --------
    >>> join_reasons({"mr": Cell(np.nan, reason="no triples"), "mrr": Cell(np.nan, reason="no triples")})
    'mr, mrr: no triples'
    >>> join_reasons({"mr": Cell(2.0, reason="one cluster only")})
    'interval of mr: one cluster only'
    """
    # Groups the keys of the metrics by (whether the value is NaN or only its interval is missing, reason).
    keys_of: dict[tuple[bool, str], list[str]] = {}
    for key, cell in cells.items():
        if cell.reason:
            keys_of.setdefault((bool(np.isnan(cell.value)), cell.reason), []).append(key)
    return "; ".join(
        f"{'' if is_value else 'interval of '}{', '.join(keys)}: {reason}"
        for (is_value, reason), keys in keys_of.items()
    )


def group_index(groups: Collection[Group], names: Sequence[str]) -> pd.Index[Any]:
    """Return the index of a table with one row per group.

    Parameters
    ----------
    groups : collection of tuple of str
        The labels of each group, one label per name.
    names : sequence of str
        The names of the index levels.

    Returns
    -------
    pandas.Index
        A MultiIndex if there are several names.
    """
    columns = zip(*groups) if len(groups) else [()] * len(names)
    levels = [pd.Index(list(parts), name=name, dtype=object) for name, parts in zip(names, columns)]
    return pd.MultiIndex.from_arrays(levels) if len(levels) > 1 else levels[0]
