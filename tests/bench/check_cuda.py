"""Counts on a GPU: equal to numpy's, also while the GPU's memory is nearly full.

    python tests/bench/check_cuda.py

Checks, one line each, on the first CUDA device:

- counts for every geometry, for float64, float32, float16 and bfloat16 parameters, with and without many ties;
- rows of scores that are tensors on the GPU;
- the estimate of `counter_bytes` against torch's own peak;
- counts while another tensor takes nearly all of the memory: equal, after at least one halving;
- a GPU with no memory left: an error that says so, and counts again as soon as memory is free.

Exits with 1 if a count differs or a check fails. Takes less than a minute.
"""

import contextlib
import gc
import sys
import time

import numpy as np
import torch

from kgeval.errors import OutOfMemory
from kgeval.kernels import torch_kernels
from kgeval.kernels.backends import counter_bytes, make_counter
from kgeval.kernels.counts import Counts, Places
from kgeval.kernels.memory import size_text
from kgeval.kernels.rows import row_counter

GEOMETRIES = ("dot", "l1", "l2", "modulus")
DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
failures = []


def report(what, is_right, detail=""):
    """Print a line, and keep what failed."""
    print(f"{'ok  ' if is_right else 'FAIL'} {what}{': ' if detail else ''}{detail}", flush=True)
    if not is_right:
        failures.append(what)


