"""Counts of the positive and negative examples at or above each distinct prediction.

These counts are used by `separation` (AUC and average precision), by `curves`, and by `cuts` (choice of thresholds).
Equal predictions are counted together, so the order of the examples does not matter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Bools, Ids


class ThresholdSteps(NamedTuple):
    """Counts of positive and negative examples at or above each distinct prediction of each group.

    Each row is a step: one distinct prediction of one group. Steps are sorted by group, highest number first, and
    within a group by prediction, highest first.

    Parameters
    ----------
    group : int64 array, shape (steps,)
        The group of each step.
    threshold : int or float array, shape (steps,)
        The prediction of each step.
    tp, fp : int64 arrays, shape (steps,)
        Number of positive (`tp`) and of negative (`fp`) examples of the group whose prediction is at least `threshold`.
    first : bool array, shape (steps,)
        True for the first step of each group.
    """

    group: Ids
    threshold: npt.NDArray[Any]
    tp: Ids
    fp: Ids
    first: Bools

    def before(self, counts: Ids) -> Ids:
        """Return, for each step, the count in `counts` at the previous step of the same group; int64 (steps,).

        For the first step of a group, the result is 0.
        """
        return np.where(self.first, 0, np.roll(counts, 1))


def count_steps(labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> ThresholdSteps:
    """Return the counts of positives and negatives at or above each distinct prediction.

    Parameters
    ----------
    labels : bool array, shape (n,)
        True for positive examples; n is at least 1.
    predictions : int or float array, shape (n,)
        Compared exactly, without conversion to another dtype.
    groups : int64 array, shape (n,), optional
        Each group is counted separately; by default all examples are in group 0.

    Returns
    -------
    ThresholdSteps

    Examples
    --------
    >>> steps = count_steps(np.array([True, False, True]), np.array([0.5, 0.5, 0.9]))
    >>> steps.threshold, steps.tp, steps.fp
    (array([0.9, 0.5]), array([1, 2]), array([0, 1]))
    """
    codes = np.zeros(len(labels), dtype=np.int64) if groups is None else groups
    # Sort the examples by descending group, then by descending prediction.
    order = np.lexsort((predictions, codes))[::-1]
    is_positive, ranked, group = labels[order], predictions[order], codes[order]
    # (n,): whether the example is the last one of its group.
    ends_group = np.append(group[1:] != group[:-1], True)
    # (steps,): the index of the last example of each step; a step is a run of equal predictions in a group.
    last = np.flatnonzero(ends_group | np.append(ranked[1:] != ranked[:-1], True))
    # sizes (groups,): number of examples of each group. begins (steps,): index of the group's first example.
    sizes = np.diff(np.flatnonzero(ends_group), prepend=-1)
    begins = np.repeat(np.cumsum(sizes) - sizes, sizes)[last]
    # (n + 1,): cumulated[i] is the number of positives among the first i examples.
    cumulated = np.append(0, np.cumsum(is_positive, dtype=np.int64))
    # (steps,): number of positives from the start of the group to the end of the step. fp, in the last line, is the
    # number of all other examples in this range.
    tp = cumulated[last + 1] - cumulated[begins]
    return ThresholdSteps(group[last], ranked[last], tp, last + 1 - begins - tp, np.append(True, ends_group[last][:-1]))


def count_pairs(steps: ThresholdSteps) -> tuple[Ids, Ids, Ids]:
    """Count, for each group, the (positive, negative) pairs in which the positive has the higher prediction.

    A pair of equal predictions counts one half. The counts are doubled so that they are integers.

    Parameters
    ----------
    steps : ThresholdSteps

    Returns
    -------
    group : int64 array, shape (groups,)
        The groups, in descending order.
    doubled : int64 array, shape (groups,)
        Twice the number of pairs whose positive has the higher prediction, plus the number of pairs with equal
        predictions.
    pairs : int64 array, shape (groups,)
        The number of all (positive, negative) pairs of the group.

    Examples
    --------
    >>> steps = count_steps(np.array([True, False, True]), np.array([0.5, 0.5, 0.9]))
    >>> [column.tolist() for column in count_pairs(steps)]
    [[0], [3], [2]]
    """
    # (groups,) each: the index of the first and of the last step of each group.
    begins = np.flatnonzero(steps.first)
    ends = np.append(begins[1:], len(steps.first)) - 1
    # (steps,): each negative of the step forms pairs with all positives above the step (each pair counts 2) and with
    # all positives of the step (each pair counts 1). So one negative adds tp of the previous step + tp of this step.
    # The return statement sums the numbers of all steps of a group.
    doubled = (steps.fp - steps.before(steps.fp)) * (steps.tp + steps.before(steps.tp))
    return steps.group[begins], np.add.reduceat(doubled, begins), steps.tp[ends] * steps.fp[ends]
