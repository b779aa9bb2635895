"""The figures of results, one function each: shares of ranks, hits@k, values by group, differences, curves, mean ranks.

Each returns a `Figure`, which the pages and `kgeval.report.plots` draw. Models have the colours, dashes and markers of
their places, so the caller names the best first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import counted, grouped
from kgeval.metrics.grammar import display_of
from kgeval.report.figure import Area, Axis, Bars, Dots, Figure, Line, Mark, Panel, Texts, points_of, ticks_of

MANY_CURVES, N_COLOURED = 10, 4  # of so many curves, the first ones have colours, the others are grey
MAX_BESIDE = 4  # models whose bars stand beside each other; each of more models has a panel
TOWER = 0.05  # the share of all ranks, tied in one bin, from which on the bin is marked
MARKED = tuple(step * 10**power for power in range(9) for step in (1, 3))  # values of k that have a marker
MIN_RANKS, MANY_POINTS = 10, 22  # a group with fewer ranks has an open mark, a curve of so many points no markers
PALE = 0.3
DECIDED = (("decided", Dots((), 0, (True,))), ("undecided", Dots((), 0, (False,))))
DIAGONAL = Line(((0.0, 0.0), (1.0, 1.0)), kind="dotted")
TWO_LINES = 1.6  # rows of text that a row with a label of two lines takes
LANES = 0.2  # the middle of the marks below a label, in rows; the label stands above 0
LANE, LANE_HEIGHT = 0.84, 2.4  # width of the bars of a bin; rows of a panel of one of many models
Z_95 = 1.96  # the normal quantile of 95% intervals
Data = Mapping[str, Any]
Numbers = npt.NDArray[np.float64]


def tower(tied: Sequence[int], total: int) -> int | None:
    """Return the bin with the most ties, if at least 5% of all ranks tie in it.

    Examples
    --------
    >>> tower([1, 6], 100), tower([1, 4], 100)
    (1, None)
    """
    most = max(tied, default=0)
    return tied.index(most) if total and most >= TOWER * total else None


def rank_distribution(names: Sequence[str], found: Data, title: str) -> Figure:
    """Return the share of ranks in each bin as bars, the part of tied ranks pale, with intervals.

    Parameters
    ----------
    names : sequence of str
    found : dict
        From `kgeval.report.page_distributions.distribution`.
    title : str
    """
    bins, n, is_many = found["bins"], len(names), len(names) > MAX_BESIDE
    width = LANE if is_many else LANE / n
    marks: list[list[Mark]] = []
    pairs = zip(found["counts"], found["totals"])
    all_shares = [(np.array(of_model) / max(1, total)).tolist() for of_model, total in pairs]
    tops = [[max(share, end or 0.0) for share, end in zip(*pair)] for pair in zip(all_shares, found["high"])]
    top = max(0.01, *map(max, tops))
    if not is_many:  # a text stands above all bars of its bin
        tops = [list(map(max, zip(*tops)))] * n
    for m in range(n):
        shares, tied = all_shares[m], [count / max(1, found["totals"][m]) for count in found["tied"][m]]
        starts = [i - LANE / 2 + (0.0 if is_many else m * width) for i in range(len(bins))]
        bars = zip(starts, shares, tied)
        full = [(x, 0.0, x + width, share - pale) for x, share, pale in bars]
        pale = tuple((x, y, x + width, y + share) for (x, _, _, y), share in zip(full, tied) if share)
        ends = zip(starts, found["low"][m], found["high"][m])
        known = [(x + width / 2, low, x + width / 2, high) for x, low, high in ends if low is not None]
        marks.append([Bars(tuple(full), m), Bars(pale, m, "pale"), Line.of_parts(known, "ink")])
        place, longest = tower(found["tied"][m], found["totals"][m]), int(np.argmax(shares))
        said = [(longest, f"{shares[longest]:.0%}")] if is_many else []
        whose = f"{names[m]}:\n" if 1 < n <= MAX_BESIDE else ""
        said += [] if place is None else [(place, f"{whose}{tied[place]:.0%} tied")]
        texts = ((starts[i] + width / 2, tops[m][i], ", ".join(parts)) for i, parts in grouped(said).items())
        marks[-1].append(Texts(tuple(texts)))
    x_name = "filtered rank, ties at their mean; bins widen to the right"
    x = Axis.of_rows(list(map(brief_bin, bins)), x_name, is_falling=False)
    high = (1.6 if is_many else 1.12) * top
    legend: list[tuple[str, Mark]] = []
    if any(map(any, found["tied"])):
        legend = [("pale: tied with a rival", Bars((), None, "pale"))]
    if not is_many:
        y = Axis("share of ranks", 0.0, high, ticks_of(0.0, high))
        legend = [*((name, Bars((), m)) for m, name in enumerate(names)), *legend]
        return Figure(title, (Panel(x, y, tuple(mark for of_model in marks for mark in of_model)),), tuple(legend))
    panels, tick = [], ticks_of(0.0, high, 3)[1]
    for m, name in enumerate(names):
        own_x = x if m == n - 1 else Axis("", x.low, x.high, (), has_names=True)
        y = Axis("", 0.0, high, ((tick[0], name),), has_names=True)
        panels.append(Panel(own_x, y, tuple(marks[m]), LANE_HEIGHT, right=(tick,)))
    return Figure(title, tuple(panels), tuple(legend))


def brief_bin(label: str) -> str:
    """Return the label of a bin of ranks for an axis: with k for thousands, and a wide one in two lines.

    Examples
    --------
    >>> brief_bin("4–10"), brief_bin("301–1,000"), brief_bin("10,001–14,541")
    ('4–10', '301–\\n1k', '10k–\\n14,541')
    """
    start, dash, end = (re.sub(",00[01]$", "k", part) for part in label.partition("–"))
    return f"{start}{dash}{end}" if len(label) < 6 else f"{start}{dash}\n{end}"


def hits_curve(names: Sequence[str], hits: Data, title: str) -> Figure:
    """Return hits@k of each model with intervals; where a value is bounded, its bounds; and the chance level.

    Of many models, all but the first ones are thin grey curves, only the first has a band, and the axis is that of the
    first ones: other curves begin where they reach it.

    Parameters
    ----------
    names : sequence of str
    hits : dict
        From `kgeval.report.page_distributions.hits_at_cuts`.
    title : str
    """
    x_values = np.array(hits["k"], dtype=np.float64)
    marked = tuple(np.searchsorted(x_values, [k for k in MARKED if k <= x_values[-1]]).tolist())
    bands: list[Mark] = []
    lines: list[Mark] = []
    n_coloured = len(names) if len(names) < MANY_CURVES else N_COLOURED
    for m in range(n_coloured):
        values, *ends = (np.array(hits[name][m], dtype=np.float64) for name in ("values", "low", "high"))
        if hits["bounds"][m]:
            ends = [np.where(np.isnan(values), bound, end) for bound, end in zip(hits["bounds"][m], ends)]
        low, high = ([(x, y) for x, y in points_of(x_values, end) if math.isfinite(y)] for end in ends)
        is_drawn = len(low) > 1 and (not m or n_coloured == len(names))
        bands += [Area((*low, *high[::-1]), m)] if is_drawn else []
        lines.append(Line(points_of(x_values, values), m, marked=marked))
    legend = list(zip(names, lines))
    seen = [end for name in ("values", "low", "high") for of_model in hits[name][:n_coloured] for end in of_model]
    y = Axis.of_values("hits@k", seen if len(names) > n_coloured else [0.0, 1.0], unit=True)
    y = replace(y, title=f"hits@k, from {max(0.0, y.low):.2f} on") if len(names) > n_coloured else y
    kept = [_from(y.low, x_values, np.array(values, dtype=np.float64)) for values in hits["values"][n_coloured:]]
    others = [Line(points, kind="ink", opacity=0.4) for points in kept]
    lines = [*others, *lines]
    legend += [(counted(len(others), "other model"), others[0])] if others else []
    if hits["chance"] is not None:
        lines.append(Line(_from(y.low, x_values, np.array(hits["chance"])), kind="dotted"))
        legend.append(("chance", lines[-1]))
    x = Axis.of_log("k (filtered ranks, ties at their mean)", x_values[-1])
    ticks = tuple((float(k), f"{k:,}") for k in MARKED if k <= x.high)
    x = replace(x, low=x.at(-0.02), high=x.at(1.02), ticks=ticks)  # so that no marker is cut
    return Figure(title, (Panel(x, y, (*bands, *lines)),), tuple(legend))


def _from(low: float, x: Numbers, y: Numbers) -> tuple[tuple[float, float], ...]:
    """Return the part of a curve that never falls from the height `low` on; the x axis is logarithmic."""
    first = int(np.argmax(np.append(y >= low, True)))
    if not 0 < first < len(y):
        return points_of(x[first:], y[first:])
    share = (low - y[first - 1]) / (y[first] - y[first - 1])
    return points_of([x[first - 1] * (x[first] / x[first - 1]) ** share, *x[first:]], [low, *y[first:]])


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


def has_few(rows: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Return for each group of a table whether it has fewer than `MIN_RANKS` ranks; none has, if all have."""
    few = (rows["n"] < MIN_RANKS).to_numpy() if "n" in rows.columns else np.zeros(len(rows), dtype=bool)
    return few & ~few.all()


