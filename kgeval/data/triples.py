"""`TripleSet`: a checked, read-only array of triples of ids; a `Dataset` holds one for each split."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, check_ids
from kgeval.errors import DataError

SPLITS = ("train", "valid", "test")
ONE_FILE = (  # the note of a dataset that was read from one file
    "one file, so all triples are in the split train; dataset.split({'train': .8, 'valid': .1, 'test': .1}) "
    "divides them into train, valid and test (on the command line: --split-fractions .8,.1,.1)"
)


class TripleSet:
    """A read-only int64 array of triples, shape (n, 3), columns s, p, o.

    ``np.asarray(triples)`` returns this array without a copy.

    Parameters
    ----------
    array : array_like of int, shape (n, 3)
        Columns s, p, o. Copied.
    n_entities, n_relations : int
        Every entity id must be below `n_entities`, every relation id below `n_relations`.
    name : str
        The name of the array in error messages.

    Raises
    ------
    DataError
        If the shape is wrong, or if an id is not an integer or is out of range (the message names the row).

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
