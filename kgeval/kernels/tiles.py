"""`decide` compares the screening scores of a tile with the intervals of its positives, in numba or in numpy.

A tile holds screening scores (approximate scores with a proven error bound) of some queries with some candidates.
`NumpyCounter` cuts the matrix of all scores into tiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from kgeval.base.checks import Bools, Ids, Scores
from kgeval.kernels.compiled import load_compiled
from kgeval.kernels.counts import Places, count_known

# A positive is crowded if more than 1 in 32 candidates of a tile are open; with a `Recheck`, if more than 1 in 4
# are open, since a `Recheck` screens open pairs again at low cost.
_CROWDED, _CROWDED_AGAIN = 32, 4
_SPARSE = 32  # a row is sparse if at most 1 in 32 of its cells reach the smallest `low` of its positives
_LANES = 255  # a sum of 255 bytes fits one byte if each of them is 0 or 1
_LISTED = 16  # the first size of the lists of open pairs: about 16 pairs for each positive
_BUFFER = 1024  # the size of numpy's buffer in `short_buffers`, in cells
_EVEN_BYTES, _ADD_PAIRS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0001000100010001)


@dataclass(frozen=True)
class Decided:
    """The result of `decide` for a tile: how many candidates certainly score higher, and which pairs are open.

    A pair is a positive and the column of a candidate.

    Parameters
    ----------
    above : int64 array, shape (positives,)
        How many candidates certainly score higher than the positive; 0 for a crowded positive.
    known_above : int64 array, shape (positives,)
        How many known answers of the positive's row certainly score higher; 0 for a crowded positive.
    which, columns : int64 arrays, shape (pairs,)
        Positive and column of each open pair; the pairs of crowded positives are left out.
    is_known : bool array, shape (pairs,)
        Whether the candidate of each open pair is a known answer of the positive's row.
    crowded : int64 array
        Positives with too many open candidates to list.
    """

    above: Ids
    known_above: Ids
    which: Ids
    columns: Ids
    is_known: Bools
    crowded: Ids


@dataclass(frozen=True)
class Recheck:
    """The input of a second screening of open pairs, by float32 dot products; only the compiled loop uses it.

    Parameters
    ----------
    queries : float32 array, shape (rows, d)
    candidates : float32 array, shape (columns, d)
    low, high : float32 arrays, shape (positives,)
        The interval of each positive: a pair is open if its dot product is from `low` to `high`.
    """

    queries: Scores
    candidates: Scores
    low: Scores
    high: Scores


_NO_VECTORS, _NO_ENDS = np.empty((0, 0), dtype=np.float32), np.empty(0, dtype=np.float32)
NO_RECHECK = Recheck(_NO_VECTORS, _NO_VECTORS, _NO_ENDS, _NO_ENDS)


def decide(
    tile: Scores,
    row_of: Ids,
    low: Scores,
    high: Scores,
    known_rows: Ids,
    known_columns: Ids,
    recheck: Recheck = NO_RECHECK,
) -> Decided:
    """Compare the screening scores of a tile with each positive's interval.

    Parameters
    ----------
    tile : numeric array, shape (rows, columns)
        Screening scores of queries x candidates.
    row_of : int64 array, shape (positives,)
        The row of each positive; ascending, and every row has at least one positive.
    low, high : arrays, shape (positives,)
        The interval of each positive, in the dtype of the tile. Scores above `high` are better, scores below `low` are
        worse; scores from `low` to `high`, both included, are open.
    known_rows, known_columns : int64 arrays, shape (known answers in the tile,)
        Row and column of each known answer; the rows ascend, and no cell occurs twice.
    recheck : Recheck, optional
        A second, more precise screening that decides some of the open pairs.

    Returns
    -------
    Decided

    Examples
    --------
    One row, one positive: 7 and 9 are above the interval 4..6, 1 is below it, and 5 (column 1) is open. The
    candidates 1 and 3 are known answers.

    >>> known = np.array([0, 0]), np.array([1, 3])
    >>> found = decide(np.array([[1, 5, 7, 9]]), np.array([0]), np.array([4]), np.array([6]), *known)
    >>> found.above, found.known_above, found.columns, found.is_known
    (array([2]), array([1]), array([1]), array([ True]))
    """
    loops = load_compiled()
    if loops is None:
        return _decide_in_passes(tile, row_of, low, high, known_rows, known_columns)
    rows, max_open = np.arange(len(tile) + 1), _max_open(tile, recheck)
    starts, known_starts = np.searchsorted(row_of, rows), np.searchsorted(known_rows, rows)
    again = recheck.queries, recheck.candidates, recheck.low, recheck.high
    n, length = -1, _LISTED * len(row_of) + max_open + 1
    while n < 0:  # usually once
        above, known_above = np.zeros((2, len(row_of)), dtype=np.int64)
        is_crowded, is_known_column = np.zeros(len(row_of), dtype=np.bool_), np.zeros(tile.shape[1], dtype=np.bool_)
        which, columns = np.empty((2, length), dtype=np.int64)
        is_known = np.empty(length, dtype=np.bool_)
        n = loops.compare_tile(
            tile, starts, low, high, known_starts, known_columns, max_open, *again,
            above, known_above, is_crowded, is_known_column, which, columns, is_known,
        )  # fmt: skip
        length *= 4
    return Decided(above, known_above, which[:n].copy(), columns[:n].copy(), is_known[:n], np.flatnonzero(is_crowded))


def _max_open(tile: Scores, recheck: Recheck = NO_RECHECK) -> int:
    """Return the largest number of open candidates in a tile for a positive that is not crowded."""
    return max(1, int(tile.shape[1]) // (_CROWDED_AGAIN if len(recheck.candidates) else _CROWDED))


def _decide_in_passes(
    tile: Scores, row_of: Ids, low: Scores, high: Scores, known_rows: Ids, known_columns: Ids
) -> Decided:
    """Compute the result of `decide` with numpy, in several passes over the tile.

    A row of the tile is sparse if few of its cells reach the smallest `low` of its positives; only these cells are
    compared. Every other row is dense: the whole row is compared, once for each positive of the row.
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
    is_open = (scores >= low[which]) & ~is_above
    pairs = [(which[is_open], columns[is_open])]  # open pairs of sparse rows; pairs of dense rows follow
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
            above[part], open_cells, is_crowded = _decide_dense(cells, mask, high[part])
            pairs.append((part[open_cells[0]], open_cells[1]))
            crowded.append(part[is_crowded])
    which, columns = (np.concatenate(parts) for parts in zip(*pairs))
    all_crowded = np.concatenate(crowded)
    is_known = np.zeros(tile.shape, dtype=np.bool_)
    is_known[known_rows, known_columns] = True
    known_cells = Places(row_of, row_of, known_rows, known_columns)
    known_above, _ = count_known(known_cells, tile[known_rows, known_columns], high)
    known_above[all_crowded] = 0
    return Decided(above, known_above, which, columns, is_known[row_of[which], columns], all_crowded)


