"""The program: parse the command line, run a command, print what it returns."""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import itertools
import os
import re
import sys
import textwrap
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import kgeval
from kgeval.base.checks import suggest
from kgeval.base.terminal import Screen
from kgeval.base.wording import printable
from kgeval.cli.command import Output
from kgeval.cli.commands import all_commands
from kgeval.cli.output import error_text
from kgeval.cli.stopping import signals_stop, stop_message
from kgeval.errors import KgevalError, KgevalWarning

EXPORT = "; kgeval show RUN.kgeval -o {} writes the ranks of a result that was saved with --out"
FORMAT_HINTS = {  # formats of files, which --to does not print, and the command that writes them
    "parquet": EXPORT.format("ranks.parquet"),
    "tsv": EXPORT.format("ranks.tsv"),
    "html": "; kgeval report RUN.kgeval -o page.html writes a page about results that were saved with --out",
}
MOVED = {  # commands of version 0.1, and what took their place
    "datasets": "kgeval inspect --datasets",
    "explain": "kgeval show RUN.kgeval --explain SUBJECT RELATION OBJECT",
    "export": "kgeval show RUN.kgeval -o FILE",
    "verify": "kgeval card --check CARD.json RUN.kgeval",
}
ERROR_WIDTH: int | None = 80  # columns of an error message that goes to a pipe or a file; None: as wide as it is
PROSE_WIDTH: int | None = 100  # columns of prose that goes to a pipe or a file; tables there are as wide as they are
MIN_SIMILARITY = 0.7  # for an unknown option, an error message suggests only options that are at least this similar


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``kgeval``; by default those of the command line.

    Returns
    -------
    int
        0 if all went well; 1 if ``check-table`` finds an impossible row, if ``card --check`` finds a difference, if
        ``gate`` fails, or if standard output cannot be written (it is closed, the disk is full, or the program that
        reads it stops reading); 2 after an error in the input or the options, or if a result cannot be saved; 130
        after an interrupt (Ctrl-C), 143 after SIGTERM.
    """
    if sys.stderr is None:  # closed by 2>&-
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for all further messages
    if sys.stdout is None:  # closed by >&-
        return _failed("standard output is closed; redirect it to a file or to /dev/null", 1)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an unprintable label must not end the program
    options = _options(sys.argv[1:] if arguments is None else arguments)
    # Now, since `_stdout_to_stderr` replaces standard output while a command runs.
    options.screen = replace(Screen.of(sys.stdout, whole="--to csv or a wider terminal"), prose_width=PROSE_WIDTH)
    with signals_stop(is_program=arguments is None) as stop:
        try:
            output = _run(options)
            status = _print_output(output.text) or output.status
            return _failed(output.error, status) if output.error else status
        except KeyboardInterrupt as error:
            if options.debug:
                traceback.print_exc()
            message = stop_message(error, getattr(options, "run_folder", None))
            return _failed(printable(message), stop.status)


def _run(options: argparse.Namespace) -> Output:
    """Run a command; an error becomes an output without text."""
    aside = _stdout_to_stderr() if options.runs_scorer else contextlib.nullcontext()
    try:
        with warnings.catch_warnings(), aside:
            warnings.simplefilter("ignore", KgevalWarning)  # each warning is also a note of the result
            output = options.run(options)
        return output if isinstance(output, Output) else Output(output)
    except (KgevalError, OSError) as error:
        if options.debug:
            traceback.print_exc()
        return Output("", 2, error_text(error))
    except MemoryError as error:
        if options.debug:
            traceback.print_exc()
        return Output("", 2, f"not enough memory{f': {error}' if str(error) else ''}")


@contextlib.contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Redirect standard output to standard error, so that the scorer's output does not mix with the printed numbers.

    ``sys.stdout`` is replaced. Its file descriptor (if it has one) is redirected too, because libraries in C and
    subprocesses write to the descriptor.
    """
    stdout, descriptor, kept = sys.stdout, None, -1
    with contextlib.suppress(OSError, ValueError):
        descriptor, target = stdout.fileno(), sys.stderr.fileno()
        kept = os.dup(descriptor)
        os.dup2(target, descriptor)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if descriptor is not None and kept >= 0:
            stdout.flush()
            os.dup2(kept, descriptor)
            os.close(kept)


def _print_output(text: str) -> int:
    """Print the text of a command; return 0, or 1 if standard output cannot be written."""
    try:
        if text:  # the text is empty if a pager has shown it already
            print(text)
        sys.stdout.flush()
    except OSError as error:
        with contextlib.suppress(OSError, ValueError):  # the interpreter's last flush then raises no second error
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # for example `kgeval help | head -1`
            return 1
        return _failed(f"standard output cannot be written: {error.strerror or error}", 1)
    return 0


def _failed(message: str, status: int) -> int:
    """Print an error message, and return the exit code."""
    print(_fitted(f"kgeval: {message}"), file=sys.stderr)
    return status


