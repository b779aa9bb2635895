"""One small graph, its scores, and the same scores in every shape that a scorer may have."""

import re

import numpy as np
import pytest

import kgeval as kg
from kgeval.scorers.models.distances import TransE

N, M = 6, 2


TEST = np.array([[0, 0, 1], [0, 0, 2], [3, 1, 1], [4, 1, 5], [2, 0, 1], [5, 1, 0]])


LABELS = ["Andorra", "Belize", "Chad", "Denmark", "Egypt", "Fiji"]


TABLE = np.random.default_rng(0).permutation(N * M * N).reshape(N, M, N).astype(np.float64)


COUNTS = [f"{count}_{s}" for s in ("raw", "filtered") for count in ("better", "tied", "rivals")]


def dataset(n=N, test=TEST, **splits):
    """The first n of some countries and numbered places, two relations; without train nothing is unseen."""
    labels = [*LABELS, *map(str, range(N, n))][:n]
    return kg.Dataset.from_arrays(test=test, **splits, entity_labels=labels, relation_labels=["borders", "near"])


class Rows:
    """Whole rows from a table, each answer through `change`."""

    def __init__(self, change=lambda scores: scores, table=TABLE):
        self.change, self.table = change, table

    def score_objects(self, s, p):
        return self.change(self.table[s, p])

    def score_subjects(self, p, o):
        return self.change(self.table[:, p, o].T)


class Columns(Rows):
    """Like `Rows`, but only the columns asked for."""

    def score_objects(self, s, p, candidates=None):
        return self.change(self.table[s, p][:, candidates])

    def score_subjects(self, p, o, candidates=None):
        return self.change(self.table[:, p, o].T[:, candidates])


def make(kind, change=lambda scores: scores, table=TABLE):
    """A function, or an object of whole rows or some columns, whose answers go through `change`."""
    if kind != "function":
        return {"rows": Rows, "columns": Columns}[kind](change, table)
    return lambda s, p, o: change(table[s, p, o])


def integer_model(**rows):
    """TransE with small integers; keywords replace vectors of entities."""
    entities = np.arange(24.0).reshape(N, 4) % 5
    for label, value in rows.items():
        entities[LABELS.index(label)] = value
    return TransE(entities, np.ones((M, 4)))


def same_ranks(result, other):
    """Whether two results hold the same counts and scores."""
    return (result.table[[*COUNTS, "score"]] == other.table[[*COUNTS, "score"]]).all(axis=None)


def raises(message, error=kg.ScoreError):
    """Expect an error whose text contains `message`."""
    return pytest.raises(error, match=re.escape(message))


CHAIN = np.column_stack([np.arange(N), np.zeros(N, int), (np.arange(N) + 1) % N])


class Tensor:
    """As much of a torch tensor as is needed: it must leave graph and device, and bfloat16 has no numpy."""

    def __init__(self, values, done=(), dtype="torch.float32"):
        self.values, self.done, self.dtype = values, done, dtype

    def detach(self):
        return Tensor(self.values, (*self.done, "detach"), self.dtype)

    def cpu(self):
        return Tensor(self.values, (*self.done, "cpu"), self.dtype)

    def float(self):
        return Tensor(self.values.astype(np.float32), self.done)

    def numpy(self):
        if set(self.done) != {"detach", "cpu"} or self.dtype == "torch.bfloat16":
            raise TypeError
        return self.values
