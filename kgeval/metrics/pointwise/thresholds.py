"""Positives and negatives at or above each distinct prediction: the one home of that sort.

Area under the curve, average precision and all curves are read off these counts, so that equal predictions
are treated alike everywhere: they share one step, and their order in the input never matters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kgeval.checks import Bools, Ids


class Steps(NamedTuple):
    """One row per distinct (group, prediction), predictions falling within each group.

    `tp` and `fp` count the group's positives and negatives predicted at least as high; `first` is true on the
    first row of each group.
    """

    group: Ids
    threshold: npt.NDArray[Any]
    tp: Ids
    fp: Ids
    first: Bools

    def before(self, counts: Ids) -> Ids:
        """Return the counts of the row above, 0 on a group's first row."""
        return np.where(self.first, 0, np.roll(counts, 1))


def count_steps(labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> Steps:
    """Return the counts at or above each distinct prediction.

    Parameters
    ----------
    labels : bool array, shape (n,)
        n at least 1.
    predictions : int or float array, shape (n,)
        Compared exactly, in their own dtype.
    groups : int64 array, shape (n,), optional
        Each is counted by itself.

    Examples
    --------
    >>> steps = count_steps(np.array([True, False, True]), np.array([0.5, 0.5, 0.9]))
    >>> steps.threshold, steps.tp, steps.fp
    (array([0.9, 0.5]), array([1, 2]), array([0, 1]))
    """
    codes = np.zeros(len(labels), dtype=np.int64) if groups is None else groups
    order = np.lexsort((predictions, codes))[::-1]
    hits, ranked, group = labels[order], predictions[order], codes[order]
    ends_group = np.append(group[1:] != group[:-1], True)
    last = np.flatnonzero(ends_group | np.append(ranked[1:] != ranked[:-1], True))
    sizes = np.diff(np.flatnonzero(ends_group), prepend=-1)
    begins = np.repeat(np.cumsum(sizes) - sizes, sizes)[last]
    counted = np.append(0, np.cumsum(hits, dtype=np.int64))
    tp = counted[last + 1] - counted[begins]
    return Steps(group[last], ranked[last], tp, last + 1 - begins - tp, np.append(True, ends_group[last][:-1]))


def count_pairs(steps: Steps) -> tuple[Ids, Ids, Ids]:
    """Return, per group: its number, twice the pairs in the right order, and how many pairs there are.

    A pair is one positive and one negative; equal predictions are half right, hence twice.

    Examples
    --------
    >>> steps = count_steps(np.array([True, False, True]), np.array([0.5, 0.5, 0.9]))
    >>> [column.tolist() for column in count_pairs(steps)]
    [[0], [3], [2]]
    """
    begins = np.flatnonzero(steps.first)
    ends = np.append(begins[1:], len(steps.first)) - 1
    doubled = (steps.fp - steps.before(steps.fp)) * (steps.tp + steps.before(steps.tp))
    return steps.group[begins], np.add.reduceat(doubled, begins), steps.tp[ends] * steps.fp[ends]
