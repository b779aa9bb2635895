"""Plots of results: rank distributions, hits@k over k, metrics by group, curves, differences between models.

Users import this module as `kgeval.report.plots`. Every function returns a new ``matplotlib.figure.Figure``;
`save_figure` writes it. The functions need matplotlib (``pip install "kgeval[report]"``) and do not use ``pyplot``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kgeval.checks import Reals, check_positive_int
from kgeval.comparison import Comparison, Results, check_names, name_results
from kgeval.errors import MetricError
from kgeval.metrics import display_of, parse
from kgeval.report.curve_plots import calibration_curve, precision_recall, roc
from kgeval.report.figures import (
    GREY,
    PALETTE,
    add_legend,
    line_style,
    new_figure,
    save_figure,
    set_labels,
    set_ticks,
    shorten,
)
from kgeval.results import EvaluationResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "calibration_curve",
    "degree_curve",
    "difference_plot",
    "hits_curve",
    "precision_recall",
    "rank_distribution",
    "relation_comparison",
    "roc",
    "save_figure",
]

GroupTables = EvaluationResult | pd.DataFrame | Sequence[EvaluationResult | pd.DataFrame]


def rank_distribution(results: Results, names: Sequence[str] | None = None) -> Figure:
    """Draw the distribution of ranks: for each model and each rank r, the share of the ranks that are at most r.

    The ranks are filtered, with realistic ties. The rank axis is logarithmic. Undecided and unknown ranks are not
    drawn, but count in the shares, so their line ends below 1; the title contains their number.

    Parameters
    ----------
    results : EvaluationResult, or sequence of them, or mapping of name to EvaluationResult
    names : sequence of str, optional
        As in `kgeval.comparison.name_results`.

    Returns
    -------
    matplotlib.figure.Figure
        One stepped line per model, from (best rank of the model, 0) to (worst rank of all models, 1).

    Raises
    ------
    MetricError
        If a result has no ranks, or only undecided or unknown ranks.
    MissingExtra
        If matplotlib is not installed.
    """
    ranks = _ranks_of_results("rank_distribution", results, names)
    figure = new_figure(6.4, 4.4)
    axes = figure.subplots()
    worst = max(float(values.max()) for _, values in ranks.values())
    handles = []
    for i, (result, values) in enumerate(ranks.values()):
        distinct, counts = np.unique(values, return_counts=True)
        x = np.concatenate([distinct[:1], distinct, [worst]])
        shares = np.cumsum(counts) / len(result.table)
        share = np.concatenate([[0.0], shares, shares[-1:]])
        every = max(1, len(x) // 10)
        handles += axes.plot(x, share, drawstyle="steps-post", markevery=(0, every), markersize=4, **line_style(i))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(0.0, 1.02)
    _label_results(
        axes, "Ranks", "rank (filtered, realistic ties; logarithmic)", "share of ranks up to this rank", ranks, handles
    )
    return figure


def hits_curve(results: Results, names: Sequence[str] | None = None, limit: int = 100) -> Figure:
    """Draw for each model hits@k (filtered, realistic ties) for k from 1 to `limit`, and the chance level.

    Parameters
    ----------
    results, names
        As in `rank_distribution`.
    limit : int
        The largest k.

    Returns
    -------
    matplotlib.figure.Figure
        One line per model through the points (k, hits@k), and one line for the chance level of the first result. There
        is no point where hits@k depends on undecided ranks, and no chance level if the numbers of rivals are unknown.
    """
    check_positive_int("limit", limit, MetricError)
    ranks = _ranks_of_results("hits_curve", results, names)
    k = np.arange(1, limit + 1)
    figure = new_figure(6.4, 4.4)
    axes = figure.subplots()
    handles = []
    for i, (result, values) in enumerate(ranks.values()):
        hits = np.searchsorted(np.sort(values), k, side="right") / len(result.table)
        if len(values) < len(result.table):
            hits = np.array([result[f"hits@{cut}"] for cut in k.tolist()])
        every = max(1, limit // 10)
        handles += axes.plot(k, hits, markevery=(0, every), markersize=4, **line_style(i))
    result, _ = next(iter(ranks.values()))
    has_chance = not result.chance("mr").reason
    if has_chance:
        sizes, counts = np.unique(result.table["rivals_filtered"].to_numpy() + 1, return_counts=True)
        chance = (np.minimum(k[:, None], sizes) / sizes) @ counts / counts.sum()
        handles += axes.plot(k, chance, color=GREY, linestyle=(0, (1, 3)), linewidth=1.5)
    axes.set_ylim(0.0, 1.02)
    more = ["chance"] if has_chance else []
    _label_results(axes, "Hits", "k (candidates)", "hits@k (filtered, realistic ties)", ranks, handles, more)
    return figure


def relation_comparison(
    groups: GroupTables, metric: str = "mrr", *, names: Sequence[str] | None = None, limit: int = 30
) -> Figure:
    """Draw a metric per relation: each relation has one row, with a marker and an interval for each model.

    Parameters
    ----------
    groups : EvaluationResult or DataFrame, or sequence of them
        Results, or tables such as ``result.by("relation")`` returns: one row per relation, with the columns ``n``, the
        metric and, optionally, ``"<metric> low"`` and ``"<metric> high"``.
    metric : str
    names : sequence of str, optional
        One name per model.
    limit : int
        Only the `limit` relations with the most ranks are drawn; the title gives the number of all relations.

    Raises
    ------
    MetricError
        If a table has no column for the metric or no column ``n``, or if no table has a finite value of the metric.
    """
    check_positive_int("limit", limit, MetricError)
    frames, key = _grouped(groups, "relation", metric, names)
    sizes = pd.concat([frame["n"] for frame in frames.values()]).groupby(level=0, sort=False).max()
    order = sizes.sort_values(ascending=False, kind="stable").index
    drawn = order[:limit]
    figure = new_figure(7.2, 1.4 + 0.28 * len(drawn))
    axes = figure.subplots()
    handles = _dots(axes, frames, drawn, key, along="y")
    set_ticks(axes, [f"{shorten(str(label), 30)} ({sizes[label]:,.0f})" for label in drawn], "y")
    axes.invert_yaxis()
    axes.grid(axis="y", linewidth=0.4)
    shown = f"all {len(order):,} relations" if len(drawn) == len(order) else f"{limit:,} of {len(order):,} relations"
    title = f"{display_of(key).heading} per relation: {shown}, {sizes[drawn].sum():,.0f} ranks"
    set_labels(axes, title + _left_out(frames, drawn, key), display_of(key).heading, "relation (number of ranks)")
    add_legend(axes, handles, list(frames))
    return figure


def degree_curve(
    groups: GroupTables, metric: str = "mrr", *, column: str = "degree_given", names: Sequence[str] | None = None
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
    names : sequence of str, optional
        One name per model.

    Raises
    ------
    MetricError
        If a table has no column for the metric or no column ``n``, or if no table has a finite value of the metric.
    """
    frames, key = _grouped(groups, column, metric, names)
    first = next(iter(frames.values()))
    sizes = pd.concat([frame["n"] for frame in frames.values()]).groupby(level=0, sort=False).max()
    drawn = pd.Index(sorted(sizes.index, key=_first_number))
    figure = new_figure(6.4, 4.4)
    axes = figure.subplots()
    handles = _dots(axes, frames, drawn, key, along="x")
    set_ticks(axes, [f"{shorten(str(label), 16)}\n({sizes[label]:,.0f})" for label in drawn], "x")
    group = column if first.index.name is None else str(first.index.name)
    title = f"{display_of(key).heading} by {shorten(group)}: {sizes.sum():,.0f} ranks" + _left_out(frames, drawn, key)
    set_labels(axes, title, f"{shorten(group)} (number of ranks)", display_of(key).heading)
    add_legend(axes, handles, list(frames))
    return figure


