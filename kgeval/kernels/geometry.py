"""How query and candidate vectors meet, and the float64 score that defines every rank.

The score of a pair is what `exact_scores` gives: float64 throughout, its terms added halves to halves, so that it
depends on the two vectors alone: not on the batch or block they came in, nor on the library or the processor, since
every step is a single IEEE 754 addition, multiplication or square root.

Whatever is faster than this (the passes of `float_passes` and `byte_passes`, the kernels of a GPU) may only decide
a candidate whose score differs from the positive's by more than a proven bound; the rest is scored here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, Reals

Vectors = npt.NDArray[np.floating[Any]]

MAX_DIMENSION = 100_000
U, V = 2.0**-24, 2.0**-53  # unit roundoffs of float32 and float64
MAX_MAGNITUDE = (
    1e100  # sizes below this, and above its inverse, are so far from float64's limits that no product leaves them
)
MAX_RATIO = 1e15  # of a query to the candidates, where squares of their numbers meet
_PAIR_BYTES = 1 << 20
_SHORT = 16
_PART_BYTES = 1 << 20


@dataclass(frozen=True)
class Geometry:
    """A way in which query and candidate vectors meet: the exact score, and what makes it fast.

    The score of a pair is ``finish`` of the sum of ``summands``. A geometry needs no more than these two: then every
    pair is scored exactly. Passes with proven bounds, and a screen for tensors, make it fast.

    Parameters
    ----------
    name : str
    summands : function
        Of candidates, float64 (pairs, d), which it may overwrite, the queries, float64 (pairs, d), and the correctly
        rounded square root of the library at hand; returns what is summed, float64 (pairs, k). Numpy arrays or torch
        tensors, with operations that both round correctly: sums, differences, products, absolute values, square roots.
    finish : function
        Of the sums, float64 (pairs,), and the square root; returns the scores, higher is better.
    n_parts : int
        The number of columns is a multiple of it.
    tile : tuple of int
        Queries and candidates that are screened together in numpy.
    byte_tile : tuple of int, optional
        The same where torch multiplies bytes; None where the passes make no use of that.
    passes : function, optional
        See `kgeval.kernels.passes.make_passes`.
    screen : function, optional
        See `kgeval.kernels.torch_screens.make_screen`; without it tensors are fetched to the host.
    """

    name: str
    summands: Callable[[Any, Any, Callable[[Any], Any]], Any]
    finish: Callable[[Any, Callable[[Any], Any]], Any]
    n_parts: int = 1
    tile: tuple[int, int] = (64, 4080)
    byte_tile: tuple[int, int] | None = None
    passes: Callable[..., Any] | None = None
    screen: Callable[..., Any] | None = None


GEOMETRIES: dict[str, Geometry] = {}  # filled by `kgeval.kernels.geometries`


def exact_scores(geometry: str, queries: Vectors, candidates: Vectors) -> Reals:
    """Return the float64 score of each pair of rows.

    Parameters
    ----------
    geometry : str
        One of `GEOMETRIES`. ``"dot"``; ``"l1"`` or ``"l2"``: minus the distance; ``"modulus"``: minus the sum of the
        moduli of complex differences, real parts in the first half of a vector, imaginary in the second.
    queries, candidates : float arrays, shape (pairs, d)

    Returns
    -------
    float64 array, shape (pairs,)

    Examples
    --------
    >>> exact_scores("l1", np.array([[1.0, 2.0]]), np.array([[0.0, 4.0]]))
    array([-3.])
    """
    how = GEOMETRIES[geometry]
    terms = how.summands(np.array(candidates, dtype=np.float64), queries, np.sqrt)
    return np.asarray(how.finish(_tree_sum(terms), np.sqrt))


def _tree_sum(terms: Reals) -> Reals:
    """Return the sum of each row, halves added to halves: the same order on every machine. Overwrites `terms`."""
    n = terms.shape[1]
    while n > _SHORT:
        terms, n = _halved(terms, n), n // 2
    terms = terms[:, :n].T.copy().T  # numpy adds short rows slowly, long columns fast
    while n > 1:
        terms, n = _halved(terms, n), n // 2
    return terms[:, 0].copy()


def _halved(terms: Reals, n: int) -> Reals:
    half = n // 2
    terms[:, :half] += terms[:, half : 2 * half]
    if n % 2:
        terms[:, 0] += terms[:, n - 1]
    return terms


def exact_pair_scores(geometry: str, queries: Vectors, candidates: Vectors, rows: Ids, columns: Ids) -> Reals:
    """Return the scores of the pairs (``queries[rows]``, ``candidates[columns]``), a few at a time.

    Examples
    --------
    >>> vectors = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> exact_pair_scores("dot", vectors, vectors, np.array([0, 0]), np.array([0, 1]))
    array([ 5., 11.])
    """
    scores = np.empty(len(rows))
    for part in pair_parts(len(rows), queries.shape[1]):
        scores[part] = exact_scores(geometry, queries[rows[part]], candidates[columns[part]])
    return scores


def pair_parts(n: int, d: int) -> list[slice]:
    """Return slices of `n` pairs of vectors that are few enough to stay in a processor's cache."""
    step = max(1, _PAIR_BYTES // (8 * max(1, d)))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def is_in_range(size: Any) -> Any:
    """Tell where sizes are so far from float64's limits that no product under- or overflows."""
    return (size > 1.0 / MAX_MAGNITUDE) & (size < MAX_MAGNITUDE)


def power_above(size: float) -> float:
    """Return the least power of two that is not below `size`, so that dividing by it is exact; 1 for 0.

    Examples
    --------
    >>> power_above(5.0), power_above(0.25), power_above(0.0)
    (8.0, 0.25, 1.0)
    """
    mantissa, exponent = math.frexp(size)
    return math.ldexp(1.0, exponent - (mantissa == 0.5)) if size > 0 else 1.0


def largest_number(vectors: Vectors) -> float:
    """Return the largest absolute value, 0 of an empty array."""
    return max((float(np.abs(vectors[part]).max()) for part in row_parts(vectors)), default=0.0)


def row_parts(vectors: Vectors) -> list[slice]:
    """Return slices of rows that are small enough to copy as float64."""
    step = max(1, _PART_BYTES // (8 * max(1, vectors.shape[1])))
    return [slice(start, start + step) for start in range(0, len(vectors), step)]


class Room:
    """Room for a tile; every tile overwrites the one before.

    Parameters
    ----------
    dtype : numpy dtype
        Of the screening scores.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._cells: npt.NDArray[Any] = np.empty(0, dtype=dtype)

    def __call__(self, n_rows: int, n_columns: int) -> npt.NDArray[Any]:
        """Return an array for a tile, shape (n_rows, n_columns)."""
        if self._cells.size < n_rows * n_columns:
            self._cells = np.empty(n_rows * n_columns, dtype=self._cells.dtype)
        return self._cells[: n_rows * n_columns].reshape(n_rows, n_columns)
