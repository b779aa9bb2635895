"""kgeval: exact, comparable evaluation of knowledge-graph embedding models."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kgeval import adapters  # registers what makes scorers of models of other libraries
from kgeval._version import __version__
from kgeval.audit import audit
from kgeval.base.checks import shows_only
from kgeval.data import candidates
from kgeval.data.corruption import negatives, sample_negatives
from kgeval.data.dataset import Dataset
from kgeval.data.predictions import GivenRanks, Predictions
from kgeval.data.protocol import Protocol
from kgeval.errors import (
    DataError,
    KgevalError,
    KgevalWarning,
    MetricError,
    MissingExtra,
    OutOfMemory,
    ProtocolError,
    ScoreError,
    Stopped,
)
from kgeval.ranking import executors
from kgeval.scorers import baselines, models
from kgeval.scorers.check import check_scorer

if TYPE_CHECKING:
    from kgeval import benchmarks, features, integrations, metrics, report, stats
    from kgeval.benchmarks.model_benchmark import benchmark
    from kgeval.classification.classification_comparison import compare_classifications
    from kgeval.classification.classifier import classify
    from kgeval.comparison.comparison import compare
    from kgeval.evaluation.candidate_scores import evaluate_candidates
    from kgeval.evaluation.evaluator import Evaluator, evaluate
    from kgeval.evaluation.predicted_lists import evaluate_predictions
    from kgeval.evaluation.score_tables import evaluate_scores
    from kgeval.formats.candidate_files import read_candidates
    from kgeval.formats.datasets import read_dataset
    from kgeval.formats.datasets.tab_folder import read_negatives
    from kgeval.formats.inspection import inspect
    from kgeval.formats.models import load_model
    from kgeval.formats.predictions import read_predictions
    from kgeval.formats.registered.table import registered_datasets
    from kgeval.formats.scores import read_scores
    from kgeval.other_tools import conventions
    from kgeval.plausibility.table import check_table
    from kgeval.results.evaluation_result import EvaluationResult
    from kgeval.results.files import load_result

__all__ = [
    "DataError",
    "Dataset",
    "EvaluationResult",
    "Evaluator",
    "GivenRanks",
    "KgevalError",
    "KgevalWarning",
    "MetricError",
    "MissingExtra",
    "OutOfMemory",
    "Predictions",
    "Protocol",
    "ProtocolError",
    "ScoreError",
    "Stopped",
    "__version__",
    "adapters",
    "audit",
    "baselines",
    "benchmark",
    "benchmarks",
    "candidates",
    "check_scorer",
    "check_table",
    "classify",
    "compare",
    "compare_classifications",
    "conventions",
    "evaluate",
    "evaluate_candidates",
    "evaluate_predictions",
    "evaluate_scores",
    "executors",
    "features",
    "inspect",
    "integrations",
    "load_model",
    "load_result",
    "metrics",
    "models",
    "negatives",
    "read_candidates",
    "read_dataset",
    "read_negatives",
    "read_predictions",
    "read_scores",
    "registered_datasets",
    "report",
    "sample_negatives",
    "stats",
]
__dir__ = shows_only(__all__)


# Names that are loaded at their first use, and their modules: `import kgeval` takes little longer than `import pandas`.
_LOADED_LATER = {
    "EvaluationResult": "kgeval.results.evaluation_result",
    "Evaluator": "kgeval.evaluation.evaluator",
    "benchmark": "kgeval.benchmarks.model_benchmark",
    "check_table": "kgeval.plausibility.table",
    "classify": "kgeval.classification.classifier",
    "compare": "kgeval.comparison.comparison",
    "compare_classifications": "kgeval.classification.classification_comparison",
    "conventions": "kgeval.other_tools",
    "evaluate": "kgeval.evaluation.evaluator",
    "evaluate_candidates": "kgeval.evaluation.candidate_scores",
    "evaluate_predictions": "kgeval.evaluation.predicted_lists",
    "evaluate_scores": "kgeval.evaluation.score_tables",
    "inspect": "kgeval.formats.inspection",
    "load_model": "kgeval.formats.models",
    "load_result": "kgeval.results.files",
    "read_candidates": "kgeval.formats.candidate_files",
    "read_dataset": "kgeval.formats.datasets",
    "read_negatives": "kgeval.formats.datasets.tab_folder",
    "read_predictions": "kgeval.formats.predictions",
    "read_scores": "kgeval.formats.scores",
    "registered_datasets": "kgeval.formats.registered.table",
}


# Makes `import kgeval.candidates`, `kgeval.executors`, `kgeval.models` and `kgeval.baselines` work, although these
# modules are in `kgeval.data`, `kgeval.ranking` and `kgeval.scorers`.
_SHORTCUTS = {"baselines": baselines, "candidates": candidates, "executors": executors, "models": models}
sys.modules |= {f"{__name__}.{name}": module for name, module in _SHORTCUTS.items()}


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    if name in ("benchmarks", "features", "integrations", "metrics", "report", "stats"):
        return import_module(f"kgeval.{name}")
    if name not in _LOADED_LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "load_result":
        import_module("kgeval.classification")  # so that `load_result` can read its results
    globals()[name] = getattr(import_module(_LOADED_LATER[name]), name)
    return globals()[name]
