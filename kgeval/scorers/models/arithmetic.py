"""The arithmetic of the models, on numpy arrays and torch tensors alike.

The formulas of the models are written once, for both: only elementwise sums, differences, products and quotients,
whose float64 results are correctly rounded in both libraries, in an order that is spelled out. What the libraries
call by one name is taken from `library`. torch is never imported here: who gives a tensor has imported it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgeval.checks import Ids
from kgeval.errors import DataError
from kgeval.kernels import Array, as_array, as_double, is_tensor, kind_of, library, like, on_host


def rows(table: Array, ids: Ids) -> Array:
    """Return a float64 copy of the rows `ids` of `table`, on its device."""
    return as_double(table[like(table, ids)])


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


def check_float_parameters(name: str, values: Any, ndim: int) -> Any:
    """Return `values` as a real floating array of `ndim` dimensions, never of objects.

    Parameters
    ----------
    name : str
        What the array is, for the message.
    values : array_like or torch tensor
        Not modified.
    ndim : int

    Returns
    -------
    float32 or float64 array, or tensor on the device it came from
        Integers become float64, float16 and bfloat16 become float32 (without loss); not copied otherwise.

    Raises
    ------
    DataError
        If the dtype is another, such as a complex one, or the number of dimensions differs.
    """
    if not is_tensor(values) and is_tensor(getattr(values, "weight", None)):
        raise DataError(f"{name} must be an array or a tensor; got {type(values).__name__}. Pass its .weight")
    array = as_array(values)
    if kind_of(array) in ("i", "u"):
        array = array.double() if is_tensor(array) else array.astype(np.float64)
    if str(array.dtype) in ("float16", "torch.float16", "torch.bfloat16"):
        array = array.float() if is_tensor(array) else array.astype(np.float32)
    if str(array.dtype).removeprefix("torch.") not in ("float32", "float64"):
        raise DataError(f"{name} must be a real numeric array; got dtype {array.dtype}")
    if array.ndim != ndim:
        raise DataError(f"{name} must have {ndim} dimension(s); got shape {tuple(array.shape)}")
    return array
