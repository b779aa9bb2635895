"""The row order check: train triples tell whether the rows of a model belong to the ids of the dataset.

The corruptions are those of users' files: rows in another order, shifted, read with a wrong layout or with inverse
relations in other rows.
"""

import dataclasses
import json
import shutil
import warnings

import numpy as np
import pytest

import kgeval as kg
from kgeval.comparison.texts import note_lines
from kgeval.data.keys import FactColumns
from kgeval.data.known import KnownIndex
from kgeval.data.queries import Queries, query_parts
from kgeval.evaluation import row_order
from kgeval.evaluation.row_order import check_row_order
from kgeval.ranking import ranker
from kgeval.ranking.listed import ListTask
from kgeval.ranking.shards import Shard
from kgeval.ranking.tasks import Task
from kgeval.scorers.row_scorers import Limits, as_row_scorer

N = 60
RING = np.column_stack([np.arange(N), np.zeros(N, dtype=int), (np.arange(N) + 1) % N])
ORDER = (
    "are rows in the order of the ids, and norm, layout, inverse_relations right, or is the model undertrained? "
    "See kgeval help models"
)


def ring(n_train=N):
    """A ring of 60 entities, of which the first triples are in train and 40 in test."""
    return kg.Dataset.from_arrays(train=RING[:n_train], test=RING[:40], n_entities=N, n_relations=1)


def next_entity(s, p, o):
    """The entity after the subject scores best: the right model of the ring."""
    return -((o - s - 1) % N)


