"""Archives and packed files: what comes out, what is refused, and that nothing is written elsewhere."""

import bz2
import gzip
import io
import lzma
import os
import random
import re
import stat
import struct
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from grids import light, size

import kgeval
from kgeval.base import limits
from kgeval.errors import DataError
from kgeval.formats import unpacking
from kgeval.formats.unpacking import is_archive, open_packed, unpacked

FILES = {"train.txt": b"a\tr\tb\nb\tr\tc\n", "valid.txt": b"c\tr\ta\n", "test.txt": b"a\tr\tc\n"}
PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
ENDINGS = [".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz"]


@pytest.fixture(autouse=True)
def _temporary_folder(tmp_path, monkeypatch):
    """Temporary folders lie in one of the test, which is empty at its end."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    yield
    assert list((tmp_path / "temporary").iterdir()) == []


def tar_bytes(members):
    """A tar file of pairs (name or TarInfo, bytes)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for member, content in members:
            info = member if isinstance(member, tarfile.TarInfo) else tarfile.TarInfo(member)
            info.size = len(content) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zip_bytes(members, compression=zipfile.ZIP_DEFLATED):
    """A zip file of pairs (name or ZipInfo, bytes)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for member, content in members:
            archive.writestr(member, content)
    return out.getvalue()


def archive_of(path, members):
    """Write the members to an archive of the kind that its name tells."""
    members = list(members.items()) if isinstance(members, dict) else members
    raw = zip_bytes(members) if path.suffix == ".zip" else tar_bytes(members)
    kind = {"gz": gzip, "tgz": gzip, "bz2": bz2, "tbz2": bz2, "xz": lzma, "txz": lzma}.get(path.suffix[1:])
    path.write_bytes(raw if kind is None else kind.compress(raw))
    return path


def failure(read, path):
    """The message of the error, with the folder of the path taken out."""
    with pytest.raises(DataError) as caught:
        read(path)
    return str(caught.value).replace(f"{path.parent}/", "")


def contents(path):
    """Name -> bytes of all files in an unpacked archive."""
    with unpacked(path) as folder:
        return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("inner", ["", "wn/", "wn/text/", "./"])
@pytest.mark.parametrize("ending", light([".zip", ".tar.gz", ".tar", *ENDINGS[3:]], 2))
@pytest.mark.light(2)
def test_an_archive_is_read_like_its_folder(tmp_path, ending, inner):
    """At the top or in one inner folder; notes of macOS and texts beside the folder do not count."""
    members = {inner + name: content for name, content in FILES.items()}
    if inner.startswith("wn"):
        members |= {"__MACOSX/._train.txt": b"x", "README.md": b"text", ".DS_Store": b"x"}
    path = archive_of(tmp_path / f"wn11{ending}", members)
    assert is_archive(path)
    dataset = kgeval.read_dataset(path)
    folder = tmp_path / "plain"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    assert dataset.fingerprint == kgeval.read_dataset(folder).fingerprint
    assert (dataset.name, dataset.observations()) == ("wn11", [])


def test_messages_name_the_archive_and_not_the_temporary_folder(tmp_path):
    """A fault in a member, and an archive without a dataset."""
    path = archive_of(tmp_path / "wn.zip", FILES | {"test.txt": b"a\tr\tb\na\tr\n"})
    assert failure(kgeval.read_dataset, path).startswith("wn.zip/test.txt, line 2: expected 3 tab-separated columns")
    path = archive_of(tmp_path / "wn.tar", {"a/notes.log": b"x", "b/notes.log": b"x"})
    assert failure(kgeval.read_dataset, path).startswith("wn.tar: expected train.txt, valid.txt or test.txt (or ")
    negatives = archive_of(tmp_path / "n.tar.gz", {"test_negatives.txt": b"b\tr\ta\n"})
    dataset = kgeval.read_dataset(archive_of(tmp_path / "wn.tgz", FILES))
    assert kgeval.read_negatives(negatives, dataset)["test"].tolist() == [[1, 0, 0]]


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.light(2)
def test_packed_files_are_read_like_plain_ones(tmp_path, pack):
    """In a folder, as one file, with CR line ends and a byte order mark; a fault names line and byte of the text."""
    for name, content in FILES.items():
        (tmp_path / f"{name}{pack}").write_bytes(PACK[pack](b"\xef\xbb\xbf" + content.replace(b"\n", b"\r")))
    dataset = kgeval.read_dataset(tmp_path)
    assert {split: len(triples) for split, triples in dataset.splits.items()} == {"train": 2, "valid": 1, "test": 1}
    assert dataset.entities.labels == ("a", "b", "c")
    assert kgeval.read_dataset(tmp_path / f"train.txt{pack}")["train"].array.tolist() == [[0, 0, 1], [1, 0, 2]]
    (tmp_path / f"test.txt{pack}").write_bytes(PACK[pack](b"a\tr\tb\na\t\xff\tb\n"))
    assert failure(kgeval.read_dataset, tmp_path).endswith(
        f"test.txt{pack}, line 2: invalid UTF-8 at byte 8 of the file (0xff); save the file as UTF-8"
    )
    (tmp_path / "test.txt").write_bytes(FILES["test.txt"])  # the plain file is read, the packed one is then left over
    said = failure(kgeval.read_dataset, tmp_path)
    assert "contains both" in said or f"test.txt{pack} looks like a part of the dataset" in said


@pytest.mark.parametrize("pack", PACK)
def test_packed_files_that_are_cut_off_or_damaged(tmp_path, pack):
    """Every shorter file is an error; a changed byte is an error or changes nothing."""
    raw = b"".join(b"e%d\tr%d\te%d\n" % (i, i % 7, i * i % 31) for i in range(60))
    path, packed = tmp_path / f"train.txt{pack}", PACK[pack](raw)
    path.write_bytes(packed)
    assert open_packed(path) == raw
    for n in range(1, len(packed), size(17, 1)):
        path.write_bytes(packed[:n])
        assert failure(open_packed, path).startswith(f"train.txt{pack}: is damaged or cut off: ")
    rng = random.Random(0)
    for _ in range(size(10, 2000)):
        changed = bytearray(packed)
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        try:
            assert open_packed(path) == raw
        except DataError as error:
            assert "is damaged or cut off" in str(error)


@pytest.mark.parametrize("ending", light([".zip", ".tar.gz", ".tar", *ENDINGS[3:]], 3))
def test_archives_that_are_cut_off_or_damaged(tmp_path, ending):
    """No shorter archive is read with fewer members; a changed byte is an error, or the members are the same."""
    rng = random.Random(1)
    files = {f"f{i}.txt": bytes(rng.choices(b"abc\t\n", k=700)) for i in range(3)}
    path = archive_of(tmp_path / f"x{ending}", files)
    raw = path.read_bytes()
    assert contents(path) == files
    for n in sorted(rng.sample(range(len(raw)), min(size(8, 80), len(raw)))):
        path.write_bytes(raw[:n])
        try:
            assert contents(path) == files  # only padding is missing
        except DataError as error:
            assert "damaged or cut off" in str(error)
    for _ in range(size(5, 300)):
        changed = bytearray(raw)
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        try:
            found = contents(path)
        except DataError:
            continue
        # a tar file has no checksum of contents, and its headers hold names and times
        assert ending == ".tar" or sorted(found.values()) == sorted(files.values())
        assert len(found) == len(files)


def test_a_damaged_member_is_named(tmp_path):
    """A wrong byte in the content, and a header that is cut off: the members below it do not vanish."""
    path = tmp_path / "x.zip"
    path.write_bytes(zip_bytes(FILES.items(), zipfile.ZIP_STORED).replace(b"c\tr\ta", b"c\tr\tb"))
    assert failure(contents, path).startswith("x.zip: the member 'valid.txt' is damaged or cut off: Bad CRC-32")
    raw = tar_bytes(FILES.items())
    (tmp_path / "x.tar").write_bytes(raw[: 2 * 512])
    assert failure(contents, tmp_path / "x.tar").startswith(
        "x.tar: is damaged or cut off after the member 'train.txt': no header of a further member and no mark of the "
    )
    (tmp_path / "x.tar").write_bytes(raw[:1024] + b"?" + raw[1025:])
    assert "is damaged or cut off after the member 'train.txt'" in failure(contents, tmp_path / "x.tar")
    (tmp_path / "x.tar").write_bytes(raw[: 512 + 3])
    assert failure(contents, tmp_path / "x.tar").startswith("x.tar: the member 'train.txt' is damaged or cut off: ")


@pytest.mark.parametrize("ending", [".zip", ".tar"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/etc/train.txt", "has an absolute path"),
        ("C:\\train.txt", "has an absolute path"),
        ("\\\\host\\train.txt", "has an absolute path"),
        ("../train.txt", "leads out of the archive ('..')"),
        ("a/../../train.txt", "leads out of the archive ('..')"),
        ("a\\..\\..\\train.txt", "leads out of the archive ('..')"),
        ("a/" * 9 + "train.txt", "lies more than 8 folders deep"),
    ],
)
@pytest.mark.light(7)
def test_members_that_lead_elsewhere_are_refused(tmp_path, ending, name, said):
    """Nothing is written outside, and the good member beside the bad one is not read."""
    path = archive_of(tmp_path / f"x{ending}", [("test.txt", b"a\tr\tb\n"), (name, b"a\tr\tb\n")])
    before = sorted(tmp_path.rglob("*"))
    assert failure(kgeval.read_dataset, path) == f"x{ending}: the member {name!r} {said}; nothing was read"
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_members_that_occur_twice_are_refused(tmp_path):
    """Also by two spellings of one name; the last one would win."""
    for names in (("train.txt", "train.txt"), ("a/train.txt", "a//train.txt"), ("train.txt", "./train.txt")):
        for ending in (".zip", ".tar"):
            path = archive_of(tmp_path / f"x{ending}", [(name, b"a\tr\tb\n") for name in names])
            assert failure(kgeval.read_dataset, path) == (
                f"x{ending}: the member {names[1]!r} occurs twice; which of the two is meant is not clear; nothing was "
                "read"
            )
    path = archive_of(tmp_path / "x.tar", [("train.txt", b"x"), ("train.txt/test.txt", b"a\tr\tb\n")])
    assert failure(kgeval.read_dataset, path).startswith("x.tar: the member 'train.txt/test.txt' cannot be unpacked: ")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.CONTTYPE]
)
@pytest.mark.light(3)
def test_links_and_devices_are_refused(tmp_path, kind):
    """A link could lead to a file of the user."""
    member = tarfile.TarInfo("train.txt")
    member.type, member.linkname = kind, "/etc/passwd"
    path = archive_of(tmp_path / "x.tar", [(member, b""), ("test.txt", b"a\tr\tb\n")])
    if kind == tarfile.CONTTYPE:  # an old name of a regular file
        assert contents(path)["train.txt"] == b""
        return
    assert failure(kgeval.read_dataset, path) == (
        "x.tar: the member 'train.txt' is neither a file nor a folder (a link, a device or a sparse file); nothing was "
        "read"
    )
    linked = zipfile.ZipInfo("train.txt")
    linked.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = archive_of(tmp_path / "x.zip", [(linked, b"/etc/passwd")])
    assert "the member 'train.txt' is neither a file nor a folder" in failure(kgeval.read_dataset, path)


def test_encrypted_members_are_refused(tmp_path):
    """The flag of encryption, in both headers."""
    raw = bytearray(zip_bytes([("train.txt", b"a\tr\tb\n")]))
    raw[6] |= 1
    raw[raw.index(b"PK\1\2") + 8] |= 1
    (tmp_path / "x.zip").write_bytes(raw)
    assert failure(kgeval.read_dataset, tmp_path / "x.zip") == (
        "x.zip: the member 'train.txt' is encrypted; unpack it yourself"
    )


def test_too_many_bytes_are_refused(tmp_path, monkeypatch):
    """Zeros that fill a disk: a packed file, a packed tar file, a zip file whose members share their bytes."""
    judged = size(1 << 16, 1 << 20)
    zeros = bytes(3 * judged)
    monkeypatch.setattr(limits, "FREE_BYTES", judged)
    said = (
        rf"unpacks to more than {judged:,} bytes, but has [\d,]+ bytes, like files that are made to fill a disk or the "
        "memory; if you trust it"
    )
    for pack, compress in PACK.items():
        (tmp_path / f"train.txt{pack}").write_bytes(compress(zeros))
        assert re.match(f"train.txt{pack}: {said}", failure(open_packed, tmp_path / f"train.txt{pack}"))
    for ending in (".zip", ".tgz", ".tar.xz"):
        path = archive_of(tmp_path / f"x{ending}", {"train.txt": zeros})
        assert re.match(f"x{ending}: {said}", failure(contents, path))
    monkeypatch.setattr(limits, "MAX_BYTES", 1000)
    text = b"0123456789abcdef" * 500
    for ending in ENDINGS:
        path = archive_of(tmp_path / f"x{ending}", {"train.txt": text[:600], "test.txt": text[600:]})
        if ending == ".tar":  # not compressed, so it unpacks to its own size
            assert contents(path)["train.txt"] == text[:600]
            continue
        assert failure(contents, path).startswith(f"x{ending}: unpacks to more than 1,000 bytes, but has ")


def test_members_that_share_their_bytes(tmp_path, monkeypatch):
    """One packed content, named by many entries of the table of a zip file: the sum counts."""
    monkeypatch.setattr(limits, "FREE_BYTES", 1 << 20)
    raw = zip_bytes([("a", bytes(60_000))])
    start = raw.index(b"PK\1\2")
    head, entry, end = raw[:start], raw[start : raw.index(b"PK\5\6")], raw[raw.index(b"PK\5\6") :]
    entries = b"".join(entry[:-1] + bytes([65 + i]) for i in range(50))
    end = end[:8] + struct.pack("<HHII", 50, 50, len(entries), len(head)) + end[20:]
    (tmp_path / "x.zip").write_bytes(head + entries + end)
    said = failure(contents, tmp_path / "x.zip")
    assert "unpacks to more than 1,048,576 bytes" in said or "damaged or cut off" in said


def test_too_many_members_are_refused(tmp_path, monkeypatch):
    """Ten thousand files are no dataset."""
    monkeypatch.setattr(unpacking, "MAX_MEMBERS", 3)
    for ending in (".zip", ".tar.gz"):
        path = archive_of(tmp_path / f"x{ending}", {f"{i}.txt": b"" for i in range(4)})
        assert failure(contents, path) == f"x{ending}: has more than 3 members; is this a dataset?"


def test_sparse_members_are_refused(tmp_path):
    """A header that names holes of gigabytes."""
    member = tarfile.TarInfo("train.txt")
    member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9999999999"}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member.size = 512
        archive.addfile(member, io.BytesIO(b"1\n0\n0\n".ljust(512, b"\0")))
    (tmp_path / "x.tar").write_bytes(out.getvalue())
    assert "the member 'train.txt' is neither a file nor a folder" in failure(contents, tmp_path / "x.tar")


def test_an_archive_in_an_archive_is_not_unpacked(tmp_path):
    """It stays a file, and is named as one."""
    inner = zip_bytes([("train.txt", b"a\tr\tb\n")])
    path = archive_of(tmp_path / "x.tar", {"train.zip": inner})
    assert contents(path) == {"train.zip": inner}
    assert failure(kgeval.read_dataset, path).startswith("x.tar: train.zip looks like the train split, but only files ")


def test_an_archive_of_one_table_is_read_like_the_table(tmp_path):
    """Texts about the dataset do not count; a fault names archive and file."""
    path = archive_of(tmp_path / "x.zip", {"in/kg.csv": b"a,r,b\nb,r,c\n", "in/README.md": b"text"})
    dataset = kgeval.read_dataset(path)
    assert (dataset.name, len(dataset["train"])) == ("kg", 2)
    path = archive_of(tmp_path / "y.zip", {"kg.tsv": b"a\tr\n"})
    assert failure(kgeval.read_dataset, path).startswith("y.zip/kg.tsv, line 1: expected 3 tab-separated columns")


def test_what_is_no_archive(tmp_path):
    """Text with the name of an archive, a folder of that name, no file."""
    (tmp_path / "x.zip").write_bytes(b"a\tr\tb\n")
    assert failure(kgeval.read_dataset, tmp_path / "x.zip").startswith(
        "x.zip: is damaged or cut off: File is not a zip"
    )
    (tmp_path / "x.tar").write_bytes(b"a\tr\tb\n")
    assert failure(kgeval.read_dataset, tmp_path / "x.tar").startswith("x.tar: is damaged or cut off: ")
    (tmp_path / "y.zip").mkdir()
    (tmp_path / "y.zip" / "test.txt").write_bytes(FILES["test.txt"])
    assert not is_archive(tmp_path / "y.zip")
    assert len(kgeval.read_dataset(tmp_path / "y.zip")["test"]) == 1
    assert failure(open_packed, tmp_path / "none.gz") == "none.gz: no such file"


def test_a_file_of_a_private_folder(tmp_path):
    """The folder is private, and its files are plain: no mode of the archive is taken over."""
    member = tarfile.TarInfo("train.txt")
    member.mode = 0o4777
    with unpacked(archive_of(tmp_path / "x.tar", [(member, b"a\tr\tb\n")])) as folder:
        assert stat.S_IMODE(os.stat(folder / "train.txt").st_mode) & 0o6111 == 0
        assert stat.S_IMODE(os.stat(Path(folder).parents[1]).st_mode) == 0o700


ZEROS = bytes(512)


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        (
            "one header of zeros",
            lambda raw: raw[: 2 * 512] + ZEROS + raw[3 * 512 :],
            "after the member 'train.txt': 512 bytes of zeros, as at the end, but content follows; fetch it again",
        ),
        (
            "a hole",
            lambda raw: raw[: 2 * 512] + 2 * ZEROS + raw[4 * 512 :],
            "after the member 'train.txt': 1,024 bytes of zeros, as at the end, but content follows; fetch it again",
        ),
        (
            "one block at the end",
            lambda raw: raw[: 6 * 512] + ZEROS,
            "after the member 'test.txt': the end of a tar file is two blocks of zeros, and there is only one",
        ),
        (
            "no end",
            lambda raw: raw[: 6 * 512],
            "after the member 'test.txt': no header of a further member and no mark",
        ),
        (
            "half a block",
            lambda raw: raw[: 6 * 512] + ZEROS[:100],
            "after the member 'test.txt': no header of a further",
        ),
    ],
)
@pytest.mark.parametrize("ending", [".tar", ".tar.gz"])
def test_h37_splits_never_vanish_behind_zeros(tmp_path, name, damage, said, ending):
    """tarfile ends at the first block of zeros without a word: valid and test would be lost."""
    raw = tar_bytes(list(FILES.items()))
    assert raw[2 * 512 : 2 * 512 + 9] == b"valid.txt"  # a header and a block of content for each member
    path = tmp_path / f"x{ending}"
    content = damage(raw)
    path.write_bytes(gzip.compress(content) if ending == ".tar.gz" else content)
    assert failure(kgeval.read_dataset, path).startswith(f"x{ending}: is damaged or cut off {said}")


def test_h37_a_long_end_is_a_caution(tmp_path):
    """A hole that reaches to the end cannot be told from an end; tar itself writes at most 10,240 bytes of zeros."""
    raw = tar_bytes(list(FILES.items()))
    path = tmp_path / "x.tar"
    path.write_bytes(raw[: 2 * 512] + bytes(len(raw) + 10_240))
    said = "bytes of zeros, more than tar writes: is a part of the file missing after the member 'train.txt'"
    with pytest.warns(kgeval.KgevalWarning, match=said):
        assert list(kgeval.read_dataset(path).splits) == ["train"]
    path.write_bytes(raw)
    assert list(kgeval.read_dataset(path).splits) == ["train", "valid", "test"]
