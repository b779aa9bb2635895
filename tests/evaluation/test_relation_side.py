"""The relation side, (s, ?, o), against loops: all kinds of scorers, ties, duplicates, several known relations."""

import dataclasses
import random

import numpy as np
import pandas as pd
import pytest
from grids import size
from trap_cases import Geometry

import kgeval as kg
from kgeval.cli import main
from kgeval.errors import Stopped

COLUMNS = ["better_raw", "tied_raw", "rivals_raw", "better_filtered", "tied_filtered", "rivals_filtered"]
RELATION = kg.Protocol(sides=("relation",))
ALL = kg.Protocol(sides="both,relation")


def by_loops(score, triples, known, candidates):
    """Better, tied and rivals of each triple on the relation side, raw and filtered, by loops and sets."""
    rows = []
    for s, p, o in triples:
        row = []
        for setting in ("raw", "filtered"):
            better = tied = rivals = 0
            for q in candidates:
                if q == p or (setting == "filtered" and (s, q, o) in known):
                    continue
                rivals += 1
                better += score[s][q][o] > score[s][p][o]
                tied += score[s][q][o] == score[s][p][o]
            row += [better, tied, rivals]
        rows.append(row)
    return rows


def mean_by_loops(rows, setting, value, ties):
    """The mean of a metric over ranks; for expected ties over all places of the positive among the tied."""
    total = 0.0
    for row in rows:
        better, tied, _ = row[:3] if setting == "raw" else row[3:]
        if ties == "expected":
            total += sum(value(better + i + 1) for i in range(tied + 1)) / (tied + 1)
        else:
            total += value(better + 1 + {"optimistic": 0, "pessimistic": tied, "realistic": tied / 2}[ties])
    return total / len(rows)


class Rows:
    """The scores of whole rows of entities."""

    def __init__(self, table):
        self.table = table

    def score_objects(self, s, p):
        return self.table[s, p]

    def score_subjects(self, p, o):
        return self.table[:, p, o].T


class Subjects:
    """Only subjects are scored."""

    def __init__(self, table):
        self.table = table

    def score_subjects(self, p, o):
        return self.table[:, p, o].T


class SomeRows(Rows):
    """The scores of chosen candidates."""

    def score_objects(self, s, p, candidates):
        return self.table[s, p][:, candidates]


class Relations:
    """Only relations are scored."""

    def __init__(self, table):
        self.table = table

    def score_relations(self, s, o):
        return self.table[s, :, o]


class SomeRelations(Relations):
    """The scores of chosen relations."""

    def score_relations(self, s, o, candidates):
        return self.table[s, :, o][:, candidates]


class Called(Relations):
    """A function that has the relation side as a method."""

    def __call__(self, s, p, o):
        return self.table[s, p, o]


class VectorsAndRelations(Geometry, Relations):
    """An embedding model that scores relations in a way of its own."""


SCORERS = {
    "function": lambda table: lambda s, p, o: table[s, p, o],
    "integers": lambda table: lambda s, p, o: table[s, p, o].astype(np.int32),
    **{kind.__name__: kind for kind in (Rows, Subjects, SomeRows, Relations, SomeRelations, Called)},
    **{kind.__name__: kind for kind in (Geometry, VectorsAndRelations)},
}


def random_case(rng):
    """A small random graph with duplicates, overlaps of splits and pairs with several relations, and a table."""
    n, m = rng.randint(2, 6), rng.randint(1, 6)
    splits = {}
    for split, most in (("train", 12), ("valid", 4), ("test", 8)):
        facts = [[rng.randrange(n), rng.randrange(m), rng.randrange(n)] for _ in range(rng.randint(1, most))]
        facts += [[s, rng.randrange(m), o] for s, _, o in facts if rng.random() < 0.4]
        facts += [rng.choice(facts) for _ in range(rng.randrange(3))]
        splits[split] = facts
    dataset = kg.Dataset.from_arrays(**splits, n_entities=n, n_relations=m)
    levels = rng.choice([1, 2, 4, 50])
    table = np.array([[[rng.randrange(levels) for _ in range(n)] for _ in range(m)] for _ in range(n)], dtype=float)
    return dataset, splits, table


