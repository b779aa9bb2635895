"""Exact and screening scores of tensors, on the device that they are on.

A score is what `geometry.exact_scores` gives. Here the same float64 additions, multiplications and square roots are
separate torch operations, each correctly rounded (IEEE 754) and none fused with another, so the scores are the same
bits. Relied on: CUDA's square root of a double is correctly rounded (its programming guide: 0 ulp). On the CPU torch's
is not, where MKL computes it: about 1 in 80 is off by one ulp; numpy's is taken there, on the same memory.

Cheap screening scores decide what lies beyond a proven bound of a positive's score; all else is scored exactly. With
u = 2**-24 the unit roundoff of float32, v = 2**-53 that of float64, d the width of the vectors, gamma(n) =
n u / (1 - n u) (Higham 2002, Accuracy and Stability of Numerical Algorithms, 3.1-3.5), and all vectors scaled by powers
of two, which is exact:

- dot: q', e' are the vectors rounded to the screening type. |q.e - q'.e'| <= |q - q'| |e| + |q'| |e - e'|
  (Cauchy-Schwarz), with the norms of the rounding errors as they came out, in float64. Products of float16 or
  bfloat16 numbers are exact in float32. Summing in float32, in any order, adds gamma(d) |q'| |e'| (float32 products
  included). Tensor cores cut off instead of rounding, after shifting n >= 4 terms and the accumulator to the largest of
  them (Fasi, Higham, Mikaitis, Pranesh 2021, Numerical behavior of NVIDIA tensor cores): at most (n + 2) 2 u of the
  sum of magnitudes for each n terms, in all 3 (d + 4) u |q'| |e'| and terms of second order. Used: 3.1 (d + 8) u.
- Where torch may round float32 operands itself (TF32, or less than the "highest" precision of float32 products),
  each is taken to be off by 2**-8 more; bfloat16 numbers are not changed by that. Where a product comes out as bfloat16
  (on the CPU), rounding is monotone: a score is above a bfloat16 number only if it was so before, and thresholds
  are moved outwards to such numbers.
- l2: minus the distance orders candidates as 2 q.e - |e|^2, the product of (q, -1, -1, -1) and (2 e, a, b, c) with
  |e|^2 = a + b + c, where a and b are |e|^2 and the rest rounded to the screening type. The float64 evaluation of score
  and squares stays within 16 (d + 8) v (|q| + |e|)^2.
- l1: minus half the distance D is (s(q) + s(e)) / 2 - sum max(q_k, e_k), s being the sum of a vector's numbers. With
  S = |q'|_1 + |e'|_1 the recursive sum of these d + 1 terms, whose magnitudes add up to at most 1.5 S, is off by at
  most 1.5 gamma(d) S, its first term by 1.01 u S, and rounding the vectors to float32 moves D / 2 by u S / 2.
- modulus: each float32 modulus has a relative error below 5 u (a square root rounded within 2 u included), the
  recursive sum adds gamma(d / 2); of a distance that is at most S, that is (d / 2 + 6) u S; the rounded vectors add
  u S. Both are below 1.6 (d + 8) u S. The float64 scores are within 4 (d + 6) v S.

Underflow adds at most (d + 8) 2**-124 to a sum of vectors scaled to about 1, and d 2**-61 to a sum of moduli (whose
squares underflow sooner), also where subnormals are flushed to zero. All bounds are taken 1% larger than derived,
which covers the roundings in computing them. Where sizes lie beyond 1e-100..1e100, or a query is 1e15 times larger
than the candidates, nothing is screened. Candidates are sorted by norm, so that the bound of a block is tight.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.kernels.arrays import load_torch
from kgeval.kernels.geometry import GEOMETRIES, MAX_RATIO, U, V, is_in_range

if TYPE_CHECKING:
    from torch import Tensor

_BYTES_CPU, _BYTES_GPU = 1 << 22, 1 << 28  # of a temporary array: what a cache holds, what keeps a GPU busy


def exact_tensor_scores(geometry: str, queries: Tensor, candidates: Tensor) -> Tensor:
    """Return the float64 score of each pair of rows, the same bits as `geometry.exact_scores`.

    Parameters
    ----------
    geometry : str
    queries, candidates : float64 tensors, shape (pairs, d)
        On one device. Not modified.

    Returns
    -------
    float64 tensor, shape (pairs,)
    """
    how = GEOMETRIES[geometry]
    scores: Tensor = how.finish(
        _tree_sum_of_tensor(how.summands(candidates.clone(), queries, _square_root)), _square_root
    )
    return scores


def _tree_sum_of_tensor(terms: Tensor) -> Tensor:
    """Return the sum of each row, halves added to halves. Overwrites `terms`."""
    n = terms.shape[1]
    while n > 1:
        half = n // 2
        terms[:, :half] += terms[:, half : 2 * half]
        if n % 2:
            terms[:, 0] += terms[:, n - 1]
        n = half
    return terms[:, 0].clone()


def _square_root(terms: Tensor) -> Tensor:
    """Return the correctly rounded square roots, in place."""
    if terms.device.type != "cpu":
        return terms.sqrt_()
    numbers = terms.detach().numpy()
    np.sqrt(numbers, out=numbers)
    return terms


def budget(tensor: Tensor, bytes_each: int) -> int:
    """Return how many things of `bytes_each` a temporary array on the tensor's device may hold."""
    return max(1, (_BYTES_CPU if tensor.device.type == "cpu" else _BYTES_GPU) // max(1, bytes_each))


def exact_tensor_pairs(geometry: str, queries: Tensor, candidates: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Return the exact scores of the pairs (``queries[rows]``, ``candidates[columns]``), some at a time.

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
    step = budget(queries, 16 * queries.shape[1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        scores[part] = exact_tensor_scores(geometry, queries[rows[part]], candidates[columns[part]].double())
    return scores


@dataclass
class Ready:
    """Queries made ready for a screen: rounded vectors, thresholds of the positives, and what bounds need."""

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
        float32, bfloat16 or float16: what vectors are rounded to.
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
        width = -(-(d + 3 * (self.geometry == "l2")) // 8) * 8  # tensor cores want rows of whole 16 bytes
        self.vectors = self.candidates.new_zeros((n, width), dtype=self.dtype)
        self.norms, self.errors = lengths.new_zeros(n), lengths.new_zeros(n)
        step = budget(self.candidates, 16 * width)
        for start in range(0, n if self.is_in_range else 0, step):
            part = slice(start, start + step)
            rows = self.candidates[self.order[part]].double() / self.unit
            if self.geometry == "l2":
                rows = self._with_squares(rows)
            rounded = rows.to(self.dtype)
            self.vectors[part, : rows.shape[1]] = rounded
            self.norms[part] = _norms(rows)
            self.errors[part] = _norms(rows - rounded.double())

    def _with_squares(self, rows: Tensor) -> Tensor:
        """Return (2 e, a, b, c) of the rows e, the last three adding up to the square of its norm."""
        rest = (rows * rows).sum(1)
        parts = []
        for _ in range(2):
            parts.append(rest.to(self.dtype).double())
            rest = rest - parts[-1]
        joined: Tensor = load_torch().cat([2.0 * rows, load_torch().stack([*parts, rest], 1)], 1)
        return joined

    def prepare(self, queries: Tensor, rows: Tensor, positives: Tensor) -> Ready:
        """Scale and round `queries`, and turn the exact scores `positives` (of queries `rows`) into thresholds."""
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
            thresholds = (lengths * lengths)[rows] - thresholds * thresholds
            slack = 16.0 * (q.shape[1] + 8) * V * (lengths + self.norms.amax() + 1.0) ** 2
            q = torch.cat([q, q.new_full((len(q), 3), -1.0)], 1)
        norms = _norms(q)
        powers = (norms / norms.frexp().mantissa).where(norms > 0, norms.new_ones(()))
        q = q / powers[:, None]
        vectors = q.new_zeros((len(q), self.vectors.shape[1]), dtype=self.dtype)
        vectors[:, : q.shape[1]] = q
        errors = _norms(q - vectors[:, : q.shape[1]].double())
        return Ready(vectors, thresholds / powers[rows], norms / powers, errors, slack / powers, is_usable)

    def tile(self, ready: Ready, block: slice) -> Tensor:
        """Return the screening scores of all queries with the candidates of `block`."""
        torch = load_torch()
        q, e = ready.vectors, self.vectors[block]
        if q.is_cuda and _multiplies_halves(self.dtype):
            product: Tensor = torch.mm(q, e.T, out_dtype=torch.float32)
            return product
        if not q.is_cuda and self.dtype == torch.bfloat16:
            return q @ e.T
        return q.float() @ e.float().T

    def interval(self, ready: Ready, rows: Tensor, block: slice) -> tuple[Tensor, Tensor]:
        """Return, per positive, the scores between which a candidate of `block` is undecided."""
        torch = load_torch()
        d = self.vectors.shape[1]
        size, error = self.norms[block].amax(), self.errors[block].amax()
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
        Of no use here: the screening scores are float32.
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
        step = budget(self.candidates, 16 * d)
        for start in range(0, n if self.is_in_range else 0, step):
            part = slice(start, start + step)
            rows = self.candidates[self.order[part]].double() / self.unit
            rounded = rows.float()
            self.columns[:, part] = rounded.T
            self.halves[part] = rounded.double().sum(1) / 2.0
            self.norms[part] = rows.abs().sum(1)

    def prepare(self, queries: Tensor, rows: Tensor, positives: Tensor) -> Ready:
        """Scale and round `queries`, and turn the exact scores `positives` (of queries `rows`) into thresholds."""
        is_usable = queries.abs().amax(1) < MAX_RATIO * self.unit
        is_usable &= self.is_in_range
        q = queries.where(is_usable[:, None], queries.new_zeros(())) / self.unit
        vectors = q.float()
        scale = 2.0 if self.geometry == "l1" else 1.0
        thresholds = positives.where(is_usable[rows], positives.new_zeros(())) / self.unit / scale
        nothing = q.new_zeros(len(q))
        return Ready(vectors, thresholds, q.abs().sum(1), nothing, nothing, is_usable)

    def tile(self, ready: Ready, block: slice) -> Tensor:
        """Return minus the screening distances (``l1``: their halves) of all queries to the candidates of `block`."""
        torch = load_torch()
        q, e = ready.vectors.T[:, :, None], self.columns[:, block]
        if self.geometry == "l1":
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
        """Return, per positive, the scores between which a candidate of `block` is undecided."""
        d = len(self.columns)
        radius = (1.6 * (d + 8) * U + 4.0 * (d + 6) * V) * (ready.sizes + self.norms[block].amax())
        radius += (d + 8) * 2.0**-124 if self.geometry == "l1" else d * 2.0**-61
        return _around(ready.thresholds, radius[rows])


Screen = ProductScreen | DistanceScreen


def make_screen(geometry: str, candidates: Tensor, dtype: Any = None) -> Screen:
    """Return the screen that serves `geometry`.

    Parameters
    ----------
    geometry : str
    candidates : float32 or float64 tensor, shape (candidates, d)
        Finite. Not modified.
    dtype : torch.dtype, optional
        What ``dot`` and ``l2`` round vectors to: float32, bfloat16 or float16. By default float32 on the CPU and
        float16 elsewhere: as fast as bfloat16 on tensor cores, with an eighth of its rounding error, and its small
        range does no harm to scaled vectors.
    """
    make = GEOMETRIES[geometry].screen
    if make is None:
        raise TypeError(f"geometry {geometry!r} has no screen for tensors")
    screen: Screen = make(geometry, candidates, dtype)
    return screen


def product_screen(geometry: str, candidates: Tensor, dtype: Any = None) -> ProductScreen:
    """Return the screen of rounded products, rounded to what suits the device; see `make_screen`."""
    torch = load_torch()
    if dtype is None:
        dtype = torch.float32 if candidates.device.type == "cpu" else torch.float16
    return ProductScreen(geometry, candidates, dtype)


def _around(thresholds: Tensor, radius: Tensor) -> tuple[Tensor, Tensor]:
    radius = 1.01 * (radius + 8.0 * V * thresholds.abs())
    return thresholds - radius, thresholds + radius


def _norms(rows: Tensor) -> Tensor:
    return (rows * rows).sum(1).sqrt()


def _measure(vectors: Tensor, order: int) -> tuple[Tensor, float, bool]:
    """Return the rows' norms of this order, a power of two that none exceeds, and whether sizes are in range.

    The norms, float64, are divided by a power of two that no number exceeds; zeros where sizes are out of range.
    """
    norms = vectors.new_zeros(len(vectors), dtype=load_torch().float64)
    step = budget(vectors, 16 * vectors.shape[1])
    parts = [slice(start, start + step) for start in range(0, len(vectors), step)]
    largest = float(max((vectors[part].abs().amax() for part in parts), default=0.0))
    if not is_in_range(largest):
        return norms, 1.0, largest == 0.0
    unit = 2.0 ** float(np.frexp(largest)[1])
    for part in parts:
        rows = vectors[part].double() / unit
        norms[part] = _norms(rows) if order == 2 else rows.abs().sum(1)
    return norms, unit * 2.0 ** float(np.frexp(float(norms.amax()))[1]), True


def _multiplies_halves(dtype: Any) -> bool:
    """Tell whether CUDA tensors of `dtype` are multiplied into float32, as they are and summed in float32."""
    torch = load_torch()
    if dtype == torch.float32 or not hasattr(torch.ops.aten.mm, "dtype"):
        return False
    return dtype == torch.bfloat16 or not getattr(torch.backends.cuda.matmul, "allow_fp16_accumulation", False)


def _multiplies_exactly(dtype: Any, vectors: Tensor) -> bool:
    """Tell whether `ProductScreen.tile` multiplies the rounded numbers as they are."""
    torch = load_torch()
    if vectors.is_cuda:
        return _multiplies_halves(dtype)
    matmul = getattr(torch.backends.mkldnn, "matmul", None)
    try:
        is_highest = torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # set in two ways that contradict each other
        return False
    return is_highest and getattr(matmul, "fp32_precision", "none") in ("none", "ieee")
