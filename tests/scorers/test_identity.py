"""Whether a resumed run still has the scorer that it had: hashes of tables, and probed scores."""

import json
import tracemalloc

import numpy as np
import pytest
from grids import light, size
from model_cases import CASES, INVERSES, real_tables

import kgeval as kg
from kgeval.scorers import identity
from kgeval.scorers.identity import ScorerIdentity, table_digest
from kgeval.scorers.libraries import bound
from kgeval.scorers.models.distances import RotatE, TransE
from kgeval.scorers.models.products import ComplEx, QuatE, SimplE
from kgeval.scorers.row_scorers import Limits, as_row_scorer

N, M = 40, 3
SIDES = ("subject", "object")


def dataset(n=N, m=M, n_test=25, seed=0):
    rng = np.random.default_rng(seed)
    triples = np.column_stack([rng.integers(0, n, n_test), np.arange(n_test) % m, rng.integers(0, n, n_test)])
    return kg.Dataset.from_arrays(test=triples, n_entities=n, n_relations=m)


DATASET = dataset()


def identity_of(scorer, data=DATASET, triples=None, candidates=None, sides=SIDES, seconds=1.0, limits=None):
    scorer = bound(scorer, data)
    rows = as_row_scorer(scorer, len(data.entities), limits or Limits())
    triples = data["test"].array if triples is None else triples
    candidates = np.arange(len(data.entities)) if candidates is None else candidates
    return ScorerIdentity(
        scorer, rows, data, dict.fromkeys(sides, triples), dict.fromkeys(sides, candidates), sides, seconds
    )


def described(scorer, *arguments, **options):
    """The description as a checkpoint keeps it."""
    return json.loads(json.dumps(identity_of(scorer, *arguments, **options).describe(), allow_nan=False))


def differences(before, after, *arguments, **options):
    """The differences of two scorers."""
    return identity_of(after, *arguments, **options).differences(described(before, *arguments, **options))


# Hashes of tables


def test_equal_tables_have_equal_hashes_whatever_their_memory(tmp_path):
    table = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)
    mapped = np.memmap(tmp_path / "table", np.float32, "w+", shape=table.shape)
    mapped[:] = table
    wide = np.zeros((100, 14), np.float32)
    wide[::2, ::2] = table
    expected = table_digest(table)
    assert expected["dtype"] == "float32"
    assert expected["shape"] == [50, 7]
    for equal in (np.asfortranarray(table), mapped, wide[::2, ::2], table[::-1][::-1], table.astype(">f4")):
        assert table_digest(equal) == expected
    assert table_digest(table, np.arange(50)) == expected
    assert table_digest(table, np.array([3, 5])) == table_digest(table[[3, 5]])


def test_tables_that_differ_have_other_hashes():
    table = np.arange(12.0).reshape(4, 3)
    others = [table.T, table.reshape(3, 4), table.astype(np.float32), table[:3], table.astype(complex), table[::-1]]
    for row in range(4):
        for column in range(3):
            changed = table.copy()
            changed[row, column] = np.nextafter(changed[row, column], 100)
            others.append(changed)
    digests = [str(table_digest(values)) for values in [table, *others]]
    assert len(set(digests)) == len(digests)
    # shape and dtype, where the bytes are equal
    assert table_digest(np.zeros((2, 3)))["sha256"] == table_digest(np.zeros((3, 2)))["sha256"]
    assert table_digest(np.zeros((2, 3))) != table_digest(np.zeros((3, 2)))
    assert table_digest(np.zeros(2, np.int64)) != table_digest(np.zeros(2))


