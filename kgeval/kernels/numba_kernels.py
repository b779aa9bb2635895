"""Loops that numba compiles: the comparison of a tile, the scores of pairs, and the counts in rows of scores.

Only `kgeval.kernels.compiled.load_compiled` imports this module, since numba is optional. The modules that call these
functions also contain numpy code with the same results, and describe the arrays. Two kinds of functions are compiled:

- Counts, comparisons and exact scores follow the order of the operations as written, one IEEE 754 operation after
  another; so the results equal those of numpy, bit for bit.
- The terms of screening scores (`_screening`) may be added in any order, and a product and a sum may be rounded once
  instead of twice. The error bounds of `float_passes` cover both.

The compiler turns a loop of a fixed length into vector instructions; therefore the inner loops have `_CHUNK` steps.

The first call of a function waits for the compiler. To keep this time short, the code follows four rules: no slices and
no new arrays; unsigned indices in the inner loops (a signed index may count from the end); counts start as
``np.int64(0)``, since numba gives a literal 0 another type; and few functions call each other, since a function that
another function calls is compiled twice, alone and as a part of its caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from kgeval.base.checks import Bools, Ids, Reals, Scores

Function = TypeVar("Function", bound=Callable[..., Any])

_CHUNK = 64
# the upper six bits of 2**j * _DE_BRUIJN differ for each j in 0..63; _PLACES maps them to j (Leiserson et al. 1998)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.argsort((np.uint64(1) << np.arange(64, dtype=np.uint64)) * _DE_BRUIJN >> np.uint64(58))
_ANY_ORDER = {"reassoc", "contract", "nsz"}  # the fast-math flags of LLVM that the error bounds allow
# the geometries whose exact scores `exact_pairs` computes
DOT, L1, L2, MODULUS = range(4)
KINDS = {"dot": DOT, "l1": L1, "l2": L2, "modulus": MODULUS}


def compiled(function: Function, **options: Any) -> Function:
    """Compile a function at its first call; the machine code is kept on disk if numba finds a folder for it."""
    options |= {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # numba finds no folder that it can write to
        return numba.njit(**options)(function)  # type: ignore[no-any-return]


def _screening(function: Function) -> Function:
    """Compile a function whose sums may be added in any order."""
    return compiled(function, fastmath=_ANY_ORDER)


def _inlined(function: Function) -> Function:
    """Make a function a part of each compiled function that calls it."""
    return numba.njit(inline="always")(function)  # type: ignore[no-any-return]


@_inlined
def _dot(queries: Scores, i: Any, candidates: Scores, j: Any) -> Any:
    """Return the dot product of ``queries[i]`` and ``candidates[j]``, float32."""
    total = np.float32(0.0)
    for k in range(queries.shape[1]):
        total += queries[i, k] * candidates[j, k]
    return total


@_screening
def dot_pairs(queries: Scores, candidates: Scores, rows: Ids, columns: Ids, scores: Scores) -> None:
    """Fill `scores` with the dot products of ``queries[rows[i]]`` and ``candidates[columns[i]]``, float32."""
    for i in range(len(rows)):
        scores[i] = _dot(queries, rows[i], candidates, columns[i])


@_screening
def compare_tile(
    tile: Scores,
    starts: Ids,
    low: Scores,
    high: Scores,
    known_starts: Ids,
    known_columns: Ids,
    max_open: int,
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
    vector for each row), `candidates` (one vector for each column), `next_low` and `next_high` come from
    `tiles.Recheck`; all four are empty if open pairs are not screened a second time.

    Fills `above`, `known_above` and `crowded`, which must be zero before the call. For each open pair, fills
    `which` (the positive), `columns` and `is_known` (whether the candidate is a known answer). `is_known_column`, shape
    (columns,), is False everywhere before and after the call. The function adds floats only for screening scores.

    Returns
    -------
    int
        How many pairs are open; -1 if `which` may be too short for the open pairs.
    """
    width = tile.shape[1]
    n: Any = np.int64(0)  # the number of open pairs so far
    for r in range(tile.shape[0]):
        for k in range(known_starts[r], known_starts[r + 1]):
            is_known_column[known_columns[k]] = True
        for i in range(starts[r], starts[r + 1]):
            most = n + max_open
            if most + _CHUNK >= len(which):
                return -1
            lowest, highest = low[i], high[i]
            n_above, last, left = np.int64(0), n, np.int64(0)  # columns[n:last]: the open columns so far
            while left + _CHUNK <= width and last <= most:
                n_higher, n_at_least = np.int32(0), np.int32(0)  # 32 bits, the size of a score, for fast vectors
                for j in range(_CHUNK):
                    cell = tile[r, np.uint64(left + j)]
                    n_higher = np.int32(n_higher + np.int32(cell > highest))
                    n_at_least = np.int32(n_at_least + np.int32(cell >= lowest))
                n_above += n_higher
                if n_at_least != n_higher and last + n_at_least - n_higher <= most:
                    bits = np.uint64(0)  # bit j: whether cell j of the chunk is open
                    for j in range(_CHUNK):
                        cell = tile[r, np.uint64(left + j)]
                        bits |= np.uint64((cell >= lowest) & (cell <= highest)) << np.uint64(j)
                    while bits:
                        others = bits & (bits - np.uint64(1))  # `bits` without its lowest bit
                        columns[last] = left + _PLACES[((bits ^ others) * _DE_BRUIJN) >> np.uint64(58)]
                        last += 1
                        bits = others
                elif n_at_least != n_higher:
                    last = most + 1
                left += _CHUNK
            if last <= most:
                # no branch: every column is written, and the next column overwrites a decided column
                for j in range(left, width):
                    cell = tile[r, np.uint64(j)]
                    n_above += cell > highest
                    columns[last] = j
                    last += (cell >= lowest) & (cell <= highest)
            if last > most:
                crowded[i] = True
                continue
            n_known_above = np.int64(0)
            for k in range(known_starts[r], known_starts[r + 1]):
                n_known_above += tile[r, known_columns[k]] > highest
            if len(candidates) > 0:
                for k in range(n, last):  # no branch on the score: the next product starts before the score is known
                    j = columns[k]
                    score = _dot(queries, r, candidates, j)
                    is_above = score > next_high[i]
                    n_above += is_above
                    n_known_above += is_above & is_known_column[j]
                    which[n], columns[n], is_known[n] = i, j, is_known_column[j]
                    n += not (is_above or score < next_low[i])  # NaN stays open
            else:
                for k in range(n, last):
                    which[k], is_known[k] = i, is_known_column[columns[k]]
                n = last
            above[i], known_above[i] = n_above, n_known_above
        for k in range(known_starts[r], known_starts[r + 1]):
            is_known_column[known_columns[k]] = False
    return int(n)


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


