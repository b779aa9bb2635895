"""Every metric of ranked lists, and short ways to measure one list."""

import pytest
from grids import one_of_each

from kgeval.metrics.retrieval.base import LISTS

AVERAGES = ("macro", "micro")
TEXTS = [
    *("precision", "precision@1", "precision@3", "precision(short=cut)@4", "precision(short=cut)"),
    *("precision(empty=zero)", "precision(short=cut,empty=nan)@2", "f1(empty=zero)", "f1(empty=nan)"),
    *("recall", "recall@2", "recall(empty=zero)@3", "recall(empty=nan)@1"),
    *("f1", "f1@3", "f1(short=cut)@4", "fbeta(beta=2)@2", "fbeta(beta=0.5,short=cut)"),
    *("success@1", "success@3", "success@10", "rr", "rr@2"),
    *("map", "map@3", "map(empty=zero)", "map(empty=nan)@2"),
    *("rprec", "rprec(empty=zero)", "auc", "auc(empty=zero)"),
    *("dcg", "dcg@2", "dcg(gain=exponential)@4", "dcg(gain=1:3;2:0.5,base=e)", "dcg(gain=exponential,base=10)@3"),
    *("ndcg", "ndcg@1", "ndcg@3", "ndcg(gain=exponential,empty=zero)", "ndcg(gain=1:0;2:9)@4", "ndcg(empty=nan)@2"),
    *("err(g_max=3)", "err(g_max=3)@2", "err(g_max=4.5)@4"),
    *("iprec", "iprec(recall=0.5)", "iprec(recall=1,empty=zero)", "iprec(recall=0.3,empty=nan)"),
    *("iap", "iap(points=all)", "iap(points=3,empty=zero)", "iap(points=all,empty=nan)"),
]
METRICS = [LISTS.parse(text) for text in TEXTS]
each_metric = pytest.mark.parametrize("metric", one_of_each(METRICS))


def per_query(text, lists, ties="expected"):
    """The values of a metric named by its text."""
    return LISTS.parse(text).per_query(lists, ties)


def one(text, lists, ties="expected"):
    """The value for a single list."""
    [found] = per_query(text, lists, ties)
    return float(found)


def refused(error, message, call):
    """The whole sentence of the error."""
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message
    assert type(caught.value) is error
