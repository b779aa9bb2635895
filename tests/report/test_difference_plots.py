"""The critical-difference diagram: where models, bars and ruler are drawn, and that labels have room."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from kgeval import MetricError, MissingExtra, ProtocolError
from kgeval.benchmarks.across import AcrossDatasets
from kgeval.errors import KgevalWarning
from kgeval.report import figures, plots
from kgeval.report.difference_plots import INK
from kgeval.report.figures import GREY, PALETTE

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


def lines_of(axes, colour):
    return [line.get_xydata().tolist() for line in axes.lines if line.get_color() == colour]


def title_of(figure):
    return figure.axes[0].get_title(loc="left").replace("\n", " ")


def labels_of(axes):
    return {text.get_text(): text for text in axes.texts if text.get_text()}


def test_models_bars_and_ruler():
    """CD = 2.569 * sqrt(20 / 48) = 1.658: C, A and B are on one bar, A, B and D on the other, one level lower."""
    across = AcrossDatasets.of(VALUES, "mrr", True)
    figure = plots.critical_differences(across)
    axes = figure.axes[0]
    hangers = lines_of(axes, INK)
    assert [line[0] for line in hangers] == [[1.0, 0.0], [2.5, 0.0], [2.5, 0.0], [4.0, 0.0]]
    assert all(start[0] == corner[0] and corner[1] == end[1] < 0 for start, corner, end in hangers)
    assert [end[0] < 1 for _, _, end in hangers] == [True, True, False, False]
    # Best at the top left, worst at the top right.
    assert hangers[0][1][1] > hangers[1][1][1]
    assert hangers[3][1][1] > hangers[2][1][1]
    upper, lower = lines_of(axes, PALETTE[0])
    middle = 0.012 * (axes.get_xlim()[1] - axes.get_xlim()[0])
    assert [x for x, _ in upper] == pytest.approx([1.0 - middle, 2.5 + middle])
    assert [x for x, _ in lower] == pytest.approx([2.5 - middle, 4.0 + middle])
    assert 0 > upper[0][1] == upper[1][1] > lower[0][1] == lower[1][1] > hangers[0][1][1]
    ruler, *marks = lines_of(axes, GREY)
    assert [x for x, _ in ruler] == pytest.approx([1.0, 1.0 + across.nemenyi.critical_difference])
    assert [mark[0][0] for mark in marks] == pytest.approx([1.0, 1.0 + across.nemenyi.critical_difference])
    labels = labels_of(axes)
    assert list(labels) == ["C  1.00", "A  2.50", "B  2.50", "D  4.00", "CD = 1.66"]
    for text, line in zip(labels.values(), hangers):
        assert text.get_position()[1] == line[1][1]
    assert title_of(figure) == (
        "MRR: mean ranks; bars join models that are not told apart (Nemenyi's test, significance level 0.05)"
    )
    assert axes.get_xlabel() == "mean rank over 8 datasets (1 is best)"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "3", "4"]


def test_without_a_test_there_are_no_bars():
    figure = plots.critical_differences(AcrossDatasets.of(VALUES[["A", "C"]], "mr", False))
    assert lines_of(figure.axes[0], PALETTE[0]) == []
    assert title_of(figure) == "MR: mean ranks, no result of Nemenyi's test"
    rows = np.random.default_rng(0).normal(scale=0.01, size=(40, 3)) + np.array([0.4, 0.3, 0.2])
    figure = plots.critical_differences(AcrossDatasets.of(pd.DataFrame(rows), "mrr", True))
    assert lines_of(figure.axes[0], PALETTE[0]) == []
    assert title_of(figure) == "MRR: mean ranks; Nemenyi's test, significance level 0.05: all models are told apart"


@pytest.mark.thorough
@pytest.mark.parametrize("style", ["screen", "paper"])
def test_labels_have_room(style):
    """From 3 to 15 models, short and long names, a long ruler: texts are inside, and do not overlap."""
    long = "model {} with reciprocal relations and negatives"
    for across in (made(3, 9), made(15, 12), made(15, 12, long), made(12, 2), made(4, 6, "Wide " * 6 + "{}")):
        figure = plots.critical_differences(across, style=style)
        figure.draw_without_rendering()
        axes = figure.axes[0]
        boxes = [text.get_window_extent() for text in labels_of(axes).values()]
        whole = figure.bbox
        for box in boxes:
            assert whole.x0 <= box.x0
            assert box.x1 <= whole.x1
        low, high = (axes.transData.transform((x, 0))[0] for x in (1, len(across.models)))
        assert all(box.x1 < low or box.x0 > high for box in boxes)
        assert (high - low) / whole.width > 0.3
        for i, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[i + 1 :])
        ticks = [tick.label2.get_window_extent() for tick in axes.xaxis.get_major_ticks()]
        assert len(ticks) >= 3
        assert all(one.x1 < two.x0 for one, two in zip(ticks, ticks[1:]))
        shown = list(labels_of(axes))
        assert len(shown) == len(across.models) + 1
        assert not any(line.get_xdata()[-1] > axes.get_xlim()[1] for line in axes.lines)


def test_names_own_axes_and_files(tmp_path):
    from matplotlib.figure import Figure

    across = AcrossDatasets.of(VALUES, "mrr", True)
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plots.critical_differences(across, ax=right, names={"C": "$\\bad{", "A": "best"}) is figure
    assert list(labels_of(right))[:2] == ["$\\bad{  1.00", "best  2.50"]
    assert not any(text.get_parse_math() for text in right.texts)
    assert len(left.lines) == 0
    for name in ("a", "b"):
        plots.save_figure(plots.critical_differences(across), tmp_path / f"{name}.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_lacking_characters_are_warned_of_once(monkeypatch):
    monkeypatch.setattr(figures, "FALLBACK_FONTS", ())
    values = VALUES.rename(columns={"A": "\U00010380"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plots.critical_differences(AcrossDatasets.of(values, "mrr", True))
    assert [str(warning.message).partition(",")[0] for warning in caught] == [
        "no installed font can draw \U00010380 (U+10380)"
    ]
    assert caught[0].category is KgevalWarning


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
