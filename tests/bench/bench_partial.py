"""How often the intervals of a partial result hold the value over all triples of the split.

``python tests/bench/bench_partial.py`` prints a table as Markdown (about 15 minutes with two processors);
``--shared ../shared`` adds the ranks of trained models, ``--runs 300 --only heavy`` is a quick look. Each design is a
split whose ranks are all known. A run draws m of its triples, as ``Protocol(sample=m, sample_seed=run)`` does,
and checks whether the 95% interval of each metric holds the value of the metric over the whole split. In rows with
"stopped", m is not fixed: queries have costs, large queries cost more, and a run ends when its budget is spent.
``--clock 300`` makes that many real runs instead: a slow function, ``max_seconds=`` and the clock of the machine.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import kgeval as kg
from kgeval.data.protocol import RandomSample
from kgeval.results.rank_table import RankTable

RUNS = 1000
METRICS = ("mrr", "hits@1", "hits@10", "mr", "amri")
SIDES = ("both", "subject", "object")
KEYS = tuple(metric if side == "both" else f"{side}.{metric}" for metric in METRICS for side in SIDES)
LOW, HIGH = 0.93, 0.97
N_ENTITIES = {"wn": 40_943, "fb": 14_541}
# Numbers of triples, of 3,134 and of 20,466; and the shares of the whole cost at which a run is stopped.
SIZES = {"wn": (100, 313, 940, 1880, 0.1, 0.4), "fb": (102, 409, 2047, 12_280, 0.05, 0.4)}


@dataclass(frozen=True)
class Split:
    """A split with the ranks of all its triples.

    Parameters
    ----------
    table : RankTable
        All ranks: first the subject side of each triple, then the object side.
    n : int
        The number of triples.
    costs : float64 array, shape (n, 2)
        The cost of the query of each triple on both sides; a query is paid once.
    queries : int64 array, shape (n, 2)
        The number of the query.
    """

    table: RankTable
    n: int
    costs: np.ndarray
    queries: np.ndarray

    @classmethod
    def of(cls, table: RankTable) -> Split:
        frame = table.frame
        n = len(frame) // 2
        given = [frame[["p", name]].to_numpy()[part] for name, part in (("o", slice(n)), ("s", slice(n, None)))]
        queries, sizes = [], []
        for pairs in given:
            _, number, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
            queries.append(number.ravel())
            sizes.append(counts[number.ravel()])
        return cls(table, n, 1.0 + np.column_stack(sizes), np.column_stack(queries))

    @property
    def values(self) -> dict[str, float]:
        """The value of each metric over all triples."""
        return {key: self.table.value(key).value for key in KEYS}

    def part(self, m: int, seed: int) -> RankTable:
        """The ranks of m random triples, with the protocol that they have in a result."""
        rows, sample = RandomSample.drawn(m, self.n, seed)
        frame = self.table.frame.take(np.concatenate([rows, rows + self.n])).reset_index(drop=True)
        return RankTable(frame, replace(self.table.protocol, sample=sample))

    def stopped(self, share: float, seed: int) -> int:
        """How many triples are complete on both sides when a share of the cost of all queries is spent."""
        order = RandomSample.order(self.n, seed)
        paid = np.zeros((self.n, 2))
        for side in range(2):
            _, first = np.unique(self.queries[order, side], return_index=True)
            paid[first, side] = self.costs[order, side][first]
        spent = np.cumsum(paid.sum(axis=1))
        return max(2, int(np.searchsorted(spent, share * spent[-1], side="right")))


# --- made splits -----------------------------------------------------------------------------------------------------


def triples_of(kind, rng):
    """Triples with relations and entities of Zipf-like frequencies: the largest query has hundreds of answers."""
    n, n_relations = (3134, 11) if kind == "wn" else (20_466, 237)
    weights = 1.0 / np.arange(1, n_relations + 1) ** 1.1
    p = rng.choice(n_relations, 4 * n, p=weights / weights.sum())
    popular = 1.0 / np.arange(1, 4001) ** (0.9 if kind == "wn" else 1.1)
    o = (rng.choice(4000, 4 * n, p=popular / popular.sum()) + 37 * p) % 4000
    s = rng.integers(4000, size=4 * n)
    return rng.permutation(np.unique(np.column_stack([s, p, o]), axis=0))[:n]


def ranks_of(kind, shape, triples, rng):
    """The ranks of both sides, shape (n, 2): harder or easier by relation and by query, alike on both sides."""
    n, size = len(triples), N_ENTITIES[kind]
    z = rng.normal(scale=0.8, size=300)[triples[:, 1], None] + 0.5 * rng.normal(size=(n, 1)) * np.ones((1, 2))
    for side, given in enumerate((2, 0)):
        _, query = np.unique(triples[:, [1, given]], axis=0, return_inverse=True)
        z[:, side] += 0.6 * rng.normal(size=n)[query.ravel()]
    z += 0.5 * rng.normal(size=(n, 2))
    z = (z - z.mean()) / z.std()
    z[:, 0] += 0.3  # subjects are harder
    if shape == "lognormal":
        ranks = np.exp(1.8 + 1.5 * z)
    elif shape == "heavy":  # many first ranks, and a tail that reaches the last rank
        ranks = np.exp(1.2 + 2.6 * z)
    else:  # 99% are first
        ranks = np.where(z > np.quantile(z, 0.99), np.exp(2.0 + 2.0 * rng.normal(size=z.shape)) + 2.0, 1.0)
    return np.clip(np.ceil(ranks), 1, size - 1).astype(np.int64)


def made(kind, shape):
    rng = np.random.default_rng([17, len(kind), len(shape)])
    triples = triples_of(kind, rng)
    ranks, n = ranks_of(kind, shape, triples, rng), len(triples)
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=N_ENTITIES[kind], n_relations=237)
    frame = pd.DataFrame(np.concatenate([triples, triples]), columns=["s", "p", "o"])
    frame["side"] = pd.Categorical.from_codes(np.repeat([0, 1], n), ["subject", "object"])
    frame["split"] = pd.Categorical.from_codes(np.zeros(2 * n, np.int64), ["test"])
    frame["score"] = 0.0
    rivals = N_ENTITIES[kind] - 1 - rng.integers(0, 50, 2 * n)
    for setting in ("raw", "filtered"):
        frame[f"better_{setting}"] = np.minimum(ranks.T.ravel() - 1, rivals)
        frame[f"tied_{setting}"], frame[f"rivals_{setting}"] = 0, rivals
    return Split.of(RankTable(frame, kg.Protocol().resolved(dataset)))


# --- ranks of trained models -----------------------------------------------------------------------------------------


def trained(shared, name):
    """The ranks of a trained ComplEx model of the shared folder."""
    data = Path(shared) / "data"
    dataset = kg.read_dataset(data / name)
    with np.load(data / "models" / f"{name}-complex.npz") as arrays:
        model = kg.models.ComplEx(arrays["entities"], arrays["relations"], inverse_relations="after")
    return Split.of(kg.evaluate(model, dataset, progress=False).rank_table)


@cache
def split_of(design, shared):
    kind, shape = design
    return trained(shared, kind) if shape == "trained" else made(kind, shape)


# --- runs ------------------------------------------------------------------------------------------------------------


def cells(shared):
    """Each design as (kind, shape), with the numbers of triples; a share is the part of all costs that is spent."""
    for kind in ("wn", "fb"):
        for shape in ("lognormal", "heavy", "perfect"):
            yield from (((kind, shape), m) for m in SIZES[kind])
    if shared:
        for name, sizes in (("wn18rr", SIZES["wn"]), ("fb15k-237", SIZES["fb"])):
            yield from (((name, "trained"), m) for m in sizes)


def covered(cell, runs, shared=None):
    """For each metric: the share of the runs whose interval holds the true value, of those below it, without one.

    Returns
    -------
    list of (float, float, float)
        In the order of `KEYS`: the share of intervals that hold the value over the split; the share of intervals that
        are wholly below it; the share of the runs that have no interval.
    """
    design, m = cell
    split = split_of(design, shared)
    truth = split.values
    held, low, lacking, sizes = np.zeros(len(KEYS)), np.zeros(len(KEYS)), np.zeros(len(KEYS)), []
    for run in range(runs):
        n = m if isinstance(m, int) else split.stopped(m, run)
        sizes.append(n)
        part = split.part(n, run)
        clusters = part.row_clusters()
        for i, key in enumerate(KEYS):
            found = part.interval(key, confidence=0.95, clusters=clusters)
            lacking[i] += math.isnan(found.low)
            held[i] += found.low - 1e-12 <= truth[key] <= found.high + 1e-12
            low[i] += found.high + 1e-12 < truth[key]
    given = np.maximum(1, runs - lacking)
    return list(zip(held / given, low / given, lacking / runs)), float(np.mean(sizes))


@cache
def slow_work():
    """A dataset of 600 test triples, a function, the same but slow (3 seconds for them), and the whole result."""
    rng = np.random.default_rng(3)
    triples = rng.integers(60, size=(4000, 3)) % [60, 3, 60]
    triples[:, 2] = triples[:, 2] ** 2 // 60  # some objects are popular
    triples = rng.permutation(np.unique(triples, axis=0))
    dataset = kg.Dataset.from_arrays(train=triples[600:], test=triples[:600], n_entities=60, n_relations=3)
    table = rng.normal(size=(60, 3, 60)) + 2.0 * np.isin(np.arange(60), triples[:, 2])
    table[tuple(triples.T)] += 1.5
    warnings.simplefilter("ignore", kg.KgevalWarning)  # of the order of rows, which means nothing here

    def fast(s, p, o):
        return table[s, p, o]

    def slow(s, p, o):
        time.sleep(6e-5 * len(s))
        return table[s, p, o]

    return dataset, fast, slow, kg.evaluate(fast, dataset, progress=False)


def clocked(run):
    """Stop a real run; return for each metric whether its interval holds the true value, and the number of triples."""
    dataset, fast, slow, whole = slow_work()
    seconds = 0.8 + 0.8 * np.random.default_rng(run).random()
    result = kg.evaluate(slow, dataset, kg.Protocol(sample_seed=run), max_seconds=seconds, progress=False)
    again = kg.evaluate(fast, dataset, kg.Protocol(sample=len(result.table) // 2, sample_seed=run), progress=False)
    if not again.table.equals(result.table) or again.protocol != result.protocol:
        raise ValueError(f"run {run}: the partial result is not that of sample={len(result.table) // 2}")
    found = [result.interval(key) for key in KEYS]
    return [x.low <= whole[key] <= x.high for x, key in zip(found, KEYS)], len(result.table) // 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", default="", help="only designs that contain this word")
    parser.add_argument("--shared", help="the folder with data/models")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--clock", type=int, default=0, help="so many real runs with max_seconds=, and nothing else")
    options = parser.parse_args()
    if options.clock:
        with ProcessPoolExecutor(options.processes) as pool:
            stopped = list(pool.map(clocked, range(options.clock)))
        runs = [(held, n) for held, n in stopped if 100 <= n < 600]
        sizes = sorted(n for _, n in stopped)
        print(f"{len(stopped)} runs of {sizes[0]} to {sizes[-1]} of 600 triples, median {sizes[len(sizes) // 2]}: each")
        print(f"equals that of triples=; coverage in the {len(runs)} of 100 to 599 triples:")
        print(" ".join(f"{key} {share:.3f}" for key, share in zip(KEYS, np.mean([held for held, _ in runs], axis=0))))
        return
    todo = [cell for cell in cells(options.shared) if options.only in " ".join(cell[0])]
    margin = 2.5 * math.sqrt(0.95 * 0.05 / options.runs)
    outside = []
    print("| split | triples | " + " | ".join(f"{metric}: both / s / o" for metric in METRICS) + " |")
    print("|---|---|" + "---|" * len(METRICS))
    with ProcessPoolExecutor(options.processes) as pool:
        jobs = [pool.submit(covered, cell, options.runs, options.shared) for cell in todo]
        for ((kind, shape), m), job in zip(todo, jobs):
            found, size = job.result()
            shares = [f"{share:.3f}" + (f" ({gone:.0%} none)" if gone else "") for share, _, gone in found]
            rows = [" / ".join(shares[i : i + 3]) for i in range(0, len(shares), 3)]
            what = f"{m:,}" if isinstance(m, int) else f"stopped at {m:.0%}, about {size:,.0f}"
            print(f"| {kind} {shape} | {what} | " + " | ".join(rows) + " |", flush=True)
            for key, (share, below, _) in zip(KEYS, found):
                if not LOW - margin <= share <= HIGH + margin:
                    outside.append(f"- {kind} {shape}, {what}, {key}: {share:.3f} ({below:.3f} wholly below)")
    print(f"\n{len(outside)} of {len(todo) * len(KEYS)} cells are outside {LOW} to {HIGH}, by more than {margin:.3f}:")
    print("\n".join(outside))


if __name__ == "__main__":
    main()
