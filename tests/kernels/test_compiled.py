"""When the compiled loops are used, and what happens where numba is missing, broken, or has no folder for its cache."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from grids import light

from kgeval import KgevalWarning
from kgeval.kernels import compiled
from kgeval.kernels.best import best_candidates
from kgeval.kernels.counts import Places
from kgeval.kernels.geometry import exact_scores
from kgeval.kernels.numpy_kernels import NumpyCounter
from kgeval.kernels.tiles import Recheck, decide


def test_the_switch(loops):
    """KGEVAL_COMPILED=0 switches the loops off; anything else leaves them on."""
    assert compiled.is_compiled() == (loops == "numba")


@pytest.fixture
def compiled_loops(monkeypatch):
    """The test is about the compiled loops alone."""
    pytest.importorskip("numba", reason="needs kgeval[fast]")
    monkeypatch.setenv(compiled.SWITCH, "1")


@pytest.fixture
def forgotten():
    """The module is looked for anew, before the test and after it."""
    compiled._load.cache_clear()
    yield
    compiled._load.cache_clear()


def test_without_numba(monkeypatch, forgotten):
    """No warning: numba is optional."""
    monkeypatch.setenv(compiled.SWITCH, "1")
    monkeypatch.setattr(compiled.importlib.util, "find_spec", lambda name: None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled.load_compiled() is None


def test_a_numba_that_does_not_start_is_said_once(monkeypatch, forgotten):
    """numba raises ImportError for a numpy that it does not know; counting goes on, and the reason is said."""
    monkeypatch.setenv(compiled.SWITCH, "1")
    monkeypatch.setattr(compiled.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "kgeval.kernels.numba_kernels", None)
    monkeypatch.delattr("kgeval.kernels.numba_kernels", raising=False)
    with pytest.warns(KgevalWarning, match=r"numba is installed but cannot be used .*goes on without compiled loops"):
        assert compiled.load_compiled() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled.load_compiled() is None


COUNT = """
import numpy as np
from kgeval.kernels.geometry import exact_pair_scores
ids = np.array([0])
print(exact_pair_scores("dot", np.array([[2.0, 3.0]]), np.array([[5.0, 7.0]]), ids, ids)[0])
"""


@pytest.mark.thorough
@pytest.mark.parametrize("folder", ["absent", "read-only", "a file"])
def test_a_cache_that_cannot_be_written(tmp_path, compiled_loops, folder):
    """The loops are compiled in memory then."""
    place = tmp_path / "cache"
    if folder == "read-only":
        place.mkdir(mode=0o500)
    elif folder == "a file":
        place.write_text("")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(place), "HOME": str(tmp_path / "none")}
    done = subprocess.run([sys.executable, "-c", COUNT], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("31.0\n", "")


@pytest.mark.parametrize("seed", range(3))
def test_exact_scores_are_the_same_bits(seed):
    """Compiled sums are added in the order of `exact_scores`: equal bit for bit, also where terms cancel."""
    from kgeval.kernels.geometry import exact_pair_scores, exact_scores

    rng = np.random.default_rng(seed)
    for geometry in ("dot", "l1", "l2", "modulus"):
        for d in (2, 6, 14, 34, 66, 254):
            for dtype in (np.float32, np.float64):
                candidates = (rng.normal(size=(7, d)) * 10.0 ** rng.integers(-12, 12, (7, d))).astype(dtype)
                queries = rng.normal(size=(3, d)) * 10.0 ** rng.integers(-12, 12, (3, d))
                rows, columns = rng.integers(0, 3, 20), rng.integers(0, 7, 20)
                expected = exact_scores(geometry, queries[rows], candidates[columns])
                assert exact_pair_scores(geometry, queries, candidates, rows, columns).tobytes() == expected.tobytes()


@pytest.mark.parametrize("scale", [1e-166, 5e-324])
def test_squares_that_underflow_bound_the_rounding(loops, scale):
    """The pass of 8-bit integers rounds the query to (127, 0, ...); only the norms of the candidates show the error.

    Candidate 0 scores 127 * (127 - 31 * 0.49) = 14_199.9 and candidate 1 scores 127 * 126 = 16_002, in multiples of
    `scale`; with the rounded query, candidate 0 would be the higher one. The squares of such numbers underflow.
    """
    pytest.importorskip("torch")
    candidates = np.zeros((16, 32))
    candidates[0], candidates[1, 0], candidates[8:] = 127 * scale, 126 * scale, 1e-90
    query = np.full((1, 32), -0.49)
    query[0, 0] = 127.0
    places = Places(np.array([0]), np.array([1]), np.zeros(0, dtype=int), np.zeros(0, dtype=int))
    counts = NumpyCounter("dot", candidates, 8, multiplier="torch").count(query, places)
    assert (counts.better.tolist(), counts.equal.tolist()) == ([8], [1])
    alone = NumpyCounter("dot", candidates[:8], 8, multiplier="torch").count(query, places)
    assert (alone.better.tolist(), alone.equal.tolist()) == ([0], [1])


@pytest.mark.parametrize("geometry", ["dot", "l2"])
def test_scores_far_beyond_the_next_block(loops, geometry):
    """The answer and the best of the first 256 candidates score 1e159 units of the second block; its square overflows.

    The counts and the best are those of a sort, without a RuntimeWarning.
    """
    rng = np.random.default_rng(0)
    table = rng.normal(size=(600, 4)) * np.where(np.arange(600) < 256, 1e60, 1e-99)[:, None]
    query, nothing = rng.normal(size=4) * 1e-99, np.zeros(0, dtype=np.int64)
    scores = exact_scores(geometry, np.broadcast_to(query, table.shape), table)
    for answer in (3, 300):
        (found,) = best_candidates(geometry, query[None], table, None, np.array([answer]), [nothing], 5)
        assert found.candidates.tolist() == np.lexsort((np.arange(600), -scores))[:5].tolist()
        assert (found.better, found.equal) == ((scores > scores[answer]).sum(), (scores == scores[answer]).sum())


@pytest.mark.parametrize("seed", light(range(40), 3))
def test_open_pairs_are_screened_again(compiled_loops, seed):
    """With a `Recheck` a pair is better if either of two scores says so, open if neither decides it."""
    rng = np.random.default_rng(seed)
    n_rows, width, d = int(rng.integers(1, 4)), int(rng.choice([1, 63, 64, 65, 300])), 3
    tile = rng.integers(0, 40, (n_rows, width)).astype(np.int32)
    queries, candidates = rng.integers(-3, 4, (n_rows, d)), rng.integers(-3, 4, (width, d))
    row_of = np.sort(np.concatenate([np.arange(n_rows), rng.integers(0, n_rows, 4)]))
    n = len(row_of)
    low = rng.integers(0, 40, n)
    high, next_low = low + rng.integers(0, 3, n), rng.integers(-9, 9, n)
    next_high = next_low + rng.integers(0, 4, n)
    known = rng.random(tile.shape) < 0.3
    recheck = Recheck(*(np.asarray(x, dtype=np.float32) for x in (queries, candidates, next_low, next_high)))
    found = decide(tile, row_of, low.astype(np.int32), high.astype(np.int32), *np.nonzero(known), recheck)
    pairs = sorted(zip(found.which.tolist(), found.columns.tolist(), found.is_known.tolist()))
    expected = []
    for i, r in enumerate(row_of.tolist()):
        if i in found.crowded:
            assert sum(low[i] <= value <= high[i] for value in tile[r]) > max(1, width // 64)
            continue
        above = known_above = 0
        for j in range(width):
            again = int(queries[r] @ candidates[j])
            is_open = low[i] <= tile[r, j] <= high[i]
            is_above = tile[r, j] > high[i] or (is_open and again > next_high[i])
            above, known_above = above + is_above, known_above + (is_above and known[r, j])
            if is_open and next_low[i] <= again <= next_high[i]:
                expected.append((i, j, bool(known[r, j])))
        assert (found.above[i], found.known_above[i]) == (above, known_above)
    assert pairs == expected
