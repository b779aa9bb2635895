"""Tables of metrics as aligned text that fits the terminal, JSON, CSV, Markdown or LaTeX.

Users and the commands of `kgeval.cli` call these functions. `kgeval.plausibility` and `kgeval.trec` use `printable`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import check_number, check_one_of, grouped
from kgeval.comparison.comparison import Comparison
from kgeval.data.sides import RELATION
from kgeval.errors import MetricError, ProtocolError
from kgeval.markup import printable, shown_label
from kgeval.markup_panels import p_text
from kgeval.metrics.base import Metric
from kgeval.metrics.grammar import display_of, parse_all
from kgeval.metrics.metric_frames import N_EFFECTIVE, REASON, Cell, metric_frame
from kgeval.report.table_text import (
    escaped_latex,
    escaped_markdown,
    escaped_note,
    is_count,
    latex_rows,
    markdown_lines,
    number_text,
    without_formulas,
)
from kgeval.results.evaluation_result import EvaluationResult, explained_row, key_columns
from kgeval.results.keys import Key
from kgeval.stats.moments import FEW_CLUSTERS
from kgeval.terminal import PIPE, Column, Screen, shortened, width_of

FORMATS = ("table", "json", "csv", "markdown", "latex")
COMPARISON_STYLES = ("table", "markdown", "latex")
MAX_LISTED_RANKS, MAX_NAMED = 40, 3
OPTIONAL_COLUMNS = ("share", N_EFFECTIVE)  # a table that is wider than the terminal leaves out these first
KEPT_METRIC = "mrr"  # the column that a table leaves out last
ROUGH = 10  # intervals with fewer effective clusters than this get a note
_LATEX_NEEDS = r"% needs \usepackage{booktabs}"
_LATEX_MARKS = {"†": r"\dag", "‡": r"\ddag", "§": r"\S", "¶": r"\P"}


def summary_frame(
    result: EvaluationResult,
    metrics: Sequence[str | Metric],
    ties: str | None,
    confidence: float | None = None,
    cluster: Any = "triple",
) -> pd.DataFrame:
    """Return the metrics of a result per setting and side, with a row for the chance level.

    Parameters
    ----------
    result : EvaluationResult
    metrics : sequence of str or Metric
    ties : str, optional
        Tie policy; None: the default policy of each metric.
    confidence : float, optional
        Nominal coverage of the intervals; None: no intervals.
    cluster : str or array_like
        As in `EvaluationResult.interval`.

    Returns
    -------
    pandas.DataFrame
        The index holds ``"both"``, ``"subject"``, ``"raw both"``, ... and ``"chance"``; beside entity sides, the
        relation side has its own ``"chance relation"``. The columns are the same as in ``result.summary()``.
    """
    frame = result.summary(metrics, ties, confidence, cluster)
    names = [side if setting == "filtered" else f"raw {side}" for setting, side in frame.index]
    frame = frame.set_axis(pd.Index(names, name="rows"))
    parsed = parse_all(metrics)
    ranks = result.rank_table
    n = {"chance": len(ranks.rows_of("both"))}
    if n["chance"] < len(ranks):
        n[f"chance {RELATION}"] = len(ranks) - n["chance"]
    cells = [
        {str(metric): Cell.of(ranks.value(Key(metric, side=side), at_chance=True)) for metric in parsed}
        for side in ("both", RELATION)[: len(n)]
    ]
    index = pd.Index(list(n), name="rows")
    chance = metric_frame(index, cells, cells[0], list(n.values()), with_intervals=confidence is not None)
    n_filtered = len(result.rank_table.sides)
    return pd.concat([frame.iloc[:n_filtered], chance, frame.iloc[n_filtered:]])


def format_frame(
    frame: pd.DataFrame,
    style: str,
    screen: Screen = PIPE,
    optional: Sequence[str] = OPTIONAL_COLUMNS,
    comment: str = "",
    spreadsheet: bool = False,
) -> str:
    """Return a table of metrics in one of `FORMATS`.

    The styles ``"csv"`` and ``"json"`` are for programs. Columns are named by the keys of the metrics, and numbers have
    full precision. An undefined number is an empty field (csv) or null (json); the column ``"reason"`` says why.

    The other styles are for people. Columns have headings, and numbers have few decimals. An undefined number is ``-``;
    `undefined_lines` returns the reasons. The columns ``"<metric> low"`` and ``"<metric> high"`` are shown as an
    interval after the value of the metric. The effective number of clusters is shown where it is below 100.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per group, one column per metric.
    style : str
        One of `FORMATS`.
    screen : Screen
        For the style ``"table"``: the width to fit, and whether to use bold and dim text. By default the table is as
        wide as its content.
    optional : sequence of str
        Columns to leave out first if the table is wider than the screen, in this order. Then intervals are left out,
        then columns from right to left; the MRR (without an MRR: the first metric) is left out last.
    comment : str
        A first line for the style ``"latex"``, such as the text that `protocol_comment` returns.
    spreadsheet : bool
        For the style ``"csv"``: as in `kgeval.report.exports.format_csv`.

    Raises
    ------
    ProtocolError
        If `style` is unknown.
    """
    check_one_of("format", style, FORMATS, ProtocolError)
    if style == "json":
        return json.dumps(frame_records(frame), indent=2, allow_nan=False, ensure_ascii=False)
    if style == "csv":
        return (without_formulas(frame) if spreadsheet else frame).to_csv().rstrip("\n")
    columns = _shown_columns(frame)
    header = [*(str(name) for name in frame.index.names), *(_heading(str(name)) for name in columns)]
    labels = [_index_parts(label) for label in frame.index]
    texts = [_cell_texts(frame, column, None) for column in columns]
    if style == "table":
        is_summary = list(frame.index.names) == ["rows"]
        faint = [i for i, label in enumerate(frame.index) if label == "chance"] if is_summary else []
        shown = _label_columns(["" if is_summary else name for name in header[: frame.index.nlevels]], labels)
        for name, place, cells in zip(columns, _places(columns, optional), texts):
            is_label = not frame[name].empty and isinstance(frame[name].iloc[0], str)
            shown.append(_column(_heading(str(name)), cells, place, is_label))
        return screen.table(shown, faint)
    rows = [[*parts, *(" ".join(cells[i]) for cells in texts)] for i, parts in enumerate(labels)]
    n_labels = frame.index.nlevels
    escape = escaped_markdown if style == "markdown" else escaped_latex
    header, *rows = ([escape(cell) for cell in row] for row in (header, *rows))
    if style == "markdown":
        return _markdown_table(header, rows, n_labels)
    return _latex_table(header, rows, n_labels, comment)


def protocol_comment(results: Mapping[str, EvaluationResult], ties: str) -> str:
    """Return lines of comment for a LaTeX file that say how the numbers of a table were made.

    Parameters
    ----------
    results : mapping of name to EvaluationResult
        The results of the table. Results with the same protocol, dataset and version share a line.
    ties : str
        The tie policy of the table.

    Returns
    -------
    str
        Each line starts with ``% protocol: ``.
    """
    lines: dict[str, list[str]] = {}
    for name, result in results.items():
        facts, protocol = result.facts, result.protocol
        said = (
            f"{facts['dataset']}, {'+'.join(protocol.splits)}; {protocol.describe()}, {ties} ties; protocol "
            f"{protocol.fingerprint}, dataset {facts['dataset_fingerprint'][:8]}, kgeval {facts['version']}"
        )
        lines.setdefault(said, []).append(name)
    return "\n".join(
        printable(f"% protocol: {said}" if len(lines) == 1 else f"% protocol: {', '.join(names)}: {said}")
        for said, names in lines.items()
    )


def format_comparison(
    values: pd.DataFrame,
    style: str = "markdown",
    *,
    best: Mapping[str, bool],
    marks: Mapping[tuple[Any, str], str] | None = None,
    legend: Mapping[str, str] | None = None,
    digits: int | None = None,
    screen: Screen = PIPE,
) -> str:
    """Return a table of models and metrics as text; the best values are bold, and values can have marks.

    Parameters
    ----------
    values : pandas.DataFrame
        One row per model, one column per metric. NaN is shown as ``-``. Columns ``"<metric> low"`` and
        ``"<metric> high"`` (as in ``comparison.values``) are shown as intervals after the value of the metric.
    style : str
        ``"markdown"``; ``"latex"``, which needs no package; or ``"table"``, where a star stands for bold.
    best : mapping of str to bool
        For each metric, whether higher is better. A metric that is not in `best` gets no bold value. All values that
        equal the best value after rounding are bold. If fewer than two models have a finite value, no value is bold.
    marks : mapping of (model, metric) to str, optional
        Characters such as ``"†"``, shown as a superscript after the value of this model and metric.
    legend : mapping of str to str, optional
        For each character in `marks`, its meaning (comparison, level, correction). Printed below the table.
    digits : int, optional
        Number of decimals of all values except counts; by default the number depends on the metric.
    screen : Screen
        As in `format_frame`.

    Raises
    ------
    ProtocolError
        If `style` is unknown.
    MetricError
        If the table has no model or no metric, or a repeated name; if `best` or `marks` names a model or a metric that
        is not in the table; or if `legend` does not explain a mark.

    Examples
    --------
    >>> values = pd.DataFrame({"MRR": [0.25, 0.5]}, index=pd.Index(["A|B", "C"], name="model"))
    >>> legend = {"†": "against A|B, 5%, Holm"}
    >>> print(format_comparison(values, best={"MRR": True}, marks={("C", "MRR"): "†"}, legend=legend, digits=2))
    | model | MRR |
    | --- | ---: |
    | A\\|B | 0.25 |
    | C | **0.50**<sup>†</sup> |
    <BLANKLINE>
    <sup>†</sup> against A\\|B, 5%, Holm
    """
    check_one_of("style", style, COMPARISON_STYLES, ProtocolError)
    marks, legend = marks or {}, legend or {}
    metrics = _shown_columns(values)
    _check_comparison_table(values, metrics, [*best, *(metric for _, metric in marks)], [model for model, _ in marks])
    used = {character for mark in marks.values() for character in mark}
    if used - set(legend):
        raise MetricError(f"the legend must explain each mark; it does not explain {min(used - set(legend))!r}")
    bold = set()
    for metric, higher in best.items():
        text = _best_text(values[metric], higher, digits)
        for model, value in zip(values.index, values[metric].tolist()):
            if number_text(metric, value, digits) == text:
                bold.add((model, metric))
    legend = {character: legend[character] for character in legend if character in used}
    return _comparison_text(values, style, bold, "best value of its column", marks, legend, digits, screen)


def _comparison_text(
    values: pd.DataFrame,
    style: str,
    bold: Collection[tuple[Any, str]],
    meaning_of_bold: str,
    marks: Mapping[tuple[Any, str], str],
    legend: Mapping[str, str],
    digits: int | None,
    screen: Screen,
    comment: str = "",
    says_bold: bool = False,
) -> str:
    """Return a table of models and metrics, with notes: the values of `bold` are bold (style "table": with a star)."""
    escape, bold_form, raised = _STYLES[style]
    metrics = _shown_columns(values)
    labels = [_index_parts(model) for model in values.index]
    names = _index_names(values)
    columns: list[list[list[str]]] = []  # [metric][model]: the value with its marks, and the interval
    plain: dict[Any, list[str]] = {}  # of each metric, of each model: the value alone
    for metric in metrics:
        cells = []
        texts = _cell_texts(values, metric, digits)
        plain[metric] = [value for value, *_ in texts]
        for model, (value, *interval) in zip(values.index, texts):
            shown = bold_form.format(escape(value)) if (model, metric) in bold else escape(value)
            cells.append([shown + raised(marks.get((model, metric), "")), *map(escape, interval)])
        columns.append(cells)
    header = [*names, *(_heading(str(metric)) for metric in metrics)]
    if style == "table":
        shown_columns = _label_columns(names, labels)
        for metric, place, cells in zip(metrics, _places(metrics, ()), columns):
            suffixes = [text[0].removeprefix(value) for text, value in zip(cells, plain[metric])]
            for text, model, suffix in zip(cells, values.index, suffixes):
                gap = " " * (max(map(width_of, suffixes)) - width_of(suffix))  # so that the decimals are aligned
                text[0] = (screen.bold(text[0]) if (model, metric) in bold else text[0]) + gap
            shown_columns.append(_column(_heading(str(metric)), cells, place))
        notes = [f"* {meaning_of_bold}"] if bold else []
        notes += [f"{character} {meaning}" for character, meaning in legend.items()]
        return "\n".join([screen.table(shown_columns), *([screen.lines(notes)] if notes else [])])
    notes = [f"{raised(character)} {escaped_note(style, meaning)}" for character, meaning in legend.items()]
    notes += [escaped_note(style, f"bold: {meaning_of_bold}")] if bold and says_bold else []
    rows = [[escape(part) for part in parts] for parts in labels]
    for cells in columns:
        for row, text in zip(rows, cells):
            row.append(" ".join(text))
    header = [escape(name) for name in header]
    if style == "markdown":
        return "\n".join([_markdown_table(header, rows, len(names)), *(f"\n{note}" for note in notes)])
    return "\n".join([_latex_table(header, rows, len(names), comment), *(rf"\par\noindent {note}" for note in notes)])


def significance_marks(
    p_values: pd.DataFrame, *, against: str, alpha: float = 0.05, mark: str = "†", how: str = "Holm"
) -> tuple[dict[tuple[Any, str], str], dict[str, str]]:
    """Return the arguments `marks` and `legend` of `format_comparison`, made from adjusted p-values.

    Parameters
    ----------
    p_values : pandas.DataFrame
        One row per model, one column per metric. The p-values are already corrected for multiple testing; NaN means
        that there was no test, as in the row of the baseline.
    against : str
        The name of the baseline (the model or models with which each row is compared), for the legend.
    alpha : float
        A p-value of at most `alpha` gets the mark.
    mark : str
        The mark, one character.
    how : str
        The name of the correction, for the legend.

    Examples
    --------
    >>> p_values = pd.DataFrame({"MRR": [float("nan"), 0.01]}, index=["A", "B"])
    >>> significance_marks(p_values, against="A")
    ({('B', 'MRR'): '†'}, {'†': 'differs from A, p <= 0.05 (Holm)'})
    """
    check_number("alpha", alpha, 0.0, 1.0, "above 0 and below 1")
    marks = {
        (model, metric): mark
        for model, row in _table_rows(p_values)
        for metric, p in zip(p_values.columns, row)
        if p <= alpha
    }
    return marks, {mark: f"differs from {against}, p <= {alpha:g} ({how})"}


def format_compared(compared: Comparison, style: str, alpha: float | None = None, screen: Screen = PIPE) -> str:
    """Return the values of the compared models as a table.

    Of each metric, the best value is bold, and so are the values of models that do not differ significantly from the
    model with the best value.

    A mark means that the model differs significantly from every other model. A line below the table names the metrics
    whose best value has no mark; for these metrics the comparison is undecided.

    Parameters
    ----------
    compared : Comparison
    style : str
        As in `format_comparison`.
    alpha : float, optional
        A difference is significant if its p-value (Holm) is at most `alpha`; by default 1 - confidence.
    screen : Screen
        As in `format_frame`.
    """
    check_one_of("style", style, COMPARISON_STYLES, ProtocolError)
    alpha = compared.alpha if alpha is None else alpha
    p_values = pd.DataFrame(float("nan"), index=compared.values.index, columns=list(compared.keys))
    for name in compared.names:
        for metric in compared.keys:
            tests = compared.differences
            of_model = (tests["first"] == name) | (tests["second"] == name)
            rows = tests.loc[of_model & (tests["metric"] == metric), "p_corrected"]
            p_values.loc[name, metric] = rows.max(skipna=False)
    best = {metric: _best_model(compared, metric) for metric in compared.keys}
    leaders = {(model, metric) for metric in compared.keys for model in _leaders(compared, metric, best[metric], alpha)}
    marks, legend = significance_marks(p_values, against="every other model", alpha=alpha)
    legend = legend if marks else {}
    meaning = f"best value, and values that do not differ significantly from it (p > {alpha:g}, Holm)"
    ties = {key.ties for key in compared.keys.values()}
    named = dict(zip(compared.names, compared.results))
    comment = protocol_comment(named, " and ".join(sorted(ties))) if style == "latex" else ""
    table = _comparison_text(
        compared.values, style, leaders, meaning, marks, legend, None, screen, comment, says_bold=True
    )
    has_value = [metric for metric in compared.keys if compared.values[metric].notna().any()]
    undecided = [metric for metric in has_value if (best[metric], metric) not in marks]
    if not undecided:
        return table
    said = (
        f"undecided: {', '.join(display_of(metric).heading for metric in undecided)}; the best model does not "
        f"differ significantly from every other model (p <= {alpha:g}, Holm)"
    )
    if style == "table":
        return f"{table}\n{screen.lines([said])}"
    return table + ("\n\n" if style == "markdown" else "\n\\par\\noindent ") + escaped_note(style, said)


def format_differences(compared: Comparison, screen: Screen = PIPE) -> str:
    """Return the differences of each pair of models, with intervals and p-values, as a table for a terminal.

    Parameters
    ----------
    compared : Comparison
    screen : Screen
        As in `format_frame`.

    Returns
    -------
    str
        One row per pair of models and metric.
    """
    table = compared.differences
    n_pairs = len(table) // len(compared.keys)
    names = {name: printable(name) for name in compared.names}
    if screen.width is not None:  # both names of a pair must be visible
        names = {name: shortened(shown, screen.width // 6, screen.ellipsis) for name, shown in names.items()}
    pairs = [f"{names[first]} - {names[second]}" for first, second in zip(table["first"], table["second"])]
    columns = _label_columns(["difference of"], [[pair] for pair in pairs]) if n_pairs > 1 else []
    headings = [display_of(metric).heading for metric in table["metric"]]
    columns += _label_columns([pairs[0] if n_pairs == 1 else "metric"], [[heading] for heading in headings])
    cells = []
    for metric, difference, low, high in zip(table["metric"], table["difference"], table["low"], table["high"]):
        digits = display_of(metric).decimals
        value, *ends = (number_text("difference", number, digits) for number in (difference, low, high))
        value = value if value.startswith("-") or not difference > 0 else f"+{value}"
        cells.append([value, *([f"[{ends[0]}, {ends[1]}]"] if math.isfinite(low) and math.isfinite(high) else [])])
    columns.append(_column("difference", cells, 5))
    p_values = [[p_text(p_value, compared.alpha)] for p_value in table["p_corrected"]]
    columns.append(_column("p (Holm)", p_values, 4))
    detectable = zip(table["metric"], table["detectable"])
    texts = [[number_text("detectable", value, display_of(metric).decimals)] for metric, value in detectable]
    columns.append(_column("detectable", texts, 2))
    counts = zip(table["wins"], table["ties"], table["losses"])
    columns.append(_column("wins/ties/losses", [[f"{wins}/{ties}/{losses}"] for wins, ties, losses in counts], 1))
    if (table[N_EFFECTIVE] < FEW_CLUSTERS).any():
        columns.append(_column(_heading(N_EFFECTIVE), _cell_texts(table, N_EFFECTIVE, None), -1))
    better = [screen.bold(printable(name)) if name else why for name, why in zip(table["better"], table["decision"])]
    columns.append(Column("better", better, is_label=True))
    reasons = zip(pairs, headings, table[REASON])
    notes = [f"undefined in {pair}, {heading}: {reason}" for pair, heading, reason in reasons if reason]
    return "\n".join([screen.table(columns), *([screen.lines(notes)] if notes else [])])


def _leaders(compared: Comparison, metric: str, best: str, alpha: float) -> list[str]:
    """Return the model with the best value and the models that do not differ significantly from it.

    The list is empty if the best model is not known, or if fewer than two models have a value.
    """
    values = compared.values[metric]
    if not best or values.notna().sum() < 2:
        return []
    table = compared.differences[
        (compared.differences["metric"] == metric) & (compared.differences["p_corrected"] <= alpha)
    ]
    worse = {*table.loc[table["first"] == best, "second"], *table.loc[table["second"] == best, "first"]}
    return [name for name in compared.names if name not in worse and not math.isnan(values[name])]


def _best_model(compared: Comparison, metric: str) -> str:
    """Return the name of the model with the best value; empty if it is not known."""
    try:
        return compared.best(metric)
    except MetricError:
        return ""


def frame_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as dicts of plain values, for JSON.

    Parameters
    ----------
    frame : pandas.DataFrame

    Returns
    -------
    list of dict
        One dict per row. A missing value and an undefined or infinite number are None; the key ``"reason"`` then holds
        the reason, if the table gives one or the number is infinite.
    """
    records = []
    for label, row in _table_rows(frame):
        record: dict[str, Any] = dict(zip((str(name) for name in frame.index.names), _index_parts(label)))
        reasons = []
        for column, value in zip(frame.columns, row):
            if column == REASON:
                reasons.append(value)
            elif value is None or isinstance(value, str):
                record[column] = value
            elif isinstance(value, (bool, np.bool_)):
                record[column] = bool(value)
            elif math.isfinite(value):
                record[column] = int(value) if is_count(column, value) else float(value)
            else:
                record[column] = None
                reasons += [f"{column} is infinite"] if math.isinf(value) else []
        reason = "; ".join(filter(None, reasons))
        records.append(record | ({REASON: reason} if reason else {}))
    return records


