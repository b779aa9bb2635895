"""Counters, inputs that mislead them, and the brute force that they are compared with."""

import numpy as np
import pytest
from grids import size

from kgeval.kernels.backends import _is_exact
from kgeval.kernels.compiled import _features, _load
from kgeval.kernels.counts import Places
from kgeval.kernels.geometry import GEOMETRIES, exact_scores
from kgeval.kernels.numpy_kernels import NumpyCounter


def over(counters):
    """A decorator that runs a test with each (geometry, multiplier)."""
    names = [f"{geometry}-{multiplier}" if multiplier else geometry for geometry, multiplier in counters]
    return pytest.mark.parametrize(("geometry", "multiplier"), counters, ids=names)


# GEOMETRIES also holds the derived geometries of models that other tests have made before.
PLAIN_GEOMETRIES = [name for name, definition in GEOMETRIES.items() if not definition.is_derived]
MULTIPLIERS = (None, "torch", "numba")  # of the integers in the first pass of dot
COUNTERS = [(geometry, multiplier) for geometry in PLAIN_GEOMETRIES for multiplier in MULTIPLIERS]
DIFFERENT_COUNTERS = over([*((geometry, None) for geometry in PLAIN_GEOMETRIES), ("dot", "torch"), ("dot", "numba")])


def make_counter(geometry, candidates, block_size, multiplier):
    """A counter; where what multiplies integers is lacking, or is not exact, the test that wants it is skipped.

    Whether the product is fast on this processor does not matter to the counts.
    """
    if multiplier == "numba" and not can_multiply_shorts():
        pytest.skip("products of 16-bit integers need kgeval[fast] and AVX2")
    if multiplier == "torch":
        torch = pytest.importorskip("torch", reason="byte products need torch")
        if not hasattr(torch, "_int_mm") or not _is_exact(torch._int_mm):
            pytest.skip("torch does not multiply bytes exactly on this processor")
    return NumpyCounter(geometry, candidates, block_size, multiplier)


def can_multiply_shorts():
    """Whether numba is there and compiles for AVX2, whether or not a test switches its other loops off."""
    return _load() is not None and "+avx2" in _features()


def exact_matrix(geometry, queries, candidates):
    """The exact score of every query with every candidate."""
    return np.array([exact_scores(geometry, np.tile(q, (len(candidates), 1)), candidates) for q in queries])


def brute_force(matrix, places):
    """The five arrays of Counts as lists, one positive after another."""
    counts = []
    for row, answer in zip(places.rows.tolist(), places.answers.tolist()):
        values, mine = matrix[row], matrix[row, answer]
        known = values[places.known[places.known_rows == row]]
        counts.append(
            [(values > mine).sum(), (values == mine).sum(), (known > mine).sum(), (known == mine).sum(), mine]
        )
    return [[value.item() for value in column] for column in zip(*counts)]


def as_lists(counts):
    """The five arrays of Counts, the first four of them int64, as lists."""
    arrays = [counts.better, counts.equal, counts.known_better, counts.known_equal]
    assert {x.dtype for x in arrays} == {np.dtype(np.int64)}
    return [x.tolist() for x in (*arrays, counts.scores)]


def draw_places(rng, n_queries, n_candidates, n_positives):
    """Positives, of one query too many or none, and known answers: none, a few, or nearly all."""
    rows = np.sort(rng.integers(0, n_queries, n_positives))
    is_known = rng.random((n_queries, n_candidates)) < rng.choice([0.0, 0.1, 0.5, 0.95], (n_queries, 1))
    return Places(rows, rng.integers(0, n_candidates, n_positives), *np.nonzero(is_known))


def wrong_blocks(geometry, multiplier, queries, candidates, places, block_sizes, change=None):
    """The block sizes with which the counts of a counter, perhaps changed first, are not brute force's."""
    expected = brute_force(exact_matrix(geometry, queries, candidates), places)
    wrong = []
    for block_size in block_sizes:
        counter = make_counter(geometry, candidates, block_size, multiplier)
        if change is not None:
            change(counter)
        if as_lists(counter.count(queries, places)) != expected:
            wrong.append(block_size)
    return wrong


# Candidates and queries made to mislead: each takes (rng, n, d) and gives n candidates and 5 queries.
def gaussian(rng, n, d):
    return rng.normal(size=(n, d)), rng.normal(size=(5, d))


def near_copies(rng, n, d):
    """All within a few float64 steps of three vectors; float32 cannot tell them apart."""
    base = rng.normal(size=(3, d))[rng.integers(0, 3, n)]
    return base * (1 + rng.integers(-3, 4, (n, d)) * 2.0**-52), rng.normal(size=(5, d))


def one_step_apart(rng, n, d):
    """Scores that follow each other in float64, with nothing between them: only one number differs."""
    candidates = np.zeros((n, d))
    candidates[:, 0] = 1 + rng.integers(0, 4, n) * 2.0**-52
    return candidates, np.eye(d)[np.zeros(5, dtype=int)]


def float32_neighbours(rng, n, d):
    """Scores as close as float32 rounding errors are large: relative steps of 1e-8."""
    base = rng.normal(size=(2, d))[rng.integers(0, 2, n)]
    return base * (1 + rng.normal(size=(n, d)) * 1e-8), rng.normal(size=(5, d))


