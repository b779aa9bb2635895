"""What classify() refuses, with which words, and how negatives may be given."""

import re

import numpy as np
import pandas as pd
import pytest

import kgeval as kg
from kgeval.errors import DataError, KgevalError, ProtocolError, ScoreError
from kgeval.scorers.models.distances import TransE

LABELS = {"entity_labels": ["Ada", "Bo", "Cy", "Di", "Ed"], "relation_labels": ["knows", "likes"]}
NEGATIVES = {"valid": [[0, 0, 1]], "test": [[0, 0, 0], [0, 0, 1]]}


def small(**splits):
    """Ada knows Di in valid; Di and Cy in test."""
    given = {"valid": [[0, 0, 3]], "test": [[0, 0, 3], [0, 0, 2]], **splits}
    return kg.Dataset.from_arrays(**{k: v for k, v in given.items() if v is not None}, **LABELS, name="small")


def by_object(s, p, o):
    return o


def refused(error, message, *arguments, **settings):
    """The call fails with this class and a text that contains `message`."""
    with pytest.raises(error, match=re.escape(message)) as caught:
        kg.classify(*arguments, **settings)
    assert type(caught.value) is error
    assert isinstance(caught.value, KgevalError)


@pytest.mark.parametrize("split", ["valid", "test"])
def test_both_splits_are_needed(split):
    """Absent: what they are for, and what to do; empty: said so."""
    message = f"dataset 'small' has no split '{split}': thresholds are chosen on valid and evaluated on test"
    refused(ProtocolError, message, by_object, small(**{split: None}), NEGATIVES)
    refused(ProtocolError, "Set aside a part of train as valid", by_object, small(valid=None), "uniform")
    empty = np.zeros((0, 3), dtype=int)
    message = f"split '{split}' of 'small' has 0 triples; classification needs positives in it"
    refused(DataError, message, by_object, small(**{split: empty}), NEGATIVES)


@pytest.mark.parametrize(
    ("negatives", "message"),
    [
        (
            {"test": [[0, 0, 1]]},
            "there are no negatives of valid: add valid_negatives.txt to the folder (or, if each line of "
            "valid ends with a label, add triples with the label false), add the key 'valid' to the mapping",
        ),
        ({"valid": [[0, 0, 1]]}, "add the key 'test' to the mapping, or use negatives='uniform'"),
        ({"valid": [], "test": [[0, 0, 1]]}, "there are no negatives of valid"),
        (
            {"valid": [[0, 0, 1]], "tset": [[0, 0, 1]]},
            "the keys of negatives must be 'valid' and 'test'; got 'tset'; did you mean 'test'?",
        ),
        (
            {"valid": [[0, 0, 5]], "test": [[0, 0, 1]]},
            "negatives of valid, subjects and objects, row 0: id 5 is not in 0..4",
        ),
        ({"valid": [[0, 2, 0]], "test": [[0, 0, 1]]}, "negatives of valid, relations, row 0: id 2 is not in 0..1"),
        ({"valid": [[0, -1, 0]], "test": [[0, 0, 1]]}, "negatives of valid, relations, row 0: id -1 is not in 0..1"),
        ({"valid": [[0.0, 0.0, 1.0]], "test": [[0, 0, 1]]}, "must hold integer ids; got dtype float64"),
        ({"valid": [[0, 1]], "test": [[0, 0, 1]]}, "negatives of valid must have shape (n, 3); got (1, 2)"),
        (
            None,
            "negatives are missing: thresholds are chosen on true and false triples of valid. Pass a folder with "
            "valid_negatives.txt and test_negatives.txt, or negatives='uniform' for random negatives; if each line of "
            "valid and test ends with a label, pass kgeval.read_negatives(folder, dataset, labelled=True)",
        ),
        ([[0, 0, 1]], "negatives must be a folder, 'uniform', or a mapping with 'valid' and 'test'; got list"),
        ("unifrom", "unifrom: no such folder"),
    ],
)
def test_negatives_that_are_none(negatives, message):
    refused(DataError, message, by_object, small(), negatives)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (
            {"calibrate": "plat"},
            ProtocolError,
            "calibrate must be one of 'platt', 'isotonic'; got 'plat'; did you mean 'platt'?",
        ),
        (
            {"prior": 0.5},
            ProtocolError,
            "prior= requires calibrate=; set calibrate='platt' or calibrate='isotonic'",
        ),
        ({"batch_size": 0}, ProtocolError, "batch_size must be an integer of at least 1; got 0"),
    ],
)
def test_settings_that_are_wrong(settings, error, message):
    refused(error, message, by_object, small(), NEGATIVES, **settings)


