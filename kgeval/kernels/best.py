"""Find the best candidates of a few queries among all candidates, exactly, in one pass over the candidates.

`kgeval.evaluation.rescoring` calls `best_candidates` for embedding models; `kgeval.results.explanations` calls
`best_columns` for rows of scores.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kgeval.base.checks import Ids, Reals, Scores
from kgeval.data.row_keys import rank_in
from kgeval.errors import ScoreError
from kgeval.kernels.arrays import on_host
from kgeval.kernels.geometry import exact_pair_scores
from kgeval.kernels.passes import make_passes

_FIRST_BLOCK = 256  # the number of candidates in the first block; all of them are scored exactly
_BLOCK_NUMBERS = 1 << 22  # the vectors of a block contain about this many numbers
_SHARED_BLOCKS = 4  # from this number of blocks on, the candidates are divided among all processors


@dataclass(frozen=True)
class Best:
    """The best candidates of a query, and the counts of candidates that score higher than the answer, or equal to it.

    Parameters
    ----------
    candidates : int64 array, shape (best,)
        Ids, by descending score; ids with equal scores ascend.
    scores : float64 array, shape (best,)
        The exact scores of `candidates`.
    better, equal : int
        How many of all candidates have a higher score than the answer, and how many have the same score. If the answer
        is a candidate, `equal` counts the answer too.
    """

    candidates: Ids
    scores: Reals
    better: int
    equal: int


def best_columns(scores: Scores, n: int) -> Ids:
    """Return the columns of the `n` highest scores, the highest first; columns with equal scores ascend.

    Parameters
    ----------
    scores : array, shape (candidates,)
        No NaN.
    n : int
        Not negative; all columns are returned if there are fewer than `n`.

    Returns
    -------
    int64 array, shape (n,)

    Examples
    --------
    >>> best_columns(np.array([1.0, 5.0, 3.0, 5.0, 3.0]), 3)
    array([1, 3, 2])
    """
    columns = np.arange(len(scores) if n else 0)
    if 0 < n < len(scores):
        least = np.partition(scores, len(scores) - n)[len(scores) - n]  # the n-th highest score
        above = np.flatnonzero(scores > least)
        columns = np.concatenate([above, np.flatnonzero(scores == least)[: n - len(above)]])
    # A stable ascending sort of the reversed scores gives the reverse of the wanted order.
    ascending = len(columns) - 1 - np.argsort(scores[columns][::-1], kind="stable")
    return columns[ascending[::-1][:n]]


def best_candidates(
    geometry: str, queries: Reals, table: Any, pool: Ids | None, answers: Ids, skipped: Sequence[Ids], n: int
) -> list[Best]:
    """Return the `n` best candidates of each query, and count the candidates that score higher than the query's answer.

    The candidates are read in blocks, and the first pass of `make_passes` computes screening scores (approximate scores
    with a proven error bound) for a block. Most candidates are decided by their screening scores. Only two kinds of
    candidates are scored exactly: those that may be better than the n-th best candidate so far, and those whose
    screening score is so close to the score of the answer that the order is not certain. The results equal those of
    exact scores of all pairs.

    Parameters
    ----------
    geometry : str
        One of `GEOMETRIES`.
    queries : float64 array, shape (queries, d)
    table : float array, tensor or StreamedTable, shape (entities, d)
        Its rows are read block by block.
    pool : int64 array, optional
        Sorted ids of the candidates; by default all entities.
    answers : int64 array, shape (queries,)
        The id of the answer of each query.
    skipped : sequence of int64 arrays
        For each query, sorted ids of entities that must not be among the best candidates, for example the known
        answers. `Best.better` and `Best.equal` still count these entities.
    n : int
        At least 1.

    Returns
    -------
    list of Best
        One for each query.

    Raises
    ------
    ScoreError
        If a vector has a NaN or an infinite value.

    Examples
    --------
    >>> table = np.array([[3.0], [1.0], [2.0], [3.0]])
    >>> best_candidates("dot", np.array([[1.0]]), table, None, np.array([2]), [np.array([2])], n=2)
    [Best(candidates=array([0, 3]), scores=array([3., 3.]), better=2, equal=1)]
    """
    rows = np.arange(len(queries))
    thresholds = exact_pair_scores(geometry, queries, on_host(table[answers]), rows, rows)
    n_candidates = len(table) if pool is None else len(pool)
    step = max(8, _BLOCK_NUMBERS // max(1, table.shape[1]))

    def searched(first: int, end: int) -> _Search:
        """Return the results of the search among the candidates ``first:end``."""
        search, start = _Search(geometry, queries, thresholds, skipped, n), first
        while start < end:
            stop = min(start + (step if start > first else min(step, _FIRST_BLOCK)), end)
            ids = np.arange(start, stop) if pool is None else pool[start:stop]
            vectors = np.ascontiguousarray(on_host(table[start:stop] if pool is None else table[ids]))
            search.read(ids, vectors)
            start = stop
        return search

    n_searches = (os.cpu_count() or 1) if n_candidates >= _SHARED_BLOCKS * step else 1
    ends = np.linspace(0, n_candidates, n_searches + 1).astype(int).tolist()
    # the matrix products are too small to be divided among several threads
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_searches) as threads:
        whole, *others = threads.map(searched, ends[:-1], ends[1:])
    for search in others:
        whole.add(search)
    return [Best(*best, int(better), int(equal)) for best, better, equal in zip(whole.best, whole.better, whole.equal)]


def _check_finite(ids: Ids, vectors: Reals) -> None:
    """Raise a ScoreError if a vector has a NaN or an infinite value; `ids` are the entities of the vectors."""
    is_finite = np.isfinite(vectors).all(axis=1)
    if not is_finite.all():
        bad = ids[np.argmin(is_finite)]
        raise ScoreError(
            f"the vector of entity {bad}, dataset.entities.labels[{bad}], has a NaN or an infinite value. Did the "
            "training diverge?"
        )


class _Search:
    """The intermediate results of each query: the best candidates and the counts in the blocks that were read so far.

    Parameters
    ----------
    geometry, queries, skipped, n
        As in `best_candidates`.
    thresholds : float64 array, shape (queries,)
        The exact score of each answer.

    Attributes
    ----------
    best : list of tuples of two arrays
        Ids and exact scores of the best candidates so far, for each query; see `Best`.
    better, equal : int64 arrays, shape (queries,)
        The counts so far, for each query; see `Best`.
    """

    def __init__(self, geometry: str, queries: Reals, thresholds: Reals, skipped: Sequence[Ids], n: int) -> None:
        self.geometry, self.queries, self.thresholds, self.skipped, self.n = geometry, queries, thresholds, skipped, n
        nothing: tuple[Ids, Reals] = (np.zeros(0, dtype=np.int64), np.zeros(0))
        self.best = [nothing for _ in queries]
        self.better, self.equal = np.zeros((2, len(queries)), dtype=np.int64)

    def read(self, ids: Ids, vectors: Any) -> None:
        """Update the counts and the best candidates with a block of candidates.

        `ids`, shape (candidates,), contains the sorted ids of the candidates of the block; `vectors`, shape
        (candidates, d), contains the vectors of these candidates.
        """
        with np.errstate(all="ignore"):
            order, passes, _ = make_passes(self.geometry, vectors, len(vectors))
            block, screen = slice(0, len(vectors)), passes[0]
            state, rows = screen.prepare(self.queries), np.arange(len(self.queries))
            tile = screen.tile(state, None, block)
        if not np.isfinite(tile[:1]).all():  # a vector with a NaN or infinite value has no finite score with any query
            _check_finite(ids, vectors)
        ids = ids[order]  # in the order of the columns of the tile
        # `least`: the exact score of the n-th best candidate of each query so far; 0 if there are fewer than n so far
        is_full = np.array([len(scores) == self.n for _, scores in self.best])
        least = np.array([scores[-1] if full else 0.0 for (_, scores), full in zip(self.best, is_full)])
        # If a score is far outside the range of the scores of this block, the ends of its interval overflow to infinity
        # or NaN. Comparisons with NaN are False, which is correct here: `low` is NaN only if the score is far above all
        # cells of the block, and if `high` is NaN, no cell is above the score.
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = screen.interval(state, rows, self.thresholds, block)
            least_low, _ = screen.interval(state, rows, least, block)
        for i, cells in enumerate(tile):
            above = cells > high[i]
            open_cells = np.flatnonzero((cells >= low[i]) & ~above)
            if len(open_cells):
                exact = self._exact(i, vectors, order[open_cells])
                self.better[i] += np.count_nonzero(exact > self.thresholds[i])
                self.equal[i] += np.count_nonzero(exact == self.thresholds[i])
            self.better[i] += np.count_nonzero(above)
            if is_full[i] and cells.max() < least_low[i]:
                continue
            possible = np.flatnonzero(cells >= least_low[i]) if is_full[i] else np.arange(len(cells))
            possible = possible[~rank_in(self.skipped[i], ids[possible])[1]]
            self._keep(i, ids[possible], self._exact(i, vectors, order[possible]))

    def add(self, other: _Search) -> None:
        """Merge the results of a search of the same queries among other candidates."""
        self.better += other.better
        self.equal += other.equal
        for i, best in enumerate(other.best):
            self._keep(i, *best)

    def _exact(self, i: int, vectors: Any, columns: Ids) -> Reals:
        """Return the exact scores of query `i` with the candidate vectors ``vectors[columns]``."""
        return exact_pair_scores(self.geometry, self.queries, vectors, np.full(len(columns), i), columns)

    def _keep(self, i: int, ids: Ids, scores: Reals) -> None:
        """Keep the n best candidates of query `i` among its best candidates so far and `ids`."""
        if np.isnan(scores).any():
            raise ScoreError(f"the score of entity {ids[np.argmax(np.isnan(scores))]} is NaN")
        all_ids, all_scores = (np.concatenate(parts) for parts in zip(self.best[i], (ids, scores)))
        kept = np.lexsort((all_ids, -all_scores))[: self.n]
        self.best[i] = all_ids[kept], all_scores[kept]
