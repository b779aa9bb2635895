"""Pictures: the numbers in the drawn lines, what the texts say, and files that are equal byte by byte."""

import sys

import numpy as np
import pandas as pd
import pytest
from made_results import replaced

import kgeval
from kgeval import DataError, Dataset, MetricError, MissingExtra, ScoreError
from kgeval.errors import ProtocolError
from kgeval.metrics.retrieval.inputs import from_ranking, from_scores
from kgeval.report import plots
from kgeval.report.figures import LINES, MARKERS, PALETTE, line_style, shorten

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")
NAN = float("nan")
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
    return [text.get_text() for text in axes.get_legend().get_texts()]


def title_of(figure):
    return figure.axes[0].get_title(loc="left")


def test_rank_distribution(drawing, results):
    """The share of ranks up to each distinct rank, from 0 at the best one to 1 at the worst of both models."""
    figure = plots.rank_distribution(results, NAMES)
    axes = figure.axes[0]
    worst = max(max(ranks_of(result)) for result in results)
    for result, line in zip(results, axes.lines):
        ranks = ranks_of(result)
        points = [[x, sum(rank <= x for rank in ranks) / len(ranks)] for x in sorted(set(ranks))]
        assert xy(line) == pytest.approx(np.array([[min(ranks), 0.0], *points, [worst, 1.0]]))
        assert line.get_drawstyle() == "steps-post"
    assert axes.get_xscale() == "log"
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "rank (filtered, realistic ties; logarithmic)",
        "share of ranks up to this rank",
    )
    assert title_of(figure) == f"Ranks on {results[0].about['dataset']}: n = {len(results[0].table)} ranks"
    assert legend_texts(axes) == NAMES


