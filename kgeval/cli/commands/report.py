"""kgeval report: saved results as one HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path

import kgeval
from kgeval.base.files import check_page_target
from kgeval.cli.command import Command
from kgeval.cli.options import add_dataset, add_results, check_out, file_line, given_dataset, results_of
from kgeval.report import write_page
from kgeval.results.evaluation_result import audit_of


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_results(parser, "one or more")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="PAGE.html", help="the page to write")
    parser.add_argument("--overwrite", action="store_true", help="replace the page if it exists")
    parser.add_argument(
        "--dataset",
        metavar="FOLDER",
        help="evaluated dataset; adds all of its audit, its counts, and breakdowns that the results do not contain",
    )
    parser.add_argument(
        "--override",
        default="",
        metavar="NAMES",
        help="accept that the results differ in these points, comma-separated",
    )
    parser.add_argument(
        "--entity-names",
        type=Path,
        metavar="FILE",
        help="names of entities to show: lines of label, tab, name (--names has the names of the models)",
    )
    parser.add_argument("--title", metavar="TEXT", help="title of the page (default: the name of the dataset)")
    add_dataset(parser)


def _report(options: argparse.Namespace) -> str:
    check_out(options.out, options.overwrite, options.results)
    check_page_target(options.out, options.overwrite)
    results, names = results_of(options)
    dataset = None if options.dataset is None else given_dataset(options)
    comparison = kgeval.compare(results, names=names, override=options.override) if len(results) > 1 else None
    write_page(
        results,
        options.out,
        names=names,
        dataset=dataset,
        comparison=comparison,
        overwrite=options.overwrite,
        title=options.title,
        entity_names=options.entity_names,
    )
    has_audit = dataset is not None or any(audit_of(result) for result in results)
    hint = "" if has_audit else " without an audit of the dataset (--dataset FOLDER adds it)"
    return file_line(options.out) + hint


COMMAND = Command("report", "write saved results as one HTML page that works offline", _add_options, _report, place=5)
