"""Runs that stop and go on, that keep a run folder, and that end when their time is up."""

import itertools
import random
import time
from dataclasses import replace

import numpy as np
import pytest
from grids import size
from kgeval.candidates import All, Listed

import kgeval as kg
from kgeval.data.keys import NO_COLUMNS
from kgeval.data.protocol import RandomSample
from kgeval.evaluation import evaluator, row_order
from kgeval.ranking import listed
from kgeval.ranking.shards import Shard, Work, in_order, without_finished
from kgeval.scorers import call_size as paces
from kgeval.scorers.check import ScorerReport

KINDS = ("function", "matrix", "columns", "geometry")


class Rows:
    """Whole rows of a table of scores."""

    def __init__(self, table, before=lambda: None):
        self.table, self.before = table, before

    def score_objects(self, s, p):
        self.before()
        return self.table[s, p]

    def score_subjects(self, p, o):
        self.before()
        return self.table[:, p, o].T


class Columns(Rows):
    """Only the columns that are asked for."""

    def score_objects(self, s, p, candidates=None):
        return super().score_objects(s, p)[:, candidates]

    def score_subjects(self, p, o, candidates=None):
        return super().score_subjects(p, o)[:, candidates]


class Vectors:
    """TransE with small integers."""

    geometry = "l1"

    def __init__(self, table, before=lambda: None):
        n, m = table.shape[:2]
        rng = np.random.default_rng(int(table.sum()))
        self.entities, self.relations = rng.integers(0, 3, (n, 2)) * 1.0, rng.integers(0, 2, (m, 2)) * 1.0
        self.before = before

    def query_vectors(self, side, given, relation):
        self.before()
        sign = 1 if side == "object" else -1
        return self.entities[given] + sign * self.relations[relation]

    def candidate_vectors(self, side):
        return self.entities


def make(kind, table, before=lambda: None):
    """A scorer of the table; `before` is called in each call of the scorer."""
    if kind == "function":

        def score(s, p, o):
            before()
            return table[s, p, o]

        return score
    return {"matrix": Rows, "columns": Columns, "geometry": Vectors}[kind](table, before)


def draw(seed):
    """A random graph with repeated and unseen triples, a table of few different scores, and a protocol."""
    rng = random.Random(seed)
    n, m = rng.randint(4, 9), rng.randint(1, 3)
    splits = {
        name: [(rng.randrange(n), rng.randrange(m), rng.randrange(n)) for _ in range(rng.randint(4, 14))]
        for name in ("train", "valid", "test")
    }
    splits["test"].append(splits["test"][0])
    dataset = kg.Dataset.from_arrays(**splits, n_entities=n, n_relations=m)
    table = np.random.default_rng(seed).integers(0, 4, (n, m, n)).astype(float)
    listed = Listed(objects=[[rng.randrange(n) for _ in range(3)] for _ in splits["test"]], empty="drop")
    pools = [{p: [e for e in range(n) if rng.random() < 0.5] for p in range(m)} for _ in range(2)]
    by_relation = kg.candidates.ByRelation(*pools, outside=rng.choice(["add", "last"]))
    candidates = rng.choice([All(), listed, by_relation])
    return rng, dataset, table, kg.Protocol(candidates=candidates, unseen=rng.choice(["rank", "drop", "worst"]))


def stopping(calls):
    """A function that raises KeyboardInterrupt when it is called for the last time of `calls`."""
    left = itertools.count(calls, -1)

    def before():
        if next(left) == 0:
            raise KeyboardInterrupt

    return before


def is_seen_somewhere(dataset):
    return dataset.is_seen("test").any()


def test_stopped_runs_end_in_the_result_of_a_whole_one(tmp_path):
    """Stopped again and again at random calls, with other sizes of batches: equal to the run that was never stopped."""
    n_stops = 0
    for seed in range(size(8, 60)):
        rng, dataset, table, protocol = draw(seed)
        if not is_seen_somewhere(dataset):
            continue
        kind = rng.choice(KINDS)
        folder = tmp_path / str(seed)
        try:
            wanted = kg.evaluate(make(kind, table), dataset, protocol, progress=False)
        except kg.DataError as error:
            assert "no positive has a negative" in str(error)
            continue
        options = {"run_folder": folder, "progress": False}
        for attempt in itertools.count():
            before = stopping(rng.randint(1, 60)) if attempt < 5 else lambda: None
            try:
                found = kg.evaluate(
                    make(kind, table, before),
                    dataset,
                    protocol,
                    batch_size=rng.choice([1, 2, 5, 10, 30, 1000]),
                    **options,
                )
                break
            except KeyboardInterrupt as error:
                n_stops += 1
                assert type(error) is not kg.Stopped or f"kept in {folder}" in str(error)
        assert found == wanted, seed
    assert n_stops > size(5, 40)


