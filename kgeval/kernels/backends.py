"""`make_counter` chooses the counter for a matrix of candidate vectors: a `NumpyCounter` or a `TorchCounter`.

A `NumpyCounter` may use products of 8-bit integers by torch (see `multiplies_bytes`), or of 16-bit integers by numba.
The ranker calls `check_counter_memory` and then `make_counter`, once for each matrix of candidate vectors.
"""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from kgeval.errors import ProtocolError
from kgeval.kernels.arrays import Array, is_on_device, is_tensor, load_torch
from kgeval.kernels.compiled import has_short_product, is_compiled
from kgeval.kernels.counts import Counts, Places
from kgeval.kernels.geometry import GEOMETRIES
from kgeval.kernels.mapped_tables import is_kept
from kgeval.kernels.memory import MEMORY_SHARE, check_fits, device_free_bytes, free_bytes
from kgeval.kernels.numpy_kernels import (
    BYTE_CELL_BYTES,
    CELL_BYTES,
    COMPILED_BYTE_CELL_BYTES,
    COMPILED_CELL_BYTES,
    QUERY_BYTES,
    NumpyCounter,
    even_width,
)
from kgeval.kernels.panels import PANEL
from kgeval.kernels.torch_kernels import TorchCounter
from kgeval.kernels.torch_screens import make_screen

_TORCH_COLUMNS = 4096  # the least width of the tile of a `TorchCounter`, if its number of pairs is given
_MIN_SHORTS = 1000  # with fewer candidates, a compiled product of 16-bit integers gains nothing
_MIN_COLUMNS = 64  # the default tile has at least this many candidates
# The size of the copies is extrapolated from a sample of the candidates. Limits of the sample: rows, and numbers.
_SAMPLE_ROWS, _SAMPLE_NUMBERS = 1024, 1 << 22


class Counter(typing.Protocol):
    """Counts, for each positive of a batch of queries, the candidates with a higher score and with the same score."""

    @property
    def batch_size(self) -> int:
        """The number of queries in one call of `count` for which the time per query is shortest."""

    def count(self, queries: Array, places: Places) -> Counts:
        """Count, for each positive, all candidates and the known answers with a higher and with the same score.

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
    """Return the name of `device`, after checking that this machine has such a device.

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


@dataclass(frozen=True)
class PassPlan:
    """The chosen counter (`NumpyCounter` or `TorchCounter`), and the sizes of batches and blocks.

    Parameters
    ----------
    device : str, optional
        The device of a `TorchCounter`; None for a `NumpyCounter`.
    batch_size, block_size : int
        The numbers of queries and of candidates that are scored together.
    threads : int
        How many batches are counted at the same time.
    multiplier : str, optional
        See `NumpyCounter`.
    """

    device: str | None
    batch_size: int
    block_size: int
    threads: int
    multiplier: str | None = None

    def batch_bytes(self, dimension: int) -> int:
        """Return the bytes that the batches of all threads need, without the copies of the candidates."""
        # a `TorchCounter` chooses blocks that fit into the free memory
        tile_bytes = 0 if self.device else self.cell_bytes * self.block_size
        return self.threads * self.batch_size * (tile_bytes + QUERY_BYTES * dimension)

    @property
    def cell_bytes(self) -> int:
        """The bytes that one cell of a tile needs."""
        if is_compiled():
            return COMPILED_BYTE_CELL_BYTES if self.multiplier else COMPILED_CELL_BYTES
        return BYTE_CELL_BYTES if self.multiplier else CELL_BYTES


