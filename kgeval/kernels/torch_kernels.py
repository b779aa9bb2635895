"""Count better and equal candidates on the device of the tensors; `TorchCounter` counts for embedding vectors.

A GPU sends back integers and the positives' scores, never a matrix of scores. `backends.make_counter` makes the
counter; `kgeval.kernels.rows` calls the functions for rows.

`TorchCounter` computes approximate scores (screening scores) for one block of candidates after another, with the error
bounds that `torch_screens` proves. Each positive has an interval of screening scores. A candidate whose screening score
is above the interval is better, a candidate below the interval is worse, and a candidate in the interval is open
and scored exactly. For a block of candidates, a positive is crowded if more than 64 candidates, and more than a quarter
of the block, are open; then all candidates of the block are scored exactly with the query of the positive. On CUDA
a fused kernel (`triton_kernels`) multiplies and compares without writing the screening scores to memory.

When the device runs out of memory, the work is repeated in smaller parts: parts of rows or pairs (`for_parts`), or
blocks of half the width. Counts are added only when a part is complete, so a repetition counts nothing twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kgeval.base.checks import Ids, check_one_of, check_positive_int
from kgeval.errors import OutOfMemory
from kgeval.kernels import triton_kernels
from kgeval.kernels.arrays import fetched, is_tensor, load_torch
from kgeval.kernels.counts import Counts, Places
from kgeval.kernels.geometry import GEOMETRIES
from kgeval.kernels.memory import MEMORY_SHARE, device_free_bytes, is_out_of_memory, size_text
from kgeval.kernels.torch_screens import (
    ProductScreen,
    Ready,
    Screen,
    budget,
    exact_tensor_pairs,
    for_parts,
    make_screen,
)

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")

_MIN_CROWD, _CROWD = 64, 4  # a positive is crowded if more than 64 candidates, and more than 1 in 4, are open
_MIN_WIDTH = 256  # the default block has at least this many candidates
_MIN_BYTES = 1 << 22  # rows with at most this many bytes in total may always be copied together
_LISTED = 64  # the list of the fused kernel has space for 1 in 64 pairs


@dataclass
class _TensorJob:
    """The prepared input of one call of `TorchCounter.count`.

    `ready` holds the prepared queries. `positives`, float64, shape (positives,), holds the positives' exact scores.
    `rows` (on the host) and `row_index` (on the device) both hold the query of each positive.
    """

    queries: Tensor
    ready: Ready
    rows: Ids
    row_index: Tensor
    positives: Tensor
    groups: triton_kernels.RowGroups | None


class TorchCounter:
    """Counts candidates for embedding vectors that are torch tensors; the counts equal those of exact scores.

    Parameters
    ----------
    geometry : str
        ``"dot"``, ``"l1"``, ``"l2"`` or ``"modulus"``.
    candidates : float tensor or array, shape (candidates, d)
        Finite; copied to `device` if necessary. The device must support float64. float16 and bfloat16 become float32,
        which changes no value. Not modified.
    block_size : int, optional
        The largest number of candidates that are screened together. By default, as many as fit a cache (CPU) or keep a
        GPU busy.
    screening : torch.dtype, optional
        The dtype to which ``dot`` and ``l2`` round vectors for screening; see `torch_screens.make_screen`. The
        choice changes the time, never a count.
    device : str or torch.device, optional
        By default the device of the tensor `candidates`.

    Attributes
    ----------
    batch_size : int
        The number of queries that keeps a GPU busy.
    block_size : int or None
        The given number; a smaller number after the device ran out of memory.
    is_fused : bool
        Whether the Triton kernel computes the screening scores: for ``dot`` and ``l2`` with 16-bit numbers, if
        `triton_kernels.is_available`.
    """

    batch_size = 4096

    def __init__(
        self, geometry: str, candidates: Any, block_size: int | None = None, screening: Any = None, device: Any = None
    ) -> None:
        torch = load_torch()
        self.geometry = check_one_of("geometry", geometry, GEOMETRIES)
        self.block_size = None if block_size is None else check_positive_int("block_size", block_size)
        device = candidates.device if device is None else device

        def prepare() -> tuple[Tensor, Screen]:
            with warnings.catch_warnings():  # torch warns about read-only arrays, but these are only read here
                warnings.simplefilter("ignore", UserWarning)
                table = candidates if is_tensor(candidates) else np.asarray(candidates)
                vectors = torch.as_tensor(table, device=device).detach()
            wide = vectors if vectors.dtype in (torch.float32, torch.float64) else vectors.float()
            return wide, make_screen(geometry, wide, screening)

        with torch.no_grad():
            self.candidates, self.screen = _twice(prepare, f"{len(candidates):,} candidates", device, _ON_DEVICE)
        is_half = isinstance(self.screen, ProductScreen) and self.screen.dtype != torch.float32
        self.is_fused = is_half and triton_kernels.is_available(self.candidates.device)

    def count(self, queries: Any, places: Places) -> Counts:
        """Count, for each positive, all candidates and the known answers with a higher and with the same score.

        Parameters
        ----------
        queries : float64 tensor or array, shape (queries, d)
            Finite; copied to the candidates' device if necessary. Not modified.
        places : Places

        Returns
        -------
        Counts
            Equal to the counts from `geometry.exact_scores`; the scores are float64.

        Raises
        ------
        OutOfMemory
            If the queries, or even a block of one candidate, do not fit into the device's memory.
        """
        torch = load_torch()
        with torch.no_grad():
            device = self.candidates.device
            what = f"{len(queries):,} queries"
            job, known_counts = _twice(lambda: self._prepare(queries, places), what, device, _FEWER)
            better, equal = torch.zeros((2, len(job.positives)), dtype=torch.int64, device=device)
            start, n = 0, len(self.candidates)
            width, is_halved = min(n, self._width(job)), False
            while start < n and len(job.positives):
                block = slice(start, min(start + width, n))
                try:
                    block_better, block_equal = self._count_block(job, block)
                    start = block.stop
                except RuntimeError as error:
                    if not is_out_of_memory(error):
                        raise
                    width, is_halved = _half_of(block, job, error), True
                if start < block.stop:  # after `except`: inside it, the error keeps the failed call's tensors in memory
                    torch.cuda.empty_cache()
                    continue
                if is_halved:  # another thread may already have set a smaller block size; then keep the smaller size
                    self.block_size = min(width, self.block_size or width)
                better += block_better
                equal += block_equal
        return Counts(*map(fetched, (better, equal, *known_counts, job.positives)))

    def _prepare(self, queries: Any, places: Places) -> tuple[_TensorJob, tuple[Tensor, Tensor]]:
        """Return the prepared input, and the counts (better, equal) among the known answers."""
        queries = load_torch().as_tensor(queries, device=self.candidates.device).detach()
        rows, answers, known_rows, known = _on_device(places, queries)
        scores = exact_tensor_pairs(self.geometry, queries, self.candidates, rows, answers)
        known_scores = exact_tensor_pairs(self.geometry, queries, self.candidates, known_rows, known)
        known_counts = _count_known(rows, known_rows, scores, known_scores)
        ready = self.screen.prepare(queries, rows, scores)
        groups = triton_kernels.make_groups(places.rows, queries.device) if self.is_fused else None
        return _TensorJob(queries, ready, places.rows, rows, scores, groups), known_counts

    def _width(self, job: _TensorJob) -> int:
        """Return the number of candidates that are screened together."""
        if self.block_size:
            return self.block_size
        # A distance screen on the CPU reads and writes its whole tile once for each dimension, so a tile must fit the
        # cache of a core. The fused kernel writes no tile, only a short list.
        is_distance = not isinstance(self.screen, ProductScreen)
        bytes_each = 1 if self.is_fused else 32 if is_distance and not job.queries.is_cuda else 4
        width = budget(job.queries, bytes_each * len(job.queries))
        free = device_free_bytes(job.queries.device) if job.queries.is_cuda else None
        if free is not None:
            width = min(width, free // MEMORY_SHARE // max(1, bytes_each * len(job.queries)))
        return max(_MIN_WIDTH, width)

    def _count_block(self, job: _TensorJob, block: slice) -> tuple[Tensor, Tensor]:
        """Count, for each positive, the candidates of a block that score higher, and those that score the same."""
        torch = load_torch()
        low, high = self.screen.interval(job.ready, job.row_index, block)
        is_usable = job.ready.is_usable[job.row_index]
        # If a query is not screened, both ends of the intervals of its positives become +infinity, which no score
        # reaches. So screening counts and lists nothing for these positives; they are counted with the crowded
        # positives below.
        never = low.new_full((), float("inf"))
        low, high = low.where(is_usable, never), high.where(is_usable, never)
        screened = self._screen_fused(job, block, low, high)
        if screened is None:
            screened = _count_tile(self.screen.tile(job.ready, block), job.rows, low, high)
        above, which, columns, crowded = screened  # which, columns, (pairs,): positive and column of each pair
        n = len(job.positives)
        candidates = self.screen.order[block][columns]  # (pairs,): the candidate of each pair
        exact = exact_tensor_pairs(self.geometry, job.queries, self.candidates, job.row_index[which], candidates)
        positives = job.positives[which]  # (pairs,): the exact score of the positive of each pair
        better = above + torch.bincount(which[exact > positives], minlength=n)
        equal = torch.bincount(which[exact == positives], minlength=n)
        crowd = np.flatnonzero(fetched(crowded | ~is_usable))
        if len(crowd):
            # the counts of these positives are incomplete so far; exact counts replace them
            exact_better, exact_equal = self._count_crowd(job, crowd, self.screen.order[block])
            at = torch.from_numpy(crowd).to(better.device)
            better[at], equal[at] = exact_better, exact_equal
        return better, equal

    def _screen_fused(
        self, job: _TensorJob, block: slice, low: Tensor, high: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor] | None:
        """Return the same four arrays as `_count_tile`, computed by the fused kernel; no positive is marked as crowded.

        Returns None if there is no fused kernel, or if more pairs are open than the kernel's list can hold.
        """
        if job.groups is None or not isinstance(self.screen, ProductScreen):
            return None
        n_pairs = len(job.positives) * (block.stop - block.start)
        collected = triton_kernels.count_and_collect(
            job.ready.vectors,
            self.screen.vectors[block],
            job.groups,
            _outwards(low, load_torch().float32, -1),
            _outwards(high, load_torch().float32, 1),
            min(1 << 28, n_pairs, max(1 << 16, n_pairs // _LISTED)),
        )
        return None if collected is None else (*collected, collected[0].new_zeros(len(low), dtype=load_torch().bool))

    def _count_crowd(self, job: _TensorJob, crowd: Ids, candidates: Tensor) -> tuple[Tensor, Tensor]:
        """Count, for each positive of `crowd`, how many of `candidates` score higher, and how many score equal.

        All scores are exact. To save memory, the queries are scored in parts. Returns two arrays of counts, better and
        equal, int64, shape (crowd,).
        """
        torch = load_torch()
        device = job.queries.device
        rows, which = np.unique(job.rows[crowd], return_inverse=True)  # rows[which[i]] is the query of crowd[i]
        positives = job.positives[torch.from_numpy(crowd).to(device)]  # (crowd,): exact scores
        better, equal = torch.empty((2, len(crowd)), dtype=torch.int64, device=device)

        def count(part: slice) -> None:
            part_rows = torch.from_numpy(rows[part]).to(device)
            # pairs, (queries of the part * candidates,): the query and the candidate of each pair
            pairs = part_rows.repeat_interleave(len(candidates)), candidates.repeat(len(part_rows))
            scores = exact_tensor_pairs(self.geometry, job.queries, self.candidates, *pairs).view(len(part_rows), -1)
            # `which` ascends, so the positives of the part are first:last
            first, last = np.searchsorted(which, (part.start, part.stop))
            at = slice(int(first), int(last))
            better[at], equal[at] = _count_cells(scores, which[at] - part.start, positives[at])

        for_parts(len(rows), budget(job.queries, 32 * len(candidates)), count)
        return better, equal


def count_tensor_rows(scores: Tensor, places: Places) -> Counts:
    """Count, for each positive, the candidates of its row that score higher, and those that score the same.

    The scores are compared on their device, without conversion and without tolerance.

    Parameters
    ----------
    scores : real tensor, shape (queries, candidates)
        Higher is better; no NaN. Not modified.
    places : Places

    Returns
    -------
    Counts
        The positives' scores have the tensor's dtype; bfloat16 becomes float32. No other score is copied to the host.

    Raises
    ------
    OutOfMemory
        If the memory of the device does not suffice to compare even a few rows at a time.
    """
    scores = scores.detach()

    def count() -> tuple[Tensor, ...]:
        rows, answers, known_rows, known = _on_device(places, scores)
        positives = scores[rows, answers]
        counts = _count_cells(scores, places.rows, positives)
        return *counts, *_count_known(rows, known_rows, positives, scores[known_rows, known]), positives

    with load_torch().no_grad():
        what = f"scores of shape {tuple(scores.shape)}"
        return Counts(*map(fetched, _twice(count, what, scores.device, _FEWER)))


def first_nan_of_tensor(scores: Tensor) -> tuple[int, int, int] | None:
    """Find the first NaN of a matrix of scores.

    Parameters
    ----------
    scores : real tensor, shape (queries, candidates)

    Returns
    -------
    tuple of int, or None
        (row, column, count): the row and the column of the first NaN, and how many NaN values there are in total. None
        if there is no NaN.
    """
    torch = load_torch()
    scores = scores.detach()
    # the maximum is NaN if a score is NaN; computing the maximum needs one pass and no further memory
    if not scores.is_floating_point() or not scores.numel() or not torch.isnan(scores.amax()):
        return None
    by_row = torch.isnan(scores).sum(1)
    row = int((by_row > 0).int().argmax())
    return row, int(torch.isnan(scores[row]).int().argmax()), int(by_row.sum())


def largest_of_tensor(scores: Tensor) -> float:
    """Return the largest score of a matrix.

    Parameters
    ----------
    scores : real tensor, shape (queries, candidates)

    Returns
    -------
    float
        NaN if a score is NaN; minus infinity for an empty tensor.
    """
    return float(scores.detach().amax()) if scores.numel() else float("-inf")


def _count_cells(scores: Tensor, rows: Ids, positives: Tensor) -> tuple[Tensor, Tensor]:
    """Count, for each j, the cells of ``scores[rows[j]]`` that exceed, and those that equal, ``positives[j]``.

    `rows` ascends. Returns two arrays of counts, better and equal, int64, shape (positives,).
    """
    torch = load_torch()
    better, equal = torch.empty((2, len(rows)), dtype=torch.int64, device=scores.device)

    def count(part: slice) -> None:
        cells, thresholds = _rows_of(scores, rows[part]), positives[part, None]  # (part, columns), (part, 1)
        mask = cells > thresholds
        better[part] = _count_true(mask)
        equal[part] = _count_true(torch.eq(cells, thresholds, out=mask))

    for_parts(len(rows), _part_size(scores), count)
    return better, equal


def _count_tile(tile: Tensor, rows: Ids, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Compare the screening scores of a tile, shape (queries, columns), with the interval of each positive.

    ``rows[j]`` is the row of positive j. A positive is crowded if it has too many open candidates to list; the
    caller then scores all candidates of the tile exactly. Returns four arrays:

    - for each positive, how many scores are above `high`, int64, shape (positives,);
    - the positive of each listed open pair, int64, shape (pairs,);
    - the column of each listed open pair, int64, shape (pairs,);
    - for each positive, whether it is crowded, bool, shape (positives,).
    """
    torch = load_torch()
    low, high = _outwards(low, tile.dtype, -1)[:, None], _outwards(high, tile.dtype, 1)[:, None]
    above = torch.empty(len(rows), dtype=torch.int64, device=tile.device)
    is_crowded = torch.empty(len(rows), dtype=torch.bool, device=tile.device)
    pairs = []

    def compare(part: slice) -> None:
        cells = _rows_of(tile, rows[part])  # (positives of the part, columns)
        mask = cells > high[part]
        above[part] = _count_true(mask)
        mask ^= cells >= low[part]  # the mask now holds the open cells: at least `low`, but not above `high`
        is_crowded[part] = _CROWD * _count_true(mask) > max(tile.shape[1], _CROWD * _MIN_CROWD)
        mask &= ~is_crowded[part, None]
        which, columns = mask.nonzero(as_tuple=True)
        pairs.append((which + part.start, columns))

    for_parts(len(rows), _part_size(tile), compare)
    which, columns = (torch.cat(part) for part in zip(*pairs))
    return above, which, columns, is_crowded


