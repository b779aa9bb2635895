"""Damaged files of every kind raise errors of kgeval: never one of Python, of json, of zipfile or of pyarrow (H43)."""

import contextlib
import copy
import json
import random

import numpy as np
import pytest
from grids import size

import kgeval as kg
from kgeval.benchmarks import Card, read_card
from kgeval.errors import DataError, KgevalError
from kgeval.trec.run_files import read_run

DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000  # Python 3.13 reads 3,000 levels
LEAVES = (None, 1.5, "x", [1], {"a": {}}, True, -1, 10**30, "\ud800")


@pytest.fixture(scope="module")
def dataset():
    return kg.Dataset.from_frames(train=[("a", "r", "b"), ("b", "r", "c")], test=[("a", "r", "c")])


@pytest.fixture(scope="module")
def saved(dataset, tmp_path_factory):
    file = tmp_path_factory.mktemp("saved") / "run.kgeval"
    kg.evaluate(lambda s, p, o: s - o, dataset, progress=False).save(file)
    return file


def with_header(saved, folder, header):
    """A copy of a saved result with another header, and without the checksums, which would tell at once."""
    with np.load(saved) as members:
        arrays = dict(members)
    file = folder / "changed.kgeval"
    with open(file, "wb") as stream:
        np.savez(stream, **{**arrays, "header": np.array(header)})
    return file


def header_of(saved):
    with np.load(saved) as members:
        header = json.loads(str(members["header"]))
    del header["members"]
    return header


def test_h43_json_that_is_nested_too_deeply(tmp_path, dataset, saved):
    """json raises a RecursionError, which is no ValueError."""
    with pytest.raises(DataError, match="header is not JSON"):
        kg.load_result(with_header(saved, tmp_path, DEEP))
    types = tmp_path / "types.json"
    types.write_text(DEEP)
    with pytest.raises(DataError, match="not JSON"):
        kg.features.read_types(types, dataset.entities)
    card = tmp_path / "card.json"
    card.write_text(DEEP)
    with pytest.raises(DataError):
        read_card(card)
    predictions = tmp_path / "lists.jsonl"
    predictions.write_text(DEEP)
    with pytest.raises(DataError):
        kg.read_predictions(predictions, dataset)


def test_h43_bytes_that_are_not_utf_8_where_nothing_is_read(tmp_path):
    """The last column of a TREC run, the tag, is not used; the error names the line all the same."""
    file = tmp_path / "run.trec"
    file.write_bytes(b"q Q0 c 1 1.0 tag\nq Q0 d 2 0.5 t\xff\xfeg\n")
    with pytest.raises(DataError, match="line 2"):
        read_run(file)


def test_h43_a_result_after_a_conversion_of_line_ends(tmp_path, saved):
    """Like a transfer in text mode: every line feed becomes two characters."""
    file = tmp_path / "run.kgeval"
    file.write_bytes(saved.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(DataError, match="is damaged"):
        kg.load_result(file)
    assert "is damaged" in str(kg.inspect(file))


@pytest.mark.parametrize("key", ["facts", "notes", "protocol", "dropped", "format", "columns", "categories_side"])
def test_h43_headers_with_wrong_types(tmp_path, saved, key):
    """What is read of them can be shown; everything else is an own error."""
    for value in LEAVES:
        file = with_header(saved, tmp_path, json.dumps({**header_of(saved), key: value}))
        with contextlib.suppress(KgevalError):
            str(kg.load_result(file))


def test_h43_about_with_wrong_types(tmp_path, saved):
    """Every entry with every wrong type: an error that names it, or a result that can be shown and compared."""
    header, n_refused = header_of(saved), 0
    for key in header["facts"]:
        for value in LEAVES:
            changed = copy.deepcopy(header)
            changed["facts"][key] = value
            file = with_header(saved, tmp_path, json.dumps(changed))
            try:
                result = kg.load_result(file)
                str(result)
                result._repr_html_()
                Card.of(result)
                kg.compare([result, result], names=["A", "B"], override="negatives")
            except KgevalError:
                n_refused += 1
    assert n_refused > 50


def test_h43_about_names_the_entry(tmp_path, saved):
    """The message says which entry, and what it holds."""
    header = header_of(saved)
    header["facts"]["n_triples"] = "many"
    with pytest.raises(DataError, match="impossible 'n_triples': 'many'"):
        kg.load_result(with_header(saved, tmp_path, json.dumps(header)))


def test_h43_parquet_with_text_of_another_encoding(tmp_path):
    """Parquet files say that their text is UTF-8; some writers store other bytes."""
    pyarrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"s": [b"\xe9", b"a"], "p": [b"r", b"r"], "o": [b"b", b"c"]}
    arrays = [pyarrow.array(values).view(pyarrow.string()) for values in columns.values()]
    file = tmp_path / "triples.parquet"
    parquet.write_table(pyarrow.Table.from_arrays(arrays, names=list(columns)), file)
    with pytest.raises(DataError, match="triples.parquet"):
        kg.read_dataset(file)


