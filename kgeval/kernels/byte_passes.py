"""Screening passes that use 8-bit integers, for ``dot`` and ``l1``, and the proof of their error bounds.

A screening pass computes approximate scores of candidates, called screening scores. A candidate is undecided if its
screening score differs from the positive's score by at most the error bound. Undecided candidates are scored again,
more precisely. The passes of this module round vectors to 8-bit integers. Sums of integers are exact, so the only error
of a screening score comes from rounding the two vectors. `passes.make_passes` builds these passes; `NumpyCounter` calls
them.

Notation: q is a query, e a candidate, both real vectors; q' and e' are the rounded vectors; d is the dimension;
v = 2**-53 is the unit roundoff of float64; x.y is the dot product of two vectors; |x| is the Euclidean norm, |x|_1 the
l1 norm; p is the exact score of the positive, a given float64 number. The exact score of a candidate is computed in
float64. A bound has to cover the difference between the exact score and the screening score of a candidate.

**dot** (`ByteDotPass`)

1. Rounding: q' = sq * a and e' = se * b, where a and b hold integers in -127..127, sq is the step of the query, and se
   is the step of all candidates of the tile. The screening score is the integer a.b, and q'.e' = sq * se * a.b. The
   integer is exact in 32 bits, since d * 127^2 < 2^31 for every d up to 100 000, the largest dimension allowed.
2. Error of rounding: q.e - q'.e' = (q - q').e + q'.(e - e'). By the Cauchy-Schwarz inequality
   |q.e - q'.e'| <= |q - q'| * |e| + |q'| * |e - e'|, and |q'| <= |q| + |q - q'|.
   The norms |q - q'| and |e - e'| are measured after rounding; they are not worst cases. For |e| and |e - e'|, the
   bound uses the largest value of the tile.
3. Error of float64: the exact score is within (d + 1) * v * |q| * |e| of q.e. Computing the norms and the bound adds
   less than 4 * (d + 4) * v * (|q| + |q - q'|) * (|e| + |e - e'|).
4. The interval: a candidate is undecided if sq * se * a.b differs from p by at most the sum of three numbers: the bound
   of step 2, made 1% larger; 8 * (d + 4) * v * (|q| + |q - q'|) * (|e| + |e - e'|) for step 3; and 8 * v * |p| for the
   roundings of the interval's ends.

**l1** (`ByteL1Pass`)

1. Rounding: one vector, the centre, is subtracted from both q and e; their distance D = |q - e|_1 does not change.
   Then q' = s * a and e' = s * b with one step s for all vectors; a and b hold integers in -L..L with L = 63. A
   component above s * L is rounded to s * L, a component below -s * L to -s * L.
2. Integers: write a_k for component k of the vector a. The difference |a_k - b_k| <= 2 * L = 126 fits a signed byte,
   and the sum of two such differences fits an unsigned byte. Let A be the sum of |a_k - b_k| over all k; so
   A <= 2 * L * d and s * A = |q' - e'|_1. The screening score is c - A with the constant c = 2 * L * d + 1. It is exact
   in 16 bits if 2 * L * d + 2 < 2^16; else 32 bits are used.
3. Queries beyond the range: let q'' be q with each component moved into -s * L..s * L, and X = |q - q''|_1. No
   component of e' is beyond the range. So where q_k is beyond the range by x, |q_k - e'_k| = x + |q''_k - e'_k|;
   elsewhere q''_k = q_k. Hence |q - e'|_1 = X + |q'' - e'|_1.
4. Error of rounding: by the triangle inequality, D differs from |q - e'|_1 by at most |e - e'|_1, and |q'' - e'|_1
   differs from |q' - e'|_1 = s * A by at most |q'' - q'|_1. Together |D - X - s * A| <= |q'' - q'|_1 + |e - e'|_1.
   Both norms are measured after rounding; |e - e'|_1 includes the change of components of e that are beyond the range.
   For |e - e'|_1, the bound uses the largest value of the tile.
5. Error of float64: the exact score is within (d + 6) * v * (|q|_1 + |e|_1) of -D. Subtracting the centre adds
   2 * v * (|q|_1 + |e|_1 + 2 * |centre|_1). Computing the bound adds less than
   4 * (d + 4) * v * (|q|_1 + |e|_1 + 2 * |centre|_1).
6. The interval: a candidate is undecided if X + s * A differs from the positive's distance by at most the sum of two
   numbers: the bound of step 4, made 1% larger; and 8 * (d + 8) * v * (|q|_1 + |e|_1 + 4 * |centre|_1) for step 5.

**Ranges.** In this section, the size of a vector, or of all candidates together, means the largest absolute value of a
component. All candidates of a query are undecided in each of these cases:

- The size of the candidates is not 0, and is outside about 1e-100..1e100.
- Only ``dot``: the size of the query is outside 1e-100..1e100.
- Only ``l1``: the size of the query is more than about 1e15 times the size of the candidates.

For ``dot``, candidates are divided by a power of two, the unit. If all components of a tile are below 1e-100 units,
their squares underflow. The bound then uses sqrt(d) * 1e-100 units, which the norms and the rounding errors of these
candidates cannot exceed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, Reals
from kgeval.kernels.geometry import (
    MAX_MAGNITUDE,
    MAX_RATIO,
    TileBuffer,
    V,
    Vectors,
    is_in_range,
    largest_number,
    power_above,
    row_parts,
)

Bytes = npt.NDArray[np.int8]
Integers = npt.NDArray[np.integer[Any]]

MAX_MULTIPLE = 63  # L in the proof of l1, the largest integer to which the pass rounds a number
_SAMPLE = 1024  # `Grid.of` chooses the step from a sample of about this many candidates


@dataclass
class PreparedBytes:
    """Queries that are prepared for a byte pass.

    Parameters
    ----------
    vectors : int8 array, shape (queries, d)
        The rounded queries (the integers a in the proof, see the module docstring).
    step : float64 array, shape (queries,)
        ``dot``: the rounding step of each query. ``l1``: instead of a step, the l1 distance of each query from the
        grid (X in the proof); all vectors share the step `Grid.step`.
    sizes, errors : float64 arrays, shape (queries,)
        `sizes`: the norm of each query; for ``l1``, twice the norm of the centre of the grid is added. `errors`: the
        norm of each query's rounding error. Norms are Euclidean for ``dot``, and l1 norms for ``l1``.
    is_usable : bool array, shape (queries,)
        False for a query in one of the cases under **Ranges** in the module docstring: all its candidates are
        undecided.
    buffer : TileBuffer
        The buffer for the tiles.
    """

    vectors: Bytes
    step: Reals
    sizes: Reals
    errors: Reals
    is_usable: npt.NDArray[np.bool_]
    buffer: TileBuffer = field(default_factory=lambda: TileBuffer(np.int32))


@dataclass
class ByteDotPass:
    """Dot products of 8-bit vectors by `torch._int_mm`, for the geometry ``dot``.

    Parameters
    ----------
    candidates : float array, shape (candidates, d)
        Finite, in the order of the columns of the tiles. The error bounds are tightest if the candidates are sorted by
        their largest absolute component.
    block_size : int
        The number of candidates in a tile; the candidates of a tile share a rounding step.

    Attributes
    ----------
    unit : float
        The power of two by which candidates are divided, so that no component exceeds 1.
    vectors : int8 array, shape (candidates, d)
        The rounded candidates (the integers b in the proof, see the module docstring).
    bounds : dict of int to tuple of float
        For each tile (the key is the index of its first candidate): the rounding step, the largest norm of a
        candidate, and the largest norm of a rounding error.
    """

    candidates: Vectors
    block_size: int
    unit: float = field(init=False)
    vectors: Bytes = field(init=False)
    bounds: dict[int, tuple[float, float, float]] = field(init=False)

    def __post_init__(self) -> None:
        n, d = self.candidates.shape
        self.unit = power_above(largest_number(self.candidates))
        self.vectors = np.empty((n, d), dtype=np.int8)
        self.bounds = {}
        for start in range(0, n, self.block_size):
            block = self.candidates[start : start + self.block_size]
            largest = largest_number(block) / self.unit
            step = (largest if is_in_range(largest) else 1.0) / 127.0
            squares, errors = [], []
            for part in row_parts(block):
                scaled = block[part].astype(np.float64)
                scaled /= self.unit
                squares.append(np.einsum("ij,ij->i", scaled, scaled).max())  # the largest |e|^2
                rounded = np.rint(scaled / step)
                self.vectors[start : start + self.block_size][part] = rounded
                scaled -= step * rounded  # now e - e'
                errors.append(np.einsum("ij,ij->i", scaled, scaled).max())
            norm, error = float(np.sqrt(max(squares))), float(np.sqrt(max(errors)))
            if not is_in_range(largest):
                norm = error = float(np.sqrt(d)) / MAX_MAGNITUDE
            self.bounds[start] = step, norm, error

    def prepare(self, queries: Reals) -> PreparedBytes:
        """Round queries, float64, shape (queries, d), to multiples of a step; each query has its own step."""
        largest = np.abs(queries).max(axis=1)
        is_usable = is_in_range(largest) & is_in_range(self.unit)
        step = np.where(is_usable, largest, 127.0) / 127.0
        q = np.where(is_usable[:, None], queries, 0.0)
        rounded = np.rint(q / step[:, None])
        sizes = np.sqrt(np.einsum("ij,ij->i", q, q))
        q -= rounded * step[:, None]  # now q - q'
        return PreparedBytes(rounded.astype(np.int8), step, sizes, np.sqrt(np.einsum("ij,ij->i", q, q)), is_usable)

    def tile(self, prepared: PreparedBytes, rows: Ids | None, block: slice) -> Integers:
        """Return the integer dot product of each query of `rows` (None: all queries) with each candidate of `block`."""
        import torch

        q, e = prepared.vectors if rows is None else prepared.vectors[rows], self.vectors[block]
        product = prepared.buffer(len(q), len(e))
        torch._int_mm(torch.from_numpy(q), torch.from_numpy(e).T, out=torch.from_numpy(product))
        return product

    def interval(
        self, prepared: PreparedBytes, rows: Ids, scores: Reals, block: slice
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the ends (low, high) of each positive's interval of integer dot products.

        A candidate is undecided if its product is from `low` to `high`, both included. `rows` and `scores` hold the
        query and the exact score of each positive. The ends are rounded inward to integers; this removes no integer
        from the interval.
        """
        d = self.vectors.shape[1]
        step, norm, error = self.bounds[block.start]
        sizes, errors = prepared.sizes[rows], prepared.errors[rows]
        # (positives,): the exact scores of the positives, divided by the unit
        thresholds = np.where(prepared.is_usable[rows], scores, 0.0) / self.unit
        radius = 1.01 * (errors * norm + (sizes + errors) * error)  # step 2 of the proof, then steps 3 and 4
        radius += 8.0 * (d + 4) * V * (sizes + errors) * (norm + error) + 8.0 * V * np.abs(thresholds)
        radius[~prepared.is_usable[rows]] = np.inf
        scale = prepared.step[rows] * step  # sq * se in the proof: the score that an integer product of 1 stands for
        limit = 2.0**31 - 1.0  # no product reaches this limit
        low = np.ceil(np.maximum((thresholds - radius) / scale, -limit))
        high = np.floor(np.minimum((thresholds + radius) / scale, limit))
        return np.minimum(low, limit).astype(np.int32), np.maximum(high, -limit).astype(np.int32)