def test_ctrl_c_says_what_was_done():
    """Half of the queries; the message names the option that would have kept them."""
    dataset = kg.Dataset.from_arrays(test=[[i, 0, i + 1] for i in range(20)], n_entities=21, n_relations=1)

    def score(s, p, o):
        if len(s) == 21 and s[0] == 15:
            raise KeyboardInterrupt
        return s - o

    with pytest.raises(kg.Stopped) as caught:
        kg.evaluate(score, dataset, kg.Protocol(sides="object"), batch_size=21, progress=False)
    assert str(caught.value) == (
        "stopped at 15 of 20 queries (75%): the finished ranks are lost; run_folder=DIR (--run-folder DIR) keeps them"
    )


class Careless:
    """An executor that loses or repeats the shards for which `times` is not 1."""

    n_processes = 1

    def __init__(self, times):
        self.times = times

    def run(self, job):
        for i, outcome in enumerate(kg.executors.Threads(1).run(job)):
            yield from [outcome] * self.times.get(i, 1)


class Doubling(Careless):
    """An executor that yields the last shard once more, as if it were the one before the first."""

    def run(self, job):
        for outcome in super().run(job):
            yield outcome
        yield replace(outcome, shard=replace(outcome.shard, start=-1))


def chain(n):
    """A dataset of n test triples with n queries on the object side."""
    return kg.Dataset.from_arrays(test=[[i, 0, i + 1] for i in range(n)], n_entities=n + 1, n_relations=1)


OBJECTS = kg.Protocol(sides="object")


@pytest.mark.parametrize(
    ("executor", "message"),
    [
        (Careless({3: 0}), "the shards of the object side hold 9 positives, 9 of them distinct, in place of 10"),
        (Doubling({}), "the shards of the object side hold 11 positives, 10 of them distinct, in place of 10"),
    ],
)
def test_a_shard_is_merged_once(executor, message):
    """A lost shard and a shard that is there twice are errors, never other numbers."""
    with pytest.raises(kg.ScoreError) as caught:
        kg.evaluate(lambda s, p, o: o, chain(10), OBJECTS, batch_size=11, executor=executor, progress=False)
    assert message in str(caught.value)


def test_a_repeated_shard_changes_nothing():
    """A late duplicate takes the place of the same counts."""
    wanted = kg.evaluate(lambda s, p, o: o, chain(10), OBJECTS, progress=False)
    executor = Careless({2: 2, 5: 3})
    assert (
        kg.evaluate(lambda s, p, o: o, chain(10), OBJECTS, batch_size=11, executor=executor, progress=False) == wanted
    )


def failing(given):
    """A scorer that fails for the queries of some entities, and the queries that it scored."""
    scored = []

    def score(s, p, o):
        if len(s) > 1 and len(set(s)) == 1 and len(s) == 41:
            scored.append(int(s[0]))
            if s[0] in given:
                raise ValueError(f"no text for {s[0]}")
        return s - o

    return score, scored


def test_only_the_failed_queries_are_ranked_again(tmp_path):
    """With a run folder the other queries are ranked nevertheless; resuming ranks the two that failed."""
    dataset, options = chain(40), {"batch_size": 41, "run_folder": tmp_path / "run", "progress": False}
    score, scored = failing({7, 30})
    with pytest.raises(kg.ScoreError) as caught:
        kg.evaluate(score, dataset, OBJECTS, **options)
    message = str(caught.value)
    assert "no text for 7 (queries 7 to 7 of 40 of the object side; 1 more range of queries failed)" in message
    assert message.endswith(f"what was ranked is kept in {tmp_path / 'run'}; the same call goes on from there")
    assert isinstance(caught.value.__cause__.__cause__, ValueError)
    assert sorted(set(scored)) == list(range(40))
    score, scored = failing(set())
    found = kg.evaluate(score, dataset, OBJECTS, **options)
    assert sorted(set(scored[-2:])) == [7, 30]
    assert found == kg.evaluate(score, dataset, OBJECTS, progress=False)


