"""Labels, ids, and read-only arrays of triples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Ids, check_ids, suggest
from kgeval.errors import DataError


class Vocabulary:
    """The labels of entities or relations; a label's place is its id.

    Parameters
    ----------
    labels : iterable of str
        Distinct labels in id order. Compared exactly: no case folding, no Unicode normalisation.

    Examples
    --------
    >>> places = Vocabulary(["Italy", "Jack"])
    >>> places.ids(["Jack"])
    array([1])
    >>> places.labels[1]
    'Jack'
    """

    def __init__(self, labels: Iterable[str]) -> None:
        self.labels: tuple[str, ...] = tuple(labels)
        for position, label in enumerate(self.labels):
            if not isinstance(label, str):
                raise DataError(f"label {position} must be a string; got {label!r} ({type(label).__name__})")
        if not self._index.is_unique:
            second = int(np.flatnonzero(self._index.duplicated())[0])
            label = self.labels[second]
            raise DataError(
                f"label {label!r} stands at ids {self.labels.index(label)} and {second}; labels must differ"
            )

    @cached_property
    def _index(self) -> pd.Index[Any]:
        index: pd.Index[Any] = pd.Index(np.array(self.labels, dtype=object), dtype=object)
        return index

    def __len__(self) -> int:
        return len(self.labels)

    def __contains__(self, label: object) -> bool:
        return label in self._index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.labels == other.labels

    def __hash__(self) -> int:
        return hash(self.labels)

    def __repr__(self) -> str:
        shown = ", ".join(repr(label) for label in self.labels[:3])
        return f"Vocabulary({len(self)} labels: {shown}{', ...' if len(self) > 3 else ''})"

    def ids(self, labels: Sequence[str] | npt.NDArray[Any]) -> Ids:
        """Return the ids of `labels`, int64 of the same length.

        Raises
        ------
        DataError
            If a label is unknown; names it and the nearest known one.
        """
        found = self.find(labels)
        if (found < 0).any():
            label = list(labels)[int(np.flatnonzero(found < 0)[0])]
            raise DataError(f"unknown label {label!r}{suggest(str(label), self.labels)}")
        return found

    def find(self, labels: Sequence[str] | npt.NDArray[Any]) -> Ids:
        """Return the ids of `labels`, -1 for each that is unknown."""
        if isinstance(labels, str):
            raise DataError(f"expected a sequence of labels; got the single string {labels!r}")
        return np.asarray(
            self._index.get_indexer(pd.Index(np.array(list(labels), dtype=object), dtype=object)), dtype=np.int64
        )


class TripleSet:
    """A read-only int64 array of triples, shape (n, 3), columns s, p, o.

    ``np.asarray(triples)`` gives the array itself.

    Parameters
    ----------
    array : array_like of int, shape (n, 3)
    n_entities, n_relations : int
        Ids must lie below these.
    name : str
        What errors call it.

    Raises
    ------
    DataError
        If the shape is wrong, or an id is no integer or out of range; names the row.

    Examples
    --------
    >>> TripleSet([[0, 0, 1], [2, 0, 1]], n_entities=3, n_relations=1).s
    array([0, 2])
    """

    def __init__(self, array: npt.ArrayLike, n_entities: int, n_relations: int, name: str = "triples") -> None:
        try:
            raw = np.asarray(array)
        except ValueError as error:
            raise DataError(f"{name} must have shape (n, 3); its rows differ in length") from error
        if raw.size == 0:
            raw = np.zeros((0, 3), dtype=np.int64)
        if raw.ndim != 2 or raw.shape[1] != 3:
            raise DataError(f"{name} must have shape (n, 3); got {raw.shape}")
        entity_ids = check_ids(f"{name}, subjects and objects", raw[:, [0, 2]], n_entities, (None, 2))
        relation_ids = check_ids(f"{name}, relations", raw[:, 1], n_relations, (None,))
        columns = np.column_stack([entity_ids[:, 0], relation_ids, entity_ids[:, 1]])
        columns.setflags(write=False)
        self.array: Ids = columns

    def __len__(self) -> int:
        return len(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if dtype is not None and np.dtype(dtype) != self.array.dtype:
            return self.array.astype(dtype)
        return self.array.copy() if copy else self.array

    def __repr__(self) -> str:
        return f"TripleSet({len(self)} triples)"

    @property
    def s(self) -> Ids:
        """Subject ids, shape (n,)."""
        return self.array[:, 0]

    @property
    def p(self) -> Ids:
        """Relation ids, shape (n,)."""
        return self.array[:, 1]

    @property
    def o(self) -> Ids:
        """Object ids, shape (n,)."""
        return self.array[:, 2]


def group_rows(*columns: Ids) -> tuple[Ids, Ids]:
    """Group equal rows without ever building a combined key that could overflow.

    Parameters
    ----------
    *columns : int64 arrays, shape (n,)
        The row's parts, the most significant first.

    Returns
    -------
    order : int64 array, shape (n,)
        Stable order that sorts the rows.
    starts : int64 array, shape (groups + 1,)
        Where each group of equal rows starts in the sorted rows; the last entry is n.

    Examples
    --------
    >>> group_rows(np.array([2, 1, 2]), np.array([0, 5, 0]))
    (array([1, 0, 2]), array([0, 1, 3]))
    """
    order = np.lexsort(columns[::-1]).astype(np.int64)
    n = len(order)
    is_new = np.zeros(n, dtype=bool)
    is_new[:1] = True
    for column in columns:
        ordered = column[order]
        is_new[1:] |= ordered[1:] != ordered[:-1]
    return order, np.append(np.flatnonzero(is_new), n).astype(np.int64)
