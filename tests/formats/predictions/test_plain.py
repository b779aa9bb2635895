"""kgeval's own JSON lines of predictions."""

import json

import pandas as pd
import pytest
from grids import size
from prediction_files import plain_records, random_dataset, random_lists, rows_of, write_json

import kgeval as kg
from kgeval.errors import DataError

DATASET = kg.Dataset.from_frames(test=[("a", "r", "b"), ("c", "r", "b")])


def read(tmp_path, *records, **options):
    return kg.read_predictions(write_json(tmp_path / "p.jsonl", records, lines=True), DATASET, **options)


def query(*parts, predictions=("b",), **more):
    return {"query": list(parts), "predictions": list(predictions), **more}


def test_random_files_come_back_in_every_form(tmp_path):
    for seed in range(size(6, 240)):
        dataset = random_dataset(seed)
        lists = random_lists(dataset, seed, with_scores=seed % 2 == 0)
        if seed % 2 == 0 and not any(answers for *_, answers, _ in lists):
            continue
        records = plain_records(lists, form=seed % 3)
        path = write_json(tmp_path / "p.json", records, lines=seed % 4 < 2, indent=[None, 2][seed % 2])
        assert rows_of(kg.read_predictions(path, dataset), dataset) == lists, seed


def test_a_list_without_gold_serves_its_query(tmp_path):
    found = read(tmp_path, query(None, "r", "b", predictions=["c", "a"]))
    assert rows_of(found, DATASET) == [(None, "r", "b", "subject", ["c", "a"], None)]
    found = read(tmp_path, {"query": {"s": "a", "p": "r"}, "predictions": ["c"]})
    assert rows_of(found, DATASET) == [("a", "r", None, "object", ["c"], None)]


def test_scores_stay_beside_their_answers_in_the_order_of_the_file(tmp_path):
    """`evaluate_predictions` sorts them: it must see that the scores of a list grow, as distances do."""
    answers = [{"entity": "a", "score": 1}, {"entity": "b", "score": 2}, {"entity": "c", "score": 2.0}]
    found = read(tmp_path, query("a", "r", None, predictions=answers))
    assert rows_of(found, DATASET)[0][4:] == (["a", "b", "c"], [1.0, 2.0, 2.0])


def test_generated_text_needs_a_matching_rule(tmp_path):
    with pytest.raises(
        DataError, match=r"line 1: unknown entity 'B' among the answers.*entity_names=.*matching='exact'"
    ):
        read(tmp_path, query("a", "r", None, predictions=["B", "b"]))
    found = read(tmp_path, query("a", "r", None, predictions=["B", "b"]), matching="exact")
    assert rows_of(found, DATASET)[0][4] == [None, "b"]
    assert not found.unmapped_may_be_known
    assert "1 answer (1 text) stays unmapped: no such label in the dataset" in found.notes


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (query("a", "r", "b"), "exactly one of subject and object must be null"),
        (query(None, "r", None), "exactly one of subject and object must be null"),
        (query("a", None, None), "exactly one of subject and object must be null"),
        (query("a", "r"), "got the query"),
        ({"query": {"x": 1}, "predictions": []}, "expected the keys of a query to be one of s, p, o;"),
        (query("a", "r", None, predictions=[None]), "expected the label of an answer as a string; got null"),
        (query("a", "r", None, predictions=[1.5]), "expected the label of an answer as a string; got 1.5"),
        ({"query": ["a", "r", None], "predictions": "b"}, "expected a list of answers; got 'b'"),
        (query("a", "r", None, predictions=[{"entity": "a", "score": None}]), "expected a number as score; got null"),
        (
            query("a", "r", None, predictions=[{"entity": "a", "score": float("nan")}]),
            "expected a number as score; got nan",
        ),
        (query("a", "r", None, predictions=[{"entity": "a"}]), 'expected {"entity": label, "score": number}'),
        (query("q", "r", None), "unknown entity 'q'"),
        (query("a", "q", None), "unknown relation 'q'"),
        (query("a", "r", None, gold="d"), "unknown entity 'd'"),
        ("text", 'expected {"query"'),
    ],
)
@pytest.mark.light(5)
def test_faults_name_the_line(tmp_path, record, message):
    with pytest.raises(DataError) as error:
        read(tmp_path, query("c", "r", None), record, format="plain")
    assert "line 2: " in str(error.value)
    assert message in str(error.value)


def test_a_query_twice_needs_gold(tmp_path):
    with pytest.raises(DataError, match=r"line 2: the query \(a, r, None\) is already on line 1; keep one, or give"):
        read(tmp_path, query("a", "r", None), query("a", "r", None))
    assert len(read(tmp_path, query("a", "r", None, gold="b"), query("a", "r", None, gold="c"))) == 2


