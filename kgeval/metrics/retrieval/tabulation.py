"""Tables of list metrics per query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kgeval.metrics.base import Metric, split_list
from kgeval.metrics.metric_frames import REASON, Cell, join_reasons, metric_frame
from kgeval.metrics.retrieval.base import LISTS, ListMetric, check_lists
from kgeval.metrics.retrieval.lists import Lists


def tabulate(
    lists: Lists,
    metrics: Sequence[str | ListMetric] | str | ListMetric,
    ties: str = "expected",
    average: str | None = "macro",
) -> pd.DataFrame:
    """Tabulate metrics per query, with their mean in the last row.

    Parameters
    ----------
    lists : Lists
    metrics : sequence of str or ListMetric, or one of them, or one string with commas
        For example ``"map,ndcg@10,err(g_max=3)@20"``.
    ties : str
        ``"expected"``, ``"optimistic"``, ``"pessimistic"`` or ``"stable"``.
    average : str or None
        ``"macro"``, ``"micro"``, or None for no last row.

    Returns
    -------
    pandas.DataFrame
        Indexed by query, one column per metric; NaN where a query has no value. The last column, ``reason``, says why;
        in the last row also how many queries a mean leaves out.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> tabulate(from_ranking([[0, 1], [0, 0]]), "map", average=None)["map"].tolist()
    [0.5, nan]
    """
    check_lists(lists)
    asked = split_list(metrics) if isinstance(metrics, str) else [metrics] if isinstance(metrics, Metric) else metrics
    parsed = {str(metric): metric for metric in map(LISTS.parse, asked)}
    names = pd.Index(np.arange(len(lists)), name="query") if lists.names is None else lists.names
    frame = pd.DataFrame({key: metric.per_query(lists, ties) for key, metric in parsed.items()}, index=names)
    said = {key: metric.lacking(lists, ties) or metric.undefined_when for key, metric in parsed.items()}
    frame[REASON] = query_reasons(frame, said)
    if average is None:
        return frame
    means = {key: metric.compute(lists, ties, average) for key, metric in parsed.items()}
    rest = names.nlevels - 1
    label = pd.MultiIndex.from_tuples([(average, *[""] * rest)], names=names.names) if rest else pd.Index([average])
    last = metric_frame(label, [{key: Cell.of(mean) for key, mean in means.items()}], means)
    left_out = [
        f"{key} leaves out {mean.excluded} queries" for key, mean in means.items() if mean.excluded and not mean.reason
    ]
    last[REASON] = "; ".join(filter(None, [*last[REASON], *left_out]))
    return pd.concat([frame, last]).rename_axis(index=[str(name) for name in names.names])


def query_reasons(frame: pd.DataFrame, said: Mapping[str, str]) -> pd.Series[Any]:
    """Return why values of queries are NaN, one text per row, empty where none is.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per query.
    said : mapping of str to str
        Why a column of the frame is NaN, where it is.
    """
    lacks, which = np.unique(frame[list(said)].isna().to_numpy(), axis=0, return_inverse=True)
    texts = [
        join_reasons({key: Cell(np.nan, reason=said[key]) for key, is_nan in zip(said, row) if is_nan}) for row in lacks
    ]
    return pd.Series(np.array(texts, dtype=object)[which.ravel()], index=frame.index, dtype=object)
