"""The check of a scorer: the scores of a few queries are computed in several ways and must agree.

Users call `check_scorer`. `evaluate` and `classify` call `check_missing` and `probe` before the whole run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.checks import Ids, Scores
from kgeval.data import SIDES, Dataset, Queries, check_sides, given_and_asked
from kgeval.errors import ScoreError
from kgeval.scorers.adapters import FunctionRows, Limits, MatrixRows, RowScorer, as_row_scorer, missing_ids
from kgeval.scorers.models import EmbeddingModel
from kgeval.scorers.values import as_scores, check_no_nan, describe_query

PROBED_CANDIDATES = 256
PROBED_QUERIES = 3
TOLERANCE, TOLERANCE_OF_HALVES = 1e-4, 2e-2


@dataclass(frozen=True)
class ScorerReport:
    """The outcome of a check that found no fault; a fault raises a ScoreError instead.

    Parameters
    ----------
    kind : str
        ``"function"``, ``"matrix"`` or ``"geometry"``.
    dtype : str
        The dtype of the scores.
    notes : tuple of str
        Cautions, for example scores that differ in the last digits between calls.
    """

    kind: str
    dtype: str
    notes: tuple[str, ...]


def check_scorer(scorer: Any, dataset: Dataset, sides: Sequence[str] = SIDES) -> ScorerReport:
    """Probe `scorer` on a few queries of `dataset`.

    The check covers the dtype, NaN and the shape; the number of queries never equals the number of candidates, so a
    transposed array is noticed. A triple must get the same score in two calls, and also alone and in a batch. Every
    entity and relation of train must have a vector.

    Parameters
    ----------
    scorer : function, object or model
        See `kgeval.evaluate`.
    dataset : Dataset
    sides : sequence of str
        The sides whose queries the scorer will score.

    Returns
    -------
    ScorerReport

    Raises
    ------
    ScoreError
        If a check fails. The message names query and candidate by label, the expected and the actual value.

    Examples
    --------
    >>> import numpy as np
    >>> dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=3, n_relations=1)
    >>> check_scorer(lambda s, p, o: -np.abs(s - o), dataset).dtype
    'int64'
    """
    sides = check_sides(sides)
    check_missing(scorer, dataset)
    rows = as_row_scorer(scorer, len(dataset.entities), Limits())
    triples = np.concatenate([split.array for split in reversed(dataset.splits.values())])
    usable = ~np.isin(triples[:, [0, 2]], missing_ids(scorer, "entities")).any(axis=1)
    usable &= ~np.isin(triples[:, 1], missing_ids(scorer, "relations"))
    candidates = np.setdiff1d(np.arange(len(dataset.entities)), missing_ids(scorer, "entities"))
    if not usable.any():
        raise ScoreError(f"{rows.name} has vectors for no triple of {dataset.name!r}; do its labels fit the dataset's?")
    return probe(rows, dataset, triples[usable], candidates, sides)


def check_missing(scorer: Any, dataset: Dataset) -> None:
    """Raise a ScoreError if a model's tables do not fit the dataset.

    Parameters
    ----------
    scorer : function, object or model
        Only an `EmbeddingModel`, or a scorer with ``missing_entities`` or ``missing_relations``, can fail.
    dataset : Dataset

    Raises
    ------
    ScoreError
        If a table has a wrong number of rows, or an entity or relation of train has no row (of any split, if the
        dataset has no train split).
    """
    if isinstance(scorer, EmbeddingModel) and scorer.n_relations != len(dataset.relations):
        doubled = scorer.n_relations == 2 * len(dataset.relations)
        hint = "; does its table hold inverse relations? Then set inverse_relations='after' or 'alternating'"
        raise ScoreError(
            f"{type(scorer).__name__} has rows for {scorer.n_relations} relations, dataset {dataset.name!r} has "
            f"{len(dataset.relations)}{hint if doubled else ''}"
        )
    if isinstance(scorer, EmbeddingModel) and scorer.n_entities != len(dataset.entities):
        raise ScoreError(
            f"{type(scorer).__name__} has rows for {scorer.n_entities} entities, dataset {dataset.name!r} has "
            f"{len(dataset.entities)}; row i must be the vector of dataset.entities.labels[i]"
        )
    for what, vocabulary, is_seen in (
        ("entities", dataset.entities, dataset.is_seen_entity),
        ("relations", dataset.relations, dataset.is_seen_relation),
    ):
        missing = missing_ids(scorer, what)
        wrong = missing[is_seen[missing]] if "train" in dataset else missing
        if len(wrong):
            raise ScoreError(
                f"the model has no vector for {len(wrong)} {what} that it should know, first "
                f"{vocabulary.labels[wrong[0]]!r}; was it trained on another dataset?"
            )


def probe(rows: RowScorer, dataset: Dataset, triples: Ids, candidates: Ids, sides: Sequence[str]) -> ScorerReport:
    """Score a few queries of `triples` with some candidates in several ways, and compare the scores.

    Parameters
    ----------
    rows : RowScorer
        See `as_row_scorer`.
    dataset : Dataset
        Gives the labels for messages.
    triples : int64 array, shape (n, 3), n >= 1
        The triples from which the queries are taken.
    candidates : int64 array, shape (candidates,)
        Sorted ids of the entities that may be scored.
    sides : sequence of str

    Returns
    -------
    ScorerReport

    Raises
    ------
    ScoreError
        If a score is NaN, or two ways of scoring a triple differ by more than rounding.
    """
    notes: list[str] = []
    dtype = ""
    for side in sides:
        # 1. All queries with all columns, in two equal calls: the scores must be equal.
        queries = _some_queries(triples, side, len(candidates))
        columns = _some_candidates(rows, candidates)
        together = _fetched(rows, queries, columns).copy()
        check_no_nan(together, queries, columns, dataset, rows.name)
        dtype = str(together.dtype)
        again = _fetched(rows, queries, columns)
        notes += _compare_scores(
            together, again, rows, dataset, queries, columns, "called twice", "is dropout still on?"
        )
        # 2. Each query alone: the scores must equal row i of `together`.
        for i in range(len(queries)):
            query = queries.part(i, i + 1)
            alone = _fetched(rows, query, columns)
            how = "scored alone and in a batch"
            hint = "does it normalise over the batch?"
            notes += _compare_scores(together[i : i + 1], alone, rows, dataset, query, columns, how, hint)
        # 3. All queries with the first and the last column only, if the scorer accepts a part of the candidates.
        end_columns = np.unique(columns[[0, -1]])
        if isinstance(rows, FunctionRows) or (isinstance(rows, MatrixRows) and rows.takes_candidates(side)):
            end_scores = _fetched(rows, queries, end_columns)
            same_scores = together[:, np.searchsorted(columns, end_columns)]
            how = "scored among few candidates and among many"
            hint = "does it depend on the other candidates, or score positions instead of ids?"
            notes += _compare_scores(same_scores, end_scores, rows, dataset, queries, end_columns, how, hint)
    return ScorerReport(rows.kind, dtype, tuple(dict.fromkeys(notes)))


def _some_queries(triples: Ids, side: str, n_candidates: int) -> Queries:
    """Return a few queries, never as many as candidates, so that a transposed array has a wrong shape."""
    n = PROBED_QUERIES + (n_candidates == PROBED_QUERIES)
    picked = triples[np.linspace(0, len(triples) - 1, n).astype(np.int64)]
    given, answers = given_and_asked(picked, side)
    return Queries(side, given, picked[:, 1], answers, np.arange(n), np.arange(n + 1))


def _fetched(rows: RowScorer, queries: Queries, columns: Ids) -> Scores:
    """Return the scores as a numpy array, shape (queries, columns), copied from the scorer's device if necessary."""
    return as_scores(rows.rows(queries.side, queries.given, queries.relation, columns), rows.name)


