"""ModelFile that all plots share: styles, colours and dashes, labels as plain text, legends, fonts, files.

`kgeval.report.plots`, `curve_plots` and `step_plots` draw on a `Sheet`. Lines of different models have different
colours and dashes, so that they also differ in a grey print. No function changes a setting of matplotlib.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.base.checks import check_one_of, names_unknown_arguments, warn_user
from kgeval.base.files import check_target, replacing
from kgeval.base.wording import printable
from kgeval.errors import DataError, MetricError, MissingExtra
from kgeval.report.colours import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

PALETTE = COLOURS
GREY = "#767676"
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
MARKERS = "os^DvP"
MAX_CHARACTERS = 40
MIN_TEXT = 6.0  # points
PICTURE_SUFFIXES = (".png", ".svg", ".pdf")
# For characters that the font of matplotlib lacks, in the order in which they are tried.
FALLBACK_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Source Han Sans SC", "Source Han Sans", "PingFang SC",
    "Hiragino Sans", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "WenQuanYi Zen Hei", "Droid Sans Fallback",
    "Arial Unicode MS", "Noto Sans", "Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Thai", "Nirmala UI",
)  # fmt: skip

Names = Sequence[str] | Mapping[str, str] | None


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
        Height of one row of a plot with rows, in inches.
    dpi : int
        Resolution of ``.png`` files.
    """

    width: float
    text: float
    line: float
    marker: float
    row: float
    dpi: int


STYLES = {"screen": Style(6.4, 10.0, 1.5, 5.0, 0.27, 150), "paper": Style(3.3, 8.0, 1.0, 3.5, 0.19, 300)}


