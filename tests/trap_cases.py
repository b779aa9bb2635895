"""Small graphs for the traps of other evaluators, ranked by scorers of every kind."""

import numpy as np
import pandas as pd
from tiles import evaluate_in_tiles

import kgeval as kg

COUNTS = [f"{count}_{setting}" for setting in ("raw", "filtered") for count in ("better", "tied", "rivals")]


class Matrix:
    """Whole rows out of a table of scores, shape (entities, relations, entities)."""

    def __init__(self, table):
        self.table = table

    def score_objects(self, s, p):
        return self.table[s, p]

    def score_subjects(self, p, o):
        return self.table[:, p, o].T


class Columns(Matrix):
    """The same, for some candidates only."""

    def score_objects(self, s, p, candidates):
        return self.table[s, p][:, candidates]

    def score_subjects(self, p, o, candidates):
        return self.table[:, p, o].T[:, candidates]


class Geometry:
    """The same as a dot product: each query's vector is its row, each candidate's a unit vector."""

    geometry = "dot"

    def __init__(self, table):
        self.table = table

    def query_vectors(self, side, given, relation):
        return self.table[given, relation] if side == "object" else self.table[:, relation, given].T

    def candidate_vectors(self, side):
        return np.eye(len(self.table))


class Listed(Matrix):
    """The same as a table of scored triples, which lists every corruption of each positive."""

    def frame(self, dataset, protocol):
        n, labels = len(self.table), np.array(dataset.entities.labels, dtype=object)
        rows = np.concatenate([np.asarray(dataset[split]) for split in protocol.splits]).repeat(n, axis=0)
        parts = []
        for side in protocol.sides:
            part = rows.copy()
            part[:, 0 if side == "subject" else 2] = np.tile(np.arange(n), len(part) // n)
            parts.append(part)
        s, p, o = np.unique(np.concatenate(parts), axis=0).T
        relations = np.array(dataset.relations.labels, dtype=object)
        return pd.DataFrame({"s": labels[s], "p": relations[p], "o": labels[o], "score": self.table[s, p, o]})


ROWS = {"function": lambda table: lambda s, p, o: table[s, p, o], "matrix": Matrix, "columns": Columns}


SCORERS = {**ROWS, "geometry": Geometry}


KINDS = {**SCORERS, "listed": Listed}


def run(scorer, dataset, *, sides=("subject", "object"), **options):
    """Evaluate without a progress bar; fields of the protocol and options of `evaluate_in_tiles` by name."""
    fields = {key: options.pop(key) for key in ("filter", "splits", "unseen") if key in options}
    protocol = kg.Protocol(sides=sides, **fields)
    if isinstance(scorer, Listed):
        return kg.evaluate_scores(scorer.frame(dataset, protocol), dataset, protocol)
    return evaluate_in_tiles(scorer, dataset, protocol, progress=False, **options)


def one_query(scores, positives, *, known=(), kind="function", **options):
    """Rank `positives` as objects of one query with these `scores`; `known` are its answers in train."""
    scores = np.asarray(scores)
    n = len(scores)
    table = np.zeros((n, 1, n), dtype=scores.dtype)
    table[0, 0] = scores
    train = {"train": [[0, 0, o] for o in known]} if len(known) else {}
    test = [[0, 0, o] for o in np.atleast_1d(positives)]
    dataset = kg.Dataset.from_arrays(**train, test=test, n_entities=n, n_relations=1)
    return run(KINDS[kind](table), dataset, sides="object", **options)


def counts(result, setting="raw"):
    """The (better, tied, rivals) of each rank."""
    return [tuple(row) for row in result.table[[f"{c}_{setting}" for c in ("better", "tied", "rivals")]].to_numpy()]


def random_graph(seed, n=12, m=2, n_train=40, n_test=15):
    """Arrays of train and test, and a table of few distinct scores, so that many tie."""
    rng = np.random.default_rng(seed)
    sizes = {"train": n_train, "test": n_test}
    splits = {name: rng.integers(0, (n, m, n), size=(size, 3)) for name, size in sizes.items()}
    return splits, rng.integers(0, 4, size=(n, m, n)).astype(np.float64), rng
