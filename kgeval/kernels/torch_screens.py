"""Exact and approximate scores of tensors, computed on the device of the tensors, and the proof of the error bounds.

`TorchCounter` calls `exact_tensor_pairs`, and calls `make_screen` to get the screen of its geometry. A screen computes
approximate scores of candidates, called screening scores.

**Exact scores** equal those of `geometry.exact_scores` to the last bit. The additions, multiplications and square roots
are the same; each is a separate torch operation in float64, correctly rounded (IEEE 754) and never fused with another.
CUDA's square root of a double is correctly rounded (CUDA's programming guide: 0 ulp). On the CPU, MKL computes torch's
square roots, and about 1 in 80 is wrong by one ulp; so numpy computes square roots there.

**Screening scores** are approximate. Each positive has an interval: its score (on the scale of the screening scores),
plus and minus a proven bound. A candidate whose screening score is outside the interval is decided: it certainly scores
higher or lower than the positive. All other candidates are open, and scored exactly.

Notation: q is a query, e a candidate, both scaled by powers of two (which is exact); q' and e' are q and e rounded to
the screening dtype; d is the width of the vectors; u = 2**-24 is the unit roundoff of float32, v = 2**-53 that of
float64; gamma(n) = n * u / (1 - n * u) bounds the relative error of n roundings (Higham 2002, Accuracy and Stability of
Numerical Algorithms, 3.1-3.5); x.y is the dot product of two vectors; |x| is the Euclidean norm, |x|_1 the l1 norm.

**dot** (`ProductScreen`)

1. Rounding the vectors: |q.e - q'.e'| <= |q - q'| * |e| + |q'| * |e - e'| (Cauchy-Schwarz), and
   |q'| <= |q| + |q - q'|. The norms of the rounding errors are measured in float64, not estimated for the worst case.
2. Products of two float16 or of two bfloat16 numbers are exact in float32.
3. Summing in float32, in any order, adds at most gamma(d) * |q'| * |e'|; this includes the roundings of products of
   float32 numbers.
4. Tensor cores truncate instead of rounding: they add n >= 4 terms and the accumulator at once, shift these numbers to
   the exponent of the largest, and cut off the digits that do not fit (Fasi, Higham, Mikaitis, Pranesh 2021, Numerical
   behavior of NVIDIA tensor cores). For each n terms this adds an error of at most (n + 2) * 2 * u times the sum of
   their absolute values; for all terms together at most 3 * (d + 4) * u * |q'| * |e'|, plus terms of second order. The
   bound used is 3.1 * (d + 8) * u * |q'| * |e'|.
5. torch may round float32 operands itself (TF32, or a precision of float32 products below "highest"). Then the bound
   assumes a further relative error of 2**-8 for each operand. This rounding does not change bfloat16 numbers.
6. On the CPU, a product of bfloat16 vectors is itself rounded to bfloat16. Rounding is monotone: if a rounded
   score is above (or below) a bfloat16 number, then the score before rounding was above (or below) this number. So it
   is enough to round the ends of the interval outward to bfloat16 numbers.
7. The exact score, computed in float64, is within (d + 1) * v * |q| * |e| of q.e; the bound used is
   4 * (d + 4) * v * |q| * |e|.

**l2** (`ProductScreen`)

1. Let D = |q - e|. For one query, |q|^2 - D^2 = 2 * q.e - |e|^2 orders candidates in the same way as the scores -D.
2. 2 * q.e - |e|^2 is the dot product of (q, -1, -1, -1) and (2 * e, a, b, c) with |e|^2 = a + b + c: a is |e|^2
   rounded to the screening dtype, b is |e|^2 - a rounded to the screening dtype, and c is the rest. So the bounds of
   ``dot`` are used for these vectors. The positive's score p is converted to |q|^2 - p^2, the threshold.
3. The float64 roundings in the score and the squares change the compared numbers by at most
   16 * (d + 8) * v * (|q| + |e|)^2.

**l1** (`DistanceScreen`); S is |q'|_1 + |e'|_1, s(x) the sum of the components of a vector x, and x_k its component k

1. For two numbers, |x - y| = 2 * max(x, y) - x - y. So -D / 2, where D is the distance, is (s(q) + s(e)) / 2 minus the
   sum of max(q_k, e_k) over all k.
2. These are d + 1 terms, and their absolute values add up to at most 1.5 * S. Adding them one after another in float32
   adds an error of at most 1.5 * gamma(d) * S. The first term itself has an error of at most 1.01 * u * S.
3. Rounding the vectors to float32 changes D / 2 by at most u * S / 2.
4. The errors of steps 2 and 3 together are below 1.6 * (d + 8) * u * S. The exact scores are within
   4 * (d + 6) * v * S of -D.

**modulus** (`DistanceScreen`); S as for ``l1``

1. Each modulus computed in float32 has a relative error below 5 * u; that includes a square root with an error of
   2 * u.
2. Adding d / 2 moduli one after another adds a relative error of gamma(d / 2). The distance is at most S, so the errors
   of steps 1 and 2 are together at most (d / 2 + 6) * u * S.
3. Rounding the vectors to float32 adds u * S.
4. The sum of these errors is below 1.6 * (d + 8) * u * S. The exact scores are within 4 * (d + 6) * v * S of -D.

**Underflow** adds at most (d + 8) * 2**-124 to a sum over vectors scaled to about 1, and d * 2**-61 to a sum of moduli
(whose squares underflow sooner). This holds even if the processor replaces subnormal numbers by zero.

The code makes every bound 1% larger than derived here, to cover the rounding errors of computing the bound.

**Ranges.** In this section, the size of a vector, or of all candidates together, means the largest absolute value of a
component. Every candidate of a query is scored exactly, without screening, in each of these cases:

- The size of the candidates is not 0, and is outside 1e-100..1e100.
- Only ``dot``: the size of the query is outside 1e-100..1e100.
- Only distances (``l1``, ``l2``, ``modulus``): the size of the query is at least 1e15 times `unit`, which is a power of
  two above the norms of all candidates.

**Sorting.** Candidates are sorted by norm: the bound of a block uses the largest norm of the block, and after sorting,
the other norms of the block are nearly as large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.kernels.arrays import load_torch
from kgeval.kernels.geometry import GEOMETRIES, MAX_RATIO, U, V, is_in_range
from kgeval.kernels.memory import is_out_of_memory

if TYPE_CHECKING:
    from torch import Tensor

_BYTES_CPU, _BYTES_GPU = 1 << 22, 1 << 28  # size of a temporary array that fits a cache (CPU), or keeps a GPU busy
_MAX_HALVINGS = 8  # parts smaller than 1/256 of their first size would take very long


def exact_tensor_scores(geometry: str, queries: Tensor, candidates: Tensor) -> Tensor:
    """Return the float64 score of each pair of rows; equal to the result of `geometry.exact_scores`, bit for bit.

    Parameters
    ----------
    geometry : str
    queries, candidates : float64 tensors, shape (pairs, d)
        On one device. Not modified.

    Returns
    -------
    float64 tensor, shape (pairs,)
    """
    definition = GEOMETRIES[geometry]
    scores: Tensor = definition.finish(
        _tree_sum_of_tensor(definition.summands(candidates.clone(), queries, _square_root)), _square_root
    )
    return scores


def _tree_sum_of_tensor(terms: Tensor) -> Tensor:
    """Return the sum of each row of `terms`, added in the same order as in `geometry._tree_sum`. Overwrites `terms`."""
    n = terms.shape[1]
    while n > 1:
        half = n // 2
        terms[:, :half] += terms[:, half : 2 * half]
        if n % 2:
            terms[:, 0] += terms[:, n - 1]
        n = half
    return terms[:, 0].clone()


def _square_root(terms: Tensor) -> Tensor:
    """Overwrite `terms` with their correctly rounded square roots, and return `terms`."""
    if terms.device.type != "cpu":
        return terms.sqrt_()
    numbers = terms.detach().numpy()
    np.sqrt(numbers, out=numbers)
    return terms


def budget(tensor: Tensor, bytes_each: int) -> int:
    """Return the largest number of items for a temporary array on the tensor's device.

    Parameters
    ----------
    tensor : tensor
        Determines the device; the values in `tensor` are not read.
    bytes_each : int
        Bytes that one item takes.

    Returns
    -------
    int
        At least 1.
    """
    return max(1, (_BYTES_CPU if tensor.device.type == "cpu" else _BYTES_GPU) // max(1, bytes_each))


def for_parts(n: int, step: int, work: Callable[[slice], None]) -> None:
    """Call a function for one part of ``0..n`` after another; if memory runs out, the parts become smaller.

    A part is a slice of `step` numbers. If the device runs out of memory, the cache of torch is emptied, and `work` is
    called again with the first half of the same slice. All later slices keep this smaller size.

    Parameters
    ----------
    n : int
    step : int
        The length of a slice, at least 1.
    work : function
        ``work(part)`` must give the same result if it is called again after it failed.

    Raises
    ------
    torch.cuda.OutOfMemoryError
        If memory still runs out after a slice was halved eight times, or with a slice of length 1.
    """
    smallest = max(1, min(step, n) >> _MAX_HALVINGS)
    start = 0
    while start < n:
        part = slice(start, min(start + step, n))
        try:
            work(part)
            start = part.stop
        except RuntimeError as error:
            if not is_out_of_memory(error) or part.stop - part.start <= smallest:
                raise
            step = max(smallest, (part.stop - part.start) // 2)
        if start < part.stop:  # after `except`: inside it, the error keeps the failed call's tensors in memory
            load_torch().cuda.empty_cache()


def exact_tensor_pairs(geometry: str, queries: Tensor, candidates: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Return the exact score of ``queries[rows[i]]`` with ``candidates[columns[i]]``, for each i.

    To save memory, vectors are copied for only a part of the pairs at a time (`for_parts`).

    Parameters
    ----------
    geometry : str
    queries : float64 tensor, shape (queries, d)
    candidates : float tensor, shape (candidates, d)
    rows, columns : int64 tensors, shape (pairs,)

    Returns
    -------
    float64 tensor, shape (pairs,)
    """
    scores = queries.new_empty(len(rows))

    def score(part: slice) -> None:
        scores[part] = exact_tensor_scores(geometry, queries[rows[part]], candidates[columns[part]].double())

    for_parts(len(rows), budget(queries, 16 * queries.shape[1]), score)
    return scores


