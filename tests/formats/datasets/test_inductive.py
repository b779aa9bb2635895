"""Inductive benchmarks: the inference graph is train, and the training graph is left out."""

import numpy as np
import pytest
from dataset_folders import assert_same, failure, rows_of, write

import kgeval
from kgeval.formats.folders import AS_TABLES

GRAPH = {"train": [("x", "r", "y"), ("y", "r", "z")], "valid": [("x", "r", "z")], "test": [("z", "r", "x")]}
INFERENCE, VALID, TEST = "x\tr\ty\ny\tr\tz\n", "x\tr\tz\n", "z\tr\tx\n"
TRAINING = "a\tr\tb\nb\tr\tc\n"  # entities of its own
LAYOUTS = {
    "ilpc": {
        "train.txt": TRAINING,
        "inference.txt": INFERENCE,
        "inference_validation.txt": VALID,
        "inference_test.txt": TEST,
    },
    "ingram": {"train.txt": TRAINING, "msg.txt": INFERENCE, "valid.txt": VALID, "test.txt": TEST},
    "ultra": {
        "transductive_train.txt": TRAINING,
        "inference_graph.txt": INFERENCE,
        "inf_valid.txt": VALID,
        "inf_test.txt": TEST,
    },
    "grail": {
        "train.txt": TRAINING,
        "valid.txt": "a\tr\tc\n",
        "test.txt": "c\tr\ta\n",
        "train_ind.txt": INFERENCE,
        "valid_ind.txt": VALID,
        "test_ind.txt": TEST,
    },
}
READ_AS = "read as the folder of an inductive benchmark"
ALL_SPLITS = "the filter removes the triples of all three splits, as ULTRA does for these benchmarks"


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.light(2)
def test_the_inference_graph_is_train(tmp_path, name):
    """The entities of the training graph are no candidates; the notes name each file."""
    dataset = kgeval.read_dataset(write(tmp_path, LAYOUTS[name]))
    assert_same(dataset, GRAPH)
    text = " ".join(dataset.notes)
    for file in LAYOUTS[name]:
        assert file in text
    assert dataset.notes[0] == READ_AS
    assert "filter" in text


def test_the_notes_say_which_file_is_what(tmp_path):
    """And by which splits other tools filter."""
    assert kgeval.read_dataset(write(tmp_path / "a", LAYOUTS["ilpc"])).notes == (
        READ_AS,
        "inference.txt is read as train (the inference graph, known at test time); inference_validation.txt is read as "
        "valid; inference_test.txt is read as test",
        "not read: train.txt (the training graph, whose entities are no candidates)",
        ALL_SPLITS,
    )
    assert kgeval.read_dataset(write(tmp_path / "b", LAYOUTS["grail"])).notes[2:] == (
        "not read: train.txt, valid.txt and test.txt (the training graph, whose entities are no candidates)",
        "the filter removes the triples of all three splits; ULTRA filters only by the inference graph and test "
        "(filter=('train', 'test'), --filter train,test) and ranks valid and test together: "
        "--as ultra, or splits={'test': ['valid_ind.txt', 'test_ind.txt']}, "
        "--split-files test=valid_ind.txt+test_ind.txt",
    )


def test_valid_and_test_together(tmp_path):
    """As ULTRA ranks GraIL's benchmarks."""
    folder = write(tmp_path, LAYOUTS["grail"])
    dataset = kgeval.read_dataset(folder, splits={"test": ["valid_ind.txt", "test_ind.txt"]})
    assert list(dataset.splits) == ["train", "test"]
    assert rows_of(dataset, "test") == GRAPH["valid"] + GRAPH["test"]
    assert rows_of(dataset, "train") == GRAPH["train"]


def test_a_valid_split_of_the_training_graph_is_asked_about(tmp_path):
    """As in ULTRA's copies of the HM benchmarks: its entities would become candidates."""
    folder = write(tmp_path, LAYOUTS["ultra"] | {"inf_valid.txt": "a\tr\tc\n"})
    assert failure(folder) == (
        "DIR: inf_valid.txt has 2 entities, of which the inference graph contains only 0; it seems to belong to the "
        "training graph. Leave it out (ignore=['inf_valid.txt'], --ignore-files inf_valid.txt), or read the training "
        f"graph with {AS_TABLES}"
    )
    dataset = kgeval.read_dataset(folder, ignore=["inf_valid.txt"])
    assert_same(dataset, {"train": GRAPH["train"], "test": GRAPH["test"]})


