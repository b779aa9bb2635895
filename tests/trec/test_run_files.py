"""Reading of judgements and runs: exact strings, odd but right files, and one error for each way to be wrong."""

import codecs
import random

import pytest
from grids import light

from kgeval.errors import DataError
from kgeval.trec import run_files as trec_files
from kgeval.trec.run_files import read_qrels, read_run

QRELS = b"q1 0 A 1\nq1 0 B 0\nq2 0 A 2\n"
RUN = b"q1 Q0 A 1 0.5 tag\nq1 Q0 B 2 0.25 tag\nq2 Q0 A 1 7 tag\n"
NOT_A_SCORE = ("abc", "nan", "NaN", "1,5", "0x10", "1_0", "True", "1e", ".", "--1", "1e999", "-1e999", "\u0661", "1.5f")
NOT_A_GRADE = ("1.0", "a", "1e3", "True", "nan", "-", "1_0", "\u0661")


@pytest.fixture
def file(tmp_path):
    """Write bytes or text, and give the path of the file."""

    def write(content):
        path = tmp_path / "file.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


def rows(frame):
    return [tuple(row) for row in frame.itertuples(index=False)]


def refused(reader, path):
    """What the reader says of the file, without its name."""
    with pytest.raises(DataError) as caught:
        reader(path)
    assert str(caught.value).startswith(str(path))
    return str(caught.value).removeprefix(str(path)).lstrip(",: ")


def test_columns(file):
    qrels, (run, tag) = read_qrels(file(QRELS)), read_run(file(RUN))
    assert rows(qrels) == [("q1", "A", 1), ("q1", "B", 0), ("q2", "A", 2)]
    assert rows(run) == [("q1", "A", 0.5), ("q1", "B", 0.25), ("q2", "A", 7.0)]
    assert (list(qrels.columns), list(run.columns)) == (["query", "item", "grade"], ["query", "item", "score"])
    assert (str(qrels["grade"].dtype), str(run["score"].dtype), tag) == ("int64", "float64", "tag")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: codecs.BOM_UTF8 + text,
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b"\n", b"\r"),
        lambda text: text.rstrip(b"\n"),
        lambda text: text.replace(b" ", b"\t"),
        lambda text: text.replace(b" ", b" \t  "),
        lambda text: text.replace(b"\n", b" \t\n \t"),
        lambda text: b"\n \n" + text.replace(b"\n", b"\n\n\t\n"),
        lambda text: b"# made by hand\n" + text.replace(b"q2", b"  #\n# q2 0 Z 1 1 1\nq2") + b"#",
    ],
)
@pytest.mark.light(5)
def test_odd_but_right_files(file, change):
    """Byte order mark, line ends, white space, empty lines and comments change nothing."""
    assert rows(read_qrels(file(change(QRELS)))) == rows(read_qrels(file(QRELS)))
    (run, tag), (plain, _) = read_run(file(change(RUN))), read_run(file(RUN))
    assert rows(run) == rows(plain)
    assert tag == "tag"


def test_names_stay_as_written(file):
    """Nothing is taken for a number, for a missing value, for a quotation or for a comment."""
    names = [
        "007",
        "7",
        "NA",
        "nan",
        "null",
        "None",
        "True",
        '"x',
        "'",
        '"a"',
        "a#b",
        "1e5",
        "caf\u00e9",
        "a\u00a0b",
        "\\",
    ]
    for query in ("001", "NA"):
        qrels = read_qrels(file("".join(f"{query} 0 {name} 1\n" for name in names)))
        run, tag = read_run(file("".join(f"{query} Q0 {name} 1 2 NA\n" for name in names)))
        assert list(qrels["item"]) == list(run["item"]) == names
        assert set(qrels["query"]) == set(run["query"]) == {query}
        assert tag == "NA"


def test_what_follows_the_tag_is_ignored(file):
    """Also where the first line is the longest, or some line in between; the tag is that of the last line."""
    text = "q Q0 A 1 3 one two three four\nq Q0 B 1 2 x\nq Q0 C 1 1 y z w v u t s\nq Q0 D 1 0 last one\n"
    run, tag = read_run(file(text))
    assert rows(run) == [("q", "A", 3.0), ("q", "B", 2.0), ("q", "C", 1.0), ("q", "D", 0.0)]
    assert tag == "last"
    assert len(read_run(file(text.replace("1 3", "1 inf")))[0]) == 4  # infinity is looked at line by line


def test_iteration_and_rank_may_be_anything(file):
    """They are not read: the score tells the order."""
    (run, _), (plain, _) = read_run(file(RUN.replace(b"Q0 A 1", b"x A ?"))), read_run(file(RUN))
    assert rows(run) == rows(plain)
    assert rows(read_qrels(file(QRELS.replace(b" 0 A", b" it A")))) == rows(read_qrels(file(QRELS)))


