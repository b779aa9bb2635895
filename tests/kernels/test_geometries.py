"""A geometry that only says how its vectors meet ranks exactly, in every way that vectors are counted."""

import numpy as np
import oracle
import pytest
from grids import light

import kgeval as kg
from kgeval.kernels.geometry import GEOMETRIES, Geometry

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")


def smallest(candidates, queries, root):
    """What is summed: products where both are positive. No screen of kgeval knows these scores."""
    candidates *= queries
    return (candidates + abs(candidates)) / 2


class Overlap(kg.models.DistMult):
    """The sum of the positive products of x_s * w_p and x_o."""

    geometry = "overlap"


@pytest.fixture
def overlap(monkeypatch):
    """The registry with one more geometry."""
    monkeypatch.setitem(GEOMETRIES, "overlap", Geometry("overlap", smallest, lambda sums, root: sums))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", light(range(8), 3))
def test_exact_without_passes(overlap, dtype, seed):
    """Scores of few distinct numbers, and some one rounding step apart in float64: the loops decide every tie."""
    rng = np.random.default_rng(seed)
    n, m, d = int(rng.integers(3, 40)), 2, int(rng.integers(1, 9))
    vectors = rng.integers(-2, 3, (n, d)).astype(dtype)
    vectors += (rng.random((n, d)) < 0.2) * np.finfo(dtype).eps
    weights = rng.integers(1, 3, (m, d)).astype(dtype)
    facts = rng.integers(0, [n, m, n], (15, 3))
    dataset = kg.Dataset.from_arrays(test=facts, n_entities=n, n_relations=m)
    result = kg.evaluate(Overlap(vectors, weights), dataset, progress=False)
    known = {tuple(fact) for fact in facts.tolist()}
    table, right = vectors.astype(float), weights.astype(float)

    def score(s, p, o):
        return float(np.maximum(table[s] * right[p] * table[o], 0).sum())

    for side in ("subject", "object"):
        rows = oracle.rank_counts(exactly(Overlap(vectors, weights), n, m), facts.tolist(), known, range(n), side)
        found = result.table[result.table["side"] == side]
        for name in rows[0]:
            if name in found:
                assert found[name].tolist() == [row[name] for row in rows], (name, side)
    assert result.table["score"].to_numpy() == pytest.approx([score(*t) for t in facts.tolist()] * 2, rel=1e-12)


def exactly(model, n, m):
    """The model's own score of each triple, looked up."""
    s, p, o = np.indices((n, m, n)).reshape(3, -1)
    scores = model.score(s, p, o).reshape(n, m, n)
    return lambda s, p, o: float(scores[s, p, o])


def test_tensors_are_fetched(overlap):
    """Without a screen for tensors the counts are those of arrays."""
    torch = pytest.importorskip("torch", reason="needs torch")
    rng = np.random.default_rng(3)
    vectors, weights = rng.normal(size=(30, 4)), rng.normal(size=(2, 4))
    dataset = kg.Dataset.from_arrays(test=rng.integers(0, [30, 2, 30], (20, 3)), n_entities=30, n_relations=2)
    arrays = kg.evaluate(Overlap(vectors, weights), dataset, progress=False)
    tensors = kg.evaluate(Overlap(torch.tensor(vectors), torch.tensor(weights)), dataset, progress=False)
    assert tensors.table.equals(arrays.table)
