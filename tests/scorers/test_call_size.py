"""The pace of scorers, with a simulated clock: how large calls get, when they stop, and what happens without memory."""

import pickle
import sys
from contextlib import nullcontext
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from grids import light, size
from scorer_cases import TABLE, Columns, M, N, Rows, dataset, make, raises, same_ranks
from tiles import evaluate_in_tiles

import kgeval as kg
from kgeval.scorers import call_size
from kgeval.scorers.call_size import OutOfTime, Pace
from kgeval.scorers.row_scorers import Limits, as_row_scorer, queries_within, row_batch, score_triples

MANY = 14_541  # entities of FB15k-237
KINDS = ("function", "rows", "columns")


class Clock:
    """A simulated clock, which only scorers move; it records the pairs and the seconds of each call."""

    def __init__(self):
        self.now, self.calls = 0.0, []

    def __call__(self):
        return self.now

    def spend(self, n_pairs, seconds):
        self.calls.append((n_pairs, seconds))
        self.now += seconds

    @property
    def sizes(self):
        return [n for n, _ in self.calls]

    @property
    def longest(self):
        return max(seconds for _, seconds in self.calls)


@pytest.fixture
def clock(monkeypatch):
    """The clock of `kgeval.scorers.call_size`."""
    simulated = Clock()
    monkeypatch.setattr(call_size, "clock", simulated)
    return simulated


def timed_scorer(kind, clock, seconds, n=MANY):
    """A row scorer of n entities whose scores are 0; a call of k pairs takes ``seconds(k, number of calls before)``."""

    def zeros(*shape):
        clock.spend(int(np.prod(shape)), seconds(int(np.prod(shape)), len(clock.calls)))
        return np.zeros(shape)

    class Whole:
        def score_objects(self, s, p):
            return zeros(len(s), n)

    class ModelFile:
        def score_objects(self, s, p, candidates):
            return zeros(len(s), len(candidates))

    scorers = {"function": lambda s, p, o: zeros(len(s)), "rows": Whole(), "columns": ModelFile()}
    return as_row_scorer(scorers[kind], n)


def score(rows, n_queries, n_candidates=MANY):
    """Score so many equal queries."""
    return rows.rows("object", tuple(np.zeros((2, n_queries), np.int64)), np.arange(n_candidates))


def test_a_fast_function_reaches_the_batch_size_in_a_few_calls(clock):
    """64 pairs, then four times as many in each call; from one row on, whole rows of 14,541: nine are 130,869."""
    score(timed_scorer("function", clock, lambda n, i: 1e-6 * n), 40)
    assert clock.sizes[:9] == [64, 256, 1024, 4096, 9101, 2 * MANY, 4 * MANY, 9 * MANY, 9 * MANY]
    assert clock.sizes[9:] == [9 * MANY, 6 * MANY]
    assert sum(clock.sizes) == 40 * MANY


@pytest.mark.parametrize(("per_pair", "first", "later"), [(1e-3, 0.1, 0.26), (1e-2, 1, 0.26), (0.1, 10, 0.26)])
def test_calls_of_a_slow_function_are_short(clock, per_pair, first, later):
    """Seconds of the first call and of each later one; one call of 131,072 pairs would take two minutes, or hours."""
    score(timed_scorer("function", clock, lambda n, i: per_pair * n), 2, 3000)
    assert clock.calls[0][1] < first
    assert max(seconds for _, seconds in clock.calls[1:]) < later
    assert sum(clock.sizes) == 6000


def test_calls_shrink_when_the_scorer_slows_down(clock):
    """After one long call, calls take a quarter of a second again."""
    score(timed_scorer("function", clock, lambda n, i: (1e-6 if i < 9 else 1e-3) * n), 40)
    assert clock.calls[9] == (9 * MANY, pytest.approx(130.869))
    assert max(seconds for _, seconds in clock.calls[10:]) < 0.26


def test_calls_grow_again_after_one_slow_call(clock):
    """The first call compiles for 3 s, another waits for 5 s; neither makes later calls small for long."""
    rows = timed_scorer("function", clock, lambda n, i: {0: 3.0, 12: 5.0}.get(i, 0.0) + 1e-6 * n)
    score(rows, 72)
    assert clock.sizes[:6] == [64, 4, 16, 64, 256, 1024]
    assert len(clock.calls) < 24
    assert clock.now < 8.0 + 1e-6 * 72 * MANY + 0.1


