"""Free memory on made-up machines, estimates against what is allocated, and counters that run out of memory."""

import sys
import tracemalloc

import numpy as np
import pytest
from kernel_cases import DIFFERENT_COUNTERS, PLAIN_GEOMETRIES, as_lists, brute_force, draw_places, exact_matrix

from kgeval.errors import OutOfMemory, ScoreError
from kgeval.kernels import backends, memory, numpy_kernels, torch_kernels, torch_screens
from kgeval.kernels.backends import check_counter_memory, counter_bytes, make_counter, tile_shape
from kgeval.kernels.compiled import SWITCH
from kgeval.kernels.counts import Places
from kgeval.kernels.memory import check_fits, check_row_memory, device_free_bytes, free_bytes, is_out_of_memory
from kgeval.kernels.rows import row_counter
from kgeval.kernels.torch_kernels import TorchCounter
from kgeval.kernels.torch_screens import for_parts

MIB = 1 << 20
UNLIMITED_V1 = 9223372036854771712  # what version 1 writes for no limit


@pytest.fixture(autouse=True)
def numpy_passes(monkeypatch):
    """The numbers of these tests are those of numpy's passes; the fixture `loops` asks for both."""
    monkeypatch.setenv(SWITCH, "0")


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="tensors need torch")


@pytest.fixture
def machine(tmp_path):
    """A function that writes files of /proc and /sys, and returns the folder that holds both."""

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(str(text))
        return tmp_path

    return write


MEMINFO = {
    "proc/meminfo": "MemTotal:       16000000 kB\nMemFree:    100 kB\nMemAvailable:    8000 kB\nSwapFree: 9 kB\n"
}


def group(folder, limit, use, cache=0, version=2):
    """The files of a control group; a third of `cache` is active: files that were read more than once."""
    names, prefix = ("memory.max", "memory.current"), ""
    if version == 1:
        names, prefix = ("memory.limit_in_bytes", "memory.usage_in_bytes"), "total_"
    active = cache // 3
    stat = f"anon 5\n{prefix}inactive_file {cache - active}\n{prefix}active_file {active}\nactive_anon 70000000\n"
    texts = (f"{limit}\n", f"{use}\n", stat)
    return {f"sys/fs/cgroup{folder}/{name}": text for name, text in zip((*names, "memory.stat"), texts)}


def test_the_available_memory_of_the_machine(machine):
    assert free_bytes(machine(**MEMINFO)) == 8000 * 1024


def test_an_unknown_machine(machine, tmp_path):
    assert free_bytes(tmp_path) is None
    assert free_bytes(machine(**{"proc/meminfo": "MemTotal: 5 kB\n"})) is None


@pytest.mark.parametrize(("own", "parent", "wanted"), [(900, 5000, 620), (5000, 900, 590), ("max", "max", 8000 * 1024)])
def test_the_limits_of_a_group_and_of_its_parents(machine, own, parent, wanted):
    """Own group: 300 in use, 20 of them file pages. Parent: 310 in use."""
    files = {**group("/a/b", own, 300, 20), **group("/a", parent, 310), "proc/self/cgroup": "0::/a/b\n"}
    assert free_bytes(machine(**MEMINFO, **files)) == wanted


def test_a_container_sees_its_own_group_at_the_root(machine):
    files = {**group("", 5000, 1000), "proc/self/cgroup": "0::/\n"}
    assert free_bytes(machine(**MEMINFO, **files)) == 4000


@pytest.mark.parametrize("path", ["/docker/f00", "/../../host"])
def test_a_container_whose_path_is_that_of_the_host(machine, path):
    files = {**group("/memory", 5000, 1000, 300, version=1), "proc/self/cgroup": f"4:memory:{path}\n0::/\n"}
    assert free_bytes(machine(**MEMINFO, **files)) == 4300


def test_groups_of_version_1(machine):
    files = {
        **group("/memory/slurm/job", UNLIMITED_V1, 50, version=1),
        **group("/memory/slurm", 7000, 3000, 10, version=1),
        "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:hugetlb,memory:/slurm/job\n1:name=systemd:/y\n",
    }
    assert free_bytes(machine(**MEMINFO, **files)) == 4010


