"""Where to cut scores into positive and negative: chosen on labelled validation examples, applied to others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kgeval.checks import Bools, Ids, Reals
from kgeval.errors import ScoreError
from kgeval.metrics.pointwise.thresholds import count_steps

MAX_EXACT_INTEGER = 1 << 53


class GroupThresholds(NamedTuple):
    """A threshold for every group, its own or the one of all examples together.

    Parameters
    ----------
    threshold : float64 array, shape (groups,)
    is_own : bool array, shape (groups,)
        False where the group has no example, or examples of one class only: there `overall` stands in.
    overall : float
        Chosen on all examples together.
    """

    threshold: Reals
    is_own: Bools
    overall: float


def exact_doubles(scores: npt.NDArray[Any], name: str) -> Reals:
    """Return scores in float64, in which they meet their thresholds, if none is changed by that.

    Raises
    ------
    ScoreError
        If an integer lies beyond 2**53, or a wider float is no float64.

    Examples
    --------
    >>> exact_doubles(np.array([1, -3]), "score")
    array([ 1., -3.])
    """
    if scores.dtype.kind in "iu":
        wrong = (scores > MAX_EXACT_INTEGER) | (scores < -MAX_EXACT_INTEGER)
    else:
        with np.errstate(over="ignore"):
            wrong = scores.astype(np.float64) != scores
    if wrong.any():
        raise ScoreError(
            f"{name} gave the score {scores[int(np.argmax(wrong))]} ({scores.dtype}), which float64 cannot hold, and "
            f"{int(wrong.sum()) - 1} more; thresholds are float64. Scale the scores down, or give floats"
        )
    return scores.astype(np.float64)


def decide_by_threshold(scores: Reals, thresholds: Reals | float) -> Bools:
    """Return which scores are called positive: those at or above their threshold.

    Parameters
    ----------
    scores : float64 array, shape (n,)
    thresholds : float64 array, shape (n,), or one float
        +inf calls nothing positive but a score of +inf.

    Examples
    --------
    >>> decide_by_threshold(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, np.inf]))
    array([False,  True, False])
    """
    return np.asarray(scores >= thresholds)


def choose_thresholds(labels: Bools, scores: Reals, groups: Ids | None = None) -> tuple[Ids, Reals]:
    """Return each group's number and the threshold under which most of its examples are decided rightly.

    Candidates are the distinct scores of the group and +inf. Of equally good ones the highest is taken, so that
    scores that tell nothing call the fewest examples positive.

    Parameters
    ----------
    labels : bool array, shape (n,)
        n at least 1.
    scores : float64 array, shape (n,)
        No NaN; infinities are numbers.
    groups : int64 array, shape (n,), optional
        Such as relations; by default all examples are group 0.

    Returns
    -------
    groups : int64 array
        Those that have examples, falling.
    thresholds : float64 array of the same length

    References
    ----------
    Socher et al. (2013), Reasoning With Neural Tensor Networks for Knowledge Base Completion, NIPS.

    Examples
    --------
    >>> choose_thresholds(np.array([True, False, True, False]), np.array([0.9, 0.7, 0.6, 0.1]))
    (array([0]), array([0.9]))
    """
    steps = count_steps(labels, scores, groups)
    begins = np.flatnonzero(steps.first)
    sizes = np.diff(np.append(begins, len(steps.first)))
    n_negatives = steps.fp[begins + sizes - 1]
    right = steps.tp - steps.fp + np.repeat(n_negatives, sizes)
    most = np.maximum.reduceat(right, begins)
    best = np.flatnonzero(right == np.repeat(most, sizes))
    chosen = steps.threshold[best[np.searchsorted(best, begins)]]  # thresholds fall: the first of the best is highest
    highest = steps.threshold[begins]
    is_none = (n_negatives >= most) & (highest < np.inf)  # a score of +inf is positive under any threshold
    return steps.group[begins], np.where(is_none, np.inf, chosen)


def thresholds_by_group(labels: Bools, scores: Reals, groups: Ids, n_groups: int) -> GroupThresholds:
    """Choose a threshold for each of the groups 0 .. `n_groups` - 1, see `choose_thresholds`.

    Examples
    --------
    >>> labels, scores = np.array([True, False, True]), np.array([0.9, 0.7, 0.8])
    >>> found = thresholds_by_group(labels, scores, np.array([0, 0, 1]), 3)
    >>> found.threshold, found.is_own, found.overall
    (array([0.9, 0.8, 0.8]), array([ True, False, False]), 0.8)
    """
    overall = float(choose_thresholds(labels, scores)[1][0])
    threshold = np.full(n_groups, overall)
    n, n_positive = (np.bincount(part, minlength=n_groups) for part in (groups, groups[labels]))
    is_own = (n_positive > 0) & (n_positive < n)
    chosen_for, chosen = choose_thresholds(labels, scores, groups)
    has_both = is_own[chosen_for]
    threshold[chosen_for[has_both]] = chosen[has_both]
    return GroupThresholds(threshold, is_own, overall)
