"""How often planned tests find a difference, orders repeat, margin tests err, and differences of macro averages cover.

``python tests/bench/bench_planning.py`` prints Markdown tables; use ``--runs 300 --only power`` for a quick look.
Ranks are log-normal, two for each triple; the models of a design share the difficulty of the triples.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from kgeval.stats import (
    Moments,
    Support,
    compare_macro,
    compare_paired,
    non_inferiority,
    order_repeats,
    plan_clusters,
    tost,
)

RUNS = 2000
N_CANDIDATES = 500
ALPHA = 0.05
METRICS = {  # name: values of ranks, mean of log ranks, higher is better
    "mrr": (lambda ranks: 1.0 / ranks, 1.5, True),
    "hits@1, few": (lambda ranks: (ranks <= 1).astype(float), 2.0, True),
    "hits@10, many": (lambda ranks: (ranks <= 10).astype(float), 1.5, True),
    "mr": (lambda ranks: ranks, 1.5, False),
}


def ranks(rng, n, shifts, mean, own=0.6):
    """Ranks of several models, shape (models, n, 2): a difficulty that all share, and a part of each model."""
    hard = 0.7 * rng.normal(size=(n, 1)) + 0.7 * rng.normal(size=(n, 2))
    logs = mean + hard + own * rng.normal(size=(len(shifts), n, 2)) + np.asarray(shifts)[:, None, None]
    return np.ceil(np.exp(logs)).clip(1, N_CANDIDATES)


def values(metric, of_ranks):
    return Moments(METRICS[metric][0](of_ranks).reshape(-1, 1))


def by_triple(n):
    return np.repeat(np.arange(n), 2)


def true_difference(metric, shifts, **options):
    """The difference of the true values of two models, from 2 million triples."""
    rng, total = np.random.default_rng(1), 0.0
    for _ in range(10):
        of_ranks = ranks(rng, 200_000, shifts, METRICS[metric][1], **options)
        total += float((METRICS[metric][0](of_ranks[0]) - METRICS[metric][0](of_ranks[1])).mean()) / 10
    return total


def power(runs):
    """The power of tests with as many triples as planned; the pilot has 2,000 triples."""
    print("| metric | true difference | pilot | tests | planned triples (mean, deviation) | power (planned 0.80) |")
    print("|---|---|---|---|---|---|")
    n_pilots = 20
    for metric, (_, mean, _) in METRICS.items():
        shifts = (-0.25, 0.0) if metric == "hits@1, few" else (-0.1, 0.0)
        difference = true_difference(metric, shifts)
        for pilot, of_pilot in (("the same models", shifts), ("equal models", (0.0, 0.0))):
            for n_tests in (1, 5):
                rng, n_found, planned = np.random.default_rng(7), 0, []
                for _ in range(n_pilots):
                    of_ranks = ranks(rng, 2000, of_pilot, mean)
                    pair = [values(metric, part) for part in of_ranks]
                    plan = plan_clusters(*pair, by_triple(2000), difference, alpha=ALPHA / n_tests)
                    planned.append(n := int(plan.n_needed))
                    for _ in range(runs // n_pilots):
                        pair = [values(metric, part) for part in ranks(rng, n, shifts, mean)]
                        found = compare_paired([pair[0]], [pair[1]], by_triple(n), n_resamples=999)[0]
                        n_found += found.p_value <= ALPHA / n_tests and found.value * difference > 0
                rate = n_found / (runs // n_pilots * n_pilots)
                print(
                    f"| {metric} | {difference:+.4f} | {pilot} | {n_tests} | {np.mean(planned):.0f}, "
                    f"{np.std(planned):.0f} | {rate:.3f} |",
                    flush=True,
                )


def repeats(runs):
    """How often the order of three models repeats; their true shifts are drawn anew in each run."""
    print("| triples | deviation of the true log ranks | pairs: predicted | repeat | orders: predicted | repeat | ")
    print("|---|---|---|---|---|---|")
    for n, spread in ((300, 0.02), (300, 0.1), (300, 0.5), (40, 0.5)):
        rng, predicted, happened = np.random.default_rng(3), [], []
        for _ in range(runs):
            shifts = spread * rng.normal(size=3)
            of_ranks = ranks(rng, n, shifts, 1.5)
            moments = [values("mrr", part) for part in of_ranks]
            errors, freedom = np.zeros((3, 3)), n
            for i, j in ((0, 1), (0, 2), (1, 2)):
                found = compare_paired([moments[i]], [moments[j]], by_triple(n), n_resamples=1)[0]
                errors[i, j] = errors[j, i] = found.error
                freedom = min(freedom, found.freedom)
            old = np.array([float(part.number) for part in moments])
            new = np.array([float(values("mrr", part).number) for part in ranks(rng, n, shifts, 1.5)])
            expected = order_repeats(old, errors, freedom, n_draws=2000)
            predicted.append((expected.pairs[0, 1], expected.order))
            is_same = (np.argsort(-old) == np.argsort(-new)).all()
            happened.append(((old[0] > old[1]) == (new[0] > new[1]), is_same))
        told, real = np.mean(predicted, axis=0), np.mean(happened, axis=0)
        print(f"| {n} | {spread} | {told[0]:.3f} | {real[0]:.3f} | {told[1]:.3f} | {real[1]:.3f} |", flush=True)


def margins(runs):
    """How often margin tests decide if the true difference is exactly the margin: all these decisions are false."""
    print("| metric | triples | margin | equivalent | not inferior | inferior beyond the margin |")
    print("|---|---|---|---|---|---|")
    for metric, (_, mean, higher) in METRICS.items():
        for n, shift, own in ((100, 0.1, 0.6), (1000, 0.1, 0.6), (300, 0.02, 0.1)):
            shifts = (shift, 0.0)  # the first model is worse
            margin = abs(true_difference(metric, shifts, own=own))
            largest = 1.0 if metric != "mr" else N_CANDIDATES - 1.0
            rng, counts = np.random.default_rng(5), np.zeros(3)
            for _ in range(runs):
                pair = [values(metric, part) for part in ranks(rng, n, shifts, mean, own)]
                found = compare_paired([pair[0]], [pair[1]], by_triple(n), n_resamples=1)[0]
                support = Support(found.n_differing, found.n_effective if found.error >= 0 else n, largest)
                numbers = (found.value, found.error, found.freedom, margin)
                half = non_inferiority(*numbers, higher_is_better=higher, support=support)
                both = tost(*numbers, support=support)
                counts += [both.p_value <= ALPHA, half.p_value <= ALPHA, half.p_beyond <= ALPHA]
            shown = " | ".join(f"{count / runs:.3f}" for count in counts)
            print(f"| {metric} | {n}{', similar models' if own < 0.5 else ''} | {margin:.4f} | {shown} |", flush=True)


def rare(runs):
    """The worst case for few differing clusters: the first model only loses hits, each triple with probability q."""
    print("| triples | true difference = margin | expected differing triples | equivalent |")
    print("|---|---|---|---|")
    for n, q in (
        (50, 0.02),
        (50, 0.06),
        (100, 0.05),
        (300, 0.005),
        (300, 0.01),
        (300, 0.02),
        (300, 0.04),
        (3000, 0.01),
    ):
        rng, n_equivalent = np.random.default_rng(6), 0
        for _ in range(runs):
            lost = rng.random((n, 1)) < q
            pair = Moments(np.where(lost, 0.0, 1.0)), Moments(np.ones((n, 1)))
            found = compare_paired([pair[0]], [pair[1]], np.arange(n), n_resamples=1)[0]
            support = Support(found.n_differing, n, 1.0)
            n_equivalent += tost(found.value, found.error, n - 1, q, support=support).p_value <= ALPHA
        print(f"| {n} | {q} | {n * q:g} | {n_equivalent / runs:.3f} |", flush=True)


def macro(runs):
    """How often the 95% interval of the difference of two macro averages holds the true difference."""
    print("| relations | triples of a relation | metric | coverage | rejected (equal models) |")
    print("|---|---|---|---|---|")
    for n_groups, size in ((40, 2), (40, 5), (8, 30), (40, "2 to 50")):
        for metric in ("mrr", "hits@10, many"):
            rng, counts = np.random.default_rng(8), np.zeros(2)
            sizes = np.full(n_groups, size) if size != "2 to 50" else np.geomspace(2, 50, n_groups).round().astype(int)
            truths = {shift: true_difference(metric, (shift, 0.0)) for shift in (-0.2, 0.0)}
            for _ in range(runs):
                for place, shift in enumerate((-0.2, 0.0)):
                    parts = [[], []]
                    for n in sizes:
                        for part, of_ranks in zip(parts, ranks(rng, n, (shift, 0.0), 1.5)):
                            part.append(values(metric, of_ranks))
                    found = compare_macro(parts[0], parts[1], by_triple(sizes.sum()))
                    holds = found.low <= truths[shift] <= found.high
                    counts[place] += holds if shift else found.p_value <= ALPHA
            print(f"| {n_groups} | {size} | {metric} | {counts[0] / runs:.3f} | {counts[1] / runs:.3f} |", flush=True)


TABLES = {"power": power, "repeats": repeats, "margins": margins, "rare": rare, "macro": macro}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", choices=TABLES)
    options = parser.parse_args()
    print(
        f"{options.runs:,} runs a row; simulation error of a share of 0.05: {math.sqrt(0.05 * 0.95 / options.runs):.3f}"
    )
    for name, table in TABLES.items():
        if options.only in (None, name):
            print(f"\n{table.__doc__}\n")
            table(options.runs)


if __name__ == "__main__":
    main()