def test_a_full_group_has_no_memory_left(machine):
    files = {**group("/a", 5000, 5600, 100), "proc/self/cgroup": "0::/a\n"}
    assert free_bytes(machine(**MEMINFO, **files)) == 0


def test_files_that_hold_no_number(machine):
    files = {**group("/a", "nonsense", 5600), "proc/self/cgroup": "0::/a\nno colons\n\n"}
    assert free_bytes(machine(**MEMINFO, **files)) == 8000 * 1024


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no module resource")
def test_the_limit_of_the_address_space(machine, monkeypatch):
    import resource

    root = machine(**MEMINFO, **{"proc/self/statm": "100 50 20 1 0 30 0\n"})
    monkeypatch.setattr(resource, "getrlimit", lambda which: (5 * MIB, 9 * MIB))
    assert free_bytes(root) == 5 * MIB - 100 * resource.getpagesize()
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert free_bytes(root) == 8000 * 1024


def test_a_host_device_has_the_memory_of_the_host(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 77)
    assert device_free_bytes("cpu") == 77


def test_the_cache_of_torch_counts_as_free_on_a_gpu(torch, monkeypatch):
    sizes = {"mem_get_info": (100, 900), "memory_reserved": 60, "memory_allocated": 45}
    for name, size in sizes.items():
        monkeypatch.setattr(torch.cuda, name, lambda device, size=size: size)
    assert device_free_bytes("cuda:0") == 115


def test_a_need_that_does_not_fit():
    what, remedy = "a batch of 4,096 queries x 5,000,000 candidates", "Set batch_size=330 or less"
    with pytest.raises(OutOfMemory) as caught:
        check_fits(4096 * 5_000_000 * 8, what, remedy, free=int(12.3 * 2**30))
    assert str(caught.value) == f"{what} needs 153 GiB of memory; 12.3 GiB are free. {remedy}"
    assert isinstance(caught.value, MemoryError)
    assert isinstance(caught.value, ScoreError)
    check_fits(100, what, remedy, free=100)


def test_nothing_is_refused_where_the_free_memory_is_unknown(monkeypatch):
    for module in (memory, backends):
        monkeypatch.setattr(module, "free_bytes", lambda: None)
    check_fits(1 << 60, "a batch", "Set batch_size=1")
    check_row_memory(1 << 20, 1 << 20)
    assert check_counter_memory("dot", np.ones((10, 8))) == counter_bytes("dot", np.ones((10, 8)))


