"""The result of ranking: for each positive, the number of rivals that score higher, of tied rivals and of all rivals.

A *positive* is a triple being ranked; its *rivals* are the other candidates of its query. With the optimistic tie
policy, the rank is ``1 + better``; with the pessimistic tie policy, it is ``1 + better + tied``.

The ranker returns these counts instead of ranks, because integers are added and subtracted without rounding: the counts
of several blocks of candidates are added, and the filter subtracts the counts of the known answers. `kgeval.results`
computes ranks and metrics from the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgeval.base.checks import Ids, Scores


@dataclass(frozen=True)
class RankCounts:
    """Three counts for each positive: all rivals, the rivals with a higher score, and those with the same score.

    Let ``a`` and ``b`` be `RankCounts` of the same positives. ``a + b`` counts the rivals of both; no rival may be in
    both. ``a - b`` counts the rivals of ``a`` without those of ``b``; every rival of ``b`` must be a rival of ``a``.

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
        """Join the counts of several parts: first the positives of the first part, then those of the second, and so on.

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

    def take(self, rows: Ids) -> RankCounts:
        """Return the counts of the positives with the indices `rows`."""
        return RankCounts(self.better[rows], self.tied[rows], self.rivals[rows])

    def __add__(self, other: RankCounts) -> RankCounts:
        return RankCounts(self.better + other.better, self.tied + other.tied, self.rivals + other.rivals)

    def __sub__(self, other: RankCounts) -> RankCounts:
        return RankCounts(self.better - other.better, self.tied - other.tied, self.rivals - other.rivals)

    def __len__(self) -> int:
        return len(self.better)


@dataclass(frozen=True)
class TaskCounts:
    """The counts and scores of some positives of one side: for example, of all positives of a `Task`, or of one batch.

    Parameters
    ----------
    rows : int64 array, shape (positives,)
        The index of each positive among all positives of the protocol.
    raw : RankCounts
        Counts of all rivals.
    known : RankCounts
        Counts of the rivals that are known answers of the positive's query; the filter subtracts these counts.
    scores : array, shape (positives,)
        The scores of the positives, in the scorer's dtype.
    is_infinite : bool
        Whether at least one candidate scored +infinity.
    """

    rows: Ids
    raw: RankCounts
    known: RankCounts
    scores: Scores
    is_infinite: bool = False

    @property
    def filtered(self) -> RankCounts:
        """The counts of the filtered setting: only rivals that are not known answers."""
        return self.raw - self.known

    @classmethod
    def joined(cls, parts: Sequence[TaskCounts]) -> TaskCounts:
        """Join the counts of several parts: first the positives of the first part, then those of the second, and so on.

        Parameters
        ----------
        parts : sequence of TaskCounts
            May be empty.
        """
        if not parts:
            return cls(np.zeros(0, dtype=np.int64), RankCounts.zeros(0), RankCounts.zeros(0), np.zeros(0))
        return cls(
            np.concatenate([part.rows for part in parts]),
            RankCounts.joined([part.raw for part in parts]),
            RankCounts.joined([part.known for part in parts]),
            np.concatenate([part.scores for part in parts]),
            any(part.is_infinite for part in parts),
        )