def test_numbers(file):
    """Scores are the nearest float64; infinities that are written so stay; grades are integers of any sign."""
    texts = ["0.1", "-1.5", "+2", "1e-3", ".5", "7.", "1E5", "0.30000000000000004", "inf", "-inf", "Infinity", "0" * 30]
    run, _ = read_run(file("".join(f"q Q0 d{i} 0 {text} t\n" for i, text in enumerate(texts))))
    assert list(run["score"]) == [float(text) for text in texts]
    texts = ["0", "1", "-1", "+2", "007", "-127", "1000000"]
    qrels = read_qrels(file("".join(f"q 0 d{i} {text}\n" for i, text in enumerate(texts))))
    assert list(qrels["grade"]) == [0, 1, -1, 2, 7, -127, 1000000]


@pytest.mark.parametrize("text", NOT_A_SCORE)
def test_what_is_no_score(file, text):
    """trec_eval's atof makes 0 of the first; a NaN has no place in any order."""
    path = file(RUN.replace(b"0.25", text.encode()))
    assert refused(read_run, path) == f"line 2: expected a number as score, found {text!r}: {f'q1 Q0 B 2 {text} tag'!r}"


@pytest.mark.parametrize("text", NOT_A_GRADE)
def test_what_is_no_grade(file, text):
    """Text that is not an integer is refused with its line."""
    path = file(QRELS.replace(b"B 0", b"B " + text.encode()))
    assert refused(read_qrels, path) == f"line 2: expected an integer as grade, found {text!r}: {f'q1 0 B {text}'!r}"


def test_a_grade_may_be_too_long(file):
    """20 digits are an integer, but do not fit 64 bits: the message says which limit holds."""
    path = file(QRELS.replace(b"B 0", b"B " + b"9" * 20))
    said = "line 2: expected a grade of at most 18 digits, found '99999999999999999999': 'q1 0 B 99999999999999999999'"
    assert refused(read_qrels, path) == said


@pytest.mark.parametrize(
    ("reader", "content", "said"),
    [
        (
            read_qrels,
            QRELS.replace(b" 0\n", b"\n"),
            "line 2: expected 4 columns (query, iteration, document, grade), fo",
        ),
        (
            read_qrels,
            QRELS.replace(b" 0\n", b" 0 x\n"),
            "line 2: expected 4 columns (query, iteration, document, grade),",
        ),
        (
            read_qrels,
            b"q 0 A 1 x\n" + QRELS,
            "line 1: expected 4 columns (query, iteration, document, grade), found 5: ",
        ),
        (read_qrels, b"q\n", "line 1: expected 4 columns (query, iteration, document, grade), found 1: 'q'"),
        (
            read_qrels,
            RUN,
            "line 1: expected 4 columns (query, iteration, document, grade), found 6; is this a run?: 'q1 ",
        ),
        (
            read_run,
            RUN.replace(b"7 tag", b"7"),
            "line 3: expected 6 columns (query, Q0, document, rank, score, tag), fou",
        ),
        (
            read_run,
            RUN.replace(b" tag", b""),
            "line 1: expected 6 columns (query, Q0, document, rank, score, tag), found",
        ),
        (
            read_run,
            QRELS,
            "line 1: expected 6 columns (query, Q0, document, rank, score, tag), found 4; are these judge",
        ),
        (read_qrels, QRELS + b"q1 5 B 0\n", "line 4: document 'B' of query 'q1' is already on line 2; keep one"),
        (
            read_run,
            RUN + b"#\n\nq2 Q1 A 9 9 t\n",
            "line 6: document 'A' of query 'q2' is already on line 3; keep one",
        ),
        (read_qrels, b"", "the file is empty; expected lines of query iteration document grade"),
        (read_run, b"\n# nothing\n \n", "the file is empty; expected lines of query Q0 document rank score tag"),
        (read_qrels, codecs.BOM_UTF8, "the file is empty; expected lines of query iteration document grade"),
        (
            read_run,
            RUN.decode().encode("utf-16"),
            "is encoded in UTF-16 (byte order mark); expected UTF-8. Convert the file first",
        ),
        (
            read_qrels,
            codecs.BOM_UTF16_BE + b"\0q",
            "is encoded in UTF-16 (byte order mark); expected UTF-8. Convert the file first",
        ),
        (read_run, RUN.replace(b"B", b"B\0"), "line 2: a NUL character; is this a text file?"),
        (
            read_qrels,
            QRELS + b"q3 0 caf\xe9 1\n",
            "line 4: invalid UTF-8 at byte 35 of the file (0xe9); save the file as UTF-8",
        ),
        (
            read_run,
            b"#\n\r\n" + RUN.replace(b"B", b"\xff"),
            "line 4: invalid UTF-8 at byte 28 of the file (0xff); save the file as UTF-8",
        ),
    ],
)
def test_wrong_files(file, reader, content, said):
    assert refused(reader, file(content)).startswith(said)


