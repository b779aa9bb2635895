"""The store of finished shards: round trips, refusals, locks, full disks and killed processes."""

import errno
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest
from grids import size

import kgeval as kg
from kgeval.base import files
from kgeval.ranking import resume
from kgeval.ranking.counts import RankCounts, TaskCounts
from kgeval.ranking.resume import RunFolder

IDENTITY = {"dataset": "abc", "protocol": {"sides": ["subject", "object"], "tie": "realistic"}}
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def counts(rows, dtype=np.float32, is_infinite=False):
    """Counts that follow from the row, so that a test can tell whether they are those of this row."""
    rows = np.asarray(rows, dtype=np.int64)
    known = RankCounts(rows % 2, rows % 3 // 2, rows % 2 + rows % 3 // 2 + rows % 5)
    raw = known + RankCounts(rows % 7, rows % 4, rows % 7 + rows % 4 + rows % 6)
    return TaskCounts(rows, raw, known, (rows / 4).astype(dtype), is_infinite)


def assert_counts(kept, rows):
    """The counts are those of `rows`, in any order, each once."""
    order = np.argsort(kept.rows, kind="stable")
    expected = counts(sorted(rows), kept.scores.dtype)
    assert kept.rows[order].tolist() == sorted(rows)
    for setting in ("raw", "known"):
        for name in ("better", "tied", "rivals"):
            found, right = (getattr(getattr(part, setting), name) for part in (kept, expected))
            assert found.dtype == np.int64
            assert (found[order] == right).all()
    assert (kept.scores[order] == expected.scores).all()


def opened(folder, identity=IDENTITY):
    return RunFolder.open(folder, identity)


def written(folder, *shards, identity=IDENTITY):
    """A run folder with one shard file for each list of rows of the object side."""
    with opened(folder, identity=identity) as store:
        for rows in shards:
            store.add("object", counts(rows), 1.0)
            store.flush()
    return folder


def shard_names(folder):
    return sorted(path.name for path in folder.glob("shard-*"))


def refused(*texts, folder, identity=IDENTITY):
    """Opening raises a DataError whose text contains each of `texts`; return the text."""
    with pytest.raises(kg.DataError) as caught:
        opened(folder, identity)
    for text in texts:
        assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# What is written is what is read


def test_what_was_added_is_finished_when_opened_again(tmp_path):
    with opened(tmp_path / "run") as store:
        assert (store.n_shards, store.seconds, store.finished) == (0, 0.0, {})
        store.add("object", counts([4, 2], is_infinite=True), 0.5)
        store.add("subject", counts([2], np.float64), 0.25)
        store.flush()
        store.flush()  # nothing is left: no file
        assert (store.n_shards, store.n_written) == (0, 1)
        store.add("object", counts([7, 0]), 1.5)  # written by the end of the block
    assert shard_names(tmp_path / "run") == ["shard-000001.npz", "shard-000002.npz"]
    with opened(tmp_path / "run") as store:
        assert (store.n_shards, store.seconds) == (2, 2.25)
        assert sorted(store.finished) == ["object", "subject"]
        assert_counts(store.finished["object"], [0, 2, 4, 7])
        assert_counts(store.finished["subject"], [2])
        assert store.finished["object"].scores.dtype == np.float32
        assert store.finished["subject"].scores.dtype == np.float64
        assert (store.finished["object"].is_infinite, store.finished["subject"].is_infinite) == (True, False)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int64", "uint8"])
def test_scores_keep_their_dtype_and_infinities(tmp_path, dtype):
    scores = np.array([1, 0, 3], dtype)
    if dtype == "float64":
        scores[:2] = np.inf, np.nextafter(1, 2)
    given = TaskCounts(np.arange(3), RankCounts.zeros(3), RankCounts.zeros(3), scores)
    with opened(tmp_path / "run") as store:
        store.add("subject", given, 1.0)
    with opened(tmp_path / "run") as store:
        kept = store.finished["subject"].scores
    assert kept.dtype == dtype
    assert kept.tobytes() == scores.tobytes()


def test_a_retried_shard_counts_once(tmp_path):
    written(tmp_path / "run", [1, 2])
    with opened(tmp_path / "run") as store:
        store.add("object", counts([2, 3], is_infinite=True), 1.0)  # row 2 was taken over
        store.add("object", counts([3, 4]), 1.0)  # row 3 was added a moment ago
        store.add("object", counts([4]), 1.0)
        store.add("subject", counts([2]), 1.0)  # the other side has rows of its own
        store.flush()
        store.add("object", counts([3, 9_999]), 1.0)  # row 3 was written
    with opened(tmp_path / "run") as store:
        assert_counts(store.finished["object"], [1, 2, 3, 4, 9_999])
        assert store.finished["object"].is_infinite
        assert_counts(store.finished["subject"], [2])


def test_numbers_of_files_go_on_after_the_largest(tmp_path):
    folder = written(tmp_path / "run", [0], [1], [2])
    (folder / "shard-000002.npz").unlink()  # as an error message may tell the user
    with opened(folder) as store:
        assert_counts(store.finished["object"], [0, 2])
        store.add("object", counts([1]), 1.0)
    assert shard_names(folder) == ["shard-000001.npz", "shard-000003.npz", "shard-000004.npz"]
    with opened(folder) as store:
        assert_counts(store.finished["object"], [0, 1, 2])


def test_files_are_written_by_time(tmp_path, monkeypatch):
    """After 0.5 s, and after 1% of the time since opening: many small shards make few files."""
    now, n_steps = 0.0, size(400, 1800)
    monkeypatch.setattr(resume, "monotonic", lambda: now)
    monkeypatch.setattr(files.os, "fsync", lambda handle: None)
    with opened(tmp_path / "run") as store:
        times = []
        for step in range(1, n_steps + 1):  # two shards a second, in the thorough suite for a quarter of an hour
            now, before = step / 2, store.n_written
            store.add("object", counts([step]), 0.5)
            if store.n_written > before:
                times.append(now)
    expected, last = [], 0
    for step in range(1, n_steps + 1):  # in half seconds, and in integers
        if 100 * (step - last) > max(100, step):
            expected.append(step / 2)
            last = step
    assert times == expected
    assert expected[:3] == [1.0, 2.0, 3.0]  # not after 0.5 s, which is not more than 0.5 s
    assert len(expected) < size(160, 300)
    with opened(tmp_path / "run") as store:
        assert_counts(store.finished["object"], range(1, n_steps + 1))
        assert store.seconds == n_steps / 2


def test_an_interrupt_after_the_file_is_there_writes_no_row_twice(tmp_path, monkeypatch):
    """The file is written again under the same number, with what was added since."""

    @contextmanager
    def interrupted(path, overwrite):
        with files.replacing(path, overwrite) as stream:
            yield stream
        raise KeyboardInterrupt

    store = opened(tmp_path / "run")
    store.add("object", counts([1]), 1.0)
    monkeypatch.setattr(resume, "replacing", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.flush()
    monkeypatch.undo()
    assert shard_names(tmp_path / "run") == ["shard-000001.npz"]
    store.add("object", counts([5]), 1.0)
    store.close()
    assert shard_names(tmp_path / "run") == ["shard-000001.npz"]
    with opened(tmp_path / "run") as store:
        assert_counts(store.finished["object"], [1, 5])


# Which folders are taken


@pytest.mark.parametrize("content", ["absent", "empty", "hidden", "lock", "temporary"])
def test_a_folder_without_a_run_folder_starts_anew(tmp_path, content):
    folder = tmp_path / "run"
    if content != "absent":
        folder.mkdir()
    if content == "hidden":
        (folder / ".DS_Store").write_text("a")
    if content == "lock":  # a run that was killed before it wrote anything
        (folder / "lock").write_text("kgeval checkpoint, process 1 on elsewhere\n")
    if content == "temporary":
        (folder / ".kgeval-a_host-99999999-ab12.part").write_text("{")
    with opened(folder) as store:
        assert store.n_shards == 0
    names = {path.name for path in folder.iterdir()} - {".DS_Store"}
    assert names == {"checkpoint.json", "lock"}


def test_a_run_folder_without_shards_starts_anew(tmp_path):
    """A run that failed at its first query keeps nothing; the corrected scorer need not be that of this run."""
    folder = written(tmp_path / "run")
    with RunFolder.open(folder, {"scorer": "corrected"}) as store:
        assert store.n_shards == 0
        store.add("object", counts([0]), 1.0)
    with RunFolder.open(folder, {"scorer": "corrected"}) as store:
        assert store.finished["object"].rows.tolist() == [0]


def test_nothing_is_written_among_foreign_files(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    refused("is not a run folder", "holds 'notes.txt'", folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    (tmp_path / "notes.txt").rename(tmp_path / "lock")
    refused("holds 'lock'", folder=tmp_path)
    assert (tmp_path / "lock").read_text() == "mine"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"format": "pt"}', "is not part of a run folder of kgeval"),
        ("[1]", "is not part of a run folder of kgeval"),
        ('{"format"', "is damaged, or is not part of a run folder of kgeval"),
        ('{"format": "kgeval checkpoint", "format_version": 2, "kgeval": "9.9"}', "has format version 2"),
        ('{"format": "kgeval checkpoint", "format_version": 1}', "the field 'identity' is missing or has a wrong type"),
    ],
)
def test_a_strange_description_is_refused(tmp_path, content, message):
    (tmp_path / "checkpoint.json").write_text(content)
    text = refused(message, folder=tmp_path)
    assert "give another folder" in text
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.json"]


def test_other_files_beside_a_run_folder_do_no_harm(tmp_path):
    folder = written(tmp_path / "run", [0])
    (folder / "notes.txt").write_text("mine")
    with opened(folder) as store:
        assert_counts(store.finished["object"], [0])
    assert (folder / "notes.txt").read_text() == "mine"


def test_shards_without_their_description_are_refused(tmp_path):
    folder = written(tmp_path / "run", [0])
    (folder / "checkpoint.json").unlink()
    refused("holds 1 shard file but no checkpoint.json", folder=folder)


def test_the_folder_must_be_one_and_have_a_parent(tmp_path):
    (tmp_path / "file").write_text("")
    refused("file: is not a folder", folder=tmp_path / "file")
    refused(f"the folder {tmp_path / 'a'} does not exist; create it first", folder=tmp_path / "a" / "b")
    refused("the folder cannot be made: File name too long", folder=tmp_path / ("a" * 300))
    refused("the folder cannot be made: ", folder=tmp_path / "a\0b")


# Whether it is the same run


@dataclass
class Part:
    """A part of an identity that compares numbers by their parity, and counts the questions."""

    number: int
    asked: list = field(default_factory=list)

    def describe(self):
        self.asked.append("describe")
        return {"number": self.number}

    def differences(self, before):
        self.asked.append("differences")
        return [] if (self.number - before["number"]) % 2 == 0 else [f"{self.number} against {before['number']}"]


def test_differences_are_listed_by_name(tmp_path):
    folder = written(tmp_path / "run", [0])
    text = refused(
        'dataset: "xyz" here, "abc" in the run folder; '
        'protocol.sides: ["object"] here, ["subject", "object"] in the run folder; '
        "protocol.seed: only here; protocol.tie: only in the run folder; seed: only here. Give another folder",
        folder=folder,
        identity={"dataset": "xyz", "protocol": {"sides": ["object"], "seed": 1}, "seed": 0},
    )
    assert text.startswith(f"{folder} is the run folder of another run. ")
    assert shard_names(folder) == ["shard-000001.npz"]
    opened(folder).close()  # the refusal released the lock


def test_equal_values_of_json_are_equal(tmp_path):
    folder = written(tmp_path / "run", [0], identity={"a": (1, 2), "b": None, "c": {1: 0.1}, "d": True})
    opened(folder, {"a": [1, 2], "b": None, "c": {"1": 0.1}, "d": True}).close()
    refused(
        "d: 1 here, true in the run folder", folder=folder, identity={"a": [1, 2], "b": None, "c": {1: 0.1}, "d": 1}
    )


def test_parts_of_an_identity_compare_themselves_last(tmp_path):
    first = Part(1)
    written(tmp_path / "run", [0], identity={"dataset": "abc", "scorer": first})
    assert first.asked == ["describe"]
    same, other = Part(3), Part(2)
    opened(tmp_path / "run", {"dataset": "abc", "scorer": same}).close()
    assert same.asked == ["differences"]
    refused("scorer: 2 against 1", folder=tmp_path / "run", identity={"dataset": "abc", "scorer": other})
    wrong = Part(2)
    text = refused('dataset: "x" here', folder=tmp_path / "run", identity={"dataset": "x", "scorer": wrong})
    assert (wrong.asked, "against" in text) == ([], False)
    refused(
        "scorer: not in the run folder", folder=written(tmp_path / "b", [0]), identity={**IDENTITY, "scorer": Part(1)}
    )
    refused("scorer: only in the run folder", folder=tmp_path / "run", identity={"dataset": "abc"})


def test_another_version_is_refused(tmp_path):
    folder = written(tmp_path / "run", [0])
    description = json.loads((folder / "checkpoint.json").read_text())
    (folder / "checkpoint.json").write_text(json.dumps({**description, "kgeval": "0.0.1"}))
    refused(f"kgeval: version {kg.__version__} here, 0.0.1 in the run folder", folder=folder)


def test_a_run_of_version_0_1_goes_on(tmp_path):
    """The names in its description were others; the counts are the same."""
    protocol = {"sides": ["object"], "filter_splits": ["train"]}
    folder = written(tmp_path / "run", [0], identity={"protocol": protocol, "seed": 3})
    description = json.loads((folder / "checkpoint.json").read_text())
    (folder / "checkpoint.json").write_text(json.dumps({**description, "kgeval": "0.1.0"}))
    here = {"protocol": {"sides": ["object"], "filter": ["train"]}, "sample_seed": 3}
    with opened(folder, here) as store:
        assert_counts(store.finished["object"], [0])
    refused("sample_seed: 4 here, 3 in the run folder", folder=folder, identity={**here, "sample_seed": 4})


def test_a_part_that_fails_leaves_no_run_folder(tmp_path):
    class Failing(Part):
        def describe(self):
            raise kg.ScoreError("the scorer is broken")

    with pytest.raises(kg.ScoreError, match="is broken"):
        opened(tmp_path / "run", identity={"scorer": Failing(1)})
    with opened(tmp_path / "run") as store:
        assert store.n_shards == 0


# Damaged and foreign shard files


def damaged(folder, change):
    """Change the bytes of the second shard file."""
    path = folder / "shard-000002.npz"
    path.write_bytes(change(path.read_bytes()))


def changed_arrays(folder, **changes):
    """Write the second shard file again with other arrays; None removes one."""
    path = folder / "shard-000002.npz"
    with np.load(path) as loaded:
        arrays = {**{name: loaded[name] for name in loaded.files}, **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw[:-1],
        lambda raw: b"",
        lambda raw: b"PK" + bytes(100),
        lambda raw: raw.replace(np.arange(2, 4).tobytes(), np.arange(4, 6).tobytes(), 1),  # rows, not their checksum
    ],
    ids=["half", "all but a byte", "empty", "zeros", "other rows"],
)
def test_a_damaged_shard_is_named_and_deleting_it_helps(tmp_path, change):
    folder = written(tmp_path / "run", [0, 1], [2, 3], [4])
    damaged(folder, change)
    is_empty = not (folder / "shard-000002.npz").stat().st_size
    refused(
        f"shard-000002.npz: is {'empty' if is_empty else 'damaged'}",
        "Delete this file: its queries are then ranked again",
        folder=folder,
    )
    (folder / "shard-000002.npz").unlink()
    with opened(folder) as store:
        assert_counts(store.finished["object"], [0, 1, 4])