def known_of(splits, names):
    return {tuple(fact) for name in names for fact in splits[name]}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scorer", SCORERS)
def test_counts_equal_loops(scorer):
    for seed in range(size(8, 208)):
        rng = random.Random(seed)
        dataset, splits, table = random_case(rng)
        names = rng.choice([("train", "valid", "test"), ("train",), ("test",), ()])
        expected = by_loops(table.tolist(), splits["test"], known_of(splits, names), range(table.shape[1]))
        protocol = kg.Protocol(sides=("relation",), filter=names)
        batch_size = rng.choice([None, 1, 7])
        made = SCORERS[scorer](table)
        result = kg.evaluate(made, dataset, protocol, batch_size=batch_size, check_rows=False, progress=False)
        assert result.table[COLUMNS].to_numpy().tolist() == expected, seed
        for setting in ("raw", "filtered") if seed < 100 else ():
            for ties in ("optimistic", "pessimistic", "realistic", "expected"):
                for metric, value in (("mrr", lambda r: 1 / r), ("mr", float), ("hits@2", lambda r: r <= 2)):
                    key = f"{setting}.{ties}.{metric}"
                    assert abs(result[key] - mean_by_loops(expected, setting, value, ties)) < 1e-12, (seed, key)
                    assert result[f"{setting}.relation.{ties}.{metric}"] == result[key], (seed, key)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["TransE", "DistMult", "ComplEx", "RotatE"])
@pytest.mark.parametrize("inverse", [None, "after", "alternating"])
def test_embedding_models_equal_loops(kind, inverse):
    """Small integers in the tables: sums are exact, so that ties are ties and the loop sees the same scores."""
    for seed in range(size(2, 40)):
        rng = random.Random(seed)
        dataset, splits, _ = random_case(rng)
        n, m = len(dataset.entities), len(dataset.relations)
        numbers = np.random.default_rng(seed)
        entities = numbers.integers(-1, 2, (n, 4)).astype(np.float32)
        d = 2 if kind == "RotatE" else 4
        relations = numbers.integers(-1, 2, (m * (2 if inverse else 1), d)).astype(np.float32)
        if kind == "RotatE":
            relations[:] = 0  # phases: all relations tie
        model = getattr(kg.models, kind)(entities, relations, inverse_relations=inverse)
        score = [[[float(model.score([s], [p], [o])[0]) for o in range(n)] for p in range(m)] for s in range(n)]
        expected = by_loops(score, splits["test"], known_of(splits, splits), range(m))
        result = kg.evaluate(model, dataset, RELATION, check_rows=False, progress=False)
        assert result.table[COLUMNS].to_numpy().tolist() == expected, (seed, model)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_torch_modules_equal_loops(seed):
    torch = pytest.importorskip("torch")
    dataset, splits, table = random_case(random.Random(seed))

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.tensor(table))

        def forward(self, s, p, o):
            return self.table[s, p, o]

    class OfRows(Module):
        def score_objects(self, s, p):
            return self.table[torch.as_tensor(s), torch.as_tensor(p)]

    class OfRelations(OfRows):
        def score_relations(self, s, o):
            return self.table[torch.as_tensor(s), :, torch.as_tensor(o)]

    expected = by_loops(table.tolist(), splits["test"], known_of(splits, splits), range(table.shape[1]))
    called = kg.adapters.from_function(Module(), ids=dataset)
    for scorer in (called, OfRows(), OfRelations()):
        result = kg.evaluate(scorer, dataset, RELATION, check_rows=False, progress=False)
        assert result.table[COLUMNS].to_numpy().tolist() == expected