def test_the_two_folders_of_grail(tmp_path):
    """Each is an ordinary folder; what its sibling is, is said."""
    ind = write(tmp_path / "fb_v1_ind", {"train.txt": INFERENCE, "valid.txt": VALID, "test.txt": TEST})
    alone = kgeval.read_dataset(ind).notes
    assert alone[1] == (
        "by the name of the folder, train.txt is the inference graph (known at test time) of an inductive benchmark"
    )
    training = write(tmp_path / "fb_v1", {"train.txt": TRAINING, "test.txt": "c\tr\ta\n"})
    dataset = kgeval.read_dataset(ind)
    assert_same(dataset, GRAPH)
    assert dataset.notes == (
        READ_AS,
        "train.txt is the inference graph (known at test time) of an inductive benchmark; not read: the training graph "
        "in the folder fb_v1 beside it",
        "the filter removes the triples of all three splits; ULTRA filters only by the inference graph and test "
        "(filter=('train', 'test'), --filter train,test) and ranks valid and test together: "
        "--as ultra, or splits={'test': ['valid.txt', 'test.txt']}, --split-files test=valid.txt+test.txt",
    )
    assert alone[2] == dataset.notes[2]  # which splits the filter uses
    assert kgeval.read_dataset(training).notes == (
        READ_AS,
        "this is the training graph of an inductive benchmark, and its test split has the same entities; the test with "
        "new entities is in the folder fb_v1_ind beside it",
    )
    together = kgeval.read_dataset(ind, splits={"test": ["valid.txt", "test.txt"]})
    assert rows_of(together, "test") == GRAPH["valid"] + GRAPH["test"]


def test_a_training_graph_that_the_caller_adds_is_not_called_unread(tmp_path):
    """The note about the training graph follows `splits`; another test split beside the layout is an error."""
    folder = write(tmp_path, LAYOUTS["ilpc"])
    files = {"train": ["train.txt", "inference.txt"]}
    assert not any("training graph" in note for note in kgeval.read_dataset(folder, splits=files).notes)
    write(folder, {"test.txt": "new\tr\tother\n"})
    assert "DIR: test.txt looks like a part of the dataset, but is not read" in failure(folder)


def test_lists_of_negatives_are_named(tmp_path):
    """Blocks of a positive and its negatives: candidates, no triples (S2)."""
    ranking = {"ranking_head.txt": "z\tr\tx\nz\tr\ty\n", "ranking_tail.txt": "z\tr\tx\ny\tr\tx\n"}
    files = {"train.txt": INFERENCE, "valid.txt": VALID, "test.txt": TEST} | ranking
    dataset = kgeval.read_dataset(write(tmp_path, files))
    assert_same(dataset, GRAPH)
    assert dataset.notes == (
        READ_AS,
        "not read: ranking_head.txt and ranking_tail.txt (a list of negatives for each test triple; "
        "kgeval.read_candidates(files, dataset), --candidates FILE FILE ranks among them)",
    )
    lists = kgeval.read_candidates([tmp_path / name for name in ranking], dataset)
    assert lists.sides == ("subject", "object")


def test_faults_keep_file_and_line(tmp_path):
    """The reader of tab-separated folders reads the files."""
    folder = write(tmp_path, LAYOUTS["ilpc"] | {"inference_test.txt": "z\tr\n"})
    assert "DIR/inference_test.txt, line 1" in failure(folder)
    assert failure(write(tmp_path / "b", {"train.txt": TRAINING}), format="inductive").startswith(
        "DIR: expected the files of an inductive benchmark: inference.txt, inference_validation.txt and"
    )


def test_real_folders(shared):
    """InGram's NL-0 has entities of its own for test; BERTRL's lists belong to one positive each."""
    folder = shared / "data" / "formats" / "ingram-nl-0"
    dataset = kgeval.read_dataset(folder)
    by_file = {
        name: {e for line in (folder / name).read_text().splitlines() for e in line.split("\t")[::2]}
        for name in ("msg.txt", "train.txt", "valid.txt", "test.txt")
    }
    assert set(dataset.entities.labels) == by_file["msg.txt"]
    assert not by_file["msg.txt"] & by_file["train.txt"]
    assert by_file["valid.txt"] | by_file["test.txt"] <= by_file["msg.txt"]
    assert (len(dataset["train"]), len(dataset["valid"]), len(dataset["test"])) == (2287, 763, 763)
    assert dataset.unseen["test"]["triples"] == 0
    folder = shared / "data" / "formats" / "bertrl-nell_ind"
    dataset = kgeval.read_dataset(folder)
    lists = kgeval.read_candidates([folder / "ranking_head.txt", folder / "ranking_tail.txt"], dataset)
    assert "not read: ranking_head.txt and ranking_tail.txt" in " ".join(dataset.notes)
    assert {side: np.diff(part.offsets).tolist() for side, part in lists.lists.items()} == {
        "subject": [49] * 476,
        "object": [49] * 476,
    }