@pytest.mark.parametrize(
    "changes",
    [
        {"object_rows": None},
        {"object_scores": None},
        {"object_rows": np.array([2.0, 3.0])},
        {"object_rows": np.array([2, -3])},
        {"object_rows": np.array([[2, 3]])},
        {"object_raw": np.zeros((3, 1), dtype=np.int64)},
        {"object_known": np.zeros((2, 2), dtype=np.int64)},
        {"object_raw": np.array([[1, 1], [0, 0], [0, 0]])},
        {"object_known": np.full((3, 2), 100)},
        {"object_scores": np.array(["a", "b"])},
        {"object_scores": np.zeros(3)},
    ],
)
def test_arrays_that_cannot_be_counts_are_refused(tmp_path, changes):
    folder = written(tmp_path / "run", [0, 1], [2, 3])
    changed_arrays(folder, **changes)
    refused("shard-000002.npz: is damaged", "Delete this file", folder=folder)


def test_shards_of_another_run_folder_are_refused(tmp_path):
    folder, other = written(tmp_path / "run", [0]), written(tmp_path / "other", [0], [1])
    shutil.copy(other / "shard-000002.npz", folder)
    refused("shard-000002.npz: is a shard file of another run folder. Delete this file", folder=folder)
    np.savez(folder / "shard-000002.npz", a=np.zeros(1))
    refused("shard-000002.npz: is an .npz file, but not one that kgeval wrote", "Delete this file", folder=folder)
    np.savez(folder / "shard-000002.npz", header=np.array('{"format": "result"}'))
    refused("shard-000002.npz: is not a shard file of a run folder", folder=folder)


