"""`Protocol`: exactly those settings of an evaluation that change its numbers.

Users pass a protocol to `kgeval.evaluate`; every result holds its protocol, and comparisons check the protocols of
both results.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from kgeval.checks import check_one_of, suggest
from kgeval.data.candidates import All, Candidates, candidates_from_json
from kgeval.data.dataset import SPLITS, Dataset
from kgeval.data.queries import SIDES, check_sides
from kgeval.errors import ProtocolError

UNSEEN = ("rank", "drop", "worst", "error")


@dataclass(frozen=True)
class Protocol:
    """Which queries are ranked, among which candidates, and which triples are left out.

    A positive is a triple that is ranked. Its query is the triple without its subject, or without its object. The
    candidates are the entities that compete as answers of the query; a rival is a candidate other than the right
    answer.

    Parameters
    ----------
    sides : sequence of str
        The missing sides of the queries: ``"subject"``, ``"object"`` (also head/tail, s/o).
    filter_splits : sequence of str, optional
        The splits whose triples are known; the filtered setting removes known answers from the rivals. None: all
        splits of the dataset.
    unseen : str, optional
        What happens to triples with an entity or relation that does not occur in train (unseen triples).
        ``"rank"``: unseen triples are ranked like all other triples, among all entities.
        ``"drop"``: unseen triples are left out and counted; the candidates are the entities of train.
        ``"worst"``: unseen triples get the last rank among all entities. For the other triples, all entities are rivals
        too, but those that do not occur in train always rank below the positive.
        ``"error"``: an error is raised if there are unseen triples.
        None: ``"drop"`` if the model has no vector for some entity or relation, else ``"rank"``; the result records the
        choice.
    splits : sequence of str
        The splits whose triples are ranked.
    candidates : Candidates
        The entities that compete with each positive; see `kgeval.candidates`. In results of `kgeval.evaluate_scores`
        these are the candidates in the table of scores.

    Raises
    ------
    ProtocolError
        If a setting has a value that is not listed above.

    Examples
    --------
    >>> Protocol(sides="tail").sides
    ('object',)
    >>> Protocol(unseen="drop") == Protocol.from_dict(Protocol(unseen="drop").to_dict())
    True
    """

    sides: Sequence[str] = SIDES
    filter_splits: Sequence[str] | None = None
    unseen: str | None = None
    splits: Sequence[str] = ("test",)
    candidates: Candidates = field(default_factory=All)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sides", check_sides(self.sides))
        object.__setattr__(self, "splits", _check_splits("splits", self.splits))
        if not self.splits:
            raise ProtocolError("splits is empty; name at least one, such as 'test'")
        if self.filter_splits is not None:
            object.__setattr__(self, "filter_splits", _check_splits("filter_splits", self.filter_splits))
        if self.unseen is not None:
            check_one_of("unseen", self.unseen, UNSEEN)
        if not isinstance(self.candidates, Candidates):
            raise ProtocolError(f"candidates must be a value such as kgeval.candidates.All(); got {self.candidates!r}")

    def resolved(self, dataset: Dataset, unseen: str = "rank") -> Protocol:
        """Return the protocol with a value in place of each None.

        Parameters
        ----------
        dataset : Dataset
            Its splits replace `filter_splits` if `filter_splits` is None.
        unseen : str
            The new value of the field `unseen` if this field is None.

        Raises
        ------
        ProtocolError
            If the protocol names a split that is not in `dataset`.
        """
        filter_splits = tuple(dataset.splits) if self.filter_splits is None else self.filter_splits
        for split in (*self.splits, *filter_splits):
            if split not in dataset:
                raise ProtocolError(
                    f"the protocol names split {split!r}; dataset {dataset.name!r} has {', '.join(dataset.splits)}"
                )
        return replace(self, filter_splits=filter_splits, unseen=self.unseen or unseen)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as values that JSON can store."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return plain | {"candidates": self.candidates.to_json()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Protocol:
        """Return the protocol that a dict from `to_dict` describes; raise a ProtocolError for an unknown key."""
        known = cls.__dataclass_fields__
        for key in values:
            if key not in known:
                raise ProtocolError(f"unknown protocol field {key!r}{suggest(key, known)}; known: {', '.join(known)}")
        candidates = {"candidates": candidates_from_json(values["candidates"])} if "candidates" in values else {}
        return cls(**(values | candidates))

    @property
    def fingerprint(self) -> str:
        """First 8 hexadecimal digits of the SHA-256 of the fields."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def describe(self) -> str:
        """Return the protocol as one line of English."""
        filters = "every split" if self.filter_splits is None else "+".join(self.filter_splits) or "nothing"
        sides = "both sides" if len(self.sides) == 2 else f"{self.sides[0]} side"
        among = self.candidates.describe()
        if self.unseen == "drop":
            among = "entities of train" if self.candidates == All() else f"{among}, those of train"
        elif self.unseen == "worst":
            among = f"{among}, unseen last"
        return f"filtered by {filters}, {among}, {sides}"


def _as_tuple(name: str, value: Any) -> tuple[Any, ...]:
    """Return names as a tuple; `value` is a sequence of names, or one string with commas between the names."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(","))
    if not isinstance(value, Iterable):
        raise ProtocolError(f"{name} must be a sequence of names; got {value!r}")
    return tuple(value)


def _check_splits(name: str, value: Any) -> tuple[str, ...]:
    """Return the splits in `value`, each once, in the order of `SPLITS`; messages call the value `name`."""
    chosen = {check_one_of(name, split, SPLITS) for split in _as_tuple(name, value)}
    return tuple(split for split in SPLITS if split in chosen)
