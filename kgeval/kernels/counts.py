"""The input and the output of every counter (`Places`, `Counts`), and `count_known`, which counts known answers.

A known answer is a candidate that forms a known triple with the query; filtered ranks leave it out. The counters of
this package and `kgeval.ranking` use this module.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.base.checks import Ids, Scores


@dataclass(frozen=True)
class Places:
    """The cells of a score matrix (queries x candidates) that hold positives and known answers.

    Parameters
    ----------
    rows, answers : int64 arrays, shape (positives,)
        Row and column of each positive; `rows` ascends.
    known_rows, known : int64 arrays, shape (known answers,)
        Row and column of each known answer; `known_rows` ascends, and no cell occurs twice.
    """

    rows: Ids
    answers: Ids
    known_rows: Ids
    known: Ids


@dataclass(frozen=True)
class Counts:
    """The result of a counter: for each positive, how many candidates and known answers score higher, or equal.

    Parameters
    ----------
    better, equal : int64 arrays, shape (positives,)
        Counts among all candidates. The positive is a candidate too, so `equal` is at least 1.
    known_better, known_equal : int64 arrays, shape (positives,)
        Counts among the known answers of the positive's query.
    scores : array, shape (positives,)
        The scores of the positives.
    """

    better: Ids
    equal: Ids
    known_better: Ids
    known_equal: Ids
    scores: Scores


def count_known(places: Places, known_scores: Scores, scores: Scores) -> tuple[Ids, Ids]:
    """Count, for each positive, the known answers of its query with a higher score and with the same score.

    All queries are handled by one sort: each known answer and each positive gets an integer key that orders by query
    first and by score second. Two binary searches then count, for each positive, the known answers with a lower key,
    and the known answers with a lower or equal key.

    Parameters
    ----------
    places : Places
        Only `rows` and `known_rows` are read.
    known_scores : array, shape (known answers,)
        The score of each known answer; no NaN.
    scores : array of the same dtype, shape (positives,)
        The score of each positive; no NaN.

    Returns
    -------
    better, equal : int64 arrays, shape (positives,)
        How many known answers have a higher score than the positive, and how many have the same score.

    Examples
    --------
    Query 0 has two known answers, with the scores 9 and 3, and a positive with the score 3. Query 1 has a known answer
    with the score 2 and a positive with the score 4.

    >>> places = Places(*map(np.array, ([0, 1], [5, 7], [0, 0, 1], [4, 5, 8])))
    >>> count_known(places, np.array([9.0, 3.0, 2.0]), np.array([3.0, 4.0]))
    (array([1, 0]), array([1, 0]))
    """
    n_known, both = len(known_scores), np.concatenate([known_scores, scores])
    # keys, (known answers + positives,): a code for each score, 0 <= code < n_codes; a higher score has a higher code
    keys, n_codes = _in_order(both)
    # Now the keys of query r are in r * n_codes .. (r + 1) * n_codes - 1, above all keys of earlier queries.
    keys += np.concatenate([places.known_rows, places.rows]) * n_codes
    known_keys, positive_keys = np.sort(keys[:n_known]), keys[n_known:]
    # n_not_above, (positives,): the number of known answers of earlier queries, plus the number of known answers of the
    # positive's query that score at most as high as the positive
    n_not_above = np.searchsorted(known_keys, positive_keys, side="right")
    # ends, (positives,): the number of known answers of the positive's query and of all earlier queries
    ends = np.searchsorted(places.known_rows, places.rows, side="right")
    return ends - n_not_above, n_not_above - np.searchsorted(known_keys, positive_keys)


def _in_order(scores: Scores) -> tuple[Ids, int]:
    """Return a code for each score, and a number that is larger than every code.

    Codes are int64 and not negative. A higher score has a higher code, and equal scores have equal codes.

    Examples
    --------
    >>> _in_order(np.array([2.5, -1.0, 2.5]))
    (array([1, 0, 1]), 2)
    """
    if scores.dtype != np.float32:
        values, code = np.unique(scores, return_inverse=True)
        return code.reshape(-1), len(values)
    # The bits of a float32, read as an integer, ascend with the absolute value of the float; the highest bit is the
    # sign.
    bits = (scores + np.float32(0.0)).view(np.int32).astype(np.int64)  # adding zero turns -0.0 into 0.0
    # The code of a negative float is minus the bits of its absolute value. Adding 2**31 makes all codes positive and
    # smaller than 2**32.
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits) + (1 << 31), 1 << 32
