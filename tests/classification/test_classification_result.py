"""What the result of classify() holds and shows: columns, facts, keys, tables, and probabilities from validation."""

import functools
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from grids import thinned
from made_results import replaced, saved_with

import kgeval as kg
from kgeval.classification.classification_result import CLASSIFIED_METRICS
from kgeval.classification.files import pack_classification, unpack_classification
from kgeval.errors import DataError, KgevalWarning, MetricError, ProtocolError
from kgeval.scorers.models.distances import TransE

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
    about = json.loads(json.dumps(result.facts, allow_nan=False))
    assert len(about.pop("negatives_sha256")) == 64
    assert about == {
        "dataset": "small",
        "dataset_fingerprint": dataset.fingerprint,
        "observations": ["1 row of test also in valid"],
        "version": kg.__version__,
        "scorer": "by_object",
        "negatives": "given",
        "sample_seed": None,
        "threshold_at": "score",
        "calibrate": None,
        "prior": None,
        "n_valid_positive": 1,
        "n_valid_negative": 1,
        "n_test_positive": 2,
        "n_test_negative": 2,
    }
    assert (result.dropped, result.notes) == ({}, ())


def test_what_the_result_shows():
    """Micro and macro; then sizes, thresholds, source and hash of the negatives, dataset; labels escaped in HTML."""
    result = kg.classify(by_object, small(), NEGATIVES)
    lines = repr(result).splitlines()
    assert lines[4:8] == [
        "small: 5 entities, 2 relations; test 2 positives and 2 negatives, 0 dropped",
        "1 relation with its own threshold, 0 with the global threshold; chosen on valid (1 positive, 1 negative)",
        f"negatives: given, sha256 {result.facts['negatives_sha256'][:8]}; dataset {small().fingerprint[:8]}, "
        f"kgeval {kg.__version__}",
        "dataset: 1 row of test also in valid",
    ]
    assert lines[1].split() == ["micro", "4", "0.7500", "0.6667", "1.0000", "0.5000", "1.0000", "1.0000"]
    named = kg.classify(by_object, small(), NEGATIVES, source="<b>")
    assert "negatives: &lt;b&gt;, sha256" in named._repr_html_()
    assert result.summary().columns.tolist() == [
        "n",
        "accuracy",
        "f1",
        "precision",
        "recall",
        "auc",
        "ap",
        "reason",
    ]
    assert lines[0].split() == ["average", "n", "accuracy", "F1", "precision", "recall", "AUC", "AP"]
    assert len(CLASSIFIED_METRICS) == 6


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
            "has its own threshold, but triples are classified by the thresholds chosen on validation",
        ),
        ("hits@10", "unknown pointwise metric"),
    ],
)
def test_keys_that_are_none(key, message):
    result = kg.classify(by_object, small(), NEGATIVES)
    for ask in (result.value, result.summary, lambda text: result.by("relation", metrics=text)):
        with pytest.raises(MetricError, match=re.escape(message)):
            ask(key)


def test_breakdowns_that_are_none():
    with pytest.raises(MetricError, match="by must be one of 'relation', 'cardinality', .*; got 'side'"):
        kg.classify(by_object, small(), NEGATIVES).by("side")
    with pytest.raises(MetricError, match="name at least one column to group by"):
        kg.classify(by_object, small(), NEGATIVES).by()


@pytest.mark.parametrize("metric", ["log_loss", "brier", "ece", "pcopc", "rmse", "mae", "field_ece"])
def test_probabilities_are_not_made_up(metric):
    """Without calibration NaN, the reason and the way out, also in the mean and per relation."""
    result = kg.classify(by_object, small(), NEGATIVES)
    for average in ("micro", "macro"):
        found = result.value(f"{average}.{metric}")
        assert math.isnan(found.value)
        assert found.reason.startswith("scores are not probabilities; fit probabilities on validation: ")
    frame = result.by("relation", metrics=metric)
    assert frame["reason"].tolist() == [f"{metric}: {found.reason}"]


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
    assert (result.facts["calibrate"], result.facts["prior"]) == (method, prior)
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


@pytest.mark.thorough
def test_bundled_model_beats_chance(root):
    """The ComplEx model of the countries with uniform negatives: far above one half."""
    folder = Path(root) / "data" / "countries"
    dataset = kg.read_dataset(folder)
    result = kg.classify(kg.load_model(folder / "complex.npz", dataset), dataset, "uniform")
    assert 0.9 < result["accuracy"] <= 1.0
    assert result.facts["n_test_positive"] == result.facts["n_test_negative"] == 329


