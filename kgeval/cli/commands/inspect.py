"""kgeval inspect: list what a checkpoint or a dataset folder holds, and what kgeval takes it for."""

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
    "list what a file or folder holds, and what it is taken for; runs nothing",
    _add_options,
    _inspect,
    place=12,
)
