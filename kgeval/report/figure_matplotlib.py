"""A `Figure` drawn by matplotlib: styles, labels as plain text, fonts, tick labels that do not overlap, files.

`kgeval.report.plots` calls `draw`. Matplotlib is imported only here, when something is drawn; none of its settings is
changed, and ``pyplot`` is not used.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.base.checks import check_one_of, names_unknown_arguments
from kgeval.base.files import check_target, checked_ending, replacing
from kgeval.base.terminal import distinct_labels
from kgeval.display.html import N_COLOURS, N_PATTERNS
from kgeval.display.html_tables import short
from kgeval.errors import MetricError, MissingExtra
from kgeval.report import figure as value
from kgeval.report.colours import COLOURS, DASHES, HATCHES, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

GREY, INK = "#767676", "#222222"
WIDTHS = {"bold": 1.7, "ink": 0.6, "thick": 2.5}  # of lines, in widths of a curve
MAX_CHARACTERS = 50
TICK_SIZES, TICK_GAP = (8.0, 7.0, 6.0), 4.0  # points: labels of ticks that do not fit, the room between two
PICTURE_SUFFIXES = (".png", ".svg", ".pdf")
# For characters that the font of matplotlib lacks, in the order in which they are tried.
FALLBACK_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Source Han Sans SC", "Source Han Sans", "PingFang SC",
    "Hiragino Sans", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "WenQuanYi Zen Hei", "Droid Sans Fallback",
    "Arial Unicode MS", "Noto Sans", "Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Thai", "Nirmala UI",
)  # fmt: skip


@dataclass(frozen=True)
class Style:
    """Sizes of a figure.

    Parameters
    ----------
    width : float
        Width of a figure in inches.
    text : float
        Size of all texts in points.
    line, marker : float
        Width of lines and size of markers in points.
    row : float
        Height of one row of a panel, in inches.
    rows : float
        Height of a panel without rows of its own, in rows.
    label : int
        Characters of a label of a tick.
    dpi : int
        Resolution of ``.png`` files.
    """

    width: float
    text: float
    line: float
    marker: float
    row: float
    rows: float
    label: int
    dpi: int


STYLES = {
    "screen": Style(6.4, 10.0, 1.5, 5.0, 0.27, 12.0, 32, 150),
    "paper": Style(3.3, 8.0, 1.0, 3.5, 0.19, 8.5, 25, 300),
}


def style_of(style: str) -> Style:
    """Return the sizes of a style; raise a MetricError for an unknown one.

    Parameters
    ----------
    style : str
        One of `STYLES`.
    """
    return STYLES[check_one_of("style", style, STYLES, MetricError)]


def draw(figure: value.Figure, style: str, ax: Axes | None, title: str | None) -> Figure:
    """Draw a figure on the user's axes, or on a new figure that is not registered in ``pyplot``.

    Parameters
    ----------
    figure : kgeval.report.figure.Figure
    style : str
        One of `STYLES`.
    ax : matplotlib.axes.Axes or None
    title : str or None
        In place of the title of the figure; its cautions stay.

    Raises
    ------
    MetricError
        If the style is unknown, if `ax` is not an axes of matplotlib, or if the figure has several panels and `ax` is
        given.
    MissingExtra
        If matplotlib is not installed.
    """
    chosen = style_of(style)
    try:
        from matplotlib.axes import Axes as AxesClass
        from matplotlib.figure import Figure as FigureClass
    except ImportError as error:
        raise MissingExtra('pictures need matplotlib; pip install "kgeval[report]"') from error
    if ax is not None and not isinstance(ax, AxesClass):
        raise MetricError(f"ax must be an axes of matplotlib, such as plt.subplots()[1]; got {type(ax).__name__}")
    if ax is not None and len(figure.panels) > 1:
        parts = ", ".join(panel.x.title or panel.y.title for panel in figure.panels)
        raise MetricError(f"ax= holds one panel, and this figure has {len(figure.panels)}: {parts}; choose one first")
    if ax is not None:
        drawn, all_axes = ax.figure.figure, [ax]  # the figure itself, also if it has subfigures
    else:
        drawn = FigureClass(figsize=(chosen.width, chosen.width), dpi=chosen.dpi, layout="constrained")
        ratios = [panel.height or chosen.rows for panel in figure.panels]
        all_axes = list(drawn.subplots(len(ratios), 1, squeeze=False, height_ratios=ratios)[:, 0])
    for panel, axes in zip(figure.panels, all_axes):
        _draw_panel(panel, axes, chosen)
    (drawn if ax is None else ax).set_label(figure.title)
    heading = [title if title is not None else "" if style == "paper" else figure.title, *figure.cautions]
    _add_title(all_axes[0], "\n".join(filter(None, heading)), chosen, is_new=ax is None)
    if figure.legend:
        handles = [_sample(mark, chosen) for _, mark in figure.legend]
        _add_legend(all_axes[0], handles, [label for label, _ in figure.legend], chosen, is_new=ax is None)
    add_fonts(drawn if ax is None else ax)
    _fit(figure, drawn, all_axes, chosen, is_new=ax is None)
    return drawn


def _fit(figure: value.Figure, drawn: Figure, all_axes: Sequence[Axes], style: Style, *, is_new: bool) -> None:
    """Make a new figure as high as its panels and texts need, and separate the labels of ticks."""

    def grow() -> None:
        for _ in range(2 * is_new):  # the first time, the texts may leave no room for the axes
            boxes = [axes.get_position(original=True) for axes in all_axes]
            wanted = sum(panel.height or style.rows for panel in figure.panels) * style.row
            found = sum(box.height for box in boxes) * drawn.get_figheight()
            drawn.set_figheight(drawn.get_figheight() + wanted - found)
            drawn.draw_without_rendering()

    drawn.draw_without_rendering()
    grow()
    for panel, axes in zip(figure.panels, all_axes):
        _separate_ticks(drawn, axes, "y", panel.y.has_names)
        if panel.has_frame:
            _separate_ticks(drawn, axes, "x", panel.x.has_names)
    grow()  # for upright labels
    for axes in all_axes:
        label, box = axes.xaxis.label, axes.xaxis.label.get_window_extent()
        shift = min(0.0, drawn.bbox.width - TICK_GAP - box.x1) - min(0.0, box.x0)  # into the figure
        label.set_x(label.get_position()[0] + shift / axes.bbox.width)


def _draw_panel(panel: value.Panel, axes: Axes, style: Style) -> None:
    """Draw limits, ticks, titles and marks of a panel."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    limit, side = panel.longest(style.label), "right" if panel.is_mirrored else "left"
    getattr(axes.yaxis, f"tick_{side}")()
    axes.yaxis.set_label_position(side)
    axes.tick_params(labelsize=style.text, width=0.6, length=3)
    for name, spine in axes.spines.items():
        spine.set_linewidth(0.6)
        spine.set_visible(panel.has_frame and name in (side, "bottom"))
    for name, axis, found in (("x", axes.xaxis, panel.x), ("y", axes.yaxis, panel.y)):
        axes.set(**{f"{name}scale": "log" if found.is_log else "linear", f"{name}lim": (found.low, found.high)})
        texts = [_lines(text, limit) for _, text in found.ticks]
        axis.set_major_locator(FixedLocator([place for place, _ in found.ticks]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FixedFormatter(texts))
        for tick, text in zip(axis.get_major_ticks(), texts):
            as_text(tick.label1, tick.label2)
            tick.label1.set_text(text)  # `add_fonts` reads it before the figure is drawn
        if panel.has_frame and panel.has_grid(found):
            axis.grid(visible=True, color="#e6e8eb", linewidth=0.6)
    axes.set_axisbelow(True)
    as_text(axes.set_xlabel(panel.x.title, fontsize=style.text), axes.set_ylabel(panel.y.title, fontsize=style.text))
    if not panel.has_frame:
        axes.tick_params(length=0)
        axes.xaxis.set_tick_params(labelbottom=False)
    signs = {mark.points[0][1] for mark in panel.marks if isinstance(mark, value.Line) and len(mark.points) == 1}
    for y, text in panel.right:
        at, gap = ((0.0, y), (-3.5, 0.0)) if panel.is_mirrored else ((1.0, y), (3.5, 0.0))
        look = {"xycoords": axes.get_yaxis_transform(), "color": GREY if signs and y not in signs else "black"}
        _add_text(axes, at, _lines(text, limit), style, gap, side, "center_baseline", **look)
    for mark in panel.marks:
        _draw_mark(mark, axes, style)


def _lines(text: str, limit: int) -> str:
    """Return a label whose lines are shortened to about `limit` characters."""
    return "\n".join(short(line, limit + value.SPARE) for line in text.split("\n"))


def _add_text(
    axes: Axes, at: value.Point, text: str, style: Style, gap: value.Point, ha: str, va: str, **more: Any
) -> None:
    """Add a text at a place; `gap` is in points."""
    look: dict[str, Any] = {"textcoords": "offset points", "fontsize": style.text, "ha": ha, "va": va}
    as_text(axes.annotate(text, at, gap, annotation_clip=False, **look, **more))


def _colour(model: int) -> str:
    return COLOURS[model % N_COLOURS]


def _line_look(mark: value.Line, style: Style) -> dict[str, Any]:
    """Return the look of a line, as arguments of matplotlib's ``plot``."""
    dash = DASHES[(mark.model or 0) % N_PATTERNS] if mark.kind == "curve" else (1, 4) if mark.kind == "dotted" else ()
    colour = _colour(mark.model) if mark.model is not None else INK if mark.kind == "ink" else GREY
    look = {"color": colour, "alpha": mark.opacity, "linewidth": style.line * WIDTHS.get(mark.kind, 1.0)}
    sign = MARKERS[(mark.model or 0) % len(MARKERS)][0] if mark.marked else None
    look |= {"linestyle": (0, dash) if dash else "-", "solid_capstyle": "butt"}
    return {**look, "marker": sign, "markersize": style.marker}


def _bar_look(mark: value.Bars) -> dict[str, Any]:
    """Return the look of bars, as arguments of a patch of matplotlib."""
    is_full, hatch = mark.kind == "full", HATCHES[(mark.model or 0) % N_PATTERNS]
    look = {"edgecolor": "white", "hatch": hatch, "alpha": mark.shade} if is_full else {"alpha": 0.35}
    return {
        "facecolor": INK if mark.model is None else _colour(mark.model),
        "linewidth": 0.6 if mark.shade else 0.0,
        **look,
    }


def _draw_mark(mark: value.Mark, axes: Axes, style: Style) -> None:
    """Draw a mark."""
    from matplotlib import patches, patheffects

    if isinstance(mark, value.Line):
        axes.plot(*zip(*mark.points), markevery=list(mark.marked), **_line_look(mark, style))
    elif isinstance(mark, value.Area):
        axes.add_patch(patches.Polygon(mark.corners, linewidth=0, color=_colour(mark.model), alpha=0.2))
    elif isinstance(mark, value.Dots):
        colour, sign = _colour(mark.model), MARKERS[mark.model % len(MARKERS)][0]
        fills = [colour if is_filled else "white" for is_filled in mark.filled]
        look: dict[str, Any] = {"edgecolors": colour, "linewidths": 0.8, "zorder": 3}
        axes.scatter(*zip(*mark.points), s=(0.75 * style.marker) ** 2, marker=sign, c=fills, **look)
    elif isinstance(mark, value.Bars):
        for x1, y1, x2, y2 in mark.boxes:
            axes.add_patch(patches.Rectangle((x1, y1), x2 - x1, y2 - y1, **_bar_look(mark)))
    else:
        side = {"middle": "center", "start": "left", "end": "right"}[mark.align]
        for x, y, text in mark.items:
            # a long text that starts or ends inside does not make the axes smaller
            up, edge = (0.0, "center") if mark.is_inside else (2.0, "bottom")
            halo = None if mark.is_inside else [patheffects.withStroke(linewidth=2.0, foreground="white")]
            _add_text(axes, (x, y), text, style, (0.0, up), side, edge, in_layout=side == "center", path_effects=halo)


def _sample(mark: value.Mark, style: Style) -> Any:
    """Return an artist that looks like a mark, for the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if isinstance(mark, value.Line):
        return Line2D([], [], **_line_look(mark, style))
    if isinstance(mark, value.Dots):
        look = {"color": _colour(mark.model), "marker": MARKERS[mark.model % len(MARKERS)][0], "linestyle": "none"}
        look["markerfacecolor"] = look["color"] if mark.filled[0] else "white"
        return Line2D([], [], markersize=style.marker, **look)
    return Patch(**(_bar_look(mark) if isinstance(mark, value.Bars) else {"color": GREY}))


def _add_title(axes: Axes, text: str, style: Style, *, is_new: bool) -> None:
    """Add a title; on a new figure it starts at the left edge of the figure, and its lines are broken to fit."""
    if not text:
        return
    heading = axes.set_title(text, fontsize=style.text, loc="left")
    as_text(heading)
    if not is_new:
        return
    from matplotlib.transforms import blended_transform_factory

    figure = axes.figure.figure
    heading.set_transform(blended_transform_factory(figure.transFigure, heading.get_transform()))
    heading.set_position((4.0 / 72.0 / style.width, 1.0))
    add_fonts(heading)
    lines = text.replace("n = ", "n\u00a0=\u00a0").split("\n")  # not broken
    for width in range(max(map(len, lines)), 11, -1):
        heading.set_text("\n".join(part for line in lines for part in textwrap.wrap(line, width) or [""]))
        if heading.get_window_extent().width <= 0.97 * figure.bbox.width:
            return


def _add_legend(axes: Axes, handles: Sequence[Any], labels: Sequence[str], style: Style, *, is_new: bool) -> None:
    """Add a legend that shows labels literally: below the axes of a new figure, inside the user's axes."""
    figure = axes.figure.figure
    # Matplotlib leaves out labels that begin with an underscore, so the texts are set afterwards.
    numbers = [str(i) for i in range(len(labels))]
    look: dict[str, Any] = {"fontsize": style.text, "frameon": False, "handlelength": 2.6, "borderpad": 0.2}
    look |= {"columnspacing": 1.2, "borderaxespad": 0.2}
    if not is_new:
        _set_texts(axes.legend(handles, numbers, loc="best", **look), distinct_labels(labels, MAX_CHARACTERS))
        return
    # As many columns as fit; if one column does not fit, shorter labels.
    columns = [(n, MAX_CHARACTERS) for n in range(min(len(labels), 4), 1, -1)] + [(2, 18)] * (len(labels) > 6)
    for n_columns, limit in [*columns, *((1, limit) for limit in (MAX_CHARACTERS, 28, 20, 14))]:
        # Matplotlib fills the columns; the best model stands first in rows.
        order = [i for column in range(n_columns) for i in range(column, len(labels), n_columns)]
        in_rows = [handles[i] for i in order]
        legend = figure.legend(in_rows, numbers, loc="outside lower left", ncols=n_columns, **look)
        shown = distinct_labels(labels, limit)
        _set_texts(legend, [shown[i] for i in order])
        if limit == 14 or legend.get_window_extent().width <= 0.96 * figure.bbox.width:
            return
        legend.remove()


def as_text(*texts: Text) -> None:
    """Make matplotlib draw these texts literally; a dollar sign never starts a formula, whatever the settings are."""
    for text in texts:
        text.set_parse_math(False)
        text.set_usetex(False)


def add_fonts(artist: Any) -> None:
    """Add the installed fonts of `FALLBACK_FONTS` to texts that may need them; matplotlib warns of a lacking character.

    Parameters
    ----------
    artist : matplotlib.artist.Artist
        All texts in it are looked at.
    """
    from matplotlib.font_manager import get_font_names
    from matplotlib.text import Text

    for text in artist.findobj(Text):
        if not text.get_text().isascii():
            installed = [font for font in FALLBACK_FONTS if font in get_font_names()]
            text.set_fontfamily([*text.get_fontfamily(), *installed])


@names_unknown_arguments()
def save_figure(figure: Figure, path: str | Path, overwrite: bool = False) -> None:
    """Write a figure to ``.png``, ``.svg`` or ``.pdf``; the file is written completely or not at all.

    The file contains no date and no random names, so the same figure gives the same bytes as long as the version of
    matplotlib is the same. PDF files embed TrueType fonts (no Type 3 fonts), SVG files contain text as text, and PNG
    files have the resolution of the figure: 150 dpi, and 300 dpi with ``style="paper"``.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : str or path
        The suffix determines the format.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    DataError
        If the suffix is not one of `PICTURE_SUFFIXES`, if the file exists and `overwrite` is False, or if the file
        cannot be written.
    """
    suffix = checked_ending(path, PICTURE_SUFFIXES)
    check_target(path, overwrite)
    import matplotlib

    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "kgeval", "pdf.fonttype": 42, "svg.fonttype": "none"}):
        figure.savefig(stream, format=suffix[1:], dpi=max(150, figure.dpi), metadata=dated.get(suffix))
    with replacing(path, overwrite) as file:
        file.write(stream.getvalue())


