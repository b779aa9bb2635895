"""The only place where scores are compared: counts of better and tied candidates, in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids
from kgeval.kernels.geometry import Reals, Screen, exact_pair_scores

Scores = npt.NDArray[Any]
_FEW = 8
_CROWD = 32


def count_row(scores: Scores, positives: Scores) -> tuple[Ids, Ids]:
    """Count the scores of one query that beat and that equal each positive's.

    Parameters
    ----------
    scores : numeric array, shape (candidates,)
        Higher is better; no NaN. Compared as it is: no cast, no tolerance.
    positives : array of the same dtype, shape (positives,)
        Taken from `scores`.

    Returns
    -------
    better, equal : int64 arrays, shape (positives,)
        A positive that is itself among `scores` counts in its own `equal`.

    Examples
    --------
    >>> count_row(np.array([3.0, 1.0, 3.0, 5.0]), np.array([3.0, 1.0]))
    (array([1, 3]), array([2, 1]))
    """
    if len(positives) <= _FEW:
        better = np.array([np.count_nonzero(scores > x) for x in positives], dtype=np.int64)
        equal = np.array([np.count_nonzero(scores == x) for x in positives], dtype=np.int64)
        return better, equal
    ordered = np.sort(scores)
    right = np.searchsorted(ordered, positives, side="right")
    left = np.searchsorted(ordered, positives, side="left")
    return (len(ordered) - right).astype(np.int64), (right - left).astype(np.int64)


def count_screened(screen: Screen, queries: Reals, rows: Ids, positives: Reals, block_size: int) -> tuple[Ids, Ids]:
    """Count, for embedding vectors, as `count_row` would on the exact scores, mostly in float32.

    A candidate whose screening score lies outside the proven interval around the positive's is
    decided by it; the others are scored again exactly. The counts equal an exact evaluation's.

    Parameters
    ----------
    screen : DotScreen or DistanceScreen
        Of the geometry and the candidates.
    queries : float64 array, shape (queries, d)
    rows : int64 array, shape (positives,)
        The query of each positive.
    positives : float64 array, shape (positives,)
        Exact scores.
    block_size : int
        Candidates in one tile.

    Returns
    -------
    better, equal : int64 arrays, shape (positives,)
    """
    better, equal = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    geometry, candidates = screen.geometry, screen.candidates
    screened = screen.prepare(queries, rows, positives)
    is_usable = screened.is_usable[rows]
    size = min(block_size, len(candidates))
    buffer = np.empty((len(queries), size), dtype=np.float32)
    for start in range(0, len(candidates), size):
        block = slice(start, min(start + size, len(candidates)))
        width = block.stop - start
        out = buffer if width == size else np.empty((len(queries), width), dtype=np.float32)
        tile = screen.tile(screened, block, out)
        low, high = screen.interval(screened, rows, block)
        low32 = np.nextafter(np.where(is_usable, low, -np.inf).astype(np.float32), np.float32(-np.inf))
        high32 = np.nextafter(np.where(is_usable, high, np.inf).astype(np.float32), np.float32(np.inf))
        decided, which, columns, crowded = _count_tile(tile, rows, low32, high32)
        better += decided
        exact = exact_pair_scores(geometry, queries, candidates, rows[which], columns + start)
        better += np.bincount(which[exact > positives[which]], minlength=len(rows))
        equal += np.bincount(which[exact == positives[which]], minlength=len(rows))
        for row in np.unique(rows[crowded]):
            mine = crowded[rows[crowded] == row]
            all_columns = np.arange(block.start, block.stop)
            exact = exact_pair_scores(geometry, queries, candidates, np.full(width, row), all_columns)
            counted = count_row(exact, positives[mine])
            better[mine] += counted[0]
            equal[mine] += counted[1]
    return better, equal


def _count_tile(
    tile: npt.NDArray[np.float32], rows: Ids, low: npt.NDArray[np.float32], high: npt.NDArray[np.float32]
) -> tuple[Ids, Ids, Ids, Ids]:
    """Return the counts above `high`, the undecided (positive, column) pairs, and the crowded positives.

    A positive that leaves more than 1 in `_CROWD` candidates undecided is crowded: it has no count and
    no pairs, so that the pairs stay few and its query's row is scored once instead.
    """
    above = np.empty(len(rows), dtype=np.int64)
    which: list[Ids] = [np.zeros(0, dtype=np.int64)]
    columns: list[Ids] = [np.zeros(0, dtype=np.int64)]
    crowded: list[int] = []
    mask = np.empty(tile.shape[1], dtype=bool)
    for j, row in enumerate(rows):
        scores = tile[row]
        above[j] = np.count_nonzero(np.greater(scores, high[j], out=mask))
        n_undecided = np.count_nonzero(np.greater_equal(scores, low[j], out=mask)) - above[j]
        if _CROWD * n_undecided > max(len(scores), _CROWD * _FEW):
            above[j] = 0
            crowded.append(j)
        elif n_undecided:
            mask &= scores <= high[j]
            found = np.flatnonzero(mask)
            columns.append(found)
            which.append(np.full(len(found), j, dtype=np.int64))
    return above, np.concatenate(which), np.concatenate(columns), np.array(crowded, dtype=np.int64)