def test_scores_in_some_lists_only_are_refused(tmp_path):
    scored = query("a", "r", None, predictions=[{"entity": "a", "score": 1}])
    for records in ((scored, query("c", "r", None)), (query("c", "r", None), scored)):
        with pytest.raises(DataError, match=r"line 2: .* expected one score for each answer, in every list or in none"):
            read(tmp_path, *records)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ('{"query": ["a", "r", null], "predictions": ["b"]}\n{"query": ["a", "r"', "line 2: not JSON"),
        ('[{"query": ["a", "r", null], "predictions": ["b"]},\n {"query": ["a", "r"', "line 2: not JSON at character"),
        ('[{"query": ["a", "r", null], "predictions": ["b"]}', "is it cut off?"),
        ('[{"query": ["a", "r", null], "predictions": ["b"]},]', "after a comma"),
        ('[{"query": ["a", "r", null], "predictions": ["b"]}] x', "expected the end of the file, found 'x'"),
        ('[{"query": ["a", "r", null] "predictions": ["b"]}]', "line 1: not JSON at character"),
        ("[]", "no predictions in the file"),
        ("[" * 100_000, "not JSON"),
    ],
)
@pytest.mark.light(4)
def test_damaged_json_names_the_place(tmp_path, text, message):
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        kg.read_predictions(path, DATASET, format="plain")
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_packed_and_utf16_files(tmp_path):
    import gzip

    text = json.dumps(query("a", "r", None)) + "\n"
    (tmp_path / "p.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    assert len(kg.read_predictions(tmp_path / "p.jsonl.gz", DATASET)) == 1
    (tmp_path / "latin.jsonl").write_bytes(text.encode() + b'{"query": ["\xe9"')
    with pytest.raises(DataError, match="line 2: invalid UTF-8 at byte"):
        kg.read_predictions(tmp_path / "latin.jsonl", DATASET)


def test_scores_beside_the_answers_are_not_overlooked(tmp_path):
    """b and the positive c have equal scores: they tie, although b comes first."""
    dataset = kg.Dataset.from_frames(test=[("a", "r", "c"), ("b", "r", "d")])
    for records in (
        [
            query("a", "r", None, predictions="bc", scores=[1, 1]),
            query("b", "r", None, predictions="da", scores=[2, 1]),
        ],
        [query("a", "r", None) | {"predictions": {"b": 1, "c": 1}}, query("b", "r", None) | {"predictions": {"d": 2}}],
    ):
        found = kg.read_predictions(write_json(tmp_path / "p.jsonl", records, lines=True), dataset)
        result = kg.evaluate_predictions(found, dataset)
        assert (result["optimistic.mrr"], result["pessimistic.mrr"]) == (1, 0.75)
    with pytest.raises(DataError, match=r"line 1: 1 answers, but 2 scores; expected one score for each answer"):
        read(tmp_path, query("a", "r", None, scores=[1, 2]))
    with pytest.raises(DataError, match="line 1: scores beside the answers and within them; keep only one kind"):
        read(tmp_path, query("a", "r", None, predictions=[{"entity": "b", "score": 1}], scores=[1]))


def test_keys_that_are_not_read_are_said(tmp_path):
    found = read(tmp_path, query("a", "r", None, target="b"), query("c", "r", None, gold="b", rank=1))
    assert found.notes[-1] == "keys that were not read: target, rank"


def test_times_beside_the_query_are_read(tmp_path):
    """A list belongs to its time; where a line has no time, the key is not read, as before."""
    facts = {"test": [("a", "r", "b", 1), ("a", "r", "c", None), ("a", "r", "d", 10)]}
    dataset = kg.Dataset.from_frames(**{k: pd.DataFrame(v, columns=[*"spo", "time"]) for k, v in facts.items()})
    records = [
        query("a", "r", None, predictions=part, time=time) for part, time in (("cb", "10"), ("cd", None), ("b", 1))
    ]
    path = write_json(tmp_path / "p.jsonl", records, lines=True)
    found = kg.read_predictions(path, dataset)
    assert found.columns == {"time": ["10", None, 1]}
    assert found.notes[-1] == "each list belongs to its time"
    result = kg.evaluate_predictions(found, dataset, kg.Protocol(filter_by="time"), filtered="no")
    assert result.table["better_filtered"].tolist() == [0, 0, 2]
    assert result.table["bounded_filtered"].tolist() == [False, False, True]
    with pytest.raises(DataError, match=r"line 4: the query \(a, r, None\) is already on line 2; keep one"):
        kg.read_predictions(write_json(path, [*records, records[1]], lines=True), dataset)
    del records[1]["time"]
    found = kg.read_predictions(write_json(path, records, lines=True), dataset)
    assert found.columns == {}
    assert found.notes[-1] == "keys that were not read: time"
    with pytest.raises(kg.ProtocolError, match="filter_by=\\('time',\\) needs the time of each list"):
        kg.evaluate_predictions(found, dataset, kg.Protocol(filter_by="time"))


def test_qualifiers_beside_the_query_have_no_order(tmp_path):
    """Pairs of labels; the list with the qualifiers of a fact is used for it, and an empty list is no qualifier."""
    pairs = [[(0, 1), (0, 2)], []]
    dataset = kg.Dataset.from_arrays(
        test=[[0, 0, 1], [0, 0, 2]], n_entities=3, n_relations=1, columns={"test": {"qualifiers": pairs}}
    )
    lists = (("21", []), ("1", [["0", "2"], ["0", "1"]]))
    records = [query("0", "0", None, predictions=part, qualifiers=own) for part, own in lists]
    found = kg.read_predictions(write_json(tmp_path / "p.jsonl", records, lines=True), dataset)
    for key, better in (("qualifiers", [0, 0]), ((), [0, 0])):
        result = kg.evaluate_predictions(found, dataset, kg.Protocol(filter_by=key), filtered="no")
        assert result.table["better_filtered"].tolist() == better
        assert result.table["rivals_filtered"].tolist() == [2, 2] if key else [1, 1]
