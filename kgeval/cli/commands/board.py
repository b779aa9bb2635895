"""kgeval board: many cards and results as one HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path

from kgeval.base.files import check_page_target
from kgeval.base.wording import printable, written
from kgeval.cli.command import Command
from kgeval.cli.options import check_out, file_line
from kgeval.metrics.grammar import display_of
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
    lines = [board.sentence()]
    for table in board.tables:
        text = "no ranked run"
        if table.ranked:
            display = display_of(table.metrics[0])
            best = [f"{printable(row.model)} {written(of, display.decimals)}" for row, of in table.best_of_models[:2]]
            text = f"{display.heading} {', then '.join(best)} (not tested)"
        lines.append(f"{printable(table.dataset)}: {text}")
    lines += [f"not read: {place}: {why}" for place, why in board.unread]
    lines += [f"note: {note}" for note in board.notes]
    return "\n".join([options.screen.lines(lines), file_line(options.out)])


COMMAND = Command("board", "many cards and results as one HTML page, best first", _add_options, _board, place=6)
