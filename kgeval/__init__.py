"""kgeval: exact, comparable evaluation of knowledge-graph embedding models."""

import sys

from kgeval import features, metrics, report, stats
from kgeval._version import __version__
from kgeval.classification import classify
from kgeval.comparison import compare
from kgeval.data import Dataset, Protocol, TripleSet, Vocabulary, candidates, negatives, sample_negatives
from kgeval.errors import (
    DataError,
    KgevalError,
    KgevalWarning,
    MetricError,
    MissingExtra,
    ProtocolError,
    ScoreError,
)
from kgeval.evaluation import Evaluator, evaluate, evaluate_candidates, evaluate_scores
from kgeval.formats import load_model, read_candidates, read_dataset, read_negatives, read_scores
from kgeval.published import check_table
from kgeval.results import EvaluationResult, load_result
from kgeval.scorers import ScorerReport, check_scorer, models

__all__ = [
    "DataError",
    "Dataset",
    "EvaluationResult",
    "Evaluator",
    "KgevalError",
    "KgevalWarning",
    "MetricError",
    "MissingExtra",
    "Protocol",
    "ProtocolError",
    "ScoreError",
    "ScorerReport",
    "TripleSet",
    "Vocabulary",
    "__version__",
    "candidates",
    "check_scorer",
    "check_table",
    "classify",
    "compare",
    "evaluate",
    "evaluate_candidates",
    "evaluate_scores",
    "features",
    "load_model",
    "load_result",
    "metrics",
    "models",
    "negatives",
    "read_candidates",
    "read_dataset",
    "read_negatives",
    "read_scores",
    "report",
    "sample_negatives",
    "stats",
]


# Makes `import kgeval.candidates` and `import kgeval.models` work, although these modules are in `kgeval.data` and
# `kgeval.scorers`.
sys.modules |= {f"{__name__}.candidates": candidates, f"{__name__}.models": models}


def __dir__() -> list[str]:
    return sorted(__all__)