def undefined_lines(*frames: pd.DataFrame) -> list[str]:
    """Return one line for each reason why a value or interval is undefined; each names the first rows concerned.

    Parameters
    ----------
    *frames : pandas.DataFrame
        Tables of metrics. A table without the column ``"reason"`` gives no line.
    """
    reasons = [pair for frame in frames for pair in zip(frame.index, frame.get(REASON, ()))]
    rows_of = grouped((why, _row_name(label)) for label, why in reasons if why)
    lines = []
    for why, rows in rows_of.items():
        where = "" if "interval of " in why.partition(":")[0] else "undefined in "
        lines.append(f"{where}{_first_names(rows)}: {why}")
    return lines


def rough_lines(frame: pd.DataFrame) -> list[str]:
    """Return a list with one note that names the rows with few effective clusters; empty if there are none.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table of metrics with intervals.
    """
    few = [_row_name(label) for label in frame.index[frame[N_EFFECTIVE] < ROUGH]]
    return [f"intervals with fewer than {ROUGH} effective clusters are rough: {_first_names(few)}"] if few else []


def _row_name(label: Any) -> str:
    """Return the name of a row of a table, for a note: its labels, with long labels shortened."""
    return " ".join(shown_label(part) if part else part for part in _index_parts(label))


def _first_names(rows: Sequence[str]) -> str:
    """Return the names of the first rows, such as "a, b, c and 4 more"."""
    more = f" and {len(rows) - MAX_NAMED:,} more" if len(rows) > MAX_NAMED else ""
    return ", ".join(rows[:MAX_NAMED]) + more


