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

from kgeval._version import __version__
from kgeval.base.checks import counted, grouped, listed, names_unknown_arguments
from kgeval.base.files import check_page_target, replacing
from kgeval.base.wording import decimals_for, p_text, printable, written
from kgeval.benchmarks.model_benchmark import Benchmark
from kgeval.benchmarks.tables import mean_cells, table_notes
from kgeval.comparison.rows import NO_RUN, row_of
from kgeval.comparison.verdict import shown_name
from kgeval.display.differences import difference_matrix, shown_differences
from kgeval.display.html import interval_bar, model_class
from kgeval.display.media import frame_records
from kgeval.display.table import Cell, Column, Table, heading_of, titled
from kgeval.errors import DataError
from kgeval.metrics.grammar import display_of
from kgeval.report import charts
from kgeval.report import document as page
from kgeval.report.figure_svg import svg
from kgeval.report.figures import rank_diagram

Rows = Sequence[Mapping[Any, Any]]
MAX_COLUMNS = 3  # metrics whose intervals stand beside the values, not below them
MAX_NAME = 24  # characters of a dataset in the heading of a column
MAX_FOREST = 4  # models; the differences of more are half a matrix
# Words of notes, gravest first: numbers that do not compare, that may be wrong, that say less than they seem to.
GRAVE = (
    "accepted", "overridden", "same run", "not independent", "do not compare", "distances", "leak", "times as wide",
    "no run", "runs differ", "with the seed",
)  # fmt: skip


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
    if not title or not title.strip():
        title = f"kgeval benchmark: {', '.join(benchmark.datasets)}"
    frames = {name: getattr(benchmark, name) for name in ("table", "differences", "runs")}
    more = {
        "verdict": benchmark.verdict.sentence,
        "leaders": benchmark.verdict.leaders,
        "header": benchmark.header(),
        **{name: frame_records(frame.set_index(list(frame.columns[:1]))) for name, frame in frames.items()},
    }
    with replacing(path, overwrite) as stream:
        stream.write(page.page_html(title, _sections(benchmark, title), more).encode("utf-8"))


def _sections(benchmark: Benchmark, title: str) -> list[page.Section]:
    """Return the sections; the colours of the models are in the order of their mean ranks over the datasets."""
    ranks = benchmark.values.rank(ascending=not benchmark.keys[benchmark.metric].higher_is_better).mean(axis=1)
    places = {str(model): place for place, model in enumerate(ranks.sort_values(kind="stable").index)}
    verdict, first = benchmark.verdict, [_means(benchmark, places), *page.graded(benchmark.notes, GRAVE)]
    details = [f"{verdict.details[0].upper()}{verdict.details[1:]}."] if verdict.details else []
    made = [page.first_section(title, verdict.headline, "", details, first)]
    made += [_differences(benchmark, places)] if len(benchmark.differences) else []
    made += [_seeds(benchmark, places)] if (benchmark.table["n_seeds"] > 1).any() else []
    made += [_together(benchmark, places)] if min(len(benchmark.datasets), len(places)) > 1 else []
    return [*made, _background(benchmark)]


# ---- pieces ----


def _placed(benchmark: Benchmark, places: Mapping[str, int], metric: str) -> Rows:
    """Return the rows of `Benchmark.table` of a metric, of the models with runs, best first on each dataset."""
    frame = benchmark.table[(benchmark.table["metric"] == metric) & (benchmark.table["n_seeds"] > 0)]
    at, higher = benchmark.datasets.index, bool(benchmark.keys[benchmark.metric].higher_is_better)
    ranks = benchmark.values.rank(ascending=not higher, na_option="bottom")

    def place(row: Mapping[Any, Any]) -> tuple[int, float, int]:
        return at(row["dataset"]), float(ranks.loc[row["model"], row["dataset"]]), places[row["model"]]

    return sorted(frame.to_dict("records"), key=place)


def _groups(rows: Rows, benchmark: Benchmark) -> list[tuple[str, int]]:
    """Return the rows of each dataset as groups; none if there is one dataset, which the title of the page names."""
    found = grouped((row["dataset"], row) for row in rows)
    return [(dataset, len(of)) for dataset, of in found.items()] if len(benchmark.datasets) > 1 else []


def _named(rows: Rows, places: Mapping[str, int]) -> Column:
    models = [row["model"] for row in rows]
    return Column.of_labels("model", models, models=[places[model] for model in models])


# ---- the answer ----


