"""Where the scores of a result can be asked again: of its scorer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids
from kgeval.dataset import Dataset
from kgeval.queries import Queries
from kgeval.scores import as_scores, check_no_nan
from kgeval.scoring import RowScorer


@dataclass(frozen=True)
class ScorerSource:
    """A dataset and the scorer that ranked its candidates; see `kgeval.explaining.Source`.

    Parameters
    ----------
    dataset : Dataset
    rows : RowScorer
    candidates : int64 array
        Sorted ids of all that compete.
    """

    dataset: Dataset
    rows: RowScorer
    candidates: Ids

    @property
    def is_exact(self) -> bool:
        """Embedding models are scored in float64, pair by pair."""
        return self.rows.kind == "geometry"

    def candidate_scores(self, side: str, given: int, relation: int) -> tuple[Ids, npt.NDArray[Any]]:
        """Return the candidates of one query and their scores, exact in float64 for embedding models."""
        query = np.array([given]), np.array([relation])
        scores = as_scores(self.rows.rows(side, *query, self.candidates), self.rows.name)
        asked = Queries(side, *query, np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(2, np.int64))
        check_no_nan(scores, asked, self.candidates, self.dataset, self.rows.name)
        return self.candidates, scores[0]
