"""`Dataset.of` and `library_labels`: objects of PyKEEN, TorchKGE, LibKGE and OGB, mapped by label."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from grids import size

import kgeval as kg
from kgeval.data.library_objects import library_labels
from kgeval.errors import DataError

E, R = {"Rome": 1, "Jack": 0, "007": 2}, {"likes": 0, "in": 1}
ROWS = [[0, 0, 1], [1, 1, 2], [0, 0, 1]]
NOT_BIJECTIVE = [
    ({"a": 0, "b": 2}, "the 2 ids must be 0 .. 1; id 1 has no label, and 'b' has the id 2"),
    ({"a": -1, "b": 0}, "the 2 ids must be 0 .. 1; id 1 has no label, and 'a' has the id -1"),
    ({"a": 0, "b": 0}, "id 0 belongs to both 'a' and 'b'; each label needs its own id"),
    ({"a": 0, "b": True}, "the id of 'b' must be an integer; got True (bool)"),
    ({"a": 0, "b": 1.0}, "the id of 'b' must be an integer; got 1.0 (float)"),
    ({0: "a", 1: "b"}, "the id of 0 must be an integer; got 'a' (str); the dict must go from label to id"),
    ({("a",): 0}, "the label of id 0 must be a string; got ('a',) (tuple)"),
    ({7: 0, "7": 1}, "label '7' occurs at ids 0 and 1; labels must differ"),
]


class Tensor:
    """A tensor of torch, on a device from which numpy cannot read."""

    def __init__(self, values, dtype=np.int64):
        self.values = np.array(values, dtype=dtype)

    def __len__(self):
        return len(self.values)

    def __array__(self, *args, **options):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def detach(self):
        return self

    def cpu(self):
        class OnCPU:
            numpy = lambda _: self.values  # noqa: E731

        return OnCPU()


class Factory:
    """A TriplesFactory of PyKEEN; a CoreTriplesFactory without `entities`."""

    def __init__(self, rows, entities=None, relations=None, inverse=False, metadata=None, sizes=None):
        if entities is not None:
            self.entity_to_id, self.relation_to_id = entities, relations
        self.mapped_triples = Tensor(np.array(rows).reshape(-1, 3))
        self.num_entities, self.real_num_relations = sizes or (len(entities), len(relations))
        self.num_relations = self.real_num_relations * (2 if inverse else 1)
        self.create_inverse_triples, self.metadata = inverse, metadata


class Graph:
    """A KnowledgeGraph of TorchKGE."""

    def __init__(self, rows, entities, relations):
        self.head_idx, self.relations, self.tail_idx = (Tensor(column) for column in np.array(rows).reshape(-1, 3).T)
        self.ent2ix, self.rel2ix = entities, relations


class Holder:
    """An object with the given attributes."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


class LibKGE:
    """A Dataset of LibKGE."""

    def entity_ids(self):
        return ["Jack", "Rome", "007"]

    def relation_ids(self):
        return ["likes", "in"]

    def split(self, name):
        return Tensor({"train": ROWS, "valid": [], "test": ROWS[:1]}[name]) if name != "valid" else np.zeros((0, 3))


def rows_of(dataset, split):
    """The triples of a split as labels."""
    e, r = dataset.entities.labels, dataset.relations.labels
    return [(e[s], r[p], e[o]) for s, p, o in np.asarray(dataset[split]).tolist()]


def refusal(x, **options):
    """The message of the DataError of Dataset.of."""
    with pytest.raises(DataError) as caught:
        kg.Dataset.of(x, **options)
    return str(caught.value)


