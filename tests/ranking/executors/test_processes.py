"""`Processes`: real worker processes of this machine."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import executor_cases as cases
import numpy as np
import pytest

import kgeval as kg

pytest.importorskip("loky", reason="needs kgeval[processes]")
pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(
    "name", ["function", "lambda", "blocked matrix", "geometry l1", "geometry, lists", "function, pools"]
)
def test_counts_are_those_of_threads(name):
    dataset = cases.random_dataset(1)
    scorer, protocol = cases.cases(1)[name]
    n_blocks = 3 if name == "geometry l1" else 1
    result = cases.evaluated(scorer, dataset, protocol, kg.executors.Processes(2, candidate_blocks=n_blocks))
    cases.assert_equal(result, cases.evaluated(scorer, dataset, protocol))


def test_a_killed_worker_changes_nothing(tmp_path):
    dataset = cases.random_dataset(2)
    expected = cases.evaluated(lambda s, p, o: s % 5 - o % 7 + 0.5 * p, dataset)

    def dies_twice(s, p, o):
        for name in ("first", "second"):
            if os.getpid() != driver and len(s) > 100 and (s == 7).any():
                try:
                    (tmp_path / name).touch(exist_ok=False)
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        return s % 5 - o % 7 + 0.5 * p

    driver = os.getpid()
    result = cases.evaluated(dies_twice, dataset, executor=kg.executors.Processes(2))
    assert (tmp_path / "second").exists()
    cases.assert_equal(result, expected)


def test_queries_that_kill_every_worker_are_named(tmp_path):
    dataset = cases.random_dataset(2)
    driver = os.getpid()

    def deadly(s, p, o):  # the query (7, 3, ?) alone: (7, p, ?) with every p can lie in two ranges of queries
        if os.getpid() != driver and len(s) == 60 and (s == 7).all() and (p == 3).all():
            os._exit(3)
        return s % 5 - o % 7 + 0.5 * p

    text = (
        r"the worker process died every time it counted these queries \(2 times\); was it killed, or out of memory\? "
        r".* \(queries \d+ to \d+ of \d+ of the object side\); what was ranked is kept in "
    )
    with pytest.raises(kg.ScoreError, match=text) as caught:
        cases.evaluated(
            deadly, dataset, executor=kg.executors.Processes(2, retries=1), run_folder=tmp_path / "kept", batch_size=60
        )
    assert "the last of 2 worker processes" in str(caught.value.__cause__)


def test_a_shard_that_raises_is_the_only_one_that_is_left(tmp_path):
    cases.check_that_the_failed_shard_alone_is_left(kg.executors.Processes(2), tmp_path)


def test_a_scorer_may_write_into_its_arrays(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # other tests use the usual folder at the same time
    monkeypatch.setattr(tempfile, "tempdir", None)
    dataset = cases.random_dataset(4)
    big = np.arange(3_000_000, dtype=float)
    buffer = np.zeros(200_000)

    def writes(s, p, o):
        buffer[: len(s)] = big[s] + 2 * big[o] + big[p]
        return buffer[: len(s)].copy()

    result = cases.evaluated(writes, dataset, executor=kg.executors.Processes(2))
    cases.assert_equal(result, cases.evaluated(writes, dataset))
    assert list(tmp_path.glob("kgeval-*")) == []


def test_the_hash_of_a_text_is_another_in_each_process():
    dataset = cases.random_dataset(0)
    names = [str(i) for i in range(cases.N_ENTITIES)]

    def hashed(s, p, o):
        return np.array([hash(names[i] + names[j]) % 1000 for i, j in zip(s, o)]) + 0.1 * p

    with pytest.raises(kg.ScoreError, match="a score must not depend on the process"):
        cases.evaluated(hashed, dataset, executor=kg.executors.Processes(1))


def test_what_cannot_be_pickled_is_an_error():
    handle = open(os.devnull, "rb")  # noqa: SIM115
    try:
        with pytest.raises(
            kg.ScoreError, match="the scorer cannot be sent to another process: TypeError: cannot pickle"
        ):
            cases.evaluated(
                lambda s, p, o: s + o + 0 * handle.fileno(), cases.random_dataset(0), executor=kg.executors.Processes(1)
            )
    finally:
        handle.close()


def test_time_ends_a_run():
    dataset = cases.random_dataset(5)

    def slow(s, p, o):
        time.sleep(2e-3 * len(s))
        return s % 5 - o % 7 + 0.5 * p

    started = time.monotonic()
    result = cases.evaluated(slow, dataset, kg.Protocol(sample_seed=3), kg.executors.Processes(2), max_seconds=8)
    seconds = time.monotonic() - started
    n = len(result.table) // 2
    assert 0 < n <= len(dataset["test"])
    assert seconds < 40
    cases.assert_equal(
        result, cases.evaluated(lambda s, p, o: s % 5 - o % 7 + 0.5 * p, dataset, kg.Protocol(sample=n, sample_seed=3))
    )


SCRIPT = """
import sys, time
from pathlib import Path
import numpy as np
import kgeval as kg