KINDS = {
    "train": [[0, 0, 1], [0, 1, 1], [0, 1, 2], [0, 2, 1]],
    "valid": [[2, 0, 3], [0, 1, 3]],
    "test": [[3, 0, 4], [0, 1, 4], [1, 2, 4]],
}
FALSE_KINDS = {"valid": [[2, 0, 1], [0, 1, 0]], "test": [[3, 0, 0], [0, 1, 5], [1, 2, 3]]}


@functools.cache  # results are read-only
def kinds():
    """Three relations, of which `many` gives one subject four objects; every threshold is 3.

    Right are both of `one` (4 true, 0 false), one of `many` (4 true, 5 false) and one of `all` (4 true, 3 false). Only
    `one` and `many` have thresholds of their own.
    """
    labels = {"entity_labels": list("abcdef"), "relation_labels": ["one", "many", "all"]}
    dataset = kg.Dataset.from_arrays(**KINDS, **labels, name="kinds")
    return kg.classify(by_object, dataset, FALSE_KINDS), dataset


def test_by_cardinality():
    """1-1: `one` and `all`, three of four right; 1-N: `many`, one of two."""
    result, _ = kinds()
    frame = result.by("cardinality", metrics="accuracy,precision,auc", confidence=None)
    assert frame.columns.tolist() == ["n", "share", "accuracy", "precision", "auc", "reason"]
    assert frame.index.tolist() == ["1-1", "1-N"]
    assert frame.index.name == "cardinality"
    assert frame["n"].tolist() == [4, 2]
    assert frame["share"].tolist() == pytest.approx([4 / 6, 2 / 6], rel=1e-15)
    assert frame["accuracy"].tolist() == [3 / 4, 1 / 2]
    assert frame["precision"].tolist() == pytest.approx([2 / 3, 1 / 2], rel=1e-15)
    assert frame["auc"].tolist() == [1.0, 0.0]
    assert frame["reason"].tolist() == ["", ""]
    assert result.by("seen", metrics="accuracy")["n"].to_dict() == {"unseen entity": 6}  # train has a, b and c alone


def test_buckets_stand_in_their_order():
    """`many` has two triples in train, the others one; most triples first, if buckets were no order, is 1, 2-3."""
    frame = kinds()[0].by("relation_frequency", metrics="accuracy")
    assert [(str(bucket), n, value) for bucket, n, value in zip(frame.index, frame["n"], frame["accuracy"])] == [
        ("1", 4, 3 / 4),
        ("2-3", 2, 1 / 2),
    ]


def test_by_two_columns():
    """Every group is the triples that agree in both; by lists of names too."""
    result, _ = kinds()
    frame = result.by("cardinality", "relation", metrics="accuracy,recall")
    assert frame.index.names == ["cardinality", "relation"]
    assert frame["accuracy"].to_dict() == {("1-1", "one"): 1.0, ("1-1", "all"): 0.5, ("1-N", "many"): 0.5}
    assert frame["n"].tolist() == [2, 2, 2]
    alone = result.by("relation", metrics="accuracy,recall")
    assert frame.droplevel("cardinality").loc[alone.index].equals(alone)
    assert result.by(["cardinality", "relation"], metrics="accuracy,recall").equals(frame)


