"""The command line: the public calls, their settings as options, and what they return as text."""

from __future__ import annotations

import argparse
import io
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import NoReturn

import kgeval
from kgeval.cli.classify import add_classify
from kgeval.cli.evaluate import add_check, add_evaluate
from kgeval.cli.explain import add_explain
from kgeval.cli.published import add_check_table
from kgeval.cli.results import add_compare, add_export, add_report, add_show
from kgeval.cli.trec import add_trec
from kgeval.errors import KgevalError, KgevalWarning, ProtocolError
from kgeval.report.tables import printable


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code: 0, 2 after an error of the user's making, 1 as a command says."""
    options = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a label must not end the program
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KgevalWarning)  # the notes of the result say the same
            said = options.run(options)
            text, status = said if isinstance(said, tuple) else (said, 0)
            print(text)
            sys.stdout.flush()
    except KgevalError as error:
        if options.debug:
            traceback.print_exc()
        lines = str(error).split("\n") if isinstance(error, ProtocolError) else [str(error)]  # a list of differences
        print("kgeval: " + "\n".join(printable(line) for line in lines), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("kgeval: interrupted; nothing was written", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    return int(status)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like all others."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"kgeval: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="kgeval", description="Exact evaluation of knowledge-graph embedding models.")
    parser.add_argument("--version", action="version", version=f"kgeval {kgeval.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, add, about in (
        ("evaluate", add_evaluate, "rank the triples of a split and print the metrics"),
        ("show", add_show, "print a saved result, or break it down"),
        ("compare", add_compare, "is one model better than another, surely, and where: saved results"),
        ("report", add_report, "write saved results as one HTML page that works offline"),
        ("export", add_export, "write the ranks of a saved result as CSV, TSV or Parquet"),
        ("explain", add_explain, "list the candidates that a model puts above a triple"),
        ("check-table", add_check_table, "tell whether published hits@k, MRR and MR are possible together"),
        ("classify", add_classify, "tell true test triples from false ones, and print the metrics"),
        ("check-scorer", add_check, "probe a scorer for faults that would make ranks wrong"),
        ("trec", add_trec, "measure a TREC run as trec_eval does, ties exactly on request"),
    ):
        command = commands.add_parser(name, help=about)
        add(command)
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser
