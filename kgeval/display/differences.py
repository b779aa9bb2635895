"""Differences of models as a `Table`, from the rows of any comparison: sign, interval, drawing, p-value, decision."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from kgeval.base.checks import counted, grouped, listed
from kgeval.base.terminal import PIPE, Screen, shortened
from kgeval.base.wording import between, enough_decimals, p_text, printable, signed, written
from kgeval.display.html import difference_bar
from kgeval.display.media import text_table
from kgeval.display.table import Cell, Column, Table, heading_of
from kgeval.metrics.grammar import display_of
from kgeval.stats.moments import FEW_CLUSTERS

MANY = 4  # models; from so many on, people are shown the differences in the first metric alone
MAX_PLACES = 3  # differences that a note names before it counts the others
MAX_NAME = 40  # characters of the name of a model, where no terminal sets the width


def shown_differences(
    rows: Sequence[Mapping[Any, Any]],
    alpha: float,
    *,
    has_datasets: bool = False,
    has_metrics: bool = True,
    screen: Screen = PIPE,
) -> Table:
    """Return differences of pairs of models: each with its interval, drawn and as text, its p-value and its decision.

    Parameters
    ----------
    rows : sequence of mappings
        Rows of `kgeval.comparison.rows.decided_rows`.
    alpha : float
        The level of the tests.
    has_datasets, has_metrics : bool
        Whether to show the dataset, and the metric, of each row. Of a single metric, the heading has its name.
    screen : Screen
        Where it has a width, names of models are shortened, so that both names of a pair can be seen.
    """
    width, ellipsis = (MAX_NAME, "…") if screen.width is None else (screen.width // 6, screen.ellipsis)

    def name(text: str) -> str:
        return shortened(printable(text), width, ellipsis)

    pairs = [f"{name(row['first'])} - {name(row['second'])}" for row in rows]
    is_one_pair = has_metrics and len(set(pairs)) == 1
    displays = [display_of(row["metric"].removeprefix("macro.")) for row in rows]
    headings = [heading_of(row["metric"]) for row in rows]
    columns = [Column.of_labels("dataset", [row["dataset"] for row in rows])] if has_datasets else []
    columns += [] if is_one_pair else [Column.of_labels("difference of", pairs)]
    columns += [Column.of_labels(pairs[0] if is_one_pair else "metric", headings)] if has_metrics else []
    heading = "difference" if has_metrics or not rows else f"{headings[0]} difference"
    columns.append(Column(heading, [_difference(row, one.decimals) for row, one in zip(rows, displays)], place=5))
    columns.append(_drawings(rows))
    columns.append(Column.of_texts("p (Holm)", [p_text(row["p_corrected"], alpha) for row in rows], 4))
    if has_metrics:
        detectable = [written(row["detectable"], one.decimals) for row, one in zip(rows, displays)]
        columns.append(Column.of_texts("detectable", detectable, 2))
    if rows and "wins" in rows[0]:
        counts = [f"{row['wins']}/{row['ties']}/{row['losses']}" for row in rows]
        columns.append(Column.of_texts("wins/ties/losses", counts, 1))
    few = [row["n_effective"] < FEW_CLUSTERS for row in rows]
    if has_metrics and any(few):
        texts = [f"{row['n_effective']:.0f}" if is_few else "" for row, is_few in zip(rows, few)]
        columns.append(Column.of_texts("effective clusters", texts, -1))
    decisions = [Cell(name(str(row["better"] or row["decision"])), is_best=bool(row["better"])) for row in rows]
    columns.append(Column("better", decisions, is_label=True))
    places = [f"{pair}, {heading}" if has_metrics else pair for pair, heading in zip(pairs, headings)]
    places = [f"{place} on {printable(row['dataset'])}" if has_datasets else place for place, row in zip(places, rows)]
    reasons = grouped((row["reason"], place) for row, place in zip(rows, places) if row["reason"])
    return Table(columns, [("", f"{listed(where, MAX_PLACES)}: {reason}") for reason, where in reasons.items()])


def screen_differences(differences: pd.DataFrame, alpha: float, screen: Screen = PIPE) -> str:
    """Return the differences of a comparison for a terminal; of four and more models those in the first metric.

    Parameters
    ----------
    differences : pandas.DataFrame
        From `kgeval.comparison.rows.decided_rows`.
    alpha : float
    screen : Screen
    """
    rows, metrics = differences.to_dict("records"), differences["metric"].unique().tolist()
    is_cut = len({*differences["first"], *differences["second"]}) >= MANY and len(metrics) > 1
    shown = [row for row in rows if row["metric"] == metrics[0]] if is_cut else rows
    table = shown_differences(shown, alpha, screen=screen)
    if is_cut:
        others = listed([heading_of(metric) for metric in metrics[1:]])
        left_out = f"{counted(len(rows) - len(shown), 'difference')} in {others}: --to csv, in Python .differences"
        table = replace(table, notes=[*table.notes, ("", left_out)])
    return text_table(table, screen)


def _difference(row: Mapping[Any, Any], decimals: int) -> Cell:
    """Return a difference with its sign and its interval; a decided one, and a limit beside it, never reads as 0."""
    numbers = (row["difference"], row["low"], row["high"])
    places = enough_decimals(numbers if row["better"] else numbers[:1], decimals)
    return Cell(signed(row["difference"], places), between(row["low"], row["high"], places, has_signs=True))


def _drawings(rows: Sequence[Mapping[Any, Any]]) -> Column:
    """Return the differences with their intervals, drawn on one axis."""
    limit = edge_of([abs(row[name]) for row in rows for name in ("difference", "low", "high")])
    numbers = ((row["difference"], row["low"], row["high"]) for row in rows)
    drawn = [Cell("", drawing=partial(difference_bar, *of_row, limit)) for of_row in numbers]
    return Column(f"-{limit:g} to +{limit:g}", drawn)


def edge_of(sizes: Sequence[float]) -> float:
    """Return the largest finite size, rounded up to two significant digits; 1 if no size is above 0.

    Parameters
    ----------
    sizes : sequence of float

    Examples
    --------
    >>> edge_of([0.0312, float("nan")]), edge_of([0.0])
    (0.032, 1.0)
    """
    largest = max((size for size in sizes if math.isfinite(size)), default=0.0)
    if largest == 0.0:
        return 1.0
    unit = 10.0 ** (math.floor(math.log10(largest)) - 1)
    return float(f"{math.ceil(largest / unit - 1e-9) * unit:.2g}")
