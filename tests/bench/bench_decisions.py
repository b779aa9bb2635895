"""Simulated families of differences: how often are equal models told apart, and how often is a better one found?

    python tests/bench/bench_decisions.py [--families 2000] [--only CELL] [--markdown]

Each family is one benchmark: models x runs x datasets, drawn as cluster sums. In the cells of `NULL` all models are
equally good; the figure is the share of families with one or more decided differences (family-wise error, 5% is
allowed). In the cells of `POWER` the first model is better by 4 true standard errors of a difference; the figure is the
share of its differences that are decided. In both, `disagree` counts rows whose interval and decision differ.

How run effects come about: ``global``: one number per run; ``relation``: one number per run and group of clusters, of
which there are ten of unequal size; ``entity``: the same with 60 groups, a few of them large. ``ranks``: the cluster
sums are reciprocal ranks of a hidden score, with a heavy tail; else they are normal. The run effects are normal, have
Student's t distribution with three degrees of freedom, or are normal with one run in ten that fails (it is 4 standard
deviations lower).

The tests are those of `kgeval.stats.runs` and `kgeval.stats.paired`, on arrays of many families at once; `check`
compares them with `compare_runs`, family by family.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import stdtr, stdtrit

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from kgeval.stats.clusters import Clusters
from kgeval.stats.corrections import holm_levels
from kgeval.stats.moments import Moments
from kgeval.stats.paired import compare_pairs
from kgeval.stats.runs import MIN_FREEDOM, Runs, compare_runs, spreads_differ, whole_variance

ALPHA, PART = 0.05, 250


@dataclass(frozen=True)
class Cell:
    """The settings of one cell."""

    name: str
    runs: tuple[int, ...]
    share: float = 0.5  # of the seeds in the variance of a difference of models with the median number of runs
    spread: str = "normal"
    effect: str = "global"
    ranks: bool = False
    ratios: tuple[float, ...] = ()  # the standard deviation of the seeds of each model, in units of the common one
    datasets: int = 1
    shift: float = 0.0  # of the first model, in true standard errors
    clusters: int = 100


NULL = (
    *(Cell(f"1,1,3,3 seeds {share:.0%}", (1, 1, 3, 3), share) for share in (0.2, 0.5, 0.9)),
    Cell("1,1,3,3 t3", (1, 1, 3, 3), spread="t3"),
    Cell("1,1,3,3 one run in ten fails", (1, 1, 3, 3), spread="fails"),
    Cell("1,1,3,3 reciprocal ranks", (1, 1, 3, 3), ranks=True),
    *(Cell(f"10/2,2,2,2 seeds {share:.0%}", (10, 2, 2, 2, 2), share) for share in (0.2, 0.9)),
    Cell("10/2,2,2,2 t3", (10, 2, 2, 2, 2), spread="t3"),
    Cell("10/2,2,2,2 one run in ten fails", (10, 2, 2, 2, 2), spread="fails"),
    Cell("10/3,3,3,3 seeds 50%", (10, 3, 3, 3, 3)),
    Cell("10/3,3,3,3 by entity, t3", (10, 3, 3, 3, 3), effect="entity", spread="t3"),
    Cell("5/2,2,2 seeds 50%", (5, 2, 2, 2)),
    Cell("5/2,2,2 by relation", (5, 2, 2, 2), effect="relation"),
    *(Cell(f"2/2/2/2 seeds {share:.0%}", (2,) * 4, share) for share in (0.2, 0.5, 0.9)),
    Cell("2/2/2/2 by relation, t3", (2,) * 4, effect="relation", spread="t3"),
    Cell("2/2/2/2 reciprocal ranks", (2,) * 4, ranks=True),
    Cell("2/2/2/2 one run in ten fails", (2,) * 4, spread="fails"),
    Cell("2/2/2/2 on 5 datasets", (2,) * 4, datasets=5),
    Cell("3/3/3 seeds 50%", (3,) * 3),
    Cell("3/3/3 seeds 90%", (3,) * 3, 0.9),
    Cell("3/3/3 by entity", (3,) * 3, effect="entity"),
    Cell("3/3/3 reciprocal ranks, 2 datasets", (3,) * 3, ranks=True, datasets=2),
    Cell("2 models, 2 runs, seeds 80%", (2,) * 2, 0.8),
    Cell("2 models, 3 runs, seeds 80%", (3,) * 2, 0.8),
    Cell("10 models, 2 runs", (2,) * 10),
    Cell("30 models, 2 runs", (2,) * 30),
    Cell("2 and 1 runs, seeds 80%", (2, 1), 0.8),
    Cell("4 models, single runs", (1,) * 4, 0.0),
    Cell("4 models, single runs, reciprocal ranks", (1,) * 4, 0.0, ranks=True),
    Cell("30 models, single runs, 300 clusters", (1,) * 30, 0.0, clusters=300),
    Cell("5/5/5 fourfold spread", (5,) * 3, ratios=(4.0, 1.0, 1.0)),
    Cell("5/5/5/5 fourfold spread, seeds 90%", (5,) * 4, 0.9, ratios=(4.0, 1.0, 1.0, 1.0)),
    Cell("3/3/3 fourfold spread", (3,) * 3, ratios=(4.0, 1.0, 1.0)),
    Cell("3/3/3/3 fourfold spread, seeds 90%", (3,) * 4, 0.9, ratios=(4.0, 1.0, 1.0, 1.0)),
    Cell("2/2/2/2 fourfold spread", (2,) * 4, ratios=(4.0, 1.0, 1.0, 1.0)),
    Cell("2/2/2/2 fourfold spread, seeds 90%", (2,) * 4, 0.9, ratios=(4.0, 1.0, 1.0, 1.0)),
)
POWER = tuple(
    Cell(f"{n}/{n}/{n}/{n} at 4 standard errors, seeds {share:.0%}", (n,) * 4, share, shift=4.0)
    for n in (2, 3)
    for share in (0.2, 0.5, 0.9)
)


def drawn_effects(rng: np.random.Generator, cell: Cell, shape: tuple[int, ...]) -> np.ndarray:
    """Return run effects with the variance 1."""
    if cell.spread == "t3":
        return rng.standard_t(3, shape) / np.sqrt(3.0)
    if cell.spread == "fails":
        fails = rng.random(shape) < 0.1
        return (rng.standard_normal(shape) - 4.0 * (fails - 0.1)) / np.sqrt(1.0 + 16.0 * 0.09)
    return rng.standard_normal(shape)


def drawn(rng: np.random.Generator, cell: Cell, n_families: int) -> np.ndarray:
    """Return cluster values of every run, shape (families, runs, clusters); their means are the values of the runs."""
    model = np.repeat(np.arange(len(cell.runs)), cell.runs)
    typical, n = float(np.median(cell.runs)), cell.clusters
    of_model, of_both = 1.0, 0.25
    per_mean = (of_model + of_both / typical) / n  # variance of a mean over clusters, without the seeds
    deviation = np.sqrt(cell.share / (1.0 - cell.share) * per_mean * typical) if cell.share else 0.0
    ratios = np.array(cell.ratios or [1.0] * len(cell.runs))[model]
    if cell.effect == "global":
        effects = drawn_effects(rng, cell, (n_families, len(model), 1))
    else:
        n_groups = 10 if cell.effect == "relation" else 60
        sizes = 1.0 / np.arange(1, n_groups + 1)
        groups = rng.choice(n_groups, size=n, p=sizes / sizes.sum())
        shares = np.bincount(groups, minlength=n_groups) / n
        effects = drawn_effects(rng, cell, (n_families, len(model), n_groups)) / np.sqrt(np.square(shares).sum())
        effects = effects[:, :, groups]
    values = rng.standard_normal((n_families, len(cell.runs), n))[:, model] * np.sqrt(of_model)
    values += deviation * ratios[:, None] * effects
    values += np.sqrt(of_both) * rng.standard_normal((n_families, len(model), n))
    if cell.shift:
        error = np.sqrt(2.0 * (per_mean + deviation**2 / typical))
        values[:, model == 0] += cell.shift * error
    if cell.ranks:
        hidden = 0.3 * values + 1.5 * rng.standard_normal((n_families, 1, n))
        return 1.0 / np.floor(np.exp(np.maximum(2.0 - hidden, 0.0)))
    return values


def tested(values: np.ndarray, runs: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return differences, errors, degrees of freedom and p-values of all pairs, shape (families, pairs)."""
    model, n = np.repeat(np.arange(len(runs)), runs), values.shape[2]
    of_models = np.stack([values[:, model == m].mean(axis=1) for m in range(len(runs))], axis=1)
    means, counts = of_models.mean(axis=2), np.array(runs, dtype=np.float64)
    apart = values - of_models[:, model]
    sums = np.stack([np.square(apart.mean(axis=2))[:, model == m].sum(axis=1) for m in range(len(runs))], axis=1)
    within = np.square(apart - apart.mean(axis=2, keepdims=True)).sum(axis=2) / (n * (n - 1.0))
    both = np.stack([within[:, model == m].sum(axis=1) for m in range(len(runs))], axis=1)
    freedom = counts.sum() - len(runs)
    with np.errstate(all="ignore"):
        single, single_both = sums / (counts - 1.0), both / (counts - 1.0)
    is_separate = spreads_differ(single, runs) if min(runs) > 1 else np.zeros(len(values), dtype=bool)
    found = []
    for i, j in itertools.combinations(range(len(runs)), 2):
        times = 1.0 / counts[i] + 1.0 / counts[j]
        of_runs, of_both = times * sums.sum(axis=1) / freedom, times * both.sum(axis=1) / freedom
        freedoms = np.full(len(values), freedom)
        if is_separate.any():
            parts = single[:, [i, j]] / counts[[i, j]]
            squares = (np.square(parts) / (counts[[i, j]] - 1.0)).sum(axis=1)
            of_runs = np.where(is_separate, parts.sum(axis=1), of_runs)
            of_both = np.where(is_separate, (single_both[:, [i, j]] / counts[[i, j]]).sum(axis=1), of_both)
            freedoms = np.where(is_separate, np.square(parts.sum(axis=1)) / squares, freedoms)
        of_clusters = (of_models[:, i] - of_models[:, j]).var(axis=1, ddof=1) / n
        exponent = 1.0 if min(runs[i], runs[j]) == 1 and freedom >= MIN_FREEDOM else None
        of_seeds, of_triples, of_all = whole_variance(
            of_clusters, of_runs, of_both, freedoms, np.full(len(values), n - 1.0), exponent
        )
        error, gap = np.sqrt(of_seeds + of_triples), means[:, i] - means[:, j]
        found.append((gap, error, of_all, 2.0 * stdtr(of_all, -np.abs(gap) / error)))
    return tuple(np.stack(parts, axis=1) for parts in zip(*found))


