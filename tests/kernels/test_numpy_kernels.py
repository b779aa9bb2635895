"""The counters against brute force over exact scores, on inputs made to mislead them."""

import numpy as np
import pytest
from grids import light, size, thinned
from kernel_cases import (
    COUNTERS,
    DIFFERENT_COUNTERS,
    INPUTS,
    MULTIPLIERS,
    all_equal,
    as_lists,
    brute_force,
    decaying,
    draw_places,
    drawn,
    exact_matrix,
    gaussian,
    make_counter,
    over,
    scaled,
    wrong_blocks,
    wrong_cases,
)

from kgeval.kernels import geometry as geometries
from kgeval.kernels import numpy_kernels
from kgeval.kernels.counts import Places
from kgeval.kernels.geometry import exact_pair_scores

pytestmark = [pytest.mark.filterwarnings("error::RuntimeWarning"), pytest.mark.usefixtures("loops")]


EVERY_COUNTER = over(COUNTERS)


def small_case(seed, geometry):
    """A few vectors: integers that tie, duplicates, or all different; as float32 or float64."""
    rng = np.random.default_rng(seed)
    d = int(rng.choice([1, 2, 3, 7, 8, 33])) * (2 if geometry == "modulus" else 1)
    n, m = int(rng.choice([1, 2, 9, 40, 75])), int(rng.integers(1, 7))
    candidates, queries = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    if seed % 3 == 0:
        candidates, queries = rng.integers(-2, 3, (n, d)).astype(float), rng.integers(-2, 3, (m, d)).astype(float)
    elif seed % 3 == 1:
        candidates, queries[0] = candidates[rng.integers(0, n, n)], 0.0
    candidates = candidates.astype(rng.choice([np.float32, np.float64]))
    return queries, candidates, draw_places(rng, m, n, int(rng.choice([1, m, 3 * m, 150])))


@pytest.mark.parametrize("seed", light(range(51), 2))
@EVERY_COUNTER
def test_counts_equal_brute_force(geometry, multiplier, seed):
    """408 small cases, each with blocks of 1, 3, 8, 9 and all candidates: integer for integer, score for score."""
    queries, candidates, places = small_case(seed, geometry)
    before = queries.tobytes(), candidates.tobytes()
    assert wrong_blocks(geometry, multiplier, queries, candidates, places, (1, 3, 8, 9, 1 << 30)) == []
    assert (queries.tobytes(), candidates.tobytes()) == before


@pytest.mark.parametrize("dtype", light([np.float32, np.float64], 1))
@pytest.mark.parametrize("draw", light(INPUTS, 2))
@DIFFERENT_COUNTERS
def test_misleading_inputs(geometry, multiplier, draw, dtype):
    """Integer for integer what comparing every exact score gives, without a RuntimeWarning."""
    assert wrong_cases(geometry, multiplier, draw, dtype) == []


FAR = [(e, e) for e in (-300, -200, -160, -100, 100, 140)]
UNDERFLOWING = [(-150, -138), (-170, -138), (-180, -138), (-186, -138), (0, -160), (0, -310), (0, -320), (-320, 0)]
UNEQUAL = [(-100, 100), (-160, 160), (-250, 250), (100, -100), (200, -200), (98, 98), (99, -99)]


@pytest.mark.parametrize("scales", light(FAR + UNDERFLOWING, 1), ids=str)
@DIFFERENT_COUNTERS
def test_far_scales(geometry, multiplier, scales):
    """Products near and below the smallest float64 (5e-324) tie, although each factor may be far above it."""
    assert wrong_cases(geometry, multiplier, scaled(*scales), np.float64) == []


WITH_AND_WITHOUT = pytest.mark.parametrize("multiplier", MULTIPLIERS)


@pytest.mark.parametrize(("e", "q"), thinned(UNEQUAL, 3, unpack=True))
@WITH_AND_WITHOUT
def test_products_of_large_and_small(multiplier, e, q):
    """Dot products of ordinary size, although the square of a factor overflows or lies beyond what is screened."""
    assert wrong_cases("dot", multiplier, scaled(e, q), np.float64) == []


@WITH_AND_WITHOUT
def test_zeros_and_tiny_queries(multiplier):
    """A block of zeros, whose scale is the smallest there is, beside queries of 1e-30: products tie, none overflows."""
    candidates = np.zeros((4, 8))
    candidates[2:, :2] = [[1.0, 2.0], [3.0, 4.0]]
    places = Places(np.zeros(4, dtype=int), np.arange(4), np.zeros(0, dtype=int), np.zeros(0, dtype=int))
    for first, second in ((1e-30, 1e-31), (-1e-90, 1e-99)):
        queries = np.array([[first, second] * 4])
        assert wrong_blocks("dot", multiplier, queries, candidates, places, (1, 2, 4)) == []


