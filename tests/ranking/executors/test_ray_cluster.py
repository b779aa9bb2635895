"""`Ray` on a cluster of three pretended machines with four processors."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import executor_cases as cases
import numpy as np
import pytest

import kgeval as kg

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
ray = pytest.importorskip("ray", reason="needs kgeval[ray]")
pytestmark = pytest.mark.thorough

MEMORY = 80_000_000  # bytes of the object store of each machine


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    machines = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "object_store_memory": MEMORY, "include_dashboard": False},
    )
    for n in (1, 2):
        machines.add_node(num_cpus=n, object_store_memory=MEMORY)
    ray.init(address=machines.address, log_to_driver=False, logging_level="ERROR")
    machines.wait_for_nodes()
    yield machines
    ray.shutdown()
    machines.shutdown()


class Watched:
    """An executor that calls a function after each shard."""

    def __init__(self, executor, action):
        self.executor, self.action, self.n_processes = executor, action, executor.n_processes

    def run(self, job):
        outcomes = self.executor.run(job)
        try:
            for outcome in outcomes:
                self.action()
                yield outcome
        finally:
            outcomes.close()


@pytest.mark.parametrize("name", ["function", "matrix", "geometry dot", "geometry, lists", "function, pools"])
def test_counts_are_those_of_threads(name, cluster):
    dataset = cases.random_dataset(1)
    scorer, protocol = cases.cases(1)[name]
    result = cases.evaluated(scorer, dataset, protocol, kg.executors.Ray(workers=2))
    cases.assert_equal(result, cases.evaluated(scorer, dataset, protocol))
    assert ray.is_initialized()  # this process was connected before


def test_a_worker_that_is_killed_on_one_of_three_machines_changes_nothing(cluster, tmp_path):
    dataset = cases.random_dataset(2)
    driver = os.getpid()

    def dies_once(s, p, o):
        if os.getpid() != driver:
            node = ray.get_runtime_context().get_node_id()
            (tmp_path / f"{node}-{os.getpid()}").touch()
            if len(list(tmp_path.iterdir())) == 4 and not (tmp_path / "died").exists():
                (tmp_path / "died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(3e-4 * len(s))
        return s % 5 - o % 7 + 0.5 * p

    result = cases.evaluated(dies_once, dataset, executor=kg.executors.Ray())
    assert (tmp_path / "died").exists()
    names = [path.name.split("-") for path in tmp_path.iterdir() if "-" in path.name]
    assert len(names) >= 4
    assert len({node for node, _ in names}) == 3
    cases.assert_equal(result, cases.evaluated(lambda s, p, o: s % 5 - o % 7 + 0.5 * p, dataset))


def test_a_shard_that_raises_is_the_only_one_that_is_left(cluster, tmp_path):
    cases.check_that_the_failed_shard_alone_is_left(kg.executors.Ray(workers=2), tmp_path)


def test_arrays_are_read_only_in_a_worker_and_the_error_says_what_to_do(cluster):
    dataset = cases.random_dataset(4)
    buffer = np.zeros(200_000)

    def writes(s, p, o):
        buffer[: len(s)] = s % 5 - o % 7
        return buffer[: len(s)].copy()

    with pytest.raises(kg.ScoreError, match=r"read-only.*copy the array in the scorer"):
        cases.evaluated(writes, dataset, executor=kg.executors.Ray(workers=1))


def test_parameters_that_each_worker_loads(cluster, tmp_path):
    dataset = cases.random_dataset(4)
    rng = np.random.default_rng(4)
    entities, relations = (rng.integers(-2, 3, size=(n, 8)).astype(np.float32) for n in (60, 4))
    np.save(tmp_path / "entities.npy", entities)

    def load(dataset, factor=1):
        return kg.models.DistMult(factor * np.load(tmp_path / "entities.npy", mmap_mode="r"), relations)

    model = load(dataset)
    result = cases.evaluated(model, dataset, executor=kg.executors.Ray(workers=2, load=load))
    cases.assert_equal(result, cases.evaluated(model, dataset))
    with pytest.raises(kg.ScoreError, match="load= returns a scorer that differs from the evaluated scorer"):
        cases.evaluated(model, dataset, executor=kg.executors.Ray(workers=1, load=partial(load, factor=2)))


def test_a_module_that_a_machine_lacks_is_named(cluster, tmp_path, monkeypatch):
    (tmp_path / "only_here_scorer.py").write_text("def score(s, p, o):\n    return s + o\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here_scorer

    with pytest.raises(kg.ScoreError, match=r"No module named 'only_here_scorer'.*working_dir"):
        cases.evaluated(only_here_scorer.score, cases.random_dataset(0), executor=kg.executors.Ray(workers=1))


def test_time_ends_a_run(cluster):
    dataset = cases.random_dataset(5)

    def slow(s, p, o):
        time.sleep(2e-3 * len(s))
        return s % 5 - o % 7 + 0.5 * p

    started = time.monotonic()
    result = cases.evaluated(slow, dataset, kg.Protocol(sample_seed=3), kg.executors.Ray(workers=2), max_seconds=10)
    assert time.monotonic() - started < 60
    n = len(result.table) // 2
    assert 0 < n <= len(dataset["test"])
    cases.assert_equal(
        result, cases.evaluated(lambda s, p, o: s % 5 - o % 7 + 0.5 * p, dataset, kg.Protocol(sample=n, sample_seed=3))
    )


def test_a_cluster_without_a_gpu_or_with_another_address_is_an_error(cluster):
    dataset, scorer = cases.random_dataset(0), cases.cases(0)["matrix"][0]
    with pytest.raises(kg.ProtocolError, match=r"a worker needs 1 CPUs and 1 GPUs; free are 4 CPUs and 0 GPUs"):
        cases.evaluated(scorer, dataset, executor=kg.executors.Ray(num_gpus=1))
    with pytest.raises(
        kg.ProtocolError, match=r"this process is connected to the Ray cluster .*, not to 'ray://other:1'"
    ):
        cases.evaluated(scorer, dataset, executor=kg.executors.Ray("ray://other:1"))


def workers_here():
    """The ids of the processes of all workers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process has ended
            if path.read_bytes().startswith(b"ray::_Actor"):
                found.append(int(path.parent.name))
    return found


