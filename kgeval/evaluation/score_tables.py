"""evaluate_scores(): rank each positive among the rows of a table of scores that have the same query.

Users and the command ``kgeval evaluate --scores`` call `evaluate_scores`.
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
from kgeval.evaluation.assembly import Positives, RankedSide, assemble
from kgeval.kernels import Places, count_known
from kgeval.ranking import RankCounts
from kgeval.results import EvaluationResult
from kgeval.scorers import as_scores

NO_NEGATIVES = "no negative is listed for it on this side"


def evaluate_scores(scores: pd.DataFrame, dataset: Dataset, protocol: Protocol | None = None) -> EvaluationResult:
    """Rank every triple of a split among those triples of a table of scores that differ from it in one entity.

    Parameters
    ----------
    scores : pandas.DataFrame
        Columns ``s, p, o`` (labels; `Dataset.from_frames` lists other possible column names) and ``score`` (higher is
        better). Contains each positive once, and its negatives. `kgeval.read_scores` reads such a table from a file.
    dataset : Dataset
        Its splits define the positives and the known triples.
    protocol : Protocol, optional
        By default the test split, and each side on which at least one positive has a negative in the table. If a
        positive has no negative on an evaluated side, its rank on that side is dropped; the result contains the number
        of dropped ranks. Known triples are not negatives.

    Returns
    -------
    EvaluationResult

    Raises
    ------
    DataError
        If a label is unknown, a triple occurs twice, or a positive has no score. The message names the row or the
        triple.
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
            f"with a table of scores, unseen must be 'rank'; got {given_protocol.unseen!r}. Remove unseen= "
            "from the protocol"
        )
    positives = Positives.of(dataset, given_protocol.resolved(dataset))
    resolved = _with_lists(given_protocol, dataset, listed[_shares_query(listed, positives.triples)]).resolved(dataset)
    known = KnownIndex.of(*query_parts(known_triples(dataset, resolved.filter_splits or ()), "object"))
    is_known = known.contains(listed[:, 1], listed[:, 0], listed[:, 2])
    rows = _rows_of_positives(dataset, positives.triples, listed)
    ranked = {side: (values[rows], _count_side(side, listed, values, is_known, rows)) for side in resolved.sides}
    has_rivals = {side: counts["filtered"].rivals > 0 for side, (_, counts) in ranked.items()}
    sides = tuple(side for side in resolved.sides if has_rivals[side].any())
    if not sides:
        raise DataError(
            "no positive has a negative in the table; add triples that differ from a positive in one entity"
        )
    if protocol is None:
        resolved = replace(resolved, sides=sides)
    return assemble(
        dataset,
        resolved,
        positives,
        [RankedSide.of(np.flatnonzero(has_rivals[side]), *ranked[side]) for side in resolved.sides],
        {NO_NEGATIVES: sum(int((~has_rivals[side]).sum()) for side in resolved.sides)},
        {"scorer": "scores", "n_queries": sum(len(Queries.of(positives.triples, side)) for side in resolved.sides)},
        TableSource(dataset, listed, values),
    )


