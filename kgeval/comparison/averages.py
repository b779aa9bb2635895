"""Differences of micro, macro and weighted averages between two compared models, for `Comparison.averages`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, Reals
from kgeval.comparison.differences import ComparisonSettings, PairedObservations
from kgeval.comparison.groups import groups_by
from kgeval.comparison.rows import Pair, decided_rows
from kgeval.data.row_keys import group_rows
from kgeval.errors import MetricError
from kgeval.stats.macro_difference import compare_macro
from kgeval.stats.paired import Difference, compare_paired

if TYPE_CHECKING:  # these modules import this one
    from kgeval.comparison.comparison import Comparison


def average_table(
    comparison: Comparison, columns: Sequence[str], labels: Sequence[str], pair: tuple[int, int], weights: Reals | None
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
    pairs = []
    names = comparison.names[pair[0]], comparison.names[pair[1]]
    dataset = str(comparison.results[0].facts["dataset"])
    for label in labels:
        key = comparison.keys[label]
        sample: PairedObservations = comparison.sample(key)
        codes = _codes(comparison, columns, sample, pair)
        for average in ("micro", "macro", *(["weighted"] if weights is not None else [])):
            more: dict[str, Any] = {"average": average, "n": len(sample)}
            found, values, reason = None, (np.nan, np.nan), ""
            try:
                if average == "macro":
                    found, values, more["n"] = _macro(sample, pair, codes)
                else:
                    row_weights = None if average == "micro" or weights is None else weights[sample.rows[0]]
                    found, values = _mean(sample, comparison.terms, pair, row_weights)
            except MetricError as error:
                reason, more["n_clusters"] = str(error), sample.clusters.count
            scale = key.higher_is_better, key.bounds
            pairs.append(Pair(dataset, label, names, values, found, *scale, reason=reason, more=more))
    rows = decided_rows(pairs, comparison.alpha, ("average",), has_order=True)
    return rows[["average", *rows.columns.drop("average")]]


def _mean(
    sample: PairedObservations, terms: ComparisonSettings, pair: tuple[int, int], weights: Reals | None
) -> tuple[Difference, tuple[float, float]]:
    """Return the difference over all observations, and both values; `weights`, shape (ranks,), weigh the ranks."""
    if weights is None:
        moments = [sample.moments(i) for i in pair]
    else:
        moments = [sample.results[i].rank_table.moments(sample.key, sample.rows[i], weights=weights) for i in pair]
    one, other = ([part] for part in moments)
    resampling: dict[str, Any] = {"n_resamples": terms.n_resamples, "seed": terms.seed}
    (found,) = compare_paired(one, other, sample.clusters, largest_level=terms.alpha, **resampling)
    return found, (float(moments[0].number), float(moments[1].number))


def _codes(comparison: Comparison, columns: Sequence[str], sample: PairedObservations, pair: tuple[int, int]) -> Ids:
    """Return the group of each rank of a sample: ranks of one group have the same label in all columns."""
    codes = [groups_by(comparison, column, sample.rows, pair)[0] for column in columns]
    return np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].reshape(len(sample.rows[0]))


def _macro(
    sample: PairedObservations, pair: tuple[int, int], codes: Ids
) -> tuple[Difference, tuple[float, float], int]:
    """Return the difference of macro averages, both values, and the number of groups.

    `codes`, shape (ranks,), are the groups of the ranks.
    """
    order, starts = group_rows(sample.groups_of(codes))
    rows_by_group = np.split(order, starts[1:-1])
    parts = []
    for i in pair:
        whole = sample.moments(i)
        parts.append([sample.part(i, whole, rows) for rows in rows_by_group])
    found = compare_macro(parts[0], parts[1], sample.clusters.take(order))
    one, other = (float(np.mean([float(part.number) for part in of_model])) for of_model in parts)
    return found, (one, other), len(rows_by_group)