def test_labels_of_all_kinds():
    """Labels are in the order of the ids, whatever the order of the dict; other objects have none."""
    factory = Factory(ROWS, E, R, inverse=True)
    arrays = kg.Dataset.from_arrays(test=ROWS, entity_labels=["Jack", "Rome", "007"], relation_labels=["likes", "in"])
    known = {
        "pykeen": [factory, Holder(training=factory, testing=None), Holder(training=factory, model=None)],
        "torchkge": [Graph(ROWS, E, R)],
        "libkge": [LibKGE()],
        "kgeval": [arrays],
        "": [
            (E, R),
            [E, R],
            (["Jack", "Rome", "007"], ("likes", "in")),
            (np.array(["Jack", "Rome", "007"]), pd.Index(["likes", "in"])),
            (arrays.entities, arrays.relations),
        ],
    }
    for library, objects in known.items():
        for x in objects:
            assert library_labels(x) == (("Jack", "Rome", "007"), ("likes", "in"), library), x
    core = Factory(ROWS, sizes=(3, 2))
    none = [core, Holder(training=core), Holder(training=True), None, 3, "ab", ("ab", "cd"), [1, 2], pd.DataFrame(), E]
    assert [library_labels(x) for x in [*none, np.zeros((2, 2)), ([], []), (E, ["likes"])]] == [None] * (len(none) + 3)
    graph = Graph(ROWS, {7: 1, np.int64(5): 0, 10: 2}, {1: 0, 0: 1})  # TorchKGE keeps the integers of a frame as labels
    assert library_labels(graph)[:2] == (("5", "7", "10"), ("1", "0"))


@pytest.mark.parametrize(("ids", "message"), NOT_BIJECTIVE)
def test_ids_that_are_no_bijection(ids, message):
    """Gaps, duplicates, bools, floats and dicts from id to label raise an error that names id and label."""
    with pytest.raises(DataError, match=re.escape(f"entity_to_id: {message}")):
        library_labels(Factory([], ids, R, sizes=(2, 2)))
    with pytest.raises(DataError, match="rel2ix: "):
        library_labels(Graph([], E, ids))


def test_pairs_with_labels_that_are_no_strings():
    """Integers as labels of a pair may be ids, so they raise an error."""
    for pair, message in [
        (({1: 0, 0: 1}, R), "labels of entities: the label of id 0 must be a string; got 1 (int)"),
        ((["a", 3], ["r"]), "labels of entities: the label of id 1 must be a string; got 3 (int)"),
        ((["a"], ["r", "r"]), "labels of relations: label 'r' occurs at ids 0 and 1; labels must differ"),
    ]:
        with pytest.raises(DataError, match=re.escape(message)):
            library_labels(pair)


def test_labels_without_an_order_are_refused():
    """A set lists its labels in any order, and the index of a Series may say another order than its rows."""
    for labels in ({"a", "b"}, frozenset(["a", "b"])):
        with pytest.raises(DataError, match=r"labels in a (frozen)?set \(such as '[ab]'\) have no order; give a list"):
            library_labels((labels, ["r"]))
    series = pd.Series(["a", "b"])
    assert library_labels((series, ["r"])).entities == library_labels(({"a": 0, "b": 1}.keys(), ["r"])).entities
    with pytest.raises(DataError, match="the index of a Series of labels must be 0 .. 1, .*; it starts with 1"):
        library_labels((series[::-1], ["r"]))


def test_pykeen_dataset():
    """The ids are PyKEEN's; inverse triples of training do not count, rows and duplicates stay, validation may lack."""
    for inverse in (False, True):
        x = Holder(
            training=Factory(ROWS, E, R, inverse=inverse),
            validation=None,
            testing=Factory([[2, 1, 0]], dict(reversed(E.items())), R),
            metadata={"name": "toy"},
        )
        dataset = kg.Dataset.of(x)
        assert (dataset.name, dataset.id_format, list(dataset.splits)) == ("toy", "pykeen", ["train", "test"])
        assert dataset.entities.labels == ("Jack", "Rome", "007")
        assert dataset.relations.labels == ("likes", "in")
        assert dataset.dictionaries == {"entities": ("Jack", "Rome", "007"), "relations": ("likes", "in")}
        assert dataset["train"].array.tolist() == ROWS
        assert dataset["test"].array.tolist() == [[2, 1, 0]]
        assert dataset.notes == ()
    assert kg.Dataset.of(dataset) is dataset
    assert kg.Dataset.of(x, name="other").name == "other"
    x.validation = Factory([], E, R)
    assert len(kg.Dataset.of(x)["valid"]) == 0


