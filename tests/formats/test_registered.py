"""Registered datasets: the table, the cache, checksums and counts, and downloads from a server on the loopback address.

No test reaches the internet: the entries that are downloaded here are made up, and their URLs lead to this machine.
"""

import builtins
import gzip
import hashlib
import http.server
import io
import re
import shutil
import tarfile
import threading
import zipfile
from dataclasses import replace
from pathlib import PurePosixPath

import pandas as pd
import pytest

import kgeval
from kgeval.base import files as files_module
from kgeval.base.files import cache_home
from kgeval.cli import main
from kgeval.data.dataset import Dataset
from kgeval.errors import DataError, MissingExtra
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.datasets import dataset_formats
from kgeval.formats.registered import entries as entries_module
from kgeval.formats.registered import table as table_module
from kgeval.formats.registered.entries import (
    COUNTING,
    Registered,
    RemoteFile,
    all_registered,
    find_registered,
    normalised,
    registered_entry,
    registered_hint,
    registered_names,
)
from kgeval.formats.registered.reading import check_counts, counts_of, local_note, read_registered
from kgeval.formats.registered.table import describe_registered, registered_datasets, registered_files

# Three entities in train, one more in test; train repeats a row. By rows: 4 entities, 3 + 1 + 2 triples. As PyKEEN
# counts: 3 entities, 2 + 1 + 1 triples (the test triple with the entity d is dropped).
TEXTS = {"train.txt": "a\tr\tb\nb\tr\tc\na\tr\tb\n", "valid.txt": "a\tr\tc\n", "test.txt": "c\tr\ta\nc\tr\td\n"}
ROWS = {"entities": 4, "relations": 1, "train": 3, "valid": 1, "test": 2}
PYKEEN = {"entities": 3, "relations": 1, "train": 2, "valid": 1, "test": 1}


def digest(text, kind="sha256"):
    """The checksum of a text as an entry states it."""
    return f"{kind}:{hashlib.new(kind, text.encode()).hexdigest()}"


def made_up(base="https://example.invalid", **changes):
    """An entry whose files are TEXTS, each with its SHA-256."""
    files = tuple(RemoteFile(name, f"{base}/{name}", hash=digest(text)) for name, text in TEXTS.items())
    settings = {
        "name": "Toy-1",
        "about": "made up",
        "files": files,
        "options": {"format": "tab", "header": False, "columns": "hrt"},
        "archive": "",
        "inner": "",
        "also": ("toys",),
        "counting": "rows",
        "counts": ROWS,
        "licence": "CC0",
        "sources": {"url": "this test", "hash": "this test", "counts": "this test"},
    }
    return Registered(**{**settings, **changes})


def archived(archive, base="https://example.invalid", folder="data/"):
    """An entry whose files are members of an archive; their checksums are those of the members."""
    members = tuple(RemoteFile(name, f"{base}/{archive}", folder + name, digest(text)) for name, text in TEXTS.items())
    return made_up(files=members, archive=archive)


def zipped(texts):
    """The bytes of a zip file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, text in texts.items():
            packed.writestr(name, text)
    return out.getvalue()


def tarred(texts, links=()):
    """The bytes of a tar.gz file, with symbolic links to /etc/passwd."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        for name, text in texts.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            packed.addfile(info, io.BytesIO(text.encode()))
        for name in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            packed.addfile(info)
    return out.getvalue()


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A cache of its own for each test, and a current folder without datasets."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("KGEVAL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def no_pooch(monkeypatch):
    """Make `import pooch` fail, as where the extra is not installed."""
    importing = builtins.__import__

    def without_pooch(name, *args, **kwargs):
        if name.partition(".")[0] in ("pooch", "requests"):
            raise ImportError(f"No module named {name!r}")
        return importing(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pooch)


