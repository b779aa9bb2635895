"""Texts become ids: by label, by names, by order, by ids."""

import numpy as np
import pytest
from prediction_files import plain_records, random_dataset, random_lists, rows_of, write_json

import kgeval as kg
from kgeval.errors import DataError

DATASET = kg.Dataset.from_frames(train=[("e", "r", "f"), ("B", "r", "e")], test=[("a", "r", "b"), ("c", "r", "b")])


def read(tmp_path, *rows, dataset=DATASET, **options):
    records = [{"query": [s, p, None], "predictions": answers, "gold": o} for s, p, o, answers in rows]
    return kg.read_predictions(write_json(tmp_path / "p.jsonl", records, lines=True), dataset, **options)


def test_a_name_that_is_the_label_of_another_entity_is_not_that_entity(tmp_path):
    """If most texts are no labels, a text that is one by chance must not be mapped by it."""
    found = read(tmp_path, ("X", "is", "B", ["e", "B"]), ("Y", "is", "B", ["B", "f"]))
    assert [row[4] for row in rows_of(found, DATASET)] == [[None, "b"], ["b", None]]
    assert found.unmapped_may_be_known


def test_a_few_unknown_labels_are_mistakes(tmp_path):
    with pytest.raises(
        DataError, match=r"line 2: unknown entity 'cc'; did you mean 'c'\?; if these are names and no labels"
    ):
        read(tmp_path, ("a", "r", "b", []), ("cc", "r", "b", []))
    with pytest.raises(DataError, match="line 1: unknown entity 'z' among the answers"):
        read(tmp_path, ("a", "r", "b", ["z"]), ("c", "r", "b", []))


def test_unknown_relations_of_known_entities_go_by_order(tmp_path):
    found = read(tmp_path, ("a", "is", "b", ["c"]), ("c", "is", "b", ["a"]))
    assert rows_of(found, DATASET)[1][:3] == ("c", "r", "b")
    assert found.notes[-1] == (
        "some relations are no labels, or several entities have the same name: the 2 object queries of the file were "
        "matched with the 2 triples of test by order; every relation agrees"
    )
    with pytest.raises(
        DataError, match=r"line 1: 'c' contradicts the triple of test at the same place, \('a', 'r', 'b'\)"
    ):
        read(tmp_path, ("c", "is", "b", []), ("a", "is", "b", []))
    with pytest.raises(DataError, match="line 1: 'is' is no label of 'dataset', and the 1 object queries"):
        read(tmp_path, ("c", "is", "b", []))


def test_ambiguous_names_in_queries_go_by_order(tmp_path):
    names = {"a": "A", "b": "B!", "c": "A", "e": "E", "f": "E"}
    rows = (("A", "r", "B!", ["A", "E"]), ("A", "r", "B!", ["B!"]))
    found = read(tmp_path, *rows, entity_names=names)
    assert rows_of(found, DATASET)[0][:5] == ("a", "r", "b", "object", [None, None])
    assert rows_of(found, DATASET)[1][:5] == ("c", "r", "b", "object", ["b"])
    with pytest.raises(DataError, match="contradicts the triple of test at the same place"):
        read(tmp_path, ("A", "r", "B!", []), ("B!", "r", "A", []), entity_names=names)


def test_ids_of_the_dataset(tmp_path):
    for seed in range(5):
        dataset = random_dataset(seed)
        lists = random_lists(dataset, seed)
        entities, relations = (
            {label: i for i, label in enumerate(v.labels)} for v in (dataset.entities, dataset.relations)
        )
        as_ids = [
            (entities[s], relations[p], entities[o], side, [entities[one] for one in answers], None)
            for s, p, o, side, answers, _ in lists
        ]
        path = write_json(tmp_path / "p.json", plain_records(as_ids))
        assert rows_of(kg.read_predictions(path, dataset, ids="dataset"), dataset) == lists
    with pytest.raises(DataError, match="line 1: the entity '12' is no id in 0..11"):
        kg.read_predictions(
            write_json(tmp_path / "p.json", plain_records([(12, 0, 1, "object", [], None)])), dataset, ids="dataset"
        )
    with pytest.raises(DataError, match="ids= and entity_names= both say what the texts of the file mean"):
        kg.read_predictions(path, dataset, ids="dataset", entity_names={"NA": "x"})


def test_another_split(tmp_path):
    dataset = kg.Dataset.from_frames(valid=[("a", "r", "b"), ("c", "r", "b")], test=[("a", "r", "c")])
    rows = (("A", "is", "B", ["C"]), ("C", "is", "B", ["B"]))
    found = read(tmp_path, *rows, dataset=dataset, split="valid")
    assert np.array_equal(found.triples, dataset["valid"].array)
    with pytest.raises(DataError, match=r"the 2 object queries of the file cannot be matched with the 1 triples"):
        read(tmp_path, *rows, dataset=dataset)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({}, "none of 0 labels is in the dataset"),
        ({"zz": "A"}, r"none of 1 label is in the dataset \(the first is 'zz'\)"),
        ({"a": 3}, "expected strings; got 'a': 3"),
        ({"a": ["A", None]}, "expected strings"),
        (3, "No such file|must be a mapping|expected str"),
    ],
)
def test_wrong_names(tmp_path, names, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, ("A", "r", "b", []), entity_names=names)


def test_names_that_lack_entities_of_the_queries_are_refused(tmp_path):
    """Rows taken in order would give the triples, but the positives would not be recognised among the answers."""
    rows = [("Ann", "r", "Bob", ["Bob"]), ("Carl", "r", "Bob", ["Bob"])]
    found = read(tmp_path, *rows, entity_names={"a": "Ann", "b": "Bob", "c": "Carl"})
    assert kg.evaluate_predictions(found, DATASET, filtered="no")["hits@1"] == 1
    with pytest.raises(
        DataError, match=r"line 1: unknown entity 'Bob'.*; add it to entity_names= \(--entity-names FILE\)"
    ):
        read(tmp_path, *rows, entity_names={"a": "Ann"})
