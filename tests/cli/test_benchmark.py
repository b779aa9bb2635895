"""kgeval benchmark, and --name, --seed and --sample-seed of kgeval evaluate."""

import json
import re

import benchmark_cases as cases
import numpy as np
import pytest

import kgeval as kg
from kgeval.base.wording import signed
from kgeval.benchmarks.benchmark_text import brief_notes
from kgeval.cli import main


@pytest.fixture(scope="module")
def runs():
    return cases.runs_of((12, 20), seeds=(1, 2))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, runs):
    """Files of 3 models x 2 seeds x 2 datasets that hold their names, and one file without a name."""
    folder = tmp_path_factory.mktemp("benchmark")
    for (model, seed, dataset), result in runs.items():
        result.save(folder / f"{model}{seed}-{dataset}.kgeval", name=model, seed=seed, details=False)
    (folder / "other").mkdir()
    cases.run_of(12, "A", 9).save(folder / "other" / "plain.kgeval")
    return folder


@pytest.fixture(autouse=True)
def _there(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture
def files(folder):
    return sorted(path.name for path in folder.glob("*.kgeval"))


def printed(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def refused(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


@pytest.fixture(scope="module")
def bench(runs):
    return kg.benchmark(runs)


@pytest.fixture
def one(files):
    """One file, for tests in which `given` makes the benchmark of all."""
    return files[0]


@pytest.fixture
def given(monkeypatch, bench):
    """What `kgeval.benchmark` gets from the command, which goes on with `bench`."""
    found = {}
    monkeypatch.setattr(kg, "benchmark", lambda runs, **options: found.update(options, runs=runs) or bench)
    return found


def test_files_with_names_need_no_option(capsys, files, bench):
    """The text has the verdict, the means, the differences, the mean ranks and the notes of kg.benchmark."""
    text = printed(capsys, "benchmark", *files)
    assert text.startswith(bench.verdict.headline + "\n")
    for row in bench.differences.to_dict("records"):
        assert f"{signed(row['difference'])} [{signed(row['low'])}, {signed(row['high'])}]" in text
    assert all(line in text for line in [*bench.description(), *bench.notes_on_method(), *brief_notes(bench)])
    ranks, *notes = bench.across().lines()
    assert f"\n{ranks}\n" in text
    assert [note in text for note in notes] == [
        True
    ]  # why there is no test; what all tests over datasets assume is not said


def test_quiet_leaves_the_tables_and_the_verdict(capsys, one, bench, given):
    brief = printed(capsys, "benchmark", one, "--quiet")
    assert brief.startswith(bench.verdict.headline)
    assert f"{bench.values.iloc[0, 0]:.4f}" in brief
    assert "; paired ranks: " not in brief
    assert not any(note in brief for note in bench.notes)


def test_other_formats(capsys, one, bench, given):
    """LaTeX, Markdown and CSV are the methods of the benchmark; JSON has everything. What is said goes aside."""
    text = printed(capsys, "benchmark", one, "--to", "latex", "--siunitx")
    assert text == bench.to_latex(siunitx=True) + "\n"
    assert printed(capsys, "benchmark", one, "--to", "markdown") == bench.to_markdown() + "\n"
    assert main(["benchmark", one, "--to", "csv", "--differences"]) == 0
    out, err = capsys.readouterr()
    assert out == bench.to_csv(differences=True)
    assert f"kgeval: {bench.verdict.sentence}\n" in err
    assert all(f"kgeval: {line}\n" in err for line in bench.header())
    content = json.loads(printed(capsys, "benchmark", one, "--to", "json"))
    assert content["verdict"] == bench.verdict.sentence
    assert [row["mean"] for row in content["table"]] == pytest.approx(bench.table["mean"].tolist())
    assert [row["better"] for row in content["differences"]] == bench.differences["better"].tolist()
    run, result = content["runs"][0], bench.results["A", 1, "ring-12"]
    assert (run["model"], run["seed"], run["dataset"]) == ("A", 1, "ring-12")
    assert [run[key] for key in bench.keys] == pytest.approx([result[key] for key in bench.keys])


def test_groups_of_the_two_best_models(capsys, files, one, bench, given):
    """A table for each dataset, of the benchmark's own numbers; --limit cuts it, and other formats have it alone."""
    frames = {dataset: bench.by("relation", dataset) for dataset in bench.datasets}
    text = printed(capsys, "benchmark", one, "--by", "relation", "--quiet")
    for dataset, frame in frames.items():
        first, second = frame.attrs["models"]
        title = f"{first} - {second} in MRR by relation on {dataset}: 2 groups; intervals corrected for 2 tests"
        _, _, *rows, note = text.partition(f"\n\n{title}")[2].split("\n\n")[0].splitlines()
        assert note == ("* decided" if frame["decided"].any() else "none is decided")
        assert [row.split()[0] for row in rows] == frame.index.tolist()
        for row, found in zip(rows, frame.to_dict("records"), strict=True):
            limits = f"[{signed(found['low_corrected'])}, {signed(found['high_corrected'])}]"
            shown = [f"{signed(found['difference'])}{'*' * found['decided']}"]
            assert " ".join([*shown, *([limits] if np.isfinite(found["low_corrected"]) else [])]) in " ".join(
                row.split()
            )
    content = json.loads(printed(capsys, "benchmark", one, "--by", "relation", "--to", "json"))["by"]
    assert [row["difference"] for row in content] == [x for frame in frames.values() for x in frame["difference"]]
    assert main(["benchmark", one, "--by", "relation", "--limit", "1", "--to", "csv"]) == 0
    _, *rows = capsys.readouterr().out.splitlines()
    first_of_each = [[name, " - ".join(frame.attrs["models"]), frame.index[0]] for name, frame in frames.items()]
    assert [row.split(",")[:3] for row in rows] == first_of_each
    text = printed(capsys, "benchmark", one, "--by", "relation", "--to", "markdown")
    assert text.splitlines()[0].startswith("| dataset | difference of | relation | n | difference | contribution | ")
    assert refused(capsys, "benchmark", one, "--limit", 0) == "kgeval: --limit must be at least 1; got 0\n"


def test_datasets_without_groups_are_named(capsys, folder, files, tmp_path):
    """B has no run on ring-20; a column that no dataset has is refused."""
    some = [name for name in files if not name.startswith(("B", "C")) or "ring-12" in name]
    said = " ".join(printed(capsys, "benchmark", *some, "--by", "relation", "--quiet").split())
    assert "not listed by relation: ring-20: " in said
    assert "in MRR by relation on ring-12: 2 groups" in said
    assert "must be one of" in refused(capsys, "benchmark", *files, "--by", "colour")


def test_options_reach_benchmark(capsys, files, bench, given):
    """The options are the keywords of kgeval.benchmark; the files are its runs."""
    options = ("--metrics", "mr,hits@3", "--baseline", "B", "--confidence", 0.9)
    more = ("--cluster", "query", "--spread", "separate")
    printed(capsys, "benchmark", *files, *options, *more, "--override", "queries,dataset")
    runs = given.pop("runs")
    assert given == {
        "metrics": "mr,hits@3",
        "baseline": "B",
        "confidence": 0.9,
        "cluster": "query",
        "spread": "separate",
        "override": "queries,dataset",
    }
    wanted = {tuple(run): result["mrr"] for run, result in bench.results.items()}
    assert {tuple(run): result["mrr"] for run, result in runs.items()} == wanted


def test_names_on_the_command_line(capsys, folder, given):
    """MODEL:SEED:DATASET=FILE; parts that are left out come from the file."""
    texts = ("near:7:ring=A1-ring-12.kgeval", "near:b:ring=A2-ring-12.kgeval", "far=B1-ring-20.kgeval")
    printed(capsys, "benchmark", *texts)
    assert [tuple(run) for run in given["runs"]] == [("near", 7, "ring"), ("near", "b", "ring"), ("far", 1, "ring-20")]
    (folder / "other" / "a=b.kgeval").write_bytes((folder / "A1-ring-12.kgeval").read_bytes())
    printed(capsys, "benchmark", "other/a=b.kgeval", "B1-ring-12.kgeval")
    assert [run.model for run in given["runs"]] == ["A", "B"]


@pytest.mark.parametrize(
    "text", ["=A1-ring-12.kgeval", ":1=A1-ring-12.kgeval", "A:=A1-ring-12.kgeval", "A:1:x:y=A.kgeval", "A="]
)
def test_names_that_cannot_be_read_are_refused(capsys, text):
    said = refused(capsys, "benchmark", text)
    assert "expected FILE, MODEL=FILE, MODEL:SEED=FILE or MODEL:SEED:DATASET=FILE, such as ComplEx:1=run.kgeval" in said


@pytest.mark.parametrize("second", ["A:2=A1-ring-12.kgeval", "B:1=./A1-ring-12.kgeval", "other/../A1-ring-12.kgeval"])
def test_one_file_is_no_two_runs(capsys, second):
    """Its ranks would count as those of two seeds that have no spread."""
    said = refused(capsys, "benchmark", "A:1=A1-ring-12.kgeval", second)
    shown = second.replace("=./", "=")  # as Python writes the path
    assert said == f"kgeval: A:1=A1-ring-12.kgeval and {shown} are the same file; give each run once\n"


def test_a_folder_stands_for_the_results_in_it(capsys, folder, files, bench, given, tmp_path):
    printed(capsys, "benchmark", folder)
    assert len(given["runs"]) == len(files) == 12
    assert "is a folder without files *.kgeval" in refused(capsys, "benchmark", tmp_path)


@pytest.mark.thorough
def test_a_pattern_that_the_shell_left_is_expanded(capsys, bench, given):
    """As on Windows."""
    printed(capsys, "benchmark", "*.kgeval")
    assert {tuple(run) for run in given["runs"]} == {tuple(run) for run in bench.results}
    assert refused(capsys, "benchmark", "*.nothing") == "kgeval: no file matches '*.nothing'\n"


def test_files_without_names_are_listed(capsys, files):
    said = refused(capsys, "benchmark", *files, "other/plain.kgeval").splitlines()
    assert said[:2] == ["kgeval: 1 of 13 results do not contain the name of their model:", "  other/plain.kgeval"]
    assert "on the command line ComplEx:1=FILE" in said[2]
    assert "kgeval evaluate ... --out FILE --name ComplEx --seed 1" in said[3]
    said = refused(capsys, "benchmark", "A1-ring-12.kgeval", "A:1=other/plain.kgeval")
    assert "  A on ring-12: the seed 1 in A1-ring-12.kgeval and other/plain.kgeval\n" in said
    assert "no such file" in refused(capsys, "benchmark", "missing.kgeval").lower()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--siunitx",), "--siunitx needs --to latex"),
        (("--differences",), "--differences needs --to csv"),
        (("--baseline", "D"), "baseline must be one of 'A', 'B', 'C'; got 'D'"),
        (("-o", "A1-ring-12.kgeval"), "A1-ring-12.kgeval"),
    ],
)
@pytest.mark.light(3)
def test_wrong_options_are_refused(capsys, files, options, said):
    assert said in refused(capsys, "benchmark", *files, *options)


def test_page(capsys, one, folder, given):
    text = printed(capsys, "benchmark", one, "-o", "page.html")
    assert re.search(r"wrote page\.html, 0\.\d MB\n$", text)
    assert (folder / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "exists" in refused(capsys, "benchmark", one, "-o", "page.html")


# ---- kgeval evaluate --name, --seed ----


@pytest.fixture(scope="module")
def call(tmp_path_factory):
    """An evaluation of 30 triples, without its options."""
    graph = tmp_path_factory.mktemp("ring")
    (graph / "test.txt").write_text("".join(f"e{i}\tr\te{(i + 7) % 30}\n" for i in range(30)))
    (graph / "scorer.py").write_text("def score(s, p, o):\n    return (s * 7919 + o * 31) % 97 + 0.25\n")
    scorer = f"{graph / 'scorer.py'}:score"
    return ("evaluate", graph, "--scorer", scorer, "--to", "csv", "--metrics", "mrr", "--quiet")


def test_name_and_seed_are_kept_in_the_file(capsys, call, folder):
    """They change no number, and are not the seed of a sample."""
    capsys.readouterr()
    more = ("--sample", 20, "--sample-seed", 4, "--out", "named.kgeval.tmp", "--overwrite")
    named = printed(capsys, *call, *more, "--name", " ComplEx ", "--seed", 1)
    result = kg.load_result(folder / "named.kgeval.tmp")
    assert (result.facts["model"], result.facts["seed"], result.protocol.sample.seed) == ("ComplEx", 1, 4)
    assert printed(capsys, *call, *more) == named
    assert "model" not in kg.load_result(folder / "named.kgeval.tmp").facts
    (folder / "named.kgeval.tmp").unlink()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--name", "A"), "--name is kept in the saved result; give it with --out FILE"),
        (("--seed", 1), "--seed is kept in the saved result; give it with --out FILE"),
        (("--seed", 1, "--out", "x"), "--seed is the seed with which the model was trained; it needs --name MODEL"),
        (("--name", " ", "--out", "x"), "the name of a model must be a text of 1 to 200 characters; got ' '"),
        (("--name", "A", "--seed", -1, "--out", "x"), "seed must be an integer of at least 0; got -1"),
        (
            ("--sample-seed", 1),
            "--sample-seed is the seed of --sample N, --precision H and --max-seconds S; give it with one of them",
        ),
        *(
            (
                ("--seed", 3, *sample),
                "--seed is the seed with which the model was trained; the seed of --sample N and of --max-seconds S is "
                "--sample-seed N. Give --sample-seed 3 if you mean the random triples, or both (--seed 3 "
                "--sample-seed 0)",
            )
            for sample in (("--sample", 5), ("--max-seconds", 5), ("--sample", 5, "--name", "A", "--out", "x"))
        ),
    ],
)
def test_seeds_and_names_that_may_be_meant_otherwise(capsys, call, folder, options, said):
    assert refused(capsys, *call, *options) == f"kgeval: {said}\n"
    assert not (folder / "x").exists()


def test_a_saved_name_stands_beside_a_file_without_one(capsys, files, folder):
    """Each model has its saved name, or else that of its file."""
    text = printed(capsys, "compare", files[0], folder / "other" / "plain.kgeval", "--metrics", "mrr", "--quiet")
    saved = kg.load_result(files[0]).facts["model"]
    rows = [line.split()[0] for line in text.partition("\nmodel")[2].splitlines()[1:3]]
    assert sorted(rows) == sorted([saved, "plain"])