def _means(benchmark: Benchmark, places: Mapping[str, int]) -> Table:
    """Return the means of all metrics with intervals; those of the primary metric are drawn."""
    rows, heading = _placed(benchmark, places, benchmark.metric), heading_of(benchmark.metric)
    cells = mean_cells(benchmark)
    numbers = [[row[end] for end in ("mean", "low", "high")] for row in rows]
    colours = [f"track {model_class(places[row['model']])}" for row in rows]
    bars = [partial(interval_bar, *of, class_=colour) for of, colour in zip(numbers, colours)]
    columns = [_named(rows, places), Column.of_drawings(chain(*numbers), bars)]
    for metric, key in benchmark.keys.items():
        of_metric = []
        for row in _placed(benchmark, places, metric):
            cell, values = cells[row["model"], row["dataset"], metric], (row["mean"], row["low"], row["high"])
            of_metric.append(replace(cell, deviation="", numbers=values, reason=row["reason"]))
        columns.append(Column(titled(metric, key.higher_is_better), of_metric))
    counts = sorted({row["n_seeds"] for row in rows})
    columns += [Column.of_counts("runs", [row["n_seeds"] for row in rows])] if len(counts) > 1 else []
    over = f"Means over {counted(counts[0], 'run')} of each model" if len(counts) == 1 else "Means over the runs"
    over = "Values of one run of each model" if counts == [1] else over
    caption = (
        f"{over}, with {benchmark.terms.confidence:.0%} intervals, best {heading} first. "
        f"Drawn: {heading}, the metric that is tested."
    )
    kind = "bars" if len(benchmark.keys) <= MAX_COLUMNS else "matrix"
    notes = table_notes(benchmark)[1:]  # the first is in the caption
    return Table(columns, notes, caption=caption, name="means", groups=_groups(rows, benchmark), kind=kind)


# ---- differences, seeds ----


def _differences(benchmark: Benchmark, places: Mapping[str, int]) -> page.Section:
    """Return the differences in the primary metric, drawn; those of many models also as half a matrix."""
    frame, alpha, baseline = benchmark.differences, benchmark.alpha, benchmark.terms.baseline
    rows = frame.to_dict("records")
    if baseline is not None:
        others = [row["second"] if row["first"] == baseline else row["first"] for row in rows]
        rows = [row_of(frame, row["metric"], one, baseline, row["dataset"]) for row, one in zip(rows, others)]
    rows = [row for row in rows if row["decision"] != NO_RUN]
    at, heading = benchmark.datasets.index, heading_of(benchmark.metric)
    rows.sort(key=lambda row: (at(row["dataset"]), places[row["first"]], places[row["second"]]))
    n_tests = int(frame["p"].notna().sum())
    text = (
        f"p (Holm) is corrected for {counted(n_tests, 'test')}, all differences of all datasets; a "
        f"difference is decided where it is at most {alpha:g}, and exactly there its interval excludes 0. Other "
        "metrics are not tested."
    )
    drawn = shown_differences(rows, alpha, has_datasets=True, has_metrics=False, is_brief=True)
    caption = f"Differences in {heading}, first model - second. Filled mark: decided. Open mark: undecided."
    drawn = replace(drawn, columns=drawn.columns[1:], groups=_groups(rows, benchmark), kind="bars")
    drawn = replace(drawn, caption=caption, name="differences")
    parts: list[page.PagePart] = [page.Text(text)]
    if baseline is not None or len(places) <= MAX_FOREST:
        parts += [drawn] if rows else []
    else:
        parts.append(page.Text("Bold: decided; blue, the model of the row is better; orange, that of the column is."))
        for place, (dataset, of) in enumerate(grouped((row["dataset"], row) for row in rows).items(), 1):
            names = {name for row in of for name in (row["first"], row["second"])}
            half = difference_matrix(of, alpha, {model: at for model, at in places.items() if model in names})
            caption = f"{dataset}: {heading} of the row - {heading} of the column"
            parts.append(replace(half, caption=caption, name=f"differences-{place}", kind="matrix fit"))
        parts.append(page.Fold("All differences with their intervals", [drawn], "tests"))
    empty = benchmark.table[(benchmark.table["metric"] == benchmark.metric) & (benchmark.table["n_seeds"] == 0)]
    missing = grouped((tuple(of), dataset) for dataset, of in grouped(zip(empty["dataset"], empty["model"])).items())
    parts.append(page.Lines([f"{NO_RUN} on {listed(on)}: all pairs with {listed(of)}" for of, on in missing.items()]))
    return page.Section("differences", "Differences", parts, "Which models differ, and by how much?")