def test_factories_with_other_ids_are_mapped_by_label():
    """A test factory that was built without the ids of the training does not take the training's labels."""
    test = Factory([[0, 0, 1], [1, 0, 2]], {"Rome": 0, "Ann": 1, "Jack": 2}, {"in": 0})
    dataset = kg.Dataset.of({"test": test, "train": Factory(ROWS, E, R), "valid": None})
    assert dataset.entities.labels == ("Jack", "Rome", "007", "Ann")
    assert rows_of(dataset, "test") == [("Rome", "in", "Ann"), ("Ann", "in", "Jack")]
    assert rows_of(dataset, "train") == [("Jack", "likes", "Rome"), ("Rome", "in", "007"), ("Jack", "likes", "Rome")]
    assert dataset.dictionaries["entities"] == ("Jack", "Rome", "007")  # the rows that a checkpoint of training has
    assert dataset.notes == (
        "the ids of test differ from those of train; the triples of test were mapped by label",
        "test has 1 entity (such as 'Ann') without an id in train; their ids come after those of train",
    )
    assert dataset.unseen["test"] == {"triples": 2, "entities": 1, "relations": 0}


def test_tables_beside_factories():
    """A table of labels is mapped by label too, and keeps its further columns; its integers may be ids."""
    frame = pd.DataFrame({"h": ["007"], "r": ["near"], "t": ["Bo"], "year": [1999]})
    dataset = kg.Dataset.of({"test": frame, "train": Graph(ROWS, E, R)})
    assert (dataset.entities.labels[3:], dataset.relations.labels[2:]) == (("Bo",), ("near",))
    assert rows_of(dataset, "test") == [("007", "near", "Bo")]
    assert dataset.id_format == "torchkge"
    assert dataset.columns["test"]["year"].tolist() == [1999]
    assert "test has 1 entity (such as 'Bo') and 1 relation (such as 'near') without an id in train" in dataset.notes[0]
    numbers = Factory([[0, 0, 1]], {"1": 0, "0": 1}, {"r": 0})
    message = refusal({"train": numbers, "test": [(1, "r", "0")]})
    assert "test frame, row 0, column 0: is the integer 1 a label or an id? The label '1' has the id 0" in message


def test_torchkge_tuples():
    """Two graphs are train and test, three train, valid and test; the relation is not the last column."""
    parts = [Graph(ROWS[i : i + 1], E, R) for i in range(3)]
    dataset = kg.Dataset.of(tuple(parts))
    assert [dataset[split].array.tolist() for split in ("train", "valid", "test")] == [[row] for row in ROWS]
    assert dataset.notes == ("the KnowledgeGraphs were taken as train, valid, test, the order of TorchKGE's split_kg",)
    dataset = kg.Dataset.of(parts[:2])
    assert {split: rows.array.tolist() for split, rows in dataset.splits.items()} == {
        "train": ROWS[:1],
        "test": ROWS[1:2],
    }
    assert "expected 2 KnowledgeGraphs (train, test) or 3 (train, valid, test); got 1" in refusal(parts[:1])
    assert "PyKEEN's order is training, testing, validation" in refusal([Factory(ROWS, E, R)] * 3)


def test_one_split_must_be_named():
    """Nothing says to which split a single factory or table belongs, so it is asked for."""
    for x in (Factory(ROWS, E, R), Graph(ROWS, E, R), [("a", "r", "b")], pd.DataFrame([["a", "r", "b"]])):
        assert "triples of one split, but it is unclear which: set split= to 'train', 'valid' or" in refusal(x)
        assert list(kg.Dataset.of(x, split="test").splits) == ["test"]
        assert "unknown split 'tset'; did you mean 'test'?" in refusal(x, split="tset")
    dataset = kg.Dataset.of(Factory(ROWS[:1], E, R), split="test")
    assert dataset.notes == (
        "no train split: the filter does not remove training triples, and no entity counts as unseen",
        "1 entity of test occurs in no triple, but is a candidate",
    )
    assert "split='test' is for one table of triples; the dict already has several splits" in refusal({}, split="test")
    assert "already a kgeval.Dataset" in refusal(dataset, split="test")


def test_factories_without_labels():
    """Ids are then the labels; factories with labels beside them do not say what the ids are, except in one dataset."""
    core = Factory([[0, 0, 4]], sizes=(5, 2), inverse=True)
    dataset = kg.Dataset.of({"train": core, "test": core})
    assert dataset.entities.labels == tuple("01234")
    assert dataset.relations.labels == ("0", "1")
    assert dataset.notes[0].startswith(
        "the factories have no labels (entity_to_id); the labels of the dataset are the ids"
    )
    for other in (Factory(ROWS, E, R), [("0", "0", "1")]):
        assert "train: the factory has no labels (entity_to_id), and test has labels" in refusal(
            {"train": core, "test": other}
        )
    assert "the numbers of entities or relations differ" in refusal({"train": core, "test": Factory([], sizes=(6, 2))})
    for x in ({"training": Factory(ROWS, E, R), "testing": Factory([[2, 1, 0]], sizes=(3, 2))},):
        shared = kg.Dataset.of(Holder(**x))
        assert rows_of(shared, "test") == [("007", "in", "Jack")]
        assert shared.notes == ("the factory of test has no labels; its ids are those of train, as in PyKEEN",)