def test_a_scorer_that_always_fails_stops_at_the_third_shard(tmp_path):
    """Without a run folder, the first error ends the run."""
    for folder, n_calls in ((tmp_path / "run", 3), (None, 1)):
        score, scored = failing({5, 6, 7, 8, 9})
        with pytest.raises(kg.ScoreError, match="no text for 5"):
            kg.evaluate(score, chain(40), OBJECTS, batch_size=41, run_folder=folder, progress=False)
        assert len([s for s in scored if 5 <= s <= 9]) == n_calls


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": chain(12)}, "dataset"),
        ({"protocol": kg.Protocol(sides="object", filter=())}, "filter"),
        ({"scorer": lambda s, p, o: s * o}, "probed scores differ"),
        ({"protocol": kg.Protocol(sides="object", sample=3)}, "sample"),
    ],
)
def test_another_run_is_not_resumed(tmp_path, change, message):
    """The message names what differs."""
    given = {"scorer": lambda s, p, o: s - o, "dataset": chain(10), "protocol": OBJECTS}
    kg.evaluate(**given, run_folder=tmp_path / "run", progress=False)
    with pytest.raises(kg.DataError, match="another run") as caught:
        kg.evaluate(**(given | change), run_folder=tmp_path / "run", progress=False)
    assert message in str(caught.value)


class Clock:
    """A clock that only scoring moves."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(paces, "clock", lambda: self.now)
        monkeypatch.setattr("time.monotonic", lambda: self.now)
        monkeypatch.setattr(evaluator, "probe", lambda *_: ScorerReport("function", "float64", ()))

    def scorer(self, table, seconds):
        """A function that takes `seconds` for each triple."""

        def score(s, p, o):
            self.now += seconds * len(s)
            return table[s, p, o]

        return score


def test_max_seconds_ranks_the_first_triples_of_a_random_order(monkeypatch):
    """The partial result is that of ``sample=m`` with the same seed, whatever was scored beyond it."""
    n_partial = 0
    for seed in range(size(8, 100)):
        rng, dataset, table, protocol = draw(seed)
        clock = Clock(monkeypatch)
        scorer, seconds = clock.scorer(table, 0.2), rng.uniform(1, 40)
        start = clock.now
        try:
            found = kg.evaluate(
                scorer, dataset, replace(protocol, sample_seed=seed), max_seconds=seconds, progress=False
            )
        except (kg.ScoreError, kg.DataError) as error:
            assert "no triple" in str(error) or "no positive has a negative" in str(error)
            continue
        assert clock.now - start < seconds + 64 * 0.2  # at most the first call is too long: nothing was measured
        sample = found.protocol.sample
        if sample is None:
            assert found.table.equals(kg.evaluate(scorer, dataset, protocol, progress=False).table)
            continue
        n_partial += 1
        wanted = kg.evaluate(scorer, dataset, replace(protocol, sample=sample.n, sample_seed=seed), progress=False)
        assert found.table.equals(wanted.table), seed
        assert found.protocol == wanted.protocol
        assert (sample.of, sample.seed) == (len(dataset["test"]), seed)
    assert n_partial > size(1, 20)


def test_more_time_is_a_larger_sample(monkeypatch, tmp_path):
    """The run folder of a partial run is resumed with more time, and at last without a limit."""
    rng = np.random.default_rng(1)
    test = np.column_stack([rng.integers(0, 30, 200), np.zeros(200, int), rng.integers(0, 30, 200)])
    dataset = kg.Dataset.from_arrays(test=test, n_entities=30, n_relations=1)
    table = rng.integers(0, 5, (30, 1, 30))
    clock = Clock(monkeypatch)
    scorer, sizes = clock.scorer(table, 0.005), []
    for seconds in (3, 3, 3, None):
        found = kg.evaluate(scorer, dataset, run_folder=tmp_path / "run", max_seconds=seconds, progress=False)
        sizes.append(200 if found.protocol.sample is None else found.protocol.sample.n)
    assert sizes == sorted(sizes)
    assert 0 < sizes[0] < sizes[1] < 200 == sizes[3]
    assert found == kg.evaluate(scorer, dataset, progress=False)


def test_no_time_at_all_is_an_error(monkeypatch):
    """Not a single query of 1,000 candidates fits; the message says so."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [2, 0, 3]], n_entities=1000, n_relations=1)
    clock = Clock(monkeypatch)
    with pytest.raises(kg.ScoreError, match=r"max_seconds=20: no triple was ranked on every side .* 1,000 candidates"):
        kg.evaluate(clock.scorer(np.zeros((1000, 1, 1000)), 0.1), dataset, max_seconds=20, progress=False)


