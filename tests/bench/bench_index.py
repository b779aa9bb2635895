"""How long queries and filter index take to build, and how much memory, as a share of one evaluation.

    python tests/bench/bench_index.py ../shared/data [--json FILE]

Two sizes, both sides each: FB15k-237 (20,466 test triples, all splits known) and ten million random triples over five
million entities and 1,000 relations, one million of them ranked. Shares are of `kgeval.evaluate` with
`models/fb15k-237-complex.npz`. Seconds are medians of interleaved runs in one process; the peak is that of a process
of its own, above the triples.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from measure import peaks_above

import kgeval
from kgeval.data.keys import facts_of
from kgeval.data.known import KnownIndex
from kgeval.data.queries import Queries, query_parts
from kgeval.data.sides import SIDES
from kgeval.ranking.tasks import Task
from kgeval.scorers.models.products import ComplEx

N_RUNS = 5
N_TRIPLES, N_RANKED, N_ENTITIES, N_RELATIONS = 10_000_000, 1_000_000, 5_000_000, 1_000
BARS = {"fb15k-237": (0.05, 100), "ten million": (20.0, 2000)}  # seconds, MB


def fb15k_237(folder):
    """The dataset, the known triples and those to be ranked."""
    dataset = kgeval.read_dataset(folder / "fb15k-237")
    return dataset, facts_of(dataset, tuple(dataset.splits)), np.asarray(dataset["test"])


def ten_million(folder):
    """Random triples; of a dataset the tasks ask only how many entities there are."""
    rng = np.random.default_rng(0)
    known = np.empty((N_TRIPLES, 3), dtype=np.int64)
    for column, n in enumerate((N_ENTITIES, N_RELATIONS, N_ENTITIES)):
        known[:, column] = rng.integers(0, n, size=N_TRIPLES)
    ranked = known[rng.choice(N_TRIPLES, size=N_RANKED, replace=False)]
    return SimpleNamespace(entities=range(N_ENTITIES)), known, ranked


GRAPHS = {"fb15k-237": fb15k_237, "ten million": ten_million}


def build(dataset, known, ranked, spent=None):
    """Build both sides as an Evaluator does and return them; the seconds of each step are added to `spent`."""
    spent = {} if spent is None else spent
    tasks = []
    for side in SIDES:
        marks = [time.perf_counter()]
        queries = Queries.of(ranked, side)
        marks.append(time.perf_counter())
        index = KnownIndex.of(*query_parts(known, side))
        marks.append(time.perf_counter())
        tasks.append((Task.of(dataset, queries, np.arange(len(dataset.entities)), index), index))
        marks.append(time.perf_counter())
        for step, start, stop in zip(("queries", "filter index", "look-ups"), marks[:-1], marks[1:], strict=True):
            spent[step] = spent.get(step, 0.0) + stop - start
    spent["together"] = sum(spent.values())
    return tasks


def peak(name, folder):
    """The most memory, in MB, that `build` holds at once above what was there before; None where unknown."""
    graph = GRAPHS[name](folder)
    build(*fb15k_237(folder))  # what is imported or allocated once belongs to no graph
    return peaks_above(lambda: build(*graph))[0]


def measure(folder):
    """Medians and peaks of both graphs, and the seconds of one evaluation."""
    graphs = {name: read(folder) for name, read in GRAPHS.items()}
    dataset = graphs["fb15k-237"][0]
    with np.load(folder / "models" / "fb15k-237-complex.npz") as arrays:
        model = ComplEx(arrays["entities"], arrays["relations"], inverse_relations="after")
    kgeval.evaluate(model, dataset, progress=False)
    evaluations, times = [], {name: {} for name in graphs}
    for _ in range(N_RUNS):
        start = time.perf_counter()
        kgeval.evaluate(model, dataset, progress=False)
        evaluations.append(time.perf_counter() - start)
        for name, graph in graphs.items():
            spent = {}
            build(*graph, spent)
            for step, seconds in spent.items():
                times[name].setdefault(step, []).append(seconds)
    del graphs, graph
    found = {"evaluation": statistics.median(evaluations)}
    for name, steps in times.items():
        command = [sys.executable, __file__, str(folder), "--peak", name]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found[name] = {step: statistics.median(values) for step, values in steps.items()}
        found[name]["peak_mb"] = json.loads(done.stdout)
    return found


def show(found):
    """Print the table of seconds, shares and peaks."""
    evaluation = found["evaluation"]
    print(f"one evaluation of FB15k-237: {evaluation:.3f} s; medians of {N_RUNS} runs")
    for name, (most_seconds, most_mb) in BARS.items():
        figures = dict(found[name])
        peak_mb = figures.pop("peak_mb")
        print(f"\n{name:14}{'seconds':>10}{'share':>9}")
        for step, seconds in figures.items():
            print(f"  {step:12}{seconds:10.4f}{seconds / evaluation:9.1%}")
        known_mb = "unknown" if peak_mb is None else f"{peak_mb:.0f} MB"
        print(f"  peak {known_mb} above the triples; bars {most_seconds:g} s, {most_mb:,} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where fb15k-237 and models lie")
    parser.add_argument("--json", type=Path, help="keep the figures in this file")
    parser.add_argument("--peak", choices=tuple(GRAPHS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak:
        print(json.dumps(peak(arguments.peak, arguments.folder)))
        return
    found = measure(arguments.folder)
    show(found)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
