"""The result of ranking: integer counts of better, tied and all rivals for each positive.

The ranker stores counts instead of ranks: counts of blocks of candidates are added, and counts of known answers are
subtracted to filter, without any rounding. The ranker makes the counts; `kgeval.results` computes ranks and metrics
from them.

A *rival* of a positive is a candidate other than the positive itself. With the optimistic tie policy the rank is
``1 + better``, with the pessimistic one ``1 + better + tied``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgeval.checks import Ids, Scores


@dataclass(frozen=True)
class RankCounts:
    """How many rivals each positive has, and how many rivals score above the positive and equal to it.

    ``a + b`` adds the counts of each positive; if `a` and `b` count two disjoint blocks of candidates, the sum counts
    their union. ``a - b`` removes the counts of a subset of the candidates.

    Parameters
    ----------
    better : int64 array, shape (positives,)
        Number of rivals that score above the positive.
    tied : int64 array, shape (positives,)
        Number of rivals that score equal to the positive.
    rivals : int64 array, shape (positives,)
        Number of all rivals; ``better + tied <= rivals``.

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
        """Return the counts of all positives of `parts`, concatenated in their order.

        Parameters
        ----------
        parts : sequence of RankCounts
            At least one.
        """
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
    """The counts and scores of the positives of a task, or of some of its queries, in the order of the queries.

    Parameters
    ----------
    raw : RankCounts
        Counts among all candidates.
    known : RankCounts
        Counts among the known answers of the positive's query; the filter subtracts these counts.
    scores : array, shape (positives,)
        The scores of the positives, in the scorer's dtype.
    is_infinite : bool
        Whether a candidate scored +infinity.
    """

    raw: RankCounts
    known: RankCounts
    scores: Scores
    is_infinite: bool = False

    @property
    def filtered(self) -> RankCounts:
        """The counts among the candidates that are not known answers: the filtered setting."""
        return self.raw - self.known

    @classmethod
    def joined(cls, parts: Sequence[TaskCounts]) -> TaskCounts:
        """Return the counts of all positives of `parts`, concatenated in their order.

        Parameters
        ----------
        parts : sequence of TaskCounts
            May be empty.
        """
        if not parts:
            return cls(RankCounts.zeros(0), RankCounts.zeros(0), np.zeros(0))
        return cls(
            RankCounts.joined([part.raw for part in parts]),
            RankCounts.joined([part.known for part in parts]),
            np.concatenate([part.scores for part in parts]),
            any(part.is_infinite for part in parts),
        )
