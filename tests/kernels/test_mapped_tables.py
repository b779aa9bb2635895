"""Tables that are mapped or streamed: counts of every storage, what is kept, and what travels to other processes."""

import os
import pickle

import numpy as np
import pytest
from grids import light, size
from kernel_cases import (
    DIFFERENT_COUNTERS,
    as_lists,
    brute_force,
    draw_places,
    exact_matrix,
    far_norms,
    gaussian,
    huge_queries,
    lattice,
    make_counter,
    mixed_norms,
    tiny,
)
from table_cases import STORAGES, stored

from kgeval import DataError
from kgeval.kernels import mapped_tables
from kgeval.kernels.arrays import largest_in_rows
from kgeval.kernels.backends import counter_bytes
from kgeval.kernels.mapped_tables import (
    MappedArray,
    StreamedTable,
    bfloat16,
    check_file,
    from_float16,
    packed,
    streamed,
    taken,
    unpacked,
)
from kgeval.kernels.numpy_kernels import NumpyCounter

INPUTS = (gaussian, lattice, mixed_norms, huge_queries, tiny, far_norms)


@pytest.fixture
def streams(monkeypatch):
    """No table is small enough to be copied."""
    monkeypatch.setattr(mapped_tables, "MAX_COPY", 0)


def fitting(storage, array):
    """Finite numbers, also in the dtype of the storage."""
    largest = {"float16": 6e4, "float64": np.inf}.get(storage, 3e38)
    return np.clip(array, -largest, largest)


