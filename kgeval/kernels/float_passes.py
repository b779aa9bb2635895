"""Screening passes that use float32 (and float64 products), for all geometries, and the proof of their error bounds.

A screening pass computes approximate scores of candidates, called screening scores. A candidate is open if its
screening score differs from the positive's score by at most the error bound. Undecided candidates are scored again,
more precisely. Screening scores in float32 are much cheaper than exact scores, which are float64 sums in a fixed order.
`passes.make_passes` builds these passes; `NumpyCounter` calls them.

Notation: q is a query, e a candidate; d is the dimension; u = 2**-24 is the unit roundoff of float32, v = 2**-53 that
of float64; gamma(n) = n * u / (1 - n * u) bounds the relative error of n roundings (Higham 2002, Accuracy and Stability
of Numerical Algorithms, 3.1-3.5); x.y is the dot product of two vectors; |x| is the Euclidean norm, |x|_1 the l1 norm;
fl(x) is x as computed in float32. The largest dimension is 100 000, so d * u < 0.006.

**dot** (`DotPass`; `DoubleDotPass` with v in the place of u)

1. Summing: in whatever order the d products are added, |fl(q.e) - q.e| <= gamma(d) * |q| * |e|.
2. Rounding both vectors to float32 changes q.e by at most (2 * u + u^2) * |q| * |e|.
3. The errors of steps 1 and 2 together are below 1.01 * (d + 3) * u * |q| * |e|, since d * u < 0.006.
4. The exact score, computed in float64, is within (d + 1) * v * |q| * |e| of q.e.

**l2** (`DotPass`, `DoubleDotPass`)

1. Let D = |q - e|. For one query, |q|^2 - D^2 = 2 * q.e - |e|^2 orders candidates in the same way as the scores -D.
2. 2 * q.e - |e|^2 is the dot product of (q, -1) and (2 * e, |e|^2), so the passes and bounds of ``dot`` are used for
   these vectors. The positive's score p is converted to |q|^2 - p^2, the threshold.
3. The float64 roundings (in the squares, differences and root of the exact score, and in the threshold) change the
   compared numbers by at most 16 * (d + 8) * v * (|q| + |e|)^2.

**l1 and modulus** (the sum of complex moduli; `DistancePass`)

1. Let D be the real distance, D' the real distance of the vectors rounded to float32, and A the sum that float32
   accumulates for D'. No term is negative, so the relative error of A is bounded: A is in
   D' * (1 - c2)..D' * (1 + c2) with c2 = 1.01 * (d + 6) * u.
2. Rounding the vectors changes the distance by at most 1.01 * u * (|q|_1 + |e|_1), and the exact score is within
   4 * (d + 6) * v * (|q|_1 + |e|_1) of -D. So the exact distance (the negated exact score) is within
   c1 = (1.01 * u + 4 * (d + 6) * v) * (|q|_1 + |e|_1) of D'.
3. Let P be the exact distance of the positive. If A < (P - c1) * (1 - c2), then D' <= A / (1 - c2) < P - c1, so the
   candidate is nearer than the positive. If A > (P + c1) * (1 + c2), then D' >= A / (1 + c2) > P + c1, so the candidate
   is farther. Otherwise it is open.

**Underflow** adds at most d * 2**-124 to a dot product or an l1 distance, and d * 2**-61 to a sum of moduli (whose
squares underflow sooner). This holds even if the processor replaces subnormal numbers by zero.

**Overflow** does not happen, since vectors are scaled. For ``dot``, queries are scaled to length 1, and candidates are
divided by the unit; the unit is 1 if the largest Euclidean norm of a candidate is in 2**-60..2**60. For ``l2``, queries
and candidates are divided by the unit, and (q, -1) is then scaled to length 1; if the largest norm is in this range,
the unit is the smallest power of two that no norm exceeds. For both geometries, if the largest norm is outside this
range, the unit is the smallest power of two that no component of a candidate exceeds, since the squares of the
candidates may overflow or underflow float64. For ``l1`` and ``modulus``, queries and candidates are divided by the
unit, the smallest power of two that no l1 norm of a candidate exceeds. If this power is in 2**-20..2**20, the unit is 1
instead; then a component of a candidate is at most 2**20, and a component of a query at most 1e15.

The code makes every bound 1% larger than derived here, to cover the rounding errors of computing the bound.

**Ranges.** In this section, the size of a vector, or of all candidates together, means the largest absolute value of a
component. Every candidate of a query is scored exactly, without screening, in each of these cases:

- The size of the candidates is not 0, and is outside about 1e-100..1e100, where products underflow or overflow float64.
- Only ``dot``: the size of the query is outside 1e-100..1e100.
- Only distances: the query (for ``l2`` its size, else its l1 norm) is more than about 1e15 units. The squares of the
  query's components would overflow float32.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, Reals
from kgeval.kernels.arrays import largest_in_rows
from kgeval.kernels.compiled import load_compiled
from kgeval.kernels.geometry import (
    MAX_RATIO,
    TileBuffer,
    U,
    V,
    Vectors,
    is_in_range,
    largest_number,
    pair_parts,
    per_row,
    power_above,
)
from kgeval.kernels.mapped_tables import is_kept, streamed

Floats = npt.NDArray[np.float32]


@dataclass
class Prepared:
    """Queries that are prepared for a float pass.

    Parameters
    ----------
    vectors : float32 or float64 array, shape (queries, d); for ``l2`` (queries, d + 1)
        The scaled queries.
    scale : float64 array, shape (queries,)
        The length by which each query was divided; the scores of the query's positives are divided by the same length.
        1 for `DistancePass`.
    sizes : float64 array, shape (queries,)
        Norms of the queries before scaling (for distances, divided by the unit of the pass): l1 norms for
        `DistancePass`, else Euclidean norms.
    is_usable : bool array, shape (queries,)
        False for a query whose screening scores would underflow or overflow; all its candidates are open.
    buffer : TileBuffer
        The buffer for the tiles.
    """

    vectors: Vectors
    scale: Reals
    sizes: Reals
    is_usable: npt.NDArray[np.bool_]
    buffer: TileBuffer = field(default_factory=lambda: TileBuffer(np.float32))


@dataclass
class DotPass:
    """Float32 dot products, for the geometries ``dot`` and ``l2``.

    Parameters
    ----------
    geometry : str
    candidates : float array or StreamedTable, shape (candidates, d)
        Finite, in the order of the columns of the tiles.

    Attributes
    ----------
    unit : float
        The power of two by which candidates are divided; 1 if ``dot`` needs no scaling.
    vectors : float32 array or StreamedTable, shape (candidates, d); for ``l2`` (candidates, d + 1)
        The scaled candidates e; for ``l2`` (2 * e, |e|^2). Shares the memory of `candidates` if no value changes.
    norms : float64 array, shape (candidates,)
        Euclidean norms of the rows of `vectors` before rounding.
    """

    geometry: str
    candidates: Vectors
    unit: float = field(init=False)
    vectors: Floats = field(init=False)
    norms: Reals = field(init=False)

    def __post_init__(self) -> None:
        is_l2 = self.geometry == "l2"
        norms = per_row(partial(_norms, 1.0), self.candidates)
        largest = float(norms.max())
        if 2.0**-60 <= largest <= 2.0**60:
            self.unit = power_above(largest) if is_l2 else 1.0
            norms /= self.unit
        else:  # squares of the candidates may overflow or underflow float64, but not after the division
            self.unit = power_above(largest_number(self.candidates))
            norms = per_row(partial(_norms, self.unit), self.candidates)
        self.norms = norms
        if is_l2:
            squares = norms * norms  # |e|^2 of each scaled candidate
            self.norms = np.sqrt(4.0 * squares + squares * squares)  # the norm of (2 * e, |e|^2)
            self.vectors = streamed(partial(_with_squares, self.unit), self.candidates, squares.astype(np.float32))
        else:
            self.vectors = _scaled_table(self.candidates, self.unit)

    def prepare(self, queries: Reals) -> Prepared:
        """Scale the queries, a float64 array of shape (queries, d), and round them to float32."""
        doubles, norms, sizes, is_usable = self.scaled(queries)
        return Prepared(doubles.astype(np.float32), norms, sizes, is_usable)

    def scaled(self, queries: Reals) -> tuple[Reals, Reals, Reals, npt.NDArray[np.bool_]]:
        """Scale `queries`, float64, shape (queries, d).

        Returns four arrays, the fields `vectors`, `scale`, `sizes` and `is_usable` of `Prepared`. The vectors stay
        float64.
        """
        largest = largest_in_rows(queries)
        is_l2 = self.geometry == "l2"
        is_usable = is_in_range(self.unit) & (largest < MAX_RATIO * self.unit if is_l2 else is_in_range(largest))
        unit = self.unit if is_l2 else 1.0
        q = queries if is_usable.all() else np.where(is_usable[:, None], queries, unit)
        q = q / unit if unit != 1.0 else q
        squares = np.einsum("ij,ij->i", q, q)
        if is_l2:
            q = np.column_stack([q, np.full(len(q), -1.0)])
        norms = np.sqrt(squares + 1.0 if is_l2 else squares)
        return q / norms[:, None], norms, np.sqrt(squares), is_usable

    def tile(self, prepared: Prepared, rows: Ids | None, block: slice) -> Floats:
        """Return the screening score of each query of `rows` (None: all queries) with each candidate of `block`."""
        q, e = prepared.vectors if rows is None else prepared.vectors[rows], self.vectors[block]
        return np.matmul(q, e.T, out=prepared.buffer(len(q), len(e)))

    def pairs(self, prepared: Prepared, rows: Ids, columns: Ids) -> Floats:
        """Return the screening score of query ``rows[i]`` with candidate ``columns[i]``, for each i."""
        scores = np.empty(len(rows), dtype=np.float32)
        loops = load_compiled()
        if loops is not None and isinstance(self.vectors, np.ndarray):
            loops.dot_pairs(prepared.vectors, np.asarray(self.vectors), rows, columns, scores)
            return scores
        for part in pair_parts(len(rows), self.vectors.shape[1]):
            np.einsum("ij,ij->i", prepared.vectors[rows[part]], self.vectors[columns[part]], out=scores[part])
        return scores

    def interval(self, prepared: Prepared, rows: Ids, scores: Reals, block: slice | Ids) -> tuple[Floats, Floats]:
        """Return the ends (low, high) of each positive's interval of screening scores.

        A candidate is open if its screening score is from `low` to `high`, both included.
        """
        thresholds, radius = self.around(prepared, rows, scores, _largest(self.norms, block), U)
        return _outward(thresholds - radius, thresholds + radius, prepared.is_usable[rows])

    def around(
        self, prepared: Prepared, rows: Ids, scores: Reals, largest: Any, unit_roundoff: float
    ) -> tuple[Reals, Reals]:
        """Convert the positives' scores to the scale of the screening scores, and bound the screening errors.

        Parameters
        ----------
        prepared : Prepared
        rows : int64 array, shape (positives,)
            The query of each positive.
        scores : float64 array, shape (positives,)
            Exact scores of the positives.
        largest : float, or array of shape (positives,)
            The largest norm of the candidates; or, for each positive, the norm of the candidate with which the positive
            is compared.
        unit_roundoff : float
            The unit roundoff of the dtype in which products are summed: `U` (float32) or `V` (float64).

        Returns
        -------
        thresholds, radius : float64 arrays, shape (positives,)
            `thresholds`: the scores of the positives, converted to the scale of the screening scores. `radius`: for
            each positive, a bound on the error of a screening score. A candidate is open if its screening score
            differs from the threshold by at most `radius`.
        """
        d = self.vectors.shape[1]
        norms = prepared.scale[rows]
        thresholds = np.where(prepared.is_usable[rows], scores, 0.0) / self.unit
        slack = np.zeros(len(rows))
        if self.geometry == "l2":
            sizes = prepared.sizes[rows]
            slack = 16.0 * (d + 8) * V * (sizes + self.norms.max(initial=0.0) + 1.0) ** 2 / norms  # l2, step 3
            thresholds = sizes * sizes - thresholds * thresholds  # l2, step 2
        thresholds = thresholds / norms
        bound = (1.02 * (d + 3) * unit_roundoff + 4.0 * (d + 4) * V) * largest
        return thresholds, 1.01 * (bound + slack + d * 2.0**-124 + 8.0 * V * np.abs(thresholds))


@dataclass
class DoubleDotPass:
    """Float64 dot products, for positives with too many open candidates after the float32 pass.

    The error bounds are those of `DotPass`, but with the unit roundoff of float64.

    Parameters
    ----------
    single : DotPass
        The float32 pass of the same geometry. `DoubleDotPass` converts the candidates of `single` to
        float64, tile by tile.
    """

    single: DotPass

    def prepare(self, queries: Reals) -> Prepared:
        """Scale queries, float64, shape (queries, d)."""
        return Prepared(*self.single.scaled(queries))

    def tile(self, prepared: Prepared, rows: Ids | None, block: slice) -> Reals:
        """Return the screening score of each query of `rows` (None: all queries) with each candidate of `block`."""
        q = prepared.vectors if rows is None else prepared.vectors[rows]
        e = self.single.candidates[block].astype(np.float64)
        e /= self.single.unit
        if self.single.geometry == "l2":
            e = np.column_stack([2.0 * e, (e * e).sum(axis=1)])
        return np.asarray(q @ e.T)

    def interval(self, prepared: Prepared, rows: Ids, scores: Reals, block: slice) -> tuple[Reals, Reals]:
        """Return the ends (low, high) of each positive's interval of screening scores.

        A candidate is open if its screening score is from `low` to `high`, both included.
        """
        thresholds, radius = self.single.around(prepared, rows, scores, self.single.norms[block].max(), V)
        is_usable = prepared.is_usable[rows]
        low = np.where(is_usable, np.nextafter(thresholds - radius, -np.inf), -np.inf)
        return low, np.where(is_usable, np.nextafter(thresholds + radius, np.inf), np.inf)


@dataclass
class DistancePass:
    """Float32 distances, summed one dimension after another (``l1``, ``modulus``).

    Parameters
    ----------
    geometry : str
    candidates : float array or StreamedTable, shape (candidates, d)
        Finite, in the order of the columns of the tiles.

    Attributes
    ----------
    unit : float
        The power of two by which candidates and queries are divided; 1 if no scaling is needed.
    vectors : float32 array or StreamedTable, shape (candidates, d)
        The scaled candidates. Shares the memory of `candidates` if no value changes.
    norms : float64 array, shape (candidates,)
        l1 norms of the scaled candidates.
    """

    geometry: str
    candidates: Vectors
    unit: float = field(init=False)
    vectors: Floats = field(init=False)
    norms: Reals = field(init=False)

    def __post_init__(self) -> None:
        norms = per_row(_absolute_sums, self.candidates)
        self.unit = power_above(float(norms.max()))
        if 2.0**-20 <= self.unit <= 2.0**20:
            self.unit = 1.0
        norms /= self.unit
        self.norms = norms
        self.vectors = _scaled_table(self.candidates, self.unit)

    def prepare(self, queries: Reals) -> Prepared:
        """Scale the queries, a float64 array of shape (queries, d), and round them to float32."""
        sizes = np.abs(queries).sum(axis=1)
        is_usable = is_in_range(self.unit) & (sizes < MAX_RATIO * self.unit)
        vectors = (np.where(is_usable[:, None], queries, 0.0) / self.unit).astype(np.float32)
        return Prepared(vectors, np.ones(len(queries)), np.where(is_usable, sizes, 0.0) / self.unit, is_usable)

    def tile(self, prepared: Prepared, rows: Ids | None, block: slice) -> Floats:
        """Return minus the screening distance of each query of `rows` (None: all) to each candidate of `block`."""
        q, e = prepared.vectors if rows is None else prepared.vectors[rows], np.asarray(self.vectors[block])
        out = prepared.buffer(len(q), len(e))  # (rows, candidates): minus the sum of the terms so far
        loops = load_compiled()
        if loops is not None:
            (loops.l1_tile if self.geometry == "l1" else loops.modulus_tile)(q, e, out)
            return out
        q, columns = q.T, np.ascontiguousarray(e.T)  # (d, candidates): one row for each dimension
        out[...] = 0.0
        term = np.empty_like(out)  # (rows, candidates): the term of one dimension, or of one complex number
        d = len(columns)
        if self.geometry == "l1":
            for k in range(d):
                np.subtract(q[k, :, None], columns[k], out=term)
                np.abs(term, out=term)
                out -= term
            return out
        imaginary = np.empty_like(out)
        half = d // 2
        for k in range(half):  # real parts are in the first half of a vector, imaginary parts in the second
            np.subtract(q[k, :, None], columns[k], out=term)
            np.subtract(q[half + k, :, None], columns[half + k], out=imaginary)
            term *= term
            imaginary *= imaginary
            term += imaginary
            np.sqrt(term, out=term)
            out -= term
        return out

    def pairs(self, prepared: Prepared, rows: Ids, columns: Ids) -> Floats:
        """Return minus the screening distance of query ``rows[i]`` to candidate ``columns[i]``, for each i."""
        scores = np.empty(len(rows), dtype=np.float32)
        d = self.vectors.shape[1]
        half = d // 2
        for part in pair_parts(len(rows), d):
            # (pairs of the part, d): first a copy of the queries, then the differences
            terms = prepared.vectors[rows[part]]
            terms -= self.vectors[columns[part]]
            if self.geometry == "modulus":
                terms *= terms
                terms = np.sqrt(terms[:, :half] + terms[:, half:])  # (pairs of the part, d / 2)
            scores[part] = -np.abs(terms).sum(axis=1)
        return scores

    def interval(self, prepared: Prepared, rows: Ids, scores: Reals, block: slice | Ids) -> tuple[Floats, Floats]:
        """Return the ends (low, high) of each positive's interval of screening scores.

        A candidate is open if its screening score is from `low` to `high`, both included.
        """
        d = self.vectors.shape[1]
        is_usable = prepared.is_usable[rows]
        distances = np.where(is_usable, -scores, 0.0) / self.unit
        sizes = prepared.sizes[rows] + _largest(self.norms, block)
        tiny = d * (2.0**-124 if self.geometry == "l1" else 2.0**-61)
        c1 = 1.01 * ((1.01 * U + 4.0 * (d + 6) * V) * sizes + tiny)
        c2 = 1.02 * (d + 6) * U
        # `distances` is P in the proof. If P - c1 is negative, no candidate is nearer than P - c1; then the factor
        # (1 + c2) only makes `nearer` more negative.
        nearer = (distances - c1) * np.where(distances > c1, 1.0 - c2, 1.0 + c2)
        farther = (distances + c1) * (1.0 + c2)
        return _outward(-farther, -nearer, is_usable)


def _norms(divisor: float, rows: Vectors) -> Reals:
    """Return the Euclidean norm of each row divided by `divisor` (a power of two), float64."""
    if divisor == 1.0 and (sums := _compiled_sums(rows, are_squared=True)) is not None:
        return np.asarray(np.sqrt(sums))
    doubles = rows.astype(np.float64)
    if divisor != 1.0:
        doubles /= divisor
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", doubles, doubles)))


def _absolute_sums(rows: Vectors) -> Reals:
    """Return the sum of the absolute values of each row, float64."""
    sums = _compiled_sums(rows, are_squared=False)
    return np.asarray(np.abs(rows).sum(axis=1, dtype=np.float64)) if sums is None else sums


def _compiled_sums(rows: Vectors, are_squared: bool) -> Reals | None:
    """Return the sum of squares, or of absolute values, of each row; None if there is no compiled loop for `rows`."""
    loops = load_compiled()
    if loops is None or rows.dtype not in (np.float32, np.float64):
        return None
    sums = np.empty(len(rows))
    loops.row_sums(rows, are_squared, sums)
    return sums


def _scaled_table(candidates: Vectors, unit: float) -> Any:
    """Return the candidates divided by a power of two, as float32; the table itself if no value changes."""
    if unit != 1.0 or candidates.dtype != np.float32:
        return streamed(partial(_scaled, unit), candidates)
    if isinstance(candidates, np.ndarray) and is_kept(candidates.nbytes):
        return np.ascontiguousarray(candidates)
    return candidates


def _scaled(unit: float, rows: Vectors) -> Floats:
    """Return the rows divided by a power of two, as float32."""
    scaled = np.empty(rows.shape, dtype=np.float32)
    np.divide(rows, unit, out=scaled, dtype=np.float64, casting="same_kind")
    return scaled


def _with_squares(unit: float, rows: Vectors, squares: Floats) -> Floats:
    """Return (2 * e, |e|^2) for each row, as float32, shape (n, d + 1).

    e is the row divided by `unit` (a power of two); `squares`, shape (n,), contains |e|^2.
    """
    d = rows.shape[1]
    result = np.empty((len(rows), d + 1), dtype=np.float32)
    # division by a usual power of two is exact in float32 too, and faster than in float64
    is_usual = rows.dtype == np.float32 and 2.0**-60 <= unit <= 2.0**60
    np.divide(rows, unit / 2, out=result[:, :d], dtype=np.float32 if is_usual else np.float64, casting="same_kind")
    result[:, d] = squares
    return result


def _largest(norms: Reals, block: slice | Ids) -> Any:
    """Return the norms of the candidates if `block` is an array of indices; the largest norm if `block` is a slice."""
    return norms[block].max() if isinstance(block, slice) else norms[block]


def _outward(low: Reals, high: Reals, is_usable: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Round the ends of intervals outward to float32; an interval is infinite if its `is_usable` is False."""
    low32 = np.where(is_usable, low, -np.inf).astype(np.float32)
    high32 = np.where(is_usable, high, np.inf).astype(np.float32)
    return np.nextafter(low32, np.float32(-np.inf)), np.nextafter(high32, np.float32(np.inf))
