"""The scorer of a result, kept so that single ranks can be explained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.checks import Ids, Scores
from kgeval.data import Candidates, Dataset, Queries
from kgeval.scorers import RowScorer, as_scores, check_no_nan


@dataclass(frozen=True)
class ScorerSource:
    """A dataset and the scorer that ranked its candidates; see `kgeval.results.explanations.Source`.

    Parameters
    ----------
    dataset : Dataset
    rows : RowScorer
    candidates : Candidates
        Of the protocol.
    entities : int64 array
        Sorted ids of all that may compete.
    positive_rows : int64 array
        The row among the positives, as `Queries.rows` has it, of each row of a side of the result's table.
    """

    dataset: Dataset
    rows: RowScorer
    candidates: Candidates
    entities: Ids
    positive_rows: Ids

    @property
    def is_exact(self) -> bool:
        """Embedding models are scored in float64, pair by pair."""
        return self.rows.kind == "geometry"

    def candidate_scores(self, side: str, triple: Ids, row: int | None) -> tuple[Ids, Scores]:
        """Return the candidates of one triple's query and their scores, exact in float64 for embedding models."""
        positive = -1 if row is None else self.positive_rows[row % len(self.positive_rows)]
        queries = Queries.of(triple[None], side, rows=np.array([positive]))
        ((query, pool),) = self.candidates.pools(queries, self.entities)
        scores = as_scores(self.rows.rows(side, query.given, query.relation, pool), self.rows.name)
        check_no_nan(scores, query, pool, self.dataset, self.rows.name)
        return pool, scores[0]
