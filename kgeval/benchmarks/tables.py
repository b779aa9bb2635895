"""The tables of a benchmark as values, and their text for papers and programs; `Benchmark` calls this module.

In papers a row is a model, a column is a metric on a dataset, and a cell is a mean with its standard deviation over the
seeds; people read the same cells with a row for each dataset and model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kgeval.base.checks import counted, grouped, listed
from kgeval.base.terminal import PIPE, Screen
from kgeval.base.wording import decimals_for, listed_names, printable, quoted, written
from kgeval.benchmarks.cells import ADVICE, EQUAL_RANKS, UNEQUAL_SDS, borrowed_spread
from kgeval.benchmarks.verdict import why_none
from kgeval.comparison.rows import NO_RUN
from kgeval.comparison.texts import protocol_comment, ties_line
from kgeval.display.differences import moved_words, shown_differences
from kgeval.display.media import TEXT_WIDTH, latex_width, long_table
from kgeval.display.table import BOLD, Cell, Column, Note, Table, value_cell
from kgeval.metrics.grammar import display_of
from kgeval.results.evaluation_result import ranks_words

if TYPE_CHECKING:  # these modules import this one
    from kgeval.benchmarks.model_benchmark import Benchmark

MAX_ROWS = 12  # differences in a terminal; if there are more, only those of the best models
CHANCE = ""  # in place of a model, whose name is never empty
MAX_LATEX = 30  # rows of a table for a paper, which no page breaks
MARK = "†"  # differs significantly from the baseline
Rows = list[dict[Any, Any]]


def bold_models(benchmark: Benchmark, dataset: str) -> set[str]:
    """Return the models whose value of the primary metric is bold on a dataset.

    These are the best model and all models that do not differ significantly from it. The set is empty if no model is
    significantly worse than the best model, or if the models were compared with a baseline only.

    Parameters
    ----------
    benchmark : Benchmark
    dataset : str
    """
    if benchmark.terms.baseline is not None:
        return set()
    leaders = benchmark.verdict.leaders.get(dataset, ())
    return set(leaders) if len(leaders) < int(benchmark.values[dataset].notna().sum()) else set()


def marked_models(benchmark: Benchmark, dataset: str) -> set[str]:
    """Return the models that differ significantly from the baseline on a dataset.

    The set is empty without a baseline, or if differences between the results of the dataset were overridden.

    Parameters
    ----------
    benchmark : Benchmark
    dataset : str
    """
    if benchmark.terms.baseline is None or benchmark.alignments[dataset].differing:
        return set()
    table = benchmark.differences
    decided = table[(table["dataset"] == dataset) & (table["better"] != "")]
    return {*decided["first"], *decided["second"]} - {benchmark.terms.baseline}


def mean_cells(benchmark: Benchmark) -> dict[tuple[str, str, str], Cell]:
    """Return the cells of the table: means with their intervals and their deviations over the seeds; chance levels.

    Parameters
    ----------
    benchmark : Benchmark

    Returns
    -------
    dict of (model or `CHANCE`, dataset, metric) to Cell
    """
    bold = {dataset: bold_models(benchmark, dataset) for dataset in benchmark.datasets}
    marked = {dataset: marked_models(benchmark, dataset) for dataset in benchmark.datasets}
    means = benchmark.table.groupby("metric")["mean"]
    digits = {metric: decimals_for(found.tolist(), display_of(metric).decimals) for metric, found in means}
    cells = {}
    for row in benchmark.table.to_dict("records"):
        model, dataset, metric = row["model"], row["dataset"], row["metric"]
        cell = value_cell((row["mean"], row["low"], row["high"]), digits[metric], row["reason"])
        sd = written(row["sd"], digits[metric]) if math.isfinite(row["sd"]) and math.isfinite(row["mean"]) else ""
        is_primary = metric == benchmark.metric
        mark = MARK if is_primary and model in marked[dataset] else ""
        is_best = is_primary and model in bold[dataset]
        cells[model, dataset, metric] = replace(cell, deviation=sd, mark=mark, is_best=is_best)
    for dataset, result in {run.dataset: result for run, result in benchmark.results.items()}.items():
        for metric in benchmark.keys:
            level = result.chance(metric)
            cells[CHANCE, dataset, metric] = value_cell([level.value], digits[metric], level.reason)
    return cells


def placed_rows(benchmark: Benchmark) -> Rows:
    """Return the rows of `Benchmark.table` of the primary metric, dataset by dataset, best first on each.

    Parameters
    ----------
    benchmark : Benchmark
    """
    frame, at = benchmark.table, benchmark.datasets.index
    sign = -1.0 if benchmark.keys[benchmark.metric].higher_is_better else 1.0
    rows = frame[frame["metric"] == benchmark.metric].to_dict("records")
    return sorted(rows, key=lambda row: (at(row["dataset"]), math.isnan(row["mean"]), sign * row["mean"]))


def mean_table(benchmark: Benchmark, metrics: Sequence[str] = ()) -> Table:
    """Return the table of means with one row per dataset and model, best first, and one column per metric.

    Parameters
    ----------
    benchmark : Benchmark
    metrics : sequence of str
        Some of the metrics, by default all.
    """
    cells, rows, metrics = mean_cells(benchmark), placed_rows(benchmark), metrics or list(benchmark.keys)
    places = [(row["dataset"], row["model"]) for row in rows]
    columns = [Column.of_labels(*named) for named in zip(("dataset", "model"), zip(*places))]
    columns.append(Column.of_texts("seeds", [str(row["n_seeds"]) for row in rows], -1))
    for position, metric in enumerate(metrics):
        of_metric = [cells[model, dataset, metric] for dataset, model in places]
        heading = printable(display_of(metric).heading)
        columns.append(Column(heading, of_metric, place=len(metrics) - position))
    return Table(columns, table_notes(benchmark))


def paper_table(
    benchmark: Benchmark, metrics: Sequence[str] = (), *, has_protocol: bool = False, has_doubts: bool = False
) -> Table:
    """Return the table of means without intervals: rows are models and chance, columns are datasets and metrics.

    Parameters
    ----------
    benchmark : Benchmark
    metrics : sequence of str
        Some of the metrics, by default all.
    has_protocol : bool
        Whether the last note has the protocol beside the numbers of ranks.
    has_doubts : bool
        Whether there is a note on spreads over the seeds that differ much.
    """
    cells, metrics = mean_cells(benchmark), metrics or list(benchmark.keys)
    models = [*benchmark.across().models, CHANCE]
    columns = [Column.of_labels("model", [model or "chance" for model in models])]
    for dataset in benchmark.datasets:
        for metric in metrics:
            of_models = [replace(cells[model, dataset, metric], interval="") for model in models]
            columns.append(Column(display_of(metric).heading, of_models, group=dataset))
    sizes = {name: len(alignment.rows[0]) for name, alignment in benchmark.alignments.items()}
    results = list(benchmark.results.values()) if has_protocol else []
    about_ranks = ranks_words(sizes, results, ties_line(benchmark.keys))
    doubts = [note.removesuffix(ADVICE) for note in benchmark.notes if has_doubts and note.startswith(UNEQUAL_SDS)]
    return Table(columns, [*table_notes(benchmark, metrics), *(("", text) for text in (*doubts, about_ranks))])


def fitting_table(benchmark: Benchmark, *, siunitx: bool) -> tuple[Table, list[str]]:
    """Return the table for LaTeX, and the headings of the metrics that it lacks.

    If it is wider than the text of a page, the datasets stand below each other; if that is too wide, the primary metric
    alone has standard deviations; if that is too wide too, or too long, the table has the primary metric alone, in
    columns of datasets, or else in columns of models.

    Parameters
    ----------
    benchmark : Benchmark
    siunitx : bool
    """
    width, made = partial(latex_width, siunitx=siunitx), partial(paper_table, has_protocol=True, has_doubts=True)
    headings, whole = [display_of(metric).heading for metric in benchmark.keys], made(benchmark)

    def bare(column: Column) -> Column:
        return replace(column, cells=[replace(cell, deviation="") for cell in column.cells])

    columns = [one if one.heading == headings[0] else bare(one) for one in whole.columns]
    slim = replace(whole, columns=columns, notes=[*whole.notes, ("", f"standard deviations: {headings[0]} alone")])
    for table in (whole, slim):
        for one in (table, long_table(table, "dataset", not benchmark.keys[benchmark.metric].higher_is_better)):
            if width(one) <= TEXT_WIDTH and len(one.columns[0].cells) <= max(MAX_LATEX, len(whole.columns[0].cells)):
                return one, []
    alone = made(benchmark, [benchmark.metric])
    models, *values = alone.columns
    rows = zip(models.cells[:-1], zip(*(column.cells for column in values)))  # without chance
    turned = [Column(model.text, row, group=values[0].heading) for model, row in rows]
    other = replace(alone, columns=[Column.of_labels("dataset", benchmark.datasets), *turned])
    return (alone if width(alone) <= TEXT_WIDTH else min(alone, other, key=width)), headings[1:]


def pair_table(benchmark: Benchmark, screen: Screen = PIPE) -> Table:
    """Return the table of differences in the primary metric, those of the best models first.

    If there are more than `MAX_ROWS` differences, those of the best model of each dataset are shown, or if these are
    more, of the two best ones; a note has the number of the others.

    Parameters
    ----------
    benchmark : Benchmark
    screen : Screen
        As in `kgeval.display.differences.shown_differences`.
    """
    rows, n_all = pair_rows(benchmark, MAX_ROWS), len(benchmark.differences)
    is_several, alpha = len(benchmark.datasets) > 1, benchmark.alpha
    rows = _first_pairs(rows) if is_several and len(rows) > MAX_ROWS and benchmark.terms.baseline is None else rows
    shown = shown_differences(rows, alpha, has_datasets=is_several, has_metrics=False, screen=screen)
    if len(rows) == n_all:
        return shown
    left_out = f"{n_all - len(rows):,} other differences: --to csv --differences, in Python .differences"
    return replace(shown, notes=[*shown.notes, ("", left_out)])


def best_pairs(benchmark: Benchmark) -> Table | None:
    """Return the differences in the primary metric between the two best models of each dataset; decided ones are bold.

    With a baseline, it is the best model against the baseline, or the baseline against the next one. Of one dataset,
    the differences are those of `pair_table`; of several, the last column has the relation on which the first model of
    each loses most. Datasets without a verdict are left out; None: there is no other.

    Parameters
    ----------
    benchmark : Benchmark
    """
    rows = [row for row in pair_rows(benchmark, MAX_ROWS) if row["decision"] != NO_RUN]
    rows = [row for row in rows if not benchmark.alignments[row["dataset"]].differing]
    n, alpha = len(benchmark.datasets), benchmark.alpha
    rows = _first_pairs(rows) if n > 1 else rows
    if not rows:
        return None
    shown = shown_differences(rows, alpha, has_datasets=n > 1, has_metrics=False, is_brief=True, has_decisions=False)
    losses = [Column("largest loss", [_loss(benchmark, row) for row in rows], is_label=True)] if n > 1 else []
    return replace(shown, columns=[*shown.columns, *losses], notes=[*shown.notes, (BOLD, "decided")])


def _loss(benchmark: Benchmark, row: Mapping[Any, Any]) -> Cell:
    """Return the relation on which the first model of a pair loses most; empty if not known."""
    frame = benchmark.relations.get(row["dataset"])
    if frame is None or frame.attrs["models"] != (row["first"], row["second"]):
        return Cell()
    said = moved_words(frame, benchmark.metric, verbs=(None, ""))
    relation, _, note = said.removesuffix(")").rpartition(" (")
    return Cell(relation or "none", note=note)


def _first_pairs(rows: Rows) -> Rows:
    """Return the first row of each dataset."""
    return list({row["dataset"]: row for row in reversed(rows)}.values())[::-1]


def pair_rows(benchmark: Benchmark, most: float = math.inf) -> Rows:
    """Return the rows of `Benchmark.differences`, dataset by dataset, those of the best model of each first.

    If there are more than `most`, and no baseline, those of the best models alone.

    Parameters
    ----------
    benchmark : Benchmark
    most : int, optional
    """
    places = {(row["dataset"], row["model"]): place for place, row in enumerate(placed_rows(benchmark))}
    rows = sorted(
        benchmark.differences.to_dict("records"),
        key=lambda row: (places[row["dataset"], row["first"]], places[row["dataset"], row["second"]]),
    )
    if len(rows) <= most or benchmark.terms.baseline is not None:
        return rows
    best = {dataset: leaders[0] for dataset, leaders in benchmark.verdict.leaders.items() if leaders}
    return [row for row in rows if best.get(row["dataset"], row["first"]) in (row["first"], row["second"])]


def table_notes(benchmark: Benchmark, metrics: Sequence[str] = ()) -> list[Note]:
    """Return the notes below the table: the meaning of the numbers, of bold values and marks, and cautions.

    Parameters
    ----------
    benchmark : Benchmark
    metrics : sequence of str
        Those in the table, by default all.
    """
    counts = benchmark.table["n_seeds"].tolist()
    several, numbers = sorted({n for n in counts if n > 1}), "one run each"
    if several:
        seeds = f"{several[0]} to {several[-1]} seeds" if len(several) > 1 else f"{several[0]} seeds"
        one_run = (
            f"; a model without ±: one run{borrowed_spread(benchmark.table, benchmark.terms)}" if 1 in counts else ""
        )
        numbers = f"mean ± standard deviation over {seeds}{one_run}"
    shown = map(display_of, metrics or benchmark.keys)
    lower = [one.heading for one in shown if one.lower_is_better]
    about = [numbers, *([f"lower is better in {listed(lower)}"] if lower else [])]
    cautions = [("", text) for text in _cautions(benchmark)]
    alone = "" if len(metrics or benchmark.keys) == 1 else f"; {display_of(benchmark.metric).heading} alone is tested"
    return [*(("", text) for text in about), *_decision_notes(benchmark, alone), *cautions]


def _decision_notes(benchmark: Benchmark, alone: str) -> Iterator[Note]:
    """Yield the notes below the table about bold values and marks, or that there are none."""
    heading, alpha, baseline = display_of(benchmark.metric).heading, benchmark.alpha, benchmark.terms.baseline
    n_tests = int(benchmark.differences["p"].notna().sum())
    how = f"Holm, {counted(n_tests, 'test')}"
    if n_tests and baseline is not None:
        with_verdict = [name for name, alignment in benchmark.alignments.items() if not alignment.differing]
        if any(marked_models(benchmark, dataset) for dataset in benchmark.datasets):
            yield MARK, f"differs significantly from {quoted(baseline)} in {heading}, p ≤ {alpha:g} ({how})"
        elif with_verdict:
            where = f" on {listed_names(with_verdict)}" if len(with_verdict) < len(benchmark.datasets) else ""
            yield "", f"no model differs significantly from {quoted(baseline)} in {heading}{where} ({how})"
    elif n_tests:
        if any(bold_models(benchmark, dataset) for dataset in benchmark.datasets):
            yield BOLD, f"best {heading} of a dataset, and all not significantly worse, p > {alpha:g} ({how}{alone})"
        undecided = [one for one in benchmark.datasets if not (bold_models(benchmark, one) or why_none(benchmark, one))]
        if undecided:
            none = f"no model is significantly worse than the best one in {heading} ({how})"
            yield "", f"undecided on {listed_names(undecided)}: {none}"


def _cautions(benchmark: Benchmark) -> Iterator[str]:
    """Yield the notes below the table about overrides, datasets without a verdict, and equal runs."""
    yield from (f"overridden in {dataset}: {text}" for dataset, text in overridden_texts(benchmark).items())
    reasons = grouped((why_none(benchmark, dataset), dataset) for dataset in benchmark.datasets)
    if len(benchmark.models) > 1:
        yield from (f"no verdict on {listed_names(on)}: {reason}" for reason, on in reasons.items() if reason)
    yield from (note.partition(";")[0] for note in benchmark.notes if note.endswith(EQUAL_RANKS))


def overridden_texts(benchmark: Benchmark) -> dict[str, str]:
    """Return the differences between results that were overridden: dataset -> text.

    Parameters
    ----------
    benchmark : Benchmark
    """
    overridden = {dataset: alignment.overridden for dataset, alignment in benchmark.alignments.items()}
    return {dataset: "; ".join(map(str, found)) for dataset, found in overridden.items() if found}


def protocol_lines(benchmark: Benchmark) -> list[str]:
    """Return the lines of comment of a LaTeX file with the protocols of all datasets.

    Parameters
    ----------
    benchmark : Benchmark
    """
    named = ((run.name, result) for run, result in benchmark.results.items())
    return protocol_comment(named, ties_line(benchmark.keys)).splitlines()
