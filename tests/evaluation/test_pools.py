"""Pools by relation against loops: positives outside, duplicates, empty pools, known answers, executors, files."""

import itertools
import json
import random
import re

import numpy as np
import oracle
import pandas as pd
import pytest
from grids import light, size
from key_cases import N, PlainRows, R, Rows, as_dataset, loop, random_facts, ranked, with_time, without_time
from oracle import random_graph

import kgeval as kg
from kgeval.cli import main
from kgeval.data.protocol import RandomSample
from kgeval.evaluation.evaluator import Evaluator

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

COLUMNS = ["better_raw", "tied_raw", "rivals_raw", "better_filtered", "tied_filtered", "rivals_filtered"]


def by_loops(score, splits, pools, side, outside, unseen):
    """Better, tied and rivals of each ranked test triple, raw and filtered, by loops and sets."""
    rows, known = [], {triple for split in splits.values() for triple in split}
    entities = {e for s, _, o in splits["train"] for e in (s, o)}
    relations = {p for _, p, _ in splits["train"]}
    for s, p, o in splits["test"]:
        is_seen = unseen == "rank" or ({s, o} <= entities and p in relations)
        if unseen == "drop" and not is_seen:
            continue
        answer = s if side == "subject" else o
        row, pool = [], set(pools[p]) & entities if unseen == "drop" else set(pools[p])
        for setting in ("raw", "filtered"):
            better = tied = rivals = 0
            for e in pool - {answer}:
                rival = (e, p, o) if side == "subject" else (s, p, e)
                if setting == "filtered" and rival in known:
                    continue
                rivals += 1
                if unseen != "worst" or e in entities:
                    better += score[rival] > score[s, p, o]
                    tied += score[rival] == score[s, p, o]
            is_last = not is_seen or (outside == "last" and answer not in pool)
            row += [rivals, 0, rivals] if is_last else [better, tied, rivals]
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
    """Functions, matrices and vectors; every unseen=, both settings and sides; counts of positives outside."""
    rng = random.Random(outside)
    for i in range(size(18, 2000)):
        n, m, splits = random_graph(rng)
        dataset = kg.Dataset.from_arrays(**splits, n_entities=n, n_relations=m)
        pools = {side: random_pools(rng, n, m, splits["test"], side, outside) for side in ("subject", "object")}
        candidates = kg.candidates.ByRelation(pools["object"], pools["subject"], outside=outside)
        entities, relations = (
            np.array([[rng.randint(-2, 2) for _ in range(3)] for _ in range(k)], float) for k in (n, m)
        )
        table = np.einsum("id,jd,kd->ijk", entities, relations, entities)
        scorers = (lambda s, p, o: table[s, p, o]), Matrix(table), kg.models.DistMult(entities, relations)  # noqa: B023
        unseen = ("rank", "drop", "worst")[i // 3 % 3]
        wanted = {side: by_loops(table, splits, pools[side], side, outside, unseen) for side in pools}
        evaluator = Evaluator(dataset, kg.Protocol(candidates=candidates, unseen=unseen))
        options = {"progress": False, "check_rows": i % 2 == 0, "batch_size": rng.choice([None, 1, 7])}
        if unseen != "rank" and not by_loops(table, splits, pools["object"], "object", outside, "drop"):
            with pytest.raises(kg.DataError, match="no triple is left to rank"):
                evaluator.evaluate(scorers[i % 3], **options)
            continue
        result = evaluator.evaluate(scorers[i % 3], **options)
        n_outside = 0
        for side, column in (("subject", "s"), ("object", "o")):
            found = result.table[result.table["side"] == side]
            assert found[COLUMNS].to_numpy().tolist() == wanted[side], (i, side)
            n_outside += sum(answer not in pools[side][p] for p, answer in found[["p", column]].to_numpy().tolist())
        said = [note for note in result.notes if "outside their pools" in note]
        assert [note.split(" are outside")[0] for note in said] == (
            [f"{n_outside:,} of {len(result.table):,} positives"] if n_outside else []
        )


@pytest.mark.parametrize("seed", light(range(100), 2))
def test_filter_keys_among_pools(seed):
    """Known answers are removed by the time or the qualifiers too, for scorers with and without the time."""
    rng, facts, outside = random.Random(seed), random_facts(seed), ("add", "last")[seed % 2]
    pools = {side: {p: {e for e in range(N) if rng.random() < 0.6} for p in range(R)} for side in ("subject", "object")}
    given = [{p: sorted(pool) for p, pool in pools[side].items()} for side in ("object", "subject")]
    for key, takes_time in itertools.product([(), ("time",), ("time", "qualifiers")], (True, False)):
        wanted = loop(facts, key, takes_time, pools=pools)
        for (number, side), counts in wanted.items():
            s, p, o = facts["test"][number][:3]
            if outside == "last" and (s if side == "subject" else o) not in pools[side][p]:
                wanted[number, side] = (counts[2], 0, counts[2], counts[5], 0, counts[5])
        protocol = kg.Protocol(filter_by=key, candidates=kg.candidates.ByRelation(*given, outside=outside))
        scorer = (
            (with_time if takes_time else without_time) if seed % 4 < 2 else (Rows() if takes_time else PlainRows())
        )
        options = {} if seed % 3 else {"batch_size": 20}
        assert ranked(kg.evaluate(scorer, as_dataset(facts), protocol, progress=False, **options)) == wanted, key


@pytest.mark.parametrize("outside", ["add", "last"])
def test_chance_is_that_of_each_pool(outside):
    """Chance, AMRI and z by loops over the ranks among each pool's rivals; under last they are undefined."""
    rng = random.Random(5)
    for _ in range(size(3, 100)):
        n, m, splits = random_graph(rng)
        dataset = kg.Dataset.from_arrays(**splits, n_entities=n, n_relations=m)
        pools = {side: random_pools(rng, n, m, splits["test"], side, outside) for side in ("subject", "object")}
        table = np.random.default_rng(rng.randrange(99)).integers(0, 4, (n, m, n))
        candidates = kg.candidates.ByRelation(pools["object"], pools["subject"], outside=outside)
        protocol = kg.Protocol(candidates=candidates, unseen="rank")
        result = kg.evaluate(lambda s, p, o: table[s, p, o], dataset, protocol, progress=False)  # noqa: B023
        parts = {side: by_loops(table, splits, pools[side], side, outside, "rank") for side in pools}
        parts["both"] = [*parts["subject"], *parts["object"]]
        for (side, rows), (j, setting) in itertools.product(parts.items(), ((0, "raw"), (3, "filtered"))):
            rows = [tuple(map(int, row[j : j + 3])) for row in rows]
            for metric, wrapped in (("mr", "amri"), ("mrr", "adjusted(mrr)"), ("hits@3", "adjusted(hits@3)")):
                is_last = outside == "last" and result.table["score"].isna().any()
                wanted = None if is_last else oracle.adjusted(metric, rows, "realistic")
                found = result.value(f"{setting}.{side}.{wrapped}")
                assert found.value == pytest.approx(np.nan if wanted is None else float(wanted), nan_ok=True)
                assert ("outside='last'" in found.reason) == is_last
                z = None if is_last else oracle.z(metric, rows, "realistic")
                assert result[f"{setting}.{side}.z({metric})"] == pytest.approx(
                    z or (0 if z == 0 else np.nan), nan_ok=True
                )


@pytest.mark.parametrize("n_sides", [1, 2])
def test_all_positives_are_outside(n_sides):
    """Nothing is scored on a side, or at all: all rank last among the pool; in an empty one, first, which is said."""
    dataset = kg.Dataset.from_arrays(
        train=[[0, 0, 1], [1, 1, 2]], test=[[0, 0, 1], [0, 1, 2]], n_entities=5, n_relations=2
    )
    none = {0: [3, 4], 1: []}
    subjects = none if n_sides == 2 else {0: [0, 3], 1: [0]}
    protocol = kg.Protocol(candidates=kg.candidates.ByRelation(none, subjects, outside="last"))
    for options in ({}, {"max_seconds": 60}):
        result = kg.evaluate(lambda s, p, o: s + o, dataset, protocol, progress=False, **options)
        of_objects = result.table[result.table["side"] == "object"]
        assert of_objects[COLUMNS].to_numpy().tolist() == [[2, 0, 2, 2, 0, 2], [0, 0, 0, 0, 0, 0]]
        assert result["object.mrr"] == (1 / 3 + 1) / 2
        n_first = sum(result.table["rivals_filtered"] == 0)
        assert (
            f"{n_first} of 4 filtered ranks are 1 of 1: all other candidates, if any, are known answers" in result.notes
        )
    assert (result.facts["row_order"].get("reason") == "no query of an entity side was scored") == (n_sides == 2)


@pytest.mark.parametrize("outside", ["add", "last"])
def test_samples_and_precisions(outside):
    """A sample has the ranks of the whole run; a precision, those of its sample, in steps."""
    rng = np.random.default_rng(3)
    train, test = (rng.integers(0, 1 << 20, (k, 3)) % [60, 3, 60] for k in (300, 900))
    dataset, table = (
        kg.Dataset.from_arrays(train=train, test=test, n_entities=60, n_relations=3),
        rng.normal(size=(60, 3, 60)),
    )
    options = {"candidates": kg.candidates.ByRelation.observed(dataset, outside=outside)}

    def run(**settings):
        protocol = kg.Protocol(**options, **settings)
        return kg.evaluate(Matrix(table), dataset, protocol, progress=False, check_rows=False)

    whole, part = run().table, run(sample=20, sample_seed=4)
    rows = np.sort(RandomSample.order(900, 4)[:20])
    assert part.table.drop(columns="split").equals(
        whole.iloc[np.append(rows, 900 + rows)].drop(columns="split").reset_index(drop=True)
    )
    n_outside = sum(" of 40 positives are outside" in note for note in part.notes)
    assert n_outside == 1
    for precision, least in ((0.5, 299), (0.009, 301)):
        found = run(precision=precision)
        assert 900 > found.protocol.sample.n > least
        assert found.table.equals(run(sample=found.protocol.sample.n).table)


@pytest.fixture(scope="module")
def graph():
    """A graph in which two test objects and one test subject are outside of the pools of train."""
    rng = np.random.default_rng(1)
    train, test = rng.integers(0, 30, (80, 3)) % [30, 3, 30], rng.integers(0, 40, (40, 3)) % [40, 3, 40]
    return kg.Dataset.from_arrays(train=train, test=test, n_entities=40, n_relations=3), rng.normal(size=(40, 3, 40))


class Stopping(Matrix):
    """Raises KeyboardInterrupt at the call with the number `last`; counts the calls."""

    last, n_calls = 0, 0

    def score_objects(self, s, p):
        self.n_calls += 1
        if self.n_calls == self.last:
            raise KeyboardInterrupt
        return super().score_objects(s, p)


@pytest.mark.parametrize("outside", ["add", "last"])
def test_a_stopped_run_goes_on(graph, outside, tmp_path):
    """Every query of both kinds of tasks is asked once; the folder of pools with the other rule is refused."""
    dataset, table = graph
    protocol = kg.Protocol(candidates=kg.candidates.ByRelation.observed(dataset, outside=outside), sides="object")
    options = {"progress": False, "check_rows": False, "batch_size": 1}
    scorer, folder = Stopping(table), {"run_folder": tmp_path / "run"}
    whole = kg.evaluate(scorer, dataset, protocol, **options, run_folder=tmp_path / "whole")
    n_calls, scorer.n_calls, scorer.last = scorer.n_calls, 0, scorer.n_calls - 4
    with pytest.raises(kg.Stopped):
        kg.evaluate(scorer, dataset, protocol, **options, **folder)
    scorer.last, n_first = 0, scorer.n_calls
    result = kg.evaluate(scorer, dataset, protocol, **options, **folder)
    assert result == whole
    n_probes = n_calls - whole.facts["n_queries"]
    assert scorer.n_calls - n_first - n_probes <= 5  # the query at which it stopped, and the four after it
    other = kg.candidates.ByRelation.observed(dataset, outside="last" if outside == "add" else "add")
    with pytest.raises(kg.DataError, match="is the run folder of another run"):
        kg.evaluate(scorer, dataset, kg.Protocol(candidates=other, sides="object"), **options, **folder)


EXECUTORS = [
    kg.executors.Threads(2),
    pytest.param(kg.executors.Processes(2), marks=pytest.mark.thorough),
    pytest.param(kg.executors.Processes(2, candidate_blocks=3), marks=pytest.mark.thorough),
]


@pytest.mark.parametrize("outside", ["add", "last"])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_every_executor_gives_the_same_counts(graph, outside, executor):
    """On threads, in processes, and with blocks of candidates: the counts of one thread."""
    entities, relations = np.random.default_rng(2).normal(size=(2, 40, 4))
    model, protocol = kg.models.DistMult(entities, relations[:3]), None
    protocol = kg.Protocol(candidates=kg.candidates.ByRelation.observed(graph[0], outside=outside))
    one = kg.evaluate(model, graph[0], protocol, progress=False, executor=kg.executors.Threads(1))
    assert kg.evaluate(model, graph[0], protocol, progress=False, executor=executor, batch_size=50) == one


def test_saved_compared_and_broken_down(graph, tmp_path):
    """Candidates and rule stay in a file; another rule is not compared; rows by relation and query-level reasons."""
    dataset, table = graph
    results = {}
    for outside in ("add", "last"):
        candidates = kg.candidates.ByRelation.observed(dataset, outside=outside)
        result = kg.evaluate(
            lambda s, p, o: table[s, p, o], dataset, kg.Protocol(candidates=candidates), progress=False
        )
        result.save(tmp_path / f"{outside}.kgeval")
        loaded = kg.load_result(tmp_path / f"{outside}.kgeval")
        assert loaded == result
        assert loaded.protocol.candidates == candidates
        assert loaded.protocol.fingerprint == result.protocol.fingerprint
        rule = {"add": "added", "last": "last"}[outside]
        assert f"pools of 3 relations (observed in train), positives outside their pools {rule}" in str(loaded.protocol)
        assert "each positive has its own list" in loaded.value("query.map").reason
        part = loaded.by("relation", metrics=["mrr", "amri"])
        for relation, row in part.iterrows():
            is_row = result.table["p"] == int(relation)
            ranks = 1 + result.table.loc[is_row, "better_filtered"]
            assert (row["n"], row["mrr"]) == (is_row.sum(), pytest.approx((1 / ranks).mean()))
            assert np.isnan(row["amri"]) == result.table.loc[is_row, "score"].isna().any()
        results[outside] = loaded
    with pytest.raises(kg.ProtocolError, match="candidates"):
        kg.compare(list(results.values()), names=["a", "b"])
    again = kg.evaluate(lambda s, p, o: -s, dataset, kg.Protocol(candidates=candidates), progress=False)
    row = kg.compare([results["last"], again], names=["a", "b"], metrics="mrr").differences.iloc[0]
    assert abs(row["difference"]) == pytest.approx(abs(results["last"]["mrr"] - again["mrr"]))


def test_unscored_ranks_are_not_explained(graph, tmp_path):
    """Under last, from the scorer in memory, from a file and from an evaluator; the reason is the pool."""
    dataset, table = graph
    protocol = kg.Protocol(candidates=kg.candidates.ByRelation.observed(dataset, outside="last"))
    result = kg.evaluate(lambda s, p, o: table[s, p, o], dataset, protocol, progress=False)
    row = int(np.flatnonzero(result.table["score"].isna())[0])
    s, p, o, side = result.table.loc[row, ["s", "p", "o", "side"]]
    triple = int(s), int(p), int(o)
    result.save(tmp_path / "a.kgeval")
    for one in (result, kg.load_result(tmp_path / "a.kgeval")):
        with pytest.raises(kg.DataError, match=rf"was not scored on the {side} side: its answer is outside its pool"):
            one.explain(*triple, side=side)
    with pytest.raises(kg.ProtocolError, match="not in the pool of its query, and outside='last' does not score it"):
        kg.Evaluator(dataset, protocol).explain(lambda s, p, o: table[s, p, o], *triple, side=side)
    assert main(["show", str(tmp_path / "a.kgeval"), "--worst", "3"]) == 0


def test_what_takes_no_pools_says_so(graph):
    """Scores and conventions with candidates of their own."""
    dataset, pools = graph[0], kg.candidates.ByRelation.observed(graph[0], outside="add")
    for name, reason in (("ogb", "ranks each positive among its own list"), ("openke", "ranks among all entities")):
        with pytest.raises(kg.ProtocolError, match=reason):
            kg.conventions[name].protocol(dataset, pools)
    result = kg.evaluate(lambda s, p, o: s, dataset, kg.Protocol(candidates=pools, filter=()), progress=False)
    assert any("it ranks among pools" in text for text in kg.conventions["ogb"].differences(result))
    with pytest.raises(kg.ProtocolError, match="the negatives determine the candidates"):
        kg.evaluate_candidates(
            dataset, objects=(np.ones(40), np.zeros((40, 2))), protocol=kg.Protocol(candidates=pools)
        )


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


def test_pools_made_from_test_are_said():
    """Domain and range of all splits, with few other entities or none; not those of train, nor all entities."""
    train, test = [[0, 0, 1]], [[i, 0, 20 + i] for i in range(1, 12)]
    dataset = kg.Dataset.from_arrays(train=train, test=test, n_entities=40, n_relations=1)
    domain, answers = range(12), [1, *range(21, 32)]  # 22 of both are not in those of train
    for objects, said in (
        (answers, "made from test: of 22 entities beyond the domain and range of train, 22 are in those of the other"),
        ([*answers, 32, 33], "probably made from test: of 24 entities beyond the domain and range of train, 22 are in"),
        ([*answers, 32, 33, 34], ""),
        (answers[:-1], ""),
        (range(40), ""),
    ):
        pools = kg.candidates.ByRelation({0: objects}, {0: domain}, outside="add")
        notes = kg.evaluate(lambda s, p, o: s, dataset, kg.Protocol(candidates=pools), progress=False).notes
        assert [f"the pools were {said}" in note for note in notes if "made from test" in note] == [True] * bool(said)
    for graph, splits, is_said in (
        (dataset, ("train", "test"), True),
        (dataset, "train", False),
        (kg.Dataset.from_arrays(test=test, n_entities=40, n_relations=1), "test", True),
    ):
        pools = kg.candidates.ByRelation.observed(graph, splits, outside="add")
        notes = kg.evaluate(lambda s, p, o: s, graph, kg.Protocol(candidates=pools), progress=False).notes
        assert any(note.startswith("the pools were made from test: of ") for note in notes) == is_said


def test_identity():
    """The entities of each relation and side, and the rule; not their order, nor their source."""
    pools = kg.candidates.ByRelation
    one = pools({0: [1, 2], 1: [3]}, outside="add")
    same = pools({1: [3], 0: [2, 1, 2]}, outside="add", source="a paper")
    assert one == same
    assert kg.Protocol(candidates=one).fingerprint == kg.Protocol(candidates=same).fingerprint
    for other in (
        pools({0: [1, 2], 1: [3]}, outside="last"),
        pools(subjects={0: [1, 2], 1: [3]}, outside="add"),
        pools({0: [1, 4], 1: [3]}, outside="add"),
        pools({0: [1, 2], 2: [3]}, outside="add"),
    ):
        assert one != other
        assert kg.Protocol(candidates=one).fingerprint != kg.Protocol(candidates=other).fingerprint


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
    for name, text, message in (
        ("a.json", '{"r": {"head": ["a"]}, "r": {"head": ["c"]}}', "'r' occurs twice; join its pools"),
        ("a.json", '{"r": {"head": ["A", "B"]}}', "none of its 2 entities, such as 'A', is in"),
        ("a.json", '{"R": {"head": ["a"]}}', "none of its 1 relation, such as 'R', is in"),
        ("a.json", '{"r": {"subject": ["a"]}}', "found \"['a']\" at 'r', 'subject'"),
        ("a.json", "{}", "has no pools"),
        (
            "a.json",
            '{"r": {"head": ["a"],\n "tail": ["b"',
            "a.json: not JSON (Expecting ',' delimiter: line 2 column 14 (char 35)); is the file complete? Write or "
            "copy it again",
        ),
        ("type_constrain.txt", "1\n1\t1\t2\n\n1\t1\t0\n", "line 3: expected a relation, a count"),
        ("type_constrain.txt", "1\n1\t1\t2\n0\t1\t0\n", "line 3: expected the tails of relation 1; found relation 0"),
        ("type_constrain.txt", "2\n1\t1\t2\n1\t1\t0\n", "expected 2 lines for each of 2 relations; found 2"),
        ("type_constrain.txt", "1\n1\t1\t²\n1\t1\t0\n", "line 2: expected a relation"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(kg.DataError, match=re.escape(message)):
            kg.read_candidates(tmp_path / name, dataset)
    (tmp_path / "lists.txt").write_text("a\tr\tb\na\tr\tc\nc\tq\tb\nc\tq\ta\n")
    with pytest.raises(kg.ProtocolError, match="outside= is for pools"):
        kg.read_candidates(tmp_path / "lists.txt", dataset, outside="add")


def test_command_line(graph, tmp_path, capsys):
    """Observed pools and a file give the numbers of Python; what is missing or has no effect is said."""
    dataset = graph[0]
    for split in ("train", "test"):
        rows = [f"e{s}\tr{p}\te{o}\n" for s, p, o in dataset[split].array.tolist()]
        (tmp_path / f"{split}.txt").write_text("".join(rows))
    (tmp_path / "model.py").write_text("def score(s, p, o):\n    return (31 * s + 17 * p + 7 * o) % 101\n")
    read = kg.read_dataset(tmp_path)
    pools = kg.candidates.ByRelation.observed(read, outside="add")
    wanted = kg.evaluate(
        lambda s, p, o: (31 * s + 17 * p + 7 * o) % 101, read, kg.Protocol(candidates=pools), progress=False
    )
    names, labels = read.relations.labels, read.entities.labels
    sides = {"head": "subject", "tail": "object"}
    content = {
        name: {word: [labels[e] for e in pools.of_side[side][p]] for word, side in sides.items()}
        for p, name in enumerate(names)
    }
    (tmp_path / "pools.json").write_text(json.dumps(content))
    call = [str(tmp_path), "--scorer", f"{tmp_path / 'model.py'}:score"]
    for given in ("observed", str(tmp_path / "pools.json")):
        options = ["--candidates", given, "--outside", "add", "--out", str(tmp_path / "a.kgeval"), "--overwrite"]
        assert main(["evaluate", *call, *options, "--metrics", "mrr,hits@3_of_20"]) == 0
        shown = next(line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("both "))
        assert shown == ["both", "80", f"{wanted['mrr']:.4f}", f"{wanted['hits@3_of_20']:.4f}"]
        assert kg.load_result(tmp_path / "a.kgeval").table.equals(wanted.table)
    row = int(wanted.table["rivals_raw"].idxmax())
    s, p, o = wanted.table.loc[row, list("spo")]
    triple = [labels[s], names[p], labels[o]]
    live = ["show", "--dataset", *call, "--candidates", "observed", "--outside", "add", "--explain", *triple]
    assert main(live) == 0
    assert f"of {wanted.table.loc[row, 'rivals_raw'] + 1:,} candidates" in capsys.readouterr().out
    for options, message in (
        (["--candidates", "observed"], "choose outside='add' (--outside add: "),
        (["--outside", "add"], "--outside needs --candidates"),
        (["--candidates", "observed", "--outside", "add", "--empty-lists", "drop"], "is for lists of negatives"),
    ):
        assert main(["evaluate", *call, *options]) == 2
        assert message in " ".join(capsys.readouterr().err.split())


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
    verb = "were made" if file.startswith("openke") else "were probably made"
    assert f"the pools {verb} from test: of 5,5" in capsys.readouterr().out
