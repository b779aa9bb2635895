"""Clamped dot products and squared distances: the counts of their own exact scores, ties at the bounds included."""

import numpy as np
import pytest
from grids import light
from kernel_cases import INPUTS, brute_force, draw_places, exact_matrix, wrong_blocks

from kgeval.kernels.counts import Places
from kgeval.kernels.derived import clamped_dot, squared_l2
from kgeval.kernels.geometry import exact_scores
from kgeval.kernels.numpy_kernels import NumpyCounter

pytestmark = [pytest.mark.filterwarnings("error::RuntimeWarning"), pytest.mark.usefixtures("loops")]
BOUNDS = [(-1.0, 1.0), (-0.25, 3.0), (0.0, np.inf), (-np.inf, 0.5), (2.0, 2.0), (-1e9, 1e9)]


def case(seed):
    """A few vectors: integers that tie, or all different; the places of positives and of known answers."""
    rng = np.random.default_rng(seed)
    d, n, m = int(rng.choice([1, 2, 7, 8, 33])), int(rng.choice([1, 2, 9, 40, 75])), int(rng.integers(1, 7))
    candidates, queries = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    if seed % 2 == 0:
        candidates, queries = rng.integers(-2, 3, (n, d)).astype(float), rng.integers(-2, 3, (m, d)).astype(float)
    candidates = candidates.astype(rng.choice([np.float32, np.float64]))
    return queries, candidates, draw_places(rng, m, n, int(rng.choice([1, m, 3 * m, 150])))


def test_formulas():
    """15 stays, 35 and -35 are cut; 3, 4 have the squared distance 25."""
    queries, candidates = np.full((3, 1), 5.0), np.array([[3.0], [7.0], [-7.0]])
    assert exact_scores(clamped_dot(-20.0, 20.0), queries, candidates).tolist() == [15.0, 20.0, -20.0]
    assert exact_scores(clamped_dot(-np.inf, 20.0), queries, candidates).tolist() == [15.0, 20.0, -35.0]
    assert exact_scores(squared_l2(), np.array([[1.0, 2.0]]), np.array([[4.0, 6.0]])).tolist() == [-25.0]


@pytest.mark.parametrize("seed", light(range(40), 3))
@pytest.mark.parametrize("bounds", light(BOUNDS, 3), ids=str)
def test_clamped_counts_equal_brute_force(bounds, seed):
    """Where the positive is cut, whatever is cut too ties with it; all other comparisons are those of dot products."""
    queries, candidates, places = case(seed)
    geometry = clamped_dot(*bounds)
    assert wrong_blocks(geometry, False, queries, candidates, places, (1, 8, 9, 1 << 30)) == []
    dot = exact_matrix("dot", queries, candidates)
    clamped = brute_force(np.clip(dot, *bounds), places)
    assert brute_force(exact_matrix(geometry, queries, candidates), places) == clamped


def test_what_is_cut_ties():
    """Dot products 1, 2, 3, 4 with a bound of 2.5: the positive with 3 ties with 4; without the bound, 4 beats it."""
    candidates, queries = np.array([[1.0], [2.0], [3.0], [4.0]]), np.ones((1, 1))
    places = Places(np.zeros(1, dtype=np.int64), np.array([2]), np.zeros(1, dtype=np.int64), np.array([2]))
    found = {}
    for geometry in ("dot", clamped_dot(-np.inf, 2.5)):
        counts = NumpyCounter(geometry, candidates, 4).count(queries, places)
        found[geometry] = (counts.better.tolist(), counts.equal.tolist(), counts.scores.tolist())
    assert found == {"dot": ([1], [1], [3.0]), clamped_dot(-np.inf, 2.5): ([0], [2], [2.5])}


@pytest.mark.parametrize("seed", light(range(40), 3))
def test_squared_counts_equal_brute_force(seed):
    queries, candidates, places = case(seed)
    assert wrong_blocks(squared_l2(), False, queries, candidates, places, (1, 8, 9, 1 << 30)) == []


def test_squares_that_share_a_root_do_not_tie():
    """1 + 2**-52 and 1 have the same root in float64, so l2 ties; their squares differ."""
    near, far = 1.0, 1.0 + 2.0**-52
    candidates = np.array([[np.sqrt(0.5), np.sqrt(0.5)], [1.0, 0.0]])
    sums = -exact_scores(squared_l2(), np.zeros((2, 2)), candidates)
    assert sums.tolist() == [far, near]
    roots = exact_scores("l2", np.zeros((2, 2)), candidates)
    assert roots[0] == roots[1]


@pytest.mark.parametrize("draw", light(INPUTS, 2))
def test_misleading_inputs(draw):
    """Inputs on which screening in single precision cannot decide."""
    rng = np.random.default_rng(5)
    candidates, queries = draw(rng, 60, 12)
    places = draw_places(rng, len(queries), 60, 40)
    middle = float(np.median(exact_matrix("dot", queries, candidates)))
    for geometry in (squared_l2(), clamped_dot(-np.inf, middle), clamped_dot(middle, np.inf)):
        assert wrong_blocks(geometry, False, queries, candidates, places, (9, 1 << 30)) == [], geometry
