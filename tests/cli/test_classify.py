"""`kgeval classify`: what it prints and refuses; every number is that of kgeval.classify."""

import csv
import json
import sys

import numpy as np
import pytest
from grids import size

import kgeval as kg
from kgeval.cli import main

SCORERS = """
import numpy as np

def objects(s, p, o):
    assert len(s) <= LONGEST
    return o

LONGEST = 1 << 20
"""
GRAPH = {"train": "Ada r Bo", "valid": "Ada r Di", "test": "Ada r Di/Ada r Cy"}
FALSE = {"valid_negatives": "Ada r Bo", "test_negatives": "Ada r Ada/Ada r Bo"}
LABELLED = {
    "train": "Ada r Bo",
    "valid": "Ada r Di 1/Ada r Bo -1",
    "test": "Ada r Di 1/Ada r Cy 1/Ada r Ada 0/Ada r Bo 0",
}
CALL = ("classify", "graph", "--scorer", "scorers:objects")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """A folder with graphs and a module of scorers, made the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "scorers", raising=False)
    (tmp_path / "scorers.py").write_text(SCORERS)
    write(tmp_path / "graph", **GRAPH, **FALSE)
    yield
    sys.modules.pop("scorers", None)


def write(folder, **files):
    """Text files, spaces standing for tabs and slashes for line ends."""
    folder.mkdir(exist_ok=True)
    for stem, text in files.items():
        (folder / f"{stem}.txt").write_text("".join(line.replace(" ", "\t") + "\n" for line in text.split("/")))


def printed(capsys, *arguments):
    """What a successful command prints, and to standard error."""
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr()


def refused(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err.removeprefix("kgeval: ").rstrip("\n")


def as_json(capsys, *arguments):
    """The JSON report; NaN and Infinity, which are not JSON, fail."""
    text = printed(capsys, *arguments, "--to", "json").out
    return json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} in JSON"))


def test_the_report(capsys):
    """The threshold is Di's 3: tp 1, fn 1, tn 2; DATASET holds the negatives unless another folder is named."""
    dataset = kg.read_dataset("graph")
    lines = printed(capsys, *CALL, "--metrics", "accuracy,f1,log_loss").out.splitlines()
    about = lines.index("graph: 4 entities, 1 relation; test 2 positives and 2 negatives, 0 dropped")
    assert lines[about + 1] == (
        "1 relation with its own threshold, 0 with the global threshold; chosen on valid (1 positive, 1 negative)"
    )
    assert lines[about + 2].startswith("negatives: files in graph, sha256 ")
    assert f"dataset {dataset.fingerprint[:8]}, kgeval {kg.__version__}" in lines[about + 2]
    assert "dataset: 1 row of test also in valid" in lines
    assert "note: 1 of 2 negatives of test are known triples; they count as false" in lines
    assert lines[:3] == [
        "average  n  accuracy      F1  log loss",
        "micro    4    0.7500  0.6667         -",
        "macro    4    0.7500  0.6667         -",
    ]
    assert any(line.startswith("undefined in micro, macro: log_loss: scores are not probabilities") for line in lines)
    assert lines[-1].startswith("done in ")
    assert lines[-1].endswith(" s. Breakdown: --by relation.")


def test_json_equals_the_call(capsys):
    """Facts, notes, metrics and breakdown; what is undefined is null with its reason."""
    content = as_json(capsys, *CALL, "--by", "relation", "--metrics", "accuracy,auc,brier", "--no-intervals")
    result = kg.classify(lambda s, p, o: o, kg.read_dataset("graph"), "graph")
    assert content["facts"] == {**result.facts, "scorer": "objects"}
    assert (content["dropped"], content["notes"]) == ({}, list(result.notes))
    micro, macro = content["metrics"]
    assert (micro["average"], micro["n"], micro["accuracy"], micro["auc"]) == ("micro", 4, 0.75, 1.0)
    assert (macro["average"], macro["n"], macro["brier"]) == ("macro", 4, None)
    assert macro["reason"].startswith("brier: scores are not probabilities")
    assert [(row["relation"], row["n"], row["accuracy"]) for row in content["by"]] == [("r", 4, 0.75)]


