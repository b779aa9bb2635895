"""Ranks as integer counts, which add up over blocks of candidates and need no rounding."""

from __future__ import annotations

from collections.abc import Sequence
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

    @classmethod
    def joined(cls, parts: Sequence[RankCounts]) -> RankCounts:
        """Return the counts of several parts, one after another."""
        return cls(
            np.concatenate([part.better for part in parts]),
            np.concatenate([part.tied for part in parts]),
            np.concatenate([part.rivals for part in parts]),
        )

    def __add__(self, other: RankCounts) -> RankCounts:
        return RankCounts(self.better + other.better, self.tied + other.tied, self.rivals + other.rivals)

    def __sub__(self, other: RankCounts) -> RankCounts:
        return RankCounts(self.better - other.better, self.tied - other.tied, self.rivals - other.rivals)

    def __len__(self) -> int:
        return len(self.better)
