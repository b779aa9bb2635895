"""Pictures: the numbers in the drawn lines, what the texts say, and files that are equal byte by byte."""

import itertools
import re
import statistics
import sys
import warnings
import zlib
from importlib import resources

import numpy as np
import pandas as pd
import pytest
from made_results import replaced

import kgeval
from kgeval import DataError, Dataset, MetricError, MissingExtra
from kgeval.display.html import N_COLOURS, N_PATTERNS, patterns
from kgeval.display.html_tables import short
from kgeval.errors import ProtocolError
from kgeval.metrics.retrieval.curves import roc_curves
from kgeval.metrics.retrieval.inputs import from_ranking, from_scores
from kgeval.report import figure_matplotlib, figures, plots
from kgeval.report.colours import COLOURS, DASHES, HATCHES, MARKERS
from kgeval.report.figure_matplotlib import TICK_SIZES, overlapping, tick_texts
from kgeval.report.figures import brief_bin
from kgeval.report.page_distributions import distribution

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")
NAN = float("nan")
STYLE = (resources.files("kgeval.report") / "assets" / "page.css").read_text(encoding="utf-8")
DARK_COLOURS = [re.findall(rf"--model-{i}: (#\w+);", STYLE)[1] for i in range(15)]
N = 9
NAMES = ["$x$ and $y$", "_hidden"]


@pytest.fixture
def drawing():
    """Skips where there is no matplotlib."""
    return pytest.importorskip("matplotlib", reason="pictures need matplotlib")


def evaluated(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, (N, 3, N)).astype(float)
    ids = np.random.default_rng(5).permutation(
        np.array([(s, p, o) for s in range(N) for p in range(3) for o in range(N)])
    )
    train, test = ids[:30], ids[30:60]
    dataset = Dataset.from_arrays(train=train, test=test, n_entities=N, n_relations=3)
    return kgeval.evaluate(lambda s, p, o: scores[s, p, o], dataset, progress=False)


@pytest.fixture(scope="module")
def results():
    return [evaluated(1), evaluated(2)]


def ranks_of(result):
    return [b + 1 + t / 2 for b, t in zip(result.table["better_filtered"], result.table["tied_filtered"])]


def xy(line):
    return line.get_xydata().tolist()


def legend_texts(axes):
    """The texts of the legend, row by row."""
    legends = [axes.get_legend(), *axes.figure.legends]
    shown = [(text.get_window_extent(), text.get_text()) for legend in legends if legend for text in legend.get_texts()]
    return [text for box, text in sorted(shown, key=lambda pair: (-round(pair[0].y0), pair[0].x0))]


def named_in(axes):
    """The names beside the curves of an axes, from top to bottom."""
    return [text.get_text() for text in sorted(axes.texts, key=lambda text: -text.xy[1])]


def curves_of(axes):
    """The curves of an axes, the best model first; it is drawn last. The first line leads from them to their names."""
    leaders, *curves = [line for line in axes.lines if len(line.get_xdata()) > 1]
    assert leaders.get_alpha() == 0.3
    return curves[::-1]


def signs_of(axes):
    """The marks beside names: lines of one point."""
    return [line for line in axes.lines if len(line.get_xdata()) == 1]


def title_of(figure):
    """The title in one line; where it is wrapped depends on the width, but not within "n = 5"."""
    return figure.axes[0].get_title(loc="left").replace("\n", " ").replace("\u00a0", " ")


def interval_of_share(result, is_in):
    """The 95% interval of a share of ranks, by the result's own intervals: hits@1 of ranks 1 where `is_in`, else 2."""
    counts = {"better_filtered": np.where(is_in, 0, 1), "tied_filtered": 0}
    interval = replaced(result, table=result.table.assign(**counts)).interval("hits@1")
    return interval.low, interval.high


def boxes_of(axes):
    """The bars of an axes: left, bottom, width, height."""
    return [(bar.get_x(), bar.get_y(), bar.get_width(), bar.get_height()) for bar in axes.patches]


def test_rank_distribution(drawing, results):
    """The share of the ranks in each bin of the page, the tied part pale; intervals clustered by triple."""
    figure = plots.rank_distribution(results, NAMES)
    axes = figure.axes[0]
    bins = {"1": (1, 2), "2–3": (2, 4), "4–9": (4, 10)}
    bars = boxes_of(axes)
    for i, (result, line) in enumerate(zip(results, axes.lines)):
        ranks, tied = np.array(ranks_of(result)), result.table["tied_filtered"].to_numpy() > 0
        assert (ranks % 1 == 0.5).any()
        inside = [(np.ceil(ranks) >= low) & (np.ceil(ranks) < high) for low, high in bins.values()]
        shares, pale = ([sum(mask & chosen) / 60 for mask in inside] for chosen in (ranks > 0, tied))
        full, bars = bars[:3], bars[3:]
        some, bars = bars[: sum(map(bool, pale))], bars[sum(map(bool, pale)) :]
        assert [x for x, *_ in full] == pytest.approx([j - 0.42 + 0.42 * i for j in range(3)])
        assert [height for *_, height in full] == pytest.approx([share - part for share, part in zip(shares, pale)])
        assert [height for *_, height in some] == pytest.approx([part for part in pale if part])
        assert sum(height for *_, height in full + some) == pytest.approx(1)
        drawn = [(low[1], high[1]) for low, high in segments(line)]
        assert np.array(drawn) == pytest.approx(np.array([interval_of_share(result, mask) for mask in inside]))
    assert bars == []
    assert [label.get_text() for label in axes.get_xticklabels()] == list(bins)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("filtered rank", "share of ranks")
    assert (
        title_of(figure) == f"Distribution of ranks on {results[0].facts['dataset']}: n = 60 ranks, with 95% intervals"
    )
    shares = [(result.table["tied_filtered"] > 0).mean() for result in results]
    assert legend_texts(axes) == [
        *(f"{name} ({share:.0%} tied)" for name, share in zip(NAMES, shares)), "faint: tied with a rival",
    ]  # fmt: skip


def test_ties_are_pale_and_their_share_is_in_the_legend(drawing, results):
    """Of 60 ranks, 14 tie, 12 of them at rank 3: 23%; of 2 of 60, 3%, nothing is said."""
    table = results[0].table.assign(better_filtered=0, tied_filtered=0)
    table.loc[:11, ["better_filtered", "tied_filtered"]] = [1, 2]
    table.loc[12:13, ["better_filtered", "tied_filtered"]] = [5, 2]
    axes = plots.rank_distribution(replaced(results[0], table=table), ["one"]).axes[0]
    assert legend_texts(axes) == ["one (23% tied)", "faint: tied with a rival"]
    few = replaced(results[0], table=table.assign(tied_filtered=[2] * 2 + [0] * 58))
    assert legend_texts(plots.rank_distribution(few, ["few"]).axes[0]) == ["few", "faint: tied with a rival"]
    assert np.array(boxes_of(axes)[-2:]) == pytest.approx(np.array([(0.58, 0.0, 0.84, 0.2), (1.58, 0.0, 0.84, 2 / 60)]))


def best_first(named):
    return dict(sorted(named.items(), key=lambda item: -item[1]["mrr"]))


@pytest.mark.parametrize("style", ["screen", "paper"])
def test_of_many_models_each_has_a_row(drawing, six, style):
    """The best one at the top; the borders are hits@1, @3, @10 and @30 by a loop; 40 ranks are in all bins."""
    tied = replaced(six["m1"], table=six["m1"].table.assign(tied_filtered=[1] * 5 + [0] * 75))
    figure, six = plots.rank_distribution({**six, "m1": tied}, style=style), best_first({**six, "m1": tied})
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(six) == sorted(six)
    assert axes.yaxis_inverted()
    (*boxes, limits), cuts = np.array(boxes_of(axes)).reshape(6, 6, 4), (0, 1, 3, 10, 30, 40)
    boxes = np.array(boxes)
    for row, result in enumerate(six.values()):
        ranks = np.ceil(ranks_of(result))
        borders = [sum(rank <= k for rank in ranks) / 80 for k in cuts]
        assert boxes[:, row, 0] == pytest.approx(borders[:-1])
        assert boxes[:, row, 0] + boxes[:, row, 2] == pytest.approx(borders[1:])
        assert boxes[:, row, 1] + boxes[:, row, 3] / 2 == pytest.approx([row] * 5)
        (low, y, width, height), interval = limits[row], result.interval("hits@1")
        assert (low, low + width, y + height / 2) == pytest.approx((interval.low, interval.high, row))
    shades = [patch.get_alpha() for patch in axes.patches[:-6:6]]
    dark = axes.patches[-1]  # a dark core with a white edge is seen on dark and on pale parts
    assert [drawing.colors.to_hex(c) for c in (dark.get_facecolor(), dark.get_edgecolor())] == ["#222222", "#ffffff"]
    assert shades == sorted(shades, reverse=True)
    assert all(one - two >= 0.1 for one, two in zip(shades, shades[1:]))
    assert legend_texts(axes) == ["rank 1", "2–3", "4–10", "11–30", "31–40"]
    (text,) = axes.texts
    assert (text.get_text(), text.xy) == ("6% tied", (1.0, list(six).index("m1")))
    words = f"Distribution of ranks on {tied.facts['dataset']}: n = 80 ranks, with 95% intervals of hits@1"
    assert figure.get_label() == words
    assert title_of(figure) == (words if style == "screen" else "")


def test_a_row_of_many_bins_ends_with_all_further_ranks(drawing, results):
    """Of 40,000 candidates, the last of six bins has all ranks over 100; it reaches 1, as all ranks are known."""
    table = results[0].table.assign(better_filtered=range(0, 30_000, 500), tied_filtered=0, rivals_filtered=39_999)
    five = plots.rank_distribution(dict(zip("abcde", [replaced(results[0], table=table)] * 5))).axes[0]
    assert legend_texts(five) == ["rank 1", "2–3", "4–10", "11–30", "31–100", "over 100"]
    left, bottom, width, _ = boxes_of(five)[-6]
    assert (left, left + width, bottom) == (pytest.approx(1 / 60), pytest.approx(1.0), 3.6)


