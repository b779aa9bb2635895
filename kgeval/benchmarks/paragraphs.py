"""The content of a card as a paragraph of English for the appendix of a paper; `Card.paragraph` calls this module."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Any

from kgeval.base.checks import check_one_of, counted, listed
from kgeval.base.wording import percent, printable
from kgeval.display.media import escaped_latex
from kgeval.display.table import value_cell
from kgeval.errors import DataError
from kgeval.metrics.default_metrics import PLAIN_METRICS
from kgeval.metrics.grammar import display_of

STYLES = ("text", "latex")
WIDTH = 80
NUMBERS = ("value", "low", "high", "least", "greatest")  # of a metric on a card
DIGITS = 12  # hexadecimal digits of a SHA-256 that the paragraph shows


def run_paragraph(content: dict[str, Any], style: str = "text") -> str:
    """Return a paragraph about a run: dataset, protocol, ranks, ties, metrics with intervals, versions and hashes.

    Parameters
    ----------
    content : dict
        The content of a card; see `kgeval.benchmarks.Card`.
    style : str
        ``"text"`` or ``"latex"``, in which special characters are escaped.

    Returns
    -------
    str
        Lines of at most 80 characters, unless a word is longer.

    Raises
    ------
    DataError
        If `style` is unknown.
    """
    check_one_of("style", style, STYLES, DataError)
    model, dataset, protocol = (content[name] for name in ("model", "dataset", "protocol"))
    seed = "" if model["seed"] is None else f" (training seed {model['seed']})"
    programs = [f"{name} {version}" for name, version in content["versions"].items() if version]
    sentences = [
        f"We evaluated {model['name']}{seed} on {dataset['name']} (SHA-256 {dataset['fingerprint'][:DIGITS]}...).",
        f"Protocol (fingerprint {protocol['fingerprint']}): {protocol['sentence']}.",
        *_ranks(content),
        *_metrics(content),
        f"Computed with {listed(programs)}; the ranks have the SHA-256 {content['hashes']['ranks'][:DIGITS]}...",
    ]
    text = printable(" ".join(sentences))
    if style == "latex":
        text = re.sub(r"(?<=[ \[])-(?=[0-9])", "$-$", escaped_latex(text)).replace("...", r"\ldots{}")
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _ranks(content: dict[str, Any]) -> Iterator[str]:
    """Yield the sentences about the number of ranks, left-out ranks, what is unknown, and ties."""
    counts, ties = content["counts"], content["ties"]
    start = "The" if content["protocol"]["settings"].get("sample") is None else "A sample of"
    triples = f"{counted(counts['triples'], 'triple')} of {listed(list(counts['ranks_by_split']))}"
    yield f"{start} {triples} gave {counted(counts['ranks'], 'rank')}."
    yield from (f"Left out: {counted(n, 'rank')} ({why.rstrip('.')})." for why, n in counts["dropped"].items())
    bounded = [counted(n, f"{setting} rank") for setting, n in counts["bounded"].items() if n]
    if bounded:
        yield f"Known only by bounds: {listed(bounded)}."
    yield from (f"Unknown: {name} ({reason.rstrip('.')})." for name, reason in content["unknown"].items())
    share, ends = ties["share"], ties["range"].get("mrr")
    if share is not None:
        others = "other " if counts["bounded"]["filtered"] else ""
        policy = "; a tied rank counts as the mean of its best and its worst value" if share else ""
        policy += f" (MRR {ends['pessimistic']:.4f} to {ends['optimistic']:.4f} by the order of ties)" if ends else ""
        yield f"{percent(share) if share else 'None'} of the {others}filtered ranks are tied{policy}."


def _metrics(content: dict[str, Any]) -> Iterator[str]:
    """Yield the sentence with the metrics over all ranks, raw ones if no others are known; and one about intervals."""
    setting, prefix = ("raw", "raw.") if "filtered" in content["unknown"] else ("filtered", "")
    entries = {metric: content["metrics"].get(prefix + metric) for metric in PLAIN_METRICS}
    shown = [_metric(metric, entry) for metric, entry in entries.items() if entry]
    if shown:
        yield f"The {setting} metrics are: {'; '.join(shown)}."
    if any(entry and entry["low"] is not None for entry in entries.values()):
        sample = content["protocol"]["settings"].get("sample")
        is_drawn = sample is not None and sample.get("seed") is not None
        others = "another random sample of the ranked splits" if is_drawn else "other test triples of the same graph"
        level = f"{100 * content['intervals']['confidence']:g}%"
        yield f"Brackets are {level} intervals: variation with {others}, not with other training seeds."


def _metric(metric: str, entry: dict[str, Any]) -> str:
    """Return a metric with its interval or its bounds, and why it has no value or no interval."""
    cell = value_cell([entry.get(name) for name in NUMBERS], display_of(metric).decimals)
    reason = f"({entry['reason']})" if "reason" in entry and "least" not in entry else ""
    return " ".join(filter(None, (display_of(metric).heading, cell.text, cell.interval, reason)))