def make_counter(
    geometry: str,
    candidates: Array,
    device: Any,
    block_size: int | None = None,
    threads: int = 1,
    batch_size: int | None = None,
) -> Counter:
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
        the device, or a smaller one if little memory is free.
    threads : int
        How many threads will call `count` at the same time.
    batch_size : int, optional
        The number of queries in one call of `count`; by default a number that suits the geometry and the device.

    Returns
    -------
    Counter

    Raises
    ------
    ProtocolError
        If the name of the device is unknown, or this machine has no such device.
    MissingExtra
        If the device needs torch, and torch is not installed.
    OutOfMemory
        If the candidates do not fit into the memory of the device.
    """
    plan = _plan(geometry, candidates, device, block_size, threads, batch_size)
    if plan.device is not None:
        counter = TorchCounter(geometry, candidates, block_size, device=plan.device)
        counter.batch_size = plan.batch_size
        return counter
    return NumpyCounter(geometry, candidates, plan.block_size, plan.multiplier, plan.batch_size)


def tile_shape(geometry: str, candidates: Array, device: Any, n_pairs: int) -> tuple[int, int]:
    """Return the numbers of queries and of candidates of a tile with at most `n_pairs` pairs.

    A tile is as wide as by default, if `n_pairs` suffice; then it has fewer queries. With more pairs than the default
    tile has, it is wider.

    Parameters
    ----------
    geometry, candidates, device
        See `make_counter`.
    n_pairs : int
        The largest number of pairs of a query and a candidate that are scored at once.

    Returns
    -------
    n_queries, n_candidates : int
        At least 1 each; see `batch_size` and `block_size` of `make_counter`.

    Examples
    --------
    >>> candidates = np.ones((10_000, 64), dtype=np.float32)
    >>> [tile_shape("l1", candidates, "numpy", n_pairs) for n_pairs in (100, 8160, 10**6)]
    [(1, 100), (2, 4080), (128, 7812)]
    """
    (rows, columns), n = _default_tile(geometry, candidates, check_device(device)), max(1, len(candidates))
    columns = min(n, n_pairs, max(columns, n_pairs // rows))
    return max(1, n_pairs // columns), columns


def counter_bytes(
    geometry: str,
    candidates: Array,
    device: Any = None,
    block_size: int | None = None,
    threads: int = 1,
    batch_size: int | None = None,
) -> int:
    """Estimate the memory that a counter needs besides `candidates`.

    The estimate is the sum of two parts: the copies of the candidates that the counter prepares, estimated from a small
    sample; and the tiles and queries of each thread. On a GPU, blocks are not counted, because the counter chooses a
    block size that fits into the free memory.

    Parameters
    ----------
    geometry, candidates, device, block_size, threads, batch_size
        See `make_counter`.

    Returns
    -------
    int
        Bytes of host memory, or of GPU memory if the counter runs on a GPU.

    Examples
    --------
    >>> candidates = np.ones((1000, 64), dtype=np.float32)
    >>> counter_bytes("dot", candidates) > counter_bytes("l1", candidates) > candidates.nbytes
    True
    """
    plan = _plan(geometry, candidates, device, block_size, threads, batch_size)
    copied = _copied_bytes(geometry, _sample(candidates), candidates, plan)
    return copied + plan.batch_bytes(candidates.shape[1])


def check_counter_memory(
    geometry: str,
    candidates: Array,
    device: Any = None,
    block_size: int | None = None,
    threads: int = 1,
    batch_size: int | None = None,
) -> int:
    """Check, before `make_counter`, that a counter fits into the free memory.

    Parameters
    ----------
    geometry, candidates, device, block_size, threads, batch_size
        See `make_counter`.

    Returns
    -------
    int
        The estimate of `counter_bytes`.

    Raises
    ------
    OutOfMemory
        If the estimate exceeds the free memory; the message names the settings that would fit.
    """
    need = counter_bytes(geometry, candidates, device, block_size, threads, batch_size)
    plan, (n, d) = _plan(geometry, candidates, device, block_size, threads, batch_size), candidates.shape
    free = free_bytes() if plan.device is None else device_free_bytes(plan.device)
    if free is not None and need > free:
        dtype = str(candidates.dtype).removeprefix("torch.")
        on = "" if plan.device is None else f" on {plan.device}"
        what = f"ranking among {n:,} candidates of {d:,} dimensions ({geometry}, {dtype}){on}"
        check_fits(need, what, _remedy(geometry, candidates, plan, need - plan.batch_bytes(d), free), free)
    return need


def _plan(
    geometry: str, candidates: Array, device: Any, block_size: int | None, threads: int, batch_size: int | None = None
) -> PassPlan:
    """Choose the counter, and the sizes of batches and blocks; see `make_counter`."""
    device = check_device(device)
    (rows, columns), n = _default_tile(geometry, candidates, device), max(1, len(candidates))
    if _is_screened(geometry, candidates, device):
        return PassPlan(device or str(candidates.device), batch_size or rows, block_size or n, threads)
    multiplier = _multiplier(geometry, candidates, device)
    columns = block_size or columns
    width = min(columns, -(-even_width(n, columns) // PANEL) * PANEL)  # rounded up as in `NumpyCounter`
    plan = PassPlan(None, batch_size or rows, width, threads, multiplier)
    free = free_bytes() if block_size is None else None
    if free is not None:
        fitting = free // (MEMORY_SHARE * threads * plan.batch_size * plan.cell_bytes) // 8 * 8
        plan = replace(plan, block_size=min(width, max(_MIN_COLUMNS, fitting)))
    return plan


def _place(candidates: Array, device: str | None) -> str:
    return device or (candidates.device.type if is_tensor(candidates) else "numpy")


def _is_screened(geometry: str, candidates: Array, device: str | None) -> bool:
    """Return whether a `TorchCounter` counts; otherwise, a `NumpyCounter` counts."""
    return _place(candidates, device) not in ("numpy", "cpu") and GEOMETRIES[geometry].screen is not None


def _multiplier(geometry: str, candidates: Array, device: str | None) -> str | None:
    """Return what multiplies integers in the first pass of a `NumpyCounter`; None if there is no such pass."""
    place, (n, d) = _place(candidates, device), candidates.shape
    if GEOMETRIES[geometry].byte_tile is None or place not in ("numpy", "cpu"):
        return None
    if place == "cpu" and multiplies_bytes():
        return "torch"
    return "numba" if n >= _MIN_SHORTS and is_kept(n * d) and has_short_product() else None


def _default_tile(geometry: str, candidates: Array, device: str | None) -> tuple[int, int]:
    """Return the default numbers of queries and candidates that are scored at once, if there is enough memory."""
    if _is_screened(geometry, candidates, device):
        return TorchCounter.batch_size, _TORCH_COLUMNS
    definition = GEOMETRIES[geometry]
    byte_tile = definition.byte_tile if _multiplier(geometry, candidates, device) else None
    return byte_tile or definition.tile


def _sample(candidates: Array) -> Array:
    """Return the first candidates as a sample for `_copied_bytes`; tensors are copied to the host."""
    sample = candidates[: min(_SAMPLE_ROWS, max(1, _SAMPLE_NUMBERS // candidates.shape[1]))]
    return sample.detach().cpu() if is_tensor(sample) else sample


def _copied_bytes(geometry: str, sample: Array, candidates: Array, plan: PassPlan) -> int:
    """Estimate the bytes of the copies of `candidates` that a counter prepares, from the copies of `sample`."""
    factor = len(candidates) / max(1, len(sample))
    if plan.device is None:
        counter = NumpyCounter(geometry, sample, plan.block_size, plan.multiplier)
        # the host needs a copy of a table on a GPU, and of a tensor of 16-bit numbers
        held = sum(_held_bytes([counter.candidates], None if is_on_device(candidates) else sample))
        sizes = _held_bytes([counter.order, counter.column_of, *counter.passes], counter.candidates)
        # arrays with one number for each candidate are always kept; a converted table only if it is not too large
        held += sum(size for size in sizes if size <= 8 * len(sample) or is_kept(int(size * factor)))
    else:
        torch = load_torch()
        sample = torch.as_tensor(sample)
        wide = sample if sample.dtype == torch.float64 else sample.float()
        screen = make_screen(geometry, wide, torch.float16)
        # the copies of the table itself: one if it has to be moved, one if its dtype has to be widened
        is_moved = not is_on_device(candidates) or plan.device not in (str(candidates.device), candidates.device.type)
        held = sum(_held_bytes([screen], wide)) + is_moved * sample.nbytes + (wide is not sample) * wide.nbytes
    return int(held * factor)


def _held_bytes(parts: list[Any], besides: Array | None) -> list[int]:
    """Return the size in bytes of each array and tensor in `parts`, also in the fields of dataclasses in `parts`.

    The array `besides` is left out.
    """
    sizes: dict[int, int] = {}  # address of the memory -> bytes, so that no memory is counted twice
    while parts:
        part = parts.pop()
        if is_tensor(part):
            sizes[part.data_ptr()] = part.nbytes
        elif isinstance(part, np.ndarray):
            sizes[part.ctypes.data] = part.nbytes
        elif is_dataclass(part):
            parts += vars(part).values()
    if besides is not None:
        sizes.pop(besides.data_ptr() if is_tensor(besides) else besides.ctypes.data, None)
    return list(sizes.values())


def _remedy(geometry: str, candidates: Array, plan: PassPlan, copied: int, free: int) -> str:
    """Return the advice for an error message: each setting that suffices alone, with the largest value that fits."""
    (n, d), settings, left = candidates.shape, [], free - copied
    per_thread, per_query = replace(plan, threads=1).batch_bytes(d), replace(plan, batch_size=1).batch_bytes(d)
    if 1 <= left // per_thread < plan.threads:
        settings.append(f"executor=kgeval.executors.Threads({left // per_thread})")
    if 1 <= left // per_query < plan.batch_size:
        settings.append(f"batch_size={left // per_query * min(n, plan.block_size)}")
    elif left < per_query and plan.device is None:  # a part of the candidates of one query
        n_columns = (left - plan.threads * QUERY_BYTES * d) // (plan.threads * plan.cell_bytes)
        settings += [f"batch_size={n_columns}"] if n_columns >= 1 else []
    if settings:
        return f"Set {' or '.join(settings)}, or a smaller value"
    if "float64" in str(candidates.dtype):
        sample = _sample(candidates)
        single = sample.float() if is_tensor(sample) else sample.astype(np.float32)
        smallest = replace(plan, threads=1, batch_size=1).batch_bytes(d)
        if _copied_bytes(geometry, single, candidates, plan) + smallest <= free + 4 * n * d:
            return "Store the parameters as float32"
    place = "a machine with more memory" if plan.device is None else "device='cpu'"
    return f"Rank among fewer candidates, or use {place}"


def multiplies_bytes() -> bool:
    """Return whether torch multiplies matrices of 8-bit integers fast and exactly on this processor.

    The product is fast if torch uses AVX512.
    """
    torch = load_torch()
    multiply = getattr(torch, "_int_mm", None)
    is_fast = torch.backends.cpu.get_cpu_capability().startswith("AVX512")
    return is_fast and multiply is not None and _is_exact(multiply)


@cache
def _is_exact(multiply: Callable[..., Any]) -> bool:
    """Return whether a function of torch multiplies two matrices of the largest 8-bit integers exactly.

    Some processors cut off large sums at a limit (saturation).
    """
    torch = load_torch()
    # the largest integers; the next two lines make some rows negative, and alternate the sign within other rows
    factors = np.full((32, 64), 127, dtype=np.int8)
    factors[::3] = -127
    factors[1::3, ::2] = -127
    try:
        product = multiply(torch.from_numpy(factors), torch.from_numpy(factors).T).numpy()
    except RuntimeError:
        return False
    wide = factors.astype(np.int32)
    return np.array_equal(product, wide @ wide.T)


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
