"""The counters against brute force over exact scores, on inputs made to mislead them."""

import numpy as np
import pytest

from kgeval.kernels import geometry as geometries
from kgeval.kernels import numpy_kernels
from kgeval.kernels.backends import multiplies_bytes
from kgeval.kernels.counts import Places
from kgeval.kernels.geometry import GEOMETRIES, exact_pair_scores, exact_scores
from kgeval.kernels.numpy_kernels import NumpyCounter

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def over(counters):
    """A decorator that runs a test with each (geometry, with_torch)."""
    names = [f"{geometry}-torch" if with_torch else geometry for geometry, with_torch in counters]
    return pytest.mark.parametrize(("geometry", "with_torch"), counters, ids=names)


COUNTERS = [(geometry, with_torch) for geometry in GEOMETRIES for with_torch in (False, True)]
EVERY_COUNTER = over(COUNTERS)
DIFFERENT_COUNTERS = over([*((geometry, False) for geometry in GEOMETRIES), ("dot", True)])


def make_counter(geometry, candidates, block_size, with_torch):
    """A counter; without torch, or where it cannot multiply bytes, the test that wants it is skipped."""
    if with_torch:
        pytest.importorskip("torch", reason="byte products need torch")
        if not multiplies_bytes():
            pytest.skip("torch does not multiply bytes exactly and fast on this processor")
    return NumpyCounter(geometry, candidates, block_size, with_torch)


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


def wrong_blocks(geometry, with_torch, queries, candidates, places, block_sizes, change=None):
    """The block sizes with which the counts of a counter, perhaps changed first, are not brute force's."""
    expected = brute_force(exact_matrix(geometry, queries, candidates), places)
    wrong = []
    for block_size in block_sizes:
        counter = make_counter(geometry, candidates, block_size, with_torch)
        if change is not None:
            change(counter)
        if as_lists(counter.count(queries, places)) != expected:
            wrong.append(block_size)
    return wrong


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


@pytest.mark.parametrize("seed", range(51))
@EVERY_COUNTER
def test_counts_equal_brute_force(geometry, with_torch, seed):
    """408 small cases, each with blocks of 1, 3, 8, 9 and all candidates: integer for integer, score for score."""
    queries, candidates, places = small_case(seed, geometry)
    before = queries.tobytes(), candidates.tobytes()
    assert wrong_blocks(geometry, with_torch, queries, candidates, places, (1, 3, 8, 9, 1 << 30)) == []
    assert (queries.tobytes(), candidates.tobytes()) == before


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


def wrong_cases(geometry, with_torch, draw, dtype, dimensions=(2, 8, 50), change=None):
    """The (d, block size) with which counts are not brute force's; 72 candidates, 24 positives."""
    wrong = []
    for d in dimensions:
        candidates, queries, rng = drawn(draw, dtype, 0, 72, d)
        places = draw_places(rng, 5, 72, 24)
        found = wrong_blocks(geometry, with_torch, queries, candidates, places, (9, 64, 1 << 30), change)
        wrong += [(d, block_size) for block_size in found]
    return wrong


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("draw", INPUTS)
@DIFFERENT_COUNTERS
def test_misleading_inputs(geometry, with_torch, draw, dtype):
    """Integer for integer what comparing every exact score gives, without a RuntimeWarning."""
    assert wrong_cases(geometry, with_torch, draw, dtype) == []


FAR = [(e, e) for e in (-300, -200, -160, -100, 100, 140)]
UNDERFLOWING = [(-150, -138), (-170, -138), (-180, -138), (-186, -138), (0, -160), (0, -310), (0, -320), (-320, 0)]
UNEQUAL = [(-100, 100), (-160, 160), (-250, 250), (100, -100), (200, -200), (98, 98), (99, -99)]


def scaled(e, q):
    """Gaussian candidates of sizes around 10**e, and queries around 10**q."""
    return lambda rng, n, d: (rng.normal(size=(n, d)) * 10.0**e, rng.normal(size=(5, d)) * 10.0**q)


@pytest.mark.parametrize(("e", "q"), FAR + UNDERFLOWING)
@DIFFERENT_COUNTERS
def test_far_scales(geometry, with_torch, e, q):
    """Products near and below the smallest float64 (5e-324) tie, although each factor may be far above it."""
    assert wrong_cases(geometry, with_torch, scaled(e, q), np.float64) == []


WITH_AND_WITHOUT = pytest.mark.parametrize("with_torch", [False, True])


@pytest.mark.parametrize(("e", "q"), UNEQUAL)
@WITH_AND_WITHOUT
def test_products_of_large_and_small(with_torch, e, q):
    """Dot products of ordinary size, although the square of a factor overflows or lies beyond what is screened."""
    assert wrong_cases("dot", with_torch, scaled(e, q), np.float64) == []


