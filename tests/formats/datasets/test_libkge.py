"""LibKGE's folders: dictionaries and triples of ids as .del files, and dataset.yaml."""

import pytest
from dataset_folders import assert_same, failure, generator, ids_of, lines, random_facts, rows_of, write
from grids import light, size

import kgeval

FILES = {
    "entity_ids.del": "0\ta\n1\tb c\n2\td\n",
    "relation_ids.del": "0\tr\n1\tq\n",
    "train.del": "0\t1\t1\n2\t0\t0\n",
    "valid.del": "1\t0\t2\n",
    "test.del": "2\t1\t2\n",
}
YAML = """dataset:
  files.entity_ids.filename: entity_ids.del
  files.entity_ids.type: map
  files.test.filename: test.del
  files.test.split_type: test
  files.test_without_unseen.filename: test_without_unseen.del
  files.train.filename: 'train.del'
  files.valid.filename: valid.del
  name: toy
  num_entities: 3
"""
READ_AS = "read as LibKGE (.del files of ids)"


def test_ids_are_subject_relation_object(tmp_path):
    """The order of LibKGE, with dataset.yaml or without."""
    dataset = kgeval.read_dataset(write(tmp_path, FILES))
    assert rows_of(dataset, "train") == [("a", "q", "b c"), ("d", "r", "a")]
    assert rows_of(dataset, "valid") == [("b c", "r", "d")]
    assert rows_of(dataset, "test") == [("d", "q", "d")]
    assert dataset.dictionaries == {"entities": ("a", "b c", "d"), "relations": ("r", "q")}
    assert dataset.notes == (READ_AS,)
    write(tmp_path, {"dataset.yaml": YAML})
    assert kgeval.read_dataset(tmp_path).fingerprint == dataset.fingerprint


@pytest.mark.parametrize("seed", light(range(2), 1))
def test_random_folders_equal_their_labels(tmp_path, seed):
    """Labels of any characters; ids without triples are entities too."""
    for case in range(size(3, 150)):
        rng = generator(1000 * seed + case)
        facts, entities, relations = random_facts(rng)
        files = {f"{split}.del": lines(ids_of(rows, entities, relations)) for split, rows in facts.items()}
        files["entity_ids.del"] = lines(enumerate(entities), end=rng.choice(["\n", "\r\n"]))
        files["relation_ids.del"] = lines(enumerate(relations))
        dataset = kgeval.read_dataset(write(tmp_path / str(case), files), columns="hrt")
        assert_same(dataset, facts, entities, relations)
        assert dataset.dictionaries == {"entities": tuple(entities), "relations": tuple(relations)}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "test.del",
            "2\t2\t1\n",
            "DIR/test.del, line 1: the relation id 2 is not in 0 .. 1, the ids of relation_ids.del. The ids fit the "
            "order head, tail, relation: if this is the order, say columns='htr' (--columns htr)",
        ),
        ("test.del", "2\t0\t3\n", "DIR/test.del, line 1: the entity id 3 is not in 0 .. 2, the ids of entity_ids.del"),
        ("test.del", "", "DIR/test.del, line 1: 0 triples; the file is empty"),
        (
            "test.del",
            "d\tq\td\n",
            "DIR/test.del, line 1: expected three ids, separated by tabs or spaces; found 'd\\tq\\td'",
        ),
        (
            "entity_ids.del",
            "1\ta\n2\tb\n3\tc\n",
            "DIR/entity_ids.del, line 3: expected an id from 0 to 2, as the file has 3 entries; found '3'",
        ),
        ("entity_ids.del", "0\ta\n1\tb\n2\ta\n", "DIR/entity_ids.del: the label 'a' occurs in lines 1 and 3"),
        (
            "dataset.yaml",
            YAML.replace("filename: test.del", "filename: test_without_unseen.del"),
            "DIR/dataset.yaml: names test_without_unseen.del as the test split, but kgeval would read test.del; say "
            "which to read: splits={'test': 'test_without_unseen.del'} (--split-files test=test_without_unseen.del)",
        ),
        (
            "dataset.yaml",
            YAML.replace("entity_ids.del", "ids.del"),
            "DIR/dataset.yaml: names ids.del as entity_ids, but kgeval reads entity_ids.del; rename the right file",
        ),
    ],
)
@pytest.mark.light(4)
def test_faults_name_file_and_line(tmp_path, name, text, message):
    """Ids out of range or off by one, another order of columns, another file as the split."""
    assert failure(write(tmp_path, FILES | {name: text})) == message


def test_parts_of_splits_are_named_and_read_on_request(tmp_path):
    """The test split without unseen entities is another test split."""
    extra = {"test_without_unseen.del": "0\t0\t0\n", "train_sample.del": "0\t1\t1\n", "entity_strings.del": "0\tA\n"}
    write(tmp_path, FILES | extra | {"dataset.yaml": YAML})
    dataset = kgeval.read_dataset(tmp_path)
    assert len(dataset["test"]) == 1
    assert dataset.notes == (
        READ_AS,
        "not read: entity_strings.del (texts of entities and relations)",
        "not read: test_without_unseen.del and train_sample.del (parts of the splits; splits={'test': FILE}, "
        "--split-files "
        "test=FILE reads one of them)",
    )
    part = kgeval.read_dataset(tmp_path, splits={"test": "test_without_unseen.del"})
    assert rows_of(part, "test") == [("a", "r", "a")]
    assert rows_of(part, "train") == rows_of(dataset, "train")
    assert part.notes[2] == (
        "not read: test.del (splits names another file for this split; triples that only the unread file contains are "
        "not filtered)"
    )
    write(tmp_path, {"train_thorough.del": "0\t0\t0\n"})
    assert failure(tmp_path).startswith("DIR: train_thorough.del looks like a part of the dataset, but is not read")
