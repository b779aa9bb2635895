"""DIFT and DrKGC: a JSON list of objects ``triplet, inverse, rank, topk_ents, topk_names, topk_scores``.

Traps. If ``inverse`` is true, ``triplet`` starts with the object of the triple, and the query asks for the subject. A
language model re-ranks the lists. If known answers were removed from these lists, the language model gets information
about the test split (a leak). The file does not record whether known answers were removed, so the user must state it.
"""

from __future__ import annotations

from pathlib import Path

from kgeval.base.checks import cut_label
from kgeval.data.dataset import Dataset
from kgeval.data.predictions import Predictions
from kgeval.errors import DataError
from kgeval.formats.prediction_files.mapping import PredictionOptions, predictions
from kgeval.formats.prediction_files.records import first_record, json_records
from kgeval.formats.prediction_files.rows import Rows
from kgeval.formats.registry import Format

LISTS = ("topk_ents", "rank_entities", "topk_names")


def sniff(path: Path) -> bool:
    """Return whether the first object has the keys ``triplet`` and ``inverse``, and one of the keys in `LISTS`."""
    first = first_record(path)
    return first.has("triplet", "inverse") and any(key in first.values for key in LISTS)


def read(path: Path, dataset: Dataset, options: PredictionOptions) -> Predictions:
    """Read the lists that a re-ranker such as DIFT gets or writes."""
    options.check_used("dift")
    rows = Rows(path)
    used = ""
    has_scores = True
    for line, record in json_records(path):
        where = f"{path}, line {line}"
        needed = ("triplet", "inverse", used or next((key for key in LISTS if key in record), LISTS[0]))
        if not isinstance(record, dict) or not set(needed) <= set(record):
            raise DataError(f"{where}: expected an object with {', '.join(needed)}; got {cut_label(repr(record))}")
        used = needed[2]
        triplet, is_inverse = record["triplet"], record["inverse"]
        if not isinstance(triplet, list) or len(triplet) != 3 or not isinstance(is_inverse, bool):
            raise DataError(
                f"{where}: expected triplet as a list of three labels and inverse as true or false; got "
                f"{cut_label(repr(triplet))} and {is_inverse!r}"
            )
        first, relation, last = (rows.label(label, line, "the triplet") for label in triplet)
        has_scores = has_scores and "topk_scores" in record
        scores = rows.numbers(record["topk_scores"], line) if has_scores else None
        triple = (last, relation, first) if is_inverse else (first, relation, last)
        rows.add(line, triple, "subject" if is_inverse else "object", rows.labels(record[used], line), scores)
    notes = [
        f"read as DIFT: the lists {used}" + (", ranked by topk_scores" if has_scores else ", ranked by their order")
    ]
    notes.append("the key rank (the rank of the positive by the first model) is not used")
    return predictions(rows, dataset, options, notes=notes)


FORMAT = Format("dift", sniff, read, "DIFT (triplet, inverse, topk_ents)")
