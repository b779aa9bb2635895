"""The index of known triples: which answers of a query the filter knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kgeval.checks import Bools, Ids
from kgeval.data.dataset import Dataset
from kgeval.data.row_keys import RowKeys, distinct_sorted, rank_in

SETTINGS = ("raw", "filtered")


@dataclass(frozen=True)
class KnownIndex:
    """The distinct known facts as one sorted array of keys: the given parts of a fact, then the part that is asked.

    Which columns are given is a choice: relation and object for queries that ask subjects, subject and object for
    those that ask relations; a time stamp or a qualifier is one more column. The answers of a query stand together,
    and binary search finds them.

    Parameters
    ----------
    layout : RowKeys
        How a key is made of the given parts and the answer.
    keys : int64 array, shape (known,)
        Sorted and distinct.

    Examples
    --------
    >>> s, p, o = np.array([[0, 0, 1], [0, 1, 1], [0, 0, 2]]).T
    >>> KnownIndex.of((p, s), o).lookup(np.array([0]), np.array([0]))  # objects of (subject 0, relation 0)
    (array([0, 2]), array([1, 2]))
    >>> KnownIndex.of((s, o), p).lookup(np.array([0]), np.array([1]))  # relations from 0 to 1
    (array([0, 2]), array([0, 1]))
    """

    layout: RowKeys
    keys: Ids

    @classmethod
    def of(cls, given: Sequence[Ids], asked: Ids) -> KnownIndex:
        """Index facts by their given parts.

        Parameters
        ----------
        given : sequence of int64 arrays, shape (facts,)
            One or more parts; for queries of one side, those of `query_parts`.
        asked : int64 array, shape (facts,)
            The answers. A fact that is repeated counts once.
        """
        layout, keys = RowKeys.of(*given, asked)
        keys.sort()
        return cls(layout, distinct_sorted(keys))

    @cached_property
    def answers(self) -> Ids:
        """The answers of all queries, int64 (known,); `spans` tells where those of a query are."""
        return self.layout.last_ids(self.keys)

    def lookup(self, *given: Ids) -> tuple[Ids, Ids]:
        """Return the known answers of each query as CSR.

        Parameters
        ----------
        *given : int64 arrays, shape (queries,)
            The given parts, in the order in which they were indexed.

        Returns
        -------
        offsets : int64 array, shape (queries + 1,)
        answers : int64 array
            Those of query i are ``answers[offsets[i]:offsets[i + 1]]``, sorted and distinct.
        """
        starts, stops = self.spans(*given)
        offsets = np.concatenate([[0], np.cumsum(stops - starts)]).astype(np.int64)
        places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], stops - starts)
        return offsets, self.layout.last_ids(self.keys[places])

    def contains(self, *parts: Ids) -> Bools:
        """Tell which facts are known, shape (n,); the given parts of each, then its answer."""
        wanted, is_possible = self.layout.encode(*parts)
        return rank_in(self.keys, wanted)[1] & is_possible

    def count_others(self, given: Sequence[Ids], asked: Ids) -> Ids:
        """Return, per fact, how many known answers its query has beside its own, int64 (n,)."""
        starts, stops = self.spans(*given)
        return stops - starts - self.contains(*given, asked)

    def spans(self, *given: Ids) -> tuple[Ids, Ids]:
        """Return where the answers of each query start and stop; those of an unknown query at 0."""
        least, greatest, is_possible = self.layout.spans(*given)
        starts = np.searchsorted(self.keys, least)
        stops = np.searchsorted(self.keys, greatest, side="right")
        is_known = is_possible & (starts < stops)
        return np.where(is_known, starts, 0), np.where(is_known, stops, 0)


def known_triples(dataset: Dataset, splits: Sequence[str]) -> Ids:
    """Return the triples of `splits` together, int64 (n, 3), repeated ones included."""
    parts = [dataset[split].array for split in splits]
    return np.concatenate(parts) if parts else np.zeros((0, 3), dtype=np.int64)
