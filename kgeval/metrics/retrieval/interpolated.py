"""Metrics from interpolated precision: the highest precision at a given recall or at any higher recall.

`kgeval.metrics.retrieval.curves` computes its curves with `HitCounts` and `interpolated_precision`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, Reals, check_number
from kgeval.errors import MetricError
from kgeval.metrics.retrieval.base import EMPTY, LISTS, NO_EXPECTATION, ListMetric
from kgeval.metrics.retrieval.lists import RankedLists

_MANNING = "Manning et al. (2008), Introduction to Information Retrieval, section 8.4"
RECALL_ROUNDING = 1e-9  # subtracted before rounding up, since 0.1 * 30 is 3.0000000000000004 instead of 3


@dataclass(frozen=True)
class HitCounts:
    """The hits (relevant items) of ranked lists without ties, sorted by query and position.

    Parameters
    ----------
    query : int64 array, shape (hits,)
        The query of each hit.
    place : int64 array, shape (hits,)
        1-based position in the list.
    number : int64 array, shape (hits,)
        1 for the first hit of the list, 2 for the second, and so on.
    precision : float64 array, shape (hits,)
        The precision at the hit: ``number / place``.
    interpolated : float64 array, shape (hits,)
        The highest precision at this hit or at a later hit of the same list.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> hits = HitCounts.of(from_ranking([0, 1, 1]))
    >>> hits.place, hits.number, hits.interpolated.round(4)
    (array([2, 3]), array([1, 2]), array([0.6667, 0.6667]))
    """

    query: Ids
    place: Ids
    number: Ids
    precision: Reals
    interpolated: Reals

    @classmethod
    def of(cls, lists: RankedLists) -> HitCounts:
        """Return the hits of `lists`; within each tie group, all items must have the same grade (not checked)."""
        # (items,): 0-based index of each item in its tie group.
        in_group = np.arange(len(lists.query)) - np.repeat(lists.starts, np.diff(lists.bounds))
        is_hit = lists.is_relevant
        query, place = lists.query[is_hit], (lists.before + in_group)[is_hit] + 1
        # (hits,): 1 for the first hit of a list, 2 for the second, and so on: the index of the hit minus the index of
        # the first hit of the list, plus 1.
        number = np.arange(len(query)) - np.searchsorted(query, query) + 1
        precision = np.asarray(number / place, dtype=np.float64)
        # (hits,): from the last hit to the first, the running maximum of the precision within each list.
        backwards = pd.Series(precision[::-1]).groupby(query[::-1]).cummax().to_numpy()
        return cls(query, place, number, precision, np.asarray(backwards[::-1], dtype=np.float64))


def interpolated_precision(lists: RankedLists, hits: HitCounts, recall: float) -> Reals:
    """Return the highest precision of each list at the given recall or at any higher recall.

    Parameters
    ----------
    lists : RankedLists
        RankedLists without ties between relevant and irrelevant items.
    hits : HitCounts
        The hits of `lists`.
    recall : float
        From 0 to 1.

    Returns
    -------
    float64 array, shape (queries,)
        0 for a list that does not reach the recall.
    """
    # (queries,): how many hits a list needs to reach the recall; at least 1.
    needed = np.maximum(np.ceil(recall * lists.n_relevant - RECALL_ROUNDING), 1)
    # (hits,): True for the hit at which its list reaches the recall; at most one hit per list.
    reaches = hits.number == needed[hits.query]
    return lists.per_list(hits.query[reaches], hits.interpolated[reaches])


@LISTS.register
@dataclass(frozen=True)
class InterpolatedPrecision(ListMetric):
    """Interpolated precision: the highest precision at the given recall or at any higher recall.

    Parameters
    ----------
    recall : float
        From 0 to 1.
    empty : str
        As in `Recall`.

    References
    ----------
    Manning et al. (2008), Introduction to Information Retrieval, section 8.4.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> InterpolatedPrecision(recall=0.5).compute(from_ranking([0, 1, 1, 0, 0, 0])).value
    0.6666666666666666
    """

    recall: float = 0.0
    empty: str = "skip"
    name: ClassVar[str] = "iprec"
    title: ClassVar[str] = "iprec"
    reference: ClassVar[str] = _MANNING
    undefined_when: ClassVar[str] = "no item is relevant"
    tie_policies: ClassVar[tuple[str, ...]] = NO_EXPECTATION

    def __post_init__(self) -> None:
        self._check(empty=EMPTY)
        if self.recall not in (0, 1):
            check_number("recall of iprec", self.recall, 0.0, 1.0, "a number from 0 to 1")

    def ratio(self, lists: RankedLists) -> tuple[Reals, Reals]:
        """Return the numerators (the interpolated precision of each query) and the denominators.

        A denominator is 1, or 0 for a query without relevant items.
        """
        return interpolated_precision(lists, HitCounts.of(lists), self.recall), (lists.n_relevant > 0).astype(
            np.float64
        )


@LISTS.register
@dataclass(frozen=True)
class InterpolatedAP(ListMetric):
    """Mean interpolated precision over equally spaced recalls from 0 to 1, or over the recall at each relevant item.

    Parameters
    ----------
    points : str
        The number of equally spaced recalls, as a string: ``"11"`` for 0, 0.1, ..., 1. Or ``"all"``: if a query has R
        relevant items, its recalls are 1 / R, 2 / R, ..., 1, and the mean is the area below the interpolated curve.
    empty : str
        As in `Recall`.

    References
    ----------
    Manning et al. (2008), Introduction to Information Retrieval, section 8.4 (11 points); Everingham et al.
    (2015), The Pascal Visual Object Classes Challenge: A Retrospective, IJCV 111 (all points).

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> round(InterpolatedAP().compute(from_ranking([1, 0, 1, 0])).value, 12)
    0.848484848485
    >>> round(InterpolatedAP("all").compute(from_ranking([1, 0, 1, 0])).value, 12)
    0.833333333333
    """

    points: str = "11"
    empty: str = "skip"
    name: ClassVar[str] = "iap"
    title: ClassVar[str] = "iAP"
    reference: ClassVar[str] = _MANNING
    undefined_when: ClassVar[str] = "no item is relevant"
    tie_policies: ClassVar[tuple[str, ...]] = NO_EXPECTATION

    def __post_init__(self) -> None:
        self._check(empty=EMPTY)
        is_number = isinstance(self.points, str) and self.points.isdecimal() and int(self.points) >= 2
        if self.points != "all" and not is_number:
            raise MetricError(
                f"points of iap must be 'all', or a number of at least 2 as a string such as '11'; got {self.points!r}"
            )

    def ratio(self, lists: RankedLists) -> tuple[Reals, Reals]:
        """Return the numerators (the sum of the interpolated precisions of each query) and the denominators.

        A denominator is the number of recalls at which the precision is read, or 0 for a query without relevant items.
        """
        hits = HitCounts.of(lists)
        if self.points == "all":
            return lists.per_list(hits.query, hits.interpolated), lists.n_relevant.astype(np.float64)
        n = int(self.points)
        total = sum(interpolated_precision(lists, hits, i / (n - 1)) for i in range(n))
        return np.asarray(total), n * (lists.n_relevant > 0).astype(np.float64)
