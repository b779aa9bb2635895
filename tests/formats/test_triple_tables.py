"""Tables of triples in the usual forms: CSV, other separators, Parquet, named columns, further columns, one file."""

import csv
import io
import random

import numpy as np
import pandas as pd
import pytest
from grids import light, size

import kgeval as kg
from kgeval.base import limits
from kgeval.errors import DataError, MissingExtra
from kgeval.formats import parquet_tables
from kgeval.formats.text_tables import check_separator, read_columns
from kgeval.formats.triple_tables import read_table

FACTS = {
    "train": [("a", "r", "b"), ("b", "r", "c"), ("b", "q", "c")],
    "valid": [("c", "r", "a")],
    "test": [("a", "r", "c"), ("c", "q", "a")],
}
SAY = "; say what each column holds, such as columns='h,r,t,time' (--columns h,r,t,time; - leaves a column out), or "
SAY += "header=True (--header) if this line names the columns; to rank facts with times, also choose filter_by= "
SAY += "(--filter-by time or none)"
KEPT = "the column time is kept as a time"


def write(folder, suffix, lines_of):
    """Write each split with a function of its triples."""
    for split, facts in FACTS.items():
        (folder / f"{split}{suffix}").write_bytes(lines_of(facts).encode())
    return folder


def joined(sep, head="", end="\n"):
    """A function that joins the labels of each triple."""
    return lambda facts: head + "".join(sep.join(fact) + end for fact in facts)


def rows_of(dataset, split):
    """The triples of a split as labels."""
    e, r = dataset.entities.labels, dataset.relations.labels
    return [(e[s], r[p], e[o]) for s, p, o in np.asarray(dataset[split]).tolist()]


def facts_of(dataset):
    """All splits as labels."""
    return {split: rows_of(dataset, split) for split in dataset.splits}


def failure(folder, **options):
    """The message of the error, with the folder taken out."""
    with pytest.raises(DataError) as caught:
        kg.read_dataset(folder, **options)
    return str(caught.value).replace(str(folder), "DIR")


@pytest.mark.parametrize(
    ("suffix", "sep", "said"),
    [
        (".csv", ",", None),
        (".csv", ";", ";"),
        (".csv", "\t", "tab"),
        (".csv", "|", "|"),
        (".txt", ",", "comma"),
        (".txt", ",", ","),
        (".tsv", "\t", "\\t"),
        (".txt", "\t", None),
        (".txt", " ", " "),
        (".txt", " ", "space"),
        (".txt", " \t  ", "whitespace"),
        (".txt", "\x01", "\x01"),
    ],
)
@pytest.mark.parametrize("end", light(["\n", "\r\n", "\r"], 1))
@pytest.mark.light(3)
def test_separators(tmp_path, suffix, sep, said, end):
    """By the name of the file, or as the caller says; the same triples come out, whatever the line ends."""
    write(tmp_path, suffix, joined(sep, end=end))
    assert facts_of(kg.read_dataset(tmp_path, sep=said)) == FACTS


def test_whitespace_around_lines_does_not_count(tmp_path):
    """Spaces in front and at the end; a blank line is no triple."""
    (tmp_path / "test.txt").write_text("  a  r\tb \n\tc r\t\ta\t\r\n")
    assert rows_of(kg.read_dataset(tmp_path, sep="whitespace"), "test") == [("a", "r", "b"), ("c", "r", "a")]
    (tmp_path / "test.txt").write_text("a r b\n  \nc r a\n")
    assert failure(tmp_path, sep="whitespace") == (
        "DIR/test.txt, line 2: expected 3 whitespace-separated columns (s, p, o), found 0: ''"
    )
    (tmp_path / "test.txt").write_text("a  r b\n")
    assert failure(tmp_path, sep=" ").startswith(
        "DIR/test.txt, line 1: expected 3 space-separated columns (s, p, o), found 4: 'a  r b'"
    )


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("test.txt", "a b c", "1: 'a b c'; if spaces separate the columns, say sep='whitespace' (--sep whitespace)"),
        ("test.txt", "a,b,c", "1: 'a,b,c'; if commas separate the columns, say sep=',' (--sep ,)"),
        ("test.tsv", "a|b|c", "1: 'a|b|c'; if bars separate the columns, say sep='|' (--sep '|')"),
        ("test.csv", "a b c", "1: 'a b c'; if spaces separate the columns, say sep='whitespace' (--sep whitespace)"),
        ("test.csv", "a,b", "2: 'a,b'"),
    ],
)
def test_another_separator_is_asked_about(tmp_path, name, line, said):
    """Never taken without a word."""
    (tmp_path / name).write_text(line + "\n")
    kind = "comma" if name.endswith(".csv") else "tab"
    assert failure(tmp_path) == f"DIR/{name}, line 1: expected 3 {kind}-separated columns (s, p, o), found {said}"