def _fitted(message: str) -> str:
    """Return an error message with lines that fit the terminal; on a pipe or in a file, `ERROR_WIDTH` columns."""
    screen = Screen.of(sys.stderr)
    screen = replace(screen, width=screen.width or ERROR_WIDTH)
    return "\n".join(screen.wrapped(line) for line in message.split("\n"))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the parsed options; an error in them ends the program with exit code 2."""
    parser, commands = _parser()
    if arguments[:1] == ["help"] and not {"-h", "--help"} & set(arguments):  # `kgeval help --by` looks up --by
        arguments = [arguments[0], *(word if word == "--debug" else word.lstrip("-") for word in arguments[1:])]
    if arguments and not arguments[0].startswith("-"):
        if arguments[0] in MOVED:
            parser.exit(_failed(f"kgeval {arguments[0]} is now: {MOVED[arguments[0]]}", 2))
        if arguments[0] not in commands:
            hint = suggest(arguments[0], commands)
            parser.error(f"no command is named {arguments[0]!r}{hint} ({', '.join(commands)})")
        arguments = [arguments[0], *_with_labels(arguments[1:], commands[arguments[0]])]
        _check_names(commands[arguments[0]], arguments[1:])
    else:
        _check_names(parser, arguments[:1])
    options, unknown = parser.parse_known_args(arguments or ["help"])  # `kgeval` alone lists commands and topics
    if unknown:
        extra = " ".join(map(repr, unknown))
        commands[arguments[0]].error(
            f"one argument too many: {extra}; a label with spaces needs quotation marks"
            if len(unknown) == 1
            else f"{len(unknown)} arguments too many: {extra}; a label with spaces needs quotation marks"
        )
    writes_ranks = arguments[:1] == ["show"] and options.out is not None
    if getattr(options, "spreadsheet", False) and options.to != "csv" and not writes_ranks:
        commands[arguments[0]].error("--spreadsheet needs --to csv")
    return options


def _with_labels(words: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """Return the arguments of a command, each of the three labels after ``--explain`` in the form ``--explain=LABEL``.

    argparse would read a label that starts with a hyphen as an option.
    """
    if "--explain" not in words or "--explain" not in parser._option_string_actions:
        return list(words)
    place = list(words).index("--explain") + 1
    labels = itertools.takewhile(lambda word: word not in parser._option_string_actions, words[place : place + 3])
    joined = [f"--explain={label}" for label in labels]
    return [*words[: place - 1], *(joined or ["--explain"]), *words[place + len(joined) :]]


def _check_names(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """End the program with an error if a word is an option that the command does not have.

    Without this check, the error of argparse is often misleading: for ``--modle FILE`` it says that ``--model`` is
    missing. An option of version 0.1 answers with its new name. Users may abbreviate options, and may join an option of
    one letter with its value (``-l2``).
    """
    known = list(parser._option_string_actions)
    for word in itertools.takewhile(lambda word: word != "--", words):
        option = re.fullmatch(r"(--?[A-Za-z][\w-]*)(=\S*)?", word)
        if not option:
            continue
        name = option[1]
        renamed = [text for text in OLD_OPTIONS.get(name, ()) if re.findall("--[a-z-]+", text)[0] in known]
        if renamed and name not in known:
            parser.error(f"{name}{': ' if renamed[0].startswith('use ') else ' is now '}{renamed[0]}")
        if name[:2] in known or (name.startswith("--") and any(full.startswith(name) for full in known)):
            continue
        hint = suggest("--" + name.lstrip("-"), known, MIN_SIMILARITY)
        parser.error(f"{parser.prog} has no option {name}{hint}")


BATCH_SIZE = "--batch-size: the number of pairs of a query and a candidate that are scored at once"
OLD_OPTIONS = {  # options of version 0.1 or of another command, and their new names, of which a command has at most one
    "--side": ("--sides",),
    "--split": ("--splits; --split-files names the files of splits",),
    "--score": ("--scorer",),
    "--from": ("--model-format, or --predictions-format",),
    "--format": ("--to",),
    "--checkpoint": ("--run-folder",),
    "--resume": ("--run-folder DIR alone, which goes on where the same run stopped",),
    "--block-size": (BATCH_SIZE,),
    "--max-pairs": (BATCH_SIZE,),
    "--resamples": ("--n-resamples",),
    "--names": ("--entity-names",),
    "--negatives": ("use --candidates FILE, a file with a list of negatives for each triple",),
    "--seed": ("--resample-seed: the seed of the random swaps", "--sample-seed: the seed of the random negatives"),
}


class _Parser(argparse.ArgumentParser):
    """A parser that prints each error in one line, like all errors of kgeval.

    If it cannot print the help text, it prints an error, and the exit code is 1.
    """

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise an error for a value that is not among the choices of an option; suggest the nearest choice."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            hint = FORMAT_HINTS.get(value, "") if action.dest == "to" else ""
            hint = hint or suggest(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{hint}") from None

    def error(self, message: str) -> NoReturn:
        joint = " See" if message.endswith("?") else "; see"
        self.exit(2, _fitted(f"kgeval: {message}{joint} {self.prog} --help") + "\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is not sys.stdout:
            super()._print_message(message, file)
        elif _print_output(message.rstrip("\n")):  # argparse would end with exit code 0
            self.exit(1)


class _HelpFormatter(argparse.HelpFormatter):
    """Breaks the lines of a help text between words only; argparse also breaks them at hyphens."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_long_words=False, break_on_hyphens=False)


@functools.cache  # for those who call main() many times in one process
def _parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser of the program, and a dict from the name of each command to its parser."""
    parser = _Parser(prog="kgeval", description="Exact evaluation of knowledge-graph embedding models.")
    parser.add_argument("--version", action="version", version=f"kgeval {kgeval.__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    commands: dict[str, argparse.ArgumentParser] = {}
    for command in all_commands():
        commands[command.name] = subparser = subparsers.add_parser(
            command.name, help=command.about, formatter_class=_HelpFormatter
        )
        command.add_options(subparser)
        subparser.add_argument("--debug", action="store_true", help="show the traceback of an error")
        subparser.set_defaults(run=command.run, runs_scorer=command.runs_scorer)
        subparser.set_defaults(parsers=commands)  # for `kgeval help COMMAND`
    return parser, commands
