"""The critical-difference diagram of models over several datasets. Users import it from `kgeval.report.plots`."""

from __future__ import annotations

import math
import typing
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kgeval.base.checks import GONE, Reals, counted, names_unknown_arguments
from kgeval.errors import MetricError
from kgeval.metrics.grammar import display_of
from kgeval.report.figures import GREY, PALETTE, Sheet, as_text, choose_fonts, shorten, split_names
from kgeval.stats.across_datasets import Nemenyi, alike_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

INK = "#222222"
# Length limits of labels, in characters; they are tried in this order until the axis has enough room.
LABEL_LIMITS = (40, 32, 26, 22, 18, 14, 11, 8, 6)
MIN_AXIS = {"screen": 0.4, "paper": 0.32}  # the share of the width that the axis of mean ranks takes at least
# Heights in rows: from the axis to the first bar, from bar to bar, and from the last bar to the first label.
TO_BARS, BAR_STEP, TO_LABELS = 0.55, 0.45, 0.85
RULER = 1.6  # the height of the ruler above the axis, in rows


class RankedModels(typing.Protocol):
    """The data that the diagram needs; `kgeval.benchmarks.across.AcrossDatasets` has these properties."""

    @property
    def metric(self) -> str:
        """The text of the metric's key."""

    @property
    def alpha(self) -> float:
        """The significance level."""

    @property
    def table(self) -> pd.DataFrame:
        """One row per model, best mean rank first: ``model, mean_rank, n_datasets``."""

    @property
    def pairs(self) -> pd.DataFrame:
        """One row per pair: ``first, second, p_nemenyi``."""

    @property
    def nemenyi(self) -> Nemenyi | None:
        """Nemenyi's test; None if there is no test."""


