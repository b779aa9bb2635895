"""Explanations of ranks: the candidates above the positive or tied with it, and a metric of a query place by place.

`EvaluationResult.explain`, `steps` and `save` and `Evaluator.explain` call this module.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, Scores
from kgeval.data.candidates import LAST
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.keys import facts_of
from kgeval.data.known import KnownIndex
from kgeval.data.protocol import Protocol
from kgeval.data.queries import query_parts
from kgeval.data.row_keys import rank_in
from kgeval.data.sides import side_of
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError, MetricError, ScoreError
from kgeval.kernels.best import best_columns
from kgeval.metrics import MR, MRR, Hits, RankMetric
from kgeval.metrics.query_level import QueryLevel
from kgeval.metrics.ranks import ranks_under
from kgeval.metrics.retrieval import steps
from kgeval.metrics.retrieval.lists import RankedLists
from kgeval.metrics.retrieval.stepwise import Steps
from kgeval.results.bounded import EXTREMES
from kgeval.results.files import RIVAL_COLUMNS
from kgeval.results.keys import Key
from kgeval.results.lists import query_columns, query_lists, triples_of
from kgeval.results.rank_table import RankTable
from kgeval.scorers.rounding import Rounding

COUNTS = ("n_above", "n_tied", "n_above_counting", "n_tied_counting", "n_candidates")
RANKS_IN_STEPS = (MR, MRR, Hits)  # the metrics of ranks that have steps
N_EXAMPLES, N_RIVALS = 10, 5  # a saved result contains 5 rivals for each of the 10 worst and 10 best ranks


class Source(typing.Protocol):
    """The dataset and the scorer from which a result was computed, while they are in memory.

    If a source has the attribute ``is_stored = True``, it looks up stored lists and scores nothing again, so counts are
    not compared. A source may have a method ``best_rivals``, which finds the best candidates of many triples faster
    than `candidate_scores`; see `kgeval.evaluation.rescoring.ScorerSource`.
    """

    @property
    def dataset(self) -> Dataset:
        """The dataset that was evaluated."""

    @property
    def is_exact(self) -> bool:
        """Whether scoring a triple again always gives exactly the same score, also in a call with other triples."""

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
    """A re-scored query: its candidates and their scores, and the candidates above the positive or tied with it.

    Parameters
    ----------
    side : str
    triple : int64 array, shape (3 or more,)
        The positive, with the codes of the filter key.
    candidates : int64 array, shape (candidates,)
        Sorted ids.
    scores : float array, shape (candidates,)
    answer : int
        The index of the positive in `candidates`.
    n_above : int
        The number of candidates that score higher than the positive.
    tied : int64 array
        The indices in `candidates` of the other candidates with the same score as the positive, ascending.
    """

    side: str
    triple: Ids
    candidates: Ids
    scores: Scores
    answer: int
    n_above: int
    tied: Ids

    @classmethod
    def of(cls, source: Source, side: str, triple: Ids, row: int | None) -> _ScoredQuery:
        """Re-score the query of a triple on a side; raise a DataError if the answer is not a candidate."""
        answers = query_parts(triple[None], side)[1]
        candidates, scores = source.candidate_scores(side, triple, row)
        key = _key_of(source, triple, row)
        answer = int(np.searchsorted(candidates, answers[0]))
        if answer == len(candidates) or candidates[answer] != answers[0]:
            label = side_of(side).vocabulary(source.dataset).labels[answers[0]]
            raise DataError(
                f"{label!r} is not a candidate: it does not occur in train, or the table of scores does not contain it"
            )
        tied = np.flatnonzero(scores == scores[answer])
        n_above = int(np.count_nonzero(scores > scores[answer]))
        return cls(side, key, candidates, scores, answer, n_above, tied[tied != answer])


def _key_of(source: Source, triple: Ids, row: int | None) -> Ids:
    """Return a triple with the codes of the filter key; sources without key have no method for it."""
    key_of = getattr(source, "key_of", None)
    return triple if key_of is None else np.asarray(key_of(triple, row))


def explain_triple(
    source: Source, protocol: Protocol, side: str, triple: Ids, row: int | None = None, limit: int | None = None
) -> pd.DataFrame:
    """Return the candidates that score above a triple or equal to it; see `kgeval.EvaluationResult.explain`.

    Parameters
    ----------
    source : Source
    protocol : Protocol
        The triples in its ``filter`` are the known triples.
    side : str
    triple : int64 array, shape (3 or more,)
        With the codes of the source's further columns.
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


