"""What a folder holds, and which of its files were not read."""

import os

import numpy as np
import pytest
from dataset_folders import write

import kgeval as kg
from kgeval.errors import DataError
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.folders import SNIFFED_BYTES, check_folder, first_lines, given_splits, names_in, unread_notes


def test_first_lines_of_any_file(tmp_path):
    """All line ends; a line that is cut off does not count; files that cannot be read have none."""
    write(tmp_path, {"a": "\ufeffx\r\ny\rz", "b": "q" * 10 + "\n" + "r" * SNIFFED_BYTES, "c": "s" * 2 * SNIFFED_BYTES})
    assert first_lines(tmp_path / "a") == ["x", "y", "z"]
    assert first_lines(tmp_path / "b") == ["q" * 10]
    assert first_lines(tmp_path / "c") == ["s" * SNIFFED_BYTES]
    assert first_lines(tmp_path) == first_lines(tmp_path / "nothing") == []
    assert names_in(tmp_path) == {"a", "b", "c"}
    assert names_in(tmp_path / "a") == names_in(tmp_path / "nothing") == frozenset()


def test_files_that_were_not_read(tmp_path):
    """Known ones are named by what they hold, others only if they look like a part of a split."""
    files = ["read.txt", "b.json", "a.json", "README", "facts.txt", ".test.txt", "test_negatives.txt", "train.py"]
    write(tmp_path, dict.fromkeys(files, ""))
    known = {r"[ab]\.json": "texts"}
    assert unread_notes(tmp_path, ["read.txt"], known, ["facts.txt"]) == ["not read: a.json and b.json (texts)"]
    with pytest.raises(
        DataError, match=r"facts\.txt looks like a part of the dataset, but is not read; name the files"
    ):
        unread_notes(tmp_path, ["read.txt"], known)


def test_folders_and_splits_are_checked(tmp_path):
    """With the names of what is missing."""
    write(tmp_path, {"a": "", "b": ""})
    check_folder(tmp_path, ["a", "b"])
    for path, message in (
        (tmp_path, "expected a, b and c; c is missing. The folder contains a, b"),
        (tmp_path / "a", "is a file; give the folder that contains it"),
        (tmp_path / "x", "no such folder"),
    ):
        with pytest.raises(DataError) as caught:
            check_folder(path, ["a", "b", "c"])
        assert message in str(caught.value)
    assert given_splits(DatasetOptions()) == {}
    assert given_splits(DatasetOptions(splits={"test": "x"})) == {"test": "x"}
    with pytest.raises(DataError, match="splits must map names of splits to files"):
        given_splits(DatasetOptions(splits="test.txt"))


@pytest.mark.skipif(os.name != "posix", reason="pipes are of POSIX")
@pytest.mark.parametrize("name", ["train.txt", "notes.txt", "inner/model.npz", "entity_embedding.npy"])
@pytest.mark.parametrize("kind", ["pipe", "loop"])
def test_h41_pipes_and_loops_inside_a_folder_are_named(tmp_path, name, kind):
    """Opening a pipe waits for ever; a link to itself was a RuntimeError. Hidden ones are not read."""
    write(tmp_path, {"test.txt": "a\tr\tb\n", "inner/x": "", "entities.dict": "0\ta\n"})
    np.savez(tmp_path / "arrays.npz", entities=np.ones((2, 2)))
    place = tmp_path / name
    if kind == "pipe":
        os.mkfifo(place)
        said = f"{place}: is a pipe, a socket or a device, not a file; move it out of the folder"
    else:
        place.symlink_to(place.name)
        said = f"{place}: is a symbolic link to {place.name}, which does not exist: it leads to itself"
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=2, n_relations=1)
    for read in (kg.read_dataset, kg.inspect, kg.read_predictions, lambda path: kg.load_model(path, dataset)):
        with pytest.raises(DataError) as caught:
            read(tmp_path)
        assert str(caught.value) == said
    place.unlink()
    os.mkfifo(tmp_path / ".hidden")
    assert list(kg.read_dataset(tmp_path).splits) == ["test"]