def listed_ranks(result: EvaluationResult, screen: Screen = PIPE) -> str:
    """Return one line per filtered rank: rank, number of candidates, score and triple.

    If a rival scores higher than the triple, the line also names the rival with the highest score.

    Parameters
    ----------
    result : EvaluationResult
        From `kgeval.evaluate_scores`.
    screen : Screen
        As in `format_frame`.

    Returns
    -------
    str
        At most 40 ranks. If there are more, a last line contains the number of further ranks.
    """
    lines = []
    names = key_columns(result)
    further = [result.columns[name] for name in names]
    for i, row in enumerate(result.ranks(labels=True).to_dict("records")[:MAX_LISTED_RANKS]):
        rivals, beaten = explained_row(result, i), ""
        rivals = rivals[(rivals["stands"] == "above") & rivals["counts"]]
        if len(rivals):
            beaten = f"beaten by {printable(rivals['candidate'].iloc[0])} {rivals['score'].iloc[0]:.3f}"
        triple = [*(printable(row[name]) for name in "spo"), *(printable(str(values.iloc[i])) for values in further)]
        size = str(row["rivals_filtered"] + 1)
        lines.append([f"{row['rank_filtered']:g}", size, f"{row['score']:.3f}", *triple, beaten])
    header = ["rank", "of", "score", "triple", "", "", *names, ""]
    cells = list(zip(*lines)) or [()] * len(header)
    columns = [Column(name, texts, is_label=i > 2) for i, (name, texts) in enumerate(zip(header, cells))]
    text = screen.table(columns)
    n_more = len(result.table) - len(lines)
    return text + (f"\n... and {n_more} more" if n_more else "")


