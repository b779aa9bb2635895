"""The figures of results, one function each: shares of ranks, hits@k, values by group, differences, curves, mean ranks.

Each returns a `Figure`, which the pages and `kgeval.report.plots` draw. Models have the colours, dashes and markers of
their places, so the caller names the best first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import grouped
from kgeval.base.wording import enough_decimals, signed
from kgeval.display.differences import OTHERWISE
from kgeval.metrics.grammar import display_of
from kgeval.report.figure import Area, Axis, Bars, Dots, Figure, Line, Mark, Panel, Point, Texts, points_of, ticks_of

MANY_CURVES, MAX_CUTS = 10, 6  # so many models have a table of hits@k, with so many k; only the first has a band
MIN_RANGE = 0.1  # of the values in a column of this table, from dark to pale
MAX_BESIDE = 4  # models whose bars stand beside each other; more models have a row each
SHADES = (1.0, 0.77, 0.57, 0.4, 0.26, 0.14)  # of the bins in a row; the last one holds all further ranks
NAME_ROWS, MIN_ROWS = 0.75, 8.5  # height of a name beside curves, and of the lowest panel, in rows of text
MIN_TIED = 0.05  # share of the ranks of a model that tie with a rival, from which on it is said
MARKED = tuple(step * 10**power for power in range(9) for step in (1, 3))  # values of k that have a marker
MIN_RANKS, MANY_POINTS = 10, 22  # a group with fewer ranks has an open mark, a curve of so many points no markers
DECIDED = (("decided", Dots((), 0, (True,))), ("undecided", Dots((), 0, (False,))))
LANE = 0.84  # width of the bars of a bin
Z_95 = 1.96  # the normal quantile of 95% intervals
Data = Mapping[str, Any]
Numbers = npt.NDArray[np.float64]


def rank_distribution(names: Sequence[str], found: Data, title: str) -> Figure:
    """Return the share of ranks in each bin as bars, the part of tied ranks pale, with intervals.

    Of more than `MAX_BESIDE` models, each has a row that the bins divide, so that their borders are hits@k.

    Parameters
    ----------
    names : sequence of str
    found : dict
        From `kgeval.report.page_distributions.distribution`.
    title : str
    """
    bins, width = found["bins"], LANE / len(names)
    shares, tied = (np.array(found[of]) / np.maximum(1, found["totals"])[:, None] for of in ("counts", "tied"))
    if len(names) > MAX_BESIDE:
        return _rank_rows(names, found, shares, tied.sum(axis=1), title)
    limits = [np.array(found[end], dtype=np.float64) for end in ("low", "high")]
    top, bars = 1.12 * max(0.01, float(np.fmax(shares, limits[1]).max())), list[Mark]()
    for m in range(len(names)):
        starts = [i - LANE / 2 + m * width for i in range(len(bins))]
        parts = list(zip(starts, shares[m].tolist(), (shares - tied)[m].tolist()))
        full = tuple((x, 0.0, x + width, alone) for x, _, alone in parts)
        pale = tuple((x, alone, x + width, share) for x, share, alone in parts if share > alone)
        ends = zip(starts, *(end[m].tolist() for end in limits))
        known = [(x + width / 2, low, x + width / 2, high) for x, low, high in ends if math.isfinite(low)]
        bars += [Bars(full, m), Bars(pale, m, "pale"), Line.of_parts(known, "ink")]
    x = Axis.of_rows(list(map(brief_bin, bins)), "filtered rank", is_falling=False)
    said = [f" ({share:.0%} tied)" if share >= MIN_TIED else "" for share in tied.sum(axis=1)]
    legend: list[tuple[str, Mark]] = [(name + more, Bars((), m)) for m, (name, more) in enumerate(zip(names, said))]
    legend += [("faint: tied with a rival", Bars((), None, "pale"))] if tied.any() else []
    y = Axis("share of ranks", 0.0, top, ticks_of(0.0, top, 6))
    title += ", with 95% intervals" if np.isfinite(limits).any() else ""
    return Figure(title, (Panel(x, y, tuple(bars)),), tuple(legend))


def _rank_rows(names: Sequence[str], found: Data, shares: Numbers, tied: Numbers, title: str) -> Figure:
    """Return a row for each model: cumulative shares of bins, the interval of hits@1, and how many ranks are tied."""
    bins, n, rows = found["bins"], min(len(found["bins"]), len(SHADES)), range(len(names))
    ends = np.insert(shares.cumsum(axis=1), 0, 0.0, axis=1)[:, [*range(n), len(bins)]].T.tolist()
    labels = ["rank 1", *bins[1 : n - 1], bins[-1] if len(bins) == n else f"over {bins[n - 2].split('–')[-1]}"][:n]
    parts = [
        Bars(tuple((left[i], i - 0.4, right[i], i + 0.4) for i in rows), 0, shade=shade)
        for left, right, shade in zip(ends, ends[1:], SHADES)
    ]
    limits = [(found["low"][i][0], i - 0.1, found["high"][i][0], i + 0.1) for i in rows]
    intervals = Bars(tuple(box for box in limits if box[0] is not None), None, shade=1.0)
    x = Axis("cumulative share of filtered ranks", 0.0, 1.0, ticks_of(0.0, 1.0))
    right = tuple((float(i), f"{tied[i]:.0%} tied") for i in rows if tied[i] >= MIN_TIED)
    panel = Panel(x, Axis.of_rows(names), (*parts, intervals), 0.85 * len(names) + 0.2, right)
    title += ", with 95% intervals of hits@1" if intervals.boxes else ""
    return Figure(title, (panel,), tuple(zip(labels, parts)))


def brief_bin(label: str) -> str:
    """Return the label of a bin for an axis: over thousands with k, and a wide one in two lines.

    Examples
    --------
    >>> brief_bin("4–10"), brief_bin("301–1,000"), brief_bin("3,001"), brief_bin("1,001–2,001")
    ('4–10', '301–\\n1k', '3,001', '1k–\\n2,001')
    """
    start, dash, end = label.partition("–")
    end = re.sub(",000$", "k", end)
    return f"{start}{dash}{end}" if len(label) < 6 else f"{re.sub(',001$', 'k', start)}{dash}\n{end}" if dash else start


def hits_curve(names: Sequence[str], hits: Data, title: str, *, has_legend: bool = False) -> Figure:
    """Return hits@k of each model with intervals; where a value is bounded, its bounds; and the chance level.

    The names stand beside the curves. Many models have a table: a row each, with the values in shaded cells.

    Parameters
    ----------
    names : sequence of str
    hits : dict
        From `kgeval.report.page_distributions.hits_at_cuts`.
    title : str
    has_legend : bool
        Whether a legend has the names.
    """
    if len(names) >= MANY_CURVES:
        return _hits_table(names, hits, title)
    x_values = np.array(hits["k"], dtype=np.float64)
    marked = tuple(np.flatnonzero(np.isin(x_values, MARKED)).tolist())
    bands, lines, seen = list[Mark](), list[Line](), [0.0]
    for m in range(len(names)):
        values, *ends = (np.array(hits[name][m], dtype=np.float64) for name in ("values", "low", "high"))
        if hits["bounds"][m]:
            ends = [np.where(np.isnan(values), bound, end) for bound, end in zip(hits["bounds"][m], ends)]
        low, high = ([(x, y) for x, y in points_of(x_values, end) if math.isfinite(y)] for end in ends)
        if len(low) > 1:
            bands.append(Area((*low, *high[::-1]), m))
        lines.append(Line(points_of(x_values, values), m, marked=marked))
        seen += [*values, *ends[0], *ends[1]]
    if hits["chance"] is not None:
        names = [*names, "chance"]
        lines.append(Line(points_of(x_values, hits["chance"]), kind="dotted"))
    ticks = tuple((float(k), f"{k:,}") for k in hits["k"] if k in MARKED)
    x = Axis("k (filtered ranks, ties at their mean)", 1.0, max(2.0, x_values[-1]), ticks, is_log=True)
    y, marks = Axis.of_values("hits@k", seen, unit=True), (*bands, *lines[::-1])  # the best one above the others
    title += ", with 95% intervals" if bands else ""
    if has_legend:
        x = replace(x, low=x.at(-0.02), high=x.at(1.02))  # so that no marker is cut
        return Figure(title, (Panel(x, y, marks),), tuple(zip(names, lines)))
    return Figure(title, (_named_beside(Panel(x, y, marks), names, lines),))


def _hits_table(names: Sequence[str], hits: Data, title: str) -> Figure:
    """Return hits@k for few k: a row for each model and for chance, shaded by the distance to the best of a column."""
    places = [place for place, k in enumerate(hits["k"]) if k in MARKED][:MAX_CUTS]
    rows = [*hits["values"], *([] if hits["chance"] is None else [hits["chance"]])]
    values, cells, texts = np.array(rows, dtype=np.float64)[:, places], list[Mark](), []
    best, worst = (end(values[: len(names)], axis=0) for end in (np.fmax.reduce, np.fmin.reduce))
    shades = np.clip(0.6 - 0.5 * (best - values) / np.maximum(best - worst, MIN_RANGE), 0.03, 0.6).round(2)
    shades = np.nan_to_num(shades, nan=0.03).tolist()
    for i, j in np.argwhere(np.isfinite(values)).tolist():
        cells.append(Bars(((j - 0.5, i - 0.5, j + 0.5, i + 0.5),), 0, shade=shades[i][j]))
        texts.append((float(j), float(i), f"{values[i, j]:.3f}"))
    ticks = tuple((float(j), f"{hits['k'][place]:,}") for j, place in enumerate(places))
    x = Axis("k (filtered ranks, ties at their mean)", -0.5, len(places) - 0.5, ticks, has_names=True)
    y = Axis.of_rows([*names, *(["chance"] * (len(rows) - len(names)))])
    panel = Panel(x, y, (*cells, Texts(tuple(texts), is_inside=True)), 0.95 * len(rows))
    return Figure(f"{title}, shaded within columns", (panel,))


def _named_beside(panel: Panel, names: Sequence[str], lines: Sequence[Line]) -> Panel:
    """Return a panel with names of one or more lines beside its curves, and lines from the curves to the names.

    They stand at the right, or at the left if they move less far from their curves there.
    """
    size = NAME_ROWS * (1 + max(name.count("\n") for name in names))
    height = max(12.0, 1.07 * size * len(names)) if size * len(names) > MIN_ROWS else 0.0
    x, y = panel.x, panel.y
    ends = [[next((p for p in line.points[::way] if p[1] >= 0.0), (x.low, 0.0)) for line in lines] for way in (1, -1)]
    shares = np.array([[y.share(value) for _, value in points] for points in ends])
    places = np.array([moved_apart(side, size / (height or MIN_ROWS)) for side in shares])
    left, right = np.abs(places - shares).sum(axis=1)
    is_left = bool(left < right - 0.01)
    side, low, at, high = (0, -0.12, -0.09, 1.02) if is_left else (1, -0.02, 1.09, 1.12)  # so that no marker is cut
    keys = [(x.at(at), y.at(place)) for place in places[side].tolist()]
    leaders = replace(Line.of_parts([(*end, *key) for end, key in zip(ends[side], keys)], "ink"), opacity=0.3)
    x, ticks = replace(x, low=x.at(low), high=x.at(high)), tuple(zip((place for _, place in keys), names))
    return Panel(x, y, (leaders, *panel.marks), height, ticks, is_left)


def moved_apart(places: Sequence[float] | Numbers, gap: float) -> Numbers:
    """Return places between 0 and 1 that keep their order, moved so that any two differ by `gap` or more.

    The sum of their squared moves is the least. Of equal places, the first is the highest. If there are too many of
    them, they leave 0 to 1.

    Examples
    --------
    >>> moved_apart([0.5, 0.1, 0.5], 0.25).round(3).tolist()
    [0.625, 0.1, 0.375]
    """
    given, steps = np.asarray(places, dtype=np.float64), gap * np.arange(len(places))
    order = np.lexsort((-steps, given))
    # Less the steps, the places must not fall: at i, the greatest over j <= i of the least mean from j to any k >= i.
    sums, (j, k) = np.insert((given[order] - steps).cumsum(), 0, 0.0), np.indices((len(places), len(places)))
    means = np.where(j <= k, (sums[k + 1] - sums[j]) / np.maximum(1, k + 1 - j), np.inf)
    least = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
    levels = np.where(j <= k, least, -np.inf).max(axis=0)
    return np.asarray((np.clip(levels, 0.02, max(0.02, 0.98 - steps[-1])) + steps)[np.argsort(order)])


def first_number(bucket: Any) -> tuple[float, bool]:
    """Return the sort key of a bucket such as "2-3": its first number; buckets without a number come last.

    Examples
    --------
    >>> sorted(["8-15", "unknown", "0", "2-3"], key=first_number)
    ['0', '2-3', '8-15', 'unknown']
    """
    if isinstance(bucket, pd.Interval):
        return float(bucket.left), False
    match = re.search(r"\d+(\.\d+)?", str(bucket))
    return (float(match.group()), not str(bucket).startswith("<")) if match else (math.inf, True)


def values_by_group(
    frames: Mapping[str, pd.DataFrame], groups: pd.Index[Any], labels: Sequence[str], key: str, title: str,
    rule: str, axis: str = "",
) -> Figure:  # fmt: skip
    """Return a metric by group: marks with intervals, a row per group, or a column if the axis of groups has a title.

    A mark is filled where the column ``decided`` says so; without this column, where the group has not few ranks.

    Groups with few ranks do not set the limits of the axis, unless all have few: their intervals may be cut.

    Parameters
    ----------
    frames : mapping of str to pandas.DataFrame
        A table of groups for each model: the number of ranks ``n``, the metric, and if known ``"<metric> low"`` and
        ``"<metric> high"``.
    groups : pandas.Index
        The labels of the rows of the tables to draw, in this order.
    labels : sequence of str
        What to show for them.
    key : str
        The key of the metric.
    title : str
    rule : str
        What open marks mean, for the legend.
    axis : str
        The title of the axis of groups, for columns.
    """
    step, n_models, seen, found = min(0.08 if axis else 0.22, 0.7 / len(frames)), len(frames), [], []
    for m, frame in enumerate(frames.values()):
        rows = frame.reindex(groups)
        values, low, high = rows.reindex(columns=[key, f"{key} low", f"{key} high"]).to_numpy(dtype=np.float64).T
        places, has_few = np.arange(len(groups)) + (m - (n_models - 1) / 2) * step, rows["n"] < MIN_RANKS
        is_sure = (~has_few | bool(has_few.all())).to_numpy()
        found.append((places, values, low, high, is_sure, rows.get("decided", is_sure)))
        seen += [*values, *low[is_sure], *high[is_sure]]
    shown = Axis.of_values(display_of(key).heading, seen)
    marks: list[Mark] = []
    legend: list[tuple[str, Mark]] = []
    for m, (name, (places, values, low, high, is_sure, filled)) in enumerate(zip(frames, found)):
        known = np.isfinite(low + high)
        ends = (np.clip(end[known], shown.low, shown.high).tolist() for end in (low, high))
        parts = [(at, a, at, b) if axis else (a, at, b, at) for at, a, b in zip(places[known].tolist(), *ends)]
        marks.append(Line.of_parts(parts, "interval", m))
        if axis:
            marks.append(Line(points_of(places[is_sure], values[is_sure]), m))
        points = points_of(places, values) if axis else points_of(values, places)
        marks.append(Dots(points, m, tuple(map(bool, filled))))
        legend.append((name, Line((), m, marked=(0,)) if axis else Dots((), m, (True,))))
    if not all(all(filled) for *_, filled in found):
        legend.append((f"open: {rule}", Dots((), next(m for m, one in enumerate(found) if not all(one[-1])), (False,))))
    named = Axis.of_rows(labels, axis, is_falling=not axis)
    if axis:
        return Figure(title, (Panel(named, shown, tuple(marks)),), tuple(legend))
    height = len(labels) * max(row_height(labels), 0.4 + 0.33 * n_models)
    return Figure(title, (Panel(shown, named, tuple(marks), height),), tuple(legend))


def row_height(labels: Sequence[str]) -> float:
    """Return the height of a row beside labels, of which one may have two lines."""
    return 1.7 if any("\n" in label for label in labels) else 1.0


def difference_rows(panels: Sequence[tuple[str, str, pd.DataFrame]], title: str, winners: Sequence[str] = ()) -> Figure:
    """Return differences with their intervals, a row each; filled if decided.

    Parameters
    ----------
    panels : sequence of (str, str, pandas.DataFrame)
        The title of the axis, and a dataset or ""; panels with one title have one axis. The tables have
        the columns ``difference, low, high, decided, label, turns, winner``; the last is 0 or 1, the place of the
        colour, and of `turns` the difference has a double dagger.
    title : str
    winners : sequence of str
        What the two colours mean, for the legend.
    """
    made = []
    numbers = [(name, rows[["difference", "low", "high"]].to_numpy(dtype=np.float64)) for name, _, rows in panels]
    axes = {
        name: Axis.of_values(name, [0.0, *np.concatenate(found).ravel()]) for name, found in grouped(numbers).items()
    }
    last = {name: i for i, (name, _, _) in enumerate(panels)}
    for place, ((name, dataset, rows), (_, values)) in enumerate(zip(panels, numbers)):
        found, x = values.tolist(), axes[name]
        x = x if place == last[name] else replace(x, title="", ticks=tuple((at, "") for at, _ in x.ticks))
        labels = rows["label"].tolist()
        y = Axis.of_rows(labels, dataset)
        marks: list[Mark] = [Line(((0.0, y.low), (0.0, y.high)), kind="dotted")]
        for of, places in grouped((int(winner), i) for i, winner in enumerate(rows["winner"])).items():
            ends = [(found[i][1], i, found[i][2], i) for i in places if math.isfinite(sum(found[i]))]
            points, filled = [(found[i][0], float(i)) for i in places], rows["decided"].iloc[places]
            marks += [Line.of_parts(ends, "interval", of), Dots(tuple(points), of, tuple(map(bool, filled)))]
        sizes, usual = values[:, 0], 4 if np.abs(values[:, 0]).max() <= 1.0 else 2
        digits = enough_decimals(sizes[rows["decided"].to_numpy(dtype=bool)], usual)
        marked = zip(sizes.tolist(), rows["turns"])
        right = tuple((float(i), signed(size, digits) + OTHERWISE * turns) for i, (size, turns) in enumerate(marked))
        made.append(Panel(x, y, tuple(marks), len(found) * row_height(labels) + 0.2, right))
    kinds = {bool(one) for _, _, rows in panels for one in rows["decided"]}
    legend = [(name, Dots((), of, (True,))) for of, name in enumerate(winners)] + [("open: undecided", DECIDED[1][1])]
    return Figure(title, tuple(made), tuple(legend) if winners else DECIDED if len(kinds) > 1 else ())


def mean_curves(
    x: Numbers, curves: Mapping[str, tuple[Numbers, Numbers]], words: tuple[str, str], axes: tuple[str, str],
    chance: Sequence[tuple[str, Line]], *, has_legend: bool = False,
) -> Figure:  # fmt: skip
    """Return the mean curve of the queries of each model, with pointwise 95% intervals, and the mean area below it.

    Names and areas stand beside the curves.

    Parameters
    ----------
    x : numpy.ndarray of float
        The places, from 0 to 1; if the first one is greater than 0, the axis is logarithmic, and the curves have steps.
    curves : mapping of str to (numpy.ndarray of float, numpy.ndarray of float)
        The heights at these places, a row for each query; and the area below the curve of each query.
    words : tuple of str
        What the figure shows, and the name of the area.
    axes : tuple of str
        The titles of the horizontal and of the vertical axis.
    chance : sequence of (str, Line)
        The chance levels: their names and their lines.
    has_legend : bool
        Whether a legend has names and areas.
    """
    marked = tuple(range(len(x))) if len(x) < MANY_POINTS else ()
    steps = 1 + (x[0] > 0.0)  # of a curve with steps, each height has two points: its own place and the next one
    places = x.repeat(steps)[steps - 1 :]

    def path(heights: Any) -> tuple[Point, ...]:
        return points_of(places, np.repeat(heights, steps)[: len(places)])

    bands, lines, seen = list[Mark](), list[tuple[str, Line]](), list[float]()
    sizes = sorted({len(areas) for _, areas in curves.values()})
    for m, (name, (rows, areas)) in enumerate(curves.items()):
        of_queries = pd.DataFrame(np.column_stack([rows, areas]))
        (*means, area), error = of_queries.mean(), of_queries.sem().to_numpy()
        low, high = (np.clip(means + sign * Z_95 * error[:-1], 0.0, 1.0) for sign in (-1, 1))
        text = f"{name}{f' (n = {len(rows):,})' if len(sizes) > 1 else ''}: {words[1].rstrip('s')} {area:.4f}"
        if len(rows) > 1 and (not m or len(curves) < MANY_CURVES):
            text += f" ± {Z_95 * error[-1]:.4f}"
            bands.append(Area((*path(low), *path(high)[::-1]), m))
        lines.append((text, Line(path(means), m, marked=marked)))
        seen += [*means, *low, *high]
    legend = (*lines, *chance)
    x_axis, y_axis = Axis.of_values(axes[0], [0.0, 1.0], unit=True), Axis.of_values(axes[1], [0.0, *seen], unit=True)
    if x[0]:
        powers = [10.0**-power for power in range(math.floor(1e-9 - math.log10(x[0])) + 1)]
        ticks = tuple((at, f"{at:g}") for at in powers)
        x_axis = Axis(f"{axes[0]} (log scale; AUC: linear)", float(x[0]), 1.0, ticks, is_log=True)
    n = f"mean of n = {sizes[0]:,} queries" if len(sizes) == 1 else "means of the queries"
    heading = f"{words[0]}: {n}, with {words[1]}{' and 95% intervals (queries as independent)' if bands else ''}"
    panel = Panel(x_axis, y_axis, (*bands, *(mark for _, mark in reversed(legend))))
    ends = np.array([[line.points[0][1], line.points[-1][1]] for _, line in lines])
    if has_legend or (len(lines) > 1 and np.ptp(ends, axis=0).max() < 0.02):  # no end tells the curves apart
        return Figure(heading, (panel,), legend)
    names = ["\n".join(re.sub(r" \((n = [\d,]+)\)(: [^:]*)$", r"\n\1\2", text).rsplit(": ", 1)) for text, _ in legend]
    return Figure(heading, (_named_beside(panel, names, [line for _, line in legend]),))


def rank_diagram(
    models: Sequence[tuple[str, float]], groups: Sequence[tuple[int, int]], difference: float | None, label: str,
    x_name: str = "mean rank (1 is best)", n_lines: int = 1,
) -> Figure:  # fmt: skip
    """Return a critical-difference diagram: an axis of mean ranks; thick lines join models that do not differ.

    The better half of the models has its names at the left, the best one at the top; the other half at the right, the
    worst one at the top. So no two lines cross.

    Parameters
    ----------
    models : sequence of (str, float)
        Name and mean rank of each model, best mean rank first.
    groups : sequence of (int, int)
        Each group of models among which a test finds no significant difference: the indices in `models` of the first
        and of the last model of the group.
    difference : float or None
        The critical difference, drawn above the axis; None if there is no test.
    label : str
        What the figure shows.
    x_name : str
    n_lines : int
        Of a label: 2, with the mean rank below the name, leave more room for the axis.

    References
    ----------
    Demšar (2006), Statistical Comparisons of Classifiers over Multiple Data Sets, Journal of Machine Learning
    Research 7 (figure 1).

    Examples
    --------
    >>> figure = rank_diagram([("A", 1.2), ("B", 1.8), ("C", 3.0)], [(0, 1)], 1.4, "mean ranks")
    >>> figure.panels[0].y.ticks, figure.panels[0].right
    (((-1.4, 'A  1.20'), (-2.4, 'B  1.80')), ((-1.4, 'C  3.00'),))
    """
    k, levels = len(models), bar_levels(groups)
    n_left, first = (k + 1) // 2, 1.4 + 0.45 * max(levels, default=-1) + (0.0 if levels else -0.45)
    places = [-(first + (0.2 + 0.8 * n_lines) * (i if i < n_left else k - 1 - i)) for i in range(k)]
    low, high = 1.0, max(2.0, float(k))
    pad = 0.03 * (high - low)  # the lines at the ends are not cut, and reach their names
    best = models[0][1]
    hangers = tuple(
        Line(((x, 0.0), (x, y), (low - pad if i < n_left else high + pad, y)), 0 if x == best else None, "ink")
        for i, ((_, x), y) in enumerate(zip(models, places))
    )
    ticks = [(float(rank), 0.25, str(rank)) for rank in range(1, k + 1, math.ceil(k / 7))]
    margin = 0.012 * (high - low)
    bars = [
        (models[a][1] - margin, -(0.55 + 0.45 * level), models[b][1] + margin, -(0.55 + 0.45 * level))
        for (a, b), level in zip(groups, levels)
    ]
    marks: list[Mark] = [
        Line.of_parts([(low, 0.0, high, 0.0), *((x, 0.0, x, y) for x, y, _ in ticks)], "ink"),
        Texts(tuple(ticks)),
        *hangers,
        Line.of_parts(bars, "thick"),
        Dots(((best, 0.0),), 0, (True,)),
    ]
    top = 1.4
    if difference is not None:
        end, top = min(low + difference, high), 2.9
        cut = () if low + difference > high else ((end, 1.5, end, 1.9),)
        marks.append(Line.of_parts([(low, 1.7, end, 1.7), (low, 1.5, low, 1.9), *cut], "ink"))
        marks.append(Texts(((low, 1.8, f"critical difference {difference:.2f}"),), "start"))
    between = "\n" if n_lines > 1 else "  "
    texts = [(y, f"{name}{between}{rank:.2f}") for (name, rank), y in zip(models, places)]
    y = Axis("", min(places) - 0.1 - 0.4 * n_lines, top, tuple(texts[:n_left]))
    x, right = Axis(x_name, low - pad, high + pad, ()), tuple(texts[n_left:])
    panel = Panel(x, y, tuple(marks), top - y.low, right=right, has_frame=False)
    return Figure(label, (panel,))


def bar_levels(groups: Sequence[tuple[int, int]]) -> list[int]:
    """Return the level of each bar, 0 next to the axis: the first level on which it overlaps no other bar.

    Examples
    --------
    >>> bar_levels([(0, 2), (1, 3), (3, 5)])
    [0, 1, 0]
    """
    ends: list[int] = []  # the last model of the last bar on each level
    levels = []
    for first, last in groups:
        level = next((i for i, end in enumerate(ends) if end < first), len(ends))
        ends[level : level + 1] = [last]
        levels.append(level)
    return levels