@dataclass(frozen=True)
class Sheet:
    """The axes on which a plot is drawn, and their style.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    panels : sequence of matplotlib.axes.Axes
    style : Style
    is_new : bool
        Whether the figure was made for this plot; if not, its size and its other contents belong to the user.
    """

    figure: Figure
    panels: Sequence[Axes]
    style: Style
    is_new: bool

    @classmethod
    def of(
        cls, style: str, ax: Axes | None, height: float, parts: Sequence[float] = (1.0,), *, share_x: bool = False
    ) -> Sheet:
        """Return the sheet of a plot: the user's axes, or a new figure.

        Parameters
        ----------
        style : str
            One of `STYLES`.
        ax : matplotlib.axes.Axes or None
            The user's axes; None: a new figure that is not registered in ``pyplot``.
        height : float
            Height of a new figure, in inches.
        parts : sequence of float
            Relative heights of the panels of a new figure, from top to bottom; with `ax`, there is one panel.
        share_x : bool
            Whether the panels have the same x axis.

        Raises
        ------
        MetricError
            If the style is unknown, or if `ax` is not an axes of matplotlib.
        MissingExtra
            If matplotlib is not installed.
        """
        check_one_of("style", style, STYLES, MetricError)
        chosen = STYLES[style]
        try:
            from matplotlib.axes import Axes as AxesClass
            from matplotlib.figure import Figure
        except ImportError as error:
            raise MissingExtra('pictures need matplotlib; pip install "kgeval[report]"') from error
        if ax is not None and not isinstance(ax, AxesClass):
            raise MetricError(f"ax must be an axes of matplotlib, such as plt.subplots()[1]; got {type(ax).__name__}")
        if ax is not None:
            figure, panels = ax.figure.figure, [ax]  # the figure itself, also if it has subfigures
        else:
            figure = Figure(figsize=(chosen.width, height), dpi=chosen.dpi, layout="constrained")
            drawn = figure.subplots(len(parts), 1, squeeze=False, height_ratios=list(parts), sharex=share_x)
            panels = list(drawn[:, 0])
        for axes in panels:
            axes.tick_params(labelsize=chosen.text, width=0.6, length=3)
            for spine in axes.spines.values():
                spine.set_linewidth(0.6)
        return cls(figure, panels, chosen, ax is None)

    @property
    def axes(self) -> Axes:
        """The first panel."""
        return self.panels[0]

    def line_style(self, i: int) -> dict[str, Any]:
        """Return colour, dashes, marker and sizes of a model, as arguments of matplotlib's ``plot``.

        Parameters
        ----------
        i : int
            The index of the model, from 0.
        """
        return {**line_style(i), "linewidth": self.style.line, "markersize": self.style.marker}

    def set_labels(self, title: str, x: str, y: str, panel: int = 0) -> None:
        """Set the title and the labels of a panel.

        Parameters
        ----------
        title, x, y : str
            Drawn literally. An empty title is left out.
        panel : int
            The number of the panel, from 0.
        """
        axes, size = self.panels[panel], self.style.text
        texts = [axes.set_xlabel(x, fontsize=size), axes.set_ylabel(y, fontsize=size)]
        if title:
            heading = axes.set_title(title, fontsize=size, loc="left")
            texts.append(heading)
            if self.is_new:
                # The title starts at the left edge of the figure, not of the axes: long labels leave room for it.
                from matplotlib.transforms import blended_transform_factory

                heading.set_transform(blended_transform_factory(self.figure.transFigure, heading.get_transform()))
                heading.set_position((4.0 / 72.0 / self.style.width, 1.0))
                self._wrap(heading)
        as_text(*texts)

    def add_legend(self, handles: Sequence[Any], labels: Sequence[str]) -> None:
        """Add a legend that shows labels literally: below the axes of a new figure, inside the user's axes.

        Parameters
        ----------
        handles : sequence of artists
        labels : sequence of str
            One label per handle; control characters are escaped, and long labels shortened.
        """
        # Matplotlib leaves out labels that begin with an underscore, so the texts are set afterwards.
        numbers = [str(i) for i in range(len(labels))]
        look: dict[str, Any] = {"fontsize": self.style.text, "frameon": False, "handlelength": 2.2, "borderpad": 0.2}
        look |= {"columnspacing": 1.2, "borderaxespad": 0.2}
        if not self.is_new:
            _set_texts(self.axes.legend(list(handles), numbers, loc="best", **look), labels, MAX_CHARACTERS)
            return
        # As many columns as fit; if one column does not fit, shorter labels.
        columns = list(range(min(len(labels), 4), 0, -1))
        for n_columns, limit in [*((n, MAX_CHARACTERS) for n in columns), *((1, limit) for limit in (28, 20, 14))]:
            legend = self.figure.legend(list(handles), numbers, loc="outside lower left", ncols=n_columns, **look)
            _set_texts(legend, labels, limit)
            if limit == 14 or legend.get_window_extent().width <= 0.96 * self.figure.bbox.width:
                return
            legend.remove()

    def finish(self) -> Figure:
        """Make all texts readable and return the figure: fonts, tick labels that do not overlap, labels inside."""
        choose_fonts(self.figure if self.is_new else self.axes)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing")  # `choose_fonts` has warned
            self.figure.draw_without_rendering()
            for axes in self.panels:
                for along in ("x", "y"):
                    _separate_ticks(self.figure, axes, along, self.is_new)
                label = axes.xaxis.label
                if label.get_window_extent().x1 > self.figure.bbox.width:
                    label.set(horizontalalignment="right", x=1.0)
        return self.figure

    def _wrap(self, heading: Text) -> None:
        """Break the lines of a title so that it is not wider than the figure."""
        as_text(heading)
        choose_fonts(heading)
        lines = heading.get_text().split("\n")
        for width in range(max(map(len, lines)), 11, -1):
            heading.set_text("\n".join(part for line in lines for part in textwrap.wrap(line, width) or [""]))
            if heading.get_window_extent().width <= 0.97 * self.figure.bbox.width:
                return


