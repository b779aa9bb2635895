"""SVG and matplotlib draw the same numbers: bars, lines, marks filled or open, areas, orders, axes and legends."""

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import kgeval
from kgeval import Dataset
from kgeval.display.html_tables import short
from kgeval.metrics.retrieval.inputs import from_ranking
from kgeval.report import plots
from kgeval.report.colours import COLOURS
from kgeval.report.figure import Dots
from kgeval.report.figure_matplotlib import draw
from kgeval.report.figure_svg import LABEL, svg

NAN = float("nan")
VALUES = pd.DataFrame(np.random.default_rng(1).normal(size=(9, 5)) + np.linspace(2, 0, 5)).rename(columns="M{}".format)


def models(n):
    """Models with ties, the best first."""
    rng = np.random.default_rng(7)
    ids = rng.permutation(np.array([(s, p, o) for s in range(12) for p in range(3) for o in range(12)]))
    dataset = Dataset.from_arrays(train=ids[:40], test=ids[40:80], n_entities=12, n_relations=3)
    scores = [rng.integers(0, 3 + i, (12, 3, 12)).astype(float) for i in range(n)]
    return {
        f"m{i}": kgeval.evaluate(lambda s, p, o, found=found: found[s, p, o], dataset, progress=False)
        for i, found in enumerate(scores)
    }


FOUR, MANY, TWELVE = models(4), models(9), models(12)
FIGURES = {
    "rank_distribution": lambda: plots.rank_distribution(FOUR),
    "rank_distribution of nine": lambda: plots.rank_distribution(MANY),
    "hits_curve": lambda: plots.hits_curve(MANY, limit=12),
    "hits_curve of twelve": lambda: plots.hits_curve(TWELVE, limit=12),
    "relation_comparison": lambda: plots.relation_comparison(FOUR),
    "degree_curve": lambda: plots.degree_curve(FOUR, column="side"),
    "difference_plot": lambda: plots.difference_plot(kgeval.compare(FOUR, metrics="mrr,mr")),
    "precision_recall": lambda: plots.precision_recall(from_ranking([[1, 0, 1], [0, 1, 0]])),
    "roc": lambda: plots.roc(from_ranking([[1, 0, 1], [0, 1, 0]])),
}


def numbers(text):
    return [float(number) for number in re.findall(r"-?[0-9.]+", text)]


def pairs(text):
    return np.array(numbers(text)).reshape(-1, 2)


def kinds(element):
    return (element.get("class") or "").split()


def model_of(element):
    """The place of the model whose colour an element has; None: grey."""
    found = [kind for kind in kinds(element) if re.fullmatch(r"m\d+", kind)]
    return int(found[0][1:]) if found else None


def shares_of_svg(panel, group, last):
    """What a panel of an SVG holds, in shares of its width and height, which two ticks of each axis give.

    Panels that share an axis have its ticks in the last one; an axis with one tick has its bars from 0 on.
    """

    def scale(ticks, pixels):
        places = [axis.share(value) for axis, value in ticks]
        slope = (pixels[-1] - pixels[0]) / (places[-1] - places[0])
        return lambda pixel: (pixel - pixels[0]) / slope + places[0]

    def ticks_in(found):
        return [element for element in found.iter("text") if "tick" in kinds(element)]

    y_places = [(panel.y, value) for value, _ in panel.y.ticks]
    y_pixels = [float(text.get("y")) - 4 for text in ticks_in(group)[: len(y_places)]]
    if len(y_places) == 1:
        first = group.find("rect")
        y_places, y_pixels = (
            [*y_places, (panel.y, 0.0)],
            [*y_pixels, float(first.get("y")) + float(first.get("height"))],
        )
    to_y = scale(y_places, y_pixels)
    if panel.has_frame:
        panel, group_of_x = (panel, group) if panel.x.ticks else last
        x_texts = ticks_in(group_of_x)[len(panel.y.ticks) + len(panel.right) :]
        upright = x_texts[0].get("transform") is not None
        pixels = [numbers(text.get("transform"))[0] - 4 if upright else float(text.get("x")) for text in x_texts]
        lines = 1 if upright else max(text.count("\n") + 1 for _, text in panel.x.ticks)
        to_x = scale([(panel.x, value) for value, _ in panel.x.ticks], pixels[::lines])
    else:  # the axis is the first line
        first = pairs(next(element for element in group.iter("path") if "line" in kinds(element)).get("d"))
        to_x = scale([(panel.x, panel.x.low), (panel.x, panel.x.high)], [first[0][0], first[1][0]])

    def place(points):
        return [(to_x(x), to_y(y)) for x, y in points]

    found = {"lines": [], "dots": [], "bars": [], "areas": [], "texts": []}
    colours = {id(child): model_of(parent) for parent in group.iter("g") for child in parent}
    for element in group.iter():
        kind = kinds(element)
        if "line" in kind:
            found["lines"].append((model_of(element), place(pairs(element.get("d")))))
        elif "sign" in kind:
            x, y, _ = numbers(element.get("transform"))
            found["dots"].append((colours[id(element)], "open" not in kind, *place([(x, y)])))
        elif kind and kind[0].endswith("-bar"):
            x, y, width, height = (float(element.get(name)) for name in ("x", "y", "width", "height"))
            found["bars"].append((model_of(element), place([(x, y + height), (x + width, y)])))
        elif "band" in kind:
            corners = place(pairs(element.get("d")))  # matplotlib closes a polygon once
            found["areas"].append((model_of(element), corners[: -1 if corners[0] == corners[-1] else None]))
        elif {"name", "value"} & {*kind}:
            found["texts"].append(element.text)
    return found