@pytest.mark.parametrize(
    "record",
    [
        {"query": ["a", "r", None], "predictions": 1.5},
        {"query": ["a", "r", None], "predictions": None},
        {"query": 1.5, "predictions": []},
        {"query": ["a", "r", None], "predictions": ["\ud800"]},
        {"query": ["a", "r", None], "predictions": [{"entity": 1.5, "score": "x"}]},
        {"query": ["a", "r", None], "predictions": ["b"], "scores": 1.5},
    ],
)
def test_h43_predictions_of_wrong_types(tmp_path, dataset, record):
    """The error names the file."""
    file = tmp_path / "lists.jsonl"
    file.write_text(json.dumps(record))
    with pytest.raises(DataError, match="lists.jsonl"):
        kg.read_predictions(file, dataset)


@pytest.mark.parametrize("seed", range(size(5, 100)))
def test_damaged_bytes_raise_own_errors(tmp_path, dataset, saved, seed):
    """Random changes of the bytes of each kind of file: read, or an own error; no other exception."""
    rng = random.Random(seed)
    files = {
        "run.kgeval": (saved.read_bytes(), lambda file: str(kg.load_result(file))),
        "train.txt": (b"a\tr\tb\nb\tr\tc\nc\tr\td\n", lambda file: str(kg.read_dataset(file.parent))),
        "lists.jsonl": (
            b'{"query": ["a", "r", null], "predictions": [{"entity": "c", "score": 0.5}]}\n',
            lambda file: kg.read_predictions(file, dataset),
        ),
        "run.trec": (b"a|r|? Q0 c 1 1.0 tag\na|r|? Q0 b 2 0.5 tag\n", read_run),
    }
    for name, (content, read) in files.items():
        folder = tmp_path / name.replace(".", "_")
        folder.mkdir()
        if name == "train.txt":
            (folder / "test.txt").write_bytes(b"a\tr\tc\n")
        for _ in range(20):
            damaged = bytearray(content)
            for _ in range(rng.randint(1, 3)):
                at = rng.randrange(len(damaged))
                kind = rng.randrange(3)
                if kind == 0:
                    damaged[at] = rng.randrange(256)
                elif kind == 1:
                    del damaged[at : at + rng.randint(1, 40)]
                else:
                    damaged[at:at] = rng.choice([b"\x00", b"\xff\xfe", b"\n", b"\t", b"[", b"{" * 3000, b"\r\n"])
                damaged = damaged or bytearray(b"\x00")
            (folder / name).write_bytes(damaged)
            for look in (read, kg.inspect):
                with contextlib.suppress(KgevalError):
                    look(folder / name)


def test_h43_numbers_of_too_many_digits_and_half_characters(tmp_path, dataset):
    """Python refuses to convert more than 4,300 digits; pandas cannot hash half a character."""
    file = tmp_path / "lists.json"
    file.write_text('[{"query": ["a", "r", null], "predictions": [' + "9" * 5000 + "]}]")
    with pytest.raises(DataError, match=r"lists.json, line 1: not JSON at character 1 \(Exceeds the limit"):
        kg.read_predictions(file, dataset)
    types = tmp_path / "types.json"
    types.write_text('{\n"a": ["city", "\\ud800"]}')
    with pytest.raises(DataError, match="types.json, line 2: a type of entity 'a' contains a lone surrogate"):
        kg.features.read_types(types, dataset.entities)
