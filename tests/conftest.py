"""What all tests share: where the real datasets lie, if they do."""

import gc
import os
import signal
from pathlib import Path

import grids
import pytest
from browsing import started

from kgeval.cli import program

ROOT = Path(__file__).resolve().parents[1]


THOROUGH_FIXTURES = {"shared", "chrome"}  # real datasets, a browser


def pytest_configure(config):
    """Collect the cases of the light suite alone, unless the thorough ones are asked for by ``-m``.

    A shell starts what runs in its background with Ctrl-C ignored; the tests that send this signal need the default.
    The tests read whole tables, so no width may be set for them (the worker processes of pytest-xdist have one).
    """
    os.environ.pop("COLUMNS", None)
    program.ERROR_WIDTH = program.PROSE_WIDTH = None  # whole messages; tests/cli/test_screens.py has lines
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.markexpr != "not thorough":
        grids.use_whole_grids()
    gc.disable()  # until the tests are collected: nothing of them can be freed, and looking takes a third of the time


def pytest_collection_finish():
    """Look for unreachable objects among those of the tests themselves, not among all that is loaded by now."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests of real datasets and of a browser belong to the thorough suite, and most cases of a test marked `light`.

    ``@pytest.mark.light(n)``: of the cases of the test `n`, as `grids.varied` chooses them, are light.
    """
    cases = {}
    for item in items:
        if THOROUGH_FIXTURES & set(item.fixturenames):
            item.add_marker(pytest.mark.thorough)
        elif item.get_closest_marker("light") and not item.get_closest_marker("thorough"):
            cases.setdefault((item.parent, item.originalname), []).append(item)
    for found in cases.values():
        kept = grids.varied([item.callspec.params for item in found], found[0].get_closest_marker("light").args[0])
        for i, item in enumerate(found):
            if i not in kept:
                item.add_marker(pytest.mark.thorough)


@pytest.fixture(scope="session")
def root():
    """The project's root folder."""
    return ROOT


@pytest.fixture(scope="session")
def shared():
    """The folder of real datasets and published models; tests that need it skip without it."""
    folder = Path(os.environ.get("KGEVAL_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip("needs the real datasets (../shared or KGEVAL_SHARED)")
    return folder


@pytest.fixture(scope="session")
def fb15k_237_transe(shared):
    """FB15k-237, its published TransE (rows for the entities of train alone), and the result of all test triples."""
    import kgeval as kg

    dataset = kg.read_dataset(shared / "data" / "fb15k-237")
    model = kg.load_model(shared / "data" / "models" / "fb15k-237-pykeen" / "transe", dataset)
    return dataset, model, kg.evaluate(model, dataset, progress=False)


@pytest.fixture(scope="module")
def chrome():
    """Chromium without a window; tests that need it skip without it."""
    browser = started()
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def one_torch_thread():
    """One thread of torch for the tests of a module whose models are small: several would wait for each other."""
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
