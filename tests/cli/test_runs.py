"""How a run ends: signals, time limits, checkpoints, results that cannot be saved, and what stays on a terminal."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from grids import light

import kgeval
from kgeval.base import files
from kgeval.cli import main
from kgeval.cli.stopping import HANDLED, PATIENCE, Stop, signals_stop
from kgeval.errors import MissingExtra, Stopped

SLOW = """
import os
import time

SECONDS = float(os.environ.get("SECONDS_EACH", 0))  # per pair

def score(s, p, o):
    time.sleep(len(s) * SECONDS)
    return (s * 7919 + p * 104729 + o * 31) % 97 + 0.25

def other(s, p, o):
    return (s * 7919 + p * 104729 + o * 31) % 97 + 0.5
"""
N_ENTITIES = 60
N_QUERIES = 2 * N_ENTITIES  # of the test triples, a ring
BASE = ("evaluate", "ring", "--scorer", "slow.py:score")
RUN_SECONDS = 3.0  # of a slow run, without its start
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs the signals of POSIX")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """A folder with a dataset and a scorer, made the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow.py").write_text(SLOW)
    for name, step in (("ring", 7), ("other", 11)):
        (tmp_path / name).mkdir()
        lines = [f"e{i}\tr\te{(i + step) % N_ENTITIES}\n" for i in range(N_ENTITIES)]
        (tmp_path / name / "test.txt").write_text("".join(lines))


@pytest.fixture
def ranked(monkeypatch):
    """The options that `kgeval.evaluate` gets; it ranks with them."""
    given, real = {}, kgeval.evaluate

    def evaluate(scorer, dataset, protocol, **options):
        given.update(options, protocol=protocol)
        return real(scorer, dataset, protocol, **options)

    monkeypatch.setattr(kgeval, "evaluate", evaluate)
    return given


def ended(capsys, *arguments):
    """The exit code of a command, what it prints, and the lines of its standard error without their start."""
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert all(line.startswith("kgeval: ") for line in err.splitlines())
    return status, out, [line.removeprefix("kgeval: ") for line in err.splitlines()]


def refused(capsys, *arguments):
    """The one line that a failing command prints."""
    status, out, lines = ended(capsys, *arguments)
    assert (status, out, len(lines)) == (2, "", 1)
    return lines[0]


def same_results(*names):
    """Whether saved results are equal in all that a user sees of them."""
    first, *others = map(kgeval.load_result, names)
    for other in others:
        assert first.table.equals(other.table)
        assert first.summary().equals(other.summary())
        assert (first.protocol, first.notes, first.facts) == (other.protocol, other.notes, other.facts)
    return True


# --- options


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--workers", 2), "--workers needs --executor processes or ray; --threads N is the number of threads"),
        (
            ("--executor", "processes", "--threads", 2),
            "--threads needs --executor threads; --workers N is the number of processes",
        ),
        (("--address", "host:6379"), "--address needs --executor ray"),
        (("--executor", "processes", "--gpus-per-worker", 1), "--gpus-per-worker needs --executor ray"),
        (("--cpus-per-worker", 2), "--cpus-per-worker needs --executor ray"),
        (("--executor", "processes", "--workers", 0), "--workers must be an integer of at least 1; got 0"),
        (("--max-seconds", 0), "max_seconds must be a number of seconds above 0; got 0.0"),
        (("--max-seconds", "nan"), "max_seconds must be a number of seconds above 0; got nan"),
        (
            ("--sample-seed", 1),
            "--sample-seed is the seed of --sample N, --precision H and --max-seconds S; give it with one of them",
        ),
    ],
)
@pytest.mark.light(3)
def test_options_that_contradict_each_other(capsys, options, said):
    assert refused(capsys, *BASE, *options) == said


@pytest.mark.parametrize("kind", ["--scores", "--predictions"])
@pytest.mark.parametrize(
    "options",
    [
        ("--executor", "threads"),
        ("--threads", 1),
        ("--workers", 2),
        ("--address", "host"),
        ("--cpus-per-worker", 1),
        ("--gpus-per-worker", 1),
        ("--run-folder", "kept"),
        ("--max-seconds", 5),
    ],
)
@pytest.mark.light(3)
def test_a_table_of_scores_is_not_run(capsys, tmp_path, kind, options):
    """Nothing is ranked by a scorer, so options of such a run would have no effect."""
    (tmp_path / "table.tsv").write_text("e0\tr\te7\t1\n")
    said = refused(capsys, "evaluate", "ring", kind, "table.tsv", *options)
    assert said == f"{options[0]} needs --model or --scorer"