def _part_size(matrix: Tensor) -> int:
    """Return the number of positives that are compared at a time; their rows of `matrix` are then small enough to copy.

    Let n_cells be the number of cells of `matrix`. The copied rows of a part take at most n_cells bytes or 4 MiB,
    whichever is more; but a part has at least one row.
    """
    row_bytes = max(1, matrix.shape[1] * matrix.element_size())
    max_rows = max(1, matrix.numel() // row_bytes, _MIN_BYTES // row_bytes)
    return int(min(max_rows, budget(matrix, row_bytes)))


def _rows_of(matrix: Tensor, rows: Ids) -> Tensor:
    """Return the given rows of `matrix`; without a copy if `rows` holds consecutive numbers."""
    if rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return matrix[int(rows[0]) : int(rows[-1]) + 1]
    return matrix[load_torch().from_numpy(np.ascontiguousarray(rows)).to(matrix.device)]


def _count_true(mask: Tensor) -> Tensor:
    """Count the true cells of each row, int64; torch sums bytes several times faster than booleans."""
    torch = load_torch()
    return mask.view(torch.uint8).sum(1, dtype=torch.int32).long()


def _outwards(thresholds: Tensor, dtype: Any, direction: int) -> Tensor:
    """Convert thresholds to `dtype`, rounded up (direction 1) or down (direction -1)."""
    rounded = thresholds.to(dtype)
    beyond = rounded.nextafter(rounded.new_full((), direction * float("inf")))
    return rounded.where(rounded.double() * direction >= thresholds * direction, beyond)


def _count_known(rows: Tensor, known_rows: Tensor, scores: Tensor, known_scores: Tensor) -> tuple[Tensor, Tensor]:
    """Count, for each positive, the known answers of its query that score higher, and those that score the same.

    All tensors stay on the device. `counts.count_known` explains the computation.
    """
    torch = load_torch()
    values = torch.cat([known_scores, scores]).sort().values
    # Keys that order by query first and by score second: the rank of the score among all scores (below len(values))
    # plus len(values) times the query.
    known_keys = (torch.searchsorted(values, known_scores) + known_rows * len(values)).sort().values
    positive_keys = torch.searchsorted(values, scores) + rows * len(values)
    # n_not_above, (positives,): the number of known answers of earlier queries, plus the number of known answers of the
    # positive's query that score at most as high as the positive
    n_not_above = torch.searchsorted(known_keys, positive_keys, right=True)
    # ends, (positives,): the number of known answers of the positive's query and of all earlier queries
    ends = torch.searchsorted(known_keys, (rows + 1) * len(values))
    return ends - n_not_above, n_not_above - torch.searchsorted(known_keys, positive_keys)


def _on_device(places: Places, like: Tensor) -> list[Tensor]:
    """Return the fields `rows`, `answers`, `known_rows` and `known` of `places` as tensors on the device of `like`."""
    torch = load_torch()
    arrays = (places.rows, places.answers, places.known_rows, places.known)
    return [torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64)).to(like.device) for array in arrays]


