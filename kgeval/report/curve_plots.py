"""Plots of curves: calibration, precision-recall and ROC. Users import them from `kgeval.report.plots`.

Precision-recall and ROC plots show each query as a faint line, and the mean of the queries as a bold line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Reals, check_positive_int, names_unknown_arguments
from kgeval.errors import MetricError
from kgeval.metrics.pointwise import reliability_curve
from kgeval.metrics.retrieval import pr_curves
from kgeval.metrics.retrieval.base import check_lists
from kgeval.metrics.retrieval.curves import mean_pr_curve, roc_curves
from kgeval.metrics.retrieval.lists import RankedLists
from kgeval.report.figures import GREY, PALETTE, Sheet
from kgeval.results.evaluation_result import EvaluationResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_FAINT = 200
ROC_POINTS = 101
Points = tuple[Reals, Reals]
_HEIGHT = {"screen": 6.6, "paper": 3.6}  # inches; the axes are square


@names_unknown_arguments()
def calibration_curve(
    labels: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    *,
    bins: int = 10,
    strategy: str = "width",
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a calibration curve, with one point for each bin of probabilities.

    x is the mean probability of the examples in the bin; y is the share of positives among these examples. A bar chart
    below the curve shows the number of examples in each bin; it is left out with `ax`.

    Parameters
    ----------
    labels, probabilities, bins, strategy
        As in `kgeval.metrics.pointwise.reliability_curve`. Empty bins are not drawn.
    style, ax, title
        See `kgeval.report.plots`.

    Raises
    ------
    MetricError
        If there is no example.
    ScoreError
        If a probability is NaN or lies outside [0, 1].
    """
    table = reliability_curve(labels, probabilities, bins, strategy)
    filled = table[table["n"] > 0]
    sheet = Sheet.of(style, ax, 5.6 if style == "screen" else 3.6, (3.0, 1.0), share_x=True)
    axes, line = sheet.axes, sheet.style.line
    diagonal = axes.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linestyle=":", linewidth=line)
    curve = axes.plot(filled["mean_probability"].to_numpy(), filled["observed"].to_numpy(), **sheet.line_style(0))
    gap = (filled["n"] * (filled["mean_probability"] - filled["observed"]).abs()).sum() / filled["n"].sum()
    heading = (
        f"Calibration: n = {filled['n'].sum():,} examples, {len(filled)} of {len(table)} bins filled, ECE {gap:.4f}"
    )
    x = "mean probability per bin"
    sheet.set_labels(heading if title is None else title, "" if sheet.is_new else x, "share of positives")
    sheet.add_legend([*curve, *diagonal], ["per bin", "calibrated"])
    if sheet.is_new:
        widths = (filled["high"] - filled["low"]).clip(lower=0.002).to_numpy()
        look = {"color": PALETTE[0], "edgecolor": "white", "linewidth": 0.5}
        sheet.panels[1].bar(filled["low"].to_numpy(), filled["n"].to_numpy(), widths, align="edge", **look)
        sheet.set_labels("", x, "examples", panel=1)
    return sheet.finish()


