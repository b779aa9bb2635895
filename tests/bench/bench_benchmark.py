"""Simulated benchmarks: how often are equal models called different, and how often do intervals hold the true value?

    python tests/bench/bench_benchmark.py [--repetitions 1000] [--quick]

Each repetition draws a benchmark: models x seeds x datasets. The ranks follow from a hidden score, which has parts of
the test triple (it is easy or hard for all models), of the model and triple, of the run, and of the run and triple. All
models are equally good, and the spread of the seeds is zero, small or large beside that of the triples. Settings such
as "1/3" have two models with different numbers of runs that spread alike.

Printed for each setting: the share of repetitions in which at least one difference is significant at 5%, with Holm's
correction and with maxT, and the share of 95% intervals of differences and of means that hold the true value.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from kgeval.stats import Clusters, Moments, Runs, bounded_joint, compare_runs, holm, joint_p_values, mean_over_runs

# (models, seeds, datasets, standard deviation of the seeds in the hidden score)
SETTINGS = [
    *((models, 1, datasets, 0.0) for models, datasets in ((3, 1), (5, 2))),
    *((models, 3, datasets, deviation) for deviation in (0.0, 0.03, 0.1, 0.5) for models, datasets in ((3, 1), (5, 5))),
    *((models, 2, 1, deviation) for models in (3, 6) for deviation in (0.03, 0.1, 0.5)),
    *((10, 3, 2, deviation) for deviation in (0.0, 0.1)),
    *((models, 10, 2, deviation) for deviation in (0.0, 0.1, 0.5) for models in (3, 5)),
    *((2, seeds, 1, deviation) for deviation in (0.1, 0.5) for seeds in ((1, 3), (3, 10))),
    *((3, seeds, 1, deviation) for deviation in (0.03, 0.1) for seeds in ((1, 2, 2), (1, 3, 3), (2, 3, 5))),
]
N_CLUSTERS, N_RESAMPLES = 200, 999
OF_TRIPLES, OF_MODEL, OF_RUN, LEVEL = 1.5, 0.3, 0.5, 1.5


def drawn_systems(
    rng: np.random.Generator, seeds: Sequence[int], deviation: float, n_clusters: int = N_CLUSTERS
) -> list[Runs]:
    """Return models that are equally good, each with its number of runs, over 1 to 3 ranks of `n_clusters` triples."""
    sizes = rng.choice([1, 2, 3], size=n_clusters)
    of_cluster = np.repeat(np.arange(n_clusters), sizes)
    clusters = Clusters.of(of_cluster, len(of_cluster))
    shared = rng.normal(0.0, OF_TRIPLES, n_clusters)
    systems = []
    for n_seeds in seeds:
        easy = shared + rng.normal(0.0, OF_MODEL, n_clusters)
        runs = []
        for _ in range(n_seeds):
            hidden = easy[of_cluster] + rng.normal(0.0, deviation) + rng.normal(0.0, OF_RUN, len(of_cluster))
            ranks = np.floor(np.exp(np.maximum(LEVEL - hidden, 0.0)))
            runs.append(Moments(1.0 / ranks[:, None]))
        systems.append(Runs(tuple(runs), clusters))
    return systems


def true_mean(deviation: float) -> float:
    """Return the expected reciprocal rank, by a fine grid over the sum of all hidden parts, which is normal."""
    whole = np.sqrt(OF_TRIPLES**2 + OF_MODEL**2 + OF_RUN**2 + deviation**2)
    grid = np.linspace(-9.0, 9.0, 2_000_001)
    weights = np.exp(-np.square(grid) / 2.0)
    ranks = np.floor(np.exp(np.maximum(LEVEL - whole * grid, 0.0)))
    return float((weights / ranks).sum() / weights.sum())


def simulate(setting: tuple[int, int | tuple[int, ...], int, float], repetitions: int, seed: int) -> dict[str, float]:
    """Return the shares of one setting; see the module."""
    n_models, n_seeds, n_datasets, deviation = setting
    seeds = (n_seeds,) * n_models if isinstance(n_seeds, int) else n_seeds
    rng = np.random.default_rng([seed, *seeds, n_datasets, int(1000 * deviation)])
    truth = true_mean(deviation)
    counts = dict.fromkeys(("holm", "maxT", "differences", "n_differences", "means", "n_means"), 0)
    pairs = [(d, i, j) for d in range(n_datasets) for j in range(n_models) for i in range(j)]
    for repetition in range(repetitions):
        families = [drawn_systems(rng, seeds, deviation) for _ in range(n_datasets)]
        found = [compare_runs(families[d][i], families[d][j]) for d, i, j in pairs]
        p_values = np.array([pair.p_value for pair in found])
        counts["holm"] += bool(holm(p_values).min() <= 0.05)
        joint = joint_p_values(families, pairs, n_resamples=N_RESAMPLES, seed=repetition)
        n_runs = np.array([pair.n_runs for pair in found])
        counts["maxT"] += bool(bounded_joint(joint, p_values, n_runs).min() <= 0.05)
        counts["differences"] += sum(pair.low <= 0.0 <= pair.high for pair in found)
        counts["n_differences"] += len(found)
        means = [mean_over_runs(runs, bounds=(0.0, 1.0)) for systems in families for runs in systems]
        counts["means"] += sum(mean.low <= truth <= mean.high for mean in means)
        counts["n_means"] += len(means)
    return {
        "holm": counts["holm"] / repetitions,
        "maxT": counts["maxT"] / repetitions,
        "differences": counts["differences"] / counts["n_differences"],
        "means": counts["means"] / counts["n_means"],
    }


def main() -> None:
    """Run all settings and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--quick", action="store_true", help="only the settings with three models")
    options = parser.parse_args()
    print("models seeds datasets deviation |  Holm   maxT | coverage of differences, of means | seconds", flush=True)
    for setting in SETTINGS:
        if options.quick and setting[0] > 3:
            continue
        start = time.perf_counter()
        shares = simulate(setting, options.repetitions, options.seed)
        tested = f"{shares['holm']:.3f}  {shares['maxT']:.3f} | {shares['differences']:.3f} {shares['means']:.3f}"
        seconds = time.perf_counter() - start
        models, seeds, datasets, deviation = setting
        shown = str(seeds) if isinstance(seeds, int) else "/".join(map(str, seeds))
        print(f"{models:6} {shown:>5} {datasets:8} {deviation:9} | {tested} | {seconds:.0f}", flush=True)


if __name__ == "__main__":
    main()