def explain_kept(
    ranks: RankTable, rivals: pd.DataFrame, entities: Vocabulary, relations: Vocabulary, row: int, limit: int | None
) -> pd.DataFrame:
    """Return the table of `explain_triple` for a row whose best rivals a saved file contains; nothing is scored.

    Known answers are no rivals, so they are not in the table. The attribute ``n_not_kept`` counts the candidates above
    the positive or tied with it that the file does not contain.

    Parameters
    ----------
    ranks : RankTable
    rivals : pandas.DataFrame
        See `nearest_rivals`.
    entities, relations : Vocabulary
    row : int
        Index in the table of ranks.
    limit : int or None
        As in `explain_triple`.

    Raises
    ------
    DataError
        If the file has no rivals for this row, or if `limit` is not an integer of at least 0.
    """
    _check_limit(limit)
    of_row, stored = rivals[rivals["row"] == row], ranks.frame.iloc[row]
    if not len(of_row):
        if reason := _unscored(ranks, row):
            raise DataError(f"this triple {reason}")
        raise DataError(
            f"this result was loaded from a file, so nothing can score the query again, and the file contains the best "
            f"rivals of {rivals['row'].nunique():,} rows only: those with the worst and the best ranks "
            "(kgeval.results.evaluation_result.kept_rivals(result)). Evaluate again, or run kgeval show --explain with "
            "--dataset and --model"
        )
    score = stored["score"]
    of_row = of_row.assign(stands=np.where(of_row["score"] > score, "above", "tied"))[of_row["score"] >= score]
    shown = of_row if limit is None else of_row.groupby("stands", sort=False).head(limit)
    asked = side_of(str(stored["side"])).asked
    answer, labels = int(stored["spo"[asked]]), (entities, relations, entities)[asked].labels
    candidates = np.append(shown["entity"].to_numpy(), answer), np.append(shown["score"].to_numpy(), score)
    known = [""] * len(shown) + [str(stored["split"])]
    counts = [int(stored[f"{name}_{setting}"]) for setting in ("raw", "filtered") for name in ("better", "tied")]
    n_candidates = int(stored["rivals_raw"]) + 1
    frame = _candidate_frame(labels, *candidates, [*shown["stands"], "answer"], known, [*counts, n_candidates])
    frame.attrs["n_not_kept"] = counts[0] + counts[1] - len(of_row)
    return frame


def _check_limit(limit: int | None) -> None:
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, np.integer)) or limit < 0):
        raise DataError(f"limit must be an integer of at least 0, or None; got {limit!r}")


def _explained_frame(query: _ScoredQuery, dataset: Dataset, protocol: Protocol, limit: int | None) -> pd.DataFrame:
    """Return the table of `explain_triple` for a re-scored query."""
    n_above, n_tied = query.n_above, len(query.tied)
    # Three arrays with one element per shown candidate: first those above, then the tied ones, then the answer.
    # columns: the index in `candidates`; stands: above, tied or answer; known: the splits in which the triple with this
    # candidate is known, or "".
    parts = {
        "above": best_columns(query.scores, n_above if limit is None else min(limit, n_above)),
        "tied": query.tied[:limit],
        "answer": np.array([query.answer]),
    }
    columns = np.concatenate([*parts.values()])
    stands = np.repeat([*parts], [len(part) for part in parts.values()])
    ids, labels = query.candidates[columns], side_of(query.side).vocabulary(dataset).labels
    known_by_split = _known_answers(dataset, protocol, query)
    splits_of = {split: {*answers.tolist()} for split, answers in known_by_split.items()}
    known = ["+".join(split for split in splits_of if entity in splits_of[split]) for entity in ids.tolist()]
    # the scores of all known answers that are candidates, without the positive
    all_known = np.unique(np.concatenate([query.candidates[:0], *known_by_split.values()]))
    places, is_candidate = rank_in(query.candidates, all_known)
    places = places[is_candidate]
    known_scores, score = query.scores[places[places != query.answer]], query.scores[query.answer]
    n_known = int(np.count_nonzero(known_scores > score)), int(np.count_nonzero(known_scores == score))
    counts = n_above, n_tied, n_above - n_known[0], n_tied - n_known[1], len(query.candidates)
    return _candidate_frame(labels, ids, query.scores[columns], stands.tolist(), known, counts)