@pytest.mark.filterwarnings("ignore")
def test_stands_apart_beside_entity_sides():
    for seed in range(size(6, 60)):
        dataset, _, table = random_case(random.Random(seed))
        scorer = Rows(table)
        one, both, every = (
            kg.evaluate(scorer, dataset, protocol, check_rows=False, progress=False)
            for protocol in (RELATION, None, ALL)
        )
        assert every.rank_table.sides == ("both", "subject", "object", "relation")
        for metric in ("mrr", "hits@2", "amri", "query.map", "median_rank"):
            np.testing.assert_equal(every[metric], both[metric])
            np.testing.assert_equal(every[f"relation.{metric}"], one[metric])
            np.testing.assert_equal(every.chance(metric).value, both.chance(metric).value)
        assert every.tie_rate == both.tie_rate
        assert every.rank_table.tie_rate_of("relation") == one.tie_rate
        for columns in (("relation",), ("split",)):
            pd.testing.assert_frame_equal(every.by(*columns), both.by(*columns))
            pd.testing.assert_frame_equal(every.averages(*columns), both.averages(*columns))
        by_side = every.by("side", metrics="mrr", confidence=None)["mrr"]
        assert by_side.to_dict() == {side: every[f"{side}.mrr"] for side in every.protocol.sides}
        np.testing.assert_equal(dataclasses.astuple(every.interval("mrr")), dataclasses.astuple(both.interval("mrr")))
        pd.testing.assert_frame_equal(every.per_query("map", side="relation"), one.per_query("map"))
        mixed = kg.evaluate(scorer, dataset, kg.Protocol(sides="object,relation"), check_rows=False, progress=False)
        assert mixed["mrr"] == both["object.mrr"]
        assert mixed.rank_table.sides == ("object", "relation")


def graph():
    """Two relations between a and b are known; c is an entity of test alone, and r3 a relation of test alone."""
    names = {"train": ["a r0 b", "a r1 b", "b r2 a"], "test": ["a r2 b", "b r1 a", "b r3 a", "c r0 a"]}
    frames = {split: pd.DataFrame([fact.split() for fact in facts]) for split, facts in names.items()}
    return kg.Dataset.from_frames(**frames)


def counts(result):
    return result.table[COLUMNS].to_numpy().tolist()


@pytest.mark.filterwarnings("ignore")
def test_known_relations_between_the_same_pair_are_filtered():
    dataset = graph()
    result = kg.evaluate(lambda s, p, o: -p, dataset, RELATION, progress=False)
    assert counts(result)[0] == [2, 0, 3, 0, 0, 1]  # r0 and r1 are above r2, and both are known
    assert list(kg.negatives(dataset, ("a", "r2", "b"), "relation")) == ["r3"]
    assert list(kg.negatives(dataset, ("a", "r2", "b"), "relation", "raw")) == ["r0", "r1", "r3"]


@pytest.mark.filterwarnings("ignore")
def test_unseen():
    def score(s, p, o):
        return p

    dataset = graph()
    assert counts(kg.evaluate(score, dataset, RELATION, progress=False))[1] == [2, 0, 3, 0, 0, 1]
    drop = kg.evaluate(score, dataset, kg.Protocol(sides="relation", unseen="drop"), progress=False)
    assert counts(drop) == [[0, 0, 2, 0, 0, 0], [1, 0, 2, 0, 0, 1]]  # r3 competes no longer
    assert drop.protocol.describe() == "filtered by train+test, relations of train, relation side"
    worst = kg.evaluate(score, dataset, kg.Protocol(sides="relation", unseen="worst"), progress=False)
    assert counts(worst) == [[0, 0, 3, 0, 0, 1], [1, 0, 3, 0, 0, 1], [3, 0, 3, 1, 0, 1], [3, 0, 3, 3, 0, 3]]
    with pytest.raises(kg.KgevalError, match="does not occur in train"):
        kg.evaluate(score, dataset, kg.Protocol(sides="relation", unseen="error"), progress=False)


def test_nan_names_the_relation():
    def score(s, p, o):
        return np.where((s == 0) & (p == 3), np.nan, 1.0)

    for scorer in (score, Rows(score(*np.meshgrid(*(np.arange(k) for k in (3, 4, 3)), indexing="ij")))):
        with pytest.raises(kg.ScoreError, match=r"NaN for \('a', \?, 'b'\) with candidate 'r3'"):
            kg.evaluate(scorer, graph(), RELATION, progress=False)


def test_wrong_shape_of_score_relations():
    class Transposed(Relations):
        def score_relations(self, s, o):
            return self.table[s, :, o].T

    with pytest.raises(kg.ScoreError, match=r"Transposed.score_relations must return shape .*\(3, 4\); got \(4, 3\)"):
        kg.evaluate(Transposed(np.zeros((3, 4, 3))), graph(), RELATION, progress=False)
    with pytest.raises(kg.ScoreError, match=r"no score_objects, .* Protocol\(sides=\('relation',\)\)"):
        kg.evaluate(Relations(np.zeros((3, 4, 3))), graph(), kg.Protocol(sides="object"), progress=False)


