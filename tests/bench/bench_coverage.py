"""How often intervals hold the true value, tests reject a true null hypothesis, and `detectable` is detected.

``python tests/bench/bench_coverage.py`` prints the tables of the guide's page "decisions" as Markdown (about 15 minutes
with two processors). Use ``--runs 200 --only macro`` for a quick look. Each design draws ranks from a known
distribution. So its true value is known exactly, or it is computed from many draws.
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
from kgeval.stats.clusters import Clusters, Grouping
from kgeval.stats.intervals import macro_interval, robust_interval
from kgeval.stats.moments import Moments
from kgeval.stats.paired import compare_paired

RUNS = 2000
MEAN, SD, N_CANDIDATES = 1.5, 1.2, 500  # mean and deviation of log ranks, largest rank
UNIT, ABOVE_ONE = (0.0, 1.0), (1.0, math.inf)


# --- ranks whose metrics are known ---------------------------------------------------------------------------------


def ranks_of(z):
    """Ranks from standard normal numbers: log-normal, rounded up, at most `N_CANDIDATES`."""
    return np.minimum(np.ceil(np.exp(MEAN + SD * z)), N_CANDIDATES)


@cache
def true_mean(metric, shift=0.0, spread=1.0):
    """The exact mean of a metric over `ranks_of(z)`; z is normal, with mean `shift` and standard deviation `spread`."""
    normal = NormalDist(MEAN + SD * shift, SD * spread)
    reached = [0.0, *(normal.cdf(math.log(rank)) for rank in range(1, N_CANDIDATES)), 1.0]
    return float((np.diff(reached) * METRICS[metric][0](np.arange(1.0, N_CANDIDATES + 1.0))).sum())


def exp_of_mean(means):
    return np.exp(means[..., 0])


# For each metric: the value of one rank, the function that turns the mean into the metric (None: the mean), its bounds.
METRICS = {
    "mrr": (lambda ranks: 1.0 / ranks, None, UNIT),
    "hits@10": (lambda ranks: (ranks <= 10).astype(float), None, UNIT),
    "gmr": (np.log, exp_of_mean, ABOVE_ONE),
    "mr": (lambda ranks: ranks, None, ABOVE_ONE),
    "hits@1": (lambda ranks: (ranks == 1).astype(float), None, UNIT),
}


def moments_of(metric, ranks):
    value, finish, _ = METRICS[metric]
    column = value(np.asarray(ranks, dtype=np.float64)).reshape(-1, 1)
    return Moments(column) if finish is None else Moments(column, finish)


def true_value(metric):
    finish, mean = METRICS[metric][1], true_mean(metric)
    return mean if finish is None else float(finish(np.array([mean])))


def shared(rng, share, n, each):
    """Standard normal numbers, shape (n, each); numbers of the same row have the correlation `share`."""
    return math.sqrt(share) * rng.normal(size=(n, 1)) + math.sqrt(1.0 - share) * rng.normal(size=(n, each))


def interval(method, moments, clusters, bounds, seed):
    """The interval of a statistic; `method` is "robust", and no seed is needed."""
    return robust_interval(moments, clusters, bounds=bounds)


# --- designs of intervals: each takes a random generator, and returns an interval and the true value ---------------


def two_sides(rng, method, metric, n):
    """n triples with two ranks each; the log ranks of a triple have the correlation 1/2."""
    moments = moments_of(metric, ranks_of(shared(rng, 0.5, n, 2)))
    found = interval(method, moments, np.repeat(np.arange(n), 2), METRICS[metric][2], int(rng.integers(2**31)))
    return found, true_value(metric)


def near_one(rng, method, p, n):
    """n triples with two ranks each: 1 with probability p, else 2 to 99 with probabilities that fall as 1 / rank."""
    others = 1.0 / np.arange(2, 100)
    share = others / others.sum()
    uniform = np.where(rng.random((n, 2)) < 0.4, rng.random((n, 1)), rng.random((n, 2)))
    values = np.where(uniform < p, 1.0, rng.choice(others, p=share, size=(n, 2))).reshape(-1, 1)
    found = interval(method, Moments(values), np.repeat(np.arange(n), 2), UNIT, int(rng.integers(2**31)))
    return found, p + (1.0 - p) * float((others * share).sum())


def shares(rng, method, p, n, each):
    """n clusters of `each` zeros and ones: 1 with probability p; half of them copy a common draw of their cluster."""
    uniform = np.where(rng.random((n, each)) < 0.5, rng.random((n, 1)), rng.random((n, each)))
    values = (uniform < p).astype(float).reshape(-1, 1)
    return interval(method, Moments(values), np.repeat(np.arange(n), each), UNIT, int(rng.integers(2**31))), p


def query_clusters(subjects, objects, cluster):
    """The query of each rank (first all (s, ?), then all (?, o)), the number of queries, and the queries' clusters."""
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
    """One value per query: its average precision, or whether one of its answers is among the first 10.

    `ranks` are filtered: the position of the i-th best answer of a query is its rank plus i - 1.
    """
    if metric == "query.map":
        order = np.lexsort((ranks, queries))
        n_answers = np.bincount(queries, minlength=count)
        place = np.arange(len(ranks)) - np.repeat(np.cumsum(n_answers) - n_answers, n_answers)  # 0, 1, ... in a query
        precision = (place + 1.0) / (ranks[order] + place)
        return np.bincount(queries[order], weights=precision, minlength=count) / n_answers
    return (np.bincount(queries, weights=ranks <= 10, minlength=count) > 0).astype(float)


