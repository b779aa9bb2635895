"""The screening passes that use 8-bit or 16-bit integers, for ``dot``, and the proof of their error bound.

A screening pass computes approximate scores of candidates, called screening scores. A candidate is open if its
screening score differs from the positive's score by at most the error bound. Undecided candidates are scored again,
more precisely. `ByteDotPass` rounds vectors to 8-bit integers, which torch multiplies, and `ShortDotPass` to 16-bit
integers, which a loop compiled by numba multiplies. Sums of integers are exact, so the only error of a screening score
comes from rounding the two vectors. `passes.make_passes` builds a pass, and `NumpyCounter` uses it.

Notation: q is a query, e a candidate, both real vectors; q' and e' are the rounded vectors; d is the dimension;
v = 2**-53 is the unit roundoff of float64; x.y is the dot product of two vectors; |x| is the Euclidean norm; p
is the exact score of the positive, a given float64 number. The exact score of a candidate is computed in float64. A
bound has to cover the difference between the exact score and the screening score of a candidate.

1. Rounding: q' = sq * a and e' = se * b, where a and b hold integers in -L..L, sq is the step of the query, and se is
   the step of all candidates of the tile. The screening score is the integer a.b, and q'.e' = sq * se * a.b. The
   integer is exact in 32 bits, since d * L^2 < 2^31: L is 127 for 8 bits, where this holds for every d up to 100 000,
   the largest dimension allowed; for 16 bits, L is the largest integer of which it holds, at most 2^15 - 1.
2. Error of rounding: q.e - q'.e' = (q - q').e + q'.(e - e'). By the Cauchy-Schwarz inequality
   |q.e - q'.e'| <= |q - q'| * |e| + |q'| * |e - e'|, and |q'| <= |q| + |q - q'|.
   The norms |q - q'| and |e - e'| are measured after rounding, not estimated for the worst case. For |e| and |e - e'|,
   the bound uses the largest value of the tile. Candidates are divided by se in float32, with a relative error below
   2.01 * u (u = 2**-24), and then rounded to integers. So a component of e / se differs from the number that is rounded
   by at most L * 2.01 * u < 1.26e-7 * L, and |e - e'| is at most the measured norm plus 1.26e-7 * L * sqrt(d) * se.
3. Error of float64: the exact score is within (d + 1) * v * |q| * |e| of q.e. Computing the norms and the bound adds
   less than 4 * (d + 4) * v * (|q| + |q - q'|) * (|e| + |e - e'|).
4. The interval: a candidate is open if sq * se * a.b differs from p by at most the sum of three numbers: the bound
   of step 2, made 1% larger; 8 * (d + 4) * v * (|q| + |q - q'|) * (|e| + |e - e'|) for step 3; and 8 * v * |p| for the
   roundings of the interval's ends.

**Ranges.** In this section, the size of a vector, or of all candidates together, means the largest absolute value of a
component. All candidates of a query are open in each of these cases:

- The size of the candidates is not 0, and is outside about 1e-100..1e100.
- The size of the query is outside 1e-100..1e100.

Candidates are divided by a power of two, the unit of `DotPass`. If all components of a tile are below 1e-100 units,
their squares underflow. The bound then uses sqrt(d) * 1e-100 units, which the norms and the rounding errors of these
candidates cannot exceed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, Reals
from kgeval.kernels.compiled import load_short_product
from kgeval.kernels.float_passes import DotPass
from kgeval.kernels.geometry import MAX_MAGNITUDE, TileBuffer, V, is_in_range
from kgeval.kernels.mapped_tables import is_kept
from kgeval.kernels.panels import PANEL, PART, packed

Integers = npt.NDArray[np.integer[Any]]


@dataclass
class PreparedBytes:
    """Queries that are prepared for `ByteDotPass`.

    Parameters
    ----------
    vectors : int8 or int16 array, shape (queries, d)
        The rounded queries (the integers a in the proof, see the module docstring).
    step : float64 array, shape (queries,)
        The rounding step of each query.
    sizes, errors : float64 arrays, shape (queries,)
        `sizes`: the Euclidean norm of each query. `errors`: the norm of each query's rounding error.
    is_usable : bool array, shape (queries,)
        False for a query in one of the cases under **Ranges** in the module docstring: all its candidates are
        open.
    buffer : TileBuffer
        The buffer for the tiles.
    """

    vectors: Integers
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
    single : DotPass
        The float32 pass of ``dot``, which holds the candidates, in the order of the columns of the tiles. The error
        bounds are tightest if the candidates are sorted by their largest absolute component.
    block_size : int
        The number of candidates in a tile; the candidates of a tile share a rounding step.

    Attributes
    ----------
    vectors : int8 array, shape (candidates, d), or panels of int16 (`packed`), or None
        The rounded candidates (the integers b in the proof, see the module docstring). None if they are too large to be
        kept; the candidates of a tile are then rounded each time the tile is screened.
    bounds : dict of int to tuple of float
        For each tile (the key is the index of its first candidate): the rounding step, the largest norm of a
        candidate, and the largest norm of a rounding error, in multiples of the unit of `single`. If `vectors` is None,
        the bounds of a tile are added when the tile is screened for the first time.
    """

    single: DotPass
    block_size: int
    vectors: Integers | None = field(init=False)
    bounds: dict[int, tuple[float, float, float]] = field(init=False)
    dtype: ClassVar[type] = np.int8  # of rounded vectors

    def __post_init__(self) -> None:
        n, d = self.single.candidates.shape
        self.bounds, self.vectors = {}, None
        if is_kept(n * d):
            for start in reversed(range(0, n, self.block_size)):  # the last tile says how many rows there are
                block = slice(start, min(start + self.block_size, n))
                rows, stored = self._rows_of(block), self._stored(self._rounded(block))
                if self.vectors is None:
                    self.vectors = np.empty((rows.stop, *stored.shape[1:]), dtype=stored.dtype)
                self.vectors[rows] = stored

    @property
    def largest(self) -> float:
        """The largest rounded number."""
        return 127.0

    def _rows_of(self, block: slice) -> slice:
        """Return the rows of `vectors` that hold a tile."""
        return block

    def _stored(self, rounded: Integers) -> Integers:
        """Return rounded candidates as `_multiply` takes them."""
        return rounded

    def _rounded(self, block: slice) -> Integers:
        """Return the rounded candidates of a tile, and store the bounds of the tile in `bounds`."""
        candidates, unit = self.single.candidates[block], self.single.unit
        if block.start in self.bounds:
            step = self.bounds[block.start][0]
        else:
            largest = float(np.abs(candidates).max()) / unit
            step = (largest if is_in_range(largest) else 1.0) / self.largest
        is_usual = candidates.dtype == np.float32 and 2.0**-60 <= unit * step <= 2.0**60
        scaled = np.empty(candidates.shape, dtype=np.float32)
        dtype = np.float32 if is_usual else np.float64
        np.divide(candidates, unit * step, out=scaled, dtype=dtype, casting="same_kind")
        rounded = np.rint(scaled)
        if block.start not in self.bounds:
            scaled -= rounded  # now (e - e') / step
            d = self.single.candidates.shape[1]
            norm = float(self.single.norms[block].max())
            error = step * (
                1.01 * float(np.sqrt(np.einsum("ij,ij->i", scaled, scaled).max())) + 1.26e-7 * self.largest * np.sqrt(d)
            )
            if not is_in_range(largest):
                norm = error = float(np.sqrt(d)) / MAX_MAGNITUDE
            self.bounds[block.start] = step, norm, error
        return rounded.astype(self.dtype)

    def prepare(self, queries: Reals) -> PreparedBytes:
        """Round queries, float64, shape (queries, d), to multiples of a step; each query has its own step."""
        largest = np.abs(queries).max(axis=1)
        is_usable = is_in_range(largest) & is_in_range(self.single.unit)
        step = np.where(is_usable, largest, self.largest) / self.largest
        q = queries if is_usable.all() else np.where(is_usable[:, None], queries, 0.0)
        rounded = q / step[:, None]
        vectors: Integers = np.rint(rounded, out=rounded).astype(self.dtype)
        sizes = np.sqrt(np.einsum("ij,ij->i", q, q))
        rounded *= step[:, None]  # now q'
        rests = np.subtract(q, rounded, out=rounded)
        return PreparedBytes(vectors, step, sizes, np.sqrt(np.einsum("ij,ij->i", rests, rests)), is_usable)

    def tile(self, prepared: PreparedBytes, rows: Ids | None, block: slice) -> Integers:
        """Return the integer product of each query of `rows` (None: all queries) with each candidate of `block`."""
        q = prepared.vectors if rows is None else prepared.vectors[rows]
        if self.vectors is None:
            return self._multiply(q, self._stored(self._rounded(block)), prepared.buffer)
        return self._multiply(q, self.vectors[self._rows_of(block)], prepared.buffer)

    def _multiply(self, q: Integers, e: Integers, buffer: TileBuffer) -> Integers:
        """Return the products of rounded queries with stored candidates."""
        import torch

        product = buffer(len(q), len(e))
        torch._int_mm(torch.from_numpy(q), torch.from_numpy(e).T, out=torch.from_numpy(product))
        return product

    def interval(
        self, prepared: PreparedBytes, rows: Ids, scores: Reals, block: slice
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the ends (low, high) of each positive's interval of integer dot products.

        A candidate is open if its product is from `low` to `high`, both included. `rows` and `scores` hold the
        query and the exact score of each positive. The ends are rounded inward to integers; this removes no integer
        from the interval.
        """
        d = self.single.candidates.shape[1]
        step, norm, error = self.bounds[block.start]
        sizes, errors = prepared.sizes[rows], prepared.errors[rows]
        # (positives,): the exact scores of the positives, divided by the unit
        thresholds = np.where(prepared.is_usable[rows], scores, 0.0) / self.single.unit
        radius = 1.01 * (errors * norm + (sizes + errors) * error)  # step 2 of the proof, then steps 3 and 4
        radius += 8.0 * (d + 4) * V * (sizes + errors) * (norm + error) + 8.0 * V * np.abs(thresholds)
        radius[~prepared.is_usable[rows]] = np.inf
        scale = prepared.step[rows] * step  # sq * se in the proof: the score for an integer product of 1
        limit = 2.0**31 - 1.0  # no product reaches this limit
        low = np.ceil(np.maximum((thresholds - radius) / scale, -limit))
        high = np.floor(np.minimum((thresholds + radius) / scale, limit))
        return np.minimum(low, limit).astype(np.int32), np.maximum(high, -limit).astype(np.int32)


@dataclass
class ShortDotPass(ByteDotPass):
    """Dot products of 16-bit vectors by `kgeval.kernels.numba_shorts.short_tile`, with the parameters of `ByteDotPass`.

    The rounded numbers are so small that no sum reaches 2^31: of 256 dimensions, they have 12 bits and a sign.
    """

    dtype: ClassVar[type] = np.int16

    @property
    def largest(self) -> float:
        """The largest rounded number."""
        return float(min(2**15 - 1, math.isqrt((2**31 - 1) // self.single.candidates.shape[1])))

    def _rows_of(self, block: slice) -> slice:
        first = block.start // self.block_size * -(-self.block_size // PANEL)
        return slice(first, first - (block.start - block.stop) // PANEL)

    def _stored(self, rounded: Integers) -> Integers:
        return packed(rounded.astype(np.int16, copy=False))

    def prepare(self, queries: Reals) -> PreparedBytes:
        """Round queries as `ByteDotPass` does, and add zeros up to a multiple of four numbers."""
        prepared = super().prepare(queries)
        prepared.vectors = np.pad(prepared.vectors, ((0, 0), (0, -queries.shape[1] % PART)))
        return prepared

    def tile(self, prepared: PreparedBytes, rows: Ids | None, block: slice) -> Integers:
        """Return the products as `ByteDotPass` does, without those of the zeros that fill the last panel."""
        product, width = super().tile(prepared, rows, block), block.stop - block.start
        return product if product.shape[1] == width else np.ascontiguousarray(product[:, :width])

    def _multiply(self, q: Integers, e: Integers, buffer: TileBuffer) -> Integers:
        product = buffer(len(q), PANEL * len(e))
        load_short_product()(q, e, product)
        return product
