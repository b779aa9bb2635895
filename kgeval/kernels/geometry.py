"""The definition of a geometry, and `exact_scores`: the float64 score of a pair, which defines every rank.

A geometry is a formula that scores a query vector with a candidate vector, for example the dot product. The exact score
of a pair is computed in float64, and its terms are added in a fixed order (`_tree_sum`). Every step is a single IEEE
754 addition, subtraction, multiplication or square root. Hence the score depends only on the two vectors, and not on
the batch, the block, the library or the processor.

Faster computations (the passes of `float_passes` and `byte_passes`, the kernels of a GPU) may decide whether a
candidate is better than the positive only if its approximate score differs from the positive's score by more than a
proven bound. All other candidates are scored by `exact_scores`. The passes use the last functions of this module
(sizes, ranges of numbers, slices that fit the cache).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, Reals
from kgeval.kernels.compiled import load_compiled

Vectors = npt.NDArray[np.floating[Any]]

MAX_DIMENSION = 100_000
U, V = 2.0**-24, 2.0**-53  # unit roundoffs of float32 and float64
MAX_MAGNITUDE = 1e100  # products of two numbers in 1e-100..1e100 neither overflow nor underflow float64
MAX_RATIO = 1e15  # distance passes do not screen a query that is larger than about 1e15 units (see `float_passes`)
_PAIR_BYTES = 1 << 20  # size of the float64 vectors that are scored together; fits a processor's cache
_SHORT = 16  # rows with at most this many terms are added column by column
_PART_BYTES = 1 << 20  # size of the candidates that are copied to float64 together
_MIN_SHARED = 1 << 22  # a table with more numbers is read by all processors
_PARTS_AT_ONCE = 16  # a task of a thread has at most this many parts


@dataclass(frozen=True)
class Geometry:
    """A formula that scores a query vector with a candidate vector, and the functions that make counting fast.

    The score of a pair is ``finish`` of the sum of ``summands``. With these two functions alone, every pair is scored
    exactly. To make the counting fast, `passes` (for numpy) and `screen` (for tensors) compute approximate scores with
    proven bounds on their error.

    Parameters
    ----------
    name : str
    summands : function
        ``summands(candidates, queries, root)`` returns the terms of the sum, float64, shape (pairs, k). `candidates`
        and `queries` are float64, shape (pairs, d), both numpy arrays or both torch tensors; `candidates` may be
        overwritten. ``root(x)`` returns correctly rounded square roots and may overwrite x. Only operations that both
        libraries round correctly are allowed: sums, differences, products, absolute values and `root`.
    finish : function
        ``finish(sums, root)`` converts sums to scores; both are float64, shape (pairs,). A higher score is better.
    n_parts : int
        The dimension of the vectors must be a multiple of `n_parts` (2: a vector has a real and an imaginary half).
    tile : tuple of int
        How many queries and how many candidates are scored together in numpy.
    byte_tile : tuple of int, optional
        Replaces `tile` if integers are multiplied in the first pass; None if there is no such pass.
    passes : function, optional
        See `kgeval.kernels.passes.make_passes`; without this function, every pair is scored exactly.
    screen : function, optional
        See `kgeval.kernels.torch_screens.make_screen`; without this function, tensors are copied to the host,
        and numpy counts.
    is_derived : bool
        Whether the scores are computed from the scores of another geometry; see `kgeval.kernels.derived`.
    """

    name: str
    summands: Callable[[Any, Any, Callable[[Any], Any]], Any]
    finish: Callable[[Any, Callable[[Any], Any]], Any]
    n_parts: int = 1
    tile: tuple[int, int] = (64, 4080)
    byte_tile: tuple[int, int] | None = None
    passes: Callable[..., Any] | None = None
    screen: Callable[..., Any] | None = None
    is_derived: bool = False


GEOMETRIES: dict[str, Geometry] = {}  # filled by `kgeval.kernels.geometries`


def exact_scores(geometry: str, queries: Vectors, candidates: Vectors) -> Reals:
    """Return the float64 score of each pair of rows.

    Parameters
    ----------
    geometry : str
        One of `GEOMETRIES`. ``"dot"``: the dot product. ``"l1"``, ``"l2"``: minus the distance. ``"modulus"``: minus
        the sum of the moduli of complex differences; the first half of a vector holds the real parts, the second half
        the imaginary parts.
    queries, candidates : float arrays, shape (pairs, d)

    Returns
    -------
    float64 array, shape (pairs,)

    Examples
    --------
    >>> exact_scores("l1", np.array([[1.0, 2.0]]), np.array([[0.0, 4.0]]))
    array([-3.])
    """
    definition = GEOMETRIES[geometry]
    terms = definition.summands(np.array(candidates, dtype=np.float64), queries, np.sqrt)
    return np.asarray(definition.finish(_tree_sum(terms), np.sqrt))


def _tree_sum(terms: Reals) -> Reals:
    """Return the sum of each row, float64, shape (pairs,). Overwrites `terms`, shape (pairs, k).

    The order of the additions depends on k alone. Each step adds the second half of a row to its first half, until one
    number is left: ``(t0 + t2) + (t1 + t3)`` for four terms. If the number of terms is odd, the last term is added to
    the first term.

    Examples
    --------
    >>> float(_tree_sum(np.array([[1e16, 1.0, -1e16, 1.0]]))[0]), (1e16 + 1.0) - 1e16 + 1.0
    (2.0, 1.0)
    """
    n = terms.shape[1]  # the first n columns still hold terms
    while n > _SHORT:
        terms, n = _halved(terms, n), n // 2
    terms = terms[:, :n].T.copy().T  # makes each column contiguous: numpy adds long columns faster than short rows
    while n > 1:
        terms, n = _halved(terms, n), n // 2
    return terms[:, 0].copy()


def _halved(terms: Reals, n: int) -> Reals:
    """Add the second half of the first `n` columns to the first half, in place, and return `terms`.

    If `n` is odd, the last of the `n` columns is added to column 0.
    """
    half = n // 2
    terms[:, :half] += terms[:, half : 2 * half]
    if n % 2:
        terms[:, 0] += terms[:, n - 1]
    return terms


def exact_pair_scores(geometry: str, queries: Vectors, candidates: Vectors, rows: Ids, columns: Ids) -> Reals:
    """Return the exact score of ``queries[rows[i]]`` with ``candidates[columns[i]]``, for each i.

    Parameters
    ----------
    geometry : str
        One of `GEOMETRIES`.
    queries : float64 array, shape (queries, d)
    candidates : float array, shape (candidates, d)
    rows, columns : int64 arrays, shape (pairs,)
        Query and candidate of each pair.

    Returns
    -------
    float64 array, shape (pairs,)
        Equal to the results of `exact_scores`. To save memory, vectors are copied for only a part of the pairs at a
        time.

    Examples
    --------
    >>> vectors = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> exact_pair_scores("dot", vectors, vectors, np.array([0, 0]), np.array([0, 1]))
    array([ 5., 11.])
    """
    scores = np.empty(len(rows))
    loops = load_compiled()
    is_plain = isinstance(candidates, np.ndarray) and candidates.dtype in (np.float32, np.float64)
    if loops is not None and geometry in loops.KINDS and is_plain and queries.dtype == np.float64:
        terms = np.empty(queries.shape[1])
        loops.exact_pairs(loops.KINDS[geometry], queries, np.asarray(candidates), rows, columns, terms, scores)
        return scores
    for part in pair_parts(len(rows), queries.shape[1]):
        scores[part] = exact_scores(geometry, queries[rows[part]], candidates[columns[part]])
    return scores


def pair_parts(n: int, d: int) -> list[slice]:
    """Return slices that cut `n` pairs of vectors into parts that fit a processor's cache.

    Parameters
    ----------
    n : int
        Number of pairs.
    d : int
        Dimension of the vectors.

    Returns
    -------
    list of slice

    Examples
    --------
    >>> pair_parts(5, 65536)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, _PAIR_BYTES // (8 * max(1, d)))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def is_in_range(size: Any) -> Any:
    """Return whether sizes are between 1e-100 and 1e100; products of two such sizes neither underflow nor overflow.

    Parameters
    ----------
    size : float, float array or tensor
        Absolute values.

    Returns
    -------
    bool, or bool array or tensor with the shape of `size`
    """
    return (size > 1.0 / MAX_MAGNITUDE) & (size < MAX_MAGNITUDE)


