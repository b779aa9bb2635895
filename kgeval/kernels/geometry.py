"""How query and candidate vectors meet, and the float64 score that defines every rank.

The score of a pair is what `exact_scores` gives: float64 throughout, summed along contiguous rows,
so that it depends on the two vectors alone and never on the batch or block they came in.

The screens give float32 scores that are far cheaper, with a bound on their distance from the exact
ones. With u = 2**-24 the unit roundoff of float32, v = 2**-53 that of float64, d the dimension and
gamma(n) = n u / (1 - n u) (Higham 2002, Accuracy and Stability of Numerical Algorithms, 3.1-3.5):

- dot: whatever the order of summation, |fl(q.e) - q.e| <= gamma(d) |q| |e|; rounding both vectors to
  float32 adds (2 u + u^2) |q| |e|. Both are below 1.01 (d + 3) u |q| |e| while d u < 0.01. The exact
  scores of candidate and positive are each within (d + 1) v |q| |e| of the real ones.
- l2: minus the distance orders candidates as 2 q.e - |e|^2, which is the dot product of (q, -1) and
  (2 e, |e|^2), so the dot screen serves; squaring, subtracting and the root of the float64
  evaluation stay within 16 (d + 8) v (|q| + |e|)^2 of it.
- l1 and modulus (sum of complex moduli): terms are not negative, so the accumulated sum A of the
  rounded vectors' distance D' has A in D' (1 +- c2) with c2 = 1.01 (d + 6) u, and D' is within
  c1 = (1.01 u + 4 (d + 6) v) (|q|_1 + |e|_1) of the real distance D. Hence a candidate is nearer for
  certain if A < (D_pos - c1) (1 - c2) and farther for certain if A > (D_pos + c1) (1 + c2).

Underflow adds at most d 2**-124 to a dot product or an l1 distance of vectors scaled to at most 1, and
d 2**-61 to a sum of moduli (whose squares underflow sooner), also where subnormals are flushed to zero.
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

from kgeval.checks import Ids

Reals = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.floating[Any]]

GEOMETRIES = ("dot", "l1", "l2", "modulus")
MAX_DIMENSION = 100_000
_U = 2.0**-24
_V = 2.0**-53
_CHUNK_BYTES = 1 << 23
_LARGEST = 1e100
_LARGEST_RATIO = 1e15


def exact_scores(geometry: str, queries: Vectors, candidates: Vectors) -> Reals:
    """Return the float64 score of each pair of rows.

    Parameters
    ----------
    geometry : str
        ``"dot"``; ``"l1"`` or ``"l2"``: minus the distance; ``"modulus"``: minus the sum of the
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
    q = np.ascontiguousarray(queries, dtype=np.float64)
    e = np.ascontiguousarray(candidates, dtype=np.float64)
    if geometry == "dot":
        return np.asarray((q * e).sum(axis=1))
    difference = q - e
    if geometry == "l1":
        return np.asarray(-np.abs(difference).sum(axis=1))
    if geometry == "l2":
        return np.asarray(-np.sqrt((difference * difference).sum(axis=1)))
    half = difference.shape[1] // 2
    real, imaginary = difference[:, :half], difference[:, half:]
    return np.asarray(-np.sqrt(real * real + imaginary * imaginary).sum(axis=1))


