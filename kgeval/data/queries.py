"""`Queries`, the distinct queries of a set of positives; and functions that split triples into given and missing parts.

The rankers and scorers receive `Queries`, so that each query is scored only once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Bools, Ids
from kgeval.data.lists import joined_ranges
from kgeval.data.row_keys import RowKeys, group_rows, is_in
from kgeval.data.sides import side_of


@dataclass(frozen=True)
class Queries:
    """The distinct queries of one side, each with its positives.

    A query gives some columns of a fact (see `Side`): the relation and an entity, for example, and the entity on the
    other side is missing. Several positives can share a query: (a, likes, b) and (a, likes, c) share the query
    (a, likes, ?).

    Parameters
    ----------
    side : str
        The missing side: ``"subject"``, ``"object"`` or ``"relation"``.
    parts : tuple of int64 arrays, shape (queries,)
        The given columns of each query, in the order of `Side.split`: the relation and the given entity (on the
        relation side: subject and object), and then further columns. The queries are sorted by these columns.
    answers : int64 array, shape (positives,)
        For each positive, its value in the missing column; grouped by query.
    rows : int64 array, shape (positives,)
        The row of each positive in the array that the queries were built from, grouped by query; -1 for a triple that
        is not in that array.
    offsets : int64 array, shape (queries + 1,)
        ``answers[offsets[i]:offsets[i + 1]]``, and the same slice of `rows`, belong to query i.
    """

    side: str
    parts: tuple[Ids, ...]
    answers: Ids
    rows: Ids
    offsets: Ids

    @classmethod
    def of(cls, triples: Ids, side: str, rows: Ids | None = None) -> Queries:
        """Return the queries of `triples` whose missing side is `side`.

        Parameters
        ----------
        triples : int64 array, shape (n, 3 or more)
            The positives, columns s, p, o, and further columns that are given.
        side : str
            ``"subject"``, ``"object"`` or ``"relation"``.
        rows : int64 array, shape (n,), optional
            For each triple, its value in `Queries.rows`; by default its row in `triples`.

        Examples
        --------
        Triples 0 and 2 share the query (0, 0, ?):

        >>> import numpy as np
        >>> queries = Queries.of(np.array([[0, 0, 1], [2, 0, 1], [0, 0, 3]]), "object")
        >>> queries.given, queries.answers, queries.offsets
        (array([0, 2]), array([1, 3, 1]), array([0, 2, 3]))
        """
        parts, answer = query_parts(triples, side)
        # order, (n,): the row numbers of the triples, sorted by the given columns. offsets, (queries + 1,): where each
        # query starts in `order`.
        order, offsets = group_rows(*parts)
        first = order[offsets[:-1]]  # one triple of each query, (queries,)
        sorted_rows = order if rows is None else rows[order]
        return cls(side, tuple(part[first] for part in parts), answer[order], sorted_rows, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def relation(self) -> Ids:
        """The relation of each query of an entity side, int64, shape (queries,)."""
        return self.parts[0]

    @property
    def given(self) -> Ids:
        """The given entity of each query of an entity side, int64, shape (queries,)."""
        return self.parts[1]

    @property
    def facts(self) -> Ids:
        """The positives, in the order of `rows`; int64, shape (positives, 3 or more), columns s, p, o and further."""
        repeats = np.diff(self.offsets)
        return side_of(self.side).facts(tuple(np.repeat(part, repeats) for part in self.parts), self.answers)

    def part(self, start: int, stop: int) -> Queries:
        """Return the queries at the positions ``start:stop``, with their positives; the new offsets start at 0."""
        first, last = self.offsets[start], self.offsets[stop]
        return Queries(
            self.side,
            tuple(part[start:stop] for part in self.parts),
            self.answers[first:last],
            self.rows[first:last],
            self.offsets[start : stop + 1] - first,
        )

    def take(self, places: Ids) -> Queries:
        """Return the queries at the positions `places`, with their positives.

        Parameters
        ----------
        places : int64 array, shape (n,)
            Positions of queries; the result has the queries in this order.

        Examples
        --------
        >>> queries = Queries.of(np.array([[0, 0, 1], [2, 0, 1], [0, 0, 3]]), "object")
        >>> queries.take(np.array([1])).answers, queries.take(np.array([0])).answers
        (array([1]), array([1, 3]))
        """
        sizes = np.diff(self.offsets)[places]  # positives of each taken query, (n,)
        offsets = np.append(0, np.cumsum(sizes))  # where the positives of each query start in the result, (n + 1,)
        # at, (positives of the result,): the index of each positive in `self.answers` and `self.rows`.
        at = joined_ranges(self.offsets[places], sizes)
        parts = tuple(part[places] for part in self.parts)
        return Queries(self.side, parts, self.answers[at], self.rows[at], offsets)

    def merged(self, n_parts: int) -> tuple[Queries, Ids]:
        """Merge neighbours that agree in their first `n_parts` given columns.

        Returns
        -------
        queries : Queries
            With only these given columns.
        offsets : int64 array, shape (merged queries + 1,)
            Merged query i stands for the queries ``offsets[i]:offsets[i + 1]`` of this object.
        """
        if n_parts == len(self.parts):
            return self, np.arange(len(self) + 1)
        is_first = np.ones(len(self), dtype=bool)
        is_first[1:] = np.logical_or.reduce([part[1:] != part[:-1] for part in self.parts[:n_parts]])
        starts = np.flatnonzero(is_first)
        offsets = np.append(starts, len(self))
        parts = tuple(part[starts] for part in self.parts[:n_parts])
        return Queries(self.side, parts, self.answers, self.rows, self.offsets[offsets]), offsets

    def one_each(self) -> Queries:
        """Return a `Queries` object with one query for each positive.

        Such an object is needed if positives of the same query have different candidates.

        Examples
        --------
        >>> Queries.of(np.array([[0, 0, 1], [0, 0, 3]]), "object").one_each().offsets
        array([0, 1, 2])
        """
        repeats = np.diff(self.offsets)  # positives of each query, (queries,)
        parts = tuple(np.repeat(part, repeats) for part in self.parts)
        return Queries(self.side, parts, self.answers, self.rows, np.arange(len(self.answers) + 1))


def given_and_asked(triples: Ids, side: str) -> tuple[Ids, Ids]:
    """Return the given entity of each triple, and the column that is asked for, for queries of an entity side.

    Parameters
    ----------
    triples : int64 array, shape (n, 3)
        Columns s, p, o.
    side : str
        The missing side of the queries, ``"subject"`` or ``"object"``.

    Returns
    -------
    given, asked : int64 arrays, shape (n,)
    """
    (_, given), asked = query_parts(triples[:, :3], side)
    return given, asked


def query_parts(triples: Ids, side: str) -> tuple[tuple[Ids, ...], Ids]:
    """Split triples into the given columns and the missing column of a side, for `KnownIndex.of`; see `Side.split`.

    Parameters
    ----------
    triples : int64 array, shape (n, 3 or more)
        Columns s, p, o; further columns are given.
    side : str
        The missing side of the queries, ``"subject"`` or ``"object"``.

    Returns
    -------
    given : tuple of int64 arrays, shape (n,)
        The relations and the given entities (on the relation side: subjects and objects), and the further columns.
    asked : int64 array, shape (n,)
        The missing entities or relations.

    Examples
    --------
    >>> query_parts(np.array([[1, 0, 2]]), "subject")
    ((array([0]), array([2])), array([1]))
    """
    return side_of(side).split(triples)


def given_and_asked_where(triples: Ids, is_subject: npt.NDArray[np.bool_]) -> tuple[Ids, Ids]:
    """Return the given and the missing entity of each triple, for queries of both sides.

    Parameters
    ----------
    triples : int64 array, shape (n, 3)
        Columns s, p, o.
    is_subject : bool array, shape (n,)
        True where the subject is missing, False where the object is missing.

    Returns
    -------
    given, asked : int64 arrays, shape (n,)
        The given entity, and the entity on the missing side.

    Examples
    --------
    >>> given_and_asked_where(np.array([[1, 0, 2], [1, 0, 2]]), np.array([True, False]))
    (array([2, 1]), array([1, 2]))
    """
    given, asked = given_and_asked(triples, "subject")
    return np.where(is_subject, given, asked), np.where(is_subject, asked, given)


def shares_query(triples: Ids, others: Ids, side: str) -> Bools:
    """Return whether each triple of `triples` has the same query as at least one triple of `others`.

    Parameters
    ----------
    triples : int64 array, shape (n, 3)
    others : int64 array, shape (m, 3)
    side : str
        The missing side of the queries, ``"subject"`` or ``"object"``.

    Returns
    -------
    bool array, shape (n,)

    Examples
    --------
    >>> shares_query(np.array([[1, 0, 2], [3, 0, 2]]), np.array([[1, 0, 5]]), "object")
    array([ True, False])
    """
    layout, keys = RowKeys.of(*(query_parts(others, side)[0]))
    wanted, is_possible = layout.encode(*(query_parts(triples, side)[0]))
    return is_in(keys, wanted) & is_possible
