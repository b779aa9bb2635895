"""Which passes screen which geometry."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np

from kgeval.checks import Ids
from kgeval.kernels.byte_passes import ByteDotPass, ByteL1Pass, Grid
from kgeval.kernels.counts import Scores
from kgeval.kernels.float_passes import DistancePass, DotPass, DoubleDotPass
from kgeval.kernels.geometry import Reals, Vectors

LEAST_BYTES = 8  # dimensions; torch 2.13 multiplies bytes of a single dimension wrongly, and few gain nothing


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


PairPass = DotPass | DistancePass  # a pass that also scores pairs of a query and a candidate


def make_passes(
    geometry: str, candidates: Vectors, block_size: int, with_bytes: bool = False
) -> tuple[Ids, list[Pass], PairPass]:
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
    order = np.arange(len(candidates))
    coarse: list[Pass] = []
    if geometry == "dot" and with_bytes and candidates.shape[1] >= LEAST_BYTES:
        order = np.argsort(np.abs(candidates).max(axis=1), kind="stable")
        candidates = candidates[order]
        coarse = [ByteDotPass(candidates, block_size)]
    elif geometry == "l1":
        grid = Grid.of(candidates)
        order = np.argsort(grid.errors(candidates), kind="stable")
        candidates = candidates[order]
        coarse = [ByteL1Pass(candidates, grid)]
    if geometry in ("l1", "modulus"):
        distances = DistancePass(geometry, candidates)
        return order, [*coarse, distances], distances
    products = DotPass(geometry, candidates)
    return order, [*coarse, products, DoubleDotPass(products)], products
