"""Results for other programs: tables of ranks, metrics in long form, and flat numbers for experiment trackers.

Users import this module as `kgeval.report.exports`; ``kgeval show -o`` calls `write_ranks`.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from kgeval.base.checks import answers_old_names, names_unknown_arguments, shows_only
from kgeval.base.files import check_target, checked_ending, replacing
from kgeval.comparison.names import Results, name_results
from kgeval.data.known import SETTINGS
from kgeval.display.fields import csv_text, frame_fields, json_records, plain_text
from kgeval.errors import DataError, MetricError, MissingExtra
from kgeval.metrics.base import Metric
from kgeval.metrics.default_metrics import DEFAULT_METRICS
from kgeval.metrics.grammar import parse_all
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key

__all__ = ["TIDY_COLUMNS", "flat", "format_csv", "format_json", "tidy", "write_frame", "write_ranks"]
__dir__ = shows_only(__all__)

__getattr__ = answers_old_names("kgeval.report.exports", ranks_frame="result.ranks(labels=True, columns=True)")
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")
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
        for setting, side, metric in itertools.product(reversed(SETTINGS), result.rank_table.sides, parsed):
            key = Key(metric, setting, side, ties or "")
            text = f"{setting}.{side}.{key.ties}.{metric}"
            if confidence is None:
                found = result.value(text)
                numbers, reason = (found.value, math.nan, math.nan), found.reason or "no interval was requested"
            else:
                interval = result.interval(text, confidence=confidence)
                numbers, reason = (interval.value, interval.low, interval.high), interval.reason
            n = len(result.rank_table.rows_of(side))
            rows.append((name, setting, side, key.ties, str(metric), *numbers, n, reason))
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
            raise MetricError(f"{metric_of[word]} and {metric} would both get the key {word!r}; use one at a time")
    numbers: dict[str, float] = {}
    words = {spelling: word for word, spelling in metric_of.items()}
    for row in tidy(result, list(words), names=["model"], ties=ties, confidence=None).to_dict("records"):
        group, value = f"{start}{row['setting']}/{row['side']}", float(row["value"])
        numbers[f"{group}/n"] = float(row["n"])
        if math.isfinite(value):
            numbers[f"{group}/{row['ties']}/{words[row['metric']]}"] = value
    return numbers


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
    target, suffix = Path(path), checked_ending(path, TABLE_SUFFIXES)
    if spreadsheet and suffix != ".csv":
        raise DataError(f"{target}: spreadsheet=True is for .csv only; {suffix} keeps labels unchanged")
    check_target(target, overwrite)
    if suffix == ".parquet":
        content = _parquet(frame, target)
    else:
        text = format_csv(frame, spreadsheet) if suffix == ".csv" else _tsv(frame, target)
        content = _encoded(text, target)
    with replacing(target, overwrite) as stream:
        stream.write(content)


def format_csv(frame: pd.DataFrame, spreadsheet: bool = False) -> str:
    """Return a table as CSV, whose lines end in CRLF as RFC 4180 says; see `kgeval.display.fields.csv_text`.

    Parameters
    ----------
    frame : pandas.DataFrame
        A named index becomes columns. Missing values and NaN become empty cells, empty labels become ``""``.
    spreadsheet : bool
        Whether to put an apostrophe before labels and headings that a spreadsheet would read as a formula.

    Examples
    --------
    >>> frame = pd.DataFrame({"label": ["=1+1", 'a"b'], "x": [-0.5, 1.0]})
    >>> format_csv(frame, spreadsheet=True).split()
    ['label,x', "'=1+1,-0.5", '"a""b",1.0']
    """
    return csv_text(frame_fields(frame), spreadsheet=spreadsheet, line_end="\r\n")


def format_json(frame: pd.DataFrame) -> str:
    """Return a table as strict JSON, in ASCII: a list with one object per row.

    NaN, infinite and missing values become null. The field ``"reason"`` has the text in the column ``"reason"`` of the
    table; a table without this column gets the field in rows with a null, where it lists the undefined columns. Then it
    lists the infinite columns.

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
    return json.dumps(json_records(frame_fields(frame)), indent=2, allow_nan=False)


def _tsv(frame: pd.DataFrame, target: Path) -> str:
    fields = frame_fields(frame)
    lines = [list(map(plain_text, row)) for row in (list(fields), *zip(*fields.values()))]
    for number, cells in enumerate(lines, start=1):
        for name, cell in zip(fields, cells):
            if re.search("[\t\r\n]", cell):
                raise DataError(
                    f"{target}, line {number}: {name} is {cell!r}, and .tsv cannot hold tabs and line ends; "
                    "write .csv or .parquet"
                )
    return "".join("\t".join(cells) + "\n" for cells in lines)


def _encoded(text: str, target: Path) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        near = text[max(0, error.start - 20) : error.end + 20]
        why = "contains a lone surrogate (half a character), which UTF-8 cannot encode"
        raise DataError(f"{target}: {near!r} {why}") from error


def _parquet(frame: pd.DataFrame, target: Path) -> bytes:
    frame_fields(frame.iloc[:0])  # two columns of one name raise an error
    frame = frame.reset_index() if any(name is not None for name in frame.index.names) else frame
    try:
        return frame.to_parquet(engine="pyarrow", index=False)
    except ImportError as error:
        raise MissingExtra(f'{target}: writing .parquet needs pyarrow; pip install "kgeval[parquet]"') from error
    except (ValueError, TypeError, NotImplementedError) as error:  # such are the errors of pyarrow about values
        raise DataError(f"{target}: a column cannot be stored: {error}") from error
