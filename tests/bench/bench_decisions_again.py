"""How often decisions err and find: a second generator, written without a look at that of `bench_decisions.py`.

``python tests/bench/bench_decisions_again.py`` prints one line per cell as soon as it is simulated (about 40 minutes
with one processor); ``--only 2/2/2/2`` runs the cells whose names contain this text, ``--families 200`` gives a quick
look. Each family goes through the core of all comparisons: `compare_runs`, then
`decided_rows`.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from kgeval.comparison.rows import Pair, decided_rows
from kgeval.stats.clusters import Clusters
from kgeval.stats.moments import Moments
from kgeval.stats.runs import Runs, compare_runs

ALPHA, SEED, N_PILOT = 0.05, 34, 400
OWN, WITH_RUN, OF_HUB = 0.8, 0.5, 0.5  # deviations: model x triple, run x triple, model x hub


def zipf_groups(n, count):
    """The group of each of n triples: `count` groups, whose sizes fall as 1 / rank."""
    shares = 1.0 / np.arange(1, count + 1)
    return np.searchsorted(np.cumsum(shares) / shares.sum(), (np.arange(n) + 0.5) / n)


@dataclass(frozen=True)
class Cell:
    """One design of families.

    runs: the number of runs of each model. share: the seeds' part in the variance of a difference. law: of the run
    effects. place: "all" triples share the effect of a run, or each "relation" (10) or "entity" (60 hubs) has its own.
    ranks: whether the values are reciprocal ranks. hubs: whether the clusters are the 60 hubs; else each triple is one.
    spreads: factors of the models' run effects. shift: the lead of the first model, in true standard errors. ladder:
    the distance of neighbouring single runs in true standard errors.
    """

    name: str
    runs: tuple
    share: float = 0.5
    law: str = "normal"
    place: str = "all"
    ranks: bool = False
    hubs: bool = False
    n: int = 300
    datasets: int = 1
    spreads: tuple = ()
    shift: float = 0.0
    ladder: float = 0.0

    @cached_property
    def groups(self):
        """The group of each triple within which a run has one effect."""
        if self.place == "relation":
            return np.random.default_rng(SEED).permutation(zipf_groups(self.n, 10))
        return self.hub_of if self.place == "entity" else np.zeros(self.n, dtype=int)

    @cached_property
    def hub_of(self):
        return zipf_groups(self.n, 60)

    @cached_property
    def clusters(self):
        return Clusters.of(self.hub_of if self.hubs else np.arange(self.n), self.n)

    def effects(self, rng, shape):
        """Run effects with variance 1."""
        if self.law == "t3":
            return rng.standard_t(3, size=shape) / math.sqrt(3.0)
        values = rng.normal(size=shape)
        if self.law == "fails":
            values = (values - 4.0 * (rng.random(shape) < 0.1)) / math.sqrt(1.0 + 16.0 * 0.09)
        return values

    def draw(self, rng, scale, delta=0.0):
        """The values of each model's runs on one dataset: arrays of shape (runs, n)."""
        hard = rng.exponential(2.2, self.n) if self.ranks else rng.normal(size=self.n)
        found = []
        for k, n_runs in enumerate(self.runs):
            values = hard + OWN * rng.normal(size=self.n) + WITH_RUN * rng.normal(size=(n_runs, self.n))
            if self.hubs:
                values += OF_HUB * rng.normal(size=60)[self.hub_of]
            of_runs = scale * self.effects(rng, (n_runs, int(self.groups.max()) + 1))[:, self.groups]
            if not self.ranks:
                values += self.spreads[k] * of_runs if self.spreads else of_runs
            else:  # a larger value is a better rank; 1 / rank has many small values and a few of 1
                merits = values + delta + (0.0 if self.spreads else of_runs)
                values = 1.0 / np.ceil(np.exp(np.maximum(hard + hard + 0.7 - merits, 0.0)))
                if self.spreads:  # at this end, since a larger spread of merits would be a better mean of 1 / rank
                    values += self.spreads[k] * of_runs
            found.append(values)
        return found

    @cached_property
    def scale(self):
        """The size of run effects that gives `share`, and the true standard errors of the pairs without and with it."""
        rng, order = np.random.default_rng([SEED, 1]), range(len(self.runs))
        pairs = list(itertools.combinations(order, 2))[:20]
        means = np.array([[x.mean() for x in self.draw(rng, 0.0)] for _ in range(N_PILOT)])
        of_triples = np.mean([np.square(means[:, i] - means[:, j]).mean() for i, j in pairs])
        if not self.share:
            return 0.0, math.sqrt(of_triples)
        slope = 1.0
        if self.ranks and not self.spreads:
            low, high = (
                np.mean([self.draw(np.random.default_rng(s), 0.0, d)[0].mean() for s in range(N_PILOT)])
                for d in (-0.2, 0.2)
            )
            slope = (high - low) / 0.4
        squares = np.square(np.bincount(self.groups) / self.n).sum()
        per_effect = squares * slope**2 * np.mean([1.0 / self.runs[i] + 1.0 / self.runs[j] for i, j in pairs])
        of_seeds = self.share / (1.0 - self.share) * of_triples
        return math.sqrt(of_seeds / per_effect), math.sqrt(of_seeds + of_triples)

    def family(self, rng):
        """The decided rows of one family."""
        (scale, error), pairs = self.scale, []
        indices = list(itertools.combinations(range(len(self.runs)), 2))
        for dataset in range(self.datasets):
            drawn = self.draw(rng, scale)
            for k in range(len(drawn)):
                drawn[k] = drawn[k] + error * (self.ladder * k + (self.shift if k == 0 else 0.0))
            systems = [Runs(tuple(Moments(x[:, None]) for x in values), self.clusters) for values in drawn]
            for (i, j), found in zip(indices, compare_runs(systems, indices)):
                means, n_runs = (systems[i].mean, systems[j].mean), (self.runs[i], self.runs[j])
                pairs.append(
                    Pair(f"d{dataset}", "mrr", (f"m{i}", f"m{j}"), means, found, n_runs=n_runs, more={"n": self.n})
                )
        return decided_rows(pairs, ALPHA)


