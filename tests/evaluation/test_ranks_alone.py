"""Ranks of another tool that are evaluated without their dataset: the triples of the file are the split test."""

import json
import math
import random

import pytest
from grids import size

import kgeval as kg
from kgeval.cli import main
from kgeval.errors import DataError, ProtocolError

HEADER = ("s", "p", "o", "side", "rank")


def write(path, rows, header=HEADER):
    lines = ["\t".join(map(str, row)) for row in (header, *rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def evaluate(path, **settings):
    return kg.evaluate_predictions(kg.read_predictions(path), **{"filtered": "after", **settings})


def test_the_numbers_are_averages_of_the_ranks(tmp_path):
    """A loop over the rows: mean rank, mean reciprocal rank and hits, for each side and for both."""
    rng = random.Random(1)
    for _ in range(size(5, 300)):
        names = [f"e{i}" for i in range(rng.randint(2, 6))]
        triples = [(rng.choice(names), "r", rng.choice(names)) for _ in range(rng.randint(1, 9))]
        sides = rng.choice([("head", "tail"), ("tail",)])
        rows = [(*triple, side, rng.randint(2, 40) / 2) for triple in triples for side in sides]
        rng.shuffle(rows)
        result = evaluate(write(tmp_path / "ranks.tsv", rows))
        assert result.dropped == {}
        for side, words in (("subject", ("head",)), ("object", ("tail",)), ("both", ("head", "tail"))):
            ranks = [row[4] for row in rows if row[3] in words]
            if not ranks or (side == "both" and len(sides) == 1):
                continue
            value = {key: result[key if side == "both" else f"{side}.{key}"] for key in ("mr", "mrr", "hits@3")}
            assert value["mr"] == pytest.approx(sum(ranks) / len(ranks))
            assert value["mrr"] == pytest.approx(sum(1 / rank for rank in ranks) / len(ranks))
            assert value["hits@3"] == pytest.approx(sum(rank <= 3 for rank in ranks) / len(ranks))
        repeated = len(rows) - len({row[:4] for row in rows})
        said = [text for text in result.notes if "triple and side of another row" in text]
        assert [text.split()[0] for text in said] == ([str(repeated)] if repeated else [])
        saved = tmp_path / "run.kgeval"
        result.save(saved, overwrite=True)
        assert kg.load_result(saved)["mrr"] == result["mrr"]


def test_what_needs_the_dataset_is_nan_with_the_reason(tmp_path):
    """AMRI needs the number of candidates: a column of the file gives it. Raw ranks are not in the file."""
    rows = [("a", "r", "b", "tail", 2), ("c", "r", "b", "tail", 1)]
    result = evaluate(write(tmp_path / "ranks.tsv", rows))
    assert (result["mr"], result["mrr"]) == (1.5, 0.75)
    assert math.isnan(result["amri"])
    assert "was read without its dataset" in result.value("amri").reason
    assert math.isnan(result["raw.mrr"])
    assert "filtered by the tool (splits not known), unknown candidates" in str(result)
    assert result.facts["dataset"] == "triples of ranks.tsv"
    counted = [(*row, 5) for row in rows]
    result = evaluate(write(tmp_path / "ranks.tsv", counted, (*HEADER, "n_candidates")))
    # ranks 2 and 1 among 5: the expected rank is 3, so AMRI = 1 - (1.5 - 1) / (3 - 1)
    assert result["amri"] == pytest.approx(1 - (1.5 - 1) / (3 - 1))


def test_what_is_not_said_is_asked_for(tmp_path):
    rows = [("a", "r", "b", "tail", 2), ("c", "r", "b", "tail", 1), ("c", "r", "b", "head", 3)]
    file = write(tmp_path / "ranks.tsv", rows)
    predictions = kg.read_predictions(file)
    with pytest.raises(DataError, match=r"are these raw or filtered ranks\? The file does not say it"):
        kg.evaluate_predictions(predictions)
    with pytest.raises(
        DataError, match="has no rank for 1 of 4 positives, first \\('a', 'r', 'b'\\) \\(subject side\\)"
    ):
        kg.evaluate_predictions(predictions, filtered="after")
    result = kg.evaluate_predictions(predictions, filtered="after", missing="drop")
    assert (result["mr"], sum(result.dropped.values())) == (2.0, 1)
    with pytest.raises(DataError, match="missing='bound' needs the dataset; use missing='drop'"):
        kg.evaluate_predictions(predictions, filtered="after", missing="bound")
    with pytest.raises(ProtocolError, match="was read without a dataset, so the tool chose filter"):
        kg.evaluate_predictions(predictions, None, kg.Protocol(filter=("train",)), filtered="after")
    object_side = kg.evaluate_predictions(predictions, None, kg.Protocol(sides="object"), filtered="after")
    assert object_side["mr"] == 1.5
    dataset = kg.Dataset.from_frames(test=[("a", "r", "b"), ("c", "r", "b")])
    with pytest.raises(DataError, match="was read without a dataset, so its ids are not those of 'dataset'"):
        kg.evaluate_predictions(predictions, dataset, filtered="after")
    with pytest.raises(DataError, match="the triples hold ids of a dataset; give this dataset"):
        kg.evaluate_predictions(kg.read_predictions(file, dataset), filtered="after")
    for options, text in (({"split": "valid"}, "the triples of the file are the split test"), ({"ids": "x"}, "ids= ")):
        with pytest.raises(DataError, match=text):
            kg.read_predictions(file, **options)
    lists = tmp_path / "lists.jsonl"
    lists.write_text(json.dumps({"query": ["a", "r", None], "predictions": ["b"], "gold": "b"}))
    with pytest.raises(DataError, match="contains ranked answers, but no rank for every query, so a dataset is needed"):
        kg.read_predictions(lists)
    with pytest.raises(DataError, match="line 2: expected a rank: 1, 1.5, 2, ...; got 0"):
        evaluate(write(tmp_path / "ranks.tsv", [("a", "r", "b", "tail", 0)]))


def simkgc(rank, head="A", tail="B", relation="is"):
    return {
        "head": head, "relation": relation, "tail": tail, "pred_tail": "x", "pred_score": 0.5,
        "topk_score_info": '{"x": 0.5}', "rank": rank, "correct": False,
    }  # fmt: skip


def test_null_names_of_simkgc(tmp_path):
    """H23: two null names may be two entities, so each triple has its own; without a rank null is an error."""
    names = ("forward_predictions.json", "backward_predictions.json")
    rows = [simkgc(2), simkgc(4, tail=None), simkgc(8, tail=None), simkgc(10, head=None, tail=None)]
    turned = [simkgc(6, row["tail"], row["head"], "inverse is") for row in rows]
    for name, records in zip(names, (rows, turned)):
        (tmp_path / name).write_text(json.dumps(records))
    result = evaluate(tmp_path, filtered=None)
    assert len(result.table) == 8
    assert result["mr"] == pytest.approx((2 + 4 + 8 + 10 + 4 * 6) / 8)
    # A, B, and the null names: a tail for each of three triples, and one head
    assert len(result.entities) == 2 + 3 + 1
    assert any(note.startswith("6 rows of 3 triples with a null name") for note in result.notes)
    dataset = kg.Dataset.from_frames(test=[("A", "is", "B"), ("A", "is", "C"), ("A", "is", "D"), ("E", "is", "F")])
    with pytest.raises(DataError, match="a name is null, so nobody knows which entity"):
        kg.read_predictions(tmp_path, dataset)
    del rows[1]["rank"]
    (tmp_path / names[0]).write_text(json.dumps(rows))
    with pytest.raises(DataError, match="line 1: expected the label of the tail as a string; got null"):
        kg.read_predictions(tmp_path)


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "ranks.tsv", [("a", "r", "b", "tail", 2), ("c", "r", "b", "tail", 1)])
    assert main(["evaluate", "--predictions", "ranks.tsv", "--filtered", "after", "--to", "json"]) == 0
    (row,) = [row for row in json.loads(capsys.readouterr().out)["metrics"] if row["rows"] == "object"]
    assert (row["mr"], row["mrr"]) == (1.5, 0.75)
    for given, text in (
        (("--scorer", "m:f"), "DATASET is missing: the folder of the dataset"),
        (("--predictions", "ranks.tsv", "--splits", "valid"), "--splits needs DATASET"),
        (("--predictions", "ranks.tsv", "--by", "cardinality"), "--by cardinality needs DATASET"),
        (("--predictions", "ranks.tsv", "--no-header"), "--header and --no-header need DATASET"),
    ):
        assert main(["evaluate", *given]) == 2
        assert text in capsys.readouterr().err


def test_simkgc_on_wikidata5m_gives_its_metrics(shared):
    """`metrics.json` of SimKGC, to 4 decimals; the files have null names, and no dataset is at hand."""
    folder = shared / "data" / "formats" / "simkgc-wikidata5m"
    result = evaluate(folder, filtered=None)
    keys = {"mean_rank": "mr", "mrr": "mrr", "hit@1": "hits@1", "hit@3": "hits@3", "hit@10": "hits@10"}
    for line in (folder / "metrics.json").read_text().splitlines():
        what, _, numbers = line.partition(" metrics: ")
        side = {"forward": "object.", "backward": "subject.", "average": ""}[what]
        for name, number in json.loads(numbers).items():
            assert round(result[side + keys[name]], 4) == number, (what, name)
