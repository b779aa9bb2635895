"""Folders of quadruples: RE-Net's, TLogic's, and labels with dates."""

import json

import numpy as np
import pytest
from dataset_folders import failure, rows_of, write

import kgeval

READ_AS = "read as quadruples s p o time (RE-Net, TLogic, ICEWS)"
RENET = {
    "stat.txt": "12\t3\t20\n",
    "train.txt": "10\t2\t9\t9\t0\n9\t0\t10\t10\t0\n",
    "test.txt": "10\t2\t9\t11\t0\n",
}
DATED = {
    "train.txt": "A B\tmeets\tC\t2014-05-13\nC\tmeets\tA B\t2014-05-02\n",
    "test.txt": "A B\tmeets\tC\t2015-01-01\n",
}
DICTIONARIES = {
    "entity2id.json": json.dumps({"C": 0, "A B": 1, "D": 2}),
    "relation2id.json": json.dumps({"meets": 0}),
    "ts2id.json": json.dumps({"2014-05-02": 0, "2014-05-13": 1, "2015-01-01": 2}),
}


def test_the_ids_of_the_files_are_the_ids(tmp_path):
    """10 comes after 9; all entities of stat.txt are candidates; the constant column is left out, which is said."""
    dataset = kgeval.read_dataset(write(tmp_path, RENET))
    assert np.asarray(dataset["train"]).tolist() == [[10, 2, 9], [9, 0, 10]]
    assert (len(dataset.entities), len(dataset.relations), dataset.time_column) == (12, 3, "time")
    assert (dataset.column("train", "time").tolist(), dataset.column_names) == ([9, 10], ("time",))
    assert dataset.column_codes("time")["test"].tolist() == [2]
    assert dataset.observations() == [
        READ_AS,
        "the column time is kept as a time",
        "the fifth column holds only 0 and is left out",
        "10 entities of stat.txt occur in no triple, but are candidates",
        "1 relation of stat.txt occurs in no triple",
    ]
    assert dataset.overlaps["train", "test"] == 0  # the triple of test is in train, at another time


def test_spaces_and_four_columns(tmp_path):
    """As RE-GCN's copies hold them."""
    files = {name: text.replace("\t0\n", "\n").replace("\t", " ") for name, text in RENET.items()}
    dataset = kgeval.read_dataset(write(tmp_path, files))
    assert np.asarray(dataset["test"]).tolist() == [[10, 2, 9]]
    assert dataset.column("test", "time").tolist() == [11]


def test_what_does_not_fit_is_an_error(tmp_path):
    """An id beyond stat.txt, and a fifth column with a meaning."""
    folder = write(tmp_path / "a", RENET | {"stat.txt": "10 3"})
    assert failure(folder) == (
        "DIR, quadruple 1 of train: the entity '10' is not in 0 .. 9, the ids of the 10 entities that stat.txt counts; "
        "correct the line, or the number in stat.txt"
    )
    folder = write(tmp_path / "b", RENET | {"test.txt": "10\t2\t9\t11\t12\n"})
    assert failure(folder) == (
        "DIR: the fifth column holds 2 values, such as 0, 12; it may be the end of a time. Name all columns: "
        "columns='s,p,o,time,end' (--columns s,p,o,time,end), or - for a column to leave out"
    )
    named = kgeval.read_dataset(folder, columns="s,p,o,time,end")
    assert (named.time_column, named.column("test", "end").tolist()) == ("time", [12])
    for name, text in (("c", "many"), ("d", "11 x"), ("e", "")):
        folder = write(tmp_path / name, RENET | {"stat.txt": text})
        assert failure(folder) == (
            "DIR/stat.txt: expected the number of entities, the number of relations and perhaps the number of times; "
            f"found {text!r}. Write these numbers into it: all entities that it counts are candidates"
        )


@pytest.mark.parametrize("more", [{}, DICTIONARIES], ids=["icews", "tlogic"])
def test_labels_with_dates(tmp_path, more):
    """Times are dates; TLogic's dictionary brings entities that occur in no quadruple."""
    dataset = kgeval.read_dataset(write(tmp_path, DATED | more))
    assert rows_of(dataset, "train") == [("A B", "meets", "C"), ("C", "meets", "A B")]
    assert dataset.column("train", "time").tolist() == [np.datetime64(d).item() for d in ("2014-05-13", "2014-05-02")]
    assert {split: of.tolist() for split, of in dataset.column_codes("time").items()} == {"train": [1, 0], "test": [2]}
    assert dataset.entities.labels == (("A B", "C", "D") if more else ("A B", "C"))
    assert dataset.notes[0] == READ_AS
    assert dataset.dictionaries.get("entities") == (("C", "A B", "D") if more else None)


def test_renet_yago(shared):
    """The times of the real files, by their own lines."""
    folder = shared / "data" / "formats" / "renet-yago"
    dataset = kgeval.read_dataset(folder)
    for split in ("train", "valid", "test"):
        lines = [[int(word) for word in line.split()] for line in (folder / f"{split}.txt").read_text().splitlines()]
        assert np.asarray(dataset[split]).tolist() == [line[:3] for line in lines]
        assert dataset.column(split, "time").tolist() == [line[3] for line in lines]
