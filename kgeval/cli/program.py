"""The program: parse the command line, run a command, print what it returns."""

from __future__ import annotations

import argparse
import io
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import NoReturn

import kgeval
from kgeval.cli.commands import all_commands
from kgeval.errors import KgevalError, KgevalWarning, ProtocolError
from kgeval.report import printable


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``kgeval``; by default those of the command line.

    Returns
    -------
    int
        0 if all went well; 1 if ``check-table`` finds an impossible row, or if the program that reads the output stops
        reading; 2 after an error in the input or the options; 130 after an interrupt (Ctrl-C).
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_args(arguments or ["help"])  # `kgeval` alone lists commands and topics
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an unprintable label must not end the program
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KgevalWarning)  # each warning is also a note of the result
            output = options.run(options)
            text, status = output if isinstance(output, tuple) else (output, 0)
            if text:  # the text is empty if a pager has shown it already
                print(text)
            sys.stdout.flush()
    except KgevalError as error:
        if options.debug:
            traceback.print_exc()
        # The message of a ProtocolError may have several lines, for example one for each difference between results.
        lines = str(error).split("\n") if isinstance(error, ProtocolError) else [str(error)]
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
    """A parser that prints an error as one line, as kgeval prints all errors."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"kgeval: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="kgeval", description="Exact evaluation of knowledge-graph embedding models.")
    parser.add_argument("--version", action="version", version=f"kgeval {kgeval.__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in all_commands():
        subparser = subparsers.add_parser(command.name, help=command.about)
        command.add_options(subparser)
        subparser.add_argument("--debug", action="store_true", help="show the traceback of an error")
        subparser.set_defaults(run=command.run, parsers=subparsers.choices)  # the parsers are for `kgeval help COMMAND`
    return parser
