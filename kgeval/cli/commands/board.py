"""kgeval board: many cards and results as one HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path

from kgeval.base.files import check_page_target
from kgeval.cli.command import Command
from kgeval.cli.options import check_out, file_line
from kgeval.report import read_board, write_board


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="FOLDER",
        help="folders with cards (.json, from kgeval card) and saved results (.kgeval), or such files",
    )
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="BOARD.html", help="the page to write")
    parser.add_argument("--overwrite", action="store_true", help="replace the page if it exists")
    parser.add_argument("--title", metavar="TEXT", help="title of the page (default: the names of the datasets)")


def _board(options: argparse.Namespace) -> str:
    check_out(options.out, options.overwrite, options.paths)
    check_page_target(options.out, options.overwrite)
    board = read_board(options.paths)
    write_board(board, options.out, overwrite=options.overwrite, title=options.title)
    lines = [board.sentence(), *(f"not read: {place}: {why}" for place, why in board.unread)]
    lines += [f"note: {note}" for note in board.notes]
    return "\n".join([options.screen.lines(lines), file_line(options.out)])


COMMAND = Command("board", "many cards and results as one HTML page, best first", _add_options, _board, place=6)
