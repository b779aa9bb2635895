"""Retrieval metrics: metrics of ranked lists in which any number of items are relevant.

`from_scores`, `from_ranking` and `from_run` make ranked lists from plain data. The method `compute` of a metric returns
its value for these lists; `tabulate` returns a table with one row per query and one column per metric; `steps` shows
how much each position of one ranked list adds to the value of a metric.
`kgeval.metrics.query_level` uses the metrics for the queries of a result.

>>> from kgeval.metrics.retrieval.tabulation import tabulate
>>> lists = from_scores([[1, 0], [0, 1, 0]], [[0.9, 0.8], [0.5, 0.5, 0.1]])
>>> MAP().compute(lists).value
0.875
>>> tabulate(lists, ["map", "precision@1"], ties="pessimistic").loc["macro"].to_dict()
{'map': 0.75, 'precision@1': 0.5, 'reason': ''}
"""

from kgeval.base.checks import shows_only
from kgeval.base.discovery import import_modules
from kgeval.metrics.retrieval import base, curves, interpolated, lists, positions, stepwise, tabulation
from kgeval.metrics.retrieval.curves import pr_curves
from kgeval.metrics.retrieval.graded import DCG, ERR, NDCG
from kgeval.metrics.retrieval.inputs import from_ranking, from_run, from_scores
from kgeval.metrics.retrieval.listwise import MAP, RR, FBeta, ListAuc, Precision, Recall, RPrecision, Success
from kgeval.metrics.retrieval.stepwise import steps

__all__ = [
    "DCG",
    "ERR",
    "MAP",
    "NDCG",
    "RR",
    "FBeta",
    "ListAuc",
    "Precision",
    "RPrecision",
    "Recall",
    "Success",
    "base",
    "curves",
    "from_ranking",
    "from_run",
    "from_scores",
    "interpolated",
    "lists",
    "positions",
    "pr_curves",
    "steps",
    "stepwise",
    "tabulation",
]
__dir__ = shows_only(__all__)

import_modules(__name__, __path__)  # imports all modules of this folder; each registers its metrics
