"""Plots of curves: calibration, precision-recall and ROC. Users import them from `kgeval.report.plots`.

Precision-recall and ROC plots show each query as a faint line, and the mean of the queries as a bold line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Reals, check_positive_int
from kgeval.errors import MetricError
from kgeval.metrics.pointwise import reliability_curve
from kgeval.metrics.retrieval import Lists, check_lists, mean_pr_curve, pr_curves, roc_curves
from kgeval.report.figures import GREY, PALETTE, add_legend, line_style, new_figure, set_labels
from kgeval.results import EvaluationResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_FAINT = 200
ROC_POINTS = 101
Points = tuple[Reals, Reals]


def calibration_curve(
    labels: npt.ArrayLike, probabilities: npt.ArrayLike, *, bins: int = 10, strategy: str = "width"
) -> Figure:
    """Draw a calibration curve, with one point for each bin of probabilities.

    x is the mean probability of the examples in the bin; y is the share of positives among these examples. A bar chart
    below the curve shows the number of examples in each bin.

    Parameters
    ----------
    labels, probabilities, bins, strategy
        As in `kgeval.metrics.pointwise.reliability_curve`. Empty bins are not drawn.

    Raises
    ------
    MetricError
        If there is no example.
    ScoreError
        If a probability is NaN or lies outside [0, 1].
    """
    table = reliability_curve(labels, probabilities, bins, strategy)
    filled = table[table["n"] > 0]
    figure = new_figure(5.2, 5.6)
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    diagonal = axes.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linestyle=":")
    curve = axes.plot(filled["mean_probability"].to_numpy(), filled["observed"].to_numpy(), **line_style(0))
    gap = (filled["n"] * (filled["mean_probability"] - filled["observed"]).abs()).sum() / filled["n"].sum()
    title = (
        f"Calibration: n = {filled['n'].sum():,} examples,\n{len(filled)} of {len(table)} bins filled, ECE {gap:.4f}"
    )
    set_labels(axes, title, "", "share of positives")
    add_legend(axes, [*curve, *diagonal], ["per bin", "calibrated"])
    widths = (filled["high"] - filled["low"]).clip(lower=0.002).to_numpy()
    below.bar(
        filled["low"].to_numpy(), filled["n"].to_numpy(), widths, align="edge", color=PALETTE["blue"], edgecolor="white"
    )
    set_labels(below, "", "mean probability per bin", "examples")
    return figure


def precision_recall(
    lists: Lists | EvaluationResult,
    ties: str = "expected",
    *,
    points: int = 11,
    limit: int = MAX_FAINT,
    seed: int = 0,
) -> Figure:
    """Draw precision-recall curves: each query as a faint line, the mean of the queries as a bold line.

    x is the recall, y is the interpolated precision.

    Parameters
    ----------
    lists : Lists or EvaluationResult
        For a result, the filtered lists of all its queries are drawn.
    ties : str
        As in `kgeval.metrics.retrieval.pr_curves`.
    points : int
        Number of recall values, from 0 to 1, at which the mean is computed. The mean is over all queries with a
        relevant item.
    limit : int
        The largest number of faint lines. If there are more queries, a random sample of them is drawn, and the title
        says so.
    seed : int
        Seed of the random sample.

    Raises
    ------
    MetricError
        If no list contains a relevant item, or if a relevant item ties with an irrelevant item and `ties` is
        ``"expected"``, which gives tied items no order.
    """
    lists = lists.lists() if isinstance(lists, EvaluationResult) else lists
    check_lists(lists)
    table = pr_curves(replace(lists, names=None), ties)
    mean = mean_pr_curve(lists, ties, points)
    curves = _split(table, "recall", "interpolated")
    if not curves:
        raise MetricError("precision_recall needs a list with a relevant item; got none")
    stepped = [(np.append(0.0, recall), np.append(precision[0], precision)) for recall, precision in curves]
    bold = mean["recall"].to_numpy(), mean["precision"].to_numpy()
    n = int(mean["n"].iloc[0])
    figure = _faint_and_bold(stepped, bold, ("Precision and recall", n), limit, seed, drawstyle="steps-pre")
    set_labels(figure.axes[0], figure.axes[0].get_title(loc="left"), "recall", "precision (interpolated)")
    return figure


def roc(lists: Lists | EvaluationResult, *, limit: int = MAX_FAINT, seed: int = 0) -> Figure:
    """Draw ROC curves: each query as a faint line, the mean of the queries as a bold line.

    x is the false positive rate, y is the true positive rate. The mean curve starts at (0, 0). At 101 equally spaced
    false positive rates, it shows the mean true positive rate of all queries that have both relevant and irrelevant
    items.

    Parameters
    ----------
    lists : Lists or EvaluationResult
    limit, seed
        As in `precision_recall`.

    Raises
    ------
    MetricError
        If no list has both a relevant and an irrelevant item.

    References
    ----------
    Fawcett (2006), An Introduction to ROC Analysis, section 8 (vertical averaging).
    """
    lists = lists.lists() if isinstance(lists, EvaluationResult) else lists
    check_lists(lists)
    curves = _split(roc_curves(replace(lists, names=None)), "fpr", "tpr")
    if not curves:
        raise MetricError("roc needs a list with both relevant and irrelevant items; got none")
    grid = np.arange(ROC_POINTS) / (ROC_POINTS - 1)
    # Where a curve rises vertically, np.interp returns the upper end.
    mean = np.mean([np.interp(grid, fpr, tpr) for fpr, tpr in curves], axis=0)
    bold = np.append(0.0, grid), np.append(0.0, mean)
    figure = _faint_and_bold(curves, bold, ("ROC", len(curves)), limit, seed)
    set_labels(figure.axes[0], figure.axes[0].get_title(loc="left"), "false positive rate", "true positive rate")
    return figure


def _split(table: pd.DataFrame, x: str, y: str) -> list[Points]:
    """Return, for each query, the values of the columns `x` and `y` in the rows of the query.

    The column ``query`` of `table` tells to which query a row belongs; the rows of one query follow each other.
    """
    if not len(table):
        return []
    query = table["query"].to_numpy()
    starts = np.flatnonzero(query[1:] != query[:-1]) + 1
    return list(zip(np.split(table[x].to_numpy(), starts), np.split(table[y].to_numpy(), starts)))


def _faint_and_bold(
    curves: list[Points], mean: Points, heading: tuple[str, int], limit: int, seed: int, drawstyle: str = "default"
) -> Figure:
    """Draw `mean` as a bold line, and at most `limit` of the `curves` as faint lines.

    `heading` holds the title and the number of queries in the mean.
    """
    check_positive_int("limit", limit, MetricError)
    chosen = np.arange(len(curves))
    if len(curves) > limit:
        chosen = np.sort(np.random.default_rng(seed).choice(len(curves), limit, replace=False))
    figure = new_figure(5.2, 5.0)
    axes = figure.subplots()
    faint = [axes.plot(*curves[i], color=GREY, linewidth=0.8, alpha=0.35, drawstyle=drawstyle)[0] for i in chosen]
    bold = axes.plot(*mean, color=PALETTE["blue"], linewidth=2.5)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    title, n = heading
    sample = (
        f"a sample of {len(chosen):,} drawn (seed {seed})" if len(chosen) < len(curves) else f"{len(chosen):,} drawn"
    )
    set_labels(axes, f"{title}: mean of n = {n:,} queries,\n{sample}", "", "")
    add_legend(axes, [faint[0], *bold], ["single queries", "mean"])
    return figure
