"""ExplainaBoard: a JSON list of ``gold_head, gold_predicate, gold_tail, predict, predictions, true_rank``.

The list may be the entry ``predictions`` of an object (with ``user_defined_features_configs``). An older form is one
object ``{"s TAB p TAB o": [top answers, ...]}``; this form does not record the side, but the tool only asks for the
object ("link tail prediction").

Traps. ``predict`` names the side: head or tail; predicates are not ranked here. ``true_rank`` is the rank of the
positive, even if the list is too short to contain the positive. If every row has a ``true_rank``, these ranks are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import counted, cut_label
from kgeval.data.dataset import Dataset
from kgeval.data.predictions import GivenRanks, Predictions
from kgeval.errors import DataError
from kgeval.formats.prediction_files.mapping import PredictionOptions, given_ranks, predictions
from kgeval.formats.prediction_files.records import first_record, json_pairs, json_records, text_head
from kgeval.formats.prediction_files.rows import Rows
from kgeval.formats.registry import Format

GOLD = ("gold_head", "gold_predicate", "gold_tail")
SIDE_OF = {"head": "subject", "tail": "object"}
FEATURES = "user_defined_features_configs"


def sniff(path: Path) -> bool:
    """Return whether the file has the keys of ExplainaBoard, or keys ``s TAB p TAB o`` with lists as values."""
    first = first_record(path)
    if first.kind == "list":
        return first.has(*GOLD)
    if first.kind == "object" and (FEATURES in first.values or next(iter(first.values), "") == "predictions"):
        return '"gold_head"' in text_head(path)
    key = next(iter(first.values), "")
    return first.kind == "object" and key.count("\t") == 2 and isinstance(first.values[key], (list, type(None)))


def read(path: Path, dataset: Dataset | None, options: PredictionOptions) -> Predictions | GivenRanks:
    """Read a system output of ExplainaBoard for link prediction."""
    if next(iter(first_record(path).values), "").count("\t") == 2 and first_record(path).kind == "object":
        return _read_object(path, dataset, options)
    options.check_used("explainaboard")
    rows = Rows(path)
    ranks: list[Any] = []
    shown: list[int] = []  # the place of the positive in the list, from 1; 0 if it is not there
    for line, record in _records(path):
        where = f"{path}, line {line}"
        needed = (*GOLD, "predict", "predictions")
        if not isinstance(record, dict) or not set(needed) <= set(record):
            raise DataError(f"{where}: expected an object with {', '.join(needed)}; got {cut_label(repr(record))}")
        s, p, o = (rows.label(record[key], line, key) for key in GOLD)
        if record["predict"] not in SIDE_OF:
            raise DataError(f"{where}: expected 'head' or 'tail' as predict; got {cut_label(repr(record['predict']))}")
        side = SIDE_OF[record["predict"]]
        answers = rows.labels(record["predictions"], line)
        positive = s if side == "subject" else o
        rows.add(line, (s, p, o), side, answers)
        shown.append(answers.index(positive) + 1 if positive in answers else 0)
        ranks.append(record.get("true_rank"))
    notes = ["read as ExplainaBoard"]
    lengths = rows.answers.lengths.tolist()
    if not ranks or any(rank is None for rank in ranks):
        notes.append("the order of each list is its ranking")
        notes += ["true_rank is missing in some rows and was not used"] if any(r is not None for r in ranks) else []
        return predictions(rows, dataset, options, notes=notes)
    n_differ = 0
    for row, (rank, place, length) in enumerate(zip(ranks, shown, lengths)):
        if not isinstance(rank, (int, float)) or isinstance(rank, bool):
            raise DataError(f"{rows.where(row)}: expected a number as true_rank; got {cut_label(repr(rank))}")
        if place and rank > place:
            raise DataError(f"{rows.where(row)}: true_rank is {rank}, but the list has the answer in place {place}")
        n_differ += bool(place and rank < place) or (not place and rank <= length)
    notes.append("every row has a true_rank: these ranks were used, and the lists were not")
    if n_differ:
        notes.append(
            f"true_rank is better than the place in the list in {counted(n_differ, 'row')}, as if known answers had "
            "been removed from the ranking, but not from the lists"
        )
    return given_ranks(rows, dataset, options, np.array(ranks, dtype=np.float64), notes=notes)


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield line and value of each prediction: the elements of a list, or of the entry ``predictions``."""
    if first_record(path).kind == "list":
        yield from json_records(path)
        return
    for line, key, value in json_pairs(path):
        if key == "predictions":
            if not isinstance(value, list):
                raise DataError(f"{path}, line {line}: expected predictions to be a list")
            yield from ((line, record) for record in value)


def _read_object(path: Path, dataset: Dataset | None, options: PredictionOptions) -> Predictions:
    """Read the older form, ``{"s TAB p TAB o": [top answers]}``."""
    options.check_used("explainaboard", ("entity_names", "relation_names", "side"))
    side = options.side_of_file(f"{path}")
    rows = Rows(path)
    for line, key, answers in json_pairs(path):
        parts = key.split("\t")
        if len(parts) != 3:
            raise DataError(f"{path}, line {line}: expected a key 's TAB p TAB o'; got {cut_label(repr(key))}")
        rows.add(line, (parts[0], parts[1], parts[2]), side, rows.labels(answers, line))
    notes = ["read as ExplainaBoard: the order of each list is its ranking"]
    return predictions(rows, dataset, options, notes=notes)


FORMAT = Format(
    "explainaboard", sniff, read, "ExplainaBoard (gold_head, gold_predicate, gold_tail, predict)", may_hold_ranks=True
)