def test_rows_that_do_not_fit(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 1000 * 8 * 30)
    check_row_memory(30, 1000)
    message = "a batch of 31 queries x 1,000 candidates needs 242 KiB of memory; 234 KiB are free. Set batch_size=30000"
    with pytest.raises(OutOfMemory, match=message):
        check_row_memory(31, 1000)
    with pytest.raises(OutOfMemory, match="7.63 MiB of memory; 234 KiB are free. Rank among fewer candidates"):
        check_row_memory(1, 1_000_000)


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (MemoryError("no room"), True),
        (OutOfMemory("too large"), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_errors_that_say_that_memory_ran_out(error, wanted):
    assert is_out_of_memory(error) is wanted
    wrapped = ScoreError("the scorer raised an error")
    wrapped.__cause__ = error
    assert is_out_of_memory(wrapped) is wanted


# Estimates


def traced_bytes(work):
    """Run `work`, and return its result and the memory that it holds afterwards."""
    tracemalloc.start()
    try:
        result = work()
        return result, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("geometry", PLAIN_GEOMETRIES)
def test_the_estimate_of_copies_is_what_the_counter_holds(geometry, dtype):
    """4,000 candidates, of which 1,024 are the sample; the batches are made small."""
    candidates = np.random.default_rng(0).normal(size=(4000, 32)).astype(dtype)
    _, held = traced_bytes(lambda: make_counter(geometry, candidates, "numpy", block_size=8))
    estimated = counter_bytes(geometry, candidates, block_size=8, batch_size=1)
    assert held <= estimated + 8192
    assert estimated <= 1.03 * held + 8192


def test_the_estimate_of_the_copies_for_8_bit_products(torch, monkeypatch):
    monkeypatch.setattr(backends, "multiplies_bytes", lambda: True)  # also where the product is slow
    candidates = np.random.default_rng(0).normal(size=(4000, 32)).astype(np.float32)
    _, held = traced_bytes(lambda: make_counter("dot", candidates, "cpu", block_size=1000))
    plan = backends._plan("dot", candidates, "cpu", 1000, 1, 1)
    assert backends._copied_bytes("dot", candidates[:1024], candidates, plan) == pytest.approx(held, rel=0.03)


@pytest.mark.thorough
@pytest.mark.parametrize("geometry", PLAIN_GEOMETRIES)
def test_the_estimate_is_near_the_peak_of_a_count(geometry, loops):
    """100,000 candidates; the peak depends on the vectors, the estimate does not."""
    rng = np.random.default_rng(0)
    candidates = rng.standard_normal((100_000, 64), dtype=np.float32)
    b = make_counter(geometry, candidates[:2000], "numpy").batch_size
    places = Places(np.arange(b), np.arange(b), np.zeros(0, np.int64), np.zeros(0, np.int64))
    queries = rng.normal(size=(b, 64))
    make_counter(geometry, candidates[:2000], "numpy").count(queries, places)  # compiles
    tracemalloc.start()
    try:
        make_counter(geometry, candidates, "numpy").count(queries, places)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.7 < counter_bytes(geometry, candidates) / peak < 2


def test_threads_and_sizes_count():
    """The copies are needed once, the tiles and queries once for each thread."""
    candidates = np.ones((1000, 16), dtype=np.float32)
    one = counter_bytes("dot", candidates, block_size=80, batch_size=5)
    tiles = 5 * (80 * numpy_kernels.CELL_BYTES + 16 * numpy_kernels.QUERY_BYTES)
    assert counter_bytes("dot", candidates, block_size=80, batch_size=5, threads=3) == one + 2 * tiles


def test_copies_on_a_device(torch, monkeypatch):
    """float16 candidates come as float32, and as float16 for the screen; numpy's are moved as well."""
    monkeypatch.setattr(backends, "check_device", lambda device: device and str(device))
    candidates = np.ones((2000, 32), dtype=np.float16)
    screen = 2000 * (32 * 2 + 3 * 8)  # rounded vectors; order, norms and errors
    queries = 4096 * 32 * numpy_kernels.QUERY_BYTES
    wanted = screen + 2000 * 32 * (2 + 4) + queries
    assert counter_bytes("dot", candidates, "cuda") == wanted
    assert counter_bytes("dot", candidates.astype(np.float32), "cuda") == screen + 2000 * 32 * 4 + queries


def free(monkeypatch, n_bytes):
    """Let `n_bytes` be free, for numpy's counters."""
    monkeypatch.setattr(backends, "free_bytes", lambda: n_bytes)


def test_the_message_names_what_fits(monkeypatch):
    """Each named setting fits alone, and one more does not."""
    candidates = np.ones((100_000, 64))
    copied = counter_bytes("l2", candidates, block_size=8, batch_size=1) - 8 * numpy_kernels.CELL_BYTES - 64 * 32
    sizes = {"block_size": 80_000, "batch_size": 1000, "threads": 8}
    free(monkeypatch, copied + (1 << 30))
    with pytest.raises(OutOfMemory) as caught:
        check_counter_memory("l2", candidates, **sizes)
    message = str(caught.value)
    assert message == (
        "ranking among 100,000 candidates of 64 dimensions (l2, float64) needs 6.37 GiB of memory; 1.03 GiB are free. "
        "Set executor=kgeval.executors.Threads(1) or batch_size=7850000, or a smaller value"
    )
    tile = lambda n_pairs: dict(zip(("batch_size", "block_size"), tile_shape("l2", candidates, None, n_pairs)))  # noqa: E731
    for fitting, larger in (({"threads": 1}, {"threads": 2}), (tile(7_850_000), tile(8_600_000))):
        check_counter_memory("l2", candidates, **{**sizes, **fitting})
        with pytest.raises(OutOfMemory):
            check_counter_memory("l2", candidates, **{**sizes, **larger})


def test_the_message_names_a_part_of_a_row(monkeypatch):
    """Not even one query with a block of candidates fits, for each of 8 threads."""
    candidates = np.ones((100_000, 64))
    copied = counter_bytes("l2", candidates, block_size=8, batch_size=1) - 8 * numpy_kernels.CELL_BYTES - 64 * 32
    n_columns = 900
    free(monkeypatch, copied + 8 * (n_columns * numpy_kernels.CELL_BYTES + 64 * numpy_kernels.QUERY_BYTES))
    with pytest.raises(OutOfMemory, match=f"Set batch_size={n_columns}, or a smaller value"):
        check_counter_memory("l2", candidates, block_size=80_000, batch_size=1, threads=8)
    assert tile_shape("l2", candidates, None, n_columns) == (1, n_columns)
    check_counter_memory("l2", candidates, block_size=n_columns, batch_size=1, threads=8)


@pytest.mark.parametrize("geometry", PLAIN_GEOMETRIES)
def test_a_tile_has_at_most_the_given_pairs(geometry):
    """Never more, nearly as many as a shape allows, never wider than the candidates, and as by default if it can be."""
    rows, columns = backends.GEOMETRIES[geometry].tile
    assert tile_shape(geometry, np.ones((10**5, 2)), "numpy", rows * columns) == (rows, columns)
    for n in (1, 7, 5000, 10**5):
        for n_pairs in (1, 6, 8, 4079, 4081, 10**5, 10**6, 10**8):
            n_queries, n_candidates = tile_shape(geometry, np.ones((n, 2)), "numpy", n_pairs)
            assert n_queries >= 1
            assert 1 <= n_candidates <= n
            assert n_pairs / 2 <= n_queries * n_candidates <= n_pairs


def test_the_message_names_the_threads(monkeypatch):
    candidates = np.ones((1000, 16))
    free(monkeypatch, counter_bytes("dot", candidates, block_size=1000, batch_size=64, threads=2))
    with pytest.raises(OutOfMemory, match=r"Set executor=kgeval.executors.Threads\(2\) or batch_size=42000, or a sm"):
        check_counter_memory("dot", candidates, block_size=1000, batch_size=64, threads=3)


def test_the_message_if_the_copies_alone_do_not_fit(monkeypatch):
    """float64 candidates need a copy in float32, which float32 candidates do not; modulus always copies."""
    candidates = np.ones((50_000, 64))
    free(monkeypatch, 5_000_000)
    with pytest.raises(
        OutOfMemory, match=r"\(dot, float64\) needs .* 4.77 MiB are free. Store the parameters as float"
    ):
        check_counter_memory("dot", candidates)
    free(monkeypatch, 1000)
    with pytest.raises(
        OutOfMemory, match=r"\(dot, float32\) .* Rank among fewer candidates, or use a machine with mor"
    ):
        check_counter_memory("dot", candidates.astype(np.float32))


def test_the_message_for_a_device(torch, monkeypatch):
    monkeypatch.setattr(backends, "check_device", lambda device: device and str(device))
    monkeypatch.setattr(backends, "device_free_bytes", lambda device: 1 << 20)
    with pytest.raises(OutOfMemory, match=r"on cuda needs 24.6 MiB of memory; 1 MiB are free. Rank .* device='cpu'"):
        check_counter_memory("dot", np.ones((100_000, 32), dtype=np.float32), "cuda")
    with pytest.raises(OutOfMemory, match="on cuda needs .* Set batch_size=\\d+, or a smaller value"):
        check_counter_memory("dot", np.ones((100, 32), dtype=np.float32), "cuda")


@pytest.mark.parametrize("geometry", PLAIN_GEOMETRIES)
def test_tiles_take_an_eighth_of_the_free_memory(geometry, monkeypatch):
    """Never more, except for 64 columns; never wider than with much memory; a given width stays."""
    candidates = np.random.default_rng(3).normal(size=(9000, 6))
    width = make_counter(geometry, candidates, "numpy").block_size
    assert width == (1296 if geometry in ("dot", "l2") else 3008)
    widths, rows = [], backends.GEOMETRIES[geometry].tile[0]
    for n_bytes in (1 << 40, 200 * MIB, 20 * MIB, 0):
        free(monkeypatch, n_bytes)
        counter = make_counter(geometry, candidates, "numpy", threads=4)
        widths.append(counter.block_size)
        assert counter.block_size <= 64 or 8 * 4 * rows * counter.block_size * numpy_kernels.CELL_BYTES <= n_bytes
        assert make_counter(geometry, candidates, "numpy", 2000, threads=4).block_size == 1808
    assert widths[0] == width
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 64


@DIFFERENT_COUNTERS
def test_little_memory_changes_no_count(geometry, multiplier, monkeypatch):
    if multiplier == "torch":
        pytest.importorskip("torch", reason="byte products need torch")
    monkeypatch.setattr(backends, "_MIN_SHORTS", 0 if multiplier == "numba" else 1000)
    rng = np.random.default_rng(4)
    candidates, queries, places = rng.normal(size=(300, 8)), rng.normal(size=(5, 8)), draw_places(rng, 5, 300, 20)
    free(monkeypatch, 0)
    counter = make_counter(geometry, candidates, "cpu" if multiplier == "torch" else "numpy")
    assert counter.block_size == 60  # 5 tiles
    assert as_lists(counter.count(queries, places)) == brute_force(exact_matrix(geometry, queries, candidates), places)


# Running out of memory


def test_a_counter_counts_right_after_it_ran_out_of_memory(monkeypatch):
    """The host's memory runs out within a batch; its halves, one after another, have the counts of the whole."""
    rng = np.random.default_rng(5)
    candidates, queries, places = rng.normal(size=(300, 8)), rng.normal(size=(6, 8)), draw_places(rng, 6, 300, 20)
    counter = make_counter("dot", candidates, "numpy", 100)
    real = counter.passes[0].tile

    def tile(prepared, rows, block):
        if len(prepared.vectors) > 3 and block.start == 200:
            raise MemoryError("Unable to allocate 2. GiB for an array")
        return real(prepared, rows, block)

    monkeypatch.setattr(counter.passes[0], "tile", tile)
    with pytest.raises(MemoryError):
        counter.count(queries, places)
    halves = []
    for rows in (slice(0, 3), slice(3, 6)):
        of_positives = (places.rows >= rows.start) & (places.rows < rows.stop)
        of_known = (places.known_rows >= rows.start) & (places.known_rows < rows.stop)
        part = Places(
            places.rows[of_positives] - rows.start,
            places.answers[of_positives],
            places.known_rows[of_known] - rows.start,
            places.known[of_known],
        )
        halves.append(as_lists(counter.count(queries[rows], part)))
    joined = [first + second for first, second in zip(*halves)]
    assert joined == brute_force(exact_matrix("dot", queries, candidates), places)


def refuse(calls, size, limit):
    """Note a size; raise CUDA's error if it exceeds a limit."""
    import torch

    calls.append(size)
    if size > limit:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nmore")


def test_parts_are_halved_and_stay_halved(torch, monkeypatch):
    calls, emptied = [], []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append(len(calls)))

    def work(part):
        refuse(calls, part.stop - part.start, 12)
        done.extend(range(part.start, part.stop))

    done = []
    for_parts(70, 40, work)
    assert done == list(range(70))
    assert calls == [40, 20, 10, 10, 10, 10, 10, 10, 10]
    assert emptied == [1, 2]