def test_tables_without_numbers_or_columns():
    for shape in ((), (0,), (0, 3), (3, 0), (1,)):
        assert table_digest(np.zeros(shape))["shape"] == list(shape)
    assert table_digest(np.array(2.0)) != table_digest(np.array(3.0))
    assert table_digest(np.array([True, False])) != table_digest(np.array([True, True]))


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_table_is_hashed_in_chunks(tmp_path, monkeypatch, order):
    """A memory-mapped table is not copied as a whole, and the last row counts."""
    monkeypatch.setattr(identity, "CHUNK_BYTES", 1 << 14)
    monkeypatch.setattr(identity.os, "cpu_count", lambda: 2)
    table = np.memmap(tmp_path / "table", np.float32, "w+", shape=(20_000, 50), order=order)
    table[:] = np.arange(50)
    tracemalloc.start()
    before = table_digest(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000  # of 4 million bytes
    table[-1, -1] += 1
    assert table_digest(table) != before


def test_tensors_have_the_hashes_of_arrays():
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    table = np.random.default_rng(0).normal(size=(50, 6))
    for dtype in (np.float64, np.float32, np.float16, np.int64, np.uint8, np.complex64, bool):
        array = table.astype(dtype)
        expected = table_digest(array)
        tensor = torch.from_numpy(array)
        assert table_digest(tensor) == expected
        assert table_digest(torch.from_numpy(array.T.copy()).T) == expected
        assert table_digest(tensor, np.array([1, 7])) == table_digest(array[[1, 7]])
    parameter = torch.nn.Parameter(torch.from_numpy(table))
    assert table_digest(parameter) == table_digest(table)
    values = torch.from_numpy(table + 1j * table[::-1])
    assert table_digest(values.conj()) == table_digest(values.numpy().conj())
    assert table_digest(values.imag) == table_digest(values.numpy().imag)
    assert table_digest(values.conj().imag) == table_digest(-values.numpy().imag)  # a negation that torch postponed
    halves = torch.tensor([1.0, 2.0], dtype=torch.bfloat16)
    assert table_digest(halves)["dtype"] == "bfloat16"
    assert table_digest(halves) != table_digest(torch.tensor([1.0, 2.0625], dtype=torch.bfloat16))
    assert table_digest(torch.tensor(2.0)) != table_digest(torch.tensor(3.0))
    assert table_digest(torch.eye(3).to_sparse()) == table_digest(np.eye(3, dtype=np.float32))


# Models of kgeval.models


def changed_by_one(key, values, rng):
    """Tables of a model with one number changed: by its last digit, or by 1% in a batch normalisation."""
    if key.endswith("_norm"):
        part = int(rng.integers(4))
        return tuple(np.array(value) * (1.01 if i == part else 1) for i, value in enumerate(values[:4])) + values[4:]
    changed, place = np.array(values), rng.integers(values.size)
    changed.flat[place] = np.nextafter(changed.flat[place], np.float32(10))
    return changed


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("inverse", light(INVERSES, 1))
def test_one_number_of_one_table_is_found(name, inverse):
    rng = np.random.default_rng(1)
    tables = real_tables(name, rng, N, M * (2 if inverse else 1), np.float32)
    build = CASES[name].build
    before = described(build(**tables, inverse_relations=inverse))
    assert before["probes"] == before["queries"] == {}  # nothing is scored
    assert identity_of(build(**tables, inverse_relations=inverse)).differences(before) == []
    for key, values in tables.items():
        for _ in range(size(2, 8)):
            changed = {**tables, key: changed_by_one(key, values, rng)}
            found = identity_of(build(**changed, inverse_relations=inverse)).differences(before)
            assert found, key
            assert all(": other values (float" in text for text in found)
            assert key.endswith("_norm") or any(text.startswith(f"table {key}: ") for text in found)


TABLES = {
    "entities": np.random.default_rng(0).normal(size=(N, 8)),
    "relations": np.random.default_rng(1).normal(size=(M, 8)),
}
FOUR = {
    name: np.random.default_rng(2).normal(size=(rows, 4))
    for name, rows in (("subjects", N), ("objects", N), ("relations", M), ("relations_inverse", M))
}


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        (TransE(**TABLES), TransE(**TABLES, norm=2), "geometry 'l2' here, 'l1' in the run folder"),
        (TransE(**TABLES, norm=2), TransE(**TABLES, norm=2, power_norm=True), "geometry 'squared l2' here"),
        (TransE(**TABLES), TransE(**TABLES, normalise="entities-l2"), "entities divided by their L2 norms"),
        (ComplEx(**TABLES), ComplEx(**TABLES, layout="interleaved"), "table entities: other values (float64, 40 x 8)"),
        (QuatE(**TABLES), QuatE(**TABLES, layout="interleaved"), "(interleaved)"),
        (QuatE(**TABLES), QuatE(**TABLES, form="pykeen"), "PyKEEN's form"),
        (SimplE(**FOUR), SimplE(**FOUR, form="pykeen"), "PyKEEN's form"),
        (SimplE(**FOUR), SimplE(**FOUR, clamp=(-20, 20)), "geometry 'dot clamped to [-20.0, 20.0]' here, 'dot' in"),
        (
            SimplE(**FOUR, clamp=(-20, 20)),
            SimplE(**FOUR, clamp=(-20, 20.0000001)),
            "geometry 'dot clamped to [-20.0, 20.0000001]' here",
        ),
        (
            RotatE(TABLES["entities"], TABLES["relations"][:, :4], phase_unit=1.0),
            RotatE(TABLES["entities"], TABLES["relations"][:, :4], phase_unit=1.0000001),
            "table relations: other values",
        ),
        (
            TransE(TABLES["entities"], np.ones((2 * M, 8)), inverse_relations="after"),
            TransE(TABLES["entities"], np.ones((2 * M, 8)), inverse_relations="alternating"),
            "inverse relations alternating",
        ),
        (
            TransE(**{name: table.astype(np.float32) for name, table in TABLES.items()}),
            TransE(**TABLES),
            "table entities: float64, 40 x 8 here, float32, 40 x 8 in the run folder",
        ),
        (TransE(**TABLES), ComplEx(**TABLES), "name 'ComplEx' here, 'TransE' in the run folder"),
    ],
)
def test_settings_of_models_are_found(before, after, name):
    assert differences(before, before) == []
    found = differences(before, after)
    assert any(name in text for text in found), found


