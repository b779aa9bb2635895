"""The commands on saved results: what they print is what the library says; what they refuse."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kgeval as kg
from kgeval.cli import main
from kgeval.cli.program import _parser

SCORERS = """
import numpy as np

def near(s, p, o):
    return -np.abs((o - s - 1) % 12).astype(float)

def endless(s, p, o):
    return np.full(len(s), np.inf)

def far(s, p, o):
    return -np.abs((o - s - 4) % 12).astype(float) - p
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two saved results on a small graph: near and far."""
    folder = tmp_path_factory.mktemp("decisions")
    rng = np.random.default_rng(5)
    triples = np.unique(rng.integers(0, [12, 2, 12], (60, 3)), axis=0)
    rng.shuffle(triples)
    graph = folder / "graph"
    graph.mkdir()
    for name, part in (("train", triples[25:]), ("test", triples[:25])):
        lines = "".join(f"e{s:02}\tr{p}\te{o:02}\n" for s, p, o in part)
        (graph / f"{name}.txt").write_text(lines)
    (graph / "valid.txt").write_text("e00\tr0\te00\n")
    (folder / "decision_scorers.py").write_text(SCORERS)
    (folder / "types.tsv").write_text("".join(f"e{i:02}\t{'even' if i % 2 == 0 else 'odd'}\n" for i in range(12)))
    dataset = kg.read_dataset(graph)
    scope = {}
    exec(SCORERS, scope)
    for name in ("near", "far"):
        kg.evaluate(scope[name], dataset, progress=False).save(folder / f"{name}.kgeval")
    return folder


@pytest.fixture(autouse=True)
def _there(folder, monkeypatch):
    monkeypatch.chdir(folder)


def printed(capsys, *arguments):
    """Run a command that must succeed; return what it printed."""
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def refused(capsys, *arguments):
    """Run a command that must fail; return its message."""
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err.removeprefix("kgeval: ")


def test_show_prints_what_the_result_says(capsys):
    """Metrics, breakdowns that were saved, and ties, from the file alone."""
    result = kg.load_result("near.kgeval")
    content = json.loads(
        printed(capsys, "show", "near.kgeval", "--by", "cardinality", "--metrics", "mrr", "--to", "json")
    )
    assert content["metrics"][0]["mrr"] == result["mrr"]
    frame = result.by("cardinality", metrics="mrr")
    assert [(row["cardinality"], row["mrr low"]) for row in content["by"]] == list(frame["mrr low"].items())
    lines = printed(capsys, "show", "near.kgeval", "--metrics", "mr", "--by", "side").splitlines()
    low, value, high = result.by("side", metrics="mr").loc["object", ["mr low", "mr", "mr high"]]
    assert f"object   25  0.5000  {value:.2f} [{low:.2f}, {high:.2f}]                  25" in lines
    purpose = "note: 95% intervals show how much a number would vary with other triples of this graph (both ranks of a "
    assert f"{purpose}triple sampled together); 25 effective clusters in all" in lines
    call = ("show", "near.kgeval", "--metrics", "mr", "--by", "side", "--cluster", "entity")
    low, value, high = result.by("side", metrics="mr", cluster="entity").loc["object", ["mr low", "mr", "mr high"]]
    assert f"object   25  0.5000  {value:.2f} [{low:.2f}, {high:.2f}]" in printed(capsys, *call)
    assert "[" not in printed(capsys, "show", "near.kgeval", "--metrics", "mr").partition("both")[2].splitlines()[0]


def test_a_confidence_level_out_of_range_is_refused(capsys):
    assert "must be between 0 and 1" in refused(capsys, "show", "near.kgeval", "--confidence", 95)


@pytest.mark.thorough
def test_show_prints_intervals_of_all_ranks_on_request(capsys):
    result = kg.load_result("near.kgeval")
    for choice in (("--confidence", 0.9), ("--cluster", "query")):
        text = printed(capsys, "show", "near.kgeval", "--metrics", "mr", *choice)
        found = result.interval("mr", **{choice[0][2:]: choice[1]})
        assert re.search(rf"^both +50  {found.value:.2f} \[{found.low:.2f}, {found.high:.2f}\]", text, re.MULTILINE)
        assert ("90% intervals" if choice[1] == 0.9 else "with other queries of this graph") in text


def test_breakdown_by_types_of_a_file(capsys):
    """Even and odd entities, from evaluate and from show; without the file it is asked for."""
    call = ("--by", "type_asked", "--metrics", "mr", "--to", "json", "--types", "types.tsv")
    shown = json.loads(printed(capsys, "show", "near.kgeval", "--dataset", "graph", *call))["by"]
    evaluated = json.loads(printed(capsys, "evaluate", "graph", "--scorer", "decision_scorers:near", *call))["by"]
    assert shown == evaluated
    table = kg.load_result("near.kgeval").table
    asked = np.where(table["side"] == "subject", table["s"], table["o"])
    assert {row["type_asked"]: row["n"] for row in shown} == {
        "even": int((asked % 2 == 0).sum()), "odd": int((asked % 2 == 1).sum()),
    }  # fmt: skip
    assert refused(capsys, "show", "near.kgeval", "--by", "type_asked") == "--by type_asked needs --types FILE\n"


def test_compare_prints_the_comparison(capsys):
    """The numbers of the JSON are those of kgeval.compare; the table marks the better model."""
    results = [kg.load_result(f"{name}.kgeval") for name in ("near", "far")]
    found = kg.compare(results, names=["near", "far"], metrics="mrr,hits@3", resample_seed=3)
    call = ("compare", "near.kgeval", "far.kgeval", "--metrics", "mrr,hits@3", "--resample-seed", 3)
    content = json.loads(printed(capsys, *call, "--by-relation", "mrr", "--to", "json"))
    for row, (_, said) in zip(content["differences"], found.differences.iterrows(), strict=True):
        for name in ("difference", "low", "high", "p", "p_corrected", "detectable", "wins", "ties", "losses"):
            assert row[name] == said[name], name
    assert sum(row["contribution"] for row in content["by_relation"]) == pytest.approx(
        found.differences["difference"].iloc[0], rel=1e-9
    )
    text = printed(capsys, *call)
    assert "near and far on graph: 50 ranks of test, paired by labels" in text
    best = found.best("mrr")
    assert f"{max(result['mrr'] for result in results):.4f}*" in text.partition("\nmodel ")[2].partition(best)[2]


@pytest.mark.thorough
def test_compare_in_other_formats(capsys):
    """CSV has a row for each metric; LaTeX has the better value in bold."""
    best = max(kg.load_result(f"{name}.kgeval")["mrr"] for name in ("near", "far"))
    call = ("compare", "near.kgeval", "far.kgeval", "--metrics", "mrr,hits@3", "--resample-seed", 3)
    rows = printed(capsys, *call, "--to", "csv").splitlines()
    assert len(rows) == 3
    assert rows[0].startswith("dataset,metric,first,second,n_first,n_second,difference,error")
    assert rf"\textbf{{{best:.4f}}}" in printed(capsys, *call, "--to", "latex")


UNDECIDED = ("compare", "near.kgeval", "far.kgeval", "--metrics", "mrr", "--n-resamples", 1)  # one swap pattern, p = 1
NOTE = "undecided: MRR; the best model is not significantly better than every other model (p ≤ 0.05, Holm)"
BOLD = (
    "best value, and values that do not differ significantly from it (p > 0.05, Holm; paired tests, so a better value "
    "may differ)"
)


def test_a_comparison_that_decides_nothing_names_no_winner(capsys):
    """It is undecided, in the terminal, in CSV and in JSON."""
    text = printed(capsys, *UNDECIDED)
    assert "; Holm, 1 test; decided: p ≤ 0.05\n" in text
    assert "; ties: mean rank (realistic)\n" in text
    assert text.startswith("Undecided: MRR ")
    assert f"\n* {BOLD}\n{NOTE}\n\n" in text
    assert text.count("* [") == 2  # the test cannot tell one model from the other
    assert json.loads(printed(capsys, *UNDECIDED, "--to", "json"))["differences"][0]["decision"] == "undecided"
    row = printed(capsys, *UNDECIDED, "--to", "csv").splitlines()[1]
    assert ",undecided,," in row
    assert ",swaps," in row


@pytest.mark.thorough
def test_tables_of_a_comparison_that_decides_nothing_say_so(capsys):
    """In a line below the table."""
    markdown = printed(capsys, *UNDECIDED, "--to", "markdown")
    assert f"\n\nbold: {BOLD}\n\n{NOTE}\n".replace(" >", r" \>").replace(" <", r" \<") in markdown
    latex = printed(capsys, *UNDECIDED, "--to", "latex")
    notes = (f"bold: {BOLD}".replace("p > 0.05", "$p > 0.05$"), NOTE.replace("p ≤ 0.05", r"$p \leq 0.05$"))
    *table, widths, about, _ = latex.splitlines()
    assert table[-2:] == [rf"{said}\par" for said in notes]
    assert widths.startswith(r"95\% intervals: at most $\pm$")
    assert r"graph: 50 ranks of test; filtered by train+valid+test, all entities, both sides; " in about


def test_compare_refuses_what_does_not_compare(capsys, folder):
    """Every difference on a line of its own, exit code 2; an override is printed."""
    dataset = kg.read_dataset("graph")
    result = kg.evaluate(lambda s, p, o: s - o, dataset, kg.Protocol(filter=["test"]), progress=False)
    result.save(folder / "other.kgeval", overwrite=True)
    message = refused(capsys, "compare", "near.kgeval", "other.kgeval")
    assert message.startswith("near and other cannot be compared as they are; they differ in\n  filter: ")
    assert "override 'filter'" in message
    assert "filter" in printed(capsys, "compare", "near.kgeval", "other.kgeval", "--override", "filter")
    assert refused(capsys, "compare", "near.kgeval") == (
        "compare needs two or more saved results; got one, near.kgeval. Usage: kgeval compare A.kgeval B.kgeval; "
        "kgeval show prints one result\n"
    )
    assert refused(capsys, "compare", "near.kgeval", "near.kgeval").startswith(
        "a file is given twice: near.kgeval, near.kgeval;"
    )
    assert refused(capsys, "compare", "near.kgeval", "far.kgeval", "--names", "a").startswith(
        "names must be 2 different words, one for each file; got ['a']"
    )


def test_export_writes_every_rank(capsys, tmp_path):
    """Labels, counts, ranks and the columns that were saved."""
    out = tmp_path / "ranks.csv"
    assert printed(capsys, "show", "near.kgeval", "-o", out).endswith(", 50 ranks\n")
    frame = pd.read_csv(out, keep_default_na=False, dtype={"s": str, "p": str, "o": str})
    result = kg.load_result("near.kgeval")
    assert frame["rank_filtered"].tolist() == result.ranks(labels=True)["rank_filtered"].tolist()
    assert frame["cardinality"].tolist() == result.columns["cardinality"].tolist()
    assert refused(capsys, "show", "near.kgeval", "-o", out).startswith(f"{out} exists; choose another name")
    printed(capsys, "show", "near.kgeval", "-o", out, "--overwrite")


def test_show_lists_the_worst_ranks(capsys):
    """The ranks of the library, worst first; of equal ranks the one among fewer rivals."""
    ranks = kg.load_result("near.kgeval").ranks(labels=True)
    order = sorted(range(len(ranks)), key=lambda i: (-ranks["rank_filtered"][i], ranks["rivals_filtered"][i], i))
    rows = json.loads(printed(capsys, "show", "near.kgeval", "--worst", 7, "--to", "json"))["worst"]
    labels = ["s", "p", "o", "side", "rank_filtered", "rank_raw"]
    assert list(rows[0]) == [
        "s",
        "p",
        "o",
        "side",
        "split",
        "rank_filtered",
        "rivals_filtered",
        "rank_raw",
        "rivals_raw",
        "score",
    ]
    assert [[row[name] for name in labels] for row in rows] == ranks[labels].iloc[order[:7]].values.tolist()
    lines = printed(capsys, "show", "near.kgeval", "--worst", 7, "--to", "csv").splitlines()
    assert lines[0] == "s,p,o,side,split,rank_filtered,rivals_filtered,rank_raw,rivals_raw,score"
    assert len(lines) == 8
    table = printed(capsys, "show", "near.kgeval", "--worst", 1).splitlines()
    assert table[1].split()[:4] == [rows[0][name] for name in labels[:4]]
    assert refused(capsys, "show", "near.kgeval", "--worst", 0) == "--worst must be at least 1; got 0\n"


def test_show_explains_a_rank_from_the_saved_rivals(capsys, tmp_path):
    """Without model or dataset: what `explain` of the loaded result says, and a note for a side without rivals."""
    dataset = kg.read_dataset("graph")
    kg.evaluate(lambda s, p, o: -np.abs((o - s - 4) % 12).astype(float) - p, dataset).save(tmp_path / "kept.kgeval")
    result = kg.load_result(tmp_path / "kept.kgeval")
    worst = result.ranks(labels=True).sort_values("rank_filtered").iloc[-1]
    labels = [worst[name] for name in ("s", "p", "o")]
    call = ("show", tmp_path / "kept.kgeval", "--explain", *labels, "--sides", worst["side"], "--to", "json")
    content = json.loads(printed(capsys, *call))
    frame = result.explain(*labels, worst["side"], 20)
    assert list(content) == ["triple", worst["side"]]
    assert [row["id"] for row in content[worst["side"]]["candidates"]] == frame["id"].tolist()
    assert len(frame) > 1
    assert content[worst["side"]]["n_above"] == frame.attrs["n_above"]
    s, p, o = dataset["train"].array[0].tolist()
    other = f"e{s:02}", f"r{p}", f"e{o:02}"
    assert "was not ranked" in refused(capsys, "show", tmp_path / "kept.kgeval", "--explain", *other)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("near.kgeval --explain a b", "--explain needs three labels, SUBJECT RELATION OBJECT; got 'a' 'b'"),
        ("near.kgeval --limit 3", "--limit needs --explain SUBJECT RELATION OBJECT"),
        ("near.kgeval --sides object", "--sides needs --explain SUBJECT RELATION OBJECT"),
        ("near.kgeval --worst 3 -o x.csv", "--out and --worst are two outputs; choose one of them"),
        ("near.kgeval --worst 3 --by side", "--by has no effect on --worst; leave one out"),
        ("near.kgeval --overwrite", "--overwrite needs -o FILE"),
        (
            "near.kgeval --explain a b c --filter train",
            "--filter needs --dataset and --model; a saved result keeps its protocol",
        ),
        ("--worst 3", "RUN.kgeval is missing: a result saved by kgeval evaluate --out or kgeval classify --out"),
        (
            "--explain a b c",
            "--explain needs RUN.kgeval, or --dataset DATASET with --model PATH or --scorer MODULE:NAME",
        ),
    ],
)
def test_show_refuses_options_without_effect(capsys, words, said):
    assert refused(capsys, "show", *words.split()) == f"{said}\n"


def test_explain_lists_what_stands_above(capsys):
    """Both sides of a test triple, as the evaluator explains it."""
    s, p, o = (kg.read_dataset("graph")["test"].array[0]).tolist()
    result = kg.evaluate(lambda s, p, o: -np.abs((o - s - 4) % 12).astype(float) - p, kg.read_dataset("graph"))
    labels = f"e{s:02}", f"r{p}", f"e{o:02}"
    call = ("show", "--dataset", "graph", "--scorer", "decision_scorers:far", "--explain", *labels)
    content = json.loads(printed(capsys, *call, "--to", "json"))
    for side in ("subject", "object"):
        frame = result.explain(*labels, side)
        assert [row["id"] for row in content[side]["candidates"]] == frame["id"].tolist()
        assert content[side]["n_above"] == frame.attrs["n_above"]
    text = printed(capsys, *call, "--limit", 1)
    assert text.startswith(" ".join(labels))
    n = content["object"]
    rank, raw = (1 + n[f"n_above{of}"] + n[f"n_tied{of}"] / 2 for of in ("_counting", ""))
    assert f"object side: rank {rank:g} (raw {raw:g}) of 12 candidates; {n['n_above']} rank above" in text
    rows = printed(capsys, *call, "--to", "csv").splitlines()
    assert rows[0] == "side,stands,candidate,known_in,counts,score"
    assert len(rows) == 1 + sum(len(content[side]["candidates"]) for side in ("subject", "object"))
    unknown = refused(capsys, *call[:-3], "nobody", "r0", "e01")
    assert "nobody" in unknown


def test_check_table_reads_numbers_and_files(capsys, tmp_path):
    """hits@1 .06, hits@10 .30 leave MRR at least .055 + .195 / 10 = .0745; rounded .06 is at most .065."""
    assert main(["check-table", "mrr=0.06", "hits@1=0.06", "hits@10=0.3"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("0 of 1 rows possible")
    assert "below 0.0745" in text
    table = tmp_path / "table.csv"
    table.write_text("model,MRR,H@1,H@10\ngood,0.314,0.227,0.486\nbad,0.06,0.06,0.30\n")
    assert main(["check-table", str(table), "--to", "json"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert printed(capsys, "check-table", "mrr=0.314", "hits@1=0.227", "hits@10=0.486").startswith(
        "1 of 1 rows possible"
    )
    assert (content["possible"], [row["possible"] for row in content["rows"]]) == (False, [True, False])
    assert main(["check-table", str(table), "--to", "csv"]) == 1
    text, error = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["row"], row["MRR"], row["possible"]) for row in rows] == [
        ("good", "0.314", "True"),
        ("bad", "0.06", "False"),
    ]
    assert "below 0.079" in rows[1]["why"]
    assert "kgeval: integer ranks, rounded to nearest" in error
    assert main(["check-table", str(table), "--to", "latex"]) == 1
    assert r"good & 0.314 & 0.227 & 0.486 & yes & possible" in capsys.readouterr().out
    said = refused(capsys, "check-table", "mrr=0.1", "--run", "near.kgeval", "--to", "csv")
    assert said.startswith("--run prints sentences, which --to csv cannot contain; use --to table or json")
    assert refused(capsys, "check-table", "mrr=0.1", "0.2").startswith("expected one file, or numbers such as mrr=0.31")
    assert "nowhere.csv" in refused(capsys, "check-table", "nowhere.csv")


@pytest.mark.thorough
def test_report_writes_a_page(capsys, tmp_path):
    """One file with both models, which is not overwritten unasked."""
    page = tmp_path / "report.html"
    said = printed(capsys, "report", "near.kgeval", "far.kgeval", "-o", page, "--dataset", "graph")
    assert said.startswith(f"wrote {page}, ")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert f"{kg.load_result('near.kgeval')['mrr']:.4f}"[1:] in text
    assert refused(capsys, "report", "near.kgeval", "-o", page).startswith(f"{page} exists; choose another name")


def test_explain_shows_infinite_scores(capsys):
    """JSON has no infinity: null, and what it was."""
    s, p, o = (kg.read_dataset("graph")["test"].array[0]).tolist()
    labels = f"e{s:02}", f"r{p}", f"e{o:02}"
    call = ("show", "--explain", *labels, "--dataset", "graph", "--scorer", "decision_scorers:endless")
    rows = json.loads(printed(capsys, *call, "--sides", "object", "--to", "json"))["object"]["candidates"]
    assert rows[-1]["score"] is None
    assert rows[-1]["reason"] == "score is inf"


@pytest.mark.thorough
def test_cardinality_says_that_it_is_of_all_splits(capsys):
    text = printed(capsys, "evaluate", "graph", "--scorer", "decision_scorers:near", "--by", "cardinality")
    assert "note: cardinality: computed from all splits; to use train only: --means-from train" in text


def test_cardinality_of_other_splits(capsys):
    """On request, and then the result notes it."""
    call = ("--by", "cardinality", "--means-from", "test", "--to", "json", "--metrics", "mr")
    shown = json.loads(printed(capsys, "show", "near.kgeval", "--dataset", "graph", *call))
    assert "cardinality and pattern: taken over test" in shown["notes"]
    frame = kg.load_result("near.kgeval").with_features(kg.read_dataset("graph"), means_from=["test"])
    assert {row["cardinality"]: row["n"] for row in shown["by"]} == frame.by("cardinality")["n"].to_dict()
    assert refused(capsys, "show", "near.kgeval", "--means-from", "test").startswith("--types and --means-from need")


@pytest.mark.parametrize("command", ["evaluate", "compare", "report", "check-table", "classify", "trec"])
@pytest.mark.light(2)
def test_every_command_has_help(capsys, command):
    """The help is printed, and a call without arguments says what is missing."""
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: kgeval {command}")
    with pytest.raises(SystemExit) as ended:
        main([command])
    assert ended.value.code == 2
    said = "one of the arguments" if command == "evaluate" else "the following arguments are required"
    assert said in capsys.readouterr().err


def test_show_refuses_another_dataset(capsys, tmp_path):
    """Also where all columns were saved."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "test.txt").write_text("a\tr\tb\n")
    (other / "train.txt").write_text("a\tr\tb\n")
    message = refused(capsys, "show", "near.kgeval", "--dataset", other, "--by", "cardinality")
    assert message.startswith("the result was made from dataset 'graph'")


