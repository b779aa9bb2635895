"""The torch kernels against loops over numpy's exact scores, and the bounds that their screens rely on."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from grids import light
from kernel_cases import PLAIN_GEOMETRIES

torch = pytest.importorskip("torch", reason="the torch kernels need torch")

from kgeval.errors import MissingExtra, ProtocolError, ScoreError  # noqa: E402
from kgeval.kernels import torch_kernels, torch_screens, triton_kernels  # noqa: E402
from kgeval.kernels.counts import Counts, Places, count_known  # noqa: E402
from kgeval.kernels.geometry import exact_scores  # noqa: E402
from kgeval.kernels.torch_kernels import (  # noqa: E402
    TorchCounter,
    count_tensor_rows,
    first_nan_of_tensor,
    largest_of_tensor,
)
from kgeval.kernels.torch_screens import make_screen  # noqa: E402

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
HALVES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
SCREENINGS = [(g, s) for g in ("dot", "l2") for s in HALVES] + [("l1", None), ("modulus", None)]
FIELDS = ("better", "equal", "known_better", "known_equal")


def draw_places(rng, n_queries, n_candidates, n_positives=None):
    """Positives (a query may have several, or all in one) and known answers, distinct within a query."""
    n_positives = n_positives or int(rng.integers(1, 3 * n_queries + 1))
    rows = np.sort(rng.integers(0, n_queries, n_positives))
    answers = rng.integers(0, n_candidates, n_positives)
    is_known = rng.random((n_queries, n_candidates)) < 0.3
    known_rows, known = np.nonzero(is_known)
    return Places(rows, answers, known_rows, known)


def brute_force(matrix, places):
    """The five arrays of Counts from a whole matrix of scores, one positive at a time."""
    counts = [[], [], [], []]
    for row, answer in zip(places.rows, places.answers):
        mine = matrix[row][answer]
        known = matrix[row][places.known[places.known_rows == row]]
        for column, values in enumerate((matrix[row] > mine, matrix[row] == mine, known > mine, known == mine)):
            counts[column].append(int(values.sum()))
    return [*counts, matrix[places.rows, places.answers].tolist()]


def exact_matrix(geometry, queries, candidates):
    return np.array([exact_scores(geometry, np.tile(q, (len(candidates), 1)), candidates) for q in queries])


def assert_counts(counts, wanted):
    assert isinstance(counts, Counts)
    for name, values in zip(FIELDS, wanted):
        got = getattr(counts, name)
        assert got.dtype == np.int64, name
        assert got.tolist() == values, name
    assert counts.scores.tolist() == wanted[4]


def check(geometry, queries, candidates, places, block_size=None, screening=None, device="cpu"):
    """Counts of torch must be brute force's, with the fused kernel, where there is one, and without."""
    wanted = brute_force(exact_matrix(geometry, queries, candidates), places)
    counter = TorchCounter(geometry, torch.from_numpy(candidates).to(device), block_size, screening=screening)
    for is_fused in {False, counter.is_fused}:
        counter.is_fused = is_fused
        assert_counts(counter.count(torch.from_numpy(queries).to(device), places), wanted)


def small_case(rng, geometry):
    """Few queries and candidates, drawn so that ties and duplicates are common."""
    d = int(rng.integers(1, 9)) * 2 if geometry == "modulus" else int(rng.choice([1, 2, 3, 5, 8, 13]))
    n, m = int(rng.choice([1, 2, 9, 40])), int(rng.integers(1, 7))
    draw = rng.integers(0, 4)
    if draw == 0:
        e, q = rng.integers(-2, 3, (n, d)).astype(float), rng.integers(-2, 3, (m, d)).astype(float)
    elif draw == 1:
        e, q = rng.normal(size=(n, d))[rng.integers(0, n, n)], rng.normal(size=(m, d))
    elif draw == 2:
        e, q = rng.normal(size=(n, d)) * np.exp(3 * rng.normal(size=(n, 1))), 100 * rng.normal(size=(m, d))
    else:
        e, q = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    return q, e, draw_places(rng, m, n)


