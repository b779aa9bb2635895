"""Small benchmarks for tests: models x seeds x datasets with random scores, some of which tie."""

import functools

import numpy as np
import pandas as pd

import kgeval as kg

MODELS = ("A", "B", "C")
SIDES = ("subject", "object")
BEHIND = {"A": 0.0, "B": -0.3, "C": 0.8}  # how much lower the scores of the test triples are


def dataset_of(n, order=None, rows=None):
    """A dataset with `n` entities, n test triples and two relations; `order` permutes its ids, `rows` its triples."""
    labels = [f"e{i:02}" for i in range(n)]
    triples = np.array([[i, i % 2, (3 * i + 1) % n] for i in range(n)])
    if order is not None:
        places = np.argsort(order)  # old id -> new id
        labels = [labels[i] for i in order]
        triples[:, [0, 2]] = places[triples[:, [0, 2]]]
    triples = triples if rows is None else triples[rows]
    relations = ["r", "q"]
    return kg.Dataset.from_arrays(test=triples, entity_labels=labels, relation_labels=relations, name=f"ring-{n}")


@functools.cache
def scores_of(n, model, seed, n_levels=12):
    """A table of scores [subject, object]: noise of the dataset, of the run, and a bonus for the test triples."""
    shared = np.random.default_rng([n, 7]).normal(size=(n, n))
    noise = np.random.default_rng([n, MODELS.index(model), seed]).normal(size=(n, n))
    luck = 0.1 * np.random.default_rng([n, MODELS.index(model), seed, 1]).normal()
    table = 0.7 * shared + 0.7 * noise
    table[np.arange(n), (3 * np.arange(n) + 1) % n] += 1.7 - BEHIND[model] + luck
    return np.round(table * n_levels / 4)  # few levels, so that ranks tie


def run_of(n, model, seed, order=None, rows=None, sides=SIDES, name=None):
    """The result of one run; ids and the order of the test triples change nothing but the table.

    The ranks are counted here, which is faster than an evaluation; no triple is filtered.
    """
    dataset, table = dataset_of(n, order, rows), scores_of(n, model, seed)
    ids = np.arange(n) if order is None else np.asarray(order)
    triples = np.asarray(dataset["test"])
    columns = {name: np.tile(triples[:, i], len(sides)) for i, name in enumerate("spo")}
    columns["side"] = pd.Categorical.from_codes(np.repeat([SIDES.index(side) for side in sides], len(triples)), SIDES)
    columns["split"] = pd.Categorical.from_codes(np.zeros(len(sides) * len(triples), np.int8), ["test"])
    scores, better, tied = [], [], []
    for side in sides:
        s, o = ids[triples[:, 0]], ids[triples[:, 2]]
        rivals = table[s] if side == "object" else table[:, o].T
        own = table[s, o][:, None]
        scores.append(own[:, 0])
        better.append((rivals > own).sum(axis=1))
        tied.append((rivals == own).sum(axis=1) - 1)
    columns["score"] = np.concatenate(scores)
    for setting in ("raw", "filtered"):
        columns[f"better_{setting}"], columns[f"tied_{setting}"] = np.concatenate(better), np.concatenate(tied)
        columns[f"rivals_{setting}"] = np.full(len(columns["s"]), n - 1)
    frame = pd.DataFrame(columns)
    about = {
        "scorer": model,
        "n_queries": len(frame),
        "dataset": dataset.name if name is None else name,
        "dataset_fingerprint": dataset.fingerprint,
        "observations": [],
        "version": kg.__version__,
        "n_triples": len(triples),
        "n_unseen": 0,
    }
    protocol = kg.Protocol(sides=sides).resolved(dataset)
    return kg.EvaluationResult(frame, dataset.entities, dataset.relations, protocol, about)


plain_run_of = functools.cache(run_of)  # results are read-only, so the tests share them


def runs_of(sizes=(24, 30), models=MODELS, seeds=(1, 2, 3), leave_out=()):
    """The results of all runs, as `kg.benchmark` takes them, but for those in `leave_out`."""
    keys = [(model, seed, f"ring-{n}") for n in sizes for model in models for seed in seeds]
    return {key: plain_run_of(int(key[2][5:]), key[0], key[1]) for key in keys if key not in leave_out}
