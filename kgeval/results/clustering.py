"""Clusters of ranks that depend on each other, for intervals and tests; and texts that say what an interval shows.

`RankTable`, `EvaluationResult` and `kgeval.compare` read their parameter ``cluster`` with `RowClusters.of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, check_one_of, warn_user
from kgeval.data.row_keys import group_rows
from kgeval.errors import MetricError
from kgeval.results.columns import check_row_index
from kgeval.results.lists import query_columns, triples_of
from kgeval.stats.clusters import Clusters, Grouping

CLUSTERS = ("triple", "query", "entity")
# Kind of clusters -> end of the sentence "intervals show how much a number would vary with ...".
PURPOSES = {
    "triple": "other triples of this graph (both ranks of a triple sampled together)",
    "query": "other queries of this graph (all ranks of a query sampled together)",
    "entity": "other entities (ranks with the same subject, or with the same object, sampled together)",
    "array": "other clusters like those of the given array",
}


@dataclass(frozen=True, eq=False)
class RowClusters:
    """The cluster labels of the rows of a table of ranks.

    Parameters
    ----------
    by : str
        One of `CLUSTERS`, or ``"array"`` for labels that the user gave.
    labels : tuple of arrays, shape (rows,)
        One array with one label per row. With ``"entity"`` two arrays: the subjects and the objects of the rows.
    frame : pandas.DataFrame
        The table of ranks.
    """

    by: str
    labels: tuple[Any, ...]
    frame: pd.DataFrame

    @classmethod
    def of(cls, frame: pd.DataFrame, cluster: Any = "triple") -> RowClusters:
        """Return the labels of all rows of a table of ranks.

        Parameters
        ----------
        frame : pandas.DataFrame
        cluster : str or array_like, shape (rows,)
            One of `CLUSTERS`, or one label per row.

        Raises
        ------
        MetricError
            If `cluster` is an unknown word, or an array with a wrong shape or with missing labels.

        Warns
        -----
        KgevalWarning
            If the labels of an array separate the two ranks of a triple.
        """
        if isinstance(cluster, str):
            check_one_of("cluster", cluster, CLUSTERS, MetricError)
            if cluster == "entity":
                return cls(cluster, (frame["s"].to_numpy(), frame["o"].to_numpy()), frame)
            columns = query_columns(frame) if cluster == "query" else tuple(triples_of(frame).T)
            return cls(cluster, (row_numbers(*columns),), frame)
        numbers = given_labels(frame, cluster, CLUSTERS, "rank")
        triples = row_numbers(*triples_of(frame).T)
        n_triples, n_parts = (int(part.max(initial=-1)) + 1 for part in (triples, row_numbers(triples, numbers)))
        n_split = n_parts - n_triples
        if n_split:
            warn_user(
                f"cluster: the labels separate the ranks of {n_split:,} of {n_triples:,} triples; these ranks count as "
                "independent, so that intervals may be too narrow"
            )
        return cls("array", (numbers,), frame)

    def of_other(self, frame: pd.DataFrame, rows: Ids, other_rows: Ids) -> RowClusters:
        """Return the labels of another table, `frame`, whose rows `other_rows` hold the ranks of the rows `rows`."""
        if self.by != "array":
            return RowClusters.of(frame, self.by)
        labels = np.full(len(frame), -1, dtype=np.int64)
        labels[other_rows] = self.labels[0][rows]
        return RowClusters(self.by, (labels,), frame)

    @cached_property
    def queries(self) -> Ids:
        """The number of the query to which each row belongs, int64 (rows,).

        Queries are sorted by side, relation, given entity.
        """
        return self.labels[0] if self.by == "query" else row_numbers(*query_columns(self.frame))

    def among(self, parts: Sequence[Ids], of_queries: bool = False) -> Clusters:
        """Return the clusters of the observations of a metric over one or more groups of rows.

        The observations are the rows of ``parts[0]``, then those of ``parts[1]``, and so on. For query-level metrics
        the observations are the queries of each group, in the order of `queries`. Two queries share a cluster if a rank
        of the first query and a rank of the second query share a cluster.

        Parameters
        ----------
        parts : sequence of int64 arrays
            The indices of the rows of each group.
        of_queries : bool
            Whether the observations are queries.
        """
        rows = np.concatenate(parts) if len(parts) else np.zeros(0, dtype=np.int64)
        labels = [labels[rows] for labels in self.labels]
        if not of_queries:
            n = len(rows)
            return Clusters.of(labels[0], n) if len(labels) == 1 else Clusters.crossed(labels[0], labels[1], n)
        queries = self.queries[rows]
        # observations (rows,): for each row, the number of its pair (group, query).
        group = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        observations = row_numbers(group, queries)
        n = int(observations.max(initial=-1)) + 1
        if self.by == "query":
            return Clusters(Grouping.of(queries, n, observations))
        first, second = labels if len(labels) == 2 else (queries, labels[0])
        return Clusters.crossed(first, second, n, observations)


def given_labels(frame: pd.DataFrame, cluster: Any, kinds: Sequence[str], row: str) -> Ids:
    """Return the labels that the user gave as numbers; raise an error unless every row has a label.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table to whose rows the labels belong.
    cluster : array_like, shape (rows,)
        The labels.
    kinds : sequence of str
        The words that the user can give in place of labels, for the error message.
    row : str
        A noun for a row of the table, for the error message, such as ``"rank"``.

    Returns
    -------
    int64 array, shape (rows,)
        Equal numbers for equal labels: 0, 1, ... in the order in which the labels first occur.

    Raises
    ------
    MetricError
        If `cluster` has a wrong shape, or another index than the table, or if labels are missing.
    """
    check_row_index("cluster", cluster, frame.index, MetricError)
    if isinstance(cluster, np.ma.MaskedArray):
        raise MetricError(f"cluster must not be a masked array; every {row} needs a label")
    labels = np.asarray(cluster)
    if labels.shape != (len(frame),):
        raise MetricError(
            f"cluster must be one of {', '.join(map(repr, kinds))}, or an array with one label for each of the "
            f"{len(frame):,} rows of the table; got shape {labels.shape}"
        )
    missing = np.flatnonzero(pd.isna(labels))
    if len(missing):
        raise MetricError(f"cluster, row {int(missing[0])}: the label is missing; every {row} needs a label")
    return np.asarray(pd.factorize(labels)[0], dtype=np.int64)


def row_numbers(*columns: Ids) -> Ids:
    """Return one number per row, equal for equal rows: the index of the row among the sorted distinct rows.

    Parameters
    ----------
    *columns : int64 arrays, shape (rows,)

    Returns
    -------
    int64 array, shape (rows,)

    Examples
    --------
    >>> row_numbers(np.array([4, 4, 1]), np.array([7, 5, 9]))
    array([2, 1, 0])
    """
    # order sorts the rows by the columns. The rows order[starts[g]:starts[g + 1]] form group g.
    order, starts = group_rows(*columns)
    numbers = np.empty(len(columns[0]), dtype=np.int64)
    numbers[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return numbers