@pytest.mark.parametrize(
    ("text", "other", "typed"),
    [("a;r;b\nc;r;a\n", ";", "';'"), ("a\tr\tb\n", "\\t", "tab"), ("x,1;r;b,2\ny,1;r;c,2\n", ";", "';'")],
)
@pytest.mark.light(2)
def test_a_csv_file_that_may_have_another_separator_is_asked_about(tmp_path, text, other, typed):
    """Also where three comma-separated columns could be read: 'x', '1;r;b', '2'."""
    (tmp_path / "test.csv").write_text(text)
    assert failure(tmp_path) == (
        f"DIR/test.csv, line 1: the columns may be separated by '{other}' instead of commas: "
        f"{text.splitlines()[0]!r}; say which: sep='{other}' (--sep {typed}) or sep=',' (--sep ,)"
    )
    assert len(kg.read_dataset(tmp_path, sep=other).relations) == 1
    (tmp_path / "test.csv").write_text("a;1;2,r,b\nb;1,r,c\n")  # semicolons in labels, not equally many
    assert kg.read_dataset(tmp_path).entities.labels == ("a;1;2", "b", "b;1", "c")


@pytest.mark.parametrize("sep", ["", ", ", "::", "ab", "x", "7", '"', "\n", "\u00a6", 3, "Tab"])
def test_separators_must_be_one_character(sep):
    """No letter, no digit, no quote, no line end, nothing beyond ASCII."""
    with pytest.raises(DataError) as caught:
        check_separator(sep)
    assert str(caught.value) == (
        "sep must be one ASCII character, such as ',' or ';', or one of the words tab, comma, space and whitespace "
        f"(any number of spaces and tabs); got {sep!r}"
    )


ALPHABET = ["a", "b", '"', ",", ";", " ", "'", "\u00e9", "\u6771", "\U0001f600", "\r", "\n", "NA", "7", "\t", "\u2028"]


def random_facts(rng, alphabet, n):
    """Random triples of random labels that are not empty; relations differ from entities."""
    labels = ["".join(rng.choices(alphabet, k=rng.randint(1, 4))) for _ in range(8)]
    return [(rng.choice(labels), f"{rng.choice(labels)}:r", rng.choice(labels)) for _ in range(n)]


