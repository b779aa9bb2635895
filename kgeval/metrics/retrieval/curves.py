"""Curves of ranked lists as DataFrames: precision over recall, ROC, and metrics place by place."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Ids, check_one_of
from kgeval.errors import MetricError
from kgeval.metrics.retrieval.interpolated import HitCounts, interpolated_precision
from kgeval.metrics.retrieval.lists import LIST_TIES, Lists


def pr_curves(lists: Lists, ties: str = "expected") -> pd.DataFrame:
    """Return the precision-recall points of every list, one for each relevant item that it holds.

    Parameters
    ----------
    lists : Lists
    ties : str
        ``"optimistic"``, ``"pessimistic"`` or ``"stable"``; ``"expected"`` where no tie matters.

    Returns
    -------
    pandas.DataFrame
        Columns query, place (1-based), recall, precision, and interpolated: the largest precision at
        this recall or a higher one.

    Raises
    ------
    MetricError
        If relevant and irrelevant items tie and `ties` does not order them.

    References
    ----------
    Manning et al. (2008), Introduction to Information Retrieval, section 8.4.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> pr_curves(from_ranking([0, 1, 1])).values.tolist()
    [[0.0, 2.0, 0.5, 0.5, 0.6666666666666666], [0.0, 3.0, 1.0, 0.6666666666666666, 0.6666666666666666]]
    """
    untied = _untied(lists, ties)
    hits = HitCounts.of(untied)
    return pd.DataFrame(
        {
            "query": _query_names(lists, hits.query),
            "place": hits.place,
            "recall": hits.number / untied.n_relevant[hits.query],
            "precision": hits.precision,
            "interpolated": hits.interpolated,
        }
    )


def mean_pr_curve(lists: Lists, ties: str = "expected", points: int = 11) -> pd.DataFrame:
    """Return the mean over queries of the interpolated precision on a grid of recalls from 0 to 1.

    Parameters
    ----------
    lists : Lists
    ties : str
        As in `pr_curves`.
    points : int
        Recalls, at least 2.

    Returns
    -------
    pandas.DataFrame
        Columns recall, precision and n, the queries with a relevant item, over which the mean is taken.

    References
    ----------
    Manning et al. (2008), Introduction to Information Retrieval, section 8.4.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> mean_pr_curve(from_ranking([[1, 0, 0], [0, 1, 0]]), points=3).values.tolist()
    [[0.0, 0.75, 2.0], [0.5, 0.75, 2.0], [1.0, 0.75, 2.0]]
    """
    if isinstance(points, bool) or not isinstance(points, (int, np.integer)) or points < 2:
        raise MetricError(f"points must be an integer of at least 2; got {points!r}")
    untied = _untied(lists, ties)
    has_relevant = untied.n_relevant > 0
    n = int(has_relevant.sum())
    grid = np.arange(points) / (points - 1)
    hits = HitCounts.of(untied)
    sums = [interpolated_precision(untied, hits, float(recall))[has_relevant].sum() for recall in grid]
    means = np.array(sums) / n if n else np.full(points, np.nan)
    return pd.DataFrame({"recall": grid, "precision": means, "n": n})


def roc_curves(lists: Lists) -> pd.DataFrame:
    """Return the ROC points of every list that has relevant and irrelevant items; straight lines join them.

    A group of tied items is one straight step, so the area below is the AUC that counts ties one half.
    Relevant items that a list lacks are found last, after all its irrelevant ones.

    Returns
    -------
    pandas.DataFrame
        Columns query, fpr, tpr, from (0, 0) to (1, 1).

    References
    ----------
    Fawcett (2006), An Introduction to ROC Analysis, Pattern Recognition Letters 27.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_scores
    >>> roc_curves(from_scores([1, 0, 0], [2, 2, 1]))[["fpr", "tpr"]].values.tolist()
    [[0.0, 0.0], [0.5, 1.0], [1.0, 1.0]]
    """
    groups = lists.groups
    n_irrelevant = lists.length - lists.per_list(groups.query, groups.relevant)
    drawn = np.flatnonzero((lists.n_relevant > 0) & (n_irrelevant > 0))
    passed = groups.before - groups.relevant_before
    ends = np.zeros(len(drawn))
    query = np.concatenate([drawn, groups.query, groups.query, drawn, drawn])
    found = np.concatenate(
        [
            ends,
            groups.relevant_before,
            groups.relevant_before + groups.relevant,
            lists.per_list(groups.query, groups.relevant)[drawn],
            lists.n_relevant[drawn],
        ]
    )
    false = np.concatenate(
        [ends, passed, passed + groups.size - groups.relevant, n_irrelevant[drawn], n_irrelevant[drawn]]
    )
    kept = np.isin(query, drawn)
    query, found, false = query[kept], found[kept], false[kept]
    order = np.lexsort((found, false, query))
    query, found, false = query[order], found[order], false[order]
    frame = pd.DataFrame({"query": query, "fpr": false / n_irrelevant[query], "tpr": found / lists.n_relevant[query]})
    frame = frame.drop_duplicates(ignore_index=True)
    return frame.assign(query=_query_names(lists, frame["query"].to_numpy()))


def running(lists: Lists, ties: str = "expected") -> pd.DataFrame:
    """Return hits, precision, recall and average precision of every list cut at each of its places.

    Parameters
    ----------
    lists : Lists
        One row is made for every item of every list.
    ties : str
        As in `pr_curves`.

    Returns
    -------
    pandas.DataFrame
        Columns query, place (1-based), hits (relevant items so far), precision, recall, and
        average_precision: the mean of the precision at the hits so far, NaN before the first.

    References
    ----------
    Buckley and Voorhees (2005), Retrieval System Evaluation, in TREC: Experiment and Evaluation.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> running(from_ranking([1, 0, 1]))["average_precision"].tolist()
    [1.0, 1.0, 0.8333333333333333]
    """
    untied = _untied(lists, ties)
    found = HitCounts.of(untied)
    ends = np.cumsum(untied.length)
    starts = ends - untied.length
    query = np.repeat(np.arange(len(untied)), untied.length)
    place = np.arange(len(query)) - starts[query] + 1
    is_hit = np.zeros(len(query), dtype=np.int64)
    is_hit[starts[found.query] + found.place - 1] = 1
    hits = np.cumsum(is_hit)
    hits -= np.append(0, hits)[starts][query]
    precision = hits / place
    precision_sum = pd.Series(precision * is_hit).groupby(query).cumsum().to_numpy()
    n_relevant = untied.n_relevant[query]
    return pd.DataFrame(
        {
            "query": _query_names(lists, query),
            "place": place,
            "hits": hits,
            "precision": precision,
            "recall": _quotient_or_nan(hits, n_relevant),
            "average_precision": _quotient_or_nan(precision_sum, hits),
        }
    )


def _untied(lists: Lists, ties: str) -> Lists:
    """Return the lists with ties broken, or say that an expectation has no curve."""
    check_one_of("ties", ties, LIST_TIES, MetricError)
    if ties == "expected" and lists.has_mixed_ties:
        raise MetricError(
            "relevant and irrelevant items tie, and the curve depends on their order; "
            "ask for ties='optimistic', 'pessimistic' or 'stable'"
        )
    return lists.under(ties)


def _query_names(lists: Lists, query: Ids) -> Any:
    return query if lists.names is None else lists.names[query].to_numpy()


def _quotient_or_nan(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    result = np.full(len(above), np.nan)
    np.divide(above, below, out=result, where=below > 0)
    return result
