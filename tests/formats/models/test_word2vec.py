"""Vectors as text: with and without labels, first line and id files; the model and its settings are asked for."""

import gzip
import time

import numpy as np
import pytest
from checkpoint_cases import ENTITIES, N_E, N_R, RELATIONS, assert_scores, labelled_dataset, recognised, tables
from grids import thinned

from kgeval import DataError, load_model
from kgeval.formats.models.word2vec import FORMAT

D = 4
SAID = {"model": "transe", "norm": 1, "normalise": "none"}


def score(t):
    """TransE with L1, one number at a time."""
    e, r = t["entity"].astype(float), t["relation"].astype(float)
    return lambda side, s, p, o: [-sum(abs(e[a, k] + r[b, k] - e[c, k]) for k in range(D)) for a, b, c in zip(s, p, o)]


def text(table, labels=None, head="", separator=" ", end=""):
    rows = [[repr(float(number)) for number in row] for row in table]
    rows = rows if labels is None else [[label, *row] for label, row in zip(labels, rows)]
    return head + "".join(separator.join(row) + end + "\n" for row in rows)


def written(folder, ending=".txt", labels=False, head=False, **options):
    t = tables(entity=(N_E, D), relation=(N_R, D))
    for kind, names in (("entity", ENTITIES), ("relation", RELATIONS)):
        first = f"{len(names)} {D}\n" if head else ""
        content = text(t[kind], names if labels else None, first, **options)
        (folder / f"{kind}2vec{ending}").write_text(content, encoding="utf-8")
    return t


def id_files(folder):
    for name, labels in (("entities", ENTITIES), ("relations", RELATIONS)):
        (folder / f"{name}.dict").write_text("".join(f"{i}\t{label}\n" for i, label in enumerate(labels)), "utf-8")


@pytest.fixture(scope="module")
def dataset():
    return labelled_dataset(dictionaries=False)


def failure(path, dataset, **said):
    with pytest.raises(DataError) as caught:
        load_model(path, dataset, **{**SAID, **said})
    return str(caught.value)


@pytest.mark.parametrize("head", [False, True])
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize(
    ("separator", "end"), thinned([(" ", ""), ("\t", "\t"), (" ", " "), ("\t", ""), (" ", "\r")], 3, unpack=True)
)
@pytest.mark.light(2)
def test_layouts(dataset, tmp_path, labels, head, separator, end):
    """Labels, first line ``n d``, spaces and tabs, also at the end of the lines as KB2E writes them."""
    t = written(tmp_path, ".bern", labels=labels, head=head, separator=separator, end=end)
    if not labels:
        id_files(tmp_path)
    assert recognised(tmp_path) == ["word2vec"]
    assert recognised(tmp_path / "entity2vec.bern") == ["word2vec"]
    for path in (tmp_path, tmp_path / "entity2vec.bern", tmp_path / "relation2vec.bern"):
        assert_scores(load_model(path, dataset, **SAID), dataset, score(t), rtol=1e-12)


def test_order_of_the_rows(dataset, tmp_path):
    """S9: without labels and id files, an error; labels of one file and ids of the other."""
    t = written(tmp_path)
    assert "nothing says to which entities and relations the rows of its tables belong" in failure(tmp_path, dataset)
    assert_scores(load_model(tmp_path, labelled_dataset(), **SAID), labelled_dataset(), score(t))
    (tmp_path / "entity2vec.txt").write_text(text(t["entity"], ENTITIES), encoding="utf-8")
    assert "nothing says to which relations the rows of its tables belong" in failure(tmp_path, dataset)
    id_files(tmp_path)
    (tmp_path / "entities.dict").write_text("0\tunused\n")
    assert_scores(load_model(tmp_path, dataset, **SAID), dataset, score(t))


def test_the_model_is_asked_for(dataset, tmp_path):
    """S8, S10: no file says the model, its norm, or whether it normalises vectors when it scores."""
    written(tmp_path, labels=True)
    assert "does not name its model; set model= (--model-type)" in failure(tmp_path, dataset, model=None, norm=None)
    said = failure(tmp_path, dataset, norm=None, normalise=None)
    assert "does not say norm and normalise, which change the scores of TransE; set norm=1 or norm=2 (--norm)" in said
    said = failure(tmp_path, dataset, model="complex", norm=None, normalise=None)
    assert "does not say layout, which changes the scores of ComplEx" in said


