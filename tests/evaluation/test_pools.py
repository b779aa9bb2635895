"""Pools by relation against loops: positives outside, duplicates, empty pools, known answers, executors, files."""

import json
import random

import numpy as np
import pandas as pd
import pytest
from grids import size
from oracle import random_graph

import kgeval as kg
from kgeval.cli import main
from kgeval.evaluation.evaluator import Evaluator

COLUMNS = ["better_raw", "tied_raw", "rivals_raw", "better_filtered", "tied_filtered", "rivals_filtered"]


def by_loops(score, triples, known, pools, side, outside):
    """Better, tied and rivals of each triple, raw and filtered, by loops and sets."""
    rows = []
    for s, p, o in triples:
        answer = s if side == "subject" else o
        row, pool = [], set(pools[p])
        for setting in ("raw", "filtered"):
            better = tied = rivals = 0
            for e in pool - {answer}:
                rival = (e, p, o) if side == "subject" else (s, p, e)
                if setting == "filtered" and rival in known:
                    continue
                rivals += 1
                better += score[rival] > score[s, p, o]
                tied += score[rival] == score[s, p, o]
            row += [rivals, 0, rivals] if outside == "last" and answer not in pool else [better, tied, rivals]
        rows.append(row)
    return rows


def random_pools(rng, n, m, triples, side, outside):
    """Lists with duplicates; empty ones are common, and all answers are in them if outside is an error."""
    column = 0 if side == "subject" else 2
    pools = {}
    for p in range(m):
        pools[p] = [] if rng.random() < 0.2 else [rng.randrange(n) for _ in range(rng.randint(0, 2 * n))]
        if outside == "error":
            pools[p] += [t[column] for t in triples if t[1] == p]
    return pools


class Matrix:
    """The scores of whole rows."""

    def __init__(self, table):
        self.table = table

    def score_objects(self, s, p):
        return self.table[s, p]

    def score_subjects(self, p, o):
        return self.table[:, p, o].T


@pytest.mark.parametrize("outside", ["error", "add", "last"])
def test_equals_loops_on_random_graphs(outside):
    """Functions, matrices and vectors, both settings and sides; counts of positives outside."""
    rng = random.Random(outside)
    for i in range(size(40, 2000)):
        n, m, splits = random_graph(rng)
        dataset = kg.Dataset.from_arrays(**splits, n_entities=n, n_relations=m)
        test, known = splits["test"], {t for split in splits.values() for t in split}
        pools = {side: random_pools(rng, n, m, test, side, outside) for side in ("subject", "object")}
        candidates = kg.candidates.ByRelation(pools["object"], pools["subject"], outside=outside)
        entities, relations = (
            np.array([[rng.randint(-2, 2) for _ in range(3)] for _ in range(k)], float) for k in (n, m)
        )
        table = np.einsum("id,jd,kd->ijk", entities, relations, entities)
        scorers = (lambda s, p, o: table[s, p, o]), Matrix(table), kg.models.DistMult(entities, relations)  # noqa: B023
        evaluator = Evaluator(dataset, kg.Protocol(candidates=candidates, filter=("train", "valid", "test")))
        result = evaluator.evaluate(
            scorers[i % 3], progress=False, check_rows=False, batch_size=rng.choice([None, 1, 7])
        )
        n_outside = 0
        for side, column in (("subject", 0), ("object", 2)):
            found = result.table[result.table["side"] == side]
            wanted = by_loops(table, test, known, pools[side], side, outside)
            assert found[COLUMNS].to_numpy().tolist() == wanted, (i, side)
            n_outside += sum(t[column] not in pools[side][t[1]] for t in test)
        said = [note for note in result.notes if "outside their pools" in note]
        assert [note.split(" are outside")[0] for note in said] == (
            [f"{n_outside:,} of {2 * len(test)} positives"] if n_outside else []
        )


@pytest.fixture(scope="module")
def graph():
    """A graph in which two test objects and one test subject are outside of the pools of train."""
    rng = np.random.default_rng(1)
    train, test = rng.integers(0, 30, (80, 3)) % [30, 3, 30], rng.integers(0, 40, (40, 3)) % [40, 3, 40]
    return kg.Dataset.from_arrays(train=train, test=test, n_entities=40, n_relations=3), rng.normal(size=(40, 3, 40))


