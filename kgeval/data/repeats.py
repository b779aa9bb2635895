"""`find_repeats`: the rows of splits that repeat an earlier row, in the same split or in another.

`Dataset` counts duplicates and overlaps with it; `kgeval.audit` also shows examples, and counts by time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kgeval.base.checks import Ids
from kgeval.data.row_keys import group_rows


@dataclass(frozen=True)
class Repeats:
    """Rows that occur more than once.

    Parameters
    ----------
    duplicates : dict of str to int64 array
        For each split, the indices of the rows that repeat an earlier row of the split, ascending.
    overlaps : dict of (str, str) to int64 array
        For each pair of splits (a, b), where a is before b: the indices of the rows of b that also occur in a,
        ascending.
    """

    duplicates: dict[str, Ids]
    overlaps: dict[tuple[str, str], Ids]


def find_repeats(splits: Mapping[str, Ids]) -> Repeats:
    """Return the rows that repeat another row.

    Parameters
    ----------
    splits : mapping of str to int64 array, shape (n, columns)
        The rows of each split: the columns that two rows must share to be equal, such as s, p, o and the time. Ids are
        at least 0.

    Returns
    -------
    Repeats

    Examples
    --------
    >>> find_repeats({"train": np.array([[0, 0, 1], [0, 0, 1]]), "test": np.array([[0, 0, 1]])})
    Repeats(duplicates={'train': array([1]), 'test': array([], dtype=int64)}, overlaps={('train', 'test'): array([0])})
    """
    order, starts = group_rows(*np.concatenate(list(splits.values())).T)
    counts = np.diff(starts)
    # From here on, only rows of groups with several rows. Equal rows are in the order of the splits.
    order, counts = order[np.repeat(counts > 1, counts)], counts[counts > 1]
    group = np.repeat(np.arange(len(counts)), counts)
    sizes = np.array([len(rows) for rows in splits.values()])
    split_of = np.searchsorted(np.cumsum(sizes), order, side="right")
    row_of = order - (np.cumsum(sizes) - sizes)[split_of]  # the index of each row within its split
    is_repeat = np.zeros(len(order), dtype=bool)
    is_repeat[1:] = (group[1:] == group[:-1]) & (split_of[1:] == split_of[:-1])
    duplicates = {split: np.sort(row_of[is_repeat & (split_of == i)]) for i, split in enumerate(splits)}
    overlaps = {}
    for (i, a), (j, b) in combinations(enumerate(splits), 2):
        is_in_a = np.bincount(group[split_of == i], minlength=len(counts)) > 0
        overlaps[a, b] = np.sort(row_of[is_in_a[group] & (split_of == j)])
    return Repeats(duplicates, overlaps)
