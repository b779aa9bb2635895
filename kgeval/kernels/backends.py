"""Which kernels count for which vectors: numpy's, numpy's with torch's byte products, or torch's on a device."""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kgeval.errors import ProtocolError
from kgeval.kernels.arrays import Array, is_tensor, load_torch
from kgeval.kernels.counts import Counts, Places
from kgeval.kernels.geometry import GEOMETRIES
from kgeval.kernels.numpy_kernels import NumpyCounter
from kgeval.kernels.torch_kernels import TorchCounter


class Counter(typing.Protocol):
    """Counts better and equal candidates for batches of queries, which it fetches to where it counts."""

    @property
    def batch_size(self) -> int:
        """How many queries at a time suit it best."""

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
    how = GEOMETRIES[geometry]
    if place not in ("numpy", "cpu") and how.screen is not None:
        return TorchCounter(
            geometry, load_torch().as_tensor(candidates, device=device or candidates.device), block_size
        )
    with_bytes = place == "cpu" and how.byte_tile is not None and multiplies_bytes()
    batch_size, columns = how.byte_tile if with_bytes and how.byte_tile else how.tile
    return NumpyCounter(geometry, candidates, block_size or columns, with_bytes, batch_size)


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
