"""Loops that numba compiles: the comparison of a tile, the scores of pairs, and the counts in rows of scores.

Only `kgeval.kernels.compiled.load_compiled` imports this module, since numba is optional. Each function does the same
as the numpy code that calls it; that code says what the arrays hold. Two kinds of functions are compiled:

- Counts, comparisons and exact scores follow the order of the operations as written, one IEEE 754 operation after
  another; so the results are those of numpy, bit for bit.
- Screening scores (`_screening`) may be added in any order, and a product and a sum may be rounded once in place of
  twice. The error bounds of `float_passes` cover both.

A loop of a fixed length becomes vector instructions; hence the inner loops run over `_CHUNK` cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from kgeval.checks import Bools, Ids, Reals, Scores

Function = TypeVar("Function", bound=Callable[..., Any])

_CHUNK = 64
# the upper six bits of 2**j * _DE_BRUIJN differ for each j in 0..63; _PLACES maps them to j (Leiserson et al. 1998)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.argsort((np.uint64(1) << np.arange(64, dtype=np.uint64)) * _DE_BRUIJN >> np.uint64(58))
_ANY_ORDER = {"reassoc", "contract", "nsz"}  # of LLVM's fast-math flags: those that the error bounds allow
# the geometries whose exact scores `exact_pairs` computes
DOT, L1, L2, MODULUS = range(4)
KINDS = {"dot": DOT, "l1": L1, "l2": L2, "modulus": MODULUS}


def _compiled(function: Function, **options: Any) -> Function:
    """Compile a function at its first call; the machine code is kept on disk if numba finds a folder for it."""
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # numba can write to no folder
        return numba.njit(**options)(function)  # type: ignore[no-any-return]


def _screening(function: Function) -> Function:
    """Compile a function whose sums may be added in any order."""
    return _compiled(function, fastmath=_ANY_ORDER)


@_compiled
def _next_open(row: Scores, left: int, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Compare the cells of a row from `left`, a multiple of `_CHUNK`, to the first chunk with an undecided cell.

    Returns the end of this chunk (or of the row), how many cells were above `high`, and how many are undecided.
    """
    n_above: Any = 0
    while left + _CHUNK <= len(row):
        cells = row[left : left + _CHUNK]
        n_higher, n_at_least = np.int32(0), np.int32(0)  # 32 bits: as wide as a score, so that a vector holds as many
        for j in range(_CHUNK):
            n_higher = np.int32(n_higher + np.int32(cells[j] > high))
            n_at_least = np.int32(n_at_least + np.int32(cells[j] >= low))
        left += _CHUNK
        n_above += n_higher
        if n_at_least != n_higher:
            return left, n_above, np.int64(n_at_least - n_higher)
    n_open: Any = 0
    for j in range(left, len(row)):
        n_above += row[j] > high
        n_open += (row[j] >= low) & (row[j] <= high)
    return len(row), n_above, n_open


@_compiled
def _list_open(row: Scores, left: int, right: int, low: Any, high: Any, columns: Ids, n: int) -> int:
    """Write the undecided cells of a chunk ``left:right`` to `columns` from index `n`; return the index behind them."""
    if right - left < _CHUNK:
        for j in range(left, right):  # without a branch: the next cell replaces one that is decided
            columns[n] = j
            n += (row[j] >= low) & (row[j] <= high)
        return n
    cells, bits = row[left:right], np.uint64(0)  # bit j: whether cell j is undecided
    for j in range(_CHUNK):
        bits |= np.uint64((cells[j] >= low) & (cells[j] <= high)) << np.uint64(j)
    while bits:
        others = bits & (bits - np.uint64(1))  # without the lowest bit
        columns[n] = left + _PLACES[((bits ^ others) * _DE_BRUIJN) >> np.uint64(58)]
        n += 1
        bits = others
    return n


@_screening
def _dot(q: Scores, e: Scores) -> Any:
    """Return the dot product of two vectors, in their dtype."""
    total = q.dtype.type(0)
    for k in range(len(q)):
        total += q[k] * e[k]
    return total


@_compiled
def dot_pairs(queries: Scores, candidates: Scores, rows: Ids, columns: Ids, scores: Scores) -> None:
    """Fill `scores` with the dot products of ``queries[rows[i]]`` and ``candidates[columns[i]]``."""
    for i in range(len(rows)):
        scores[i] = _dot(queries[rows[i]], candidates[columns[i]])