class Slow:  # of __main__, without a main guard
    def __call__(self, s, p, o):
        if len(s) > 64:
            (folder / f"{{__import__('os').getpid()}}").touch()
        time.sleep({seconds} * len(s))
        return s % 5 - o % 7 + 0.5 * p

folder = Path(sys.argv[1])
rng = np.random.default_rng(0)
triples = np.column_stack([rng.integers(60, size=300), rng.integers(4, size=300), rng.integers(60, size=300)])
dataset = kg.Dataset.from_arrays(train=triples[:100], test=triples[100:], n_entities=60, n_relations=4)
executor = {executor}
result = kg.evaluate(Slow(), dataset, progress=False, executor=executor)
print(result["mr"])
"""


def environment():
    return os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split(")")[1].split()[0] != "Z"
    except OSError:
        return False


def interrupted(script, tmp_path, signal_number, in_group):
    """Start a driver, wait for its workers, send it a signal; return its exit code, its output and its workers."""
    path = tmp_path / "driver.py"
    path.write_text(script, encoding="utf-8")
    folder = tmp_path / "pids"
    folder.mkdir()
    (tmp_path / "temporary").mkdir()
    driver = subprocess.Popen(
        [sys.executable, path, folder],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=environment() | {"TMPDIR": str(tmp_path / "temporary")},
    )  # fmt: skip
    pids, temporary = [], tmp_path / "temporary"
    for _ in range(600):
        pids = [int(entry.name) for entry in folder.iterdir() if int(entry.name) != driver.pid]
        if len(pids) >= 2 or driver.poll() is not None:
            break
        time.sleep(0.1)
    assert driver.poll() is None, driver.stderr.read()
    (os.killpg if in_group else os.kill)(driver.pid, signal_number)
    _, errors = driver.communicate(timeout=30)
    for _ in range(100):
        if not any(alive(pid) for pid in pids):
            break
        time.sleep(0.1)
    left = [pid for pid in pids if alive(pid)]
    folders = [path.name for path in temporary.glob("kgeval-*")]
    return SimpleNamespace(code=driver.returncode, errors=errors, left=left, n=len(pids), folders=folders)


@pytest.mark.parametrize(
    ("number", "in_group"), [(signal.SIGINT, True), (signal.SIGKILL, False), (signal.SIGTERM, False)]
)
def test_a_driver_that_ends_leaves_no_worker(number, in_group, tmp_path):
    """Neither a process nor the folder with the scorer; a driver without kgeval's handler dies of SIGTERM at once."""
    script = SCRIPT.format(seconds=1e-3, executor="kg.executors.Processes(2)")
    ended = interrupted(script, tmp_path, number, in_group)
    assert ended.n == 2
    assert (ended.left, ended.folders) == ([], [])
    if number == signal.SIGINT:
        assert "Stopped: stopped at " in ended.errors
        assert ended.errors.count("Traceback") == 2  # of the driver alone: KeyboardInterrupt, and Stopped from it


def test_a_script_needs_no_main_guard(tmp_path):
    path = tmp_path / "driver.py"
    path.write_text(SCRIPT.format(seconds=0, executor="kg.executors.Processes(2)"), encoding="utf-8")
    found = subprocess.run(
        [sys.executable, path, tmp_path], capture_output=True, text=True, env=environment(), timeout=120, check=True
    )
    path.write_text(SCRIPT.format(seconds=0, executor="None"), encoding="utf-8")
    expected = subprocess.run(
        [sys.executable, path, tmp_path], capture_output=True, text=True, env=environment(), timeout=120, check=True
    )
    assert found.stdout == expected.stdout