@names_unknown_arguments(
    test=f"{GONE}Conover's test tells equal models apart too often; Nemenyi's test is drawn",
)
def critical_differences(
    across: RankedModels,
    *,
    names: Mapping[str, str] | None = None,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the critical-difference diagram: mean ranks of models over datasets, and bars that join similar models.

    The models hang on an axis of mean ranks, the best one at the left. A thick bar joins a group of models; no two
    models of the group differ significantly by Nemenyi's test. A ruler above the axis shows the critical difference
    CD. Without a test, there are no bars, and the title says so.

    Parameters
    ----------
    across : AcrossDatasets
        From `Benchmark.across`.
    names : mapping of str to str, optional
        The names to show in place of the names of models. Long names are shortened, so that the axis has room.
    style, ax, title
        See `kgeval.report.plots`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MetricError
        If `across` has another type, or if there are fewer than two models or no dataset with
        values of all models.

    References
    ----------
    Demšar (2006), Statistical Comparisons of Classifiers over Multiple Data Sets, Journal of Machine Learning
    Research 7 (figure 1).
    """
    if not all(hasattr(across, name) for name in ("metric", "alpha", "table", "pairs", "nemenyi")):
        raise MetricError(f"critical_differences needs the result of benchmark.across(); got {type(across).__name__}")
    table = across.table
    n_datasets = int(table["n_datasets"].iloc[0]) if len(table) else 0
    if len(table) < 2 or not n_datasets:
        raise MetricError(
            "critical_differences needs at least two models and a dataset with values of all models; got "
            f"{counted(len(table), 'model')} and {counted(n_datasets, 'such dataset')}"
        )
    models, ranks = [str(model) for model in table["model"]], table["mean_rank"].to_numpy(dtype=np.float64)
    groups = _groups(across, models)
    levels = _levels(groups)
    n_left = (len(models) + 1) // 2
    top = TO_BARS + BAR_STEP * max(levels, default=-1) + TO_LABELS  # from the axis to the first label, in rows
    ruler = across.nemenyi.critical_difference if across.nemenyi is not None else math.nan
    above = 2.2 if math.isfinite(ruler) else 1.2
    row = 0.19 if style == "paper" else 0.27
    sheet = Sheet.of(style, ax, (0.75 if style == "paper" else 0.95) + row * (above + top + n_left))
    axes = sheet.axes
    axes.set_ylim(-(top + n_left - 0.4), above)
    _draw_axis(sheet, len(models))
    shown_names = split_names(names or {})[1]
    _draw_labels(sheet, [shown_names.get(model, model) for model in models], ranks, n_left, top, ruler)
    width = 0.012 * (axes.get_xlim()[1] - axes.get_xlim()[0])
    for (first, last), level in zip(groups, levels):
        y = -(TO_BARS + BAR_STEP * level)
        look = {"color": PALETTE[0], "linewidth": 2.5 * sheet.style.line, "solid_capstyle": "butt"}
        axes.plot([ranks[first] - width, ranks[last] + width], [y, y], **look)
    heading = f"{display_of(across.metric).heading}: " + _heading(across, bool(groups))
    x = f"mean rank over {counted(n_datasets, 'dataset')} (1 is best)"
    sheet.set_labels(heading if title is None else title, x, "")
    return sheet.finish()


def _groups(across: RankedModels, models: Sequence[str]) -> list[tuple[int, int]]:
    """Return the first and the last model of each group without significant difference; no group without a test."""
    place = {model: i for i, model in enumerate(models)}
    p_values = np.ones((len(models), len(models)))
    for first, second, p_value in across.pairs[["first", "second", "p_nemenyi"]].itertuples(index=False):
        i, j = place[first], place[second]
        p_values[i, j] = p_values[j, i] = p_value
    return [] if np.isnan(p_values).any() else alike_groups(p_values, across.alpha)


def _levels(groups: Sequence[tuple[int, int]]) -> list[int]:
    """Return the level of each bar, 0 next to the axis: the first level on which it overlaps no other bar.

    Examples
    --------
    >>> _levels([(0, 2), (1, 3), (3, 5)])
    [0, 1, 0]
    """
    ends: list[int] = []  # the last model of the last bar on each level
    levels = []
    for first, last in groups:
        level = next((i for i, end in enumerate(ends) if end < first), len(ends))
        ends[level : level + 1] = [last]
        levels.append(level)
    return levels


def _heading(across: RankedModels, has_bars: bool) -> str:
    """Return the title: the meaning of the bars, the test, and the significance level."""
    if across.pairs["p_nemenyi"].isna().any():
        return "mean ranks, no result of Nemenyi's test"
    level = f"Nemenyi's test, significance level {across.alpha:g}"
    if not has_bars:
        return f"mean ranks; {level}: all models are told apart"
    return f"mean ranks; bars join models that are not told apart ({level})"


def _draw_axis(sheet: Sheet, n_models: int) -> None:
    """Draw the axis of mean ranks at y = 0, with its ticks above it; nothing else is left of the frame."""
    axes = sheet.axes
    for side in ("left", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["top"].set_position(("data", 0.0))
    axes.spines["top"].set_bounds(1, n_models)
    axes.set_xlim(1, n_models)  # until the labels are measured
    axes.yaxis.set_visible(False)
    axes.tick_params(axis="x", bottom=False, labelbottom=False, top=True, labeltop=True)


def _draw_labels(sheet: Sheet, names: Sequence[str], ranks: Reals, n_left: int, top: float, ruler: float) -> None:
    """Draw the labels of models, lines from them to the axis, and the ruler; set the limits and ticks of the x axis.

    The better half of the models has labels at the left, the best one at the top; the other half at the right, the
    worst one at the top. So no two lines cross.
    """
    axes, n, size = sheet.axes, len(names), sheet.style.text
    sides = ["right" if i < n_left else "left" for i in range(n)] + ["right"] * math.isfinite(ruler)
    texts = [axes.text(0.0, 0.0, "", fontsize=size, va="center", ha=side) for side in sides]
    as_text(*texts)
    for text in texts:
        text.set_in_layout(False)  # the limits of the x axis leave room for the labels
    if math.isfinite(ruler):
        texts[-1].set_text(f"CD = {ruler:.2f}")
    share, margins = _fit_labels(sheet, texts, names, ranks)
    # The data units of the whole width: the axis from 1 to n takes the given share.
    width = (n - 1) / share
    axes.set_xlim(1.0 - margins[0] * width, n + margins[1] * width)
    gap = _points(sheet, 5.0) * width
    line = 0.6 * sheet.style.line
    for i, text in enumerate(texts[:n]):
        is_left = i < n_left
        y = -(top + (i if is_left else n - 1 - i))
        x, end = (1.0 - 1.6 * gap, 1.0 - gap) if is_left else (n + 1.6 * gap, n + gap)
        text.set_position((x, y))
        axes.plot([ranks[i], ranks[i], end], [0.0, y, y], color=INK, linewidth=line)
    if math.isfinite(ruler):
        texts[-1].set_position((1.0 - 1.6 * gap, RULER))
        _draw_ruler(sheet, ruler)
    # A tick every 1, 2, ... ranks, so that their labels have room: two digits and a gap.
    step = math.ceil(_points(sheet, 1.7 * size) * (n - 1) / share)
    from matplotlib.ticker import FixedFormatter, FixedLocator

    ticks = list(range(1, n + 1, step))
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter([str(tick) for tick in ticks]))


def _fit_labels(
    sheet: Sheet, texts: Sequence[Text], names: Sequence[str], ranks: Reals
) -> tuple[float, tuple[float, float]]:
    """Write the labels, shortened until the axis has room; return shares of the width: the axis, both margins.

    Texts that are aligned at the right need the left margin; the other texts need the right margin.
    """
    least = MIN_AXIS["paper" if sheet.style.width < 4.0 else "screen"]
    sheet.figure.draw_without_rendering()  # from now on, the axes have their width
    for limit in LABEL_LIMITS:
        for text, name, rank in zip(texts, names, ranks):
            text.set_text(f"{shorten(name, limit)}  {rank:.2f}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `Sheet.finish` warns of characters that no font has
            choose_fonts(sheet.axes)
            shares = [text.get_window_extent().width / sheet.axes.bbox.width for text in texts]
        widths: dict[str, float] = {}
        for text, width in zip(texts, shares):
            widths[text.get_ha()] = max(widths.get(text.get_ha(), 0.0), width)
        left, right = (widths[side] + _points(sheet, 10.0) for side in ("right", "left"))
        if 1.0 - left - right >= least:
            break
    return max(1.0 - left - right, 0.1), (left, right)


def _points(sheet: Sheet, points: float) -> float:
    """Return a length in points as a share of the width of the axes."""
    return float(points / 72.0 * sheet.figure.dpi / sheet.axes.bbox.width)


def _draw_ruler(sheet: Sheet, length: float) -> None:
    """Draw a ruler above the axis, from rank 1 on; a ruler longer than the axis is cut and has no mark at the cut."""
    axes, look = sheet.axes, {"color": GREY, "linewidth": sheet.style.line}
    end = 1.0 + length
    axes.plot([1.0, min(end, axes.get_xlim()[1])], [RULER, RULER], **look)
    for x in (1.0, end) if end <= axes.get_xlim()[1] else (1.0,):
        axes.plot([x, x], [RULER - 0.22, RULER + 0.22], **look)
