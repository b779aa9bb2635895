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
from kgeval.stats.moments import Interval

REASON = "reason"
N_EFFECTIVE = "n_effective"
Group = tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """A value of a table, its confidence interval (if any), and the reason why the value or the interval is missing."""

    value: float
    low: float = np.nan
    high: float = np.nan
    reason: str = ""
    n_effective: float = np.nan

    @classmethod
    def of(cls, measured: MetricValue | Interval) -> Cell:
        """Make a cell from a `MetricValue` (without interval) or from an `Interval` (a value with its interval)."""
        if isinstance(measured, Interval):
            return cls(measured.value, measured.low, measured.high, measured.reason, measured.n_effective)
        return cls(measured.value, reason=measured.reason)


def metric_frame(
    index: pd.Index[Any],
    rows: Sequence[Mapping[str, Cell]],
    metrics: Iterable[str],
    counts: Sequence[int] | None = None,
    with_intervals: bool = False,
) -> pd.DataFrame:
    """Return a table with one row per group and one column per metric.

    Parameters
    ----------
    index : pandas.Index
        The labels of the rows.
    rows : sequence of mapping of str to Cell
        One dictionary per row: it maps the key of each metric to the cell.
    metrics : iterable of str
        Keys of the metrics, in the order of the columns.
    counts : sequence of int, optional
        The values of the first column, ``n``. If None, the table has no column ``n``.
    with_intervals : bool
        If True, each metric has two more columns with the limits of its confidence interval, ``"<metric> low"`` and
        ``"<metric> high"``. The column ``n_effective``, before the last column, is the effective number of
        clusters; if this number differs between the metrics of a row, the smallest number.

    Returns
    -------
    pandas.DataFrame
        The last column, ``reason``, tells which values of the row are NaN or have no interval, and why. The text is
        empty if no cell of the row has a reason. The reasons are not stored in ``DataFrame.attrs``, because pandas
        operations can lose `attrs`.
    """
    keys = list(dict.fromkeys(metrics))
    columns: dict[str, Any] = {} if counts is None else {"n": np.asarray(counts, dtype=np.int64)}
    for key in keys:
        columns[key] = np.array([row[key].value for row in rows], dtype=np.float64)
        if with_intervals:
            columns[f"{key} low"] = np.array([row[key].low for row in rows], dtype=np.float64)
            columns[f"{key} high"] = np.array([row[key].high for row in rows], dtype=np.float64)
    if with_intervals:
        numbers = [[row[key].n_effective for key in keys] for row in rows]
        columns[N_EFFECTIVE] = pd.DataFrame(numbers, index=range(len(rows)), dtype=np.float64).min(axis=1).to_numpy()
    reasons = [join_reasons({key: row[key] for key in keys}) for row in rows]
    columns[REASON] = pd.Series(reasons, index=index, dtype=object)
    return pd.DataFrame(columns, index=index)


def join_reasons(cells: Mapping[str, Cell]) -> str:
    """Join the reasons of all cells of a row into one text; a reason that several metrics share occurs only once.

    Parameters
    ----------
    cells : mapping of str to Cell
        The cells of one row, by the key of the metric.

    Returns
    -------
    str
        Empty if no cell has a reason.

    Examples
    --------
    >>> join_reasons({"mr": Cell(np.nan, reason="no triples"), "mrr": Cell(np.nan, reason="no triples")})
    'mr, mrr: no triples'
    >>> join_reasons({"mr": Cell(2.0, reason="one cluster only")})
    'no interval of mr: one cluster only'
    """
    # Maps (about, reason) to the keys of the metrics with this reason; `facts` is the text before the keys.
    keys_of: dict[tuple[str, str], list[str]] = {}
    for key, cell in cells.items():
        if cell.reason:
            about = "" if np.isnan(cell.value) else "no interval of " if np.isnan(cell.low) else "interval of "
            keys_of.setdefault((about, cell.reason), []).append(key)
    return "; ".join(f"{about}{', '.join(keys)}: {reason}" for (about, reason), keys in keys_of.items())


def group_index(groups: Collection[Group], names: Sequence[str]) -> pd.Index[Any]:
    """Return the index of a table with one row per group.

    Parameters
    ----------
    groups : collection of tuple of str
        For each group, a tuple with one label per index level.
    names : sequence of str
        The names of the index levels.

    Returns
    -------
    pandas.Index
        A MultiIndex if there is more than one level.
    """
    columns = zip(*groups) if len(groups) else [()] * len(names)
    levels = [pd.Index(list(labels), name=name, dtype=object) for name, labels in zip(names, columns)]
    return pd.MultiIndex.from_arrays(levels) if len(levels) > 1 else levels[0]
