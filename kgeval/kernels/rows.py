"""Functions for whole rows of scores (numpy arrays or tensors): counts, the largest score, and the first NaN.

The ranker calls `row_counter` for scorers that return whole rows; `kgeval.scorers` calls `largest_score` and
`first_nan`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, Scores
from kgeval.kernels.arrays import Array, is_tensor
from kgeval.kernels.compiled import load_compiled
from kgeval.kernels.counts import Counts, Places, count_known
from kgeval.kernels.torch_kernels import count_tensor_rows, first_nan_of_tensor, largest_of_tensor

# In numpy, a row with more positives than this is sorted; other rows are compared once for each positive.
_MAX_COMPARISONS = 8
# The compiled loop compares rows that have at most this many positives and one of these dtypes.
_MAX_COMPILED = 64
_COMPILED_DTYPES = (np.float32, np.float64)


def row_counter(scores: Array) -> Callable[[Any, Places], Counts]:
    """Return the function that counts candidates in whole rows of scores, for arrays or for tensors.

    Parameters
    ----------
    scores : array or tensor, shape (queries, candidates)

    Returns
    -------
    function
        `count_rows` for an array, `count_tensor_rows` for a tensor; both take scores and `Places`.
    """
    return count_tensor_rows if is_tensor(scores) else count_rows


def count_rows(scores: Scores, places: Places) -> Counts:
    """Count, for each positive, the candidates of its row with a higher score and with the same score.

    The scores are compared without tolerance, and without a conversion that changes a score.

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
    One query with positives in the columns 0 (score 3) and 1 (score 1), and a known answer in column 3 (score 5).

    >>> places = Places(*map(np.array, ([0, 0], [0, 1], [0], [3])))
    >>> count_rows(np.array([[3.0, 1.0, 3.0, 5.0]]), places)
    Counts(better=array([1, 3]), equal=array([2, 1]), known_better=array([1, 1]), known_equal=array([0, 0]), \
scores=array([3., 1.]))
    """
    positives = scores[places.rows, places.answers]  # (positives,): the scores of the positives
    better, equal, known_better, known_equal = np.zeros((4, len(positives)), dtype=np.int64)
    is_left = np.ones(len(positives), dtype=np.bool_)  # the positives that the compiled loop does not count
    loops = load_compiled()
    if loops is not None and scores.dtype in _COMPILED_DTYPES and scores.flags.c_contiguous:
        is_left = np.bincount(places.rows, minlength=1)[places.rows] > _MAX_COMPILED
        rows, thresholds = places.rows[~is_left], positives[~is_left]
        known_starts = np.searchsorted(places.known_rows, np.arange(len(scores) + 1))
        counts = np.zeros((4, len(rows)), dtype=np.int64)
        loops.count_row_scores(scores, rows, thresholds, known_starts, places.known, counts)
        for total, count in zip((better, equal, known_better, known_equal), counts):
            total[~is_left] = count
    if is_left.any():
        rest = replace(places, rows=places.rows[is_left], answers=places.answers[is_left])
        better[is_left], equal[is_left] = _count_in_passes(scores, rest.rows, positives[is_left])
        known_scores = scores[places.known_rows, places.known]
        known_better[is_left], known_equal[is_left] = count_known(rest, known_scores, positives[is_left])
    return Counts(better, equal, known_better, known_equal, positives)


def _count_in_passes(scores: Scores, rows: Ids, positives: Scores) -> tuple[Ids, Ids]:
    """Count, for each positive, the cells of its row with a higher score and with the same score, in numpy.

    `rows` and `positives` hold the row (ascending) and the score of each positive.
    """
    better, equal = np.empty((2, len(positives)), dtype=np.int64)
    comparable, thresholds = _quick(scores), _quick(positives)
    mask = np.empty(scores.shape[1], dtype=bool)  # overwritten by every comparison
    # starts, (rows with a positive,): the first positive of each row; the positives of a row are consecutive
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    for row, start, stop in zip(rows[starts], starts, np.append(starts[1:], len(positives))):
        cells = comparable[row]  # (candidates,)
        if stop - start > _MAX_COMPARISONS:
            part = slice(start, stop)
            cells = np.sort(cells)
            # the number of cells that score at most as high as the positive
            n_not_above = np.searchsorted(cells, thresholds[part], side="right")
            better[part] = len(cells) - n_not_above
            equal[part] = n_not_above - np.searchsorted(cells, thresholds[part])
            continue
        for i in range(start, stop):
            better[i] = np.count_nonzero(np.greater(cells, thresholds[i], out=mask))
            equal[i] = np.count_nonzero(np.equal(cells, thresholds[i], out=mask))
    return better, equal


def _quick(scores: Scores) -> Scores:
    """Return `scores` as a contiguous array; float16 becomes float32, which processors compare faster."""
    return np.ascontiguousarray(scores, dtype=np.float32 if scores.dtype == np.float16 else None)


def largest_score(scores: Array) -> float:
    """Return the largest score of a matrix.

    Parameters
    ----------
    scores : array or tensor, shape (queries, candidates)
        An array must contain at least one score.

    Returns
    -------
    float
        NaN if a score is NaN; minus infinity for an empty tensor.
    """
    if is_tensor(scores):
        return largest_of_tensor(scores)
    # numpy is slow with float16, and float32 holds every float16 number
    return float(np.max(scores.astype(np.float32) if scores.dtype == np.float16 else scores))


def first_nan(scores: Array) -> tuple[int, int, int] | None:
    """Find the first NaN of a matrix of scores.

    Parameters
    ----------
    scores : array or tensor, shape (queries, candidates)

    Returns
    -------
    tuple of int, or None
        (row, column, count): the row and the column of the first NaN, and how many NaN values there are in total. None
        if there is no NaN.
    """
    if is_tensor(scores):
        return first_nan_of_tensor(scores)
    rows, columns = np.nonzero(np.isnan(scores))
    return (int(rows[0]), int(columns[0]), len(rows)) if len(rows) else None
