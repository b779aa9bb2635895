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
    for name, place in (("s", "subject"), ("p", "relation"), ("o", "object")):
        parser.add_argument(name, metavar=name.upper(), help=f"label of the {place} of the triple to explain")
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
    s, p, o = triple = [options.s, options.p, options.o]
    sides = evaluator.protocol.sides
    frames = {side: evaluator.explain(scorer, s, p, o, side, options.most) for side in sides}
    if options.format == "json":
        content = {side: {**frame.attrs, "candidates": _records(frame)} for side, frame in frames.items()}
        return json_text({"triple": triple, **content})
    tables = {side: _table(side, frame) for side, frame in frames.items()}
    if options.format == "csv":
        return format_frame(pd.concat(tables.values()), "csv")
    parts = [" ".join(printable(label) for label in triple)]
    for side, frame in frames.items():
        n = frame.attrs
        ranks = [1 + n[f"n_above{of}"] + n[f"n_tied{of}"] / 2 for of in ("_counting", "")]
        says = (
            f"{side} side: rank {ranks[0]:g} (raw {ranks[1]:g}) of {n['n_candidates']:,} candidates; "
            f"{n['n_above']:,} stand above, {n['n_above_counting']:,} of them not known; "
            f"{n['n_tied']:,} tie, {n['n_tied_counting']:,} of them not known"
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
