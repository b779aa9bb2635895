"""Models whose entity tables are mapped files: scores and counts as from memory, and nothing is copied."""

import copy
import os
import pickle

import numpy as np
import pytest
from grids import light
from model_cases import CASES, real_tables
from table_cases import STORAGES, bits, stored

import kgeval as kg
from kgeval.kernels import mapped_tables
from kgeval.kernels.mapped_tables import StreamedTable
from kgeval.scorers.models.distances import RotatE, TransE
from kgeval.scorers.models.products import ComplEx, DistMult

N, M = 40, 3
ENTITIES = ("entities", "subjects", "objects")
RNG = np.random.default_rng(5)
TRIPLES = np.column_stack([RNG.integers(0, N, 30), RNG.integers(0, M, 30), RNG.integers(0, N, 30)])
BUILDS = {
    **{name: case.build for name, case in CASES.items()},
    "ComplEx interleaved": lambda **t: ComplEx(**t, layout="interleaved"),
    "TransE of unit vectors": lambda **t: TransE(**t, norm=1, normalise="entities-l2"),
    "TransE of unit vectors, l1": lambda **t: TransE(**t, norm=2, normalise="entities-l1"),
}


def draw(name):
    known = {"ComplEx interleaved": "ComplEx"}.get(name, name if name in CASES else "TransE-1")
    return real_tables(known, np.random.default_rng(1), N, M * 2, np.float32)


@pytest.fixture
def streams(monkeypatch):
    """No table is small enough to be copied."""
    monkeypatch.setattr(mapped_tables, "MAX_COPY", 0)


@pytest.fixture(scope="module")
def dataset():
    return kg.Dataset.from_arrays(test=TRIPLES, n_entities=N, n_relations=2 * M)


def mapped(name, storage, folder):
    """Tables with those of entities in a storage, and the same numbers as float64 arrays."""
    of_model, numbers = draw(name), {}
    for key, table in of_model.items():
        numbers[key] = table
        if key in ENTITIES:
            of_model[key], numbers[key] = stored(storage, folder, table, key)
    return of_model, numbers


def own_bytes(model):
    """The bytes that the tables of entities of a model have in memory of their own."""
    found = {}
    for value in vars(model).values():
        for array in value.sources if isinstance(value, StreamedTable) else [value]:
            root = array
            while isinstance(root, np.ndarray) and isinstance(root.base, np.ndarray):
                root = root.base
            if isinstance(root, np.ndarray) and not isinstance(root, np.memmap) and len(root) == N:
                found[id(root)] = root.nbytes
    return sum(found.values())


@pytest.mark.parametrize("storage", light(STORAGES, 1))
@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.light(2)
def test_mapped_models(name, storage, streams, dataset, tmp_path):
    """Scores and ranks equal those of float64 arrays in memory, and no table of entities is in memory."""
    of_model, numbers = mapped(name, storage, tmp_path)
    model, expected = BUILDS[name](**of_model), BUILDS[name](**numbers)
    assert own_bytes(model) == 0
    assert model.notes == expected.notes
    s, p, o = TRIPLES.T
    assert model.score(s, p, o).tolist() == expected.score(s, p, o).tolist()
    for side in ("subject", "object"):
        given = o if side == "subject" else s
        np.testing.assert_array_equal(model.query_vectors(side, given, p), expected.query_vectors(side, given, p))
        np.testing.assert_array_equal(np.asarray(model.candidate_vectors(side)), expected.candidate_vectors(side))
    assert kg.evaluate(model, dataset).table.equals(kg.evaluate(expected, dataset).table)


def test_some_candidates(streams, tmp_path):
    """Only some entities have vectors: their rows are taken from the file, block by block."""
    of_model, numbers = mapped("DistMult", "bfloat16", tmp_path)
    half = kg.Dataset.from_arrays(train=TRIPLES[:20], test=TRIPLES, n_entities=N, n_relations=2 * M)
    results = []
    for t in (of_model, numbers):
        model = DistMult(**t)
        model.missing_entities = np.setdiff1d(np.arange(N), TRIPLES[:20, [0, 2]])
        results.append(kg.evaluate(model, half, kg.Protocol(unseen="drop")))
    assert 0 < len(results[0].table) < 60
    assert results[0].table.equals(results[1].table)


