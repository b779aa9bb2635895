"""The sections of the page of a benchmark, made of the parts and charts of the report page.

`kgeval.report.benchmark_page.write_benchmark_page` calls them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kgeval.base.checks import counted
from kgeval.base.wording import written
from kgeval.benchmarks.tables import mean_cells, table_notes
from kgeval.display.html import Markup, joined, tag
from kgeval.display.html_tables import plain_notes
from kgeval.metrics.grammar import display_of
from kgeval.report import charts, page_differences, page_numbers
from kgeval.report import page_parts as html

if TYPE_CHECKING:  # these modules import this one
    from kgeval.benchmarks.model_benchmark import Benchmark

Row = Mapping[Any, Any]
N_CAUTIONS, MAX_NAME, MAX_HEAD = 2, 32, 20
MAX_FOREST = 4  # models; with more of them, the differences are shown as a matrix


# ---- pieces ----


def _model(benchmark: Benchmark, model: str) -> Markup:
    return page_differences.model_label(model, benchmark.models.index(model))


def models_in_order(benchmark: Benchmark) -> list[str]:
    """Return the models, best mean rank over the datasets first; a model without a value has no rank on a dataset.

    Parameters
    ----------
    benchmark : Benchmark
    """
    is_higher = benchmark.keys[benchmark.metric].higher_is_better
    ranks = benchmark.values.rank(axis=0, ascending=not is_higher).mean(axis=1)
    return [str(name) for name in ranks.sort_values(kind="stable").index]


def order_on(benchmark: Benchmark, dataset: str) -> list[str]:
    """Return the models that have runs on a dataset, best mean first; those without a value come last.

    Parameters
    ----------
    benchmark : Benchmark
    dataset : str
    """
    sign = -1.0 if benchmark.keys[benchmark.metric].higher_is_better else 1.0
    means = {
        model: row["mean"] for model, row in cells_of(benchmark, dataset, benchmark.metric).items() if row["n_seeds"]
    }
    return sorted(means, key=lambda model: (math.isnan(means[model]), sign * means[model]))


def cells_of(benchmark: Benchmark, dataset: str, metric: str) -> dict[str, Row]:
    """Return the rows of `Benchmark.table` of one dataset and metric: model -> row.

    Parameters
    ----------
    benchmark : Benchmark
    dataset, metric : str
    """
    frame = benchmark.table
    rows = frame[(frame["dataset"] == dataset) & (frame["metric"] == metric)].to_dict("records")
    return {row["model"]: row for row in rows}


def _interval(row: Row) -> tuple[float, float, float]:
    return row["mean"], row["low"], row["high"]


def mean_cell(row: Row, metric: str, bar: Markup | None = None, classes: str = "", mark: str = "") -> Markup:
    """Return a cell with a mean, its standard deviation over the seeds, its interval and a drawing.

    Parameters
    ----------
    row : mapping
        A row of `Benchmark.table`.
    metric : str
    bar : Markup, optional
    classes : str
    mark : str
        A sign after the mean; may be empty.
    """
    ends = page_numbers.interval_text(_interval(row), metric)
    text = f"{page_numbers.value_text(row['mean'], metric)}{mark}" if row["n_seeds"] else "no run"
    more = [spread(row["mean"], row["sd"], metric), tag("small", ends) if ends else None, bar]
    return html.number(text, row["mean"], *more, classes=classes, title=row["reason"] or None)


def spread(mean: float, deviation: float, metric: str) -> Markup | None:
    """Return the standard deviation over the seeds, which stands after a mean; None if there is none.

    Parameters
    ----------
    mean, deviation : float
    metric : str
    """
    if not (math.isfinite(mean) and math.isfinite(deviation)):
        return None
    text = page_numbers.value_text(deviation, metric, page_numbers.digits_of(mean, metric))
    return tag("span", f" ± {text}", class_="spread")


# ---- 1: the answer ----


def answer(benchmark: Benchmark, title: str) -> Markup:
    """Return the verdict, the table of the primary metric, and cautions.

    Parameters
    ----------
    benchmark : Benchmark
    title : str
        The title of the page, which is its first heading.
    """
    return html.first_section(
        title,
        tag("p", tag("bdi", benchmark.verdict.sentence), class_="verdict"),
        means_table(benchmark, benchmark.metric, "means"),
        *(tag("p", text, class_="muted") for text in plain_notes(table_notes(benchmark))),
        html.notes(benchmark.notes[:N_CAUTIONS], benchmark.notes[N_CAUTIONS:]),
    )


def means_table(benchmark: Benchmark, metric: str, name: str) -> Markup:
    """Return a table of models x datasets: mean, standard deviation over the seeds, interval, and bars.

    Parameters
    ----------
    benchmark : Benchmark
    metric : str
        The text of its key; values of the primary metric are bold and marked as the tests decide.
    name : str
        The name of the table in downloads.
    """
    texts = mean_cells(benchmark)
    of_dataset = {dataset: cells_of(benchmark, dataset, metric) for dataset in benchmark.datasets}
    limits = {one: html.limits_of([_interval(row) for row in rows.values()]) for one, rows in of_dataset.items()}
    counts = {row["n_seeds"] for rows in of_dataset.values() for row in rows.values() if row["n_seeds"]}
    lines = []
    for model in models_in_order(benchmark):
        cells, place = [], benchmark.models.index(model)
        for dataset, rows in of_dataset.items():
            row, text = rows[model], texts[model, dataset, metric]
            bar = html.bar_of(_interval(row), limits[dataset], model=place) if row["n_seeds"] else None
            cells.append(mean_cell(row, metric, bar, "best" if text.is_best else "", text.mark))
            cells += [html.number(str(row["n_seeds"]), row["n_seeds"])] if len(counts) > 1 else []
        lines.append(tag("tr", html.row_head(_model(benchmark, model)), *cells))
    heading, is_higher = display_of(metric).heading, benchmark.keys[metric].higher_is_better
    direction, arrow = ("higher", "↑") if is_higher else ("lower", "↓")
    heads: list[Any] = ["model"]
    for dataset in benchmark.datasets:
        heads += [joined(html.label(dataset, MAX_NAME), f" {arrow}"), *(["runs"] if len(counts) > 1 else [])]
    over = counted(next(iter(counts)), "run") if len(counts) == 1 else "the runs"
    of_runs = f", means over {over} ± standard deviation over the seeds" if counts != {1} else ""
    caption = f"{heading} ({direction} is better) with {benchmark.terms.confidence:.0%} intervals{of_runs}"
    return html.table(caption, heads, [tag("tbody", *lines)], name=name, numbers=range(1, len(heads)))


# ---- 2: differences ----


def differences(benchmark: Benchmark) -> Markup | None:
    """Return the differences of the models on each dataset: forest plots; for many models, a matrix.

    Parameters
    ----------
    benchmark : Benchmark
    """
    frame, metric, alpha = benchmark.differences, benchmark.metric, benchmark.alpha
    if not len(frame):
        return None
    heading, is_higher = display_of(metric).heading, benchmark.keys[metric].higher_is_better
    parts: list[Any] = []
    for i, dataset in enumerate(benchmark.datasets, start=1):
        of_dataset = frame[frame["dataset"] == dataset].to_dict("records")
        order = order_on(benchmark, dataset)
        rows = [row for row in of_dataset if row["first"] in order and row["second"] in order]  # both have runs
        if not rows:
            text = "fewer than two models have a run, so there is no difference."
            parts.append(tag("p", html.label(dataset, MAX_NAME), f": {text}", class_="muted"))
            continue
        if benchmark.terms.baseline is None:
            rows.sort(key=lambda row: (order.index(row["first"]), order.index(row["second"])))
        name, label = f"differences-{i}", html.label(dataset, MAX_NAME)
        if benchmark.terms.baseline is not None or len(order) <= MAX_FOREST:
            text = "with intervals at the level of each test. Vertical line: 0. Bold: decided. Open mark: undecided."
            caption = joined(label, f": differences in {heading}, {text}")
            made = page_differences.forest(rows, metric, alpha, caption, higher_is_better=is_higher, name=name)
        else:
            text = (
                "row - column, best model first. Bold: decided; blue: the row is better, orange: the column is better. "
                "Grey: undecided. Intervals: in the table of all tests."
            )
            models = {model: benchmark.models.index(model) for model in order}
            caption = joined(label, f": differences in {heading}, {text}")
            made = page_differences.matrix(rows, metric, alpha, caption, models, name)
        parts += [made, reasons(of_dataset)]
    n_tests = benchmark.verdict.n_tests
    text = (
        f"p is corrected by Holm's method for {counted(n_tests, 'test')}, all differences of all datasets, and "
        f"decides; a difference is decided if p is at most {alpha:g}. An interval excludes 0 exactly where "
        "the test decides. Other metrics are not tested."
    )
    return html.section("differences", "Differences", tag("p", text, class_="muted"), *parts)


def reasons(rows: Sequence[Row]) -> Markup | None:
    """Return a list of the reasons why numbers in the rows are undefined, each reason once; None if there are none.

    Parameters
    ----------
    rows : sequence of mappings
        With a column ``reason``.
    """
    found = list(dict.fromkeys(row["reason"] for row in rows if row["reason"]))
    return tag("ul", *(tag("li", text) for text in found), class_="reasons") if found else None


# ---- 3: seeds ----


def seeds(benchmark: Benchmark) -> Markup:
    """Return each run beside the mean of its model, the standard deviation, and the parts of the variance.

    Parameters
    ----------
    benchmark : Benchmark
    """
    metric = benchmark.metric
    parts: list[Any] = []
    heading = display_of(metric).heading
    for i, dataset in enumerate(benchmark.datasets, start=1):
        rows = cells_of(benchmark, dataset, metric)
        order = order_on(benchmark, dataset)
        runs = benchmark.runs[benchmark.runs["dataset"] == dataset]
        values = {model: runs.loc[runs["model"] == model, metric].tolist() for model in order}
        limits = html.limits_of([(value,) for model in order for value in values[model] if math.isfinite(value)])
        lines = []
        for model in order:
            row, place = rows[model], benchmark.models.index(model)
            names = [f" ({seed})" if seed is not None else "" for seed in runs.loc[runs["model"] == model, "seed"]]
            texts = [f"{page_numbers.value_text(value, metric)}{seed}" for seed, value in zip(names, values[model])]
            digits = page_numbers.digits_of(row["mean"], metric)
            share, freedom = row["share_of_seeds"], row["freedom"]
            spreads = [html.number(page_numbers.value_text(row[of], metric, digits), row[of]) for of in ("sd", "error")]
            lines.append(
                tag(
                    "tr",
                    html.row_head(_model(benchmark, model)),
                    tag("td", charts.runs_bar(values[model], row["mean"], limits, place), class_="drawn"),
                    *spreads,
                    html.number(page_numbers.percent(share), share, title=row["reason"] or None),
                    html.number(written(freedom, 1), freedom),
                    tag("td", ", ".join(texts)),
                )
            )
        caption = joined(
            html.label(dataset, MAX_NAME),
            f": {heading} of each run (short lines) and mean (dot). Standard error: variation of the mean with other "
            "seeds and other test triples. Share of seeds: share of the squared standard error that is due to seeds.",
        )
        heads = ["model", "runs", "SD over seeds", "standard error", "share of seeds"]
        heads += ["degrees of freedom", "values (seed)"]
        parts.append(
            html.table(caption, heads, [tag("tbody", *lines)], name=f"seeds-{i}", classes="bars", numbers=[2, 3, 4, 5])
        )
        parts.append(reasons([rows[model] for model in order]))
    return html.section("seeds", "Spread over seeds", *parts)


# ---- 4: all metrics ----


def metrics(benchmark: Benchmark) -> Markup | None:
    """Return the tables of the further metrics, which are not tested.

    Parameters
    ----------
    benchmark : Benchmark
    """
    others = [metric for metric in benchmark.keys if metric != benchmark.metric]
    if not others:
        return None
    made = [means_table(benchmark, metric, f"means-{i}") for i, metric in enumerate(others, start=2)]
    text = "Not tested, because each further test would make the correction stricter. So no value is bold."
    return html.section("metrics", "Further metrics", tag("p", text, class_="muted"), *made)


# ---- 5: several datasets ----


def together(benchmark: Benchmark, across: Any) -> Markup:
    """Return mean ranks over the datasets, a critical-difference diagram, and the results of the tests.

    Parameters
    ----------
    benchmark : Benchmark
    across : AcrossDatasets
    """
    ranks = dict(zip(across.values.columns, across.ranks.ranks.T.tolist()))
    lines = []
    for row in across.table.to_dict("records"):
        cells = [html.number(page_numbers.value_text(row["mean_rank"], "mr"), row["mean_rank"])]
        cells += [html.number(f"{number:g}", number) for number in (row["n_best"], *ranks[row["model"]])]
        lines.append(tag("tr", html.row_head(_model(benchmark, row["model"])), *cells))
    kept = [name for name, is_kept in zip(across.values.index, across.ranks.is_kept) if is_kept]
    heads = ["model", "mean rank", "best on", *(joined("rank, ", html.label(name, MAX_HEAD)) for name in kept)]
    caption = (
        f"Ranks of the models by {display_of(across.metric).heading} within each dataset, 1 is best, and their means "
        f"over {counted(across.n_datasets, 'dataset')}"
    )
    parts = [html.table(caption, heads, [tag("tbody", *lines)], name="mean-ranks", numbers=range(1, len(heads)))]
    if across.n_datasets and len(across.models) > 1:
        order = list(across.models)
        groups = [(order.index(group[0]), order.index(group[-1])) for group in across.groups]
        models = list(zip(order, across.table["mean_rank"].tolist()))
        difference, text = None, "There is no test, so no models are joined."
        if across.nemenyi is not None:
            difference = across.nemenyi.critical_difference
            text = "A thick line joins models that Nemenyi's test does not tell apart."
        drawn = charts.rank_diagram(models, groups, difference, "Mean ranks of the models, best at the left")
        text = f"Mean ranks, best at the left. {text}"
        parts.append(tag("figure", drawn, tag("figcaption", text)))
    return html.section("together", "Datasets together", *parts, html.line_list(across.lines()))


# ---- 6: background ----


def background(benchmark: Benchmark, command: str, version: str) -> Markup:
    """Return the last section, with parts that can be folded: protocols, all tests, tables, command and citation.

    Parameters
    ----------
    benchmark : Benchmark
    command : str
        The command that makes the page again.
    version : str
        The version of kgeval, for the citation.
    """
    protocol = [
        html.line_list(benchmark.description()),
        tag("h3", "Numbers and tests"),
        html.line_list(benchmark.notes_on_method()),
    ]
    parts = [html.folded("Protocol of each dataset, and how the numbers were computed", *protocol, id="protocol")]
    if len(benchmark.differences):
        parts.append(html.folded("All tests", all_tests(benchmark), id="tests"))
    cited = html.citation(version)
    parts += [
        html.folded("The table as LaTeX", html.block(benchmark.to_latex(), "latex"), id="table-latex", is_open=True),
        html.folded("The table as LaTeX with siunitx", html.block(benchmark.to_latex(siunitx=True), "siunitx")),
        html.folded("The table as Markdown", html.block(benchmark.to_markdown(), "markdown")),
        html.folded(
            "Make this page again, and cite", html.block(command, "command"), html.block(cited, "bibtex"), id="again"
        ),
    ]
    return html.section("background", "Background", *parts)


def all_tests(benchmark: Benchmark) -> Markup:
    """Return every test with all its numbers.

    Parameters
    ----------
    benchmark : Benchmark
    """
    metric, bodies = benchmark.metric, []
    heads = [
        "first - second", "first", "second", "difference", "95% interval", "p", "p (Holm)", "level",
        "degrees of freedom", "test", "better",
    ]  # fmt: skip
    for dataset in benchmark.datasets:
        frame = benchmark.differences
        lines = [tag("tr", tag("th", html.label(dataset), scope="rowgroup", colspan=len(heads)))]
        for row in frame[frame["dataset"] == dataset].to_dict("records"):
            p_values = [page_differences.p_cell(row[of], benchmark.alpha) for of in ("p", "p_corrected")]
            ends = page_numbers.difference_text((row["difference"], row["low_95"], row["high_95"]), metric)[1]
            values = [
                html.number(page_numbers.value_text(row[of], metric), row[of]) for of in ("value_first", "value_second")
            ]
            lines.append(
                tag(
                    "tr",
                    html.row_head(page_differences.pair_names(row["first"], row["second"])),
                    *values,
                    html.difference_cell(page_differences.cell_of(row), metric, bool(row["better"])),
                    html.number(ends or "-", row["low_95"]),
                    *p_values,
                    html.number(written(row["level"]), row["level"]),
                    html.number(written(row["freedom"], 1), row["freedom"]),
                    tag("td", row["test"] or "-"),
                    tag("td", html.label(row["better"], MAX_HEAD) if row["better"] else row["decision"]),
                    title=row["reason"] or None,
                )
            )
        bodies.append(tag("tbody", *lines))
    caption = (
        "All tests. p (Holm): corrected for all tests of all datasets together. level: of the test and its interval"
    )
    return html.table(caption, heads, bodies, name="tests", numbers=range(1, 10))