def test_bins_of_ranks_cover_each_rank_once(drawing, results):
    """1, 2-3, 4-10, 11-30, ... up to the worst rank, whatever it is; the first bins add up to hits@k."""
    long = ring(40, (0, 1, 7))
    for counts, result in zip(distribution(list(long.values()))["counts"], long.values()):
        for n, k in enumerate((1, 3, 10, 30), 1):
            assert sum(counts[:n]) / sum(counts) == pytest.approx(result[f"hits@{k}"])
    for worst in (1, 2, 3, 4, 10, 11, 30, 31, 299, 301, 40_000):
        table = results[0].table.assign(better_filtered=0, tied_filtered=0, rivals_filtered=worst - 1)
        table.loc[0, "better_filtered"] = worst - 1
        axes = plots.rank_distribution(replaced(results[0], table=table)).axes[0]
        bins = distribution([replaced(results[0], table=table)])["bins"]
        ends = [label.replace(",", "").split("–") for label in bins]
        shown = [label.get_text() for label in axes.get_xticklabels()]
        kept = [label.replace("\n", "") for label in map(brief_bin, bins)]
        shown = [label.replace("\n", "") for label in shown]
        assert shown in (kept, [re.sub("–.*", "", label) for label in kept])  # the ends where they have room
        assert axes.get_xlabel().endswith(" (start of bin)") == (shown != kept)
        assert int(ends[0][0]) == 1
        assert all(int(two[0]) == int(one[-1]) + 1 for one, two in zip(ends, ends[1:]))
        assert int(ends[-1][0]) <= worst <= int(ends[-1][-1])
        assert sum(height for *_, height in boxes_of(axes)) == pytest.approx(1)


def test_hits_curve(drawing, results):
    """Each point is the result's own hits@k, each edge of the band its interval, the dotted line its chance level."""
    figure = plots.hits_curve(results, NAMES, limit=7)
    axes = figure.axes[0]
    one, two, by_chance = curves_of(axes)
    for result, line, band in zip(results, (one, two), axes.patches):
        assert xy(line) == [[k, pytest.approx(result[f"hits@{k}"], rel=1e-12)] for k in range(1, 8)]
        edges = band.get_xy()
        for k in range(1, 8):
            interval = result.interval(f"hits@{k}")
            at = edges[edges[:, 0] == k, 1]
            assert (min(at), max(at)) == pytest.approx((interval.low, interval.high))
    chance = [[k, pytest.approx(results[0].chance(f"hits@{k}").value, rel=1e-12)] for k in range(1, 8)]
    assert xy(by_chance) == chance
    assert sorted(named_in(axes)) == sorted([*NAMES, "chance"])
    assert not figure.legends
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("k (filtered ranks, ties at their mean)", "hits@k")
    assert axes.get_xscale() == "log"
    with pytest.raises(MetricError, match="limit must be an integer of at least 1; got 0"):
        plots.hits_curve(results, limit=0)
    many = plots.hits_curve(results[0], limit=500).axes[0]
    cuts = curves_of(many)[0].get_xdata().tolist()
    assert (len(cuts), cuts[:3], cuts[-1]) == (39, [1, 2, 3], 500)
    assert {1, 3, 10, 30, 100, 300} <= set(cuts)
    assert max(many.patches[0].get_xy()[:, 0]) == 500


def test_ten_models_have_a_table_of_hits(drawing, results):
    """Their hits@1 and @3, and those of chance, the darker the larger; nine have curves."""
    worse = replaced(results[1], table=results[1].table.assign(better_filtered=6))
    named = {f"m{i}": results[i % 2] for i in range(9)} | {"worse": worse}
    for own in (None, drawing.figure.Figure().subplots()):
        axes = plots.hits_curve(named, limit=3, ax=own).axes[0]
        rows = best_first(named)
        assert [label.get_text() for label in axes.get_yticklabels()] == [*rows, "chance"] != [*named, "chance"]
        assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "3"]
        cells = {tuple(np.round(text.xy, 2)): text.get_text() for text in axes.texts}
        wanted = [[result["hits@1"], result["hits@3"]] for result in rows.values()]
        chance = [results[0].chance(f"hits@{k}").value for k in (1, 3)]
        for i, row in enumerate([*wanted, chance]):
            assert [cells[x, i] for x in (0.0, 1.0)] == [f"{value:.3f}" for value in row]
        places = [(round(x + 0.5), round(y + 0.5)) for x, y, *_ in boxes_of(axes)]
        shades = dict(zip(places, (bar.get_alpha() for bar in axes.patches)))
        for j, column in enumerate(zip(*wanted, chance)):
            best, worst = max(column[:-1]), min(column[:-1])  # of the models
            wanted_shades = [min(0.6, max(0.03, 0.6 - 0.5 * (best - at) / max(best - worst, 0.1))) for at in column]
            assert [shades[j, i] for i in range(11)] == pytest.approx(wanted_shades, abs=0.006)
    nine = plots.hits_curve(dict(list(named.items())[:9]), limit=3).axes[0]
    assert (sorted(named_in(nine)), len(nine.patches)) == (["chance", *list(named)[:9]], 9)
    assert [line.get_color() for line in curves_of(nine)[:9]] == list(COLOURS[:9])
    own = drawing.figure.Figure().subplots()
    plots.hits_curve(dict(list(named.items())[:9]), limit=3, ax=own)
    assert [text.get_text() for text in own.get_legend().get_texts()] == [*list(named)[:9], "chance"]
    assert [line.get_color() for line in own.lines[:0:-1]] == list(COLOURS[:9])
    assert not own.texts


def values_of_curves(values, names):
    """Figure of curves with these values at the first and the last k."""
    found = {"k": [1, 10], "values": values, "low": values, "high": values, "bounds": [None] * len(values)}
    return figures.hits_curve(names, {**found, "chance": [0.01, 0.1]}, "hits")


@pytest.mark.parametrize("style", ["screen", "paper"])
@pytest.mark.parametrize("n", [2, 4, 7, 9])
def test_names_beside_curves_do_not_overlap(drawing, n, style):
    """Of curves of any values, also equal ones: each name is drawn, in the order of the values, and none is cut."""
    rng = np.random.default_rng(n)
    for values in ([[0.5, 0.9]] * n, rng.random((n, 2)).tolist(), (0.9 + 0.1 * rng.random((n, 2)).round(1)).tolist()):
        names = [f"{'model'[: 1 + i % 5]} {i}" for i in range(n)]
        panel = values_of_curves(values, names).panels[0]
        figure = figure_matplotlib.draw(values_of_curves(values, names), style, None, None)
        figure.draw_without_rendering()
        texts, side = figure.axes[0].texts, 0 if panel.is_mirrored else 1
        assert not overlapping(texts)
        assert all(box.y0 > 0 and box.y1 < figure.bbox.height for box in (t.get_window_extent() for t in texts))
        ends = {**{name: value[side] for name, value in zip(names, values)}, "chance": (0.01, 0.1)[side]}
        assert named_in(figure.axes[0]) == sorted(ends, key=lambda name: -ends[name])
        for start, end in segments(figure.axes[0].lines[0]):
            assert start[1] in ends.values()
            assert end[1] in [pytest.approx(text.xy[1]) for text in texts]


def test_names_stand_where_curves_differ(drawing):
    """At the left if the curves meet at the right; the values of the axis are then at the right."""
    spread, near = np.linspace(0.1, 0.9, 6).tolist(), [1.0] * 6
    names = list("abcdef")
    figure = values_of_curves(list(map(list, zip(spread, near))), names)
    axes = figure_matplotlib.draw(figure, "screen", None, None).axes[0]
    assert {text.xy[0] for text in axes.texts} == {0.0}
    assert axes.yaxis.get_ticks_position() == axes.yaxis.get_label_position() == "right"
    assert (axes.get_xlim()[0], axes.get_xlim()[1]) == pytest.approx((10**-0.12, 10**1.02))
    other = values_of_curves(list(map(list, zip(near, spread))), names)
    axes = figure_matplotlib.draw(other, "screen", None, None).axes[0]
    assert {text.xy[0] for text in axes.texts} == {1.0}
    assert axes.yaxis.get_ticks_position() == axes.yaxis.get_label_position() == "left"


def test_places_are_moved_apart():
    """Random places: order kept, gaps kept, within 0.02 to 0.98; their moves are least, by another method."""
    rng = np.random.default_rng(1)
    for n in range(1, 30):
        places, gap = rng.random(n).round(1), 0.9 / n
        moved = figures.moved_apart(places, gap)
        order = np.lexsort((-np.arange(n), places))
        assert (np.diff(moved[order]) >= gap - 1e-9).all()
        assert moved.min() >= 0.02 - 1e-9
        assert moved.max() <= 0.98 + 1e-9
        blocks = []  # pool adjacent violators
        for value in (places[order] - gap * np.arange(n)).tolist():
            blocks.append([value])
            while len(blocks) > 1 and statistics.mean(blocks[-2]) > statistics.mean(blocks[-1]):
                blocks[-2:] = [blocks[-2] + blocks[-1]]
        levels = np.array([statistics.mean(block) for block in blocks for _ in block])
        expected = np.clip(levels, 0.02, 0.98 - gap * (n - 1)) + gap * np.arange(n)
        assert moved[order] == pytest.approx(expected)
    assert figures.moved_apart([0.9, 0.1, 0.5], 0.4).tolist() == pytest.approx([0.9, 0.1, 0.5])
    # The middle of a cluster stays, what is far from it does not move.
    assert figures.moved_apart([0.9, 0.5, 0.5, 0.5, 0.1], 0.1) == pytest.approx([0.9, 0.6, 0.5, 0.4, 0.1])


def test_results_of_different_kinds_are_told_apart(drawing, results):
    """Not the same dataset, not as many ranks: said below the title, in a paper without a title."""
    short = replaced(
        results[1],
        table=results[1].table.iloc[:7],
        n_read=7,
        facts={**results[1].facts, "dataset_fingerprint": "other"},
    )
    figure = plots.rank_distribution([results[0], short], ["a", "b" * 50])
    cautions = "not comparable: the results differ in dataset; the numbers of ranks differ"
    assert title_of(figure).endswith(f"n = 7 to {len(results[0].table)} ranks, with 95% intervals {cautions}")
    paper = plots.rank_distribution([results[0], short], ["a", "b" * 50], style="paper")
    assert title_of(paper) == cautions


FRAME = pd.DataFrame(
    {
        "n": [3, 40, 5, 1],
        "mrr": [0.2, 0.5, NAN, 0.9],
        "mrr low": [0.1, 0.4, NAN, NAN],
        "mrr high": [0.3, 0.6, NAN, 1.0],
    },
    index=pd.Index(["few", "$many$", "none", "x" * 60], name="relation"),
)
OTHER = pd.DataFrame({"n": [40, 3], "mrr": [0.7, 0.1]}, index=pd.Index(["$many$", "few"], name="relation"))


