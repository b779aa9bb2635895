"""Which kernels count for which vectors: the same tables everywhere, and what is said of a device that is not there."""

import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from grids import light
from kernel_cases import COUNTERS, as_lists, brute_force, can_multiply_shorts, draw_places, exact_matrix, over
from tiles import evaluate_in_tiles

import kgeval as kg
from kgeval.errors import DataError, MissingExtra, ProtocolError, ScoreError
from kgeval.kernels import backends
from kgeval.kernels.arrays import largest_in_rows, on_host
from kgeval.kernels.backends import check_device, make_counter, multiplies_bytes
from kgeval.scorers.models.distances import RotatE, TransE
from kgeval.scorers.models.products import ComplEx, DistMult


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="device='cpu' and tensors need torch")


def random_case(seed):
    """A small dataset with train, and a model whose scores tie now and then."""
    rng = np.random.default_rng(seed)
    n, m, d = int(rng.integers(2, 40)), int(rng.integers(1, 4)), int(rng.integers(1, 12))
    test, train = (
        np.column_stack([rng.integers(0, top, rows) for top in (n, m, n)]) for rows in (rng.integers(1, 30), 60)
    )
    data = kg.Dataset.from_arrays(test=np.unique(test, axis=0), train=train, n_entities=n, n_relations=m)
    kind = [DistMult, ComplEx, TransE, lambda *t: TransE(*t, norm=2), RotatE][seed % 5]
    width = 2 * d if kind in (ComplEx, RotatE) else d
    entities = rng.normal(size=(n, width)).astype(rng.choice([np.float32, np.float64]))
    relations = rng.normal(size=(m, d if kind is RotatE else width)).astype(entities.dtype)
    if seed % 3 == 0:
        entities = np.rint(entities)
    return kind, (entities, relations), data


def assert_same(found, expected):
    assert found == expected
    pd.testing.assert_frame_equal(found.table, expected.table, check_exact=True)


@pytest.mark.parametrize("seed", light(range(100), 6))
def test_the_table_is_the_same_on_the_cpu_and_from_tensors(torch, seed):
    """100 random cases: numpy, torch's byte products, and parameters that are tensors give one table."""
    kind, tables, data = random_case(seed)
    expected = kg.evaluate(kind(*tables), data, executor=kg.executors.Threads(1), progress=False)
    sizes = [{}, {"n_candidates": 7}, {"n_queries": 3, "n_candidates": 8}][seed % 3]
    for device in ("cpu", "numpy"):
        assert_same(evaluate_in_tiles(kind(*tables), data, device=device, threads=1, progress=False, **sizes), expected)
    tensors = kind(*map(torch.from_numpy, tables))
    for device in (None, "cpu"):
        assert_same(evaluate_in_tiles(tensors, data, device=device, threads=1, progress=False, **sizes), expected)


@pytest.mark.parametrize("before", [1, 3])
def test_the_threads_of_torch_are_given_back(torch, before, monkeypatch):
    """Each worker has torch for itself on one thread; afterwards, also after an error, the number is what it was."""
    kind, tables, data = random_case(0)
    usual = torch.get_num_threads()
    torch.set_num_threads(before)
    try:
        kg.evaluate(kind(*tables), data, device="cpu", executor=kg.executors.Threads(2), progress=False)
        assert torch.get_num_threads() == before

        def fail(*arguments):
            raise MemoryError("no room")

        monkeypatch.setattr("kgeval.kernels.numpy_kernels.decide", fail)
        with pytest.raises(MemoryError, match="no room"):
            kg.evaluate(kind(*tables), data, device="cpu", executor=kg.executors.Threads(2), progress=False)
        assert torch.get_num_threads() == before
    finally:
        torch.set_num_threads(usual)


@over([(geometry, None) for geometry, multiplier in COUNTERS if not multiplier] + [("dot", "torch")])
def test_make_counter(geometry, multiplier, request):
    """For arrays and for tensors of the host it counts what brute force counts, in batches that fit the kernels."""
    rng = np.random.default_rng(0)
    candidates, queries = rng.normal(size=(40, 6)), rng.normal(size=(5, 6))
    places = draw_places(rng, 5, 40, 20)
    expected = brute_force(exact_matrix(geometry, queries, candidates), places)
    counters = [make_counter(geometry, candidates, device, 9) for device in (None, "numpy")]
    if multiplier:
        torch = request.getfixturevalue("torch")
        queries_there = torch.from_numpy(queries)
        counters += [make_counter(geometry, torch.from_numpy(candidates), device, 9) for device in (None, "cpu")]
        assert as_lists(counters[-1].count(queries_there, places)) == expected
    for counter in counters:
        assert counter.batch_size >= 64
        assert as_lists(counter.count(queries, places)) == expected


