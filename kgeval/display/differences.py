"""Differences of models as a `Table`, from the rows of any comparison: sign, interval, drawing, p-value, decision."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import counted, grouped, listed
from kgeval.base.terminal import PIPE, Screen, distinct_labels, width_of
from kgeval.base.wording import (
    count_text,
    decimals_for,
    difference_decimals,
    p_equals,
    printable,
    shown_label,
    signed,
    written,
)
from kgeval.display.html import axis_ends, difference_bar
from kgeval.display.media import text_table
from kgeval.display.table import Cell, Column, Table, difference_cell, heading_of
from kgeval.metrics.grammar import display_of
from kgeval.stats.moments import FEW_CLUSTERS

MANY = 3  # models; from so many on, people are shown the differences in the first metric alone
MAX_PAIRS, MAX_RIVALS = 10, 5  # pairs that a terminal shows; of more pairs, rivals of the leader
MAX_PLACES = 3  # differences that a note names before it counts the others
MAX_NAME, MIN_NAME = 40, 8  # characters of the name of a model
NUMBERS = 40  # columns of a terminal that the numbers of a row take
OTHERWISE = "‡"  # decided otherwise if each model has its own spread over the seeds
OF_MARK = OTHERWISE, "decided otherwise with separate spreads over the seeds (spread='separate')"


def shown_differences(
    rows: Sequence[Mapping[Any, Any]],
    alpha: float,
    *,
    has_datasets: bool = False,
    has_metrics: bool = True,
    is_brief: bool = False,
    has_decisions: bool = True,
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
        Whether to show the dataset, and the metric, of each row. Of a single metric, the heading has its name, unless
        there is one pair.
    is_brief : bool
        Whether to leave out what is not needed to see the decision.
    has_decisions : bool
        Whether to show the better model; else a decided difference, which is that of the first model, is bold.
    screen : Screen
        Where it has a width, names of models are shortened, so that both names of a pair can be seen.
    """
    names, pairs = _shown_names(rows, screen)
    headings = [heading_of(row["metric"]) for row in rows]
    is_one_pair = has_metrics and len(set(pairs)) == 1
    has_column = has_metrics and (is_one_pair or len(set(headings)) > 1)
    columns = [Column.of_labels("dataset", [row["dataset"] for row in rows])] if has_datasets else []
    columns += [] if is_one_pair else [Column.of_labels("difference of", pairs)]
    columns += [Column.of_labels(pairs[0] if is_one_pair else "metric", headings)] if has_column else []
    heading = "difference" if has_column or not rows else f"{headings[0]} difference"
    digits = decimals_of(rows)
    cells = [replace(_difference(row, digits[row["metric"]]), mark=OTHERWISE * is_otherwise(row)) for row in rows]
    if not has_decisions:
        cells = [replace(cell, is_best=bool(row["better"])) for cell, row in zip(cells, rows)]
    columns.append(Column(heading, cells, place=5))
    ends = ((row["difference"], row["low"], row["high"]) for row in rows)
    columns.append(drawn_differences(ends, (bool(row["better"]) for row in rows)))
    columns.append(replace(Column.of_p_values("p (Holm)", [row["p_corrected"] for row in rows], alpha), place=4))
    if has_metrics and not is_brief and any(row["detectable"] == row["detectable"] for row in rows):
        detectable = [written(row["detectable"], digits[row["metric"]]) for row in rows]
        columns.append(Column.of_texts("detectable", detectable, 2))
    if rows and "wins" in rows[0] and not is_brief:
        counts = [f"{row['wins']:,}/{row['ties']:,}/{row['losses']:,}" for row in rows]
        columns.append(Column.of_texts("wins/ties/losses", counts, 1))
    few = [row["n_effective"] < FEW_CLUSTERS for row in rows]
    if has_metrics and any(few):
        texts = [count_text(row["n_effective"]) if is_few else "" for row, is_few in zip(rows, few)]
        columns.append(Column.of_texts("effective clusters", texts, -1))
    decisions = [Cell(names.get(row["better"], str(row["decision"])), is_best=bool(row["better"])) for row in rows]
    columns += [Column("better", decisions, is_label=True)] if has_decisions else []
    places = [f"{pair}, {heading}" if has_metrics else pair for pair, heading in zip(pairs, headings)]
    places = [f"{place} on {printable(row['dataset'])}" if has_datasets else place for place, row in zip(places, rows)]
    reasons = grouped((row["reason"], place) for row, place in zip(rows, places) if row["reason"])
    notes = [("", f"{listed(where, MAX_PLACES)}: {reason}") for reason, where in reasons.items()]
    return Table(columns, [*([OF_MARK] if any(map(is_otherwise, rows)) else []), *notes])


