"""RDF: N-Triples and Turtle, read by pyoxigraph."""

import gzip
import sys

import pytest
from dataset_folders import assert_same, failure, generator, rows_of, write
from grids import size

import kgeval
from kgeval.data.triples import ONE_FILE
from kgeval.errors import MissingExtra

XSD = "http://www.w3.org/2001/XMLSchema#"
READ_AS = "read as RDF (N-Triples or Turtle)"


@pytest.fixture
def oxigraph():
    """The library, or a skip."""
    return pytest.importorskip("pyoxigraph", reason="needs kgeval[rdf]")


def test_without_the_library_the_message_names_the_extra(tmp_path, monkeypatch):
    """Raised when a file is read, not before."""
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    write(tmp_path, {"train.nt": "<http://e/a> <http://e/p> <http://e/b> .\n"})
    with pytest.raises(MissingExtra, match=r'needs pyoxigraph; pip install "kgeval\[rdf\]"'):
        kgeval.read_dataset(tmp_path)


@pytest.mark.usefixtures("oxigraph")
def test_terms_become_labels(tmp_path):
    """Tabs or spaces, no dot in the object (S5), comments, escapes, languages and datatypes, blank nodes."""
    train = (
        "# a comment\n"
        "<http://e/a>\t<http://e/p>\t<http://e/b> .\n"
        '<http://e/a> <http://e/p> "a\\tb \\u00e9 \\"q\\"" .\n'
        f'<http://e/a> <http://e/p> "01"^^<{XSD}integer> .  # end\n'
        f'<http://e/a> <http://e/p> "1"^^<{XSD}integer> .\n'
        '<http://e/a> <http://e/p> "x"@EN-us .\n'
        f'<http://e/a> <http://e/p> "x"^^<{XSD}string> .\n'
        "_:b.0 <http://e/p> _:b1 .\n"
    )
    test = "<http://e/\\u00e9><http://e/p><http://e/\u00e9>.\n"
    dataset = kgeval.read_dataset(write(tmp_path, {"train.nt": "\ufeff" + train, "test.nt": test}))
    assert [o for _, _, o in rows_of(dataset, "train")] == [
        "http://e/b",
        '"a\\tb \u00e9 \\"q\\""',
        f'"01"^^<{XSD}integer>',
        f'"1"^^<{XSD}integer>',
        '"x"@en-us',
        '"x"',
        "_:b1",
    ]
    assert rows_of(dataset, "train")[-1][0] == "_:b.0"
    assert rows_of(dataset, "test") == [("http://e/\u00e9", "http://e/p", "http://e/\u00e9")]
    assert dataset.relations.labels == ("http://e/p",)
    assert dataset.notes == (
        READ_AS,
        "5 entities are literals; they are candidates too",
        "2 entities are blank nodes",
    )


@pytest.mark.usefixtures("oxigraph")
def test_turtle(tmp_path):
    """Prefixes, lists of objects, numbers; nodes without a name get the same one at each reading, one for each file."""
    turtle = "@prefix : <http://e/> . :a :p :b, 7 ; a :c . :b :q [ :r :a ] . <http://e/b> :q _:x .\n"
    write(tmp_path, {"train.ttl": turtle, "test.ttl": "@prefix : <http://e/> . [ :r :a ] :r _:y ."})
    dataset = kgeval.read_dataset(tmp_path)
    facts = {
        "train": [
            ("http://e/a", "http://e/p", "http://e/b"),
            ("http://e/a", "http://e/p", f'"7"^^<{XSD}integer>'),
            ("http://e/a", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://e/c"),
            ("_:[train.ttl]1", "http://e/r", "http://e/a"),
            ("http://e/b", "http://e/q", "_:[train.ttl]1"),
            ("http://e/b", "http://e/q", "_:x"),
        ],
        "test": [("_:[test.ttl]1", "http://e/r", "http://e/a"), ("_:[test.ttl]1", "http://e/r", "_:y")],
    }
    assert sorted(rows_of(dataset, "train")) == sorted(facts["train"])
    assert sorted(rows_of(dataset, "test")) == sorted(facts["test"])
    assert kgeval.read_dataset(tmp_path).fingerprint == dataset.fingerprint


@pytest.mark.usefixtures("oxigraph")
def test_a_blank_node_in_two_files_is_asked_about(tmp_path):
    """Two nodes in RDF, one node for a tool that split a file."""
    line = "_:b0 <http://e/p> <http://e/a> .\n"
    assert failure(write(tmp_path, {"train.nt": line, "test.nt": line})) == (
        "DIR/test.nt: the blank node _:b0 occurs in train.nt too. In RDF these are two nodes; if they are one, replace "
        "the blank nodes by IRIs in both files"
    )


@pytest.mark.usefixtures("oxigraph")
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "test.nt",
            "<http://e/a> <http://e/p> <http://e/b> .\n<http://e/a> <http://e/p> .\n",
            "DIR/test.nt, line 2: not N-Triples: ",
        ),
        (
            "test.nt",
            "<http://e/a> <http://e/p> <http://e/b>\n<http://e/a> <http://e/p> <http://e/b> .\n",
            "DIR/test.nt, line 2: not N-Triples: ",
        ),
        ("test.nt", b"<http://e/a> <http://e/\xff> <http://e/b> .\n", "DIR/test.nt, line 1: not N-Triples: "),
        ("test.nt", "<a> <http://e/p> <http://e/b> .\n", "DIR/test.nt, line 1: not N-Triples: "),
        ("test.nt", '"l" <http://e/p> <http://e/b> .\n', "DIR/test.nt, line 1: not N-Triples: "),
        ("test.nt", "a\tp\tb\n", "DIR/test.nt, line 1: not N-Triples: "),
        ("test.nt", "# nothing\n", "DIR/test.nt: 0 triples; the file is empty"),
        ("test.ttl", "@prefix : <http://e/> .\n:a :p :b\n", "DIR/test.ttl, line "),
        (
            "test.nq",
            "<http://e/a> <http://e/p> <http://e/b> <http://e/g> .\n",
            "DIR/test.nq: is N-Quads, which may hold several graphs; kgeval reads N-Triples (.nt) and Turtle (.ttl). "
            "Convert the file first",
        ),
        (
            "test.nt",
            "<http://e/a> <http://e/p> <<( <http://e/a> <http://e/p> <http://e/b> )>> .\n",
            "DIR/test.nt: contains a triple about a triple (<http://e/a> ",
        ),
    ],
)
def test_faults_name_file_and_line(tmp_path, name, text, message):
    """Broken lines, relative IRIs, no UTF-8, named graphs."""
    assert failure(write(tmp_path, {name: text})).startswith(message)


