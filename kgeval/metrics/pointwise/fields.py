"""A pointwise metric for each value of a field, such as the relation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.errors import MetricError
from kgeval.metrics.pointwise.base import POINTS, PointMetric
from kgeval.metrics.pointwise.examples import read_groups


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
