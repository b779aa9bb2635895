"""Measure the memory that this process may still allocate, and raise an error before a run that would not fit.

`free_bytes` reads the limits of the machine, of the container and of the process. `check_fits` compares these limits
with the needs of a computation. `kgeval.kernels.backends` estimates the needs of the counters of embedding models.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from kgeval.errors import OutOfMemory

MEMORY_SHARE = 8  # if the block size depends on the free memory, a block takes at most 1/8 of the free memory

RECENT_SECONDS = 0.1  # a measurement is used again for this time; reading the files of the system takes 0.6 ms
_recent: list[tuple[float, int | None]] = []  # the time and the result of the last measurement; empty before the first
_SIGNS = (
    "out of memory",
    "RESOURCE_EXHAUSTED",
    "can't allocate memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "when calling `cublasCreate",
)
_V1_LIMITS = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
_V2_LIMITS = ("memory.max", "memory.current", "")


def free_bytes(root: str | os.PathLike[str] = "/") -> int | None:
    """Return how many bytes of memory this process may still allocate.

    The result is the smallest of these numbers; a number that the system does not report is left out:

    - the memory that is available on the machine (``MemAvailable``, without swap);
    - the unused part of the memory limits of the process's control groups (versions 1 and 2), for example the limit of
      a container; file pages that the kernel can drop count as free;
    - the unused part of the limit of the process's address space (``ulimit -v``).

    Parameters
    ----------
    root : path
        The folder that contains ``proc`` and ``sys``.

    Returns
    -------
    int or None
        Not negative. None if the system reports none of these numbers, as on macOS and Windows.

    Examples
    --------
    >>> free = free_bytes()
    >>> free is None or free >= 0
    True
    """
    if str(root) != "/":
        return _read_free_bytes(Path(root))
    now = time.monotonic()
    if not _recent or now - _recent[-1][0] > RECENT_SECONDS:
        _recent[:] = [(now, _read_free_bytes(Path(root)))]
    return _recent[-1][1]


def _read_free_bytes(root: Path) -> int | None:
    """Read the numbers that `free_bytes` describes, and return the smallest."""
    known = [_available(root), *_left_in_groups(root), _left_of_address_space(root)]
    return min((max(0, n) for n in known if n is not None), default=None)


def device_free_bytes(device: Any) -> int | None:
    """Return how many bytes of the memory of a device this process may still allocate.

    Parameters
    ----------
    device : str or torch.device
        For a CUDA device, the memory in torch's cache counts as free.

    Returns
    -------
    int or None
        For any other device, the result of `free_bytes`.
    """
    torch = sys.modules.get("torch")
    if torch is None or not str(device).startswith("cuda"):
        return free_bytes()
    free, _ = torch.cuda.mem_get_info(device)
    return int(free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error, or an error that caused it, means that the memory of the host or of a GPU ran out.

    Parameters
    ----------
    error : exception

    Returns
    -------
    bool

    Examples
    --------
    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("CUDA error: out of memory"))
    (True, True)
    >>> is_out_of_memory(RuntimeError("shapes do not match"))
    False
    """
    if error is None or isinstance(error, MemoryError):
        return error is not None
    # libraries report a lack of memory as a RuntimeError (torch.cuda.OutOfMemoryError is a subclass)
    is_sign = isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)
    return is_sign or is_out_of_memory(error.__cause__)


def size_text(n_bytes: float) -> str:
    """Return a number of bytes as text, with a suitable unit.

    Parameters
    ----------
    n_bytes : float
        Not negative.

    Returns
    -------
    str

    Examples
    --------
    >>> size_text(700), size_text(1536), size_text(123456789), size_text(2.5e12)
    ('700 bytes', '1.5 KiB', '118 MiB', '2.27 TiB')
    """
    size, unit = float(n_bytes), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 999.5:
            break
        size, unit = size / 1024, larger
    return f"{size:.3g} {unit}"


