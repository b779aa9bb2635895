"""Time, memory and machine: what every benchmark of this folder measures with."""

import contextlib
import ctypes
import gc
import importlib.metadata
import os
import platform
import statistics
import time
from pathlib import Path

import kgeval

SETTINGS = (  # of the environment: they choose other kernels, threads or allocators than the libraries would
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "OMP_WAIT_POLICY",
    "MKL_NUM_THREADS", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "GLIBC_TUNABLES",
    "MALLOC_MMAP_THRESHOLD_", "LD_PRELOAD",
)  # fmt: skip


def seconds(work):
    """Return how long `work()` takes; its result is thrown away within the time, as it would be in use."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def take_turns(works, n_runs):
    """Call functions that return seconds in turn, `n_runs` times; return one list of seconds for each."""
    times = [[] for _ in works]
    for _ in range(n_runs):
        for work, values in zip(works, times, strict=True):
            gc.collect()
            values.append(work())
    return times


class Others:
    """How many processors other programs kept busy within the block, on average: `cores`, None where unknown.

    A work of several threads waits at each barrier for the slowest, so that one busy neighbour on a small machine
    can slow it tenfold, and kgeval and its bound not alike: such a ratio means nothing.
    """

    cores = None

    def __enter__(self):
        self.busy, self.own, self.start = _busy_seconds(), _own_seconds(), time.perf_counter()
        return self

    def __exit__(self, *_):
        if self.busy is not None:
            others = _busy_seconds() - self.busy - (_own_seconds() - self.own)
            self.cores = max(0.0, others) / (time.perf_counter() - self.start)


def _busy_seconds():
    try:
        ticks = [int(field) for field in Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:]]
    except OSError:
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks[:8]
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _own_seconds():
    used = os.times()  # of this process and of its children that have ended
    return used.user + used.system + used.children_user + used.children_system


def summary(ours, bound):
    """Return the medians, and the median and spread of the ratios of neighbouring runs."""
    ratios = [a / b for a, b in zip(ours, bound, strict=True)]
    return {
        "kgeval_s": statistics.median(ours),
        "bound_s": statistics.median(bound),
        "value": statistics.median(ratios),
        "lowest": min(ratios),
        "highest": max(ratios),
        "kgeval_runs_s": ours,
        "bound_runs_s": bound,
    }


def peaks_above(work, n_runs=1):
    """Return the peak memory of each run of `work()` above what the process held before the first, in MB.

    None where the system does not tell (Linux only). Memory that was freed before but kept by the allocator is
    given back first, so that it cannot hide what the work takes.
    """
    gc.collect()
    _give_back_freed()
    before, peaks = resident_mb("VmRSS"), []
    for _ in range(n_runs):
        if before is None or not _forget_peak():
            work()
            peaks.append(None)
            continue
        work()
        peaks.append(resident_mb("VmHWM") - before)
    return peaks


def resident_mb(key="VmRSS"):
    """Return ``VmRSS`` (memory now) or ``VmHWM`` (its peak) of this process in MB (10**6 bytes), or None."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    sizes = [int(line.split()[1]) for line in lines if line.startswith(key + ":")]
    return sizes[0] * 1024 / 1e6 if sizes else None


def _forget_peak():
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def _give_back_freed():
    with contextlib.suppress(AttributeError, OSError, TypeError):  # where the C library is not glibc
        ctypes.CDLL(None).malloc_trim(0)


def machine():
    """Return what the figures depend on: processor, cores, versions, numpy's BLAS, and the environment's settings."""
    from threadpoolctl import threadpool_info

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    blas = [
        {key: library.get(key) for key in ("internal_api", "version", "architecture", "num_threads")}
        for library in threadpool_info()
        if library.get("user_api") == "blas"
    ]
    versions = {name: _version(name) for name in ("numpy", "pandas", "torch")}
    return {
        "processor": _processor(),
        "cores": cores,
        "python": platform.python_version(),
        "kgeval": kgeval.__version__,
        **versions,
        "blas": blas,
        "settings": {name: os.environ[name] for name in SETTINGS if name in os.environ},
    }


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()