def _candidate_frame(
    labels: Sequence[str], ids: Ids, scores: Scores, stands: Sequence[str], known: Sequence[str], counts: Sequence[int]
) -> pd.DataFrame:
    """Return the table of `explain_triple`: one row per candidate; `counts` are its attributes `COUNTS`."""
    columns = {"id": ids, "score": scores, "stands": stands, "known_in": known}
    frame = pd.DataFrame({"candidate": pd.Series([labels[i] for i in ids], dtype=object), **columns})
    frame["counts"] = (frame["known_in"] == "") & (frame["stands"] != "answer")
    frame.attrs |= dict(zip(COUNTS, counts))
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
        Columns: ``row`` (index in the table), ``place`` (1 is the best rival), ``entity`` (its id; on the relation
        side, of a relation), ``score``.

    Raises
    ------
    ScoreError
        If re-scoring gives other counts than the stored counts.
    """
    triples = facts_of(source.dataset, ranks.protocol.filter or (), ranks.protocol.filter_by or ())
    indices = {side: KnownIndex.of(*query_parts(triples, side)) for side in ranks.protocol.sides}
    sides = [str(side) for side in ranks.frame["side"].iloc[rows]]
    positives = triples_of(ranks.frame).astype(np.int64)[rows]
    skipped = []  # for each row: the sorted ids of the known answers and of the answer itself
    for side, positive, row in zip(sides, positives, rows):
        query_key, answer = query_parts(_key_of(source, positive, int(row))[None], side)
        skipped.append(np.union1d(indices[side].lookup(*query_key)[1], answer))
    # The best rivals of each row, which an embedding model finds without scores of all candidates; None for other
    # scorers.
    leading = getattr(source, "best_rivals", lambda *_: None)(sides, positives, rows, skipped, n)
    parts = []
    for i, row in enumerate(rows):
        if leading is None:
            query = _rescored_row(ranks, source, int(row))
            columns = best_columns(query.scores, n + len(skipped[i]))
            best = columns[~np.isin(query.candidates[columns], skipped[i])][:n]
            ids, scores = query.candidates[best], query.scores[best]
        else:
            stored, counts = _stored_counts(ranks, source, int(row)), (leading[i].better, leading[i].equal - 1)
            if stored != counts:
                raise _changed(source, positives[i], sides[i], stored, counts)
            ids, scores = leading[i].candidates, leading[i].scores
        values = row, np.arange(1, len(ids) + 1), ids, scores
        parts.append(pd.DataFrame(dict(zip(RIVAL_COLUMNS, values))))
    return pd.concat(parts, ignore_index=True) if parts else no_rivals()


def no_rivals() -> pd.DataFrame:
    """Return an empty table of rivals."""
    return pd.DataFrame({name: np.zeros(0, dtype=np.int64) for name in RIVAL_COLUMNS})


def extreme_rows(ranks: RankTable, n: int = N_EXAMPLES) -> Ids:
    """Return the indices of the rows with the `n` worst and the `n` best filtered ranks, as for metrics without a side.

    The worst ranks come first, starting with the worst; the best ranks follow, starting with the best. Of two equal
    ranks, the rank among more rivals counts as better. Rows without a score are left out, and so are rows whose rank is
    bounded or unknown.

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
    order = order[np.isin(order, ranks.rows_of("both"))]
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
    stored_counts = _stored_counts(ranks, source, row)
    query = _ScoredQuery.of(source, side, triple, row)
    new_counts = query.n_above, len(query.tied)
    is_same = stored_counts == new_counts
    if not is_same and not source.is_exact:  # rounding may depend on which triples are scored together
        is_same = could_have_stood(query.scores, query.answer, float(stored["score"]), stored_counts)
    if not is_same:
        raise _changed(source, triple, side, stored_counts, new_counts)
    return query


