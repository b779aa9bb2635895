"""Rows of ids as single int64 keys, to sort, group and look rows up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids
from kgeval.errors import DataError

KEY_BITS = 63  # of a non-negative int64


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