def put(entry, texts=None):
    """Write the files of an entry into the cache by hand."""
    entry.folder.mkdir(parents=True)
    for name, content in (TEXTS if texts is None else texts).items():
        (entry.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def read(entry, **given):
    """Read a registered dataset as `read_dataset` does."""
    return read_registered(entry, kgeval.read_dataset, **given)


def left(entry):
    """The names of all files in the folder of an entry."""
    return sorted(str(path.relative_to(entry.folder)) for path in entry.folder.rglob("*") if path.is_file())


# the table


def test_every_entry_is_complete():
    """URL with its source, licence, counts with their source, a reader that exists, names that lead nowhere else."""
    known = {*DatasetOptions.__dataclass_fields__, "format"}
    assert len(all_registered()) >= 25
    for entry in all_registered():
        assert entry.files, entry.name
        assert entry.about, entry.name
        assert entry.licence, entry.name
        assert entry.sources["url"], entry.name
        assert (entry.licence == "not stated") == ("licence" not in entry.sources), entry.name
        assert entry.counting in COUNTING, entry.name
        assert bool(entry.counts) == ("counts" in entry.sources), entry.name
        assert (entry.verified == "unverified") == ("hash" not in entry.sources), entry.name
        assert set(entry.options) <= known, entry.name
        assert entry.options["format"] in dataset_formats(), entry.name
        assert len({file.path for file in entry.files}) == len(entry.files), entry.name
        for file in entry.files:
            assert file.url.startswith("https://"), file
            assert "//" not in file.url.partition("://")[2], file
            assert re.fullmatch(r"(sha256:[0-9a-f]{64}|md5:[0-9a-f]{32})?", file.hash), file
            assert not PurePosixPath(file.path).is_absolute(), file
            assert ".." not in PurePosixPath(file.path).parts, file
        if entry.archive:
            assert len({file.url for file in entry.files}) == 1, entry.name


def test_names_differ_after_normalisation():
    """Each name and each further name leads to one entry."""
    words = [normalised(word) for entry in all_registered() for word in (entry.name, *entry.also)]
    assert len(set(words)) == len(words)
    for entry in all_registered():
        assert all(find_registered(word) is entry for word in (entry.name, entry.name.upper(), *entry.also))
    assert len({entry.folder for entry in all_registered()}) == len(all_registered())


@pytest.mark.parametrize("name", ["fb15k237", "FB15k-237", "fb15k-237", "FB15K_237", "fb15k 237"])
def test_ways_to_write_a_name(name):
    """Case, hyphens, underscores and spaces make no difference."""
    assert find_registered(name).name == "FB15k-237"


@pytest.mark.parametrize("path", ["", "./umls", "data/umls", "../umls", "~umls", "/umls", "C:\\umls", ".umls", "umls2"])
def test_a_path_is_no_name(path):
    """Who gives a path means a folder: nothing is downloaded in its place."""
    assert find_registered(path) is None


def test_hints():
    """A misspelt name is recognised; a name of a folder is left alone."""
    assert registered_hint("wn18r") == "; did you mean the registered dataset 'WN18RR'?"
    assert registered_hint("fb15k-273") == "; did you mean the registered dataset 'FB15k-237'?"
    assert [registered_hint(name) for name in ("data", "my_graph", "old/fb15k-273")] == ["", "", ""]
    with pytest.raises(
        DataError, match=r"no registered dataset is named 'umsl'; did you mean 'umls'\? \(kgeval inspect --datasets"
    ):
        registered_entry("umsl")


@pytest.mark.parametrize("name", registered_names())
@pytest.mark.light(3)
def test_every_entry_can_be_read(name):
    """Files of the registered layout (separator, columns, header, folders), with two triples each."""
    entry = registered_entry(name)
    options = entry.options
    letters = options["columns"].split(",") if "," in options["columns"] else list(options["columns"])
    for file in entry.files:
        words = {"h": PurePosixPath(file.path).stem, "r": "relation", "t": "b"}
        rows = [[words.get(letter, "0.5") for letter in letters], [words.get(letter, "1") for letter in letters]]
        rows[0][letters.index("t")] = "a"
        rows = [*([["source", "metaedge", "target"]] if options["header"] else []), *rows]
        path = entry.folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(options.get("sep", "\t").join(row) + "\n" for row in rows))
    stripped = replace(entry, files=tuple(replace(file, hash="") for file in entry.files), counts={})
    dataset = read(stripped)
    assert dataset.name == name
    assert {split: len(triples) for split, triples in dataset.splits.items()} == dict.fromkeys(
        [split for split in ("train", "valid", "test") if split in entry.counts], 2
    )
    assert dataset.relations.labels == ("relation",)
    assert {"a", "b"} < set(dataset.entities.labels)


