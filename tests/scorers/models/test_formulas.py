"""The ten models against their formulas, written as loops over single numbers."""

import itertools
import math

import numpy as np
import pytest
from grids import size
from model_cases import (
    CASES,
    INVERSES,
    SIDES,
    as_complex,
    draw_model,
    draw_quate,
    draw_rotate,
    real_tables,
    side_scores,
)

from kgeval.errors import DataError
from kgeval.scorers.models import MODELS
from kgeval.scorers.models.base import EmbeddingModel
from kgeval.scorers.models.distances import RotatE, TransE
from kgeval.scorers.models.products import CP, ComplEx, DistMult, HolE, QuatE, SimplE
from kgeval.scorers.models.tensors import RESCAL, BatchNorm, TuckER


@pytest.mark.parametrize("inverse", INVERSES)
@pytest.mark.parametrize("name", CASES)
def test_scores_equal_the_formula(name, inverse):
    """Every triple on both sides, exactly; with inverse relations (?, p, o) is (o, inverse of p, ?)."""
    for seed in range(size(2, 4)):
        model, score = draw_model(name, inverse, np.random.default_rng(seed), 4, 3)
        triples = list(itertools.product(range(4), range(3), range(4)))
        s, p, o = np.array(triples).T
        for side in SIDES:
            assert side_scores(model, side, s, p, o).tolist() == [score(side, *triple) for triple in triples]
        assert model.score(s, p, o).tolist() == [score("object", *triple) for triple in triples]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_real_parameters(name, dtype):
    """Formula and model agree to rounding in float64, also for float32 tables.

    The subject side of RotatE compares s with o conj(p), so its error is that of |p| = 1 in float32.
    """
    tolerance = 1e-6 if name.startswith("RotatE") and dtype == np.float32 else 1e-12
    rng = np.random.default_rng(5)
    tables = real_tables(name, rng, 5, 2, dtype)
    model = CASES[name].build(**tables)
    listed = {k: v if k.endswith("_norm") else np.asarray(v, float).tolist() for k, v in tables.items()}
    for s, p, o in list(itertools.product(range(5), range(2), range(5)))[:: size(3, 1)]:
        expected = pytest.approx(CASES[name].score(listed, s, p, o), abs=tolerance, rel=tolerance)
        for side in SIDES:
            assert side_scores(model, side, *(np.array([i]) for i in (s, p, o)))[0] == expected


@pytest.mark.parametrize("inverse", INVERSES)
@pytest.mark.parametrize("name", CASES)
def test_query_vectors_do_not_depend_on_the_batch(name, inverse):
    """Bit for bit the same row alone, reversed and among all; else counts would change with batch size."""
    tables = real_tables(name, np.random.default_rng(7), 40, 6, np.float32)
    model = CASES[name].build(**tables, inverse_relations=inverse)
    n_relations = 6 // (2 if inverse else 1)
    given, p = (ids.ravel() for ids in np.meshgrid(np.arange(40), np.arange(n_relations)))
    for side in SIDES:
        whole = model.query_vectors(side, given, p)
        assert whole.dtype == np.float64
        for i in range(0, len(given), size(29, 7)):
            assert (model.query_vectors(side, given[i : i + 1], p[i : i + 1]) == whole[i]).all()
        assert (model.query_vectors(side, given[::-1], p[::-1]) == whole[::-1]).all()


def interleaved(table, n_parts):
    """All parts of one number side by side, from parts one after the other."""
    return np.array(table).reshape(len(table), n_parts, -1).transpose(0, 2, 1).reshape(len(table), -1)


@pytest.mark.parametrize(("model", "n_parts"), [(ComplEx, 2), (RotatE, 2), (QuatE, 4)])
def test_layouts(model, n_parts):
    """Interleaved tables and tables in halves hold the same numbers, so all scores are the same."""
    draw = draw_quate if n_parts == 4 else draw_rotate
    tables = draw(np.random.default_rng(0), 5, 2)
    s, p, o = np.array(list(itertools.product(range(5), range(2), range(5)))).T
    halves = model(**tables).score(s, p, o)
    other = {name: interleaved(table, n_parts) for name, table in tables.items()}
    assert len(set(halves)) > 10
    assert (model(**other, layout="interleaved").score(s, p, o) == halves).all()
    assert (model(**other, layout="halves").score(s, p, o) != halves).any()


@pytest.mark.parametrize("model", [ComplEx, RotatE])
def test_complex_arrays(model):
    """A complex array needs no layout, whatever is said."""
    tables = draw_rotate(np.random.default_rng(1), 5, 2)
    s, p, o = np.array(list(itertools.product(range(5), range(2), range(5)))).T
    numbers = {name: np.array([as_complex(row) for row in table]) for name, table in tables.items()}
    for layout in ("halves", "interleaved"):
        assert (model(**numbers, layout=layout).score(s, p, o) == model(**tables).score(s, p, o)).all()