def test_seeds_that_are_wrong():
    message = "sample_seed must be an integer of at least 0; got -1"
    refused(ProtocolError, message, by_object, small(), "uniform", sample_seed=-1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seed": 3}, "classify() has no argument 'seed'; did you mean sample_seed=?"),
        ({"max_pairs": 3}, "classify() has no argument 'max_pairs'; did you mean batch_size=?"),
        ({"metrics": "f1"}, "classify() has no argument 'metrics'; did you mean result['f1'] or result.summary(metri"),
    ],
)
def test_old_names_answer_with_the_new_one(given, message):
    refused(ProtocolError, message, by_object, small(), "uniform", **given)


def test_no_dataset():
    refused(DataError, "expected a kgeval.Dataset; got 'folder'", by_object, "folder", NEGATIVES)


def nan_for(entity):
    return lambda s, p, o: np.where(o == entity, np.nan, o)


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (lambda s, p, o: 1 / 0, "<lambda> raised ZeroDivisionError when given"),
        (lambda s, p, o: np.full(len(s), np.nan), "<lambda> gave NaN for ('Ada', 'knows', ?) with candidate 'Ada'"),
        (lambda s, p, o: o[:1], "must return shape"),
        (lambda s, p, o: None, "returned None"),
        (lambda s, p, o: o > 1, "must give real numbers (float or integer); got dtype bool"),
        (lambda s, p, o: np.random.default_rng().random(len(s)), "in a first call"),
        (lambda s, p, o: o + 2**53, "and 1 more, beyond the precision of float64, the dtype of thresholds"),
        (3, "expected a function score(s, p, o)"),
        (TransE, "expected a scorer; got the class TransE"),
        (TransE(np.ones((5, 2)), np.ones((3, 2))), "TransE has rows for 3 relations, dataset 'small' has 2"),
    ],
)
def test_scorers_that_are_wrong(scorer, message):
    """The probe's faults and those of scoring itself, all ScoreError."""
    refused(ScoreError, message, scorer, small(), NEGATIVES)


def test_nan_after_the_probe_names_its_triple():
    """600 entities, of which the probe looks at 256 with a few queries; two of five valid triples score NaN."""
    labels = {"entity_labels": [f"e{i}" for i in range(600)], "relation_labels": ["r"]}
    dataset = kg.Dataset.from_arrays(valid=[[0, 0, 8], [0, 0, 9]], test=[[0, 0, 1]], **labels)
    negatives = {"valid": [[0, 0, 8], [0, 0, 5], [0, 0, 6]], "test": [[0, 0, 3]]}
    message = (
        "<lambda> gave NaN for ('e0', 'r', 'e8') (NaN scores: 2 of 5); such a score cannot be "
        "compared. Check the parameters"
    )
    refused(ScoreError, message, nan_for(8), dataset, negatives)
    assert kg.classify(nan_for(10), dataset, negatives)["accuracy"] == 0.5


@pytest.mark.parametrize(("value", "said"), [(np.nan, "NaN"), (np.inf, "-inf")])
def test_a_diverged_model_is_refused(value, said):
    """Entities that only one test negative names; the ranker refuses such vectors too."""
    entities = np.zeros((600, 2))
    entities[8] = value
    dataset = kg.Dataset.from_arrays(valid=[[0, 0, 7]], test=[[0, 0, 1]], n_entities=600, n_relations=1)
    negatives = {"valid": [[0, 0, 5]], "test": [[0, 0, 8], [0, 0, 3]]}
    model = TransE(entities, np.ones((1, 2)))
    refused(
        ScoreError,
        f"TransE gave {said} for ('0', '0', '8') (NaN or infinite scores: 1 of 3)",
        model,
        dataset,
        negatives,
    )


def test_dtypes_may_not_change():
    """float32 but for the one entity of 600 that the probe does not look at: said, not rounded together."""
    labels = {"entity_labels": [f"e{i}" for i in range(600)], "relation_labels": ["r"]}
    dataset = kg.Dataset.from_arrays(valid=[[0, 0, 9]], test=[[0, 0, 1]], **labels)

    def score(s, p, o):
        return o.astype(np.float64 if (o == 8).any() else np.float32)

    negatives = {"valid": [[0, 0, 8]], "test": [[0, 0, 3]]}
    message = "score gave float32 scores, then float64 scores; keep to one dtype"
    refused(ScoreError, message, score, dataset, negatives, batch_size=1)


@pytest.mark.parametrize("columns", [["s", "p", "o"], ["head", "relation", "tail"], ["tail", "head", "relation"]])
def test_frames_of_labels(columns):
    """In any order of named columns, with others beside them, one part as ids: the same as ids alone."""
    order = {"s": "Ada", "head": "Ada", "p": "knows", "relation": "knows"}
    frame = pd.DataFrame([[order.get(name, other) for name in columns] for other in ("Ada", "Bo")], columns=columns)
    frame["source"] = "survey"
    result = kg.classify(by_object, small(), {"valid": NEGATIVES["valid"], "test": frame})
    assert result.table.equals(kg.classify(by_object, small(), NEGATIVES).table)
    frame.iloc[1, columns.index(columns[-1])] = "Zoe"
    place = {"s": 0, "head": 0, "p": 1, "relation": 1, "o": 2, "tail": 2}[columns[-1]]
    message = f"negatives of test, row 1, column {place}: 'Zoe' does not occur in dataset 'small'"
    refused(DataError, message, by_object, small(), {"valid": NEGATIVES["valid"], "test": frame})


