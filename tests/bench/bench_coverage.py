"""How often intervals hold the true value, how often tests reject a true null hypothesis, and power at `detectable`.

Prints the tables of the guide's page "decisions", as Markdown: ``python tests/bench/bench_coverage.py`` (about 15
minutes with two processors). ``--runs 200 --only macro`` for a quick look. Each design draws ranks from a known
distribution, so that the true value is known, or computed from many draws.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from statistics import NormalDist

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from kgeval.stats import (
    Clusters,
    Grouping,
    Moments,
    bootstrap_interval,
    compare_paired,
    macro_interval,
    robust_interval,
)

RUNS = 2000
MEAN, SD, N_CANDIDATES = 1.5, 1.2, 500  # of the logarithm of a rank, and the largest rank
UNIT, ABOVE_ONE = (0.0, 1.0), (1.0, math.inf)


# --- ranks whose metrics are known ---------------------------------------------------------------------------------


def ranks_of(z):
    """Ranks from standard normal numbers: log-normal, rounded up, at most `N_CANDIDATES`."""
    return np.minimum(np.ceil(np.exp(MEAN + SD * z)), N_CANDIDATES)


@cache
def true_mean(metric, shift=0.0, spread=1.0):
    """The mean of a metric's value over `ranks_of` of normal numbers with this mean and deviation, by probabilities."""
    normal = NormalDist(MEAN + SD * shift, SD * spread)
    reached = [0.0, *(normal.cdf(math.log(rank)) for rank in range(1, N_CANDIDATES)), 1.0]
    return float((np.diff(reached) * METRICS[metric][0](np.arange(1.0, N_CANDIDATES + 1.0))).sum())


def exp_of_mean(means):
    return np.exp(means[..., 0])


# Each metric: the value of one rank, how the mean is finished, and its bounds.
METRICS = {
    "mrr": (lambda ranks: 1.0 / ranks, None, UNIT),
    "hits@10": (lambda ranks: (ranks <= 10).astype(float), None, UNIT),
    "gmr": (np.log, exp_of_mean, ABOVE_ONE),
    "mr": (lambda ranks: ranks, None, ABOVE_ONE),
}


def moments_of(metric, ranks):
    value, finish, _ = METRICS[metric]
    column = value(np.asarray(ranks, dtype=np.float64)).reshape(-1, 1)
    return Moments(column) if finish is None else Moments(column, finish)


def true_value(metric):
    finish, mean = METRICS[metric][1], true_mean(metric)
    return mean if finish is None else float(finish(np.array([mean])))


def shared(rng, share, n, each):
    """Standard normal numbers, shape (n, each): those of a row have the correlation `share`."""
    return math.sqrt(share) * rng.normal(size=(n, 1)) + math.sqrt(1.0 - share) * rng.normal(size=(n, each))


def interval(method, moments, clusters, bounds, seed):
    if method == "robust":
        return robust_interval(moments, clusters, bounds=bounds)
    return bootstrap_interval(moments, clusters, method=method, n_resamples=399, seed=seed, bounds=bounds)


# --- designs of intervals: each takes a random generator, and returns an interval and the true value ---------------


def two_sides(rng, method, metric, n):
    """n triples, two ranks each; correlation 1/2."""
    moments = moments_of(metric, ranks_of(shared(rng, 0.5, n, 2)))
    found = interval(method, moments, np.repeat(np.arange(n), 2), METRICS[metric][2], int(rng.integers(2**31)))
    return found, true_value(metric)


def near_one(rng, method, p, n):
    """n triples, two ranks each: 1 with probability p, else from 2 to 99 with probability ~ 1 / rank."""
    others = 1.0 / np.arange(2, 100)
    share = others / others.sum()
    uniform = np.where(rng.random((n, 2)) < 0.4, rng.random((n, 1)), rng.random((n, 2)))
    values = np.where(uniform < p, 1.0, rng.choice(others, p=share, size=(n, 2))).reshape(-1, 1)
    found = interval(method, Moments(values), np.repeat(np.arange(n), 2), UNIT, int(rng.integers(2**31)))
    return found, p + (1.0 - p) * float((others * share).sum())


def shares(rng, method, p, n, each):
    """n clusters of `each` observations, 1 with probability p; the two of a cluster are equal in half of the cases."""
    uniform = np.where(rng.random((n, each)) < 0.5, rng.random((n, 1)), rng.random((n, each)))
    values = (uniform < p).astype(float).reshape(-1, 1)
    return interval(method, Moments(values), np.repeat(np.arange(n), each), UNIT, int(rng.integers(2**31))), p