def is_otherwise(row: Mapping[Any, Any]) -> bool:
    """Return whether separate spreads over the seeds decide a difference of a benchmark otherwise.

    Parameters
    ----------
    row : mapping
        Of `kgeval.benchmarks.Benchmark.differences`, or of another comparison, without the column ``separate``.
    """
    separate = row.get("separate", "")
    return isinstance(separate, str) and separate not in ("", row.get("better") or row.get("decision"))


def _shown_names(rows: Sequence[Mapping[Any, Any]], screen: Screen) -> tuple[dict[str, str], list[str]]:
    """Return the name to show of each model, and the pair of each row, short enough to stand beside the numbers."""
    models = list(dict.fromkeys(row[side] for row in rows for side in ("first", "second")))
    names, pairs = {}, []
    for width in range(MAX_NAME, MIN_NAME - 1, -1):
        names = dict(zip(models, distinct_labels(list(map(printable, models)), width, screen.ellipsis)))
        pairs = [f"{names[row['first']]} - {names[row['second']]}" for row in rows]
        widest = sum(max(map(width_of, texts)) for texts in (pairs, [names.get(row["better"], "") for row in rows]))
        if screen.width is None or widest <= screen.width - NUMBERS:
            break
    return names, pairs


def difference_matrix(rows: Sequence[Mapping[Any, Any]], alpha: float, models: Mapping[str, int]) -> Table:
    """Return the differences of all pairs in one metric: the model of the row minus the model of the column.

    Parameters
    ----------
    rows : sequence of mappings
        Rows of `kgeval.comparison.rows.decided_rows`, of one metric.
    alpha : float
    models : mapping of str to int
        The models, best first, each with the place of its colour. A pair is shown once, with the better model in the
        row: the last model has no row, and the first no column.
    """
    found = {(row["first"], row["second"]): row for row in rows}
    digits = max(decimals_of(rows).values(), default=0)
    names = list(models)
    columns = [Column.of_labels("row - column", names[:-1], models=[models[name] for name in names[:-1]])]
    for place, other in enumerate(names[1:], 1):
        cells = [
            _of_pair(found, one, other, alpha, digits) if i < place else Cell() for i, one in enumerate(names[:-1])
        ]
        columns.append(Column(printable(other), cells, model=models[other]))
    return Table(columns, kind="matrix")


def _of_pair(
    found: Mapping[tuple[str, str], Mapping[Any, Any]], one: str, other: str, alpha: float, digits: int
) -> Cell:
    """Return the difference of a pair, first - second, turned round if its row is; with all of it under the pointer."""
    row = found.get((one, other)) or found.get((other, one))
    if row is None:  # another run of the model itself, or not compared
        return Cell()
    numbers = [row["difference"], row["low"], row["high"]]
    if row["first"] != one:
        numbers = [0.0 - numbers[0], 0.0 - numbers[2], 0.0 - numbers[1]]
    tone = "faint" if not row["better"] else "gain" if row["better"] == one else "loss"
    cell = _difference({**row, "difference": numbers[0], "low": numbers[1], "high": numbers[2]}, digits)
    p_value = p_equals(row["p_corrected"], alpha) or "not tested"
    reason = f"{printable(one)} - {printable(other)}: {cell.text} {cell.interval}, {p_value}"
    return replace(cell, interval="", tone=tone, is_best=bool(row["better"]), reason=reason)


def decimals_of(rows: Iterable[Mapping[Any, Any]]) -> dict[str, int]:
    """Return the decimals of the differences in each metric: alike in all rows, and enough for the decided ones.

    Parameters
    ----------
    rows : iterable of mappings
        Rows of `kgeval.comparison.rows.decided_rows`.
    """
    of_metric = grouped((row["metric"], row) for row in rows)
    return {
        metric: difference_decimals(
            [(row["difference"], row["low"], row["high"]) for row in found],
            [bool(row["better"]) for row in found],
            display_of(metric.removeprefix("macro.")).decimals,
        )
        for metric, found in of_metric.items()
    }