def _set_texts(legend: Any, labels: Sequence[str]) -> None:
    """Set the texts of a legend."""
    for text, label in zip(legend.get_texts(), labels):
        as_text(text)
        text.set_text(label)
    add_fonts(legend)


def overlapping(texts: Sequence[Text], gap: float = 0.0) -> bool:
    """Return whether two of the texts overlap, each seen as the rectangle around it.

    Parameters
    ----------
    texts : sequence of matplotlib.text.Text
        Of a figure that has been drawn.
    gap : float
        Pixels that must be free between two texts beside each other.
    """
    boxes = np.array([text.get_window_extent().extents for text in texts]).reshape(-1, 4)
    low, high = boxes[:, :2], boxes[:, 2:] + np.array([gap, 0.0])
    # (texts, texts): whether two rectangles have a common point in both directions.
    common = np.all((low[:, None] < high[None]) & (low[None] < high[:, None]), axis=2)
    return bool(np.triu(common, 1).any())


def tick_texts(axes: Axes, along: str) -> list[Text]:
    """Return the tick labels that are drawn along an axis.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Of a figure that has been drawn.
    along : str
        ``"x"`` or ``"y"``.
    """
    axis, limits = (axes.xaxis, axes.get_xlim()) if along == "x" else (axes.yaxis, axes.get_ylim())
    ticks = [tick for tick in axis.get_major_ticks() if min(limits) <= tick.get_loc() <= max(limits)]
    labels = [label for tick in ticks for label in (tick.label1, tick.label2)]
    return [label for label in labels if label.get_visible() and label.get_text()]


