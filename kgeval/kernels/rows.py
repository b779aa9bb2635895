"""Whole rows of scores, in numpy or as tensors on their device: counts, the largest score, the first NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgeval.checks import Scores
from kgeval.kernels.arrays import Array, is_tensor
from kgeval.kernels.counts import Counts, Places, count_known
from kgeval.kernels.torch_kernels import count_tensor_rows, first_nan_of_tensor, largest_of_tensor

_FEW_POSITIVES = 8


def row_counter(scores: Array) -> Callable[[Any, Places], Counts]:
    """Return the function that counts in rows such as `scores`: `count_rows`, or its like for tensors."""
    return count_tensor_rows if is_tensor(scores) else count_rows


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


def largest_score(scores: Array) -> float:
    """Return the largest of a matrix of scores, NaN if it holds one; at least one score."""
    if is_tensor(scores):
        return largest_of_tensor(scores)
    # numpy is slow with halves, and float32 holds them all
    return float(np.max(scores.astype(np.float32) if scores.dtype == np.float16 else scores))


def first_nan(scores: Array) -> tuple[int, int, int] | None:
    """Return row and column of the first NaN of a matrix, and how many there are; None where there is none."""
    if is_tensor(scores):
        return first_nan_of_tensor(scores)
    rows, columns = np.nonzero(np.isnan(scores))
    return (int(rows[0]), int(columns[0]), len(rows)) if len(rows) else None
