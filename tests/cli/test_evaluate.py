"""The command line: what it prints, what it refuses, and that every option reaches the public call behind it."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from grids import light, size

import kgeval
from kgeval.cli import main
from kgeval.metrics.base import TIE_WORDS

SCORERS = """
import numpy as np

class Rows:
    def score_objects(self, s, p):
        return s[:, None] + np.arange(7.0)
    def score_subjects(self, p, o):
        return o[:, None] + np.arange(7.0)

class ObjectsOnly:
    def score_objects(self, s, p):
        return s[:, None] + np.arange(7.0)

def total(s, p, o):
    return s + o + 0.0
def constant(s, p, o):
    return np.zeros(len(s))
def nan(s, p, o):
    return np.full(len(s), np.nan)
def leave(s, p, o):
    raise SystemExit(0)
def broken(s, p, o):
    raise RuntimeError("two\\nlines \\x1b[31m")
rows, objects = Rows(), ObjectsOnly()
number = 5
"""
GRAPH = {"train": ["a r f", "b r a", "c r d"], "valid": ["a r e"], "test": ["a r c", "b r g"]}
ODD = ["a|b", "c&d_e%", "\x1b[31mred", "\u202eback", "x\\y", "tab\x0bless"]
TIES_METRICS = ("--scorer", "scorers:constant", "--metrics", "mrr,hits@1")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """A folder with the graph and a module of scorers, made the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "scorers", raising=False)
    (tmp_path / "scorers.py").write_text(SCORERS)
    (tmp_path / "leaves.py").write_text("raise SystemExit(0)")
    write_graph(tmp_path / "graph", GRAPH)
    yield
    sys.modules.pop("scorers", None)


def write_graph(folder, splits, header=""):
    folder.mkdir()
    for split, lines in splits.items():
        rows = [line if "\t" in line else line.replace(" ", "\t") for line in lines]
        (folder / f"{split}.txt").write_text(header + "".join(row + "\n" for row in rows))


def printed(capsys, *arguments):
    """What a successful command prints; stderr has no more than the notes that CSV, Markdown and LaTeX cannot hold."""
    assert main([str(argument) for argument in arguments]) == 0
    out, err = capsys.readouterr()
    in_report = "--to" not in arguments or arguments[arguments.index("--to") + 1] in ("json", "table")
    said = [line for line in err.splitlines() if line.startswith("kgeval: ") and "interval of" not in line]
    kinds = {line.split(": ")[1].split(" ")[0] for line in said}  # lines about intervals start with labels of groups
    assert kinds <= (set() if in_report else {"note", "dropped", "dataset", "undefined"})
    assert err.count("\n") == err.count("kgeval: ")
    return out


def refused(capsys, *arguments):
    """The one line that a failing command prints to stderr, without its start; nothing goes to stdout."""
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert err.startswith("kgeval: ")
    return err[len("kgeval: ") : -1]


def never(*_, **__):
    raise AssertionError("must not be called")


def strict(text):
    """Parse JSON; NaN and Infinity, which are not JSON, fail."""
    return json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} in JSON"))


def as_json(capsys, *arguments):
    """The content of the JSON report, its metrics as one dict per named row."""
    content = strict(printed(capsys, "evaluate", *arguments, "--to", "json"))
    content["metrics"] = {row.pop("rows"): row for row in content["metrics"]}
    return content


def means(ranks):
    """MR, MRR and number of these ranks."""
    return {"n": len(ranks), "mr": sum(ranks) / len(ranks), "mrr": sum(1 / rank for rank in ranks) / len(ranks)}


def test_worked_example(root, capsys):
    """Ireland .789 > Italy .753 > the other three, so rank 2 of 5; Thomas .901 is above all, so rank 1 of 5.

    Hence hits@1 = 1/2, hits@3 = hits@10 = 2/2, MR = 3/2, MRR = (1/2 + 1)/2 = 3/4; by chance MR 3,
    MRR H(5)/5 = 137/300, so AMRI = 1 - (1.5 - 1)/(3 - 1) = 3/4. The raw ranks are the same: none is known.
    """
    folder = root / "data" / "worked-example"
    call = ("evaluate", folder, "--scores", folder / "scores.tsv")
    lines = printed(capsys, *call).splitlines()
    table = lines.index("rank  of  score  triple")
    assert lines[table + 1 : table + 3] == [
        "   2   5  0.753  Jack    born_in      Italy   beaten by Ireland 0.789",
        "   1   5  0.901  Jack    friend_with  Thomas",
    ]
    cells = [line.split() for line in lines[table + 4 : table + 8]]
    assert cells == [
        ["n", "MRR", "hits@1", "hits@3", "hits@10", "MR", "AMRI"],
        ["object", "2", "0.7500", "0.5000", "1.0000", "1.0000", "1.50", "0.7500"],
        ["chance", "2", "0.4567", "0.2000", "0.6000", "1.0000", "3.00", "0.0000"],
        ["raw", "object", "2", "0.7500", "0.5000", "1.0000", "1.0000", "1.50", "0.7500"],
    ]
    assert "note: hits@10 is 1 by definition for 100.0% of the ranks (10 candidates or fewer)" in lines
    content = as_json(capsys, *call[1:])
    expected = {"n": 2, "mr": 1.5, "mrr": 0.75, "hits@1": 0.5, "hits@3": 1.0, "hits@10": 1.0, "amri": 0.75}
    assert content["metrics"]["object"] == content["metrics"]["raw object"] == expected
    assert content["metrics"]["chance"]["mrr"] == pytest.approx(137 / 300, rel=1e-14)
    assert (content["protocol"]["sides"], content["protocol"]["candidates"]["kind"]) == (["object"], "listed")


def test_bundled_model_reaches_the_metrics_of_its_readme(root, capsys):
    """The README's numbers on valid come from data/countries/train.py, which counts by itself, in plain numpy."""
    folder = root / "data" / "countries"
    found = dict(re.findall(r"^(MRR|MR|hits@\d+) ([\d.]+)$", (folder / "README.md").read_text(), re.M))
    assert found.keys() == {"MRR", "MR", "hits@1", "hits@3", "hits@10"}
    content = as_json(capsys, folder, "--model", folder / "complex.npz", "--splits", "valid")
    row = content["metrics"]["both"]
    assert row["n"] == 686
    assert {name: f"{row[name.lower()]:.12f}" for name in found} == found


