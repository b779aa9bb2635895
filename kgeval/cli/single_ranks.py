"""Single ranks, as ``kgeval show`` prints them: the worst ranked triples, and the candidates above one triple."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd

import kgeval
from kgeval.cli.options import check_options, given_dataset, json_text, protocol_of, say_aside, scorer_of
from kgeval.data.sides import ALL_SIDES, check_sides
from kgeval.display.media import format_frame, frame_records
from kgeval.errors import DataError, ProtocolError
from kgeval.metrics.ranks import ranks_under
from kgeval.results.evaluation_result import EvaluationResult, key_columns

LIMIT = 20  # candidates that are listed above a triple, and tied with it, unless --limit says otherwise
WORST = ["s", "p", "o", "side", "split"]  # columns of labels in the list of the worst ranks
NUMBERS = ["rank_filtered", "rivals_filtered", "rank_raw", "rivals_raw", "score"]


def worst_text(result: EvaluationResult, options: argparse.Namespace) -> str:
    """Return the list of the worst ranked triples, worst first.

    The list is ordered by the filtered rank with realistic ties; of equal ranks, by the number of rivals and then as in
    the result. Triples whose rank is not known are left out, and a note says how many.

    Parameters
    ----------
    result : EvaluationResult
    options : argparse.Namespace
        The parsed options; ``--worst`` is the number of triples.

    Raises
    ------
    ProtocolError
        If ``--worst`` is not positive.
    """
    if options.worst < 1:
        raise ProtocolError(f"--worst must be at least 1; got {options.worst}")
    names = key_columns(result)
    frame = result.ranks(labels=True).assign(**{name: result.columns[name] for name in names})
    frame = frame.iloc[result.rank_table.rows_of("both")]
    n_unknown = int(frame["rank_filtered"].isna().sum())
    if n_unknown:
        say_aside([f"note: {n_unknown:,} of {len(frame):,} ranks are not known exactly, so they are not in this list"])
    order = ["rank_filtered", "rivals_filtered"]
    frame = frame.dropna(subset=["rank_filtered"])
    frame = frame.sort_values(order, ascending=[False, True], kind="stable").head(options.worst)
    frame = frame.set_index([*WORST, *names])[NUMBERS]
    if options.to == "json":
        return json_text({"worst": frame_records(frame)})
    return format_frame(frame, options.to, options.screen, spreadsheet=options.spreadsheet)


def explanation_text(result: EvaluationResult | None, options: argparse.Namespace) -> str:
    """Return the candidates that are above the triple of ``--explain`` or tied with it, for each side.

    Parameters
    ----------
    result : EvaluationResult or None
        A saved result, which contains the best rivals of its worst and best ranks; None: a scorer scores the triple.
    options : argparse.Namespace
        The parsed options.

    Raises
    ------
    ProtocolError
        If ``--limit`` is negative, or if ``--explain`` does not have three labels.
    DataError
        If the triple is unknown, or if the saved result cannot explain it.
    """
    if len(options.explain) != 3:
        given = " ".join(map(repr, options.explain))
        raise ProtocolError(f"--explain needs three labels, SUBJECT RELATION OBJECT; got {given}")
    limit = LIMIT if options.limit is None else options.limit
    if limit < 0:
        raise ProtocolError(f"--limit must be at least 0; got {limit}")
    s, p, o = triple = options.explain
    if result is None:
        check_options(options)
        dataset = given_dataset(options)
        evaluator = kgeval.Evaluator(dataset, protocol_of(options, dataset))
        scorer = scorer_of(options, dataset)
        frames = {
            side: evaluator.explain(scorer, s, p, o, side, limit, _given(options)) for side in evaluator.protocol.sides
        }
    else:
        frames = _kept(result, triple, options.sides, limit, _given(options))
    if options.to == "json":
        content = {side: {**frame.attrs, "candidates": _candidate_records(frame)} for side, frame in frames.items()}
        return json_text({"triple": triple, **content})
    tables = {side: _candidate_table(side, frame) for side, frame in frames.items()}
    if options.to == "csv":
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
        if n.get("n_not_kept"):
            summary += f"; {n['n_not_kept']:,} of these are not kept in the file, so not listed"
        summary = options.screen.wrapped(summary) if options.to == "table" else summary
        parts.append(f"{summary}\n{format_frame(tables[side].droplevel('side'), options.to, options.screen)}")
    return "\n\n".join(parts)


def _given(options: argparse.Namespace) -> dict[str, str]:
    """Return the values of columns that ``--given`` names."""
    pairs = [text.partition("=") for text in options.given or ()]
    if not all(name and sign for name, sign, _ in pairs):
        raise ProtocolError(f"--given needs COLUMN=VALUE, such as time=183; got {' '.join(options.given)!r}")
    return {name: value for name, _, value in pairs}


def _kept(
    result: EvaluationResult, triple: list[str], side: str | None, limit: int, given: dict[str, str]
) -> dict[str, pd.DataFrame]:
    """Return the table of each side whose rivals a saved result contains, and print why another side has none.

    A DataError if no side has rivals.
    """
    s, p, o = triple
    asked = check_sides(side, ALL_SIDES) if side else result.protocol.sides
    frames: dict[str, pd.DataFrame] = {}
    refused: dict[str, DataError] = {}
    for one in [one for one in asked if one in result.protocol.sides] or asked:
        try:
            frames[one] = result.explain(s, p, o, one, limit, given)
        except DataError as error:  # noqa: PERF203
            refused[one] = error
    if not frames:
        raise next(iter(refused.values()))
    say_aside([f"note: {one} side: {error}" for one, error in refused.items()])
    return frames


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
