"""Embedding models that cannot be ranked: wrong vectors, parameters that are not numbers, entities they lack."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scorer_cases import CHAIN, LABELS, TEST, M, N, Tensor, dataset, integer_model, raises, same_ranks

import kgeval as kg
from kgeval.kernels.numpy_kernels import NumpyCounter
from kgeval.kernels.rows import count_rows
from kgeval.scorers.models.distances import RotatE, TransE
from kgeval.scorers.models.products import ComplEx, DistMult, QuatE, SimplE
from kgeval.scorers.models.tensors import RESCAL, BatchNorm


def test_tensors_of_vectors():
    """The same for query and candidate vectors."""
    plain, torchlike = integer_model(), integer_model()
    torchlike.query_vectors = lambda *asked: Tensor(plain.query_vectors(*asked))
    torchlike.candidate_vectors = lambda side: Tensor(plain.candidate_vectors(side))
    assert same_ranks(kg.evaluate(torchlike, dataset()), kg.evaluate(plain, dataset()))


def with_vectors(query=None, candidates=None):
    """A model whose query or candidate vectors go through a change."""
    model, plain = integer_model(), integer_model()
    if query:
        model.query_vectors = lambda *asked: query(plain.query_vectors(*asked))
    if candidates:
        model.candidate_vectors = lambda side: candidates(plain.candidate_vectors(side))
    return model


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (with_vectors(lambda q: q[1:]), "TransE.query_vectors must return shape (3, d); got (2, 4)"),
        (with_vectors(lambda q: q[0]), "TransE.query_vectors must return shape (3, d); got (4,)"),
        (
            with_vectors(lambda q: q + 0j),
            "TransE must give real numbers (float or integer); got dtype complex128",
        ),
        (with_vectors(lambda q: 1 / 0), "TransE.query_vectors raised ZeroDivisionError when given 3 queries"),
        (with_vectors(lambda q: q[:, 1:]), "TransE: query vectors have 3 dimensions, candidate vectors 4"),
        (
            with_vectors(None, lambda e: e[1:]),
            "TransE.candidate_vectors('subject') must return shape (6, d), one row per",
        ),
        (with_vectors(None, lambda e: e[:, :0]), "one row per entity; got (6, 0)"),
        (with_vectors(None, lambda e: e > 0), "must give real numbers (float or integer); got dtype bool"),
        (
            TransE(np.ones((7, 4)), np.ones((2, 4))),
            "TransE has rows for 7 entities, dataset 'dataset' has 6; row i must be the vector of",
        ),
        (TransE(np.ones((6, 4)), np.ones((1, 4))), "TransE has rows for 1 relations, dataset 'dataset' has 2"),
    ],
)
def test_wrong_vectors(scorer, message):
    """Faults of an embedding model, by its name and method."""
    with raises(message):
        kg.evaluate(scorer, dataset())


def test_relation_rows_beyond_the_dataset():
    """Twice the rows are inverse relations that nobody declared; ignoring them would rank with wrong rows."""
    message = "TransE has rows for 4 relations, dataset 'dataset' has 2; does the model have inverse relations? Then "
    with raises(message + "set inverse_relations='after' or 'alternating'"):
        kg.evaluate(TransE(np.arange(24.0).reshape(N, 4), np.ones((4, 4))), dataset())


@pytest.mark.parametrize("threads", [1, 2])
def test_a_buffer_of_query_vectors_may_be_used_again(threads):
    """The same ranks as from fresh arrays, although batches are ranked side by side."""
    scorer, plain = integer_model(), integer_model()
    buffer = np.empty((N, 4))

    def into_buffer(side, given, relation):
        buffer[: len(given)] = plain.query_vectors(side, given, relation)
        return buffer[: len(given)]

    scorer.query_vectors = into_buffer
    found = kg.evaluate(scorer, dataset(), batch_size=1, executor=kg.executors.Threads(threads))
    assert same_ranks(found, kg.evaluate(plain, dataset()))


def test_moduli_need_pairs():
    """Three columns are no complex numbers."""
    scorer = with_vectors(lambda q: q[:, :3], lambda e: e[:, :3])
    vars(scorer)["geometry"] = "modulus"
    with raises("TransE: geometry 'modulus' needs a multiple of 2 columns; got 3"):
        kg.evaluate(scorer, dataset())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [N, 400])
def test_parameters_that_are_not_finite(n, value):
    """The entity is named, whether the probe meets it or (among 400 entities) not."""
    entities = np.ones((n, 4))
    entities[2, 1] = value
    test = [[0, 0, 1], [3, 0, 5], [5, 1, 1]]
    with raises("'Chad'"):
        kg.evaluate(TransE(entities, np.ones((M, 4))), dataset(n, test))
    if n > N:
        message = "TransE: the vector of entity 'Chad' is not finite: it has a NaN or infinite"
        with raises(message + " value. Did the training diverge?"):
            kg.evaluate(TransE(entities, np.ones((M, 4))), dataset(n, test))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_relation_that_cannot_be_ranked(value):
    """NaN, infinity or an overflow in a relation that the probe does not meet: its query is named."""
    relations = np.ones((M, 4))
    relations[1] = value
    borders = TEST[TEST[:, 1] == 0].tolist()
    test = [*borders, [3, 1, 4], *borders * 9]  # the probe takes the first, the middle and the last
    message = "DistMult: the vector of query (?, 'near', 'Egypt') is not finite, or so large that its scores overflow"
    with raises(message + " float64; check the parameters of this entity and relation"):
        kg.evaluate(DistMult(np.ones((N, 4)), relations), dataset(test=test))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_entities_that_overflow():
    """1e200 squared is beyond float64; 1e140 squared is not."""
    with raises("so large that its scores overflow float64"):
        kg.evaluate(DistMult(np.full((N, 4), 1e200), np.ones((M, 4))), dataset())
    assert kg.evaluate(DistMult(np.full((N, 4), 1e140), np.ones((M, 4))), dataset())["raw.optimistic.mr"] == 1


TRAIN = [[0, 0, 1], [1, 0, 2], [2, 1, 3], [3, 1, 4]]  # Fiji is unseen


def lacking(entities=(), relations=()):
    """A model that says which vectors it lacks; those of entities are zeros."""
    model = integer_model(**{LABELS[i]: 0 for i in entities})
    model.missing_entities, model.missing_relations = np.array(entities, int), np.array(relations, int)
    return model


@pytest.mark.parametrize("run", [kg.evaluate, kg.check_scorer])
def test_vectors_that_a_model_must_have(run):
    """What occurs in train must have a vector; without train, everything."""
    message = "the model has no vector for 2 entities that it should know (such as 'Belize'); it has vectors for 3 "
    with raises(message + "of 6 entities; was it trained on another dataset?"):
        run(lacking([1, 2, 5]), dataset(train=TRAIN))
    with raises("no vector for 1 relation that it should know (such as 'near')"):
        run(lacking(relations=[1]), dataset(train=TRAIN))
    with raises("no vector for 1 entity that it should know (such as 'Fiji'); it has vectors for 5 of 6 entities;"):
        run(lacking([5]), dataset())


def test_missing_entities_are_dropped_by_default():
    """Two of six triples name Fiji: 8 ranks are left, each among the 5 entities of train, and 4 are counted."""
    result = kg.evaluate(lacking([5]), dataset(train=TRAIN))
    assert result.protocol.unseen == "drop"
    note = (
        "the model has no vector for 1 entity that does not occur in train, so only the entities of train are "
        "candidates (unseen='drop')"
    )
    assert note in result.notes
    assert result.dropped == {"an entity or relation that train lacks (unseen='drop')": 4}
    assert result.table["rivals_raw"].tolist() == [4] * 8
    assert not result.table[["s", "o"]].isin([5]).any(axis=None)


@pytest.mark.parametrize("unseen", ["rank", "error"])
def test_missing_entities_cannot_be_ranked(unseen):
    """Although no ranked triple names Fiji, it would be a rival; the error says what to choose."""
    test = TEST[(TEST[:, [0, 2]] != 5).all(axis=1)]
    message = (
        f"unseen='{unseen}' needs a vector for every candidate, but the model has none for 1 entity "
        "that does not occur in train, first 'Fiji'; choose unseen='drop' or unseen='worst'"
    )
    with raises(message, kg.ProtocolError):
        kg.evaluate(lacking([5]), dataset(train=TRAIN, test=test), kg.Protocol(unseen=unseen))


def test_missing_relations():
    """A relation that train lacks: dropped by default, refused where everything is to be ranked."""
    train = [row for row in TRAIN if row[1] == 0] + [[3, 0, 4], [5, 0, 0]]
    result = kg.evaluate(lacking(relations=[1]), dataset(train=train))
    assert sorted(set(result.table["p"])) == [0]
    assert not any("0 entities" in note for note in result.notes)
    assert any("for 1 relation that does not occur in train" in note for note in result.notes)
    assert sum(result.dropped.values()) == 6
    with raises("but the model has none for 1 relation that does not occur in train, first 'near'", kg.ProtocolError):
        kg.evaluate(lacking(relations=[1]), dataset(train=train), kg.Protocol(unseen="rank"))


def test_check_scorer_leaves_out_what_is_missing():
    """NaN vectors of missing entities are never asked for; a model that fits no triple is refused."""
    model = lacking([5])
    model.entities[5] = np.nan
    assert kg.check_scorer(model, dataset(train=TRAIN)).notes == ()
    data = kg.Dataset.from_arrays(test=CHAIN[4:], train=[], n_entities=N, n_relations=M)
    with raises("dataset 'dataset' has no triple whose entities and relation all have a vector in TransE; do"):
        kg.check_scorer(lacking([5]), data)


@pytest.mark.parametrize("lost", ["equal", "known_equal"])
@pytest.mark.parametrize("device", ["numpy", "cpu"])
def test_a_positive_that_differs_from_itself_is_refused(monkeypatch, lost, device):
    """A counter that misses the positive among its equals would give rank 0: it is an error, not a number."""
    if device == "cpu":
        pytest.importorskip("torch", reason="device='cpu' needs torch")
    original = NumpyCounter.count

    def blind(counter, queries, places):
        counts = original(counter, queries, places)
        return replace(counts, **{lost: np.zeros_like(counts.equal)})

    data = dataset(train=CHAIN[:4])
    assert kg.evaluate(integer_model(), data, device=device, progress=False)["mrr"] > 0
    monkeypatch.setattr(NumpyCounter, "count", blind)
    with pytest.raises(kg.ScoreError, match="is missing in the count of equal scores; this is a bug in kgeval"):
        kg.evaluate(integer_model(), data, device=device, progress=False)


def test_a_row_that_loses_its_positive_is_refused(monkeypatch):
    """The same for scorers that give whole rows."""

    def blind(scores, places):
        counts = count_rows(scores, places)
        return replace(counts, equal=counts.equal - 1)

    monkeypatch.setattr("kgeval.kernels.rows.count_rows", blind)
    with pytest.raises(kg.ScoreError, match="is missing in the count of equal scores; this is a bug in kgeval"):
        kg.evaluate(lambda s, p, o: s + 2.0 * o, dataset(), progress=False)


@pytest.mark.parametrize("model", [TransE, DistMult, ComplEx, RESCAL])
def test_masked_arrays_are_refused(model):
    """G4: what is masked has no value; also where nothing is masked."""
    relations = np.ones((M, 4, 4) if model is RESCAL else (M, 4))
    for mask in (False, True):
        entities = np.ma.MaskedArray(np.ones((N, 4)), mask=mask)
        with raises("entities is a masked array; a masked value cannot be scored. Fill it, or pass its", kg.DataError):
            model(entities, relations)


def test_frames_are_read_in_the_order_of_ids_only():
    """G5: an index that says another order, by labels or by numbers, is not passed over."""
    values = np.arange(24.0).reshape(N, 4)
    for index, row, name in ((LABELS, 0, LABELS[0]), ([0, 1, 3, 2, 4, 5], 2, 3), (range(1, 7), 0, 1)):
        message = (
            f"entities is a DataFrame whose index is not 0, 1, 2, ...: row {row} has the index {name!r}, but row i "
            "must belong to id i. Put the rows in the order of the dataset, without the index: "
            "frame.loc[list(dataset.entities.labels)].to_numpy(), or with dataset.relations.labels"
        )
        with raises(message, kg.DataError):
            TransE(pd.DataFrame(values, index=index), np.ones((M, 4)))
        with raises("relations is a DataFrame whose index", kg.DataError):
            ComplEx(values, pd.DataFrame(values, index=index))
    with raises("mean is a Series whose index is not 0, 1, 2, ...: row 0 has the index 1", kg.DataError):
        BatchNorm([1, 1], [0, 0], pd.Series([0, 0], index=[1, 0]), [1, 1])
    assert same_ranks(
        kg.evaluate(TransE(pd.DataFrame(values), pd.DataFrame(np.ones((M, 4)))), dataset()),
        kg.evaluate(TransE(values, np.ones((M, 4))), dataset()),
    )


@pytest.mark.parametrize("dtype", [">f2", ">f4", "<f8", ">f8", ">i8", "longdouble"])
def test_numbers_of_another_byte_order_or_size(dtype):
    """G14: converted exactly, in tables of one and of more dimensions."""
    for model, shape in ((TransE, (N, 4)), (RESCAL, (N, 4, 4)), (ComplEx, (N, 4))):
        entities, relations = np.arange(24.0).reshape(N, 4), np.arange(np.prod(shape)).reshape(shape)
        same = model(entities.astype(dtype), relations.astype(dtype)).score([0, 3], [1, 5], [2, 4])
        assert same.tolist() == model(entities, relations.astype(float)).score([0, 3], [1, 5], [2, 4]).tolist()


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double is float64 here")
def test_long_doubles_that_float64_cannot_hold():
    """G14: the true reason, not `must be a real numeric array`."""
    entities = np.ones((N, 4), dtype=np.longdouble)
    entities[2, 1] = np.nextafter(np.longdouble(1), np.longdouble(2))
    message = f"entities has {entities.dtype} numbers that float64 cannot hold; the first is {entities[2, 1]!s} at "
    message += "[2, 1]. kgeval computes in float64; round the numbers yourself with .astype(numpy.float64)"
    with raises(message, kg.DataError):
        TransE(entities, np.ones((M, 4)))
    entities[2, 1] = np.nan  # such as the row of an entity that the model lacks
    assert np.isnan(TransE(entities, np.ones((M, 4))).score([2], [0], [0])).all()


class Vectors:
    """Vectors of too few entities."""

    geometry = "dot"

    def query_vectors(self, side, given, relation):
        return np.ones((N - 2, 4))[given]

    def candidate_vectors(self, side):
        return np.ones((N - 2, 4))


@pytest.mark.parametrize("run", [kg.evaluate, kg.check_scorer])
def test_too_few_rows(run):
    """G17: the expected and the given number of rows, not an IndexError inside query_vectors."""
    message = "TransE has rows for 4 entities, dataset 'dataset' has 6; row i must be the vector of dataset.entities."
    with raises(message):
        run(TransE(np.ones((N - 2, 4)), np.ones((M, 4))), dataset())
    with raises("Vectors.candidate_vectors('subject') must return shape (6, d), one row per entity; got (4, 4)"):
        run(Vectors(), dataset())


def test_phases_that_are_all_small():
    """S7: parameters in another unit; a note of the result and a warning, until the call says the unit."""
    entities, phases = np.ones((N, 20)), np.linspace(-0.3, 0.2, M * 10).reshape(M, 10)
    caution = (
        "RotatE: no phase of the relations is beyond 0.3, though phases in radians usually lie between -3.14 and 3.14. "
        "If the phases have another unit, set phase_unit= (for the paper's code: pi * hidden_dim / (gamma + 2)); "
        "phase_unit=1 means radians"
    )
    with pytest.warns(kg.KgevalWarning, match="no phase of the relations is beyond 0.3") as caught:
        model = RotatE(entities, phases)
    assert (str(caught[0].message), caught[0].filename) == (caution, __file__)
    assert model.notes == (model.description, caution)
    for said in (RotatE(entities, phases, phase_unit=1), RotatE(entities, 2 * phases), RotatE(entities, 0.0 * phases)):
        assert said.notes == (said.description,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "paper"}, "form must be one of 'pykeen'; got 'paper'"),
        ({"clamp": 20}, "clamp must be the smallest and the largest score, such as (-20, 20); got 20"),
        ({"clamp": (3, 1)}, "clamp must be the smallest and the largest score, such as (-20, 20); got (3, 1)"),
        ({"clamp": (0, np.nan)}, "clamp must be the smallest and the largest score, such as (-20, 20); got (0, nan)"),
    ],
)
def test_forms_and_bounds(options, message):
    tables = [np.ones((3, 2)), np.ones((3, 2)), np.ones((1, 2)), np.ones((1, 2))]
    with pytest.raises(kg.DataError) as caught:
        SimplE(*tables, **options)
    assert str(caught.value) == message


def test_descriptions_of_forms():
    tables = [np.ones((3, 4)), np.ones((3, 4)), np.ones((1, 4)), np.ones((1, 4))]
    model = SimplE(*tables, form="pykeen", clamp=[-20, 20])
    assert model.description == (
        "SimplE, PyKEEN's form, 4 dimensions, scores clamped to [-20, 20], no inverse relations"
    )
    assert SimplE(*tables).description == "SimplE, 4 dimensions, no inverse relations"
    assert QuatE(tables[0], tables[2], form="pykeen").description == (
        "QuatE, PyKEEN's form, 1 quaternion dimensions (halves), relations divided by their norms, no inverse relations"
    )


def test_a_quaternion_of_norm_0_in_the_form_of_pykeen():
    """It stays 0, as after torch.nn.functional.normalize; in the paper's form it has no direction."""
    entities, relations = np.ones((2, 4)), np.zeros((1, 4))
    assert QuatE(entities, relations, form="pykeen").score([0], [0], [1]).tolist() == [0.0]
    assert np.isnan(QuatE(entities, relations).score([0], [0], [1])).all()
