"""Which passes screen which geometry."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.checks import Ids, Reals, Scores
from kgeval.kernels.byte_passes import ByteDotPass, ByteL1Pass, Grid
from kgeval.kernels.float_passes import DistancePass, DotPass, DoubleDotPass
from kgeval.kernels.geometry import GEOMETRIES, Vectors, exact_pair_scores, exact_scores, pair_parts

MIN_BYTES = 8  # dimensions; torch 2.13 multiplies bytes of a single dimension wrongly, and few gain nothing


class Pass(typing.Protocol):
    """A way to score a tile of queries and candidates cheaply, within a proven bound."""

    def prepare(self, queries: Reals) -> Any:
        """Return the queries, float64, shape (queries, d), as `tile` wants them."""

    def tile(self, prepared: Any, rows: Ids | None, block: slice) -> Scores:
        """Return screening scores of queries `rows`, or of all, with the candidates of `block`; higher is better.

        The array is good until the next tile of the same `prepared`.
        """

    def interval(self, prepared: Any, rows: Ids, scores: Reals, block: slice) -> tuple[Scores, Scores]:
        """Return, for positives of queries `rows` with these exact scores, where a screening score decides nothing.

        A candidate of `block` whose screening score is above the second number is better for certain, below the
        first one worse.
        """


class PairPass(Pass, typing.Protocol):
    """A pass that also scores pairs of a query and a candidate."""

    def pairs(self, prepared: Any, rows: Ids, columns: Ids) -> Scores:
        """Return the screening scores of pairs of a query and a candidate, float32, shape (pairs,)."""


Passes = tuple[Ids, list[Pass], PairPass]


def make_passes(geometry: str, candidates: Vectors, block_size: int, with_bytes: bool = False) -> Passes:
    """Return the order in which the passes have the candidates, the passes, cheapest first, and the one for pairs.

    Parameters
    ----------
    geometry : str
    candidates : float array, shape (candidates, d)
    block_size : int
        Candidates of a tile.
    with_bytes : bool
        Whether dot products are screened by torch's products of bytes.
    """
    make = GEOMETRIES[geometry].passes or exact_passes
    order, passes, of_pairs = make(geometry, candidates, block_size, with_bytes)
    return order, passes, of_pairs


def product_passes(geometry: str, candidates: Vectors, block_size: int, with_bytes: bool = False) -> Passes:
    """Screen with float32 products, then with float64 products; for ``dot`` and ``l2``."""
    products = DotPass(geometry, candidates)
    return np.arange(len(candidates)), [products, DoubleDotPass(products)], products


def dot_passes(geometry: str, candidates: Vectors, block_size: int, with_bytes: bool = False) -> Passes:
    """Screen with products of bytes first, where torch has them."""
    if not with_bytes or candidates.shape[1] < MIN_BYTES:
        return product_passes(geometry, candidates, block_size)
    order = np.argsort(np.abs(candidates).max(axis=1), kind="stable")
    candidates = candidates[order]
    _, passes, of_pairs = product_passes(geometry, candidates, block_size)
    return order, [ByteDotPass(candidates, block_size), *passes], of_pairs


def l1_passes(geometry: str, candidates: Vectors, block_size: int, with_bytes: bool = False) -> Passes:
    """Screen with sums of bytes, then with float32 distances."""
    grid = Grid.of(candidates)
    order = np.argsort(grid.errors(candidates), kind="stable")
    candidates = candidates[order]
    _, passes, of_pairs = distance_passes(geometry, candidates, block_size)
    return order, [ByteL1Pass(candidates, grid), *passes], of_pairs


def distance_passes(geometry: str, candidates: Vectors, block_size: int, with_bytes: bool = False) -> Passes:
    """Screen with float32 distances; for ``l1`` and ``modulus``."""
    distances = DistancePass(geometry, candidates)
    return np.arange(len(candidates)), [distances], distances


def exact_passes(geometry: str, candidates: Vectors, block_size: int, with_bytes: bool = False) -> Passes:
    """Screen nothing: every pair is scored exactly; for geometries without passes of their own."""
    exact = ExactPass(geometry, candidates)
    return np.arange(len(candidates)), [exact], exact


@dataclass(frozen=True)
class ExactPass:
    """Exact scores in the place of screening scores: what rounding them to float32 leaves undecided is a tie or near.

    Parameters
    ----------
    geometry : str
    candidates : float array, shape (candidates, d)
    """

    geometry: str
    candidates: Vectors

    def prepare(self, queries: Reals) -> Reals:
        """Return the queries as they are."""
        return queries

    def tile(self, prepared: Reals, rows: Ids | None, block: slice) -> Reals:
        """Return the exact scores of queries `rows`, or of all, with the candidates of `block`."""
        queries, candidates = prepared if rows is None else prepared[rows], self.candidates[block]
        scores = np.empty((len(queries), len(candidates)))
        for part in pair_parts(len(candidates), candidates.shape[1]):
            for i, query in enumerate(queries):
                scores[i, part] = exact_scores(self.geometry, query, candidates[part])
        return scores

    def pairs(self, prepared: Reals, rows: Ids, columns: Ids) -> Scores:
        """Return the exact scores of pairs, rounded to float32."""
        return exact_pair_scores(self.geometry, prepared, self.candidates, rows, columns).astype(np.float32)

    def interval(self, prepared: Reals, rows: Ids, scores: Reals, block: slice) -> tuple[Scores, Scores]:
        """Return the float32 numbers around each positive's score, between which nothing is decided."""
        with np.errstate(over="ignore"):
            singles = scores.astype(np.float32)
        return np.nextafter(singles, np.float32(-np.inf)), np.nextafter(singles, np.float32(np.inf))
