"""How long does a ranking take on 1 to 256 machines, and what moves over the network? Measured, then simulated.

``python tests/bench/simulate_cluster.py`` first measures on this machine what the simulation needs: the pairs that a
core scores per second, the time that a worker process needs to start and to prepare itself, and the bytes that it
receives. Then it ranks with 1, 2 and 4 worker processes and prints the measured times beside the simulated ones. At
last it simulates clusters. The simulation runs the dispatcher of `kgeval.ranking.executors` itself
(`dispatch.drive`), with pretended workers on a simulated clock: shards have the sizes of a real run.

``--json FILE`` keeps what was measured; ``--measured FILE`` simulates from such a file and measures nothing. About 6
minutes on two idle cores. Needs loky (``kgeval[processes]``).
"""

import argparse
import heapq
import itertools
import json
import os
import pickle
import statistics
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import cloudpickle
import numpy as np
from measure import Others, machine, seconds

import kgeval as kg
from kgeval.ranking.executors import processes
from kgeval.ranking.executors.dispatch import RETRIES, Lost, drive
from kgeval.ranking.executors.workers import Handshake, Report, Shipment, fingerprint_of
from kgeval.ranking.jobs import Job
from kgeval.ranking.ranker import BATCHES, MIN_BATCH
from kgeval.scorers.row_scorers import GeometryRows, Limits, as_row_scorer

DIMENSION = 128
LINK, SERVER_LINK = 1.25e9, 12.5e9  # bytes per second: 10 Gbit/s of each machine, 100 Gbit/s of a file server
CORES = 16  # of each machine of a simulated cluster; a worker uses all of them
DEATH_SECONDS = 30.0  # until a cluster knows that a machine is gone
NODES = (1, 2, 4, 16, 64, 256)
TILE = 512  # queries that the kernel of dot products counts together, at most
LOCAL = (1, 2, 4)  # worker processes of this machine
QUIET = 0.1  # cores that other programs may keep busy during a measured run
WAIT = 1e-4  # seconds per pair of the function that waits, as one does that asks a server
TEXT_SECONDS = 1e-3  # per pair, of a text model


@dataclass(frozen=True)
class Work:
    """What is ranked: the sizes of a graph and of its queries (an upper limit where queries were not counted)."""

    name: str
    n_entities: int
    n_relations: int
    n_triples: int  # of all splits
    queries: tuple[int, ...]  # of each side
    n_positives: int  # of all sides
    n_known: int = 0  # known answers of all queries

    @property
    def n_pairs(self):
        return sum(self.queries) * self.n_entities

    def parameter_bytes(self, itemsize):
        return (self.n_entities + self.n_relations) * DIMENSION * itemsize

    def job_bytes(self, label_bytes):
        """Return the bytes of what travels besides the parameters, as `kgeval.ranking` stores it."""
        labels = (self.n_entities + self.n_relations) * label_bytes
        queries = 32 * sum(self.queries) + 24 * self.n_positives + 8 * self.n_known
        return int(24 * self.n_triples + labels + 9 * self.n_entities + queries)


FB15K237 = Work("FB15k-237", 14_541, 237, 310_116, (9_113, 13_737), 40_932, 302_690)
WIKIDATA5M = Work("Wikidata5M", 4_594_485, 822, 20_624_575, (5_133, 5_133), 10_266)
WIKIKG90M = Work("WikiKG90M v2", 91_230_610, 1_387, 601_062_811, (15_000,), 15_000)
GRAPHS = (FB15K237, WIKIDATA5M, WIKIKG90M)


@dataclass(frozen=True)
class Costs:
    """The measured times, in seconds.

    Parameters
    ----------
    pairs_per_second : float
        Of one core, in a large batch.
    per_batch : float
        What each batch of queries needs besides, for each entity: the kernels read every candidate vector anew.
    start : float
        From the start of a process to its greeting.
    prepare : float
        Of a worker, besides the times below.
    per_label, per_triple : float
        To read a label, and to compute the fingerprint.
    per_entity : float
        To check a candidate vector and to copy it into the form of the kernels; before the first shard.
    latency : float
        From the end of a shard to the start of the next one.
    """

    pairs_per_second: float
    per_batch: float
    start: float
    prepare: float
    per_label: float
    per_triple: float
    per_entity: float
    latency: float
    label_bytes: float


