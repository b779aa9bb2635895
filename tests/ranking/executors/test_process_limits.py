"""`Processes` on a machine with a full disk or with few file handles: own errors, before a process has started."""

import errno
import os
import re
import sys
import tempfile
from types import SimpleNamespace

import executor_cases as cases
import pytest

import kgeval as kg
from kgeval.ranking.executors import processes


@pytest.fixture(autouse=True)
def _loky(monkeypatch):
    """No process starts in these tests, so they need no loky."""
    monkeypatch.setitem(sys.modules, "loky", SimpleNamespace())


def refusal(dataset):
    """What a run with two processes says."""
    with pytest.raises(kg.KgevalError) as caught:
        cases.evaluated(lambda s, p, o: s - o, dataset, executor=kg.executors.Processes(2))
    return type(caught.value).__name__, str(caught.value)


def test_h44_a_full_folder_for_temporary_files_is_named(tmp_path, monkeypatch):
    """H44: the folder, the reason and TMPDIR; the folder is empty afterwards."""
    dataset = cases.random_dataset(1)

    def full(path, shipment):
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(processes, "_write", full)
    way_out = (
        "Free disk space there, or name another folder in the environment variable TMPDIR; executor Threads needs no "
        "such folder"
    )
    said = f"the folder {tmp_path} cannot hold the scorer and the dataset for the worker processes: No space left on"
    assert refusal(dataset) == ("DataError", f"{said} device. {way_out}")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    said = f"the folder {tmp_path / 'none'} cannot hold the scorer and the dataset for the worker processes: No such"
    assert refusal(dataset) == ("DataError", f"{said} file or directory. {way_out}")


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_h44_too_few_handles_name_the_number_of_workers(tmp_path, monkeypatch):
    """H44: before a worker starts; and if the system refuses one all the same."""
    dataset, n_open = cases.random_dataset(1), len(os.listdir("/dev/fd"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(processes, "_write", lambda path, shipment: path.write_bytes(b"all"))
    with monkeypatch.context() as patch:
        patch.setattr(processes.resource, "getrlimit", lambda _: (n_open + 23, n_open + 23))
        kind, said = refusal(dataset)
    assert kind == "ScoreError"
    assert re.fullmatch(
        r"2 worker processes need 24 open files, and this process may open (1\d|2[0-3]) more of \d+\. "
        r"Use fewer workers \(Processes\(n\), --workers N\), or raise the limit \(ulimit -n\)",
        said,
    )

    def too_many(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(sys.modules["loky"], "ProcessPoolExecutor", too_many, raising=False)
    assert refusal(dataset) == (
        "ScoreError",
        "worker process 1 of 2 cannot start: Too many open files. Use fewer workers (Processes(n), --workers N), or "
        "raise the limits of the system (ulimit -a)",
    )
    assert list(tmp_path.iterdir()) == []
