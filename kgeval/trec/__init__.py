"""Measures of TREC runs, computed as trec_eval does: the modules behind the command ``kgeval trec``."""

from kgeval.trec.measures import parse_measures
from kgeval.trec.run_files import read_qrels, read_run
from kgeval.trec.tables import TREC_TIES, TrecOptions, TrecTable, format_trec, trec_lists, trec_table

__all__ = [
    "TREC_TIES",
    "TrecOptions",
    "TrecTable",
    "format_trec",
    "parse_measures",
    "read_qrels",
    "read_run",
    "trec_lists",
    "trec_table",
]