def test_complex_numbers_in_a_file(streams, dataset, tmp_path):
    """complex64 in a mapped file: real rows are made when they are read."""
    rng = np.random.default_rng(2)
    numbers = (rng.normal(size=(N, 3)) + 1j * rng.normal(size=(N, 3))).astype(np.complex64)
    np.save(tmp_path / "e.npy", numbers)
    entities = np.load(tmp_path / "e.npy", mmap_mode="r")
    for kind, relations in ((ComplEx, numbers[: 2 * M]), (RotatE, np.exp(1j * rng.normal(size=(2 * M, 3))))):
        model, expected = kind(entities, relations), kind(numbers, relations)
        assert isinstance(model.entities, StreamedTable)
        assert own_bytes(model) == 0
        assert kg.evaluate(model, dataset).table.equals(kg.evaluate(expected, dataset).table)


def test_small_tables_are_converted_once(tmp_path):
    """Up to MAX_COPY bytes, a table of 16-bit numbers becomes an array."""
    for storage in ("float16", "bfloat16"):
        of_model, _ = mapped("DistMult", storage, tmp_path)
        assert type(DistMult(**of_model).entities) is np.ndarray


def test_bits_must_be_said_to_be_bfloat16():
    """Integers from 0 to 65,535 would give ranks that look plausible."""
    entities, relations = bits(np.ones((N, 4))), np.ones((M, 4), np.float32)
    with pytest.raises(kg.DataError) as caught:
        DistMult(entities, relations)
    assert str(caught.value) == (
        "entities has dtype uint16. If these are the bits of bfloat16 numbers, which numpy does not have, pass "
        "kgeval.models.bfloat16(entities) (for a file: dtype='bfloat16', --dtype bfloat16); if they are integers, pass "
        "entities.astype(numpy.float32)"
    )
    half = DistMult(kg.models.bfloat16(entities), kg.models.bfloat16(bits(relations)))
    assert half.score([0], [0], [1]).tolist() == [4.0]


@pytest.mark.parametrize("storage", ["float32", "float16", "bfloat16"])
def test_a_mapped_model_travels_as_paths(storage, streams, dataset, tmp_path):
    """A pickle and a copy map the files again; equal tables stay one table; `refresh` reads the files."""
    of_model, _ = mapped("SimplE" if storage == "float16" else "DistMult", storage, tmp_path)
    model = (CASES["SimplE"].build if storage == "float16" else DistMult)(**of_model)
    expected = kg.evaluate(model, dataset)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert own_bytes(again) == 0
        assert (again._objects is again._subjects) == (model._objects is model._subjects)
        assert kg.evaluate(again, dataset).table.equals(expected.table)
        with pytest.raises(AttributeError, match="relations cannot be assigned"):
            again.relations = np.ones((2, 1))
    large = np.lib.format.open_memmap(tmp_path / "large.npy", "w+", np.float16, (100_000, 6))
    large.flush()
    other = DistMult(np.load(tmp_path / "large.npy", mmap_mode="r"), np.ones((M, 6), np.float32))
    assert len(pickle.dumps(other)) < 3000


@pytest.mark.thorough
def test_workers_map_the_file(streams, dataset, tmp_path):
    """The counts of worker processes that read the file themselves."""
    pytest.importorskip("loky", reason="needs kgeval[processes]")
    of_model, numbers = mapped("DistMult", "bfloat16", tmp_path)
    executor = kg.executors.Processes(2)
    result = kg.evaluate(DistMult(**of_model), dataset, executor=executor)
    assert result.table.equals(kg.evaluate(DistMult(**numbers), dataset).table)


def test_a_scorer_of_float16(streams, dataset, tmp_path):
    """Candidate vectors of a user's own class, in a mapped file."""
    of_model, numbers = mapped("DistMult", "float16", tmp_path)

    class Scorer:
        geometry = "dot"

        def __init__(self, t):
            self.t = t

        def query_vectors(self, side, given, relation):
            return np.asarray(self.t["entities"][given], np.float64) * self.t["relations"][relation]

        def candidate_vectors(self, side):
            return self.t["entities"]

    results = [kg.evaluate(Scorer(t), dataset) for t in (of_model, numbers)]
    assert results[0].table.equals(results[1].table)


