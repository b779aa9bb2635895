"""Text files of triples: every label as written, every fault with its file and line."""

import os
import random
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from grids import light, size

import kgeval
from kgeval.errors import DataError
from kgeval.formats.datasets import tab_folder
from kgeval.formats.text_tables import read_columns

LABELS = [
    "NA",
    "nan",
    "null",
    "None",
    "N/A",
    "007",
    "7",
    "7.0",
    "1e5",
    "True",
    "-",
    "inf",
    '"',
    '""',
    '"open',
]
LABELS += [
    "'",
    "in ner",
    "trailing ",
    " leading",
    " ",
    "\u00a0",
    "\u00a0nbsp\u00a0",
    "\u00fcber",
    "u\u0308ber",
]
LABELS += [
    "\u6771\u4eac",
    "\U0001f600",
    "\u2028",
    "\u0085",
    "\x0b\x0c\x1c",
    "\x1a",
    "#no",
    "\\",
    "a\\tb",
    ",",
    "=",
]
LABELS += ["e\ufeff", "\u200b"]
FAULT = "expected 3 tab-separated columns (s, p, o), found"
FOURTH = (
    "; say what each column holds, such as columns='h,r,t,time' (--columns h,r,t,time; - leaves a column out), or "
    "header=True (--header) if this line names the columns; to rank facts with times, also choose filter_by= "
    "(--filter-by time or none)"
)


def write(folder, raw, name="test.txt"):
    """Put one file of these bytes into the folder."""
    file = folder / name
    file.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    return file


def naive(raw):
    """The lines of the text, each split at tabs; plain str methods only."""
    text = raw.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    return [tuple(line.split("\t")) for line in text.split("\n")]


def rows_of(dataset, split):
    """The triples of a split as labels."""
    e, r = dataset.entities.labels, dataset.relations.labels
    return [(e[s], r[p], e[o]) for s, p, o in np.asarray(dataset[split]).tolist()]


def failure(folder, **options):
    """What reading the folder says, with the folder's own path taken out."""
    with pytest.raises(DataError) as caught:
        kgeval.read_dataset(folder, **options)
    return str(caught.value).replace(str(folder), "DIR")


def test_labels_stay_as_written(tmp_path):
    """Nothing is unquoted, trimmed, normalised or taken for a number; ids sort by code point."""
    facts = [(a, b, c) for a, b, c in zip(LABELS, LABELS[5:] + LABELS[:5], LABELS[::-1], strict=True)]
    write(tmp_path, "".join("\t".join(fact) + "\n" for fact in facts))
    dataset = kgeval.read_dataset(tmp_path)
    assert rows_of(dataset, "test") == facts
    assert dataset.entities.labels == tuple(sorted(LABELS)) == dataset.relations.labels


@pytest.mark.parametrize(
    "labels",
    [
        ["007", "7", "07", "-0"],
        ["1e5", "100000", "1E5", "1.0", ".5"],
        ["True", "False", "TRUE", "true"],
        ["NA", "nan", "NaN", "null"],
        ["inf", "-inf", "Infinity", "nan"],
        ["99999999999999999999", "9223372036854775808", "-1"],
        [" 1", "1 ", "1"],
        ["2020-01-01", "2020-1-1"],
    ],
    ids=lambda labels: labels[0],
)
@pytest.mark.parametrize("columns", [(0,), (1,), (0, 2), (0, 1, 2)])
@pytest.mark.light(3)
def test_columns_that_all_look_like_values_stay_text(tmp_path, labels, columns):
    """Columns of nothing but numbers, booleans or missing-value words are text like any other."""
    facts = [tuple(a if i in columns else "x" for i in range(3)) for a in labels for _ in range(2)]
    for text in ("", "\ufeff"):
        write(tmp_path, text + "".join("\t".join(fact) + "\n" for fact in facts))
        dataset = kgeval.read_dataset(tmp_path)
        assert rows_of(dataset, "test") == facts
        assert dataset.entities.labels == tuple(sorted({e for s, _, o in facts for e in (s, o)}))


def test_large_files_are_read_on_threads(tmp_path, monkeypatch):
    """They give the same dataset, and the fault of the first file."""
    for split, facts in (("train", "b\tr\ta\na\tq\tc\n"), ("valid", "c\tr\ta\n"), ("test", "d\tq\ta\n")):
        write(tmp_path, facts, f"{split}.txt")
    expected = kgeval.read_dataset(tmp_path)
    monkeypatch.setattr(tab_folder, "SMALL_FILES", 0)
    assert kgeval.read_dataset(tmp_path).fingerprint == expected.fingerprint
    write(tmp_path, "a\n", "valid.txt")
    write(tmp_path, "a\tr\n", "test.txt")
    assert failure(tmp_path).startswith(f"DIR/valid.txt, line 1: {FAULT} 1")


