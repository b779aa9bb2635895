"""Results for other programs: ranks and long tables as files, strict JSON, and flat numbers for experiment trackers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from kgeval.comparison import Results, name_results
from kgeval.data import SETTINGS
from kgeval.errors import DataError, MetricError
from kgeval.files import check_target
from kgeval.metrics import Metric, parse_all
from kgeval.report.table_files import format_csv, format_json, write_frame
from kgeval.results import DEFAULT_METRICS, EvaluationResult, Key

__all__ = [
    "TIDY_COLUMNS",
    "flat",
    "format_csv",
    "format_json",
    "ranks_frame",
    "tidy",
    "write_frame",
    "write_ranks",
]

TIDY_COLUMNS = ("model", "setting", "side", "ties", "metric", "value", "low", "high", "n", "reason")


def ranks_frame(result: EvaluationResult, columns: bool = True) -> pd.DataFrame:
    """Return the ranks table with labels, realistic ranks, and the further columns of the result.

    Parameters
    ----------
    result : EvaluationResult
    columns : bool
        Whether ``result.columns`` (features of the dataset, columns of the user) stand beside the ranks.

    Returns
    -------
    pandas.DataFrame
        One row per (triple, side), as ``result.labelled()``.

    Raises
    ------
    DataError
        If a further column has the name of one of the ranks table.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> facts = pd.DataFrame([["a", "r", "b"], ["b", "r", "c"]])
    >>> result = evaluate(lambda s, p, o: o, Dataset.from_frames(test=facts), progress=False)
    >>> ranks_frame(result)[["s", "p", "o", "side", "rank_filtered"]].head(1).values.tolist()
    [['a', 'r', 'b', 'subject', 2.0]]
    """
    frame = result.labelled().reset_index(drop=True)
    further = result.columns
    if not columns or not len(further.columns):
        return frame
    taken = [str(name) for name in further.columns if name in frame.columns]
    if taken:
        raise DataError(
            f"result.columns has {', '.join(taken)}, as the ranks table has; rename it, or say columns=False"
        )
    return pd.concat([frame, further.reset_index(drop=True)], axis=1)


def write_ranks(
    result: EvaluationResult, path: str | Path, *, overwrite: bool = False, spreadsheet: bool = False
) -> None:
    """Write `ranks_frame` to a file; see `write_frame`."""
    check_target(path, overwrite)
    write_frame(ranks_frame(result), path, overwrite=overwrite, spreadsheet=spreadsheet)


def tidy(
    results: Results,
    metrics: Sequence[str | Metric] | str = DEFAULT_METRICS,
    *,
    names: Sequence[str] | None = None,
    ties: str | None = None,
    confidence: float | None = 0.95,
) -> pd.DataFrame:
    """Return metrics in long form, one number a row.

    Parameters
    ----------
    results : EvaluationResult, or sequence of them, or mapping of name to EvaluationResult
    metrics : sequence of str or Metric, or one string with commas
    names : sequence of str, optional
        As in `kgeval.comparison.name_results`.
    ties : str, optional
        By default each metric's own.
    confidence : float, optional
        Of the intervals, clustered by triple; None: no intervals.

    Returns
    -------
    pandas.DataFrame
        Columns `TIDY_COLUMNS`. ``n`` counts the ranks, also for metrics of queries; ``low`` and ``high`` are NaN
        without an interval, and ``reason`` says why a number or its interval is undefined.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=4, n_relations=1)
    >>> result = evaluate(lambda s, p, o: s - o, dataset, progress=False)
    >>> tidy(result, "mr", names=["mine"], confidence=None)[["setting", "side", "value", "n"]].values.tolist()[:2]
    [['filtered', 'both', 3.0, 2], ['filtered', 'subject', 4.0, 1]]
    """
    parsed = parse_all(metrics)
    rows = []
    for name, result in name_results(results, names).items():
        n_of = {"both": len(result.table), **result.table["side"].astype(str).value_counts().to_dict()}
        for setting in reversed(SETTINGS):
            for side in result.rank_table.sides:
                for metric in parsed:
                    key = Key(metric, setting, side, ties or "")
                    text = f"{setting}.{side}.{key.ties}.{metric}"
                    value, low, high, reason = _measured(result, text, confidence)
                    n = int(n_of.get(side, 0))
                    rows.append((name, setting, side, key.ties, str(metric), value, low, high, n, reason))
    return pd.DataFrame(rows, columns=list(TIDY_COLUMNS))


def flat(
    result: EvaluationResult,
    metrics: Sequence[str | Metric] | str = DEFAULT_METRICS,
    *,
    prefix: str = "",
    ties: str | None = None,
) -> dict[str, float]:
    """Return metrics as one dict of floats, for experiment trackers.

    Parameters
    ----------
    result : EvaluationResult
    metrics : sequence of str or Metric, or one string with commas
    prefix : str
        Stands before every key, with a slash between.
    ties : str, optional
        By default each metric's own.

    Returns
    -------
    dict of str to float
        ``"filtered/both/realistic/hits_at_10"``, and the number of ranks under ``"filtered/both/n"``. Keys hold
        ASCII letters, digits and ``_ . / -`` alone. Values are finite: an undefined metric has no key, since a
        tracker would draw a gap as a number; ask ``result.value`` for the reason.

    Raises
    ------
    MetricError
        If `prefix` holds another character, or two metrics get the same key.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=4, n_relations=1)
    >>> result = evaluate(lambda s, p, o: s - o, dataset, progress=False)
    >>> numbers = flat(result, "mr,hits@3", prefix="test")
    >>> numbers["test/filtered/both/realistic/hits_at_3"], numbers["test/filtered/subject/n"]
    (0.5, 1.0)
    """
    if re.search(r"[^A-Za-z0-9_./-]", prefix):
        raise MetricError(f"prefix must hold letters, digits and _ . / - alone; got {prefix!r}")
    start = prefix.rstrip("/") + "/" if prefix else ""
    named: dict[str, str] = {}
    for metric in parse_all(metrics):
        word = re.sub(r"[^A-Za-z0-9.-]+", "_", str(metric).replace("@", "_at_")).strip("_")
        if named.setdefault(word, str(metric)) != str(metric):
            raise MetricError(
                f"{named[word]} and {metric} would both be called {word!r}; ask for one of them at a time"
            )
    numbers: dict[str, float] = {}
    words = {spelling: word for word, spelling in named.items()}
    for row in tidy(result, list(words), names=["model"], ties=ties, confidence=None).to_dict("records"):
        group, value = f"{start}{row['setting']}/{row['side']}", float(row["value"])
        numbers[f"{group}/n"] = float(row["n"])
        if math.isfinite(value):
            numbers[f"{group}/{row['ties']}/{words[row['metric']]}"] = value
    return numbers


def _measured(result: EvaluationResult, key: str, confidence: float | None) -> tuple[float, float, float, str]:
    """Return the value of a key, its interval, and why one of them is undefined."""
    if confidence is None:
        found = result.value(key)
        return found.value, math.nan, math.nan, found.reason or "no interval was asked for"
    interval = result.interval(key, confidence=confidence)
    return interval.value, interval.low, interval.high, interval.reason
