"""kgeval explain: the candidates that a model ranks above a triple."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd

import kgeval
from kgeval.cli.command import Command
from kgeval.cli.options import (
    add_format,
    add_input,
    add_protocol,
    add_reading,
    check_options,
    given_dataset,
    json_text,
    protocol_of,
    scorer_of,
)
from kgeval.errors import ProtocolError
from kgeval.metrics import ranks_under
from kgeval.report import format_frame


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_input(parser, with_scores=False)
    for name, role in (("s", "subject"), ("p", "relation"), ("o", "object")):
        parser.add_argument(name, metavar=name.upper(), help=f"label of the {role} of the triple to explain")
    parser.add_argument(
        "--limit",
        type=int,
        default=20,
        metavar="N",
        help="list at most N candidates above the triple and N tied with it (default: %(default)s)",
    )
    add_protocol(parser)
    add_reading(parser, with_scores=False)
    add_format(parser)


def _explain(options: argparse.Namespace) -> str:
    check_options(options)
    if options.limit < 0:
        raise ProtocolError(f"--limit must be at least 0; got {options.limit}")
    dataset = given_dataset(options)
    evaluator = kgeval.Evaluator(dataset, protocol_of(options, dataset))
    scorer = scorer_of(options, dataset)
    s, p, o = triple = [options.s, options.p, options.o]
    sides = evaluator.protocol.sides
    frames = {side: evaluator.explain(scorer, s, p, o, side, options.limit) for side in sides}
    if options.format == "json":
        content = {side: {**frame.attrs, "candidates": _candidate_records(frame)} for side, frame in frames.items()}
        return json_text({"triple": triple, **content})
    tables = {side: _candidate_table(side, frame) for side, frame in frames.items()}
    if options.format == "csv":
        return format_frame(pd.concat(tables.values()), "csv", spreadsheet=options.spreadsheet)
    parts = [options.screen.lines([" ".join(triple)])]
    for side, frame in frames.items():
        n = frame.attrs
        ranks = [ranks_under("realistic", n[f"n_above{suffix}"], n[f"n_tied{suffix}"]) for suffix in ("_counting", "")]
        summary = (
            f"{side} side: rank {ranks[0]:g} (raw {ranks[1]:g}) of {n['n_candidates']:,} candidates; "
            f"{n['n_above']:,} rank above, {n['n_above_counting']:,} of them not known; "
            f"{n['n_tied']:,} tie, {n['n_tied_counting']:,} of them not known"
        )
        summary = options.screen.wrapped(summary) if options.format == "table" else summary
        parts.append(f"{summary}\n{format_frame(tables[side].droplevel('side'), options.format, options.screen)}")
    return "\n\n".join(parts)


def _candidate_table(side: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of the candidates as a table to print.

    The index of a row contains: the side, whether the candidate is above the triple or tied with it, the label of the
    candidate, the splits in which the triple with this candidate is known, and whether the candidate counts for the
    filtered rank.
    """
    frame = frame.assign(side=side, counts=np.where(frame["counts"], "counts", ""))
    return frame.set_index(["side", "stands", "candidate", "known_in", "counts"])[["score"]]


def _candidate_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as dicts for JSON.

    JSON has no infinity: an infinite score becomes null, and the field ``reason`` says which infinity it was.
    """
    rows: list[dict[str, Any]] = [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]
    for row in rows:
        if not np.isfinite(row["score"]):
            row |= {"score": None, "reason": f"score is {row['score']}"}
    return rows


COMMAND = Command(
    "explain",
    "list the candidates that a model ranks above a triple",
    _add_options,
    _explain,
    place=6,
    runs_scorer=True,
)
