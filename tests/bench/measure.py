"""Time, memory and machine: what every benchmark of this folder measures with."""

import contextlib
import ctypes
import gc
import importlib.metadata
import importlib.util
import os
import platform
import statistics
import sys
import threading
import time
from pathlib import Path

import kgeval

SETTINGS = (  # of the environment: they choose other kernels, threads or allocators than the libraries would
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "OMP_WAIT_POLICY",
    "MKL_NUM_THREADS", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "GLIBC_TUNABLES",
    "MALLOC_MMAP_THRESHOLD_", "LD_PRELOAD", "NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES", "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES", "NUMBA_NUM_THREADS", "NUMBA_DISABLE_JIT", "NUMBA_CACHE_DIR", "KGEVAL_COMPILED",
)  # fmt: skip
FLAGS = ("avx2", "avx_vnni", "avx512f", "avx512_vnni", "amx_int8")  # of a processor, as /proc/cpuinfo names them
BACKENDS = ("numpy", "numba", "numba+torch")
IMITATED = "KGEVAL_BENCH_IMITATES"  # set for the processes that `imitate` started
CLOCK = "KGEVAL_BENCH_CLOCK"  # "cpu": measure processor time, for a busy machine
clock = time.process_time if os.environ.get(CLOCK) == "cpu" else time.perf_counter


def backend_environment(backend):
    """Return the environment of a process in which kgeval uses this backend: the compiled pass or not."""
    environment = {name: value for name, value in os.environ.items() if name != "KGEVAL_COMPILED"}
    return environment if "numba" in backend else environment | {"KGEVAL_COMPILED": "0"}


def backend_options(backend):
    """Return the arguments of `kgeval.evaluate` that choose this backend."""
    return {"device": "cpu"} if "torch" in backend else {}


def load_backend(backend):
    """Import the libraries of a backend, check that kgeval uses it, and return the memory that importing took, in MB.

    None where the system does not tell (Linux only).
    """
    from kgeval.kernels.compiled import is_compiled

    before = resident_mb()
    if "torch" in backend:
        import torch  # noqa: F401
    if "numba" in backend:
        import numba  # noqa: F401
    if is_compiled() != ("numba" in backend):
        raise SystemExit(f"backend {backend}: kgeval.kernels.compiled.is_compiled() is {is_compiled()}")
    return None if before is None else resident_mb() - before


def imitate(name):
    """Start this program again with the libraries told to use what a processor of another kind has; name: "haswell".

    OpenBLAS, numpy, numba, torch and its oneDNN and MKL then use AVX2 and nothing later. Clock rates, caches and memory
    remain those of this machine.
    """
    if os.environ.get(IMITATED) == name:
        return
    os.environ |= {
        IMITATED: name, "OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": " ".join(_later_numpy_features()),
        "NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": _early_llvm_features(), "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    }  # fmt: skip
    os.execv(sys.executable, [sys.executable, *sys.argv])


def _later_numpy_features():
    """Return the features of this processor after AVX2 for which numpy has code that it chooses when it starts."""
    try:
        from numpy._core import _multiarray_umath as core
    except ImportError:  # before numpy 2
        from numpy.core import _multiarray_umath as core
    on = core.__cpu_features__
    return [name for name in core.__cpu_dispatch__ if on[name] and name.startswith(("AVX512", "X86_V4"))]


def _early_llvm_features():
    """Return the features of this processor for numba, all after AVX2 switched off; empty without numba."""
    if importlib.util.find_spec("llvmlite") is None:
        return ""
    from llvmlite import binding

    later = ("avx512", "avx10", "avxvnni", "avxifma", "avxneconvert", "amx", "evex512", "gfni", "vaes", "vpclmulqdq")
    features = binding.get_host_cpu_features().flatten().split(",")
    return ",".join("-" + feature[1:] if feature[1:].startswith(later) else feature for feature in features)


def seconds(work):
    """Return how long `work()` takes; its result is thrown away within the time, as it would be in use."""
    start = clock()
    work()
    return clock() - start


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


def summary(ours, bound=None):
    """Return the median and the spread of the ratios of neighbouring runs; of the times, if there is no bound."""
    values = ours if bound is None else [a / b for a, b in zip(ours, bound, strict=True)]
    found = {"value": statistics.median(values), "lowest": min(values), "highest": max(values), "kgeval_runs_s": ours}
    return found if bound is None else found | {"bound_runs_s": bound}


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


class PrivatePeak:
    """The most private memory (RssAnon) that this process has had within the block: `mb`, in MB; Linux only.

    Mapped pages of files do not count: the system takes them back when another program needs memory. A thread looks
    every 10 ms, since the kernel keeps no peak of this number.
    """

    mb = 0.0

    def __enter__(self):
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()
        self._look()

    def _watch(self):
        while not self._ended.wait(0.01):
            self._look()

    def _look(self):
        self.mb = max(self.mb, resident_mb("RssAnon") or 0.0)


def resident_mb(key="VmRSS"):
    """Return ``VmRSS`` (memory now), ``RssAnon`` (its private part) or ``VmHWM`` (its peak) in MB (10**6), or None."""
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
    versions = {name: _version(name) for name in ("numpy", "pandas", "torch", "numba")}
    return {
        "processor": _processor("model name") or platform.processor(),
        "flags": [flag for flag in FLAGS if flag in _processor("flags").split()],
        "imitates": os.environ.get(IMITATED),
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


def _processor(key):
    """Return a line of /proc/cpuinfo, of the first processor; empty where there is none."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")
