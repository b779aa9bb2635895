"""How deep the calls go: few jumps from the public call to the comparison, and from a key to the formula."""

import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import kgeval as kg
from kgeval.kernels.torch_kernels import TorchCounter
from kgeval.ranking import ranker

HOUSE = str(Path(kg.__file__).parent)
EXECUTORS = str(Path(kg.__file__).parent / "ranking" / "executors")
ARGUMENTS = str(Path(kg.__file__).parent / "base" / "checks.py")


def chain_to(name, file, run):
    """The deepest chain of kgeval's functions that leads to the function `name` of `file` while `run` is called.

    Frames of executors, of the check of arguments and of generated code do not count. What a worker thread runs
    continues the chain of the main thread up to ``rank``, which handed it over.
    """
    chains, handed_over = [], []

    def trace(frame, event, _):
        if event != "call":
            return
        code = frame.f_code
        if code.co_name == "rank" and code.co_filename.endswith("jobs.py"):
            handed_over[:] = frames_of(frame)
        if code.co_name == name and code.co_filename.endswith(file):
            mine = frames_of(frame)
            chains.append(mine if "evaluate" in mine or not handed_over else [*handed_over, *mine])

    sys.setprofile(trace)
    threading.setprofile(trace)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return max(chains, key=len)


def frames_of(frame):
    """The names of kgeval's functions on the stack, outermost first."""
    names = []
    while frame is not None:
        path = frame.f_code.co_filename
        if (
            path.startswith(HOUSE)
            and not path.startswith((EXECUTORS, ARGUMENTS))
            and not frame.f_code.co_name.startswith("<")
        ):
            names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names[::-1]


DATASET = kg.Dataset.from_arrays(test=[[0, 0, 1], [2, 0, 3]], n_entities=5, n_relations=1)


def test_rows_are_compared_five_jumps_below_evaluate():
    """evaluate, Evaluator.evaluate, rank, RowBatch.count, the count by key, count_rows."""
    chain = chain_to("count_rows", "rows.py", lambda: kg.evaluate(lambda s, p, o: s - o, DATASET, progress=False))
    assert chain == ["evaluate", "evaluate", "rank", "count", "_rivals_counted", "count_rows"]


def test_vectors_are_compared_seven_jumps_below_evaluate():
    """evaluate, Evaluator.evaluate, rank, VectorBatch.count, by key, NumpyCounter.count, its tiles, decide."""
    model = kg.models.DistMult(np.eye(5), np.ones((1, 5)))
    chain = chain_to("decide", "tiles.py", lambda: kg.evaluate(model, DATASET, progress=False))
    assert chain == ["evaluate", "evaluate", "rank", "count", "_rivals_counted", "count", "_count_all", "decide"]


def test_tensors_are_compared_seven_jumps_below_evaluate(monkeypatch):
    """evaluate, Evaluator.evaluate, rank, VectorBatch.count, by key, TorchCounter.count, a block, a tile of it.

    The counter of devices, here on the processor.
    """
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(ranker, "make_counter", lambda geometry, vectors, *_: TorchCounter(geometry, vectors))
    model = kg.models.DistMult(torch.eye(5), torch.ones((1, 5)))
    chain = chain_to("_count_tile", "torch_kernels.py", lambda: kg.evaluate(model, DATASET, progress=False))
    assert chain == ["evaluate", "evaluate", "rank", "count", "_rivals_counted", "count", "_count_block", "_count_tile"]


def test_a_number_is_four_jumps_from_its_key():
    """result["mrr"], RankTable.value, Metric.compute, its moments, the formula."""
    result = kg.evaluate(lambda s, p, o: s - o, DATASET, progress=False)
    chain = chain_to("value", "metrics/ranks.py", lambda: result["mrr"])
    assert chain == ["__getitem__", "value", "compute", "_moments", "value"]


def test_a_result_has_few_public_attributes():
    """At most 29; what only statistics need stands in its rank table."""
    result = kg.evaluate(lambda s, p, o: s - o, DATASET, progress=False)
    names = [name for name in dir(result) if not name.startswith("_")]
    assert len(names) <= 29, names
