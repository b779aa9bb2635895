"""The exact score: the formula, added halves to halves, of two vectors alone."""

import fractions
import math

import numpy as np
import pytest
from grids import thinned
from kernel_cases import PLAIN_GEOMETRIES

from kgeval.kernels.geometry import exact_pair_scores, exact_scores

pytestmark = [pytest.mark.filterwarnings("error::RuntimeWarning"), pytest.mark.usefixtures("loops")]

EVERY_GEOMETRY = pytest.mark.parametrize("geometry", PLAIN_GEOMETRIES)


def halves_added(terms):
    """The sum of a list, its second half added to its first until one number is left; an odd one joins the first."""
    while len(terms) > 1:
        half = len(terms) // 2
        sums = [terms[i] + terms[half + i] for i in range(half)]
        if len(terms) % 2:
            sums[0] += terms[-1]
        terms = sums
    return terms[0]


def terms_of(geometry, q, e):
    """What an exact score adds, in Python's own float64."""
    pairs = list(zip(q.tolist(), e.tolist()))
    if geometry == "dot":
        return [x * y for x, y in pairs]
    if geometry == "l1":
        return [abs(x - y) for x, y in pairs]
    squares = [(x - y) * (x - y) for x, y in pairs]
    half = len(squares) // 2
    return squares if geometry == "l2" else [math.sqrt(squares[i] + squares[half + i]) for i in range(half)]


@pytest.mark.parametrize("d", thinned([*range(1, 41), 63, 64, 65, 127, 300, 1025], 3))
@EVERY_GEOMETRY
def test_exact_scores_add_halves_to_halves(geometry, d):
    """Bit for bit a loop over Python floats, and within 2 d units in the last place of the sum without rounding."""
    d = 2 * d if geometry == "modulus" else d
    rng = np.random.default_rng(d)
    q = rng.normal(size=(9, d)) * 10.0 ** rng.integers(-3, 4, (9, d))
    e = rng.normal(size=(9, d)).astype(np.float32)
    for a, b, score in zip(q, e.astype(np.float64), exact_scores(geometry, q, e).tolist()):
        terms = terms_of(geometry, a, b)
        total = halves_added(terms)
        if geometry == "dot":
            assert score == total
        else:
            assert score == (-math.sqrt(total) if geometry == "l2" else -total)
        assert abs(total - math.fsum(terms)) <= 2 * d * math.ulp(math.fsum(map(abs, terms)))


@pytest.mark.parametrize("d", thinned([1, 2, 8, 7, 9, 16, 128, 127, 129, 300, 1025, 20_000], 2))
@EVERY_GEOMETRY
def test_exact_scores_do_not_depend_on_the_batch(geometry, d):
    """Bit for bit the same alone, in any batch, from float32, from a strided array and from exact_pair_scores."""
    d = 2 * d if geometry == "modulus" else d
    rng = np.random.default_rng(d)
    q, e = rng.normal(size=(23, d)), rng.normal(size=(23, d)).astype(np.float32)
    whole = exact_scores(geometry, q, e)
    assert [exact_scores(geometry, q[i : i + 1], e[i : i + 1])[0] for i in range(23)] == whole.tolist()
    for size in (2, 5, 22):
        parts = [exact_scores(geometry, q[i : i + size], e[i : i + size]) for i in range(0, 23, size)]
        assert np.concatenate(parts).tolist() == whole.tolist()
    assert exact_scores(geometry, np.asfortranarray(q), e.astype(np.float64)[::-1][::-1]).tolist() == whole.tolist()
    order = rng.permutation(23)
    assert exact_pair_scores(geometry, q, e, order, order).tolist() == whole[order].tolist()


@EVERY_GEOMETRY
def test_exact_scores_are_the_formula(geometry):
    """Against fractions, to rounding; integers exactly: 3-4-5 and 5-12-13 by hand."""
    q, e = np.array([[3.0, 12.0, 4.0, 5.0]]), np.array([[0.0, 0.0, 0.0, 0.0]])
    by_hand = {"dot": 0, "l1": -24, "l2": -math.sqrt(9 + 144 + 16 + 25), "modulus": -(5 + 13)}
    assert exact_scores(geometry, q, e)[0] == by_hand[geometry]
    rng = np.random.default_rng(1)
    q, e = rng.normal(size=(2, 30, 10))
    for a, b, score in zip(q, e, exact_scores(geometry, q, e)):
        x, y = ([fractions.Fraction(value) for value in row] for row in (a, b))
        squares = [(s - t) ** 2 for s, t in zip(x, y)]
        expected = {
            "dot": sum(s * t for s, t in zip(x, y)),
            "l1": -sum(abs(s - t) for s, t in zip(x, y)),
            "l2": -math.sqrt(sum(squares)),
            "modulus": -math.fsum(math.sqrt(s + t) for s, t in zip(squares[:5], squares[5:])),
        }[geometry]
        assert score == pytest.approx(float(expected), rel=1e-14, abs=1e-14)
