"""kgeval help: the pages of the guide (`kgeval/guide/*.md`), the meaning of a metric, the list of commands."""

from __future__ import annotations

import argparse
import inspect
import pydoc
import re
import sys
from collections.abc import Callable, Mapping
from importlib import resources

from kgeval.checks import suggest
from kgeval.cli.command import Command
from kgeval.cli.commands import all_commands
from kgeval.errors import KgevalError
from kgeval.metrics import RANKS, Metric, QueryLevel, parse
from kgeval.metrics.pointwise import POINTS
from kgeval.metrics.retrieval import LISTS
from kgeval.scorers.models import MODELS
from kgeval.terminal import Screen

_OVERVIEW = """\
kgeval ranks the test triples of a knowledge graph with your model, and computes hits@k, MR and MRR exactly.

The main job:
  kgeval evaluate FOLDER --model FILE.npz

Commands; kgeval COMMAND --help lists the options:
{commands}

Topics; kgeval help TOPIC prints the page, and kgeval help amri the meaning of the metric amri:
{topics}"""

# Words that users look up, and the page that explains them.
_WORDS = {
    "protocol": (
        "query", "positive", "rival", "rank", "ranks", "tie", "ties", "realistic", "optimistic", "pessimistic",
        "filter", "filtered", "raw", "side", "sides", "split", "splits", "unseen", "candidates", "sample",
    ),
    "decisions": (
        "p-value", "p-values", "p_holm", "interval", "intervals", "confidence", "significance", "significant",
        "cluster", "clusters", "effective clusters", "n_effective", "detectable", "coverage", "favours", "macro",
        "bootstrap", "equivalence", "equivalent", "tost", "margin", "non-inferiority", "plan", "planning", "power",
        "replication", "test", "tests", "format", "csv", "latex", "markdown", "html", "page",
    ),
    "benchmark": ("seed", "seeds", "runs"),
    "cards": ("appendix", "citation", "cite", "hash", "hub", "model-index", "reproduce"),
    "integrations": ("hpo", "lightning", "mlflow", "torchmetrics", "wandb"),
    "classification": ("negatives",),
    "models": tuple(MODELS),
    "predictions": ("bounds", "bounded", "undecided", "kgt5", "kg-llm", "explainaboard", "dift", "homonyms"),
    "wrapping": ("adapters", "torch", "keras", "dropout"),
    "other-tools": ("pykeen", "libkge", "openke", "ogb", "torchkge", "ampligraph", "dgl-ke", "anyburl", "simkgc"),
}  # fmt: skip
_SIMILAR = 0.7  # an error message suggests only words that are at least this similar to the unknown word


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "topic",
        nargs="?",
        metavar="TOPIC",
        help="a topic, a command, a metric, or a word such as ties (default: list topics and commands)",
    )


def _help(options: argparse.Namespace) -> str:
    if options.topic is None:
        return _overview(options.screen)
    text = _text(options.topic, options.parsers)
    if not sys.stdout.isatty():
        return text
    pydoc.pager(text)
    return ""


def _text(topic: str, parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    """Return the page of a topic or word, the options of a command, or the meaning of a metric.

    Any other `topic` raises a KgevalError.
    """
    pages, topic = _pages(), topic.lower()
    if topic in pages:
        return pages[topic]
    if topic in parsers:
        return parsers[topic].format_help().rstrip("\n")
    metrics = _metric_texts(topic)
    if metrics:
        return "\n\n".join(metrics)
    explained = {word: page for page, words in _WORDS.items() for word in words}
    if topic in explained:
        return pages[explained[topic]]
    spellings = ["amri", *RANKS.spellings(), *LISTS.spellings(), *POINTS.spellings()]
    raise KgevalError(
        f"no topic, command or metric is named {topic!r}"
        f"{suggest(topic, [*pages, *parsers, *spellings, *explained], _SIMILAR)} "
        f"(topics: {', '.join(pages)}; commands: {', '.join(parsers)})"
    )


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
            f"Source: {metric.reference}.\nMore: kgeval help {page}"
        )
    return texts


def _overview(screen: Screen) -> str:
    """Return the list of commands and topics, one line each if the screen is wide enough."""
    commands = {command.name: command.about for command in all_commands()}
    topics = {name: _question(page) for name, page in _pages().items()}
    overview = "\n".join(screen.wrapped(line, hang=0) for line in _OVERVIEW.split("\n"))
    return overview.format(commands=_lines(commands, screen), topics=_lines(topics, screen))


def _pages() -> dict[str, str]:
    """Return a dict from topic of the guide to the text of its page; the topics are in alphabetical order."""
    files = (resources.files("kgeval") / "guide").iterdir()
    pages = {file.name.removesuffix(".md"): file for file in files if file.name.endswith(".md")}
    return {topic: pages[topic].read_text(encoding="utf-8").rstrip("\n") for topic in sorted(pages)}


def _question(page: str) -> str:
    """Return the question that a page answers: its first paragraph after the title, in italics."""
    return " ".join(page.split("\n\n")[1].split()).strip("*")


def _lines(entries: dict[str, str], screen: Screen) -> str:
    """Return one line per entry: the name, then the text. The texts of all lines are aligned."""
    width = max(map(len, entries))
    return "\n".join(screen.wrapped(f"  {name:{width}}  {text}", hang=width + 2) for name, text in entries.items())


COMMAND = Command("help", "print a page of the guide, or list its topics", _add_options, _help, place=11)
