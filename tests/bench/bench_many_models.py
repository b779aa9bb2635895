"""30 models compared in five metrics on as many ranks as FB15k-237 has: wall and processor time of `kgeval.compare`.

The ranks are drawn, since the time does not depend on where they come from: a triple is about as hard for all models.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

import kgeval as kg

N_TRIPLES, N_ENTITIES, N_RELATIONS = 20_466, 14_541, 237
METRICS = "mrr,hits@1,hits@3,hits@10,mr"
BAR = 30.0  # seconds of wall time


def drawn_results(n_models: int) -> dict[str, kg.EvaluationResult]:
    """Return results with heavy-tailed ranks, each model a little worse than the one before."""
    rng = np.random.default_rng(0)
    places = rng.choice(N_ENTITIES * N_ENTITIES, size=N_TRIPLES, replace=False)
    test = np.stack([places // N_ENTITIES, rng.integers(N_RELATIONS, size=N_TRIPLES), places % N_ENTITIES], axis=1)
    dataset = kg.Dataset.from_arrays(test=test, n_entities=N_ENTITIES, n_relations=N_RELATIONS)
    triples, sides = np.repeat(test, 2, axis=0), np.tile(["subject", "object"], N_TRIPLES)
    hardness, results = rng.normal(2.0, 2.0, size=len(triples)), {}
    for i in range(n_models):
        ranks = np.exp(hardness + rng.normal(0.01 * i, 0.7, size=len(triples))).clip(1, N_ENTITIES / 2).round()
        given = kg.GivenRanks.from_arrays(triples, sides, ranks, N_ENTITIES, filtered="after")
        results[f"model {i}"] = kg.evaluate_predictions(given, dataset)
    return results


def main() -> None:
    """Print the times, and whether the bar is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=30)
    results = drawn_results(parser.parse_args().models)
    wall, processor = time.perf_counter(), time.process_time()
    table = kg.compare(results, metrics=METRICS, override="negatives").differences
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{len(table):,} rows, {int((table['better'] != '').sum()):,} decided; load {os.getloadavg()[0]:.1f}")
    print(
        f"wall {wall:.1f} s, processor {processor:.1f} s; {'kept' if wall < BAR else 'missed'}: {BAR:g} s of wall time"
    )


if __name__ == "__main__":
    main()
