"""kgeval check-scorer: test a scorer for faults with a few queries."""

from __future__ import annotations

import argparse

import kgeval
from kgeval.cli.command import Command
from kgeval.cli.options import add_input, add_reading, check_options, given_dataset, scorer_of
from kgeval.scorers.faults import SEARCH_SECONDS


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_input(parser, with_scores=False)
    add_reading(parser, with_scores=False)
    parser.add_argument(
        "--max-seconds",
        type=float,
        default=SEARCH_SECONDS,
        metavar="S",
        help="time of the search for faults that spoil all ranks (default: 2)",
    )


def _check(options: argparse.Namespace) -> str:
    check_options(options)
    dataset = given_dataset(options)
    scorer, sides = scorer_of(options, dataset), options.sides or "both"
    report = kgeval.check_scorer(scorer, dataset, sides, max_seconds=options.max_seconds)
    lines = [f"{report.kind} scorer, {report.dtype} scores: no fault found", *report.notes]
    lines += [f"not checked: {report.unchecked}"] if report.unchecked else []
    return "\n".join(map(options.screen.wrapped, lines))


COMMAND = Command(
    "check-scorer",
    "check a scorer for faults that make ranks wrong",
    _add_options,
    _check,
    place=13,
    runs_scorer=True,
)
