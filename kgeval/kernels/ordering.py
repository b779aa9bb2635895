"""`Order`: the candidates of one query that score above, equal to and below the answer.

The answer is the entity that completes the query to the positive (the triple being ranked).
`kgeval.results.explanations` uses `Order` to show the rivals of a positive and to compare new scores with saved counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.checks import Ids, Scores


@dataclass(frozen=True)
class Order:
    """The candidates of one query, split by whether they score above, equal to or below the answer.

    Parameters
    ----------
    above, tied, below : int64 arrays
        Columns of the candidates in the row of scores. Each array is sorted from best to worst, and columns with equal
        scores ascend. No array contains the answer itself.
    """

    above: Ids
    tied: Ids
    below: Ids

    @classmethod
    def around(cls, scores: Scores, answer: int) -> Order:
        """Split a row of scores at the score of the column `answer`.

        Parameters
        ----------
        scores : array, shape (candidates,)
            Higher is better; no NaN.
        answer : int
            Column of the answer.

        Examples
        --------
        >>> Order.around(np.array([1.0, 5.0, 3.0, 3.0, 9.0]), 2)
        Order(above=array([4, 1]), tied=array([3]), below=array([0]))
        """
        n = len(scores)
        # best_first, int64 (candidates,): all columns, by descending score; columns with equal scores ascend. A stable
        # ascending sort of the reversed row gives the reverse of this order.
        best_first = (n - 1 - np.argsort(scores[::-1], kind="stable"))[::-1]
        descending = scores[best_first]  # the scores from best to worst
        is_rival = best_first != answer
        return cls(
            best_first[descending > scores[answer]],
            best_first[(descending == scores[answer]) & is_rival],
            best_first[descending < scores[answer]],
        )

    @staticmethod
    def could_have_stood(
        scores: Scores, answer: int, saved_score: float, saved_counts: tuple[int, int], share: float
    ) -> bool:
        """Tell whether rounding can explain why the new scores differ from the saved score and the saved counts.

        Parameters
        ----------
        scores : array, shape (candidates,)
            The new scores.
        answer : int
            Column of the answer.
        saved_score : float
            The saved score of the answer.
        saved_counts : tuple of int
            How many candidates scored above the answer, and how many candidates other than the answer tied with it.
        share : float
            Rounding may change a score by at most this share of the largest finite absolute score.

        Returns
        -------
        bool
        """
        finite = np.abs(scores[np.isfinite(scores)])
        slack = share * float(finite.max(initial=0.0))
        min_better = int(np.count_nonzero(scores > scores[answer] + slack))
        max_not_worse = int(np.count_nonzero(scores >= scores[answer] - slack)) - 1  # without the answer itself
        is_near = saved_score == scores[answer] or abs(saved_score - float(scores[answer])) <= slack
        return bool(is_near) and min_better <= saved_counts[0] and sum(saved_counts) <= max_not_worse
