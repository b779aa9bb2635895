"""TLogic and other temporal tools: one JSON object ``{query: {entity: score}}``.

A query is ``s TAB p TAB ?`` or ``? TAB p TAB o`` (``|`` or a comma in place of the tab are read too), or the number of
a row, counted from 0: row i is triple i of the split. TLogic adds inverse triples after the last triple of each split:
with n triples, row n + i asks for the subject of triple i. Entities are labels, or integer ids with ``ids=``.

Traps. Higher scores are better; equal scores tie. If all row numbers are below n, the user must give the side. If the
tool knows no answer to a query, the value is an empty object.
"""

from __future__ import annotations

from pathlib import Path

from kgeval.base.checks import cut_label
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.predictions import Predictions
from kgeval.errors import DataError
from kgeval.formats.prediction_files.mapping import PredictionOptions, id_labels, predictions
from kgeval.formats.prediction_files.records import first_record, json_pairs
from kgeval.formats.prediction_files.rows import Rows
from kgeval.formats.registry import Format

ASKED = "?"
SEPARATORS = ("\t", "|", ",")


def sniff(path: Path) -> bool:
    """Return whether the first entry is a query and an object of numbers."""
    first = first_record(path)
    key, value = next(iter(first.values.items()), ("", None))
    is_query = (key.isascii() and key.isdecimal()) or _words(key) is not None
    is_object = isinstance(value, dict) and all(isinstance(score, (int, float)) for score in value.values())
    return first.kind == "object" and is_query and is_object


def read(path: Path, dataset: Dataset, options: PredictionOptions) -> Predictions:
    """Read a JSON object of queries with scored entities."""
    options.check_used("tlogic", ("entity_names", "relation_names", "side"))
    # The file is read twice, so that its lists are not all in memory at once.
    numbers = [int(key) if key.isascii() and key.isdecimal() else -1 for _, key, _ in json_pairs(path)]
    n = len(dataset[options.split])
    is_numbered = bool(numbers) and min(numbers) >= 0
    has_inverse = is_numbered and max(numbers) >= n
    given_side = options.side_of_file(str(path)) if is_numbered and not has_inverse else ""
    rows = Rows(path)
    label_of = id_labels(path, dataset, options)
    for (line, key, value), number in zip(json_pairs(path), numbers):
        where = f"{path}, line {line}"
        if not isinstance(value, dict):
            raise DataError(f"{where}: expected {{entity: score}} for the query {cut_label(key)!r}")
        triple: tuple[str | None, str, str | None]
        if is_numbered:
            if number >= 2 * n:
                raise DataError(
                    f"{where}: row {number}, but {options.split} has {n:,} triples, {2 * n:,} with inverse ones"
                )
            triple = triple_labels(dataset, *dataset[options.split].array[number % n])
            side = given_side or ("subject" if number >= n else "object")
        else:
            words = _words(key)
            if words is None:
                raise DataError(
                    f"{where}: expected a query 's TAB p TAB ?' or '? TAB p TAB o'; got {cut_label(repr(key))}"
                )
            side = "subject" if words[0] == ASKED else "object"
            p = label_of(words[1], "relation")
            triple = (None, p, label_of(words[2])) if side == "subject" else (label_of(words[0]), p, None)
        scores = [rows.number(score, line) for score in value.values()]
        rows.add(line, triple, side, [label_of(entity) for entity in value], scores)
    notes = ["read as {query: {entity: score}}: answers with equal scores tie"]
    if has_inverse:
        notes.append(f"rows from {n:,} on ask for the subjects, as TLogic adds inverse triples after the last triple")
    return predictions(rows, dataset, options.without_ids(), notes=notes)


def _words(key: str) -> list[str] | None:
    """Return the three parts of a query; None if the text does not have three parts."""
    for separator in SEPARATORS:
        words = key.split(separator)
        if len(words) == 3 and (words[0] == ASKED) != (words[2] == ASKED) and all(words):
            return words
    return None


FORMAT = Format("tlogic", sniff, read, "TLogic's candidates ({query: {entity: score}})")
