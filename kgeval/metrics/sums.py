"""Sums of a function over ranges of integers, exact to the precision of float64.

`kgeval.metrics.ranks` and `kgeval.metrics.retrieval.positions` call `sums_over_ranges` to compute expectations over
tied ranks and over tied positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgeval.checks import Ids, Reals


def sums_over_ranges(value: Callable[[Any], Reals], start: Ids, stop: Ids) -> Reals:
    """Return ``value(start[i] + 1) + ... + value(stop[i])`` for each i.

    Each sum is the difference of two prefix sums. A prefix sum is stored as two float64 numbers, the rounded sum and
    its rounding error, so the difference is precise even for a short range of large integers. No ``long double`` is
    used, so the result is the same on every machine.

    Parameters
    ----------
    value : function
        Takes a float64 array of positive integers, and returns a float64 array of the same shape; no infinities.
    start, stop : int64 arrays, shape (n,)
        Each range has the integers ``start + 1 .. stop``; start is at least 0, and stop at least start.

    Returns
    -------
    float64 array, shape (n,)
        0 for an empty range.

    References
    ----------
    Ogita, Rump and Oishi (2005), Accurate Sum and Dot Product, SIAM Journal on Scientific Computing 26 (Sum2).

    Examples
    --------
    >>> sums_over_ranges(lambda rank: 1.0 / rank, np.array([0, 2, 3]), np.array([2, 4, 3])).round(4)
    array([1.5   , 0.5833, 0.    ])
    """
    n = int(stop.max(initial=0))
    terms = value(np.arange(1, n + 1, dtype=np.float64))
    # (n + 1,): rounded[i] is the sum of the first i terms, rounded to float64 after each addition.
    rounded = np.zeros(n + 1)
    np.cumsum(terms, out=rounded[1:])
    before, after = rounded[:-1], rounded[1:]
    # (n,): the rounding error of each addition, before + term - after, computed exactly (Knuth's TwoSum). With added =
    # after - before, the error is (before - (after - added)) + (term - added). Arrays are reused to save memory.
    added = after - before
    terms -= added
    np.subtract(after, added, out=added)
    np.subtract(before, added, out=added)
    lost = np.add(added, terms, out=added)
    # (n + 1,): rounded[i] + correction[i] is the sum of the first i terms.
    correction = np.zeros(n + 1)
    np.cumsum(lost, out=correction[1:])
    return np.asarray((rounded[stop] - rounded[start]) + (correction[stop] - correction[start]))
