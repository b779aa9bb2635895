"""Clusters of classified examples that may depend on each other; intervals and tests are computed from the clusters.

`ClassificationResult.interval` and `kgeval.compare_classifications` read their parameter ``cluster`` with
`ExampleClusters.of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from kgeval.base.checks import Ids, check_one_of
from kgeval.errors import MetricError
from kgeval.results.clustering import given_labels, row_numbers
from kgeval.stats.clusters import Clusters

POSITIVE = "positive"  # a kind of clusters, and the column of the table with the row of each example's positive
CLUSTERS = (POSITIVE, "example", "entity")
# Kind of clusters -> end of the sentence "intervals show how much a number would vary with ...".
PURPOSES = {
    POSITIVE: "other positives of this graph (a positive and the negatives made from it are sampled together)",
    "example": "other positives and negatives (each triple is sampled on its own)",
    "entity": "other entities (examples with the same subject, or with the same object, are sampled together)",
    "array": "other clusters like those of the given array",
}
CONDITIONAL = "thresholds and calibration are treated as fixed: the variation of their choice on valid is left out"
UNKNOWN_POSITIVES = "it is not known from which positive each negative was made"


@dataclass(frozen=True, eq=False)
class ExampleClusters:
    """The cluster labels of the rows of a table of classified examples.

    Parameters
    ----------
    by : str
        One of `CLUSTERS`, or ``"array"`` for labels that the user gave.
    labels : tuple of int64 arrays, shape (rows,)
        One array with one label per row; with ``"entity"`` two arrays, the subjects and the objects.
    is_assumed : bool
        Whether examples are assumed to be independent because it is not known which negatives belong to which positive.
    """

    by: str
    labels: tuple[Ids, ...]
    is_assumed: bool = False

    @classmethod
    def of(cls, table: pd.DataFrame, cluster: Any = None) -> ExampleClusters:
        """Return the labels of all rows of a table.

        Parameters
        ----------
        table : pandas.DataFrame
            The table of a `ClassificationResult`.
        cluster : str or array_like, shape (rows,), optional
            One of `CLUSTERS`, or one label per row. By default ``"positive"`` if the table has this column, else
            ``"example"``.

        Raises
        ------
        MetricError
            If `cluster` is an unknown word, an array with a wrong shape or with missing labels, or ``"positive"``
            although the table has no column ``positive``.

        Examples
        --------
        >>> table = pd.DataFrame({"s": [0, 1, 0], "p": [0, 0, 0], "o": [1, 2, 1]})
        >>> ExampleClusters.of(table)  # the first and the last example are the same triple
        ExampleClusters(by='example', labels=(array([0, 1, 0]),), is_assumed=True)
        """
        if cluster is None:
            is_known = POSITIVE in table
            return replace(cls.of(table, POSITIVE if is_known else "example"), is_assumed=not is_known)
        if not isinstance(cluster, str):
            return cls("array", (given_labels(table, cluster, CLUSTERS, "example"),))
        check_one_of("cluster", cluster, CLUSTERS, MetricError)
        if cluster == POSITIVE and POSITIVE not in table:
            raise MetricError(
                f"cluster='positive': {UNKNOWN_POSITIVES}; use cluster='example', or pass one label per row"
            )
        if cluster == POSITIVE:
            return cls(cluster, (table[POSITIVE].to_numpy(),))
        if cluster == "entity":
            return cls(cluster, (table["s"].to_numpy(), table["o"].to_numpy()))
        return cls(cluster, (row_numbers(*table[["s", "p", "o"]].to_numpy().T),))

    def among(self, parts: Sequence[Ids]) -> Clusters:
        """Return the clusters of the rows ``parts[0]``, ``parts[1]``, ..., joined in this order.

        Parameters
        ----------
        parts : sequence of int64 arrays
            Indices of rows.
        """
        rows = np.concatenate(parts) if len(parts) else np.zeros(0, dtype=np.int64)
        n, first = len(rows), self.labels[0][rows]
        return Clusters.of(first, n) if len(self.labels) == 1 else Clusters.crossed(first, self.labels[1][rows], n)

    @property
    def purpose(self) -> str:
        """The end of the sentence "intervals show how much a number would vary with ..."."""
        return PURPOSES[self.by] + (f"; {UNKNOWN_POSITIVES}" if self.is_assumed else "")


def interval_lines(clusters: ExampleClusters, confidence: float) -> list[str]:
    """Return two lines: the meaning of the intervals of a classification, and the variation that they leave out.

    Parameters
    ----------
    clusters : ExampleClusters
    confidence : float

    Examples
    --------
    >>> print(interval_lines(ExampleClusters("array", (np.arange(3),)), 0.95)[0])
    95% intervals show how much a number would vary with other clusters like those of the given array
    """
    return [f"{100 * confidence:g}% intervals show how much a number would vary with {clusters.purpose}", CONDITIONAL]
