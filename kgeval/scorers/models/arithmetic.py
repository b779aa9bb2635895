"""Arithmetic with equal results for numpy arrays and torch tensors; the embedding models call these functions.

Each formula of a model is written once, for both libraries. A formula uses only elementwise sums, differences, products
and quotients, in a fixed order. Both libraries round the float64 results of these operations correctly, so the results
are equal. `library(array)` is the library of an array; the models call functions that have the same name in both
libraries. This module never imports torch: a caller that passes a tensor has already imported torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids
from kgeval.errors import DataError
from kgeval.kernels.arrays import Array, as_array, as_double, check_no_bits, is_tensor, kind_of, library, like, on_host
from kgeval.kernels.mapped_tables import StreamedTable, from_float16, is_kept, streamed

ENTITY_TABLES = ("entities", "subjects", "objects")  # tables with a row for each entity, which may be very large
SMALLEST_NORM = 1e-12  # a smaller norm is replaced by this value, as in torch.nn.functional.normalize


def rows(table: Array, ids: Ids) -> Array:
    """Return a float64 copy of the rows `ids` of `table`, on the device of `table`.

    Parameters
    ----------
    table : float array or tensor, shape (n, ...)
    ids : int64 array, shape (m,)

    Returns
    -------
    float64 array or tensor, shape (m, ...)
    """
    return as_double(table[like(table, ids)])


def square_root(array: Array) -> Array:
    """Return the correctly rounded square root, computed by numpy on the host.

    torch's usual builds for the CPU call Intel's vector library, whose square root differs from the nearest float64 by
    one unit in the last place for about 1% of all numbers.

    Parameters
    ----------
    array : float64 array or tensor

    Returns
    -------
    float64 array or tensor, same shape and device
    """
    return like(array, np.sqrt(on_host(array)))


def parts(array: Array, n_parts: int) -> list[Array]:
    """Split the columns of `array` into equal parts, without a copy.

    Parameters
    ----------
    array : array or tensor, shape (n, n_parts * d)
    n_parts : int

    Returns
    -------
    list of `n_parts` arrays or tensors, shape (n, d)
    """
    width = array.shape[1] // n_parts
    return [array[:, k * width : (k + 1) * width] for k in range(n_parts)]


def join(columns: list[Array]) -> Array:
    """Join the columns of several arrays into one array, in the given order.

    Parameters
    ----------
    columns : list of arrays or tensors
        Each has shape (n, number of its columns), or (n,) for a single column.

    Returns
    -------
    array or tensor, shape (n, number of all columns)
    """
    return library(columns[0]).column_stack(columns)


def row_sums(terms: Array) -> Array:
    """Return the sum of each row, shape (n,), in one fixed order.

    Each step adds the second half of the columns to the first half; if the number of columns is odd, the last column is
    kept for the next step.

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
        # (n, half), or (n, half + 1) if the number of columns was odd: column k is now the sum of the columns k and
        # half + k; an odd last column is kept as it is.
        terms = join([terms[:, :half] + terms[:, half : 2 * half], terms[:, 2 * half :]])
    return terms[:, 0]


def check_one_place(**tables: Array) -> None:
    """Raise a DataError unless all `tables` are numpy arrays, or all are tensors on one device."""
    places = {
        name: f"torch tensor on {table.device}" if is_tensor(table) else "numpy array" for name, table in tables.items()
    }
    if len(set(places.values())) > 1:
        kinds = ", ".join(f"{name} is a {place}" for name, place in places.items())
        device = next(str(table.device) for table in tables.values() if is_tensor(table))
        raise DataError(
            f"{kinds}; give all as numpy arrays, or all as tensors on one device, "
            f"such as torch.as_tensor(..., device={device!r})"
        )


