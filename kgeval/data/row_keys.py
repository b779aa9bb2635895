"""Functions that pack each row of ids into one int64 key.

`RowKeys` packs a set of rows. It also computes the keys of other rows, to look these rows up in the set. `KnownIndex`,
the pattern features and `evaluate_scores` use `RowKeys`. `group_rows` finds equal rows; most packages of kgeval call
`group_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids
from kgeval.errors import DataError

KEY_BITS = 63  # the number of bits of a non-negative int64
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio: the high bits of a product are a hash


@dataclass(frozen=True)
class KeyPart:
    """The way in which `RowKeys` appends one column to the keys of the columns before it.

    Parameters
    ----------
    before : int64 array, optional
        The distinct keys of the columns before this one, sorted. If given, a key is replaced by its rank in this array
        before the column is appended. None: the key itself is used.
    ids : int64 array, optional
        The distinct ids of the column, sorted. If given, an id is replaced by its rank in this array. None: the id
        itself is used.
    n_bits : int
        How many low bits of the key hold the column.
    """

    before: Ids | None
    ids: Ids | None
    n_bits: int


@dataclass(frozen=True)
class RowKeys:
    """A layout that packs rows of ids into keys, one integer per row; the keys have the same order as the rows.

    The indexed rows are the rows that `RowKeys.of` receives. A key is a non-negative int64. The last column has the
    lowest bits, the first column the highest bits. If a column does not fit into the remaining bits, the key of the
    earlier columns is replaced by its rank among the distinct keys. If the column still does not fit, its ids are
    replaced by their ranks too. A rank is below the number of rows, so it needs few bits, and keys never overflow.

    Parameters
    ----------
    parts : tuple of KeyPart
        One part for each column, the most significant column first.
    n_bits : int
        The number of bits of the greatest key.

    Examples
    --------
    The last column needs 3 bits, so the key of row (1, 5) is ``1 << 3 | 5``:

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
        """Return the layout for the rows of `columns`, and the key of each row.

        Parameters
        ----------
        *columns : int64 arrays, shape (n,)
            The most significant column first. Not modified.

        Returns
        -------
        layout : RowKeys
        keys : int64 array, shape (n,)

        Raises
        ------
        DataError
            If a row does not fit into 63 bits, even with ranks; this is possible only with more than 2**31 rows.
        """
        # After each step, `keys`, (n,), holds the key of each row's columns so far; `n_used` is the number of its bits.
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
                raise DataError(f"{len(keys):,} rows are too many for keys of {KEY_BITS} bits")
            keys <<= n_bits  # makes space for the column in the low bits
            keys |= codes
            n_used += n_bits
            parts.append(KeyPart(before, ids, n_bits))
        return cls(tuple(parts), n_used), keys

    def encode(self, *columns: Ids) -> tuple[Ids, npt.NDArray[np.bool_]]:
        """Return the key of each row in this layout, and whether the row can be one of the indexed rows.

        Parameters
        ----------
        *columns : int64 arrays, shape (n,)
            All columns, or only the first few; a key then holds only these columns. Not modified.

        Returns
        -------
        keys : int64 array, shape (n,)
        is_possible : bool array, shape (n,)
            False where an id does not fit the layout: the row is certainly not one of the indexed rows (those that
            `RowKeys.of` received), and its key has no meaning.
        """
        # After each step, `keys`, (n,), holds the key of each row's columns so far; keys of impossible rows have no
        # meaning.
        keys, is_possible = np.zeros(len(columns[0]), dtype=np.int64), np.ones(len(columns[0]), dtype=bool)
        for part, column in zip(self.parts, columns):
            keys = self._shifted(part, keys, is_possible)
            if part.ids is None:
                is_possible &= (column >> part.n_bits) == 0  # False for ids that are negative or too great
                keys |= column
            else:
                rank, is_contained = rank_in(part.ids, column)
                is_possible &= is_contained
                keys |= rank
        return keys, is_possible

    def spans(self, *columns: Ids) -> tuple[Ids, Ids, npt.NDArray[np.bool_]]:
        """Return the smallest and the greatest key that a row with these ids in all columns except the last can have.

        Parameters
        ----------
        *columns : int64 arrays, shape (n,)
            All columns except the last. Not modified.

        Returns
        -------
        least, greatest : int64 arrays, shape (n,)
            The bits of the last column are all 0 in the least key, and all 1 in the greatest key.
        is_possible : bool array, shape (n,)
            See `encode`.
        """
        keys, is_possible = self.encode(*columns)
        least = self._shifted(self.parts[-1], keys, is_possible)
        return least, least | self._last_mask, is_possible

    def last_ids(self, keys: Ids) -> Ids:
        """Return the id in the last column of each row, int64 (n,); `keys` are keys that `RowKeys.of` returned."""
        codes = keys & self._last_mask
        ids = self.parts[-1].ids
        return codes if ids is None else ids[codes]

    @property
    def _last_mask(self) -> np.int64:
        """The integer in which exactly the bits of the last column are 1."""
        return np.int64((1 << self.parts[-1].n_bits) - 1)

    @staticmethod
    def _shifted(part: KeyPart, keys: Ids, is_possible: npt.NDArray[np.bool_]) -> Ids:
        """Shift `keys`, which hold the columns before `part`, to the left; the low bits are then free for `part`.

        If `part.before` is given, each key is first replaced by its rank in `part.before`; where `part.before` does not
        contain the key, `is_possible` is set to False.
        """
        if part.before is not None:
            keys, is_contained = rank_in(part.before, keys)
            is_possible &= is_contained
        return keys << part.n_bits