def could_have_stood(scores: Scores, answer: int, saved_score: float, saved_counts: tuple[int, int]) -> bool:
    """Return whether rounding can explain that the new scores differ from the saved score and the saved counts.

    Parameters
    ----------
    scores : array, shape (candidates,)
        The new scores.
    answer : int
        Column of the answer.
    saved_score : float
        The saved score of the answer.
    saved_counts : tuple of int
        How many candidates scored above the answer, and how many candidates other than the answer tied with it.

    Returns
    -------
    bool
    """
    slack = float(Rounding.of(scores, float(scores[answer])).slack(scores[answer], scores[answer]))
    min_better = int(np.count_nonzero(scores > scores[answer] + slack))
    max_not_worse = int(np.count_nonzero(scores >= scores[answer] - slack)) - 1  # without the answer itself
    is_near = saved_score == scores[answer] or abs(saved_score - float(scores[answer])) <= slack
    return bool(is_near) and min_better <= saved_counts[0] and sum(saved_counts) <= max_not_worse


def _stored_counts(ranks: RankTable, source: Source, row: int) -> tuple[int, int]:
    """Return the stored raw counts (better, tied) of a row; raise a DataError if the row has no score or no rank."""
    stored = ranks.frame.iloc[row]
    labels = triple_labels(source.dataset, stored["s"], stored["p"], stored["o"])
    if reason := _unscored(ranks, row):
        raise DataError(f"{labels} {reason}")
    if ranks.is_bounded("raw", np.array([row]))[0]:
        raise DataError(
            f"the rank of {labels} on the {stored['side']} side is bounded: it is only known to lie between bounds"
        )
    return int(stored["better_raw"]), int(stored["tied_raw"])


def _unscored(ranks: RankTable, row: int) -> str:
    """Return the reason why a row has no score; an empty text if it has one."""
    stored, protocol = ranks.frame.iloc[row], ranks.protocol
    if stored["score"] == stored["score"]:
        return ""
    outside = ["its answer is outside its pool (outside='last')"] if protocol.candidates.kind == LAST else []
    unseen = "it contains an entity or relation that does not occur in train"
    reasons = outside if outside and protocol.unseen != "worst" else [*outside, unseen]
    return f"was not scored on the {stored['side']} side: {', or '.join(reasons)}"


def _changed(source: Source, triple: Ids, side: str, stored: tuple[int, int], new: tuple[int, int]) -> ScoreError:
    """Return the error for counts (better, tied) that differ between re-scoring and the stored result."""
    return ScoreError(
        f"{triple_labels(source.dataset, *triple)}, {side} side, was ranked with {stored[0]} candidates above it and "
        f"{stored[1]} tied; re-scoring gives {new[0]} above and {new[1]} tied. Has the model changed since? "
        "Evaluate it again"
    )


def _known_answers(dataset: Dataset, protocol: Protocol, query: _ScoredQuery) -> dict[str, Ids]:
    """Return, for each split of the filter, the known answers of the query in this split, in any order."""
    wanted, _ = query_parts(query.triple[None], query.side)
    answers_of = {}
    for split in protocol.filter or ():
        given, answers = query_parts(facts_of(dataset, (split,), protocol.filter_by or ()), query.side)
        answers_of[split] = answers[np.logical_and.reduce([part == one for part, one in zip(given, wanted)])]
    return answers_of