def test_a_positive_in_two_shards_is_refused(tmp_path):
    folder = written(tmp_path / "run", [5, 3], [7])
    shutil.copy(folder / "shard-000001.npz", folder / "shard-000003.npz")
    text = refused("shard-000003.npz: holds positive 3 of the object side", folder=folder)
    assert "which shard-000001.npz holds too, so it would count twice. Delete this file" in text
    (folder / "shard-000003.npz").unlink()
    opened(folder).close()
    changed_arrays(folder, object_rows=np.array([7, 7]), **{
        f"object_{name}": np.zeros((3, 2), dtype=np.int64) for name in ("raw", "known")
    }, object_scores=np.zeros(2))  # fmt: skip
    refused("shard-000002.npz: holds positive 7", folder=folder)


# Full disks


def test_files_and_their_names_reach_the_disk(tmp_path, monkeypatch):
    """The content before the name: a name without content would be a damaged shard after a loss of power."""
    steps, replace = [], os.replace

    def synced(handle):
        steps.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "content")

    def renamed(source, target):
        steps.append("name")
        replace(source, target)

    store = opened(tmp_path / "run")
    monkeypatch.setattr(files.os, "fsync", synced)
    monkeypatch.setattr(files.os, "replace", renamed)
    store.add("object", counts([0]), 1.0)
    store.close()
    assert steps == (["content", "name"] if sys.platform == "win32" else ["content", "name", "folder"])


