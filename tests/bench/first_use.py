"""What the compiled pass costs a process that uses it for the first time: with an empty cache, and with a full one.

Run as a program, this module evaluates a few small models and prints, for each, the seconds of the first evaluation
above those of the second. `first_use` runs it in fresh processes.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import measure
import numpy as np

import kgeval as kg

N_ENTITIES, DIMENSION, N_TRIPLES = 3_000, 32, 200


def works(dtype=np.float32):
    """Return (name, scorer) of what has compiled code of its own: the geometries, rows of scores and functions."""
    rng = np.random.default_rng(0)
    entities = rng.standard_normal((N_ENTITIES, DIMENSION)).astype(dtype)
    relations = rng.standard_normal((2, DIMENSION)).astype(dtype)

    class Rows:
        def score_objects(self, s, p):
            return (entities[s] * relations[p]) @ entities.T

        def score_subjects(self, p, o):
            return self.score_objects(o, p)

    return [
        ("dot product", kg.models.DistMult(entities, relations)),
        ("l1", kg.models.TransE(entities, relations, norm=1)),
        ("l2", kg.models.TransE(entities, relations, norm=2)),
        ("modulus", kg.models.RotatE(entities, relations[:, : DIMENSION // 2], norm=1)),
        ("matrix", Rows()),
        ("function", lambda s, p, o: (entities[s] * relations[p] * entities[o]).sum(axis=1)),
    ]


def print_seconds(backend):
    """Evaluate each work twice in this process; print the differences as JSON."""
    warnings.simplefilter("ignore", kg.KgevalWarning)
    measure.load_backend(backend)
    rng = np.random.default_rng(1)
    triples = np.column_stack([rng.integers(0, n, size=N_TRIPLES) for n in (N_ENTITIES, 2, N_ENTITIES)])
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=N_ENTITIES, n_relations=2)
    os.environ["KGEVAL_COMPILED"] = "0"  # what is loaded without compiled code is not the cost of compiled code
    kg.evaluate(lambda s, p, o: 0.0 * s, dataset, progress=False)
    del os.environ["KGEVAL_COMPILED"]
    spent = {}
    for name, scorer in works():
        options = measure.backend_options(backend) if hasattr(scorer, "geometry") else {}
        first, second = (measure.seconds(lambda: kg.evaluate(scorer, dataset, progress=False, **options)) for _ in "12")  # noqa: B023
        spent[name] = first - second
    print(json.dumps(spent))


def seconds_in(folder, backend):
    """Run this module with a folder for compiled code; return its figures, or raise a RuntimeError with its message."""
    environment = measure.backend_environment(backend) | {"NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, __file__, backend]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(f"NUMBA_CACHE_DIR={folder}: {said[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def first_use(backend, n_runs):
    """Measure the first use with an empty and with a full cache, in turns, and once with folders that take no file."""
    empty, full = [], []
    with measure.Others() as others:
        for _ in range(n_runs):
            with tempfile.TemporaryDirectory() as folder:
                empty.append(seconds_in(folder, backend))
                full.append(seconds_in(folder, backend))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "file")
        file.touch()
        is_root = getattr(os, "geteuid", lambda: 1)() == 0  # no folder of a disk is read-only for root
        for unwritable in (file / "below", Path("/proc") if is_root else _read_only(Path(folder, "read-only"))):
            seconds_in(unwritable, backend)
    totals = [[max(0.0, sum(run.values())) for run in runs] for runs in (empty, full)]
    each = ", ".join(f"{name} {statistics.median(run[name] for run in empty):.2f}" for name in empty[0])
    return measure.summary(totals[0]) | {
        "others": others.cores,
        "about": f"first use in a fresh process with an empty cache ({each}); with a full one "
        f"{statistics.median(totals[1]):.2f} s; a cache folder that takes no file is no error",
    }


def _read_only(folder):
    folder.mkdir(mode=0o555)
    return folder


if __name__ == "__main__":
    print_seconds(sys.argv[1])
