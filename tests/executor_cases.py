"""Small graphs with many ties, and one job of every kind; what the tests of all executors share."""

import os
import re

import numpy as np
import pytest

import kgeval as kg

N_ENTITIES, N_RELATIONS = 60, 4


class Matrix:
    """Scores whole rows; small integers, so that many tie."""

    def __init__(self, table):
        self.table = table

    def score_objects(self, s, p):
        return (self.table[s, p] @ self.table[:, 0].T).astype(np.float32)

    def score_subjects(self, p, o):
        return (self.table[o, p] @ self.table[:, 1].T).astype(np.float32)


class Blocked(Matrix):
    """Scores some of the entities."""

    def score_objects(self, s, p, candidates):
        return super().score_objects(s, p)[:, candidates]

    def score_subjects(self, p, o, candidates):
        return super().score_subjects(p, o)[:, candidates]


class PerRelation(kg.candidates.Candidates):
    """A pool for each relation: its entities in the dataset, on either side."""

    kind = "relation"

    def __init__(self, dataset):
        self.digest = dataset.fingerprint
        self.triples = np.concatenate([triples.array for triples in dataset.splits.values()])

    def pools(self, queries, entities):
        for relation in np.unique(queries.relation):
            places = np.flatnonzero(queries.relation == relation)
            yield queries.take(places), np.unique(self.triples[self.triples[:, 1] == relation][:, [0, 2]])


def random_dataset(seed, n_triples=300):
    rng = np.random.default_rng(seed)
    highs = (N_ENTITIES, N_RELATIONS, N_ENTITIES)
    triples = np.column_stack([rng.integers(high, size=n_triples) for high in highs])
    return kg.Dataset.from_arrays(
        train=triples[: n_triples // 2], test=triples[n_triples // 2 :], n_entities=N_ENTITIES, n_relations=N_RELATIONS
    )


def cases(seed):
    """Return a dict: the name of a case -> (scorer, protocol)."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-2, 3, size=(N_ENTITIES, N_RELATIONS, 4)).astype(float)
    entities, relations = (rng.integers(-2, 3, size=(n, 8)) for n in (N_ENTITIES, N_RELATIONS))
    n = len(random_dataset(seed)["test"])
    lists = [rng.integers(N_ENTITIES, size=rng.integers(1, 9)).tolist() for _ in range(n)]
    settings = {"duplicates": "drop", "empty": "drop"}
    listed = kg.Protocol(candidates=kg.candidates.Listed(objects=lists, subjects=lists[::-1], **settings))

    def function(s, p, o):
        return (table[s, p] * table[o, p]).sum(axis=-1)

    pools = kg.Protocol(candidates=PerRelation(random_dataset(seed)))
    models = {
        "dot": kg.models.DistMult(entities.astype(np.float32), relations.astype(np.float32)),
        "l1": kg.models.TransE(entities.astype(float), relations.astype(float), norm=1),
        "l2": kg.models.TransE(entities.astype(float), relations.astype(float), norm=2),
        "modulus": kg.models.RotatE(entities.astype(float), relations[:, :4].astype(float)),
    }
    return {
        "function": (function, None),
        "lambda": (lambda s, p, o: -np.abs(s % 7 - o % 5) + 0 * p, None),
        "matrix": (Matrix(table), None),
        "blocked matrix": (Blocked(table), None),
        "function, lists": (function, listed),
        "geometry, lists": (models["dot"], listed),
        "function, pools": (function, pools),
        "geometry, pools": (models["l1"], pools),
        **{f"geometry {name}": (model, None) for name, model in models.items()},
    }


def assert_equal(result, expected):
    """Every count and score of two results is the same."""
    assert result.table.equals(expected.table), result.table.compare(expected.table)
    assert result.protocol == expected.protocol


def evaluated(scorer, dataset, protocol=None, executor=None, **options):
    """`kgeval.evaluate`, silently."""
    return kg.evaluate(scorer, dataset, protocol, progress=False, executor=executor, **options)


class Counting:
    """An executor that notes how many queries it was given."""

    def __init__(self, executor):
        self.executor, self.n_processes, self.n_queries = executor, executor.n_processes, 0

    def run(self, job):
        self.n_queries += job.work.n_queries
        yield from self.executor.run(job)


def check_that_the_failed_shard_alone_is_left(executor, folder):
    """A scorer raises in a worker for the queries (7, p, ?): the error names them, and resuming ranks them alone."""
    dataset, driver, broken = random_dataset(3), os.getpid(), folder / "broken"
    broken.touch()

    class Peculiar(Exception):
        def __init__(self, a, b):
            super().__init__(a)

    def raises_for_seven(s, p, o):
        if os.getpid() != driver and len(s) == 60 and (s == 7).all() and broken.exists():
            raise Peculiar("seven", None)
        return s % 5 - o % 7 + 0.5 * p

    options = {"run_folder": folder / "kept", "batch_size": 60}
    with pytest.raises(
        kg.ScoreError, match=r"raised Peculiar .*: seven \(queries (\d+) to \1 of \d+ of the object side"
    ) as caught:
        evaluated(raises_for_seven, dataset, executor=executor, **options)
    cause = str(caught.value.__cause__)
    assert re.search(r"in raises_for_seven\n(.*\n)*.*Peculiar: seven", cause), cause
    broken.unlink()
    resumed = Counting(executor)
    result = evaluated(raises_for_seven, dataset, executor=resumed, **options)
    assert_equal(result, evaluated(lambda s, p, o: s % 5 - o % 7 + 0.5 * p, dataset))
    assert 1 <= resumed.n_queries <= N_RELATIONS