@pytest.mark.parametrize("outside", ["add", "last"])
def test_every_way_to_run_gives_the_same_counts(graph, outside, tmp_path):
    """Processes, blocks of candidates, and a run folder; saved, loaded and compared."""
    dataset, table = graph
    entities, relations = np.random.default_rng(2).normal(size=(2, 40, 4))
    model = kg.models.DistMult(entities, relations[:3])
    candidates = kg.candidates.ByRelation.observed(dataset, outside=outside)
    protocol = kg.Protocol(candidates=candidates)
    results = [
        kg.evaluate(model, dataset, protocol, progress=False, **options)
        for options in (
            {},
            {"executor": kg.executors.Processes(2)},
            {"executor": kg.executors.Processes(2, candidate_blocks=3)},
            {"batch_size": 5},
            {"run_folder": tmp_path / "run"},
            {"run_folder": tmp_path / "run"},
        )
    ]
    for result in results[1:]:
        assert result.table[COLUMNS].equals(results[0].table[COLUMNS])
    results[0].save(tmp_path / "a.kgeval")
    loaded = kg.load_result(tmp_path / "a.kgeval")
    assert loaded.protocol.candidates == candidates
    assert loaded.protocol.describe() == results[0].protocol.describe()
    assert "pools of 3 relations (observed in train), positives outside their pools" in loaded.protocol.describe()
    other = "last" if outside == "add" else "add"
    pools = kg.candidates.ByRelation.observed(dataset, outside=other)
    different = kg.evaluate(model, dataset, kg.Protocol(candidates=pools), progress=False)
    with pytest.raises(kg.ProtocolError, match="candidates"):
        kg.compare([loaded, different], names=["a", "b"])
    is_bad = np.isnan(loaded["amri"]) and "outside='last'" in loaded.value("amri").reason
    assert is_bad == (outside == "last")
    assert "each positive has its own list" in loaded.value("query.map").reason
    assert loaded.by("relation", metrics="mrr")["n"].sum() == 80


def test_explain_and_errors(graph):
    """An added positive is explained among its pool and itself; errors name the first positive and the way out."""
    dataset, table = graph
    observed = kg.candidates.ByRelation.observed
    protocol = kg.Protocol(candidates=observed(dataset, outside="add"))
    result = kg.evaluate(lambda s, p, o: table[s, p, o], dataset, protocol, progress=False)
    for row in (0, 40):
        s, p, o, side = result.table.loc[row, ["s", "p", "o", "side"]]
        frame = result.explain(int(s), int(p), int(o), side=side)
        assert frame.attrs["n_candidates"] == result.table.loc[row, "rivals_raw"] + 1
    with pytest.raises(
        kg.ProtocolError, match=r"positives are outside the pool of the relation \(of 40\), first .*add"
    ):
        kg.evaluate(lambda s, p, o: s, dataset, kg.Protocol(candidates=observed(dataset)), progress=False)
    for pools, message in (
        ({0: range(40), 2: [1]}, "the relation '1' has no pool of objects"),
        ({p: [40] for p in range(3)}, "contains id 40"),
    ):
        protocol = kg.Protocol(candidates=kg.candidates.ByRelation(pools, outside="add"))
        with pytest.raises(kg.ProtocolError, match=message):
            kg.evaluate(lambda s, p, o: s, dataset, protocol, progress=False)


def test_pools_made_from_test_are_said(graph):
    """Domain and range of all splits are made from test; those of train are not."""
    dataset, table = graph
    for splits, is_said in ((("train", "test"), True), (("train",), False)):
        pools = kg.candidates.ByRelation.observed(dataset, splits, outside="add")
        notes = kg.evaluate(lambda s, p, o: s, dataset, kg.Protocol(candidates=pools), progress=False).notes
        assert any(note.startswith("the pools were made from test") for note in notes) == is_said


