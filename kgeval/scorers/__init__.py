"""Scorers, which score triples: the kinds of scorers, adapters that give them one interface, and checks of scorers.

`kgeval.evaluation`, `kgeval.classification`, `kgeval.ranking` and the command line import from here.
"""

from kgeval.scorers import baselines, models
from kgeval.scorers.call_size import OutOfTime, Pace
from kgeval.scorers.check import ScorerReport, check_missing, check_scorer, probe
from kgeval.scorers.faults import SEARCH_SECONDS, find_fault, high_test_ranks, matched
from kgeval.scorers.identity import ScorerIdentity
from kgeval.scorers.libraries import adapter_of, bound, register_adapter, scorer_notes
from kgeval.scorers.precedence import check_precedence
from kgeval.scorers.rounding import TOLERANCE, TOLERANCE_OF_HALVES, Rounding, score_differences
from kgeval.scorers.row_scorers import (
    BATCH_SECONDS,
    MAX_PAIRS,
    ROW_BATCH_BYTES,
    GeometryRows,
    Limits,
    MatrixRows,
    RowScorer,
    as_row_scorer,
    check_dimensions,
    check_triple_scores,
    missing_ids,
    pair_side,
    queries_within,
    row_batch,
    score_triples,
)
from kgeval.scorers.values import as_scores, check_no_nan, describe_query

__all__ = [
    "BATCH_SECONDS",
    "MAX_PAIRS",
    "ROW_BATCH_BYTES",
    "SEARCH_SECONDS",
    "TOLERANCE",
    "TOLERANCE_OF_HALVES",
    "GeometryRows",
    "Limits",
    "MatrixRows",
    "OutOfTime",
    "Pace",
    "Rounding",
    "RowScorer",
    "ScorerIdentity",
    "ScorerReport",
    "adapter_of",
    "as_row_scorer",
    "as_scores",
    "baselines",
    "bound",
    "check_dimensions",
    "check_missing",
    "check_no_nan",
    "check_precedence",
    "check_scorer",
    "check_triple_scores",
    "describe_query",
    "find_fault",
    "high_test_ranks",
    "matched",
    "missing_ids",
    "models",
    "pair_side",
    "probe",
    "queries_within",
    "register_adapter",
    "row_batch",
    "score_differences",
    "score_triples",
    "scorer_notes",
]
