"""The first section of the report page: the verdict, the first metric of each model, the differences, cautions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from kgeval.base.wording import percent, with_capital, written
from kgeval.comparison.verdict import model_name, shown_name
from kgeval.display.differences import difference_matrix, gains_and_losses, lead_columns, moved_words, shown_differences
from kgeval.display.table import Cell, Column, Table
from kgeval.metrics.default_metrics import DEFAULT_METRICS
from kgeval.metrics.grammar import display_of
from kgeval.report.document import N_OPEN, Beside, Fold, PagePart, Section, Text, cautions, first_section
from kgeval.report.page_cautions import cautions_of
from kgeval.report.page_report import Report, Row, numbers_of
from kgeval.report.page_values import drawn, shows_chance
from kgeval.results.display import tie_ends
from kgeval.results.rank_table import CONFIDENCE

N_NAMED, MAX_PAIRED = 2, 3  # relations with the largest gains that a sentence names; models with a line for each pair


def answer(report: Report, title: str, of_metrics: Sequence[PagePart]) -> Section:
    """Return the verdict, the values of all models, their differences, and the gravest cautions.

    Parameters
    ----------
    report : Report
    title : str
        The title of the page, which is its first heading.
    of_metrics : sequence of parts
        The tables of metrics, which one model has here.
    """
    first, *rest = report.verdict.parts
    details = [f"{with_capital('; '.join(rest), report.names)}."] if rest else []
    for name, label in report.relation_labels.items():  # a label that is shown has one short form in all sentences
        details = [text.replace(shown_name(name), label) for text in details]
    details += moves(report)
    grave, notes = cautions_of(report)
    noted = cautions([*grave, *notes], min(N_OPEN, len(grave)))
    if len(report.names) == 1:
        shown: list[PagePart] = [*of_metrics[:1], *noted, *of_metrics[1:]]
    elif len(report.names) > MAX_PAIRED:
        shown = [values(report), *noted, *(Fold("Differences of all pairs", [one]) for one in differences(report))]
    else:
        shown = [Beside([values(report), *differences(report)]), *noted]
    return first_section(title, first, report.verdict.outcome, details, shown)


def moves(report: Report) -> list[str]:
    """Return where the best model gains most over the second, and loses most to it; and decided losses to the others.

    Parameters
    ----------
    report : Report
    """
    lines, others = list[str](), list[str]()
    for pair in (pair for pair in report.pairs if len(pair.relations) > 1):
        first, second = (model_name(report.names[place]) for place in (pair.first, pair.second))
        if pair.second == 1:
            lines = gains_and_losses(pair.relations, report.metric, [first, second], N_NAMED, report.relation_labels)
        else:
            decided = pair.relations[pair.relations["decided"]]
            others.append(moved_words(decided, report.metric, 1, report.relation_labels, (None, f"to {second} on ")))
    lines += [f"Largest decided losses to others: {'; '.join(filter(None, others))}"] if any(others) else []
    return [f"{line}." for line in lines]


def values(report: Report) -> Table:
    """Return the first metric of each model with its interval, on one axis; of many, with the lead of the best one."""
    metric, comparison = report.metric, report.comparison
    is_usual = metric in DEFAULT_METRICS
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
    notes = [
        f"{percent(result.tie_rate)} tie{_range(pair, decimals)}" if pair else ""
        for result, pair in zip(report.results, ends)
    ]
    cells = [replace(cell, drawing=None, note=note) for cell, note in zip(column.cells, notes)]
    pictures = [Cell(drawing=cell.drawing) for cell in column.cells]
    confidence = CONFIDENCE if comparison is None else comparison.terms.confidence
    chance = {written(level, decimals) for level in levels if math.isfinite(level)}
    said = [f"{report.heading} with {confidence:.0%} intervals{' (filtered ranks)' if is_usual else ''}."]
    said += [f"Short line: chance, {min(chance)}."] if len(chance) == 1 and shows_chance(column) else []
    said += ["Thin line: from pessimistic to optimistic ties."] if any(ends) else []
    columns = [
        Column.of_labels("model", report.names, models=report.models),
        replace(column, cells=cells, head=None),
        Column("interval", pictures, head=column.head),
    ]
    is_many = len(report.names) > MAX_PAIRED
    if is_many and comparison is not None:
        columns += lead_columns(report.rows, report.names, report.short(0), metric, comparison.alpha)
        said.append(f"Lead: with the interval that decides; {corrected_text(report)}.")
        said.append(f"Bold {report.heading}: not told apart from the best; bold lead: decided.")
    return Table(columns, caption=" ".join(said), name="first", kind="narrow" if is_many else "")


def _range(ends: tuple[float, float], decimals: int) -> str:
    """Return what a value can be with other ties; empty if both ends are written alike."""
    low, high = (written(end, decimals) for end in ends)
    return "" if low == high else f": {low} to {high}"


def corrected_text(report: Report) -> str:
    """Return for how many tests the comparison corrects p."""
    return f"p is corrected for all {sum(row['p_corrected'] >= 0.0 for row in report.rows):,} tests (Holm's method)"


def differences(report: Report) -> Sequence[PagePart]:
    """Return the differences of all pairs in the first metric: a line for each pair, or a matrix of many models."""
    if report.comparison is None:
        return [Text("The results were not compared, so no difference is tested.")] * (len(report.names) > 1)
    alpha, rows = report.comparison.alpha, [row for row in report.rows if row["metric"] == report.metric]
    if len(report.names) > MAX_PAIRED:
        caption = (
            f"Differences in {report.heading}, row - column. Bold: decided ({corrected_text(report)}); grey: "
            "undecided. Intervals and p: under the pointer, and in the table of all tests."
        )
        table = difference_matrix(rows, alpha, dict(zip(report.names, report.models)))
        return [replace(table, caption=caption, name="differences")]
    caption = (
        f"Differences in {report.heading}, each interval at the level of its test; {corrected_text(report)}. "
        "Bold: decided; open mark: undecided."
    )
    table = shown_differences(rows, alpha, has_metrics=False, is_brief=True, has_decisions=False)
    return [replace(table, caption=caption, name="differences", kind="pairs")]
