"""DGL-KE's folders: entities.tsv and relations.tsv beside triples of labels or of ids."""

import pytest
from dataset_folders import assert_same, failure, generator, ids_of, lines, random_facts, rows_of, write
from grids import size

import kgeval
from kgeval.formats.folders import AS_TABLES

FILES = {
    "entities.tsv": "0\tx\n1\ty\n2\tz\n",
    "relations.tsv": "0\tr\n1\tq\n",
    "train.tsv": "y\tr\tx\nz\tq\ty\n",
    "test.tsv": "x\tr\tz\n",
}
READ_AS = "read as DGL-KE (entities.tsv and relations.tsv beside the triples)"


def test_labels_and_ids_give_the_same_triples(tmp_path):
    """What the words are is told by the dictionaries."""
    labels = kgeval.read_dataset(write(tmp_path / "labels", FILES))
    ids = {"train.tsv": "1\t0\t0\n2\t1\t1\n", "test.tsv": "0\t0\t2\n"}
    numbers = kgeval.read_dataset(write(tmp_path / "ids", FILES | ids))
    assert labels.fingerprint == numbers.fingerprint
    assert labels.dictionaries == numbers.dictionaries == {"entities": ("x", "y", "z"), "relations": ("r", "q")}
    assert labels.notes == (READ_AS,)
    assert numbers.notes == (READ_AS, "the triples hold ids of entities.tsv and relations.tsv")


@pytest.mark.parametrize("are_ids", [False, True])
def test_random_folders_equal_their_labels(tmp_path, are_ids):
    """Labels of any characters."""
    for case in range(size(2, 150)):
        rng = generator(case)
        facts, entities, relations = random_facts(rng)
        files = {
            f"{split}.tsv": lines(ids_of(rows, entities, relations) if are_ids else rows)
            for split, rows in facts.items()
        }
        files |= {"entities.tsv": lines(enumerate(entities)), "relations.tsv": lines(enumerate(relations))}
        dataset = kgeval.read_dataset(write(tmp_path / str(case), files), columns="hrt", header=False)
        assert_same(dataset, facts, entities, relations)
        assert dataset.dictionaries == {"entities": tuple(entities), "relations": tuple(relations)}


def test_numbers_that_are_labels_and_ids_are_asked_about(tmp_path):
    """Entity 10 has the id 0: "10" can only be a label; "1" may be both."""
    files = FILES | {"entities.tsv": "0\t10\n1\t0\n2\t1\n", "relations.tsv": "0\t1\n1\t0\n"}
    asked = (
        "DIR: the triples may hold labels or ids: all their words are both labels and ids of entities.tsv and "
        f"relations.tsv. If they are labels, use {AS_TABLES}; if they are ids, write the labels into the triples"
    )
    folder = write(tmp_path / "both", files | {"train.tsv": "0\t0\t1\n", "test.tsv": "1\t1\t0\n"})
    assert failure(folder, columns="hrt") == asked
    folder = write(tmp_path / "labels", files | {"train.tsv": "0\t0\t10\n", "test.tsv": "1\t1\t0\n"})
    assert rows_of(kgeval.read_dataset(folder, columns="hrt"), "train") == [("0", "0", "10")]
    folder = write(tmp_path / "ids", files | {"train.tsv": "0\t0\t2\n", "test.tsv": "1\t1\t0\n"})
    assert rows_of(kgeval.read_dataset(folder, columns="hrt"), "train") == [("10", "1", "1")]


def test_labels_that_are_their_own_ids_need_no_answer(tmp_path):
    """Then both readings are the same."""
    files = {"entities.tsv": "id\tlabel\n0\t0\n1\t1\n", "relations.tsv": "id\tlabel\n0\t0\n"}
    folder = write(tmp_path, files | {"train.tsv": "0\t0\t1\n"})
    dataset = kgeval.read_dataset(folder, format="dglke", columns="hrt")
    assert rows_of(dataset, "train") == [("0", "0", "1")]


def test_words_that_are_neither_are_an_error(tmp_path):
    """Labels of another dataset, ids out of range."""
    assert failure(write(tmp_path / "a", FILES | {"test.tsv": "x\tr\tw\n"})).startswith(
        "DIR: entities.tsv lacks the entity 'w' (triple 1 of test)"
    )
    ids = {"train.tsv": "1\t0\t0\n2\t1\t1\n", "test.tsv": "0\t0\t3\n"}
    assert failure(write(tmp_path / "b", FILES | ids)).startswith("DIR: entities.tsv lacks the entity '0'")


def test_other_files_of_these_names_are_no_dictionaries(tmp_path):
    """A table of descriptions does not start with the id 0."""
    dataset = kgeval.read_dataset(write(tmp_path, FILES | {"entities.tsv": "x\tthe first\ny\tthe second\n"}))
    assert dataset.notes == ()
