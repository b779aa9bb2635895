"""The group of each compared rank by a column; `Comparison.by`, `Comparison.averages` and `Benchmark.by` use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids
from kgeval.errors import DataError, MetricError
from kgeval.features.columns import FEATURES
from kgeval.results.evaluation_result import BREAKDOWNS, EvaluationResult, group_column, rank_groups
from kgeval.results.times import split_period


class Groups(NamedTuple):
    """The group of each rank or observation: an index into the labels of the groups, which may have an order."""

    column: str
    codes: Ids
    labels: list[str]
    is_ordered: bool


def groups_by(
    results: Sequence[EvaluationResult], names: Sequence[str], column: str, rows: Sequence[Ids], pair: tuple[int, int]
) -> Groups:
    """Return the group of each compared rank.

    The column is taken from the results of the `pair` that have the column, else from another result. If no result has
    the column, it is computed from the dataset of the first result whose dataset is in memory.

    Parameters
    ----------
    results : sequence of EvaluationResult
    names : sequence of str
        The names of the results.
    column : str
    rows : sequence of int64 arrays, shape (ranks,)
        One array per result: the indices of the compared ranks in its table.
    pair : tuple of int
        The indices of two results.

    Returns
    -------
    Groups
        With ``codes`` of shape (ranks,).

    Raises
    ------
    MetricError
        If no result has the column, or the two models have different values in it.
    DataError
        If the column is a feature that no result has, and no result has its dataset in memory.
    """
    order = [*pair, *(k for k in range(len(results)) if k not in pair)]
    holders = {k: results[k] for k in order if {column, split_period(column)[0]} & {*results[k].columns.columns}}
    if column in BREAKDOWNS or (not holders and column not in FEATURES):
        holders = {order[0]: results[order[0]]}  # `rank_groups` raises the error that lists the columns
    elif not holders:
        holders = _with_feature(results, column, order)
    chosen = [k for k in holders if k in pair] or list(holders)[:1]
    codes, labels = [], []
    for k in chosen:
        of_row: Ids = np.zeros(len(holders[k].table), dtype=np.int64)
        groups = rank_groups(holders[k], [column], np.arange(len(holders[k].table)))
        for code, (_, rows_of_group) in enumerate(groups):
            of_row[rows_of_group] = code
        codes.append(of_row[rows[k]])
        labels.append([label for (label,), _ in groups])
    if len(chosen) > 1:
        texts = [np.array(of_result, dtype=object)[of_rank] for of_result, of_rank in zip(labels, codes)]
        is_different = texts[0] != texts[1]
        if is_different.any():
            values = " and ".join(f"{text[is_different][0]!r} in {names[k]}" for text, k in zip(texts, chosen))
            raise MetricError(
                f"the column {column!r} differs between the results for {int(is_different.sum()):,} ranks (for the "
                f"first of them: {values}); compute the column for both results from the same dataset"
            )
    values = group_column(holders[chosen[0]], column)
    is_ordered = isinstance(values, pd.Categorical) and bool(values.ordered)
    return Groups(column, codes[0], labels[0], is_ordered)


def _with_feature(
    results: Sequence[EvaluationResult], column: str, order: Sequence[int]
) -> dict[int, EvaluationResult]:
    """Return the index of the first result in `order` that has its dataset in memory, and the result with a column.

    Raises a DataError if no result has its dataset in memory.
    """
    for k in order[:-1]:
        try:
            return {k: results[k].with_features(features=[column])}
        except DataError:  # noqa: PERF203  (no dataset in memory)
            continue
    return {order[-1]: results[order[-1]].with_features(features=[column])}