def shifted(s, p, o):
    """The right model with its rows off by a half turn for the object, so that every rank is 31."""
    return -((o - s - 1 + N // 2) % N)


def check(score, seconds=0.1, dataset=None, n_test=40):
    """The statistic and the caution for a function that ranks the ring's objects."""
    dataset = dataset or ring()
    task = Task.of(
        dataset, Queries.of(RING[:n_test], "object"), np.arange(N), KnownIndex.of(*query_parts(RING, "object"))
    )
    return check_row_order(as_row_scorer(score, N), dataset, np.arange(N), [task], seconds, Limits())


def order_cautions(result):
    """The notes on the row order."""
    return [note for note in result.notes if "row order" in note]


def corruptions(entities, relations, inverse, seed=0):
    """Yield (name, entities, relations, inverse rows) as wrong files would give them."""
    rng, n = np.random.default_rng(seed), len(entities)
    rows = np.arange(len(relations))
    pairs = rows.reshape(2, -1).T if inverse == "after" else rows.reshape(-1, 2)  # (relations, 2): row, inverse row
    permuted = np.empty_like(rows)
    permuted[pairs] = rng.permutation(pairs)
    swapped = np.empty_like(rows)
    swapped[pairs] = pairs[:, ::-1]
    half = np.arange(n)
    chosen = rng.permutation(n)[: n // 2]
    half[chosen] = rng.permutation(chosen)
    yield "entities permuted", entities[rng.permutation(n)], relations, inverse
    yield "entities shifted", np.roll(entities, 1, axis=0), relations, inverse
    yield "half of the entities permuted", entities[half], relations, inverse
    yield "relations permuted", entities, relations[permuted], inverse
    yield "inverse rows swapped", entities, relations[swapped], inverse
    yield "inverse rows elsewhere", entities, relations, "alternating" if inverse == "after" else "after"


def countries(root):
    """The bundled dataset, and the rows of its model in the order of the dataset's ids."""
    dataset = kg.read_dataset(root / "data" / "countries")
    with np.load(root / "data" / "countries" / "complex.npz") as arrays:
        entity_rows = np.argsort(dataset.entities.ids(arrays["entity_labels"].tolist()))
        relation_rows = np.argsort(dataset.relations.ids(arrays["relation_labels"].tolist()))
        relation_rows = np.concatenate([relation_rows, relation_rows + len(dataset.relations)])
        return dataset, arrays["entities"][entity_rows], arrays["relations"][relation_rows]


def complex_model(entities, relations, inverse="after", layout="halves"):
    """A ComplEx model."""
    return kg.models.ComplEx(entities, relations, layout=layout, inverse_relations=inverse)


def test_the_right_model_is_not_cautioned():
    """Every train triple ranks first among its 59 rivals; the statistic stands in the result, and nothing else."""
    result = kg.evaluate(next_entity, ring(), kg.Protocol(sides="object"), progress=False)
    assert result.facts["row_order"] == {"triples": 60, "object": {"amri": 1.0, "mrr": 1.0}}
    assert order_cautions(result) == []


@pytest.mark.filterwarnings("always::kgeval.KgevalWarning")
def test_a_wrong_order_is_cautioned(recwarn):
    """All 60 ranks are 31 of 60: AMRI 1 - 2 * 30 / 59, MRR 1 / 31. The caution is a note and a warning."""
    result = kg.evaluate(shifted, ring(), kg.Protocol(sides="object"), progress=False)
    assert result.facts["row_order"] == {"triples": 60, "object": {"amri": -0.016949, "mrr": 0.032258}}
    why = "as if the rows of the model stood for other entities"
    caution = f"row order: 60 train triples rank low (object side: AMRI -0.017, MRR 0.032), {why}: {ORDER}"
    assert [note for note in result.notes if "are also in train" not in note] == [caution]
    assert [(str(w.message), w.filename) for w in recwarn if w.category is kg.KgevalWarning] == [(caution, __file__)]


def test_the_worse_side_is_named():
    """Objects rank first, subjects rank 31."""
    scorer = type(
        "OneSide",
        (),
        {
            "score_objects": lambda self, s, p: -((np.arange(N)[None] - s[:, None] - 1) % N),
            "score_subjects": lambda self, p, o: -((np.arange(N)[None] - o[:, None] + 1 + N // 2) % N),
        },
    )()
    result = kg.evaluate(scorer, ring(), progress=False)
    assert result.facts["row_order"]["object"] == {"amri": 1.0, "mrr": 1.0}
    (caution,) = order_cautions(result)
    assert "(subject side: AMRI -0.017, MRR 0.032)" in caution


@pytest.mark.parametrize(
    ("low", "high", "is_doubtful"),
    [  # rank 1 + low for even subjects, 1 + high for odd ones: AMRI 1 - (low + high) / 59, MRR the mean of inverses
        (0, 14, False),  # AMRI .763, MRR .533: half of the answers are found
        (0, 15, True),  # AMRI .746
        (1, 3, True),  # AMRI .932, MRR .375: near, but not found
        (1, 1, False),  # AMRI .966, MRR .5
        (1, 2, True),  # AMRI .949, MRR .417
        (0, 2, False),  # AMRI .966
        (2, 0, False),
    ],
)
def test_thresholds(low, high, is_doubtful):
    """Doubtful: AMRI below .75; or AMRI below .95 and MRR below .45."""
    statistic, caution = check(lambda s, p, o: -((o - s - 1 + np.where(s % 2, high, low)) % N))
    assert statistic["object"] == {
        "amri": pytest.approx(1 - (low + high) / 59, abs=1e-6),
        "mrr": pytest.approx((1 / (1 + low) + 1 / (1 + high)) / 2, abs=1e-6),
    }
    assert bool(caution) == is_doubtful


def test_ties_rank_in_the_middle():
    """A constant scorer is at chance: 29.5 of 59 rivals rank above each answer."""
    statistic, caution = check(lambda s, p, o: np.zeros(len(s)))
    assert statistic["object"] == {"amri": 0.0, "mrr": 0.032787}  # 1 / 30.5
    assert caution


def test_known_answers_are_filtered():
    """With all pairs of 60 x 60 known but the one after the next, the next entity has one rival."""
    s, o = np.divmod(np.arange(N * N), N)
    known = np.column_stack([s, 0 * s, o])[(o - s) % N != 2]
    dataset = kg.Dataset.from_arrays(train=RING, valid=known, test=RING[:40], n_entities=N, n_relations=1)
    assert check(lambda s, p, o: -((o - s - 1) % N), dataset=dataset)[0]["object"] == {"amri": 1.0, "mrr": 1.0}
    assert check(lambda s, p, o: (o - s - 1) % N, dataset=dataset)[0]["object"] == {"amri": -1.0, "mrr": 0.5}


@pytest.mark.parametrize("train", [None, RING[:0]])
def test_nothing_to_check_without_train(train):
    """Without train triples the statistic says so, and the ranks of test speak: 80 are too few, 100 are not."""
    dataset = kg.Dataset.from_arrays(train=train, test=RING, n_entities=N, n_relations=1)
    result = kg.evaluate(shifted, dataset, progress=False)
    assert result.facts["row_order"] == {"triples": 0, "reason": "the dataset has no train triples"}
    assert order_cautions(result) == []
    assert any("the object side ranks no better than chance (AMRI -0.017)" in note for note in result.notes)


def test_few_train_triples_say_too_little():
    """49 triples give a statistic, 50 a caution."""
    few, enough = (check(shifted, dataset=ring(n)) for n in (49, 50))
    assert few == ({"triples": 49, "object": {"amri": -0.016949, "mrr": 0.032258}}, "")
    assert enough[0]["triples"] == 50
    assert enough[1].startswith("row order: 50 train triples")


def test_a_scorer_that_knows_only_test_is_not_refused():
    """A scorer that raises an error for other queries still gets its result; the check says why it is silent."""

    def only_test(s, p, o):
        if s.max() >= 40:
            raise KeyError("no such query")
        return next_entity(s, p, o)

    result = kg.evaluate(only_test, ring(), kg.Protocol(sides="object"), progress=False)
    reason = "the scorer cannot score train triples: only_test raised KeyError when given "
    assert result["mrr"] == 1.0
    assert result.facts["row_order"]["reason"].startswith(reason)
    assert result.facts["row_order"]["triples"] == 0
    assert [note.partition(":")[0] for note in result.notes] == ["40 triples of test (100.0% of 40) are also in train"]


@pytest.mark.parametrize(
    ("n_test", "seconds", "n"),
    [
        (40, 1.9 / 13.5, 500),  # among 60 entities 500 triples take 12.5 times as long as the run of 40
        (40, 2.1 / 13.5, 100),
        (40, 1.9 / 3.5, 100),  # 100 triples take 2.5 times as long as the run: 1.9 s together
        (40, 2.1 / 3.5, 50),  # 2.1 s together; with 50, which can still give a caution, 1.4 s
        (40, 1.9 / 2.25, 50),
        (40, 2.1 / 2.25, 0),  # 5% of the run of 40 are 2 triples: too few
        (999, 100.0, 0),
        (1000, 100.0, 50),
        (1000, 1000.0, 50),
        (10_000, 1000.0, 500),
        (20_000, 1000.0, 500),
        (19, 1000.0, 0),
    ],
)
def test_cost(n_test, seconds, n):
    """H27: 5% of the run, 50 to 500 triples, or nothing; at least 100 or 50 where run and check take less than 2 s."""
    triples = np.tile(RING, (400, 1))
    dataset = kg.Dataset.from_arrays(train=triples[:1000], test=RING[:1], n_entities=N, n_relations=1)
    queries = Queries.of(triples[:n_test], "object").one_each()
    task = Task.of(dataset, queries, np.arange(N), KnownIndex.of(*query_parts(RING, "object")))
    rows = as_row_scorer(next_entity, N)
    statistic, _ = check_row_order(rows, dataset, np.arange(N), [task], seconds, Limits())
    assert statistic["triples"] == n
    if not n:
        assert statistic["reason"] == "50 train triples would cost more than 5% of the run"


@pytest.mark.parametrize(("n_entities", "n"), [(100_000, 100), (100_001, 50)])
def test_cost_among_many_entities(n_entities, n):
    """Among more than 100,000 entities, 50 triples are enough; the run ranks 300 queries, and 5% of them are 15."""
    train = np.column_stack([np.arange(200), np.zeros(200, dtype=int), np.arange(200) + 1])
    dataset = kg.Dataset.from_arrays(train=train, test=train[:1], n_entities=n_entities, n_relations=1)
    queries = Queries.of(np.column_stack([np.arange(300), np.zeros(300, dtype=int), np.arange(300) + 1]), "object")
    entities = np.arange(n_entities)
    task = Task.of(dataset, queries, entities, KnownIndex.of(*query_parts(train, "object")))
    line = np.arange(n_entities, dtype=np.float32)[:, None] / 1000
    rows = as_row_scorer(kg.models.TransE(line, np.full((1, 1), 0.001, dtype=np.float32), norm=1), n_entities)
    assert check_row_order(rows, dataset, entities, [task], 1.0, Limits())[0]["triples"] == n


def test_cost_of_lists():
    """40 lists of one negative are 80 pairs for a function, and 40 rows of 60 scores for a scorer of whole rows."""
    dataset = ring()
    listed = kg.candidates.Listed(objects=[[(i + 5) % N] for i in range(40)])
    index = KnownIndex.of(*query_parts(RING, "object"))
    task = ListTask.of(dataset, listed, "object", RING[:40], np.arange(40), np.arange(N), index)
    matrix = type("Rows", (), {"score_objects": lambda self, s, p: -((np.arange(N)[None] - s[:, None] - 1) % N)})()
    for scorer, n in ((next_entity, 0), (matrix, 60)):  # 60 triples: 45 times the run of a function, 1.5 of a matrix
        rows = as_row_scorer(scorer, N)
        assert check_row_order(rows, dataset, np.arange(N), [task], 100.0, Limits())[0]["triples"] == 0
        assert check_row_order(rows, dataset, np.arange(N), [task], 0.1, Limits())[0]["triples"] == n
        assert check_row_order(rows, dataset, np.arange(N), [task], 0.04, Limits())[0]["triples"] == 60


@pytest.mark.parametrize(
    ("seconds", "n"),
    [(1.9 / 2.5, 60), (2.1 / 2.5, 50), (2.1 / 2.25, 0), (59.0, 0)],  # 60 triples are 1.5 times the run's 2,400 pairs
)
def test_the_check_of_a_run_with_few_candidates_is_short(seconds, n):
    """800 lists of 2 negatives, 2,400 pairs: with 60 or 50 triples among 60 entities 2 seconds together, or nothing."""
    dataset = ring()
    triples, lists = np.tile(RING[:40], (20, 1)), [[(i + 5) % N, (i + 9) % N] for i in range(800)]
    listed = kg.candidates.Listed(objects=lists)
    index = KnownIndex.of(*query_parts(RING, "object"))
    tasks = [ListTask.of(dataset, listed, "object", triples, np.arange(800), np.arange(N), index)]
    rows = as_row_scorer(next_entity, N)
    assert check_row_order(rows, dataset, np.arange(N), tasks, seconds, Limits())[0]["triples"] == n


def test_an_evaluator_makes_the_tasks_of_the_check_once(monkeypatch):
    """Two sides are two tasks, made in the first evaluation only, whatever is ranked later."""
    made = []
    make = row_order._task
    monkeypatch.setattr(row_order, "_task", lambda *arguments: made.append(arguments[2]) or make(*arguments))
    evaluator = kg.Evaluator(ring(), kg.Protocol(sample=10))
    scorers = [lambda s, p, o: next_entity(s, p, o) for _ in range(3)]
    results = [evaluator.evaluate(scorer, progress=False) for scorer in scorers]
    assert made == ["subject", "object"]
    assert {str(result.facts["row_order"]) for result in results} == {str(results[0].facts["row_order"])}
    assert results[0].facts["row_order"]["triples"] >= 50


class Rows:
    """Scores of the next entity, or of the one after it: of rows in another order."""

    def __init__(self, shift):
        self.shift, self.asked = shift, 0

    def score(self, s, p, o):
        self.asked += len(s)
        return next_entity(s + self.shift, p, o)

    __call__ = score


@pytest.mark.parametrize("method", [False, True])
def test_an_evaluator_checks_a_scorer_once(method):
    """H27: once per scorer that passes; a doubtful one each time, with one warning for all of them."""
    evaluator, good = kg.Evaluator(ring()), Rows(0)
    asked, reasons = [], []
    for _ in range(3):
        before = good.asked
        row_order = evaluator.evaluate(good.score if method else good, progress=False).facts["row_order"]
        asked.append(good.asked - before)
        reasons.append(row_order.get("reason", ""))
    assert reasons == ["", *["this Evaluator has checked the scorer before"] * 2]
    assert asked[1] == asked[2] < asked[0]
    assert evaluator.evaluate(Rows(0), progress=False).facts["row_order"]["triples"] >= 50  # another object
    wrong = Rows(20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = [evaluator.evaluate(wrong, progress=False) for _ in range(3)]
    for result in results:
        assert sum("train triples rank low" in note for note in result.notes) == 1
    assert sum("train triples rank low" in str(one.message) for one in caught) == 1


def test_kept_tasks_depend_on_the_entities_and_are_few():
    """Tasks among all entities are not those among the entities of train; the oldest of nine is dropped."""
    dataset, kept = ring(20), {}
    for n, entities in [(20, np.arange(N)), (20, np.arange(21)), *((n, np.arange(N)) for n in range(1, 8))]:
        task = row_order._kept_task(kept, dataset, n, "object", entities, FactColumns())
        assert (task.n_queries, len(task.candidates)) == (n, len(entities))
    assert len(kept) == row_order.MAX_KEPT
    assert ("object", 20, N) not in kept
    assert row_order._kept_task(kept, dataset, 7, "object", np.arange(N), FactColumns()) is task


def test_the_statistic_is_the_same_in_every_run():
    """Two runs are equal, whatever the batches, blocks and threads; JSON keeps the statistic."""
    rng = np.random.default_rng(0)
    model = complex_model(rng.normal(size=(N, 4)), rng.normal(size=(1, 4)), None)
    one = kg.evaluate(model, ring(), progress=False)
    other = kg.evaluate(model, ring(), batch_size=350, executor=kg.executors.Threads(1), progress=False)
    assert one == other
    assert json.loads(json.dumps(one.facts["row_order"])) == one.facts["row_order"]


def test_countries(root):
    """The bundled model is right; each corruption of its rows is cautioned."""
    dataset, entities, relations = countries(root)
    task = [
        Task.of(
            dataset,
            Queries.of(dataset["test"].array, side),
            np.arange(len(entities)),
            KnownIndex.of(*query_parts(dataset["test"].array, side)),
        )
        for side in ("subject", "object")
    ]

    def caution(model):
        rows = as_row_scorer(model, len(entities))
        return check_row_order(rows, dataset, np.arange(len(entities)), task, 0.1, Limits())[1]

    assert caution(complex_model(entities, relations)) == ""
    assert caution(complex_model(entities, relations, layout="interleaved"))
    for name, *wrong in corruptions(entities, relations, "after"):
        assert caution(complex_model(*wrong)), name


@pytest.mark.parametrize("name", ["fb15k-237", "wn18rr"])
def test_real_models(shared, name):
    """ComplEx on two large graphs: among FB15k-237's 20,466 test triples, AMRI .053 once passed for "better"."""
    dataset = kg.read_dataset(shared / "data" / name)
    # All of train is left for the check; one test triple in 100 is ranked, since only the check matters here.
    part = kg.Dataset.from_arrays(
        train=dataset["train"].array,
        valid=np.concatenate([dataset["valid"].array, dataset["test"].array]),
        test=dataset["test"].array[::100],
        n_entities=len(dataset.entities),
        n_relations=len(dataset.relations),
    )
    evaluator = kg.Evaluator(part)
    with np.load(shared / "data" / "models" / f"{name}-complex.npz") as arrays:
        entities, relations = arrays["entities"], arrays["relations"]

    def cautions(*arguments):
        return order_cautions(evaluator.evaluate(complex_model(*arguments), progress=False))

    assert cautions(entities, relations) == []
    assert cautions(entities, relations, "after", "interleaved")
    for seed in range(3):
        for wrong_name, *wrong in corruptions(entities, relations, "after", seed):
            assert cautions(*wrong), (wrong_name, seed)


@pytest.mark.parametrize("kind", ["transe", "complex", "rotate", "tucker"])
def test_fourteen_entities(shared, tmp_path, kind):
    """The published models of Nations are right; with 13 rivals, every corruption is still seen."""
    dataset = kg.read_dataset(shared / "data" / "nations")
    folder = shared / "data" / "models" / "nations-pykeen" / kind
    shutil.copyfile(folder / "config.json", tmp_path / "config.json")
    with np.load(folder / "trained_model.npz") as arrays:
        tables = dict(arrays)

    def cautions(entities, relations):
        np.savez(tmp_path / "trained_model.npz", **tables | {"entity": entities, "relation": relations})
        return order_cautions(kg.evaluate(kg.load_model(tmp_path, dataset), dataset, progress=False))

    assert cautions(tables["entity"], tables["relation"]) == []
    for seed in range(3):
        for name, *rows, inverse in corruptions(tables["entity"], tables["relation"], "alternating", seed):
            assert inverse == "after" or cautions(*rows), (name, seed)


def test_fb15k_237_transe(fb15k_237_transe):
    """The published TransE, whose train MRR is far below 1, is right."""
    result = fb15k_237_transe[2]
    assert order_cautions(result) == []
    assert result.facts["row_order"]["triples"] == 500
    assert {side: round(result.facts["row_order"][side]["amri"], 2) for side in ("subject", "object")} == {
        "subject": 0.99,
        "object": 1.0,
    }


def test_baselines(shared):
    """Those of the ranked dataset are not asked; of another one, a rule that knows train is right all the same."""
    dataset = kg.read_dataset(shared / "data" / "wn18rr")
    splits = {name: dataset.splits[name] for name in ("train", "test")}
    other = kg.Dataset(dataset.entities, dataset.relations, splits)
    found = {
        (of is dataset, make): order_cautions(kg.evaluate(make(of), dataset, progress=False))
        for of in (dataset, other)
        for make in (kg.baselines.InverseRule, kg.baselines.Frequency)
    }
    caution = found.pop((False, kg.baselines.Frequency))  # which ignores the given entity
    assert caution[0].endswith(ORDER)
    assert [*found.values()] == [[], [], []]


@pytest.mark.parametrize("unseen", ["rank", "drop"])
def test_the_check_takes_over_the_candidates_of_the_run(monkeypatch, unseen):
    """If they are the model's table, they are prepared once for both sides and the check, else once for each task."""
    made = []
    original = ranker.make_counter
    monkeypatch.setattr(ranker, "make_counter", lambda *arguments: made.append(1) or original(*arguments))
    entities, relations = np.random.default_rng(0).standard_normal((2, N, 4))
    scorer = kg.models.DistMult(entities, relations[:1])
    dataset = ring() if unseen == "rank" else ring(N // 2)
    result = kg.evaluate(scorer, dataset, kg.Protocol(unseen=unseen), progress=False)
    assert result.facts["row_order"]["triples"] > 0
    assert len(made) == (1 if unseen == "rank" else 4)


@pytest.mark.parametrize(("n_queries", "n_threads"), [(2700, 2), (1300, 2), (3100, 3), (128, 2), (999, 2), (5000, 64)])
def test_batches_of_a_task_are_even(n_queries, n_threads):
    """No thread gets a batch more than another, unless batches would be small; each query is in one batch."""
    entities = np.random.default_rng(0).standard_normal((n_queries + 1, 4))
    triples = np.column_stack([np.arange(n_queries), np.zeros(n_queries, dtype=int), np.arange(n_queries) + 1])
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=n_queries + 1, n_relations=1)
    index = KnownIndex.of(*query_parts(triples, "object"))
    task = Task.of(dataset, Queries.of(triples, "object"), np.arange(n_queries + 1), index)
    rows = as_row_scorer(kg.models.DistMult(entities, entities[:1]), n_queries + 1)
    batches = list(ranker.Ranker(rows, [task], Limits(), n_threads).batches(Shard(0, 0, n_queries)))
    assert [batch.stop for batch in batches] == [*(batch.start for batch in batches[1:]), n_queries]
    sizes = [batch.stop - batch.start for batch in batches]
    if n_queries < 1000 or n_threads == 64:
        assert set(sizes[:-1]) <= {ranker.MIN_BATCH}
    else:
        assert len(sizes) % n_threads == 0
        assert max(sizes) - min(sizes) < len(sizes)


def test_the_check_can_be_switched_off():
    """H27: no train triple is scored, the numbers are the same, and the result says that nothing was checked."""
    ring = np.column_stack([np.arange(60), np.zeros(60, dtype=int), (np.arange(60) + 1) % 60])
    dataset = kg.Dataset.from_arrays(train=ring[:50], test=ring[50:], n_entities=60, n_relations=1)
    seen = []

    def score(s, p, o):
        seen.append(set(s))
        return (7 * s + 13 * o) % 60

    off = kg.evaluate(score, dataset, kg.Protocol(sides="object"), check_rows=False)
    assert set().union(*seen) == set(range(50, 60))  # the probe and the ranking
    assert off.facts["row_order"] == {"triples": 0, "reason": "switched off by check_rows=False"}
    assert not any("row order" in note for note in off.notes)
    on = kg.evaluate(score, dataset, kg.Protocol(sides="object"))
    assert on.facts["row_order"]["triples"] == 50
    assert any("row order" in note for note in on.notes)
    assert off.table.equals(on.table)


def faulty(kind, seed=0):
    """A random graph, and a scorer whose true triples stand out; `kind` says what is wrong with it."""
    rng = np.random.default_rng(seed)
    triples = np.unique(rng.integers(0, (90, 2, 90), size=(700, 3)), axis=0)
    rng.shuffle(triples)
    dataset = kg.Dataset.from_arrays(train=triples[150:], test=triples[:150], n_entities=90, n_relations=2)
    table = rng.standard_normal((90, 2, 90))
    more_of_train, more_of_test = {"trained on test": (1, 5), "on both": (3.2, 9), "weak": (2, 2)}.get(kind, (7, 5))
    for split, more in (("train", more_of_train), ("test", more_of_test)):
        table[tuple(dataset[split].array.T)] += more
    scorers = {
        "subject rows": lambda s, p, o: table[(s + 1) % 90, p, o],
        "swapped": lambda s, p, o: table[o, p, s],
        "reversed": lambda s, p, o: -table[s, p, o],
    }
    return dataset, scorers.get(kind, lambda s, p, o: table[s, p, o])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("subject rows", "the subject rows are shifted by one: "),
        ("swapped", "subject and object are swapped: "),
        ("reversed", "the scores are reversed: "),
        ("trained on test", "test triples rank far above train triples of the same relations "),
        ("", None),
    ],
)
@pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")
def test_evaluate_names_the_fault(kind, text):
    """Where train triples rank low, the result names the cause; so does it where test triples rank far above them."""
    dataset, scorer = faulty(kind)
    notes = kg.evaluate(scorer, dataset, progress=False).notes
    named = [note for note in notes if ": " in note and note.startswith(("the ", "subject and", "test triples"))]
    assert [note for note in named if "ranks far worse" not in note and "ranks no better" not in note] == [
        note for note in notes if text is not None and note.startswith(text)
    ]
    assert (text is None) == (not [note for note in notes if note.startswith(text or "row order")])


@pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")
def test_evaluate_names_a_fault_once():
    """Where train triples rank high enough, the check itself compares them with test; that is not said again."""
    dataset, scorer = faulty("on both")
    notes = kg.evaluate(scorer, dataset, progress=False).notes
    assert [note.partition(" (")[0] for note in notes] == [
        "test triples rank far above train triples of the same relations"
    ]


def test_lists_of_negatives_are_not_compared_with_train(recwarn):
    """Ranks among nine negatives are far better than those of train triples among all entities."""
    dataset, scorer = faulty("weak")
    lists = np.random.default_rng(1).integers(0, 90, size=(150, 9))
    protocol = kg.Protocol(candidates=kg.candidates.Listed(objects=lists))
    notes = kg.evaluate(scorer, dataset, protocol, progress=False).notes
    assert not [note for note in notes if note.startswith("test triples rank far above")]


def test_a_baseline_has_no_rows_to_doubt():
    """Unless it was made from another dataset, whose ids may stand for other entities."""
    test, sizes = [[0, 1, i] for i in range(1, 40)], {"n_entities": 80, "n_relations": 2}
    dataset = kg.Dataset.from_arrays(train=[[i, 0, 0] for i in range(40)], test=test, **sizes)
    other = kg.Dataset.from_arrays(train=[[0, 1, 40 + i % 39] for i in range(80)], test=test, **sizes)
    frequent = kg.evaluate(kg.baselines.Frequency(other), other, kg.Protocol(filter=()), progress=False)
    elsewhere = kg.evaluate(kg.baselines.Frequency(other), dataset, progress=False)
    same = kg.evaluate(lambda s, p, o: np.where(o >= 40, 1.0, 0.0), dataset, progress=False)
    assert frequent["object.amri"] < 0.0 > same["object.amri"]
    assert all(any("are distances given" in note for note in one.notes) for one in (same, elsewhere))
    assert elsewhere.facts["row_order"]["triples"] > 0
    assert not any("are distances given as scores" in note for note in frequent.notes)
    assert frequent.facts["row_order"] == {"triples": 0, "reason": "a baseline of kgeval, made from this dataset"}


def test_notes_of_a_comparison_on_leaks_come_first():
    """Before that on other entities, and those on more models."""
    results = [
        kg.evaluate(lambda s, p, o, k=k: -((o - s - k) % N), ring(), progress=False, check_rows=False) for k in (1, 2)
    ]
    found = kg.compare(dict(zip("AB", results)), metrics="mrr")
    more = ("A: second", "B: second", "MRR without triples that may be copied from train: 0.5 of A")
    lines = note_lines(dataclasses.replace(found, notes=("A and B: for other entities, wide", *more)))
    assert [line[:14] for line in lines] == ["note: MRR with", "note: A and B:", "note: A and B:"]
    assert [line.endswith("second") for line in lines] == [False, False, True]