@pytest.mark.parametrize("seed", light(range(60), 3))
@pytest.mark.parametrize("sep", [",", ";"])
@pytest.mark.light(2)
def test_what_csv_writers_write_comes_back_exactly(tmp_path, seed, sep):
    """Quotes, separators, spaces, CR and LF in labels: csv.writer and pandas, with and without quotes everywhere."""
    rng = random.Random(seed)
    facts = random_facts(rng, ALPHABET, 12)
    quoting = rng.choice([csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    plain = random_facts(rng, [letter for letter in ALPHABET if letter not in "\r\n"], 12)
    for rows, rule in ((facts, quoting), (plain, csv.QUOTE_MINIMAL)):
        for end in ("\n", "\r\n"):
            text = io.StringIO(newline="")
            csv.writer(text, delimiter=sep, quoting=rule, lineterminator=end).writerows(rows)
            texts = [text.getvalue()]
            frame = pd.DataFrame(rows, columns=list("spo"))
            texts.append(frame.to_csv(index=False, sep=sep, quoting=rule, lineterminator=end))
            for i, written in enumerate(texts):
                (tmp_path / "test.csv").write_bytes(written.encode())
                dataset = kg.read_dataset(tmp_path, sep=sep, columns="hrt", header=bool(i))
                assert rows_of(dataset, "test") == rows, (rule, end, i)


@pytest.mark.parametrize("seed", light(range(40), 4))
def test_what_pyarrow_writes_comes_back_exactly(tmp_path, seed):
    """CSV and Parquet, strings, dictionaries and integers."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs kgeval[parquet]")
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    rng = random.Random(seed)
    facts = [fact for fact in random_facts(rng, ALPHABET, 14) if all(label.strip() for label in fact)]
    columns = [pyarrow.array(column) for column in zip(*facts)]
    table = pyarrow.table(columns, names=["head", "relation", "tail"])
    arrow_csv.write_csv(table, tmp_path / "test.csv")
    assert rows_of(kg.read_dataset(tmp_path, header=True), "test") == facts
    (tmp_path / "test.csv").unlink()
    for kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())):
        parquet.write_table(
            table.cast(pyarrow.schema([(name, kind) for name in table.column_names])), tmp_path / "t.pq"
        )
        dataset = kg.read_dataset(tmp_path, splits={"test": "t.pq"})
        assert rows_of(dataset, "test") == facts
    if seed == 0:
        numbers = pyarrow.table([[10, 9], [0, 1], [9, 10]], names=["head", "relation", "tail"])
        parquet.write_table(numbers, tmp_path / "t.pq")
        dataset = kg.read_dataset(tmp_path, splits={"test": "t.pq"})
        assert rows_of(dataset, "test") == [("10", "0", "9"), ("9", "1", "10")]


@pytest.mark.parametrize("seed", light(range(30), 3))
def test_quoted_text_is_read_as_by_the_csv_module_or_refused(tmp_path, seed):
    """Random characters: the rows of csv.reader where it is sure, else an error; never anything else."""
    rng, outcomes = random.Random(seed), set()
    for _ in range(size(6, 300)):
        labels = ["a", "b", '"a"', '"b,"', '""""', '"a\nb"', 'a"', '"', '""', '"a"b', "", "a,b"]
        weights = [9] * 6 + [1] * 6
        raw = "".join(",".join(rng.choices(labels, weights, k=3)) + "\n" for _ in range(rng.randint(1, 3)))
        (tmp_path / "test.csv").write_text(raw, newline="")
        try:
            rows = list(csv.reader(io.StringIO(raw.rstrip("\n"), newline=""), strict=True))
        except csv.Error:
            rows = None
        good = rows and all(len(row) == 3 and all(row) for row in rows)
        try:
            found = rows_of(kg.read_dataset(tmp_path, columns="hrt", header=False), "test")
        except DataError as error:
            assert not good or "separated by" in str(error), raw
            found = None
        assert found is None or found == [tuple(row) for row in rows], raw
        outcomes.add(found is None)
    assert outcomes == {True, False}


@pytest.mark.parametrize("sep", [";", "|", " ", "whitespace"])
@pytest.mark.light(2)
def test_random_text_is_read_as_by_split_or_refused_at_the_first_fault(tmp_path, sep):
    """Random characters without quotes: the pieces of str.split, or an error with the number of the first bad line."""
    rng, outcomes = random.Random(sep), set()
    space = [" ", "\t", "  "] if sep == "whitespace" else [sep]
    for _ in range(size(15, 800)):
        pieces = ["a", "b", "c1", "\u00e9", "\u00a0", ",", *space * 4]
        lines = ["".join(rng.choices(pieces, k=rng.randint(3, 8))) for _ in range(2)]
        lines += [
            rng.choice(space).join(rng.choices(["a", "b", "7", "\u2003x"], k=3)) for _ in range(rng.randint(1, 2))
        ]
        lines = rng.sample(lines, rng.randint(1, 3))
        (tmp_path / "test.txt").write_text("\n".join(lines), newline="")
        lines = "\n".join(lines).rstrip("\n \t" if sep == "whitespace" else "\n").split("\n")
        rows = [line.split(sep) for line in lines]
        if sep == "whitespace":
            rows = [[piece for piece in line.replace("\t", " ").split(" ") if piece] for line in lines]
        faults = [i for i, row in enumerate(rows, start=1) if len(row) != 3 or "" in row]
        outcomes.add(bool(faults))
        if faults:
            assert failure(tmp_path, sep=sep, columns="hrt").startswith(f"DIR/test.txt, line {faults[0]}: ")
        else:
            dataset = kg.read_dataset(tmp_path, sep=sep, columns="hrt", header=False)
            assert rows_of(dataset, "test") == [tuple(row) for row in rows]
    assert outcomes == {True, False}


def test_faults_of_quotes_name_the_line(tmp_path):
    """An open quote, text behind a quote, an empty label, the wrong number of labels below a label of two lines."""
    start = "the double quotes of a label are not closed, or text follows them ("
    for text, line, said in (
        ('a,r,b\n"c,r,d\n', 2, start),
        ('a,r,"b"x\n', 1, start),
        ('"a\nb",r,c\nd,r\n', 3, "expected 3 comma-separated columns (s, p, o), found 2: 'd,r'"),
        ('a,"",c\n', 1, "column 2 is empty: 'a,,c'"),
        ('"a",r,b\n\nc,r,d\n', 2, "expected 3 comma-separated columns (s, p, o), found 0: ''"),
    ):
        (tmp_path / "test.csv").write_text(text)
        assert failure(tmp_path).startswith(f"DIR/test.csv, line {line}: {said}"), text
    (tmp_path / "test.csv").write_bytes(b'"a",r,b\n"\xff",r,b\n')
    assert failure(tmp_path).endswith("line 2: invalid UTF-8 at byte 9 of the file (0xff); save the file as UTF-8")


def test_quotes_in_the_middle_are_part_of_a_label(tmp_path):
    """As most programs write a label such as 5" pipe; tab-separated labels keep all their quotes."""
    (tmp_path / "test.csv").write_text('5" pipe,r,"x"\n')
    assert rows_of(kg.read_dataset(tmp_path), "test") == [('5" pipe', "r", "x")]
    (tmp_path / "test.csv").unlink()
    (tmp_path / "test.tsv").write_text('"a"\tr\t"b\n')
    assert rows_of(kg.read_dataset(tmp_path), "test") == [('"a"', "r", '"b')]


NAMED = [
    ("source,relation,target", "source,relation,target"),
    ("target,source,relation", "source,relation,target"),
    ("from,to,rel", "from,rel,to"),
    ("head_id,tail_id,relation_id", "head_id,relation_id,tail_id"),
    ("#head,rel,tail", "#head,rel,tail"),
    ("x,y,z", "z,x,y"),
]


@pytest.mark.parametrize(("head", "columns"), NAMED)
@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.light(2)
def test_columns_by_name(tmp_path, head, columns, as_list):
    """The names say where subject, relation and object are; no header needs to be announced."""
    place = {name: i for i, name in enumerate(columns.split(","))}
    order = [place[name] for name in head.split(",")]
    write(tmp_path, ".csv", lambda facts: f"{head}\n" + "".join(f"{','.join(f[i] for i in order)}\n" for f in facts))
    given = columns.split(",") if as_list else columns
    assert facts_of(kg.read_dataset(tmp_path, columns=given)) == FACTS
    assert facts_of(kg.read_dataset(tmp_path, columns=given, header=True)) == FACTS
    assert failure(tmp_path, columns=given, header=False) == (
        f"DIR/train.csv: columns={columns!r} names the columns of a header, but header=False (--no-header) says that "
        "there is no header; say the order of the columns: columns='hrt' or 'htr' (--columns hrt)"
    )


def test_s6_a_header_is_asked_about_and_the_names_are_proposed(tmp_path):
    """The error holds the option that reads the file."""
    write(tmp_path, ".csv", joined(",", "source,relation,target\n"))
    proposal = "columns='source,relation,target' (--columns source,relation,target)"
    assert failure(tmp_path) == (
        "DIR/train.csv, line 1: looks like a header (source, relation, target); use header=True (--header) if it is one"
        f", header=False (--no-header) if it is a triple; for a header, {proposal} is enough: the columns of "
        "subject, relation, object"
    )
    assert f", or their names: {proposal}" in failure(tmp_path, header=True)
    assert facts_of(kg.read_dataset(tmp_path, columns="source,relation,target")) == FACTS
    write(tmp_path, ".csv", joined(",", "head,relation,tail\n"))
    assert failure(tmp_path).endswith("looks like a header (head, relation, tail); use header=True (--header)")
    assert facts_of(kg.read_dataset(tmp_path, header=True)) == FACTS


def test_names_that_contradict_their_place_are_an_error(tmp_path):
    """An order of the columns in place of the order subject, relation, object would swap relation and object."""
    write(tmp_path, ".csv", joined(",", "from,to,rel\n"))
    assert failure(tmp_path, columns="from,to,rel") == (
        "columns='from,to,rel': the relation cannot be in a column named 'to'; give the names of the columns that hold "
        "subject, relation and object, in this order: columns='from,rel,to' (--columns from,rel,to)"
    )
    assert failure(tmp_path, columns="from,rel,too") == (
        "DIR/train.csv, line 1: no column 'too', which columns='from,rel,too' names; got from, to, rel"
    )
    write(tmp_path, ".csv", joined(",", "x,x,z\n"))
    assert failure(tmp_path, columns="x,y,z").startswith("DIR/train.csv, line 1: duplicate column 'x', which columns=")
    write(tmp_path, ".csv", joined(",", "h,t,r\n"))
    assert failure(tmp_path, columns="h,r,t", header=True) == (
        "DIR/train.csv, line 1: columns='hrt' contradicts the header (h, t, r); leave one of them out"
    )


def test_s4_the_order_is_asked_about(tmp_path):
    """Comma-separated head, tail, relation; `columns` says the order."""
    ring = [(f"e{i}", f"r{i % 2}", f"e{(i + 1) % 7}") for i in range(7)]
    (tmp_path / "test.csv").write_text("".join(f"{s},{o},{p}\n" for s, p, o in ring))
    assert failure(tmp_path).startswith("DIR: the columns look like head, tail, relation: ")
    assert rows_of(kg.read_dataset(tmp_path, columns="htr"), "test") == ring
    assert failure(tmp_path / "test.csv").startswith("DIR: the columns look like head, tail, relation: ")


@pytest.mark.parametrize("header", [None, True])
def test_further_columns_are_kept(tmp_path, header):
    """Time with values of whole numbers, weight with missing values, words; by header or by `columns`."""
    head = "head,relation,tail,time,weight,source\n" if header else ""
    (tmp_path / "train.csv").write_text(f"{head}a,r,b,2010,0.50,x\nb,r,c,9,,\n")
    (tmp_path / "test.csv").write_text(f"{head}a,r,c,11,3,y\n")
    columns = None if header else "h,r,t,time,weight,source"
    dataset = kg.read_dataset(tmp_path, header=header, columns=columns)
    train = dataset.columns["train"]
    assert train["time"].tolist() == [2010, 9]
    assert (train["time"].dtype, train["weight"].dtype) == (np.int64, np.float64)
    assert train["weight"].tolist()[0] == 0.5
    assert np.isnan(train["weight"].tolist()[1])
    assert (train["source"][0], train["source"].isna().tolist()) == ("x", [False, True])
    assert dataset.columns["test"].iloc[0].tolist() == [11, 3, "y"]
    assert dataset.observations()[:2] == [
        "the column time is kept as a time",
        "the columns weight, source are kept for breakdowns; the filter compares them only if filter_by names them",
    ]
    assert rows_of(dataset, "train") == [("a", "r", "b"), ("b", "r", "c")]
    plain = kg.read_dataset(tmp_path, header=header, columns=columns and "h,r,t,time,-,-") if columns else dataset
    assert plain.fingerprint == dataset.fingerprint


def test_further_columns_without_names_are_asked_about(tmp_path):
    """Four tab-separated columns, and an order that names only three of them."""
    write(tmp_path, ".txt", joined("\t", end="\t2010\n"))
    assert failure(tmp_path) == (
        "DIR/train.txt, line 1: expected 3 tab-separated columns (s, p, o), found 4: 'a\\tr\\tb\\t2010'" + SAY
    )
    assert failure(tmp_path, columns="hrt").endswith(SAY)
    dataset = kg.read_dataset(tmp_path, columns="h,r,t,time")
    assert (facts_of(dataset), dataset.observations()) == (FACTS, [KEPT])
    assert dataset.columns["valid"]["time"].tolist() == [2010]
    left_out = kg.read_dataset(tmp_path, columns=["h", "r", "t", "-"])
    assert (facts_of(left_out), left_out.columns, left_out.observations()) == (FACTS, {}, [])
    assert failure(tmp_path, columns="h,r,t,from,until").endswith(
        "line 1: expected 5 tab-separated columns (h, r, t, from, until), found 4: 'a\\tr\\tb\\t2010'"
    )
    (tmp_path / "train.txt").write_text("a\tr\tb\t\n")
    assert kg.read_dataset(tmp_path, columns="h,r,t,time").columns["train"]["time"].isna().tolist() == [True]


def test_columns_of_a_header_that_are_not_read(tmp_path):
    """The index that pandas writes has no name; two columns of one name cannot be told apart."""
    (tmp_path / "test.csv").write_text(",head,relation,tail\n0,a,r,b\n1,b,r,a\n")
    dataset = kg.read_dataset(tmp_path, header=True)
    assert rows_of(dataset, "test") == [("a", "r", "b"), ("b", "r", "a")]
    assert "columns ignored: column 1 (without a name)" in dataset.observations()
    (tmp_path / "test.csv").write_text("head,relation,tail,time,time\na,r,b,1,2\n")
    assert failure(tmp_path, header=True) == "DIR/test.csv, line 1: duplicate column 'time'; keep only one"


@pytest.mark.parametrize("values", [("1", "-1"), ("0", "1"), ("True", "false")])
@pytest.mark.light(2)
def test_a_column_that_may_hold_truth_labels_is_a_caution(tmp_path, values):
    """Whatever its name: a weight of 1 and -1 is probably none."""
    rows = "".join(f"a\tr\t{i}\t{values[i % 2]}\n" for i in range(4))
    (tmp_path / "test.txt").write_text(rows)
    both = " and ".join(sorted(value.lower() for value in values))
    said = (
        f"the column weight holds only {both}: if it marks true and false triples, false triples are read as true too"
    )
    assert said in kg.read_dataset(tmp_path, columns="h,r,t,weight").observations()
    (tmp_path / "test.txt").write_text(rows.replace(values[1] + "\n", "2\n"))
    assert said not in kg.read_dataset(tmp_path, columns="h,r,t,weight").observations()


def test_names_that_contradict_the_order_are_an_error(tmp_path):
    """The order `hrt` for columns that are named from, to, rel would read objects as relations."""
    (tmp_path / "test.tsv").write_text("from\tto\trel\na\tb\tr\nb\ta\tr\n")
    said = "the relation cannot be in a column named 'to'; give the names of the columns that hold subject, relation "
    said += "and object, in this order: columns='from,rel,to' (--columns from,rel,to)"
    assert failure(tmp_path, header=True, columns="hrt") == (
        f"DIR/test.tsv, line 1: columns='hrt' contradicts the header (from, to, rel): {said}"
    )
    assert rows_of(kg.read_dataset(tmp_path, header=True, columns="htr"), "test") == [("a", "r", "b"), ("b", "r", "a")]
    frame = pd.DataFrame([["a", "b", "r"]], columns=["from", "to", "rel"])
    with pytest.raises(DataError, match="contradicts the column names") as caught:
        kg.Dataset.from_frames(test=frame, columns="hrt")
    assert str(caught.value).endswith(said)


@pytest.mark.parametrize("end", [" .", "\t."])
def test_s5_prefixed_names_that_end_in_a_dot(tmp_path, end):
    """Lines of Turtle with tabs: the dot would become part of each object."""
    (tmp_path / "test.tsv").write_text("".join(f"x:a\tx:r\tx:{o}{end}\n" for o in "bcd"))
    assert ("ends with ' .'" if end == " ." else "found 4") in failure(tmp_path)
    (tmp_path / "test.tsv").write_text("a\tr\tb .\na\tr\tc\n")
    assert rows_of(kg.read_dataset(tmp_path), "test") == [("a", "r", "b ."), ("a", "r", "c")]


def test_spaces_before_quotes_are_asked_about(tmp_path):
    """The quotes would become part of the label: two labels for one entity."""
    (tmp_path / "test.csv").write_text('"a", "r", "b"\n"b", "r", "a"\n')
    assert failure(tmp_path) == (
        "DIR/test.csv, line 1: a space stands before the double quotes of ' \"r\"', so they would belong to the label; "
        "remove the spaces after commas"
    )


def test_columns_that_select_rows_are_refused(tmp_path):
    """A truth label or a split in a further column: false triples, and those of another split, would count as true."""
    (tmp_path / "test.csv").write_text("head,relation,tail,label\na,r,b,1\nb,r,a,-1\n")
    assert failure(tmp_path, header=True) == (
        "DIR/test.csv: the column 'label' marks triples as false, but all lines of the file would be read as true; "
        "in a folder, use labelled=True (--labelled) if it does, or leave the column out "
        "(columns='h,r,t,-')"
    )
    dataset = kg.read_dataset(tmp_path, header=True, labelled=True)
    assert (rows_of(dataset, "test"), dataset.columns) == ([("a", "r", "b")], {})
    assert kg.read_negatives(tmp_path, dataset, header=True, labelled=True)["test"].tolist() == [[1, 0, 0]]
    (tmp_path / "test.csv").write_text("head,relation,tail,split\na,r,b,train\nb,r,a,test\n")
    assert failure(tmp_path, header=True) == (
        "DIR/test.csv: the column 'split' names splits ('test', 'train'), but all lines of the file would be read as "
        "test; give one file per split, or leave the column out (columns='h,r,t,-')"
    )


@pytest.mark.parametrize("columns", ["h,r,t,truth,time", "h,r,t,time,label"])
def test_truth_labels_beside_further_columns(tmp_path, columns):
    """The column named like a truth label is one; the others are kept for the true triples."""
    values = {"truth": ("true", "False"), "label": ("1", "0"), "time": ("7", "8")}
    names = columns.split(",")[3:]
    for split in ("valid", "test"):
        lines = [",".join(["a", "r", "bc"[i], *(values[name][i] for name in names)]) for i in range(2)]
        (tmp_path / f"{split}.csv").write_text("\n".join(lines))
    dataset = kg.read_dataset(tmp_path, columns=columns, labelled=True)
    assert rows_of(dataset, "test") == [("a", "r", "b")]
    assert dataset.columns["test"].to_dict("list") == {"time": [7]}
    negatives = kg.read_negatives(tmp_path, dataset, columns=columns, labelled=True)
    assert negatives["valid"].tolist() == [[0, 0, 2]]
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / "test.csv", "test", columns="h,r,t,u,v", labelled=True)
    assert str(caught.value).endswith(
        "needs one column that says whether a triple is true, named label or truth; got u, v"
    )


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "-20"], [1, -20]),
        (["0.5", "1e3"], [0.5, 1000.0]),
        (["007", "7"], ["007", "7"]),
        (["1", ""], [1, None]),
        (["12345678901234567890", "1"], ["12345678901234567890", "1"]),
        (["nan", "1"], ["nan", "1"]),
        (["2010-01-01", "x"], ["2010-01-01", "x"]),
        (["+5", "-0"], [5.0, 0.0]),
    ],
)
@pytest.mark.light(4)
def test_numbers_in_further_columns(tmp_path, texts, values):
    """Numbers only where the number says all that the text says."""
    (tmp_path / "test.txt").write_text("".join(f"a\tr\tb\t{text}\n" for text in texts))
    found = kg.read_dataset(tmp_path, columns="h,r,t,x").columns["test"]["x"].tolist()
    assert [None if pd.isna(value) else value for value in found] == values
    assert [type(value) for value in found if not pd.isna(value)] == [type(v) for v in values if v is not None]


