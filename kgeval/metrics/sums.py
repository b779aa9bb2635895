"""Sums of a function over ranges of integers, exact to the precision of float64.

`kgeval.metrics.ranks` and `kgeval.metrics.retrieval.positions` call `sums_over_ranges` to compute expectations over
tied ranks and over tied positions.

All start and end points of the ranges cut the integers into segments. Each segment is summed, and the sum of a range is
the difference of two prefix sums of segments. Up to `MAX_TABLE`, every integer is a separate segment. If the
largest integer is above `MAX_TABLE` and the function is smooth, memory and time depend on the number of ranges and not
on the largest integer: for a smooth function f, the sum over a segment with more than `_FEW_TERMS` integers a + 1 .. b
is computed as the integral of f from a + 1/2 to b + 1/2, plus a correction at each end of the segment:

1. Let D be differentiation and d the central difference, (d f)(x) = f(x + 1/2) - f(x - 1/2), so that
   d = 2 sinh(D / 2). The sum is (1/d f)(b + 1/2) - (1/d f)(a + 1/2); with 1/D instead of 1/d, this is the integral.
2. With D = 2 asinh(d / 2), the difference 1/d - 1/D is -d/24 + 17 d^3 / 5760 - 367 d^5 / 967680 + 6.0e-5 d^7 - ...;
   the code adds the first three terms. For a function such as 1 / x, the seventh difference at x >= `_HEAD` = 256 is
   below 5040 / 256^7 = 7e-14 times f, so the omitted terms are below 4.3e-18 f(x), less than 1e-18 times the sum of 33
   terms. At a point between two segments, the corrections of both segments cancel, and so do the errors of these
   corrections.
3. The integral is computed by Gauss-Legendre quadrature with n = 16 nodes. No segment contains a power of two in its
   interior, so each segment lies in an interval N .. 2 N. If f is analytic in the right half-plane, f is also analytic
   in the ellipse with the parameter 4 around the segment; all real parts in this ellipse are above 0.43 N. The error of
   the integral is then at most 64 / 15 * 4^(-2 n) = 2.4e-19 times the largest |f| in the ellipse times half the length
   of the segment (Trefethen 2013, Approximation Theory and Approximation Practice, theorem 19.3). If f is the product
   of an analytic function and a polynomial of degree r, the code uses r / 2 more nodes, because n nodes integrate
   polynomials of degree 2 n - 1 exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, Reals
from kgeval.data.lists import joined_ranges

MAX_TABLE = 1 << 16  # up to this integer, all terms are computed; also the number of terms per block
_HEAD, _FEW_TERMS = 256, 32  # a smooth function is integrated only beyond _HEAD, and for more than _FEW_TERMS terms
_N_NODES = 16
# Coefficients of f(x - 5/2), f(x - 3/2), ..., f(x + 5/2) in -d/24 + 17 d^3 / 5760 - 367 d^5 / 967680.
_OFFSETS = np.arange(-2, 4)
_ENDS = (
    np.array([0.0, 0.0, -1.0, 1.0, 0.0, 0.0]) * (-1 / 24)
    + np.array([0.0, -1.0, 3.0, -3.0, 1.0, 0.0]) * (17 / 5760)
    + np.array([-1.0, 5.0, -10.0, 10.0, -5.0, 1.0]) * (-367 / 967680)
)


def sums_over_ranges(
    value: Callable[[Any], Reals], start: Ids, stop: Ids, is_smooth: bool = False, degree: int = 0
) -> Reals:
    """Return ``value(start[i] + 1) + ... + value(stop[i])`` for each i.

    Each sum is the difference of two prefix sums. A prefix sum is stored as two float64 numbers, the rounded sum and
    its rounding error, so the difference is precise even for a short range of large integers. No ``long double`` is
    used, so the result is the same on every machine. Prefix sums begin at the smallest start. The relative error is
    below 1e-14 for a sum of at least 1e-17 times the largest prefix sum; for smaller sums the relative error is larger
    (for example 1e-13 for ``1 / x ** 2`` over a range from 10 ** 10 on, if another range starts at 1).

    Parameters
    ----------
    value : function
        Takes a float64 array of positive numbers, and returns a float64 array of the same shape with finite numbers.
    start, stop : int64 arrays, shape (n,)
        Each range has the integers ``start + 1 .. stop``; start is at least 0, and stop at least start.
    is_smooth : bool
        Whether `value` is analytic in the right half-plane, and grows and falls there at most like a power of small
        degree. Examples are x, 1 / x ** 2 and 1 / log(x + 1); a step function is not smooth. If an integer is above
        `MAX_TABLE`, long sums of a smooth function are integrals; for other functions, all terms are added.
    degree : int
        If `value` is the product of a smooth function and a polynomial: the degree of the polynomial.

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
    >>> late = np.array([10**12])
    >>> sums_over_ranges(lambda rank: 1.0 / rank, late, 2 * late, is_smooth=True)  # log(2) - 1 / (4 * 10**12)
    array([0.69314718])
    """
    n, least = int(stop.max(initial=0)), int(start.min()) if len(start) else 0
    # points, (segments + 1,): segment i has the integers points[i] + 1 .. points[i + 1].
    if n <= MAX_TABLE:
        points = np.arange(n + 1)
        terms = value(points[1:].astype(np.float64))
    elif is_smooth:
        powers = _HEAD << np.arange(n.bit_length() - _HEAD.bit_length() + 1)  # all powers of two from _HEAD to n
        points = np.unique(np.concatenate([powers[powers > least], start, stop]))
        terms = _smooth_segments(value, points, _N_NODES + degree // 2)
    else:
        points = np.unique(np.concatenate([np.arange(least, n, MAX_TABLE), start, stop]))
        terms = _added_segments(value, points)
    # (segments + 1,): rounded[i] is the sum of the first i segments, rounded to float64 after each addition.
    rounded = np.zeros(len(points))
    np.cumsum(terms, out=rounded[1:])
    before, after = rounded[:-1], rounded[1:]
    # (segments,): the rounding error of each addition, before + term - after, computed exactly (Knuth's TwoSum).
    added = after - before
    lost = (before - (after - added)) + (terms - added)
    # (segments + 1,): rounded[i] + correction[i] is the sum of the first i segments.
    correction = np.zeros(len(points))
    np.cumsum(lost, out=correction[1:])
    first, last = np.searchsorted(points, start), np.searchsorted(points, stop)
    return np.asarray((rounded[last] - rounded[first]) + (correction[last] - correction[first]))


def _added_segments(value: Callable[[Any], Reals], points: Ids) -> Reals:
    """Return the sum of each segment.

    `points` must contain every `MAX_TABLE`-th integer from ``points[0]`` to ``points[-1]``.
    """
    sums = np.empty(len(points) - 1)
    n = int(points[-1])
    for left in range(int(points[0]), n, MAX_TABLE):
        right = min(left + MAX_TABLE, n)
        first, last = np.searchsorted(points, [left, right])
        terms = np.asarray(value(np.arange(left + 1, right + 1, dtype=np.float64)), dtype=np.float64)
        sums[first:last] = np.add.reduceat(terms, points[first:last] - left)
    return sums


def _smooth_segments(value: Callable[[Any], Reals], points: Ids, n_nodes: int) -> Reals:
    """Return the sum of each segment of a smooth function; see the docstring of the module."""
    left, right = points[:-1], points[1:]
    sums = np.empty(len(left))
    is_long = (right - left > _FEW_TERMS) & (left >= _HEAD)
    sizes = (right - left)[~is_long]
    if len(sizes):
        integers = joined_ranges(left[~is_long] + 1, sizes).astype(np.float64)
        sums[~is_long] = np.add.reduceat(value(integers), np.cumsum(sizes) - sizes)
    if is_long.any():
        a, b = left[is_long], right[is_long]
        half = (b - a) / 2.0
        nodes, weights = _legendre(n_nodes)
        at_nodes = value((a + 0.5 + half)[:, None] + half[:, None] * nodes)  # (long segments, nodes)
        ends = value((b[:, None] + _OFFSETS).astype(np.float64)) - value((a[:, None] + _OFFSETS).astype(np.float64))
        sums[is_long] = half * (at_nodes @ weights) + ends @ _ENDS
    return sums


@cache
def _legendre(n: int) -> tuple[Reals, Reals]:
    """Return the nodes and the weights of Gauss-Legendre quadrature on the interval -1..1."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return nodes, weights
