"""Every example in a docstring is true."""

import doctest
import importlib
import pkgutil

import pytest

import kgeval

# the module of compiled loops has no examples, and cannot be imported without numba
NOT_IMPORTED = ("__main__", "numba_kernels")
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(kgeval.__path__, "kgeval.")
    if not module.name.endswith(NOT_IMPORTED)
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples():
    """Public functions and classes carry examples, so that the test above has something to run."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [len(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name))]
    assert sum(found) >= 250