@pytest.mark.parametrize("kept", [False, True])
def test_the_check_of_a_scorer_ends_in_time(monkeypatch, tmp_path, kept):
    """A server answers after 5 s, and its check needs at least 12 calls; the probes of a run folder need more."""
    now, latency = [100.0], 5.0
    monkeypatch.setattr(paces, "clock", lambda: now[0])
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    if kept:
        monkeypatch.setattr(evaluator, "probe", lambda *_: ScorerReport("function", "float64", ()))

    def score(s, p, o):
        now[0] += latency
        return s - o * 1.0

    options = {"run_folder": tmp_path / "run"} if kept else {}
    with pytest.raises(kg.ScoreError, match=r"max_seconds=17: no triple was ranked in this time, since checking score"):
        kg.evaluate(score, chain(100), max_seconds=17, progress=False, **options)
    assert now[0] <= 122.0  # at most one call is too long: of how many pairs does not matter, which nothing showed yet
    if kept:
        assert [path.name for path in (tmp_path / "run").iterdir()] == ["lock"]
        latency = 0.0
        without = kg.evaluate(score, chain(100), progress=False)
        assert kg.evaluate(score, chain(100), progress=False, **options) == without


def test_triples_that_are_dropped_are_no_sample(monkeypatch):
    """The first triples of the order are unseen and dropped, and there is no time for the others."""
    first = RandomSample.order(9, 0)[:3]
    test = np.array([[0, 0, 1]] * 9)
    test[first] = [0, 0, 2]
    dataset = kg.Dataset.from_arrays(train=[[0, 0, 1]], test=test, n_entities=1000, n_relations=1)
    clock = Clock(monkeypatch)
    with pytest.raises(kg.ScoreError, match=r"no triple was ranked on every side .* after 0\.0 s of preparation\)"):
        kg.evaluate(
            clock.scorer(np.zeros((1000, 1, 1000)), 15),
            dataset,
            kg.Protocol(unseen="drop"),
            max_seconds=np.int64(20),
            progress=False,
        )


LISTS = kg.Protocol(sides="object", candidates=Listed(objects=[[i % 7, 8] for i in range(300)], duplicates="drop"))


def with_lists():
    """300 test triples of different queries; each has a list of at most two negatives."""
    return kg.Dataset.from_arrays(test=[[i, 0, 9] for i in range(300)], n_entities=300, n_relations=1)


@pytest.mark.parametrize("kind", ["matrix", "columns", "geometry"])
@pytest.mark.light(2)
def test_lists_of_slow_scorers_are_ranked_in_small_batches(monkeypatch, kind):
    """A query takes 0.4 s: batches take few seconds, the run ends in time, and most of what was scored counts."""
    clock, dataset, seconds = Clock(monkeypatch), with_lists(), []
    scorer = make(kind, np.random.default_rng(0).integers(0, 5, (300, 1, 300)) * 1.0)
    for name in ("score_objects", "query_vectors"):
        method = getattr(scorer, name, None)
        if method is not None:

            def slow(first, *others, method=method, **options):
                clock.now += 0.4 * len(others[0])
                return method(first, *others, **options)

            if kind == "columns":  # the adapter looks for the parameter
                slow = partial_with_candidates(slow)
            monkeypatch.setattr(scorer, name, slow)
    count = listed.ListBatch.count

    def timed(batch):
        start = clock.now
        try:
            return count(batch)
        finally:
            seconds.append(clock.now - start)

    monkeypatch.setattr(listed.ListBatch, "count", timed)
    start = clock.now
    found = kg.evaluate(scorer, dataset, LISTS, max_seconds=60, progress=False)
    assert clock.now - start < 62
    assert max(seconds[2:]) < 5  # the speed of an embedding model is known after two batches
    assert 100 < found.protocol.sample.n < 150


