"""Cards as JSON: the fields of a card, the text of a card, and a strict reader of card files.

`kgeval.benchmarks.card` calls this module. The guide (``kgeval help cards``) explains every field.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from kgeval.base.files import check_source, read_text
from kgeval.base.limits import check_json
from kgeval.data.protocol import Protocol
from kgeval.errors import DataError, MetricError
from kgeval.results.keys import Key

VERSION = 2  # version 1 called bounded ranks "undecided"
FORMAT = f"kgeval card {VERSION}"
_NEW_COUNTS = {"undecided": "bounded"}
MAX_WIDTH = 110  # an object with plain values only is written on one line if the line is not longer than this
MAX_COUNT = 2**63 - 1
MAX_DIGITS = 10  # numbers of a card have at most this many significant digits, and at most this many decimals

_METRIC = {
    "value": "number?",
    "low": "number?",
    "high": "number?",
    "least?": "number",
    "greatest?": "number",
    "reason?": "text",
}
_SETTINGS = {"sides": ["text"], "splits": ["text"], "sample?": {"*": "any"}, "*": "any"}
# The fields of a card. A field whose name ends in "?" may be absent. The kind of a value is a word of `_KINDS`; a kind
# that ends in "?" allows null. In an object, "*" is the kind of all fields that are not named; [kind] is a list.
FIELDS: dict[str, Any] = {
    "format": "text",
    "date": "date?",
    "model": {"name": "text", "name_from": "text", "scorer": "text?", "seed": "count?"},
    "dataset": {
        "name": "text",
        "fingerprint": "text",
        "labels": "text",
        "entities": "count",
        "relations": "count",
        "split_sizes": {"*": "count"},
        "observations": ["text"],
    },
    "protocol": {"sentence": "text", "fingerprint": "text", "settings": _SETTINGS},
    "counts": {
        "triples": "count",
        "queries": "count",
        "unseen": "count",
        "read": "count",
        "ranks": "count",
        "ranks_by_side": {"*": "count"},
        "ranks_by_split": {"*": "count"},
        "bounded": {"raw": "count", "filtered": "count"},
        "dropped": {"*": "count"},
    },
    "metrics": {"*": _METRIC},
    "intervals": {"confidence": "number", "cluster": "text", "method": "text"},
    "ties": {"counted": "text", "share": "number?", "range": {"*": {"optimistic": "number", "pessimistic": "number"}}},
    "unknown": {"*": "text"},
    "notes": ["text"],
    "facts": {"*": "any"},
    "versions": {"kgeval": "text", "numpy": "text?", "python": "text?"},
    "hashes": {"ranks": "text", "scores": "text?"},
}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


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
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "date": ("a date, written YYYY-MM-DD,", is_date),
    "text": ("a text", lambda value: isinstance(value, str)),
    "count": ("an integer of at least 0", _is_count),
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
    return _json_text(content, "", 0)


def _json_text(value: Any, indent: str, place: int) -> str:
    """Return a value as JSON; `place` is the number of characters before the value on its line."""
    line = json.dumps(value, sort_keys=True, allow_nan=False)
    if not isinstance(value, (dict, list)) or not value:
        return line
    inner = list(value.values()) if isinstance(value, dict) else value
    is_flat = not any(isinstance(item, (dict, list)) for item in inner)
    if is_flat and indent and place + len(line) <= MAX_WIDTH:
        return line
    deeper = indent + "  "
    if isinstance(value, dict):
        starts = [(f"{json.dumps(name)}: ", value[name]) for name in sorted(value)]
    else:
        starts = [("", item) for item in value]
    parts = [deeper + start + _json_text(item, deeper, len(deeper + start)) for start, item in starts]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(parts) + f"\n{indent}{closing}"


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
    with Path(path).open("rb") as stream:
        if stream.read(2) == b"PK":
            raise DataError(
                f"{path}: is a saved result or another archive, not a card; kgeval card makes cards of results"
            )
    text = read_text(path)
    check_json(text, f"{path}: is not JSON that is read")
    try:
        content = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}, column {error.colno}: is not JSON: {error.msg}") from error
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except ValueError as error:  # a number of more than 4,300 digits
        raise DataError(f"{path}: is not a card: {error}") from error
    content = _upgraded(content)
    check_content(content, str(path))
    content["protocol"]["settings"] = Protocol.with_new_names(content["protocol"]["settings"])
    return dict(content)


def _upgraded(content: Any) -> Any:
    """Return the content of a card of version 1 as version 2 writes it; other content as it is.

    Version 1 called ranks of which only bounds are known "undecided": in a field of the counts, and at the end of the
    reason why a metric has no value.
    """
    if not isinstance(content, dict) or content.get("format") != "kgeval card 1":
        return content
    content = {**content, "format": FORMAT}
    if isinstance(content.get("counts"), dict):
        content["counts"] = {_NEW_COUNTS.get(name, name): value for name, value in content["counts"].items()}
    if isinstance(content.get("metrics"), dict):
        content["metrics"] = {key: _upgraded_metric(metric) for key, metric in content["metrics"].items()}
    return content


def _upgraded_metric(metric: Any) -> Any:
    reason = metric.get("reason") if isinstance(metric, dict) else None
    if not isinstance(reason, str):
        return metric
    return {**metric, "reason": re.sub(r"( ranks (?:is|are)) undecided$", r"\1 bounded", reason)}


def check_content(content: Any, path: str) -> None:
    """Raise a DataError if a JSON value is not the content of a card.

    Parameters
    ----------
    content : JSON value
    path : str
        The name of the file, for the message.
    """
    found = content.get("format") if isinstance(content, dict) else None
    match = re.fullmatch(r"kgeval card ([0-9]+)", found) if isinstance(found, str) else None
    if not match:
        shown = f'"format" is {found!r}' if isinstance(content, dict) else f"it is {_shown(content)}"
        raise DataError(f'{path}: expected a card that kgeval card wrote, an object with "format": "{FORMAT}"; {shown}')
    if int(match[1]) != VERSION:
        raise DataError(
            f"{path}: the card has version {match[1]} of the format, but this kgeval reads versions up to {VERSION}; "
            f"{'upgrade kgeval' if int(match[1]) > VERSION else 'the versions start at 1'}"
        )
    _check(content, FIELDS, path, "")
    for key, metric in content["metrics"].items():
        where, value = f"{path}, {place_in('metrics', key)}", metric["value"]
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
            _check(item, kind[names.get(name, "*")], path, place_in(place, name))


def place_in(place: str, name: str) -> str:
    """Return the name of a field inside a field, such as ``"metrics/mrr"``.

    Parameters
    ----------
    place : str
        The outer field; empty for the card itself.
    name : str
    """
    return f"{place}/{name}" if place else name


def _shown(value: Any) -> str:
    """Return the start of a JSON value, for messages."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of a JSON text; raise a DataError if a name occurs twice."""
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the field {twice!r} occurs twice in one object")
    return content


def _refuse(constant: str) -> Any:
    raise DataError(f"{constant} is not JSON; a card has null in its place")