def test_options_reach_evaluate(capsys, ranked):
    """The options are the keywords of kgeval.evaluate."""
    status, _, lines = ended(capsys, *BASE, "--run-folder", "kept", "--max-seconds", 1000, "--sample-seed", 3)
    assert (status, lines) == (0, [])
    assert {name: ranked[name] for name in ("executor", "run_folder", "max_seconds", "protocol")} == {
        "executor": None,
        "run_folder": Path("kept"),
        "max_seconds": 1000.0,
        "protocol": kgeval.Protocol(sample_seed=3),
    }


@pytest.mark.parametrize(
    ("options", "made"),
    [
        (("processes",), ("Processes", (None,), {})),
        (("processes", "--workers", 3), ("Processes", (3,), {})),
        (("ray",), ("Ray", (None,), {})),
        (
            ("ray", "--address", "a:1", "--workers", 2, "--cpus-per-worker", 4, "--gpus-per-worker", 0.5),
            ("Ray", ("a:1",), {"workers": 2, "num_cpus": 4.0, "num_gpus": 0.5}),
        ),
    ],
)
@pytest.mark.light(2)
def test_executors(capsys, monkeypatch, ranked, options, made):
    """The executors are those of kgeval.executors, with what is given and their own defaults."""
    calls = []

    def maker(name):
        def make(*values, **settings):
            calls.append((name, values, settings))
            return kgeval.executors.Threads(1)

        return make

    for name in ("Processes", "Ray"):
        monkeypatch.setattr(kgeval.executors, name, maker(name), raising=False)
    assert main([str(word) for word in (*BASE, "--executor", *options)]) == 0
    assert calls == [made]
    assert ranked["executor"] == kgeval.executors.Threads(1)
    capsys.readouterr()


def test_an_extra_that_lacks_is_one_line(capsys, monkeypatch):
    def lacks(*_, **__):
        raise MissingExtra('executor "ray" needs ray; pip install "kgeval[ray]"')

    monkeypatch.setattr(kgeval.executors, "Ray", lacks, raising=False)
    assert refused(capsys, *BASE, "--executor", "ray") == 'executor "ray" needs ray; pip install "kgeval[ray]"'


# --- time limits


@pytest.mark.parametrize(
    ("options", "lacks"),
    [
        ((), "of 60 triples. --run-folder DIR keeps the finished ranks, and the same command then ranks more."),
        (
            ("--sample", 30),
            "of 30 triples. --run-folder DIR keeps the finished ranks, and the same command then ranks more.",
        ),
        (
            ("--run-folder", "kept"),
            "of 60 triples. To rank more, with or without --max-seconds: --run-folder kept.",
        ),
    ],
)
@pytest.mark.parametrize("style", light(["table", "csv"], 1))
@pytest.mark.light(2)
def test_a_partial_result_says_what_was_ranked(capsys, monkeypatch, options, lacks, style):
    """Beside the protocol, as of every sample, and in a line that says how to go on; for programs on standard error."""
    real = kgeval.evaluate
    monkeypatch.setattr(kgeval, "evaluate", lambda *call, **_: real(*call[:2], kgeval.Protocol(sample=12)))
    status, out, lines = ended(capsys, *BASE, "--max-seconds", 5, "--to", style, *options)
    said = f"--max-seconds 5: ranked 12 {lacks}"
    assert status == 0
    if style == "csv":
        assert lines[0] == said
        assert out.startswith("rows,n,mrr,")
    else:
        assert "both sides, 12 of 60 triples (drawn at random, seed 0)" in out.split("\n\n")[-2]
        assert out.splitlines()[-2] == said


@pytest.mark.parametrize("options", light([(), ("--sample", 12)], 1))
def test_time_that_suffices_is_not_mentioned(capsys, options):
    status, out, lines = ended(capsys, *BASE, "--max-seconds", 1000, *options)
    assert (status, lines, "max-seconds" in out) == (0, [], False)


# --- checkpoints