def shares_of_matplotlib(axes):
    """What axes of matplotlib hold, in shares of their width and height."""
    from matplotlib.colors import to_hex
    from matplotlib.patches import Rectangle

    to_shares = axes.transData + axes.transAxes.inverted()

    def place(points):
        points = np.array(points, dtype=float).reshape(-1, 2)
        return [tuple(point) for point in to_shares.transform(points[~np.isnan(points).any(axis=1)]).tolist()]

    def model(colour):
        return COLOURS.index(to_hex(colour)) if to_hex(colour) in COLOURS else None

    found = {"lines": [], "dots": [], "bars": [], "areas": [], "texts": [text.get_text() for text in axes.texts]}
    for line in axes.lines:
        points = line.get_xydata()
        found["lines"].append((model(line.get_color()), place(points)))
        marked = line.get_markevery() or []
        found["dots"] += [(model(line.get_color()), True, *place([points[i]])) for i in marked]
    for dots in axes.collections:
        offsets, filled = dots.get_offsets().filled(NAN), [to_hex(face) != "#ffffff" for face in dots.get_facecolors()]
        filled = filled if len(filled) == len(offsets) else filled * len(offsets)
        (edge,) = {to_hex(edge) for edge in dots.get_edgecolors()}
        for offset, is_filled in zip(offsets, filled):
            found["dots"] += [(model(edge), is_filled, at) for at in place([offset])]
    for patch in axes.patches:
        face = patch.get_facecolor() if to_hex(patch.get_facecolor()) != "#ffffff" else patch.get_edgecolor()
        if isinstance(patch, Rectangle):
            (x, y), width, height = patch.get_xy(), patch.get_width(), patch.get_height()
            corners = place([(x, y), (x + width, y + height)])
            found["bars"].append((model(face), [tuple(map(min, zip(*corners))), tuple(map(max, zip(*corners)))]))
        else:
            found["areas"].append((model(face), place(patch.get_xy()[:-1])))
    return found


@pytest.fixture
def value_of(monkeypatch):
    """Returns the figure that a plot draws, as a value."""
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    found = []
    monkeypatch.setattr(plots, "draw", lambda figure, *look: found.append(figure))
    return lambda plot: (plot(), found.pop())[1]