def full_disk(*arguments):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_one_clear_line_and_keeps_what_is_there(tmp_path, monkeypatch):
    store = opened(tmp_path / "run")
    store.add("object", counts([0]), 1.0)
    store.flush()
    before = (tmp_path / "run" / "shard-000001.npz").read_bytes()
    store.add("object", counts([1]), 1.0)
    monkeypatch.setattr(files.os, "fsync", full_disk)
    with pytest.raises(kg.DataError) as caught:
        store.flush()
    assert str(caught.value) == (
        f"run folder {tmp_path / 'run'}: shard-000002.npz cannot be written: No space left on device. The 1 finished "
        "shard is kept: free disk space, or make the folder writable, and repeat the call: it goes on from there"
    )
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["checkpoint.json", "lock", "shard-000001.npz"]
    assert (tmp_path / "run" / "shard-000001.npz").read_bytes() == before
    monkeypatch.undo()
    store.close()  # there is room again: nothing is lost
    with opened(tmp_path / "run") as store:
        assert_counts(store.finished["object"], [0, 1])


def test_the_first_error_of_a_run_is_the_one_that_is_shown(tmp_path, monkeypatch):
    with pytest.raises(kg.ScoreError, match="the scorer failed"), opened(tmp_path / "run") as store:  # noqa: PT012
        store.add("object", counts([0]), 1.0)
        monkeypatch.setattr(files.os, "fsync", full_disk)
        raise kg.ScoreError("the scorer failed")
    monkeypatch.undo()
    with opened(tmp_path / "run") as store:  # the lock was released
        assert store.finished == {}
    with pytest.raises(kg.DataError, match="No space left"), opened(tmp_path / "run") as store:  # noqa: PT012
        monkeypatch.setattr(files.os, "fsync", full_disk)
        store.add("object", counts([0]), 1.0)