@pytest.mark.parametrize("seed", light(range(150), 3))
def test_random_files_equal_a_naive_reader(tmp_path, seed):
    """Random labels, line ends mixed within a file, with and without mark and final newlines."""
    rng = random.Random(seed)
    alphabet = "abA01. \"'\u00e9\u00a0\u2028\U00010000\uffff"
    for split in ("train", "valid", "test"):
        lines = [
            "\t".join("".join(rng.choices(alphabet, k=rng.randint(1, 4))) for _ in range(3))
            for _ in range(rng.randint(1, 12))
        ]
        ends = rng.choice([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\n", "\r\n", "\r"]])
        tail = rng.choice(["", *ends, ends[0] * 2, ends[0] * 5])
        text = rng.choice(["", "\ufeff"]) + lines[0]
        text += "".join(rng.choice(ends) + line for line in lines[1:]) + tail
        write(tmp_path, text, f"{split}{rng.choice(['.txt', '.tsv'])}")
    dataset = kgeval.read_dataset(tmp_path)
    expected = {file.stem: naive(file.read_bytes()) for file in tmp_path.iterdir()}
    assert {split: rows_of(dataset, split) for split in dataset.splits} == expected
    facts = [fact for rows in expected.values() for fact in rows]
    assert dataset.entities.labels == tuple(sorted({e for s, _, o in facts for e in (s, o)}))
    assert dataset.relations.labels == tuple(sorted({p for _, p, _ in facts}))
    assert (tuple(dataset.splits), dataset.name) == (("train", "valid", "test"), tmp_path.name)


@pytest.mark.parametrize("block", light(range(20), 1))
def test_random_soup_is_refused_where_a_naive_reader_finds_the_first_fault(tmp_path, block):
    """100 texts of tabs, ends and letters: read as by str.split, or refused at the first faulty line."""
    rng, seen = random.Random(block), set()
    pieces = ["a", "b", "\u00e9", "b\t", "\ta\t", "\t", "\n", "\r\n", "\r"]
    pieces += ["a", "a\tb\ta\n", "b\tb\tb\r\n", "a\ta\tb\r"]
    for _ in range(size(40, 100)):
        raw = "".join(rng.choices(pieces, k=rng.randint(1, 9))).encode()
        write(tmp_path, raw)
        rows = naive(raw)
        faults = [i for i, row in enumerate(rows, start=1) if len(row) != 3 or "" in row]
        seen.add(bool(faults))
        if faults:
            row = rows[faults[0] - 1]
            kind = FAULT if len(row) != 3 else f"column {row.index('') + 1} is empty"
            kind = "0 triples; the file is empty" if rows == [("",)] else kind
            assert failure(tmp_path).startswith(f"DIR/test.txt, line {faults[0]}: {kind}")
        else:
            assert rows_of(kgeval.read_dataset(tmp_path), "test") == rows
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"a\tb\tc\na\tb\n", f"line 2: {FAULT} 2: 'a\\tb'"),
        (b"a\tb\tc\na\tb", f"line 2: {FAULT} 2: 'a\\tb'"),
        (b"a\tb\tc\td\n", f"line 1: {FAULT} 4: 'a\\tb\\tc\\td'{FOURTH}"),
        (b"a\tb\tc\na\tb\td\t\n", f"line 2: {FAULT} 4: 'a\\tb\\td\\t'"),
        (b"a\tb\tc\td\na\tb\n", f"line 1: {FAULT} 4: 'a\\tb\\tc\\td'{FOURTH}"),
        ("a\u2028\x0b\x85\tb\tc\na\tb\n", f"line 2: {FAULT} 2: 'a\\tb'"),
        (b"a\xff\tb\tc\n\xff\tb\n", f"line 2: {FAULT} 2: '\ufffd\\tb'"),
        (
            b"a b c\n",
            f"line 1: {FAULT} 1: 'a b c'; if spaces separate the columns, say sep='whitespace' (--sep whitespace)",
        ),
        (b"a,b,c\n", f"line 1: {FAULT} 1: 'a,b,c'; if commas separate the columns, say sep=',' (--sep ,)"),
        (b"a;b;c\n", f"line 1: {FAULT} 1: 'a;b;c'; if semicolons separate the columns, say sep=';' (--sep ';')"),
        (b"a\tb\tc\n\na\tb\td\n", f"line 2: {FAULT} 0: ''"),
        (b"\na\tb\tc\n", f"line 1: {FAULT} 0: ''"),
        (b"a\tb\tc\n \n", f"line 2: {FAULT} 1: ' '"),
        (b"\xef\xbb\xbfa\tb\n", f"line 1: {FAULT} 2: 'a\\tb'"),
        (b"a\tb\tc\n\tb\tc\n", "line 2: column 1 is empty: '\\tb\\tc'"),
        (b"a\t\tc\n", "line 1: column 2 is empty: 'a\\t\\tc'"),
        (b"a\tb\tc\na\tb\t\n", "line 2: column 3 is empty: 'a\\tb\\t'"),
        (b"a\tb\tc\na\tb\t", "line 2: column 3 is empty: 'a\\tb\\t'"),
        (b"\t\t\n", "line 1: column 1 is empty: '\\t\\t'"),
        (b"x" * 90 + b"\ty\n", f"line 1: {FAULT} 2: '{'x' * 80}'"),
        (b"", "line 1: 0 triples; the file is empty"),
        (b"\xef\xbb\xbf", "line 1: 0 triples; the file is empty"),
        (b"\n\n\n", "line 1: 0 triples; the file is empty"),
        (b"\r\n\r\n", "line 1: 0 triples; the file is empty"),
        (b"a\tb\tc\na\tb\0\tc\n", "line 2: a NUL character; is this a text file?"),
        (b"a\tb\tc\ra\tb\0\tc\r", "line 2: a NUL character; is this a text file?"),
        (b"a\0\t\0b\0\t\0c\0\n\0", "line 1: a NUL character; is this a text file?"),
        (b"head\trelation\ttail\na\tb\tc\n", "line 1: looks like a header (head, relation, tail); "),
        (
            b"Subject\tPredicate\tObject\r\na\tb\tc\r\n",
            "line 1: looks like a header (subject, predicate, object); ",
        ),
        (b"\xef\xbb\xbfs\tp\to\na\tb\tc\n", "line 1: looks like a header (s, p, o); "),
        (b"h\tr\tt\na\tb\tc\n", "line 1: looks like a header (h, r, t); "),
        (
            b"subject\trelation\tobject\na\tb\tc\n",
            "line 1: looks like a header (subject, relation, object); ",
        ),
    ],
)
@pytest.mark.parametrize("name", ["test.txt", "train.tsv"])
@pytest.mark.light(24)
def test_faults_name_file_and_line(tmp_path, raw, said, name):
    """One sentence: the file, the line (from 1), what was expected and what stands there."""
    write(tmp_path, raw, name)
    said += "use header=True (--header)" if "looks like a header" in said else ""
    assert failure(tmp_path) == f"DIR/{name}, {said}"


