"""The fixture `loops`: tests that ask for it run twice, with numpy's passes and with the loops that numba compiles."""

import importlib.util

import pytest

from kgeval.kernels.compiled import SWITCH

needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="needs kgeval[fast]")


@pytest.fixture(params=["numpy", pytest.param("numba", marks=needs_numba)])
def loops(request, monkeypatch):
    """Which loops count in this test."""
    monkeypatch.setenv(SWITCH, "1" if request.param == "numba" else "0")
    return request.param
