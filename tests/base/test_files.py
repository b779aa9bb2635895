"""One file of arrays and a header: complete or absent, exact, and never a pickle."""

import errno
import hashlib
import io
import json
import os
import platform
import signal
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from grids import size

from kgeval.base import limits
from kgeval.base.files import (
    LARGE,
    pack_labels,
    read_archive,
    read_arrays,
    read_text,
    replacing,
    unpack_labels,
    write_archive,
)
from kgeval.errors import DataError

if os.name == "posix":
    import fcntl

ARRAYS = {
    "ids": np.array([[0, -1], [2**62, 7]]),
    "scores": np.array([0.1, -0.0, np.nan, np.inf, 5e-324], dtype=np.float64),
    "small": np.array([0.1], dtype=np.float32),
    "flags": np.array([True, False]),
    "none": np.zeros((0, 3), dtype=np.int32),
    "words": np.array(["a", "\u00fc"]),
}
HEADER = {"version": "1", "nested": {"a": [1, None, True], "\u00fc": 0.1}, "empty": {}}


def npz(folder, **members):
    """An .npz file of these members, written by numpy."""
    file = folder / "made.npz"
    np.savez(file, **members)
    return file


def refusal(read, file):
    """What the DataError says, with the file's own path taken out."""
    with pytest.raises(DataError) as caught:
        read(file)
    return str(caught.value).replace(str(file), "FILE")


def test_arrays_and_header_come_back_exactly(tmp_path):
    """Bit for bit with dtype and shape, under exactly the name given, and nothing else lies in the folder."""
    file = tmp_path / "run.kgeval"
    write_archive(file, ARRAYS, HEADER)
    assert os.listdir(tmp_path) == ["run.kgeval"]
    arrays, header = read_archive(str(file))
    assert header == HEADER
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        assert arrays[name].tobytes() == array.tobytes()


def test_an_existing_file_is_kept_unless_told(tmp_path):
    """Without overwrite the file stays byte for byte; with it, the new content stands there."""
    file = tmp_path / "run.kgeval"
    write_archive(file, {"a": np.array([1])}, {"n": 1})
    before = file.read_bytes()
    with pytest.raises(DataError) as caught:
        write_archive(file, {"a": np.array([2])}, {"n": 2})
    assert str(caught.value) == f"{file} exists; choose another name, or use overwrite=True (--overwrite)"
    assert file.read_bytes() == before
    write_archive(file, {"a": np.array([2])}, {"n": 2}, overwrite=True)
    arrays, header = read_archive(file)
    assert (arrays["a"].tolist(), header) == ([2], {"n": 2})
    assert os.listdir(tmp_path) == ["run.kgeval"]


def test_a_missing_folder_is_not_made(tmp_path):
    """The folder is named; nothing is created."""
    folder = tmp_path / "no"
    file = folder / "run.kgeval"
    with pytest.raises(DataError) as caught:
        write_archive(file, ARRAYS, HEADER)
    assert str(caught.value) == f"{file}: the folder {folder} does not exist; create it first"
    assert os.listdir(tmp_path) == []


def test_a_folder_is_not_overwritten(tmp_path):
    """A folder in the file's place is refused, with overwrite and without."""
    (tmp_path / "run").mkdir()
    for overwrite in (False, True):
        with pytest.raises(DataError) as caught:
            write_archive(tmp_path / "run", ARRAYS, HEADER, overwrite=overwrite)
        assert str(caught.value) == f"{tmp_path / 'run'} is a folder; give the name of a file"
        assert os.listdir(tmp_path) == ["run"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt("stop")])
def test_a_failed_write_leaves_the_old_file_alone(tmp_path, monkeypatch, step, fault):
    """A full disk or Ctrl-C at any step: the old result is intact and no temporary file stays."""
    file = tmp_path / "run.kgeval"
    write_archive(file, {"a": np.array([1])}, {"n": 1})
    before = file.read_bytes()

    def fail(*_):
        raise fault

    monkeypatch.setattr(os, step, fail)
    with pytest.raises((DataError, KeyboardInterrupt)) as caught:
        write_archive(file, ARRAYS, HEADER, overwrite=True)
    no_space = f"{file}: cannot be written: No space left on device"
    assert str(caught.value) == (no_space if isinstance(fault, OSError) else "stop")
    assert os.listdir(tmp_path) == ["run.kgeval"]
    assert file.read_bytes() == before


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1}, b"x"])
def test_a_header_is_strict_json(tmp_path, value):
    """NaN, infinity and what JSON lacks are refused before anything is written."""
    with pytest.raises((ValueError, TypeError), match="JSON"):
        write_archive(tmp_path / "run.kgeval", {}, {"x": value})
    assert os.listdir(tmp_path) == []


