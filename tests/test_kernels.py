"""The compare-and-count kernels against brute force over exact scores, on inputs made to mislead them."""

import fractions
import itertools
import math

import numpy as np
import pytest

from kgeval.kernels import geometry as geometries
from kgeval.kernels.geometry import GEOMETRIES, exact_pair_scores, exact_scores, make_screen
from kgeval.kernels.numpy_kernels import count_row, count_screened

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def brute_force(geometry, queries, candidates, rows, positives):
    """Counts from a score of every pair, one pair at a time."""
    scores = [[exact_scores(geometry, q[None], e[None])[0] for e in candidates] for q in queries]
    pairs = list(zip(rows, positives, strict=True))
    better = [sum(bool(x > positive) for x in scores[row]) for row, positive in pairs]
    return better, [sum(bool(x == positive) for x in scores[row]) for row, positive in pairs]


def screened(geometry, queries, candidates, rows, positives, block_size=1 << 30):
    """Counts from the screen, as lists."""
    screen = make_screen(geometry, candidates)
    counts = count_screened(screen, queries, rows, positives, block_size)
    return counts[0].tolist(), counts[1].tolist()


def draw_positives(rng, geometry, queries, candidates, n=24):
    """Query rows and exact scores of some candidates, as the ranker gives them."""
    rows = np.sort(rng.integers(0, len(queries), n))
    return rows, exact_pair_scores(geometry, queries, candidates, rows, rng.integers(0, len(candidates), n))


# Candidates and queries made to mislead: each takes (rng, n, d) and gives n candidates and 5 queries.
def gaussian(rng, n, d):
    return rng.normal(size=(n, d)), rng.normal(size=(5, d))


def near_copies(rng, n, d):
    """All within a few float64 steps of three vectors; float32 cannot tell them apart."""
    base = rng.normal(size=(3, d))[rng.integers(0, 3, n)]
    return base * (1 + rng.integers(-3, 4, (n, d)) * 2.0**-52), rng.normal(size=(5, d))


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


def mixed_norms(rng, n, d):
    """Norms from 1e-30 to 1e30 among the candidates, and among the queries."""
    candidates, queries = gaussian(rng, n, d)
    return candidates * 10.0 ** rng.integers(-30, 31, (n, 1)), queries * 10.0 ** rng.integers(-30, 31, (5, 1))


def huge_queries(rng, n, d):
    """Queries that dwarf every candidate: distances differ in their last digits only."""
    candidates, queries = gaussian(rng, n, d)
    return candidates, queries * 10.0 ** np.array([[8], [16], [20], [25], [30]])


def huge(rng, n, d):
    return tuple(1e30 * x for x in gaussian(rng, n, d))


def tiny(rng, n, d):
    return tuple(1e-30 * x for x in near_copies(rng, n, d))


def denormal(rng, n, d):
    """Below the smallest normal float32 (1.2e-38)."""
    return tuple(1e-42 * x for x in float32_neighbours(rng, n, d))


def biased_sums(rng, n, d):
    """Equal steps, whose float32 sum drifts one way while it grows."""
    return 0.1 + rng.normal(size=(n, d)) * 1e-9, np.full((5, d), 0.4)


INPUTS = (
    gaussian,
    near_copies,
    float32_neighbours,
    cancelling,
    near_the_queries,
    lattice,
    one_hot,
    all_equal,
    zeros,
    all_zero,
    mixed_norms,
    huge_queries,
    huge,
    tiny,
    denormal,
    biased_sums,
)


def is_exact(geometry, draw, dtype, seeds=4):
    """Whether screened counts equal brute force, for several dimensions and block sizes."""
    for seed, d in itertools.product(range(seeds), (2, 6, 50)):
        rng = np.random.default_rng([seed, d])
        candidates, queries = draw(rng, 40, d)
        candidates, queries = candidates.astype(dtype), queries.astype(dtype).astype(np.float64)
        rows, positives = draw_positives(rng, geometry, queries, candidates)
        expected = brute_force(geometry, queries, candidates, rows, positives)
        for block_size in (1, 7, 1 << 30):
            if screened(geometry, queries, candidates, rows, positives, block_size) != expected:
                return False
    return True


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("draw", INPUTS)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_screened_counts_are_exact(geometry, draw, dtype):
    """Integer for integer what comparing every exact score gives, without a RuntimeWarning."""
    assert is_exact(geometry, draw, dtype)


@pytest.mark.parametrize("exponent", [-300, -200, -160, -100, 100, 140])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_far_scales(geometry, exponent):
    """Float64 vectors whose products underflow tie where their exact scores do, and large ones still differ."""

    def scaled(rng, n, d):
        return tuple(10.0**exponent * x for x in gaussian(rng, n, d))

    assert is_exact(geometry, scaled, np.float64, seeds=2)


