"""Clusters of classified examples that may depend on each other, and intervals of metrics over these clusters.

`ClassificationResult.interval` and `kgeval.compare_classifications` read their parameter ``cluster`` with
`ExampleClusters.of`; `ClassificationResult` calls `metric_interval`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, inf, nan
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, check_one_of
from kgeval.errors import MetricError
from kgeval.metrics.pointwise.base import PointMetric
from kgeval.results.clustering import given_labels, row_numbers
from kgeval.stats.clusters import Clusters
from kgeval.stats.intervals import macro_interval, robust_interval
from kgeval.stats.moments import Interval, Moments

POSITIVE = "positive"  # a kind of clusters, and the column of the table with the row of each example's positive
CLUSTERS = (POSITIVE, "example", "entity")
# Kind of clusters -> end of the sentence "intervals show how much a number would vary with ...".
PURPOSES = {
    POSITIVE: "other positives of this graph (a positive and the negatives made from it are sampled together)",
    "example": "other positives and negatives (each triple is sampled on its own)",
    "entity": "other entities (examples with the same subject, or with the same object, are sampled together)",
    "array": "other clusters like those of the given array",
}
CONDITIONAL = "thresholds and calibration are treated as fixed: the variation of their choice on valid is left out"
UNKNOWN_POSITIVES = "it is not known from which positive each negative was made"


@dataclass(frozen=True, eq=False)
class ExampleClusters:
    """The cluster labels of the rows of a table of classified examples.

    Parameters
    ----------
    by : str
        One of `CLUSTERS`, or ``"array"`` for labels that the user gave.
    labels : tuple of int64 arrays, shape (rows,)
        One array with one label per row; with ``"entity"`` two arrays, the subjects and the objects.
    is_assumed : bool
        Whether examples are assumed to be independent because it is not known which negatives belong to which positive.
    """

    by: str
    labels: tuple[Ids, ...]
    is_assumed: bool = False

    @classmethod
    def of(cls, table: pd.DataFrame, cluster: Any = None) -> ExampleClusters:
        """Return the labels of all rows of a table.

        Parameters
        ----------
        table : pandas.DataFrame
            The table of a `ClassificationResult`.
        cluster : str or array_like, shape (rows,), optional
            One of `CLUSTERS`, or one label per row. By default ``"positive"`` if the table has this column, else
            ``"example"``.

        Raises
        ------
        MetricError
            If `cluster` is an unknown word, an array with a wrong shape or with missing labels, or ``"positive"``
            although the table has no column ``positive``.

        Examples
        --------
        >>> table = pd.DataFrame({"s": [0, 1, 0], "p": [0, 0, 0], "o": [1, 2, 1]})
        >>> ExampleClusters.of(table)  # the first and the last example are the same triple
        ExampleClusters(by='example', labels=(array([0, 1, 0]),), is_assumed=True)
        """
        if cluster is None:
            is_known = POSITIVE in table
            return replace(cls.of(table, POSITIVE if is_known else "example"), is_assumed=not is_known)
        if not isinstance(cluster, str):
            return cls("array", (given_labels(table, cluster, CLUSTERS, "example"),))
        check_one_of("cluster", cluster, CLUSTERS, MetricError)
        if cluster == POSITIVE and POSITIVE not in table:
            raise MetricError(
                f"cluster='positive': {UNKNOWN_POSITIVES}; use cluster='example', or pass one label per row"
            )
        if cluster == POSITIVE:
            return cls(cluster, (table[POSITIVE].to_numpy(),))
        if cluster == "entity":
            return cls(cluster, (table["s"].to_numpy(), table["o"].to_numpy()))
        return cls(cluster, (row_numbers(*table[["s", "p", "o"]].to_numpy().T),))

    def among(self, parts: Sequence[Ids]) -> Clusters:
        """Return the clusters of the rows ``parts[0]``, ``parts[1]``, ..., joined in this order.

        Parameters
        ----------
        parts : sequence of int64 arrays
            Indices of rows.
        """
        rows = np.concatenate(parts) if len(parts) else np.zeros(0, dtype=np.int64)
        n, first = len(rows), self.labels[0][rows]
        return Clusters.of(first, n) if len(self.labels) == 1 else Clusters.crossed(first, self.labels[1][rows], n)

    @property
    def purpose(self) -> str:
        """The end of the sentence "intervals show how much a number would vary with ..."."""
        return PURPOSES[self.by] + (f"; {UNKNOWN_POSITIVES}" if self.is_assumed else "")


def interval_lines(clusters: ExampleClusters, confidence: float) -> list[str]:
    """Return two lines: the meaning of the intervals of a classification, and the variation that they leave out.

    Parameters
    ----------
    clusters : ExampleClusters
    confidence : float

    Examples
    --------
    >>> print(interval_lines(ExampleClusters("array", (np.arange(3),)), 0.95)[0])
    95% intervals show how much a number would vary with other clusters like those of the given array
    """
    return [f"{100 * confidence:g}% intervals show how much a number would vary with {clusters.purpose}", CONDITIONAL]


def metric_interval(
    metric: PointMetric,
    parts: Sequence[Moments],
    clusters: Clusters,
    confidence: float,
) -> Interval:
    """Return the interval of a metric, or of the mean of a metric over fixed groups of examples.

    The variance is the jackknife variance over clusters, as for metrics of ranks. For metrics that are not functions of
    means, the metric is replaced by a first-order approximation; for the AUC, the result is DeLong's variance. The
    limits are symmetric on a scale that suits the values of the metric:

    - shares and other functions of means, with values from 0 to 1: Wilson's limits;
    - the MCC, from -1 to 1: Wilson's limits of (MCC + 1) / 2;
    - AUC, AP and GAUC: symmetric in the log-odds; Wilson's limits if the value is 0 or 1;
    - log loss, RMSE, MAE and PCOPC, with values of at least 0: symmetric in the logarithm.

    Means over groups have Wilson's limits if the metric is bounded, else limits that are symmetric around the value.
    There are no limits if a group has fewer positives or negatives than the metric needs (`PointMetric.min_of_class`).

    Parameters
    ----------
    metric : PointMetric
    parts : sequence of Moments
        The metric of each group; one group if the metric is not averaged.
    clusters : Clusters
        The clusters of the examples of ``parts[0]``, ``parts[1]``, ..., joined in this order.
    confidence : float
        Nominal coverage.

    Returns
    -------
    Interval

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Comparing the Areas under Two or More Correlated Receiver Operating
    Characteristic Curves, Biometrics 44; Obuchowski (1997), Nonparametric analysis of clustered ROC curve data,
    Biometrics 53 (clusters); Boyd, Eng & Page (2013), Area under the Precision-Recall Curve: Point Estimates and
    Confidence Intervals, ECML PKDD (log-odds).

    Examples
    --------
    >>> from kgeval.metrics.pointwise import RocAuc
    >>> labels, scores = np.arange(40) < 20, np.arange(40) % 20 + 7.0 * (np.arange(40) < 20)
    >>> moments = RocAuc().moments(labels, scores)
    >>> print(metric_interval(RocAuc(), [moments], Clusters.of(np.arange(40), 40), 0.95))
    0.7887 [0.6117, 0.8985] (40 effective clusters)
    """
    lacking = _too_few_examples(metric, parts)
    if lacking:
        found = _estimate(parts, clusters, confidence)
        return replace(found, low=nan, high=nan, reason=found.reason or lacking)
    if metric.bounds == (-1.0, 1.0):
        return _of_halves(_estimate([_halved(part) for part in parts], clusters, confidence, (0.0, 1.0)))
    if len(parts) > 1 or (metric.bounds == (0.0, 1.0) and metric.is_of_means):
        return _estimate(parts, clusters, confidence, metric.bounds)
    plain = _estimate(parts, clusters, confidence)
    if metric.bounds == (0.0, 1.0):
        is_inside = not plain.reason and 0.0 < plain.value < 1.0
        return _on_scale(plain, "logit") if is_inside else _estimate(parts, clusters, confidence, (0.0, 1.0))
    return _on_scale(plain, "log") if not plain.reason and plain.value > 0.0 else plain


def _too_few_examples(metric: PointMetric, parts: Sequence[Moments]) -> str:
    """Return the reason why the smallest class of a group has too few examples for an interval; empty if none has."""
    if not metric.min_of_class:
        return ""
    # The last two columns of the moments of a metric of scores count the positives and the negatives (`of_classes`).
    n_positive, n_negative = min((part.values[:, -2:].sum(axis=0).tolist() for part in parts), key=min)
    if min(n_positive, n_negative) >= metric.min_of_class:
        return ""
    group = f"; the smallest of {len(parts)} groups" if len(parts) > 1 else ""
    return (
        f"an interval of {metric.title} needs at least {metric.min_of_class} positives and {metric.min_of_class} "
        f"negatives, got {n_positive:,.0f} and {n_negative:,.0f}{group}: a few high scores decide its value"
    )


def _estimate(
    parts: Sequence[Moments], clusters: Clusters, confidence: float, bounds: tuple[float, float] = (-inf, inf)
) -> Interval:
    """Return the interval of one statistic, or of the mean of several statistics."""
    if len(parts) == 1:
        return robust_interval(parts[0], clusters, confidence, bounds)
    return macro_interval(parts, clusters, confidence, bounds)


def _halved(moments: Moments) -> Moments:
    """Return the moments of (x + 1) / 2, which is from 0 to 1, for a statistic x from -1 to 1."""

    return replace(moments, finish=lambda means: np.asarray((moments.finish(means) + 1.0) / 2.0))


def _of_halves(interval: Interval) -> Interval:
    """Return the interval of a statistic x, given the interval of (x + 1) / 2; see `_halved`."""
    value, low, high = (2.0 * number - 1.0 for number in (interval.value, interval.low, interval.high))
    return replace(interval, value=value, low=low, high=high, error=2.0 * interval.error)


def _on_scale(plain: Interval, scale: str) -> Interval:
    """Return limits that are symmetric in the log-odds (`scale` "logit") or in the logarithm ("log") of the value.

    The distance from the value to a plain limit, which is t times the standard error, is converted to the scale: the
    distance is multiplied by the derivative of the log-odds, or of the logarithm, at the value.
    """
    value, reach = plain.value, plain.high - plain.value
    if scale == "log":
        factor = exp(min(reach / value, 700.0))  # exp(709) is the largest float64
        return replace(plain, low=value / factor, high=value * factor, method=scale)
    odds, factor = value / (1.0 - value), exp(min(reach / (value * (1.0 - value)), 300.0))
    low, high = (odds * change / (1.0 + odds * change) for change in (1.0 / factor, factor))
    return replace(plain, low=low, high=high, method=scale)
