"""Pointwise metrics of labelled examples as `Moments`, from which intervals and tests are computed.

The numbers of positive and of negative examples are fixed: negatives are usually generated, so the share of negatives
has no meaning outside the dataset. An interval shows how much a metric would vary with the same numbers of new
positives and new negatives. Therefore, each mean over all examples is written as
(mean over the positives) * (share of positives) + (mean over the negatives) * (share of negatives), where both shares
are constants.

The methods ``moments`` of the metrics call this module; `kgeval.classification` calls these methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Bools, Reals
from kgeval.stats.moments import Moments


def of_classes(
    labels: Bools,
    columns: Sequence[npt.NDArray[np.generic]],
    finish: Callable[[Reals, Reals, float], Reals],
    weights: Reals | None = None,
) -> Moments:
    """Return a metric that is a function of means over the positives and of means over the negatives.

    Parameters
    ----------
    labels : bool array, shape (n,)
        True for positive examples; n is at least 1.
    columns : sequence of k arrays, shape (n,)
        One number per example in each column.
    finish : function
        ``finish(positive, negative, share)`` computes the metric. `share` is the share of the positives. `positive`,
        float64 (..., k), contains the means of the columns over the positives, times `share`. `negative` contains the
        means of the columns over the negatives, times ``1 - share``. So ``positive + negative`` contains the means over
        all examples.
    weights : float64 array, shape (n,), optional
        As in `Moments`.

    Returns
    -------
    Moments

    Examples
    --------
    >>> labels, right = np.array([True, True, False, False]), np.array([1.0, 0.0, 1.0, 1.0])
    >>> accuracy = of_classes(labels, [right], lambda positive, negative, share: (positive + negative)[..., 0])
    >>> float(accuracy.number)
    0.75
    """
    k, share = len(columns), float(labels.mean())
    table = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])
    zero = np.zeros_like(table)
    is_positive = labels[:, None]
    # (n, 2 * k + 2): the k columns for the positives, the k columns for the negatives, and two columns that count
    # the positives and the negatives.
    values = np.column_stack([np.where(is_positive, table, zero), np.where(is_positive, zero, table), labels, ~labels])

    def of_means(means: Reals) -> Reals:
        # A class without examples has the share 0, and contributes 0 instead of 0 / 0.
        positive = share * means[..., :k] / means[..., -2:-1] if share > 0.0 else means[..., :k]
        negative = (1.0 - share) * means[..., k:-2] / means[..., -1:] if share < 1.0 else means[..., k:-2]
        return np.asarray(finish(positive, negative, share))

    return Moments(values, of_means, weights)


def mean_of_losses(labels: Bools, losses: Reals, finish: Callable[[Reals], Reals] = np.asarray) -> Moments:
    """Return a metric that is the mean of a loss, or a function of this mean such as its root.

    Parameters
    ----------
    labels : bool array, shape (n,)
    losses : float64 array, shape (n,)
    finish : function
        Computes the metric from means, float64 (...).

    Examples
    --------
    >>> float(mean_of_losses(np.array([True, False]), np.array([1.0, 7.0]), np.sqrt).number)
    2.0
    """
    return of_classes(labels, [losses], lambda positive, negative, _: finish((positive + negative)[..., 0]))


def balanced_weights(labels: Bools) -> Reals:
    """Return weights that sum to 1 for the positives and to 1 for the negatives, float64 (n,).

    Parameters
    ----------
    labels : bool array, shape (n,)

    Examples
    --------
    >>> balanced_weights(np.array([True, False, False]))
    array([1. , 0.5, 0.5])
    """
    n_positive = int(labels.sum())
    return np.where(labels, 1.0 / max(1, n_positive), 1.0 / max(1, len(labels) - n_positive))


def of_effects(labels: Bools, value: float, effects: Reals) -> Moments:
    """Return a first-order approximation of a metric, given the effect of each example on the metric.

    The positives and the negatives are treated as two independent samples.

    Parameters
    ----------
    labels : bool array, shape (n,)
        At least one example of each class.
    value : float
        The metric of all examples.
    effects : float64 array, shape (n,)
        If the mean effect of one class rises by d, the metric rises by about d (the error is of second order in d).

    Examples
    --------
    >>> moments = of_effects(np.array([True, True, False]), 0.75, np.array([1.0, 0.5, 0.75]))
    >>> float(moments.number)
    0.75
    """
    # Only the differences between the effects of one class matter. Subtract the mean of the class first: this makes
    # rounding errors small.
    means = np.where(labels, effects[labels].mean(), effects[~labels].mean())

    def finish(positive: Reals, negative: Reals, share: float) -> Reals:
        return np.asarray(value + positive[..., 0] / share + negative[..., 0] / (1.0 - share))

    return of_classes(labels, [effects - means], finish, balanced_weights(labels))


def placements(labels: Bools, scores: npt.NDArray[np.generic]) -> Reals:
    """Return, for each example, the share of its (positive, negative) pairs in which the positive scores higher.

    Each example forms one pair with every example of the other class; pairs of equal scores count one half. The mean of
    these shares over the positives is the AUC. The mean over the negatives is the AUC, too.

    Parameters
    ----------
    labels : bool array, shape (n,)
        At least one example of each class.
    scores : int or float array, shape (n,)

    Returns
    -------
    float64 array, shape (n,)

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Comparing the Areas under Two or More Correlated Receiver Operating
    Characteristic Curves: A Nonparametric Approach, Biometrics 44 (which calls the shares structural components).

    Examples
    --------
    >>> placements(np.array([True, False, True, False]), np.array([4.0, 3.0, 3.0, 1.0]))
    array([1.  , 0.75, 0.75, 1.  ])
    """
    positives, negatives = np.sort(scores[labels]), np.sort(scores[~labels])
    shares = np.empty(len(labels))
    shares[labels] = _mean_place(negatives, scores[labels]) / len(negatives)
    shares[~labels] = 1.0 - _mean_place(positives, scores[~labels]) / len(positives)
    return shares


def _mean_place(ascending: npt.NDArray[np.generic], scores: npt.NDArray[np.generic]) -> Reals:
    """Return, for each score, how many numbers of `ascending` are lower; equal numbers count one half."""
    below, up_to = (np.searchsorted(ascending, scores, side) for side in ("left", "right"))
    return np.asarray((below + up_to) / 2.0)


def precision_effects(labels: Bools, scores: npt.NDArray[np.generic]) -> Reals:
    """Return the effect of each example on the average precision, as `of_effects` needs it.

    Average precision is the mean of P_i over the positives i. P_i is the precision with the score of i as threshold:
    the share of positives among the K_i examples whose score is at least the score of i. A positive j adds P_j, and
    raises P_i of each positive i with an equal or lower score by ``(1 - P_i) / K_i``. A negative lowers P_i of each
    positive i with an equal or lower score by ``P_i / K_i``. The effect of an example is the derivative of the average
    precision with respect to the weight of the example, times the number of examples of its class.

    Parameters
    ----------
    labels : bool array, shape (n,)
        At least one example of each class.
    scores : int or float array, shape (n,)

    Returns
    -------
    float64 array, shape (n,)

    References
    ----------
    Hampel (1974), The Influence Curve and Its Role in Robust Estimation, JASA 69.

    Examples
    --------
    Scores 4, 3, 2, 1 with the labels 1, 0, 1, 0: the precisions of the positives are 1 and 2/3.

    >>> precision_effects(np.array([True, False, True, False]), np.array([4.0, 3.0, 2.0, 1.0])).round(4)
    array([ 1.1111, -0.2222,  0.7778,  0.    ])
    """
    ascending = np.argsort(scores, kind="stable")
    ranked, is_positive = scores[ascending], labels[ascending]
    # (n,) each, in ascending order of the scores: the first example with an equal score, how many examples and how
    # many positives score at least as high (K and TP), and the precision with the score as the threshold.
    first = np.searchsorted(ranked, ranked, "left")
    n_at_least = len(labels) - first
    tp_at_least = np.append(np.cumsum(is_positive[::-1])[::-1], 0)[first]
    precision = tp_at_least / n_at_least
    # (n,) each: the sums of (1 - P_i) / K_i and of P_i / K_i over the positives i with an equal or lower score.
    end = np.searchsorted(ranked, ranked, "right")
    gained = np.append(0.0, np.cumsum(np.where(is_positive, (1.0 - precision) / n_at_least, 0.0)))[end]
    lost = np.append(0.0, np.cumsum(np.where(is_positive, precision / n_at_least, 0.0)))[end]
    effects, n_positive = np.empty(len(labels)), int(labels.sum())
    # The mean over the positives divides by their number; the effects of a class are multiplied by its size.
    of_negatives = 0.0 - lost * (len(labels) - n_positive) / n_positive
    effects[ascending] = np.where(is_positive, precision + gained, of_negatives)
    return effects
