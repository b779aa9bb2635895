"""KG-BERT's folders: triples as .tsv, with texts and lists of labels beside them."""

import numpy as np
import pytest
from dataset_folders import assert_same, generator, lines, random_facts, rows_of, write
from grids import light, size

import kgeval

FILES = {
    "train.tsv": "a\tr\tb\nb\tr\tc\n",
    "dev.tsv": "a\tr\tc\n",
    "test.tsv": "c\tr\ta\n",
    "entity2text.txt": "a\tthe first\nb\tthe second\n",
    "relation2text.txt": "r\tis before\n",
}
READ_AS = "read as KG-BERT (triples with texts beside them)"
TEXTS = "not read: entity2text.txt and relation2text.txt (texts of entities and relations)"


def test_texts_are_named_and_dev_is_valid(tmp_path):
    """The texts are no triples."""
    dataset = kgeval.read_dataset(write(tmp_path, FILES))
    facts = {"train": [("a", "r", "b"), ("b", "r", "c")], "valid": [("a", "r", "c")], "test": [("c", "r", "a")]}
    assert_same(dataset, facts)
    assert dataset.notes == (READ_AS, "dev.tsv is read as the valid split", TEXTS)


def test_listed_labels_are_entities(tmp_path):
    """KG-BERT ranks all of entities.txt; a list with several columns is another file."""
    dataset = kgeval.read_dataset(
        write(tmp_path, FILES | {"entities.txt": "a\nb\nc\nd e\n", "relations.txt": "r\nq\n"})
    )
    assert dataset.entities.labels == ("a", "b", "c", "d e")
    assert dataset.relations.labels == ("q", "r")
    assert "1 entity of entities.txt occurs in no triple, but is a candidate" in dataset.notes
    assert rows_of(dataset, "test") == [("c", "r", "a")]
    assert dataset.dictionaries == {}
    other = kgeval.read_dataset(write(tmp_path, {"entities.txt": "a\t1\nz\t2\n"}))
    assert other.entities.labels == ("a", "b", "c")


@pytest.mark.parametrize("seed", light(range(2), 1))
def test_random_folders_equal_their_labels(tmp_path, seed):
    """Labels of any characters; entities.txt lists all."""
    for case in range(size(3, 150)):
        rng = generator(1000 * seed + case)
        facts, entities, relations = random_facts(rng)
        names = {"train": "train.tsv", "valid": "dev.tsv", "test": "test.tsv"}
        files = {names[split]: lines(rows) for split, rows in facts.items()}
        files |= {"entity2text.txt": lines((e, "x") for e in entities), "entities.txt": lines([e] for e in entities)}
        files["relations.txt"] = lines([r] for r in relations)
        assert_same(kgeval.read_dataset(write(tmp_path / str(case), files)), facts, entities, relations)


def test_false_triples_are_recognised(tmp_path):
    """WN11, FB13: 1 or -1 in the fourth column; shares of train are no further triples."""
    labelled = {
        "dev.tsv": "a\tr\tc\t1\nb\tr\tx\t-1\n",
        "test.tsv": "c\tr\ta\t1\nc\tr\tb\t-1\na\tr\ta\t1\n",
        "train_5.tsv": "a\tr\tb\n",
        "train_10.tsv": "a\tr\tb\nb\tr\tc\n",
    }
    dataset = kgeval.read_dataset(write(tmp_path, FILES | labelled))
    assert rows_of(dataset, "valid") == [("a", "r", "c")]
    assert rows_of(dataset, "test") == [("c", "r", "a"), ("a", "r", "a")]
    assert dataset.entities.labels == ("a", "b", "c", "x")
    assert dataset.notes == (
        READ_AS,
        "dev.tsv is read as the valid split",
        "each line of dev.tsv and test.tsv ends with 1 or -1, so the splits contain the lines with 1 only; "
        "read_negatives(..., labelled=True) (kgeval classify --labelled) reads the false triples",
        "not read: train_10.tsv and train_5.tsv (parts of train)",
        TEXTS,
    )
    negatives = kgeval.read_negatives(tmp_path, dataset, labelled=True)
    ids = dataset.entities.ids(["b", "x", "c", "b"])
    np.testing.assert_array_equal(negatives["valid"], [[ids[0], 0, ids[1]]])
    np.testing.assert_array_equal(negatives["test"], [[ids[2], 0, ids[3]]])
    assert kgeval.read_dataset(tmp_path, labelled=True).fingerprint == dataset.fingerprint
