"""Cards as JSON: the fields of a card, the text of a card, and a strict reader of card files.

`kgeval.benchmarks.card` calls this module. The guide (``kgeval help cards``) explains every field.
"""

from __future__ import annotations

import json
import math
import re
import sys
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from kgeval.base.files import check_source, each_name_once, parse_json, read_text
from kgeval.data.protocol import Protocol
from kgeval.errors import DataError, MetricError
from kgeval.results.keys import Key

FORMAT = "kgeval card 2"
OLD_FORMAT = "kgeval card 1"  # of kgeval 0.1: it called bounded ranks "undecided"
MAX_WIDTH = 110  # an object is written on one line if the line is not longer than this
MAX_COUNT = 2**63 - 1
MAX_DIGITS = 10  # numbers of a card have at most this many significant digits, and at most this many decimals

# The fields of a card. A field whose name ends in "?" may be absent. The kind of a value is a word of `_KINDS`; a kind
# that ends in "?" allows null. In an object, "*" is the kind of all fields that are not named; [kind] is a list.
FIELDS: dict[str, Any] = {
    "format": "text",
    "date": "date?",
    "model": {"name": "text", "name_from": "text", "scorer": "text?", "seed": "count?"},
    "dataset": {
        **dict.fromkeys(("name", "fingerprint", "labels"), "text"),
        **dict.fromkeys(("entities", "relations"), "count"),
        "split_sizes": {"*": "count"},
        "observations": ["text"],
    },
    "protocol": {
        **dict.fromkeys(("sentence", "fingerprint"), "text"),
        "settings": {"sides": ["text"], "splits": ["text"], "sample?": {"*": "any"}, "*": "any"},
    },
    "counts": {
        **dict.fromkeys(("triples", "queries", "unseen", "read", "ranks"), "count"),
        **{name: {"*": "count"} for name in ("ranks_by_side", "ranks_by_split", "dropped")},
        "bounded": {"raw": "count", "filtered": "count"},
    },
    "metrics": {
        "*": {
            **dict.fromkeys(("value", "low", "high"), "number?"),
            **dict.fromkeys(("least?", "greatest?"), "number"),
            "reason?": "text",
        }
    },
    "intervals": {"confidence": "number", "cluster": "text", "method": "text"},
    "ties": {"counted": "text", "share": "number?", "range": {"*": {"optimistic": "number", "pessimistic": "number"}}},
    "unknown": {"*": "text"},
    "notes": ["text"],
    "facts": {"*": "any"},
    "versions": {"kgeval": "text", "numpy": "text?", "python": "text?"},
    "hashes": {"ranks": "text", "scores": "text?"},
}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def is_date(value: Any) -> bool:
    """Return whether a value is a day of the calendar, written as YYYY-MM-DD.

    Parameters
    ----------
    value : object

    Examples
    --------
    >>> is_date("2024-02-29"), is_date("2026-02-29"), is_date("20260228"), is_date("yesterday")
    (True, False, False, False)
    """
    try:
        return bool(date.fromisoformat(value).isoformat() == value)
    except (TypeError, ValueError):
        return False


_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "date": ("a date, written YYYY-MM-DD,", is_date),
    "text": ("a text", lambda value: isinstance(value, str)),
    "count": ("an integer of at least 0", lambda value: type(value) is int and 0 <= value <= MAX_COUNT),
    "number": ("a number", _is_number),
    "any": ("a value", lambda value: True),
}


def rounded(number: float) -> float | None:
    """Return a number as a card shows it: with 10 significant digits, and at most 10 decimals; None for NaN.

    Parameters
    ----------
    number : float

    Examples
    --------
    >>> rounded(2 / 300), rounded(12345.678901234), rounded(1e-12), rounded(float("nan"))
    (0.0066666667, 12345.6789, 0.0, None)
    """
    if not math.isfinite(number):
        return None
    shown = f"{number:.{MAX_DIGITS}f}" if abs(number) < 1 else f"{number:.{MAX_DIGITS}g}"
    return float(shown) + 0.0  # no -0.0


def last_digit(number: float) -> float:
    """Return the value of one unit in the last digit of a number of a card, such as 1e-10 for 0.5.

    Parameters
    ----------
    number : float

    Examples
    --------
    >>> last_digit(0.5), last_digit(0.001), last_digit(12345.6789)
    (1e-10, 1e-10, 1e-05)
    """
    exponent = math.floor(math.log10(abs(number))) if number else 0
    return float(f"1e{max(exponent - MAX_DIGITS + 1, -MAX_DIGITS)}")