def test_rotate_phases():
    """Phases t stand for exp(i t): 1 turned by pi/2 meets i at distance 0, and -i at distance 2."""
    model = RotatE([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [[math.pi / 2]])
    assert model.score([0, 0], [0, 0], [1, 2]).tolist() == pytest.approx([0.0, -2.0], abs=1e-15)
    assert side_scores(model, "subject", *np.array([[0, 1], [0, 0], [1, 0]])).tolist() == pytest.approx(
        [0.0, -2.0], abs=1e-15
    )


def test_rotate_norms_differ():
    """Differences 3 + 4i and 12i: -(5 + 12) under norm 1, -sqrt(25 + 144) under norm 2."""
    entities, relations = [[3 + 4j, 12j], [0j, 0j]], [[1 + 0j, 1 + 0j]]
    assert [RotatE(entities, relations, norm=n).score([0], [0], [1])[0] for n in (1, 2)] == [-17, -13]


def test_batch_norm():
    """(x - 2) / sqrt(3 + 1) * 6 + 5 is 3 x - 1, by hand; the default eps is 1e-5."""
    assert [x.tolist() for x in BatchNorm([6.0], [5.0], [2.0], [3.0], eps=1.0).affine(1)] == [[3.0], [-1.0]]
    scale, shift = BatchNorm([1.0], [0.0], [1.0], [0.0]).affine(1)
    assert (scale[0], shift[0]) == pytest.approx((1e5**0.5, -(1e5**0.5)), rel=1e-15)
    with pytest.raises(DataError, match=r"parameters of the batch normalisation must have shape \(2,\); got \(1,\)"):
        BatchNorm([1.0], [0.0], [1.0], [1.0]).affine(2)


def test_registry_has_all_ten_models():
    """Every subclass is registered under its own name in lower case, and each was tested above."""
    assert set(MODELS) == {model.__name__.lower() for model in EmbeddingModel.__subclasses__()}
    assert len(MODELS) == 10
    assert {name.partition("-")[0].lower() for name in CASES} == set(MODELS)


def test_one_table_per_side_is_not_copied():
    """A subject table serves the subject side, except with inverse relations, which ask for objects only."""
    subjects, objects = np.ones((3, 2)), np.zeros((3, 2))
    plain = CP(subjects, objects, np.ones((2, 2)))
    assert np.shares_memory(plain.candidate_vectors("subject"), subjects)
    assert np.shares_memory(plain.candidate_vectors("object"), objects)
    inverse = CP(subjects, objects, np.ones((2, 2)), inverse_relations="after")
    assert np.shares_memory(inverse.candidate_vectors("subject"), objects)


E, R = np.ones((4, 4)), np.ones((2, 4))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TransE(E, R, norm=3), "norm must be 1 or 2; got 3"),
        (lambda: RotatE(E, [[0.0, 0.0]], norm="1"), "norm must be 1 or 2; got '1'"),
        (lambda: TransE(E, R[:, :3]), r"same number of columns; got \(4, 4\) and \(2, 3\)"),
        (lambda: DistMult(E[:, :0], R[:, :0]), r"same number of columns; got \(4, 0\) and \(2, 0\)"),
        (lambda: ComplEx(E[:, :3], R[:, :3]), r"entities: .* multiple of 2; got shape \(4, 3\)"),
        (lambda: QuatE(E, R[:, :2]), r"relations: .* multiple of 4; got shape \(2, 2\)"),
        (lambda: ComplEx(E, R, layout="half"), "layout must be one of 'halves', .* did you mean 'halves'"),
        (
            lambda: TransE(E, R, inverse_relations="before"),
            "inverse_relations must be one of 'after', 'alter",
        ),
        (lambda: TransE(E, R[:1], inverse_relations="after"), "needs an even number of rows; got 1"),
        (lambda: TransE(E.astype(str), R), "entities must be a real numeric array; got dtype <U"),
        (lambda: TransE(E, R.astype(object)), "relations must be a real numeric array; got dtype object"),
        (lambda: TransE(E + 1j, R), "entities must be a real numeric array; got dtype complex128"),
        (lambda: TransE(E > 0, R), "entities must be a real numeric array; got dtype bool"),
        (lambda: DistMult(E[0], R), r"entities must have 2 dimension\(s\); got shape \(4,\)"),
        (lambda: RESCAL(E, R), r"relations must have 3 dimension\(s\); got shape \(2, 4\)"),
        (lambda: RESCAL(E, np.ones((2, 4, 3))), r"shape \(relations, 4, 4\); got \(2, 4, 3\)"),
        (lambda: TuckER(E, R, np.ones((4, 4, 3))), r"core must have shape \(4, 4, 4\); got \(4, 4, 3\)"),
        (lambda: CP(E, E[1:], R), r"two tables must have the same shape; got \(4, 4\) and \(3, 4\)"),
        (lambda: SimplE(E, E, R, R[1:]), r"two tables must have the same shape; got \(2, 4\) and \(1, 4\)"),
        (
            lambda: RotatE(E, [[1, 0.6, 0, 0.8], [1, 1, 1, 0]]),
            "relation row 1, number 0: the modulus must be 1, but differs from 1 by 0.4142",
        ),
    ],
)
def test_wrong_parameters_are_named(make, message):
    """Each message says which array, what was expected, and what came."""
    with pytest.raises(DataError, match=message):
        make()


