"""Compare and count where the tensors are: on the CPU, or on a GPU, which sends back integers and no matrix of scores.

Embedding vectors are screened, within the bounds that `torch_screens` derives: a candidate whose screening score lies
above the interval around a positive's is better, one below it is not, and the pairs in between are scored exactly.
A positive that leaves more than 1 in 4 candidates of a block undecided is crowded: its row of the block is scored
exactly instead. On CUDA a fused kernel (`triton_kernels`) multiplies and compares without writing the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.checks import Ids, check_one_of, check_positive_int
from kgeval.errors import ScoreError
from kgeval.kernels import triton_kernels
from kgeval.kernels.arrays import fetched, load_torch
from kgeval.kernels.counts import Counts, Places
from kgeval.kernels.geometry import GEOMETRIES
from kgeval.kernels.torch_screens import ProductScreen, Ready, budget, exact_tensor_pairs, make_screen

if TYPE_CHECKING:
    from torch import Tensor

_FEW, _CROWD = 64, 4
_MIN_WIDTH = 256
_MIN_BYTES = 1 << 22
_LISTED = 64  # the fused kernel's list has room for 1 in so many pairs


@dataclass
class _TensorJob:
    """One call's queries and positives; `rows` on the host and `row_index` on the device are the same."""

    queries: Tensor
    ready: Ready
    rows: Ids
    row_index: Tensor
    positives: Tensor
    groups: triton_kernels.RowGroups | None


