"""Metrics of ranked lists that weigh items by grade: DCG, nDCG and ERR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Ids, Reals, check_number
from kgeval.errors import MetricError
from kgeval.metrics.base import UNBOUNDED
from kgeval.metrics.retrieval.base import EMPTY, LISTS, ListMetric
from kgeval.metrics.retrieval.lists import Lists
from kgeval.metrics.retrieval.positions import discount_sums, expected_reciprocal

_JARVELIN = "Järvelin and Kekäläinen (2002), Cumulated Gain-based Evaluation of IR Techniques, TOIS 20(4)"
NEGLIGIBLE = 1e-20


def gains(grade: Reals, gain: str) -> Reals:
    """Return what each grade is worth, float64 of the same shape.

    Parameters
    ----------
    grade : float64 array
    gain : str
        ``"linear"``: the grade; ``"exponential"``: 2^grade - 1; or worths by grade such as
        ``"1:3;2:9;4:4.5"``, where a grade that is not named is worth itself.

    Examples
    --------
    >>> gains(np.array([0.0, 1.0, 3.0]), "exponential"), gains(np.array([1.0, 2.0]), "1:3")
    (array([0., 1., 7.]), array([3., 2.]))
    """
    if gain == "linear":
        return grade
    if gain == "exponential":
        return np.asarray(np.exp2(grade) - 1.0)
    worths = _worths(gain)
    return np.array([worths.get(float(value), float(value)) for value in grade.ravel()]).reshape(grade.shape)


def _worths(gain: str) -> dict[float, float]:
    pairs = [part.partition(":") for part in gain.split(";")] if isinstance(gain, str) else []
    try:
        worths = {float(grade): float(worth) for grade, _, worth in pairs}
    except ValueError:
        worths = {}
    if (
        not worths
        or len(worths) < len(pairs)
        or not all(grade > 0 and 0 <= worth < UNBOUNDED for grade, worth in worths.items())
    ):
        raise MetricError(
            "gain must be 'linear', 'exponential', or worths of at least 0 of distinct positive grades "
            f"such as '1:3;2:9'; got {gain!r}"
        )
    return worths


@dataclass(frozen=True)
class _Discounted(ListMetric):
    """What DCG and nDCG share: the discounted sum of gains of the list, and of the ideal list."""

    k: int | None = None
    gain: str = "linear"

    def __post_init__(self) -> None:
        self._check()
        gains(np.zeros(0), self.gain)

    def ordered(self, lists: Lists, ties: str) -> Lists:
        """Return the lists with ties broken by what items are worth, which need not rise with the grade."""
        return lists.under(ties, gains(lists.grade, self.gain))

    def _gained(self, lists: Lists, base: float) -> Reals:
        if not len(lists.query):
            return np.zeros(len(lists))
        groups = lists.groups
        mean_gain = np.add.reduceat(gains(lists.grade, self.gain), lists.starts) / groups.size
        return lists.per_list(groups.query, mean_gain * discount_sums(groups.before, groups.size, self._reach, base))

    def _ideal(self, lists: Lists, base: float) -> Reals:
        worth = gains(lists.ideal_grade, self.gain)
        order = np.lexsort((-worth, lists.ideal_query))
        place = lists.ideal_place
        discount = discount_sums(place, np.ones_like(place), self._reach, base)
        return lists.per_list(lists.ideal_query, worth[order] * discount)


@LISTS.register
@dataclass(frozen=True)
class DCG(_Discounted):
    """Discounted cumulated gain: the sum of gain / log_base(place + 1) over the first k places.

    Parameters
    ----------
    k : int, optional
    gain : str
        ``"linear"`` (Järvelin and Kekäläinen; trec_eval), ``"exponential"`` (2^grade - 1; Burges et al.),
        or worths by grade such as ``"1:3;2:9"``.
    base : float
        Of the logarithm. The paper of 2002 leaves the first ``base`` places undiscounted; here, as in
        today's tools, every place is divided by the logarithm of place + 1.

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

    def ratio(self, lists: Lists) -> tuple[Reals, Reals]:
        """Return the DCG and 1."""
        return self._gained(lists, self.base), np.ones(len(lists))


