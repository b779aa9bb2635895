"""Tables of list metrics per query, with the reasons for missing values.

Users call `tabulate`; `kgeval.trec` calls `query_reasons`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgeval.metrics.base import Metric, split_list
from kgeval.metrics.metric_frames import REASON, Cell, join_reasons, metric_frame
from kgeval.metrics.retrieval.base import LISTS, ListMetric, check_lists
from kgeval.metrics.retrieval.lists import RankedLists


def tabulate(
    lists: RankedLists,
    metrics: Sequence[str | ListMetric] | str | ListMetric,
    ties: str = "expected",
    average: str | None = "macro",
) -> pd.DataFrame:
    """Return a table of metrics per query, with the average over the queries in the last row.

    Parameters
    ----------
    lists : RankedLists
    metrics : sequence of str or ListMetric, or a single ListMetric, or one string with commas
        For example ``"map,ndcg@10,err(g_max=3)@20"``.
    ties : str
        ``"expected"``, ``"optimistic"``, ``"pessimistic"`` or ``"stable"``.
    average : str or None
        The average in the last row: ``"macro"``, ``"micro"``, or None for a table without an average.

    Returns
    -------
    pandas.DataFrame
        Indexed by query, with one column per metric; NaN where a query has no value. The last column, ``reason``, tells
        why values are NaN. In the row of the average, ``reason`` also contains the number of queries that each
        average leaves out.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> tabulate(from_ranking([[0, 1], [0, 0]]), "map", average=None)["map"].tolist()
    [0.5, nan]
    """
    check_lists(lists)
    specs = split_list([metrics] if isinstance(metrics, Metric) else metrics)
    parsed = {str(metric): metric for metric in map(LISTS.parse, specs)}
    names = pd.Index(np.arange(len(lists)), name="query") if lists.names is None else lists.names
    frame = pd.DataFrame({key: metric.per_query(lists, ties) for key, metric in parsed.items()}, index=names)
    reasons = {key: metric.lacking(lists, ties) or metric.undefined_when for key, metric in parsed.items()}
    frame[REASON] = query_reasons(frame, reasons)
    if average is None:
        return frame
    means = {key: metric.compute(lists, ties, average) for key, metric in parsed.items()}
    # The label of the last row: the name of the average, and empty labels in all further levels of the index.
    n_further = names.nlevels - 1
    label = (
        pd.MultiIndex.from_tuples([(average, *[""] * n_further)], names=names.names)
        if n_further
        else pd.Index([average])
    )
    last = metric_frame(label, [{key: Cell.of(mean) for key, mean in means.items()}], means)
    left_out = [
        f"{key} leaves out {mean.excluded} queries" for key, mean in means.items() if mean.excluded and not mean.reason
    ]
    last[REASON] = "; ".join(filter(None, [*last[REASON], *left_out]))
    return pd.concat([frame, last]).rename_axis(index=[str(name) for name in names.names])


def query_reasons(frame: pd.DataFrame, said: Mapping[str, str]) -> pd.Series[Any]:
    """Return one text per query: the reasons why values of the query are NaN; empty if no value is NaN.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per query, one column per metric.
    said : mapping of str to str
        For each column, the reason why a value in this column is NaN.

    Returns
    -------
    pandas.Series
        Texts, with the index of `frame`.
    """
    # A pattern tells which metrics of a query are NaN. patterns, shape (patterns, metrics): the distinct patterns.
    # pattern_of, shape (queries,): the index of each query's pattern. Each pattern has one text, which is built once.
    patterns, pattern_of = np.unique(frame[list(said)].isna().to_numpy(), axis=0, return_inverse=True)
    texts = [
        join_reasons({key: Cell(np.nan, reason=said[key]) for key, is_nan in zip(said, row) if is_nan})
        for row in patterns
    ]
    return pd.Series(np.array(texts, dtype=object)[pattern_of.ravel()], index=frame.index, dtype=object)