@WITH_AND_WITHOUT
def test_zeros_and_tiny_queries(with_torch):
    """A block of zeros, whose scale is the smallest there is, beside queries of 1e-30: products tie, none overflows."""
    candidates = np.zeros((4, 8))
    candidates[2:, :2] = [[1.0, 2.0], [3.0, 4.0]]
    places = Places(np.zeros(4, dtype=int), np.arange(4), np.zeros(0, dtype=int), np.zeros(0, dtype=int))
    for first, second in ((1e-30, 1e-31), (-1e-90, 1e-99)):
        queries = np.array([[first, second] * 4])
        assert wrong_blocks("dot", with_torch, queries, candidates, places, (1, 2, 4)) == []


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
def test_far_queries_of_equal_candidates(geometry, with_torch):
    """A single candidate, or copies of one, have no spread to choose a step by; the queries are 1e8 times larger."""
    for n in (1, 40):
        candidates, queries, rng = drawn(all_equal, np.float64, 0, n, 8)
        places = draw_places(rng, 5, n, 20)
        assert wrong_blocks(geometry, with_torch, 1e8 * queries, candidates, places, (9, 64)) == []


def test_norms_as_far_apart_as_float64_allows():
    """Candidates of sizes 1e-200 to 1e200 and queries that keep every product finite."""

    def far(rng, n, d):
        return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-200, 201, (n, 1)), rng.normal(size=(5, d)) * 1e-50

    assert wrong_cases("dot", False, far, np.float64) == []


@DIFFERENT_COUNTERS
def test_thousands_of_candidates(geometry, with_torch):
    """4,000 float32 candidates in blocks of 512, a tenth of them one float32 step from another."""
    rng = np.random.default_rng(0)
    d = 100 if geometry in ("dot", "l2") else 40
    candidates = rng.normal(size=(4000, d)).astype(np.float32)
    candidates[:400] = np.nextafter(candidates[400:800], np.float32(9))
    candidates[800:900] = candidates[900:1000]
    queries = rng.normal(size=(20, d))
    is_known = rng.random((20, 4000)) < 0.3
    places = Places(np.repeat(np.arange(20), 10), rng.integers(0, 1200, 200), *np.nonzero(is_known))
    expected = brute_force(exact_matrix(geometry, queries, candidates), places)
    assert max(expected[1]) == 2
    for block_size in (512, 4096):
        assert as_lists(make_counter(geometry, candidates, block_size, with_torch).count(queries, places)) == expected


@EVERY_COUNTER
def test_most_candidates_are_decided_without_exact_scores(geometry, with_torch, monkeypatch):
    """Of 2,000 random candidates and 40 positives fewer than 2% are scored in float64, the positives included."""
    rng = np.random.default_rng(0)
    asked = []

    def counting(geometry, q, e, rows, columns):
        asked.append(len(rows))
        return exact_pair_scores(geometry, q, e, rows, columns)

    monkeypatch.setattr(numpy_kernels, "exact_pair_scores", counting)
    candidates, queries = rng.normal(size=(2000, 32)).astype(np.float32), rng.normal(size=(4, 32))
    make_counter(geometry, candidates, 1000, with_torch).count(queries, draw_places(rng, 4, 2000, 40))
    assert 40 <= sum(asked) < 0.02 * 2000 * 40


class NoRoom:
    """A pass that fails where the counter works."""

    def prepare(self, queries):
        return queries

    def tile(self, prepared, rows, block):
        raise MemoryError("no room for a tile")


@pytest.mark.parametrize("size", [8192, 4096])
@EVERY_COUNTER
def test_the_buffers_of_numpy_are_left_as_they_were(geometry, with_torch, size):
    """A count may shorten them; whatever size they had comes back, also after an error within the count."""
    candidates, queries, rng = drawn(gaussian, np.float64, 0, 40, 8)
    counter = make_counter(geometry, candidates, 9, with_torch)
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
def test_small_parts_give_what_large_ones_give(geometry, with_torch, monkeypatch):
    """Vectors are copied, and pairs scored, some rows at a time; one row, or three, changes no count."""
    candidates, queries, rng = drawn(decaying, np.float32, 3, 40, 8)
    places = draw_places(rng, 5, 40, 30)
    for rows in (1, 3):
        monkeypatch.setattr(geometries, "_PART_BYTES", rows * 8 * 8)
        monkeypatch.setattr(geometries, "_PAIR_BYTES", rows * 8 * 8)
        assert wrong_blocks(geometry, with_torch, queries, candidates, places, (9, 64)) == []
    pairs = np.repeat(np.arange(5), 40), np.tile(np.arange(40), 5)
    scores = exact_pair_scores(geometry, queries, candidates, *pairs)
    assert scores.reshape(5, 40).tolist() == exact_matrix(geometry, queries, candidates).tolist()