@pytest.mark.thorough
def test_model_options_complete_a_file_that_says_nothing(root, tmp_path, capsys):
    """--model-type, --layout and --inverse-relations stand in for what complex.npz says itself."""
    folder = root / "data" / "countries"
    with np.load(folder / "complex.npz") as full:
        np.savez(tmp_path / "bare.npz", **{name: full[name] for name in full.files if full[name].ndim})
    options = ("--model-type", "complex", "--layout", "halves", "--inverse-relations", "after")
    whole = as_json(capsys, folder, "--model", folder / "complex.npz")["metrics"]
    assert as_json(capsys, folder, "--model", "bare.npz", *options)["metrics"] == whole
    other = as_json(capsys, folder, "--model", "bare.npz", *options, "--layout", "interleaved")["metrics"]
    assert other["both"]["mrr"] < whole["both"]["mrr"] / 2
    said = refused(capsys, "evaluate", folder, "--model", "bare.npz")
    assert said.startswith("bare.npz: does not name its model; set model= (--model-type) to one of transe, ")
    said = refused(capsys, "evaluate", folder, "--model", "bare.npz", *options, "--norm", 1)
    assert said == "ComplEx has no setting 'norm'; it has entities, relations, layout, inverse_relations"


@pytest.mark.parametrize(
    ("options", "filtered", "raw"),
    [
        ((), [3, 1, 7, 6], [5, 1, 7, 6]),
        (("--filter", "train"), [4, 1, 7, 6], [5, 1, 7, 6]),
        (("--filter", "valid, test"), [4, 1, 7, 6], [5, 1, 7, 6]),
        (("--filter", "none"), [5, 1, 7, 6], [5, 1, 7, 6]),
        (("--sides", "object"), [3, 1], [5, 1]),
        (("--sides", "subject"), [7, 6], [7, 6]),
        (("--splits", "valid"), [2, 7], [3, 7]),
        (("--splits", "test,valid"), [2, 3, 1, 7, 7, 6], [3, 5, 1, 7, 7, 6]),
        (("--splits", "train", "--sides", "object"), [2, 6, 4], [2, 7, 4]),
        (("--unseen", "rank"), [3, 1, 7, 6], [5, 1, 7, 6]),
        (("--unseen", "drop"), [2, 5], [3, 5]),
        (("--unseen", "worst"), [2, 6, 5, 7], [3, 7, 5, 7]),
    ],
)
@pytest.mark.parametrize("scorer", light(["scorers:total", "scorers:rows", "./scorers.py:total"], 1))
@pytest.mark.light(6)
def test_protocol_options(capsys, scorer, options, filtered, raw):
    """Entities a..g are 0..6 and (s, r, o) scores s + o: on either side a rival is better if it comes later.

    (a r c), object: d, e, f, g are better, rank 5; train knows f, valid knows e. Subject: all six others, 7.
    (b r g), object: rank 1; subject: c, d, e, f, g, rank 6. (a r e), object: f, g, rank 3, f known; subject 7.
    Train, object: (a r f) g, rank 2; (b r a) all six, b r g known: 7, filtered 6; (c r d) e, f, g: 4.
    Train lacks e and g. drop: (a r c) alone, among a, b, c, d, f: d, f better, f known; subject b, c, d, f.
    worst: (a r c) likewise; (b r g) behind its 6 rivals, of which a is known on the object side.
    """
    content = as_json(capsys, "graph", "--scorer", scorer, "--metrics", "mr,mrr", *options)
    side = content["protocol"]["sides"][0] if len(content["protocol"]["sides"]) == 1 else "both"
    assert content["metrics"][side] == pytest.approx(means(filtered), rel=1e-14)
    assert content["metrics"][f"raw {side}"] == pytest.approx(means(raw), rel=1e-14)
    dropped = 2 if "drop" in options else 0
    assert (sum(content["dropped"].values()), content["n_read"]) == (dropped, len(filtered) + dropped)


def test_unseen_error_names_the_triple(capsys):
    said = refused(capsys, "evaluate", "graph", "--scorer", "scorers:total", "--unseen", "error")
    assert said.startswith(
        "1 triple to rank contains an entity or relation that does not occur in train, first ('b', 'r', 'g'); "
    )


def test_all_that_a_model_file_leaves_open(root, capsys):
    """Each setting of a model has an option: a file of bare tables, the options, and the same model in Python."""
    folder, rng = root / "data" / "worked-example", np.random.default_rng(0)
    dataset = kgeval.read_dataset(folder)
    n, m = len(dataset.entities), len(dataset.relations)
    entities, phases = rng.normal(size=(n, 4)), rng.normal(size=(m, 2))
    np.savez("rotate.npz", entities=entities, relations=phases, entity_labels=dataset.entities.labels, bias=[1.0])
    said = ("--model-type", "rotate", "--norm", 2, "--layout", "interleaved", "--phase-unit", 0.5)
    said += ("--relation-labels", "ids", "--ignore", "bias")
    content = as_json(capsys, folder, "--model", "rotate.npz", *said, "--metrics", "mr")
    model = kgeval.models.RotatE(entities, phases, norm=2, layout="interleaved", phase_unit=0.5)
    assert content["metrics"]["both"]["mr"] == kgeval.evaluate(model, dataset, progress=False)["mr"]
    assert content["notes"][:3] == [
        "RotatE, L2, 2 complex dimensions (interleaved), relations as phases in units of 0.5 radians, "
        "no inverse relations",
        "the rows of relations were read as all relations, in id order (relation_labels='ids')",
        "arrays of the model file that were left out (ignore=): bias",
    ]
    core = rng.normal(size=(4, 2, 4))
    parts = {f"bn_{i}.{part}": np.ones(4) for i in (0, 1) for part in ("weight", "bias", "running_mean", "running_var")}
    np.savez("tucker.npz", model="tucker", entities=entities, relations=phases, core=core, **parts)
    content = as_json(capsys, folder, "--model", "tucker.npz", "--batch-norm-eps", 0.5, "--metrics", "mr")
    assert "(eps 0.5) and the product (eps 0.5)" in content["notes"][0]