def test_numbers_alone(capsys):
    """--no-intervals leaves them out."""
    call = ("show", "near.kgeval", "--by", "side", "--metrics", "mr", "--no-intervals")
    assert [line.split() for line in printed(capsys, *call).splitlines() if line.startswith("side ")] == [
        ["side", "n", "share", "MR"]
    ]
    assert "low" not in printed(capsys, *call, "--to", "csv")


@pytest.mark.thorough
def test_three_models_by_relation(capsys, folder):
    """Every pair has its relations, and the contributions of a pair add up to its difference."""
    dataset = kg.read_dataset("graph")
    kg.evaluate(lambda s, p, o: o, dataset, progress=False).save(folder / "third.kgeval", overwrite=True)
    call = ("compare", "near.kgeval", "far.kgeval", "third.kgeval", "--metrics", "mrr", "--by-relation", "mrr")
    content = json.loads(printed(capsys, *call, "--to", "json"))
    sums = {}
    for row in content["by_relation"]:
        sums[row["difference of"]] = sums.get(row["difference of"], 0.0) + row["contribution"]
    assert sums == {
        f"{row['first']} - {row['second']}": pytest.approx(row["difference"], abs=1e-12)
        for row in content["differences"]
    }
    assert len(sums) == 3
    values = {name: kg.load_result(f"{name}.kgeval")["mrr"] for name in ("near", "far", "third")}
    one, two, three = sorted(values, key=values.get, reverse=True)
    assert list(sums) == [f"{one} - {two}", f"{one} - {three}", f"{two} - {three}"]  # those of the leader first