def test_arrays_of_objects_are_not_written(tmp_path):
    """They would be pickles, which reading refuses: a file that cannot be read back must not come about."""
    file = tmp_path / "run.kgeval"
    with pytest.raises(DataError) as caught:
        write_archive(file, {"n": np.arange(3), "a": np.array([None, "x"], dtype=object)}, {})
    assert str(caught.value) == f"{file}: array 'a' contains Python objects, which cannot be stored without pickle"
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="file modes are of POSIX")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_the_file_has_the_usual_mode(tmp_path, mask, mode):
    """The mode that open() would give, 0o666 without the mask; the mask itself stays as it was."""
    old = os.umask(mask)
    try:
        write_archive(tmp_path / "run.kgeval", {}, {})
        assert os.umask(mask) == mask
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "run.kgeval").stat().st_mode) == mode


@pytest.mark.skipif(os.name != "posix", reason="file modes are of POSIX")
def test_a_replaced_file_keeps_its_mode(tmp_path):
    """A private file stays private."""
    file = tmp_path / "run.kgeval"
    write_archive(file, ARRAYS, HEADER)
    file.chmod(0o600)
    write_archive(file, {}, {"n": 2}, overwrite=True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_archive(file)[1] == {"n": 2}


@pytest.mark.skipif(os.name != "posix", reason="links and pipes are of POSIX")
def test_a_link_stays_a_link(tmp_path):
    """What is replaced, or made, is the file to which the link leads; without overwrite that file is kept."""
    (tmp_path / "folder").mkdir()
    real, link = tmp_path / "folder" / "real.kgeval", tmp_path / "link.kgeval"
    link.symlink_to(real)
    write_archive(link, {}, {"n": 1})  # the link leads to nothing yet
    with pytest.raises(DataError, match=r"link\.kgeval exists; choose another name"):
        write_archive(link, {}, {"n": 2})
    write_archive(link, {}, {"n": 3}, overwrite=True)
    assert (link.is_symlink(), real.is_symlink(), read_archive(real)[1]) == (True, False, {"n": 3})
    assert os.listdir(tmp_path / "folder") == ["real.kgeval"]


@pytest.mark.skipif(os.name != "posix", reason="links and pipes are of POSIX")
def test_only_regular_files_are_replaced(tmp_path):
    """A pipe, a device and a link to itself are refused, with overwrite too, and stay what they were."""
    pipe, circle = tmp_path / "pipe", tmp_path / "circle"
    os.mkfifo(pipe)
    circle.symlink_to(circle)
    odd = "is not a regular file (it is a pipe, a socket or a device); give the name of a file"
    wanted = {
        pipe: f"{pipe} {odd}",
        Path(os.devnull): f"{os.devnull} {odd}",
        circle: f"{circle}: is a symbolic link that leads to itself; give the name of a file",
    }
    for target, message in wanted.items():
        for overwrite in (False, True):
            with pytest.raises(DataError) as caught:
                write_archive(target, {}, {}, overwrite=overwrite)
            assert str(caught.value) == message
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert circle.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["circle", "pipe"]


def test_what_the_system_refuses_is_not_called_damaged(tmp_path, monkeypatch):
    """The reason is the system's: no permission for the file, or for a folder on the way."""
    file = tmp_path / "run.kgeval"
    write_archive(file, {}, {})

    def deny(*_, **__):
        raise PermissionError(13, "Permission denied", str(file))

    with monkeypatch.context() as patch:
        patch.setattr(np, "load", deny)
        assert refusal(read_archive, file) == "FILE: cannot be read: Permission denied"
    monkeypatch.setattr(Path, "stat", deny)
    assert refusal(read_archive, file) == "FILE: cannot be read: Permission denied"
    assert refusal(read_text, file) == "FILE: cannot be read: Permission denied"
    assert refusal(lambda path: write_archive(path, {}, {}), file) == "FILE: cannot be written: Permission denied"


def test_a_truncated_file_is_refused_at_every_length(tmp_path):
    """No prefix of an archive is read, not even in part (each fifth in the light suite)."""
    file = tmp_path / "run.kgeval"
    write_archive(file, {"a": np.arange(30)}, {"n": 1})
    raw = file.read_bytes()
    for length in range(1, len(raw), size(5, 1)):
        file.write_bytes(raw[:length])
        said = refusal(read_archive, file)
        assert said.startswith("FILE: is damaged, cut off, or not an .npz archive (pickles are never read): ")


def test_a_damaged_file_is_refused_or_read_right(tmp_path):
    """Three damages of each byte: a DataError, or (where the byte says nothing) values that are all right."""
    file, array = tmp_path / "run.kgeval", np.arange(30)
    write_archive(file, {"a": array}, {"n": 1})
    raw, faults, refused, step = file.read_bytes(), set(), 0, size(7, 1)
    for place in range(0, len(raw), step):
        for bits in (0x01, 0x40, 0xFF):
            file.write_bytes(raw[:place] + bytes([raw[place] ^ bits]) + raw[place + 1 :])
            try:
                arrays, header = read_archive(file)
            except DataError:
                refused += 1
            except Exception as error:
                faults.add(f"{type(error).__name__}: {error}")
            else:
                assert header == {"n": 1}
                assert all(found.tobytes() == array.tobytes() for found in arrays.values())
    assert faults == set()
    assert refused > len(raw) / step


def test_pickles_are_never_loaded(tmp_path):
    """An array of objects whose unpickling would create a file is refused, and the file is not there."""
    trap = tmp_path / "trap"

    class Trap:
        def __reduce__(self):
            return (Path.touch, (trap,))

    file = npz(tmp_path, header=np.array(json.dumps({})), a=np.array([Trap()], dtype=object))
    for read in (read_arrays, read_archive):
        assert refusal(read, file) == "FILE: contains pickled objects, which kgeval never reads; save plain arrays"
    assert not trap.exists()
    with np.load(file, allow_pickle=True) as loaded:
        loaded["a"]
    assert trap.exists()  # the trap works


def test_what_is_no_archive(tmp_path):
    """A missing file, a folder, text, nothing, a zip of something else, one array."""
    assert refusal(read_arrays, tmp_path / "none.npz") == "FILE: no such file"
    assert refusal(read_arrays, tmp_path) == "FILE: is not a file"
    (tmp_path / "empty.kgeval").touch()
    said = refusal(read_arrays, tmp_path / "empty.kgeval")
    assert said == "FILE: is empty (0 bytes): perhaps it was cut off when it was written"
    for raw in (b"PK", b"s\tp\to\n", b"\x93NUMPY"):  # none of which holds a pickle
        (tmp_path / "text").write_bytes(raw)
        said = refusal(read_arrays, tmp_path / "text")
        assert said.startswith("FILE: is damaged, cut off, or not an .npz archive (pickles are never read): ")
    with zipfile.ZipFile(tmp_path / "docs.zip", "w") as archive:
        archive.writestr("readme.txt", "s\tp\to\n")
    wanted = "FILE: member 'readme.txt' is not an array; is this an .npz file?"
    assert refusal(read_arrays, tmp_path / "docs.zip") == wanted
    np.save(tmp_path / "one.npy", np.arange(3))
    wanted = "FILE: expected an .npz archive of named arrays, found a single array (.npy)"
    assert refusal(read_arrays, tmp_path / "one.npy") == wanted


@pytest.mark.parametrize("length", [2**50, 2**36])
def test_a_lying_shape_is_refused(tmp_path, length):
    """A member whose header tells of petabytes, or of more than the file holds, is an error of the file."""
    member = io.BytesIO()
    np.lib.format.write_array_header_1_0(member, {"descr": "<f8", "fortran_order": False, "shape": (length,)})
    with zipfile.ZipFile(tmp_path / "lie.npz", "w") as archive:
        archive.writestr("a.npy", member.getvalue() + bytes(16))
    assert refusal(read_arrays, tmp_path / "lie.npz").startswith("FILE: is damaged, cut off, or not an .npz archive")


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"a": np.arange(3)}, "is an .npz file, but not one that kgeval wrote (it has no header)"),
        ({"header": np.arange(3)}, "is an .npz file, but not one that kgeval wrote (it has no header)"),
        ({"header": np.array(["{}"])}, "is an .npz file, but not one that kgeval wrote (it has no header)"),
        ({"header": np.array("[1]")}, "its header is not a JSON object"),
        ({"header": np.array("null")}, "its header is not a JSON object"),
        ({"header": np.array("{} x")}, "its header is not JSON: Extra data: line 1 column 4 (char 3)"),
        ({"header": np.array("")}, "its header is not JSON: Expecting value: line 1 column 1 (char 0)"),
    ],
)
def test_headers_that_are_not_ours(tmp_path, members, said):
    """Any other .npz is told apart by its header; its arrays can still be read as plain arrays."""
    file = npz(tmp_path, **members)
    assert refusal(read_archive, file) == f"FILE: {said}"
    assert {name: array.tolist() for name, array in read_arrays(file).items()} == {
        name: array.tolist() for name, array in members.items()
    }