@pytest.mark.usefixtures("oxigraph")
def test_packed_files_single_files_and_other_names(tmp_path):
    """As in folders of tables."""
    text = "<http://e/a> <http://e/p> <http://e/b> .\n"
    folder = write(tmp_path / "a", {"train.nt.gz": gzip.compress(text.encode()), "dev.nt": text, "test.txt": text})
    write(folder, {"README.md": "no triples", "full.nt.gz": gzip.compress(text.encode())})
    dataset = kgeval.read_dataset(folder, ignore=["test.txt"])
    assert list(dataset.splits) == ["train", "valid"]
    dataset = kgeval.read_dataset(folder, splits={"test": "test.txt"})
    assert list(dataset.splits) == ["train", "valid", "test"]
    assert {split: len(part) for split, part in dataset.splits.items()} == {"train": 1, "valid": 1, "test": 1}
    one = kgeval.read_dataset(folder / "full.nt.gz")
    assert one.notes == (READ_AS, ONE_FILE)
    assert (one.name, list(one.splits)) == ("full", ["train"])
    assert failure(folder / "full.nt.gz", ignore=["x"]).startswith("the format rdf (a single file) has no use for")
    write(folder, {"facts.nt": text})
    assert failure(folder, ignore=["test.txt"]).startswith("DIR: facts.nt looks like a part of the dataset")
    write(folder, {"train.ttl": text})
    assert failure(folder).startswith("DIR: contains both train.nt.gz and train.ttl; keep only one")


@pytest.mark.usefixtures("oxigraph")
def test_other_files_of_rdf_are_named(tmp_path):
    """A graph beside the splits may hold facts to filter."""
    fact = "<http://x/a> <http://x/r> <http://x/b> .\n"
    folder = write(tmp_path, {"train.nt": fact, "test.nt": fact, "more.ttl": fact})
    said = "not read: more.ttl (RDF; splits=, --split-files reads a file as part of a split)"
    assert said in kgeval.read_dataset(folder).notes
    assert said not in kgeval.read_dataset(folder, ignore=["more.ttl"]).notes


def test_a_split_that_is_no_rdf_is_not_passed_over(tmp_path):
    """test.txt beside train.nt: read or left out, but said."""
    text = "<http://e/a> <http://e/p> <http://e/b> .\n"
    folder = write(tmp_path, {"train.nt": text, "test.txt": "a\tp\tb\n"})
    assert failure(folder) == (
        "DIR: test.txt seems to be the test split, but its name has no suffix of RDF; rename it, say "
        "splits={'test': 'test.txt'} (--split-files test=test.txt) or ignore=['test.txt'] (--ignore-files test.txt)"
    )


def escaped(text, rng):
    """A text inside quotes as N-Triples allows: some characters escaped."""
    plain = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
    return "".join(plain.get(c) or (c if rng.random() < 0.7 else f"\\U{ord(c):08x}") for c in text)


@pytest.mark.usefixtures("oxigraph")
@pytest.mark.parametrize("seed", range(2))
def test_random_folders_equal_their_labels(tmp_path, seed):
    """IRIs and literals of any characters, with any spaces."""
    for case in range(size(6, 150)):
        rng = generator(1000 * seed + case)
        words = ["".join(rng.choices("ab \u00e9\"\\'\t.\u6771\U0001f600<>", k=rng.randint(1, 5))) for _ in range(6)]
        literals = [(f'"{escaped(word, rng)}"', literal_label(word)) for word in dict.fromkeys(words)]
        iris = [(f"<http://e/{i}\u00e9>", f"http://e/{i}\u00e9") for i in range(5)]
        facts, files = {}, {}
        for split in ("train", "valid", "test"):
            triples = [(rng.choice(iris), iris[0], rng.choice(iris + literals)) for _ in range(rng.randint(1, 9))]
            space = rng.choice([" ", "\t", "  "])
            text = "".join(space.join(term for term, _ in row) + f"{space}.\n" for row in triples)
            files[f"{split}.nt"] = text
            facts[split] = [tuple(label for _, label in row) for row in triples]
        assert_same(kgeval.read_dataset(write(tmp_path / str(case), files)), facts)


def literal_label(text):
    """A literal in the canonical form of N-Triples: the fewest escapes."""
    plain = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(plain.get(c, c) for c in text) + '"'
