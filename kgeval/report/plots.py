"""Plots of results: rank distributions, hits@k over k, metrics by group, curves, differences between models.

Users import this module as `kgeval.report.plots`. Every function returns a ``matplotlib.figure.Figure``, which
`save_figure` writes. The functions need matplotlib (``pip install "kgeval[report]"``); they neither use ``pyplot`` nor
change the settings of matplotlib. The pages draw the same figures (`kgeval.report.figures`) as SVG. In common are:

- ``results``: a result, several of them, a mapping of names to results, or a `Comparison` or `Benchmark`, whose models
  are drawn best first. The first model always has the first colour; models with a row each stand best MRR first, if
  all are known. Of a
  model with several seeds in a benchmark, the run with the median of the primary metric is drawn, by its name (of two,
  the lower one); ``bench.results`` holds all.
- ``style``: ``"screen"``, or ``"paper"`` for a column of a paper: 3.3 inches wide, texts of 8 points, without a title,
  since a paper has a caption. The words for it are ``figure.get_label()`` (with `ax`, ``ax.get_label()``).
- ``ax``: axes of matplotlib to draw on, for figures with several plots; by default a new figure.
- ``title``: the title, in both styles; ``""`` for none. Cautions, such as "not comparable", are always drawn below it.
- ``names``: a sequence with the names of the models; or a mapping from labels of models, relations, entities or groups
  to the names to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import GONE, answers_old_names, check_positive_int, counted, names_unknown_arguments, shows_only
from kgeval.base.terminal import distinct_labels
from kgeval.base.wording import p_equals, printable
from kgeval.benchmarks.across import AcrossDatasets
from kgeval.benchmarks.model_benchmark import Benchmark
from kgeval.comparison.comparison import Comparison
from kgeval.comparison.names import Results, check_names, name_results
from kgeval.comparison.rows import best_first, model_order
from kgeval.display.differences import OTHERWISE, is_otherwise, largest_moves, leader_first
from kgeval.display.html_tables import short
from kgeval.errors import MetricError
from kgeval.metrics import parse
from kgeval.metrics.grammar import display_of
from kgeval.metrics.retrieval.base import check_lists
from kgeval.metrics.retrieval.curves import interpolated_precisions, roc_curves
from kgeval.metrics.retrieval.lists import RankedLists
from kgeval.report import figure as value
from kgeval.report import figures
from kgeval.report.figure_matplotlib import draw, save_figure, style_of
from kgeval.report.page_distributions import distribution, hits_at_cuts
from kgeval.report.page_report import CORRECTED, column_words
from kgeval.results.evaluation_result import EvaluationResult, entity_part
from kgeval.results.rank_table import CONFIDENCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "critical_differences",
    "degree_curve",
    "difference_plot",
    "hits_curve",
    "precision_recall",
    "rank_distribution",
    "relation_comparison",
    "roc",
    "save_figure",
]
__dir__ = shows_only(__all__)

STEPS = "print(kgeval.metrics.retrieval.steps(...)): the table"
CALIBRATION = "sklearn.calibration.CalibrationDisplay.from_predictions(labels, probabilities)"
__getattr__ = answers_old_names("kgeval.report.plots", steps=STEPS, calibration_curve=CALIBRATION)

Ranked = Results | Comparison | Benchmark
GroupTables = Ranked | pd.DataFrame | Sequence[EvaluationResult | pd.DataFrame]
Differences = pd.DataFrame | Comparison | Benchmark
OneCurve = RankedLists | EvaluationResult
Curves = OneCurve | Sequence[OneCurve] | Mapping[str, OneCurve] | Comparison | Benchmark
Names = Sequence[str] | Mapping[str, str] | None
Numbers = npt.NDArray[np.float64]
MAX_DATASET, FEW_DATASETS = 14, 10  # characters of a dataset beside its rows; datasets that are few for a test
MAX_MODEL, MAX_ROWS, MAX_PAIRS = 16, 30, 12  # characters beside mean ranks; pairs, before only the best's are drawn
COUNT = 10  # characters of the number of ranks behind a label, and that a break costs
HEADINGS = {figures.rank_distribution: "Distribution of ranks", figures.hits_curve: "Hits@k"}
# Places of a curve; of one with a logarithmic axis, which shows its first stairs; items of a list with such an axis.
ROC_POINTS, LOG_POINTS, MIN_LOG = 101, 401, 100
ALL_QUERIES = dict.fromkeys(("limit", "seed", "sample_seed"), f"{GONE}the mean of all queries is drawn")


@names_unknown_arguments()
def rank_distribution(
    results: Ranked, names: Names = None, *, style: str = "screen", ax: Axes | None = None, title: str | None = None
) -> Figure:
    """Draw the distribution of ranks: for each model, a bar for the share of the ranks in each bin, or a divided row.

    The ranks are filtered, with realistic ties. The bins are those of the report page: 1, 2-3, 4-10, 11-30, ..., so the
    shares of the first bins add up to hits@3 and hits@10; half ranks such as 3.5 count in the higher bin. The part of a
    bar for ranks that tie with a rival is pale; the legend has their share if it is 5% or more. The intervals are
    pointwise 95% intervals, for other triples of the same graph. Bounded and unknown ranks are in no bin, but count in
    the shares; a caution contains their number, and their model has no intervals.

    Of more than four models, each has a row that is divided into the bins, dark for rank 1, pale for large ranks. The
    borders are hits@1, hits@3, hits@10 and hits@30; a dark line shows the interval of hits@1. Beside a row stands which
    share of its ranks tie with a rival, if it is 5% or more.

    Parameters
    ----------
    results : EvaluationResult, or sequence of them, or mapping of name to EvaluationResult, Comparison or Benchmark
    names : sequence of str, or mapping of str to str, optional
    style, ax, title
        See `kgeval.report.plots`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MetricError
        If a result has no ranks, or only bounded or unknown ranks.
    MissingExtra
        If matplotlib is not installed.
    """
    return draw(_of_ranks(figures.rank_distribution, distribution, results, names, style), style, ax, title)


@names_unknown_arguments()
def hits_curve(
    results: Ranked,
    names: Names = None,
    limit: int = 100,
    *,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw for each model hits@k (filtered, realistic ties) for k from 1 to `limit`, and the chance level.

    Parameters
    ----------
    results, names, style, ax, title
        As in `rank_distribution`.
    limit : int
        The largest k.

    Returns
    -------
    matplotlib.figure.Figure
        One line per model through the points (k, hits@k), with a band, and one line for the chance level of the first
        result. The names stand beside the curves, at the side where these differ more; with `ax`, in a legend. Ten and
        more models have a table in place of curves: a row for each, with hits@1, hits@3, ....
        The k axis is logarithmic, with at most 45 values of k. The bands
        are pointwise 95% intervals, for other triples of the same graph. There is no point for k if hits@k depends on
        bounded ranks, whose bounds the band then shows, and no chance level if the numbers of rivals are unknown.
    """
    check_positive_int("limit", limit, MetricError)
    count = partial(hits_at_cuts, limit=limit)
    figure = _of_ranks(figures.hits_curve, count, results, names, style, has_legend=ax is not None)
    return draw(figure, style, ax, title)