@pytest.mark.parametrize("draw", light(INPUTS, 1), ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("storage", STORAGES)
@DIFFERENT_COUNTERS
@pytest.mark.light(18)
def test_counts_of_every_storage(geometry, multiplier, storage, draw, streams, tmp_path):
    """Equal to brute force over the numbers that the storage holds; the tables of the passes are not kept."""
    for d in (2, 8, 34)[-size(1, 3) :]:
        rng = np.random.default_rng([7, d])
        candidates, queries = draw(rng, 50, d)
        table, numbers = stored(storage, tmp_path, fitting(storage, candidates), f"table{d}")
        table = taken(table, np.arange(50)) if storage == "big-endian" else table
        places = draw_places(rng, 5, 50, 20)
        expected = brute_force(exact_matrix(geometry, queries, numbers), places)
        for block_size in (9, 64)[: size(1, 2)]:
            counter = make_counter(geometry, table, block_size, multiplier)
            assert as_lists(counter.count(queries, places)) == expected, (d, block_size)
            for one in counter.passes:
                for name, value in vars(one).items():
                    is_copy = isinstance(value, np.ndarray) and value.ndim > 1 and not np.shares_memory(value, table)
                    assert not is_copy or isinstance(table, StreamedTable), (type(one).__name__, name)


@pytest.mark.parametrize("geometry", ["dot", "l1", "l2", "modulus"])
def test_kept_and_streamed_passes_are_equal(geometry, monkeypatch):
    """Rows converted once, or for each tile: the same tiles, bit for bit, with the candidates in the same order."""
    rng = np.random.default_rng(3)
    candidates, queries = rng.normal(size=(40, 6)) * 10.0, rng.normal(size=(3, 6))
    places = draw_places(rng, 3, 40, 9)
    counts = []
    for limit in (1 << 20, 0):
        monkeypatch.setattr(mapped_tables, "MAX_COPY", limit)
        counter = NumpyCounter(geometry, candidates, 16)
        counts.append(as_lists(counter.count(queries, places)))
        screen = counter.of_pairs
        tile = screen.tile(screen.prepare(queries), None, slice(0, 16))
        if geometry != "l1":  # sorted only if it is kept
            counts[-1].append(tile.tolist())
    assert counts[0] == counts[1]


def test_rows_of_a_streamed_table(streams):
    """Slices, ids, single rows, missing rows, and the whole table; nothing is kept."""
    source = np.arange(12.0).reshape(6, 2)
    table = streamed(np.negative, source, ids=np.array([4, -1, 0, 5]))
    expected = np.array([[-8.0, -9.0], [np.nan, np.nan], [-0.0, -1.0], [-10.0, -11.0]])
    assert isinstance(table, StreamedTable)
    assert (table.shape, table.dtype, table.ndim, len(table), table.nbytes) == ((4, 2), np.float64, 2, 4, 64)
    np.testing.assert_array_equal(np.asarray(table), expected)
    np.testing.assert_array_equal(np.asarray(table, dtype=np.float32), expected.astype(np.float32))
    for rows in (slice(1, 3), slice(None, None, 2), np.array([3, 0, 3]), np.array([1]), 2, -1):
        np.testing.assert_array_equal(table[rows], expected[rows])
    np.testing.assert_array_equal(largest_in_rows(table), [9, np.nan, 1, 11])
    source[0] = 7.0
    np.testing.assert_array_equal(table[2], [-7.0, -7.0])
    assert repr(table) == "StreamedTable(shape=(4, 2), dtype=float64)"


def test_the_limit(monkeypatch):
    """A copy of exactly MAX_COPY bytes is kept."""
    monkeypatch.setattr(mapped_tables, "MAX_COPY", 96)
    source = np.arange(12.0).reshape(6, 2)
    assert isinstance(streamed(np.negative, source), np.ndarray)
    monkeypatch.setattr(mapped_tables, "MAX_COPY", 95)
    assert isinstance(streamed(np.negative, source), StreamedTable)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_every_number_of_16_bits():
    """All 65,536 patterns, NaN, infinities and subnormal numbers included, are those of numpy and of the definition."""
    patterns = np.arange(1 << 16, dtype=np.uint16)
    halves = patterns.view(np.float16)
    np.testing.assert_array_equal(from_float16(halves).view(np.uint32), halves.astype(np.float32).view(np.uint32))
    numbers = np.asarray(bfloat16(patterns)).astype(np.float64)
    for pattern in (*range(0, 1 << 16, 257), 0x7F80, 0xFF80, 0x0001, 0x8001):
        sign, exponent, fraction = pattern >> 15, pattern >> 7 & 255, pattern & 127
        expected = fraction * 2.0**-133 if exponent == 0 else (1 + fraction / 128) * 2.0 ** (exponent - 127)
        expected = (np.nan if fraction else np.inf) if exponent == 255 else expected
        np.testing.assert_equal(numbers[pattern], -expected if sign else expected)


@pytest.mark.parametrize("dtype", ["<u2", ">u2", "<i2", ">i2", "V2"])
def test_bits_in_any_16_bit_dtype(dtype):
    """-3 has the sign bit; a column of a wider table is read where it is."""
    table = np.array([[0x3F80, 7], [0xC040, 7]], np.uint16)
    stored = table.astype(dtype[0] + "u2") if dtype != "V2" else table
    column = stored.view(dtype)[:, :1]
    assert np.asarray(bfloat16(column)).tolist() == [[1.0], [-3.0]]
    assert np.shares_memory(bfloat16(column).sources[0], stored)


@pytest.mark.parametrize("values", [np.zeros((2, 2), np.int32), np.zeros((2, 2), np.uint8), [[1.0]], np.uint16(3)])
def test_what_is_no_bfloat16(values):
    with pytest.raises(DataError, match="^bfloat16 numbers must be a uint16 or int16 array of their bits; got dtype"):
        bfloat16(values)


@pytest.mark.parametrize("storage", [name for name in STORAGES if name != "bfloat16"])
def test_a_mapped_array_travels_as_a_path(storage, tmp_path):
    """Views too: other rows, other columns, every second row; arrays in memory and writable maps travel as they are."""
    table, numbers = stored(storage, tmp_path, np.random.default_rng(0).normal(size=(30, 4)))
    for view, expected in ((table, numbers), (table[5:20:2, 1:3], numbers[5:20:2, 1:3]), (table.T, numbers.T)):
        place = pickle.loads(pickle.dumps(packed(view)))
        assert isinstance(place, MappedArray)
        again = unpacked(place)
        np.testing.assert_array_equal(again, expected)
        assert isinstance(again.base.base, np.memmap) or isinstance(again.base, np.memmap)
    copy = np.array(table)
    assert packed(copy) is copy
    for mode in ("r+", "c"):
        other = np.memmap(tmp_path / "other", np.float32, "w+", shape=(3, 2))
        other.flush()
        writable = np.memmap(tmp_path / "other", np.float32, mode, shape=(3, 2))
        assert packed(writable) is writable


def test_a_streamed_table_travels_as_a_path(streams, tmp_path):
    """The pickle is as small for a larger table."""
    sizes = []
    for n in (100, 10_000):
        table = bfloat16(np.load(_saved(tmp_path / f"{n}.npy", np.full((n, 8), 0x3F80, np.uint16)), mmap_mode="r"))
        content = pickle.dumps(table)
        np.testing.assert_array_equal(np.asarray(pickle.loads(content)), np.ones((n, 8)))
        sizes.append(len(content))
    assert max(sizes) < min(sizes) + 10 < 1500


def _saved(path, array):
    np.save(path, array)
    return path


def test_another_file_at_the_path(tmp_path):
    """Missing, shorter, or with other values: said, with the remedy."""
    path = _saved(tmp_path / "e.npy", np.arange(40.0).reshape(20, 2))
    place = packed(np.load(path, mmap_mode="r"))
    _saved(path, np.arange(40.0).reshape(20, 2) + 1)
    remedy = "Put the same file at this path on each machine, or pass load= to the executor"
    with pytest.raises(DataError) as caught:
        unpacked(place)
    assert str(caught.value) == f"{path}: contains other values than the table of the model being ranked. {remedy}"
    path.write_bytes(b"short")
    with pytest.raises(DataError, match="a table of the model cannot be mapped here: .*load= to the executor$"):
        unpacked(place)
    path.unlink()
    with pytest.raises(DataError, match="a table of the model cannot be mapped here: No such file or directory. Put"):
        unpacked(place)


def test_each_row_of_another_file_counts(tmp_path):
    """A file that was replaced, with another value in any one row, is refused."""
    numbers = np.random.default_rng(0).normal(size=(300, 2))
    place = packed(np.load(_saved(tmp_path / "e.npy", numbers), mmap_mode="r"))
    for row in (0, 1, 151, 299):
        other = numbers.copy()
        other[row, 1] += 1
        _saved(tmp_path / "other.npy", other).replace(tmp_path / "e.npy")
        with pytest.raises(DataError, match="contains other values than the table of the model being ranked"):
            unpacked(place)
    _saved(tmp_path / "e.npy", numbers)
    assert unpacked(place).tolist() == numbers.tolist()


def test_a_file_that_became_shorter(streams, tmp_path):
    """Said, instead of a signal that ends Python; a file that was replaced can still be read."""
    numbers = np.ones((3000, 2), np.float16)
    table = np.load(_saved(tmp_path / "e.npy", numbers), mmap_mode="r")
    parts = (table, table[5:, :1], streamed(from_float16, table[::2]), taken(table, np.arange(9)))
    other = _saved(tmp_path / "other.npy", numbers[:2])
    kept = np.load(_saved(tmp_path / "kept.npy", numbers), mmap_mode="r")
    for part in (*parts, kept, numbers, None):
        check_file(part)
    other.replace(tmp_path / "kept.npy")
    check_file(kept)
    os.truncate(tmp_path / "e.npy", 1000)
    for part in parts:
        with pytest.raises(
            DataError, match="e.npy: has become shorter since it was mapped: 1,000 bytes. Load it again; "
        ):
            check_file(part)


@pytest.mark.parametrize("geometry", ["dot", "l1", "l2", "modulus"])
def test_the_estimate_leaves_out_what_is_streamed(geometry, monkeypatch):
    """Per candidate, some numbers remain: order (its own inverse), norms, sizes, errors and squares."""
    candidates, sizes = np.zeros((100_000, 64)), {"block_size": 8, "batch_size": 1}
    kept = counter_bytes(geometry, candidates, **sizes)
    monkeypatch.setattr(mapped_tables, "MAX_COPY", 1 << 20)
    least = counter_bytes(geometry, candidates, **sizes)
    assert 100_000 * 2 * 8 <= least <= 100_000 * 5 * 8
    assert kept - least >= 100_000 * 64
    mapped = streamed(np.negative, candidates)
    assert counter_bytes(geometry, mapped, **sizes) == least
