"""`KnownIndex` finds the known answers of a query, which the filtered setting leaves out.

`kgeval.evaluation` builds an index, and `kgeval.ranking` filters with it. `negatives`, features, explanations and
reports use an index to look up known answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kgeval.base.checks import Bools, Ids
from kgeval.data.lists import joined_ranges
from kgeval.data.row_keys import RowKeys, distinct_sorted, rank_in

SETTINGS = ("raw", "filtered")


@dataclass(frozen=True)
class KnownIndex:
    """The distinct known triples as one sorted array of keys; binary search finds the answers of a query.

    A query gives some columns of a triple (the given columns) and asks for another column (the answer). The caller
    chooses the columns: for example, relation and object are given, and the subject is the answer. A time stamp or a
    qualifier can be a further given column. The key of a triple is one integer: the given columns are in the high bits,
    the answer is in the low bits. All answers of a query are therefore neighbours in the sorted array.

    Parameters
    ----------
    layout : RowKeys
        How the given columns and the answer are packed into a key.
    keys : int64 array, shape (known,)
        The keys of the known triples, sorted and distinct.

    Examples
    --------
    >>> s, p, o = np.array([[0, 0, 1], [0, 1, 1], [0, 0, 2]]).T
    >>> KnownIndex.of((p, s), o).lookup(np.array([0]), np.array([0]))  # objects of (subject 0, relation 0)
    (array([0, 2]), array([1, 2]))
    >>> KnownIndex.of((s, o), p).lookup(np.array([0]), np.array([1]))  # relations between subject 0 and object 1
    (array([0, 2]), array([0, 1]))
    """

    layout: RowKeys
    keys: Ids

    @classmethod
    def of(cls, given: Sequence[Ids], asked: Ids) -> KnownIndex:
        """Build the index from the columns of the known triples.

        Parameters
        ----------
        given : sequence of int64 arrays, shape (triples,)
            The columns that a query contains, at least one; for queries of one side, the `given` of `query_parts`.
        asked : int64 array, shape (triples,)
            The column with the answers. Repeated triples are stored once.
        """
        layout, keys = RowKeys.of(*given, asked)
        keys.sort()
        return cls(layout, distinct_sorted(keys))

    @cached_property
    def answers(self) -> Ids:
        """The answer of each known triple, int64 (known,), in the order of `keys`; `spans` returns parts of it."""
        return self.layout.last_ids(self.keys)

    def lookup(self, *given: Ids) -> tuple[Ids, Ids]:
        """Return the known answers of each query, as one array with offsets (CSR).

        Parameters
        ----------
        *given : int64 arrays, shape (queries,)
            One array per given column (for example relation and object), in the order that was passed to
            `KnownIndex.of`.

        Returns
        -------
        offsets : int64 array, shape (queries + 1,)
        answers : int64 array, shape (answers of all queries,)
            The answers of query i are ``answers[offsets[i]:offsets[i + 1]]``, sorted and distinct.
        """
        # The keys of query i are keys[starts[i]:stops[i]].
        starts, stops = self.spans(*given)
        # offsets[i], (queries + 1,): how many answers the queries before i have together.
        offsets = np.concatenate([[0], np.cumsum(stops - starts)]).astype(np.int64)
        # positions, (answers,): where the key of each answer is in `keys`.
        positions = joined_ranges(starts, stops - starts)
        return offsets, self.layout.last_ids(self.keys[positions])

    def contains(self, *parts: Ids) -> Bools:
        """Return, for each triple, whether the triple is known.

        Parameters
        ----------
        *parts : int64 arrays, shape (n,)
            One array per given column, in the order that was passed to `KnownIndex.of`; after these, one array with the
            answers.

        Returns
        -------
        bool array, shape (n,)
        """
        wanted, is_possible = self.layout.encode(*parts)
        return rank_in(self.keys, wanted)[1] & is_possible

    def count_others(self, given: Sequence[Ids], asked: Ids) -> Ids:
        """For each triple, count the other known answers of its query: all except the answer of the triple itself.

        Parameters
        ----------
        given : sequence of int64 arrays, shape (n,)
            One array per given column, in the order that was passed to `KnownIndex.of`.
        asked : int64 array, shape (n,)
            The answer of each triple; the triple need not be known.

        Returns
        -------
        int64 array, shape (n,)
        """
        starts, stops = self.spans(*given)
        return stops - starts - self.contains(*given, asked)

    def spans(self, *given: Ids) -> tuple[Ids, Ids]:
        """Return where the answers of each query start and stop in the array `answers` (and in the array `keys`).

        Parameters
        ----------
        *given : int64 arrays, shape (queries,)
            One array per given column (for example relation and object), in the order that was passed to
            `KnownIndex.of`.

        Returns
        -------
        starts, stops : int64 arrays, shape (queries,)
            The answers of query i are ``answers[starts[i]:stops[i]]``. Both are 0 for a query without known answers.
        """
        least, greatest, is_possible = self.layout.spans(*given)
        starts = np.searchsorted(self.keys, least)
        stops = np.searchsorted(self.keys, greatest, side="right")
        is_known = is_possible & (starts < stops)
        return np.where(is_known, starts, 0), np.where(is_known, stops, 0)