@pytest.mark.parametrize("command", ["report", "show"])
def test_a_result_is_not_written_over(capsys, command):
    """Not even with --overwrite."""
    message = refused(capsys, command, "near.kgeval", "-o", "./near.kgeval", "--overwrite")
    assert message == "near.kgeval is one of the results to read; choose another name\n"
    assert kg.load_result("near.kgeval")["mrr"] > 0


def test_the_relations_of_a_comparison(capsys):
    """Of a metric that is compared, so that no test is added unseen; the columns are those of the library, and what
    has no interval says why."""
    call = ("compare", "near.kgeval", "far.kgeval", "--metrics", "mrr")
    said = "--by-relation mr is not among --metrics; add it to --metrics, so that Holm's correction counts this test"
    assert refused(capsys, *call, "--by-relation", "mr") == f"{said}\n"
    rows = json.loads(printed(capsys, *call, "--by-relation", "filtered.MRR", "--to", "json"))["by_relation"]
    found = kg.compare([kg.load_result("near.kgeval"), kg.load_result("far.kgeval")], metrics="mrr")
    pair = found.differences.loc[0, ["first", "second"]].tolist()
    found = found.by_relation("mrr", *pair)
    assert {row["difference of"] for row in rows} == {" - ".join(pair)}
    assert [row["relation"] for row in rows] == list(found.index)
    assert [row["value_first"] for row in rows] == found["value_first"].tolist()
    first = json.loads(printed(capsys, *call, "--by-relation", "mrr", "--to", "json", "--limit", "1"))
    assert first["by_relation"] == rows[:1]


