"""Files of negatives, and of triples with a label: what is read, and every fault with its file and line."""

import random
import re
from pathlib import Path

import numpy as np
import pytest
from grids import light

import kgeval as kg
from kgeval.errors import DataError
from kgeval.formats.triple_tables import read_table

TRUE_OR_FALSE = {"1": True, "-1": False, "0": False, "true": True, "false": False, "True": True, "FALSE": False}
PAIRS = (("1", "-1"), ("1", "0"), ("true", "false"), ("True", "FALSE"))


def write(folder, **files):
    """Text files, spaces standing for tabs and slashes for line ends."""
    for stem, text in files.items():
        (folder / f"{stem}.txt").write_text("".join(line.replace(" ", "\t") + "\n" for line in text.split("/")))
    return folder


def labels_of(dataset, triples):
    e, r = dataset.entities.labels, dataset.relations.labels
    return [f"{e[s]} {r[p]} {e[o]}" for s, p, o in np.asarray(triples).tolist()]


def failure(call, *arguments, **options):
    """What the call says, with folders taken out."""
    with pytest.raises(DataError) as error:
        call(*arguments, **options)
    return re.sub(r"/\S*/", "", str(error.value))


PLAIN = {"train": "a r b/b r c", "valid": "a r c", "test": "c r a"}


def test_negatives_are_read_in_order(tmp_path):
    """Ids of the dataset, repeated lines and known triples kept, .tsv as well as .txt."""
    write(tmp_path, **PLAIN, valid_negatives="c r b/a r b/c r b")
    (tmp_path / "test_negatives.tsv").write_bytes(b"\xef\xbb\xbfb\tr\ta\r\na\tr\ta")
    dataset = kg.read_dataset(tmp_path)
    negatives = kg.read_negatives(tmp_path, dataset)
    assert list(negatives) == ["valid", "test"]
    assert negatives["valid"].tolist() == [[2, 0, 1], [0, 0, 1], [2, 0, 1]]
    assert negatives["test"].tolist() == [[1, 0, 0], [0, 0, 0]]
    assert {part.dtype for part in negatives.values()} == {np.dtype(np.int64)}


def test_one_file_of_negatives_is_enough(tmp_path):
    """What is absent has no key; `classify` says what it lacks."""
    write(tmp_path, **PLAIN, test_negatives="c r b")
    assert list(kg.read_negatives(tmp_path, kg.read_dataset(tmp_path))) == ["test"]


def test_header_of_negatives(tmp_path):
    """Known names tell the order of the columns."""
    write(tmp_path, **PLAIN)
    dataset = kg.read_dataset(tmp_path)
    write(tmp_path, valid_negatives="tail head relation/b c r/b a r")
    assert labels_of(dataset, kg.read_negatives(tmp_path, dataset, header=True)["valid"]) == ["c r b", "a r b"]
    write(tmp_path, valid_negatives="tail head relation/b c r/b x r")
    said = failure(kg.read_negatives, tmp_path, dataset, header=True)
    assert said.startswith("valid_negatives.txt, line 3: entity 'x' does not occur")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("c r b/c r x/y r b", "valid_negatives.txt, line 2: entity 'x' does not occur in dataset"),
        ("c r b/c r a/x r b", "valid_negatives.txt, line 3: entity 'x' does not occur in dataset"),
        ("c q b", "valid_negatives.txt, line 1: relation 'q' does not occur in dataset"),
        ("c r b/c r", "valid_negatives.txt, line 2: expected 3 tab-separated columns (s, p, o), found 2"),
        ("c r b 0", "found 4: 'c\\tr\\tb\\t0'; if the fourth column is true or false, use labelled=True"),
        ("", "valid_negatives.txt, line 1: 0 triples; the file is empty"),
    ],
)
@pytest.mark.light(3)
def test_faults_of_negatives(tmp_path, text, said):
    write(tmp_path, **PLAIN, valid_negatives=text)
    assert said in failure(kg.read_negatives, tmp_path, kg.read_dataset(tmp_path))