def test_model_without_vectors_for_unseen_entities_is_evaluated_with_drop(tmp_path, capsys):
    """TransE on a line, vectors a..d, f = 0..3, 5, relation 0, score -|s - o|; e and g have no vector.

    (a r c), object, among a, b, c, d, f: a and b are nearer, rank 3. Subject: b, c, d are nearer to c, rank 4.
    """
    values = np.array([[0.0], [1.0], [2.0], [3.0], [5.0]])
    np.savez("line.npz", model="transe", entities=values, relations=[[0.0]], entity_labels=list("abcdf"))
    call = ("graph", "--model", "line.npz", "--norm", "1", "--normalise", "none")
    content = as_json(capsys, *call, "--metrics", "mr")
    assert content["protocol"]["unseen"] == "drop"
    assert (content["metrics"]["object"]["mr"], content["metrics"]["subject"]["mr"]) == (3.0, 4.0)
    assert content["dropped"] == {"an entity or relation that train lacks (unseen='drop')": 2}
    assert as_json(capsys, *call, "--unseen", "worst", "--metrics", "mr")["metrics"]["subject"]["mr"] == (4 + 7) / 2
    said = refused(capsys, "evaluate", *call, "--unseen", "rank")
    assert "the model has none for 2 entities that do not occur in train, first 'e'; choose unseen='drop'" in said


@pytest.mark.parametrize(
    ("ties", "mrr", "hits"),
    [
        ("optimistic", [1, 1, 1, 1], 1.0),
        ("pessimistic", [1 / 5, 1 / 6, 1 / 7, 1 / 7], 0.0),
        ("realistic", [1 / 3, 1 / 3.5, 1 / 4, 1 / 4], 0.0),
        ("expected", [137 / 300, 49 / 120, 363 / 980, 363 / 980], (1 / 5 + 1 / 6 + 2 / 7) / 4),
    ],
)
@pytest.mark.light(2)
def test_ties(capsys, ties, mrr, hits):
    """A constant score ties all: 5 and 6 filtered candidates as objects, 7 and 7 as subjects; E[1/R] = H(n)/n."""
    content = as_json(capsys, "graph", *TIES_METRICS, "--ties", ties, "--by", "relation")
    row = content["metrics"]["both"]
    by = content["by"][0]
    assert {name: by[name] for name in row} == row
    assert (len(content["by"]), by["relation"], by["share"]) == (1, "r", 1.0)
    assert by["mrr low"] <= by["mrr"] <= by["mrr high"]
    assert (row["mrr"], row["hits@1"]) == pytest.approx((sum(mrr) / 4, hits), rel=1e-14)
    assert (content["tie_rate"], content["ties"]) == (1.0, ties)
    assert content["notes"][0].startswith("100.0% of the positives tie with a rival")
    text = printed(capsys, "evaluate", "graph", *TIES_METRICS, "--ties", ties)
    assert f", {ties} ties, the {TIE_WORDS[ties]} (tie rate 100.0%); " in text
    assert text.startswith(f"constant on graph: MRR {row['mrr']:.4f}\n\n")  # two triples: too few for an interval


def test_breakdown_and_chosen_metrics(capsys):
    """By side the ranks are (3, 1) and (7, 6); by split of test and valid, (3, 1, 7, 6) and (2, 7)."""
    call = ("graph", "--scorer", "scorers:total", "--metrics", "hits@6, mr")
    rows = as_json(capsys, *call, "--by", "side")["by"]
    shown = ("side", "n", "share", "hits@6", "mr")
    assert [[row[name] for name in shown] for row in rows] == [
        ["subject", 2, 0.5, 0.5, 6.5],
        ["object", 2, 0.5, 1.0, 2.0],
    ]
    t = 12.706204736174694  # of Student's t with 1 degree of freedom, at .975; ranks 3 and 1, 7 and 6
    assert [(row["mr low"], row["mr high"]) for row in rows] == [
        pytest.approx((1.0, 6.5 + t / 2)),
        pytest.approx((1.0, 2.0 + t)),
    ]
    rows = as_json(capsys, *call, "--by", "relation,split", "--splits", "valid,test")["by"]
    shown = ("relation", "split", "n", "hits@6", "mr")
    assert [[row[name] for name in shown] for row in rows] == [
        ["r", "test", 4, 0.75, 4.25],
        ["r", "valid", 2, 0.5, 4.5],
    ]
    lines = printed(capsys, "evaluate", *call, "--by", "side").splitlines()
    head = ["side", "n", "share", "hits@6", "MR", "effective", "clusters"]
    assert [line.split() for line in lines if line.startswith("side")] == [head]
    line = next(line for line in lines if line.startswith("object   2  0.5000"))
    assert line.endswith("2.00 [too few]                   2")  # two triples
    purpose = "note: 95% intervals show how much a number would vary with other triples of this graph (both ranks of a "
    assert f"{purpose}triple sampled together); 2 effective clusters in all" in lines
    assert "note: intervals with fewer than 10 effective clusters are rough: subject, object" in lines


def test_undefined_values_are_null_with_their_reason(capsys):
    """With 7 entities hits@10 is 1 whatever the scores, so its adjusted form is 0 / 0."""
    call = ("graph", "--scorer", "scorers:constant", "--metrics", "median_rank,adjusted(hits@10)", "--ties", "expected")
    row = as_json(capsys, *call)["metrics"]["both"]
    assert (row["median_rank"], row["adjusted(hits@10)"]) == (None, None)
    why = "median_rank has no exact expectation over random tie breaking"
    chance = "adjusted(hits@10): random ranking already gives the best value of hits@10: 0 / 0"
    assert row["reason"] == f"median_rank: {why}; {chance}"
    lines = printed(capsys, "evaluate", *call).splitlines()
    assert ["both", "4", "-", "-"] in [line.split() for line in lines]
    said = f"undefined in both, subject, object and 3 more: median_rank: {why}; {chance}"
    assert said in lines
    assert main(["evaluate", *call, "--to", "csv"]) == 0
    out, err = capsys.readouterr()
    first = next(csv.DictReader(out.splitlines()))
    assert first == {"rows": "both", "n": "4", "median_rank": "", "adjusted(hits@10)": "", "reason": row["reason"]}
    assert f"kgeval: {said}\n" in err
    assert "kgeval: note: 100.0% of the positives tie with a rival" in err


