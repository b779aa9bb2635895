"""kgeval check-table: tell whether published metrics are possible together."""

from __future__ import annotations

import argparse
from pathlib import Path

import kgeval
from kgeval.cli.command import Command, Output
from kgeval.cli.options import add_format, json_text, ranked_result, say_aside
from kgeval.cli.tool_numbers import agreement_lines, agreement_records
from kgeval.display.media import format_frame
from kgeval.errors import DataError, ProtocolError
from kgeval.metrics.base import TIE_POLICIES
from kgeval.other_tools import agreement
from kgeval.plausibility.reading import read_reported
from kgeval.plausibility.table import ROUNDINGS


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "values",
        nargs="+",
        metavar="FILE|NAME=VALUE",
        help="a table (CSV, TSV, Markdown) with columns such as MRR and H@10, or numbers: mrr=0.31 hits@10=0.49 mr=219",
    )
    parser.add_argument(
        "--n-candidates",
        metavar="N",
        help="largest number of candidates of a query; DATASET=N,DATASET=N if the table has several datasets",
    )
    parser.add_argument(
        "--n-ranks",
        metavar="N",
        help="number of ranks in each metric: test triples times ranked sides; DATASET=N,DATASET=N as above",
    )
    parser.add_argument(
        "--run",
        dest="run_file",
        type=Path,
        metavar="RUN.kgeval",
        help="a saved result: say which numbers of its ranks agree with the row, by tool, setting, side and ties",
    )
    parser.add_argument("--ties", choices=TIE_POLICIES, help="tie policy; realistic allows ranks such as 1.5")
    parser.add_argument("--percent", action="store_true", default=None, help="hits@k, MRR and AMRI are percentages")
    parser.add_argument(
        "--rounding",
        choices=ROUNDINGS,
        default="nearest",
        help="nearest (default): the numbers were rounded; any: some digits may also have been cut off",
    )
    add_format(parser)


def _run_check(options: argparse.Namespace) -> Output:
    if options.run_file is not None and options.to not in ("table", "json"):
        raise ProtocolError(f"--run prints sentences, which --to {options.to} cannot contain; use --to table or json")
    values = _given_values(options.values)
    check = kgeval.check_table(
        values,
        n_candidates=_numbers("--n-candidates", options.n_candidates),
        n_ranks=_numbers("--n-ranks", options.n_ranks),
        ties=options.ties,
        percent=options.percent,
        rounding=options.rounding,
    )
    status = int(not check.possible)
    found = []
    if options.run_file is not None:
        found = agreement(values, ranked_result(options.run_file), percent=options.percent, rounding=options.rounding)
    if options.to == "json":
        content = {"possible": check.possible, "rows": check.records()}
        return Output(json_text(content | ({"run": agreement_records(found)} if found else {})), status)
    if options.to != "table":
        say_aside([check.assumed, *(f"note: {note}" for note in check.notes)])
        return Output(format_frame(check.frame(), options.to, spreadsheet=options.spreadsheet), status)
    lines = str(check).splitlines() + (["", *agreement_lines(found)] if found else [])
    return Output(options.screen.lines(lines), status)


def _numbers(option: str, given: str | None) -> int | dict[str, int] | None:
    """Return the number of an option, or the number of each dataset: ``"14541"``, ``"WN18RR=40943,NELL-995=75492"``."""
    if given is None:
        return None
    numbers: dict[str, int] = {}
    for part in given.split(","):
        dataset, _, number = part.rpartition("=")
        if not number.strip().isdecimal() or dataset.strip() in numbers:
            raise DataError(f"{option}: expected N, or DATASET=N,DATASET=N with each dataset once; got {given!r}")
        numbers[dataset.strip()] = int(number)
    if "" not in numbers:
        return numbers
    if len(numbers) > 1:
        raise DataError(f"{option}: expected N, or DATASET=N,DATASET=N; got {given!r}")
    return numbers[""]


def _given_values(given: list[str]) -> object:
    """Return the values to check: the table in a file, or a dict of the NAME=VALUE arguments of the command line."""
    if len(given) == 1 and ("=" not in given[0] or Path(given[0]).exists()):
        return read_reported(given[0])
    numbers: dict[str, str] = {}
    for part in " ".join(given).split():
        name, equals, number = part.partition("=")
        if not equals or name in numbers:
            raise DataError(f"expected one file, or numbers such as mrr=0.31, each name once; got {part!r}")
        numbers[name] = number
    return numbers


COMMAND = Command(
    "check-table",
    "tell whether published hits@k, MRR and MR are possible together",
    _add_options,
    _run_check,
    place=12,
)
