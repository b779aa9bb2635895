"""Does a run that is killed again and again end in the result of a run that was never stopped?

``python tests/bench/check_resume.py`` starts 20 evaluations of a slow function with ``--run-folder``, ends each at a
random moment of its ranking with the signal SIGKILL, resumes it, and compares the saved results. It prints one line for
each round, and exits with code 1 if a result differs or if fewer than 75% of the rounds took over shards. Linux and
macOS; about 3 minutes. ``--rounds 3 --seconds 3`` is a quick look; ``--executor processes`` tries another executor.
"""

import argparse
import contextlib
import io
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import kgeval as kg
from kgeval.cli import main as run_command

ROOT = Path(__file__).resolve().parents[2]

SCORER = """
import os
import time

SECONDS = float(os.environ.get("SECONDS_EACH", 0))  # per pair

def score(s, p, o):
    time.sleep(len(s) * SECONDS)
    return (s * 7919 + p * 104729 + o * 31) % 97 + 0.25
"""
N_ENTITIES, N_TRIPLES = 80, 160
MIN_SHARE = 0.75  # of the rounds, in which shards must be taken over


def write_files(folder):
    """Write a random graph and a module with a scoring function to `folder`; return the number of pairs of a run."""
    (folder / "slow.py").write_text(SCORER)
    (folder / "graph").mkdir()
    rng = random.Random(0)
    drawn = {(rng.randrange(N_ENTITIES), rng.randrange(3), rng.randrange(N_ENTITIES)) for _ in range(N_TRIPLES)}
    triples = sorted(drawn)
    lines = [f"e{s}\tr{p}\te{o}\n" for s, p, o in triples]
    (folder / "graph" / "test.txt").write_text("".join(lines))
    entities = {end for s, _, o in triples for end in (s, o)}
    return len(entities) * (len({(s, p) for s, p, _ in triples}) + len({(p, o) for _, p, o in triples}))


def evaluate(*options):
    """Run ``kgeval evaluate`` in this process, without delays; return what it prints to standard error."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = run_command(["evaluate", "graph", "--scorer", "slow.py:score", *options])
    if code:
        sys.exit(f"kgeval evaluate {' '.join(options)} ended with exit code {code}: {said.getvalue()}")
    return said.getvalue()


def killed_run(folder, moment, seconds_each, options):
    """Start a slow run with a checkpoint in `folder`, and kill it `moment` seconds after its ranking began."""
    call = [sys.executable, "-m", "kgeval", "evaluate", "graph", "--scorer", "slow.py:score"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SECONDS_EACH": str(seconds_each)}
    silent = subprocess.DEVNULL
    process = subprocess.Popen([*call, "--run-folder", folder, *options], env=environment, stdout=silent, stderr=silent)
    while not (folder / "checkpoint.json").exists() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(moment)
    process.kill()  # SIGKILL, to this process alone: what it started must end by itself
    return process.wait()


def difference(first, second):
    """Return in words how two saved results differ; empty if they are equal."""
    one, other = kg.load_result(first), kg.load_result(second)
    same = {
        "table": one.table.equals(other.table),
        "metrics": one.summary().equals(other.summary()),
        "protocol": one.protocol == other.protocol,
        "notes": one.notes == other.notes,
        "about": one.facts == other.facts,
    }
    return ", ".join(name for name, is_same in same.items() if not is_same)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=8.0, help="how long an uninterrupted run ranks")
    parser.add_argument("--executor", default="threads")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    moments, n_equal, n_with_shards = random.Random(options.seed), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        seconds_each = options.seconds / write_files(Path(folder))
        evaluate("--out", "whole.kgeval")
        for i in range(options.rounds):
            moment = moments.uniform(0.0, options.seconds)
            code = killed_run(Path(f"run{i}"), moment, seconds_each, ["--executor", options.executor])
            said = evaluate("--run-folder", f"run{i}", "--out", f"run{i}.kgeval")
            taken = int((re.search(r"took over (\d+) shards?", said) or [0, 0])[1])
            differs = difference("whole.kgeval", f"run{i}.kgeval")
            n_equal, n_with_shards = n_equal + (not differs), n_with_shards + (taken > 0)
            print(
                f"round {i + 1:2}: killed after {moment:.2f} s (exit code {code}), shards taken over: {taken}; "
                f"{f'DIFFERENT: {differs}' if differs else 'equal'}",
                flush=True,
            )
        os.chdir(ROOT)
    print(f"{n_equal} of {options.rounds} results are equal; shards were taken over in {n_with_shards}")
    return int(n_equal < options.rounds or n_with_shards < MIN_SHARE * options.rounds)


if __name__ == "__main__":
    sys.exit(main())
