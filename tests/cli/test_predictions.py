"""``kgeval evaluate DATASET --predictions FILE``: every option reaches its call, and what is unclear is asked for."""

import json

import pytest

import kgeval
from kgeval.cli import main

GRAPH = {"train": ["a r f", "b r a", "c r d"], "valid": ["a r e"], "test": ["a r c", "b r g"]}
LISTS = [
    {"query": ["a", "r", None], "predictions": ["g", "c"], "gold": "c"},
    {"query": ["b", "r", None], "predictions": ["a", "d"], "gold": "g"},
]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """A folder with the graph and its predictions, made the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph").mkdir()
    for split, lines in GRAPH.items():
        (tmp_path / "graph" / f"{split}.txt").write_text("".join(line.replace(" ", "\t") + "\n" for line in lines))
    write("lists.jsonl", LISTS)
    with open("ranks.tsv", "w", encoding="utf-8") as file:
        file.write("s\tp\to\trank\na\tr\tc\t2\nb\tr\tg\t1\n")


def write(name, rows):
    with open(name, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def run(capsys, *arguments):
    """The exit code, the output and the errors of ``kgeval evaluate graph ...``."""
    code = main(["evaluate", "graph", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def numbers(capsys, *arguments):
    """The metrics of the JSON output, by rows of the table, and the whole output."""
    code, out, err = run(capsys, *arguments, "--to", "json")
    assert code == 0, err
    content = json.loads(out)
    return {row["rows"]: row for row in content["metrics"]}, content


def test_lists_give_bounds_and_are_saved(capsys):
    """(a r c) has rank 2; (b r g) is not in its list, whose a is known: better 1 of 5 filtered rivals, ranks 2 to 6."""
    given = ("--predictions", "lists.jsonl", "--filtered", "no", "--metrics", "mr,mrr")
    found, content = numbers(capsys, *given, "--ties", "optimistic", "--out", "run.kgeval")
    assert found["object"]["mr"] == 2.0
    assert numbers(capsys, *given, "--ties", "pessimistic")[0]["object"]["mr"] == 4.0
    row = numbers(capsys, *given)[0]["object"]
    assert row["mr"] is None
    assert "bounded" in row["reason"]
    assert content["protocol"]["sides"] == ["object"]
    assert "the lists lack 1 of 2 positives: it ranks anywhere below the answers of the list" in content["notes"]
    assert kgeval.load_result("run.kgeval")["pessimistic.mr"] == 4.0
    code, out, _ = run(capsys, *given)
    assert code == 0
    assert "note: the lists lack 1 of 2 positives: it ranks anywhere below the answers of the list" in out


def test_what_the_file_does_not_say_is_asked_for(capsys):
    code, _, err = run(capsys, "--predictions", "lists.jsonl")
    assert code == 2
    assert "lists.jsonl" in err
    assert "Set filtered= (--filtered): 'no'" in err
    code, out, err = run(capsys, "--predictions", "lists.jsonl", "--filtered", "before")
    assert code == 0
    assert "a re-ranker was given lists from which known answers had been removed" in out
    write("one.jsonl", LISTS[:1])
    code, _, err = run(capsys, "--predictions", "one.jsonl", "--filtered", "no")
    assert code == 2
    assert "has no list for 1 of 2 positives" in err
    for word, rows, text in (
        ("drop", 1, "dropped: 1 rank, the file has no list for it"),
        ("bound", 2, "note: 1 of 2 positives has no list"),
    ):
        given = ("--predictions", "one.jsonl", "--filtered", "no", "--missing", word)
        code, out, _ = run(capsys, *given, "--out", "x.kgeval", "--overwrite")
        assert code == 0
        assert text in out
        assert not out.startswith(text)  # the answer stands first
        assert len(kgeval.load_result("x.kgeval").table) == rows


def test_ranks_and_their_side(capsys):
    code, _, err = run(capsys, "--predictions", "ranks.tsv", "--filtered", "after")
    assert code == 2
    assert "--sides object" in err
    found, _ = numbers(
        capsys, "--predictions", "ranks.tsv", "--filtered", "after", "--sides", "tail", "--predictions-format", "ranks"
    )
    assert found["object"]["mrr"] == 0.75
    assert found["raw object"]["mrr"] is None


def test_side_narrows_files_that_say_their_sides(capsys):
    write("both.jsonl", [*LISTS, {"query": [None, "r", "c"], "predictions": ["a"], "gold": "a"},
                         {"query": [None, "r", "g"], "predictions": ["b"], "gold": "b"}])  # fmt: skip
    given = ("--predictions", "both.jsonl", "--filtered", "no", "--metrics", "hits@1")
    assert {"both", "subject", "object", "raw both"} <= set(numbers(capsys, *given)[0])
    assert numbers(capsys, *given, "--sides", "head")[0]["subject"]["hits@1"] == 1.0
    code, _, err = run(capsys, "--predictions", "lists.jsonl", "--filtered", "no", "--sides", "both")
    assert code == 2
    assert "answers no query of the subject side, which the protocol names" in err


def test_names_matching_and_formats_are_passed_on(capsys, monkeypatch):
    """Each option arrives at `kgeval.read_predictions` under the name that it has there."""
    seen = {}

    def read(path, dataset, **options):
        seen.update(options, path=path)
        return kgeval.Predictions.from_arrays(dataset["valid"].array, "object", [[0]])

    monkeypatch.setattr(kgeval, "read_predictions", read)
    code, _, err = run(
        capsys, "--predictions", "x", "--predictions-format", "kgllm", "--entity-names", "n.txt",
        "--relation-names", "r.txt", "--matching", "alias",
        "--ids", "e.txt,r.txt", "--splits", "valid", "--sides", "o", "--filtered", "no",
    )  # fmt: skip
    assert code == 0, err
    assert seen == {
        "path": "x", "format": "kgllm", "entity_names": "n.txt", "relation_names": "r.txt", "matching": "alias",
        "ids": ["e.txt", "r.txt"], "split": "valid", "side": "object",
    }  # fmt: skip
    run(capsys, "--predictions", "x", "--ids", "folder", "--splits", "valid", "--filtered", "no")
    assert (seen["ids"], seen["side"], seen["format"]) == ("folder", None, None)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--predictions", "lists.jsonl", "--scores", "x.tsv"), "not allowed with argument"),
        (("--scorer", "m:f", "--filtered", "no"), "--filtered needs --predictions"),
        (("--model", "m.npz", "--missing", "drop"), "--missing needs --predictions"),
        (("--scores", "x.tsv", "--relation-names", "x"), "--relation-names needs --predictions"),
        (("--scorer", "m:f", "--predictions-format", "npz"), "--predictions-format needs --predictions"),
        (("--predictions", "lists.jsonl", "--norm", "1"), "--norm needs --model"),
        (("--predictions", "lists.jsonl", "--sample", "1"), "--sample needs --model or --scorer"),
        (("--predictions", "lists.jsonl", "--lists", "query"), "--lists needs --scores"),
        (("--predictions", "lists.jsonl", "--splits", "valid,test"), "--predictions needs one split to rank"),
        (("--predictions", "lists.jsonl", "--predictions-format", "pykee"), "pykee"),
        (("--predictions", "nothing.jsonl"), "nothing.jsonl"),
    ],
)
@pytest.mark.light(3)
def test_options_that_contradict(capsys, arguments, text):
    try:
        code = main(["evaluate", "graph", *arguments])
    except SystemExit as error:  # argparse
        code = error.code
    assert code == 2
    assert text in capsys.readouterr().err
