"""What all tests share: where the real datasets lie, if they do."""

import os
import signal
from pathlib import Path

import grids
import pytest

ROOT = Path(__file__).resolve().parents[1]


THOROUGH_FIXTURES = {"shared", "chrome"}  # real datasets, a browser


def pytest_configure(config):
    """Collect the cases of the light suite alone, unless the thorough ones are asked for by ``-m``.

    A shell starts what runs in its background with Ctrl-C ignored; the tests that send this signal need the default.
    The tests read whole tables, so no width may be set for them (the worker processes of pytest-xdist have one).
    """
    os.environ.pop("COLUMNS", None)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.markexpr != "not thorough":
        grids.use_whole_grids()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests of real datasets and of a browser belong to the thorough suite."""
    for item in items:
        if THOROUGH_FIXTURES & set(item.fixturenames):
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
def one_torch_thread():
    """One thread of torch for the tests of a module whose models are small: several would wait for each other."""
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