@pytest.mark.parametrize("dtype", ["u2", "i2", ">u2"])
@pytest.mark.parametrize("method", ["query_vectors", "candidate_vectors"])
@pytest.mark.light(3)
def test_bits_of_a_scorer(method, dtype, dataset):
    """16-bit integers of a user's own class are refused, unless it says what they are."""
    numbers = draw("DistMult")["entities"]
    as_stored = bits(numbers).view("u2").astype(dtype[:-2] + "u2").view(dtype)

    class Scorer:
        geometry = "dot"

        def __init__(self, **tables):
            self.tables = dict.fromkeys(("query_vectors", "candidate_vectors"), numbers) | tables

        def query_vectors(self, side, given, relation):
            return self.tables["query_vectors"][given]

        def candidate_vectors(self, side):
            return self.tables["candidate_vectors"]

    with pytest.raises(kg.ScoreError) as caught:
        kg.evaluate(Scorer(**{method: as_stored}), dataset)
    name = np.dtype(dtype)
    assert str(caught.value).startswith(
        f"Scorer.{method} has dtype {name}. If these are the bits of bfloat16 numbers, which numpy does not have, pass "
        f"kgeval.models.bfloat16(Scorer.{method})"
    )
    half = kg.evaluate(Scorer(candidate_vectors=kg.models.bfloat16(as_stored)), dataset)
    cut = (bits(numbers).astype(np.uint32) << 16).view(np.float32)
    assert half.table.equals(kg.evaluate(Scorer(candidate_vectors=cut), dataset).table)


def test_a_file_that_became_shorter(streams, dataset, tmp_path):
    """Said before its rows are read, for a model and for a class of a user's own."""
    np.save(tmp_path / "e.npy", np.ones((N, 4), np.float16))
    entities = np.load(tmp_path / "e.npy", mmap_mode="r")
    model = DistMult(entities, np.ones((2 * M, 4), np.float32))

    class Scorer:
        geometry = "dot"
        query_vectors = model.query_vectors

        def candidate_vectors(self, side):
            return entities

    kg.evaluate(model, dataset)
    os.truncate(tmp_path / "e.npy", 100)
    for scorer in (model, Scorer()):
        with pytest.raises(kg.DataError, match="e.npy: has become shorter since it was mapped: 100 bytes"):
            kg.evaluate(scorer, dataset)
    with pytest.raises(kg.DataError, match="e.npy: has become shorter"):
        model.score([0], [0], [1])


def test_a_changed_table_is_found_when_a_run_is_resumed(streams, dataset, tmp_path):
    """A checkpoint knows a mapped table by the hash of its numbers."""
    of_model, _ = mapped("DistMult", "bfloat16", tmp_path)
    model = DistMult(**of_model)
    kg.evaluate(model, dataset, run_folder=tmp_path / "run")
    table = np.load(tmp_path / "entities.npy", mmap_mode="r+")
    table[3] ^= 1
    table.flush()
    with pytest.raises(kg.KgevalError, match="table entities: other values"):
        kg.evaluate(model, dataset, run_folder=tmp_path / "run")


@pytest.mark.parametrize("number", light([np.nan, np.inf, -np.inf], 1))
@pytest.mark.parametrize("make", [DistMult, lambda *t: TransE(*t, norm=1), lambda *t: TransE(*t, norm=2)])
def test_a_large_table_that_is_not_finite_is_refused(streams, make, number):
    """A large table is not read once more only to find such numbers: its norms show them."""
    rng = np.random.default_rng(2)
    entities, relations = (rng.standard_normal((n, 6)).astype(np.float32) for n in (N, M))
    entities[33, 4] = number
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=N, n_relations=M)
    with pytest.raises(kg.ScoreError, match="'33'"):
        kg.evaluate(make(entities, relations), dataset, progress=False)
    entities[33, 4] = 3e38  # finite, and far above all others
    result = kg.evaluate(make(entities, relations), dataset, progress=False)
    exact = kg.evaluate(make(entities.astype(np.float64), relations.astype(np.float64)), dataset, progress=False)
    assert result.table[["better_filtered", "tied_filtered"]].equals(exact.table[["better_filtered", "tied_filtered"]])