def segments(line):
    """The separate parts of a line, each the two ends of an interval."""
    points = line.get_xydata()
    return [[points[i].tolist(), points[i + 1].tolist()] for i in range(0, len(points), 3)]


def labels_in(axes):
    """The labels of the rows of an axes, in one line."""
    return [label.get_text().replace("\n", "") for label in axes.get_yticklabels()]


def dots(axes):
    return [found.get_offsets().filled(NAN).tolist() for found in axes.collections]


def test_relation_comparison_of_tables(drawing):
    """Most ranks first, whatever the order of the tables; models 0.22 apart around the label of the row."""
    figure = plots.relation_comparison([FRAME, OTHER], names=NAMES, limit=3)
    axes = figure.axes[0]
    assert labels_in(axes) == ["$many$ (40)", "none (5)", "few (3)"]
    first, second = map(np.array, dots(axes))
    assert first == pytest.approx(np.array([[0.5, -0.11], [NAN, NAN], [0.2, 1.89]]), nan_ok=True)
    assert second == pytest.approx(np.array([[0.7, 0.11], [NAN, NAN], [0.1, 2.11]]), nan_ok=True)
    (ends,) = axes.lines
    assert np.array(segments(ends)) == pytest.approx(
        np.array([[[0.4, -0.11], [0.6, -0.11]], [[0.1, 1.89], [0.3, 1.89]]])
    )
    assert title_of(figure) == "MRR per relation (number of ranks): 3 of 4 with most ranks 2 undefined, not drawn"
    assert legend_texts(axes) == [*NAMES, "open: fewer than 10 ranks"]
    assert axes.get_xlabel() == "MRR"
    assert axes.yaxis_inverted()
    whole = plots.relation_comparison(FRAME, "mrr")
    assert title_of(whole).startswith("MRR per relation (number of ranks): all 4 relations")
    assert labels_in(whole.axes[0])[3] == f"{'x' * 23}…{'x' * 22} (1)"  # 46 characters of 60


def test_groups_of_results(drawing, results):
    """The table of a result is its own `by`, with its intervals."""
    figure = plots.relation_comparison(results, "hits@3", names=NAMES)
    frame = results[1].by("relation", metrics="hits@3")
    labels = labels_in(figure.axes[0])
    order = [label.split(" (")[0] for label in labels]
    assert sorted(order) == sorted(frame.index)
    assert labels == [f"{name} ({frame.loc[name, 'n']})" for name in order]
    assert [x for x, _ in dots(figure.axes[0])[1]] == frame.loc[order, "hits@3"].tolist()
    drawn = [[low[0], high[0]] for low, high in segments(figure.axes[0].lines[1])]
    assert drawn == frame.loc[order, ["hits@3 low", "hits@3 high"]].to_numpy().tolist()
    dataset = results[0].facts["dataset"]
    assert title_of(figure).startswith(f"hits@3 per relation (number of ranks) on {dataset}, 95% intervals: all ")
    sides = plots.degree_curve(results[0], "mr", column="side")
    assert f" on {dataset}, 95% intervals: " in title_of(sides)
    assert [y for _, y in dots(sides.axes[0])[0]] == results[0].by("side", metrics="mr")["mr"].tolist()


def test_marks_of_a_comparison_follow_its_decisions(drawing):
    """Of three models: a mark is open where `by` does not tell the model apart from the best, which has no open one."""
    rng = np.random.default_rng(3)
    dataset = kgeval.Dataset.from_arrays(
        test=[[i, i % 3, (7 * i + 1) % 90] for i in range(90)], n_entities=90, n_relations=3
    )
    noise, bonus = rng.normal(size=(3, 90, 90)), {"B": [2.0, 2.0, 2.0], "A": [2.9, 2.0, 2.9], "C": [0.0, 2.0, 1.6]}
    truth = np.zeros((90, 90))
    truth[np.arange(90), (7 * np.arange(90) + 1) % 90] = 1.0
    named = {
        name: kgeval.evaluate(
            lambda s, p, o, i=i, of=of: 0.6 * noise[i][s, o] + truth[s, o] * np.array(of)[p], dataset, progress=False
        )
        for i, (name, of) in enumerate(bonus.items())
    }
    compared = kgeval.compare(named, metrics="mrr")
    assert compared.best("mrr") == "A"
    figure = plots.relation_comparison(compared)
    axes = figure.axes[0]
    order = [label.split(" (")[0] for label in labels_in(axes)]
    others = legend_texts(axes)[1:3]
    decided = [compared.by("relation", "mrr", "A", other)["decided"][order].tolist() for other in others]
    assert [faces(axes, place) for place in range(3)] == [[True] * 3, *decided]
    assert 0 < sum(decided[0] + decided[1]) < 6
    assert legend_texts(axes)[3:] == ["open: not told apart from A"]
    assert "tests corrected for 3 relations" in title_of(figure)
    assert "open: not told apart from A" not in legend_texts(plots.relation_comparison(named).axes[0])
    medians = kgeval.compare(named, metrics="median_rank")  # the median has no contributions
    shown = legend_texts(plots.relation_comparison(medians, "median_rank").axes[0])
    assert shown == medians.values["median_rank"].sort_values(kind="stable").index.tolist()


def test_degree_curve_orders_the_buckets(drawing):
    """By their first number, not as text, those without one last."""
    index = pd.Index(["8-15", "unknown", "0", "2-3", "16-31", "1"], name="degree_given")
    frame = pd.DataFrame({"n": [8, 7, 1000, 2, 16, 1], "mrr": [0.8, 0.7, 0.0, 0.2, 1.0, 0.1]}, index=index)
    frame["mrr low"], frame["mrr high"] = frame["mrr"] - 0.01, frame["mrr"] + 0.02
    figure = plots.degree_curve(frame)
    axes = figure.axes[0]
    assert dots(axes)[0] == [[0, 0.0], [1, 0.1], [2, 0.2], [3, 0.8], [4, 1.0], [5, 0.7]]
    assert faces(axes) == [True, False, False, False, True, False]
    intervals, curve = axes.lines
    assert xy(curve) == [[0, 0.0], [4, 1.0]]
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "0\n(1,000)", "1\n(1)", "2–3\n(2)", "8–15\n(8)", "16–31\n(16)", "unknown\n(7)",
    ]  # fmt: skip
    ends = np.array([[v - 0.01, v + 0.02] for _, v in dots(axes)[0]])
    drawn = np.array(segments(intervals))[:, :, 1]
    assert drawn == pytest.approx(np.clip(ends, *axes.get_ylim()))
    assert drawn[[0, 4]] == pytest.approx(ends[[0, 4]])
    assert title_of(figure) == "MRR by degree of the given entity: 1,034 ranks"
    assert legend_texts(axes)[-1] == "open: fewer than 10 ranks"
    assert axes.get_xlabel() == "degree of the given entity (number of ranks)"
    intervals = frame.set_axis(pd.Index(pd.IntervalIndex.from_breaks([2, 3, 4, 5, 6, 7, 10])))[::-1]
    assert [y for _, y in dots(plots.degree_curve(intervals).axes[0])[0]] == frame["mrr"].tolist()


@pytest.mark.parametrize(
    ("style", "n", "shown"),
    [
        ("screen", 5, ["0\n(20)", "1\n(20)", "2–3\n(20)", "4–7\n(20)", "8–15\n(20)"]),
        ("paper", 5, ["0", "1", "2–3", "4–7", "8–15"]),
        ("paper", 9, ["0", "1", "2", "4", "8", "16", "32", "64", "128"]),
        ("paper", 14, ["0", "2", "8", "32", "128", "512", "2,048"]),
    ],
)
def test_buckets_of_degree_are_named_where_they_have_room(drawing, style, n, shown):
    """As ranges, else by their starts, none upright; the title of the axis says which."""
    labels = ["0", "1", *(f"{2**i}-{2 ** (i + 1) - 1}" for i in range(1, n - 1))]
    frame = pd.DataFrame({"n": 20, "mrr": 0.5}, index=pd.Index(labels, name="degree_given"))
    axes = plots.degree_curve(frame, style=style).axes[0]
    ticks = axes.get_xticklabels()
    assert [tick.get_text() for tick in ticks] == shown
    assert {tick.get_rotation() for tick in ticks} == {0.0}
    about = " (number of ranks)" if style == "screen" else "" if n == 5 else " (start of bin)"
    assert axes.get_xlabel() == f"degree of the given entity{about}"


def test_groups_with_few_ranks_do_not_set_the_axis(drawing):
    """An interval from 0 to 1 of 3 ranks is cut where the axis of the others ends; if all have few, all are drawn."""
    frame = pd.DataFrame({"n": [3, 50], "mrr": [0.5, 0.5], "mrr low": [0.0, 0.4], "mrr high": [1.0, 0.6]}, ["0", "1"])
    axes = plots.degree_curve(frame).axes[0]
    low, high = axes.get_ylim()
    assert (low, high) == (pytest.approx(0.39), pytest.approx(0.61))
    assert segments(axes.lines[0])[0] == [[0.0, low], [0.0, high]]
    few = plots.degree_curve(frame.assign(n=3))
    assert faces(few.axes[0]) == [True, True]
    assert title_of(few) == "MRR by degree of the given entity: 6 ranks"


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (
            FRAME.drop(columns="n"),
            "the table of 'model 1' has no column n; make it with result.by('relation', metrics='mrr')",
        ),
        (FRAME[["n"]], "the table of 'model 1' has no column mrr; make it with result.by('relation', metrics='mrr')"),
        (FRAME.assign(mrr=NAN), "there is nothing to draw: no finite mrr in 4 rows"),
        (FRAME.iloc[:0], "there is nothing to draw: no finite mrr in 0 rows"),
        (
            pd.concat([FRAME, FRAME]),
            "the table of 'model 1' must have one row per relation; group by this column alone",
        ),
    ],
)
def test_groups_that_cannot_be_drawn(drawing, frame, said):
    with pytest.raises(MetricError) as caught:
        plots.relation_comparison(frame)
    assert str(caught.value) == said


def test_no_table(drawing):
    with pytest.raises(ProtocolError, match="expected at least one result; got none"):
        plots.relation_comparison([])


