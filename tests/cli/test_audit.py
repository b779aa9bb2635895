"""`kgeval audit`: the findings as text and in the formats of tables, and breakdowns by them on the command line."""

import csv
import io
import json

import pytest

import kgeval as kg
from kgeval.cli import main

TRAIN = [("ann", "knows", "bob"), ("cy", "hires", "ann"), ("cy", "knows", "=1+1")]
TEST = [("bob", "knows", "ann"), ("ann", "works_for", "cy"), ("bob", "knows", "cy")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three train triples; one test triple is symmetric to train, one inverse."""
    (tmp_path / "graph").mkdir()
    for name, triples in (("train", TRAIN), ("test", TEST)):
        (tmp_path / "graph" / f"{name}.txt").write_text("".join("\t".join(t) + "\n" for t in triples), "utf-8")
    (tmp_path / "scorers.py").write_text("def total(s, p, o):\n    return s - 2 * o + p\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys, *arguments):
    assert main([*map(str, arguments)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_text_is_that_of_the_audit(folder, capsys):
    out = printed(capsys, "audit", "graph")
    assert out == f"{kg.audit(kg.read_dataset('graph'))}\n"
    assert "reversed pair in train" in out


@pytest.mark.parametrize("style", ["csv", "json", "markdown", "latex"])
def test_tables(folder, capsys, style):
    """Each format has every row."""
    findings = kg.audit(kg.read_dataset("graph")).findings
    out = printed(capsys, "audit", "graph", "--to", style)
    if style == "json":
        assert json.loads(out)["findings"] == findings.to_dict("records")
    elif style == "csv":
        rows = list(csv.DictReader(io.StringIO(out)))
        assert [(row["kind"], row["split"], float(row["share"]), int(row["count"])) for row in rows] == list(
            findings[["kind", "split", "share", "count"]].itertuples(index=False, name=None)
        )
    else:
        lines = [line for line in out.splitlines() if line.startswith(tuple(findings["kind"]))]
        lines += [line for line in out.splitlines() if line.startswith("| ")][2:]
        assert len(lines) == len(findings)


def test_metrics_by_leak_and_half_link(folder, capsys):
    """Two ranks for each test triple."""
    call = ("evaluate", "graph", "--scorer", "scorers:total", "--to", "json", "--by")
    by_leak = json.loads(printed(capsys, *call, "leak"))["by"]
    assert {row["leak"]: row["n"] for row in by_leak} == {"inverse": 2, "symmetric": 2, "none": 2}
    by_half = json.loads(printed(capsys, *call, "half_link"))["by"]
    assert {row["half_link"]: row["n"] for row in by_half} == {"none": 6}
