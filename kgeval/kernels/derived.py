"""Geometries whose scores are computed from the scores of another geometry: clamped dot products, squared L2 distances.

A derived geometry keeps the order of the scores, except that clamping makes ties. Therefore the passes of the original
geometry can be used; `DerivedPass` only changes the interval of each positive. A model that needs a derived geometry
calls `clamped_dot` or `squared_l2`; these functions register the geometry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, Reals, Scores
from kgeval.kernels.geometry import GEOMETRIES, Geometry, Vectors
from kgeval.kernels.passes import PairPass, Pass, Passes, product_passes

SQUARED_L2 = "squared l2"


@dataclass(frozen=True)
class DerivedPass:
    """A pass for a derived geometry, which uses a pass of the original geometry (`base`).

    See `kgeval.kernels.passes.Pass`.

    Parameters
    ----------
    base : PairPass
    base_scores : function
        Takes the scores of positives in the derived geometry, float64, shape (positives,), and returns their scores in
        the geometry of `base`.
    low, high : float
        The bounds of the derived scores. All scores of `base` beyond a bound become the same derived score, and tie.
    """

    base: PairPass
    base_scores: Callable[[Reals], Reals]
    low: float = -np.inf
    high: float = np.inf

    def prepare(self, queries: Reals) -> Any:
        """Convert queries for the other methods."""
        return self.base.prepare(queries)

    def tile(self, prepared: Any, rows: Ids | None, block: slice) -> Scores:
        """Return the screening scores of `base`."""
        return self.base.tile(prepared, rows, block)

    def pairs(self, prepared: Any, rows: Ids, columns: Ids) -> Scores:
        """Return the screening scores of `base` for single pairs."""
        return self.base.pairs(prepared, rows, columns)

    def interval(self, prepared: Any, rows: Ids, scores: Reals, block: slice) -> tuple[Scores, Scores]:
        """Return the ends of each positive's interval of screening scores; see `kgeval.kernels.passes.Pass`.

        If the score of a positive is the upper bound of the scores, no candidate scores higher. Then the upper end of
        the interval is infinite: all candidates above `low` are open, and their exact scores decide which of them
        tie. In the same way, the lower end is infinite if the score is the lower bound.
        """
        low, high = self.base.interval(prepared, rows, self.base_scores(scores), block)
        return np.where(scores <= self.low, -np.inf, low), np.where(scores >= self.high, np.inf, high)


def clamped_dot(low: float, high: float) -> str:
    """Return the name of the geometry whose scores are dot products, clamped to an interval.

    Parameters
    ----------
    low, high : float
        The ends of the interval, ``low <= high``. A dot product below `low` becomes `low`, one above `high` becomes
        `high`.

    Returns
    -------
    str
        A key of `GEOMETRIES`.

    Examples
    --------
    >>> from kgeval.kernels.geometry import exact_scores
    >>> exact_scores(clamped_dot(-20.0, 20.0), np.array([[5.0], [5.0]]), np.array([[3.0], [7.0]]))
    array([15., 20.])
    """
    name = f"dot clamped to [{low!r}, {high!r}]"
    if name not in GEOMETRIES:

        def passes(geometry: str, candidates: Vectors, block_size: int, multiplier: str | None = None) -> Passes:
            return _derived("dot", candidates, block_size, lambda scores: scores, low, high)

        dot = GEOMETRIES["dot"]
        GEOMETRIES[name] = Geometry(
            name, dot.summands, lambda sums, root: sums.clip(low, high), tile=dot.tile, passes=passes, is_derived=True
        )
    return name


def squared_l2() -> str:
    """Return the name of the geometry whose scores are minus the squared L2 distances.

    Returns
    -------
    str
        A key of `GEOMETRIES`.

    Examples
    --------
    >>> from kgeval.kernels.geometry import exact_scores
    >>> exact_scores(squared_l2(), np.array([[1.0, 2.0]]), np.array([[4.0, 6.0]]))
    array([-25.])
    """
    if SQUARED_L2 not in GEOMETRIES:

        def passes(geometry: str, candidates: Vectors, block_size: int, multiplier: str | None = None) -> Passes:
            # The square root is monotone, also after rounding: if sqrt(a) > sqrt(b), then a > b. So if the passes of l2
            # decide that a candidate is better or worse, the same is true for squared distances.
            return _derived("l2", candidates, block_size, lambda scores: -np.sqrt(-scores))

        l2 = GEOMETRIES["l2"]
        GEOMETRIES[SQUARED_L2] = Geometry(
            SQUARED_L2, l2.summands, lambda sums, root: -sums, tile=l2.tile, passes=passes, is_derived=True
        )
    return SQUARED_L2


def _derived(
    geometry: str,
    candidates: Vectors,
    block_size: int,
    base_scores: Callable[[Reals], Reals],
    low: float = -np.inf,
    high: float = np.inf,
) -> Passes:
    """Return the passes of a derived geometry, made from the float passes of another geometry."""
    order, passes, of_pairs = product_passes(geometry, candidates, block_size)
    derived: list[Pass] = []
    for screen in passes:
        pass_of_pairs = DerivedPass(screen, base_scores, low, high)  # type: ignore[arg-type]
        derived.append(pass_of_pairs)
        if screen is of_pairs:
            derived_of_pairs = pass_of_pairs
    return order, derived, derived_of_pairs