def test_hits_curve(drawing, results):
    """Each point is the result's own hits@k, and the dotted line its chance level."""
    figure = plots.hits_curve(results, NAMES, limit=7)
    axes = figure.axes[0]
    for result, line in zip(results, axes.lines):
        assert xy(line) == [[k, pytest.approx(result[f"hits@{k}"], rel=1e-12)] for k in range(1, 8)]
    chance = [[k, pytest.approx(results[0].chance(f"hits@{k}").value, rel=1e-12)] for k in range(1, 8)]
    assert xy(axes.lines[2]) == chance
    assert legend_texts(axes) == [*NAMES, "chance"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("k (candidates)", "hits@k (filtered, realistic ties)")
    with pytest.raises(MetricError, match="limit must be an integer of at least 1; got 0"):
        plots.hits_curve(results, limit=0)


def test_results_of_different_kinds_are_told_apart(drawing, results):
    """Not the same dataset: said in the title; not as many ranks: beside each name."""
    short = replaced(
        results[1],
        table=results[1].table.iloc[:7],
        n_read=7,
        about={**results[1].about, "dataset_fingerprint": "other"},
    )
    figure = plots.rank_distribution([results[0], short], ["a", "b" * 50])
    assert title_of(figure).endswith("n in the legend\nnot comparable: the results differ in dataset")
    assert legend_texts(figure.axes[0]) == [f"a (n = {len(results[0].table)})", f"{'b' * 11}…{'b' * 12} (n = 7)"]


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


def segments(axes):
    return [[part.tolist() for part in found.get_segments()] for found in axes.collections]


def test_relation_comparison_of_tables(drawing):
    """Most ranks first, whatever the order of the tables; models 0.16 apart; an interval needs both ends."""
    figure = plots.relation_comparison([FRAME, OTHER], names=NAMES, limit=3)
    axes = figure.axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["$many$ (40)", "none (5)", "few (3)"]
    first, second = (line.get_xydata() for line in axes.lines)
    assert first == pytest.approx(np.array([[0.5, -0.08], [NAN, 0.92], [0.2, 1.92]]), nan_ok=True)
    assert second == pytest.approx(np.array([[0.7, 0.08], [NAN, 1.08], [0.1, 2.08]]), nan_ok=True)
    assert np.array(segments(axes)[0]) == pytest.approx(
        np.array([[[0.4, -0.08], [0.6, -0.08]], [[0.1, 1.92], [0.3, 1.92]]])
    )
    assert len(axes.collections) == 1
    assert title_of(figure) == "MRR per relation: 3 of 4 relations, 48 ranks\n2 undefined, not drawn"
    assert axes.get_xlabel() == "MRR"
    assert axes.yaxis_inverted()
    whole = plots.relation_comparison(FRAME, "mrr")
    assert title_of(whole).startswith("MRR per relation: all 4 relations, 49 ranks")
    assert [label.get_text() for label in whole.axes[0].get_yticklabels()][3] == f"{'x' * 14}…{'x' * 15} (1)"


def test_groups_of_results(drawing, results):
    """The table of a result is its own `by`, with its intervals."""
    figure = plots.relation_comparison(results, "hits@3", names=NAMES)
    frame = results[1].by("relation", metrics="hits@3")
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    order = [label.split(" (")[0] for label in labels]
    assert sorted(order) == sorted(frame.index)
    assert labels == [f"{name} ({frame.loc[name, 'n']})" for name in order]
    assert figure.axes[0].lines[1].get_xdata().tolist() == frame.loc[order, "hits@3"].tolist()
    drawn = [[low[0], high[0]] for low, high in segments(figure.axes[0])[1]]
    assert drawn == frame.loc[order, ["hits@3 low", "hits@3 high"]].to_numpy().tolist()
    sides = plots.degree_curve(results[0], "mr", column="side")
    assert sides.axes[0].lines[0].get_ydata().tolist() == results[0].by("side", metrics="mr")["mr"].tolist()


def test_degree_curve_orders_the_buckets(drawing):
    """By their first number, not as text, those without one last."""
    index = pd.Index(["8-15", "unknown", "0", "2-3", "16-31", "1"], name="degree_given")
    frame = pd.DataFrame({"n": [8, 7, 1000, 2, 16, 1], "mrr": [0.8, 0.7, 0.0, 0.2, 1.0, 0.1]}, index=index)
    frame["mrr low"], frame["mrr high"] = frame["mrr"] - 0.01, frame["mrr"] + 0.02
    figure = plots.degree_curve(frame)
    axes = figure.axes[0]
    assert xy(axes.lines[0]) == [[0, 0.0], [1, 0.1], [2, 0.2], [3, 0.8], [4, 1.0], [5, 0.7]]
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "0\n(1,000)", "1\n(1)", "2-3\n(2)", "8-15\n(8)", "16-31\n(16)", "unknown\n(7)",
    ]  # fmt: skip
    assert np.array(segments(axes)[0])[:, :, 1] == pytest.approx(
        np.array([[v - 0.01, v + 0.02] for _, v in xy(axes.lines[0])])
    )
    assert title_of(figure) == "MRR by degree_given: 1,034 ranks"
    intervals = frame.set_axis(pd.Index(pd.IntervalIndex.from_breaks([2, 3, 4, 5, 6, 7, 10])))[::-1]
    assert plots.degree_curve(intervals).axes[0].lines[0].get_ydata().tolist() == frame["mrr"].tolist()


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


