"""`read_types`: reads the types of entities from a file, for the features ``type_given`` and ``type_asked``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd

from kgeval.base.checks import names_unknown_arguments
from kgeval.base.files import each_name_once, read_text
from kgeval.base.limits import check_json
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError

NO_TYPE = "none"


@names_unknown_arguments(file="path=")
def read_types(path: str | Path, entities: Vocabulary) -> tuple[pd.Categorical, tuple[str, ...]]:
    """Read one type for each entity from a file.

    If the file gives an entity several types, the entity gets the most frequent of them: the type that the largest
    number of entities of the dataset have. Of equally frequent types, the entity gets the first in the order of code
    points.
    Entities without a type in the file get the type ``"none"``, like entities whose type in the file is ``"none"``.

    Parameters
    ----------
    path : str or path
        UTF-8. A file named ``.json`` contains a JSON object: each key is the label of an entity, each value a type or a
        list of types. Any other file contains lines ``entity<TAB>type``; an entity with several types has several
        lines.
    entities : Vocabulary
        The entities of the dataset.

    Returns
    -------
    types : pandas.Categorical of str, shape (entities,)
        In id order; the categories are sorted.
    unknown : tuple of str
        The labels in the file that are not entities of the dataset, in the order of the file; their types are ignored.

    Raises
    ------
    DataError
        If the file cannot be read, if a line or a value does not have the form described above (the message names the
        file and the line), or if no label in the file is an entity of the dataset.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "types.tsv"
    >>> _ = file.write_text("Jack\\tperson\\nItaly\\tcountry\\nMars\\tplanet\\n")
    >>> types, unknown = read_types(file, Vocabulary(["Italy", "Jack", "Thomas"]))
    >>> list(types), unknown
    (['country', 'person', 'none'], ('Mars',))
    """
    path = Path(path)
    text = read_text(path)
    types_of_label = _from_json(path, text) if path.suffix.lower() == ".json" else _from_lines(path, text)
    labels = list(types_of_label)
    ids = entities.find(np.array(labels, dtype=object))
    unknown = tuple(label for label, i in zip(labels, ids.tolist()) if i < 0)
    if len(unknown) == len(labels):
        shown = f"; the first of its {len(labels):,} labels is {labels[0]!r}" if labels else "; the file has no labels"
        raise DataError(
            f"{path}: no label in the file is an entity of the dataset{shown}. "
            f"Expected labels such as {entities.labels[:1]}"
        )
    types_of_id = {i: types_of_label[label] for label, i in zip(labels, ids.tolist()) if i >= 0}
    return _most_frequent(types_of_id, len(entities)), unknown


def _most_frequent(types_of: dict[int, dict[str, None]], n_entities: int) -> pd.Categorical:
    """Return the most frequent type of each entity, in id order.

    `types_of` maps the id of an entity to a dict whose keys are the distinct types of the entity.
    """
    counts: dict[str, int] = {}
    for types in types_of.values():
        for name in types:
            counts[name] = counts.get(name, 0) + 1
    chosen = np.full(n_entities, NO_TYPE, dtype=object)
    for entity, types in types_of.items():
        chosen[entity] = min(types, key=lambda name: (-counts[name], name), default=NO_TYPE)
    return pd.Categorical(chosen, categories=sorted(set(chosen.tolist())))


def _from_lines(path: Path, text: str) -> dict[str, dict[str, None]]:
    """Return the distinct types of each label in a file of lines, in the order of the file."""
    types_of: dict[str, dict[str, None]] = {}
    for number, line in enumerate(text.rstrip("\n").split("\n") if text.strip("\n") else [], start=1):
        parts = line.split("\t")
        if len(parts) != 2:
            n_columns = len(parts) if line else 0
            raise DataError(
                f"{path}, line {number}: expected 2 tab-separated columns (entity, type), found {n_columns}: "
                f"{line[:80]!r}"
            )
        if "" in parts:
            raise DataError(f"{path}, line {number}: column {parts.index('') + 1} is empty: {line[:80]!r}")
        types_of.setdefault(parts[0], {})[parts[1]] = None
    return types_of


def _from_json(path: Path, text: str) -> dict[str, dict[str, None]]:
    """Return the distinct types of each label in a JSON file, in the order of the file."""
    once = each_name_once(
        lambda label: f"{path}, {_where(text, label, 1)}: duplicate key {label!r}; give its types in one list"
    )
    check_json(text, f"{path}: not JSON that is read")
    try:
        content = json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from None
    except ValueError as error:  # a number of more than 4,300 digits
        raise DataError(f"{path}: not JSON that is read: {error}") from None
    if not isinstance(content, dict):
        raise DataError(f"{path}, line 1: expected an object {{entity: type or [types]}}; got {type(content).__name__}")
    types_of: dict[str, dict[str, None]] = {}
    for label, value in content.items():
        types = value if isinstance(value, list) else [value]
        wrong = [name for name in types if not isinstance(name, str) or not name]
        if wrong:
            raise DataError(
                f"{path}, {_where(text, label)}: entity {label!r}: expected a type or a list of types, each a string "
                f"that is not empty; got {wrong[0]!r}"
            )
        if any("\ud800" <= character <= "\udfff" for character in "".join(types)):
            raise DataError(
                f"{path}, {_where(text, label)}: a type of entity {label!a} contains a lone surrogate (half a "
                "character), which UTF-8 cannot encode"
            )
        types_of[label] = dict.fromkeys(types)
    return types_of


def _where(text: str, label: str, nth: int = 0) -> str:
    """Return the place of the key `label` in a JSON text, such as ``"line 3"``.

    If the key occurs several times, `nth` chooses the occurrence, counted from 0. The place is ``"line 1"`` if the key
    is not found: JSON can write a label in several ways, with escapes, and not all of these ways are searched.
    """
    written = "|".join(re.escape(json.dumps(label, ensure_ascii=is_ascii)) for is_ascii in (True, False))
    # starts: the position in `text` of each key that equals the label
    starts = [match.start() for match in re.finditer(rf"(?:{written})\s*:", text)]
    return f"line {text.count(chr(10), 0, starts[nth]) + 1 if len(starts) > nth else 1}"