def plain_parameters(name: str, values: Any) -> Any:
    """Return `values` as a numpy array in the byte order of the machine, or as a tensor; row i belongs to id i.

    Parameters
    ----------
    name : str
        The array's name, for messages.
    values : array_like, torch tensor or StreamedTable
        Not modified.

    Returns
    -------
    array, tensor on its device, or StreamedTable
        Shares memory with `values` where possible.

    Raises
    ------
    DataError
        If `values` is a layer such as ``torch.nn.Embedding``, a masked array, or a pandas object whose index is not 0,
        1, 2, ...

    Examples
    --------
    >>> plain_parameters("entities", np.array([[1.0, 2.0]], dtype=">f4")).dtype
    dtype('float32')
    """
    if not is_tensor(values) and is_tensor(getattr(values, "weight", None)):
        raise DataError(f"{name} must be an array or a tensor; got {type(values).__name__}. Pass its .weight")
    if isinstance(values, np.ma.MaskedArray):
        raise DataError(f"{name} is a masked array; a masked value cannot be scored. Fill it, or pass its .data")
    if isinstance(values, (pd.DataFrame, pd.Series)) and not values.index.equals(pd.RangeIndex(len(values))):
        index = values.index.tolist()
        row = next((row for row, name in enumerate(index) if name != row), 0)
        raise DataError(
            f"{name} is a {type(values).__name__} whose index is not 0, 1, 2, ...: row {row} has the index "
            f"{index[row]!r}, but row i must belong to id i. Put the rows in the order of the dataset, without the "
            "index: frame.loc[list(dataset.entities.labels)].to_numpy(), or with dataset.relations.labels"
        )
    array = as_array(values)
    if is_tensor(array) or array.dtype.isnative:
        return array
    return converted(name, _in_native_order, array)


def converted(name: str, convert: Callable[..., Array], *tables: Array) -> Any:
    """Convert tables to one table, row by row; a very large table of entities is converted when its rows are read.

    Parameters
    ----------
    name : str
        The name of the result. Only the tables of `ENTITY_TABLES` can become a `StreamedTable`.
    convert : function
        Takes the rows of each of `tables`, and returns as many rows. The function must be defined at the top level of a
        module, so that it can be pickled.
    *tables : arrays, tensors or StreamedTable

    Returns
    -------
    array, tensor or StreamedTable
    """
    if is_tensor(tables[0]):
        return convert(*tables)
    if name in ENTITY_TABLES and tables[0].ndim:
        return streamed(convert, *tables)
    return convert(*map(np.asarray, tables))


def check_float_parameters(name: str, values: Any, ndim: int) -> Any:
    """Return `values` as a float32 or float64 array of `ndim` dimensions.

    Parameters
    ----------
    name : str
        The array's name, for messages.
    values : array_like, torch tensor or StreamedTable
        Not modified.
    ndim : int

    Returns
    -------
    float32 or float64 array, or tensor on its device, or StreamedTable
        Integers and long doubles become float64; float16 and bfloat16 become float32 (without loss). Other values are
        copied only if their byte order differs from that of the machine. See `converted` for very large tables.

    Raises
    ------
    DataError
        If the values are not real numbers; if they are 16-bit integers, which may be the bits of bfloat16 numbers; if
        the number of dimensions is not `ndim`; if float64 cannot represent a long double exactly; or in the cases that
        `plain_parameters` lists.
    """
    array = plain_parameters(name, values)
    if array.ndim != ndim and kind_of(array) in "fiu":
        raise DataError(f"{name} must have {ndim} dimension(s); got shape {tuple(array.shape)}")
    check_no_bits(name, array)
    if kind_of(array) in ("i", "u"):
        array = converted(name, as_double, array)
    if str(array.dtype) in ("torch.float16", "torch.bfloat16"):
        array = array.float()
    if array.dtype == np.float16:
        array = converted(name, from_float16, array)
    if kind_of(array) == "f" and array.dtype.itemsize > 8:
        array = _exact_doubles(name, np.asarray(array))
    if str(array.dtype).removeprefix("torch.") not in ("float32", "float64"):
        raise DataError(f"{name} must be a real numeric array; got dtype {array.dtype}")
    if isinstance(array, StreamedTable) and (name not in ENTITY_TABLES or is_kept(array.nbytes)):
        return np.asarray(array)
    return array


def _in_native_order(rows: Array) -> Array:
    """Return rows in the byte order of the machine."""
    return rows.astype(rows.dtype.newbyteorder("="))


def _exact_doubles(name: str, array: Any) -> Any:
    """Return long doubles as float64; raise a DataError for a number that float64 cannot represent."""
    with np.errstate(over="ignore", under="ignore"):
        doubles = array.astype(np.float64)
    lost = (doubles != array) & ~np.isnan(array)
    if lost.any():
        place = tuple(int(i) for i in np.argwhere(lost)[0])
        raise DataError(
            f"{name} has {array.dtype} numbers that float64 cannot hold; the first is {array[place]!s} at "
            f"{list(place)}. kgeval computes in float64; round the numbers yourself with .astype(numpy.float64)"
        )
    return doubles
