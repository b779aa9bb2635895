"""The check of a scorer: the scores of a few queries are computed in several ways and must agree.

Users call `check_scorer`. `evaluate` and `classify` call `check_missing` and `probe` before they score
the whole dataset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, Scores, check_number, counted, cut_label, names_unknown_arguments
from kgeval.data.dataset import Dataset
from kgeval.data.keys import facts_of
from kgeval.data.queries import Queries, query_parts
from kgeval.data.sides import ALL_SIDES, SIDES, check_sides, side_of
from kgeval.errors import ScoreError
from kgeval.scorers.faults import SEARCH_SECONDS, SEED, find_fault
from kgeval.scorers.libraries import bound
from kgeval.scorers.models import EmbeddingModel
from kgeval.scorers.precedence import check_precedence
from kgeval.scorers.rounding import Rounding, score_differences
from kgeval.scorers.row_scorers import (
    FunctionRows,
    Limits,
    MatrixRows,
    PairRows,
    RowScorer,
    as_row_scorer,
    columns_taken,
    missing_ids,
    on_side,
    score_triples,
)
from kgeval.scorers.values import as_scores, check_no_nan, describe_query

PROBED_CANDIDATES = 256
PROBED_QUERIES = 3
FEW_CANDIDATES = 16
MAX_UNTIMED, MIN_TIMED = 32, 4  # more than 32 candidates are scored only if calls with 4 or more candidates are fast
PROBE_SECONDS = 0.8  # the time of the check, for all sides together
EQUAL_CALLS, DROPOUT_HINT = ("in a first call", "in a second, equal call"), "is dropout still on?"
IN_BATCH, BATCH_HINT = ("in a batch", "alone"), "does the scorer normalise over the batch?"
IN_ORDER = "in a batch of queries", "in a batch of mixed triples"
ORDER_HINT = "does it look at which triples are asked together, and so at the tested triple (peeking)?"
N_CHECKS = 4  # `_check_side` scores each pair three times, and some pairs a fourth time


@dataclass(frozen=True)
class ScorerReport:
    """The result of a check without faults; if a check finds a fault, a ScoreError is raised instead.

    Parameters
    ----------
    kind : str
        ``"function"``, ``"matrix"`` or ``"geometry"``.
    dtype : str
        The dtype of the scores.
    notes : tuple of str
        Cautions, for example scores that differ in the last digits between calls.
    unchecked : str
        Why the check could not look for faults that only the ranks of many triples show: few triples, a slow scorer.
    """

    kind: str
    dtype: str
    notes: tuple[str, ...]
    unchecked: str = field(default="", compare=False)


@names_unknown_arguments(side="sides=")
def check_scorer(
    scorer: Any, dataset: Dataset, sides: Sequence[str] = SIDES, *, max_seconds: float = SEARCH_SECONDS
) -> ScorerReport:
    """Check `scorer` on a few queries of `dataset`.

    The scores must be real numbers without NaN, in an array of the expected shape. The number of queries never equals
    the number of candidates, so that a transposed array has the wrong shape. A triple must get the same score in two
    equal calls, and the same score whether its query is scored alone or in a batch. Every entity and relation of the
    train split must have a vector. If a scorer has several ways to score, the first of these is used: vectors
    (``query_vectors``), ``score_objects`` and ``score_subjects``, a call; the others must not give other scores. A slow
    scorer is checked on fewer candidates or queries, within about a second; see
    `probe`.

    Then up to 200 triples of test and of train are ranked, to find faults that spoil all ranks: a constant scorer,
    scores with a wrong sign, rows that are shifted by one, subject and object exchanged, and a scorer that was trained
    on test or looks at the tested triple (peeking); see `kgeval.scorers.faults.find_fault`. Of a scorer whose MRR is
    below five times the chance level (among few entities: half-way from it to 1), the report says that such faults
    cannot be told.

    Parameters
    ----------
    scorer : function, object or model
        See `kgeval.evaluate`.
    dataset : Dataset
    sides : sequence of str
        The missing sides of the queries: ``"subject"``, ``"object"``, ``"relation"``. The search for faults that spoil
        all ranks looks at the entity sides only.
    max_seconds : float
        The time of that search. For a slow scorer, the report says how long the search takes.

    Returns
    -------
    ScorerReport

    Raises
    ------
    ScoreError
        If a check fails. A message about a single score names the query and the candidate by label.

    Examples
    --------
    >>> import numpy as np
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=3, n_relations=1)
    >>> check_scorer(lambda s, p, o: -np.abs(s - o), dataset).dtype
    'int64'
    """
    sides = check_sides(sides, ALL_SIDES)
    check_number("max_seconds", max_seconds, 0, np.inf, "a number of seconds above 0", ScoreError)
    scorer, rows = checked_scorer(scorer, dataset)
    splits = [*reversed(dataset.splits)]
    triples = facts_of(dataset, splits)
    usable = ~np.isin(triples[:, [0, 2]], missing_ids(scorer, "entities")).any(axis=1)
    usable &= ~np.isin(triples[:, 1], missing_ids(scorer, "relations"))
    candidates = {
        side: np.setdiff1d(np.arange(len(side_of(side).vocabulary(dataset))), missing_ids(scorer, side_of(side).kind))
        for side in sides
    }
    if not usable.any():
        raise ScoreError(
            f"dataset {dataset.name!r} has no triple whose entities and relation all have a vector in {rows.name}; "
            "do the model and the dataset use the same labels?"
        )
    taken = columns_taken(rows, sides)
    facts = {side: facts_of(dataset, splits, taken.on_side(side).names)[usable] for side in sides}
    report = probe(rows, dataset, facts, candidates, shows_answers=True)
    fault, unchecked = find_fault(rows, scorer, dataset, sides, max_seconds)
    if fault:
        raise ScoreError(f"{rows.name}: {fault}")
    return replace(report, unchecked=unchecked)


def checked_scorer(scorer: Any, dataset: Dataset, limits: Limits | None = None) -> tuple[Any, RowScorer]:
    """Return a scorer for a dataset (see `bound`) and its adapter; raise a ScoreError if it does not fit the dataset.

    Parameters
    ----------
    scorer : function, object or model
    dataset : Dataset
    limits : Limits, optional
    """
    scorer = bound(scorer, dataset)
    rows = as_row_scorer(scorer, len(dataset.entities), limits, dataset)
    check_missing(scorer, dataset)
    check_precedence(scorer, rows, dataset)
    return scorer, rows


def check_missing(scorer: Any, dataset: Dataset) -> None:
    """Raise a ScoreError if a model's tables do not fit the dataset.

    Parameters
    ----------
    scorer : function, object or model
        Scorers other than an `EmbeddingModel` are checked only if they have an attribute ``missing_entities`` or
        ``missing_relations``.
    dataset : Dataset

    Raises
    ------
    ScoreError
        If a table has a wrong number of rows, or if an entity or relation of the train split has no vector. If the
        dataset has no train split, all its entities and relations must have a vector.
    """
    if isinstance(scorer, EmbeddingModel) and scorer.n_relations != len(dataset.relations):
        doubled = scorer.n_relations == 2 * len(dataset.relations)
        hint = "; does the model have inverse relations? Then set inverse_relations='after' or 'alternating'"
        raise ScoreError(
            f"{type(scorer).__name__} has rows for {scorer.n_relations} relations, dataset {dataset.name!r} has "
            f"{len(dataset.relations)}{hint if doubled else ''}"
        )
    if isinstance(scorer, EmbeddingModel) and scorer.n_entities != len(dataset.entities):
        raise ScoreError(
            f"{type(scorer).__name__} has rows for {scorer.n_entities} entities, dataset {dataset.name!r} has "
            f"{len(dataset.entities)}; row i must be the vector of dataset.entities.labels[i]"
        )
    for what, singular, vocabulary, is_seen in (
        ("entities", "entity", dataset.entities, dataset.is_seen_entity),
        ("relations", "relation", dataset.relations, dataset.is_seen_relation),
    ):
        missing = missing_ids(scorer, what)
        wrong = missing[is_seen[missing]] if "train" in dataset else missing
        if len(wrong):
            raise ScoreError(
                f"the model has no vector for {counted(len(wrong), singular)} that it should know "
                f"(such as {cut_label(vocabulary.labels[wrong[0]])!r}); it has vectors for "
                f"{len(vocabulary) - len(missing):,} of {counted(len(vocabulary), singular)}; was it trained on "
                "another dataset?"
            )


def probe(
    rows: RowScorer,
    dataset: Dataset,
    facts: Mapping[str, Ids],
    candidates: Mapping[str, Ids],
    shows_answers: bool = False,
) -> ScorerReport:
    """Score a few queries of `facts` with some candidates in several ways, and compare the scores.

    Three queries (four if there are three candidates) are scored with up to `PROBED_CANDIDATES` candidates, or with all
    candidates if the scorer is an object with ``score_objects``. They are scored in four ways: together, together a
    second time, each query alone, and together with only a few candidates; a function also gets all these triples in a
    random order.

    The first calls have few candidates and measure the speed. A slow scorer is checked on fewer candidates: as many as
    all calls together can score in `PROBE_SECONDS`, but not fewer than `MIN_TIMED`. A function that needs less than
    about 100 microseconds per triple is checked on `PROBED_CANDIDATES` candidates. An object that always scores all
    entities, and is too slow for all calls, is called three times per side: twice with one query, then with this query
    and a second query. The first query must get the same scores each time.

    Parameters
    ----------
    rows : RowScorer
        See `as_row_scorer`.
    dataset : Dataset
        Gives the labels for messages.
    facts : mapping of str to int64 array, shape (n, 3 or more), n >= 1
        For each side, the triples from which the queries are taken, with the codes of the columns that the scorer takes
        there.
    candidates : mapping of str to int64 array, shape (candidates,)
        For each side, sorted ids of the entities or relations that may be scored.
    shows_answers : bool
        Whether the answers of the queries are among the candidates. A scorer that knows which triple is tested then
        gives itself away. An evaluation asks the same of a scorer whatever the answers are, and does not show them.

    Returns
    -------
    ScorerReport

    Raises
    ------
    ScoreError
        If a score is NaN, or if two scores of the same triple differ by more than rounding errors.
    """
    notes: list[str] = []
    dtype = ""
    n_columns: dict[str, int] = {}
    for side, triples in facts.items():
        of_side, among, kind = on_side(rows, side), candidates[side], side_of(side).kind
        queries = _some_queries(triples, side, len(among))
        seconds = PROBE_SECONDS / len(facts)
        if isinstance(of_side, MatrixRows) and not of_side.takes_candidates(side):
            dtype, side_notes = _check_whole_queries(of_side, dataset, queries, among, seconds)
        else:
            if kind not in n_columns or not isinstance(of_side, FunctionRows):  # a function has the same speed on both
                n_columns[kind] = _some_candidates(of_side, queries, among, seconds)
            n = n_columns[kind]
            columns = _with_answers(among, n, queries) if shows_answers else _spread(among, n)
            dtype, side_notes = _check_side(of_side, dataset, queries, columns)
        notes += side_notes
    return ScorerReport(rows.kind, dtype, tuple(dict.fromkeys(notes)))


def _check_side(rows: RowScorer, dataset: Dataset, queries: Queries, columns: Ids) -> tuple[str, list[str]]:
    """Compare the scores of queries with the candidates in `columns`; return the dtype of the scores, and notes."""
    # 1. All queries with all columns, in two equal calls: the scores must be equal.
    together = _fetched(rows, queries, columns).copy()
    check_no_nan(together, queries, columns, dataset, rows.name)
    again = _fetched(rows, queries, columns)
    rounding = Rounding.of(together)
    notes = _compare_scores(together, again, rounding, rows, dataset, queries, columns, EQUAL_CALLS, DROPOUT_HINT)
    # 2. Each query alone: the scores must equal row i of `together`.
    for i in range(len(queries)):
        query = queries.part(i, i + 1)
        alone = _fetched(rows, query, columns)
        row = together[i : i + 1]
        notes += _compare_scores(row, alone, rounding, rows, dataset, query, columns, IN_BATCH, BATCH_HINT)
    # 3. All queries with only the last candidates, if the scorer can score a part of the candidates. This finds a
    # scorer that returns the columns in reverse order: in step 1, the last candidates got the scores of the first
    # candidates.
    end_columns = columns[len(columns) // 2 :][-FEW_CANDIDATES:]
    if isinstance(rows, (FunctionRows, PairRows)) or (
        isinstance(rows, MatrixRows) and rows.takes_candidates(queries.side)
    ):
        end_scores = _fetched(rows, queries, end_columns)
        same_scores = together[:, np.searchsorted(columns, end_columns)]
        ways = "among many candidates", "among few"
        hint = (
            "does the score depend on the other candidates, are the columns in another order than the candidates, "
            "or does the scorer treat positions as ids?"
        )
        notes += _compare_scores(same_scores, end_scores, rounding, rows, dataset, queries, end_columns, ways, hint)
    # 4. A function gets the same pairs in a random order, in which no query can be seen.
    if isinstance(rows, FunctionRows):
        given = tuple(np.repeat(part, len(columns)) for part in queries.parts)
        triples = side_of(queries.side).facts(given, np.tile(columns, len(queries)))
        order = np.random.default_rng(SEED).permutation(len(triples))
        mixed = np.empty_like(together)
        with rows.pace.at_once():
            mixed.reshape(-1)[order] = score_triples(rows, triples[order], queries.side)
        notes += _compare_scores(together, mixed, rounding, rows, dataset, queries, columns, IN_ORDER, ORDER_HINT)
    return str(together.dtype), notes


def _check_whole_queries(
    rows: MatrixRows, dataset: Dataset, queries: Queries, candidates: Ids, seconds: float
) -> tuple[str, list[str]]:
    """Compare scores as `_check_side` does, for a scorer that always scores all entities.

    If all calls would take longer than `seconds`, make only three calls: two equal calls with one query, and one call
    with this query and a second query.
    """
    if len(candidates) <= MAX_UNTIMED:
        return _check_side(rows, dataset, queries, candidates)
    method, limit = side_of(queries.side).method, seconds / (N_CHECKS * len(queries))
    query, pair = queries.part(0, 1), queries.part(0, 2)
    alone = _fetched(rows, query, candidates).copy()
    if (rows.pace.seconds(rows.n_answers, method) or 0.0) <= limit:
        return _check_side(rows, dataset, queries, candidates)
    again = _fetched(rows, query, candidates)  # a second call, since a first call is often slow
    if (rows.pace.seconds(rows.n_answers, method) or 0.0) <= limit:
        return _check_side(rows, dataset, queries, candidates)
    check_no_nan(alone, query, candidates, dataset, rows.name)
    rounding = Rounding.of(alone)
    notes = _compare_scores(alone, again, rounding, rows, dataset, query, candidates, EQUAL_CALLS, DROPOUT_HINT)
    together = _fetched(rows, pair, candidates)
    check_no_nan(together, pair, candidates, dataset, rows.name)
    notes += _compare_scores(together[:1], alone, rounding, rows, dataset, query, candidates, IN_BATCH, BATCH_HINT)
    return str(together.dtype), notes


def _some_queries(triples: Ids, side: str, n_candidates: int) -> Queries:
    """Return some queries; their number is never `n_candidates`, so that a transposed array has a wrong shape."""
    n = PROBED_QUERIES + (n_candidates == PROBED_QUERIES)
    picked = triples[np.linspace(0, len(triples) - 1, n).astype(np.int64)]
    return Queries(side, *query_parts(picked, side), np.arange(n), np.arange(n + 1))


def _fetched(rows: RowScorer, queries: Queries, columns: Ids) -> Scores:
    """Score each query with the candidates in `columns`, if possible in one call.

    Return a numpy array, shape (queries, columns).
    """
    with nullcontext() if rows.pace is None else rows.pace.at_once():
        return as_scores(rows.rows(queries.side, queries.parts, columns), rows.name)


def _some_candidates(rows: RowScorer, queries: Queries, candidates: Ids, seconds: float) -> int:
    """Return how many candidates `_check_side` can score in `seconds`; see `probe`."""
    most = len(candidates) if isinstance(rows, MatrixRows) else min(len(candidates), PROBED_CANDIDATES)
    if isinstance(rows, PairRows):  # each candidate is a query of the scorer
        most = min(most, FEW_CANDIDATES)
    if rows.pace is None or most <= MAX_UNTIMED:
        return most
    n_checks = N_CHECKS + isinstance(rows, FunctionRows)
    method = side_of(queries.side).method if isinstance(rows, MatrixRows) else ""
    n = MIN_TIMED
    _fetched(rows, queries, _spread(candidates, n))  # the time of this call is not used: a first call is often slow
    while n < most:
        _fetched(rows, queries, _spread(candidates, n))
        taken = rows.pace.seconds(len(queries) * n, method) or 0.0
        affordable = n * seconds / (n_checks * taken) if taken else float(most)
        if affordable < min(4 * n, most):
            return max(n, int(affordable))
        n = min(4 * n, most)
    return most


def _with_answers(candidates: Ids, n: int, queries: Queries) -> Ids:
    """Return n of the candidates (a few more if spacing needs it), evenly spaced, the answers of the queries included.

    An answer that is no candidate is left out.
    """
    answers = np.intersect1d(queries.answers, candidates)
    chosen = (np.union1d(answers, _spread(candidates, size)) for size in range(max(0, n - len(answers)), n + 1))
    return next(columns for columns in chosen if len(columns) >= n)


def _spread(candidates: Ids, n: int) -> Ids:
    """Return n of the candidates, evenly spaced."""
    if n == len(candidates):
        return candidates
    return candidates[np.linspace(0, len(candidates) - 1, n).astype(np.int64)]


def _compare_scores(
    expected: Scores,
    repeated: Scores,
    rounding: Rounding,
    rows: RowScorer,
    dataset: Dataset,
    queries: Queries,
    columns: Ids,
    ways: tuple[str, str],
    hint: str,
) -> list[str]:
    """Return a note if two arrays of scores differ by rounding alone; raise a ScoreError if they differ by more.

    Two parameters are texts for the message. `ways` says how each of the two arrays was computed, for example ``("in a
    batch", "alone")``. `hint` is a question about the likely cause of a difference.
    """
    if expected.dtype != repeated.dtype:
        raise ScoreError(
            f"{rows.name} gave {expected.dtype} scores {ways[0]} and {repeated.dtype} scores {ways[1]}; "
            "keep to one dtype"
        )
    difference = score_differences(expected, repeated)  # shape (queries, columns)
    if not difference.any():
        return []
    is_other = difference > rounding.slack(expected, repeated)
    i, j = np.unravel_index(int(np.argmax(np.where(is_other, difference, -1.0))), difference.shape)
    if is_other[i, j]:
        query = describe_query(dataset, queries.side, queries.parts, int(i))
        labels = side_of(queries.side).vocabulary(dataset).labels
        raise ScoreError(
            f"{rows.name}: {query} with candidate {cut_label(labels[columns[j]])!r} got the score "
            f"{expected[i, j]:.9g} {ways[0]} and {repeated[i, j]:.9g} {ways[1]}; "
            f"a score must depend only on its triple: {hint}"
        )
    return [
        f"scores {ways[0]} and {ways[1]} differ by up to {difference.max():.1g}; the ranks of nearly equal scores may "
        "depend on the batch"
    ]