def steps_of_row(ranks: RankTable, entities: Vocabulary, relations: Vocabulary, row: int, key: Key) -> Steps:
    """Explain a metric of one row of a rank table, or of its query; see `EvaluationResult.steps`.

    Parameters
    ----------
    ranks : RankTable
    entities, relations : Vocabulary
    row : int
    key : Key
        The side of the key is "both" or the side of the row.

    Raises
    ------
    MetricError
        If the metric has no value here, or cannot be explained.
    """
    triple = triples_of(ranks.frame)[row]
    side = str(ranks.frame["side"].iloc[row])
    if key.side not in ("both", side):
        raise MetricError(f"the key {str(key)!r} is of the {key.side} side, but the query is of the {side} side")
    rows = np.array([row], dtype=np.int64)
    if isinstance(key.metric, QueryLevel):
        parts = np.column_stack(query_columns(ranks.frame))
        rows = np.flatnonzero((parts == parts[row]).all(axis=1))
    reason = ranks.lacking(key)
    if not reason and key.ties not in EXTREMES and ranks.is_bounded(key.setting, rows).any():
        reason = "a rank of the query is bounded; use optimistic or pessimistic ties"
    if reason:
        raise MetricError(reason)
    s, p, o = entities.labels[triple[0]], relations.labels[triple[1]], entities.labels[triple[2]]
    if isinstance(key.metric, QueryLevel):
        asked = side_of(side).asked
        name = f"({', '.join('?' if place == asked else part for place, part in enumerate((s, p, o)))})"
        lists, _ = query_lists(ranks.frame.iloc[rows], ranks.protocol, key.setting)
        labels = (entities, relations, entities)[asked]
        items = _labels_in_order(ranks.frame.iloc[rows], key.setting, lists, side, labels)
        found = steps(lists, key.metric.metric, ties=key.ties, items=items)
    else:
        name = f"({s}, {p}, {o}), {side} side"
        found = _rank_steps(key.metric, ranks, row, key)
    return replace(found, metric=str(key), query=name)


def _labels_in_order(
    frame: pd.DataFrame, setting: str, lists: RankedLists, side: str, vocabulary: Vocabulary
) -> list[str | None]:
    """Return one entry for each item of the single list, in ranked order: the label of an answer, or None for a rival.

    `frame` has the rows of the query, and `vocabulary` the labels of its candidates.
    """
    distinct = frame.drop_duplicates(["s", "p", "o"])
    answers = triples_of(distinct)[:, side_of(side).asked]
    # As in `lists_of_counts`, which sorts the answers from the best rank to the worst.
    counts = [distinct[f"{name}_{setting}"].to_numpy() for name in ("tied", "better")]
    ordered = answers[np.lexsort(counts)]
    labels: list[str | None] = [None] * int(lists.length[0])
    # (answers,): the number of each answer in its tie group, from 0.
    groups = np.searchsorted(lists.before, lists.before)
    for i, answer in enumerate(ordered.tolist()):
        labels[int(lists.before[i]) + i - int(groups[i])] = vocabulary.labels[answer]
    return labels


def _rank_steps(metric: RankMetric, ranks: RankTable, row: int, key: Key) -> Steps:
    """Explain a metric of ranks: the possible places of the positive, and the value of the metric at each of them."""
    if not isinstance(metric, RANKS_IN_STEPS):
        explained = ", ".join(kind.name for kind in RANKS_IN_STEPS)
        raise MetricError(f"{metric} of one rank cannot be explained; choose {explained} or a query. metric")
    counts = ranks.counts(key.setting, np.array([row], dtype=np.int64))
    value = metric.compute(counts.better, counts.tied, counts.rivals, key.ties)
    if value.reason:
        raise MetricError(value.reason)
    better, tied = int(counts.better[0]), int(counts.tied[0])
    # Under expected ties, all ranks that the positive can have if ties are broken at random; otherwise its only rank.
    is_random = key.ties == "expected"
    places = (
        np.arange(better + 1, better + tied + 2) if is_random else ranks_under(key.ties, counts.better, counts.tied)
    )
    chance = np.full(len(places), 1.0 / len(places))
    term = chance * metric.value(places)
    table = pd.DataFrame({"place": places, "chance": chance, "value": metric.value(places), "term": term})
    table["sum"] = term.cumsum()
    how = {
        "optimistic": f"{better} + 1",
        "pessimistic": f"{better} + {tied} + 1",
        "realistic": f"{better} + 1" + (f" + {tied} / 2" if tied else ""),
        "expected": f"{better} + 1" + (f" to {better} + {tied} + 1, all with the same chance" if tied else ""),
    }[key.ties]
    rank = f"{how} = {places[0]:g}" if len(places) == 1 else how
    formula = f"{better} rivals score higher, {tied} the same: rank {rank}; {metric} = sum = {value.value:.4f}"
    return Steps(str(key), "", key.ties, value.value, table, formula)