@pytest.mark.parametrize("reader", [read_qrels, read_run])
def test_missing_files(tmp_path, reader):
    assert refused(reader, tmp_path / "gone") == "no such file"
    assert refused(reader, tmp_path) == "is not a file"


def test_the_first_wrong_line_is_named(file):
    """Whatever is wrong further down; empty lines and comments count as lines."""
    path = file("# x\n\nq Q0 A 1 1 t\nq Q0 A 1 nan t\nq Q0 B 1 1\nq Q0 A 1 1 t\n")
    assert refused(read_run, path).startswith("line 4: expected a number as score, found 'nan'")
    for end in ("\n", "\r\n", "\r"):
        path = file(f"q Q0 A 1 1 t{end}q Q0 A 1 1 t{end}q Q0 B 1 1{end}")
        assert refused(read_run, path) == "line 2: document 'A' of query 'q' is already on line 1; keep one"


def test_right_files_are_not_read_line_by_line(file, monkeypatch):
    """The loop over lines is for finding the wrong one."""
    monkeypatch.setattr(trec_files, "_check_lines", None)
    assert len(read_run(file(RUN))[0]) == len(read_qrels(file(QRELS))) == 3
    with pytest.raises(TypeError):
        read_run(file(RUN.replace(b"7 tag", b"7")))


def drawn(seed, n_columns):
    """Lines of a file with white space, comments and empty lines in odd places; and what each says, or None."""
    rng = random.Random(seed)
    lines, words = [], []
    for i in range(rng.randrange(1, 60)):
        number = str(rng.randrange(-3, 9)) if n_columns == 4 else repr(rng.choice([rng.random(), rng.randrange(5)]))
        query = rng.choice(["1", "01", "x", "NA"])
        word = [query, "0", f"d{i}", number] if n_columns == 4 else [query, "Q0", f"d{i}", "1", number, "t"]
        blank = [rng.choice([" ", "\t", "  ", "\t "]) for _ in range(n_columns + 1)]
        words.append(word)
        lines.append(blank[0] * rng.randrange(2) + "".join(map("".join, zip(word, blank[1:]))).rstrip(" \t"))
        if rng.random() < 0.2:
            words.append(None)
            lines.append(rng.choice(["", " ", "\t", "# 1 2", " #"]))
    return lines, words, rng


@pytest.mark.parametrize("seed", light(range(40), 3))
def test_random_files(file, seed):
    """What is read is what was written; and where one line of them is made wrong, the error names that line."""
    for n_columns, reader in ((4, read_qrels), (6, read_run)):
        lines, words, rng = drawn(seed, n_columns)
        end = rng.choice(["\n", "\r\n"])
        number = 3 if n_columns == 4 else 4
        expected = [(w[0], w[2], float(w[number])) for w in words if w]
        found = reader(file(end.join(lines)))
        assert rows(found if n_columns == 4 else found[0]) == expected
        place = rng.choice([i for i, w in enumerate(words) if w])
        others = [w for i, w in enumerate(words) if w and i < place]
        faults = [words[place][:-1], [*words[place][:-1], "?"], ["q", "?"]]
        faults += [[*rng.choice(others)]] if others else []
        wrong = rng.choice(faults)
        if wrong[-1] == "?" and n_columns == 6 and len(wrong) == 6:
            wrong[4:] = ["?", "t"]
        lines[place] = " ".join(wrong)
        assert refused(reader, file(end.join(lines))).startswith(f"line {place + 1}: ")


def test_files_of_trec_eval(shared):
    """Its own files are right: two grades or six, -1 among them, and text after some tags."""
    folder = shared / "data" / "trec_eval"
    qrels = read_qrels(folder / "qrels.test")
    assert qrels["grade"].value_counts().to_dict() == {0: 3120, 1: 561}
    levels = read_qrels(folder / "qrels.rel_level")["grade"].value_counts().to_dict()
    assert levels == {-1: 304, 0: 2818, 1: 462, 2: 14, 3: 77, 4: 6}
    run, tag = read_run(folder / "results.trunc")
    assert (len(run), tag) == (584, "STANDARD")
    assert rows(run)[0] == ("301", "FBIS3-27619", 2.138276)
    assert read_run(folder / "results.test")[0].groupby("query").size().to_dict() == {
        "301": 500,
        "302": 500,
        "303": 500,
    }