def parquet_file(path, frame, **options):
    """Write a Parquet file; skip without pyarrow."""
    pytest.importorskip("pyarrow", reason="needs kgeval[parquet]")
    frame.to_parquet(path, **options)
    return path


def test_parquet_columns_are_read_by_name(tmp_path):
    """Known names, names that the caller says, an order; further columns stay what they are."""
    for split, facts in FACTS.items():
        frame = pd.DataFrame(facts, columns=["head", "relation", "tail"])[["tail", "head", "relation"]]
        parquet_file(tmp_path / f"{split}.parquet", frame.assign(time=pd.Timestamp("2010-01-01")), index=False)
    dataset = kg.read_dataset(tmp_path)
    assert (facts_of(dataset), dataset.observations()) == (FACTS, [KEPT])
    assert dataset.columns["valid"]["time"].tolist() == [pd.Timestamp("2010-01-01")]
    for split, facts in FACTS.items():
        parquet_file(tmp_path / f"{split}.parquet", pd.DataFrame(facts, columns=["src", "edge", "dst"]))
    assert failure(tmp_path).startswith("DIR/train.parquet: expected columns named s, p, o; ")
    assert failure(tmp_path).endswith(
        "got src, edge, dst. Name the columns of subject, relation and object: columns='subject,relation,object' "
        "(--columns subject,relation,object)"
    )
    assert facts_of(kg.read_dataset(tmp_path, columns="src,edge,dst")) == FACTS
    assert facts_of(kg.read_dataset(tmp_path, columns="hrt")) == FACTS
    for option, value in (("header", True), ("sep", ",")):
        assert failure(tmp_path, columns="hrt", **{option: value}) == (
            f"DIR/train.parquet: a Parquet file names its columns itself; leave {option}={value!r} (--{option}) out"
        )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["a", None], "row 1, column 2: expected a string label; got "),
        ([1, None], "row 1, column 2: expected a string label; got None (NoneType)"),
        ([1.0, 2.0], "row 0, column 2: expected a string label; got 1.0 (float)"),
        ([b"a", b"b"], "row 0, column 2: expected a string label; got b'a' (bytes)"),
        ([True, False], "row 0, column 2: expected a string label; got True (bool)"),
        (["a", " "], "row 1, column 2: the label ' ' is empty or only white space"),
    ],
)
def test_parquet_values_that_are_no_labels(tmp_path, values, said):
    """Missing values, floats, bytes and blank labels, with their row."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs kgeval[parquet]")
    from pyarrow import parquet

    table = pyarrow.table({"s": ["a", "b"], "p": ["r", "r"], "o": values})
    parquet.write_table(table, tmp_path / "test.parquet")
    assert failure(tmp_path).startswith(f"DIR/test.parquet, {said}")


def test_parquet_truth_labels(tmp_path):
    """As in text: refused, or read with labelled=True."""
    frame = pd.DataFrame({"s": ["a", "b"], "p": ["r", "r"], "o": ["b", "a"], "label": [True, False], "w": [1, 2]})
    parquet_file(tmp_path / "test.parquet", frame)
    assert "the column 'label' marks triples as false" in failure(tmp_path)
    dataset = kg.read_dataset(tmp_path, labelled=True)
    assert rows_of(dataset, "test") == [("a", "r", "b")]
    assert dataset.columns["test"].to_dict("list") == {"w": [1]}
    assert kg.read_negatives(tmp_path, dataset, labelled=True)["test"].tolist() == [[1, 0, 0]]


def test_what_is_no_parquet_file(tmp_path, monkeypatch):
    """Damaged files are named; an old pyarrow, which runs code of a file, is not used; without it, the extra."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs kgeval[parquet]")
    (tmp_path / "test.parquet").write_bytes(b"PAR1")
    assert failure(tmp_path).startswith("DIR/test.parquet: is damaged, cut off, or no Parquet file: ")
    raw = parquet_file(tmp_path / "x.pq", pd.DataFrame({"s": ["a"], "p": ["r"], "o": ["b"]})).read_bytes()
    for n in range(0, len(raw), size(97, 7)):
        (tmp_path / "test.parquet").write_bytes(raw[:n])
        assert "is damaged, cut off, or no Parquet file" in failure(tmp_path, ignore=["x.pq"])
    monkeypatch.setattr(pyarrow, "__version__", "14.0.0")
    with pytest.raises(MissingExtra) as caught:
        parquet_tables.read_parquet(tmp_path / "x.pq")
    assert str(caught.value).endswith('this is 14.0.0: pip install "pyarrow>=14.0.1"')
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtra) as caught:
        kg.read_dataset(tmp_path / "x.pq")
    assert str(caught.value) == f'{tmp_path / "x.pq"}: reading .parquet needs pyarrow; pip install "kgeval[parquet]"'


