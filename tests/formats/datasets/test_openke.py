"""OpenKE's folders: ids with count lines, the relation in the last column."""

from collections import Counter

import numpy as np
import pytest
from dataset_folders import assert_same, failure, generator, ids_of, lines, random_facts, rows_of, write
from grids import light, size

import kgeval
from kgeval.formats.folders import AS_TABLES

FILES = {
    "entity2id.txt": "4\na\t0\nb c\t2\n\u00e9\t1\nd\t3\n",
    "relation2id.txt": "2\nr\t0\nq\t1\n",
    "train2id.txt": "2\n0 3 1\n2 1 0\n",
    "test2id.txt": "1\n3 0 0\n",
}
TRAIN, TEST = [("a", "q", "d"), ("b c", "r", "\u00e9")], [("d", "r", "a")]
NO_VALID = ["read as OpenKE (ids with count lines)"]


def test_the_relation_is_the_last_column(tmp_path):
    """Labels follow their ids, not their lines; valid2id.txt may lack."""
    dataset = kgeval.read_dataset(write(tmp_path, FILES))
    assert rows_of(dataset, "train") == TRAIN
    assert rows_of(dataset, "test") == TEST
    assert list(dataset.splits) == ["train", "test"]
    assert dataset.notes == tuple(NO_VALID)
    assert dataset.name == tmp_path.name
    assert dataset.dictionaries == {"entities": ("a", "\u00e9", "b c", "d"), "relations": ("r", "q")}


def write_openke(folder, rng, facts, entities, relations):
    """A folder as OpenKE's, with any line ends and separators that its reader takes."""
    end, separator = rng.choice(["\n", "\r\n"]), rng.choice([" ", "\t", "  "])
    files = {}
    for name, labels in (("entity2id.txt", entities), ("relation2id.txt", relations)):
        rows = [(label, i) for i, label in enumerate(labels)]
        rng.shuffle(rows)
        files[name] = f"{len(rows)}{rng.choice(['', ' '])}{end}" + lines(rows, end=end) + rng.choice(["", end])
    for split, rows in facts.items():
        text = lines(ids_of(rows, entities, relations, (0, 2, 1)), separator, end)
        files[f"{split}2id.txt"] = f"{len(rows)}{end}" + rng.choice([text, text.rstrip("\r\n"), text + end])
    return write(folder, files)


