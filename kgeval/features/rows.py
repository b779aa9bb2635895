"""`TripleRows`: the rows of a table of ranks, checked against their dataset.

The features and `popularity_weights` use `TripleRows` to look up, for each row, the given entity and the answer of its
query, and to count how often entities and relations occur in train.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pandas as pd

from kgeval.base.checks import Bools, Ids, check_ids
from kgeval.data.dataset import Dataset
from kgeval.data.queries import given_and_asked
from kgeval.data.row_keys import group_rows
from kgeval.data.sides import ALL_SIDES, RELATION, SIDES
from kgeval.errors import DataError


class TripleRows:
    """The rows of a table of ranks, checked against their dataset.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns s, p, o (ids of the dataset), as in `EvaluationResult.table`. The optional column `side`
        contains the side of the answer, a name of `ALL_SIDES`. Not modified.
    dataset : Dataset

    Attributes
    ----------
    triples : int64 array, shape (rows, 3)
        Columns s, p, o.
    has_sides : bool
        Whether the table has the column `side`.
    is_subject, is_relation : bool array, shape (rows,)
        True where the query is (?, p, o), with the subject as its answer, and (s, ?, o), with the relation. False
        everywhere if the table has no column side.

    Raises
    ------
    DataError
        If a column is missing, an id is not in the dataset, or a side is not in `ALL_SIDES`.

    Examples
    --------
    Row 0 is the query (0, 0, ?) with answer 1. Entity 0 is in two distinct triples of train, entity 1 in one:

    >>> dataset = Dataset.from_arrays(train=[[0, 0, 1], [0, 0, 1], [0, 0, 2]], n_entities=3, n_relations=1)
    >>> rows = TripleRows(pd.DataFrame({"s": [0], "p": [0], "o": [1], "side": ["object"]}), dataset)
    >>> rows.degrees[rows.given], rows.degrees[rows.asked]
    (array([2]), array([1]))
    """

    def __init__(self, table: pd.DataFrame, dataset: Dataset) -> None:
        missing = [name for name in "spo" if name not in table.columns]
        if missing:
            raise DataError(
                f"a table of triples needs the columns s, p, o; missing: {', '.join(missing)}. "
                "Pass the .table of a result"
            )
        sizes = {"s": len(dataset.entities), "p": len(dataset.relations), "o": len(dataset.entities)}
        parts = [check_ids(f"table, column {name}", table[name].to_numpy(), n, (None,)) for name, n in sizes.items()]
        self.dataset = dataset
        self.triples: Ids = np.column_stack(parts)
        self.has_sides = "side" in table.columns
        none = np.zeros(len(self.triples), dtype=bool)
        is_side = self._where_sides(table) if self.has_sides else {}
        self.is_subject: Bools = is_side.get("subject", none)
        self.is_relation: Bools = is_side.get(RELATION, none)

    @staticmethod
    def _where_sides(table: pd.DataFrame) -> dict[str, Bools]:
        """Return, for each side, whether it is that of each row, bool (rows,).

        Raises a DataError if a side is not in `ALL_SIDES`.
        """
        side = table["side"].to_numpy(dtype=object)
        is_side = {name: np.asarray(side == name) for name in ALL_SIDES}
        is_known = np.logical_or.reduce([*is_side.values()])
        if not is_known.all():
            row = int(np.argmin(is_known))
            raise DataError(f"table, column side, row {row}: expected {', '.join(ALL_SIDES)}; got {side[row]!r}")
        return is_side

    def _check_sides(self) -> None:
        """Raise a DataError if the table has no column `side`, or ranks of the relation side."""
        if not self.has_sides:
            raise DataError("a table of ranks needs the column side; this table has none. Pass the .table of a result")
        if self.is_relation.any():
            raise DataError(
                "the table has ranks of the relation side, (s, ?, o), where no entity is missing; pass only the rows "
                'of the entity sides: table[table["side"] != "relation"]'
            )

    def __len__(self) -> int:
        return len(self.triples)

    @property
    def relation(self) -> Ids:
        """The relation of each row, int64 (rows,)."""
        return self.triples[:, 1]

    @cached_property
    def given(self) -> Ids:
        """The given entity of each row, int64 (rows,); a DataError without column `side`, or on the relation side."""
        self._check_sides()
        return np.where(self.is_subject, *(given_and_asked(self.triples, side)[0] for side in SIDES))

    @cached_property
    def asked(self) -> Ids:
        """The true answer of each row, int64 (rows,); a DataError without column `side`, or on the relation side."""
        self._check_sides()
        return np.where(self.is_subject, *(given_and_asked(self.triples, side)[1] for side in SIDES))

    @cached_property
    def _train(self) -> Ids:
        """The distinct triples of train, int64 (triples, 3)."""
        triples = self.dataset["train"].array
        order, starts = group_rows(triples[:, 1], triples[:, 0], triples[:, 2])
        return triples[order[starts[:-1]]]

    @cached_property
    def degrees(self) -> Ids:
        """The number of distinct triples of train that contain each entity, int64 (entities,)."""
        s, _, o = self._train.T
        # How many triples have each entity as subject, as object, and as both.
        counts = [np.bincount(ids, minlength=len(self.dataset.entities)) for ids in (s, o, s[s == o])]
        return np.asarray(counts[0] + counts[1] - counts[2])

    @cached_property
    def frequencies(self) -> Ids:
        """The number of distinct triples of train with each relation, int64 (relations,)."""
        return np.bincount(self._train[:, 1], minlength=len(self.dataset.relations))