@pytest.mark.parametrize("geometry", PLAIN_GEOMETRIES)
@pytest.mark.parametrize("seed", light(range(60), 3))
def test_counts_equal_brute_force(geometry, seed):
    """240 small cases; every third with float32 candidates, block sizes 1, 7, all and the default."""
    rng = np.random.default_rng(seed)
    queries, candidates, places = small_case(rng, geometry)
    if seed % 3 == 0:
        candidates = candidates.astype(np.float32)
    screening = list(HALVES.values())[seed // 4 % 3] if geometry in ("dot", "l2") else None
    check(geometry, queries, candidates, places, [1, 7, 10**9, None][seed % 4], screening)


# Vectors made to mislead a screen: each gives n candidates and m queries of d numbers.
def sizes_apart(rng, n, m, d):
    """Norms from 1e-200 to 1e200 beside each other."""
    e = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-200, 201, (n, 1))
    return rng.normal(size=(m, d)) * 10.0 ** rng.integers(-100, 51, (m, 1)), e


def huge_and_tiny_queries(rng, n, m, d):
    return rng.normal(size=(m, d)) * 10.0 ** rng.integers(-120, 121, (m, 1)), rng.normal(size=(n, d))


def subnormal(rng, n, m, d):
    return rng.normal(size=(m, d)), rng.integers(-5, 6, (n, d)) * 5e-324


def tiny(rng, n, m, d):
    """Below what float32 can hold: 1e-60."""
    return rng.normal(size=(m, d)) * 1e-60, rng.normal(size=(n, d)) * 1e-60


def all_equal(rng, n, m, d):
    return np.full((m, d), 0.3), np.full((n, d), 0.1)


def zeros(rng, n, m, d):
    return np.zeros((m, d)), np.zeros((n, d))


def one_hot(rng, n, m, d):
    return np.eye(d)[rng.integers(0, d, m)], np.eye(d)[rng.integers(0, d, n)]


def cancelling(rng, n, m, d):
    """Large parts that cancel and leave a small difference to decide."""
    e = rng.normal(size=(n, d)) * 1e-6 + np.resize([1e4, -1e4], d)
    return np.abs(rng.normal(size=(m, 1))) * np.ones(d) + rng.normal(size=(m, d)) * 1e-9, e


def one_step_apart(rng, n, m, d):
    """Copies of two vectors a few float64 steps apart."""
    base = rng.normal(size=(2, d))[rng.integers(0, 2, n)]
    return rng.normal(size=(m, d)), base * (1 + rng.integers(-3, 4, (n, d)) * 2.0**-52)


def float32_steps_apart(rng, n, m, d):
    base = rng.normal(size=(2, d))[rng.integers(0, 2, n)]
    return rng.normal(size=(m, d)), base * (1 + rng.normal(size=(n, d)) * 1e-8)


def half_steps_apart(rng, n, m, d):
    """Differences of the size of float16's and bfloat16's rounding errors."""
    base = rng.normal(size=d)
    return rng.normal(size=(m, d)), base * (1 + rng.normal(size=(n, d)) * 10.0 ** rng.integers(-5, -1, (n, 1)))


def near_the_queries(rng, n, m, d):
    base = rng.normal(size=d)
    return base + rng.normal(size=(m, d)) * 1e-8, base + rng.normal(size=(n, d)) * 1e-7


def far_queries(rng, n, m, d):
    """So far off that float64 distances to different candidates tie."""
    return rng.normal(size=(m, d)) * 10.0 ** rng.integers(6, 15, (m, 1)), rng.normal(size=(n, d))


def heavy_tailed(rng, n, m, d):
    return rng.standard_cauchy(size=(m, d)), rng.standard_cauchy(size=(n, d)) ** 3