def test_formats_carry_the_same_numbers(capsys):
    """CSV has every digit of JSON; Markdown and LaTeX have the rounded cells of the table."""
    call = ("graph", "--scorer", "scorers:total", "--metrics", "mr,mrr")
    rows = as_json(capsys, *call)["metrics"]
    text = {style: printed(capsys, "evaluate", *call, "--to", style) for style in ("csv", "markdown", "latex")}
    parsed = {row.pop("rows"): row for row in csv.DictReader(text["csv"].splitlines())}
    assert {row.pop("reason") for row in parsed.values()} == {""}
    assert {name: {key: float(cell) for key, cell in row.items()} for name, row in parsed.items()} == rows
    assert (
        "| filtered | both | 4 | 4.25 | 0.4107 |" in text["markdown"].splitlines()
    )  # (1/3 + 1 + 1/7 + 1/6) / 4 = .41071
    assert r"filtered & both & 4 & 4.25 & 0.4107 \\" in text["latex"].splitlines()
    assert "both         4  4.25  0.4107" in printed(capsys, "evaluate", *call).splitlines()


def test_g8_observations_of_the_dataset_stand_on_standard_error(tmp_path, capsys):
    """Formats that hold numbers only print what the dataset has to say where the other notes are."""
    write_graph(tmp_path / "odd", {"train": ["a\tr\tb", "b\tr\u200b\tc"], "dev": ["c\tr\ta"], "test": ["a\tr\tc"]})
    said = [
        "kgeval: dataset: dev.txt is read as the valid split",
        "kgeval: dataset: 1 relation labels differ from another label only in Unicode form, in invisible characters or "
        "in spaces around them, for example 'r' and 'r\\u200b'",
    ]
    for style in ("csv", "markdown", "latex")[: size(1, 3)]:
        assert main(["evaluate", "odd", "--scorer", "scorers:constant", "--to", style]) == 0
        assert [line for line in capsys.readouterr().err.splitlines() if "dataset: " in line] == said, style


def test_files_of_the_dataset_can_be_said(tmp_path, capsys):
    """--split-files, --ignore-files, --columns and --no-header reach `read_dataset`."""
    folder = tmp_path / "odd"
    write_graph(folder, {"train": ["a\tb\tr"], "facts": ["b\tc\tr"], "mine": ["from\tto\trel"], "test": ["a\tc\tr"]})
    call = ["evaluate", "odd", "--scorer", "scorers:constant", "--columns", "htr", "--no-header"]
    about = as_json(capsys, *call[1:], "--split-files", "train=facts.txt+train.txt,valid=mine.txt")["facts"]
    splits = {"train": ["facts.txt", "train.txt"], "valid": "mine.txt"}
    dataset = kgeval.read_dataset(folder, splits=splits, columns="htr", header=False)
    assert about["dataset_fingerprint"] == dataset.fingerprint
    assert dataset.relations.labels == ("r", "rel")
    about = as_json(capsys, *call[1:], "--ignore-files", "facts.txt,mine.txt")["facts"]
    assert about["dataset_fingerprint"] != dataset.fingerprint
    assert main([*call, "--split-files", "train"]) == 2
    said = "--split-files expects each split once, as in train=facts.txt+train.txt,valid=dev.tsv; got 'train'"
    assert capsys.readouterr().err == f"kgeval: {said}\n"


@pytest.mark.parametrize("style", light(["table", "latex", "markdown"], 1))
def test_labels_cannot_steer_a_terminal(tmp_path, capsys, style):
    """Escape sequences and direction marks in labels and in the folder's name are shown, not sent."""
    folder = tmp_path / "gr\x1b[2J\u202eaph"
    write_graph(folder, {"test": [f"{label}\tr{label}\tother" for label in ODD]})
    out = printed(capsys, "evaluate", folder, "--scorer", "scorers:constant", "--by", "relation", "--to", style)
    assert all(character.isprintable() or character == "\n" for character in out)
    backslash = {"table": "\\", "markdown": "\\", "latex": r"\textbackslash{}"}[style]
    shown = out.replace("\\\\", "\\") if style == "markdown" else out  # Markdown may double its backslashes
    for escaped in ("x1b[31mred", "u202eback", "x0bless"):
        assert backslash + escaped in shown
    assert ("gr\\x1b[2J\\u202eaph: 7 entities, 6 relations; " in out) == (style == "table")


def test_listed_ranks_of_odd_labels(tmp_path, capsys):
    """The listing of --scores escapes labels as well: of the positive, and of the rival that beats it."""
    write_graph(tmp_path / "odd", {"test": ["\x1b[31mred\tr\t\u202eback", "x\tr\t\x1b]0;t"]})
    rows = ["\x1b[31mred\tr\t\u202eback\t1", "\x1b[31mred\tr\t\x1b]0;t\t2", "x\tr\t\x1b]0;t\t3", "x\tr\tx\t1"]
    (tmp_path / "scores.tsv").write_text("\n".join(rows))
    out = printed(capsys, "evaluate", "odd", "--scores", "scores.tsv")
    assert all(character.isprintable() or character == "\n" for character in out)
    listed = [line.split() for line in out.splitlines() if line.split()[:2] == ["2", "2"]]
    assert listed == [["2", "2", "1.000", "\\x1b[31mred", "r", "\\u202eback", "beaten", "by", "\\x1b]0;t", "2.000"]]


