"""ScorerSource: re-scores single queries with the scorer of a result. `EvaluationResult.explain` calls it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.checks import Ids, Scores
from kgeval.data import Candidates, Dataset, Queries
from kgeval.scorers import RowScorer, as_scores, check_no_nan


@dataclass(frozen=True)
class ScorerSource:
    """Re-scores queries with a scorer that is in memory; implements `kgeval.results.explanations.Source`.

    Parameters
    ----------
    dataset : Dataset
    rows : RowScorer
    candidates : Candidates
        The protocol's candidates.
    entities : int64 array, shape (n,)
        Sorted ids of all entities that may be candidates.
    positive_rows : int64 array, shape (rows,)
        The index of each row's positive among all positives (as in `Queries.rows`). The rows are the rows of the table
        of ranks, or only its rows for one side.
    """

    dataset: Dataset
    rows: RowScorer
    candidates: Candidates
    entities: Ids
    positive_rows: Ids

    @property
    def is_exact(self) -> bool:
        """Whether re-scoring gives exactly the same scores: True for embedding models, which score in float64."""
        return self.rows.kind == "geometry"

    def candidate_scores(self, side: str, triple: Ids, row: int | None) -> tuple[Ids, Scores]:
        """Re-score the query of a triple; return its candidates and their scores.

        Parameters
        ----------
        side : str
        triple : int64 array, shape (3,)
        row : int or None
            The index of the triple in `positive_rows`; None if the triple is not in the table of ranks.

        Returns
        -------
        candidates : int64 array, shape (candidates,)
        scores : array, shape (candidates,)
            In the scorer's dtype; for embedding models, float64.
        """
        positive = -1 if row is None else self.positive_rows[row]
        queries = Queries.of(triple[None], side, rows=np.array([positive]))
        ((query, pool),) = self.candidates.pools(queries, self.entities)
        scores = as_scores(self.rows.rows(side, query.given, query.relation, pool), self.rows.name)
        check_no_nan(scores, query, pool, self.dataset, self.rows.name)
        return pool, scores[0]
