"""Counts of the positive and negative examples at or above each distinct prediction.

The areas under curves, average precision, all curves and the choice of thresholds are computed from these counts
(`separation`, `curves`, `cuts`). Equal predictions share one step, so the order of the examples never matters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kgeval.checks import Bools, Ids


class Steps(NamedTuple):
    """One row per distinct pair of group and prediction; predictions fall within each group.

    Parameters
    ----------
    group : int64 array, shape (steps,)
        Falling.
    threshold : int or float array, shape (steps,)
        The prediction.
    tp, fp : int64 arrays, shape (steps,)
        How many positives, and how many negatives, of the group have at least this prediction.
    first : bool array, shape (steps,)
        True in the first row of each group.
    """

    group: Ids
    threshold: npt.NDArray[Any]
    tp: Ids
    fp: Ids
    first: Bools

    def before(self, counts: Ids) -> Ids:
        """Return the count in the row above, 0 in the first row of a group; int64 (steps,), as `counts`."""
        return np.where(self.first, 0, np.roll(counts, 1))


def count_steps(labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> Steps:
    """Return the counts of positives and negatives at or above each distinct prediction.

    Parameters
    ----------
    labels : bool array, shape (n,)
        True for positive examples; n is at least 1.
    predictions : int or float array, shape (n,)
        Compared exactly, in their own dtype.
    groups : int64 array, shape (n,), optional
        Each group is counted separately; by default all examples are in group 0.

    Returns
    -------
    Steps

    Examples
    --------
    >>> steps = count_steps(np.array([True, False, True]), np.array([0.5, 0.5, 0.9]))
    >>> steps.threshold, steps.tp, steps.fp
    (array([0.9, 0.5]), array([1, 2]), array([0, 1]))
    """
    codes = np.zeros(len(labels), dtype=np.int64) if groups is None else groups
    # Sort the examples by falling group, then by falling prediction.
    order = np.lexsort((predictions, codes))[::-1]
    is_positive, ranked, group = labels[order], predictions[order], codes[order]
    # (n,): whether the example is the last one of its group.
    ends_group = np.append(group[1:] != group[:-1], True)
    # (steps,): the last example of each step, that is of each run of equal predictions in a group.
    last = np.flatnonzero(ends_group | np.append(ranked[1:] != ranked[:-1], True))
    # (groups,): the number of examples of each group; (steps,): the first example of the step's group.
    sizes = np.diff(np.flatnonzero(ends_group), prepend=-1)
    begins = np.repeat(np.cumsum(sizes) - sizes, sizes)[last]
    # (n + 1,): cumulated[i] is the number of positives among the first i examples.
    cumulated = np.append(0, np.cumsum(is_positive, dtype=np.int64))
    # (steps,): the positives from the start of the group to the end of the step. The other examples there are fp.
    tp = cumulated[last + 1] - cumulated[begins]
    return Steps(group[last], ranked[last], tp, last + 1 - begins - tp, np.append(True, ends_group[last][:-1]))


def count_pairs(steps: Steps) -> tuple[Ids, Ids, Ids]:
    """Count the (positive, negative) pairs of each group in which the positive has the higher prediction.

    Pairs of equal predictions count one half. The counts are doubled to stay integers.

    Parameters
    ----------
    steps : Steps

    Returns
    -------
    group : int64 array, shape (groups,)
        Falling.
    doubled : int64 array, shape (groups,)
        Twice the number of pairs with the positive higher, plus the number of pairs with equal predictions.
    pairs : int64 array, shape (groups,)
        The number of all pairs.

    Examples
    --------
    >>> steps = count_steps(np.array([True, False, True]), np.array([0.5, 0.5, 0.9]))
    >>> [column.tolist() for column in count_pairs(steps)]
    [[0], [3], [2]]
    """
    # (groups,): the first and the last step of each group.
    begins = np.flatnonzero(steps.first)
    ends = np.append(begins[1:], len(steps.first)) - 1
    # (steps,): each negative of the step is in a pair with every positive above the step (counted 2) and with every
    # positive of the step (counted 1): tp before + tp including the step. Summed per group below.
    doubled = (steps.fp - steps.before(steps.fp)) * (steps.tp + steps.before(steps.tp))
    return steps.group[begins], np.add.reduceat(doubled, begins), steps.tp[ends] * steps.fp[ends]