def test_other_formats_carry_the_table_alone(capsys):
    """Notes, dropped and undefined ones go to standard error."""
    out, err = printed(capsys, *CALL, "--to", "csv", "--metrics", "recall,ece")
    assert out.splitlines()[0] == "average,n,recall,ece,reason"
    rows = [(row.pop("reason"), row) for row in csv.DictReader(out.splitlines())]
    assert [row for _, row in rows] == [
        {"average": average, "n": "4", "recall": "0.5", "ece": ""} for average in ("micro", "macro")
    ]
    assert all(reason.startswith("ece: scores are not probabilities") for reason, _ in rows)
    assert "kgeval: note: 1 of 2 negatives of valid are known triples" not in err
    assert "kgeval: note: 1 of 1 negatives of valid are known triples; they count as false\n" in err
    assert "kgeval: undefined in micro, macro: ece: scores are not probabilities" in err
    by_relation = (*CALL, "--to", "markdown", "--metrics", "recall", "--by", "relation")
    out, _ = printed(capsys, *by_relation, "--no-intervals")
    assert out.splitlines()[2] == "| r | 4 | 1.0000 | 0.5000 |"
    out, err = printed(capsys, *by_relation)  # of 2 positives: Student's t with 1 degree of freedom
    assert out.splitlines()[2] == "| r | 4 | 1.0000 | 0.5000 [too few] | 2 |"
    assert "kgeval: note: thresholds and calibration are treated as fixed" in err


def test_labelled_files(tmp_path, capsys):
    """The same triples with a label column give the same numbers."""
    wanted = as_json(capsys, *CALL)
    write(tmp_path / "labelled", **LABELLED)
    found = as_json(capsys, "classify", "labelled", "--labelled", "--scorer", "scorers:objects")
    assert found["metrics"] == wanted["metrics"]
    assert found["facts"]["negatives_sha256"] == wanted["facts"]["negatives_sha256"]
    assert found["facts"]["negatives"] == "files in labelled"


@pytest.mark.thorough
def test_headers(tmp_path, capsys):
    """The same triples with header lines, with and without a label column, give the same numbers."""
    wanted = as_json(capsys, *CALL)
    headed = {name: "head relation tail label/" + text for name, text in LABELLED.items() if name != "train"}
    write(tmp_path / "labelled", **headed, train="head relation tail/" + LABELLED["train"])
    found = as_json(capsys, "classify", "labelled", "--labelled", "--header", "--scorer", "scorers:objects")
    assert found["metrics"] == wanted["metrics"]
    write(tmp_path / "graph", **{name: "head relation tail/" + text for name, text in {**GRAPH, **FALSE}.items()})
    assert as_json(capsys, *CALL, "--header")["metrics"] == wanted["metrics"]


def test_negatives_elsewhere(tmp_path, capsys):
    """A folder of its own, beside a labelled dataset too, whose false lines are then not asked for."""
    write(tmp_path / "hard", valid_negatives="Di r Bo", test_negatives="Di r Bo/Di r Cy/Bo r Bo")
    content = as_json(capsys, *CALL, "--negatives", "hard")
    assert (content["facts"]["negatives"], content["facts"]["n_test_negative"]) == ("files in hard", 3)
    write(tmp_path / "labelled", **LABELLED)
    call = ("classify", "labelled", "--labelled", "--scorer", "scorers:objects", "--negatives", "hard")
    assert as_json(capsys, *call)["facts"]["n_test_negative"] == 3


def test_midpoints(capsys):
    """Between Di's 3 and Bo's 1 lies 2, Cy's score: all four are right; the line on thresholds and `show` say so."""
    call = (*CALL, "--threshold-at", "midpoint", "--metrics", "accuracy,recall")
    content = as_json(capsys, *call, "--out", "run.kgeval")
    assert (content["metrics"][0]["accuracy"], content["metrics"][0]["recall"]) == (1.0, 1.0)
    assert content["facts"]["threshold_at"] == "midpoint"
    said = "chosen on valid (1 positive, 1 negative), at midpoints between scores"
    (line,) = [line for line in printed(capsys, *call).out.splitlines() if "own threshold" in line]
    assert line.endswith(said)
    assert said in printed(capsys, "show", "run.kgeval").out
    for options in ((), ("--threshold-at", "score"))[: size(1, 2)]:
        content = as_json(capsys, *CALL, *options)
        assert (content["metrics"][0]["accuracy"], content["facts"]["threshold_at"]) == (0.75, "score")


@pytest.mark.thorough
def test_uniform_negatives(root, capsys):
    """Seed 0 unless told otherwise; the numbers of kgeval.classify."""
    folder = root / "data" / "countries"
    dataset = kg.read_dataset(folder)
    model = kg.load_model(folder / "complex.npz", dataset)
    call = ("classify", folder, "--model", folder / "complex.npz", "--negatives", "uniform")
    for options, seed in (((), 0), (("--sample-seed", 0), 0), (("--sample-seed", 5), 5)):
        content = as_json(capsys, *call, *options)
        result = kg.classify(model, dataset, "uniform", sample_seed=seed)
        assert content["facts"] == result.facts
        assert content["metrics"][0]["accuracy"] == result["accuracy"]
        assert content["metrics"][1]["f1"] == result["macro.f1"]
        assert content["facts"]["sample_seed"] == seed