@_screening
def row_sums(vectors: Scores, are_squared: bool, sums: Reals) -> None:
    """Fill `sums` with the sum of the squares, or of the absolute values, of each row, added in float64."""
    for i in range(len(vectors)):
        total = 0.0
        if are_squared:
            for k in range(vectors.shape[1]):
                total += np.float64(vectors[i, k]) * np.float64(vectors[i, k])
        else:
            for k in range(vectors.shape[1]):
                total += abs(np.float64(vectors[i, k]))
        sums[i] = total


@compiled
def row_maxima(bits: Any, mask: Any, maxima: Any) -> None:
    """Fill `maxima` with the largest integer of each row, after `mask` is applied."""
    for i in range(len(bits)):
        largest = bits.dtype.type(0)
        for k in range(bits.shape[1]):
            largest = max(largest, bits[i, k] & mask)
        maxima[i] = largest


@compiled
def exact_pairs(
    kind: int, queries: Reals, candidates: Scores, rows: Ids, columns: Ids, terms: Reals, scores: Reals
) -> None:
    """Fill `scores` with the exact scores of ``queries[rows[i]]`` and ``candidates[columns[i]]``.

    The terms, and the order in which they are added, are those of `geometry.exact_scores`. `terms`, shape (d,), is
    overwritten.
    """
    d = queries.shape[1]
    half_d = d // 2
    for i in range(len(rows)):
        q, e = rows[i], columns[i]
        n = d
        for k in range(d):
            if kind == DOT:
                terms[k] = np.float64(candidates[e, k]) * queries[q, k]
            else:
                terms[k] = np.float64(candidates[e, k]) - queries[q, k]
        for k in range(d):
            if kind == L1:
                terms[k] = abs(terms[k])
            elif kind != DOT:
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


@compiled
def count_row_scores(scores: Scores, rows: Ids, thresholds: Scores, known_starts: Ids, known: Ids, counts: Ids) -> None:
    """Count, for each positive, the candidates of its row with a higher and with an equal score, and the known answers.

    Positive i has the row ``rows[i]`` and the score ``thresholds[i]``; the known answers of a row are
    ``known[known_starts[row]:known_starts[row + 1]]``. Fills `counts`, shape (4, positives), which must be zero before
    the call; its rows are in the order of the fields of `Counts`.
    """
    width = scores.shape[1]
    for i in range(len(rows)):
        r, threshold = rows[i], thresholds[i]
        n_above, n_equal, left = np.int64(0), np.int64(0), np.int64(0)
        while left + _CHUNK <= width:
            n_higher, n_same = np.int32(0), np.int32(0)
            for j in range(_CHUNK):
                cell = scores[r, np.uint64(left + j)]
                n_higher = np.int32(n_higher + np.int32(cell > threshold))
                n_same = np.int32(n_same + np.int32(cell == threshold))
            n_above += n_higher
            n_equal += n_same
            left += _CHUNK
        for j in range(left, width):
            n_above += scores[r, j] > threshold
            n_equal += scores[r, j] == threshold
        counts[0, i], counts[1, i] = n_above, n_equal
        for k in range(known_starts[r], known_starts[r + 1]):
            cell = scores[r, known[k]]
            counts[2, i] += cell > threshold
            counts[3, i] += cell == threshold
