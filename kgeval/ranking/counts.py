"""Ranks as integer counts, which add up over blocks of candidates and need no rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgeval.checks import Ids, Scores


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


@dataclass(frozen=True)
class TaskCounts:
    """What ranking finds out about the positives of some queries, in the queries' order.

    Parameters
    ----------
    raw : RankCounts
        Among all candidates, the positive itself left out.
    known : RankCounts
        Among the known answers of the positive's query, the positive itself left out.
    scores : array, shape (positives,)
        Of the positives, in the scorer's dtype.
    is_infinite : bool
        Whether some candidate scored +infinity.
    """

    raw: RankCounts
    known: RankCounts
    scores: Scores
    is_infinite: bool = False

    @property
    def filtered(self) -> RankCounts:
        """The counts among the candidates that are not known."""
        return self.raw - self.known

    @classmethod
    def joined(cls, parts: Sequence[TaskCounts]) -> TaskCounts:
        """Return the counts of several parts, one after another."""
        if not parts:
            return cls(RankCounts.zeros(0), RankCounts.zeros(0), np.zeros(0))
        return cls(
            RankCounts.joined([part.raw for part in parts]),
            RankCounts.joined([part.known for part in parts]),
            np.concatenate([part.scores for part in parts]),
            any(part.is_infinite for part in parts),
        )
