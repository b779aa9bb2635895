"""How often intervals of classification metrics hold the true value, and tests reject a true null hypothesis.

``python tests/bench/bench_classification_coverage.py`` prints two tables as Markdown (about 20 minutes with two
processors). Use ``--runs 200`` for a quick look. Scores of positives and negatives are normal, so that the true values
are known from one very large draw. Numbers of positives and negatives are fixed, as in a benchmark.

Designs: 100 or 1,000 examples; as many negatives as positives, or ten times as many; an AUC of 0.86 or 0.98; each
example independent (clusters by example), or a positive and its negatives correlated by 0.5 (clusters by positive).
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

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from kgeval.classification.example_clusters import metric_interval
from kgeval.errors import MetricError
from kgeval.metrics.pointwise.base import POINTS
from kgeval.stats.clusters import Clusters
from kgeval.stats.paired import compare_paired

RUNS = 2000
METRICS = (
    "accuracy", "precision", "recall", "specificity", "balanced_accuracy", "f1", "mcc", "auc", "ap", "gauc",
    "log_loss", "brier", "rmse", "mae", "pcopc",
)  # fmt: skip
N_TRUE = 1_000_000  # examples of the draw that gives the true values
N_GROUPS = 3  # of the GAUC; all have the same distribution, so that the true value is the AUC


def draw(rng, n, per_positive, shift, correlation, n_models=1):
    """Scores of `n_models` models for n // (1 + per_positive) positives and their negatives.

    Returns labels, scores (models, examples), clusters and groups. The scores of a model have a variance of 1; those of
    two models for the same example correlate by 0.5, apart from the correlation within clusters.
    """
    m = n // (1 + per_positive)
    shape = (m, 1 + per_positive)
    of_cluster = math.sqrt(correlation) * rng.normal(size=(m, 1))
    shared = rng.normal(size=shape)
    own = [rng.normal(size=shape) for _ in range(n_models)]
    parts = [shared * math.sqrt(0.5) + noise * math.sqrt(0.5) if n_models > 1 else noise for noise in own]
    labels = np.zeros(shape, dtype=bool)
    labels[:, 0] = True
    scores = [of_cluster + math.sqrt(1.0 - correlation) * part + shift * labels for part in parts]
    clusters = np.repeat(np.arange(m), 1 + per_positive)
    return labels.ravel(), np.array([score.ravel() for score in scores]), clusters, clusters % N_GROUPS


def predictions(scores, per_positive, shift):
    """What each kind of metric needs; the probabilities are overconfident."""
    odds = 1.3 * shift * (scores - shift / 2) - math.log(per_positive)
    p = 1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0)))
    cut = shift / 2 + math.log(per_positive) / shift
    return {"decisions": scores >= cut, "scores": scores, "probabilities": p, "values": p}


@cache
def truth(per_positive, shift, correlation):
    labels, (scores,), _, _ = draw(np.random.default_rng(1), N_TRUE, per_positive, shift, correlation)
    of = predictions(scores, per_positive, shift)
    parsed = {name: POINTS.parse("auc" if name == "gauc" else name) for name in METRICS}
    return {name: metric.measure(labels, of[metric.needs]).value for name, metric in parsed.items()}


def moments_of(name, labels, of, groups):
    """The moments of a metric; None where it has none."""
    metric = POINTS.parse(name)
    try:
        return metric.moments(labels, of[metric.needs], groups if metric.takes_groups else None)
    except MetricError:
        return None


def covered(design, runs):
    """For each metric, the share of intervals that hold the true value, and the share of draws without an interval."""
    n, per_positive, shift, correlation = design
    true = truth(per_positive, shift, correlation)
    rng, held, lacking = np.random.default_rng(2), dict.fromkeys(METRICS, 0), dict.fromkeys(METRICS, 0)
    for _ in range(runs):
        labels, (scores,), clusters, groups = draw(rng, n, per_positive, shift, correlation)
        of = predictions(scores, per_positive, shift)
        among = Clusters.of(clusters if correlation else np.arange(len(labels)), len(labels))
        for name in METRICS:
            moments = moments_of(name, labels, of, groups)
            low, high = math.nan, math.nan
            if moments is not None:
                found = metric_interval(POINTS.parse(name), [moments], among, 0.95)
                low, high = found.low, found.high
            lacking[name] += math.isnan(low)
            held[name] += low - 1e-9 <= true[name] <= high + 1e-9
    return {name: (held[name] / max(1, runs - lacking[name]), lacking[name] / runs) for name in METRICS}


def rejected(design, runs):
    """For each metric: how often p-values of equal models are at most 0.05, 0.2 and 0.5, and intervals hold 0."""
    n, per_positive, shift, correlation = design
    rng = np.random.default_rng(3)
    p_values, held = {name: [] for name in METRICS}, {name: [] for name in METRICS}
    for run in range(runs):
        labels, scores, clusters, groups = draw(rng, n, per_positive, shift, correlation, 2)
        both = [predictions(score, per_positive, shift) for score in scores]
        among = Clusters.of(clusters if correlation else np.arange(len(labels)), len(labels))
        for test, is_of_means in (("swaps", True), ("t", False)):
            names = [name for name in METRICS if POINTS.parse(name).is_of_means == is_of_means]
            pairs = {name: [moments_of(name, labels, of, groups) for of in both] for name in names}
            pairs = {name: pair for name, pair in pairs.items() if None not in pair}
            if pairs:
                first, second = zip(*pairs.values())
                found = compare_paired(first, second, among, n_resamples=199, seed=run, test=test)
                for name, difference in zip(pairs, found):
                    p_values[name].append(difference.p_value)
                    low, high = difference.interval(0.05)
                    held[name].append(low <= 0.0 <= high if low == low else math.nan)
    shares = {}
    for name in METRICS:
        p = np.array([value for value in p_values[name] if value == value])
        at_most = [float((p <= level).mean()) if len(p) else math.nan for level in (0.05, 0.2, 0.5)]
        kept = [value for value in held[name] if value == value]
        shares[name] = (*at_most, float(np.mean(kept)) if kept else math.nan)
    return shares


def designs():
    return list(itertools.product((100, 1000), (1, 10), (1.5, 3.0), (0.0, 0.5)))


def title(design):
    n, per_positive, shift, correlation = design
    return f"{n:,}, 1:{per_positive}, AUC {0.86 if shift == 1.5 else 0.98}, {'positive' if correlation else 'example'}"


def show(head, rows):
    """Print a Markdown table."""
    print("\n".join("| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows]), "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        found = list(pool.map(covered, designs(), itertools.repeat(options.runs)))
        rows = [
            (title(design), *(f"{share:.3f}" + (f" ({lacking:.0%} -)" if lacking > 0.005 else "")
                              for share, lacking in shares.values()))
            for design, shares in zip(designs(), found)
        ]  # fmt: skip
        show(("examples, ratio, AUC, clusters", *METRICS), rows)
        found = list(pool.map(rejected, designs(), itertools.repeat(options.runs)))
        for index, heading in enumerate(("p <= 0.05", "p <= 0.2", "p <= 0.5", "the interval holds 0")):
            rows = [
                (title(design), *(f"{numbers[index]:.3f}" for numbers in shares.values()))
                for design, shares in zip(designs(), found)
            ]
            show((f"{heading}: examples, ratio, AUC, clusters", *METRICS), rows)


if __name__ == "__main__":
    main()
