"""kgeval gate: a regression test of a saved result against a saved baseline."""

from __future__ import annotations

import argparse
from pathlib import Path

from kgeval.cli.command import Command, Output
from kgeval.cli.interval_options import add_cluster, add_confidence, add_override
from kgeval.cli.options import add_format, file_names, json_text, ranked_result, say_aside, words
from kgeval.comparison.regression_gate import gate
from kgeval.display.media import format_frame, frame_records
from kgeval.errors import MetricError, ProtocolError

# The columns of --to markdown and latex; csv and json have all.
FOR_PAPERS = ("value_first", "value_second", "difference", "low", "high", "margin", "decision", "passes")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", type=Path, metavar="RUN.kgeval", help="the saved result to test")
    parser.add_argument(
        "--against", type=Path, required=True, metavar="BASELINE.kgeval", help="the saved result of the baseline"
    )
    parser.add_argument(
        "--metrics", required=True, metavar="KEYS", help="metrics, comma-separated, such as mrr,hits@10"
    )
    parser.add_argument(
        "--margin",
        required=True,
        metavar="NUMBERS",
        help="the largest accepted loss of each metric, in its unit, comma-separated, such as 0.002,0.005",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="pass only if the loss is shown to be smaller than the margin (default: fail only if it is shown to be "
        "larger)",
    )
    add_confidence(parser, "1 - significance level of the one-sided tests (default: 0.95)")
    add_cluster(parser, "as in kgeval compare (default: %(default)s)")
    add_override(parser)
    add_format(parser)


def _run_gate(options: argparse.Namespace) -> Output:
    metrics, margins = words(options.metrics), [_number(text) for text in words(options.margin)]
    if len(metrics) != len(margins):
        raise ProtocolError(
            f"--margin needs one number for each metric of --metrics; got {len(margins)} for {len(metrics)}: "
            f"{options.margin} for {options.metrics}"
        )
    if len(set(metrics)) < len(metrics):
        raise ProtocolError(f"--metrics names a metric twice: {options.metrics}")
    if options.result == options.against:
        raise ProtocolError(f"run and baseline are the same file, {options.result}")
    paths = [options.result, options.against]
    results = [ranked_result(path) for path in paths]
    names = file_names(paths, results)
    found = gate(
        results[0],
        results[1],
        dict(zip(metrics, margins)),
        strict=options.strict,
        confidence=options.confidence,
        cluster=options.cluster,
        override=options.override,
        names=names,
    )
    status = 0 if found.passes else 1
    if options.to == "json":
        content = {"passes": found.passes, "strict": found.strict, "header": found.header}
        return Output(json_text(content | {"metrics": frame_records(found.table.set_index("metric"))}), status)
    if options.to == "table":
        return Output(options.screen.lines(found.lines), status)
    say_aside(found.lines)
    frame = found.table.set_index("metric")
    shown = frame if options.to == "csv" else frame[list(FOR_PAPERS)]
    return Output(format_frame(shown, options.to, spreadsheet=options.spreadsheet), status)


def _number(text: str) -> float:
    """Return a margin as a number."""
    try:
        return float(text)
    except ValueError:
        raise MetricError(f"--margin needs numbers, such as 0.002 or 0.002,0.005; got {text!r}") from None


COMMAND = Command(
    "gate",
    "exit with 1 if a saved result lost more than a margin against a baseline",
    _add_options,
    _run_gate,
    place=4,
)
