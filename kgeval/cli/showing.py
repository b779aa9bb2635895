"""How commands show a result: which metrics, broken down how, in which form."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

import kgeval
from kgeval.checks import check_one_of
from kgeval.cli.inputs import json_text, say_aside, words
from kgeval.errors import ProtocolError
from kgeval.features import FEATURES, NEED_TYPES, OVER_SPLITS, read_types
from kgeval.metrics import TIE_POLICIES
from kgeval.metrics.base import split_list
from kgeval.record import BREAKDOWNS
from kgeval.report.tables import FORMATS, format_frame, frame_records, printable, summary_frame
from kgeval.results import DEFAULT_METRICS, LEVEL, EvaluationResult

MOST_NAMED = 3


def add_output(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add what is shown and how; return the group, for more."""
    output = parser.add_argument_group("output")
    output.add_argument("--metrics", default=",".join(DEFAULT_METRICS), metavar="NAMES", help="default: %(default)s")
    output.add_argument("--ties", choices=TIE_POLICIES, help="default: realistic (query. metrics: expected)")
    output.add_argument(
        "--by", metavar="COLUMNS", help=f"break down by {', '.join(BREAKDOWNS)}, or {', '.join(FEATURES)}"
    )
    output.add_argument("--level", type=float, default=LEVEL, metavar="SHARE", help="of intervals; default: 0.95")
    output.add_argument("--no-intervals", dest="intervals", action="store_false", help="numbers alone in --by")
    output.add_argument("--means-from", metavar="NAMES", help="splits that cardinality and pattern are taken over")
    output.add_argument("--types", metavar="FILE", help="types of entities, for --by type_given or type_asked")
    output.add_argument("--format", choices=FORMATS, default="table", help="default: %(default)s")
    return output


def check_output(options: argparse.Namespace, columns: Iterable[str] = ()) -> None:
    """Refuse what cannot be shown before anything is computed; `columns` are further ones to break down by."""
    for metric in split_list(options.metrics):
        kgeval.metrics.parse(metric)
    for column in words(options.by or ""):
        check_one_of("--by", column, dict.fromkeys([*BREAKDOWNS, *FEATURES, *columns]))
        if column in NEED_TYPES and options.types is None and column not in columns:
            raise ProtocolError(f"--by {column} needs --types FILE")
    if not 0.0 < options.level < 1.0:
        raise ProtocolError(f"--level must be between 0 and 1; got {options.level:g}")


def with_choices(result: EvaluationResult, dataset: kgeval.Dataset, options: argparse.Namespace) -> EvaluationResult:
    """Return the result with the columns that options choose: types of a file, cardinality and pattern of splits."""
    if options.means_from is not None:
        splits = words(options.means_from)
        if not splits:
            raise ProtocolError("--means-from must name a split; got none")
        for split in splits:
            check_one_of("--means-from", split, dataset.splits)
        result = result.with_features(dataset, names=list(OVER_SPLITS), splits_for_means=splits)
    if options.types is None:
        return result
    types, unknown = read_types(options.types, result.entities)
    result = result.with_features(dataset, names=list(NEED_TYPES), types=types)
    return (
        result.with_notes(f"{len(unknown):,} entities of {options.types} are not in the dataset") if unknown else result
    )


def result_text(
    result: EvaluationResult, options: argparse.Namespace, further: Sequence[str] = (), last: str = ""
) -> str:
    """Return a result as the options ask; `further` stands before the metrics and `last` below, for people alone."""
    metrics, ties = split_list(options.metrics), options.ties or "realistic"
    frame = summary_frame(result, metrics, options.ties)
    groups, level = None, options.level if options.intervals else None
    if options.by:
        groups = result.by(*words(options.by), metrics=metrics, ties=options.ties, level=level)
    if options.format == "json":
        content = {
            "about": result.about,
            "protocol": result.protocol.to_dict() | {"fingerprint": result.protocol.fingerprint, "ties": ties},
            "tie_rate": result.tie_rate,
            "n_read": result.n_read,
            "dropped": result.dropped,
            "notes": [*result.notes, *result.cautions(metrics)],
            "metrics": frame_records(frame),
        }
        if groups is not None:
            content |= {"level": level, "by": frame_records(groups)}
        return json_text(content)
    reasons = undefined_lines(frame)
    if options.format != "table":
        dropped = [f"dropped: {n:,} ranks, {reason}" for reason, n in result.dropped.items()]
        notes = [f"note: {said}" for said in (*result.notes, *result.cautions(metrics))]
        say_aside([*dropped, *notes, *reasons])
        return format_frame(frame if groups is None else groups, options.format)
    parts = ["\n".join(printable(line) for line in result.head(ties)), *further, format_frame(frame, "table")]
    if groups is not None:
        parts.append(format_frame(groups, "table"))
        reasons += undefined_lines(groups)
        if level is not None:
            reasons.append(f"note: {level:.0%} intervals, clustered by triple (query. metrics: by query)")
        over = [name for name in words(options.by or "") if name in OVER_SPLITS]
        if over and not result.says_splits:
            reasons.append(f"note: taken over all splits (--means-from train: over train): {', '.join(over)}")
    cautions = [f"note: {said}" for said in result.cautions(metrics)]
    if cautions or reasons:
        parts.append("\n".join(printable(line) for line in [*cautions, *reasons]))
    return "\n\n".join([*parts, last] if last else parts)


def undefined_lines(*frames: pd.DataFrame) -> list[str]:
    """Return why numbers of tables are undefined or have no interval: each reason once, with the first of its rows."""
    rows_of: dict[tuple[str, str, str], list[str]] = {}
    for frame in frames:
        for (*label, heading), why in frame.attrs["reasons"].items():
            value = frame.loc[tuple(label) if len(label) > 1 else label[0], heading]
            what = "no interval" if np.isfinite(value) else "undefined"
            rows_of.setdefault((what, heading, why), []).append(" ".join(label))
    headings: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (what, heading, why), rows in rows_of.items():
        headings.setdefault((what, why, tuple(rows)), []).append(heading)
    lines = []
    for (what, why, of), named in headings.items():
        more = f" and {len(of) - MOST_NAMED:,} more" if len(of) > MOST_NAMED else ""
        lines.append(f"{what}: {', '.join(named)} of {', '.join(of[:MOST_NAMED])}{more}: {why}")
    return lines
