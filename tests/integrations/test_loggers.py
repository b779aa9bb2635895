"""Results as flat dicts for loggers."""

import math
import re

import numpy as np
import pytest

import kgeval as kg
from kgeval.integrations import flat_metrics, log_name
from kgeval.metrics.ranks import RANKS
from kgeval.metrics.retrieval.base import LISTS


@pytest.fixture
def result():
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [2, 0, 3], [3, 0, 1]], n_entities=5, n_relations=1)
    return kg.evaluate(lambda s, p, o: np.sin(3 * s + o), dataset)


def test_values_are_those_of_the_result(result):
    keys = ["mrr", "hits@10", "raw.object.optimistic.hits@1", "z(mr)", "query.micro.recall@3"]
    flat = flat_metrics(result, keys, prefix="test/")
    assert list(flat) == [
        "test/mrr",
        "test/hits_at_10",
        "test/raw.object.optimistic.hits_at_1",
        "test/z_mr",
        "test/query.micro.recall_at_3",
    ]
    assert list(flat.values()) == [result[key] for key in keys]
    assert all(type(value) is float for value in flat.values())


def test_default_and_text(result):
    assert list(flat_metrics(result)) == ["mrr", "hits_at_1", "hits_at_3", "hits_at_10", "mr", "amri"]
    assert flat_metrics(result, "mrr, head.mr") == {"mrr": result["mrr"], "subject.mr": result["subject.mr"]}


def test_undefined_is_nan(result):
    one = kg.Dataset.from_arrays(test=[[0, 0, 0]], n_entities=1, n_relations=1)
    assert math.isnan(flat_metrics(kg.evaluate(lambda s, p, o: s, one), "amri")["amri"])


def test_errors(result):
    with pytest.raises(kg.MetricError, match=r"^metrics is empty; name at least one, such as 'mrr,hits@10'$"):
        flat_metrics(result, [])
    with pytest.raises(kg.MetricError, match="unknown metric 'hit@10'; did you mean 'hits@10'"):
        flat_metrics(result, "hit@10")


def test_names_are_safe_and_distinct():
    """MLflow takes letters, digits and ``_-. /``; no two metrics share a name."""
    keys = [key for k in (1, 10) for key in (name.replace("@10", f"@{k}") for name in RANKS.spellings())]
    keys += [f"{wrapper}({key})" for key in keys for wrapper in ("adjusted", "z") if key not in ("median_rank",)]
    keys += [f"query.{name}" for name in LISTS.spellings()] + ["query.fbeta(beta=0.5)@10", "query.fbeta(beta=2)@10"]
    keys = list(dict.fromkeys(str(kg.metrics.parse(key)) for key in keys))
    names = [log_name(key) for key in keys]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+", name) for name in names)
    assert len(set(names)) == len(names) > 30