def test_a_folder_of_negatives(tmp_path):
    """By path or text; the result names the folder, not the way to it."""
    (tmp_path / "hard").mkdir()
    (tmp_path / "hard" / "valid_negatives.txt").write_text("Ada\tknows\tBo\n")
    (tmp_path / "hard" / "test_negatives.tsv").write_text("Ada\tknows\tAda\nAda\tknows\tBo\n")
    wanted = kg.classify(by_object, small(), NEGATIVES)
    for folder in (tmp_path / "hard", str(tmp_path / "hard")):
        result = kg.classify(by_object, small(), folder)
        assert result.table.equals(wanted.table)
        assert result.facts["negatives_sha256"] == wanted.facts["negatives_sha256"]
        assert result.facts["negatives"] == "files in hard"
    assert kg.classify(by_object, small(), folder, source="by hand").facts["negatives"] == "by hand"
    (tmp_path / "hard" / "valid_negatives.txt").unlink()
    refused(DataError, "there are no negatives of valid: add valid_negatives.txt", by_object, small(), folder)


def test_negatives_of_train_are_left_out_and_said():
    """As a labelled train file may give them."""
    result = kg.classify(by_object, small(), {**NEGATIVES, "train": [[0, 0, 0], [0, 0, 1]]})
    assert result.notes == ("2 negatives of train are left out: thresholds are chosen on valid",)
    assert result.table.equals(kg.classify(by_object, small(), NEGATIVES).table)


def test_labelled_files_from_end_to_end(tmp_path):
    """The positives as a dataset, the rest as negatives: the threshold of `knows` is 2 (Cy), so Bo is called false."""
    (tmp_path / "train.txt").write_text("Ada\tknows\tBo\n")
    (tmp_path / "valid.txt").write_text("Ada\tknows\tCy\t1\nAda\tknows\tBo\t-1\n")
    (tmp_path / "test.txt").write_text("Bo\tknows\tCy\ttrue\nCy\tknows\tBo\tfalse\nCy\tknows\tAda\ttrue\n")
    dataset = kg.read_dataset(tmp_path, labelled=True)
    result = kg.classify(by_object, dataset, kg.read_negatives(tmp_path, dataset, labelled=True))
    assert result.labelled()[["s", "o", "label", "predicted"]].values.tolist() == [
        ["Bo", "Cy", True, True],
        ["Cy", "Ada", True, False],
        ["Cy", "Bo", False, False],
    ]
    assert result["accuracy"] == pytest.approx(2 / 3)


def test_what_a_model_cannot_score_is_dropped_and_counted():
    """No vector for Ed: the test positive and the valid negative that name him are left out."""
    dataset = small(test=[[0, 0, 3], [0, 0, 4]], train=[[0, 0, 1], [2, 1, 3]])
    model = TransE(np.arange(10.0).reshape(5, 2), np.ones((2, 2)))
    model.missing_entities = np.array([4])
    result = kg.classify(model, dataset, {**NEGATIVES, "valid": [[0, 0, 1], [4, 0, 1]]})
    assert result.dropped == {
        "valid: the model has no vector for an entity or relation": 1,
        "test: the model has no vector for an entity or relation": 1,
    }
    assert result.table[["s", "p", "o"]].to_numpy().tolist() == [[0, 0, 3], [0, 0, 0], [0, 0, 1]]
    assert "test 1 positive and 2 negatives, 2 dropped" in repr(result)
    assert "dropped: 1 triple, test: the model has no vector for an entity or relation" in repr(result)
    message = "no negatives of test are left: each contains an entity or relation for which the model has no"
    refused(DataError, message, model, dataset, {"valid": [[0, 0, 1]], "test": [[0, 0, 4]]})


def test_relations_without_a_vector():
    """`likes`, which train lacks, stands in one valid negative; where train has it, the model is the wrong one."""
    model = TransE(np.arange(10.0).reshape(5, 2), np.ones((2, 2)))
    model.missing_relations = np.array([1])
    negatives = {**NEGATIVES, "valid": [[0, 0, 1], [4, 1, 1]]}
    result = kg.classify(model, small(train=[[0, 0, 4]]), negatives)
    assert result.dropped == {"valid: the model has no vector for an entity or relation": 1}
    message = "the model has no vector for 1 relation that it should know (such as 'likes')"
    refused(ScoreError, message, model, small(train=[[0, 1, 4]]), negatives)


def test_what_a_model_says_of_itself_is_noted():
    """As of a file whose rows had no labels."""
    model = TransE(np.arange(10.0).reshape(5, 2), np.ones((2, 2)))
    model.notes = ("rows were taken in order",)
    assert kg.classify(model, small(), NEGATIVES).notes == ("rows were taken in order",)