def test_files_of_pools(tmp_path):
    """The forms of OpenKE and JSON: own ids, labels, repeated and unknown entities; lists take no outside=."""
    dataset = kg.Dataset.from_frames(test=pd.DataFrame([["a", "r", "b"], ["c", "q", "b"]], columns=list("spo")))
    ids = {label: dataset.entities.ids([label])[0] for label in "abc"}
    r, q = dataset.relations.ids(["r", "q"]).tolist()
    (tmp_path / "entity2id.txt").write_text("4\nb\t0\nc\t1\na\t2\nx y\t3\n")
    (tmp_path / "relation2id.txt").write_text("2\nq\t0\nr\t1\n")
    (tmp_path / "type_constrain.txt").write_text("2\n1\t2\t2\t2\n1\t2\t0\t3\n0\t1\t1\n0\t1\t0\n")
    found = kg.read_candidates(tmp_path / "type_constrain.txt", dataset, outside="last")
    assert {side: {p: pool.tolist() for p, pool in pools.items()} for side, pools in found.of_side.items()} == {
        "subject": {r: [ids["a"]], q: [ids["c"]]},
        "object": {r: [ids["b"]], q: [ids["b"]]},
    }
    assert found.notes == (
        f"type_constrain.txt: 1 entity of the pools not in {dataset.name!r}, left out",
        "type_constrain.txt: 1 repeated entity in pools; each counts once",
    )
    content = {"r": {"head": ["a", "a"], "tail": ["b", "x y"]}, "q": {"head": ["c"], "tail": ["b"]}}
    (tmp_path / "typecons.json").write_text(json.dumps(content))
    assert kg.read_candidates(tmp_path / "typecons.json", dataset, outside="last") == found
    (tmp_path / "rel2candidates.json").write_text(json.dumps({"r": ["b"], "q": ["a", "b"]}))
    tails = kg.read_candidates(tmp_path / "rel2candidates.json", dataset)
    assert tails.sides == ("object",)
    assert sorted(tails.of_side["object"][q].tolist()) == sorted([ids["a"], ids["b"]])
    (tmp_path / "type_constrain.txt").write_text("1\n1\t2\t2\t2\n1\t3\t0\t3\n")
    with pytest.raises(kg.DataError, match="line 3: expected a relation, a count and as many entity ids"):
        kg.read_candidates(tmp_path / "type_constrain.txt", dataset)
    (tmp_path / "lists.txt").write_text("a\tr\tb\na\tr\tc\nc\tq\tb\nc\tq\ta\n")
    with pytest.raises(kg.ProtocolError, match="outside= is for pools"):
        kg.read_candidates(tmp_path / "lists.txt", dataset, outside="add")


COMPLEX_OPTIONS = ["--model-type", "complex", "--layout", "halves", "--inverse-relations", "after"]
COMPLEX = {"add": ("2,827 of 6,268", 0.4189), "last": ("2,827 of 6,268", 0.2978)}


@pytest.mark.thorough
@pytest.mark.parametrize("outside", COMPLEX)
def test_trained_model_among_pools_of_train(shared, outside, tmp_path, capsys):
    """ComplEx on WN18RR from the command line: counts of positives outside and the MRR of an own loop."""
    data = shared / "data"
    call = ["evaluate", str(data / "wn18rr"), "--model", str(data / "models" / "wn18rr-complex.npz"), *COMPLEX_OPTIONS]
    out = tmp_path / "a.kgeval"
    assert main([*call, "--candidates", "observed", "--outside", outside, "--out", str(out), "--no-progress"]) == 0
    n, mrr = COMPLEX[outside]
    assert f"{n} positives are outside their pools" in capsys.readouterr().out
    assert kg.load_result(out)["mrr"] == pytest.approx(mrr, abs=1e-4)


@pytest.mark.thorough
@pytest.mark.parametrize("file", ["openke-wn18rr/type_constrain.txt", "typecons/WN18RR_typecons.json"])
def test_published_files_of_pools(shared, file, tmp_path, capsys):
    """The pools of OpenKE (domain and range of all splits: made from test) and of StAR run end to end on WN18RR."""
    data = shared / "data"
    call = ["evaluate", str(data / "wn18rr"), "--model", str(data / "models" / "wn18rr-complex.npz"), *COMPLEX_OPTIONS]
    assert main([*call, "--candidates", str(data / "formats" / file), "--outside", "add", "--no-progress"]) == 0
    assert ("the pools were made from test" in capsys.readouterr().out) == file.startswith("openke")
