"""`NumpyCounter` counts candidates for embedding vectors in numpy, with the help of screening scores.

A screening score is an approximate score with a proven error bound; `decide` compares the screening scores of a tile.
`backends.make_counter` makes the counter, and the ranker calls its `count` once for each batch of queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.checks import Bools, Ids, Reals, Scores
from kgeval.data import rank_in
from kgeval.kernels.arrays import Array, on_host
from kgeval.kernels.counts import Counts, Places, count_known
from kgeval.kernels.geometry import exact_pair_scores, exact_scores, pair_parts
from kgeval.kernels.passes import make_passes

BATCH = 512
_CROWDED = 32  # a positive is crowded if more than 1 in 32 candidates of a tile stay undecided
_SPARSE = 32  # a row is sparse if at most 1 in 32 of its cells reach the smallest `low` of its positives (see `decide`)
_LANES = 255  # a sum of 255 bytes fits one byte if each of them is 0 or 1
_BUFFER = 1024  # size of numpy's buffer in cells
_MAX_AT_ONCE = 64  # the largest number of positives that are compared with one row of scores together
_MAX_WAITING = 1 << 20  # when there are more undecided pairs than this, they are scored
# Memory of a thread, measured: for each cell of a tile (scores of the passes, masks, copies of rows), without and with
# a pass of 8-bit products, and for each number of a query. Between few and many undecided candidates, it doubles.
CELL_BYTES, BYTE_CELL_BYTES, QUERY_BYTES = 17, 24, 32
_EVEN_BYTES, _ADD_PAIRS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0001000100010001)


class NumpyCounter:
    """Counts candidates for embedding vectors, mostly with approximate scores; the counts equal those of exact scores.

    The matrix queries x candidates is cut into tiles. One pass after another screens a tile; each pass is slower and
    more precise than the pass before. A pass computes approximate scores, called screening scores. For each positive,
    a candidate is decided if its screening score is outside a proven interval around the positive's score: above the
    interval it scores higher than the positive, below the interval it scores lower. All other candidates are undecided:

    - If a positive has few undecided candidates, only these are scored again, if necessary exactly.
    - If a positive has many undecided candidates in a tile, it is called crowded, and the next pass screens the tile
      again for this positive. If it is crowded after the last pass, all candidates of the tile are scored exactly.

    Parameters
    ----------
    geometry : str
    candidates : float array or tensor, shape (candidates, d)
        Finite; must not change while the counter is used. A tensor is copied to the host.
    block_size : int
        The largest number of candidates in a tile; all tiles are about equally wide.
    with_bytes : bool
        Whether the first pass of ``dot`` is torch's product of 8-bit integers.
    batch_size : int
        The recommended number of queries for one call of `count`: their tile fits the processor's cache.
    """

    def __init__(
        self, geometry: str, candidates: Array, block_size: int, with_bytes: bool = False, batch_size: int = BATCH
    ) -> None:
        self.geometry, self.batch_size = geometry, batch_size
        self.candidates = candidates = on_host(candidates)
        self.block_size = even_width(len(candidates), block_size)
        if self.block_size > _LANES:
            # wide tiles get a multiple of eight columns: `count_true` reads eight cells as one word
            self.block_size = min(-(-self.block_size // 8) * 8, max(block_size, 8))
        self.order, self.passes, self.of_pairs = make_passes(geometry, candidates, self.block_size, with_bytes)
        self._pairs_at = next(i for i, screen in enumerate(self.passes) if screen is self.of_pairs)
        self.column_of = np.empty(len(candidates), dtype=np.int64)  # the inverse of `order`: column_of[order[j]] == j
        self.column_of[self.order] = np.arange(len(candidates))

    def count(self, queries: Array, places: Places) -> Counts:
        """Count, for each positive, candidates, and the known answers, with a higher and with the same score.

        Parameters
        ----------
        queries : float64 array or tensor, shape (queries, d)
        places : Places

        Returns
        -------
        Counts
            Its scores are float64.
        """
        queries = on_host(queries)
        scores = self._exact(queries, places.rows, places.answers)
        with _short_buffers():
            job = _Job(queries, [screen.prepare(queries) for screen in self.passes], places, scores)
            better, equal, screened = self._count_all(job)
            known_better, known_equal = self._count_known(job, screened)
        return Counts(better, equal, known_better, known_equal, scores)

    def _exact(self, queries: Reals, rows: Ids, columns: Ids) -> Reals:
        return exact_pair_scores(self.geometry, queries, self.candidates, rows, columns)

    def _count_all(self, job: _Job) -> tuple[Ids, Ids, Scores]:
        """Count, for each positive, the candidates with a higher score and with the same score, tile by tile.

        A pair is a positive and a candidate. Undecided pairs are collected, and scored together whenever there are
        many, and at the end.

        Returns
        -------
        better, equal : int64 arrays, shape (positives,)
        screened : float32 array, shape (known answers,)
            Screening scores of the known answers, taken from the tiles that the pass `of_pairs` screened; NaN for a
            known answer that is in none of these tiles.
        """
        places, rows = job.places, job.places.rows
        known = self.column_of[places.known]  # (known answers,): the column of each, in the order of the tiles
        screened = np.full(len(known), np.nan, dtype=np.float32)
        better, equal = np.zeros((2, len(rows)), dtype=np.int64)
        first_pass = np.zeros(len(rows), dtype=np.int64)  # (positives,): the first pass that screens the positive
        undecided: list[tuple[Ids, Ids]] = []  # for each tile: positives and columns of the undecided pairs
        for start in range(0, len(self.candidates), self.block_size):
            block = slice(start, min(start + self.block_size, len(self.candidates)))
            for i, (screen, state) in enumerate(zip(self.passes, job.states)):
                open_positives = np.flatnonzero(first_pass == i)  # positives that this pass screens in this block
                if len(open_positives):
                    # tile_rows: the distinct queries of these positives; row_of: each positive's row in the tile
                    tile_rows, row_of = _distinct(rows[open_positives])
                    tile = screen.tile(state, None if len(tile_rows) == len(job.queries) else tile_rows, block)
                    if i == self._pairs_at:
                        _keep_cells(tile, tile_rows, block, places.known_rows, known, screened)
                    low, high = screen.interval(state, rows[open_positives], job.scores[open_positives], block)
                    decided = decide(tile, row_of, low, high)
                    better[open_positives] += decided.above
                    undecided.append((open_positives[decided.which], decided.columns + start))
                    # Crowded positives go to the next pass, in this block and in all later blocks.
                    open_positives = np.sort(open_positives[decided.crowded])
                    first_pass[open_positives] = min(i + 1, len(self.passes) - 1)
            if len(open_positives):  # crowded after the last pass
                above, same = self._count_crowd(job, open_positives, block)
                better[open_positives] += above
                equal[open_positives] += same
            if sum(len(which) for which, _ in undecided) > _MAX_WAITING:
                above, same = self._settle(job, undecided)
                better, equal, undecided = better + above, equal + same, []
        above, same = self._settle(job, undecided)
        return better + above, equal + same, screened

    def _settle(self, job: _Job, undecided: list[tuple[Ids, Ids]]) -> tuple[Ids, Ids]:
        """Count, for each positive, the undecided candidates with a higher score and with the same score.

        A pair is a positive and the column of a candidate in the order of the tiles. The pass `of_pairs` screens the
        undecided pairs, except if `of_pairs` is the first pass, which has already screened them. The pairs that stay
        undecided are scored exactly. Returns two arrays of counts, better and equal, int64, shape (positives,).
        """
        rows = job.places.rows
        if not undecided:
            return np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
        which, columns = (np.concatenate(parts) for parts in zip(*undecided))  # (pairs,): positive, column
        # the pairs in which the candidate is the positive itself; these are ties
        is_self = columns == self.column_of[job.places.answers][which]
        equal = np.bincount(which[is_self], minlength=len(rows))
        better = np.zeros_like(equal)
        which, columns = which[~is_self], columns[~is_self]
        if self._pairs_at > 0:
            state = job.states[self._pairs_at]
            screened = self.of_pairs.pairs(state, rows[which], columns)
            low, high = self.of_pairs.interval(state, rows, job.scores, slice(0, len(self.candidates)))
            is_above = screened > high[which]
            better += np.bincount(which[is_above], minlength=len(rows))
            is_undecided = (screened >= low[which]) & ~is_above
            which, columns = which[is_undecided], columns[is_undecided]
        exact = self._exact(job.queries, rows[which], self.order[columns])
        better += np.bincount(which[exact > job.scores[which]], minlength=len(rows))
        equal += np.bincount(which[exact == job.scores[which]], minlength=len(rows))
        return better, equal

    def _count_crowd(self, job: _Job, crowd: Ids, block: slice) -> tuple[Ids, Ids]:
        """Count, for each positive of `crowd`, the candidates of `block` with a higher score and with the same score.

        All scores are exact.
        """
        better, equal = np.zeros((2, len(crowd)), dtype=np.int64)
        scores = job.scores[crowd, None]
        query_rows, row_of = _distinct(job.places.rows[crowd])
        # for each of these queries: the positions of its positives in `crowd`; they are consecutive
        positives_of_rows = np.split(np.arange(len(crowd)), np.flatnonzero(np.diff(row_of)) + 1)
        for candidate_part in pair_parts(block.stop - block.start, job.queries.shape[1]):
            vectors = self.candidates[self.order[block][candidate_part]].astype(np.float64)
            for row, positives in zip(query_rows, positives_of_rows):
                exact = exact_scores(self.geometry, job.queries[row], vectors)  # (candidates of the part,)
                for part in np.array_split(positives, -(-len(positives) // _MAX_AT_ONCE)):
                    better[part] += np.count_nonzero(exact > scores[part], axis=1)
                    equal[part] += np.count_nonzero(exact == scores[part], axis=1)
        return better, equal

    def _count_known(self, job: _Job, screened: Scores) -> tuple[Ids, Ids]:
        """Count, for each positive, the known answers of its query with a higher score and with the same score.

        `screened` holds the screening scores from `_count_all`; this method computes the missing scores (NaN). If a
        positive has an undecided known answer (other than the positive itself), all known answers of its query are
        scored exactly. Returns two arrays of counts, better and equal, int64, shape (positives,).
        """
        of_pairs, state, places, n = self.of_pairs, job.states[self._pairs_at], job.places, len(self.candidates)
        missing = np.flatnonzero(np.isnan(screened))
        screened[missing] = of_pairs.pairs(state, places.known_rows[missing], self.column_of[places.known[missing]])
        low, high = of_pairs.interval(state, places.rows, job.scores, slice(0, n))
        # better, (positives,): the number of known answers above the interval, which are certainly better
        better, _ = count_known(places, screened, high)
        # above_low + at_low is the number of known answers in the interval or above it
        above_low, at_low = count_known(places, screened, low)
        # is_known, (positives,): whether the positive is itself a known answer; row * n + column is the key of a cell
        _, is_known = rank_in(np.sort(places.known_rows * n + places.known), places.rows * n + places.answers)
        # A positive that is a known answer is in its interval. All other known answers in this interval are undecided.
        is_open = above_low + at_low - better != is_known
        equal = is_known.astype(np.int64)  # if no answer is undecided, only the positive itself can be equal
        if is_open.any():
            # is_of_open, (known answers,): whether the query of the known answer has a positive with `is_open`
            is_of_open = np.isin(places.known_rows, places.rows[is_open])
            known_rows, known = places.known_rows[is_of_open], places.known[is_of_open]
            open_places = Places(places.rows[is_open], places.answers[is_open], known_rows, known)
            exact = self._exact(job.queries, known_rows, known)
            better[is_open], equal[is_open] = count_known(open_places, exact, job.scores[is_open])
        return better, equal


def even_width(n: int, block_size: int) -> int:
    """Return the width of tiles of at most `block_size` candidates that cut `n` candidates into about equal parts.

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