def test_a_disk_that_is_full_at_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "fsync", full_disk)
    refused("checkpoint.json cannot be written: No space left on device. Free disk space", folder=tmp_path / "run")
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["lock"]
    with opened(tmp_path / "run") as store:
        assert store.n_shards == 0


def test_a_folder_that_is_deleted_meanwhile(tmp_path):
    store = opened(tmp_path / "run")
    store.add("object", counts([0]), 1.0)
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(kg.DataError, match=r"shard-000001.npz cannot be written: .* does not exist"):
        store.close()


FULL = """
import os, subprocess, sys, json
import numpy as np
import kgeval as kg
from kgeval.ranking.resume import RunFolder
from kgeval.ranking.counts import RankCounts, TaskCounts

def counts(rows):
    zeros = RankCounts.zeros(len(rows))
    return TaskCounts(rows, zeros, zeros, rows.astype(np.float32))

folder, messages, n = sys.argv[1] + "/run", [], 0
try:
    with RunFolder.open(folder, {}) as store:
        while True:
            store.add("object", counts(np.arange(1000 * n, 1000 * n + 500)), 1.0)
            store.flush()
            n += 1
except kg.DataError as error:
    messages.append(str(error))
names = sorted(os.listdir(folder))
try:  # the disk is still full
    with RunFolder.open(folder, {}) as store:
        taken = store.n_shards, sorted(store.finished["object"].rows.tolist())
        store.add("object", counts(np.arange(10_000_000, 10_000_500)), 1.0)
except kg.DataError as error:
    messages.append(str(error))
subprocess.run(["mount", "-o", "remount,size=400k", sys.argv[1]], check=True)
with RunFolder.open(folder, {}) as store:
    store.add("object", counts(np.arange(10_000_000, 10_000_500)), 1.0)
with RunFolder.open(folder, {}) as store:
    last = store.n_shards
subprocess.run(["mount", "-o", "remount,ro", sys.argv[1]], check=True)
try:
    RunFolder.open(folder, {})
except kg.DataError as error:
    messages.append(str(error))
print(json.dumps([n, messages, names, taken, last]))
"""


