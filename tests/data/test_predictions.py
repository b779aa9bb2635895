"""`Predictions` and `GivenRanks`: faulty shapes of answers, scores, sides and ranks are errors that say what came."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from kgeval import Dataset, GivenRanks, Predictions
from kgeval.errors import DataError

QUERY = ("Jack", "born_in", None)
EXPECTED = (
    "query ('Jack', 'born_in', None): expected a list of labels, best answer first, or a dict from label to score"
)


@pytest.fixture(scope="module")
def dataset():
    return Dataset.from_frames(test=[("Jack", "born_in", "Italy"), ("Ann", "born_in", "Rome")])


def refusal(make, *given, **options):
    with pytest.raises(DataError) as caught:
        make(*given, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "came"),
    [
        ("Italy", "got str 'Italy'"),
        (np.str_("Italy"), "got str_ "),
        (b"Italy", "got bytes b'Italy'"),
        ({"Italy", "Rome"}, "got set {"),
        (frozenset(["Italy"]), "got frozenset "),
        ({"Italy": 1.0}.keys(), "got dict_keys "),
        ((label for label in ["Italy"]), "got generator, which can be read only once (list(...) makes a list of it)"),
        (None, "got NoneType None"),
        (3, "got int 3"),
        (np.array("Italy"), "got an array of shape ()"),
        (np.array([["Italy", "Rome"]]), "got the answer an array of shape (2,)"),
        ([["Italy", "Rome", "Ann"]], "got the answer list ['Italy', 'Rome', 'Ann']"),
        ([("Italy", 0.9)], "got the answer tuple ('Italy', 0.9); for scores, write a dict such as {'Rome': 0.9}"),
        (["Italy", 1], "got the answer int 1"),
        (["Italy", None], "got the answer NoneType None"),
        ({1: "Italy"}, "got the answer int 1"),
    ],
)
def test_answers_that_are_no_list_of_labels_are_refused_with_their_query(dataset, given, came):
    message = refusal(Predictions.from_labels, {("Ann", "born_in", None): ["Rome"], QUERY: given}, dataset)
    assert message.startswith(f"{EXPECTED}; {came}")


@pytest.mark.parametrize(
    ("score", "came"),
    [("0.9", "str '0.9'"), (True, "bool True"), (None, "NoneType None"), (np.ones(1), "an array of shape (1,)")],
)
def test_scores_that_are_no_numbers_are_refused_with_query_and_label(dataset, score, came):
    message = refusal(Predictions.from_labels, {QUERY: {"Italy": score}}, dataset)
    assert message == (f"query ('Jack', 'born_in', None): expected a number as the score of 'Italy'; got {came}")


def test_what_is_no_dict_of_queries_is_refused(dataset):
    expected = "answers: expected a dict from queries (s, p, None) or (None, p, o) to lists of labels; got list "
    assert refusal(Predictions.from_labels, [(QUERY, ["Italy"])], dataset).startswith(expected)
    expected = "dataset: expected a kgeval.Dataset; got str 'WN18RR'"
    assert refusal(Predictions.from_labels, {QUERY: ["Italy"]}, "WN18RR") == expected


def test_every_ordered_list_of_labels_is_read(dataset):
    ids = dataset.entities.find(["Rome", "Italy"]).tolist()
    for given in (["Rome", "Italy"], ("Rome", "Italy"), np.array(["Rome", "Italy"]), pd.Series(["Rome", "Italy"])):
        assert Predictions.from_labels({QUERY: given}, dataset).answers.values.tolist() == ids
    scores = {"Rome": np.float32(0.5), "Italy": Decimal("0.25")}
    assert Predictions.from_labels({QUERY: scores}, dataset).scores.tolist() == [0.5, 0.25]
    assert len(Predictions.from_labels({QUERY: []}, dataset).answers.values) == 0


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"answers": "31"}, "answers: expected a list of answers for each triple; got str '31'"),
        ({"answers": {0: [3]}}, "answers: expected a list of answers for each triple; got dict {0: [3]}"),
        ({"answers": [{3, 1}]}, "answers[0]: expected a list of ids, best answer first; got set {1, 3}"),
        ({"answers": [3]}, "answers[0]: expected a list of ids, best answer first; got int 3"),
        ({"answers": [b"31"]}, "answers[0]: expected a list of ids, best answer first; got bytes b'31'"),
        ({"answers": np.array(3)}, "answers: expected a list of answers for each triple; got an array of shape ()"),
        ({"answers": [[[3, 1]]]}, "answers[0]: expected a list of ids in one dimension; got shape (1, 2)"),
        ({"answers": [[3, [1]]]}, "answers[0]: expected an array; got list [3, [1]]: "),
        ({"answers": [["3", "1"]]}, "answers[0] must hold integer ids; got dtype <U1"),
        ({"scores": [{0.9, 0.4}]}, "scores[0]: expected a list of numbers, one per answer; got set {"),
        ({"scores": [["high", "low"]]}, "scores[0]: expected numbers in one dimension; got dtype <U4, shape (2,)"),
        ({"scores": "91"}, "scores: expected a list of scores for each triple; got str '91'"),
        ({"scores": iter([[1, 2]])}, "scores: expected a list of scores for each triple; got list_iterator, which can"),
        ({"sides": {"object"}}, "sides: expected 'subject', 'object', or a list with one side per triple; got set {"),
    ],
)
def test_arrays_of_wrong_shapes_are_refused(changed, text):
    given = {"triples": [[0, 0, 1]], "sides": "object", "answers": [[3, 1]], "scores": [[0.9, 0.4]]} | changed
    assert refusal(Predictions.from_arrays, **given).startswith(text)


def test_a_frame_of_answers_is_read_by_rows():
    frame = pd.DataFrame([[3, 1], [2, 0]], columns=[7, 8])
    predictions = Predictions.from_arrays([[0, 0, 1], [0, 0, 2]], "object", frame)
    assert predictions.answers.values.tolist() == [3, 1, 2, 0]


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"ranks": "12"}, "ranks: expected one rank per triple; got str '12'"),
        ({"ranks": {1, 2}}, "ranks: expected one rank per triple; got set {1, 2}"),
        ({"ranks": ["first", "last"]}, "ranks: expected numbers in one dimension; got dtype <U5, shape (2,)"),
        ({"n_candidates": [4, 4, 4]}, "n_candidates: expected one number, or one per triple (2); got (3,)"),
        ({"sides": ("object" for _ in range(2))}, "sides: expected 'subject', 'object', or a list with one side"),
    ],
)
def test_given_ranks_of_wrong_shapes_are_refused(changed, text):
    given = {"triples": [[0, 0, 1], [0, 0, 2]], "sides": "object", "ranks": [1, 2.5]} | changed
    assert re.match(re.escape(text), refusal(GivenRanks.from_arrays, **given))