def test_names_of_tables(drawing):
    with pytest.raises(ProtocolError) as caught:
        plots.relation_comparison([FRAME, OTHER], names=["a", "a"])
    assert str(caught.value) == "names must be 2 different words, one for each table; got ['a', 'a']"


def areas_in(axes):
    """The names and areas beside the curves of an axes, or in its legend, in the order of the models."""
    texts = [re.sub(r"\n(n = [\d,]+)\n", r" (\1): ", text.get_text()).replace("\n", ": ") for text in axes.texts]
    return texts or legend_texts(axes)


def test_precision_recall_by_hand(drawing):
    """Relevant at places 1 and 3: precision 1 up to recall 1/2, then 2/3. At place 2 alone: 1/2. The mean of both."""
    figure = plots.precision_recall(from_ranking([[1, 0, 1], [0, 1, 0], [0, 0, 0]]), points=5)
    _, chance, mean = figure.axes[0].lines
    high, low = 0.75, (2 / 3 + 0.5) / 2
    wanted = np.array([[0, high], [0.25, high], [0.5, high], [0.75, low], [1, low]])
    assert np.array(xy(mean)) == pytest.approx(wanted)
    # The area by hand: half the recalls at .75, then a slope from .75 to 7/12 over a quarter, then a quarter at 7/12.
    area = 0.5 * high + 0.25 * (high + low) / 2 + 0.25 * low
    assert (
        title_of(figure)
        == "Precision and recall: mean of n = 2 queries, with areas and 95% intervals (queries as independent)"
    )
    # The precisions of the two queries are 1 and 1/2, then 2/3 and 1/2: half their difference is the standard error.
    corners, errors = figure.axes[0].patches[0].get_xy(), np.array([0.25] * 3 + [1 / 12] * 2)
    assert corners[:5] == pytest.approx(np.column_stack([wanted[:, 0], wanted[:, 1] - 1.96 * errors]))
    assert corners[5:7] == pytest.approx(np.array([[1, low + 1.96 / 12], [0.75, low + 1.96 / 12]]))
    assert corners[7:10, 1].tolist() == [1.0] * 3  # .75 + 1.96 * .25, cut at 1
    # Two of three items are relevant, one of three, and none in the list that does not count.
    # The areas of the two queries are 1 - 1/2 * 1/4 - ... = 0.875 (from 1 to 2/3 between 1/2 and 3/4) and 1/2.
    half = 1.96 * (0.875 - 0.5) / 2
    said = f"mean curve: area {area:.4f} ± {half:.4f}"
    assert areas_in(figure.axes[0]) == [said, "chance: 0.5000"]
    assert f"{area:.4f}" == "0.6875"
    assert xy(chance) == [[0.0, 0.5], [1.0, 0.5]]
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == (
        "recall",
        "interpolated precision",
    )
    with pytest.raises(MetricError, match="precision_recall needs a list with a relevant item; got none"):
        plots.precision_recall(from_ranking([[0, 0]]))
    with pytest.raises(MetricError, match="relevant and irrelevant items tie"):
        plots.precision_recall(from_scores([[1, 0]], [[1.0, 1.0]]))


def lifted(fpr, tpr, x):
    """The height of a curve at x: its upper end where it rises, else the straight line between its points."""
    at = [y for found, y in zip(fpr, tpr) if found == x]
    if at:
        return max(at)
    i = max(i for i, found in enumerate(fpr) if found < x)
    return tpr[i] + (tpr[i + 1] - tpr[i]) * (x - fpr[i]) / (fpr[i + 1] - fpr[i])


def test_roc_mean_of_queries(drawing, results):
    """The mean over queries, point by point; ties are slopes, which start at 0 and end at 1."""
    by_hand = plots.roc(from_scores([[1, 0, 0], [0, 1]], [[2.0, 2.0, 1.0], [1.0, 2.0]]))
    *_, chance, mean = by_hand.axes[0].lines
    assert xy(mean)[:3] == [[0.0, 0.0], [0.0, 0.5], [0.01, pytest.approx(0.51)]]
    assert all(x == y for x, y in xy(chance))
    assert (xy(chance)[0], xy(chance)[-1]) == ([0.0, 0.0], [1.0, 1.0])
    # One query rises from 0 to 1 over half the axis, the area below it is 3/4; the other is 1 everywhere: a standard
    # error of 1/8.
    said = f"mean curve: AUC 0.8750 ± {1.96 / 8:.4f}"
    assert areas_in(by_hand.axes[0]) == [said, "chance: 0.5000"]
    assert title_of(by_hand) == "ROC: mean of n = 2 queries, with AUC and 95% intervals (queries as independent)"
    lists = results[0].lists()
    figure = plots.roc(lists)
    *_, mean = figure.axes[0].lines
    curves = [(of["fpr"].tolist(), of["tpr"].tolist()) for _, of in roc_curves(lists).groupby("query")]
    assert len(curves) == len(lists)
    for x, y in xy(mean)[1::10]:
        assert y == pytest.approx(sum(lifted(*curve, x) for curve in curves) / len(curves), rel=1e-12)
    points = xy(mean)
    areas = [sum((b - a) * (c + d) / 2 for a, b, c, d in zip(x, x[1:], y, y[1:])) for x, y in curves]
    area = sum(areas) / len(areas)
    assert (
        title_of(figure)
        == f"ROC: mean of n = {len(lists)} queries, with AUC and 95% intervals (queries as independent)"
    )
    half = 1.96 * statistics.stdev(areas) / len(areas) ** 0.5
    said = f"mean curve: AUC {area:.4f} ± {half:.4f}"
    assert areas_in(figure.axes[0])[0] == said
    at = len(points) // 2
    heights = [lifted(*curve, points[at][0]) for curve in curves]
    error = statistics.stdev(heights) / len(heights) ** 0.5
    assert figure.axes[0].patches[0].get_xy()[at][1] == pytest.approx(max(0, points[at][1] - 1.96 * error))
    named = replaced(results[0], facts={**results[0].facts, "model": "A $x$", "dataset": "ring"})
    said = f" on ring, filtered: mean of n = {len(lists)} queries, with AUC and 95% intervals (queries as independent)"
    assert title_of(plots.roc(named)) == f"ROC{said}"
    assert areas_in(plots.roc(named).axes[0])[0] == f"A $x$: AUC {area:.4f} ± {half:.4f}"
    assert title_of(
        plots.precision_recall(named, "optimistic")
    ) == f"Precision and recall, optimistic ties{said}".replace("AUC", "areas")
    with pytest.raises(MetricError, match="roc needs a list with both relevant and irrelevant items; got none"):
        plots.roc(from_ranking([[1, 1]]))
    with pytest.raises(kgeval.KgevalError, match="the mean of all queries is drawn"):
        plots.roc(lists, sample_seed=1)


@pytest.mark.parametrize("ranks", [[2] * 30, list(range(2, 21))])
def test_areas_of_roc_tell_small_ranks_apart(drawing, ranks):
    """Of 2,000 candidates with one relevant item, the area is 1 less the share of irrelevant items before it."""
    lists = from_ranking([[0] * (rank - 1) + [1] + [0] * (2000 - rank) for rank in ranks])
    areas = [1 - (rank - 1) / 1999 for rank in ranks]
    half = 1.96 * statistics.stdev(areas) / len(areas) ** 0.5
    assert areas_in(plots.roc(lists).axes[0])[0] == f"mean curve: AUC {statistics.mean(areas):.4f} ± {half:.4f}"


def test_the_roc_of_long_lists_is_logarithmic(drawing):
    """Two relevant items of 200, at places 1 and 101: 198 irrelevant ones, of which 99 stand before the second."""
    figure = plots.roc(from_ranking([[1] + [0] * 99 + [1] + [0] * 99]))
    axes = figure.axes[0]
    _, chance, mean = axes.lines
    assert axes.get_xscale() == "log"
    assert axes.get_xlim()[0] < 1 / 400 < 1.0 < axes.get_xlim()[1] < 1.2  # the names stand at the left
    points = np.array(xy(mean))
    assert points[:, 1] == pytest.approx(np.where(np.arange(len(points)) < np.argmax(points[:, 1]), 0.5, 1.0))
    (rise,) = points[:-1][np.diff(points[:, 1]) > 0]
    assert 99 / 198 <= rise[0] < 99 / 198 * 1.02
    assert areas_in(axes) == ["mean curve: AUC 0.7500", "chance: 0.5000"]  # (99 * 1/2 + 99 * 1) / 198
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.01", "0.1", "1"][::-1]
    assert all(x == y for x, y in xy(chance))


def test_logarithmic_curves_have_steps(drawing):
    """Of 5,000 items, of which those at places 1, 3, 7 and 15 are relevant: vertical, within 3% of their places."""
    items = np.zeros(5000, dtype=int)
    items[[0, 2, 6, 14]] = 1
    points = np.array(xy(plots.roc(from_ranking([items])).axes[0].lines[2]))
    (across, up), n = np.diff(points.T), 4996
    assert not (across * up).any()
    rises = points[:-1][up > 0]
    assert rises[:, 1] == pytest.approx([0.25, 0.5, 0.75])
    before = np.array([1, 4, 11]) / n  # irrelevant items before each relevant one but the first
    assert (rises[:, 0] >= before).all()
    assert (rises[:, 0] < 1.03 * before).all()
    assert points[0].tolist() == [pytest.approx(0.5 / 5000), 0.25]
    assert points[:, 1].max() == points[-1, 1] == 1.0


def test_the_axis_of_precision_begins_at_0(drawing):
    """However far the chance level is below the curves: a cut axis would magnify their differences."""
    lists = {"a": from_ranking([[1] + [0] * 99]), "b": from_ranking([[1, 1, 1, 0, 1, 1, 0, 1, 1, 1] + [0] * 990])}
    (axes,) = plots.precision_recall(lists).axes
    assert -0.1 < axes.get_ylim()[0] <= 0.0
    assert [text for text in areas_in(axes) if "chance" in text] == ["a, chance: 0.0100", "b, chance: 0.0080"]
    assert len(axes.lines) == 5