def _separate_ticks(figure: Figure, axes: Axes, along: str, has_names: bool) -> None:
    """Change tick labels until no two overlap: smaller, ranges by their starts, every second, upright, ..."""
    from matplotlib.ticker import FixedFormatter, FixedLocator

    def is_done(step: int = 1) -> bool:
        figure.draw_without_rendering()
        return not overlapping(tick_texts(axes, along), TICK_GAP / step * figure.dpi / 72.0 if along == "x" else 0.0)

    if is_done():
        return
    axis = axes.xaxis if along == "x" else axes.yaxis
    places, texts = axis.get_majorticklocs(), [text.get_text() for text in axis.get_ticklabels()]
    starts, labels = texts, [text.replace("\n", " ") for text in texts]
    trials: list[tuple[int, list[str], dict[str, float]]] = []  # every which tick, texts, their look
    if has_names and along == "x":
        starts = [re.sub(r"^([\d,]+k?)–\n?[\d,]+k?$", r"\1", text) for text in texts]
        starts = starts if len(set(starts)) == len(starts) else texts
        steps = (1, 2) if starts != texts and all(text[0].isdigit() for text in starts) else (1,)
        shown = [(1, texts), *((step, starts) for step in steps)]
        trials = [(step, names, {"labelsize": size}) for step, names in shown for size in TICK_SIZES]
        trials.append((1, labels, {"labelrotation": 90.0, "labelsize": TICK_SIZES[0]}))
    last = {"labelsize": TICK_SIZES[-1]} if has_names else {}
    trials += [(step, labels, last) for step in range(1, len(places) + 1)]
    for step, names, look in trials:
        axis.set_major_locator(FixedLocator(places[::step]))
        axis.set_major_formatter(FixedFormatter(names[::step]))
        axis.set_tick_params(**look)
        if is_done(step):
            break
    if names is starts != texts:
        axis.label.set_text(f"{axis.label.get_text()} (start of bin)")
