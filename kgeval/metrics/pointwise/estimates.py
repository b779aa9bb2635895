"""Metrics of estimated values: predictions and labels are real numbers in the same unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Bools, Ids, Reals
from kgeval.metrics.base import UNBOUNDED, MetricValue
from kgeval.metrics.pointwise.base import POINTS, PointMetric
from kgeval.metrics.pointwise.examples import check_same_length, read_values
from kgeval.metrics.pointwise.sampling import mean_of_losses
from kgeval.stats.moments import Moments

_WILLMOTT = "Willmott & Matsuura (2005), Advantages of the mean absolute error over the root mean square error"


class ValueMetric(PointMetric):
    """Base of the metrics of estimated values; labels and predictions are real numbers in the same unit."""

    needs: ClassVar[str] = "values"
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float]] = (0.0, UNBOUNDED)
    best: ClassVar[float] = 0.0

    def read(self, labels: npt.ArrayLike, predictions: npt.ArrayLike) -> tuple[Reals, Reals]:
        """Check labels and predictions, and return them as float64 arrays of finite numbers."""
        actual, predicted = read_values(self.name, labels, predictions)
        check_same_length(actual, predicted)
        return actual, predicted


@POINTS.register
@dataclass(frozen=True)
class RMSE(ValueMetric):
    """Root mean squared error: sqrt(mean of (prediction - label)^2).

    If all labels are 0 or 1, the predictions must be probabilities, and the value is the root of the Brier score.

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

    def moments(self, labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> Moments:
        """Return the root of the mean squared error; the labels are bools, the predictions probabilities."""
        return mean_of_losses(labels, np.square(predictions - labels), np.sqrt)


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

    def moments(self, labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> Moments:
        """Return the mean absolute error; the labels are bools, the predictions probabilities."""
        return mean_of_losses(labels, np.abs(predictions - labels))