def test_parquet_files_that_are_made_to_fill_the_memory(tmp_path, monkeypatch):
    """One row, repeated two hundred thousand times in a few thousand bytes."""
    monkeypatch.setattr(limits, "FREE_BYTES", 100_000)
    same = pd.DataFrame({"s": ["a"], "p": ["r"], "o": ["b"]}).loc[np.zeros(200_000, dtype=int)]
    parquet_file(tmp_path / "test.parquet", same, index=False)
    assert failure(tmp_path).startswith("DIR/test.parquet: unfolds to more than 100,000 bytes")


@pytest.mark.parametrize("name", ["all.tsv", "all.txt", "all.csv", "all.csv.gz", "all"])
@pytest.mark.light(2)
def test_one_file_becomes_the_split_train(tmp_path, name):
    """With a note that names split(); options of folders have no use."""
    import gzip

    facts = [fact for part in FACTS.values() for fact in part]
    raw = joined("," if ".csv" in name else "\t")(facts).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    dataset = kg.read_dataset(path)
    assert (facts_of(dataset), dataset.name) == ({"train": facts}, "all")
    assert dataset.observations()[0] == (
        "one file, so all triples are in the split train; dataset.split({'train': .8, 'valid': .1, 'test': .1})"
        " divides them into train, valid and test (on the command line: --split-fractions .8,.1,.1)"
    )
    for options in ({"splits": {"train": name}}, {"ignore": ["x"]}, {"labelled": True}):
        assert failure(path, **options).startswith("the format tab (one file) has no use for ")
    with pytest.raises(kg.ProtocolError, match=r"makes valid and test$"):
        dataset["test"]


