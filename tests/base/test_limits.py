"""Small files that would fill the memory or take hours are refused; the limits are lowered here for quick tests."""

import gzip
import json

import numpy as np
import pytest

import kgeval as kg
from kgeval.base import limits
from kgeval.base.files import text_array
from kgeval.base.limits import check_json
from kgeval.errors import DataError


@pytest.fixture(autouse=True)
def lowered(monkeypatch):
    """Limits of a few thousand."""
    for name, value in {"FREE_BYTES": 100_000, "FREE_LINES": 1000, "MAX_LINE": 5000, "MAX_ITEMS": 1000}.items():
        monkeypatch.setattr(limits, name, value)


def dataset():
    return kg.Dataset.from_frames(train=[("a", "r", "b"), ("b", "r", "c")], test=[("a", "r", "c")])


LISTS = b'{"query": ["a", "r", null], "predictions": [' + b"[]," * 2000 + b"[]]}"
LINE = b"<e:a> <e:p> <e:b> .\n"
BOMBS = {
    "lines.txt.gz": (gzip.compress(b"a\tr\tb\n" * 2000), "more than 1,000 lines in"),
    "bytes.txt.gz": (gzip.compress(b"a" * 200_000), "unpacks to more than 100,000 bytes, but has"),
    "line.txt": (b"a\tr\tb\nb\tr\t" + b"x" * 6000, "line 2: is longer than 5,000 bytes; if you trust it, set"),
    "lines.nt.gz": (gzip.compress(LINE * 2000), "more than 1,000 lines in"),
    "list.ttl": (b"@prefix : <e:> .\n:a :p (" + b"1 " * 9000 + b") .", "triples in 18,027 bytes, like files that are"),
    "lists.jsonl": (LISTS, "line 1: not JSON that is read: one element has more than 1,000 values; if you trust it"),
    "deep.jsonl": (
        b'{"query":' + b"[" * 300,
        "line 1: not JSON that is read: lists and objects are nested more than 200",
    ),
    "lists.json": (b"[" + LISTS + b"]", "not JSON that is read: one element has more than 1,000 values"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_of_each_kind_is_refused(tmp_path, monkeypatch, name):
    """Each message says how to raise the limits; with them raised, another error or none comes."""
    if name.endswith(("ttl", "nt.gz")):
        pytest.importorskip("pyoxigraph", reason="the extra rdf is not installed")
        monkeypatch.setattr("kgeval.formats.datasets.rdf._CHECKED", 100)
    content, said = BOMBS[name]
    (tmp_path / name).write_bytes(content)

    def read():
        if "json" in name:
            return kg.read_predictions(tmp_path / name, dataset(), format="plain")
        return kg.read_dataset(tmp_path / name)

    with pytest.raises(DataError) as caught:
        read()
    assert said in str(caught.value)
    if name.startswith("deep"):
        return
    assert str(caught.value).endswith("KGEVAL_LIMITS=10, which makes the limits 10 times as large")
    monkeypatch.setenv("KGEVAL_LIMITS", "100")
    try:
        read()
    except DataError as error:
        assert "KGEVAL_LIMITS" not in str(error)


@pytest.mark.parametrize("chunk", [*(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 2, 3)), 1000])
def test_depth_and_values_are_those_of_the_parsed_text(monkeypatch, chunk):
    """Against a count on the parsed value: brackets and quotes inside strings do not count, also across chunks."""
    monkeypatch.setattr(limits, "_CHUNK", chunk)
    rng = np.random.default_rng(0)
    labels = ["", "[", "]]", '"', "\\", '\\"[', "{,", "\u00e9["]

    def nested(depth):
        inner = [nested(depth - 1)] if depth > 1 else []
        for _ in range(2):
            label = labels[rng.integers(len(labels))]
            inner.insert(rng.integers(len(inner) + 1), label)
        return inner

    for _ in range(20):
        for depth, is_fine in ((200, True), (201, False)):
            text = json.dumps(nested(depth), ensure_ascii=bool(rng.integers(2)))
            if is_fine:
                check_json(text, "x")
            else:
                with pytest.raises(DataError, match="x: lists and objects are nested more than 200 levels deep"):
                    check_json(text, "x")
    fine = "[" + ",".join(["[" + ",".join("1" * 999) + "]"] * 50) + "]"  # a list and 998 commas each
    check_json(fine, "x")
    with pytest.raises(DataError, match="x: one element has more than 1,000 values"):
        check_json(fine[:-1] + ",[" + ",".join("1" * 1002) + "]]", "x")


def test_one_long_label_does_not_widen_the_others(tmp_path):
    """H42: an array of texts gives each text the memory of the longest."""
    labels = [f"e{i}" for i in range(2000)] + ["x" * 20_000]
    array = text_array(labels)
    assert array.dtype == object
    assert array.tolist() == labels
    assert text_array(labels[:-1]).dtype == "<U5"
    lines = [f"{label},r,{labels[0]}" for label in labels[1:]]
    (tmp_path / "train.txt").write_text("\n".join([*lines, "e0,r,e1,r,e2"]))
    (tmp_path / "test.txt").write_text("e1,r,e2\ne1,r,e3,r,e4\n")
    read = kg.read_dataset(tmp_path, format="stare")
    assert labels[-1] in read.entities.labels
    assert len(read.entities) == 2001
