"""Curves of ranked lists as tables: precision-recall, ROC, and metrics after every position of a list.

Users and `kgeval.report.plots` call these functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import Ids, check_one_of
from kgeval.errors import MetricError
from kgeval.metrics.retrieval.interpolated import HitCounts, interpolated_precision
from kgeval.metrics.retrieval.lists import LIST_TIES, RankedLists


def pr_curves(lists: RankedLists, ties: str = "expected") -> pd.DataFrame:
    """Return the precision-recall points of every list: one point for each relevant item in the list.

    Parameters
    ----------
    lists : RankedLists
    ties : str
        Order of tied items: ``"optimistic"``, ``"pessimistic"`` or ``"stable"``, as in `ListMetric.compute`.
        ``"expected"``, the default, is allowed only if no relevant item ties with an irrelevant item.

    Returns
    -------
    pandas.DataFrame
        Columns query, place (1-based), recall, precision, and interpolated (the highest precision at this recall or
        at any higher recall).

    Raises
    ------
    MetricError
        If relevant and irrelevant items tie and `ties` is ``"expected"``.

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


def mean_pr_curve(lists: RankedLists, ties: str = "expected", points: int = 11) -> pd.DataFrame:
    """Return the interpolated precision at equally spaced recalls from 0 to 1, averaged over the queries.

    Parameters
    ----------
    lists : RankedLists
    ties : str
        As in `pr_curves`.
    points : int
        Number of recall levels, at least 2.

    Returns
    -------
    pandas.DataFrame
        Columns recall, precision, n and standard_error: n is the number of queries with a relevant item, precision is
        the mean over these queries, and standard_error that of the mean (NaN for a single query).

    Raises
    ------
    MetricError
        If `ties` is ``"expected"`` and relevant and irrelevant items tie, or if `points` is not an integer of at least
        2.

    References
    ----------
    Manning et al. (2008), Introduction to Information Retrieval, section 8.4.

    Examples
    --------
    >>> from kgeval.metrics.retrieval import from_ranking
    >>> mean_pr_curve(from_ranking([[1, 0, 0], [0, 1, 0]]), points=3).values.tolist()
    [[0.0, 0.75, 2.0, 0.25], [0.5, 0.75, 2.0, 0.25], [1.0, 0.75, 2.0, 0.25]]
    """
    grid, values = interpolated_precisions(lists, ties, points)
    n = len(values)
    means = values.sum(axis=0) / n if n else np.full(points, np.nan)
    return pd.DataFrame({"recall": grid, "precision": means, "n": n, "standard_error": pd.DataFrame(values).sem()})


