"""Traps of real evaluators (C36, C37): the order of columns, and labels that look like something else."""

import numpy as np
import pandas as pd
import pytest
from trap_cases import run

import kgeval as kg
from kgeval.results.evaluation_result import header_lines

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

FACTS = [["Jack", "born_in", "Italy"], ["Jack", "friend_with", "Thomas"]]


@pytest.mark.parametrize("names", ["spo", "hrt", ("head", "relation", "tail"), ("Subject", "predicate", "Object")])
@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0)], ids=str)
@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.light(8)
def test_c36_named_columns_may_stand_in_any_order(names, order, extra):
    """The names decide, as in h t r: the relation is never taken for the object."""
    frame = pd.DataFrame(FACTS, columns=list(names))[[names[i] for i in order]]
    if extra:
        frame.insert(1, "weight", [0.5, 0.25])
    dataset = kg.Dataset.from_frames(test=frame)
    assert dataset.entities.labels == ("Italy", "Jack", "Thomas")
    assert dataset.relations.labels == ("born_in", "friend_with")
    assert np.asarray(dataset["test"]).tolist() == [[1, 0, 0], [1, 1, 2]]


@pytest.mark.parametrize("names", [("head", "tail", "rel"), ("subject", "object", "x"), ("Relation", "h", "t")])
def test_c36_a_name_in_the_wrong_place_is_an_error(names):
    """Three columns with names are never taken by position unless `columns` says so."""
    with pytest.raises(kg.DataError, match=r"^test: expected columns named s, p, o; "):
        kg.Dataset.from_frames(test=pd.DataFrame(FACTS, columns=list(names)))


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ([0, 3, 1], "test, relations, row 1: id 3 is not in 0..1"),
        ([0, 1, 4], "test, subjects and objects, row 1: id 4 is not in 0..3"),
        ([-1, 1, 0], "test, subjects and objects, row 1: id -1 is not in 0..3"),
        ([0, -1, 0], "test, relations, row 1: id -1 is not in 0..1"),
    ],
)
def test_c36_ids_out_of_range_are_an_error(row, where):
    """Order h t r puts an entity where a relation belongs; a negative id would count from the end."""
    with pytest.raises(kg.DataError, match=f"^{where}$"):
        kg.Dataset.from_arrays(test=[[0, 1, 3], row], n_entities=4, n_relations=2)


@pytest.mark.parametrize("names", [("head", "tail", "relation"), ("h", "t", "r"), ("s", "o", "p"), ("s", "p", "o")])
@pytest.mark.parametrize("header", [False, True])
@pytest.mark.light(4)
def test_c36_a_header_is_not_read_by_position(tmp_path, names, header):
    """The header names the columns: by it, or an error; tails are no relations, and the names no labels."""
    frame = pd.DataFrame(FACTS, columns=["s", "p", "o"])
    rows = [names, *frame[list(names) if names == ("s", "p", "o") else ["s", "o", "p"]].to_numpy().tolist()]
    (tmp_path / "test.txt").write_text("".join("\t".join(row) + "\n" for row in rows))
    try:
        dataset = kg.read_dataset(tmp_path, header=header)
    except kg.DataError as error:
        assert all(name in str(error) for name in ("test.txt", *names))
    else:
        assert dataset.relations.labels == ("born_in", "friend_with")
        assert dataset.entities.labels == ("Italy", "Jack", "Thomas")


@pytest.mark.parametrize("order", ["spo", "sop"])
def test_c36_the_order_h_t_r_is_suspected(tmp_path, order):
    """A ring of six entities and two relations: as h t r, six "relations" are entities, objects but two."""
    ring = pd.DataFrame({"s": list("abcdef"), "p": list("rqrqrq"), "o": list("bcdefa")})[list(order)]
    (tmp_path / "test.txt").write_text(ring.to_csv(sep="\t", index=False, header=False))
    if order == "sop":
        with pytest.raises(kg.DataError) as caught:
            kg.read_dataset(tmp_path)
        assert str(caught.value) == (
            f"{tmp_path}: the columns look like head, tail, relation: the first and the second column share 100% of "
            "their labels, the first and the third 0%; if so, pass columns='htr'; if the second column holds the "
            "relations, pass columns='hrt' (on the command line: --columns)"
        )
        assert kg.read_dataset(tmp_path, columns="hrt").relations.labels == tuple("abcdef")
    dataset = kg.read_dataset(tmp_path, columns="htr" if order == "sop" else None)
    assert dataset.relations.labels == ("q", "r")
    said = "dataset: no train split: the filter does not remove training triples, and no entity counts as unseen"
    assert [line for line in header_lines(run(lambda s, p, o: s, dataset)) if line.startswith("dataset:")] == [said]


LABELS = ["NA", "nan", "NaN", "null", "None", "1e5", "True", "007", "7", 'x"y', '"', "'", "-", " NA", "a b"]


@pytest.mark.parametrize("suffix", [".txt", ".tsv"])
@pytest.mark.parametrize(
    "labels",
    [LABELS, ["007", "7", "07"], ["1e5", "100000", "7.0"], ["True", "False"], ["NA", "nan"]],
    ids=str,
)
@pytest.mark.light(5)
def test_c37_labels_are_strings_as_written(tmp_path, suffix, labels):
    """Nothing becomes a missing value, a number, a truth value or the start of a quoted field."""
    rows = [(label, labels[i // 2], labels[i - 1]) for i, label in enumerate(labels)]
    (tmp_path / f"test{suffix}").write_text("".join("\t".join(row) + "\n" for row in rows))
    dataset = kg.read_dataset(tmp_path)
    assert dataset.entities.labels == tuple(sorted(labels))
    assert labelled(dataset) == rows


def labelled(dataset):
    """The test triples as labels."""
    entity, relation = dataset.entities.labels, dataset.relations.labels
    return [(entity[s], relation[p], entity[o]) for s, p, o in np.asarray(dataset["test"])]


def test_c37_frames_keep_labels_and_refuse_missing_values():
    """Strings stay, integers become decimals; a NaN that pandas made of "NA" is an error with its row."""
    rows = [(label, "r", LABELS[i - 1]) for i, label in enumerate(LABELS)]
    assert labelled(kg.Dataset.from_frames(test=pd.DataFrame(rows))) == rows
    assert kg.Dataset.from_frames(test=pd.DataFrame([[1, 0, 0]])).entities.labels == ("0", "1")
    for missing in (float("nan"), None, pd.NA, 1.0, True):
        frame = pd.DataFrame([["a", "r", "b"], ["a", "r", missing]], dtype=object)
        with pytest.raises(kg.DataError, match=r"^test frame, row 1, column 2: expected a string label; got "):
            kg.Dataset.from_frames(test=frame)
