"""`Side`: which columns of a triple a query gives, and which column it asks for.

Most packages of kgeval name a side by a text, ``"subject"`` or ``"object"``, and look up its columns with `side_of`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.checks import Ids
from kgeval.errors import ProtocolError

LETTERS = ("s", "p", "o")  # the columns of a triple


@dataclass(frozen=True)
class Side:
    """The parts of a triple that the queries of a side give, and the part that they ask for.

    An array of facts has the columns s, p, o, and then perhaps further columns, which are always given: the codes of a
    time or of qualifiers, for example.

    Parameters
    ----------
    name : str
    given : tuple of int
        The given columns of s, p, o, in the order in which queries are sorted and known triples are keyed.
    asked : int
        The column of s, p, o that is asked for.

    Examples
    --------
    >>> given, asked = side_of("subject").split(np.array([[1, 0, 2], [3, 0, 2]]))
    >>> given, asked
    ((array([0, 0]), array([2, 2])), array([1, 3]))
    >>> side_of("subject").facts(given, asked).tolist()
    [[1, 0, 2], [3, 0, 2]]
    """

    name: str
    given: tuple[int, ...]
    asked: int

    def split(self, facts: Ids) -> tuple[tuple[Ids, ...], Ids]:
        """Return the given columns of facts, shape (n, 3 or more), and the column that is asked for."""
        columns = (*self.given, *range(3, facts.shape[1]))
        return tuple(facts[:, column] for column in columns), facts[:, self.asked]

    def facts(self, given: tuple[Ids, ...], asked: Ids) -> Ids:
        """Return the facts of given columns, in the order of `split`, and of the column that is asked for."""
        return np.column_stack([*self.in_place(given, asked), *given[len(self.given) :]])

    def in_place(self, given: tuple[Any, ...], asked: Any) -> list[Any]:
        """Return s, p and o of given columns, in the order of `split`, and of the column that is asked for."""
        parts = [asked, asked, asked]
        for place, column in zip(self.given, given):
            parts[place] = column
        return parts

    def arguments(self, given: tuple[Ids, ...]) -> list[Ids]:
        """Return the given columns of s, p, o in this order, as ``score_objects(s, p)`` takes them."""
        parts = self.in_place(given, None)
        return [part for place, part in enumerate(parts) if place != self.asked]

    @property
    def method(self) -> str:
        """The method with which a scorer of whole rows answers the queries, such as ``"score_objects"``."""
        return f"score_{self.name}s"


_SIDES = {side.name: side for side in (Side("subject", (1, 2), 0), Side("object", (1, 0), 2))}
SIDES = tuple(_SIDES)
SIDE_NAMES = {
    "subject": "subject", "s": "subject", "head": "subject", "h": "subject",
    "object": "object", "o": "object", "tail": "object", "t": "object",
}  # fmt: skip


def side_of(name: str) -> Side:
    """Return the `Side` with a name of `SIDES`."""
    return _SIDES[name]


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
