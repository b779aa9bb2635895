"""The list of every query of a result, told by the stored counts of its answers; nothing is scored again."""

from __future__ import annotations

import numpy as np
import pandas as pd

from kgeval.data import Protocol, given_and_asked_where, group_rows
from kgeval.metrics import lists_of_counts
from kgeval.metrics.retrieval import Lists


def no_lists(protocol: Protocol, setting: str) -> str:
    """Return why the counts of `setting` do not tell the queries' lists, or an empty string.

    In the filtered setting an answer's rivals leave out the query's other answers only where the filter
    knows all of them; in the raw setting, or without any filter, they hold all of them.
    """
    filters = protocol.filter_splits or ()
    missing = [split for split in protocol.splits if split not in filters]
    if setting == "raw" or not filters or not missing:
        return ""
    return (
        "filtered query-level metrics need the ranked splits among filter_splits, or no filter at all; "
        f"{'+'.join(missing)} is missing there. Ask for raw.query..., or evaluate with it"
    )


def query_lists(table: pd.DataFrame, protocol: Protocol, setting: str) -> tuple[Lists, pd.DataFrame]:
    """Return one ranked list per query (s, p, ?) or (?, p, o), all its ranked answers relevant.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of a ranks table; an answer that stands in it twice counts once.
    protocol : Protocol
    setting : str

    Returns
    -------
    lists : Lists
    rows : pandas.DataFrame
        A row of `table` for each query, with the query's side, relation and given entity.
    """
    side = table["side"].cat.codes.to_numpy().astype(np.int64)
    is_subject = (table["side"] == "subject").to_numpy()
    triples = table[["s", "p", "o"]].to_numpy()
    given, answer = given_and_asked_where(triples, is_subject)
    order, starts = group_rows(side, triples[:, 1], given, answer)
    distinct = order[starts[:-1]]
    _, first = group_rows(side[distinct], triples[distinct, 1], given[distinct])
    n_queries = len(first) - 1
    query = np.repeat(np.arange(n_queries), np.diff(first))
    better, tied, rivals = (table[f"{name}_{setting}"].to_numpy()[distinct] for name in ("better", "tied", "rivals"))
    is_removed = setting == "filtered" and bool(protocol.filter_splits)
    return lists_of_counts(query, n_queries, better, tied, rivals, is_removed), table.iloc[distinct[first[:-1]]]