def test_by_columns_of_the_user():
    """One value per row, or a table that says what a row belongs to; what finds none is missing, and noted."""
    result, _ = kinds()
    fold = np.array([1, 2, 10, 1, 2, 10])
    frame = result.with_columns({"fold": fold}).by("fold", metrics="accuracy,f1")
    assert frame["accuracy"].to_dict() == {"1": 1.0, "2": 0.5, "10": 0.5}  # numbers in the order of numbers
    for label, row in frame.iterrows():
        mine = result.table[fold == int(label)]
        tp, called, true = (mine["label"] & mine["predicted"]).sum(), mine["predicted"].sum(), mine["label"].sum()
        assert (row["n"], row["f1"]) == (len(mine), pytest.approx(2 * tp / (called + true), rel=1e-15))
    relations = pd.DataFrame({"relation": ["one", "many", "all"], "kind": ["x", "y", "x"]})
    joined = result.with_columns(relations)
    assert joined.by("kind", metrics="accuracy")["accuracy"].to_dict() == {"x": 3 / 4, "y": 1 / 2}
    assert joined.by("kind", "cardinality", metrics="accuracy")["n"].to_dict() == {("x", "1-1"): 4, ("y", "1-N"): 2}
    assert joined.notes == result.notes
    with pytest.warns(KgevalWarning, match="2 of 6 .* have no matching row"):
        some = result.with_columns(pd.DataFrame({"o": ["e", "a"], "end": ["E", "A"]}))
    assert some.by("end", metrics="accuracy")["accuracy"].to_dict() == {"E": 1.0, "missing": 0.0, "A": 1.0}
    assert some.notes[-1] == "columns end: 2 of 6 ranks have no matching row (shown as missing)"  # no part with 0
    assert result.columns.empty  # it does not change


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"kind": [1, 2]}, "expected 6 rows, one for each row"),
        ({"label": [1] * 6}, "the column name 'label' is already in use"),
        ({"cardinality": [1] * 6}, "the column name 'cardinality' is already in use"),
        (
            {"side": ["object"], "kind": [1]},
            "the rows of this result have no 'side'; join columns by s, p, o, relation",
        ),
        ({"relation": ["one", "one"], "kind": [1, 2]}, "relation = 'one' occurs more than once"),
    ],
)
def test_columns_that_do_not_fit(columns, message):
    with pytest.raises(DataError, match=re.escape(message)):
        kinds()[0].with_columns(pd.DataFrame(columns))


@pytest.mark.parametrize("name", ["degree_given", "degree_asked", "known_answers", "type_given", "type_asked"])
def test_a_feature_that_needs_a_side_is_refused(name):
    """A triple asks for no side, whatever else the feature needs."""
    result, dataset = kinds()
    message = f"feature '{name}' needs the column side, which tells which side of each row is the answer"
    for ask in (lambda: result.by(name), lambda: result.with_features(dataset, features=[name])):
        with pytest.raises(ProtocolError) as caught:
            ask()
        assert str(caught.value) == message


def test_features_come_from_the_dataset():
    """All that need no side, in one call; another dataset is refused, and a result without one says what to do."""
    result, dataset = kinds()
    featured = result.with_features()
    assert featured.columns.columns.tolist() == [
        "cardinality", "pattern", "relation_frequency", "seen", "leak", "half_link",
    ]  # fmt: skip
    assert featured.columns["cardinality"].tolist() == ["1-1", "1-N", "1-1"] * 2
    assert featured.table.equals(result.table)
    assert featured.with_features(dataset).columns.equals(featured.columns)
    other = kg.Dataset.from_arrays(**{**KINDS, "test": KINDS["test"][:2]}, n_entities=6, n_relations=3)
    with pytest.raises(DataError, match="the result was made from dataset 'kinds'"):
        result.with_features(other)


def saved(result, path):
    """The result that its file holds."""
    result.save(path)
    return kg.load_result(path)


def same_numbers(one, other, metrics=CLASSIFIED_METRICS):
    """Every number, every frame and every line of two results is equal, to the last bit."""
    pd.testing.assert_frame_equal(one.table, other.table, check_exact=True)
    pd.testing.assert_frame_equal(one.thresholds, other.thresholds, check_exact=True)
    assert one.global_threshold == other.global_threshold
    pd.testing.assert_frame_equal(one.summary(metrics), other.summary(metrics), check_exact=True)
    for names in (["relation"], *([name] for name in one.columns), ["relation", *one.columns]):
        pd.testing.assert_frame_equal(
            one.by(*names, metrics=metrics), other.by(*names, metrics=metrics), check_exact=True
        )
    assert (one.facts, one.dropped, one.notes) == (other.facts, other.dropped, other.notes)
    assert (one.entities, one.relations) == (other.entities, other.relations)
    assert sorted(repr(one).splitlines()) == sorted(repr(other).splitlines())  # splits dropped are sorted in a file