@_compiled
def compare_tile(
    tile: Scores,
    starts: Ids,
    low: Scores,
    high: Scores,
    known_starts: Ids,
    known_columns: Ids,
    max_undecided: int,
    queries: Scores,
    candidates: Scores,
    next_low: Scores,
    next_high: Scores,
    above: Ids,
    known_above: Ids,
    crowded: Bools,
    is_known_column: Bools,
    which: Ids,
    columns: Ids,
    is_known: Bools,
) -> int:
    """Compare each row of a tile with its positives ``starts[row]:starts[row + 1]``; see `kgeval.kernels.tiles.decide`.

    The known answers of a row are ``known_columns[known_starts[row]:known_starts[row + 1]]``. The arrays `queries` (one
    for each row), `candidates` (one for each column), `next_low` and `next_high` are those of `tiles.Recheck`; all are
    empty if undecided pairs are only listed. Fills `above`, `known_above` and `crowded`, which hold zeros, and, for
    each undecided pair, `which` (the positive), `columns` and `is_known` (whether the candidate is a known answer).
    `is_known_column`, shape (columns,), holds zeros before and after.

    Returns
    -------
    int
        How many pairs are undecided; -1 if `which` may be too short for them.
    """
    width = tile.shape[1]
    scores = np.empty(max_undecided, dtype=np.float32)  # of the undecided pairs of a positive
    n = 0  # the number of undecided pairs so far
    for r in range(tile.shape[0]):
        row = tile[r]
        for k in range(known_starts[r], known_starts[r + 1]):
            is_known_column[known_columns[k]] = True
        for i in range(starts[r], starts[r + 1]):
            if n + max_undecided >= len(which):
                return -1
            last, right, n_left, n_above = n, 0, max_undecided, 0
            while right < width and n_left >= 0:
                right, n_higher, n_open = _next_open(row, right, low[i], high[i])
                n_above += n_higher
                n_left -= n_open
                if n_open > 0 and n_left >= 0:
                    last = _list_open(row, (right - 1) // _CHUNK * _CHUNK, right, low[i], high[i], columns, last)
            if n_left < 0:
                crowded[i] = True
                continue
            n_known_above = 0
            for k in range(known_starts[r], known_starts[r + 1]):
                n_known_above += row[known_columns[k]] > high[i]
            if len(candidates) > 0:  # without a branch on a score: the next products start before this one is known
                for k in range(n, last):
                    scores[k - n] = _dot(queries[r], candidates[columns[k]])
                first = n
                for k in range(first, last):
                    j, score = columns[k], scores[k - first]
                    is_above = score > next_high[i]
                    n_above += is_above
                    n_known_above += is_above & is_known_column[j]
                    which[n], columns[n], is_known[n] = i, j, is_known_column[j]
                    n += not (is_above or score < next_low[i])  # NaN stays undecided
            else:
                for k in range(n, last):
                    which[k], is_known[k] = i, is_known_column[columns[k]]
                n = last
            above[i], known_above[i] = n_above, n_known_above
        for k in range(known_starts[r], known_starts[r + 1]):
            is_known_column[known_columns[k]] = False
    return n


@_screening
def l1_tile(queries: Scores, candidates: Scores, tile: Scores) -> None:
    """Fill `tile` with minus the l1 distance of each query to each candidate, float32."""
    for i in range(len(queries)):
        for j in range(len(candidates)):
            total = np.float32(0.0)
            for k in range(queries.shape[1]):
                total += abs(queries[i, k] - candidates[j, k])
            tile[i, j] = -total


@_screening
def modulus_tile(queries: Scores, candidates: Scores, tile: Scores) -> None:
    """Fill `tile` with minus the sum of the moduli of the complex differences, float32."""
    half = queries.shape[1] // 2
    for i in range(len(queries)):
        for j in range(len(candidates)):
            total = np.float32(0.0)
            for k in range(half):
                real = queries[i, k] - candidates[j, k]
                imaginary = queries[i, half + k] - candidates[j, half + k]
                total += np.sqrt(real * real + imaginary * imaginary)
            tile[i, j] = -total


@_compiled
def exact_pairs(kind: int, queries: Reals, candidates: Scores, rows: Ids, columns: Ids, scores: Reals) -> None:
    """Fill `scores` with the exact scores of ``queries[rows[i]]`` and ``candidates[columns[i]]``.

    The terms, and the order in which they are added, are those of `geometry.exact_scores`.
    """
    d = queries.shape[1]
    half_d = d // 2
    terms = np.empty(d)
    for i in range(len(rows)):
        q, e = queries[rows[i]], candidates[columns[i]]
        n = d
        if kind == DOT:
            for k in range(d):
                terms[k] = np.float64(e[k]) * q[k]
        else:
            for k in range(d):
                terms[k] = np.float64(e[k]) - q[k]
        if kind == L1:
            for k in range(d):
                terms[k] = abs(terms[k])
        elif kind != DOT:
            for k in range(d):
                terms[k] = terms[k] * terms[k]
        if kind == MODULUS:
            n = half_d
            for k in range(half_d):
                terms[k] = np.sqrt(terms[k] + terms[half_d + k])
        while n > 1:
            half = n // 2
            for k in range(half):
                terms[k] += terms[half + k]
            if n % 2:
                terms[0] += terms[n - 1]
            n = half
        total = terms[0]
        scores[i] = total if kind == DOT else (-np.sqrt(total) if kind == L2 else -total)


@_compiled
def _above_and_equal(row: Scores, threshold: Any) -> tuple[int, int]:
    """Return how many cells of a row are above a threshold, and how many equal it."""
    n_above: Any = 0
    n_equal: Any = 0
    left = 0
    while left + _CHUNK <= len(row):
        cells = row[left : left + _CHUNK]
        n_higher, n_same = np.int32(0), np.int32(0)
        for j in range(_CHUNK):
            n_higher = np.int32(n_higher + np.int32(cells[j] > threshold))
            n_same = np.int32(n_same + np.int32(cells[j] == threshold))
        n_above += n_higher
        n_equal += n_same
        left += _CHUNK
    for j in range(left, len(row)):
        n_above += row[j] > threshold
        n_equal += row[j] == threshold
    return n_above, n_equal


@_compiled
def count_row_scores(scores: Scores, rows: Ids, thresholds: Scores, known_starts: Ids, known: Ids, counts: Ids) -> None:
    """Count, for each positive, the cells of its row above and at its score, and the known answers among them.

    Positive i has the row ``rows[i]`` and the score ``thresholds[i]``; the known answers of a row are
    ``known[known_starts[row]:known_starts[row + 1]]``. Fills `counts`, shape (4, positives), in the order of `Counts`;
    it holds zeros.
    """
    for i in range(len(rows)):
        row, threshold = scores[rows[i]], thresholds[i]
        counts[0, i], counts[1, i] = _above_and_equal(row, threshold)
        for k in range(known_starts[rows[i]], known_starts[rows[i] + 1]):
            counts[2, i] += row[known[k]] > threshold
            counts[3, i] += row[known[k]] == threshold
