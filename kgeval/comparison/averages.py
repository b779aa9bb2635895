"""Differences of micro, macro and weighted averages between two compared models, for `Comparison.averages`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgeval.checks import Ids, Reals, check_largest_weight
from kgeval.comparison.differences import Sample, better_models
from kgeval.comparison.groups import groups_by
from kgeval.data import group_rows
from kgeval.errors import MetricError
from kgeval.metrics import RankMetric
from kgeval.results import Key, check_row_index
from kgeval.stats import Difference, compare_macro, compare_paired, holm

AVERAGE_COLUMNS = (
    "average", "metric", "first", "second", "value_first", "value_second", "difference", "low", "high", "p", "p_holm",
    "better", "n", "n_clusters", "n_effective", "test", "reason",
)  # fmt: skip
_NUMBERS = ("value_first", "value_second", "difference", "low", "high", "p", "p_holm", "n_effective")


def average_table(
    comparison: Any, columns: Sequence[str], labels: Sequence[str], pair: tuple[int, int], weights: Reals | None
) -> pd.DataFrame:
    """Return the table of `Comparison.averages`.

    Parameters
    ----------
    comparison : Comparison
    columns : sequence of str
        The columns to group by; a group has the same label in all of them.
    labels : sequence of str
        Texts of the keys of compared metrics.
    pair : tuple of int
        The indices of two models.
    weights : float64 array, shape (rows of the first result,), optional
    """
    records = []
    for label in labels:
        key = comparison.keys[label]
        sample: Sample = comparison.sample(key)
        codes = _codes(comparison, columns, sample, pair)
        for average in ("micro", "macro", *(["weighted"] if weights is not None else [])):
            record: dict[str, Any] = {"average": average, "metric": label, "reason": "", "test": ""}
            record |= {"first": comparison.names[pair[0]], "second": comparison.names[pair[1]]}
            record |= {"n": len(sample), "n_clusters": sample.clusters.count}
            try:
                if average == "macro":
                    record |= _macro(comparison, key, sample, pair, codes)
                else:
                    row_weights = None if average == "micro" or weights is None else weights[sample.rows[0]]
                    record |= _mean(comparison, key, sample, pair, row_weights)
            except MetricError as error:
                record["reason"] = str(error)
            records.append(record)
    frame = pd.DataFrame(records, columns=list(AVERAGE_COLUMNS)).astype(dict.fromkeys(_NUMBERS, np.float64))
    frame["p_holm"] = holm(frame["p"].to_numpy())
    return frame.assign(better=better_models(frame, comparison.keys, comparison.alpha))


def checked_weights(comparison: Any, weights: Any) -> Reals:
    """Return weights as an array; raise a MetricError unless there is one valid weight per row of the first result.

    Parameters
    ----------
    comparison : Comparison
    weights : array_like, shape (rows of the first result,)
    """
    table = comparison.results[0].table
    check_row_index("weights", weights, table.index, MetricError)
    if isinstance(weights, np.ma.MaskedArray):
        raise MetricError("weights must not be a masked array; fill it, such as with weights.filled(0)")
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (len(table),) or not np.isfinite(array).all() or (array < 0).any():
        raise MetricError(
            f"weights must be finite and at least 0, one for each of the {len(table)} rows of the table of "
            f"{comparison.names[0]}; got shape {array.shape}, values from {array.min(initial=np.inf):g} to "
            f"{array.max(initial=-np.inf):g}"
        )
    return array


def _mean(comparison: Any, key: Key, sample: Sample, pair: tuple[int, int], weights: Reals | None) -> dict[str, Any]:
    """Return the columns of the difference over all observations; `weights`, shape (ranks,), weigh the ranks."""
    terms, results = comparison.terms, comparison.results
    if weights is None:
        moments = [sample.moments(results[i], i, key) for i in pair]
    else:
        metric = key.metric
        if not isinstance(metric, RankMetric):
            raise MetricError(f"query-level metrics cannot be weighted; got {metric}")
        if metric.has_moments and not metric.is_weightable(key.ties):
            raise MetricError(f"{metric} under {key.ties} ties has no weighted form: it depends on the number of ranks")
        if not weights.any():
            raise MetricError(f"the weights of all {len(weights)} ranks of {str(key)!r} are 0")
        check_largest_weight(float(weights.max()))
        moments = [results[i].rank_table.moments(key, sample.rows[i], weights=weights) for i in pair]
    difference = compare_paired(
        [moments[0]],
        [moments[1]],
        sample.clusters,
        confidence=terms.confidence,
        n_resamples=terms.n_resamples,
        seed=terms.seed,
    )[0]
    return _columns(difference, key, [float(part.number) for part in moments])


def _codes(comparison: Any, columns: Sequence[str], sample: Sample, pair: tuple[int, int]) -> Ids:
    """Return the group of each rank of a sample: ranks of one group have the same label in all columns."""
    codes = [groups_by(comparison, column, sample.rows, pair)[0] for column in columns]
    return np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].reshape(len(sample.rows[0]))


def _macro(comparison: Any, key: Key, sample: Sample, pair: tuple[int, int], codes: Ids) -> dict[str, Any]:
    """Return the columns of the difference of macro averages; `codes`, shape (ranks,), are the groups of the ranks."""
    order, starts = group_rows(sample.groups_of(codes))
    rows_by_group = np.split(order, starts[1:-1])
    parts = []
    for i in pair:
        whole = sample.moments(comparison.results[i], i, key)
        parts.append([sample.part(comparison.results[i], i, key, whole, rows) for rows in rows_by_group])
    clusters = sample.clusters.take(order)
    difference = compare_macro(parts[0], parts[1], clusters, confidence=comparison.terms.confidence)
    values = [float(np.mean([float(part.number) for part in of_model])) for of_model in parts]
    return _columns(difference, key, values) | {"n": len(rows_by_group)}


def _columns(difference: Difference, key: Key, values: Sequence[float]) -> dict[str, Any]:
    """Return the columns of one row that come from the interval and the test."""
    lowest, highest = key.bounds
    low, high = np.clip([difference.low, difference.high], lowest - highest, highest - lowest).tolist()
    return {
        "value_first": values[0],
        "value_second": values[1],
        "difference": difference.value,
        "low": low,
        "high": high,
        "p": difference.p_value,
        "n_effective": difference.n_effective,
        "test": "swaps" if difference.n_resamples else "t",
        "reason": difference.reason if np.isnan(low) else "",
    }