@pytest.mark.parametrize(
    ("e", "q"), [(-150, -138), (-170, -138), (-180, -138), (-186, -138), (0, -160), (0, -310), (0, -320), (-320, 0)]
)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_scales_that_underflow_together(geometry, e, q):
    """Products near and below the smallest float64 (5e-324) tie, although each factor may be far above it."""

    def small(rng, n, d):
        return rng.normal(size=(n, d)) * 10.0**e, rng.normal(size=(5, d)) * 10.0**q

    assert is_exact(geometry, small, np.float64, seeds=2)


@pytest.mark.parametrize("exponent", [100, 160, 250])
def test_large_queries_of_small_candidates(exponent):
    """Products of ordinary size, although the square of a query overflows."""

    def unequal(rng, n, d):
        return rng.normal(size=(n, d)) * 10.0**-exponent, rng.normal(size=(5, d)) * 10.0**exponent

    assert is_exact("dot", unequal, np.float64, seeds=2)


@pytest.mark.parametrize("factor", [0.0, 0.01])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_too_narrow_bounds_are_caught(geometry, factor, monkeypatch):
    """These inputs do test the bound: with an interval that is too narrow some of them fail."""
    for screen in (geometries.DotScreen, geometries.DistanceScreen):
        original = screen.interval

        def narrowed(self, ready, rows, block, original=original):
            low, high = original(self, ready, rows, block)
            centre = (low + high) / 2
            return centre + (low - centre) * factor, centre + (high - centre) * factor

        monkeypatch.setattr(screen, "interval", narrowed)
    cases = itertools.product(INPUTS, (np.float32, np.float64))
    failed = {(draw, dtype) for draw, dtype in cases if not is_exact(geometry, draw, dtype, seeds=1)}
    assert len(failed) >= 6
    assert (float32_neighbours, np.float64) in failed


@pytest.mark.parametrize(("geometry", "d"), [("dot", 100), ("l2", 100), ("l1", 40), ("modulus", 40)])
def test_thousands_of_candidates(geometry, d):
    """4,000 float32 candidates in blocks of 512, a tenth of them one float32 step from another."""
    rng = np.random.default_rng(0)
    candidates = rng.normal(size=(4000, d)).astype(np.float32)
    candidates[:400] = np.nextafter(candidates[400:800], np.float32(9))
    candidates[800:900] = candidates[900:1000]
    queries = rng.normal(size=(20, d))
    rows = np.repeat(np.arange(20), 10)
    positives = exact_pair_scores(geometry, queries, candidates, rows, rng.integers(0, 1200, 200))
    pairs = np.repeat(np.arange(20), 4000), np.tile(np.arange(4000), 20)
    scores = exact_pair_scores(geometry, queries, candidates, *pairs).reshape(20, 4000)[rows]
    expected = (scores > positives[:, None]).sum(axis=1), (scores == positives[:, None]).sum(axis=1)
    assert expected[1].max() == 2
    for block_size in (512, 4096):
        found = screened(geometry, queries, candidates, rows, positives, block_size)
        assert found == tuple(x.tolist() for x in expected)


def test_most_candidates_are_decided_without_exact_scores(monkeypatch):
    """Of 2,000 random candidates and 40 positives fewer than 2% are scored again in float64."""
    rng = np.random.default_rng(0)
    scored = []

    def counting(geometry, q, e, rows, columns):
        scored.append(len(rows))
        return exact_pair_scores(geometry, q, e, rows, columns)

    monkeypatch.setattr("kgeval.kernels.numpy_kernels.exact_pair_scores", counting)
    for geometry in GEOMETRIES:
        scored.clear()
        candidates, queries = rng.normal(size=(2000, 32)).astype(np.float32), rng.normal(size=(4, 32))
        rows, positives = draw_positives(rng, geometry, queries, candidates, 40)
        screened(geometry, queries, candidates, rows, positives)
        assert 40 <= sum(scored) < 0.02 * 2000 * 40


@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 16, 127, 128, 129, 300, 1025, 20_000])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_exact_scores_do_not_depend_on_the_batch(geometry, d):
    """Bit for bit the same alone, in any batch, from float32, from a strided array and from exact_pair_scores."""
    if geometry == "modulus":
        d = 2 * d
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


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_exact_scores_are_the_formula(geometry):
    """Against fractions, to rounding; integers exactly: 3-4-5 and 5-12-13 by hand."""
    q, e = np.array([[3.0, 12.0, 4.0, 5.0]]), np.array([[0.0, 0.0, 0.0, 0.0]])
    by_hand = {"dot": 0, "l1": -24, "l2": -math.sqrt(9 + 144 + 16 + 25), "modulus": -(5 + 13)}
    assert exact_scores(geometry, q, e)[0] == by_hand[geometry]
    rng = np.random.default_rng(1)
    q, e = rng.normal(size=(2, 30, 10))
    for a, b, score in zip(q, e, exact_scores(geometry, q, e), strict=True):
        x, y = ([fractions.Fraction(value) for value in row] for row in (a, b))
        squares = [(s - t) ** 2 for s, t in zip(x, y, strict=True)]
        expected = {
            "dot": sum(s * t for s, t in zip(x, y, strict=True)),
            "l1": -sum(abs(s - t) for s, t in zip(x, y, strict=True)),
            "l2": -math.sqrt(sum(squares)),
            "modulus": -math.fsum(math.sqrt(s + t) for s, t in zip(squares[:5], squares[5:], strict=True)),
        }[geometry]
        assert score == pytest.approx(float(expected), rel=1e-14, abs=1e-14)