def test_checkpoint_and_resume(capsys):
    """The same run goes on in its folder: nothing is ranked twice, and the result is the same."""
    assert ended(capsys, *BASE, "--out", "first.kgeval")[0] == 0
    assert ended(capsys, *BASE, "--run-folder", "kept", "--out", "second.kgeval")[::2] == (0, [])
    status, _, lines = ended(capsys, *BASE, "--run-folder", "kept", "--out", "third.kgeval")
    assert status == 0
    assert lines[0] == "took over 1 shard of kept: 120 of 120 queries (100%)"
    assert same_results("first.kgeval", "second.kgeval", "third.kgeval")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("evaluate", "other", "--scorer", "slow.py:score"), "dataset: "),
        ((*BASE, "--sides", "object"), 'protocol.sides: ["object"] here, ["subject", "object"] in the run folder. '),
        ((*BASE, "--sample", 30), "protocol.sample: only here. "),
        ((*BASE, "--filter", "none"), 'protocol.filter: [] here, ["test"] in the run folder. '),
        (("evaluate", "ring", "--scorer", "slow.py:other"), "scorer: "),
    ],
)
@pytest.mark.light(2)
def test_another_run_cannot_be_resumed(capsys, arguments, said):
    """Another dataset, protocol or model: the message names what differs, and the shards stay as they are."""
    assert ended(capsys, *BASE, "--run-folder", "kept")[0] == 0
    before = {file.name: file.read_bytes() for file in Path("kept").glob("shard*")}
    line = refused(capsys, *arguments, "--run-folder", "kept")
    assert line.startswith(f"kept is the run folder of another run. {said}")
    assert line.endswith("Give another folder, or repeat the run with its old settings")
    assert {file.name: file.read_bytes() for file in Path("kept").glob("shard*")} == before


# --- signals within this process


def during_the_ranking(monkeypatch, act):
    """Let `kgeval.evaluate` call `act` and then fail as a ranking does when Ctrl-C stops it."""

    def evaluate(*_, **__):
        try:
            act()
            pytest.fail("nothing stopped the ranking")
        except KeyboardInterrupt as error:
            raise Stopped("stopped at 1 of 2 queries (50%): nothing is kept") from error

    monkeypatch.setattr(kgeval, "evaluate", evaluate)


@needs_signals
@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_stops_the_ranking(capsys, monkeypatch, name, status):
    """The message of `Stopped` in one line, the exit code of the signal, and the handlers as they were."""
    number = getattr(signal, name)
    before = signal.getsignal(number)
    during_the_ranking(monkeypatch, lambda: os.kill(os.getpid(), number) or time.sleep(10))
    assert ended(capsys, *BASE) == (status, "", ["stopped at 1 of 2 queries (50%): nothing is kept"])
    assert signal.getsignal(number) == before


@needs_signals
@pytest.mark.parametrize("command", [["show"], ["report", "-o", "page.html"], ["show", "-o", "ranks.csv"]])
def test_a_signal_stops_a_command_without_a_scorer(capsys, monkeypatch, command):
    """SIGTERM while a saved result is read: one line, the exit code of the signal, and no file."""
    assert ended(capsys, *BASE, "--out", "run.kgeval")[0] == 0
    before = sorted(path.name for path in Path().iterdir())

    def terminate(*_, **__):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)

    monkeypatch.setattr(kgeval, "load_result", terminate)
    said = "interrupted before the end; each file is as it was, or complete"
    assert ended(capsys, command[0], "run.kgeval", *command[1:]) == (143, "", [said])
    assert sorted(path.name for path in Path().iterdir()) == before


@needs_signals
def test_handlers_of_a_program_that_calls_main_stay(capsys, monkeypatch):
    """A server that has its own handler for SIGTERM gets the signal, also while kgeval ranks."""
    came = []
    before = signal.signal(signal.SIGTERM, lambda *_: came.append("SIGTERM"))
    try:
        during_the_ranking(
            monkeypatch, lambda: os.kill(os.getpid(), signal.SIGTERM) or signal.raise_signal(signal.SIGINT)
        )
        assert ended(capsys, *BASE)[0] == 130
    finally:
        signal.signal(signal.SIGTERM, before)
    assert came == ["SIGTERM"]


def test_main_in_a_thread(capsys):
    """Only the main thread can handle signals; others run commands all the same."""
    ends = []
    thread = threading.Thread(target=lambda: ends.append(main(list(BASE))))
    thread.start()
    thread.join()
    assert ends == [0]
    assert "all entities, both sides" in capsys.readouterr().out