def _seeds(benchmark: Benchmark, places: Mapping[str, int]) -> page.Section:
    """Return each run beside the mean of its model, the standard deviation, and the part of the seeds in the error."""
    metric, rows = benchmark.metric, _placed(benchmark, places, benchmark.metric)
    runs = grouped(((run["model"], run["dataset"]), run) for run in benchmark.runs.to_dict("records"))
    digits = decimals_for((run[metric] for of in runs.values() for run in of), display_of(metric).decimals)
    bars, texts = [], []
    for row in rows:
        of = runs[row["model"], row["dataset"]]
        bars.append(partial(charts.runs_bar, [run[metric] for run in of], row["mean"], model=places[row["model"]]))
        seeds = ["" if run["seed"] is None else f" ({run['seed']})" for run in of]
        texts.append(", ".join(f"{written(run[metric], digits)}{seed}" for run, seed in zip(of, seeds)))
    columns = [_named(rows, places), Column.of_drawings((run[metric] for of in runs.values() for run in of), bars)]
    for heading, name in (("SD", "sd"), ("standard error", "error")):
        columns.append(Column.of_values(heading, [(row[name],) for row in rows], metric))
    columns.append(Column.of_shares("due to seeds", [row["share_of_seeds"] for row in rows]))
    columns.append(Column.of_labels("values (seed)", texts))
    caption = (
        f"{heading_of(metric)} of each run (short line) and mean (dot). SD: standard deviation over the seeds. "
        "Standard error: how much the mean would vary with other seeds and other test triples; due to seeds: their "
        "share of its square."
    )
    table = Table(columns, caption=caption, name="seeds", groups=_groups(rows, benchmark), kind="matrix")
    return page.Section("seeds", "Spread over seeds", [table], "How much does a value depend on the seed?", "Seeds")


# ---- several datasets, background ----


def _together(benchmark: Benchmark, places: Mapping[str, int]) -> page.Section:
    """Return the ranks on all datasets, their means, and the tests over datasets, if they tell any two models apart."""
    across = benchmark.across()
    rows = sorted(across.table.to_dict("records"), key=lambda row: places[row["model"]])
    order, at, ranks = list(across.models), list(across.values.columns).index, across.ranks
    columns = [_named(rows, places), Column.of_values("mean rank", [(row["mean_rank"],) for row in rows], "mr")]
    columns.append(Column.of_counts("best on", [row["n_best"] for row in rows]))
    for name, of_dataset in zip(across.values.index[ranks.is_kept], ranks.ranks.tolist()):
        numbers = [of_dataset[at(row["model"])] for row in rows]
        cells = [Cell(f"{rank:g}", numbers=(rank,)) for rank in numbers]
        columns.append(Column(f"rank on {shown_name(name, MAX_NAME)}", cells))
    caption = f"Ranks of the models by {heading_of(across.metric)} on each dataset, 1 is best, and their means."
    parts: list[page.PagePart] = [Table(columns, caption=caption, name="mean-ranks", kind="fit")]
    p_values = [] if across.friedman is None else [across.friedman.p_value, *across.pairs["p_nemenyi"]]
    lines, smallest = list(across.notes), min(p_values, default=math.inf)
    if across.nemenyi is not None and smallest <= across.alpha:
        groups = [(order.index(group[0]), order.index(group[-1])) for group in across.groups]
        models, name = list(zip(order, across.table["mean_rank"])), "Mean ranks of the models, best at the left"
        drawing = partial(svg, rank_diagram(models, groups, across.nemenyi.critical_difference, name))
        parts.append(page.Figure(drawing, f"{name}. A thick line joins models that are not told apart."))
        lines = across.lines()[1:]
    elif p_values:
        lines.insert(0, f"no test over datasets tells models apart: the smallest p-value is {p_text(smallest, 1)}")
    return page.Section("together", "Datasets together", [*parts, page.Lines(lines)])


def _background(benchmark: Benchmark) -> page.Section:
    """Return the last section, folded: protocols, tables for papers, command and citation."""
    about = [page.Lines(benchmark.description()), page.Lines(benchmark.notes_on_method())]
    parts: list[page.PagePart] = [
        page.Fold("Protocol of each dataset, and how the numbers were computed", about, "protocol"),
        page.Fold("The table as LaTeX", [page.Code(benchmark.to_latex(), "latex")], "table-latex"),
        page.Fold("The table as LaTeX with siunitx", [page.Code(benchmark.to_latex(siunitx=True), "siunitx")]),
        page.Fold("The table as Markdown", [page.Code(benchmark.to_markdown(), "markdown")]),
        page.again(_command(benchmark), __version__),
    ]
    return page.Section("background", "Background", parts)


def _command(benchmark: Benchmark) -> str:
    """Return the command that makes such a page from saved results."""
    terms = benchmark.terms
    words = ["kgeval benchmark RUN1.kgeval RUN2.kgeval ..."]
    words += [f"--metrics {shlex.quote(printable(','.join(benchmark.keys)))}"]
    words += [f"--baseline {shlex.quote(printable(terms.baseline))}"] if terms.baseline is not None else []
    words += [f"--confidence {terms.confidence:g} --cluster {terms.cluster} --spread {terms.spread}"]
    return " ".join([*words, "-o PAGE.html"])
