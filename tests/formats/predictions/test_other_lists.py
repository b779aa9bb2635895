"""Lists of ExplainaBoard, DIFT and TLogic."""

import json

import pytest
from grids import size
from prediction_files import random_dataset, random_lists, rows_of, write_json

import kgeval as kg
from kgeval.errors import DataError

DATASET = kg.Dataset.from_frames(test=[("a", "r", "b"), ("c", "r", "b")])
SIDE = {"subject": "head", "object": "tail"}


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def gold(s, p, o, side, answers, rank=None):
    made = {"gold_head": s, "gold_predicate": p, "gold_tail": o, "predict": SIDE[side], "predictions": answers}
    return made | ({} if rank is None else {"true_rank": rank})


def test_random_files_come_back(tmp_path):
    """ExplainaBoard's three forms, DIFT and TLogic: lists of both sides by label."""
    path = tmp_path / "p.json"
    for seed in range(size(3, 120)):
        dataset = random_dataset(seed)
        lists = random_lists(dataset, seed)
        records = [gold(*row[:5]) for row in lists]
        assert rows_of(kg.read_predictions(write(path, records), dataset), dataset) == lists, seed
        wrapped = {"user_defined_features_configs": {}, "predictions": records}
        assert rows_of(kg.read_predictions(write(path, wrapped), dataset), dataset) == lists, seed
        tails = [row for row in lists if row[3] == "object"]
        by_triple = {"\t".join(row[:3]): row[4] for row in tails}
        found = kg.read_predictions(write(path, by_triple), dataset, side="tail")
        assert rows_of(found, dataset) == tails, seed
        scored = random_lists(dataset, seed, with_scores=True)
        dift = [
            {"triplet": [o, p, s] if side == "subject" else [s, p, o], "inverse": side == "subject", "rank": 3,
             "topk_ents": answers, "topk_names": answers, "topk_scores": scores}
            for s, p, o, side, answers, scores in scored
        ]  # fmt: skip
        if any(row[4] for row in scored):
            found = kg.read_predictions(write_json(path, dift), dataset)
            assert rows_of(found, dataset) == scored, seed
        n = len(dataset["test"])
        of_side = {side: [row for row in scored if row[3] == side] for side in SIDE}
        rows = [*of_side["object"], *of_side["subject"]]  # TLogic: row n + i asks for the subject of triple i
        numbered = {str(i): dict(zip(row[4], row[5])) for i, row in enumerate(rows)}
        if any(row[4] for row in rows):
            found = kg.read_predictions(write(path, numbered), dataset, format="tlogic")
            assert rows_of(found, dataset) == rows, seed
            assert found.notes[-1].startswith(f"rows from {n:,} on ask for the subjects")


def test_an_inverse_triplet_starts_with_the_object(tmp_path):
    record = {"triplet": ["b", "r", "a"], "inverse": True, "topk_ents": ["c", "a"]}
    found = kg.read_predictions(write_json(tmp_path / "p.json", [record]), DATASET)
    assert rows_of(found, DATASET) == [("a", "r", "b", "subject", ["c", "a"], None)]
    assert found.filtered is None  # whether the lists were filtered before a re-ranker is asked


def test_true_ranks_are_taken_where_every_row_has_one(tmp_path):
    records = [gold("a", "r", "b", "object", ["c", "b"], 2), gold("c", "r", "b", "object", ["c", "a"], 17)]
    found = kg.read_predictions(write_json(tmp_path / "p.json", records), DATASET)
    assert isinstance(found, kg.GivenRanks)
    assert found.ranks.tolist() == [2, 17]
    assert found.filtered is None
    better = [records[0] | {"true_rank": 1}, records[1]]
    notes = kg.read_predictions(write_json(tmp_path / "p.json", better), DATASET).notes
    assert any(note.startswith("true_rank is better than the place in the list in 1 row") for note in notes)
    with pytest.raises(DataError, match="line 1: true_rank is 3, but the list has the answer in place 2"):
        kg.read_predictions(write_json(tmp_path / "p.json", [records[0] | {"true_rank": 3}, records[1]]), DATASET)
    some = [records[0], gold("c", "r", "b", "object", ["c", "a"])]
    assert isinstance(kg.read_predictions(write_json(tmp_path / "p.json", some), DATASET), kg.Predictions)


