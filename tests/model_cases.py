"""Random embedding models of every kind, and their formulas as loops over single numbers."""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from kgeval.kernels.geometry import exact_scores
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


def transe_squared(t, s, r, o):
    return -sum((a + b - c) ** 2 for a, b, c in rows(t, s, r, o))


def distmult(t, s, r, o):
    return sum(a * b * c for a, b, c in rows(t, s, r, o))


def cp(t, s, r, o):
    return sum(a * b * c for a, b, c in zip(t["subjects"][s], t["relations"][r], t["objects"][o], strict=True))


def simple(t, s, r, o):
    backward = zip(t["subjects"][o], t["relations_inverse"][r], t["objects"][s], strict=True)
    return (cp(t, s, r, o) + sum(a * b * c for a, b, c in backward)) / 2


def simple_of_pykeen(t, s, r, o):
    backward = zip(t["objects"][s], t["relations_inverse"][r], t["objects"][o], strict=True)
    forward = zip(t["subjects"][s], t["relations"][r], t["subjects"][o], strict=True)
    return sum(a * b * c for a, b, c in [*forward, *backward]) / 2


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
    "TransE-squared": Case(two_tables, lambda **t: TransE(**t, norm=2, power_norm=True), transe_squared),
    "SimplE-pykeen": Case(draw_simple, lambda **t: SimplE(**t, form="pykeen"), simple_of_pykeen),
    "SimplE-clamped": Case(
        draw_simple, lambda **t: SimplE(**t, clamp=(-2, 3)), lambda *row: min(max(simple(*row), -2), 3)
    ),
    "QuatE-pykeen": Case(draw_quate, lambda **t: QuatE(**t, form="pykeen"), lambda *row: -quate(*row)),
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
