"""The public function `by_field`, which computes a pointwise metric for each value of a field such as the relation."""

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
    """Compute a metric for each value of a field, for example PCOPC for each relation.

    A field is a property of the examples, such as the relation. For each value of the field, the metric is computed
    from the examples that have this value.

    Parameters
    ----------
    metric : str or PointMetric
        A pointwise metric that needs no groups, such as ``"pcopc"``.
    labels, predictions : arrays, shape (n,)
        As in the metric's `compute`.
    field : sequence of hashable values, length n
        The value of the field for each example, such as its relation. None and NaN are errors.

    Returns
    -------
    DataFrame
        Indexed by the values of the field. The columns are `n` (number of examples), `value` (the metric), and `reason`
        (why the metric is NaN, else an empty string). Rows with more examples come first; rows with equal `n` are in
        order of first appearance.

    Raises
    ------
    MetricError
        If the metric is unknown or needs groups.
    DataError, ScoreError
        As in the metric's `compute`; also if the length of `field` is not n, or if `field` has a missing value.

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
        raise MetricError(f"by_field takes metrics that need no groups, such as 'auc' or 'pcopc'; got '{chosen}'")
    actual, predicted = chosen.read(labels, predictions)
    codes, values = read_groups("field", field, len(actual))
    # sizes (values,): number of examples with each value of the field. parts: for each value, the indices of its
    # examples.
    sizes = np.bincount(codes, minlength=len(values))
    parts = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    measured = [chosen.measure(actual[part], predicted[part]) for part in parts[: len(values)]]
    columns = {
        "n": sizes.astype(np.int64),
        "value": np.array([result.value for result in measured], dtype=np.float64),
        "reason": [result.reason for result in measured],
    }
    frame = pd.DataFrame(columns, index=values.rename(getattr(field, "name", None) or "field"))
    return frame.iloc[np.argsort(-sizes, kind="stable")]
