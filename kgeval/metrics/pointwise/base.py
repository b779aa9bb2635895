"""What a pointwise metric is: one number of labels and predictions, example by example; and their registry."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy.typing as npt

from kgeval.errors import MetricError
from kgeval.metrics.base import Family, Metric, MetricValue


class PointMetric(Metric):
    """Base of the metrics of single predictions.

    A subclass says in `read` how labels and predictions are checked and in `measure` its formula.

    Attributes
    ----------
    needs : str
        What it takes as predictions. ``"decisions"``: bools, or numbers against a threshold; ``"scores"``:
        numbers, higher is more plausible; ``"probabilities"``: numbers in [0, 1]; ``"values"``: numbers in the
        unit of the labels.
    best : float
        The metric of perfect predictions. Where `higher_is_better` is None, both sides of it are worse.
    takes_groups : bool
        Whether each example belongs to a group, such as a user or a relation.
    """

    needs: ClassVar[str]
    best: ClassVar[float]
    takes_groups: ClassVar[bool] = False
    undefined_when: ClassVar[str] = "there is no example"
    # Examples are not ranked against each other: how equal predictions count is part of each formula.
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
        predictions : array of what `needs` says, shape (n,)
            Taken by position, not by the index of a Series.
        groups, weights
            Only for metrics that take groups.

        Raises
        ------
        DataError
            If labels are no labels, or the lengths differ.
        ScoreError
            If the predictions are not what the metric needs; names the first wrong one.
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
        """Return labels and predictions, checked, of one length."""
        raise TypeError(f"{type(self).__name__} does not say what it reads")

    def measure(self, labels: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> MetricValue:
        """Return the metric of at least one example, as `read` gave it."""
        raise TypeError(f"{type(self).__name__} does not say its formula")


POINTS: Family[PointMetric] = Family("pointwise metric", PointMetric)