def check_fits(n_bytes: float, what: str, remedy: str, free: int | None = None) -> None:
    """Raise an error if a computation needs more memory than is free.

    Parameters
    ----------
    n_bytes : float
        The number of bytes that the computation needs.
    what : str
        The subject of the message, e.g. "a batch of 4,096 queries x 5,000,000 candidates".
    remedy : str
        The end of the message: advice for the user, with the value that would fit.
    free : int, optional
        The free memory in bytes; by default, the result of `free_bytes`.

    Raises
    ------
    OutOfMemory
        If `n_bytes` exceeds the free memory. If the free memory is unknown, nothing is raised.

    Examples
    --------
    >>> what = "a batch of 512 queries x 8,388,608 candidates"
    >>> check_fits(2**34, what, "Set batch_size=268435456", free=2**31)
    Traceback (most recent call last):
        ...
    kgeval.errors.OutOfMemory: a batch of 512 queries x 8,388,608 candidates needs 16 GiB of memory; 2 GiB are free. \
Set batch_size=268435456
    """
    free = free_bytes() if free is None else free
    if free is not None and n_bytes > free:
        raise OutOfMemory(f"{what} needs {size_text(n_bytes)} of memory; {size_text(free)} are free. {remedy}")


def check_row_memory(n_queries: int, n_candidates: int) -> None:
    """Check that whole rows of scores, in float64, fit into the free memory.

    Parameters
    ----------
    n_queries : int
        The number of queries that are scored at once.
    n_candidates : int

    Raises
    ------
    OutOfMemory
        If the rows exceed the free memory; the message names the largest batch size that fits.
    """
    row_bytes, free = 8 * n_candidates, free_bytes()
    fitting = 0 if free is None else free // row_bytes
    check_fits(
        n_queries * row_bytes,
        f"a batch of {n_queries:,} queries x {n_candidates:,} candidates",
        f"Set batch_size={fitting * n_candidates} or less" if fitting else "Rank among fewer candidates",
        free,
    )


def _available(root: Path) -> int | None:
    """Return the bytes that the kernel can allocate without swapping (``MemAvailable``); None if unknown."""
    for line in _read(root / "proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            kibibytes = _number(value.removesuffix("kB"))
            return None if kibibytes is None else 1024 * kibibytes
    return None


def _left_in_groups(root: Path) -> list[int]:
    """Return the free bytes under the memory limits of this process's control groups and of their parent groups."""
    left = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "memory" in controllers.split(","):
            mounts, names = ["sys/fs/cgroup/memory"], _V1_LIMITS
        elif number == "0" and not controllers:
            mounts, names = ["sys/fs/cgroup", "sys/fs/cgroup/unified"], _V2_LIMITS
        else:
            continue
        # In a container, `path` can be the path of the group on the host. Then only the mount itself exists here (the
        # last folder for each mount), and the mount is the container's group.
        parts = [part for part in path.split("/") if part not in ("", "..")]
        folders = [root / mount / Path(*parts[:depth]) for mount in mounts for depth in range(len(parts), -1, -1)]
        left += [n for n in (_left_in_group(folder, *names) for folder in folders) if n is not None]
    return left


def _left_in_group(folder: Path, limit_name: str, use_name: str, prefix: str) -> int | None:
    """Return the limit of a control group minus its use, not counting file pages, which the kernel can drop."""
    limit, use = _number(_read(folder / limit_name)), _number(_read(folder / use_name))
    if limit is None or use is None:
        return None
    sizes = dict(line.split(" ", 1) for line in _read(folder / "memory.stat").splitlines() if " " in line)
    names = f"{prefix}inactive_file", f"{prefix}active_file"  # active: read more than once
    return limit - use + sum(_number(sizes.get(name, "0")) or 0 for name in names)


def _left_of_address_space(root: Path) -> int | None:
    """Return the free bytes under the limit of this process's address space; None without a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _number(_read(root / "proc/self/statm").partition(" ")[0])
    if limit == resource.RLIM_INFINITY or pages is None:
        return None
    return limit - pages * resource.getpagesize()


def _read(path: Path) -> str:
    """Return the text of a system file; an empty text if the file cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _number(text: str) -> int | None:
    """Return the number in `text`; None if the text is no number, such as "max"."""
    text = text.strip()
    return int(text) if text.isdecimal() else None
