"""The content of a card as a paragraph of English for the appendix of a paper; `Card.paragraph` calls this module."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from kgeval.base.checks import check_one_of, counted, listed
from kgeval.base.wording import decimals_for, percent, printable, written
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
    """Return a paragraph about a run: dataset, protocol, ties, metrics with intervals, versions and hashes.

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
    sentences = [*_run(content), *_counts(content), *_ties(content), *_values(content), _origin(content)]
    text = printable(" ".join(sentences))
    if style == "latex":
        text = re.sub(r"(?<=[ \[])-(?=[0-9])", "$-$", escaped_latex(text)).replace("...", r"\ldots{}")
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _run(content: dict[str, Any]) -> list[str]:
    """Return the sentences about model, dataset and protocol."""
    model, dataset, protocol = (content[name] for name in ("model", "dataset", "protocol"))
    seed = "" if model["seed"] is None else f" (training seed {model['seed']})"
    sizes = [counted(dataset["entities"], "entity"), counted(dataset["relations"], "relation")]
    sizes += [counted(n, f"{split} triple") for split, n in dataset["split_sizes"].items()]
    return [
        f"We evaluated {model['name']}{seed} on {dataset['name']} ({listed(sizes)}; SHA-256 "
        f"{dataset['fingerprint'][:DIGITS]}...).",
        f"Protocol (fingerprint {protocol['fingerprint']}): {protocol['sentence']}.",
    ]


def _counts(content: dict[str, Any]) -> list[str]:
    """Return the sentences about the number of ranks, about triples without ranks, and about what is unknown."""
    counts = content["counts"]
    ranks, triples = counted(counts["ranks"], "rank"), counted(counts["triples"], "triple")
    sides = [f"{n:,} on the {side} side" for side, n in counts["ranks_by_side"].items()]
    start = "The" if content["protocol"]["settings"].get("sample") is None else "A sample of"
    unseen = counted(counts["unseen"], "triple has an", "triples have an")
    bounded = [f"{n:,} of the {counts['ranks']:,} {setting} ranks" for setting, n in counts["bounded"].items() if n]
    unknown = [f"{name} ({reason.rstrip('.')})" for name, reason in content["unknown"].items()]
    return [
        f"{start} {triples} of {listed(list(counts['ranks_by_split']))} gave {ranks} ({listed(sides)}).",
        *([f"{unseen} entity or relation that does not occur in train."] if counts["unseen"] else []),
        *(f"Left out: {counted(n, 'rank')} ({why.rstrip('.')})." for why, n in counts["dropped"].items()),
        *([f"Known only by bounds: {listed(bounded)}."] if bounded else []),
        *([f"Unknown: {listed(unknown)}."] if unknown else []),
    ]


def _ties(content: dict[str, Any]) -> list[str]:
    """Return the sentences about ties."""
    share, extremes = content["ties"]["share"], content["ties"]["range"]
    if share is None:
        return [] if "ties" in content["unknown"] else ["The share of ties is unknown."]
    policy = "; a tied rank counts as the mean of its best and its worst value (realistic ties)" if share else ""
    which = "of the other filtered ranks" if content["counts"]["bounded"]["filtered"] else "of the filtered ranks"
    sentences = [f"{percent(share) if share else 'None'} {which} are tied{policy}."]
    for ties in ("optimistic", "pessimistic") if extremes else ():
        texts = [_value(metric, extremes[metric][ties]) for metric in PLAIN_METRICS if metric in extremes]
        sentences.append(f"With {ties} ties we would report {listed(texts)}.")
    return sentences


def _values(content: dict[str, Any]) -> list[str]:
    """Return one sentence per setting with the metrics over all ranks, and one about their intervals."""
    entries = content["metrics"]
    known = {
        setting: {metric: entries[prefix + metric] for metric in PLAIN_METRICS if prefix + metric in entries}
        for setting, prefix in (("filtered", ""), ("raw", "raw."))
    }
    sentences = [
        f"The {setting} metrics are: {'; '.join(_metric(metric, entry) for metric, entry in of_setting.items())}."
        for setting, of_setting in known.items()
        if of_setting
    ]
    if any(entry["low"] is not None for of_setting in known.values() for entry in of_setting.values()):
        sample = content["protocol"]["settings"].get("sample")
        is_drawn = sample is not None and sample.get("seed") is not None
        others = "another random sample of the ranked splits" if is_drawn else "other test triples of the same graph"
        level = f"{100 * content['intervals']['confidence']:g}%"
        sentences.append(f"Brackets are {level} intervals: variation with {others}, not with other training seeds.")
    return sentences


def _metric(metric: str, entry: dict[str, Any]) -> str:
    """Return a metric with its interval or its bounds, and why it has no value or no interval."""
    cell = value_cell([entry.get(name) for name in NUMBERS], display_of(metric).decimals)
    reason = f"({entry['reason']})" if "reason" in entry and "least" not in entry else ""
    return " ".join(filter(None, (display_of(metric).heading, cell.text, cell.interval, reason)))


def _value(metric: str, value: float) -> str:
    shown = display_of(metric)
    return f"{shown.heading} {written(value, decimals_for([value], shown.decimals))}"


def _origin(content: dict[str, Any]) -> str:
    versions = content["versions"]
    programs = [f"{name} {version}" for name, version in versions.items() if version]
    ranks = content["hashes"]["ranks"][:DIGITS]
    return f"All numbers were computed with {listed(programs)}; the ranks have the SHA-256 {ranks}..."
