"""Where the scores of a result can be asked again: of its scorer."""

from __future__ import annotations

from dataclasses import dataclass

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
    """

    dataset: Dataset
    rows: RowScorer
    candidates: Candidates
    entities: Ids

    @property
    def is_exact(self) -> bool:
        """Embedding models are scored in float64, pair by pair."""
        return self.rows.kind == "geometry"

    def candidate_scores(self, side: str, triple: Ids) -> tuple[Ids, Scores]:
        """Return the candidates of one triple's query and their scores, exact in float64 for embedding models."""
        ((query, pool),) = self.candidates.pools(Queries.of(triple[None], side), self.entities)
        scores = as_scores(self.rows.rows(side, query.given, query.relation, pool), self.rows.name)
        check_no_nan(scores, query, pool, self.dataset, self.rows.name)
        return pool, scores[0]