def test_inverse_relations_with_labels():
    """If the labels of a factory contain inverse relations, its triples may be doubled."""
    doubled = Factory(
        [[0, 0, 1], [1, 2, 0]], E, {"likes": 0, "in": 1, "likes_inverse": 2, "in_inverse": 3}, inverse=True
    )
    doubled.real_num_relations = 2
    message = refusal(doubled, split="train")
    assert (
        "train: the factory was built with create_inverse_triples=True, and its 4 relations are not the 2 real"
        in message
    )


def test_triples_that_pykeen_left_out(tmp_path):
    """The file of a factory shows that triples are lacking; a file that is not there cannot."""
    file = tmp_path / "test.txt"
    file.write_text("a\tr\tb\n\nb\tr\ta\nc\tr\ta\n")

    def notes(path, n=2, train_path=None):
        test = Factory([[0, 0, 1]] * n, E, R, metadata={"path": path})
        return kg.Dataset.of({"train": Factory(ROWS, E, R, metadata={"path": train_path}), "test": test}).notes

    assert notes(file) == (
        "test: the factory has 2 triples, and test.txt, from which it was read, has 3 lines; PyKEEN leaves out "
        "duplicates, and triples whose entities or relations do not occur in training",
    )
    assert notes(str(file), 3) == notes(None) == notes(file, train_path=file) == ()
    for path in (tmp_path / "none.txt", Path("x/test.txt.gz")):
        assert notes(path)[0].startswith("when PyKEEN reads files, it leaves out duplicates and triples whose entities")


def test_libkge():
    """`split` gives the triples, `entity_ids` and `relation_ids` the labels."""
    dataset = kg.Dataset.of(LibKGE())
    assert (dataset.id_format, dataset["train"].array.tolist(), len(dataset["valid"])) == ("libkge", ROWS, 0)
    assert dataset.entities.labels == ("Jack", "Rome", "007")


def ogb(rows, **further):
    """A split of OGB."""
    s, p, o = np.array(rows).reshape(-1, 3).T
    return {"head": Tensor(s), "relation": p, "tail": o.tolist(), **further}


def test_ogb_without_types():
    """The dataset tells the number of entities, the dicts do not; rows keep their order, so negatives fit them."""
    negatives = {"head_neg": np.array([[2, 3]] * 2), "tail_neg": np.array([[3, 4]] * 2)}
    splits = {"train": ogb(ROWS), "test": ogb(ROWS[1::-1], **negatives)}
    dataset = kg.Dataset.of(Holder(get_edge_split=lambda: splits, graph={"num_nodes": 6}, name="ogbl-toy"))
    assert (len(dataset.entities), len(dataset.relations), dataset.name, dataset.id_format) == (6, 2, "ogbl-toy", "ogb")
    assert dataset["test"].array.tolist() == ROWS[1::-1]
    assert dataset.notes[0] == "the number of relations, 2, is the highest id of all splits + 1"
    assert dataset.notes[1] == "OGB's dicts hold no labels; the labels of the dataset are the ids as text"
    assert dataset.notes[2].startswith("negatives are listed in test (head_neg, tail_neg). OGB's published numbers")
    assert dataset.notes[3] == "3 entities of OGB occur in no triple, but are candidates"
    assert kg.Dataset.of(splits, n_entities=6, n_relations=2).fingerprint == dataset.fingerprint
    assert "OGB's dicts do not say how many entities there are" in refusal(splits, n_relations=2)
    assert "how many relations there are, and relations without triples count too" in refusal(splits, n_entities=6)
    assert "set n_relations=" in refusal(splits, n_entities=6)
    assert "test, tail, row 0: id 2 is not in 0..1" in refusal(
        splits["test"], split="test", n_entities=2, n_relations=2
    )
    listed = kg.candidates.Listed.from_ogb(splits["test"], dataset)
    result = kg.evaluate(lambda s, p, o: -np.abs(o - 2.0 * s), dataset, kg.Protocol(candidates=listed))
    assert result.table["o"].tolist()[:2] == [2, 1]


