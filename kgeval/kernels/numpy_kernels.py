"""Where numpy scores are compared: counts of better and equal candidates, in whole rows and in screened tiles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids
from kgeval.kernels.counts import Counts, Places, Scores, count_known
from kgeval.kernels.geometry import Reals, Vectors, exact_pair_scores, exact_scores, pair_parts
from kgeval.kernels.passes import make_passes
from kgeval.triples import rank_in

Mask = npt.NDArray[np.bool_]

_FEW = 32  # one in so many candidates of a tile, left undecided, are scored one by one, and more as a row
_SPARSE = 32  # one in so many candidates of a tile, at or above a positive's interval, are compared one by one
_FEW_POSITIVES = 8
_LANES = 255
_BUFFER = 1024
_MOST_AT_ONCE = 64
_MOST_WAITING = 1 << 20
_EVEN_BYTES, _ADD_PAIRS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0001000100010001)


def count_rows(scores: Scores, places: Places) -> Counts:
    """Count in whole rows of scores, compared as they are: no cast, no tolerance.

    Parameters
    ----------
    scores : numeric array, shape (queries, candidates)
        Higher is better; no NaN.
    places : Places

    Returns
    -------
    Counts

    Examples
    --------
    >>> places = Places(*map(np.array, ([0, 0], [0, 1], [0], [3])))
    >>> count_rows(np.array([[3.0, 1.0, 3.0, 5.0]]), places)
    Counts(better=array([1, 3]), equal=array([2, 1]), known_better=array([1, 1]), known_equal=array([0, 0]), \
scores=array([3., 1.]))
    """
    mine = scores[places.rows, places.answers]
    known_better, known_equal = count_known(places, scores[places.known_rows, places.known], mine)
    better, equal = np.empty((2, len(mine)), dtype=np.int64)
    comparable, thresholds = _quick(scores), _quick(mine)
    mask = np.empty(scores.shape[1], dtype=bool)
    starts = np.flatnonzero(np.diff(places.rows, prepend=-1))
    for row, start, stop in zip(places.rows[starts], starts, np.append(starts[1:], len(mine))):
        cells = comparable[row]
        if stop - start > _FEW_POSITIVES:
            part = slice(start, stop)
            cells = np.sort(cells)
            right = np.searchsorted(cells, thresholds[part], side="right")
            better[part] = len(cells) - right
            equal[part] = right - np.searchsorted(cells, thresholds[part])
            continue
        for i in range(start, stop):
            better[i] = np.count_nonzero(np.greater(cells, thresholds[i], out=mask))
            equal[i] = np.count_nonzero(np.equal(cells, thresholds[i], out=mask))
    return Counts(better, equal, known_better, known_equal, mine)


def _quick(scores: Scores) -> Scores:
    """Return the same numbers in rows that processors compare fast: not in halves, nor apart in memory."""
    return np.ascontiguousarray(scores, dtype=np.float32 if scores.dtype == np.float16 else None)


class NumpyCounter:
    """Counts for embedding vectors, mostly in low precision, equal to those of an exact evaluation.

    A tile of queries and candidates is screened by one pass after another, each dearer and sharper than the one
    before. A pass decides the candidates whose screening score lies outside its proven interval around the
    positive's. A positive that leaves few candidates undecided has them scored exactly; one that leaves many is
    handed to the next pass, and after the last one its whole row of the tile is scored exactly.

    Parameters
    ----------
    geometry : str
    candidates : float array, shape (candidates, d)
        Finite; must not change while the counter is used.
    block_size : int
        Candidates of a tile.
    with_bytes : bool
        Whether dot products are screened by torch's products of bytes.
    """

    def __init__(self, geometry: str, candidates: Vectors, block_size: int, with_bytes: bool = False) -> None:
        self.geometry = geometry
        self.candidates = candidates
        n_blocks = -(-len(candidates) // block_size)
        self.block_size = -(-len(candidates) // n_blocks)  # evenly, and whole words of eight cells where it matters
        if self.block_size > _LANES:
            self.block_size = min(-(-self.block_size // 8) * 8, max(block_size, 8))
        self.order, self.passes, self.of_pairs = make_passes(geometry, candidates, self.block_size, with_bytes)
        self._pairs_at = next(i for i, one in enumerate(self.passes) if one is self.of_pairs)
        self.place = np.empty(len(candidates), dtype=np.int64)
        self.place[self.order] = np.arange(len(candidates))

    def count(self, queries: Reals, places: Places) -> Counts:
        """Return the counts of `places` for `queries`, float64, shape (queries, d)."""
        scores = self._exact(queries, places.rows, places.answers)
        with _short_buffers():
            states = [one.prepare(queries) for one in self.passes]
            screened = np.full(len(places.known), np.nan, dtype=np.float32)
            better, equal = self._count_all(queries, states, places, scores, screened)
            known_better, known_equal = self._count_known(queries, states[self._pairs_at], places, scores, screened)
        return Counts(better, equal, known_better, known_equal, scores)

    def _count_known(
        self, queries: Reals, state: Any, places: Places, scores: Reals, screened: Scores
    ) -> tuple[Ids, Ids]:
        """Count among the known answers: those of a query exactly only where one is undecided beside the positive.

        `screened`, float32, shape (known answers,), is filled where no tile held the screening score.
        """
        last, n = self.of_pairs, len(self.candidates)
        left = np.flatnonzero(np.isnan(screened))
        screened[left] = last.pairs(state, places.known_rows[left], self.place[places.known[left]])
        low, high = last.interval(state, places.rows, scores, slice(0, n))
        better, _ = count_known(places, screened, high)
        above_low, at_low = count_known(places, screened, low)
        _, is_known = rank_in(np.sort(places.known_rows * n + places.known), places.rows * n + places.answers)
        is_open = above_low + at_low - better != is_known
        equal = is_known.astype(np.int64)
        if is_open.any():
            mine = np.isin(places.known_rows, places.rows[is_open])
            known_rows, known = places.known_rows[mine], places.known[mine]
            some = Places(places.rows[is_open], places.answers[is_open], known_rows, known)
            better[is_open], equal[is_open] = count_known(
                some, self._exact(queries, known_rows, known), scores[is_open]
            )
        return better, equal

    def _exact(self, queries: Reals, rows: Ids, columns: Ids) -> Reals:
        return exact_pair_scores(self.geometry, queries, self.candidates, rows, columns)

    def _count_all(
        self, queries: Reals, states: list[Any], places: Places, scores: Reals, screened: Scores
    ) -> tuple[Ids, Ids]:
        """Count tile by tile; undecided pairs wait for the end, when all of them are scored together.

        What the tiles of the pass for pairs hold of the known answers is kept in `screened`.
        """
        rows, known = places.rows, self.place[places.known]
        better, equal = np.zeros((2, len(rows)), dtype=np.int64)
        first_pass = np.zeros(len(rows), dtype=np.int64)
        undecided: list[tuple[Ids, Ids]] = []
        for start in range(0, len(self.candidates), self.block_size):
            block = slice(start, min(start + self.block_size, len(self.candidates)))
            for i, (one, state) in enumerate(zip(self.passes, states)):
                left = np.flatnonzero(first_pass == i)
                if len(left):
                    asked, row_of = _distinct(rows[left])
                    tile = one.tile(state, None if len(asked) == len(queries) else asked, block)
                    if i == self._pairs_at:
                        _keep_cells(tile, asked, block, places.known_rows, known, screened)
                    found = decide(tile, row_of, *one.interval(state, rows[left], scores[left], block))
                    better[left] += found.above
                    undecided.append((left[found.which], found.columns + start))
                    left = np.sort(left[found.crowded])
                    first_pass[left] = min(i + 1, len(self.passes) - 1)
            if len(left):
                self._count_crowd(queries, rows, scores, left, block, better, equal)
            if sum(len(which) for which, _ in undecided) > _MOST_WAITING:
                self._settle(queries, states, places, scores, undecided, better, equal)
                undecided = []
        self._settle(queries, states, places, scores, undecided, better, equal)
        return better, equal

    def _settle(
        self,
        queries: Reals,
        states: list[Any],
        places: Places,
        scores: Reals,
        undecided: list[tuple[Ids, Ids]],
        better: Ids,
        equal: Ids,
    ) -> None:
        """Add to `better` and `equal` the pairs that the tiles left undecided, the sharper pass first."""
        if not undecided:
            return
        which, columns = (np.concatenate(parts) for parts in zip(*undecided))
        rows, is_self = places.rows, columns == self.place[places.answers][which]
        equal += np.bincount(which[is_self], minlength=len(rows))
        which, columns = which[~is_self], columns[~is_self]
        if self._pairs_at > 0:
            state = states[self._pairs_at]
            screened = self.of_pairs.pairs(state, rows[which], columns)
            low, high = self.of_pairs.interval(state, rows, scores, slice(0, len(self.candidates)))
            is_above = screened > high[which]
            better += np.bincount(which[is_above], minlength=len(rows))
            is_undecided = (screened >= low[which]) & ~is_above
            which, columns = which[is_undecided], columns[is_undecided]
        self._count_pairs(queries, rows, scores, which, columns, better, equal)

    def _count_crowd(
        self, queries: Reals, rows: Ids, scores: Reals, crowd: Ids, block: slice, better: Ids, equal: Ids
    ) -> None:
        """Add to `better` and `equal`, for positives `crowd`, all candidates of `block`, scored exactly."""
        for few in pair_parts(block.stop - block.start, queries.shape[1]):
            vectors = self.candidates[self.order[block][few]].astype(np.float64)
            for row, mine in zip(*_grouped(rows, crowd)):
                exact = exact_scores(self.geometry, queries[row], vectors)
                for part in np.array_split(mine, -(-len(mine) // _MOST_AT_ONCE)):
                    better[part] += np.count_nonzero(exact > scores[part, None], axis=1)
                    equal[part] += np.count_nonzero(exact == scores[part, None], axis=1)

    def _count_pairs(
        self, queries: Reals, rows: Ids, scores: Reals, which: Ids, columns: Ids, better: Ids, equal: Ids
    ) -> None:
        """Add to `better` and `equal` the pairs of positive `which` and ordered candidate `columns`, scored exactly."""
        exact = self._exact(queries, rows[which], self.order[columns])
        better += np.bincount(which[exact > scores[which]], minlength=len(rows))
        equal += np.bincount(which[exact == scores[which]], minlength=len(rows))


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


def _decide_dense(scores: Scores, is_at_least: Mask, high: Scores) -> tuple[Ids, tuple[Ids, Ids], Mask]:
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


def _places(mask: Mask) -> tuple[Ids, Ids]:
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


def _grouped(rows: Ids, positives: Ids) -> tuple[Ids, list[Ids]]:
    """Return the distinct rows of `positives`, which ascend, and the positives of each."""
    asked, row_of = _distinct(rows[positives])
    return asked, np.split(positives, np.flatnonzero(np.diff(row_of)) + 1)


def _distinct(rows: Ids) -> tuple[Ids, Ids]:
    """Return the distinct rows, which ascend, and the place of each among them."""
    is_new = np.diff(rows, prepend=-1) != 0
    return rows[is_new], np.cumsum(is_new) - 1


def count_true(mask: Mask) -> Ids:
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