def test_overflow_of_a_model_is_an_error():
    model = kg.models.DistMult(np.full((3, 2), 1e140), np.full((4, 2), 1e140))
    with pytest.raises(kg.ScoreError, match="overflows float64"):
        kg.evaluate(model, graph(), RELATION, progress=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["function", "Rows", "SomeRows", "Relations", "Geometry"])
def test_lists_of_relations_equal_loops(kind):
    for seed in range(30):
        rng = random.Random(seed)
        dataset, splits, table = random_case(rng)
        m = table.shape[1]
        lists = [[rng.randrange(m) for _ in range(rng.randrange(5))] for _ in splits["test"]]
        known, score = known_of(splits, splits), table.tolist()
        expected = []
        for (s, p, o), among in zip(splits["test"], lists):
            row = []
            for setting in ("raw", "filtered"):
                rivals = [q for q in among if q != p and (setting == "raw" or (s, q, o) not in known)]
                values = [score[s][q][o] for q in rivals]
                row += [sum(v > score[s][p][o] for v in values), sum(v == score[s][p][o] for v in values), len(rivals)]
            expected.append(row)
        candidates = kg.candidates.Listed(relations=lists, empty="first")
        protocol = kg.Protocol(candidates=candidates)
        assert protocol.sides == ("relation",)
        result = kg.evaluate(SCORERS[kind](table), dataset, protocol, check_rows=False, progress=False)
        assert counts(result) == expected, seed


def test_candidates_that_the_relation_side_cannot_have():
    dataset = graph()
    with pytest.raises(kg.ProtocolError, match="pools by relation have no candidates for the relation side"):
        kg.Protocol(sides="object,relation", candidates=kg.candidates.ByRelation.observed(dataset))
    with pytest.raises(kg.ProtocolError, match="no lists for the relation side"):
        kg.Protocol(sides="relation", candidates=kg.candidates.Listed(objects=[[0]]))
    lists = kg.Protocol(candidates=kg.candidates.Listed(relations=[[7], [], [], []], empty="first"))
    with pytest.raises(kg.ProtocolError, match=r"relations\[0\] contains id 7; .* has relations 0 to 3"):
        kg.evaluate(lambda s, p, o: p, dataset, lists, progress=False)
    with pytest.raises(kg.ProtocolError, match="the relation side cannot be used here"):
        kg.sample_negatives(dataset, "test", sides="relation")


@pytest.mark.filterwarnings("ignore")
def test_times_are_given_to_the_scorer_and_filtered():
    frames = {
        "train": pd.DataFrame([["a", "r0", "b", 1], ["a", "r1", "b", 2]], columns=["s", "p", "o", "time"]),
        "test": pd.DataFrame([["a", "r2", "b", 1], ["a", "r2", "b", 2]], columns=["s", "p", "o", "time"]),
    }
    dataset = kg.Dataset.from_frames(**frames)

    class Timed:
        def score_relations(self, s, o, time):
            return np.outer(np.asarray(time) * 2 - 3, [0.0, 1.0, 2.0])

    def score(s, p, o, time):
        return (np.asarray(time) * 2 - 3) * p

    for scorer in (Timed(), score):
        aware = kg.Protocol(sides="relation", filter_by=("time",))
        found = kg.evaluate(scorer, dataset, aware, check_rows=False, progress=False)
        assert counts(found) == [[2, 0, 2, 1, 0, 1], [0, 0, 2, 0, 0, 1]]
        static = kg.evaluate(scorer, dataset, kg.Protocol(sides="relation", filter_by=()), progress=False)
        assert counts(static) == [[2, 0, 2, 0, 0, 0], [0, 0, 2, 0, 0, 0]]


