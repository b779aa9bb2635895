"""What runs in worker processes, tried in this process."""

import functools
import importlib.util
import math
import pickle
import signal
import sys
import threading
from dataclasses import replace
from operator import attrgetter
from types import SimpleNamespace

import executor_cases as cases
import grids
import numpy as np
import pytest

import kgeval as kg
from kgeval.errors import OutOfMemory
from kgeval.ranking.executors import blocks, dispatch, workers
from kgeval.ranking.executors.workers import Handshake, Shipment, Trouble, Worker, WorkerProcess
from kgeval.ranking.jobs import rank
from kgeval.ranking.shards import Failed, Finished, Shard
from kgeval.scorers.row_scorers import Limits, as_row_scorer


class Inside:
    """An executor whose one worker is in this process; each shard has `size` queries."""

    n_processes = 1

    def __init__(self, size, n_threads=1, is_pickled=False):
        self.size, self.n_threads, self.is_pickled, self.n_shards = size, n_threads, is_pickled, 0

    def run(self, job):
        shipment = Shipment.of(job, self.n_threads)
        worker = Worker(pickle.loads(pickle.dumps(shipment)) if self.is_pickled else shipment)
        while (shard := job.work.take(self.size)) is not None:
            self.n_shards += 1
            yield from worker.count(shard).outcomes


