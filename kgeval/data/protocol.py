"""Protocol: everything that changes a number, and nothing that does not."""

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
    """What is asked, against whom, and what is left out.

    Parameters
    ----------
    sides : sequence of str
        Which places are asked: ``"subject"``, ``"object"`` (also head/tail, s/o).
    filter_splits : sequence of str, optional
        Splits whose triples the filtered setting leaves out; None: all that the dataset has.
    unseen : str, optional
        What becomes of triples with an entity or relation that train lacks. None: ``"rank"``, or
        ``"drop"`` if the model has no vector for some of them; the result says which.
        ``"rank"``: ranked like any other, among all entities.
        ``"drop"``: left out and counted; the candidates are the entities of train.
        ``"worst"``: they get the last rank among all entities; the others are ranked against the
        entities of train, and an unseen entity counts as a rival that never wins.
        ``"error"``: refused.
    splits : sequence of str
        The splits whose triples are ranked.
    candidates : Candidates
        Who competes with each positive; see `kgeval.candidates`. Results of `kgeval.evaluate_scores` have the
        candidates that their table lists.

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
            raise ProtocolError("splits must name at least one split; got none")
        if self.filter_splits is not None:
            object.__setattr__(self, "filter_splits", _check_splits("filter_splits", self.filter_splits))
        if self.unseen is not None:
            check_one_of("unseen", self.unseen, UNSEEN)
        if not isinstance(self.candidates, Candidates):
            raise ProtocolError(f"candidates must be a value such as kgeval.candidates.All(); got {self.candidates!r}")

    def resolved(self, dataset: Dataset, unseen: str = "rank") -> Protocol:
        """Return the protocol with nothing left to choose; each split must be in `dataset`.

        Parameters
        ----------
        dataset : Dataset
            Its splits are the filter where none is named.
        unseen : str
            The policy where none is named.
        """
        filter_splits = tuple(dataset.splits) if self.filter_splits is None else self.filter_splits
        for split in (*self.splits, *filter_splits):
            if split not in dataset:
                raise ProtocolError(
                    f"the protocol names split {split!r}; dataset {dataset.name!r} has {', '.join(dataset.splits)}"
                )
        return replace(self, filter_splits=filter_splits, unseen=self.unseen or unseen)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-able values."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return plain | {"candidates": self.candidates.to_json()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Protocol:
        """Return the protocol that `to_dict` described; unknown fields are refused."""
        known = cls.__dataclass_fields__
        for key in values:
            if key not in known:
                raise ProtocolError(f"unknown protocol field {key!r}{suggest(key, known)}; known: {', '.join(known)}")
        said = {"candidates": candidates_from_json(values["candidates"])} if "candidates" in values else {}
        return cls(**(values | said))

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
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(","))
    if not isinstance(value, Iterable):
        raise ProtocolError(f"{name} must be a sequence of names; got {value!r}")
    return tuple(value)


def _check_splits(name: str, value: Any) -> tuple[str, ...]:
    given = {check_one_of(name, split, SPLITS) for split in _as_tuple(name, value)}
    return tuple(split for split in SPLITS if split in given)
