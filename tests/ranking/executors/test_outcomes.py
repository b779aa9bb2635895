"""Batches that run out of memory are counted in parts, with the same counts."""

import random

import numpy as np
import pytest
from grids import light, size

import kgeval as kg
from kgeval.errors import OutOfMemory
from kgeval.ranking import ranker


def graph(seed):
    """A random graph with a model of small integers, so that many scores tie."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(4, 20)), int(rng.integers(1, 4))
    test = rng.integers(0, [n, m, n], (int(rng.integers(5, 60)), 3))
    model = kg.models.TransE(rng.integers(0, 3, (n, 2)) * 1.0, rng.integers(0, 2, (m, 2)) * 1.0, norm=1)
    return kg.Dataset.from_arrays(test=test, n_entities=n, n_relations=m), model


@pytest.mark.parametrize(
    "error", light([RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), MemoryError("17 GiB")], 1)
)
@pytest.mark.parametrize("kind", ["VectorBatch", "RowBatch"])
def test_a_batch_that_does_not_fit_is_counted_in_parts(monkeypatch, error, kind):
    """Batches above a random number of queries fail; each query is counted once all the same."""
    real = getattr(ranker, kind).count
    n_failed = 0
    for seed in range(size(3, 30)):
        dataset, model = graph(seed)
        scorer = model if kind == "VectorBatch" else (lambda s, p, o, model=model: model.score(s, p, o))
        wanted = kg.evaluate(scorer, dataset, progress=False)
        largest = random.Random(seed).randint(1, 9)

        def count(batch, largest=largest):
            nonlocal n_failed
            if batch.stop - batch.start > largest:
                n_failed += 1
                raise error
            return real(batch)

        monkeypatch.setattr(getattr(ranker, kind), "count", count)
        assert kg.evaluate(scorer, dataset, progress=False) == wanted
        monkeypatch.undo()
    assert n_failed > size(3, 30)


def test_a_single_query_that_does_not_fit_is_an_error(monkeypatch):
    dataset, model = graph(0)
    monkeypatch.setattr(ranker.VectorBatch, "count", lambda batch: np.empty(1 << 57))
    with pytest.raises(OutOfMemory, match=r"does not suffice to rank a single query .*larger machine"):
        kg.evaluate(model, dataset, progress=False)


def test_other_errors_are_not_repeated(monkeypatch):
    """A ScoreError comes back at once, with its own text."""
    dataset, model = graph(0)
    calls = []

    def count(batch):
        calls.append(batch)
        raise kg.ScoreError("wrong shape")

    monkeypatch.setattr(ranker.VectorBatch, "count", count)
    with pytest.raises(kg.ScoreError, match=r"^wrong shape$"):
        kg.evaluate(model, dataset, progress=False, executor=kg.executors.Threads(1))
    assert len(calls) == 1


def test_a_batch_size_beyond_the_memory_is_refused(monkeypatch):
    """1 MiB is free: of 20,000 candidates, 6 queries fit."""
    monkeypatch.setattr("kgeval.kernels.memory.free_bytes", lambda: 1 << 20)
    test = [[i, 0, i + 1] for i in range(50)]
    dataset = kg.Dataset.from_arrays(test=test, n_entities=20_000, n_relations=1)
    with pytest.raises(OutOfMemory, match=r"a batch of 50 queries x 20,000 candidates.*Set batch_size=120000 or less"):
        kg.evaluate(lambda s, p, o: s - o, dataset, batch_size=20_000_000, progress=False)


def test_a_batch_size_beyond_the_queries_needs_no_memory_for_more(monkeypatch):
    """8 MiB are free: a million queries of 20,000 candidates would not fit, the two queries of each side do."""
    for module in ("memory", "backends"):
        monkeypatch.setattr(f"kgeval.kernels.{module}.free_bytes", lambda: 8 << 20)
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=20_000, n_relations=1)
    model = kg.models.DistMult(np.ones((20_000, 2)), np.ones((1, 2)))
    for scorer, options in ((lambda s, p, o: 0.0 * s, {}), (model, {"executor": kg.executors.Threads(16)})):
        result = kg.evaluate(scorer, dataset, batch_size=10**11, progress=False, **options)
        assert result["mr"] == pytest.approx(10_000, abs=1), options
