"""The registered geometries: the formula of each, and its passes (numpy) and screen (torch), which make counting fast.

To add a geometry, add a `Geometry` to the loop at the end. Its functions `summands` and `finish` define the exact
scores; `passes` and `screen` are optional and make the counting fast. `exact_scores` and `exact_tensor_scores` call the
functions below.

In the formulas, e and q are the candidate and the query of a pair, and e_k is component k of e.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kgeval.kernels.geometry import GEOMETRIES, Geometry
from kgeval.kernels.passes import distance_passes, dot_passes, product_passes
from kgeval.kernels.torch_screens import DistanceScreen, product_screen

Root = Callable[[Any], Any]


def _products(candidates: Any, queries: Any, root: Root) -> Any:
    """Return the products ``e_k * q_k`` of the components of candidate e and query q, shape (pairs, d)."""
    candidates *= queries
    return candidates


def _distances(candidates: Any, queries: Any, root: Root) -> Any:
    """Return the absolute differences ``|e_k - q_k|`` between candidate e and query q, shape (pairs, d)."""
    candidates -= queries
    return abs(candidates)


def _squares(candidates: Any, queries: Any, root: Root) -> Any:
    """Return the squared differences ``(e_k - q_k)^2`` between candidate e and query q, shape (pairs, d)."""
    candidates -= queries
    candidates *= candidates
    return candidates


def _moduli(candidates: Any, queries: Any, root: Root) -> Any:
    """Return the moduli of the d / 2 complex differences between candidate and query, shape (pairs, d / 2)."""
    squares = _squares(candidates, queries, root)
    half = squares.shape[1] // 2
    return root(squares[:, :half] + squares[:, half:])


def _sum_itself(sums: Any, root: Root) -> Any:
    return sums


def _minus(sums: Any, root: Root) -> Any:
    return -sums


def _minus_root(sums: Any, root: Root) -> Any:
    return -root(sums)


for _geometry in (
    Geometry(
        "dot",
        _products,
        _sum_itself,
        tile=(1024, 1360),
        byte_tile=(1024, 1360),
        passes=dot_passes,
        screen=product_screen,
    ),
    Geometry("l1", _distances, _minus, tile=(128, 4080), passes=distance_passes, screen=DistanceScreen),
    Geometry("l2", _squares, _minus_root, tile=(1024, 1360), passes=product_passes, screen=product_screen),
    Geometry("modulus", _moduli, _minus, n_parts=2, tile=(64, 4080), passes=distance_passes, screen=DistanceScreen),
):
    GEOMETRIES[_geometry.name] = _geometry
