"""Models whose tensors or arrays change: all parts of a model follow, those that are converted included."""

import copy
import itertools

import numpy as np
import pytest
from grids import light, thinned
from model_cases import CASES, real_tables

import kgeval as kg
from kgeval.scorers.models.distances import RotatE, TransE
from kgeval.scorers.models.products import ComplEx

N, M = 6, 3
TRIPLES = np.array([[0, 0, 1], [0, 0, 2], [3, 1, 1], [4, 2, 5], [2, 0, 1], [5, 1, 0]])
ALL = np.array(list(itertools.product(range(N), range(M), range(N)))).T


def dataset():
    return kg.Dataset.from_arrays(test=TRIPLES, n_entities=N, n_relations=M)


def phases(rng):
    return {"entities": rng.normal(size=(N, 4)), "relations": rng.uniform(-3, 3, (M, 2))}


def complex_numbers(rng):
    return {
        key: rng.normal(size=(n, 2)) + 1j * rng.normal(size=(n, 2)) for key, n in (("entities", N), ("relations", M))
    }


def halves(rng):
    return {key: rng.normal(size=(n, 4)).astype(np.float16) for key, n in (("entities", N), ("relations", M))}


def interleaved_complex(**tables):
    return ComplEx(**tables, layout="interleaved")


# build, draw: a model and random tables for it; of most kinds, some tables are converted and others are not.
KINDS = {
    **{
        name: (case.build, lambda rng, name=name: real_tables(name, rng, N, M, np.float64))
        for name, case in CASES.items()
    },
    "RotatE of phases": (lambda **tables: RotatE(**tables, norm=1), phases),
    "ComplEx of complex numbers": (ComplEx, complex_numbers),
    "interleaved ComplEx": (interleaved_complex, halves),
    "TransE of float16": (lambda **tables: TransE(**tables, norm=1), halves),
}


@pytest.mark.parametrize("kind", thinned(KINDS, 4))
@pytest.mark.light(2)
def test_all_parts_follow_their_arrays(kind):
    """After a change in place, ranks and scores are those of a new model; neither the old ones nor a mixture."""
    build, draw = KINDS[kind]
    tables, after = draw(np.random.default_rng(0)), draw(np.random.default_rng(1))
    model = build(**tables)
    before, new = kg.evaluate(build(**draw(np.random.default_rng(0))), dataset()), build(**after)
    assert kg.evaluate(model, dataset()).table.equals(before.table)
    for key, table in tables.items():
        for array, values in (
            zip(table[:4], after[key][:4], strict=True) if key.endswith("_norm") else [(table, after[key])]
        ):
            array[...] = values
    assert model.score(*ALL).tolist() == new.score(*ALL).tolist()
    expected = kg.evaluate(new, dataset())
    assert kg.evaluate(model, dataset()).table.equals(expected.table)
    assert not expected.table.equals(before.table)


def test_a_frozen_model_keeps_its_tables():
    """`freeze` is for arrays that nobody else holds: what is converted stays as it was."""
    tables = phases(np.random.default_rng(0))
    model = RotatE(tables["entities"].copy(), tables["relations"], norm=1)
    before = model.score(*ALL)
    model.freeze()
    tables["relations"] += 1.0
    assert model.score(*ALL).tolist() == before.tolist()


def test_what_was_set_on_a_model_stays():
    """`missing_entities` and notes of `load_model` are no tables; a faulty new value is told."""
    tables = phases(np.random.default_rng(0))
    model = RotatE(**tables, norm=1)
    model.missing_entities, model.notes = np.array([3]), ("a note",)
    model.refresh()
    assert (model.missing_entities.tolist(), model.notes) == ([3], ("a note",))
    turns = np.hstack([np.cos(tables["relations"]), np.sin(tables["relations"])])
    model = RotatE(tables["entities"], turns, norm=1)
    turns *= 2.0
    with pytest.raises(
        kg.DataError, match="RotatE: relation row 0, number 0: the modulus must be 1, but differs from 1"
    ):
        kg.evaluate(model, dataset())


@pytest.mark.parametrize("name", ["entities", "relations", "norm", "inverse_relations", "geometry", "_objects"])
@pytest.mark.light(2)
def test_tables_and_settings_cannot_be_assigned(name):
    """A new value once was used in a part of the model, and then overwritten by the old one without a word."""
    tables = halves(np.random.default_rng(0))
    model = TransE(**tables, norm=1)
    before = kg.evaluate(model, dataset())
    with pytest.raises(AttributeError) as caught:
        setattr(model, name, tables.get(name, 2))
    assert str(caught.value) == (
        f"TransE: {name} cannot be assigned, since the other parts of the model would not change with it. Change the "
        "numbers in the arrays or tensors that were given to TransE, or make a new TransE"
    )
    assert kg.evaluate(model, dataset()).table.equals(before.table)


def test_other_attributes_can_be_assigned():
    """A subclass may keep values of its own; a model of lists, a frozen model and a copy refuse as others do."""

    class Counting(TransE):
        def __init__(self, entities, relations):
            super().__init__(entities, relations)
            self.n_calls = 0
            self.relations = self.relations * 2

    model = Counting([[0.0], [1.0]], [[1.0]])
    model.n_calls += 1
    model.freeze()
    assert (model.n_calls, model.score([0], [0], [1]).tolist()) == (1, [-1.0])
    for refusing in (model, copy.deepcopy(model)):
        with pytest.raises(AttributeError, match="^Counting: entities cannot be assigned"):
            refusing.entities = np.ones((2, 1))


@pytest.mark.parametrize("kind", light(["RotatE of phases", "SimplE", *sorted(set(KINDS) - {"TuckER"})], 2))
def test_all_parts_follow_their_tensors(kind):
    """Parameters of torch, changed in place by an optimizer or given other data by a constraint."""
    torch = pytest.importorskip("torch", reason="tensors of torch as parameters")
    build, draw = KINDS[kind]
    tables, after = draw(np.random.default_rng(0)), draw(np.random.default_rng(1))
    parameters = {key: torch.nn.Parameter(torch.tensor(table)) for key, table in tables.items()}
    model, new = build(**parameters), kg.evaluate(build(**after), dataset())
    for change in ("no_grad", "data in place", "other data"):
        for key, parameter in parameters.items():
            values = torch.tensor(after[key])
            if change == "no_grad":
                with torch.no_grad():
                    parameter.copy_(values)
            elif change == "data in place":
                parameter.data.copy_(values)
            else:
                parameter.data = values
        assert kg.evaluate(model, dataset()).table.equals(new.table)
        for key, parameter in parameters.items():
            parameter.data = torch.tensor(tables[key])
        assert not kg.evaluate(model, dataset()).table.equals(new.table)