@pytest.mark.filterwarnings("ignore")
def test_samples_run_folders_and_limits_of_time_give_the_same(tmp_path):
    dataset, _, table = random_case(random.Random(3))
    for number, scorer in enumerate((Rows(table), Geometry(table), Called(table), SCORERS["function"](table))):
        whole = kg.evaluate(scorer, dataset, ALL, check_rows=False, progress=False)
        folder = tmp_path / str(number)
        stored = kg.evaluate(scorer, dataset, ALL, run_folder=folder, check_rows=False, progress=False)
        again = kg.evaluate(scorer, dataset, ALL, run_folder=folder, check_rows=False, progress=False)
        timed = kg.evaluate(scorer, dataset, ALL, max_seconds=60, check_rows=False, progress=False)
        for other in (stored, again, timed):
            assert counts(other) == counts(whole)
        sample = kg.evaluate(
            scorer, dataset, kg.Protocol(sides="relation", sample=[0]), check_rows=False, progress=False
        )
        rows = whole.table[whole.table["side"] == "relation"]
        assert counts(sample) == rows[COLUMNS].head(1).to_numpy().tolist()
    other = Called(table + np.arange(table.shape[1])[None, :, None])
    with pytest.raises(kg.DataError, match="the scorer|differ"):
        kg.evaluate(other, dataset, ALL, run_folder=tmp_path / "2", check_rows=False, progress=False)


@pytest.mark.filterwarnings("ignore")
def test_a_stopped_run_goes_on(tmp_path):
    dataset, _, table = random_case(random.Random(7))
    calls, most = [0], [float("inf")]

    def score(s, p, o):
        calls[0] += 1
        if calls[0] > most[0]:
            raise KeyboardInterrupt
        return table[s, p, o]

    options = {"batch_size": 3, "check_rows": False, "progress": False}
    whole = kg.evaluate(score, dataset, ALL, run_folder=tmp_path / "whole", **options)
    n_calls, calls[0] = calls[0], 0
    most[0] = n_calls - 3  # the last calls are of the relation side
    with pytest.raises(Stopped):
        kg.evaluate(score, dataset, ALL, run_folder=tmp_path / "stopped", **options)
    most[0] = float("inf")
    assert counts(kg.evaluate(score, dataset, ALL, run_folder=tmp_path / "stopped", **options)) == counts(whole)


@pytest.mark.filterwarnings("ignore")
def test_processes_and_blocks_give_the_same():
    pytest.importorskip("loky")
    rng = np.random.default_rng(0)
    dataset = kg.Dataset.from_arrays(
        train=rng.integers(0, [9, 5, 9], (40, 3)),
        test=rng.integers(0, [9, 5, 9], (20, 3)),
        n_entities=9,
        n_relations=5,
    )
    table, vectors = rng.integers(0, 4, (9, 5, 9)).astype(float), rng.normal(size=(14, 3))

    class WithRelations:
        def __call__(self, s, p, o):
            return table[s, p, o]

        def score_relations(self, s, o):
            return -table[s, :, o]

    one, blocks = kg.executors.Processes(1), kg.executors.Processes(1, candidate_blocks=3)
    for scorer, executor in ((WithRelations(), one), (kg.models.DistMult(vectors[:9], vectors[9:]), blocks)):
        whole = kg.evaluate(scorer, dataset, ALL, check_rows=False, progress=False)
        other = kg.evaluate(scorer, dataset, ALL, executor=executor, check_rows=False, progress=False)
        assert counts(other) == counts(whole)
    with pytest.raises(kg.ProtocolError, match="whose score_relations always scores all relations"):
        kg.evaluate(WithRelations(), dataset, ALL, executor=blocks, progress=False)


