"""kgeval export: the ranks of a saved result as a table in a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from kgeval.cli.command import Command
from kgeval.cli.options import check_out, ranked_result, written
from kgeval.report import write_ranks


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", type=Path, metavar="RUN.kgeval", help="result saved by kgeval evaluate --out")
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="file to write, one rank per line: .csv, .tsv or .parquet",
    )
    parser.add_argument(
        "--spreadsheet", action="store_true", help="put a ' before labels that a spreadsheet would read as formulas"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")


def _export(options: argparse.Namespace) -> str:
    check_out(options.out, options.overwrite, [options.result])
    result = ranked_result(options.result)
    write_ranks(result, options.out, overwrite=options.overwrite, spreadsheet=options.spreadsheet)
    return f"{written(options.out)}, {len(result.table):,} ranks"


COMMAND = Command("export", "write the ranks of a saved result as CSV, TSV or Parquet", _add_options, _export, place=5)