@pytest.mark.parametrize("seed", light(range(2), 1))
def test_random_folders_equal_their_labels(tmp_path, seed):
    """Labels of any characters; ids without triples are entities too."""
    for case in range(size(5, 150)):
        rng = generator(1000 * seed + case)
        facts, entities, relations = random_facts(rng)
        folder = write_openke(tmp_path / str(case), rng, facts, entities, relations)
        dataset = kgeval.read_dataset(folder, columns="htr")
        assert_same(dataset, facts, entities, relations)
        assert dataset.dictionaries == {"entities": tuple(entities), "relations": tuple(relations)}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "train2id.txt",
            "3\n0 3 1\n2 1 0\n",
            "DIR/train2id.txt, line 1: counts 3 triples, but 2 lines follow",
        ),
        ("train2id.txt", "1\n0 3 1\n2 1 0\n", "DIR/train2id.txt, line 1: counts 1 triples, but 2 lines follow"),
        (
            "train2id.txt",
            "2\n0 3 1\n2 1 2\n",
            "DIR/train2id.txt, line 3: the relation id 2 is not in 0 .. 1, the ids of relation2id.txt",
        ),
        (
            "train2id.txt",
            "2\n0 4 1\n2 1 0\n",
            "DIR/train2id.txt, line 2: the entity id 4 is not in 0 .. 3, the ids of entity2id.txt",
        ),
        (
            "train2id.txt",
            "2\n0 1 3\n2 0 2\n",
            "DIR/train2id.txt, line 2: the relation id 3 is not in 0 .. 1, the ids of relation2id.txt. The ids fit the "
            "order head, relation, tail: if this is the order, say columns='hrt' (--columns hrt)",
        ),
        (
            "train2id.txt",
            "0\t3\t1\n2\t1\t0\n",
            "DIR/train2id.txt, line 1: expected the number of triples alone, as OpenKE writes it; found '0\\t3\\t1'",
        ),
        (
            "train2id.txt",
            "2\n0 3 1\n2 1\n",
            "DIR/train2id.txt, line 3: expected three ids, separated by tabs or spaces; found '2 1'",
        ),
        (
            "train2id.txt",
            "3\n0 3 1\n\n2 1 0\n",
            "DIR/train2id.txt, line 3: expected three ids, separated by tabs or spaces; found ''",
        ),
        (
            "train2id.txt",
            "2\n0 3 1\n2 1 -1\n",
            "DIR/train2id.txt, line 3: expected three ids, separated by tabs or spaces; found '2 1 -1'",
        ),
        (
            "train2id.txt",
            "2\n0 3 1\n2 1 1.0\n",
            "DIR/train2id.txt, line 3: expected three ids, separated by tabs or spaces; found '2 1 1.0'",
        ),
        (
            "train2id.txt",
            "2\n0 3 1\n2 1 9999999999999999999\n",
            "DIR/train2id.txt, line 3: expected three ids, separated by tabs or spaces; found '2 1 "
            "9999999999999999999'",
        ),
        (
            "train2id.txt",
            "2\n0 3 1\n2 1 \u0661\n",
            "DIR/train2id.txt, line 3: expected three ids, separated by tabs or spaces; found '2 1 \u0661'",
        ),
        (
            "train2id.txt",
            "",
            "DIR/train2id.txt, line 1: expected the number of triples alone, as OpenKE writes it; found ''",
        ),
        ("train2id.txt", "2\n0 3 1\n2 1 \x000\n", "DIR/train2id.txt, line 3: a NUL character; is this a text file?"),
        (
            "entity2id.txt",
            "a\t0\nb\t1\nc\t2\nd\t3\n",
            "DIR/entity2id.txt, line 1: expected the number of entries alone, as OpenKE writes it; found 'a\\t0'",
        ),
        (
            "entity2id.txt",
            "5\na\t0\nb\t1\nc\t2\nd\t3\n",
            "DIR/entity2id.txt, line 1: counts 5 entries, but 4 follow; is the file complete?",
        ),
        (
            "entity2id.txt",
            "4\na\t1\nb\t2\nc\t3\nd\t4\n",
            "DIR/entity2id.txt, line 5: expected an id from 0 to 3, as the file has 4 entries; found '4'",
        ),
        (
            "entity2id.txt",
            "4\na\t0\nb\t1\nc\t1\nd\t3\n",
            "DIR/entity2id.txt, line 4: the id 1 occurs in line 3 too",
        ),
        (
            "entity2id.txt",
            "4\na\t0\nb\t1\na\t2\nd\t3\n",
            "DIR/entity2id.txt: the label 'a' occurs in lines 2 and 4",
        ),
    ],
)
@pytest.mark.light(10)
def test_faults_name_file_and_line(tmp_path, name, text, message):
    """Count lines, order of the columns (S4), ids out of range or off by one, twice the same id or label."""
    assert failure(write(tmp_path, FILES | {name: text})) == message


def test_swapped_dictionaries_are_an_error_that_says_so(tmp_path):
    """The ids fit if the list of relations is that of the entities."""
    swapped = {"entity2id.txt": FILES["relation2id.txt"], "relation2id.txt": FILES["entity2id.txt"]}
    assert failure(write(tmp_path, FILES | swapped)) == (
        "DIR/train2id.txt, line 2: the entity id 3 is not in 0 .. 1, the ids of entity2id.txt. The ids fit if "
        "entity2id.txt and relation2id.txt are swapped: which file lists the entities?"
    )


def test_another_order_of_columns_is_read_if_it_is_said(tmp_path):
    """h r t with a count line: refused, then read as said."""
    files = FILES | {"train2id.txt": "2\n0 1 3\n2 0 1\n", "test2id.txt": "1\n3 0 0\n"}
    dataset = kgeval.read_dataset(write(tmp_path, files), columns="hrt")
    assert rows_of(dataset, "train") == TRAIN
    assert rows_of(dataset, "test") == TEST
    for columns in ("hrtx", "h,r,t", "source,rel,target"):
        assert failure(tmp_path, columns=columns).startswith("columns must be")
    assert failure(tmp_path, columns=["a", "b", "c"]) == (
        "columns must be an order such as 'htr' for files of ids; got ['a', 'b', 'c']"
    )


def test_ids_that_fit_both_orders_are_said(tmp_path):
    """All second and third columns are ids of entities and of relations."""
    dataset = kgeval.read_dataset(write(tmp_path, FILES | {"train2id.txt": "1\n3 1 0\n"}))
    assert rows_of(dataset, "train") == [("d", "r", "\u00e9")]
    assert dataset.notes == (
        *NO_VALID,
        "the columns are read as head, tail, relation, the order of OpenKE; the ids would also fit head, relation, "
        "tail (columns='hrt', --columns hrt)",
        "1 entity of the dictionary occurs in no triple, but is a candidate",
        "1 relation of the dictionary occurs in no triple",
    )
    assert kgeval.read_dataset(tmp_path, columns="htr").notes[1:] == dataset.notes[2:]


