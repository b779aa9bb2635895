"""kgeval explain."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd

import kgeval
from kgeval.cli.inputs import add_input, add_protocol, check_options, json_text, protocol_of, scorer_of
from kgeval.errors import ProtocolError
from kgeval.report.tables import FORMATS, format_frame, printable


def add_explain(parser: argparse.ArgumentParser) -> None:
    """Add the options of kgeval explain."""
    add_input(parser, with_scores=False)
    parser.add_argument("triple", nargs=3, metavar=("S", "P", "O"), help="labels of the triple to explain")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="above it, and tied (default: %(default)s)")
    add_protocol(parser)
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: %(default)s")
    parser.set_defaults(run=_explain)


def _explain(options: argparse.Namespace) -> str:
    check_options(options)
    if options.most < 0:
        raise ProtocolError(f"--most must be at least 0; got {options.most}")
    dataset = kgeval.read_dataset(options.dataset, header=options.header)
    evaluator = kgeval.Evaluator(dataset, protocol_of(options))
    scorer = scorer_of(options, dataset)
    s, p, o = options.triple
    sides = evaluator.protocol.sides
    frames = {side: evaluator.explain(scorer, s, p, o, side, options.most) for side in sides}
    if options.format == "json":
        content = {side: {**frame.attrs, "candidates": _records(frame)} for side, frame in frames.items()}
        return json_text({"triple": options.triple, **content})
    tables = {side: _table(side, frame) for side, frame in frames.items()}
    if options.format == "csv":
        return format_frame(pd.concat(tables.values()), "csv")
    parts = [" ".join(printable(label) for label in options.triple)]
    for side, frame in frames.items():
        n = frame.attrs
        says = (
            f"{side} side: {n['n_above']:,} of {n['n_candidates'] - 1:,} candidates above, "
            f"{n['n_above_counting']:,} of them not known; {n['n_tied']:,} tied, {n['n_tied_counting']:,} not known"
        )
        parts.append(f"{says}\n{format_frame(tables[side].droplevel('side'), options.format)}")
    return "\n\n".join(parts)


def _table(side: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the scores under what says whose they are."""
    frame = frame.assign(side=side, counts=np.where(frame["counts"], "counts", ""))
    return frame.set_index(["side", "stands", "candidate", "known_in", "counts"])[["score"]]


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows for JSON, which has no infinity: null, with what it was beside it."""
    rows: list[dict[str, Any]] = [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]
    for row in rows:
        if not np.isfinite(row["score"]):
            row |= {"score": None, "undefined": {"score": str(row["score"])}}
    return rows