def test_parts_are_not_halved_for_ever(torch):
    """A part of 1 of 256 of the first size, or of 1, is not halved; no other error is repeated."""
    for step, wanted in ((1 << 12, [4096 >> i for i in range(9)]), (5, [5, 2, 1])):
        calls = []
        with pytest.raises(torch.cuda.OutOfMemoryError):
            for_parts(1 << 14, step, lambda part, calls=calls: refuse(calls, part.stop - part.start, 0))
        assert calls == wanted

    def fail(part):
        calls.append(part)
        raise RuntimeError("shapes do not match")

    calls = []
    with pytest.raises(RuntimeError, match="shapes do not match"):
        for_parts(10, 5, fail)
    assert len(calls) == 1


def cuda_case(geometry, seed=9):
    """Queries with candidates, two thirds of them copies of one, which makes crowds, and brute force's counts."""
    import torch

    rng = np.random.default_rng(seed)
    candidates, queries = rng.normal(size=(150, 6)), rng.normal(size=(6, 6))
    candidates[50:] = candidates[50]
    places = draw_places(rng, 6, 150, 24)
    return (
        queries,
        torch.from_numpy(candidates),
        places,
        brute_force(exact_matrix(geometry, queries, candidates), places),
    )


@pytest.mark.parametrize("geometry", PLAIN_GEOMETRIES)
def test_every_step_of_a_count_may_run_out_of_memory_once(geometry, torch, monkeypatch):
    """Each function that allocates fails once, after it has done its work: nothing may count twice."""
    queries, candidates, places, expected = cuda_case(geometry)
    names = ("_count_known", "_count_cells", "_rows_of", "_count_true", "_outwards", "exact_tensor_pairs", "_on_device")
    for name in names:
        for at in (0, 2):
            counter = TorchCounter(geometry, candidates)
            calls, real = [], getattr(torch_kernels, name)

            def fail_once(*args, calls=calls, real=real, at=at):
                result = real(*args)
                calls.append(0)
                refuse([], len(calls) == at + 1, 0)
                return result

            with monkeypatch.context() as patch:
                patch.setattr(torch_kernels, name, fail_once)
                assert as_lists(counter.count(torch.from_numpy(queries), places)) == expected, (name, at)
            assert calls, name