def test_out_saves_what_was_printed_and_is_not_overwritten(tmp_path, capsys, monkeypatch):
    """The saved result gives the printed numbers; a second run refuses before it ranks anything."""
    call = ("graph", "--scorer", "scorers:total", "--out", "run.kgeval")
    content = as_json(capsys, *call)
    saved = kgeval.load_result("run.kgeval")
    names = ("mrr", "hits@1", "hits@3", "hits@10", "mr", "amri")
    assert {name: saved[name] for name in names} | {"n": 4} == content["metrics"]["both"]
    assert saved.protocol.fingerprint == content["protocol_fingerprint"]
    assert saved["raw.object.mr"] == 3.0
    before = (tmp_path / "run.kgeval").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(kgeval, "evaluate", never)
        said = refused(capsys, "evaluate", *call)
    assert said == "run.kgeval exists; choose another name, or use overwrite=True (--overwrite)"
    assert (tmp_path / "run.kgeval").read_bytes() == before
    out = printed(capsys, "evaluate", "graph", "--scorer", "scorers:constant", *call[3:], "--overwrite")
    assert out.endswith("Breakdown: --by relation. Saved run.kgeval.\n")
    assert kgeval.load_result("run.kgeval")["optimistic.mr"] == 1.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--out", "nowhere/run.kgeval"), "nowhere/run.kgeval: the folder nowhere does not exist; create it first"),
        (("--out", "graph", "--overwrite"), "graph is a folder; give the name of a file"),
        (("--by", "subject"), "--by must be one of 'relation', 'side', 'split', 'cardinality', 'pattern', "),
        (("--metrics", "hit@10"), "unknown metric 'hit@10'; did you mean 'hits@10'?"),
    ],
)
def test_what_must_fail_fails_before_the_ranking(capsys, monkeypatch, options, said):
    """A run of an hour does not end in an error that could be known at its start."""
    monkeypatch.setattr(kgeval, "evaluate", never)
    assert refused(capsys, "evaluate", "graph", "--scorer", "scorers:total", *options).startswith(said)


@pytest.mark.thorough
def test_resources_change_no_number(root, capsys):
    """Every size of batch, block and array, and any number of threads, gives the same table, to the last bit."""
    folder = root / "data" / "countries"
    model = (folder, "--model", folder / "complex.npz", "--by", "relation,side", "--to", "csv")
    function = ("graph", "--scorer", "scorers:total", "--by", "relation,side", "--to", "csv")
    sizes = [("--batch-size", 7), ("--batch-size", 5000), ("--threads", 1), ("--threads", 3, "--batch-size", 64)]
    for base, settings in ((model, sizes), (function, [*sizes, ("--no-progress",)])):
        text, table = printed(capsys, "evaluate", *base, "--out", "first.kgeval", "--overwrite"), None
        for setting in settings:
            assert printed(capsys, "evaluate", *base, *setting, "--out", "run.kgeval", "--overwrite") == text
            table = kgeval.load_result("run.kgeval").table
            assert table.equals(kgeval.load_result("first.kgeval").table)


def test_resources_reach_evaluate(capsys, monkeypatch):
    """The options are the keywords of kgeval.evaluate."""
    given, real = {}, kgeval.evaluate
    monkeypatch.setattr(kgeval, "evaluate", lambda *call, **options: given.update(options) or real(*call, **options))
    options = ("--batch-size", 2, "--threads", 5, "--no-progress")
    printed(capsys, "evaluate", "graph", "--scorer", "scorers:total", *options)
    run = {"executor": kgeval.executors.Threads(5), "run_folder": None, "max_seconds": None}  # see test_runs.py
    assert given == {**run, "batch_size": 2, "device": None, "progress": False, "check_rows": True}


def test_device(capsys):
    """--device is handed on: numpy ranks as by default; a function cannot be moved; others are refused by name."""
    np.savez("line.npz", model="transe", entities=np.arange(7.0)[:, None] ** 2, relations=[[0.0]])
    model = ("--model", "line.npz", "--norm", 1, "--normalise", "none", "--entity-labels", "ids")
    moved, plain = (as_json(capsys, "graph", *model, *extra)["metrics"] for extra in (("--device", "numpy"), ()))
    assert moved == plain
    assert refused(capsys, "evaluate", "graph", *model, "--device", "gpu") == (
        "device must be None, 'numpy', 'cpu', 'cuda' or 'cuda:<number>'; got 'gpu'"
    )
    assert refused(capsys, "evaluate", "graph", "--scorer", "scorers:total", "--device", "cpu") == (
        "--device needs --model"
    )


def test_header(tmp_path, capsys):
    """--header skips the first line of every file."""
    write_graph(tmp_path / "named", GRAPH, header="head\trelation\ttail\n")
    plain = as_json(capsys, "graph", "--scorer", "scorers:total")["metrics"]
    assert as_json(capsys, "named", "--scorer", "scorers:total", "--header")["metrics"] == plain
    said = refused(capsys, "evaluate", "named", "--scorer", "scorers:total")
    assert said == "named/train.txt, line 1: looks like a header (head, relation, tail); use header=True (--header)"


@pytest.mark.thorough
def test_header_of_a_table_of_scores(tmp_path, capsys):
    """--header is for the table too; without a header line it is read from its first line on."""
    write_graph(tmp_path / "named", GRAPH, header="head\trelation\ttail\n")
    rows = ["head\trelation\ttail\tscore", "a\tr\tc\t1", "a\tr\td\t2", "b\tr\tg\t3", "b\tr\tc\t3"]
    (tmp_path / "scores.tsv").write_text("\n".join(rows))
    found = as_json(capsys, "named", "--scores", "scores.tsv", "--header")["metrics"]["object"]
    assert (found["n"], found["mr"]) == (2, (2 + 1.5) / 2)
    assert as_json(capsys, "graph", "--scores", "scores.tsv")["metrics"]["object"] == found
    (tmp_path / "scores.tsv").write_text("\n".join(rows[1:]))
    assert as_json(capsys, "named", "--scores", "scores.tsv", "--header")["metrics"]["object"] == found