def test_ctrl_c_outside_a_ranking(capsys, monkeypatch):
    """While files are read."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(kgeval, "read_dataset", interrupt)
    assert ended(capsys, *BASE) == (130, "", ["interrupted before the end; each file is as it was, or complete"])


def test_ctrl_c_after_a_ranking(capsys, monkeypatch):
    """While the result is saved: the checkpoint holds it."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(kgeval.EvaluationResult, "save", interrupt)
    call = (*BASE, "--run-folder", "kept", "--out", "run.kgeval")
    assert ended(capsys, *call) == (130, "", ["interrupted; the ranks in kept are kept; the same command goes on"])
    assert not Path("run.kgeval").exists()


def test_the_message_survives_a_second_ctrl_c(capsys, monkeypatch):
    """It comes while the first one closes files; what is said is still what the ranking kept."""

    def evaluate(*_, **__):
        try:
            raise Stopped("stopped at 1 of 2 queries (50%): kept in \x1b[31m")
        finally:
            raise KeyboardInterrupt

    monkeypatch.setattr(kgeval, "evaluate", evaluate)
    assert ended(capsys, *BASE) == (130, "", ["stopped at 1 of 2 queries (50%): kept in \\x1b[31m"])


def test_a_signal_soon_after_another_is_ignored(monkeypatch):
    """People press Ctrl-C twice: the second one must not stop the writing of a checkpoint. A later one does."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr("kgeval.cli.stopping.time", SimpleNamespace(monotonic=lambda: clock.now))
    stop = Stop()
    assert (stop.has_come, stop.status) == (False, 130)
    with pytest.raises(KeyboardInterrupt):
        stop.arrived(signal.SIGTERM, None)
    clock.now += 0.9 * PATIENCE
    stop.arrived(signal.SIGINT, None)
    clock.now += 0.2 * PATIENCE
    with pytest.raises(KeyboardInterrupt):
        stop.arrived(signal.SIGINT, None)
    assert (stop.has_come, stop.status) == (True, 143)  # the first signal decides


@needs_signals
def test_after_a_stop_a_later_signal_ends_the_program(monkeypatch):
    """While the interpreter waits for threads, say: no traceback, but the end that the signal has by default."""
    clock, acts = SimpleNamespace(now=100.0), []
    monkeypatch.setattr("kgeval.cli.stopping.time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(signal, "signal", lambda *call: acts.append(call))
    monkeypatch.setattr(signal, "raise_signal", acts.append)
    monkeypatch.setattr(signal, "getsignal", lambda number: dict(HANDLED)[number])
    with signals_stop(is_program=True) as stop, pytest.raises(KeyboardInterrupt):
        stop.arrived(signal.SIGINT, None)
    assert acts == [(signal.SIGINT, stop.arrived), (signal.SIGTERM, stop.arrived)]  # not set back
    acts.clear()
    stop.arrived(signal.SIGINT, None)
    assert acts == []
    clock.now += PATIENCE
    stop.arrived(signal.SIGINT, None)
    assert acts == [(signal.SIGINT, signal.SIG_DFL), signal.SIGINT]


# --- a result that cannot be saved


def full_disk(*_):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("options", light([(), ("--run-folder", "kept")], 1))
def test_a_result_that_cannot_be_saved_is_printed(capsys, monkeypatch, options):
    """The numbers of a long run are not lost with the disk; the old file stays."""
    assert ended(capsys, *BASE, "--out", "run.kgeval")[0] == 0
    old = Path("run.kgeval").read_bytes()
    whole = ended(capsys, *BASE, "--to", "csv")[1]
    if options:
        assert ended(capsys, *BASE, *options)[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full_disk)
        status, out, lines = ended(capsys, *BASE, *options, "--out", "run.kgeval", "--overwrite", "--to", "csv")
    hint = ". --run-folder kept gives the result again without ranking" if options else ""
    assert (status, out) == (2, whole)
    assert lines[-1] == f"run.kgeval: cannot be written: No space left on device{hint}"
    assert Path("run.kgeval").read_bytes() == old
    assert sorted(path.name for path in Path().iterdir() if path.name.startswith(".")) == []


def test_a_folder_that_vanishes(capsys, monkeypatch, tmp_path):
    """The table does not say that the result was saved."""
    real = kgeval.evaluate
    (tmp_path / "gone").mkdir()
    monkeypatch.setattr(kgeval, "evaluate", lambda *call, **_: (tmp_path / "gone").rmdir() or real(*call))
    status, out, lines = ended(capsys, *BASE, "--out", "gone/run.kgeval")
    assert (status, lines) == (2, ["gone/run.kgeval: the folder gone does not exist; create it first"])
    assert re.fullmatch(r"done in \d+\.\d s\. Breakdown: --by relation\.", out.splitlines()[-1])


def test_a_classification_that_cannot_be_saved_is_printed(capsys, monkeypatch):
    Path("ring/valid.txt").write_text("e0\tr\te1\ne1\tr\te2\n")
    call = ("classify", "ring", "--scorer", "slow.py:score", "--negatives", "uniform", "--to", "csv")
    whole = ended(capsys, *call)[1]
    monkeypatch.setattr(files.os, "fsync", full_disk)
    status, out, lines = ended(capsys, *call, "--out", "run.kgeval")
    assert (status, out) == (2, whole)
    assert lines[-1] == "run.kgeval: cannot be written: No space left on device"


def test_a_folder_without_write_access_is_refused_before_the_ranking(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(kgeval, "evaluate", lambda *_, **__: pytest.fail("ranked"))
    monkeypatch.setattr(files.os, "access", lambda folder, mode: folder != tmp_path)
    said = refused(capsys, *BASE, "--out", "run.kgeval")
    assert said == f"run.kgeval: cannot be written: no file can be made in the folder {tmp_path}"


def test_a_wrong_file_of_types_is_refused_before_the_ranking(capsys, monkeypatch, tmp_path):
    (tmp_path / "types.tsv").write_text("stranger\tperson\n")
    monkeypatch.setattr(kgeval, "evaluate", lambda *_, **__: pytest.fail("ranked"))
    said = refused(capsys, *BASE, "--types", "types.tsv", "--by", "type_given")
    assert said.startswith("types.tsv: ")
    assert refused(capsys, *BASE, "--means-from", "train") == "--means-from must be one of 'test'; got 'train'"


@contextmanager
def small_disk(folder, size):
    """A file system of `size` bytes in `folder`; skip the test where the system lets nobody mount one."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small tmpfs, on Linux")
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"a small tmpfs cannot be mounted: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.thorough
def test_a_small_disk_that_is_full(capsys, tmp_path):
    """The old result on it stays intact; the new one is printed, and one line says what failed."""
    with small_disk(tmp_path / "disk", "100k") as disk:
        out = disk / "run.kgeval"
        assert ended(capsys, *BASE, "--out", out)[0] == 0
        old = out.read_bytes()
        whole = ended(capsys, *BASE, "--to", "csv", "--by", "relation")[1]
        call = (*BASE, "--out", out, "--overwrite", "--to", "csv", "--by", "relation")
        with suppress(OSError), open(disk / "filler", "wb", buffering=0) as filler:
            while True:  # until the disk is full
                filler.write(bytes(1 << 10))
        status, printed, lines = ended(capsys, *call)
        assert (status, printed) == (2, whole)
        assert lines[-1] == f"{out}: cannot be written: No space left on device"
        assert out.read_bytes() == old
        assert sorted(path.name for path in disk.iterdir()) == ["filler", "run.kgeval"]


