"""Commands on saved results: kgeval show, compare, report and export."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

import kgeval
from kgeval.archive import check_target
from kgeval.cli.inputs import json_text, say_aside, words
from kgeval.cli.showing import add_output, check_output, result_text, undefined_lines, with_choices
from kgeval.comparability import OVERRIDES
from kgeval.comparison import DEFAULT_METRICS, Comparison
from kgeval.differences import is_higher_better
from kgeval.errors import DataError, ProtocolError
from kgeval.features import FEATURES
from kgeval.measuring import CLUSTERS
from kgeval.metrics.base import split_list
from kgeval.report.exports import write_ranks
from kgeval.report.page import write_page
from kgeval.report.tables import FORMATS, format_comparison, format_frame, frame_records, printable, significance_marks
from kgeval.results import LEVEL, EvaluationResult

ALPHA = 0.05


def add_show(parser: argparse.ArgumentParser) -> None:
    """Add the options of kgeval show."""
    parser.add_argument("result", type=Path, metavar="RUN.kgeval", help="what kgeval evaluate --out saved")
    add_output(parser)
    parser.add_argument("--dataset", metavar="FOLDER", help="the evaluated one, for --by columns that were not saved")
    parser.set_defaults(run=_show)


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Add the options of kgeval compare."""
    _add_results(parser, "two or more")
    parser.add_argument("--metrics", default=",".join(DEFAULT_METRICS), metavar="KEYS", help="default: %(default)s")
    parser.add_argument(
        "--by-relation",
        metavar="KEY",
        help="where its differences come from; csv, latex and markdown then show this alone",
    )
    parser.add_argument("--most", type=int, default=20, metavar="N", help="relations to list (default: %(default)s)")
    parser.add_argument("--override", default="", metavar="NAMES", help=f"may differ: {', '.join(OVERRIDES)}")
    parser.add_argument("--level", type=float, default=LEVEL, metavar="SHARE", help="of intervals; default: 0.95")
    parser.add_argument("--cluster", choices=CLUSTERS, default="triple", help="what swaps together (default: triple)")
    parser.add_argument("--resamples", type=int, default=9999, metavar="N", help="random swaps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the swaps (default: %(default)s)")
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: %(default)s")
    parser.set_defaults(run=_compare)


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add the options of kgeval report."""
    _add_results(parser, "one or more")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="PAGE.html", help="the page to write")
    parser.add_argument("--overwrite", action="store_true", help="replace the page if it exists")
    parser.add_argument("--dataset", metavar="FOLDER", help="the evaluated one: adds its audit, and what was not saved")
    parser.add_argument("--override", default="", metavar="NAMES", help="in what compared results may differ")
    parser.add_argument("--title", metavar="TEXT", help="default: the name of the dataset")
    parser.set_defaults(run=_report)


def add_export(parser: argparse.ArgumentParser) -> None:
    """Add the options of kgeval export."""
    parser.add_argument("result", type=Path, metavar="RUN.kgeval", help="what kgeval evaluate --out saved")
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FILE", help="one rank a line: .csv, .tsv or .parquet"
    )
    parser.add_argument("--spreadsheet", action="store_true", help="labels that a spreadsheet would compute get a '")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    parser.set_defaults(run=_export)


def _add_results(parser: argparse.ArgumentParser, how_many: str) -> None:
    parser.add_argument("results", nargs="+", type=Path, metavar="RUN.kgeval", help=f"{how_many} saved results")
    parser.add_argument("--names", metavar="NAMES", help="of the models, comma-separated (default: the files' names)")


def _loaded(options: argparse.Namespace) -> tuple[list[EvaluationResult], list[str]]:
    """Return the results and what to call them: the names given, or those of the files, or their paths."""
    names = words(options.names or "")
    if names and len(names) != len(options.results):
        raise ProtocolError(f"--names must name {len(options.results)} models, one for each file; got {len(names)}")
    stems = [path.stem for path in options.results]
    names = names or (stems if len(set(stems)) == len(stems) else [str(path) for path in options.results])
    if len(set(names)) < len(names):
        raise ProtocolError(f"the results need different names; got {', '.join(names)}. Say --names A,B")
    return [kgeval.load_result(path) for path in options.results], names


def _show(options: argparse.Namespace) -> str:
    result = kgeval.load_result(options.result)
    check_output(options, result.columns.columns)
    if options.dataset is not None:
        dataset = kgeval.read_dataset(options.dataset)
        result = with_choices(result, dataset, options)
        asked = [name for name in words(options.by or "") if name in FEATURES and name not in result.columns]
        result = result.with_features(dataset, names=asked)  # also where none is lacking: refuses another dataset
    elif options.types is not None or options.means_from is not None:
        raise DataError("--types and --means-from need --dataset FOLDER")
    return result_text(result, options)


def _compare(options: argparse.Namespace) -> str:
    if options.most < 1:
        raise ProtocolError(f"--most must be at least 1; got {options.most}")
    results, names = _loaded(options)
    metrics = split_list(options.metrics)
    found = kgeval.compare(
        results,
        names=names,
        metrics=metrics if options.by_relation in (None, *metrics) else [*metrics, options.by_relation],
        override=options.override,
        level=options.level,
        cluster=options.cluster,
        n_resamples=options.resamples,
        seed=options.seed,
    )
    if options.format == "json":
        return _as_json(found, options)
    relations = None if options.by_relation is None else _by_relation(found, options, options.most)
    undefined = undefined_lines(found.values)
    if options.format == "csv":
        say_aside([*found.head(), *undefined])
        return found.table.to_csv(index=False).rstrip("\n") if relations is None else relations.to_csv().rstrip("\n")
    values = _marked_values(found, options.format)
    if options.format != "table":
        say_aside([*found.head(), *undefined])
        return values if relations is None else format_frame(relations, options.format)
    parts = ["\n".join(printable(line) for line in repr(found).splitlines()), values]
    if relations is not None:
        parts.append(f"{options.by_relation}: the relations that make most of the differences")
        parts.append(format_frame(relations, "table"))
    parts += ["\n".join(printable(line) for line in undefined)] if undefined else []
    return "\n\n".join(parts)


def _by_relation(found: Comparison, options: argparse.Namespace, most: int | None) -> pd.DataFrame:
    """Return, for each pair of models, the relations that contribute most to their difference."""
    frames = {}
    for first, second in itertools.combinations(found.names, 2):
        frame = found.by_relation(options.by_relation, first, second).iloc[:most]
        frames[f"{first} less {second}"] = frame.rename(columns={"value_first": "first", "value_second": "second"})
    return pd.concat(frames, names=["difference of"])


def _as_json(found: Comparison, options: argparse.Namespace) -> str:
    table = found.table.set_index(["first", "second", "metric"])
    content = {
        "head": found.head(),
        "overridden": found.overridden,
        "values": frame_records(found.values),
        "differences": frame_records(table),
    }
    if options.by_relation is not None:
        content["by_relation"] = frame_records(_by_relation(found, options, None))
    return json_text(content)


def _marked_values(found: Comparison, style: str) -> str:
    """Return the models' values, the best in bold, with a mark where a model differs from all the others."""
    p_values = pd.DataFrame(float("nan"), index=found.values.index, columns=list(found.keys))
    for name in found.names:
        for metric in found.keys:
            mine = (found.table["first"] == name) | (found.table["second"] == name)
            p_values.loc[name, metric] = found.table.loc[mine & (found.table["metric"] == metric), "p_holm"].max(
                skipna=False
            )
    directions = {metric: is_higher_better(key) for metric, key in found.keys.items()}
    marks, legend = significance_marks(p_values, against="every other model", level=ALPHA)
    return format_comparison(found.values, style, best=directions, marks=marks, legend=legend)


def _report(options: argparse.Namespace) -> str:
    _check_out(options.out, options.overwrite, options.results)
    results, names = _loaded(options)
    dataset = None if options.dataset is None else kgeval.read_dataset(options.dataset)
    comparison = kgeval.compare(results, names=names, override=options.override) if len(results) > 1 else None
    write_page(
        results,
        options.out,
        names=names,
        dataset=dataset,
        comparison=comparison,
        overwrite=options.overwrite,
        title=options.title,
    )
    return _written(options.out)


def _export(options: argparse.Namespace) -> str:
    _check_out(options.out, options.overwrite, [options.result])
    result = kgeval.load_result(options.result)
    write_ranks(result, options.out, overwrite=options.overwrite, spreadsheet=options.spreadsheet)
    return f"{_written(options.out)}, {len(result.table):,} ranks"


def _check_out(out: Path, overwrite: bool, read: Sequence[Path]) -> None:
    """Refuse to write over what is read, whatever is said of overwriting."""
    check_target(out, overwrite)
    if any(out.resolve() == path.resolve() for path in read):
        raise DataError(f"{out} is one of the results to read; choose another name")


def _written(path: Path) -> str:
    return f"wrote {path}, {path.stat().st_size / 1e6:.1f} MB"