@pytest.mark.parametrize("geometry", ["l1", "l2", "modulus"])
def test_the_largest_float32(geometry):
    """The power of two above 3e38 is beyond float32: nothing may be divided by it there."""
    rng = np.random.default_rng(4)
    candidates = (rng.normal(size=(72, 6)) * 1e38).clip(-3e38, 3e38).astype(np.float32)
    candidates[:36] = candidates[36:] * (1 + rng.integers(-3, 4, (36, 6)) * np.float32(2.0**-23))
    places = draw_places(rng, 5, 72, 72)
    queries = rng.normal(size=(5, 6)) * 1e38
    assert wrong_blocks(geometry, False, queries, candidates, places, (9, 1 << 30)) == []


@DIFFERENT_COUNTERS
def test_far_queries_of_equal_candidates(geometry, multiplier):
    """A single candidate, or copies of one, have no spread to choose a step by; the queries are 1e8 times larger."""
    for n in (1, 40):
        candidates, queries, rng = drawn(all_equal, np.float64, 0, n, 8)
        places = draw_places(rng, 5, n, 20)
        assert wrong_blocks(geometry, multiplier, 1e8 * queries, candidates, places, (9, 64)) == []


def test_norms_as_far_apart_as_float64_allows():
    """Candidates of sizes 1e-200 to 1e200 and queries that keep every product finite."""

    def far(rng, n, d):
        return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-200, 201, (n, 1)), rng.normal(size=(5, d)) * 1e-50

    assert wrong_cases("dot", False, far, np.float64) == []


@DIFFERENT_COUNTERS
def test_thousands_of_candidates(geometry, multiplier):
    """4,000 float32 candidates in blocks of 512, a tenth of them one float32 step from another."""
    rng = np.random.default_rng(0)
    n, d = size(1200, 4000), 100 if geometry in ("dot", "l2") else 40
    candidates = rng.normal(size=(n, d)).astype(np.float32)
    candidates[:400] = np.nextafter(candidates[400:800], np.float32(9))
    candidates[800:900] = candidates[900:1000]
    queries = rng.normal(size=(20, d))
    is_known = rng.random((20, n)) < 0.3
    places = Places(np.repeat(np.arange(20), 10), rng.integers(0, 1200, 200), *np.nonzero(is_known))
    expected = brute_force(exact_matrix(geometry, queries, candidates), places)
    assert max(expected[1]) == 2
    for block_size in (512, 4096)[: size(1, 2)]:
        assert as_lists(make_counter(geometry, candidates, block_size, multiplier).count(queries, places)) == expected


@EVERY_COUNTER
def test_most_candidates_are_decided_without_exact_scores(geometry, multiplier, monkeypatch):
    """Of 2,000 random candidates and 40 positives fewer than 2% are scored in float64, the positives included."""
    rng = np.random.default_rng(0)
    asked = []

    def counting(geometry, q, e, rows, columns):
        asked.append(len(rows))
        return exact_pair_scores(geometry, q, e, rows, columns)

    monkeypatch.setattr(numpy_kernels, "exact_pair_scores", counting)
    candidates, queries = rng.normal(size=(2000, 32)).astype(np.float32), rng.normal(size=(4, 32))
    make_counter(geometry, candidates, 1000, multiplier).count(queries, draw_places(rng, 4, 2000, 40))
    assert 40 <= sum(asked) < 0.02 * 2000 * 40


class NoRoom:
    """A pass that fails where the counter works."""

    def prepare(self, queries):
        return queries

    def tile(self, prepared, rows, block):
        raise MemoryError("no room for a tile")


@pytest.mark.parametrize("size", [8192, 4096])
@EVERY_COUNTER
def test_the_buffers_of_numpy_are_left_as_they_were(geometry, multiplier, size):
    """A count may shorten them; whatever size they had comes back, also after an error within the count."""
    candidates, queries, rng = drawn(gaussian, np.float64, 0, 40, 8)
    counter = make_counter(geometry, candidates, 9, multiplier)
    places = draw_places(rng, 5, 40, 10)
    before = np.setbufsize(size)
    try:
        counter.count(queries, places)
        assert np.getbufsize() == size
        counter.passes = [NoRoom()]
        with pytest.raises(MemoryError, match="no room for a tile"):
            counter.count(queries, places)
        assert np.getbufsize() == size
    finally:
        np.setbufsize(before)


@EVERY_COUNTER
def test_small_parts_give_what_large_ones_give(geometry, multiplier, monkeypatch):
    """Vectors are copied, and pairs scored, some rows at a time; one row, or three, changes no count."""
    candidates, queries, rng = drawn(decaying, np.float32, 3, 40, 8)
    places = draw_places(rng, 5, 40, 30)
    for rows in (1, 3)[: size(1, 2)]:
        monkeypatch.setattr(geometries, "_PART_BYTES", rows * 8 * 8)
        monkeypatch.setattr(geometries, "_PAIR_BYTES", rows * 8 * 8)
        assert wrong_blocks(geometry, multiplier, queries, candidates, places, (9, 64)) == []
    pairs = np.repeat(np.arange(5), 40), np.tile(np.arange(40), 5)
    scores = exact_pair_scores(geometry, queries, candidates, *pairs)
    assert scores.reshape(5, 40).tolist() == exact_matrix(geometry, queries, candidates).tolist()