# --- whole processes


# A shell that runs the tests in the background lets its children ignore SIGINT.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from kgeval.cli import main
sys.exit(main())
"""


def slow_run(root, *options, seconds=RUN_SECONDS, stderr=subprocess.PIPE, program=PROGRAM, **settings):
    """A process that ranks for about so many seconds."""
    n_pairs = N_QUERIES * N_ENTITIES
    environment = {**os.environ, "PYTHONPATH": str(root), "SECONDS_EACH": str(seconds / n_pairs)}
    call = [sys.executable, "-c", program, *BASE, *map(str, options)]
    return subprocess.Popen(call, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True, **settings)


def wait_for(process, condition):
    """Wait until `condition()` holds; fail if the process ends before."""
    until = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


@needs_signals
@pytest.mark.thorough
@pytest.mark.parametrize(("name", "status", "moment"), [("SIGINT", 130, 0.3), ("SIGTERM", 143, 0.6)])
def test_a_stopped_run_goes_on(root, capsys, name, status, moment):
    """One line that says how much is kept; the resumed run takes it over and ends in the same result."""
    assert ended(capsys, *BASE, "--out", "whole.kgeval")[0] == 0
    process = slow_run(root, "--run-folder", "kept", "--out", "run.kgeval")
    wait_for(process, lambda: Path("kept/shard-000001.npz").exists())
    time.sleep(moment)
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (status, "")
    said = re.fullmatch(
        r"kgeval: stopped at (\d+) of 120 queries \(\d+%\): what was ranked is kept in kept; the same call goes on "
        r"from there\n",
        " ".join(err.split()) + "\n",  # the line is broken to fit 80 columns
    )
    assert said
    assert 0 < int(said[1]) < N_QUERIES
    assert not Path("run.kgeval").exists()
    code, _, (line,) = ended(capsys, *BASE, "--run-folder", "kept", "--out", "run.kgeval")
    assert code == 0
    assert re.fullmatch(rf"took over \d+ shards? of kept: {said[1]} of 120 queries \(\d+%\)", line)
    assert same_results("whole.kgeval", "run.kgeval")


@needs_signals
@pytest.mark.thorough
def test_two_processes_on_one_checkpoint(root, capsys):
    """The second is refused, and names the first; it writes nothing. When the first is dead, the lock is too."""
    process = slow_run(root, "--run-folder", "kept", stderr=subprocess.DEVNULL)
    wait_for(process, lambda: Path("kept/checkpoint.json").exists())
    before = Path("kept/checkpoint.json").read_bytes()
    said = refused(capsys, *BASE, "--run-folder", "kept")
    assert said == f"run folder kept: process {process.pid} writes to it; wait until it ends, or give another folder"
    assert Path("kept/checkpoint.json").read_bytes() == before
    process.kill()
    process.communicate()
    assert ended(capsys, *BASE, "--run-folder", "kept")[0] == 0


@needs_signals
@pytest.mark.thorough
def test_killed_runs_end_in_equal_results(root):
    """Three rounds of the check that a contributor runs with twenty."""
    call = [sys.executable, root / "tests" / "bench" / "check_resume.py", "--rounds", "3", "--seconds", "1.5"]
    done = subprocess.run(call, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(root)})
    assert re.search(r"^3 of 3 results are equal; shards were taken over in \d$", done.stdout, re.M), done


def shown(text, columns):
    """The lines that a terminal of so many columns shows after `text`."""
    rows, row, column = [[]], 0, 0
    for character in text:
        if character == "\r":
            column = 0
            continue
        if character == "\n" or column >= columns:
            row, column = row + 1, column if character == "\n" else 0
            rows += [[]] * 0 if row < len(rows) else [[]]
        if character != "\n":
            rows[row] += [" "] * (column + 1 - len(rows[row]))
            rows[row][column] = character
            column += 1
    return ["".join(row).rstrip() for row in rows]


LATE = """
import os
class Late:
    def __del__(self, kill=os.kill, process=os.getpid()):
        kill(process, 2)