def test_pair_scores_in_several_chunks(monkeypatch):
    """More pairs than one chunk holds give the same scores."""
    rng = np.random.default_rng(2)
    q, e = rng.normal(size=(2, 9, 3))
    rows, columns = rng.integers(0, 9, (2, 50))
    expected = [exact_scores("l1", q[[r]], e[[c]])[0] for r, c in zip(rows, columns, strict=True)]
    for chunk in (1, 100, 1 << 23):
        monkeypatch.setattr(geometries, "_CHUNK_BYTES", chunk)
        assert exact_pair_scores("l1", q, e, rows, columns).tolist() == expected


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_candidates_in_several_chunks(geometry, monkeypatch):
    """Screens are built in chunks of rows; a chunk of three rows gives what one chunk gives."""
    rng = np.random.default_rng(3)
    candidates, queries = rng.normal(size=(40, 4)), rng.normal(size=(5, 4))
    rows, positives = draw_positives(rng, geometry, queries, candidates)
    whole = make_screen(geometry, candidates)
    monkeypatch.setattr(geometries, "_CHUNK_BYTES", 3 * 8 * 4)
    parts = make_screen(geometry, candidates)
    assert (parts.norms == whole.norms).all()
    assert screened(geometry, queries, candidates, rows, positives) == brute_force(
        geometry, queries, candidates, rows, positives
    )


def naive(scores, positives):
    """Counts by Python's comparison of single values."""
    values = [x.item() for x in scores]
    wanted = [x.item() for x in positives]
    return [sum(v > w for v in values) for w in wanted], [sum(v == w for v in values) for w in wanted]


BIG = 2**53
ROWS = {
    "ties": np.array([3.0, 1.0, 3.0, 5.0]),
    "infinities": np.array([math.inf, -math.inf, 0.0, math.inf, -math.inf, 1.0]),
    "signed zeros": np.array([0.0, -0.0, 1.0, -1.0]),
    "beyond 2**53": np.array([BIG, BIG + 1, BIG + 2, BIG + 1, -BIG - 1], dtype=np.int64),
    "uint64": np.array([2**64 - 1, 2**64 - 2, 0, 2**63, 2**63 - 1], dtype=np.uint64),
    "uint8": np.array([255, 0, 1, 255, 254], dtype=np.uint8),
    "int8": np.array([-128, 127, 0, -128], dtype=np.int8),
    "float16": np.array([0.1, 0.1001, 0.2, 65504.0, np.inf, 6e-8, 0], dtype=np.float16),
    "float32": np.array([1, 1 + 2**-23, 1 + 2**-24, 1 - 2**-24], dtype=np.float32),
    "one": np.array([7.0]),
    "big-endian": np.array([1.0, 256.0, 2.0], dtype=">f8"),
}


@pytest.mark.parametrize("repeats", [1, 2, 20], ids=["few", "nine or more", "many"])
@pytest.mark.parametrize("name", ROWS)
def test_count_row(name, repeats):
    """Few and many positives take different ways and give the same: no cast, no tolerance."""
    scores = ROWS[name]
    positives = np.tile(scores, repeats)
    if repeats > 1:
        positives = np.resize(positives, max(len(positives), 9))
    for some in (positives, positives[::-1], positives[:8]):
        better, equal = count_row(scores, some)
        assert better.dtype == equal.dtype == np.int64
        assert (better.tolist(), equal.tolist()) == naive(scores, some)


def test_count_row_without_candidates_or_positives():
    """No known answers: nothing is better or equal. No positives: no counts."""
    empty = np.zeros(0)
    for positives in (np.array([1.0]), np.arange(10.0)):
        better, equal = count_row(empty, positives)
        assert better.tolist() == equal.tolist() == [0] * len(positives)
    assert [x.tolist() for x in count_row(np.array([1.0]), empty)] == [[], []]


@pytest.mark.parametrize("seed", range(30))
def test_count_row_on_random_rows(seed):
    """Lengths, dtypes and numbers of positives at random; the row itself is left as it was."""
    rng = np.random.default_rng(seed)
    dtype = rng.choice([np.float16, np.float32, np.float64, np.int64, np.uint64, np.int8])
    scores = rng.integers(0, 12, rng.integers(1, 40)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        scores[rng.random(len(scores)) < 0.2] = rng.choice([np.inf, -np.inf])
    before = scores.tobytes()
    positives = rng.choice(scores, rng.integers(1, 30))
    assert tuple(x.tolist() for x in count_row(scores, positives)) == naive(scores, positives)
    assert scores.tobytes() == before