def test_calibration_curve_by_hand(drawing):
    """Bins [0, .5): p .1, .3, one positive of two; [.5, 1]: p .7, .9, all positive. ECE (|.4 - 1| + |1.6 - 2|) / 4."""
    figure = plots.calibration_curve([0, 1, 1, 1], [0.1, 0.3, 0.7, 0.9], bins=2)
    axes, below = figure.axes
    assert np.array(xy(axes.lines[1])) == pytest.approx(np.array([[0.2, 0.5], [0.8, 1.0]]))
    assert xy(axes.lines[0]) == [[0.0, 0.0], [1.0, 1.0]]
    assert title_of(figure) == "Calibration: n = 4 examples,\n2 of 2 bins filled, ECE 0.2500"
    assert [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in below.patches] == [(0.0, 0.5, 2), (0.5, 0.5, 2)]
    assert (below.get_xlabel(), below.get_ylabel()) == ("mean probability per bin", "examples")
    assert legend_texts(axes) == ["per bin", "calibrated"]
    sparse = plots.calibration_curve([1, 0], [0.95, 0.96])
    assert np.array(xy(sparse.axes[0].lines[1])) == pytest.approx(np.array([[0.955, 0.5]]))
    with pytest.raises(MetricError, match="reliability_curve needs at least one example; got none"):
        plots.calibration_curve([], [])
    with pytest.raises(ScoreError):
        plots.calibration_curve([1, 0], [0.5, NAN])