def test_calibration(root, capsys):
    """Options reach the call; an infinite loss is null in JSON, with that as the reason, and inf in a table."""
    pytest.importorskip("sklearn", reason="calibration is scikit-learn's")
    folder = root / "data" / "countries"
    dataset = kg.read_dataset(folder)
    model = kg.load_model(folder / "complex.npz", dataset)
    call = (
        "classify",
        folder,
        "--model",
        folder / "complex.npz",
        "--negatives",
        "uniform",
        "--metrics",
        "log_loss,brier",
    )
    content = as_json(capsys, *call, "--calibrate", "platt", "--prior", "0.2")
    result = kg.classify(model, dataset, "uniform", calibrate="platt", prior=0.2)
    assert content["metrics"][0]["log_loss"] == result["log_loss"]
    assert (content["facts"]["calibrate"], content["facts"]["prior"]) == ("platt", 0.2)
    content = as_json(capsys, *call, "--calibrate", "isotonic")
    result = kg.classify(model, dataset, "uniform", calibrate="isotonic")
    assert result["log_loss"] == np.inf
    assert content["metrics"][0] == {
        "average": "micro",
        "n": 658,
        "log_loss": None,
        "brier": result["brier"],
        "reason": "log_loss is infinite",
    }
    assert "micro    658       inf" in printed(capsys, *call, "--calibrate", "isotonic").out


def test_calibration_is_shown_unless_metrics_are_given(monkeypatch, capsys):
    """A line names it, and the metrics of probabilities join the default ones. The fit itself is replaced."""
    pytest.importorskip("sklearn", reason='pip install "kgeval[sklearn]"')
    fitted = kg.metrics.calibration.PlattCalibrator(slope=1.0, intercept=-2.0, center=0.0)
    monkeypatch.setattr("kgeval.classification.classifier.fit_calibrator", lambda *_: fitted)
    plain = ["accuracy", "f1", "precision", "recall", "auc", "ap"]
    content = as_json(capsys, *CALL, "--calibrate", "platt")
    assert list(content["metrics"][0])[2:] == [*plain, "log_loss", "brier", "ece"]
    lines = printed(capsys, *CALL, "--calibrate", "platt").out.splitlines()
    assert (
        lines[lines.index("") + 4]
        == "probabilities: Platt's method, fitted on valid; share of true triples: as in valid"
    )
    lines = printed(capsys, *CALL, "--calibrate", "isotonic", "--prior", "0.2", "--metrics", "recall").out.splitlines()
    assert "probabilities: isotonic regression, fitted on valid; share of true triples: 0.2" in lines
    assert lines[0] == "average  n  recall"
    assert list(as_json(capsys, *CALL)["metrics"][0])[2:] == plain
    printed(capsys, *CALL, "--calibrate", "platt", "--out", "run.kgeval")
    assert "Brier" in printed(capsys, "show", "run.kgeval").out


def test_long_calls_can_be_cut(tmp_path, capsys):
    """The function refuses more than two triples at a time."""
    (tmp_path / "scorers.py").write_text(SCORERS.replace("1 << 20", "2"))
    assert "raised AssertionError" in refused(capsys, *CALL)
    assert as_json(capsys, *CALL, "--batch-size", "2")["metrics"][0]["accuracy"] == 0.75


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sample-seed", "1"), "--sample-seed needs --negatives uniform"),
        (("--sample-seed", "1", "--negatives", "graph"), "--sample-seed needs --negatives uniform"),
        (("--sample-seed", "-1", "--negatives", "uniform"), "seed must be an integer of at least 0; got -1"),
        (("--norm", "1"), "--norm needs --model"),
        (("--by", "side"), "--by must be one of 'relation', 'cardinality', 'pattern', "),
        (("--metrics", "acuracy"), "unknown pointwise metric 'acuracy'; did you mean 'accuracy'?"),
        (("--metrics", "f1(threshold=2)"), "has its own threshold"),
        (("--negatives", "none"), "none: no such folder"),
        (("--negatives", "unifrom"), "--negatives: unifrom: no such folder; did you mean 'uniform'?"),
        (("--negatives", "grahp"), "grahp: no such folder; did you mean 'graph'?"),
        (("--prior", "0.5"), "prior= requires calibrate=; set calibrate="),
        (("--labelled",), "valid.txt, line 1: expected 4 tab-separated columns (s, p, o, label), found 3"),
    ],
)
@pytest.mark.light(3)
def test_refusals(capsys, options, message):
    assert message in refused(capsys, *CALL, *options)


