"""The parts of the report page with all metrics of each model, by side, of filtered and raw ranks; as LaTeX too."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from kgeval.base.checks import grouped
from kgeval.base.wording import count_text, percent
from kgeval.data.sides import ALL_SIDES
from kgeval.display.table import Cell, Column, Table
from kgeval.metrics.default_metrics import DEFAULT_METRICS
from kgeval.metrics.grammar import display_of, parse_all
from kgeval.report.document import Code, Fold, Lines, PagePart, Text
from kgeval.report.page_report import Report, numbers_of
from kgeval.report.page_values import drawn, metric_head, shows_chance
from kgeval.results.display import MAX_TIES, tie_ends
from kgeval.results.evaluation_result import interval_notes
from kgeval.results.rank_table import CONFIDENCE


def metrics(report: Report, opened: Sequence[Table], others: Sequence[Table], latex: str) -> list[PagePart]:
    """Return the tables of metrics: filtered ranks open, single sides and raw ranks folded.

    What explains the table of one model, which stands in the answer, is folded too.

    Parameters
    ----------
    report : Report
    opened, others : sequence of Table
        From `metric_tables`.
    latex : str
        The table of metrics as LaTeX.
    """
    said = " ".join(_explained(report, opened))
    explained: list[PagePart] = [Text(said), Lines(_reasons([*opened, *others]), "reasons")]
    is_alone = len(report.names) == 1
    folded = [*(explained if is_alone else []), *others]
    folds = [Fold("Each side, and raw ranks", folded)] if folded else []
    return [*opened, *([] if is_alone else explained), *folds, Fold("This table as LaTeX", [Code(latex, "latex")])]


def metric_tables(report: Report) -> tuple[list[Table], list[Table]]:
    """Return the tables of metrics that are open, enough to show each model; and the others.

    Parameters
    ----------
    report : Report
    """
    opened, others, seen = list[Table](), list[Table](), set[int]()
    for setting, side in itertools.product(("filtered", "raw"), ("both", *ALL_SIDES)):
        models = [i for i, result in enumerate(report.results) if side in result.rank_table.sides]
        is_open = not seen.issuperset(models)
        if models:
            (opened if is_open else others).append(metric_table(report, setting, side, models, is_open=is_open))
        seen |= set(models)
    return opened, others


def metric_table(report: Report, setting: str, side: str, models: Sequence[int], is_open: bool = False) -> Table:
    """Return the metrics in one setting and side: a row for each model, then the chance level of all, or of each.

    Parameters
    ----------
    report : Report
    setting, side : str
    models : sequence of int
        The models that have such ranks.
    is_open : bool
        Whether to draw the intervals, and to show the share of tied ranks.
    """
    results = [report.results[i] for i in models]
    levels = [[result.chance(f"{setting}.{side}.{metric}") for result in results] for metric in DEFAULT_METRICS]
    is_shared = all(len({str(level.value) for level in of_metric}) == 1 for of_metric in levels)
    n_chance = 1 if is_shared else len(models)
    names = ["chance"] if is_shared else [f"chance, {report.names[i]}" for i in models]
    labels = [*(Cell(report.names[i], model=i) for i in models), *map(Cell, names)]
    columns = [Column("model", labels, is_label=True)]
    for metric, of_metric in zip(DEFAULT_METRICS, levels):
        key = f"{setting}.{side}.{metric}"
        found = [numbers_of(result, key) for result in results]
        rows, expected = [row for row, _ in found], of_metric[:n_chance]
        heading = display_of(metric).heading
        column = Column.of_values(heading, rows, metric, [why for _, why in found])
        chance = Column.of_values(heading, [(one.value,) for one in expected], metric, [one.reason for one in expected])
        ends = [tie_ends(result.rank_table, key) for result in results]
        compared = key.removeprefix("filtered.").removeprefix("both.")
        shown = drawn(column, report, compared, rows, ends, [level.value for level in of_metric], models)
        has_bars = is_open and not report.is_many
        cells = [cell if has_bars else replace(cell, drawing=None) for cell in shown.cells]
        head = partial(metric_head, metric, shown.head if has_bars else None)
        columns.append(replace(column, cells=[*cells, *chance.cells], head=head))
    blank = [Cell()] * n_chance
    if is_open:
        rates = [result.tie_rate for result in results]
        tied = [Cell(percent(rate), numbers=(rate,), tone="warn" if rate > MAX_TIES else "") for rate in rates]
        columns.append(Column("ties", [*tied, *blank]))
    sizes = [len(result.rank_table.rows_of(side)) for result in results]
    is_same = len(set(sizes)) == 1
    columns += [] if is_same else [Column("ranks", [*Column.of_counts("", sizes).cells, *blank])]
    size = f"; {count_text(sizes[0])} ranks" if is_same else ""
    sides = "both sides" if side == "both" else f"{side} side"
    caption = f"{setting.capitalize()} ranks, {sides}{size}, realistic ties, {CONFIDENCE:.0%} intervals."
    caption += " Short line: chance." if is_open and len(report.names) == 1 and shows_chance(columns[1]) else ""
    faint, kind = range(len(models), len(labels)), "narrow" if report.is_many else ""
    return Table(columns, faint=faint, caption=caption, name=f"metrics-{setting}-{side}", kind=kind)


def _explained(report: Report, tables: Sequence[Table]) -> list[str]:
    """Return what the open tables of metrics need to be understood."""
    cells = [cell for table in tables for column in table.columns for cell in column.cells]
    said = []
    if any(cell.is_best for cell in cells):
        untested = [metric.heading for metric in parse_all(DEFAULT_METRICS) if str(metric) not in report.leaders]
        more = f"; {', '.join(untested)}: not tested" if untested else ""
        said.append(f"Bold: the leader, and what paired tests cannot tell from it (a better value may differ{more}).")
    said += ["Grey: not above chance."] if any(cell.tone == "faint" for cell in cells) else []
    said.append(
        "Filtered ranks leave out rivals that are known answers. Realistic ties: a positive that ties gets the mean of "
        "the ranks that it shares. AMRI is 0 at chance and 1 at best, whatever the number of candidates."
    )
    has_line = any(shows_chance(column) for table in tables for column in table.columns)
    said += ["Short line: chance, where it is in range."] if has_line else []
    has_ties = any(tie_ends(one.rank_table, metric) for one in report.results for metric in DEFAULT_METRICS)
    said += ["Thin line: from pessimistic to optimistic ties."] if has_ties and not report.is_many else []
    notes = dict.fromkeys(interval_notes(one, CONFIDENCE)[0] for one in report.results)
    return [*said, *(f"{note}." for note in notes)]


def _reasons(tables: Sequence[Table]) -> list[str]:
    """Return why numbers are undefined: each reason once, with the first number and how many more there are."""
    found = [
        (cell.reason, f"{column.heading} of {row.text} ({', '.join(table.name.split('-')[1:])})")
        for table in tables
        for column in table.columns[1:]
        for row, cell in zip(table.columns[0].cells, column.cells)
        if cell.reason and " to " not in cell.text
    ]
    return [
        f"{places[0]}{f' and {len(places) - 1} more' if len(places) > 1 else ''}: {why}"
        for why, places in grouped(found).items()
    ]
