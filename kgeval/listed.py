"""evaluate_scores(): ranks from a table of scored triples, each positive against the negatives listed with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Ids
from kgeval.corruption import KnownIndex, known_triples
from kgeval.dataset import Dataset, as_labels, frame_columns
from kgeval.errors import DataError, ProtocolError, ScoreError
from kgeval.evaluate import about, ranks_frame, with_cautions
from kgeval.kernels.numpy_kernels import count_row
from kgeval.protocol import Protocol
from kgeval.queries import SIDES, Queries
from kgeval.ranks import RankCounts
from kgeval.results import EvaluationResult
from kgeval.scoring import as_scores

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
        A positive without any on an evaluated side is dropped there, and counted.

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
    if given_protocol.unseen != "rank":
        raise ProtocolError(
            f"a table of scores is ranked as it is: unseen must be 'rank'; got {given_protocol.unseen!r}"
        )
    asked = Protocol(given_protocol.sides, given_protocol.filter_splits, "rank", given_protocol.splits, "listed")
    asked = asked.resolved(dataset)
    parts = [dataset[split].array for split in asked.splits]
    triples = np.concatenate(parts)
    if not len(triples):
        raise DataError(f"split {'+'.join(asked.splits)} of {dataset.name!r} has 0 triples; nothing to rank")
    splits = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    known = known_triples(dataset, asked.filter_splits or ())
    ranked = {side: _rank_side(dataset, triples, side, listed, values, known) for side in asked.sides}
    sides = tuple(side for side in SIDES if side in ranked and ranked[side][1]["raw"].rivals.any())
    if not sides:
        raise DataError("no positive has a negative in the table; list triples that differ from it in one entity")
    if protocol is None:
        asked = Protocol(sides, asked.filter_splits, "rank", asked.splits, "listed")
    frames, n_dropped = [], 0
    for side in asked.sides:
        score, counts = ranked[side]
        has_rivals = counts["raw"].rivals > 0
        n_dropped += int((~has_rivals).sum())
        frames.append(ranks_frame(triples, splits, side, asked, score, counts).iloc[np.flatnonzero(has_rivals)])
    is_seen = np.concatenate([dataset.is_seen(split) for split in asked.splits])
    n_queries = sum(len(Queries.of(triples, side)) for side in asked.sides)
    return with_cautions(
        EvaluationResult(
            table=pd.concat(frames, ignore_index=True),
            entities=dataset.entities,
            relations=dataset.relations,
            protocol=asked,
            about=about(dataset, "scores", triples, n_queries, is_seen),
            dropped={NO_NEGATIVES: n_dropped} if n_dropped else {},
            n_read=len(triples) * len(asked.sides),
        )
    )


def _listed_triples(frame: pd.DataFrame, dataset: Dataset) -> tuple[Ids, Scores]:
    """Return ids and scores of the table, every row checked."""
    if "score" not in frame.columns:
        raise DataError(f"scores: expected a column 'score'; got {[str(column) for column in frame.columns]}")
    values = as_scores(frame["score"].to_numpy(), "the column 'score'")
    names = frame_columns("scores", frame.drop(columns="score"))
    columns = []
    for i, (name, vocabulary) in enumerate(zip(names, (dataset.entities, dataset.relations, dataset.entities))):
        column = as_labels("scores", frame[name].to_numpy(dtype=object), i)
        ids = vocabulary.find(column.categories.to_numpy(dtype=object))[column.codes]
        if (ids < 0).any():
            row = int(np.flatnonzero(ids < 0)[0])
            raise DataError(f"scores, row {row}: {column[row]!r} ({name}) does not occur in dataset {dataset.name!r}")
        columns.append(ids)
    if np.isnan(values.astype(np.float64)).any():
        row = int(np.flatnonzero(np.isnan(values))[0])
        raise ScoreError(f"scores, row {row}: {tuple(frame[names].iloc[row])} has score NaN; a NaN cannot be ranked")
    repeated = frame.duplicated(names, keep=False).to_numpy()
    if repeated.any():
        first, *others = np.flatnonzero(repeated)
        triple = tuple(frame[names].iloc[first])
        second = next(row for row in others if tuple(frame[names].iloc[row]) == triple)
        raise DataError(f"scores, rows {first} and {second}: {triple} stands twice; keep one")
    return np.column_stack(columns), values


def _rank_side(
    dataset: Dataset, triples: Ids, side: str, listed: Ids, values: Scores, known: Ids
) -> tuple[Scores, dict[str, RankCounts]]:
    """Return the positives' scores and their counts among the listed, in the triples' order."""
    given, answer = (listed[:, 2], listed[:, 0]) if side == "subject" else (listed[:, 0], listed[:, 2])
    ordered = values[np.lexsort((answer, given, listed[:, 1]))]
    listing, filter_index = KnownIndex.of(listed, side), KnownIndex.of(known, side)
    queries = Queries.of(triples, side)
    starts, stops = listing.spans(queries.relation, queries.given)
    counts = {setting: RankCounts.zeros(len(triples)) for setting in ("raw", "known")}
    scores = np.empty(len(triples), dtype=values.dtype)
    for i in range(len(queries)):
        query = queries.part(i, i + 1)
        row, candidates = ordered[starts[i] : stops[i]], listing.answers[starts[i] : stops[i]]
        is_listed = np.isin(query.answers, candidates)
        if not is_listed.all():
            s, p, o = triples[query.rows[~is_listed][0]]
            labels = (dataset.entities.labels[s], dataset.relations.labels[p], dataset.entities.labels[o])
            raise DataError(f"scores: the positive {labels} has no score in the table; add its row")
        positives = row[np.searchsorted(candidates, query.answers)]
        scores[query.rows] = positives
        is_known = np.isin(candidates, filter_index.lookup(query.relation, query.given)[1])
        is_known_self = np.isin(query.answers, candidates[is_known])
        better, equal = count_row(row, positives)
        known_better, known_equal = count_row(row[is_known], positives)
        counts["raw"].better[query.rows], counts["raw"].tied[query.rows] = better, equal - 1
        counts["known"].better[query.rows], counts["known"].tied[query.rows] = (
            known_better,
            known_equal - is_known_self,
        )
        counts["raw"].rivals[query.rows] = len(row) - 1
        counts["known"].rivals[query.rows] = is_known.sum() - is_known_self
    return scores, {"raw": counts["raw"], "filtered": counts["raw"] - counts["known"]}
