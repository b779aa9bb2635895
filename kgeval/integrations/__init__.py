"""Evaluators and metrics of kgeval that plug into other libraries.

`PyKEENEvaluator` is an evaluator for PyKEEN's pipeline, early stopper and search of hyperparameters; `TorchMetric` is a
metric of torchmetrics, for training loops on several processes; `flat_metrics` returns a result as the flat dict that
loggers such as MLflow take. The classes are subclasses of classes of PyKEEN and torchmetrics. A library is imported
when its class is used for the first time; if the library is not installed, a MissingExtra is raised.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kgeval.base.checks import shows_only
from kgeval.integrations.loggers import flat_metrics, log_name

if TYPE_CHECKING:
    PyKEENEvaluator: Any
    TorchMetric: Any

__all__ = ["PyKEENEvaluator", "TorchMetric", "flat_metrics", "log_name"]
__dir__ = shows_only(__all__)

# Classes with a base class in another library. Value: the module here whose function `make_class` makes the class.
_MADE_LATER = {
    "PyKEENEvaluator": "kgeval.integrations.pykeen_evaluator",
    "TorchMetric": "kgeval.integrations.torch_metric",
}


def __getattr__(name: str) -> Any:
    """Make a class at its first use."""
    if name not in _MADE_LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = import_module(_MADE_LATER[name]).make_class()
    return globals().setdefault(name, made)  # one class, also if two threads make it at once
