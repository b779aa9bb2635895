"""kgeval compare: paired comparison of saved results."""

from __future__ import annotations

import argparse
import itertools

import pandas as pd

import kgeval
from kgeval.cli.command import Command
from kgeval.cli.options import add_results, json_text, results_of, say_aside
from kgeval.comparison import COMPARED_METRICS, OVERRIDES, Comparison
from kgeval.errors import ProtocolError
from kgeval.markup import printable
from kgeval.metrics import split_list
from kgeval.report import FORMATS, format_compared, format_frame, frame_records, undefined_lines
from kgeval.results import CLUSTERS, CONFIDENCE, Key

LIMIT = 20


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_results(parser, "two or more")
    parser.add_argument(
        "--metrics",
        default=",".join(COMPARED_METRICS),
        metavar="KEYS",
        help="metrics, comma-separated (default: %(default)s)",
    )
    parser.add_argument(
        "--by-relation",
        metavar="KEY",
        help="also list the relations that contribute most to the differences in the metric KEY (one of --metrics); "
        "with --format csv, latex or markdown, print only this list",
    )
    parser.add_argument(
        "--limit",
        type=int,
        metavar="N",
        help=f"number of relations to list (default: {LIMIT}; with --format json: all)",
    )
    parser.add_argument(
        "--override",
        default="",
        metavar="NAMES",
        help=f"accept that the results differ in these points, comma-separated: {', '.join(OVERRIDES)}",
    )
    parser.add_argument(
        "--confidence", type=float, default=CONFIDENCE, metavar="SHARE", help="confidence level (default: 0.95)"
    )
    parser.add_argument(
        "--cluster",
        choices=CLUSTERS,
        default="triple",
        help="intervals and tests consider the variation with other triples of this graph, other queries or other "
        "entities (default: triple)",
    )
    parser.add_argument(
        "--resamples",
        type=int,
        default=9999,
        metavar="N",
        help="number of random swaps in the test (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the swaps (default: %(default)s)")
    parser.add_argument("--format", choices=FORMATS, default="table", help="output format (default: %(default)s)")


def _compare(options: argparse.Namespace) -> str:
    if options.limit is not None and options.limit < 1:
        raise ProtocolError(f"--limit must be at least 1; got {options.limit}")
    results, names = results_of(options)
    metrics = split_list(options.metrics)
    if options.by_relation is not None and Key.parse(options.by_relation) not in map(Key.parse, metrics):
        raise ProtocolError(
            f"--by-relation {options.by_relation} is not among --metrics; add it to --metrics, so that "
            "Holm's correction counts this test"
        )
    comparison = kgeval.compare(
        results,
        names=names,
        metrics=metrics,
        override=options.override,
        confidence=options.confidence,
        cluster=options.cluster,
        n_resamples=options.resamples,
        seed=options.seed,
    )
    if options.format == "json":
        return _as_json(comparison, options)
    relations = None if options.by_relation is None else _by_relation(comparison, options, options.limit or LIMIT)
    undefined = undefined_lines(comparison.values, *([] if relations is None else [relations]))
    if options.format == "csv":
        say_aside([*comparison.header(), *undefined])
        return (
            comparison.table.to_csv(index=False).rstrip("\n") if relations is None else relations.to_csv().rstrip("\n")
        )
    values = format_compared(comparison, options.format)
    if options.format != "table":
        say_aside([*comparison.header(), *undefined])
        return values if relations is None else format_frame(relations, options.format)
    parts = ["\n".join(printable(line) for line in repr(comparison).splitlines()), values]
    if relations is not None:
        parts.append(f"{options.by_relation}: the relations that contribute most to the differences")
        parts.append(format_frame(relations, "table"))
    parts += ["\n".join(printable(line) for line in undefined)] if undefined else []
    return "\n\n".join(parts)


def _by_relation(comparison: Comparison, options: argparse.Namespace, limit: int | None) -> pd.DataFrame:
    """Return, for each pair of models, the `limit` relations that contribute most to the difference of the two models.

    If `limit` is None, all relations are returned.
    """
    frames = {}
    for first, second in itertools.combinations(comparison.names, 2):
        frames[f"{first} - {second}"] = comparison.by_relation(options.by_relation, first, second).iloc[:limit]
    return pd.concat(frames, names=["difference of"])


def _as_json(comparison: Comparison, options: argparse.Namespace) -> str:
    table = comparison.table.set_index(["first", "second", "metric"])
    content = {
        "header": comparison.header(),
        "overridden": comparison.overridden,
        "values": frame_records(comparison.values),
        "differences": frame_records(table),
    }
    if options.by_relation is not None:
        content["by_relation"] = frame_records(_by_relation(comparison, options, options.limit))
    return json_text(content)


COMMAND = Command(
    "compare", "paired comparison of saved results: differences, intervals, tests", _add_options, _compare, place=3
)
