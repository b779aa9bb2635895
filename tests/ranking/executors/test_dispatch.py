"""The dispatcher with pretended workers and a simulated clock: no process is started."""

import heapq
from types import SimpleNamespace

import grids
import numpy as np
import pytest

import kgeval as kg
from kgeval.ranking import jobs
from kgeval.ranking.counts import RankCounts, TaskCounts
from kgeval.ranking.executors import dispatch
from kgeval.ranking.executors.dispatch import Lost, ShardPlan, drive
from kgeval.ranking.executors.workers import Handshake, Report
from kgeval.ranking.jobs import Job
from kgeval.ranking.progress import Meter
from kgeval.ranking.shards import Failed, Finished, Work
from kgeval.scorers.row_scorers import Limits


class Pretended:
    """A crew on a simulated clock; `seconds_of(worker, pairs)` is the time that a worker takes."""

    def __init__(self, n_workers, seconds_of, deaths=lambda worker: False, start=0.5, process=None):
        self.n_workers, self.seconds_of, self.deaths, self.seconds_to_start = n_workers, seconds_of, deaths, start
        self.now, self.queue, self.n_hired, self.counted, self.closed = 0.0, [], 0, [], False
        self.results, self.dismissed, self.job = {}, [], None
        self.process = process or (
            lambda worker: SimpleNamespace(handshake=Handshake.here, prepare=self.prepare, count=self.count)
        )

    def clock(self):
        return self.now

    def prepare(self, shipment):
        return self.job.dataset.fingerprint

    def count(self, shard, seconds_left):
        rows = self.job.tasks[shard.task].rows[shard.start : shard.stop]
        zeros = RankCounts.zeros(len(rows))
        return Report([Finished(shard, TaskCounts(rows, zeros, zeros, np.zeros(len(rows))))], 0.0)

    def _call(self, worker, seconds, call):
        handle = object()
        if self.deaths(worker):
            self.results[handle] = Lost("killed")
            seconds /= 2
        else:
            self.results[handle] = call
        heapq.heappush(self.queue, (self.now + seconds, id(handle), handle))
        return handle

    def start(self):
        self.n_hired += 1
        return self.n_hired

    def handshake(self, worker):
        return self._call(worker, self.seconds_to_start, lambda: self.process(worker).handshake())

    def prepare_(self, worker):
        return self._call(worker, 0.0, lambda: self.process(worker).prepare(None))

    def count_(self, worker, shard, seconds_left):
        pairs = self.job.tasks[shard.task].count_pairs(shard.start, shard.stop)
        seconds = self.seconds_of(worker, pairs)

        def call():
            self.counted.append((worker, shard, self.now))
            report = self.process(worker).count(shard, seconds_left)
            return Report(report.outcomes, seconds) if isinstance(report, Report) else report

        return self._call(worker, seconds, call)

    def wait(self, calls, seconds):
        if not self.queue or (seconds is not None and self.queue[0][0] > self.now + seconds):
            self.now += seconds
            return []
        self.now, _, handle = heapq.heappop(self.queue)
        assert handle in calls
        return [handle]

    def result(self, handle):
        value = self.results.pop(handle)
        if isinstance(value, Lost):
            raise value
        return value()

    def stop(self, worker):
        self.dismissed.append(worker)

    def close(self):
        self.closed = True

    def crew(self, job):
        """This crew with the names of `Crew`; `prepare` and `count` above are those of the pretended process."""
        self.job = job
        names = ("n_workers", "start", "handshake", "wait", "result", "stop", "close")
        return SimpleNamespace(
            **{name: getattr(self, name) for name in names}, prepare=self.prepare_, count=self.count_
        )


def pretended_task(n_queries, n_candidates=100, side="object", first_row=0):
    """What the dispatcher reads of a task; a query has one positive."""
    return SimpleNamespace(
        n_queries=n_queries,
        side=side,
        rows=np.arange(first_row, first_row + n_queries),
        offsets=np.arange(n_queries + 1),
        count_pairs=lambda start, stop: (stop - start) * n_candidates,
    )


def pretended_job(*sizes, deadline=None):
    tasks = [pretended_task(n, first_row=sum(sizes[:i])) for i, n in enumerate(sizes)]
    dataset = SimpleNamespace(fingerprint="abc", name="d")
    rows = SimpleNamespace(kind="function", name="f", pace=None, n_entities=100)
    return Job(rows, tasks, Limits(), dataset=dataset, deadline=deadline)