@pytest.mark.thorough
def test_a_small_disk_that_is_really_full(tmp_path, root):
    """A disk of 200 kB in a namespace of its own, so that nothing stays mounted."""
    (tmp_path / "script.py").write_text(FULL)
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = 'mount -t tmpfs -o size=200k tmpfs "$1" || exit 99; exec "$2" "$3" "$1"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", str(folder), sys.executable]
    try:
        done = subprocess.run(
            [*command, str(tmp_path / "script.py")],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(root)},
        )
    except OSError as error:
        pytest.skip(f"unshare cannot be run: {error}")
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"no small disk can be mounted: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    n, messages, names, taken, last = json.loads(done.stdout)
    assert n > 3
    expected = f"cannot be written: No space left on device. The {n} finished shards are kept"
    assert [expected in message for message in messages] == [True, True, False]
    assert all(f"run folder {folder}/run: " in message and "\n" not in message for message in messages)
    assert names == ["checkpoint.json", "lock", *(f"shard-{i:06}.npz" for i in range(1, n + 1))]  # nothing half-written
    assert taken == [n, [1000 * i + k for i in range(n) for k in range(500)]]
    assert last == n + 1
    assert "cannot be written: Read-only file system. Make the folder writable" in messages[2]


# Locks


def test_a_second_writer_is_refused_and_told_who_writes(tmp_path):
    with opened(tmp_path / "run") as store:
        store.add("object", counts([0]), 1.0)
        refused(
            f"run: process {os.getpid()} writes to it; wait until it ends, or give another folder",
            folder=tmp_path / "run",
        )
        (tmp_path / "run" / "lock").write_text("")
        refused("another process writes to it", folder=tmp_path / "run")
        (tmp_path / "run" / "lock").write_text("kgeval checkpoint, process 12 on far.away\n")
        refused("process 12 on far.away writes to it", folder=tmp_path / "run")
    opened(tmp_path / "run").close()


def test_a_closed_run_folder_takes_nothing(tmp_path):
    store = opened(tmp_path / "run")
    store.close()
    store.close()
    with pytest.raises(kg.DataError, match="does not hold the run folder: it was closed"):
        store.add("object", counts([0]), 1.0)


