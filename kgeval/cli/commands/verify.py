"""kgeval verify: whether a card agrees with a saved result."""

from __future__ import annotations

import argparse
from pathlib import Path

from kgeval.benchmarks import read_card, verify_card
from kgeval.cli.command import Command, Output
from kgeval.cli.options import ranked_result
from kgeval.markup import printable


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("card", type=Path, metavar="CARD.json", help="card written by kgeval card")
    parser.add_argument("result", type=Path, metavar="RUN.kgeval", help="result saved by kgeval evaluate --out")


def _verify(options: argparse.Namespace) -> Output:
    verification = verify_card(read_card(options.card), ranked_result(options.result))
    n = len(verification.disagreements)
    verdict = f"{options.card} agrees with {options.result}"
    if n:
        differ = "1 field differs" if n == 1 else f"{n:,} fields differ"
        verdict = f"{options.card} does not agree with {options.result}: {differ}"
    screen = options.screen
    text = "\n".join([screen.bold(screen.wrapped(printable(verdict))), "", screen.lines(verification.lines())])
    return Output(text, status=0 if verification.agrees else 1)


COMMAND = Command("verify", "check a card against its run; exit code 1 if they differ", _add_options, _verify, place=16)