def test_a_file_that_does_not_exist(tmp_path):
    """The nearest file is named; a name without the ending of a table is that of a folder."""
    (tmp_path / "triples.csv").write_text("a,r,b\n")
    assert failure(tmp_path / "triple.csv") == f"DIR: no such file; did you mean '{tmp_path / 'triples.csv'}'?"
    assert failure(tmp_path / "graph.tar.gz") == "DIR: no such file"
    assert failure(tmp_path / "graph") == "DIR: no such folder"


def test_other_names_by_splits_and_mixed_forms(tmp_path):
    """A CSV file as train, packed text as test; the name of a file tells how it is read."""
    (tmp_path / "facts.csv").write_text(joined(",")(FACTS["train"]))
    (tmp_path / "dev.csv").write_text(joined(",")(FACTS["valid"]))
    (tmp_path / "test.txt").write_text(joined("\t")(FACTS["test"]))
    dataset = kg.read_dataset(tmp_path, splits={"train": "facts.csv"})
    assert (facts_of(dataset), dataset.observations()) == (FACTS, ["dev.csv is read as the valid split"])
    (tmp_path / "dev.parquet").write_bytes(b"")
    assert failure(tmp_path, splits={"train": "facts.csv"}).startswith("DIR: contains both dev.csv and dev.parquet; ")


