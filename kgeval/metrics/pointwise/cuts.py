"""Thresholds that decide which examples are predicted positive, chosen on labelled validation examples.

`kgeval.classification` calls these functions to choose and to apply thresholds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Bools, Ids, Reals, check_one_of
from kgeval.errors import ScoreError
from kgeval.metrics.pointwise.thresholds import count_steps

MAX_EXACT_INTEGER = 1 << 53
THRESHOLD_PLACES = ("score", "midpoint")  # the values of `threshold_at`; the first is the default


class GroupThresholds(NamedTuple):
    """The threshold of every group, chosen on the examples of the group or on all examples together.

    Parameters
    ----------
    threshold : float64 array, shape (groups,)
    is_own : bool array, shape (groups,)
        True if the threshold is chosen on the group's examples. False for a group without examples, or with examples
        of one class only; the threshold of such a group is `overall`.
    overall : float
        The threshold chosen on all examples together.
    """

    threshold: Reals
    is_own: Bools
    overall: float


def exact_doubles(scores: npt.NDArray[Any], name: str) -> Reals:
    """Return scores as float64, the dtype of thresholds; raise an error if the conversion would change a score.

    Parameters
    ----------
    scores : int or float array, shape (n,)
    name : str
        Name of the scorer in the error message.

    Returns
    -------
    float64 array, shape (n,)

    Raises
    ------
    ScoreError
        If an integer score is below -2**53 or above 2**53, or if the dtype is a float wider than float64 and a score
        would be rounded.

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
        n_more = int(wrong.sum()) - 1
        more = f", and {n_more} more" if n_more else ""
        raise ScoreError(
            f"{name} gave the score {scores[int(np.argmax(wrong))]} ({scores.dtype}){more}, "
            "beyond the precision of float64, the dtype of thresholds. Scale the scores down, or return float64"
        )
    return scores.astype(np.float64)


def decide_by_threshold(scores: Reals, thresholds: Reals | float) -> Bools:
    """Return a bool per example: True (predicted positive) if the score is at least the threshold.

    Parameters
    ----------
    scores : float64 array, shape (n,)
    thresholds : float64 array, shape (n,), or one float
        With the threshold +inf, only an example with the score +inf is predicted positive.

    Returns
    -------
    bool array, shape (n,)

    Examples
    --------
    >>> decide_by_threshold(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, np.inf]))
    array([False,  True, False])
    """
    return np.asarray(scores >= thresholds)


def choose_thresholds(
    labels: Bools, scores: Reals, groups: Ids | None = None, threshold_at: str = "score"
) -> tuple[Ids, Reals]:
    """Return, for each group, the threshold with the largest number of correct decisions.

    The best threshold is one of the group's distinct scores (the best score), or +inf. If several thresholds are
    equally good, the highest of them is chosen: it predicts the fewest examples positive. With `threshold_at` =
    ``"midpoint"`` the threshold is then moved down, to the midpoint between the best score and the next lower score of
    the group. The move changes no decision, since no score of the group lies between the midpoint and the best score.

    Parameters
    ----------
    labels : bool array, shape (n,)
        True for positive examples; n is at least 1.
    scores : float64 array, shape (n,)
        No NaN; infinities are allowed.
    groups : int64 array, shape (n,), optional
        The group of each example, such as its relation; by default all examples are in group 0.
    threshold_at : str
        ``"score"``: the threshold is the best score. ``"midpoint"``: the threshold is the midpoint between the best
        score and the next lower score of the group (see `midpoints_below`). If the best score is the lowest score of
        the group, or if +inf is the best threshold, the threshold is not moved.

    Returns
    -------
    groups : int64 array, shape (groups,)
        The groups that have examples, in descending order.
    thresholds : float64 array, shape (groups,)
        The threshold of each group, in the same order as the array `groups`.

    References
    ----------
    Socher et al. (2013), Reasoning With Neural Tensor Networks for Knowledge Base Completion, NIPS.

    Examples
    --------
    >>> choose_thresholds(np.array([True, False, True, False]), np.array([0.9, 0.7, 0.6, 0.1]))
    (array([0]), array([0.9]))
    >>> choose_thresholds(np.array([True, False, True]), np.array([0.75, 0.25, 0.875]), threshold_at="midpoint")
    (array([0]), array([0.5]))
    """
    check_one_of("threshold_at", threshold_at, THRESHOLD_PLACES)
    steps = count_steps(labels, scores, groups)
    # (groups,) each: the index of the group's first step, and how many steps the group has. A step is one distinct
    # score of a group; the first step has the highest score.
    begins = np.flatnonzero(steps.first)
    sizes = np.diff(np.append(begins, len(steps.first)))
    # (groups,): the number of negatives of each group, which is fp at the last step of the group.
    n_negatives = steps.fp[begins + sizes - 1]
    # (steps,): the number of correct decisions if the step's score is the threshold: tp + (negatives - fp).
    n_correct = steps.tp - steps.fp + np.repeat(n_negatives, sizes)
    # (groups,): the largest number of correct decisions.
    most_correct = np.maximum.reduceat(n_correct, begins)
    # best: the indices of all steps that have the largest number of correct decisions of their group. step (groups,):
    # the first step of each group in `best`; it has the highest score, since scores descend within a group. chosen
    # (groups,): the score of this step.
    best = np.flatnonzero(n_correct == np.repeat(most_correct, sizes))
    step = best[np.searchsorted(best, begins)]
    chosen = steps.threshold[step]
    if threshold_at == "midpoint":
        # (groups,): the step with the next lower score; the step itself if it is the last step of its group.
        lower = np.minimum(step + 1, begins + sizes - 1)
        chosen = midpoints_below(chosen, steps.threshold[lower])
    highest = steps.threshold[begins]
    # (groups,): True where the threshold +inf makes at least as many correct decisions as the best score. With +inf, no
    # example is predicted positive, so the correct decisions are the negatives. False for a group with a score of +inf,
    # since an example with this score is predicted positive with every threshold.
    is_inf_best = (n_negatives >= most_correct) & (highest < np.inf)
    return steps.group[begins], np.where(is_inf_best, np.inf, chosen)


