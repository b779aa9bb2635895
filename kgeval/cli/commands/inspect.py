"""kgeval inspect: list the contents of a checkpoint or a dataset folder, and the format that kgeval recognises."""

from __future__ import annotations

import argparse
from pathlib import Path

import kgeval
from kgeval.cli.command import Command
from kgeval.terminal import Screen


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, metavar="PATH", help="checkpoint, dataset file, or folder")


def _inspect(options: argparse.Namespace) -> str:
    screen: Screen = options.screen
    return screen.lines(str(kgeval.inspect(options.path)).split("\n"))


COMMAND = Command(
    "inspect",
    "list the contents of a file or folder, and its recognised format; runs nothing",
    _add_options,
    _inspect,
    place=12,
)
