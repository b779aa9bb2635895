"""The base class of pointwise metrics, which turn labels and predictions of examples into one number; the registry.

`kgeval.classification` and `kgeval.metrics.pointwise.by_field` call the metrics through this class.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy.typing as npt

from kgeval.errors import MetricError
from kgeval.metrics.base import Family, Metric, MetricValue


class PointMetric(Metric):
    """Base of the metrics of single predictions.

    A subclass defines `read`, which checks labels and predictions, and `measure`, the formula.

    Attributes
    ----------
    needs : str
        The kind of predictions. ``"decisions"``: bools, or numbers that are compared with a threshold; ``"scores"``:
        numbers, higher is more plausible; ``"probabilities"``: numbers in [0, 1]; ``"values"``: numbers in the unit of
        the labels.
    best : float
        The metric of perfect predictions. If `higher_is_better` is None, values on both sides of it are worse.
    takes_groups : bool
        Whether the metric needs a group, such as a user or a relation, of each example.
    """

    needs: ClassVar[str]
    best: ClassVar[float]
    takes_groups: ClassVar[bool] = False
    undefined_when: ClassVar[str] = "there is no example"
    # There is no tie policy: each formula defines how equal predictions count.
    tie_policies: ClassVar[tuple[str, ...]] = ()

    def compute(
        self,
        labels: npt.ArrayLike,
        predictions: npt.ArrayLike,
        groups: Sequence[Hashable] | npt.ArrayLike | None = None,
        weights: Mapping[Any, float] | None = None,
    ) -> MetricValue:
        """Return the metric of these examples.

        Parameters
        ----------
        labels : bools or 0/1 (real numbers where `needs` is ``"values"``), shape (n,)
        predictions : array of the kind that `needs` names, shape (n,)
            Matched with the labels by position; the index of a Series is ignored.
        groups, weights
            Only for metrics that take groups; see there.

        Raises
        ------
        DataError
            If a label is wrong, or the lengths differ.
        ScoreError
            If the predictions are not of the kind that the metric needs; names the first wrong one.
        MetricError
            If groups or weights are given to a metric that takes none.
        """
        if groups is not None or weights is not None:
            raise MetricError(
                f"{self} takes no groups and no weights; kgeval.metrics.pointwise.by_field gives it per group"
            )
        actual, predicted = self.read(labels, predictions)
        return self.measure(actual, predicted) if len(actual) else MetricValue.undefined("no examples")

    def read(self, labels: npt.ArrayLike, predictions: npt.ArrayLike) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return checked labels and predictions of the same length."""
        raise TypeError(f"{type(self).__name__} does not define read(labels, predictions)")

    def measure(self, labels: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> MetricValue:
        """Return the metric of labels and predictions that `read` returned, at least one of each."""
        raise TypeError(f"{type(self).__name__} does not define measure(labels, predictions)")


POINTS: Family[PointMetric] = Family("pointwise metric", PointMetric)