def test_precision_recall_by_hand(drawing):
    """Relevant at places 1 and 3: precision 1 up to recall 1/2, then 2/3. At place 2 alone: 1/2. The mean of both."""
    figure = plots.precision_recall(from_ranking([[1, 0, 1], [0, 1, 0], [0, 0, 0]]), points=5)
    first, second, mean = figure.axes[0].lines
    assert np.array(xy(first)) == pytest.approx(np.array([[0, 1], [0.5, 1], [1, 2 / 3]]))
    assert first.get_drawstyle() == "steps-pre"
    assert xy(second) == [[0.0, 0.5], [1.0, 0.5]]
    high, low = 0.75, (2 / 3 + 0.5) / 2
    wanted = np.array([[0, high], [0.25, high], [0.5, high], [0.75, low], [1, low]])
    assert np.array(xy(mean)) == pytest.approx(wanted)
    assert mean.get_linewidth() > 2 * first.get_linewidth()
    assert title_of(figure) == "Precision and recall: mean of n = 2 queries,\n2 drawn"
    assert legend_texts(figure.axes[0]) == ["single queries", "mean"]
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("recall", "precision (interpolated)")
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
    """The bold line is the mean over queries, point by point; the faint ones are the curves, ties as slopes."""
    figure = plots.roc(from_scores([[1, 0, 0], [0, 1]], [[2.0, 2.0, 1.0], [1.0, 2.0]]))
    slope, square, mean = figure.axes[0].lines
    assert xy(slope) == [[0.0, 0.0], [0.5, 1.0], [1.0, 1.0]]
    assert xy(square) == [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    assert xy(mean)[:3] == [[0.0, 0.0], [0.0, 0.5], [0.01, pytest.approx(0.51)]]
    lists = results[0].lists()
    figure = plots.roc(lists)
    *faint, mean = figure.axes[0].lines
    curves = [np.array(xy(line)).T.tolist() for line in faint]
    assert len(curves) == len(lists)
    for x, y in xy(mean)[1::10]:
        assert y == pytest.approx(sum(lifted(*curve, x) for curve in curves) / len(curves), rel=1e-12)
    assert title_of(figure) == f"ROC: mean of n = {len(lists)} queries,\n{len(lists)} drawn"
    with pytest.raises(MetricError, match="roc needs a list with both relevant and irrelevant items; got none"):
        plots.roc(from_ranking([[1, 1]]))


def test_of_many_queries_a_seeded_sample_is_drawn(drawing, results):
    """The mean stays that of all queries, the sample follows the seed, and the title says so."""
    lists = results[0].lists()
    whole, few, same, other = (
        plots.roc(lists, limit=limit, seed=seed) for limit, seed in ((999, 0), (5, 1), (5, 1), (5, 2))
    )
    drawn = [[xy(line) for line in figure.axes[0].lines] for figure in (whole, few, same, other)]
    assert [len(lines) for lines in drawn] == [len(lists) + 1, 6, 6, 6]
    assert drawn[1] == drawn[2] != drawn[3]
    assert drawn[0][-1] == drawn[1][-1] == drawn[3][-1]
    assert all(line in drawn[0] for line in drawn[1])
    assert title_of(few) == f"ROC: mean of n = {len(lists)} queries,\na sample of 5 drawn (seed 1)"


def test_difference_plot_of_a_comparison(drawing):
    """Every metric on axes of its own; filled where the interval leaves out 0, without an interval open."""
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
    assert [axes.get_xlabel() for axes in figure.axes] == ["difference of mrr", "difference of mr"]
    assert [label.get_text() for label in shares.get_yticklabels()] == ["$A$ − _B", "_B − C"]
    zero, filled, hollow = shares.lines
    assert (xy(filled), xy(hollow)) == ([[0.1, 0.0]], [[-0.2, 1.0]])
    assert (filled.get_markerfacecolor(), hollow.get_markerfacecolor()) == ("#0072B2", "white")
    assert segments(shares) == [[[[0.05, 0.0], [0.15, 0.0]]]]
    assert (xy(ranks.lines[1]), xy(ranks.lines[2])) == ([], [[-20.0, 0.0]])
    assert segments(ranks) == [[[[-45.0, 0.0], [5.0, 0.0]]]]
    assert title_of(figure) == "3 of 4 differences, n = 480; filled: the interval excludes 0"
    relations = plots.difference_plot(table.drop(columns=["first", "metric"]).set_axis(list("wxyz")), limit=2)
    assert [label.get_text() for label in relations.axes[0].get_yticklabels()] == ["w", "x"]
    assert title_of(relations) == "2 of 4 differences; filled: the interval excludes 0"
    with pytest.raises(MetricError, match="needs the columns difference, low and high; missing: low, high"):
        plots.difference_plot(table[["difference"]])
    with pytest.raises(MetricError, match="difference_plot needs a finite difference; got none in 1 rows"):
        plots.difference_plot(table.iloc[3:])


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
    assert legend_texts(figures[0].axes[0]) == [bad[0], "_$x$\\x1b[1m"]


def test_many_models_can_be_told_apart_in_grey():
    """35 pairs of colour and dashes, the colours Okabe and Ito's; neighbours differ in dashes and marker too."""
    styles = [line_style(i) for i in range(35)]
    assert len({(style["color"], str(style["linestyle"])) for style in styles}) == 35
    assert list(PALETTE.values()) == ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
    for one, two in zip(styles, styles[1:]):
        assert one["linestyle"] != two["linestyle"]
        assert one["marker"] != two["marker"]
    assert (len(LINES), len(MARKERS)) == (5, 6)


def test_long_labels_keep_both_ends():
    assert shorten("a" * 40) == "a" * 40
    assert shorten("a" * 25 + "b" * 25) == "a" * 19 + "…" + "b" * 20
    assert shorten("abcdef", 5) == "ab…ef"
    assert len(shorten("x" * 99)) == 40


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
    "rank_distribution": lambda results: plots.rank_distribution(results),
    "hits_curve": lambda results: plots.hits_curve(results),
    "relation_comparison": lambda results: plots.relation_comparison(FRAME),
    "degree_curve": lambda results: plots.degree_curve(FRAME),
    "calibration_curve": lambda results: plots.calibration_curve([0, 1], [0.1, 0.9]),
    "precision_recall": lambda results: plots.precision_recall(from_ranking([1, 0])),
    "roc": lambda results: plots.roc(from_ranking([1, 0])),
    "difference_plot": lambda results: plots.difference_plot(
        pd.DataFrame({"difference": [1.0], "low": 0.0, "high": 2.0})
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_without_matplotlib(monkeypatch, results, name):
    assert set(DRAWN) == set(plots.__all__) - {"save_figure"}
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra) as caught:
        DRAWN[name](results)
    assert str(caught.value) == 'pictures need matplotlib; pip install "kgeval[report]"'