def test_folders_without_negatives(tmp_path):
    """The files that are wanted, those that are there, and another way."""
    dataset = kg.read_dataset(write(tmp_path, **PLAIN))
    said = failure(kg.read_negatives, tmp_path, dataset)
    assert "expected valid_negatives.txt and test_negatives.txt (or .tsv); the folder contains test.txt, train" in said
    assert said.endswith("kgeval.classify can draw negatives (negatives='uniform', --negatives uniform)")
    assert failure(kg.read_negatives, tmp_path / "none", dataset).endswith("none: no such folder")
    assert failure(kg.read_negatives, tmp_path / "test.txt", dataset).endswith("give the folder that contains it")
    write(tmp_path, test_negatives="a r a")
    (tmp_path / "test_negatives.tsv").write_text("a\tr\ta\n")
    assert "contains both test_negatives.txt and test_negatives.tsv; keep only one" in failure(
        kg.read_negatives, tmp_path, dataset
    )
    only_train = tmp_path / "only"
    only_train.mkdir()
    write(only_train, train="a r b -1")
    said = failure(kg.read_negatives, only_train, dataset, labelled=True)
    assert said.endswith("expected valid.txt and test.txt (or .tsv); the folder contains train.txt")


@pytest.mark.parametrize("seed", light(range(40), 4))
@pytest.mark.light(2)
def test_labelled_files_against_a_loop(seed, tmp_path):
    """Random labelled files: positives are the splits, negatives the rest, in order; all lines name the labels.

    Train has a label column or not; each file writes its labels in its own way.
    """
    rng = random.Random(seed)
    files = {}
    for split in ("train", "valid", "test"):
        pair = rng.choice(PAIRS) if split != "train" or rng.random() < 0.5 else None
        count = rng.randint(1, 12)
        lines = [
            (f"e{rng.randrange(8)} r{rng.randrange(2)} e{rng.randrange(8)}", pair and rng.choice(pair))
            for _ in range(count)
        ]
        files[split] = lines
        write(tmp_path, **{split: "/".join(f"{triple} {label}" if label else triple for triple, label in lines)})
    dataset = kg.read_dataset(tmp_path, labelled=True)
    negatives = kg.read_negatives(tmp_path, dataset, labelled=True)
    triples = [triple.split() for lines in files.values() for triple, _ in lines]
    assert dataset.entities.labels == tuple(sorted({e for s, _, o in triples for e in (s, o)}))
    assert dataset.relations.labels == tuple(sorted({p for _, p, _ in triples}))
    for split, lines in files.items():
        assert labels_of(dataset, dataset[split]) == [t for t, label in lines if label is None or TRUE_OR_FALSE[label]]
        false = [t for t, label in lines if label is not None and not TRUE_OR_FALSE[label]]
        assert (split in negatives) == (bool(false) or split != "train")
        assert labels_of(dataset, negatives.get(split, np.zeros((0, 3), int))) == false


def test_entities_of_negatives_alone_are_known(tmp_path):
    """d occurs in a false line only: it has an id, so the negatives can be read."""
    write(tmp_path, train="a r b", valid="a r c 1/d r a -1", test="c r a 1/c r d -1")
    dataset = kg.read_dataset(tmp_path, labelled=True)
    assert dataset.entities.labels == ("a", "b", "c", "d")
    assert {split: len(triples) for split, triples in dataset.splits.items()} == {"train": 1, "valid": 1, "test": 1}
    assert kg.read_negatives(tmp_path, dataset, labelled=True)["valid"].tolist() == [[3, 0, 0]]