@pytest.mark.parametrize(
    "labels",
    [
        (),
        ("",),
        ("a", "a\0", "\0", "a\n", "tab\t", '"', "\\", "[", "\u2028"),
        ("\u00fc", "u\u0308", "\U0001f600", "\ud800", "\udfff x", "\ufeff"),
        tuple(str(i) for i in range(1000)),
    ],
)
def test_labels_of_any_characters_are_packed(tmp_path, labels):
    """NUL (which numpy's strings lose at the end), line ends, lone surrogates: all come back."""
    packed = pack_labels(labels)
    assert packed.dtype == np.uint8
    assert unpack_labels(packed) == labels
    write_archive(tmp_path / "run.kgeval", {"labels": packed}, {})
    assert unpack_labels(read_archive(tmp_path / "run.kgeval")[0]["labels"]) == labels


def test_packed_labels_must_be_a_list():
    """Other JSON in their place is refused rather than taken apart letter by letter."""
    for text in (b'"abc"', b"{}", b"1"):
        with pytest.raises(DataError, match="expected a list of labels in the file"):
            unpack_labels(np.frombuffer(text, dtype=np.uint8))


# --- Nothing lost: races, kills, missing members -----------------------------------------------------------------


def test_a_file_that_appears_while_another_is_written_is_kept(tmp_path):
    """H38: the same in one process; also on a file system without links."""
    for i, has_links in enumerate((True, False)):
        file = tmp_path / f"run{i}"
        with pytest.MonkeyPatch.context() as patch:
            if not has_links:
                patch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "no links")))
            with pytest.raises(DataError, match="another process wrote this file in the meantime; it is unchanged"):
                save_late(file)
            assert file.read_bytes() == b"theirs"
            file.unlink()
            with replacing(file, overwrite=False) as stream:
                stream.write(b"ours")
            assert file.read_bytes() == b"ours"
    assert sorted(os.listdir(tmp_path)) == ["run0", "run1"]


