"""evaluate_scores(): ranks from a table of scored triples.

Each positive is ranked against the rows of the table that share its query. Users call it, and so does
``kgeval evaluate --scores``.
"""

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
        higher is better. Contains each positive once, and its negatives; `kgeval.read_scores` reads a file.
    dataset : Dataset
        Its splits determine the positives and the known triples.
    protocol : Protocol, optional
        By default the test split, and each side on which the table has a negative of at least one positive.
        A positive without a negative on an evaluated side is dropped there, and the result counts it. Known triples
        are not negatives.

    Returns
    -------
    EvaluationResult

    Raises
    ------
    DataError
        If a label is unknown, a triple occurs twice, or a positive has no score; names the row.
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
    resolved = _with_lists(given_protocol, dataset, listed[_competes(listed, positives.triples)]).resolved(dataset)
    known = KnownIndex.of(*query_parts(known_triples(dataset, resolved.filter_splits or ()), "object"))
    is_known = known.contains(listed[:, 1], listed[:, 0], listed[:, 2])
    rows = _rows_of_positives(dataset, positives.triples, listed)
    ranked = {side: (values[rows], _count_side(side, listed, values, is_known, rows)) for side in resolved.sides}
    has_rivals = {side: counts["filtered"].rivals > 0 for side, (_, counts) in ranked.items()}
    sides = tuple(side for side in resolved.sides if has_rivals[side].any())
    if not sides:
        raise DataError("no positive has a negative in the table; list triples that differ from it in one entity")
    if protocol is None:
        resolved = replace(resolved, sides=sides)
    frames = [
        positives.frame(side, resolved, *ranked[side]).iloc[np.flatnonzero(has_rivals[side])] for side in resolved.sides
    ]
    return assemble(
        dataset,
        resolved,
        positives,
        frames,
        {NO_NEGATIVES: sum(int((~has_rivals[side]).sum()) for side in resolved.sides)},
        {"scorer": "scores", "n_queries": sum(len(Queries.of(positives.triples, side)) for side in resolved.sides)},
        TableSource(dataset, listed, values),
    )


@dataclass(frozen=True, eq=False)
class TableSource:
    """A table of scored triples that explains ranks, as a `kgeval.results.explanations.Source`.

    Parameters
    ----------
    dataset : Dataset
    listed : int64 array, shape (rows, 3)
        The triples of the table, as ids.
    scores : array, shape (rows,)
    """

    dataset: Dataset
    listed: Ids
    scores: Scores

    @property
    def is_exact(self) -> bool:
        """Whether scores are exact: always, since a table does not change."""
        return True

    def candidate_scores(self, side: str, triple: Ids, row: int | None) -> tuple[Ids, Scores]:
        """Return the entities that the table lists for a triple's query, by rising id, and their scores."""
        given_of, answer_of = given_and_asked(self.listed, side)
        (given,), _ = given_and_asked(triple[None], side)
        rows = np.flatnonzero((given_of == given) & (self.listed[:, 1] == triple[1]))
        rows = rows[np.argsort(answer_of[rows])]
        return answer_of[rows], self.scores[rows]


def _with_lists(protocol: Protocol, dataset: Dataset, listed: Ids) -> Protocol:
    """Return the protocol with the lists of the table as its candidates; a digest identifies the lists."""
    digest = fingerprint_triples("kgeval listed 1", dataset.entities, dataset.relations, {"listed": listed})
    candidates = Recorded("listed", digest)
    if protocol.candidates not in (All(), candidates):
        raise ProtocolError(
            f"a table of scores determines the candidates: {candidates.describe()}; the protocol has "
            f"{protocol.candidates.describe()}. Leave candidates out"
        )
    return replace(protocol, candidates=candidates)


def _competes(listed: Ids, positives: Ids) -> Bools:
    """Return which rows share a query with a positive, on either side, shape (rows,); other rows are not used."""
    is_used = np.zeros(len(listed), dtype=bool)
    for side in SIDES:
        (relation, given), _ = query_parts(np.concatenate([listed, positives]), side)
        # One key per (relation, given entity): first those of the rows, then those of the positives.
        _, keys = RowKeys.of(relation, given)
        is_used |= np.isin(keys[: len(listed)], keys[len(listed) :])
    return is_used


def _listed_triples(frame: pd.DataFrame, dataset: Dataset) -> tuple[Ids, Scores]:
    """Return the triples as ids, shape (rows, 3), and the scores, shape (rows,), all checked."""
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
    # `order` sorts the rows by triple; group i of equal triples is order[starts[i]:starts[i + 1]].
    order, starts = group_rows(s, p, o)
    repeated = starts[:-1][np.diff(starts) > 1]
    if len(repeated):
        first, second = order[repeated[0]], order[repeated[0] + 1]
        triple = triple_labels(dataset, s[first], p[first], o[first])
        raise DataError(f"scores, rows {first} and {second}: {triple} occurs twice; keep one")
    return triples, values


def _rows_of_positives(dataset: Dataset, triples: Ids, listed: Ids) -> Ids:
    """Return the row of the table that contains each triple, shape (n,)."""
    layout, keys = RowKeys.of(*listed.T)  # one sortable key per row of the table
    order = np.argsort(keys)
    wanted, is_possible = layout.encode(*triples.T)
    places, is_listed = rank_in(keys[order], wanted)  # the place of each triple's key among the sorted keys
    is_listed &= is_possible
    if not is_listed.all():
        s, p, o = triples[~is_listed][0]
        raise DataError(
            f"scores: the positive {triple_labels(dataset, s, p, o)} has no score in the table; add its row"
        )
    return order[places]


def _count_side(side: str, listed: Ids, values: Scores, is_known: Bools, rows: Ids) -> dict[str, RankCounts]:
    """Return the counts of the positives, by setting, among the rows of the table that share their query.

    Parameters
    ----------
    side : str
    listed : int64 array, shape (rows, 3)
    values : array, shape (rows,)
        The scores.
    is_known : bool array, shape (rows,)
        Whether a row is a known triple.
    rows : int64 array, shape (n,)
        The row of each positive.
    """
    given, answer = given_and_asked(listed, side)
    # `order` sorts the rows by query; query[row] is the number of the row's query, shape (rows,).
    order, starts = group_rows(listed[:, 1], given)
    query = np.empty(len(listed), dtype=np.int64)
    query[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    # positives: the rows of the positives, sorted by query, shape (n,); position by_query[i] is place i there.
    by_query = np.argsort(query[rows], kind="stable")
    positives = rows[by_query]
    counts = {}
    for setting, among, is_self in (
        ("raw", order, np.ones(len(positives), dtype=np.int64)),
        ("known", order[is_known[order]], is_known[positives].astype(np.int64)),
    ):
        # Per positive: listed rows of its query with a higher and with an equal score. The positive's row is one of
        # the equal ones if it is among them (`is_self`), and is subtracted below.
        better, equal = count_known(
            Places(query[positives], answer[positives], query[among], answer[among]), values[among], values[positives]
        )
        n_listed = np.bincount(query[among], minlength=len(starts))[query[positives]]
        counts[setting] = RankCounts.zeros(len(rows))
        counts[setting].better[by_query] = better
        counts[setting].tied[by_query] = equal - is_self
        counts[setting].rivals[by_query] = n_listed - is_self
    return {"raw": counts["raw"], "filtered": counts["raw"] - counts["known"]}
