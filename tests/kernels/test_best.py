"""The best candidates of a query: those of a loop over the exact scores of all candidates."""

import numpy as np
import pytest
from grids import light
from kernel_cases import INPUTS, exact_matrix

import kgeval as kg
from kgeval.kernels import best
from kgeval.kernels.best import best_candidates, best_columns
from kgeval.kernels.geometry import GEOMETRIES


def sorted_loop(scores, ids, n):
    """The ids of the n highest scores; the lower of two ids with equal scores comes first."""
    return sorted(ids, key=lambda i: (-scores[i], i))[:n]


def wrong_queries(geometry, candidates, queries, rng, n):
    """The queries whose best candidates or counts differ from those of the loop; pools and skipped ids are random."""
    exact, wrong = exact_matrix(geometry, queries, candidates), []
    for share in (1.0, 0.6):
        pool = np.flatnonzero(rng.random(len(candidates)) < share)
        answers = rng.choice(pool, len(queries))
        skipped = [np.flatnonzero(rng.random(len(candidates)) < rng.choice([0.0, 0.1, 0.97])) for _ in queries]
        for given in (pool, None) if share == 1.0 else (pool,):
            found = best_candidates(geometry, queries, candidates, given, answers, skipped, n)
            for i, one in enumerate(found):
                ids = sorted_loop(exact[i], set(pool.tolist()) - set(skipped[i].tolist()), n)
                mine = exact[i, answers[i]]
                counts = sum(exact[i, e] > mine for e in pool), sum(exact[i, e] == mine for e in pool)
                if (one.candidates.tolist(), one.scores.tolist(), (one.better, one.equal)) != (
                    ids, exact[i, ids].tolist(), counts
                ):  # fmt: skip
                    wrong.append((share, i))
    return wrong


@pytest.mark.parametrize("case", light(INPUTS, 2))
@pytest.mark.parametrize("geometry", ["dot", "l1", "l2", "modulus"])
def test_best_candidates_equal_a_loop(geometry, case, monkeypatch):
    """Ties, near ties, giants and zeros; the first block has 3 candidates, the others 16 or all the rest."""
    monkeypatch.setattr(best, "_FIRST_BLOCK", 3)
    for numbers in (64, 1 << 20):
        monkeypatch.setattr(best, "_BLOCK_NUMBERS", numbers)
        rng = np.random.default_rng(numbers)
        candidates, queries = case(rng, 70, 4)
        assert wrong_queries(geometry, candidates, queries, rng, 5) == []


def test_derived_geometries():
    """Clamped scores tie at the bounds; also more candidates are wanted than there are."""
    rng = np.random.default_rng(0)
    candidates, queries = rng.normal(size=(40, 4)).astype(np.float32), rng.normal(size=(3, 4))
    for geometry in (kg.kernels.derived.clamped_dot(-0.5, 0.5), kg.kernels.derived.squared_l2()):
        assert geometry in GEOMETRIES
        assert wrong_queries(geometry, candidates, queries, rng, 60) == []


def test_the_table_is_read_in_blocks(monkeypatch):
    """Every slice has at most 16 rows, and each row is read once."""
    monkeypatch.setattr(best, "_BLOCK_NUMBERS", 64)
    numbers, read = np.random.default_rng(0).normal(size=(100, 4)), []

    class Table:
        shape = numbers.shape

        def __len__(self):
            return 100

        def __getitem__(self, rows):
            if isinstance(rows, slice):
                read.append((rows.start, rows.stop))
            return numbers[rows]

    answers, nothing = np.array([7, 9]), np.zeros(0, dtype=np.int64)
    found = best_candidates("dot", numbers[:2], Table(), None, answers, [nothing, nothing], 3)
    assert [one.candidates.tolist() for one in found] == [
        sorted_loop(exact_matrix("dot", numbers[:2], numbers)[i], range(100), 3) for i in (0, 1)
    ]
    read.sort()  # two threads read one half each, in any order
    assert [start for start, _ in read] == [0, *(stop for _, stop in read[:-1])]
    assert (read[-1][1], max(stop - start for start, stop in read)) == (100, 16)


def test_a_vector_that_is_not_finite():
    table = np.ones((10, 4), dtype=np.float32)
    table[6, 2] = np.nan
    with pytest.raises(kg.ScoreError, match="the vector of entity 6, .*labels.6., has a NaN or an infinite value. Did"):
        best_candidates("dot", np.ones((1, 4)), table, None, np.array([0]), [np.zeros(0, dtype=np.int64)], 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64])
def test_best_columns_equal_a_sort(dtype):
    """Rows of few distinct scores, so that ties lie across the n-th place; infinities are scores like others."""
    rng = np.random.default_rng(1)
    for size in (0, 1, 2, 50):
        scores = rng.integers(-3, 3, size).astype(dtype)
        if scores.dtype.kind == "f":
            scores[rng.random(size) < 0.1] = -np.inf
        for n in (0, 1, 2, 7, size, size + 5):
            assert best_columns(scores, n).tolist() == sorted_loop(scores, range(size), n)
