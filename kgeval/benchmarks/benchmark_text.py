"""The text of a benchmark for terminals, and its panel for notebooks, for `Benchmark` and ``kgeval benchmark``."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kgeval import markup_panels as panels
from kgeval.benchmarks.tables import mean_cells, table_notes
from kgeval.checks import counted, grouped, listed
from kgeval.comparison.panels import edge_of, pair_cells, pair_headings
from kgeval.comparison.rows import interval_words
from kgeval.comparison.texts import exchangeable_words, holm_words
from kgeval.markup import Markup, joined, printable
from kgeval.metrics.grammar import display_of
from kgeval.report.table_text import number_text
from kgeval.results.clustering import PURPOSES
from kgeval.results.display import html_table
from kgeval.stats.runs import MIN_TO_SEPARATE
from kgeval.terminal import PIPE, Column, Screen, shortened, width_of

MAX_ROWS = 40  # differences in a terminal; if there are more, only those of the best models
MAX_PAIRS = 10  # differences that a notebook shows without a click
# What simulations say of a pooled spread that is not the same for all models (the annex of the guide has the table).
POOLED = (
    "the variance over the seeds is pooled over the models of a dataset, which are assumed to vary alike; in "
    "simulations in which one model varied four times as much, equal models with two or three runs each were told "
    "apart in up to 11%, in place of 5%"
)


def screen_text(benchmark: Any) -> str:
    """Return the verdict, the header, the table of means and the table of differences, for the width of the terminal.

    Parameters
    ----------
    benchmark : Benchmark
    """
    shown = replace(Screen.of(sys.stdout), has_styles=False)
    parts = [shown.lines([benchmark.verdict.sentence, *benchmark.header()]), format_means(benchmark, shown)]
    return "\n\n".join([*parts, *([format_pairs(benchmark, shown)] if len(benchmark.differences) else [])])


def notes_on_method(benchmark: Any) -> list[str]:
    """Return `Benchmark.notes_on_method`.

    Parameters
    ----------
    benchmark : Benchmark
    """
    terms, table = benchmark.terms, benchmark.differences
    counts = benchmark.table["n_seeds"]
    several = bool((counts > 1).any())
    varied = f"other seeds and with {PURPOSES[terms.cluster]}" if several else PURPOSES[terms.cluster]
    of_one = "; for models with one run, other seeds are not included" if several and (counts == 1).any() else ""
    lines = [f"{100 * terms.confidence:g}% intervals show how much a number would vary with {varied}{of_one}"]
    if several:
        lines.append("SD is the standard deviation over the seeds")
    tested = table[table["p_corrected"].notna()]
    if not len(tested):
        return lines
    heading = display_of(terms.metric).heading
    if (tested["test"] == "t").any():
        why = "; the standard error includes the variance due to seeds and due to test triples"
        why = why if several else ", since clusters overlap"
        lines.append(f"tested: differences in {heading}, first - second, by Student's t test{why}")
    if several and terms.spread == "pooled" and (tested[["n_first", "n_second"]] < MIN_TO_SEPARATE).any(axis=None):
        lines.append(f"assumed: {POOLED}; spread='separate' assumes nothing of the kind")
    if (tested["test"] == "swaps").any():
        which = "" if (tested["test"] == "swaps").all() else " between two single runs"
        lines.append(
            f"tested: differences in {heading}{which}, by the paired randomization test of kgeval compare (9,999 "
            "random swaps, seed 0)"
        )
        if not benchmark.keys[terms.metric].higher_is_better:
            lines.append(exchangeable_words([heading]))
    n_pairs = len(table[["first", "second"]].apply(frozenset, axis=1).unique())
    sizes = f"pairs of models: {n_pairs:,}, datasets: {len(benchmark.datasets):,}"
    lines.append(holm_words("p (Holm)", len(tested), sizes, terms.alpha))
    return [*lines, f"differences: {interval_words(table, terms.alpha)}"]


def format_means(benchmark: Any, screen: Screen = PIPE) -> str:
    """Return the table of means for a terminal: one row per dataset and model, one column per metric.

    Parameters
    ----------
    benchmark : Benchmark
    screen : Screen
    """
    texts = mean_cells(benchmark)
    rows = {(row["dataset"], row["model"], row["metric"]): row for row in benchmark.table.to_dict("records")}
    places = [(dataset, model) for dataset in benchmark.datasets for model in benchmark.models]
    columns = [
        Column("dataset", [printable(dataset) for dataset, _ in places], is_label=True),
        Column("model", [printable(model) for _, model in places], is_label=True),
        Column(
            "seeds", [str(rows[dataset, model, benchmark.metric]["n_seeds"]) for dataset, model in places], place=-1
        ),
    ]
    for position, metric in enumerate(benchmark.keys):
        cells = [texts[model, dataset, metric] for dataset, model in places]
        suffixes = ["*" if cell.is_bold else cell.mark for cell in cells]
        widest = max(map(width_of, suffixes))
        brief, whole = [], []
        for place, cell, suffix in zip(places, cells, suffixes):
            mean = screen.bold(cell.mean + suffix) if cell.is_bold else cell.mean + suffix
            mean += " " * (widest - width_of(suffix))
            brief.append(mean + (f" ± {cell.sd}" if cell.sd else ""))
            row = rows[(*place, metric)]
            ends = [number_text(metric, row[end]) for end in ("low", "high")]
            whole.append(brief[-1] + (f" [{ends[0]}, {ends[1]}]" if math.isfinite(row["low"]) else ""))
        brief = _padded_deviations(brief)
        place_of_column = len(benchmark.keys) - position
        columns.append(Column(printable(display_of(metric).heading), whole, False, place_of_column, brief))
    notes = [note.replace("bold: ", "* ", 1) for note in table_notes(benchmark)]
    return "\n".join([screen.table(columns), screen.lines(notes)])


def _padded_deviations(cells: Sequence[str]) -> list[str]:
    """Return cells with spaces where a deviation is missing, so that the means stand one below another."""
    widest = max((width_of(cell.partition(" ± ")[2]) for cell in cells), default=0)
    return [cell if " ± " in cell or not widest else cell + " " * (widest + 3) for cell in cells]


def format_pairs(benchmark: Any, screen: Screen = PIPE) -> str:
    """Return the table of differences for a terminal.

    If there are more than 40 differences, only those of the best model of each dataset are shown; a line contains the
    number of the others.

    Parameters
    ----------
    benchmark : Benchmark
    screen : Screen
    """
    table = benchmark.differences
    rows = _shown_pairs(benchmark)
    names = {model: printable(model) for model in benchmark.models}
    if screen.width is not None:  # both names of a pair must be visible
        names = {model: shortened(shown, screen.width // 6, screen.ellipsis) for model, shown in names.items()}
    pairs = [f"{names[row['first']]} - {names[row['second']]}" for row in rows]
    digits = display_of(benchmark.metric).decimals
    brief = [panels.signed(row["difference"], digits) for row in rows]
    limits = [panels.between(row["low"], row["high"], digits, has_signs=True) for row in rows]
    cells = [f"{text} {interval}".rstrip() for text, interval in zip(brief, limits)]
    heading = f"{display_of(benchmark.metric).heading} difference"
    better = [screen.bold(printable(row["better"])) if row["better"] else row["decision"] for row in rows]
    columns = [
        Column("dataset", [printable(row["dataset"]) for row in rows], is_label=True),
        Column("difference of", pairs, is_label=True),
        Column(heading, cells, place=3, brief=brief),
        Column("p (Holm)", [panels.p_text(row["p_corrected"], benchmark.alpha) for row in rows], place=2),
        Column("better", better, is_label=True),
    ]
    reasons = grouped(
        (row["reason"], f"{pair} on {row['dataset']}")
        for row, pair in zip(rows, pairs)
        if row["reason"] and math.isnan(row["low"])
    )
    notes = [f"no interval of {listed(places, 3)}: {reason}" for reason, places in reasons.items()]
    if len(rows) < len(table):
        notes.append(
            f"{len(table) - len(rows):,} of {len(table):,} differences are not shown (those without the best model of "
            "a dataset); all: --to csv --differences, in Python .differences"
        )
    return "\n".join([screen.table(columns), *([screen.lines(notes)] if notes else [])])


def _shown_pairs(benchmark: Any) -> list[dict[str, Any]]:
    """Return the rows of `Benchmark.differences` that a terminal shows."""
    rows: list[dict[str, Any]] = benchmark.differences.to_dict("records")
    if len(rows) <= MAX_ROWS or benchmark.terms.baseline is not None:
        return rows
    best = {dataset: leaders[0] for dataset, leaders in benchmark.verdict.leaders.items() if leaders}
    return [row for row in rows if best.get(row["dataset"], row["first"]) in (row["first"], row["second"])]


def benchmark_panel(benchmark: Any) -> Markup:
    """Return the panel of a benchmark for notebooks: verdict, means and differences with interval bars, details.

    Parameters
    ----------
    benchmark : Benchmark
    """
    parts: list[Any] = []
    decimals, heading = display_of(benchmark.metric).decimals, display_of(benchmark.metric).heading
    for dataset, rows in benchmark.table[benchmark.table["metric"] == benchmark.metric].groupby("dataset", sort=False):
        bars = []
        for row in rows.to_dict("records"):
            note = f"SD {row['sd']:.{decimals}f}, {counted(row['n_seeds'], 'seed')}" if row["n_seeds"] > 1 else ""
            numbers = row["mean"], row["low"], row["high"], decimals
            bars.append(panels.Bar(panels.label(row["model"]), *numbers, note=note or row["reason"]))
        title = panels.line(f"{heading} on {dataset}")
        parts.append(joined(title, panels.bar_table(bars, benchmark.terms.confidence)))
    n_pairs = len(benchmark.differences)
    if n_pairs:
        shown = _pair_table(benchmark)
        parts.append(shown if n_pairs <= MAX_PAIRS else panels.folded(counted(n_pairs, "difference"), shown))
    table = benchmark.table.drop(columns=["error", "freedom", "of_seeds", "of_triples", "n_clusters"])
    return panels.panel(
        benchmark.verdict.sentence,
        *parts,
        panels.folded("All metrics", html_table(table, index=False)),
        panels.folded("Protocol, tests and notes", panels.lines(benchmark.header())),
    )


def _pair_table(benchmark: Any) -> Markup:
    """Return all differences as a table with a drawing of each interval."""
    rows, alpha = benchmark.differences.to_dict("records"), benchmark.alpha
    limit = edge_of([abs(row[name]) for row in rows for name in ("difference", "low", "high")])
    leads = [(panels.label(row["dataset"]), f"{row['first']} - {row['second']}") for row in rows]
    cells = [(*lead, *pair_cells(row, limit, alpha)) for lead, row in zip(leads, rows)]
    return panels.table(["dataset", "models", "difference", *pair_headings(limit)], cells, numeric=(2, 3, 5))
