"""Screening in 8-bit integers, whose sums are exact: all that a score can be off by is the rounding of its vectors.

With v = 2**-53 the unit roundoff of float64 and d the dimension:

- dot: q' = sq a and e' = se b are the vectors rounded to multiples a, b in -127..127 of a step of their own (one
  step for each query, one for all candidates of a tile). The integer a.b is exact in 32 bits while
  d 127^2 < 2^31, and |q.e - sq se a.b| = |(q - q').e + q'.(e - e')| <= |q - q'| |e| + |q'| |e - e'|
  (Cauchy-Schwarz), with the norms of the rounding errors as they came out, not their worst case.
- l1: both vectors, less the same centre, are rounded to multiples a, b in -L..L of one step s, values beyond them to
  the nearest of them. With L = 63 differences fit 8 bits, sums of two of them too, and the sum A of all |a - b| is
  exact in 16 bits while 2 L d < 2^16, else in 32. Where a query lies beyond s L by x, |q - e'| is exactly x more than
  from s L, for every e': the sum X of these is added. By the triangle inequality
  |D - X - s A| <= |q'' - q'|_1 + |e - e'|_1, with q'' the query moved to -s L..s L, and with the rounding errors (for
  candidates also what clipping took) as they came out.

The exact scores of candidate and positive are each within (d + 1) v |q| |e| of the real dot product, or
(d + 6) v (|q|_1 + |e|_1) of the real distance; subtracting the centre adds 2 v (|q|_1 + |e|_1 + 2 |centre|_1).
The bounds themselves are computed in float64 with relative errors below 4 (d + 4) v, and taken 1% larger.

Where sizes lie beyond 1e-100..1e100 nothing is screened: every candidate counts as undecided. A tile whose numbers
are all below 1e-100 of the largest candidate's, so that their squares underflow, is bounded by sqrt(d) 1e-100.
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
    Room,
    V,
    Vectors,
    is_in_range,
    largest_number,
    power_above,
    row_parts,
)

Bytes = npt.NDArray[np.int8]
Integers = npt.NDArray[np.integer[Any]]

MAX_MULTIPLE = 63  # of an l1 pass: a difference fits 8 bits, and the sum of two unsigned
_SAMPLE = 1024


@dataclass
class PreparedBytes:
    """Queries made ready for a byte pass.

    Parameters
    ----------
    vectors : int8 array, shape (queries, d)
    step : float64 array, shape (queries,)
        Of what the vectors are multiples (dot), or what distances have beyond the integers (l1).
    sizes, errors : float64 arrays, shape (queries,)
        Norms of the queries, and of their rounding errors.
    is_usable : bool array, shape (queries,)
    room : Room
    """

    vectors: Bytes
    step: Reals
    sizes: Reals
    errors: Reals
    is_usable: npt.NDArray[np.bool_]
    room: Room = field(default_factory=lambda: Room(np.int32))


@dataclass
class ByteDotPass:
    """Dot products of 8-bit vectors by `torch._int_mm`, for the geometry ``dot``.

    Parameters
    ----------
    candidates : float array, shape (candidates, d)
        Finite, in the order of the columns of the tiles; sorted by largest number the bounds are tightest.
    block_size : int
        Candidates of one tile, which share a step.
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
                squares.append(np.einsum("ij,ij->i", scaled, scaled).max())
                rounded = np.rint(scaled / step)
                self.vectors[start : start + self.block_size][part] = rounded
                scaled -= step * rounded
                errors.append(np.einsum("ij,ij->i", scaled, scaled).max())
            norm, error = float(np.sqrt(max(squares))), float(np.sqrt(max(errors)))
            if not is_in_range(largest):
                norm = error = float(np.sqrt(d)) / MAX_MAGNITUDE
            self.bounds[start] = step, norm, error

    def prepare(self, queries: Reals) -> PreparedBytes:
        """Round `queries`, float64, shape (queries, d)."""
        largest = np.abs(queries).max(axis=1)
        is_usable = is_in_range(largest) & is_in_range(self.unit)
        step = np.where(is_usable, largest, 127.0) / 127.0
        q = np.where(is_usable[:, None], queries, 0.0)
        rounded = np.rint(q / step[:, None])
        sizes = np.sqrt(np.einsum("ij,ij->i", q, q))
        q -= rounded * step[:, None]
        return PreparedBytes(rounded.astype(np.int8), step, sizes, np.sqrt(np.einsum("ij,ij->i", q, q)), is_usable)

    def tile(self, prepared: PreparedBytes, rows: Ids | None, block: slice) -> Integers:
        """Return the integer products of queries `rows`, or of all, with the candidates of `block`."""
        import torch

        q, e = prepared.vectors if rows is None else prepared.vectors[rows], self.vectors[block]
        product = prepared.room(len(q), len(e))
        torch._int_mm(torch.from_numpy(q), torch.from_numpy(e).T, out=torch.from_numpy(product))
        return product

    def interval(
        self, prepared: PreparedBytes, rows: Ids, scores: Reals, block: slice
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return, for positives of queries `rows`, the products between which a candidate is undecided."""
        d = self.vectors.shape[1]
        step, norm, error = self.bounds[block.start]
        sizes, errors = prepared.sizes[rows], prepared.errors[rows]
        thresholds = np.where(prepared.is_usable[rows], scores, 0.0) / self.unit
        radius = 1.01 * (errors * norm + (sizes + errors) * error)
        radius += 8.0 * (d + 4) * V * (sizes + errors) * (norm + error) + 8.0 * V * np.abs(thresholds)
        radius[~prepared.is_usable[rows]] = np.inf
        scale = prepared.step[rows] * step
        limit = 2.0**31 - 1.0
        low = np.ceil(np.maximum((thresholds - radius) / scale, -limit))
        high = np.floor(np.minimum((thresholds + radius) / scale, limit))
        return np.minimum(low, limit).astype(np.int32), np.maximum(high, -limit).astype(np.int32)


@dataclass
class ByteL1Pass:
    """L1 distances of 8-bit vectors, for the geometry ``l1``.

    Parameters
    ----------
    candidates : float array, shape (candidates, d)
        Finite, in the order of the columns of the tiles; sorted by `Grid.errors` the bounds are tightest.
    grid : Grid
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
        """Round `queries`, float64, shape (queries, d)."""
        is_usable = is_in_range(self.grid.unit) & (np.abs(queries).max(axis=1) < MAX_RATIO * self.grid.unit)
        q = np.where(is_usable[:, None], queries, 0.0)
        sizes = self.grid.sizes(q)
        moved, beyond = self.grid.move(q)
        rounded, _, errors = self.grid.round(moved)
        return PreparedBytes(rounded, beyond, sizes, errors, is_usable, Room(self._dtype()))

    def tile(self, prepared: PreparedBytes, rows: Ids | None, block: slice) -> Integers:
        """Return a constant less the integer distances of queries `rows`, or of all, to the candidates of `block`.

        The constant leaves every number between 1 and `_top` + 1, so that 0 is below and `_top` + 2 above all.
        """
        q = prepared.vectors.T if rows is None else prepared.vectors[rows].T
        columns = self.columns[:, block]
        out = prepared.room(q.shape[1], columns.shape[1])
        out[...] = self._top() + 1
        d = len(columns)
        one, other = np.empty((2, *out.shape), dtype=np.int8)
        for k in range(0, d, 2):
            np.subtract(q[k, :, None], columns[k], out=one)
            np.abs(one, out=one)
            if k + 1 < d:
                np.subtract(q[k + 1, :, None], columns[k + 1], out=other)
                np.abs(other, out=other)
                np.add(one.view(np.uint8), other.view(np.uint8), out=one.view(np.uint8))
            np.subtract(out, one.view(np.uint8), out=out)
        return out

    def _top(self) -> int:
        """Return a number that no integer distance exceeds."""
        return 2 * MAX_MULTIPLE * len(self.columns)

    def _dtype(self) -> type[np.unsignedinteger[Any]]:
        return np.uint16 if self._top() + 2 < 1 << 16 else np.uint32

    def interval(self, prepared: PreparedBytes, rows: Ids, scores: Reals, block: slice) -> tuple[Integers, Integers]:
        """Return, for positives of queries `rows`, the tile's numbers between which a candidate is undecided."""
        d = len(self.columns)
        is_usable = prepared.is_usable[rows]
        distances = np.where(is_usable, -scores, 0.0) / self.grid.unit - prepared.step[rows]
        sizes = prepared.sizes[rows] + self.sizes[block].max(initial=0.0)
        radius = 1.01 * (prepared.errors[rows] + self.errors[block].max(initial=0.0)) + 8.0 * (d + 8) * V * sizes
        radius[~is_usable] = np.inf
        top = self._top() + 1.0
        low = np.ceil(np.clip(top - (distances + radius) / self.grid.step, 0.0, top + 1.0))
        high = np.floor(np.clip(top - (distances - radius) / self.grid.step, 0.0, top + 1.0))
        return low.astype(self._dtype()), high.astype(self._dtype())


@dataclass(frozen=True)
class Grid:
    """The multiples of `step` around `centre` to which an l1 pass rounds; all in units of `unit`.

    Parameters
    ----------
    unit : float
        A power of two that no candidate's number exceeds.
    centre : float64 array, shape (d,)
    step : float
        `MAX_MULTIPLE` of these is as far as the grid goes; what lies beyond is rounded to that.
    """

    unit: float
    centre: Reals
    step: float

    @classmethod
    def of(cls, candidates: Vectors) -> Grid:
        """Choose the step that rounds and clips an even sample of `candidates` with the least error."""
        unit = power_above(largest_number(candidates))
        sample = candidates[:: max(1, len(candidates) // _SAMPLE)].astype(np.float64) / unit
        centre = np.median(sample, axis=0)
        spread = float(np.abs(sample - centre).max())
        widest = (spread if is_in_range(spread) else 1.0) / MAX_MULTIPLE
        grids = [cls(unit, centre, widest * 2.0 ** (-j / 4)) for j in range(12)]
        return min(grids, key=lambda grid: float(grid.round(sample * unit)[2].sum()))

    def move(self, vectors: Reals) -> tuple[Reals, Reals]:
        """Return `vectors` with each number moved into the grid's range, and the sum of the ways of each row."""
        reach = self.unit * self.step * MAX_MULTIPLE
        moved = np.clip(vectors, self.unit * self.centre - reach, self.unit * self.centre + reach)
        return moved, np.abs(vectors - moved).sum(axis=1) / self.unit

    def sizes(self, vectors: Reals) -> Reals:
        """Return the l1 size of each row and of the centre, twice."""
        return np.asarray(np.abs(vectors).sum(axis=1) / self.unit + 2.0 * np.abs(self.centre).sum())

    def round(self, vectors: Reals) -> tuple[Bytes, Reals, Reals]:
        """Return int8 multiples, shape (n, d), and for each row `sizes` and the rounding error."""
        sizes = self.sizes(vectors)
        scaled = vectors / self.unit - self.centre
        rounded = np.clip(np.rint(scaled / self.step), -MAX_MULTIPLE, MAX_MULTIPLE)
        return rounded.astype(np.int8), sizes, np.abs(scaled - self.step * rounded).sum(axis=1)

    def errors(self, vectors: Vectors) -> Reals:
        """Return the rounding error of each row, l1 norms."""
        return np.concatenate([self.round(vectors[part].astype(np.float64))[2] for part in row_parts(vectors)])
