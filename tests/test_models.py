"""The ten models against their formulas, written as loops over single numbers."""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from kgeval.errors import DataError
from kgeval.kernels.geometry import exact_scores
from kgeval.scorers.models import MODELS
from kgeval.scorers.models.base import EmbeddingModel
from kgeval.scorers.models.distances import RotatE, TransE
from kgeval.scorers.models.products import CP, ComplEx, DistMult, HolE, QuatE, SimplE
from kgeval.scorers.models.tensors import RESCAL, BatchNorm, TuckER

SIDES = ("subject", "object")
INVERSES = (None, "after", "alternating")


# The formulas: `t` holds the tables, `s` and `o` are entities, `r` is a row of the relation tables.
def rows(t, s, r, o):
    return zip(t["entities"][s], t["relations"][r], t["entities"][o], strict=True)


def transe_1(t, s, r, o):
    return -sum(abs(a + b - c) for a, b, c in rows(t, s, r, o))


def transe_2(t, s, r, o):
    return -math.sqrt(sum((a + b - c) ** 2 for a, b, c in rows(t, s, r, o)))


def distmult(t, s, r, o):
    return sum(a * b * c for a, b, c in rows(t, s, r, o))


def cp(t, s, r, o):
    return sum(a * b * c for a, b, c in zip(t["subjects"][s], t["relations"][r], t["objects"][o], strict=True))


def simple(t, s, r, o):
    backward = zip(t["subjects"][o], t["relations_inverse"][r], t["objects"][s], strict=True)
    return (cp(t, s, r, o) + sum(a * b * c for a, b, c in backward)) / 2


def rescal(t, s, r, o):
    d, a, w, b = len(t["entities"][s]), t["entities"][s], t["relations"][r], t["entities"][o]
    return sum(a[i] * w[i][j] * b[j] for i in range(d) for j in range(d))


def hole(t, s, r, o):
    a, b, c, d = t["entities"][s], t["relations"][r], t["entities"][o], len(t["entities"][s])
    return sum(b[k] * sum(a[i] * c[(k + i) % d] for i in range(d)) for k in range(d))


def as_complex(row):
    d = len(row) // 2
    return [complex(row[k], row[d + k]) for k in range(d)]


def complex_rows(t, s, r, o):
    tables = (t["entities"][s], t["relations"][r], t["entities"][o])
    return zip(*(as_complex(row) for row in tables), strict=True)


def complex_(t, s, r, o):
    return sum(a * b * c.conjugate() for a, b, c in complex_rows(t, s, r, o)).real


def rotated(t, s, r, o):
    return [a * b - c for a, b, c in complex_rows(t, s, r, o)]


def rotate_1(t, s, r, o):
    return -sum(math.sqrt(x.real * x.real + x.imag * x.imag) for x in rotated(t, s, r, o))


def rotate_2(t, s, r, o):
    return -math.sqrt(sum(x.real * x.real + x.imag * x.imag for x in rotated(t, s, r, o)))


def hamilton(a, b):
    """The product of quaternions a1 + a2 i + a3 j + a4 k, from the products of the units alone."""
    units = {(x, x): (-1, 0) for x in (1, 2, 3)}
    units |= {(x, 0): (1, x) for x in range(4)} | {(0, x): (1, x) for x in range(4)}
    for x, y, z in ((1, 2, 3), (2, 3, 1), (3, 1, 2)):  # ij = k, ji = -k, and so on round
        units |= {(x, y): (1, z), (y, x): (-1, z)}
    product = [0, 0, 0, 0]
    for x, y in itertools.product(range(4), repeat=2):
        sign, unit = units[x, y]
        product[unit] += sign * a[x] * b[y]
    return product


def quate(t, s, r, o):
    total, d = 0, len(t["entities"][s]) // 4
    for k in range(d):
        a, p, b = (row[k::d] for row in (t["entities"][s], t["relations"][r], t["entities"][o]))
        norm = math.sqrt(sum(x * x for x in p))
        total += sum(x * y for x, y in zip(hamilton(a, [x / norm for x in p]), b, strict=True))
    return total


def normed(values, norm):
    """(x - mean) / sqrt(var + eps) * weight + bias, one number at a time."""
    columns = zip(values, *norm[:4], strict=True)
    return [(x - mean) / math.sqrt(var + norm[4]) * weight + bias for x, weight, bias, mean, var in columns]


def tucker(t, s, r, o):
    a, b, c, core = t["entities"][s], t["relations"][r], t["entities"][o], t["core"]
    if "subject_norm" in t:
        a = normed(a, t["subject_norm"])
    product = [sum(core[i][j][k] * a[i] * b[j] for i in range(len(a)) for j in range(len(b))) for k in range(len(c))]
    if "product_norm" in t:
        product = normed(product, t["product_norm"])
    return sum(x * y for x, y in zip(product, c, strict=True))


# Small-integer tables, so that every formula is exact in float64 whatever its order of summation.
def integers(rng, *shape):
    return rng.integers(-2, 3, shape).tolist()


def two_tables(rng, e, r, d=4):
    return {"entities": integers(rng, e, d), "relations": integers(rng, r, d)}


def draw_cp(rng, e, r):
    return {"subjects": integers(rng, e, 3), "objects": integers(rng, e, 3), "relations": integers(rng, r, 3)}


def draw_simple(rng, e, r):
    return draw_cp(rng, e, r) | {"relations_inverse": integers(rng, r, 3)}


def draw_rescal(rng, e, r):
    return {"entities": integers(rng, e, 3), "relations": integers(rng, r, 3, 3)}