class TorchCounter:
    """Exact counts for embedding vectors that are torch tensors.

    Parameters
    ----------
    geometry : str
        ``"dot"``, ``"l1"``, ``"l2"`` or ``"modulus"``.
    candidates : float tensor, shape (candidates, d)
        Finite, on any device with float64. float16 and bfloat16 become float32, exactly. Not modified.
    block_size : int, optional
        The most candidates screened together; by default what a cache holds (CPU) or keeps a GPU busy.
    screening : torch.dtype, optional
        What ``dot`` and ``l2`` round vectors to for screening; see `torch_screens.make_screen`. It changes the time,
        never a count.

    Attributes
    ----------
    batch_size : int
        How many queries at a time keep a device busy.
    is_fused : bool
        Whether the Triton kernel screens: for ``dot`` and ``l2``, where `triton_kernels.is_available`.
    """

    batch_size = 4096

    def __init__(self, geometry: str, candidates: Tensor, block_size: int | None = None, screening: Any = None) -> None:
        torch = load_torch()
        self.geometry = check_one_of("geometry", geometry, GEOMETRIES)
        self.block_size = None if block_size is None else check_positive_int("block_size", block_size)
        with torch.no_grad():
            vectors = candidates.detach()
            self.candidates = vectors if vectors.dtype in (torch.float32, torch.float64) else vectors.float()
            self.screen = make_screen(geometry, self.candidates, screening)
        is_half = isinstance(self.screen, ProductScreen) and self.screen.dtype != torch.float32
        self.is_fused = is_half and triton_kernels.is_available(self.candidates.device)

    def count(self, queries: Any, places: Places) -> Counts:
        """Count, for each positive, the candidates and the known answers that score above and equal to it.

        Parameters
        ----------
        queries : float64 tensor or array, shape (queries, d)
            Finite; copied to the candidates' device if it is elsewhere. Not modified.
        places : Places

        Returns
        -------
        Counts
            As a float64 evaluation of `geometry.exact_scores` gives them; scores float64.

        Raises
        ------
        ScoreError
            If the device's memory does not hold a block of one candidate.
        """
        torch = load_torch()
        with torch.no_grad():
            queries = torch.as_tensor(queries, device=self.candidates.device).detach()
            rows, answers, known_rows, known = _on_device(places, queries)
            scores = exact_tensor_pairs(self.geometry, queries, self.candidates, rows, answers)
            known_scores = exact_tensor_pairs(self.geometry, queries, self.candidates, known_rows, known)
            known_counts = _count_known(rows, known_rows, scores, known_scores)
            ready = self.screen.prepare(queries, rows, scores)
            groups = triton_kernels.make_groups(places.rows, queries.device) if self.is_fused else None
            job = _TensorJob(queries, ready, places.rows, rows, scores, groups)
            better, equal = torch.zeros((2, len(scores)), dtype=torch.int64, device=queries.device)
            start, n = 0, len(self.candidates)
            width = min(n, self._width(job))
            while start < n and len(scores):
                block = slice(start, min(start + width, n))
                try:
                    block_better, block_equal = self._count_block(job, block)
                except torch.cuda.OutOfMemoryError as error:
                    width = self.block_size = self._half_of(block, job, error)
                    continue
                better += block_better
                equal += block_equal
                start = block.stop
        return Counts(*map(fetched, (better, equal, *known_counts, scores)))

    def _half_of(self, block: slice, job: _TensorJob, error: Exception) -> int:
        """Return half the width of a block whose scores memory does not hold."""
        width: int = block.stop - block.start
        if width < 2:
            raise ScoreError(
                f"the memory of {job.queries.device} does not hold the scores of {len(job.queries)} queries "
                "with a single candidate; set a smaller batch_size, or free memory on the device"
            ) from error
        return width // 2

    def _width(self, job: _TensorJob) -> int:
        """Return how many candidates are screened together."""
        if self.block_size:
            return self.block_size
        # one dimension after another passes over the tile many times, so it should stay in a core's own cache;
        # the fused kernel writes no tile, only a short list
        is_distance = not isinstance(self.screen, ProductScreen)
        bytes_each = 1 if self.is_fused else 32 if is_distance and not job.queries.is_cuda else 4
        return max(_MIN_WIDTH, budget(job.queries, bytes_each * len(job.queries)))

    def _count_block(self, job: _TensorJob, block: slice) -> tuple[Tensor, Tensor]:
        """Return the better and equal candidates of a block, for each positive."""
        torch = load_torch()
        low, high = self.screen.interval(job.ready, job.row_index, block)
        is_usable = job.ready.is_usable[job.row_index]
        never = low.new_full((), float("inf"))  # neither counted nor listed: crowded
        low, high = low.where(is_usable, never), high.where(is_usable, never)
        found = self._screen_fused(job, block, low, high)
        if found is None:
            found = _count_tile(self.screen.tile(job.ready, block), job.rows, low, high)
        above, which, columns, crowded = found
        n = len(job.positives)
        candidates = self.screen.order[block][columns]
        exact = exact_tensor_pairs(self.geometry, job.queries, self.candidates, job.row_index[which], candidates)
        mine = job.positives[which]
        better = above + torch.bincount(which[exact > mine], minlength=n)
        equal = torch.bincount(which[exact == mine], minlength=n)
        crowd = np.flatnonzero(fetched(crowded | ~is_usable))
        if len(crowd):
            exact_better, exact_equal = self._count_crowd(job, crowd, self.screen.order[block])
            at = torch.from_numpy(crowd).to(better.device)
            better[at], equal[at] = exact_better, exact_equal
        return better, equal

    def _screen_fused(
        self, job: _TensorJob, block: slice, low: Tensor, high: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor] | None:
        """Return what `_count_tile` would, none crowded; None without a fused kernel or where too much is undecided."""
        if job.groups is None or not isinstance(self.screen, ProductScreen):
            return None
        n_pairs = len(job.positives) * (block.stop - block.start)
        found = triton_kernels.count_and_collect(
            job.ready.vectors,
            self.screen.vectors[block],
            job.groups,
            _outwards(low, load_torch().float32, -1),
            _outwards(high, load_torch().float32, 1),
            min(1 << 28, n_pairs, max(1 << 16, n_pairs // _LISTED)),
        )
        return None if found is None else (*found, found[0].new_zeros(len(low), dtype=load_torch().bool))

    def _count_crowd(self, job: _TensorJob, crowd: Ids, candidates: Tensor) -> tuple[Tensor, Tensor]:
        """Count for the positives `crowd` from the exact rows of their queries, a few rows at a time."""
        torch = load_torch()
        device = job.queries.device
        rows, which = np.unique(job.rows[crowd], return_inverse=True)
        positives = job.positives[torch.from_numpy(crowd).to(device)]
        parts = []
        step = budget(job.queries, 32 * len(candidates))
        for start in range(0, len(rows), step):
            some = torch.from_numpy(rows[start : start + step]).to(device)
            pairs = some.repeat_interleave(len(candidates)), candidates.repeat(len(some))
            scores = exact_tensor_pairs(self.geometry, job.queries, self.candidates, *pairs).view(len(some), -1)
            first, last = np.searchsorted(which, (start, start + step))
            parts.append(_count_cells(scores, which[first:last] - start, positives[first:last]))
        better, equal = (torch.cat(part) for part in zip(*parts))
        return better, equal


def count_tensor_rows(scores: Tensor, places: Places) -> Counts:
    """Count from a matrix of scores, on its device: the scores are compared as they are, without cast or tolerance.

    Parameters
    ----------
    scores : real tensor, shape (queries, candidates)
        Higher is better; no NaN. Not modified.
    places : Places

    Returns
    -------
    Counts
        Scores in the tensor's dtype, bfloat16 as float32. Of the matrix nothing else comes to the host.
    """
    with load_torch().no_grad():
        scores = scores.detach()
        rows, answers, known_rows, known = _on_device(places, scores)
        positives = scores[rows, answers]
        counts = _count_cells(scores, places.rows, positives)
        known_counts = _count_known(rows, known_rows, positives, scores[known_rows, known])
    return Counts(*map(fetched, (*counts, *known_counts, positives)))


def first_nan_of_tensor(scores: Tensor) -> tuple[int, int, int] | None:
    """Return row and column of the first NaN of a matrix, and how many there are; None where there is none."""
    torch = load_torch()
    scores = scores.detach()
    # a NaN spreads to the largest, which costs one pass and no memory
    if not scores.is_floating_point() or not scores.numel() or not torch.isnan(scores.amax()):
        return None
    by_row = torch.isnan(scores).sum(1)
    row = int((by_row > 0).int().argmax())
    return row, int(torch.isnan(scores[row]).int().argmax()), int(by_row.sum())


def largest_of_tensor(scores: Tensor) -> float:
    """Return the largest of a matrix of scores; minus infinity where there is none."""
    return float(scores.detach().amax()) if scores.numel() else float("-inf")


def _count_cells(scores: Tensor, rows: Ids, positives: Tensor) -> tuple[Tensor, Tensor]:
    """Count, in row ``rows[j]`` of `scores`, what is above and what equals ``positives[j]``."""
    torch = load_torch()
    better, equal = torch.empty((2, len(rows)), dtype=torch.int64, device=scores.device)
    for part in _parts(scores, len(rows)):
        cells, mine = _rows_of(scores, rows[part]), positives[part, None]
        mask = cells > mine
        better[part] = _count_true(mask)
        equal[part] = _count_true(torch.eq(cells, mine, out=mask))
    return better, equal


def _count_tile(tile: Tensor, rows: Ids, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the counts above `high`, the undecided pairs (positive, column), and which positives are crowded.

    A crowded positive has no pairs, so that they stay few; its count means nothing.
    """
    torch = load_torch()
    low, high = _outwards(low, tile.dtype, -1)[:, None], _outwards(high, tile.dtype, 1)[:, None]
    above = torch.empty(len(rows), dtype=torch.int64, device=tile.device)
    is_crowded = torch.empty(len(rows), dtype=torch.bool, device=tile.device)
    pairs = []
    for part in _parts(tile, len(rows)):
        cells = _rows_of(tile, rows[part])
        mask = cells > high[part]
        above[part] = _count_true(mask)
        mask ^= cells >= low[part]
        is_crowded[part] = _CROWD * _count_true(mask) > max(tile.shape[1], _CROWD * _FEW)
        mask &= ~is_crowded[part, None]
        which, columns = mask.nonzero(as_tuple=True)
        pairs.append((which + part.start, columns))
    which, columns = (torch.cat(part) for part in zip(*pairs))
    return above, which, columns, is_crowded


def _parts(matrix: Tensor, n: int) -> list[slice]:
    """Return slices of `n` positives whose rows of `matrix` are small enough to copy.

    They take no more bytes than the matrix has cells, or 4 MiB where that is little.
    """
    row_bytes = max(1, matrix.shape[1] * matrix.element_size())
    few = max(1, matrix.numel() // row_bytes, _MIN_BYTES // row_bytes)
    step = min(few, budget(matrix, row_bytes))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _rows_of(matrix: Tensor, rows: Ids) -> Tensor:
    """Return these rows, without a copy where they follow each other."""
    if rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return matrix[int(rows[0]) : int(rows[-1]) + 1]
    return matrix[load_torch().from_numpy(np.ascontiguousarray(rows)).to(matrix.device)]


def _count_true(mask: Tensor) -> Tensor:
    """Return how many of each row are true; summing bytes into int32 is several times faster than booleans."""
    torch = load_torch()
    return mask.view(torch.uint8).sum(1, dtype=torch.int32).long()


def _outwards(thresholds: Tensor, dtype: Any, direction: int) -> Tensor:
    """Return the thresholds in the tile's dtype, never moved inwards; direction 1 is up, -1 down."""
    rounded = thresholds.to(dtype)
    beyond = rounded.nextafter(rounded.new_full((), direction * float("inf")))
    return rounded.where(rounded.double() * direction >= thresholds * direction, beyond)


def _count_known(rows: Tensor, known_rows: Tensor, scores: Tensor, known_scores: Tensor) -> tuple[Tensor, Tensor]:
    """Count as `counts.count_known` does, on the device."""
    torch = load_torch()
    values = torch.cat([known_scores, scores]).sort().values
    known = (torch.searchsorted(values, known_scores) + known_rows * len(values)).sort().values
    mine = torch.searchsorted(values, scores) + rows * len(values)
    right = torch.searchsorted(known, mine, right=True)
    ends = torch.searchsorted(known, (rows + 1) * len(values))
    return ends - right, right - torch.searchsorted(known, mine)


def _on_device(places: Places, like: Tensor) -> list[Tensor]:
    torch = load_torch()
    arrays = (places.rows, places.answers, places.known_rows, places.known)
    return [torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64)).to(like.device) for array in arrays]