@dataclass
class Ready:
    """Queries and positives that are prepared for a screen.

    Parameters
    ----------
    vectors : tensor of the screening dtype, shape (queries, width)
        The scaled, rounded queries.
    thresholds : float64 tensor, shape (positives,)
        The exact scores of the positives, converted to the scale of the screening scores.
    sizes, errors, slack : float64 tensors, shape (queries,)
        `sizes`: norms of the queries. `errors`: norms of the rounding errors of the queries. `slack`: for ``l2``, a
        bound on the float64 error (module docstring, **l2**, step 3); for other geometries 0.
    is_usable : bool tensor, shape (queries,)
        False for a query that is not screened; all its candidates are scored exactly.
    """

    vectors: Tensor
    thresholds: Tensor
    sizes: Tensor
    errors: Tensor
    slack: Tensor
    is_usable: Tensor


@dataclass
class ProductScreen:
    """Screening scores for ``dot`` and ``l2``: one product of rounded vectors.

    Parameters
    ----------
    geometry : str
    candidates : float tensor, shape (candidates, d)
    dtype : torch.dtype
        float32, bfloat16 or float16: the dtype to which vectors are rounded.

    Attributes
    ----------
    order : int64 tensor, shape (candidates,)
        The indices of the candidates, sorted by norm, largest first. Row j of the tensors below belongs to candidate
        ``order[j]``.
    vectors : tensor of `dtype`, shape (candidates, width)
        The scaled, rounded candidates e; for ``l2`` (2 * e, a, b, c), where a + b + c is the square of the norm of e.
        Padded with zeros to a width divisible by 8.
    norms, errors : float64 tensors, shape (candidates,)
        `norms`: norms of the scaled vectors before rounding. `errors`: norms of the rounding errors of these vectors.
    unit : float
        The power of two by which candidates are divided.
    is_in_range : bool
        False if the candidates are out of range; then no query is screened.
    """

    geometry: str
    candidates: Tensor
    dtype: Any
    order: Tensor = field(init=False)
    vectors: Tensor = field(init=False)
    norms: Tensor = field(init=False)
    errors: Tensor = field(init=False)
    unit: float = field(init=False)
    is_in_range: bool = field(init=False)

    def __post_init__(self) -> None:
        lengths, self.unit, self.is_in_range = _measure(self.candidates, 2)
        self.order = lengths.argsort(descending=True)
        n, d = self.candidates.shape
        width = -(-(d + 3 * (self.geometry == "l2")) // 8) * 8  # tensor cores need rows of 16, 32, 48, ... bytes
        self.vectors = self.candidates.new_zeros((n, width), dtype=self.dtype)
        self.norms, self.errors = lengths.new_zeros(n), lengths.new_zeros(n)
        for_parts(n if self.is_in_range else 0, budget(self.candidates, 16 * width), self._fill)

    def _fill(self, part: slice) -> None:
        """Scale and round the candidates ``order[part]``."""
        rows = self.candidates[self.order[part]].double() / self.unit
        if self.geometry == "l2":
            rows = self._with_squares(rows)
        rounded = rows.to(self.dtype)
        self.vectors[part, : rows.shape[1]] = rounded
        self.norms[part] = _norms(rows)
        self.errors[part] = _norms(rows - rounded.double())

    def _with_squares(self, rows: Tensor) -> Tensor:
        """Return (2 * e, a, b, c) for each row e, where a + b + c is the square of the norm of e."""
        rest = (rows * rows).sum(1)
        parts = []
        for _ in range(2):
            parts.append(rest.to(self.dtype).double())
            rest = rest - parts[-1]
        joined: Tensor = load_torch().cat([2.0 * rows, load_torch().stack([*parts, rest], 1)], 1)
        return joined

    def prepare(self, queries: Tensor, rows: Tensor, positives: Tensor) -> Ready:
        """Scale and round `queries`, and convert the exact scores of positives to thresholds.

        Parameters
        ----------
        queries : float64 tensor, shape (queries, d)
        rows : int64 tensor, shape (positives,)
            The query of each positive.
        positives : float64 tensor, shape (positives,)
            The exact score of each positive.

        Returns
        -------
        Ready
        """
        torch = load_torch()
        is_l2 = self.geometry == "l2"
        largest = queries.abs().amax(1)
        is_usable = (largest < MAX_RATIO * self.unit) if is_l2 else is_in_range(largest)
        is_usable &= self.is_in_range
        unit = self.unit if is_l2 else 1.0
        q = queries.where(is_usable[:, None], queries.new_zeros(())) / unit
        thresholds = positives.where(is_usable[rows], positives.new_zeros(())) / self.unit
        slack = q.new_zeros(len(q))
        if is_l2:
            lengths = _norms(q)
            thresholds = (lengths * lengths)[rows] - thresholds * thresholds  # |q|^2 - p^2
            slack = 16.0 * (q.shape[1] + 8) * V * (lengths + self.norms.amax() + 1.0) ** 2
            q = torch.cat([q, q.new_full((len(q), 3), -1.0)], 1)
        norms = _norms(q)
        # (queries,): a power of two above each norm
        powers = (norms / norms.frexp().mantissa).where(norms > 0, norms.new_ones(()))
        q = q / powers[:, None]
        vectors = q.new_zeros((len(q), self.vectors.shape[1]), dtype=self.dtype)
        vectors[:, : q.shape[1]] = q
        errors = _norms(q - vectors[:, : q.shape[1]].double())
        return Ready(vectors, thresholds / powers[rows], norms / powers, errors, slack / powers, is_usable)

    def tile(self, ready: Ready, block: slice) -> Tensor:
        """Return the screening score of each query with each candidate of `block`."""
        torch = load_torch()
        q, e = ready.vectors, self.vectors[block]
        if q.is_cuda and _multiplies_halves(self.dtype):
            product: Tensor = torch.mm(q, e.T, out_dtype=torch.float32)
            return product
        if not q.is_cuda and self.dtype == torch.bfloat16:
            return q @ e.T
        return q.float() @ e.float().T

    def interval(self, ready: Ready, rows: Tensor, block: slice) -> tuple[Tensor, Tensor]:
        """Return the ends (low, high) of each positive's interval of screening scores.

        A candidate is open if its screening score is from `low` to `high`, both included. ``rows[j]`` is the query
        of positive j.
        """
        torch = load_torch()
        d = self.vectors.shape[1]
        size, error = self.norms[block].amax(), self.errors[block].amax()
        # summing: a bound on the error of the sums, as a multiple of |q'| * |e'| <= rounded * (size + error)
        summing = 1.02 * (d + 2) * U if self.dtype == torch.float32 else 3.1 * (d + 8) * U
        if not (self.dtype == torch.bfloat16 or _multiplies_exactly(self.dtype, self.vectors)):
            summing += 2.02 * 2.0**-8
        rounded = ready.sizes + ready.errors
        radius = ready.errors * size + rounded * error + summing * rounded * (size + error)
        radius += 4.0 * (d + 4) * V * ready.sizes * size + ready.slack + (d + 8) * 2.0**-124
        return _around(ready.thresholds, radius[rows])


@dataclass
class DistanceScreen:
    """Screening scores for ``l1`` and ``modulus``: float32, summed one dimension after another.

    Parameters
    ----------
    geometry : str
    candidates : float tensor, shape (candidates, d)
    dtype : torch.dtype, optional
        Not used; the screening scores are always float32.

    Attributes
    ----------
    order : int64 tensor, shape (candidates,)
        The indices of the candidates, sorted by norm, largest first. The tensors below hold the candidates in this
        order.
    columns : float32 tensor, shape (d, candidates)
        The scaled, rounded candidates, one row for each dimension.
    halves : float32 tensor, shape (candidates,)
        Half the sum of the components of each rounded candidate.
    norms : float64 tensor, shape (candidates,)
        l1 norms of the scaled candidates.
    unit : float
        The power of two by which candidates and queries are divided.
    is_in_range : bool
        False if the candidates are out of range; then no query is screened.
    """

    geometry: str
    candidates: Tensor
    dtype: Any = None
    order: Tensor = field(init=False)
    columns: Tensor = field(init=False)
    halves: Tensor = field(init=False)
    norms: Tensor = field(init=False)
    unit: float = field(init=False)
    is_in_range: bool = field(init=False)

    def __post_init__(self) -> None:
        lengths, self.unit, self.is_in_range = _measure(self.candidates, 1)
        self.order = lengths.argsort(descending=True)
        n, d = self.candidates.shape
        self.columns = self.candidates.new_zeros((d, n), dtype=load_torch().float32)
        self.halves, self.norms = lengths.new_zeros(n, dtype=load_torch().float32), lengths.new_zeros(n)
        for_parts(n if self.is_in_range else 0, budget(self.candidates, 16 * d), self._fill)

    def _fill(self, part: slice) -> None:
        """Scale and round the candidates ``order[part]``."""
        rows = self.candidates[self.order[part]].double() / self.unit
        rounded = rows.float()
        self.columns[:, part] = rounded.T
        self.halves[part] = rounded.double().sum(1) / 2.0
        self.norms[part] = rows.abs().sum(1)

    def prepare(self, queries: Tensor, rows: Tensor, positives: Tensor) -> Ready:
        """Scale and round `queries`, and convert exact scores to thresholds; see `ProductScreen.prepare`."""
        is_usable = queries.abs().amax(1) < MAX_RATIO * self.unit
        is_usable &= self.is_in_range
        q = queries.where(is_usable[:, None], queries.new_zeros(())) / self.unit
        vectors = q.float()
        scale = 2.0 if self.geometry == "l1" else 1.0
        thresholds = positives.where(is_usable[rows], positives.new_zeros(())) / self.unit / scale
        zeros = q.new_zeros(len(q))
        return Ready(vectors, thresholds, q.abs().sum(1), zeros, zeros, is_usable)

    def tile(self, ready: Ready, block: slice) -> Tensor:
        """Return minus the distance (``l1``: minus half the distance) of each query to each candidate of `block`."""
        torch = load_torch()
        q, e = ready.vectors.T[:, :, None], self.columns[:, block]  # (d, queries, 1), (d, candidates of the block)
        if self.geometry == "l1":
            # (queries, candidates of the block): (s(q') + s(e')) / 2; then the maxima are subtracted, one dimension
            # after another
            out = (q[..., 0].double().sum(0) / 2.0).float()[:, None] + self.halves[block]
            step = torch.empty_like(out)
            for k in range(len(e)):
                out.sub_(torch.maximum(q[k], e[k], out=step))
            return out
        half = len(e) // 2
        out = e.new_zeros((q.shape[1], e.shape[1]))
        real, imaginary = torch.empty_like(out), torch.empty_like(out)
        for k in range(half):
            torch.sub(q[k], e[k], out=real).square_()
            torch.sub(q[half + k], e[half + k], out=imaginary).square_()
            out.sub_(real.add_(imaginary).sqrt_())
        return out

    def interval(self, ready: Ready, rows: Tensor, block: slice) -> tuple[Tensor, Tensor]:
        """Return the ends (low, high) of each positive's interval of screening scores.

        A candidate is open if its screening score is from `low` to `high`, both included. ``rows[j]`` is the query
        of positive j.
        """
        d = len(self.columns)
        radius = (1.6 * (d + 8) * U + 4.0 * (d + 6) * V) * (ready.sizes + self.norms[block].amax())
        radius += (d + 8) * 2.0**-124 if self.geometry == "l1" else d * 2.0**-61
        return _around(ready.thresholds, radius[rows])


Screen = ProductScreen | DistanceScreen


def make_screen(geometry: str, candidates: Tensor, dtype: Any = None) -> Screen:
    """Return the screen of `geometry`: it computes approximate scores of candidates, with proven error bounds.

    Parameters
    ----------
    geometry : str
    candidates : float32 or float64 tensor, shape (candidates, d)
        Finite. Not modified.
    dtype : torch.dtype, optional
        The dtype to which ``dot`` and ``l2`` round vectors: float32, bfloat16 or float16. By default float32 on the CPU
        and float16 elsewhere. On tensor cores, float16 is as fast as bfloat16, with an eighth of the rounding error;
        the small range of float16 does no harm, since vectors are scaled.

    Returns
    -------
    ProductScreen or DistanceScreen

    Raises
    ------
    TypeError
        If the geometry has no screen.
    """
    make = GEOMETRIES[geometry].screen
    if make is None:
        raise TypeError(f"geometry {geometry!r} has no screen for tensors")
    screen: Screen = make(geometry, candidates, dtype)
    return screen


def product_screen(geometry: str, candidates: Tensor, dtype: Any = None) -> ProductScreen:
    """Return the screen of ``dot`` and ``l2``, with a dtype that suits the device; see `make_screen`.

    Parameters
    ----------
    geometry : str
    candidates : float tensor, shape (candidates, d)
    dtype : torch.dtype, optional

    Returns
    -------
    ProductScreen
    """
    torch = load_torch()
    if dtype is None:
        dtype = torch.float32 if candidates.device.type == "cpu" else torch.float16
    return ProductScreen(geometry, candidates, dtype)


def _around(thresholds: Tensor, radius: Tensor) -> tuple[Tensor, Tensor]:
    """Return the ends (low, high) of intervals: the thresholds minus and plus a radius.

    To `radius`, a margin for float64 roundings is added; the sum is then made 1% larger.
    """
    radius = 1.01 * (radius + 8.0 * V * thresholds.abs())
    return thresholds - radius, thresholds + radius


def _norms(rows: Tensor) -> Tensor:
    """Return the Euclidean norm of each row."""
    return (rows * rows).sum(1).sqrt()


def _measure(vectors: Tensor, order: int) -> tuple[Tensor, float, bool]:
    """Return the norms of the rows of `vectors`, a unit for scaling, and whether the vectors are in range.

    `order` selects the norm: 1 for l1 norms, 2 for Euclidean norms.

    Returns
    -------
    norms : float64 tensor, shape (n,)
        The norms, all divided by one power of two (which is not `unit`), so they can be compared with each other.
        Zeros if the vectors are out of range.
    unit : float
        A power of two that no norm exceeds; 1 if the vectors are out of range.
    is_in_range : bool
        Whether the largest absolute component is in 1e-100..1e100, or all components are 0.
    """
    n, step = len(vectors), budget(vectors, 16 * vectors.shape[1])
    norms = vectors.new_zeros(n, dtype=load_torch().float64)

    def measure_components(part: slice) -> None:
        norms[part] = vectors[part].abs().amax(1)

    for_parts(n, step, measure_components)
    largest = float(norms.amax()) if n else 0.0
    if not is_in_range(largest):
        return norms.zero_(), 1.0, largest == 0.0
    unit = 2.0 ** float(np.frexp(largest)[1])

    def measure_rows(part: slice) -> None:
        rows = vectors[part].double() / unit
        norms[part] = _norms(rows) if order == 2 else rows.abs().sum(1)

    for_parts(n, step, measure_rows)
    return norms, unit * 2.0 ** float(np.frexp(float(norms.amax()))[1]), True


def _multiplies_halves(dtype: Any) -> bool:
    """Return whether CUDA multiplies tensors of `dtype` without further rounding, and sums the products in float32."""
    torch = load_torch()
    if dtype == torch.float32 or not hasattr(torch.ops.aten.mm, "dtype"):
        return False
    return dtype == torch.bfloat16 or not getattr(torch.backends.cuda.matmul, "allow_fp16_accumulation", False)


def _multiplies_exactly(dtype: Any, vectors: Tensor) -> bool:
    """Return whether `ProductScreen.tile` multiplies `vectors` without rounding their components again."""
    torch = load_torch()
    if vectors.is_cuda:
        return _multiplies_halves(dtype)
    matmul = getattr(torch.backends.mkldnn, "matmul", None)
    try:
        is_highest = torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # two settings of torch contradict each other
        return False
    return is_highest and getattr(matmul, "fp32_precision", "none") in ("none", "ieee")