def test_the_relations_of_a_comparison_outside_json(capsys):
    """Below the other tables, in their place in markdown and in CSV; the models stand in the heads of the values."""
    call = ("compare", "near.kgeval", "far.kgeval", "--metrics", "mrr", "--by-relation", "mrr", "--n-resamples", 1)
    results = [kg.load_result(f"{name}.kgeval") for name in ("near", "far")]
    compared = kg.compare(results, metrics="mrr", n_resamples=1)
    pair = compared.differences.loc[0, ["first", "second"]].tolist()
    first = compared.by_relation("mrr", *pair).iloc[0]
    names, n = " - ".join(pair), len(compared.by_relation("mrr"))
    title, heads, row, *_ = printed(capsys, *call, "--limit", 1).partition(f"\n\n{names} in ")[2].splitlines()
    amount = f"largest contributions to gains, then to losses, 1 of {n} groups; intervals corrected for {n} tests"
    assert title == f"MRR by relation on graph: {amount}"
    star = "*" if first["decided"] else ""
    assert f"{first['difference']:+.4f}{star} [{first['low_corrected']:+.4f}, {first['high_corrected']:+.4f}]" in row
    shown = dict(zip(heads.split()[:6], re.sub(r"\*? +\[.*?\]", "", row).split(), strict=False))
    assert shown["relation"] == first.name
    assert (shown[pair[0]], shown[pair[1]]) == (f"{first['value_first']:.4f}", f"{first['value_second']:.4f}")
    written = printed(capsys, *call, "--to", "csv").splitlines()
    assert written[0].startswith("difference of,relation,")
    assert written[1].startswith(f"{' - '.join(pair)},{first.name},")
    assert len(written) == 3
    lines = printed(capsys, *call, "--to", "markdown").splitlines()
    assert "difference low" not in lines[0]
    assert f"{first['difference']:.4f} [" in lines[2]