def power_above(size: float) -> float:
    """Return the smallest power of two that is at least `size`; division by a power of two is exact.

    Parameters
    ----------
    size : float
        Not negative, finite.

    Returns
    -------
    float
        1 if `size` is 0; else at least 2**-400. The number 2**-400 is out of range (`is_in_range`), but its products
        with small numbers are not yet 0.

    Examples
    --------
    >>> power_above(5.0), power_above(0.25), power_above(0.0)
    (8.0, 0.25, 1.0)
    """
    mantissa, exponent = math.frexp(size)
    return math.ldexp(1.0, max(exponent - (mantissa == 0.5), -400)) if size > 0 else 1.0


def largest_number(vectors: Vectors) -> float:
    """Return the largest absolute value in `vectors`; 0 if the array is empty.

    Parameters
    ----------
    vectors : float array or StreamedTable, shape (n, d)

    Returns
    -------
    float
    """
    return max(map_parts(lambda part: float(np.abs(vectors[part]).max()), vectors), default=0.0)


def map_parts(function: Callable[[slice], Any], vectors: Vectors) -> list[Any]:
    """Call a function for each part of the rows of a table (see `row_parts`); return the results in the same order.

    Parameters
    ----------
    function : function
        Takes the slice of a part. The parts of a large table are processed on several threads.
    vectors : float array or StreamedTable, shape (n, d)
        Only its shape is read.

    Returns
    -------
    list

    Examples
    --------
    >>> map_parts(lambda part: part.start, np.zeros((3, 65536)))
    [0, 2]
    """
    parts = row_parts(vectors)
    if len(vectors) * vectors.shape[1] <= _MIN_SHARED:
        return list(map(function, parts))
    runs = [parts[i : i + _PARTS_AT_ONCE] for i in range(0, len(parts), _PARTS_AT_ONCE)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [result for results in pool.map(lambda run: list(map(function, run)), runs) for result in results]


def per_row(function: Callable[[Vectors], npt.NDArray[Any]], vectors: Vectors) -> Reals:
    """Call a function with the rows of each part of a table (see `map_parts`), and return a number for each row.

    Parameters
    ----------
    function : function
        Takes float rows, shape (n, d), and returns a number for each row, shape (n,).
    vectors : float array or StreamedTable, shape (rows, d)

    Returns
    -------
    float64 array, shape (rows,)

    Examples
    --------
    >>> per_row(lambda rows: rows.sum(axis=1), np.ones((3, 65536)))
    array([65536., 65536., 65536.])
    """
    numbers = np.empty(len(vectors))
    if isinstance(vectors, np.ndarray):
        vectors = np.asarray(vectors)  # slices of a `numpy.memmap` are slow to make

    def fill(part: slice) -> None:
        numbers[part] = function(vectors[part])

    map_parts(fill, vectors)
    return numbers


def row_parts(vectors: Vectors) -> list[slice]:
    """Return slices that cut the rows of `vectors` into parts whose float64 copies are small.

    Parameters
    ----------
    vectors : float array, shape (n, d)

    Returns
    -------
    list of slice
    """
    step = max(1, _PART_BYTES // (8 * max(1, vectors.shape[1])))
    return [slice(start, start + step) for start in range(0, len(vectors), step)]


class TileBuffer:
    """A buffer that holds one tile of screening scores at a time; each new tile overwrites the tile before.

    Parameters
    ----------
    dtype : numpy dtype
        The dtype of the screening scores.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._cells: npt.NDArray[Any] = np.empty(0, dtype=dtype)

    def __call__(self, n_rows: int, n_columns: int) -> npt.NDArray[Any]:
        """Return an array for a tile, shape (n_rows, n_columns), not initialised; the buffer grows when needed."""
        if self._cells.size < n_rows * n_columns:
            self._cells = np.empty(n_rows * n_columns, dtype=self._cells.dtype)
        return self._cells[: n_rows * n_columns].reshape(n_rows, n_columns)
