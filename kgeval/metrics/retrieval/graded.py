"""Metrics of ranked lists that use the grades of items: DCG, nDCG and ERR.

With ties ``"expected"``, each metric is the exact expectation over all orders of tied items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Ids, Reals, check_number
from kgeval.errors import MetricError
from kgeval.metrics.base import UNBOUNDED
from kgeval.metrics.retrieval.base import EMPTY, LISTS, ListMetric
from kgeval.metrics.retrieval.lists import RankedLists
from kgeval.metrics.retrieval.positions import discount_sums, expected_reciprocal

_JARVELIN = "Järvelin and Kekäläinen (2002), Cumulated Gain-based Evaluation of IR Techniques, TOIS 20(4)"
NEGLIGIBLE = 1e-20  # probabilities up to this value are left out of sums


def gains(grade: Reals, gain: str) -> Reals:
    """Return the gain of each grade.

    Parameters
    ----------
    grade : float64 array of any shape
    gain : str
        ``"linear"``: the gain is the grade. ``"exponential"``: the gain is 2^grade - 1. Or pairs of grade and gain,
        such as ``"1:3;2:9;4:4.5"``; the gain of a grade that is not listed is the grade itself.

    Returns
    -------
    float64 array, in the shape of `grade`

    Raises
    ------
    MetricError
        If `gain` has none of these forms.

    Examples
    --------
    >>> gains(np.array([0.0, 1.0, 3.0]), "exponential"), gains(np.array([1.0, 2.0]), "1:3")
    (array([0., 1., 7.]), array([3., 2.]))
    """
    if gain == "linear":
        return grade
    if gain == "exponential":
        return np.asarray(np.exp2(grade) - 1.0)
    by_grade = _gains_by_grade(gain)
    return np.array([by_grade.get(float(value), float(value)) for value in grade.ravel()]).reshape(grade.shape)


def _gains_by_grade(gain: str) -> dict[float, float]:
    """Parse a text such as ``"1:3;2:9"`` into a dictionary from grades to gains."""
    pairs = [part.partition(":") for part in gain.split(";")] if isinstance(gain, str) else []
    try:
        by_grade = {float(grade): float(value) for grade, _, value in pairs}
    except ValueError:
        by_grade = {}
    if (
        not by_grade
        or len(by_grade) < len(pairs)
        or not all(grade > 0 and 0 <= value < UNBOUNDED for grade, value in by_grade.items())
    ):
        raise MetricError(
            "gain must be 'linear', 'exponential', or pairs GRADE:GAIN such as '1:3;2:9', with distinct positive "
            f"grades and gains of at least 0; got {gain!r}"
        )
    return by_grade


@dataclass(frozen=True)
class _Discounted(ListMetric):
    """Base of DCG and nDCG; computes the DCG of each list and of its ideal list (see `NDCG`)."""

    k: int | None = None
    gain: str = "linear"

    def __post_init__(self) -> None:
        self._check()
        gains(np.zeros(0), self.gain)  # raises if `gain` is wrong

    def ordered(self, lists: RankedLists, ties: str) -> RankedLists:
        """Return the lists with ties broken.

        Tied items are ordered by gain, not by grade, because an item with a higher grade may have a lower gain.
        """
        return lists.under(ties, gains(lists.grade, self.gain))

    def _dcg(self, lists: RankedLists, base: float) -> Reals:
        """Return the expected DCG of each list, float64 (queries,); `base` is the base of the logarithm."""
        if not len(lists.query):
            return np.zeros(len(lists))
        groups = lists.groups
        # (groups,): the mean gain of the tie group's items, which is the expected gain at each position of the group.
        # Items of grade 0 have gain 0: the sum leaves them out, but the size counts them.
        mean_gain = np.add.reduceat(gains(lists.grade, self.gain), lists.starts) / groups.size
        return lists.per_list(groups.query, mean_gain * discount_sums(groups.before, groups.size, self._reach, base))

    def _ideal_dcg(self, lists: RankedLists, base: float) -> Reals:
        """Return the DCG of each ideal list, float64 (queries,); `base` is the base of the logarithm."""
        # (judged,) each: the gains of the judged items, and the order of the items by query, then by descending gain.
        gain = gains(lists.ideal_grade, self.gain)
        order = np.lexsort((-gain, lists.ideal_query))
        # (judged,): 0-based positions in the ideal lists: 0, 1, 2, ... for each query. `order` keeps the items of a
        # query together, so these are also the positions of the sorted items, ``gain[order]``.
        place = lists.ideal_place
        discount = discount_sums(place, np.ones_like(place), self._reach, base)
        return lists.per_list(lists.ideal_query, gain[order] * discount)


@LISTS.register
@dataclass(frozen=True)
class DCG(_Discounted):
    """Discounted cumulated gain: the sum of gain / log_base(position + 1) over the first k positions.

    Parameters
    ----------
    k : int, optional
    gain : str
        ``"linear"`` (Järvelin and Kekäläinen; trec_eval), ``"exponential"`` (2^grade - 1; Burges et al.),
        or pairs of grade and gain such as ``"1:3;2:9"``.
    base : float
        Base of the logarithm. The gain at every position is divided by the logarithm of position + 1, as in today's
        tools. In Järvelin and Kekäläinen (2002), the gains at the first ``base`` positions are not discounted.

    References
    ----------
    Järvelin and Kekäläinen (2002), Cumulated Gain-based Evaluation of IR Techniques, TOIS 20(4);
    Burges et al. (2005), Learning to Rank using Gradient Descent, ICML (exponential gain).

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> round(DCG(6).compute(from_ranking([3, 2, 3, 0, 1, 2, 3, 0])).value, 8)
    6.86112669
    """

    base: float = 2.0
    name: ClassVar[str] = "dcg"
    title: ClassVar[str] = "DCG"
    bounds: ClassVar[tuple[float, float]] = (0.0, UNBOUNDED)
    reference: ClassVar[str] = _JARVELIN
    undefined_when: ClassVar[str] = "there is no query"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("base of dcg", self.base, 1.0, UNBOUNDED, "a number above 1")

    def ratio(self, lists: RankedLists) -> tuple[Reals, Reals]:
        """Return the numerators (the DCG of each list) and the denominators (all 1)."""
        return self._dcg(lists, self.base), np.ones(len(lists))


@LISTS.register
@dataclass(frozen=True)
class NDCG(_Discounted):
    """Normalised DCG: the DCG of the list divided by the DCG of the ideal list.

    The ideal list has all judged items, sorted by descending gain. The base of the logarithm has no effect on the
    quotient. Micro averages divide the sum of the DCGs by the sum of the ideal DCGs.

    Parameters
    ----------
    k : int, optional
        Only the first k positions of the list, and the first k of the ideal list, count.
    gain : str
        As in `DCG`.
    empty : str
        What to do with a query whose ideal DCG is 0; as in `Recall`.

    References
    ----------
    Järvelin and Kekäläinen (2002), Cumulated Gain-based Evaluation of IR Techniques, TOIS 20(4);
    McSherry and Najork (2008), ECIR (ties).

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> round(NDCG(6).compute(from_ranking([3, 2, 3, 0, 1, 2, 3, 0])).value, 8)
    0.81835419
    """

    empty: str = "skip"
    name: ClassVar[str] = "ndcg"
    title: ClassVar[str] = "nDCG"
    reference: ClassVar[str] = _JARVELIN
    undefined_when: ClassVar[str] = "the ideal DCG is 0"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(empty=EMPTY)

    def ratio(self, lists: RankedLists) -> tuple[Reals, Reals]:
        """Return the numerators (the DCG of each list) and the denominators (the DCG of each ideal list)."""
        return self._dcg(lists, 2.0), self._ideal_dcg(lists, 2.0)


@LISTS.register
@dataclass(frozen=True)
class ERR(ListMetric):
    """Expected reciprocal rank: the expected value of 1 / (the position at which a reader of the list stops).

    The reader reads the list from the top, and stops at an item of grade g with probability (2^g - 1) / 2^g_max. For a
    reader who never stops, 0 replaces 1 / position. The best possible value is below 1: if g_max is 1, the ERR of
    a list with one item of grade 1 is at most 0.5.

    Parameters
    ----------
    k : int, optional
        A reader who stops after position k counts as a reader who never stops.
    g_max : float
        The highest possible grade; a higher grade in the data is an error.

    References
    ----------
    Chapelle et al. (2009), Expected Reciprocal Rank for Graded Relevance, CIKM.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> round(ERR(g_max=3.0).compute(from_ranking([3, 2, 3, 1])).value, 6)
    0.921529
    """

    k: int | None = None
    g_max: float = 1.0
    name: ClassVar[str] = "err"
    title: ClassVar[str] = "ERR"
    reference: ClassVar[str] = "Chapelle et al. (2009), Expected Reciprocal Rank for Graded Relevance, CIKM"
    undefined_when: ClassVar[str] = "there is no query"

    def __post_init__(self) -> None:
        self._check()
        check_number("g_max of err", self.g_max, 0.0, UNBOUNDED, "a positive number")

    def ratio(self, lists: RankedLists) -> tuple[Reals, Reals]:
        """Return the numerators (the ERR of each list) and the denominators (all 1)."""
        above = np.flatnonzero(lists.ideal_grade > self.g_max)
        if len(above):
            grade, query = lists.ideal_grade[above[0]], lists.ideal_query[above[0]]
            raise MetricError(
                f"{self}: grade {grade:g} of query {lists.name_of(query)} is above g_max; use err(g_max={grade:g})"
            )
        if not len(lists.query):
            return np.zeros(len(lists)), np.ones(len(lists))
        # A hit is an item of positive grade. The items of a tie group are in random order; number the hits of the group
        # in this order. Whether the reader stops at hit i does not depend on the position of hit i. So the term of hit
        # i is the product of two numbers: the chance to stop at hit i, and the expected 1 / position of hit i.
        # (items,): the chance that a reader who reads the item continues.
        goes_on = 1.0 - (np.exp2(lists.grade) - 1.0) / 2.0**self.g_max
        groups, bounds = lists.groups, lists.bounds
        # (groups,): number of hits of each tie group; the arrays of `lists` store only hits.
        n_hits = np.diff(bounds)
        # (items,) each: the tie group of each item, and the number i of the item in its group, from 1.
        group = np.repeat(np.arange(len(n_hits)), n_hits)
        which = np.arange(len(group)) - bounds[:-1][group] + 1
        # (items,): the chance to reach the group times the chance to stop at its i-th hit.
        stops = _survival(groups.query, np.multiply.reduceat(goes_on, lists.starts))[group] * _stops(goes_on, bounds)
        kept = stops > NEGLIGIBLE
        reciprocal = expected_reciprocal(
            groups.before[group][kept],
            groups.size[group][kept],
            n_hits[group][kept],
            which[kept],
            self._reach,
        )
        return lists.per_list(lists.query[kept], stops[kept] * reciprocal), np.ones(len(lists))


def _survival(query: Ids, goes_on: Reals) -> Reals:
    """Return the chance that the reader (see `ERR`) reaches each tie group, float64 (groups,).

    Parameters
    ----------
    query : int64 array, shape (groups,)
    goes_on : float64 array, shape (groups,)
        The chance that a reader who reaches the group continues after the last item of the group.
    """
    # (groups,): the product of `goes_on` over the groups of the same query up to this group. The chance to reach a
    # group is the product in the previous row, or 1 in the first row of a query.
    reached = pd.Series(goes_on).groupby(query).cumprod().to_numpy()
    is_first = np.append(True, query[1:] != query[:-1])
    return np.where(is_first, 1.0, np.append(1.0, reached[:-1]))


def _stops(goes_on: Reals, bounds: Ids) -> Reals:
    """Return the chance that the reader (see `ERR`) stops at the 1st, 2nd, ... hit of each tie group.

    A hit is an item of positive grade. The hits of a tie group are in random order.

    Parameters
    ----------
    goes_on : float64 array, shape (items,)
        The chance that the reader continues after each hit.
    bounds : int64 array, shape (groups + 1,)
        Group g has the hits bounds[g]:bounds[g + 1].

    Returns
    -------
    float64 array, shape (items,)
        In row bounds[g] + m: the chance that a reader who reaches group g stops at its hit m + 1.

    Notes
    -----
    Let r be the number of hits of a group, and u[m] the chance that a reader who reaches the group continues after the
    first m hits. Multiply the `goes_on` of m of the r hits: u[m] is the mean of this product over all sets of m hits.
    The chance to stop at hit m + 1 is u[m] - u[m + 1]. If a hit with `goes_on` q is added to the group, the new u[m] is
    ((r + 1 - m) * u[m] + m * q * u[m - 1]) / (r + 1).

    Examples
    --------
    Two hits in random order; the reader continues after them with chances 0 and 1/2. The reader stops at the first
    hit with chance 3/4, the mean of 1 and 1/2, and at the second hit with chance 1/4.

    >>> _stops(np.array([0.0, 0.5]), np.array([0, 2]))
    array([0.75, 0.25])
    """
    # (items,): correct for groups of one hit; other groups are overwritten below.
    result = 1.0 - goes_on
    n_hits = np.diff(bounds)
    # is_even (groups,): whether all hits of the group have the same `goes_on`, q. Such a group needs no loop: the
    # chance to stop at hit m + 1 is (1 - q) * q^m.
    # earlier (items,): m, the number of hits of the group before each hit.
    is_even = np.minimum.reduceat(goes_on, bounds[:-1]) == np.maximum.reduceat(goes_on, bounds[:-1])
    earlier = np.arange(len(goes_on)) - np.repeat(bounds[:-1], n_hits)
    result = np.where(np.repeat(is_even, n_hits), result * goes_on**earlier, result)
    for group in np.flatnonzero(~is_even):
        hits: npt.NDArray[np.float64] = goes_on[bounds[group] : bounds[group + 1]]
        # (size + 1,): u[0], ..., u[r] as in the Notes, for r = `size` hits; each pass of the loop adds one hit.
        reads_on = np.ones(1)
        for size, q in enumerate(hits):
            m = np.arange(size + 2)
            # (size + 2,) each: u[m] and u[m - 1]; 0 where the index is out of range.
            kept, added = np.append(reads_on, 0.0), np.append(0.0, reads_on)
            reads_on = ((size + 1 - m) * kept + m * q * added) / (size + 1)
        result[bounds[group] : bounds[group + 1]] = reads_on[:-1] - reads_on[1:]
    return result
