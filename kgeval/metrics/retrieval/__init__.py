"""Retrieval metrics: metrics of ranked lists in which any number of items are relevant.

`from_scores`, `from_ranking` and `from_run` make ranked lists from plain data. The method `compute` of a metric returns
its value for these lists; `tabulate` returns a table with one row per query and one column per metric; `steps` shows
how much each position of one ranked list adds to the value of a metric.
`kgeval.metrics.query_level` uses the metrics for the queries of a result.

>>> lists = from_scores([[1, 0], [0, 1, 0]], [[0.9, 0.8], [0.5, 0.5, 0.1]])
>>> MAP().compute(lists).value
0.875
>>> tabulate(lists, ["map", "precision@1"], ties="pessimistic").loc["macro"].to_dict()
{'map': 0.75, 'precision@1': 0.5, 'reason': ''}
"""

from kgeval.discovery import import_modules
from kgeval.metrics.retrieval.base import AVERAGES, LISTS, ListMetric, check_lists
from kgeval.metrics.retrieval.curves import mean_pr_curve, pr_curves, roc_curves, running
from kgeval.metrics.retrieval.graded import DCG, ERR, NDCG
from kgeval.metrics.retrieval.inputs import from_ranking, from_run, from_scores
from kgeval.metrics.retrieval.interpolated import HitCounts, InterpolatedAP, InterpolatedPrecision
from kgeval.metrics.retrieval.lists import INFINITY, LIST_TIES, RankedLists
from kgeval.metrics.retrieval.listwise import MAP, RR, FBeta, ListAuc, Precision, Recall, RPrecision, Success
from kgeval.metrics.retrieval.positions import expected_hits
from kgeval.metrics.retrieval.stepwise import Steps, steps
from kgeval.metrics.retrieval.tabulation import query_reasons, tabulate

import_modules(__name__, __path__)  # imports all modules of this folder; each registers its metrics

__all__ = [
    "AVERAGES",
    "DCG",
    "ERR",
    "INFINITY",
    "LISTS",
    "LIST_TIES",
    "MAP",
    "NDCG",
    "RR",
    "FBeta",
    "HitCounts",
    "InterpolatedAP",
    "InterpolatedPrecision",
    "ListAuc",
    "ListMetric",
    "Precision",
    "RPrecision",
    "RankedLists",
    "Recall",
    "Steps",
    "Success",
    "check_lists",
    "expected_hits",
    "from_ranking",
    "from_run",
    "from_scores",
    "mean_pr_curve",
    "pr_curves",
    "query_reasons",
    "roc_curves",
    "running",
    "steps",
    "tabulate",
]
