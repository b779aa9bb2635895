"""Ranked lists with any number of relevant items, stored as what metrics need: where those items stand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Ids, Reals, check_one_of
from kgeval.errors import MetricError

LIST_TIES = ("expected", "optimistic", "pessimistic", "stable")
INFINITY = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of items in falling score, one per query, told by the items of positive grade alone.

    Items of equal score make a tie group; each item knows how many items stand before its group, and how
    many the group has. All other items of a list have grade 0 and are only counted.

    Parameters
    ----------
    length : int64 array, shape (queries,)
        Items of each list, whatever their grade.
    query : int64 array, shape (items,)
        The list of each item of positive grade, ascending.
    before, size : int64 arrays, shape (items,)
        Items before the item's tie group, and in it; within a query, `before` ascends.
    grade : float64 array, shape (items,)
        Positive; within a tie group it descends.
    ideal_query, ideal_grade : arrays, shape (judged,)
        All items of positive grade of each query, also those that its list lacks: by query, then
        by falling grade.
    place : int64 array, shape (items,), optional
        Items of the same tie group that came before this one, for the stable order; None if unknown.
    relevance_level : float
        An item is relevant to metrics that know no grades if its grade reaches `relevance_level` (and is positive).
    names : pandas.Index, optional
        What each query is called, shape (queries,); its number if None.
    notes : tuple of str
        What was left out or assumed when the lists were made.
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
        """Return what messages call a query."""
        if self.names is None:
            return str(query)
        name = self.names[query]
        return repr(name.item() if isinstance(name, np.generic) else name)

    def under(self, ties: str, worth: Reals | None = None) -> Lists:
        """Return the lists with ties broken: every tie group then holds items of one grade.

        Parameters
        ----------
        ties : str
            ``"optimistic"``: the higher grade first; ``"pessimistic"``: last; ``"stable"``: as the items
            came; ``"expected"``: the groups stay as they are.
        worth : float64 array, shape (items,), optional
            What orders the items instead of their grade.

        Raises
        ------
        MetricError
            If `ties` is none of these, or is "stable" and the order of the items is not known.
        """
        check_one_of("ties", ties, LIST_TIES, MetricError)
        if ties == "expected" or not self.has_ties:
            return self
        if worth is not None:
            order = np.lexsort((-worth, self.before, self.query))
            columns = {name: getattr(self, name)[order] for name in ("query", "before", "size", "grade")}
            place = None if self.place is None else self.place[order]
            return replace(self, **columns, place=place)._under(ties, worth[order])
        return self._under(ties, self.grade)

    def _under(self, ties: str, worth: Reals) -> Lists:
        """Return the lists with ties broken, given items that fall by `worth` within their group."""
        if ties == "stable":
            if self.place is None:
                raise MetricError("lists made from counts know no order of tied items; choose other ties than 'stable'")
            return self._sorted(self.before + self.place, np.ones_like(self.size))
        starts = np.flatnonzero(_is_new(self.query, self.before, worth))
        count = np.diff(np.append(starts, len(self.query)))
        higher = np.repeat(starts, count) - np.repeat(self.starts, np.diff(self.bounds))
        count = np.repeat(count, count)
        ahead = higher if ties == "optimistic" else self.size - higher - count
        return self._sorted(self.before + ahead, count)

    def _sorted(self, before: Ids, size: Ids) -> Lists:
        order = np.lexsort((-self.grade, before, self.query))
        return replace(
            self, query=self.query[order], before=before[order], size=size[order], grade=self.grade[order], place=None
        )

    def shuffled(self) -> Lists:
        """Return the same lists with all their items tied: what a scorer that knows nothing makes of them."""
        order = np.lexsort((-self.grade, self.query))
        query = self.query[order]
        return replace(
            self, query=query, before=np.zeros_like(query), size=self.length[query], grade=self.grade[order], place=None
        )

    @cached_property
    def has_ties(self) -> bool:
        """Whether some tie group holds items of different grades, so that its order matters."""
        if not len(self.query):
            return False
        starts = np.flatnonzero(_is_new(self.query, self.before, self.grade))
        return bool((np.diff(np.append(starts, len(self.query))) < self.size[starts]).any())

    @cached_property
    def has_mixed_ties(self) -> bool:
        """Whether some tie group holds relevant and irrelevant items, for metrics that know no grades."""
        groups = self.groups
        return bool(((groups.relevant > 0) & (groups.relevant < groups.size)).any())

    @cached_property
    def starts(self) -> Ids:
        """Where each tie group starts among the items, int64 (groups,)."""
        return np.flatnonzero(_is_new(self.query, self.before)).astype(np.int64)

    @cached_property
    def bounds(self) -> Ids:
        """`starts` and the number of items, int64 (groups + 1,)."""
        return np.append(self.starts, len(self.query))

    @cached_property
    def is_relevant(self) -> npt.NDArray[np.bool_]:
        """Which items reach `relevance_level`, shape (items,)."""
        return self.grade >= self.relevance_level

    @cached_property
    def groups(self) -> TieGroups:
        """The tie groups, for metrics that know relevant and not relevant only."""
        query = self.query[self.starts]
        cumulated = np.append(0, np.cumsum(self.is_relevant))
        relevant = cumulated[self.bounds[1:]] - cumulated[self.starts]
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
        """How many relevant items each query has, in its list or not, int64 (queries,)."""
        return np.bincount(self.ideal_query[self.ideal_grade >= self.relevance_level], minlength=len(self)).astype(
            np.int64
        )

    @cached_property
    def ideal_place(self) -> Ids:
        """The place, from 0, of each ideal item in its query's ideal list, int64 (judged,)."""
        return np.arange(len(self.ideal_query)) - np.searchsorted(self.ideal_query, self.ideal_query)

    def per_list(self, query: Ids, values: npt.NDArray[Any]) -> Reals:
        """Return the sum of `values` per query, float64 (queries,)."""
        return np.bincount(query, weights=values, minlength=len(self)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class TieGroups:
    """Tie groups with at least one item of positive grade.

    Parameters
    ----------
    query : int64 array, shape (groups,)
    before, size : int64 arrays, shape (groups,)
        Items before the group and in it.
    relevant, relevant_before : int64 arrays, shape (groups,)
        Relevant items in the group, and before it in the same list.
    """

    query: Ids
    before: Ids
    size: Ids
    relevant: Ids
    relevant_before: Ids


def _is_new(*columns: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Tell which rows differ from the row above them; the first one does."""
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
) -> Lists:
    """Return the lists that `score` makes of items.

    Parameters
    ----------
    query : int64 array, shape (items,)
        In any order; within a query, the order of the items is the stable order.
    n_queries : int
    grade : float64 array, shape (items,)
    score : array of numbers, shape (items,)
        Higher is earlier; compared exactly, in its own dtype. No NaN.
    unlisted : int64 and float64 arrays, optional
        Query and positive grade of each judged item that no list has.
    **about
        Further fields of `Lists`.
    """
    code = np.unique(score, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((-code, query))
    query, code, grade = query[order], code[order], grade[order]
    is_new = _is_new(query, code)
    starts = np.flatnonzero(is_new)
    group = np.cumsum(is_new) - 1
    size = np.diff(np.append(starts, len(query)))
    first_of_query = np.searchsorted(query, query[starts])
    kept = np.flatnonzero(grade > 0)
    kept = kept[np.lexsort((-grade[kept], group[kept]))]
    held = group[kept]
    ideal_query, ideal_grade = query[kept], grade[kept]
    if unlisted is not None:
        ideal_query, ideal_grade = np.append(ideal_query, unlisted[0]), np.append(ideal_grade, unlisted[1])
    by_grade = np.lexsort((-ideal_grade, ideal_query))
    return Lists(
        length=np.bincount(query, minlength=n_queries).astype(np.int64),
        query=query[kept],
        before=(starts - first_of_query)[held],
        size=size[held],
        grade=grade[kept],
        ideal_query=ideal_query[by_grade],
        ideal_grade=ideal_grade[by_grade],
        place=kept - starts[held],
        **about,
    )
