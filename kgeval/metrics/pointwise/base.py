"""The base class and the registry of pointwise metrics. A pointwise metric compares predictions with labels.

`kgeval.classification` and `kgeval.metrics.pointwise.by_field` call the metrics through this class.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy.typing as npt

from kgeval.base.checks import Bools, Ids
from kgeval.errors import MetricError
from kgeval.metrics.base import Family, Metric, MetricValue
from kgeval.stats.moments import Moments


class PointMetric(Metric):
    """Base of the metrics of single predictions.

    A subclass defines two methods: `read` checks labels and predictions, and `measure` computes the value.

    Attributes
    ----------
    needs : str
        The kind of predictions. ``"decisions"``: bools, or numbers that are compared with a threshold; ``"scores"``:
        numbers, higher is more plausible; ``"probabilities"``: numbers in [0, 1]; ``"values"``: numbers in the unit of
        the labels.
    best : float
        The value for perfect predictions. If `higher_is_better` is None, values below and above `best` are both worse.
    takes_groups : bool
        Whether the metric needs the group of each example, such as its user or its relation.
    is_of_means : bool
        Whether the metric is a function of means over examples. If not, `moments` returns a first-order approximation
        of the metric, which is not valid for permutation tests and for bootstraps.
    no_interval : str
        The reason why the metric has no confidence interval; empty if the metric has a confidence interval.
    min_of_class : int
        How many positives, and how many negatives, an interval needs.
    """

    needs: ClassVar[str]
    best: ClassVar[float]
    takes_groups: ClassVar[bool] = False
    is_of_means: ClassVar[bool] = True
    no_interval: ClassVar[str] = ""
    min_of_class: ClassVar[int] = 0
    undefined_when: ClassVar[str] = "there is no example"
    # Pointwise metrics have no tie policies: each formula defines how equal predictions count.
    tie_policies: ClassVar[tuple[str, ...]] = ()

    def compute(
        self,
        labels: npt.ArrayLike,
        predictions: npt.ArrayLike,
        groups: Sequence[Hashable] | npt.ArrayLike | None = None,
        weights: Mapping[Any, float] | None = None,
    ) -> MetricValue:
        """Return the metric over all examples.

        Parameters
        ----------
        labels : bools or 0/1 (real numbers if `needs` is ``"values"``), shape (n,)
        predictions : array of the kind given by the attribute `needs`, shape (n,)
            Prediction i belongs to label i; the index of a pandas Series is ignored.
        groups, weights
            Only for metrics whose attribute `takes_groups` is True, such as `GAUC`. `groups` contains the group of each
            example; `weights` maps each group to its weight.

        Raises
        ------
        DataError
            If a label is not of the kind described above, or if there are more or fewer labels than predictions.
        ScoreError
            If a prediction is not of the kind that the metric needs. The message names the first wrong prediction.
        MetricError
            If `groups` or `weights` are passed to a metric whose attribute `takes_groups` is False.
        """
        if groups is not None or weights is not None:
            raise MetricError(
                f"{self} takes no groups and no weights; kgeval.metrics.pointwise.by_field computes {self} per group"
            )
        actual, predicted = self.read(labels, predictions)
        return self.measure(actual, predicted) if len(actual) else MetricValue.undefined("no examples")

    def read(self, labels: npt.ArrayLike, predictions: npt.ArrayLike) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Check labels and predictions, and return them as two arrays of the same length."""
        raise TypeError(f"{type(self).__name__} does not define read(labels, predictions)")

    def measure(self, labels: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> MetricValue:
        """Return the value of the metric for labels and predictions that `read` returned; at least one example."""
        raise TypeError(f"{type(self).__name__} does not define measure(labels, predictions)")

    def moments(self, labels: Bools, predictions: npt.NDArray[Any], groups: Ids | None = None) -> Moments:
        """Return the metric of labelled examples as `Moments`, for intervals and tests.

        The numbers of positives and of negatives are fixed; see `kgeval.metrics.pointwise.sampling`.

        Parameters
        ----------
        labels : bool array, shape (n,)
            True for positive examples; n is at least 1.
        predictions : array, shape (n,)
            The predictions that `read` returned.
        groups : int64 array, shape (n,), optional
            The index of each example's group, at least 0; only for metrics whose attribute `takes_groups` is True.

        Raises
        ------
        MetricError
            If the metric is undefined for the examples, or if the variation of the metric cannot be estimated from the
            examples; the message gives the reason.
        """
        raise TypeError(f"{type(self).__name__} does not define moments(labels, predictions, groups)")


POINTS: Family[PointMetric] = Family("pointwise metric", PointMetric)
