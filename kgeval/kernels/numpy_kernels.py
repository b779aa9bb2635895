"""Where numpy scores are compared: counts of better and equal candidates, in whole rows and in screened tiles."""

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
_FEW = 32  # one in so many candidates of a tile, left undecided, are scored one by one, and more as a row
_SPARSE = 32  # one in so many candidates of a tile, at or above a positive's interval, are compared one by one
_LANES = 255
_BUFFER = 1024
_MAX_AT_ONCE = 64
_MAX_WAITING = 1 << 20
_EVEN_BYTES, _ADD_PAIRS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0001000100010001)


class NumpyCounter:
    """Counts for embedding vectors, mostly in low precision, equal to those of an exact evaluation.

    A tile of queries and candidates is screened by one pass after another, each dearer and sharper than the one
    before. A pass decides the candidates whose screening score lies outside its proven interval around the
    positive's. A positive that leaves few candidates undecided has them scored exactly; one that leaves many is
    handed to the next pass, and after the last one its whole row of the tile is scored exactly.

    Parameters
    ----------
    geometry : str
    candidates : float array or tensor, shape (candidates, d)
        Finite; must not change while the counter is used. Tensors are fetched to the host.
    block_size : int
        Candidates of a tile.
    with_bytes : bool
        Whether dot products are screened by torch's products of bytes.
    batch_size : int
        How many queries at a time make a tile that suits the cache.
    """

    def __init__(
        self, geometry: str, candidates: Array, block_size: int, with_bytes: bool = False, batch_size: int = BATCH
    ) -> None:
        self.geometry, self.batch_size = geometry, batch_size
        self.candidates = candidates = on_host(candidates)
        n_blocks = -(-len(candidates) // block_size)
        self.block_size = -(-len(candidates) // n_blocks)  # evenly, and whole words of eight cells where it matters
        if self.block_size > _LANES:
            self.block_size = min(-(-self.block_size // 8) * 8, max(block_size, 8))
        self.order, self.passes, self.of_pairs = make_passes(geometry, candidates, self.block_size, with_bytes)
        self._pairs_at = next(i for i, one in enumerate(self.passes) if one is self.of_pairs)
        self.place = np.empty(len(candidates), dtype=np.int64)
        self.place[self.order] = np.arange(len(candidates))

    def count(self, queries: Array, places: Places) -> Counts:
        """Return the counts of `places` for `queries`, float64 array or tensor, shape (queries, d)."""
        queries = on_host(queries)
        scores = self._exact(queries, places.rows, places.answers)
        with _short_buffers():
            job = _Job(queries, [one.prepare(queries) for one in self.passes], places, scores)
            better, equal, screened = self._count_all(job)
            known_better, known_equal = self._count_known(job, screened)
        return Counts(better, equal, known_better, known_equal, scores)

    def _exact(self, queries: Reals, rows: Ids, columns: Ids) -> Reals:
        return exact_pair_scores(self.geometry, queries, self.candidates, rows, columns)

    def _count_all(self, job: _Job) -> tuple[Ids, Ids, Scores]:
        """Count tile by tile; undecided pairs wait for the end, when all of them are scored together.

        Returns better and equal, int64 (positives,), and the screening scores of the known answers, float32 (known
        answers,), as the tiles of the pass for pairs hold them; NaN where no tile does.
        """
        places, rows = job.places, job.places.rows
        known = self.place[places.known]
        screened = np.full(len(known), np.nan, dtype=np.float32)
        better, equal = np.zeros((2, len(rows)), dtype=np.int64)
        first_pass = np.zeros(len(rows), dtype=np.int64)
        undecided: list[tuple[Ids, Ids]] = []
        for start in range(0, len(self.candidates), self.block_size):
            block = slice(start, min(start + self.block_size, len(self.candidates)))
            for i, (one, state) in enumerate(zip(self.passes, job.states)):
                left = np.flatnonzero(first_pass == i)
                if len(left):
                    asked, row_of = _distinct(rows[left])
                    tile = one.tile(state, None if len(asked) == len(job.queries) else asked, block)
                    if i == self._pairs_at:
                        _keep_cells(tile, asked, block, places.known_rows, known, screened)
                    found = decide(tile, row_of, *one.interval(state, rows[left], job.scores[left], block))
                    better[left] += found.above
                    undecided.append((left[found.which], found.columns + start))
                    left = np.sort(left[found.crowded])
                    first_pass[left] = min(i + 1, len(self.passes) - 1)
            if len(left):
                above, same = self._count_crowd(job, left, block)
                better[left] += above
                equal[left] += same
            if sum(len(which) for which, _ in undecided) > _MAX_WAITING:
                above, same = self._settle(job, undecided)
                better, equal, undecided = better + above, equal + same, []
        above, same = self._settle(job, undecided)
        return better + above, equal + same, screened

    def _settle(self, job: _Job, undecided: list[tuple[Ids, Ids]]) -> tuple[Ids, Ids]:
        """Count the pairs that the tiles left undecided, the sharper pass first: better and equal, int64 (positives,).

        A pair is a positive and the column of a candidate in the passes' order.
        """
        rows = job.places.rows
        if not undecided:
            return np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
        which, columns = (np.concatenate(parts) for parts in zip(*undecided))
        is_self = columns == self.place[job.places.answers][which]
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
        """Count, for the positives `crowd`, among all candidates of `block`, scored exactly: better and equal."""
        better, equal = np.zeros((2, len(crowd)), dtype=np.int64)
        scores = job.scores[crowd, None]
        asked, row_of = _distinct(job.places.rows[crowd])
        of_row = np.split(np.arange(len(crowd)), np.flatnonzero(np.diff(row_of)) + 1)
        for few in pair_parts(block.stop - block.start, job.queries.shape[1]):
            vectors = self.candidates[self.order[block][few]].astype(np.float64)
            for row, mine in zip(asked, of_row):
                exact = exact_scores(self.geometry, job.queries[row], vectors)
                for part in np.array_split(mine, -(-len(mine) // _MAX_AT_ONCE)):
                    better[part] += np.count_nonzero(exact > scores[part], axis=1)
                    equal[part] += np.count_nonzero(exact == scores[part], axis=1)
        return better, equal

    def _count_known(self, job: _Job, screened: Scores) -> tuple[Ids, Ids]:
        """Count among the known answers: those of a query exactly only where one is undecided beside the positive.

        `screened` is what `_count_all` returned; where it is NaN, the screening score is computed here.
        """
        last, state, places, n = self.of_pairs, job.states[self._pairs_at], job.places, len(self.candidates)
        left = np.flatnonzero(np.isnan(screened))
        screened[left] = last.pairs(state, places.known_rows[left], self.place[places.known[left]])
        low, high = last.interval(state, places.rows, job.scores, slice(0, n))
        better, _ = count_known(places, screened, high)
        above_low, at_low = count_known(places, screened, low)
        _, is_known = rank_in(np.sort(places.known_rows * n + places.known), places.rows * n + places.answers)
        is_open = above_low + at_low - better != is_known
        equal = is_known.astype(np.int64)
        if is_open.any():
            mine = np.isin(places.known_rows, places.rows[is_open])
            known_rows, known = places.known_rows[mine], places.known[mine]
            some = Places(places.rows[is_open], places.answers[is_open], known_rows, known)
            exact = self._exact(job.queries, known_rows, known)
            better[is_open], equal[is_open] = count_known(some, exact, job.scores[is_open])
        return better, equal


@dataclass(frozen=True)
class _Job:
    """One call of `NumpyCounter.count`: its queries, what each pass made of them, its positives and their scores."""

    queries: Reals
    states: list[Any]
    places: Places
    scores: Reals


@dataclass(frozen=True)
class Decided:
    """What a pass decided on a tile.

    Parameters
    ----------
    above : int64 array, shape (positives,)
        Candidates that are better for certain.
    which, columns : int64 arrays, shape (undecided,)
        Pairs of positive and column that the pass leaves undecided.
    crowded : int64 array
        Positives that leave so many undecided that nothing of them is in `above`, `which` and `columns`.
    """

    above: Ids
    which: Ids
    columns: Ids
    crowded: Ids


def decide(tile: Scores, row_of: Ids, low: Scores, high: Scores) -> Decided:
    """Compare the screening scores of a tile with each positive's interval.

    Parameters
    ----------
    tile : numeric array, shape (rows, columns)
    row_of : int64 array, shape (positives,)
        The row of each positive, ascending; every row has one.
    low, high : arrays, shape (positives,)
        Scores above `high` are better, below `low` worse; between them, both included, they are undecided.

    Examples
    --------
    >>> decide(np.array([[1, 5, 7, 9]]), np.array([0]), np.array([4]), np.array([6]))
    Decided(above=array([2]), which=array([0]), columns=array([1]), crowded=array([], dtype=int64))
    """
    above = np.zeros(len(row_of), dtype=np.int64)
    starts = np.flatnonzero(np.diff(row_of, prepend=-1))
    n_positives = np.diff(np.append(starts, len(row_of)))
    lowest = np.minimum.reduceat(low, starts)
    is_at_least = np.greater_equal(tile, lowest[:, None])
    n_at_least = count_true(is_at_least)
    is_sparse = n_at_least <= max(1, tile.shape[1] // _SPARSE)
    sparse = np.flatnonzero(is_sparse & (n_at_least > 0))
    rows, columns = _places(is_at_least if len(sparse) == len(tile) else is_at_least[sparse])
    rows = sparse[rows]
    found = np.repeat(np.arange(len(rows)), n_positives[rows])
    which = np.arange(len(found)) + np.repeat(starts[rows] - np.cumsum(n_positives[rows]), n_positives[rows])
    which += n_positives[rows][found]
    scores, columns = tile[rows, columns][found], columns[found]
    is_above = scores > high[which]
    above += np.bincount(which[is_above], minlength=len(row_of))
    is_undecided = (scores >= low[which]) & ~is_above
    pairs = [(which[is_undecided], columns[is_undecided])]
    crowded: list[Ids] = [np.zeros(0, dtype=np.int64)]
    is_dense, is_lowest = ~is_sparse[row_of], low == lowest[row_of]
    step = max(1, len(tile) // 2)
    for dense, known in ((np.flatnonzero(is_dense & is_lowest), True), (np.flatnonzero(is_dense & ~is_lowest), False)):
        for start in range(0, len(dense), step):
            part = dense[start : start + step]
            taken = tile[row_of[part]]
            mask = is_at_least[row_of[part]] if known else np.greater_equal(taken, low[part, None])
            above[part], some, is_crowded = _decide_dense(taken, mask, high[part])
            pairs.append((part[some[0]], some[1]))
            crowded.append(part[is_crowded])
    which, columns = (np.concatenate(parts) for parts in zip(*pairs))
    return Decided(above, which, columns, np.concatenate(crowded))


def _decide_dense(scores: Scores, is_at_least: Bools, high: Scores) -> tuple[Ids, tuple[Ids, Ids], Bools]:
    """Return `above`, the undecided pairs, and which positives are crowded, where many candidates must be counted."""
    is_above = np.greater(scores, high[:, None])
    n_above = count_true(is_above)
    n_undecided = count_true(is_at_least) - n_above
    is_crowded = n_undecided > max(1, scores.shape[1] // _FEW)
    n_above[is_crowded] = 0
    rest = np.flatnonzero((n_undecided > 0) & ~is_crowded)
    which, columns = _places(is_at_least[rest] ^ is_above[rest])
    return n_above, (rest[which], columns), is_crowded


def _keep_cells(tile: Scores, asked: Ids, block: slice, rows: Ids, columns: Ids, kept: Scores) -> None:
    """Write to `kept` the scores of the pairs of `rows` and `columns` that a tile of rows `asked` holds."""
    pairs = np.flatnonzero((columns >= block.start) & (columns < block.stop))
    places = np.minimum(np.searchsorted(asked, rows[pairs]), len(asked) - 1)
    is_asked = asked[places] == rows[pairs]
    pairs, places = pairs[is_asked], places[is_asked]
    kept[pairs] = tile[places, columns[pairs] - block.start]


def _places(mask: Bools) -> tuple[Ids, Ids]:
    """Return row and column of each true cell; few are true, so that words of eight cells are looked at first."""
    width = mask.shape[1]
    if width % 8:
        place = np.flatnonzero(mask)
    else:
        words = np.flatnonzero(mask.view(np.uint64) != 0)
        cells = np.flatnonzero(mask.reshape(-1, 8)[words])
        place = 8 * words[cells >> 3] + (cells & 7)
    rows = place // width
    return rows, place - rows * width


@contextmanager
def _short_buffers() -> Iterator[None]:
    """Keep numpy from copying a row's threshold along the row: it does so for rows shorter than its buffer."""
    size = np.setbufsize(_BUFFER)
    try:
        yield
    finally:
        np.setbufsize(size)


def _distinct(rows: Ids) -> tuple[Ids, Ids]:
    """Return the distinct rows, which ascend, and the place of each among them."""
    is_new = np.diff(rows, prepend=-1) != 0
    return rows[is_new], np.cumsum(is_new) - 1


def count_true(mask: Bools) -> Ids:
    """Return how many cells of each row are true, int64.

    Eight neighbours are added at a time as the bytes of one word, no more than 255 words before the bytes are.

    Examples
    --------
    >>> count_true(np.array([[True, False, True], [False, False, False]]))
    array([2, 0])
    """
    n_columns = mask.shape[1]
    width = n_columns // 8 * 8
    counts = np.zeros(len(mask), dtype=np.int64)
    if width < n_columns:
        counts += np.count_nonzero(mask[:, width:], axis=1)
    words = np.ascontiguousarray(mask[:, :width]).view(np.uint64)
    for start in range(0, words.shape[1], _LANES):
        lanes = words[:, start : start + _LANES].sum(axis=1)
        pairs = (lanes & _EVEN_BYTES) + ((lanes >> np.uint64(8)) & _EVEN_BYTES)
        counts += ((pairs * _ADD_PAIRS) >> np.uint64(48)).view(np.int64)
    return counts
