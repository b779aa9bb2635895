"""Samples of KGT5."""

import pytest
from grids import size
from prediction_files import random_dataset, random_lists, rows_of, write_json

import kgeval as kg
from kgeval.errors import DataError

DATASET = kg.Dataset.from_frames(test=[("a", "r", "b"), ("c", "r", "b")])


def sample(text, target, predictions, scores, **more):
    return {"input": text, "target": target, "predictions": list(predictions), "scores": list(scores), **more}


def read(tmp_path, *records, dataset=DATASET, **options):
    return kg.read_predictions(write_json(tmp_path / "kgt5.jsonl", records, lines=True), dataset, **options)


def test_equal_samples_merge_and_scores_tie(tmp_path):
    found = read(tmp_path, sample("predict tail: a | r |", "b", ["c", "b", "c", "zz", "b"], [-3, -1, -2, -2, -1]))
    assert rows_of(found, DATASET) == [("a", "r", "b", "object", ["c", "b", None], [-2, -1, -2])]
    assert found.filtered == "no"
    assert not found.unmapped_may_be_known
    assert (
        "2 of 5 samples repeat a text of their query: each text counts once, with its largest log-probability"
        in found.notes
    )
    assert found.notes[-2:] == (
        "1 answer (1 text) stays unmapped: no such label in the dataset",
        "KGT5 leaves out texts that name no entity; here they keep their places as wrong answers",
    )


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("predict tail: a | r |", "object"),
        ("predict head: b | r |", "subject"),
        ("|TAIL| a||| r", "object"),
        ("|HEAD| b||| r", "subject"),
        ("<extra_id_55> a | r |  <extra_id_96> a text | with bars ", "object"),
        ("<extra_id_56> b | r | ", "subject"),
        ("query: a | r\ncontext:<extra_id_98> r | b", "object"),
        ("query: b | Reverse of r | ", "subject"),
    ],
)
def test_the_input_says_the_side(tmp_path, text, side):
    found = read(tmp_path, sample(text, "b" if side == "object" else "a", ["c"], [-1]))
    assert rows_of(found, DATASET)[0][:4] == ("a", "r", "b", side)


def test_a_side_that_is_not_said_is_asked(tmp_path):
    with pytest.raises(
        DataError, match="line 1: the file does not say which side .* give side='object' or side='subject'"
    ):
        read(tmp_path, sample("a | r", "b", ["c"], [-1]))
    assert read(tmp_path, sample("a | r", "b", ["c"], [-1]), side="tail").sides[0] == "object"
    assert read(tmp_path, sample("b | r", "a", ["c"], [-1], is_tail_pred=False)).sides[0] == "subject"
    with pytest.raises(DataError, match="contradict each other"):
        read(tmp_path, sample("predict tail: a | r |", "b", ["c"], [-1], is_tail_pred=False))


def test_random_samples_come_back(tmp_path):
    labels = ["NA", "null", "1", "Łódź", "New York", "x-y"]
    for seed in range(size(3, 120)):
        dataset = random_dataset(seed, labels=labels, relations=["likes", "in", "NA"])
        lists = [row for row in random_lists(dataset, seed, with_scores=True) if row[4]]
        records = []
        for s, p, o, side, answers, scores in lists:
            text = f"predict head: {o} | {p} |" if side == "subject" else f"predict tail: {s} | {p} |"
            more = [(answer, score - 1) for answer, score in zip(answers, scores)]  # worse samples of the same texts
            pairs = [*more, *zip(answers, scores)]
            records.append(sample(text, s if side == "subject" else o, *zip(*pairs)))
        assert rows_of(read(tmp_path, *records, dataset=dataset), dataset) == lists, seed


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (sample("predict tail: a | r |", "b", ["c"], [-1, -2]), "1 predictions, but 2 scores"),
        (sample("predict tail: a | r |", "b", ["c"], [float("nan")]), "expected a number as score; got nan"),
        (sample("predict tail: a", "b", ["c"], [-1]), "expected an input such as"),
        ({"input": "predict tail: a | r |", "predictions": [], "scores": []}, "expected the key 'target'"),
    ],
)
def test_faults_name_the_line(tmp_path, record, message):
    with pytest.raises(DataError) as error:
        read(tmp_path, record, format="kgt5")
    assert "kgt5.jsonl, line 1: " in str(error.value)
    assert message in str(error.value)