def save_late(file):
    """Write a file whose name another process takes before the end."""
    with replacing(file, overwrite=False) as stream:
        stream.write(b"ours")
        file.write_bytes(b"theirs")


@pytest.mark.skipif(os.name != "posix", reason="locks of files are of POSIX")
def test_what_a_killed_process_left_is_removed_by_the_next_save(tmp_path):
    """H45: the hidden file that no process locks, also one with the number of a running process.

    The files that are being written and those of other machines stay, except those a day old.
    """
    code = f"""
import os, signal
from kgeval.base.files import replacing
with replacing({str(tmp_path / "run")!r}, overwrite=True) as stream:
    stream.write(b"half")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    (tmp_path / "run").write_bytes(b"old")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    (left,) = (name for name in os.listdir(tmp_path) if name != "run")
    assert left.startswith(".kgeval-")
    start, process = left.rsplit("-", 2)[0], left.rsplit("-", 2)[1]
    others = [f".kgeval-elsewhere-{process}-aa.part", ".hidden", ".kgeval-notes.part"]
    for name in (*others, f"{start}-{os.getppid()}-aa.part", f"{start}-{os.getpid()}-aa.part"):
        (tmp_path / name).touch()
    (tmp_path / f".kgeval-elsewhere-{process}-old.part").touch()
    os.utime(tmp_path / f".kgeval-elsewhere-{process}-old.part", (time.time() - 90_000,) * 2)
    assert (tmp_path / "run").read_bytes() == b"old"
    with replacing(tmp_path / "run", overwrite=True) as stream:
        stream.write(b"new")
        write_archive(tmp_path / "other", {}, {})
        written = [name for name in os.listdir(tmp_path) if name not in ("run", "other", *others)]
        assert len(written) == 1
    assert sorted(os.listdir(tmp_path)) == sorted(["run", "other", *others])
    assert (tmp_path / "run").read_bytes() == b"new"


@pytest.mark.skipif(os.name != "posix", reason="locks of files are of POSIX")
def test_a_file_that_is_taken_for_abandoned_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    """The moment between the creation and the lock: nothing is lost."""
    lock, names = fcntl.flock, []

    def lock_late(handle, how):
        if not names:
            names.extend(os.listdir(tmp_path))
            (tmp_path / names[0]).unlink()
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    write_archive(tmp_path / "run", {}, {"n": 1})
    assert len(names) == 1
    assert (os.listdir(tmp_path), read_archive(tmp_path / "run")[1]) == (["run"], {"n": 1})


@pytest.mark.skipif(os.name != "posix", reason="locks of files are of POSIX")
def test_without_locks_nothing_is_deleted(tmp_path, monkeypatch):
    """A file system without locks: a file may be another process's, so it stays."""

    def no_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    left = tmp_path / f".kgeval-{platform.node()}-1-aa.part"
    left.touch()
    write_archive(tmp_path / "run", {}, {"n": 1})
    assert sorted(os.listdir(tmp_path)) == [left.name, "run"]