@pytest.fixture(scope="module")
def here():
    """The greeting of this process, for which all source files are read."""
    return Handshake.here()


@pytest.fixture(autouse=True)
def _pretend(monkeypatch, here):
    """Scores are compared in a test of their own; the source files are read once."""
    monkeypatch.setattr(dispatch, "_check_scores", lambda *_, **__: None)
    monkeypatch.setattr(Handshake, "here", classmethod(lambda cls: here))


def run(job, crew, retries=3):
    return list(drive(job, crew.crew(job), retries, clock=crew.clock))


def assert_once(job, outcomes):
    """Every positive of every task was counted once."""
    for i, task in enumerate(job.tasks):
        rows = [outcome.counts.rows for outcome in outcomes if outcome.shard.task == i]
        assert sorted(np.concatenate(rows).tolist()) == task.rows.tolist()


def test_every_query_is_counted_once_and_the_workers_end_together():
    ratios = []
    for seed in range(grids.size(5, 60)):
        rng = np.random.default_rng(seed)
        n_workers = int(rng.integers(1, 9))
        speeds = rng.uniform(500, 20_000, size=n_workers + 1)  # pairs per second
        sizes = rng.integers(1, 30_000, size=2)
        crew = Pretended(n_workers, lambda worker, pairs, speeds=speeds: pairs / speeds[worker] + 0.002)
        job = pretended_job(*sizes)
        assert_once(job, run(job, crew))
        ideal = 100 * sizes.sum() / speeds[1 : n_workers + 1].sum()
        if ideal > 60:
            ratios.append((crew.now - crew.seconds_to_start) / ideal)
        assert crew.closed
    assert ratios
    assert max(ratios) < 1.3


def test_dead_workers_are_replaced_and_their_shards_counted_once():
    for seed in range(grids.size(5, 60)):
        rng = np.random.default_rng(seed)
        crew = Pretended(3, lambda worker, pairs: pairs / 5000, deaths=lambda worker, rng=rng: rng.random() < 0.15)
        job = pretended_job(3000, 2000)
        assert_once(job, run(job, crew, retries=50))
        assert crew.n_hired == 3 + len(crew.dismissed)
        assert len(crew.dismissed) > 0


def test_a_shard_whose_workers_always_die_fails_and_the_others_are_counted():
    job = pretended_job(1000)
    crew = Pretended(2, lambda worker, pairs: pairs / 5000)
    real = crew.count_

    def deadly(worker, shard, seconds_left):
        crew.deaths = lambda worker: shard.start <= 500 < shard.stop
        handle = real(worker, shard, seconds_left)
        crew.deaths = lambda worker: False
        return handle

    crew.count_ = deadly
    outcomes = run(job, crew, retries=2)
    (failed,) = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    assert failed.shard.start <= 500 < failed.shard.stop
    assert (
        "the worker process died every time it counted these queries (3 times); was it killed, or out of memory? killed"
        in str(failed.error)
    )
    counted = np.concatenate([outcome.counts.rows for outcome in outcomes if isinstance(outcome, Finished)])
    left = np.setdiff1d(np.arange(1000), counted)
    assert left.tolist() == list(range(failed.shard.start, failed.shard.stop))
    assert len(crew.dismissed) == 3
    with pytest.raises(
        kg.errors.ScoreError,
        match=r"\(queries [\d,]+ to [\d,]+ of 1,000 of the object side\); the finished ranks are lost",
    ):
        raise jobs._error_of([failed], job)


def test_workers_that_die_while_they_start_end_the_run():
    crew = Pretended(2, lambda worker, pairs: 1.0, deaths=lambda worker: True)
    with pytest.raises(kg.errors.ScoreError, match="worker processes die while they start: killed"):
        run(pretended_job(100), crew, retries=3)
    assert crew.n_hired == 5  # two at first, and three in the places of the dead
    assert crew.closed


def test_a_late_duplicate_is_dropped():
    work = Work([pretended_task(100)])
    plan = ShardPlan(work, 2, lambda task: 40)
    shard = plan.next("a")
    assert plan.lost("a", shard, retries=3)
    assert plan.next("b") == shard
    assert plan.finished("b", shard, 1.0)
    assert not plan.finished("a", shard, 1.0)  # "a" was not dead after all
    other = plan.next("a")
    assert (other.start, other.stop) == (shard.stop, shard.stop + 18)  # 75 queries, two workers: a quarter
    assert plan.lost("a", other, retries=3)
    assert plan.finished("a", other, 1.0)  # comes before another worker takes the shard
    assert plan.next("b").start == other.stop


