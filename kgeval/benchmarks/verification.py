"""Verify a card: compute everything on it again from the saved run, and list what differs (`kgeval card --check`)."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgeval._version import __version__
from kgeval.benchmarks.card import Card, read_card, run_facts_of
from kgeval.benchmarks.card_files import last_digit, rounded
from kgeval.results.evaluation_result import EvaluationResult

# A number of a card agrees if it is the number of the run rounded to the digits of a card. Other versions of numpy sum
# in another order. So if the run's number is very near to the midpoint of two rounded numbers, both of them agree.
TOLERANCE = 0.501  # in units of the last digit
MAX_LISTED = 20  # of the differences, the text lists at most this many
MANY_FIELDS = ("facts", "metrics", "ties")  # parts of a card that are listed last
_ABSENT = object()
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Disagreement:
    """A field in which a card and a run differ.

    Parameters
    ----------
    place : str
        The field, such as ``"metrics/object.mrr/value"``.
    card, run : str
        The value on the card, and the value of the run, as JSON; ``"nothing"`` if the field is absent.
    """

    place: str
    card: str
    run: str

    def __str__(self) -> str:
        return f"{self.place}: the card says {self.card}; the run says {self.run}"


@dataclass(frozen=True)
class Verification:
    """Whether a card agrees with a run; `verify_card` makes it.

    Parameters
    ----------
    disagreements : tuple of Disagreement
        Empty if the card agrees with the run in all fields.
    agreed : tuple of str
        The parts of the card that agree with the run in all their fields, such as ``"metrics"``.
    contradictions : tuple of str
        As `Card.contradictions`; a card with a contradiction agrees with no run.
    notes : tuple of str
        What could not be checked, and what may have caused the disagreements.
    """

    disagreements: tuple[Disagreement, ...]
    agreed: tuple[str, ...]
    contradictions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether the card agrees with the run in all checked fields, and does not contradict itself."""
        return not self.disagreements and not self.contradictions

    def lines(self) -> list[str]:
        """Return a line for each field that differs, one line with all that agrees, and the notes."""
        lines = [str(one) for one in self.disagreements[:MAX_LISTED]]
        lines += [f"and {len(self.disagreements) - MAX_LISTED:,} more"] if len(lines) < len(self.disagreements) else []
        lines += [f"the card contradicts itself: {text}" for text in self.contradictions]
        return [*lines, f"equal: {', '.join(self.agreed) or 'nothing'}", *self.notes]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def verify_card(card: Card | str | Path, result: EvaluationResult) -> Verification:
    """Compute the card of a run again, and compare it with a card, field by field.

    Texts, counts and hashes must be equal. A number agrees if it is the number of the run, rounded to 10 significant
    digits and at most 10 decimals; if the run's number lies within 0.001 units of the midpoint of two rounded
    numbers, both of them agree (versions of numpy differ in the last of 16 digits).

    Parameters
    ----------
    card : Card or path
    result : EvaluationResult
        The run with which the card should agree. Everything that the run contains is recomputed from its ranks; the
        fingerprint of the dataset and the versions are what the run recorded when it was made.

    Returns
    -------
    Verification

    Raises
    ------
    DataError
        If the card cannot be read (see `read_card`), or if `result` is not the result of an evaluation.

    Examples
    --------
    >>> import kgeval as kg
    >>> dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1, name="toy")
    >>> up, down = (kg.evaluate(lambda s, p, o: sign * o, dataset, progress=False) for sign in (1, -1))
    >>> card = Card.of(up)
    >>> verify_card(card, up).agrees, verify_card(card, down).agrees
    (True, False)
    >>> [one.place for one in verify_card(card, down).disagreements if one.place.startswith("hashes")]
    ['hashes/ranks', 'hashes/scores']
    """
    card = card if isinstance(card, Card) else read_card(card)
    date, made_by = card.content["date"], result.facts["version"]
    differences = disagreements(card, {**run_facts_of(result), "date": date})
    differing = {one.place.partition("/")[0] for one in differences}
    agreed = tuple(name for name in card.content if name != "date" and name not in differing)
    notes = () if date is None else (f"not checked: the date {date}; a run does not contain one",)
    if made_by != __version__ and differing.intersection(("metrics", "ties")):
        hint = "if only limits of intervals differ, verify the card with the version that wrote it"
        notes = (*notes, f"the run was made by kgeval {made_by} and this is kgeval {__version__}; {hint}")
    return Verification(differences, agreed, card.contradictions, notes)


def disagreements(card: Card, facts: dict[str, Any]) -> tuple[Disagreement, ...]:
    """Return the fields in which a card differs from the facts of a run.

    Parameters
    ----------
    card : Card
    facts : dict
        From `run_facts_of`, with the date of the card.
    """
    of_card, of_run = _leaves(card.content), _leaves(facts)
    found = []
    for place in {**of_card, **of_run}:
        ours, theirs = (leaves.get(place, _ABSENT) for leaves in (of_card, of_run))
        if not _agree(ours, theirs):
            found.append(Disagreement("/".join(map(str, place)), _shown(ours), _shown(theirs)))
    return tuple(sorted(found, key=lambda one: (one.place.startswith(MANY_FIELDS), one.place)))


def _leaves(value: Any, place: Place = ()) -> dict[Place, Any]:
    """Return the place and the value of each text, number, null and empty object or list inside a JSON value."""
    if not isinstance(value, (dict, list)) or not value:
        return {place: value}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return {at: leaf for name, item in items for at, leaf in _leaves(item, (*place, name)).items()}


def _agree(card: Any, run: Any) -> bool:
    """Return whether a value of a card is that of the run: a number is rounded, and NaN is null."""
    if not isinstance(run, float) or not isinstance(card, float):
        is_nan = card is None and isinstance(run, float) and not math.isfinite(run)
        return is_nan or (type(card) is type(run) and card == run)
    is_near = rounded(card) == card and abs(card - run) <= TOLERANCE * last_digit(card)
    return is_near or card == run  # earlier versions of kgeval did not round facts


def _shown(value: Any) -> str:
    """Return a value as a card shows it."""
    if value is _ABSENT:
        return "nothing"
    return json.dumps(rounded(value) if isinstance(value, float) else value, ensure_ascii=False)
