"""The scorer behind a result: it scores single queries again, for `EvaluationResult.explain`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.checks import Ids, Scores
from kgeval.data import Candidates, Dataset, Queries
from kgeval.scorers import RowScorer, as_scores, check_no_nan


@dataclass(frozen=True)
class ScorerSource:
    """A dataset and the scorer that ranked it, as a `kgeval.results.explanations.Source`.

    Parameters
    ----------
    dataset : Dataset
    rows : RowScorer
    candidates : Candidates
        The protocol's candidates.
    entities : int64 array, shape (n,)
        Sorted ids of all entities that may compete.
    positive_rows : int64 array, shape (rows of one side,)
        For each row of one side of the ranks table, the row of the positive, as in `Queries.rows`.
    """

    dataset: Dataset
    rows: RowScorer
    candidates: Candidates
    entities: Ids
    positive_rows: Ids

    @property
    def is_exact(self) -> bool:
        """Whether scores are exact: embedding models are scored in float64, pair by pair."""
        return self.rows.kind == "geometry"

    def candidate_scores(self, side: str, triple: Ids, row: int | None) -> tuple[Ids, Scores]:
        """Score the query of one triple with all its candidates.

        Parameters
        ----------
        side : str
        triple : int64 array, shape (3,)
        row : int or None
            The row of the ranks table that holds the triple; None for a triple that is not in the table.

        Returns
        -------
        candidates : int64 array, shape (candidates,)
        scores : array, shape (candidates,)
            In the scorer's dtype; exact in float64 for embedding models.
        """
        positive = -1 if row is None else self.positive_rows[row % len(self.positive_rows)]
        queries = Queries.of(triple[None], side, rows=np.array([positive]))
        ((query, pool),) = self.candidates.pools(queries, self.entities)
        scores = as_scores(self.rows.rows(side, query.given, query.relation, pool), self.rows.name)
        check_no_nan(scores, query, pool, self.dataset, self.rows.name)
        return pool, scores[0]
