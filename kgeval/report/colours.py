"""The eight colours of models, for plots and for the report page: a list for a light ground and one for a dark ground.

The colours of each list were searched by computer so that every two of them differ for readers with normal vision and
for readers with deuteranopia or protanopia; `tests/report/test_plots.py` measures the distances. Colour i has a similar
hue in both lists. Each colour has a contrast of at least 3 to its ground, which is white or ``#1f242a``.
"""

COLOURS: tuple[str, ...] = (
    "#0072b2",  # blue
    "#d55e00",  # vermillion
    "#246048",  # dark green
    "#cc789c",  # pink
    "#00249c",  # navy
    "#a88454",  # tan
    "#6c0c00",  # maroon
    "#1a1c20",  # near black
)
DARK_COLOURS: tuple[str, ...] = (
    "#00c0fc",  # sky blue
    "#fcb400",  # amber
    "#00c078",  # green
    "#cc489c",  # pink
    "#546cfc",  # blue
    "#f0fc90",  # pale yellow
    "#cc5418",  # rust
    "#fcfcfc",  # near white
)
