"""`Ragged` stores lists of different lengths in one array, for example one list of candidates for each positive.

`joined_ranges` returns the positions of the elements of chosen lists. Queries, known answers and features use this
function too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids


@dataclass(frozen=True)
class Ragged:
    """Lists of different lengths in one array.

    Parameters
    ----------
    offsets : int64 array, shape (lists + 1,)
        List i is ``values[offsets[i] : offsets[i + 1]]``.
    values : array, shape (elements,)

    Examples
    --------
    >>> lists = Ragged(np.array([0, 2, 2, 3]), np.array([7, 8, 9]))
    >>> lists.take(np.array([2, 0])).values
    array([9, 7, 8])
    """

    offsets: Ids
    values: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ids:
        """The number of elements of each list, int64, shape (lists,)."""
        return np.diff(self.offsets)

    @property
    def list_of(self) -> Ids:
        """The index of the list to which each element belongs, int64, shape (elements,)."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @classmethod
    def of(cls, arrays: Sequence[npt.NDArray[Any]]) -> Ragged:
        """Build a `Ragged` from 1-dimensional arrays; each array becomes one list."""
        lengths = np.array([len(array) for array in arrays], dtype=np.int64)
        return cls(_ends(lengths), np.concatenate(arrays) if len(arrays) else np.zeros(0, dtype=np.int64))

    @classmethod
    def of_rows(cls, table: npt.NDArray[Any]) -> Ragged:
        """Build a `Ragged` from an array of shape (n, m); each row becomes one list."""
        return cls(np.arange(len(table) + 1, dtype=np.int64) * table.shape[1], table.reshape(-1))

    def elements(self, chosen: Ids) -> Ids:
        """Return the positions in `values` of the elements of the lists `chosen` (list numbers), list after list."""
        return joined_ranges(self.offsets[chosen], self.lengths[chosen])

    def take(self, chosen: Ids) -> Ragged:
        """Return the lists at the indices `chosen`, in this order."""
        return Ragged(_ends(self.lengths[chosen]), self.values[self.elements(chosen)])

    def part(self, start: int, stop: int) -> Ragged:
        """Return the lists ``start:stop``; their elements are not copied."""
        first, last = self.offsets[start], self.offsets[stop]
        return Ragged(self.offsets[start : stop + 1] - first, self.values[first:last])

    def where(self, is_kept: npt.NDArray[np.bool_]) -> Ragged:
        """Return the lists with only those elements for which the bool array `is_kept`, shape (elements,), is True."""
        lengths = np.bincount(self.list_of[is_kept], minlength=len(self))
        return Ragged(_ends(lengths), self.values[is_kept])


def joined_ranges(starts: Ids, counts: Ids) -> Ids:
    """Return the integers ``start, ..., start + count - 1`` of each range, one range after another.

    Parameters
    ----------
    starts, counts : int64 arrays, shape (ranges,)

    Returns
    -------
    int64 array, shape (counts.sum(),)

    Examples
    --------
    >>> joined_ranges(np.array([5, 2]), np.array([2, 3]))
    array([5, 6, 2, 3, 4])
    """
    output_starts = np.cumsum(counts) - counts  # where each range begins in the result
    return np.asarray(np.arange(counts.sum()) + np.repeat(starts - output_starts, counts))


def _ends(lengths: Ids) -> Ids:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