def _some_candidates(rows: RowScorer, candidates: Ids) -> Ids:
    if isinstance(rows, MatrixRows) or len(candidates) <= PROBED_CANDIDATES:
        return candidates
    return candidates[np.linspace(0, len(candidates) - 1, PROBED_CANDIDATES).astype(np.int64)]


def _compare_scores(
    expected: Scores,
    repeated: Scores,
    rows: RowScorer,
    dataset: Dataset,
    queries: Queries,
    columns: Ids,
    how: str,
    hint: str,
) -> list[str]:
    """Return a note if two arrays of scores differ by rounding alone; raise a ScoreError if they differ by more.

    `how` describes the difference of the two calls, `hint` a possible cause; both are part of the message.
    """
    if expected.dtype != repeated.dtype:
        raise ScoreError(f"{rows.name} {how} gave {expected.dtype} and {repeated.dtype} scores; keep to one dtype")
    # a, b: both arrays as float64, shape (queries, columns). `difference` is 0 for equal infinities, and infinite if
    # only one of two scores is infinite.
    a, b = expected.astype(np.float64), repeated.astype(np.float64)
    with np.errstate(invalid="ignore"):
        difference = np.where(a == b, 0.0, np.abs(a - b))
    difference[np.isnan(difference)] = np.inf
    if not difference.any():
        return []
    finite = np.abs(a[np.isfinite(a)])
    scale = float(finite.max()) if finite.size else 0.0
    i, j = np.unravel_index(int(np.argmax(difference)), difference.shape)
    if difference[i, j] > (TOLERANCE_OF_HALVES if expected.dtype.itemsize == 2 else TOLERANCE) * scale:
        query = describe_query(dataset, queries.side, queries.given[i], queries.relation[i])
        raise ScoreError(
            f"{rows.name}: {query} with candidate {dataset.entities.labels[columns[j]]!r}, {how}, scored "
            f"{a[i, j]:.9g} and {b[i, j]:.9g}; a score must depend on its triple alone: {hint}"
        )
    return [f"scores {how} differ by up to {difference[i, j]:.1g}; ranks of near ties may depend on the batch"]