@pytest.mark.parametrize("end", ["\r\n", "\r"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\tb\tc\na\tb\n", f"line 2: {FAULT} 2: 'a\\tb'"),
        ("a\tb\tc\n\na\tb\td\n", f"line 2: {FAULT} 0: ''"),
        ("a\tb\tc\na\tb\t\n", "line 2: column 3 is empty: 'a\\tb\\t'"),
    ],
)
@pytest.mark.light(3)
def test_faults_read_alike_whatever_the_line_ends(tmp_path, text, said, end):
    """CRLF and CR files get the very sentence that an LF file gets, without a carriage return in it."""
    write(tmp_path, text.replace("\n", end))
    assert failure(tmp_path) == f"DIR/test.txt, {said}"


@pytest.mark.parametrize(
    ("raw", "line", "byte", "value"),
    [
        (b"\xff\tb\tc\n", 1, 0, "ff"),
        (b"a\tb\tc\na\tb\t\xe9t\xe9\n", 2, 10, "e9"),
        (b"a\tb\tc\r\na\tb\tcc\xc3\r\n", 2, 13, "c3"),
        (b"\xef\xbb\xbfa\tb\tc\na\tb\xc0\tc\n", 2, 12, "c0"),
        (b"a\tb\tc\na\tb\tc\na\tb\t\xed\xa0\x80", 3, 16, "ed"),
        (b"a\tb\tc\n" * 70000 + b"a\t\x80\tc\n", 70001, 420002, "80"),
        (b"a\tb\tc\ra\tb\t\xff\r", 2, 10, "ff"),
    ],
    ids=["first byte", "latin-1", "CRLF", "byte order mark", "surrogate", "late", "CR"],
)
@pytest.mark.light(3)
def test_invalid_utf8_names_line_and_byte(tmp_path, raw, line, byte, value):
    """The line and the offset in the file as it lies on disk, mark and carriage returns included."""
    assert raw[byte] == int(value, 16)
    write(tmp_path, raw)
    found = f"invalid UTF-8 at byte {byte} of the file (0x{value})"
    assert failure(tmp_path) == f"DIR/test.txt, line {line}: {found}; save the file as UTF-8"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_refused(tmp_path, encoding):
    """UTF-16 with a byte order mark of either order."""
    write(tmp_path, "\ufeffa\tb\tc\n".encode(encoding))
    said = "DIR/test.txt: is encoded in UTF-16 (byte order mark); expected UTF-8. Convert the file first"
    assert failure(tmp_path) == said