def test_further_matrices_are_refused(dataset, tmp_path):
    """S15: TransH and TransR of KB2E write the same two files and one more."""
    t = written(tmp_path, ".bern", labels=True)
    (tmp_path / "A.unif").write_text("1 2 3\n")  # of another run
    assert_scores(load_model(tmp_path, dataset, **SAID), dataset, score(t))
    (tmp_path / "A.bern").write_text("1 2 3\n")
    said = failure(tmp_path, dataset)
    assert "TransE has no use for A.bern" in said
    assert_scores(load_model(tmp_path, dataset, ignore="A.bern", **SAID), dataset, score(t))


def test_labels_that_are_numbers(dataset, tmp_path):
    """Whole numbers in the first column may be labels or not; the first line decides, else an error asks for it."""
    whole = np.column_stack([np.arange(N_E) * 3, np.full((N_E, 3), 0.5)])
    t = written(tmp_path, labels=True)
    (tmp_path / "entity2vec.txt").write_text("".join(f"{row[0]:.0f} 0.5 0.25 0.5\n" for row in whole))
    said = failure(tmp_path, dataset)
    assert "its first column has different whole numbers, which may be labels or a part of the vectors" in said
    assert "'8 3' if they are labels, '8 4' if they are not" in said
    (tmp_path / "entity2vec.txt").write_text("8 4\n" + "".join(f"{row[0]:.0f} 0.5 0.25 0.5\n" for row in whole))
    parts = FORMAT.read(tmp_path, SAID)
    assert "entity_labels" not in parts.arrays
    np.testing.assert_array_equal(parts.arrays["entities"][3], [9, 0.5, 0.25, 0.5])
    (tmp_path / "entity2vec.txt").write_text("8 3\n" + "".join(f"{row[0]:.0f} 0.5 0.25 0.5\n" for row in whole))
    parts = FORMAT.read(tmp_path, SAID)
    assert parts.arrays["entity_labels"].tolist() == ["0", "3", "6", "9", "12", "15", "18", "21"]
    (tmp_path / "entity2vec.txt").write_text("".join(f"{i % 2} 0.5 0.25 0.5\n" for i in range(N_E)))
    assert "entity_labels" not in FORMAT.read(tmp_path, SAID).arrays  # labels would differ from each other
    assert len(t) == 2


def test_words_that_look_like_numbers_or_missing_values(dataset, tmp_path):
    """ "NA", "nan" and "null" are labels; one label that is no number makes all of the column labels."""
    t = written(tmp_path, labels=True)
    for label in ("null", "nan", "1e5", "7"):
        content = text(t["entity"], [label if name == "NA" else name for name in ENTITIES])
        (tmp_path / "entity2vec.txt").write_text(content, encoding="utf-8")
        assert FORMAT.read(tmp_path, SAID).arrays["entity_labels"].tolist()[-1] == label
    (tmp_path / "entity2vec.txt").write_text('a" 0.5 1\n"b 0.25 1\nNew#1 1 2\n')
    assert FORMAT.read(tmp_path, SAID).arrays["entity_labels"].tolist() == ['a"', '"b', "New#1"]
    (tmp_path / "entity2vec.txt").write_text("New\u00a0York 0.5 1\nRome 0.25 1\n", "utf-8")
    assert FORMAT.read(tmp_path, SAID).arrays["entity_labels"].tolist() == ["New\u00a0York", "Rome"]
    (tmp_path / "entity2vec.txt").write_text("New York\t0.5\t1\nRome\t0.25\t1\n")
    assert FORMAT.read(tmp_path, SAID).arrays["entity_labels"].tolist() == ["New York", "Rome"]


def test_other_names_and_packed_files(dataset, tmp_path):
    t = written(tmp_path, labels=True)
    for word in ("entity", "relation"):
        content = (tmp_path / f"{word}2vec.txt").read_bytes()
        (tmp_path / f"{word}_vectors.txt").write_bytes(content)
        (tmp_path / f"{word}2vec.txt.gz").write_bytes(gzip.compress(content))
        (tmp_path / f"{word}2vec.txt").unlink()
    path = tmp_path / "entity_vectors.txt"
    assert recognised(path) == []
    assert_scores(load_model(path, dataset, format="word2vec", **SAID), dataset, score(t))
    assert_scores(load_model(tmp_path / "entity2vec.txt.gz", dataset, **SAID), dataset, score(t))
    (tmp_path / "relation_vectors.txt").unlink()
    assert "found no file of relations beside it. Give both files the same name except for 'entity' and" in failure(
        path, dataset, format="word2vec"
    )


