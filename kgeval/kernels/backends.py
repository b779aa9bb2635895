"""Which kernels count for which vectors: numpy's, numpy's with torch's byte products, or torch's on a device."""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kgeval.checks import is_tensor
from kgeval.errors import ProtocolError
from kgeval.kernels.counts import Counts, Places
from kgeval.kernels.geometry import Reals, row_parts
from kgeval.kernels.numpy_kernels import NumpyCounter
from kgeval.kernels.torch_screens import load_torch

Array = Any  # a numpy array, or a torch tensor on any device

TILES = {"dot": (512, 4080), "l2": (512, 4080), "l1": (128, 4080), "modulus": (64, 4080)}
BYTE_TILE, DEVICE_BATCH = (1024, 4080), 4096


class Counter(typing.Protocol):
    """Counts better and equal candidates for batches of queries."""

    batch_size: int

    def count(self, queries: Array, places: Places) -> Counts:
        """Return the counts of `places` for `queries`, float64, shape (queries, d)."""


def check_device(device: Any) -> str | None:
    """Return `device` if it names one that is there: None, ``"numpy"``, ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.

    Raises
    ------
    ProtocolError
        If the device is unknown or not there.
    MissingExtra
        If it needs torch, which is not installed.
    """
    if device is None or device == "numpy":
        return None if device is None else "numpy"
    name = str(device)
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise ProtocolError(f"device must be None, 'numpy', 'cpu', 'cuda' or 'cuda:<number>'; got {device!r}")
    torch = load_torch()
    n_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name != "cpu" and int(name.partition(":")[2] or "0") >= n_devices:
        raise ProtocolError(
            f"device={name!r} is not there: torch {torch.__version__} sees {n_devices} CUDA devices; "
            "leave device= out, or say 'cpu'"
        )
    return name


def make_counter(geometry: str, candidates: Array, device: Any, block_size: int | None = None) -> Counter:
    """Return the counter for `candidates`, float, shape (candidates, d), a numpy array or a torch tensor.

    Parameters
    ----------
    geometry : str
        See `kgeval.kernels.geometry`.
    candidates : float array or tensor
        Finite.
    device : str, optional
        See `check_device`; by default, numpy for an array and the tensor's own device for a tensor.
    block_size : int, optional
        Candidates at a time.
    """
    device = check_device(device)
    place = device or (candidates.device.type if is_tensor(candidates) else "numpy")
    if place in ("numpy", "cpu"):
        with_bytes = place == "cpu" and geometry == "dot" and multiplies_bytes()
        batch_size, columns = BYTE_TILE if with_bytes else TILES[geometry]
        counter = NumpyCounter(geometry, on_host(candidates), block_size or columns, with_bytes)
        return _HostCounter(counter, batch_size)
    return _DeviceCounter(geometry, candidates, device, block_size)


class _HostCounter:
    def __init__(self, counter: NumpyCounter, batch_size: int) -> None:
        self.counter, self.batch_size = counter, batch_size

    def count(self, queries: Array, places: Places) -> Counts:
        return self.counter.count(on_host(queries), places)


class _DeviceCounter:
    def __init__(self, geometry: str, candidates: Array, device: str | None, block_size: int | None) -> None:
        from kgeval.kernels.torch_kernels import TorchCounter

        self.device = device or candidates.device
        self.counter = TorchCounter(geometry, load_torch().as_tensor(candidates, device=self.device), block_size)
        self.batch_size = DEVICE_BATCH

    def count(self, queries: Array, places: Places) -> Counts:
        return self.counter.count(load_torch().as_tensor(queries, device=self.device), places)


def multiplies_bytes() -> bool:
    """Tell whether this torch multiplies 8-bit integers on this processor, and exactly."""
    torch = load_torch()
    one = np.full((32, 64), 127, dtype=np.int8)  # the largest sums: processors without such products saturate them
    one[::3] = -127
    one[1::3, ::2] = -127
    try:
        product = torch._int_mm(torch.from_numpy(one), torch.from_numpy(one).T).numpy()
    except (AttributeError, RuntimeError):
        return False
    wide = one.astype(np.int32)
    return torch.backends.cpu.get_cpu_capability().startswith("AVX512") and np.array_equal(product, wide @ wide.T)


def on_host(array: Array) -> Any:
    """Return a tensor as a numpy array, sharing memory where it can; an array as it is."""
    if not is_tensor(array):
        return array
    array = array.detach().cpu()
    return (array if array.dtype in (load_torch().float32, load_torch().float64) else array.float()).numpy()


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


@contextmanager
def one_thread_each() -> Iterator[Callable[[], None] | None]:
    """Give what each worker thread calls first, so that torch, if it is loaded, runs on that thread alone."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield None
        return
    n_threads = torch.get_num_threads()
    try:
        yield lambda: torch.set_num_threads(1)
    finally:
        torch.set_num_threads(n_threads)
