"""Objects with ``candidates=`` against the same scorer without it: few queries, 2 million entities.

The method with ``candidates=`` copies the vectors of the candidates. kgeval asks many queries by a block of candidates,
so that one copy serves all of them. Printed is the median of the ratios of interleaved evaluations; it should be at
most 1.3.

    python tests/bench/bench_blocks.py [--entities 2000000] [--queries 50]
"""

import argparse
import statistics
import time
import warnings

import numpy as np

import kgeval as kg

DIMENSION, REPEATS = 64, 5


def scorers(entities, relations):
    """The scorer that always scores all entities, and the one that takes candidates."""

    class Whole:
        def score_objects(self, s, p):
            return (entities[s] * relations[p]) @ entities.T

        def score_subjects(self, p, o):
            return self.score_objects(o, p)

    class Blocks:
        def score_objects(self, s, p, candidates):
            return (entities[s] * relations[p]) @ entities[candidates].T

        def score_subjects(self, p, o, candidates):
            return self.score_objects(o, p, candidates)

    return Whole(), Blocks()


def seconds(scorer, dataset):
    """The time of one evaluation."""
    start = time.perf_counter()
    kg.evaluate(scorer, dataset, progress=False)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entities", type=int, default=2_000_000)
    parser.add_argument("--queries", type=int, default=50)
    options = parser.parse_args()
    rng, n = np.random.default_rng(0), options.entities
    entities = rng.normal(size=(n, DIMENSION)).astype(np.float32)
    relations = rng.normal(size=(3, DIMENSION)).astype(np.float32)
    test = np.column_stack([rng.integers(0, m, options.queries) for m in (n, 3, n)])
    dataset = kg.Dataset.from_arrays(test=test, n_entities=n, n_relations=3)
    warnings.simplefilter("ignore", kg.KgevalWarning)  # random scores are near chance
    whole, blocks = scorers(entities, relations)
    pairs = [(seconds(whole, dataset), seconds(blocks, dataset)) for _ in range(REPEATS)]
    for name, times in zip(("without candidates=", "with candidates="), zip(*pairs)):
        print(f"{name:<20} {statistics.median(times):6.2f} s")
    print(f"ratio {statistics.median(b / a for a, b in pairs):.2f}")


if __name__ == "__main__":
    main()
