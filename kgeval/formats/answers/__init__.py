"""Functions that all readers of predictions use.

They read lines and JSON records one by one, collect the lists of answers as texts, and find the entity of each text.
"""

from kgeval.formats.answers.mapping import NEEDS_DATASET, PredictionOptions, given_ranks, id_labels, id_map, predictions
from kgeval.formats.answers.names import AMBIGUOUS, UNKNOWN, Names, NameTable
from kgeval.formats.answers.records import FirstRecord, first_record, json_pairs, json_records, text_head, text_lines
from kgeval.formats.answers.rows import Rows

__all__ = [
    "AMBIGUOUS",
    "NEEDS_DATASET",
    "UNKNOWN",
    "FirstRecord",
    "NameTable",
    "Names",
    "PredictionOptions",
    "Rows",
    "first_record",
    "given_ranks",
    "id_labels",
    "id_map",
    "json_pairs",
    "json_records",
    "predictions",
    "text_head",
    "text_lines",
]