def test_unread_csv_files(tmp_path):
    """Beside CSV splits: a file with triples of the same labels is named, one with the name of a split is an error."""
    write(tmp_path, ".csv", joined(","))
    (tmp_path / "more.csv").write_text("a,q,b\nc,q,a\n")
    (tmp_path / "words.csv").write_text("a,the first,1\nb,the second,2\n")
    said = (
        "more.csv holds triples with labels of the dataset, but is not read; splits={'train': ['more.csv', "
        "'train.csv']} "
        "(--split-files train=more.csv+train.csv) reads it, ignore=['more.csv'] (--ignore-files more.csv) leaves it out"
    )
    assert kg.read_dataset(tmp_path).observations() == [said]
    (tmp_path / "more.csv").rename(tmp_path / "facts.csv")
    assert failure(tmp_path).startswith("DIR: facts.csv looks like a part of the dataset, but is not read; splits=")


def test_scores_have_their_own_columns(tmp_path):
    """Names of columns are for datasets; an order of three letters is for tables of scores too."""
    (tmp_path / "scores.tsv").write_text("a\tb\tr\t1\n")
    assert kg.read_scores(tmp_path / "scores.tsv", columns="htr").iloc[0].tolist() == ["a", "r", "b", 1.0]
    with pytest.raises(DataError, match=r"^columns must be 'hrt', 'htr' or another order"):
        read_columns(tmp_path / "scores.tsv", 4, columns="h,t,r,score")