def test_the_table_of_scores_has_the_order_of_the_files(tmp_path, capsys):
    """--columns is for the table too, unless its header names the columns."""
    turned = {split: ["\t".join(line.split()[i] for i in (0, 2, 1)) for line in GRAPH[split]] for split in GRAPH}
    write_graph(tmp_path / "turned", turned)
    rows = ["a\tr\tc\t1", "a\tr\td\t2", "b\tr\tg\t3", "b\tr\tc\t3"]
    for lines in (["s\tp\to\tscore", *rows], ["\t".join(row.split("\t")[i] for i in (0, 2, 1, 3)) for row in rows]):
        (tmp_path / "scores.tsv").write_text("\n".join(lines))
        found = as_json(capsys, "turned", "--scores", "scores.tsv", "--columns", "htr")["metrics"]["object"]
        assert (found["n"], found["mr"]) == (2, (2 + 1.5) / 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere", "--scorer", "scorers:total"), "nowhere: no such folder"),
        (("no\x1b[31mwhere", "--scorer", "scorers:total"), "no\\x1b[31mwhere: no such folder"),
        (("scorers.py", "--scorer", "scorers:total"), "scorers.py, line 1: expected 3 tab-separated columns"),
        (("graph", "--model", "gone.npz"), "gone.npz: no such file"),
        (("graph", "--model", "scorers.py"), "scorers.py: "),
        (("graph", "--scores", "gone.tsv"), "gone.tsv: no such file"),
        (("graph", "--scores", "graph/test.txt"), "graph/test.txt, line 1: expected 4 tab-separated columns"),
        (
            ("graph", "--scorer", "scorers"),
            "--scorer expects module:function, file.py:function or the name of a baseline (frequency, inverse, degree, "
            "random, recency); got 'scorers'",
        ),
        (("graph", "--scorer", "gone.py:f"), "gone.py: no such file"),
        (("grahp", "--scorer", "scorers:total"), "grahp: no such folder; did you mean 'graph'?"),
        (("graph", "--scorer", "scorers:gone"), "--scorer: module 'scorers' has no 'gone'"),
        (("graph", "--scorer", "gone:f"), "--scorer: importing 'gone' raised ModuleNotFoundError: No module named"),
        (
            ("graph", "--scorer", "scorers:Rows"),
            "--scorer: Rows is a class, so it is made with the dataset: Rows(dataset) raised TypeError: ",
        ),
        (("graph", "--scorer", "scorers:number"), "expected a function score(s, p, o), an object with score_objects"),
        (("graph", "--scorer", "scorers:nan"), "nan gave NaN for (?, 'r', 'c') with candidate 'a' ("),
        (("graph", "--scorer", "scorers:broken"), "broken raised RuntimeError when given 21 triples, with the ids ("),
        (("graph", "--scorer", "scorers:leave"), "leave raised SystemExit when given 21 triples, with the ids ("),
        (("graph", "--scorer", "leaves.py:score"), "--scorer: importing 'leaves.py' raised SystemExit: 0"),
        (
            ("graph", "--scorer", "scorers:total", "--splits", "tset"),
            "--splits tset: graph has no split 'tset'; its splits are train, valid, test; did you mean 'test'?",
        ),
        (
            ("graph", "--scorer", "scorers:total", "--filter", "x"),
            "--filter x: graph has no split 'x'; its splits are train, valid, test",
        ),
        (("graph", "--scorer", "scorers:total", "--norm", "1"), "--norm needs --model"),
        (("graph", "--scorer", "scorers:total", "--model-type", "complex"), "--model-type needs --model"),
        (("graph", "--scores", "scores.tsv", "--threads", "1"), "--threads needs --model or --scorer"),
        (("graph", "--scorer", "scorers:total", "--threads", "0"), "threads must be an integer of at least 1; got 0"),
        (("graph", "--scorer", "scorers:total", "--batch-size", "-1"), "batch_size must be an integer of at least 1; "),
        (("graph", "--scorer", "scorers:total", "--metrics", "hits@0"), "k of hits@k must be an integer of at least 1"),
    ],
)
@pytest.mark.light(2)
def test_errors_are_one_line_and_exit_code_2(capsys, arguments, said):
    assert refused(capsys, "evaluate", *arguments).startswith(said)


def test_a_dataset_without_test_triples(tmp_path, capsys):
    """The file that lacks is named, and the option that chooses another split."""
    (tmp_path / "graph" / "test.txt").unlink()
    call = ("evaluate", "graph", "--scorer", "scorers:total")
    assert refused(capsys, *call) == (
        "graph: no file test.txt (or test.tsv), only train, valid; --splits chooses the splits to rank"
    )
    said = "--splits test: graph has no split 'test'; its splits are train, valid"
    assert refused(capsys, *call, "--splits", "test") == said
    said = "--splits dev: graph has no split 'dev'; its splits are train, valid; did you mean 'valid'?"
    assert refused(capsys, *call, "--splits", "dev") == said
    assert printed(capsys, *call, "--splits", "valid").split("\n\n")[3].startswith("graph: ")


def test_errors_of_a_table_of_scores(tmp_path, capsys):
    (tmp_path / "scores.tsv").write_text("a\tr\tc\t1\na\tr\td\tnan\n")
    said = refused(capsys, "evaluate", "graph", "--scores", "scores.tsv")
    assert said == "scores.tsv, line 2: expected a number as score, found 'nan'"
    (tmp_path / "scores.tsv").write_text("a\tr\tc\t1\na\tr\td\t2\nb\tr\tg\t1\n")
    said = refused(capsys, "evaluate", "graph", "--scores", "scores.tsv", "--unseen", "drop")
    assert said == "with a table of scores, unseen must be 'rank'; got 'drop'. Remove unseen= from the protocol"
    content = as_json(capsys, "graph", "--scores", "scores.tsv", "--sides", "object", "--metrics", "mr")
    assert (content["metrics"]["object"], content["n_read"]) == ({"n": 1, "mr": 2.0}, 2)
    assert content["dropped"] == {"the positive has no listed negative on this side": 1}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("evaluate", "graph"), "one of the arguments --model --scorer --scores --predictions is required"),
        (
            ("evaluate", "graph", "--model", "x", "--scorer", "y"),
            "argument --scorer: not allowed with argument --model",
        ),
        (("evaluate", "graph", "--scorer", "y", "--ties", "best"), "argument --ties: invalid choice: 'best'"),
        (
            ("check-scorer", "graph", "--scores", "x"),
            "kgeval check-scorer has no option --scores; did you mean '--scorer'? See kgeval ",
        ),
    ],
)
def test_misuse_is_explained_by_the_parser(capsys, arguments, said):
    """One line, and exit code 2, like every other error."""
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    assert caught.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"kgeval: {said}")