@pytest.mark.filterwarnings("ignore")
def test_save_explain_steps_and_features(tmp_path):
    dataset, _, table = random_case(random.Random(1))
    for protocol in (RELATION, ALL):
        result = kg.evaluate(Rows(table), dataset, protocol, check_rows=False, progress=False)
        path = tmp_path / f"{protocol.fingerprint}.kgeval"
        result.save(path)
        loaded = kg.load_result(path)
        assert loaded == result
        assert loaded.protocol.fingerprint == result.protocol.fingerprint
        row = result.table[result.table["side"] == "relation"].iloc[0]
        triple = [int(row[name]) for name in "spo"]
        shown = result.explain(*triple, side="relation")
        assert shown["candidate"].tolist()[-1] == dataset.relations.labels[triple[1]]
        assert (shown["stands"] == "above").sum() == row["better_raw"]
        assert (shown["stands"] == "tied").sum() == row["tied_raw"]
        assert (shown["counts"] & (shown["stands"] == "above")).sum() == row["better_filtered"]
        assert str(result.steps(*triple, side="relation", metric="query.map").query).split(", ")[1] == "?"
        assert len(kg.Evaluator(dataset, protocol).explain(Rows(table), *triple, side="relation")) == len(shown)
        known = result.by("side", "known_answers", metrics="mrr", confidence=None)["n"]
        assert known.sum() == len(result.table)
    alone = kg.evaluate(Rows(table), dataset, RELATION, check_rows=False, progress=False)
    with pytest.raises(kg.ProtocolError, match="'degree_given' needs the missing entity of a query"):
        alone.by("degree_given")
    kept = kg.load_result(tmp_path / f"{RELATION.fingerprint}.kgeval")
    row = alone.table.sort_values("rank_filtered").iloc[-1]
    worst = kept.explain(*(int(row[name]) for name in "spo"), side="relation")
    assert set(worst["candidate"]) <= set(dataset.relations.labels)
    with pytest.raises(kg.DataError, match="no entity is missing"):
        kg.features.popularity_weights(alone.table, dataset)
    assert result.by("side", "degree_given", metrics="mrr")["n"].loc["relation"].index.tolist() == ["missing"]


@pytest.mark.filterwarnings("ignore")
def test_compare_pairs_the_same_sides():
    dataset, _, table = random_case(random.Random(2))
    other = np.random.default_rng(0).integers(0, 9, table.shape).astype(float)
    first, second = (
        {
            name: kg.evaluate(Rows(part), dataset, protocol, check_rows=False, progress=False)
            for name, protocol in (("one", RELATION), ("both", kg.Protocol()), ("all", ALL))
        }
        for part in (table, other)
    )

    def difference(one, two, metric):
        return kg.compare([one, two], metrics=metric).differences.iloc[0]["difference"]

    assert difference(first["all"], second["all"], "mrr") == difference(first["both"], second["both"], "mrr")
    assert difference(first["all"], second["both"], "mrr") == difference(first["both"], second["both"], "mrr")
    assert difference(first["all"], second["all"], "relation.mrr") == difference(first["one"], second["one"], "mrr")
    assert difference(first["all"], second["one"], "relation.mrr") == difference(first["one"], second["one"], "mrr")
    gap = second["all"]["mrr"] - first["all"]["mrr"]
    assert abs(abs(difference(first["all"], second["all"], "mrr")) - abs(gap)) < 1e-12
    with pytest.raises(kg.ProtocolError, match=r"mrr needs both sides; every result has the relation side"):
        difference(first["all"], second["one"], "mrr")


def test_a_file_of_negatives_may_differ_in_the_relation(tmp_path):
    dataset = graph()
    lines = []
    for s, p, o in [("a", "r2", "b"), ("b", "r1", "a"), ("b", "r3", "a"), ("c", "r0", "a")]:
        lines += [f"{s}\t{p}\t{o}", f"{s}\tr0\t{o}", f"{s}\tr1\t{o}"]
    path = tmp_path / "negatives.txt"
    path.write_text("\n".join(lines) + "\n")
    listed = kg.read_candidates(path, dataset)
    assert listed.sides == ("relation",)
    assert [part.tolist() for part in np.split(listed.lists["relation"].values, 4)] == [[0, 1]] * 4
    path.write_text(path.read_text().replace("b\tr1\ta\nb\tr0\ta", "b\tr1\ta\nb\tr0\tb"))
    with pytest.raises(kg.DataError, match="line 5: expected a negative of .* with another relation"):
        kg.read_candidates(path, dataset)


@pytest.mark.filterwarnings("ignore")
def test_scores_and_predictions_have_no_relation_side(tmp_path):
    dataset, path = graph(), tmp_path / "ranks.tsv"
    path.write_text("s\tp\to\tside\trank\na\tr2\tb\tobject\t1\n")
    for of in (dataset, None):
        with pytest.raises(kg.ProtocolError, match="only the entity sides can be ranked"):
            kg.evaluate_predictions(kg.read_predictions(path, of), of, RELATION)
    scores = pd.DataFrame({"s": ["a"], "p": ["r2"], "o": ["b"], "score": [1.0]})
    with pytest.raises(kg.ProtocolError, match="only the entity sides can be ranked"):
        kg.evaluate_scores(scores, dataset, RELATION)


