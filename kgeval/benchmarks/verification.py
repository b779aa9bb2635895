"""Verify a card: compute everything on it again from the saved run, and list what differs (`kgeval card --check`)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgeval._version import __version__
from kgeval.base.checks import counted
from kgeval.base.wording import percent
from kgeval.benchmarks.card import ROUNDED, Card, read_card, run_facts_of
from kgeval.benchmarks.card_files import last_digit, place_in, rounded
from kgeval.results.evaluation_result import EvaluationResult

# A number of a card agrees if it is the number of the run rounded to the digits of a card. Other versions of numpy sum
# in another order. So if the run's number is very near to the midpoint of two rounded numbers, both of them agree.
TOLERANCE = 0.501  # in units of the last digit
MAX_LISTED = 10  # of the differences of an item, the text lists at most this many
ABSENT = "nothing"
_NO_VALUE = object()


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
    items : dict of str to str
        The checked items of the card, and a description of each.
    disagreements : tuple of Disagreement
        Empty if the card agrees with the run in all fields.
    unchecked : tuple of str
        Facts on the card that a run does not contain.
    hint : str
        What may have caused the disagreements; empty if nothing is known.
    contradictions : tuple of str
        As `Card.contradictions`; a card with a contradiction agrees with no run.
    """

    items: dict[str, str]
    disagreements: tuple[Disagreement, ...]
    unchecked: tuple[str, ...] = ()
    hint: str = ""
    contradictions: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether the card agrees with the run in all checked fields, and does not contradict itself."""
        return not self.disagreements and not self.contradictions

    def of_item(self, item: str) -> list[Disagreement]:
        """Return the disagreements of an item.

        Parameters
        ----------
        item : str
            A key of `items`.
        """
        return [one for one in self.disagreements if one.place.partition("/")[0] == item]

    def lines(self) -> list[str]:
        """Return one line per checked item; below an item that differs, one line per field that differs."""
        width = max(map(len, self.items))
        lines = []
        for item, text in self.items.items():
            found = self.of_item(item)
            lines.append(f"{item:{width}}  {'DIFFERS' if found else text}")
            lines += [f"  {one}" for one in found[:MAX_LISTED]]
            lines += [f"  and {len(found) - MAX_LISTED:,} more"] if len(found) > MAX_LISTED else []
        lines += [f"the card contradicts itself: {text}" for text in self.contradictions]
        return lines + [f"not checked: {text}" for text in self.unchecked] + ([self.hint] if self.hint else [])

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
    >>> [one.place for one in verify_card(card, down).of_item("hashes")]
    ['hashes/ranks', 'hashes/scores']
    """
    card = card if isinstance(card, Card) else read_card(card)
    date = card.content["date"]
    differences = disagreements(card, {**run_facts_of(result), "date": date})
    unchecked = () if date is None else (f"the date {date}; a run does not contain one",)
    recorded = result.facts["version"]
    is_other = recorded != __version__ and any(one.place.startswith(ROUNDED) for one in differences)
    hint = (
        f"the run was made by kgeval {recorded} and this is kgeval {__version__}; if only limits of intervals differ, "
        "verify the card with the version that wrote it"
    )
    return Verification(_items(card), differences, unchecked, hint if is_other else "", card.contradictions)


def disagreements(card: Card, facts: dict[str, Any]) -> tuple[Disagreement, ...]:
    """Return the fields in which a card differs from the facts of a run.

    Parameters
    ----------
    card : Card
    facts : dict
        From `run_facts_of`, with the date of the card.
    """
    return tuple(
        one
        for name in sorted({*card.content, *facts})
        for one in _differences(card.content.get(name, _NO_VALUE), facts.get(name, _NO_VALUE), name, name in ROUNDED)
    )


def _differences(card: Any, run: Any, place: str, is_rounded: bool) -> Iterator[Disagreement]:
    """Yield each field below `place` in which two JSON values differ; NaN of the run is null on the card."""
    if isinstance(card, dict) and isinstance(run, dict):
        for name in sorted({*card, *run}):
            values = card.get(name, _NO_VALUE), run.get(name, _NO_VALUE)
            yield from _differences(*values, place_in(place, name), is_rounded)
    elif isinstance(card, list) and isinstance(run, list) and len(card) == len(run):
        for number, values in enumerate(zip(card, run)):
            yield from _differences(*values, f"{place}[{number}]", is_rounded)
    elif is_rounded and isinstance(run, float):
        if not _same_number(card, run):
            yield Disagreement(place, _shown(card), _shown(rounded(run)))
    elif type(card) is not type(run) or card != run:
        yield Disagreement(place, _shown(card), _shown(run))


def _same_number(card: Any, run: float) -> bool:
    """Return whether a number of a card equals the number of the run, rounded as on a card."""
    if not math.isfinite(run) or not isinstance(card, (int, float)) or isinstance(card, bool):
        return card is None and not math.isfinite(run)
    return rounded(card) == card and abs(card - run) <= TOLERANCE * last_digit(card)


def _shown(value: Any) -> str:
    return ABSENT if value is _NO_VALUE else json.dumps(value, ensure_ascii=False)


def _items(card: Card) -> dict[str, str]:
    """Return the checked items of a card with the text that is shown if they agree, in the order of the text."""
    content, seed = card.content, "" if card.seed is None else f", seed {card.seed}"
    triples, n_values = counted(content["counts"]["triples"], "triple"), counted(len(content["metrics"]), "value")
    texts = {
        "model": f"{card.model}{seed}",
        "dataset": f"{card.dataset}, {card.dataset_fingerprint[:8]}, as the run recorded it",
        "protocol": f"{card.protocol_fingerprint}, {card.protocol_sentence}",
        "counts": f"{counted(card.n_ranks, 'rank')} of {triples}",
        "metrics": f"{n_values} with limits of their intervals, computed again from the ranks",
        "intervals": f"{content['intervals']['confidence']:.0%}, clusters by {content['intervals']['cluster']}",
        "ties": "unknown" if math.isnan(card.tie_rate) else f"{percent(card.tie_rate)} of the filtered ranks",
        "unknown": ", ".join(content["unknown"]) or "nothing",
        "notes": counted(len(content["notes"]), "note"),
        "facts": ", ".join(content["facts"]) or "none",
        "versions": ", ".join(f"{name} {version}" for name, version in content["versions"].items() if version),
        "hashes": f"ranks {card.hash[:8]}, scores {str(content['hashes']['scores'])[:8]}",
    }
    return {"format": content["format"], **texts}