def forked(work):
    """Run `work(send)` in a forked process; return its id and a function that reads the next line it sends."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reader)
            work(lambda text: os.write(writer, f"{text}\n".encode()))
        finally:
            os._exit(0)
    os.close(writer)
    stream = os.fdopen(reader, encoding="utf-8")
    return child, stream


@contextmanager
def killing(child, stream):
    """Kill a process with SIGKILL at the end of the block."""
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        stream.close()


@forks
@pytest.mark.thorough
def test_a_forked_child_neither_keeps_the_lock_nor_writes(tmp_path):
    """A worker of torch's DataLoader, for example, may outlive a parent that was killed."""
    store = opened(tmp_path / "run")
    store.add("object", counts([0]), 1.0)

    def child_work(send):
        store.flush()  # not in the child
        try:
            store.add("object", counts([1]), 1.0)
        except kg.DataError as error:
            send(str(error))
        try:
            opened(tmp_path / "run")
        except kg.DataError as error:
            send(str(error))
        time.sleep(60)

    child, stream = forked(child_work)
    with killing(child, stream):
        assert "was opened by another process" in stream.readline()
        assert f"process {os.getpid()} writes to it" in stream.readline()
        assert shard_names(tmp_path / "run") == []
        store.close()
        with opened(tmp_path / "run") as again:  # although the child is alive
            assert_counts(again.finished["object"], [0])


@forks
@pytest.mark.thorough
def test_the_lock_dies_with_its_process(tmp_path):
    def child_work(send):
        store = opened(tmp_path / "run")
        store.add("object", counts([0]), 1.0)
        store.flush()
        send("ready")
        time.sleep(60)

    child, stream = forked(child_work)
    with killing(child, stream):
        assert stream.readline() == "ready\n"
        refused(f"process {child} writes to it", folder=tmp_path / "run")
    with opened(tmp_path / "run") as store:
        assert_counts(store.finished["object"], [0])


@forks
@pytest.mark.thorough
def test_a_killed_writer_leaves_whole_shards_only(tmp_path, monkeypatch):
    """SIGKILL at random moments, 40 times; each run goes on where the last one ended."""
    monkeypatch.setattr(resume, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(resume, "MIN_SHARE", 0.0)
    folder, rng, n_rows = tmp_path / "run", random.Random(0), 0
    n_leftovers = 0

    def child_work(send):
        with opened(folder) as store:
            row = n_rows
            send(row)
            while True:
                store.add("object", counts([row, row + 1]), 1.0)  # writes a file
                row += 2
                send(row)

    for _ in range(40):
        child, stream = forked(child_work)
        with killing(child, stream):
            assert int(stream.readline()) == n_rows
            time.sleep(rng.uniform(0, 0.02))
            os.kill(child, signal.SIGKILL)
            sent = [int(line) for line in stream if line.endswith("\n")]
        n_sent = sent[-1] if sent else n_rows
        n_leftovers += any(path.name.startswith(".") for path in folder.iterdir())
        with opened(folder) as store:
            kept = store.finished.get("object", counts([]))
            # every shard of which the child said that it is written, and at most one more
            assert len(kept.rows) in (n_sent, n_sent + 2)
            assert_counts(kept, range(len(kept.rows)))
            assert store.n_shards * 2 == len(kept.rows)
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]
        n_rows = len(kept.rows)
    assert n_rows > 40
    assert n_leftovers > 0  # some were killed while they wrote


@pytest.mark.thorough
def test_two_programs_on_one_folder(tmp_path, root):
    """Of programs that open a folder at the same time, one writes; the others are refused."""
    script = textwrap.dedent(
        """
        import sys
        import kgeval as kg
        from kgeval.ranking.resume import RunFolder
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            with RunFolder.open(sys.argv[1], {}) as store:
                print("wrote", store.n_shards, flush=True)
                sys.stdin.readline()
        except kg.DataError as error:
            print(error, flush=True)
        """
    )
    command = [sys.executable, "-c", script, str(tmp_path / "run")]
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    environment = {**os.environ, "PYTHONPATH": str(root)}
    programs = [subprocess.Popen(command, env=environment, **options) for _ in range(3)]
    assert [program.stdout.readline() for program in programs] == ["ready\n"] * 3
    for program in programs:
        program.stdin.write("\n")
        program.stdin.flush()
    outputs = [program.stdout.readline().strip() for program in programs]
    for program in programs:
        program.communicate()
    assert outputs.count("wrote 0") == 1
    assert sum("process" in output and "writes to it" in output for output in outputs) == 2