def line_style(i: int) -> dict[str, Any]:
    """Return colour, dashes and marker of a model, as arguments of matplotlib's ``plot``.

    Parameters
    ----------
    i : int
        The index of the model, from 0. The first 40 models differ in colour or dashes.
    """
    return {
        "color": PALETTE[i % len(PALETTE)],
        "linestyle": LINES[i % len(LINES)],
        "marker": MARKERS[i % len(MARKERS)],
    }


def shorten(label: str, limit: int = MAX_CHARACTERS) -> str:
    """Return a label to draw: control characters are escaped, and the middle of a long label becomes "…".

    Parameters
    ----------
    label : str
    limit : int
        The largest number of characters to return.

    Examples
    --------
    >>> shorten("/people/person/nationality", 11)
    '/peop…ality'
    """
    text = printable(label)
    n_kept = limit - 1
    return text if len(text) <= limit else text[: n_kept // 2] + "…" + text[len(text) - (n_kept + 1) // 2 :]


def split_names(names: Names) -> tuple[Sequence[str] | None, dict[str, str]]:
    """Return the names of the models, and the names to show in place of labels, from the argument `names` of a plot.

    Parameters
    ----------
    names : sequence of str, or mapping of str to str, optional
        A sequence names the models; a mapping gives the names to show for models, relations, entities or groups.

    Returns
    -------
    model_names : sequence of str or None
    shown_names : dict of str to str

    Examples
    --------
    >>> split_names(["a", "b"]), split_names({"/m/0": "Ada"})
    ((['a', 'b'], {}), (None, {'/m/0': 'Ada'}))
    """
    if isinstance(names, Mapping):
        return None, {str(label): str(name) for label, name in names.items()}
    return names, {}


def as_text(*texts: Text) -> None:
    """Make matplotlib draw these texts literally; a dollar sign never starts a formula, whatever the settings are."""
    for text in texts:
        text.set_parse_math(False)
        text.set_usetex(False)


def set_ticks(axes: Axes, labels: Sequence[str], along: str) -> None:
    """Put labels at the positions 0, 1, ... of an axis.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    labels : sequence of str
        As returned by `shorten`.
    along : str
        ``"x"`` or ``"y"``.
    """
    from matplotlib.ticker import FixedFormatter, FixedLocator

    axis = axes.xaxis if along == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(range(len(labels))))
    axis.set_major_formatter(FixedFormatter(list(labels)))
    for tick, label in zip(axis.get_major_ticks(), labels):
        as_text(tick.label1, tick.label2)
        tick.label1.set_text(label)  # `choose_fonts` reads it before the figure is drawn


def set_log_ticks(axes: Axes, low: float, high: float) -> None:
    """Make the x axis logarithmic, with ticks at 1, 3, 10, 30, 100, ... from `low` to `high` (both at least 1)."""
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.set_xscale("log")
    ticks = [step * 10**power for power in range(16) for step in (1, 3) if low <= step * 10**power <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:,.0f}")


def choose_fonts(artist: Any) -> None:
    """Add a further font to texts whose font lacks some of their characters; warn if no installed font has them.

    The further font is the first of `FALLBACK_FONTS` that is installed and has all lacking characters of a text.

    Parameters
    ----------
    artist : matplotlib.artist.Artist
        All texts in it are looked at.
    """
    from matplotlib.text import Text

    lacking: set[str] = set()
    for text in artist.findobj(Text):
        families = text.get_fontfamily()
        missing = missing_characters(text.get_text(), families)
        if not missing:
            continue
        further = next((font for font in FALLBACK_FONTS if not missing_characters("".join(missing), [font])), None)
        if further is None:
            lacking |= missing
        else:
            text.set_fontfamily([*families, further])
    if lacking:
        shown = " ".join(f"{c} (U+{ord(c):04X})" for c in sorted(lacking)[:8])
        more = f" and {len(lacking) - 8} more" if len(lacking) > 8 else ""
        warn_user(
            f"no installed font can draw {shown}{more}, so the picture shows boxes; install a font that has them, such "
            "as Noto Sans CJK, or pass names= with other labels"
        )