def test_files_beside_the_splits_are_named(tmp_path):
    """The classes of n-n.py, the types and the splits as labels are known; any other part of a split is asked for."""
    extra = {
        "1-1.txt": "1\n3 0 0\n",
        "n-n.txt": "0\n",
        "type_constrain.txt": "",
        "train.txt": "a\tq\td\n",
        "README.md": "",
    }
    write(tmp_path, FILES | extra)
    assert kgeval.read_dataset(tmp_path).notes[1:] == (
        "not read: 1-1.txt and n-n.txt (test triples by class of the relation; results break down by these classes "
        "too: result.by('cardinality'), --by cardinality)",
        f"not read: train.txt (triples of labels; {AS_TABLES} reads them)",
        "not read: type_constrain.txt (the entities that OpenKE saw with each relation: --candidates FILE ranks among "
        "them)",
    )
    write(tmp_path, {"train2id_2.txt": "1\n0 0 0\n"})
    assert failure(tmp_path) == (
        "DIR: train2id_2.txt looks like a part of the dataset, but is not read; name the files of its split (splits=, "
        "--split-files), or say ignore=['train2id_2.txt'] (--ignore-files train2id_2.txt)"
    )
    both = kgeval.read_dataset(tmp_path, splits={"train": ["train2id.txt", "train2id_2.txt"]})
    assert rows_of(both, "train") == [*TRAIN, ("a", "r", "a")]
    assert rows_of(both, "test") == TEST
    assert rows_of(kgeval.read_dataset(tmp_path, ignore="train2id_2.txt"), "train") == TRAIN


def test_a_missing_train_split_is_said(tmp_path):
    """Then nothing of train is filtered."""
    dataset = kgeval.read_dataset(write(tmp_path, {k: v for k, v in FILES.items() if k != "train2id.txt"}))
    assert (
        "no train split: the filter does not remove training triples, and no entity counts as unseen" in dataset.notes
    )
    assert failure(tmp_path, ignore=["test2id.txt"]) == (
        "DIR: expected at least one of train2id.txt, valid2id.txt, test2id.txt"
    )


def test_options_without_effect_are_refused(tmp_path):
    """And a forced format needs its files."""
    assert failure(write(tmp_path / "a", FILES), labelled=True) == (
        "the format openke has no use for labelled=True (--labelled); it takes columns, splits, ignore"
    )
    assert failure(write(tmp_path / "b", {"train.txt": "a\tr\tb\n"}), format="openke") == (
        "DIR: expected entity2id.txt and relation2id.txt; entity2id.txt is missing. The folder contains train.txt"
    )
    assert failure(tmp_path / "a", splits={"tset": "test2id.txt"}) == (
        "splits: unknown split 'tset'; did you mean 'test'?; splits are train, valid, test"
    )
    assert failure(tmp_path / "a", splits="test2id.txt").startswith("splits must map names of splits to files")


def test_wn18rr_of_openke_has_the_triples_of_wn18rr(shared):
    """The same labels in the same rows; the class files are the cardinality over all splits."""
    folder = shared / "data" / "formats" / "openke-wn18rr"
    dataset, wanted = kgeval.read_dataset(folder), kgeval.read_dataset(shared / "data" / "wn18rr")
    assert dataset.fingerprint == wanted.fingerprint
    for split in wanted.splits:
        assert rows_of(dataset, split) == rows_of(wanted, split)
    assert dataset.dictionaries["entities"][:3] == ("00260881", "00260622", "01332730")
    # the lines of each class file below its count, read by hand
    listed = {
        name: Counter((folder / f"{name.lower()}.txt").read_text().splitlines()[1:])
        for name in ("1-1", "1-N", "N-1", "N-N")
    }
    counts = {name: sum(part.values()) for name, part in listed.items()}
    assert counts == {"1-1": 42, "1-N": 475, "N-1": 1487, "N-N": 1130}
    table = kgeval.evaluate(lambda s, p, o: np.zeros(np.broadcast_shapes(s.shape, p.shape, o.shape)), dataset).by(
        "cardinality", metrics="mrr", confidence=None
    )
    assert {name: table.loc[name, "n"] for name in counts} == {name: 2 * n for name, n in counts.items()}
    assert sum(listed.values(), Counter()) == Counter((folder / "test2id.txt").read_text().splitlines()[1:])