@names_unknown_arguments()
def relation_comparison(
    groups: GroupTables,
    metric: str = "mrr",
    *,
    names: Names = None,
    limit: int | None = None,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a metric per relation: each relation has one row, with a marker and an interval for each model.

    Of a comparison, the marker of a model is open where it is not told apart from the best model: their difference in
    the relation, corrected for the number of relations, is undecided (`Comparison.by`). Else it is open if the relation
    has fewer than 10 ranks. The interval of such a relation may be cut at the edge. Long names of relations are
    shortened, so that they stay different.

    Parameters
    ----------
    groups : EvaluationResult or DataFrame, or sequence of them, Comparison or Benchmark
        Results, or tables such as ``result.by("relation")`` returns: one row per relation, with the columns ``n``, the
        metric and, optionally, ``"<metric> low"`` and ``"<metric> high"``.
    metric : str
    names : sequence of str, or mapping of str to str, optional
        See `kgeval.report.plots`; a mapping also gives the names of relations.
    limit : int, optional
        Only the `limit` relations with the most ranks are drawn; the title gives the number of all relations. By
        default 20, in a paper 10, and fewer of many models.
    style, ax, title
        See `kgeval.report.plots`.

    Raises
    ------
    MetricError
        If a table has no column for the metric or no column ``n``, or if no table has a finite value of the metric.
    """
    found = _grouped(groups, "relation", metric, names)
    if limit is None:
        limit = max(8, min(10 if style == "paper" else 20, 120 // len(found.frames)))
    check_positive_int("limit", limit, MetricError)
    if isinstance(groups, Comparison):
        found = _with_decisions(found, groups, "relation")
    order = found.sizes.sort_values(ascending=False, kind="stable").index
    drawn = order[:limit]
    room = 7 * style_of(style).label // 8
    shown = distinct_labels([_named(label, names) for label in order], 2 * room - COUNT)
    labels = [value.in_lines(f"{label} ({found.sizes[of]:,.0f})", room) for of, label in zip(drawn, shown)]
    amount = f"{limit:,} of {len(order):,} with most ranks" if limit < len(order) else f"all {len(order):,} relations"
    heading = f"{display_of(found.key).heading} per relation (number of ranks){found.about}: {amount}"
    figure = found.figure(drawn, labels, heading)
    left_out = (amount,) * (style == "paper" and limit < len(order))
    return draw(replace(figure, cautions=(*left_out, *figure.cautions)), style, ax, title)


@names_unknown_arguments()
def degree_curve(
    groups: GroupTables,
    metric: str = "mrr",
    *,
    column: str = "degree_given",
    names: Names = None,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a metric by buckets of degree or frequency, with intervals.

    Buckets with fewer than 10 ranks are drawn as in `relation_comparison`, and the curve does not pass through them.

    Parameters
    ----------
    groups : EvaluationResult or DataFrame, or sequence of them, Comparison or Benchmark
        Results, or tables such as ``result.by("degree_given")`` returns: one row per bucket. Buckets are drawn in the
        order of their first number.
    metric : str
    column : str
        The column by which the ranks of a result are grouped.
    names : sequence of str, or mapping of str to str, optional
        See `kgeval.report.plots`; a mapping also gives the names of buckets and of the column.
    style, ax, title
        See `kgeval.report.plots`.

    Raises
    ------
    MetricError
        If a table has no column for the metric or no column ``n``, or if no table has a finite value of the metric.
    """
    found = _grouped(groups, column, metric, names)
    drawn = pd.Index(sorted(found.sizes.index, key=figures.first_number))
    labels = distinct_labels([_named(label, names, _bucket_words(label)) for label in drawn], 16)
    name = str(next(iter(found.frames.values())).index.name or column)
    words = short(_named(name, names, column_words(name)), 28)
    heading = f"{display_of(found.key).heading} by {words}{found.about}: {found.sizes.sum():,.0f} ranks"
    has_counts = style != "paper"
    bins = [figures.brief_bin(label) + f"\n({n:,.0f})" * has_counts for label, n in zip(labels, found.sizes[drawn])]
    return draw(found.figure(drawn, bins, heading, words + " (number of ranks)" * has_counts), style, ax, title)


@names_unknown_arguments()
def difference_plot(
    table: Differences,
    *,
    limit: int | None = None,
    names: Mapping[str, str] | None = None,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw differences between models with their intervals; marks are filled where the difference is decided.

    Parameters
    ----------
    table : pandas.DataFrame, Comparison or Benchmark
        A comparison, of whose first metric the pairs are drawn (``comparison.differences``: of each metric, with a
        panel each); a benchmark, of whose primary metric each dataset has a panel; or a table with the columns
        ``difference``, ``low`` and ``high``. Where a table says what is decided (its column ``better`` or ``decided``),
        the marks follow it; otherwise they are filled where the interval excludes 0. Of groups, the intervals are those
        that decide, corrected for the number of groups. Pairs
        (columns ``first`` and ``second``) stand in the order of the models, those of the leader first. Other rows are
        named by the index, with their number of ranks (column ``n``), for example the relations in a table that
        ``comparison.by("relation")`` returns, whose ``attrs`` name models and metric below the axis; rows have the
        colour of the better model.
    limit : int, optional
        At most so many rows are drawn, the first of each panel, of groups those with the largest contributions to gains
        and losses; the title gives the number of all rows. By default 30, in a paper 24; 20 and 15 if names need two
        lines. By default, of more than 30 pairs, in a paper 12, only those
        of the best model of each panel are drawn.
    names : mapping of str to str, optional
        The names to show in place of the names of models or rows.
    style, ax, title
        See `kgeval.report.plots`. With `ax`, the table must have a single metric and dataset.

    Raises
    ------
    MetricError
        If a column is missing, if no difference is finite, or if `ax` is given and there are several panels.
    """
    whole: Any = table.differences if isinstance(table, (Comparison, Benchmark)) else table
    if not isinstance(whole, pd.DataFrame):
        got = type(table).__name__
        raise MetricError(f"difference_plot needs a comparison, a benchmark or a table; got {got}; see kg.compare")
    frame = whole[whole["metric"] == next(iter(table.keys))] if isinstance(table, Comparison) else whole
    missing = [name for name in ("difference", "low", "high") if name not in frame.columns]
    if missing:
        raise MetricError(f"a table of differences lacks {', '.join(missing)}; needed: difference, low, high")
    rows = frame[np.isfinite(frame["difference"].to_numpy(dtype=np.float64))]
    if not len(rows):
        raise MetricError(f"difference_plot needs a finite difference; got none in {len(frame)} rows")
    is_pairs = {"first", "second", "metric"} <= set(rows.columns)
    rule = "decided" if {"better", "decided"} & set(rows.columns) else "the interval excludes 0"
    if set(CORRECTED) <= set(rows.columns):  # groups of ranks
        rule = f"decided (95% intervals, corrected for {frame.attrs.get('groups', len(frame)):,} groups)"
        rows = rows.assign(**{end.removesuffix("_corrected"): rows[end] for end in CORRECTED})
    elif "p_corrected" in rows.columns:
        rule = f"decided, interval excludes 0 (Holm, {counted(int(whole['p_corrected'].notna().sum()), 'test')})"
    decided = rows["better"] != "" if "better" in rows.columns else rows.get("decided", rows["low"] * rows["high"] > 0)
    room = 3 * style_of(style).label // 4  # beside the numbers at the right
    groups = [_named(label, names) for label in rows.index]
    counts = [f" ({n:,.0f})" for n in rows["n"]] if "n" in rows.columns and not is_pairs else [""] * len(groups)
    shown = distinct_labels(groups, 2 * room - COUNT)
    labels = [value.in_lines(label + n, room) for label, n in zip(shown, counts)]
    labels = _pair_labels(rows, names, room) if is_pairs else labels
    turns = [is_otherwise(row) for row in rows.to_dict("records")] if is_pairs else False
    rows = rows.assign(decided=decided.astype(bool), label=labels, turns=turns)
    of_models = " \u2212 ".join(short(_named(name, names), MAX_MODEL) for name in frame.attrs.get("models", ()))
    display = display_of(frame.attrs.get("metric", ""))
    axis = f"difference of {display.title}" if "metric" in frame.attrs else "difference"
    winners = [f"{short(_named(name, names), MAX_MODEL)} is better" for name in frame.attrs.get("models", ())]
    rows = rows.assign(winner=(1 - 2 * display.lower_is_better) * rows["difference"] < 0.0 if winners else False)
    parts = [(f"{axis}: {of_models}" if of_models else axis, "", rows)]
    datasets = rows["dataset"].unique().tolist() if "dataset" in rows.columns else frame.attrs.get("datasets", [])
    if is_pairs:
        parts = []
        for (metric, *on), part in rows.groupby(["metric", *(["dataset"] if len(datasets) > 1 else [])], sort=False):
            beside = short("".join(map(printable, on)), MAX_DATASET)
            parts.append((f"difference of {display_of(metric).title}", beside, leader_first(part)))
    is_brief = is_pairs and limit is None and len(rows) > (MAX_PAIRS if style == "paper" else MAX_ROWS)
    is_brief = is_brief and not set.intersection(*map(set, zip(rows["first"], rows["second"])))  # the baseline
    if is_brief:
        parts = [(*words, part[part["first"] == part["first"].iloc[0]]) for *words, part in parts]
    if limit is None:
        on_paper, on_screen = (15, 20) if "\n" in "".join(labels) else (24, MAX_ROWS)
        limit = on_paper if style == "paper" else on_screen
    check_positive_int("limit", limit, MetricError)
    most = max(1, limit // len(parts))
    parts = [(name, on, part[:most] if is_pairs else _moves(part, most)) for name, on, part in parts]
    leads = {one for *_, part in parts for one in part["first"]} if is_pairs else set()
    if len(leads) == 1 < max(len(part) for *_, part in parts):
        lead = f"{short(_named(leads.pop(), names), MAX_MODEL)} \u2212 other"
        seconds = [distinct_labels([_named(one, names) for one in part["second"]], room) for *_, part in parts]
        parts = [(f"{name}: {lead}", on, part.assign(label=of)) for (name, on, part), of in zip(parts, seconds)]
    n_drawn = sum(len(part) for *_, part in parts)
    size = counted(len(frame), "difference")
    which = "the largest contributions to gains and losses" if "contribution" in rows.columns else "the first ones"
    which = "those of the best model" if is_brief else which
    which = "the others are undefined" if n_drawn == len(rows) else which
    size = f"{n_drawn:,} of {size}: {which}" if n_drawn < len(frame) else size
    n_open = sum(int(part["low"].isna().sum()) for *_, part in parts)
    cautions = [f"{n_open:,} without an interval: too few triples differ"] if n_open and not is_pairs else []
    cautions += [size] if n_drawn < len(frame) and style == "paper" else []
    is_turned = any(part["turns"].any() for *_, part in parts)
    cautions += [f"{OTHERWISE} decided otherwise with separate spreads"] if is_turned else []
    n = f", n = {int(rows['n'].max()):,}" if "n" in rows.columns and is_pairs and rows["n"].nunique() == 1 else ""
    on = f" on {printable(datasets[0])}" if len(datasets) == 1 else ""
    figure = figures.difference_rows(parts, f"{size}{on}{n}; filled: {rule}", winners)
    return draw(replace(figure, cautions=tuple(cautions)), style, ax, title)


@names_unknown_arguments(test=f"{GONE}Conover's test tells equal models apart too often; Nemenyi's test is drawn")
def critical_differences(
    across: AcrossDatasets | Benchmark,
    *,
    names: Mapping[str, str] | None = None,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the critical-difference diagram: mean ranks of models over datasets, and bars that join similar models.

    The models hang on an axis of mean ranks, the best one at the left, with a dot. A thick bar joins a group of models;
    no two models of the group differ significantly by Nemenyi's test. A ruler above the axis shows the critical
    difference. Without a test, there are no bars, and the title says so.

    Parameters
    ----------
    across : AcrossDatasets or Benchmark
        From `Benchmark.across`; of a benchmark, that of its primary metric.
    names : mapping of str to str, optional
        The names to show in place of the names of models. Long names are shortened, so that the axis has room.
    style, ax, title
        See `kgeval.report.plots`.

    Raises
    ------
    MetricError
        If `across` has another type, or if there are fewer than two models or no dataset with
        values of all models.

    References
    ----------
    Demšar (2006), Statistical Comparisons of Classifiers over Multiple Data Sets, Journal of Machine Learning
    Research 7 (figure 1).
    """
    across = across.across() if isinstance(across, Benchmark) else across
    if not isinstance(across, AcrossDatasets):
        raise MetricError(f"critical_differences needs the result of benchmark.across(); got {type(across).__name__}")
    models, n_datasets = across.table["model"].tolist(), across.n_datasets
    if len(models) < 2 or not n_datasets:
        raise MetricError(
            "critical_differences needs at least two models and a dataset with values of all models; got "
            f"{counted(len(models), 'model')} and {counted(n_datasets, 'such dataset')}"
        )
    shown = distinct_labels([_named(model, names) for model in models], MAX_MODEL)
    ranks = list(zip(shown, across.table["mean_rank"].tolist()))
    groups = [(models.index(group[0]), models.index(group[-1])) for group in across.groups]
    told = f"; {'bars join models that are not' if groups else 'all models are'} told apart"
    told += f" (Nemenyi's test, significance level {across.alpha:g}"
    told += f"; Friedman's test, {p_equals(across.friedman.p_value, across.alpha)})" if across.friedman else ")"
    told = told if across.nemenyi is not None else ", no result of Nemenyi's test"
    difference = None if across.nemenyi is None else across.nemenyi.critical_difference
    x_name = f"mean rank over {counted(n_datasets, 'dataset')} (1 is best)"
    x_name += "\nbar: not told apart" if groups and style == "paper" else ""
    heading = f"{display_of(across.metric).heading}: mean ranks{told}"
    drawn = figures.rank_diagram(ranks, groups, difference, heading, x_name, 2 if style == "paper" else 1)
    is_weak = difference is not None and n_datasets < FEW_DATASETS
    cautions = ("few datasets, so only very large differences show",) * is_weak
    return draw(replace(drawn, cautions=cautions), style, ax, title)


@names_unknown_arguments(**ALL_QUERIES)
def precision_recall(
    lists: Curves,
    ties: str = "expected",
    *,
    points: int = 11,
    names: Names = None,
    style: str = "screen",
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the precision-recall curve of each model that is the mean of the curves of its queries.

    x is the recall, y is the interpolated precision: the highest at this recall or a higher one. The band shows
    pointwise 95% intervals of the mean for other queries (normal approximation; queries count as independent). Beside
    a curve stands the area below it (trapezoidal rule) with half the width of such an interval. Of ten and more models,
    only the first has a band and an interval.
    The dotted line is the mean share of relevant items in the lists: about the precision of a random order.

    Parameters
    ----------
    lists : RankedLists or EvaluationResult, sequence of them, mapping of name to one, Comparison or Benchmark
        Of a result, the filtered lists of all its queries count.
    ties : str
        As in `kgeval.metrics.retrieval.pr_curves`.
    points : int
        Number of recall values, from 0 to 1, at which the mean is computed. The mean is over all queries with a
        relevant item.
    names, style, ax, title
        See `kgeval.report.plots`.

    Raises
    ------
    MetricError
        If no list contains a relevant item, or if a relevant item ties with an irrelevant item and `ties` is
        ``"expected"``, which gives tied items no order.
    """

    def rows_of(found: RankedLists, _: int) -> tuple[Numbers, Numbers, Numbers]:
        x, rows = interpolated_precisions(found, ties, points)
        return x, rows, _area(x, rows)

    def chance(found: RankedLists, x: Numbers) -> tuple[str, value.Line]:
        share = float((found.n_relevant / found.length)[found.n_relevant > 0].mean())
        return f"chance: {share:.4f}", value.Line(((0.0, share), (1.0, share)), kind="dotted")

    shown = "Precision and recall" + (f", {ties} ties" if ties != "expected" else "")
    words = shown, "areas", "precision_recall needs a list with a relevant item"
    axes = "recall", "interpolated precision"
    figure = _of_queries(lists, names, rows_of, words, axes, chance, style, has_legend=ax is not None)
    return draw(figure, style, ax, title)


@names_unknown_arguments(**ALL_QUERIES)
def roc(
    lists: Curves, *, names: Names = None, style: str = "screen", ax: Axes | None = None, title: str | None = None
) -> Figure:
    """Draw the ROC curve of each model that is the mean of the curves of its queries.

    x is the false positive rate, y is the true positive rate: the mean of all queries that have both relevant and
    irrelevant items, at 101 false positive rates. If a list has 100 items or more, the x axis is logarithmic, since
    answers of use stand among the first items: the curve has steps, at 401 false positive rates from 0.5 / the length
    of the longest list, and its first step is the share of relevant items that stand first; else the axis is linear and
    the curve starts at (0, 0). Beside a curve stands the mean of the areas below the curves of the queries (on linear
    axes, AUC), in which tied pairs count one half; the intervals are those of `precision_recall`. The dotted line is a
    random order.

    Parameters
    ----------
    lists : RankedLists or EvaluationResult, sequence of them, mapping of name to one, Comparison or Benchmark
        As in `precision_recall`.
    names, style, ax, title
        See `kgeval.report.plots`.

    Raises
    ------
    MetricError
        If no list has both a relevant and an irrelevant item.

    References
    ----------
    Fawcett (2006), An Introduction to ROC Analysis, section 8 (vertical averaging).
    """

    def rows_of(found: RankedLists, longest: int) -> tuple[Numbers, Numbers, Numbers]:
        curves = [curve.to_numpy().T for _, curve in roc_curves(found)[["query", "fpr", "tpr"]].groupby("query")]
        is_log = longest >= MIN_LOG
        grid = np.geomspace(0.5 / longest, 1.0, LOG_POINTS) if is_log else np.linspace(0.0, 1.0, ROC_POINTS)
        # Where a curve rises vertically, np.interp returns the upper end.
        rows = np.array([np.interp(grid, fpr, tpr) for _, fpr, tpr in curves]).reshape(-1, len(grid))
        areas = np.array([_area(fpr, tpr) for _, fpr, tpr in curves])
        return (grid, rows, areas) if is_log else (np.append(0.0, grid), np.insert(rows, 0, 0.0, axis=1), areas)

    def chance(_: RankedLists, x: Numbers) -> tuple[str, value.Line]:
        return "chance: 0.5000", value.Line(value.points_of(x, x), kind="dotted")

    words = "ROC", "AUC", "roc needs a list with both relevant and irrelevant items"
    axes = "false positive rate", "true positive rate"
    figure = _of_queries(lists, names, rows_of, words, axes, chance, style, has_legend=ax is not None)
    return draw(figure, style, ax, title)


def _area(x: Numbers, y: Numbers) -> Any:
    """Return the area below a curve, or below each row of curves, by the trapezoidal rule."""
    return (np.diff(x) * (y[..., 1:] + y[..., :-1])).sum(axis=-1) / 2


def _of_queries(
    lists: Curves, names: Names, rows_of: Any, words: Sequence[str], axes: tuple[str, str], chance: Any, style: str,
    *, has_legend: bool,
) -> value.Figure:  # fmt: skip
    """Return the mean curves of models; `rows_of` returns places, curves and areas of the queries of lists."""
    named = _models({"mean curve": lists} if isinstance(lists, RankedLists) else lists, names)
    results = [one for one in named.values() if isinstance(one, EvaluationResult)]
    found = {name: one.lists() if isinstance(one, EvaluationResult) else one for name, one in named.items()}
    for one in found.values():
        check_lists(one)
    longest = max(int(one.length.max(initial=0)) for one in found.values())
    curves, levels = dict[str, Any](), list[tuple[str, value.Line]]()
    for name, label in zip(found, distinct_labels(list(found), 3 * style_of(style).label // 4)):
        x, rows, areas = rows_of(replace(found[name], names=None), longest)
        if not len(rows):
            raise MetricError(f"{words[2]}; got none{f' in {name!r}' if len(found) > 1 else ''}")
        curves[label] = rows, areas
        levels.append(chance(found[name], x))
    on = f" on {_datasets_of(results)}, filtered" if results else ""
    lines = [(f"{name}, {text}", replace(line, model=m)) for m, (name, (text, line)) in enumerate(zip(curves, levels))]
    shown = levels[:1] if len(dict(levels)) == 1 else lines
    figure = figures.mean_curves(x, curves, (f"{words[0]}{on}", words[1]), axes, shown, has_legend=has_legend)
    return replace(figure, cautions=tuple(_differing(results)))


def _named(label: Any, names: Names, usual: str | None = None) -> str:
    """Return the name to show for a label, printable: that of a mapping, else the usual name, else the label."""
    shown = names.get(str(label), usual) if isinstance(names, Mapping) else usual
    return printable(str(label if shown is None else shown))


def _bucket_words(label: Any) -> str:
    """Return a label; a bucket as a range: "1024-2047" becomes "1,024–2,047"."""
    ends = str(label).split("-")
    return "–".join(f"{int(end):,}" for end in ends) if all(map(str.isdecimal, ends)) else str(label)


def _best_first(results: Any) -> Any:
    """Return the results of a comparison or benchmark by name, the best first, of several runs the one with the median.

    Anything else is returned as it is.

    Raises a MetricError if a benchmark has several datasets.
    """
    if isinstance(results, Comparison):
        named = dict(zip(results.names, results.results))
        return {name: named[name] for name in model_order(results)}
    if not isinstance(results, Benchmark):
        return results
    if len(results.datasets) > 1:
        datasets = ", ".join(map(printable, results.datasets))
        raise MetricError(f"this plot shows the ranks of one dataset; pass results of one of {datasets}")
    higher = bool(results.keys[results.metric].higher_is_better)
    order = best_first(dict(zip(results.models, results.values[results.datasets[0]].tolist())), higher)
    found = dict[str, Any]()
    for model in order:
        runs = [item for item in results.results.items() if item[0].model == model]
        run, result = sorted(runs, key=lambda item: item[1][results.metric])[(len(runs) - 1) // 2]
        found[run.name if len(runs) > 1 else model] = result
    return found


def _models(results: Any, names: Names) -> dict[str, Any]:
    """Return results, tables or lists by the names to show."""
    model_names, results = None if isinstance(names, Mapping) else names, _best_first(results)
    if isinstance(results, Mapping):
        model_names, results = list(results) if model_names is None else model_names, list(results.values())
    is_single = isinstance(results, pd.DataFrame) or not isinstance(results, Iterable)
    listed = [results] if is_single else list(results)
    if any(isinstance(item, (pd.DataFrame, RankedLists)) for item in listed):
        model_names = [f"model {i}" for i in range(1, len(listed) + 1)] if model_names is None else model_names
        named = dict[str, Any](zip(check_names(model_names, len(listed), "table"), listed))
    else:
        named = dict(name_results(listed, model_names))
    labels = check_names([_named(name, names) for name in named], len(named))
    return dict(zip(labels, named.values()))


def _of_ranks(build: Any, count: Any, results: Ranked, names: Names, style: str, **more: bool) -> value.Figure:
    """Return the figure that `build` makes, with the arguments `more`, of what `count` counts in results.

    A caution says whether the results differ in dataset or protocol. Raises a MetricError if a result has no known
    rank; its message has the name of `build`, which is that of the plot.
    """
    named = {name: entity_part(result) for name, result in _models(results, names).items()}
    is_curve = build is figures.hits_curve
    has_rows = len(named) >= figures.MANY_CURVES if is_curve else len(named) > figures.MAX_BESIDE
    if has_rows and not isinstance(results, (Comparison, Benchmark)):  # which have an order of their own
        values = {name: one.rank_table.value("mrr").value for name, one in named.items()}
        is_known = all(map(np.isfinite, values.values()))
        named = {name: named[name] for name in sorted(named, key=lambda name: -values[name])} if is_known else named
    unknown = [int(np.isnan(result.rank_table.ranks("filtered")).sum()) for result in named.values()]
    sizes = [len(result.table) for result in named.values()]
    for name, n_unknown, size in zip(named, unknown, sizes):
        if n_unknown == size:
            ranks_are = "has only bounded or unknown ranks" if size else "has no ranks"
            raise MetricError(f"{build.__name__} needs ranks; result {name!r} {ranks_are}")
    shown = list(named.values())
    cautions = _differing(shown)
    cautions += ["the numbers of ranks differ"] if len(set(sizes)) > 1 else []
    cautions += [f"{sum(unknown):,} ranks are bounded or unknown, not drawn"] if any(unknown) else []
    n = f"n = {f'{min(sizes):,} to ' if len(set(sizes)) > 1 else ''}{max(sizes):,} ranks"
    labels = distinct_labels(list(named), style_of(style).label * (3 if is_curve or has_rows else 4) // 4)
    figure = build(labels, count(shown), f"{HEADINGS[build]} on {_datasets_of(shown)}: {n}", **more)
    return replace(figure, cautions=("; ".join(cautions),))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Groups:
    """Values by group: a table for each model, the column of the metric, the size of each group, and words on them."""

    frames: dict[str, pd.DataFrame]
    key: str
    sizes: pd.Series[Any]
    about: str
    rule: str = f"fewer than {figures.MIN_RANKS} ranks"  # what open marks mean

    def figure(self, drawn: pd.Index[Any], labels: Sequence[str], title: str, axis: str = "") -> value.Figure:
        """Return the figure of some groups, with a caution on the number of undefined values."""
        figure = figures.values_by_group(self.frames, drawn, labels, self.key, title, self.rule, axis)
        values = [frame.reindex(drawn)[self.key].to_numpy(dtype=np.float64) for frame in self.frames.values()]
        n = int((~np.isfinite(values)).sum())
        return replace(figure, cautions=(f"{n:,} undefined, not drawn",) if n else ())


def _grouped(groups: GroupTables, column: str, metric: str, names: Names) -> _Groups:
    """Return the values by group.

    Raises a MetricError if a table lacks a needed column or has several rows for a group, or if no value is finite.
    """
    key, frames, results = str(parse(metric)), dict[str, pd.DataFrame](), []
    for name, item in _models(groups, names).items():
        frames[name] = item if isinstance(item, pd.DataFrame) else item.by(column, metrics=[metric])
        results += [item] if isinstance(item, EvaluationResult) else []
    for name, frame in frames.items():
        missing = [wanted for wanted in ("n", key) if wanted not in frame.columns]
        if missing:
            raise MetricError(
                f"the table of {name!r} has no column {' or '.join(missing)}; "
                f"make it with result.by({column!r}, metrics={metric!r})"
            )
        if frame.index.nlevels > 1 or not frame.index.is_unique:
            raise MetricError(f"the table of {name!r} must have one row per {column}; group by this column alone")
    if not any(np.isfinite(frame[key].to_numpy(dtype=np.float64)).any() for frame in frames.values()):
        raise MetricError(f"there is nothing to draw: no finite {key} in {sum(map(len, frames.values()))} rows")
    sizes = pd.concat([frame["n"] for frame in frames.values()]).groupby(level=0, sort=False).max()
    on = f" on {_datasets_of(results)}, {CONFIDENCE:.0%} intervals" if results else ""
    return _Groups(frames, key, sizes, on)


def _with_decisions(found: _Groups, comparison: Comparison, column: str) -> _Groups:
    """Return values with the column ``decided``: in which groups a model and the best one are told apart."""
    best, *others = model_order(comparison)
    if found.key not in comparison.keys or not set(others) <= {*comparison.rivals(best)}:
        return replace(found, about=f"{found.about}, not tested")
    try:
        tables = [comparison.by(column, found.key, best, other) for other in others]
    except MetricError:  # the metric has no contributions
        return found
    (first, frame), *rest = found.frames.items()
    frames = {first: frame.assign(decided=True)}
    for (name, one), table in zip(rest, tables):
        frames[name] = one.assign(decided=table["decided"].reindex(one.index, fill_value=False))
    about = f"{found.about}, tests corrected for {counted(tables[0].attrs['groups'], column)}"
    return replace(found, frames=frames, about=about, rule=f"not told apart from {short(first, MAX_MODEL)}")


def _moves(part: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the groups to draw; if not all, by difference."""
    return part if len(part) <= most else largest_moves(part, most).sort_values("difference", ascending=False)


def _pair_labels(rows: pd.DataFrame, names: Names, limit: int) -> list[str]:
    """Return labels such as "A - B", of two lines if one of them has more than `limit` characters."""
    firsts, seconds = ([_named(one, names) for one in rows[side]] for side in ("first", "second"))
    labels = [f"{one} \u2212 {two}" for one, two in zip(firsts, seconds)]
    if max(map(len, labels)) <= limit:
        return labels
    shown = distinct_labels([*firsts, *seconds], limit - 2)
    return [f"{one} \u2212\n{two}" for one, two in zip(shown, shown[len(rows) :])]


def _differing(results: Sequence[EvaluationResult]) -> list[str]:
    """Return a caution if results differ in dataset or protocol."""
    datasets = {result.facts.get("dataset_fingerprint") for result in results}
    differing = ["dataset"] if len(datasets) > 1 else []
    differing += ["protocol"] if len({result.protocol.fingerprint for result in results}) > 1 else []
    return [f"not comparable: the results differ in {' and '.join(differing)}"] if differing else []


def _datasets_of(results: Sequence[EvaluationResult]) -> str:
    names = dict.fromkeys(short(printable(str(result.facts.get("dataset", ""))), 40) for result in results)
    return " and ".join(names)