@pytest.mark.parametrize("latency", [0.2, 1.0, 5.0])
def test_a_fixed_cost_makes_calls_longer(clock, latency):
    """A server that takes a second to answer does not get one pair a call: the fixed cost is a quarter at most."""
    score(timed_scorer("function", clock, lambda n, i: latency + 1e-3 * n), 20)
    assert clock.longest <= 4 * latency + 1e-6
    assert clock.now < 2 * 20 * MANY * 1e-3  # calls of 250 pairs would make five times of it, at 1 s of latency


def test_an_encoder_that_runs_in_each_call(clock):
    """2 s a call for a graph encoder and a millisecond a query: 1, 2, 8, 32, ... queries, not 500 times one."""
    rows = timed_scorer("rows", clock, lambda n, i: 2 + 1e-3 * n / MANY)
    score(rows, size(171, 500))
    assert [n // MANY for n in clock.sizes] == [1, 2, 8, 32, 128, 329][: size(5, 6)]
    assert row_batch(rows, Limits(), MANY) == 576  # by memory: 64 MiB


def test_few_distinct_sizes(clock):
    """A scorer that compiles for each new size has few sizes to compile for."""
    sizes = set()

    def seconds(n, i):
        is_new = n not in sizes
        sizes.add(n)
        return is_new + 1e-6 * n

    score(timed_scorer("function", clock, seconds), 200)
    assert len(sizes) < 16


@pytest.mark.parametrize(("kind", "shape"), [("rows", "[(1, 2500)"), ("columns", "[(1, 2500)")])
def test_the_first_call_of_an_object_has_one_query(clock, kind, shape):
    """Then 4 queries, 16, ...; each side by itself."""
    rows = timed_scorer(kind, clock, lambda n, i: 1e-9 * n, 2500)
    score(rows, 21, 2500)
    assert clock.sizes == [2500, 4 * 2500, 16 * 2500]
    rows.scorer.score_subjects = rows.scorer.score_objects
    rows.rows("subject", tuple(np.zeros((2, 5), np.int64)), np.arange(2500))
    assert clock.sizes[3:] == [2500, 4 * 2500]


def test_a_long_query_is_cut_into_blocks_of_candidates(clock):
    """At 1 ms a pair, 14,541 candidates take 14.5 s once; an object that takes candidates then gets 128 or 256."""
    score(timed_scorer("columns", clock, lambda n, i: 1e-3 * n), 2)
    assert clock.sizes[0] == MANY
    assert set(clock.sizes[1:-1]) <= {128, 256}
    assert clock.longest == pytest.approx(14.541)
    clock.calls.clear()
    score(timed_scorer("rows", clock, lambda n, i: 1e-3 * n), 4)  # it always scores all entities
    assert [n // MANY for n in clock.sizes] == [1, 2, 1]


def test_pairs_within(clock):
    """None before the first call; then the speed of calls of a good size, also in queries and batches."""
    rows = timed_scorer("function", clock, lambda n, i: 1e-3 * n)
    assert rows.pace.pairs_within(1.0) is None
    assert queries_within(rows, 1e9, MANY) is None
    assert row_batch(rows, Limits(), MANY) == 72  # by memory alone: 8 MiB
    score(rows, 1, 500)
    assert rows.pace.pairs_within(10.0) == pytest.approx(10_000, rel=1e-6)
    assert queries_within(rows, 30.0, MANY) == 2
    assert row_batch(rows, Limits(), MANY) == 1
    assert row_batch(rows, Limits(), 100) == 10  # a second
    assert row_batch(rows, Limits(batch_size=50 * MANY + 1), MANY) == 50
    assert row_batch(rows, Limits(batch_size=50), MANY) == 1
    whole = timed_scorer("rows", clock, lambda n, i: 1e-3 * n, 50)
    score(whole, 8, 5)  # of 50 entities, whatever is wanted of them
    assert queries_within(whole, 1.0, 5) == 20
    assert row_batch(whole, Limits(), 5) == 20
    assert queries_within(as_row_scorer(kg.models.TransE(np.ones((2, 2)), np.ones((1, 2))), 2), 1.0, 2) is None


def test_batches_before_a_deadline_grow(clock):
    """Scores of a cache, before the ranking, make no first batch of many queries, which would be lost."""
    rows = timed_scorer("function", clock, lambda n, i: (1e-7 if i < 20 else 1e-3) * n)
    score(rows, 20, 1000)
    with rows.pace.watch(deadline=clock.now + 1000.0):
        assert row_batch(rows, Limits(), 1000) == 1
        score(rows, 1, 1000)
        assert row_batch(rows, Limits(), 1000) == 4
    assert row_batch(rows, Limits(), 1000) > 900


def test_free_memory_limits_a_batch(monkeypatch):
    """An eighth of what is free, and at least one query; where nothing is known, 64 MiB for whole rows."""
    rows = as_row_scorer(Rows(), N)
    for free, n_queries in ((None, 838), (80 << 20, 131), (1000, 1), (0, 1)):
        monkeypatch.setattr("kgeval.scorers.row_scorers.free_bytes", lambda free=free: free)
        assert row_batch(rows, Limits(), 10_000) == n_queries


@pytest.mark.parametrize("per_pair", [1e-6, 1e-4, 1e-3, 3e-2])
@pytest.mark.parametrize("max_seconds", [0.01, 1, 7.7])
@pytest.mark.light(6)
def test_a_deadline_stops_calls(clock, per_pair, max_seconds):
    """No call ends after the deadline, beside the first, of unknown speed; each second before is used."""
    rows = timed_scorer("function", clock, lambda n, i: per_pair * n)
    with pytest.raises(OutOfTime), rows.pace.watch(deadline=max_seconds):
        score(rows, 10_000, 1000)
    first = 64 * per_pair
    assert clock.now <= max(max_seconds, first) + 1e-9
    assert clock.now >= max_seconds - per_pair - 1e-9


def test_a_deadline_for_whole_queries(clock):
    """A query that takes 3 s is not begun 2 s before the deadline; two queries become one before it."""
    rows = timed_scorer("rows", clock, lambda n, i: 3.0 * n / 100, 100)
    with pytest.raises(OutOfTime), rows.pace.watch(deadline=11.0):
        score(rows, 50, 100)
    assert clock.now == pytest.approx(9.0)
    with pytest.raises(OutOfTime), rows.pace.watch(deadline=9.0):
        score(rows, 1, 100)
    score(rows, 1, 100)  # the deadline ended with the ``with`` statement
    assert clock.now == pytest.approx(12.0)


def test_out_of_time_passes_through_the_adapters():
    """It is no error of the scorer, wherever it is raised."""

    def late(s, p, o):
        raise OutOfTime

    with pytest.raises(OutOfTime):
        as_row_scorer(late, N).rows("object", tuple(np.zeros((2, 1), np.int64)), np.arange(N))


@pytest.mark.parametrize("kind", KINDS)
def test_every_pair_is_told_once(kind, clock):
    """`on_scored` gets queries times candidates, also where a scorer scores more; nothing after the ``with``."""
    told = []
    rows = timed_scorer(kind, clock, lambda n, i: 1e-3 * n, 300)
    with rows.pace.watch(told.append):
        score(rows, 7, 200)
    assert sum(told) == 7 * 200
    assert len(told) == len(clock.calls) > 2
    score(rows, 1, 200)
    assert sum(told) == 7 * 200


def test_triples_are_scored_at_the_same_pace(clock):
    """`score_triples` has calls of a quarter of a second, tells them, and keeps the deadline."""
    rows, told = timed_scorer("function", clock, lambda n, i: 1e-3 * n), []
    with rows.pace.watch(told.append):
        assert len(score_triples(rows, np.zeros((2000, 3), np.int64))) == 2000
    assert sum(told) == 2000
    assert clock.sizes[:3] == [64, 128, 256] or clock.longest < 0.26
    with pytest.raises(OutOfTime), rows.pace.watch(deadline=clock.now + 1.0):
        score_triples(rows, np.zeros((2000, 3), np.int64))


class CudaOutOfMemory(RuntimeError):
    """Stands for torch.cuda.OutOfMemoryError."""


def wrapped():
    """An error of an adapter whose cause is a lack of memory."""
    error = kg.ScoreError("the model failed")
    error.__cause__ = MemoryError()
    return error


ERRORS = {
    "python": MemoryError,
    "numpy": lambda: np.empty(1 << 60, np.int8),
    "torch": lambda: CudaOutOfMemory("CUDA out of memory"),
    "cpu": lambda: RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
    "wrapped": wrapped,
}


def short_of_memory(kind, most, error, calls):
    """Scores from the table; a call of more than `most` pairs raises an error."""

    def limited(scores):
        calls.append(scores.size)
        if scores.size > most:
            raise error()
        return scores

    return make(kind, limited)


@pytest.mark.parametrize("name", ERRORS)
def test_without_memory_calls_are_halved(name, monkeypatch):
    """The same scores as with memory, none of them told twice; a call that failed is never made again."""
    cuda = SimpleNamespace(OutOfMemoryError=CudaOutOfMemory, is_available=lambda: False)
    nn = SimpleNamespace(Module=Clock)
    torch = SimpleNamespace(cuda=cuda, no_grad=nullcontext, nn=nn, Tensor=Clock)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(call_size, "gc", SimpleNamespace(collect=lambda: 0))  # it takes long in a process of many tests
    rng = np.random.default_rng(0)
    for kind, most in product(KINDS, (1, 6, 13) if name == "python" else (6,)):
        given, relation = rng.integers(0, N, 9), rng.integers(0, M, 9)
        candidates = np.flatnonzero(rng.random(N) < 0.8)
        if kind == "rows" and most < N:
            continue  # a single query does not fit; see the next test
        calls, told = [], []
        rows = as_row_scorer(short_of_memory(kind, most, ERRORS[name], calls), N)
        with rows.pace.watch(told.append), rows.pace.at_once():
            found = rows.rows("object", (relation, given), candidates)
        assert (found == TABLE[given, relation][:, candidates]).all(), (kind, most)
        assert sum(told) == 9 * len(candidates)
        failed = [n for n in calls if n > most]
        assert all(later <= earlier // 2 + (kind == "rows") * N for earlier, later in zip(failed, failed[1:]))
        assert calls.index(failed[-1]) == len(failed) - 1 if failed else True  # once it fits, it stays so


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("function", "<lambda> ran out of memory when given a single triple; use less memory on its device (a"),
        (
            "rows",
            "Rows.score_objects ran out of memory when given a single query, with all 6 entities; give it a parameter "
            "candidates, so that kgeval can score blocks of candidates (batch_size= sets their largest size)",
        ),
        ("columns", "Columns ran out of memory when given a single query with a single candidate; use less memory"),
    ],
)
def test_without_memory_for_the_smallest_call(kind, message, monkeypatch):
    """Halving ends with an error that says what would help; the scorer's own error is its cause."""
    monkeypatch.setattr(call_size, "gc", SimpleNamespace(collect=lambda: 0))
    scorer = short_of_memory(kind, 0, MemoryError, [])
    with raises(message) as caught:
        kg.evaluate(scorer, dataset(), kg.Protocol(sides="object"))
    assert "raised MemoryError when given 1 " in str(caught.value)
    with raises("ran out of memory when given a single"):
        score_triples(as_row_scorer(scorer, N), np.zeros((5, 3), np.int64))


def test_other_errors_are_not_tried_again():
    """A ValueError whose text speaks of memory comes at once."""
    calls = []
    rows = as_row_scorer(short_of_memory("function", 1, lambda: ValueError("CUDA out of memory"), calls), N)
    with raises("raised ValueError when given 30 triples"):
        score(rows, 5, N)
    assert calls == [30]


def test_triples_without_memory():
    """`score_triples` halves as well, and gives each triple its score once."""
    triples = np.array(list(product(range(N), range(M), range(N))))
    calls, told = [], []
    rows = as_row_scorer(short_of_memory("function", 10, MemoryError, calls), N)
    with rows.pace.watch(told.append):
        assert (score_triples(rows, triples) == TABLE.reshape(-1)).all()
    assert sum(told) == len(triples)
    assert calls[:4] == [64, 32, 16, 8]


def random_sizes(seed):
    """A `Pace.size` that returns any size a call may have."""
    rng = np.random.default_rng(seed)
    return lambda self, limit, first=64, unit=1, method="": int(rng.integers(unit, max(unit, min(limit, 200)) + 1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", light(range(30), 4))
@pytest.mark.light(3)
def test_ranks_do_not_depend_on_sizes(kind, seed, monkeypatch):
    """Random graphs, with calls of random sizes and answers in one buffer: the counts and scores of whole batches."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 25))
    table = rng.integers(0, 9, (n, M, n)) / 2.0
    test = np.unique(np.column_stack([rng.integers(0, n, 20), rng.integers(0, M, 20), rng.integers(0, n, 20)]), axis=0)
    buffer = np.empty(n * 4096)

    def into_buffer(scores):
        out = buffer[: scores.size].reshape(scores.shape)
        out[...] = scores
        return out

    data = dataset(n, test)
    with monkeypatch.context() as changed:
        changed.setattr(Pace, "size", lambda self, limit, first=64, unit=1, method="": max(unit, limit))
        expected = kg.evaluate(make(kind, table=table), data)
    limits = {"n_queries": int(rng.integers(1, 9))} | ({"n_candidates": int(rng.integers(1, 9))} if seed % 2 else {})
    with monkeypatch.context() as changed:
        changed.setattr(Pace, "size", random_sizes(seed))
        assert same_ranks(evaluate_in_tiles(make(kind, into_buffer, table), data, **limits), expected)


def test_one_call_is_not_copied():
    """A call that holds everything gives its own array."""
    answer = np.zeros((2, N))
    rows = as_row_scorer(Columns(lambda scores: answer), N)
    with rows.pace.at_once():
        assert rows.rows("object", tuple(np.zeros((2, 2), np.int64)), np.arange(N)) is answer


def test_a_gpu_is_waited_for(clock, monkeypatch):
    """A call that returns before its scores are computed is measured until the last score has come."""
    monkeypatch.setattr(call_size, "is_on_device", lambda scores: True)
    monkeypatch.setattr(call_size, "fetched", lambda scores: clock.spend(scores.size, 2.0))
    found = Pace()
    found.timed(lambda: np.zeros((2, 3)), 6)
    assert (clock.sizes, found.seconds(6)) == ([1], 2.0)
    found.timed(lambda: np.zeros((2, 3)), 6)
    assert (clock.sizes, found.seconds(6)) == ([1, 1], 2.0)


def test_short_calls_of_a_gpu_are_not_waited_for_one_by_one(clock, monkeypatch):
    """Calls of 64 pairs and 20 ms: after the first, the GPU is waited for once in three calls, or after a pause."""
    queued = []  # seconds that the GPU still computes
    monkeypatch.setattr(call_size, "is_on_device", lambda scores: True)
    monkeypatch.setattr(call_size, "fetched", lambda scores: (clock.spend(len(queued), sum(queued)), queued.clear()))
    found = Pace()
    for _ in range(7):
        found.timed(lambda: queued.append(0.02) or np.zeros(64), 64)
        assert found.seconds(64) == pytest.approx(0.02)
    assert clock.sizes == [1, 3, 3]
    found.timed(lambda: queued.append(0.02) or np.zeros(64), 64)
    clock.now += 1.0  # kgeval counts
    queued.clear()
    for _ in range(3):
        found.timed(lambda: queued.append(0.02) or np.zeros(64), 64)
    assert found.seconds(64) == pytest.approx(0.02)
    found.timed(lambda: queued.append(0.02) or np.zeros(64), 256)  # of another size: at once
    assert clock.sizes == [1, 3, 3, 3, 1]


def test_a_pickled_pace_is_not_watched(clock):
    """It keeps what was measured; a deadline of another machine's clock, and a function, stay here."""
    rows = timed_scorer("function", clock, lambda n, i: 1e-3 * n)
    with rows.pace.watch([].append, deadline=5.0):
        score(rows, 1, 500)
        copy = pickle.loads(pickle.dumps(rows.pace))
    clock.now = 100.0
    copy.scored(5)
    assert copy.size(1000) == rows.pace.size(1000) == 128
    assert as_row_scorer(len, N) == as_row_scorer(len, N)  # the pace is no part of a scorer
    assert "Pace" not in repr(rows)


def test_scorers_may_limit_calls(clock):
    """The scorers of texts with a cache say how many triples a call may have: stored scores tell nothing of others."""

    class Limited:
        max_pairs = 100

        def __call__(self, s, p, o):
            clock.spend(len(s), 0.0)
            return np.zeros(len(s))

    score(as_row_scorer(Limited(), 500), 2, 500)
    assert clock.sizes == [64, *[100] * 4, 36, *[100] * 5]
