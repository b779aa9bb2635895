"""Exact bounds, in rational numbers: which values of hits@k, MRR and MR can occur together.

`kgeval.plausibility.rules` calls this module for `check_table`.

Question. Given ranges for some hits@k, which MRR and MR can a distribution of ranks have? Ranks are the integers
1..C or, under realistic ties, 1, 1.5, .., C, where C is the number of candidates (it may be unknown). Every mean over
ranks is the mean of such a distribution; the same holds for weighted means and for expectations over ties. So values
that no distribution gives cannot come from any list of ranks.

Bands. Let k_1 < .. < k_m be the cut-offs and H_i = hits@k_i; each H_i is known only as a range. Band i is the set of
ranks r with k_{i-1} < r <= k_i, from start_i to end_i; the mass w_i = H_i - H_{i-1} of band i is the share of ranks
in the band. The last band is the set of ranks above k_m, with the mass 1 - H_m. Given the H_i, ranks may lie anywhere
in their band.
With x = MRR and y = MR, the points (x, y) that can be reached are the sum over the bands of w_i times the convex hull
of {(1/r, r): r in the band}.

One metric. Let c(r) be a cost of rank r: 1/r for MRR, r for MR. The mean cost is smallest if, in each band, all ranks
are equal to the rank with the smallest cost. For both costs, this rank is an end of the band: MRR lies between
sum of w_i / end_i and sum of w_i / start_i, and MR between sum of w_i * start_i and sum of w_i * end_i (the last end is
C, or infinity). Let c_i be the least cost in band i. Summed by parts, the least mean cost is
c_last + sum of H_i * (c_i - c_{i+1}), which is linear in the H_i. The H_i form a polytope: each H_i lies in its range,
and H_i <= H_{i+1}. At a vertex of this polytope, m independent constraints hold with equality, each of the form
H_i = bound or H_i = H_{i+1}. The equalities H_i = H_{i+1} join the H_i into chains, and in each chain some H_i is an
end of its range. So there are optimal H_i that are all ends of ranges; `Bands._shares` searches among these values.

Two metrics. The points that can be reached, over all H_i, form a convex set S (a projection of a polytope). The least y
of S lies at the largest x of S (all ranks at the starts of their bands, all H_i largest), so the least y given x <= t
decreases as t grows. By duality, this least y is the largest value of L(s) - s * t over slopes s >= 0, where L(s) is
the minimum over S of y + s * x. In each band r + s / r is convex in r, so it is least at a rank next to sqrt(s), or at
the end of the band nearest to sqrt(s). L(s) - s * t is concave and consists of straight pieces. The search
(`Bands._line`) starts with two corners of S, one on either side of t, and tries the slope of the line through both. If
this slope gives a corner beyond the line, that corner replaces one of the two corners. Otherwise the line is the border
of S at t. There are finitely many corners, so the search ends. The search for the largest y given
x >= t is similar, with the signs reversed; r + s / r is then largest at an end of each band. The set of y with x in a
range is an interval. So a range of x, a range of y and the ranges of the H_i are possible together exactly if two
conditions hold: the range of x overlaps [least MRR, largest MRR]; and the range of y overlaps the interval from the
least y given the largest x to the largest y given the least x.

An impossible row violates one linear inequality, which can be checked by hand. Without hits@k, for example, the slope
s = j * (j + 1) with an integer j gives (r - j) * (r - j - 1) >= 0 for every integer r, so
MR + j * (j + 1) * MRR >= 2 * j + 1. This bound is sharper than MRR >= 1 / MR.

Some impossible rows are not detected, for two reasons. First, a value counts as possible even if it needs infinite
ranks. Second, if the number of ranks is known, this number is used to check each metric alone, and not several metrics
together (see `kgeval.plausibility.table`).
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
    """A distribution of ranks in which all ranks of a band are equal; bands are separated by the cut-offs k.

    MRR and MR have their extreme values for such distributions.

    Parameters
    ----------
    shares : tuple of Fraction, one per cut-off
        The hits@k of the distribution, ascending.
    ranks : tuple of Fraction or None, one per band
        For each band, the single rank that occurs in the band; None means infinity.
    """

    shares: tuple[Fraction, ...]
    ranks: tuple[Fraction | None, ...]

    @property
    def masses(self) -> tuple[Fraction, ...]:
        """The share of the ranks in each band; the shares add up to 1."""
        return tuple(high - low for low, high in zip((Fraction(0), *self.shares), (*self.shares, ONE)))

    @property
    def mrr(self) -> Fraction:
        """The mean reciprocal rank; an infinite rank adds nothing."""
        return sum((mass / rank for mass, rank in zip(self.masses, self.ranks) if rank is not None), Fraction(0))

    @property
    def mr(self) -> Fraction:
        """The mean rank; an infinite rank adds nothing."""
        return sum((mass * rank for mass, rank in zip(self.masses, self.ranks) if rank is not None), Fraction(0))


@dataclass(frozen=True)
class Line:
    """A linear bound on MR and MRR: ``MR + slope * MRR`` is at least `total` (or at most, for an upper bound).

    Parameters
    ----------
    slope, total : Fraction
    mr : Fraction
        The bound on MR that follows for one given MRR: ``total - slope * MRR``.
    corner : Corner
        A distribution of ranks for which ``MR + slope * MRR`` equals `total`.
    """

    slope: Fraction
    total: Fraction
    mr: Fraction
    corner: Corner


@dataclass(frozen=True)
class Bands:
    """The bands of ranks between cut-offs, and the range of each hits@k; `Bands.of` makes them.

    Parameters
    ----------
    cuts : tuple of int
        The cut-offs k, ascending, each below `top`.
    low, high : tuple of Fraction, one per cut-off
        The ends of the range of each hits@k; both tuples are ascending.
    top : int or None
        The largest possible rank.
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
        """Return the bands of ranks, given a range for each hits@k.

        The ranges must be consistent: it must be possible to choose one value from each range so that the values do
        not decrease as k grows. Each range is narrowed to the values that such a choice can contain. If the ranges
        force hits@k to be 1 for some k, then no rank is above this k.

        Parameters
        ----------
        hits : dict of int to (Fraction, Fraction)
            k -> the least and the largest hits@k.
        top : int, optional
            The largest possible rank.
        step : Fraction
            As in `Bands`.

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
        """The last rank of each band, None for infinity."""
        return (*map(Fraction, self.cuts), None if self.top is None else Fraction(self.top))

    def most_mrr(self) -> Corner:
        """Return the corner with the largest MRR: each rank is the first of its band, each hits@k is at its largest."""
        return Corner(self.high, self.starts)

    def least_mrr(self) -> Corner:
        """Return the corner with the least MRR: each rank is the last of its band, each hits@k has its least value."""
        return Corner(self.low, self.ends)

    def least_mr(self) -> Corner:
        """Return the corner with the least MR, which also has the largest MRR."""
        return self.most_mrr()

    def most_mr(self) -> Corner | None:
        """Return the corner with the largest MR; None if MR has no upper bound."""
        return None if self.top is None else self.least_mrr()

    def least_mr_given(self, mrr: Fraction, enough: Fraction) -> Line:
        """Return the `Line` that gives the least MR of all distributions whose MRR is at most `mrr`.

        Parameters
        ----------
        mrr : Fraction
            Not below the least MRR.
        enough : Fraction
            The search may stop early: a line that proves MR > `enough` may be returned instead of the best line.
        """
        return self._line(mrr, 1, enough)

    def most_mr_given(self, mrr: Fraction) -> Line | None:
        """Return the line that gives the largest MR of all distributions whose MRR is at least `mrr`.

        Returns None if MR has no upper bound. `mrr` must not exceed the largest possible MRR.
        """
        return None if self.top is None else self._line(mrr, -1, None)

    def _line(self, mrr: Fraction, sense: int, enough: Fraction | None) -> Line:
        """Return the line that bounds MR from below (sense 1) or from above (sense -1) at the MRR `mrr`.

        The line is the border of S, the set of possible points (MRR, MR), at x = `mrr`; see the module docstring. If a
        line proves MR > `enough`, the search stops early and returns that line.
        """
        slope, near = Fraction(0), self._corner(Fraction(0), sense)
        if sense * (near.mrr - mrr) <= 0:
            return Line(slope, near.mr, near.mr, near)
        # Double the slope until `near` and `far` are corners on either side of `mrr`.
        slope, far = ONE, self._corner(ONE, sense)
        while sense * (far.mrr - mrr) > 0:
            total = far.mr + slope * far.mrr
            if enough is not None and total - slope * mrr > enough:
                return Line(slope, total, total - slope * mrr, far)
            slope, near = 2 * slope, far
            far = self._corner(slope, sense)
        # Try the slope of the line through both corners; a corner beyond the line replaces one of them.
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
        """Return the corner at which MR + slope * MRR is least (if `sense` is 1) or largest (if `sense` is -1)."""
        choose = _nearest if sense > 0 else _furthest
        ranks = [choose(slope, start, end, self.step) for start, end in zip(self.starts, self.ends)]
        return Corner(self._shares([sense * (rank + slope / rank) for rank in ranks]), tuple(ranks))

    def _shares(self, costs: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return the hits@k for which the mean cost is smallest; `costs` has one cost per band.

        The loop runs over the cut-offs; H_i is the hits@k at cut-off i, and `values` contains the ends of all ranges.
        After cut-off i, ``best[v]`` is a pair: the least cost over all choices of H_1 .. H_i with H_i <= values[v], and
        the choice with this cost. ``best[v]`` is None if there are no such H_1 .. H_i.
        """
        values = sorted({*self.low, *self.high})
        best: list[tuple[Fraction, tuple[Fraction, ...]] | None] = [(Fraction(0), ())] * len(values)
        for low, high, cost, following in zip(self.low, self.high, costs, costs[1:]):
            least, best_here = None, []
            for value, before in zip(values, best):
                if before is not None and low <= value <= high:
                    total = before[0] + value * (cost - following)
                    if least is None or total < least[0]:
                        least = (total, (*before[1], value))
                best_here.append(least)
            best = best_here
        return best[-1][1] if best and best[-1] else ()


def _nearest(slope: Fraction, start: Fraction, end: Fraction | None, step: Fraction) -> Fraction:
    """Return the rank r between `start` and `end` at which r + slope / r is smallest."""
    below = isqrt(floor(slope / step**2)) * step
    ranks = [max(start, rank if end is None else min(rank, end)) for rank in (below, below + step)]
    return min(ranks, key=lambda rank: rank + slope / rank)


def _furthest(slope: Fraction, start: Fraction, end: Fraction | None, step: Fraction) -> Fraction:
    """Return the rank r, either `start` or `end`, at which r + slope / r is largest."""
    return max((rank for rank in (start, end) if rank is not None), key=lambda rank: rank + slope / rank)