def test_ogb_with_types():
    """Id 0 of the drugs and id 0 of the proteins are two entities; ids count through the types in the order given."""
    split = ogb([[1, 0, 1], [0, 1, 2]], head_type=["drug", "protein"], tail_type=["protein"] * 2)
    sizes = {"protein": 3, "drug": 2}
    dataset = kg.Dataset.of({"test": split}, n_entities=sizes, n_relations=2)
    assert dataset.entities.labels == ("protein:0", "protein:1", "protein:2", "drug:0", "drug:1")
    assert rows_of(dataset, "test") == [("drug:1", "0", "protein:1"), ("protein:0", "1", "protein:2")]
    typed = Holder(get_edge_split=lambda: {"test": split}, graph={"num_nodes_dict": sizes}, name="ogbl-biokg")
    assert kg.Dataset.of(typed).fingerprint == dataset.fingerprint
    options = {"n_relations": 2, "split": "test"}
    assert "n_entities must be a dict of the number of entities of each type" in refusal(split, n_entities=5, **options)
    plain = {name: split[name] for name in ("head", "relation", "tail")}
    assert "n_entities must be the number of entities, since the splits have no" in refusal(
        plain, n_entities=sizes, **options
    )
    for change, message in [
        ({"head": [2, 0]}, "test, head, row 0: id 2 of the type 'drug' is not in 0..1"),
        ({"head_type": ["drug", "dog"]}, "test: head_type[1] is 'dog'; types are protein, drug"),
        ({"tail_type": ["drug"]}, "test: tail has 2 rows, tail_type has 1"),
        ({"tail": [0]}, "test: tail has 1 rows, tail_type has 2"),
    ]:
        assert message in refusal({**split, **change}, n_entities=sizes, **options)
    del split["tail_type"]
    assert "test: has no tail_type, but other columns of entities have" in refusal(split, n_entities=sizes, **options)


@pytest.mark.parametrize("dtype", [bool, float, "U1"])
def test_ids_of_other_types(dtype):
    """Bools and floats raise an error: `numpy.column_stack` beside integers would make integers of them."""
    options = {"split": "test", "n_entities": 3, "n_relations": 2}
    for name in ("head", "relation", "tail"):
        split = {"head": [0], "relation": [0], "tail": [1]} | {name: np.array([1], dtype=dtype)}
        assert ("hold ids" if dtype == "U1" and name == "head" else f"test, {name} must hold integer ids") in refusal(
            split, **options
        )
        graph = Graph(ROWS, E, R)
        setattr(graph, {"head": "head_idx", "tail": "tail_idx"}.get(name, "relations"), Tensor([1, 1, 1], dtype))
        assert f"test, {name} must hold integer ids" in refusal(graph, split="test")


def test_refusals():
    """Each error says what came, what is taken, and what to do."""
    factory, core = Factory(ROWS, E, R), Factory(ROWS, sizes=(3, 2))
    from_arrays = "integers are ids without labels; use kgeval.Dataset.from_arrays"
    for x, message in [
        ("folder/x", "Dataset.of takes objects, and 'folder/x' is a path; kgeval.read_dataset reads files"),
        (Path("x"), "is a path; kgeval.read_dataset reads files"),
        (
            3,
            "Dataset.of does not know objects of the type int; it takes a PyKEEN Dataset or TriplesFactory, a TorchKGE",
        ),
        (Holder(training=True), "does not know objects of the type Holder"),
        (Holder(training=factory, model=1), "the Holder holds the training triples only; name the triples to test"),
        ({}, "at least one split (train, valid or test); got none"),
        ({"test": None}, "at least one split (train, valid or test); got none"),
        ({"train": factory, "validation": factory}, "unknown split 'validation'"),
        ({"train": "train.txt"}, "train: Dataset.of takes objects, and 'train.txt' is a path; read it first"),
        ({"train": Holder(training=factory)}, "train: the Holder has several splits; give the triples of one split"),
        ({"train": 3}, "train: expected the triples of one split, not a int; Dataset.of takes a PyKEEN Dataset"),
        (Holder(inductive_inference=factory, transductive_training=factory), "x.inductive_inference, 'valid': "),
        (np.zeros((2, 3), int), from_arrays),
        (Tensor(ROWS), from_arrays),
        ([(0, 0, 1)], from_arrays),
        ({"train": factory, "test": Tensor(ROWS)}, f"test: {from_arrays}"),
        ({"train": factory, "test": ogb(ROWS)}, "train: OGB's dicts hold ids without labels"),
        ({"test": np.zeros((2, 3))}, "test: expected an array of str; got dtype float64"),
        ({"train": core, "test": factory}, "so it is unknown which ids mean the same entity"),
        (Holder(get_edge_split=lambda: {"train": {"edge": [[0, 1]]}}, name="ogbl-ppa"), "'ogbl-ppa' have no head, rel"),
    ]:
        assert message in refusal(x), message
    assert "n_entities= is for OGB's dicts of ids; for arrays of ids use Dataset.from_arrays" in refusal(
        {"train": factory}, n_entities=3
    )
    wrong = Factory(ROWS, E, {"likes": 0})
    assert "train, relation, row 1: id 1 is not in 0..0" in refusal(wrong, split="train")
    wrong.mapped_triples = Tensor([[0, 0]])
    assert "train: expected triples of shape (n, 3); got (1, 2)" in refusal(wrong, split="train")