def contradictions(rows):
    """How many rows have an interval and a decision that disagree, or a decision and a corrected p-value."""
    decided = rows["decision"].isin(["first", "second"])
    excludes = (rows["low"] > 0.0) | (rows["high"] < 0.0)
    first = rows["decision"] == "first"
    wrong_side = decided & (first != (rows["low"] > 0.0))
    return int(((decided != excludes) | (decided != (rows["p_corrected"] <= ALPHA)) | wrong_side).sum())


def fours(n, k=1):
    """Spreads of n models: k of them vary four times as much as the others."""
    return (4.0,) * k + (1.0,) * (n - k)


T, H, E = {"law": "t3"}, {"law": "fails"}, {"place": "entity", "hubs": True}
RR, REL = {"ranks": True}, {"place": "relation"}
MIXED, MIXED3, TWOS = (10, 2, 2, 2, 2), (10, 3, 3, 3, 3), (2, 2, 2, 2)
EQUAL = [
    Cell("1,1,3,3 normal", (1, 1, 3, 3)),
    Cell("1,1,3,3 fails, seeds 90%", (1, 1, 3, 3), 0.9, **H),
    Cell("1,1,3,3 t3, by relation, hubs", (1, 1, 3, 3), hubs=True, **T, **REL),
    Cell("1,1,3,3 ranks, by entity", (1, 1, 3, 3), **RR, **E),
    Cell("10/2,2,2,2 normal", MIXED),
    Cell("10/2,2,2,2 t3, seeds 90%", MIXED, 0.9, **T),
    Cell("10/2,2,2,2 fails", MIXED, **H),
    Cell("10/2,2,2,2 ranks, by entity", MIXED, **RR, **E),
    Cell("10/3,3,3,3 normal, seeds 90%", MIXED3, 0.9),
    Cell("10/3,3,3,3 ranks, t3, by relation", MIXED3, **RR, **T, **REL),
    Cell("10/3,3,3,3 fails, by entity", MIXED3, **H, **E),
    Cell("5/2,2,2 normal", (5, 2, 2, 2)),
    Cell("5/2,2,2 ranks, fails", (5, 2, 2, 2), **RR, **H),
    Cell("5/2,2,2 t3, by entity", (5, 2, 2, 2), **T, **E),
    Cell("2/2/2/2 seeds 10%", TWOS, 0.1),
    Cell("2/2/2/2 seeds 50%", TWOS),
    Cell("2/2/2/2 seeds 90%", TWOS, 0.9),
    Cell("2/2/2/2 ranks, hubs", TWOS, hubs=True, **RR),
    Cell("2/2/2/2 t3, by relation", TWOS, **T, **REL),
    Cell("2/2/2/2 fails", TWOS, **H),
    Cell("2/2/2/2 ranks, fails, by entity", TWOS, **RR, **H, **E),
    Cell("3/3/3 normal", (3, 3, 3)),
    Cell("3/3/3 fails, seeds 90%", (3, 3, 3), 0.9, **H),
    Cell("3/3/3 ranks, by entity", (3, 3, 3), **RR, **E),
    Cell("3/3/3 t3, by relation", (3, 3, 3), **T, **REL),
    Cell("2 models, 2 runs", (2,) * 2),
    Cell("2 models, 3 runs, ranks, hubs", (3,) * 2, hubs=True, **RR),
    Cell("2 models, 3 runs, seeds 90%", (3,) * 2, 0.9),
    Cell("2 models, 5 runs, fails", (5,) * 2, **H),
    Cell("8 models, 2 runs, ranks", (2,) * 8, **RR),
    Cell("15 models, 2 runs, t3", (2,) * 15, **T),
    Cell("30 models, 2 runs", (2,) * 30),
    Cell("3/3/3 on 2 datasets", (3, 3, 3), datasets=2),
    Cell("2/2/2 ranks, hubs, on 3 datasets", (2, 2, 2), datasets=3, hubs=True, **RR),
    Cell("2/2/2/2 fails on 5 datasets", TWOS, datasets=5, **H),
    Cell("4 single runs, ranks, hubs", (1,) * 4, 0.0, hubs=True, **RR),
    Cell("15 single runs, ranks", (1,) * 15, 0.0, **RR),
    Cell("30 single runs, ranks", (1,) * 30, 0.0, **RR),
]
FOURFOLD = [
    Cell("5/5 fourfold, seeds 90%", (5,) * 2, 0.9, spreads=fours(2)),
    Cell("5/5/5 fourfold", (5,) * 3, spreads=fours(3)),
    Cell("5/5/5/5 fourfold, seeds 90%", (5,) * 4, 0.9, spreads=fours(4)),
    Cell("5/5/5/5 two vary fourfold, seeds 90%", (5,) * 4, 0.9, spreads=fours(4, 2)),
    Cell("5/5/5/5 three vary fourfold", (5,) * 4, spreads=fours(4, 3)),
    Cell("5/5/5/5 fourfold, t3", (5,) * 4, spreads=fours(4), **T),
    Cell("5/5/5/5 fourfold, ranks, by entity", (5,) * 4, spreads=fours(4), **RR, **E),
    Cell("5/5/5/5 fourfold on 3 datasets", (5,) * 4, 0.9, spreads=fours(4), datasets=3),
    Cell("ten of 5 runs, one fourfold", (5,) * 10, spreads=fours(10)),
    Cell("2/2/2/2 fourfold", TWOS, spreads=fours(4)),
    Cell("2/2/2/2 two vary fourfold, seeds 90%", TWOS, 0.9, spreads=fours(4, 2)),
    Cell("3/3/3 fourfold", (3, 3, 3), spreads=fours(3)),
    Cell("3/3/3/3 fourfold, seeds 90%", (3,) * 4, 0.9, spreads=fours(4)),
    Cell("5/5/5/5 fourfold on 5 datasets", (5,) * 4, 0.9, spreads=fours(4), datasets=5),
]
POWER = [Cell(f"{n}/{n}/{n}/{n} seeds {s:.0%}", (n,) * 4, s, shift=4.0) for n in (2, 3) for s in (0.2, 0.5, 0.9)]
LADDERS = [
    Cell("15 single runs, a ladder", (1,) * 15, 0.0, ladder=2.0, **RR),
    Cell("30 single runs, a ladder", (1,) * 30, 0.0, ladder=1.0, **RR),
]


