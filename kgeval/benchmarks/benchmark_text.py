"""The text of a benchmark for terminals, and its panel for notebooks, for `Benchmark` and ``kgeval benchmark``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from kgeval.base.checks import counted, listed
from kgeval.base.terminal import Screen
from kgeval.base.wording import shown_line, with_capital
from kgeval.benchmarks.tables import best_pairs, mean_table, pair_table, paper_table
from kgeval.comparison.texts import exchangeable_words, holm_words, swaps_words
from kgeval.comparison.verdict import model_name, shown_name
from kgeval.display import html
from kgeval.display.differences import gains_and_losses, moved_words
from kgeval.display.html import Markup
from kgeval.display.html_tables import html_table, unbroken
from kgeval.display.media import metric_as_group, text_table
from kgeval.display.table import Table, heading_of
from kgeval.metrics.grammar import display_of
from kgeval.results.clustering import PURPOSES
from kgeval.stats.runs import MIN_TO_SEPARATE

if TYPE_CHECKING:  # these modules import this one
    from kgeval.benchmarks.model_benchmark import Benchmark

MAX_NOTES = 2  # that a terminal shows; the first are the gravest
# What simulations say of a pooled spread that is not the same for all models (the annex of the guide has the table).
POOLED = "all models vary alike over seeds (else up to 11% of tables err, not 5%; spread='separate')"


def answer_texts(benchmark: Benchmark, screen: Screen) -> list[str]:
    """Return verdict with a line for each detail, table of means and, if there are any, of differences, for a terminal.

    Parameters
    ----------
    benchmark : Benchmark
    screen : Screen
    """
    headline = screen.bold(screen.wrapped(benchmark.verdict.headline))
    said = [headline, screen.lines([*_details(benchmark), *moved_lines(benchmark), *_doubts(benchmark)])]
    tables = [mean_table(benchmark), *([pair_table(benchmark, screen)] if len(benchmark.differences) else [])]
    if min(len(benchmark.models), len(benchmark.datasets)) > 1:
        first, *others = metric_as_group(paper_table(benchmark, [benchmark.metric]).columns)
        tables.insert(0, Table([replace(first, heading=heading_of(benchmark.metric)), *others]))
    return ["\n".join(filter(None, said)), *(text_table(table, screen) for table in tables)]


def _details(benchmark: Benchmark) -> list[str]:
    """Return the clauses that the headline does not say, each as a sentence of its own."""
    parts = [part.removeprefix(f"{heading_of(benchmark.metric)}: ") for part in benchmark.verdict.more]
    return [with_capital(part, (*benchmark.models, *benchmark.datasets)) for part in parts]


def moved_lines(benchmark: Benchmark) -> list[str]:
    """Return where the best model loses most on each dataset; of one dataset, also where it gains most.

    Parameters
    ----------
    benchmark : Benchmark
    """
    metric, found = benchmark.metric, benchmark.relations
    if len(benchmark.datasets) > 1:
        losses = [moved_words(frame, metric, verbs=(None, "")) or "none" for frame in found.values()]
        rivals = (f"{shown_name(name)} to {model_name(one.attrs['models'][1])}" for name, one in found.items())
        text = "; ".join(map(": ".join, zip(rivals, losses)))
        return [f"Largest losses on {text}"] if {*losses} - {"none"} else []
    frames = [frame for frame in found.values() if len(frame) > 1]
    return gains_and_losses(frames[0], metric, list(map(model_name, frames[0].attrs["models"]))) if frames else []


def _doubts(benchmark: Benchmark) -> list[str]:
    """Return the first caution if it says that separate spreads decide otherwise; it stands below the verdict."""
    return [f"note: {note}" for note in benchmark.notes[:1] if re.search(r"spread='separate' .* otherwise: ", note)]


def notes_on_method(benchmark: Benchmark) -> Iterator[str]:
    """Yield the lines of `Benchmark.notes_on_method`.

    Parameters
    ----------
    benchmark : Benchmark
    """
    terms, table = benchmark.terms, benchmark.differences
    counts = benchmark.table["n_seeds"]
    several = bool((counts > 1).any())
    varied = f"other seeds, {PURPOSES[terms.cluster]}" if several else PURPOSES[terms.cluster]
    yield f"{100 * terms.confidence:g}% intervals: {varied}"
    tested = table[table["p_corrected"].notna()]
    if not len(tested):
        return
    heading, is_swapped, how = display_of(terms.metric).heading, tested["test"] == "swaps", list[str]()
    if not is_swapped.all():
        how.append(f"Student's t ({'seeds and triples' if several else 'clusters overlap'})")
    if is_swapped.any():
        which = "" if is_swapped.all() else " between single runs"
        how.append(f"{swaps_words(tested, 9_999)} of ranks by {terms.cluster} (seed 0; smaller p: a bound){which}")
    yield f"tested: {heading} by {listed(how)}, two-sided; {holm_words(len(tested), '', terms.alpha)}"
    if is_swapped.any() and not benchmark.keys[terms.metric].higher_is_better:
        yield exchangeable_words([heading])
    if several and terms.spread == "pooled" and (tested[["n_first", "n_second"]] < MIN_TO_SEPARATE).any(axis=None):
        yield f"assumed: {POOLED}"
    yield "each interval of a difference is at the level of its test; more: kgeval help benchmark"


def brief_notes(benchmark: Benchmark) -> list[str]:
    """Return the first notes below the tables of a terminal, and the number of the others with the place of all.

    Parameters
    ----------
    benchmark : Benchmark
    """
    notes = benchmark.notes[len(_doubts(benchmark)) :]
    n_more = len(notes) - MAX_NOTES
    more = [f"{counted(n_more, 'more note')}: --to json, in Python .notes"] if n_more > 0 else []
    return [*(f"note: {note}" for note in notes[:MAX_NOTES]), *more]


def benchmark_panel(benchmark: Benchmark) -> Markup:
    """Return the panel of a benchmark for notebooks: verdict, means and differences in the primary metric, details.

    Parameters
    ----------
    benchmark : Benchmark
    """
    verdict, pairs = benchmark.verdict, [pair_table(benchmark)] if len(benchmark.differences) else []
    best = best_pairs(benchmark)
    first, is_several = [benchmark.metric], len(benchmark.datasets) > 1
    means = paper_table(benchmark, first) if is_several else mean_table(benchmark, first)
    shown = replace(means, columns=metric_as_group(means.columns)[not is_several :])
    return html.panel(
        verdict.headline,
        *(html.line(unbroken(shown_line(f"{part}."))) for part in (*_details(benchmark), *moved_lines(benchmark))),
        html_table(shown),
        None if best is None else html_table(best),
        html.lines([f"{note}." for note in benchmark.notes[:MAX_NOTES]]),
        *(html.folded(counted(len(benchmark.differences), "difference"), html_table(table)) for table in pairs),
        html.folded("All metrics", html_table(replace(mean_table(benchmark), notes=()))),
        html.folded("Protocol, tests and notes", html.lines(benchmark.header())),
    )