def _table_rows(frame: pd.DataFrame) -> list[tuple[Any, tuple[Any, ...]]]:
    return list(zip(frame.index, frame.itertuples(index=False, name=None)))


def _index_parts(label: Any) -> list[str]:
    return [str(part) for part in label] if isinstance(label, tuple) else [str(label)]


def _shown_columns(frame: pd.DataFrame) -> list[Any]:
    """Return the columns for people: no reasons, no ends of intervals; effective clusters only if some are few."""
    hidden = (
        {REASON} if (frame.get(N_EFFECTIVE, pd.Series(dtype=float)) < FEW_CLUSTERS).any() else {REASON, N_EFFECTIVE}
    )
    return [name for name in frame.columns if name not in hidden and not _is_bound(str(name), frame.columns)]


def _label_columns(names: Sequence[str], labels: Sequence[Sequence[str]]) -> list[Column]:
    """Return the columns of labels: their headings, and for each row the label in each column."""
    return [
        Column(printable(name), [printable(parts[i]) for parts in labels], is_label=True)
        for i, name in enumerate(names)
    ]


def _column(heading: str, cells: Sequence[Sequence[str]], place: int | None, is_label: bool = False) -> Column:
    """Return a column of values; a cell is a value, or a value and its interval."""
    brief = [text[0] for text in cells] if any(len(text) > 1 for text in cells) else None
    return Column(printable(heading), [" ".join(text) for text in cells], is_label, place, brief)


