"""kgeval compare: paired comparison of saved results."""

from __future__ import annotations

import argparse
from dataclasses import replace

import pandas as pd

import kgeval
from kgeval.classification.classification_result import ClassificationResult
from kgeval.cli.class_comparison import classes_text
from kgeval.cli.command import Command
from kgeval.cli.group_tables import LIMIT, add_limit, check_limit, deciding, group_text, joined
from kgeval.cli.interval_options import add_cluster, add_confidence, add_gone, add_override, add_resamples
from kgeval.cli.options import add_format, add_quiet, add_results, json_text, result_names, say_aside
from kgeval.comparison.comparison import Comparison
from kgeval.comparison.margins import equivalence_lines
from kgeval.comparison.names import check_rivals
from kgeval.comparison.tables import answer_text, values_text
from kgeval.comparison.texts import brief_header, is_description, protocol_comment, ties_line
from kgeval.display.differences import leader_first, screen_differences
from kgeval.display.media import format_frame, frame_records, undefined_lines
from kgeval.errors import ProtocolError
from kgeval.metrics.base import split_list
from kgeval.metrics.default_metrics import PLAIN_METRICS
from kgeval.results.keys import Key


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_results(parser, "two or more")
    parser.add_argument(
        "--metrics",
        default=",".join(PLAIN_METRICS),
        metavar="KEYS",
        help="metrics, comma-separated (default: %(default)s)",
    )
    parser.add_argument(
        "--by-relation",
        metavar="KEY",
        help="also list the relations that contribute most to the differences in the metric KEY (one of --metrics); "
        "with --to csv, latex or markdown, print only this list",
    )
    add_limit(parser, "relations")
    parser.add_argument(
        "--baseline", metavar="NAME", help="compare each other model with this one only (default: all pairs)"
    )
    add_override(parser)
    add_confidence(parser)
    add_cluster(parser)
    add_resamples(parser, "random swaps in the test", "swaps")
    margins = parser.add_argument_group("equivalence, for the first metric of --metrics")
    margins.add_argument(
        "--margin",
        type=float,
        metavar="NUMBER",
        help="also test whether the models are equivalent: whether they differ by less than this, in the unit of the "
        "metric",
    )
    margins.add_argument(
        "--non-inferior-to",
        metavar="NAME",
        help="with --margin: test instead whether the other models are not inferior to this model by the margin",
    )
    add_gone(
        parser,
        {
            "--plan": "planned sizes missed their power by far in simulations; the column detectable stays",
            "--power": "it belonged to --plan, which is gone",
        },
    )
    add_format(parser)
    add_quiet(parser, "print only the verdict and the tables: no lines about the results and the test, no notes")


