"""Ranked lists of the queries of a result, computed from the stored counts; no candidate is re-scored.

`RankTable` and `EvaluationResult` call this module for query-level metrics.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from kgeval.data import Protocol, given_and_asked_where, group_rows
from kgeval.metrics import lists_of_counts
from kgeval.metrics.retrieval import Lists


def no_lists(protocol: Protocol, setting: str) -> str:
    """Return the reason why the ranked lists of queries cannot be computed from the counts, or an empty string.

    In the filtered setting, the rivals of an answer must either include all other answers of the query (no filter) or
    none of them (the filter has all ranked splits). In the raw setting they always include all.

    Parameters
    ----------
    protocol : Protocol
    setting : str
        ``"raw"`` or ``"filtered"``.

    Returns
    -------
    str
    """
    filters = protocol.filter_splits or ()
    missing = [split for split in protocol.splits if split not in filters]
    if setting == "raw" or not filters or not missing:
        return ""
    return (
        "filtered query-level metrics need the ranked splits among filter_splits, or no filter at all; "
        f"{'+'.join(missing)} is not in filter_splits. Use raw.query..., or add it and evaluate again"
    )


def query_lists(table: pd.DataFrame, protocol: Protocol, setting: str) -> tuple[Lists, pd.DataFrame]:
    """Return one ranked list per query (s, p, ?) or (?, p, o); the ranked answers of the query are its relevant items.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of a table of ranks; an answer that occurs twice counts once.
    protocol : Protocol
    setting : str
        ``"raw"`` or ``"filtered"``.

    Returns
    -------
    lists : Lists
        Sorted by side, relation and given entity.
    rows : pandas.DataFrame
        For each query one row of `table`; it has the query's side, relation and given entity.
    """
    side = table["side"].cat.codes.to_numpy().astype(np.int64)
    is_subject = (table["side"] == "subject").to_numpy()
    triples = table[["s", "p", "o"]].to_numpy()
    given, answer = given_and_asked_where(triples, is_subject)
    # distinct (answers,): the first row of each distinct answer of each query, sorted by query and answer.
    order, starts = group_rows(side, triples[:, 1], given, answer)
    distinct = order[starts[:-1]]
    # first (queries + 1,): where the answers of each query start in `distinct`; the last entry is the number of
    # answers.
    _, first = group_rows(side[distinct], triples[distinct, 1], given[distinct])
    n_queries = len(first) - 1
    # query (answers,): the number of each answer's query.
    query = np.repeat(np.arange(n_queries), np.diff(first))
    better, tied, rivals = (table[f"{name}_{setting}"].to_numpy()[distinct] for name in ("better", "tied", "rivals"))
    is_removed = setting == "filtered" and bool(protocol.filter_splits)
    return lists_of_counts(query, n_queries, better, tied, rivals, is_removed), table.iloc[distinct[first[:-1]]]
