"""Parsing of keys such as ``macro.f1``; `ClassificationResult` and `kgeval.compare_classifications` call it."""

from __future__ import annotations

from collections.abc import Sequence

from kgeval.errors import MetricError
from kgeval.metrics.base import Metric, split_list
from kgeval.metrics.pointwise.base import POINTS, PointMetric
from kgeval.metrics.pointwise.decisions import DecisionMetric
from kgeval.metrics.pointwise.examples import DEFAULT_THRESHOLD
from kgeval.metrics.retrieval.base import AVERAGES


def split_average(key: str | Metric) -> tuple[str, PointMetric]:
    """Return the average, ``"micro"`` or ``"macro"``, and the metric that `key` names.

    Parameters
    ----------
    key : str or Metric
        As in `ClassificationResult.value`.

    Raises
    ------
    MetricError
        If the key is not valid, or the metric has its own threshold.

    Examples
    --------
    >>> average, metric = split_average("macro.f1")
    >>> average, str(metric)
    ('macro', 'f1')
    """
    average = "micro"
    if isinstance(key, str) and key.strip().lower().startswith(tuple(f"{name}." for name in AVERAGES)):
        average, _, key = key.strip().lower().partition(".")
    return average, _parse_point(key)


def _parse_point(key: str | Metric) -> PointMetric:
    """Return the metric that `key` names; raise a MetricError if the metric has its own threshold."""
    metric = POINTS.parse(key)
    has_threshold = isinstance(key, str) and "threshold" in key.lower()
    if isinstance(metric, DecisionMetric) and (has_threshold or metric.threshold != DEFAULT_THRESHOLD):
        raise MetricError(
            f"{metric} has its own threshold, but triples are classified by the thresholds chosen on validation; "
            f"use {metric.name!r}"
        )
    return metric


def parse_points(metrics: Sequence[str | Metric] | str) -> list[PointMetric]:
    """Return the metrics that `metrics` names; a metric with its own threshold is an error.

    Parameters
    ----------
    metrics : sequence of str or Metric, or one string with commas

    Returns
    -------
    list of PointMetric

    Raises
    ------
    MetricError
        If `metrics` is empty, or a metric is unknown or has its own threshold.
    """
    specs = split_list(metrics)
    if not specs:
        raise MetricError("metrics is empty; name at least one, such as 'accuracy,f1'")
    return [_parse_point(metric) for metric in specs]