def interpolated_precisions(
    lists: RankedLists, ties: str, points: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the recalls of `mean_pr_curve` and the interpolated precisions, a row for each query with a relevant item.

    Parameters
    ----------
    lists, ties, points
        As in `mean_pr_curve`.

    Raises
    ------
    MetricError
        As in `mean_pr_curve`.
    """
    if isinstance(points, bool) or not isinstance(points, (int, np.integer)) or points < 2:
        raise MetricError(f"points must be an integer of at least 2; got {points!r}")
    untied = _untied(lists, ties)
    has_relevant, hits = untied.n_relevant > 0, HitCounts.of(untied)
    grid = np.arange(points) / (points - 1)
    values = [interpolated_precision(untied, hits, float(recall))[has_relevant] for recall in grid]
    return grid, np.ascontiguousarray(np.transpose(values))


def roc_curves(lists: RankedLists) -> pd.DataFrame:
    """Return the points of the ROC curve of every list that has relevant and irrelevant items.

    Draw straight lines between the points. Each group of tied items is one line, so the area below the lines is the AUC
    in which tied pairs count one half. Relevant items that are missing from a list count as retrieved last, after all
    irrelevant items of the list.

    Parameters
    ----------
    lists : RankedLists

    Returns
    -------
    pandas.DataFrame
        Columns query, fpr (false positive rate) and tpr (true positive rate), from (0, 0) to (1, 1) in each query.

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
    # n_irrelevant (queries,): number of irrelevant items of each list. drawn: indices of the queries that have a curve.
    n_irrelevant = lists.length - lists.per_list(groups.query, groups.relevant)
    drawn = np.flatnonzero((lists.n_relevant > 0) & (n_irrelevant > 0))
    # (groups,): number of irrelevant items before each tie group.
    irrelevant_before = groups.before - groups.relevant_before
    # The points of all curves, one entry per point in each of the arrays query, hits and false_positives. The points of
    # a curve are: the start (0, 0), the points before and after each tie group, the point after the whole list, and the
    # end (1, 1). hits and false_positives are the numbers of relevant and irrelevant items up to the point.
    zeros = np.zeros(len(drawn))
    query = np.concatenate([drawn, groups.query, groups.query, drawn, drawn])
    hits = np.concatenate(
        [
            zeros,
            groups.relevant_before,
            groups.relevant_before + groups.relevant,
            lists.per_list(groups.query, groups.relevant)[drawn],
            lists.n_relevant[drawn],
        ]
    )
    false_positives = np.concatenate(
        [
            zeros,
            irrelevant_before,
            irrelevant_before + groups.size - groups.relevant,
            n_irrelevant[drawn],
            n_irrelevant[drawn],
        ]
    )
    # Drop the points of queries without a curve, and sort the others along their curves.
    kept = np.isin(query, drawn)
    query, hits, false_positives = query[kept], hits[kept], false_positives[kept]
    order = np.lexsort((hits, false_positives, query))
    query, hits, false_positives = query[order], hits[order], false_positives[order]
    frame = pd.DataFrame(
        {"query": query, "fpr": false_positives / n_irrelevant[query], "tpr": hits / lists.n_relevant[query]}
    )
    frame = frame.drop_duplicates(ignore_index=True)
    return frame.assign(query=_query_names(lists, frame["query"].to_numpy()))


def running(lists: RankedLists, ties: str = "expected") -> pd.DataFrame:
    """Return hits, precision, recall and average precision of the first 1, 2, 3, ... items of every list.

    Parameters
    ----------
    lists : RankedLists
    ties : str
        As in `pr_curves`.

    Returns
    -------
    pandas.DataFrame
        One row for each item of each list. Columns query, place (1-based), hits (number of relevant items up to this
        place), precision, recall, and average_precision (the mean of the precisions at the hits up to this place; NaN
        before the first hit).

    Raises
    ------
    MetricError
        If relevant and irrelevant items tie and `ties` is ``"expected"``.

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
    list_hits = HitCounts.of(untied)
    # starts, ends (queries,): the row of each list's first item in the table, and the row after its last item.
    ends = np.cumsum(untied.length)
    starts = ends - untied.length
    # (rows,): query and 1-based place of each row.
    query = np.repeat(np.arange(len(untied)), untied.length)
    place = np.arange(len(query)) - starts[query] + 1
    # (rows,): 1 where the item is relevant, else 0.
    is_hit = np.zeros(len(query), dtype=np.int64)
    is_hit[starts[list_hits.query] + list_hits.place - 1] = 1
    # (rows,): number of hits from the first row of the table to this row; the next line subtracts the hits of earlier
    # lists.
    hits = np.cumsum(is_hit)
    hits -= np.append(0, hits)[starts][query]
    precision = hits / place
    # (rows,): the sum of the precisions at the hits of the same list up to this row.
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


def _untied(lists: RankedLists, ties: str) -> RankedLists:
    """Return the lists with ties broken.

    Raises
    ------
    MetricError
        If `ties` is ``"expected"`` and relevant items tie with irrelevant items.
    """
    check_one_of("ties", ties, LIST_TIES, MetricError)
    if ties == "expected" and lists.has_mixed_ties:
        raise MetricError(
            "relevant and irrelevant items tie, and the curve depends on their order; "
            "use ties='optimistic', 'pessimistic' or 'stable'"
        )
    return lists.under(ties)


def _query_names(lists: RankedLists, query: Ids) -> Any:
    """Return the names of the queries with the indices `query`; if the queries have no names, return `query`."""
    return query if lists.names is None else lists.names[query].to_numpy()


def _quotient_or_nan(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return ``above / below``, float64 (rows,), and NaN where `below` is not positive."""
    result = np.full(len(above), np.nan)
    np.divide(above, below, out=result, where=below > 0)
    return result