def cancelling(rng, n, d):
    """Large parts that cancel and leave a small difference to decide."""
    small = rng.normal(size=(n, d)) * 1e-6
    large = np.resize([1e4, -1e4], d)
    return small + large, np.abs(rng.normal(size=(5, 1))) * np.ones(d) + rng.normal(size=(5, d)) * 1e-9


def near_the_queries(rng, n, d):
    """Distances far below the norms, so that rounding the vectors matters more than summing."""
    base = rng.normal(size=d)
    return base + rng.normal(size=(n, d)) * 1e-7, base + rng.normal(size=(5, d)) * 1e-8


def lattice(rng, n, d):
    """Small integers, so many exact ties."""
    return rng.integers(-1, 2, (n, d)).astype(float), rng.integers(-1, 2, (5, d)).astype(float)


def one_hot(rng, n, d):
    return np.eye(d)[rng.integers(0, d, n)], np.eye(d)[rng.integers(0, d, 5)]


def all_equal(rng, n, d):
    return np.full((n, d), 0.1), np.full((5, d), 0.3)


def zeros(rng, n, d):
    """Zero candidates and zero queries among others."""
    candidates, queries = gaussian(rng, n, d)
    candidates[rng.random(n) < 0.5], queries[:2] = 0.0, 0.0
    return candidates, queries


def all_zero(rng, n, d):
    return np.zeros((n, d)), np.zeros((5, d))


def one_giant(rng, n, d):
    """One candidate a million times larger than the others, which share its scale."""
    candidates, queries = gaussian(rng, n, d)
    candidates[rng.integers(0, n)] *= 1e6
    return candidates, queries


def mixed_norms(rng, n, d):
    """Norms from 1e-40 to 1e38 among the candidates, and among the queries: all that float32 holds, and subnormals."""
    candidates, queries = gaussian(rng, n, d)
    return candidates * 10.0 ** rng.integers(-40, 38, (n, 1)), queries * 10.0 ** rng.integers(-40, 38, (5, 1))


def far_norms(rng, n, d):
    """Norms from 1e-200 to 1e140, beyond which squares overflow float64."""
    candidates, queries = gaussian(rng, n, d)
    return candidates * 10.0 ** rng.integers(-200, 141, (n, 1)), queries * 10.0 ** rng.integers(-200, 141, (5, 1))


def huge_queries(rng, n, d):
    """Queries that dwarf every candidate: distances differ in their last digits only."""
    candidates, queries = gaussian(rng, n, d)
    return candidates, queries * 10.0 ** np.array([[8], [12], [16], [20], [30]])


def huge(rng, n, d):
    return tuple(1e30 * x for x in gaussian(rng, n, d))


def tiny(rng, n, d):
    return tuple(1e-30 * x for x in near_copies(rng, n, d))


def denormal(rng, n, d):
    """Below the smallest normal float32 (1.2e-38)."""
    return tuple(1e-42 * x for x in float32_neighbours(rng, n, d))


def denormal_float64(rng, n, d):
    """Small multiples of the smallest float64, 5e-324."""
    return rng.integers(-5, 6, (n, d)) * 5e-324, rng.normal(size=(5, d))


def biased_sums(rng, n, d):
    """Equal steps, whose float32 sum drifts one way while it grows."""
    return 0.1 + rng.normal(size=(n, d)) * 1e-9, np.full((5, d), 0.4)


def decaying(rng, n, d):
    """A few axes hold most of the sizes, as in trained embeddings; some candidates are copies."""
    sizes = 0.9 ** np.arange(d)
    return rng.normal(size=(n, d))[rng.integers(0, n, n)] * sizes, rng.normal(size=(5, d)) * sizes


INPUTS = (
    gaussian,
    near_copies,
    one_step_apart,
    float32_neighbours,
    cancelling,
    near_the_queries,
    lattice,
    one_hot,
    all_equal,
    zeros,
    all_zero,
    one_giant,
    mixed_norms,
    far_norms,
    huge_queries,
    huge,
    tiny,
    denormal,
    denormal_float64,
    biased_sums,
    decaying,
)


def drawn(draw, dtype, seed, n, d):
    """Candidates of `draw` as `dtype`, the queries, and a generator for more."""
    rng = np.random.default_rng([seed, d])
    candidates, queries = draw(rng, n, d)
    if dtype == np.float32:
        candidates, queries = (np.clip(x, -3e38, 3e38).astype(np.float32) for x in (candidates, queries))
    return candidates, queries.astype(np.float64), rng


def wrong_cases(geometry, multiplier, draw, dtype, dimensions=(2, 50, 8), change=None):
    """The (d, block size) with which counts are not brute force's; 72 candidates, 24 positives.

    The light suite takes the first two dimensions.
    """
    wrong = []
    for d in dimensions[: size(2, 3)]:
        candidates, queries, rng = drawn(draw, dtype, 0, 72, d)
        places = draw_places(rng, 5, 72, 24)
        found = wrong_blocks(geometry, multiplier, queries, candidates, places, (9, 64, 1 << 30), change)
        wrong += [(d, block_size) for block_size in found]
    return wrong


def scaled(e, q):
    """Gaussian candidates of sizes around 10**e, and queries around 10**q."""
    return lambda rng, n, d: (rng.normal(size=(n, d)) * 10.0**e, rng.normal(size=(5, d)) * 10.0**q)