_FEWER = "set a smaller batch_size, or free memory on the device"
_ON_DEVICE = "free memory on the device, or use device='cpu'"


def _twice(work: Callable[[], T], what: str, device: Any, remedy: str) -> T:
    """Return ``work()``; if the device is out of memory, empty torch's cache and try once more.

    Raises OutOfMemory if memory is still lacking; the message names `what`, the device, the remedy and the sizes.
    """
    try:
        return work()
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    load_torch().cuda.empty_cache()  # after `except`: inside it, the error keeps the failed call's tensors in memory
    try:
        return work()
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemory(f"not enough memory on {device} for {what}; {remedy}{_sizes(device, error)}") from error


def _half_of(block: slice, job: _TensorJob, error: Exception) -> int:
    """Return half the width of a block that needs too much memory; raise OutOfMemory if the width is 1."""
    width: int = block.stop - block.start
    if width < 2:
        raise OutOfMemory(
            f"not enough memory on {job.queries.device} to score {len(job.queries)} queries, even against one "
            f"candidate at a time; {_FEWER}{_sizes(job.queries.device, error)}"
        ) from error
    return width // 2


def _sizes(device: Any, error: Exception) -> str:
    """Return a text with the free memory of a device and the first line of torch's report (with the requested size)."""
    free, report = device_free_bytes(device), str(error).partition("\n")[0].rstrip(".")
    return f" ({report})" if free is None else f" ({size_text(free)} are free; {report})"
