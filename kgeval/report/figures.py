"""Parts that all plots share: empty figures, colours and dashes, labels as plain text, legends, files.

`kgeval.report.plots` and `kgeval.report.curve_plots` call these functions. Lines of different models have different
colours and dashes, so that they also differ in a grey print.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgeval.errors import DataError, MissingExtra
from kgeval.files import check_target, replacing
from kgeval.markup import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

# Okabe & Ito (2008), Color Universal Design, https://jfly.uni-koeln.de/color/, without the yellow (too faint on white).
PALETTE = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "bluish green": "#009E73",
    "reddish purple": "#CC79A7",
    "orange": "#E69F00",
    "sky blue": "#56B4E9",
    "black": "#000000",
}
GREY = "#767676"
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
MARKERS = "os^DvP"
MAX_CHARACTERS = 40
PICTURE_SUFFIXES = (".png", ".svg", ".pdf")


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure that is not registered in ``pyplot``.

    Parameters
    ----------
    width, height : float
        In inches.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra('pictures need matplotlib; pip install "kgeval[report]"') from error
    return Figure(figsize=(width, height), layout="constrained")


def line_style(i: int) -> dict[str, Any]:
    """Return colour, dashes and marker of a model, as arguments of matplotlib's ``plot``.

    Parameters
    ----------
    i : int
        The index of the model, from 0. The first 35 models differ in colour or dashes.
    """
    colours = list(PALETTE.values())
    return {
        "color": colours[i % len(colours)],
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


def as_text(*texts: Text) -> None:
    """Make matplotlib draw these texts literally; a dollar sign never starts a formula, whatever the settings are."""
    for text in texts:
        text.set_parse_math(False)
        text.set_usetex(False)


def set_labels(axes: Axes, title: str, x: str, y: str) -> None:
    """Set the title and the labels of the axes.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    title, x, y : str
        Drawn literally.
    """
    as_text(axes.set_title(title, fontsize="medium", loc="left"), axes.set_xlabel(x), axes.set_ylabel(y))


def set_ticks(axes: Axes, labels: Sequence[str], along: str) -> None:
    """Put labels at the positions 0, 1, ... of an axis; long labels along x are slanted.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    labels : sequence of str
        As returned by `shorten`.
    along : str
        ``"x"`` or ``"y"``.
    """
    axis = axes.xaxis if along == "x" else axes.yaxis
    slant: dict[str, Any] = {"rotation": 30, "ha": "right"} if along == "x" and max(map(len, labels)) > 12 else {}
    axis.set_ticks(range(len(labels)), labels=list(labels), parse_math=False, usetex=False, **slant)


def add_legend(axes: Axes, handles: Sequence[Any], labels: Sequence[str], **where: Any) -> None:
    """Add a legend that shows labels literally, even labels that begin with an underscore or look like formulas.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    handles : sequence of artists
    labels : sequence of str
        One label per handle.
    **where
        Further arguments of ``axes.legend``.
    """
    legend = axes.legend(list(handles), [str(i) for i in range(len(labels))], **where)
    for text, label in zip(legend.get_texts(), labels):
        as_text(text)
        text.set_text(shorten(label))


def save_figure(figure: Figure, path: str | Path, overwrite: bool = False) -> None:
    """Write a figure to ``.png``, ``.svg`` or ``.pdf``; the file is written completely or not at all.

    The file contains no date and no random names, so the same figure gives the same bytes as long as the version of
    matplotlib is the same.

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
    with matplotlib.rc_context({"svg.hashsalt": "kgeval"}):
        figure.savefig(stream, format=suffix[1:], dpi=150, metadata=dated.get(suffix))
    with replacing(target, overwrite) as file:
        file.write(stream.getvalue())
