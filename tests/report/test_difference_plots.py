"""The critical-difference diagram: where models, bars and ruler are drawn, and that labels have room."""

import math

import numpy as np
import pandas as pd
import pytest

from kgeval import MetricError, MissingExtra, ProtocolError
from kgeval.benchmarks.across import AcrossDatasets
from kgeval.report import plots
from kgeval.report.colours import COLOURS
from kgeval.report.figure_matplotlib import GREY, INK

# By hand: mean ranks C 1, A 2.5, B 2.5, D 4.
VALUES = pd.DataFrame(
    {
        "A": [0.31, 0.44, 0.12, 0.25, 0.52, 0.33, 0.61, 0.28],
        "B": [0.30, 0.45, 0.11, 0.26, 0.51, 0.35, 0.60, 0.30],
        "C": [0.36, 0.49, 0.19, 0.29, 0.58, 0.38, 0.66, 0.31],
        "D": [0.20, 0.31, 0.09, 0.15, 0.44, 0.22, 0.43, 0.19],
    }
)


@pytest.fixture(autouse=True)
def drawing():
    """Skips where there is no matplotlib."""
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")


def made(n_models, n_datasets, name="model {}"):
    rng = np.random.default_rng(n_models)
    values = rng.normal(size=(n_datasets, n_models)) + np.linspace(3.0, 0.0, n_models)
    return AcrossDatasets.of(pd.DataFrame(values).rename(columns=name.format), "mrr", True)


def lines_of(axes, kind):
    """The parts of the lines of a colour: thick bars, or thin dark lines, hangers with three points each."""
    colours = {"bar": [GREY], "ink": [INK, COLOURS[0]]}[kind]
    return [line.get_xydata().tolist() for line in axes.lines if line.get_color() in colours]


def title_of(figure):
    return figure.axes[0].get_title(loc="left").replace("\n", " ").replace("\u00a0", " ")


def labels_of(figure):
    axes = figure.axes[0]
    left = [text.get_text() for text in axes.get_yticklabels()]
    return left, [text.get_text() for text in axes.texts]


def test_models_bars_and_ruler():
    """CD = 2.569 * sqrt(20 / 48) = 1.658: C, A and B are on one bar, A, B and D on the other, one level lower."""
    across = AcrossDatasets.of(VALUES, "mrr", True)
    figure = plots.critical_differences(across)
    axes = figure.axes[0]
    axis, *hangers, ruler = lines_of(axes, "ink")
    assert axis[:2] == [[1.0, 0.0], [4.0, 0.0]]
    assert [line[0] for line in hangers] == [[1.0, 0.0], [2.5, 0.0], [2.5, 0.0], [4.0, 0.0]]
    assert all(start[0] == corner[0] and corner[1] == end[1] < 0 for start, corner, end in hangers)
    assert [end[0] for _, _, end in hangers] == pytest.approx([0.91, 0.91, 4.09, 4.09])
    assert [line.get_color() for line in axes.lines[1:5]] == [COLOURS[0], INK, INK, INK]  # the best one
    assert axes.collections[0].get_offsets().tolist() == [[1.0, 0.0]]
    # Best at the top left, worst at the top right.
    assert hangers[0][1][1] > hangers[1][1][1]
    assert hangers[3][1][1] > hangers[2][1][1]
    (bars,) = lines_of(axes, "bar")
    upper, lower = bars[:2], bars[3:5]
    margin = 0.012 * 3
    assert [x for x, _ in upper] == pytest.approx([1.0 - margin, 2.5 + margin])
    assert [x for x, _ in lower] == pytest.approx([2.5 - margin, 4.0 + margin])
    assert 0 > upper[0][1] == upper[1][1] > lower[0][1] == lower[1][1] > hangers[0][1][1]
    assert [x for x, _ in ruler[:2]] == pytest.approx([1.0, 1.0 + across.nemenyi.critical_difference])
    assert [ruler[i][0] for i in (3, 6)] == pytest.approx([1.0, 1.0 + across.nemenyi.critical_difference])
    left, right = labels_of(figure)
    assert left == ["C  1.00", "A  2.50"]
    assert right == ["B  2.50", "D  4.00", "1", "2", "3", "4", "critical difference 1.66"]
    assert axes.get_yticks().tolist() == [hangers[0][1][1], hangers[1][1][1]]
    assert [text.xy[1] for text in axes.texts[:2]] == [hangers[2][1][1], hangers[3][1][1]]
    tests = "Nemenyi's test, significance level 0.05; Friedman's test, p < 0.0001"
    told = f"MRR: mean ranks; bars join models that are not told apart ({tests})"
    assert title_of(figure) == f"{told} few datasets, so only very large differences show"
    assert axes.get_xlabel() == "mean rank over 8 datasets (1 is best)"
    for more in ({"style": "paper"}, {"title": "own"}):  # a caution is drawn all the same
        assert title_of(plots.critical_differences(across, **more)).endswith("so only very large differences show")
    paper = plots.critical_differences(across, style="paper").axes[0]
    assert paper.get_xlabel() == "mean rank over 8 datasets (1 is best)\nbar: not told apart"
    assert "few datasets" not in title_of(plots.critical_differences(made(4, 10)))


