"""kgeval: exact, comparable evaluation of knowledge-graph embedding models."""

from kgeval import metrics, models
from kgeval._version import __version__
from kgeval.classification import classify
from kgeval.comparison import compare
from kgeval.corruption import negatives, sample_negatives
from kgeval.dataset import Dataset
from kgeval.errors import (
    DataError,
    KgevalError,
    KgevalWarning,
    MetricError,
    MissingExtra,
    ProtocolError,
    ScoreError,
)
from kgeval.evaluate import Evaluator, evaluate
from kgeval.io.model_files import load_model
from kgeval.io.score_files import read_scores
from kgeval.io.triple_files import read_dataset, read_negatives
from kgeval.listed import evaluate_scores
from kgeval.probe import ScorerReport, check_scorer
from kgeval.protocol import Protocol
from kgeval.results import EvaluationResult, load_result
from kgeval.sanity import check_table
from kgeval.triples import TripleSet, Vocabulary

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
    "check_scorer",
    "check_table",
    "classify",
    "compare",
    "evaluate",
    "evaluate_scores",
    "load_model",
    "load_result",
    "metrics",
    "models",
    "negatives",
    "read_dataset",
    "read_negatives",
    "read_scores",
    "sample_negatives",
]
