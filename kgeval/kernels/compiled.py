"""`load_compiled` returns the module with the loops that numba compiles, if numba can be used; `load_short_product` one
more loop.

With numba (extra ``fast``), one compiled loop compares all scores of a tile (some queries x some candidates) while the
tile is in the processor's cache; without numba, numpy reads the tile several times. The counts are the same. The
environment variable ``KGEVAL_COMPILED=0`` switches the compiled loops off.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from kgeval.errors import KgevalWarning

SWITCH = "KGEVAL_COMPILED"


def is_compiled() -> bool:
    """Return whether the counters use compiled loops: numba is installed, and ``KGEVAL_COMPILED`` is not ``"0"``."""
    return load_compiled() is not None


def load_compiled() -> ModuleType | None:
    """Return the module `kgeval.kernels.numba_kernels`, or None.

    Returns
    -------
    module or None
        None if numba is not installed, if ``KGEVAL_COMPILED`` is ``"0"``, or if numba cannot be imported. In the last
        case, a `KgevalWarning` is shown once.
    """
    return None if os.environ.get(SWITCH) == "0" else _load()


@functools.cache
def _load() -> ModuleType | None:
    if importlib.util.find_spec("numba") is None:
        return None
    try:
        from kgeval.kernels import numba_kernels
    except Exception as error:  # with an unsupported version of numpy or Python, numba raises errors of several classes
        warnings.warn(
            f"numba is installed but cannot be used ({type(error).__name__}: {error}); kgeval goes on without compiled "
            f'loops, with the same counts. Install versions that work together: pip install "kgeval[fast]"; or set '
            f"{SWITCH}=0 to hide this warning",
            KgevalWarning,
            stacklevel=2,
        )
        return None
    return numba_kernels


def has_short_product() -> bool:
    """Return whether a compiled product of 16-bit integers is faster than numpy's float32 products on this processor.

    It is where numba compiles for AVX2, but not for AVX-512, with which float32 products are about as fast.
    """
    features = _features() if is_compiled() else frozenset()
    return "+avx2" in features and "+avx512f" not in features


def load_short_product() -> Callable[..., Any]:
    """Return `kgeval.kernels.numba_shorts.short_tile`; numba must be installed, and the processor have AVX2."""
    from kgeval.kernels.numba_shorts import short_tile

    return short_tile


@functools.cache
def _features() -> frozenset[str]:
    """Return the features of the processor that numba compiles for, such as "+avx2"."""
    from numba.core.registry import cpu_target

    return frozenset(cpu_target.target_context.codegen().magic_tuple()[2].split(","))
