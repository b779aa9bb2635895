"""Labels, ids, and read-only arrays of triples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.checks import Ids, check_ids, suggest
from kgeval.errors import DataError

KEY_BITS = 63  # of a non-negative int64


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


def triple_ids(entities: Vocabulary, relations: Vocabulary, triple: Sequence[str | int]) -> Ids:
    """Return the ids of a triple named by labels or by ids, int64 (3,).

    Raises
    ------
    DataError
        If a label or an id does not occur.

    Examples
    --------
    >>> triple_ids(Vocabulary(["a", "b"]), Vocabulary(["likes"]), ("b", 0, 0))
    array([1, 0, 0])
    """
    ids = []
    for vocabulary, kind, name in zip((entities, relations, entities), ("entity", "relation", "entity"), triple):
        if isinstance(name, str):
            ids.append(int(vocabulary.ids([name])[0]))
        elif isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= name < len(vocabulary):
            ids.append(int(name))
        else:
            raise DataError(f"expected the {kind} as a label or an id in 0 .. {len(vocabulary) - 1}; got {name!r}")
    return np.array(ids, dtype=np.int64)


@dataclass(frozen=True)
class KeyPart:
    """How one column joins the keys of the columns before it.

    Parameters
    ----------
    before : int64 array, optional
        The distinct keys of the columns before, sorted, where their ranks stand for them.
    ids : int64 array, optional
        The distinct ids of the column, sorted, where their ranks stand for them.
    n_bits : int
        How many of the key's low bits the column takes.
    """

    before: Ids | None
    ids: Ids | None
    n_bits: int


@dataclass(frozen=True)
class RowKeys:
    """One non-negative int64 key for each row of ids, in the order of the rows; no key can overflow.

    The columns stand side by side in the key's bits. Where they would need more than 63, ranks among the rows at hand
    stand first for the key of the columns before, then also for the column: fewer bits than the number of rows needs.

    Parameters
    ----------
    parts : tuple of KeyPart
        One per column, the most significant first.
    n_bits : int
        No key needs more.

    Examples
    --------
    >>> layout, keys = RowKeys.of(np.array([1, 0, 1]), np.array([5, 4, 4]))
    >>> keys
    array([13,  4, 12])
    >>> layout.encode(np.array([1, 7]), np.array([5, 5]))
    (array([13, 61]), array([ True, False]))
    """

    parts: tuple[KeyPart, ...]
    n_bits: int

    @classmethod
    def of(cls, *columns: Ids) -> tuple[RowKeys, Ids]:
        """Return the keys' layout and the key of each row.

        Parameters
        ----------
        *columns : int64 arrays, shape (n,)
            The most significant first. Not modified.

        Raises
        ------
        DataError
            If even ranks do not fit, which takes more than 2**31 rows.
        """
        keys, n_used, parts = np.zeros(len(columns[0]), dtype=np.int64), 0, []
        for column in columns:
            codes, n_bits, before, ids = column, _bits_of(column), None, None
            if n_used and n_used + n_bits > KEY_BITS:
                before, keys = _ranks(keys)
                n_used = _bits_of(keys)
            if n_used + n_bits > KEY_BITS:
                ids, codes = _ranks(column)
                n_bits = _bits_of(codes)
            if n_used + n_bits > KEY_BITS:
                raise DataError(f"{len(keys):,} rows are too many to be told apart by {KEY_BITS} bits")
            keys <<= n_bits
            keys |= codes
            n_used += n_bits
            parts.append(KeyPart(before, ids, n_bits))
        return cls(tuple(parts), n_used), keys

    def encode(self, *columns: Ids) -> tuple[Ids, npt.NDArray[np.bool_]]:
        """Return the keys of other rows, and which of them can be among the rows at hand.

        Parameters
        ----------
        *columns : int64 arrays, shape (n,)
            As many as in `of`, or the first of them: then the keys are those of the shorter rows. Not modified.

        Returns
        -------
        keys : int64 array, shape (n,)
        is_possible : bool array, shape (n,)
            Where it is False the row is none of those at hand, and its key means nothing.
        """
        keys, is_possible = np.zeros(len(columns[0]), dtype=np.int64), np.ones(len(columns[0]), dtype=bool)
        for part, column in zip(self.parts, columns):
            keys = self._shifted(part, keys, is_possible)
            if part.ids is None:
                is_possible &= (column >> part.n_bits) == 0
                keys |= column
            else:
                rank, is_there = rank_in(part.ids, column)
                is_possible &= is_there
                keys |= rank
        return keys, is_possible

    def spans(self, *columns: Ids) -> tuple[Ids, Ids, npt.NDArray[np.bool_]]:
        """Return the least and the greatest key that rows beginning with these ids can have.

        Parameters
        ----------
        *columns : int64 arrays, shape (n,)
            All columns but the last. Not modified.

        Returns
        -------
        least, greatest : int64 arrays, shape (n,)
        is_possible : bool array, shape (n,)
            See `encode`.
        """
        keys, is_possible = self.encode(*columns)
        least = self._shifted(self.parts[-1], keys, is_possible)
        return least, least | self._last_mask, is_possible

    def last_ids(self, keys: Ids) -> Ids:
        """Return the last column of the rows that have these keys."""
        codes = keys & self._last_mask
        ids = self.parts[-1].ids
        return codes if ids is None else ids[codes]

    @property
    def _last_mask(self) -> np.int64:
        return np.int64((1 << self.parts[-1].n_bits) - 1)

    @staticmethod
    def _shifted(part: KeyPart, keys: Ids, is_possible: npt.NDArray[np.bool_]) -> Ids:
        """Return the keys of the columns before `part` at their place; clears `is_possible` where there is none."""
        if part.before is not None:
            keys, is_there = rank_in(part.before, keys)
            is_possible &= is_there
        return keys << part.n_bits


def rank_in(values: Ids, wanted: Ids) -> tuple[Ids, npt.NDArray[np.bool_]]:
    """Return the place of each of `wanted` in the sorted, distinct `values`, and whether it is there."""
    if not len(values):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=bool)
    rank = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return rank, values[rank] == wanted


def distinct_sorted(values: Ids) -> Ids:
    """Return the distinct of `values`, which are sorted; `values` itself where none repeats."""
    is_first = _is_first(values)
    return values if is_first.all() else values[is_first]


def _is_first(values: Ids) -> npt.NDArray[np.bool_]:
    """Return where a value differs from the one before it."""
    is_first = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return is_first


def _bits_of(column: Ids) -> int:
    """Return how many bits the ids of a column need; 64 where one is negative."""
    return int(column.view(np.uint64).max(initial=0)).bit_length()


def _ranks(column: Ids) -> tuple[Ids, Ids]:
    """Return the distinct ids, sorted, and the place of each row's id among them."""
    order = np.argsort(column)
    ordered = column[order]
    rank = np.zeros(len(column), dtype=np.int64)
    np.cumsum(ordered[1:] != ordered[:-1], out=rank[1:])
    ranks = np.empty_like(rank)
    ranks[order] = rank
    return distinct_sorted(ordered), ranks


def group_rows(*columns: Ids) -> tuple[Ids, Ids]:
    """Group equal rows, by keys that cannot overflow (see `RowKeys`).

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
    layout, keys = RowKeys.of(*columns)
    n = len(keys)
    n_bits = max(n - 1, 0).bit_length()
    if layout.n_bits + n_bits <= KEY_BITS:
        # A plain sort of key and place together is several times faster than a stable argsort of the keys.
        keys <<= n_bits
        keys |= np.arange(n)
        keys.sort()
        order = keys & ((1 << n_bits) - 1)
        keys >>= n_bits
    else:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
    return order, np.append(np.flatnonzero(_is_first(keys)), n)
