"""evaluate --as, show --as, check-table --run, and the graphs of ULTRA in inspect --datasets."""

import json

import numpy as np
import pytest
from dataset_folders import write

import kgeval as kg
from kgeval.cli import main

FOLDER = {
    "train.txt": "a\tr\tb\nb\tr\tc\nc\tr\td\nd\tr\ta\na\tr\td\n",
    "valid.txt": "b\tr\td\nd\tr\tc\n",
    "test.txt": "a\tr\tc\nd\tr\tb\nc\tr\ta\n",
}
SCORER = """
def some(s, p, o):
    return ((5 * s + 3 * o) % 3).astype(float)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A folder with a dataset, a scorer whose scores tie, and its result."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "graph", FOLDER)
    (tmp_path / "scorer.py").write_text(SCORER, encoding="utf-8")
    command = ["evaluate", "graph", "--scorer", "scorer.py:some", "--no-progress", "--out", "run.kgeval"]
    assert main(command) == 0
    return kg.load_result("run.kgeval")


def printed(capsys, *arguments, status=0):
    """What a command prints."""
    capsys.readouterr()
    assert main(list(arguments)) == status
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_show_as_a_tool(run, capsys):
    """The protocol, the source, and the metrics under the tool's names."""
    lines = printed(capsys, "show", "run.kgeval", "--as", "openke").splitlines()
    assert lines[0] == "as OpenKE: filtered, all entities, both sides; rank = 1 + rivals with a higher score"
    assert lines[1].startswith("rule read in thunlp/OpenKE 3b7f0b1: openke/base/Test.h")
    assert f"MRR     {run['optimistic.mrr']:.6f}" in lines
    found = json.loads(printed(capsys, "show", "run.kgeval", "--as", "ultra", "--to", "json"))
    values = {row["metric"]: row["low"] for row in found["metrics"]}
    assert values["mrr"] == pytest.approx(run["pessimistic.mrr"], rel=1e-12)
    assert "kgeval: --as must be one of" in printed(capsys, "show", "run.kgeval", "--as", "openkee", status=2)


def test_evaluate_as_a_tool(run, capsys):
    """The protocol of the tool, and its numbers below the usual ones; other options of the protocol are refused."""
    scored = ["evaluate", "graph", "--scorer", "scorer.py:some", "--no-progress"]
    text = printed(capsys, *scored, "--as", "pyg")
    assert "both" not in text.split("as PyTorch Geometric")[0].split("MRR")[1]
    low, high = run["raw.object.pessimistic.mrr"], run["raw.object.optimistic.mrr"]
    assert f"mrr         {low:.6f} to {high:.6f}" in text
    text = printed(capsys, *scored, "--as", "ultra", "--sides", "object", status=2)
    assert "--as ultra says the protocol; leave --sides out" in text
    assert "ogb ranks each positive among its own list" in printed(capsys, *scored, "--as", "ogb", status=2)


@pytest.mark.parametrize(
    ("key", "reading"),
    [
        ("optimistic", "openke"),
        ("object.pessimistic", "filtered, object, pessimistic"),
        ("raw.pessimistic", "raw, both, pessimistic"),
    ],
)
def test_a_row_of_a_paper_is_found_in_the_run(run, capsys, key, reading):
    """Three planted causes: ties, one side only, raw ranks."""
    row = f"MRR={run[f'{key}.mrr']:.4f} hits@1={run[f'{key}.hits@1']:.4f}"
    found = json.loads(printed(capsys, "check-table", row, "--run", "run.kgeval", "--to", "json"))["run"]
    verdicts = {each["name"]: each["verdict"] for each in found}
    agreeing = [name for name, verdict in verdicts.items() if verdict == "agrees"]
    assert reading in agreeing
    assert "filtered, both, realistic" not in agreeing
    for each in found:  # what is said to agree does, to the digits of the row; what is ruled out does not
        if each["verdict"] in ("agrees", "ruled out"):
            same = f"MRR={each['numbers']['MRR']} hits@1={each['numbers']['hits@1']}" == row
            assert same == (each["verdict"] == "agrees"), each
    assert verdicts["ogb"] == "not this run"
    lines = printed(capsys, "check-table", row, "--run", "run.kgeval").splitlines()
    assert "agree with the row, to its digits:" in lines
    assert any(line.startswith(f"  {reading} ") for line in lines)