@dataclass
class ByteL1Pass:
    """L1 distances of 8-bit vectors, for the geometry ``l1``.

    Parameters
    ----------
    candidates : float array, shape (candidates, d)
        Finite, in the order of the columns of the tiles. The error bounds are tightest if the candidates are sorted by
        their rounding errors (`Grid.errors`).
    grid : Grid

    Attributes
    ----------
    columns : int8 array, shape (d, candidates)
        The rounded candidates, one row for each dimension (the integers b in the proof, see the module docstring).
    sizes, errors : float64 arrays, shape (candidates,)
        `sizes`: norms of the candidates plus twice the norm of the centre. `errors`: norms of the rounding
        errors of the candidates.
    """

    candidates: Vectors
    grid: Grid
    columns: Bytes = field(init=False)
    sizes: Reals = field(init=False)
    errors: Reals = field(init=False)

    def __post_init__(self) -> None:
        n, d = self.candidates.shape
        self.columns = np.empty((d, n), dtype=np.int8)
        self.sizes, self.errors = np.empty(n), np.empty(n)
        for part in row_parts(self.candidates):
            rounded, self.sizes[part], self.errors[part] = self.grid.round(self.candidates[part].astype(np.float64))
            self.columns[:, part] = rounded.T

    def prepare(self, queries: Reals) -> PreparedBytes:
        """Move queries, float64, shape (queries, d), into the range of the grid, and round them to the grid."""
        is_usable = is_in_range(self.grid.unit) & (np.abs(queries).max(axis=1) < MAX_RATIO * self.grid.unit)
        q = np.where(is_usable[:, None], queries, 0.0)
        sizes = self.grid.sizes(q)
        moved, beyond = self.grid.move(q)
        rounded, _, errors = self.grid.round(moved)
        return PreparedBytes(rounded, beyond, sizes, errors, is_usable, TileBuffer(self._dtype()))

    def tile(self, prepared: PreparedBytes, rows: Ids | None, block: slice) -> Integers:
        """Return c - A for each query of `rows` (None: all queries) and each candidate of `block`.

        A is the l1 distance of the two integer vectors, and c is the largest possible distance plus 1. So every
        returned value is in 1..c, and if the interval of a positive is 0..c + 1, all candidates are undecided.
        """
        q = prepared.vectors.T if rows is None else prepared.vectors[rows].T
        columns = self.columns[:, block]
        out = prepared.buffer(q.shape[1], columns.shape[1])
        out[...] = self._top() + 1
        d = len(columns)
        # even and odd, (rows, candidates): the differences in dimension k, and in dimension k + 1. Their sums are
        # unsigned bytes, so that `out`, whose integers are wider, is read and written only once for two dimensions.
        even, odd = np.empty((2, *out.shape), dtype=np.int8)
        for k in range(0, d, 2):
            np.subtract(q[k, :, None], columns[k], out=even)
            np.abs(even, out=even)
            if k + 1 < d:
                np.subtract(q[k + 1, :, None], columns[k + 1], out=odd)
                np.abs(odd, out=odd)
                np.add(even.view(np.uint8), odd.view(np.uint8), out=even.view(np.uint8))
            np.subtract(out, even.view(np.uint8), out=out)
        return out

    def _top(self) -> int:
        """Return the largest possible l1 distance of two integer vectors: 2 * L * d (L: see the module docstring)."""
        return 2 * MAX_MULTIPLE * len(self.columns)

    def _dtype(self) -> type[np.unsignedinteger[Any]]:
        """Return the dtype of the tiles: uint16 if 2 * L * d + 2 < 2^16 (L: see the module docstring), else uint32."""
        return np.uint16 if self._top() + 2 < 1 << 16 else np.uint32

    def interval(self, prepared: PreparedBytes, rows: Ids, scores: Reals, block: slice) -> tuple[Integers, Integers]:
        """Return the ends (low, high) of each positive's interval of tile values.

        A candidate is undecided if its value in the tile is from `low` to `high`, both included. `rows` and `scores`
        hold the query and the exact score of each positive. The ends are rounded inward to integers; this removes no
        integer from the interval.
        """
        d = len(self.columns)
        is_usable = prepared.is_usable[rows]
        # distances, (positives,): -p - X in the proof, in multiples of the unit; s * A is compared with these numbers
        distances = np.where(is_usable, -scores, 0.0) / self.grid.unit - prepared.step[rows]
        sizes = prepared.sizes[rows] + self.sizes[block].max(initial=0.0)
        radius = 1.01 * (prepared.errors[rows] + self.errors[block].max(initial=0.0)) + 8.0 * (d + 8) * V * sizes
        radius[~is_usable] = np.inf
        top = self._top() + 1.0  # c in the proof: the tile holds c - A
        low = np.ceil(np.clip(top - (distances + radius) / self.grid.step, 0.0, top + 1.0))
        high = np.floor(np.clip(top - (distances - radius) / self.grid.step, 0.0, top + 1.0))
        return low.astype(self._dtype()), high.astype(self._dtype())