def test_fb15k_237_when_a_worker_and_a_machine_are_lost(cluster, shared):
    dataset = kg.read_dataset(shared / "data" / "fb15k-237")
    parameters = np.load(shared / "data" / "models" / "fb15k-237-complex.npz")
    entities, relations = parameters["entities"], parameters["relations"]
    model = kg.models.ComplEx(entities, relations[: len(dataset.relations)])
    machine = cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
    cluster.wait_for_nodes()
    removal = threading.Thread(target=cluster.remove_node, args=(machine,))

    killed = []

    def kill():
        pids = workers_here()
        if len(pids) >= 4 and not killed:
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)
            removal.start()

    options = {"protocol": kg.Protocol(sample=4000, sample_seed=1)}
    result = cases.evaluated(model, dataset, executor=Watched(kg.executors.Ray(), kill), batch_size=16 * 60, **options)
    assert killed
    removal.join()
    cases.assert_equal(result, cases.evaluated(model, dataset, **options))


SCRIPT = """
import os, sys, time
from pathlib import Path
import numpy as np
import kgeval as kg

def slow(s, p, o):
    if len(s) > 64:
        (folder / f"{os.getpid()}").touch()
    time.sleep(1e-3 * len(s))
    return s % 5 - o % 7 + 0.5 * p

folder = Path(sys.argv[1])
rng = np.random.default_rng(0)
triples = np.column_stack([rng.integers(60, size=300), rng.integers(4, size=300), rng.integers(60, size=300)])
dataset = kg.Dataset.from_arrays(train=triples[:100], test=triples[100:], n_entities=60, n_relations=4)
kg.evaluate(slow, dataset, progress=False, executor=kg.executors.Ray(workers=2))
"""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split(")")[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_local_cluster_ends_with_ctrl_c(tmp_path):
    path, folder = tmp_path / "driver.py", tmp_path / "pids"
    path.write_text(SCRIPT, encoding="utf-8")
    folder.mkdir()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    environment.pop("RAY_ADDRESS", None)
    driver = subprocess.Popen(
        [sys.executable, path, folder],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment,
    )  # fmt: skip
    pids = []
    for _ in range(600):
        pids = [int(entry.name) for entry in folder.iterdir() if int(entry.name) != driver.pid]
        if len(pids) == 2 or driver.poll() is not None:
            break
        time.sleep(0.1)
    assert driver.poll() is None, driver.stderr.read()
    os.killpg(driver.pid, signal.SIGINT)
    _, errors = driver.communicate(timeout=60)
    for _ in range(100):
        if not any(alive(pid) for pid in pids):
            break
        time.sleep(0.1)
    assert [pid for pid in pids if alive(pid)] == []
    assert "Stopped: stopped at " in errors