def simulate(cell, n_families, seed):  # the generator is default_rng([SEED, seed])
    """The figures of a cell: families that err, share of the leader's differences found, missed |z| > 6, and more."""
    rng, start = np.random.default_rng([SEED, seed]), time.process_time()
    n_err = n_found = n_far = n_missed = n_against = n_rows = 0
    for _ in range(n_families):
        rows = cell.family(rng)
        decided = rows["decision"].isin(["first", "second"]).to_numpy()
        of_leader = rows[["first", "second"]].eq("m0").any(axis=1).to_numpy()
        far = (rows["difference"].abs() > 6.0 * rows["error"]).to_numpy()
        n_err += bool(decided[~of_leader if cell.shift else slice(None)].any())
        n_found += int(decided[of_leader].sum())
        n_far, n_missed = n_far + int(far.sum()), n_missed + int((far & ~decided).sum())
        n_against, n_rows = n_against + contradictions(rows), n_rows + len(rows)
    found = n_found / (n_families * (len(cell.runs) - 1) * cell.datasets)
    return n_err / n_families, found, n_far, n_missed, n_against, n_rows, time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--families", type=int, default=2000)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    print("kind\tcell\tfamilies\terr\tfound\tz_above_6\tmissed\tcontradictions\trows\tseconds", flush=True)
    kinds = (("equal", EQUAL), ("fourfold", FOURFOLD), ("power", POWER), ("ladder", LADDERS))
    for start, (kind, cells) in zip(range(100, 500, 100), kinds):
        for seed, cell in enumerate(cells, start):
            if arguments.only in f"{kind} {cell.name}":
                err, found, far, missed, against, n_rows, seconds = simulate(cell, arguments.families, seed)
                figures = f"{err:.4f}\t{found:.3f}\t{far}\t{missed}\t{against}\t{n_rows}\t{seconds:.0f}"
                print(f"{kind}\t{cell.name}\t{arguments.families}\t{figures}", flush=True)


if __name__ == "__main__":
    main()
