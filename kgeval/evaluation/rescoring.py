"""`ScorerSource` re-scores single queries with the scorer of a result. `EvaluationResult.explain` calls it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, Scores
from kgeval.data.candidates import Candidates
from kgeval.data.dataset import Dataset
from kgeval.data.keys import FactColumns
from kgeval.data.queries import Queries
from kgeval.data.sides import RELATION, side_of
from kgeval.errors import DataError
from kgeval.kernels.arrays import address, on_host
from kgeval.kernels.best import Best, best_candidates
from kgeval.scorers.row_scorers import GeometryRows, RowScorer, check_dimensions, on_side
from kgeval.scorers.values import as_scores, check_no_nan


@dataclass(frozen=True)
class ScorerSource:
    """Re-scores queries with a scorer that is in memory; implements `kgeval.results.explanations.Source`.

    Parameters
    ----------
    dataset : Dataset
    rows : RowScorer
    candidates : Candidates
        The protocol's candidates.
    among : mapping of str to int64 array, shape (n,)
        For each side, sorted ids of all entities or relations that may be candidates.
    positive_rows : int64 array, shape (rows,)
        The index of each row's positive among all positives (as in `Queries.rows`). The rows are the rows of the table
        of ranks, or only its rows for one side.
    facts : int64 array, shape (positives, 3 or more)
        All positives, with the codes of `columns`.
    columns : FactColumns
    """

    dataset: Dataset
    rows: RowScorer
    candidates: Candidates
    among: Mapping[str, Ids]
    positive_rows: Ids
    facts: Ids
    columns: FactColumns

    @property
    def is_exact(self) -> bool:
        """Whether re-scoring gives exactly the same scores: True for embedding models, which score in float64."""
        return self.rows.kind == "geometry"

    def candidate_scores(self, side: str, triple: Ids, row: int | None) -> tuple[Ids, Scores]:
        """Re-score the query of a triple; return its candidates and their scores.

        Parameters
        ----------
        side : str
        triple : int64 array, shape (3 or more,)
            With the codes of `columns`, unless it is in the table of ranks.
        row : int or None
            The index of the triple in `positive_rows`; None if the triple is not in the table of ranks.

        Returns
        -------
        candidates : int64 array, shape (candidates,)
        scores : array, shape (candidates,)
            In the scorer's dtype; for embedding models, float64.
        """
        positive = -1 if row is None else self.positive_rows[row]
        fact = triple if row is None else self.facts[positive]
        queries = self._query(side, fact, np.int64(positive))
        ((query, pool),) = self.candidates.pools(queries, self.among[side])
        scores = as_scores(on_side(self.rows, side).rows(side, query.parts, pool), self.rows.name)
        check_no_nan(scores, query, pool, self.dataset, self.rows.name)
        return pool, scores[0]

    def _query(self, side: str, fact: Ids, positive: np.int64) -> Queries:
        """Return the query of a fact, with the columns that the scorer takes on a side."""
        facts = self.columns.facts_on(side, fact[None])[:, : self.columns.on_side(side).n_scored]
        return Queries.of(facts, side, rows=np.array([positive]))

    def key_of(self, triple: Ids, row: int | None) -> Ids:
        """Return a triple and its codes of the filter key; parameters as in `candidate_scores`."""
        fact = triple if row is None else self.facts[self.positive_rows[row]]
        return fact[list(self.columns.key_places)]

    def best_rivals(
        self, sides: Sequence[str], triples: Ids, rows: Ids, skipped: Sequence[Ids], n: int
    ) -> list[Best] | None:
        """Return the `n` best candidates of ranked triples, without a table of all scores; see `best_candidates`.

        Parameters
        ----------
        sides : sequence of str
            The side of each triple.
        triples : int64 array, shape (triples, 3)
        rows : int64 array, shape (triples,)
            Indices of the triples in `positive_rows`.
        skipped : sequence of int64 arrays
            For each triple, sorted ids of the entities that are left out.
        n : int

        Returns
        -------
        list of Best
            One for each triple. None if the scorer is no embedding model, or if a triple is of the relation side.

        Raises
        ------
        DataError
            If the answer of a triple is not a candidate.
        """
        if not isinstance(self.rows, GeometryRows) or RELATION in sides:
            return None
        # The queries that share a table of vectors and a pool of candidates are searched together, so that a large
        # table is read once. The key of such a group consists of the addresses of the table and the pool; pools of all
        # entities are one pool (None), wherever they are in memory.
        groups: dict[Hashable, list[int]] = {}
        shared: dict[Hashable, tuple[Any, Ids | None]] = {}
        pools: dict[Hashable, tuple[Ids, bool]] = {}  # address -> a pool, and whether it has all entities
        tables: dict[str, Any] = {}
        vectors = []
        every = np.arange(self.rows.n_entities)
        for i, side in enumerate(sides):
            positive = self.positive_rows[rows[i]]
            queries = self._query(side, self.facts[positive], positive)
            ((query, pool),) = self.candidates.pools(queries, self.among[side])
            position = int(np.searchsorted(pool, query.answers[0]))
            if position == len(pool) or pool[position] != query.answers[0]:
                label = self.dataset.entities.labels[query.answers[0]]
                raise DataError(f"{label!r} is not a candidate: it does not occur in train")
            if side not in tables:
                tables[side] = self.rows.vectors(side, every)
            vectors.append(on_host(self.rows.queries(side, query.parts)))
            check_dimensions(vectors[-1], tables[side], self.rows.name)
            if address(pool) not in pools:
                pools[address(pool)] = pool, np.array_equal(pool, every)
            is_whole = pools[address(pool)][1]
            key: Hashable = address(tables[side]), None if is_whole else address(pool)
            groups.setdefault(key, []).append(i)
            shared[key] = tables[side], None if is_whole else pool
        best: list[Best] = [Best(every[:0], np.zeros(0), 0, 0)] * len(triples)
        for key, members in groups.items():
            table, candidates = shared[key]
            found = best_candidates(
                self.rows.model.geometry,
                np.concatenate([vectors[i] for i in members]),
                table,
                candidates,
                np.array([triples[i, side_of(sides[i]).asked] for i in members]),
                [skipped[i] for i in members],
                n,
            )
            for i, one in zip(members, found):
                best[i] = one
        return best