def test_a_side_that_is_not_said_is_asked(tmp_path):
    for content in ({"a\tr\tb": ["c"]}, {"0": {"a": 1.0}}):
        path = write(tmp_path / "p.json", content)
        with pytest.raises(DataError, match="the file does not say which side"):
            kg.read_predictions(path, DATASET)
        assert kg.read_predictions(path, DATASET, side="head").sides.tolist() == ["subject"]


def test_queries_of_tlogic_by_label_and_by_id(tmp_path):
    path = write(tmp_path / "p.json", {"a\tr\t?": {"c": 0.5, "b": 0.5, "a": 1}, "?|r|b": {}})
    found = kg.read_predictions(path, DATASET)
    assert rows_of(found, DATASET) == [
        ("a", "r", None, "object", ["c", "b", "a"], [0.5, 0.5, 1.0]),
        (None, "r", "b", "subject", [], []),
    ]
    path = write(tmp_path / "p.json", {"1": {"2": 0.5, "0": 1}})
    found = kg.read_predictions(path, DATASET, side="tail", ids="dataset")
    assert rows_of(found, DATASET) == [("c", "r", "b", "object", ["c", "a"], [0.5, 1.0])]
    with pytest.raises(DataError, match="the entity '3' is no id of an entity of the dataset"):
        kg.read_predictions(write(tmp_path / "p.json", {"1": {"3": 0.5}}), DATASET, side="tail", ids="dataset")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"9": {"a": 1}}, "row 9, but test has 2 triples, 4 with inverse ones"),
        ({"a\tr\t?": {"a": None}}, "expected a number as score; got null"),
        ({"a\tr\t?": ["a"]}, "expected {entity: score}"),
        ({"a\tr": {"a": 1}}, "expected a query"),
        ({"a\tr\t?": {"d": 1}}, "unknown entity 'd' among the answers"),
    ],
)
def test_faults_of_tlogic(tmp_path, content, message):
    with pytest.raises(DataError) as error:
        kg.read_predictions(write(tmp_path / "p.json", content), DATASET, format="tlogic")
    assert "p.json, line 2" in str(error.value)
    assert message in str(error.value)


def test_a_key_twice_is_refused(tmp_path):
    (tmp_path / "p.json").write_text('{"a\\tr\\t?": {"a": 1},\n "a\\tr\\t?": {"b": 1}}')
    with pytest.raises(DataError, match=r"line 2: the key 'a\\tr\\t\?' is already on line 1; keep one"):
        kg.read_predictions(tmp_path / "p.json", DATASET)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"predict": "predicate"}, "expected 'head' or 'tail' as predict; got 'predicate'"),
        ({"true_rank": "1"}, "expected a number as true_rank; got '1'"),
        ({"true_rank": 0}, "expected a rank: 1, 1.5, 2, ...; got 0"),
        ({"predictions": None}, "expected a list of answers; got None"),
        ({"gold_tail": "x"}, "unknown entity 'x'"),
    ],
)
def test_faults_of_explainaboard(tmp_path, change, message):
    records = [gold("a", "r", "b", "object", ["a"], 2), gold("c", "r", "b", "object", ["a"], 2) | change]
    with pytest.raises(DataError) as error:
        kg.read_predictions(write_json(tmp_path / "p.json", records), DATASET)
    assert "p.json, line 2: " in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"inverse": 1}, "inverse as true or false"), ({"triplet": ["a", "r"]}, "triplet as a list of three labels")],
)
def test_faults_of_dift(tmp_path, change, message):
    record = {"triplet": ["b", "r", "a"], "inverse": True, "topk_ents": ["c", "a"]} | change
    with pytest.raises(DataError, match=f"p.json, line 1: .*{message}"):
        kg.read_predictions(write_json(tmp_path / "p.json", [record]), DATASET)
