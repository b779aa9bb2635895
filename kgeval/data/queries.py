"""The unique queries of a set of positives, so that no query is scored twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids
from kgeval.data.row_keys import group_rows
from kgeval.errors import ProtocolError

SIDES = ("subject", "object")
SIDE_NAMES = {
    "subject": "subject", "s": "subject", "head": "subject", "h": "subject",
    "object": "object", "o": "object", "tail": "object", "t": "object",
}  # fmt: skip


def check_side(side: Any) -> str:
    """Return ``"subject"`` or ``"object"`` for any accepted name of a side.

    Examples
    --------
    >>> check_side("tail")
    'object'
    """
    if isinstance(side, str) and side.lower() in SIDE_NAMES:
        return SIDE_NAMES[side.lower()]
    raise ProtocolError(f"side must be 'subject' or 'object' (or head/tail, s/o, h/t); got {side!r}")


def check_sides(sides: Any) -> tuple[str, ...]:
    """Return the sides named, in the order of `SIDES`; ``"both"`` names both, and so does ``"subject,object"``.

    Examples
    --------
    >>> check_sides(["tail", "head"]), check_sides("both"), check_sides("o")
    (('subject', 'object'), ('subject', 'object'), ('object',))
    """
    if isinstance(sides, str):
        sides = SIDES if sides.lower() == "both" else [side.strip() for side in sides.split(",")]
    if not isinstance(sides, Iterable):
        raise ProtocolError(f"sides must be a sequence of names; got {sides!r}")
    found = {check_side(side) for side in sides}
    if not found:
        raise ProtocolError("sides must name at least one of 'subject', 'object'; got none")
    return tuple(side for side in SIDES if side in found)


@dataclass(frozen=True)
class Queries:
    """The distinct (given entity, relation) of one side, each with the positives that it serves.

    Parameters
    ----------
    side : str
        Which place is asked, ``"subject"`` or ``"object"``.
    given, relation : int64 arrays, shape (queries,)
        Sorted by relation, then by given entity.
    answers : int64 array, shape (positives,)
        The true entity of each positive, grouped by query.
    rows : int64 array, shape (positives,)
        Each positive's row in the array that the queries were built from; -1 for a triple from elsewhere.
    offsets : int64 array, shape (queries + 1,)
        The positives of query i are ``offsets[i]:offsets[i + 1]``.
    """

    side: str
    given: Ids
    relation: Ids
    answers: Ids
    rows: Ids
    offsets: Ids

    @classmethod
    def of(cls, triples: Ids, side: str, rows: Ids | None = None) -> Queries:
        """Group `triples` by what is given when `side` is asked.

        Parameters
        ----------
        triples : int64 array, shape (n, 3)
        side : str
        rows : int64 array, shape (n,), optional
            What each triple's row is called in `Queries.rows`; by default its place in `triples`.

        Examples
        --------
        >>> import numpy as np
        >>> queries = Queries.of(np.array([[0, 0, 1], [2, 0, 1], [0, 0, 3]]), "object")
        >>> queries.given, queries.answers, queries.offsets
        (array([0, 2]), array([1, 3, 1]), array([0, 2, 3]))
        """
        given, answer = given_and_asked(triples, side)
        order, offsets = group_rows(triples[:, 1], given)
        first = order[offsets[:-1]]
        named = order if rows is None else rows[order]
        return cls(side, given[first], triples[first, 1], answer[order], named, offsets)

    def __len__(self) -> int:
        return len(self.given)

    def part(self, start: int, stop: int) -> Queries:
        """Return queries ``start:stop`` with their positives."""
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
        """Return the queries at `places`, int64, in that order, with their positives.

        Examples
        --------
        >>> queries = Queries.of(np.array([[0, 0, 1], [2, 0, 1], [0, 0, 3]]), "object")
        >>> queries.take(np.array([1])).answers, queries.take(np.array([0])).answers
        (array([1]), array([1, 3]))
        """
        sizes = np.diff(self.offsets)[places]
        offsets = np.append(0, np.cumsum(sizes))
        at = np.arange(offsets[-1]) + np.repeat(self.offsets[places] - offsets[:-1], sizes)
        return Queries(self.side, self.given[places], self.relation[places], self.answers[at], self.rows[at], offsets)

    def one_each(self) -> Queries:
        """Return one query for each positive, so that each can have candidates of its own.

        Examples
        --------
        >>> Queries.of(np.array([[0, 0, 1], [0, 0, 3]]), "object").one_each().offsets
        array([0, 1, 2])
        """
        repeats = np.diff(self.offsets)
        given, relation = np.repeat(self.given, repeats), np.repeat(self.relation, repeats)
        return Queries(self.side, given, relation, self.answers, self.rows, np.arange(len(given) + 1))


def given_and_asked(triples: Ids, side: str) -> tuple[Ids, Ids]:
    """Return the given and the asked entity of each triple when `side` is asked."""
    return (triples[:, 2], triples[:, 0]) if side == "subject" else (triples[:, 0], triples[:, 2])


def query_parts(triples: Ids, side: str) -> tuple[tuple[Ids, Ids], Ids]:
    """Return what the queries of `triples` give, relation and entity, and what they ask when `side` is asked.

    Examples
    --------
    >>> query_parts(np.array([[1, 0, 2]]), "subject")
    ((array([0]), array([2])), array([1]))
    """
    given, asked = given_and_asked(triples, side)
    return (triples[:, 1], given), asked


def given_and_asked_where(triples: Ids, is_subject: npt.NDArray[np.bool_]) -> tuple[Ids, Ids]:
    """Return the given and the asked entity of each triple, the subject asked where `is_subject`.

    Examples
    --------
    >>> given_and_asked_where(np.array([[1, 0, 2], [1, 0, 2]]), np.array([True, False]))
    (array([2, 1]), array([1, 2]))
    """
    given, asked = given_and_asked(triples, "subject")
    return np.where(is_subject, given, asked), np.where(is_subject, asked, given)