def test_only_one_byte_order_mark_is_taken_away(tmp_path):
    """A second mark belongs to the label, as it does for bytes.decode('utf-8-sig')."""
    write(tmp_path, "\ufeff\ufeffa\tb\tc\n")
    assert rows_of(kgeval.read_dataset(tmp_path), "test") == [("\ufeffa", "b", "c")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.light(2)
def test_a_declared_header_leaves_no_trace(tmp_path, end):
    """With header=True the first line of every file is dropped; unknown names need the order of the columns."""
    write(tmp_path, f"head\trelation\ttail{end}a\tb\tc{end}", "train.txt")
    write(tmp_path, f"x\ty\tz{end}c\tb\ta{end}a\tb\ta{end}")
    known = "s, p, o; subject, predicate, object; subject, relation, object; head, relation, tail; h, r, t"
    assert failure(tmp_path, header=True) == (
        f"DIR/test.txt, line 1: expected a header such as {known}; got x, y, z. Say the order of the columns: "
        "columns='hrt' or 'htr' (--columns hrt)"
    )
    dataset = kgeval.read_dataset(tmp_path, header=True, columns="hrt")
    assert rows_of(dataset, "train") == [("a", "b", "c")]
    assert rows_of(dataset, "test") == [("c", "b", "a"), ("a", "b", "a")]
    assert (dataset.entities.labels, dataset.relations.labels) == (("a", "c"), ("b",))


def test_a_header_word_that_is_a_label_stays(tmp_path):
    """The header's words remain where they are labels too: here 's' stands below the header as an object."""
    write(tmp_path, "s\tp\to\na\tb\ts\n")
    dataset = kgeval.read_dataset(tmp_path, header=True)
    assert (dataset.entities.labels, dataset.relations.labels) == (("a", "s"), ("b",))


@pytest.mark.parametrize(
    "lines",
    [
        "h t r|Jack Rome likes",
        "o s p|Rome Jack likes",
        "relation head tail|likes Jack Rome",
        "T R H|Rome likes Jack",
    ],
)
@pytest.mark.light(2)
def test_a_known_header_tells_the_order(tmp_path, lines):
    """Undeclared it is suspected in any order; declared, its columns are read by their names."""
    write(tmp_path, lines.replace(" ", "\t").replace("|", "\n") + "\n")
    names = ", ".join(lines.split("|")[0].lower().split())
    said = f"DIR/test.txt, line 1: looks like a header ({names}); use header=True (--header)"
    assert failure(tmp_path) == said
    assert rows_of(kgeval.read_dataset(tmp_path, header=True), "test") == [("Jack", "likes", "Rome")]


@pytest.mark.parametrize("suffix", [".txt", ".csv"])
def test_headers_in_different_orders_are_an_error(tmp_path, suffix):
    """One of them may stand above columns in another order; names in `columns` confirm both."""
    sep = "," if suffix == ".csv" else "\t"
    write(tmp_path, "subject object relation\nJack Rome likes\n".replace(" ", sep), f"train{suffix}")
    write(tmp_path, "subject relation object year\nRome likes Jack 1\n".replace(" ", sep), f"test{suffix}")
    assert failure(tmp_path, header=True) == (
        f"DIR/test{suffix}, line 1: the header (subject, relation, object, year) has another order than the header of "
        f"DIR/train{suffix} (subject, object, relation); if both are right, name the columns, "
        "columns='subject,relation,object' (--columns subject,relation,object); else correct the wrong header"
    )
    dataset = kgeval.read_dataset(tmp_path, columns="subject,relation,object")
    assert rows_of(dataset, "train") == [("Jack", "likes", "Rome")]
    assert rows_of(dataset, "test") == [("Rome", "likes", "Jack")]
    write(tmp_path, "s p o\nRome likes Jack\n".replace(" ", sep), f"test{suffix}")
    assert "; if both are right, give the columns the same names in the same order in all files; else" in failure(
        tmp_path, header=True
    )


def test_a_header_is_quoted_in_the_order_of_the_file(tmp_path):
    """Also where `columns` says another order; the file is easier to mend."""
    for split in ("train", "test"):
        write(tmp_path, "droge\tziel\twirkt\n" + "a\tb\tr\n" * 3, f"{split}.txt")
    assert "line 1: looks like a header (droge, ziel, wirkt) (its" in failure(tmp_path, columns="htr")


def test_a_header_alone_is_no_data(tmp_path):
    """A file that holds its header only has no rows."""
    write(tmp_path, "s\tp\to\n")
    assert failure(tmp_path, header=True) == "DIR/test.txt: no triples below the header line"


def test_single_header_words_are_labels(tmp_path):
    """Only a whole known header is suspected; single words, or words of two headers, are ordinary labels."""
    facts = [("s", "relation", "tail"), ("head", "p", "object"), ("head", "head", "tail")]
    write(tmp_path, "".join("\t".join(fact) + "\n" for fact in facts))
    assert rows_of(kgeval.read_dataset(tmp_path), "test") == facts


def test_folders_that_hold_no_dataset(tmp_path):
    """No folder, a file in its place, other files or nothing inside, one split twice, a folder as split."""
    assert failure(tmp_path / "no") == "DIR: no such folder"
    file = write(tmp_path, "a\tb\tc\n", "facts.tsv")
    assert rows_of(kgeval.read_dataset(file), "train") == [("a", "b", "c")]
    wanted = "DIR: expected train.txt, valid.txt or test.txt (or .tsv, .csv, .parquet); the folder contains"
    assert failure(tmp_path) == (
        f"{wanted} facts.tsv. If these are the splits, name them: splits={{'train': ['facts.tsv']}} "
        "(--split-files train=facts.tsv)"
    )
    (tmp_path / "in").mkdir()
    assert failure(tmp_path / "in") == f"{wanted} nothing"
    for name in ("b.txt", "train.json", "Test.txt", "a"):
        write(tmp_path / "in", "a\tb\tc\n", name)
    assert failure(tmp_path / "in") == (
        "DIR: train.json looks like the train split, but only files named train.txt, .tsv, .csv or .parquet are read; "
        "rename it, say splits={'train': 'train.json'} (--split-files train=train.json) or ignore=['train.json'] "
        "(--ignore-files train.json)"
    )
    assert failure(tmp_path / "in", ignore=["train.json", "Test.txt"]) == f"{wanted} Test.txt, a, b.txt, train.json"
    write(tmp_path, "a\tb\tc\n", "valid.txt")
    write(tmp_path, "a\tb\tc\n", "valid.tsv")
    assert failure(tmp_path) == (
        "DIR: contains both valid.txt and valid.tsv; keep only one, or say which to read: splits={'valid': "
        "'valid.txt'} with ignore=['valid.tsv'] (--split-files valid=valid.txt --ignore-files valid.tsv)"
    )
    (tmp_path / "in" / "test.txt").mkdir()
    assert failure(tmp_path / "in", ignore=["train.json"]) == "DIR/test.txt: is not a file"


def test_the_first_faulty_split_is_named(tmp_path):
    """With faults in several files, train's is told before valid's before test's."""
    for split in ("test", "valid", "train"):
        write(tmp_path, f"a\t{split}\n", f"{split}.txt")
        assert failure(tmp_path) == f"DIR/{split}.txt, line 1: {FAULT} 2: 'a\\t{split}'"


def test_a_file_that_cannot_be_read(tmp_path, monkeypatch):
    """The system's reason is passed on with the path."""

    def deny(path):
        raise PermissionError(13, "Permission denied", str(path))

    write(tmp_path, "a\tb\tc\n")
    monkeypatch.setattr(Path, "read_bytes", deny)
    assert failure(tmp_path) == "DIR/test.txt: cannot be read: Permission denied"


def test_a_file_that_grows_meanwhile(tmp_path, monkeypatch):
    """A line added between check and parse is not read, or is an error; it is never taken unchecked."""
    file, real = write(tmp_path, "a\tb\tc\n"), pd.read_csv

    def grow(*args, **kwargs):
        file.write_bytes(b"a\tb\tc\nd\te\tf\n")
        return real(*args, **kwargs)

    monkeypatch.setattr(pd, "read_csv", grow)
    try:
        outcome = rows_of(kgeval.read_dataset(tmp_path), "test")
    except DataError as error:
        outcome = str(error)
    assert outcome in (
        [("a", "b", "c")],
        f"{file}: 1 lines were counted, 2 were read; did the file change?",
    )


def test_read_columns_reads_other_widths(tmp_path):
    """Four columns (s, p, o, score) come as four lists of strings; three are then too few."""
    file = write(tmp_path, "a\tb\tc\t1e5\r\na\tb\td\t007\r\n", "scores.tsv")
    assert [list(column) for column in read_columns(file, 4)] == [
        ["a", "a"],
        ["b", "b"],
        ["c", "d"],
        ["1e5", "007"],
    ]
    write(tmp_path, "a\tb\tc\t1\na\tb\tc\n", "scores.tsv")
    with pytest.raises(
        DataError, match=re.escape("line 2: expected 4 tab-separated columns (s, p, o, score), found 3")
    ):
        read_columns(file, 4)
    with pytest.raises(DataError) as caught:
        read_columns(tmp_path / "none.tsv")
    assert str(caught.value) == f"{tmp_path / 'none.tsv'}: no such file"


TABLE = {  # of the folder's README: entities, relations, train, valid, test, unseen triples, unseen entities
    "fb15k-237": (14541, 237, 272115, 17535, 20466, 28, 29),
    "wn18rr": (40943, 11, 86835, 3034, 3134, 210, 209),
    "wn18": (40943, 18, 141442, 5000, 5000, 0, 0),
    "umls": (135, 46, 5216, 652, 661, 0, 0),
    "kinship": (104, 25, 8544, 1068, 1074, 0, 0),
    "nations": (14, 55, 1592, 199, 201, 0, 0),
    "countries-s1": (271, 2, 1111, 24, 24, 0, 0),
    "codex-s": (2034, 42, 32888, 1827, 1828, 0, 0),
}


@pytest.mark.parametrize("name", TABLE)
def test_real_datasets_have_their_published_counts(shared, name):
    """Counts as published, rows as str.split reads them, and no label with a line end in it."""
    dataset = kgeval.read_dataset(shared / "data" / name)
    unseen = dataset.unseen["test"]
    sizes = [
        len(dataset.entities),
        len(dataset.relations),
        *(len(dataset[s]) for s in ("train", "valid", "test")),
    ]
    assert (*sizes, unseen["triples"], unseen["entities"]) == TABLE[name]
    assert (unseen["relations"], dataset.name, dataset.suspicious_order) == (0, name, "")
    assert not any(set("\r\n\t") & set(label) for label in dataset.entities.labels + dataset.relations.labels)
    for split in ("valid", "test"):
        assert rows_of(dataset, split) == naive((shared / "data" / name / f"{split}.txt").read_bytes())


def test_fb15k237_has_the_entities_of_another_list(shared):
    """RotatE's entities.dict and relations.dict (LF line ends) name the labels of ConvE's files (CRLF)."""
    folder = shared / "data" / "fb15k-237"
    dataset = kgeval.read_dataset(folder)
    assert b"\r\n" in (folder / "test.txt").read_bytes()
    for words, name in ((dataset.entities, "entities.dict"), (dataset.relations, "relations.dict")):
        listed = [line.split("\t")[1] for line in (folder / name).read_text(encoding="utf-8").splitlines()]
        assert words.labels == tuple(sorted(listed))


SAY_HEADER = "use header=True (--header) if it is one, header=False (--no-header) if it is a triple"
HEADERS = [
    "source relation target",
    "from rel to",
    "head_id relation_id tail_id",
    "#head rel tail",
    "entity1 rel entity2",
]
HEADERS += [":START_ID :TYPE :END_ID", "headId relId tailId", "subj pred obj"]


@pytest.mark.parametrize("line", HEADERS)
@pytest.mark.light(3)
def test_s6_an_unknown_header_is_an_error_until_the_caller_says_what_it_is(tmp_path, line):
    """The words of headers in names that tell no order: yes needs `columns`, no keeps the line as a triple."""
    write(tmp_path, line.replace(" ", "\t") + "\na\tr\tb\nb\tr\tc\n")
    shown, names = ", ".join(line.split()), ",".join(line.split())
    by_name = (
        f"; for a header, columns={names!r} (--columns {names}) is enough: the columns of subject, relation, object"
        if line not in ("entity1 rel entity2", ":START_ID :TYPE :END_ID")
        else ""
    )
    assert failure(tmp_path) == f"DIR/test.txt, line 1: looks like a header ({shown}); {SAY_HEADER}{by_name}"
    by_name = kgeval.read_dataset(tmp_path, columns=names)
    assert rows_of(by_name, "test") == [("a", "r", "b"), ("b", "r", "c")]
    assert failure(tmp_path, header=True).startswith("DIR/test.txt, line 1: expected a header such as s, p, o; ")
    dataset = kgeval.read_dataset(tmp_path, header=True, columns="hrt")
    assert rows_of(dataset, "test") == [("a", "r", "b"), ("b", "r", "c")]
    assert rows_of(kgeval.read_dataset(tmp_path, header=False), "test")[0] == tuple(line.split())


def test_s6_a_first_line_that_occurs_nowhere_else_is_an_error(tmp_path):
    """Words of any language: three splits start with them, or one line among hundreds has a relation of its own."""
    for split in ("train", "valid", "test"):
        write(tmp_path, "droge\twirkt\tziel\n" + f"{split}\tr\ta\n" * 3, f"{split}.txt")
    said = "looks like a header (droge, wirkt, ziel) (its labels occur nowhere else); " + SAY_HEADER
    assert failure(tmp_path) == f"DIR/train.txt, line 1: {said}"
    assert len(kgeval.read_dataset(tmp_path, header=True, columns="hrt")["test"]) == 3
    assert len(kgeval.read_dataset(tmp_path, header=False)["test"]) == 4
    for split in ("valid", "test"):
        (tmp_path / f"{split}.txt").unlink()
    write(tmp_path, "droge\twirkt\tziel\n" + "a\tr\tb\n" * 120, "train.txt")
    assert failure(tmp_path) == f"DIR/train.txt, line 1: {said}"
    write(tmp_path, "droge\twirkt\tziel\n" + "a\tr\tb\n" * 12, "train.txt")
    assert len(kgeval.read_dataset(tmp_path)["train"]) == 13


def test_s6_the_first_line_of_every_file_of_a_split_is_tested(tmp_path):
    """A header in the second file of train, and one in both of its files."""
    write(tmp_path, "a\tr\tb\n" * 120, "train.txt")
    write(tmp_path, "kopf\tbezug\tschwanz\n" + "a\tr\tb\n" * 4, "facts.txt")
    write(tmp_path, "a\tr\tb\n")
    splits = {"train": ["train.txt", "facts.txt"]}
    said = "DIR/{}, line 1: looks like a header (kopf, bezug, schwanz) (its labels occur nowhere else); " + SAY_HEADER
    assert failure(tmp_path, splits=splits) == said.format("facts.txt")
    assert len(kgeval.read_dataset(tmp_path, splits=splits, header=False)["train"]) == 125
    write(tmp_path, "kopf\tbezug\tschwanz\n" + "a\tr\tb\n" * 6, "train.txt")
    assert failure(tmp_path, splits=splits) == said.format("train.txt")


def test_a_declared_header_that_is_a_triple_is_an_error(tmp_path):
    """The relation and an entity of the first line occur below: nothing is dropped without a word."""
    write(tmp_path, "a\tr\tb\nb\tr\tc\na\tq\tc\n")
    assert failure(tmp_path, header=True, columns="hrt") == (
        "DIR/test.txt, line 1: looks like a triple, not like a header (a, r, b): its labels occur below; "
        "use header=False (--no-header)"
    )
    write(tmp_path, "h\tt\tr\nb\tc\tr\n")
    assert failure(tmp_path, header=True, columns="hrt") == (
        "DIR/test.txt, line 1: columns='hrt' contradicts the header (h, t, r); leave one of them out"
    )


@pytest.mark.parametrize("gap", ["\t", " "])
@pytest.mark.parametrize(
    "triple", ["<a> <r> <b> .", '<a> <r> "text"@en .', "_:x <r> _:y .", "<a> <r> <b>.", '<a> <r> "1"^^<int> .']
)
@pytest.mark.light(4)
def test_s5_n_triples_are_refused_by_name(tmp_path, gap, triple):
    """With tabs, the objects would end in ' .'; comments may stand above."""
    write(tmp_path, "# made by hand\n" + triple.replace(" ", gap) + "\n")
    assert failure(tmp_path) == (
        "DIR/test.txt, line 2: looks like N-Triples (<s> <p> <o> .); rename the file to end in .nt, or use format='rdf'"
        " (--dataset-format rdf) and name the files of the splits: splits= (--split-files)"
    )


@pytest.mark.parametrize("fact", ["<a>\t<r>\t<b>", "a\tr\tU.S.", "<a>\t<r>\tInc."])
def test_labels_in_angle_brackets_are_labels(tmp_path, fact):
    """YAGO's TSV files have no final dot."""
    write(tmp_path, fact + "\n")
    assert rows_of(kgeval.read_dataset(tmp_path), "test") == [tuple(fact.split("\t"))]


def test_g11_a_very_wide_line_is_refused_before_it_is_parsed(tmp_path, monkeypatch):
    """Pandas takes half a millisecond for each column too many."""
    monkeypatch.setattr(pd, "read_csv", None)  # must not be called
    write(tmp_path, "a\tb\tc\n" + "x\t" * 100_000 + "x\n")
    assert failure(tmp_path).startswith(f"DIR/test.txt, line 2: {FAULT} 100001: 'x\\tx\\tx")


def test_g21_pipes_are_refused_by_name(tmp_path):
    """Standard input and named pipes are no folders, no splits and no tables of scores."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for name in ("-", str(pipe), "/dev/stdin"):
        with pytest.raises(DataError) as caught:
            kgeval.read_dataset(name)
        assert str(caught.value).startswith(f"{name}: ")
    assert failure(pipe) == "DIR: a dataset is a folder of files; it cannot be read from a pipe"
    said = f"{pipe}: is a pipe or a device; write its content to a file, and give the name of the file"
    with pytest.raises(DataError) as caught:
        kgeval.read_scores(pipe)
    assert str(caught.value) == said
    (tmp_path / "data").mkdir()
    with pytest.raises(DataError) as caught:
        kgeval.read_dataset(tmp_path / "data", splits={"test": pipe})
    assert str(caught.value) == said
    with pytest.raises(DataError) as caught:
        kgeval.read_scores("-")
    assert str(caught.value) == "-: standard input is not read; write it to a file, and give the name of the file"


@pytest.mark.parametrize("columns", ["htr", "trh", "osp"])
@pytest.mark.light(2)
def test_the_order_of_the_columns_can_be_said(tmp_path, columns):
    """The letters stand for the columns of every file; with a label or a score, for the first three."""
    fact = {"h": "Jack", "s": "Jack", "r": "likes", "p": "likes", "t": "Rome", "o": "Rome"}
    line = "\t".join(fact[letter] for letter in columns)
    write(tmp_path, line + "\n")
    assert rows_of(kgeval.read_dataset(tmp_path, columns=columns), "test") == [("Jack", "likes", "Rome")]
    write(tmp_path, line + "\t1\n")
    assert rows_of(kgeval.read_dataset(tmp_path, columns=columns, labelled=True), "test") == [("Jack", "likes", "Rome")]
    scores = kgeval.read_scores(tmp_path / "test.txt", columns=columns)
    assert scores.iloc[0].tolist() == ["Jack", "likes", "Rome", 1.0]
    dataset = kgeval.read_dataset(tmp_path, columns=columns, labelled=True)
    write(tmp_path, line + "\n", "test_negatives.txt")
    assert kgeval.read_negatives(tmp_path, dataset, columns=columns)["test"].tolist() == [[0, 0, 1]]


@pytest.mark.parametrize("name", TABLE)
def test_real_datasets_are_not_suspected_and_in_another_order_are(shared, tmp_path, name):
    """As labels and as ids: read as they are, refused as head, tail, relation."""
    folder = shared / "data" / name
    dataset = kgeval.read_dataset(folder)
    for as_ids in (False, True):
        for split, triples in dataset.splits.items():
            rows = pd.DataFrame(triples.array.astype(str) if as_ids else rows_of(dataset, split))
            for order, place in (([0, 1, 2], "spo"), ([0, 2, 1], "sop")):
                (tmp_path / place).mkdir(exist_ok=True)
                text = "".join("\t".join(row) + "\n" for row in rows[order].to_numpy())
                (tmp_path / place / f"{split}.txt").write_text(text, encoding="utf-8")
        assert len(kgeval.read_dataset(tmp_path / "spo")["test"]) == len(dataset["test"])
        assert failure(tmp_path / "sop").startswith("DIR: the columns look like head, tail, relation: ")