def _places(columns: Sequence[Any], optional: Sequence[str]) -> list[int | None]:
    """Return the `Column.place` of each column of a table of metrics.

    The columns of `optional` are left out first, in their order; then columns from right to left. The MRR, or the first
    metric, is left out last; the number of rows, ``n``, never.
    """
    names = [str(name) for name in columns]
    metrics = [name for name in names if name != "n" and name not in optional]
    last = KEPT_METRIC if KEPT_METRIC in metrics else metrics[0] if metrics else ""
    places: list[int | None] = []
    for i, name in enumerate(names):
        if name in optional:
            places.append(list(optional).index(name) - len(optional))
        else:
            places.append(None if name == "n" else len(names) if name == last else len(names) - 1 - i)
    return places


def _heading(column: str) -> str:
    return "effective clusters" if column == N_EFFECTIVE else display_of(column).heading


def _is_bound(column: str, columns: pd.Index[Any]) -> bool:
    """Return whether `column` is the low or the high end of the intervals of another column."""
    metric = column.removesuffix(" low") if column.endswith(" low") else column.removesuffix(" high")
    return metric != column and all(name in columns for name in (metric, f"{metric} low", f"{metric} high"))


def _check_comparison_table(values: pd.DataFrame, metrics: list[Any], named: list[Any], models: list[Any]) -> None:
    if not len(values) or not metrics:
        raise MetricError(
            f"a comparison needs at least one model and one metric; got {len(values)} models and {len(metrics)} metrics"
        )
    if not values.index.is_unique or not values.columns.is_unique:
        raise MetricError("the models and the metrics of a comparison must have different names")
    for kind, name, known in (
        *(("metrics", name, metrics) for name in named),
        *(("models", model, list(values.index)) for model in models),
    ):
        if name not in known:
            raise MetricError(
                f"best and marks must name {kind} of the table ({', '.join(map(str, known))}); got {name!r}"
            )