def draw_rotate(rng, e, r):
    """Rotations by quarter turns; two complex numbers, since a sum of two roots has only one order."""
    turns = rng.integers(0, 4, (r, 2))
    units = np.array([1, 1j, -1, -1j])[turns]
    return {"entities": integers(rng, e, 4), "relations": np.hstack([units.real, units.imag]).tolist()}


def draw_quate(rng, e, r):
    """Quaternions of norm 1, 2 or 4, so that dividing by the norm is exact."""
    relations = np.zeros((r, 4, 2))
    for row, k in itertools.product(range(r), range(2)):
        if rng.random() < 0.5:
            relations[row, :, k] = rng.choice([-1, 1], 4)
        else:
            relations[row, rng.integers(4), k] = rng.choice([-4, -2, -1, 1, 2, 4])
    return {"entities": integers(rng, e, 8), "relations": relations.reshape(r, 8).tolist()}


def draw_norm(rng, d):
    """Weight, bias, mean, variance and eps, with roots of var + eps that are powers of two."""
    return (*(integers(rng, d) for _ in range(3)), (rng.choice([1, 4, 16], d) - 0.5).tolist(), 0.5)


def draw_tucker(rng, e, r):
    t = {"entities": integers(rng, e, 3), "relations": integers(rng, r, 2), "core": integers(rng, 3, 2, 3)}
    return t | {name: draw_norm(rng, 3) for name in ("subject_norm", "product_norm") if rng.random() < 0.7}


def build_tucker(**t):
    norms = {name: BatchNorm(*t.pop(name)) for name in ("subject_norm", "product_norm") if name in t}
    return TuckER(**t, **norms)


class Case(NamedTuple):
    """How to draw the tables of a model, build it from them, and score with them."""

    draw: Any
    build: Any
    score: Any


CASES = {
    "TransE-1": Case(two_tables, lambda **t: TransE(**t, norm=1), transe_1),
    "TransE-2": Case(two_tables, lambda **t: TransE(**t, norm=2), transe_2),
    "DistMult": Case(two_tables, DistMult, distmult),
    "ComplEx": Case(two_tables, ComplEx, complex_),
    "RotatE-1": Case(draw_rotate, lambda **t: RotatE(**t, norm=1), rotate_1),
    "RotatE-2": Case(draw_rotate, lambda **t: RotatE(**t, norm=2), rotate_2),
    "RESCAL": Case(draw_rescal, RESCAL, rescal),
    "SimplE": Case(draw_simple, SimplE, simple),
    "CP": Case(draw_cp, CP, cp),
    "HolE": Case(lambda g, e, r: two_tables(g, e, r, d=5), HolE, hole),
    "QuatE": Case(draw_quate, QuatE, quate),
    "TuckER": Case(draw_tucker, build_tucker, tucker),
}


def draw_model(name, inverse, rng, n_entities, n_relations, missing=()):
    """A model with integer parameters, and its score of (side, s, p, o) by the loop formula.

    The model's rows of `missing` entities are NaN, so that any use of them shows.
    """
    case = CASES[name]
    tables = case.draw(rng, n_entities, n_relations * (2 if inverse else 1))
    dtype = rng.choice([np.float16, np.float32, np.float64] if missing else [np.float32, np.float64, np.int64])
    arrays = {key: table if key.endswith("_norm") else np.array(table, dtype) for key, table in tables.items()}
    for key in arrays.keys() & {"entities", "subjects", "objects"} if missing else ():
        arrays[key][list(missing)] = np.nan
    model = case.build(**arrays, inverse_relations=inverse)
    model.missing_entities = np.array(list(missing), dtype=np.int64)

    def score(side, s, p, o):
        row = 2 * p if inverse == "alternating" else p
        if side == "subject" and inverse:
            return case.score(tables, o, row + 1 if inverse == "alternating" else row + n_relations, s)
        return case.score(tables, s, row, o)

    return model, score


def side_scores(model, side, s, p, o):
    """Scores as the ranker takes them."""
    given, asked = (o, s) if side == "subject" else (s, o)
    queries = model.query_vectors(side, given, p)
    return exact_scores(model.geometry, queries, model.candidate_vectors(side)[asked])


def real_tables(name, rng, n_entities, n_relations, dtype):
    """Tables of real numbers in the shapes that `draw` gives; rotations get modulus 1."""
    tables = {}
    for key, value in CASES[name].draw(np.random.default_rng(3), n_entities, n_relations).items():
        if key.endswith("_norm"):
            weight, bias, mean = (rng.normal(size=len(value[0])) for _ in range(3))
            tables[key] = (weight, bias, mean, rng.uniform(0.1, 3, len(value[0])), 1e-5)
        else:
            tables[key] = rng.normal(size=np.shape(value)).astype(dtype)
    if name.startswith("RotatE"):
        phases = rng.uniform(-4, 4, (n_relations, 2))
        tables["relations"] = np.hstack([np.cos(phases), np.sin(phases)]).astype(dtype)
    return tables


@pytest.mark.parametrize("inverse", INVERSES)
@pytest.mark.parametrize("name", CASES)
def test_scores_equal_the_formula(name, inverse):
    """Every triple on both sides, exactly; with inverse relations (?, p, o) is (o, inverse of p, ?)."""
    for seed in range(4):
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
    for s, p, o in itertools.product(range(5), range(2), range(5)):
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
        for i in range(0, len(given), 7):
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
    with pytest.raises(DataError, match=r"batch normalisation must have shape \(2,\); got \(1,\)"):
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
            "relation row 1, number 0 has modulus 1.414 or",
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