@dataclass(frozen=True)
class Node:
    """A machine: its cores, their speed (1: as this machine's), and when it dies."""

    cores: int = CORES
    speed: float = 1.0
    dies_at: float | None = None


class Link:
    """A network link that transfers share equally."""

    def __init__(self, bytes_per_second):
        self.rate, self.now, self.left = bytes_per_second, 0.0, {}  # left: transfer -> bytes

    def advance(self, now):
        for key in self.left:
            self.left[key] -= self.rate / len(self.left) * (now - self.now)
        self.now = now

    def next_end(self):
        return self.now + max(0.0, min(self.left.values())) * len(self.left) / self.rate if self.left else np.inf

    def pop(self):
        key = min(self.left, key=self.left.__getitem__)
        del self.left[key]
        return key


class PretendedWorker:
    """A worker of a `SimulatedCrew`: its machine (None if the cluster has no room for it), and whether it is warm."""

    def __init__(self, place):
        self.place, self.is_prepared = place, False


class SimulatedCrew:
    """A `Crew` on a simulated clock: one worker for each place of `places`, which names its machine.

    The first machine has the job; all others fetch it from there, each once, and share the link of the first machine.
    Workers of a machine with fewer cores than workers share the cores; `threads` is what each worker uses.
    """

    def __init__(self, work, costs, nodes, places, threads, n_bytes, link, is_waiting=False):
        self.work, self.costs, self.nodes, self.is_waiting = work, costs, nodes, is_waiting
        self.n_workers, self.free = len(places), list(reversed(places))
        self.threads, self.n_bytes, self.link = threads, n_bytes, Link(link)
        crowds = [places.count(i) * threads for i in range(len(nodes))]
        self.shares = [min(1.0, node.cores / max(1, n)) for node, n in zip(nodes, crowds)]  # of a core
        self.events, self.order, self.results = [], itertools.count(), {}
        self.now, self.n_pairs, self.first_count = 0.0, 0, None
        self.waiting_for, self.fetched = {}, {0}  # machine -> the calls that need the job; machines that have it
        self.here = Handshake.here()

    def speed(self, worker):
        return self.nodes[worker.place].speed * self.shares[worker.place]

    def call(self, worker, duration, result, at=None):
        """Return the handle of a call that ends after `duration`, or when its machine has died."""
        handle, begin = object(), self.now if at is None else at
        death = self.nodes[worker.place].dies_at
        if death is not None and begin + duration > death:
            begin, duration, result = death, DEATH_SECONDS, Lost("the machine died")
        self.at(begin + duration, handle, result)
        return handle

    def at(self, moment, handle, result):
        self.results[handle] = result
        heapq.heappush(self.events, (moment, next(self.order), handle))

    def start(self):
        return PretendedWorker(self.free.pop() if self.free else None)

    def handshake(self, worker):
        if worker.place is None:  # no room is left in the cluster
            return object()
        return self.call(worker, self.costs.start / self.speed(worker), self.here)

    def prepare(self, worker):
        handle = object()
        if worker.place in self.fetched or self.n_bytes == 0:
            self.end_of_prepare(handle, worker)
        else:
            calls = self.waiting_for.setdefault(worker.place, [])
            calls.append((handle, worker))
            if len(calls) == 1:
                self.link.advance(self.now)
                self.link.left[worker.place] = self.n_bytes
        return handle

    def end_of_prepare(self, handle, worker):
        costs, work = self.costs, self.work
        duration = costs.prepare + costs.per_label * work.n_entities + costs.per_triple * work.n_triples
        self.at(self.now + duration / self.speed(worker), handle, "fingerprint")

    def count(self, worker, shard, seconds_left):
        self.first_count = self.now if self.first_count is None else self.first_count
        n_queries, speed = shard.stop - shard.start, self.speed(worker)
        before, duration = self.costs.latency, self.seconds(n_queries) / (1.0 if self.is_waiting else speed)
        if not worker.is_prepared:
            before += self.costs.per_entity * self.work.n_entities / speed
            worker.is_prepared = True
        return self.call(worker, before + duration, (n_queries * self.work.n_entities, Report([], duration)))

    def seconds(self, n_queries):
        """Return what a shard takes at full speed: the batches of `Ranker`, each on one thread of the worker."""
        work, costs = self.work, self.costs
        if self.is_waiting:
            return n_queries * work.n_entities / costs.pairs_per_second
        size = min(TILE, max(MIN_BATCH, -(-n_queries // (BATCHES * self.threads))) if self.threads > 1 else TILE)
        n_batches = -(-n_queries // size)
        of_batch = costs.per_batch + min(size, n_queries) / costs.pairs_per_second
        return -(-n_batches // self.threads) * of_batch * work.n_entities

    def wait(self, calls, timeout):
        until = np.inf if timeout is None else self.now + timeout
        while True:
            event, fetch = (self.events[0][0] if self.events else np.inf), self.link.next_end()
            if min(event, fetch) > until:
                self.now = until
                return []
            if event <= fetch:
                self.now, _, handle = heapq.heappop(self.events)
                if handle in calls:
                    return [handle]
            else:
                self.now = fetch
                self.link.advance(fetch)
                place = self.link.pop()
                self.fetched.add(place)
                for handle, worker in self.waiting_for.pop(place):
                    self.end_of_prepare(handle, worker)

    def result(self, handle):
        result = self.results.pop(handle)
        if isinstance(result, Lost):
            raise result
        if isinstance(result, tuple):
            self.n_pairs += result[0]
            return result[1]
        return result

    def stop(self, worker):
        pass

    def close(self):
        pass


def simulate(work, costs, nodes, places=None, threads=None, n_bytes=0, link=LINK, is_waiting=False, is_function=False):
    """Return two times in seconds: from the start of the workers to the first shard, and to the last one."""
    places = list(range(len(nodes))) if places is None else places
    threads = nodes[0].cores if threads is None else threads
    crew = SimulatedCrew(work, costs, nodes, places, threads, n_bytes, link, is_waiting)
    tasks = [
        SimpleNamespace(n_queries=n, side=side, count_pairs=lambda a, b: (b - a) * work.n_entities)
        for n, side in zip(work.queries, ("object", "subject"))
    ]
    if is_function:
        pace = SimpleNamespace(pairs_within=lambda time, method=None: int(time * costs.pairs_per_second))
        rows = SimpleNamespace(kind="function", pace=pace)
    else:
        rows = as_row_scorer(kg.models.DistMult(np.ones((2, 2)), np.ones((1, 2))), 2)
        assert isinstance(rows, GeometryRows)
    job = Job(rows, tasks, Limits(), dataset=SimpleNamespace(fingerprint="fingerprint"))
    list(drive(job, crew, RETRIES, threads, clock=lambda: crew.now))
    if crew.n_pairs != work.n_pairs:
        raise RuntimeError(f"{crew.n_pairs:,} of {work.n_pairs:,} pairs were counted")
    return crew.first_count, crew.now


class RecordedCrew:
    """A `Crew` that notes when calls to another one start and end."""

    def __init__(self, crew):
        self.crew, self.begun = crew, {}
        self.times = {"start": [], "prepare": [], "first": [], "latency": []}
        self.speeds, self.seen, self.first_count = [], set(), None
        for name in ("n_workers", "wait", "stop", "close"):
            setattr(self, name, getattr(crew, name))

    def _noted(self, kind, worker, call, n_queries=0):
        self.begun[call] = kind, worker, time.perf_counter(), n_queries
        return call

    def start(self):
        return self.crew.start()

    def handshake(self, worker):
        return self._noted("start", worker, self.crew.handshake(worker))

    def prepare(self, worker):
        return self._noted("prepare", worker, self.crew.prepare(worker))

    def count(self, worker, shard, seconds_left):
        self.first_count = self.first_count or time.perf_counter()
        call = self.crew.count(worker, shard, seconds_left)
        return self._noted("count", worker, call, shard.stop - shard.start)

    def result(self, call):
        result = self.crew.result(call)
        kind, worker, begin, n_queries = self.begun.pop(call)
        taken = time.perf_counter() - begin
        if kind == "count":
            kind = "latency" if id(worker) in self.seen else "first"
            self.seen.add(id(worker))
            taken -= result.seconds
            self.speeds.append((n_queries, result.seconds))
        self.times[kind].append(taken)
        return result


def measured_run(scorer, dataset, n_workers):
    """Rank with worker processes; return the two times of `simulate`, and what was recorded."""
    found = {}

    def recorded_drive(job, crew, retries, n_threads=1):
        buffers = []
        rest = cloudpickle.dumps(Shipment.of(job), protocol=5, buffer_callback=buffers.append)
        found["bytes"] = len(rest) + sum(buffer.raw().nbytes for buffer in buffers)
        found["crew"] = crew = RecordedCrew(crew)
        begin = time.perf_counter()
        yield from drive(job, crew, retries, n_threads)
        found["start"], found["seconds"] = crew.first_count - begin, time.perf_counter() - begin

    processes.drive, before = recorded_drive, processes.drive
    try:
        with Others() as others:
            kg.evaluate(scorer, dataset, executor=kg.executors.Processes(n_workers), progress=False)
    finally:
        processes.drive = before
    return found | {"others": others.cores or 0.0}


def local_works(quick):
    """Return the two works that are ranked here: name -> (scorer, dataset, `Work`)."""
    rng = np.random.default_rng(0)
    works = {}
    for name, n, n_triples in (("model", 200_000, 400 if quick else 1_600), ("function", 1_000, 10 if quick else 30)):
        triples = np.column_stack([rng.integers(0, size, n_triples) for size in (n, 1_000, n)])
        dataset = kg.Dataset.from_arrays(test=triples, n_entities=n, n_relations=1_000)
        queries = len(np.unique(triples[:, :2], axis=0)), len(np.unique(triples[:, 1:], axis=0))
        works[name] = dataset, Work(name, n, 1_000, n_triples, queries, 2 * n_triples)
    tables = [rng.standard_normal((n, DIMENSION), dtype=np.float32) for n in (200_000, 1_000)]

    def waits(s, p, o):
        time.sleep(len(s) * WAIT)
        return (s * 7919 + p * 104729 + o * 31) % 97 + 0.25

    return {"model": (kg.models.DistMult(*tables), *works["model"]), "function": (waits, *works["function"])}


def costs_of(work, crews, units):
    """Return the costs from runs with one worker; `units` are the measured times per label, triple and entity."""
    n_queries, taken = np.array([pair for crew in crews for pair in crew.speeds]).T
    n_batches = -(-n_queries // TILE) if work.name == "model" else 0.0 * n_queries
    # least squares of relative errors: small shards say what a batch costs, large ones what a query does
    sizes = np.column_stack([n_batches, n_queries]) / taken[:, None]
    per_batch, per_query = np.linalg.lstsq(sizes, np.ones(len(taken)), rcond=None)[0]
    medians = {kind: statistics.median(t for crew in crews for t in crew.times[kind]) for kind in crews[0].times}
    besides = units["per_label"] * work.n_entities + units["per_triple"] * work.n_triples
    return Costs(
        pairs_per_second=work.n_entities / float(per_query),
        per_batch=max(0.0, float(per_batch)) / work.n_entities,
        start=medians["start"],
        prepare=max(0.0, medians["prepare"] - besides),
        latency=medians["latency"],
        **units | {"per_entity": medians["first"] / work.n_entities},
    )


def measured_units():
    """Return the times per label and per triple, and the bytes of a label of six characters as it travels."""
    n, n_triples = 200_000, 2_000_000
    rng = np.random.default_rng(0)
    triples = np.column_stack([rng.integers(0, size, n_triples) for size in (n, 500, n)])
    labels = [f"Q{i:06}" for i in range(n)]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=n, n_relations=500, entity_labels=labels)
    content = cloudpickle.dumps(dataset.entities, protocol=5)
    per_label = min(seconds(lambda: pickle.loads(content)) for _ in range(5)) / n
    per_triple = min(seconds(lambda: fingerprint_of(dataset)) for _ in range(3)) / n_triples
    return {"per_label": per_label, "per_triple": per_triple, "per_entity": 0.0, "label_bytes": len(content) / n}


def wait_for_quiet(seconds):
    """Return when other programs have left the machine alone for a second, or after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with Others() as others:
            time.sleep(1)
        if (others.cores or 0.0) <= QUIET:
            return


def local_runs(n_runs, max_tries, patience, quick=False):
    """Measure 1, 2 and 4 worker processes in turns; return what the simulation needs, and the measured times.

    Of `max_tries` runs of each kind, the `n_runs` count that other programs disturbed least; fewer are made if so many
    were left almost alone.
    """
    units, works = measured_units(), local_works(quick)
    runs = {(name, n): [] for name in works for n in LOCAL}
    for _ in range(max_tries):
        for (name, n), of_kind in runs.items():
            if len([run for run in of_kind if run["others"] <= QUIET]) >= n_runs:
                continue
            scorer, dataset, _ = works[name]
            wait_for_quiet(patience)
            of_kind.append(measured_run(scorer, dataset, n))
            taken, others = of_kind[-1]["seconds"], of_kind[-1]["others"]
            print(f"{name}, {n} workers: {taken:.1f} s; others kept {others:.2f} cores busy", file=sys.stderr)
    for of_kind in runs.values():
        of_kind[:] = sorted(of_kind, key=lambda run: run["others"])[:n_runs]
    costs = {name: costs_of(work, [run["crew"] for run in runs[name, 1]], units) for name, (*_, work) in works.items()}
    model = works["model"][2]
    return {
        "machine": machine(),
        "cores": len(os.sched_getaffinity(0)),
        "works": {name: asdict(work) for name, (*_, work) in works.items()},
        "costs": {name: asdict(value) for name, value in costs.items()},
        "seconds": [
            [name, n, [[run["start"], run["seconds"] - run["start"]] for run in of_kind]]
            for (name, n), of_kind in runs.items()
        ],
        "others": [run["others"] for of_kind in runs.values() for run in of_kind],
        "bytes": runs["model", 1][0]["bytes"],
        "computed_bytes": model.parameter_bytes(4) + model.job_bytes(units["label_bytes"]),
    }


def local_table(measured, costs):
    """Return the measured times of worker processes of one machine beside the simulated ones, as Markdown."""
    works = {name: Work(**fields) for name, fields in measured["works"].items()}
    here = Node(cores=measured["cores"])
    rows = [
        "| work | workers | start: measured, simulated | ranking: measured, simulated | difference | times faster |",
        "|---|---|---|---|---|---|",
    ]
    alone = {}
    for name, n, pairs in measured["seconds"]:
        start, taken = np.median(pairs, axis=0)
        kind = {"is_waiting": name == "function", "is_function": name == "function"}
        expected, end = simulate(works[name], costs[name], [here], [0] * n, 1, **kind)
        alone.setdefault(name, taken)
        rows.append(
            f"| {name} | {n} | {start:.1f} s, {expected:.1f} s | {taken:.1f} s, {end - expected:.1f} s | "
            f"{(end - expected) / taken - 1:+.0%} | {alone[name] / taken:.2f} |"
        )
    return rows


def size_table(costs):
    """Return the bytes that move and the time of a query, as Markdown."""
    rows = [
        "| graph | queries | to each machine, float32 | float16 | back | a query, one core |",
        "|---|---|---|---|---|---|",
    ]
    for work in GRAPHS:
        single, half = (size(work.parameter_bytes(n) + work.job_bytes(costs.label_bytes)) for n in (4, 2))
        back, of_query = size(64 * work.n_positives), duration(work.n_entities / costs.pairs_per_second)
        rows.append(f"| {work.name} | {sum(work.queries):,} | {single} | {half} | {back} | {of_query} |")
    return rows


def cluster_table(costs):
    """Return the simulated time of one machine, and how many times faster more machines are, as Markdown."""
    rows = [f"| work | one machine | {' | '.join(f'{n}' for n in NODES[1:])} |", f"|---|---|{'---|' * len(NODES[1:])}"]
    model, label_bytes = costs["model"], costs["model"].label_bytes
    for work in GRAPHS:
        for itemsize, name in ((4, "float32"), (2, "float16")):
            n_bytes = work.parameter_bytes(itemsize) + work.job_bytes(label_bytes)
            times = [simulate(work, model, [Node()] * n, n_bytes=n_bytes)[1] for n in NODES]
            rows.append(cells(f"{work.name}, {name}", times))
    for itemsize, name in ((4, "float32"), (2, "float16")):
        times = []
        for n in NODES:  # all workers read the file at the same time, after the rest of the job has come
            reading = n * WIKIKG90M.parameter_bytes(itemsize) / SERVER_LINK
            with_path, rest = replace(model, prepare=model.prepare + reading), WIKIKG90M.job_bytes(label_bytes)
            times.append(simulate(WIKIKG90M, with_path, [Node()] * n, n_bytes=rest)[1])
        rows.append(cells(f"the same, shared path, {name}", times))
    text_model = replace(costs["function"], pairs_per_second=1 / TEXT_SECONDS)
    rest, node = FB15K237.job_bytes(label_bytes), Node(cores=1)
    times = [simulate(FB15K237, text_model, [node] * n, n_bytes=rest, is_function=True)[1] for n in NODES]
    rows.append(cells("FB15k-237, 1 ms a pair", times))
    return rows


def cells(name, times):
    """Return a row of `cluster_table`."""
    return f"| {name} | {duration(times[0])} | {' | '.join(f'{times[0] / t:.3g}' for t in times[1:])} |"


def trouble_table(costs):
    """Return the times of 16 machines of which some are slow or die, as Markdown."""
    work = WIKIDATA5M
    n_bytes = work.parameter_bytes(4) + work.job_bytes(costs.label_bytes)
    speeds = np.random.default_rng(0).uniform(0.5, 1.0, 16)
    _, even = simulate(work, costs, [Node(cores=1)] * 16, n_bytes=n_bytes)
    _, slow = simulate(work, costs, [Node(cores=1, speed=float(speed)) for speed in speeds], n_bytes=n_bytes)
    dying = [Node(cores=1, dies_at=even / 2), *[Node(cores=1)] * 15]
    return [
        f"{work.name}, float32, 16 machines of one core: {duration(even)}",
        f"speeds from 0.5 to 1, mean {speeds.mean():.2f}: {duration(slow)}; at best {duration(even / speeds.mean())}",
        f"one of 16 dies after half of the time: {duration(simulate(work, costs, dying, n_bytes=n_bytes)[1])}",
    ]


def size(n_bytes):
    """Return a number of bytes as text."""
    for unit in ("B", "kB", "MB"):
        if n_bytes < 999.5:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} GB"


def duration(value):
    """Return a time as text."""
    if value < 0.1:
        return f"{value * 1000:.2g} ms"
    if value < 120:
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


def main():
    """Measure, or read what was measured, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3, help="of each number of workers, in turns (default 3)")
    parser.add_argument("--tries", type=int, default=9, help="at most, until so many runs were undisturbed (default 9)")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for a quiet machine, for each run")
    parser.add_argument("--quick", action="store_true", help="tiny works: shows that it runs, not how fast")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what was measured")
    parser.add_argument("--measured", type=Path, metavar="FILE", help="simulate from a kept file, measure nothing")
    given = parser.parse_args()
    if given.measured:
        measured = json.loads(given.measured.read_text(encoding="utf-8"))
    else:
        measured = local_runs(*((1, 1, 0) if given.quick else (given.runs, given.tries, given.patience)), given.quick)
    if given.json:
        given.json.write_text(json.dumps(measured, indent=1), encoding="utf-8")
    costs = {name: Costs(**fields) for name, fields in measured["costs"].items()}
    others = f"other programs kept up to {max(measured['others']):.2f} cores busy"
    print(f"{measured['machine']['processor']}, {measured['cores']} cores; {others}")
    print("\n".join(f"{name}: {value}" for name, value in costs.items()))
    print(f"bytes of the job: {measured['bytes']:,} measured, {measured['computed_bytes']:,} computed\n")
    model = costs["model"]
    for table in (local_table(measured, costs), size_table(model), cluster_table(costs), trouble_table(model)):
        print("\n".join(table), "\n")


if __name__ == "__main__":
    main()
