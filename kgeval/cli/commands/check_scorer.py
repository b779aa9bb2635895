"""kgeval check-scorer: test a scorer for faults with a few queries."""

from __future__ import annotations

import argparse

import kgeval
from kgeval.cli.command import Command
from kgeval.cli.options import add_input, add_reading, check_options, given_dataset, scorer_of


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_input(parser, with_scores=False)
    add_reading(parser, with_scores=False)


def _check(options: argparse.Namespace) -> str:
    check_options(options)
    dataset = given_dataset(options)
    report = kgeval.check_scorer(scorer_of(options, dataset), dataset, options.sides or "both")
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