def card_text(content: dict[str, Any]) -> str:
    """Return the content of a card as strict JSON: ASCII, sorted keys, the same bytes for the same content.

    A field is one line, or, if that is too long, an object with a line for each of its fields.

    Parameters
    ----------
    content : dict

    Examples
    --------
    >>> print(card_text({"b": [1], "a": {"y": None, "x": "é"}}))
    {
      "a": {"x": "\\u00e9", "y": null},
      "b": [1]
    }
    """

    def line(value: Any) -> str:
        return json.dumps(value, sort_keys=True, allow_nan=False)

    fields = []
    for name, value in sorted(content.items()):
        start, text = f"  {line(name)}: ", line(value)
        if isinstance(value, dict) and len(start + text) > MAX_WIDTH:
            inner = [f"    {line(key)}: {line(item)}" for key, item in sorted(value.items())]
            text = "{\n" + ",\n".join(inner) + "\n  }"
        fields.append(start + text)
    return "{\n" + ",\n".join(fields) + "\n}"


def read_content(path: str | Path) -> dict[str, Any]:
    """Read the content of a card from a file, and check that it has the fields of a card.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict

    Raises
    ------
    DataError
        If the file cannot be read, if it is not JSON (the message has the line), if it is not a card or a card of
        another version, or if a field is missing, unknown, repeated, or has a wrong kind of value.
    """
    check_source(path)
    if zipfile.is_zipfile(path):
        raise DataError(f"{path}: is a saved result or another archive, not a card; kgeval card makes cards of results")
    twice = each_name_once(f"{path}: the field {{!r}} occurs twice in one object".format)
    text = read_text(path)
    content = parse_json(text, path, pairs_hook=twice)
    if isinstance(content, dict) and content.get("format") == OLD_FORMAT:
        text = text.replace('"undecided":', '"bounded":').replace(OLD_FORMAT, FORMAT)
        content = json.loads(re.sub(r'( ranks (?:is|are)) undecided"', r'\1 bounded"', text))
    check_content(content, str(path))
    content["protocol"]["settings"] = Protocol.with_new_names(content["protocol"]["settings"])
    return dict(content)


def check_content(content: Any, path: str) -> None:
    """Raise a DataError if a JSON value is not the content of a card.

    Parameters
    ----------
    content : JSON value
    path : str
        The name of the file, for the message.
    """
    found = content.get("format") if isinstance(content, dict) else None
    if found != FORMAT:
        raise DataError(
            f'{path}: expected a card that kgeval card wrote, an object with "format": "{FORMAT}"; '
            f'"format" is {_shown(found)}; a later version of kgeval may read it'
        )
    try:
        json.dumps(content, allow_nan=False)
    except ValueError as error:
        raise DataError(f"{path}: NaN and infinity are not JSON; a card has null in their place") from error
    _check(content, FIELDS, path, "")
    for key, metric in content["metrics"].items():
        where, value = f"{path}, metrics/{key}", metric["value"]
        for name, sign in (("low", 1), ("high", -1)):
            limit = metric[name]
            if limit is not None and value is not None and sign * limit > sign * value:
                raise DataError(
                    f"{where}: the value {value} lies outside its interval, whose {name} is {limit}; the card is not "
                    "as kgeval wrote it"
                )
        try:
            parsed = str(Key.parse(key))
        except MetricError as error:
            raise DataError(f"{where}: {error}") from error
        if parsed != key:
            raise DataError(f"{where}: the key must be written {parsed!r}")


def _check(value: Any, kind: Any, path: str, place: str) -> None:
    """Raise a DataError unless `value` is of a kind, as in `FIELDS`; `place` names the field in messages."""
    where = f"{path}, {place}" if place else path
    if isinstance(kind, str):
        expected, is_kind = _KINDS[kind.removesuffix("?")]
        if not is_kind(value) and not (kind.endswith("?") and value is None):
            or_null = " or null" if kind.endswith("?") else ""
            raise DataError(f"{where}: expected {expected}{or_null}; got {_shown(value)}")
    elif isinstance(kind, list):
        if not isinstance(value, list):
            raise DataError(f"{where}: expected a list; got {_shown(value)}")
        for number, item in enumerate(value):
            _check(item, kind[0], path, f"{place}[{number}]")
    elif not isinstance(value, dict):
        raise DataError(f"{where}: expected an object; got {_shown(value)}")
    else:
        names = {name.removesuffix("?"): name for name in kind if name != "*"}
        for name in names.values():
            if not name.endswith("?") and name not in value:
                raise DataError(f"{where}: the field {name!r} is missing")
        for name, item in value.items():
            if name not in names and "*" not in kind:
                raise DataError(f"{where}: unknown field {name!r}; the fields are {', '.join(names)}")
            _check(item, kind[names.get(name, "*")], path, f"{place}/{name}".lstrip("/"))


def _shown(value: Any) -> str:
    """Return the start of a JSON value, for messages."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
