"""The drawings of the report page: where bars, marks and curves stand."""

import re
from xml.etree import ElementTree

import pandas as pd
import pytest

from kgeval.display.html import interval_bar
from kgeval.report import charts, figures
from kgeval.report.figure_svg import svg


def drawn(make, *args, **more):
    """A figure as SVG."""
    return svg(make(*args, **more))


def numbers(path):
    return [float(number) for number in re.findall(r"-?[0-9.]+", path)]


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


def places(drawing):
    """The places of the ticks of both axes of an SVG: text -> x, text -> y."""
    ticks = [text for text in ElementTree.fromstring(drawing).iter("text") if text.get("class") == "tick"]
    across = {text.text: float(text.get("x")) for text in ticks if text.get("text-anchor") == "middle"}
    return across, {text.text: float(text.get("y")) - 4 for text in ticks if text.get("text-anchor") == "end"}


def test_bars_are_to_scale():
    """A quarter of the limit fills a quarter of a half, losses to the left of 0; nothing is a thin line."""
    for size, start, width in ((0.5, 500, 125), (2.0, 500, 500), (-2.0, 0, 500), (-0.5, 375, 125), (0.0, 500, 1)):
        bar = ElementTree.fromstring(charts.contribution_bar(size, 2.0, 1)).find("rect")
        assert (float(bar.get("x")), float(bar.get("width"))) == (start, width)


def test_contributions_have_one_axis_and_the_colour_of_the_better_model():
    """Half of the largest, rounded to 0.2, to the left; pale as undecided."""
    columns = {"contribution": [0.2, -0.1], "model": [3, 0], "decided": [True, False]}
    ends = {"n": [4, 5], "difference": [0.4, -0.2], "low_corrected": [0.1, -0.9], "high_corrected": [0.5, 0.2]}
    sums = pd.DataFrame({"contribution": [0.1], "n": [9]}, index=["all 2"])
    names, column, gaps, sizes, counts = charts.moved_columns(
        pd.DataFrame(columns | ends, index=["a", "b"]), "mrr", sums
    )
    drawn = [ElementTree.fromstring(cell.drawing()) for cell in column.cells[:2]]
    assert [[cell.text for cell in one.cells] for one in (names, gaps, sizes, counts)] == [
        ["a", "b", "all 2"], ["+0.4000", "-0.2000", ""], ["+0.20000", "-0.10000", "+0.10000"], ["4", "5", "9"],
    ]  # fmt: skip
    assert [cell.is_best for cell in gaps.cells] == [True, False, False]
    assert column.cells[2].drawing is None
    assert [root.get("class") for root in drawn] == ["track m3", "track m0 undecided"]
    bars = [root.find("rect") for root in drawn]
    assert [(float(bar.get("x")), float(bar.get("width"))) for bar in bars] == [(500, 500), (250, 250)]
    assert re.findall(r">([^<>]+)<", column.head()) == ["-0.2", "0", "+0.2"]


def test_curves_have_bands_and_gaps():
    """A value that is not known interrupts the curve."""
    hits = {
        "k": [1, 10, 100], "values": [[0.3] * 3, [0.1, None, 0.5]], "low": [[0.2] * 3, [0.05, None, 0.4]],
        "high": [[0.4] * 3, [0.2, None, 0.6]], "bounds": [None, None], "chance": None,
    }  # fmt: skip
    drawing = drawn(figures.hits_curve, ["l", "m"], hits, "curves")
    across, up = places(drawing)
    path = re.search(r'<path d="([^"]*)" class="curve line m1" stroke-dasharray', drawing)[1]
    assert path.count("M") == 2
    first, last = numbers(path)[:2], numbers(path)[2:]
    assert [first[0], last[0]] == pytest.approx([across["1"], across["100"]], abs=0.2)
    assert first[1] - last[1] == pytest.approx(0.4 * (up["0"] - up["0.4"]) / 0.4, abs=0.2)
    assert 'class="band m1"' in drawing
    bounded = {**hits, "bounds": [None, [[0.1, 0.15, 0.4], [0.2, 0.45, 0.6]]]}
    band = numbers(
        re.search(r'<path d="([^"]*)" class="band m1"', drawn(figures.hits_curve, ["l", "m"], bounded, "c"))[1]
    )
    assert len(band) == 2 * 6
    assert band[3] - band[9] == pytest.approx(0.3 * (up["0"] - up["0.4"]) / 0.4, abs=0.2)


def test_each_run_has_a_line_and_the_mean_a_dot():
    """Between 0.2 and 0.6: runs at a quarter and at three quarters, their mean in the middle; NaN is not drawn."""
    root = ElementTree.fromstring(charts.runs_bar([0.3, float("nan"), 0.5], 0.4, (0.2, 0.6), 1))
    starts = [numbers(path.get("d"))[:3:2] for path in root.iter("path")]
    assert starts == [[0, 1000], [250, 250], [750, 750], [500, 500.1]]
    assert root.get("class") == "track m1"


def test_the_rank_diagram_is_drawn_to_scale():
    """Three models, ranks 1, 2.5 and 2.5: the best at the left, top row; a bar and a ruler of their lengths."""
    models = [("A", 1.0), ("B", 2.5), ("C", 2.5)]
    root = ElementTree.fromstring(drawn(figures.rank_diagram, models, [(1, 2)], 1.2, "ranks"))
    paths = [(path.get("class"), numbers(path.get("d"))) for path in root.iter("path")]
    axis, *hangers, ruler = [path for kind, path in paths if kind.startswith("ink line")]
    left, right = axis[0], axis[2]
    each = (right - left) / 2
    assert [path[-2] for path in hangers] == pytest.approx(
        [left - 0.06 * each, left - 0.06 * each, right + 0.06 * each], abs=0.2
    )
    assert [path[0] for path in hangers] == pytest.approx([left, left + 1.5 * each, left + 1.5 * each], abs=0.2)
    assert ruler[0:4:2] == pytest.approx([left, left + 1.2 * each], abs=0.2)
    (joined,) = [path for kind, path in paths if kind == "thick line"]
    assert joined[::2] == pytest.approx([left + (1.5 - 0.024) * each, left + (1.5 + 0.024) * each], abs=0.2)
    texts = {text.text: float(text.get("y")) for text in root.iter("text")}
    assert texts["A  1.00"] < texts["B  2.50"]
    assert texts["C  2.50"] == texts["A  1.00"]
    without = drawn(figures.rank_diagram, models, [], None, "ranks")
    assert "critical" not in without
    assert without.count("ink") == 4


def test_the_rank_diagram_holds_many_models():
    """Each name once, inside the drawing, no two on one place."""
    models = [(f"model {i}", 1 + i * 9 / 10) for i in range(11)]
    root = ElementTree.fromstring(drawn(figures.rank_diagram, models, [(0, 4), (3, 9)], 2.0, "ranks"))
    _, _, width, height = numbers(root.get("viewBox"))
    names = [text for text in root.iter("text") if (text.text or "").startswith("model")]
    assert len(names) == 11
    places = {(text.get("text-anchor"), text.get("y")) for text in names}
    assert len(places) == 11
    assert all(0 < float(text.get("x")) < width and 0 < float(text.get("y")) < height for text in names)
