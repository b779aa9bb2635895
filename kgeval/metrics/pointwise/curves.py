"""ROC, precision-recall and reliability curves of predictions as tables with one row per point.

Users call these functions; `kgeval.report.plots` draws the reliability curve.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.errors import MetricError
from kgeval.metrics.pointwise.examples import (
    check_same_length,
    read_binary_labels,
    read_predicted_scores,
    read_probabilities,
)
from kgeval.metrics.pointwise.probabilities import check_bins, fill_bins
from kgeval.metrics.pointwise.thresholds import ThresholdSteps, count_steps


def roc_curve(labels: npt.ArrayLike, scores: npt.ArrayLike) -> pd.DataFrame:
    """Return the ROC curve: the false and the true positive rate at each threshold.

    Parameters
    ----------
    labels : bools or 0/1, shape (n,)
        At least one example of each class.
    scores : int or float array, shape (n,)
        Any real numbers, higher is more plausible.

    Returns
    -------
    DataFrame
        Columns `threshold`, `fpr`, `tpr`, and the counts `fp`, `tp` of negatives and positives whose score is at
        least the threshold. In the first row, no example is predicted positive: the threshold is inf, and both rates
        are 0. Then one row follows for each distinct score, in descending order; no point is left out, not even a
        point on the straight line between its neighbours. If the points are joined by straight lines, the area below is
        exactly `RocAuc`.

    Raises
    ------
    DataError, ScoreError
        As in `RocAuc`.
    MetricError
        If there is no positive or no negative example. One of the two rates would then be 0 / 0.

    References
    ----------
    Fawcett (2006), An introduction to ROC analysis.

    Examples
    --------
    >>> roc_curve([1, 0, 1, 0], [4.0, 3.0, 3.0, 1.0])
       threshold  fpr  tpr  fp  tp
    0        inf  0.0  0.0   0   0
    1        4.0  0.0  0.5   0   1
    2        3.0  0.5  1.0   1   2
    3        1.0  1.0  1.0   2   2
    """
    steps = _steps("roc_curve", labels, scores, ("positive", "negative"))
    fp, tp = np.append(0, steps.fp), np.append(0, steps.tp)
    threshold = np.append(np.inf, steps.threshold)
    return pd.DataFrame({"threshold": threshold, "fpr": fp / fp[-1], "tpr": tp / tp[-1], "fp": fp, "tp": tp})


def pr_curve(labels: npt.ArrayLike, scores: npt.ArrayLike) -> pd.DataFrame:
    """Return the precision-recall curve: recall and precision at each threshold.

    Parameters
    ----------
    labels : bools or 0/1, shape (n,)
        At least one positive example.
    scores : int or float array, shape (n,)
        Any real numbers, higher is more plausible.

    Returns
    -------
    DataFrame
        Columns `threshold`, `recall`, `precision`, `interpolated` (the highest precision at this recall or at any
        higher recall), and the counts `tp`, `fp` of positives and negatives whose score is at least the threshold. One
        row per distinct score, in descending order. There is no row for a threshold above all scores: no
        example is then predicted positive, and precision is 0 / 0. Draw the curve as steps: the area below the steps
        is `AveragePrecision`; the area below straight lines would be too large.

    Raises
    ------
    DataError, ScoreError
        As in `AveragePrecision`.
    MetricError
        If there is no positive example. Recall would then be 0 / 0.

    References
    ----------
    Davis & Goadrich (2006), The Relationship Between Precision-Recall and ROC Curves, ICML.

    Examples
    --------
    >>> pr_curve([0, 1, 1, 0], [4.0, 3.0, 2.0, 1.0]).round(3)
       threshold  recall  precision  interpolated  tp  fp
    0        4.0     0.0      0.000         0.667   0   1
    1        3.0     0.5      0.500         0.667   1   1
    2        2.0     1.0      0.667         0.667   2   1
    3        1.0     1.0      0.500         0.667   2   2
    """
    steps = _steps("pr_curve", labels, scores, ("positive",))
    precision = steps.tp / (steps.tp + steps.fp)
    # (steps,): the highest precision in this row or a later row.
    best_from_here = np.maximum.accumulate(precision[::-1])[::-1]
    # (steps,): the index of the first row with the same recall. This row has the highest precision of the rows with
    # the same recall, so its `best_from_here` is the highest precision at this recall or at any higher recall.
    first = np.searchsorted(steps.tp, steps.tp)
    return pd.DataFrame(
        {
            "threshold": steps.threshold.astype(np.float64),
            "recall": steps.tp / steps.tp[-1],
            "precision": precision,
            "interpolated": best_from_here[first],
            "tp": steps.tp,
            "fp": steps.fp,
        }
    )


def reliability_curve(
    labels: npt.ArrayLike, probabilities: npt.ArrayLike, bins: int = 10, strategy: str = "width"
) -> pd.DataFrame:
    """Return the mean probability and the share of positives in each bin; the two are equal if calibration is perfect.

    Parameters
    ----------
    labels : bools or 0/1, shape (n,)
        All labels may be of one class.
    probabilities : float array, shape (n,)
        In [0, 1].
    bins : int
        Number of bins, at least 1.
    strategy : str
        ``"width"`` or ``"mass"``, as in `ECE`.

    Returns
    -------
    DataFrame
        One row per bin, also for empty bins. The columns are `low` and `high` (the limits of the bin), `n` (number of
        examples), `mean_probability`, and `observed` (the share of positives); the last two are NaN where `n` is 0.
        With ``"mass"``, `low` and `high` are the smallest and the largest probability in the bin. ECE is the mean of
        |mean_probability - observed| over the bins, weighted by `n`.

    Raises
    ------
    DataError, ScoreError
        As in `ECE`.
    MetricError
        If there is no example, if `bins` is not an integer of at least 1, or if `strategy` is unknown.

    References
    ----------
    Niculescu-Mizil & Caruana (2005), Predicting Good Probabilities With Supervised Learning, ICML.

    Examples
    --------
    >>> reliability_curve([0, 1, 1, 1], [0.25, 0.25, 0.5, 1.0], bins=2)
       low  high  n  mean_probability  observed
    0  0.0   0.5  2              0.25       0.5
    1  0.5   1.0  2              0.75       1.0
    """
    check_bins("reliability_curve", bins, strategy)
    actual, predicted = read_binary_labels(labels), read_probabilities("reliability_curve", probabilities)
    check_same_length(actual, predicted, "probabilities")
    if not len(actual):
        raise MetricError("reliability_curve needs at least one example; got none")
    filled = fill_bins(actual, predicted, bins, strategy)
    n = np.where(filled.n > 0, filled.n, np.nan)
    return pd.DataFrame(
        {
            "low": filled.low,
            "high": filled.high,
            "n": filled.n,
            "mean_probability": filled.probability / n,
            "observed": filled.positives / n,
        }
    )


def _steps(caller: str, labels: npt.ArrayLike, scores: npt.ArrayLike, needed: tuple[str, ...]) -> ThresholdSteps:
    """Count the positive and negative examples at or above each distinct score.

    `needed` lists the classes, ``"positive"`` and ``"negative"``, that must have an example; a MetricError is raised
    for a class without examples.
    """
    actual, predicted = read_binary_labels(labels), read_predicted_scores(scores, "scores")
    check_same_length(actual, predicted, "scores")
    n_of = {"positive": int(actual.sum()), "negative": int((~actual).sum())}
    for kind in needed:
        if not n_of[kind]:
            raise MetricError(f"{caller} needs a {kind} example; got none among {len(actual)}")
    return count_steps(actual, predicted)