def test_missing_entities_are_found():
    before, after = TransE(**TABLES), TransE(**TABLES)
    after.missing_entities = np.array([7])
    assert differences(before, after) == ["missing entities: int64, 1 here, int64, 0 in the run folder"]


def test_a_model_of_tensors_is_the_same_as_one_of_arrays():
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    tensors = {name: torch.from_numpy(table.copy()) for name, table in TABLES.items()}
    assert differences(TransE(**TABLES), TransE(**tensors)) == []
    model = TransE(**tensors)
    before = described(model)
    tensors["entities"][3, 4] += 1  # a training step; as_row_scorer reads the tables anew
    assert identity_of(model).differences(before) == ["table entities: other values (float64, 40 x 8)"]


# Other embedding models


class Vectors:
    """An embedding model that is none of kgeval's: ComplEx-like, with own vectors for subjects and objects."""

    geometry = "dot"

    def __init__(self, subjects, relations, objects, n_called=None):
        self.tables = [subjects, relations, objects]
        self.n_called = n_called

    def query_vectors(self, side, given, relation):
        if self.n_called is not None:
            self.n_called.append(len(given))
        return self.tables[0 if side == "object" else 2][given] * self.tables[1][relation]

    def candidate_vectors(self, side):
        return self.tables[2 if side == "object" else 0]


def vector_tables():
    rng = np.random.default_rng(5)
    return [rng.normal(size=(rows, 6)) for rows in (N, M, N)]


def test_vectors_of_other_models_are_hashed():
    before = described(Vectors(*vector_tables()))
    assert identity_of(Vectors(*vector_tables())).differences(before) == []
    triples = DATASET["test"].array
    for place, (rows, message) in enumerate(
        [
            (range(N), "candidate vectors of the subject side: other values (float64, 40 x 6)"),
            (range(M), "the vectors of queries of the subject side differ"),
            (range(N), "candidate vectors of the object side: other values (float64, 40 x 6)"),
        ]
    ):
        for row in rows:
            tables = vector_tables()
            tables[place][row, 3] = np.nextafter(tables[place][row, 3], 9)
            assert message in identity_of(Vectors(*tables)).differences(before)
    # With one side, the subjects are in queries only: those of the ranked triples are hashed.
    before = described(Vectors(*vector_tables()), sides=("object",))
    for row in range(N):
        tables = vector_tables()
        tables[0][row] += 1e-9
        found = identity_of(Vectors(*tables), sides=("object",)).differences(before)
        expected = ["the vectors of queries of the object side differ"] if row in triples[:, 0] else []
        assert found == expected


