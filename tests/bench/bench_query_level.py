"""How long all query-level metrics of FB15k-237 take, as a share of the ranking's time.

    python tests/bench/bench_query_level.py ../shared/data

Ranking is `kgeval.evaluate` with the TransE of `models/fb15k-237-pykeen`; each metric is asked of its result, so
that nothing is kept from one to the next. Medians of interleaved runs in one process.
"""

import statistics
import sys
import time
from pathlib import Path

import numpy as np

import kgeval
from kgeval.scorers.models.distances import TransE

METRICS = (
    "map", "rr", "precision@10", "recall@10", "f1@10", "rprec", "ndcg", "ndcg@10", "dcg", "err", "success@10", "auc",
)  # fmt: skip


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def trained(folder, dataset):
    """The model, whose rows are the entities of train in the order of their labels."""
    with np.load(folder / "models" / "fb15k-237-pykeen" / "transe" / "trained_model.npz") as arrays:
        rows, relations = arrays["entity"], arrays["relation"]
    entities = np.full((len(dataset.entities), rows.shape[1]), np.nan, dtype=rows.dtype)
    entities[dataset.is_seen_entity] = rows
    model = TransE(entities=entities, relations=relations, inverse_relations="alternating", norm=1)
    model.missing_entities = np.flatnonzero(~dataset.is_seen_entity)
    return model


def main(folder, n_runs=5):
    dataset = kgeval.read_dataset(Path(folder) / "fb15k-237")
    model = trained(Path(folder), dataset)
    protocol = kgeval.Protocol(unseen="drop")
    result = kgeval.evaluate(model, dataset, protocol, progress=False)
    works = {"ranking": lambda: kgeval.evaluate(model, dataset, protocol, progress=False)}
    works |= {metric: lambda key=f"query.{metric}": result[key] for metric in METRICS}
    times = {name: [] for name in works}
    for _ in range(n_runs):
        for name, work in works.items():
            times[name].append(seconds(work))
    medians = {name: statistics.median(values) for name, values in times.items()}
    ranking = medians.pop("ranking")
    print(f"{len(result.table):,} ranks, {len(result.lists()):,} queries; ranking {ranking:.3f} s")
    for name, value in medians.items():
        print(f"{name:14}{value:8.3f} s{value / ranking:8.2%} of the ranking")
    shares = [sum(run) / once for once, *run in zip(*times.values(), strict=True)]
    print(f"{'together':14}{sum(medians.values()):8.3f} s{statistics.median(shares):8.2%} of the ranking")


if __name__ == "__main__":
    main(*sys.argv[1:2])