@pytest.mark.parametrize("name", ["wn18rr", "codex-s", "umls", "countries-s1", "nations", "kinship"])
def test_real_datasets_in_other_forms(shared, tmp_path, name):
    """CSV, Parquet, packed text, an archive, other orders, one file: the fingerprint of the plain folder."""
    import shutil

    pytest.importorskip("pyarrow", reason="needs kgeval[parquet]")
    folder = shared / "data" / name
    wanted = kg.read_dataset(folder, format="tab")
    frames = {split: pd.DataFrame(rows_of(wanted, split), columns=["from", "rel", "to"]) for split in wanted.splits}
    forms = {
        "csv": (lambda f, p: f.to_csv(f"{p}.csv", index=False, header=False), {}),
        "quoted": (lambda f, p: f.to_csv(f"{p}.csv", index=False, quoting=csv.QUOTE_ALL), {"columns": "from,rel,to"}),
        "order": (lambda f, p: f[["to", "from", "rel"]].to_csv(f"{p}.csv", index=False), {"columns": "from,rel,to"}),
        "parquet": (lambda f, p: f.to_parquet(f"{p}.parquet"), {"columns": ["from", "rel", "to"]}),
        "packed": (lambda f, p: f.to_csv(f"{p}.csv.xz", index=False, header=False), {}),
        "timed": (
            lambda f, p: f.assign(t=range(len(f))).to_csv(f"{p}.txt", index=False, header=False, sep="|"),
            {"columns": "h,r,t,time", "sep": "|"},
        ),
    }
    for form, (save, options) in forms.items():
        (tmp_path / form).mkdir()
        for split, frame in frames.items():
            save(frame, tmp_path / form / split)
        dataset = kg.read_dataset(tmp_path / form, **options)
        assert (dataset.fingerprint == wanted.fingerprint) == (form != "timed"), form  # times are part of it
        if form == "timed":
            assert dataset.columns["test"]["time"].tolist() == list(range(len(frames["test"])))
    (tmp_path / "plain").mkdir()
    for split in wanted.splits:
        shutil.copy(folder / f"{split}.txt", tmp_path / "plain")
    for kind, ending in (("zip", ".zip"), ("gztar", ".tar.gz")):
        shutil.make_archive(str(tmp_path / name), kind, tmp_path, "plain")
        assert kg.read_dataset(tmp_path / f"{name}{ending}").fingerprint == wanted.fingerprint
    pd.concat(frames.values()).to_csv(tmp_path / "all.csv", index=False, header=False)
    parts = kg.read_dataset(tmp_path / "all.csv").split({"train": 0.9, "valid": 0.05, "test": 0.05}, split_seed=1)
    assert (parts.unseen["test"]["triples"], parts.overlaps) == (0, dict.fromkeys(parts.overlaps, 0))
    assert len(parts.entities) == len(wanted.entities)