def test_the_axis_of_a_paper_has_half_of_the_width():
    """The mean ranks stand below the names; names at both sides have the same heights and base lines."""
    figure = plots.critical_differences(AcrossDatasets.of(VALUES, "mrr", True), style="paper")
    figure.draw_without_rendering()
    axes = figure.axes[0]
    left, right = labels_of(figure)
    assert (left, right[:2]) == (["C\n1.00", "A\n2.50"], ["B\n2.50", "D\n4.00"])
    named = AcrossDatasets.of(
        VALUES.set_axis(["DistMult-32", "ComplEx-8", "ComplEx-32", "frequency"], axis=1), "mrr", True
    )
    figure = plots.critical_differences(named, style="paper")
    figure.draw_without_rendering()
    axes = figure.axes[0]
    low, high = (axes.transData.transform((x, 0))[0] for x in (1, 4))
    assert (high - low) / figure.bbox.width > 0.5
    boxes = [text.get_window_extent() for text in (*axes.get_yticklabels(), *axes.texts[1::-1])]
    ends = [(box.y0, box.y1) for box in boxes]
    assert ends[:2] == [pytest.approx(end, abs=1) for end in ends[2:]]


def test_without_a_test_there_are_no_bars():
    figure = plots.critical_differences(AcrossDatasets.of(VALUES[["A", "C"]], "mr", False))
    assert lines_of(figure.axes[0], "bar") == []
    assert title_of(figure) == "MR: mean ranks, no result of Nemenyi's test"
    rows = np.random.default_rng(0).normal(scale=0.01, size=(40, 3)) + np.array([0.4, 0.3, 0.2])
    figure = plots.critical_differences(AcrossDatasets.of(pd.DataFrame(rows), "mrr", True))
    assert lines_of(figure.axes[0], "bar") == []
    tests = "Nemenyi's test, significance level 0.05; Friedman's test, p < 0.0001"
    assert title_of(figure) == f"MRR: mean ranks; all models are told apart ({tests})"


@pytest.mark.thorough
@pytest.mark.parametrize("style", ["screen", "paper"])
def test_labels_have_room(style):
    """From 3 to 15 models, short and long names, a long ruler: texts are inside, and do not overlap."""
    long = "model {} with reciprocal relations and negatives"
    for across in (made(3, 9), made(15, 12), made(15, 12, long), made(12, 2), made(4, 6, "Wide " * 6 + "{}")):
        figure = plots.critical_differences(across, style=style)
        figure.draw_without_rendering()
        axes, whole = figure.axes[0], figure.bbox
        names = [*axes.get_yticklabels(), *axes.texts[: len(across.models) // 2]]
        assert len(names) == len(across.models)
        boxes = [text.get_window_extent() for text in names]
        low, high = (axes.transData.transform((x, 0))[0] for x in (1, len(across.models)))
        for i, box in enumerate(boxes):
            assert whole.x0 <= box.x0 + 1
            assert box.x1 <= whole.x1 + 1
            assert box.x1 < low or box.x0 > high
            assert box.y0 > axes.xaxis.label.get_window_extent().y1 - 1
            assert not any(box.overlaps(other) for other in boxes[i + 1 :])
        assert (high - low) / whole.width > 0.25
        ticks = [text.get_window_extent() for text in axes.texts if text.get_text().isdigit()]
        assert len(ticks) >= 3
        assert all(one.x1 < two.x0 for one, two in zip(ticks, ticks[1:]))
        assert not any(line.get_xdata()[-1] > axes.get_xlim()[1] for line in axes.lines)


def test_names_own_axes_and_files(tmp_path):
    from matplotlib.figure import Figure

    across = AcrossDatasets.of(VALUES, "mrr", True)
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plots.critical_differences(across, ax=right, names={"C": "$\\bad{", "A": "best"}) is figure
    assert [text.get_text() for text in right.get_yticklabels()] == ["$\\bad{  1.00", "best  2.50"]
    assert not any(text.get_parse_math() for text in [*right.texts, *right.get_yticklabels()])
    assert len(left.lines) == 0
    for name in ("a", "b"):
        plots.save_figure(plots.critical_differences(across), tmp_path / f"{name}.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_wrong_arguments():
    across = AcrossDatasets.of(VALUES, "mrr", True)
    with pytest.raises(ProtocolError, match="has no argument 'test' any more: Conover's test tells equal models apart"):
        plots.critical_differences(across, test="conover")
    with pytest.raises(MetricError, match=r"needs the result of benchmark.across\(\); got DataFrame"):
        plots.critical_differences(across.table)
    with pytest.raises(MetricError, match="needs at least two models .*; got 1 model and 8 such datasets"):
        plots.critical_differences(AcrossDatasets.of(VALUES[["A"]], "mrr", True))
    with pytest.raises(MetricError, match="got 4 models and 0 such datasets"):
        plots.critical_differences(AcrossDatasets.of(VALUES * math.nan, "mrr", True))


def test_matplotlib_is_needed(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.axes", None)
    with pytest.raises(MissingExtra, match="pictures need matplotlib"):
        plots.critical_differences(AcrossDatasets.of(VALUES, "mrr", True))
