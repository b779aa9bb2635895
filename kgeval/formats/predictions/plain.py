"""kgeval's own format: one JSON object for each query, on a line of its own (JSON lines) or in one JSON list.

``{"query": [s, p, null], "predictions": [label, ...], "gold": label}``. The null in ``query`` stands for the missing
entity. ``query`` may also be an object with the keys s, p, o, or head, relation, tail, or other names of
`kgeval.data.column_names.COLUMN_NAMES`. Scores have one of three forms: ``"scores": [number, ...]`` beside the answers;
an object ``{"entity": label, "score": number}`` as each answer; or an object ``{label: score}`` as ``predictions``.
Answers with equal scores tie. Without scores, the order of the list is the ranking. Without ``gold``, the list is used
for all positives of its query. Times and qualifiers stand beside the query, under the names of their columns in the
dataset: ``"time": 183``; they are read if every object has them, with null for a missing value. A note names the keys
that are not read.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from kgeval.base.checks import cut_label
from kgeval.data.column_names import COLUMN_NAMES
from kgeval.data.dataset import Dataset
from kgeval.data.keys import natural_key
from kgeval.data.predictions import Predictions
from kgeval.errors import DataError
from kgeval.formats.prediction_files.mapping import PredictionOptions, predictions
from kgeval.formats.prediction_files.records import first_record, json_records
from kgeval.formats.prediction_files.rows import Rows
from kgeval.formats.registry import Format

EXPECTED = (
    'expected {"query": [s, p, null], "predictions": [label, ...], "gold": label}, with null for the asked part and '
    "gold only if the list is for one positive"
)
KEYS = ("query", "predictions", "gold", "scores")
_EXACT = "exact"
_HINT = "; to count a text that names no entity as a wrong answer, use matching='exact' (--matching exact)"


def sniff(path: Path) -> bool:
    """Return whether the first object has the keys ``query`` (a list or an object) and ``predictions``."""
    first = first_record(path)
    return first.has("query", "predictions") and isinstance(first.values["query"], (list, dict))


def read(path: Path, dataset: Dataset, options: PredictionOptions) -> Predictions:
    """Read kgeval's own format of predictions."""
    options.check_used("plain", ("entity_names", "relation_names", "matching"))
    if options.matching not in (None, _EXACT):
        raise DataError(f"{path}: matching must be 'exact' for this format, or not given; got {options.matching!r}")
    rows = Rows(path)
    seen: dict[tuple[str | None, ...], int] = {}  # the line of each query without gold
    other_keys: dict[str, None] = {}
    values: dict[str, list[Any]] = {name: [] for name in natural_key(dataset)} if dataset is not None else {}
    for line, record in json_records(path):
        if not isinstance(record, dict) or not {"query", "predictions"} <= set(record):
            raise DataError(f"{path}, line {line}: {EXPECTED}; got {cut_label(repr(record))}")
        other_keys.update(dict.fromkeys(key for key in record if key not in KEYS))
        for name in values.keys() & record.keys():
            values[name].append(record[name])
        (s, p, o), side = _query(rows, record["query"], line)
        gold = record.get("gold")
        if gold is not None:
            gold = rows.label(gold, line, "gold")
            s, o = (gold, o) if side == "subject" else (s, gold)
        elif (first := seen.setdefault((s, p, o, *(repr(record.get(name)) for name in values)), line)) != line:
            raise DataError(
                f"{path}, line {line}: the query ({s}, {p}, {o}) is already on line {first}; keep one, or give "
                "each list its positive (gold)"
            )
        answers, scores = _answers(rows, record["predictions"], record.get("scores"), line)
        rows.add(line, (s, p, o), side, answers, scores)
    how = "answers with equal scores tie" if rows.scores is not None else "the order of each list is its ranking"
    is_exact = options.matching == _EXACT
    notes = [f"read as kgeval's format of predictions: {how}"]
    columns = {name: part for name, part in values.items() if len(part) == len(rows)}
    notes += [f"each list belongs to its {' and '.join(columns)}"] if columns else []
    other_keys = {key: None for key in other_keys if key not in columns}
    notes += [f"keys that were not read: {cut_label(', '.join(other_keys))}"] if other_keys else []
    if is_exact:
        notes.append("answers are matched exactly: a text that is neither a label nor a name stays unmapped")
    found = predictions(rows, dataset, options, notes=notes, is_generated=is_exact, is_named=is_exact, hint=_HINT)
    return replace(found, columns=columns)


def _query(rows: Rows, query: Any, line: int) -> tuple[tuple[str | None, str, str | None], str]:
    """Return the triple of a query, with None for the missing entity, and the side of the query."""
    where = f"{rows.paths[-1]}, line {line}"
    parts = query
    if isinstance(query, dict):
        lowered = {str(key).lower(): value for key, value in query.items()}
        # The key of the missing entity may be left out.
        names = next((names for names in COLUMN_NAMES if set(lowered) <= set(names) and names[1] in lowered), None)
        if names is None:
            known = "; ".join(", ".join(names) for names in COLUMN_NAMES)
            raise DataError(f"{where}: expected the keys of a query to be one of {known}; got {', '.join(query)}")
        parts = [lowered.get(name) for name in names]
    if not isinstance(parts, list) or len(parts) != 3:
        raise DataError(f"{where}: {EXPECTED}; got the query {cut_label(repr(query))}")
    if (parts[0] is None) == (parts[2] is None) or parts[1] is None:
        raise DataError(
            f"{where}: exactly one of subject and object must be null in a query; got {cut_label(repr(query))}"
        )
    p = rows.label(parts[1], line, "the relation")
    if parts[0] is None:
        return (None, p, rows.label(parts[2], line, "the object")), "subject"
    return (rows.label(parts[0], line, "the subject"), p, None), "object"


def _answers(rows: Rows, answers: Any, scores: Any, line: int) -> tuple[list[str], list[float] | None]:
    """Return the labels and the scores of a list of answers; None for the scores if the list has no scores."""
    if isinstance(answers, dict):
        answers = [{"entity": label, "score": score} for label, score in answers.items()]
    if not isinstance(answers, list) or not any(isinstance(answer, dict) for answer in answers):
        return rows.labels(answers, line), None if scores is None else rows.numbers(scores, line)
    if scores is not None:
        raise DataError(f"{rows.paths[-1]}, line {line}: scores beside the answers and within them; keep only one kind")
    for answer in answers:
        if not isinstance(answer, dict) or not {"entity", "score"} <= set(answer):
            raise DataError(
                f'{rows.paths[-1]}, line {line}: expected {{"entity": label, "score": number}} for each answer of a '
                f"list with scores; got {cut_label(repr(answer))}"
            )
    labels = [rows.label(answer["entity"], line, "an answer") for answer in answers]
    return labels, [rows.number(answer["score"], line) for answer in answers]


FORMAT = Format("plain", sniff, read, "kgeval's own JSON lines (query, predictions, gold)")