@pytest.mark.parametrize("geometry", PLAIN_GEOMETRIES)
def test_pairs_are_scored_in_smaller_parts(geometry, torch, monkeypatch):
    """Also the pairs of a crowd; the width of the blocks does not change."""
    queries, candidates, places, expected = cuda_case(geometry)
    counter, calls, real = TorchCounter(geometry, candidates), [], torch_screens.exact_tensor_scores

    def narrow(name, q, e):
        refuse(calls, len(q), 50)
        return real(name, q, e)

    monkeypatch.setattr(torch_screens, "exact_tensor_scores", narrow)
    assert as_lists(counter.count(torch.from_numpy(queries), places)) == expected
    assert max(calls) > 100
    assert counter.block_size is None


@pytest.mark.parametrize("geometry", PLAIN_GEOMETRIES)
def test_the_screen_is_prepared_in_smaller_parts(geometry, torch, monkeypatch):
    queries, candidates, places, expected = cuda_case(geometry)
    kind = type(TorchCounter(geometry, candidates).screen)
    real, calls = kind._fill, []

    def fill(screen, part):
        real(screen, part)
        refuse(calls, part.stop - part.start, 40)

    monkeypatch.setattr(kind, "_fill", fill)
    monkeypatch.setattr(torch_screens, "_BYTES_CPU", 1 << 15)
    counter = TorchCounter(geometry, candidates)
    assert max(calls) > 40
    assert min(calls) <= 40
    assert as_lists(counter.count(torch.from_numpy(queries), places)) == expected


