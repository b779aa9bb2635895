"""Retrieval metrics on plain data: relevance and scores per query, labels in ranked order, or runs.

Three functions make ranked lists, every metric measures them, `tabulate` shows several:

>>> lists = from_scores([[1, 0], [0, 1, 0]], [[0.9, 0.8], [0.5, 0.5, 0.1]])
>>> MAP().compute(lists).value
0.875
>>> tabulate(lists, ["map", "precision@1"], ties="pessimistic").loc["macro"].to_dict()
{'map': 0.75, 'precision@1': 0.5}
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from kgeval.metrics.base import Metric, MetricValue, split_list
from kgeval.metrics.graded import DCG, ERR, NDCG
from kgeval.metrics.interpolated import InterpolatedAP, InterpolatedPrecision
from kgeval.metrics.list_curves import mean_pr_curve, pr_curves, roc_curves, running
from kgeval.metrics.list_inputs import from_ranking, from_run, from_scores
from kgeval.metrics.list_metric import LISTS, ListMetric, check_lists
from kgeval.metrics.lists import LIST_TIES, Lists
from kgeval.metrics.listwise import MAP, RR, FBeta, ListAuc, Precision, Recall, RPrecision, Success

__all__ = [
    "DCG",
    "ERR",
    "LISTS",
    "LIST_TIES",
    "MAP",
    "NDCG",
    "RR",
    "FBeta",
    "InterpolatedAP",
    "InterpolatedPrecision",
    "ListAuc",
    "ListMetric",
    "Lists",
    "Precision",
    "RPrecision",
    "Recall",
    "Success",
    "from_ranking",
    "from_run",
    "from_scores",
    "mean_pr_curve",
    "pr_curves",
    "roc_curves",
    "running",
    "tabulate",
]


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
        Indexed by query, one column per metric; NaN where a query has no value. ``attrs["excluded"]`` says
        how many queries each mean leaves out, ``attrs["reasons"]`` why a mean is undefined.

    Examples
    --------
    >>> tabulate(from_ranking([[0, 1], [0, 0]]), "map", average=None)["map"].tolist()
    [0.5, nan]
    """
    check_lists(lists)
    asked = split_list(metrics) if isinstance(metrics, str) else [metrics] if isinstance(metrics, Metric) else metrics
    parsed = [LISTS.parse(metric) for metric in asked]
    names = pd.Index(np.arange(len(lists)), name="query") if lists.names is None else lists.names
    columns = {str(metric): metric.per_query(lists, ties) for metric in parsed}
    frame = pd.DataFrame(columns, index=names)
    frame.attrs["reasons"] = {str(metric): said for metric in parsed if (said := metric.lacking(lists, ties))}
    if average is None:
        return frame
    means: dict[str, MetricValue] = {str(metric): metric.compute(lists, ties, average) for metric in parsed}
    rest = names.nlevels - 1
    label = pd.MultiIndex.from_tuples([(average, *[""] * rest)], names=names.names) if rest else pd.Index([average])
    last = pd.DataFrame({key: [mean.value] for key, mean in means.items()}, index=label)
    frame = pd.concat([frame, last]).rename_axis(index=[str(name) for name in names.names])
    frame.attrs["excluded"] = {key: mean.excluded for key, mean in means.items() if mean.excluded}
    frame.attrs["reasons"] = {key: mean.reason for key, mean in means.items() if mean.reason}
    return frame