def _compare(options: argparse.Namespace) -> str:
    check_limit(options.limit)
    if len(options.results) < 2:
        raise ProtocolError(
            f"compare needs two or more saved results; got one, {options.results[0]}. Usage: kgeval compare A.kgeval "
            "B.kgeval; kgeval show prints one result"
        )
    _check_margins(options)
    results = [kgeval.load_result(path) for path in options.results]
    is_class = [isinstance(result, ClassificationResult) for result in results]
    if len(set(is_class)) > 1:
        one, other = options.results[is_class.index(True)], options.results[is_class.index(False)]
        raise ProtocolError(
            f"{one} holds a classification, {other} holds an evaluation; compare needs results of one kind: two or "
            "more of kgeval evaluate --out, or two or more of kgeval classify --out"
        )
    names = result_names(options, results)
    if is_class[0]:
        return classes_text(results, names, options)
    if options.names is None and len({result.facts["dataset_fingerprint"] for result in results}) == 1:
        check_rivals(results)
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
        baseline=options.baseline,
        override=options.override,
        confidence=options.confidence,
        cluster=options.cluster,
        n_resamples=options.n_resamples,
        resample_seed=options.resample_seed,
    )
    if options.to == "json":
        return _as_json(comparison, options)
    limit, of_pairs = options.limit or LIMIT, _by_relation(comparison, options)
    relations = joined(of_pairs, limit) if of_pairs else None
    undefined = undefined_lines(comparison.values, *([] if relations is None else [relations]))
    if options.to != "table" and not options.quiet:
        say_aside([comparison.verdict.sentence, *comparison.header(), *undefined])
    if options.to == "csv":
        frame = comparison.differences.set_index(comparison.differences.columns[0]) if relations is None else relations
        return format_frame(frame, "csv", spreadsheet=options.spreadsheet)
    screen = replace(options.screen, whole="--to json or a wider terminal")  # csv has no intervals of the values
    if options.to != "table" and relations is not None:
        ties = ties_line({options.by_relation: Key.parse(options.by_relation)})
        comment = protocol_comment(zip(names, results), ties)
        shown = deciding(relations).rename(columns={"value_first": "first", "value_second": "second"})
        return format_frame(shown, options.to, comment=comment)
    values = values_text(comparison, options.to, screen)
    if options.to != "table":
        return values
    about, notes = brief_header(comparison, "--to json")
    graver = [note for note in notes if not is_description(note)]
    notes = [*graver, *(["how the models were read: --to json"] if len(graver) < len(notes) else [])]
    parts = [
        answer_text(comparison, screen),
        values,
        screen_differences(comparison.differences, comparison.alpha, screen),
    ]
    if options.margin is not None:
        frame, kind = _equivalence(comparison, options)
        parts.append(screen.lines(equivalence_lines(frame, comparison, kind)))
    parts += [group_text(frame, limit, screen) for frame in of_pairs.values()]
    if not options.quiet:
        parts.append(screen.dim(screen.lines(about)))
        parts += [screen.lines([*undefined, *notes])] if undefined or notes else []
    return "\n\n".join(parts)


def _check_margins(options: argparse.Namespace) -> None:
    """Raise a ProtocolError for options about equivalence that do not fit together."""
    if options.non_inferior_to is not None and options.margin is None:
        raise ProtocolError("--non-inferior-to needs --margin")
    if options.margin is not None and options.to not in ("table", "json"):
        raise ProtocolError(f"--margin prints sentences, which --to {options.to} cannot contain; use table or json")


def _equivalence(comparison: Comparison, options: argparse.Namespace) -> tuple[pd.DataFrame, str]:
    """Return the table of equivalence or non-inferiority, and ``"equivalence"`` or ``"non-inferiority"``."""
    kind = "equivalence" if options.non_inferior_to is None else "non-inferiority"
    return comparison.equivalence(options.margin, kind=kind, baseline=options.non_inferior_to), kind


def _by_relation(comparison: Comparison, options: argparse.Namespace) -> dict[str, pd.DataFrame]:
    """Return, for each pair of models, the contributions of the relations to the difference; nothing if not asked."""
    if options.by_relation is None:
        return {}
    is_asked = comparison.differences["metric"] == str(Key.parse(options.by_relation))
    pairs = leader_first(comparison.differences[is_asked])[["first", "second"]].itertuples(index=False)
    return {f"{one} - {other}": comparison.by_relation(options.by_relation, one, other) for one, other in pairs}


def _as_json(comparison: Comparison, options: argparse.Namespace) -> str:
    table = comparison.differences.set_index(["first", "second", "metric"])
    content = {
        "header": comparison.header(),
        "overridden": comparison.overridden,
        "values": frame_records(comparison.values),
        "differences": frame_records(table),
    }
    if options.by_relation is not None:
        content["by_relation"] = frame_records(joined(_by_relation(comparison, options), options.limit))
    if options.margin is not None:
        content["equivalence"] = frame_records(_equivalence(comparison, options)[0].set_index(["first", "second"]))
    return json_text(content)


COMMAND = Command(
    "compare", "paired comparison of saved results: differences, intervals, tests", _add_options, _compare, place=2
)
