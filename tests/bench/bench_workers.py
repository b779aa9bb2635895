"""Two local workers against one: how many times faster `Processes` and `Ray` rank; the bar is 1.7.

``python tests/bench/bench_workers.py ../shared/data`` ranks a sample of FB15k-237 with a function of numpy arrays that
keeps one worker busy for `--seconds` (60 by default); without a folder, a made dataset. Every worker has one thread.
The runs with one and with two workers take turns. The speed is measured from the first shard that is finished, so that
neither the start of processes nor the transfer of the job counts. On a machine that others use, ``--waiting`` measures
what the executors themselves cost: the function then waits for 10 microseconds a pair in place of computing.
"""

import argparse
import json
import os
import statistics
import sys
import time
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import numpy as np  # noqa: E402
from measure import Others, machine  # noqa: E402

import kgeval as kg  # noqa: E402

D = 64  # dimensions of the function's vectors
BAR = 1.7


class Timed:
    """An executor that notes when its first and its last shard were finished, and the pairs in between."""

    def __init__(self, executor):
        self.executor, self.n_processes = executor, executor.n_processes

    def run(self, job):
        outcomes, self.pairs, self.first = self.executor.run(job), 0, None
        try:
            for outcome in outcomes:
                if self.first is None:
                    self.first = time.monotonic()
                else:
                    shard = outcome.shard
                    self.pairs += job.tasks[shard.task].count_pairs(shard.start, shard.stop)
                self.last = time.monotonic()
                yield outcome
        finally:
            outcomes.close()

    @property
    def pairs_per_second(self):
        return self.pairs / (self.last - self.first)


def made_dataset(seed=0):
    rng = np.random.default_rng(seed)
    triples = np.column_stack([rng.integers(n, size=60_000) for n in (15_000, 200, 15_000)])
    return kg.Dataset.from_arrays(train=triples[:40_000], test=triples[40_000:], n_entities=15_000, n_relations=200)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="?", help="a folder with fb15k-237/")
    parser.add_argument("--seconds", type=float, default=60.0, help="of work for one worker")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--waiting", action="store_true")
    parser.add_argument("--only", choices=["processes", "ray"])
    options = parser.parse_args()
    dataset = kg.read_dataset(Path(options.data) / "fb15k-237") if options.data else made_dataset()
    rng = np.random.default_rng(0)
    entities = rng.normal(size=(len(dataset.entities), D)).astype(np.float32)
    relations = rng.normal(size=(len(dataset.relations), D)).astype(np.float32)

    def score(s, p, o):
        if options.waiting:
            time.sleep(1e-5 * len(s))
            return (s % 97) - (o % 89) + 0.5 * p
        return np.einsum("ij,ij,ij->i", entities[s], relations[p], entities[o])

    def ranked(n_triples, executor):
        return kg.evaluate(score, dataset, kg.Protocol(sample=n_triples), executor=executor, progress=False)

    warnings.simplefilter("ignore", kg.KgevalWarning)  # of a model that was not trained
    expected = ranked(100, None)
    alone = Timed(kg.executors.Processes(1))
    n_probed = 20 if options.waiting else 1000
    ranked(n_probed, alone)
    n_triples = min(len(dataset["test"]), int(n_probed * options.seconds / (alone.last - alone.first)))
    made = {"processes": lambda n: kg.executors.Processes(n), "ray": lambda n: kg.executors.Ray(workers=n)}
    print(json.dumps({"machine": machine(), "triples": n_triples}))
    for name, make in made.items():
        if options.only not in (None, name):
            continue
        assert ranked(100, make(2)).table.equals(expected.table)
        speeds = {1: [], 2: []}
        with Others() as others:
            for _ in range(options.rounds):
                for n in (1, 2):
                    executor = Timed(make(n))
                    ranked(n_triples, executor)
                    speeds[n].append(executor.pairs_per_second)
                    print(f"{name}: {n} workers: {speeds[n][-1]:,.0f} pairs/s, {executor.last - executor.first:.1f} s")
        ratio = statistics.median(two / one for one, two in zip(speeds[1], speeds[2], strict=True))
        # Workers that have ended count among the others on some systems.
        print(f"{name}: two workers rank {ratio:.2f} times as fast as one (bar {BAR}); other programs: {others.cores}")


if __name__ == "__main__":
    main()
