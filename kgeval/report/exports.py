"""Results for other programs: tables of ranks, metrics in long form, and flat numbers for experiment trackers.

Users import this module as `kgeval.report.exports`; ``kgeval show -o`` calls `write_ranks`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from kgeval.base.checks import answers_old_names, names_unknown_arguments, shows_only
from kgeval.base.files import check_target
from kgeval.comparison.names import Results, name_results
from kgeval.data.known import SETTINGS
from kgeval.errors import MetricError
from kgeval.metrics.base import Metric
from kgeval.metrics.default_metrics import DEFAULT_METRICS
from kgeval.metrics.grammar import parse_all
from kgeval.report.table_files import format_csv, format_json, write_frame
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key

__all__ = [
    "TIDY_COLUMNS",
    "flat",
    "format_csv",
    "format_json",
    "tidy",
    "write_frame",
    "write_ranks",
]
__dir__ = shows_only(__all__)

__getattr__ = answers_old_names("kgeval.report.exports", ranks_frame="result.ranks(labels=True, columns=True)")
TIDY_COLUMNS = ("model", "setting", "side", "ties", "metric", "value", "low", "high", "n", "reason")


@names_unknown_arguments()
def write_ranks(
    result: EvaluationResult, path: str | Path, *, overwrite: bool = False, spreadsheet: bool = False
) -> None:
    """Write the table of ranks of a result to a file, with labels and the further columns of the result.

    Parameters
    ----------
    result : EvaluationResult
    path : str or path
        Ends in ``.csv``, ``.tsv`` or ``.parquet``; see `write_frame`.
    overwrite, spreadsheet : bool
        As in `write_frame`.

    Raises
    ------
    DataError, MissingExtra
        In the same cases as in `write_frame` and `EvaluationResult.ranks`.
    """
    check_target(path, overwrite)
    write_frame(result.ranks(labels=True, columns=True), path, overwrite=overwrite, spreadsheet=spreadsheet)


@names_unknown_arguments(metric="metrics=")
def tidy(
    results: Results,
    metrics: Sequence[str | Metric] | str = DEFAULT_METRICS,
    *,
    names: Sequence[str] | None = None,
    ties: str | None = None,
    confidence: float | None = 0.95,
) -> pd.DataFrame:
    """Return metrics in long form, one value per row.

    Parameters
    ----------
    results : EvaluationResult, or sequence of them, or mapping of name to EvaluationResult
    metrics : sequence of str or Metric, or one string with commas
    names : sequence of str, optional
        As in `kgeval.comparison.names.name_results`.
    ties : str, optional
        Tie policy; None: the default policy of each metric.
    confidence : float, optional
        Confidence level of the intervals. They show how much a value would vary with other test triples of this graph.
        None: no intervals.

    Returns
    -------
    pandas.DataFrame
        Columns `TIDY_COLUMNS`. ``n`` is the number of ranks, also for ``query.`` metrics. ``low`` and ``high`` are NaN
        if there is no interval; ``reason`` tells why a value or its interval is undefined.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=4, n_relations=1)
    >>> result = evaluate(lambda s, p, o: s - o, dataset, progress=False)
    >>> tidy(result, "mr", names=["A"], confidence=None)[["setting", "side", "value", "n"]].values.tolist()[:2]
    [['filtered', 'both', 3.0, 2], ['filtered', 'subject', 4.0, 1]]
    """
    parsed = parse_all(metrics)
    rows = []
    for name, result in name_results(results, names).items():
        for setting in reversed(SETTINGS):
            for side in result.rank_table.sides:
                for metric in parsed:
                    key = Key(metric, setting, side, ties or "")
                    text = f"{setting}.{side}.{key.ties}.{metric}"
                    value, low, high, reason = _measured(result, text, confidence)
                    n = len(result.rank_table.rows_of(side))
                    rows.append((name, setting, side, key.ties, str(metric), value, low, high, n, reason))
    return pd.DataFrame(rows, columns=list(TIDY_COLUMNS))


@names_unknown_arguments(metric="metrics=")
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
        Every key starts with this text and a slash. If the text is empty, no slash is added.
    ties : str, optional
        Tie policy; None: the default policy of each metric.

    Returns
    -------
    dict of str to float
        Keys such as ``"filtered/both/realistic/hits_at_10"``; ``"filtered/both/n"`` is the number of ranks. Keys
        contain only ASCII letters, digits and ``_ . / -``. Values are finite. An undefined metric has no key, because a
        tracker could draw it as a number; ``result.value`` gives the reason why it is undefined.

    Raises
    ------
    MetricError
        If `prefix` contains a character that keys must not contain, or if two metrics would get the same key.

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
        raise MetricError(f"prefix must contain only letters, digits and _ . / -; got {prefix!r}")
    start = prefix.rstrip("/") + "/" if prefix else ""
    metric_of: dict[str, str] = {}
    for metric in parse_all(metrics):
        word = re.sub(r"[^A-Za-z0-9.-]+", "_", str(metric).replace("@", "_at_")).strip("_")
        if metric_of.setdefault(word, str(metric)) != str(metric):
            raise MetricError(
                f"{metric_of[word]} and {metric} would both get the key {word!r}; use one of them at a time"
            )
    numbers: dict[str, float] = {}
    words = {spelling: word for word, spelling in metric_of.items()}
    for row in tidy(result, list(words), names=["model"], ties=ties, confidence=None).to_dict("records"):
        group, value = f"{start}{row['setting']}/{row['side']}", float(row["value"])
        numbers[f"{group}/n"] = float(row["n"])
        if math.isfinite(value):
            numbers[f"{group}/{row['ties']}/{words[row['metric']]}"] = value
    return numbers


def _measured(result: EvaluationResult, key: str, confidence: float | None) -> tuple[float, float, float, str]:
    """Return the value of a metric, the low and high end of its interval, and the reason if one of the three is NaN."""
    if confidence is None:
        result_value = result.value(key)
        return result_value.value, math.nan, math.nan, result_value.reason or "no interval was requested"
    interval = result.interval(key, confidence=confidence)
    return interval.value, interval.low, interval.high, interval.reason
