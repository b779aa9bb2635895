"""How many times faster kgeval is than PyKEEN and TorchKGE, on the same embeddings and triples, in turns.

    python tests/bench/bench_peers.py --bench FOLDER --pykeen-python ENV/bin/python --torchkge-python ENV/bin/python

FOLDER holds the harness (`work.py`) and the peers' scripts. Each peer first tries several batch sizes, each with the
allocator as it is and tuned, and keeps its fastest. A peer ranks only two samples of the test triples, a quarter of
--limit and --limit: their difference gives the time of a triple, the rest is what it takes once, and both together what
the whole split would take. kgeval ranks the whole split.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import measure
from bench_speed import MOST_OTHERS, machine_line

BARS = {"numpy": 20, "numba": 20, "torch": 40, "numba+torch": 40}
NO_RETURN = {"GLIBC_TUNABLES": "glibc.malloc.mmap_max=0"}  # glibc keeps large blocks: spares the peers page faults
KGEVAL = Path(__file__).with_name("peer_kgeval.py")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--pykeen-python", help="a Python that has pykeen")
    parser.add_argument("--torchkge-python", help="a Python that has torchkge")
    parser.add_argument("--work", choices=("W1", "W2"), default="W1", help="FB15k-237 or WN18RR (default W1)")
    parser.add_argument("--models", nargs="+", default=["distmult", "complex", "transe_l1"])
    parser.add_argument("--backends", nargs="+", choices=tuple(BARS), default=list(BARS))
    parser.add_argument("--batches", nargs="+", type=int, default=[64, 128, 256], help="to try (default 64 128 256)")
    parser.add_argument("--limit", type=int, default=1024, help="test triples that a peer ranks (default 1024)")
    parser.add_argument("--kgeval-limit", type=int, default=0, help="test triples that kgeval ranks (default: all)")
    parser.add_argument("--runs", type=int, default=3, help="processes of each, in turns (default 3)")
    parser.add_argument("--reps", type=int, default=3, help="evaluations in a process, the median counts (default 3)")
    parser.add_argument("--processors", type=int, help="keep every program to so many (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    given.bench = given.bench.resolve()
    if given.limit < 4:
        parser.error("--limit must be at least 4: a peer ranks a quarter of it too")
    if given.processors:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.processors])
        os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(given.processors)
    return given


def evaluation_seconds(given, command, model, limit, reps, environment=None):
    """Run one process of the harness, in an environment; return the median seconds of an evaluation and its report."""
    options = ["--work", given.work, "--model", model, "--limit", str(limit), "--reps", str(reps), "--no-bound"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, env=environment)
    line = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    if done.returncode or not line:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(f"{' '.join(map(str, command))}: {said[-1]}")
    parts = json_values(line)
    if len(parts) < 3:
        raise RuntimeError(f"{model}: {parts[0].get('note', 'no figures')}")
    return parts[1]["wall"], parts[2]


def json_values(line):
    """Return the JSON values that stand in `line`, one after another."""
    decoder, values, place = json.JSONDecoder(), [], 0
    while place < len(line):
        value, place = decoder.raw_decode(line, place)
        values.append(value)
        place += len(line[place:]) - len(line[place:].lstrip())
    return values


def best_setting(given, command, model):
    """Return the batch size and environment with which a peer is fastest, and the seconds of all that were tried."""
    tried = {}
    for batch in given.batches:
        for tuned in (False, True):
            environment = os.environ | (NO_RETURN if tuned else {})
            batched = [*command, "--batch", str(batch)]
            tried[batch, tuned] = evaluation_seconds(given, batched, model, given.limit, given.reps, environment)[0]
    return min(tried, key=tried.get), tried


def whole_split(times, limits, n_triples):
    """Return the time of `n_triples` from the times of two samples: what is taken once, and what each triple takes.

    Noise cannot make a triple cost less than nothing, nor more than its share of the larger sample.
    """
    each = (times[1] - times[0]) / (limits[1] - limits[0])
    each = min(max(each, 0.0), times[1] / limits[1])
    return times[1] + each * (n_triples - limits[1])


def measure_model(given, peers, model, n_triples):
    """Measure one model: the peers at their best setting and kgeval, in turns; return rows for the table."""
    limits = (given.limit // 4, given.limit)
    settings = {}
    for peer, command in peers.items():
        (batch, tuned), tried = best_setting(given, command, model)
        settings[peer] = ([*command, "--batch", str(batch)], os.environ | (NO_RETURN if tuned else {}))
        listed = ", ".join(f"{b}{' tuned' if t else ''} {s:.2f}" for (b, t), s in tried.items())
        print(f"{model}: {peer} is fastest with batch {batch}{', allocator tuned' * tuned} (seconds: {listed})")
    times = {name: [] for name in [*peers, *given.backends]}
    metrics = {}
    with measure.Others() as others:
        for _ in range(given.runs):
            for peer, (command, environment) in settings.items():
                pair = [evaluation_seconds(given, command, model, n, given.reps, environment) for n in limits]
                times[peer].append(whole_split([seconds for seconds, _ in pair], limits, n_triples))
                metrics[peer] = pair[1][1]
            for backend in given.backends:
                command = [sys.executable, KGEVAL, "--bench", given.bench, "--backend", backend]
                limit = given.kgeval_limit
                environment = measure.backend_environment(backend)
                seconds, metrics[backend] = evaluation_seconds(given, command, model, limit, given.reps, environment)
                times[backend].append(seconds * (n_triples / limit if limit else 1))
    return [row(model, peer, backend, times, metrics, others.cores) for peer in peers for backend in given.backends]


def row(model, peer, backend, times, metrics, others):
    ratios = [slow / fast for slow, fast in zip(times[peer], times[backend], strict=True)]
    return {
        "model": model, "peer": peer, "backend": backend, "bar": BARS[backend],
        "peer_s": statistics.median(times[peer]), "kgeval_s": statistics.median(times[backend]),
        "value": statistics.median(ratios), "lowest": min(ratios), "highest": max(ratios),
        "peer_runs_s": times[peer], "kgeval_runs_s": times[backend], "others": others,
        "metrics_of_peer": metrics[peer], "metrics_of_kgeval": metrics[backend],
    }  # fmt: skip


def main():
    given = arguments()
    pythons = {"pykeen": given.pykeen_python, "torchkge": given.torchkge_python}
    peers = {name: [python, given.bench / f"peer_{name}.py"] for name, python in pythons.items() if python}
    sys.path.insert(0, str(given.bench))
    import work

    n_triples = len(work.load(given.work).test)
    machine = measure.machine()
    print(machine_line(machine), flush=True)
    rows = []
    for model in given.models:
        rows += measure_model(given, peers, model, n_triples)
    print(f"{'model':9} {'peer':9} {'backend':11} {'peer s':>9} {'kgeval s':>9} {'ratio':>7} {'spread':>14} {'bar':>4}")
    for one in rows:
        spread = f"{one['lowest']:.1f}..{one['highest']:.1f}"
        verdict = "ok" if one["value"] >= one["bar"] else "below the bar"
        verdict += ", but busy" if (one["others"] or 0.0) > MOST_OTHERS else ""
        print(
            f"{one['model']:9} {one['peer']:9} {one['backend']:11} {one['peer_s']:9.2f} {one['kgeval_s']:9.3f} "
            f"{one['value']:7.1f} {spread:>14} {one['bar']:4} {verdict}"
        )
    if given.json:
        record = {"machine": machine, "work": given.work, "limit": given.limit, "rows": rows}
        given.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf8")


if __name__ == "__main__":
    main()
