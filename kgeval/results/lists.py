"""One ranked list per query of a result, computed from the stored counts without re-scoring.

`RankTable` and `EvaluationResult` call this module for query-level metrics.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids
from kgeval.data.protocol import Protocol
from kgeval.data.queries import query_parts
from kgeval.data.row_keys import group_rows
from kgeval.metrics.query_level import lists_of_counts
from kgeval.metrics.retrieval.lists import RankedLists
from kgeval.results.bounded import UNKNOWN_COUNT, bounded_rows


def no_lists(protocol: Protocol, setting: str) -> str:
    """Return the reason why ranked lists cannot be computed from the counts; an empty string if they can.

    The candidates of a query must be the same for all its positives. The lists can then be computed in two cases:

    - In the raw setting, or without a filter: the rivals of a ranked answer include all other ranked answers of its
      query.
    - If the filter contains all ranked splits: the rivals of a ranked answer include no other answer of its query.

    Parameters
    ----------
    protocol : Protocol
    setting : str
        ``"raw"`` or ``"filtered"``.

    Returns
    -------
    str
    """
    if protocol.candidates.is_per_positive:
        return "query-level metrics need one list of candidates per query, but here each positive has its own list"
    filters = protocol.filter or ()
    missing = [split for split in protocol.splits if split not in filters]
    if setting == "raw" or not filters or not missing:
        return ""
    return (
        "filtered query-level metrics need all ranked splits in filter, or no filter at all; "
        f"{'+'.join(missing)} is not in filter. Use raw.query..., or add the missing splits and evaluate again"
    )


def triples_of(table: pd.DataFrame) -> Ids:
    """Return the ids s, p, o of each row of a table of ranks: int64 array, shape (rows, 3)."""
    # Column by column: pandas needs several times as long to select three columns of a small table at once.
    return np.column_stack([table[name].to_numpy() for name in "spo"])


def query_columns(table: pd.DataFrame) -> tuple[Ids, Ids, Ids]:
    """Return the side and the two given columns of each row (see `Side.split`): they identify the query of the row.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of a table of ranks.

    Returns
    -------
    three int64 arrays, shape (rows,)
        The side is given as its category code. `query_lists` sorts the queries by these three columns.
    """
    return _by_side(table)[:3]


def _by_side(table: pd.DataFrame) -> tuple[Ids, Ids, Ids, Ids]:
    """Return, for each row, the code of its side, the two given columns and the answer, four int64 arrays (rows,)."""
    side, triples = table["side"].cat.codes.to_numpy().astype(np.int64), triples_of(table)
    first, second, answer = (np.zeros(len(table), dtype=np.int64) for _ in range(3))
    for code, name in enumerate(table["side"].cat.categories):
        rows = np.flatnonzero(side == code)
        (first[rows], second[rows]), answer[rows] = query_parts(triples[rows], name)
    return side, first, second, answer


def query_lists(table: pd.DataFrame, protocol: Protocol, setting: str) -> tuple[RankedLists, pd.DataFrame]:
    """Return one ranked list per query, such as (s, p, ?); the ranked answers of the query are the relevant items.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of a table of ranks; an answer that occurs twice for the same query counts once.
    protocol : Protocol
    setting : str
        ``"raw"`` or ``"filtered"``.

    Returns
    -------
    lists : RankedLists
        One list per query; the queries are sorted by `query_columns`.
    rows : pandas.DataFrame
        For each query, one row of `table` that contains the side and the given columns of the query.
    """
    distinct, query, first = _distinct_answers(table)
    better, tied, rivals = (table[f"{name}_{setting}"].to_numpy()[distinct] for name in ("better", "tied", "rivals"))
    is_removed = setting == "filtered" and bool(protocol.filter)
    lists = lists_of_counts(query, len(first) - 1, better, tied, rivals, is_removed)
    if (rivals == UNKNOWN_COUNT).any():
        # The length of a list is unknown: it is at least the number of items up to the last answer.
        length = np.zeros_like(lists.length)
        np.maximum.at(length, lists.query, lists.before + lists.size)
        lists = replace(lists, length=length)
    return lists, table.iloc[distinct[first[:-1]]]


def bounded_lists(table: pd.DataFrame, protocol: Protocol, setting: str) -> tuple[RankedLists, ...]:
    """Return the lists of `query_lists`; if ranks are bounded, also the lists with these ranks at both bounds.

    Parameters
    ----------
    table, protocol, setting
        As in `query_lists`.

    Returns
    -------
    tuple of RankedLists
        Either one element; or three: the lists in which bounded ranks are ties, the lists with all bounded ranks at
        their worst, and the lists with all of them at their best.
    """
    lists, _ = query_lists(table, protocol, setting)
    is_bounded = bounded_rows(table, setting)
    if not is_bounded.any():
        return (lists,)
    distinct, query, _ = _distinct_answers(table)
    better, tied = (table[f"{name}_{setting}"].to_numpy()[distinct] for name in ("better", "tied"))
    # (answers,): the row of each item of `lists`; `lists_of_counts` sorts the answers by the same keys.
    row_of_item = distinct[np.lexsort((tied, better, query))]
    return (lists, *(lists.under(ties, among=is_bounded[row_of_item]) for ties in ("pessimistic", "optimistic")))


def _distinct_answers(table: pd.DataFrame) -> tuple[Ids, Ids, Ids]:
    """Return the rows, the query numbers and the bounds of the distinct answers of each query.

    An answer that occurs twice for a query counts once. The result is three int64 arrays: one row of `table` for each
    distinct pair of query and answer, shape (answers,), sorted by query and answer; the number (0, 1, ...) of the query
    of each pair, shape (answers,); and the bounds, shape (queries + 1,): the pairs of query i are ``bounds[i]:bounds[i
    + 1]``.
    """
    *query, answer = _by_side(table)
    order, starts = group_rows(*query, answer)
    distinct = order[starts[:-1]]
    _, first = group_rows(*(column[distinct] for column in query))
    return distinct, np.repeat(np.arange(len(first) - 1), np.diff(first)), first
