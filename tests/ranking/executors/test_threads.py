"""The executor `Threads`: which thread counts the batches of an embedding model."""

import threading

import numpy as np
import pytest

import kgeval as kg
from kgeval.ranking.executors import threads


class Watched(kg.models.DistMult):
    """Notes whether worker threads compute query vectors (the check of a scorer does so in the calling thread)."""

    on_workers = False

    def query_vectors(self, side, entities, relations):
        self.on_workers |= threading.current_thread() is not threading.main_thread()
        return super().query_vectors(side, entities, relations)


@pytest.mark.parametrize(("n", "small_job", "on_workers"), [(None, 199, True), (None, 200, False), (1, 200, True)])
def test_small_jobs_are_ranked_in_the_calling_thread(monkeypatch, n, small_job, on_workers):
    """Two sides of 10 triples among 10 entities are 200 pairs; a number of threads that the caller gives counts."""
    rng = np.random.default_rng(0)
    triples = np.stack([np.arange(10), np.zeros(10, dtype=int), rng.permutation(10)], axis=1)
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=10, n_relations=1)
    tables = {"entities": rng.normal(size=(10, 4)), "relations": rng.normal(size=(1, 4))}
    expected = kg.evaluate(
        kg.models.DistMult(**tables), dataset, executor=kg.executors.Threads(2), batch_size=3, progress=False
    )
    model = Watched(**tables)
    monkeypatch.setattr(threads, "SMALL_JOB", small_job)
    result = kg.evaluate(model, dataset, executor=kg.executors.Threads(n), progress=False)
    assert model.on_workers is on_workers
    assert result.table.equals(expected.table)