def partial_with_candidates(function):
    return lambda s, p, candidates: function(s, p, candidates=candidates)


def test_the_row_order_check_has_the_threads_of_the_run(monkeypatch):
    """A user who gives one thread gets one thread."""
    executors, real = [], row_order.rank
    monkeypatch.setattr(row_order, "rank", lambda job, executor: (executors.append(executor), real(job, executor))[1])
    dataset = kg.Dataset.from_arrays(train=[[0, 0, 1]], test=[[0, 0, 2]], n_entities=3, n_relations=1)
    kg.evaluate(make("geometry", np.zeros((3, 1, 3))), dataset, executor=kg.executors.Threads(1), progress=False)
    kg.evaluate(make("geometry", np.zeros((3, 1, 3))), dataset, progress=False)
    assert executors == [kg.executors.Threads(1), kg.executors.Threads(None)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 2}, "has no argument 'threads'; did you mean executor=kgeval.executors.Threads(4)?"),
        ({"checkpoint": "run"}, "has no argument 'checkpoint'; did you mean run_folder=?"),
        ({"resume": True}, "did you mean run_folder= alone (it goes on where the same run stopped)?"),
        ({"block_size": 9}, "did you mean batch_size= (pairs of a query and a candidate scored at once)?"),
        ({"max_pairs": 9}, "did you mean batch_size= (pairs of a query and a candidate scored at once)?"),
        ({"triples": 9}, "did you mean protocol=kgeval.Protocol(sample=...)?"),
        ({"seed": 9}, "did you mean protocol=kgeval.Protocol(sample=1000, sample_seed=0), or for the seed of a tr"),
        ({"max_seconds": 0}, "above 0; got 0"),
        ({"max_seconds": float("inf")}, "above 0; got inf"),
        ({"max_seconds": True}, "above 0; got True"),
        ({"executor": 4}, "kgeval.executors.Threads(4)"),
        ({"executor": kg.executors.Threads}, "kgeval.executors.Threads(4)"),
        (
            {"max_seconds": 5, "protocol": kg.Protocol(sample=[0, 2])},
            "cannot be combined with a sample= that names rows",
        ),
    ],
)
def test_settings_that_contradict_each_other(options, message):
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [2, 0, 3], [1, 0, 1]], n_entities=4, n_relations=1)
    with pytest.raises(kg.ProtocolError) as caught:
        kg.evaluate(lambda s, p, o: s, dataset, **options)
    assert message in str(caught.value)


def test_no_task_runs_ahead_of_the_order():
    """100 tasks of 10 queries each: shards of at most 20 queries never reach 20 places beyond the next open one."""
    order = np.random.default_rng(0).permutation(1000)
    urgency = [np.sort(part) for part in order.reshape(100, 10)]
    work, left = Work([Part(10)] * 100, urgency), set(range(1000))
    while (shard := work.take(20)) is not None:
        taken = urgency[shard.task][shard.start : shard.stop]
        assert taken.max() < min(left) + 20
        left -= set(taken.tolist())
    assert not left


class Part:
    """A task as the work sees it: its number of queries."""

    def __init__(self, n_queries):
        self.n_queries = n_queries


def test_every_query_is_in_one_shard():
    """Shards of random sizes: each query of each task once, the most urgent first."""
    for seed in range(size(25, 1000)):
        rng = random.Random(seed)
        sizes = [rng.randint(0, 9) for _ in range(rng.randint(1, 4))]
        places = iter(rng.sample(range(100), sum(sizes)))
        urgency = [np.sort([next(places) for _ in range(n)]) for n in sizes] if rng.random() < 0.5 else None
        work, seen, firsts = Work([Part(n) for n in sizes], urgency), [], []
        while (shard := work.take(rng.randint(1, 4))) is not None:
            seen += [(shard.task, i) for i in range(shard.start, shard.stop)]
            firsts.append(shard)
        assert sorted(seen) == [(t, i) for t, n in enumerate(sizes) for i in range(n)]
        if urgency is not None and len(firsts) > 1:
            starts = [urgency[shard.task][shard.start] for shard in firsts]
            assert starts[0] == min(int(part[0]) for part in urgency if len(part))
    assert Work([Part(3)]).take(2) == Shard(0, 0, 2)


