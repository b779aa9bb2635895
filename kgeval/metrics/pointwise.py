"""Metrics of single predictions: all of them, and any of them per relation or other field.

The metrics live by what they need: `decisions`, `separation` (scores), `probabilities`, and here values.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.errors import MetricError
from kgeval.metrics.base import UNBOUNDED, MetricValue, Reals
from kgeval.metrics.decisions import (
    MCC,
    Accuracy,
    BalancedAccuracy,
    FBeta,
    Precision,
    Recall,
    Specificity,
    confusion,
)
from kgeval.metrics.examples import check_same_length, read_groups, read_values
from kgeval.metrics.point_metric import POINTS, PointMetric
from kgeval.metrics.probabilities import ECE, PCOPC, Brier, FieldECE, LogLoss
from kgeval.metrics.separation import GAUC, AveragePrecision, RocAuc

__all__ = [
    "ECE",
    "GAUC",
    "MAE",
    "MCC",
    "PCOPC",
    "POINTS",
    "RMSE",
    "Accuracy",
    "AveragePrecision",
    "BalancedAccuracy",
    "Brier",
    "FBeta",
    "FieldECE",
    "LogLoss",
    "PointMetric",
    "Precision",
    "Recall",
    "RocAuc",
    "Specificity",
    "by_field",
    "confusion",
]

_WILLMOTT = "Willmott & Matsuura (2005), Advantages of the mean absolute error over the root mean square error"


class ValueMetric(PointMetric):
    """Base of the metrics of estimated values, in the unit of the labels; computed in float64."""

    needs: ClassVar[str] = "values"
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float]] = (0.0, UNBOUNDED)
    best: ClassVar[float] = 0.0

    def read(self, labels: npt.ArrayLike, predictions: npt.ArrayLike) -> tuple[Reals, Reals]:
        """Return labels and predictions as finite numbers."""
        actual, predicted = read_values(self.name, labels, predictions)
        check_same_length(actual, predicted)
        return actual, predicted


@POINTS.register
@dataclass(frozen=True)
class RMSE(ValueMetric):
    """Root of the mean squared error: sqrt(mean of (prediction - label)^2).

    Of labels 0/1 it is the root of the Brier score and needs probabilities.

    References
    ----------
    Willmott & Matsuura (2005), Advantages of the mean absolute error over the root mean square error.

    Examples
    --------
    >>> RMSE().compute([1.0, 2.0], [2.0, 9.0]).value  # sqrt((1 + 49) / 2)
    5.0
    """

    name: ClassVar[str] = "rmse"
    title: ClassVar[str] = "RMSE"
    reference: ClassVar[str] = _WILLMOTT

    def measure(self, labels: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> MetricValue:
        """Return the root of the mean squared error."""
        return MetricValue(float(np.sqrt(np.square(predictions - labels).mean())))


@POINTS.register
@dataclass(frozen=True)
class MAE(ValueMetric):
    """Mean absolute error: mean of |prediction - label|.

    References
    ----------
    Willmott & Matsuura (2005), Advantages of the mean absolute error over the root mean square error.

    Examples
    --------
    >>> MAE().compute([1.0, 2.0], [2.0, 9.0]).value
    4.0
    """

    name: ClassVar[str] = "mae"
    title: ClassVar[str] = "MAE"
    reference: ClassVar[str] = _WILLMOTT

    def measure(self, labels: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> MetricValue:
        """Return the mean absolute error."""
        return MetricValue(float(np.abs(predictions - labels).mean()))


def by_field(
    metric: str | PointMetric,
    labels: npt.ArrayLike,
    predictions: npt.ArrayLike,
    field: Sequence[Hashable] | npt.ArrayLike,
) -> pd.DataFrame:
    """Return a metric for each value of a field, for example PCOPC by relation.

    Parameters
    ----------
    metric : str or PointMetric
        Any that takes no groups of its own.
    labels, predictions : arrays, shape (n,)
        As the metric takes them.
    field : sequence of hashable values, length n
        None and NaN are refused.

    Returns
    -------
    DataFrame
        One row per value of the field: `n` examples, `value`, and the `reason` where that is NaN. Most examples
        first; equally many in order of first appearance.

    Raises
    ------
    MetricError
        If the metric is unknown or takes groups itself.
    DataError, ScoreError
        As the metric, and if `field` has another length or misses a value.

    References
    ----------
    Pan et al. (2020), Field-aware Calibration: A Simple and Empirically Strong Method for Reliable Probabilistic
    Predictions, WWW.

    Examples
    --------
    >>> labels, p, relations = [1, 0, 0, 1, 0], [0.5, 0.25, 0.5, 0.5, 0.5], ["likes", "owns", "owns", "likes", "likes"]
    >>> by_field("pcopc", labels, p, relations)  # doctest: +NORMALIZE_WHITESPACE
           n  value                                          reason
    field
    likes  3   0.75
    owns   2    NaN  no positive example: the sum of the labels is 0
    """
    chosen = POINTS.parse(metric)
    if chosen.takes_groups:
        raise MetricError(
            f"by_field takes metrics without groups of their own, such as 'auc' or 'pcopc'; got '{chosen}'"
        )
    actual, predicted = chosen.read(labels, predictions)
    codes, values = read_groups("field", field, len(actual))
    sizes = np.bincount(codes, minlength=len(values))
    parts = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    found = [chosen.measure(actual[part], predicted[part]) for part in parts[: len(values)]]
    columns = {
        "n": sizes.astype(np.int64),
        "value": np.array([one.value for one in found], dtype=np.float64),
        "reason": [one.reason for one in found],
    }
    frame = pd.DataFrame(columns, index=values.rename(getattr(field, "name", None) or "field"))
    return frame.iloc[np.argsort(-sizes, kind="stable")]