@pytest.fixture(autouse=True)
def _keep_interrupts(monkeypatch):
    """A worker ignores Ctrl-C; this process must not."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)


def job_of(scorer, dataset, **options):
    """The job of an evaluation, which is not run."""
    found = []

    class Stop(Exception):
        pass

    def run(job):
        found.append(job)
        raise Stop

    with pytest.raises(Stop):
        kg.evaluate(scorer, dataset, progress=False, executor=SimpleNamespace(run=run, n_processes=1), **options)
    return found[0]


def some_cases(seed):
    """The names and cases of `cases`; the light suite leaves out three of four geometries."""
    return list(cases.cases(seed).items())[: grids.size(9, 12)]


def test_counts_are_those_of_threads():
    for seed in range(grids.size(1, 3)):
        dataset, size = cases.random_dataset(seed), (31, 10, 7, 100)[seed]
        for name, (scorer, protocol) in some_cases(seed):
            job = job_of(scorer, dataset, protocol=protocol)
            expected = rank(replace(job), kg.executors.Threads(2))
            has_function = name.startswith(("function", "lambda"))  # which pickle cannot send
            executor = Inside(size, 1 + seed % 2, is_pickled=not has_function)
            found = rank(replace(job), executor)
            assert executor.n_shards > 1
            for got, wanted in zip(found, expected, strict=True):
                for part in (
                    "rows",
                    "raw.better",
                    "raw.tied",
                    "raw.rivals",
                    "known.better",
                    "known.tied",
                    "known.rivals",
                ):
                    assert attrgetter(part)(got).tolist() == attrgetter(part)(wanted).tolist(), (name, part)
                assert got.scores.tolist() == wanted.scores.tolist()


def counts_of(parts):
    """All counts and scores of some `TaskCounts`, ordered by positives."""
    names = ("raw.better", "raw.tied", "raw.rivals", "known.better", "known.tied", "known.rivals", "scores")
    return [
        {name: attrgetter(name)(part)[np.argsort(part.rows)].tolist() for name in names} | {"rows": sorted(part.rows)}
        for part in parts
    ]


class InBlocks(Inside):
    """The same with blocks of candidates."""

    def __init__(self, size, n_blocks):
        super().__init__(size)
        self.n_blocks = n_blocks

    def run(self, job):
        yield from blocks.in_blocks(job, self.n_blocks, super().run)


def test_blocks_of_candidates_lead_to_the_same_counts():
    n_tied = 0
    for seed in range(grids.size(1, 3)):
        rng = np.random.default_rng(seed)
        dataset = cases.random_dataset(seed, n_triples=int(rng.integers(4, 12)))
        for name, (scorer, protocol) in some_cases(seed):
            if name == "matrix" or name.endswith("lists"):
                continue
            job = job_of(scorer, dataset, protocol=protocol and kg.Protocol(candidates=cases.PerRelation(dataset)))
            expected = rank(replace(job), kg.executors.Threads(1))
            n_blocks = 70 if name == "function" and seed == 1 else (2, 3, 5)[seed % 3]  # 70: some blocks are empty
            found = rank(replace(job), InBlocks(int(rng.integers(1, 9)), n_blocks))
            assert counts_of(found) == counts_of(expected), (seed, name)
            n_tied += sum(int(part.raw.tied.sum()) for part in expected)
    assert n_tied > 50


def test_blocks_are_refused_where_candidates_cannot_be_divided():
    dataset = cases.random_dataset(0)
    matrix, listed = cases.cases(0)["matrix"][0], cases.cases(0)["function, lists"]
    for job, text in (
        (job_of(matrix, dataset), "Matrix, whose score_subjects always scores all entities"),
        (job_of(listed[0], dataset, protocol=listed[1]), "lists of negatives"),
        (
            job_of(listed[0], dataset, max_seconds=100),
            "max_seconds, since a query is finished only with its last block",
        ),
    ):
        with pytest.raises(kg.ProtocolError, match=f"candidate_blocks cannot be used with {text}"):
            rank(job, InBlocks(5, 2))


def test_scores_that_depend_on_the_block_are_refused():
    job = job_of(lambda s, p, o: s + 10.0 * o, cases.random_dataset(0))
    calls = []

    def wavering(s, p, o):
        calls.append(1)
        return s + 10.0 * o + 1e-9 * len(calls)

    job.rows, job.scorer = as_row_scorer(wavering, 60), wavering
    with pytest.raises(kg.ScoreError, match="depends on the other triples of the call.*leave candidate_blocks out"):
        rank(job, InBlocks(5, 3))


def test_a_range_with_a_failed_block_fails_once():
    job = job_of(lambda s, p, o: s + 10.0 * o, cases.random_dataset(0, n_triples=40))
    given = int(job.tasks[1].queries.given[3])

    def fails(s, p, o):
        if (o > 50).any() and (s == given).any():
            raise ValueError("block")
        return s + 10.0 * o

    job.scorer = fails
    outcomes = list(InBlocks(5, 6).run(job))
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    assert len({outcome.shard for outcome in outcomes}) == len(outcomes)
    rows = np.concatenate([o.counts.rows for o in outcomes if isinstance(o, Finished) and o.shard.task == 1])
    lost = sum(
        int(job.tasks[1].offsets[o.shard.stop] - job.tasks[1].offsets[o.shard.start])
        for o in failed
        if o.shard.task == 1
    )
    assert failed
    assert len(np.unique(rows)) == len(rows) == len(job.tasks[1].rows) - lost


class Odd(Exception):
    """Cannot be unpickled: it needs two arguments."""

    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


class OddData(kg.DataError):
    """An error of kgeval that another process need not know."""

    def __init__(self, a, b):
        super().__init__(f"{a} or {b}")


def test_errors_survive_the_journey():
    for error, kind, text in (
        (kg.ScoreError("NaN"), kg.ScoreError, "NaN"),
        (kg.DataError("no file"), kg.DataError, "no file"),
        (OutOfMemory("full"), OutOfMemory, "full"),
        (OddData(1, 2), kg.ScoreError, "1 or 2"),
        (Odd(1, 2), kg.ScoreError, "Odd: 1 and 2"),
        (KeyError("x"), kg.ScoreError, "KeyError: 'x'"),
    ):
        portable = pickle.loads(pickle.dumps(workers.portable(error)))
        assert type(portable) is kind
        assert str(portable) == text


def test_one_failing_batch_leaves_the_others_of_its_shard():
    dataset = cases.random_dataset(0)

    def fails_for_seven(s, p, o):
        if fails_for_seven.on and (s == 7).any() and len(np.unique(s)) == 1:
            raise ValueError("seven")
        return np.asarray(s * 0.1 + o)

    fails_for_seven.on = False
    job = job_of(fails_for_seven, dataset, batch_size=1)
    fails_for_seven.on = True
    side = [task.side for task in job.tasks].index("object")
    (place,) = np.flatnonzero(job.tasks[side].queries.given == 7)[:1]
    report = Worker(Shipment.of(job)).count(Shard(side, 0, job.tasks[side].n_queries))
    failed = [outcome for outcome in report.outcomes if isinstance(outcome, Failed)]
    assert [outcome.shard.start for outcome in failed] == np.flatnonzero(job.tasks[side].queries.given == 7).tolist()
    assert "raised ValueError when given" in str(failed[0].error)
    assert 'raise ValueError("seven")' in failed[0].traceback
    assert report.outcomes[0].shard == Shard(side, 0, int(place))  # the batches before it, joined
    counted = sum(len(outcome.counts.rows) for outcome in report.outcomes if isinstance(outcome, Finished))
    lost = sum(int(job.tasks[side].offsets[o.shard.stop] - job.tasks[side].offsets[o.shard.start]) for o in failed)
    assert counted + lost == len(job.tasks[side].rows)


def test_what_a_process_cannot_do_is_returned_as_trouble():
    dataset = cases.random_dataset(0)
    job = job_of(lambda s, p, o: s + o, dataset)
    process = WorkerProcess()
    shipment = Shipment(None, dataset, job.tasks, Limits(), load=lambda dataset: 1 / 0)
    trouble = process.prepare(shipment)
    assert isinstance(trouble, Trouble)
    assert str(trouble.error) == "ZeroDivisionError: division by zero"
    assert "ZeroDivisionError" in trouble.traceback
    error = dispatch._startup_error(trouble)
    assert isinstance(error, kg.ScoreError)
    assert str(error) == "a worker could not be prepared: ZeroDivisionError: division by zero"
    assert "1 / 0" in str(error.__cause__)
    missing = Trouble(kg.ScoreError("ModuleNotFoundError: No module named 'mine'"), "")
    assert 'Ray(runtime_env={"working_dir": "."})' in str(dispatch._startup_error(missing))


def test_the_fingerprint_is_computed_anew():
    dataset = cases.random_dataset(0)
    right = dataset.fingerprint
    travelled = pickle.loads(pickle.dumps(dataset))
    travelled.__dict__["fingerprint"] = "0" * 64  # what pickling would bring along
    assert workers.fingerprint_of(travelled) == right
    job = job_of(lambda s, p, o: s + o, dataset)
    dataset.splits["test"].array.flags.writeable = True
    dataset.splits["test"].array[0] = 0
    found = WorkerProcess().prepare(Shipment.of(job))
    assert found != right
    with pytest.raises(kg.ScoreError, match="was the dataset changed after it was made"):
        dispatch._check_fingerprint(found, job)


def test_the_digest_sees_every_source_file(tmp_path):
    (tmp_path / "a.py").write_text("1", encoding="utf-8")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.py").write_text("2", encoding="utf-8")
    before = workers.source_digest(tmp_path)
    assert workers.source_digest(tmp_path) == before
    (tmp_path / "c.txt").write_text("no code", encoding="utf-8")
    assert workers.source_digest(tmp_path) == before
    (tmp_path / "sub" / "b.py").write_text("3", encoding="utf-8")
    changed = workers.source_digest(tmp_path)
    (tmp_path / "sub" / "b.py").rename(tmp_path / "sub" / "d.py")
    assert len({before, changed, workers.source_digest(tmp_path)}) == 3
    assert Handshake.here() == Handshake.here()


def test_the_time_that_is_left_ends_a_shard_with_its_first_queries(monkeypatch):
    dataset = cases.random_dataset(0)
    clock = SimpleNamespace(now=0.0)

    def slow(s, p, o):
        clock.now += 0.001 * len(s)
        return s * 0.1 + o

    from kgeval.ranking.executors import outcomes
    from kgeval.scorers import call_size

    job = job_of(slow, dataset, batch_size=1)
    for module in (workers, outcomes):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(call_size, "clock", lambda: clock.now)
    started = clock.now
    report = Worker(Shipment.of(job)).count(Shard(0, 0, job.tasks[0].n_queries), seconds_left=1.0)
    (finished,) = report.outcomes
    assert finished.shard.start == 0
    assert 12 <= finished.shard.stop <= 16  # a query takes 0.06 s
    assert clock.now - started <= 1.06
    assert finished.counts.rows.tolist() == job.tasks[0].rows[: job.tasks[0].offsets[finished.shard.stop]].tolist()
    none = Worker(Shipment.of(job)).count(Shard(0, 0, 5), seconds_left=0.0)
    assert none.outcomes == []


def test_a_worker_ignores_ctrl_c():
    WorkerProcess()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    thread = threading.Thread(target=workers.ignore_interrupts)  # of a thread that may not set it
    thread.start()
    thread.join()


def outcome_with(job, scores):
    task = job.tasks[0]
    counts = SimpleNamespace(scores=scores)
    return [Finished(Shard(0, 0, task.n_queries), counts)]


def test_a_scorer_that_changed_on_its_way_is_refused():
    dataset = cases.random_dataset(0)
    job = job_of(lambda s, p, o: s * 0.1 + o + 0.01 * p, dataset)
    s, p, o = workers.triples_of(job.tasks[0], 0, job.tasks[0].n_queries).T
    right = s * 0.1 + o + 0.01 * p
    dispatch._check_scores(job, outcome_with(job, right), is_first=True)
    dispatch._check_scores(job, outcome_with(job, right * (1 + 1e-6)), is_first=True)  # rounding
    wrong = right.copy()
    wrong[3] += 1
    text = (
        rf"gave the triple with the ids \({s[3]}, {p[3]}, {o[3]}\) the score {right[3]:.9g} in this process and "
        rf"{wrong[3]:.9g} in a worker"
    )
    with pytest.raises(kg.ScoreError, match=text):
        dispatch._check_scores(job, outcome_with(job, wrong), is_first=True)
    infinite = np.where(np.arange(len(right)) == 2, np.inf, right)
    with pytest.raises(kg.ScoreError, match="inf in a worker"):
        dispatch._check_scores(job, outcome_with(job, infinite), is_first=False)
    with pytest.raises(kg.ScoreError, match="nan in a worker"):
        dispatch._check_scores(job, outcome_with(job, np.full(len(right), np.nan)), is_first=False)
    dispatch._check_scores(job, [], is_first=True)


def test_a_slow_matrix_is_compared_with_the_first_worker_only():
    dataset = cases.random_dataset(0)
    scorer, _ = cases.cases(0)["matrix"]
    job = job_of(scorer, dataset)
    slow = SimpleNamespace(pairs_within=lambda seconds, method=None: 0)
    job.rows = as_row_scorer(scorer, len(dataset.entities))
    object.__setattr__(job.rows, "pace", slow)
    wrong = outcome_with(job, np.full(len(job.tasks[0].rows), 1e6))
    dispatch._check_scores(job, wrong, is_first=False)


def test_load_makes_the_scorer_of_the_user():
    dataset = cases.random_dataset(0)
    model = cases.cases(0)["geometry dot"][0]
    job = job_of(model, dataset)
    other = kg.models.DistMult(
        np.where(np.arange(60)[:, None] == 59, 9.0, model.entities).astype(np.float32), model.relations
    )
    shipment = Shipment.of(job, load=lambda dataset: model)
    assert shipment.scorer is None
    assert WorkerProcess().prepare(shipment) == dataset.fingerprint
    trouble = WorkerProcess().prepare(Shipment.of(job, load=lambda dataset: other))
    assert "load= returns a scorer that differs from the evaluated scorer: " in str(trouble.error)
    counts = rank(job, Inside(10))
    assert [len(part.rows) for part in counts] == [len(task.rows) for task in job.tasks]


def test_modules_from_files_travel_by_value(tmp_path):
    cloudpickle = pytest.importorskip("cloudpickle", reason="needs kgeval[processes]")
    path = tmp_path / "lonely_scorer.py"
    path.write_text("FACTOR = 3\ndef score(s, p, o):\n    return FACTOR * o\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("lonely_scorer", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["lonely_scorer"] = module
    try:
        spec.loader.exec_module(module)
        for value in (module.score, functools.partial(module.score)):
            with workers.by_value(cloudpickle, value):
                blob = cloudpickle.dumps(value)
            by_name = cloudpickle.dumps(value)
            assert b"FACTOR" in blob
            assert b"FACTOR" not in by_name
            with workers.by_value(cloudpickle, math.sqrt, kg.evaluate, len, np.sin):
                assert not cloudpickle.list_registry_pickle_by_value()
    finally:
        del sys.modules["lonely_scorer"]
    assert pickle.loads(blob)(0, 0, 5) == 15


def test_wrong_settings():
    for make, text in (
        (lambda: kg.executors.Processes(0), "workers must be an integer of at least 1; got 0"),
        (lambda: kg.executors.Processes(2, retries=-1), "retries must be an integer of at least 1; got -1"),
        (lambda: kg.executors.Ray(num_cpus=0), "num_cpus must be an integer of at least 1; got 0"),
        (lambda: kg.executors.Ray(workers=1.5), "workers must be an integer of at least 1; got 1.5"),
        (lambda: kg.executors.Ray(num_gpus=-1), "num_gpus must be a number of at least 0; got -1"),
        (
            lambda: kg.executors.Ray(load="m.pt"),
            "load must be a function that takes the dataset and returns the scorer; got 'm.pt'",
        ),
    ):
        with pytest.raises(kg.ProtocolError, match=text):
            make()
    assert kg.executors.Processes(3, retries=0).n_processes == 3
    assert kg.executors.Ray(workers=5).n_processes == 5


@pytest.mark.parametrize(("executor", "module", "extra"), [("Processes", "loky", "processes"), ("Ray", "ray", "ray")])
def test_a_missing_library_is_named(executor, module, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(kg.MissingExtra, match=rf'needs {module}; pip install "kgeval\[{extra}\]"'):
        kg.evaluate(
            lambda s, p, o: s + o, cases.random_dataset(0), progress=False, executor=getattr(kg.executors, executor)()
        )


def test_every_thread_of_a_worker_gets_a_batch():
    dataset = cases.random_dataset(0, n_triples=3000)
    job = job_of(cases.cases(0)["geometry dot"][0], dataset)
    worker = Worker(Shipment.of(job, 4))
    n = job.tasks[0].n_queries
    batches = list(worker._batches(Shard(0, 0, n), 4))
    assert n <= workers.MIN_BATCH * 4
    assert [(batch.start, batch.stop) for batch in batches] == [(i, min(i + 128, n)) for i in range(0, n, 128)]
    assert len(list(worker._batches(Shard(0, 0, n), 1))) == -(-n // worker._ranker.batch_size(0))
