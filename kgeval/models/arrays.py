"""The operations of the models that numpy arrays and torch tensors do not share.

The formulas of the models are written once, for both: only elementwise sums, differences, products and quotients,
whose float64 results are correctly rounded in both libraries, in an order that is spelled out. What the libraries
call by one name is taken from `library`. torch is never imported here: who gives a tensor has imported it.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids, is_tensor
from kgeval.errors import DataError

Array = Any  # a numpy array, or a torch tensor on any device


def library(array: Array) -> ModuleType:
    """Return the library of `array`: numpy or torch."""
    return sys.modules["torch"] if is_tensor(array) else np


def as_double(array: Array) -> Array:
    """Return `array` as float64, itself where it is so already."""
    return array.double() if is_tensor(array) else array.astype(np.float64, copy=False)


def rows(table: Array, ids: Ids) -> Array:
    """Return a float64 copy of the rows `ids` of `table`, on its device."""
    return as_double(table[like(table, ids)])


def like(array: Array, values: npt.NDArray[Any]) -> Array:
    """Return numpy `values` as what `array` is: themselves, or copied to a tensor on its device."""
    return library(array).from_numpy(values.copy()).to(array.device) if is_tensor(array) else values


def on_host(array: Array) -> npt.NDArray[Any]:
    """Return `array` as a numpy array, fetched from its device."""
    fetched: npt.NDArray[Any] = array.detach().cpu().numpy() if is_tensor(array) else array
    return fetched


def square_root(array: Array) -> Array:
    """Return the correctly rounded square root, computed on the host.

    torch's own root misses the nearest float64 by one unit in the last place for about 1% of all numbers where it
    calls Intel's vector library, as its usual builds do on the CPU.
    """
    return like(array, np.sqrt(on_host(array)))


def parts(array: Array, n_parts: int) -> list[Array]:
    """Return the columns of `array` in `n_parts` equal parts, not copied."""
    width = array.shape[1] // n_parts
    return [array[:, k * width : (k + 1) * width] for k in range(n_parts)]


def join(columns: list[Array]) -> Array:
    """Return arrays of equally many rows, or vectors as columns, side by side."""
    return library(columns[0]).column_stack(columns)


def row_sums(terms: Array) -> Array:
    """Return the sum of each row, shape (n,): halves added to halves, an odd last number carried along.

    Parameters
    ----------
    terms : float64 array, shape (n, d)
        At least one column. Not modified.

    Examples
    --------
    >>> row_sums(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    array([ 6., 15.])
    """
    while terms.shape[1] > 1:
        half = terms.shape[1] // 2
        terms = join([terms[:, :half] + terms[:, half : 2 * half], terms[:, 2 * half :]])
    return terms[:, 0]


def check_one_place(**tables: Array) -> None:
    """Raise a DataError unless all `tables` are numpy arrays, or all are tensors on one device."""
    places = {
        name: f"torch tensor on {table.device}" if is_tensor(table) else "numpy array" for name, table in tables.items()
    }
    if len(set(places.values())) > 1:
        found = ", ".join(f"{name} is a {place}" for name, place in places.items())
        device = next(str(table.device) for table in tables.values() if is_tensor(table))
        raise DataError(
            f"{found}; give all as numpy arrays, or all as tensors on one device, "
            f"such as torch.as_tensor(..., device={device!r})"
        )
