"""The window of integrations: classes of other libraries are made at their first use, or a MissingExtra names them."""

import subprocess
import sys

import pytest

import kgeval as kg
from kgeval import integrations


@pytest.mark.parametrize(
    ("name", "module", "remedy"),
    [
        (
            "PyKEENEvaluator",
            "pykeen.evaluation",
            'PyKEENEvaluator needs PyKEEN; pip install pykeen, or "kgeval[peers]"',
        ),
        ("TorchMetric", "torchmetrics", 'TorchMetric needs torchmetrics; pip install "kgeval[torchmetrics]"'),
    ],
)
def test_missing_library(name, module, remedy, monkeypatch):
    """Also if the class was made before, the name is looked up anew here."""
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(vars(integrations), name, raising=False)
    with pytest.raises(kg.MissingExtra) as caught:
        getattr(kg.integrations, name)
    assert str(caught.value) == remedy


def test_names():
    assert dir(integrations) == ["PyKEENEvaluator", "TorchMetric", "flat_metrics", "log_name"]
    with pytest.raises(AttributeError, match="has no attribute 'Evaluator'"):
        integrations.Evaluator  # noqa: B018


@pytest.mark.thorough
def test_import_loads_no_library():
    """`kgeval.integrations` and the modules of its classes are read without PyKEEN, torch and torchmetrics."""
    code = (
        "import sys, kgeval.integrations.pykeen_evaluator, kgeval.integrations.torch_metric; "
        "print({'torch', 'torchmetrics', 'pykeen'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