def test_queries_are_hashed_while_there_is_time(monkeypatch):
    """As many as the first run had time for, in calls of the same sizes, however long it takes then."""
    now, first, second = [0.0], [], []
    monkeypatch.setattr(identity, "perf_counter", lambda: now[0])

    class Slow(Vectors):
        def query_vectors(self, side, given, relation):
            now[0] += 0.1 * len(given)
            return super().query_vectors(side, given, relation)

    before = described(Slow(*vector_tables(), first))
    assert [before["queries"][side]["n"] for side in SIDES] == [12, 12]  # calls of 4 and 8 queries, 0.5 s a side
    now[0] = 0.0
    assert identity_of(Slow(*vector_tables(), second), seconds=0.0).differences(before) == []
    assert second == first == [4, 8, 4, 8]


def test_a_subclass_of_a_model_is_read_and_seen():
    """Its tables are hashed, and the vectors too, since kgeval does not know what its methods do."""

    class Scaled(TransE):
        factor = 1.0

        def query_vectors(self, side, given, relation):
            return self.factor * super().query_vectors(side, given, relation)

    before, after = Scaled(**TABLES), Scaled(**TABLES)
    assert differences(before, after) == []
    after.factor = 1.001
    assert differences(before, after) == [f"the vectors of queries of the {side} side differ" for side in SIDES[:1]]


# Functions


def function_of(tables, dtype=np.float64):
    """A function with three tables: of subjects, relations and objects."""
    return lambda s, p, o: (tables[0][s] * tables[1][p] * tables[2][o]).sum(axis=1).astype(dtype)


def test_one_entity_of_a_function_is_found():
    before = described(function_of(vector_tables()))
    assert sum(before["probes"]["triples"]["calls"]) == 2 * N
    assert identity_of(function_of(vector_tables())).differences(before) == []
    for place, rows in enumerate((N, M, N)):
        for row in range(rows):
            tables = vector_tables()
            tables[place][row] += 1e-3
            (found,) = identity_of(function_of(tables)).differences(before)
            assert " of 80 probed scores differ, for example the score of (" in found


def test_one_side_shows_its_candidates_and_its_queries():
    before = described(function_of(vector_tables()), sides=("subject",))
    triples = DATASET["test"].array
    for place in (0, 2):
        for row in range(N):
            tables = vector_tables()
            tables[place][row] += 1e-3
            found = identity_of(function_of(tables), sides=("subject",)).differences(before)
            assert bool(found) == (place == 0 or row in triples[:, 2])


def test_only_what_is_ranked_is_probed():
    """A scorer may know the candidates and the ranked triples only."""
    candidates, triples = np.arange(3, 30), DATASET["test"].array[:5]
    known = set(candidates) | set(triples[:, [0, 2]].ravel())
    seen = set()

    def scorer(s, p, o):
        seen.update(s, o)
        assert seen <= known
        assert set(p) <= set(triples[:, 1])
        return s - o

    scorer.missing_entities = np.array([4])
    described(scorer, triples=triples, candidates=candidates)
    assert seen == known - {4}
    assert 4 not in triples


def timed(per_triple, now, calls):
    """A function with its own clock."""

    def scorer(s, p, o):
        now[0] += per_triple * len(s)
        calls.append(len(s))
        return np.sin(s * 1.0 + p * 3 + o * 7)

    return scorer