@dataclass(frozen=True)
class _Job:
    """The prepared input of one call of `NumpyCounter.count`.

    `states` holds, for each pass, the result of its `prepare`. `scores`, float64, shape (positives,), holds the exact
    scores of the positives.
    """

    queries: Reals
    states: list[Any]
    places: Places
    scores: Reals


@dataclass(frozen=True)
class Decided:
    """The result of `decide` for a tile: how many candidates certainly score higher, and which pairs are undecided.

    A pair is a positive and the column of a candidate.

    Parameters
    ----------
    above : int64 array, shape (positives,)
        How many candidates certainly score higher than the positive; 0 for a crowded positive.
    which, columns : int64 arrays, shape (undecided,)
        Positive and column of each undecided pair; the pairs of crowded positives are left out.
    crowded : int64 array
        Positives with too many undecided candidates to list.
    """

    above: Ids
    which: Ids
    columns: Ids
    crowded: Ids


def decide(tile: Scores, row_of: Ids, low: Scores, high: Scores) -> Decided:
    """Compare the screening scores of a tile with each positive's interval.

    A row of the tile is sparse if few of its cells reach the smallest `low` of its positives; only these cells are
    compared. Every other row is dense: the whole row is compared, once for each positive of the row.

    Parameters
    ----------
    tile : numeric array, shape (rows, columns)
        Screening scores of queries x candidates.
    row_of : int64 array, shape (positives,)
        The row of each positive; ascending, and every row has at least one positive.
    low, high : arrays, shape (positives,)
        The interval of each positive. Scores above `high` are better, scores below `low` are worse; scores from `low`
        to `high`, both included, are undecided.

    Returns
    -------
    Decided

    Examples
    --------
    One row, one positive: 7 and 9 are above the interval 4..6, 1 is below it, and 5 (column 1) is undecided.

    >>> decide(np.array([[1, 5, 7, 9]]), np.array([0]), np.array([4]), np.array([6]))
    Decided(above=array([2]), which=array([0]), columns=array([1]), crowded=array([], dtype=int64))
    """
    above = np.zeros(len(row_of), dtype=np.int64)
    # For each row, (rows,): its first positive, the number of its positives, and their smallest `low`.
    starts = np.flatnonzero(np.diff(row_of, prepend=-1))
    n_positives = np.diff(np.append(starts, len(row_of)))
    lowest = np.minimum.reduceat(low, starts)
    # (rows, columns): the cells that reach the smallest `low`; all other cells are worse than every positive of the
    # row.
    is_at_least = np.greater_equal(tile, lowest[:, None])
    n_at_least = count_true(is_at_least)
    is_sparse = n_at_least <= max(1, tile.shape[1] // _SPARSE)

    # Sparse rows. A comparison is a cell that reaches the smallest `low`, together with a positive of its row. Example:
    # if cell 0 is in a row with the positives 0 and 1, and cell 1 in a row with the positive 2, there are three
    # comparisons, and `cell_of` is [0, 0, 1], `which` is [0, 1, 2].
    sparse = np.flatnonzero(is_sparse & (n_at_least > 0))
    rows, columns = _true_cells(is_at_least if len(sparse) == len(tile) else is_at_least[sparse])
    rows = sparse[rows]  # rows and columns, (cells,): the row and the column of each cell in the tile
    # (comparisons,): the cell of each comparison; a cell is repeated for each positive of its row
    cell_of = np.repeat(np.arange(len(rows)), n_positives[rows])
    # which, (comparisons,): the positive of each comparison. If comparison j belongs to cell c in row r, the positive
    # is starts[r] + (j - n), where n is the number of comparisons of all cells before c.
    which = np.arange(len(cell_of)) + np.repeat(starts[rows] - np.cumsum(n_positives[rows]), n_positives[rows])
    which += n_positives[rows][cell_of]
    scores, columns = tile[rows, columns][cell_of], columns[cell_of]  # (comparisons,)
    is_above = scores > high[which]
    above += np.bincount(which[is_above], minlength=len(row_of))
    is_undecided = (scores >= low[which]) & ~is_above
    pairs = [(which[is_undecided], columns[is_undecided])]  # undecided pairs of sparse rows; pairs of dense rows follow
    crowded: list[Ids] = [np.zeros(0, dtype=np.int64)]

    # Dense rows, some positives at a time. If a positive has the smallest `low` of its row, `is_at_least` already holds
    # the comparison with this `low`; for the other positives, the comparison with `low` is computed here.
    is_dense, is_lowest = ~is_sparse[row_of], low == lowest[row_of]  # (positives,)
    step = max(1, len(tile) // 2)
    groups = (np.flatnonzero(is_dense & is_lowest), True), (np.flatnonzero(is_dense & ~is_lowest), False)
    for dense, has_lowest in groups:
        for start in range(0, len(dense), step):
            part = dense[start : start + step]  # the positives that are compared in this step
            cells = tile[row_of[part]]  # (positives of the part, columns): the row of each positive
            mask = is_at_least[row_of[part]] if has_lowest else np.greater_equal(cells, low[part, None])
            above[part], undecided, is_crowded = _decide_dense(cells, mask, high[part])
            pairs.append((part[undecided[0]], undecided[1]))
            crowded.append(part[is_crowded])
    which, columns = (np.concatenate(parts) for parts in zip(*pairs))
    return Decided(above, which, columns, np.concatenate(crowded))


def _decide_dense(scores: Scores, is_at_least: Bools, high: Scores) -> tuple[Ids, tuple[Ids, Ids], Bools]:
    """Compare whole rows of scores, one row for each positive.

    `scores` and `is_at_least` (whether a score is at least `low`) have the shape (positives, columns), `high` has the
    shape (positives,). Returns a tuple of three parts:

    - for each positive, how many scores are above `high` (0 for a crowded positive), int64, shape (positives,);
    - a pair of arrays: the positive and the column of each undecided pair, both int64, shape (undecided,);
    - for each positive, whether it is crowded, bool, shape (positives,).
    """
    is_above = np.greater(scores, high[:, None])
    n_above = count_true(is_above)
    n_undecided = count_true(is_at_least) - n_above
    is_crowded = n_undecided > max(1, scores.shape[1] // _CROWDED)
    n_above[is_crowded] = 0
    listed = np.flatnonzero((n_undecided > 0) & ~is_crowded)  # positives whose undecided pairs are listed
    which, columns = _true_cells(is_at_least[listed] ^ is_above[listed])  # at least `low`, but not above `high`
    return n_above, (listed[which], columns), is_crowded


def _keep_cells(tile: Scores, tile_rows: Ids, block: slice, rows: Ids, columns: Ids, kept: Scores) -> None:
    """Copy the score of query ``rows[i]`` with candidate ``columns[i]`` to ``kept[i]``, for each pair i in the tile.

    The rows of the tile are the queries `tile_rows`, ascending; its columns are the candidates of `block`.
    """
    pairs = np.flatnonzero((columns >= block.start) & (columns < block.stop))  # pairs with a candidate of the block
    # (pairs,): the row of the tile that belongs to the query of each pair, if the tile contains this query
    rows_of_pairs = np.minimum(np.searchsorted(tile_rows, rows[pairs]), len(tile_rows) - 1)
    is_in_tile = tile_rows[rows_of_pairs] == rows[pairs]
    pairs, rows_of_pairs = pairs[is_in_tile], rows_of_pairs[is_in_tile]
    kept[pairs] = tile[rows_of_pairs, columns[pairs] - block.start]


def _true_cells(mask: Bools) -> tuple[Ids, Ids]:
    """Return the rows and the columns of the true cells, int64, row by row.

    Eight cells are first read as one 64-bit word, and only words that are not zero are read cell by cell. This is fast
    because few cells are true.

    Examples
    --------
    >>> _true_cells(np.array([[False, True], [True, True]]))
    (array([0, 1, 1]), array([1, 0, 1]))
    """
    width = mask.shape[1]
    if width % 8:
        cell_index = np.flatnonzero(mask)  # (true cells,): row * width + column
    else:
        words = np.flatnonzero(mask.view(np.uint64) != 0)  # (words,): the indices of the words with a true cell
        cells = np.flatnonzero(mask.reshape(-1, 8)[words])  # (true cells,): indices into the cells of these words alone
        cell_index = 8 * words[cells >> 3] + (cells & 7)  # (true cells,): 8 * (index of the word) + (cell in the word)
    rows = cell_index // width
    return rows, cell_index - rows * width


@contextmanager
def _short_buffers() -> Iterator[None]:
    """Make numpy's buffer smaller while a counter compares, and restore its size afterwards.

    For a row shorter than the buffer, numpy first copies the row's threshold once for each cell, which takes time.
    """
    size = np.setbufsize(_BUFFER)
    try:
        yield
    finally:
        np.setbufsize(size)


def _distinct(rows: Ids) -> tuple[Ids, Ids]:
    """Return the distinct values of the sorted array `rows`, and the index of each element among these values.

    Examples
    --------
    >>> _distinct(np.array([2, 2, 5]))
    (array([2, 5]), array([0, 0, 1]))
    """
    is_new = np.diff(rows, prepend=-1) != 0
    return rows[is_new], np.cumsum(is_new) - 1


def count_true(mask: Bools) -> Ids:
    """Count the true cells of each row.

    A true cell is a byte 1, so eight neighbouring cells are one 64-bit word with eight bytes of 0 or 1. In a sum of up
    to 255 such words, no byte exceeds 255, so each byte counts true cells; then the eight bytes are added.

    Parameters
    ----------
    mask : bool array, shape (rows, columns)

    Returns
    -------
    int64 array, shape (rows,)

    Examples
    --------
    >>> count_true(np.array([[True, False, True], [False, False, False]]))
    array([2, 0])
    """
    n_columns = mask.shape[1]
    width = n_columns // 8 * 8  # the columns that fill whole words; the remaining columns are counted cell by cell
    counts = np.zeros(len(mask), dtype=np.int64)
    if width < n_columns:
        counts += np.count_nonzero(mask[:, width:], axis=1)
    words = np.ascontiguousarray(mask[:, :width]).view(np.uint64)  # (rows, width / 8)
    for start in range(0, words.shape[1], _LANES):
        lanes = words[:, start : start + _LANES].sum(axis=1)  # (rows,): eight bytes, each a count of true cells
        # (rows,): four numbers of 16 bits: sums of two bytes each
        pairs = (lanes & _EVEN_BYTES) + ((lanes >> np.uint64(8)) & _EVEN_BYTES)
        # The product holds the sum of the four numbers, at most 8 * 255, in its highest 16 bits.
        counts += ((pairs * _ADD_PAIRS) >> np.uint64(48)).view(np.int64)
    return counts
