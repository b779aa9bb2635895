"""Ranks as integer counts, which add up over blocks of candidates and need no rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.checks import Ids


@dataclass(frozen=True)
class RankCounts:
    """How many rivals each positive has, and how many score above it and equal to it.

    Parameters
    ----------
    better, tied, rivals : int64 arrays, shape (positives,)
        ``better + tied <= rivals``; the positive itself is in none of them.

    Examples
    --------
    >>> counts = RankCounts(np.array([1]), np.array([2]), np.array([4]))
    >>> (counts + counts).rivals
    array([8])
    """

    better: Ids
    tied: Ids
    rivals: Ids

    @classmethod
    def zeros(cls, n: int) -> RankCounts:
        """Return counts of zero for `n` positives."""
        return cls(*(np.zeros(n, dtype=np.int64) for _ in range(3)))

    def __add__(self, other: RankCounts) -> RankCounts:
        return RankCounts(self.better + other.better, self.tied + other.tied, self.rivals + other.rivals)

    def __sub__(self, other: RankCounts) -> RankCounts:
        return RankCounts(self.better - other.better, self.tied - other.tied, self.rivals - other.rivals)

    def __len__(self) -> int:
        return len(self.better)
