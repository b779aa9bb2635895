"""Processes that are killed while they write, and processes that write one file at the same time.

Each process is forked from this one, which has imported everything, so that a kill costs milliseconds.
"""

import contextlib
import io
import os
import random
import signal
import time

import numpy as np
import pytest
from grids import size

import kgeval as kg
from kgeval.cli import main

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of os.fork, in a process with threads
    pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning"),
]
OLD = b"an older file, longer than a block of a disk " * 200


def forked(work):
    """Start a process that calls `work` and ends; return its number."""
    process = os.fork()
    if process == 0:
        try:
            work()
        finally:
            os._exit(0)
    return process


def quiet(*arguments):
    """Run a command without its output."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with two saved results and their cards, and the results."""
    folder = tmp_path_factory.mktemp("kills")
    rng = np.random.default_rng(0)
    triples = np.unique(rng.integers(0, [60, 3, 60], (900, 3)), axis=0)
    rng.shuffle(triples)
    dataset = kg.Dataset.from_arrays(train=triples[250:], test=triples[:250], n_entities=60, n_relations=3)
    results = []
    for k in range(2):
        scores = np.random.default_rng(k).normal(size=(60, 3, 60))
        results.append(kg.evaluate(lambda s, p, o, scores=scores: scores[s, p, o], dataset, progress=False))
        results[k].save(folder / f"{k}.kgeval", name=f"model {k}", seed=1)
    files = [folder / f"{k}.kgeval" for k in range(2)]
    (folder / "cards").mkdir()
    assert quiet("card", *files, "-o", folder / "cards") == 0
    return folder, results


def commands(folder, results, out):
    """What writes the file `out`, by name; gate writes nothing and reads it."""
    files = folder / "0.kgeval", folder / "1.kgeval"
    return {
        "save": lambda: results[0].save(out, overwrite=True),
        "report": lambda: quiet("report", *files, "-o", out, "--overwrite"),
        "export": lambda: quiet("show", files[0], "-o", out, "--overwrite"),
        "board": lambda: quiet("board", folder / "cards", "-o", out, "--overwrite"),
        "gate": lambda: quiet("gate", out, "--against", files[1], "--metrics", "mrr", "--margin", "0.9"),
    }


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "suffix"),
    [("save", "kgeval"), ("report", "html"), ("export", "csv"), ("board", "html"), ("gate", "kgeval")],
)
def test_a_killed_process_leaves_the_old_file_or_the_new_one(results, tmp_path, name, suffix):
    """H45: whole each time; and nothing hidden is there after the next save."""
    out = tmp_path / f"out.{suffix}"
    folder, ranked = results
    write, draw = commands(folder, ranked, out)[name], random.Random(name)
    if name == "gate":
        ranked[0].save(out)
    old = out.read_bytes() if name == "gate" else OLD
    start = time.monotonic()
    os.waitpid(forked(write), 0)
    seconds, new, n_killed, n_half = time.monotonic() - start, out.read_bytes(), 0, 0
    assert (new == old) is (name == "gate")
    while n_killed < 12:
        out.write_bytes(old)
        process = forked(write)
        if n_killed % 2 and name != "gate":  # while the hidden file is there
            give_up = time.monotonic() + 10 * seconds
            while os.listdir(tmp_path) == [out.name] and time.monotonic() < give_up:
                pass
        else:
            time.sleep(draw.uniform(0, seconds))
        os.kill(process, signal.SIGKILL)
        if not os.WIFSIGNALED(os.waitpid(process, 0)[1]):
            continue  # it had ended before
        n_killed += 1
        n_half += len(os.listdir(tmp_path)) > 1
        assert out.read_bytes() in (old, new)
        ranked[1].save(tmp_path / "next.kgeval", overwrite=True)
        (tmp_path / "next.kgeval").unlink()
        assert os.listdir(tmp_path) == [out.name]
    assert (n_half > 0) is (name != "gate")


def test_of_two_savers_one_succeeds(results, tmp_path):
    """H38: two processes save to one name at the same moment; the file is the winner's, and the other one says so."""
    said = ("exists; choose another name", ": another process wrote this file in the meantime; it is unchanged. Choose")
    for i in range(size(10, 40)):
        out, start, pipes = tmp_path / f"{i}.kgeval", time.monotonic() + 0.02, []
        for result in results[1]:
            receiver, sender = os.pipe()

            def save(result=result, sender=sender, out=out, start=start):
                while time.monotonic() < start:
                    pass
                try:
                    result.save(out)
                    os.write(sender, b"saved")
                except kg.DataError as error:
                    os.write(sender, str(error).removeprefix(str(out)).encode())

            pipes.append((forked(save), receiver))
            os.close(sender)
        texts = []
        for process, receiver in pipes:
            os.waitpid(process, 0)
            texts.append(os.read(receiver, 10_000).decode())
            os.close(receiver)
        winner = texts.index("saved")
        assert texts[1 - winner].strip().startswith(said)
        assert kg.load_result(out)["mrr"] == results[1][winner]["mrr"]
    assert sorted(os.listdir(tmp_path)) == sorted(f"{i}.kgeval" for i in range(size(10, 40)))


def test_who_reads_while_another_saves_sees_a_whole_file(results, tmp_path):
    """The old result or the new one, never a mixture and never an error."""
    out, ranked = tmp_path / "run.kgeval", results[1]
    ranked[0].save(out)

    def save():
        for i in range(1, size(12, 100)):
            ranked[i % 2].save(out, overwrite=True)

    process, values = forked(save), []
    while os.waitpid(process, os.WNOHANG)[0] == 0:
        values.append(kg.load_result(out)["mrr"])
    assert len(values) > 1
    assert set(values) <= {result["mrr"] for result in ranked}