late = Late()
"""


@needs_signals
@pytest.mark.thorough
def test_a_signal_while_python_ends_is_ignored(root):
    """Of a process that was stopped: the second Ctrl-C comes when Python has given the default handlers back."""
    process = slow_run(root, "--run-folder", "kept", program=LATE + PROGRAM)
    wait_for(process, lambda: Path("kept/shard-000001.npz").exists())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


@needs_signals
@pytest.mark.thorough
@pytest.mark.parametrize("columns", [80, 40])
def test_nothing_of_the_bar_stays_on_a_terminal(root, columns):
    """Ctrl-C, twice, in a terminal: the bar goes, although the terminal writes ^C into its line; one message stays."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = slow_run(root, stderr=theirs, stdin=theirs, start_new_session=True)
    text = ""
    while "%" not in text.replace(" 0%", ""):  # until the bar moves
        text += os.read(ours, 1 << 16).decode()
    bar = text[text.rindex("ranking") :]
    os.write(ours, b"^C")  # the terminal shows it, as it shows Ctrl-C
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == ""
    os.close(theirs)
    with suppress(OSError):
        while piece := os.read(ours, 1 << 16):
            text += piece.decode()
    os.close(ours)
    assert process.returncode == 130
    assert re.match(r"ranking +\d+%, (\?|\d\d:\d\d) left \|", bar)
    assert len(bar) <= columns - 10
    lines = [line for line in shown(text, columns) if line.strip("^C")]
    assert re.fullmatch(
        r"kgeval:stoppedat\d+of120queries\(\d+%\):thefinishedranksarelost;run_folder=DIR\(--run-folderDIR\)keepsthem",
        re.sub(r"\s|\^C", "", "".join(lines)),  # the message is broken to fit 80 columns, and again by the terminal
    )