def _decide_dense(scores: Scores, is_at_least: Bools, high: Scores) -> tuple[Ids, tuple[Ids, Ids], Bools]:
    """Compare whole rows of scores, one row for each positive.

    `scores` and `is_at_least` (whether a score is at least `low`) have the shape (positives, columns), `high` has the
    shape (positives,). Returns a tuple of three parts:

    - for each positive, how many scores are above `high` (0 for a crowded positive), int64, shape (positives,);
    - a pair of arrays: the positive and the column of each open pair, both int64, shape (pairs,);
    - for each positive, whether it is crowded, bool, shape (positives,).
    """
    is_above = np.greater(scores, high[:, None])
    n_above = count_true(is_above)
    n_open = count_true(is_at_least) - n_above
    is_crowded = n_open > _max_open(scores)
    n_above[is_crowded] = 0
    listed = np.flatnonzero((n_open > 0) & ~is_crowded)  # positives whose open pairs are listed
    which, columns = _true_cells(is_at_least[listed] ^ is_above[listed])  # at least `low`, but not above `high`
    return n_above, (listed[which], columns), is_crowded


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
def short_buffers() -> Iterator[None]:
    """In a ``with`` statement, make numpy's buffer smaller, and restore its size afterwards.

    For a row shorter than the buffer, numpy first copies the row's threshold once for each cell, which takes time.
    """
    size = np.setbufsize(_BUFFER)
    try:
        yield
    finally:
        np.setbufsize(size)


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