@pytest.mark.thorough
def test_checksums_and_counts_are_those_of_the_real_files(shared, home):
    """Eight entries have files whose copies are here: they are read offline, with the counts of the README there."""
    copies = {"FB15k-237": "fb15k-237", "WN18": "wn18", "WN18RR": "wn18rr", "UMLS": "umls", "Kinships": "kinship"}
    copies |= {"Nations": "nations", "Countries-S1": "countries-s1", "CoDEx-S": "codex-s"}
    readme = (shared / "data" / "README.md").read_text()
    for name, copied in copies.items():
        entry = registered_entry(name)
        assert entry.verified == "SHA-256"
        shutil.copytree(shared / "data" / copied, entry.folder)
        dataset = read(entry)
        (row,) = re.findall(rf"^\| {re.escape(copied)} .*$", readme, re.M)
        numbers = [int(cell) for cell in re.sub(r"\([^)]*\)", "", row).split("|")[2:7]]
        found = counts_of(dataset, "rows")
        assert [found[key] for key in ("entities", "relations", "train", "valid", "test")] == numbers, name


# the cache


def test_the_home_of_the_cache(monkeypatch, tmp_path, home):
    """`KGEVAL_HOME`, if it is set; else the user's cache."""
    assert cache_home() == home
    assert made_up().folder == home / "datasets" / "toy-1"
    monkeypatch.setenv("KGEVAL_HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_home() == tmp_path / "xdg" / "kgeval"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setattr(files_module.sys, "platform", "linux")
    assert cache_home() == tmp_path / "me" / ".cache" / "kgeval"
    monkeypatch.setattr(files_module.sys, "platform", "darwin")
    assert cache_home() == tmp_path / "me" / "Library" / "Caches" / "kgeval"
    monkeypatch.setattr(files_module.sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_home() == tmp_path / "local" / "kgeval" / "kgeval" / "Cache"


@pytest.mark.parametrize("xdg", [None, "/somewhere/else"])
def test_the_users_cache_is_the_one_of_pooch(monkeypatch, xdg):
    """So a later version may ask pooch, and finds the same files."""
    pooch = pytest.importorskip("pooch", reason="needs kgeval[datasets]")
    monkeypatch.delenv("KGEVAL_HOME")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if xdg is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    assert cache_home() == pooch.os_cache("kgeval")


def test_files_in_the_cache_are_read_without_pooch(no_pooch):
    """No network, no extra; the name is the registered one, and the note says where the files come from."""
    entry = made_up()
    put(entry)
    dataset = read(entry)
    assert dataset.name == "Toy-1"
    assert counts_of(dataset, "rows") == ROWS
    assert counts_of(dataset, "pykeen") == PYKEEN
    assert dataset.notes == (
        "registered dataset Toy-1 from https://example.invalid/train.txt and 2 more; licence: CC0; every file has the "
        "SHA-256 that is stated for it",
    )


def test_a_missing_pooch_says_what_to_put_where(no_pooch):
    """Only if a file is missing; every file is named with its URL and its folder."""
    entry = made_up()
    put(entry, {"train.txt": TEXTS["train.txt"]})
    with pytest.raises(MissingExtra) as raised:
        read(entry)
    assert str(raised.value) == (
        'Toy-1 is not in the cache, and downloading it needs pooch; pip install "kgeval[datasets]". Or, without a '
        f"network, put these files into the folder {entry.folder}: train.txt from https://example.invalid/train.txt; "
        "valid.txt from https://example.invalid/valid.txt; test.txt from https://example.invalid/test.txt. kgeval then "
        "reads Toy-1 from this folder, without pooch too"
    )


@pytest.mark.parametrize(("kind", "shown"), [("sha256", "SHA-256"), ("md5", "MD5")])
def test_a_changed_file_in_the_cache_is_not_used(kind, shown):
    """One byte more in one file; the message has both checksums and the file."""
    files = tuple(replace(file, hash=digest(TEXTS[file.path], kind)) for file in made_up().files)
    entry = made_up(files=files)
    assert entry.verified == shown
    put(entry, {**TEXTS, "test.txt": TEXTS["test.txt"] + "a\tr\ta\n"})
    wrong, right = (
        digest(text, kind).partition(":")[2] for text in (TEXTS["test.txt"] + "a\tr\ta\n", TEXTS["test.txt"])
    )
    with pytest.raises(DataError) as raised:
        read(entry)
    assert str(raised.value) == (
        f"{entry.folder / 'test.txt'}: its {shown} is {wrong}, expected {right}, so it is not used. Delete it, and "
        "read Toy-1 again; to read it nevertheless, give its folder another name and read this folder"
    )


def test_an_unverified_dataset_says_so_with_the_checksums():
    """One file without a stated checksum is enough; the note holds the SHA-256 of each file as read."""
    files = made_up().files
    entry = made_up(files=(replace(files[0], hash=""), *files[1:]))
    put(entry)
    (note,) = read(entry).notes
    hashes = ", ".join(f"{name} {digest(text).partition(':')[2]}" for name, text in TEXTS.items())
    assert note == (
        "registered dataset Toy-1 from https://example.invalid/train.txt and 2 more; licence: CC0; unverified: no "
        f"source states a checksum of every file; the counts are those of this test; SHA-256 read: {hashes}"
    )


def test_counts_that_differ_are_an_error():
    """Each wrong number is named, with the rule by which it is counted."""
    entry = made_up(counts={**ROWS, "entities": 5, "test": 3})
    put(entry)
    with pytest.raises(DataError) as raised:
        read(entry)
    assert str(raised.value) == (
        f"{entry.folder}: is not Toy-1 as registered: entities 4, expected 5; test 2, expected 3 (this test; counted: "
        "all rows and labels of the files). If the files are wrong, delete this folder, and read Toy-1 again; to "
        "read them as they are, give the folder another name and read this folder"
    )
    check_counts(read(made_up()), made_up(counts=PYKEEN, counting="pykeen"))
    with pytest.raises(DataError, match=r"entities 3, expected 4; train 2, expected 3; test 1, expected 2"):
        check_counts(read(made_up()), made_up(counts=ROWS, counting="pykeen"))
    check_counts(read(made_up()), made_up(counts={}, counting="none"))


def test_a_split_too_few_is_an_error():
    """A split that the entry states and the files lack counts as 0 triples."""
    frame = pd.DataFrame([["a", "r", "b"]])
    entry = made_up(counts={"train": 1, "valid": 7})
    with pytest.raises(DataError, match=r"as registered: valid 0, expected 7 \("):
        check_counts(Dataset.from_frames(train=frame), entry)


@pytest.mark.parametrize("given", [{"columns": "htr"}, {"header": True}, {"sep": ","}, {"splits": {"test": "x"}}])
@pytest.mark.light(2)
def test_options_are_refused(given):
    """The entry says how its files are read; another way would give other numbers under the same name."""
    entry = made_up()
    put(entry)
    (name,) = given
    with pytest.raises(DataError) as raised:
        read(entry, **{"header": None, "ignore": [], "labelled": False, "splits": {}, **given})
    assert str(raised.value) == (
        f"{name}={given[name]!r} (--{name}) has no effect on the registered dataset Toy-1: its files are read as "
        "registered (format='tab', header=False, columns='hrt'). To read them in another way, read the folder "
        f"{entry.folder}"
    )
    as_registered = {
        "header": False,
        "columns": "hrt",
        "format": "tab",
        "splits": {},
        "ignore": [],
        "labelled": False,
    }
    assert counts_of(read(entry, **as_registered), "rows") == ROWS
    with_header = replace(entry, options={**entry.options, "header": True})
    with pytest.raises(DataError, match=r"header=False \(--header\) has no effect"):
        read(with_header, header=False)


def test_notes_on_folders_of_the_same_name(home):
    """A folder that is read in place of a registered dataset, and a folder that is not read."""
    assert local_note("my_data", home) == []
    assert local_note("fb15k237", home) == [f"{home} was read, not the registered dataset 'FB15k-237'"]
    entry = made_up()
    put(entry)
    (home.parent / "here" / "TOY1").mkdir()
    assert read(entry).notes[1:] == ("the folder TOY1 in the current folder was not read",)


def test_an_inner_folder_is_read():
    """As in GraIL's two folders, of which the second is the dataset."""
    files = tuple(replace(file, path=f"inner/{file.path}") for file in made_up().files)
    entry = made_up(files=files, inner="inner")
    (entry.folder / "inner").mkdir(parents=True)
    for name, text in TEXTS.items():
        (entry.folder / "inner" / name).write_text(text)
    assert counts_of(read(entry), "rows") == ROWS


# archives


@pytest.mark.parametrize(("archive", "pack"), [("toy.zip", zipped), ("toy.tar.gz", tarred), ("toy.tgz", tarred)])
@pytest.mark.parametrize("outer", ["", "Release/", "./"])
@pytest.mark.light(3)
def test_archives_put_by_hand_are_unpacked(no_pooch, archive, pack, outer):
    """With an outer folder or without; the archive stays, and the second read needs it no more."""
    entry = archived(archive, folder=outer.removeprefix("./"))
    put(entry, {archive: pack({"README": "", **{outer + name: text for name, text in TEXTS.items()}})})
    assert counts_of(read(entry), "rows") == ROWS
    assert left(entry) == sorted([archive, *TEXTS])
    (entry.folder / archive).unlink()
    assert counts_of(read(entry), "rows") == ROWS


def test_a_packed_single_file_is_unpacked(no_pooch):
    """As Hetionet's: one file of edges with a header, and no splits."""
    text = "source\tmetaedge\ttarget\n" + TEXTS["train.txt"]
    file = RemoteFile("edges.tsv", "https://example.invalid/edges.sif.gz")
    options = {"format": "tab", "header": True, "columns": "hrt"}
    counts = {"entities": 3, "relations": 1, "train": 3}
    entry = made_up(files=(file,), archive="edges.sif.gz", inner="edges.tsv", options=options, counts=counts)
    put(entry, {"edges.sif.gz": gzip.compress(text.encode())})
    dataset = read(entry)
    assert (list(dataset.splits), len(dataset["train"])) == (["train"], 3)
    assert dataset.notes[1].startswith("one file, so all triples are in the split train; dataset.split(")


@pytest.mark.parametrize("name", ["../evil.txt", "/evil.txt", "data/../../evil.txt"])
@pytest.mark.parametrize(("archive", "pack"), [("toy.zip", zipped), ("toy.tar.gz", tarred)])
@pytest.mark.light(3)
def test_a_member_that_leads_out_of_the_archive_is_refused(home, archive, pack, name):
    """Nothing is written beside the archive, neither inside nor outside the folder."""
    entry = archived(archive)
    put(entry, {archive: pack({**{"data/" + file: text for file, text in TEXTS.items()}, name: "x"})})
    with pytest.raises(DataError, match=re.escape(f"the member {name!r}")):
        read(entry)
    assert left(entry) == [archive]
    assert [path.name for path in home.parent.rglob("evil*")] == []


def test_a_link_is_refused():
    """A symbolic link in the place of a split."""
    entry = archived("toy.tar.gz")
    texts = {"data/" + name: text for name, text in TEXTS.items() if name != "test.txt"}
    put(entry, {"toy.tar.gz": tarred(texts, links=["data/test.txt"])})
    with pytest.raises(DataError, match=r"the member 'data/test.txt' is neither a file nor a folder"):
        read(entry)
    assert left(entry) == ["toy.tar.gz"]


def test_a_member_with_another_checksum_is_not_kept():
    """The archive is named, and the member; nothing of it stays."""
    entry = archived("toy.zip")
    put(entry, {"toy.zip": zipped({"data/" + name: text + "a\tr\ta\n" for name, text in TEXTS.items()})})
    archive = entry.folder / "toy.zip"
    found, expected = (
        digest(text).partition(":")[2] for text in (TEXTS["train.txt"] + "a\tr\ta\n", TEXTS["train.txt"])
    )
    with pytest.raises(DataError) as raised:
        read(entry)
    assert str(raised.value) == (
        f"{archive}: data/train.txt: its SHA-256 is {found}, expected {expected}; not used. Delete {archive}, and read "
        "Toy-1 again"
    )
    assert left(entry) == ["toy.zip"]


def test_a_damaged_archive_says_what_to_delete():
    """Cut off in the middle; and an archive without the member."""
    entry = archived("toy.tar.gz")
    put(entry, {"toy.tar.gz": tarred({"data/" + name: text * 999 for name, text in TEXTS.items()})[:100]})
    with pytest.raises(DataError, match=rf"damaged or cut off.* Delete {entry.folder / 'toy.tar.gz'}, and read Toy-1"):
        read(entry)
    (entry.folder / "toy.tar.gz").write_bytes(tarred({"data/other.txt": "x", "data/more.txt": "x"}))
    with pytest.raises(DataError, match=r"contains no file 'data/train.txt'; it contains more.txt, other.txt\. Delete"):
        read(entry)
    assert left(entry) == ["toy.tar.gz"]


# downloads


@pytest.fixture
def server(monkeypatch):
    """A server on the loopback address: `pages` maps a path to its bytes, `moved` to another path; `packed` names the
    paths that are sent as gzip, `cut` those that end too early.
    """
    pytest.importorskip("pooch", reason="needs kgeval[datasets]")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(self.path)
            body = self.server.pages.get(self.path)
            if self.path in self.server.moved:
                self.send_response(302)
                self.send_header("Location", self.server.moved[self.path])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            if self.path in self.server.packed:
                body = gzip.compress(body)
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if self.path in self.server.cut else body)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.pages, running.moved, running.packed, running.cut, running.asked = {}, {}, set(), set(), []
        running.pages |= {f"/{name}": text.encode() for name, text in TEXTS.items()}
        running.base = f"http://127.0.0.1:{running.server_address[1]}"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_a_download_is_kept(server, capfd, home):
    """Each file is downloaded once; the second read asks for nothing. No progress bar without a terminal."""
    entry = made_up(server.base)
    dataset = read(entry)
    assert counts_of(dataset, "rows") == ROWS
    assert server.asked == ["/train.txt", "/valid.txt", "/test.txt"]
    assert left(entry) == sorted(TEXTS)
    assert entry.folder == home / "datasets" / "toy-1"
    assert read(entry).fingerprint == dataset.fingerprint
    assert len(server.asked) == 3
    assert capfd.readouterr() == ("", "")


def test_a_page_that_moved_and_one_that_is_packed_on_the_way(server):
    """As on GitHub: the address leads to another one; texts are sent as gzip, whose length is not that of the file."""
    server.pages["/elsewhere.txt"] = server.pages.pop("/train.txt")
    server.moved["/train.txt"] = "/elsewhere.txt"
    server.packed |= {"/elsewhere.txt", "/test.txt"}
    files = tuple(replace(file, hash="") for file in made_up(server.base).files)
    assert counts_of(read(made_up(files=files)), "rows") == ROWS
    assert server.asked == ["/train.txt", "/elsewhere.txt", "/valid.txt", "/test.txt"]


def test_only_missing_files_are_downloaded(server):
    """Two files were put into the folder by hand."""
    entry = made_up(server.base)
    put(entry, {name: TEXTS[name] for name in ("train.txt", "test.txt")})
    read(entry)
    assert server.asked == ["/valid.txt"]


@pytest.mark.parametrize(("archive", "pack"), [("toy.zip", zipped), ("toy.tar.gz", tarred)])
def test_an_archive_is_downloaded_once(server, archive, pack):
    """Three files of one archive are one download."""
    server.pages[f"/{archive}"] = pack({"data/" + name: text for name, text in TEXTS.items()})
    entry = archived(archive, server.base)
    assert counts_of(read(entry), "rows") == ROWS
    assert counts_of(read(entry), "rows") == ROWS
    assert server.asked == [f"/{archive}"]


def test_a_download_with_another_checksum_is_not_kept(server):
    """Also not as a temporary file; the message says what to put where."""
    server.pages["/valid.txt"] += b"a\tr\ta\n"
    entry = made_up(server.base)
    with pytest.raises(DataError) as raised:
        read(entry)
    assert str(raised.value).startswith(
        f"Toy-1: {server.base}/valid.txt could not be downloaded: SHA256 hash of downloaded"
    )
    assert digest(TEXTS["valid.txt"]).partition(":")[2] in str(raised.value)
    assert left(entry) == ["train.txt"]


def test_a_missing_page_says_what_to_put_where(server):
    """404: the URL, the folder, each file with its URL."""
    del server.pages["/train.txt"]
    entry = made_up(server.base)
    with pytest.raises(DataError) as raised:
        read(entry)
    message = str(raised.value)
    assert message.startswith(f"Toy-1: {server.base}/train.txt could not be downloaded: 404 Client Error: Not Found")
    assert message.endswith(
        f"To read without a network, put these files into the folder {entry.folder}: train.txt from "
        f"{server.base}/train.txt; valid.txt from {server.base}/valid.txt; test.txt from {server.base}/test.txt. "
        "kgeval then reads Toy-1 from this folder"
    )
    assert left(entry) == []


@pytest.mark.parametrize("has_hash", [True, False])
def test_a_download_that_is_cut_off_leaves_no_file(server, has_hash):
    """With a checksum and without: half a file would be a smaller dataset."""
    server.cut.add("/train.txt")
    entry = made_up(server.base)
    if not has_hash:
        entry = made_up(files=tuple(replace(file, hash="") for file in entry.files))
    with pytest.raises(
        DataError, match=r"/train.txt could not be downloaded: .*(Connection broken|cut off after 9 of 18 bytes)"
    ):
        read(entry)
    assert left(entry) == []
    server.cut.clear()
    assert counts_of(read(entry), "rows") == ROWS


def test_without_a_network_the_message_names_the_files(server):
    """No server at all: the machine is offline, or the host is gone."""
    entry = made_up("http://127.0.0.1:9")  # the port "discard", where nothing listens
    with pytest.raises(DataError) as raised:
        read(entry)
    assert "http://127.0.0.1:9/train.txt could not be downloaded: " in str(raised.value)
    assert f"put these files into the folder {entry.folder}: train.txt from" in str(raised.value)
    assert left(entry) == []
    for name, text in TEXTS.items():
        (entry.folder / name).write_text(text)
    assert counts_of(read(entry), "rows") == ROWS


def test_a_folder_that_cannot_be_written_is_an_error(server, home):
    """A file in the place of the cache."""
    home.write_text("")
    with pytest.raises(DataError, match=r"Toy-1: http://127.0.0.1:\d+/train.txt could not be downloaded: "):
        read(made_up(server.base))


# read_dataset and the command line


@pytest.fixture
def only_toys(monkeypatch):
    """A registry with two entries: one verified, one not."""
    second = replace(made_up(), name="Toy-2", also=(), counts={}, counting="none", licence="not stated")
    second = replace(second, files=tuple(replace(file, hash="") for file in second.files))
    for module in (entries_module, table_module):
        monkeypatch.setattr(module, "all_registered", lambda: (made_up(), second))
    return made_up(), second


def test_read_dataset_takes_a_name(only_toys):
    """Each way to write it, and further names."""
    put(made_up())
    for name in ("Toy-1", "toy1", "TOYS"):
        dataset = kgeval.read_dataset(name)
        assert (dataset.name, counts_of(dataset, "rows")) == ("Toy-1", ROWS)


def test_a_local_folder_comes_first(only_toys, home):
    """With a note; a path never means a registered dataset."""
    put(made_up())
    local = home.parent / "here" / "toy-1"
    local.mkdir()
    (local / "test.txt").write_text("x\tr\ty\n")
    dataset = kgeval.read_dataset("toy-1")
    assert counts_of(dataset, "rows") == {"entities": 2, "relations": 1, "test": 1}
    assert dataset.notes[0] == "toy-1 was read, not the registered dataset 'Toy-1'"
    assert kgeval.read_dataset("./toy-1").notes[0] != dataset.notes[0]
    with pytest.raises(DataError, match="no such folder"):
        kgeval.read_dataset("./toy-2")


def test_evaluate_takes_a_name(only_toys, home, capsys):
    """`kgeval evaluate toy-1`: two test triples, both sides, and the origin of the files."""
    put(made_up())
    (home.parent / "here" / "scorer.py").write_text("def score(s, p, o):\n    return s + o\n")
    assert main(["evaluate", "toy1", "--scorer", "scorer.py:score"]) == 0
    out = capsys.readouterr().out
    assert "Toy-1" in out
    assert "registered dataset Toy-1 from https://example.invalid/train.txt and 2 more; licence: CC0; every file" in out


def test_the_table(only_toys):
    """Numbers are int or NaN; the folder is named once the files are there."""
    first, second = only_toys
    frame = registered_datasets()
    assert frame.index.tolist() == registered_names() == ["Toy-1", "Toy-2"]
    assert frame.loc["Toy-1"].to_dict() == {
        **ROWS,
        "counted": "rows",
        "licence": "CC0",
        "verified": "SHA-256",
        "folder": "not downloaded",
        "about": "made up",
    }
    assert frame.loc["Toy-2", list(ROWS)].isna().all()
    assert frame.loc["Toy-2", ["licence", "verified"]].tolist() == ["not stated", "unverified"]
    put(second)
    assert registered_datasets()["folder"].tolist() == ["not downloaded", str(second.folder)]


def test_the_details_of_an_entry(only_toys):
    """Further names lead there too; the SHA-256 of a file that is in the cache is shown."""
    first, _ = only_toys
    put(first, {"test.txt": "x\n"})
    about = describe_registered("TOYS")
    assert (about["name"], about["counts"], about["downloaded"]) == ("Toy-1", ROWS, False)
    assert about["folder"] == str(first.folder)
    files = registered_files("toy1")
    assert files.index.tolist() == list(TEXTS)
    assert files["hash"].tolist() == [digest(text) for text in TEXTS.values()]
    assert files["sha256"].tolist() == ["", "", digest("x\n").partition(":")[2]]
