"""kgeval audit: leaks, repeated and unseen triples, and other facts about a dataset that change what metrics mean."""

from __future__ import annotations

import argparse
import json

import kgeval
from kgeval.audit.data_audit import audit_text
from kgeval.cli.command import Command
from kgeval.cli.options import add_dataset, add_format, given_dataset, json_text
from kgeval.display.media import format_frame


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET", help="folder with train.txt, valid.txt, test.txt")
    add_format(parser)
    add_dataset(parser)


def _audit(options: argparse.Namespace) -> str:
    made = kgeval.audit(given_dataset(options))
    if options.to == "json":
        return json_text(json.loads(made.to_json()))
    if options.to == "table":
        return audit_text(made, options.screen)
    return format_frame(made.findings.set_index("kind"), options.to, spreadsheet=options.spreadsheet)


COMMAND = Command(
    "audit", "leaks and other faults of a dataset, and what they do to the numbers", _add_options, _audit, place=10
)
