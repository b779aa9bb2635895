"""Which files are taken for predictions, and for which: exclusive, and never an error."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from grids import size
from prediction_files import plain_records, random_dataset, random_lists, simkgc_records, write_anyburl, write_json

import kgeval as kg
from kgeval.errors import DataError
from kgeval.formats.datasets import dataset_formats
from kgeval.formats.predictions import prediction_formats
from kgeval.report.exports import write_ranks

FORMATS = prediction_formats()
NAMES = ("anyburl", "dift", "explainaboard", "kgllm", "kgt5", "ogb", "plain", "ranks", "simkgc", "tlogic", "trec")


def taken_for(path):
    return [name for name, one in FORMATS.items() if one.sniff(path)]


def some_files(folder):
    """One small file of each format, and of its variants: (format, path)."""
    dataset = random_dataset(3)
    lists = [row for row in random_lists(dataset, 3) if row[4]]
    tails = [row for row in lists if row[3] == "object"]
    gold = {"gold_head": "a", "gold_predicate": "r", "gold_tail": "b", "predict": "tail", "predictions": ["a"]}
    sample = {"input": "predict tail: a | r |", "target": "b", "predictions": ["a"], "scores": [-1]}
    dift = {"triplet": ["a", "r", "b"], "inverse": False, "topk_ents": ["a"]}
    texts = {
        "trec": "a|r|? Q0 b 1 1 tag\n",
        "kgllm": "prompt,generated\nx,y\n",
        "ranks": "s\tp\to\trank\na\tr\tb\t1\n",
    }
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
        yield name, folder / f"{name}.txt"
    (folder / "glm.txt").write_text('{"labels": "a", "predict": "b"}\n')
    yield "kgllm", folder / "glm.txt"
    yield "anyburl", write_anyburl(folder / "anyburl", random_lists(dataset, 3))
    yield "simkgc", write_json(folder / "forward_predictions.json", simkgc_records(tails), indent=4)
    for i, lines in enumerate((True, False)):
        yield "plain", write_json(folder / f"plain{i}.json", plain_records(lists, form=i), lines)
        yield "kgt5", write_json(folder / f"kgt5{i}.json", [sample], lines)
    yield "dift", write_json(folder / "dift.json", [dift])
    yield "explainaboard", write_json(folder / "board.json", [gold])
    objects = {"explainaboard": {"a\tr\tb": ["c"]}, "tlogic": {"0": {"a": 0.5}}}
    for name, content in objects.items():
        (folder / f"{name}-object.json").write_text(json.dumps(content))
        yield name, folder / f"{name}-object.json"
    np.savez(folder / "top.npz", t_pred_top10=np.zeros((3, 10), dtype=np.int64))
    yield "ogb", folder / "top.npz"


def test_each_file_has_one_format(tmp_path):
    assert tuple(FORMATS) == NAMES
    seen = set()
    for name, path in some_files(tmp_path):
        assert taken_for(path) == [name], path
        seen.add(name)
        datasets = [
            one for one, found in dataset_formats().items() if one not in ("foreign", "tab") and found.sniff(path)
        ]
        assert not datasets, (path, datasets)
    assert seen == set(NAMES)


def test_a_cut_or_wild_file_raises_no_error_while_it_is_recognised(tmp_path):
    random = np.random.default_rng(0)
    path = tmp_path / "cut"
    for name, file in some_files(tmp_path):
        content = file.read_bytes()
        for _ in range(size(3, 8)):
            cut = bytearray(content[: int(random.integers(0, len(content) + 1))])
            if cut:
                cut[int(random.integers(0, len(cut)))] = int(random.integers(0, 256))
            path.write_bytes(bytes(cut))
            assert len(taken_for(path)) <= 1, (name, bytes(cut))


def test_other_files_are_no_predictions(tmp_path):
    dataset = random_dataset(0)
    result = kg.evaluate(lambda s, p, o: s + o, dataset, progress=False)
    result.save(tmp_path / "run.kgeval")
    write_ranks(result, tmp_path / "ranks.csv")
    np.savez(tmp_path / "model.npz", entities=np.zeros((3, 2)), model="distmult")
    (tmp_path / "train.txt").write_text("a\tr\tb\n")
    (tmp_path / "config.json").write_text('{"model": "TransE", "dim": 3}')
    (tmp_path / "results.json").write_text('{"metrics": {"both": {"mrr": 0.5}}}')
    (tmp_path / "entity2id.txt").write_text("2\na\t0\nb\t1\n")
    (tmp_path / "types.json").write_text('{"a": ["t"], "b": []}')
    (tmp_path / "scores.tsv").write_text("s\tp\to\tscore\na\tr\tb\t1\n")
    (tmp_path / "qrels").write_text("q1 0 A 1\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "folder").mkdir()
    for path in sorted(tmp_path.iterdir()):
        assert taken_for(path) == (["ranks"] if path.name == "ranks.csv" else []), path
    assert taken_for(tmp_path / "nothing") == []


def test_an_unknown_file_says_what_to_do(tmp_path):
    dataset = random_dataset(0)
    (tmp_path / "train.txt").write_text("a\tr\tb\n")
    with pytest.raises(
        DataError, match=r"train.txt: no format of predictions recognises it; choose one with format=NAME"
    ):
        kg.read_predictions(tmp_path / "train.txt", dataset)
    with pytest.raises(DataError, match=r"no such file; did you mean '.*train.txt'\?"):
        kg.read_predictions(tmp_path / "train.tx", dataset)
    with pytest.raises(DataError, match="unknown format 'anyburll'; did you mean 'anyburl'"):
        kg.read_predictions(tmp_path / "train.txt", dataset, format="anyburll")
    with pytest.raises(DataError, match="split must be one of 'train', 'test'; got 'valid'"):
        kg.read_predictions(tmp_path / "train.txt", dataset, split="valid")


def test_the_real_files_of_other_tools(shared):
    """Of all files and folders there, only SimKGC's and the TREC runs are predictions."""
    places = [place for place in Path(shared / "data").rglob("*") if place.is_dir() or place.stat().st_size < 5_000_000]
    found = {place.name: taken_for(place) for place in places if taken_for(place)}
    assert found == {
        **{name: ["simkgc"] for name in ("simkgc-wn18rr", "simkgc-wikidata5m")},
        **{name: ["simkgc"] for name in ("forward_predictions.json", "backward_predictions.json")},
        **{name: ["trec"] for name in ("results.test", "results.trunc", "results-302.test", "prefs.results.test")},
    }


def test_frames_with_other_names_are_no_ranks(tmp_path):
    frame = pd.DataFrame([["a", "r", "b", 1]], columns=["s", "p", "o", "rank_in_class"])
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert taken_for(tmp_path / "x.csv") == []