def test_curves_of_several_models(drawing, results):
    """One curve for each of results, of lists by name, or of a comparison, whose best model is the first."""
    lists = [result.lists() for result in results]
    alone = [xy(plots.roc(one).axes[0].lines[-1]) for one in lists]
    figure = plots.roc(results, names=["a", "b"])
    *_, second, first = figure.axes[0].lines
    assert [xy(first), xy(second)] == alone
    assert [text[:3] for text in areas_in(figure.axes[0])] == ["a: ", "b: ", "cha"]
    compared = kgeval.compare(dict(zip("ab", results)))
    best = "ab"[int(results[1]["mrr"] > results[0]["mrr"])]
    assert areas_in(plots.roc(compared).axes[0])[0].startswith(f"{best}: ")
    named = plots.precision_recall({"x": lists[0], "y": from_ranking([[1, 0, 1]])}, "optimistic").axes[0]
    texts = areas_in(named)
    assert texts[0].startswith(f"x (n = {len(lists[0])}): ")
    # Precision 1 up to recall 1/2, 2/3 at 1, and in between: 1 at .5, 2/3 at .6: 1 - .1 / 6 - .4 / 3.
    assert texts[1] == f"y (n = 1): area {1 - 0.1 / 6 - 0.4 / 3:.4f}"
    # A share of relevant items for each: that of the results, and 2 of 3.
    assert (texts[2][:13], texts[3]) == ("x, chance: 0.", "y, chance: 0.6667")
    both = plots.precision_recall({"x": lists[0], "y": lists[0]}, "optimistic", names=["a", "b"]).axes[0]
    assert [text[:3] for text in areas_in(both)] == ["a: ", "b: ", "cha"]
    assert areas_in(plots.roc(lists[0], names={"mean curve": "me"}).axes[0])[0].startswith("me: ")
    many = plots.roc({f"m{i}": lists[0] for i in range(10)}).axes[0]
    assert len(many.patches) == sum("±" in text for text in areas_in(many)) == 1
    for name in ("ComplEx-N3-reciprocal", "a model with a long name"):  # the name is cut, never its numbers
        named = {f"{name}: {i}": from_ranking([[0] * (i % 3) + [1] + [0] * 9] * (i + 1)) for i in range(12)}
        texts = [text.get_text() for text in plots.precision_recall(named, style="paper").axes[0].texts]
        assert all(
            re.fullmatch(rf".+\nn = {i + 1}\narea \d\.\d{{4}}( ± \d\.\d{{4}})?", text)
            for i, text in enumerate(texts[:12])
        )
        assert len({text.split("\n")[0] for text in texts[:12]}) == 12
    own = drawing.figure.Figure().subplots()  # with a legend
    plots.roc({"a": lists[0], "b": lists[0]}, ax=own)
    assert legend_texts(own) == areas_in(plots.roc({"a": lists[0], "b": lists[0]}).axes[0])
    other = replaced(results[1], facts={**results[1].facts, "dataset_fingerprint": "0"})
    assert "not comparable: the results differ in dataset" in title_of(plots.roc([results[0], other], names=["a", "b"]))
    with pytest.raises(MetricError, match="roc needs a list with both relevant and irrelevant items; got none in 'y'"):
        plots.roc({"x": lists[0], "y": from_ranking([[1, 1]])})
    with pytest.raises(ProtocolError, match="result 0 must be an EvaluationResult"):
        plots.roc([1, 2], names=["a", "b"])
    with pytest.raises(ProtocolError, match="result 0 must be an EvaluationResult"):
        plots.rank_distribution(5)


def faces(axes, place=-1):
    """Whether each mark of the dots at a place is filled; by default of the last ones."""
    return [tuple(colour[:3]) != (1.0, 1.0, 1.0) for colour in axes.collections[place].get_facecolors().tolist()]


def test_difference_plot_of_a_table(drawing):
    """Every metric on axes of its own; filled where decided, whatever the interval; without a decision, beyond 0."""
    table = pd.DataFrame(
        {
            "first": ["$A$", "$A$", "_B", "$A$"], "second": ["_B", "_B", "C", "C"],
            "metric": ["mrr", "mr", "mrr", "mrr"],
            "difference": [0.1, -20.0, -0.2, NAN], "low": [0.05, -45.0, NAN, NAN], "high": [0.15, 5.0, NAN, NAN],
            "n": [480] * 4,
        }
    )  # fmt: skip
    figure = plots.difference_plot(table)
    shares, ranks = figure.axes
    assert [axes.get_xlabel() for axes in figure.axes] == ["difference of MRR", "difference of MR (lower is better)"]
    assert [label.get_text() for label in shares.get_yticklabels()] == ["$A$ − _B", "_B − C"]
    assert (dots(shares), faces(shares)) == ([[[0.1, 0.0], [-0.2, 1.0]]], [True, False])
    assert segments(shares.lines[1]) == [[[0.05, 0.0], [0.15, 0.0]]]
    assert (dots(ranks), faces(ranks)) == ([[[-20.0, 0.0]]], [False])
    assert segments(ranks.lines[1]) == [[[-45.0, 0.0], [5.0, 0.0]]]
    small = table.assign(metric="mrr", difference=[0.1, 0.00003, -0.2, NAN], better=["", "$A$", "", ""])
    numbers_at_right = [text.get_text() for text in plots.difference_plot(small).axes[0].texts]
    assert numbers_at_right == ["+0.10000", "+0.00003", "-0.20000"]  # a decided difference never reads as 0
    cut = "3 of 4 differences: the others are undefined, n = 480; filled: "
    assert title_of(figure) == f"{cut}the interval excludes 0"
    decided = plots.difference_plot(table.assign(better=["", "$A$", "C", ""]))
    assert [faces(axes) for axes in decided.axes] == [[False, True], [True]]
    assert title_of(decided) == f"{cut}decided"
    relations = plots.difference_plot(table.drop(columns=["first", "metric"]).set_axis(list("wxyz")), limit=2)
    assert [label.get_text() for label in relations.axes[0].get_yticklabels()] == ["w (480)", "x (480)"]
    assert title_of(relations) == "2 of 4 differences: the first ones; filled: the interval excludes 0"
    with pytest.raises(MetricError, match="a table of differences lacks low, high; needed: difference, low, high"):
        plots.difference_plot(table[["difference"]])
    with pytest.raises(MetricError, match="difference_plot needs a finite difference; got none in 1 rows"):
        plots.difference_plot(table.iloc[3:])


def ring(n, order):
    """Models of a ring of n entities, from good (m0) to bad (m5), in an order."""
    noise = np.random.default_rng(3).normal(size=(n, n))
    dataset = Dataset.from_arrays(test=[[i, 0, (i + 1) % n] for i in range(n)], n_entities=n, n_relations=1)
    models = {f"m{i}": lambda s, p, o, i=i: -((o - s - 1) % n) + 4.0 * i * noise[s, o] for i in order}
    return {name: kgeval.evaluate(score, dataset, progress=False) for name, score in models.items()}


@pytest.fixture(scope="module")
def six():
    return ring(40, (4, 0, 5, 2, 1, 3))


def test_difference_plots_start_with_the_leader(drawing, six):
    """As many marks are filled as rows are decided; the leader's pairs come first, then those of the second model."""
    comparison = kgeval.compare(six, metrics="mrr,mr")
    by_value = comparison.values["mrr"].sort_values(ascending=False).index.tolist()
    alone = plots.difference_plot(comparison)
    assert title_of(alone).startswith("15 differences")
    assert title_of(alone).endswith("decided, interval excludes 0 (Holm, 30 tests)")
    figure = plots.difference_plot(comparison.differences, limit=40)
    for axes, metric in zip(figure.axes, ("mrr", "mr")):
        rows = comparison.differences[comparison.differences["metric"] == metric].set_index(["first", "second"])
        pairs = list(itertools.combinations(by_value, 2))
        assert [label.get_text() for label in axes.get_yticklabels()] == [f"{one} − {two}" for one, two in pairs]
        assert [x for x, _ in dots(axes)[0]] == rows.loc[pairs, "difference"].tolist()
        assert faces(axes) == (rows.loc[pairs, "better"] != "").tolist()
        assert (
            np.array(segments(axes.lines[1]))[:, :, 0].tolist() == rows.loc[pairs, ["low", "high"]].to_numpy().tolist()
        )
    assert title_of(figure).startswith("30 differences")
    few = plots.difference_plot(comparison.differences, limit=10)
    assert [len(dots(axes)[0]) for axes in few.axes] == [5, 5]
    assert [[label.get_text() for label in axes.get_yticklabels()] for axes in few.axes] == [by_value[1:]] * 2
    titles = ("difference of MRR", "difference of MR (lower is better)")
    assert [axes.get_xlabel() for axes in few.axes] == [f"{title}: {by_value[0]} − other" for title in titles]
    assert title_of(few).startswith("10 of 30 differences: the first ones on ")


def test_of_many_pairs_a_paper_has_those_of_the_best_model(drawing, six):
    """Of 15 pairs of six models, the 5 of the best one; with a limit, and of 10 pairs, all are drawn."""
    comparison = kgeval.compare(six)
    best, *others = comparison.values["mrr"].sort_values(ascending=False).index
    figure = plots.difference_plot(comparison, style="paper")
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == others
    assert figure.axes[0].get_xlabel() == f"difference of MRR: {best} − other"
    assert title_of(figure) == "5 of 15 differences: those of the best model"
    assert figure.get_label().startswith("5 of 15 differences: those of the best model on ")
    whole = plots.difference_plot(comparison, style="paper", limit=15)
    assert (len(dots(whole.axes[0])[0]), title_of(whole)) == (15, "")
    five = plots.difference_plot(kgeval.compare({name: six[name] for name in others}), style="paper")
    assert (len(dots(five.axes[0])[0]), title_of(five)) == (10, "")
    found = {"x": six, "y": ring(30, (0, 1, 2, 3, 4, 5))}
    bench = kgeval.benchmark({(name, 1, data): found[data][name] for name in six for data in "xy"})
    of_each = plots.difference_plot(bench, style="paper")
    assert [len(dots(axes)[0]) for axes in of_each.axes] == [5, 5]
    assert of_each.get_label().startswith("10 of 30 differences: those of the best model; ")
    pairs = comparison.differences  # against a baseline, which is not the best model, the first ones
    against = pairs[(pairs["first"] == others[-1]) | (pairs["second"] == others[-1])]
    drawn = plots.difference_plot(against, style="paper")
    assert (len(against), title_of(drawn)) == (25, "20 of 25 differences: the first ones")
    assert drawn.get_label().startswith("20 of 25 differences: the first ones ")