def test_labelled_header(tmp_path):
    """The first line is no triple; a fault counts it."""
    write(tmp_path, test="head relation tail label/a r b 1/b r a 0", valid="tail relation head label/b r a 1/a r b 2")
    said = failure(kg.read_dataset, tmp_path, header=True, labelled=True)
    assert said.startswith("valid.txt, line 3: expected the label 1 or -1, 1 or 0, true or false")
    write(tmp_path, valid="tail relation head label/b r a 1/a r b -1")
    said = "test.txt, line 1: the header (head, relation, tail, label) has another order than the header of "
    assert failure(kg.read_dataset, tmp_path, header=True, labelled=True).startswith(said)
    order = {"columns": "head,relation,tail"}
    dataset = kg.read_dataset(tmp_path, labelled=True, **order)
    assert failure(kg.read_negatives, tmp_path, dataset, header=True, labelled=True).startswith(said)
    assert labels_of(dataset, dataset["valid"]) == ["a r b"]
    negatives = kg.read_negatives(tmp_path, dataset, labelled=True, **order)
    assert {split: labels_of(dataset, rows) for split, rows in negatives.items()} == {
        "valid": ["b r a"],
        "test": ["b r a"],
    }
    assert "line 1: looks like a header (tail, relation, head, label)" in failure(
        kg.read_dataset, tmp_path, labelled=True
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a r b 1/b r a 2", "line 2: expected the label 1 or -1, 1 or 0, true or false, and the same pair"),
        ("a r b yes", "line 1: expected the label 1 or -1, 1 or 0, true or false, and the same pair"),
        ("a r b 1/b r a 0/a r a 1/b r b -1", "line 4: expected the label"),  # 0 and -1: which is false?
        ("a r b 1/b r a true", "line 2: expected the label"),
        ("a r b 1.0", "the whole file; found '1.0'"),
        ("a r b 1/b r a", "line 2: expected 4 tab-separated columns (s, p, o, label), found 3: 'b\\tr\\ta'"),
        ("a r b/b r a", "line 1: expected 4 tab-separated columns (s, p, o, label), found 3"),
        ("a r b 1 x", "line 1: expected 4 tab-separated columns (s, p, o, label), found 5"),
        ("a r b 1/b r a ", "line 2: column 4 is empty"),
    ],
)
@pytest.mark.light(3)
def test_faults_of_labels(tmp_path, text, said):
    """In test; reading the negatives says the same."""
    write(tmp_path, train="a r b/b r a", test=text)
    assert said in failure(kg.read_dataset, tmp_path, labelled=True)
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], entity_labels=["a", "b"], relation_labels=["r"])
    assert said in failure(kg.read_negatives, tmp_path, dataset, labelled=True)


@pytest.mark.parametrize("text", ["a r b 1/b r a", "a r b/b r a 1", "a r b 1/b r a 7"])
def test_train_is_labelled_throughout_or_not_at_all(tmp_path, text):
    write(tmp_path, train=text, test="a r b 1")
    assert "train.txt, line 2: expected" in failure(kg.read_dataset, tmp_path, labelled=True)


def test_a_label_column_must_be_announced(tmp_path):
    """Four columns are refused with the way out, but not where the fourth is a weight."""
    write(tmp_path, test="a r b -1")
    said = failure(kg.read_dataset, tmp_path)
    assert "; if the fourth column is true or false, use labelled=True (--labelled); say what " in said
    write(tmp_path, test="a r b 0.75")
    assert "labelled" not in failure(kg.read_dataset, tmp_path)


def test_other_line_ends(tmp_path):
    """CR alone and CRLF end lines of labelled files too, and train is seen to have no labels."""
    (tmp_path / "train.txt").write_bytes(b"a\tr\tb\rb\tr\ta\r")
    (tmp_path / "test.txt").write_bytes(b"a\tr\tb\t1\r\nb\tr\ta\t-1")
    dataset = kg.read_dataset(tmp_path, labelled=True)
    assert (labels_of(dataset, dataset["train"]), labels_of(dataset, dataset["test"])) == (
        ["a r b", "b r a"],
        ["a r b"],
    )


def test_labels_of_one_class(tmp_path):
    """All true, or all false: the split is whole, or empty."""
    write(tmp_path, valid="a r b 1/b r a 1", test="a r a false/b r b False")
    dataset = kg.read_dataset(tmp_path, labelled=True)
    assert [len(dataset[split]) for split in ("valid", "test")] == [2, 0]
    negatives = kg.read_negatives(tmp_path, dataset, labelled=True)
    assert [len(negatives[split]) for split in ("valid", "test")] == [0, 2]
    assert read_table(tmp_path / "test.txt", "test", labelled=True).is_positive.tolist() == [False, False]


def test_real_hard_negatives(shared):
    """CoDEx-S: as many hard negatives as its files have lines, the first of each as written."""
    folder = Path(shared) / "data" / "codex-s"
    dataset = kg.read_dataset(folder)
    negatives = kg.read_negatives(folder, dataset)
    assert {split: len(rows) for split, rows in negatives.items()} == {"valid": 1827, "test": 1828}
    assert labels_of(dataset, negatives["valid"][:1]) == ["Q185724 P27 Q27"]
    assert labels_of(dataset, negatives["test"][:2]) == ["Q104081 P27 Q35", "Q214191 P27 Q408"]
