"""One kernel for CUDA that multiplies, compares and counts, and never writes a matrix of scores.

A program takes a tile of queries and candidates, multiplies their rounded vectors on the tensor cores with float32
accumulation, and compares the products with two thresholds of each positive while they are still in registers:
above the higher one a candidate is certainly better, and counted; between them it is undecided, and the pair is
appended to a list. What the thresholds must be is derived in `torch_screens`.

A query with several positives is taken in groups of at most four, so that a tile is compared as often as its fullest
group demands; groups of like size stand together. The list is bounded: one atomic addition per positive and tile
reserves its places, in 64 bits, so that the cursor tells how many there would have been also where they did not fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.checks import Ids
from kgeval.errors import MissingExtra

if TYPE_CHECKING:
    import torch

tl: Any = None  # triton.language, found here by the compiled kernel; loaded on first use, since triton is optional

_GROUP = 4
_ROWS, _COLUMNS, _DEPTH = 128, 64, 64  # the largest tile whose comparing and listing spills no register (sm_80, sm_90)
_kernels: list[Any] = []


@dataclass(frozen=True)
class RowGroups:
    """Positives of one query, at most four together.

    Parameters
    ----------
    query : int64 tensor, shape (groups,)
        Row of the queries.
    first : int64 tensor, shape (groups,)
        The first of the group's positives, which follow each other.
    size : int32 tensor, shape (groups,)
        Descending.
    """

    query: torch.Tensor
    first: torch.Tensor
    size: torch.Tensor


def make_groups(rows: Ids, device: torch.device) -> RowGroups:
    """Return the groups of positives whose queries are the ascending `rows`, on `device`."""
    import torch

    queries, starts, counts = np.unique(rows, return_index=True, return_counts=True)
    n_groups = -(-counts // _GROUP)
    before = np.repeat(np.cumsum(n_groups) - n_groups, n_groups)
    nth = np.arange(len(before)) - before
    sizes = np.minimum(_GROUP, np.repeat(counts, n_groups) - _GROUP * nth)
    order = np.argsort(-sizes, kind="stable")
    columns = (np.repeat(queries, n_groups), np.repeat(starts, n_groups) + _GROUP * nth, sizes.astype(np.int32))
    return RowGroups(*(torch.from_numpy(np.ascontiguousarray(column[order])).to(device) for column in columns))


def is_available(device: torch.device) -> bool:
    """Tell whether the kernel runs on `device`: CUDA of compute capability 8 or more, and triton is installed.

    For older GPUs triton makes no use of the tensor cores, and a product that is written out is faster.
    """
    import torch

    return (
        device.type == "cuda" and find_spec("triton") is not None and torch.cuda.get_device_capability(device) >= (8, 0)
    )


def count_and_collect(
    queries: torch.Tensor,
    candidates: torch.Tensor,
    groups: RowGroups,
    low: torch.Tensor,
    high: torch.Tensor,
    capacity: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None:
    """Count the products above `high`, and list the pairs of positive and candidate between the thresholds.

    Parameters
    ----------
    queries, candidates : float16 or bfloat16 tensors, shapes (queries, d) and (candidates, d)
        On one device, numbers of a row next to each other. Not modified.
    groups : RowGroups
    low, high : float32 tensors, shape (positives,)
        Both +infinity where a positive is neither to be counted nor listed.
    capacity : int
        The most pairs that are listed, below 2**30.

    Returns
    -------
    (above, positives, columns) or None
        int32, shape (positives,), and the listed pairs, int64, in no particular order; None where there are more
        than `capacity`.

    Raises
    ------
    MissingExtra
        If triton is not installed.
    """
    import torch

    kernel = _kernel()
    above = torch.zeros(len(low), dtype=torch.int32, device=low.device)
    cursor = torch.zeros(1, dtype=torch.int64, device=low.device)
    found = torch.empty(max(1, capacity), dtype=torch.int64, device=low.device)
    tiles = (-(-len(groups.query) // _ROWS), -(-len(candidates) // _COLUMNS))
    if not all(tiles):
        return above, found[:0], found[:0]
    kernel[tiles](
        *(queries, candidates, groups.query, groups.first, groups.size, low, high, above, cursor, found),
        *(len(groups.query), len(candidates), queries.shape[1], queries.stride(0), candidates.stride(0), capacity),
        ROWS=_ROWS,
        COLUMNS=_COLUMNS,
        DEPTH=_DEPTH,
        num_warps=8,
        num_stages=3,
    )
    n_found = int(cursor.item())
    return (above, found[:n_found] >> 32, found[:n_found] & 0xFFFFFFFF) if n_found <= capacity else None


def _kernel() -> Any:
    """Return the compiled kernel."""
    if not _kernels:
        try:
            triton, language = import_module("triton"), import_module("triton.language")
        except ImportError as error:
            raise MissingExtra('the fused kernel needs triton; pip install "kgeval[torch]"') from error
        globals()["tl"] = language
        _kernels.append(triton.jit(_multiply_compare_count))
    return _kernels[0]


def _multiply_compare_count(  # type: ignore[no-untyped-def]  # triton reads the annotations as its own
    queries,
    candidates,
    group_query,
    group_first,
    group_size,
    low,
    high,
    above,
    cursor,
    found,
    n_groups,
    n_candidates,
    d,
    query_stride,
    candidate_stride,
    capacity,
    ROWS: tl.constexpr,  # noqa: N803 - triton's way to name what is fixed when the kernel is compiled
    COLUMNS: tl.constexpr,  # noqa: N803
    DEPTH: tl.constexpr,  # noqa: N803
):
    group = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    is_group, is_column = group < n_groups, column < n_candidates
    query = tl.load(group_query + group, mask=is_group, other=0)
    query_at = queries + query.to(tl.int64)[:, None] * query_stride
    candidate_at = candidates + column.to(tl.int64)[None, :] * candidate_stride
    scores = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, d, DEPTH):
        depth = start + tl.arange(0, DEPTH)
        q = tl.load(query_at + depth[None, :], mask=is_group[:, None] & (depth < d)[None, :], other=0.0)
        e = tl.load(candidate_at + depth[:, None], mask=(depth < d)[:, None] & is_column[None, :], other=0.0)
        scores = tl.dot(q, e, scores)
    first = tl.load(group_first + group, mask=is_group, other=0)
    size = tl.load(group_size + group, mask=is_group, other=0)
    for k in range(tl.max(size, axis=0)):
        is_positive = k < size
        positive = first + k
        bottom = tl.load(low + positive, mask=is_positive, other=float("inf"))
        top = tl.load(high + positive, mask=is_positive, other=float("inf"))
        is_cell = is_positive[:, None] & is_column[None, :]
        is_above = is_cell & (scores > top[:, None])
        is_near = is_cell & (scores >= bottom[:, None]) & (scores <= top[:, None])
        tl.atomic_add(above + positive, tl.sum(is_above.to(tl.int32), axis=1), mask=is_positive, sem="relaxed")
        n_near = tl.sum(is_near.to(tl.int32), axis=1)
        if tl.sum(n_near, axis=0) > 0:
            # every positive adds to the one cursor; zero times its number makes a pointer for each
            base = tl.atomic_add(cursor + 0 * positive, n_near.to(tl.int64), mask=n_near > 0, sem="relaxed")
            slot = tl.minimum(base, capacity).to(tl.int32)[:, None] + tl.cumsum(is_near.to(tl.int32), axis=1) - 1
            pair = (positive.to(tl.int64) << 32)[:, None] + column.to(tl.int64)[None, :]
            tl.store(found + slot, pair, mask=is_near & (slot < capacity))
