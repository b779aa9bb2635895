"""`write_benchmark_page`: a benchmark as one HTML page that contains everything it needs and loads nothing.

Users and ``kgeval benchmark --out`` call it.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from kgeval._version import __version__
from kgeval.audit.leak_notes import copied_share
from kgeval.base.checks import grouped, names_unknown_arguments
from kgeval.base.files import check_page_target
from kgeval.base.wording import printable, signed, with_capital
from kgeval.benchmarks.across import AcrossDatasets
from kgeval.benchmarks.benchmark_text import answer_details, moved_lines
from kgeval.benchmarks.model_benchmark import Benchmark
from kgeval.benchmarks.tables import CHANCE, MARK, best_pairs, mean_cells, pair_rows, placed_rows, table_notes
from kgeval.comparison.rows import NO_RUN, row_of
from kgeval.comparison.texts import holm_words, is_description
from kgeval.comparison.verdict import shown_name
from kgeval.display.differences import OTHERWISE, moved, shown_differences
from kgeval.display.html import interval_bar, model_class
from kgeval.display.table import BOLD, Cell, Column, Table, frame_table, heading_of, titled
from kgeval.errors import DataError
from kgeval.metrics.grammar import display_of
from kgeval.report import charts
from kgeval.report import document as page

Rows = Sequence[Mapping[Any, Any]]
Cells = Mapping[tuple[str, str, str], Cell]  # of (model or `CHANCE`, dataset, metric)
MAX_COLUMNS = 3  # metrics whose intervals stand beside the values, not below them
MAX_NAME = 24  # characters of a dataset in the heading of a column
N_MOVED = 3  # relations with the largest gains, and with the largest losses, of each dataset
MAX_BESIDE, MAX_PAIRS = 4, 6  # datasets whose two best stand beside the means; pairs on each that are all shown
BEST = "Bold: best, and what the test cannot tell from it; nothing, if these are all."
DECIDED_MARKS = "Bold, filled mark: decided. Open mark: undecided."


@names_unknown_arguments()
def write_benchmark_page(
    benchmark: Benchmark, path: str | Path, *, overwrite: bool = False, title: str | None = None
) -> None:
    """Write a benchmark as one HTML page that works offline and loads nothing.

    The page starts with the verdict and the table of all metrics. Then come the differences between the models on each
    dataset, the spread over the seeds, all datasets together, and the protocols and the table in LaTeX. Tables and
    charts are HTML and SVG, which need no script. Labels are shown as text, whatever characters they contain. The same
    input gives the same bytes.

    Parameters
    ----------
    benchmark : Benchmark
        As `kgeval.benchmark` returns it.
    path : str or Path
        The file to write; its name ends in ``.html`` or ``.htm``.
    overwrite : bool
        Whether an existing file may be replaced.
    title : str, optional
        The title of the page. By default, or if empty: ``"kgeval benchmark: "`` and the names of the datasets.

    Raises
    ------
    DataError
        If `benchmark` is not a Benchmark, if the name does not end in ``.html`` or ``.htm``, or if the file cannot be
        written.

    Examples
    --------
    >>> import tempfile
    >>> import kgeval as kg
    >>> dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
    >>> runs = {("up", 1, "x"): kg.evaluate(lambda s, p, o: o, dataset, progress=False)}
    >>> runs["down", 1, "x"] = kg.evaluate(lambda s, p, o: -o, dataset, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_benchmark_page(kg.benchmark(runs), Path(folder) / "page.html")
    ...     (Path(folder) / "page.html").read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    if not isinstance(benchmark, Benchmark):
        raise DataError(f"expected a Benchmark, as kgeval.benchmark returns it; got {type(benchmark).__name__}")
    check_page_target(path, overwrite)
    usual = f"kgeval benchmark: {', '.join(benchmark.datasets)}"
    page.write_document(path, overwrite, title, usual, partial(_sections, benchmark))


def _sections(benchmark: Benchmark, title: str) -> list[page.Section]:
    """Return the sections; the colours of the models are in the order of their mean ranks over the datasets."""
    across, cells = benchmark.across(), mean_cells(benchmark)
    verdict, names = benchmark.verdict, (*benchmark.models, *benchmark.datasets)
    notes = [f"{with_capital(note, names)}." for note in benchmark.notes]
    grave = [note for note in notes if not is_description(note)][: page.N_OPEN]
    rest = [note for note in notes if note not in grave]
    is_several, leads = min(len(benchmark.datasets), len(benchmark.models)) > 1, _leads(benchmark)
    details = [f"{line}." for line in (*answer_details(benchmark), *(() if leads else moved_lines(benchmark)))]
    means = _means(benchmark, cells, across.models)
    shown = page.Beside([_overview(benchmark, across, cells), *leads]) if is_several else means
    first: list[page.PagePart] = [shown, page.Lines(grave, "caution")]
    made = [page.first_section(title, verdict.headline, "", details, first)]
    made += [page.Section("metrics", "All metrics", [means])] if is_several else []
    made += [_differences(benchmark)] if len(benchmark.differences) else []
    made += _where(benchmark, across.models)
    made += [page.Section("together", "Datasets together", [page.Lines(across.lines()[1:])])] if is_several else []
    made += [page.Section("notes", "More notes", [page.Lines(rest)])] if rest else []
    return [*made, _background(benchmark)]


# ---- pieces ----


def _groups(rows: Rows, benchmark: Benchmark) -> list[tuple[str, int]]:
    """Return the rows of each dataset as groups; none if there is one dataset, which the title of the page names."""
    found = grouped((row["dataset"], row) for row in rows)
    return [(dataset, len(of)) for dataset, of in found.items()] if len(benchmark.datasets) > 1 else []


def _named(models: Sequence[str], in_order: Sequence[str]) -> Column:
    """Return the names of models and chance, with the colours of their places in an order."""
    cells = [Cell(printable(model or "chance"), model=in_order.index(model) if model else None) for model in models]
    return Column("model", cells, is_label=True)


# ---- the answer ----


def _overview(benchmark: Benchmark, across: AcrossDatasets, cells: Cells) -> Table:
    """Return the means of the primary metric, one row per model and one column per dataset, and the mean ranks."""
    models, heading = across.models, heading_of(benchmark.metric)
    columns = [_named([*models, CHANCE], models)]
    for name in benchmark.datasets:
        of_models = [replace(cells[model, name, benchmark.metric], interval="") for model in (*models, CHANCE)]
        columns.append(Column(printable(shown_name(name, MAX_NAME)), of_models, key=printable(name)))
    ranks = Column.of_values("mean rank", list(zip(across.table["mean_rank"])), "mr")
    columns.append(replace(ranks, cells=[*ranks.cells, Cell()]))
    spread = " ± SD over the seeds" if (benchmark.table["n_seeds"] > 1).any() else ""
    marks = f"{MARK}: decided against the baseline." if benchmark.terms.baseline is not None else BEST
    caption = f"{heading} on each dataset{spread}. {marks} Mean rank: over the datasets, 1 is best."
    return Table(columns, faint=[len(models)], caption=caption, name="overview", kind="matrix fit")


def _leads(benchmark: Benchmark) -> list[Table]:
    """Return the difference of the two best models on each of few datasets, with the interval that decides."""
    has_place = 1 < len(benchmark.datasets) <= MAX_BESIDE and benchmark.terms.baseline is None
    if not has_place or (drawn := best_pairs(benchmark)) is None:
        return []
    first, pairs_of, *others = drawn.columns
    flags = dict(sorted((printable(run.dataset), copied_share(of.facts)) for run, of in benchmark.results.items()))
    cells = [replace(cell, note=pair.text, flag=flags[cell.text]) for cell, pair in zip(first.cells, pairs_of.cells)]
    caption = f"The two best models on each dataset; where the first loses most. {DECIDED_MARKS}"
    caption += "".join(f" {sign}: {text}." for sign, text in drawn.notes if sign == OTHERWISE)
    return [Table([replace(first, cells=cells), *others], caption=caption, name="leads", kind="pairs")]


def _means(benchmark: Benchmark, cells: Cells, models: Sequence[str]) -> Table:
    """Return the means of all metrics with intervals; those of the primary metric are drawn."""
    heading = heading_of(benchmark.metric)
    with_runs, rows = [row for row in placed_rows(benchmark) if row["n_seeds"] > 0], list[dict[Any, Any]]()
    for dataset, found in grouped((row["dataset"], row) for row in with_runs).items():
        chance = dict.fromkeys(found[0], math.nan) | {"model": CHANCE, "dataset": dataset, "n_seeds": None}
        rows += [*found, chance]
    numbers = [[row[end] for end in ("mean", "low", "high")] for row in rows]
    named = _named([row["model"] for row in rows], models)
    colours = [None if cell.model is None else f"track {model_class(cell.model)}" for cell in named.cells]
    bars = [partial(interval_bar, *of, class_=colour) if colour else None for of, colour in zip(numbers, colours)]
    columns = [named, Column.of_drawings(chain(*numbers), bars)]
    for metric, key in benchmark.keys.items():
        of_metric = [cells[row["model"], row["dataset"], metric] for row in rows]
        of_metric = [replace(cell, deviation="") for cell in of_metric] if len(benchmark.datasets) > 1 else of_metric
        columns.append(Column(titled(metric, key.higher_is_better), of_metric))
    counts = sorted({row["n_seeds"] for row in rows if row["model"]})
    columns += [Column.of_counts("runs", [row["n_seeds"] for row in rows])] if len(counts) > 1 else []
    over = "Means over the runs" if len(counts) > 1 else f"Means over {counts[0]} runs"
    over = "Values of one run" if counts == [1] else over
    caption = (
        f"{over} of each model{' ± SD' * (len(benchmark.datasets) == 1 < counts[-1])}, with "
        f"{benchmark.terms.confidence:.0%} intervals, best first. Drawn, tested and bold: {heading} alone. {BEST}"
    )
    kind = "bars" if len(benchmark.keys) <= MAX_COLUMNS else "matrix"
    notes = [note for note in table_notes(benchmark)[1:] if note[0] != BOLD]  # the first is in the caption
    faint = [i for i, row in enumerate(rows) if not row["model"]]
    return Table(columns, notes, faint, caption, "means", _groups(rows, benchmark), kind=kind)


# ---- differences ----


def _differences(benchmark: Benchmark) -> page.Section:
    """Return the differences in the primary metric, drawn; of many models, those of the best one."""
    frame, baseline = benchmark.differences, benchmark.terms.baseline
    rows, which = pair_rows(benchmark, MAX_PAIRS * len(benchmark.datasets)), "model with the better value - other model"
    if baseline is not None:
        others = [row["second"] if row["first"] == baseline else row["first"] for row in rows]
        rows = [row_of(frame, row["metric"], one, baseline, row["dataset"]) for row, one in zip(rows, others)]
        which = "model - baseline"
    elif len(rows) < len(frame):
        which = "best model - other model (all pairs: --to csv --differences, in Python .differences)"
    rows = [row for row in rows if row["decision"] != NO_RUN]
    text = holm_words(int(frame["p"].notna().sum()), "all differences of all datasets", benchmark.alpha)
    text += "; exactly there its interval excludes 0. Other metrics are not tested."
    parts: list[page.PagePart] = [page.Text(text)]
    if rows:
        alpha = benchmark.alpha
        drawn = shown_differences(rows, alpha, has_datasets=True, has_metrics=False, is_brief=True, has_decisions=False)
        columns = drawn.columns[1:]  # the groups name the datasets
        caption = f"{heading_of(benchmark.metric)}: {which}. {DECIDED_MARKS}"
        groups = _groups(rows, benchmark)
        parts.append(replace(drawn, columns=columns, caption=caption, name="differences", groups=groups, kind="bars"))
    return page.Section("differences", "Differences", parts, "Which models differ, and by how much?")


def _where(benchmark: Benchmark, models: Sequence[str]) -> list[page.Section]:
    """Return the section on the relations on which the best model of each dataset gains and loses most."""
    metric, parts = benchmark.metric, dict[str, pd.DataFrame]()
    for dataset, frame in benchmark.relations.items():
        if len(frame) == 1:
            continue
        kept = frame.sort_values("decided", ascending=False, kind="stable")
        overall, pair = signed(frame.attrs["difference"], display_of(metric).decimals), frame.attrs["models"]
        found = [part.assign(model=models.index(of)) for of, part in zip(pair, moved(kept, metric, N_MOVED))]
        parts[f"{dataset}: {' - '.join(pair)} ({overall})"] = pd.concat(found)
    groups = [(title, len(part)) for title, part in parts.items() if len(part)]
    if not groups:
        return []
    rows = pd.concat(parts.values())
    caption = (
        f"{heading_of(metric)}, means over the runs: the {N_MOVED} largest contributions (to the difference over all "
        "ranks) to gains, then to losses, decided ones first. Bold: decided, the corrected interval excludes 0; faint: "
        "undecided."
    )
    table = Table(charts.moved_columns(rows, metric), caption=caption, name="where", groups=groups, kind="gains")
    return [page.Section("where", "Where they differ", [table], "Where does the best model gain and lose?", "Where")]


# ---- background ----


def _background(benchmark: Benchmark) -> page.Section:
    """Return the last section, folded: protocols, tables for papers, command and citation."""
    about = [page.Lines(benchmark.description()), page.Lines(benchmark.notes_on_method())]
    runs = frame_table(benchmark.runs.assign(seed=benchmark.runs["seed"].fillna("-").astype(str)), index=False)
    parts: list[page.PagePart] = [
        page.Fold("Protocol of each dataset, and how the numbers were computed", about, "protocol"),
        page.Fold("Each run", [replace(runs, caption="The values of each run.", name="runs", kind="tall")], "each-run"),
        page.Fold("The table as LaTeX", [page.Code(benchmark.to_latex(), "latex")], "table-latex"),
        page.again(_command(benchmark), __version__),
    ]
    return page.Section("background", "Background", parts)


def _command(benchmark: Benchmark) -> str:
    """Return the command that makes such a page from saved results."""
    terms = benchmark.terms
    baseline = f" --baseline {shlex.quote(printable(terms.baseline))}" if terms.baseline is not None else ""
    return (
        f"kgeval benchmark RUN1.kgeval RUN2.kgeval ... --metrics {shlex.quote(printable(','.join(benchmark.keys)))}"
        f"{baseline} --confidence {terms.confidence:g} --cluster {terms.cluster} --spread {terms.spread} -o PAGE.html"
    )
