"""What hits@k, MRR and MR allow each other, decided exactly: rational numbers, no solver.

The question. Is there a distribution of ranks with hits@k within given ranges, and its mean (MR) and mean
reciprocal (MRR) too? Ranks are the integers 1..C (C may be unknown), or the halves 1, 1.5, .. C under realistic
ties. Every mean over ranks is a mean over such a distribution, weighted means and expectations over ties included;
and what no distribution gives, no list of ranks gives.

Bands. Let k_1 < .. < k_m be the cut-offs and H_i = hits@k_i, which are only known to lie in ranges. The ranks
after k_{i-1} up to k_i, with mass w_i = H_i - H_{i-1}, are a band; the last one, after k_m, has mass 1 - H_m. Given
the H_i, ranks are free within their band, so with x = MRR and y = MR the points (x, y) that can be reached are the
sum over the bands of w_i times the convex hull of {(1/r, r): r in the band}.

One number. The least of a mean of c(r) takes in each band the rank where c is least. 1/r falls and r rises, so these
are the band's ends: MRR is between sum w_i / end_i and sum w_i / start_i, MR between sum w_i start_i and
sum w_i end_i (the last end is C, or infinity). Summed by parts, the mean is c_last + sum H_i (c_i - c_{i+1}), linear
in the H_i. These lie in the box of their ranges and do not fall. A vertex of that polytope has m independent tight
constraints, each of the form H_i = bound or H_i = H_{i+1}; equalities join the H_i to chains, and each chain holds a
bound. So some best H has only ends of the ranges as values, and a walk over these finds it.

Both numbers. The points that can be reached, over all H, are a convex set S (a projection of a polytope). The least y
of S lies at its largest x (all ranks at the starts, all H_i at their largest), so the least y given x <= t falls in t;
by duality it is the largest over slopes s >= 0 of L(s) - s t with L(s) = min over S of y + s x. In each band r + s / r
is least at the integer below or above sqrt(s), or at the end nearest to it, as it is convex in r. L(s) - s t is
concave and consists of straight pieces: beginning with a corner of S on either side of t, the slope of the line
through both is tried; it gives a corner beyond that line, which replaces one of the two, or none, and then the line is
the border of S at t. Corners are finite in number between the two, so this ends. The most y given x >= t is the same
upside down, with r + s / r largest at the ends of a band. The set of y with x in a range is an interval, so a range of
x, a range of y and the H_i go together exactly if the x range meets [least, most MRR], and the y range meets the
interval from the least y given the largest x to the most y given the smallest x.

Each refusal is one line that can be checked by hand. Without hits@k, for example, s = j (j + 1) gives
(r - j) (r - j - 1) >= 0 for every integer r, so MR + j (j + 1) MRR >= 2 j + 1, sharper than MRR >= 1 / MR.

Two limits are let through: a bound that only infinite ranks reach counts as reached, and of a known number of ranks
only what it says of each number alone is used (see `kgeval.published.table`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, isqrt

Range = tuple[Fraction, Fraction]
ONE = Fraction(1)
WHOLE, HALF = Fraction(1), Fraction(1, 2)


@dataclass(frozen=True)
class Corner:
    """A most extreme distribution: per band its mass and the one rank that holds it, and the means of it.

    Parameters
    ----------
    shares : tuple of Fraction, one per cut-off
        The hits@k.
    ranks : tuple of Fraction or None, one per band
        None stands for infinity.
    """

    shares: tuple[Fraction, ...]
    ranks: tuple[Fraction | None, ...]

    @property
    def masses(self) -> tuple[Fraction, ...]:
        """The mass of each band, all together 1."""
        return tuple(high - low for low, high in zip((Fraction(0), *self.shares), (*self.shares, ONE)))

    @property
    def mrr(self) -> Fraction:
        """The mean reciprocal rank; an infinite rank adds nothing."""
        return sum((mass / rank for mass, rank in zip(self.masses, self.ranks) if rank is not None), Fraction(0))

    @property
    def mr(self) -> Fraction:
        """The mean rank, of finite ranks."""
        return sum((mass * rank for mass, rank in zip(self.masses, self.ranks) if rank is not None), Fraction(0))


@dataclass(frozen=True)
class Line:
    """MR + slope * MRR is at least (or at most) `total` for the bands, so MR is at least (at most) `mr`.

    Parameters
    ----------
    slope, total, mr : Fraction
    corner : Corner
        A distribution that reaches `total`.
    """

    slope: Fraction
    total: Fraction
    mr: Fraction
    corner: Corner


@dataclass(frozen=True)
class Bands:
    """The ranks between cut-offs, and in what ranges hits@k lie; make it with `Bands.of`.

    Parameters
    ----------
    cuts : tuple of int
        Rising, each below `top`.
    low, high : tuple of Fraction, one per cut-off
        The range of each hits@k, neither falling.
    top : int or None
        The last rank there can be.
    step : Fraction
        1 for integer ranks, 1/2 for half ranks.
    """

    cuts: tuple[int, ...]
    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    top: int | None = None
    step: Fraction = WHOLE

    @classmethod
    def of(cls, hits: dict[int, Range], top: int | None = None, step: Fraction = WHOLE) -> Bands:
        """Return the bands of hits@k whose ranges allow that they do not fall.

        Ranges are narrowed to what the others leave; a hits@k that must be 1 makes k the last rank.

        Examples
        --------
        >>> bands = Bands.of({1: (Fraction(1, 5), Fraction(1, 5)), 3: (Fraction(1, 2), Fraction(1, 2))})
        >>> bands.most_mrr().mrr, bands.least_mrr().mrr  # 1/5 + 3/10 / 2 + 1/2 / 4 and 1/5 + 3/10 / 3
        (Fraction(19, 40), Fraction(3, 10))
        """
        cuts = sorted(hits)
        low = [max(hits[k][0] for k in cuts[: i + 1]) for i in range(len(cuts))]
        high = [min(hits[k][1] for k in cuts[i:]) for i in range(len(cuts))]
        ends = [k for k, least in zip(cuts, low) if least == 1]
        top = min([*ends, *([] if top is None else [top])], default=None)
        n = sum(1 for k in cuts if top is None or k < top)
        return cls(tuple(cuts[:n]), tuple(low[:n]), tuple(high[:n]), top, step)

    @property
    def starts(self) -> tuple[Fraction, ...]:
        """The first rank of each band."""
        return (ONE, *(k + self.step for k in self.cuts))

    @property
    def ends(self) -> tuple[Fraction | None, ...]:
        """The last rank of each band, None where there is no last."""
        return (*map(Fraction, self.cuts), None if self.top is None else Fraction(self.top))

    def most_mrr(self) -> Corner:
        """Return where MRR is largest: each rank first in its band, each hits@k at its largest."""
        return Corner(self.high, self.starts)

    def least_mrr(self) -> Corner:
        """Return where MRR is least: each rank last in its band, each hits@k at its least."""
        return Corner(self.low, self.ends)

    def least_mr(self) -> Corner:
        """Return where MR is least, which is where MRR is largest."""
        return self.most_mrr()

    def most_mr(self) -> Corner | None:
        """Return where MR is largest, None if it has no bound."""
        return None if self.top is None else self.least_mrr()

    def least_mr_given(self, mrr: Fraction, enough: Fraction) -> Line:
        """Return the least MR of the distributions whose MRR is at most `mr`.

        Parameters
        ----------
        mrr : Fraction
            Not below the least MRR.
        enough : Fraction
            A line that proves more than this may be returned in place of the best.
        """
        return self._line(mrr, 1, enough)

    def most_mr_given(self, mrr: Fraction) -> Line | None:
        """Return the most MR of the distributions whose MRR is at least `mrr` (not above the most MRR)."""
        return None if self.top is None else self._line(mrr, -1, None)

    def _line(self, mrr: Fraction, sense: int, enough: Fraction | None) -> Line:
        """Return the border of S at x = `mrr`: below it (sense 1) or above it (sense -1)."""
        slope, near = Fraction(0), self._corner(Fraction(0), sense)
        if sense * (near.mrr - mrr) <= 0:
            return Line(slope, near.mr, near.mr, near)
        slope, far = ONE, self._corner(ONE, sense)
        while sense * (far.mrr - mrr) > 0:
            total = far.mr + slope * far.mrr
            if enough is not None and total - slope * mrr > enough:
                return Line(slope, total, total - slope * mrr, far)
            slope, near = 2 * slope, far
            far = self._corner(slope, sense)
        while True:
            slope = (far.mr - near.mr) / (near.mrr - far.mrr)
            total, corner = near.mr + slope * near.mrr, self._corner(slope, sense)
            if corner.mr + slope * corner.mrr == total:
                return Line(slope, total, total - slope * mrr, corner)
            if sense * (corner.mrr - mrr) > 0:
                near = corner
            else:
                far = corner

    def _corner(self, slope: Fraction, sense: int) -> Corner:
        """Return where sense * (y + slope * x) is least."""
        choose = _nearest if sense > 0 else _furthest
        ranks = [choose(slope, start, end, self.step) for start, end in zip(self.starts, self.ends)]
        return Corner(self._shares([sense * (rank + slope / rank) for rank in ranks]), tuple(ranks))

    def _shares(self, costs: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return the hits@k for which the mean cost is least; `costs` are those of the bands.

        Walks over the cut-offs, keeping for each end of a range the best hits@k so far that do not exceed it.
        """
        values = sorted({*self.low, *self.high})
        best: list[tuple[Fraction, tuple[Fraction, ...]] | None] = [(Fraction(0), ())] * len(values)
        for low, high, cost, following in zip(self.low, self.high, costs, costs[1:]):
            found, reached = None, []
            for value, before in zip(values, best):
                if before is not None and low <= value <= high:
                    total = before[0] + value * (cost - following)
                    if found is None or total < found[0]:
                        found = (total, (*before[1], value))
                reached.append(found)
            best = reached
        return best[-1][1] if best and best[-1] else ()


def _nearest(slope: Fraction, start: Fraction, end: Fraction | None, step: Fraction) -> Fraction:
    """Return the rank of a band where r + slope / r is least."""
    below = isqrt(floor(slope / step**2)) * step
    ranks = [max(start, rank if end is None else min(rank, end)) for rank in (below, below + step)]
    return min(ranks, key=lambda rank: rank + slope / rank)


def _furthest(slope: Fraction, start: Fraction, end: Fraction | None, step: Fraction) -> Fraction:
    """Return the end of a finite band where r + slope / r is largest."""
    return max((rank for rank in (start, end) if rank is not None), key=lambda rank: rank + slope / rank)
