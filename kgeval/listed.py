"""evaluate_scores(): ranks from a table of scored triples, each positive against the negatives listed with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.assembly import Positives, assemble
from kgeval.checks import Ids
from kgeval.corruption import KnownIndex, known_triples
from kgeval.dataset import Dataset, as_labels, frame_columns, triple_labels
from kgeval.errors import DataError, ProtocolError, ScoreError
from kgeval.kernels.numpy_kernels import count_row
from kgeval.protocol import Protocol
from kgeval.queries import Queries, given_and_asked
from kgeval.ranks import RankCounts
from kgeval.results import EvaluationResult
from kgeval.scoring import as_scores
from kgeval.triples import group_rows

Scores = npt.NDArray[Any]
NO_NEGATIVES = "no negative is listed for it on this side"


def evaluate_scores(scores: pd.DataFrame, dataset: Dataset, protocol: Protocol | None = None) -> EvaluationResult:
    """Rank every triple of a split among the scored triples that differ from it in one entity.

    Parameters
    ----------
    scores : pandas.DataFrame
        Columns ``s, p, o`` (labels; or other names that `Dataset.from_frames` takes) and ``score``,
        higher is better. Holds each positive once, and its negatives; `kgeval.read_scores` reads a file.
    dataset : Dataset
        Its splits say which triples are positives and which are known.
    protocol : Protocol, optional
        By default the test split, and each side on which at least one positive has a negative listed.
        A positive without any on an evaluated side, known triples not counted, is dropped there, and
        counted.

    Returns
    -------
    EvaluationResult

    Raises
    ------
    DataError
        If a label is unknown, a triple stands twice, or a positive has no score; names the row.
    ScoreError
        If a score is NaN or not a number.

    Examples
    --------
    >>> test = pd.DataFrame([["Jack", "born_in", "Italy"]])
    >>> train = pd.DataFrame([["China", "borders", "Germany"]])
    >>> table = pd.DataFrame(
    ...     [["Jack", "born_in", "Italy", 0.7], ["Jack", "born_in", "China", 0.8], ["Jack", "born_in", "Germany", 0.1]],
    ...     columns=["s", "p", "o", "score"],
    ... )
    >>> evaluate_scores(table, Dataset.from_frames(train=train, test=test))["object.mrr"]
    0.5
    """
    listed, values = _listed_triples(scores, dataset)
    given_protocol = protocol or Protocol()
    if given_protocol.unseen not in (None, "rank"):
        raise ProtocolError(
            f"a table of scores is ranked as it is: unseen must be 'rank'; got {given_protocol.unseen!r}"
        )
    asked = replace(given_protocol, candidates="listed").resolved(dataset)
    positives = Positives.of(dataset, asked)
    known = known_triples(dataset, asked.filter_splits or ())
    ranked = {side: _rank_side(dataset, positives.triples, side, listed, values, known) for side in asked.sides}
    has_rivals = {side: counts["filtered"].rivals > 0 for side, (_, counts) in ranked.items()}
    sides = tuple(side for side in asked.sides if has_rivals[side].any())
    if not sides:
        raise DataError("no positive has a negative in the table; list triples that differ from it in one entity")
    if protocol is None:
        asked = replace(asked, sides=sides)
    frames = [
        positives.frame(side, asked, *ranked[side]).iloc[np.flatnonzero(has_rivals[side])] for side in asked.sides
    ]
    return assemble(
        dataset,
        asked,
        positives,
        frames,
        {NO_NEGATIVES: sum(int((~has_rivals[side]).sum()) for side in asked.sides)},
        {"scorer": "scores", "n_queries": sum(len(Queries.of(positives.triples, side)) for side in asked.sides)},
    )


def _listed_triples(frame: pd.DataFrame, dataset: Dataset) -> tuple[Ids, Scores]:
    """Return ids and scores of the table, every row checked."""
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"scores: expected a pandas.DataFrame (kgeval.read_scores reads a file); got {type(frame).__name__}"
        )
    lowered = [str(column).lower() for column in frame.columns]
    if lowered.count("score") != 1:
        raise DataError(f"scores: expected one column 'score'; got {[str(column) for column in frame.columns]}")
    values = as_scores(frame.iloc[:, lowered.index("score")].to_numpy(), "the column 'score'")
    rows = frame.iloc[:, [place for place, name in enumerate(lowered) if name != "score"]]
    places = frame_columns("scores", rows)
    columns = []
    for i, vocabulary in enumerate((dataset.entities, dataset.relations, dataset.entities)):
        column = as_labels("scores", rows.iloc[:, places[i]].to_numpy(dtype=object), i)
        ids = vocabulary.find(column.categories.to_numpy(dtype=object))[column.codes]
        if (ids < 0).any():
            row = int(np.flatnonzero(ids < 0)[0])
            raise DataError(
                f"scores, row {row}, column {i}: {column[row]!r} does not occur in dataset {dataset.name!r}"
            )
        columns.append(ids)
    s, p, o = columns
    if np.isnan(values.astype(np.float64)).any():
        row = int(np.flatnonzero(np.isnan(values))[0])
        triple = triple_labels(dataset, s[row], p[row], o[row])
        raise ScoreError(f"scores, row {row}: {triple} has score NaN; a NaN cannot be ranked")
    order, starts = group_rows(s, p, o)
    repeated = starts[:-1][np.diff(starts) > 1]
    if len(repeated):
        first, second = order[repeated[0]], order[repeated[0] + 1]
        triple = triple_labels(dataset, s[first], p[first], o[first])
        raise DataError(f"scores, rows {first} and {second}: {triple} stands twice; keep one")
    return np.column_stack(columns), values


def _rank_side(
    dataset: Dataset, triples: Ids, side: str, listed: Ids, values: Scores, known: Ids
) -> tuple[Scores, dict[str, RankCounts]]:
    """Return the positives' scores and their counts among the listed, in the triples' order."""
    given, answer = given_and_asked(listed, side)
    order = np.lexsort((answer, given, listed[:, 1]))
    row_scores = values[order]
    is_known_row = KnownIndex.of(known, side).contains(listed[:, 1], given, answer)[order]
    listing = KnownIndex.of(listed, side)
    queries = Queries.of(triples, side)
    starts, stops = listing.spans(queries.relation, queries.given)
    counts = {setting: RankCounts.zeros(len(triples)) for setting in ("raw", "known")}
    scores = np.empty(len(triples), dtype=values.dtype)
    for i in range(len(queries)):
        query, here = queries.part(i, i + 1), slice(starts[i], stops[i])
        row, candidates, is_known = row_scores[here], listing.answers[here], is_known_row[here]
        is_listed = np.isin(query.answers, candidates)
        if not is_listed.all():
            s, p, o = triples[query.rows[~is_listed][0]]
            raise DataError(
                f"scores: the positive {triple_labels(dataset, s, p, o)} has no score in the table; add its row"
            )
        places = np.searchsorted(candidates, query.answers)
        scores[query.rows] = row[places]
        for setting, among, is_self in (
            ("raw", row, np.ones(len(places), dtype=np.int64)),
            ("known", row[is_known], is_known[places].astype(np.int64)),
        ):
            better, equal = count_row(among, row[places])
            counts[setting].better[query.rows] = better
            counts[setting].tied[query.rows] = equal - is_self
            counts[setting].rivals[query.rows] = len(among) - is_self
    return scores, {"raw": counts["raw"], "filtered": counts["raw"] - counts["known"]}
