"""The class `RankedLists`: ranked lists with any number of relevant items.

All metrics of `kgeval.metrics.retrieval` read `RankedLists`. `inputs` makes `RankedLists` from users' data, and
`kgeval.metrics.query_level` makes `RankedLists` from the counts of a result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Ids, Reals, check_one_of
from kgeval.errors import MetricError

LIST_TIES = ("expected", "optimistic", "pessimistic", "stable")
INFINITY = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Ranked lists, one per query; only the items of positive grade are stored.

    A list is sorted by descending score, and its items with equal scores form a tie group. For each item of positive
    grade, the number of items before its tie group and the size of this group are stored. All other items of a list
    have grade 0; they are not stored, but `length`, `before` and `size` count them.

    Parameters
    ----------
    length : int64 array, shape (queries,)
        Number of items of each list, of any grade.
    query : int64 array, shape (items,)
        The query of each stored item, ascending. In the shapes, `items` is the number of items of positive grade.
    before, size : int64 arrays, shape (items,)
        `before` is the number of items (of any grade) that come before the item's tie group, ascending within a query;
        `size` is the number of items (of any grade) in the tie group.
    grade : float64 array, shape (items,)
        The grade of each stored item, above 0; descending within a tie group.
    ideal_query, ideal_grade : int64 and float64 arrays, shape (judged,)
        The query and the grade of each judged item of positive grade, including items that are missing from the
        query's list; sorted by query, then by descending grade.
    place : int64 array, shape (items,), optional
        For each item, the number of items of the same tie group that come earlier in the input. Required for ties
        ``"stable"``; None if the order of the input is unknown.
    relevance_level : float
        Metrics without grades count an item as relevant if its grade is positive and at least `relevance_level`.
    names : pandas.Index, optional
        The name of each query, shape (queries,); if None, queries are named 0, 1, 2, ...
    notes : tuple of str
        Messages about items or queries that were left out, and about items whose grade was assumed.

    Examples
    --------
    One query with the grades 1, 0, 2 and the scores 7, 7, 5: the tie group of the two items with score 7 ranks
    first, then the item of grade 2.

    >>> lists = lists_of_items(np.zeros(3, dtype=int), 1, np.array([1.0, 0.0, 2.0]), np.array([7, 7, 5]))
    >>> lists.length, lists.before, lists.size, lists.grade
    (array([3]), array([0, 2]), array([2, 1]), array([1., 2.]))
    """

    length: Ids
    query: Ids
    before: Ids
    size: Ids
    grade: Reals
    ideal_query: Ids
    ideal_grade: Reals
    place: Ids | None = None
    relevance_level: float = 0.0
    names: pd.Index[Any] | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.length)

    def name_of(self, query: int) -> str:
        """Return the name of a query as error messages show it."""
        if self.names is None:
            return str(query)
        name = self.names[query]
        return repr(name.item() if isinstance(name, np.generic) else name)

    def under(self, ties: str, worth: Reals | None = None, among: npt.NDArray[np.bool_] | None = None) -> RankedLists:
        """Return the lists with ties broken: tied items of different grades are put in an order.

        Tied items of the same grade may remain tied, since their order does not matter.

        Parameters
        ----------
        ties : str
            Order of tied items. ``"optimistic"``: higher grades first; ``"pessimistic"``: higher grades last;
            ``"stable"``: the order of the input; ``"expected"``: the tie groups are not changed.
        worth : float64 array, shape (items,), optional
            Numbers, such as gains, that are used instead of the grades to order tied items.
        among : bool array, shape (items,), optional
            If given, ties are broken only in tie groups that have an item for which `among` is True. By default, ties
            are broken in all tie groups.
            Used only for ``"optimistic"`` and ``"pessimistic"`` ties without `worth`.

        Raises
        ------
        MetricError
            If `ties` is none of these words, or if it is ``"stable"`` and the order of the items in the input is not
            known.
        """
        check_one_of("ties", ties, LIST_TIES, MetricError)
        if ties == "expected" or not self.has_ties:
            return self
        if worth is not None:
            # Sort the items of each tie group by descending worth, as `_under` requires.
            order = np.lexsort((-worth, self.before, self.query))
            columns = {name: getattr(self, name)[order] for name in ("query", "before", "size", "grade")}
            place = None if self.place is None else self.place[order]
            return replace(self, **columns, place=place)._under(ties, worth[order])
        return self._under(ties, self.grade, among)

    def _under(self, ties: str, worth: Reals, among: npt.NDArray[np.bool_] | None = None) -> RankedLists:
        """Return the lists with ties broken; the items of each tie group must be sorted by descending `worth`."""
        if ties == "stable":
            if self.place is None:
                raise MetricError(
                    "lists made from counts do not record the order of tied items; choose ties other than 'stable'"
                )
            return self._sorted(self.before + self.place, np.ones_like(self.size))
        # (parts,): index of the first item of each part; a part is a run of items of one tie group with equal worth.
        # The parts become the new tie groups.
        starts = np.flatnonzero(_is_new(self.query, self.before, worth))
        # (parts,): the number of items of each part.
        count = np.diff(np.append(starts, len(self.query)))
        # (items,): number of items of the same tie group with a larger worth: start of the part minus start of the
        # group.
        higher = np.repeat(starts, count) - np.repeat(self.starts, np.diff(self.bounds))
        # (items,): the number of items of the item's part.
        count = np.repeat(count, count)
        # (items,): number of items of the tie group that rank before the part. With ties "pessimistic", these are all
        # items with a smaller worth, including the items of grade 0.
        ahead = higher if ties == "optimistic" else self.size - higher - count
        if among is not None:
            # (items,): whether `among` is True for an item of the tie group; the other groups are not changed.
            is_broken = np.repeat(np.logical_or.reduceat(among, self.starts), np.diff(self.bounds))
            ahead, count = np.where(is_broken, ahead, 0), np.where(is_broken, count, self.size)
        return self._sorted(self.before + ahead, count)

    def _sorted(self, before: Ids, size: Ids) -> RankedLists:
        """Return the lists with new `before` and `size`, and items sorted by query, `before` and descending grade."""
        order = np.lexsort((-self.grade, before, self.query))
        return replace(
            self, query=self.query[order], before=before[order], size=size[order], grade=self.grade[order], place=None
        )

    def shuffled(self) -> RankedLists:
        """Return the lists with a single tie group per list, as if all scores of a list were equal."""
        order = np.lexsort((-self.grade, self.query))
        query = self.query[order]
        return replace(
            self, query=query, before=np.zeros_like(query), size=self.length[query], grade=self.grade[order], place=None
        )

    @cached_property
    def has_ties(self) -> bool:
        """Whether a tie group has items of different grades (also grade 0), so that the order of tied items matters."""
        if not len(self.query):
            return False
        # (parts,): index of the first item of each part; a part is a run of items of one tie group with equal grades.
        # If a part has fewer items than the whole group, the group has different grades.
        starts = np.flatnonzero(_is_new(self.query, self.before, self.grade))
        return bool((np.diff(np.append(starts, len(self.query))) < self.size[starts]).any())

    @cached_property
    def has_mixed_ties(self) -> bool:
        """Whether a tie group has both relevant and irrelevant items; for metrics without grades."""
        groups = self.groups
        return bool(((groups.relevant > 0) & (groups.relevant < groups.size)).any())

    @cached_property
    def starts(self) -> Ids:
        """For each tie group, the position of its first item in the arrays of items; int64, shape (groups,)."""
        return np.flatnonzero(_is_new(self.query, self.before)).astype(np.int64)

    @cached_property
    def bounds(self) -> Ids:
        """Limits of the tie groups, int64 (groups + 1,): group g has the items ``bounds[g]:bounds[g + 1]``."""
        return np.append(self.starts, len(self.query))

    @cached_property
    def is_relevant(self) -> npt.NDArray[np.bool_]:
        """Whether each stored item has a grade of at least `relevance_level`, bool (items,)."""
        return self.grade >= self.relevance_level

    @cached_property
    def groups(self) -> TieGroups:
        """The tie groups and the number of relevant items in each group; for metrics without grades."""
        # (groups,): the query of each tie group.
        query = self.query[self.starts]
        # (items + 1,): cumulated[i] is the number of relevant items among the first i items of all lists.
        cumulated = np.append(0, np.cumsum(self.is_relevant))
        # (groups,): number of relevant items of each tie group.
        relevant = cumulated[self.bounds[1:]] - cumulated[self.starts]
        # (groups,): index of the first item of the group's query. The last argument of `TieGroups` is the number of
        # relevant items from this first item to the start of the group.
        first_item = np.searchsorted(self.query, query)
        return TieGroups(
            query,
            self.before[self.starts],
            self.size[self.starts],
            relevant,
            cumulated[self.starts] - cumulated[first_item],
        )

    @cached_property
    def n_relevant(self) -> Ids:
        """Number of relevant items of each query, including items missing from its list; int64 (queries,)."""
        return np.bincount(self.ideal_query[self.ideal_grade >= self.relevance_level], minlength=len(self)).astype(
            np.int64
        )

    @cached_property
    def ideal_place(self) -> Ids:
        """The 0-based position of each judged item in the ideal list of its query, int64 (judged,)."""
        return np.arange(len(self.ideal_query)) - np.searchsorted(self.ideal_query, self.ideal_query)

    def per_list(self, query: Ids, values: npt.NDArray[Any]) -> Reals:
        """Return, for each query, the sum of its values.

        Parameters
        ----------
        query : int64 array, shape (n,)
            The query of each value.
        values : array of numbers, shape (n,)

        Returns
        -------
        float64 array, shape (queries,)
            0 for a query without values.
        """
        return np.bincount(query, weights=values, minlength=len(self)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class TieGroups:
    """The tie groups that have at least one item of positive grade, sorted by query and position.

    Parameters
    ----------
    query : int64 array, shape (groups,)
    before, size : int64 arrays, shape (groups,)
        `before` is the number of items (of any grade) that come before the group in the same list; `size` is the number
        of items (of any grade) in the group.
    relevant, relevant_before : int64 arrays, shape (groups,)
        `relevant` is the number of relevant items in the group; `relevant_before` is the number of relevant items that
        come before the group in the same list.
    """

    query: Ids
    before: Ids
    size: Ids
    relevant: Ids
    relevant_before: Ids


def _is_new(*columns: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return whether each row differs from the previous row in some column, bool (rows,); True in the first row."""
    is_new = np.zeros(len(columns[0]), dtype=bool)
    is_new[:1] = True
    for column in columns:
        is_new[1:] |= column[1:] != column[:-1]
    return is_new


def lists_of_items(
    query: Ids,
    n_queries: int,
    grade: Reals,
    score: npt.NDArray[Any],
    unlisted: tuple[Ids, Reals] | None = None,
    **about: Any,
) -> RankedLists:
    """Make ranked lists from the query, the grade and the score of each item.

    Parameters
    ----------
    query : int64 array, shape (items,)
        The query of each item, in any order. With ties ``"stable"``, tied items keep their order in this array.
    n_queries : int
    grade : float64 array, shape (items,)
        The grade of each item, at least 0.
    score : array of numbers, shape (items,)
        Higher scores rank first. Scores are compared exactly, without conversion to another dtype; no score is NaN.
    unlisted : tuple of int64 and float64 arrays, shape (n,) each, optional
        The judged items of positive grade that are missing from the list of their query. The first array has the query
        of each such item, the second array has the grade of the item.
    **about
        Other fields of `RankedLists`.

    Returns
    -------
    RankedLists

    Examples
    --------
    >>> lists = lists_of_items(np.array([0, 1, 0]), 2, np.array([1.0, 1.0, 0.0]), np.array([0.5, 0.5, 0.9]))
    >>> lists.query, lists.before, lists.length  # in query 0 an item of grade 0 is first
    (array([0, 1]), array([1, 0]), array([2, 1]))
    """
    # (items,): index of each item's score among the sorted distinct scores; an integer, which can be negated exactly.
    code = np.unique(score, return_inverse=True)[1].reshape(-1)
    # Sort the items by query, then by descending score; lexsort is stable, so tied items keep the order of the input.
    order = np.lexsort((-code, query))
    query, code, grade = query[order], code[order], grade[order]
    # (items,): whether an item starts a new tie group.
    is_new = _is_new(query, code)
    # (groups,): index of the first item of each tie group.
    starts = np.flatnonzero(is_new)
    # (items,): the tie group of each item.
    group = np.cumsum(is_new) - 1
    # (groups,) each: number of items of each tie group, and index of the first item of the group's query.
    size = np.diff(np.append(starts, len(query)))
    first_of_query = np.searchsorted(query, query[starts])
    # (kept,): indices of the items of positive grade, sorted by tie group, then by descending grade.
    kept = np.flatnonzero(grade > 0)
    kept = kept[np.lexsort((-grade[kept], group[kept]))]
    # (kept,): the tie group of each of these items.
    kept_group = group[kept]
    # (judged,): query and grade of all judged items of positive grade; `by_grade` sorts by query and descending grade.
    ideal_query, ideal_grade = query[kept], grade[kept]
    if unlisted is not None:
        ideal_query, ideal_grade = np.append(ideal_query, unlisted[0]), np.append(ideal_grade, unlisted[1])
    by_grade = np.lexsort((-ideal_grade, ideal_query))
    return RankedLists(
        length=np.bincount(query, minlength=n_queries).astype(np.int64),
        query=query[kept],
        before=(starts - first_of_query)[kept_group],
        size=size[kept_group],
        grade=grade[kept],
        ideal_query=ideal_query[by_grade],
        ideal_grade=ideal_grade[by_grade],
        place=kept - starts[kept_group],
        **about,
    )