@pytest.mark.skipif(os.name != "posix" or os.getuid(), reason="root gives files away")
def test_a_replaced_file_keeps_its_owner(tmp_path):
    """The file of another user stays theirs; the mode alone would lock them out of it."""
    file = tmp_path / "run"
    write_archive(file, {}, {})
    os.chown(file, 1234, 2345)
    file.chmod(0o440)
    with replacing(file, overwrite=True) as stream:
        (written,) = (path for path in tmp_path.iterdir() if path != file)
        assert stat.S_IMODE(written.stat().st_mode) == 0o600  # nobody else reads it before it has its group
        stream.write(b"new")
    found = file.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 2345, 0o440)


@pytest.mark.skipif(os.name != "posix", reason="a second handle is for the lock of POSIX")
def test_too_few_handles_are_an_own_error(tmp_path, monkeypatch):
    """None for the file, or none for its lock: the system's reason, and nothing stays."""

    def too_many(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files")

    for name in ("open", "dup"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, too_many)
            said = refusal(lambda path: write_archive(path, {}, {}), tmp_path / "run")
        assert said == "FILE: cannot be written: Too many open files"
        assert os.listdir(tmp_path) == []


def test_the_umask_is_never_changed(tmp_path, monkeypatch):
    """H47: not for a moment, in which another thread could write a file for all."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask was changed"))
    write_archive(tmp_path / "run", {}, {})
    write_archive(tmp_path / "run", {}, {}, overwrite=True)


def rewritten(file, change):
    """Change the arrays and the header of a file, as another program would."""
    with np.load(file) as loaded:
        members = dict(loaded)
    change(members)
    with open(file, "wb") as stream:
        np.savez(stream, **members)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda members: members.pop("a"), "lacks member 'a'; its header lists a, b. The file is damaged"),
        (lambda members: members.update(c=np.ones(2)), "has the unlisted member 'c'; its header lists a, b"),
        (lambda members: members.update(a=members["a"] + 1), "member 'a' does not have the checksum in the header"),
        (lambda members: members.update(a=members["a"].astype(float)), "member 'a' does not have the checksum"),
        (lambda members: members.update(a=members["a"][None]), "member 'a' does not have the checksum"),
        (lambda members: members.update(header=np.array('{"members": 3}')), "its header has no valid list of members"),
    ],
)
def test_a_member_that_is_missing_or_changed_is_noticed(tmp_path, change, said):
    """H46: the header lists the members with their checksums; files without the list are of earlier versions."""
    file = tmp_path / "run"
    write_archive(file, {"a": np.arange(3), "b": np.zeros((0, 2))}, {"n": 1})
    assert read_archive(file)[1] == {"n": 1}
    rewritten(file, change)
    with pytest.raises(DataError) as caught:
        read_archive(file)
    assert str(caught.value).startswith(f"{file}: {said}")
    rewritten(file, lambda members: members.update(header=np.array('{"n": 2}')))
    assert read_archive(file)[1] == {"n": 2}


@pytest.mark.parametrize("dtype", ["<i8", ">i8", ">f4", "<U2", ">U2", "|u1", "|b1"])
def test_checksums_are_of_the_bytes_in_the_file(tmp_path, dtype):
    """H46: dtype with byte order, shape and bytes, so that every machine computes the same."""
    file, array = tmp_path / "run", np.array([[1, 0], [1, 1], [0, 0]]).astype(dtype)
    write_archive(file, {"a": array}, {"n": 1})
    with np.load(file) as loaded:
        stored, members = loaded["a"], json.loads(str(loaded["header"]))["members"]
    text = f"{dtype} (3, 2)".encode() + array.tobytes()
    assert stored.dtype.str == dtype
    assert members == {"a": hashlib.blake2b(text, digest_size=16).hexdigest()}
    assert read_archive(file)[0]["a"].tolist() == array.tolist()


def test_a_result_that_compresses_well_is_read_again(tmp_path, monkeypatch):
    """Constant columns take a thousandth of their bytes; such a file is stored without compression."""
    monkeypatch.setattr(limits, "FREE_BYTES", 1 << 20)
    file = tmp_path / "run"
    write_archive(file, {"a": np.zeros(1 << 18)}, {"n": 1})
    assert file.stat().st_size > 8 << 18
    assert read_archive(file)[0]["a"].shape == (1 << 18,)
    write_archive(tmp_path / "small", {"a": np.zeros(1000)}, {"n": 1})
    assert (tmp_path / "small").stat().st_size < 2000


def test_large_arrays_are_compressed_too(tmp_path):
    """With less effort; numpy reads them, and the same arrays give the same bytes."""
    bits = np.random.default_rng(0).integers(0, 2, LARGE + 1).astype(np.uint8)
    for name in "ab":
        write_archive(tmp_path / name, {"large": bits, "small": bits[:99]}, {"n": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").stat().st_size < len(bits) / 4
    assert np.array_equal(np.load(tmp_path / "a")["large"], bits)


def test_an_archive_that_fills_the_memory_is_refused(tmp_path, monkeypatch):
    """H40: zeros that unfold to 1,000 times the size of the file; the setting raises the limit."""
    monkeypatch.setattr(limits, "FREE_BYTES", 1 << 20)
    file = tmp_path / "zeros.npz"
    np.savez_compressed(file, a=np.zeros(1 << 20))
    said = (
        f"{file}: unfolds to more than 1,048,576 bytes, but has {file.stat().st_size:,} bytes, like files that are "
        "made to fill a disk or the memory; if you trust it, set the environment variable KGEVAL_LIMITS=10, which "
        "makes the limits 10 times as large"
    )
    with pytest.raises(DataError) as caught:
        read_arrays(file)
    assert str(caught.value) == said
    monkeypatch.setenv("KGEVAL_LIMITS", "10")
    assert read_arrays(file)["a"].shape == (1 << 20,)
    for wrong in ("0.5", "many", "inf", "nan"):
        monkeypatch.setenv("KGEVAL_LIMITS", wrong)
        with pytest.raises(DataError, match=f"KGEVAL_LIMITS='{wrong}': expected a number of at least 1"):
            read_arrays(file)
