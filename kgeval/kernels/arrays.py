"""Functions that accept numpy arrays and torch tensors: dtype, device, conversion and copies.

Kernels, scorers and formats call these functions. No function imports torch for a numpy array: as long as torch has
not been imported, no tensor can exist, so `is_tensor` returns False.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Reals
from kgeval.errors import DataError, KgevalError, MissingExtra
from kgeval.kernels.compiled import load_compiled
from kgeval.kernels.geometry import per_row
from kgeval.kernels.mapped_tables import StreamedTable

Array = Any  # a numpy array, a torch tensor on any device, or a table of vectors that is a `StreamedTable`


def load_torch(user: str = "device= and tensors", hint: str = "") -> Any:
    """Return the module torch.

    Parameters
    ----------
    user : str
        The subject of the error message, in the plural: the objects that need torch.
    hint : str
        The end of the error message.

    Raises
    ------
    MissingExtra
        If torch is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtra(f'{user} need torch; pip install "kgeval[torch]"{hint}') from error
    return torch


def is_tensor(values: Any) -> bool:
    """Return whether `values` is a torch tensor; works even if torch is not installed, and never imports torch.

    Parameters
    ----------
    values : object

    Returns
    -------
    bool
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def as_array(values: Any) -> Any:
    """Detach a tensor from torch's autograd graph, and keep it on its device; convert other values to a numpy array.

    Parameters
    ----------
    values : tensor, StreamedTable or array-like

    Returns
    -------
    tensor, StreamedTable or array
        Shares memory with `values` where possible.
    """
    if isinstance(values, StreamedTable):
        return values
    return values.detach() if is_tensor(values) else np.asarray(values)


def kind_of(array: Any) -> str:
    """Return numpy's letter for the kind of a dtype: f (float), c (complex), i and u (integers), b (bool).

    Parameters
    ----------
    array : array or tensor

    Returns
    -------
    str
        One letter.

    Examples
    --------
    >>> kind_of(np.zeros(2, dtype=np.float32))
    'f'
    """
    if not is_tensor(array):
        return str(array.dtype.kind)
    return "f" if array.is_floating_point() else str(array.dtype).removeprefix("torch.")[0]


def may_be_bits(array: Array) -> bool:
    """Return whether an array may contain the bits of bfloat16 numbers: its dtype is a 16-bit integer or raw bytes.

    Parameters
    ----------
    array : array or tensor

    Returns
    -------
    bool

    Examples
    --------
    >>> may_be_bits(np.zeros(2, dtype=np.int16)), may_be_bits(np.zeros(2, dtype=np.float16))
    (True, False)
    """
    return kind_of(array) in ("i", "u", "V") and array.dtype.itemsize == 2


def check_no_bits(name: str, values: Array, error: type[KgevalError] = DataError) -> None:
    """Raise an error if a table may contain the bits of bfloat16 numbers (see `may_be_bits`).

    If these bits were used as integers, the ranks would be wrong but would look plausible.

    Parameters
    ----------
    name : str
        The name of the table, for the error message.
    values : array or tensor
    error : type of KgevalError
        The class of the error.
    """
    if not may_be_bits(values):
        return
    if is_tensor(values):
        ways = f"pass {name}.view(torch.bfloat16); if they are integers, pass {name}.float()"
    else:
        ways = (
            f"which numpy does not have, pass kgeval.models.bfloat16({name}) (for a file: dtype='bfloat16', "
            f"--dtype bfloat16); if they are integers, pass {name}.astype(numpy.float32)"
        )
    raise error(f"{name} has dtype {values.dtype}. If these are the bits of bfloat16 numbers, {ways}")


def is_on_device(array: Array) -> bool:
    """Return whether `array` is a tensor on a device other than the CPU, for example a GPU.

    Copying such a tensor to the host (the memory of the CPU) is slow.

    Parameters
    ----------
    array : array or tensor

    Returns
    -------
    bool
    """
    return is_tensor(array) and array.device.type != "cpu"


def float_tensor(values: Any) -> Array | None:
    """Detach a float tensor from torch's autograd graph; return None for any other value.

    If torch has postponed a negation of the tensor (`torch.Tensor.is_neg`), the negation is carried out.

    Parameters
    ----------
    values : object

    Returns
    -------
    tensor or None
    """
    return values.detach().resolve_neg() if is_tensor(values) and values.is_floating_point() else None


def library(array: Array) -> ModuleType:
    """Return the library of `array`: the module numpy or torch.

    Parameters
    ----------
    array : array or tensor

    Returns
    -------
    module
    """
    return sys.modules["torch"] if is_tensor(array) else np


def as_double(array: Array) -> Array:
    """Return `array` as float64; if it is float64 already, return the same object.

    Parameters
    ----------
    array : real array or tensor

    Returns
    -------
    float64 array or tensor
        On the same device.
    """
    return array.double() if is_tensor(array) else array.astype(np.float64, copy=False)


def double_copy(array: Array) -> Array:
    """Return a contiguous float64 copy of `array`, on its device.

    Parameters
    ----------
    array : real array or tensor

    Returns
    -------
    float64 array or tensor
    """
    return array.double().clone() if is_tensor(array) else np.array(array, np.float64, order="C")


def like(array: Array, values: npt.NDArray[Any]) -> Array:
    """Convert numpy `values` to the library and device of `array`.

    Parameters
    ----------
    array : array or tensor
        Determines the library and the device; the values in `array` are not read.
    values : numpy array

    Returns
    -------
    array or tensor
        `values` itself if `array` is a numpy array, else a tensor with a copy of `values`.
    """
    return library(array).from_numpy(values.copy()).to(array.device) if is_tensor(array) else values


def empty_like(array: Array, shape: tuple[int, ...]) -> Array:
    """Return an uninitialised array with the given shape, and with the dtype, library and device of `array`.

    Parameters
    ----------
    array : array or tensor
    shape : tuple of int

    Returns
    -------
    array or tensor
    """
    return array.new_empty(shape) if is_tensor(array) else np.empty(shape, dtype=array.dtype)


def fetched(tensor: Array) -> npt.NDArray[Any]:
    """Return a tensor as a numpy array of the same dtype; bfloat16, which numpy does not have, becomes float32.

    Parameters
    ----------
    tensor : tensor
        On any device.

    Returns
    -------
    array
        Shares memory with `tensor` where possible.
    """
    tensor = tensor.detach().cpu()
    array: npt.NDArray[Any] = (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    return array


def on_host(array: Array) -> Any:
    """Return vectors as a numpy array on the host (the memory of the CPU).

    Parameters
    ----------
    array : array or tensor

    Returns
    -------
    array
        A numpy array is returned unchanged. A float64 tensor stays float64; a tensor of another dtype becomes float32.
    """
    if not is_tensor(array):
        return array
    vectors = fetched(array)
    return vectors if vectors.dtype in (np.float32, np.float64) else vectors.astype(np.float32)


def address(array: Array) -> tuple[Any, ...]:
    """Return a key that identifies the memory of an array.

    Two arrays have equal keys if they are the same view of the same memory, and only then. Two streamed tables have
    equal keys only if they are the same object.

    Parameters
    ----------
    array : array, tensor or StreamedTable

    Returns
    -------
    tuple
        Hashable: address, shape, strides and dtype; for a tensor also the device.
    """
    if isinstance(array, StreamedTable):
        return "streamed", id(array)
    if is_tensor(array):
        return str(array.device), array.data_ptr(), tuple(array.shape), array.stride(), str(array.dtype)
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


def largest_in_rows(vectors: Array) -> Reals:
    """Return the largest absolute value of each row of `vectors`.

    Parameters
    ----------
    vectors : float array, tensor or StreamedTable, shape (n, d)

    Returns
    -------
    float64 numpy array, shape (n,)
        NaN for a row that contains a NaN.
    """
    if is_tensor(vectors):
        return np.asarray(on_host(vectors.detach().abs().amax(dim=1).double()))
    return per_row(_largest, vectors)


def _largest(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the largest absolute value of each row; NaN for a row that contains a NaN."""
    loops = load_compiled()
    if loops is None or rows.dtype not in (np.float32, np.float64):
        return np.asarray(np.abs(rows).max(axis=1))
    # If the sign bit is cleared, the bits of floats, read as integers, have the same order as the floats; the bits of
    # NaN are larger than those of infinity.
    bits = rows.view(f"u{rows.itemsize}")
    maxima = np.empty(len(rows), dtype=bits.dtype)
    loops.row_maxima(bits, bits.dtype.type(np.iinfo(bits.dtype).max >> 1), maxima)
    return maxima.view(rows.dtype)
