"""kgeval gate and the options --margin and --plan of kgeval compare: text, exit codes, JSON, refusals."""

import csv
import io
import json

import numpy as np
import pytest
from ranked_results import ranked

import kgeval as kg
from kgeval.cli import main
from kgeval.comparison.regression_gate import gate

N = 60
RNG = np.random.default_rng(1)
BASE = RNG.integers(1, 30, N)
NEAR = np.clip(BASE + RNG.integers(-2, 3, N), 1, None)
WORSE = BASE + RNG.integers(1, 7, N)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three saved results: base, near and worse; and one of another number of triples, short."""
    folder = tmp_path_factory.mktemp("gate")
    for name, ranks in (("base", BASE), ("near", NEAR), ("worse", WORSE), ("short", BASE[:-1])):
        ranked(ranks, name).save(folder / f"{name}.kgeval", details=False)
    return folder


@pytest.fixture(autouse=True)
def _there(folder, monkeypatch):
    monkeypatch.chdir(folder)


def run(capsys, *arguments):
    """Run a command; return its exit code and what it printed to both streams."""
    status = main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def gated(capsys, run_name, *arguments, against="base"):
    return run(capsys, "gate", f"{run_name}.kgeval", "--against", f"{against}.kgeval", *arguments)


def test_other_formats_have_the_row_and_the_exit_code(capsys):
    """csv has every column; a table for a paper those that fit; the sentences go to standard error."""
    asked = ("worse", "--metrics", "mr", "--margin", "1", "--to")
    status, text, error = gated(capsys, *asked, "csv")
    (row,) = csv.DictReader(io.StringIO(text))
    assert (status, row["metric"], row["passes"]) == (1, "mr", "False")
    assert float(row["difference"]) == pytest.approx((WORSE - BASE).mean())
    assert "gate: FAILS: 1 of 1 metric" in error
    for style, cells in (("markdown", text_of_markdown), ("latex", text_of_latex)):
        status, text, _ = gated(capsys, *asked, style)
        assert status == 1
        head, row = cells(text)
        assert head == [
            "metric",
            "value_first",
            "value_second",
            "difference",
            "low",
            "high",
            "margin",
            "decision",
            "passes",
        ]
        assert (row[0], row[6:]) == ("mr", ["1.0000", "inferior beyond the margin", "no"])


def text_of_markdown(text):
    """The cells of the head and of the only row."""
    head, _, row = text.splitlines()
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in (head, row)]


def text_of_latex(text):
    """The cells of the head and of the only row."""
    lines = [line for line in text.replace(r"\_", "_").splitlines() if "&" in line]
    return [[cell.strip() for cell in line.removesuffix(r"\\").split("&")] for line in lines]


@pytest.mark.parametrize(
    ("run_name", "against", "margin", "strict", "status"),
    [
        ("worse", "base", "1", False, 1),
        ("base", "worse", "1", True, 0),
        ("worse", "base", "9", False, 0),
        ("near", "base", "3", True, 0),
        ("near", "base", "0.1", False, 0),
        ("near", "base", "0.1", True, 1),
    ],
)
@pytest.mark.light(4)
def test_exit_codes(capsys, run_name, against, margin, strict, status):
    options = ["--metrics", "mr", "--margin", margin, *(["--strict"] if strict else [])]
    found, text, error = gated(capsys, run_name, *options, against=against)
    assert (found, error) == (status, "")
    assert ("FAILS" in text) == (status == 1)
    assert text.rstrip().splitlines()[-1].startswith(f"gate{' (strict)' if strict else ''}: ")


def test_it_prints_what_the_library_says(capsys):
    _, text, _ = gated(capsys, "worse", "--metrics", "mr,mrr", "--margin", "1,0.01")
    results = [kg.load_result(f"{name}.kgeval") for name in ("worse", "base")]
    expected = gate(*results, {"mr": 1.0, "mrr": 0.01}, names=("worse", "base"))
    assert text.splitlines() == expected.lines


def test_each_metric_has_its_own_margin(capsys):
    status, text, _ = gated(capsys, "worse", "--metrics", "mrr,mr", "--margin", "0.9,9")
    assert status == 0
    assert "margin 0.9000" in text
    assert "margin 9.00" in text


def test_json_has_the_numbers(capsys):
    status, text, _ = gated(capsys, "worse", "--metrics", "mr", "--margin", "1", "--to", "json")
    content = json.loads(text)
    assert (status, content["passes"], content["strict"]) == (1, False, False)
    row = content["metrics"][0]
    assert row["metric"] == "mr"
    assert row["difference"] == pytest.approx((WORSE - BASE).mean())
    assert row["decision"] == "inferior beyond the margin"
    assert not any("random swap" in line for line in content["header"])


@pytest.mark.parametrize(
    ("run_name", "options", "said"),
    [
        ("worse", ["--metrics", "mr,mrr", "--margin", "1"], "--margin needs one number for each metric"),
        ("worse", ["--metrics", "mr", "--margin", "1,2"], "got 2 for 1"),
        ("worse", ["--metrics", "mr", "--margin", "one"], "--margin needs numbers, such as 0.002"),
        ("worse", ["--metrics", "mr,mr", "--margin", "1,1"], "names a metric twice"),
        ("worse", ["--metrics", "mrr", "--margin", "5"], "not in percent"),
        ("worse", ["--metrics", "mrr", "--margin=-0.1"], "margin must be 0 or more"),
        ("worse", ["--metrics", "mmr", "--margin", "1"], "unknown metric"),
        ("short", ["--metrics", "mr", "--margin", "1"], "cannot be compared"),
        ("base", ["--metrics", "mr", "--margin", "1"], "are the same file"),
        ("missing", ["--metrics", "mr", "--margin", "1"], "missing.kgeval"),
    ],
)
def test_what_cannot_be_compared_ends_with_two(capsys, run_name, options, said):
    status, text, error = gated(capsys, run_name, *options)
    assert (status, text) == (2, "")
    assert said in error


@pytest.mark.parametrize("options", [[], ["--metrics", "mr"], ["--margin", "1"]])
def test_metric_and_margin_are_asked_for(capsys, options):
    with pytest.raises(SystemExit) as stopped:
        gated(capsys, "worse", *options)
    assert stopped.value.code == 2
    assert "required" in capsys.readouterr().err


def compared(capsys, *options):
    return run(capsys, "compare", "near.kgeval", "base.kgeval", "--metrics", "mr,mrr", "--n-resamples", "99", *options)


def test_compare_prints_equivalence_after_the_differences(capsys):
    _, text, _ = compared(capsys, "--margin", "1.5")
    at = text.index("are equal in MR, within the margin 1.50: difference ")
    assert text.index(" - ") < at < text.index("tested: two one-sided t tests (TOST) at the level 0.05")


@pytest.mark.thorough
def test_compare_prints_non_inferiority(capsys):
    _, text, _ = compared(capsys, "--margin", "1.5", "--non-inferior-to", "base", "--quiet")
    assert "near is not inferior to base in MR, by the margin 1.50" in text


def test_compare_json_has_equivalence(capsys):
    _, text, _ = compared(capsys, "--margin", "1.5", "--to", "json")
    content = json.loads(text)
    assert content["equivalence"][0]["decision"] == "equal within the margin"
    assert content["equivalence"][0]["margin"] == 1.5
    assert set(content) == {"header", "overridden", "values", "differences", "equivalence"}


@pytest.mark.parametrize(("option", "why"), [("--plan", "planned sizes missed"), ("--power", "it belonged to --plan")])
def test_options_that_are_gone_say_why(capsys, option, why):
    with pytest.raises(SystemExit) as stopped:
        compared(capsys, option, "0.05")
    assert stopped.value.code == 2
    assert f"there is no {option} any more: {why}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--non-inferior-to", "base"], "--non-inferior-to needs --margin"),
        (["--margin", "1", "--to", "csv"], "--margin prints sentences, which --to csv cannot contain"),
        (["--margin", "0"], "margin must be above 0"),
        (["--margin", "1", "--non-inferior-to", "bases"], "baseline (--non-inferior-to)"),
    ],
)
@pytest.mark.light(3)
def test_options_of_compare_are_checked(capsys, options, said):
    status, _, error = compared(capsys, *options)
    assert status == 2
    assert said in error


@pytest.fixture
def with_names(tmp_path):
    """The files of ComplEx, seeds 1 and 2, and of RotatE."""
    for file, model, seed in (("a", "ComplEx", 1), ("b", "RotatE", 1), ("c", "ComplEx", 2)):
        ranked(NEAR if file == "c" else BASE, file).save(tmp_path / file, details=False, name=model, seed=seed)
    return tmp_path / "a", tmp_path / "c", tmp_path / "b"


def test_saved_names_are_the_names_of_models(capsys, with_names):
    first, second, other = with_names
    _, out, _ = run(capsys, "gate", other, "--against", first, "--metrics", "mrr", "--margin", "0.1")
    assert "MRR: RotatE " in out
    assert ", ComplEx " in out
    status, _, error = run(capsys, "compare", first, second, "--metrics", "mrr")
    assert status != 0
    assert "these are 2 runs of one model, ComplEx; runs of one model are its seeds, and no rivals" in error
    _, out, _ = run(capsys, "compare", first, second, "--metrics", "mrr", "--names", "old,new")
    assert "old - new" in out
    assert "are runs of one model, ComplEx; here each counts as a model of its own" in out


@pytest.mark.thorough
def test_seeds_are_named_only_where_runs_are_of_one_model(capsys, with_names):
    first, second, other = with_names
    assert "runs of one model" not in run(capsys, "compare", first, other, "--metrics", "mrr")[1]
    _, out, _ = run(capsys, "compare", first, second, "--metrics", "mrr", "--names", "old,new")
    assert "old - new" in out
