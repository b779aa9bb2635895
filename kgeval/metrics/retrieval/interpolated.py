"""Interpolated precision: the best precision at a recall or beyond it; 11-point and all-point averages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from kgeval.checks import Ids, Reals, check_number
from kgeval.errors import MetricError
from kgeval.metrics.retrieval.base import EMPTY, LISTS, NO_EXPECTATION, ListMetric
from kgeval.metrics.retrieval.lists import Lists

_MANNING = "Manning et al. (2008), Introduction to Information Retrieval, section 8.4"
RECALL_ROUNDING = 1e-9  # 0.1 * 30 relevant items are 3, not 3.0000000000000004


@dataclass(frozen=True)
class HitCounts:
    """The relevant items that lists hold, in their order; ties must have been broken.

    Parameters
    ----------
    query : int64 array, shape (hits,)
    place : int64 array, shape (hits,)
        1-based place in the list.
    number : int64 array, shape (hits,)
        1 for the first hit of the list, and so on.
    precision, interpolated : float64 arrays, shape (hits,)
        ``number / place``, and the largest of these from here to the end of the list.
    """

    query: Ids
    place: Ids
    number: Ids
    precision: Reals
    interpolated: Reals

    @classmethod
    def of(cls, lists: Lists) -> HitCounts:
        """Return the hits of `lists`, whose tie groups each hold items of one grade."""
        in_group = np.arange(len(lists.query)) - np.repeat(lists.starts, np.diff(lists.bounds))
        is_hit = lists.is_relevant
        query, place = lists.query[is_hit], (lists.before + in_group)[is_hit] + 1
        number = np.arange(len(query)) - np.searchsorted(query, query) + 1
        precision = np.asarray(number / place, dtype=np.float64)
        backwards = pd.Series(precision[::-1]).groupby(query[::-1]).cummax().to_numpy()
        return cls(query, place, number, precision, np.asarray(backwards[::-1], dtype=np.float64))


def interpolated_precision(lists: Lists, hits: HitCounts, recall: float) -> Reals:
    """Return per query the largest precision at `recall` or more, float64 (queries,); 0 where it is not reached."""
    needed = np.maximum(np.ceil(recall * lists.n_relevant - RECALL_ROUNDING), 1)
    is_there = hits.number == needed[hits.query]
    return lists.per_list(hits.query[is_there], hits.interpolated[is_there])


@LISTS.register
@dataclass(frozen=True)
class InterpolatedPrecision(ListMetric):
    """Interpolated precision at one recall: the largest precision at this recall or a higher one.

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

    def ratio(self, lists: Lists) -> tuple[Reals, Reals]:
        """Return the interpolated precision, and 1 where an item is relevant."""
        return interpolated_precision(lists, HitCounts.of(lists), self.recall), (lists.n_relevant > 0).astype(
            np.float64
        )


@LISTS.register
@dataclass(frozen=True)
class InterpolatedAP(ListMetric):
    """Average interpolated precision: over equally spaced recalls from 0 to 1, or over every relevant item.

    Parameters
    ----------
    points : str
        How many recalls, ``"11"`` for 0, 0.1, ..., 1; or ``"all"``: the mean, over the query's relevant
        items, of the interpolated precision at the recall that each reaches, which is the area under
        the interpolated curve.
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
                f"points of iap must be 'all' or a number of at least 2 such as '11'; got {self.points!r}"
            )

    def ratio(self, lists: Lists) -> tuple[Reals, Reals]:
        """Return the sum of interpolated precisions, and over how many recalls."""
        hits = HitCounts.of(lists)
        if self.points == "all":
            return lists.per_list(hits.query, hits.interpolated), lists.n_relevant.astype(np.float64)
        n = int(self.points)
        total = sum(interpolated_precision(lists, hits, i / (n - 1)) for i in range(n))
        return np.asarray(total), n * (lists.n_relevant > 0).astype(np.float64)