def decided(p_values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which tests Holm's method decides, and their levels, family by family."""
    levels = np.array([holm_levels(family, ALPHA) for family in p_values])
    return p_values <= levels, levels


def by_swaps(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which differences of single runs are decided, and whether their intervals exclude 0."""
    decisions, excluded = [], []
    for family in values:
        models = [[Moments(row[:, None])] for row in family]
        pairs = list(itertools.combinations(models, 2))
        found = [one for (one,) in compare_pairs(pairs, np.arange(family.shape[1]))]
        levels = holm_levels([one.p_value for one in found], ALPHA)
        is_decided = np.array([one.p_value for one in found]) <= levels
        limits = [one.interval(level, bool(sure)) for one, level, sure in zip(found, levels, is_decided)]
        decisions.append(is_decided)
        excluded.append([low > 0.0 or high < 0.0 for low, high in limits])
    return np.array(decisions), np.array(excluded)


def figures(cell: Cell, n_families: int, seed: int = 0) -> tuple[int, float, int]:
    """Return the number of families, the figure of the cell, and the number of rows that disagree."""
    rng, shares, disagree, n_done = np.random.default_rng([seed, *cell.name.encode()]), [], 0, 0
    if max(cell.runs) == 1 and len(cell.runs) > 10:
        n_families = min(n_families, 200)  # a second each
    while n_done < n_families:
        part = min(PART, n_families - n_done)
        decisions = []
        if max(cell.runs) == 1:
            sure, excluded = by_swaps(drawn(rng, cell, part))
            disagree += int((sure != excluded).sum())
        else:
            numbers = [tested(drawn(rng, cell, part), cell.runs) for _ in range(cell.datasets)]
            gaps, errors, freedoms, p_values = (np.concatenate(parts, axis=1) for parts in zip(*numbers))
            sure, levels = decided(p_values)
            reach = -stdtrit(freedoms, levels / 2.0) * errors
            disagree += int((sure != (np.abs(gaps) > reach)).sum())
        decisions = sure[:, : len(cell.runs) - 1].mean(axis=1) if cell.shift else sure.any(axis=1)
        shares += decisions.tolist()
        n_done += part
    return n_done, float(np.mean(shares)), disagree


def check() -> None:
    """Raise an AssertionError unless the arrays give what `compare_runs` gives."""
    rng = np.random.default_rng(0)
    for cell in (NULL[0], NULL[6], NULL[14], NULL[-6]):
        values = drawn(rng, cell, 5)
        *_, p_values = tested(values, cell.runs)
        ends = np.cumsum(cell.runs)
        for family, wanted in zip(values, p_values):
            clusters = Clusters.of(np.arange(cell.clusters), cell.clusters)
            systems = [
                Runs(tuple(Moments(row[:, None]) for row in family[end - n : end]), clusters)
                for end, n in zip(ends, cell.runs)
            ]
            pairs = list(itertools.combinations(range(len(systems)), 2))
            found = [one.p_value for one in compare_runs(systems, pairs)]
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", type=int, default=2000)
    parser.add_argument("--only", default="", help="a part of the names of cells")
    options = parser.parse_args()
    check()
    for title, cells in (("family-wise error", NULL), ("power", POWER)):
        print(f"| cell | families | {title} | disagree | seconds |\n|---|---|---|---|---|")
        for cell in cells:
            if options.only in cell.name:
                start = time.perf_counter()
                n, share, disagree = figures(cell, options.families)
                took = time.perf_counter() - start
                print(f"| {cell.name} | {n:,} | {share:.3f} | {disagree} | {took:.0f} |", flush=True)
        print()


if __name__ == "__main__":
    main()
