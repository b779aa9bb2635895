"""Screening in float32: scores far cheaper than the exact ones, with a bound on their distance from them.

With u = 2**-24 the unit roundoff of float32, v = 2**-53 that of float64, d the dimension and
gamma(n) = n u / (1 - n u) (Higham 2002, Accuracy and Stability of Numerical Algorithms, 3.1-3.5):

- dot: whatever the order of summation, |fl(q.e) - q.e| <= gamma(d) |q| |e|; rounding both vectors to
  float32 adds (2 u + u^2) |q| |e|. Both are below 1.01 (d + 3) u |q| |e| while d u < 0.01. The exact
  scores of candidate and positive are each within (d + 1) v |q| |e| of the real ones.
- l2: minus the distance orders candidates as 2 q.e - |e|^2, which is the dot product of (q, -1) and
  (2 e, |e|^2), so the dot pass serves; squaring, subtracting and the root of the float64
  evaluation stay within 16 (d + 8) v (|q| + |e|)^2 of it.
- l1 and modulus (sum of complex moduli): terms are not negative, so the accumulated sum A of the
  rounded vectors' distance D' has A in D' (1 +- c2) with c2 = 1.01 (d + 6) u, and D' is within
  c1 = (1.01 u + 4 (d + 6) v) (|q|_1 + |e|_1) of the real distance D. Hence a candidate is nearer for
  certain if A < (D_pos - c1) (1 - c2) and farther for certain if A > (D_pos + c1) (1 + c2).

Underflow adds at most d 2**-124 to a dot product or an l1 distance, and d 2**-61 to a sum of moduli (whose squares
underflow sooner), also where subnormals are flushed to zero. Queries of dot products are scaled to length 1 and
candidates, by a power of two, to at most 1 if they exceed 2**60 or none reaches 2**-61; for distances both are scaled
by the power of two that no candidate exceeds. Hence nothing overflows.
All bounds are taken 1% larger than derived.

Where the vectors' sizes lie beyond 1e-100..1e100, so that float64 itself under- or overflows, or a query is
1e15 times larger than the candidates, so that squares overflow float32, nothing is screened: every candidate
counts as undecided and is scored exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, Reals
from kgeval.kernels.geometry import (
    MAX_RATIO,
    Room,
    U,
    V,
    Vectors,
    is_in_range,
    largest_number,
    pair_parts,
    power_above,
    row_parts,
)

Floats = npt.NDArray[np.float32]


@dataclass
class Prepared:
    """Queries made ready for a float pass.

    Parameters
    ----------
    vectors : float32 or float64 array, shape (queries, d)
    scale : float64 array, shape (queries,)
        What an exact score is divided by to be on the pass's scale.
    sizes : float64 array, shape (queries,)
        Norms of the queries, where the bounds need them.
    is_usable : bool array, shape (queries,)
        False where screening would under- or overflow; everything is undecided there.
    room : Room
    """

    vectors: Vectors
    scale: Reals
    sizes: Reals
    is_usable: npt.NDArray[np.bool_]
    room: Room = field(default_factory=lambda: Room(np.float32))


@dataclass
class DotPass:
    """Float32 dot products, for the geometries ``dot`` and ``l2``.

    Parameters
    ----------
    geometry : str
    candidates : float array, shape (candidates, d)
        Finite, in the order of the columns of the tiles.
    """

    geometry: str
    candidates: Vectors
    unit: float = field(init=False)
    vectors: Floats = field(init=False)
    norms: Reals = field(init=False)

    def __post_init__(self) -> None:
        n, d = self.candidates.shape
        is_l2 = self.geometry == "l2"
        self.unit = power_above(largest_number(self.candidates))
        if not is_l2 and 2.0**-60 <= self.unit <= 2.0**60:
            self.unit = 1.0
        self.norms = np.empty(n)
        if self.unit == 1.0 and not is_l2 and self.candidates.dtype == np.float32:
            self.vectors = np.ascontiguousarray(self.candidates)
        else:
            self.vectors = np.empty((n, d + is_l2), dtype=np.float32)
        for part in row_parts(self.candidates):
            scaled = self.candidates[part].astype(np.float64)
            scaled /= self.unit
            squares = np.einsum("ij,ij->i", scaled, scaled)
            if is_l2:
                scaled = np.column_stack([2.0 * scaled, squares])
                squares = 4.0 * squares + squares * squares
            if self.vectors is not self.candidates:
                self.vectors[part] = scaled
            self.norms[part] = np.sqrt(squares)

    def prepare(self, queries: Reals) -> Prepared:
        """Scale `queries`, float64, shape (queries, d)."""
        doubles, norms, sizes, is_usable = self.scaled(queries)
        return Prepared(doubles.astype(np.float32), norms, sizes, is_usable)

    def scaled(self, queries: Reals) -> tuple[Reals, Reals, Reals, npt.NDArray[np.bool_]]:
        """Return what `Prepared` holds, with the vectors still in float64."""
        largest = np.abs(queries).max(axis=1)
        is_l2 = self.geometry == "l2"
        is_usable = is_in_range(self.unit) & (largest < MAX_RATIO * self.unit if is_l2 else is_in_range(largest))
        unit = self.unit if is_l2 else 1.0
        q = np.where(is_usable[:, None], queries, unit)
        q /= unit
        squares = np.einsum("ij,ij->i", q, q)
        if is_l2:
            q = np.column_stack([q, np.full(len(q), -1.0)])
        norms = np.sqrt(squares + 1.0 if is_l2 else squares)
        q /= norms[:, None]
        return q, norms, np.sqrt(squares), is_usable

    def tile(self, prepared: Prepared, rows: Ids | None, block: slice) -> Floats:
        """Return the screening scores of queries `rows`, or of all, with the candidates of `block`."""
        q, e = prepared.vectors if rows is None else prepared.vectors[rows], self.vectors[block]
        return np.matmul(q, e.T, out=prepared.room(len(q), len(e)))

    def pairs(self, prepared: Prepared, rows: Ids, columns: Ids) -> Floats:
        """Return the screening scores of pairs of a query and a candidate, shape (pairs,)."""
        scores = np.empty(len(rows), dtype=np.float32)
        for part in pair_parts(len(rows), self.vectors.shape[1]):
            np.einsum("ij,ij->i", prepared.vectors[rows[part]], self.vectors[columns[part]], out=scores[part])
        return scores

    def interval(self, prepared: Prepared, rows: Ids, scores: Reals, block: slice | Ids) -> tuple[Floats, Floats]:
        """Return the screening scores between which the candidates of `block` are undecided; see `Pass`."""
        thresholds, radius = self.around(prepared, rows, scores, _largest(self.norms, block), U)
        return _outward(thresholds - radius, thresholds + radius, prepared.is_usable[rows])

    def around(
        self, prepared: Prepared, rows: Ids, scores: Reals, largest: Any, unit_roundoff: float
    ) -> tuple[Reals, Reals]:
        """Return the positives' scores on the screen's scale, and how far a candidate must be from them."""
        d = self.vectors.shape[1]
        norms = prepared.scale[rows]
        thresholds = np.where(prepared.is_usable[rows], scores, 0.0) / self.unit
        slack = np.zeros(len(rows))
        if self.geometry == "l2":
            sizes = prepared.sizes[rows]
            slack = 16.0 * (d + 8) * V * (sizes + self.norms.max(initial=0.0) + 1.0) ** 2 / norms
            thresholds = sizes * sizes - thresholds * thresholds
        thresholds = thresholds / norms
        bound = (1.02 * (d + 3) * unit_roundoff + 4.0 * (d + 4) * V) * largest
        return thresholds, 1.01 * (bound + slack + d * 2.0**-124 + 8.0 * V * np.abs(thresholds))


@dataclass
class DoubleDotPass:
    """Float64 dot products, by the same bounds with v in place of u, for rows that float32 leaves undecided.

    Parameters
    ----------
    single : DotPass
        Of the same geometry and candidates, which are turned into float64 tile by tile.
    """

    single: DotPass

    def prepare(self, queries: Reals) -> Prepared:
        """Scale `queries`, float64, shape (queries, d)."""
        return Prepared(*self.single.scaled(queries))

    def tile(self, prepared: Prepared, rows: Ids | None, block: slice) -> Reals:
        """Return the screening scores of queries `rows`, or of all, with the candidates of `block`."""
        q = prepared.vectors if rows is None else prepared.vectors[rows]
        e = self.single.candidates[block].astype(np.float64)
        e /= self.single.unit
        if self.single.geometry == "l2":
            e = np.column_stack([2.0 * e, (e * e).sum(axis=1)])
        return np.asarray(q @ e.T)

    def interval(self, prepared: Prepared, rows: Ids, scores: Reals, block: slice) -> tuple[Reals, Reals]:
        """Return the screening scores between which the candidates of `block` are undecided; see `Pass`."""
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
    candidates : float array, shape (candidates, d)
        Finite, in the order of the columns of the tiles.
    """

    geometry: str
    candidates: Vectors
    unit: float = field(init=False)
    columns: Floats = field(init=False)
    norms: Reals = field(init=False)

    def __post_init__(self) -> None:
        n, d = self.candidates.shape
        self.unit = power_above(largest_number(self.candidates))
        self.columns = np.empty((d, n), dtype=np.float32)
        self.norms = np.empty(n)
        for part in row_parts(self.candidates):
            scaled = self.candidates[part].astype(np.float64) / self.unit
            self.columns[:, part] = scaled.T
            self.norms[part] = np.abs(scaled).sum(axis=1)

    def prepare(self, queries: Reals) -> Prepared:
        """Scale `queries`, float64, shape (queries, d)."""
        sizes = np.abs(queries).sum(axis=1)
        is_usable = is_in_range(self.unit) & (sizes < MAX_RATIO * self.unit)
        vectors = (np.where(is_usable[:, None], queries, 0.0) / self.unit).astype(np.float32)
        return Prepared(vectors, np.ones(len(queries)), np.where(is_usable, sizes, 0.0) / self.unit, is_usable)

    def tile(self, prepared: Prepared, rows: Ids | None, block: slice) -> Floats:
        """Return minus the screening distances of queries `rows`, or of all, to the candidates of `block`."""
        q = prepared.vectors.T if rows is None else prepared.vectors[rows].T
        columns = self.columns[:, block]
        out = prepared.room(q.shape[1], columns.shape[1])
        out[...] = 0.0
        step = np.empty_like(out)
        d = len(self.columns)
        if self.geometry == "l1":
            for k in range(d):
                np.subtract(q[k, :, None], columns[k], out=step)
                np.abs(step, out=step)
                out -= step
            return out
        other = np.empty_like(out)
        half = d // 2
        for k in range(half):
            np.subtract(q[k, :, None], columns[k], out=step)
            np.subtract(q[half + k, :, None], columns[half + k], out=other)
            step *= step
            other *= other
            step += other
            np.sqrt(step, out=step)
            out -= step
        return out

    def pairs(self, prepared: Prepared, rows: Ids, columns: Ids) -> Floats:
        """Return minus the screening distances of pairs of a query and a candidate, shape (pairs,)."""
        scores = np.empty(len(rows), dtype=np.float32)
        half = len(self.columns) // 2
        for part in pair_parts(len(rows), len(self.columns)):
            step = prepared.vectors[rows[part]]
            step -= (self.candidates[columns[part]].astype(np.float64) / self.unit).astype(np.float32)
            if self.geometry == "modulus":
                step *= step
                step = np.sqrt(step[:, :half] + step[:, half:])
            scores[part] = -np.abs(step).sum(axis=1)
        return scores

    def interval(self, prepared: Prepared, rows: Ids, scores: Reals, block: slice | Ids) -> tuple[Floats, Floats]:
        """Return the screening scores between which the candidates of `block` are undecided; see `Pass`."""
        d = len(self.columns)
        is_usable = prepared.is_usable[rows]
        distances = np.where(is_usable, -scores, 0.0) / self.unit
        sizes = prepared.sizes[rows] + _largest(self.norms, block)
        tiny = d * (2.0**-124 if self.geometry == "l1" else 2.0**-61)
        c1 = 1.01 * ((1.01 * U + 4.0 * (d + 6) * V) * sizes + tiny)
        c2 = 1.02 * (d + 6) * U
        nearer = (distances - c1) * np.where(distances > c1, 1.0 - c2, 1.0 + c2)
        farther = (distances + c1) * (1.0 + c2)
        return _outward(-farther, -nearer, is_usable)


def _largest(norms: Reals, block: slice | Ids) -> Any:
    """Return the largest norm in a tile, or the norm of each candidate."""
    return norms[block].max() if isinstance(block, slice) else norms[block]


def _outward(low: Reals, high: Reals, is_usable: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Round an interval outward to float32; it is the whole line where screening is not usable."""
    low32 = np.where(is_usable, low, -np.inf).astype(np.float32)
    high32 = np.where(is_usable, high, np.inf).astype(np.float32)
    return np.nextafter(low32, np.float32(-np.inf)), np.nextafter(high32, np.float32(np.inf))