def exact_pair_scores(geometry: str, queries: Vectors, candidates: Vectors, rows: Ids, columns: Ids) -> Reals:
    """Return the scores of the pairs (``queries[rows]``, ``candidates[columns]``), a few at a time."""
    scores = np.empty(len(rows))
    step = max(1, _CHUNK_BYTES // (8 * max(1, queries.shape[1])))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        scores[part] = exact_scores(geometry, queries[rows[part]], candidates[columns[part]])
    return scores


@dataclass
class Screened:
    """Queries made ready for screening.

    Parameters
    ----------
    vectors : float32 array, shape (queries, d)
    thresholds : float64 array, shape (positives,)
        The positives' exact scores or distances, on the screen's scale.
    slack : float64 array, shape (queries,)
        What a query adds to its bounds.
    is_usable : bool array, shape (queries,)
        False where screening would under- or overflow; everything is undecided there.
    """

    vectors: npt.NDArray[np.float32]
    thresholds: Reals
    slack: Reals
    is_usable: npt.NDArray[np.bool_]


@dataclass
class DotScreen:
    """Float32 dot products of all candidates, for the geometries ``dot`` and ``l2``.

    Parameters
    ----------
    geometry : str
    candidates : float array, shape (candidates, d)
        Finite.
    """

    geometry: str
    candidates: Vectors
    unit: float = field(init=False)
    vectors: npt.NDArray[np.float32] = field(init=False)
    norms: Reals = field(init=False)

    def __post_init__(self) -> None:
        n, d = self.candidates.shape
        self.unit = _unit(self.candidates)
        self.vectors = np.empty((n, d + (self.geometry == "l2")), dtype=np.float32)
        self.norms = np.empty(n)
        for part in _parts(self.candidates):
            scaled = self.candidates[part].astype(np.float64) / self.unit
            if self.geometry == "l2":
                scaled = np.column_stack([2.0 * scaled, (scaled * scaled).sum(axis=1)])
            self.vectors[part] = scaled
            self.norms[part] = np.sqrt((scaled * scaled).sum(axis=1))

    def prepare(self, queries: Reals, rows: Ids, positives: Reals) -> Screened:
        """Scale `queries` and turn the exact scores `positives` (of queries `rows`) into thresholds."""
        largest = np.abs(queries).max(axis=1)
        is_l2 = self.geometry == "l2"
        is_usable = _is_in_range(self.unit) & (largest < _LARGEST_RATIO * self.unit if is_l2 else _is_in_range(largest))
        unit = self.unit if is_l2 else 1.0
        q = np.where(is_usable[:, None], queries, unit) / unit
        scaled = np.where(is_usable[rows], positives, 0.0) / self.unit
        if is_l2:
            lengths = np.sqrt((q * q).sum(axis=1))
            thresholds = (lengths * lengths)[rows] - scaled * scaled
            slack = 16.0 * (q.shape[1] + 8) * _V * (lengths + self.norms.max(initial=0.0) + 1.0) ** 2
            q = np.column_stack([q, np.full(len(q), -1.0)])
        else:
            thresholds, slack = scaled, np.zeros(len(q))
        norms = np.sqrt((q * q).sum(axis=1))
        vectors = (q / norms[:, None]).astype(np.float32)
        return Screened(vectors, thresholds / norms[rows], slack / norms, is_usable)

    def tile(self, screened: Screened, block: slice, out: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the screening scores of all queries with the candidates of `block`."""
        return np.matmul(screened.vectors, self.vectors[block].T, out=out)

    def interval(self, screened: Screened, rows: Ids, block: slice) -> tuple[Reals, Reals]:
        """Return, per positive, the scores between which a candidate of `block` is undecided."""
        d = self.vectors.shape[1]
        bound = (1.02 * (d + 3) * _U + 4.0 * (d + 4) * _V) * self.norms[block].max(initial=0.0)
        radius = 1.01 * (bound + screened.slack[rows] + d * 2.0**-124 + 8.0 * _V * np.abs(screened.thresholds))
        return screened.thresholds - radius, screened.thresholds + radius


@dataclass
class DistanceScreen:
    """Float32 distances to all candidates, summed one dimension after another (``l1``, ``modulus``)."""

    geometry: str
    candidates: Vectors
    unit: float = field(init=False)
    columns: npt.NDArray[np.float32] = field(init=False)
    norms: Reals = field(init=False)

    def __post_init__(self) -> None:
        n, d = self.candidates.shape
        self.unit = _unit(self.candidates)
        self.columns = np.empty((d, n), dtype=np.float32)
        self.norms = np.empty(n)
        for part in _parts(self.candidates):
            scaled = self.candidates[part].astype(np.float64) / self.unit
            self.columns[:, part] = scaled.T
            self.norms[part] = np.abs(scaled).sum(axis=1)

    def prepare(self, queries: Reals, rows: Ids, positives: Reals) -> Screened:
        """Scale `queries` and turn the exact scores `positives` (of queries `rows`) into distances."""
        sizes = np.abs(queries).sum(axis=1)
        is_usable = _is_in_range(self.unit) & (sizes < _LARGEST_RATIO * self.unit)
        vectors = (np.where(is_usable[:, None], queries, 0.0) / self.unit).astype(np.float32)
        distances = np.where(is_usable[rows], -positives, 0.0) / self.unit
        return Screened(vectors, distances, np.where(is_usable, sizes, 0.0) / self.unit, is_usable)

    def tile(self, screened: Screened, block: slice, out: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return minus the screening distances of all queries to the candidates of `block`."""
        out[...] = 0.0
        step = np.empty_like(out)
        d = len(self.columns)
        if self.geometry == "l1":
            for k in range(d):
                np.subtract(screened.vectors[:, k, None], self.columns[k, block], out=step)
                np.abs(step, out=step)
                out -= step
            return out
        other = np.empty_like(out)
        for k in range(d // 2):
            np.subtract(screened.vectors[:, k, None], self.columns[k, block], out=step)
            np.subtract(screened.vectors[:, d // 2 + k, None], self.columns[d // 2 + k, block], out=other)
            step *= step
            other *= other
            step += other
            np.sqrt(step, out=step)
            out -= step
        return out

    def interval(self, screened: Screened, rows: Ids, block: slice) -> tuple[Reals, Reals]:
        """Return, per positive, the scores between which a candidate of `block` is undecided."""
        d = len(self.columns)
        sizes = screened.slack[rows] + self.norms[block].max(initial=0.0)
        tiny = d * (2.0**-124 if self.geometry == "l1" else 2.0**-61)
        c1 = 1.01 * ((1.01 * _U + 4.0 * (d + 6) * _V) * sizes + tiny)
        c2 = 1.02 * (d + 6) * _U
        nearer = (screened.thresholds - c1) * np.where(screened.thresholds > c1, 1.0 - c2, 1.0 + c2)
        farther = (screened.thresholds + c1) * (1.0 + c2)
        return -farther, -nearer


Screen = DotScreen | DistanceScreen


def make_screen(geometry: str, candidates: Vectors) -> Screen:
    """Return the screen that serves `geometry`."""
    return (DotScreen if geometry in ("dot", "l2") else DistanceScreen)(geometry, candidates)


def _is_in_range(size: Any) -> Any:
    """Tell where sizes are so far from float64's limits that no product under- or overflows."""
    return (size > 1.0 / _LARGEST) & (size < _LARGEST)


def _unit(vectors: Vectors) -> float:
    """Return the least power of two that no number exceeds, so that dividing by it is exact."""
    largest = max((float(np.abs(vectors[part]).max()) for part in _parts(vectors)), default=0.0)
    return float(2.0 ** np.ceil(np.log2(largest))) if largest > 0 else 1.0


def _parts(vectors: Vectors) -> list[slice]:
    """Return slices of rows that are small enough to copy."""
    step = max(1, _CHUNK_BYTES // (8 * max(1, vectors.shape[1])))
    return [slice(start, start + step) for start in range(0, len(vectors), step)]