@names_unknown_arguments(seed="sample_seed=")
def precision_recall(
    lists: RankedLists | EvaluationResult,
    ties: str = "expected",
    *,
    points: int = 11,
    limit: int = MAX_FAINT,
    sample_seed: int = 0,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw precision-recall curves: each query as a faint line, the mean of the queries as a bold line.

    x is the recall, y is the interpolated precision.

    Parameters
    ----------
    lists : RankedLists or EvaluationResult
        For a result, the filtered lists of all its queries are drawn.
    ties : str
        As in `kgeval.metrics.retrieval.pr_curves`.
    points : int
        Number of recall values, from 0 to 1, at which the mean is computed. The mean is over all queries with a
        relevant item.
    limit : int
        The largest number of faint lines. If there are more queries, a random sample of them is drawn, and the title
        says so.
    sample_seed : int
        Seed of the random sample.
    style, ax, title
        See `kgeval.report.plots`.

    Raises
    ------
    MetricError
        If no list contains a relevant item, or if a relevant item ties with an irrelevant item and `ties` is
        ``"expected"``, which gives tied items no order.
    """
    check_positive_int("limit", limit, MetricError)
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
    words = "Precision and recall", "recall", "precision (interpolated)"
    sheet = Sheet.of(style, ax, _HEIGHT.get(style, 1.0))
    return _faint_and_bold(sheet, stepped, bold, n, words, title, limit, sample_seed, drawstyle="steps-pre")


@names_unknown_arguments(seed="sample_seed=")
def roc(
    lists: RankedLists | EvaluationResult,
    *,
    limit: int = MAX_FAINT,
    sample_seed: int = 0,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw ROC curves: each query as a faint line, the mean of the queries as a bold line.

    x is the false positive rate, y is the true positive rate. The mean curve starts at (0, 0). At 101 equally spaced
    false positive rates, it shows the mean true positive rate of all queries that have both relevant and irrelevant
    items.

    Parameters
    ----------
    lists : RankedLists or EvaluationResult
    limit, sample_seed, style, ax, title
        As in `precision_recall`.

    Raises
    ------
    MetricError
        If no list has both a relevant and an irrelevant item.

    References
    ----------
    Fawcett (2006), An Introduction to ROC Analysis, section 8 (vertical averaging).
    """
    check_positive_int("limit", limit, MetricError)
    lists = lists.lists() if isinstance(lists, EvaluationResult) else lists
    check_lists(lists)
    curves = _split(roc_curves(replace(lists, names=None)), "fpr", "tpr")
    if not curves:
        raise MetricError("roc needs a list with both relevant and irrelevant items; got none")
    grid = np.arange(ROC_POINTS) / (ROC_POINTS - 1)
    # Where a curve rises vertically, np.interp returns the upper end.
    mean = np.mean([np.interp(grid, fpr, tpr) for fpr, tpr in curves], axis=0)
    bold = np.append(0.0, grid), np.append(0.0, mean)
    words = "ROC", "false positive rate", "true positive rate"
    sheet = Sheet.of(style, ax, _HEIGHT.get(style, 1.0))
    return _faint_and_bold(sheet, curves, bold, len(curves), words, title, limit, sample_seed)


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
    sheet: Sheet,
    curves: list[Points],
    mean: Points,
    n: int,
    words: tuple[str, str, str],
    title: str | None,
    limit: int,
    sample_seed: int,
    drawstyle: str = "default",
) -> Figure:
    """Draw the `mean` of `n` queries as a bold line, and at most `limit` of the `curves` as faint lines.

    `words` holds the title and the labels of the axes; `title` is the user's title.
    """
    chosen = np.arange(len(curves))
    if len(curves) > limit:
        chosen = np.sort(np.random.default_rng(sample_seed).choice(len(curves), limit, replace=False))
    axes, line = sheet.axes, sheet.style.line
    # The fainter, the more lines there are, so that a few hundred of them do not hide the mean.
    alpha = float(np.clip(8.0 / len(chosen), 0.12, 0.5))
    look = {"color": GREY, "linewidth": 0.5 * line, "alpha": alpha, "drawstyle": drawstyle}
    for i in chosen:
        axes.plot(*curves[i], **look)
    bold = axes.plot(*mean, color=PALETTE[0], linewidth=1.7 * line)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.set_aspect("equal")
    name, x, y = words
    sample = (
        f"a sample of {len(chosen):,} drawn (seed {sample_seed})"
        if len(chosen) < len(curves)
        else f"{len(chosen):,} drawn"
    )
    heading = f"{name}: mean of n = {n:,} queries, {sample}"
    sheet.set_labels(heading if title is None else title, x, y)
    # In the legend, a faint line is as dark as a single line of the plot.
    from matplotlib.lines import Line2D

    sheet.add_legend([Line2D([], [], color=GREY, linewidth=0.5 * line, alpha=0.5), *bold], ["single queries", "mean"])
    return sheet.finish()
