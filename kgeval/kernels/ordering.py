"""The order of one row of scores: what stands above an answer, what ties with it, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.checks import Ids, Scores


@dataclass(frozen=True)
class Order:
    """A row of scores as its answer sees it.

    Parameters
    ----------
    above, tied, below : int64 arrays
        Columns that score above, equal to (the answer itself left out) and below the answer, each best first; equal
        scores in the order of their columns.
    """

    above: Ids
    tied: Ids
    below: Ids

    @classmethod
    def around(cls, scores: Scores, answer: int) -> Order:
        """Order a row of scores, no NaN among them, around the column `answer`.

        Examples
        --------
        >>> Order.around(np.array([1.0, 5.0, 3.0, 3.0, 9.0]), 2)
        Order(above=array([4, 1]), tied=array([3]), below=array([0]))
        """
        n = len(scores)
        best_first = (n - 1 - np.argsort(scores[::-1], kind="stable"))[::-1]
        in_order = scores[best_first]
        others = best_first != answer
        return cls(
            best_first[in_order > scores[answer]],
            best_first[(in_order == scores[answer]) & others],
            best_first[in_order < scores[answer]],
        )

    @staticmethod
    def could_have_stood(scores: Scores, answer: int, said: float, counts: tuple[int, int], share: float) -> bool:
        """Tell whether rounding explains what was said of an answer: its score, and how many stood above and beside it.

        Parameters
        ----------
        scores : array, shape (candidates,)
        answer : int
        said : float
            The answer's score then.
        counts : tuple of int
            How many scored above it then, and how many the same.
        share : float
            Of the largest finite score, by which rounding may move a score.
        """
        finite = np.abs(scores[np.isfinite(scores)])
        slack = share * float(finite.max(initial=0.0))
        least = int(np.count_nonzero(scores > scores[answer] + slack))
        most = int(np.count_nonzero(scores >= scores[answer] - slack)) - 1
        is_near = said == scores[answer] or abs(said - float(scores[answer])) <= slack
        return bool(is_near) and least <= counts[0] and sum(counts) <= most
