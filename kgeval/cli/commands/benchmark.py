"""kgeval benchmark: models x seeds x datasets in one table, from saved results."""

from __future__ import annotations

import argparse
import glob
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

import kgeval
from kgeval.benchmarks.benchmark_text import answer_texts, brief_notes
from kgeval.benchmarks.model_benchmark import Benchmark
from kgeval.benchmarks.runs import Run, check_all_named, checked_runs
from kgeval.cli.command import Command
from kgeval.cli.group_tables import LIMIT, add_limit, check_limit, deciding, group_text, joined
from kgeval.cli.interval_options import add_cluster, add_confidence, add_gone, add_override
from kgeval.cli.options import add_format, add_quiet, check_out, file_line, json_text, ranked_result, say_aside
from kgeval.display.media import format_frame, frame_records
from kgeval.errors import DataError, MetricError, ProtocolError
from kgeval.metrics.default_metrics import BRIEF_METRICS
from kgeval.report import write_benchmark_page
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.run_names import MODEL, SEED
from kgeval.stats.runs import SPREADS

MIN_DATASETS, MIN_MODELS = 2, 3  # smallest numbers for the text about all datasets together


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results",
        nargs="+",
        metavar="[MODEL[:SEED[:DATASET]]=]RUN.kgeval",
        help="saved results, or folders of them; files that were not made with --name and --seed need model and seed "
        "here: "
        "ComplEx:1=run.kgeval",
    )
    parser.add_argument(
        "--metrics",
        default=",".join(BRIEF_METRICS),
        metavar="KEYS",
        help="metrics to show, comma-separated; differences are tested in the first (default: %(default)s)",
    )
    parser.add_argument(
        "--baseline", metavar="MODEL", help="compare each other model with this one only (default: all pairs)"
    )
    add_confidence(parser)
    add_cluster(parser)
    parser.add_argument(
        "--spread",
        choices=SPREADS,
        default="pooled",
        help="variance over the seeds: pooled over the models of a dataset, or separate for each pair (default: "
        "%(default)s)",
    )
    add_gone(
        parser,
        {
            "--metric": "differences are tested in the first of --metrics",
            "--correction": "all differences are corrected by Holm's method",
            "--intervals": "there is no bootstrap; intervals come from Student's t, as the tests do",
            "--n-resamples": "nothing is resampled",
            "--resample-seed": "nothing is resampled",
        },
    )
    parser.add_argument(
        "--by",
        metavar="COLUMN",
        help="also list, for each dataset, where the two best models (or the best and the baseline) differ most: by "
        "relation, side, pattern or another column; with --to csv, latex or markdown, print only this list",
    )
    add_limit(parser, "groups")
    add_override(parser, "the results of a dataset")
    add_format(parser)
    parser.add_argument(
        "--differences", action="store_true", help="with --to csv: print the differences in place of the means"
    )
    parser.add_argument("--siunitx", action="store_true", help="with --to latex: columns of the package siunitx")
    parser.add_argument("-o", "--out", type=Path, metavar="PAGE.html", help="write the benchmark as one HTML page")
    parser.add_argument("--overwrite", action="store_true", help="replace the page if it exists")
    add_quiet(parser, "print only the verdict and the tables: no lines about the results and the tests, no notes")


def _benchmark(options: argparse.Namespace) -> str:
    for option, formats in (("differences", "csv"), ("siunitx", "latex")):
        if getattr(options, option) and options.to != formats:
            raise ProtocolError(f"--{option} needs --to {formats}")
    check_limit(options.limit)
    named = [parts for text in options.results for parts in _expanded(text)]
    _check_given_once(named)
    if options.out is not None:
        check_out(options.out, options.overwrite, [path for _, path in named])
    benchmark = kgeval.benchmark(
        _runs(named),
        metrics=options.metrics,
        baseline=options.baseline,
        confidence=options.confidence,
        cluster=options.cluster,
        spread=options.spread,
        override=options.override,
    )
    groups, skipped = _groups(benchmark, options.by) if options.by else ({}, [])
    page = ""
    if options.out is not None:
        write_benchmark_page(benchmark, options.out, overwrite=options.overwrite)
        page = file_line(options.out)
    if options.to == "table":
        text = _as_text(benchmark, groups, options, page)
        return f"{text}\n\n{options.screen.lines(skipped)}" if skipped else text
    say_aside(skipped)
    if not options.quiet:
        aside = [] if options.to == "json" else [benchmark.verdict.sentence, *benchmark.header()]
        say_aside([*aside, *([page] if page else [])])
    if options.to == "json":
        return _as_json(benchmark, groups, options.limit)
    if groups:
        shown = joined(groups, options.limit or LIMIT, "dataset")
        shown = shown if options.to == "csv" else deciding(shown)
        return format_frame(shown, options.to, spreadsheet=options.spreadsheet)
    if options.to == "latex":
        return benchmark.to_latex(siunitx=options.siunitx)
    if options.to == "markdown":
        return benchmark.to_markdown()
    return benchmark.to_csv(differences=options.differences, spreadsheet=options.spreadsheet).rstrip("\n")


