"""RotatE's folders: triples of labels with dictionaries of ids."""

import pytest
from dataset_folders import assert_same, failure, generator, lines, random_facts, write
from grids import light, size

import kgeval
from kgeval.formats.datasets import tab_folder

FILES = {
    "entities.dict": "0\tc\n1\ta\n2\tb\n3\tlonely\n",
    "relations.dict": "0\tr\n",
    "train.txt": "a\tr\tb\nb\tr\tc\n",
    "test.txt": "c\tr\ta\n",
}
READ_AS = "read as RotatE (triples of labels, with dictionaries of ids)"


def test_the_triples_are_those_of_the_labels(tmp_path):
    """An entity of the dictionary without triples is a candidate, and said."""
    dataset = kgeval.read_dataset(write(tmp_path, FILES))
    assert_same(dataset, {"train": [("a", "r", "b"), ("b", "r", "c")], "test": [("c", "r", "a")]}, ["lonely"])
    assert dataset.dictionaries == {"entities": ("c", "a", "b", "lonely"), "relations": ("r",)}
    assert dataset.notes == (READ_AS, "1 entity of the dictionary occurs in no triple, but is a candidate")
    result = kgeval.evaluate(lambda s, p, o: (o == 3) + 0.0 * s, dataset, kgeval.Protocol(sides="object"))
    assert result["mr"] == 3  # of 4 candidates: "lonely" (id 3) is better, b and c tie; without "lonely" it is 2


@pytest.mark.parametrize("seed", light(range(2), 1))
def test_random_folders_equal_their_labels(tmp_path, seed):
    """Labels of any characters, in the order of the dictionaries."""
    for case in range(size(3, 150)):
        rng = generator(1000 * seed + case)
        facts, entities, relations = random_facts(rng)
        files = {f"{split}.txt": lines(rows, end=rng.choice(["\n", "\r\n"])) for split, rows in facts.items()}
        files["entities.dict"] = lines(enumerate(entities), end=rng.choice(["\n", "\r\n"]))
        files["relations.dict"] = lines(enumerate(relations))
        dataset = kgeval.read_dataset(write(tmp_path / str(case), files))
        assert_same(dataset, facts, entities, relations)
        assert dataset.dictionaries == {"entities": tuple(entities), "relations": tuple(relations)}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "entities.dict",
            "0\tc\n1\ta\n",
            "DIR: entities.dict lacks the entity 'b' (triple 1 of train); 1 entity of the triples is not in "
            "entities.dict. Is it the dictionary of another dataset?",
        ),
        (
            "relations.dict",
            "0\tx\n",
            "DIR: relations.dict lacks the relation 'r' (triple 1 of train); 1 relation of the triples is not in "
            "relations.dict. Is it the dictionary of another dataset?",
        ),
        (
            "entities.dict",
            "1\tc\n2\ta\n3\tb\n",
            "DIR/entities.dict, line 3: expected an id from 0 to 2, as the file has 3 entries; found '3'",
        ),
        ("entities.dict", "0\tc\n1\ta\n1\tb\n", "DIR/entities.dict, line 3: the id 1 occurs in line 2 too"),
    ],
)
@pytest.mark.light(2)
def test_faults_of_the_dictionaries(tmp_path, name, text, message):
    """A label that the dictionary lacks, ids off by one, ids twice."""
    assert failure(write(tmp_path, FILES | {name: text})) == message


def test_swapped_dictionaries_are_an_error(tmp_path):
    """The entities are then no labels of the dictionary."""
    swapped = {"entities.dict": FILES["relations.dict"], "relations.dict": FILES["entities.dict"]}
    assert failure(write(tmp_path, FILES | swapped)).startswith("DIR: entities.dict lacks the entity 'a'")


def test_options_of_tab_separated_folders_work(tmp_path):
    """The triples are read by the reader of such folders, with its errors."""
    files = FILES | {"train.txt": "a\tb\tr\nb\tc\tr\n", "test.txt": "c\ta\tr\n"}
    dataset = kgeval.read_dataset(write(tmp_path, files), columns="htr", splits={"test": "test.txt"})
    assert dataset.fingerprint == kgeval.read_dataset(write(tmp_path / "b", FILES)).fingerprint
    assert "test.txt, line 1" in failure(write(tmp_path / "c", FILES | {"test.txt": "c\tr\n"}))


def test_dictionaries_without_triples_are_a_model(shared):
    """The model of RNNLogic, and FB15k-237 with its dictionaries."""
    folder = shared / "data" / "formats" / "rotate-umls-50"
    assert failure(folder) == (
        "DIR: entity_embedding.npy belongs to a model, not to a dataset. Give it as the model (kgeval.load_model, "
        "--model), and the folder of its triples as the dataset"
    )
    folder = shared / "data" / "fb15k-237"
    dataset = kgeval.read_dataset(folder)
    assert dataset.fingerprint == kgeval.read_dataset(folder, format=tab_folder.FORMAT.name).fingerprint
    assert dataset.notes == (READ_AS,)
    listed = [line.split("\t")[1] for line in (folder / "entities.dict").read_text().splitlines()]
    assert dataset.dictionaries["entities"] == tuple(listed)