@pytest.mark.parametrize("has_product", [True, False])
def test_integers_of_16_bits_where_they_pay(has_product, monkeypatch):
    """Of 1,000 candidates and more the first pass multiplies integers, where the processor is fast at it; else floats.

    The counts are those of brute force either way.
    """
    if has_product and not can_multiply_shorts():
        pytest.skip("products of 16-bit integers need kgeval[fast] and AVX2")
    monkeypatch.setattr(backends, "has_short_product", lambda: has_product)
    rng = np.random.default_rng(3)
    candidates, queries, places = rng.normal(size=(1001, 10)), rng.normal(size=(5, 10)), draw_places(rng, 5, 1001, 20)
    for table, pays in ((candidates, has_product), (candidates[:999], False)):
        counter = make_counter("dot", table, "numpy")
        assert (type(counter.passes[0]).__name__ == "ShortDotPass") == pays
    counts = make_counter("dot", candidates, "numpy").count(queries, places)
    assert as_lists(counts) == brute_force(exact_matrix("dot", queries, candidates), places)


def test_devices_that_are_there(torch, monkeypatch):
    """Names, and torch's own device objects."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    names = [None, "numpy", "cpu", "cuda", "cuda:0", "cuda:1", torch.device("cpu"), torch.device("cuda", 1)]
    assert [check_device(name) for name in names] == [None, "numpy", "cpu", "cuda", "cuda:0", "cuda:1", "cpu", "cuda:1"]


@pytest.mark.parametrize("device", ["gpu", 3, "", "cpu:0", "CUDA", "mps", b"cpu"])
def test_devices_that_have_no_such_name(device):
    """Refused by evaluate before anything is scored; the names there are are listed, the given one quoted."""
    kind, tables, data = random_case(1)
    message = f"device must be None, 'numpy', 'cpu', 'cuda' or 'cuda:<number>'; got {device!r}"
    with pytest.raises(ProtocolError, match=f"^{re.escape(message)}$"):
        kg.evaluate(kind(*tables), data, device=device)


@pytest.mark.parametrize("n_devices", [0, 2])
@pytest.mark.parametrize("device", ["cuda:7", "cuda:2"])
def test_devices_that_are_not_there(torch, monkeypatch, device, n_devices):
    """The version of torch and how many devices it sees are said."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: n_devices > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_devices)
    kind, tables, data = random_case(1)
    message = (
        f"device='{device}' does not exist: torch {torch.__version__} sees {n_devices} CUDA devices; "
        "leave device= out, or use 'cpu'"
    )
    with pytest.raises(ProtocolError, match=f"^{re.escape(message)}$"):
        kg.evaluate(kind(*tables), data, device=device)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_device_without_torch(device, monkeypatch):
    """The error names the extra; numpy needs none."""
    monkeypatch.setitem(sys.modules, "torch", None)
    kind, tables, data = random_case(1)
    with pytest.raises(MissingExtra, match=r'need torch; pip install "kgeval\[torch\]"$'):
        kg.evaluate(kind(*tables), data, device=device)
    assert kg.evaluate(kind(*tables), data, device="numpy", progress=False)["mrr"] > 0


def test_a_torch_that_cannot_multiply_bytes(torch, monkeypatch):
    """Where the product is missing, fails or is wrong, as for saturating instructions, float32 serves alone."""
    kind, tables, data = random_case(0)
    expected = kg.evaluate(kind(*tables), data, progress=False)
    original = torch._int_mm

    def fails(*arguments, **named):
        raise RuntimeError("not implemented")

    for faulty in (fails, lambda a, b, out=None: original(a, b) - 1):
        monkeypatch.setattr(torch, "_int_mm", faulty)
        assert not multiplies_bytes()
        assert_same(kg.evaluate(kind(*tables), data, device="cpu", progress=False), expected)
    monkeypatch.delattr(torch, "_int_mm")
    assert not multiplies_bytes()
    assert_same(kg.evaluate(kind(*tables), data, device="cpu", progress=False), expected)