def difference_plot(table: pd.DataFrame | Comparison, *, limit: int = 30) -> Figure:
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

    Raises
    ------
    MetricError
        If a column is missing, or no difference is finite.
    """
    check_positive_int("limit", limit, MetricError)
    table = table.table if isinstance(table, Comparison) else table
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
    figure = new_figure(7.2, 1.2 + 0.9 * len(parts) + 0.28 * len(drawn))
    heights = [1 + len(part) for part in parts.values()]
    panels = figure.subplots(len(parts), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (metric, part) in zip(panels, parts.items()):
        pairs = zip(part["first"], part["second"]) if is_pairs else ()
        labels = (
            [f"{shorten(a, 18)} − {shorten(b, 18)}" for a, b in pairs]
            if is_pairs
            else [shorten(str(label)) for label in part.index]
        )
        _difference_rows(axes, part, labels)
        set_labels(axes, "", f"difference of {shorten(str(metric))}" if is_pairs else "difference", "")
    size = f"{len(drawn):,} of {len(table):,} differences" if len(drawn) < len(table) else f"{len(drawn):,} differences"
    n = f", n = {int(drawn['n'].max()):,}" if "n" in drawn.columns and is_pairs else ""
    title = f"{size}{n}; filled: the interval excludes 0"
    set_labels(panels[0], title, panels[0].get_xlabel(), "")
    return figure


def _ranks_of_results(
    plot: str, results: Results, names: Sequence[str] | None
) -> dict[str, tuple[EvaluationResult, Reals]]:
    """Return a dict from name to (result, known filtered ranks of the result with realistic ties).

    Raises a MetricError if a result has no ranks; its message names `plot`, the function that needs the ranks.
    """
    named = name_results(results, names)
    ranks = {name: result.rank_table.ranks("filtered") for name, result in named.items()}
    known = {name: values[~np.isnan(values)] for name, values in ranks.items()}
    for name, values in known.items():
        if not len(values):
            ranks_are = "has no ranks" if not len(ranks[name]) else "has only undecided or unknown ranks"
            raise MetricError(f"{plot} needs ranks; result {name!r} {ranks_are}")
    return {name: (result, known[name]) for name, result in named.items()}


def _label_results(
    axes: Axes,
    title: str,
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
        "dataset": {result.about.get("dataset_fingerprint") for result in results},
        "protocol": {result.protocol.fingerprint for result in results},
    }
    differing = " and ".join(kind for kind, values in kinds.items() if len(values) > 1)
    is_same_size = len(sizes) == 1
    n = f"n = {len(results[0].table):,} ranks" if is_same_size else "n in the legend"
    dataset = shorten(str(results[0].about.get("dataset", "")))
    caution = f"\nnot comparable: the results differ in {differing}" if differing else ""
    n_unknown = sum(len(result.table) - len(values) for result, values in ranks.values())
    caution += f"\n{n_unknown:,} ranks are undecided or unknown, not drawn" if n_unknown else ""
    set_labels(axes, f"{title} on {dataset}: {n}{caution}", x, y)
    n_of = {name: "" if is_same_size else f" (n = {len(result.table):,})" for name, (result, _) in ranks.items()}
    add_legend(axes, handles, [*(shorten(name, 24) + size if size else name for name, size in n_of.items()), *more])


def _grouped(
    groups: GroupTables, column: str, metric: str, names: Sequence[str] | None
) -> tuple[dict[str, pd.DataFrame], str]:
    """Return a dict from model name to its table of groups, and the name of the column with the values of the metric.

    Raises a MetricError if a table lacks a needed column or has several rows for a group, or if no value is finite.
    """
    key = str(parse(metric))
    listed = [groups] if isinstance(groups, (EvaluationResult, pd.DataFrame)) else list(groups)
    results = [item for item in listed if isinstance(item, EvaluationResult)]
    named: dict[str, EvaluationResult | pd.DataFrame] = {}
    if len(results) == len(listed):
        named.update(name_results(results, names))
    else:
        default = [f"model {i}" for i in range(1, len(listed) + 1)]
        names = default if names is None else check_names(names, len(listed), "table")
        named = dict(zip(names, listed))
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
    return frames, key


def _dots(axes: Axes, frames: Mapping[str, pd.DataFrame], drawn: pd.Index[Any], key: str, along: str) -> list[Any]:
    """Draw the values and intervals of each model, and return the handles for the legend.

    The groups are at the positions 0, 1, ... of the axis `along`, ``"x"`` or ``"y"``; markers of different models are
    shifted a little, so that they do not overlap.
    """
    handles = []
    step = min(0.16, 0.7 / len(frames))
    for i, frame in enumerate(frames.values()):
        rows = frame.reindex(drawn)
        positions = np.arange(len(drawn)) + (i - (len(frames) - 1) / 2) * step
        values, style = rows[key].to_numpy(dtype=np.float64), line_style(i)
        if along == "x":
            handles += axes.plot(positions, values, markersize=5, **style)
        else:
            handles += axes.plot(values, positions, markersize=5, **{**style, "linestyle": "none"})
        if {f"{key} low", f"{key} high"} <= set(rows.columns):
            low, high = (rows[f"{key} {end}"].to_numpy(dtype=np.float64) for end in ("low", "high"))
            known = np.isfinite(low) & np.isfinite(high)
            draw = axes.vlines if along == "x" else axes.hlines
            draw(positions[known], low[known], high[known], colors=style["color"], linewidth=1.2)
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


def _difference_rows(axes: Axes, rows: pd.DataFrame, labels: Sequence[str]) -> None:
    """Draw one row per difference, the first at the top."""
    positions = np.arange(len(rows))
    difference, low, high = (rows[name].to_numpy(dtype=np.float64) for name in ("difference", "low", "high"))
    known, is_clear = np.isfinite(low) & np.isfinite(high), (low > 0) | (high < 0)
    axes.axvline(0.0, color=GREY, linestyle=":")
    axes.hlines(positions[known], low[known], high[known], colors=PALETTE["blue"], linewidth=1.2)
    for chosen, fill in ((is_clear, PALETTE["blue"]), (~is_clear, "white")):
        axes.plot(difference[chosen], positions[chosen], "o", color=PALETTE["blue"], markerfacecolor=fill, markersize=6)
    set_ticks(axes, labels, "y")
    axes.set_ylim(len(rows) - 0.4, -0.6)