def both_sides_of_queries(rng, method, metric, share, kind, n, cluster="triple", truth=None):
    """Query metrics of n triples of one relation; the two ranks of a triple have the correlation `share`.

    1-1: each query has one answer. N-1: an object has five subjects on average.
    """
    subjects = np.arange(n)
    objects = np.arange(n) if kind == "1-1" else rng.integers(max(2, n // 5), size=n)
    ranks = ranks_of(shared(rng, share, n, 2)).T.ravel()
    queries, count, clusters = query_clusters(subjects, objects, cluster)
    values = query_values(metric, ranks, queries, count).reshape(-1, 1)
    found = interval(method, Moments(values), clusters, UNIT, 0)
    return found, math.nan if truth is None else truth


def random_ranks(rng, method, n):
    """n triples with two independent ranks each, from 1 to 1,000 with equal probability."""
    values = 1.0 / rng.integers(1, 1001, size=(2 * n, 1))
    found = interval(method, Moments(values), np.repeat(np.arange(n), 2), UNIT, int(rng.integers(2**31)))
    return found, float((1.0 / np.arange(1, 1001)).mean())


def macro(rng, method, metric, sizes):
    """Macro average over relations of different difficulty.

    `sizes` is the number of triples of each of 40 relations, "Zipf", or a tuple with one number per relation.
    """
    if isinstance(sizes, tuple):
        counts = np.array(sizes)
    else:
        counts = np.maximum(2, 200 // np.arange(1, 41)) if sizes == "Zipf" else np.full(40, sizes)
    n_relations = len(counts)
    relation = np.repeat(np.arange(n_relations), counts)
    offset = np.linspace(-0.8, 0.8, n_relations)
    z = shared(rng, 0.5, len(relation), 2) * 0.8 + offset[relation][:, None]
    value = METRICS[metric][0](ranks_of(z))
    parts = [Moments(value[relation == r].reshape(-1, 1)) for r in range(n_relations)]
    truth = float(np.mean([true_mean(metric, shift, 0.8) for shift in offset.tolist()]))
    return macro_interval(parts, np.repeat(np.arange(len(relation)), 2), bounds=UNIT), truth


def zipf_clusters(rng, method, metric, n_clusters, share):
    """Clusters of sizes 200, 100, 67, ...; the log ranks of a cluster have the correlation `share`."""
    sizes = np.maximum(1, 200 // np.arange(1, n_clusters + 1))
    cluster = np.repeat(np.arange(n_clusters), sizes)
    z = math.sqrt(share) * rng.normal(size=n_clusters)[cluster]
    z = z + math.sqrt(1.0 - share) * rng.normal(size=len(cluster))
    found = interval(method, moments_of(metric, ranks_of(z)), cluster, METRICS[metric][2], int(rng.integers(2**31)))
    return found, true_value(metric)


def weighted(rng, method, metric, n, is_related=False, truth=None):
    """n triples with two ranks each; the weights of the ranks have a Pareto distribution, exponent 1.2, at most 200.

    With `is_related`, triples of popular entities rank better: their weights and log ranks correlate by about -0.5.
    """
    z = shared(rng, 0.5, n, 2)
    normal = -0.5 * z + math.sqrt(0.75) * rng.normal(size=(n, 2)) if is_related else rng.normal(size=(n, 2))
    upper = np.array([NormalDist().cdf(-x) for x in normal.ravel()])
    weights = np.minimum(200.0, np.ceil(upper ** (-1.0 / 1.2)))
    moments = moments_of(metric, ranks_of(z)).weighted(weights)
    found = interval(method, moments, np.repeat(np.arange(n), 2), METRICS[metric][2], int(rng.integers(2**31)))
    return found, true_value(metric) if truth is None else truth


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
    """Standard normal numbers for both ranks of each triple: the effects of its subject, its object and the rest."""
    effect = 0.5 * rng.normal(size=subjects.max() + 1)[subjects] + 0.6 * rng.normal(size=objects.max() + 1)[objects]
    rest = math.sqrt(1.0 - 0.25 - 0.36)
    return effect[:, None] + rest * shared(rng, 0.3, len(subjects), 2)


def redrawn_entities(rng, method, metric, kind, cluster, truth=None):
    """All entities of a graph are new in each run; ranks depend on the subject and on the object."""
    subjects, objects = graph(rng, kind)
    ranks = ranks_of(entity_effects(rng, subjects, objects))
    if metric.startswith("query."):
        queries, count, clusters = query_clusters(subjects, objects, cluster)
        values = query_values(metric, ranks.T.ravel(), queries, count).reshape(-1, 1)
        return robust_interval(Moments(values), clusters, bounds=UNIT), math.nan if truth is None else truth
    n = 2 * len(subjects)
    clusters = np.repeat(np.arange(len(subjects)), 2)
    if cluster == "entity":
        clusters = Clusters.crossed(np.repeat(subjects, 2), np.repeat(objects, 2), n)
    return robust_interval(moments_of(metric, ranks), clusters, bounds=METRICS[metric][2]), true_value(metric)


POPULATION = np.random.default_rng(20261122)
WHOLE = ranks_of(shared(POPULATION, 0.5, 400, 2))
GROUP = np.sort(POPULATION.integers(8, size=400))


def sampled(rng, method, metric, average):
    """200 of the 400 triples of a test split, without replacement; the true value is that of the whole split."""
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
    """Hits with probability p; each system copies half of its values from draws that both systems share."""
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
    methods = ("robust",)
    for n, metric, method in itertools.product((50, 300), ("mrr", "hits@10", "gmr"), methods):
        yield f"{n} triples", metric, method, "triple", two_sides, (metric, n)
    for n, method in itertools.product((100, 300, 2000), methods):
        yield f"{n} triples", "mr", method, "triple", two_sides, ("mr", n)
    for p, n, method in itertools.product((0.9, 0.97, 0.99), (100, 500), methods):
        yield f"{n} triples, rank 1 in {p:.0%}", "mrr", method, "triple", near_one, (p, n)
    for n, method in itertools.product((100, 500), methods):
        yield f"{n} triples, random ranks", "mrr", method, "triple", random_ranks, (n,)
    for p, n in itertools.product((0.02, 0.97), (20, 50, 100)):
        yield f"{n} triples, {p:.0%} hits", "hits@10", "robust", "triple", shares, (p, n, 2)
        yield f"{n} queries, {p:.0%} hits", "query.success@10", "robust", "triple", shares, (p, n, 1)
    for kind, share, metric in itertools.product(("1-1", "N-1"), (0.0, 0.5, 0.9), ("query.map", "query.success@10")):
        for cluster in ("triple", "query"):
            design = f"{kind}, 200 triples, correlation {share}"
            yield design, metric, "robust", cluster, both_sides_of_queries, (metric, share, kind, 200, cluster)
    for sizes, metric in itertools.product((1, 2, 3, 5, "Zipf"), ("mrr", "hits@10")):
        sized = "1 triple" if sizes == 1 else f"{sizes} sizes" if sizes == "Zipf" else f"{sizes} triples"
        yield f"40 relations, {sized}", metric, "robust", "triple", macro, (metric, sizes)
    for metric in ("mrr", "hits@10"):
        yield "4 relations: 500, 100, 2, 2 triples", metric, "robust", "triple", macro, (metric, (500, 100, 2, 2))
    for n, share, metric in itertools.product((10, 30, 100), (0.1, 0.5, 0.9), ("mrr", "hits@10", "hits@1", "gmr")):
        design = f"{n} Zipf clusters, correlation {share}"
        for method in methods if metric == "mrr" and share == 0.5 else ("robust",):
            yield design, metric, method, "array", zipf_clusters, (metric, n, share)
    for n, metric in itertools.product((100, 500), ("mrr", "hits@10")):
        yield f"{n} triples, weights by degree", metric, "robust", "triple", weighted, (metric, n)
        design = f"{n} triples, weights related to ranks"
        yield design, metric, "robust", "triple", weighted, (metric, n, True)
    for kind, metric, cluster in itertools.product(
        ("N-1", "N-N"), ("mrr", "hits@10", "gmr", "query.map"), ("triple", "entity")
    ):
        yield kind, metric, "robust", cluster, redrawn_entities, (metric, kind, cluster)
    for metric, average in itertools.product(("mrr", "hits@10"), ("micro", "macro")):
        yield f"half of the split, {average}", metric, "robust", "triple", sampled, (metric, average)


def null_cells():
    """All cells of the table of tests under the null hypothesis: (design, metric, cluster, function, arguments)."""
    for n, metric in itertools.product((10, 50, 300), ("mrr", "hits@10")):
        yield f"{n} triples", metric, "triple", null_two_sides, (metric, n)
    yield "300 ranks, 2% hits", "hits@10", "triple", null_rare, ("hits@10", 0.02, 300)
    yield "300 ranks, 30% hits", "hits@10", "triple", null_rare, ("hits@10", 0.3, 300)
    for kind, share, metric in itertools.product(("1-1", "N-1"), (0.0, 0.5, 0.9), ("query.map", "query.success@10")):
        design = f"{kind}, 200 triples, correlation {share}"
        yield design, metric, "triple", null_queries, (metric, share, kind, 200)
    for n, share in itertools.product((10, 30), (0.1, 0.9)):
        yield f"{n} Zipf clusters, correlation {share}", "mrr", "array", null_zipf, ("mrr", n, share)
    for kind, metric in itertools.product(("N-1", "N-N"), ("mrr", "hits@10")):
        yield kind, metric, "entity", null_entities, (metric, kind)


def covered(cell, runs):
    """Return the share of the intervals that hold the true value, and the share of the runs without an interval."""
    *_, method, _, function, arguments = cell
    if function is both_sides_of_queries:
        arguments = (*arguments, true_query_value(*arguments[:4]))
    elif function is redrawn_entities and arguments[0] == "query.map":
        arguments = (*arguments, mean_value(function, (*arguments[:2], "query"), 20_000))
    elif function is weighted and len(arguments) > 2:
        arguments = (
            *arguments,
            float(weighted(np.random.default_rng(5), "robust", arguments[0], 10**6, True)[0].value),
        )
    rng, held, lacking = np.random.default_rng([7, runs]), 0, 0
    for _ in range(runs):
        found, truth = function(rng, method, *arguments)
        lacking += math.isnan(found.low)
        held += found.low - 1e-12 <= truth <= found.high + 1e-12
    return held / max(1, runs - lacking), lacking / runs


def true_query_value(metric, share, kind, n):
    """The true value of a query metric: exact if each query has one answer, else a mean over many draws."""
    if kind == "1-1":
        return true_mean("mrr" if metric == "query.map" else "hits@10")
    return mean_value(both_sides_of_queries, (metric, share, kind, n, "query"), 4000)


def mean_value(function, arguments, n_draws):
    rng = np.random.default_rng(5)
    return float(np.mean([function(rng, "robust", *arguments)[0].value for _ in range(n_draws)]))


def rejected(cell, runs):
    """Return how often a test at 5% rejects, how often an interval holds the true 0, and the mean of `n_differing`."""
    *_, function, arguments = cell
    rng, rejections, held, differing = np.random.default_rng([8, runs]), 0, 0, 0
    for run in range(runs):
        first, second, clusters = function(rng, *arguments)
        (found,) = compare_paired([first], [second], clusters, n_resamples=199, seed=run)
        rejections += found.p_value <= 0.05
        low, high = found.interval(0.05)
        held += not (low > 0.0 or high < 0.0)
        differing += found.n_differing
    return rejections / runs, held / runs, differing / runs


def power(cell, runs):
    """Return the mean `detectable` of two equal systems, and how often a true difference of this size is found."""
    metric, p, n = cell
    rng = np.random.default_rng([9, runs])
    sizes = []
    for _ in range(300):
        first, second, clusters = power_pair(rng, metric, p, n, 0.0)
        sizes.append(compare_paired([first], [second], clusters, n_resamples=199)[0].detectable(0.05))
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


# The tables of coverage: the functions of the designs, the title, and the meaning of the words in the designs.
SECTIONS = (
    ((two_sides, near_one, random_ranks), "Two ranks a triple",
     "Designs that give only a number of triples: the two log ranks of a triple correlate by 0.5. Designs with many "
     "ranks 1: the other ranks are from 2 to 99. Random ranks: all ranks from 1 to 1,000 are equally likely, so the "
     "MRR is 0.0075 and depends on few ranks."),
    ((shares,), "Rare and frequent hits",
     "Each rank (in designs with triples) or each query is a hit with the given probability. With few ranks or "
     "queries, the share of hits has few possible values, so coverage cannot be exactly 0.95."),
    ((both_sides_of_queries,), "Query-level metrics of both sides",
     "1-1: each query has one answer. N-1: a query for the subject has five answers on average. The correlation is "
     "that of the two log ranks of a triple."),
    ((macro,), "Macro averages",
     "The relations differ in difficulty; the design gives the number of triples of each relation. Zipf sizes: 200, "
     "100, 67, ..., 5."),
    ((zipf_clusters, weighted), "Clusters and weights of unequal size",
     "Zipf: clusters of 200, 100, 67, ... ranks; the correlation is that of log ranks in the same cluster; hits@1 is "
     "0.11. Weights by degree are from 1 to 200 (Pareto). Weights related to ranks: the triples of popular entities "
     "rank better (correlation -0.5)."),
    ((redrawn_entities,), "Other entities",
     "All entities are new in each draw, and ranks depend on both entities of a triple. N-1: 300 subjects, 40 popular "
     "and rare objects; N-N: 80 subjects, 60 objects, 400 pairs. The rows with clusters by `triple` show how often "
     "intervals fail if the clusters do not match the draws."),
    ((sampled,), "Samples", "200 of 400 triples are drawn; the true value is that of all 400."),
)  # fmt: skip


def show_coverage(kept, found):
    """Print one table for each of `SECTIONS`, with a row per design, cluster and method, and a column per metric."""
    found = dict(zip(kept, found))
    for functions, title, about in SECTIONS:
        part = [cell for cell in found if cell[4] in functions]
        metrics, rows = list(dict.fromkeys(cell[1] for cell in part)), {}
        for cell in part:
            (design, metric, method, cluster), (share, lacking) = cell[:4], found[cell]
            none = f" (no interval in {lacking:.1%})" if lacking else ""
            shown = "no interval" if lacking == 1.0 else f"{share:.3f}{none}"
            rows.setdefault((design, cluster, method), {})[metric] = shown
        if rows:
            print(f"*{title}.* {about}\n")
            head = ("design", "cluster", "method", *metrics)
            show(head, ([*key, *(row.get(m, "") for m in metrics)] for key, row in rows.items()))


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
        kept = [cell for cell in null_cells() if options.only in " ".join(cell[:3])]
        found = pool.map(rejected, kept, itertools.repeat(options.runs))
        rows = ((*cell[:3], f"{p:.3f}", f"{held:.3f}", f"{n:.0f}") for cell, (p, held, n) in zip(kept, found))
        show(("design", "metric", "cluster", "p <= 0.05", "interval holds 0", "differing clusters"), rows)
        cases = [("mrr", 0.0, 100), ("mrr", 0.0, 500), ("hits", 0.02, 300), ("hits", 0.3, 300), ("hits", 0.02, 3000)]
        kept = [case for case in cases if options.only in case[0] or not options.only]
        found = pool.map(power, kept, itertools.repeat(options.runs))
        rows = (
            (m, f"{p:.0%}" if p else "", str(n), f"{size:.4f}", f"{share:.3f}")
            for (m, p, n), (size, share) in zip(kept, found)
        )
        show(("metric", "hits", "observations", "detectable", "found"), rows)


if __name__ == "__main__":
    main()
