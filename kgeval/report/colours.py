"""What tells fifteen models apart: a colour, a dash, a pattern and a marker each.

The colours are for a light ground; the style sheet of the pages has those for a dark one. Both lists were searched by
computer so that every two colours differ for readers with normal vision and for readers with deuteranopia or
protanopia, the first eight most; `tests/report/test_plots.py` measures the distances. Each has a contrast of at least 3
to its ground, which is white or ``#1f242a``. Dashes, patterns and markers have other periods than colours, so that two
models differ in more than the colour.
"""

from __future__ import annotations

COLOURS: tuple[str, ...] = (  # blue, vermillion, dark green, pink, navy, tan, maroon, near black, then seven others
    "#0072b2", "#d55e00", "#246048", "#cc789c", "#00249c", "#a88454", "#6c0c00", "#1a1c20",
    "#0000fc", "#18003c", "#b448fc", "#840c78", "#f000cc", "#000cc0", "#844800",
)  # fmt: skip
# Lengths of strokes and gaps, in widths of the line.
DASHES = ((), (3.5, 2), (1, 1.5), (4.5, 1.5, 1, 1.5), (6, 2), (2, 1), (0.5, 2), (3, 1, 0.5, 1, 0.5, 1))
HATCHES = ("", "////", "---", "\\\\\\\\", "|||", "+++", "xxx", "...")  # of matplotlib; those of SVG are alike
# The code of matplotlib, and an outline of radius 1 in SVG.
MARKERS = (
    ("o", "M-1 0A1 1 0 1 1 1 0A1 1 0 1 1-1 0z"),
    ("s", "M-.9-.9H.9V.9H-.9z"),
    ("^", "M0-1.2L1.1.8H-1.1z"),
    ("D", "M0-1.3L1.2 0L0 1.3L-1.2 0z"),
    ("v", "M0 1.2L1.1-.8H-1.1z"),
    ("P", "M-.4-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4z"),
    ("X", "M-.5-1.1L0-.5L.5-1.1L1.1-.5L.5 0L1.1.5L.5 1.1L0 .5L-.5 1.1L-1.1.5L-.5 0L-1.1-.5z"),
)