def test_tables_only():
    """Splits that are all tables of labels make the dataset of `from_frames`."""
    train, test = [("b", "r", "a")], np.array([["a", "r", "c"]])
    dataset = kg.Dataset.of({"train": train, "test": test, "valid": None}, name="tables")
    assert dataset.fingerprint == kg.Dataset.from_frames(train=train, test=test).fingerprint
    assert (dataset.name, dataset.dictionaries, dataset.id_format) == ("tables", {}, "")
    foreign = Holder(to_pandas=lambda: pd.DataFrame(train, columns=["head", "relation", "tail"]))
    assert rows_of(kg.Dataset.of(foreign, split="valid"), "valid") == train
    assert rows_of(kg.Dataset.of({"train": Factory(ROWS, E, R), "test": foreign}), "test") == train


def random_factory(rng, rows, make):
    """An object of a library that holds rows of labels under random ids."""
    entities = sorted({row[i] for row in rows for i in (0, 2)})
    relations = sorted({row[1] for row in rows})
    e = {label: int(i) for label, i in zip(entities, rng.permutation(len(entities)))}
    r = {label: int(i) for label, i in zip(relations, rng.permutation(len(relations)))}
    return make([[e[s], r[p], e[o]] for s, p, o in rows], e, r)


def hash_score(dataset):
    """A scorer that knows labels only, with ties."""
    e, r = (np.array([sum(map(ord, label)) for label in v.labels]) for v in (dataset.entities, dataset.relations))
    return lambda s, p, o: (e[s] * 7 + r[p] * 3 + e[o] * 5) % 11


def test_random_graphs_equal_a_loop_over_labels():
    """For random splits under ids of their own: the same labels, rows and numbers as `from_frames` of the labels."""
    for seed in range(size(4, 200)):
        rng = np.random.default_rng(seed)
        splits = {
            split: [
                (f"e{rng.integers(6)}", f"r{rng.integers(2)}", f"e{rng.integers(6)}") for _ in range(rng.integers(1, n))
            ]
            for split, n in (("train", 12), ("valid", 4), ("test", 6))
        }
        kinds = {split: (Factory, Graph)[int(rng.integers(2))] for split in splits}
        x = {split: random_factory(rng, rows, kinds[split]) for split, rows in splits.items()}
        dataset = kg.Dataset.of(x)
        assert {split: rows_of(dataset, split) for split in splits} == splits, seed
        assert library_labels(x["train"])[:2] == (
            dataset.dictionaries["entities"],
            dataset.relations.labels[: len(dataset.dictionaries["relations"])],
        )
        frames = kg.Dataset.from_frames(**splits)
        assert sorted(dataset.entities.labels) == list(frames.entities.labels), seed
        if seed < 8:
            ours, theirs = (kg.evaluate(hash_score(d), d) for d in (dataset, frames))
            assert ours["mrr"] == pytest.approx(theirs["mrr"], abs=1e-12), seed