def query_clusters(subjects, objects, cluster):
    """Clusters of the queries (s, ?) and (?, o) of all pairs; members in the order of sides."""
    n = len(subjects)
    labels = np.concatenate([subjects, objects + subjects.max() + 1])
    _, queries = np.unique(labels, return_inverse=True)
    count = int(queries.max()) + 1
    if cluster == "query":
        return queries, count, Clusters(Grouping.of(queries, count, queries))
    if cluster == "triple":
        return queries, count, Clusters.crossed(queries, np.tile(np.arange(n), 2), count, queries)
    return queries, count, Clusters.crossed(np.tile(subjects, 2), np.tile(objects, 2), count, queries)


def query_values(metric, ranks, queries, count):
    """One value per query: the mean reciprocal rank of its answers, or whether one of them is among the first 10."""
    if metric == "query.map":
        return np.bincount(queries, weights=1.0 / ranks, minlength=count) / np.bincount(queries, minlength=count)
    return (np.bincount(queries, weights=ranks <= 10, minlength=count) > 0).astype(float)


def both_sides_of_queries(rng, method, metric, share, kind, n, cluster="triple", truth=None):
    """Query metrics of n triples of one relation; the two ranks of a triple have the correlation `share`.

    1-1: each query has one answer. N-1: an object has five subjects in the mean.
    """
    subjects = np.arange(n)
    objects = np.arange(n) if kind == "1-1" else rng.integers(max(2, n // 5), size=n)
    ranks = ranks_of(shared(rng, share, n, 2)).T.ravel()
    queries, count, clusters = query_clusters(subjects, objects, cluster)
    values = query_values(metric, ranks, queries, count).reshape(-1, 1)
    found = interval(method, Moments(values), clusters, UNIT, 0)
    return found, truth if truth is not None else true_mean("mrr" if metric == "query.map" else "hits@10")


def macro(rng, method, metric, sizes):
    """Macro average over 40 relations of different difficulty; `sizes` triples each, or Zipf sizes (at least 2)."""
    counts = np.maximum(2, 200 // np.arange(1, 41)) if sizes == "Zipf" else np.full(40, sizes)
    relation = np.repeat(np.arange(40), counts)
    offset = np.linspace(-0.8, 0.8, 40)
    z = shared(rng, 0.5, len(relation), 2) * 0.8 + offset[relation][:, None]
    value = METRICS[metric][0](ranks_of(z))
    parts = [Moments(value[relation == r].reshape(-1, 1)) for r in range(40)]
    truth = float(np.mean([true_mean(metric, shift, 0.8) for shift in offset.tolist()]))
    return macro_interval(parts, np.repeat(np.arange(len(relation)), 2), bounds=UNIT), truth


def zipf_clusters(rng, method, metric, n_clusters, share):
    """Clusters of sizes 200, 100, 67, ..., whose ranks have the correlation `share`."""
    sizes = np.maximum(1, 200 // np.arange(1, n_clusters + 1))
    cluster = np.repeat(np.arange(n_clusters), sizes)
    z = math.sqrt(share) * rng.normal(size=n_clusters)[cluster]
    z = z + math.sqrt(1.0 - share) * rng.normal(size=len(cluster))
    found = interval(method, moments_of(metric, ranks_of(z)), cluster, METRICS[metric][2], int(rng.integers(2**31)))
    return found, true_value(metric)


def weighted(rng, method, metric, n):
    """n triples, two ranks each; weights by degree: Pareto with exponent 1.2, at most 200."""
    weights = np.minimum(200.0, np.ceil(rng.pareto(1.2, size=(n, 2)) + 1.0)).ravel()
    moments = moments_of(metric, ranks_of(shared(rng, 0.5, n, 2))).weighted(weights)
    found = interval(method, moments, np.repeat(np.arange(n), 2), METRICS[metric][2], int(rng.integers(2**31)))
    return found, true_value(metric)


def graph(rng, kind):
    """Subjects and objects of the triples of a random graph with popular entities."""
    if kind == "N-1":  # 300 subjects with one of 40 objects
        return np.arange(300), rng.choice(40, size=300, p=popular(40))
    pairs = rng.choice(80, size=400, p=popular(80)), rng.choice(60, size=400, p=popular(60))
    return tuple(np.unique(np.stack(pairs, axis=1), axis=0).T)


def popular(n):
    weights = 1.0 / np.arange(5, n + 5)
    return weights / weights.sum()


def entity_effects(rng, subjects, objects):
    """Standard normal numbers of both ranks of each triple: what its subject, its object and the triple add."""
    effect = 0.5 * rng.normal(size=subjects.max() + 1)[subjects] + 0.6 * rng.normal(size=objects.max() + 1)[objects]
    rest = math.sqrt(1.0 - 0.25 - 0.36)
    return effect[:, None] + rest * shared(rng, 0.3, len(subjects), 2)


def redrawn_entities(rng, method, metric, kind, cluster):
    """All entities of a graph are new in each run; ranks depend on the subject and on the object."""
    subjects, objects = graph(rng, kind)
    ranks = ranks_of(entity_effects(rng, subjects, objects))
    if metric.startswith("query."):
        queries, count, clusters = query_clusters(subjects, objects, cluster)
        values = query_values(metric, ranks.T.ravel(), queries, count).reshape(-1, 1)
        return robust_interval(Moments(values), clusters, bounds=UNIT), true_mean("mrr")
    n = 2 * len(subjects)
    clusters = np.repeat(np.arange(len(subjects)), 2)
    if cluster == "entity":
        clusters = Clusters.crossed(np.repeat(subjects, 2), np.repeat(objects, 2), n)
    return robust_interval(moments_of(metric, ranks), clusters, bounds=METRICS[metric][2]), true_value(metric)


POPULATION = np.random.default_rng(20261122)
WHOLE = ranks_of(shared(POPULATION, 0.5, 400, 2))
GROUP = np.sort(POPULATION.integers(8, size=400))


def sampled(rng, method, metric, average):
    """200 of the 400 triples of a test split, without replacement; the value of the whole split is to be covered."""
    value = METRICS[metric][0]
    rows = np.sort(rng.choice(400, 200, replace=False))
    ranks, group = WHOLE[rows], GROUP[rows]
    if average == "micro":
        clusters = np.repeat(np.arange(200), 2)
        return robust_interval(moments_of(metric, ranks), clusters, bounds=UNIT, sampled_share=0.5), value(WHOLE).mean()
    parts = [Moments(value(ranks[group == g]).reshape(-1, 1)) for g in range(8)]
    truth = np.mean([value(WHOLE[g == GROUP]).mean() for g in range(8)])
    return macro_interval(parts, np.repeat(np.arange(200), 2), bounds=UNIT, sampled_share=0.5), truth


# --- designs of comparisons: each returns the two systems as moments, and the clusters -----------------------------


def null_two_sides(rng, metric, n):
    hard, luck = shared(rng, 0.6, n, 2), rng.normal(size=(2, n, 2)) * 0.5
    pair = [moments_of(metric, ranks_of(0.85 * hard + part)) for part in luck]
    return *pair, np.repeat(np.arange(n), 2)


def null_rare(rng, metric, p, n):
    """Hits with probability p, half of them shared by both systems."""
    uniform = rng.random((n, 1))
    values = [np.where(rng.random((n, 1)) < 0.5, uniform, rng.random((n, 1))) < p for _ in range(2)]
    return *(Moments(part.astype(float)) for part in values), np.arange(n)


def null_queries(rng, metric, share, kind, n):
    subjects = np.arange(n)
    objects = np.arange(n) if kind == "1-1" else rng.integers(max(2, n // 5), size=n)
    queries, count, clusters = query_clusters(subjects, objects, "triple")
    hard = 0.8 * shared(rng, share, n, 2)
    pair = []
    for _ in range(2):
        ranks = ranks_of(hard + 0.6 * shared(rng, share, n, 2)).T.ravel()
        pair.append(Moments(query_values(metric, ranks, queries, count).reshape(-1, 1)))
    return *pair, clusters


def null_zipf(rng, metric, n_clusters, share):
    sizes = np.maximum(1, 200 // np.arange(1, n_clusters + 1))
    cluster = np.repeat(np.arange(n_clusters), sizes)
    pair = []
    for _ in range(2):
        z = math.sqrt(share) * rng.normal(size=n_clusters)[cluster]
        pair.append(moments_of(metric, ranks_of(z + math.sqrt(1.0 - share) * rng.normal(size=len(cluster)))))
    return *pair, cluster


def null_entities(rng, metric, kind):
    subjects, objects = graph(rng, kind)
    pair = [moments_of(metric, ranks_of(entity_effects(rng, subjects, objects))) for _ in range(2)]
    return *pair, Clusters.crossed(np.repeat(subjects, 2), np.repeat(objects, 2), 2 * len(subjects))


# --- cells ---------------------------------------------------------------------------------------------------------


def cells():
    """All cells of the table of coverage: (design, metric, method, cluster, function, arguments)."""
    methods = ("robust", "percentile", "bca")
    for n, metric, method in itertools.product((50, 300), ("mrr", "hits@10", "gmr"), methods):
        yield f"{n} triples", metric, method, "triple", two_sides, (metric, n)
    for n, method in itertools.product((300, 2000), methods):
        yield f"{n} triples", "mr", method, "triple", two_sides, ("mr", n)
    for p, n, method in itertools.product((0.9, 0.97, 0.99), (100, 500), methods):
        yield f"{n} triples, rank 1 in {p:.0%}", "mrr", method, "triple", near_one, (p, n)
    for p, n in itertools.product((0.02, 0.97), (20, 50, 100)):
        yield f"{n} triples, p = {p}", "hits@10", "robust", "triple", shares, (p, n, 2)
        yield f"{n} queries, p = {p}", "query.success@10", "robust", "triple", shares, (p, n, 1)
    for kind, share, metric in itertools.product(("1-1", "N-1"), (0.0, 0.5, 0.9), ("query.map", "query.success@10")):
        for cluster in ("triple", "query"):
            design = f"{kind}, 200 triples, sides correlate by {share}"
            yield design, metric, "robust", cluster, both_sides_of_queries, (metric, share, kind, 200, cluster)
    for sizes, metric in itertools.product((1, 2, 3, 5, "Zipf"), ("mrr", "hits@10")):
        yield f"macro, 40 relations, {sizes} triples each", metric, "robust", "triple", macro, (metric, sizes)
    for n, share, metric in itertools.product((10, 30, 100), (0.1, 0.5, 0.9), ("mrr", "hits@10", "gmr")):
        design = f"{n} clusters of Zipf sizes, correlation {share}"
        for method in methods if metric == "mrr" and share == 0.5 else ("robust",):
            yield design, metric, method, "array", zipf_clusters, (metric, n, share)
    for n, metric in itertools.product((100, 500), ("mrr", "hits@10")):
        yield f"{n} triples, weights by degree", metric, "robust", "triple", weighted, (metric, n)
    for kind, metric, cluster in itertools.product(
        ("N-1", "N-N"), ("mrr", "hits@10", "gmr", "query.map"), ("triple", "entity")
    ):
        yield f"{kind}, other entities", metric, "robust", cluster, redrawn_entities, (metric, kind, cluster)
    for metric, average in itertools.product(("mrr", "hits@10"), ("micro", "macro")):
        yield f"half of the split drawn, {average}", metric, "robust", "triple", sampled, (metric, average)


def test_cells():
    """All cells of the table of tests under the null hypothesis: (design, metric, cluster, function, arguments)."""
    for n, metric in itertools.product((50, 300), ("mrr", "hits@10")):
        yield f"{n} triples", metric, "triple", null_two_sides, (metric, n)
    yield "300 ranks, p = 0.02", "hits@10", "triple", null_rare, ("hits@10", 0.02, 300)
    yield "300 ranks, p = 0.3", "hits@10", "triple", null_rare, ("hits@10", 0.3, 300)
    for kind, share, metric in itertools.product(("1-1", "N-1"), (0.0, 0.5, 0.9), ("query.map", "query.success@10")):
        design = f"{kind}, 200 triples, sides correlate by {share}"
        yield design, metric, "triple", null_queries, (metric, share, kind, 200)
    for n, share in itertools.product((10, 30), (0.1, 0.9)):
        yield f"{n} clusters of Zipf sizes, correlation {share}", "mrr", "array", null_zipf, ("mrr", n, share)
    for kind, metric in itertools.product(("N-1", "N-N"), ("mrr", "hits@10")):
        yield f"{kind}, other entities", metric, "entity", null_entities, (metric, kind)


def covered(cell, runs):
    """Return how often the interval holds the true value, and how often there was none, each as a share of the runs."""
    *_, method, _, function, arguments = cell
    if function is both_sides_of_queries:
        arguments = (*arguments, true_query_value(*arguments[:4]))
    rng, held, lacking = np.random.default_rng([7, runs]), 0, 0
    for _ in range(runs):
        found, truth = function(rng, method, *arguments)
        lacking += math.isnan(found.low)
        held += found.low - 1e-12 <= truth <= found.high + 1e-12
    return held / max(1, runs - lacking), lacking / runs


def true_query_value(metric, share, kind, n):
    """The true value of a query metric: known with one answer per query, else a mean over 4,000 draws."""
    if metric == "query.map" or kind == "1-1":
        return None
    rng = np.random.default_rng(5)
    return float(np.mean([both_sides_of_queries(rng, "robust", metric, share, kind, n)[0].value for _ in range(4000)]))


def rejected(cell, runs):
    """Return how often the test rejects a true null hypothesis at 5%; the mean number of differing clusters."""
    *_, function, arguments = cell
    rng, rejections, differing = np.random.default_rng([8, runs]), 0, 0
    for run in range(runs):
        first, second, clusters = function(rng, *arguments)
        (found,) = compare_paired([first], [second], clusters, n_resamples=199, seed=run)
        rejections += found.p_value <= 0.05
        differing += found.n_differing
    return rejections / runs, differing / runs


def power(cell, runs):
    """Return the mean `detectable` of null samples, and how often a true difference of this size is found."""
    metric, p, n = cell
    rng = np.random.default_rng([9, runs])
    sizes = []
    for _ in range(300):
        first, second, clusters = power_pair(rng, metric, p, n, 0.0)
        sizes.append(compare_paired([first], [second], clusters, n_resamples=199)[0].detectable)
    size, found = float(np.nanmean(sizes)), 0
    for run in range(runs):
        first, second, clusters = power_pair(rng, metric, p, n, size)
        found += compare_paired([first], [second], clusters, n_resamples=999, seed=run)[0].p_value <= 0.05
    return size, found / runs


def power_pair(rng, metric, p, n, rise):
    """Two systems; the true value of the first is `rise` higher."""
    if metric == "hits":
        values = [(rng.random((n, 1)) < share).astype(float) for share in (p + rise, p)]
        return *map(Moments, values), np.arange(n)
    # The first system's log ranks are lower by `shift` standard deviations, so that its MRR is higher by `rise`.
    hard, shift = 0.85 * shared(rng, 0.6, n, 2), shift_of(rise)
    luck = [math.sqrt(1.0 - 0.85**2) * rng.normal(size=(n, 2)) for _ in range(2)]
    ranks = [ranks_of(hard + luck[0] - shift), ranks_of(hard + luck[1])]
    return *(moments_of("mrr", part) for part in ranks), np.repeat(np.arange(n), 2)


@cache
def shift_of(rise):
    low, high = 0.0, 3.0
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if true_mean("mrr", -middle) - true_mean("mrr") < rise else (low, middle)
    return low


def show_coverage(kept, found):
    """Print one row per design, cluster and method, and one column per metric."""
    metrics = list(dict.fromkeys(cell[1] for cell in kept))
    rows = {}
    for (design, metric, method, cluster, *_), (share, lacking) in zip(kept, found):
        shown = "no interval" if lacking == 1.0 else f"{share:.3f}" + (f" (none in {lacking:.1%})" if lacking else "")
        rows.setdefault((design, cluster, method), {})[metric] = shown
    show(
        ("design", "cluster", "method", *metrics),
        ([*key, *(row.get(m, "") for m in metrics)] for key, row in rows.items()),
    )


def show(head, rows):
    """Print a Markdown table whose columns are aligned, so that it reads well in a terminal too."""
    rows = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    print("\n".join([lines[0], rule, *lines[1:]]), end="\n\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", default="", help="only designs or metrics whose name contains this text")
    options = parser.parse_args()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        kept = [cell for cell in cells() if options.only in " ".join(cell[:4])]
        show_coverage(kept, pool.map(covered, kept, itertools.repeat(options.runs)))
        kept = [cell for cell in test_cells() if options.only in " ".join(cell[:3])]
        found = pool.map(rejected, kept, itertools.repeat(options.runs))
        rows = ((*cell[:3], f"{share:.3f}", f"{n:.0f}") for cell, (share, n) in zip(kept, found))
        show(("design", "metric", "cluster", "rejected at 5%", "differing clusters"), rows)
        cases = [("mrr", 0.0, 100), ("mrr", 0.0, 500), ("hits", 0.02, 300), ("hits", 0.3, 300), ("hits", 0.02, 3000)]
        kept = [case for case in cases if options.only in case[0] or not options.only]
        found = pool.map(power, kept, itertools.repeat(options.runs))
        rows = (
            (m, f"{p:g}" if p else "", str(n), f"{size:.4f}", f"{share:.3f}")
            for (m, p, n), (size, share) in zip(kept, found)
        )
        show(("metric", "p", "n", "detectable", "found"), rows)


if __name__ == "__main__":
    main()