def draw(rng, n, d, n_queries, has_ties):
    """Candidates and queries (float32), and places of positives and known answers."""
    candidates, queries = rng.standard_normal((n, d), np.float32), rng.standard_normal((n_queries, d), np.float32)
    if has_ties:
        candidates, queries = np.rint(candidates), np.rint(queries)
        candidates[n // 2 :] = candidates[0]
        candidates[:, 4:] = queries[:, 4:] = 0
    rows = np.sort(np.append(np.arange(n_queries), rng.integers(0, n_queries, n_queries)))
    cells = np.unique(rng.integers(0, n_queries, 5 * n_queries) * n + rng.integers(0, n, 5 * n_queries))
    return candidates, queries.astype(np.float64), Places(rows, rng.integers(0, n, len(rows)), cells // n, cells % n)


def are_equal(counts, expected):
    """Tell whether two results are equal in every number."""
    return all(np.array_equal(getattr(counts, name), getattr(expected, name)) for name in Counts.__dataclass_fields__)


def clear():
    """Give all memory that torch caches back to the GPU."""
    gc.collect()
    torch.cuda.empty_cache()


def fill(n_left):
    """Return a tensor that leaves about `n_left` bytes of the GPU's memory."""
    clear()
    free, _ = torch.cuda.mem_get_info()
    n_bytes = max(0, free - n_left)
    while True:
        try:
            return torch.empty(n_bytes, dtype=torch.uint8, device="cuda")
        except torch.cuda.OutOfMemoryError:  # noqa: PERF203 - the last few megabytes are not given out in one piece
            n_bytes -= 1 << 25


def check_counts(rng):
    """Counts of every geometry and dtype against numpy's, of the same rounded parameters."""
    for geometry in GEOMETRIES:
        for has_ties in (False, True):
            candidates, queries, places = draw(rng, 3000, 32, 200, has_ties)
            for dtype in DTYPES:
                tensor = torch.from_numpy(candidates).to(dtype)
                expected = make_counter(geometry, tensor.double().numpy(), "numpy").count(queries, places)
                counts = make_counter(geometry, tensor.cuda(), None).count(torch.from_numpy(queries).cuda(), places)
                report(f"{geometry} {str(dtype)[6:]}{' ties' if has_ties else ''}", are_equal(counts, expected))
    scores = rng.integers(0, 50, (200, 3000)).astype(np.float32)
    counts = row_counter(torch.from_numpy(scores))(torch.from_numpy(scores).cuda(), places)
    report("rows of scores", are_equal(counts, row_counter(scores)(scores, places)))


def check_estimates(rng):
    """`counter_bytes` against the most memory that torch held while preparing (and, for information, counting)."""
    for geometry in GEOMETRIES:
        candidates, queries, places = draw(rng, 500_000, 128, 1024, False)
        clear()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        counter = make_counter(geometry, candidates, "cuda")
        held = torch.cuda.memory_allocated() - before
        counter.count(queries, places)
        peak = torch.cuda.max_memory_allocated() - before
        estimate = counter_bytes(geometry, candidates, "cuda", batch_size=len(queries))
        texts = [size_text(size) for size in (estimate, held, peak)]
        report(f"estimate {geometry}", 0.7 < estimate / held < 1.5, "{} estimated, {} held, {} peak".format(*texts))
        del counter


def check_little_memory(rng):
    """Counts while little memory is left: equal to numpy's; the blocks or the parts are halved."""
    halvings = []
    half_of, empty_cache = torch_kernels._half_of, torch.cuda.empty_cache
    torch_kernels._half_of = lambda *args: [halvings.append("block"), half_of(*args)][1]
    torch.cuda.empty_cache = lambda: [halvings.append("cache"), empty_cache()][1]
    try:
        for geometry in GEOMETRIES:
            for has_ties in (False, True):
                n_queries = 32 if has_ties else 64 if geometry in ("l1", "modulus") else 256
                candidates, queries, places = draw(rng, 200_000, 64, n_queries, has_ties)
                expected = make_counter(geometry, candidates, "numpy").count(queries, places)
                counter = make_counter(geometry, torch.from_numpy(candidates).cuda(), None, block_size=len(candidates))
                small = draw(rng, 200_000, 64, 4, False)
                counter.count(small[1], small[2])  # loads kernels and handles while there is memory
                counter.block_size = len(candidates)
                for n_left in (96 << 20, 48 << 20):
                    filler = fill(n_left)
                    halvings.clear()
                    start = time.perf_counter()
                    try:
                        is_right, detail = are_equal(counter.count(queries, places), expected), ""
                    except OutOfMemory as error:
                        is_right, detail = n_left < 64 << 20, f"; {error}"
                    del filler
                    seconds = time.perf_counter() - start
                    report(
                        f"{geometry}{' ties' if has_ties else ''}, {size_text(n_left)} left",
                        is_right,
                        f"{halvings.count('block')} halvings of the block, cache emptied {halvings.count('cache')} "
                        f"times, block_size {counter.block_size:,}, {seconds:.1f} s{detail}",
                    )
                    if not has_ties and n_left < 64 << 20 and geometry in ("l1", "modulus"):
                        report(f"{geometry} was halved", len(halvings) > 0)
                del counter
                clear()
    finally:
        torch_kernels._half_of, torch.cuda.empty_cache = half_of, empty_cache


def check_no_memory(rng):
    """An error that names device and remedy while nothing fits; counts as soon as memory is free."""
    candidates, queries, places = draw(rng, 400_000, 64, 512, False)
    counter = make_counter("dot", candidates, "cuda")
    expected = counter.count(queries, places)
    filler = fill(1 << 20)
    blocks = []
    for size in (1 << 20, 1 << 16, 1 << 12, 512):  # the last free bytes, also of what torch holds in its cache
        with contextlib.suppress(torch.cuda.OutOfMemoryError):
            while True:
                blocks.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
    report_error("prepare without memory", lambda: make_counter("dot", candidates, "cuda"))
    report_error("count without memory", lambda: counter.count(queries, places))
    del filler, blocks
    clear()
    report("count afterwards", are_equal(counter.count(queries, places), expected))


def report_error(what, work):
    """Check that a function raises the error of a lack of memory."""
    try:
        work()
        report(what, False, "no error")
    except OutOfMemory as error:
        report(what, "not enough memory on cuda" in str(error), str(error))


def main():
    """Run all checks; return the exit status."""
    if not torch.cuda.is_available():
        print("there is no CUDA device")
        return 1
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    start = time.perf_counter()
    for check in (check_counts, check_estimates, check_little_memory, check_no_memory):
        check(np.random.default_rng(0))
        clear()
    print(f"{len(failures)} failures, {time.perf_counter() - start:.0f} s", *failures, sep="\n  ")
    return min(1, len(failures))


if __name__ == "__main__":
    sys.exit(main())
