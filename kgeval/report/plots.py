"""Plots of results: rank distributions, hits@k over k, metrics by group, curves, differences between models, steps.

Users import this module as `kgeval.report.plots`. Every function returns a ``matplotlib.figure.Figure``, which
`save_figure` writes. The functions need matplotlib (``pip install "kgeval[report]"``); they neither use ``pyplot`` nor
change the settings of matplotlib. They have these parameters in common:

- ``style``: ``"screen"``, or ``"paper"`` for a column of a paper: 3.3 inches wide, texts of 8 points.
- ``ax``: axes of matplotlib to draw on, for figures with several plots; by default a new figure.
- ``title``: the title; ``""`` for none. Cautions, such as "not comparable", are always drawn below it.
- ``names``: a sequence with the names of the models; or a mapping from labels of models, relations, entities or groups
  to the names to show.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Reals, check_positive_int, names_unknown_arguments, shows_only
from kgeval.comparison.comparison import Comparison
from kgeval.comparison.names import Results, check_names, name_results
from kgeval.errors import MetricError
from kgeval.metrics import parse
from kgeval.metrics.grammar import display_of
from kgeval.report.curve_plots import calibration_curve, precision_recall, roc
from kgeval.report.difference_plots import critical_differences
from kgeval.report.figures import (
    GREY,
    PALETTE,
    Names,
    Sheet,
    save_figure,
    set_log_ticks,
    set_ticks,
    shorten,
    split_names,
)
from kgeval.report.step_plots import steps
from kgeval.results.evaluation_result import EvaluationResult, entity_part
from kgeval.stats.intervals import robust_interval
from kgeval.stats.moments import Moments

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "calibration_curve",
    "critical_differences",
    "degree_curve",
    "difference_plot",
    "hits_curve",
    "precision_recall",
    "rank_distribution",
    "relation_comparison",
    "roc",
    "save_figure",
    "steps",
]
__dir__ = shows_only(__all__)

GroupTables = EvaluationResult | pd.DataFrame | Sequence[EvaluationResult | pd.DataFrame]
CONFIDENCE = 0.95
MAX_BAND_POINTS = 30


@names_unknown_arguments()
def rank_distribution(
    results: Results,
    names: Names = None,
    *,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the distribution of ranks: for each model, the share of the ranks in each of a few groups of ranks.

    The ranks are filtered, with realistic ties. The groups are 1, 2-3, 4-10, 11-30, 31-100, ...; half ranks such as 3.5
    count in the group of the next rank. The intervals are pointwise 95% intervals, for other triples of the same graph.
    Bounded and unknown ranks are in no group, but count in the shares; the title contains their number, and their
    model has no intervals.

    Parameters
    ----------
    results : EvaluationResult, or sequence of them, or mapping of name to EvaluationResult
    names : sequence of str, or mapping of str to str, optional
    style, ax, title
        See `kgeval.report.plots`.

    Returns
    -------
    matplotlib.figure.Figure
        One line per model through the points (number of the group, share).

    Raises
    ------
    MetricError
        If a result has no ranks, or only bounded or unknown ranks.
    MissingExtra
        If matplotlib is not installed.
    """
    ranks = _ranks_of_results("rank_distribution", results, names)
    worst = max(float(values.max()) for _, values in ranks.values())
    ends = [1]
    while ends[-1] < worst:
        ends.append(3 * ends[-1] if len(ends) % 2 else ends[-1] // 3 * 10)
    limits = [0, *ends]
    labels = [f"{low + 1:,}" if low + 1 == high else f"{low + 1:,}\u2013{high:,}" for low, high in zip(limits, ends)]
    sheet = Sheet.of(style, ax, 4.0 if style == "screen" else 2.4)
    axes, handles = sheet.axes, []
    step = min(0.16, 0.7 / len(ranks))
    for i, (result, values) in enumerate(ranks.values()):
        x = np.arange(len(ends)) + (i - (len(ranks) - 1) / 2) * step
        # (known ranks,): the index of the group of each rank; `ends` contains the largest rank of each group.
        group = np.searchsorted(ends, values)
        counts = np.bincount(group, minlength=len(ends))
        look = sheet.line_style(i)
        handles += axes.plot(x, counts / len(result.table), **look)
        if len(values) == len(result.table):
            low, high = _share_limits(result, [group == j for j in range(len(ends))])
            axes.vlines(x, low, high, colors=look["color"], linewidth=sheet.style.line)
    set_ticks(axes, labels, "x")
    top = axes.get_ylim()[1]
    axes.set_ylim(-0.03 * top, top)  # so that no marker at 0 is cut
    _label_results(
        sheet, title, "Distribution of ranks", "rank (filtered, realistic ties)", "share of ranks", ranks, handles
    )
    return sheet.finish()


@names_unknown_arguments()
def hits_curve(
    results: Results,
    names: Names = None,
    limit: int = 100,
    *,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw for each model hits@k (filtered, realistic ties) for k from 1 to `limit`, and the chance level.

    Parameters
    ----------
    results, names, style, ax, title
        As in `rank_distribution`.
    limit : int
        The largest k.

    Returns
    -------
    matplotlib.figure.Figure
        One line per model through the points (k, hits@k), with a band, and one line for the chance level of the first
        result. The k axis is logarithmic. The bands are pointwise 95% intervals, for other triples of the same graph;
        with more than 30 values of k, a band is computed at about 30 of them, with straight lines between. There is no
        point and no band for k if hits@k depends on bounded ranks, and no chance level if the numbers of rivals are
        unknown.
    """
    check_positive_int("limit", limit, MetricError)
    ranks = _ranks_of_results("hits_curve", results, names)
    k = np.arange(1, limit + 1)
    at = np.unique(np.geomspace(1, limit, MAX_BAND_POINTS).round().astype(np.int64)) if limit > MAX_BAND_POINTS else k
    sheet = Sheet.of(style, ax, 4.2 if style == "screen" else 2.5)
    axes, handles = sheet.axes, []
    for i, (result, values) in enumerate(ranks.values()):
        is_whole = len(values) == len(result.table)
        hits = np.searchsorted(np.sort(values), k, side="right") / len(result.table)
        if not is_whole:
            hits = np.array([result[f"hits@{cut}"] for cut in k.tolist()])
        look = sheet.line_style(i)
        marked = [int(np.searchsorted(k, tick)) for tick in (1, 3, 10, 30, 100, 300, 1000) if tick <= limit]
        handles += axes.plot(k, hits, markevery=marked, **look)
        if is_whole:
            low, high = _share_limits(result, [values <= cut for cut in at])
            axes.fill_between(at, low, high, color=look["color"], alpha=0.2, linewidth=0)
    result, _ = next(iter(ranks.values()))
    has_chance = not result.chance("mr").reason
    if has_chance:
        sizes, counts = np.unique(result.table["rivals_filtered"].to_numpy() + 1, return_counts=True)
        chance = (np.minimum(k[:, None], sizes) / sizes) @ counts / counts.sum()
        handles += axes.plot(k, chance, color=GREY, linestyle=(0, (1, 2)), linewidth=sheet.style.line)
    set_log_ticks(axes, 1, limit)
    axes.set_ylim(-0.03, 1.03)
    more = ["chance"] if has_chance else []
    _label_results(sheet, title, "Hits@k", "k (filtered, realistic ties)", "hits@k", ranks, handles, more)
    return sheet.finish()


@names_unknown_arguments()
def relation_comparison(
    groups: GroupTables,
    metric: str = "mrr",
    *,
    names: Names = None,
    limit: int = 30,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a metric per relation: each relation has one row, with a marker and an interval for each model.

    Parameters
    ----------
    groups : EvaluationResult or DataFrame, or sequence of them
        Results, or tables such as ``result.by("relation")`` returns: one row per relation, with the columns ``n``, the
        metric and, optionally, ``"<metric> low"`` and ``"<metric> high"``.
    metric : str
    names : sequence of str, or mapping of str to str, optional
        See `kgeval.report.plots`; a mapping also gives the names of relations.
    limit : int
        Only the `limit` relations with the most ranks are drawn; the title gives the number of all relations.
    style, ax, title
        See `kgeval.report.plots`.

    Raises
    ------
    MetricError
        If a table has no column for the metric or no column ``n``, or if no table has a finite value of the metric.
    """
    check_positive_int("limit", limit, MetricError)
    frames, key, shown_names = _grouped(groups, "relation", metric, names)
    sizes = pd.concat([frame["n"] for frame in frames.values()]).groupby(level=0, sort=False).max()
    order = sizes.sort_values(ascending=False, kind="stable").index
    drawn = order[:limit]
    is_paper = style == "paper"
    sheet = Sheet.of(style, ax, (0.9 if is_paper else 1.4) + (0.19 if is_paper else 0.27) * len(drawn))
    axes = sheet.axes
    handles = _dots(sheet, frames, drawn, key, along="y")
    width = 22 if is_paper else 30
    set_ticks(axes, [f"{shorten(_named(label, shown_names), width)} ({sizes[label]:,.0f})" for label in drawn], "y")
    axes.set_ylim(len(drawn) - 0.4, -0.6)
    axes.grid(axis="y", linewidth=0.4)
    amount = f"all {len(order):,} relations" if len(drawn) == len(order) else f"{limit:,} of {len(order):,} relations"
    heading = f"{display_of(key).heading} per relation (number of ranks): {amount}, {sizes[drawn].sum():,.0f} ranks"
    text = (heading if title is None else title) + _left_out(frames, drawn, key)
    sheet.set_labels(text.strip("\n"), display_of(key).heading, "")
    sheet.add_legend(handles, list(frames))
    return sheet.finish()


@names_unknown_arguments()
def degree_curve(
    groups: GroupTables,
    metric: str = "mrr",
    *,
    column: str = "degree_given",
    names: Names = None,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a metric by buckets of degree or frequency, with intervals.

    Parameters
    ----------
    groups : EvaluationResult or DataFrame, or sequence of them
        Results, or tables such as ``result.by("degree_given")`` returns: one row per bucket. Buckets are drawn in the
        order of their first number.
    metric : str
    column : str
        The column by which the ranks of a result are grouped.
    names : sequence of str, or mapping of str to str, optional
        See `kgeval.report.plots`; a mapping also gives the names of buckets and of the column.
    style, ax, title
        See `kgeval.report.plots`.

    Raises
    ------
    MetricError
        If a table has no column for the metric or no column ``n``, or if no table has a finite value of the metric.
    """
    frames, key, shown_names = _grouped(groups, column, metric, names)
    first = next(iter(frames.values()))
    sizes = pd.concat([frame["n"] for frame in frames.values()]).groupby(level=0, sort=False).max()
    drawn = pd.Index(sorted(sizes.index, key=_first_number))
    sheet = Sheet.of(style, ax, 4.0 if style == "screen" else 2.4)
    handles = _dots(sheet, frames, drawn, key, along="x")
    set_ticks(sheet.axes, [f"{shorten(_named(label, shown_names), 16)}\n({sizes[label]:,.0f})" for label in drawn], "x")
    name = _named(column if first.index.name is None else first.index.name, shown_names)
    group = shorten(name, 24 if style == "paper" else 40)
    heading = f"{display_of(key).heading} by {group}: {sizes.sum():,.0f} ranks"
    text = (heading if title is None else title) + _left_out(frames, drawn, key)
    sheet.set_labels(text.strip("\n"), f"{group} (number of ranks)", display_of(key).heading)
    sheet.add_legend(handles, list(frames))
    return sheet.finish()


@names_unknown_arguments()
def difference_plot(
    table: pd.DataFrame | Comparison,
    *,
    limit: int = 30,
    names: Mapping[str, str] | None = None,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw differences between models with their intervals; dots are filled where the interval excludes 0.

    Parameters
    ----------
    table : pandas.DataFrame or Comparison
        A table with the columns ``difference``, ``low`` and ``high``. If it also has the columns ``first``, ``second``
        and ``metric``, as the table of a comparison has, each metric is drawn in separate axes, and each row is named
        by its two models. Otherwise the index names the rows, for example the relations in a table that
        ``comparison.by_relation`` returns.
    limit : int
        Only the first `limit` rows are drawn; the title gives the number of all rows.
    names : mapping of str to str, optional
        The names to show in place of the names of models or rows.
    style, ax, title
        See `kgeval.report.plots`. With `ax`, the table must have a single metric.

    Raises
    ------
    MetricError
        If a column is missing, if no difference is finite, or if `ax` is given and there are several metrics.
    """
    check_positive_int("limit", limit, MetricError)
    table = table.differences if isinstance(table, Comparison) else table
    missing = [name for name in ("difference", "low", "high") if name not in table.columns]
    if missing:
        raise MetricError(
            f"a table of differences needs the columns difference, low and high; missing: {', '.join(missing)}"
        )
    rows = table[np.isfinite(table["difference"].to_numpy(dtype=np.float64))]
    if not len(rows):
        raise MetricError(f"difference_plot needs a finite difference; got none in {len(table)} rows")
    drawn = rows.iloc[:limit]
    is_pairs = {"first", "second", "metric"} <= set(table.columns)
    parts = dict(list(drawn.groupby("metric", sort=False))) if is_pairs else {"difference": drawn}
    if ax is not None and len(parts) > 1:
        raise MetricError(
            f"ax= holds one metric, and the table has {len(parts)}: {', '.join(map(str, parts))}; choose its rows first"
        )
    shown_names = split_names(names or {})[1]
    is_paper = style == "paper"
    per_panel, per_row = (0.42, 0.19) if is_paper else (0.62, 0.27)
    height = (0.35 if is_paper else 0.5) + per_panel * len(parts) + per_row * (len(drawn) + 0.2 * len(parts))
    sheet = Sheet.of(style, ax, height, [len(part) + 0.2 for part in parts.values()])
    size = f"{len(drawn):,} of {len(table):,} differences" if len(drawn) < len(table) else f"{len(drawn):,} differences"
    n = f", n = {int(drawn['n'].max()):,}" if "n" in drawn.columns and is_pairs else ""
    heading = f"{size}{n}; filled: the interval excludes 0" if title is None else title
    for panel, (metric, part) in enumerate(parts.items()):
        if is_pairs:
            pairs = [
                [shorten(_named(name, shown_names), 18) for name in pair] for pair in zip(part["first"], part["second"])
            ]
            labels = [f"{first} \u2212 {second}" for first, second in pairs]
        else:
            labels = [shorten(_named(label, shown_names), 26 if is_paper else 40) for label in part.index]
        _difference_rows(sheet, panel, part, labels)
        what = f"difference of {display_of(metric).heading}" if is_pairs else "difference"
        sheet.set_labels("" if panel else heading, what, "", panel)
    return sheet.finish()


def _share_limits(result: EvaluationResult, masks: Sequence[npt.NDArray[np.bool_]]) -> tuple[list[float], list[float]]:
    """Return the lower and upper limits of 95% intervals of shares of rows, with clusters by triple as for hits@k.

    Each mask, bool (rows,), tells which rows of the table count in its share.
    """
    ranks = result.rank_table
    clusters = ranks.row_clusters("triple").among([np.arange(len(ranks))])
    terms = [Moments(mask.astype(np.float64)[:, None]) for mask in masks]
    intervals = [robust_interval(term, clusters, CONFIDENCE, (0.0, 1.0), ranks.sampled_share) for term in terms]
    return [interval.low for interval in intervals], [interval.high for interval in intervals]


def _named(label: Any, shown_names: Mapping[str, str]) -> str:
    """Return the name to show for a label; the label itself if `shown_names` does not contain it."""
    return shown_names.get(str(label), str(label))


def _ranks_of_results(plot: str, results: Results, names: Names) -> dict[str, tuple[EvaluationResult, Reals]]:
    """Return a dict from the shown name to (result, known filtered ranks of the result with realistic ties).

    Raises a MetricError if a result has no ranks; its message names `plot`, the function that needs the ranks.
    """
    model_names, shown_names = split_names(names)
    named = name_results(results, model_names)
    if shown_names:
        named = name_results(list(named.values()), [_named(name, shown_names) for name in named])
    named = {name: entity_part(result) for name, result in named.items()}
    ranks = {name: result.rank_table.ranks("filtered") for name, result in named.items()}
    known = {name: values[~np.isnan(values)] for name, values in ranks.items()}
    for name, values in known.items():
        if not len(values):
            ranks_are = "has no ranks" if not len(ranks[name]) else "has only bounded or unknown ranks"
            raise MetricError(f"{plot} needs ranks; result {name!r} {ranks_are}")
    return {name: (result, known[name]) for name, result in named.items()}


def _label_results(
    sheet: Sheet,
    title: str | None,
    heading: str,
    x: str,
    y: str,
    ranks: Mapping[str, tuple[EvaluationResult, Reals]],
    handles: list[Any],
    more: Sequence[str] = (),
) -> None:
    """Set title, axis labels and legend; the title warns if the results differ in dataset or protocol."""
    results = [result for result, _ in ranks.values()]
    sizes = {len(result.table) for result in results}
    kinds: dict[str, set[Any]] = {
        "dataset": {result.facts.get("dataset_fingerprint") for result in results},
        "protocol": {result.protocol.fingerprint for result in results},
    }
    differing = " and ".join(kind for kind, values in kinds.items() if len(values) > 1)
    is_same_size = len(sizes) == 1
    n = f"n = {len(results[0].table):,} ranks" if is_same_size else "n in the legend"
    dataset = shorten(str(results[0].facts.get("dataset", "")))
    lines = [f"{heading} on {dataset}: {n}" if title is None else title]
    lines += [f"not comparable: the results differ in {differing}"] if differing else []
    n_unknown = sum(len(result.table) - len(values) for result, values in ranks.values())
    lines += [f"{n_unknown:,} ranks are bounded or unknown, not drawn"] if n_unknown else []
    sheet.set_labels("\n".join(filter(None, lines)), x, y)
    n_of = {name: "" if is_same_size else f" (n = {len(result.table):,})" for name, (result, _) in ranks.items()}
    sheet.add_legend(handles, [*(shorten(name, 24) + size if size else name for name, size in n_of.items()), *more])


def _grouped(
    groups: GroupTables, column: str, metric: str, names: Names
) -> tuple[dict[str, pd.DataFrame], str, dict[str, str]]:
    """Return three values: a dict from model name to its table of groups; the column of the metric; the shown names.

    Raises a MetricError if a table lacks a needed column or has several rows for a group, or if no value is finite.
    """
    key, (model_names, shown_names) = str(parse(metric)), split_names(names)
    listed = [groups] if isinstance(groups, (EvaluationResult, pd.DataFrame)) else list(groups)
    results = [item for item in listed if isinstance(item, EvaluationResult)]
    named: dict[str, EvaluationResult | pd.DataFrame] = {}
    if len(results) == len(listed):
        named.update(name_results(results, model_names))
    else:
        default = [f"model {i}" for i in range(1, len(listed) + 1)]
        named = dict(zip(default if model_names is None else check_names(model_names, len(listed), "table"), listed))
    if shown_names:
        named = dict(
            zip(check_names([_named(name, shown_names) for name in named], len(named), "table"), named.values())
        )
    frames = {
        name: item if isinstance(item, pd.DataFrame) else item.by(column, metrics=[metric])
        for name, item in named.items()
    }
    for name, frame in frames.items():
        missing = [wanted for wanted in ("n", key) if wanted not in frame.columns]
        if missing:
            raise MetricError(
                f"the table of {name!r} has no column {' or '.join(missing)}; "
                f"make it with result.by({column!r}, metrics={metric!r})"
            )
        if frame.index.nlevels > 1 or not frame.index.is_unique:
            raise MetricError(f"the table of {name!r} must have one row per {column}; group by this column alone")
    if not any(np.isfinite(frame[key].to_numpy(dtype=np.float64)).any() for frame in frames.values()):
        raise MetricError(f"there is nothing to draw: no finite {key} in {sum(map(len, frames.values()))} rows")
    return frames, key, shown_names


def _dots(sheet: Sheet, frames: Mapping[str, pd.DataFrame], drawn: pd.Index[Any], key: str, along: str) -> list[Any]:
    """Draw the values and intervals of each model, and return the handles for the legend.

    The groups are at the positions 0, 1, ... of the axis `along`, ``"x"`` or ``"y"``; markers of different models are
    shifted a little, so that they do not overlap.
    """
    axes, handles = sheet.axes, []
    step = min(0.16, 0.7 / len(frames))
    for i, frame in enumerate(frames.values()):
        rows = frame.reindex(drawn)
        positions = np.arange(len(drawn)) + (i - (len(frames) - 1) / 2) * step
        values, look = rows[key].to_numpy(dtype=np.float64), sheet.line_style(i)
        if along == "x":
            handles += axes.plot(positions, values, **look)
        else:
            handles += axes.plot(values, positions, **{**look, "linestyle": "none"})
        if {f"{key} low", f"{key} high"} <= set(rows.columns):
            low, high = (rows[f"{key} {end}"].to_numpy(dtype=np.float64) for end in ("low", "high"))
            known = np.isfinite(low) & np.isfinite(high)
            draw = axes.vlines if along == "x" else axes.hlines
            draw(positions[known], low[known], high[known], colors=look["color"], linewidth=sheet.style.line)
    return handles


def _left_out(frames: Mapping[str, pd.DataFrame], drawn: pd.Index[Any], key: str) -> str:
    """Return a line for the title: how many values are undefined and not drawn; empty if all values are defined."""
    n = sum(int((~np.isfinite(frame[key].reindex(drawn).astype(np.float64))).sum()) for frame in frames.values())
    return f"\n{n:,} undefined, not drawn" if n else ""


def _first_number(bucket: Any) -> tuple[float, bool]:
    """Return the sort key of a bucket such as "2-3": its first number; buckets without a number come last."""
    if isinstance(bucket, pd.Interval):
        return float(bucket.left), False
    match = re.search(r"\d+(\.\d+)?", str(bucket))
    return (float(match.group()), not str(bucket).startswith("<")) if match else (math.inf, True)


def _difference_rows(sheet: Sheet, panel: int, rows: pd.DataFrame, labels: Sequence[str]) -> None:
    """Draw one row per difference, the first at the top of the panel."""
    axes, positions, colour = sheet.panels[panel], np.arange(len(rows)), PALETTE[0]
    difference, low, high = (rows[name].to_numpy(dtype=np.float64) for name in ("difference", "low", "high"))
    known, is_clear = np.isfinite(low) & np.isfinite(high), (low > 0) | (high < 0)
    axes.axvline(0.0, color=GREY, linestyle=":", linewidth=sheet.style.line)
    axes.hlines(positions[known], low[known], high[known], colors=colour, linewidth=sheet.style.line)
    look = {"color": colour, "markersize": sheet.style.marker + 0.5, "markeredgewidth": 0.8}
    for chosen, fill in ((is_clear, colour), (~is_clear, "white")):
        axes.plot(difference[chosen], positions[chosen], "o", markerfacecolor=fill, **look)
    set_ticks(axes, labels, "y")
    axes.set_ylim(len(rows) - 0.4, -0.6)