MISLEADING = [
    sizes_apart, huge_and_tiny_queries, subnormal, tiny, all_equal, zeros, one_hot, cancelling, one_step_apart,
    float32_steps_apart, half_steps_apart, near_the_queries, far_queries,
    heavy_tailed,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow encountered")  # distances of 1e200 are infinite in float64 too
@pytest.mark.parametrize(("geometry", "screening"), SCREENINGS)
@pytest.mark.parametrize("draw", MISLEADING)
@pytest.mark.parametrize("device", DEVICES)
def test_misleading_vectors_are_counted_exactly(geometry, screening, draw, device):
    """600 candidates, so that few open and crowded rows both occur."""
    rng = np.random.default_rng(len(draw.__name__))
    queries, candidates = draw(rng, 600, 6, 16)
    check(geometry, queries, candidates, draw_places(rng, 6, 600), 400, HALVES.get(screening), device)


@pytest.mark.parametrize("geometry", PLAIN_GEOMETRIES)
def test_many_positives_of_one_query(geometry):
    rng = np.random.default_rng(3)
    queries, candidates = rng.normal(size=(3, 12)), rng.normal(size=(300, 12))
    rows = np.repeat([0, 2], [500, 1])
    places = Places(rows, rng.integers(0, 300, 501), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    check(geometry, queries, candidates, places, 128)


def test_no_positives():
    nothing = np.zeros(0, dtype=np.int64)
    counts = TorchCounter("dot", torch.ones(3, 2)).count(torch.ones(1, 2).double(), Places(*[nothing] * 4))
    assert [getattr(counts, name).tolist() for name in FIELDS] == [[]] * 4


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("geometry", PLAIN_GEOMETRIES)
def test_every_float_dtype_is_read_exactly(geometry, dtype):
    rng = np.random.default_rng(11)
    candidates = torch.from_numpy(rng.normal(size=(80, 10))).to(dtype).requires_grad_()
    before = candidates.detach().clone()
    queries = torch.from_numpy(rng.normal(size=(5, 10))).requires_grad_()
    places = draw_places(rng, 5, 80)
    counts = TorchCounter(geometry, candidates).count(queries, places)
    matrix = exact_matrix(geometry, queries.detach().numpy(), candidates.detach().double().numpy())
    assert_counts(counts, brute_force(matrix, places))
    assert torch.equal(candidates.detach(), before)


@pytest.mark.parametrize("geometry", PLAIN_GEOMETRIES)
@pytest.mark.parametrize("d", [1, 2, 3, 7, 64, 101])
def test_exact_scores_are_numpys_bits(geometry, d):
    rng = np.random.default_rng(d)
    d += d % 2 if geometry == "modulus" else 0
    for scale in (1.0, 1e-155, 1e-320, 1e150):
        q, e = rng.normal(size=(50, d)) * scale, rng.normal(size=(50, d)) * scale
        got = torch_screens.exact_tensor_scores(geometry, torch.from_numpy(q), torch.from_numpy(e))
        assert got.numpy().tobytes() == exact_scores(geometry, q, e).tobytes()


def true_scores(screen, geometry, queries, candidates, ready):
    """The real scores on the screen's scale, from float64 exact ones: what thresholds would be for each pair."""
    n, m = len(queries), len(candidates)
    rows = torch.arange(n).repeat_interleave(m)
    scores = torch.from_numpy(exact_matrix(geometry, queries, candidates)).reshape(-1)
    pairs = screen.prepare(torch.from_numpy(queries), rows, scores)
    assert torch.equal(pairs.vectors, ready.vectors)
    return pairs.thresholds.view(n, m)[:, screen.order]


BOUNDED = [cancelling, half_steps_apart, near_the_queries, heavy_tailed, one_hot, float32_steps_apart]


def gaussian(rng, n, m, d):
    return rng.normal(size=(m, d)), rng.normal(size=(n, d))


def one_sided(rng, n, m, d):
    """All numbers positive and just above a power of two, where rounding is coarsest: errors add up."""
    return 1.0 + rng.random((m, d)) * 2.0**-8, 1.0 + rng.random((n, d)) * 2.0**-8


@pytest.mark.parametrize(("geometry", "screening"), SCREENINGS)
@pytest.mark.parametrize("draw", [gaussian, one_sided, *BOUNDED])
def test_screening_scores_are_within_the_bound(geometry, screening, draw):
    """|screening score - real score| <= radius for every pair, also for widths where many roundings add up."""
    rng = np.random.default_rng(5)
    for d in (2, 30, 700):
        queries, candidates = draw(rng, 150, 4, d)
        screen = make_screen(geometry, torch.from_numpy(candidates), HALVES.get(screening))
        ready = screen.prepare(torch.from_numpy(queries), torch.arange(4), torch.zeros(4).double())
        assert ready.is_usable.all()
        real = true_scores(screen, geometry, queries, candidates, ready)
        block = slice(0, len(candidates))
        tile = screen.tile(ready, block)
        error = (tile.double() - real).abs()
        low, high = screen.interval(ready, torch.arange(4), block)
        radius = ((high - low) / 2)[:, None]
        if tile.dtype == torch.bfloat16:  # its output's own rounding, which moved thresholds answer for
            error = (error - tile.double().abs() * 2.0**-8).clamp(min=0)
        assert (error <= radius).all(), (error / radius).max()


@pytest.mark.parametrize(("geometry", "screening"), [("dot", s) for s in HALVES] + [("l1", None), ("l2", "float16")])
def test_the_bound_is_not_idle(geometry, screening):
    """A hundredth of the radius would be too small: errors reach it."""
    rng = np.random.default_rng(6)
    queries, candidates = one_sided(rng, 300, 8, 4)
    screen = make_screen(geometry, torch.from_numpy(candidates), HALVES.get(screening))
    ready = screen.prepare(torch.from_numpy(queries), torch.arange(8), torch.zeros(8).double())
    real = true_scores(screen, geometry, queries, candidates, ready)
    error = (screen.tile(ready, slice(0, 300)).double() - real).abs()
    low, high = screen.interval(ready, torch.arange(8), slice(0, 300))
    assert (error > ((high - low) / 200)[:, None]).any()


@pytest.mark.parametrize("scale", [0.01, 0.0])
def test_too_small_a_bound_is_noticed(monkeypatch, scale):
    """The brute-force tests would fail with a hundredth of the radius, or without the exact pass."""

    def too_near(thresholds, radius):
        return thresholds - scale * radius, thresholds + scale * radius

    rng = np.random.default_rng(7)
    queries, candidates = half_steps_apart(rng, 600, 6, 16)
    places = draw_places(rng, 6, 600)
    monkeypatch.setattr(torch_screens, "_around", too_near)
    with pytest.raises(AssertionError):
        check("dot", queries, candidates, places, None, torch.bfloat16)


@pytest.mark.parametrize(
    ("d", "direction", "wanted"), [(torch.bfloat16, 1, 1.0078125), (torch.bfloat16, -1, 1.0), (torch.float32, 1, 1.001)]
)
def test_thresholds_move_outwards(d, direction, wanted):
    """Beside 1.001 bfloat16 has 1 and 1 + 2^-7; float32's neighbours are both within 1e-7."""
    value = torch.tensor([1.001], dtype=torch.float64)
    moved = torch_kernels._outwards(value, d, direction)
    assert moved.double().item() == pytest.approx(wanted, abs=2e-7)
    assert (moved.double().item() - 1.001) * direction >= 0
    exact = torch.tensor([1.0, float("inf"), -float("inf")], dtype=torch.float64)
    assert torch_kernels._outwards(exact, d, direction).tolist() == exact.tolist()


def test_reduced_precision_of_float32_products_widens_the_bound():
    """Where torch may round float32 operands itself, 2^-7 of the sizes is added."""
    vectors = torch.from_numpy(np.random.default_rng(8).normal(size=(20, 6)))
    screen = make_screen("dot", vectors)
    ready = screen.prepare(vectors, torch.arange(20), torch.zeros(20).double())
    before = torch.get_float32_matmul_precision()
    widths = []
    try:
        for precision in ("highest", "medium"):
            torch.set_float32_matmul_precision(precision)
            low, high = screen.interval(ready, torch.arange(20), slice(0, 20))
            widths.append(((high - low) / (2 * ready.sizes * screen.norms.amax())).min().item())
    finally:
        torch.set_float32_matmul_precision(before)
    assert widths[0] < 2.0**-19
    assert 2.0**-7 < widths[1] < 2.0**-6


@pytest.mark.parametrize("geometry", PLAIN_GEOMETRIES)
def test_running_out_of_memory_halves_the_block(geometry, monkeypatch):
    rng = np.random.default_rng(9)
    queries, candidates, places = rng.normal(size=(4, 6)), rng.normal(size=(100, 6)), draw_places(rng, 4, 100)
    counter = TorchCounter(geometry, torch.from_numpy(candidates))
    real, widths = counter.screen.tile, []

    def narrow(ready, block):
        widths.append(block.stop - block.start)
        if widths[-1] > 13:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return real(ready, block)

    monkeypatch.setattr(counter.screen, "tile", narrow)
    counts = counter.count(torch.from_numpy(queries), places)
    assert_counts(counts, brute_force(exact_matrix(geometry, queries, candidates), places))
    assert widths == [100, 50, 25] + [12] * 8 + [4]
    widths.clear()
    counter.count(torch.from_numpy(queries), places)
    assert widths == [12] * 8 + [4]


def test_memory_for_no_candidate_at_all_is_an_error(monkeypatch):
    counter = TorchCounter("dot", torch.ones(5, 2))

    def full(ready, block):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(counter.screen, "tile", full)
    places = Places(*(np.zeros(1, dtype=np.int64) for _ in range(4)))
    message = "not enough memory on cpu to score 2 queries, even against one candidate at a time; set a smaller"
    with pytest.raises(ScoreError, match=message):
        counter.count(torch.ones(2, 2).double(), places)


@pytest.mark.parametrize("block_size", [1, 7, 64])
def test_no_block_is_larger_than_asked(block_size, monkeypatch):
    rng = np.random.default_rng(10)
    queries, candidates, places = rng.normal(size=(4, 6)), rng.normal(size=(100, 6)), draw_places(rng, 4, 100)
    counter = TorchCounter("l2", torch.from_numpy(candidates), block_size)
    real, shapes = counter.screen.tile, []
    monkeypatch.setattr(
        counter.screen, "tile", lambda *args: [tile := real(*args), shapes.append(tuple(tile.shape))][0]
    )
    counter.count(torch.from_numpy(queries), places)
    assert shapes == [(4, min(block_size, 100 - start)) for start in range(0, 100, block_size)]


@pytest.mark.parametrize(("geometry", "block_size", "message"), [("cosine", None, "geometry must be one of 'dot'")])
def test_unknown_geometry(geometry, block_size, message):
    with pytest.raises(ProtocolError, match=message):
        TorchCounter(geometry, torch.ones(2, 2), block_size)


def test_block_size_of_zero():
    with pytest.raises(ProtocolError, match="block_size must be an integer of at least 1; got 0"):
        TorchCounter("dot", torch.ones(2, 2), 0)


DTYPES = ["float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", light(range(12), 3))
def test_count_rows_equals_brute_force(dtype, seed):
    """Few distinct values, so ties are many; infinities among the floats; sometimes one row for all positives."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.choice([1, 5, 60])), int(rng.integers(1, 8))
    values = rng.integers(0, 6, (m, n)).astype(float)
    if "float" in dtype:
        values = np.where(rng.random((m, n)) < 0.1, np.inf, values / 3 - 1)
        values = np.where(rng.random((m, n)) < 0.1, -np.inf, values)
    scores = torch.from_numpy(values).to(getattr(torch, dtype))
    places = draw_places(rng, m, n)
    if seed % 4 == 0:
        places = Places(np.full(30, m - 1), rng.integers(0, n, 30), places.known_rows, places.known)
    if seed % 4 == 1:  # one positive a query: rows that need no copy
        places = Places(np.arange(m), rng.integers(0, n, m), places.known_rows, places.known)
    counts = count_tensor_rows(scores, places)
    plain = scores.float().numpy() if dtype == "bfloat16" else scores.numpy()
    assert_counts(counts, brute_force(plain, places))
    assert counts.scores.dtype == plain.dtype
    known = count_known(places, plain[places.known_rows, places.known], counts.scores)
    assert [counts.known_better.tolist(), counts.known_equal.tolist()] == [part.tolist() for part in known]


def test_count_rows_tells_neighbours_apart_and_zeros_together():
    """Integers beyond 2^53, float64 one step apart; minus zero equals zero."""
    large = 2**60 + torch.tensor([[0, 1, 1, 2]])
    places = Places(np.array([0]), np.array([1]), np.zeros(3, dtype=np.int64), np.array([0, 1, 3]))
    assert_counts(count_tensor_rows(large, places), [[1], [2], [1], [1], [2**60 + 1]])
    near = torch.tensor([[1.0, 1 + 2.0**-52, 1.0, 1 - 2.0**-53]], dtype=torch.float64, requires_grad=True)
    assert_counts(count_tensor_rows(near, places), [[0], [1], [0], [1], [1 + 2.0**-52]])
    assert_counts(count_tensor_rows(torch.tensor([[0.0, -0.0, 1.0, -1.0]]), places), [[1], [2], [0], [2], [0.0]])


def test_count_rows_splits_large_matrices(monkeypatch):
    """With room for a row at a time the counts stay."""
    rng = np.random.default_rng(12)
    scores, places = torch.from_numpy(rng.integers(0, 9, (6, 50))), draw_places(rng, 6, 50)
    monkeypatch.setattr(torch_screens, "_BYTES_CPU", 1)
    assert torch_kernels._part_size(scores) == 1
    assert_counts(count_tensor_rows(scores, places), brute_force(scores.numpy(), places))
    candidates, queries = rng.normal(size=(50, 4)), rng.normal(size=(6, 4))
    check("dot", queries, candidates, places)
    check("l1", np.zeros((6, 4)), np.ones((50, 4)), places)


def test_copies_of_rows_are_bounded(monkeypatch):
    """A copy takes as many bytes as the matrix has cells, on a GPU; a few rows are copied together all the same."""
    monkeypatch.setattr(torch_screens, "_BYTES_CPU", torch_screens._BYTES_GPU)
    monkeypatch.setattr(torch_kernels, "_MIN_BYTES", 400)
    assert torch_kernels._part_size(torch.zeros(64, 10)) == 16
    assert torch_kernels._part_size(torch.zeros(1, 10)) == 10


def test_first_nan():
    scores = torch.zeros(4, 5)
    assert first_nan_of_tensor(scores) is None
    assert first_nan_of_tensor(scores.int()) is None
    assert first_nan_of_tensor(torch.zeros(0, 5)) is None
    scores[2, 3] = scores[3, 0] = scores[2, 4] = float("nan")
    assert first_nan_of_tensor(scores) == (2, 3, 3)
    assert first_nan_of_tensor(scores.bfloat16().requires_grad_()) == (2, 3, 3)
    assert first_nan_of_tensor(torch.tensor([[float("inf"), -float("inf")]])) is None


def test_largest():
    assert largest_of_tensor(torch.tensor([[1.0, float("inf")], [0.0, 2.0]], requires_grad=True)) == float("inf")
    assert largest_of_tensor(torch.tensor([[-3, -7]])) == -3.0
    assert largest_of_tensor(torch.zeros(0, 4)) == -float("inf")


def test_missing_torch_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r'device= and tensors need torch; pip install "kgeval\[torch\]"'):
        torch_screens.load_torch()


def test_missing_triton_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.setattr(triton_kernels, "_kernels", [])
    groups = triton_kernels.make_groups(np.array([0]), torch.device("cpu"))
    half = torch.ones(1, 8, dtype=torch.float16)
    with pytest.raises(MissingExtra, match=r'the fused kernel needs triton; pip install "kgeval\[torch\]"'):
        triton_kernels.count_and_collect(half, half, groups, torch.zeros(1), torch.zeros(1), 1)


def test_groups_hold_every_positive_once_largest_first():
    """Nine positives of query 3 make groups of 4, 4 and 1."""
    rows = np.repeat([0, 3, 4], [1, 9, 2])
    groups = triton_kernels.make_groups(rows, torch.device("cpu"))
    assert groups.size.tolist() == [4, 4, 2, 1, 1]
    assert groups.query.tolist() == [3, 3, 4, 0, 3]
    assert groups.first.tolist() == [1, 5, 10, 0, 9]


@pytest.mark.parametrize(
    ("device", "capability", "has_triton", "wanted"),
    [
        ("cuda", (9, 0), True, True),
        ("cuda", (7, 5), True, False),
        ("cuda", (8, 0), False, False),
        ("cpu", (9, 0), True, False),
    ],
)
def test_where_the_fused_kernel_runs(device, capability, has_triton, wanted, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(triton_kernels, "find_spec", lambda name: name if has_triton else None)
    assert triton_kernels.is_available(torch.device(device)) is wanted


FUSED = """
import numpy as np, torch
from kgeval.kernels import torch_kernels
from kgeval.kernels.triton_kernels import count_and_collect, make_groups
from test_torch_kernels import assert_counts, brute_force, draw_places, exact_matrix
from test_torch_kernels import MISLEADING, small_case

rng = np.random.default_rng(0)
for d, n_queries, n_candidates, n_positives in ((8, 3, 1, 1), (40, 37, 300, 90), (136, 130, 65, 150), (24, 1, 90, 30)):
    q = torch.from_numpy(rng.integers(-3, 4, (n_queries, d))).half()
    e = torch.from_numpy(rng.integers(-3, 4, (n_candidates, d))).half()
    rows = np.sort(rng.integers(0, n_queries, n_positives))
    scores = (q.double() @ e.double().T)[rows]
    low = torch.from_numpy(rng.integers(-9, 5, n_positives)).float()
    high = low + 6
    low[0] = high[0] = float("inf")
    near = (scores >= low[:, None]) & (scores <= high[:, None])
    wanted = sorted(map(tuple, near.nonzero().tolist()))
    args = (q, e, make_groups(rows, q.device), low, high)
    above, positives, columns = count_and_collect(*args, len(wanted))
    assert above.tolist() == (scores > high[:, None]).sum(1).tolist()
    assert sorted(zip(positives.tolist(), columns.tolist())) == wanted
    assert not wanted or count_and_collect(*args, len(wanted) - 1) is None

results = []
def recorded(*args):
    results.append(count_and_collect(*args) is not None)
    return count_and_collect(*args)

torch_kernels.triton_kernels.count_and_collect = recorded
torch_kernels._LISTED = 4
cases = [(g, *small_case(rng, g)) for g in ("dot", "l2") for _ in range(4)]
for draw in MISLEADING[:2] + MISLEADING[6:]:
    queries, candidates = draw(rng, 200, 4, 16)
    cases += [(g, queries, candidates, draw_places(rng, 4, 200)) for g in ("dot", "l2")]
many = rng.normal(size=(40, 16)), rng.normal(size=(1200, 16)), draw_places(rng, 40, 1200, 120)
for geometry, queries, candidates, places in [*cases, ("dot", *many)]:
    counter = torch_kernels.TorchCounter(geometry, torch.from_numpy(candidates), 1000, torch.float16)
    counter.is_fused = True
    counts = counter.count(torch.from_numpy(queries), places)
    assert_counts(counts, brute_force(exact_matrix(geometry, queries, candidates), places))
torch_kernels._LISTED, before = 10**9, len(results)
real, torch_kernels.min = min, lambda *numbers: 3 if len(numbers) == 3 else real(*numbers)  # room for three pairs
counter = torch_kernels.TorchCounter("dot", torch.from_numpy(many[1]), None, torch.float16)
counter.is_fused = True
counts = counter.count(torch.from_numpy(many[0]), many[2])
assert_counts(counts, brute_force(exact_matrix("dot", *many[:2]), many[2]))
print(results[:before].count(True), results[before:])
"""


def test_fused_kernel_in_tritons_interpreter():
    """The kernel on the CPU: counts, lists that just fit and that overflow, and a counter that uses it."""
    pytest.importorskip("triton", reason="the fused kernel needs triton")
    root = Path(__file__).parents[2]
    folders = [str(Path(__file__).parent), str(root), *sys.path]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run([sys.executable, "-c", FUSED], capture_output=True, text=True, env=environment, cwd=root)
    assert done.returncode == 0, done.stderr
    n_fused, overflow = done.stdout.split(maxsplit=1)
    assert int(n_fused) >= 10
    assert overflow.strip() == "[False]"