@dataclass(frozen=True, eq=False)
class TableSource:
    """Looks up the scores of a query in a table of scores; implements `kgeval.results.explanations.Source`.

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
        """Whether a second look gives exactly the same scores: always True, since the scores are stored."""
        return True

    def candidate_scores(self, side: str, triple: Ids, row: int | None) -> tuple[Ids, Scores]:
        """Return the candidates that the table lists for the query of `triple`, as sorted ids, and their scores."""
        given_of, answer_of = given_and_asked(self.listed, side)
        (given,), _ = given_and_asked(triple[None], side)
        rows = np.flatnonzero((given_of == given) & (self.listed[:, 1] == triple[1]))
        rows = rows[np.argsort(answer_of[rows])]
        return answer_of[rows], self.scores[rows]


def _with_lists(protocol: Protocol, dataset: Dataset, listed: Ids) -> Protocol:
    """Return the protocol with candidates of the kind "listed" and a digest (hash) of the listed triples."""
    digest = fingerprint_triples("kgeval listed 1", dataset.entities, dataset.relations, {"listed": listed})
    candidates = Recorded("listed", digest)
    if protocol.candidates not in (All(), candidates):
        raise ProtocolError(
            f"a table of scores determines the candidates: {candidates.describe()}; the protocol has "
            f"{protocol.candidates.describe()}. Remove candidates= from the protocol"
        )
    return replace(protocol, candidates=candidates)


def _shares_query(listed: Ids, positives: Ids) -> Bools:
    """Return, for each listed triple, whether a positive has the same query on either side; bool, shape (rows,)."""
    is_used = np.zeros(len(listed), dtype=bool)
    for side in SIDES:
        (relation, given), _ = query_parts(np.concatenate([listed, positives]), side)
        # keys (rows + positives,): an integer per (relation, given entity), first of the rows, then of the positives.
        _, keys = RowKeys.of(relation, given)
        is_used |= np.isin(keys[: len(listed)], keys[len(listed) :])
    return is_used


def _listed_triples(frame: pd.DataFrame, dataset: Dataset) -> tuple[Ids, Scores]:
    """Check the table; return its triples as ids, shape (rows, 3), and its scores, shape (rows,)."""
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"scores: expected a pandas.DataFrame (kgeval.read_scores reads a file); got {type(frame).__name__}"
        )
    lowered = [str(column).lower() for column in frame.columns]
    if lowered.count("score") != 1:
        raise DataError(f"scores: expected one column 'score'; got {[str(column) for column in frame.columns]}")
    values = as_scores(frame.iloc[:, lowered.index("score")].to_numpy(), "the column 'score'")
    rows = frame.iloc[:, [i for i, name in enumerate(lowered) if name != "score"]]
    triples = frame_ids("scores", rows, dataset.entities, dataset.relations, dataset.name)
    s, p, o = triples.T
    if np.isnan(values.astype(np.float64)).any():
        row = int(np.flatnonzero(np.isnan(values))[0])
        triple = triple_labels(dataset, s[row], p[row], o[row])
        raise ScoreError(f"scores, row {row}: {triple} has score NaN; a NaN cannot be ranked")
    # order (rows,) sorts the rows by triple; the rows order[starts[i]:starts[i + 1]] contain the same triple.
    order, starts = group_rows(s, p, o)
    repeated = starts[:-1][np.diff(starts) > 1]
    if len(repeated):
        first, second = order[repeated[0]], order[repeated[0] + 1]
        triple = triple_labels(dataset, s[first], p[first], o[first])
        raise DataError(f"scores, rows {first} and {second}: {triple} occurs twice; keep one")
    return triples, values


def _rows_of_positives(dataset: Dataset, triples: Ids, listed: Ids) -> Ids:
    """Return, for each triple, the row of the table that contains it; int64, shape (n,)."""
    layout, keys = RowKeys.of(*listed.T)  # keys (rows,): one integer per triple of the table
    order = np.argsort(keys)
    triple_keys, is_possible = layout.encode(*triples.T)
    positions, is_listed = rank_in(keys[order], triple_keys)  # (n,): the position of each key in the sorted keys
    is_listed &= is_possible
    if not is_listed.all():
        s, p, o = triples[~is_listed][0]
        raise DataError(
            f"scores: the positive {triple_labels(dataset, s, p, o)} has no score in the table; add its row"
        )
    return order[positions]


def _count_side(side: str, listed: Ids, values: Scores, is_known: Bools, rows: Ids) -> dict[str, RankCounts]:
    """Return the raw and the filtered counts of each positive among the rows of the table with the same query.

    Parameters
    ----------
    side : str
    listed : int64 array, shape (rows, 3)
    values : array, shape (rows,)
        The scores.
    is_known : bool array, shape (rows,)
        Whether the triple of the row is known.
    rows : int64 array, shape (n,)
        The row of the table that contains each positive.
    """
    given, answer = given_and_asked(listed, side)
    # order (rows,) sorts the rows by query. query (rows,): the number (0, 1, ...) of the query of each row.
    order, starts = group_rows(listed[:, 1], given)
    query = np.empty(len(listed), dtype=np.int64)
    query[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    # by_query (n,) sorts the positives by query. positives (n,): the rows of the positives in this order.
    by_query = np.argsort(query[rows], kind="stable")
    positives = rows[by_query]
    counts = {}
    for setting, among, is_self in (
        ("raw", order, np.ones(len(positives), dtype=np.int64)),
        ("known", order[is_known[order]], is_known[positives].astype(np.int64)),
    ):
        # better, equal (n,): for each positive, the number of rows in `among` that have the same query and a higher
        # score, and the number of those with an equal score. `is_self` is 1 if `among` contains the positive itself; it
        # is subtracted below.
        better, equal = count_known(
            Places(query[positives], answer[positives], query[among], answer[among]), values[among], values[positives]
        )
        # n_listed (n,): for each positive, the number of rows in `among` with the same query.
        n_listed = np.bincount(query[among], minlength=len(starts))[query[positives]]
        counts[setting] = RankCounts.zeros(len(rows))
        counts[setting].better[by_query] = better
        counts[setting].tied[by_query] = equal - is_self
        counts[setting].rivals[by_query] = n_listed - is_self
    return {"raw": counts["raw"], "filtered": counts["raw"] - counts["known"]}
