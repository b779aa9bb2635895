"""kgeval explain."""

from __future__ import annotations

import argparse

import numpy as np

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
        content = {side: {**frame.attrs, "candidates": frame.to_dict("records")} for side, frame in frames.items()}
        return json_text({"triple": options.triple, **content})
    parts = [] if options.format == "csv" else [" ".join(printable(label) for label in options.triple)]
    for side, frame in frames.items():
        n = frame.attrs
        says = f"{side} side: {n['n_above']:,} of {n['n_candidates'] - 1:,} candidates above, {n['n_tied']:,} tied"
        frame["counts"] = np.where(frame["counts"], "counts", "")
        table = frame.assign(side=side).set_index(["side", "stands", "candidate", "known_in", "counts"])[["score"]]
        text = format_frame(table if options.format == "csv" else table.droplevel("side"), options.format)
        parts.append(text if options.format == "csv" else f"{says}\n{text}")
    return "\n\n".join(parts)