def test_a_saved_result_comes_back(tmp_path):
    """Equal as a whole and in its parts, with notes, dropped triples, infinite scores and odd labels."""
    entities, relations = ["a", "\u6771\U0001f600", "\x1b[31m", "d e", "\ud800"], ["r|", "\u202e"]
    splits = {"train": [[0, 0, 1], [2, 1, 3]], "valid": [[0, 0, 3]], "test": [[0, 0, 3], [0, 0, 4], [0, 1, 2]]}
    dataset = kg.Dataset.from_arrays(**splits, entity_labels=entities, relation_labels=relations, name="<odd>")
    model = TransE(np.arange(10.0).reshape(5, 2), np.ones((2, 2)))
    model.missing_entities = np.array([4])
    result = kg.classify(model, dataset, {"valid": [[0, 0, 1], [4, 0, 1]], "test": [[0, 0, 0], [0, 0, 1]]})
    assert len(result.notes) == 4
    assert result.notes[2] == "TransE, L1, 2 dimensions, no inverse relations"
    assert sum(result.dropped.values()) == 2
    again = saved(result, tmp_path / "run.kgeval")
    assert again == result
    same_numbers(again, result)
    scores = {0: -np.inf, 1: 2.0, 2: 3.0, 3: 1.0, 4: np.inf}
    negatives = {**NEGATIVES, "valid": [[0, 0, 1], [0, 0, 0]]}
    infinite = kg.classify(lambda s, p, o: np.array([scores[i] for i in o.tolist()]), small(), negatives)
    assert infinite.global_threshold == np.inf
    again = saved(infinite, tmp_path / "infinite.kgeval")
    assert again == infinite
    same_numbers(again, infinite)
    assert again != result
    with pytest.raises(DataError, match="exists; choose another name"):
        result.save(tmp_path / "run.kgeval")
    infinite.save(tmp_path / "run.kgeval", overwrite=True)
    assert kg.load_result(tmp_path / "run.kgeval") == infinite


def test_the_place_of_thresholds_is_shown_and_saved(tmp_path):
    """In the line on thresholds, if it is not the default; in a file; a file of before is one with scores."""
    chosen = "1 relation with its own threshold, 0 with the global threshold; chosen on valid (1 positive, 1 negative)"
    halfway = kg.classify(by_object, small(), NEGATIVES, threshold_at="midpoint")
    again = saved(halfway, tmp_path / "halfway.kgeval")
    assert again == halfway
    same_numbers(again, halfway, "accuracy,auc")
    for result in (halfway, again):
        assert result.facts["threshold_at"] == "midpoint"
        assert result.thresholds["threshold"].tolist() == [2.0]  # between the positive's 3 and the negative's 1
        assert result["accuracy"] == 1.0
        assert f"\n{chosen}, at midpoints between scores\n" in repr(result)
    default = kg.classify(by_object, small(), NEGATIVES)
    assert f"\n{chosen}\n" in repr(default)
    assert halfway != default
    path = saved_with(
        default,
        tmp_path / "before.kgeval",
        facts=lambda about: {name: fact for name, fact in about.items() if name != "threshold_at"},
    )
    before = kg.load_result(path)
    assert "threshold_at" not in before.facts
    assert repr(before) == repr(default)
    assert before.table.equals(default.table)
    assert before.thresholds.equals(default.thresholds)


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_saved_probabilities_come_back(tmp_path, method):
    """The column, and every metric of it."""
    pytest.importorskip("sklearn", reason="calibration is scikit-learn's")
    dataset, negatives = spread()
    result = kg.classify(by_object, dataset, negatives, calibrate=method, prior=0.2)
    again = saved(result, tmp_path / "run.kgeval")
    assert again == result
    same_numbers(again, result, "log_loss,brier,ece,accuracy,gauc")
    assert again["macro.brier"] == result["macro.brier"]


def test_saved_columns_come_back(tmp_path):
    """Numbers and texts of the user, and features, by which a loaded result breaks down without its dataset."""
    result, dataset = kinds()
    full = result.with_columns({"fold": [1, 2, 10, 1, 2, 10], "weight": [0.5, np.nan, 1.0] * 2, "kind": list("yxyyxy")})
    full = full.with_features()
    again = saved(full, tmp_path / "run.kgeval")
    assert again.columns.columns.tolist() == full.columns.columns.tolist()
    assert again.columns[["fold", "weight"]].equals(full.columns[["fold", "weight"]])
    same_numbers(again, full, "accuracy,auc")
    bare = saved(result, tmp_path / "bare.kgeval")
    with pytest.raises(DataError, match="a saved result does not contain the dataset; pass the"):
        bare.by("cardinality")
    assert bare.with_features(dataset).by("cardinality").equals(result.by("cardinality"))


def test_a_saved_result_with_features_is_equal(tmp_path):
    """What was saved and what is loaded are the same result."""
    result = kinds()[0].with_features()
    assert saved(result, tmp_path / "run.kgeval") == result