def screen_differences(differences: pd.DataFrame, alpha: float, screen: Screen = PIPE) -> str:
    """Return the differences of a comparison for a terminal, those of the leader first.

    Of three and more models, the differences in the first metric are shown; of more than `MAX_PAIRS` pairs without a
    common baseline, the leader against its closest rivals.

    Parameters
    ----------
    differences : pandas.DataFrame
        From `kgeval.comparison.rows.decided_rows`.
    alpha : float
    screen : Screen
    """
    rows, metrics = leader_first(differences).to_dict("records"), differences["metric"].unique().tolist()
    of_first = [row for row in rows if row["metric"] == metrics[0]]
    pairs = [{row["first"], row["second"]} for row in of_first]
    shown = of_first if len(set().union(*pairs)) >= MANY else rows
    is_long = len(pairs) > MAX_PAIRS and not set.intersection(*pairs)
    if is_long:
        shown = [row for row in of_first if row["first"] == of_first[0]["first"]][:MAX_RIVALS]
    table = shown_differences(shown, alpha, is_brief=is_long, screen=screen)
    if screen.width is not None and width_of(text_table(replace(table, notes=())).split("\n")[0]) > screen.width:
        table = shown_differences(shown, alpha, is_brief=True, screen=screen)
    if len(shown) < len(rows):
        others = listed([heading_of(metric) for metric in (metrics if is_long else metrics[1:])])
        left_out = f"{counted(len(rows) - len(shown), 'other difference' if is_long else 'difference')} in {others}"
        table = replace(table, notes=[*table.notes, ("", f"{left_out}: --to csv, in Python .differences")])
    return text_table(table, screen)


