"""Every example in a docstring is true."""

import doctest
import importlib
import pkgutil

import pytest

import kgeval

# the module of compiled loops has no examples, and cannot be imported without numba
NOT_IMPORTED = ("__main__", "numba_kernels", "numba_shorts")
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(kgeval.__path__, "kgeval.")
    if not module.name.endswith(NOT_IMPORTED)
)


def docstrings_of(name):
    """The docstrings of a module that have examples. To run one without them takes as long as a short example."""
    return [test for test in doctest.DocTestFinder().find(importlib.import_module(name)) if test.examples]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name):
    runner = doctest.DocTestRunner()
    assert [test.name for test in docstrings_of(name) if runner.run(test).failed] == []


def test_there_are_examples():
    """Public functions and classes carry examples, so that the test above has something to run."""
    assert sum(len(test.examples) for name in MODULES for test in docstrings_of(name)) >= 250
