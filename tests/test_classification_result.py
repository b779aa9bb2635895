"""What the result of classify() holds and shows: columns, facts, keys, tables, and probabilities from validation."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import kgeval as kg
from kgeval.classification_result import DEFAULT_METRICS
from kgeval.errors import MetricError

LABELS = {"entity_labels": ["Ada", "Bo", "Cy", "Di", "Ed"], "relation_labels": ["knows", "likes"]}
NEGATIVES = {"valid": [[0, 0, 1]], "test": [[0, 0, 0], [0, 0, 1]]}


def small(**splits):
    """Ada knows Di in valid; Di and Cy in test."""
    given = {"valid": [[0, 0, 3]], "test": [[0, 0, 3], [0, 0, 2]], **splits}
    return kg.Dataset.from_arrays(**{k: v for k, v in given.items() if v is not None}, **LABELS, name="small")


def by_object(s, p, o):
    return o


def test_what_the_result_holds():
    """Columns and types; facts that JSON can hold; nothing of the probabilities that were not asked."""
    dataset = small()
    result = kg.classify(by_object, dataset, NEGATIVES)
    assert {name: str(dtype) for name, dtype in result.table.dtypes.items()} == {
        **dict.fromkeys("spo", "int64"),
        "label": "bool",
        "score": "float64",
        "threshold": "float64",
        "predicted": "bool",
    }
    assert result.thresholds.columns.tolist() == [
        "threshold",
        "n_valid_positive",
        "n_valid_negative",
        "source",
        "n_test",
    ]
    assert result.thresholds.to_dict("index") == {
        "knows": {"threshold": 3.0, "n_valid_positive": 1, "n_valid_negative": 1, "source": "relation", "n_test": 4}
    }
    about = json.loads(json.dumps(result.about, allow_nan=False))
    assert len(about.pop("negatives_sha256")) == 64
    assert about == {
        "dataset": "small",
        "dataset_fingerprint": dataset.fingerprint,
        "observations": ["1 rows of test also in valid"],
        "version": kg.__version__,
        "scorer": "by_object",
        "negatives": "given",
        "seed": None,
        "calibrate": None,
        "prior": None,
        "n_valid_positive": 1,
        "n_valid_negative": 1,
        "n_test_positive": 2,
        "n_test_negative": 2,
    }
    assert (result.dropped, result.notes) == ({}, ())


def test_what_the_result_shows():
    """Sizes, thresholds, source and hash of the negatives, dataset, then micro and macro; labels escaped in HTML."""
    result = kg.classify(by_object, small(), NEGATIVES)
    lines = repr(result).splitlines()
    assert lines[:4] == [
        "small: 5 entities, 2 relations; test 2 positives and 2 negatives, 0 dropped",
        "1 thresholds of relations and 0 global ones, from valid (1 and 1)",
        f"negatives: given, sha256 {result.about['negatives_sha256'][:8]}; dataset {small().fingerprint[:8]}, "
        f"kgeval {kg.__version__}",
        "dataset: 1 rows of test also in valid",
    ]
    assert lines[-2].split() == ["micro", "4", "0.7500", "0.6667", "1.0000", "0.5000", "1.0000", "1.0000"]
    named = kg.classify(by_object, small(), NEGATIVES, source="<b>")
    assert "negatives: &lt;b&gt;, sha256" in named._repr_html_()
    assert result.summary().columns.tolist() == ["n", "accuracy", "F1", "precision", "recall", "AUC", "AP"]
    assert len(DEFAULT_METRICS) == 6


def test_labels_in_place_of_ids():
    frame = kg.classify(by_object, small(), NEGATIVES).labelled()
    assert frame[["s", "p", "o"]].values.tolist() == [["Ada", "knows", name] for name in ("Di", "Cy", "Ada", "Bo")]
    assert frame["score"].tolist() == [3.0, 2.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("accuracy", 0.75),
        (" Accuracy ", 0.75),
        ("micro.f1", 2 / 3),
        ("MACRO.fbeta(beta=0.5)", 5 / 6),  # 1.25 / (1.25 + 0.25)
        (kg.metrics.pointwise.Recall(), 0.5),
        ("specificity", 1.0),
        ("mcc", 1 / math.sqrt(3)),  # (1 * 2 - 0) / sqrt(1 * 2 * 2 * 3)
        ("ap", 1.0),
    ],
)
def test_keys(key, value):
    """tp 1 (Di), fn 1 (Cy), tn 2."""
    assert kg.classify(by_object, small(), NEGATIVES)[key] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("acuracy", "did you mean 'accuracy'?"),
        ("mean.f1", "unknown pointwise metric 'mean.f1'"),
        (
            "accuracy(threshold=0.2)",
            "brings a threshold of its own, but triples are classified by those chosen on validation",
        ),
        ("hits@10", "unknown pointwise metric"),
    ],
)
def test_keys_that_are_none(key, message):
    result = kg.classify(by_object, small(), NEGATIVES)
    for ask in (result.value, result.summary, lambda text: result.by("relation", text)):
        with pytest.raises(MetricError, match=re.escape(message)):
            ask(key)


def test_breakdowns_that_are_none():
    with pytest.raises(MetricError, match=re.escape("by must be one of 'relation'; got 'side'")):
        kg.classify(by_object, small(), NEGATIVES).by("side")


@pytest.mark.parametrize("metric", ["log_loss", "brier", "ece", "pcopc", "rmse", "mae", "field_ece"])
def test_probabilities_are_not_made_up(metric):
    """Without calibration NaN, the reason and the way out, also in the mean and per relation."""
    result = kg.classify(by_object, small(), NEGATIVES)
    for average in ("micro", "macro"):
        found = result.value(f"{average}.{metric}")
        assert math.isnan(found.value)
        assert found.reason.startswith("scores are no probabilities; fit some on validation: classify(..., calibrate=")
    frame = result.by("relation", metric)
    assert list(frame.attrs["reasons"].values()) == [found.reason]


def spread(n=200, seed=0):
    """A dataset whose scores, the objects' ids, tell positives from negatives now and then."""
    rng = np.random.default_rng(seed)

    def some(low):
        return np.column_stack([rng.integers(0, 40, n), rng.integers(0, 2, n), rng.integers(low, low + 30, n)])

    dataset = kg.Dataset.from_arrays(valid=some(10), test=some(10), n_entities=40, n_relations=2)
    return dataset, {"valid": some(0), "test": some(0)}