def test_a_preparation_is_tried_twice(torch, monkeypatch):
    queries, candidates, places, expected = cuda_case("dot")
    calls, real = [], torch_kernels.make_screen

    def make(*args):
        refuse(calls, len(calls) + 1 <= n_failures, 0)
        return real(*args)

    monkeypatch.setattr(torch_kernels, "make_screen", make)
    monkeypatch.setattr(torch_kernels, "device_free_bytes", lambda device: 3 << 30)
    n_failures = 1
    assert as_lists(TorchCounter("dot", candidates).count(torch.from_numpy(queries), places)) == expected
    n_failures = 9
    calls.clear()
    with pytest.raises(OutOfMemory) as caught:
        TorchCounter("dot", candidates)
    assert str(caught.value) == (
        "not enough memory on cpu for 150 candidates; free memory on the device, or use device='cpu' (3 GiB are free; "
        "CUDA out of memory. Tried to allocate 2.00 GiB)"
    )
    assert len(calls) == 2


def test_queries_that_do_not_fit(torch, monkeypatch):
    queries, candidates, places, _ = cuda_case("l2")
    counter = TorchCounter("l2", candidates)
    monkeypatch.setattr(torch_kernels, "device_free_bytes", lambda device: None)
    monkeypatch.setattr(counter.screen, "prepare", lambda *args: refuse([], 1, 0))
    message = (
        r"not enough memory on cpu for 6 queries; set a smaller batch_size, or free .* \(CUDA out of memory. Tried"
    )
    with pytest.raises(OutOfMemory, match=message):
        counter.count(torch.from_numpy(queries), places)
    monkeypatch.setattr(counter.screen, "prepare", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        counter.count(torch.from_numpy(queries), places)


def test_no_thread_widens_the_block_of_another(torch, monkeypatch):
    """A count that began with a wide block runs out of memory after another count has found a narrow one."""
    queries, candidates, places, expected = cuda_case("dot")
    counter, real, calls = TorchCounter("dot", candidates), TorchCounter._count_block, []

    def count_block(counter, job, block):
        counter.block_size = counter.block_size or 7  # another thread's
        refuse(calls, block.stop - block.start, 100)
        return real(counter, job, block)

    monkeypatch.setattr(TorchCounter, "_count_block", count_block)
    assert as_lists(counter.count(torch.from_numpy(queries), places)) == expected
    assert calls == [150, 75, 75]
    assert counter.block_size == 7


def test_a_count_that_failed_leaves_no_narrow_block(torch, monkeypatch):
    """Not even one candidate fits: when memory is free again, blocks are as wide as before."""
    queries, candidates, places, expected = cuda_case("dot")
    counter = TorchCounter("dot", candidates, 60)
    with monkeypatch.context() as patch:
        patch.setattr(TorchCounter, "_count_block", lambda *args: refuse([], 1, 0))
        with pytest.raises(OutOfMemory, match="even against one candidate at a time"):
            counter.count(torch.from_numpy(queries), places)
    assert counter.block_size == 60
    assert as_lists(counter.count(torch.from_numpy(queries), places)) == expected


def test_rows_of_a_scorer_are_compared_in_smaller_parts(torch, monkeypatch):
    rng = np.random.default_rng(11)
    scores, places = torch.from_numpy(rng.integers(0, 9, (6, 50))), draw_places(rng, 6, 50, 24)
    calls, real = [], torch_kernels._rows_of

    def rows_of(matrix, rows):
        cells = real(matrix, rows)
        refuse(calls, len(rows), 5)
        return cells

    monkeypatch.setattr(torch_kernels, "_rows_of", rows_of)
    assert as_lists(row_counter(scores)(scores, places)) == brute_force(scores.numpy(), places)
    assert calls[:3] == [24, 12, 6]
    assert max(calls[3:]) == 3
    monkeypatch.setattr(torch_kernels, "_rows_of", lambda *args: refuse([], 1, 0))
    with pytest.raises(
        OutOfMemory, match=r"not enough memory on cpu for scores of shape \(6, 50\); set a smaller batch"
    ):
        row_counter(scores)(scores, places)


def test_a_default_block_takes_an_eighth_of_a_gpu(torch, monkeypatch):
    class OnGpu:
        is_cuda = True
        device = torch.device("cpu")

        def __len__(self):
            return 4096

    counter = TorchCounter("dot", torch.ones(5, 2))
    job = type("Job", (), {"queries": OnGpu()})()
    for n_bytes, wanted in ((None, 256), (1 << 40, 256), (80 * MIB, 256)):
        monkeypatch.setattr(torch_kernels, "device_free_bytes", lambda device, n_bytes=n_bytes: n_bytes)
        assert counter._width(job) == wanted
    monkeypatch.setattr(torch_screens, "_BYTES_CPU", 1 << 28)
    for n_bytes, wanted in ((None, 16384), (1 << 40, 16384), (1 << 30, 8192), (80 * MIB, 640), (0, 256)):
        monkeypatch.setattr(torch_kernels, "device_free_bytes", lambda device, n_bytes=n_bytes: n_bytes)
        assert counter._width(job) == wanted
