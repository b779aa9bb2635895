"""The first section of the report page: the verdict, the first metric of each model, the differences, cautions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from kgeval.base.wording import percent, written
from kgeval.display.differences import difference_matrix, shown_differences
from kgeval.display.table import Column, Table
from kgeval.metrics.grammar import display_of
from kgeval.report.document import Beside, PagePart, Section, Text, cautions, first_section
from kgeval.report.page_cautions import cautions_of
from kgeval.report.page_report import SUMMARY_METRICS, Report, Row, numbers_of
from kgeval.report.page_values import drawn
from kgeval.results.display import tie_ends
from kgeval.results.rank_table import CONFIDENCE

N_OPEN = 2  # cautions that are not folded


def answer(report: Report, title: str) -> Section:
    """Return the verdict, the values of all models, their differences, and the gravest cautions.

    Parameters
    ----------
    report : Report
    title : str
        The title of the page, which is its first heading.
    """
    first, *rest = report.verdict.parts
    details = ["; ".join([rest[0][:1].upper() + rest[0][1:], *rest[1:]]) + "."] if rest else []
    grave, notes = cautions_of(report)
    tables: list[PagePart] = [values(report), *differences(report)]
    shown = tables if report.is_many else [Beside(tables)]
    noted = cautions([*grave, *notes], min(N_OPEN, len(grave)))
    return first_section(title, first, report.verdict.outcome, details, [*shown, *noted])


def values(report: Report) -> Table:
    """Return the first metric of each model with its interval, on one axis."""
    metric, comparison = report.metric, report.comparison
    is_usual = metric in SUMMARY_METRICS
    rows: list[Row] = []
    for name, result in zip(report.names, report.results):
        row = numbers_of(result, metric)[0]
        if comparison is not None and math.isfinite(comparison.values[metric].loc[name]):
            row = tuple(float(comparison.values[f"{metric}{end}"].loc[name]) for end in ("", " low", " high"))
        rows.append(row)
    ends = [tie_ends(result.rank_table, metric) if is_usual else None for result in report.results]
    levels = [result.chance(metric).value for result in report.results]
    column = drawn(Column.of_values(report.heading, rows, metric), report, metric, rows, ends, levels)
    decimals = display_of(metric).decimals
    sides = ["+".join(result.protocol.sides) for result in report.parts]
    notes = [
        [
            *([f"{side} side"] if len(set(sides)) > 1 else []),
            *(
                [f"{percent(result.tie_rate)} tie: {written(pair[0], decimals)} to {written(pair[1], decimals)}"]
                if pair
                else []
            ),
        ]
        for side, result, pair in zip(sides, report.results, ends)
    ]
    cells = [replace(cell, drawing=None, note="; ".join(note)) for cell, note in zip(column.cells, notes)]
    pictures = [replace(cell, text="", interval="", numbers=(), tone="", is_best=False) for cell in column.cells]
    confidence = CONFIDENCE if comparison is None else comparison.terms.confidence
    chance = {written(level, decimals) for level in levels if math.isfinite(level)}
    said = [f"{report.heading} with {confidence:.0%} intervals{' (filtered ranks)' if is_usual else ''}."]
    said += [f"Short line, where it is in range: chance, {min(chance)}."] if len(chance) == 1 and is_usual else []
    said += ["Thin line: from pessimistic to optimistic ties."] if any(ends) else []
    columns = [
        Column.of_labels("model", report.names, models=report.models),
        replace(column, cells=cells, head=None),
        Column("interval", pictures, head=column.head),
    ]
    return Table(columns, caption=" ".join(said), name="first", kind="narrow" if report.is_many else "")


def differences(report: Report) -> Sequence[PagePart]:
    """Return the differences of all pairs in the first metric: a line for each pair, or a matrix of many models."""
    if report.comparison is None:
        text = "The results were not compared, so no difference is tested."
        return [Text(text)] if len(report.names) > 1 else []
    rows = [row for row in report.rows if row["metric"] == report.metric]
    if report.is_many:
        caption = (
            f"Differences in {report.heading}, row - column. Bold: decided (p corrected for all tests by Holm's "
            "method); grey: undecided. Intervals and p: under the pointer, and in the table of all tests."
        )
        table = difference_matrix(rows, report.comparison.alpha, dict(zip(report.names, report.models)))
        columns = [replace(table.columns[0], heading="row"), *table.columns[1:]]
        return [replace(table, columns=columns, caption=caption, name="differences")]
    caption = (
        f"Differences in {report.heading}. p is corrected for all tests (Holm's method), and decides; an interval "
        "excludes 0 exactly where it does. Bold: decided; open mark: undecided."
    )
    table = shown_differences(rows, report.comparison.alpha, has_metrics=False, is_brief=True)
    pairs, gaps, *others, _ = table.columns  # without the better model, which stands first in each row
    gaps = replace(gaps, cells=[replace(cell, is_best=bool(row["better"])) for cell, row in zip(gaps.cells, rows)])
    return [replace(table, columns=[pairs, gaps, *others], caption=caption, name="differences", kind="pairs")]
