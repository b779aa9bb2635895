"""KGT5 and KGT5-context: sampled answers as texts with log-probabilities, JSON lines or one JSON list.

``{"input": "predict tail: NAME | RELATION |", "target": NAME, "predictions": [NAME, ...], "scores": [number, ...]}``.
The tools themselves only print metrics. The keys above are the names of variables in the tools; scripts that save the
samples use these names.

Traps. The input names the side: ``predict tail:`` or ``|TAIL|`` or ``<extra_id_55>`` asks for the object; ``predict
head:``, ``|HEAD|``, ``<extra_id_56>`` or a relation ``Reverse of ...`` (KGT5-context) asks for the subject. A
description or context may follow on the same line or on others. A text that is sampled many times counts once, with its
largest log-probability. Different texts with equal log-probabilities tie. Samples are generated text, and some samples
name no entity: KGT5 removes these samples before it ranks, kgeval keeps them as wrong answers. The samples still
contain known answers, since the tools remove known answers only when they rank.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgeval.base.checks import cut_label
from kgeval.data.dataset import Dataset
from kgeval.data.predictions import UNMAPPED, Predictions
from kgeval.errors import DataError
from kgeval.formats.prediction_files.mapping import PredictionOptions, predictions
from kgeval.formats.prediction_files.records import first_record, json_records
from kgeval.formats.prediction_files.rows import Rows
from kgeval.formats.registry import Format

TARGETS = ("target", "gold", "targets", "label", "answer")
INPUTS = ("input", "query", "prompt")
SCORES = ("scores", "log_probs", "logprobs", "log_probabilities")
_SIDES = {"tail": "object", "head": "subject", "<extra_id_55>": "object", "<extra_id_56>": "subject"}
_START = re.compile(r"(?:predict (tail|head):|\|(tail|head)\||(<extra_id_5[56]>)|query:)\s*", re.IGNORECASE)
_DESCRIPTION = re.compile(r"\s*(\n|<extra_id_9[678]>|\bcontext:).*", re.DOTALL)
REVERSE = "Reverse of "


def sniff(path: Path) -> bool:
    """Return whether the first object has an input as text, predictions and scores, under one of the known keys."""
    first = first_record(path)
    query = next((first.values[key] for key in INPUTS if isinstance(first.values.get(key), str)), None)
    return query is not None and "predictions" in first.values and any(key in first.values for key in SCORES)


def read(path: Path, dataset: Dataset, options: PredictionOptions) -> Predictions:
    """Read sampled answers of KGT5 or KGT5-context."""
    options.check_used("kgt5", ("entity_names", "relation_names", "side"))
    rows = Rows(path)
    n_samples = n_merged = 0
    for line, record in json_records(path):
        where = f"{path}, line {line}"
        if not isinstance(record, dict):
            raise DataError(f"{where}: expected an object with input, target, predictions and scores")
        query, target, scores = (_first(record, keys, where) for keys in (INPUTS, TARGETS, SCORES))
        if isinstance(target, list) and len(target) == 1:
            target = target[0]
        samples = rows.labels([text or " " for text in record.get("predictions") or []], line)
        log_probabilities = rows.numbers(scores, line)
        if len(samples) != len(log_probabilities):
            raise DataError(f"{where}: {len(samples):,} predictions, but {len(log_probabilities):,} scores")
        best: dict[str, float] = {}
        for text, value in zip(samples, log_probabilities):
            text = text.strip() or "(empty)"
            best[text] = max(best.get(text, value), value)
        n_samples, n_merged = n_samples + len(samples), n_merged + len(samples) - len(best)
        given, relation, side = _query(rows, record, query, line, options)
        asked = rows.label(target, line, "the target")
        triple = (asked, relation, given) if side == "subject" else (given, relation, asked)
        rows.add(line, triple, side, best, best.values())
    notes = [
        "read as samples of KGT5: answers with equal log-probabilities tie",
        f"{n_merged:,} of {n_samples:,} samples repeat a text of their query: each text counts once, with its largest "
        "log-probability",
        "samples are not filtered, as KGT5 removes known answers only when it ranks",
    ]
    result = predictions(rows, dataset, options, filtered="no", notes=notes, is_generated=True, is_named=True)
    if (result.answers.values == UNMAPPED).any() and not result.unmapped_may_be_known:
        note = "KGT5 leaves out texts that name no entity; here they keep their places as wrong answers"
        result = replace(result, notes=(*result.notes, note))
    return result


def _first(record: dict[str, Any], keys: tuple[str, ...], where: str) -> Any:
    """Return the value of the first key in `keys` that an object has; a key in `INPUTS` must have a text as value."""
    for key in keys:
        if key in record and not (keys is INPUTS and not isinstance(record[key], str)):
            return record[key]
    raise DataError(
        f"{where}: expected the key {keys[0]!r} (or {', '.join(keys[1:])}); got {cut_label(', '.join(record))}"
    )


def _query(
    rows: Rows, record: dict[str, Any], query: str, line: int, options: PredictionOptions
) -> tuple[str, str, str]:
    """Return the given entity, the relation and the side of an input."""
    where = f"{rows.paths[-1]}, line {line}"
    start = _START.match(query)
    text = query[start.end() :] if start else query
    words = [word.strip() for word in re.split(r"\s*\|+\s*", _DESCRIPTION.sub("", text).strip().rstrip("|"))]
    if len(words) != 2 or not all(words):
        raise DataError(
            f"{where}: expected an input such as 'predict tail: NAME | RELATION |'; got {cut_label(repr(query))}"
        )
    mark = next((part for part in start.groups() if part), "").lower() if start else ""
    sides = {_SIDES[mark]} if mark else set()
    if words[1].startswith(REVERSE):
        sides.add("subject")
        words[1] = words[1].removeprefix(REVERSE)
    if "is_tail_pred" in record:
        sides.add("object" if record["is_tail_pred"] else "subject")
    if not sides and start and start[0].lower().startswith("query:"):
        sides.add("object")  # KGT5-context marks the subject queries only
    if len(sides) > 1:
        raise DataError(f"{where}: the input {cut_label(repr(query))} and is_tail_pred contradict each other")
    side = sides.pop() if sides else options.side_of_file(where)
    return words[0], words[1], side


FORMAT = Format("kgt5", sniff, read, "samples of KGT5 (input, target, predictions, scores)")
