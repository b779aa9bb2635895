"""kgeval inspect: the contents of a file or folder and its format; the registered datasets; the formats."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

import kgeval
from kgeval.base.terminal import Screen
from kgeval.cli.command import Command
from kgeval.cli.dataset_list import datasets_text
from kgeval.cli.options import add_format, json_text
from kgeval.display.media import format_frame, frame_records
from kgeval.errors import DataError, ProtocolError
from kgeval.formats.datasets import dataset_formats
from kgeval.formats.models import model_formats
from kgeval.formats.predictions import prediction_formats


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, nargs="?", metavar="PATH", help="checkpoint, dataset file, or folder")
    parser.add_argument(
        "--datasets",
        nargs="?",
        const="",
        metavar="NAME",
        help="list the datasets that can be given by name, or describe one: URLs, checksums; ultra: its 57 graphs",
    )
    parser.add_argument("--formats", action="store_true", help="list the formats of datasets, models and predictions")
    add_format(parser)


def _inspect(options: argparse.Namespace) -> str:
    asked = [options.path is not None, options.datasets is not None, options.formats]
    if sum(asked) > 1:
        raise ProtocolError("PATH, --datasets and --formats are three questions; ask one of them")
    if options.datasets is not None:
        return datasets_text(options)
    if options.formats:
        return _formats_text(options)
    if options.path is None:
        raise DataError("PATH is missing: a checkpoint, a dataset file or a folder; or give --datasets or --formats")
    if options.to != "table":
        raise ProtocolError(f"--to {options.to} needs --datasets or --formats; the text about PATH has one form")
    screen: Screen = options.screen
    return screen.lines(str(kgeval.inspect(options.path)).split("\n"))


def _formats_text(options: argparse.Namespace) -> str:
    """Return the list of the formats that kgeval reads."""
    kinds = {"dataset": dataset_formats(), "model": model_formats(), "predictions": prediction_formats()}
    rows = [(kind, name, form.about) for kind, formats in kinds.items() for name, form in formats.items()]
    frame = pd.DataFrame(rows, columns=["of", "name", "about"])
    if options.to == "json":
        return json_text({"formats": frame_records(frame.set_index("of"))})
    if options.to != "table":
        return format_frame(frame.set_index(list(frame.columns)), options.to, spreadsheet=options.spreadsheet)
    screen: Screen = options.screen
    width = frame["name"].str.len().max()
    lines = [screen.wrapped(f"{kind:11}  {name:{width}}  {about}", hang=width + 15) for kind, name, about in rows]
    return "\n".join(lines)


COMMAND = Command(
    "inspect",
    "list the contents of a file or folder, the known datasets, or the formats",
    _add_options,
    _inspect,
    place=9,
)