def test_one_scorer_that_is_there(capsys):
    """A second one would be left out without a word."""
    call = ("classify", "graph", "--scorer", "scorer.py:f")
    assert "scorer.py: no such file; did you mean 'scorers.py'?" in refused(capsys, *call)
    with pytest.raises(SystemExit) as stop:
        main([*call, "--scorer", "scorers:objects"])
    assert stop.value.code == 2
    said = "argument --scorer: given twice, with scorer.py:f and scorers:objects; a run evaluates one model"
    assert said in " ".join(capsys.readouterr().err.split())


def test_what_lacks_is_said(tmp_path, capsys):
    """No negatives: both ways out; a label column that was not announced."""
    for stem in FALSE:
        (tmp_path / "graph" / f"{stem}.txt").unlink()
    said = refused(capsys, *CALL)
    assert "expected valid_negatives.txt and test_negatives.txt (or .tsv)" in said
    assert said.endswith("kgeval.classify can draw negatives (negatives='uniform', --negatives uniform)")
    write(tmp_path / "graph", **LABELLED)
    assert "use labelled=True (--labelled)" in refused(capsys, *CALL)
    write(tmp_path / "bare", train="a r b", test="a r c")
    said = refused(capsys, "classify", "bare", "--scorer", "scorers:objects", "--negatives", "uniform")
    assert said.startswith("dataset 'bare' has no split 'valid'")


def test_a_side_is_refused_as_a_breakdown(capsys):
    """What was asked is named, and no table is printed."""
    assert "; got 'side'" in refused(capsys, *CALL, "--by", "side")


def test_a_classification_and_an_evaluation_are_not_compared(capsys):
    """In either order, the message names what each file holds."""
    printed(capsys, *CALL, "--out", "classes.kgeval")
    printed(capsys, "evaluate", "graph", "--scorer", "scorers:objects", "--out", "ranks.kgeval")
    said = "classes.kgeval holds a classification, ranks.kgeval holds an evaluation; compare needs results of one "
    said += "kind: two or more of kgeval evaluate --out, or two or more of kgeval classify --out\n"
    for files in (("classes.kgeval", "ranks.kgeval"), ("ranks.kgeval", "classes.kgeval")):
        assert refused(capsys, "compare", *files).removeprefix("kgeval: ").rstrip() == said.rstrip()


def test_what_is_saved_is_shown(tmp_path, capsys):
    """--out writes a result that `kgeval show` prints alike, broken down by what the dataset tells."""
    call = (*CALL, "--metrics", "accuracy,auc", "--by", "cardinality,seen")
    content = as_json(capsys, *call, "--out", "run.kgeval")
    result = kg.load_result("run.kgeval")
    assert content["facts"] == result.facts
    assert [row["accuracy"] for row in content["metrics"]] == [result["accuracy"], result["macro.accuracy"]]
    assert [(row["cardinality"], row["seen"], row["n"]) for row in content["by"]] == [
        ("1-N", "seen", 2),
        ("1-N", "unseen entity", 2),
    ]
    shown = as_json(capsys, "show", "run.kgeval", "--dataset", "graph", *call[len(CALL) :])
    assert shown == content
    assert refused(capsys, *CALL, "--out", "run.kgeval").startswith("run.kgeval exists; choose another name")
    assert "holds a classification" in refused(capsys, "show", "run.kgeval", "--ties", "expected")


def test_a_feature_that_needs_a_side_is_refused(tmp_path, capsys):
    """With those that can be had; nothing is computed or written before."""
    said = refused(capsys, *CALL, "--by", "degree_given", "--out", "run.kgeval")
    assert (
        "'relation', 'cardinality', 'pattern', 'relation_frequency', 'seen', 'leak', 'half_link'; got 'degree_given'"
        in said
    )
    assert not (tmp_path / "run.kgeval").exists()


def test_no_side_can_be_asked(capsys):
    """Triples are scored, not sides: the option of the other commands does not exist."""
    with pytest.raises(SystemExit) as stop:
        main([*CALL, "--sides", "object"])
    assert stop.value.code == 2
    said = "kgeval: kgeval classify has no option --sides; did you mean '--ids'? See kgeval classify --help\n"
    assert capsys.readouterr().err == said
