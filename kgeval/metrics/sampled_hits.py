"""hits@k of n drawn negatives, computed exactly from the ranks among all rivals; nothing is drawn.

The chance that at most k - 1 of n drawn rivals beat a positive is a polynomial of degree n in the number of rivals that
beat it. Means of this polynomial over ranges of integers give expectations over ties and chance levels: short ranges
are added; a long range is an integral (Gauss-Legendre quadrature, exact for polynomials) plus corrections at both
ends, as in `kgeval.metrics.sums`, with the central differences up to the 15th. For a polynomial of degree d, the
correction with the m-th difference falls like (d / (pi rivals)) ** m; long ranges are used from 8 d rivals on.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb
from typing import ClassVar

import numpy as np

from kgeval.base.checks import Ids, Reals, check_positive_int
from kgeval.data.lists import joined_ranges
from kgeval.errors import MetricError
from kgeval.metrics.ranks import Hits, RankMetric, ranks_under
from kgeval.stats.moments import Moments

MAX_DRAWN = 10_000  # the largest n: the work for each positive grows with k * n
_AT_ONCE = 1 << 16  # numbers of rivals for which the chance is computed at once
_RIVALS_PER_DEGREE, _N_DIFFERENCES = 8, 8


@dataclass(frozen=True)
class SampledHits(RankMetric):
    """Mean chance that at most k - 1 of n negatives, drawn at random from the rivals, beat the positive.

    ``hits@10_of_49`` draws with replacement: each draw beats the positive with the probability
    p = (better + share * tied) / rivals; the share is 0, 1 and 1/2 for optimistic, pessimistic and realistic ties.
    ``hits@10_of_49_drawn`` draws without replacement; n above the number of rivals draws all of them; half a rival
    (realistic ties) is the mean of the two whole numbers around it. With ties ``"expected"``, both are the mean over
    0 to `tied` rivals before the positive. A positive without rivals has the value 1.

    "hits@10 of 50" in papers: ULTRA, NBFNet-PyG and TRIX compute ``pessimistic.hits@10_of_49``, NBFNet on TorchDrug
    ``pessimistic.hits@10_of_50``; GraIL draws 49 once, which ``hits@10_of_49_drawn`` expects. Among all entities,
    hits@10 is much lower.

    Parameters
    ----------
    k : int
        At least 1.
    n : int
        The number of negatives, from k to 10,000; the positive is not counted.
    drawn : bool
        Whether the n negatives are distinct: drawn without replacement.

    References
    ----------
    Zhu et al. (2021), Neural Bellman-Ford Networks: A General Graph Neural Network Framework for Link Prediction,
    NeurIPS (with replacement, pessimistic ties); Teru et al. (2020), Inductive Relation Prediction by Subgraph
    Reasoning, ICML (drawn).

    Examples
    --------
    >>> one_better_of_four = np.array([1]), np.array([0]), np.array([4])
    >>> SampledHits(1, 2).compute(*one_better_of_four).value, SampledHits(1, 2, drawn=True).compute(*one_better_of_four)
    (0.5625, MetricValue(value=0.5, reason='', excluded=0, excluded_weight=0.0))
    """

    k: int = 10
    n: int = 49
    drawn: bool = False
    name: ClassVar[str] = "sampled_hits"
    title: ClassVar[str] = "sampled_hits"
    higher_is_better: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    reference: ClassVar[str] = "Zhu et al. (2021), Neural Bellman-Ford Networks, NeurIPS"
    needs_candidates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_positive_int("k of hits@k_of_n", self.k, MetricError)
        check_positive_int("n of hits@k_of_n", self.n, MetricError)
        if not self.k <= self.n <= MAX_DRAWN:
            raise MetricError(
                f"n of hits@k_of_n, the number of drawn negatives, must be from k to {MAX_DRAWN:,}; got {self}"
            )

    def __str__(self) -> str:
        return f"hits@{self.k}_of_{self.n}{'_drawn' * self.drawn}"

    @property
    def heading(self) -> str:
        """The name in printed tables and charts, which is the same text as the key."""
        return str(self)

    def values(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Reals:
        """Return the chance of each positive; see `RankMetric.values`."""
        if ties == "expected":
            return self._mean_chance(better, better + tied, rivals)
        above = ranks_under(ties, better, tied) - 1
        if self.drawn and ties == "realistic":
            return self._mean_chance(np.floor(above).astype(np.int64), np.ceil(above).astype(np.int64), rivals)
        return self._chance(above, rivals)

    def mean_value(self, low: Ids, high: Ids, power: int = 1) -> Reals:
        """Return the mean chance (or its square) for the ranks low..high among high - 1 rivals: the random ranking."""
        return self._mean_chance(low - 1, high - 1, high - 1, power)

    def caution(self, rivals: Ids) -> str:
        """Return a warning if some positives have k candidates or fewer, else an empty string."""
        return Hits(self.k).caution(rivals).replace(str(Hits(self.k)), str(self), 1) if self.drawn else ""

    def _moments(self, better: Ids, tied: Ids, rivals: Ids, ties: str) -> Moments:
        return Moments(self.values(better, tied, rivals, ties)[:, None])

    def _chance(self, above: Reals, rivals: Ids) -> Reals:
        """Return the chance of each positive that `above` of its rivals beat, float64 (positives,)."""
        cases, case_of = np.unique(np.stack([above, rivals.astype(np.float64)]), axis=1, return_inverse=True)
        chance = np.asarray(cases[0] < self.k, dtype=np.float64)  # n above the number of rivals draws all of them
        is_random = cases[1] > (self.n if self.drawn else 0)
        chance[is_random] = self._polynomial(*cases[:, is_random])
        return chance[case_of.reshape(-1)]

    def _polynomial(self, above: Reals, rivals: Reals) -> Reals:
        """Return P(at most k - 1 of n draws beat the positive), draw by draw, float64 (positives,).

        Only sums and products of numbers that are not negative if 0 <= above <= rivals, so nothing cancels. The
        polynomial is also defined elsewhere, as differences at the ends of a range need it.
        """
        found = np.empty(len(above))
        at_once = max(1, _AT_ONCE // self.k)
        so_far = np.arange(self.k)[:, None]  # draws that beat the positive
        for start in range(0, len(above), at_once):
            some = slice(start, start + at_once)
            chances = np.zeros((self.k, len(above[some])))
            chances[0] = 1.0
            beats, stays = above[some] / rivals[some], 1.0 - above[some] / rivals[some]
            for draw in range(self.n):
                if self.drawn:
                    left = rivals[some] - draw
                    beats = (above[some] - so_far) / left
                    stays = (rivals[some] - above[some] - (draw - so_far)) / left
                moved = chances * beats
                chances *= stays
                chances[1:] += moved[:-1]
            found[some] = chances.sum(axis=0)
        return found

    def _mean_chance(self, low: Ids, high: Ids, rivals: Ids, power: int = 1) -> Reals:
        """Return the mean of chance ** power over low[i] to high[i] rivals that beat positive i, float64 (n,)."""
        cases, case_of = np.unique(np.stack([low, high, rivals]), axis=1, return_inverse=True)
        low, high, rivals = cases
        degree, sizes = self.n * power, high - low + 1
        is_long = (sizes > degree // 2 + 1 + 4 * _N_DIFFERENCES) & (rivals >= _RIVALS_PER_DEGREE * degree)
        means = np.empty(len(sizes))
        short = np.flatnonzero(~is_long)
        # Blocks of short ranges, each with about _AT_ONCE numbers of rivals.
        for block in np.split(short, 1 + np.flatnonzero(np.diff(np.cumsum(sizes[short]) // _AT_ONCE))):
            if len(block):
                above = joined_ranges(low[block], sizes[block]).astype(np.float64)
                terms = self._chance(above, np.repeat(rivals[block], sizes[block])) ** power
                means[block] = np.add.reduceat(terms, np.cumsum(sizes[block]) - sizes[block]) / sizes[block]
        nodes, weights = np.polynomial.legendre.leggauss(degree // 2 + 1) if is_long.any() else (np.zeros(0),) * 2
        offsets, corrections = _ends()
        for i in np.flatnonzero(is_long).tolist():
            half = sizes[i] / 2.0
            points = np.concatenate([low[i] - 0.5 + half + half * nodes, high[i] + offsets, low[i] - 1 + offsets])
            terms = self._polynomial(points, np.full(len(points), float(rivals[i]))) ** power
            inside, after, before = np.split(terms, [len(nodes), len(nodes) + len(offsets)])
            means[i] = (half * (inside @ weights) + (after - before) @ corrections) / sizes[i]
        return means[case_of.reshape(-1)]


@cache
def _ends() -> tuple[Reals, Reals]:
    """Return offsets and weights: with f at h + offsets, the correction of an integral of f that ends at h + 1/2.

    With the central difference d = 2 sinh(D / 2), the correction is 1 / d - 1 / D = 1 / d - 1 / (2 asinh(d / 2)).
    """
    series = [Fraction((-1) ** m * comb(2 * m, m), 16**m * (2 * m + 1)) for m in range(_N_DIFFERENCES + 1)]
    inverse = [Fraction(1)]  # the coefficients of d / (2 asinh(d / 2)) in d ** 2
    for m in range(1, _N_DIFFERENCES + 1):
        inverse.append(-sum((series[i] * inverse[m - i] for i in range(1, m + 1)), Fraction(0)))
    weights = dict.fromkeys(range(1 - _N_DIFFERENCES, _N_DIFFERENCES + 1), Fraction(0))
    for m in range(1, _N_DIFFERENCES + 1):
        for i in range(2 * m):
            weights[m - i] -= inverse[m] * (-1) ** i * comb(2 * m - 1, i)
    return np.array([*weights], dtype=np.float64), np.array([float(weight) for weight in weights.values()])