@pytest.mark.parametrize("method", ["platt", "isotonic"])
@pytest.mark.parametrize("prior", [None, 0.1])
def test_probabilities_are_fitted_on_validation(method, prior):
    """The calibrator of valid's scores and labels, applied to test; the loss is the mean of -ln."""
    pytest.importorskip("sklearn", reason="calibration is scikit-learn's")
    dataset, negatives = spread()
    result = kg.classify(by_object, dataset, negatives, calibrate=method, prior=prior)
    scores = [float(o) for part in (np.asarray(dataset["valid"]), negatives["valid"]) for o in part[:, 2]]
    fitted = kg.metrics.calibration.calibrate(scores, [1] * 200 + [0] * 200, method, prior)
    assert result.table["probability"].tolist() == fitted(result.table["score"]).tolist()
    p = [q if label else 1 - q for q, label in zip(result.table["probability"], result.table["label"])]
    assert result["brier"] == pytest.approx(sum((1 - q) ** 2 for q in p) / len(p), rel=1e-12)
    assert result["rmse"] == pytest.approx(math.sqrt(result["brier"]), rel=1e-12)
    if method == "platt":
        assert result["log_loss"] == pytest.approx(-sum(map(math.log, p)) / len(p), rel=1e-9)
    assert (result.about["calibrate"], result.about["prior"]) == (method, prior)
    bare = kg.classify(by_object, dataset, negatives)
    assert bare.table.equals(result.table.drop(columns="probability"))


def test_a_falling_calibration_is_noted():
    """Scores negated: Platt's slope turns the order round, and so do the notes say; isotonic has no slope."""
    pytest.importorskip("sklearn", reason="calibration is scikit-learn's")
    dataset, negatives = spread()
    for sign, method, n in ((-1, "platt", 1), (-1, "isotonic", 0), (1, "platt", 0)):
        result = kg.classify(lambda s, p, o, sign=sign: sign * o, dataset, negatives, calibrate=method)
        assert sum(note.startswith("Platt's slope is negative (-0.") for note in result.notes) == n


def test_probabilities_owe_nothing_to_test():
    """Swapped test labels leave the probabilities of the triples as they are."""
    pytest.importorskip("sklearn", reason="calibration is scikit-learn's")
    dataset, negatives = spread()
    swapped = kg.Dataset.from_arrays(
        valid=np.asarray(dataset["valid"]), test=negatives["test"], n_entities=40, n_relations=2
    )
    turned = {"valid": negatives["valid"], "test": np.asarray(dataset["test"])}
    one = kg.classify(by_object, dataset, negatives, calibrate="platt").table["probability"].tolist()
    other = kg.classify(by_object, swapped, turned, calibrate="platt").table["probability"].tolist()
    assert one == other[200:] + other[:200]


def test_bundled_model_beats_chance(root):
    """The ComplEx model of the countries with uniform negatives: far above one half."""
    folder = Path(root) / "data" / "countries"
    dataset = kg.read_dataset(folder)
    result = kg.classify(kg.load_model(folder / "complex.npz", dataset), dataset, "uniform")
    assert 0.9 < result["accuracy"] <= 1.0
    assert result.about["n_test_positive"] == result.about["n_test_negative"] == 329
