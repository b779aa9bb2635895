"""The table of a benchmark for papers and programs: LaTeX, Markdown and CSV; methods of `Benchmark` call this module.

A row is a model, a column is a metric on a dataset, a cell is a mean with its standard deviation over the seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgeval.benchmarks.notes import EQUAL_RANKS
from kgeval.benchmarks.verdict import borrowed_spreads, why_none
from kgeval.checks import counted, listed
from kgeval.files import replacing
from kgeval.metrics.grammar import display_of
from kgeval.report.table_text import (
    escaped_latex,
    escaped_markdown,
    escaped_note,
    latex_rows,
    markdown_lines,
    number_text,
    without_formulas,
)
from kgeval.report.tables import protocol_comment

MARK = "†"  # differs significantly from the baseline
NEEDS = r"% needs \usepackage{booktabs}"
S_OPTIONS = "separate-uncertainty, retain-zero-uncertainty, table-align-uncertainty, detect-weight, mode=text"


@dataclass(frozen=True)
class MeanCell:
    """The mean of a metric in a cell of the table, with its standard deviation over the seeds.

    Parameters
    ----------
    mean, sd : str
        Texts with the same number of decimals; `mean` is ``"-"`` if there is no value, `sd` is empty with one run.
    is_bold : bool
    mark : str
        `MARK`, or empty.
    """

    mean: str
    sd: str
    is_bold: bool = False
    mark: str = ""


def bold_models(benchmark: Any, dataset: str) -> set[str]:
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


def marked_models(benchmark: Any, dataset: str) -> set[str]:
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


def mean_cells(benchmark: Any, has_fixed_decimals: bool = False) -> dict[tuple[str, str, str], MeanCell]:
    """Return the cells of the table.

    Parameters
    ----------
    benchmark : Benchmark
    has_fixed_decimals : bool
        Whether all values of a metric have the same number of decimals; else values of 100 and more have one decimal.

    Returns
    -------
    dict of (model, dataset, metric) to MeanCell
    """
    bold = {dataset: bold_models(benchmark, dataset) for dataset in benchmark.datasets}
    marked = {dataset: marked_models(benchmark, dataset) for dataset in benchmark.datasets}
    cells = {}
    for row in benchmark.table.to_dict("records"):
        model, dataset, metric = row["model"], row["dataset"], row["metric"]
        decimals = display_of(metric).decimals if has_fixed_decimals else None
        mean = number_text(metric, row["mean"], decimals)
        digits = len(mean.partition(".")[2])
        sd = number_text(metric, row["sd"], digits) if math.isfinite(row["sd"]) and mean != "-" else ""
        is_primary = metric == benchmark.metric
        mark = MARK if is_primary and model in marked[dataset] else ""
        cells[model, dataset, metric] = MeanCell(mean, sd, is_primary and model in bold[dataset], mark)
    return cells


def table_notes(benchmark: Any) -> list[str]:
    """Return the notes below the table: the meaning of the numbers, of bold values and marks, and cautions.

    Parameters
    ----------
    benchmark : Benchmark
    """
    heading = display_of(benchmark.metric).heading
    table, alpha = benchmark.differences, benchmark.alpha
    counts = sorted({n for n in benchmark.table["n_seeds"].tolist() if n})
    if counts[-1] == 1:
        notes = ["one run each"]
    else:
        seeds = counted(counts[0], "seed") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
        notes = [f"mean ± standard deviation over {seeds}"]
        notes[0] += ", without deviation: one seed" if counts[0] == 1 else ""
    lower = [display_of(label).heading for label, key in benchmark.keys.items() if not key.higher_is_better]
    notes += [f"lower is better in {listed(lower)}"] if lower else []
    n_tests = int(table["p"].notna().sum())
    cautions = _cautions(benchmark)
    if not n_tests:
        return [*notes, *cautions]
    how = f"Holm, {counted(n_tests, 'test')}"
    if benchmark.terms.baseline is not None:
        with_verdict = [name for name, alignment in benchmark.alignments.items() if not alignment.differing]
        if any(marked_models(benchmark, dataset) for dataset in benchmark.datasets):
            against = f"differs significantly from {benchmark.terms.baseline} in {heading}"
            notes.append(f"{MARK} {against}, p <= {alpha:g} ({how})")
        elif with_verdict:
            where = f" on {listed(with_verdict)}" if len(with_verdict) < len(benchmark.datasets) else ""
            notes.append(f"no model differs significantly from {benchmark.terms.baseline} in {heading}{where} ({how})")
        return [*notes, *cautions]
    if any(bold_models(benchmark, dataset) for dataset in benchmark.datasets):
        notes.append(
            f"bold: best {heading} of a dataset, and values that do not differ significantly from it, p > {alpha:g} "
            f"({how})"
        )
    undecided = [one for one in benchmark.datasets if not (bold_models(benchmark, one) or why_none(benchmark, one))]
    if undecided:
        notes.append(
            f"undecided on {listed(undecided)}: no model is significantly worse than the best one in {heading} ({how})"
        )
    return [*notes, *cautions]


def _cautions(benchmark: Any) -> list[str]:
    """Return the notes below the table about overrides, datasets without a verdict, single runs and equal runs."""
    notes = [f"overridden in {dataset}: {text}" for dataset, text in _overridden(benchmark).items()]
    differing = [dataset for dataset, alignment in benchmark.alignments.items() if alignment.differing]
    if differing and len(benchmark.models) > 1:
        notes.append(f"no verdict on {listed(differing)}: the results differ, and the benchmark accepted it")
    if benchmark.terms.baseline is None and len(benchmark.models) > 1:
        for dataset in benchmark.datasets:
            reason = "" if dataset in differing else why_none(benchmark, dataset)
            notes += [f"no verdict on {dataset}: {reason}"] if reason else []
    notes += borrowed_spreads(benchmark.differences)
    return [*notes, *(note for note in benchmark.notes if note.endswith(EQUAL_RANKS))]


def _overridden(benchmark: Any) -> dict[str, str]:
    """Return the differences between results that were overridden: dataset -> text."""
    return {
        dataset: "; ".join(map(str, alignment.overridden))
        for dataset, alignment in benchmark.alignments.items()
        if alignment.overridden
    }


def latex_table(benchmark: Any, siunitx: bool = False) -> str:
    """Return `Benchmark.to_latex`.

    Parameters
    ----------
    benchmark : Benchmark
    siunitx : bool
    """
    cells = mean_cells(benchmark, has_fixed_decimals=siunitx)
    columns = [(dataset, metric) for dataset in benchmark.datasets for metric in benchmark.keys]
    n_metrics = len(benchmark.keys)
    groups, rules = [], []
    for place, dataset in enumerate(benchmark.datasets):
        first = 2 + place * n_metrics
        groups.append(rf"\multicolumn{{{n_metrics}}}{{c}}{{{escaped_latex(dataset)}}}")
        rules.append(rf"\cmidrule(lr){{{first}-{first + n_metrics - 1}}}")
    headings = [escaped_latex(display_of(metric).heading) for _, metric in columns]
    heads = [["", *groups], ["model", *(f"{{{heading}}}" if siunitx else heading for heading in headings)]]
    write = _s_cell if siunitx else _plain_cell
    rows = [
        [escaped_latex(model), *(write(cells[model, dataset, metric]) for dataset, metric in columns)]
        for model in benchmark.models
    ]
    kinds = "".join(_s_column([cells[(model, *column)] for model in benchmark.models]) for column in columns)
    lines = latex_rows([*heads, *rows])
    return "\n".join(
        [
            *_protocol_lines(benchmark),
            NEEDS.replace("booktabs", "booktabs,siunitx") if siunitx else NEEDS,
            *([rf"\begingroup\sisetup{{{S_OPTIONS}}}"] if siunitx else []),
            rf"\begin{{tabular}}{{l{kinds if siunitx else 'r' * len(columns)}}}",
            r"\toprule",
            lines[0],
            "".join(rules),
            lines[1],
            r"\midrule",
            *lines[2:],
            r"\bottomrule",
            r"\end{tabular}" + (r"\endgroup" if siunitx else ""),
            *(rf"\par\noindent {_latex_note(note)}" for note in table_notes(benchmark)),
        ]
    )


def markdown_table(benchmark: Any) -> str:
    """Return `Benchmark.to_markdown`.

    Parameters
    ----------
    benchmark : Benchmark
    """
    cells = mean_cells(benchmark)
    columns = [(dataset, metric) for dataset in benchmark.datasets for metric in benchmark.keys]
    header = ["model", *(escaped_markdown(f"{dataset} {display_of(metric).heading}") for dataset, metric in columns)]
    rows = []
    for model in benchmark.models:
        row = [escaped_markdown(model)]
        for dataset, metric in columns:
            cell = cells[model, dataset, metric]
            mean = f"**{cell.mean}**" if cell.is_bold else cell.mean
            row.append(f"{mean}{f'<sup>{cell.mark}</sup>' if cell.mark else ''}{f' ± {cell.sd}' if cell.sd else ''}")
        rows.append(row)
    protocols = [line.removeprefix("% ") for line in _protocol_lines(benchmark)]
    notes = [escaped_markdown(note) for note in [*table_notes(benchmark), *protocols]]
    return "\n".join([*markdown_lines(header, rows, 1), *(f"\n{note}" for note in notes)])


def csv_table(
    benchmark: Any,
    path: str | Path | None = None,
    overwrite: bool = False,
    differences: bool = False,
    spreadsheet: bool = False,
) -> str:
    """Return `Benchmark.to_csv`.

    Parameters
    ----------
    benchmark : Benchmark
    path : path, optional
    overwrite, differences, spreadsheet : bool
    """
    frame, overridden = benchmark.differences if differences else benchmark.table, _overridden(benchmark)
    if overridden:
        frame = frame.assign(overridden=[overridden.get(dataset, "") for dataset in frame["dataset"]])
    frame = without_formulas(frame) if spreadsheet else frame
    text = str(frame.to_csv(index=False, lineterminator="\n"))
    if path is not None:
        with replacing(path, overwrite) as stream:
            stream.write(text.encode("utf-8"))
    return text


def _plain_cell(cell: MeanCell) -> str:
    """Return a cell of a LaTeX column of type r."""
    mean = rf"\textbf{{{escaped_latex(cell.mean)}}}" if cell.is_bold else escaped_latex(cell.mean)
    mark = r"\textsuperscript{\dag}" if cell.mark else ""
    return f"{mean}{mark}" + (rf" {{\scriptsize $\pm$ {cell.sd}}}" if cell.sd else "")


def _s_cell(cell: MeanCell) -> str:
    """Return a cell of a LaTeX column of type S; siunitx reads the number and the text before and after it."""
    if cell.mean == "-":
        return "{-}"
    number = rf"{cell.mean} \pm {cell.sd}" if cell.sd else cell.mean
    return (r"\bfseries " if cell.is_bold else "") + number + (r" \textsuperscript{\dag}" if cell.mark else "")


def _s_column(cells: Sequence[MeanCell]) -> str:
    """Return a LaTeX column of type S that has room for the widest of the numbers.

    Examples
    --------
    >>> _s_column([MeanCell("0.25", "0.01"), MeanCell("-12.50", "")])
    'S[table-format=-2.2(3)]'
    """
    means = [cell.mean for cell in cells if cell.mean != "-"] or ["0"]
    integers = max(len(mean.lstrip("-").partition(".")[0]) for mean in means)
    decimals = max(len(mean.partition(".")[2]) for mean in means)
    deviations = [len(cell.sd.replace(".", "")) for cell in cells if cell.sd]
    sign = "-" if any(mean.startswith("-") for mean in means) else ""
    digits = f"{integers}.{decimals}" if decimals else f"{integers}"
    return f"S[table-format={sign}{digits}{f'({max(deviations)})' if deviations else ''}]"


def _latex_note(note: str) -> str:
    """Return a note below the table as LaTeX."""
    return escaped_note("latex", note).replace("±", r"$\pm$").replace(MARK, r"\textsuperscript{\dag}")


def _protocol_lines(benchmark: Any) -> list[str]:
    """Return the lines of comment of a LaTeX file with the protocols of all datasets."""
    ties, lines = " and ".join(sorted({key.ties for key in benchmark.keys.values()})), []
    for dataset in benchmark.datasets:
        named = {run.name: result for run, result in benchmark.results.items() if run.dataset == dataset}
        lines += protocol_comment(named, ties).splitlines()
    return lines