def test_tensors_on_the_host(torch):
    """Shared, not copied, where numpy has the type; bfloat16 and float16 become float32; arrays stay as they are."""
    array = np.arange(6.0).reshape(2, 3)
    assert on_host(array) is array
    for dtype in (torch.float32, torch.float64):
        tensor = torch.arange(6, dtype=dtype).reshape(2, 3).requires_grad_()
        found = on_host(tensor)
        assert (found.dtype.name, found.tolist()) == (str(dtype).removeprefix("torch."), array.tolist())
        assert np.shares_memory(found, tensor.detach().numpy())
    for dtype in (torch.bfloat16, torch.float16):
        found = on_host(torch.arange(6, dtype=dtype).reshape(2, 3))
        assert (found.dtype, found.tolist()) == (np.float32, array.tolist())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_largest_in_rows(dtype, request):
    """Absolute values, float64; infinite or NaN where the row is; of tensors as of arrays."""
    vectors = np.array([[1, -4, 2], [0, 0, 0], [np.inf, 1, 2], [np.nan, 5, 1], [7, np.nan, -np.inf]], dtype=dtype)
    wanted = [4.0, 0.0, np.inf, np.nan, np.nan]
    np.testing.assert_array_equal(largest_in_rows(vectors), wanted)
    assert largest_in_rows(vectors).dtype == np.float64
    torch = request.getfixturevalue("torch")
    np.testing.assert_array_equal(largest_in_rows(torch.from_numpy(vectors)), wanted)
    assert largest_in_rows(torch.from_numpy(vectors)).dtype == np.float64


SATURATING = """
from kgeval.kernels.backends import multiplies_bytes
print(multiplies_bytes())
"""


@pytest.mark.parametrize("instructions", ["AVX512_CORE", "AVX2"])
def test_processors_that_saturate_sums_of_bytes_are_not_used(torch, instructions):
    """Without products of bytes into 32 bits, oneDNN cuts 127 * 255 * 2 to 32,767: the check must see it."""
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": instructions}
    found = subprocess.run([sys.executable, "-c", SATURATING], capture_output=True, text=True, env=environment)
    assert (found.stdout, found.returncode) == ("False\n", 0), found.stderr


@pytest.mark.parametrize("power", [-163, -170, -220, -300])
def test_squares_of_tiny_candidates_underflow(torch, power):
    """40 of 64 candidates are so small that the square of each number is 0; the others are as usual."""
    rng = np.random.default_rng(1)
    candidates = rng.normal(size=(64, 16))
    candidates[:40] *= 10.0**power
    queries, places = rng.normal(size=(5, 16)), draw_places(rng, 5, 64, 12)
    for block_size in (8, 64):
        counter = make_counter("dot", candidates, "cpu", block_size)
        expected = brute_force(exact_matrix("dot", queries, candidates), places)
        assert as_lists(counter.count(queries, places)) == expected


@pytest.mark.parametrize("device", ["numpy", "cpu", "gpu"])
def test_a_function_is_not_moved(device):
    """It is said before torch is looked for, and whatever the device."""
    data = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=3, n_relations=1)
    with pytest.raises(ProtocolError, match=f"^device='{device}' is for embedding models; score chooses its own"):
        kg.evaluate(score, data, device=device, progress=False)


def score(s, p, o):
    return s + 2.0 * o


def test_a_layer_is_not_its_weight(torch):
    """What torch users try first."""
    layer = torch.nn.Embedding(3, 2)
    with pytest.raises(DataError, match=r"^entities must be an array or a tensor; got Embedding. Pass its .weight$"):
        DistMult(layer, layer)


def test_half_a_geometry_is_refused():
    """What lacks is named, with the way to call it."""
    data = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=3, n_relations=1)
    half = type("Half", (), {"geometry": "dot", "query_vectors": lambda *_: np.ones((1, 2))})()
    with pytest.raises(ScoreError, match=r"^Half has no candidate_vectors\(side\); an embedding model needs geometry"):
        kg.evaluate(half, data, progress=False)


class OneBuffer:
    """A scorer that hands out one array for both sides, filled anew for each."""

    geometry = "dot"

    def __init__(self, sides):
        self.sides, self.buffer = sides, np.empty_like(sides["object"])

    def query_vectors(self, side, given, relation):
        return np.ones((len(given), self.buffer.shape[1]))

    def candidate_vectors(self, side):
        self.buffer[...] = self.sides[side]
        return self.buffer


def test_one_buffer_for_both_sides_is_refused():
    """Both sides' candidates are needed at once; equal contents may share memory."""
    rng = np.random.default_rng(2)
    tables = {side: rng.normal(size=(30, 4)) for side in ("subject", "object")}
    data = kg.Dataset.from_arrays(test=rng.integers(0, 30, (20, 3)) % [30, 2, 30], n_entities=30, n_relations=2)
    with pytest.raises(ScoreError, match="returned the same array for both sides, with different values"):
        kg.evaluate(OneBuffer(tables), data, progress=False)
    same = OneBuffer(dict.fromkeys(tables, tables["object"]))
    assert len(kg.evaluate(same, data, progress=False).table) == 40
