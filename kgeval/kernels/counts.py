"""What every compare-and-count kernel is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.checks import Ids, Scores


@dataclass(frozen=True)
class Places:
    """The cells of a matrix of scores, queries by candidates, that hold positives and known answers.

    Parameters
    ----------
    rows, answers : int64 arrays, shape (positives,)
        Row and column of each positive; rows ascend.
    known_rows, known : int64 arrays, shape (known answers,)
        Row and column of each known answer; rows ascend, and the columns of a row are distinct.
    """

    rows: Ids
    answers: Ids
    known_rows: Ids
    known: Ids


@dataclass(frozen=True)
class Counts:
    """How many candidates, and how many known answers, score above and equal to each positive.

    Parameters
    ----------
    better, equal : int64 arrays, shape (positives,)
        Among all candidates; a positive counts in its own `equal`.
    known_better, known_equal : int64 arrays, shape (positives,)
        Among the known answers of the positive's query.
    scores : array, shape (positives,)
        Of the positives.
    """

    better: Ids
    equal: Ids
    known_better: Ids
    known_equal: Ids
    scores: Scores


def count_known(places: Places, known_scores: Scores, scores: Scores) -> tuple[Ids, Ids]:
    """Count, for each positive, the known answers of its query that score above and equal to it.

    Parameters
    ----------
    places : Places
    known_scores : array, shape (known answers,)
        No NaN.
    scores : array of the same dtype, shape (positives,)

    Returns
    -------
    better, equal : int64 arrays, shape (positives,)

    Examples
    --------
    >>> places = Places(*map(np.array, ([0, 1], [5, 7], [0, 0, 1], [4, 5, 8])))
    >>> count_known(places, np.array([9.0, 3.0, 2.0]), np.array([3.0, 4.0]))
    (array([1, 0]), array([1, 0]))
    """
    n_known, both = len(known_scores), np.concatenate([known_scores, scores])
    code, n_codes = _in_order(both)
    code += np.concatenate([places.known_rows, places.rows]) * n_codes
    known, mine = np.sort(code[:n_known]), code[n_known:]
    right = np.searchsorted(known, mine, side="right")
    ends = np.searchsorted(places.known_rows, places.rows, side="right")
    return ends - right, right - np.searchsorted(known, mine)


def _in_order(scores: Scores) -> tuple[Ids, int]:
    """Return integers that compare as `scores` do, int64, and a number that exceeds them all."""
    if scores.dtype != np.float32:
        values, code = np.unique(scores, return_inverse=True)
        return code.reshape(-1), len(values)
    bits = (scores + np.float32(0.0)).view(np.int32).astype(np.int64)  # adding zero leaves no zero its sign
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits) + (1 << 31), 1 << 32
