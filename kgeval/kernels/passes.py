"""The interface of a screening pass, and the passes of each geometry.

A pass cheaply computes approximate scores (screening scores) for a tile (some queries x some candidates), with a proven
bound on their difference from the exact scores. `NumpyCounter` gets its passes from `make_passes`. The module
`geometries` assigns to each geometry the function of this module that builds its passes.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, Reals, Scores
from kgeval.kernels.arrays import largest_in_rows
from kgeval.kernels.byte_passes import ByteDotPass, ShortDotPass
from kgeval.kernels.float_passes import DistancePass, DotPass, DoubleDotPass
from kgeval.kernels.geometry import GEOMETRIES, Vectors, exact_pair_scores, exact_scores, pair_parts
from kgeval.kernels.mapped_tables import is_kept

MIN_BYTES = 8  # smallest dimension for 8-bit products: torch 2.13 is wrong for dimension 1; short vectors gain nothing


class Pass(typing.Protocol):
    """A cheap way to score tiles, with a proven bound on the error of the screening scores.

    Every pass holds the candidate vectors, converted to its number format, in the order of the tiles' columns.
    """

    def prepare(self, queries: Reals) -> Any:
        """Convert queries, float64, shape (queries, d), to the argument `prepared` of `tile` and `interval`."""

    def tile(self, prepared: Any, rows: Ids | None, block: slice) -> Scores:
        """Return the screening scores of a tile, shape (rows, candidates of the block); higher is better.

        Parameters
        ----------
        prepared : object
            The result of `prepare`.
        rows : int64 array, optional
            The queries of the tile; None means all queries.
        block : slice
            The candidates of the tile.

        Returns
        -------
        array
            Valid until the next call with the same `prepared`; that call may overwrite the array.
        """

    def interval(self, prepared: Any, rows: Ids, scores: Reals, block: slice) -> tuple[Scores, Scores]:
        """Return the ends (low, high) of each positive's interval of screening scores.

        Parameters
        ----------
        prepared : object
            The result of `prepare`.
        rows : int64 array, shape (positives,)
            The query of each positive.
        scores : float64 array, shape (positives,)
            The exact score of each positive.
        block : slice
            The candidates of the tile.

        Returns
        -------
        low, high : arrays, shape (positives,)
            A candidate of `block` whose screening score is above `high` has a higher exact score than the positive;
            a candidate whose screening score is below `low` has a lower exact score. A candidate whose screening score
            is from `low` to `high`, both included, is open.
        """


class PairPass(Pass, typing.Protocol):
    """A pass that also scores single pairs of a query and a candidate."""

    def pairs(self, prepared: Any, rows: Ids, columns: Ids) -> Scores:
        """Return the screening score of query ``rows[i]`` with candidate ``columns[i]``, for each i, float32."""


Passes = tuple[Ids, list[Pass], PairPass]


def make_passes(geometry: str, candidates: Vectors, block_size: int, multiplier: str | None = None) -> Passes:
    """Return the passes of a geometry, and the order of the candidates in their tiles.

    Parameters
    ----------
    geometry : str
    candidates : float array, shape (candidates, d)
    block_size : int
        The number of candidates in a tile.
    multiplier : str, optional
        What multiplies integers in the first pass of ``dot``: ``"torch"``, ``"numba"``, or nothing.

    Returns
    -------
    order : int64 array, shape (candidates,)
        If the columns of all tiles are numbered one tile after another, column j is the candidate ``order[j]``.
    passes : list of Pass
        The passes, the cheapest first.
    of_pairs : PairPass
        The pass in `passes` that scores single pairs.
    """
    make = GEOMETRIES[geometry].passes or exact_passes
    order, passes, of_pairs = make(geometry, candidates, block_size, multiplier)
    return order, passes, of_pairs


def product_passes(geometry: str, candidates: Vectors, block_size: int, multiplier: str | None = None) -> Passes:
    """Return the passes of ``dot`` and ``l2``: float32 products, then float64 products.

    This function and the functions below have the same parameters and results as `make_passes`.

    Parameters
    ----------
    geometry : str
    candidates : float array, shape (candidates, d)
    block_size : int
    multiplier : str, optional
        Not used.

    Returns
    -------
    order, passes, of_pairs
        The order of the candidates, the list of passes, and the pass that scores single pairs; see `make_passes`.
    """
    products = DotPass(geometry, candidates)
    return np.arange(len(candidates)), [products, DoubleDotPass(products)], products


def dot_passes(geometry: str, candidates: Vectors, block_size: int, multiplier: str | None = None) -> Passes:
    """Return the passes of ``dot``: integer products (only with a `multiplier`), then the passes of `product_passes`.

    For 8-bit products, candidates are sorted by their largest absolute component, so that the candidates of a tile,
    which share a rounding step, have similar sizes. A table too large to be copied stays in its order, and 16 bits need
    no other.

    Parameters
    ----------
    geometry : str
    candidates : float array, shape (candidates, d)
    block_size : int
    multiplier : str, optional

    Returns
    -------
    order, passes, of_pairs
        The order of the candidates, the list of passes, and the pass that scores single pairs; see `make_passes`.
    """
    if not multiplier or candidates.shape[1] < MIN_BYTES:
        return product_passes(geometry, candidates, block_size)
    order = np.arange(len(candidates))
    if multiplier == "torch" and is_kept(candidates.nbytes):
        order = np.argsort(largest_in_rows(candidates), kind="stable")
        candidates = candidates[order]
    products = DotPass(geometry, candidates)
    of_integers = ShortDotPass if multiplier == "numba" else ByteDotPass
    return order, [of_integers(products, block_size), products, DoubleDotPass(products)], products


def distance_passes(geometry: str, candidates: Vectors, block_size: int, multiplier: str | None = None) -> Passes:
    """Return the only pass of ``l1`` and ``modulus``: float32 distances.

    Parameters
    ----------
    geometry : str
    candidates : float array, shape (candidates, d)
    block_size : int
    multiplier : str, optional
        Not used.

    Returns
    -------
    order, passes, of_pairs
        The order of the candidates, the list of passes, and the pass that scores single pairs; see `make_passes`.
    """
    distances = DistancePass(geometry, candidates)
    return np.arange(len(candidates)), [distances], distances


def exact_passes(geometry: str, candidates: Vectors, block_size: int, multiplier: str | None = None) -> Passes:
    """Return the only pass of a geometry without a `passes` function: `ExactPass`, which scores every pair exactly.

    Parameters
    ----------
    geometry : str
    candidates : float array, shape (candidates, d)
    block_size : int
    multiplier : str, optional
        Not used.

    Returns
    -------
    order, passes, of_pairs
        The order of the candidates, the list of passes, and the pass that scores single pairs; see `make_passes`.
    """
    exact = ExactPass(geometry, candidates)
    return np.arange(len(candidates)), [exact], exact


@dataclass(frozen=True)
class ExactPass:
    """A pass whose screening scores are the exact scores.

    The result of `tile` is not rounded; the result of `pairs` is rounded to float32. Because of this rounding, the
    interval that `interval` returns reaches from the float32 number just below the positive's score to the float32
    number just above the score. So only ties and near ties are open; these are scored again in float64.

    Parameters
    ----------
    geometry : str
    candidates : float array, shape (candidates, d)
    """

    geometry: str
    candidates: Vectors

    def prepare(self, queries: Reals) -> Reals:
        """Return the queries unchanged."""
        return queries

    def tile(self, prepared: Reals, rows: Ids | None, block: slice) -> Reals:
        """Return the exact score of each query of `rows` (None: all queries) with each candidate of `block`."""
        queries, candidates = prepared if rows is None else prepared[rows], self.candidates[block]
        scores = np.empty((len(queries), len(candidates)))
        for part in pair_parts(len(candidates), candidates.shape[1]):
            for i, query in enumerate(queries):
                scores[i, part] = exact_scores(self.geometry, query, candidates[part])
        return scores

    def pairs(self, prepared: Reals, rows: Ids, columns: Ids) -> Scores:
        """Return the exact score of query ``rows[i]`` with candidate ``columns[i]``, for each i, rounded to float32."""
        return exact_pair_scores(self.geometry, prepared, self.candidates, rows, columns).astype(np.float32)

    def interval(self, prepared: Reals, rows: Ids, scores: Reals, block: slice) -> tuple[Scores, Scores]:
        """Return, for each positive, the float32 numbers just below and just above its score; see `Pass.interval`."""
        with np.errstate(over="ignore"):
            singles = scores.astype(np.float32)
        return np.nextafter(singles, np.float32(-np.inf)), np.nextafter(singles, np.float32(np.inf))
