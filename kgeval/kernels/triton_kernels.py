"""The fused kernel for CUDA: `count_and_collect` multiplies, compares and counts without writing a matrix of scores.

`TorchCounter` calls this function for ``dot`` and ``l2``. One program of the kernel handles one tile of queries x
candidates:

1. It multiplies the rounded vectors of the tile on the tensor cores, and sums in float32.
2. While the products are in registers, it compares them with the interval `low`..`high` of each positive. A candidate
   with a product above `high` certainly scores higher than the positive, and is counted. A candidate with a product
   from `low` to `high` is open, and the pair of positive and candidate is appended to a list.
   `torch_screens` proves the intervals.

Groups: a row of a tile is not a query but a group of at most four positives of one query (a query with more positives
has several rows). A program compares its tile once for each positive of its largest group. Groups are sorted by size,
so that the groups of a tile have about equal sizes.

The list has a fixed capacity. For each positive and tile, one atomic addition to a 64-bit cursor reserves slots in the
list. If the list is full, the cursor still counts, so that at the end it holds the total number of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.base.checks import Ids
from kgeval.errors import MissingExtra

if TYPE_CHECKING:
    import torch

tl: Any = (
    None  # the module triton.language, under the name that the kernel reads; set on first use (triton is optional)
)

_GROUP = 4  # the largest number of positives in a group
_ROWS, _COLUMNS, _DEPTH = 128, 64, 64  # the largest tile whose comparison spills no register (sm_80, sm_90)
_kernels: list[Any] = []  # the compiled kernel, after the first call


@dataclass(frozen=True)
class RowGroups:
    """Groups of at most four consecutive positives of one query; the groups are sorted by size, largest first.

    Parameters
    ----------
    query : int64 tensor, shape (groups,)
        The query of each group.
    first : int64 tensor, shape (groups,)
        The first positive of each group.
    size : int32 tensor, shape (groups,)
        The number of positives of each group.
    """

    query: torch.Tensor
    first: torch.Tensor
    size: torch.Tensor


def make_groups(rows: Ids, device: torch.device) -> RowGroups:
    """Divide the positives of each query into groups of at most four.

    Parameters
    ----------
    rows : int64 array, shape (positives,)
        The query of each positive, ascending.
    device : torch.device
        The device on which the kernel will read the groups.

    Returns
    -------
    RowGroups
        For example, five positives of query 0 and one of query 1 make the groups (query 0, first 0, size 4),
        (query 0, first 4, size 1) and (query 1, first 5, size 1).
    """
    import torch

    # For each query with a positive: its index, its first positive, its number of positives, its number of groups.
    queries, starts, counts = np.unique(rows, return_index=True, return_counts=True)
    n_groups = -(-counts // _GROUP)
    # For each group: the number of groups of earlier queries; its index among the groups of its query; its size.
    before = np.repeat(np.cumsum(n_groups) - n_groups, n_groups)
    nth = np.arange(len(before)) - before
    sizes = np.minimum(_GROUP, np.repeat(counts, n_groups) - _GROUP * nth)
    order = np.argsort(-sizes, kind="stable")  # the groups, largest first
    columns = (np.repeat(queries, n_groups), np.repeat(starts, n_groups) + _GROUP * nth, sizes.astype(np.int32))
    return RowGroups(*(torch.from_numpy(np.ascontiguousarray(column[order])).to(device) for column in columns))


def is_available(device: torch.device) -> bool:
    """Return whether the kernel runs on `device`: it needs triton, and a GPU with CUDA compute capability 8.0 or more.

    On older GPUs triton does not use the tensor cores; there, torch's matrix product is faster.

    Parameters
    ----------
    device : torch.device

    Returns
    -------
    bool
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
    """Count, for each positive, the products above `high`, and list the pairs with a product from `low` to `high`.

    A product is the dot product of the query of the positive with a candidate; a pair is a positive and a candidate.

    Parameters
    ----------
    queries, candidates : float16 or bfloat16 tensors, shapes (queries, d) and (candidates, d)
        On one device; the numbers of a row are contiguous. Not modified.
    groups : RowGroups
    low, high : float32 tensors, shape (positives,)
        The ends of the interval of each positive. If both are +infinity, nothing is counted or listed for the positive.
    capacity : int
        The largest number of pairs that can be listed; must be below 2**30.

    Returns
    -------
    (above, positives, columns) or None
        `above`, int32, shape (positives,): how many products are above `high`. `positives` and `columns`, int64, shape
        (pairs,): the positive and the candidate of each listed pair, in arbitrary order. None if there are more
        than `capacity` pairs.

    Raises
    ------
    MissingExtra
        If triton is not installed.
    """
    import torch

    kernel = _kernel()
    above = torch.zeros(len(low), dtype=torch.int32, device=low.device)
    cursor = torch.zeros(1, dtype=torch.int64, device=low.device)
    # Each pair is one int64: the positive in the upper 32 bits, the column in the lower 32 bits.
    listed = torch.empty(max(1, capacity), dtype=torch.int64, device=low.device)
    tiles = (-(-len(groups.query) // _ROWS), -(-len(candidates) // _COLUMNS))
    if not all(tiles):
        return above, listed[:0], listed[:0]
    kernel[tiles](
        *(queries, candidates, groups.query, groups.first, groups.size, low, high, above, cursor, listed),
        *(len(groups.query), len(candidates), queries.shape[1], queries.stride(0), candidates.stride(0), capacity),
        ROWS=_ROWS,
        COLUMNS=_COLUMNS,
        DEPTH=_DEPTH,
        num_warps=8,
        num_stages=3,
    )
    n_pairs = int(cursor.item())
    return (above, listed[:n_pairs] >> 32, listed[:n_pairs] & 0xFFFFFFFF) if n_pairs <= capacity else None


def _kernel() -> Any:
    """Return the kernel; triton compiles the kernel at its first call."""
    if not _kernels:
        try:
            triton, language = import_module("triton"), import_module("triton.language")
        except ImportError as error:
            raise MissingExtra('the fused kernel needs triton; pip install "kgeval[torch]"') from error
        globals()["tl"] = language
        _kernels.append(triton.jit(_multiply_compare_count))
    return _kernels[0]


def _multiply_compare_count(  # type: ignore[no-untyped-def]  # triton gives the annotations its own meaning
    queries,
    candidates,
    group_query,
    group_first,
    group_size,
    low,
    high,
    above,
    cursor,
    listed,
    n_groups,
    n_candidates,
    d,
    query_stride,
    candidate_stride,
    capacity,
    ROWS: tl.constexpr,  # noqa: N803 - triton's convention: capital letters for constants of the compiled kernel
    COLUMNS: tl.constexpr,  # noqa: N803
    DEPTH: tl.constexpr,  # noqa: N803
):
    # The program handles one tile. group, query: (ROWS,); column, the candidates: (COLUMNS,).
    group = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    is_group, is_column = group < n_groups, column < n_candidates
    query = tl.load(group_query + group, mask=is_group, other=0)
    # Pointers to the first number of each query, (ROWS, 1), and of each candidate, (1, COLUMNS).
    query_at = queries + query.to(tl.int64)[:, None] * query_stride
    candidate_at = candidates + column.to(tl.int64)[None, :] * candidate_stride
    # The products of all pairs of the tile, summed over DEPTH dimensions at a time.
    scores = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, d, DEPTH):
        depth = start + tl.arange(0, DEPTH)
        q = tl.load(query_at + depth[None, :], mask=is_group[:, None] & (depth < d)[None, :], other=0.0)
        e = tl.load(candidate_at + depth[:, None], mask=(depth < d)[:, None] & is_column[None, :], other=0.0)
        scores = tl.dot(q, e, scores)
    # (ROWS,): first positive and size of each group. Step k handles positive k of each group that has a positive k.
    first = tl.load(group_first + group, mask=is_group, other=0)
    size = tl.load(group_size + group, mask=is_group, other=0)
    for k in range(tl.max(size, axis=0)):
        is_positive = k < size
        positive = first + k
        bottom = tl.load(low + positive, mask=is_positive, other=float("inf"))
        top = tl.load(high + positive, mask=is_positive, other=float("inf"))
        # (ROWS, COLUMNS): the cells to compare; the cells above the interval; the cells in the interval
        is_cell = is_positive[:, None] & is_column[None, :]
        is_above = is_cell & (scores > top[:, None])
        is_near = is_cell & (scores >= bottom[:, None]) & (scores <= top[:, None])
        tl.atomic_add(above + positive, tl.sum(is_above.to(tl.int32), axis=1), mask=is_positive, sem="relaxed")
        n_near = tl.sum(is_near.to(tl.int32), axis=1)
        if tl.sum(n_near, axis=0) > 0:
            # `base`, (ROWS,): the first slot reserved for each positive. There is only one cursor; adding
            # zero times `positive` makes one pointer to the cursor for each row.
            base = tl.atomic_add(cursor + 0 * positive, n_near.to(tl.int64), mask=n_near > 0, sem="relaxed")
            # `slot`, (ROWS, COLUMNS): the slot of each open cell: `base` plus the cell's index in its row
            slot = tl.minimum(base, capacity).to(tl.int32)[:, None] + tl.cumsum(is_near.to(tl.int32), axis=1) - 1
            pair = (positive.to(tl.int64) << 32)[:, None] + column.to(tl.int64)[None, :]
            tl.store(listed + slot, pair, mask=is_near & (slot < capacity))
