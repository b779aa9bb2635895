"""`Queries`, the distinct queries of a set of positives; and functions for the two sides, subject and object.

The rankers and scorers receive `Queries`, so that each query is scored only once. Most packages use the functions of
this module to check the names of sides, and to split triples into given and missing parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Bools, Ids
from kgeval.data.lists import joined_ranges
from kgeval.data.row_keys import RowKeys, group_rows, rank_in
from kgeval.errors import ProtocolError

SIDES = ("subject", "object")
SIDE_NAMES = {
    "subject": "subject", "s": "subject", "head": "subject", "h": "subject",
    "object": "object", "o": "object", "tail": "object", "t": "object",
}  # fmt: skip


def check_side(side: Any) -> str:
    """Return ``"subject"`` or ``"object"`` for any accepted name of a side.

    Parameters
    ----------
    side : str
        A key of `SIDE_NAMES`, in upper or lower case.

    Raises
    ------
    ProtocolError
        If `side` is not a key of `SIDE_NAMES`.

    Examples
    --------
    >>> check_side("tail")
    'object'
    """
    if isinstance(side, str) and side.lower() in SIDE_NAMES:
        return SIDE_NAMES[side.lower()]
    raise ProtocolError(f"side must be 'subject' or 'object' (or head/tail, s/o, h/t); got {side!r}")


def check_sides(sides: Any) -> tuple[str, ...]:
    """Return the named sides, in the order of `SIDES`.

    Parameters
    ----------
    sides : str or sequence of str
        Names as in `check_side`. One string can name several sides: ``"both"``, ``"subject,object"``.

    Returns
    -------
    tuple of str
        At least one side, without repeats.

    Raises
    ------
    ProtocolError
        If a name is unknown, or there is no name.

    Examples
    --------
    >>> check_sides(["tail", "head"]), check_sides("both"), check_sides("o")
    (('subject', 'object'), ('subject', 'object'), ('object',))
    """
    if isinstance(sides, str):
        sides = SIDES if sides.lower() == "both" else [side.strip() for side in sides.split(",")]
    if not isinstance(sides, Iterable):
        raise ProtocolError(f"sides must be a sequence of names; got {sides!r}")
    chosen = {check_side(side) for side in sides}
    if not chosen:
        raise ProtocolError("sides is empty; name at least one of 'subject', 'object'")
    return tuple(side for side in SIDES if side in chosen)


@dataclass(frozen=True)
class Queries:
    """The distinct queries of one side, each with its positives.

    A query is a given entity and a relation; the entity on the other side is missing. Several positives can share a
    query: (a, likes, b) and (a, likes, c) share the query (a, likes, ?).

    Parameters
    ----------
    side : str
        The missing side, ``"subject"`` or ``"object"``.
    given, relation : int64 arrays, shape (queries,)
        The given entity and the relation of each query, sorted by relation, then by given entity.
    answers : int64 array, shape (positives,)
        For each positive, its entity on the missing side; grouped by query.
    rows : int64 array, shape (positives,)
        The row of each positive in the array that the queries were built from, grouped by query; -1 for a triple that
        is not in that array.
    offsets : int64 array, shape (queries + 1,)
        ``answers[offsets[i]:offsets[i + 1]]``, and the same slice of `rows`, belong to query i.
    """

    side: str
    given: Ids
    relation: Ids
    answers: Ids
    rows: Ids
    offsets: Ids

    @classmethod
    def of(cls, triples: Ids, side: str, rows: Ids | None = None) -> Queries:
        """Return the queries of `triples` whose missing side is `side`.

        Parameters
        ----------
        triples : int64 array, shape (n, 3)
            The positives, columns s, p, o.
        side : str
            ``"subject"`` or ``"object"``.
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
        given, answer = given_and_asked(triples, side)
        # order, (n,): the row numbers of the triples, sorted by (relation, given entity). offsets, (queries + 1,):
        # where each query starts in `order`.
        order, offsets = group_rows(triples[:, 1], given)
        first = order[offsets[:-1]]  # one triple of each query, (queries,)
        sorted_rows = order if rows is None else rows[order]
        return cls(side, given[first], triples[first, 1], answer[order], sorted_rows, offsets)

    def __len__(self) -> int:
        return len(self.given)

    def part(self, start: int, stop: int) -> Queries:
        """Return the queries at the positions ``start:stop``, with their positives; the new offsets start at 0."""
        first, last = self.offsets[start], self.offsets[stop]
        return Queries(
            self.side,
            self.given[start:stop],
            self.relation[start:stop],
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
        return Queries(self.side, self.given[places], self.relation[places], self.answers[at], self.rows[at], offsets)

    def one_each(self) -> Queries:
        """Return a `Queries` object with one query for each positive.

        Such an object is needed if positives of the same query have different candidates.

        Examples
        --------
        >>> Queries.of(np.array([[0, 0, 1], [0, 0, 3]]), "object").one_each().offsets
        array([0, 1, 2])
        """
        repeats = np.diff(self.offsets)  # positives of each query, (queries,)
        given, relation = np.repeat(self.given, repeats), np.repeat(self.relation, repeats)
        return Queries(self.side, given, relation, self.answers, self.rows, np.arange(len(given) + 1))


def given_and_asked(triples: Ids, side: str) -> tuple[Ids, Ids]:
    """Return the given and the missing entity of each triple, for queries of one side.

    Parameters
    ----------
    triples : int64 array, shape (n, 3)
        Columns s, p, o.
    side : str
        The missing side of the queries, ``"subject"`` or ``"object"``.

    Returns
    -------
    given, asked : int64 arrays, shape (n,)
        The given entity, and the entity on the missing side.
    """
    return (triples[:, 2], triples[:, 0]) if side == "subject" else (triples[:, 0], triples[:, 2])


def query_parts(triples: Ids, side: str) -> tuple[tuple[Ids, Ids], Ids]:
    """Split triples into the given columns (relation, given entity) and the missing column, for `KnownIndex.of`.

    Parameters
    ----------
    triples : int64 array, shape (n, 3)
        Columns s, p, o.
    side : str
        The missing side of the queries, ``"subject"`` or ``"object"``.

    Returns
    -------
    given : tuple of two int64 arrays, shape (n,)
        The relations and the given entities.
    asked : int64 array, shape (n,)
        The entities on the missing side.

    Examples
    --------
    >>> query_parts(np.array([[1, 0, 2]]), "subject")
    ((array([0]), array([2])), array([1]))
    """
    given, asked = given_and_asked(triples, side)
    return (triples[:, 1], given), asked


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
    (relation, given), (other_relation, other_given) = (query_parts(part, side)[0] for part in (triples, others))
    # some: the triples whose given entity and relation both occur in `others`, but perhaps in different triples.
    some = np.flatnonzero(np.isin(given, other_given) & np.isin(relation, other_relation))
    pairs = zip((relation, given), (other_relation, other_given))
    # keys: one integer for the (relation, given entity) of each triple, first of `some`, then of `others`.
    _, keys = RowKeys.of(*(np.concatenate([column[some], other]) for column, other in pairs))
    is_shared = np.zeros(len(triples), dtype=bool)
    is_shared[some] = rank_in(np.unique(keys[len(some) :]), keys[: len(some)])[1]
    return is_shared
