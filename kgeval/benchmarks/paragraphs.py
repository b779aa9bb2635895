"""The content of a card as a paragraph of English for the appendix of a paper; `Card.paragraph` calls this module."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from typing import Any

from kgeval.base.checks import check_one_of, counted, listed
from kgeval.base.wording import decimals_for, estimate, printable, written
from kgeval.data.sides import ALL_SIDES
from kgeval.data.triples import SPLITS
from kgeval.display.media import escaped_latex
from kgeval.errors import DataError
from kgeval.metrics.default_metrics import PLAIN_METRICS
from kgeval.metrics.grammar import display_of

STYLES = ("text", "latex")
WIDTH = 80
DIGITS = 12  # hexadecimal digits of a SHA-256 that the paragraph shows
_UNKNOWN = {
    "raw": "The raw ranks are unknown",
    "filtered": "The filtered ranks are unknown",
    "rivals": "The numbers of rivals are unknown",
    "ties": "It is unknown which rivals tie",
    "queries": "The lists of the queries are unknown",
}


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
    sizes += [counted(n, f"{split} triple") for split, n in _in_order(dataset["split_sizes"], SPLITS).items()]
    return [
        f"We evaluated {model['name']}{seed} on {dataset['name']} ({listed(sizes)}; SHA-256 "
        f"{dataset['fingerprint'][:DIGITS]}...).",
        f"Protocol (fingerprint {protocol['fingerprint']}): {protocol['sentence']}.",
    ]


def _counts(content: dict[str, Any]) -> list[str]:
    """Return the sentences about the number of ranks, and about the triples without ranks."""
    counts = content["counts"]
    sides, splits = _in_order(counts["ranks_by_side"], ALL_SIDES), list(_in_order(counts["ranks_by_split"], SPLITS))
    each = [f"{n:,} on the {side} side" for side, n in sides.items()]
    by_side = f" ({listed(each)})" if len(sides) > 1 else f" on the {next(iter(sides), '')} side"
    where = f"the {listed(splits)} {'split' if len(splits) == 1 else 'splits'}"
    triples, ranks = counted(counts["triples"], "triple"), counted(counts["ranks"], "rank")
    is_sample = content["protocol"]["settings"].get("sample") is not None
    start = f"A sample of {triples}" if is_sample else f"The {triples}" if counts["triples"] != 1 else "The triple"
    sentences = [f"{start} of {where} gave {ranks}{by_side}."]
    if counts["unseen"]:
        have = counted(counts["unseen"], "triple has an", "triples have an")
        sentences.append(f"{have} entity or relation that does not occur in train.")
    for reason, n in counts["dropped"].items():
        sentences.append(f"{counted(n, 'rank was', 'ranks were')} left out: {reason.rstrip('.')}.")
    bounded = {setting: counts["bounded"][setting] for setting in ("filtered", "raw")}
    texts = [f"{n:,} of the {counts['ranks']:,} {setting} ranks" for setting, n in bounded.items() if n]
    if texts:
        known = "is known only by its" if sum(bounded.values()) == 1 else "are known only by their"
        sentences.append(f"{listed(texts)} {known} bounds.")
    for name, reason in content["unknown"].items():
        sentences.append(f"{_UNKNOWN.get(name, f'{name} is unknown')}: {reason.rstrip('.')}.")
    return sentences


def _ties(content: dict[str, Any]) -> list[str]:
    """Return the sentences about ties."""
    share, extremes = content["ties"]["share"], content["ties"]["range"]
    if share is None:
        return [] if "ties" in content["unknown"] else ["The share of ties is unknown."]
    which = "of the other filtered ranks" if content["counts"]["bounded"]["filtered"] else "of the filtered ranks"
    if share == 0:
        return [f"None {which} is tied."]
    shown = f"{share:.1%}" if share >= 0.0005 else "Less than 0.1%"
    policy = "a tied rank counts as the mean of its best and its worst value (realistic ties)"
    sentences = [f"{shown} {which} are tied; {policy}."]
    for ties in ("optimistic", "pessimistic") if extremes else ():
        kept = [metric for metric in PLAIN_METRICS if metric in extremes]
        texts = [f"{display_of(metric).heading} {_number(metric, extremes[metric][ties])}" for metric in kept]
        sentences.append(f"With {ties} ties we would report {listed(texts)}.")
    return sentences


def _values(content: dict[str, Any]) -> list[str]:
    """Return one sentence per setting with the metrics over all ranks, and one about their intervals."""
    level = f"{100 * content['intervals']['confidence']:g}%"
    sentences, has_interval = [], False
    for setting, prefix in (("filtered", ""), ("raw", "raw.")):
        known = {metric: content["metrics"].get(prefix + metric) for metric in PLAIN_METRICS}
        texts = [_value(metric, entry) for metric, entry in known.items() if entry is not None]
        has_limits = any(entry is not None and entry["low"] is not None for entry in known.values())
        if texts:
            said = f", with {level} intervals in brackets" if has_limits and not has_interval else ""
            sentences.append(f"The {setting} metrics are{said}: {'; '.join(texts)}.")
        has_interval = has_interval or has_limits
    if has_interval:
        sample = content["protocol"]["settings"].get("sample")
        is_drawn = sample is not None and sample.get("seed") is not None
        others = "another random sample of the ranked splits" if is_drawn else "other test triples of the same graph"
        sentences.append(f"The intervals show the variation with {others}, not with other training seeds.")
    return sentences


def _value(metric: str, entry: dict[str, Any]) -> str:
    """Return a metric with its interval, with its bounds, or with the reason why it has no value."""
    heading, value = display_of(metric).heading, entry["value"]
    digits = decimals_for([value, entry.get("least")], display_of(metric).decimals)
    if value is None and "least" in entry:
        return f"{heading} between {written(entry['least'], digits)} and {written(entry['greatest'], digits)}"
    if value is None:
        return f"{heading} undefined ({entry.get('reason', '')})"
    low, high = (math.nan if entry[end] is None else entry[end] for end in ("low", "high"))
    return f"{heading} {estimate((value, low, high), digits)}"


def _in_order(counts: dict[str, int], order: Sequence[str]) -> dict[str, int]:
    """Return counts in the order of their names in `order`; other names come last."""
    known = [name for name in order if name in counts]
    return {name: counts[name] for name in dict.fromkeys([*known, *counts])}


def _number(metric: str, value: float) -> str:
    return written(value, decimals_for([value], display_of(metric).decimals))


def _origin(content: dict[str, Any]) -> str:
    versions = content["versions"]
    others = [f"{name} {versions[name.lower()]}" for name in ("Python", "numpy") if versions[name.lower()]]
    made = f" ({', '.join(others)})" if others else ""
    ranks = content["hashes"]["ranks"][:DIGITS]
    return f"All numbers were computed with kgeval {versions['kgeval']}{made}; the ranks have the SHA-256 {ranks}..."
