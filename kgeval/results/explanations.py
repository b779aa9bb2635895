"""Explanations of ranks: re-score a query, and list the candidates above the positive or tied with it.

`EvaluationResult.explain`, `EvaluationResult.save` and `Evaluator.explain` call this module.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kgeval.checks import Ids, Scores
from kgeval.data import Dataset, KnownIndex, Protocol, given_and_asked, known_triples, query_parts, triple_labels
from kgeval.errors import DataError, ScoreError
from kgeval.kernels import Order
from kgeval.results.files import RIVAL_COLUMNS
from kgeval.results.rank_table import RankTable
from kgeval.scorers import TOLERANCE, TOLERANCE_OF_HALVES

N_EXAMPLES, N_RIVALS = 10, 5  # a saved result contains 5 rivals for each of the 10 worst and 10 best ranks


class Source(typing.Protocol):
    """The dataset and the scorer from which a result was computed, while they are in memory.

    A source with the attribute ``is_stored = True`` looks up the lists of a file: nothing is scored again, so no counts
    are compared.
    """

    @property
    def dataset(self) -> Dataset:
        """The dataset that was evaluated."""

    @property
    def is_exact(self) -> bool:
        """Whether scoring a triple again gives exactly the same score, whatever else is scored in the same call."""

    def candidate_scores(self, side: str, triple: Ids, row: int | None) -> tuple[Ids, Scores]:
        """Re-score the query of a triple, and return its candidates and their scores.

        Parameters
        ----------
        side : str
        triple : int64 array, shape (3,)
        row : int, optional
            The index of the triple's row in the result's table; None if the triple was not ranked.

        Returns
        -------
        candidates : int64 array, shape (candidates,)
            Sorted ids.
        scores : float array, shape (candidates,)
        """


@dataclass(frozen=True)
class _ScoredQuery:
    """A re-scored query: its candidates, their scores, and which candidates score above the positive or equal to it.

    Parameters
    ----------
    side : str
    triple : int64 array, shape (3,)
        The positive.
    candidates : int64 array, shape (candidates,)
        Sorted ids.
    scores : float array, shape (candidates,)
    answer : int
        The index of the positive in `candidates`.
    order : Order
        Three arrays of indices in `candidates`: the candidates that score higher than the positive (``above``),
        equal to it (``tied``), and lower (``below``).
    """

    side: str
    triple: Ids
    candidates: Ids
    scores: Scores
    answer: int
    order: Order

    @classmethod
    def of(cls, source: Source, side: str, triple: Ids, row: int | None) -> _ScoredQuery:
        """Re-score the query of a triple on a side; raise a DataError if the answer is not a candidate."""
        _, answers = given_and_asked(triple[None], side)
        candidates, scores = source.candidate_scores(side, triple, row)
        answer = int(np.searchsorted(candidates, answers[0]))
        if answer == len(candidates) or candidates[answer] != answers[0]:
            label = source.dataset.entities.labels[answers[0]]
            raise DataError(
                f"{label!r} is not a candidate: it does not occur in train, or the table of scores does not contain it"
            )
        return cls(side, triple, candidates, scores, answer, Order.around(scores, answer))


def explain_triple(
    source: Source, protocol: Protocol, side: str, triple: Ids, row: int | None = None, limit: int | None = None
) -> pd.DataFrame:
    """Return the candidates that score above a triple or equal to it; see `kgeval.EvaluationResult.explain`.

    Parameters
    ----------
    source : Source
    protocol : Protocol
        The triples in its ``filter_splits`` are the known triples.
    side : str
    triple : int64 array, shape (3,)
    row : int, optional
        The index of the triple's row in the result's table, if the triple was ranked.
    limit : int, optional
        Return at most this many candidates above the triple, and at most this many tied candidates.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    DataError
        If the answer of the query is not a candidate, or if `limit` is not an integer of at least 0.
    """
    _check_limit(limit)
    return _explained_frame(_ScoredQuery.of(source, side, triple, row), source.dataset, protocol, limit)


def explain_row(ranks: RankTable, source: Source, row: int, limit: int | None) -> pd.DataFrame:
    """Return the table of `explain_triple` for a ranked row; first check that re-scoring gives the stored counts.

    Parameters
    ----------
    ranks : RankTable
    source : Source
    row : int
        Index in the table of ranks.
    limit : int or None
        As in `explain_triple`.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    DataError
        If the row has no score, or if `limit` is not an integer of at least 0.
    ScoreError
        If re-scoring gives other counts than the stored counts.
    """
    _check_limit(limit)
    return _explained_frame(_rescored_row(ranks, source, row), source.dataset, ranks.protocol, limit)


def _check_limit(limit: int | None) -> None:
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, np.integer)) or limit < 0):
        raise DataError(f"limit must be an integer of at least 0, or None; got {limit!r}")


def _explained_frame(query: _ScoredQuery, dataset: Dataset, protocol: Protocol, limit: int | None) -> pd.DataFrame:
    """Return the table of `explain_triple` for a re-scored query."""
    order = query.order
    # Four arrays with one element per candidate: first the candidates above, then the tied ones, then the answer.
    # columns: the index in `candidates`; stands: above, tied or answer; known: the splits in which the triple with this
    # candidate is known, or ""; counts: whether the candidate counts in the filtered rank.
    columns = np.concatenate([order.above, order.tied, [query.answer]])
    stands = np.repeat(["above", "tied", "answer"], [len(order.above), len(order.tied), 1])
    known = np.array(_known_in(dataset, protocol.filter_splits or (), query, query.candidates[columns]))
    counts = (known == "") & (stands != "answer")
    n_above = len(order.above)
    # Indices into the four arrays: the first `limit` candidates above, the first `limit` tied candidates, the positive.
    shown = np.concatenate(
        [np.arange(n_above)[:limit], n_above + np.arange(len(order.tied))[:limit], [len(columns) - 1]]
    )
    shown = shown.astype(np.int64)
    entities = query.candidates[columns[shown]]
    frame = pd.DataFrame(
        {
            "candidate": pd.Series([dataset.entities.labels[i] for i in entities], dtype=object),
            "id": entities,
            "score": query.scores[columns[shown]],
            "stands": stands[shown],
            "known_in": known[shown],
            "counts": counts[shown],
        }
    )
    frame.attrs |= {
        "n_above": n_above,
        "n_tied": len(order.tied),
        "n_above_counting": int((counts & (stands == "above")).sum()),
        "n_tied_counting": int((counts & (stands == "tied")).sum()),
        "n_candidates": len(query.candidates),
    }
    return frame


def nearest_rivals(ranks: RankTable, source: Source, rows: Ids, n: int = N_RIVALS) -> pd.DataFrame:
    """Return the rivals with the highest scores for each of `rows`; known answers are left out.

    Parameters
    ----------
    ranks : RankTable
    source : Source
    rows : int64 array
        Indices in the table of ranks.
    n : int
        The largest number of rivals to return for a row.

    Returns
    -------
    pandas.DataFrame
        Columns: ``row`` (index in the table), ``place`` (1 is the best rival), ``entity`` (id), ``score``.

    Raises
    ------
    ScoreError
        If re-scoring gives other counts than the stored counts.
    """
    triples = known_triples(source.dataset, ranks.protocol.filter_splits or ())
    indices = {side: KnownIndex.of(*query_parts(triples, side)) for side in ranks.protocol.sides}
    parts = []
    for row in rows:
        query = _rescored_row(ranks, source, int(row))
        # Indices of all rivals in `candidates`, best first.
        columns = np.concatenate([query.order.above, query.order.tied, query.order.below])
        query_key, _ = query_parts(query.triple[None], query.side)
        _, known = indices[query.side].lookup(*query_key)
        # The n best rivals that are not known answers.
        best = columns[~np.isin(query.candidates[columns], known)][:n]
        values = row, np.arange(1, len(best) + 1), query.candidates[best], query.scores[best]
        parts.append(pd.DataFrame(dict(zip(RIVAL_COLUMNS, values))))
    return pd.concat(parts, ignore_index=True) if parts else no_rivals()


def no_rivals() -> pd.DataFrame:
    """Return an empty table of rivals."""
    return pd.DataFrame({name: np.zeros(0, dtype=np.int64) for name in RIVAL_COLUMNS})


def extreme_rows(ranks: RankTable, n: int = N_EXAMPLES) -> Ids:
    """Return the indices of the rows with the `n` worst and the `n` best filtered ranks.

    The worst ranks come first, starting with the worst; the best ranks follow, starting with the best. Of two equal
    ranks, the rank among more rivals counts as better. Rows without a score are left out, and rows without a rank: a
    rank may be undecided or unknown.

    Parameters
    ----------
    ranks : RankTable
    n : int

    Returns
    -------
    int64 array, shape (at most 2 * n,)
        No row occurs twice.
    """
    counts = ranks.counts("filtered")
    # Indices of the rows, from the best rank to the worst; the last key of `lexsort` is the first sort criterion.
    values = ranks.ranks("filtered")
    order = np.lexsort((-counts.rivals, values))
    order = order[~np.isnan(ranks.frame["score"].to_numpy().astype(np.float64)[order] + values[order])]
    return np.concatenate([order[::-1][:n], order[: min(n, max(0, len(order) - n))]])


def _rescored_row(ranks: RankTable, source: Source, row: int) -> _ScoredQuery:
    """Re-score the query of a row; raise a ScoreError if the raw counts differ from the stored counts.

    If the scorer does not always return exactly the same scores, differences that rounding can explain are allowed.
    """
    stored = ranks.frame.iloc[row]
    side, triple = stored["side"], np.array([stored["s"], stored["p"], stored["o"]], dtype=np.int64)
    if getattr(source, "is_stored", False):
        return _ScoredQuery.of(source, side, triple, row)
    labels = triple_labels(source.dataset, *triple)
    if stored["score"] != stored["score"]:
        raise DataError(
            f"{labels} was not scored on the {side} side: it contains an entity or relation that does not occur in "
            "train"
        )
    if ranks.is_undecided("raw", np.array([row]))[0]:
        raise DataError(f"the rank of {labels} on the {side} side is undecided: it is only known to lie between bounds")
    query = _ScoredQuery.of(source, side, triple, row)
    stored_counts = int(stored["better_raw"]), int(stored["tied_raw"])
    new_counts = len(query.order.above), len(query.order.tied)
    is_same = stored_counts == new_counts
    if not is_same and not source.is_exact:  # rounding may depend on what is scored together
        tolerance = TOLERANCE_OF_HALVES if query.scores.dtype.itemsize == 2 else TOLERANCE
        is_same = Order.could_have_stood(query.scores, query.answer, float(stored["score"]), stored_counts, tolerance)
    if not is_same:
        raise ScoreError(
            f"{labels}, {side} side, was ranked with {stored_counts[0]} candidates above it and {stored_counts[1]} "
            f"tied; re-scoring gives {new_counts[0]} above and {new_counts[1]} tied. Has the model changed since? "
            "Evaluate it again"
        )
    return query


def _known_in(dataset: Dataset, splits: Sequence[str], query: _ScoredQuery, entities: Ids) -> list[str]:
    """Return one text per entity: the splits in which the entity answers the query, joined by ``+``; "" if none."""
    splits_of: list[list[str]] = [[] for _ in entities]
    (query_given,), _ = given_and_asked(query.triple[None], query.side)
    for split in splits:
        triples = dataset[split].array
        given, answers = given_and_asked(triples, query.side)
        answers = answers[(given == query_given) & (triples[:, 1] == query.triple[1])]
        for i in np.flatnonzero(np.isin(entities, answers)):
            splits_of[i].append(split)
    return ["+".join(names) for names in splits_of]