@pytest.mark.parametrize(("per_triple", "expected"), [(1e-3, [4, 8, 16, 32, 64, 128]), (1.0, [4, 8]), (1e-6, None)])
def test_a_slow_function_is_probed_for_about_a_second(monkeypatch, per_triple, expected):
    now, calls, again = [0.0], [], []
    monkeypatch.setattr(identity, "perf_counter", lambda: now[0])
    data = dataset(n=1000, n_test=300)
    before = described(timed(per_triple, now, calls), data)
    probed = before["probes"]["triples"]["calls"]
    expected = expected or [*(4 * 2**i for i in range(8)), 980]  # every candidate on both sides
    assert probed == expected
    assert calls[len(probed) :] == [probed[-1] // 2, probed[-1] - probed[-1] // 2]  # the last call in two halves
    assert now[0] <= max(1.0, 20 * per_triple)
    # another machine, ten times as slow: the same triples in the same calls
    assert identity_of(timed(10 * per_triple, now, again), data, seconds=0.0).differences(before) == []
    assert again == probed


def test_calls_keep_to_the_largest_number_of_pairs():
    calls = []
    before = described(timed(0, [0], calls), limits=Limits(batch_size=10))
    assert max(calls) == 10
    calls.clear()
    assert identity_of(timed(0, [0], calls), limits=Limits(batch_size=3)).differences(before) == []
    assert max(calls) == 3


def test_a_function_that_reuses_its_memory():
    buffer = np.empty(1 << 12)

    def scorer(s, p, o, by=0.0):
        np.sin(s + 10.0 * o, out=buffer[: len(s)])
        buffer[: len(s)] += by * (s == 11)
        return buffer[: len(s)]

    assert differences(scorer, scorer) == []
    (found,) = differences(scorer, named(lambda s, p, o: scorer(s, p, o, 0.1), "scorer"))
    assert "probed scores differ" in found


def named(function, name):
    function.__name__ = name
    return function


@pytest.mark.parametrize(
    ("dtype", "small", "large"),
    [
        (np.float64, 2e-7, 1e-6),
        (np.float32, 2e-7, 1e-6),
        (np.float16, 5e-3, 2e-2),
    ],
)
def test_rounding_is_no_difference(dtype, small, large):
    """Relative to the largest score, which is 8 here."""

    def scorer(by):
        return named(lambda s, p, o: np.where(s == 0, 8, s % 5 + by * (s == 13)).astype(dtype), "f")

    assert differences(scorer(0.0), scorer(8 * small)) == []
    assert len(differences(scorer(0.0), scorer(8 * large))) == 1


def test_the_noise_of_a_scorer_is_no_difference():
    """A scorer whose digits depend on the size of the call, as those of batched products do, can still be resumed."""

    def scorer(noise, by=0.0):
        return named(lambda s, p, o: 1.0 + s % 5 + noise * np.sin(len(s) + s * 3.0) + by * (s == 13), "f")

    before = described(scorer(1e-5))
    assert 1e-6 < before["probes"]["triples"]["noise"] < 2e-5
    assert identity_of(scorer(1e-5, by=1e-5)).differences(before) == []
    assert len(identity_of(scorer(1e-5, by=1e-3)).differences(before)) == 1
    # A scorer that is all noise does not excuse everything: at most the tolerance of `check_scorer`.
    before = described(scorer(0.5))
    assert len(identity_of(scorer(0.0, by=0.6)).differences(before)) == 1


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_of_json(value):
    def scorer(wrong=value):
        return named(lambda s, p, o: np.where(s == 13, wrong, s - o * 0.5), "f")

    assert differences(scorer(), scorer()) == []
    for other in {np.nan, np.inf, -np.inf, 3.0} - {value}:
        (found,) = differences(scorer(), scorer(other))
        assert "probed scores differ" in found


def test_integers_are_compared_exactly():
    def scorer(by):
        return named(lambda s, p, o: (1 << 60) + s * 100 + o + by * (s == 13), "f")

    assert differences(scorer(0), scorer(0)) == []
    (found,) = differences(scorer(0), scorer(1))
    assert "probed scores differ" in found


def test_the_dtype_and_the_name_count():
    found = differences(named(lambda s, p, o: s - o, "f"), named(lambda s, p, o: s - o * 1.0, "f"))
    assert found == ["the scores are float64 here, int64 in the run folder"]
    assert differences(named(lambda s, p, o: s, "f"), named(lambda s, p, o: s, "g")) == [
        "name 'g' here, 'f' in the run folder"
    ]
    (found,) = differences(named(lambda s, p, o: s, "f"), Rows(vector_tables()))[:1]
    assert found == "kind 'matrix' here, 'function' in the run folder"


# Scorers of whole rows


class Rows:
    """Whole rows from three tables."""

    def __init__(self, tables, calls=None):
        self.values, self.calls = tables, calls

    def note(self, *call):
        if self.calls is not None:
            self.calls.append(call)

    def score_objects(self, s, p):
        self.note("object", len(s), None)
        return (self.values[0][s] * self.values[1][p]) @ self.values[2].T

    def score_subjects(self, p, o):
        self.note("subject", len(o), None)
        return (self.values[2][o] * self.values[1][p]) @ self.values[0].T


class Columns(Rows):
    """Some columns."""

    def score_objects(self, s, p, candidates=None):
        self.note("object", len(s), len(candidates))
        return super().score_objects(s, p)[:, candidates]

    def score_subjects(self, p, o, candidates=None):
        self.note("subject", len(o), len(candidates))
        return super().score_subjects(p, o)[:, candidates]


@pytest.mark.parametrize("kind", [Rows, Columns])
def test_one_entity_of_a_scorer_of_rows_is_found(kind):
    before = described(kind(vector_tables()))
    assert sorted(before["probes"]) == ["object", "subject"]
    assert identity_of(kind(vector_tables())).differences(before) == []
    for place, rows in enumerate((N, M, N)):
        for row in range(0, rows, size(9, 1)):
            tables = vector_tables()
            tables[place][row] += 1e-3
            found = identity_of(kind(tables)).differences(before)
            assert len(found) == 1
            assert "probed scores differ" in found[0]


@pytest.mark.parametrize("kind", [Rows, Columns])
def test_without_time_every_entity_is_looked_at(monkeypatch, kind):
    """Two queries of whole rows show every entity; with candidates, the entities that the time allows."""
    now = [0.0]

    def clock():
        now[0] += 100.0
        return now[0]

    monkeypatch.setattr(identity, "perf_counter", clock)
    monkeypatch.setattr(identity, "SHARES", 4)
    before = described(kind(vector_tables()), sides=("object",))
    assert before["probes"]["object"]["calls"] == [2]
    found = 0
    for row in range(N):
        tables = vector_tables()
        tables[2][row] += 1e-3
        found += bool(identity_of(kind(tables), sides=("object",)).differences(before))
    assert found == (N if kind is Rows else N // 2)


def test_a_side_that_is_not_ranked_is_not_asked():
    class OneSide(Rows):
        score_subjects = None

    calls = []
    before = described(OneSide(vector_tables(), calls), sides=("object",))
    assert list(before["probes"]) == ["object"]
    assert {side for side, *_ in calls} == {"object"}


def test_candidates_that_the_scorer_lacks_are_left_out():
    class Lacking(Columns):
        missing_entities = np.array([3, 9])

        def score_objects(self, s, p, candidates=None):
            assert not {3, 9} & set(candidates)
            return super().score_objects(s, p, candidates)

    triples = DATASET["test"].array
    triples = triples[~np.isin(triples[:, [0, 2]], [3, 9]).any(axis=1)]
    assert differences(Lacking(vector_tables()), Lacking(vector_tables()), triples=triples, sides=("object",)) == []


# Parameters that a scorer shows


class Module:
    """As much of a torch module as is needed."""

    def __init__(self, weight):
        self.weight = weight

    def state_dict(self):
        return {"weight": self.weight, "version": 3}

    def score(self, s, p, o):
        return s - o * 1.0  # does not show the weight

    __call__ = score


class Holder(Rows):
    """A scorer that scores with a module."""

    def __init__(self, module):
        super().__init__(vector_tables())
        self.module = module


@pytest.mark.parametrize("make", [Module, lambda weight: Module(weight).score, lambda weight: Holder(Module(weight))])
def test_parameters_of_modules_are_hashed(make):
    weight = np.arange(6.0)
    changed = np.where(weight == 4, np.nextafter(weight, 9), weight)
    assert differences(make(weight), make(weight.copy())) == []
    assert differences(make(weight), make(changed)) == ["parameter weight: other values (float64, 6)"]


def test_parts_that_a_scorer_names():
    class Named(Rows):
        def __init__(self, **parts):
            super().__init__(vector_tables())
            self.parts = parts

        def identity_parts(self):
            return self.parts

    texts = np.array([1, 2, 3])
    assert differences(Named(texts=texts, prompt="a"), Named(texts=texts + 0, prompt="a")) == []
    assert differences(Named(texts=texts, prompt="a"), Named(texts=texts + 1, prompt="b")) == [
        "prompt 'b' here, 'a' in the run folder",
        "texts: other values (int64, 3)",
    ]


class Naming:
    """A function whose ``identity_parts`` returns `parts`."""

    def __init__(self, parts):
        self.parts = parts

    def __call__(self, s, p, o):
        return s - o * 1.0

    def identity_parts(self):
        return self.parts


def test_parts_are_compared_as_json_stores_them():
    """Tuples, dicts whose keys are numbers, and numbers of numpy are the same in the next run; True is not 1."""
    parts = {"a": (1, 2), "b": {1: 2}, "c": np.int64(3), "d": np.float32(0.5), 4: [None, "x"]}
    assert differences(Naming(parts), Naming(dict(parts))) == []
    assert differences(Naming({"a": 1}), Naming({"a": True})) == ["a True here, 1 in the run folder"]
    assert differences(Naming({"b": {1: 2}}), Naming({"b": {1: 3}})) == ["b {'1': 3} here, {'1': 2} in the run folder"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([1], r"Naming.identity_parts\(\) must return a dict; got list"),
        (
            {"a": {1}},
            r"Naming.identity_parts\(\)\['a'\] cannot be stored in a run folder: it holds a value of type set",
        ),
        ({"a": float("nan")}, r"\['a'\] cannot be stored in a run folder: Out of range float values.* Give an array"),
        ({"a": ["x", np.arange(3)]}, r"\['a'\] cannot be stored in a run folder: it holds a value of type ndarray"),
    ],
)
def test_parts_that_cannot_be_stored(parts, message):
    with pytest.raises(kg.ScoreError, match=message):
        described(Naming(parts))


def test_the_ids_of_a_function_of_another_library_count():
    """Two entities with equal scores: their ids are exchanged, and no probe shows it."""
    labels = [str(i) for i in range(N)]

    def adapter(exchanged):
        ids = {label: i for i, label in enumerate(labels)}
        if exchanged:
            ids["3"], ids["4"] = 4, 3
        score = named(lambda s, p, o: s // 100 + o // 100, "f")
        return kg.adapters.from_function(score, ids=(ids, {str(i): i for i in range(M)}), arrays="numpy")

    assert differences(adapter(False), adapter(False)) == []
    assert differences(adapter(False), adapter(True)) == ["ids of entities: other values (int64, 40)"]


def test_a_torch_module_as_a_scorer():
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.entities, self.dropout = torch.nn.Embedding(N, 4), torch.nn.Dropout(0.5)

        def forward(self, s, p, o):
            return (self.dropout(self.entities(s)) * self.entities(o)).sum(-1)

    first, second = Model(), Model()
    before = described(kg.adapters.from_function(first))
    assert identity_of(kg.adapters.from_function(second)).differences(before) == []
    with torch.no_grad():
        second.entities.weight[7, 2] += 1e-6  # too little for the probes
    found = identity_of(kg.adapters.from_function(second)).differences(before)
    assert found == ["parameter entities.weight: other values (float32, 40 x 4)"]
