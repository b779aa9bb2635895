"""`make_counter` chooses the counter for a matrix of candidate vectors: a `NumpyCounter` or a `TorchCounter`.

A `NumpyCounter` may use torch's products of 8-bit integers (see `multiplies_bytes`). The ranker calls
`make_counter` once for each matrix of candidate vectors.
"""

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
    """Counts, for each positive of a batch of queries, the candidates with a higher score and with the same score."""

    @property
    def batch_size(self) -> int:
        """The number of queries in one call of `count` for which the time per query is shortest."""

    def count(self, queries: Array, places: Places) -> Counts:
        """Count, for each positive, candidates, and the known answers, with a higher and with the same score.

        Parameters
        ----------
        queries : float64 array or tensor, shape (queries, d)
            On any device; copied to the counter's device if necessary.
        places : Places
            Row (query) and column (candidate) of each positive and of each known answer.

        Returns
        -------
        Counts
        """


def check_device(device: Any) -> str | None:
    """Return the name of `device` after checking that this machine has it.

    Parameters
    ----------
    device : str or torch.device, optional
        None, ``"numpy"``, ``"cpu"``, ``"cuda"`` or ``"cuda:<number>"``.

    Returns
    -------
    str or None

    Raises
    ------
    ProtocolError
        If the name is unknown, or this machine has no such device.
    MissingExtra
        If the device needs torch, and torch is not installed.
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
            f"device={name!r} does not exist: torch {torch.__version__} sees {n_devices} CUDA devices; "
            "leave device= out, or use 'cpu'"
        )
    return name


def make_counter(geometry: str, candidates: Array, device: Any, block_size: int | None = None) -> Counter:
    """Return the counter for a matrix of candidate vectors.

    Parameters
    ----------
    geometry : str
        A name of `GEOMETRIES`, e.g. ``"dot"``.
    candidates : float array or tensor, shape (candidates, d)
        Finite. Must not change while the counter is used.
    device : str, optional
        See `check_device`. By default, the device of the tensor `candidates`; for an array, ``"numpy"``.
    block_size : int, optional
        The largest number of candidates that are scored together; by default a number that suits the geometry and
        the device.

    Returns
    -------
    Counter

    Raises
    ------
    ProtocolError
        If the name of the device is unknown, or this machine has no such device.
    MissingExtra
        If the device needs torch, and torch is not installed.
    """
    device = check_device(device)
    place = device or (candidates.device.type if is_tensor(candidates) else "numpy")
    definition = GEOMETRIES[geometry]
    if place not in ("numpy", "cpu") and definition.screen is not None:
        return TorchCounter(
            geometry, load_torch().as_tensor(candidates, device=device or candidates.device), block_size
        )
    with_bytes = place == "cpu" and definition.byte_tile is not None and multiplies_bytes()
    batch_size, columns = definition.byte_tile if with_bytes and definition.byte_tile else definition.tile
    return NumpyCounter(geometry, candidates, block_size or columns, with_bytes, batch_size)


def multiplies_bytes() -> bool:
    """Tell whether torch multiplies matrices of 8-bit integers fast and exactly on this processor.

    The product is fast if torch uses AVX512. To test whether it is exact, the function multiplies two matrices of the
    largest integers: some processors cut off large sums at a limit (saturation).
    """
    torch = load_torch()
    # the largest integers; the next two lines make some rows negative, and alternate the sign within other rows
    factors = np.full((32, 64), 127, dtype=np.int8)
    factors[::3] = -127
    factors[1::3, ::2] = -127
    try:
        product = torch._int_mm(torch.from_numpy(factors), torch.from_numpy(factors).T).numpy()
    except (AttributeError, RuntimeError):
        return False
    wide = factors.astype(np.int32)
    return torch.backends.cpu.get_cpu_capability().startswith("AVX512") and np.array_equal(product, wide @ wide.T)


@contextmanager
def one_thread_each() -> Iterator[Callable[[], None] | None]:
    """Yield a function that sets torch's number of threads to 1; each worker thread calls the function at its start.

    Yields None if torch is not loaded. On exit, torch's earlier number of threads is restored.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield None
        return
    n_threads = torch.get_num_threads()
    try:
        yield lambda: torch.set_num_threads(1)
    finally:
        torch.set_num_threads(n_threads)