# A damaged description of a real run


class Vectors:
    """A foreign embedding model: dot products of vectors."""

    geometry = "dot"

    def __init__(self, table):
        self.table = table

    def query_vectors(self, side, given, relation):
        return self.table[given] * (relation[:, None] + 1)

    def candidate_vectors(self, side):
        return self.table


class Whole:
    """A scorer of whole queries."""

    def __init__(self, table):
        self.table = table

    def score_objects(self, subjects, relations):
        return self.table[subjects] @ self.table.T

    def score_subjects(self, relations, objects):
        return self.table[objects] @ self.table.T


def _leaves(value, path=()):
    """The path of every value inside a JSON value, inner objects and lists included."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from _leaves(item, (*path, key))


DELETED = object()
OTHERS = (DELETED, None, True, -1, 10**15, 1e400, "text", "AAAA!", "AAA", [], [[]], {}, {"x": 1}, "half", "none")


def _damaged(text, path, other):
    """A JSON text in which one value is deleted, replaced, cut to its first half or emptied."""
    content = json.loads(text)
    place = content
    for key in path[:-1]:
        place = place[key]
    value = place[path[-1]]
    if other is DELETED:
        del place[path[-1]]
    elif other in ("half", "none") and isinstance(value, (str, list, dict)):
        n = len(value) // 2 if other == "half" else 0
        place[path[-1]] = dict(list(value.items())[:n]) if isinstance(value, dict) else value[:n]
    else:
        place[path[-1]] = other
    return json.dumps(content)


def _check_damages(folder, kinds, n_cases):
    """Every damage of checkpoint.json that changes the identity is a DataError of one line that names the folder."""
    rng = np.random.default_rng(5)
    table = rng.normal(size=(9, 4))
    dataset = kg.Dataset.from_arrays(test=rng.integers(0, [9, 2, 9], (6, 3)), n_entities=9, n_relations=2)
    scorers = {
        "function": lambda s, p, o: table[s].sum(axis=1) * p - table[o].sum(axis=1),
        "whole": Whole(table),
        "vectors": Vectors(table),
        "model": kg.models.DistMult(table, table[:2]),
    }
    silent = []
    for kind in kinds:
        run = folder / kind

        def ranked(kind=kind, run=run):
            return kg.evaluate(scorers[kind], dataset, run_folder=run, progress=False)

        before = ranked()["mrr"]
        file = run / "checkpoint.json"
        text = file.read_text()
        assert ranked()["mrr"] == before
        cases = [(path, other) for path in _leaves(json.loads(text)) for other in OTHERS]
        broken = (("identity", "scorer", "probes", "triples", "scores"), "AAAA!")  # the alphabet of base64 lacks "!"
        chosen = range(len(cases)) if n_cases is None else rng.choice(len(cases), n_cases, replace=False)
        damages = [(cases[i], _damaged(text, *cases[i])) for i in chosen]
        damages += [(broken, _damaged(text, *broken))] if kind == "function" else []
        damages += [((kind, n), text[:n]) for n in rng.integers(0, len(text), n_cases or 40)]
        damages += [("deep", "[" * 100_000), ("long", text.replace(": 1,", f": {'1' * 5000},", 1))]
        for case, damaged in damages:
            file.write_text(damaged)
            try:
                ranked()
            except kg.DataError as error:
                assert str(run) in str(error), (case, error)
                assert "give another folder" in str(error).lower() or "Delete this file" in str(error), (case, error)
            else:
                if json.dumps(json.loads(damaged)) != json.dumps(json.loads(text)):
                    silent.append((kind, *case))
        file.write_text(text)
    return silent


def test_a_damaged_description_is_a_data_error_that_names_the_file(tmp_path):
    for kind, path, other in _check_damages(tmp_path, ["function"], 8):
        # What is not noticed does not change what is compared: the noise of a call, and how probes were called.
        assert path[-1] in ("noise", "relative_noise") or "calls" in path or "key" in path, (kind, path, other)


@pytest.mark.thorough
def test_every_damage_of_a_description_is_a_data_error(tmp_path):
    for kind, path, other in _check_damages(tmp_path, ["function", "whole", "vectors", "model"], None):
        assert path[-1] in ("noise", "relative_noise") or "calls" in path or "key" in path, (kind, path, other)