@pytest.mark.thorough
def test_pykeen_itself(tmp_path):
    """Datasets, factories, inverse triples, shuffled ids and left-out triples of PyKEEN."""
    pytest.importorskip("pykeen", reason="needs kgeval[peers]")
    from pykeen.datasets import Nations
    from pykeen.datasets.base import EagerDataset, PathDataset
    from pykeen.triples import CoreTriplesFactory, TriplesFactory

    plain = kg.Dataset.of(Nations())
    for x in (Nations(), Nations(create_inverse_triples=True)):
        dataset = kg.Dataset.of(x)
        assert (dataset.name, dataset.id_format, dataset.notes) == ("nations", "pykeen", ())
        assert dataset.fingerprint == plain.fingerprint
        assert len(dataset.relations) == 55
        for split, factory in (("train", x.training), ("valid", x.validation), ("test", x.testing)):
            assert dataset[split].array.tolist() == factory.mapped_triples.tolist()
            labels = [tuple(row) for row in factory.label_triples(factory.mapped_triples).tolist()]
            assert rows_of(dataset, split) == labels
    x = Nations()
    files = {}
    for split, factory in (("train", x.training), ("valid", x.validation), ("test", x.testing)):
        rows = factory.label_triples(factory.mapped_triples)
        files[split] = tmp_path / f"{split}.txt"
        files[split].write_text("".join("\t".join(row) + "\n" for row in rows.tolist()))
    read = kg.read_dataset(tmp_path)
    rng = np.random.default_rng(0)
    shuffled = {label: int(i) for label, i in zip(x.training.entity_to_id, rng.permutation(14))}
    factories = {"train": TriplesFactory.from_path(files["train"], entity_to_id=shuffled)}
    factories |= {split: TriplesFactory.from_path(files[split]) for split in ("valid", "test")}
    assert factories["test"].relation_to_id != factories["train"].relation_to_id
    dataset = kg.Dataset.of(factories)
    assert [dataset.entities.labels.index(label) for label in shuffled] == list(shuffled.values())
    assert [len(note) > 0 for note in dataset.notes] == [True, True]  # valid and test were mapped by label
    ours, theirs = (kg.evaluate(hash_score(d), d) for d in (dataset, read))
    for metric in ("mrr", "hits@10", "amri", "raw.mrr", "optimistic.mrr", "pessimistic.mr", "subject.mrr"):
        assert ours[metric] == pytest.approx(theirs[metric], abs=1e-12), metric
    cores = {
        split: CoreTriplesFactory(f.mapped_triples, 14, 55) for split, f in (("train", x.training), ("test", x.testing))
    }
    assert kg.Dataset.of(cores)["test"].array.tolist() == plain["test"].array.tolist()
    eager = EagerDataset(training=x.training, testing=cores["test"])
    assert rows_of(kg.Dataset.of(eager), "test") == rows_of(plain, "test")
    with files["test"].open("a") as file:
        file.write("atlantis\taidenemy\tusa\n")
    path_dataset = PathDataset(files["train"], files["test"], files["valid"])
    assert kg.Dataset.of(path_dataset).notes == (
        "test: the factory has 201 triples, and test.txt, from which it was read, has 202 lines; PyKEEN leaves out "
        "duplicates, and triples whose entities or relations do not occur in training",
    )
    parts = x.training.split([0.8, 0.1, 0.1], random_state=0)
    assert kg.Dataset.of(dict(zip(("train", "test", "valid"), parts))).notes == ()


@pytest.mark.thorough
def test_torchkge_itself():
    """Graphs of TorchKGE and their split."""
    pytest.importorskip("torchkge", reason="needs kgeval[peers]")
    from torchkge.data_structures import KnowledgeGraph

    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.integers(0, 30, size=(400, 3)), columns=["from", "to", "rel"]).assign(
        rel=lambda f: f.rel % 4
    )
    for frame in (rows.astype(str), rows):
        graph = KnowledgeGraph(df=frame)
        loop = [(str(h), str(r), str(t)) for h, t, r in frame.itertuples(index=False)]
        dataset = kg.Dataset.of(graph, split="train")
        assert rows_of(dataset, "train") == loop
        assert dataset.id_format == "torchkge"
        assert dataset.dictionaries["entities"] == tuple(map(str, graph.ent2ix))
        sizes = (300, 40, 60)
        split = kg.Dataset.of(graph.split_kg(sizes=sizes))
        assert {name: rows_of(split, name) for name in split.splits} == {
            "train": loop[:300], "valid": loop[300:340], "test": loop[340:]
        }  # fmt: skip
        assert list(kg.Dataset.of(graph.split_kg(share=0.8)).splits) == ["train", "test"]