def rewritten(path, **changes):
    """Save a result with columns, then change its header fields or arrays; None removes one."""
    result = kinds()[0].with_columns({"fold": np.arange(6), "kind": list("yxyyxy")})
    return saved_with(replaced(result, table=result.table.assign(probability=0.25)), path, **changes)


TABLE = ("s", "p", "o", "label", "score", "threshold", "predicted", "probability")
THRESHOLDS = tuple(
    f"thresholds_{name}"
    for name in ("threshold", "n_valid_positive", "n_valid_negative", "n_test", "relation", "is_own")
)


@pytest.mark.parametrize(
    "changes",
    thinned(
        [
            *({name: lambda values: values.astype(str)} for name in (*TABLE, *THRESHOLDS)),
            *({name: lambda ids: ids + 0.5} for name in ("s", "p", "o", "thresholds_relation")),
            *({name: lambda flags: flags.astype(int)} for name in ("label", "predicted")),
            {"score": lambda scores: scores.astype(int)},
            *({name: lambda values: values[1:]} for name in (*TABLE, *THRESHOLDS, "column_0", "column_1")),
            *({name: lambda values: values[None]} for name in (*TABLE, *THRESHOLDS, "column_0", "column_1")),
            *({name: None} for name in (*TABLE[:-1], *THRESHOLDS, "column_0", "global_threshold", "relation_labels")),
            *({name: None} for name in ("facts", "dropped", "notes")),
            *({name: lambda ids: ids + 6} for name in ("s", "p", "o", "thresholds_relation", "column_1")),
            *({name: lambda ids: ids - 9} for name in ("s", "p", "o", "thresholds_relation")),
            {"entity_labels": lambda packed: packed[:-1]},
            {"predicted": lambda flags: ~flags},
            {"format": lambda text: text.replace("5", "1")},
            *(
                {"facts": lambda about, name=name: {k: v for k, v in about.items() if k != name}}
                for name in ("sample_seed", "version")
            ),
        ],
        9,
    ),
    ids=lambda changes: next(iter(changes)),
)
def test_damaged_files_are_refused(tmp_path, changes):
    """A column of another type or length, one that is lacking, ids of nothing, decisions against the
    thresholds: the path, and that it is damaged."""
    path = rewritten(tmp_path / "run.kgeval", **changes)
    with pytest.raises(DataError, match=re.escape(f"{path}: is damaged: ")):
        kg.load_result(path)


def test_the_version_of_a_file_is_read(tmp_path):
    """A file of a later version is refused as that; one of a kind that is unknown, as no result."""
    path = rewritten(tmp_path / "later.kgeval", format=lambda text: text.replace("5", "6"))
    with pytest.raises(DataError, match="the file has version 6 of the format, but this kgeval reads versions up to 5"):
        kg.load_result(path)
    path = rewritten(tmp_path / "odd.kgeval", format=lambda _: "kgeval classes 2")
    with pytest.raises(DataError, match="expected a result of kgeval"):
        kg.load_result(path)
    assert kg.load_result(rewritten(tmp_path / "whole.kgeval"))["accuracy"] == 4 / 6


@pytest.mark.thorough
def test_a_fresh_interpreter_reads_a_saved_classification(tmp_path):
    """`kgeval.classification` is loaded at its first use, so a program that only reads results must load it too."""
    path = rewritten(tmp_path / "whole.kgeval")
    code = f"import kgeval; print(kgeval.load_result({str(path)!r})['accuracy'])"
    root = Path(kg.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert (done.returncode, float(done.stdout)) == (0, 4 / 6), done.stderr


def test_files_of_01_name_the_seed_of_their_negatives_seed(tmp_path):
    """A seed is that of training; the fact is called `sample_seed` now, and keeps its value."""
    dataset = kg.Dataset.from_arrays(
        train=[[0, 0, 1]], valid=[[1, 0, 2]], test=[[2, 0, 3]], n_entities=9, n_relations=1
    )
    result = kg.classify(lambda s, p, o: s - o, dataset, "uniform", sample_seed=7)
    parts = {
        name: getattr(result, name) for name in ("table", "thresholds", "entities", "relations", "global_threshold")
    }
    parts |= {name: getattr(result, name) for name in ("facts", "dropped", "notes", "columns")}
    arrays, header = pack_classification(parts)
    header["facts"] = {("seed" if name == "sample_seed" else name): value for name, value in header["facts"].items()}
    assert unpack_classification(arrays, header, 5)["facts"] == result.facts
    assert result.facts["sample_seed"] == 7