def test_difference_plot_of_a_benchmark(drawing, six):
    """One panel for each dataset, of the primary metric."""
    found = {"x": six, "y": ring(30, (0, 4, 5))}
    runs = {(name, 1, dataset): found[dataset][name] for name in ("m4", "m0", "m5") for dataset in found}
    bench = kgeval.benchmark(runs, metrics="mrr,mr")
    figure = plots.difference_plot(bench)
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "difference of MRR"]  # below one axis of both
    assert [axes.get_ylabel() for axes in figure.axes] == ["x", "y"]
    assert [{text.get_text() for text in axes.get_xticklabels()} == {""} for axes in figure.axes] == [True, False]
    rows = bench.differences[bench.differences["dataset"] == "x"].set_index(["first", "second"])
    pairs = [tuple(label.get_text().split(" − ")) for label in figure.axes[0].get_yticklabels()]
    assert [x for x, _ in dots(figure.axes[0])[0]] == rows.loc[pairs, "difference"].tolist()
    assert faces(figure.axes[0]) == (rows.loc[pairs, "better"] != "").tolist()
    assert len(pairs) == 3
    with pytest.raises(MetricError, match="shows the ranks of one dataset; pass results of one of x, y"):
        plots.hits_curve(bench)


def names_of_models(figure):
    """The names beside curves in the order of the colours: a line leads from the end of each curve to its name."""
    (axes,) = figure.axes
    names = {round(text.xy[1], 9): text.get_text() for text in axes.texts}
    *curves, _ = curves_of(axes)
    assert [curve.get_color() for curve in curves] == list(COLOURS[: len(curves)])
    leads = segments(axes.lines[0])[: len(curves)]
    for (start, _), curve in zip(leads, curves):
        assert list(start) in (xy(curve)[0], xy(curve)[-1])
    return [names[round(end[1], 9)] for _, end in leads]


def test_models_of_comparisons_and_benchmarks_come_best_first(drawing, six):
    """Whatever their order there; a list keeps its order."""
    comparison, bench = kgeval.compare(six, metrics="mr"), kgeval.benchmark({(name, "x"): six[name] for name in six})
    by_value = comparison.values["mr"].sort_values().index.tolist()
    assert names_of_models(plots.hits_curve(comparison)) == by_value
    by_value = bench.values["x"].sort_values(ascending=False).index.tolist()
    assert legend_texts(plots.relation_comparison(bench).axes[0]) == by_value
    assert names_of_models(plots.hits_curve(six)) == list(six)


def test_of_several_seeds_the_run_in_the_middle_is_drawn(drawing, six):
    """By its name, of a model with two runs the lower one; a benchmark of one dataset is named by it."""
    runs = {("A", 1): six["m1"], ("A", 2): six["m0"], ("A", 3): six["m2"], ("B", 1): six["m5"], ("B", 2): six["m4"]}
    bench = kgeval.benchmark({(*run, "x"): result for run, result in runs.items()}, metrics="mrr")
    middle = []
    for model, place in (("A", 1), ("B", 0)):
        middle.append(sorted((run for run in runs if run[0] == model), key=lambda run: runs[run]["mrr"])[place])
    names = [f"{model} seed {seed}" for model, seed in middle]
    figure = plots.hits_curve(bench)
    assert names_of_models(figure) == names
    firsts = [line.get_ydata()[0] for line in curves_of(figure.axes[0])[:2]]
    assert firsts == [runs[run]["hits@1"] for run in middle]
    assert legend_texts(plots.relation_comparison(bench).axes[0]) == names


def test_a_caption_names_each_dataset(drawing, results):
    """Of results that do not compare, as the caution below it says."""
    other = replaced(results[1], facts=results[1].facts | {"dataset": "other", "dataset_fingerprint": "0" * 64})
    title = title_of(plots.hits_curve([results[0], other], names=["a", "b"]))
    assert title.startswith(f"Hits@k on {results[0].facts['dataset']} and other: n = ")


def test_a_cut_plot_of_groups_has_gains_and_losses(drawing):
    """Of eight gains and two losses, all smaller: four rows have three gains and a loss, by contribution."""
    sizes = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, -0.2, -0.1]
    ends = dict.fromkeys(("difference", "low", "high", "contribution"), sizes)
    frame = pd.DataFrame(ends, index=pd.Index(list("abcdefghij"), name="relation"))
    figure = plots.difference_plot(frame, limit=4)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", "b", "c", "i"]
    assert title_of(figure).startswith("4 of 10 differences: the largest contributions to gains and losses; ")
    assert [len(dots(plots.difference_plot(frame[:8], limit=4).axes[0])[0])] == [4]  # no loss
    equal = frame.assign(contribution=[0.3, 0.2, 0.1, *[0.0] * 4, np.nan, -0.2, -0.1])
    figure = plots.difference_plot(equal, limit=5)  # five rows contribute, neither a 0 nor a NaN
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", "b", "c", "j", "i"]
    undefined = plots.difference_plot(frame.assign(difference=[*sizes[:9], np.nan]))
    assert title_of(undefined).startswith("9 of 10 differences: the others are undefined; ")


def test_no_marker_is_cut(drawing, results):
    """The axis of k goes on beyond the first and the last marker; its ticks do not."""
    axes = drawing.figure.Figure().subplots()
    plots.hits_curve(results, limit=100, ax=axes)
    low, high = axes.get_xlim()
    assert 0.85 < low < 0.95
    assert 105 < high < 115
    axes = plots.hits_curve(results, limit=100).axes[0]
    assert axes.get_xlim()[0] < 1 < 100 < axes.get_xlim()[1]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "3", "10", "30", "100"]


def test_the_legend_of_pale_bars_has_the_colour_of_no_model(drawing, results):
    without = replaced(results[0], table=results[0].table.assign(tied_filtered=0))
    figure = plots.rank_distribution([without, results[1]], ["a", "b"])
    pale = figure.legends[0].get_patches()[legend_texts(figure.axes[0]).index("faint: tied with a rival")]
    assert (drawing.colors.to_hex(pale.get_facecolor()), pale.get_alpha()) == (figure_matplotlib.INK, 0.35)


def figure_of_pairs(names, **more):
    """The differences of two models."""
    table = pd.DataFrame({"first": names[:1], "second": names[1:], "metric": "mrr", "difference": 0.1})
    return plots.difference_plot(table.assign(low=0.0, high=0.2), **more)


def test_names_of_pairs_and_relations_stay_different(drawing):
    """Long names of a pair stand in two lines; the part in which two paths differ is seen in a narrow column."""
    first = [f"a model with a long name, {i}" for i in range(4)]
    pairs = pd.DataFrame({"first": first, "second": first[1:] + first[:1], "metric": "mrr"})
    figure = plots.difference_plot(pairs.assign(difference=0.1, low=0.0, high=0.2), style="paper")
    labels = [text.get_text().split(" −\n") for text in figure.axes[0].get_yticklabels()]
    shown = [f"a model …name, {i}" for i in range(4)]
    assert sorted(labels) == [list(pair) for pair in zip(shown, shown[1:] + shown[:1])]
    short_names = figure_of_pairs(["ComplEx", "DistMult"], style="paper").axes[0].get_yticklabels()
    assert [text.get_text() for text in short_names] == ["ComplEx − DistMult"]
    paths = [f"/award/{kind}/award_honor/winner_of_the_award" for kind in ("winners", "nominee")]
    frame = pd.DataFrame({"n": [20, 10], "mrr": [0.5, 0.4]}, index=paths)
    whole = [f"{path} ({n})" for path, n in zip(paths, (20, 10))]
    assert labels_in(plots.relation_comparison(frame).axes[0]) == whole  # 46 characters have room
    figure = plots.relation_comparison(frame, style="paper")
    assert labels_in(figure.axes[0]) == [
        "…/winners/…/winner_of_the_award (20)",
        "…/nominee/…/winner_of_the_award (10)",
    ]
    region = "/film/film/release_date_s./film/film_regional_release_date/film_release_region"
    longer = "/award/award_nominated_work/award_nominations./award/award_nomination/award_nominee"
    for style in STYLES:  # no label leaves the figure, and none moves the axes
        figure = plots.relation_comparison(frame.set_axis([region, longer]), style=style)
        figure.draw_without_rendering()
        assert figure.axes[0].get_window_extent().width > 0.5 * figure.bbox.width
        assert all(text.get_window_extent().x0 >= 0 for text in figure.axes[0].get_yticklabels())


def test_a_paper_has_fewer_relations(drawing, six):
    many = pd.DataFrame({"n": 20, "mrr": np.linspace(0.1, 0.9, 40)}, index=[f"r{i}" for i in range(40)])
    counts = [len(labels_in(plots.relation_comparison(many, style=style).axes[0])) for style in STYLES]
    assert counts == [20, 10]


def test_panels_of_one_metric_have_one_axis(drawing):
    """On x the ends are 0 and 0.4, on y -0.2 and 0.1: both from -0.2 to 0.4, with a margin of 5%; MR has its own."""
    table = pd.DataFrame(
        {"first": "a", "second": "b", "metric": ["mrr", "mrr", "mr"], "dataset": ["x", "y", "y"],
         "difference": [0.3, -0.1, 5.0], "low": [0.2, -0.2, 4.0], "high": [0.4, 0.1, 6.0]}
    )  # fmt: skip
    limits = [axes.get_xlim() for axes in plots.difference_plot(table).axes]
    assert np.array(limits) == pytest.approx(np.array([(-0.23, 0.43), (-0.23, 0.43), (-0.3, 6.3)]))


