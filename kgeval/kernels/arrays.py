"""Numpy arrays and torch tensors alike: what kind they are, where they are, and how they are moved.

Everything that must tell a tensor from an array stands here. torch is never imported for an array: whoever has a tensor
has imported torch.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Reals
from kgeval.errors import MissingExtra
from kgeval.kernels.geometry import row_parts

Array = Any  # a numpy array, or a torch tensor on any device


def load_torch() -> Any:
    """Return the module torch.

    Raises
    ------
    MissingExtra
        If it is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtra('device= and tensors need torch; pip install "kgeval[torch]"') from error
    return torch


def is_tensor(values: Any) -> bool:
    """Tell whether `values` is a torch tensor; torch need not be there, since whoever has a tensor imported it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def as_array(values: Any) -> Any:
    """Return a tensor detached and where it is, anything else as a numpy array; not copied."""
    return values.detach() if is_tensor(values) else np.asarray(values)


def kind_of(array: Any) -> str:
    """Return numpy's letter for the kind of an array's or tensor's dtype: f, c, i, u, b, ...

    Examples
    --------
    >>> kind_of(np.zeros(2, dtype=np.float32))
    'f'
    """
    if not is_tensor(array):
        return str(array.dtype.kind)
    return "f" if array.is_floating_point() else str(array.dtype).removeprefix("torch.")[0]


def is_on_device(array: Array) -> bool:
    """Tell whether `array` is a tensor off the processor, of which few numbers are ever fetched."""
    return is_tensor(array) and array.device.type != "cpu"


def float_tensor(values: Any) -> Array | None:
    """Return a tensor of floats out of its graph, its sign resolved; None for everything else."""
    return values.detach().resolve_neg() if is_tensor(values) and values.is_floating_point() else None


def library(array: Array) -> ModuleType:
    """Return the library of `array`: numpy or torch."""
    return sys.modules["torch"] if is_tensor(array) else np


def as_double(array: Array) -> Array:
    """Return `array` as float64, itself where it is so already."""
    return array.double() if is_tensor(array) else array.astype(np.float64, copy=False)


def double_copy(array: Array) -> Array:
    """Return a float64 copy of `array` in one piece of memory, on its device."""
    return array.double().clone() if is_tensor(array) else np.array(array, np.float64, order="C")


def like(array: Array, values: npt.NDArray[Any]) -> Array:
    """Return numpy `values` as what `array` is: themselves, or copied to a tensor on its device."""
    return library(array).from_numpy(values.copy()).to(array.device) if is_tensor(array) else values


def empty_like(array: Array, shape: tuple[int, ...]) -> Array:
    """Return an uninitialised array of another shape, of the same dtype, library and device as `array`."""
    return array.new_empty(shape) if is_tensor(array) else np.empty(shape, dtype=array.dtype)


def fetched(tensor: Array) -> npt.NDArray[Any]:
    """Return a tensor as a numpy array of its dtype, bfloat16 as float32; shares memory where it can."""
    tensor = tensor.detach().cpu()
    array: npt.NDArray[Any] = (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    return array


def on_host(array: Array) -> Any:
    """Return vectors as a numpy array: a tensor in float32 or float64; what is no tensor as it is."""
    if not is_tensor(array):
        return array
    found = fetched(array)
    return found if found.dtype in (np.float32, np.float64) else found.astype(np.float32)


def address(array: Array) -> tuple[Any, ...]:
    """Return what two arrays or tensors share if and only if they are the same memory, seen in the same way."""
    if is_tensor(array):
        return str(array.device), array.data_ptr(), tuple(array.shape), array.stride(), str(array.dtype)
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


def largest_in_rows(vectors: Array) -> Reals:
    """Return the largest absolute value of each row, float64, on the host; NaN where a row has one."""
    if is_tensor(vectors):
        return np.asarray(on_host(vectors.detach().abs().amax(dim=1).double()))
    return np.concatenate([np.abs(vectors[part]).max(axis=1).astype(np.float64) for part in row_parts(vectors)])