def missing_characters(text: str, families: Iterable[str]) -> set[str]:
    """Return the characters of a text that none of the fonts has; all of them if no font is installed.

    Parameters
    ----------
    text : str
    families : iterable of str
        Names of fonts or families, such as ``"sans-serif"``.
    """
    characters = {c for c in text if not c.isspace()}
    for family in families:
        if not characters:
            break
        characters = {c for c in characters if ord(c) not in _codes_of(family)}
    return characters


@cache
def _codes_of(family: str) -> frozenset[int]:
    """Return the code points that a font has; none if it is not installed."""
    from matplotlib import font_manager

    try:
        found = font_manager.findfont(font_manager.FontProperties(family=[family]), fallback_to_default=False)
    except ValueError:
        return frozenset()
    return frozenset(font_manager.get_font(found).get_charmap())


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
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in PICTURE_SUFFIXES:
        endings = ", ".join(PICTURE_SUFFIXES)
        raise DataError(f"{target}: expected a name that ends in {endings}; got {suffix or 'no ending'!r}")
    check_target(target, overwrite)
    import matplotlib

    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "kgeval", "pdf.fonttype": 42, "svg.fonttype": "none"}):
        figure.savefig(stream, format=suffix[1:], dpi=max(150, figure.dpi), metadata=dated.get(suffix))
    with replacing(target, overwrite) as file:
        file.write(stream.getvalue())


def _set_texts(legend: Any, labels: Sequence[str], limit: int) -> None:
    """Set the texts of a legend, each shortened to `limit` characters."""
    for text, label in zip(legend.get_texts(), labels):
        as_text(text)
        text.set_text(shorten(label, limit))
    choose_fonts(legend)


def overlapping(texts: Sequence[Text]) -> bool:
    """Return whether two of the texts overlap, each seen as the rectangle around it.

    Parameters
    ----------
    texts : sequence of matplotlib.text.Text
        Of a figure that has been drawn.
    """
    boxes = np.array([text.get_window_extent().extents for text in texts]).reshape(-1, 4)
    low, high = boxes[:, :2], boxes[:, 2:]
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
    return [tick.label1 for tick in ticks if tick.label1.get_visible() and tick.label1.get_text()]


def _separate_ticks(figure: Figure, axes: Axes, along: str, may_grow: bool) -> None:
    """Change tick labels until no two overlap: upright, then smaller, then only every second, third, ... of them.

    If `may_grow` is True, the figure becomes higher by the height that upright labels need.
    """
    from matplotlib.ticker import FixedFormatter, FixedLocator

    def is_done() -> bool:
        figure.draw_without_rendering()
        return not overlapping(tick_texts(axes, along))

    if not overlapping(tick_texts(axes, along)):
        return
    axis = axes.xaxis if along == "x" else axes.yaxis
    places, is_named = axis.get_majorticklocs(), isinstance(axis.get_major_formatter(), FixedFormatter)
    labels = [text.get_text().replace("\n", " ") for text in axis.get_ticklabels()]
    if is_named:
        if along == "x":
            before = _highest(axes)
            axis.set_major_formatter(FixedFormatter(labels))
            axis.set_tick_params(labelrotation=90)
            for text, label in zip(axis.get_ticklabels(), labels):
                text.set_text(label)
            if may_grow:
                figure.set_figheight(figure.get_figheight() + _highest(axes) - before)
            if is_done():
                return
        axis.set_tick_params(labelsize=MIN_TEXT)
    for step in range(1, len(places) + 1):
        axis.set_major_locator(FixedLocator(places[::step]))
        if is_named:
            axis.set_major_formatter(FixedFormatter(labels[::step]))
        if is_done():
            return


def _highest(axes: Axes) -> float:
    """Return the height of the highest tick label along x, in inches."""
    return float(max(text.get_window_extent().height for text in tick_texts(axes, "x")) / axes.figure.dpi)
