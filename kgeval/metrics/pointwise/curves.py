"""ROC, precision-recall and reliability curves as tables, one row per point, ready to be drawn."""

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
from kgeval.metrics.pointwise.thresholds import Steps, count_steps


def roc_curve(labels: npt.ArrayLike, scores: npt.ArrayLike) -> pd.DataFrame:
    """Return the false and true positive rate at each threshold.

    Parameters
    ----------
    labels : bools or 0/1, shape (n,)
        Of both classes.
    scores : int or float array, shape (n,)
        Any real numbers, higher is more plausible.

    Returns
    -------
    DataFrame
        Columns `threshold`, `fpr`, `tpr`, and the counts `fp`, `tp` of negatives and positives with at least that
        score. First (0, 0) with threshold inf, where nothing is called positive, then one row per distinct score,
        falling. No point is left out, not even on a straight line, and straight lines between the rows give exactly
        the area `RocAuc`.

    Raises
    ------
    DataError, ScoreError
        As `RocAuc`.
    MetricError
        If there is no example of one class: one of the rates is 0 / 0, and a curve of NaN would be drawn as nothing.

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
    """Return recall and precision at each threshold.

    Parameters
    ----------
    labels : bools or 0/1, shape (n,)
        With at least one positive.
    scores : int or float array, shape (n,)
        Any real numbers, higher is more plausible.

    Returns
    -------
    DataFrame
        Columns `threshold`, `recall`, `precision`, `interpolated` (the highest precision at this recall or a higher
        one), and the counts `tp`, `fp` of positives and negatives with at least that score. One row per distinct
        score, falling; no point is added at recall 0, where precision is 0 / 0. To be drawn as steps: straight
        lines between the rows overstate the area, which is `AveragePrecision`.

    Raises
    ------
    DataError, ScoreError
        As `AveragePrecision`.
    MetricError
        If there is no positive example: recall is 0 / 0.

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
    from_here_on = np.maximum.accumulate(precision[::-1])[::-1]
    # Of the rows with one recall the first has the highest precision, so it stands for all of them.
    first = np.searchsorted(steps.tp, steps.tp)
    return pd.DataFrame(
        {
            "threshold": steps.threshold.astype(np.float64),
            "recall": steps.tp / steps.tp[-1],
            "precision": precision,
            "interpolated": from_here_on[first],
            "tp": steps.tp,
            "fp": steps.fp,
        }
    )


def reliability_curve(
    labels: npt.ArrayLike, probabilities: npt.ArrayLike, bins: int = 10, strategy: str = "width"
) -> pd.DataFrame:
    """Return mean probability and share of positives per bin; equal ones mean calibrated.

    Parameters
    ----------
    labels : bools or 0/1, shape (n,)
        One class alone is no obstacle.
    probabilities : float array, shape (n,)
        In [0, 1].
    bins : int
    strategy : str
        ``"width"`` or ``"mass"``, as in `ECE`.

    Returns
    -------
    DataFrame
        One row per bin, also where it is empty: `low`, `high`, `n`, `mean_probability`, `observed` (the share of
        positives). The last two are NaN where n is 0. A bin of equal mass is limited by its smallest and largest
        probability. ECE is the mean of |mean_probability - observed|, weighted by n.

    Raises
    ------
    DataError, ScoreError
        As `ECE`.
    MetricError
        If there is no example, or `bins` or `strategy` is wrong.

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


def _steps(what: str, labels: npt.ArrayLike, scores: npt.ArrayLike, needed: tuple[str, ...]) -> Steps:
    """Return the counts at each distinct score once there is an example of each needed class."""
    actual, predicted = read_binary_labels(labels), read_predicted_scores(scores, "scores")
    check_same_length(actual, predicted, "scores")
    n_of = {"positive": int(actual.sum()), "negative": int((~actual).sum())}
    for kind in needed:
        if not n_of[kind]:
            raise MetricError(f"{what} needs a {kind} example; got none among {len(actual)}")
    return count_steps(actual, predicted)