def test_a_row_that_no_reading_gives(run, capsys):
    """It is said at once."""
    text = printed(capsys, "check-table", "MR=1.01", "--run", "run.kgeval")
    assert (
        "no convention and no reading of these ranks agrees with the row: if it is lower, rank again with fewer splits "
        "in the filter (--filter train,test, train,valid or train); if it is higher, with --unseen drop; and check "
        "those runs. Other causes: kgeval help conventions"
    ) in text.replace("\n", " ")
    assert np.isfinite(run["mr"])


def test_a_filter_without_valid_is_found(run, capsys, tmp_path):
    """Nothing of the first run agrees; a run with that filter does, and no convention takes it for its own."""
    dataset = kg.read_dataset("graph")
    ranked = kg.evaluate(lambda s, p, o: ((5 * s + 3 * o) % 3).astype(float), dataset, kg.Protocol(filter="train,test"))
    row = f"MRR={ranked['mrr']:.4f} MR={ranked['mr']:.4f}"
    found = json.loads(printed(capsys, "check-table", row, "--run", "run.kgeval", "--to", "json"))["run"]
    assert not [each["name"] for each in found if each["verdict"] == "agrees"]
    scored = ["evaluate", "graph", "--scorer", "scorer.py:some", "--no-progress", "--out", "again.kgeval"]
    assert main([*scored, "--filter", "train,test"]) == 0
    found = json.loads(printed(capsys, "check-table", row, "--run", "again.kgeval", "--to", "json"))["run"]
    assert [each["name"] for each in found if each["verdict"] == "agrees"] == ["filtered, both, realistic"]
    reasons = {each["name"]: each["reason"] for each in found}
    assert reasons["openke"] == "it is filtered by train+test, openke by train+valid+test"


def test_the_graphs_of_ultra(capsys):
    """57, with their counts where a source states them."""
    graphs = {
        row["name"]: row
        for row in json.loads(printed(capsys, "inspect", "--datasets", "ultra", "--to", "json"))["graphs"]
    }
    assert len(graphs) == 57
    assert (graphs["FB15k237Inductive:v1"]["source"], graphs["FB15k237"]["test"]) == ("GraIL-FB15k-237-v1", 20466)
    assert graphs["NLIngram:0"]["source"] == "github.com/bdi-lab/InGram, data/NL-0"
    assert [graphs["NLIngram:0"][name] for name in ("entities", "relations", "train", "valid", "test")] == [
        2026,
        112,
        2287,
        763,
        763,
    ]
    assert graphs["WDsinger"]["source"] == "no source found"
    assert "23 of 57 graphs have a source" in printed(capsys, "inspect", "--datasets", "ultra")


def test_a_sample_decides_nothing(run, capsys):
    """Its own number is not that of all triples, so nothing is ruled out."""
    assert (
        main(["evaluate", "graph", "--scorer", "scorer.py:some", "--no-progress", "--sample", "2", "--out", "2.kgeval"])
        == 0
    )
    text = printed(capsys, "check-table", f"MRR={run['mrr']:.4f}", "--run", "2.kgeval")
    assert "this run decides nothing: rank all triples, as a paper does" in text
    assert "ruled out" not in text


def test_sampled_hits_are_no_hits_of_all_entities(run, capsys):
    """hits@10_50 of ULTRA, and kgeval's own name of it, beside a number that is checked."""
    for name in ("hits@10_50", "hits@10_of_49"):
        text = printed(capsys, "check-table", f"{name}=.9", "--run", "run.kgeval", status=2)
        assert f"got {name!r}" in text


def test_files_of_splits_have_an_option_of_their_own(run, capsys):
    text = printed(capsys, "evaluate", "graph", "--scorer", "scorer.py:some", "--splits", "train=foo.txt", status=2)
    assert "--splits names splits; files of splits are given by --split-files train=foo.txt" in text