def test_relations_are_filled_where_they_are_decided(drawing, six):
    comparison = kgeval.compare([six["m0"], six["m5"]], names=["a", "b"])
    frame = comparison.by("side")
    figure = plots.difference_plot(frame)
    assert faces(figure.axes[0]) == frame["decided"].tolist()
    drawn = [[low[0], high[0]] for low, high in segments(figure.axes[0].lines[1])]
    assert drawn == frame[["low_corrected", "high_corrected"]].to_numpy().tolist()
    assert (frame["low_corrected"] < frame["low"]).all()
    dataset = comparison.results[0].facts["dataset"]
    assert title_of(figure) == f"2 differences on {dataset}; filled: decided (95% intervals, corrected for 2 groups)"
    assert figure.axes[0].get_xlabel() == "difference of MRR: a \u2212 b"
    lower = plots.difference_plot(comparison.by("side", "mr"), names={"a": "new"}).axes[0]
    assert lower.get_xlabel() == "difference of MR (lower is better): new \u2212 b"
    with pytest.raises(MetricError, match=r"needs a comparison, a benchmark or a table; got list; see kg\.compare"):
        plots.difference_plot([six["m0"], six["m5"]])
    open_ended = frame.assign(low_corrected=[np.nan, 0.1], high_corrected=[np.nan, 0.2])
    caution = "1 without an interval: too few triples"
    assert caution in title_of(plots.difference_plot(open_ended))
    assert title_of(plots.difference_plot(frame.iloc[:1])).endswith("(95% intervals, corrected for 2 groups)")
    pairs = plots.difference_plot(comparison, title=None, style="paper")
    said = f"1 difference on {dataset}, n = 80; filled: decided, interval excludes 0 (Holm, 5 tests)"
    assert (pairs.get_label(), title_of(pairs)) == (said, "")
    assert len(plots.difference_plot(comparison.differences).axes) == 5  # each metric
    as_they_are = plots.difference_plot(frame.drop(columns=["low_corrected", "high_corrected"]))
    assert title_of(as_they_are) == f"2 differences on {dataset}; filled: decided"


def test_the_direction_is_that_of_the_metric(drawing):
    """Whatever is decided; the average and the setting before a key change nothing."""
    lower = {
        "mr": True, "mrr": False, "raw.object.mr": True, "macro.mr": True, "query.map": False, "adjusted(mr)": False,
        "brier": True, "accuracy": False, "unknown": False,
    }  # fmt: skip
    table = pd.DataFrame({"first": "a", "second": "b", "metric": [*lower], "difference": 1.0, "low": 0.5, "high": 2.0})
    figure = plots.difference_plot(table.assign(better=""))
    assert [axes.get_xlabel().endswith(" (lower is better)") for axes in figure.axes] == [*lower.values()]


def test_results_without_ranks(drawing, results):
    empty = replaced(results[0], table=results[0].table.iloc[:0], n_read=0)
    for draw in (plots.rank_distribution, plots.hits_curve):
        with pytest.raises(MetricError) as caught:
            draw([results[0], empty], ["a", "b"])
        assert str(caught.value) == f"{draw.__name__} needs ranks; result 'b' has no ranks"


def texts_of(figure):
    from matplotlib.text import Text

    return [text for text in figure.findobj(Text) if text.get_text()]


def test_labels_are_no_formulas(drawing, results, tmp_path):
    """A formula that matplotlib cannot read would raise; a label that it can would be shown as another."""
    bad = [r"$\nosuchcommand{", "_$x$\x1b[1m"]
    frame = FRAME.rename(index={"few": r"$\frac", "$many$": "$a$"})
    frame.index.name = "$d$ $"
    differences = pd.DataFrame({"difference": [1.0], "low": [0.0], "high": [2.0]}, index=[r"$\x$"])
    figures = [
        plots.rank_distribution(results, bad),
        plots.relation_comparison([frame, OTHER], names=bad),
        plots.degree_curve([frame, OTHER], names=bad),
        plots.difference_plot(differences),
    ]
    for figure in figures:
        plots.save_figure(figure, tmp_path / "x.svg", overwrite=True)
        shown = [text for text in texts_of(figure) if "$" in text.get_text()]
        assert shown
        assert not any(text.get_parse_math() for text in shown)
    named = [text.partition(" (")[0] for text in legend_texts(figures[0].axes[0])]
    assert named == [bad[0], "_$x$\\x1b[1m", "faint: tied with a rival"]


def test_many_models_can_be_told_apart_in_grey():
    """15 colours; 56 pairs of dashes and marker; neighbours differ in both."""
    assert len(COLOURS) == len(DARK_COLOURS) == N_COLOURS == 15
    assert len(DASHES) == len(HATCHES) == N_PATTERNS == patterns().count("<pattern") + 1
    styles = [(DASHES[i % len(DASHES)], MARKERS[i % len(MARKERS)][0]) for i in range(56)]
    assert len(set(styles)) == 56
    for one, two in zip(styles, styles[1:]):
        assert one[0] != two[0]
        assert one[1] != two[1]
    assert (len(DASHES), len(MARKERS)) == (8, 7)


# Machado, Oliveira and Fernandes (2009), A Physiologically-based Model for Simulation of Color Vision Deficiency,
# severity 1.0, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(colour):
    """Linear RGB of a colour such as "#0072b2"."""
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE Lab of linear RGB under D65."""
    t = TO_XYZ @ rgb / np.array([0.95047, 1.0, 1.08883])
    x, y, z = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def smallest_distance(colours, vision):
    """The least distance of two colours in CIE Lab, as a person with this vision sees them."""
    seen = [lab(np.clip(VISION[vision] @ linear(colour), 0, 1)) for colour in colours]
    return min(np.linalg.norm(one - two) for one, two in itertools.combinations(seen, 2))


def test_the_measure_of_colours_is_right():
    """White is 100, 0, 0; sRGB red as in tables; red and green of equal brightness are alike in deuteranopia only."""
    assert lab(linear("#ffffff")) == pytest.approx([100, 0, 0], abs=0.02)
    assert lab(linear("#ff0000")) == pytest.approx([53.24, 80.09, 67.20], abs=0.02)
    assert (
        smallest_distance(["#b06000", "#708000"], "deuteranopia")
        < 15
        < smallest_distance(["#b06000", "#708000"], "normal")
    )
    assert smallest_distance(["#d55e00", "#b97700"], "deuteranopia") < 10  # two colours of version 0.1.0


@pytest.mark.parametrize("colours", [COLOURS, DARK_COLOURS], ids=["light", "dark"])
def test_colours_are_told_apart(colours):
    """By normal eyes and by both kinds of red-green blindness; a distance of 20 is ten times a just visible one."""
    assert len(set(colours)) == 15
    assert smallest_distance(colours[:8], "normal") > 35
    assert smallest_distance(colours[:8], "deuteranopia") > 25
    assert smallest_distance(colours[:8], "protanopia") > 24
    assert smallest_distance(colours, "normal") > 27
    assert smallest_distance(colours, "deuteranopia") > 18
    assert smallest_distance(colours, "protanopia") > 18
    brightness = [TO_XYZ[1] @ linear(colour) for colour in colours]
    ground = TO_XYZ[1] @ linear("#ffffff" if colours is COLOURS else "#1f242a")
    for own in brightness:
        assert (max(own, ground) + 0.05) / (min(own, ground) + 0.05) >= 3


def test_long_labels_keep_both_ends():
    assert short("a" * 40, 40) == "a" * 40
    assert short("a" * 25 + "b" * 25, 40) == "a" * 18 + "…" + "b" * 21
    assert short("abcdef", 5) == "a…def"
    assert len(short("x" * 99, 40)) == 40


def test_files_are_equal_byte_by_byte(drawing, results, tmp_path):
    """Two figures of the same numbers, saved at different times: no date and no random name in the file."""
    for ending in ("svg", "pdf", "png"):
        for name in ("a", "b"):
            plots.save_figure(plots.hits_curve(results, NAMES), tmp_path / f"{name}.{ending}")
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    assert b"<dc:date>" not in (tmp_path / "a.svg").read_bytes()
    starts = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
    assert all((tmp_path / f"a.{ending}").read_bytes().startswith(start) for ending, start in starts.items())
    with pytest.raises(DataError) as caught:
        plots.save_figure(plots.hits_curve(results), tmp_path / "a.svg")
    said = "exists; choose another name, or use overwrite=True (--overwrite)"
    assert str(caught.value) == f"{tmp_path / 'a.svg'} {said}"
    with pytest.raises(DataError) as caught:
        plots.save_figure(plots.hits_curve(results), tmp_path / "a.jpg")
    assert str(caught.value) == f"{tmp_path / 'a.jpg'}: expected a name that ends in .png, .svg, .pdf; got '.jpg'"
    assert len(list(tmp_path.iterdir())) == 6


def test_no_state_of_matplotlib_is_touched(drawing, results, tmp_path):
    """Neither pyplot nor a setting: whoever draws in a notebook finds matplotlib as it was."""
    before = dict(drawing.rcParams)
    loaded = "matplotlib.pyplot" in sys.modules
    plots.save_figure(plots.rank_distribution(results), tmp_path / "x.svg")
    assert dict(drawing.rcParams) == before
    assert ("matplotlib.pyplot" in sys.modules) == loaded


DRAWN = {
    "rank_distribution": lambda results, **more: plots.rank_distribution(results, **more),
    "hits_curve": lambda results, **more: plots.hits_curve(results, **more),
    "relation_comparison": lambda results, **more: plots.relation_comparison(FRAME, **more),
    "degree_curve": lambda results, **more: plots.degree_curve(FRAME, **more),
    "precision_recall": lambda results, **more: plots.precision_recall(from_ranking([1, 0]), **more),
    "roc": lambda results, **more: plots.roc(from_ranking([1, 0]), **more),
    "difference_plot": lambda results, **more: plots.difference_plot(
        pd.DataFrame({"difference": [1.0], "low": 0.0, "high": 2.0}), **more
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_without_matplotlib(monkeypatch, results, name):
    others = {"save_figure", "critical_differences"}  # the latter is in test_difference_plots.py
    assert set(DRAWN) == set(plots.__all__) - others
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra) as caught:
        DRAWN[name](results)
    assert str(caught.value) == 'pictures need matplotlib; pip install "kgeval[report]"'


STYLES = ["screen", "paper"]
LONG = pd.DataFrame(
    {"n": 1000, "mrr": np.linspace(0, 1, 24), "mrr low": 0.0, "mrr high": 1.0},
    index=pd.Index([f"{10**i if i < 9 else i}-{'w' * (i % 17)} {i}" for i in range(24)], name="x" * 60),
)
CROWDED = {
    **DRAWN,
    "relations_with_long_names": lambda results, **more: plots.relation_comparison(LONG, **more),
    "many_buckets": lambda results, **more: plots.degree_curve([LONG, LONG], names=["w" * 40, "v" * 40], **more),
    "many_ranks": lambda results, **more: plots.rank_distribution(
        replaced(results[0], table=results[0].table.assign(better_filtered=range(0, 600_000, 10_000))), **more
    ),
    "many_names": lambda results, **more: plots.hits_curve(
        dict(zip(["m" * 30, "n" * 30, "o" * 30, "p" * 30], [results[0]] * 4)), **more
    ),
    "long_pairs": lambda results, **more: figure_of_pairs(["m" * 40, "n" * 40], **more),
    "differences": lambda results, **more: plots.difference_plot(
        LONG.rename(columns={"mrr": "difference", "mrr low": "low", "mrr high": "high"}), **more
    ),
}


LIGHT = {*DRAWN, "many_buckets", "many_names"}


@pytest.mark.parametrize(
    ("name", "style"),
    [
        pytest.param(name, style, marks=() if style == "paper" and name in LIGHT else pytest.mark.thorough)
        for name in CROWDED
        for style in STYLES
    ],
)
def test_no_label_overlaps_or_is_cut(drawing, results, name, style):
    """Rectangles around the tick labels, titles and legend: none meets another, and each is inside the figure."""
    figure = CROWDED[name](results, style=style)
    figure.draw_without_rendering()
    assert figure.get_figwidth() == {"screen": 6.4, "paper": 3.3}[style]
    texts = []
    for axes in figure.axes:
        titles = [axes._left_title, axes.xaxis.label, axes.yaxis.label]
        texts += [*tick_texts(axes, "x"), *tick_texts(axes, "y"), *(text for text in titles if text.get_text())]
    legend = [text for found in figure.legends for text in found.get_texts()]
    assert len(texts) > 4
    for one, two in itertools.combinations([*texts, *legend], 2):
        assert not overlapping([one, two]), (one.get_text(), two.get_text())
    width, height = figure.bbox.width, figure.bbox.height
    for text in [*texts, *legend]:
        box = text.get_window_extent()
        assert (box.x0, box.y0) > (-1, -1), text.get_text()
        assert box.x1 < width + 1, text.get_text()
        assert box.y1 < height + 1, text.get_text()


def test_overlapping_sees_overlaps(drawing):
    from matplotlib.figure import Figure

    figure = Figure()
    near, far = (figure.text(x, 0.5, "label") for x in (0.5, 0.9))
    assert overlapping([near, figure.text(0.51, 0.51, "other")])
    assert not overlapping([near, far])
    assert not overlapping([near])
    assert not overlapping([])


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", DRAWN)
def test_sizes_of_texts(drawing, results, name, style):
    """All texts have 8 points in a paper and 10 on a screen; labels of ticks may be smaller where they are many."""
    figure = DRAWN[name](results, style=style)
    sizes = {text.get_fontsize() for text in texts_of(figure)}
    size = {"screen": 10.0, "paper": 8.0}[style]
    assert size == max(sizes)
    assert sizes <= {size, *TICK_SIZES}
    assert figure.dpi == {"screen": 150, "paper": 300}[style]


@pytest.mark.parametrize("name", ["hits_curve", *(pytest.param(n, marks=pytest.mark.thorough) for n in DRAWN)])
def test_files_for_papers(drawing, results, name, tmp_path):
    """PDF without Type 3 fonts, SVG with its texts, PNG of 3.3 in at 300 dpi."""
    figure = DRAWN[name](results, style="paper", title="Title of the plot")
    for ending in ("pdf", "svg", "png"):
        plots.save_figure(figure, tmp_path / f"a.{ending}")
    pdf = (tmp_path / "a.pdf").read_bytes()
    parts = [pdf, *(unpacked(part) for part in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.S))]
    assert not any(b"/Type3" in part for part in parts)
    assert any(b"/Subtype /Type0" in part for part in parts)
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert re.search(r"<text[^>]*>Title of the plot</text>", svg)
    png = (tmp_path / "a.png").read_bytes()
    assert int.from_bytes(png[16:20], "big") == 990


def unpacked(part):
    try:
        return zlib.decompress(part)
    except zlib.error:
        return b""


@pytest.mark.parametrize("name", DRAWN)
def test_ax_of_the_user(drawing, results, name):
    """The plot goes into these axes, at the size of the figure; other axes of the figure stay as they are."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4))
    left, right = figure.subplots(1, 2)
    assert DRAWN[name](results, ax=right, title="right") is figure
    assert right.get_title(loc="left").split("\n")[0] == "right"
    assert right.lines or right.patches or right.collections
    assert not left.lines
    assert not left.patches
    assert figure.axes == [left, right]
    assert figure.get_size_inches().tolist() == [9, 4]
    with pytest.raises(MetricError, match=r"ax must be an axes of matplotlib, such as plt.subplots\(\)\[1\]; got str"):
        DRAWN[name](results, ax="right")
    with pytest.raises(MetricError, match="style must be one of 'screen', 'paper'; got 'poster'"):
        DRAWN[name](results, style="poster")