def test_a_shard_that_failed_is_not_repeated():
    job = pretended_job(1000)
    crew = Pretended(2, lambda worker, pairs: pairs / 5000)
    count = crew.count

    def failing(shard, seconds_left):
        if shard.start == 0:
            return Report([Failed(shard, kg.errors.ScoreError("NaN"), "traceback")], 0.1)
        return count(shard, seconds_left)

    crew.count = failing
    outcomes = run(job, crew)
    assert [outcome.shard.start for outcome in outcomes if isinstance(outcome, Failed)] == [0]
    assert sum(shard.start == 0 for _, shard, _ in crew.counted) == 1


def test_closing_the_run_closes_the_crew():
    job = pretended_job(1000)
    crew = Pretended(2, lambda worker, pairs: pairs / 5000)
    outcomes = drive(job, crew.crew(job), 3, clock=crew.clock)
    next(outcomes)
    outcomes.close()
    assert crew.closed


def test_shards_start_small_and_grow_to_five_seconds():
    work = Work([pretended_task(1_000_000)])
    plan = ShardPlan(work, 2, lambda task: 8)
    first = plan.next("a")
    assert first.stop - first.start == 8
    plan.finished("a", first, 0.125)  # 64 queries a second
    second = plan.next("a")
    assert second.stop - second.start == 320
    assert plan.next("a", seconds_left=1.5).stop - second.stop == 96
    plan.finished("a", second, 10.0)  # half of the speed
    third = plan.next("a")
    assert third.stop - third.start == 240  # the speed is the mean of the latest and those before


def test_with_a_deadline_no_shard_is_longer_than_what_is_left(monkeypatch):
    crew = Pretended(3, lambda worker, pairs: pairs / 1000)
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=crew.clock))
    job = pretended_job(100_000, deadline=20.0)
    outcomes = run(job, crew)
    counted = np.concatenate([outcome.counts.rows for outcome in outcomes])
    assert len(counted) == len(np.unique(counted))
    assert crew.now <= 20.0 + dispatch.GRACE_SECONDS
    assert 0.9 < len(counted) / (3 * 19.5 * 10) <= 1.0


def test_a_worker_that_does_not_answer_after_the_deadline_is_left_behind(monkeypatch):
    crew = Pretended(2, lambda worker, pairs: 1000.0 if worker == 1 else pairs / 1000)
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=crew.clock))
    outcomes = run(pretended_job(100_000, deadline=20.0), crew)
    assert 20.0 <= crew.now <= 20.0 + 2 * dispatch.GRACE_SECONDS
    assert sum(len(outcome.counts.rows) for outcome in outcomes) > 150
    assert crew.closed


def test_another_kgeval_is_refused():
    here = Handshake.here()
    for theirs, text in (
        (
            Handshake("0.0.9", here.digest, "process 7 on n1"),
            f"the worker process 7 on n1 has kgeval 0.0.9, and this process kgeval {here.version}",
        ),
        (
            Handshake(here.version, "f" * 64, "process 7 on n1"),
            f"has other source files of kgeval {here.version} \\(SHA-256 ffffffffffff\\) than this process "
            f"\\({here.digest[:12]}\\)",
        ),
    ):
        crew = Pretended(1, lambda worker, pairs: 1.0)
        crew.process = lambda worker, theirs=theirs: SimpleNamespace(handshake=lambda: theirs)
        with pytest.raises(kg.errors.ScoreError, match=text):
            run(pretended_job(10), crew)
        assert crew.closed


def test_another_dataset_is_refused():
    crew = Pretended(1, lambda worker, pairs: 1.0)
    crew.prepare = lambda shipment: "d" * 64
    with pytest.raises(
        kg.errors.ScoreError,
        match="a worker's dataset has the fingerprint dddddddddddd, but this process's dataset has abc",
    ):
        run(pretended_job(10), crew)


def test_a_cluster_without_room_is_mentioned_once(capsys):
    crew = Pretended(1, lambda worker, pairs: pairs / 1000, start=100.0)
    job = pretended_job(10)
    job.meter = Meter(1000, 10, progress=True)
    with job.meter:
        run(job, crew)
    assert capsys.readouterr().err.count("no worker has started yet; is the cluster busy?") == 1
