"""`Side`: which columns of a triple a query gives, and which column it asks for.

Most packages of kgeval name a side by a text, ``"subject"``, ``"object"`` or ``"relation"``, and look up its columns
with `side_of`. The first two are the entity sides, `SIDES`; a metric without a side is that of the entity sides.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.base.checks import Ids
from kgeval.errors import ProtocolError

LETTERS = ("s", "p", "o")  # the columns of a triple


class HasVocabularies(typing.Protocol):
    """What this module reads of a `Dataset`, whose module imports this one."""

    @property
    def entities(self) -> Any:
        """The vocabulary of the entities."""

    @property
    def relations(self) -> Any:
        """The vocabulary of the relations."""


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
    def kind(self) -> str:
        """What the candidates are: ``"entities"`` or ``"relations"``."""
        return "relations" if self.asked == 1 else "entities"

    def vocabulary(self, dataset: HasVocabularies) -> Any:
        """Return the vocabulary of the candidates: the entities of a dataset, or its relations."""
        return dataset.relations if self.asked == 1 else dataset.entities

    @property
    def method(self) -> str:
        """The method with which a scorer of whole rows answers the queries, such as ``"score_objects"``."""
        return f"score_{self.name}s"


RELATION = "relation"
_SIDES = {
    side.name: side for side in (Side("subject", (1, 2), 0), Side("object", (1, 0), 2), Side(RELATION, (0, 2), 1))
}
ALL_SIDES = tuple(_SIDES)
SIDES = ALL_SIDES[:2]  # the entity sides
SIDE_NAMES = {
    "subject": "subject", "s": "subject", "head": "subject", "h": "subject",
    "object": "object", "o": "object", "tail": "object", "t": "object",
}  # fmt: skip
ALL_SIDE_NAMES = {**SIDE_NAMES, "relation": RELATION, "predicate": RELATION}


def side_of(name: str) -> Side:
    """Return the `Side` with a name of `ALL_SIDES`."""
    return _SIDES[name]


def check_side(side: Any, among: tuple[str, ...] = SIDES) -> str:
    """Return ``"subject"``, ``"object"`` or ``"relation"`` for any accepted name of a side.

    Parameters
    ----------
    side : str
        A key of `ALL_SIDE_NAMES`, in upper or lower case.
    among : tuple of str
        The sides that are possible; by default the entity sides.

    Raises
    ------
    ProtocolError
        If `side` names no side of `among`.

    Examples
    --------
    >>> check_side("tail"), check_side("predicate", ALL_SIDES)
    ('object', 'relation')
    """
    found = ALL_SIDE_NAMES.get(side.lower()) if isinstance(side, str) else None
    if found in among:
        return found
    if found is not None:
        raise ProtocolError(
            f"the {found} side cannot be used here: side must be {' or '.join(map(repr, among))}. kgeval.evaluate can "
            "rank the relation side, with Protocol(sides='relation')"
        )
    more = "" if among == SIDES else ", or 'relation'"
    raise ProtocolError(f"side must be 'subject' or 'object' (or head/tail, s/o, h/t){more}; got {side!r}")


def check_sides(sides: Any, among: tuple[str, ...] = SIDES) -> tuple[str, ...]:
    """Return the named sides, in the order of `ALL_SIDES`.

    Parameters
    ----------
    sides : str or sequence of str
        Names as in `check_side`. One string can name several sides: ``"both"`` (subject and object),
        ``"subject,object,relation"``.
    among : tuple of str
        As in `check_side`.

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
        names = [name.strip() for name in sides.split(",")]
        sides = [side for name in names for side in (SIDES if name.lower() == "both" else [name])]
    if not isinstance(sides, Iterable):
        raise ProtocolError(f"sides must be a sequence of names; got {sides!r}")
    chosen = {check_side(side, among) for side in sides}
    if not chosen:
        raise ProtocolError("sides is empty; name at least one of 'subject', 'object'")
    return tuple(side for side in ALL_SIDES if side in chosen)


def entity_sides(sides: Iterable[str]) -> tuple[str, ...]:
    """Return the sides that metrics without a side are about: the entity sides of `sides`, or else all of `sides`.

    Examples
    --------
    >>> entity_sides(("object", "relation")), entity_sides(("relation",))
    (('object',), ('relation',))
    """
    chosen = tuple(sides)
    return tuple(side for side in chosen if side in SIDES) or chosen
