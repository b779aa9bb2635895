"""kgeval: exact, comparable evaluation of knowledge-graph embedding models."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kgeval import adapters, features, metrics, stats
from kgeval._version import __version__
from kgeval.audit import audit
from kgeval.data import (
    Dataset,
    GivenRanks,
    Predictions,
    Protocol,
    candidates,
    negatives,
    sample_negatives,
)
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
from kgeval.evaluation import Evaluator, evaluate, evaluate_candidates, evaluate_predictions, evaluate_scores
from kgeval.ranking import executors
from kgeval.results import EvaluationResult
from kgeval.scorers import baselines, check_scorer, models

if TYPE_CHECKING:
    from kgeval import benchmarks, integrations, report
    from kgeval.benchmarks import benchmark
    from kgeval.classification import classify, compare_classifications
    from kgeval.comparison import compare
    from kgeval.formats import (
        inspect,
        load_model,
        read_candidates,
        read_dataset,
        read_negatives,
        read_predictions,
        read_scores,
        registered_datasets,
    )
    from kgeval.other_tools import conventions
    from kgeval.plausibility import check_table
    from kgeval.results import load_result

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


# Names that are loaded at their first use, and their modules: `import kgeval` takes little longer than `import pandas`.
_LOADED_LATER = {
    "benchmark": "kgeval.benchmarks",
    "check_table": "kgeval.plausibility",
    "classify": "kgeval.classification",
    "compare": "kgeval.comparison",
    "compare_classifications": "kgeval.classification",
    "conventions": "kgeval.other_tools",
    "inspect": "kgeval.formats",
    "load_model": "kgeval.formats",
    "load_result": "kgeval.results",
    "read_candidates": "kgeval.formats",
    "read_dataset": "kgeval.formats",
    "read_negatives": "kgeval.formats",
    "read_predictions": "kgeval.formats",
    "read_scores": "kgeval.formats",
    "registered_datasets": "kgeval.formats",
}


# Makes `import kgeval.candidates`, `kgeval.executors`, `kgeval.models` and `kgeval.baselines` work, although these
# modules are in `kgeval.data`, `kgeval.ranking` and `kgeval.scorers`.
_SHORTCUTS = {"baselines": baselines, "candidates": candidates, "executors": executors, "models": models}
sys.modules |= {f"{__name__}.{name}": module for name, module in _SHORTCUTS.items()}


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    if name in ("benchmarks", "integrations", "report"):
        return import_module(f"kgeval.{name}")
    if name not in _LOADED_LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "load_result":
        import_module("kgeval.classification")  # so that `load_result` can read its results
    globals()[name] = getattr(import_module(_LOADED_LATER[name]), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(__all__)
