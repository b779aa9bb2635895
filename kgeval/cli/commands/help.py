"""kgeval help: the pages of the guide, `kgeval/guide/*.md`, and the list of topics and commands."""

from __future__ import annotations

import argparse
import difflib
import pydoc
import sys
from collections.abc import Mapping
from importlib import resources

from kgeval.cli.command import Command
from kgeval.cli.commands import all_commands
from kgeval.errors import KgevalError

_OVERVIEW = """\
kgeval ranks the test triples of a knowledge graph with your model, and computes hits@k, MR and MRR exactly.

The main job:
  kgeval evaluate FOLDER --model FILE.npz

Commands; kgeval COMMAND --help lists the options:
{commands}

Topics; kgeval help TOPIC prints the page:
{topics}"""


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help="a topic or a command (default: list them)")


def _help(options: argparse.Namespace) -> str:
    if options.topic is None:
        return _overview()
    text = _text(options.topic, options.parsers)
    if not sys.stdout.isatty():
        return text
    pydoc.pager(text)
    return ""


def _text(topic: str, parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    """Return the page of a topic or the options of a command; raise a KgevalError for any other word."""
    pages, topic = _pages(), topic.lower()
    if topic in pages:
        return pages[topic]
    if topic in parsers:
        return parsers[topic].format_help().rstrip("\n")
    near = difflib.get_close_matches(topic, [*pages, *parsers], n=1, cutoff=0)[0]
    raise KgevalError(
        f"no topic and no command is named {topic!r}; did you mean {near!r}? Topics: {', '.join(pages)}; "
        f"commands: {', '.join(parsers)}"
    )


def _overview() -> str:
    """Return the list of commands and topics, one line each."""
    commands = {command.name: command.about for command in all_commands()}
    topics = {name: _question(page) for name, page in _pages().items()}
    return _OVERVIEW.format(commands=_lines(commands), topics=_lines(topics))


def _pages() -> dict[str, str]:
    """Return a dict from each topic of the guide to the text of its page, in alphabetical order."""
    files = (resources.files("kgeval") / "guide").iterdir()
    pages = {file.name.removesuffix(".md"): file for file in files if file.name.endswith(".md")}
    return {topic: pages[topic].read_text(encoding="utf-8").rstrip("\n") for topic in sorted(pages)}


def _question(page: str) -> str:
    """Return the question that a page answers: its first paragraph after the title, in italics."""
    return " ".join(page.split("\n\n")[1].split()).strip("*")


def _lines(entries: dict[str, str]) -> str:
    """Return one line per entry: its name, and its text in an aligned column."""
    width = max(map(len, entries))
    return "\n".join(f"  {name:{width}}  {text}" for name, text in entries.items())


COMMAND = Command("help", "print a page of the guide, or list its topics", _add_options, _help, place=11)
