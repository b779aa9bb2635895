"""Bounded ranks (only their bounds are known), and results for which some facts about the ranks are unknown.

`RankTable` and `EvaluationResult` call this module. `EvaluationResult` describes the columns ``bounded_raw`` and
``bounded_filtered`` of a table of ranks, and the entry ``unknown`` of `facts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Ids, check_one_of
from kgeval.base.wording import written
from kgeval.data.known import SETTINGS
from kgeval.errors import DataError
from kgeval.metrics.metric_frames import REASON
from kgeval.metrics.query_level import QueryLevel
from kgeval.ranking.counts import RankCounts
from kgeval.results.keys import Key

UNKNOWN_COUNT = -1  # the value in all rows of a column of counts that ``facts["unknown"]`` declares unknown
COUNTS = ("better", "tied", "rivals")
BOUNDED_COLUMNS = tuple(f"bounded_{setting}" for setting in SETTINGS)
# What may be unknown, and how the header of a result names it.
UNKNOWN = {
    "raw": "raw ranks",
    "filtered": "filtered ranks",
    "rivals": "numbers of rivals",
    "ties": "ties",
    "queries": "lists of queries",
}
EXTREMES = ("optimistic", "pessimistic")  # the tie policies under which a bounded rank has one value
MAX_DECIMALS = 12


def bounded_rows(frame: pd.DataFrame, setting: str, rows: Ids | None = None) -> npt.NDArray[np.bool_]:
    """Return for each of `rows`, by default all rows of a table of ranks, whether its rank is bounded.

    Parameters
    ----------
    frame : pandas.DataFrame
    setting : str
        ``"raw"`` or ``"filtered"``.
    rows : int64 array, optional

    Returns
    -------
    bool array, shape (rows,)
        False also if both bounds of the rank are equal.
    """
    name = f"bounded_{setting}"
    if name not in frame.columns:
        return np.zeros(len(frame) if rows is None else len(rows), dtype=np.bool_)
    is_bounded = frame[name].to_numpy() & (frame[f"tied_{setting}"].to_numpy() > 0)
    return np.asarray(is_bounded if rows is None else is_bounded[rows])


def at_extremes(counts: RankCounts, is_bounded: npt.NDArray[np.bool_]) -> tuple[RankCounts, RankCounts]:
    """Return the counts with all bounded ranks at their worst, and with all of them at their best.

    Parameters
    ----------
    counts : RankCounts
    is_bounded : bool array, shape (rows,)

    Examples
    --------
    >>> counts = RankCounts(np.array([0, 2]), np.array([1, 5]), np.array([9, 9]))
    >>> worst, best = at_extremes(counts, np.array([False, True]))
    >>> worst.better, best.better, worst.tied
    (array([0, 7]), array([0, 2]), array([1, 0]))
    """
    tied = np.where(is_bounded, 0, counts.tied)
    worst = counts.better + np.where(is_bounded, counts.tied, 0)
    return RankCounts(worst, tied, counts.rivals), RankCounts(counts.better, tied, counts.rivals)


def unknown_reason(unknown: Mapping[str, str], key: Key, at_chance: bool = False) -> str:
    """Return the reason why the value (or the chance level) of a metric is unknown; an empty string if known.

    Parameters
    ----------
    unknown : mapping of str to str
        The entry ``unknown`` of `EvaluationResult.facts`.
    key : Key
    at_chance : bool
        Whether the reason is for the chance level, which depends on the number of rivals, but not on ties.
    """
    if not unknown:
        return ""
    needs = [key.setting]
    needs += ["ties"] if not at_chance and key.ties != "realistic" else []
    needs += ["rivals"] if at_chance or key.metric.needs_candidates else []
    needs += ["queries"] if isinstance(key.metric, QueryLevel) else []
    return next((unknown[name] for name in needs if name in unknown), "")


def unknown_counts(unknown: Mapping[str, str]) -> list[str]:
    """Return the names of the columns of unknown counts; these columns hold `UNKNOWN_COUNT` in all rows.

    Examples
    --------
    >>> unknown_counts({"rivals": "the file does not say it"})
    ['rivals_raw', 'rivals_filtered']
    """
    return [
        f"{name}_{setting}"
        for setting in SETTINGS
        for name in COUNTS
        if setting in unknown or (name == "rivals" and "rivals" in unknown)
    ]


def check_bounded(frame: pd.DataFrame, unknown: Any) -> None:
    """Raise a DataError if the entry ``unknown`` of `facts` or a column ``bounded_...`` contradicts the counts.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table of ranks.
    unknown : dict
    """
    if not isinstance(unknown, Mapping) or not all(isinstance(reason, str) and reason for reason in unknown.values()):
        raise DataError(f"facts['unknown'] must be a dict with a reason for each key; got {unknown!r}")
    for name in unknown:
        check_one_of("facts['unknown']", name, UNKNOWN, DataError)
    are_unknown = unknown_counts(unknown)
    for name in (f"{count}_{setting}" for setting in SETTINGS for count in COUNTS):
        values = frame[name].to_numpy()
        if name in are_unknown and (values != UNKNOWN_COUNT).any():
            raise DataError(f"{name} is unknown, so it must be {UNKNOWN_COUNT} in all rows; got {values.max()}")
        if name not in are_unknown and len(values) and values.min() < 0:
            raise DataError(
                f"{name} must be at least 0; got {values.min()}. If it is unknown, give the reason in facts['unknown']"
            )
    for name in BOUNDED_COLUMNS:
        old = name.replace("bounded", "undecided")
        if old in frame.columns:
            raise DataError(f"the column {old} of a table of ranks is called {name} since kgeval 0.2; rename it")
        if name in frame.columns and frame[name].dtype != np.bool_:
            raise DataError(f"{name} must have the dtype bool; got {frame[name].dtype}")


def shown_bounds(key: Key, low: float, high: float) -> str:
    """Return the bounds of a metric as text, with the decimals of the metric, or more if both bounds would look equal.

    Examples
    --------
    >>> shown_bounds(Key.parse("mrr"), 0.69167, 0.7501), shown_bounds(Key.parse("mr"), 1.0, 12345.5)
    ('0.6917 and 0.7501', '1.00 and 12,345.50')
    """
    decimals = (key.metric.metric if isinstance(key.metric, QueryLevel) else key.metric).decimals
    while decimals < MAX_DECIMALS and f"{low:.{decimals}f}" == f"{high:.{decimals}f}":
        decimals += 1
    return f"{written(low, decimals)} and {written(high, decimals)}"


def between_reason(key: Key, low: float, high: float, n_bounded: int, n: int) -> str:
    """Return the reason why a metric has no value, with its bounds and the number of bounded ranks.

    Examples
    --------
    >>> between_reason(Key.parse("mrr"), 0.69167, 0.7501, 732, 3134)
    'the value lies between 0.6917 and 0.7501, since 732 of 3,134 ranks are bounded'
    """
    are = "is" if n_bounded == 1 else "are"
    return f"the value lies between {shown_bounds(key, low, high)}, since {n_bounded:,} of {n:,} ranks {are} bounded"


def where_equal(best: pd.DataFrame, worst: pd.DataFrame) -> pd.DataFrame:
    """Return a table of metrics per query: the values that two tables share, else NaN with a reason.

    Parameters
    ----------
    best, worst : pandas.DataFrame
        The same queries, with all bounded ranks at their best and at their worst; the last column is ``reason``.
    """
    keys = [name for name in best.columns if name != REASON]
    differs = (best[keys] != worst[keys]) & best[keys].notna()
    frame = best.assign(**best[keys].mask(differs))
    reasons = []
    for reason, row in zip(best[REASON], differs.to_numpy()):
        names = ", ".join(key for key, is_different in zip(keys, row) if is_different)
        reasons.append("; ".join(filter(None, [reason, f"{names}: depends on bounded ranks" if names else ""])))
    return frame.assign(**{REASON: pd.Series(reasons, index=frame.index, dtype=object)})
