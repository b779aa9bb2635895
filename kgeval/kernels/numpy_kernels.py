"""`NumpyCounter` counts candidates for embedding vectors on the host, with the help of screening scores.

A screening score is an approximate score with a proven error bound. `decide` compares the screening scores of a tile
with the scores of the positives, in numpy or in loops compiled by numba. `backends.make_counter` makes the counter, and
the ranker calls its method `count` once for each batch of queries.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kgeval.base.checks import Bools, Ids, Reals, Scores
from kgeval.kernels.arrays import Array, on_host
from kgeval.kernels.compiled import is_compiled
from kgeval.kernels.counts import Counts, Places
from kgeval.kernels.float_passes import DotPass
from kgeval.kernels.geometry import exact_pair_scores, exact_scores, pair_parts
from kgeval.kernels.panels import PANEL
from kgeval.kernels.passes import Pass, make_passes
from kgeval.kernels.tiles import NO_RECHECK, Recheck, decide, short_buffers

BATCH = 512
_MAX_AT_ONCE = 64  # at most this many positives are compared with a row of scores at a time
_MAX_WAITING = 1 << 20  # when there are more open pairs than this, they are scored
# The measured memory of a thread, in bytes: per cell of a tile (scores of the passes, masks, copies of rows), without
# and with a pass of 8-bit products; and per number of a query. A thread needs twice as much memory if many candidates
# are open as if few are open.
CELL_BYTES, BYTE_CELL_BYTES, QUERY_BYTES = 17, 24, 32
COMPILED_CELL_BYTES, COMPILED_BYTE_CELL_BYTES = 5, 9  # the compiled loop needs no masks


class NumpyCounter:
    """Counts candidates for embedding vectors, mostly with approximate scores; the counts equal those of exact scores.

    The matrix queries x candidates is cut into tiles. One pass after another screens a tile; each pass is slower and
    more precise than the pass before. A pass computes approximate scores, called screening scores. For each positive,
    a candidate is decided if its screening score is outside a proven interval around the positive's score: a candidate
    above the interval scores higher than the positive, a candidate below the interval scores lower. All other
    candidates are open:

    - If a positive has few open candidates, only these are scored again, if necessary exactly.
    - A positive with many open candidates in a tile is called crowded, and the next pass screens the tile again
      for this positive. If a positive is crowded after the last pass, all candidates of the tile are scored exactly.

    Parameters
    ----------
    geometry : str
    candidates : float array or tensor, shape (candidates, d)
        Finite; must not change while the counter is used. A tensor is copied to the host.
    block_size : int
        The largest number of candidates in a tile; all tiles are about equally wide.
    multiplier : str, optional
        What multiplies integers in the first pass of ``dot``: ``"torch"``, ``"numba"``, or nothing.
    batch_size : int
        The recommended number of queries for one call of `count`: their tile fits the processor's cache.
    """

    def __init__(
        self, geometry: str, candidates: Array, block_size: int, multiplier: str | None = None, batch_size: int = BATCH
    ) -> None:
        self.geometry, self.batch_size = geometry, batch_size
        self.candidates = candidates = on_host(candidates)
        self.block_size = even_width(len(candidates), block_size)
        if self.block_size > 255:
            # wide tiles get whole panels; without numba, `count_true` reads eight cells as one word
            self.block_size = min(-(-self.block_size // PANEL) * PANEL, max(block_size, PANEL))
        self.order, self.passes, self.of_pairs = make_passes(geometry, candidates, self.block_size, multiplier)
        self._pairs_at = next(i for i, screen in enumerate(self.passes) if screen is self.of_pairs)
        # candidate vectors, for the second screening of open pairs in the compiled loop; None: no such screening
        self._rechecked: Any = None
        if is_compiled() and self._pairs_at > 0 and isinstance(self.of_pairs, DotPass):
            self._rechecked = self.of_pairs.vectors if isinstance(self.of_pairs.vectors, np.ndarray) else None
        columns = np.arange(len(candidates))
        self.column_of = self.order  # the inverse of `order`: column_of[order[j]] == j
        if not np.array_equal(self.order, columns):
            self.column_of = np.empty_like(columns)
            self.column_of[self.order] = columns

    @property
    def has_finite_norms(self) -> bool:
        """Whether the norms show that all candidate vectors are finite; False if the pass computes no norms."""
        norms = getattr(self.of_pairs, "norms", None)
        return norms is not None and bool(np.isfinite(norms).all())

    def count(self, queries: Array, places: Places) -> Counts:
        """Count, for each positive, all candidates and the known answers with a higher and with the same score.

        Parameters
        ----------
        queries : float64 array or tensor, shape (queries, d)
        places : Places

        Returns
        -------
        Counts
            `Counts.scores` is float64.
        """
        queries = on_host(queries)
        scores = self._exact(queries, places.rows, places.answers)
        with nullcontext() if is_compiled() else short_buffers():
            job = _Job(queries, self.passes, places, scores, self.column_of[places.known])
            self._count_all(job)
        return Counts(job.better, job.equal, job.known_better, job.known_equal, scores)

    def _exact(self, queries: Reals, rows: Ids, columns: Ids) -> Reals:
        return exact_pair_scores(self.geometry, queries, self.candidates, rows, columns)

    def _count_all(self, job: _Job) -> None:
        """Count, for each positive, the candidates with a higher score and with the same score, tile by tile.

        A pair is a positive and a candidate. Undecided pairs are collected, and scored together whenever there are
        many, and at the end.
        """
        places, n = job.places, len(self.candidates)
        open_pairs: list[tuple[Ids, Ids, Bools]] = []  # for each tile: the open pairs, see `_settle`
        n_waiting = 0  # the number of pairs in `open_pairs`
        by_block = np.argsort(job.known_columns // self.block_size, kind="stable")  # known answers, block after block
        n_known = np.bincount(job.known_columns // self.block_size, minlength=-(-n // self.block_size))
        known_ends = np.append(0, np.cumsum(n_known))
        # the first pass screens all positives; tile_rows: their distinct queries; row_of: each positive's row in a tile
        everything = np.arange(len(places.rows)), *_distinct(places.rows)
        for number, start in enumerate(range(0, n, self.block_size)):
            block = slice(start, min(start + self.block_size, n))
            # the known answers in this block; their rows ascend
            known = by_block[known_ends[number] : known_ends[number + 1]]
            known_rows, known_columns = places.known_rows[known], job.known_columns[known] - start
            open_positives, tile_rows, row_of = everything
            for i, screen in enumerate(self.passes):
                cells, some = (known_rows, known_columns), None
                if len(tile_rows) < len(job.queries):
                    cells, some = _cells_of(tile_rows, known_rows, known_columns), tile_rows
                tile = screen.tile(job.state(i), some, block)
                ends = screen.interval(job.state(i), places.rows[open_positives], job.scores[open_positives], block)
                decided = decide(tile, row_of, *ends, *cells, self._recheck(job, i, some, block, open_positives))
                job.better[open_positives] += decided.above
                job.known_better[open_positives] += decided.known_above
                open_pairs.append((open_positives[decided.which], decided.columns + start, decided.is_known))
                n_waiting += len(decided.which)
                open_positives = np.sort(open_positives[decided.crowded])  # the next pass screens them again
                if not len(open_positives):
                    break
                tile_rows, row_of = _distinct(places.rows[open_positives])
            if len(open_positives):  # crowded after the last pass
                self._count_crowd(job, open_positives, block, known_rows, known_columns)
            if n_waiting > _MAX_WAITING:
                self._settle(job, open_pairs)
                open_pairs, n_waiting = [], 0
        self._settle(job, open_pairs)

    def _recheck(self, job: _Job, i: int, tile_rows: Ids | None, block: slice, positives: Ids) -> Recheck:
        """Return the input for a second screening of the open pairs of pass i, by float32 dot products.

        `decide` does this screening. Returns `NO_RECHECK` if the pairs are not screened a second time.
        """
        if i >= self._pairs_at or self._rechecked is None:
            return NO_RECHECK
        queries = job.state(self._pairs_at).vectors
        low, high = self._pair_ends(job)
        queries = queries if tile_rows is None else queries[tile_rows]
        return Recheck(queries, self._rechecked[block], low[positives], high[positives])

    def _pair_ends(self, job: _Job) -> tuple[Scores, Scores]:
        """Return the ends of the positives' intervals for the pass `of_pairs`, valid for all candidates."""
        if job.pair_ends is None:
            state = job.state(self._pairs_at)
            everything = slice(0, len(self.candidates))
            job.pair_ends = self.of_pairs.interval(state, job.places.rows, job.scores, everything)
        return job.pair_ends

    def _settle(self, job: _Job, open_pairs: list[tuple[Ids, Ids, Bools]]) -> None:
        """Count the open pairs in which the candidate has a higher score, or the same score.

        `open_pairs` holds three arrays for each tile. For each pair, these contain the positive, the column of the
        candidate (in the order of the tiles), and whether the candidate is a known answer. The pass `of_pairs` screens
        the open pairs, unless `of_pairs` was the first pass or the compiled loop has screened them again. The
        pairs that stay open are scored exactly.
        """
        if not open_pairs:
            return
        rows = job.places.rows
        which, columns, is_known = (np.concatenate(parts) for parts in zip(*open_pairs))  # (pairs,)
        # the pairs in which the candidate is the positive itself; these are ties
        is_self = columns == self.column_of[job.places.answers][which]
        job.add_equal(which[is_self], is_known[is_self])
        which, columns, is_known = which[~is_self], columns[~is_self], is_known[~is_self]
        if self._pairs_at > 0 and self._rechecked is None:
            screened = self.of_pairs.pairs(job.state(self._pairs_at), rows[which], columns)
            low, high = self._pair_ends(job)
            is_above = screened > high[which]
            job.add_better(which[is_above], is_known[is_above])
            is_open = (screened >= low[which]) & ~is_above
            which, columns, is_known = which[is_open], columns[is_open], is_known[is_open]
        exact = self._exact(job.queries, rows[which], self.order[columns])
        is_above, is_equal = exact > job.scores[which], exact == job.scores[which]
        job.add_better(which[is_above], is_known[is_above])
        job.add_equal(which[is_equal], is_known[is_equal])

    def _count_crowd(self, job: _Job, crowd: Ids, block: slice, known_rows: Ids, known_columns: Ids) -> None:
        """Count, for each positive of `crowd`, the candidates of `block` with a higher score and with the same score.

        All scores are exact. `known_rows` and `known_columns` hold the cells of the known answers in the block.
        """
        scores = job.scores[crowd, None]
        query_rows, row_of = _distinct(job.places.rows[crowd])
        # for each of these queries: the positions of its positives in `crowd`; they are consecutive
        positives_of_rows = np.split(np.arange(len(crowd)), np.flatnonzero(np.diff(row_of)) + 1)
        ends = np.searchsorted(known_rows, query_rows), np.searchsorted(known_rows, query_rows, side="right")
        for candidate_part in pair_parts(block.stop - block.start, job.queries.shape[1]):
            vectors = self.candidates[self.order[block][candidate_part]].astype(np.float64)
            for row, first, last, positives in zip(query_rows, *ends, positives_of_rows):
                exact = exact_scores(self.geometry, job.queries[row], vectors)  # (candidates of the part,)
                known = known_columns[first:last] - candidate_part.start
                known_scores = exact[known[(known >= 0) & (known < len(exact))]]
                for part in np.array_split(positives, -(-len(positives) // _MAX_AT_ONCE)):
                    of, thresholds = crowd[part], scores[part]
                    job.better[of] += np.count_nonzero(exact > thresholds, axis=1)
                    job.equal[of] += np.count_nonzero(exact == thresholds, axis=1)
                    job.known_better[of] += np.count_nonzero(known_scores > thresholds, axis=1)
                    job.known_equal[of] += np.count_nonzero(known_scores == thresholds, axis=1)


def even_width(n: int, block_size: int) -> int:
    """Return a tile width, at most `block_size`, that divides `n` candidates into tiles of about equal width.

    Parameters
    ----------
    n, block_size : int
        At least 1.

    Returns
    -------
    int

    Examples
    --------
    >>> even_width(10_000, 4080)
    3334
    """
    return -(-n // -(-n // block_size))


@dataclass
class _Job:
    """The input of one call of `NumpyCounter.count`, and the counts so far.

    Parameters
    ----------
    queries : float64 array, shape (queries, d)
    passes : list of Pass
    places : Places
    scores : float64 array, shape (positives,)
        The exact scores of the positives.
    known_columns : int64 array, shape (known answers,)
        The column of each known answer, in the order of the tiles.

    Attributes
    ----------
    better, equal, known_better, known_equal : int64 arrays, shape (positives,)
        See `Counts`.
    """

    queries: Reals
    passes: list[Pass]
    places: Places
    scores: Reals
    known_columns: Ids
    better: Ids = field(init=False)
    equal: Ids = field(init=False)
    known_better: Ids = field(init=False)
    known_equal: Ids = field(init=False)
    pair_ends: tuple[Scores, Scores] | None = None
    _states: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.better, self.equal, self.known_better, self.known_equal = np.zeros((4, len(self.scores)), dtype=np.int64)

    def state(self, i: int) -> Any:
        """Return the queries, prepared for pass i; they are prepared at the first call."""
        if i not in self._states:
            self._states[i] = self.passes[i].prepare(self.queries)
        return self._states[i]

    def add_better(self, which: Ids, is_known: Bools) -> None:
        """Count pairs in which the candidate scores higher; `which` holds the positive of each pair."""
        self.better += np.bincount(which, minlength=len(self.better))
        self.known_better += np.bincount(which[is_known], minlength=len(self.better))

    def add_equal(self, which: Ids, is_known: Bools) -> None:
        """Count pairs in which the candidate has the same score; `which` holds the positive of each pair."""
        self.equal += np.bincount(which, minlength=len(self.equal))
        self.known_equal += np.bincount(which[is_known], minlength=len(self.equal))


def _cells_of(tile_rows: Ids, rows: Ids, columns: Ids) -> tuple[Ids, Ids]:
    """Return the cells (rows, columns) whose row is in `tile_rows`; a returned row is a position in `tile_rows`.

    Examples
    --------
    >>> _cells_of(np.array([2, 5]), np.array([1, 2, 5]), np.array([7, 8, 9]))
    (array([0, 1]), array([8, 9]))
    """
    rows_in_tile = np.minimum(np.searchsorted(tile_rows, rows), len(tile_rows) - 1)
    is_in_tile = tile_rows[rows_in_tile] == rows
    return rows_in_tile[is_in_tile], columns[is_in_tile]


def _distinct(rows: Ids) -> tuple[Ids, Ids]:
    """Return the distinct values of the sorted array `rows`, and the index of each element among these values.

    Examples
    --------
    >>> _distinct(np.array([2, 2, 5]))
    (array([2, 5]), array([0, 0, 1]))
    """
    is_new = np.diff(rows, prepend=-1) != 0
    return rows[is_new], np.cumsum(is_new) - 1
