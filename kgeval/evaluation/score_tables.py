"""evaluate_scores(): ranks from a table of scored triples, each positive against the negatives listed with it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from kgeval.checks import Bools, Ids, Scores
from kgeval.data import (
    SIDES,
    All,
    Dataset,
    KnownIndex,
    Protocol,
    Queries,
    Recorded,
    RowKeys,
    fingerprint_triples,
    frame_ids,
    given_and_asked,
    group_rows,
    known_triples,
    query_parts,
    rank_in,
    triple_labels,
)
from kgeval.errors import DataError, ProtocolError, ScoreError
from kgeval.evaluation.assembly import Positives, assemble
from kgeval.kernels import Places, count_known
from kgeval.ranking import RankCounts
from kgeval.results import EvaluationResult
from kgeval.scorers import as_scores

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
    positives = Positives.of(dataset, given_protocol.resolved(dataset))
    asked = _with_lists(given_protocol, dataset, listed[_competes(listed, positives.triples)]).resolved(dataset)
    known = KnownIndex.of(*query_parts(known_triples(dataset, asked.filter_splits or ()), "object"))
    is_known = known.contains(listed[:, 1], listed[:, 0], listed[:, 2])
    rows = _rows_of_positives(dataset, positives.triples, listed)
    ranked = {side: (values[rows], _count_side(side, listed, values, is_known, rows)) for side in asked.sides}
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
        TableSource(dataset, listed, values),
    )


@dataclass(frozen=True, eq=False)
class TableSource:
    """A table of scored triples that ranks can be explained from; see `kgeval.results.explanations.Source`.

    Parameters
    ----------
    dataset : Dataset
    listed : int64 array, shape (rows, 3)
    scores : array, shape (rows,)
    """

    dataset: Dataset
    listed: Ids
    scores: Scores

    @property
    def is_exact(self) -> bool:
        """Always: a table does not change."""
        return True

    def candidate_scores(self, side: str, triple: Ids, row: int | None) -> tuple[Ids, Scores]:
        """Return the entities that the table lists for a triple's query, and their scores."""
        given_of, asked_of = given_and_asked(self.listed, side)
        (given,), _ = given_and_asked(triple[None], side)
        rows = np.flatnonzero((given_of == given) & (self.listed[:, 1] == triple[1]))
        rows = rows[np.argsort(asked_of[rows])]
        return asked_of[rows], self.scores[rows]


def _with_lists(protocol: Protocol, dataset: Dataset, listed: Ids) -> Protocol:
    """Return the protocol with the lists of a table as its candidates, written as their digest."""
    digest = fingerprint_triples("kgeval listed 1", dataset.entities, dataset.relations, {"listed": listed})
    candidates = Recorded("listed", digest)
    if protocol.candidates not in (All(), candidates):
        raise ProtocolError(
            f"a table of scores says itself who competes: {candidates.describe()}; the protocol says "
            f"{protocol.candidates.describe()}. Leave candidates out"
        )
    return replace(protocol, candidates=candidates)


def _competes(listed: Ids, positives: Ids) -> Bools:
    """Return which rows of a table answer a query of some positive, on either side; others rank nothing."""
    is_used = np.zeros(len(listed), dtype=bool)
    for side in SIDES:
        (relation, given), _ = query_parts(np.concatenate([listed, positives]), side)
        _, keys = RowKeys.of(relation, given)
        is_used |= np.isin(keys[: len(listed)], keys[len(listed) :])
    return is_used


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
    triples = frame_ids("scores", rows, dataset.entities, dataset.relations, dataset.name)
    s, p, o = triples.T
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
    return triples, values


def _rows_of_positives(dataset: Dataset, triples: Ids, listed: Ids) -> Ids:
    """Return the row of the table in which each triple stands."""
    layout, keys = RowKeys.of(*listed.T)
    order = np.argsort(keys)
    wanted, is_possible = layout.encode(*triples.T)
    places, is_listed = rank_in(keys[order], wanted)
    is_listed &= is_possible
    if not is_listed.all():
        s, p, o = triples[~is_listed][0]
        raise DataError(
            f"scores: the positive {triple_labels(dataset, s, p, o)} has no score in the table; add its row"
        )
    return order[places]


def _count_side(side: str, listed: Ids, values: Scores, is_known: Bools, rows: Ids) -> dict[str, RankCounts]:
    """Return the counts of the positives, which stand in `rows` of the table, among what is listed with each."""
    given, asked = given_and_asked(listed, side)
    order, starts = group_rows(listed[:, 1], given)
    query = np.empty(len(listed), dtype=np.int64)
    query[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    by_query = np.argsort(query[rows], kind="stable")
    mine = rows[by_query]
    counts = {}
    for setting, among, is_self in (
        ("raw", order, np.ones(len(mine), dtype=np.int64)),
        ("known", order[is_known[order]], is_known[mine].astype(np.int64)),
    ):
        better, equal = count_known(
            Places(query[mine], asked[mine], query[among], asked[among]), values[among], values[mine]
        )
        n_listed = np.bincount(query[among], minlength=len(starts))[query[mine]]
        counts[setting] = RankCounts.zeros(len(rows))
        counts[setting].better[by_query] = better
        counts[setting].tied[by_query] = equal - is_self
        counts[setting].rivals[by_query] = n_listed - is_self
    return {"raw": counts["raw"], "filtered": counts["raw"] - counts["known"]}