@dataclass(frozen=True)
class Grid:
    """The grid to which `ByteL1Pass` rounds each component of a vector.

    The grid points for component k are ``centre[k] + step * b`` with integers b in -`MAX_MULTIPLE`..`MAX_MULTIPLE`. A
    component beyond the grid is rounded to the nearest end of the grid.

    Parameters
    ----------
    unit : float
        A power of two that no component of a candidate exceeds. Vectors are divided by `unit` before they are rounded.
    centre : float64 array, shape (d,)
        The centre of the grid, in multiples of `unit`.
    step : float
        The distance between neighbouring grid points, in multiples of `unit`.
    """

    unit: float
    centre: Reals
    step: float

    @classmethod
    def of(cls, candidates: Vectors) -> Grid:
        """Choose the grid for `candidates` from a sample of them.

        The centre is the median of the sample. Twelve steps are tried, and the step with the smallest total rounding
        error of the sample is chosen: a small step rounds more finely, but leaves more components beyond the grid.
        """
        unit = power_above(largest_number(candidates))
        sample = candidates[:: max(1, len(candidates) // _SAMPLE)].astype(np.float64) / unit
        centre = np.median(sample, axis=0)
        spread = float(np.abs(sample - centre).max())
        widest = (spread if is_in_range(spread) else 1.0) / MAX_MULTIPLE
        grids = [cls(unit, centre, widest * 2.0 ** (-j / 4)) for j in range(12)]
        return min(grids, key=lambda grid: float(grid.round(sample * unit)[2].sum()))

    def move(self, vectors: Reals) -> tuple[Reals, Reals]:
        """Move each component of `vectors` into the range of the grid.

        Returns two arrays: the moved vectors (q'' in the module docstring), and the l1 norm of the change of each row
        (X in the module docstring), in multiples of `unit`.
        """
        reach = self.unit * self.step * MAX_MULTIPLE
        moved = np.clip(vectors, self.unit * self.centre - reach, self.unit * self.centre + reach)
        return moved, np.abs(vectors - moved).sum(axis=1) / self.unit

    def sizes(self, vectors: Reals) -> Reals:
        """Return the l1 norm of each row of `vectors`, plus twice the l1 norm of the centre, in multiples of `unit`."""
        return np.asarray(np.abs(vectors).sum(axis=1) / self.unit + 2.0 * np.abs(self.centre).sum())

    def round(self, vectors: Reals) -> tuple[Bytes, Reals, Reals]:
        """Round `vectors`, shape (n, d), to the grid.

        Returns three arrays: the integers, int8, shape (n, d); the result of `sizes`, float64, shape (n,); and the l1
        norms of the rounding errors of the rows, float64, shape (n,), in multiples of `unit`. The errors of components
        beyond the grid are included.

        Examples
        --------
        >>> Grid(unit=1.0, centre=np.zeros(2), step=0.5).round(np.array([[1.0, -0.25], [2.25, 40.0]]))[0]
        array([[ 2,  0],
               [ 4, 63]], dtype=int8)
        """
        sizes = self.sizes(vectors)
        scaled = vectors / self.unit - self.centre
        rounded = np.clip(np.rint(scaled / self.step), -MAX_MULTIPLE, MAX_MULTIPLE)
        return rounded.astype(np.int8), sizes, np.abs(scaled - self.step * rounded).sum(axis=1)

    def errors(self, vectors: Vectors) -> Reals:
        """Return the l1 norm of each row's rounding error, float64, shape (n,), in multiples of `unit`."""
        return np.concatenate([self.round(vectors[part].astype(np.float64))[2] for part in row_parts(vectors)])