def test_several_runs_in_a_folder(dataset, tmp_path):
    written(tmp_path, ".unif", labels=True)
    t = written(tmp_path, ".bern", labels=True)
    assert "found entity2vec.bern, entity2vec.unif, relation2vec.bern, relation2vec.unif. Give the path" in failure(
        tmp_path, dataset
    )
    assert_scores(load_model(tmp_path / "entity2vec.bern", dataset, **SAID), dataset, score(t))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected one vector a line; the file is empty"),
        (b"3 2\n", "its first column has different whole numbers"),
        (b"a 1 2\nb 1\nc 1 2\n", "line 2: expected 3 columns, a label and finite numbers; found 'b 1'"),
        (b"a 1 2\nb 1 2 3\n", "line 2: expected 3 columns, a label and finite numbers; found 'b 1 2 3'"),
        (b"a 1 2\n\nb 1 2\n", "line 2: expected 3 columns, a label and finite numbers; found ''"),
        (b"a 1 2\nb nan 2\n", "line 2: expected 3 columns, a label and finite numbers; found 'b nan 2'"),
        (b"a 1 2\nb 1 1e999\n", "line 2: expected 3 columns, a label and finite numbers; found 'b 1 1e999'"),
        (b"2 2\na 1 2\nb inf 2\n", "line 3: expected 3 columns, a label and finite numbers; found 'b inf 2'"),
        (b"2 2\n1 2\nb 2\n", "line 3: expected 2 columns, finite numbers; found 'b 2'"),
        (b"a 1 2\nb x 2\n", "line 2: expected 3 columns, a label and finite numbers; found 'b x 2'"),
        (b"2 3\na 1 2\nb 1 2\n", "line 2: expected 3 columns, finite numbers; found 'a 1 2'"),
        (b"2 9\na 1 2\nb 1 2\n", "line 2: has 3 columns, but line 1 says that vectors have 9 numbers"),
        (b"3 2\na 1 2\nb 1 2\n", "line 1: says 3 vectors, but 2 follow; is the file complete?"),
        (b"a\nb\n", "line 1: expected 1 columns, a label and finite numbers; found 'a'"),
        (b"a\t1\t2\t\nb\t1\t2\t3\n", "line 2: expected 3 columns, a label and finite numbers"),
        (
            b"3 2\na \0\0\x80?\0\0",
            "is a binary file; expected text. gensim writes the text of word2vec's binary format",
        ),
        (b"a 1 2\nb\xff 1 2\n", "is not UTF-8"),
        (b"a 1 2\nb 1 2\n" + b"c 1 2\n" * 9 + b"d\xff 1 2\n", "line 12: is not UTF-8"),
        (b"a 1 2\nb 1 2\na 1 2\n", "entity_labels must be 3 distinct strings"),
    ],
)
@pytest.mark.light(7)
def test_faults(dataset, tmp_path, content, message):
    written(tmp_path, labels=True)
    (tmp_path / "relation2vec.txt").write_text("r2 1 2\nr10 1 2\nR 1 2\n")
    (tmp_path / "entity2vec.txt").write_bytes(content)
    assert message in failure(tmp_path, dataset)


@pytest.mark.parametrize(
    "number", ["0.1", "1.1754943508222875e-38", "3.141592653589793", "2.2250738585072014e-308", "-0.3"]
)
def test_exact_numbers(tmp_path, number):
    """Each number is the float64 that is nearest to its decimal digits."""
    written(tmp_path, labels=True)
    (tmp_path / "entity2vec.txt").write_text(f"a {number} 1\nb 2 {number}\n")
    table = FORMAT.read(tmp_path, SAID).arrays["entities"]
    assert table.tolist() == [[float(number), 1], [2, float(number)]]


@pytest.mark.thorough
def test_many_vectors(tmp_path):
    """5 million numbers in a few seconds, each as it was written."""
    written(tmp_path, labels=True)
    table = np.random.default_rng(0).normal(size=(25_000, 200)).astype(np.float32)
    lines = (f"/m/{i:x} {' '.join(map(repr, row))}\n" for i, row in enumerate(table.tolist()))
    with (tmp_path / "entity2vec.txt").open("w") as stream:
        stream.writelines(lines)
    start = time.perf_counter()
    arrays = FORMAT.read(tmp_path, SAID).arrays
    assert time.perf_counter() - start < 15
    assert (arrays["entities"] == table).all()
    assert arrays["entity_labels"][-1] == "/m/61a7"
