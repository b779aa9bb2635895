"""Default metrics: one list with its named variants; every other module takes one of them."""

import ast
from pathlib import Path

import kgeval as kg
from kgeval.metrics import default_metrics

HITS_AND_MEANS = {"mr", "mrr", "hits@1", "hits@3", "hits@10"}


def test_no_other_module_has_a_list_of_ranking_metrics():
    """A tuple or list of three or more of the usual metrics stands in `default_metrics` alone."""
    package, found = Path(kg.__file__).parent, []
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Tuple, ast.List)):
                values = [part.value for part in node.elts if isinstance(part, ast.Constant)]
                if len(HITS_AND_MEANS & {value for value in values if isinstance(value, str)}) > 2:
                    found.append(str(path.relative_to(package)))
    assert set(found) == {"metrics/default_metrics.py"}


def test_the_variants_name_metrics_of_the_list():
    """Each variant is a choice from the one list in its order, with MRR in it, and without a metric twice."""
    variants = {name: value for name, value in vars(default_metrics).items() if name.endswith("_METRICS")}
    assert set(variants) == {"DEFAULT_METRICS", "PLAIN_METRICS", "BRIEF_METRICS"}
    for name, metrics in variants.items():
        assert set(metrics) <= set(default_metrics.DEFAULT_METRICS), name
        assert len(set(metrics)) == len(metrics), name
        assert "mrr" in metrics, name
    assert default_metrics.PLAIN_METRICS == ("mrr", "hits@1", "hits@3", "hits@10", "mr")
    assert default_metrics.DEFAULT_METRICS == ("mrr", "hits@1", "hits@3", "hits@10", "mr", "amri")
    order = default_metrics.DEFAULT_METRICS.index
    for name, metrics in variants.items():
        assert list(metrics) == sorted(metrics, key=order), name