def _best_text(column: pd.Series[Any], higher_is_better: bool, digits: int | None) -> str | None:
    """Return the text of the best value of a column, or None if fewer than two values are finite."""
    finite = [value for value in column.tolist() if math.isfinite(value)]
    if len(finite) < 2:
        return None
    return number_text(str(column.name), max(finite) if higher_is_better else min(finite), digits)


def _cell_texts(values: pd.DataFrame, metric: str, digits: int | None) -> list[list[str]]:
    """Return one list of texts per row of the table.

    The list contains the value of the metric and, if both ends of its interval are finite, the interval, such as
    ``"[0.21, 0.35]"``.
    """
    if metric == N_EFFECTIVE:
        return [[f"{value:.0f}" if value < FEW_CLUSTERS else ""] for value in values[metric].tolist()]
    ends = [f"{metric} low", f"{metric} high"]
    texts = [[number_text(metric, value, digits)] for value in values[metric].tolist()]
    if all(name in values.columns for name in ends):
        for text, low, high in zip(texts, *(values[name].tolist() for name in ends)):
            if math.isfinite(low) and math.isfinite(high):
                text.append(f"[{number_text(metric, low, digits)}, {number_text(metric, high, digits)}]")
    return texts


def _index_names(frame: pd.DataFrame) -> list[str]:
    return ["" if name is None else str(name) for name in frame.index.names]


