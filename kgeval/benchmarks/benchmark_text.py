"""The text of a benchmark for terminals, and its panel for notebooks, for `Benchmark` and ``kgeval benchmark``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from kgeval.base.checks import counted, listed
from kgeval.base.terminal import Screen
from kgeval.base.wording import shown_line, with_capital
from kgeval.benchmarks.tables import best_pairs, mean_table, pair_table, paper_table, table_notes
from kgeval.comparison.texts import exchangeable_words, holm_words, is_description, swaps_words
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

MAX_NOTES = 3  # that a terminal shows; the first are the gravest
# What simulations say of a pooled spread that is not the same for all models (the annex of the guide has the table).
POOLED = "all models vary alike over seeds (else up to 11% of tables err, not 5%; spread='separate')"


def answer_texts(benchmark: Benchmark, screen: Screen) -> list[str]:
    """Return verdict with a line for each detail, means and, if there are any, differences, for a terminal.

    Of several models, datasets and seeds, the means of each metric have a table with a column for each dataset.

    Parameters
    ----------
    benchmark : Benchmark
    screen : Screen
    """
    headline = screen.bold(screen.wrapped(benchmark.verdict.headline))
    said = [headline, screen.lines([*answer_details(benchmark), *moved_lines(benchmark)])]
    tables = [mean_table(benchmark)]
    if min(len(benchmark.models), len(benchmark.datasets), benchmark.table["n_seeds"].max()) > 1:
        models, *values = paper_table(benchmark).columns
        grids = {of: values[place :: len(benchmark.keys)] for place, of in enumerate(benchmark.keys)}
        tables = [Table([replace(models, heading=heading_of(of)), *metric_as_group(grids[of])]) for of in grids]
        tables[-1] = replace(tables[-1], notes=[*table_notes(benchmark), ("", "intervals: --to csv, in Python .table")])
    tables += [pair_table(benchmark, screen)] if len(benchmark.differences) else []
    return ["\n".join(filter(None, said)), *(text_table(table, screen) for table in tables)]


def answer_details(benchmark: Benchmark) -> list[str]:
    """Return the clauses that the headline does not say, each as a sentence; a table has the answers on datasets.

    Parameters
    ----------
    benchmark : Benchmark
    """
    return [with_capital(part, (*benchmark.models, *benchmark.datasets)) for part in benchmark.verdict.remarks]


def moved_lines(benchmark: Benchmark) -> list[str]:
    """Return where the best model of each dataset loses most; of one dataset, also where it gains most.

    Parameters
    ----------
    benchmark : Benchmark
    """
    metric, found = benchmark.metric, benchmark.relations
    if len(benchmark.datasets) > 1:
        losses = [moved_words(frame, metric, verbs=(None, "")) or "none" for frame in found.values()]
        pairs = [map(model_name, frame.attrs["models"]) for frame in found.values()]
        of = [f"On {shown_name(name)}, {one} loses most to {other} on" for (one, other), name in zip(pairs, found)]
        return [f"{who} {where}" for who, where in zip(of, losses) if where != "none"]
    frames = [frame for frame in found.values() if len(frame) > 1]
    return gains_and_losses(frames[0], metric, list(map(model_name, frames[0].attrs["models"]))) if frames else []


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
    heading, is_swapped = display_of(terms.metric).heading, tested["test"] == "swaps"
    how = [f"Student's t ({'seeds and triples' if several else 'clusters overlap'})"] * (not is_swapped.all())
    which = "" if is_swapped.all() else " between single runs"
    how += [f"{swaps_words(tested, 9_999, 0)} of ranks by {terms.cluster}{which}"] * bool(is_swapped.any())
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
    shown = [note for note in benchmark.notes if not is_description(note)][:MAX_NOTES]
    n = len(benchmark.notes) - len(shown)
    more = [f"{counted(n, 'more note')}: --to json, in Python .notes"] if n else []
    return [*(f"note: {note}" for note in shown), *more]


def benchmark_panel(benchmark: Benchmark) -> Markup:
    """Return the panel of a benchmark for notebooks: verdict, means and differences in the primary metric, details.

    Parameters
    ----------
    benchmark : Benchmark
    """
    first, is_several, best = [benchmark.metric], len(benchmark.datasets) > 1, best_pairs(benchmark)
    pairs = [pair_table(benchmark)] if is_several and len(benchmark.differences) else []
    said = *answer_details(benchmark), *(() if best is not None and is_several else moved_lines(benchmark))
    means = paper_table(benchmark, first) if is_several else mean_table(benchmark, first)
    shown = replace(means, columns=metric_as_group(means.columns)[not is_several :])
    return html.panel(
        benchmark.verdict.headline,
        *(html.line(unbroken(shown_line(f"{part}."))) for part in said),
        html_table(shown),
        None if best is None else html_table(best),
        html.lines([f"{note}." for note in benchmark.notes[:MAX_NOTES]]),
        *(html.folded(counted(len(benchmark.differences), "difference"), html_table(table)) for table in pairs),
        html.folded("All metrics", html_table(replace(mean_table(benchmark), notes=()))),
        html.folded("Protocol, tests and notes", html.lines(benchmark.header())),
    )