@pytest.mark.thorough
def test_the_files_of_the_dataset_may_have_a_header(capsys, tmp_path):
    """`show` and `report` read the evaluated dataset as `evaluate` did."""
    graph = tmp_path / "headed"
    graph.mkdir()
    for path in Path("graph").glob("*.txt"):
        (graph / path.name).write_text("head\trelation\ttail\n" + path.read_text())
    assert kg.read_dataset(graph, header=True).fingerprint == kg.read_dataset("graph").fingerprint
    by = ("show", "near.kgeval", "--by", "pattern", "--dataset")
    assert printed(capsys, *by, graph, "--header") == printed(capsys, *by, "graph")


# --- CSV for a spreadsheet ---------------------------------------------------------------------------------------


def test_spreadsheet_is_offered_wherever_csv_is(capsys):
    """--spreadsheet stands beside each --to that offers csv, and nowhere without effect."""
    _, commands = _parser()
    options = {name: parser._option_string_actions for name, parser in commands.items()}
    formats = {name: known["--to"].choices for name, known in options.items() if "--to" in known}
    with_csv = {name for name, choices in formats.items() if "csv" in choices}
    offered = {name for name, known in options.items() if "--spreadsheet" in known}
    without = {"board", "card", "check-scorer", "help", "report"}
    assert with_csv == set(commands) - without
    assert offered == with_csv
    with pytest.raises(SystemExit) as ended:
        main(["show", "near.kgeval", "--spreadsheet"])
    assert ended.value.code == 2
    said = "kgeval: --spreadsheet needs --to csv; see kgeval show --help\n"
    assert capsys.readouterr().err == said