def rank_in(values: Ids, wanted: Ids) -> tuple[Ids, npt.NDArray[np.bool_]]:
    """Return the position of each value of `wanted` in a sorted array, and whether the array contains the value.

    Parameters
    ----------
    values : int64 array, shape (m,)
        Sorted and distinct.
    wanted : int64 array, shape (n,)

    Returns
    -------
    rank : int64 array, shape (n,)
        Positions in `values`; without meaning where `is_contained` is False.
    is_contained : bool array, shape (n,)

    Examples
    --------
    >>> rank_in(np.array([2, 5, 9]), np.array([5, 6]))
    (array([1, 2]), array([ True, False]))
    """
    if not len(values):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=bool)
    rank = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return rank, values[rank] == wanted


def is_in(keys: Ids, wanted: Ids) -> npt.NDArray[np.bool_]:
    """Return whether `keys` contains each value of `wanted`, bool (n,); fast if `keys` contains few of them.

    A table says which hashes `keys` have. Only values with such a hash are searched in the sorted keys.

    Parameters
    ----------
    keys : int64 array, shape (m,)
    wanted : int64 array, shape (n,)

    Examples
    --------
    >>> is_in(np.array([9, 2, 9]), np.array([2, 3, 9]))
    array([ True, False,  True])
    """
    n_bits = max(1, min(24, (16 * len(keys)).bit_length()))
    hashes, of_wanted = ((part.view(np.uint64) * _ODD) >> np.uint64(64 - n_bits) for part in (keys, wanted))
    table = np.zeros(1 << n_bits, dtype=np.bool_)
    table[hashes] = True
    is_contained: npt.NDArray[np.bool_] = table[of_wanted]
    is_contained[is_contained] = rank_in(np.unique(keys), wanted[is_contained])[1]
    return is_contained


def distinct_sorted(values: Ids) -> Ids:
    """Return the distinct values of a sorted array.

    Parameters
    ----------
    values : int64 array, shape (n,)
        Sorted.

    Returns
    -------
    int64 array, shape (distinct values,)
        Sorted; `values` itself, not a copy, if no value repeats.
    """
    is_first = _is_first(values)
    return values if is_first.all() else values[is_first]


def _is_first(values: Ids) -> npt.NDArray[np.bool_]:
    """Return whether each value differs from the value before it, bool (n,); True for the first value."""
    is_first = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return is_first


def _bits_of(column: Ids) -> int:
    """Return how many bits the greatest id of a column needs; 64 if an id is negative."""
    return int(column.view(np.uint64).max(initial=0)).bit_length()


def _ranks(column: Ids) -> tuple[Ids, Ids]:
    """Return the distinct ids of a column, sorted, and the rank of each row's id among them, int64 (n,)."""
    order = np.argsort(column)
    ordered = column[order]
    # rank[i] is the rank of ordered[i]; the rank grows by 1 wherever an id differs from the id before it.
    rank = np.zeros(len(column), dtype=np.int64)
    np.cumsum(ordered[1:] != ordered[:-1], out=rank[1:])
    # ranks[row] is the rank of column[row]: the same ranks, in the order of the rows.
    ranks = np.empty_like(rank)
    ranks[order] = rank
    return distinct_sorted(ordered), ranks


def group_rows(*columns: Ids) -> tuple[Ids, Ids]:
    """Sort rows and find the groups of equal rows, by keys that cannot overflow (see `RowKeys`).

    Parameters
    ----------
    *columns : int64 arrays, shape (n,)
        The columns of the rows, the most significant first. Not modified.

    Returns
    -------
    order : int64 array, shape (n,)
        The row numbers, in the order of the sorted rows; equal rows keep their order.
    starts : int64 array, shape (groups + 1,)
        Where each group of equal rows starts in the sorted rows; the last entry is n.

    Examples
    --------
    Rows 0 and 2 are equal. After sorting, row 1 forms the first group, and rows 0 and 2 form the second group:

    >>> group_rows(np.array([2, 1, 2]), np.array([0, 5, 0]))
    (array([1, 0, 2]), array([0, 1, 3]))
    """
    layout, keys = RowKeys.of(*columns)
    n = len(keys)
    n_bits = max(n - 1, 0).bit_length()  # the number of bits of a row number
    if layout.n_bits + n_bits <= KEY_BITS:
        # Each entry becomes key << n_bits | row number. A plain sort of these entries is several times faster than a
        # stable argsort of the keys, and rows with equal keys keep their order.
        keys <<= n_bits
        keys |= np.arange(n)
        keys.sort()
        order = keys & ((1 << n_bits) - 1)  # the row numbers, in the order of the keys
        keys >>= n_bits  # the sorted keys, without the row numbers
    else:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
    return order, np.append(np.flatnonzero(_is_first(keys)), n)
