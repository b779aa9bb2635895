"""The panel of a comparison: the HTML that notebooks show for a comparison; `Comparison` calls `comparison_panel`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kgeval.base.checks import counted
from kgeval.base.terminal import distinct_labels
from kgeval.base.wording import decimals_for, shown_line, with_capital
from kgeval.comparison.rows import model_order
from kgeval.comparison.tables import leader_moves, shown_values
from kgeval.comparison.texts import brief_header, is_description, note_lines
from kgeval.display import html
from kgeval.display.differences import MAX_NAME, MAX_PAIRS, lead_columns, leader_first, shown_differences
from kgeval.display.html import Markup
from kgeval.display.html_tables import bar_table, html_table, unbroken
from kgeval.metrics.grammar import display_of

if TYPE_CHECKING:  # these modules import this one
    from kgeval.comparison.comparison import Comparison


def comparison_panel(comparison: Comparison) -> Markup:
    """Return the panel of a comparison: verdict, values, differences with interval bars, and details.

    The differences of two models are shown in up to three metrics, those of more models in the metric of the verdict.

    Parameters
    ----------
    comparison : Comparison
    """
    verdict, rows, alpha = comparison.verdict, leader_first(comparison.differences).to_dict("records"), comparison.alpha
    is_plain = verdict.outcome != "undecided" or verdict.sentence.startswith("Undecided")
    has_two = len(comparison.names) == 2
    metrics = shown_metrics(comparison, verdict.metric) if has_two else [verdict.metric]
    brief = [row for metric in metrics for row in rows if row["metric"] == metric]
    table = shown_differences(brief, alpha, has_metrics=has_two, is_brief=True, has_decisions=False)
    differences = html_table(
        replace(table, notes=[*table.notes, ("", f"bold: decided (Holm, {counted(len(rows), 'test')})")])
    )
    title, *more = verdict.parts
    cautions = [line.removeprefix("note: ") for line in note_lines(comparison) if not is_description(line)][:2]
    ranks = f"{counted(len(comparison.alignment.rows[0]), 'rank')} of {comparison.results[0].facts['dataset']}, paired"
    return html.panel(
        title if is_plain else f"Undecided: {title}",
        html.line(unbroken(shown_line(f"{with_capital('; '.join([*more, ranks]), comparison.names)}."))),
        html.lines([f"{text}." for text in leader_moves(comparison)]),
        _values(comparison, verdict.metric, rows if len(brief) > MAX_PAIRS else []),
        differences if len(brief) <= MAX_PAIRS else html.folded(counted(len(brief), "difference"), differences),
        html.lines([f"{text}." for text in cautions]),
        html.folded("All metrics", html_table(shown_values(comparison))),
        html.folded(counted(len(rows), "test"), html_table(shown_differences(rows, alpha))),
        html.folded(
            "Protocol, test and notes", html.lines([line for lines in brief_header(comparison) for line in lines])
        ),
    )


def shown_metrics(comparison: Comparison, metric: str) -> list[str]:
    """Return up to three compared metrics that can share one scale.

    These are `metric`, and the first and the last of the other compared metrics that have the same bounds as `metric`.

    Parameters
    ----------
    comparison : Comparison
    metric : str
        The text of the key of a compared metric.
    """
    bounds = comparison.keys[metric].metric.bounds
    others = [label for label, key in comparison.keys.items() if label != metric and key.metric.bounds == bounds]
    return list(dict.fromkeys([metric, *others[:1], *others[-1:]]))


def _values(comparison: Comparison, metric: str, rows: Sequence[dict[Any, Any]]) -> Markup:
    """Return a table with the value of each model and, if rows of differences are given, the lead of the best one."""
    order = model_order(comparison)
    names = distinct_labels(order, MAX_NAME)
    values = comparison.values.loc[order]
    numbers = list(zip(*(values[name] for name in (metric, f"{metric} low", f"{metric} high"))))
    digits = [decimals_for([row[0] for row in numbers], display_of(metric).decimals)] * len(names)
    bars = bar_table(names, numbers, digits, comparison.terms.confidence, is_close=True)
    labels, shown, *others = bars.columns
    leaders = comparison.verdict.leaders if len(comparison.verdict.leaders) < len(order) else ()
    cells = [replace(cell, is_best=name in leaders) for cell, name in zip(shown.cells, order)]
    shown = replace(shown, heading=display_of(metric).heading, cells=cells)
    leads = lead_columns(rows, order, names[0], metric, comparison.alpha) if rows else []
    return html_table(replace(bars, columns=[labels, shown, *others, *leads]))