@pytest.mark.parametrize("name", FIGURES)
def test_both_media_draw_the_same(value_of, name):
    """In each panel: lines, marks, bars and areas of the same models at the same places, in the same order."""
    figure = value_of(FIGURES[name])
    root, drawn = ElementTree.fromstring(svg(figure)), draw(figure, "screen", None, None)
    drawn.draw_without_rendering()
    groups = [group for group in root.findall("g") if not group.get("class")]
    assert len(groups) == len(drawn.axes) == len(figure.panels)
    n_marks = 0
    for panel, group, axes in zip(figure.panels, groups, drawn.axes):
        one = shares_of_svg(panel, group, (figure.panels[-1], groups[-1]))
        other = shares_of_matplotlib(axes)
        for kind in ("lines", "bars", "areas"):
            kept = [[(model, points) for model, points in found[kind] if points] for found in (one, other)]
            assert [model for model, _ in kept[0]] == [model for model, _ in kept[1]]
            for (_, points), (_, same) in zip(*kept):
                assert np.array(points) == pytest.approx(np.array(same), abs=3e-3)  # a tenth of a pixel
            n_marks += len(kept[0])
        dots = [
            sorted((model, is_filled, *np.round(at, 2)) for model, is_filled, at in found["dots"])
            for found in (one, other)
        ]
        assert [dot[:2] for dot in dots[0]] == [dot[:2] for dot in dots[1]]
        assert np.array(dots[0], dtype=float) == pytest.approx(np.array(dots[1], dtype=float), abs=0.011)
        n_marks += len(dots[0])
        items = [item for mark in panel.marks if not isinstance(mark, Dots) for item in getattr(mark, "items", ())]
        assert {text for *_, text in items} <= {*other["texts"]}
        assert {line for *_, text in items for line in text.split("\n")} <= {*one["texts"]}
        titles = [text.text for text in group.iter("text") if not text.get("class")]
        assert titles == [title for title in (axes.get_xlabel(), axes.get_ylabel()) if title]
    assert n_marks > 0
    shown = [(text.get_window_extent(), text) for found in drawn.legends for text in found.get_texts()]
    in_rows = [text.get_text() for box, text in sorted(shown, key=lambda pair: (-round(pair[0].y0), pair[0].x0))]
    assert [text.text for text in root.findall("text")] == [short(text, LABEL) for text in in_rows]
    assert root.findtext("title") == figure.title.replace("\n", ": ")
    assert root.get("role") == "img"
    assert "<script" not in svg(figure)


@pytest.mark.parametrize("name", FIGURES)
def test_the_value_says_what_is_decided(value_of, name):
    """A mark is open only in the figures of differences."""
    marks = [mark for panel in value_of(FIGURES[name]).panels for mark in panel.marks if isinstance(mark, Dots)]
    assert all(len(mark.points) == len(mark.filled) for mark in marks)
    has_open = any(not all(mark.filled) for mark in marks)
    assert has_open == (name == "difference_plot")


@pytest.mark.parametrize(("n", "step"), [(20, 16), (60, 26)])
def test_labels_of_svg_are_escaped_and_do_not_overlap(value_of, n, step):
    """Labels of many rows: each in its place, inside the drawing, beside its mark; a long one has two lines."""
    names = ["<b>" + "w" * n, *(f"model {i}" for i in range(14))]
    frame = pd.DataFrame({"difference": np.linspace(-1, 1, 15), "low": -2.0, "high": 2.0}, index=names)
    drawing = svg(value_of(lambda: plots.difference_plot(frame)))
    assert "<b>" not in drawing
    root = ElementTree.fromstring(drawing)
    _, _, width, height = numbers(root.get("viewBox"))
    labels = [text for text in root.iter("text") if (text.text or "").startswith(("<b>", "…", "model"))]
    assert [text.get("text-anchor") for text in labels] == ["end"] * 15
    places = [float(text.get("y")) for text in labels]
    assert min(b - a for a, b in zip(places, places[1:])) > step
    assert all(
        0 < float(text.get("x") or 1) < width and 0 <= float(text.get("y") or 1) < height for text in root.iter("text")
    )


@pytest.mark.parametrize("plot", [plots.hits_curve, plots.rank_distribution])
def test_every_model_is_named_in_svg(value_of, plot):
    """Twelve long names that differ in the middle stay different, inside the drawing; no two are at one place."""
    names = [f"a model with a long name, number {i}, of an experiment" for i in range(12)]
    root = ElementTree.fromstring(svg(value_of(lambda: plot(dict(zip(names, TWELVE.values()))))))
    _, _, width, height = numbers(root.get("viewBox"))
    named = [text for text in root.iter("text") if "…" in (text.text or "")]
    assert len({text.text for text in named}) == 12
    places = sorted(float(text.get("y")) for text in named)
    assert min(two - one for one, two in zip(places, places[1:])) > 11
    assert 0 < places[0] < places[-1] < height
    assert all(0 < float(text.get("x")) < width for text in named)