def midpoints_below(scores: Reals, lower: Reals) -> Reals:
    """Return the midpoint between each score and a lower score.

    The midpoint is above the lower score and at most the score itself. A threshold at the midpoint therefore gives both
    scores the same decisions as a threshold at the score itself. If no such midpoint exists, the result is the score
    itself: for equal scores, for some neighbouring float64 numbers, and if the lower score is -inf. If the score is
    +inf, the result is +inf.

    Parameters
    ----------
    scores, lower : float64 arrays, shape (n,)
        No NaN; `lower` is at most `scores`.

    Returns
    -------
    float64 array, shape (n,)

    Examples
    --------
    >>> midpoints_below(np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, -np.inf]))
    array([2., 2., 1.])
    """
    # The sum of two finite scores can overflow; the sum of their halves cannot. Halves are used only where the sum
    # overflows, since the half of a tiny (subnormal) number is rounded. The sum of +inf and -inf is NaN; the comparison
    # below is then False.
    with np.errstate(over="ignore", invalid="ignore"):
        total = scores + lower
        middle = np.where(np.isfinite(total), total / 2, scores / 2 + lower / 2)
    return np.where((lower < middle) & (middle <= scores), middle, scores)


def thresholds_by_group(
    labels: Bools, scores: Reals, groups: Ids, n_groups: int, threshold_at: str = "score"
) -> GroupThresholds:
    """Choose a threshold for each group, as `choose_thresholds` does.

    A group without examples, or with examples of one class only, gets the threshold chosen on all examples.

    Parameters
    ----------
    labels : bool array, shape (n,)
        True for positive examples; n is at least 1.
    scores : float64 array, shape (n,)
        No NaN.
    groups : int64 array, shape (n,)
        The group of each example, in ``0 .. n_groups - 1``.
    n_groups : int
    threshold_at : str
        ``"score"`` or ``"midpoint"``; see `choose_thresholds`.

    Returns
    -------
    GroupThresholds

    Examples
    --------
    >>> labels, scores = np.array([True, False, True]), np.array([0.9, 0.7, 0.8])
    >>> thresholds = thresholds_by_group(labels, scores, np.array([0, 0, 1]), 3)
    >>> thresholds.threshold, thresholds.is_own, thresholds.overall
    (array([0.9, 0.8, 0.8]), array([ True, False, False]), 0.8)
    """
    overall = float(choose_thresholds(labels, scores, None, threshold_at)[1][0])
    threshold = np.full(n_groups, overall)
    # (n_groups,) each: number of examples, number of positive examples, and whether the group has both classes.
    n, n_positive = (np.bincount(codes, minlength=n_groups) for codes in (groups, groups[labels]))
    is_own = (n_positive > 0) & (n_positive < n)
    chosen_for, chosen = choose_thresholds(labels, scores, groups, threshold_at)
    # `chosen` has one threshold per group in `chosen_for`; only the thresholds of groups with both classes are used.
    has_both = is_own[chosen_for]
    threshold[chosen_for[has_both]] = chosen[has_both]
    return GroupThresholds(threshold, is_own, overall)