def _raised_markdown(mark: str) -> str:
    return f"<sup>{escaped_markdown(mark)}</sup>" if mark else ""


def _raised_latex(mark: str) -> str:
    return rf"\textsuperscript{{{''.join(_LATEX_MARKS.get(c, escaped_latex(c)) for c in mark)}}}" if mark else ""


_STYLES: dict[str, tuple[Callable[[str], str], str, Callable[[str], str]]] = {
    "markdown": (escaped_markdown, "**{}**", _raised_markdown),
    "latex": (escaped_latex, r"\textbf{{{}}}", _raised_latex),
    "table": (printable, "{}*", str),
}


def _markdown_table(header: list[str], rows: list[list[str]], n_labels: int) -> str:
    return "\n".join(markdown_lines(header, rows, n_labels))


def _latex_table(header: list[str], rows: list[list[str]], n_labels: int, comment: str) -> str:
    """Return a table with the rules of the package booktabs, below lines of comment."""
    head, *lines = latex_rows([header, *rows])
    start = rf"\begin{{tabular}}{{{'l' * n_labels + 'r' * (len(header) - n_labels)}}}"
    comments = [comment, _LATEX_NEEDS] if comment else [_LATEX_NEEDS]
    return "\n".join([*comments, start, r"\toprule", head, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}"])
