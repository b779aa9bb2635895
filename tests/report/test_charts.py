"""The drawings of the report page: where marks stand, which half is better, which names are left out."""

import re
from xml.etree import ElementTree

import pytest

from kgeval.display.html import interval_bar
from kgeval.report import charts


def numbers(path):
    return [float(number) for number in re.findall(r"-?[0-9.]+", path)]


def marks(drawing):
    """Centres of the circles of a chart, and what hovering over them says."""
    root = ElementTree.fromstring(drawing)
    return [
        (float(circle.get("cx")), float(circle.get("cy")), circle.findtext("title")) for circle in root.iter("circle")
    ]


def test_an_interval_bar_is_drawn_to_scale():
    """Between 0.2 and 0.6: the value 0.3 at a quarter, its interval from 0.25 to 0.5, chance outside."""
    root = ElementTree.fromstring(interval_bar(0.3, 0.25, 0.5, (0.2, 0.6), chance=0.1, ends=(0.2, 0.6)))
    starts = [numbers(path.get("d"))[:3:2] for path in root.iter("path")]
    assert starts[1] == [0, 1000]  # pessimistic to optimistic ties
    assert starts[-2] == [125, 750]
    assert starts[-1] == [250, 250.1]
    assert len(starts) == 6
    inside = interval_bar(0.3, 0.25, 0.5, (0.0, 1.0), chance=0.1)
    assert "M100 2L100 18" in inside
    assert interval_bar(float("nan"), float("nan"), float("nan"), (0.0, 1.0)).count("<path") == 1


def test_a_scatter_has_equal_axes_and_the_right_half_is_better():
    """A point with equal values lies on the diagonal; for MR the better half is below it."""
    points = [(0.2, 0.2, 1.0, "same"), (0.1, 0.5, 0.1, "above"), (0.5, 0.3, 0.1, "below")]
    for higher, values in ((True, points), (False, [(x * 100, y * 100, n, name) for x, y, n, name in points])):
        drawing = charts.scatter(
            values, ("across", "up"), is_log=not higher, higher_is_better=higher, outliers=[], label="relations"
        )
        found = {name: (x, y) for x, y, name in marks(drawing)}
        left, right = charts.LEFT, charts.LEFT + charts.SIDE
        top, bottom = charts.TOP, charts.TOP + charts.SIDE
        on_diagonal = {name: (x - left) - (bottom - y) for name, (x, y) in found.items()}
        assert on_diagonal["same"] == pytest.approx(0, abs=0.2)
        assert on_diagonal["above"] < -10 < 10 < on_diagonal["below"]
        corners = numbers(next(p for p in re.findall(r'<path d="([^"]*)" class="better"', drawing)))
        assert corners[2:4] == ([left, top] if higher else [right, bottom])
        assert all(left <= x <= right and top <= y <= bottom for x, y in found.values())


def test_names_of_outliers_do_not_overlap():
    """Ten points at one place: one name; two points apart: both."""
    same = [(0.5, 0.5, 1.0, f"relation {i}: x") for i in range(10)]
    apart = [(0.1, 0.9, 1.0, "one: x"), (0.9, 0.1, 1.0, "two: x")]
    for points, n in ((same, 2), (apart, 2)):
        drawing = charts.scatter(
            points, ("a", "b"), is_log=False, higher_is_better=True, outliers=list(range(len(points))), label="r"
        )
        names = re.findall(r'class="name">([^<]*)<', drawing)
        assert 1 <= len(names) <= n
    assert names == ["one", "two"]


def test_bars_are_to_scale():
    """A quarter of the limit fills a quarter of the width; the tied part is at its end."""
    rects = ElementTree.fromstring(charts.share_bar(0.1, 0.05, 0.4, 0)).findall("rect")
    assert [float(rect.get("width")) for rect in rects] == [40, 20]
    assert float(rects[1].get("x")) == 20
    bar = ElementTree.fromstring(charts.contribution_bar(-0.5, (-1.0, 1.0), 1)).find("g/rect")
    assert (float(bar.get("x")), float(bar.get("width"))) == (250, 250)
    assert len(ElementTree.fromstring(charts.share_bar(0.1, 0.0, 0.4, 2)).findall("rect")) == 2  # with its pattern


def test_curves_have_bands_and_gaps():
    """A value that is not known interrupts the curve."""
    line = {"model": 1, "name": "m", "values": [0.1, None, 0.5], "low": [0.05, None, 0.4], "high": [0.2, None, 0.6]}
    drawing = charts.curves([line], [1, 10, 100], "k", "hits@k", "curves")
    path = re.search(r'<path d="([^"]*)" class="curve m1" stroke-dasharray', drawing)[1]
    assert path.count("M") == 2
    first, last = numbers(path)[:2], numbers(path)[2:]
    assert first[0] == charts.LEFT
    assert first[1] - last[1] == pytest.approx(0.4 * 250, abs=0.2)
    assert 'class="band m1"' in drawing


def test_each_run_has_a_line_and_the_mean_a_dot():
    """Between 0.2 and 0.6: runs at a quarter and at three quarters, their mean in the middle; NaN is not drawn."""
    root = ElementTree.fromstring(charts.runs_bar([0.3, float("nan"), 0.5], 0.4, (0.2, 0.6), 1))
    starts = [numbers(path.get("d"))[:3:2] for path in root.iter("path")]
    assert starts == [[0, 1000], [250, 250], [750, 750], [500, 500.1]]
    assert root.get("class") == "track m1"


def test_the_rank_diagram_is_drawn_to_scale():
    """Three models: the axis from rank 1 at 190 to rank 3 at 490, 150 for each rank; the best at the left, top row."""
    models = [("A", 1.0), ("B", 2.5), ("C", 2.5)]
    root = ElementTree.fromstring(charts.rank_diagram(models, [(1, 2)], 1.2, "ranks"))
    paths = [(path.get("class"), numbers(path.get("d"))) for path in root.iter("path")]
    assert next(path[:1] + path[2:3] for kind, path in paths if kind == "zero") == [190, 490]
    difference, joined = [path for kind, path in paths if kind == "alike"]
    assert difference[::2] == [190, 190 + 1.2 * 150]
    assert joined[::2] == [190 + 1.5 * 150 - 4, 190 + 1.5 * 150 + 4]
    texts = {text.text: float(text.get("y")) for text in root.iter("text")}
    assert texts["A: 1.00"] < texts["B: 2.50"]
    assert texts["C: 2.50"] == texts["A: 1.00"]
    without = charts.rank_diagram(models, [], None, "ranks")
    assert "critical" not in without
    assert "alike" not in without


def test_the_rank_diagram_holds_many_models():
    """Each name once, inside the drawing, no two on one place."""
    models = [(f"model {i}", 1 + i * 9 / 10) for i in range(11)]
    root = ElementTree.fromstring(charts.rank_diagram(models, [(0, 4), (3, 9)], 2.0, "ranks"))
    _, _, width, height = numbers(root.get("viewBox"))
    names = [text for text in root.iter("text") if (text.text or "").startswith("model")]
    assert len(names) == 11
    places = {(text.get("text-anchor"), text.get("y")) for text in names}
    assert len(places) == 11
    assert all(0 < float(text.get("x")) < width and 0 < float(text.get("y")) < height for text in names)
