"""The table of compared results as a value: the models in each metric, with the best in bold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kgeval.base.terminal import PIPE, Screen
from kgeval.base.wording import with_capital
from kgeval.comparison.rows import model_order
from kgeval.comparison.texts import protocol_comment, ties_line
from kgeval.comparison.verdict import leaders_of, model_name
from kgeval.display.differences import gains_and_losses
from kgeval.display.media import drawn
from kgeval.display.table import BOLD, Note, Table, frame_table, widths_words
from kgeval.errors import MetricError
from kgeval.metrics.grammar import display_of
from kgeval.results.evaluation_result import ranks_words

if TYPE_CHECKING:  # these modules import this one
    from kgeval.comparison.comparison import Comparison

MAX_BESIDE = 5  # models whose intervals stand in Markdown
MARK = "†"  # significantly better than every other model


def shown_values(comparison: Comparison, intervals: bool = True) -> Table:
    """Return the values of the compared models, best first, with the best of each metric in bold.

    Bold are the best value, and the values of models that do not differ significantly from it. A mark means that the
    best model is significantly better than every other model; there is none if models were compared with a baseline
    only. A note names the metrics whose best value has no mark.

    Parameters
    ----------
    comparison : Comparison
    intervals : bool
        Whether each value has its interval; else a note says how far the ends of the intervals lie from the values.
    """
    values = comparison.values.loc[model_order(comparison)]
    alpha, has_all_pairs = comparison.alpha, comparison.terms.baseline is None
    leaders = {metric: leaders_of(comparison, metric) for metric in comparison.keys}
    bold = {(name, metric) for metric, names in leaders.items() for name in names}
    marks = {(names[0], metric): MARK for metric, names in leaders.items() if len(names) == 1 and has_all_pairs}
    notes: list[Note] = []
    is_whole = all(len(comparison.rivals(name)) == len(comparison.names) - 1 for name in comparison.names)
    if bold:
        how = f"p > {alpha:g}, Holm; paired tests, so a better value may differ"
        how += "" if is_whole or not has_all_pairs else "; other runs of its model are not tested"
        notes.append((BOLD, f"best value, and values that do not differ significantly from it ({how})"))
    others = "every other model" if is_whole else "every run of another model"
    if marks:
        notes.append((MARK, f"significantly better than {others}, p ≤ {alpha:g} (Holm)"))
    undecided = [metric for metric in leaders if values[metric].notna().any() and len(leaders[metric]) != 1]
    if undecided and has_all_pairs:
        headings = ", ".join(display_of(metric).heading for metric in undecided)
        says = f"the best model is not significantly better than {others}"
        notes.append(("", f"undecided: {headings}; {says} (p ≤ {alpha:g}, Holm)"))
    if not intervals:
        notes += [("", widths_words(values, comparison.terms.confidence))]
        values = values[list(comparison.keys)]
    return frame_table(values, (), best=bold, marks=marks, notes=notes)


def values_text(comparison: Comparison, style: str, screen: Screen = PIPE, intervals: bool | None = None) -> str:
    """Return `shown_values` as text; comments of LaTeX, and notes of Markdown, say how the numbers were made.

    Parameters
    ----------
    comparison : Comparison
    style : str
        As in `kgeval.display.media.drawn`.
    screen : Screen
        For the style ``"table"``.
    intervals : bool, optional
        As in `shown_values`; by default LaTeX has none, so that five models and four metrics fit a column of text, and
        Markdown none of more than `MAX_BESIDE` models.
    """
    is_wide = style == "latex" or (style == "markdown" and len(comparison.names) > MAX_BESIDE)
    has_intervals = not is_wide if intervals is None else intervals
    table, ties = shown_values(comparison, has_intervals), ties_line(comparison.keys)
    if style in ("latex", "markdown"):
        sizes = {comparison.results[0].facts["dataset"]: len(comparison.alignment.rows[0])}
        said = ranks_words(sizes, comparison.results if style == "latex" else [], ties)
        first = [comparison.verdict.parts[0]] if style == "markdown" else []
        first += [f"in brackets: {100 * comparison.terms.confidence:g}% interval"] if has_intervals else []
        table = replace(table, notes=[*(("", text) for text in first), *table.notes, ("", said)])
    return drawn(table, style, screen, protocol_comment(zip(comparison.names, comparison.results), ties))


def answer_text(comparison: Comparison, screen: Screen) -> str:
    """Return the verdict for a terminal, its first clause bold, and where the best model gains and loses most.

    Parameters
    ----------
    comparison : Comparison
    screen : Screen
    """
    first, *more = comparison.verdict.parts
    said = [with_capital("; ".join(more), comparison.names)] if more else []
    lines = screen.bold(screen.wrapped(first)), screen.lines([*said, *leader_moves(comparison)])
    return "\n".join(filter(None, lines))


def leader_moves(comparison: Comparison) -> list[str]:
    """Return on which relations the best model gains and loses most against the second; nothing if there is none.

    Parameters
    ----------
    comparison : Comparison
    """
    metric, (best, *others) = next(iter(comparison.keys)), model_order(comparison)
    rivals = [name for name in others if name in comparison.rivals(best)]
    try:
        groups = comparison.by("relation", metric, best, rivals[0]) if rivals else comparison.values[:0]
    except MetricError:  # the metric has no contributions
        return []
    return gains_and_losses(groups, metric, [model_name(best), model_name(rivals[0])]) if len(groups) > 1 else []