@LISTS.register
@dataclass(frozen=True)
class NDCG(_Discounted):
    """DCG of the list divided by the DCG of the ideal list, which has all judged items by falling gain.

    The base of the logarithm cancels. Micro averages divide the sum of the DCGs by the sum of the ideals.

    Parameters
    ----------
    k : int, optional
        Cuts both the list and the ideal list.
    gain : str
        As in `DCG`.
    empty : str
        A query whose ideal DCG is 0 is left out and counted (``"skip"``), counts 0 (``"zero"``), or
        leaves the whole metric undefined (``"nan"``).

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

    def ratio(self, lists: Lists) -> tuple[Reals, Reals]:
        """Return the DCG and the ideal DCG."""
        return self._gained(lists, 2.0), self._ideal(lists, 2.0)


@LISTS.register
@dataclass(frozen=True)
class ERR(ListMetric):
    """Expected reciprocal rank: the mean of 1 / place at which a reader stops who goes down the list.

    An item of grade g satisfies the reader with probability (2^g - 1) / 2^g_max. The best value is below 1
    (one answer of grade 1 and g_max 1 give at most 0.5).

    Parameters
    ----------
    k : int, optional
    g_max : float
        The highest grade that there can be; a higher one is an error.

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

    def ratio(self, lists: Lists) -> tuple[Reals, Reals]:
        """Return the expected reciprocal of the place where the reader stops, and 1."""
        above = np.flatnonzero(lists.ideal_grade > self.g_max)
        if len(above):
            grade, query = lists.ideal_grade[above[0]], lists.ideal_query[above[0]]
            raise MetricError(
                f"{self}: grade {grade:g} of query {lists.name_of(query)} is above g_max; write err(g_max={grade:g})"
            )
        if not len(lists.query):
            return np.zeros(len(lists)), np.ones(len(lists))
        # The chances to read on past any m items of a group, averaged over which m: stop at the (m + 1)-th
        # has probability reads_on[m] - reads_on[m + 1], and its place is that of the group's (m + 1)-th hit.
        goes_on = 1.0 - (np.exp2(lists.grade) - 1.0) / 2.0**self.g_max
        groups, bounds = lists.groups, lists.bounds
        n_hits = np.diff(bounds)
        group = np.repeat(np.arange(len(n_hits)), n_hits)
        which = np.arange(len(group)) - bounds[:-1][group] + 1
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
    """Return the chance to reach each group: the product of `goes_on` over the query's groups before it."""
    reached = pd.Series(goes_on).groupby(query).cumprod().to_numpy()
    is_first = np.append(True, query[1:] != query[:-1])
    return np.where(is_first, 1.0, np.append(1.0, reached[:-1]))


def _stops(goes_on: Reals, bounds: Ids) -> Reals:
    """Return the chance to stop at the 1st, 2nd, ... hit of each group, its hits in random order.

    Parameters
    ----------
    goes_on : float64 array, shape (items,)
    bounds : int64 array, shape (groups + 1,)

    Notes
    -----
    The mean over all sets of m hits of the product of their `goes_on` is u[m] = e[m] / C(r, m), e being the
    elementary symmetric polynomials. One more hit q makes u[m] (r + 1 - m) / (r + 1) u[m] + m / (r + 1) q u[m - 1].
    """
    result = 1.0 - goes_on
    n_hits = np.diff(bounds)
    is_even = np.minimum.reduceat(goes_on, bounds[:-1]) == np.maximum.reduceat(goes_on, bounds[:-1])
    earlier = np.arange(len(goes_on)) - np.repeat(bounds[:-1], n_hits)
    result = np.where(np.repeat(is_even, n_hits), result * goes_on**earlier, result)
    for group in np.flatnonzero(~is_even):
        hits: npt.NDArray[np.float64] = goes_on[bounds[group] : bounds[group + 1]]
        reads_on = np.ones(1)
        for size, q in enumerate(hits):
            m = np.arange(size + 2)
            kept, added = np.append(reads_on, 0.0), np.append(0.0, reads_on)
            reads_on = ((size + 1 - m) * kept + m * q * added) / (size + 1)
        result[bounds[group] : bounds[group + 1]] = reads_on[:-1] - reads_on[1:]
    return result