def values_by_group(
    frames: Mapping[str, pd.DataFrame], groups: pd.Index[Any], labels: Sequence[str], key: str, title: str,
    axis: str = "",
) -> Figure:  # fmt: skip
    """Return a metric by group: marks with intervals, a row per group, or a column if the axis of groups has a title.

    The label of a row stands above its marks, where a long one has room.

    Groups with few ranks (`has_few`) do not set the limits of the axis: their intervals may be cut.

    Parameters
    ----------
    frames : mapping of str to pandas.DataFrame
        A table of groups for each model: the metric, and if known ``"<metric> low"`` and ``"<metric> high"``.
    groups : pandas.Index
        The labels of the rows of the tables to draw, in this order.
    labels : sequence of str
        What to show for them.
    key : str
        The key of the metric.
    title : str
    axis : str
        The title of the axis of groups, for columns.
    """
    step, n_models, seen = min(0.08, 0.7 / len(frames)) if axis else min(0.16, 0.5 / len(frames)), len(frames), []
    middle = 0.0 if axis else LANES
    found = []
    for m, frame in enumerate(frames.values()):
        rows = frame.reindex(groups)
        columns = (rows.get(name, pd.Series(np.nan, rows.index)) for name in (key, f"{key} low", f"{key} high"))
        values, low, high = (column.to_numpy(dtype=np.float64) for column in columns)
        places, is_sure = np.arange(len(groups)) + middle + (m - (n_models - 1) / 2) * step, ~has_few(rows)
        found.append((places, values, low, high, is_sure))
        seen += [*values, *low[is_sure], *high[is_sure]]
    shown = Axis.of_values(display_of(key).heading, seen)
    marks: list[Mark] = []
    legend: list[tuple[str, Mark]] = []
    for m, (name, (places, values, low, high, is_sure)) in enumerate(zip(frames, found)):
        known = np.isfinite(low + high)
        for chosen, opacity in ((known & is_sure, 1.0), (known & ~is_sure, PALE)):
            ends = (np.clip(end[chosen], shown.low, shown.high).tolist() for end in (low, high))
            parts = [(at, a, at, b) if axis else (a, at, b, at) for at, a, b in zip(places[chosen].tolist(), *ends)]
            marks += [replace(Line.of_parts(parts, "interval", m), opacity=opacity)] if parts or opacity == 1.0 else []
        if axis:
            marks.append(Line(points_of(places[is_sure], values[is_sure]), m))
        points = points_of(places, values) if axis else points_of(values, places)
        marks.append(Dots(points, m, tuple(is_sure.tolist())))
        legend.append((name, Line((), m, marked=(0,)) if axis else Dots((), m, (True,))))
    named = Axis.of_rows(labels, axis, is_falling=not axis)
    if axis:
        return Figure(title, (Panel(named, shown, tuple(marks)),), tuple(legend))
    marks.append(Texts(tuple((shown.at(0.01), i - 0.05, label) for i, label in enumerate(labels)), "start"))
    borders = replace(named, ticks=tuple((i - 0.5, "") for i in range(1, len(labels))))
    height = len(labels) * (0.8 + 0.33 * n_models)
    return Figure(title, (Panel(shown, borders, tuple(marks), height),), tuple(legend))