def test_debug_shows_where_an_error_arose(capsys):
    assert main(["evaluate", "graph", "--scorer", "scorers:broken", "--debug"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert any("scorers.py" in line for line in lines)
    assert lines[-1].startswith("kgeval: broken raised RuntimeError")


def test_check_scorer(capsys):
    call = ("check-scorer", "graph", "--scorer")
    few = (
        "not checked: there are fewer than 50 triples, too few to find shifted rows, swapped sides, a wrong sign, "
        "training on test or peeking\n"
    )
    assert printed(capsys, *call, "scorers:total") == f"function scorer, float64 scores: no fault found\n{few}"
    assert printed(capsys, *call, "scorers:rows") == f"matrix scorer, float64 scores: no fault found\n{few}"
    assert printed(capsys, *call, "scorers:objects", "--sides", "object").endswith(f": no fault found\n{few}")
    assert refused(capsys, *call, "scorers:objects").startswith("ObjectsOnly has no score_subjects, which the subject ")
    assert refused(capsys, *call, "scorers:nan").startswith("nan gave NaN for (?, 'r', ")


def test_ctrl_c(tmp_path, capsys, monkeypatch):
    """Exit code 130, one line, and no file."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(kgeval, "evaluate", interrupt)
    assert main(["evaluate", "graph", "--scorer", "scorers:total", "--out", "run.kgeval"]) == 130
    assert capsys.readouterr() == ("", "kgeval: interrupted before the end; each file is as it was, or complete\n")
    assert not (tmp_path / "run.kgeval").exists()


def command(root, *arguments, **environment):
    call = [sys.executable, "-m", "kgeval", *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(root), **environment}
    return subprocess.run(call, capture_output=True, env=env)


@pytest.mark.thorough
def test_piped_command_is_silent_on_stderr(root):
    """No progress bar and no warning when nobody looks; the ties are said in the report instead."""
    found = command(root, "evaluate", "graph", "--scorer", "scorers:constant")
    assert (found.returncode, found.stderr) == (0, b"")
    assert b"\nnote: 100.0% of the positives tie with a rival" in found.stdout


@pytest.mark.thorough
def test_failing_command_has_no_traceback(root):
    found = command(root, "evaluate", "graph", "--scorer", "scorers:broken")
    assert (found.returncode, found.stdout) == (2, b"")
    asked = b"21 triples, with the ids (0, 0, 2) to (6, 0, 6)"
    assert (
        found.stderr.replace(b"\n  ", b" ")
        == b"kgeval: broken raised RuntimeError when given " + asked + b": two\\nlines \\x1b[31m\n"
    )


@pytest.mark.thorough
@pytest.mark.parametrize("style", light(["json", "table", "csv"], 1))
def test_output_that_cannot_encode_a_label(root, tmp_path, style):
    """A narrow output encoding (a pipe on Windows, say) must not cost the result; JSON stays exact."""
    write_graph(tmp_path / "far", {"test": ["a\t\u6771\U0001f600\tb"]})
    call = ("evaluate", "far", "--scorer", "scorers:total", "--by", "relation", "--to", style)
    found = command(root, *call, PYTHONIOENCODING="ascii")
    assert (found.returncode, b"Traceback" in found.stderr) == (0, False)
    if style == "json":
        assert strict(found.stdout.decode("ascii"))["by"][0]["relation"] == "\u6771\U0001f600"
    else:
        assert b"\\u6771\\U0001f600" in found.stdout


# --- standard output and what else may print


CHATTY = """
import os
def chatty(s, p, o):
    print("loading")
    os.system("echo from a subprocess")
    return (s + 2 * o).astype(float)
"""


def test_what_a_scorer_prints_is_not_among_the_numbers(tmp_path, capsys, monkeypatch):
    """Its words go to standard error; the JSON stays JSON."""
    (tmp_path / "talk.py").write_text(CHATTY)
    monkeypatch.setattr("os.system", lambda line: 0)
    assert main(["evaluate", "graph", "--scorer", "talk.py:chatty", "--to", "json", "--no-progress"]) == 0
    out, err = capsys.readouterr()
    assert strict(out)["metrics"][0]["n"] == 4
    assert set(err.splitlines()) == {"loading"}


@pytest.mark.parametrize("metrics", ["", " , "])
def test_no_metric_is_an_error_before_the_ranking(capsys, monkeypatch, metrics):
    """An empty shell variable must not print an empty table, nor cost a ranking."""
    monkeypatch.setattr(kgeval, "evaluate", lambda *_, **__: pytest.fail("ranked"))
    assert main(["evaluate", "graph", "--scorer", "scorers:total", "--metrics", metrics]) == 2
    assert capsys.readouterr() == ("", "kgeval: metrics is empty; name at least one, such as 'mrr,hits@10'\n")


class Full(io.StringIO):
    """A standard output of which every write fails."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def write(self, text):
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            OSError(28, "No space left on device"),
            "kgeval: standard output cannot be written: No space left on device\n",
        ),
        (BrokenPipeError(32, "Broken pipe"), ""),  # `| head -1`
    ],
)
def test_output_that_cannot_be_written_is_one_line(capsys, monkeypatch, error, said):
    """A full disk is said, a reader that stops is not; the exit code is 1, and there is no traceback."""
    monkeypatch.setattr("sys.stdout", Full(error))
    assert main(["help"]) == 1
    assert capsys.readouterr().err == said
    with pytest.raises(SystemExit, match="^1$"):
        main(["--help"])
    assert capsys.readouterr().err == said


def test_a_closed_output_is_one_line(capsys, monkeypatch):
    """`kgeval help >&-` leaves Python without sys.stdout."""
    monkeypatch.setattr("sys.stdout", None)
    assert main(["help"]) == 1
    said = "kgeval: standard output is closed; redirect it to a file or to /dev/null\n"
    assert capsys.readouterr().err == said


def test_a_folder_that_cannot_be_searched_is_one_line(capsys, monkeypatch):
    """An error of the system, wherever it arises, names the file and the reason."""

    def deny(*_, **__):
        raise PermissionError(13, "Permission denied", "locked/train.txt")

    monkeypatch.setattr(kgeval, "read_dataset", deny)
    assert main(["evaluate", "locked", "--scorer", "scorers:total"]) == 2
    assert capsys.readouterr() == ("", "kgeval: locked/train.txt: Permission denied\n")


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is of Linux")
@pytest.mark.parametrize("redirection", ["> /dev/full", ">&-", "| head -1"])
@pytest.mark.parametrize("arguments", ["--help", "help metrics", "evaluate graph --scorer scorers:total"])
def test_redirections_of_a_shell(root, tmp_path, redirection, arguments):
    """In a shell: no traceback, also not from the interpreter's last flush."""
    script = f"{sys.executable} -m kgeval {arguments} {redirection}"
    found = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script], capture_output=True, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert found.returncode in ((0, 1) if "head" in redirection else (1,))
    assert len(found.stderr.splitlines()) == (0 if "head" in redirection else 1)