def _expanded(text: str) -> list[tuple[list[str], Path]]:
    """Return the names and the file of an argument.

    A folder gives its files ``*.kgeval``. A pattern that the shell did not expand gives the files that match it.
    """
    if Path(text).is_dir():
        paths = sorted(str(path) for path in Path(text).glob("*.kgeval"))
        if not paths:
            raise DataError(f"{text} is a folder without files *.kgeval")
        return [([], Path(path)) for path in paths]
    if glob.has_magic(text) and "=" not in text and not Path(text).exists():
        paths = sorted(glob.glob(text))
        if not paths:
            raise DataError(f"no file matches {text!r}")
        return [([], Path(path)) for path in paths]
    return [_parts(text)]


def _parts(text: str) -> tuple[list[str], Path]:
    """Return the parts of ``MODEL:SEED:DATASET=FILE`` before the equals sign, and the file."""
    if "=" not in text or Path(text).exists():
        return [], Path(text)
    names, _, path = text.partition("=")
    parts = [part.strip() for part in names.split(":")]
    if len(parts) > 3 or not all(parts) or not path:
        raise ProtocolError(
            f"expected FILE, MODEL=FILE, MODEL:SEED=FILE or MODEL:SEED:DATASET=FILE, such as ComplEx:1=run.kgeval; got "
            f"{text!r}"
        )
    return parts, Path(path)


def _check_given_once(named: Sequence[tuple[list[str], Path]]) -> None:
    """Raise a ProtocolError if a file is given twice: its run would count as two."""
    seen: dict[Path, str] = {}
    for parts, path in named:
        place = f"{':'.join(parts)}={path}" if parts else str(path)
        other = seen.setdefault(path.resolve(), place)
        if other is not place:
            raise ProtocolError(f"{other} and {place} are the same file; give each run once")


def _runs(named: Sequence[tuple[list[str], Path]]) -> dict[Run, EvaluationResult]:
    """Return the results by model, seed and dataset: with the names of the command line, else those in the files."""
    results = [ranked_result(path) for _, path in named]
    places = [str(path) for _, path in named]
    keys: list[Run] = []
    models: list[str | None] = []
    for (parts, _), result in zip(named, results):
        facts = result.facts
        model, seed, dataset = facts.get(MODEL), facts.get(SEED), facts["dataset"]
        if parts:
            model = parts[0]
        if len(parts) > 1:
            seed = int(parts[1]) if parts[1].isdecimal() else parts[1]
        if len(parts) > 2:
            dataset = parts[2]
        models.append(model)
        keys.append(Run(str(model), seed, str(dataset)))
    check_all_named(models, places)
    return checked_runs(keys, results, places)


def _groups(benchmark: Benchmark, column: str) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return the groups of each dataset, and why others have none; raise an error if no dataset has them."""
    found, skipped, errors = dict[str, pd.DataFrame](), list[str](), list[MetricError]()
    for name, alignment in benchmark.alignments.items():
        try:
            if alignment.differing:
                raise MetricError("the results differ, and the benchmark accepted it")
            found[name] = benchmark.by(column, name)
        except MetricError as error:  # noqa: PERF203
            errors.append(error)
            skipped.append(f"not listed by {column}: {name}: {error}")
    if not found:
        raise errors[0]
    return found, skipped


def _as_text(benchmark: Benchmark, groups: dict[str, pd.DataFrame], options: argparse.Namespace, page: str) -> str:
    """Return the text for a terminal: verdict, runs, tables, all datasets together, groups, tests, notes."""
    screen = options.screen
    parts = answer_texts(benchmark, screen)
    if len(benchmark.datasets) >= MIN_DATASETS and len(benchmark.models) >= MIN_MODELS:
        parts.append(screen.lines(benchmark.across().lines()))
    parts += [group_text(frame, options.limit or LIMIT, screen) for frame in groups.values()]
    if not options.quiet:
        parts.append(screen.dim(screen.lines([*benchmark.description(), *benchmark.notes_on_method()])))
        parts += [screen.lines(brief_notes(benchmark))] if benchmark.notes else []
    return "\n\n".join([*parts, *([page] if page else [])])


def _as_json(benchmark: Benchmark, groups: dict[str, pd.DataFrame], limit: int | None) -> str:
    table = benchmark.table.set_index(["model", "dataset", "metric"])
    differences = benchmark.differences.set_index(["dataset", "first", "second"])
    more = {"by": frame_records(joined(groups, limit, "dataset"))} if groups else {}
    return json_text(
        {
            "verdict": benchmark.verdict.sentence,
            "header": benchmark.header(),
            "table": frame_records(table),
            "differences": frame_records(differences),
            "runs": [
                {name: value if value is None or value == value else None for name, value in row.items()}
                for row in benchmark.runs.astype(object).to_dict("records")
            ],
            **more,
        }
    )


COMMAND = Command(
    "benchmark", "models x seeds x datasets in one table, from saved results", _add_options, _benchmark, place=3
)
