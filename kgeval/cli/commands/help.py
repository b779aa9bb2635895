"""kgeval help: pages and sections of the guide, the meaning of a metric, option or error, the list of commands."""

from __future__ import annotations

import argparse
import inspect
import pydoc
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

from kgeval import errors
from kgeval.base.checks import suggest
from kgeval.base.terminal import Screen
from kgeval.cli.command import Command
from kgeval.cli.commands import all_commands
from kgeval.cli.guide import fitted, pages, search
from kgeval.errors import KgevalError
from kgeval.metrics import parse
from kgeval.metrics.base import Metric
from kgeval.metrics.pointwise.base import POINTS
from kgeval.metrics.query_level import QueryLevel
from kgeval.metrics.ranks import RANKS
from kgeval.metrics.retrieval.base import LISTS

_OVERVIEW = """\
kgeval ranks the test triples of a knowledge graph with your model, and computes MRR, hits@k and MR exactly.

The main job:
  kgeval evaluate FOLDER --model FILE.npz

Commands; kgeval COMMAND --help lists the options:
{commands}

Topics; kgeval help TOPIC prints the page, and kgeval help WORD the section, option, metric or error that fits:
{topics}"""

PIPED = 80  # columns of a page that goes to a pipe or a file
N_OTHERS = 8  # further sections that are listed below the section that fits best
MIN_LETTERS = 3  # shorter words are not searched
_SIMILAR = 0.7  # an error message suggests only words that are at least this similar to the unknown word


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "topic",
        nargs="*",
        metavar="WORD",
        help="a page, a command, an option, a metric, an error, or words to search (default: list pages and commands)",
    )


def _help(options: argparse.Namespace) -> str:
    if not options.topic:
        return _overview(replace(options.screen, width=options.screen.width or PIPED))
    text = _text(" ".join(options.topic), options.parsers, options.screen.width or PIPED)
    if not sys.stdout.isatty():
        return text
    pydoc.pager(text)
    return ""


def _text(query: str, parsers: Mapping[str, argparse.ArgumentParser], width: int) -> str:
    """Return a page, the options of a command, the meaning of a metric, or the section that fits the query best.

    A `query` that fits nothing raises a KgevalError.
    """
    topics, query = pages(), query.lower()
    if query in topics:
        return fitted(topics[query], width)
    if query in parsers:
        return parsers[query].format_help().rstrip("\n")
    metrics = _metric_texts(query) or _metric_texts(f"{query}@10")
    parts = [*metrics, *_option_texts(query, parsers), *_error_texts(query)]
    found = [] if len(query) < MIN_LETTERS or metrics else search(query)
    if found:
        first, *others = found
        parts.append(f"From the page {first.page}:\n\n{first.text}")
        if others:
            listed = [f"- kgeval help {other.page}: {other.heading}" for other in others[:N_OTHERS]]
            parts.append("\n".join(["Also about it (kgeval help HEADING prints a section):", *listed]))
    if parts:
        return fitted("\n\n".join(parts), width)
    spellings = ["amri", *RANKS.spellings(), *LISTS.spellings(), *POINTS.spellings()]
    raise KgevalError(
        f"no topic, command or metric is named {query!r}"
        f"{suggest(query, [*topics, *parsers, *spellings], _SIMILAR)} "
        f"(topics: {', '.join(topics)}; commands: {', '.join(parsers)})"
    )


def _option_texts(word: str, parsers: Mapping[str, argparse.ArgumentParser]) -> list[str]:
    """Return one text for each meaning of the option ``--word``: its commands and what it does."""
    commands: dict[str, list[str]] = {}
    for name, parser in parsers.items():
        action = parser._option_string_actions.get(f"--{word}")
        if action is not None and action.help and action.dest != "help":
            meaning = " ".join(parser._get_formatter()._expand_help(action).split())
            commands.setdefault(meaning, []).append(name)
    return [f"Option --{word} of {', '.join(names)}: {meaning}" for meaning, names in commands.items()]


def _error_texts(word: str) -> list[str]:
    """Return the meaning of the error or warning with this name, as a list of at most one text."""
    kinds = {name.lower(): kind for name, kind in vars(errors).items() if isinstance(kind, type)}
    kind = kinds.get(word)
    if kind is None or not issubclass(kind, (Exception, KeyboardInterrupt)):
        return []
    return [f"{kind.__name__}: {' '.join((inspect.getdoc(kind) or '').split())}"]


def _metric_texts(key: str) -> list[str]:
    """Return one text for each metric that is named `key`; the text explains the metric.

    Up to three metrics can share a name: a metric of ranks, a metric of ranked lists, and a metric of labelled
    predictions. `key` may be a synonym. Each text starts with the usual name of the metric, and also gives its key.
    """
    families: dict[str, tuple[str, Callable[[str], Metric]]] = {
        "metrics": ("a metric of ranks", parse),
        "lists": ("a metric of ranked lists", LISTS.parse),
        "classification": ("a metric of labelled predictions", POINTS.parse),
    }
    texts = []
    for page, (kind, parsed) in families.items():
        try:
            metric = parsed(key)
        except KgevalError:
            continue
        own_key = str(metric)
        if isinstance(metric, QueryLevel):
            page, kind = "lists", f"the {metric.average} average over queries of a metric of ranked lists"
            metric = metric.metric
        elif page == "lists":
            own_key = f"{metric} (in a result query.{metric})"
        meaning = re.split(r"\n\n\w+\n-+\n", inspect.getdoc(type(metric)) or "")[0].replace("``", "")
        low, high = metric.bounds
        texts.append(
            f"{metric.heading}, {kind}; its key is {own_key}\n\n{meaning}\n\n"
            f"Values: {low:g} to {high:g}; {'higher' if metric.higher_is_better else 'lower'} is better. "
            f"Source: {metric.reference}.\n\nMore: kgeval help {page}"
        )
    return texts


def _overview(screen: Screen) -> str:
    """Return the list of commands and topics, one line each if the screen is wide enough."""
    commands = {command.name: command.about for command in all_commands()}
    topics = {name: _question(page) for name, page in pages().items()}
    overview = "\n".join(screen.wrapped(line, hang=0) for line in _OVERVIEW.split("\n"))
    return overview.format(commands=_lines(commands, screen), topics=_lines(topics, screen))


def _question(page: str) -> str:
    """Return the question that a page answers: its first paragraph after the title, in italics."""
    return " ".join(page.split("\n\n")[1].split()).strip("*")


def _lines(entries: dict[str, str], screen: Screen) -> str:
    """Return one line per entry: the name, then the text. The texts of all lines are aligned."""
    width = max(map(len, entries))
    return "\n".join(screen.wrapped(f"  {name:{width}}  {text}", hang=width + 2) for name, text in entries.items())


COMMAND = Command(
    "help", "print the section of the guide that fits a word, or list its topics", _add_options, _help, place=15
)