@pytest.mark.thorough
def test_subprocesses_of_a_scorer_print_aside_too(root, tmp_path):
    """The file descriptor is redirected, so that what a library in C or a subprocess prints is kept apart."""
    (tmp_path / "talk.py").write_text(CHATTY)
    call = ("evaluate", "graph", "--scorer", f"{tmp_path / 'talk.py'}:chatty", "--to", "csv")
    found = command(root, *call)
    assert found.stdout.startswith(b"rows,n,mrr,")
    assert b"loading" not in found.stdout
    assert b"from a subprocess" not in found.stdout
    assert b"from a subprocess" in found.stderr


def test_baselines_beside_a_model(root, capsys):
    """Each gets a row of the table with its own numbers, and a note; `--sample` draws the same triples for all."""
    folder = root / "data" / "countries"
    call = (folder, "--model", folder / "complex.npz", "--beside", "frequency,inverse", "--sample", "60")
    content = as_json(capsys, *call)
    dataset = kgeval.read_dataset(folder)
    for name, baseline in (("frequency", kgeval.baselines.Frequency), ("inverse", kgeval.baselines.InverseRule)):
        expected = kgeval.evaluate(baseline(dataset), dataset, kgeval.Protocol(sample=60), progress=False)
        assert content["metrics"][name]["mrr"] == expected["mrr"]
        assert content["facts"]["baselines"][name]["mrr"] == pytest.approx(expected["mrr"])
        assert any(note.startswith(f"the model beats baseline {name}: MRR ") for note in content["notes"])
    text = printed(capsys, "evaluate", *call[:3], "--beside", "frequency", "--splits", "valid", "--no-progress")
    assert [line.split()[0] for line in text.splitlines() if line.startswith(("both ", "frequency "))] == [
        "both",
        "frequency",
    ]


def test_recency_beside_a_model(tmp_path, capsys):
    """It gets the times of the dataset, whatever the name of the column; without times it is refused."""
    rng = np.random.default_rng(0)
    for split, n in (("train", 90), ("test", 40)):
        rows = [f"e{s}\tr\te{o}\t2014-01-{day:02}" for s, o, day in rng.integers(1, (6, 6, 28), (n, 3))]
        (tmp_path / f"{split}.txt").write_text("\n".join(rows))
    call = (tmp_path, "--columns", "s,p,o,date", "--filter-by", "date", "--scorer", "scorers:constant")
    content = as_json(capsys, *call, "--beside", "recency")
    dataset = kgeval.read_dataset(tmp_path, columns="s,p,o,date")
    expected = kgeval.evaluate(
        kgeval.baselines.Recency(dataset), dataset, kgeval.Protocol(filter_by="date"), progress=False
    )
    assert content["metrics"]["recency"]["mrr"] == expected["mrr"] > content["metrics"]["both"]["mrr"]
    assert refused(capsys, "evaluate", "graph", "--scorer", "scorers:total", "--beside", "recency").startswith(
        "Recency needs the time of each triple, but dataset 'graph' has no column of times"
    )


def test_a_model_that_beats_no_baseline_is_told(capsys):
    """A constant scorer is at chance; the note on what is not beaten stands among the notes."""
    text = printed(capsys, "evaluate", "graph", "--scorer", "scorers:constant", "--beside", "random,degree")
    assert text.count("note: the model does not surely beat baseline ") == 2


def test_beside_is_refused_where_it_has_no_meaning(capsys):
    """For tables of scores, unknown names, and where train is ranked."""
    assert refused(capsys, "evaluate", "graph", "--scores", "x.tsv", "--beside", "random") == (
        "--beside needs --model or --scorer"
    )
    call = ("evaluate", "graph", "--scorer", "scorers:total", "--beside")
    assert refused(capsys, *call, "frequncy").startswith("baseline must be one of 'frequency', 'inverse', ")
    assert refused(capsys, *call, "degree", "--splits", "train").startswith("baselines are made from train")


def test_times_and_qualifiers_break_down(tmp_path, capsys):
    """From a folder of quadruples and from StarE's; also for saved results."""
    for name, files in (
        ("dated", {"train.txt": "a\tr\tb\t2014-01-05\n", "test.txt": "a\tr\tb\t2015-02-01\nb\tr\ta\t2014-02-01\n"}),
        ("stated", {"train.txt": "a,r,b\na,r,a,q,b\n", "test.txt": "b,r,a,q,b,q,a\nb,r,b\n"}),
    ):
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text)
    evaluate = ("--scorer", "scorers:total", "--quiet", "--metrics", "mr", "--filter-by", "none")
    for folder, column, groups in (
        ("dated", "seen_before", ["no", "yes"]),
        ("dated", "time:year", ["2014", "2015"]),
        ("stated", "qualifiers", ["0", "2"]),
    ):
        out = f"{folder}.kgeval"
        assert main(["evaluate", folder, *evaluate, "--by", column, "--out", out, "--overwrite"]) == 0
        shown = capsys.readouterr().out
        assert main(["show", out, "--quiet", "--metrics", "mr", "--by", column]) == 0
        again = capsys.readouterr().out
        for text in (shown, again):
            rows = [line.split()[:2] for line in text.split(f"\n{column}", 1)[1].splitlines()[1:] if line.strip()]
            assert sorted(row for row in rows if row[0] in groups) == [[group, "2"] for group in groups]
    assert main(["evaluate", "graph", *evaluate, "--by", "seen_before"]) == 2
    assert "--by must be one of" in capsys.readouterr().err


def test_a_baseline_is_no_model(root, capsys):
    """A user who asks for it with --model is told how to ask."""
    assert main(["evaluate", str(root / "data" / "countries"), "--model", "frequency"]) == 2
    assert "--model frequency names no file; the baseline is a scorer: --scorer frequency" in capsys.readouterr().err