def moved(groups: pd.DataFrame, metric: str, n: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the groups on which the first of two models gains most, and those on which it loses most.

    Undecided differences that are 0 at the decimals of the metric are left out.

    Parameters
    ----------
    groups : pandas.DataFrame
        From `kgeval.comparison.comparison.Comparison.by`; the groups stay in their order.
    metric : str
        The key of its metric.
    n : int
        The largest number of groups of each kind.
    """
    display = display_of(metric)
    known = groups[groups["decided"] | (groups["difference"].abs() >= 0.5 * 10.0**-display.decimals)]
    sizes = known["contribution"] * (-1 if display.lower_is_better else 1)  # neither for a NaN
    return known[sizes > 0][:n], known[sizes < 0][:n]


def largest_moves(groups: pd.DataFrame, limit: int) -> pd.DataFrame:
    """Return the `limit` rows with the largest contributions, a third of them (rounded down) or more of either sign.

    The gains come first, the largest of either sign before the others; rows that contribute nothing are left out. If
    all rows fit, or none contributes, they stay as they are.

    Parameters
    ----------
    groups : pandas.DataFrame
        From `kgeval.comparison.comparison.Comparison.by`; without contributions, the first rows.
    limit : int

    Examples
    --------
    >>> groups = pd.DataFrame({"contribution": [0.4, 0.3, 0.2, -0.1]}, index=list("abcd"))
    >>> largest_moves(groups, 3).index.tolist(), largest_moves(groups, 4).index.tolist()
    (['a', 'b', 'd'], ['a', 'b', 'c', 'd'])
    """
    if len(groups) <= limit or "contribution" not in groups.columns or not groups["contribution"].any():
        return groups[:limit]
    is_lower = display_of(groups.attrs.get("metric", "")).lower_is_better
    ordered = groups.sort_values("contribution", ascending=is_lower, kind="stable")
    sizes = ordered["contribution"] * (-1.0 if is_lower else 1.0)
    above, below = ordered[sizes > 0.0], ordered[sizes < 0.0][::-1]
    least = np.sort(sizes.abs().fillna(0.0))[::-1][limit - 1]
    n = int((below["contribution"].abs() >= least).sum())
    n = min(max(n, limit // 3, limit - len(above)), limit - min(limit // 3, len(above)), len(below))
    return pd.concat([above[: limit - n], below[:n]])


def named_moves(groups: pd.DataFrame, metric: str, n: int = 1) -> list[pd.DataFrame]:
    """Return the groups that a sentence names as the largest gains, and as the largest losses.

    These are those of `moved`; but if the first two and more are undecided, the last one gives way to the largest that
    is decided.

    Parameters
    ----------
    groups, metric, n
        As in `moved`.
    """
    found = []
    for part in moved(groups, metric, len(groups)):
        sure = part[part["decided"]][:1]
        swaps = n > 1 and not part[:n]["decided"].any() and len(sure) > 0
        found.append(pd.concat([part[: n - 1], sure]) if swaps else part[:n])
    return found


def moved_words(
    groups: pd.DataFrame, metric: str, n: int = 1, labels: Mapping[str, str] | None = None,
    verbs: tuple[str | None, str | None] = ("gains most on ", "loses most on "),
) -> str:  # fmt: skip
    """Return on which groups the first of two models gains most, and loses most, as words; empty if on none.

    Parameters
    ----------
    groups, metric, n
        As in `named_moves`.
    labels : mapping of str to str, optional
        Short names of groups.
    verbs : tuple
        What stands before the gains, and before the losses; None: they are left out.

    Examples
    --------
    >>> columns = {"n": [52, 220], "difference": [0.0481, -0.0138], "contribution": [0.02, -0.01]}
    >>> groups = pd.DataFrame(columns, index=["likes", "/film/genre"]).assign(decided=[True, False])
    >>> moved_words(groups, "mrr")
    'gains most on likes (+0.0481 over 52 ranks); loses most on /film/genre (-0.0138 over 220 ranks, undecided)'
    """
    said, parts = list[str](), [part for part in zip(verbs, named_moves(groups, metric, n)) if part[0] is not None]
    n_said = sum(len(part) for _, part in parts)
    are_open = n_said > 1 and not any(part["decided"].any() for _, part in parts)
    unit = ("query", "queries") if metric.startswith("query.") else ("rank",)
    for verb, part in parts:
        digits = decimals_for(part["difference"], display_of(metric).decimals)
        is_mixed = part["decided"].any() and not part["decided"].iloc[0]
        places = [
            f"{'significantly on ' * bool(row['decided'] and is_mixed)}"
            f"{(labels or {}).get(str(label), shown_label(str(label)))} ({signed(row['difference'], digits)} over "
            f"{counted(int(row['n']), *unit)}{'' if row['decided'] or are_open else ', undecided'})"
            for label, row in part.iterrows()
        ]
        said += [f"{verb}{listed(places)}"] if places else []
    return "; ".join([*said, *([f"{'both' if n_said == 2 else 'all'} undecided"] if are_open else [])])


def lead_columns(
    rows: Sequence[Mapping[str, Any]], models: Sequence[str], name: str, metric: str, alpha: float
) -> list[Column]:
    """Return the lead of the best of many models over each other one, with the interval that decides, and p.

    Parameters
    ----------
    rows : sequence of mappings
        Of `kgeval.comparison.rows.decided_rows`; those of other metrics and pairs are left out.
    models : sequence of str
        Their names, the best first, whose cells are empty.
    name : str
        What to call the best one.
    metric : str
    alpha : float
    """
    of_best = {row["second"]: row for row in rows if (row["metric"], row["first"]) == (metric, models[0])}
    leads = [of_best.get(model, {}) for model in models]
    gaps = [tuple(lead.get(end, math.nan) for end in ("difference", "low", "high")) for lead in leads]
    columns = (
        Column.of_differences(f"lead of {name}", gaps, metric, [bool(lead.get("better")) for lead in leads]),
        Column.of_p_values("p (Holm)", [lead.get("p_corrected") for lead in leads], alpha),
    )
    return [replace(column, cells=[Cell(), *column.cells[1:]]) for column in columns]


def gains_and_losses(
    groups: pd.DataFrame, metric: str, models: Sequence[str], n: int = 1, labels: Mapping[str, str] | None = None
) -> list[str]:
    """Return a line on the groups where a model gains most over another, and one on those where it loses most to it.

    Parameters
    ----------
    groups, metric, n, labels
        As in `moved_words`.
    models : sequence of str
        What to call the first of the two models, and the second.
    """
    first, second = models
    verbs = (f"{first} gains most over {second} on ", None), (None, f"{first} loses most to {second} on ")
    return list(filter(None, (moved_words(groups, metric, n, labels, one) for one in verbs)))


def leader_first(differences: pd.DataFrame) -> pd.DataFrame:
    """Return rows of pairs, each metric by itself, in the order of the models: the more pairs one leads, the earlier.

    Parameters
    ----------
    differences : pandas.DataFrame
        From `kgeval.comparison.rows.decided_rows`, in which the leader of a pair stands first.
    """
    metrics = differences["metric"]
    n_first = differences.groupby(["metric", "first"], sort=False).size().to_dict()
    led = [[n_first.get(key, 0) for key in zip(metrics, differences[side])] for side in ("first", "second")]
    return differences.iloc[np.lexsort([-np.array(led[1]), -np.array(led[0]), pd.factorize(metrics)[0]])]


def _difference(row: Mapping[Any, Any], decimals: int) -> Cell:
    """Return the difference of a row, in normal type: the column of decisions is bold."""
    return replace(
        difference_cell((row["difference"], row["low"], row["high"]), decimals, bool(row["better"])), is_best=False
    )


def drawn_differences(rows: Iterable[tuple[float, ...]], decided: Iterable[bool]) -> Column:
    """Return differences with their intervals, drawn on one axis; the mark of an undecided one is open.

    Parameters
    ----------
    rows : sequence of (float, float, float)
        Each difference and the ends of its interval.
    decided : iterable of bool
    """
    rows = list(rows)
    limit = edge_of([abs(end) for row in rows for end in row])
    drawn = [
        Cell(drawing=partial(difference_bar, value, low, high, limit, is_sure))
        for (value, low, high), is_sure in zip(rows, decided)
    ]
    return Column(f"-{limit:g} to +{limit:g}", drawn, head=partial(axis_ends, f"-{limit:g}", "0", f"+{limit:g}"))


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
