"""Read which type each entity has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kgeval.data import Vocabulary
from kgeval.errors import DataError
from kgeval.files import read_text

NO_TYPE = "none"


def read_types(file: str | Path, entities: Vocabulary) -> tuple[pd.Categorical, tuple[str, ...]]:
    """Read one type per entity, of those that a file names.

    An entity with several types has the most frequent of them: the one that most entities of `entities` have, of
    equally frequent ones the first by code point. One without has the type ``"none"``, as one whose type is so called.

    Parameters
    ----------
    file : str or path
        UTF-8. Named ``.json``: an object of entity labels, the value a type or a list of types. Any other: lines
        ``entity<TAB>type``, several lines for an entity with several types.
    entities : Vocabulary
        Of the dataset.

    Returns
    -------
    types : pandas.Categorical of str, shape (entities,)
        In id order; categories sorted.
    unknown : tuple of str
        The labels in the file that are none of `entities`, in the file's order; they are left out.

    Raises
    ------
    DataError
        If the file cannot be read, or a line or a value is none of the above; names file and line. Also if no entity
        of the file is known.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "types.tsv"
    >>> _ = file.write_text("Jack\\tperson\\nItaly\\tcountry\\nMars\\tplanet\\n")
    >>> types, unknown = read_types(file, Vocabulary(["Italy", "Jack", "Thomas"]))
    >>> list(types), unknown
    (['country', 'person', 'none'], ('Mars',))
    """
    path = Path(file)
    text = read_text(path)
    named = _from_json(path, text) if path.suffix.lower() == ".json" else _from_lines(path, text)
    labels = list(named)
    ids = entities.find(np.array(labels, dtype=object))
    unknown = tuple(label for label, i in zip(labels, ids.tolist()) if i < 0)
    if len(unknown) == len(labels):
        shown = f"; it has {len(labels):,}, first {labels[0]!r}" if labels else "; it has none"
        raise DataError(f"{path}: names no entity of the dataset{shown}. Expected labels such as {entities.labels[:1]}")
    held = {i: named[label] for label, i in zip(labels, ids.tolist()) if i >= 0}
    return _most_frequent(held, len(entities)), unknown


def _most_frequent(types_of: dict[int, dict[str, None]], n_entities: int) -> pd.Categorical:
    counts: dict[str, int] = {}
    for types in types_of.values():
        for name in types:
            counts[name] = counts.get(name, 0) + 1
    chosen = np.full(n_entities, NO_TYPE, dtype=object)
    for entity, types in types_of.items():
        chosen[entity] = min(types, key=lambda name: (-counts[name], name), default=NO_TYPE)
    return pd.Categorical(chosen, categories=sorted(set(chosen.tolist())))


def _from_lines(path: Path, text: str) -> dict[str, dict[str, None]]:
    """Return the types of each entity, each once, in the order of the file."""
    named: dict[str, dict[str, None]] = {}
    for number, line in enumerate(text.rstrip("\n").split("\n") if text.strip("\n") else [], start=1):
        parts = line.split("\t")
        if len(parts) != 2:
            found = len(parts) if line else 0
            raise DataError(
                f"{path}, line {number}: expected 2 tab-separated columns (entity, type), found {found}: {line[:80]!r}"
            )
        if "" in parts:
            raise DataError(f"{path}, line {number}: column {parts.index('') + 1} is empty: {line[:80]!r}")
        named.setdefault(parts[0], {})[parts[1]] = None
    return named


def _from_json(path: Path, text: str) -> dict[str, dict[str, None]]:
    """Return the types of each entity, each once, in the order of the file."""

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            labels = [label for label, _ in pairs]
            label = next(label for i, label in enumerate(labels) if label in labels[:i])
            raise DataError(f"{path}, {_where(text, label, 1)}: {label!r} stands twice; give its types in one list")
        return found

    try:
        named = json.loads(text, object_pairs_hook=distinct)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}, column {error.colno}: no JSON: {error.msg}") from None
    if not isinstance(named, dict):
        raise DataError(f"{path}, line 1: expected an object {{entity: type or [types]}}; got {type(named).__name__}")
    result: dict[str, dict[str, None]] = {}
    for label, value in named.items():
        types = value if isinstance(value, list) else [value]
        wrong = [name for name in types if not isinstance(name, str) or not name]
        if wrong:
            raise DataError(
                f"{path}, {_where(text, label)}: entity {label!r}: expected a type or a list of types, each a string "
                f"that is not empty; got {wrong[0]!r}"
            )
        result[label] = dict.fromkeys(types)
    return result


def _where(text: str, label: str, nth: int = 0) -> str:
    """Return the line of the n-th key (from 0) that is the label; line 1 if the file writes it with other escapes."""
    written = "|".join(re.escape(json.dumps(label, ensure_ascii=is_ascii)) for is_ascii in (True, False))
    found = [match.start() for match in re.finditer(rf"(?:{written})\s*:", text)]
    return f"line {text.count(chr(10), 0, found[nth]) + 1 if len(found) > nth else 1}"
