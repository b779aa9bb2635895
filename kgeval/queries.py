"""The unique queries of a set of positives, so that no query is scored twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.checks import Ids
from kgeval.errors import ProtocolError
from kgeval.triples import group_rows

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
    """Return the sides named, in the order of `SIDES`; ``"both"`` names both.

    Examples
    --------
    >>> check_sides(["tail", "head"]), check_sides("both"), check_sides("o")
    (('subject', 'object'), ('subject', 'object'), ('object',))
    """
    if isinstance(sides, str):
        sides = SIDES if sides.lower() == "both" else (sides,)
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
        Each positive's row in the array that the queries were built from.
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
    def of(cls, triples: Ids, side: str) -> Queries:
        """Group `triples`, int64 (n, 3), by what is given when `side` is asked.

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
        return cls(side, given[first], triples[first, 1], answer[order], order, offsets)

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


def given_and_asked(triples: Ids, side: str) -> tuple[Ids, Ids]:
    """Return the given and the asked entity of each triple when `side` is asked."""
    return (triples[:, 2], triples[:, 0]) if side == "subject" else (triples[:, 0], triples[:, 2])


def given_and_asked_where(triples: Ids, is_subject: npt.NDArray[np.bool_]) -> tuple[Ids, Ids]:
    """Return the given and the asked entity of each triple, the subject asked where `is_subject`.

    Examples
    --------
    >>> given_and_asked_where(np.array([[1, 0, 2], [1, 0, 2]]), np.array([True, False]))
    (array([2, 1]), array([1, 2]))
    """
    given, asked = given_and_asked(triples, "subject")
    return np.where(is_subject, given, asked), np.where(is_subject, asked, given)