@pytest.mark.filterwarnings("ignore")
def test_a_scorer_that_ignores_the_relation_is_cautioned():
    """All relations tie; the ties of the entity sides are told apart."""
    dataset, _, table = random_case(random.Random(11))
    numbers = np.random.default_rng(0).normal(size=table.shape[0])
    result = kg.evaluate(lambda s, p, o: numbers[s] - numbers[o], dataset, ALL, check_rows=False, progress=False)
    assert result.tie_rate == 0
    assert result.rank_table.tie_rate_of("relation") > 0.5
    assert any("tie with a rival on the relation side" in note for note in result.notes)
    assert abs(result["relation.amri"]) < 1e-12
    assert result.chance("relation.mr").value == result["relation.mr"]


@pytest.mark.filterwarnings("ignore")
def test_command_line(tmp_path, capsys):
    """Tables with both chance levels, explanations, the worst ranks, a page, a comparison by relation."""
    model, saved = "data/countries/complex.npz", str(tmp_path / "all.kgeval")
    start = ["evaluate", "data/countries", "--model", model, "--no-progress"]
    assert main([*start, "--sides", "subject,object,relation", "--out", saved]) == 0
    rows = {line.split("  ")[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert [rows["relation"][i] for i in (1, 2, 6)] == ["329", "0.9749", "1.07"]
    assert [rows["chance relation"][i] for i in (2, 3, 7)] == ["329", "0.2456", "6.96"]
    assert rows["both"][1] == rows["chance"][1] == "658"
    assert main([*start, "--sides", "relation"]) == 0
    assert "all relations, relation side" in capsys.readouterr().out
    assert main(["show", saved, "--worst", "3"]) == 0
    assert "relation" not in capsys.readouterr().out.replace("relations", "")
    triple = ["Maltese", "language_family", "Semitic languages"]
    live = ["show", "--dataset", "data/countries", "--model", model, "--sides", "relation", "--explain", *triple]
    assert main(live) == 0
    assert "relation side: rank 6 (raw 6) of 13 candidates" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["report", saved, "-o", str(page)]) == 0
    assert "relation side" in page.read_text()
    other = str(tmp_path / "other.kgeval")
    countries, rng = kg.read_dataset("data/countries"), np.random.default_rng(0)
    random_model = kg.models.DistMult(rng.normal(size=(901, 4)), rng.normal(size=(13, 4)))
    kg.evaluate(random_model, countries, ALL, progress=False).save(other)
    assert main(["compare", saved, other, "--metrics", "mrr,relation.mrr"]) == 0
    assert "relation.mrr" in capsys.readouterr().out.lower()
    one, two = kg.load_result(saved), kg.load_result(other)
    comparison = kg.compare([one, two], metrics=["relation.mrr"])
    by_relation = comparison.by("relation", "relation.mrr")
    for label, row in by_relation.iterrows():
        part = one.by("side", "relation", metrics="mrr", confidence=None).loc[("relation", label)]
        assert row["n"] == part["n"]
    with pytest.raises(SystemExit, match="2"):
        main([*start, "--sides", "verb"])
    assert "or 'relation'; got 'verb'" in capsys.readouterr().err


def test_protocols_of_entity_sides_keep_their_fingerprints():
    assert kg.Protocol().fingerprint == "0ae85dd1"
    assert kg.Protocol(sides="object", filter=("train",)).describe() == "filtered by train, all entities, object side"
    assert RELATION.describe() == "filtered by every split, all relations, relation side"
    assert ALL.describe().endswith("all entities and relations, subject, object and relation sides")
    assert len({kg.Protocol().fingerprint, RELATION.fingerprint, ALL.fingerprint}) == 3
    assert kg.Protocol.from_dict(ALL.to_dict()) == ALL
    with pytest.raises(kg.ProtocolError, match="or 'relation'; got 'verb'"):
        kg.Protocol(sides="verb")