def test_repr_counts_relations_not_rows():
    """Six rows with inverses are three relations."""
    model = TransE(np.ones((4, 5)), np.ones((6, 5)), inverse_relations="after")
    assert repr(model) == "TransE(4 entities, 3 relations, 5 numbers, inverse relations after)"


@pytest.mark.parametrize(
    ("normalise", "expected"),
    [
        ("none", 3 + 5 - 2 + 4),
        ("entities-l1", 3 / 7 + 5 - 1 + 4 / 7),
        ("entities-l2", 0.6 + 5 - 1 + 0.8),
        ("all-l2", 0.6 + 1 - 1 + 0.8),
    ],
)
def test_normalised_vectors(normalise, expected):
    """(3, 4) + (5, 0) - (2, 0), whose norms are 7 and 5, 5, 2; a row of zeros stays zero, as in torch (S10)."""
    model = TransE([[3.0, 4.0], [2.0, 0.0], [0.0, 0.0]], [[5.0, 0.0]], normalise=normalise)
    assert model.score([0], [0], [1])[0] == pytest.approx(-expected, abs=1e-12)
    assert model.candidate_vectors("object")[2].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("model", "description"),
    [
        (TransE([[1, 2]], [[3, 4]]), "TransE, L1, 2 dimensions, no inverse relations"),
        (TransE([[1, 2]], [[3, 4]], norm=2), "TransE, L2, 2 dimensions, no inverse relations"),
        (
            TransE([[1, 2]], [[3, 4]], normalise="entities-l1"),
            "TransE, L1, 2 dimensions, entities divided by their L1 norms, no inverse relations",
        ),
        (
            TransE([[1, 2]], [[3, 4]] * 2, inverse_relations="after", normalise="all-l2"),
            "TransE, L1, 2 dimensions, entities and relations divided by their L2 norms, inverse relations after",
        ),
        (
            RotatE([[1, 2, 3, 4]], [[0.5, 1.0]]),
            "RotatE, L1 norm of moduli, 2 complex dimensions (halves), relations as phases in radians, "
            "no inverse relations",
        ),
        (
            RotatE([[1 + 2j]], [[0.5]], phase_unit=2.5, norm=2),
            "RotatE, L2, 1 complex dimensions, relations as phases in units of 2.5 radians, no inverse relations",
        ),
        (
            RotatE([[1, 2]], [[1, 0]] * 4, layout="interleaved", inverse_relations="alternating"),
            "RotatE, L1 norm of moduli, 1 complex dimensions (interleaved), relations as rotations, "
            "inverse relations alternating",
        ),
        (DistMult([[1, 2]], [[3, 4]]), "DistMult, 2 dimensions, no inverse relations"),
        (ComplEx([[1, 2]], [[3, 4]]), "ComplEx, 1 complex dimensions (halves), no inverse relations"),
        (ComplEx([[1j, 2]], [[3, 4j]]), "ComplEx, 2 complex dimensions, no inverse relations"),
        (CP([[1, 2]], [[1, 2]], [[3, 4]]), "CP, 2 dimensions, no inverse relations"),
        (SimplE([[1, 2]], [[1, 2]], [[3, 4]], [[3, 4]]), "SimplE, 2 dimensions, no inverse relations"),
        (HolE([[1, 2]], [[3, 4]]), "HolE, 2 dimensions, no inverse relations"),
        (
            QuatE([[1, 2, 3, 4]], [[3, 4, 5, 6]]),
            "QuatE, 1 quaternion dimensions (halves), relations divided by their norms, no inverse relations",
        ),
        (RESCAL([[1, 2]], [[[3, 4], [5, 6]]]), "RESCAL, 2 dimensions, no inverse relations"),
        (
            TuckER([[1, 2]], [[3]], [[[3, 4]], [[5, 6]]]),
            "TuckER, 2 x 1 dimensions, no batch normalisation, no inverse relations",
        ),
        (
            TuckER([[1]], [[3]], [[[3]]], BatchNorm([1], [1], [1], [1]), BatchNorm([1], [1], [1], [1], eps=0.001)),
            "TuckER, 1 x 1 dimensions, batch normalisation of the subject (eps 1e-05) and the product (eps 0.001), "
            "no inverse relations",
        ),
    ],
)
def test_descriptions(model, description):
    """What changes a model's numbers is its first note, and so the first note of its results (S7 to S11)."""
    assert (model.description, model.notes[0]) == (description, description)
