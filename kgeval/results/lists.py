"""One ranked list per query of a result, computed from the stored counts without re-scoring.

`RankTable` and `EvaluationResult` call this module for query-level metrics.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from kgeval.checks import Ids
from kgeval.data import Protocol, given_and_asked_where, group_rows
from kgeval.metrics import lists_of_counts
from kgeval.metrics.retrieval import Lists


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
    filters = protocol.filter_splits or ()
    missing = [split for split in protocol.splits if split not in filters]
    if setting == "raw" or not filters or not missing:
        return ""
    return (
        "filtered query-level metrics need all ranked splits in filter_splits, or no filter at all; "
        f"{'+'.join(missing)} is not in filter_splits. Use raw.query..., or add the missing splits and evaluate again"
    )


def query_columns(table: pd.DataFrame) -> tuple[Ids, Ids, Ids]:
    """Return side, relation and given entity of each row, in this order: they identify the query of the row.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of a table of ranks.

    Returns
    -------
    three int64 arrays, shape (rows,)
        The side is its category code. Sorted by these columns, queries have the order of `query_lists`.
    """
    triples = table[["s", "p", "o"]].to_numpy()
    given, _ = given_and_asked_where(triples, (table["side"] == "subject").to_numpy())
    return table["side"].cat.codes.to_numpy().astype(np.int64), triples[:, 1], given


def query_lists(table: pd.DataFrame, protocol: Protocol, setting: str) -> tuple[Lists, pd.DataFrame]:
    """Return one ranked list per query (s, p, ?) or (?, p, o); the ranked answers of the query are the relevant items.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of a table of ranks; an answer that occurs twice for the same query counts once.
    protocol : Protocol
    setting : str
        ``"raw"`` or ``"filtered"``.

    Returns
    -------
    lists : Lists
        One list per query; the queries are sorted by side, relation and given entity.
    rows : pandas.DataFrame
        For each query, one row of `table` that contains the side, relation and given entity of the query.
    """
    side = table["side"].cat.codes.to_numpy().astype(np.int64)
    is_subject = (table["side"] == "subject").to_numpy()
    triples = table[["s", "p", "o"]].to_numpy()
    given, answer = given_and_asked_where(triples, is_subject)
    # distinct (answers,): one row for each distinct pair of query and answer, sorted by query and answer.
    order, starts = group_rows(side, triples[:, 1], given, answer)
    distinct = order[starts[:-1]]
    # first (queries + 1,): the index in `distinct` at which the answers of each query start; the last element is the
    # number of answers.
    _, first = group_rows(side[distinct], triples[distinct, 1], given[distinct])
    n_queries = len(first) - 1
    # query (answers,): the number (0, 1, ...) of the query to which each answer belongs.
    query = np.repeat(np.arange(n_queries), np.diff(first))
    better, tied, rivals = (table[f"{name}_{setting}"].to_numpy()[distinct] for name in ("better", "tied", "rivals"))
    is_removed = setting == "filtered" and bool(protocol.filter_splits)
    return lists_of_counts(query, n_queries, better, tied, rivals, is_removed), table.iloc[distinct[first[:-1]]]