@pytest.fixture(scope="module")
def formulas(folder):
    """A graph whose labels are formulas, two results, two classifications, judgements and a run."""
    formulas = folder / "formulas"
    formulas.mkdir()
    lines = [f"=e{i}\t-r{j}\t@e{(i + j) % 4}\n" for i in range(4) for j in range(3)]
    for name, part in (("train", lines[:6]), ("valid", lines[6:8]), ("test", lines[8:])):
        (formulas / f"{name}.txt").write_text("".join(part))
    dataset = kg.read_dataset(formulas)
    scorers = {"A": lambda s, p, o: -(s + o) % 7.0, "B": lambda s, p, o: (s * 3 + o) % 5.0}
    for name, scorer in scorers.items():
        kg.evaluate(scorer, dataset, progress=False).save(folder / f"{name}.kgeval")
        kg.classify(scorer, dataset, "uniform").save(folder / f"{name}.class.kgeval")
    (folder / "qrels.txt").write_text("=q 0 D 1\n-q 0 D 1\n")
    (folder / "run.txt").write_text("=q Q0 D 1 2.0 @tag\n-q Q0 D 1 1.0 @tag\n")
    return formulas


@pytest.mark.parametrize(
    ("arguments", "labels"),
    [
        (["show", "A.kgeval", "--by", "relation"], {"-r0", "-r1", "-r2"}),
        (["show", "A.class.kgeval", "--by", "relation"], {"-r1", "-r2"}),
        (["compare", "A.kgeval", "B.kgeval", "--names", "=A,+B"], {"=A", "+B"}),
        (["compare", "A.kgeval", "B.kgeval", "--names", "=A,+B", "--by-relation", "mrr"], {"-r0", "-r1", "-r2"}),
        (["compare", "A.class.kgeval", "B.class.kgeval", "--names", "=A,+B"], {"=A", "+B"}),
        (["benchmark", "@A:1=A.kgeval", "+B:1=B.kgeval"], {"@A", "+B"}),
        (["benchmark", "@A:1=A.kgeval", "+B:1=B.kgeval", "--differences"], {"@A", "+B"}),
        (["trec", "qrels.txt", "run.txt", "-q"], {"=q", "-q"}),
    ],
)
def test_labels_reach_a_spreadsheet_as_text(capsys, formulas, arguments, labels):
    """An apostrophe before each label that starts a formula; all other cells, numbers too, are as without it."""
    plain = list(csv.reader(io.StringIO(printed(capsys, *arguments, "--to", "csv"))))
    safe = list(csv.reader(io.StringIO(printed(capsys, *arguments, "--to", "csv", "--spreadsheet"))))
    cells, safe_cells = ([cell for row in rows for cell in row] for rows in (plain, safe))
    assert labels <= set(cells)
    assert {f"'{label}" for label in labels} <= set(safe_cells)
    assert len(cells) == len(safe_cells) > len(labels)
    for cell, shown in zip(cells, safe_cells):
        is_number = re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?|-?inf", cell) is not None
        assert shown == ("'" + cell if cell[:1] in ("=", "+", "-", "@") and cell and not is_number else cell)


def test_explain_and_classify_reach_a_spreadsheet_as_text(capsys, formulas):
    """The commands that run a scorer."""
    scorer = ["--scorer", "decision_scorers:near", "--to", "csv", "--spreadsheet"]
    said = printed(capsys, "show", "--dataset", formulas, *scorer, "--explain", "=e0", "-r0", "@e0")
    assert "'=e1" in said
    assert ",=e" not in said
    by_relation = [*scorer, "--by", "relation"]
    assert "'-r1" in printed(capsys, "evaluate", formulas, *by_relation, "--no-progress")
    assert "'-r1" in printed(capsys, "classify", formulas, *by_relation, "--negatives", "uniform")