def _height(labels: Iterable[str]) -> float:
    """Return the height of rows with these labels, of one line or two, in rows of text."""
    lines = [label.count("\n") for label in labels]
    return len(lines) * (TWO_LINES if any(lines) else 1.0)


def difference_rows(panels: Sequence[tuple[str, str, pd.DataFrame]], title: str) -> Figure:
    """Return differences with their intervals, a row each; filled if decided.

    Parameters
    ----------
    panels : sequence of (str, str, pandas.DataFrame)
        The title of the axis, and a dataset or ""; panels with one title have one axis. The tables have
        the columns ``difference, low, high, decided, label``.
    title : str
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
        ends = [(low, float(i), high, float(i)) for i, (_, low, high) in enumerate(found) if math.isfinite(low + high)]
        y = Axis.of_rows(rows["label"].tolist(), dataset)
        marks = (
            Line(((0.0, y.low), (0.0, y.high)), kind="dotted"),
            Line.of_parts(ends, "interval", 0),
            Dots(tuple((row[0], float(i)) for i, row in enumerate(found)), 0, tuple(map(bool, rows["decided"]))),
        )
        made.append(Panel(x, y, marks, _height(rows["label"]) + 0.2))
    kinds = {bool(one) for _, _, rows in panels for one in rows["decided"]}
    return Figure(title, tuple(made), DECIDED if len(kinds) > 1 else ())


def calibration(table: pd.DataFrame, title: str, *, has_counts: bool) -> Figure:
    """Return the observed share of positives over the mean probability of each bin, and the bins as bars below.

    Parameters
    ----------
    table : pandas.DataFrame
        The bins that are not empty, from `kgeval.metrics.pointwise.reliability_curve`.
    title : str
    has_counts : bool
        Whether to draw the bars.
    """
    curve = points_of(table["mean_probability"], table["observed"])
    per_bin = Line(curve, 0, marked=tuple(range(len(curve))))
    x = Axis.of_values("mean probability per bin", [0.0, 1.0], unit=True)
    y = Axis.of_values("share of positives", [0.0, 1.0], unit=True)
    panels = [Panel(x, y, (DIAGONAL, per_bin))]
    if has_counts:
        top = float(table["n"].max())
        ends = zip(table["low"], np.maximum(table["high"], table["low"] + 0.002), table["n"])
        bars = Bars(tuple((low, 0.0, high, float(n)) for low, high, n in ends), 0)
        counts = Axis("examples", 0.0, 1.08 * top, ticks_of(0.0, top, 3))
        panels = [Panel(Axis("", x.low, x.high, x.ticks), y, (DIAGONAL, per_bin)), Panel(x, counts, (bars,), 5.0)]
    return Figure(title, tuple(panels), (("per bin", per_bin), ("calibrated", DIAGONAL)))


def mean_curves(
    x: Numbers, curves: Mapping[str, Numbers], title: str, axes: tuple[str, str], chance: Iterable[tuple[str, Line]]
) -> Figure:
    """Return the mean curve of the queries of each model, with pointwise 95% intervals, and the area below it.

    Parameters
    ----------
    x : numpy.ndarray of float
        The places, from 0 to 1.
    curves : mapping of str to numpy.ndarray of float
        The heights at these places, a row for each query. The area is by the trapezoidal rule.
    title : str
    axes : tuple of str
        The titles of the horizontal and of the vertical axis.
    chance : iterable of (str, Line)
        The chance levels: their names and their lines.
    """
    marked = tuple(range(len(x))) if len(x) < MANY_POINTS else ()
    bands, lines, seen = list[Mark](), list[tuple[str, Mark]](), [0.0]
    sizes = sorted({len(rows) for rows in curves.values()})
    for m, (name, rows) in enumerate(curves.items()):
        areas = (np.diff(x) * (rows[:, 1:] + rows[:, :-1])).sum(axis=1) / 2
        of_queries = pd.DataFrame(np.column_stack([rows, areas]))
        (*means, area), error = of_queries.mean(), of_queries.sem().to_numpy()
        (*low, least), (*high, most) = (np.clip([*means, area] + sign * Z_95 * error, 0.0, 1.0) for sign in (-1, 1))
        text = f"{name}{f' (n = {len(rows):,})' if len(sizes) > 1 else ''}: {area:.4f}"
        if len(rows) > 1:
            text += f" [{least:.4f}, {most:.4f}]"
            bands.append(Area((*points_of(x, low), *points_of(x, high)[::-1]), m))
        lines.append((text, Line(points_of(x, means), m, marked=marked)))
        seen += [*means, *high]
    legend = (*lines, *chance)
    x_axis, y_axis = Axis.of_values(axes[0], [0.0, 1.0], unit=True), Axis.of_values(axes[1], seen, unit=True)
    n = f"mean of n = {sizes[0]:,} queries" if len(sizes) == 1 else "means of the queries"
    heading = f"{title}: {n}, with areas{' and 95% intervals' if bands else ''}"
    return Figure(heading, (Panel(x_axis, y_axis, (*bands, *(mark for _, mark in reversed(legend)))),), legend)


def rank_diagram(
    models: Sequence[tuple[str, float]], groups: Sequence[tuple[int, int]], difference: float | None, label: str,
    x_name: str = "mean rank (1 is best)",
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
    places = [-(first + (i if i < n_left else k - 1 - i)) for i in range(k)]
    low, high = 1.0, max(2.0, float(k))
    pad = 0.03 * (high - low)  # the lines at the ends are not cut, and reach their names
    hangers = tuple(
        Line(((rank, 0.0), (rank, y), (low - pad if i < n_left else high + pad, y)), kind="ink")
        for i, ((_, rank), y) in enumerate(zip(models, places))
    )
    step = math.ceil(k / 7)
    ticks = [(float(rank), 0.25, str(rank)) for rank in range(1, k + 1, step)]
    margin = 0.012 * (high - low)
    bars = [
        (models[a][1] - margin, -(0.55 + 0.45 * level), models[b][1] + margin, -(0.55 + 0.45 * level))
        for (a, b), level in zip(groups, levels)
    ]
    marks: list[Mark] = [
        Line.of_parts([(low, 0.0, high, 0.0), *((x, 0.0, x, y) for x, y, _ in ticks)], "ink"),
        Texts(tuple(ticks)),
        *hangers,
        Line.of_parts(bars, "thick", 0),
    ]
    top = 1.4
    if difference is not None:
        end, top = min(low + difference, high), 2.9
        cut = () if low + difference > high else ((end, 1.5, end, 1.9),)
        marks.append(Line.of_parts([(low, 1.7, end, 1.7), (low, 1.5, low, 1.9), *cut], "ink"))
        marks.append(Texts(((low, 1.8, f"critical difference {difference:.2f}"),), "start"))
    texts = [(y, f"{name}  {rank:.2f}") for (name, rank), y in zip(models, places)]
    y = Axis("", min(places) - 0.5, top, tuple(texts[:n_left]))
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