def test_tasks_keep_their_queries_together():
    """Reordered and restricted tasks hold the same positives, candidates and known answers, query by query."""
    for seed in range(size(10, 300)):
        rng, dataset, table, protocol = draw(seed)
        evaluator = kg.Evaluator(dataset, kg.Protocol(candidates=protocol.candidates))
        plan = evaluator._plan(evaluator._protocol_for(table), NO_COLUMNS)
        tasks = plan.tasks
        places = np.random.default_rng(seed).permutation(len(dataset["test"]))
        ordered, urgency = in_order(tasks, places)
        for task, other, numbers in zip(tasks, ordered, urgency):
            assert sorted(task.rows) == sorted(other.rows)
            parts = [other.rows[a:b] for a, b in itertools.pairwise(other.offsets)]
            assert [min(places[part]) for part in parts] == numbers.tolist() == sorted(numbers)
        done = {}
        assert [len(task.rows) for task in without_finished(tasks, done)] == [len(task.rows) for task in tasks]


def test_the_order_of_samples_is_a_permutation():
    """The samples of one seed are the first rows of one order."""
    order = RandomSample.order(50, 3)
    assert sorted(order) == list(range(50))
    for n in (1, 7, 49):
        assert RandomSample.drawn(n, 50, 3)[0].tolist() == sorted(order[:n])


class Late:
    """Four workers that take 100 seconds to start and 100 seconds to end."""

    n_processes = 4

    def __init__(self, clock):
        self.clock = clock

    def run(self, job):
        self.clock.now += 100
        job.meter.begin()
        yield from kg.executors.Threads(1).run(job)
        self.clock.now += 100


def test_the_result_does_not_depend_on_where_it_was_ranked(monkeypatch, tmp_path):
    """The row order check takes as many triples of train as after a run in this process."""
    rng, clock = np.random.default_rng(0), Clock(monkeypatch)
    splits = {
        name: np.column_stack([rng.integers(0, 30, 200), np.zeros(200, int), np.arange(200) % 30])
        for name in ("train", "test")
    }
    dataset = kg.Dataset.from_arrays(**splits, n_entities=30, n_relations=1)
    scorer = clock.scorer(rng.integers(0, 5, (30, 1, 30)), 1e-5)
    wanted = kg.evaluate(scorer, dataset, progress=False)
    assert wanted.facts["row_order"]["triples"] == 200
    folder = tmp_path / "run"
    assert kg.evaluate(scorer, dataset, executor=Late(clock), run_folder=folder, progress=False) == wanted
    assert kg.evaluate(scorer, dataset, executor=Late(clock), run_folder=folder, progress=False) == wanted


def test_a_time_that_cannot_suffice_is_refused_at_once():
    """A query of 1,000 candidates takes 2 s; after half a second the message says what one triple needs."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [2, 0, 3]], n_entities=1000, n_relations=1)
    table, calls = np.zeros((1000, 1, 1000)), []

    def score(s, p, o):
        calls.append(len(s))
        time.sleep(2e-3 * len(s))
        return table[s, p, o]

    with pytest.raises(kg.ScoreError, match=r"no triple can be ranked in this time. One triple takes about [34] s "):
        kg.evaluate(score, dataset, max_seconds=1.5, progress=False)
    assert sum(calls) < 750


def test_another_seed_is_not_resumed(tmp_path):
    """The order of a partial run belongs to its run folder: with another seed the sample would shrink."""
    options = {"run_folder": tmp_path / "run", "max_seconds": 100, "progress": False}
    kg.evaluate(lambda s, p, o: o, chain(10), kg.Protocol(sides="object", sample_seed=1), **options)
    with pytest.raises(kg.DataError, match=r"sample_seed: 0 here, 1 in the run folder"):
        kg.evaluate(lambda s, p, o: o, chain(10), OBJECTS, **options)