@pytest.mark.parametrize("name", DRAWN)
def test_the_title_of_a_paper_is_its_caption(drawing, results, name):
    """The words are the label of the figure in both styles; a paper has a title only if the user gives one."""
    screen, paper, named = (
        DRAWN[name](results, style=style, title=title)
        for style, title in (("screen", None), ("paper", None), ("paper", "Mine"))
    )
    words = screen.get_label()
    assert len(words) > 10
    assert paper.get_label() == named.get_label() == words
    assert title_of(screen).startswith(words)
    assert (words in title_of(paper), title_of(named).startswith("Mine")) == (False, True)
    assert title_of(screen) == f"{words} {title_of(paper)}".strip()
    axes = drawing.figure.Figure().subplots()
    DRAWN[name](results, style="paper", ax=axes)
    assert (axes.get_label(), axes.figure.get_label()) == (words, "")


def test_figures_of_papers_are_low(drawing, results):
    """Curves with names beside them have 2.2 inches, others a line of a legend more."""
    heights = [
        plot(results, style="paper").get_figheight() for plot in (plots.hits_curve, plots.rank_distribution, plots.roc)
    ]
    assert heights[0] < 2.25
    assert max(heights) < 2.9


def test_cautions_stay_below_a_title_of_the_user(drawing, results):
    other = replaced(results[1], facts={**results[1].facts, "dataset_fingerprint": "other"})
    for title in ("Mine", ""):
        figure = plots.hits_curve([results[0], other], ["a", "b"], title=title)
        assert title_of(figure) == f"{title} not comparable: the results differ in dataset".strip()
    said = "Mine 1 undefined, not drawn"
    assert title_of(plots.relation_comparison(FRAME, title="Mine")) == said
    assert title_of(plots.roc(from_ranking([1, 0]), title="")) == ""


def test_names_replace_labels(drawing, results):
    """A mapping names models, relations, buckets and rows of differences; what it lacks keeps its label."""
    names = {"model 1": "First", "few": "Few", "m1": "One", "b": "Bee"}
    axes = plots.relation_comparison([FRAME, OTHER], names=names).axes[0]
    assert labels_in(axes)[:3] == ["$many$ (40)", "none (5)", "Few (3)"]
    assert legend_texts(axes) == ["First", "model 2", "open: fewer than 10 ranks"]
    assert names_of_models(plots.hits_curve({"m1": results[0], "m2": results[1]}, names)) == ["One", "m2"]
    bucket = plots.degree_curve(FRAME, names={"few": "Few", "relation": "Group"}).axes[0]
    assert "Few" in [label.get_text().split("\n")[0] for label in bucket.get_xticklabels()]
    assert bucket.get_xlabel() == "Group (number of ranks)"
    table = pd.DataFrame(
        {"first": ["a"], "second": ["b"], "metric": ["mrr"], "difference": 1.0, "low": 0.0, "high": 2.0}
    )
    pair = plots.difference_plot(table, names=names).axes[0]
    assert [label.get_text() for label in pair.get_yticklabels()] == ["a − Bee"]
    with pytest.raises(ProtocolError, match="names must be 2 different words"):
        plots.hits_curve({"a": results[0], "b": results[1]}, {"a": "b"})


def test_several_metrics_need_several_axes(drawing):
    from matplotlib.figure import Figure

    table = pd.DataFrame(
        {"first": "a", "second": "b", "metric": ["mrr", "mr"], "difference": 1.0, "low": 0.0, "high": 2.0}
    )
    with pytest.raises(
        MetricError, match=r"ax= holds one panel, and this figure has 2: difference of MRR, difference of MR \(lower"
    ):
        plots.difference_plot(table, ax=Figure().subplots())


def test_the_difference_plot_is_as_high_as_its_rows(drawing):
    table = pd.DataFrame({"difference": [1.0] * 30, "low": 0.0, "high": 2.0})
    heights = [plots.difference_plot(table.iloc[:n]).get_figheight() for n in (1, 2, 30)]
    assert heights[0] < 1.6
    assert heights[1] - heights[0] == pytest.approx((heights[2] - heights[0]) / 29)


def test_the_legend_is_not_on_the_lines(drawing, results):
    """It stands below the axes."""
    for figure in (plots.rank_distribution(results), plots.relation_comparison(results)):
        figure.draw_without_rendering()
        (legend,) = figure.legends
        assert legend.get_window_extent().y1 <= figure.axes[0].get_window_extent().y0


CJK = pd.DataFrame({"n": [2, 1], "mrr": [0.1, 0.2]}, index=pd.Index(["出生地", "국적"], name="国"))


def test_a_font_for_chinese_and_korean(drawing, tmp_path):
    """No glyph is missing in any file; matplotlib would warn."""
    from matplotlib.font_manager import get_font_names

    if "Noto Sans CJK JP" not in get_font_names():
        pytest.skip("needs the font Noto Sans CJK")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for figure in (plots.relation_comparison(CJK), plots.degree_curve(CJK, names={"model 1": "国"})):
            for ending in ("svg", "png", "pdf"):
                plots.save_figure(figure, tmp_path / f"a.{ending}", overwrite=True)


@pytest.mark.filterwarnings("ignore:Glyph")
def test_characters_that_no_font_has_are_named(drawing, monkeypatch):
    """Without the further fonts, matplotlib names the characters of the labels."""
    monkeypatch.setattr(figure_matplotlib, "FALLBACK_FONTS", ("No Such Font",))
    with pytest.warns(UserWarning, match=r"Glyph 20986 \(.*\) missing from"):
        plots.relation_comparison(CJK)


def test_the_picture_of_steps_is_gone():
    with pytest.raises(AttributeError) as caught:
        plots.steps  # noqa: B018
    said = "since kgeval 0.2; write print(kgeval.metrics.retrieval.steps(...)): the table"
    assert str(caught.value) == f"kgeval.report.plots has no attribute 'steps' {said}"
